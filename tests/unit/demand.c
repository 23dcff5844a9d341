/* The sweep against a count of every second of every interval, also where the window is cut for want of room. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/demand.h"
#include "tests/tap.h"
#include "util/rng.h"

#define STEPS 24
#define STEP 60
#define T0 INT64_C(1780272000)
#define JOBS 400
#define GROUPS 3

struct job { int64_t from, to; uint32_t cls; };

static const uint32_t groups_a[] = { 0, 2 }, groups_b[] = { 1, 2 };
static const struct demand_class classes[] = { { 1, groups_a, 2 }, { 2.5, groups_a, 2 }, { 4, groups_b, 2 } };

struct got {
	struct sample v[GROUPS][STEPS];
	size_t n[GROUPS];
};

static enum berth_code
collect(void *arg, uint32_t group, const struct sample *v, size_t n, struct berth_err *err)
{
	struct got *g = arg;

	(void)err;
	memcpy(&g->v[group][g->n[group]], v, n * sizeof(*v));
	g->n[group] += n;
	return BERTH_OK;
}

/* Mean and peak of one step by looking at each second. */
static struct sample
oracle(const struct job *jobs, uint32_t group, int step)
{
	struct sample s = { .t = T0 + step * STEP };

	for (int64_t t = s.t; t < s.t + STEP; t++) {
		double level = 0;

		for (int j = 0; j < JOBS; j++)
			for (size_t k = 0; k < classes[jobs[j].cls].n_groups; k++)
				if (classes[jobs[j].cls].groups[k] == group && jobs[j].from <= t && t < jobs[j].to)
					level += classes[jobs[j].cls].amount;
		s.mean += level / STEP;
		s.peak = level > s.peak ? level : s.peak;
	}
	return s;
}

static int
wrong(const struct got *g, const struct job *jobs)
{
	int n = 0;

	for (uint32_t k = 0; k < GROUPS; k++) {
		n += g->n[k] != STEPS;
		for (int i = 0; i < STEPS; i++) {
			struct sample want = oracle(jobs, k, i), have = g->v[k][i];
			double off = have.mean - want.mean;

			n += have.t != want.t || off > 1e-9 || off < -1e-9 || have.peak < want.peak - 1e-9 ||
			    have.peak > want.peak + 1e-9;
		}
	}
	return n;
}

/* Windows one after the other, each as long as max events allow. */
static int
sweep(const struct job *jobs, size_t max, struct got *g)
{
	int64_t from = T0, end = T0 + STEPS * STEP;
	struct berth_err err = { 0 };
	int windows = 0;

	memset(g, 0, sizeof(*g));
	while (from < end) {
		struct demand *d = NULL;
		enum berth_code rc = demand_new(STEP, from, end, max, &d, &err);

		for (int j = 0; rc == BERTH_OK && j < JOBS; j++)
			rc = demand_add(d, jobs[j].cls, jobs[j].from, jobs[j].to, &err);
		from = rc == BERTH_OK ? demand_to(d) : end;
		if (rc == BERTH_OK)
			rc = demand_run(d, classes, GROUPS, collect, g, &err);
		demand_free(d);
		if (rc != BERTH_OK) {
			tap_diag("%s", err.msg);
			return -1;
		}
		windows++;
	}
	return windows;
}

static void
test_random(uint64_t seed)
{
	static struct job jobs[JOBS];
	static struct got g;
	struct rng r;
	int windows;

	rng_seed(&r, seed);
	for (int j = 0; j < JOBS; j++) {
		jobs[j].from = T0 - 300 + (int64_t)rng_below(&r, STEPS * STEP + 600);
		jobs[j].to = jobs[j].from + (int64_t)rng_below(&r, j % 7 == 0 ? 2000 : 90);
		jobs[j].cls = (uint32_t)rng_below(&r, 3);
	}
	tap_is_long(sweep(jobs, 0, &g), 1, "seed %llu: one window", (unsigned long long)seed);
	tap_is_long(wrong(&g, jobs), 0, "as the count by seconds");
	windows = sweep(jobs, 120, &g);
	tap_ok(windows > 2, "in %d windows", windows);
	tap_is_long(wrong(&g, jobs), 0, "the same");
}

