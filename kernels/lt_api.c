#include "config.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "kernels/lt_api.h"

const char *
lt_precision_name(enum lt_precision p)
{
	static const char *const names[LT_PRECISIONS] = {
		[LT_FP64] = "fp64",
		[LT_FP32] = "fp32",
		[LT_TF32] = "tf32",
		[LT_FP16] = "fp16",
		[LT_BF16] = "bf16",
		[LT_FP8] = "fp8",
		[LT_INT8] = "int8",
		[LT_FP4] = "fp4",
	};

	return names[p];
}

static int
lt_api_try(struct lt_api *api, const char *path, void **handle_out, char *why, size_t n)
{
	struct link_map *map = NULL;
	void *p;
	int rc;

	memset(api, 0, sizeof(*api));
	api->so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (api->so == NULL)
		return -1;
#define X(f, s, a)                                                                                 \
	p = dlsym(api->so, s);                                                                     \
	if (p == NULL) {                                                                           \
		snprintf(why, n, "%s lacks %s", path, s);                                          \
		goto fail;                                                                         \
	}                                                                                          \
	memcpy(&api->f, &p, sizeof(p));
	LT_FUNCS(X)
#undef X
	p = dlsym(api->so, "cublasLtGetVersion");
	memcpy(&api->version, &p, sizeof(p));
	rc = api->create(handle_out);
	if (rc != 0) {
		snprintf(why, n, "%s: cublasLtCreate gave %d (it may be newer than the driver)",
		    path, rc);
		goto fail;
	}
	if (dlinfo(api->so, RTLD_DI_LINKMAP, &map) == 0 && map != NULL)
		snprintf(api->path, sizeof(api->path), "%s", map->l_name);
	return 0;
fail:
	*handle_out = NULL;
	dlclose(api->so);
	memset(api, 0, sizeof(*api));
	return -1;
}

/* A Python installation often has the only copy on a rented machine. */
static const char *const lt_globs[] = {
	"/usr/local/cuda/lib64/libcublasLt.so.1[0-9]",
	"/usr/local/cuda-*/lib64/libcublasLt.so.1[0-9]",
	"/usr/lib/x86_64-linux-gnu/libcublasLt.so.1[0-9]",
	"/usr/lib/aarch64-linux-gnu/libcublasLt.so.1[0-9]",
	"/usr/lib/python3*/site-packages/nvidia/cu*/lib/libcublasLt.so.1[0-9]",
	"/usr/local/lib/python3*/*-packages/nvidia/cu*/lib/libcublasLt.so.1[0-9]",
	"/opt/*/lib/python3*/site-packages/nvidia/cu*/lib/libcublasLt.so.1[0-9]",
	"/opt/*/lib/python3*/site-packages/torch/lib/libcublasLt.so.1[0-9]",
	"/opt/conda/lib/libcublasLt.so.1[0-9]",
};

int
lt_api_open(struct lt_api *api, const char *named, void **handle_out, char *why, size_t n)
{
	static const char *const names[] = {
		"libcublasLt.so.13",
		"libcublasLt.so.12",
		"libcublasLt.so.11",
		"libcublasLt.so",
	};

	*handle_out = NULL;
	snprintf(why, n, "no cuBLASLt library was found");
	if (named != NULL)
		return lt_api_try(api, named, handle_out, why, n);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (lt_api_try(api, names[i], handle_out, why, n) == 0)
			return 0;
	for (size_t i = 0; i < sizeof(lt_globs) / sizeof(lt_globs[0]); i++) {
		glob_t found = { 0 };
		int rc = -1;

		if (glob(lt_globs[i], 0, NULL, &found) == 0)
			for (size_t j = found.gl_pathc; j > 0 && rc != 0; j--) /* newest last */
				rc = lt_api_try(api, found.gl_pathv[j - 1], handle_out, why, n);
		globfree(&found);
		if (rc == 0)
			return 0;
	}
	return -1;
}

static const struct lt_types {
	int compute, scale, operand;
} lt_types[LT_PRECISIONS] = {
	[LT_FP64] = { LT_COMPUTE_64F, LT_R_64F, LT_R_64F },
	[LT_FP32] = { LT_COMPUTE_32F, LT_R_32F, LT_R_32F },
	[LT_TF32] = { LT_COMPUTE_TF32, LT_R_32F, LT_R_32F },
	[LT_FP16] = { LT_COMPUTE_32F, LT_R_32F, LT_R_16F },
	[LT_BF16] = { LT_COMPUTE_32F, LT_R_32F, LT_R_16BF },
	[LT_FP8] = { LT_COMPUTE_32F, LT_R_32F, LT_R_E4M3 },
	[LT_INT8] = { LT_COMPUTE_32I, LT_R_32I, LT_R_8I },
	[LT_FP4] = { LT_COMPUTE_32F, LT_R_32F, LT_R_E2M1 },
};

