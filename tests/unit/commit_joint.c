/* Quotas over offers and series against GLPK and CBC, whose program is written from the raw paths, hour by hour. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/commit.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define STEPS 30
#define PATHS 2
#define MEMBERS 3
#define LINES 7		/* owned, three reserved, spot, two on demand */
#define QUOTAS 4
#define CASES 60
#define SCALE 1000.0	/* CBC writes 8 places */

enum { OWNED, RESERVED, SPOT = 4, DEMAND };

struct world {
	size_t n, n_quotas;
	double gpus[MEMBERS][PATHS * STEPS], weight[PATHS];
	struct commit_demand d[MEMBERS];
	struct commit_curve curve[MEMBERS];
	struct commit_line line[MEMBERS][LINES];
	struct commit_problem p[MEMBERS];
	double quota_weight[MEMBERS][QUOTAS][LINES];
	struct commit_quota quota[MEMBERS][QUOTAS];
	struct commit_share share[2];
	size_t group[LINES];
	struct commit_shares rules[MEMBERS];
	struct commit_plan plan[MEMBERS];
	double budget;
};

static void
make_lines(struct world *w, size_t k, struct rng *r, bool sizes, bool owned)
{
	struct commit_line *l = w->line[k];
	double dear = 1 + 0.3 * (double)k;

	l[OWNED] = (struct commit_line){ COMMIT_OWNED, 0, 0, 0, 2, owned, owned, 0 };
	for (size_t i = RESERVED; i < SPOT; i++)
		l[i] = (struct commit_line){ COMMIT_RESERVED, i, dear * (0.35 + 0.25 * rng_unit(r)), rng_below(r, 3) == 0 ? 0.1 : 0,
			sizes ? INT64_C(1) << rng_below(r, 3) : 1, 0, rng_below(r, 3) == 0 ? 3 : COMMIT_NO_LIMIT, 0 };
	l[SPOT] = (struct commit_line){ COMMIT_SPOT, SPOT, 0, dear * 0.55, 1, 0, 3, 0 };
	l[DEMAND] = (struct commit_line){ COMMIT_ON_DEMAND, DEMAND, 0, dear, 1, 0, COMMIT_NO_LIMIT, 0 };
	l[DEMAND + 1] = (struct commit_line){ COMMIT_ON_DEMAND, DEMAND + 1, 0, 1.4 * dear, 1, 0,
		rng_below(r, 2) == 0 ? COMMIT_NO_LIMIT : 4, 0 };
}

/* Providers: A sells lines 1, 2 and the first on demand; B line 3, spot and the second. */
static void
make_quotas(struct world *w, struct rng *r, unsigned kind)
{
	static const int a[LINES] = { 1, 1, 1, 0, 0, 1, 0 }, b[LINES] = { 0, 0, 0, 1, 1, 0, 1 };

	w->n_quotas = kind == 0 ? 1 : kind == 1 ? 2 : kind == 2 ? 3 : 4;
	for (size_t k = 0; k < w->n; k++)
		for (size_t q = 0; q < w->n_quotas; q++)
			for (size_t i = 0; i < LINES; i++) {
				double unit = kind == 3 ? (i == DEMAND ? 1 : 0.5 + 0.25 * (double)(i % 3)) : 1;

				/* A whole; A on demand within it; B; and everything. */
				w->quota_weight[k][q][i] = unit * (q == 0 ? a[i] : q == 1 ? a[i] && i >= SPOT : q == 2 ? b[i] : 1);
			}
	for (size_t k = 0; k < w->n; k++)
		for (size_t q = 0; q < w->n_quotas; q++)
			w->quota[k][q] = (struct commit_quota){ (q == 0 ? 9 : q == 1 ? 4 : q == 2 ? 8 : 16) * (1 + 0.6 * (double)(w->n - 1)),
				w->quota_weight[k][q] };
	for (size_t q = 0; q < w->n_quotas; q++) {
		double limit = floor(w->quota[0][q].limit) + (double)rng_below(r, 4);

		for (size_t k = 0; k < w->n; k++)
			w->quota[k][q].limit = limit;
	}
}

