/*
 * Kernels that run on every GPU since Pascal. C names and plain arguments: launched through the driver
 * API out of an embedded image. All arithmetic is in arith.h.
 */
#include "arith.h"

#define TB 256
#define FIRST ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE ((uint64_t)gridDim.x * blockDim.x)

static __device__ __forceinline__ void
block_add(uint64_t v, unsigned long long *out)
{
	for (int o = 16; o; o >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, o);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(out, (unsigned long long)v);
}

extern "C" __global__ void __launch_bounds__(TB)
berth_k_empty(int *p)
{
	if (p)
		*p = 1;
}

extern "C" __global__ void __launch_bounds__(TB)
berth_k_fill(double *a, uint64_t n, uint64_t seed)
{
	for (uint64_t i = FIRST; i < n; i += STRIDE)
		a[i] = arith_unit(seed, i);
}

/* 16-byte loads, four in flight a thread; the xor keeps every load alive and is the check. */
extern "C" __global__ void __launch_bounds__(TB)
berth_k_read(const uint4 *__restrict__ p, uint64_t n, int passes, unsigned *sink)
{
	const uint64_t st = STRIDE;
	uint32_t x = 0;

	for (int pass = 0; pass < passes; pass++) {
		uint64_t i = FIRST;

		for (; i + 3 * st < n; i += 4 * st) {
			uint4 v0 = __ldcg(p + i), v1 = __ldcg(p + i + st);
			uint4 v2 = __ldcg(p + i + 2 * st), v3 = __ldcg(p + i + 3 * st);

			x ^= v0.x ^ v0.y ^ v0.z ^ v0.w ^ v1.x ^ v1.y ^ v1.z ^ v1.w;
			x ^= v2.x ^ v2.y ^ v2.z ^ v2.w ^ v3.x ^ v3.y ^ v3.z ^ v3.w;
		}
		for (; i < n; i += st) {
			uint4 v = __ldcg(p + i);

			x ^= v.x ^ v.y ^ v.z ^ v.w;
		}
	}
	for (int o = 16; o; o >>= 1)
		x ^= __shfl_xor_sync(0xffffffffu, x, o);
	if ((threadIdx.x & 31) == 0)
		atomicXor(sink, x);
}

extern "C" __global__ void __launch_bounds__(TB)
berth_k_copy(uint4 *__restrict__ a, const uint4 *__restrict__ b, uint64_t n)
{
	const uint64_t st = STRIDE;
	uint64_t i = FIRST;

	for (; i + 3 * st < n; i += 4 * st) {
		uint4 v0 = __ldcs(b + i), v1 = __ldcs(b + i + st);
		uint4 v2 = __ldcs(b + i + 2 * st), v3 = __ldcs(b + i + 3 * st);

		__stcs(a + i, v0);
		__stcs(a + i + st, v1);
		__stcs(a + i + 2 * st, v2);
		__stcs(a + i + 3 * st, v3);
	}
	for (; i < n; i += st)
		a[i] = b[i];
}

/* a = b + s * c on 16-byte units of two doubles */
extern "C" __global__ void __launch_bounds__(TB)
berth_k_triad(double2 *__restrict__ a, const double2 *__restrict__ b, const double2 *__restrict__ c, double s,
    uint64_t n2)
{
	const uint64_t st = STRIDE;
	uint64_t i = FIRST;

	for (; i + st < n2; i += 2 * st) {
		double2 b0 = __ldcs(b + i), c0 = __ldcs(c + i), b1 = __ldcs(b + i + st), c1 = __ldcs(c + i + st);

		__stcs(a + i, make_double2(arith_triad(b0.x, c0.x, s), arith_triad(b0.y, c0.y, s)));
		__stcs(a + i + st, make_double2(arith_triad(b1.x, c1.x, s), arith_triad(b1.y, c1.y, s)));
	}
	for (; i < n2; i += st)
		a[i] = make_double2(arith_triad(b[i].x, c[i].x, s), arith_triad(b[i].y, c[i].y, s));
}

/* the same as plainly as BabelStream writes it: one element a thread; what berth_k_triad is measured against */
extern "C" __global__ void __launch_bounds__(TB)
berth_k_stream(double *__restrict__ a, const double *__restrict__ b, const double *__restrict__ c, double s, uint64_t n)
{
	const uint64_t i = FIRST;

	if (i < n)
		a[i] = arith_triad(b[i], c[i], s);
}

extern "C" __global__ void __launch_bounds__(TB)
berth_k_sum(const uint64_t *__restrict__ p, uint64_t n, unsigned long long *out)
{
	uint64_t v = 0;

	for (uint64_t i = FIRST; i < n; i += STRIDE)
		v += arith_term(p[i], i);
	block_add(v, out);
}

