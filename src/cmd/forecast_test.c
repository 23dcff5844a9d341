#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/forecast.h"
#include "store/series_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

/* The second column only where a roadmap was tried. */
#define SCORE_COLS(roadmap)                                                                        \
	{ "series", NULL, TABLE_TEXT, 0, TABLE_NAME },                                             \
	    roadmap{ "as_of", NULL, TABLE_TIME, 0, TABLE_WIDE },                                   \
	    { "origins", NULL, TABLE_INT, 0, 0 },                                                  \
	    { "horizon_s", "HORIZON", TABLE_DURATION, 0, 0 },                                      \
	    { "mase", NULL, TABLE_DOUBLE, 3, 0 }, { "smape", NULL, TABLE_DOUBLE, 1, 0 },           \
	    { "pinball", NULL, TABLE_DOUBLE, 3, 0 },                                               \
	    { "coverage90", "IN-90%", TABLE_SHARE, 0, 0 },                                         \
	    { "peak_pinball95", "PEAK-LOSS", TABLE_DOUBLE, 4, 0 },                                 \
	{                                                                                          \
		"peak_exceeded95", "OVER-P95", TABLE_SHARE, 0, 0                                   \
	}
#define SCORE_ROADMAP { "roadmap", NULL, TABLE_TEXT, 0, 0 },
static const struct table_col forecast_score_cols[] = { SCORE_COLS() };
static const struct table_col forecast_score_cols_map[] = { SCORE_COLS(SCORE_ROADMAP) };

