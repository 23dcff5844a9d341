/* One job for several: made-up worlds with nested quotas and gangs, and some by hand. What the exchange tells is
 * recomputed from the choices alone. */
#include <math.h>
#include <string.h>

#include "plan/place_impl.h"
#include "tests/tap.h"
#include "util/arena.h"

#define JOBS 14
#define OFFERS 5
#define LIMITS 9 /* of each offer, two quotas over some of them, one over those quotas, one over all */
#define WORLDS 300
#define STEPS ((size_t)100000)

static double
value_of(const struct place_problem *p, const size_t *chosen, double *cost, size_t *placed)
{
	double sum = 0;

	*cost = 0;
	*placed = 0;
	for (size_t i = 0; i < p->n_jobs; i++) {
		*placed += chosen[i] != PLACE_NONE;
		*cost += chosen[i] == PLACE_NONE ? 0 : p->cost[chosen[i]];
		sum += chosen[i] == PLACE_NONE ? p->penalty[i] : p->cost[chosen[i]];
	}
	return sum;
}

/* No limit is passed, and what the work holds of each agrees with the choices. */
static bool
sound(const struct place_problem *p, const struct place_work *w)
{
	struct place_plan plan = { .chosen = w->chosen };
	int64_t left[LIMITS];
	bool same = true;

	plan.value = value_of(p, w->chosen, &plan.cost, &plan.placed);
	memcpy(left, p->limit, p->n_resources * sizeof(*left));
	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t k = w->chosen[i], j;

		for (j = k == PLACE_NONE ? 0 : p->offer[k]; k != PLACE_NONE && j == p->offer[k]; j++)
			for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
				left[p->resource[u]] -= p->need[k] * p->weight[u];
	}
	for (size_t r = 0; r < p->n_resources; r++)
		same = same && (p->limit[r] == PLACE_NO_LIMIT || left[r] == w->left[r]);
	return same && place_check(p, &plan);
}

/* Offers in two zones, each zone under a quota, both under one of the account in GPUs; room: of an offer, beside the
 * least. */
static void
make(struct rng *r, uint32_t room, struct arena *a, struct place_problem *p)
{
	size_t n = 0, *start = arena_array(a, JOBS + 1, sizeof(*start)), *offer = arena_array(a, JOBS * OFFERS, sizeof(*offer));
	size_t *use = arena_array(a, OFFERS + 1, sizeof(*use)), *res = arena_array(a, 3 * OFFERS, sizeof(*res));
	double *cost = arena_array(a, JOBS * OFFERS, sizeof(*cost)), *penalty = arena_array(a, JOBS, sizeof(*penalty));
	int64_t *need = arena_array(a, JOBS * OFFERS, sizeof(*need)), *limit = arena_array(a, LIMITS, sizeof(*limit));
	int64_t *weight = arena_array(a, 3 * OFFERS, sizeof(*weight)), gang[JOBS];

	for (size_t j = 0; j < OFFERS; j++) {
		int64_t gpus = 1 + (int64_t)rng_below(r, 4);

		limit[j] = 1 + (int64_t)rng_below(r, room);
		res[3 * j] = j;
		res[3 * j + 1] = OFFERS + j % 2;
		res[3 * j + 2] = OFFERS + 2;
		weight[3 * j] = 1;
		weight[3 * j + 1] = weight[3 * j + 2] = gpus;
		use[j + 1] = 3 * (j + 1);
		limit[OFFERS + j % 2] += gpus * limit[j] * 7 / 10;
	}
	limit[OFFERS + 2] = (limit[OFFERS] + limit[OFFERS + 1]) * 8 / 10;
	for (size_t i = 0; i < JOBS; i++) {
		double work = 1 + 9 * rng_unit(r);

		gang[i] = INT64_C(1) << rng_below(r, 4);
		for (size_t j = 0; j < OFFERS; j++) {
			if (rng_below(r, 4) == 0)
				continue;
			offer[n] = j;
			need[n] = gang[i];
			cost[n++] = work * (double)gang[i] * (1 + rng_unit(r));
		}
		start[i + 1] = n;
		penalty[i] = work * (double)gang[i] * (2 + 2 * rng_unit(r));
	}
	*p = (struct place_problem){ .n_jobs = JOBS, .n_offers = OFFERS, .n_resources = OFFERS + 3, .cand_start = start,
		.offer = offer, .cost = cost, .need = need, .use_start = use, .resource = res, .weight = weight, .limit = limit,
		.penalty = penalty };
}

