/* bench/place_world.h - made-up queues and clouds for the placement's benchmarks. */
#ifndef BERTH_BENCH_PLACE_WORLD_H
#define BERTH_BENCH_PLACE_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "plan/place.h"

struct arena;

enum world_gangs { WORLD_MIXED, WORLD_SINGLES, WORLD_ODD, WORLD_BIG, WORLD_ENDS };

struct world {
	const char *name;
	double tight;		/* capacity over demand; below 1 not all fit */
	enum world_gangs gangs;
	double quota;		/* a quota over the capacities in it */
	int depth;		/* of nested quotas: 1 region and kind, 2 whole region of a cloud, 3 whole cloud */
	double cheap;		/* share of offers at a fifth of the price */
	double slack;		/* factor on the deadlines' slack: fewer offers can keep them */
	size_t users;		/* with a budget each; 0: none */
	size_t alike;		/* 1: all prices per work equal, 2: in steps of 10 % */
	size_t nodes;		/* most machines an offer has; 0: 8 */
};

/* The plain one: gangs of 1 to 32, one quota over each kind of offer of a region. */
extern const struct world world_plain;
/* What others could try, ends with a name of NULL. */
extern const struct world world_kinds[];

/* most: candidates a job at most. */
void world_make(const struct world *kind, size_t jobs, size_t offers, uint64_t seed, double tight, size_t most,
    struct arena *a, struct place_problem *p);

#endif
