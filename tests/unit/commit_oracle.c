/* Commitments against GLPK and CBC as command-line programs: the same problem as a MIP over the merged demand. */
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

#define HOURS 730
#define MAX_LINES 8
#define CASES 24

struct world {
	double gpus[HOURS];
	double value[HOURS], weight[HOURS];	/* merged: distinct demands and their share of time */
	size_t n_values, n;
	struct commit_line line[MAX_LINES];
	double unserved, peak, budget;
};

/* Working days, nights, drift and bursts. */
static void
make_demand(struct world *w, struct rng *r, double top, bool whole)
{
	double burst = 0;

	for (size_t t = 0; t < HOURS; t++) {
		double v = 0.4 + 0.2 * sin(2 * 3.14159265358979 * (double)t / 24) + 0.1 * (double)t / HOURS -
		    (t / 24 % 7 > 4 ? 0.15 : 0) + burst;

		burst = rng_below(r, 40) == 0 ? 0.3 * rng_unit(r) : 0.9 * burst;
		v = fmax(0, v * top);
		w->gpus[t] = whole ? round(v) : round(v * 4) / 4;
	}
	w->n_values = 0;
	for (size_t t = 0; t < HOURS; t++) {
		size_t i = 0;

		while (i < w->n_values && w->value[i] != w->gpus[t])
			i++;
		if (i == w->n_values) {
			w->value[w->n_values] = w->gpus[t];
			w->weight[w->n_values++] = 0;
		}
		w->weight[i] += 1.0 / HOURS;
	}
}

static void
make_world(struct world *w, unsigned k)
{
	struct rng r;

	rng_seed(&r, 100 + k);
	make_demand(w, &r, 20 + (double)(k % 4) * 15, k % 3 != 2);
	w->n = 1 + k % 6;
	for (size_t i = 0; i < w->n; i++) {
		w->line[i] = (struct commit_line){ COMMIT_RESERVED, i, 0.35 + 0.4 * rng_unit(&r),
			k % 2 == 0 ? 0 : 0.3 * rng_unit(&r), k < 12 ? 1 : INT64_C(1) << rng_below(&r, 4), 0,
			w->n == 1 ? COMMIT_NO_LIMIT : 2 + (int64_t)rng_below(&r, 10), 0 };
	}
	if (k % 4 == 1)
		w->line[w->n - 1] = (struct commit_line){ COMMIT_SPOT, w->n - 1, 0, 0.4, 1, 0, 6, 0 };
	if (k % 8 == 6)
		w->line[0] = (struct commit_line){ COMMIT_OWNED, 0, 0.6, 0.05, 4, 2, 2, 0 };
	w->line[w->n] = (struct commit_line){ COMMIT_ON_DEMAND, w->n, 0, 1, 1, 0, k % 5 == 4 ? 8 : COMMIT_NO_LIMIT, 0 };
	w->n++;
	w->unserved = 8;
	w->peak = k % 5 == 4 ? 15 : NAN;
	w->budget = NAN;
}

static bool
is_bought(const struct world *w, size_t i)
{
	return w->line[i].kind == COMMIT_RESERVED;
}