struct forecast_line {
	const char *name;
	size_t origins;
	int64_t as_of; /* of a stored forecast; 0: of several past times */
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
	*out = (struct forecast_line){ .name = "mean of all",
		.horizon_s = n > 0 ? v[0].horizon_s : 0 };
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

/* roadmap: "with", "without"; NULL: there is no such column. */
static void
forecast_score_row(struct table *t, const struct forecast_line *v, const char *roadmap)
{
	table_row(t);
	table_text(t, v->name);
	if (roadmap != NULL)
		table_text(t, roadmap);
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

/* What is shown: lines, and where they were made twice the same without the roadmap; peers of each.
 */
struct forecast_scored {
	const struct forecast_line *v, *without; /* [n]; without NULL: there was no roadmap */
	const struct fc_backtest *peers;         /* [n]; NULL: not asked for */
	size_t n;
	const struct roadmap *map;
};

static enum berth_code
forecast_lines_json(struct cmd_ctx *ctx, const struct forecast_scored *s, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.backtest/1");
	struct forecast_line all;

	if (s->without != NULL)
		roadmap_json(w, s->map);
	jsonw_begin_array(w, "series");
	for (size_t i = 0; i < s->n; i++) {
		const struct forecast_line *v = &s->v[i];

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", v->name);
		jsonw_time_or_null(w, "as_of", v->as_of);
		jsonw_int(w, "origins", (int64_t)v->origins);
		jsonw_int(w, "horizon_s", v->horizon_s);
		forecast_score_json(w, &v->score);
		if (s->without != NULL) {
			jsonw_begin_object(w, "without_roadmap");
			forecast_score_json(w, &s->without[i].score);
			jsonw_end_object(w);
		}
		if (s->peers != NULL)
			forecast_peers_json(w, &s->peers[i]);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	forecast_means(s->v, s->n, &all);
	jsonw_begin_object(w, "summary");
	jsonw_int(w, "origins", (int64_t)all.origins);
	forecast_score_json(w, &all.score);
	if (s->without != NULL) {
		forecast_means(s->without, s->n, &all);
		jsonw_begin_object(w, "without_roadmap");
		forecast_score_json(w, &all.score);
		jsonw_end_object(w);
	}
	jsonw_end_object(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
forecast_lines(struct cmd_ctx *ctx, const struct forecast_scored *s, struct berth_err *err)
{
	const char *with = s->without != NULL ? "with" : NULL;
	struct forecast_line all;
	struct table *t;

	if (cmd_wants_json(ctx))
		return forecast_lines_json(ctx, s, err);
	t = with != NULL ? table_new(ctx->arena, forecast_score_cols_map,
			       sizeof(forecast_score_cols_map) / sizeof(forecast_score_cols_map[0]))
			 : table_new(ctx->arena, forecast_score_cols,
			       sizeof(forecast_score_cols) / sizeof(forecast_score_cols[0]));
	for (size_t i = 0; i < s->n; i++) {
		forecast_score_row(t, &s->v[i], with);
		if (with != NULL)
			forecast_score_row(t, &s->without[i], "without");
	}
	if (s->n > 1) {
		forecast_means(s->v, s->n, &all);
		forecast_score_row(t, &all, with);
		table_mark(t, TABLE_BOLD);
	}
	if (s->n > 1 && with != NULL) {
		forecast_means(s->without, s->n, &all);
		forecast_score_row(t, &all, "without");
		table_mark(t, TABLE_BOLD);
	}
	return cmd_table_print(ctx, t, err);
}

#define COMPARE_COLS(roadmap)                                                                      \
	{ "series", NULL, TABLE_TEXT, 0, TABLE_NAME }, { "origins", NULL, TABLE_INT, 0, 0 },       \
	    { "berth", NULL, TABLE_DOUBLE, 3, 0 },                                                 \
	    roadmap{ "last_value", NULL, TABLE_DOUBLE, 3, 0 },                                     \
	    { "seasonal_naive", "SNAIVE", TABLE_DOUBLE, 3, 0 },                                    \
	    { "naive2", NULL, TABLE_DOUBLE, 3, 0 }, { "ses", NULL, TABLE_DOUBLE, 3, 0 },           \
	{                                                                                          \
		"theta", NULL, TABLE_DOUBLE, 3, 0                                                  \
	}
#define COMPARE_ROADMAP { "without_roadmap", "NO-ROADMAP", TABLE_DOUBLE, 3, 0 },

/* MASE of every method, one row a series; the least is the best. */
static enum berth_code
forecast_compare(struct cmd_ctx *ctx, const struct forecast_scored *s, struct berth_err *err)
{
	static const struct table_col cols[] = { COMPARE_COLS() },
				      cols_map[] = { COMPARE_COLS(COMPARE_ROADMAP) };
	double sum[2 + FC_PEER_COUNT] = { 0 }, count = 0;
	bool both = s->without != NULL;
	struct table *t =
	    both ? table_new(ctx->arena, cols_map, sizeof(cols_map) / sizeof(cols_map[0]))
		 : table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	int64_t origins = 0;

	for (size_t i = 0; i < s->n; i++) {
		double mase[2 + FC_PEER_COUNT] = { s->v[i].score.mase,
			both ? s->without[i].score.mase : NAN };
		bool known = !isnan(mase[0]);

		memcpy(mase + 2, s->peers[i].peer_mase, sizeof(s->peers[i].peer_mase));
		table_row(t);
		table_text(t, s->v[i].name);
		table_int(t, (int64_t)s->v[i].origins);
		origins += (int64_t)s->v[i].origins;
		count += known ? 1 : 0;
		for (size_t p = 0; p < 2 + FC_PEER_COUNT; p++) {
			if (p != 1 || both)
				table_double(t, mase[p]);
			sum[p] += known ? mase[p] : 0;
		}
	}
	if (s->n > 1) {
		table_row(t);
		table_text(t, "mean of all");
		table_int(t, origins);
		for (size_t p = 0; p < 2 + FC_PEER_COUNT; p++)
			if (p != 1 || both)
				table_double(t, count > 0 ? sum[p] / count : NAN);
		table_mark(t, TABLE_BOLD);
	}
	return cmd_table_print(ctx, t, err);
}

/* The roadmap as it was known at past instants. */
struct forecast_then {
	const struct roadmap *map;
	const struct accel_table *accels;
	const struct series *rows;
	const size_t *index; /* places in rows of the series of this run */
};

static enum berth_code
forecast_uses_then(void *arg, const struct fc_series *cut, const size_t *which, size_t m,
    struct arena *a, struct fc_event_use **uses_out, size_t *n_out, struct berth_err *err)
{
	const struct forecast_then *then = arg;
	struct series *rows = arena_array(a, m + 1, sizeof(*rows));

	(void)err;
	for (size_t q = 0; q < m; q++)
		rows[q] = then->rows[then->index[which[q]]];
	roadmap_uses_then(then->map, then->accels, rows, cut, m, a, uses_out);
	*n_out = then->map->n;
	return BERTH_OK;
}

/* Says what the scores with the roadmap rest on. */
static void
forecast_known(struct cmd_ctx *ctx, const struct roadmap *map)
{
	const char **name = arena_array(ctx->arena, map->n, sizeof(*name));
	size_t n = 0;

	for (size_t k = 0; k < map->n; k++)
		if (map->entries[k].known == 0)
			name[n++] = map->entries[k].event.name;
	if (n > 0)
		cmd_note(ctx,
		    "events without a date `known` count as known at every past time: %s; give it "
		    "in the roadmap where nobody knew of them so early (berth-roadmap(5))",
		    str_join(ctx->arena, name, n, ", "));
}

struct forecast_tests {
	struct fc_backtest *with, *without;  /* [n] */
	struct forecast_line *v, *v_without; /* [n] */
};

/* All series of the step of series `first` together. */
static enum berth_code
forecast_backtest_step(struct cmd_ctx *ctx, const struct forecast_set *f, size_t first,
    int64_t horizon_s, struct forecast_then *then, struct forecast_tests *t, struct berth_err *err)
{
	struct fc_series *in = arena_array(ctx->arena, f->n, sizeof(*in));
	struct fc_backtest *with = arena_array(ctx->arena, f->n, sizeof(*with)),
			   *without = arena_array(ctx->arena, f->n, sizeof(*without));
	double *caps = arena_array(ctx->arena, f->n, sizeof(*caps));
	size_t *index = arena_array(ctx->arena, f->n, sizeof(*index)), m = 0;
	size_t origins = (size_t)((const struct forecast_opts *)ctx->opts)->origins;
	bool both = then->map->n > 0;
	struct fc_options o;
	enum berth_code rc;

	for (size_t i = first; i < f->n; i++)
		if (f->in[i].step_s == f->in[first].step_s) {
			index[m] = i;
			caps[m] = f->caps[i];
			in[m++] = f->in[i];
		}
	then->index = index;
	rc = forecast_options(ctx, f->in[first].step_s, horizon_s, &o, err);
	o.caps = caps;
	if (rc == BERTH_OK)
		rc = fc_backtest_events(in, m, &o, origins, both ? forecast_uses_then : NULL, then,
		    ctx->arena, with, without, err);
	for (size_t k = 0; k < m && rc == BERTH_OK; k++) {
		size_t i = index[k];
		int64_t ahead = (int64_t)o.horizon * f->in[first].step_s;

		t->with[i] = both ? with[k] : without[k];
		t->without[i] = without[k];
		t->v[i] = (struct forecast_line){ in[k].name, without[k].origins, 0, ahead,
			t->with[i].score };
		t->v_without[i] = (struct forecast_line){ in[k].name, without[k].origins, 0, ahead,
			without[k].score };
	}
	return rc;
}

enum berth_code
forecast_backtest(
    struct cmd_ctx *ctx, const struct forecast_set *f, int64_t horizon_s, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	struct forecast_tests t = { arena_array(ctx->arena, f->n, sizeof(*t.with)),
		arena_array(ctx->arena, f->n, sizeof(*t.without)),
		arena_array(ctx->arena, f->n, sizeof(*t.v)),
		arena_array(ctx->arena, f->n, sizeof(*t.v_without)) };
	struct roadmap map;
	struct forecast_then then = { &map, NULL, f->rows, NULL };
	struct forecast_scored scored = { t.v, NULL, o->compare ? t.with : NULL, f->n, &map };
	enum berth_code rc = roadmap_find(ctx, o->events, o->no_events, o->zone, &map, err);

	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &then.accels, err);
	if (rc == BERTH_OK && map.n > 0)
		rc = roadmap_others(ctx, &map, f->rows, f->n, 0, err);
	for (size_t first = 0; first < f->n && rc == BERTH_OK; first++)
		if (t.v[first].name == NULL)
			rc = forecast_backtest_step(ctx, f, first, horizon_s, &then, &t, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < f->n; i++)
		if (t.v[i].origins == 0)
			cmd_warn(ctx,
			    "series %s: its history of %zu steps is too short to look back over "
			    "this horizon; a shorter --horizon can be scored",
			    t.v[i].name, f->in[i].n);
	if (map.n > 0) {
		scored.without = t.v_without;
		forecast_known(ctx, &map);
	}
	return o->compare && !cmd_wants_json(ctx) ? forecast_compare(ctx, &scored, err)
						  : forecast_lines(ctx, &scored, err);
}

struct forecast_lines {
	struct arena *a;
	VEC(struct forecast_line) v;
	size_t made;
};

static enum berth_code
forecast_score_series(
    struct cmd_ctx *ctx, const struct series *s, struct forecast_lines *l, struct berth_err *err)
{
	struct arena *tmp = arena_new();
	struct forecast_score_row *rows;
	size_t n = 0;
	enum berth_code rc = forecast_known_scores(ctx, s, tmp, &rows, &n, &l->made, err);

	for (size_t i = 0; i < n && rc == BERTH_OK; i++)
		VEC_PUSH(l->a, &l->v,
		    ((struct forecast_line){ arena_strdup(l->a, s->name), 1, rows[i].as_of,
			rows[i].known_s,
			{ rows[i].mase, rows[i].smape, rows[i].pinball, rows[i].coverage90,
			    rows[i].peak_pinball95, rows[i].peak_exceeded95 } }));
	arena_free(tmp);
	return rc;
}

enum berth_code
forecast_record(struct cmd_ctx *ctx, const struct series *s, size_t *n_out,
    struct fc_score *mean_out, struct berth_err *err)
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
		cmd_note(ctx,
		    "no forecast can be scored yet: %zu were made, and nothing was recorded behind "
		    "them",
		    l.made);
	return forecast_lines(
	    ctx, &(struct forecast_scored){ l.v.v, NULL, NULL, l.v.n, NULL }, err);
}
