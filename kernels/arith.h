/*
 * kernels/arith.h - everything a kernel computes, once, for the device and for the host. A run of
 * the same functions on the CPU is the reference, bit for bit. Therefore: explicit FMA and nothing
 * else that a compiler may contract, no libm but fma, no floating sum whose order could differ.
 */
#ifndef BERTH_KERNELS_ARITH_H
#define BERTH_KERNELS_ARITH_H

#ifndef BERTH_CLANG_SHIM
#include <stdint.h>
#include <string.h>
#endif

#if defined(__CUDACC__)
#define ARITH_FN static __host__ __device__ __forceinline__
#else
#include <math.h>
#define ARITH_FN static inline
#endif

ARITH_FN uint64_t
arith_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

ARITH_FN double
arith_fma64(double a, double b, double c)
{
#if defined(__CUDA_ARCH__)
	return __fma_rn(a, b, c);
#else
	return fma(a, b, c);
#endif
}

ARITH_FN float
arith_fma32(float a, float b, float c)
{
#if defined(__CUDA_ARCH__)
	return __fmaf_rn(a, b, c);
#else
	return fmaf(a, b, c);
#endif
}

ARITH_FN uint64_t
arith_bits64(double d)
{
#if defined(__CUDA_ARCH__)
	return (uint64_t)__double_as_longlong(d);
#else
	uint64_t u;

	memcpy(&u, &d, 8);
	return u;
#endif
}

ARITH_FN double
arith_from64(uint64_t u)
{
#if defined(__CUDA_ARCH__)
	return __longlong_as_double((long long)u);
#else
	double d;

	memcpy(&d, &u, 8);
	return d;
#endif
}

ARITH_FN uint32_t
arith_bits32(float f)
{
#if defined(__CUDA_ARCH__)
	return __float_as_uint(f);
#else
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
#endif
}

/* Uniform in [1, 2): exact on every IEEE machine. */
ARITH_FN double
arith_unit(uint64_t seed, uint64_t i)
{
	return arith_from64(
	    (arith_mix(seed ^ (i * 0xd1342543de82ef95ull)) >> 12) | 0x3ff0000000000000ull);
}

/* Term of a sum mod 2^64 over all words: the sum does not depend on the order, a moved word shows.
 */
ARITH_FN uint64_t
arith_term(uint64_t bits, uint64_t i)
{
	return arith_mix(bits ^ arith_mix(i));
}

ARITH_FN double
arith_triad(double b, double c, double s)
{
	return arith_fma64(s, c, b);
}

#define ARITH_CHAINS 8    /* independent FMA chains of one thread */
#define ARITH_STARTS 1024 /* distinct start values */

ARITH_FN float
arith_start32(uint64_t i)
{
	return 1.0f + (float)(i & (ARITH_STARTS - 1)) * (1.0f / ARITH_STARTS);
}

ARITH_FN double
arith_start64(uint64_t i)
{
	return 1.0 + (double)(i & (ARITH_STARTS - 1)) * (1.0 / ARITH_STARTS);
}

ARITH_FN float
arith_chain32(float x, float a, float b, int n)
{
	for (int k = 0; k < n; k++)
		x = arith_fma32(x, a, b);
	return x;
}

ARITH_FN double
arith_chain64(double x, double a, double b, int n)
{
	for (int k = 0; k < n; k++)
		x = arith_fma64(x, a, b);
	return x;
}

/* Memory patterns: 0 zeros, 1 ones, 2 checkerboard, 3 walking one, 4 own address, 5 random. */
#define ARITH_PATTERNS 6

ARITH_FN uint64_t
arith_pattern(int kind, uint64_t seed, uint64_t i)
{
	switch (kind) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return (i & 1) ? 0xaaaaaaaaaaaaaaaaull : 0x5555555555555555ull;
	case 3:
		return 1ull << (i & 63);
	case 4:
		return i;
	default:
		return arith_mix(seed ^ i);
	}
}

