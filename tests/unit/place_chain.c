/* Jobs that hand data on: against full enumeration, with and without limits. */
#include <math.h>
#include <string.h>

#include "plan/place_chain.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define MAX_JOBS 6
#define OFFERS 5
#define PLACES 3

struct world {
	struct place_problem p;
	struct place_chain c;
	size_t start[MAX_JOBS + 1], offer[MAX_JOBS * OFFERS], use_start[OFFERS + 1], resource[OFFERS], after[MAX_JOBS];
	size_t place[OFFERS];
	double cost[MAX_JOBS * OFFERS], penalty[MAX_JOBS], gib[MAX_JOBS], move[PLACES * PLACES];
	int64_t need[MAX_JOBS * OFFERS], weight[OFFERS], limit[OFFERS];
	int64_t early[MAX_JOBS], lasts[MAX_JOBS * OFFERS], latest[MAX_JOBS * OFFERS], end[MAX_JOBS];
};

static void
make_world(struct world *w, uint64_t seed, bool tree, bool limits)
{
	struct rng r;
	size_t k = 0, jobs = 2 + seed % (MAX_JOBS - 1);

	memset(w, 0, sizeof(*w));
	rng_seed(&r, seed);
	for (size_t i = 0; i < jobs; i++) {
		for (size_t j = 0; j < OFFERS; j++) {
			if (rng_below(&r, 5) == 0)
				continue;
			w->offer[k] = j;
			w->need[k] = 1 + (int64_t)(i % 2);
			w->cost[k++] = 5 + 20 * rng_unit(&r);
		}
		w->start[i + 1] = k;
		w->penalty[i] = 10000;
		w->after[i] = i == 0 ? PLACE_NONE : tree ? rng_below(&r, i) : i - 1;
		w->gib[i] = 100 * rng_unit(&r);
	}
	for (size_t j = 0; j < OFFERS; j++) {
		w->place[j] = j % PLACES;
		w->resource[j] = j;
		w->weight[j] = 1;
		w->use_start[j + 1] = j + 1;
		w->limit[j] = limits ? 1 + (int64_t)rng_below(&r, 3) : PLACE_NO_LIMIT;
	}
	for (size_t x = 0; x < PLACES * PLACES; x++)
		w->move[x] = x % (PLACES + 1) == 0 ? 0 : 0.01 + 0.15 * rng_unit(&r);
	w->p = (struct place_problem){ jobs, OFFERS, OFFERS, w->start, w->offer, w->cost, NULL, w->need, w->use_start,
	    w->resource, w->weight, w->limit, w->penalty, NULL, NULL, NULL };
	w->c = (struct place_chain){ .after = w->after, .gib = w->gib, .place = w->place, .n_places = PLACES,
		.move = w->move };
}

/* Each job takes hours, the cheaper the longer, and some must start in time; ends on a grid of `grid` seconds. */
static void
give_times(struct world *w, uint64_t seed, uint64_t grid)
{
	struct rng r;

	rng_seed(&r, 5000 + seed);
	for (size_t i = 0; i < w->p.n_jobs; i++) {
		bool limited = i > 0 && rng_below(&r, 3) > 0;

		w->early[i] = w->after[i] == PLACE_NONE ? 0 : w->early[w->after[i]] + 1;
		for (size_t k = w->start[i]; k < w->start[i + 1]; k++) {
			w->lasts[k] = (int64_t)(grid * (1 + rng_below(&r, 9)));
			w->cost[k] += (double)(10 * grid) / (double)w->lasts[k];
			w->latest[k] = limited ? (int64_t)(grid * rng_below(&r, 10 * (i + 1))) : PLACE_NO_LIMIT;
		}
	}
	w->c.early = w->early;
	w->c.lasts = w->lasts;
	w->c.latest = w->latest;
}

static void
enumerate(struct world *w, size_t i, size_t *chosen, int64_t *left, double *best)
{
	size_t before = i < w->p.n_jobs ? w->after[i] : PLACE_NONE;
	int64_t start = i == w->p.n_jobs ? 0
	    : before == PLACE_NONE || chosen[before] == PLACE_NONE ? w->early[i] : w->end[before];

	if (i == w->p.n_jobs) {
		*best = fmin(*best, place_chain_value(&w->p, &w->c, chosen, NULL));
		return;
	}
	for (size_t k = w->start[i]; k < w->start[i + 1]; k++) {
		size_t j = w->offer[k];

		if (left[j] < w->need[k] || (w->c.early != NULL && start > w->latest[k]))
			continue;
		w->end[i] = start + w->lasts[k];
		left[j] -= left[j] == PLACE_NO_LIMIT ? 0 : w->need[k];
		chosen[i] = k;
		enumerate(w, i + 1, chosen, left, best);
		left[j] += w->limit[j] == PLACE_NO_LIMIT ? 0 : w->need[k];
	}
	chosen[i] = PLACE_NONE;
	enumerate(w, i + 1, chosen, left, best);
}

