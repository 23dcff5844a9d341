/* Waiting times against a look at every job for every step, also in windows that are cut, and with ties. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/waits.h"
#include "tests/tap.h"
#include "util/rng.h"
#include "util/time.h"

#define STEPS 30
#define STEP 60
#define T0 INT64_C(1780272000)
#define JOBS 600
#define GROUPS 3

struct job { int64_t submit, until; bool started; uint32_t label; };

static const uint32_t groups_a[] = { 0, 2 }, groups_b[] = { 1, 2 };
static const struct waits_label labels[] = { { groups_a, 2 }, { groups_b, 2 } };

struct got { struct waits_step v[GROUPS][STEPS]; };

static enum berth_code
collect(void *arg, uint32_t group, const struct waits_step *v, struct berth_err *err)
{
	struct got *g = arg;
	int64_t step = (v->t - T0) / STEP;

	(void)err;
	if (step < 0 || step >= STEPS || v->t % STEP != T0 % STEP || g->v[group][step].t != 0)
		tap_ok(0, "a step twice, or none: %lld", (long long)v->t);
	else
		g->v[group][step] = *v;
	return BERTH_OK;
}

static int
cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
quantile(const double *v, int n, double q)
{
	double at = (n - 1) * q;
	int k = (int)at;

	return k + 1 < n ? v[k] + (v[k + 1] - v[k]) * (at - k) : v[k];
}

static int
off(double have, double want)
{
	return isnan(have) != isnan(want) || fabs(have - want) > 1e-6;
}

/* How many of the numbers of one step of one series are wrong. */
static int
wrong_step(const struct waits_step *have, const struct job *jobs, int n, uint32_t group, int step)
{
	static double v[JOBS];
	int64_t t = T0 + step * STEP, end = t + STEP;
	struct waits_step want = { 0, 0, NAN, NAN, NAN, NAN, 0, NAN, NAN };
	double sum = 0, ages = 0;

	for (int j = 0; j < n; j++) {
		double age = (double)(end - jobs[j].submit);

		if (group != 2 && jobs[j].label != group)
			continue;
		if (jobs[j].started && jobs[j].until >= t && jobs[j].until < end)
			sum += v[want.started++] = (double)(jobs[j].until - jobs[j].submit);
		if (jobs[j].submit >= end || jobs[j].until < end)
			continue;
		ages += age;
		want.oldest = want.waiting++ == 0 || age > want.oldest ? age : want.oldest;
	}
	if (want.started == 0 && want.waiting == 0)
		return have->t != 0;
	if (want.started > 0) {
		qsort(v, (size_t)want.started, sizeof(*v), cmp);
		want.mean = sum / (double)want.started;
		want.p50 = quantile(v, (int)want.started, 0.5);
		want.p95 = quantile(v, (int)want.started, 0.95);
		want.longest = v[want.started - 1];
	}
	if (want.waiting > 0)
		want.waiting_mean = ages / (double)want.waiting;
	return (have->t != t) + (have->started != want.started) + (have->waiting != want.waiting) + off(have->mean, want.mean) +
	    off(have->p50, want.p50) + off(have->p95, want.p95) + off(have->longest, want.longest) +
	    off(have->waiting_mean, want.waiting_mean) + off(have->oldest, want.oldest);
}

static enum berth_code
sweep(const struct job *jobs, int n, int64_t from, int64_t to, struct got *g, struct berth_err *err)
{
	struct waits *w = NULL;
	enum berth_code rc = waits_new(STEP, from, to, &w, err);

	for (int j = 0; rc == BERTH_OK && j < n; j++)
		rc = waits_add(w, jobs[j].label, jobs[j].submit, jobs[j].until, jobs[j].started, err);
	if (rc == BERTH_OK)
		rc = waits_run(w, labels, GROUPS, collect, g, err);
	waits_free(w);
	return rc;
}

static int
wrong(const struct got *g, const struct job *jobs, int n)
{
	int bad = 0;

	for (uint32_t group = 0; group < GROUPS; group++)
		for (int step = 0; step < STEPS; step++)
			bad += wrong_step(&g->v[group][step], jobs, n, group, step);
	return bad;
}

static void
test_random(uint64_t seed)
{
	static struct job jobs[JOBS];
	static struct got g;
	int64_t end = T0 + STEPS * STEP, middle = T0 + 11 * STEP;
	int n = seed % 3 == 0 ? 25 : JOBS;	/* few: steps in which nothing starts */
	struct berth_err err = { 0 };
	struct rng r;

	rng_seed(&r, seed);
	for (int j = 0; j < n; j++) {
		jobs[j].submit = T0 - 400 + (int64_t)rng_below(&r, STEPS * STEP + 500);
		jobs[j].until = jobs[j].submit + (j % 5 == 0 ? 0 : (int64_t)rng_below(&r, j % 7 == 0 ? 1500 : 100));
		if (j % 11 == 0)
			jobs[j].until = time_floor(jobs[j].until, STEP) + STEP;	/* at the end of a step */
		jobs[j].started = j % 9 != 0;
		jobs[j].label = (uint32_t)rng_below(&r, 2);
	}
	memset(&g, 0, sizeof(g));
	tap_code(sweep(jobs, n, T0, end, &g, &err), BERTH_OK, &err);
	tap_is_long(wrong(&g, jobs, n), 0, "seed %llu: as a look at every job says", (unsigned long long)seed);
	memset(&g, 0, sizeof(g));
	tap_code(sweep(jobs, n, T0, middle, &g, &err), BERTH_OK, &err);
	tap_code(sweep(jobs, n, middle, end, &g, &err), BERTH_OK, &err);
	tap_is_long(wrong(&g, jobs, n), 0, "the same in two windows");
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc > 2 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 10) : 1;

	for (uint64_t i = 0; i < 9; i++)
		test_random(seed + i);
	return tap_done();
}
