/* Placements against full enumeration, and what must hold for every plan. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place.h"
#include "plan/place_finish.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define MAX_JOBS 40
#define MAX_OFFERS 24
#define MAX_CANDS (MAX_JOBS * MAX_OFFERS)
#define MAX_RES (MAX_OFFERS + 8)

struct world {
	struct place_problem p;
	size_t start[MAX_JOBS + 1], offer[MAX_CANDS], use_start[MAX_OFFERS + 1], resource[3 * MAX_OFFERS];
	double cost[MAX_CANDS], penalty[MAX_JOBS];
	int64_t need[MAX_CANDS], weight[3 * MAX_OFFERS], limit[MAX_RES];
};

/* Offers with a capacity each, zones of offers with a quota, and a region over two zones: nested, counted in vCPUs. */
static void
make_world(struct world *w, uint64_t seed, size_t jobs, size_t offers, unsigned tightness)
{
	struct rng r;
	size_t k = 0, u = 0;

	memset(w, 0, sizeof(*w));
	rng_seed(&r, seed);
	for (size_t i = 0; i < jobs; i++) {
		int64_t gang = INT64_C(1) << rng_below(&r, 4);
		double work = 1 + 20 * rng_unit(&r);

		for (size_t j = 0; j < offers; j++) {
			if (rng_below(&r, 3) == 0)
				continue;
			w->offer[k] = j;
			w->need[k] = gang;
			w->cost[k++] = work * (double)gang * (0.5 + rng_unit(&r));
		}
		w->start[i + 1] = k;
		w->penalty[i] = 1000 * (double)gang;
	}
	for (size_t j = 0; j < offers; j++) {
		w->resource[u] = j;
		w->weight[u++] = 1;
		w->limit[j] = (int64_t)(2 + rng_below(&r, 4 * tightness));
		w->resource[u] = offers + j % 4;
		w->weight[u++] = 1;
		w->resource[u] = offers + 4 + j % 2;
		w->weight[u++] = 12;
		w->use_start[j + 1] = u;
	}
	for (size_t q = 0; q < 4; q++)
		w->limit[offers + q] = (int64_t)(4 + rng_below(&r, 6 * tightness));
	for (size_t q = 0; q < 2; q++)
		w->limit[offers + 4 + q] = (int64_t)(12 * (6 + rng_below(&r, 8 * tightness)));
	w->p = (struct place_problem){ jobs, offers, offers + 6, w->start, w->offer, w->cost, NULL, w->need, w->use_start,
	    w->resource, w->weight, w->limit, w->penalty, NULL, NULL, NULL };
}

/* Best value of jobs i.. with what is left; depth first, cut by the best so far. */
static void
enumerate(const struct world *w, size_t i, int64_t *left, double value, double *best)
{
	const struct place_problem *p = &w->p;

	if (value >= *best)
		return;
	if (i == p->n_jobs) {
		*best = value;
		return;
	}
	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
		size_t j = p->offer[k];
		bool fits = true;

		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			fits &= left[p->resource[u]] >= p->need[k] * p->weight[u];
		if (!fits)
			continue;
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			left[p->resource[u]] -= p->need[k] * p->weight[u];
		enumerate(w, i + 1, left, value + p->cost[k], best);
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			left[p->resource[u]] += p->need[k] * p->weight[u];
	}
	enumerate(w, i + 1, left, value + p->penalty[i], best);
}

static void
test_enumeration(struct arena *a)
{
	static struct world w;
	struct place_options o = { .seed = 1, .rounds = 200, .gap = 1e-9 };
	int bad = 0, missed = 0, over = 0, proven = 0;
	double worst = 0;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct place_plan plan;
		struct berth_err err = { 0 };
		double best = INFINITY;

		make_world(&w, seed, 2 + seed % 5, 3 + seed % 4, 1 + (unsigned)(seed % 3));
		enumerate(&w, 0, w.limit, 0, &best);
		if (place_solve(&w.p, &o, a, &plan, &err) != BERTH_OK || !place_check(&w.p, &plan)) {
			bad++;
			continue;
		}
		over += plan.bound > best * (1 + 1e-9) || plan.value < best * (1 - 1e-9);
		missed += plan.value > best * (1 + 1e-9);
		bad += plan.optimal && plan.value > best * (1 + 1e-9);
		proven += plan.optimal;
		worst = fmax(worst, plan.value / best - 1);
		arena_reset(a);
	}
	tap_is_long(bad, 0, "300 small worlds: no limit passed, what is called optimal is");
	tap_is_long(over, 0, "300 small worlds: bound <= optimum <= plan");
	tap_ok(missed == 0, "300 small worlds of mixed gangs: optimum missed in %d, worst by %.2f %%", missed, 100 * worst);
	tap_is_long(proven, 300, "and all of them proven");
}

