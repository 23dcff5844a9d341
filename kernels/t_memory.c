#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/arith.h"
#include "kernels/run.h"

#define T_BLOCK 256
#define T_REPS 9

struct t_mem {
	struct gpu_launch l, sum; /* sum: leaves the check value in acc; fn NULL: l itself does */
	uint64_t
	    once; /* blocks with which each thread goes round once; 0: the grid stays as it is */
};

static int
t_mem_op(struct gpu *g, void *arg)
{
	struct t_mem *t = arg;

	return gpu_launch(g, &t->l);
}

static int
t_mem_check(struct gpu *g, void *arg)
{
	struct t_mem *t = arg;
	int rc = gpu_launch(g, &t->l);

	return rc != 0 || t->sum.fn == NULL ? rc : gpu_launch(g, &t->sum);
}

/* Kernel of the base group, or NULL after having reported the test as failed: every device must
 * have these. */
static void *
t_base_kernel(struct gpu *g, const struct suite_row *row, const char *name)
{
	const char *why;
	bool missing;
	void *fn = gpu_kernel(g, IMAGE_BASE, name, &why, &missing);

	if (fn == NULL)
		report_test_none(&g->run->report, row->name, g->index, row->unit, REPORT_FAILED,
		    "%s: %s", name, why);
	return fn;
}

/*
 * How many blocks keep the memory busiest differs from one device to the next: as many as fit at
 * once, some times as many, or so many that no thread goes round twice. The best of short trials
 * stays.
 */
static int
t_mem_grid(struct gpu *g, struct t_mem *t, double deadline)
{
	const uint64_t grids[] = { t->l.grid, 4 * (uint64_t)t->l.grid, t->once };
	double best = INFINITY;
	unsigned keep = t->l.grid;
	struct gpu_times times;
	int rc = 0;

	for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]) && rc == 0; i++) {
		if (grids[i] == 0 || grids[i] > 0x7fffffff || report_now() >= deadline)
			continue;
		t->l.grid = (unsigned)grids[i];
		rc = gpu_measure(g, t_mem_op, t, 1, 3, deadline, &times);
		for (int k = 0; k < times.n && rc == 0; k++)
			if (times.s[k] < best) {
				best = times.s[k];
				keep = t->l.grid;
			}
	}
	t->l.grid = keep;
	return rc;
}

/* Blocks with which a thread has all its units of 16 bytes under way at once. */
static uint64_t
t_once(uint64_t units, unsigned at_once)
{
	return (units + (uint64_t)T_BLOCK * at_once - 1) / ((uint64_t)T_BLOCK * at_once);
}

static void
t_mem_run(struct gpu *g, const struct suite_row *row, struct t_mem *t, double bytes,
    const char *what, uint64_t want)
{
	const double deadline = report_now() + row->cap_s;
	struct gpu_times times;
	bool right;
	int rc;

	rc = t->once > 0 ? t_mem_grid(g, t, report_now() + row->cap_s / 4) : 0;
	right = gpu_check_twice(g, row, what, t_mem_check, t, want);
	rc = rc != 0 ? rc : gpu_measure(g, t_mem_op, t, 3, T_REPS, deadline, &times);
	if (rc != 0)
		gpu_failed(g, row, "cuLaunchKernel", rc);
	else
		gpu_report(g, row, &times, bytes, 1e-9, right);
}

static bool
t_mem_ready(struct gpu *g, const struct suite_row *row)
{
	int rc = gpu_fill(g);

	if (rc != 0)
		gpu_failed(g, row, "berth_k_fill", rc);
	return rc == 0;
}

void
test_dram_read(struct gpu *g, const struct suite_row *row)
{
	uint64_t units = g->words / 2, x, copy, triad;
	int passes = 1;
	void *args[] = { &g->b, &units, &passes, &g->acc };
	struct t_mem t = { .l = { .grid = gpu_grid(g), .block = T_BLOCK, .args = args } };

	t.once = t_once(units, 4);
	t.l.fn = t_base_kernel(g, row, "berth_k_read");
	if (t.l.fn == NULL || !t_mem_ready(g, row))
		return;
	expect_arrays(&g->run->expect, g->words, &x, &copy, &triad);
	t_mem_run(g, row, &t, 8.0 * (double)g->words, "xor", x);
}