static bool
make_world(struct world *w, unsigned k, struct arena *a)
{
	struct berth_err err;
	struct rng r;

	memset(w, 0, sizeof(*w));
	rng_seed(&r, 500 + k);
	w->n = k % 4 == 3 ? 3 : k % 2 + 1;
	w->weight[0] = 1;
	w->weight[1] = k % 5 == 0 ? 3 : 1;
	for (size_t m = 0; m < w->n; m++) {
		for (size_t p = 0; p < PATHS; p++)
			for (size_t t = 0; t < STEPS; t++)
				w->gpus[m][p * STEPS + t] = floor(7 + 5 * sin((double)t / 4 + (double)m * 2) + 4 * rng_unit(&r)) +
				    (k % 3 == 2 && w->n > 1 ? 0.25 * (double)rng_below(&r, 4) : 0);
		w->d[m] = (struct commit_demand){ w->gpus[m], PATHS, STEPS, w->weight, 1, false };
		if (commit_curve_build(&w->d[m], a, &w->curve[m], NULL, &err) != BERTH_OK)
			return false;
		make_lines(w, m, &r, k % 3 == 1, k % 4 == 0);
		w->p[m] = (struct commit_problem){ &w->curve[m], w->line[m], LINES, 12, k % 15 == 14 ? 45 : k % 5 == 4 ? 14 : NAN, NAN, 0 };
	}
	make_quotas(w, &r, k / 4 % 4);
	w->share[0] = (struct commit_share){ 1, 0.25, 0.6 };
	w->share[1] = (struct commit_share){ 2, 0, 0.7 };
	for (size_t i = 0; i < LINES; i++)
		w->group[i] = i == 3 || i == SPOT || i == DEMAND + 1 ? 2 : 1;
	for (size_t m = 0; m < w->n; m++)
		w->rules[m] = (struct commit_shares){ w->share, k % 6 == 3 ? 2 : 0, w->group, w->quota[m], w->n_quotas };
	w->budget = k % 7 == 5 ? 60 * (double)w->n : NAN;
	return true;
}

static bool
bought(size_t i)
{
	return i >= RESERVED && i < SPOT;
}

static double
owned_gpus(const struct world *w, size_t m)
{
	return (double)(w->line[m][OWNED].max_count * w->line[m][OWNED].gpus);
}

/* Left of a quota by what is owned, at least nothing. */
static double
quota_left(const struct world *w, size_t q)
{
	double left = w->quota[0][q].limit;

	for (size_t m = 0; m < w->n; m++)
		left -= w->quota_weight[m][q][OWNED] * owned_gpus(w, m);
	return fmax(0, left);
}

static void
lp_counts(FILE *f, const struct world *w, size_t q)
{
	for (size_t m = 0; m < w->n; m++)
		for (size_t i = RESERVED; i < SPOT; i++)
			if (w->quota_weight[m][q][i] > 0)
				fprintf(f, "\n + %.17g x%zu_%zu", w->quota_weight[m][q][i] * (double)w->line[m][i].gpus, m, i);
}

static void
lp_hours(FILE *f, const struct world *w)
{
	for (size_t h = 0; h < PATHS * STEPS; h++) {
		for (size_t m = 0; m < w->n; m++) {
			fprintf(f, " d%zu_%zu: u%zu_%zu", m, h, m, h);
			for (size_t i = 0; i < LINES; i++)
				fprintf(f, "\n + y%zu_%zu_%zu", m, i, h);
			fprintf(f, " >= %.17g\n", w->gpus[m][h]);
			for (size_t i = RESERVED; i < SPOT; i++)
				fprintf(f, " k%zu_%zu_%zu: y%zu_%zu_%zu - %lld x%zu_%zu <= 0\n", m, i, h, m, i, h, (long long)w->line[m][i].gpus,
				    m, i);
		}
		for (size_t q = 0; q < w->n_quotas; q++) {
			fprintf(f, " q%zu_%zu: 0 zero", q, h);
			lp_counts(f, w, q);
			for (size_t m = 0; m < w->n; m++)
				for (size_t i = SPOT; i < LINES; i++)
					if (w->quota_weight[m][q][i] > 0)
						fprintf(f, "\n + %.17g y%zu_%zu_%zu", w->quota_weight[m][q][i], m, i, h);
			fprintf(f, " <= %.17g\n", quota_left(w, q));
		}
	}
}