/* Objective first over the counts, so that they are the first columns. */
static void
write_lp(const struct world *w, const char *path)
{
	FILE *f = fopen(path, "w");

	if (f == NULL)
		return;
	fprintf(f, "Minimize\n c: 0 zero");
	for (size_t i = 0; i < w->n; i++)
		if (is_bought(w, i))
			fprintf(f, "\n + %.17g x%zu", w->line[i].fixed * (double)w->line[i].gpus, i);
	for (size_t t = 0; t < w->n_values; t++) {
		for (size_t i = 0; i < w->n; i++)
			fprintf(f, "\n + %.17g y%zu_%zu", w->line[i].usage * w->weight[t], i, t);
		fprintf(f, "\n + %.17g u%zu", w->unserved * w->weight[t], t);
	}
	fprintf(f, "\nSubject To\n");
	for (size_t t = 0; t < w->n_values; t++) {
		fprintf(f, " d%zu: u%zu", t, t);
		for (size_t i = 0; i < w->n; i++)
			fprintf(f, " + y%zu_%zu", i, t);
		fprintf(f, " >= %.17g\n", w->value[t]);
		for (size_t i = 0; i < w->n; i++) {
			if (is_bought(w, i))
				fprintf(f, " k%zu_%zu: y%zu_%zu - %lld x%zu <= 0\n", i, t, i, t, (long long)w->line[i].gpus, i);
			else if (w->line[i].max_count != COMMIT_NO_LIMIT)
				fprintf(f, " k%zu_%zu: y%zu_%zu <= %lld\n", i, t, i, t,
				    (long long)(w->line[i].gpus * w->line[i].max_count));
		}
	}
	if (!isnan(w->peak)) {
		double need = w->peak;

		fprintf(f, " peak: 0 zero");
		for (size_t i = 0; i < w->n; i++) {
			if (is_bought(w, i))
				fprintf(f, " + %lld x%zu", (long long)w->line[i].gpus, i);
			else if (w->line[i].kind != COMMIT_SPOT)
				need -= (double)(w->line[i].gpus * w->line[i].max_count);
		}
		fprintf(f, " >= %.17g\n", need);
	}
	if (!isnan(w->budget)) {
		fprintf(f, " budget: 0 zero");
		for (size_t i = 0; i < w->n; i++)
			if (is_bought(w, i))
				fprintf(f, " + %.17g x%zu", w->line[i].fixed * (double)w->line[i].gpus, i);
		fprintf(f, " <= %.17g\n", w->budget / HOURS);
	}
	fprintf(f, "Bounds\n zero = 0\n");
	for (size_t i = 0; i < w->n; i++)
		if (is_bought(w, i) && w->line[i].max_count != COMMIT_NO_LIMIT)
			fprintf(f, " 0 <= x%zu <= %lld\n", i, (long long)w->line[i].max_count);
	fprintf(f, "General\n");
	for (size_t i = 0; i < w->n; i++)
		if (is_bought(w, i))
			fprintf(f, " x%zu\n", i);
	fprintf(f, "End\n");
	fclose(f);
}

static int
by_usage(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* What counts cost an hour, added up value by value. */
static double
bill(const struct world *w, const int64_t *count)
{
	double use[MAX_LINES][2], total = 0;

	for (size_t i = 0; i < w->n; i++) {
		int64_t c = is_bought(w, i) ? count[i] : w->line[i].max_count;

		use[i][0] = w->line[i].usage;
		use[i][1] = c == COMMIT_NO_LIMIT ? 1e9 : (double)(c * w->line[i].gpus);
		total += is_bought(w, i) ? w->line[i].fixed * use[i][1] : 0;
	}
	qsort(use, w->n, sizeof(use[0]), by_usage);
	for (size_t t = 0; t < w->n_values; t++) {
		double left = w->value[t];

		for (size_t i = 0; i < w->n; i++) {
			double take = fmin(left, use[i][1]);

			total += w->weight[t] * take * use[i][0];
			left -= take;
		}
		total += w->weight[t] * left * w->unserved;
	}
	return total;
}

/* Counts x of a solver's answer; false: it did not end. glpsol writes "s mip r c o OBJ" and "j N VALUE", cbc "N xI VALUE". */
static bool
read_counts(const struct world *w, const char *path, bool glpk, int64_t *count, double *objective)
{
	FILE *f = fopen(path, "r");
	char line[512];
	bool done = false;

	memset(count, 0, MAX_LINES * sizeof(*count));
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		size_t column, index;
		double value;
		char state;

		if (glpk && sscanf(line, "s mip %*d %*d %c %lf", &state, objective) == 2)
			done = state == 'o';
		if (glpk && sscanf(line, "s bas %*d %*d %*c %c %lf", &state, objective) == 2)	/* nothing to buy: no MIP */
			done = state == 'f';
		if (!glpk && sscanf(line, "Optimal - objective value %lf", objective) == 1)
			done = true;
		if (glpk && sscanf(line, "j %zu %lf", &column, &value) == 2) {
			/* Column 1 is "zero", then the counts in the order of the lines. */
			for (size_t i = 0, c = 2; i < w->n; i++)
				if (is_bought(w, i) && c++ == column)
					count[i] = llround(value);
		}
		if (!glpk && sscanf(line, "%*d x%zu %lf", &index, &value) == 2 && index < w->n)
			count[index] = llround(value);
	}
	if (f != NULL)
		fclose(f);
	return done;
}