static void
test_properties(struct arena *a)
{
	static struct world w;
	struct place_options o = { .seed = 7, .rounds = 60, .gap = 1e-6 };
	int bad = 0, differ = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct place_plan x, y;
		struct berth_err err = { 0 };

		make_world(&w, seed + 900, MAX_JOBS, MAX_OFFERS - 4, 1 + (unsigned)(seed % 6));
		if (place_solve(&w.p, &o, a, &x, &err) != BERTH_OK || place_solve(&w.p, &o, a, &y, &err) != BERTH_OK) {
			bad++;
			continue;
		}
		bad += !place_check(&w.p, &x) || x.bound > x.value;
		differ += memcmp(x.chosen, y.chosen, w.p.n_jobs * sizeof(*x.chosen)) != 0 || x.bound != y.bound;
		arena_reset(a);
	}
	tap_is_long(bad, 0, "60 worlds of 40 jobs: no limit passed, bound below value");
	tap_is_long(differ, 0, "60 worlds: the same seed gives the same plan and bound");
}

/* Nothing binds: each job has its cheapest candidate, proven. */
static void
test_argmin(struct arena *a)
{
	static struct world w;
	struct place_options o = { .seed = 1, .rounds = 100, .gap = 0 };
	struct place_plan plan;
	struct berth_err err = { 0 };
	double sum = 0;

	make_world(&w, 3, MAX_JOBS, MAX_OFFERS - 4, 4);
	for (size_t r = 0; r < w.p.n_resources; r++)
		w.limit[r] = PLACE_NO_LIMIT;
	for (size_t i = 0; i < w.p.n_jobs; i++) {
		double least = INFINITY;

		for (size_t k = w.start[i]; k < w.start[i + 1]; k++)
			least = fmin(least, w.cost[k]);
		sum += least;
	}
	tap_code(place_solve(&w.p, &o, a, &plan, &err), BERTH_OK, &err);
	tap_near(plan.cost, sum, 1e-9 * sum, "nothing binds: the sum of the cheapest");
	tap_ok(plan.optimal && plan.rounds == 0, "nothing binds: proven at once");
}

/* One row of uses: each offer its own capacity. */
static struct place_problem
plain(size_t jobs, size_t offers, const size_t *start, const size_t *offer, const double *cost, const int64_t *need,
    const int64_t *limit, const double *penalty)
{
	static const size_t use_start[] = { 0, 1, 2, 3, 4 }, resource[] = { 0, 1, 2, 3 };
	static const int64_t weight[] = { 1, 1, 1, 1 };

	return (struct place_problem){ jobs, offers, offers, start, offer, cost, NULL, need, use_start, resource, weight,
	    limit, penalty, NULL, NULL, NULL };
}

/* Four nodes with 2 free GPUs each: 8 in all, but no gang of 8. Then one node with 8 and one with 2. */
static void
test_gangs(struct arena *a)
{
	const size_t start[] = { 0, 4, 8 }, offer[] = { 0, 1, 2, 3, 0, 1, 2, 3 };
	const size_t start2[] = { 0, 2, 4 }, offer2[] = { 0, 1, 0, 1 };
	const double cost[] = { 1, 1, 1, 1, 1, 1, 1, 1 }, penalty[] = { 100, 100 };
	const int64_t need[] = { 8, 8, 8, 8, 2, 2, 2, 2 }, free4[] = { 2, 2, 2, 2 }, free2[] = { 8, 2 };
	const int64_t need2[] = { 2, 2, 8, 8 };
	struct place_options o = { .seed = 1, .rounds = 20, .gap = 0 };
	struct place_problem p = plain(2, 4, start, offer, cost, need, free4, penalty);
	struct place_plan plan;
	struct berth_err err = { 0 };

	tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_OK, &err);
	tap_ok(plan.chosen[0] == PLACE_NONE, "a gang of 8 is not split over four nodes of 2");
	tap_ok(plan.chosen[1] == 4, "the job of 2 has a node, the first of equals");
	tap_is_long((long long)place_never_fits(&p, 0), 0, "the node's capacity is named");
	p = plain(2, 2, start2, offer2, cost, need2, free2, penalty);
	tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_OK, &err);
	tap_ok(plan.chosen[0] == 1 && plan.chosen[1] == 2, "small job listed first leaves the node of 8 to the gang");
}

