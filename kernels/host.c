#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/arith.h"
#include "kernels/run.h"

/* The host reference: the kernels' own functions, timed on the CPU. Says how fast this host is,
 * never a GPU. */

#define HOST_THREADS 64
#define HOST_REPS 5
#define HOST_ITERS 20000

int
host_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > HOST_THREADS ? HOST_THREADS : (int)n;
}

struct host_part {
	double *a, *b, *c;
	uint64_t from, to;
	uint64_t sum; /* result of the check */
	int kind;     /* 0 fill, 1 triad, 2 sum, 3 fp32, 4 fp64 */
	int turns;    /* of FMA chains, each from the start */
};

#define HOST_LANES                                                                                 \
	64 /* chains side by side: eight vectors of FP32 hide the latency of both FMA units */

#define HOST_ENDS(BITS, x)                                                                         \
	for (int j = 0; j < HOST_LANES; j++)                                                       \
	sum += arith_term(BITS((x)[j]), first + (uint64_t)j)

static uint64_t
host_fma32_any(uint64_t first)
{
	float x[HOST_LANES];
	uint64_t sum = 0;

	for (int j = 0; j < HOST_LANES; j++)
		x[j] = arith_start32(first + (uint64_t)j);
	for (int k = 0; k < HOST_ITERS; k++)
		for (int j = 0; j < HOST_LANES; j++)
			x[j] = arith_fma32(x[j], 0.999f, 0.001f);
	HOST_ENDS(arith_bits32, x);
	return sum;
}

static uint64_t
host_fma64_any(uint64_t first)
{
	double x[HOST_LANES];
	uint64_t sum = 0;

	for (int j = 0; j < HOST_LANES; j++)
		x[j] = arith_start64(first + (uint64_t)j);
	for (int k = 0; k < HOST_ITERS; k++)
		for (int j = 0; j < HOST_LANES; j++)
			x[j] = arith_fma64(x[j], 0.999, 0.001);
	HOST_ENDS(arith_bits64, x);
	return sum;
}

#if defined(__x86_64__)
#define HOST_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

/* The same in vectors: bit for bit what fmaf() gives. */
__attribute__((target("avx2,fma"))) static uint64_t
host_fma32_avx2(uint64_t first)
{
	const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
	float x[HOST_LANES];
	uint64_t sum = 0;

	for (int j = 0; j < HOST_LANES; j++)
		x[j] = arith_start32(first + (uint64_t)j);
#define X(i) __m256 v##i = _mm256_loadu_ps(x + 8 * i);
	HOST_EACH(X)
#undef X
	for (int k = 0; k < HOST_ITERS; k++) {
#define X(i) v##i = _mm256_fmadd_ps(v##i, a, b);
		HOST_EACH(X)
#undef X
	}
#define X(i) _mm256_storeu_ps(x + 8 * i, v##i);
	HOST_EACH(X)
#undef X
	HOST_ENDS(arith_bits32, x);
	return sum;
}

/* Two halves of eight vectors each. */
__attribute__((target("avx2,fma"))) static uint64_t
host_fma64_avx2(uint64_t first)
{
	const __m256d a = _mm256_set1_pd(0.999), b = _mm256_set1_pd(0.001);
	double x[HOST_LANES];
	uint64_t sum = 0;

	for (int j = 0; j < HOST_LANES; j++)
		x[j] = arith_start64(first + (uint64_t)j);
	for (double *h = x; h < x + HOST_LANES; h += HOST_LANES / 2) {
#define X(i) __m256d v##i = _mm256_loadu_pd(h + 4 * i);
		HOST_EACH(X)
#undef X
		for (int k = 0; k < HOST_ITERS; k++) {
#define X(i) v##i = _mm256_fmadd_pd(v##i, a, b);
			HOST_EACH(X)
#undef X
		}
#define X(i) _mm256_storeu_pd(h + 4 * i, v##i);
		HOST_EACH(X)
#undef X
	}
	HOST_ENDS(arith_bits64, x);
	return sum;
}
#endif

static uint64_t
host_fma(bool fp64, uint64_t first)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return fp64 ? host_fma64_avx2(first) : host_fma32_avx2(first);
#endif
	return fp64 ? host_fma64_any(first) : host_fma32_any(first);
}

static void *
host_part_run(void *arg)
{
	struct host_part *p = arg;
	volatile uint64_t first = p->from; /* read anew each turn, or one turn would do for all */

	p->sum = 0;
	switch (p->kind) {
	case 0:
		for (uint64_t i = p->from; i < p->to; i++) {
			p->b[i] = arith_unit(1, i);
			p->c[i] = arith_unit(2, i);
			p->a[i] = 0.0;
		}
		break;
	case 1: /* as BabelStream's triad; a machine without FMA instructions pays for fma() here */
		for (uint64_t i = p->from; i < p->to; i++)
			p->a[i] = p->b[i] + RUN_TRIAD_S * p->c[i];
		break;
	case 2:
		for (uint64_t i = p->from; i < p->to; i++)
			p->sum += arith_term(arith_bits64(p->a[i]), i);
		break;
	default:
		for (int i = 0; i < p->turns; i++)
			p->sum += host_fma(p->kind == 4, first);
		break;
	}
	return NULL;
}

