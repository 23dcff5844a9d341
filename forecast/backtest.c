/* forecast/backtest.c - rolling origins over the past of each series.  Floor: domain.
 *
 * Series of one run learn from each other, so all of them are cut at the same instant: what another
 * one did later was not known then.
 */
#include "forecast/event.h"
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BACKTEST_INSTANTS = 4
}; /* times the origins asked for: at most so many instants have runs of their own */

struct sums {
	double v[6], n[6];
	double peer_mase[FC_PEER_COUNT], peer_smape[FC_PEER_COUNT];
};

static void
backtest_add(struct sums *s, const struct fc_score *x)
{
	const double v[6] = { x->mase, x->smape, x->pinball, x->coverage90, x->peak_pinball95,
		x->peak_exceeded95 };

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
	out->score =
	    (struct fc_score){ backtest_mean(s, 0), backtest_mean(s, 1), backtest_mean(s, 2),
		    backtest_mean(s, 3), backtest_mean(s, 4), backtest_mean(s, 5) };
	for (int p = 0; p < FC_PEER_COUNT; p++) {
		out->peer_mase[p] = s->n[0] > 0 ? s->peer_mase[p] / s->n[0] : NAN;
		out->peer_smape[p] = s->n[1] > 0 ? s->peer_smape[p] / s->n[1] : NAN;
	}
}

/* The simple methods from the same origin: history cut, truth behind it. */
static void
backtest_peers(
    const struct fc_series *cut, const double *truth, size_t h, struct arena *a, struct sums *s)
{
	size_t season = cut->step_s < 86400 && 86400 % cut->step_s == 0
			    ? (size_t)(86400 / cut->step_s)
			    : 7,
	       skip = 0;
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

		if (fc_peer((enum fc_peer)p, y + skip, cut->n - skip, season, h, r.mean,
			&ignored) != BERTH_OK)
			for (size_t i = 0; i < h; i++)
				r.mean[i] = y[cut->n - 1];
		fc_score_result(&r, cut, truth, NULL, h, &score);
		s->peer_mase[p] += isnan(score.mase) ? 0 : score.mase;
		s->peer_smape[p] += isnan(score.smape) ? 0 : score.smape;
	}
}

/* Steps seen at origin k of `origins`; 0 if the history is too short for it. The last leaves just
 * the horizon. */
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

/* An instant that a series is forecast from. */
struct origin {
	int64_t t;
	size_t i, at; /* of series i, of which that many steps are seen */
};

static int
backtest_cmp(const void *a, const void *b)
{
	const struct origin *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

/* Steps of s that are over at time t. */
static size_t
backtest_seen(const struct fc_series *s, int64_t t)
{
	int64_t at = t > s->t0 ? (t - s->t0) / s->step_s : 0;

	return at < (int64_t)s->n ? (size_t)at : s->n;
}

static bool
backtest_known(const struct fc_series *s, size_t at)
{
	for (size_t t = 0; t < at; t++)
		if (!isnan(s->mean[t]))
			return true;
	return false;
}

/* Where series have dates of their own, origins go back to a few common instants: each instant
 * costs a pool. One that would lose half of its history stays. */
static void
backtest_align(const struct fc_series *s, struct origin *o, size_t n, size_t most)
{
	int64_t last, apart;
	size_t instants = n > 0 ? 1 : 0;

	for (size_t k = 1; k < n; k++)
		instants += o[k].t != o[k - 1].t;
	if (instants <= most)
		return;
	last = o[n - 1].t;
	apart = (last - o[0].t) / (int64_t)most + 1;
	apart += s[0].step_s - 1 - (apart - 1) % s[0].step_s;
	for (size_t k = 0; k < n; k++) {
		int64_t t = last - (last - o[k].t + apart - 1) / apart * apart;
		size_t at = backtest_seen(&s[o[k].i], t);

		if (2 * at >= o[k].at && backtest_known(&s[o[k].i], at))
			o[k] = (struct origin){ t, o[k].i, at };
	}
	qsort(o, n, sizeof(*o), backtest_cmp);
}

/* All origins in the order of time. */
static size_t
backtest_origins(const struct fc_series *s, size_t n, size_t horizon, size_t origins,
    struct arena *a, struct origin **out)
{
	struct origin *o = arena_array(a, n * origins + 1, sizeof(*o));
	size_t m = 0, kept = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < origins; k++) {
			size_t at = backtest_at(&s[i], horizon, origins, k);

			if (backtest_known(&s[i], at))
				o[m++] =
				    (struct origin){ s[i].t0 + (int64_t)at * s[i].step_s, i, at };
		}
	qsort(o, m, sizeof(*o), backtest_cmp);
	backtest_align(s, o, m, BACKTEST_INSTANTS * origins);
	for (size_t k = 0; k < m; k++)
		if (kept == 0 || backtest_cmp(&o[kept - 1], &o[k]) != 0)
			o[kept++] = o[k];
	*out = o;
	return kept;
}

