/* Demand that never moves earns narrow bands with time; quantiles of steps and windows agree; failed fits are named. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>

#include "forecast/fc.h"
#include "tests/tap.h"

enum { MOST = 8736, YEAR = 8736 };

static double y[MOST];

static void
run(struct arena *a, size_t n, size_t horizon, struct fc_result *r)
{
	struct fc_series s = { .name = "s", .t0 = 1704067200, .step_s = 3600, .n = n, .mean = y };
	struct fc_options o;
	struct berth_err err;

	fc_options_init(&o);
	o.horizon = horizon;
	tap_ok(fc_run(&s, &o, a, r, &err) == BERTH_OK, "%zu hours, %zu ahead", n, horizon);
}

/* A year ahead of twelve that never changed: more than twelve is possible, but the longer they stood the less. */
static void
test_constant(void)
{
	static const size_t lengths[] = { 168, 1008, 4368, MOST };
	double before = INFINITY;

	for (size_t i = 0; i < MOST; i++)
		y[i] = 12;
	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		struct arena *a = arena_new();
		struct fc_result r;
		double busy = 0;

		run(a, lengths[k], YEAR, &r);
		tap_ok(r.peak[FC_PEAK99] > 12 && r.peak[FC_PEAK99] < before, "peak P99 %.2f: above 12, below %.2f of less history",
		    r.peak[FC_PEAK99], before);
		before = r.peak[FC_PEAK99];
		for (size_t i = 0; i < r.n_paths * YEAR; i++)
			busy += r.paths[i] / (double)(r.n_paths * YEAR) / r.peak[FC_PEAK95];
		if (lengths[k] >= 1008) {
			tap_ok(r.peak[FC_PEAK95] < 15, "peak P95 %.2f of six weeks and more", r.peak[FC_PEAK95]);
			tap_ok(busy > .8, "what the P95 needs is %.0f %% busy", 100 * busy);
		}
		tap_near(r.mean[YEAR - 1], 12, 1e-9, "the mean stays");
		arena_free(a);
	}
}

/* Share of paths whose mean over week w lies below x. */
static double
below(const struct fc_result *r, size_t w, double x)
{
	size_t n = 0;

	for (size_t k = 0; k < r->n_paths; k++) {
		double sum = 0;

		for (size_t i = 168 * w; i < 168 * (w + 1); i++)
			sum += r->paths[k * r->horizon + i] / 168;
		n += sum < x;
	}
	return (double)n / (double)r->n_paths;
}

/* Weeks that differed by a fifth: months ahead the level may be far from where it is, and the further the more. */
static void
test_level(void)
{
	struct arena *a = arena_new();
	struct fc_result r;
	double near, far;

	for (size_t i = 0; i < 1344; i++)
		y[i] = i / 168 % 2 == 0 ? 100 : 120;
	run(a, 1344, 26 * 168, &r);
	near = below(&r, 1, 75);
	far = below(&r, 25, 75);
	tap_ok(far > near + .1, "below 75: %.2f of paths in week 2, %.2f in week 26", near, far);
	tap_ok(far < .5, "%.2f are not most", far);
	arena_free(a);
}

/* What a twentieth of paths are below half a year ahead: 100 that swing by `own` from week to week, beside three by `others`. */
static double
beside(double own, double others)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct arena *a = arena_new();
	struct fc_series s[4];
	struct fc_result r[4];
	struct fc_options o;
	struct berth_err err;
	double x = 100;

	for (size_t k = 0; k < 4; k++) {
		double *v = arena_array(a, 1344, sizeof(*v));

		for (size_t i = 0; i < 1344; i++)
			v[i] = i / 168 % 2 == 0 ? 100 : 100 + 100 * (k == 0 ? own : others);
		s[k] = (struct fc_series){ .name = names[k], .t0 = 1704067200, .step_s = 3600, .n = 1344, .mean = v };
	}
	fc_options_init(&o);
	o.horizon = 26 * 168;
	tap_code(fc_run_many(s, 4, &o, a, r, &err), BERTH_OK, &err);
	while (x > 0 && below(&r[0], 25, x) > .05)
		x--;
	arena_free(a);
	return x;
}

/* Eight weeks tell little: beside restless series the level is less sure, but one that never moved stays. */
static void
test_beside(void)
{
	double calm = beside(.05, .05), restless = beside(.05, .6), still = beside(0, .6);

	tap_ok(restless < calm - 5, "P5 of the level: %.0f beside calm series, %.0f beside restless ones", calm, restless);
	tap_ok(still == 100, "%.0f of a series that never moved", still);
}

/* Since a step's demand is at most the window's maximum, so are its quantiles. */
static void
test_coherent(void)
{
	static const enum fc_level level[] = { FC_P90, FC_P95, FC_P99 };
	static const enum fc_peak_level of[] = { FC_PEAK90, FC_PEAK95, FC_PEAK99 };
	struct arena *a = arena_new();
	struct fc_result r;
	size_t above = 0;

	for (size_t i = 0; i < 1200; i++)
		y[i] = i < 1100 ? 40 + 10 * sin((double)i * 2 * M_PI / 24) + (double)((i * 7919) % 13) : 40 - (double)(i - 1100) * .36;
	run(a, 1200, 400, &r);
	for (size_t w = 0; w < r.n_windows; w++)
		for (size_t i = r.windows[w].first; i < r.windows[w].first + r.windows[w].count; i++)
			for (size_t l = 0; l < 3; l++)
				above += r.q[i * FC_LEVEL_COUNT + level[l]] > fmax(r.windows[w].q[of[l]], r.q[i * FC_LEVEL_COUNT + FC_P75]) * (1 + 1e-9);
	tap_ok(above == 0, "no step's quantile above its window's (%zu)", above);
	arena_free(a);
}