/* One step on all CPUs; seconds it took, and the sum over the parts. */
static double
host_step(struct host_part *parts, int n, int kind, uint64_t *sum_out)
{
	pthread_t threads[HOST_THREADS];
	bool started[HOST_THREADS] = { false };
	const double t0 = report_now();
	double took;

	*sum_out = 0;
	for (int i = 0; i < n; i++) {
		parts[i].kind = kind;
		started[i] =
		    i > 0 && pthread_create(&threads[i], NULL, host_part_run, &parts[i]) == 0;
	}
	for (int i = 0; i < n; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			host_part_run(&parts[i]);
		*sum_out += parts[i].sum;
	}
	took = report_now() - t0;
	return took;
}

static void
host_report(struct run *run, const char *name, const char *unit, const struct gpu_times *t,
    double work, bool right)
{
	struct report_test out = { .gpu = -1, .peer = -1 };

	snprintf(out.name, sizeof(out.name), "%s", name);
	snprintf(out.unit, sizeof(out.unit), "%s", unit);
	gpu_rates(t, work, 1e-9, &out);
	out.status = right && isfinite(out.value) ? REPORT_OK : REPORT_FAILED;
	if (!right)
		snprintf(out.error, sizeof(out.error), "wrong result");
	report_test(&run->report, &out);
	report_check(&run->report, name, -1, right ? REPORT_OK : REPORT_FAILED, (double)NAN, "%s",
	    right ? "bit-equal to the reference" : "differs from the reference");
}

static void
host_triad(struct run *run)
{
	uint64_t words = run->opts.array_bytes / 8 / 4, want = 0, got;
	double *a = NULL, *b = NULL, *c = NULL;
	struct host_part parts[HOST_THREADS];
	struct gpu_times times = { .n = 0 };
	int n = host_cpus();

	report_running(&run->report, -1, "host_triad", 30);
	a = malloc((size_t)words * 8);
	b = malloc((size_t)words * 8);
	c = malloc((size_t)words * 8);
	if (a == NULL || b == NULL || c == NULL || words < (uint64_t)n) {
		report_test_none(
		    &run->report, "host_triad", -1, "GB/s", REPORT_FAILED, "out of memory");
		goto out;
	}
	for (int i = 0; i < n; i++)
		parts[i] = (struct host_part){ .a = a,
			.b = b,
			.c = c,
			.from = words / (uint64_t)n * (uint64_t)i,
			.to = i == n - 1 ? words : words / (uint64_t)n * (uint64_t)(i + 1) };
	(void)host_step(parts, n, 0, &got);
	for (int i = 0; i <= HOST_REPS; i++) {
		const double s = host_step(parts, n, 1, &got);

		if (i > 0) /* the first touches the pages */
			times.s[times.n++] = s;
	}
	(void)host_step(parts, n, 2, &got);
	for (uint64_t i = 0; i < words; i++)
		want +=
		    arith_term(arith_bits64(arith_unit(1, i) + RUN_TRIAD_S * arith_unit(2, i)), i);
	host_report(run, "host_triad", "GB/s", &times, 24.0 * (double)words, got == want);
out:
	free(a);
	free(b);
	free(c);
}

static void
host_flops(struct run *run, bool fp64)
{
	const char *name = fp64 ? "host_fma_fp64" : "host_fma_fp32";
	struct host_part parts[HOST_THREADS];
	struct gpu_times times = { .n = 0 };
	uint64_t got = 0, want = 0;
	int n = host_cpus(), turns = 1;
	double once;

	report_running(&run->report, -1, name, 30);
	memset(parts, 0, sizeof(parts));
	for (int i = 0; i < n; i++) {
		parts[i].from = (uint64_t)i * HOST_LANES;
		parts[i].turns = 4;
	}
	once = host_step(parts, 1, fp64 ? 4 : 3, &got) / 4.0;
	turns = once > 0.1 ? 1 : once < 1e-6 ? 100000 : (int)(0.1 / once) + 1; /* some 100 ms */
	for (int i = 0; i < n; i++)
		parts[i].turns = turns;
	while (times.n < HOST_REPS)
		times.s[times.n++] = host_step(parts, n, fp64 ? 4 : 3, &got);
	for (uint64_t i = 0; i < HOST_LANES;
	     i++) { /* the reference goes through the C library's fma() */
		const uint64_t bits =
		    fp64
			? arith_bits64(arith_chain64(arith_start64(i), 0.999, 0.001, HOST_ITERS))
			: arith_bits32(arith_chain32(arith_start32(i), 0.999f, 0.001f, HOST_ITERS));

		want += arith_term(bits, i);
	}
	host_report(run, name, "GFLOP/s", &times, 2.0 * HOST_LANES * HOST_ITERS * (double)turns * n,
	    parts[0].sum == want * (uint64_t)turns);
}

void
host_reference(struct run *run)
{
	host_triad(run);
	host_flops(run, false);
	host_flops(run, true);
	report_running(&run->report, -1, NULL, 0);
}
