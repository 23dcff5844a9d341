/* Commitments against full enumeration: each bill added up hour by hour, sharing nothing with commit_solve(). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/commit.h"
#include "tests/tap.h"
#include "util/arena.h"

#define HOURS 24
#define MAX_LINES 5

static uint64_t seed_state;

static unsigned
draw(unsigned n)
{
	seed_state = seed_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed_state >> 33) % n;
}

struct world {
	double gpus[2 * HOURS];
	struct commit_demand d;
	struct commit_line line[MAX_LINES];
	size_t n;
	double unserved, peak, budget;
};

/* Demand and lines of every kind, with quotas, minima and machines of several sizes. */
static void
make_world(struct world *w, bool whole)
{
	memset(w, 0, sizeof(*w));
	for (size_t i = 0; i < 2 * HOURS; i++)
		w->gpus[i] = draw(4) == 0 ? 0 : whole ? draw(9) : draw(900) / 100.0;
	w->d = (struct commit_demand){ w->gpus, 2, HOURS, NULL, 1, false };
	w->n = 1 + draw(MAX_LINES - 1);
	for (size_t i = 0; i < w->n; i++) {
		struct commit_line *l = &w->line[i];

		*l = (struct commit_line){ COMMIT_RESERVED, i, (20 + draw(70)) / 100.0, draw(3) == 0 ? draw(50) / 100.0 : 0,
		    1 << draw(3), 0, 1 + draw(6), 0 };
		switch (draw(5)) {
		case 0:
			*l = (struct commit_line){ COMMIT_SPOT, i, 0, (30 + draw(60)) / 100.0, 1, 0, 1 + draw(4), 0 };
			break;
		case 1:
			*l = (struct commit_line){ COMMIT_OWNED, i, 0.5, draw(3) / 10.0, 1 + draw(2), 2, 2, 0 };
			break;
		case 2:
			l->min_count = draw(2);
			break;
		default:
			break;
		}
	}
	w->line[w->n] = (struct commit_line){ COMMIT_ON_DEMAND, w->n, 0, 1, 1, 0,
	    draw(3) == 0 ? draw(9) : COMMIT_NO_LIMIT, 0 };
	w->n++;
	w->unserved = 10;
	w->peak = draw(4) == 0 ? (double)draw(12) : NAN;
	w->budget = NAN;
}

