/* Whatever the history: steps of five minutes to a week, one value to hundreds, gaps, zeros, explosions, any unit. */
#include <math.h>
#include <stdio.h>

#include "forecast/forecast.h"
#include "util/rng.h"
#include "tests/tap.h"

enum { ROUNDS = 60, SERIES = 4, KINDS = 8 };

static int64_t
offset(void *arg, int64_t t)
{
	return t >= *(int64_t *)arg ? 7200 : 3600;
}

static double
value(int kind, size_t i, struct rng *r)
{
	switch (kind) {
	case 0: return 0;
	case 1: return 1;
	case 2: return rng_unit(r);
	case 3: return rng_unit(r) < 0.02;
	case 4: return (double)(i / 100 % 3);
	case 5: return exp(3 * rng_normal(r));
	case 6: return 5 + 5 * sin((double)i * 0.2618);
	default: return (double)i;
	}
}

static void
make(struct fc_series *s, const char *name, int64_t step_s, struct rng *r, struct arena *a)
{
	size_t n = 1 + (size_t)rng_below(r, rng_below(r, 3) > 0 ? 900 : 40);
	double *y = arena_array(a, n, sizeof(*y)), unit = pow(10, 20 * rng_unit(r) - 5);
	int kind = (int)rng_below(r, KINDS);

	for (size_t i = 0; i < n; i++)
		y[i] = i > 0 && kind > 2 && (rng_unit(r) < 0.05 || (i > 200 && i < 260)) ? NAN : unit * value(kind, i, r);
	*s = (struct fc_series){ name, 1704067200, step_s, n, y, NULL };
}

static bool
sound(const struct fc_result *r, size_t horizon)
{
	bool ok = r->horizon == horizon;
	double weight = 0;

	for (size_t i = 0; i < horizon; i++)
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++) {
			const double *q = r->q + i * FC_LEVEL_COUNT;

			ok = ok && isfinite(q[l]) && q[l] >= 0 && (l == 0 || q[l] >= q[l - 1]);
			ok = ok && isfinite(r->mean[i]) && r->mean[i] >= 0;
		}
	for (size_t i = 0; i < r->n_paths * horizon; i++)
		ok = ok && isfinite(r->paths[i]) && r->paths[i] >= 0;
	for (int l = 1; l < FC_PEAK_LEVEL_COUNT; l++)
		ok = ok && isfinite(r->peak[l]) && r->peak[l] >= r->peak[l - 1];
	for (size_t i = 0; i < r->n_parts; i++)
		weight += r->parts[i].weight;
	return ok && fabs(weight - 1) < 1e-9;
}

int
main(void)
{
	static const int64_t steps[] = { 300, 900, 3600, 3600, 5400, 10800, 21600, 43200, 86400, 604800, 7777 };
	static const char *const names[SERIES] = { "a", "b", "c", "d" };

	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct fc_series s[SERIES];
		struct fc_result out[SERIES];
		struct fc_options o;
		struct berth_err err = { 0 };
		struct arena *a = arena_new();
		struct rng r;
		int64_t change, step_s;
		size_t n;

		rng_seed(&r, round);
		step_s = steps[rng_below(&r, sizeof(steps) / sizeof(steps[0]))];
		n = 1 + (size_t)rng_below(&r, SERIES);
		for (size_t k = 0; k < n; k++)
			make(&s[k], names[k], step_s, &r, a);
		fc_options_init(&o);
		o.horizon = 1 + (size_t)rng_below(&r, rng_below(&r, 4) > 0 ? 200 : 900);
		o.n_paths = rng_below(&r, 3) > 0 ? 60 : 0;
		change = 1704067200 + 3600 * (int64_t)rng_below(&r, 1500);
		o.utc_offset = rng_below(&r, 3) == 0 ? offset : NULL;
		o.utc_offset_arg = &change;
		tap_code(fc_run_many(s, n, &o, a, out, &err), BERTH_OK, &err);
		for (size_t k = 0; k < n; k++)
			tap_ok(sound(&out[k], o.horizon), "seed %llu: %zu steps of %lld s, %zu ahead", (unsigned long long)round, s[k].n,
			    (long long)step_s, o.horizon);
		arena_free(a);
	}
	return tap_done();
}
