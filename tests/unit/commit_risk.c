/* What a plan says of itself, against sums hour by hour: outcomes over the paths, regret, use, and what would change it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/commit.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define PATHS 12
#define STEPS 16
#define MOST 30		/* GPUs of either offer that are tried */

struct world {
	double gpus[PATHS * STEPS], fixed[2], usage[2];
	int size[2];
	struct commit_demand d;
	struct commit_line line[3];
};

static void
make(struct world *w, struct rng *r)
{
	w->d = (struct commit_demand){ w->gpus, 4 + rng_below(r, PATHS - 3), STEPS, NULL, 2, false };
	for (size_t i = 0; i < w->d.n_paths; i++) {
		double base = 2 + 8 * rng_unit(r);

		for (size_t t = 0; t < STEPS; t++)
			w->gpus[i * STEPS + t] = floor(fmax(0, base + 4 * rng_normal(r)));
	}
	w->fixed[0] = 0.2 + 0.6 * rng_unit(r);
	w->usage[0] = 0;
	w->fixed[1] = 0.1 + 0.3 * rng_unit(r);
	w->usage[1] = 0.1 + 0.4 * rng_unit(r);
	w->size[0] = 1 + (int)rng_below(r, 3);
	w->size[1] = 1 + (int)rng_below(r, 2);
	for (int i = 0; i < 2; i++)
		w->line[i] = (struct commit_line){ COMMIT_RESERVED, 0, w->fixed[i], w->usage[i], w->size[i], 0, COMMIT_NO_LIMIT, 0 };
	w->line[2] = (struct commit_line){ COMMIT_ON_DEMAND, 0, 0, 1, 1, 0, COMMIT_NO_LIMIT, 0 };
}

/* USD of one path with so many machines of each, all demand times scale: the second offer's use costs, so it is used last. */
static double
bill(const struct world *w, size_t path, const int n[2], double price, double scale)
{
	double s0 = n[0] * w->size[0], s1 = n[1] * w->size[1], usd = 0;

	for (size_t t = 0; t < STEPS; t++) {
		double v = scale * w->gpus[path * STEPS + t], a = fmin(v, s0), b = fmin(v - a, s1);

		usd += price * (w->fixed[0] * s0 + w->fixed[1] * s1) + fmin(1, price * w->usage[1]) * b + (v - a - b);
	}
	return 2 * usd;
}

static double
mean_bill(const struct world *w, const int n[2], double price, double scale)
{
	double usd = 0;

	for (size_t i = 0; i < w->d.n_paths; i++)
		usd += bill(w, i, n, price, scale) / (double)w->d.n_paths;
	return usd;
}

