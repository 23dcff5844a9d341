/*
 * kernels/lt_api.h - cuBLASLt by dlopen, with the few declarations it needs (the numbers are ABI;
 * lt_abi.c compares them with a real cublasLt.h where there is one). No toolkit is needed to build
 * or to start.
 */
#ifndef BERTH_KERNELS_LT_API_H
#define BERTH_KERNELS_LT_API_H

#include <stddef.h>
#include <stdint.h>

enum lt_precision {
	LT_FP64,
	LT_FP32,
	LT_TF32,
	LT_FP16,
	LT_BF16,
	LT_FP8,
	LT_INT8,
	LT_FP4,
	LT_PRECISIONS
};

struct lt_algo {
	uint64_t data[8];
}; /* cublasLtMatmulAlgo_t */

struct lt_choice { /* cublasLtMatmulHeuristicResult_t */
	struct lt_algo algo;
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

enum {
	LT_STATUS_NOT_SUPPORTED = 15,
	LT_OP_N = 0,
	LT_OP_T = 1,
	LT_COMPUTE_32F = 68,
	LT_COMPUTE_64F = 70,
	LT_COMPUTE_32I = 72,
	LT_COMPUTE_TF32 = 77,
	LT_R_32F = 0,
	LT_R_64F = 1,
	LT_R_16F = 2,
	LT_R_8I = 3,
	LT_R_32I = 10,
	LT_R_16BF = 14,
	LT_R_E4M3 = 28,
	LT_R_E2M1 = 33,
	LT_DESC_TRANSA = 3,
	LT_DESC_TRANSB = 4,
	LT_DESC_A_SCALE = 17,
	LT_DESC_B_SCALE = 18,
	LT_DESC_FAST_ACCUM = 25,
	LT_DESC_A_SCALE_MODE = 31,
	LT_DESC_B_SCALE_MODE = 32,
	LT_SCALE_VEC16_UE4M3 = 1,
	LT_PREF_WORKSPACE = 1,
};

#define LT_FUNCS(X)                                                                                \
	X(create, "cublasLtCreate", (void **))                                                     \
	X(destroy, "cublasLtDestroy", (void *))                                                    \
	X(desc_create, "cublasLtMatmulDescCreate", (void **, int, int))                            \
	X(desc_destroy, "cublasLtMatmulDescDestroy", (void *))                                     \
	X(desc_set, "cublasLtMatmulDescSetAttribute", (void *, int, const void *, size_t))         \
	X(layout_create, "cublasLtMatrixLayoutCreate",                                             \
	    (void **, int, uint64_t, uint64_t, int64_t))                                           \
	X(layout_destroy, "cublasLtMatrixLayoutDestroy", (void *))                                 \
	X(pref_create, "cublasLtMatmulPreferenceCreate", (void **))                                \
	X(pref_destroy, "cublasLtMatmulPreferenceDestroy", (void *))                               \
	X(pref_set, "cublasLtMatmulPreferenceSetAttribute", (void *, int, const void *, size_t))   \
	X(heuristic, "cublasLtMatmulAlgoGetHeuristic",                                             \
	    (void *, void *, void *, void *, void *, void *, void *, int, struct lt_choice *,      \
		int *))                                                                            \
	X(matmul, "cublasLtMatmul",                                                                \
	    (void *, void *, const void *, const void *, void *, const void *, void *,             \
		const void *, const void *, void *, void *, void *, const struct lt_algo *,        \
		void *, size_t, void *))

struct lt_api {
	void *so;
#define X(n, s, a) int(*n) a;
	LT_FUNCS(X)
#undef X
	size_t (*version)(void);
	char path[256];
};

struct lt_gemm { /* D = A' B, column major: A [k x m], B [k x n], D [m x n]; device addresses */
	enum lt_precision precision;
	int d_type; /* LT_R_...; must hold the sums exactly where the result is checked */
	uint64_t m, n, k;
	uint64_t a, b, d, workspace, scale_a, scale_b; /* scales: FP4 alone */
	size_t workspace_bytes;
};

struct lt_plan {
	void *op, *la, *lb, *ld;
	struct lt_choice choice;
	struct lt_gemm g;
	union {
		float f;
		double d;
		int i;
	} one, zero;
};

/*
 * Finds a cuBLASLt that works with this driver, in a fixed order, or takes the one that is named
 * (NULL: none is), and makes a handle for the current context. 0; -1 with a sentence in why [n].
 */
int lt_api_open(struct lt_api *api, const char *named, void **handle_out, char *why, size_t n);
const char *lt_precision_name(enum lt_precision p); /* "bf16" */
/* Plan by heuristic number rank: 0; 1 not supported here, or no such rank; -1 error. */
int lt_plan_make(const struct lt_api *api, void *handle, const struct lt_gemm *g, int rank,
    struct lt_plan *p_out);
int lt_plan_run(const struct lt_api *api, void *handle, struct lt_plan *p); /* cublasStatus_t */
void lt_plan_free(const struct lt_api *api, struct lt_plan *p);

#endif
