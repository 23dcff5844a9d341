#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/usage_history.h"
#include "cmd/forecast.h"
#include "store/plan_rows.h"
#include "store/series_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"
#include "util/vec.h"

static const struct table_col forecast_score_cols[] = {
	{ "series", NULL, TABLE_TEXT, 0, TABLE_CUT }, { "as_of", NULL, TABLE_TIME, 0, TABLE_WIDE }, { "origins", NULL, TABLE_INT, 0, 0 },
	{ "horizon_s", "HORIZON", TABLE_DURATION, 0, 0 }, { "mase", NULL, TABLE_DOUBLE, 3, 0 },
	{ "smape", NULL, TABLE_DOUBLE, 1, 0 }, { "pinball", NULL, TABLE_DOUBLE, 3, 0 },
	{ "coverage90", NULL, TABLE_SHARE, 0, 0 }, { "peak_pinball95", NULL, TABLE_DOUBLE, 4, 0 },
	{ "peak_exceeded95", NULL, TABLE_SHARE, 0, 0 },
};

struct forecast_line {
	const char *name;
	size_t origins;
	int64_t as_of;		/* of a stored forecast; 0: of several past times */
	int64_t horizon_s;
	struct fc_score score;
};

/* Mean of field `at` (offset in struct fc_score) over the lines that have it. */
static double
forecast_mean(const struct forecast_line *v, size_t n, size_t at)
{
	double sum = 0, count = 0;

	for (size_t i = 0; i < n; i++) {
		double x;

		memcpy(&x, (const char *)&v[i].score + at, sizeof(x));
		if (!isnan(x)) {
			sum += x;
			count++;
		}
	}
	return count > 0 ? sum / count : NAN;
}

static void
forecast_means(const struct forecast_line *v, size_t n, struct forecast_line *out)
{
#define MEAN(field) out->score.field = forecast_mean(v, n, offsetof(struct fc_score, field))
	*out = (struct forecast_line){ .name = "mean of all", .horizon_s = n > 0 ? v[0].horizon_s : 0 };
	MEAN(mase);
	MEAN(smape);
	MEAN(pinball);
	MEAN(coverage90);
	MEAN(peak_pinball95);
	MEAN(peak_exceeded95);
#undef MEAN
	for (size_t i = 0; i < n; i++)
		out->origins += v[i].origins;
}

static void
forecast_score_json(struct jsonw *w, const struct fc_score *s)
{
	jsonw_fixed(w, "mase", s->mase, 6);
	jsonw_fixed(w, "smape", s->smape, 6);
	jsonw_fixed(w, "pinball", s->pinball, 6);
	jsonw_fixed(w, "coverage90", s->coverage90, 6);
	jsonw_fixed(w, "peak_pinball95", s->peak_pinball95, 6);
	jsonw_fixed(w, "peak_exceeded95", s->peak_exceeded95, 6);
}

