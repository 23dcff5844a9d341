/*
 * kernels/clang_shim.h - lets clang alone, without a CUDA toolkit, make the PTX of base.cu and
 * tensor.cu: the few names of CUDA's headers that these use.
 */
#ifndef BERTH_CLANG_SHIM
#define BERTH_CLANG_SHIM

#define __CUDACC__ 1
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

typedef unsigned char uint8_t;
typedef unsigned uint32_t;
typedef unsigned long uint64_t;
typedef long int64_t;
struct alignas(16) uint4 {
	unsigned x, y, z, w;
};
struct alignas(16) double2 {
	double x, y;
};

#define SHIM_FN static __device__ __forceinline__

SHIM_FN double2
make_double2(double x, double y)
{
	double2 r = { x, y };
	return r;
}

#define SHIM_SREG(NAME, OF)                                                                        \
	struct shim_##NAME {                                                                       \
		__declspec(property(get = get_x)) unsigned x;                                      \
		static __device__ __forceinline__ unsigned get_x() { return OF(); }                \
	};                                                                                         \
	static const __device__ shim_##NAME NAME = {}
SHIM_SREG(threadIdx, __nvvm_read_ptx_sreg_tid_x);
SHIM_SREG(blockIdx, __nvvm_read_ptx_sreg_ctaid_x);
SHIM_SREG(blockDim, __nvvm_read_ptx_sreg_ntid_x);
SHIM_SREG(gridDim, __nvvm_read_ptx_sreg_nctaid_x);

SHIM_FN unsigned
__shfl_xor_sync(unsigned m, unsigned v, int o)
{
	return (unsigned)__nvvm_shfl_sync_bfly_i32(m, (int)v, o, 31);
}
SHIM_FN unsigned long
__shfl_xor_sync(unsigned m, unsigned long v, int o)
{
	const unsigned lo = __shfl_xor_sync(m, (unsigned)v, o),
		       hi = __shfl_xor_sync(m, (unsigned)(v >> 32), o);

	return (unsigned long)hi << 32 | lo;
}
SHIM_FN unsigned long long
atomicAdd(unsigned long long *p, unsigned long long v)
{
	return (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)v);
}
SHIM_FN unsigned
atomicXor(unsigned *p, unsigned v)
{
	return (unsigned)__nvvm_atom_xor_gen_i((int *)p, (int)v);
}
SHIM_FN unsigned long long
atomicOr(unsigned long long *p, unsigned long long v)
{
	return (unsigned long long)__nvvm_atom_or_gen_ll((long long *)p, (long long)v);
}
SHIM_FN unsigned long long
atomicMin(unsigned long long *p, unsigned long long v)
{
	return __nvvm_atom_min_gen_ull(p, v);
}
SHIM_FN double
__fma_rn(double a, double b, double c)
{
	return __nvvm_fma_rn_d(a, b, c);
}
SHIM_FN float
__fmaf_rn(float a, float b, float c)
{
	return __nvvm_fma_rn_f(a, b, c);
}
SHIM_FN long long
__double_as_longlong(double d)
{
	return __nvvm_bitcast_d2ll(d);
}
SHIM_FN double
__longlong_as_double(long long l)
{
	return __nvvm_bitcast_ll2d(l);
}
SHIM_FN unsigned
__float_as_uint(float f)
{
	return (unsigned)__nvvm_bitcast_f2i(f);
}

#define SHIM_LOAD(NAME, OP)                                                                        \
	SHIM_FN uint4 NAME(const uint4 *p)                                                         \
	{                                                                                          \
		uint4 v;                                                                           \
		asm volatile("ld.global." OP ".v4.u32 {%0,%1,%2,%3},[%4];"                         \
			     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                          \
			     : "l"(p));                                                            \
		return v;                                                                          \
	}
SHIM_LOAD(__ldcs, "cs")
SHIM_LOAD(__ldcg, "cg")
SHIM_FN double2
__ldcs(const double2 *p)
{
	double2 v;

	asm volatile("ld.global.cs.v2.f64 {%0,%1},[%2];" : "=d"(v.x), "=d"(v.y) : "l"(p));
	return v;
}
SHIM_FN void
__stcs(double2 *p, double2 v)
{
	asm volatile("st.global.cs.v2.f64 [%0],{%1,%2};" ::"l"(p), "d"(v.x), "d"(v.y) : "memory");
}
SHIM_FN void
__stcs(uint4 *p, uint4 v)
{
	asm volatile("st.global.cs.v4.u32 [%0],{%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y),
		     "r"(v.z), "r"(v.w)
		     : "memory");
}

#endif