/* A candidate that is no number is left out and named; one that is, stays. */
static void
test_failed(void)
{
	enum { H = 6 };
	struct fc_series s = { .name = "s", .t0 = 0, .step_s = 3600, .n = 400, .mean = y };
	struct fc_options o;
	struct arena *a = arena_new(), *tmp = arena_new();
	struct fc_job j = { .in = &s, .opt = &o, .a = a, .tmp = tmp };
	size_t sharp[FC_GROUPS] = { 0 };

	for (size_t i = 0; i < 400; i++)
		y[i] = 10 + (double)(i % 5);
	fc_options_init(&o);
	o.horizon = H;
	fc_prepare(&j);
	fc_cand_simple(&j);
	for (size_t i = 0, n = j.n_cand; i < 2; i++) {
		struct fc_cand *c = fc_cand_add(&j, i == 0 ? "wild" : "tame");

		for (size_t k = 0; k < j.n_org * j.hc; k++)
			c->cv[k] = 1;
		for (size_t k = 0; k < H; k++)
			c->fin[k] = i == 0 && k == 3 ? NAN : 1;
		tap_ok(j.n_cand == n + i + 1, "added");
	}
	fc_combine(&j, sharp);
	tap_ok(j.n_failed == 1 && strcmp(j.failed[0], "wild") == 0, "the wild one is named");
	tap_is_str(j.cand[j.n_cand - 1].name, "tame", "the other one stays");
	for (size_t i = 0; i < H; i++)
		tap_ok(j.fin[i] * j.unit >= 10 && j.fin[i] * j.unit <= 14, "%.2f lies among the candidates", j.fin[i] * j.unit);
	arena_free(a);
	arena_free(tmp);
}

/* Normal matrices by shifting, against sums over every window. A map of ridge r solves (X'X + r) b = X'Y. */
static void
test_map(void)
{
	enum { N = 260, DAY = 6 };
	struct fc_series s = { .name = "s", .t0 = 0, .step_s = 14400, .n = N, .mean = y };
	struct fc_options o;

	for (size_t i = 0; i < N; i++)
		y[i] = 1e6 + (double)((i * i * 31 + i * 17) % 101);
	fc_options_init(&o);
	o.horizon = 4;
	for (int far = 0; far < 2; far++) {
		struct arena *a = arena_new(), *tmp = arena_new();
		struct fc_job j = { .in = &s, .opt = &o, .a = a, .tmp = tmp };
		struct fc_hier *g = fc_hier_new(a, DAY, false, far == 1);
		size_t m = g->in + g->out, windows;
		double worst = 0, most = 0, ms = 0, weight;

		fc_prepare(&j);
		fc_hier_add(g, &j);
		windows = j.n - g->back - g->out + 1;
		for (int pass = 0; pass < 2; pass++)
			for (size_t i = 0; i < m; i++)
				for (size_t k = i; k < m; k++) {
					double want = 0;

					for (size_t t = 0; t < windows; t++) {
						const double *x = j.y + t;
						double c = 0, at[2];
						size_t term[2] = { i, k };

						for (size_t q = g->back - DAY; q < g->back; q++)
							c += x[q] / DAY;
						for (int e = 0; e < 2; e++)
							at[e] = x[term[e] < g->far ? term[e] : g->back + term[e] - g->in] - c;
						want += at[0] * at[1] / (j.diff * j.diff);
					}
					if (pass == 0 && i == k && i < g->in)
						ms += want / (double)(g->in * windows);
					weight = ms > 1 ? 1 / ms : 1;
					most = fmax(most, fabs(want * weight));
					if (pass == 1)
						worst = fmax(worst, fabs(g->gram[1][i * m + k] - want * weight));
				}
		tap_ok(worst < 1e-8 * most, "normal matrix %s: worst difference %.1e of %.1e", far ? "with a week ago" : "of a day", worst, most);
		arena_free(a);
		arena_free(tmp);
	}
}

/* A gain of 3 % on a fleet changes the weights' power; on two series, or of less than the doubt, it does not. */
static void
test_trial(void)
{
	struct fc_trial t[40];
	size_t sharp[FC_GROUPS];

	memset(t, 0, sizeof(t));
	for (size_t i = 0; i < 40; i++) {
		t[i].seen[0] = t[i].seen[1] = true;
		t[i].gain[2][0] = i % 2 ? -.05 : -.01;
		t[i].gain[1][1] = -.001;
	}
	fc_trial_choose(t, 40, sharp);
	tap_ok(sharp[0] == 2, "the third power, by its mean");
	tap_ok(sharp[1] == 0, "a gain of a thousandth is none");
	tap_ok(sharp[2] == 0, "nothing seen, nothing changed");
	fc_trial_choose(t, 2, sharp);
	tap_ok(sharp[0] == 0, "two series are no fleet");
}

int
main(void)
{
	gsl_set_error_handler_off();
	test_constant();
	test_level();
	test_beside();
	test_coherent();
	test_failed();
	test_map();
	test_trial();
	return tap_done();
}
