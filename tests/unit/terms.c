/* Reservations with start dates against full enumeration, and against GLPK where it is there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plan/terms.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#ifdef BERTH_SANITIZED		/* several times as slow, and no measure of the product */
#define TERMS_MOST_S 10.
#else
#define TERMS_MOST_S 1.
#endif

#define MAX_OFFERS 1500
#define MAX_HOURS 4400

struct world {
	int64_t demand[MAX_HOURS];
	struct terms_offer offer[MAX_OFFERS];
	size_t hours, n;
	struct usd_micro on_demand;
};

static int64_t
micro(double usd)
{
	return (int64_t)llrint(usd * 1e6);
}

/* What counts cost, hour by hour. */
static int64_t
bill(const struct world *w, const int64_t *count)
{
	int64_t usd = 0;

	for (size_t t = 0; t < w->hours; t++) {
		int64_t have = 0;

		for (size_t j = 0; j < w->n; j++)
			have += w->offer[j].from <= t && t < w->offer[j].to ? count[j] : 0;
		usd += have < w->demand[t] ? (w->demand[t] - have) * w->on_demand.v : 0;
	}
	for (size_t j = 0; j < w->n; j++)
		usd += count[j] * w->offer[j].cost.v;
	return usd;
}

static int64_t
enumerate(const struct world *w, size_t j, int64_t *count, int64_t most)
{
	int64_t best = INT64_MAX;

	if (j == w->n)
		return bill(w, count);
	for (count[j] = 0; count[j] <= most && count[j] <= w->offer[j].max; count[j]++) {
		int64_t usd = enumerate(w, j + 1, count, most);

		best = usd < best ? usd : best;
	}
	count[j] = 0;
	return best;
}

static void
test_enumeration(struct arena *a)
{
	static struct world w;
	struct rng r;
	int bad = 0;

	rng_seed(&r, 9);
	for (int k = 0; k < 300; k++) {
		struct terms_plan plan;
		struct berth_err err = { 0 };
		int64_t count[6] = { 0 };

		w.hours = 3 + rng_below(&r, 6);
		w.n = 1 + rng_below(&r, 5);
		w.on_demand = (struct usd_micro){ 1000 };
		for (size_t t = 0; t < w.hours; t++)
			w.demand[t] = (int64_t)rng_below(&r, 4);
		for (size_t j = 0; j < w.n; j++) {
			size_t from = rng_below(&r, w.hours), to = from + 1 + rng_below(&r, w.hours - from);

			w.offer[j] = (struct terms_offer){ from, to, { (int64_t)((to - from) * (300 + rng_below(&r, 800))) },
				rng_below(&r, 3) == 0 ? (int64_t)rng_below(&r, 3) : INT64_MAX };
		}
		if (terms_solve(w.demand, w.hours, w.offer, w.n, w.on_demand, NAN, a, &plan, &err) != BERTH_OK) {
			bad++;
			continue;
		}
		bad += micro(plan.cost_usd) != enumerate(&w, 0, count, 3) || bill(&w, plan.count) != micro(plan.cost_usd);
		arena_reset(a);
	}
	tap_is_long(bad, 0, "300 small worlds: equal to the best of all counts");
}

/* Half a year, a reservation of a week or 30 days from each day or quarter day, and one for all of it. */
static void
make_rolling(struct world *w, size_t hours, size_t step)
{
	struct rng r;

	rng_seed(&r, 4);
	w->hours = hours;
	w->n = 0;
	w->on_demand = (struct usd_micro){ 1000000 };
	for (size_t t = 0; t < hours; t++) {
		double x = 30 + 12 * sin(6.283185307 * (double)t / 24) + 10 * sin(6.283185307 * (double)t / 700) + 4 * rng_normal(&r);

		w->demand[t] = x < 0 ? 0 : (int64_t)x;
	}
	for (size_t s = 0; s < hours; s += step) {
		size_t month = s + 720 < hours ? s + 720 : hours, week = s + 168 < hours ? s + 168 : hours;

		w->offer[w->n++] = (struct terms_offer){ s, month, { (int64_t)(month - s) * 600000 }, INT64_MAX };
		w->offer[w->n++] = (struct terms_offer){ s, week, { (int64_t)(week - s) * 750000 }, INT64_MAX };
	}
	w->offer[w->n++] = (struct terms_offer){ 0, hours, { (int64_t)hours * 500000 }, INT64_MAX };
}

