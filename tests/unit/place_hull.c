/* Bounds that decide offers and budgets whole, against the enumeration of all plans of small queues of each kind; and
 * how close they come to plans of larger ones. */
#include <math.h>
#include <string.h>

#include "bench/place_world.h"
#include "plan/place_impl.h"
#include "plan/place_purse.h"
#include "tests/tap.h"
#include "util/arena.h"

#define JOBS 7
#define OFFERS 4
#define SEEDS 20

struct search {
	const struct place_problem *p;
	int64_t left[64];
	double least;
};

static bool
use(struct search *s, size_t k, int64_t sign)
{
	const struct place_problem *p = s->p;
	size_t j = p->offer[k];
	bool fits = true;

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
		fits &= (s->left[p->resource[u]] -= sign * p->need[k] * p->weight[u]) >= 0;
	for (size_t u = p->more == NULL ? 0 : p->more->start[k]; p->more != NULL && u < p->more->start[k + 1]; u++)
		fits &= (s->left[p->more->resource[u]] -= sign * p->more->units[u]) >= 0;
	return fits;
}

static void
enumerate(struct search *s, size_t i, double value)
{
	const struct place_problem *p = s->p;

	if (i == p->n_jobs || value >= s->least) {
		s->least = fmin(s->least, value);
		return;
	}
	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
		if (use(s, k, 1))
			enumerate(s, i + 1, value + p->cost[k]);
		(void)use(s, k, -1);
	}
	enumerate(s, i + 1, value + p->penalty[i]);
}

/* The bound after each of some climbs, from no prices at all. *over: it lay above the optimum; returns what is missing
 * at the end, in parts of the optimum. */
static double
missing(const struct world *kind, uint64_t seed, size_t *over)
{
	struct arena *a = arena_new();
	struct place_problem p;
	struct place_work w;
	struct search s = { .p = &p, .least = INFINITY };
	struct hull *h;
	double bound = 0, part;

	world_make(kind, JOBS, OFFERS, seed, kind->tight, SIZE_MAX, a, &p);
	memcpy(s.left, p.limit, p.n_resources * sizeof(*s.left));
	enumerate(&s, 0, 0);
	place_work_init(&p, 1, a, &w);
	h = place_hull_new(&w, a);
	for (int x = 0; x < 20; x++) {
		bound = h == NULL ? -INFINITY : place_hull(h, 20, s.least);
		*over += bound > s.least * (1 + 1e-9);
	}
	part = 1 - bound / s.least;
	arena_free(a);
	return part;
}

static void
test_kinds(void)
{
	for (const struct world *kind = world_kinds; kind->name != NULL; kind++) {
		struct world small = *kind;
		size_t over = 0;
		double sum = 0;

		small.users = kind->users > 0 ? 2 : 0;
		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			sum += missing(&small, seed, &over);
		tap_ok(over == 0, "%s: no bound lies above the optimum (%zu)", kind->name, over);
		tap_ok(sum / SEEDS < 0.05, "%s: what is missing is %.2f %% in the mean", kind->name, 100 * sum / SEEDS);
	}
}

/* The cheapest choices within the budget from job i on. */
static double
purse_least(const struct purse_problem *q, size_t i, int64_t left)
{
	double least = INFINITY;

	if (i == q->n)
		return left >= 0 ? 0 : INFINITY;
	for (size_t c = q->start[i]; c < q->start[i + 1]; c++)
		least = fmin(least, q->cost[c] + purse_least(q, i + 1, left - q->units[c]));
	return least;
}

static void
test_purse(void)
{
	struct arena *a = arena_new();
	struct purse *purse = purse_new(6, 24, a);
	size_t start[7] = { 0, 4, 8, 12, 16, 20, 24 }, chosen[6], wrong = 0;
	struct rng r;

	rng_seed(&r, 5);
	for (int x = 0; x < 500; x++) {
		double cost[24], sum = 0, least, value;
		int64_t units[24], taken = 0;
		struct purse_problem q = { rng_below(&r, 7), start, cost, units, (int64_t)rng_below(&r, 60) };

		for (size_t c = 0; c < 24; c++) {
			units[c] = c % 4 == 0 ? 0 : (int64_t)rng_below(&r, 30);
			cost[c] = c % 4 == 0 ? 100 * rng_unit(&r) : (double)rng_below(&r, 20);
		}
		least = purse_least(&q, 0, q.limit);
		value = purse_solve(purse, &q, chosen);
		for (size_t i = 0; i < q.n; i++) {
			sum += cost[chosen[i]];
			taken += units[chosen[i]];
		}
		wrong += fabs(value - least) > 1e-9 || fabs(sum - least) > 1e-9 || taken > q.limit;
	}
	tap_ok(wrong == 0, "choices within a budget are the cheapest of all (%zu are not)", wrong);
	arena_free(a);
}

/* 100 jobs and 50 offers: in as many rounds as take half a second, next to nothing is missing. */
static void
test_close(void)
{
	static const char *const names[] = { "tight", "very tight", "cheap few" };
	struct place_options o = { .seed = 1, .rounds = 200 };

	for (size_t x = 0; x < sizeof(names) / sizeof(names[0]); x++) {
		const struct world *kind = world_kinds;
		struct arena *a = arena_new();
		struct place_problem p;
		struct place_plan plan;
		struct berth_err err = { 0 };

		while (strcmp(kind->name, names[x]) != 0)
			kind++;
		world_make(kind, 100, 50, 3, kind->tight, SIZE_MAX, a, &p);
		tap_code(place_solve(&p, &o, a, &plan, &err), BERTH_OK, &err);
		tap_ok(place_check(&p, &plan) && plan.value <= 1.001 * plan.bound, "%s: %.2f USD are at most 0.1 %% over %.2f",
		    names[x], plan.value, plan.bound);
		arena_free(a);
	}
}

int
main(void)
{
	test_purse();
	test_kinds();
	test_close();
	return tap_done();
}