/* The plan of the greedy, at prices of nothing or of some climbing of the bound. */
static void
begin(struct place_work *w, const struct place_problem *p, uint64_t seed, unsigned climb, struct arena *a)
{
	struct dual *d;

	place_work_init(p, seed, a, w);
	d = place_dual_new(w, a);
	(void)place_climb_from(w, d);
	if (climb > 0)
		(void)place_climb(w, d, climb, INFINITY);
	place_cores(w);
	place_greedy(w, PLACE_BY_REGRET);
}

/*
 * In worlds by chance, once with few steps so that it ends midway: sound afterwards; never dearer; not better: every
 * choice is as it was. Better happens, and so does what is undone.
 */
static void
test_worlds(double noise)
{
	size_t better = 0, same = 0, unsound = 0, dearer = 0, lies = 0, out = 0;
	struct rng r;

	rng_seed(&r, 7);
	for (size_t x = 0; x < WORLDS; x++) {
		struct arena *a = arena_new();
		struct place_problem p;
		struct place_work w;
		struct admit *m;

		make(&r, x % 2 == 0 ? 9 : 60, a, &p);
		begin(&w, &p, x + 1, x % 3 == 0 ? 0 : 50, a);
		m = place_admit_new(&w, a);
		for (size_t y = 0; y < 6; y++) {
			size_t was[JOBS], n, steps = y % 2 == 0 ? rng_below(&r, 60) : STEPS;
			double cost, before = value_of(&p, w.chosen, &cost, &n), after;
			bool any, moved;

			memcpy(was, w.chosen, sizeof(was));
			any = place_admit(m, noise, steps);
			after = value_of(&p, w.chosen, &cost, &n);
			moved = memcmp(was, w.chosen, sizeof(was)) != 0;
			unsound += !sound(&p, &w);
			dearer += after > before + 1e-9;
			lies += any ? after >= before : moved;
			better += any;
			same += !any;
			out += n < JOBS;
		}
		arena_free(a);
	}
	tap_ok(unsound == 0, "noise %.0f: no limit is passed, what is left of them agrees with the choices (%zu)", noise, unsound);
	tap_ok(dearer == 0, "never dearer (%zu)", dearer);
	tap_ok(lies == 0, "better where it says so, else each choice as it was (%zu)", lies);
	tap_ok(better >= WORLDS / 4 && same >= WORLDS / 4, "of %d: %zu better, %zu not", 6 * WORLDS, better, same);
	tap_ok(out >= WORLDS && out <= 5 * WORLDS, "some jobs stay out in %zu, none in the others", out);
}

/*
 * By hand: one offer of 4 machines. Job 0, a gang of 4, costs 40 less there than its penalty; jobs 1 to 4 have one
 * machine each, and lose `loss` each by going to the other offer, which has 4 machines too but which job 0 cannot use.
 * No single move and no change of two helps: four have to go at once.
 */
static double
exchange(double loss, bool exchanged, size_t *chosen, struct arena *a)
{
	static const size_t start[] = { 0, 1, 3, 5, 7, 9 }, offer[] = { 0, 0, 1, 0, 1, 0, 1, 0, 1 };
	static const size_t use[] = { 0, 1, 2 }, res[] = { 0, 1 };
	static const int64_t need[] = { 4, 1, 1, 1, 1, 1, 1, 1, 1 }, weight[] = { 1, 1 }, limit[] = { 4, 4 };
	static const double penalty[] = { 100, 1000, 1000, 1000, 1000 };
	double cost[] = { 60, 5, 5 + loss, 5, 5 + loss, 5, 5 + loss, 5, 5 + loss }, sum;
	struct place_problem p = { .n_jobs = 5, .n_offers = 2, .n_resources = 2, .cand_start = start, .offer = offer,
		.cost = cost, .need = need, .use_start = use, .resource = res, .weight = weight, .limit = limit, .penalty = penalty };
	struct place_work w;
	size_t n;

	place_work_init(&p, 1, a, &w);
	(void)place_climb_from(&w, place_dual_new(&w, a));
	place_cores(&w);
	place_clear(&w);
	for (size_t i = 1; i < 5; i++)
		place_take(&w, i, start[i]);
	if (exchanged)
		(void)place_admit(place_admit_new(&w, a), 0, STEPS);
	else
		place_improve(&w, 10, STEPS);
	memcpy(chosen, w.chosen, 5 * sizeof(*chosen));
	return value_of(&p, w.chosen, &sum, &n);
}