static void
lp_peaks(FILE *f, const struct world *w, size_t m)
{
	fprintf(f, " peak%zu: v%zu_%d + v%zu_%d", m, m, DEMAND, m, DEMAND + 1);
	for (size_t i = RESERVED; i < SPOT; i++)
		fprintf(f, " + %lld x%zu_%zu", (long long)w->line[m][i].gpus, m, i);
	fprintf(f, " >= %.17g\n", w->p[m].peak - owned_gpus(w, m));
	for (size_t q = 0; q < w->n_quotas; q++) {
		fprintf(f, " pq%zu_%zu: 0 zero", m, q);
		lp_counts(f, w, q);
		for (size_t i = DEMAND; i < LINES; i++)
			fprintf(f, " + %.17g v%zu_%zu", w->quota_weight[m][q][i], m, i);
		fprintf(f, " <= %.17g\n", quota_left(w, q));
	}
}

static void
lp_shares(FILE *f, const struct world *w, size_t m)
{
	for (size_t s = 0; s < w->rules[m].n; s++)
		for (int side = 0; side < 2; side++) {
			double part = side == 0 ? w->share[s].max : w->share[s].min, own = owned_gpus(w, m) * ((w->group[OWNED] == s + 1) - part);

			fprintf(f, " s%zu_%zu_%d: 0 zero", m, s, side);
			for (size_t i = RESERVED; i < SPOT; i++)
				fprintf(f, " %+.17g x%zu_%zu", (double)w->line[m][i].gpus * ((w->group[i] == s + 1) - part), m, i);
			fprintf(f, side == 0 ? " <= %.17g\n" : " >= %.17g\n", -own);
		}
}

static void
write_lp(const struct world *w, const char *path, bool whole)
{
	FILE *f = fopen(path, "w");
	double total = w->weight[0] + w->weight[1];

	if (f == NULL)
		return;
	fprintf(f, "Minimize\n c: 0 zero");
	for (size_t m = 0; m < w->n; m++) {
		for (size_t i = RESERVED; i < SPOT; i++)
			fprintf(f, "\n + %.17g x%zu_%zu", SCALE * w->line[m][i].fixed * (double)w->line[m][i].gpus, m, i);
		for (size_t h = 0; h < PATHS * STEPS; h++) {
			double part = SCALE * w->weight[h / STEPS] / total / STEPS;

			fprintf(f, "\n + %.17g u%zu_%zu", part * w->p[m].unserved, m, h);
			for (size_t i = 0; i < LINES; i++)
				fprintf(f, " + %.17g y%zu_%zu_%zu", part * w->line[m][i].usage, m, i, h);
		}
	}
	fprintf(f, "\nSubject To\n");
	lp_hours(f, w);
	for (size_t m = 0; m < w->n; m++) {
		if (!isnan(w->p[m].peak))
			lp_peaks(f, w, m);
		lp_shares(f, w, m);
	}
	if (!isnan(w->budget)) {
		fprintf(f, " budget: 0 zero");
		for (size_t m = 0; m < w->n; m++)
			for (size_t i = RESERVED; i < SPOT; i++)
				fprintf(f, "\n + %.17g x%zu_%zu", w->line[m][i].fixed * (double)w->line[m][i].gpus * STEPS, m, i);
		fprintf(f, " <= %.17g\n", w->budget);
	}
	fprintf(f, "Bounds\n zero = 0\n");
	for (size_t m = 0; m < w->n; m++)
		for (size_t i = 0; i < LINES; i++) {
			const struct commit_line *l = &w->line[m][i];

			if (bought(i) && l->max_count != COMMIT_NO_LIMIT)
				fprintf(f, " x%zu_%zu <= %lld\n", m, i, (long long)l->max_count);
			for (size_t h = 0; h < PATHS * STEPS && !bought(i) && l->max_count != COMMIT_NO_LIMIT; h++)
				fprintf(f, " y%zu_%zu_%zu <= %lld\n", m, i, h, (long long)(l->max_count * l->gpus));
			if (i >= DEMAND && l->max_count != COMMIT_NO_LIMIT && !isnan(w->p[m].peak))
				fprintf(f, " v%zu_%zu <= %lld\n", m, i, (long long)l->max_count);
		}
	if (whole) {
		fprintf(f, "General\n");
		for (size_t m = 0; m < w->n; m++)
			for (size_t i = RESERVED; i < SPOT; i++)
				fprintf(f, " x%zu_%zu\n", m, i);
	}
	fprintf(f, "End\n");
	fclose(f);
}

