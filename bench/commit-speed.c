/*
 * bench/commit-speed - commitments of a year over 20 sample paths, against GLPK on the same merged
 * problem.  Prints a ratio.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/commit.h"
#include "plan/terms.h"
#include "util/arena.h"
#include "util/rng.h"

#define PATHS 20
#define HOURS 8760
#define TOP 1000.0
#define OFFERS 8
#define LINES (OFFERS + 2)

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double *
make_demand(uint64_t seed)
{
	double *v = malloc(PATHS * HOURS * sizeof(*v)), top = 0;
	struct rng r;

	if (v == NULL)
		exit(1);
	rng_seed(&r, seed);
	for (size_t p = 0; p < PATHS; p++) {
		double ar = 0;

		for (size_t t = 0; t < HOURS; t++) {
			double h = (double)t;

			ar = 0.97 * ar + 0.02 * rng_normal(&r);
			v[p * HOURS + t] = fmax(0, 0.35 + 0.15 * h / HOURS +
			    0.12 * sin(6.283185307 * (h - 15) / 24) -
			    (t / 24 % 7 > 4 ? 0.08 : 0) + ar);
			top = fmax(top, v[p * HOURS + t]);
		}
	}
	for (size_t i = 0; i < PATHS * HOURS; i++)
		v[i] = rint(v[i] * TOP / top);
	return v;
}

static void
make_lines(struct commit_line *l)
{
	for (size_t i = 0; i < OFFERS; i++)
		l[i] = (struct commit_line){ COMMIT_RESERVED, i, 0.62 - 0.03 * (double)i,
			0.01 * (double)(OFFERS - i), 1, 0, 60 + 10 * (int64_t)i, 0 };
	l[OFFERS] = (struct commit_line){ COMMIT_SPOT, OFFERS, 0, 0.45, 1, 0, 50, 0 };
	l[OFFERS + 1] =
	    (struct commit_line){ COMMIT_ON_DEMAND, OFFERS + 1, 0, 1, 1, 0, COMMIT_NO_LIMIT, 0 };
}

/* The LP over distinct demands: u[l] - u[l + 1] is the weight of demand l. */
static bool
write_lp(const char *path, const struct commit_curve *c, const struct commit_line *l)
{
	FILE *f = fopen(path, "w");

	if (f == NULL)
		return false;
	fprintf(f, "Minimize\n c: 0 zero");
	for (size_t i = 0; i < OFFERS; i++)
		fprintf(f, "\n + %.17g x%zu", l[i].fixed, i);
	for (size_t d = 1; d <= c->levels; d++) {
		double w = c->use[d - 1] - (d < c->levels ? c->use[d] : 0);

		for (size_t i = 0; i < LINES && w > 0; i++)
			fprintf(f, "\n + %.17g y%zu_%zu", l[i].usage * w, i, d);
	}
	fprintf(f, "\nSubject To\n");
	for (size_t d = 1; d <= c->levels; d++) {
		if (!(c->use[d - 1] - (d < c->levels ? c->use[d] : 0) > 0))
			continue;
		fprintf(f, " d%zu: 0 zero", d);
		for (size_t i = 0; i < LINES; i++)
			fprintf(f, " + y%zu_%zu", i, d);
		fprintf(f, " >= %zu\n", d);
		for (size_t i = 0; i < OFFERS; i++)
			fprintf(f, " k%zu_%zu: y%zu_%zu - x%zu <= 0\n", i, d, i, d, i);
		fprintf(f, " s%zu: y%d_%zu <= 50\n", d, OFFERS, d);
	}
	fprintf(f, "Bounds\n zero = 0\n");
	for (size_t i = 0; i < OFFERS; i++)
		fprintf(f, " x%zu <= %lld\n", i, (long long)l[i].max_count);
	fprintf(f, "End\n");
	return fclose(f) == 0;
}