static void
test_free(struct arena *a, bool tree)
{
	static struct world w;
	struct place_options o = { .seed = 1, .rounds = 50, .gap = 0 };
	int bad = 0, far = 0, moved = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct place_plan plan, alone;
		struct berth_err err = { 0 };
		size_t chosen[MAX_JOBS];
		double best = INFINITY;

		make_world(&w, seed, tree, false);
		enumerate(&w, 0, chosen, w.limit, &best);
		if (place_chain_solve(&w.p, &w.c, &o, a, &plan, &err) != BERTH_OK || !plan.optimal) {
			bad++;
			continue;
		}
		far += fabs(plan.value - best) > 1e-9 * best || fabs(plan.bound - best) > 1e-9 * best;
		if (place_solve(&w.p, &o, a, &alone, &err) == BERTH_OK)
			moved += place_chain_value(&w.p, &w.c, alone.chosen, NULL) > best * 1.0001;
		arena_reset(a);
	}
	tap_is_long(bad, 0, "200 %s without limits: proven optimal", tree ? "trees" : "chains");
	tap_is_long(far, 0, "and equal to full enumeration to 1e-9");
	tap_ok(moved > 100, "in %d of them the egress changes where jobs go", moved);
}

static void
test_limits(struct arena *a)
{
	static struct world w;
	struct place_options o = { .seed = 1, .rounds = 100, .gap = 0 };
	int bad = 0, missed = 0, proven = 0;
	double worst = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct place_plan plan;
		struct berth_err err = { 0 };
		size_t chosen[MAX_JOBS];
		double best = INFINITY;

		make_world(&w, 700 + seed, seed % 2 == 0, true);
		enumerate(&w, 0, chosen, w.limit, &best);
		if (place_chain_solve(&w.p, &w.c, &o, a, &plan, &err) != BERTH_OK) {
			bad++;
			continue;
		}
		bad += plan.value < best * (1 - 1e-9) || (plan.optimal && plan.value > best * (1 + 1e-9)) ||
		    plan.bound > best * (1 + 1e-9);
		proven += plan.optimal;
		missed += plan.value > best * (1 + 1e-9);
		worst = fmax(worst, plan.value / best - 1);
		arena_reset(a);
	}
	tap_is_long(bad, 0, "200 with limits: bound <= optimum <= plan");
	tap_is_long(missed, 0, "200 with limits: the optimum is found in each (worst %.1f %% above)", 100 * worst);
	tap_is_long(proven, 200, "and proven");
}

/* Those that wait start when the one before ends: a dear fast first job may be the cheapest in all. */
static void
test_times(struct arena *a, bool limits, uint64_t grid)
{
	static struct world w;
	struct place_options o = { .seed = 1, .rounds = 100, .gap = 0 };
	int bad = 0, missed = 0, proven = 0, late = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct place_plan plan, alone;
		struct place_chain timeless;
		struct berth_err err = { 0 };
		size_t chosen[MAX_JOBS];
		double best = INFINITY, value;

		make_world(&w, 300 + seed, seed % 2 == 0, limits);
		give_times(&w, seed, grid);
		enumerate(&w, 0, chosen, w.limit, &best);
		if (place_chain_solve(&w.p, &w.c, &o, a, &plan, &err) != BERTH_OK) {
			bad++;
			continue;
		}
		value = place_chain_value(&w.p, &w.c, plan.chosen, NULL);
		bad += !(fabs(value - plan.value) <= 1e-9 * value) || plan.value < best * (1 - 1e-9) ||
		    (plan.optimal && plan.value > best * (1 + 1e-9)) || plan.bound > best * (1 + 1e-9);
		missed += plan.value > best * (1 + 1e-9);
		proven += plan.optimal;
		timeless = w.c;
		timeless.early = NULL;
		if (place_chain_solve(&w.p, &timeless, &o, a, &alone, &err) == BERTH_OK)
			late += isinf(place_chain_value(&w.p, &w.c, alone.chosen, NULL));
		arena_reset(a);
	}
	tap_is_long(bad, 0, "200 whose ends matter, %s limits: bound <= optimum <= plan, none is late",
	    limits ? "with" : "without");
	tap_is_long(missed, 0, "the optimum is found in each");
	tap_is_long(proven, 200, "and proven");
	tap_ok(late > 50, "in %d of them somebody is late where ends are not looked at", late);
}

static void
test_ring(struct arena *a)
{
	static struct world w;
	struct place_options o = { .seed = 1, .rounds = 5, .gap = 0 };
	struct place_plan plan;
	struct berth_err err = { 0 };

	make_world(&w, 4, false, false);
	w.after[0] = 1;
	tap_code(place_chain_solve(&w.p, &w.c, &o, a, &plan, &err), BERTH_EINVAL, &err);
}

int
main(void)
{
	struct arena *a = arena_new();

	test_free(a, false);
	test_free(a, true);
	test_limits(a);
	test_times(a, false, 3600);
	test_times(a, true, 3600);
	test_ring(a);
	arena_free(a);
	return tap_done();
}