static int
by_usage(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Bill of given counts, in USD for both paths' mean; *bound_out the fixed money. */
static double
bill(const struct world *w, const int64_t *count, double *bound_out)
{
	double use[MAX_LINES][2], total = 0, fixed = 0;

	for (size_t i = 0; i < w->n; i++) {
		int64_t c = w->line[i].kind == COMMIT_RESERVED ? count[i] : w->line[i].max_count;

		use[i][0] = w->line[i].usage;
		use[i][1] = c == COMMIT_NO_LIMIT ? 1e9 : (double)(c * w->line[i].gpus);
		fixed += w->line[i].kind == COMMIT_RESERVED ? w->line[i].fixed * use[i][1] * HOURS : 0;
	}
	qsort(use, w->n, sizeof(use[0]), by_usage);
	for (size_t t = 0; t < 2 * HOURS; t++) {
		double left = w->gpus[t];

		for (size_t i = 0; i < w->n; i++) {
			double take = left < use[i][1] ? left : use[i][1];

			total += take * use[i][0] / 2;
			left -= take;
		}
		total += left * w->unserved / 2;
	}
	if (bound_out != NULL)
		*bound_out = fixed;
	return total + fixed;
}

static bool
carries(const struct world *w, const int64_t *count)
{
	double gpus = 0;

	if (isnan(w->peak))
		return true;
	for (size_t i = 0; i < w->n; i++) {
		const struct commit_line *l = &w->line[i];

		if (l->kind == COMMIT_RESERVED)
			gpus += (double)(count[i] * l->gpus);
		else if (l->kind != COMMIT_SPOT)
			gpus += l->max_count == COMMIT_NO_LIMIT ? 1e9 : (double)(l->max_count * l->gpus);
	}
	return gpus >= w->peak;
}

/* The shares by their definition, over what is owned and bought. */
static bool
shared(const struct world *w, const int64_t *count, const struct commit_shares *s)
{
	double all = 0, of[3] = { 0 };

	for (size_t i = 0; i < w->n; i++) {
		int64_t c = w->line[i].kind == COMMIT_RESERVED ? count[i] : w->line[i].kind == COMMIT_OWNED ? w->line[i].max_count : 0;

		all += (double)(c * w->line[i].gpus);
		of[s->group[i]] += (double)(c * w->line[i].gpus);
	}
	for (size_t k = 0; k < s->n; k++)
		if (of[s->share[k].group] > s->share[k].max * all + 1e-9 || of[s->share[k].group] < s->share[k].min * all - 1e-9)
			return false;
	return true;
}

/* Least bill over all counts within the limits; INFINITY: none. */
static double
enumerate(const struct world *w, const struct commit_shares *shares)
{
	int64_t count[MAX_LINES];
	double least = INFINITY;
	size_t i;

	for (i = 0; i < w->n; i++)
		count[i] = w->line[i].min_count;
	do {
		double bound, usd = bill(w, count, &bound);

		if (carries(w, count) && (shares == NULL || shared(w, count, shares)) && (isnan(w->budget) || bound <= w->budget + 1e-9))
			least = fmin(least, usd);
		for (i = 0; i < w->n; i++) {
			if (w->line[i].kind != COMMIT_RESERVED)
				continue;
			if (++count[i] <= w->line[i].max_count)
				break;
			count[i] = w->line[i].min_count;
		}
	} while (i < w->n);
	return least;
}

static void
plan_counts(const struct world *w, const struct commit_plan *p, int64_t *count)
{
	for (size_t i = 0; i < w->n; i++)
		count[i] = p->use[i].count;
}

/* One world: the plan's cost is what its counts cost, and nothing beats it. False with a comment if not. */
static bool
agrees(const struct world *w, struct arena *a)
{
	struct commit_curve c;
	struct commit_plan plan;
	struct berth_err err;
	double least = enumerate(w, NULL), own, bound;
	int64_t count[MAX_LINES];
	enum berth_code rc;

	if (commit_curve_build(&w->d, a, &c, NULL, &err) != BERTH_OK)
		return false;
	struct commit_problem p = { &c, w->line, w->n, w->unserved, w->peak, w->budget, 0 };
	rc = commit_solve(&p, a, &plan, &err);
	if (rc != BERTH_OK) {
		tap_diag("%s; enumeration: %g", err.msg, least);
		return rc == BERTH_EINFEASIBLE && isinf(least);
	}
	plan_counts(w, &plan, count);
	own = bill(w, count, &bound);
	if (fabs(own - plan.cost_usd) > 1e-9 * own || fabs(bound - plan.bound_usd) > 1e-9 * (1 + bound)) {
		tap_diag("cost %.12g, its counts cost %.12g", plan.cost_usd, own);
		return false;
	}
	if (plan.lower_bound_usd > least * (1 + 1e-9) || !carries(w, count))
		return false;
	if (isnan(w->budget))
		return fabs(own - least) <= 1e-9 * least && plan.optimal;
	return bound <= w->budget * (1 + 1e-9) + 1e-9 && own >= least * (1 - 1e-9);
}

/* With shares: the plan keeps them, its bound is below the least bill, and in nearly all worlds it is the least bill. */
static void
test_shares(struct arena *a)
{
	size_t worlds = 0, exact = 0, bad = 0, gap = 0;

	for (unsigned k = 0; k < 300; k++) {
		struct world w;
		size_t group[MAX_LINES];
		const struct commit_share share[2] = { { 1, k % 3 == 0 ? 0.25 : 0, 0.6 }, { 2, k % 4 == 0 ? 0.2 : 0, k % 2 == 0 ? 0.5 : 1 } };
		const struct commit_shares s = { .share = share, .n = 2, .group = group };
		struct commit_curve c;
		struct commit_plan plan;
		struct berth_err err;
		int64_t count[MAX_LINES];
		double least, own, bound;
		enum berth_code rc;

		seed_state = 7000 + k;
		make_world(&w, k % 2 == 0);
		if (k % 5 == 0)
			w.budget = 40.0 * HOURS / 10 * (1 + k % 7);
		for (size_t i = 0; i < MAX_LINES; i++)
			group[i] = i % 3;
		if (commit_curve_build(&w.d, a, &c, NULL, &err) != BERTH_OK)
			continue;
		least = enumerate(&w, &s);
		struct commit_problem p = { &c, w.line, w.n, w.unserved, w.peak, w.budget, 0 };
		rc = commit_solve_shares(&p, &s, a, &plan, &err);
		worlds++;
		if (rc != BERTH_OK) {
			if (rc != BERTH_EINFEASIBLE || !isinf(least)) {
				bad++;
				tap_diag("world %u: %s; enumeration %g", k, err.msg, least);
			}
			exact += isinf(least) != 0;
			continue;
		}
		plan_counts(&w, &plan, count);
		own = bill(&w, count, &bound);
		if (!shared(&w, count, &s) || !carries(&w, count) || (!isnan(w.budget) && bound > w.budget * (1 + 1e-9)) ||
		    plan.lower_bound_usd > least * (1 + 1e-9) || own < least * (1 - 1e-9)) {
			bad++;
			tap_diag("world %u: cost %.9g, bound %.9g, enumeration %.9g", k, own, plan.lower_bound_usd, least);
		}
		exact += own <= least * (1 + 1e-9);
		gap += own > least * 1.01;
	}
	tap_diag("%zu of %zu worlds exact, %zu over 1 %%", exact, worlds, gap);
	tap_is_long((long)bad, 0, "shares are kept, and the bound is one");
	tap_ok(exact == worlds, "the least bill in all worlds");
	tap_ok(gap <= 1, "and at most one of 300 lies over 1 %% above it");
}

static void
test_enumeration(struct arena *a)
{
	struct world w;
	int bad = 0;

	for (unsigned k = 0; k < 400; k++) {
		seed_state = k;
		make_world(&w, k % 2 == 0);
		if (!agrees(&w, a)) {
			bad++;
			tap_diag("world %u", k);
		}
		arena_reset(a);
	}
	tap_is_long(bad, 0, "400 worlds: equal to the best of all counts");
}

/* With a budget the plan may miss the optimum, by less than its dearest purchase. */
static void
test_budget(struct arena *a)
{
	struct world w;
	int bad = 0, far = 0, missed = 0;
	enum berth_code rc;

	for (unsigned k = 0; k < 300; k++) {
		double least, dearest = 0;
		struct commit_curve c;
		struct commit_plan plan;
		struct berth_err err;

		seed_state = k + 5000;
		make_world(&w, true);
		w.peak = NAN;
		w.budget = draw(150);
		bad += !agrees(&w, a);
		for (size_t i = 0; i < w.n; i++)
			if (w.line[i].kind == COMMIT_RESERVED)
				dearest = fmax(dearest, w.line[i].fixed * (double)w.line[i].gpus * HOURS);
		least = enumerate(&w, NULL);
		if (isinf(least) || commit_curve_build(&w.d, a, &c, NULL, &err) != BERTH_OK)
			continue;
		struct commit_problem p = { &c, w.line, w.n, w.unserved, w.peak, w.budget, 0 };
		rc = commit_solve(&p, a, &plan, &err);
		if (rc == BERTH_OK)
			far += plan.cost_usd - least > dearest + 1e-9 * least;
		missed += rc == BERTH_OK && plan.cost_usd - least > 1e-9 * least;
		arena_reset(a);
	}
	tap_is_long(bad, 0, "300 budgets: kept, bound below the optimum, plan not below it");
	tap_is_long(far, 0, "300 budgets: within one purchase of the optimum");
	tap_ok(missed <= 3, "300 budgets: the optimum itself missed in %d", missed);
}

static void
solve(const double *gpus, size_t n, const struct commit_line *line, size_t n_lines, struct arena *a,
    struct commit_plan *plan)
{
	struct commit_demand d = { gpus, 1, n, NULL, 1, false };
	struct commit_curve c;
	struct berth_err err = { 0 };

	tap_code(commit_curve_build(&d, a, &c, NULL, &err), BERTH_OK, &err);
	struct commit_problem p = { &c, line, n_lines, 100, NAN, NAN, 0 };
	tap_code(commit_solve(&p, a, plan, &err), BERTH_OK, &err);
}

/* Newsvendor: reserve GPU l iff it is busy at least rho of the time (Arrow, Harris & Marschak 1951). */
static void
test_newsvendor(struct arena *a)
{
	double gpus[100];
	struct commit_plan plan;

	for (int i = 0; i < 100; i++)
		gpus[i] = i + 1;	/* GPU l is busy in 101 - l of 100 hours */
	for (int rho = 5; rho < 100; rho += 10) {
		struct commit_line line[2] = {
			{ COMMIT_RESERVED, 0, rho / 100.0 + 0.001, 0, 1, 0, COMMIT_NO_LIMIT, 0 },
			{ COMMIT_ON_DEMAND, 1, 0, 1, 1, 0, COMMIT_NO_LIMIT, 0 },
		};

		solve(gpus, 100, line, 2, a, &plan);
		tap_is_long((long)plan.use[0].gpus, 100 - rho, "price %.3f: the (1 - rho) quantile", line[0].fixed);
		tap_near(plan.use[0].break_even, line[0].fixed, 1e-12, "break-even is the price's share");
	}
}

static void
test_edges(struct arena *a)
{
	const double zero[3] = { 0, 0, 0 }, flat[3] = { 5, 5, 5 }, one[1] = { 7 }, bad[2] = { 1, NAN };
	struct commit_line line[2] = {
		{ COMMIT_RESERVED, 0, 0.6, 0, 1, 0, COMMIT_NO_LIMIT, 0 },
		{ COMMIT_ON_DEMAND, 1, 0, 1, 1, 0, COMMIT_NO_LIMIT, 0 },
	};
	struct commit_demand d = { bad, 1, 2, NULL, 1, false };
	struct commit_curve c;
	struct commit_plan plan;
	struct berth_err err;

	solve(zero, 3, line, 2, a, &plan);
	tap_is_long(plan.use[0].count, 0, "no demand: nothing bought");
	tap_near(plan.cost_usd, 0, 0, "no demand: no cost");
	solve(flat, 3, line, 2, a, &plan);
	tap_is_long(plan.use[0].count, 5, "equal demand: all of it bought");
	tap_near(plan.cost_usd, 9, 1e-12, "equal demand: 5 GPUs, 3 h at 0.60");
	solve(one, 1, line, 2, a, &plan);
	tap_is_long(plan.use[0].count, 7, "one hour: all of it bought");
	line[0].fixed = 1;
	solve(flat, 3, line, 2, a, &plan);
	tap_is_long(plan.use[0].count, 0, "as dear as on demand: not bought");
	line[0].fixed = 1.5;
	solve(flat, 3, line, 2, a, &plan);
	tap_is_long(plan.use[0].count, 0, "dearer than on demand: never bought");
	tap_code(commit_curve_build(&d, a, &c, NULL, &err), BERTH_EINVAL, &err);
	line[0].fixed = -0.1;
	struct commit_demand ok = { flat, 1, 3, NULL, 1, false };
	tap_code(commit_curve_build(&ok, a, &c, NULL, &err), BERTH_OK, &err);
	struct commit_problem p = { &c, line, 2, 100, NAN, NAN, 0 };
	tap_code(commit_solve(&p, a, &plan, &err), BERTH_EINVAL, &err);
	line[0].fixed = 0.6;
	line[1].max_count = 2;
	line[0].max_count = 2;
	p.peak = 5;
	tap_code(commit_solve(&p, a, &plan, &err), BERTH_EINFEASIBLE, &err);
}

/* Two offers that are alike: the earlier one is filled first, whatever the order they come in. */
static void
test_ties(struct arena *a)
{
	const double gpus[4] = { 6, 6, 6, 6 };
	struct commit_line line[3] = {
		{ COMMIT_RESERVED, 0, 0.5, 0, 1, 0, 4, 0 },
		{ COMMIT_RESERVED, 1, 0.5, 0, 1, 0, 4, 0 },
		{ COMMIT_ON_DEMAND, 2, 0, 1, 1, 0, COMMIT_NO_LIMIT, 0 },
	}, t;
	struct commit_plan plan;

	solve(gpus, 4, line, 3, a, &plan);
	tap_is_long(plan.use[0].count, 4, "alike: the first is filled");
	tap_is_long(plan.use[1].count, 2, "alike: the second has the rest");
	t = line[0];
	line[0] = line[1];
	line[1] = t;
	solve(gpus, 4, line, 3, a, &plan);
	tap_is_long(plan.use[1].count, 4, "alike, other order: the same plan");
}

static void
test_paths(struct arena *a)
{
	double gpus[60 * 4];
	struct commit_demand d = { gpus, 60, 4, NULL, 1, false };
	struct commit_curve c, plain;
	struct berth_err err = { 0 };
	double peak;
	size_t cut = 9;
	bool enough = false;

	for (int p = 0; p < 60; p++)
		for (int t = 0; t < 4; t++)
			gpus[p * 4 + t] = t == 1 ? p + 1 : 1;
	tap_code(commit_peak(&d, 0.95, a, &peak, &enough, &err), BERTH_OK, &err);
	tap_near(peak, 57, 0, "57 of 60 peaks lie within the 95 %% quantile");
	tap_ok(enough, "60 paths can claim 95 %%");
	d.n_paths = 58;
	tap_code(commit_peak(&d, 0.95, a, &peak, &enough, &err), BERTH_OK, &err);
	tap_ok(!enough, "58 paths cannot (0.95^58 > 0.05)");
	d.n_paths = 60;
	tap_code(commit_curve_build(&d, a, &plain, &cut, &err), BERTH_OK, &err);
	tap_is_long((long long)cut, 0, "no absurd path");
	gpus[59 * 4 + 1] = 1e9;
	tap_code(commit_curve_build(&d, a, &c, &cut, &err), BERTH_OK, &err);
	tap_is_long((long long)cut, 1, "a path of 1e9 GPUs is cut");
	tap_near(c.peak, 59, 0, "to the highest peak of the others");
}

/* P10 and P90 of the cost, and regret, by hand: 10 paths of constant demand 1..10, one reserved GPU of two worth it. */
static void
test_risk(struct arena *a)
{
	double gpus[10 * 2];
	struct commit_demand d = { gpus, 10, 2, NULL, 1, false };
	struct commit_line line[2] = {
		{ COMMIT_RESERVED, 0, 0.55, 0, 1, 0, COMMIT_NO_LIMIT, 0 },
		{ COMMIT_ON_DEMAND, 1, 0, 1, 1, 0, COMMIT_NO_LIMIT, 0 },
	};
	struct commit_curve c;
	struct commit_plan plan;
	struct commit_risk risk;
	struct berth_err err = { 0 };

	for (int p = 0; p < 10; p++)
		gpus[p * 2] = gpus[p * 2 + 1] = p + 1;
	tap_code(commit_curve_build(&d, a, &c, NULL, &err), BERTH_OK, &err);
	struct commit_problem p = { &c, line, 2, 100, NAN, NAN, 0 };
	tap_code(commit_solve(&p, a, &plan, &err), BERTH_OK, &err);
	tap_is_long(plan.use[0].count, 5, "GPU 5 is busy 0.6 of the time, GPU 6 half of it");
	tap_code(commit_assess(&p, NULL, &plan, &d, a, &risk, &err), BERTH_OK, &err);
	tap_near(risk.p10_usd, 5.5, 1e-12, "P10: 5 reserved for 2 h, nothing else");
	tap_near(risk.p90_usd, 5.5 + 2 * 4, 1e-12, "P90: 9 GPUs, 4 of them on demand");
	tap_near(risk.covered, 1, 0, "on demand without a limit covers every path");
	/* Demand 0.8 p: levels busy E clip(0.8 p - l, 0, 1) = 1, .94?, ... enumerated by the reserved count below. */
	double least = INFINITY, own = NAN;
	for (int k = 0; k <= 8; k++) {
		double usd = 2 * 0.55 * k;

		for (int q = 1; q <= 10; q++)
			usd += 2 * fmax(0, 0.8 * q - k) / 10;
		least = fmin(least, usd);
		own = k == 5 ? usd : own;
	}
	tap_near(risk.down_usd, own, 1e-9, "cost if demand is 20 %% less");
	tap_near(risk.regret_down_usd, own - least, 1e-9, "regret if demand is 20 %% less");
}

int
main(void)
{
	struct arena *a = arena_new();

	test_enumeration(a);
	test_shares(a);
	test_budget(a);
	test_newsvendor(a);
	test_edges(a);
	test_ties(a);
	test_paths(a);
	test_risk(a);
	arena_free(a);
	return tap_done();
}