static double
glpk(const struct commit_curve *c, const struct commit_line *l, double *objective)
{
	const char *lp = "/tmp/berth-commit-speed.lp", *out = "/tmp/berth-commit-speed.out";
	char line[256], cmd[256];
	double began, took = NAN;
	FILE *f;

	if (!write_lp(lp, c, l) || system("command -v glpsol >/dev/null 2>&1") != 0)
		return NAN;
	snprintf(cmd, sizeof(cmd), "timeout 600 glpsol --lp %s -w %s >/dev/null 2>&1", lp, out);
	began = now_s();
	if (system(cmd) == 0)
		took = now_s() - began;
	f = fopen(out, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "s bas %*d %*d %*c %*c %lf", objective) == 1)
			break;
	if (f != NULL)
		fclose(f);
	remove(lp);
	remove(out);
	return took;
}

/*
 * Half a year; a week or 30 days from each quarter of a day, or all of it: 4,288 h x 1,431 offers;
 * then 0.6 of the money.
 */
static bool
rolling(struct arena *a)
{
	const struct usd_micro one = { 1000000 };
	static int64_t demand[4288];
	static struct terms_offer o[1500];
	struct terms_plan all, less;
	struct berth_err err;
	struct rng r;
	size_t n = 0, hours = 4288;
	double t0, t1, t2;

	rng_seed(&r, 4);
	for (size_t t = 0; t < hours; t++)
		demand[t] = (int64_t)fmax(0, 30 + 12 * sin(6.283185307 * (double)t / 24) +
		    10 * sin(6.283185307 * (double)t / 700) + 4 * rng_normal(&r));
	for (size_t s = 0; s < hours; s += 6) {
		size_t month = s + 720 < hours ? s + 720 : hours;
		size_t week = s + 168 < hours ? s + 168 : hours;
		const int64_t month_usd = (int64_t)(month - s) * 600000;
		const int64_t week_usd = (int64_t)(week - s) * 750000;

		o[n++] = (struct terms_offer){ s, month, { month_usd }, INT64_MAX };
		o[n++] = (struct terms_offer){ s, week, { week_usd }, INT64_MAX };
	}
	o[n++] = (struct terms_offer){ 0, hours, { (int64_t)hours * 500000 }, INT64_MAX };
	t0 = now_s();
	if (terms_solve(demand, hours, o, n, one, NAN, a, &all, &err) != BERTH_OK)
		return false;
	t1 = now_s();
	if (terms_solve(demand, hours, o, n, one, 0.6 * all.bound_usd, a, &less, &err) != BERTH_OK)
		return false;
	t2 = now_s();
	printf("%zu h x %zu offers with start dates: %.4f s (target 1 s); with 0.6 of its money "
	       "%.4f s, "
	       "%.2f USD over the bound (a purchase is 126 to 2144)\n",
	    hours, n, t1 - t0, t2 - t1, less.cost_usd - less.lower_bound_usd);
	return true;
}

int
main(int argc, char **argv)
{
	double *v = make_demand(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
	double t0, t1, t2, theirs, objective = NAN;
	struct commit_demand d = { v, PATHS, HOURS, NULL, 1, false };
	struct commit_line l[LINES];
	struct arena *a = arena_new();
	struct commit_curve c;
	struct commit_plan plan;
	struct commit_risk risk;
	struct berth_err err;

	make_lines(l);
	t0 = now_s();
	if (commit_curve_build(&d, a, &c, NULL, &err) != BERTH_OK)
		return 1;
	struct commit_problem p = { &c, l, LINES, 100, NAN, NAN, 0 };
	if (commit_solve(&p, a, &plan, &err) != BERTH_OK)
		return 1;
	t1 = now_s();
	if (commit_assess(&p, NULL, &plan, &d, a, &risk, &err) != BERTH_OK)
		return 1;
	t2 = now_s();
	printf("%d h x %zu levels x %d paths, %d offers: plan %.4f s, with outcome and regret %.4f "
	       "s (target 0.2 s)\n",
	    HOURS, c.levels, PATHS, LINES, t1 - t0, t2 - t0);
	if (!rolling(a))
		return 1;
	theirs = glpk(&c, l, &objective);
	if (isnan(theirs))
		printf("GLPK: not here, or not done in 600 s\n");
	else
		printf("GLPK on the merged LP: %.2f s; ratio %.0f; difference of the cost %.1e\n",
		    theirs, theirs / (t1 - t0),
		    fabs(objective * HOURS - plan.cost_usd) / plan.cost_usd);
	arena_free(a);
	free(v);
	return 0;
}
