/* forecast/backtest.c - rolling origins over the past of each series.  Floor: domain. */
#include "forecast/event.h"
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* The series of one origin, cut there. */
struct past {
	struct fc_series *cut;		/* [m] */
	size_t *which, m;		/* their places */
	struct fc_result *res;		/* [m] */
};

static void
backtest_cut(const struct fc_series *s, size_t n, size_t horizon, size_t origins, size_t k, struct past *p)
{
	p->m = 0;
	for (size_t i = 0; i < n; i++) {
		size_t at = backtest_at(&s[i], horizon, origins, k), known = 0;

		for (size_t t = 0; t < at; t++)
			known += isnan(s[i].mean[t]) ? 0 : 1;
		if (known == 0)
			continue;
		p->cut[p->m] = s[i];
		p->cut[p->m].n = at;
		p->which[p->m++] = i;
	}
}

static void
backtest_score(const struct fc_series *s, const struct past *p, size_t horizon, struct sums *sums, struct fc_backtest *out)
{
	for (size_t q = 0; q < p->m; q++) {
		const struct fc_series *full = &s[p->which[q]];
		size_t at = p->cut[q].n;
		struct fc_score score;

		fc_score_result(&p->res[q], &p->cut[q], full->mean + at, full->peak != NULL ? full->peak + at : NULL, horizon, &score);
		backtest_add(&sums[p->which[q]], &score);
		out[p->which[q]].origins++;
	}
}

/* Brings the forecasts of the cut series to what the roadmap knew then. */
static enum berth_code
backtest_events(const struct past *p, const struct fc_options *opt, fc_uses_fn *uses, void *arg, struct arena *a,
    struct berth_err *err)
{
	struct fc_series *in = arena_array(a, p->m + 1, sizeof(*in));
	struct fc_event_use **use = arena_array(a, p->m + 1, sizeof(*use));
	bool changed = false;
	size_t n = 0;
	enum berth_code rc = uses(arg, p->cut, p->which, p->m, a, use, &n, err);

	if (rc != BERTH_OK || n == 0)
		return rc;
	for (size_t q = 0; q < p->m; q++) {
		fc_events_history(&p->cut[q], use[q], n, a, &in[q]);
		changed = changed || in[q].mean != p->cut[q].mean;
	}
	if (changed)
		rc = fc_run_many(in, p->m, opt, a, p->res, err);
	for (size_t q = 0; q < p->m && rc == BERTH_OK; q++)
		fc_events_apply(&p->res[q], use[q], n, opt->seed, opt->cap);
	return rc;
}

enum berth_code
fc_backtest_events(const struct fc_series *s, size_t n, const struct fc_options *opt, size_t origins, fc_uses_fn *uses,
    void *arg, struct arena *a, struct fc_backtest *out, struct fc_backtest *without_out, struct berth_err *err)
{
	struct past p = { arena_array(a, n + 1, sizeof(*p.cut)), arena_array(a, n + 1, sizeof(*p.which)), 0,
		arena_array(a, n + 1, sizeof(*p.res)) };
	struct sums *sums = arena_array(a, n + 1, sizeof(*sums)), *without = arena_array(a, n + 1, sizeof(*without));
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n; i++)
		out[i] = without_out[i] = (struct fc_backtest){ .name = s[i].name };
	for (size_t k = 0; k < origins && rc == BERTH_OK; k++) {
		struct arena *scratch = arena_new();

		backtest_cut(s, n, opt->horizon, origins, k, &p);
		rc = fc_run_many(p.cut, p.m, opt, scratch, p.res, err);
		if (rc == BERTH_OK) {
			backtest_score(s, &p, opt->horizon, without, without_out);
			for (size_t q = 0; q < p.m; q++)
				backtest_peers(&p.cut[q], s[p.which[q]].mean + p.cut[q].n, opt->horizon, scratch, &without[p.which[q]]);
			if (uses != NULL)
				rc = backtest_events(&p, opt, uses, arg, scratch, err);
		}
		if (rc == BERTH_OK && uses != NULL)
			backtest_score(s, &p, opt->horizon, sums, out);
		arena_free(scratch);
	}
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		backtest_means(&without[i], &without_out[i]);
		if (uses == NULL)
			continue;
		memcpy(sums[i].peer_mase, without[i].peer_mase, sizeof(sums[i].peer_mase));
		memcpy(sums[i].peer_smape, without[i].peer_smape, sizeof(sums[i].peer_smape));
		backtest_means(&sums[i], &out[i]);
	}
	return rc;
}

enum berth_code
fc_backtest(const struct fc_series *s, size_t n, const struct fc_options *opt, size_t origins, struct arena *a,
    struct fc_backtest *out, struct berth_err *err)
{
	struct fc_backtest *none = arena_array(a, n + 1, sizeof(*none));

	return fc_backtest_events(s, n, opt, origins, NULL, NULL, a, none, out, err);
}
