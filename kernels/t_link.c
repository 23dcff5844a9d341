#include "config.h"

#include <ctype.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arith.h"
#include "kernels/run.h"

#define T_BLOCK 256
#define T_COPY_WORDS (1ull << 24) /* 128 MiB */

enum { PCIE_H2D, PCIE_D2H, PCIE_BOTH };

struct t_copy {
	uint64_t words;
	uint64_t *in, *out; /* pinned */
	void *s[2];
	int way;
};

static int
t_copy_op(struct gpu *g, void *arg)
{
	const struct cuda_api *cu = &g->run->cuda;
	struct t_copy *t = arg;
	const size_t bytes = (size_t)t->words * 8;
	int rc;

	switch (t->way) {
	case PCIE_H2D:
		return cu->copy_to_device_async(g->a, t->in, bytes, NULL);
	case PCIE_D2H:
		return cu->copy_to_host_async(t->out, g->b, bytes, NULL);
	default:
		/* two streams that start behind the first event and end before the second */
		rc = cu->stream_wait(t->s[0], g->ev[0], 0);
		rc = rc != 0 ? rc : cu->stream_wait(t->s[1], g->ev[0], 0);
		rc = rc != 0 ? rc : cu->copy_to_device_async(g->a, t->in, bytes, t->s[0]);
		rc = rc != 0 ? rc : cu->copy_to_host_async(t->out, g->b, bytes, t->s[1]);
		rc = rc != 0 ? rc : cu->stream_sync(t->s[0]);
		return rc != 0 ? rc : cu->stream_sync(t->s[1]);
	}
}

/* What arrived: on the device by its sum, on the host by the same sum there. */
static int
t_copy_sum(struct gpu *g, void *arg)
{
	const struct cuda_api *cu = &g->run->cuda;
	struct t_copy *t = arg;
	uint64_t sum = 0;
	void *args[] = { &g->a, &t->words, &g->acc };
	int rc;

	rc = t_copy_op(g, t);
	rc = rc != 0 ? rc : cu->ctx_sync();
	if (rc == 0 && t->way != PCIE_D2H)
		rc = gpu_run(g, IMAGE_BASE, "berth_k_sum", gpu_grid(g), T_BLOCK, args);
	if (rc != 0 || t->way == PCIE_H2D)
		return rc;
	for (uint64_t i = 0; i < t->words; i++)
		sum += arith_term(t->out[i], i);
	if (t->way == PCIE_BOTH) { /* both must be right: the device's sum is in acc already */
		uint64_t device = 0;

		rc = cu->copy_to_host(&device, g->acc, 8);
		sum = device == sum ? sum : ~sum;
	}
	return rc != 0 ? rc : cu->copy_to_device(g->acc, &sum, 8);
}

/*
 * "0-15,64-79": the CPUs of the device's NUMA node; false if the kernel does not say, or says what
 * this thread may not use.
 */
