#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "broker/usage_history.h"
#include "cmd/forecast.h"
#include "store/forecast_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/time.h"

#define SETTLE_DAY_S INT64_C(86400)
#define SETTLE_RECENT_S                                                                            \
	(2 * SETTLE_DAY_S) /* before the newest forecast: all are kept; before that the first of   \
			      each day */
#define SETTLE_LATE_S (7 * SETTLE_DAY_S) /* behind a forecast's end: samples may come late */
#define SETTLE_UNKNOWN_S                                                                           \
	(92 * SETTLE_DAY_S) /* behind its end: a truth that has not come by then does not come */

/* A stored forecast as the library's result, as far as it is scored. */
static void
settle_result(const struct forecast_row *row, struct arena *a, struct fc_result *r)
{
	static const enum fc_level levels[FORECAST_ROW_LEVELS] = { FC_P05, FC_P50, FC_P90, FC_P95,
		FC_P99 };

	*r = (struct fc_result){
		.name = row->series, .t0 = row->as_of, .step_s = row->step_s, .horizon = row->n
	};
	memcpy(r->peak, row->peak, sizeof(r->peak));
	r->mean = arena_memdup(a, row->mean, row->n * sizeof(*row->mean));
	r->q = arena_array(a, row->n * FC_LEVEL_COUNT, sizeof(*r->q));
	for (size_t i = 0; i < row->n; i++)
		for (size_t l = 0; l < FORECAST_ROW_LEVELS; l++)
			r->q[i * FC_LEVEL_COUNT + levels[l]] = row->q[i * FORECAST_ROW_LEVELS + l];
}

/* Scores one stored forecast as far as the truth in h is known; false: nothing is known yet. */
static bool
settle_score(const struct usage_history *h, const struct forecast_row *row, struct arena *a,
    struct forecast_score_row *out)
{
	const struct fc_series *all = &h->s;
	struct fc_series history = *all;
	struct fc_score s;
	struct fc_result r;
	size_t from, n;

	/* What came is kept as days by now, laid out by a guess: it scores nothing. */
	if (all->n == 0 || all->step_s != row->step_s || row->as_of <= all->t0 ||
	    row->as_of < h->days_until)
		return false;
	from = (size_t)((row->as_of - all->t0) / all->step_s);
	if (from >= all->n)
		return false;
	settle_result(row, a, &r);
	history.n = from;
	n = all->n - from < r.horizon ? all->n - from : r.horizon;
	fc_score_result(
	    &r, &history, all->mean + from, all->peak != NULL ? all->peak + from : NULL, n, &s);
	*out = (struct forecast_score_row){ row->series, row->as_of, row->horizon_s, row->made,
		(int64_t)n * row->step_s, s.mase, s.smape, s.pinball, s.coverage90,
		s.peak_pinball95, s.peak_exceeded95 };
	return true;
}

static int
settle_cmp(const void *a, const void *b)
{
	const struct forecast_score_row *x = a, *y = b;

	if (x->as_of != y->as_of)
		return x->as_of < y->as_of ? -1 : 1;
	return (x->horizon_s > y->horizon_s) - (x->horizon_s < y->horizon_s);
}

enum berth_code
forecast_known_scores(struct cmd_ctx *ctx, const struct series *s, struct arena *a,
    struct forecast_score_row **rows_out, size_t *n_out, size_t *made, struct berth_err *err)
{
	struct arena *tmp = arena_new();
	struct usage_history h = { .days_until = 0 };
	struct forecast_score_row *settled, *rows;
	struct forecast_row *heads;
	size_t n_settled = 0, n_heads = 0, n;
	enum berth_code rc =
	    store_forecast_scores(ctx->store, s->name, a, &settled, &n_settled, err);

	if (rc == BERTH_OK)
		rc = store_forecast_heads(ctx->store, s->name, a, &heads, &n_heads, err);
	*made += n_settled + n_heads;
	if (rc == BERTH_OK && n_heads > 0 && s->samples > 0)
		rc = usage_history(ctx->store, s, 0, 0, a, &h, err);
	*rows_out = rows = arena_array(a, n_settled + n_heads, sizeof(*rows));
	n = n_settled;
	if (n_settled > 0)
		memcpy(rows, settled, n_settled * sizeof(*rows));
	for (size_t i = 0; i < n_heads && rc == BERTH_OK && h.s.n > 0; i++) {
		struct forecast_row f;

		rc = store_forecast_get(ctx->store, heads[i].id, tmp, &f, err);
		if (rc == BERTH_OK && settle_score(&h, &f, tmp, &rows[n])) {
			rows[n].series = s->name;
			n++;
		}
		arena_reset(tmp);
	}
	arena_free(tmp);
	qsort(rows, n, sizeof(*rows), settle_cmp);
	*n_out = n;
	return rc;
}

/* Is it over, or does an earlier one of its day stand for it? heads [i] by as_of. */
static bool
settle_due(const struct forecast_row *heads, size_t i, int64_t newest)
{
	const struct forecast_row *f = &heads[i];

	if (f->as_of + f->horizon_s + SETTLE_LATE_S <= newest)
		return true;
	if (f->as_of + SETTLE_RECENT_S > newest)
		return false;
	for (size_t k = i; k-- > 0 && time_floor(heads[k].as_of, SETTLE_DAY_S) ==
					  time_floor(f->as_of, SETTLE_DAY_S);)
		if (heads[k].horizon_s == f->horizon_s)
			return true;
	return false;
}

static enum berth_code
settle_one(struct cmd_ctx *ctx, const struct forecast_row *head, const struct usage_history *h,
    int64_t newest, struct arena *a, struct berth_err *err)
{
	struct forecast_score_row score;
	struct forecast_row f;
	enum berth_code rc = store_forecast_get(ctx->store, head->id, a, &f, err);

	if (rc != BERTH_OK)
		return rc;
	if (settle_score(h, &f, a, &score))
		return store_forecast_settle(ctx->store, head->id, &score, err);
	if (f.as_of + f.horizon_s + SETTLE_LATE_S <= newest &&
	    f.as_of + f.horizon_s + SETTLE_UNKNOWN_S > newest)
		return BERTH_OK;
	return store_forecast_settle(ctx->store, head->id, NULL, err);
}

enum berth_code
forecast_settle(struct cmd_ctx *ctx, const struct series *s, struct berth_err *err)
{
	struct arena *a = arena_new(), *tmp = arena_new();
	struct usage_history h = { .days_until = 0 };
	struct forecast_row *heads;
	bool read = false;
	size_t n = 0;
	enum berth_code rc = store_forecast_repack(ctx->store, s->name, err);

	if (rc == BERTH_OK)
		rc = store_forecast_heads(ctx->store, s->name, a, &heads, &n, err);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		int64_t newest = heads[n - 1].as_of;

		if (!settle_due(heads, i, newest))
			continue;
		if (!read)
			rc = usage_history(ctx->store, s, 0, 0, a, &h, err);
		read = true;
		if (rc == BERTH_OK)
			rc = settle_one(ctx, &heads[i], &h, newest, tmp, err);
		arena_reset(tmp);
	}
	arena_free(tmp);
	arena_free(a);
	return rc;
}
