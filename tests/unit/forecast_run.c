/* Properties of fc_run_many(): they hold whatever the model is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/forecast.h"
#include "util/rng.h"
#include "tests/tap.h"

enum { N_SERIES = 5, N_HOURS = 900, HORIZON = 200, PATHS = 150 };

/* A daily and weekly wave, steps, bursts, a constant and a mostly empty series. */
static double
value(size_t kind, size_t t, struct rng *r)
{
	double wave = 40 + 15 * sin(2 * 3.14159265358979 * (double)t / 24) + (t % 168 < 120 ? 10 : 0);

	switch (kind) {
	case 0:
		return wave + 2 * rng_normal(r) > 0 ? wave + 2 * rng_normal(r) : 0;
	case 1:
		return 8.0 * (double)(1 + t / 170 % 4);
	case 2:
		return rng_unit(r) < 0.03 ? 400 : 30 + 10 * rng_unit(r);
	case 3:
		return 64;
	default:
		return rng_unit(r) < 0.02 ? 4 : 0;
	}
}

struct set {
	double v[N_SERIES][N_HOURS];
	struct fc_series s[N_SERIES];
};

static void
make(struct set *x, double times)
{
	static const char *const names[N_SERIES] = { "wave", "steps", "bursts", "flat", "rare" };

	for (size_t k = 0; k < N_SERIES; k++) {
		struct rng r;

		rng_seed(&r, k + 1);
		for (size_t t = 0; t < N_HOURS; t++)
			x->v[k][t] = times * value(k, t, &r);
		x->s[k] = (struct fc_series){ names[k], 1704067200, 3600, N_HOURS, x->v[k], NULL };
	}
}

static void
run(const struct set *x, unsigned threads, struct arena *a, struct fc_result *out)
{
	struct fc_options o;
	struct berth_err err = { 0 };

	fc_options_init(&o);
	o.horizon = HORIZON;
	o.n_paths = PATHS;
	o.threads = threads;
	tap_code(fc_run_many(x->s, N_SERIES, &o, a, out, &err), BERTH_OK, &err);
}

/* Type 8 by its definition, on its own copy. */
static int
cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
quantile8(const double *x, size_t n, double p)
{
	double s[PATHS], g, pos = p * ((double)n + 1.0 / 3) + 1.0 / 3;
	size_t k;

	memcpy(s, x, n * sizeof(*s));
	qsort(s, n, sizeof(*s), cmp);
	k = (size_t)pos;
	g = pos - (double)k;
	return k < 1 ? s[0] : k >= n ? s[n - 1] : (1 - g) * s[k - 1] + g * s[k];
}

static void
check_shape(const struct fc_result *r)
{
	bool ordered = true, finite = true, ascending = r->peak[0] <= r->peak[1] && r->peak[1] <= r->peak[2] &&
	    r->peak[2] <= r->peak[3];

	for (size_t i = 0; i < r->horizon; i++)
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++) {
			const double *q = r->q + i * FC_LEVEL_COUNT;

			finite = finite && isfinite(q[l]) && q[l] >= 0 && isfinite(r->mean[i]) && r->mean[i] >= 0;
			ordered = ordered && (l == 0 || q[l] >= q[l - 1]);
		}
	for (size_t i = 0; i < r->n_paths * r->horizon; i++)
		finite = finite && isfinite(r->paths[i]) && r->paths[i] >= 0;
	tap_ok(finite, "%s: everything is finite and not negative", r->name);
	tap_ok(ordered && ascending, "%s: quantiles do not cross", r->name);
}

static void
check_maxima(const struct fc_result *r)
{
	double m[PATHS];

	for (size_t w = 0; w <= r->n_windows; w++) {
		size_t from = w < r->n_windows ? r->windows[w].first : 0;
		size_t count = w < r->n_windows ? r->windows[w].count : r->horizon;
		const double *want = w < r->n_windows ? r->windows[w].q : r->peak;

		for (size_t p = 0; p < PATHS; p++) {
			m[p] = 0;
			for (size_t i = from; i < from + count; i++)
				m[p] = fmax(m[p], r->paths[p * r->horizon + i]);
		}
		for (int l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
			tap_near(want[l], quantile8(m, PATHS, fc_peak_levels[l]), 1e-9 * (1 + want[l]),
			    "%s: P%g of the maximum over [%zu, +%zu) is that of the paths", r->name,
			    100 * fc_peak_levels[l], from, count);
	}
}

static double
farthest(const struct fc_result *a, const struct fc_result *b, double times)
{
	double worst = 0;

	for (size_t i = 0; i < a->horizon * FC_LEVEL_COUNT; i++)
		worst = fmax(worst, fabs(a->q[i] * times - b->q[i]) / (1e-9 * times + a->q[i] * times));
	for (int l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
		worst = fmax(worst, fabs(a->peak[l] * times - b->peak[l]) / (1e-9 * times + a->peak[l] * times));
	return worst;
}

static bool
same_bytes(const struct fc_result *a, const struct fc_result *b)
{
	return memcmp(a->mean, b->mean, a->horizon * sizeof(double)) == 0 &&
	    memcmp(a->q, b->q, a->horizon * FC_LEVEL_COUNT * sizeof(double)) == 0 &&
	    memcmp(a->paths, b->paths, a->n_paths * a->horizon * sizeof(double)) == 0 &&
	    memcmp(a->peak, b->peak, sizeof(a->peak)) == 0;
}

int
main(void)
{
	static struct set x, big, turned;
	struct fc_result base[N_SERIES], other[N_SERIES];
	struct arena *a = arena_new();
	struct berth_err err = { 0 };
	struct fc_options o;
	double bad[3] = { 1, -1, 2 }, none[2] = { NAN, NAN };
	struct fc_series s = { "bad", 0, 3600, 3, bad, NULL };

	make(&x, 1);
	make(&big, 1e9);
	run(&x, 1, a, base);
	for (size_t k = 0; k < N_SERIES; k++) {
		check_shape(&base[k]);
		check_maxima(&base[k]);
	}
	run(&x, 3, a, other);
	for (size_t k = 0; k < N_SERIES; k++)
		tap_ok(same_bytes(&base[k], &other[k]), "%s: three threads give the bytes of one", base[k].name);
	run(&big, 1, a, other);
	for (size_t k = 0; k < N_SERIES; k++)
		tap_near(farthest(&base[k], &other[k], 1e9), 0, 1e-6, "%s: a billion times the demand", base[k].name);
	turned = x;
	for (size_t k = 0; k < N_SERIES; k++)
		turned.s[k] = x.s[N_SERIES - 1 - k];
	run(&turned, 1, a, other);
	for (size_t k = 0; k < N_SERIES; k++)
		tap_ok(same_bytes(&base[k], &other[N_SERIES - 1 - k]), "%s: the order of series does not matter",
		    base[k].name);
	tap_near(base[3].mean[HORIZON - 1], 64, 1e-9, "a constant stays");
	fc_options_init(&o);
	tap_code(fc_run(&s, &o, a, other, &err), BERTH_EINVAL, &err);
	o.horizon = 2;
	tap_code(fc_run(&s, &o, a, other, &err), BERTH_EINVAL, &err);
	s.mean = none;
	s.n = 2;
	tap_code(fc_run(&s, &o, a, other, &err), BERTH_EINVAL, &err);
	arena_free(a);
	return tap_done();
}