/* USD an hour; INFINITY: nothing keeps the rows; NaN: no answer in time. */
static double
solver(const struct world *w, bool glpk, bool whole, const char *dir)
{
	char lp[256], out[256], cmd[1024], line[512];
	double objective = NAN;
	char state = 0;
	FILE *f;
	int rc;

	snprintf(lp, sizeof(lp), "%s/j.lp", dir);
	snprintf(out, sizeof(out), "%s/j.out", dir);
	write_lp(w, lp, whole);
	snprintf(cmd, sizeof(cmd), glpk ? "timeout 60 glpsol --lp %s --mipgap 0 -w %s >/dev/null 2>&1" :
	    "timeout 60 cbc %s -primalTolerance 1e-9 -dualTolerance 1e-9 -ratioGap 0 -allowableGap 0 solve solu %s >/dev/null 2>&1", lp, out);
	rc = system(cmd);
	f = WIFEXITED(rc) && WEXITSTATUS(rc) == 0 ? fopen(out, "r") : NULL;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "s mip %*d %*d %c %lf", &state, &objective) == 2 || sscanf(line, "s bas %*d %*d %c %*c %lf", &state,
		    &objective) == 2) {
			objective = state == 'n' ? INFINITY : objective;
			break;
		}
		if (sscanf(line, "Optimal - objective value %lf", &objective) == 1)
			break;
		if (!glpk && strstr(line, "nfeasible") != NULL)
			objective = INFINITY;
	}
	if (f != NULL)
		fclose(f);
	if (getenv("KEEP_LP") == NULL)
		remove(lp);
	remove(out);
	return objective / SCALE;
}

static enum berth_code
ours(struct world *w, struct arena *a, double *usd, double *lower, struct berth_err *err)
{
	struct commit_member m[MEMBERS];
	enum berth_code rc;

	for (size_t k = 0; k < w->n; k++)
		m[k] = (struct commit_member){ &w->p[k], &w->rules[k], &w->d[k], &w->plan[k] };
	rc = commit_solve_joint(m, w->n, w->budget, a, err);
	*usd = *lower = 0;
	for (size_t k = 0; k < w->n && rc == BERTH_OK; k++) {
		*usd += w->plan[k].cost_usd / STEPS;
		*lower += w->plan[k].lower_bound_usd / STEPS;
	}
	return rc;
}