/* The best of all counts; the GPUs that it buys. */
static int
best(const struct world *w, double price, double scale, double *usd_out)
{
	double least = INFINITY;
	int gpus = 0;

	for (int i = 0; i * w->size[0] <= MOST; i++)
		for (int j = 0; j * w->size[1] <= MOST; j++) {
			double usd = mean_bill(w, (int[2]){ i, j }, price, scale);

			if (usd < least - 1e-9) {
				least = usd;
				gpus = i * w->size[0] + j * w->size[1];
			}
		}
	*usd_out = least;
	return gpus;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Off by more than rounding? Counted and named. */
static int
off(const char *what, unsigned world, double got, double want)
{
	if (fabs(got - want) <= 1e-9 * fmax(1, fabs(want)))
		return 0;
	tap_diag("world %u: %s is %.12g, by sums %.12g", world, what, got, want);
	return 1;
}

static int
check_outcome(const struct world *w, unsigned k, const struct commit_problem *p, const struct commit_plan *plan, struct arena *a)
{
	const int n[2] = { (int)plan->use[0].count, (int)plan->use[1].count };
	double usd[PATHS], least, m = (double)w->d.n_paths, busy[2] = { 0, 0 }, hours = 2.0 * STEPS;
	struct commit_risk risk;
	struct berth_err err = { 0 };
	int bad = 0;

	if (commit_assess(p, NULL, plan, &w->d, a, &risk, &err) != BERTH_OK)
		return 1;
	best(w, 1, 1, &least);
	bad += off("cost", k, plan->cost_usd, least) + off("own cost", k, plan->cost_usd, mean_bill(w, n, 1, 1));
	for (size_t i = 0; i < w->d.n_paths; i++) {
		usd[i] = bill(w, i, n, 1, 1);
		for (size_t t = 0; t < STEPS; t++) {
			double v = w->gpus[i * STEPS + t], first = fmin(v, n[0] * w->size[0]);

			busy[0] += 2 * first / m;
			busy[1] += 2 * fmin(v - first, n[1] * w->size[1]) / m;
		}
	}
	qsort(usd, w->d.n_paths, sizeof(*usd), by_value);
	bad += off("P10", k, risk.p10_usd, usd[(size_t)ceil(0.1 * m) - 1]);
	bad += off("P50", k, risk.p50_usd, usd[(size_t)ceil(0.5 * m - 1e-12) - 1]);
	bad += off("P90", k, risk.p90_usd, usd[(size_t)ceil(0.9 * m - 1e-12) - 1]);
	best(w, 1, 0.8, &least);
	bad += off("regret at 20 % less", k, risk.regret_down_usd, mean_bill(w, n, 1, 0.8) - least);
	best(w, 1, 1.2, &least);
	bad += off("regret at 20 % more", k, risk.regret_up_usd, mean_bill(w, n, 1, 1.2) - least);
	for (int i = 0; i < 2; i++)
		if (n[i] > 0)
			bad += off("utilisation", k, plan->use[i].utilisation, busy[i] / (n[i] * w->size[i] * hours));
	for (int i = 0; i < 2; i++)
		if (n[i] > 0 && n[1 - i] == 0)
			bad += off("break-even", k, plan->use[i].break_even, w->fixed[i] / (1 - w->usage[i]));
	return bad;
}

/* Short of the factor the same number is bought, from it on another: the one that is told. */
static int
check_change(const struct world *w, unsigned k, const struct commit_problem *p, const struct commit_plan *plan, struct arena *a,
    int *turns)
{
	struct commit_change c;
	struct berth_err err = { 0 };
	double unused;
	int was = best(w, 1, 1, &unused), bad = 0;

	if (commit_change(p, NULL, plan, &w->d, NAN, a, &c, &err) != BERTH_OK)
		return 1;
	const struct { const char *name; struct commit_turn t; bool price; double reach, near; } x[4] = {
		{ "dearer", c.dearer, true, 4, 1e-6 }, { "cheaper", c.cheaper, true, 0.25, -1e-6 },
		{ "more demand", c.more, false, 2, 1.0 / 256 }, { "less demand", c.less, false, 0.5, -0.5 / 256 },
	};
	for (int i = 0; i < 4; i++) {
		double at = isnan(x[i].t.factor) ? x[i].reach : x[i].t.factor, short_of = at - x[i].near, past = x[i].price ? at + x[i].near : at;
		int got;

		if (isnan(x[i].t.factor)) {	/* nothing in reach: at the end of it the same is bought */
			got = best(w, x[i].price ? at : 1, x[i].price ? 1 : at, &unused);
			bad += got != was;
			continue;
		}
		++*turns;
		got = best(w, x[i].price ? short_of : 1, x[i].price ? 1 : short_of, &unused);
		if (got != was && ++bad)
			tap_diag("world %u, %s: at %.9g %d GPUs are bought, not yet %d", k, x[i].name, short_of, was, got);
		got = best(w, x[i].price ? past : 1, x[i].price ? 1 : past, &unused);
		if ((got == was || got != x[i].t.gpus) && ++bad)
			tap_diag("world %u, %s: at %.9g by sums %d, told %lld, before %d", k, x[i].name, past, got, (long long)x[i].t.gpus, was);
	}
	return bad;
}

/* USD an hour of use with these purchases, hour by hour: the cheaper use first, the rest on demand. */
static double
use_of(const struct world *w, const int64_t *count)
{
	size_t first = w->line[0].usage <= w->line[1].usage ? 0 : 1, n = w->d.n_paths * STEPS;
	double usd = 0;

	for (size_t i = 0; i < n; i++) {
		double left = w->gpus[i];

		for (size_t k = 0; k < 2; k++) {
			const struct commit_line *l = &w->line[k == 0 ? first : 1 - first];
			double served = fmin(left, (double)(count[k == 0 ? first : 1 - first] * l->gpus));

			if (l->usage > w->line[2].usage)
				continue;	/* on demand is cheaper to use */
			usd += served * l->usage;
			left -= served;
		}
		usd += left * w->line[2].usage;
	}
	return usd / (double)n;
}

static int
check_one_more(const struct world *w, unsigned k, const struct commit_problem *p, const struct commit_plan *plan, struct arena *a)
{
	int off = 0;

	for (size_t i = 0; i < 2; i++) {
		int64_t count[2] = { plan->use[0].count, plan->use[1].count };
		double was = use_of(w, count), saves, costs = commit_one_more(p, plan, i, a, &saves);

		count[i]++;
		if (fabs(costs - w->line[i].fixed * (double)w->line[i].gpus) > 1e-9 || fabs(saves - (was - use_of(w, count))) > 1e-9) {
			off++;
			tap_diag("world %u: one more of %zu costs %.12g and saves %.12g, not %.12g", k, i, costs, saves, was - use_of(w, count));
		}
	}
	return off;
}

/*
 * The most that nested quotas let be had, against all counts: of what is reserved, of that and on demand, and of all with what
 * is owned. Where each line is not at its own limit, raising those that bind by one brings one more.
 */
static void
test_most(struct arena *a)
{
	static const double weight[3][4] = { { 0, 1, 0, 0 }, { 0, 1, 1, 0 }, { 1, 1, 1, 1 } };
	int off = 0, bound = 0;
	struct rng r;

	rng_seed(&r, 31);
	for (unsigned k = 0; k < 400; k++) {
		int owned = (int)rng_below(&r, 4), limit[3], most[2] = { (int)rng_below(&r, 9), (int)rng_below(&r, 9) };
		struct commit_line line[4] = { { COMMIT_OWNED, 0, 0, 0, 1, owned, owned, 0 },
			{ COMMIT_RESERVED, 1, 0.5, 0, 1, 0, most[0], 0 }, { COMMIT_ON_DEMAND, 2, 0, 1, 1, 0, most[1], 0 },
			{ COMMIT_SPOT, 3, 0, 0.3, 1, 0, 5, 0 } };
		struct commit_problem p = { NULL, line, 4, 100, NAN, NAN, 0 };
		struct commit_quota quota[3];
		struct commit_shares rules = { .quota = quota, .n_quotas = 3 };
		double told[2];
		bool binds[3], any = false, first[3];

		for (int q = 0; q < 3; q++)
			limit[q] = (int)rng_below(&r, 12);
		for (int again = 0; again < 2; again++) {
			int best = 0;

			for (int q = 0; q < 3; q++) {
				limit[q] += again && first[q];
				quota[q] = (struct commit_quota){ limit[q], weight[q] };
			}
			for (int x = 0; x <= most[0] && x <= limit[0]; x++)
				for (int y = 0; y <= most[1] && x + y <= limit[1]; y++)
					if (owned + x + y <= limit[2] || x + y == 0)
						best = owned + x + y > best ? owned + x + y : best;
			told[again] = commit_most(&p, &rules, a, binds);
			off += fabs(told[again] - best) > 1e-9;
			for (int q = 0; q < 3 && !again; q++) {
				first[q] = binds[q];
				any = any || binds[q];
			}
		}
		if (told[0] < owned + most[0] + most[1]) {
			bound++;
			/* what is owned may pass its quota by more than one */
			if (!any || (limit[2] - first[2] >= owned && told[1] < told[0] + 1 - 1e-9)) {
				off++;
				tap_diag("world %u: %d owned, most %d %d, limits then %d %d %d, told %g %g, binds %d %d %d", k, owned, most[0],
				    most[1], limit[0], limit[1], limit[2], told[0], told[1], first[0], first[1], first[2]);
			}
		}
		arena_reset(a);
	}
	tap_ok(off == 0 && bound > 200, "what all quotas together let be had is what counts say, and those that bind are told (%d)", bound);
}

int
main(void)
{
	struct arena *a = arena_new();
	int outcome = 0, more = 0, change = 0, turns = 0;
	static struct world w;
	struct rng r;

	rng_seed(&r, 23);
	for (unsigned k = 0; k < 150; k++) {
		struct commit_curve c;
		struct commit_plan plan;
		struct berth_err err = { 0 };

		make(&w, &r);
		if (commit_curve_build(&w.d, a, &c, NULL, &err) != BERTH_OK) {
			outcome++;
			continue;
		}
		struct commit_problem p = { &c, w.line, 3, 100, NAN, NAN, 0 };

		if (commit_solve(&p, a, &plan, &err) != BERTH_OK) {
			outcome++;
			continue;
		}
		outcome += check_outcome(&w, k, &p, &plan, a);
		more += check_one_more(&w, k, &p, &plan, a);
		change += check_change(&w, k, &p, &plan, a, &turns);
		arena_reset(a);
	}
	tap_is_long(outcome, 0, "150 worlds: P10, P50, P90, regret, use and break-even are what sums say");
	tap_is_long(more, 0, "150 worlds: one more purchase costs and saves what hours say");
	test_most(a);
	tap_is_long(change, 0, "150 worlds: short of what changes the plan the same is bought, past it what is told");
	tap_ok(turns > 300, "and most worlds have something in reach (%d)", turns);
	arena_free(a);
	return tap_done();
}