/* All series as they were at one instant, those that are scored first, and what the roadmap knew
 * then. */
struct past {
	const struct fc_series *s;
	size_t n;
	const struct fc_options *opt;
	struct fc_series *cut;     /* [m] */
	struct fc_series *in;      /* [m] as the events have left it */
	size_t *which, m, scored;  /* their places in s */
	bool *taken;               /* [n] */
	struct fc_event_use **use; /* [m][n_uses] */
	size_t n_uses;
	double *caps;                /* [m] */
	bool changed;                /* in is not cut */
	struct sums *sums, *without; /* [n] of s */
	struct fc_backtest *out, *without_out;
};

static void
backtest_take(struct past *p, size_t i, size_t at)
{
	p->cut[p->m] = p->s[i];
	p->cut[p->m].n = at;
	p->caps[p->m] = p->opt->caps != NULL ? p->opt->caps[i] : p->opt->cap;
	p->which[p->m++] = i;
	p->taken[i] = true;
}

/* The first origins of o, those at one instant, and beside them what was known of all other series;
 * returns how many. */
static size_t
backtest_cut(const struct origin *o, size_t n, struct past *p)
{
	memset(p->taken, 0, p->n * sizeof(*p->taken));
	p->m = 0;
	for (p->scored = 0; p->scored < n && o[p->scored].t == o[0].t; p->scored++)
		backtest_take(p, o[p->scored].i, o[p->scored].at);
	for (size_t i = 0; i < p->n; i++) {
		size_t at = backtest_seen(&p->s[i], o[0].t);

		if (!p->taken[i] && backtest_known(&p->s[i], at))
			backtest_take(p, i, at);
	}
	return p->scored;
}

static void
backtest_score(const struct past *p, size_t q, const struct fc_result *r, struct sums *sums,
    struct fc_backtest *out)
{
	const struct fc_series *full = &p->s[p->which[q]];
	size_t at = p->cut[q].n;
	struct fc_score score;

	fc_score_result(r, &p->cut[q], full->mean + at, full->peak != NULL ? full->peak + at : NULL,
	    p->opt->horizon, &score);
	backtest_add(&sums[p->which[q]], &score);
	out[p->which[q]].origins++;
}

/* The forecast with what the roadmap knew then. */
static enum berth_code
backtest_with(void *arg, size_t q, struct fc_result *r, struct arena *a, struct berth_err *err)
{
	struct past *p = arg;

	(void)a;
	(void)err;
	if (p->n_uses > 0)
		fc_events_apply(r, p->use[q], p->n_uses, p->opt->seed, p->caps[q]);
	backtest_score(p, q, r, p->sums, p->out);
	return BERTH_OK;
}

/* The forecast without, and the peers; where the events change no history, it is the one with them
 * too. */
static enum berth_code
backtest_without(void *arg, size_t q, struct fc_result *r, struct arena *a, struct berth_err *err)
{
	struct past *p = arg;

	backtest_score(p, q, r, p->without, p->without_out);
	backtest_peers(&p->cut[q], p->s[p->which[q]].mean + p->cut[q].n, p->opt->horizon, a,
	    &p->without[p->which[q]]);
	return p->use != NULL && !p->changed ? backtest_with(p, q, r, a, err) : BERTH_OK;
}

