#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/arith.h"
#include "kernels/run.h"

#define T_BLOCK 256
#define T_WORKSPACE (64ull << 20)
#define T_RANKS 8 /* of the library's choices tried, while time allows */

static const struct t_precision {
	enum arith_kind kind;
	int bits;             /* of an operand */
	int d_speed, d_exact; /* result types: as users have it; one that holds the sums exactly */
	int exact_type;       /* as berth_k_product takes it */
	int cc_min;
} t_precisions[LT_PRECISIONS] = {
	[LT_FP64] = { ARITH_FP64, 64, LT_R_64F, LT_R_64F, 0, 60 },
	[LT_FP32] = { ARITH_FP32, 32, LT_R_32F, LT_R_32F, 1, 60 },
	[LT_TF32] = { ARITH_FP32, 32, LT_R_32F, LT_R_32F, 1, 80 },
	[LT_FP16] = { ARITH_FP16, 16, LT_R_16F, LT_R_32F, 1, 60 },
	[LT_BF16] = { ARITH_BF16, 16, LT_R_16BF, LT_R_32F, 1, 80 },
	[LT_FP8] = { ARITH_E4M3, 8, LT_R_16BF, LT_R_32F, 1, 89 },
	[LT_INT8] = { ARITH_INT8, 8, LT_R_32I, LT_R_32I, 2, 75 },
	[LT_FP4] = { ARITH_E2M1, 4, LT_R_16BF, LT_R_32F, 1, 100 },
};

struct t_gemm {
	struct lt_plan plan;
	struct gpu_launch sum;
	uint64_t m, n, k, d_words;
};

static int
t_gemm_op(struct gpu *g, void *arg)
{
	return lt_plan_run(&g->lt_api, g->lt, &((struct t_gemm *)arg)->plan) != 0 ? CUDA_LIBRARY
										  : 0;
}

static int
t_gemm_sum_op(struct gpu *g, void *arg)
{
	struct t_gemm *t = arg;
	int rc = t_gemm_op(g, arg);

	return rc != 0 ? rc : gpu_launch(g, &t->sum);
}

/* The library and its work space, once a device. */
static bool
t_gemm_open(struct gpu *g, const struct suite_row *row)
{
	if (!g->lt_tried) {
		g->lt_tried = true;
		if (lt_api_open(&g->lt_api, g->run->opts.library, &g->lt, g->lt_why,
			sizeof(g->lt_why)) == 0) {
			report_check(&g->run->report, "cublaslt", g->index, REPORT_OK,
			    g->lt_api.version != NULL ? (double)g->lt_api.version() : (double)NAN,
			    "%s", g->lt_api.path);
			if (g->run->cuda.mem_alloc(&g->workspace, T_WORKSPACE) != 0)
				g->workspace = 0;
		}
	}
	if (g->lt == NULL)
		report_test_none(&g->run->report, row->name, g->index, row->unit, REPORT_SKIPPED,
		    "no library: %s", g->lt_why);
	return g->lt != NULL;
}

static int
t_gemm_operands(struct gpu *g, enum lt_precision p, uint64_t m, uint64_t n, uint64_t k, int random)
{
	int kind = (int)t_precisions[p].kind;
	uint64_t na = m * k, nb = n * k, sa = ARITH_SEED_A, sb = ARITH_SEED_B;
	void *a[] = { &g->b, &na, &kind, &random, &sa }, *b[] = { &g->c, &nb, &kind, &random, &sb };
	int rc;

	g->filled = false;
	rc = gpu_run(g, IMAGE_BASE, "berth_k_operand", gpu_grid(g), T_BLOCK, a);
	return rc != 0 ? rc : gpu_run(g, IMAGE_BASE, "berth_k_operand", gpu_grid(g), T_BLOCK, b);
}