/* Next slot of a walk that visits all 2^k slots once (full-period LCG; Hull & Dobell, 1962). */
ARITH_FN uint32_t
arith_next(uint32_t i, uint32_t mask)
{
	return (i * 1664525u + 1013904223u) & mask;
}

#define ARITH_SLOT 32 /* 32-bit words between two slots: one cache line each */

/* Operand formats of a matrix product. */
enum arith_kind {
	ARITH_FP64,
	ARITH_FP32,
	ARITH_FP16,
	ARITH_BF16,
	ARITH_E4M3,
	ARITH_INT8,
	ARITH_E2M1,
	ARITH_KINDS
};

/* Integers -2..2 are exact in every format, and so is their product summed over thousands. */
ARITH_FN int
arith_element(uint64_t seed, uint64_t i)
{
	return (int)(arith_mix(seed + i) % 5) - 2;
}

ARITH_FN uint64_t
arith_encode(int kind, int v)
{
	const int a = v < 0 ? -v : v;
	const uint64_t s = v < 0;

	switch (kind) {
	case ARITH_FP64:
		return arith_bits64((double)v);
	case ARITH_FP32:
		return arith_bits32((float)v);
	case ARITH_FP16:
		return a == 0 ? 0 : (s << 15) | (a == 1 ? 0x3c00u : 0x4000u);
	case ARITH_BF16:
		return a == 0 ? 0 : (s << 15) | (a == 1 ? 0x3f80u : 0x4000u);
	case ARITH_E4M3:
		return a == 0 ? 0 : (s << 7) | (a == 1 ? 0x38u : 0x40u);
	case ARITH_INT8:
		return (uint64_t)v & 0xffu;
	default:
		return a == 0 ? 0 : (s << 3) | (a == 1 ? 0x2u : 0x4u);
	}
}

/* Random bits of magnitude about 1/2 to 1: what a product is timed with, since zeros draw less
 * power. */
ARITH_FN uint64_t
arith_random(int kind, uint64_t seed, uint64_t i)
{
	const uint64_t r = arith_mix(seed + i);

	switch (kind) {
	case ARITH_FP64:
		return (r & 0x800fffffffffffffull) | 0x3fe0000000000000ull;
	case ARITH_FP32:
		return (r & 0x807fffffull) | 0x3f000000ull;
	case ARITH_FP16:
		return (r & 0x83ffull) | 0x3800ull;
	case ARITH_BF16:
		return (r & 0x807full) | 0x3f00ull;
	case ARITH_E4M3:
		return (r & 0x87ull) | 0x30ull;
	case ARITH_INT8:
		return r & 0xffull;
	default:
		return r & 0xfull;
	}
}

ARITH_FN uint64_t
arith_operand(int kind, int random, uint64_t seed, uint64_t i)
{
	return random ? arith_random(kind, seed, i) : arith_encode(kind, arith_element(seed, i));
}

/* Weights of a product's check value: odd, so that one wrong element always shows. */
ARITH_FN uint64_t
arith_weight(uint64_t seed, uint64_t i)
{
	return arith_mix(seed + i) | 1;
}

#define ARITH_SEED_A (1ull << 40)
#define ARITH_SEED_B (2ull << 40)
#define ARITH_SEED_U (3ull << 40)
#define ARITH_SEED_V (4ull << 40)

/* An element of the product as an integer; whatever is none (a fraction, NaN) becomes a value that
 * cannot pass. */
ARITH_FN uint64_t
arith_integer(double x)
{
	return x >= -1e9 && x <= 1e9 && x == (double)(long long)x ? (uint64_t)(long long)x
								  : 0x5bd1e9955bd1e995ull;
}

/* Tensor kernels: A[r][k] = arith_row(r), B[k][c] = arith_col(c), each 1 or 2 by a bit of the seed.
 */
ARITH_FN int
arith_row(uint32_t seed, unsigned r)
{
	return 1 + (int)((seed >> (r & 15u)) & 1u);
}

ARITH_FN int
arith_col(uint32_t seed, unsigned c)
{
	return 1 + (int)((seed >> (16u + (c & 7u))) & 1u);
}

#endif