static double
glpk(const struct world *w, const char *dir)
{
	char lp[256], out[256], cmd[1024], line[256];
	double objective = NAN;
	FILE *f;
	int rc;

	snprintf(lp, sizeof(lp), "%s/t.lp", dir);
	snprintf(out, sizeof(out), "%s/t.out", dir);
	f = fopen(lp, "w");
	if (f == NULL)
		return NAN;
	fprintf(f, "Minimize\n c: 0 zero");
	for (size_t j = 0; j < w->n; j++)
		fprintf(f, "\n + %lld x%zu", (long long)w->offer[j].cost.v, j);
	for (size_t t = 0; t < w->hours; t++)
		fprintf(f, "\n + %lld o%zu", (long long)w->on_demand.v, t);
	fprintf(f, "\nSubject To\n");
	for (size_t t = 0; t < w->hours; t++) {
		fprintf(f, " r%zu: o%zu", t, t);
		for (size_t j = 0; j < w->n; j++)
			if (w->offer[j].from <= t && t < w->offer[j].to)
				fprintf(f, "\n + x%zu", j);
		fprintf(f, " >= %lld\n", (long long)w->demand[t]);
	}
	fprintf(f, "Bounds\n zero = 0\nEnd\n");
	fclose(f);
	snprintf(cmd, sizeof(cmd), "timeout 120 glpsol --lp %s -w %s >/dev/null 2>&1", lp, out);
	rc = system(cmd);
	f = WIFEXITED(rc) && WEXITSTATUS(rc) == 0 ? fopen(out, "r") : NULL;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "s bas %*d %*d %*c %*c %lf", &objective) == 1)
			break;
	if (f != NULL)
		fclose(f);
	remove(lp);
	remove(out);
	return objective;
}

static void
test_rolling(struct arena *a)
{
	static struct world w;
	char dir[] = "/tmp/berth-terms.XXXXXX";
	struct terms_plan plan, less;
	struct berth_err err = { 0 };
	clock_t began;
	double theirs, took;

	make_rolling(&w, 4288, 6);
	began = clock();
	tap_code(terms_solve(w.demand, w.hours, w.offer, w.n, w.on_demand, NAN, a, &plan, &err), BERTH_OK, &err);
	took = (double)(clock() - began) / CLOCKS_PER_SEC;
	tap_diag("%zu hours, %zu reservations: %.3f s", w.hours, w.n, took);
	tap_ok(bill(&w, plan.count) == micro(plan.cost_usd), "4288 hours, 1431 reservations: the cost is what the counts cost");
	tap_ok(took <= TERMS_MOST_S, "in at most 1 s");
	began = clock();
	tap_code(terms_solve(w.demand, w.hours, w.offer, w.n, w.on_demand, 0.6 * plan.bound_usd, a, &less, &err), BERTH_OK, &err);
	took = (double)(clock() - began) / CLOCKS_PER_SEC;
	tap_ok(less.bound_usd <= 0.6 * plan.bound_usd * (1 + 1e-9) &&
	    less.cost_usd - less.lower_bound_usd <= 0.5 * 4288 && took <= TERMS_MOST_S,
	    "with 0.6 of that budget: %.2f over the bound of %.2f, one purchase is 126 to 2144; %.3f s", less.cost_usd - less.lower_bound_usd,
	    less.lower_bound_usd, took);
	if (mkdtemp(dir) == NULL || system("command -v glpsol >/dev/null 2>&1") != 0) {
		tap_skip("rolling terms against GLPK", "no glpsol");
		return;
	}
	make_rolling(&w, 1500, 24);
	tap_code(terms_solve(w.demand, w.hours, w.offer, w.n, w.on_demand, NAN, a, &plan, &err), BERTH_OK, &err);
	theirs = glpk(&w, dir);
	rmdir(dir);
	if (isnan(theirs))
		tap_skip("rolling terms against GLPK", "not done in 120 s");
	else
		tap_near(1e6 * plan.cost_usd, theirs, 1e-9 * theirs, "1500 hours, 127 reservations: GLPK's optimum");
}

static void
test_edges(struct arena *a)
{
	const int64_t none[3] = { 0, 0, 0 }, bad[3] = { 1, -1, 0 }, flat[3] = { 2, 2, 2 };
	struct terms_offer o = { 0, 3, { 3000 }, INT64_MAX };
	struct usd_micro od = { 1000 };
	struct terms_plan plan;
	struct berth_err err = { 0 };

	tap_code(terms_solve(none, 3, &o, 1, od, NAN, a, &plan, &err), BERTH_OK, &err);
	tap_near(plan.cost_usd, 0, 1e-12, "no demand: nothing bought");
	tap_code(terms_solve(bad, 3, &o, 1, od, NAN, a, &plan, &err), BERTH_EINVAL, &err);
	o.cost.v = 2999;
	tap_code(terms_solve(flat, 3, &o, 1, od, NAN, a, &plan, &err), BERTH_OK, &err);
	tap_is_long(plan.count[0], 2, "a micro-dollar under on demand: bought");
	o.to = 4;
	tap_code(terms_solve(flat, 3, &o, 1, od, NAN, a, &plan, &err), BERTH_EINVAL, &err);
	o.to = 3;
	o.cost = USD_UNKNOWN;
	tap_code(terms_solve(flat, 3, &o, 1, od, NAN, a, &plan, &err), BERTH_EINVAL, &err);
}

int
main(void)
{
	struct arena *a = arena_new();

	test_enumeration(a);
	test_rolling(a);
	test_edges(a);
	arena_free(a);
	return tap_done();
}