void
test_dram_copy(struct gpu *g, const struct suite_row *row)
{
	uint64_t units = g->words / 2, x, copy, triad;
	void *args[] = { &g->a, &g->b, &units }, *sum[] = { &g->a, &g->words, &g->acc };
	struct t_mem t = { .l = { .grid = gpu_grid(g), .block = T_BLOCK, .args = args },
		.sum = { .grid = gpu_grid(g), .block = T_BLOCK, .args = sum } };

	t.once = t_once(units, 4);
	t.l.fn = t_base_kernel(g, row, "berth_k_copy");
	t.sum.fn = t.l.fn != NULL ? t_base_kernel(g, row, "berth_k_sum") : NULL;
	if (t.sum.fn == NULL || !t_mem_ready(g, row))
		return;
	expect_arrays(&g->run->expect, g->words, &x, &copy, &triad);
	t_mem_run(g, row, &t, 16.0 * (double)g->words, "sum", copy);
}

void
test_dram_triad(struct gpu *g, const struct suite_row *row)
{
	uint64_t units = g->words / 2, x, copy, triad;
	double s = RUN_TRIAD_S;
	void *args[] = { &g->a, &g->b, &g->c, &s, &units }, *sum[] = { &g->a, &g->words, &g->acc };
	struct t_mem t = { .l = { .grid = gpu_grid(g), .block = T_BLOCK, .args = args },
		.sum = { .grid = gpu_grid(g), .block = T_BLOCK, .args = sum } };

	t.once = t_once(units, 2);
	t.l.fn = t_base_kernel(g, row, "berth_k_triad");
	t.sum.fn = t.l.fn != NULL ? t_base_kernel(g, row, "berth_k_sum") : NULL;
	if (t.sum.fn == NULL || !t_mem_ready(g, row))
		return;
	expect_arrays(&g->run->expect, g->words, &x, &copy, &triad);
	t_mem_run(g, row, &t, 24.0 * (double)g->words, "sum", triad);
}

/* The plain loop: a peer for dram_triad. */
void
test_dram_stream(struct gpu *g, const struct suite_row *row)
{
	uint64_t x, copy, triad;
	double s = RUN_TRIAD_S;
	void *args[] = { &g->a, &g->b, &g->c, &s, &g->words },
	     *sum[] = { &g->a, &g->words, &g->acc };
	struct t_mem t = { .l = { .grid = (unsigned)((g->words + T_BLOCK - 1) / T_BLOCK),
			       .block = T_BLOCK,
			       .args = args },
		.sum = { .grid = gpu_grid(g), .block = T_BLOCK, .args = sum } };

	t.l.fn = t_base_kernel(g, row, "berth_k_stream");
	t.sum.fn = t.l.fn != NULL ? t_base_kernel(g, row, "berth_k_sum") : NULL;
	if (t.sum.fn == NULL || !t_mem_ready(g, row))
		return;
	expect_arrays(&g->run->expect, g->words, &x, &copy, &triad);
	t_mem_run(g, row, &t, 24.0 * (double)g->words, "sum", triad);
}

static int
t_memcpy_op(struct gpu *g, void *arg)
{
	(void)arg;
	return g->run->cuda.copy_device_async(g->a, g->b, (size_t)g->words * 8, NULL);
}

/* The driver's own copy on the device: the other peer. */
void
test_dram_memcpy(struct gpu *g, const struct suite_row *row)
{
	struct gpu_times times;
	int rc;

	if (!t_mem_ready(g, row))
		return;
	rc = gpu_measure(g, t_memcpy_op, NULL, 3, T_REPS, report_now() + row->cap_s, &times);
	if (rc != 0)
		gpu_failed(g, row, "cuMemcpyDtoDAsync", rc);
	else
		gpu_report(g, row, &times, 16.0 * (double)g->words, 1e-9, true);
}