static int
lt_plan_describe(const struct lt_api *api, struct lt_plan *p)
{
	const struct lt_gemm *g = &p->g;
	const int32_t t = LT_OP_T, nn = LT_OP_N, mode = LT_SCALE_VEC16_UE4M3;
	const int8_t fast = 1;
	int rc = 0;

	if (api->desc_create(
		&p->op, lt_types[g->precision].compute, lt_types[g->precision].scale) != 0)
		return -1;
	rc |= api->desc_set(p->op, LT_DESC_TRANSA, &t, sizeof(t));
	rc |= api->desc_set(p->op, LT_DESC_TRANSB, &nn, sizeof(nn));
	if (g->precision == LT_FP8)
		rc |= api->desc_set(p->op, LT_DESC_FAST_ACCUM, &fast, sizeof(fast));
	if (g->precision ==
	    LT_FP4) { /* libraries before 12.8 refuse these: not supported, no error */
		if (api->desc_set(p->op, LT_DESC_A_SCALE_MODE, &mode, sizeof(mode)) != 0 ||
		    api->desc_set(p->op, LT_DESC_B_SCALE_MODE, &mode, sizeof(mode)) != 0 ||
		    api->desc_set(p->op, LT_DESC_A_SCALE, &g->scale_a, sizeof(g->scale_a)) != 0 ||
		    api->desc_set(p->op, LT_DESC_B_SCALE, &g->scale_b, sizeof(g->scale_b)) != 0)
			return 1;
	}
	if (rc != 0)
		return -1;
	if (api->layout_create(&p->la, lt_types[g->precision].operand, g->k, g->m, (int64_t)g->k) !=
		0 ||
	    api->layout_create(&p->lb, lt_types[g->precision].operand, g->k, g->n, (int64_t)g->k) !=
		0 ||
	    api->layout_create(&p->ld, g->d_type, g->m, g->n, (int64_t)g->m) != 0)
		return 1;
	return 0;
}

int
lt_plan_make(const struct lt_api *api, void *handle, const struct lt_gemm *g, int rank,
    struct lt_plan *p_out)
{
	struct lt_choice choices[8];
	void *pref = NULL;
	int got = 0, rc, status;

	memset(p_out, 0, sizeof(*p_out));
	memset(choices, 0, sizeof(choices));
	p_out->g = *g;
	if (g->precision == LT_FP64)
		p_out->one.d = 1.0;
	else if (g->precision == LT_INT8)
		p_out->one.i = 1;
	else
		p_out->one.f = 1.0f;
	rc = rank < 0 || rank >= 8 ? 1 : lt_plan_describe(api, p_out);
	if (rc == 0 && api->pref_create(&pref) != 0)
		rc = -1;
	if (rc == 0) {
		rc = api->pref_set(
			 pref, LT_PREF_WORKSPACE, &g->workspace_bytes, sizeof(g->workspace_bytes))
			 ? -1
			 : 0;
		status = rc != 0 ? 0
				 : api->heuristic(handle, p_out->op, p_out->la, p_out->lb,
				       p_out->ld, p_out->ld, pref, 8, choices, &got);
		if (rc == 0 && (status == LT_STATUS_NOT_SUPPORTED || (status == 0 && got <= rank)))
			rc = 1;
		else if (rc == 0 && (status != 0 || choices[rank].state != 0))
			rc = -1;
		api->pref_destroy(pref);
	}
	if (rc != 0) {
		lt_plan_free(api, p_out);
		return rc;
	}
	p_out->choice = choices[rank];
	return 0;
}

int
lt_plan_run(const struct lt_api *api, void *handle, struct lt_plan *p)
{
	return api->matmul(handle, p->op, &p->one, (const void *)(uintptr_t)p->g.a, p->la,
	    (const void *)(uintptr_t)p->g.b, p->lb, &p->zero, (const void *)(uintptr_t)p->g.d,
	    p->ld, (void *)(uintptr_t)p->g.d, p->ld, &p->choice.algo,
	    (void *)(uintptr_t)p->g.workspace, p->g.workspace_bytes, NULL);
}

void
lt_plan_free(const struct lt_api *api, struct lt_plan *p)
{
	if (p->op != NULL)
		api->desc_destroy(p->op);
	if (p->la != NULL)
		api->layout_destroy(p->la);
	if (p->lb != NULL)
		api->layout_destroy(p->lb);
	if (p->ld != NULL)
		api->layout_destroy(p->ld);
	memset(p, 0, sizeof(*p));
}