/* Ties: cost, then risk, then the lower offer. */
static void
test_ties(struct arena *a)
{
	const size_t start[] = { 0, 3 }, offer[] = { 2, 1, 0 };
	const double cost[] = { 5, 5, 5 }, penalty[] = { 100 }, risk[] = { 0.2, 0.1, 0.2 };
	const int64_t need[] = { 1, 1, 1 }, limit[] = { 9, 9, 9 };
	struct place_options o = { .seed = 1, .rounds = 20, .gap = 0 };
	struct place_problem p = plain(1, 3, start, offer, cost, need, limit, penalty);
	struct place_plan plan;
	struct berth_err err = { 0 };

	tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_OK, &err);
	tap_ok(plan.chosen[0] == 2, "equal cost: the lower offer");
	p.risk = risk;
	tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_OK, &err);
	tap_ok(plan.chosen[0] == 1, "equal cost: less risk");
}

/* After a few changes few rounds from the last plan's shadow prices beat as few from nothing, and these are close to the
 * bound already: what stays out has a price from the start. */
static void
test_warm(struct arena *a)
{
	static struct world w;
	struct place_options many = { .seed = 1, .rounds = 300, .gap = 0 }, few = { .seed = 1, .rounds = 5, .gap = 0 };
	double cold_gap = 0, warm_gap = 0, cold_value = 0, warm_value = 0;
	int bad = 0, differ = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct place_plan last, cold, warm, again;
		struct berth_err err = { 0 };
		struct rng r;

		make_world(&w, 300 + seed, MAX_JOBS, MAX_OFFERS - 4, 2 + (unsigned)(seed % 4));
		bad += place_solve(&w.p, &many, a, &last, &err) != BERTH_OK;
		rng_seed(&r, seed);
		for (size_t k = 0; k < w.start[w.p.n_jobs]; k++)
			w.cost[k] *= rng_below(&r, 20) == 0 ? 0.9 + 0.2 * rng_unit(&r) : 1;
		bad += place_solve(&w.p, &few, a, &cold, &err) != BERTH_OK;
		w.p.warm = last.shadow;
		bad += place_solve(&w.p, &few, a, &warm, &err) != BERTH_OK || !place_check(&w.p, &warm);
		bad += place_solve(&w.p, &few, a, &again, &err) != BERTH_OK;
		differ += memcmp(warm.chosen, again.chosen, w.p.n_jobs * sizeof(*again.chosen)) != 0;
		cold_gap += cold.value / cold.bound - 1;
		warm_gap += warm.value / warm.bound - 1;
		cold_value += cold.value;
		warm_value += warm.value;
		arena_reset(a);
	}
	tap_is_long(bad + differ, 0, "40 worlds placed again after changes: within limits, the same twice");
	tap_ok(warm_gap < cold_gap && warm_gap < 40 * 2.5e-5 && cold_gap < 40 * 1e-4,
	    "in 5 rounds a mean gap of %.4f %% from the last prices, of %.4f %% from nothing",
	    100 * warm_gap / 40, 100 * cold_gap / 40);
	tap_ok(warm_value <= cold_value * 1.0005, "and no dearer: %.2f USD against %.2f", warm_value, cold_value);
}

/* Two jobs want the one cheap GPU: who saves more gets it, and its price is what the other would pay for it. */
static void
test_shadow(struct arena *a)
{
	const size_t start[] = { 0, 2, 4 }, offer[] = { 0, 1, 0, 1 };
	const double cost[] = { 1, 4, 1, 11 }, penalty[] = { 1000, 1000 };
	const int64_t need[] = { 1, 1, 1, 1 }, limit[] = { 1, PLACE_NO_LIMIT };
	struct place_options o = { .seed = 1, .rounds = 400, .gap = 0 };
	struct place_problem p = plain(2, 2, start, offer, cost, need, limit, penalty);
	struct place_plan plan;
	struct berth_err err = { 0 };

	tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_OK, &err);
	tap_ok(plan.chosen[0] == 1 && plan.chosen[1] == 2, "who saves more gets the cheap one");
	tap_near(plan.cost, 5, 1e-9, "cost");
	tap_near(plan.bound, 5, 1e-6, "bound meets it");
	tap_ok(plan.shadow[0] > 2.9 && plan.shadow[0] < 10.1, "shadow price %.2f lies in [3, 10]", plan.shadow[0]);
	tap_is_long((long long)plan.binds[0], 0, "what keeps the first job out is named");
	tap_ok(plan.binds[1] == PLACE_NONE && plan.runner_up[1] == 3, "the second has its best; the runner-up is named");
}