/* Half of the L2, 21 times over: an odd number of passes leaves the xor of one. */
void
test_l2_read(struct gpu *g, const struct suite_row *row)
{
	uint64_t words = g->l2 > 0 ? g->l2 / 16 : 1u << 18, units, x, copy, triad;
	int passes = 21;
	struct expect once;
	void *args[] = { &g->b, &units, &passes, &g->acc };
	struct t_mem t = { .l = { .grid = gpu_grid(g), .block = T_BLOCK, .args = args } };

	if (words > g->words)
		words = g->words;
	words &= ~1ull;
	units = words / 2;
	t.l.fn = t_base_kernel(g, row, "berth_k_read");
	if (t.l.fn == NULL || !t_mem_ready(g, row))
		return;
	expect_init(&once); /* another size than the cached one */
	expect_arrays(&once, words, &x, &copy, &triad);
	t_mem_run(g, row, &t, 8.0 * (double)words * passes, "xor", x);
}

void
test_dram_latency(struct gpu *g, const struct suite_row *row)
{
	uint64_t slots = 1;
	unsigned start = 0, mask;
	int steps = 1 << 16;
	uint32_t at = 0;
	void *fill[] = { &g->a, &slots }, *args[] = { &g->a, &start, &steps, &g->acc };
	struct t_mem t = { .l = { .grid = 1, .block = 1, .args = args } };
	struct gpu_times times;
	bool right;
	int rc;

	while (slots * 2 * ARITH_SLOT * 4 <= g->words * 8 && slots < 1u << 28)
		slots *= 2;
	mask = (unsigned)(slots - 1);
	for (int i = 0; i < steps; i++)
		at = arith_next(at, mask);
	t.l.fn = t_base_kernel(g, row, "berth_k_chase");
	if (t.l.fn == NULL)
		return;
	rc = gpu_run(g, IMAGE_BASE, "berth_k_chase_fill", gpu_grid(g), T_BLOCK, fill);
	if (rc != 0) {
		gpu_failed(g, row, "berth_k_chase_fill", rc);
		return;
	}
	right = gpu_check_twice(g, row, "walk", t_mem_check, &t, at);
	rc = gpu_measure(g, t_mem_op, &t, 1, 5, report_now() + row->cap_s, &times);
	if (rc != 0)
		gpu_failed(g, row, "berth_k_chase", rc);
	else
		gpu_report(g, row, &times, 0.0, 1e9 / steps, right);
}

struct t_pattern {
	struct gpu_times times;
	uint64_t bad, first, bits, words;
	int kind_bad;
};

/* One pattern or its inverse over one chunk: written, then every word compared. */
static int
t_pattern_pass(struct gpu *g, cuda_ptr p, uint64_t n, uint64_t base, int kind, uint64_t invert,
    struct t_pattern *out)
{
	const struct cuda_api *cu = &g->run->cuda;
	uint64_t seed = 0x5eed + base, res[3] = { 0, 0, 0 };
	void *w[] = { &p, &n, &kind, &seed, &invert },
	     *c[] = { &p, &n, &kind, &seed, &invert, &g->acc };
	int rc;

	rc = gpu_run(g, IMAGE_BASE, "berth_k_pattern_write", gpu_grid(g), T_BLOCK, w);
	rc = rc != 0 ? rc : cu->mem_set(g->acc, 0, 64);
	rc = rc != 0 ? rc : cu->mem_set(g->acc + 8, 0xff, 8);
	rc =
	    rc != 0 ? rc : gpu_run(g, IMAGE_BASE, "berth_k_pattern_check", gpu_grid(g), T_BLOCK, c);
	rc = rc != 0 ? rc : cu->copy_to_host(res, g->acc, sizeof(res));
	if (rc == 0) {
		out->words += n;
		if (res[0] > 0 && out->bad == 0) {
			out->first = base + res[1] - 1;
			out->kind_bad = kind;
		}
		out->bad += res[0];
		out->bits |= res[2];
	}
	return rc;
}

