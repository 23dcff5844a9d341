/* Budgets of users beside scarce offers: nobody stays out for whom there is room and money. */
#include <math.h>

#include "bench/place_world.h"
#include "plan/place.h"
#include "tests/tap.h"
#include "util/arena.h"

#define JOBS 100
#define OFFERS 50

/* Of the second queue, found and proven by CBC 2.10. */
#define BEST_2 8127.044

static const struct world budgets = { .name = "budgets", .tight = 2.6, .quota = 0.7, .depth = 2, .slack = 1, .users = 12 };

static void
place(uint64_t seed, struct arena *a, struct place_plan *plan)
{
	struct place_options o = { .seed = 1, .rounds = 250 };
	struct place_problem p;
	struct berth_err err = { 0 };

	world_make(&budgets, JOBS, OFFERS, seed, budgets.tight, SIZE_MAX, a, &p);
	tap_code(place_solve(&p, &o, a, plan, &err), BERTH_OK, &err);
	tap_ok(place_check(&p, plan), "queue %u: no budget and no offer is passed", (unsigned)seed);
	tap_ok(plan->placed == JOBS, "all %d jobs are placed (%zu)", JOBS, plan->placed);
}

int
main(void)
{
	static const uint64_t seeds[] = { 2, 20, 21 };
	struct arena *a = arena_new();
	struct place_plan plan;

	for (size_t x = 0; x < sizeof(seeds) / sizeof(seeds[0]); x++) {
		place(seeds[x], a, &plan);
		tap_ok(plan.value <= 1.006 * plan.bound, "%.2f USD are close to the bound of %.2f", plan.value, plan.bound);
		if (seeds[x] == 2)
			tap_ok(plan.value <= 1.001 * BEST_2 && plan.bound <= BEST_2 * (1 + 1e-6),
			    "and to the optimum, which the bound does not pass: %.2f USD", BEST_2);
	}
	arena_free(a);
	return tap_done();
}