static void
test_hand(void)
{
	static const size_t before[] = { PLACE_NONE, 1, 3, 5, 7 }, after[] = { 0, 2, 4, 6, 8 };
	struct arena *a = arena_new();
	size_t chosen[5];

	tap_ok(exchange(9, false, chosen, a) == 120 && memcmp(chosen, before, sizeof(before)) == 0,
	    "shifts and ejections leave the gang out");
	tap_ok(exchange(9, true, chosen, a) == 60 + 4 * 14 && memcmp(chosen, after, sizeof(after)) == 0,
	    "four that lose 9 each make room for a gang that gains 40");
	tap_ok(exchange(11, true, chosen, a) == 120 && memcmp(chosen, before, sizeof(before)) == 0,
	    "not where they lose 11 each: all stay");
	arena_free(a);
}

#define PRICED 12

/* Least value of jobs that may be placed in part, those worth most a unit first, with so much room. */
static double
in_part(const struct place_problem *p, double room)
{
	bool done[PRICED] = { false };
	double sum = 0;

	for (int x = 0; x < PRICED; x++) {
		double most = -1, share;
		size_t best = 0;

		for (size_t i = 0; i < PRICED; i++)
			if (!done[i] && (p->penalty[i] - 1) / (double)p->need[4 * i] > most) {
				most = (p->penalty[i] - 1) / (double)p->need[4 * i];
				best = i;
			}
		share = fmin(1, room / (double)p->need[4 * best]);
		room -= share * (double)p->need[4 * best];
		sum += share + (1 - share) * p->penalty[best];
		done[best] = true;
	}
	return sum;
}

/* Jobs that pay 1 wherever they are, on four offers alike under one quota: with one price for it, or one for all offers
 * where these hold less, the bound is what it would cost to place them in part. */
static void
test_scarce(int64_t quota)
{
	size_t start[PRICED + 1], offer[4 * PRICED], use[5], resource[8], far = 0;
	int64_t need[4 * PRICED], weight[8], limit[5] = { 10, 10, 10, 10, 8 * quota };
	double cost[4 * PRICED], penalty[PRICED];
	struct place_problem p = { .n_jobs = PRICED, .n_offers = 4, .n_resources = 5, .cand_start = start, .offer = offer,
		.cost = cost, .need = need, .use_start = use, .resource = resource, .weight = weight, .limit = limit,
		.penalty = penalty };
	struct arena *a = arena_new();
	struct rng r;

	rng_seed(&r, 5);
	for (size_t j = 0; j <= 4; j++)
		use[j] = 2 * j;
	for (size_t u = 0; u < 8; u++) {
		resource[u] = u % 2 == 0 ? u / 2 : 4;
		weight[u] = u % 2 == 0 ? 1 : 8;
	}
	for (int x = 0; x < WORLDS; x++) {
		struct place_work w;
		double most, bound;

		for (size_t i = 0; i <= PRICED; i++)
			start[i] = 4 * i;
		for (size_t i = 0; i < PRICED; i++) {
			int64_t gang = 2 + (int64_t)rng_below(&r, 9);

			penalty[i] = 2 + 100 * rng_unit(&r);
			for (size_t k = 4 * i; k < 4 * i + 4; k++) {
				offer[k] = k % 4;
				need[k] = gang;
				cost[k] = 1;
			}
		}
		place_work_init(&p, 1, a, &w);
		bound = place_scarce(&w, place_dual_new(&w, a), a);
		most = in_part(&p, (double)(quota < 40 ? quota : 40));
		far += bound > most * (1 + 1e-9) || bound < most * 0.99;
		arena_reset(a);
	}
	tap_is_long((long)far, 0, "quota of %d: one price bounds as placing in part does", (int)quota);
	arena_free(a);
}

int
main(void)
{
	test_scarce(24);
	test_scarce(100);
	test_worlds(0);
	test_worlds(1);
	test_hand();
	return tap_done();
}
