/* forecast/backtest.c - rolling origins over the past of each series.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>

struct sums {
	double v[6], n[6];
	double peer_mase[FC_PEER_COUNT], peer_smape[FC_PEER_COUNT];
};

static void
backtest_add(struct sums *s, const struct fc_score *x)
{
	const double v[6] = { x->mase, x->smape, x->pinball, x->coverage90, x->peak_pinball95, x->peak_exceeded95 };

	for (int i = 0; i < 6; i++)
		if (!isnan(v[i])) {
			s->v[i] += v[i];
			s->n[i]++;
		}
}

static double
backtest_mean(const struct sums *s, int i)
{
	return s->n[i] > 0 ? s->v[i] / s->n[i] : NAN;
}

static void
backtest_means(const struct sums *s, struct fc_backtest *out)
{
	out->score = (struct fc_score){ backtest_mean(s, 0), backtest_mean(s, 1), backtest_mean(s, 2), backtest_mean(s, 3),
		backtest_mean(s, 4), backtest_mean(s, 5) };
	for (int p = 0; p < FC_PEER_COUNT; p++) {
		out->peer_mase[p] = s->n[0] > 0 ? s->peer_mase[p] / s->n[0] : NAN;
		out->peer_smape[p] = s->n[1] > 0 ? s->peer_smape[p] / s->n[1] : NAN;
	}
}

/* The simple methods from the same origin: history cut, truth behind it. */
static void
backtest_peers(const struct fc_series *cut, const double *truth, size_t h, struct arena *a, struct sums *s)
{
	size_t season = cut->step_s < 86400 && 86400 % cut->step_s == 0 ? (size_t)(86400 / cut->step_s) : 7, skip = 0;
	struct fc_result r = { .name = cut->name, .step_s = cut->step_s, .horizon = h };
	double *y = arena_array(a, cut->n, sizeof(*y));

	while (skip < cut->n && isnan(cut->mean[skip]))
		skip++;
	for (size_t i = skip; i < cut->n; i++)
		y[i] = isnan(cut->mean[i]) ? y[i - 1] : cut->mean[i];
	r.mean = arena_array(a, h, sizeof(*r.mean));
	r.q = arena_array(a, h * FC_LEVEL_COUNT, sizeof(*r.q));
	for (int p = 0; p < FC_PEER_COUNT; p++) {
		struct fc_score score;
		struct berth_err ignored;

		if (fc_peer((enum fc_peer)p, y + skip, cut->n - skip, season, h, r.mean, &ignored) != BERTH_OK)
			for (size_t i = 0; i < h; i++)
				r.mean[i] = y[cut->n - 1];
		fc_score_result(&r, cut, truth, NULL, h, &score);
		s->peer_mase[p] += isnan(score.mase) ? 0 : score.mase;
		s->peer_smape[p] += isnan(score.smape) ? 0 : score.smape;
	}
}

/* Steps seen at origin k of `origins`; 0 if the history is too short for it. The last leaves just the horizon. */
static size_t
backtest_at(const struct fc_series *s, size_t horizon, size_t origins, size_t k)
{
	size_t last, first;

	if (s->n < horizon + 2)
		return 0;
	last = s->n - horizon;
	first = s->n / 2 < last ? s->n / 2 : last;
	if (origins == 1)
		return last;
	if (first == last && k + 1 < origins)
		return 0;
	return first + (last - first) * k / (origins - 1);
}

enum berth_code
fc_backtest(const struct fc_series *s, size_t n, const struct fc_options *opt, size_t origins, struct arena *a,
    struct fc_backtest *out, struct berth_err *err)
{
	struct fc_series *cut = arena_array(a, n + 1, sizeof(*cut));
	struct fc_result *res = arena_array(a, n + 1, sizeof(*res));
	struct sums *sums = arena_array(a, n + 1, sizeof(*sums));
	size_t *which = arena_array(a, n + 1, sizeof(*which));
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n; i++)
		out[i] = (struct fc_backtest){ .name = s[i].name };
	for (size_t k = 0; k < origins; k++) {
		struct arena *scratch = arena_new();
		size_t m = 0;

		for (size_t i = 0; i < n; i++) {
			size_t at = backtest_at(&s[i], opt->horizon, origins, k), known = 0;

			for (size_t t = 0; t < at; t++)
				known += isnan(s[i].mean[t]) ? 0 : 1;
			if (known == 0)
				continue;
			cut[m] = s[i];
			cut[m].n = at;
			which[m++] = i;
		}
		rc = fc_run_many(cut, m, opt, scratch, res, err);
		for (size_t q = 0; rc == BERTH_OK && q < m; q++) {
			const struct fc_series *full = &s[which[q]];
			struct fc_score score;

			fc_score_result(&res[q], &cut[q], full->mean + cut[q].n,
			    full->peak != NULL ? full->peak + cut[q].n : NULL, opt->horizon, &score);
			backtest_add(&sums[which[q]], &score);
			backtest_peers(&cut[q], full->mean + cut[q].n, opt->horizon, scratch, &sums[which[q]]);
			out[which[q]].origins++;
		}
		arena_free(scratch);
		if (rc != BERTH_OK)
			return rc;
	}
	for (size_t i = 0; i < n; i++)
		backtest_means(&sums[i], &out[i]);
	return BERTH_OK;
}
