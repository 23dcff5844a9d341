/* Backtests: no origin of any series knows what came later, in its own history or in another's. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "forecast/forecast.h"
#include "util/rng.h"
#include "tests/tap.h"

enum { N = 9, HOURS = 760, HORIZON = 24, ORIGINS = 2 };

static double values[N][HOURS], later[N][HOURS];
static char names[N][8];
static const int64_t begin = 1704067200;

/* Levels that step, and from the middle on swing four times as far in a rhythm of 17 hours: what is worth knowing early. */
static void
make(void)
{
	struct rng r;

	rng_seed(&r, 11);
	for (size_t k = 0; k < N; k++) {
		(void)snprintf(names[k], sizeof(names[k]), "s%zu", k);
		for (size_t t = 0; t < HOURS; t++)
			values[k][t] = 60 + 20 * (double)(t / 90 % 2) + (t < 450 ? 5 : 20) * sin((double)t * 6.2831853 / 17) +
			    4 * rng_unit(&r);
	}
}

/* Series k has the hours from 61 k on to 700 + 7 k, in v. */
static void
series(double (*v)[HOURS], struct fc_series *s)
{
	for (size_t k = 0; k < N; k++) {
		size_t from = 61 * k, to = 700 + 7 * k;

		s[k] = (struct fc_series){ names[k], begin + (int64_t)from * 3600, 3600, to - from, v[k] + from, NULL };
	}
}

static void
backtest(const struct fc_series *s, size_t n, size_t origins, struct fc_backtest *out)
{
	struct arena *a = arena_new();
	struct fc_options o;
	struct berth_err err;

	fc_options_init(&o);
	o.horizon = HORIZON;
	o.n_paths = 50;
	tap_code(fc_backtest(s, n, &o, origins, a, out, &err), BERTH_OK, &err);
	arena_free(a);
}

static bool
same(const struct fc_backtest *x, const struct fc_backtest *y)
{
	return x->origins == y->origins && memcmp(&x->score, &y->score, sizeof(x->score)) == 0;
}

/* The one that ends early has its last origin at hour 376 of 400; the other goes on to 760. */
static void
test_pair(void)
{
	struct fc_series s[2] = { { "long", begin, 3600, HOURS, values[0], NULL },
		{ "short", begin, 3600, 400, values[1], NULL } };
	struct fc_backtest before[2], after[2];

	backtest(s, 2, ORIGINS, before);
	memcpy(later[0], values[0], sizeof(later[0]));
	for (size_t t = 376; t < HOURS; t++)
		later[0][t] = 7 * later[0][t];
	s[0].mean = later[0];
	backtest(s, 2, ORIGINS, after);
	tap_ok(before[1].origins == ORIGINS && same(&before[1], &after[1]), "what another series did later changes no score");
	tap_ok(!same(&before[0], &after[0]), "but those of its own");
	memcpy(later[0], values[0], sizeof(later[0]));
	for (size_t t = 0; t < 150; t++)
		later[0][t] = 7 * later[0][t];
	backtest(s, 2, ORIGINS, after);
	tap_ok(!same(&before[1], &after[1]), "what another did before is learned from");
}

/* More dates than instants that have a run of their own: origins go back to common ones, none forward. */
static void
test_dates(void)
{
	struct fc_series s[N];
	struct fc_backtest before[N], after[N];
	size_t scored = 0, wrong = 0;

	series(values, s);
	backtest(s, N, ORIGINS, before);
	for (size_t k = 0; k < N; k++)
		scored += before[k].origins >= 1 && before[k].origins <= ORIGINS && !isnan(before[k].score.mase);
	tap_ok(scored == N, "%zu of %d series of different dates are scored", scored, N);
	for (size_t k = 0; k < N; k += 4) {	/* series k's last origin is at most 24 hours before its end */
		size_t last = 700 + 7 * k - HORIZON;

		memcpy(later, values, sizeof(later));
		for (size_t i = 0; i < N; i++)
			for (size_t t = last; t < HOURS && i != k; t++)
				later[i][t] = 7 * later[i][t];
		series(later, s);
		backtest(s, N, ORIGINS, after);
		wrong += !same(&before[k], &after[k]);
	}
	tap_ok(wrong == 0, "none of them knows what the others did later");
}

/* One origin each, and nothing to look back on. */
static void
test_few(void)
{
	struct fc_series s[2] = { { "a", begin, 3600, 200, values[0], NULL }, { "b", begin, 3600, HORIZON + 1, values[1], NULL } };
	struct fc_backtest out[2];

	backtest(s, 2, 1, out);
	tap_ok(out[0].origins == 1 && out[1].origins == 0, "a history shorter than the horizon has no origin");
	backtest(s + 1, 1, 3, out);
	tap_ok(out[0].origins == 0 && isnan(out[0].score.mase), "alone neither");
}

int
main(void)
{
	make();
	test_pair();
	test_dates();
	test_few();
	return tap_done();
}