static void
test_edges(void)
{
	static struct got g;
	struct berth_err err = { 0 };
	struct demand *d = NULL;

	tap_code(demand_new(STEP, T0, T0 + 2 * STEP, 0, &d, &err), BERTH_OK, &err);
	tap_code(demand_add(d, 2, T0, T0 + 30, &err), BERTH_OK, &err);
	tap_code(demand_add(d, 2, T0 + 30, T0 + 60, &err), BERTH_OK, &err);
	tap_code(demand_add(d, 2, T0 + 20, T0 + 20, &err), BERTH_OK, &err);
	tap_code(demand_run(d, classes, GROUPS, collect, &g, &err), BERTH_OK, &err);
	tap_near(g.v[1][0].peak, 4, 0, "one ends when the next starts: never 8 at once");
	tap_near(g.v[1][0].mean, 4, 0, "and 4 all the time");
	tap_near(g.v[1][1].peak, 0, 0, "the end of the step is not in the next one");
	tap_near(g.v[0][0].peak, 0, 0, "the other series has none");
	demand_free(d);
	tap_code(demand_new(STEP, T0 + 1, T0 + STEP, 0, &d, &err), BERTH_EINVAL, &err);
}

static enum berth_code
collect_one(void *arg, uint32_t group, const struct sample *v, size_t n, struct berth_err *err)
{
	(void)err;
	for (size_t i = 0; group == 1 && i < n; i++)
		((double *)arg)[i] = v[i].peak;
	return BERTH_OK;
}

/* Many begin and end within a few seconds of an hour, in any order: the hour is cut into parts and those are crowded. */
static void
test_crowd(uint64_t seed)
{
	double peak[2] = { 0 };
	int level[120] = { 0 }, most = 0;
	struct berth_err err = { 0 };
	struct demand *d = NULL;
	struct rng r;

	rng_seed(&r, seed);
	tap_code(demand_new(3600, T0, T0 + 7200, 0, &d, &err), BERTH_OK, &err);
	for (int j = 0; j < 500; j++) {
		int from = (int)rng_below(&r, 60), to = from + 1 + (int)rng_below(&r, 40);

		for (int s = from; s < to; s++)
			level[s] += 4;
		if (demand_add(d, 2, T0 + 3600 + 1000 + from, T0 + 3600 + 1000 + to, &err) != BERTH_OK)
			break;
	}
	for (int s = 0; s < 120; s++)
		most = level[s] > most ? level[s] : most;
	tap_code(demand_run(d, classes, GROUPS, collect_one, peak, &err), BERTH_OK, &err);
	tap_near(peak[1], most, 0, "500 within a minute and a half: %d at once", most);
	demand_free(d);
}

/* Steps of every length: an event on either side of the end of a step is in its own. */
/* One step cannot be cut, so that all of its events are kept though they are more than were asked for. */
static void
test_one_step(void)
{
	static struct got g;
	struct berth_err err = { 0 };
	struct demand *d = NULL;
	int wrong = 0;

	tap_code(demand_new(STEP, T0, T0 + STEP, 16, &d, &err), BERTH_OK, &err);
	for (int i = 0; i < 3000; i++)
		wrong += demand_add(d, 2, T0 + i % STEP, T0 + i % STEP + 1, &err) != BERTH_OK;
	tap_is_long(wrong, 0, "3000 intervals in a step, with room for 8");
	tap_code(demand_run(d, classes, GROUPS, collect, &g, &err), BERTH_OK, &err);
	tap_near(g.v[1][0].mean, 4.0 * 3000 / STEP, 1e-9, "all of them count");
	demand_free(d);
}

static void
test_steps(void)
{
	static const int64_t steps[] = { 1, 2, 3, 7, 60, 61, 3600, 86399, 86400, 2678400 };
	struct berth_err err = { 0 };
	int wrong = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int64_t step = steps[i], from = T0 / step * step;
		double peak[4] = { 0 };
		struct demand *d = NULL;

		if (demand_new(step, from, from + 4 * step, 0, &d, &err) != BERTH_OK ||
		    demand_add(d, 2, from + 2 * step - 1, from + 2 * step, &err) != BERTH_OK ||
		    demand_add(d, 2, from + 2 * step, from + 2 * step + 1, &err) != BERTH_OK ||
		    demand_run(d, classes, GROUPS, collect_one, peak, &err) != BERTH_OK)
			wrong += 10;
		wrong += peak[0] != 0 || peak[1] != 4 || peak[2] != 4 || peak[3] != 0;
		demand_free(d);
	}
	tap_is_long(wrong, 0, "steps from a second to a month");
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc > 2 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 10) : 1;

	test_edges();
	test_steps();
	test_one_step();
	for (uint64_t i = 0; i < 3; i++)
		test_crowd(seed + i);
	for (uint64_t i = 0; i < 8; i++)
		test_random(seed + i);
	return tap_done();
}