static void
test_oracle(bool glpk, const char *dir, struct arena *a)
{
	static struct world w;
	int off = 0, late = 0, none = 0, proven = 0, checked = 0, alone = 0;
	double worst = 0;

	for (unsigned k = 0; k < CASES; k += glpk ? 1 : 3) {
		double theirs, usd, lower;
		struct berth_err err;
		enum berth_code rc;

		if (!make_world(&w, k, a))
			continue;
		theirs = solver(&w, glpk, true, dir);
		if (isnan(theirs)) {
			late++;
			continue;
		}
		rc = ours(&w, a, &usd, &lower, &err);
		checked++;
		if (rc != BERTH_OK || isinf(theirs)) {
			off += rc != BERTH_EINFEASIBLE || !isinf(theirs);
			if (rc != BERTH_EINFEASIBLE || !isinf(theirs))
				tap_diag("case %u: %s, they say %.12g", k, rc == BERTH_OK ? "found" : err.msg, theirs);
			none++;
			continue;
		}
		worst = fmax(worst, fabs(usd / theirs - 1));
		proven += lower >= usd * (1 - 1e-9);
		if (fabs(usd / theirs - 1) > 1e-9) {
			off++;
			tap_diag("case %u (%zu series): %.12g, they say %.12g, bound %.12g", k, w.n, usd, theirs, lower);
		}
		if (w.n == 1 && isnan(w.budget)) {	/* the same by the door that a single series goes through */
			struct commit_plan plan;

			alone += commit_solve_shares(&w.p[0], &w.rules[0], a, &plan, &err) != BERTH_OK ||
			    fabs(plan.cost_usd / STEPS / theirs - 1) > 1e-9;
		}
		arena_reset(a);
	}
	tap_ok(checked > CASES / 4 && late + checked == (glpk ? CASES : CASES / 3), "%s: %d cases, %d of them without a plan, %d not done in time",
	    glpk ? "GLPK" : "CBC", checked, none, late);
	tap_is_long(off, 0, "equal to 1e-9 (worst %.1e)", worst);
	tap_is_long(alone, 0, "and so is what one series gets by itself");
	tap_is_long(proven, checked - none, "each is proven");
}

/* One more of a quota, in the linear program of single GPUs: what it saves is the price told. */
static void
test_prices(const char *dir, struct arena *a)
{
	static struct world w;
	int off = 0, told = 0;

	for (unsigned k = 0; k < 8; k++) {
		double usd, lower;
		struct berth_err err;

		if (!make_world(&w, 4 * k + k % 3, a) || ours(&w, a, &usd, &lower, &err) != BERTH_OK)
			continue;
		for (size_t q = 0; q < w.n_quotas; q++) {
			double was, more, less, price = w.plan[0].quota_price[q] / STEPS, slack = 1e-7;

			was = solver(&w, true, false, dir);
			for (size_t m = 0; m < w.n; m++)
				w.quota[m][q].limit += 0.01;
			more = solver(&w, true, false, dir);
			for (size_t m = 0; m < w.n; m++)
				w.quota[m][q].limit -= 0.02;
			less = solver(&w, true, false, dir);
			for (size_t m = 0; m < w.n; m++)
				w.quota[m][q].limit += 0.01;
			if (!isfinite(was) || !isfinite(more) || !isfinite(less))
				continue;
			told += price > 0;
			off += price < (was - more) * 100 - slack * 100 || price > (less - was) * 100 + slack * 100;
			if (price < (was - more) * 100 - slack * 100 || price > (less - was) * 100 + slack * 100)
				tap_diag("case %u quota %zu: %.9g, %.9g to %.9g", 4 * k + k % 3, q, price, (was - more) * 100, (less - was) * 100);
		}
		arena_reset(a);
	}
	tap_ok(off == 0 && told > 3, "shadow prices are GLPK's (%d binding)", told);
}

int
main(void)
{
	struct arena *a = arena_new();
	char dir[] = "/tmp/berth-joint.XXXXXX";

	if (mkdtemp(dir) == NULL)
		return 1;
	if (system("command -v glpsol >/dev/null 2>&1") == 0) {
		test_oracle(true, dir, a);
		test_prices(dir, a);
	} else {
		tap_skip("quotas against GLPK", "no glpsol");
	}
	if (system("command -v cbc >/dev/null 2>&1") == 0)
		test_oracle(false, dir, a);
	else
		tap_skip("quotas against CBC", "no cbc");
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
