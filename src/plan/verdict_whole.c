#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "plan/verdict_whole.h"
#include "util/arena.h"
#include "util/str.h"

/* What the suite says of each test that the verdict may look at. */
static const struct whole_row {
	const char *test, *unit;
	bool checked; /* what it computes is compared with the host's, under "checks" */
	bool always;  /* in every run that is not --quick, measured or skipped with the reason */
} whole_rows[] = {
	{ "dram_read", "GB/s", true, false },
	{ "dram_copy", "GB/s", true, false },
	{ "dram_triad", "GB/s", true, true },
	{ "dram_triad_hot", "GB/s", true, false },
	{ "l2_read", "GB/s", true, false },
	{ "dram_latency", "ns", true, false },
	{ "launch_latency", "us", false, false },
	{ "fma_fp32", "TFLOP/s", true, false },
	{ "fma_fp64", "TFLOP/s", true, false },
	{ "mma_f16", "TFLOP/s", true, false },
	{ "mma_bf16", "TFLOP/s", true, false },
	{ "mma_tf32", "TFLOP/s", true, false },
	{ "mma_s8", "TFLOP/s", true, false },
	{ "mma_f64", "TFLOP/s", true, false },
	{ "mma_e4m3", "TFLOP/s", true, false },
	{ "wgmma_bf16", "TFLOP/s", true, false },
	{ "wgmma_e4m3", "TFLOP/s", true, false },
	{ "pcie_h2d", "GB/s", true, true },
	{ "pcie_d2h", "GB/s", true, true },
	{ "pcie_both", "GB/s", true, false },
	{ "memory_patterns", "GB/s", true, true },
	{ "gemm_bf16", "TFLOP/s", true, true },
	{ "gemm_fp16", "TFLOP/s", true, false },
	{ "gemm_tf32", "TFLOP/s", true, false },
	{ "gemm_fp32", "TFLOP/s", true, false },
	{ "gemm_fp64", "TFLOP/s", true, false },
	{ "gemm_fp8", "TFLOP/s", true, false },
	{ "gemm_int8", "TFLOP/s", true, false },
	{ "gemm_fp4", "TFLOP/s", true, false },
	{ "decode_fp16", "GB/s", true, false },
	{ "decode_fp8", "GB/s", true, false },
	{ "decode_int8", "GB/s", true, false },
	/* where there is no library the steady part runs vector units, for heat alone */
	{ "steady", "TFLOP/s", false, true },
	{ "hot_cold", "1", false, false },
	{ "p2p", "GB/s", false, true },
	{ "p2p_all", "GB/s", false, false },
	{ "tcp_send", "GB/s", false, false },
	{ "tcp_recv", "GB/s", false, false },
	{ "rdma_send", "GB/s", false, false },
	{ "rdma_recv", "GB/s", false, false },
};

#define WHOLE_ROWS (sizeof(whole_rows) / sizeof(whole_rows[0]))

struct whole {
	const struct probe_result *r;
	struct arena *a;
	const struct probe_check **checks; /* by GPU and name */
	struct verdict_gap *gaps;
	size_t n_gaps;
};

static const struct whole_row *
whole_find(const char *test)
{
	for (size_t i = 0; i < WHOLE_ROWS; i++)
		if (str_eq(whole_rows[i].test, test))
			return &whole_rows[i];
	return NULL;
}

static bool
whole_measured(const struct probe_test *t)
{
	return t->status == PROBE_OK || t->status == PROBE_PARTIAL;
}

static int
whole_check_cmp(const void *a, const void *b)
{
	const struct probe_check *x = *(const struct probe_check *const *)a,
				 *y = *(const struct probe_check *const *)b;

	return x->gpu != y->gpu ? (x->gpu > y->gpu) - (x->gpu < y->gpu) : strcmp(x->name, y->name);
}

/* Is there a check "test.something" of the GPU that is ok, or one that failed and thereby speaks
 * for itself? */
static bool
whole_is_checked(const struct whole *w, const struct probe_test *t)
{
	const char *prefix = arena_printf(w->a, "%s.", t->name);
	const struct probe_check key = { .gpu = t->gpu, .name = prefix };
	const struct probe_check *wanted = &key;
	size_t lo = 0, hi = w->r->n_checks;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (whole_check_cmp(&w->checks[mid], &wanted) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < w->r->n_checks && w->checks[lo]->gpu == t->gpu &&
	       str_starts(w->checks[lo]->name, prefix);
	     lo++)
		if (w->checks[lo]->status == CHECK_OK || w->checks[lo]->status == CHECK_FAILED)
			return true;
	return false;
}

