#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/arith.h"
#include "kernels/run.h"

#define T_BLOCK 256
#define T_E4M3 6 /* row of t_tensors */

struct t_work {
	struct gpu_launch l;
	int iters;
};

static int
t_work_op(struct gpu *g, void *arg)
{
	return gpu_launch(g, &((struct t_work *)arg)->l);
}

/* Iterations until one launch takes some 5 ms, so that neither launch cost nor a long queue counts.
 */
static int
t_work_size(struct gpu *g, struct t_work *t, double deadline)
{
	struct gpu_times times;
	int rc;

	for (int i = 0; i < 4; i++) {
		rc = gpu_measure(g, t_work_op, t, 1, 1, deadline, &times);
		if (rc != 0 || times.n == 0 || !(times.s[0] > 0.0) || times.s[0] > 2e-3)
			return rc;
		t->iters = times.s[0] < 5e-5
			       ? t->iters * 16
			       : (int)((double)t->iters * 5e-3 / times.s[0]) / 16 * 16;
		if (t->iters > 1 << 20)
			t->iters = 1 << 20;
	}
	return 0;
}

/* Sum of terms of all chains' ends: start values repeat, so 1024 chains stand for all. */
static uint64_t
t_fma_want(bool fp64, uint64_t chains, int iters)
{
	uint64_t bits[ARITH_STARTS], want = 0;

	for (uint64_t i = 0; i < ARITH_STARTS; i++)
		bits[i] =
		    fp64 ? arith_bits64(arith_chain64(arith_start64(i), 0.999, 0.001, iters))
			 : arith_bits32(arith_chain32(arith_start32(i), 0.999f, 0.001f, iters));
	for (uint64_t i = 0; i < chains; i++)
		want += arith_term(bits[i & (ARITH_STARTS - 1)], i);
	return want;
}

void
test_fma(struct gpu *g, const struct suite_row *row)
{
	const bool fp64 = row->arg == 64;
	const double deadline = report_now() + row->cap_s;
	float a32 = 0.999f, b32 = 0.001f;
	double a64 = 0.999, b64 = 0.001, threads = (double)gpu_grid(g) * T_BLOCK;
	struct t_work t = { .iters = 256 };
	void *args[] = { &g->acc, fp64 ? (void *)&a64 : (void *)&a32,
		fp64 ? (void *)&b64 : (void *)&b32, &t.iters };
	struct gpu_times times;
	const char *why;
	bool missing, right;
	uint64_t want;
	int rc;

	t.l = (struct gpu_launch){ .grid = gpu_grid(g), .block = T_BLOCK, .args = args };
	t.l.fn =
	    gpu_kernel(g, IMAGE_BASE, fp64 ? "berth_k_fma64" : "berth_k_fma32", &why, &missing);
	if (t.l.fn == NULL) {
		report_test_none(
		    &g->run->report, row->name, g->index, row->unit, REPORT_FAILED, "%s", why);
		return;
	}
	want = t_fma_want(fp64, (uint64_t)gpu_grid(g) * T_BLOCK * ARITH_CHAINS, t.iters);
	right = gpu_check_twice(g, row, "chains", t_work_op, &t, want);
	rc = t_work_size(g, &t, deadline);
	rc = rc != 0 ? rc : gpu_measure(g, t_work_op, &t, 3, 9, deadline, &times);
	if (rc != 0)
		gpu_failed(g, row, "cuLaunchKernel", rc);
	else
		gpu_report(g, row, &times, 2.0 * ARITH_CHAINS * t.iters * threads, 1e-12, right);
}

static const struct t_tensor {
	const char *kernel;
	enum image_group group;
	unsigned block;
	double flop; /* of a warp (warpgroup for wgmma) in one step */
	int accumulators;
	int elements; /* of a thread, all of which must be right */
} t_tensors[] = {
	{ "berth_k_mma_f16_turing", IMAGE_TENSOR75, 256, 2.0 * 16 * 8 * 8, 4, 16 },
	{ "berth_k_mma_f16", IMAGE_TENSOR80, 256, 2.0 * 16 * 8 * 16, 4, 16 },
	{ "berth_k_mma_bf16", IMAGE_TENSOR80, 256, 2.0 * 16 * 8 * 16, 4, 16 },
	{ "berth_k_mma_tf32", IMAGE_TENSOR80, 256, 2.0 * 16 * 8 * 8, 4, 16 },
	{ "berth_k_mma_s8", IMAGE_TENSOR80, 256, 2.0 * 16 * 8 * 32, 4, 16 },
	{ "berth_k_mma_f64", IMAGE_TENSOR80, 256, 2.0 * 8 * 8 * 4, 4, 8 },
	{ "berth_k_mma_e4m3", IMAGE_TENSOR89, 256, 2.0 * 16 * 8 * 32, 4, 16 },
	{ "berth_k_wgmma_bf16", IMAGE_WGMMA, 128, 2.0 * 64 * 256 * 16, 1, 128 },
	{ "berth_k_wgmma_e4m3", IMAGE_WGMMA, 128, 2.0 * 64 * 256 * 32, 1, 128 },
};

void
test_tensor(struct gpu *g, const struct suite_row *row)
{
	const struct t_tensor *k = &t_tensors[row->arg == 1 && g->cc == 75 ? 0 : row->arg];
	const double deadline = report_now() + row->cap_s;
	const double per_warp = k->group == IMAGE_WGMMA ? 128.0 : 32.0;
	uint32_t seed = 0x5a3cc3a5u;
	struct t_work t = { .iters = 64 };
	void *args[] = { &g->acc, &seed, &t.iters };
	struct gpu_times times;
	const char *why;
	bool missing, right;
	double steps;
	int rc;

	/* Hopper and the large Blackwells have FP8 by wgmma and tcgen05 alone: an mma is emulated
	 * there, which is no rate of a unit */
	if (row->arg == T_E4M3 && g->cc >= 90 && g->cc < 120) {
		report_test_none(&g->run->report, row->name, g->index, row->unit, REPORT_SKIPPED,
		    "this device has no such unit: mma of FP8 is emulated by FP16");
		return;
	}
	t.l = (struct gpu_launch){ .grid = gpu_grid(g), .block = k->block, .args = args };
	t.l.fn = gpu_kernel(g, k->group, k->kernel, &why, &missing);
	if (t.l.fn == NULL) {
		report_test_none(&g->run->report, row->name, g->index, row->unit,
		    missing ? REPORT_SKIPPED : REPORT_FAILED, "%s", why);
		return;
	}
	right = gpu_check_twice(g, row, "elements", t_work_op, &t,
	    (uint64_t)t.l.grid * k->block * (unsigned)k->elements);
	rc = t_work_size(g, &t, deadline);
	rc = rc != 0 ? rc : gpu_measure(g, t_work_op, &t, 3, 9, deadline, &times);
	if (rc != 0) {
		gpu_failed(g, row, k->kernel, rc);
		return;
	}
	/* an iteration adds and takes away; wgmma does both twice; one step is left over at the end
	 */
	steps = (k->group == IMAGE_WGMMA ? 4.0 : 2.0) * t.iters + 1.0;
	gpu_report(g, row, &times,
	    k->flop * k->accumulators * steps * (double)t.l.grid * k->block / per_warp, 1e-12,
	    right);
}