static void
forecast_peers_json(struct jsonw *w, const struct fc_backtest *b)
{
	jsonw_begin_array(w, "peers");
	for (int p = 0; p < FC_PEER_COUNT; p++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", fc_peer_name((enum fc_peer)p));
		jsonw_fixed(w, "mase", b->peer_mase[p], 6);
		jsonw_fixed(w, "smape", b->peer_smape[p], 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void
forecast_score_row(struct table *t, const struct forecast_line *v)
{
	table_row(t);
	table_text(t, v->name);
	if (v->as_of != 0)
		table_time(t, v->as_of);
	else
		table_unknown(t);
	table_int(t, (int64_t)v->origins);
	table_time(t, v->horizon_s);
	table_double(t, v->score.mase);
	table_double(t, v->score.smape);
	table_double(t, v->score.pinball);
	table_double(t, v->score.coverage90);
	table_double(t, v->score.peak_pinball95);
	table_double(t, v->score.peak_exceeded95);
}

static enum berth_code
forecast_lines(struct cmd_ctx *ctx, const struct forecast_line *v, const struct fc_backtest *peers, size_t n,
    struct berth_err *err)
{
	struct forecast_line all;
	struct table *t;

	forecast_means(v, n, &all);
	if (cmd_wants_json(ctx)) {
		struct jsonw *w = cmd_json_begin(ctx, "berth.backtest/1");

		jsonw_begin_array(w, "series");
		for (size_t i = 0; i < n; i++) {
			jsonw_begin_object(w, NULL);
			jsonw_str(w, "name", v[i].name);
			jsonw_time_or_null(w, "as_of", v[i].as_of);
			jsonw_int(w, "origins", (int64_t)v[i].origins);
			jsonw_int(w, "horizon_s", v[i].horizon_s);
			forecast_score_json(w, &v[i].score);
			if (peers != NULL)
				forecast_peers_json(w, &peers[i]);
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
		jsonw_begin_object(w, "summary");
		jsonw_int(w, "origins", (int64_t)all.origins);
		forecast_score_json(w, &all.score);
		jsonw_end_object(w);
		return cmd_json_end(ctx, err);
	}
	t = table_new(ctx->arena, forecast_score_cols, sizeof(forecast_score_cols) / sizeof(forecast_score_cols[0]));
	for (size_t i = 0; i < n; i++)
		forecast_score_row(t, &v[i]);
	if (n > 1) {
		forecast_score_row(t, &all);
		table_mark(t, TABLE_BOLD);
	}
	return cmd_table_print(ctx, t, err);
}

/* MASE of every method, one row a series; the least is the best. */
static enum berth_code
forecast_compare(struct cmd_ctx *ctx, const struct fc_backtest *v, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "series", NULL, TABLE_TEXT, 0, TABLE_CUT }, { "origins", NULL, TABLE_INT, 0, 0 },
		{ "berth", NULL, TABLE_DOUBLE, 3, 0 }, { "last_value", NULL, TABLE_DOUBLE, 3, 0 },
		{ "seasonal_naive", NULL, TABLE_DOUBLE, 3, 0 }, { "naive2", NULL, TABLE_DOUBLE, 3, 0 },
		{ "ses", NULL, TABLE_DOUBLE, 3, 0 }, { "theta", NULL, TABLE_DOUBLE, 3, 0 },
	};
	double sum[1 + FC_PEER_COUNT] = { 0 }, count = 0;
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	int64_t origins = 0;

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_text(t, v[i].name);
		table_int(t, (int64_t)v[i].origins);
		table_double(t, v[i].score.mase);
		for (int p = 0; p < FC_PEER_COUNT; p++)
			table_double(t, v[i].peer_mase[p]);
		origins += (int64_t)v[i].origins;
		if (isnan(v[i].score.mase))
			continue;
		count++;
		sum[0] += v[i].score.mase;
		for (int p = 0; p < FC_PEER_COUNT; p++)
			sum[1 + p] += v[i].peer_mase[p];
	}
	if (n > 1) {
		table_row(t);
		table_text(t, "mean of all");
		table_int(t, origins);
		for (int p = 0; p <= FC_PEER_COUNT; p++)
			table_double(t, count > 0 ? sum[p] / count : NAN);
		table_mark(t, TABLE_BOLD);
	}
	return cmd_table_print(ctx, t, err);
}

enum berth_code
forecast_backtest(struct cmd_ctx *ctx, const struct forecast_set *f, int64_t horizon_s, struct berth_err *err)
{
	struct forecast_line *v = arena_array(ctx->arena, f->n, sizeof(*v));
	struct fc_series *in = arena_array(ctx->arena, f->n, sizeof(*in));
	struct fc_backtest *out = arena_array(ctx->arena, f->n, sizeof(*out));
	struct fc_backtest *all = arena_array(ctx->arena, f->n, sizeof(*all));
	size_t *index = arena_array(ctx->arena, f->n, sizeof(*index));
	size_t origins = (size_t)((const struct forecast_opts *)ctx->opts)->origins;

	for (size_t first = 0; first < f->n; first++) {
		struct fc_options o;
		enum berth_code rc;
		size_t m = 0;

		if (v[first].name != NULL)
			continue;
		for (size_t i = first; i < f->n; i++)
			if (f->in[i].step_s == f->in[first].step_s) {
				index[m] = i;
				in[m++] = f->in[i];
			}
		rc = forecast_options(ctx, f->in[first].step_s, horizon_s, &o, err);
		if (rc == BERTH_OK)
			rc = fc_backtest(in, m, &o, origins, ctx->arena, out, err);
		if (rc != BERTH_OK)
			return rc;
		for (size_t k = 0; k < m; k++) {
			all[index[k]] = out[k];
			v[index[k]] = (struct forecast_line){ out[k].name, out[k].origins, 0,
				(int64_t)o.horizon * f->in[first].step_s, out[k].score };
		}
	}
	for (size_t i = 0; i < f->n; i++)
		if (v[i].origins == 0)
			cmd_warn(ctx, "series %s: the history of %zu steps is too short to look back over this horizon",
			    v[i].name, f->in[i].n);
	if (((const struct forecast_opts *)ctx->opts)->compare && !cmd_wants_json(ctx))
		return forecast_compare(ctx, all, f->n, err);
	return forecast_lines(ctx, v, ((const struct forecast_opts *)ctx->opts)->compare ? all : NULL, f->n, err);
}

/* What a stored forecast said, as far as it can be scored. */
static enum berth_code
forecast_stored(struct arena *tmp, const struct forecast_row *row, struct fc_result *r, struct berth_err *err)
{
	static const struct { const char *key; enum fc_level level; } keys[] = {
		{ "p05", FC_P05 }, { "p50", FC_P50 }, { "p90", FC_P90 }, { "p95", FC_P95 }, { "p99", FC_P99 },
	};
	struct jsonr root, points, peak;
	json_t *tree = NULL;
	enum berth_code rc = jsonr_parse(row->json, strlen(row->json), row->series, &tree, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, row->series);
	*r = (struct fc_result){ .name = row->series, .t0 = row->as_of };
	rc = jsonr_int(&root, "step_s", 1, INT64_MAX, &r->step_s, err);
	if (rc == BERTH_OK)
		rc = jsonr_array(&root, "points", &points, err);
	if (rc == BERTH_OK)
		rc = jsonr_object(&root, "peak", &peak, err);
	if (rc == BERTH_OK)
		rc = jsonr_double(&peak, "p95", &r->peak[FC_PEAK95], err);
	r->horizon = rc == BERTH_OK ? jsonr_len(&points) : 0;
	r->mean = arena_array(tmp, r->horizon, sizeof(double));
	r->q = arena_array(tmp, r->horizon * FC_LEVEL_COUNT, sizeof(double));
	for (size_t i = 0; rc == BERTH_OK && i < r->horizon; i++) {
		struct jsonr p = jsonr_at(&points, i);

		rc = jsonr_double(&p, "mean", &r->mean[i], err);
		for (size_t l = 0; rc == BERTH_OK && l < sizeof(keys) / sizeof(keys[0]); l++)
			rc = jsonr_double(&p, keys[l].key, &r->q[i * FC_LEVEL_COUNT + keys[l].level], err);
	}
	json_decref(tree);
	return rc;
}

/* Scores one stored forecast as far as the truth in h is known; false: nothing is known yet. */
static enum berth_code
forecast_score_stored(struct arena *tmp, const struct usage_history *h, const struct forecast_row *row,
    struct forecast_line *line, bool *known_out, struct berth_err *err)
{
	const struct fc_series *all = &h->s;
	struct fc_series history = *all;
	struct fc_result r;
	size_t from, n;
	enum berth_code rc = forecast_stored(tmp, row, &r, err);

	*known_out = false;
	/* What came is kept as days by now, laid out by a guess: it scores nothing. */
	if (rc != BERTH_OK || all->n == 0 || all->step_s != r.step_s || row->as_of <= all->t0 || row->as_of < h->days_until)
		return rc;
	from = (size_t)((row->as_of - all->t0) / all->step_s);
	if (from >= all->n)
		return BERTH_OK;
	history.n = from;
	n = all->n - from < r.horizon ? all->n - from : r.horizon;
	*line = (struct forecast_line){ .origins = 1, .as_of = row->as_of, .horizon_s = (int64_t)n * r.step_s };
	fc_score_result(&r, &history, all->mean + from, all->peak != NULL ? all->peak + from : NULL, n, &line->score);
	*known_out = true;
	return BERTH_OK;
}

struct forecast_lines {
	struct arena *a;
	VEC(struct forecast_line) v;
	size_t made;
};

/* The forecasts of one series that can be scored, oldest first; scratch holds no more than those of one series. */
static enum berth_code
forecast_score_series(struct cmd_ctx *ctx, const struct series *s, struct forecast_lines *l, struct berth_err *err)
{
	struct arena *tmp = arena_new();
	struct usage_history h = { .days_until = 0 };
	struct forecast_row *rows;
	size_t n = 0;
	enum berth_code rc = store_forecast_list(ctx->store, s->name, 0, tmp, &rows, &n, err);

	l->made += n;
	if (rc == BERTH_OK && n > 0 && s->samples > 0)
		rc = usage_history(ctx->store, s, 0, 0, tmp, &h, err);
	for (size_t i = n; i-- > 0 && rc == BERTH_OK && s->samples > 0;) {
		struct forecast_line line;
		bool known;

		rc = forecast_score_stored(tmp, &h, &rows[i], &line, &known, err);
		if (rc != BERTH_OK || !known)
			continue;
		line.name = arena_strdup(l->a, s->name);
		VEC_PUSH(l->a, &l->v, line);
	}
	arena_free(tmp);
	return rc;
}

enum berth_code
forecast_record(struct cmd_ctx *ctx, const struct series *s, size_t *n_out, struct fc_score *mean_out, struct berth_err *err)
{
	struct forecast_lines l = { .a = ctx->arena };
	struct forecast_line all;
	enum berth_code rc = forecast_score_series(ctx, s, &l, err);

	if (rc != BERTH_OK)
		return rc;
	forecast_means(l.v.v, l.v.n, &all);
	*n_out = l.v.n;
	*mean_out = all.score;
	return BERTH_OK;
}

enum berth_code
forecast_scores(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct forecast_lines l = { .a = ctx->arena };
	struct forecast_set f = { 0 };
	enum berth_code rc = forecast_pick(ctx, &f, err);

	for (size_t i = 0; i < f.n && rc == BERTH_OK; i++)
		rc = forecast_score_series(ctx, &f.rows[i], &l, err);
	if (rc != BERTH_OK)
		return rc;
	if (l.v.n == 0)
		cmd_note(ctx, "no forecast can be scored yet: %zu were made, and nothing was recorded behind them", l.made);
	return forecast_lines(ctx, l.v.v, NULL, l.v.n, err);
}