static void
whole_gap(struct whole *w, const char *code, int gpu, const char *text)
{
	w->gaps[w->n_gaps++] = (struct verdict_gap){ .code = code, .gpu = gpu, .text = text };
}

static const char *
whole_more(const struct whole *w, size_t n)
{
	return n > 1 ? arena_printf(w->a, " and %zu more", n - 1) : "";
}

static void
whole_units(struct whole *w)
{
	const struct probe_test *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < w->r->n_tests; i++) {
		const struct probe_test *t = &w->r->tests[i];
		const struct whole_row *row = whole_measured(t) ? whole_find(t->name) : NULL;

		if (row != NULL && !str_eq(row->unit, t->unit)) {
			first = first == NULL ? t : first;
			n++;
		}
	}
	if (first != NULL)
		whole_gap(w, "wrong_unit", first->gpu,
		    arena_printf(w->a,
			"%s%s is given in '%s' where the suite says %s: measure again with berth's "
			"own berth-probe",
			first->name, whole_more(w, n), first->unit, whole_find(first->name)->unit));
}

static void
whole_checks(struct whole *w, int gpu)
{
	const struct probe_test *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < w->r->n_tests; i++) {
		const struct probe_test *t = &w->r->tests[i];
		const struct whole_row *row =
		    t->gpu == gpu && whole_measured(t) ? whole_find(t->name) : NULL;

		if (row != NULL && row->checked && !whole_is_checked(w, t)) {
			first = first == NULL ? t : first;
			n++;
		}
	}
	if (first != NULL)
		whole_gap(w, "unchecked", gpu,
		    arena_printf(w->a,
			"gpu %d: nothing in the result says that what %s%s computed is right", gpu,
			first->name, whole_more(w, n)));
}

static void
whole_suite(struct whole *w, int gpu)
{
	bool seen[WHOLE_ROWS] = { false };
	const char *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < w->r->n_tests; i++) {
		const struct whole_row *row =
		    w->r->tests[i].gpu == gpu ? whole_find(w->r->tests[i].name) : NULL;

		if (row != NULL)
			seen[row - whole_rows] = true;
	}
	for (size_t i = 0; i < WHOLE_ROWS; i++) {
		if (seen[i] || !whole_rows[i].always ||
		    (w->r->n_gpus < 2 && str_eq(whole_rows[i].test, "p2p")))
			continue;
		first = first == NULL ? whole_rows[i].test : first;
		n++;
	}
	if (first != NULL)
		whole_gap(w, "missing_test", gpu,
		    arena_printf(w->a, "gpu %d: %s%s %s missing in a result of level %s", gpu,
			first, whole_more(w, n), n > 1 ? "are" : "is", w->r->level));
}

void
verdict_gaps(
    const struct probe_result *r, struct arena *a, struct verdict_gap **gaps_out, size_t *n_out)
{
	struct whole w = { .r = r, .a = a };
	const bool whole =
	    r->only[0] == '\0' && (str_eq(r->level, "standard") || str_eq(r->level, "deep"));

	w.gaps = arena_array_of(a, 3 + 2 * r->n_gpus, struct verdict_gap);
	w.checks = arena_array_of(a, r->n_checks + 1, const struct probe_check *);
	for (size_t i = 0; i < r->n_checks; i++)
		w.checks[i] = &r->checks[i];
	qsort(w.checks, r->n_checks, sizeof(*w.checks), whole_check_cmp);
	whole_units(&w);
	if (r->mode == PROBE_MODE_GPU && r->n_health == 0)
		whole_gap(&w, "no_health", -1, "the result says nothing of the machine's health");
	if (r->mode == PROBE_MODE_GPU && r->n_errors > 0)
		whole_gap(&w, "call_failed", -1,
		    arena_printf(a, "%s failed: %s%s", r->errors[0].where, r->errors[0].message,
			r->n_errors > 1 ? arena_printf(a, " (and %zu more)", r->n_errors - 1)
					: ""));
	for (size_t i = 0; r->mode == PROBE_MODE_GPU && i < r->n_gpus; i++) {
		whole_checks(&w, r->gpus[i].index);
		if (whole)
			whole_suite(&w, r->gpus[i].index);
	}
	*gaps_out = w.gaps;
	*n_out = w.n_gaps;
}