#define T_CHUNK (1ull << 30)

/* Takes nine tenths of what is free in chunks of 1 GiB, so that one missing chunk costs little
 * coverage. */
static int
t_pattern_chunks(struct gpu *g, cuda_ptr *chunks, uint64_t *size_out, int max)
{
	const struct cuda_api *cu = &g->run->cuda;
	uint64_t want = g->run->opts.pattern_bytes, got = 0, chunk = T_CHUNK;
	size_t avail = 0, total = 0;
	int n = 0;

	if (cu->mem_info(&avail, &total) != 0)
		return 0;
	if (want == 0)
		want = avail / 10 * 9;
	if (want + (64u << 20) > avail)
		want = avail > 64u << 20 ? avail - (64u << 20) : 0;
	if (chunk > want)
		chunk = want & ~4095ull;
	while (
	    n < max && chunk > 0 && got + chunk <= want && cu->mem_alloc(&chunks[n], chunk) == 0) {
		got += chunk;
		n++;
	}
	*size_out = chunk;
	return n;
}

void
test_patterns(struct gpu *g, const struct suite_row *row)
{
	const struct cuda_api *cu = &g->run->cuda;
	const bool deep = g->run->opts.level == LEVEL_DEEP;
	const double start = report_now(), deadline = start + row->cap_s;
	static const int kinds[ARITH_PATTERNS] = { 5, 4, 2, 3, 0, 1 };
	struct t_pattern t = { .bad = 0 };
	struct report_test out = { .gpu = g->index, .peer = -1, .status = REPORT_OK };
	cuda_ptr chunks[512];
	uint64_t size = 0;
	int n = t_pattern_chunks(g, chunks, &size, 512), rc = 0;
	bool partial = false;

	for (int k = 0; k < (deep ? ARITH_PATTERNS : 2) && rc == 0 && n > 0; k++)
		for (int i = 0; i < n && rc == 0; i++) {
			const uint64_t base = (uint64_t)i * (size / 8);

			partial |= report_now() > deadline && t.words > 0;
			if (partial)
				break;
			rc = t_pattern_pass(g, chunks[i], size / 8, base, kinds[k], 0, &t);
			rc = rc != 0 ? rc
				     : t_pattern_pass(
					   g, chunks[i], size / 8, base, kinds[k], ~0ull, &t);
		}
	for (int i = 0; i < n; i++)
		(void)cu->mem_free(chunks[i]);
	if (rc != 0 || n == 0) {
		gpu_failed(g, row, n == 0 ? "cuMemAlloc" : "pattern kernels",
		    n == 0 ? CUDA_OUT_OF_MEMORY : rc);
		return;
	}
	snprintf(out.name, sizeof(out.name), "memory_patterns");
	snprintf(out.unit, sizeof(out.unit), "GB/s");
	out.n = 1;
	out.median = out.min = out.max = out.value =
	    16e-9 * (double)t.words / (report_now() - start);
	out.iqr = (double)NAN;
	out.status = t.bad > 0 ? REPORT_FAILED : partial ? REPORT_PARTIAL : REPORT_OK;
	if (t.bad > 0)
		snprintf(out.error, sizeof(out.error), "wrong result, see the checks");
	report_test(&g->run->report, &out);
	if (t.bad > 0)
		report_check(&g->run->report, "memory_patterns.words", g->index, REPORT_FAILED,
		    (double)t.bad,
		    "%llu of %llu words bad, first at word %llu under pattern %d, flipped bits "
		    "0x%llx",
		    (unsigned long long)t.bad, (unsigned long long)t.words,
		    (unsigned long long)t.first, t.kind_bad, (unsigned long long)t.bits);
	else
		report_check(&g->run->report, "memory_patterns.words", g->index, REPORT_OK, 0.0,
		    "%llu words checked", (unsigned long long)t.words);
}