/*
 * 100 gangs of 3 and 50 single jobs, 30 cheap offers of 5 and a dear one without limit: each cheap one holds one gang and two
 * jobs, so that 80 run at 1 USD and 70 at 10. By the amounts alone 5 / 3 of a gang fit, and the bound would be 750. Counted
 * in vCPUs, 96 each, it is the same.
 */
static void
test_rounding(struct arena *a)
{
	enum { GANGS = 100, JOBS = 150, OFFERS = 31 };
	static size_t start[JOBS + 1], offer[JOBS * OFFERS], use_start[OFFERS + 1], resource[OFFERS];
	static double cost[JOBS * OFFERS], penalty[JOBS];
	static int64_t need[JOBS * OFFERS], weight[OFFERS], limit[OFFERS];
	struct place_options o = { .seed = 1, .rounds = 200, .gap = 0 };

	for (int64_t unit = 1; unit <= 96; unit += 95) {
		struct place_problem p = { .n_jobs = JOBS, .n_offers = OFFERS, .n_resources = OFFERS, .cand_start = start,
			.offer = offer, .cost = cost, .need = need, .use_start = use_start, .resource = resource,
			.weight = weight, .limit = limit, .penalty = penalty };
		struct place_plan plan;
		struct berth_err err = { 0 };

		for (size_t j = 0; j < OFFERS; j++) {
			use_start[j + 1] = j + 1;
			resource[j] = j;
			weight[j] = unit;
			limit[j] = j + 1 == OFFERS ? PLACE_NO_LIMIT : 5 * unit;
		}
		for (size_t i = 0; i < JOBS; i++) {
			start[i + 1] = (i + 1) * OFFERS;
			penalty[i] = 100;
			for (size_t j = 0; j < OFFERS; j++) {
				offer[i * OFFERS + j] = j;
				need[i * OFFERS + j] = i < GANGS ? 3 : 1;
				cost[i * OFFERS + j] = j + 1 == OFFERS ? 10 : 1;
			}
		}
		tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_OK, &err);
		tap_near(plan.cost, 780, 1e-9, "one gang of 3 in each offer of 5");
		tap_ok(plan.bound > 755 && plan.bound <= 780 * (1 + 1e-12), "and the bound knows more than the amounts: %.2f USD",
		    plan.bound);
		arena_reset(a);
	}
}

static void
test_refused(struct arena *a)
{
	const size_t start[] = { 0, 1 }, offer[] = { 0 };
	const double cost[] = { NAN }, penalty[] = { 100 };
	const int64_t need[] = { 1 }, limit[] = { 0 };
	const double fine[] = { 2 };
	struct place_options o = { .seed = 1, .rounds = 5, .gap = 0 };
	struct place_problem p = plain(1, 1, start, offer, cost, need, limit, penalty);
	struct place_plan plan;
	struct berth_err err = { 0 };

	tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_EINVAL, &err);
	p.cost = fine;
	tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_OK, &err);
	tap_ok(plan.chosen[0] == PLACE_NONE && plan.placed == 0, "a quota of 0 places nothing");
	tap_near(plan.value, 100, 1e-9, "and costs the penalty");
	p.n_jobs = 0;
	tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_OK, &err);
	tap_near(plan.value, 0, 0, "no jobs: nothing");
}

static size_t
moves(const size_t *last, const size_t *now, size_t jobs)
{
	size_t n = 0;

	for (size_t i = 0; i < jobs; i++)
		n += last[i] != now[i];
	return n;
}