/* 1: solved; 0: failed; -1: not done in time, on a busy machine. */
static int
solve_by(const struct world *w, bool glpk, const char *dir, int64_t *count, double *objective)
{
	char lp[256], out[256], cmd[1024];
	int rc;

	snprintf(lp, sizeof(lp), "%s/commit.lp", dir);
	snprintf(out, sizeof(out), "%s/commit.out", dir);
	write_lp(w, lp);
	if (glpk)
		snprintf(cmd, sizeof(cmd), "timeout 60 glpsol --lp %s --mipgap 0 -w %s >/dev/null 2>&1", lp, out);
	else
		snprintf(cmd, sizeof(cmd), "timeout 60 cbc %s -ratioGap 0 -allowableGap 0 solve solu %s >/dev/null 2>&1", lp,
		    out);
	remove(out);
	rc = system(cmd);
	if (WIFEXITED(rc) && WEXITSTATUS(rc) == 124)
		return -1;
	return rc == 0 && read_counts(w, out, glpk, count, objective);
}

static bool
ours(const struct world *w, struct arena *a, struct commit_plan *plan, int64_t *count)
{
	struct commit_demand d = { w->gpus, 1, HOURS, NULL, 1, false };
	struct commit_curve c;
	struct berth_err err = { 0 };

	if (commit_curve_build(&d, a, &c, NULL, &err) != BERTH_OK)
		return false;
	struct commit_problem p = { &c, w->line, w->n, w->unserved, w->peak, w->budget, 0 };
	if (commit_solve(&p, a, plan, &err) != BERTH_OK) {
		tap_diag("%s", err.msg);
		return false;
	}
	for (size_t i = 0; i < w->n; i++)
		count[i] = plan->use[i].count;
	return true;
}

static void
compare(const char *name, bool glpk, const char *dir, struct arena *a)
{
	struct world w;
	int checked = 0, far = 0, budgets = 0, late = 0, done;
	double worst = 0;

	for (unsigned k = 0; k < CASES; k++) {
		int64_t mine[MAX_LINES], theirs[MAX_LINES];
		struct commit_plan plan;
		double best, objective, dearest = 0;

		make_world(&w, k);
		done = ours(&w, a, &plan, mine) ? solve_by(&w, glpk, dir, theirs, &objective) : 0;
		if (done <= 0) {
			tap_diag("case %u: %s", k, done < 0 ? "not done in 60 s" : "no answer");
			late += done < 0;
			continue;
		}
		best = bill(&w, theirs);
		checked++;
		worst = fmax(worst, fabs(plan.cost_usd / HOURS - best) / best);
		far += fabs(plan.cost_usd / HOURS - best) > 1e-9 * best || fabs(objective - best) > 1e-6 * best;
		/* The same with half the money that the best plan binds. */
		if (plan.bound_usd < 1 || !isnan(w.peak))
			continue;
		w.budget = plan.bound_usd / 2;
		if (!ours(&w, a, &plan, mine) || solve_by(&w, glpk, dir, theirs, &objective) <= 0)
			continue;
		best = bill(&w, theirs);
		for (size_t i = 0; i < w.n; i++)
			if (is_bought(&w, i))
				dearest = fmax(dearest, w.line[i].fixed * (double)w.line[i].gpus);
		budgets++;
		far += plan.bound_usd > w.budget * (1 + 1e-9) || plan.lower_bound_usd / HOURS > best * (1 + 1e-9) ||
		    plan.cost_usd / HOURS > best + dearest;
		arena_reset(a);
	}
	tap_ok(checked > 0 && checked + late == CASES, "%s: every case has an answer, but %d not done in time", name, late);
	tap_is_long(far, 0, "%s: %d cases equal to 1e-9 (worst %.1e), %d with a budget within one purchase", name, checked, worst,
	    budgets);
}

int
main(void)
{
	struct arena *a = arena_new();
	char dir[] = "/tmp/berth-oracle.XXXXXX", path[256];
	bool have = mkdtemp(dir) != NULL;

	if (have && system("command -v glpsol >/dev/null 2>&1") == 0)
		compare("GLPK", true, dir, a);
	else
		tap_skip("commitments against GLPK", "no glpsol");
	if (have && system("command -v cbc >/dev/null 2>&1") == 0)
		compare("CBC", false, dir, a);
	else
		tap_skip("commitments against CBC", "no cbc");
	snprintf(path, sizeof(path), "%s/commit.lp", dir);
	remove(path);
	snprintf(path, sizeof(path), "%s/commit.out", dir);
	remove(path);
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