#define FMA_KERNEL(NAME, T, START, FMA, BITS) \
extern "C" __global__ void __launch_bounds__(TB) \
NAME(unsigned long long *out, T a, T b, int iters) \
{ \
	const uint64_t t = FIRST * ARITH_CHAINS; \
	T x[ARITH_CHAINS]; \
	uint64_t v = 0; \
	_Pragma("unroll") \
	for (int j = 0; j < ARITH_CHAINS; j++) \
		x[j] = START(t + (uint64_t)j); \
	_Pragma("unroll 1") \
	for (int k = 0; k < iters; k += 16) { \
		_Pragma("unroll") \
		for (int u = 0; u < 16; u++) { \
			_Pragma("unroll") \
			for (int j = 0; j < ARITH_CHAINS; j++) \
				x[j] = FMA(x[j], a, b); \
		} \
	} \
	_Pragma("unroll") \
	for (int j = 0; j < ARITH_CHAINS; j++) \
		v += arith_term(BITS(x[j]), t + (uint64_t)j); \
	block_add(v, out); \
}
FMA_KERNEL(berth_k_fma32, float, arith_start32, arith_fma32, arith_bits32)
FMA_KERNEL(berth_k_fma64, double, arith_start64, arith_fma64, arith_bits64)

extern "C" __global__ void __launch_bounds__(TB)
berth_k_pattern_write(uint64_t *p, uint64_t n, int kind, uint64_t seed, uint64_t invert)
{
	for (uint64_t i = FIRST; i < n; i += STRIDE)
		p[i] = arith_pattern(kind, seed, i) ^ invert;
}

/* res: bad words, least bad index + 1, or of the flipped bits */
extern "C" __global__ void __launch_bounds__(TB)
berth_k_pattern_check(const uint64_t *__restrict__ p, uint64_t n, int kind, uint64_t seed, uint64_t invert,
    unsigned long long *res)
{
	for (uint64_t i = FIRST; i < n; i += STRIDE) {
		uint64_t d = p[i] ^ arith_pattern(kind, seed, i) ^ invert;

		if (d) {
			atomicAdd(&res[0], 1ull);
			atomicMin(&res[1], (unsigned long long)(i + 1));
			atomicOr(&res[2], (unsigned long long)d);
		}
	}
}

extern "C" __global__ void __launch_bounds__(TB)
berth_k_chase_fill(unsigned *p, uint64_t slots)
{
	for (uint64_t i = FIRST; i < slots; i += STRIDE)
		p[i * ARITH_SLOT] = arith_next((uint32_t)i, (uint32_t)(slots - 1));
}

/* dependent loads: one thread, one line a step */
extern "C" __global__ void
berth_k_chase(const unsigned *p, unsigned start, int n, unsigned *out)
{
	uint64_t i = start;

	for (int k = 0; k < n; k++)
		i = p[i * ARITH_SLOT];
	*out = (unsigned)i;
}

/* operands of a matrix product, one byte group a thread: count is in elements, two to a byte for e2m1 */
extern "C" __global__ void __launch_bounds__(TB)
berth_k_operand(void *p, uint64_t n, int kind, int random, uint64_t seed)
{
	for (uint64_t i = FIRST; i < n; i += STRIDE) {
		const uint64_t v = arith_operand(kind, random, seed, i);

		if (kind == ARITH_FP64)
			((uint64_t *)p)[i] = v;
		else if (kind == ARITH_FP32)
			((unsigned *)p)[i] = (unsigned)v;
		else if (kind == ARITH_FP16 || kind == ARITH_BF16)
			((unsigned short *)p)[i] = (unsigned short)v;
		else if (kind != ARITH_E2M1)
			((unsigned char *)p)[i] = (unsigned char)v;
		else if (!(i & 1))
			((unsigned char *)p)[i / 2] =
			    (unsigned char)(v | arith_operand(kind, random, seed, i + 1) << 4);
	}
}

/* check value of a column-major product d [m x n]; type 0 FP64, 1 FP32, 2 INT32 */
extern "C" __global__ void __launch_bounds__(TB)
berth_k_product(const void *d, int type, uint64_t m, uint64_t n, unsigned long long *out)
{
	uint64_t h = 0;

	for (uint64_t i = FIRST; i < m * n; i += STRIDE) {
		const double x = type == 0 ? ((const double *)d)[i] :
		    type == 1 ? (double)((const float *)d)[i] : (double)((const int *)d)[i];

		h += arith_weight(ARITH_SEED_U, i % m) * arith_integer(x) * arith_weight(ARITH_SEED_V, i / m);
	}
	block_add(h, out);
}