/* Prices in steps, so that many plans cost the same: the next one, from the last one's prices, is the same unless it costs less. */
static void
test_keep(struct arena *a)
{
	struct world *w = arena_array(a, 1, sizeof(*w));
	size_t same = 0, cheaper = 0, left = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct place_options o = { .seed = seed, .rounds = 20, .gap = 0 };
		struct place_plan last, now;
		struct berth_err err = { 0 };

		make_world(w, seed, 8 + seed % 8, 5 + seed % 4, 2);
		for (size_t k = 0; k < w->start[w->p.n_jobs]; k++)
			w->cost[k] = 10 * (double)w->need[k] * (1 + floor(w->cost[k] / 40 / (double)w->need[k]));
		if (place_solve(&w->p, &o, a, &last, &err) != BERTH_OK)
			break;
		w->p.warm = last.shadow;
		w->p.keep = last.chosen;
		o.seed++;
		if (place_solve(&w->p, &o, a, &now, &err) != BERTH_OK || !place_check(&w->p, &now))
			break;
		same += moves(last.chosen, now.chosen, w->p.n_jobs) == 0;
		cheaper += now.value < last.value - 1e-9;
		w->limit[last.chosen[0] == PLACE_NONE ? 0 : w->offer[last.chosen[0]]] += 1;
		if (place_solve(&w->p, &o, a, &last, &err) != BERTH_OK)
			break;
		left += last.value >= now.value - 1e-9 && moves(last.chosen, now.chosen, w->p.n_jobs) > 0;
	}
	tap_ok(same + cheaper == 40, "a plan after the same queue moves nobody (%zu), or costs less (%zu)", same, cheaper);
	tap_ok(left == 0, "a machine more of what one has moves nobody for nothing (%zu did)", left);
}

struct finish_best { double left_out, cost; int64_t last; };

/* Fewest penalties, then the earliest last end, then the least cost, of all placements. */
static void
finish_enumerate(const struct world *w, const int64_t *finish, size_t i, int64_t *left, struct finish_best at,
    struct finish_best *best)
{
	const struct place_problem *p = &w->p;
	struct finish_best next;

	if (i == p->n_jobs) {
		if (at.left_out < best->left_out || (at.left_out == best->left_out && (at.last < best->last ||
		    (at.last == best->last && at.cost < best->cost))))
			*best = at;
		return;
	}
	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
		size_t j = p->offer[k];
		bool fits = true;

		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			fits = fits && left[p->resource[u]] >= p->need[k] * p->weight[u];
		if (!fits)
			continue;
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			left[p->resource[u]] -= p->need[k] * p->weight[u];
		next = at;
		next.cost += p->cost[k];
		next.last = finish[k] > at.last ? finish[k] : at.last;
		finish_enumerate(w, finish, i + 1, left, next, best);
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			left[p->resource[u]] += p->need[k] * p->weight[u];
	}
	next = at;
	next.left_out += p->penalty[i];
	finish_enumerate(w, finish, i + 1, left, next, best);
}

static void
test_finish(struct arena *a)
{
	struct world *w = arena_array(a, 1, sizeof(*w));
	int64_t finish[MAX_CANDS], by;
	size_t equal = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct finish_best best = { .left_out = INFINITY };
		struct place_options o = { .seed = 1, .rounds = 100, .gap = 0 };
		struct place_plan plan;
		struct berth_err err = { 0 };
		struct rng r;

		make_world(w, seed, 5, 4, 2);
		rng_seed(&r, seed);
		for (size_t k = 0; k < w->start[5]; k++)
			finish[k] = 1 + (int64_t)rng_below(&r, 9);
		finish_enumerate(w, finish, 0, w->limit, (struct finish_best){ 0, 0, 0 }, &best);
		if (place_finish_solve(&w->p, finish, &o, a, &plan, &by, &err) != BERTH_OK || !place_check(&w->p, &plan))
			break;
		equal += fabs(plan.value - plan.cost - best.left_out) < 1e-6 && (by == best.last || plan.placed == 0) &&
		    fabs(plan.cost - best.cost) < 1e-9 * fmax(1, best.cost);
	}
	tap_is_long((long)equal, 40, "an early finish is the earliest, and the cheapest of those, of all placements");
}

static void
test_keep_refused(struct arena *a)
{
	const size_t start[] = { 0, 1, 2 }, offer[] = { 0, 0 }, keep[] = { 1, PLACE_NONE };
	const double cost[] = { 1, 1 }, penalty[] = { 10, 10 };
	const int64_t need[] = { 1, 1 }, limit[] = { 2 };
	struct place_options o = { .seed = 1 };
	struct place_problem p = plain(2, 1, start, offer, cost, need, limit, penalty);
	struct place_plan plan;
	struct berth_err err = { 0 };

	p.keep = keep;
	tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_EINVAL, &err);
}

int
main(void)
{
	struct arena *a = arena_new();

	test_enumeration(a);
	test_properties(a);
	test_argmin(a);
	test_warm(a);
	test_gangs(a);
	test_ties(a);
	test_shadow(a);
	test_rounding(a);
	test_refused(a);
	test_keep(a);
	test_keep_refused(a);
	test_finish(a);
	arena_free(a);
	return tap_done();
}
