/*
 * Issue rate of the tensor cores by mma.sync, in registers alone. It is the hardware's full rate on
 * Turing to Ada and on consumer Blackwell; Hopper needs wgmma (wgmma.cu), B200 the vendor library.
 * Each step adds the product with A and then with -A, so that no sum grows; the last one stays:
 * every element must be K * arith_row * arith_col, and the kernel counts those that are. Each accumulator begins at a
 * value of its own that only the launch knows, so that none of them is another's copy to the assembler.
 * BERTH_TENSOR picks the kernels: 75, 80 or 89, the architecture that each came with.
 */
#include "arith.h"

#define TB 256
#define ACC 4

#define OWN(seed) (1 + (int)((seed) >> 30))
#define LANE const unsigned lane = threadIdx.x & 31u, g = lane >> 2, t = lane & 3u

static __device__ __forceinline__ unsigned
rep(int kind, int v)
{
	const unsigned e = (unsigned)arith_encode(kind, v);

	return kind == ARITH_FP32 ? e : kind == ARITH_FP16 || kind == ARITH_BF16 ? e * 0x00010001u : e * 0x01010101u;
}

static __device__ __forceinline__ void
count(unsigned right, unsigned long long *out)
{
	for (int o = 16; o; o >>= 1)
		right += __shfl_xor_sync(0xffffffffu, right, o);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(out, (unsigned long long)right);
}

#define MMA2(OP, C, D, LO, HI, B) \
	asm volatile(OP " {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};" \
		: C(D[0]), C(D[1]), C(D[2]), C(D[3]) : "r"(LO), "r"(HI), "r"(B))
#define MMA4(OP, C, D, LO, HI, B) \
	asm volatile(OP " {%0,%1,%2,%3},{%4,%5,%4,%5},{%6,%6},{%0,%1,%2,%3};" \
		: C(D[0]), C(D[1]), C(D[2]), C(D[3]) : "r"(LO), "r"(HI), "r"(B))

/* A's rows g and g + 8 lie in the even and the odd registers, B's column g in each of its own (PTX ISA, mma) */
#define TENSOR_KERNEL(NAME, T, C, MMA, OP, K, KIND) \
extern "C" __global__ void __launch_bounds__(TB) \
NAME(unsigned long long *out, uint32_t seed, int iters) \
{ \
	LANE; \
	const unsigned lo = rep(KIND, arith_row(seed, g)), hi = rep(KIND, arith_row(seed, g + 8)); \
	const unsigned nlo = rep(KIND, -arith_row(seed, g)), nhi = rep(KIND, -arith_row(seed, g + 8)); \
	const unsigned b = rep(KIND, arith_col(seed, g)); \
	const int own = OWN(seed); \
	unsigned right = 0; \
	T d[ACC][4]; \
	_Pragma("unroll") \
	for (int j = 0; j < ACC; j++) \
		for (int e = 0; e < 4; e++) \
			d[j][e] = (T)(j * own); \
	_Pragma("unroll 1") \
	for (int k = 0; k < iters; k++) { \
		_Pragma("unroll") \
		for (int j = 0; j < ACC; j++) \
			MMA(OP, C, d[j], lo, hi, b); \
		_Pragma("unroll") \
		for (int j = 0; j < ACC; j++) \
			MMA(OP, C, d[j], nlo, nhi, b); \
	} \
	_Pragma("unroll") \
	for (int j = 0; j < ACC; j++) { \
		MMA(OP, C, d[j], lo, hi, b); \
		_Pragma("unroll") \
		for (unsigned e = 0; e < 4; e++) \
			right += d[j][e] == (T)(j * own + K * arith_row(seed, g + 8 * (e >> 1)) * \
			    arith_col(seed, 2 * t + (e & 1))); \
	} \
	count(right, out); \
}

#if BERTH_TENSOR == 75
TENSOR_KERNEL(berth_k_mma_f16_turing, float, "+f", MMA2, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 8,
    ARITH_FP16)
#endif

#if BERTH_TENSOR == 80
TENSOR_KERNEL(berth_k_mma_f16, float, "+f", MMA4, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16,
    ARITH_FP16)
TENSOR_KERNEL(berth_k_mma_bf16, float, "+f", MMA4, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16,
    ARITH_BF16)
TENSOR_KERNEL(berth_k_mma_tf32, float, "+f", MMA4, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8,
    ARITH_FP32)
TENSOR_KERNEL(berth_k_mma_s8, int, "+r", MMA4, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 32, ARITH_INT8)

extern "C" __global__ void __launch_bounds__(TB)
berth_k_mma_f64(unsigned long long *out, uint32_t seed, int iters)
{
	LANE;
	const double a = (double)arith_row(seed, g), na = -a, b = (double)arith_col(seed, g);
	const int own = OWN(seed);
	unsigned right = 0;
	double d[ACC][2];

#pragma unroll
	for (int j = 0; j < ACC; j++)
		d[j][0] = d[j][1] = (double)(j * own);

#define MMAD(D, A) \
	asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};" \
		: "+d"(D[0]), "+d"(D[1]) : "d"(A), "d"(b))
#pragma unroll 1
	for (int k = 0; k < iters; k++) {
#pragma unroll
		for (int j = 0; j < ACC; j++)
			MMAD(d[j], a);
#pragma unroll
		for (int j = 0; j < ACC; j++)
			MMAD(d[j], na);
	}
#pragma unroll
	for (int j = 0; j < ACC; j++) {
		MMAD(d[j], a);
		right += d[j][0] == (double)(j * own + 4 * arith_row(seed, g) * arith_col(seed, 2 * t));
		right += d[j][1] == (double)(j * own + 4 * arith_row(seed, g) * arith_col(seed, 2 * t + 1));
	}
	count(right, out);
}
#endif

#if BERTH_TENSOR == 89
TENSOR_KERNEL(berth_k_mma_e4m3, float, "+f", MMA4, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 32,
    ARITH_E4M3)
#endif
