#include <math.h>

#include "util/hash.h"
#include "util/rng.h"

#define RNG_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

__extension__ typedef unsigned __int128 rng_u128;

void
rng_seed(struct rng *r, uint64_t seed)
{
	*r = (struct rng){ 0 };
	for (int i = 0; i < 4; i++) {
		r->s[i] = hash_u64(seed); /* adds the golden ratio first: a step of splitmix64 */
		seed += RNG_GOLDEN;
	}
}

void
rng_seed_stream(struct rng *r, uint64_t seed, uint64_t stream)
{
	rng_seed(r, hash_join(hash_u64(seed), stream));
}

static uint64_t
rng_rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

uint64_t
rng_u64(struct rng *r)
{
	uint64_t *s = r->s, result = rng_rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rng_rotl(s[3], 45);
	return result;
}

double
rng_unit(struct rng *r)
{
	return (double)(rng_u64(r) >> 11) * 0x1.0p-53;
}

uint64_t
rng_below(struct rng *r, uint64_t n)
{
	rng_u128 m = (rng_u128)rng_u64(r) * n;

	if ((uint64_t)m < n) {
		uint64_t least = -n % n;

		while ((uint64_t)m < least)
			m = (rng_u128)rng_u64(r) * n;
	}
	return (uint64_t)(m >> 64);
}

double
rng_normal(struct rng *r)
{
	double x, y, s, f;

	if (r->has_spare) {
		r->has_spare = false;
		return r->spare;
	}
	do {
		x = 2 * rng_unit(r) - 1;
		y = 2 * rng_unit(r) - 1;
		s = x * x + y * y;
	} while (s >= 1 || s == 0);
	f = sqrt(-2 * log(s) / s);
	r->spare = y * f;
	r->has_spare = true;
	return x * f;
}

double
rng_exp(struct rng *r)
{
	return -log1p(-rng_unit(r));
}