static enum berth_code
backtest_run(struct past *p, const struct fc_series *in, fc_sink_fn *sink, struct berth_err *err)
{
	struct fc_options own = *p->opt;
	struct fc_run *run;
	enum berth_code rc;

	own.caps = p->caps;
	rc = fc_run_open(in, p->m, &own, &run, err);
	if (rc != BERTH_OK)
		return rc;
	rc = fc_run_each(run, NULL, p->scored, true, sink, p, err);
	fc_run_close(run);
	return rc;
}

/* What the roadmap knew then, and the cut histories brought to it. */
static enum berth_code
backtest_events(struct past *p, fc_uses_fn *uses, void *arg, struct arena *a, struct berth_err *err)
{
	enum berth_code rc;

	p->in = arena_array(a, p->m + 1, sizeof(*p->in));
	p->use = arena_array(a, p->m + 1, sizeof(*p->use));
	p->n_uses = 0;
	p->changed = false;
	rc = uses(arg, p->cut, p->which, p->m, a, p->use, &p->n_uses, err);
	for (size_t q = 0; q < p->m && rc == BERTH_OK && p->n_uses > 0; q++) {
		fc_events_history(&p->cut[q], p->use[q], p->n_uses, a, &p->in[q]);
		p->changed = p->changed || p->in[q].mean != p->cut[q].mean;
	}
	return rc;
}

enum berth_code
fc_backtest_events(const struct fc_series *s, size_t n, const struct fc_options *opt,
    size_t origins, fc_uses_fn *uses, void *arg, struct arena *a, struct fc_backtest *out,
    struct fc_backtest *without_out, struct berth_err *err)
{
	struct past p = { .s = s,
		.n = n,
		.opt = opt,
		.cut = arena_array(a, n + 1, sizeof(*p.cut)),
		.which = arena_array(a, n + 1, sizeof(*p.which)),
		.taken = arena_array(a, n + 1, sizeof(*p.taken)),
		.caps = arena_array(a, n + 1, sizeof(*p.caps)),
		.sums = arena_array(a, n + 1, sizeof(*p.sums)),
		.without = arena_array(a, n + 1, sizeof(*p.without)),
		.out = out,
		.without_out = without_out };
	struct origin *o;
	size_t n_o = backtest_origins(s, n, opt->horizon, origins, a, &o);
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n; i++)
		out[i] = without_out[i] = (struct fc_backtest){ .name = s[i].name };
	for (size_t k = 0; k < n_o && rc == BERTH_OK;) {
		struct arena *scratch = arena_new();

		k += backtest_cut(o + k, n_o - k, &p);
		if (uses != NULL)
			rc = backtest_events(&p, uses, arg, scratch, err);
		if (rc == BERTH_OK)
			rc = backtest_run(&p, p.cut, backtest_without, err);
		if (rc == BERTH_OK && uses != NULL && p.changed)
			rc = backtest_run(&p, p.in, backtest_with, err);
		arena_free(scratch);
	}
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		backtest_means(&p.without[i], &without_out[i]);
		if (uses == NULL)
			continue;
		memcpy(p.sums[i].peer_mase, p.without[i].peer_mase, sizeof(p.sums[i].peer_mase));
		memcpy(p.sums[i].peer_smape, p.without[i].peer_smape, sizeof(p.sums[i].peer_smape));
		backtest_means(&p.sums[i], &out[i]);
	}
	return rc;
}

enum berth_code
fc_backtest(const struct fc_series *s, size_t n, const struct fc_options *opt, size_t origins,
    struct arena *a, struct fc_backtest *out, struct berth_err *err)
{
	struct fc_backtest *none = arena_array(a, n + 1, sizeof(*none));

	return fc_backtest_events(s, n, opt, origins, NULL, NULL, a, none, out, err);
}
