/* src/util/rng.h - random numbers from a seed: same seed, same numbers.  Floor: util. */
#ifndef BERTH_UTIL_RNG_H
#define BERTH_UTIL_RNG_H

#include <stdbool.h>
#include <stdint.h>

/* xoshiro256** (Blackman & Vigna, 2018), state filled by splitmix64 of the seed. */
struct rng {
	uint64_t s[4];
	double spare; /* the second normal of a pair */
	bool has_spare;
};

void rng_seed(struct rng *r, uint64_t seed);
/*
 * Stream number `stream` of a seed: for work in shards whose result must not depend on the number
 * of shards.
 */
void rng_seed_stream(struct rng *r, uint64_t seed, uint64_t stream);
uint64_t rng_u64(struct rng *r);
double rng_unit(struct rng *r);                /* [0, 1), 53 bits */
uint64_t rng_below(struct rng *r, uint64_t n); /* 0..n-1 without bias (Lemire, 2019); n > 0 */
double rng_normal(struct rng *r);              /* mean 0, deviation 1; Marsaglia's polar method */
double rng_exp(struct rng *r);                 /* mean 1 */

#endif