static bool
t_near_cpus(struct gpu *g, const cpu_set_t *may, cpu_set_t *out)
{
	char path[400], text[512], bus[24], *p = text;
	bool any = false;
	FILE *f;

	snprintf(bus, sizeof(bus), "%s", g->run->report.gpus[g->index].bus);
	for (char *c = bus; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	snprintf(path, sizeof(path), "%.200s/sys/bus/pci/devices/%s/local_cpulist",
	    g->run->opts.sysroot != NULL ? g->run->opts.sysroot : "", bus);
	f = fopen(path, "re");
	CPU_ZERO(out);
	if (f == NULL)
		return false;
	if (fgets(text, sizeof(text), f) == NULL)
		text[0] = '\0';
	fclose(f);
	while (isdigit((unsigned char)*p)) {
		const long from = strtol(p, &p, 10), to = *p == '-' ? strtol(p + 1, &p, 10) : from;

		for (long i = from; i <= to && i < CPU_SETSIZE; i++)
			if (CPU_ISSET((size_t)i, may)) {
				CPU_SET((size_t)i, out);
				any = true;
			}
		p += *p == ',';
	}
	return any;
}

/* The thread goes where the device is, and pinned memory is made where the thread is; was receives
 * where it may go now. */
static bool
t_near(struct gpu *g, cpu_set_t *was)
{
	cpu_set_t near;
	bool moved;

	if (sched_getaffinity(0, sizeof(*was), was) != 0)
		return false;
	moved = t_near_cpus(g, was, &near) && sched_setaffinity(0, sizeof(near), &near) == 0;
	if (moved)
		report_health(&g->run->report, "host_buffers", g->index, REPORT_OK,
		    CPU_COUNT(&near), "on the device's NUMA node, from %d of %d CPUs",
		    CPU_COUNT(&near), CPU_COUNT(was));
	else
		report_health(&g->run->report, "host_buffers", g->index, REPORT_UNKNOWN,
		    (double)NAN, "which CPUs are near the device is not known");
	return moved;
}

static int
t_copy_open(struct gpu *g, struct t_copy *t)
{
	const struct cuda_api *cu = &g->run->cuda;
	int rc = gpu_fill(g);

	t->words = g->words < T_COPY_WORDS ? g->words : T_COPY_WORDS;
	rc = rc != 0 ? rc : cu->host_alloc((void **)&t->in, (size_t)t->words * 8, 0);
	rc = rc != 0 ? rc : cu->host_alloc((void **)&t->out, (size_t)t->words * 8, 0);
	rc = rc != 0 ? rc : cu->stream_create(&t->s[0], 1);
	rc = rc != 0 ? rc : cu->stream_create(&t->s[1], 1);
	for (uint64_t i = 0; rc == 0 && i < t->words; i++)
		t->in[i] = arith_bits64(arith_unit(1, i));
	return rc;
}

void
test_pcie(struct gpu *g, const struct suite_row *row)
{
	const struct cuda_api *cu = &g->run->cuda;
	struct t_copy t = { .way = row->arg };
	const double deadline = report_now() + row->cap_s;
	struct gpu_times times;
	bool right = false, moved;
	cpu_set_t was;
	int rc;

	moved = t_near(g, &was);
	rc = t_copy_open(g, &t);
	if (rc == 0) {
		memset(t.out, 0, (size_t)t.words * 8);
		right = gpu_check_twice(
		    g, row, "sum", t_copy_sum, &t, expect_copy(&g->run->expect, t.words));
		rc = gpu_measure(g, t_copy_op, &t, 1, 7, deadline, &times);
	}
	if (rc == 0 && row->arg == PCIE_H2D && t_copy_op(g, &t) == 0 && t_copy_op(g, &t) == 0) {
		health_link(g); /* the link idles at a lower generation: look while it works */
		rc = cu->ctx_sync();
	}
	if (rc != 0)
		gpu_failed(g, row, "copy", rc);
	else
		gpu_report(g, row, &times, (double)t.words * (t.way == PCIE_BOTH ? 16.0 : 8.0),
		    1e-9, right);
	if (t.in != NULL)
		(void)cu->host_free(t.in);
	if (t.out != NULL)
		(void)cu->host_free(t.out);
	if (moved)
		(void)sched_setaffinity(0, sizeof(was), &was);
}

static int
t_launch_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Round trips of an empty kernel on the host's clock: what a slow virtual CPU or a time slice shows
 * in. */
void
test_launch(struct gpu *g, const struct suite_row *row)
{
	enum { N = 1000 };
	const double deadline = report_now() + row->cap_s;
	cuda_ptr none = 0;
	void *args[] = { &none };
	struct gpu_launch l = { .grid = 1, .block = 32, .args = args };
	struct gpu_times times = { .n = 0 };
	double *all = calloc(N, sizeof(*all)), p95;
	const char *why = "out of memory";
	bool missing;
	int rc = 0, n = 0;

	l.fn = all != NULL ? gpu_kernel(g, IMAGE_BASE, "berth_k_empty", &why, &missing) : NULL;
	if (l.fn == NULL) {
		report_test_none(
		    &g->run->report, row->name, g->index, row->unit, REPORT_FAILED, "%s", why);
		free(all);
		return;
	}
	for (int i = 0; i < N + 20 && rc == 0 && (n < 10 || report_now() < deadline); i++) {
		const double t0 = report_now();

		rc = gpu_launch(g, &l);
		rc = rc != 0 ? rc : g->run->cuda.ctx_sync();
		if (rc == 0 && i >= 20)
			all[n++] = report_now() - t0;
	}
	if (rc != 0) {
		gpu_failed(g, row, "berth_k_empty", rc);
		free(all);
		return;
	}
	qsort(all, (size_t)n, sizeof(*all), t_launch_cmp);
	for (int i = 0; i < 101; i++) /* percentiles stand for the thousand */
		times.s[times.n++] = all[(n - 1) * i / 100];
	times.partial = n < N;
	gpu_report(g, row, &times, 0.0, 1e6, true);
	p95 = all[(n - 1) * 95 / 100] / all[(n - 1) / 2];
	report_check(&g->run->report, "jitter", g->index, p95 > 1.3 ? REPORT_NOTE : REPORT_OK, p95,
	    "95th percentile of a launch over its median%s",
	    p95 > 1.3 ? ": a neighbour may share this machine" : "");
	free(all);
}