static uint64_t
t_gemm_round(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* FP4 block scales of 1.0, one a 16 elements in tiles of 128 x 4; they lie behind the operands. */
static int
t_gemm_scales(struct gpu *g, struct lt_gemm *q)
{
	const uint64_t a = t_gemm_round(q->m, 128) * t_gemm_round(q->k / 16, 4);
	const uint64_t b = t_gemm_round(q->n, 128) * t_gemm_round(q->k / 16, 4);
	int rc;

	q->scale_a = g->b + t_gemm_round(q->m * q->k / 2, 4096);
	q->scale_b = g->c + t_gemm_round(q->n * q->k / 2, 4096);
	rc = g->run->cuda.mem_set(q->scale_a, 0x38, a);
	return rc != 0 ? rc : g->run->cuda.mem_set(q->scale_b, 0x38, b);
}

static int
t_gemm_plan(struct gpu *g, enum lt_precision p, bool exact, int rank, struct t_gemm *t)
{
	struct lt_gemm q = {
		.precision = p, .m = t->m, .n = t->n, .k = t->k, .a = g->b, .b = g->c, .d = g->a
	};

	q.d_type = exact ? t_precisions[p].d_exact : t_precisions[p].d_speed;
	q.workspace = g->workspace;
	q.workspace_bytes = g->workspace != 0 ? T_WORKSPACE : 0;
	if (p == LT_FP4 && t_gemm_scales(g, &q) != 0)
		return -1;
	return lt_plan_make(&g->lt_api, g->lt, &q, rank, &t->plan);
}

static int
t_gemm_d_bytes(int type)
{
	return type == LT_R_64F ? 8 : type == LT_R_32F || type == LT_R_32I ? 4 : 2;
}

/* Best of the first few heuristics by a short trial; its plan stays in t. 1: none is supported; -1:
 * all fail. */
static int
t_gemm_best(struct gpu *g, enum lt_precision p, struct t_gemm *t, double deadline)
{
	const double enough = report_now() + (deadline - report_now()) / 2;
	double best = INFINITY, least;
	struct t_gemm trial = *t, keep = { .m = 0 };
	struct gpu_times times;
	int rc, found = 1;

	for (int rank = 0; rank < T_RANKS && (found != 0 || report_now() < enough); rank++) {
		rc = t_gemm_plan(g, p, false, rank, &trial);
		if (rc != 0)
			return found == 0 ? 0 : rank == 0 ? rc : -1;
		rc = gpu_measure(g, t_gemm_op, &trial, 1, 2, deadline, &times);
		least = INFINITY;
		for (int i = 0; i < times.n && rc == 0; i++)
			least = times.s[i] < least ? times.s[i] : least;
		if (least > 0.0 && least < best) {
			best = least;
			if (keep.m > 0)
				lt_plan_free(&g->lt_api, &keep.plan);
			keep = trial;
			*t = trial;
			found = 0;
		} else {
			lt_plan_free(&g->lt_api, &trial.plan);
		}
	}
	return found == 0 ? 0 : -1;
}

/* Integer operands and a result type that holds every sum: the check value must be the host's,
 * twice. */
static bool
t_gemm_check(struct gpu *g, const struct suite_row *row, enum lt_precision p, uint64_t m,
    uint64_t n, uint64_t k)
{
	struct t_gemm t = { .m = m, .n = n, .k = k };
	int type = t_precisions[p].exact_type, rc;
	void *args[] = { &g->a, &type, &t.m, &t.n, &g->acc };
	const char *why;
	bool missing, right;
	char name[64];

	t.sum = (struct gpu_launch){ .grid = gpu_grid(g), .block = T_BLOCK, .args = args };
	t.sum.fn = gpu_kernel(g, IMAGE_BASE, "berth_k_product", &why, &missing);
	snprintf(name, sizeof(name), "%s.product", row->name);
	rc = t.sum.fn == NULL ? -1 : t_gemm_operands(g, p, m, n, k, 0);
	rc = rc != 0 ? rc : t_gemm_plan(g, p, true, 0, &t);
	if (rc != 0) {
		report_check(&g->run->report, name, g->index,
		    rc == 1 ? REPORT_UNKNOWN : REPORT_FAILED, (double)NAN,
		    rc == 1 ? "the library has no product with an exact result" : "could not run");
		return rc == 1;
	}
	right = gpu_check_twice(
	    g, row, "product", t_gemm_sum_op, &t, expect_product(&g->run->expect, m, n, k));
	lt_plan_free(&g->lt_api, &t.plan);
	return right;
}

static void
t_gemm_measure(struct gpu *g, const struct suite_row *row, enum lt_precision p, struct t_gemm *t,
    double work, double scale)
{
	const double deadline = report_now() + row->cap_s;
	const bool right = t_gemm_check(g, row, p, t->m, t->n, t->k);
	struct gpu_times times;
	int rc;

	rc = t_gemm_operands(g, p, t->m, t->n, t->k, 1);
	if (rc != 0) {
		gpu_failed(g, row, "berth_k_operand", rc);
		return;
	}
	rc = t_gemm_best(g, p, t, deadline);
	if (rc == 1) {
		report_test_none(&g->run->report, row->name, g->index, row->unit, REPORT_SKIPPED,
		    "the library does not support it on this device");
		return;
	}
	if (rc == 0) {
		rc = gpu_measure(g, t_gemm_op, t, 2, 9, deadline, &times);
		lt_plan_free(&g->lt_api, &t->plan);
	}
	if (rc != 0)
		gpu_failed(g, row, "cublasLtMatmul", rc < 0 ? CUDA_LIBRARY : rc);
	else
		gpu_report(g, row, &times, work, scale, right);
}

static bool
t_gemm_may(struct gpu *g, const struct suite_row *row, enum lt_precision p)
{
	if (g->cc >= t_precisions[p].cc_min)
		return t_gemm_open(g, row);
	report_test_none(&g->run->report, row->name, g->index, row->unit, REPORT_SKIPPED,
	    "this device has no %s units", lt_precision_name(p));
	return false;
}

/* Largest edge, a multiple of 16, whose operands and result fit the arrays. */
static uint64_t
t_gemm_edge(const struct gpu *g, enum lt_precision p, uint64_t want)
{
	const uint64_t bytes = g->words * 8;
	const uint64_t d = (uint64_t)t_gemm_d_bytes(t_precisions[p].d_exact),
		       o = (uint64_t)t_precisions[p].bits;
	uint64_t n = want / 16 * 16;

	while (n > 16 && (n * n * d > bytes || n * n * o / 8 + n * n / 8 + (1 << 16) > bytes))
		n -= 16;
	return n;
}

void
test_gemm(struct gpu *g, const struct suite_row *row)
{
	const enum lt_precision p = (enum lt_precision)row->arg;
	/* the vector units are slow: a smaller product keeps the time alike */
	const uint64_t want =
	    p == LT_FP64 || p == LT_FP32 ? g->run->opts.gemm_n / 2 : g->run->opts.gemm_n;
	struct t_gemm t = { .m = 0 };

	if (!t_gemm_may(g, row, p))
		return;
	t.m = t.n = t.k = t_gemm_edge(g, p, want);
	t_gemm_measure(g, row, p, &t, 2.0 * (double)t.m * (double)t.n * (double)t.k, 1e-12);
}

/* What generating a token feels: 16 rows against a square of weights; bound by reading these. */
void
test_decode(struct gpu *g, const struct suite_row *row)
{
	const enum lt_precision p = (enum lt_precision)row->arg;
	struct t_gemm t = { .n = 16 };

	if (!t_gemm_may(g, row, p))
		return;
	t.m = t.k = t_gemm_edge(g, p, g->run->opts.gemm_n);
	t_gemm_measure(g, row, p, &t, (double)t.m * (double)t.k * t_precisions[p].bits / 8.0, 1e-9);
}

struct t_steady {
	struct t_gemm gemm;
	struct gpu_launch fma; /* where there is no library */
	bool has_gemm;
	double flop;
	uint64_t want;
	int wrong, rounds, batch;
};

static int
t_steady_op(struct gpu *g, void *arg)
{
	struct t_steady *t = arg;
	int rc = 0;

	for (int i = 0; i < t->batch && rc == 0; i++)
		rc = t->has_gemm ? t_gemm_op(g, &t->gemm) : gpu_launch(g, &t->fma);
	return rc;
}

/* One timed batch, then the check value of its last product. */
static int
t_steady_round(struct gpu *g, struct t_steady *t, double *rate_out)
{
	struct gpu_times times;
	uint64_t got = 0;
	int rc = gpu_measure(g, t_steady_op, t, 0, 1, INFINITY, &times);

	if (rc == 0 && t->has_gemm) {
		rc = g->run->cuda.mem_set(g->acc, 0, 64);
		rc = rc != 0 ? rc : gpu_launch(g, &t->gemm.sum);
		rc = rc != 0 ? rc : g->run->cuda.copy_to_host(&got, g->acc, 8);
		t->wrong += rc == 0 && got != t->want;
	}
	if (rc == 0) {
		*rate_out =
		    times.s[0] > 0.0 ? t->flop * t->batch / times.s[0] * 1e-12 : (double)NAN;
		t->rounds++;
	}
	return rc;
}

/* Some 100 ms of work a round. */
static int
t_steady_size(struct gpu *g, struct t_steady *t)
{
	double rate = (double)NAN, seconds, wall = report_now();
	int rc;

	t->batch = 1;
	rc = t_steady_round(g, t, &rate);
	wall = report_now() - wall;
	if (rc == 0 && isfinite(rate)) {
		seconds = t->flop / (rate * 1e12);
		seconds = wall > seconds ? wall
					 : seconds; /* a device whose clock lies must not hold us */
		t->batch = seconds > 0.1 ? 1 : seconds < 1e-5 ? 10000 : (int)(0.1 / seconds) + 1;
	}
	return rc;
}

static void
t_steady_report(struct gpu *g, const struct suite_row *row, const struct t_steady *t,
    const struct gpu_times *last, double first)
{
	struct report_test ratio = { .gpu = g->index,
		.peer = -1,
		.status = REPORT_OK,
		.n = 1,
		.name = "hot_cold",
		.unit = "1" };
	struct gpu_times seconds = *last;

	for (int i = 0; i < seconds.n; i++) /* rates were kept; gpu_report wants times */
		seconds.s[i] = t->flop / (seconds.s[i] * 1e12);
	gpu_report(g, row, &seconds, t->flop, 1e-12, t->wrong == 0);
	ratio.value = ratio.median = ratio.min = ratio.max =
	    last->n > 0 ? last->s[last->n - 1] / first : (double)NAN;
	ratio.iqr = (double)NAN;
	if (!isfinite(ratio.value))
		ratio.status = REPORT_FAILED;
	report_test(&g->run->report, &ratio);
	if (t->has_gemm)
		report_check(&g->run->report, "steady.product", g->index,
		    t->wrong > 0 ? REPORT_FAILED : REPORT_OK, (double)t->wrong,
		    "%d of %d check values wrong", t->wrong, t->rounds);
}

static int
t_steady_prepare(struct gpu *g, struct t_steady *t, void **fma_args, void **sum_args)
{
	const enum lt_precision p = g->cc >= 80 ? LT_BF16 : LT_FP16;
	const struct suite_row quiet = { .name = "steady", .unit = "TFLOP/s" };
	const char *why;
	bool missing;
	int rc;

	t->gemm.m = t->gemm.n = t->gemm.k = t_gemm_edge(g, p, g->run->opts.gemm_n);
	t->has_gemm = g->lt != NULL || (!g->lt_tried && t_gemm_open(g, &quiet));
	t->fma = (struct gpu_launch){ .grid = gpu_grid(g), .block = T_BLOCK, .args = fma_args };
	t->fma.fn = gpu_kernel(g, IMAGE_BASE, "berth_k_fma32", &why, &missing);
	t->gemm.sum =
	    (struct gpu_launch){ .grid = gpu_grid(g), .block = T_BLOCK, .args = sum_args };
	t->gemm.sum.fn = gpu_kernel(g, IMAGE_BASE, "berth_k_product", &why, &missing);
	if (t->fma.fn == NULL || t->gemm.sum.fn == NULL)
		return 209;
	if (t->has_gemm) {
		rc = t_gemm_operands(g, p, t->gemm.m, t->gemm.n, t->gemm.k, 0);
		if (rc != 0)
			return rc;
		t->has_gemm = t_gemm_plan(g, p, true, 0, &t->gemm) == 0;
	}
	t->flop = t->has_gemm ? 2.0 * (double)t->gemm.m * (double)t->gemm.n * (double)t->gemm.k
			      : 2.0 * ARITH_CHAINS * 4096.0 * gpu_grid(g) * T_BLOCK;
	t->want =
	    t->has_gemm ? expect_product(&g->run->expect, t->gemm.m, t->gemm.n, t->gemm.k) : 0;
	return t_steady_size(g, t);
}

void
test_steady(struct gpu *g, const struct suite_row *row)
{
	struct t_steady t = { .batch = 1 };
	float a = 0.999f, b = 0.001f;
	int iters = 4096, type = 1, rc;
	void *fma_args[] = { &g->acc, &a, &b, &iters };
	void *sum_args[] = { &g->a, &type, &t.gemm.m, &t.gemm.n, &g->acc };
	double start, rate = (double)NAN, first = (double)NAN;
	struct gpu_times last = { .n = 0 };

	rc = t_steady_prepare(g, &t, fma_args, sum_args);
	start = report_now();
	while (rc == 0 && (t.rounds < 4 || report_now() - start < g->run->opts.steady_s)) {
		rc = t_steady_round(g, &t, &rate);
		if (!isfinite(first) && t.rounds > 2)
			first = rate;
		if (rc == 0 && report_now() - start >= g->run->opts.steady_s - 1.0 && last.n < 128)
			last.s[last.n++] = rate;
	}
	if (t.has_gemm)
		lt_plan_free(&g->lt_api, &t.gemm.plan);
	if (rc != 0) {
		gpu_failed(g, row, "steady loop", rc);
		return;
	}
	t_steady_report(g, row, &t, &last, first);
}
