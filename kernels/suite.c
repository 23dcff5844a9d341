#include "config.h"

#include <string.h>

#include "kernels/run.h"

#define QS (LEVEL_QUICK | LEVEL_STANDARD | LEVEL_DEEP)
#define S_ (LEVEL_STANDARD | LEVEL_DEEP)

/* In this order, all devices at once. Caps are seconds of one device; the sum of a level stays
 * under its limit. */
static const struct suite_row suite_table[] = {
	{ "dram_read", "GB/s", "device memory, read", QS, 2, PHASE_EACH, test_dram_read, 0 },
	{ "dram_copy", "GB/s", "device memory, copy", S_, 2, PHASE_EACH, test_dram_copy, 0 },
	{ "dram_triad", "GB/s", "device memory, a = b + s*c", QS, 2, PHASE_EACH, test_dram_triad,
	    0 },
	{ "dram_stream", "GB/s", "the same as a plain loop", LEVEL_DEEP, 2, PHASE_EACH,
	    test_dram_stream, 0 },
	{ "dram_memcpy", "GB/s", "the driver's copy on the device", LEVEL_DEEP, 2, PHASE_EACH,
	    test_dram_memcpy, 0 },
	{ "l2_read", "GB/s", "L2 cache, read", S_, 1, PHASE_EACH, test_l2_read, 0 },
	{ "dram_latency", "ns", "device memory, dependent loads", S_, 1, PHASE_EACH,
	    test_dram_latency, 0 },
	{ "launch_latency", "us", "empty kernel, launch to end", S_, 1, PHASE_EACH, test_launch,
	    0 },
	{ "fma_fp32", "TFLOP/s", "vector units, FP32", S_, 1, PHASE_EACH, test_fma, 32 },
	{ "fma_fp64", "TFLOP/s", "vector units, FP64", S_, 1, PHASE_EACH, test_fma, 64 },
	{ "mma_f16", "TFLOP/s", "tensor cores by mma, FP16", S_, 0.5, PHASE_EACH, test_tensor, 1 },
	{ "mma_bf16", "TFLOP/s", "tensor cores by mma, BF16", S_, 0.5, PHASE_EACH, test_tensor, 2 },
	{ "mma_tf32", "TFLOP/s", "tensor cores by mma, TF32", S_, 0.5, PHASE_EACH, test_tensor, 3 },
	{ "mma_s8", "TFLOP/s", "tensor cores by mma, INT8", S_, 0.5, PHASE_EACH, test_tensor, 4 },
	{ "mma_f64", "TFLOP/s", "tensor cores by mma, FP64", S_, 0.5, PHASE_EACH, test_tensor, 5 },
	{ "mma_e4m3", "TFLOP/s", "tensor cores by mma, FP8", S_, 0.5, PHASE_EACH, test_tensor, 6 },
	{ "wgmma_bf16", "TFLOP/s", "tensor cores by wgmma, BF16", S_, 0.5, PHASE_EACH, test_tensor,
	    7 },
	{ "wgmma_e4m3", "TFLOP/s", "tensor cores by wgmma, FP8", S_, 0.5, PHASE_EACH, test_tensor,
	    8 },
	{ "pcie_h2d", "GB/s", "host to device", QS, 2, PHASE_EACH, test_pcie, 0 },
	{ "pcie_d2h", "GB/s", "device to host", QS, 2, PHASE_EACH, test_pcie, 1 },
	{ "pcie_both", "GB/s", "both ways at once", S_, 2, PHASE_EACH, test_pcie, 2 },
	{ "memory_patterns", "GB/s", "every word of nine tenths of the memory", S_, 5, PHASE_EACH,
	    test_patterns, 0 },
	{ "gemm_bf16", "TFLOP/s", "cuBLASLt, BF16", QS, 2, PHASE_EACH, test_gemm, LT_BF16 },
	{ "gemm_fp16", "TFLOP/s", "cuBLASLt, FP16", QS, 2, PHASE_EACH, test_gemm, LT_FP16 },
	{ "gemm_tf32", "TFLOP/s", "cuBLASLt, TF32", S_, 2, PHASE_EACH, test_gemm, LT_TF32 },
	{ "gemm_fp32", "TFLOP/s", "cuBLASLt, FP32", S_, 2, PHASE_EACH, test_gemm, LT_FP32 },
	{ "gemm_fp64", "TFLOP/s", "cuBLASLt, FP64", S_, 2, PHASE_EACH, test_gemm, LT_FP64 },
	{ "gemm_fp8", "TFLOP/s", "cuBLASLt, FP8 (E4M3)", S_, 2, PHASE_EACH, test_gemm, LT_FP8 },
	{ "gemm_int8", "TFLOP/s", "cuBLASLt, INT8", S_, 2, PHASE_EACH, test_gemm, LT_INT8 },
	{ "gemm_fp4", "TFLOP/s", "cuBLASLt, FP4 (E2M1, block scales)", S_, 2, PHASE_EACH, test_gemm,
	    LT_FP4 },
	{ "decode_fp16", "GB/s", "16 rows times weights, FP16", S_, 1, PHASE_EACH, test_decode,
	    LT_FP16 },
	{ "decode_fp8", "GB/s", "16 rows times weights, FP8", S_, 1, PHASE_EACH, test_decode,
	    LT_FP8 },
	{ "decode_int8", "GB/s", "16 rows times weights, INT8", S_, 1, PHASE_EACH, test_decode,
	    LT_INT8 },
	{ "p2p", "GB/s", "device to device, each ordered pair", S_, 0.2, PHASE_PAIRS, test_p2p, 0 },
	{ "p2p_all", "GB/s", "disjoint pairs at once, both ways: all devices send and receive", S_,
	    3, PHASE_MESH, test_p2p_all, 0 },
	{ "steady", "TFLOP/s", "products for seconds; rate at the end", S_, 12, PHASE_STEADY,
	    test_steady, 0 },
	{ "dram_triad_hot", "GB/s", "dram_triad after the steady part", S_, 1, PHASE_STEADY,
	    test_dram_triad, 0 },
};

const struct suite_row *
suite_rows(size_t *n_out)
{
	*n_out = sizeof(suite_table) / sizeof(suite_table[0]);
	return suite_table;
}

/* "gemm" names every test that begins with it, "gemm_fp8" the one. */
static bool
suite_named(const char *list, const char *name)
{
	while (*list != '\0') {
		size_t n = strcspn(list, ",");

		if (n > 0 && strncmp(list, name, n) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

bool
suite_wants_name(const struct run_opts *o, const char *name)
{
	return o->only == NULL || suite_named(o->only, name);
}

bool
suite_wants(const struct run_opts *o, const struct suite_row *row)
{
	return o->only != NULL ? suite_named(o->only, row->name) : (row->levels & o->level) != 0;
}
