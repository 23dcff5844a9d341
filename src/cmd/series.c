#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/series_waits.h"
#include "cmd/series_waste.h"
#include "cmd/unit.h"
#include "store/series_rows.h"
#include "store/tier_rows.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/plot.h"
#include "util/vec.h"

#define SERIES_STALE_STEPS 3 /* a live series is late by a step or two now and then */
#define SERIES_STALE_MIN_S INT64_C(21600)
#define SERIES_PLOT_MAX ((size_t)4 * 1024 * 1024)

struct series_opts {
	bool plot, samples, stale, waste, waits;
	int64_t from, to, stale_after_s;
};

static const struct series_opts series_defaults = { .stale_after_s = 0 };

#define OFF(field) offsetof(struct series_opts, field)
static const struct opt_row series_rows[] = {
	{ "plot", 'p', OPT_FLAG, NULL, "draw each series", OFF(plot), 0, 0, NULL },
	{ "samples", 0, OPT_FLAG, NULL, "print the samples themselves", OFF(samples), 0, 0, NULL },
	{ "from", 0, OPT_TIME, "TIME", "samples and plots begin here", OFF(from), 0, 0, NULL },
	{ "to", 0, OPT_TIME, "TIME", "samples and plots end before this", OFF(to), 0, 0, NULL },
	{ "stale", 0, OPT_FLAG, NULL, "only series that get no more samples", OFF(stale), 0, 0,
	    NULL },
	{ "waste", 0, OPT_FLAG, NULL, "GPUs that are idle or starved: hours and money", OFF(waste),
	    0, 0, NULL },
	{ "waits", 0, OPT_FLAG, NULL, "how long jobs waited for their GPUs; --samples hour by hour",
	    OFF(waits), 0, 0, NULL },
	{ "stale-after", 0, OPT_DURATION, "DUR",
	    "how late a sample may be; default 3 steps, at least 6h", OFF(stale_after_s), 1, 1e10,
	    NULL },
	{ 0 },
};

static enum berth_code series_run(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code series_delete(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd series_subs[] = {
	{ .name = "delete",
	    .summary = "delete series with their samples",
	    .args = "SERIES ...",
	    .flags = CMD_STORE_RW,
	    .args_min = 1,
	    .args_max = -1,
	    .run = series_delete },
	{ 0 },
};

const struct cmd cmd_series = {
	.name = "series",
	.summary = "show and delete recorded demand",
	.args = "[SERIES ...]",
	.opts = series_rows,
	.opts_default = &series_defaults,
	.opts_size = sizeof(series_defaults),
	.flags = CMD_STORE_RO,
	.args_max = -1,
	.run = series_run,
	.subs = series_subs,
};

/* A series with what a scan of its samples says. */
struct series_view {
	struct series row;
	struct series_stats stats;
	bool stale;
};

static bool
series_is_stale(const struct cmd_ctx *ctx, const struct series_opts *o, const struct series *s)
{
	int64_t late = SERIES_STALE_STEPS * s->step_s;

	if (late < SERIES_STALE_MIN_S)
		late = SERIES_STALE_MIN_S;
	if (o->stale_after_s > 0)
		late = o->stale_after_s;
	return s->samples == 0 || ctx->now - (s->to + s->step_s) > late;
}

/* The series that the words name, each by name or glob, in the order of names; all of them without
 * words. */
static enum berth_code
series_pick(struct cmd_ctx *ctx, struct series **rows_out, size_t *n_out, struct berth_err *err)
{
	bool *hit = arena_array_of(ctx->arena, ctx->n_args, bool);
	struct series *all;
	enum berth_code rc;
	size_t n, k = 0;

	rc = store_series_list(ctx->store, ctx->arena, &all, &n, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		bool take = ctx->n_args == 0;

		for (size_t j = 0; j < ctx->n_args; j++)
			if (strcmp(ctx->args[j], all[i].name) == 0 ||
			    glob_match(ctx->args[j], all[i].name))
				take = hit[j] = true;
		if (take)
			all[k++] = all[i];
	}
	for (size_t j = 0; j < ctx->n_args; j++)
		if (!hit[j])
			return err_set(err, BERTH_ENOTFOUND,
			    "there is no series '%s'; `berth series` lists them", ctx->args[j]);
	*rows_out = all;
	*n_out = k;
	return BERTH_OK;
}

static enum berth_code
series_table(struct cmd_ctx *ctx, const struct series_view *v, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "name", "SERIES", TABLE_TEXT, 0, TABLE_NAME },
		{ "from", NULL, TABLE_TIME, 0, 0 },
		{ "to", NULL, TABLE_TIME, 0, 0 },
		{ "step_s", "STEP", TABLE_DURATION, 0, TABLE_SPARE },
		{ "samples", NULL, TABLE_INT, 0, TABLE_SPARE },
		{ "missing", NULL, TABLE_INT, 0, TABLE_SPARE },
		{ "mean", NULL, TABLE_DOUBLE, 1, 0 },
		{ "peak", NULL, TABLE_DOUBLE, 1, 0 },
		{ "last", NULL, TABLE_DOUBLE, 1, 0 },
		{ "stale", NULL, TABLE_BOOL, 0, 0 },
		{ "unit", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "gpu_hours", NULL, TABLE_DOUBLE, 0, TABLE_WIDE },
		{ "labels", NULL, TABLE_TEXT, 0, TABLE_WIDE | TABLE_CUT },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_text(t, v[i].row.name);
		table_time(t, v[i].row.from);
		table_time(t, v[i].row.to);
		table_time(t, v[i].row.step_s);
		table_int(t, v[i].row.samples);
		table_int(t, v[i].stats.missing);
		table_double(t, v[i].stats.mean);
		table_double(t, v[i].row.peak);
		table_double(t, v[i].stats.last);
		table_bool(t, v[i].stale);
		table_text(t, v[i].row.unit);
		table_double(t, v[i].stats.gpu_seconds / 3600);
		table_text(t, v[i].row.labels);
		if (v[i].stale)
			table_mark(t, TABLE_DIM);
	}
	return cmd_table_print(ctx, t, err);
}

/* One step, hour or day as it is kept. */
typedef void series_point_fn(void *arg, int64_t t, int64_t len_s, int64_t covered_s, double mean,
    double peak, const struct sketch *sketch); /* NULL: a step */
struct series_points {
	series_point_fn *fn;
	void *arg;
};

static enum berth_code
series_bucket(void *arg, const struct tier_view *v, struct berth_err *err)
{
	const struct series_points *p = arg;

	(void)err;
	p->fn(p->arg, v->t, v->len_s, v->covered_s, v->unit_seconds / (double)v->covered_s, v->peak,
	    &v->sketch);
	return BERTH_OK;
}

/* Everything of [from, to): hours and days that begin in it, then steps. */
static enum berth_code
series_each_point(struct cmd_ctx *ctx, const struct series *s, series_point_fn *fn, void *arg,
    struct berth_err *err)
{
	const struct series_opts *o = ctx->opts;
	struct series_points p = { fn, arg };
	struct arena *a = arena_new();
	struct history h = { .d.n = 0 };
	int64_t late = 0, from;
	enum berth_code rc = store_late_until(ctx->store, s->id, &late, err);

	if (rc == BERTH_OK && late > o->from)
		rc = store_tier_each(ctx->store, s->id, o->from, o->to, series_bucket, &p, err);
	from = late > o->from ? late : o->from;
	if (rc == BERTH_OK && (o->to == 0 || from < o->to) && from <= s->to)
		rc = store_history(ctx->store, s->id, 0, from, o->to, a, &h, err);
	for (size_t i = 0; rc == BERTH_OK && i < h.d.n; i++)
		if (!isnan(h.d.mean[i]))
			fn(arg, h.d.t0 + (int64_t)i * h.d.step_s, h.d.step_s,
			    (int64_t)(h.covered[i] * (double)h.d.step_s + 0.5), h.d.mean[i],
			    h.d.peak[i], NULL);
	arena_free(a);
	return rc;
}

static void
series_json_point(void *arg, int64_t t, int64_t len_s, int64_t covered_s, double mean, double peak,
    const struct sketch *sketch)
{
	struct jsonw *w = arg;

	jsonw_begin_object(w, NULL);
	jsonw_time(w, "t", t);
	jsonw_double(w, "mean", mean);
	jsonw_double(w, "peak", peak);
	jsonw_int(w, "length_s", len_s);
	jsonw_int(w, "covered_s", covered_s);
	if (sketch != NULL) {
		jsonw_double(w, "p50", sketch_quantile(sketch, 0.5));
		jsonw_double(w, "p90", sketch_quantile(sketch, 0.9));
		jsonw_double(w, "p99", sketch_quantile(sketch, 0.99));
	}
	jsonw_end_object(w);
}

static enum berth_code
series_range(struct cmd_ctx *ctx, const struct series *s, struct dense *d, struct berth_err *err)
{
	const struct series_opts *o = ctx->opts;

	return store_samples_range(ctx->store, s->id, o->from, o->to, ctx->arena, d, err);
}

static enum berth_code
series_json(struct cmd_ctx *ctx, const struct series_view *v, size_t n, struct berth_err *err)
{
	const struct series_opts *o = ctx->opts;
	struct jsonw *w = cmd_json_begin(ctx, "berth.series/1");
	enum berth_code rc = BERTH_OK;

	jsonw_begin_array(w, "series");
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", v[i].row.name);
		jsonw_raw(w, "labels", v[i].row.labels);
		jsonw_str(w, "unit", v[i].row.unit);
		jsonw_int(w, "step_s", v[i].row.step_s);
		jsonw_time_or_null(w, "from", v[i].row.from);
		jsonw_time_or_null(w, "to", v[i].row.to);
		jsonw_int(w, "samples", v[i].row.samples);
		jsonw_int(w, "missing", v[i].stats.missing);
		jsonw_double(w, "mean", v[i].stats.mean);
		jsonw_double(w, "peak", v[i].row.peak);
		jsonw_double(w, "last", v[i].stats.last);
		jsonw_double(w, "gpu_seconds", v[i].stats.gpu_seconds);
		jsonw_bool(w, "stale", v[i].stale);
		rc = unit_series_json(w, ctx->store, &v[i].row, err);
		if (rc == BERTH_OK && o->samples) {
			jsonw_begin_array(w, "points");
			rc = series_each_point(ctx, &v[i].row, series_json_point, w, err);
			jsonw_end_array(w);
		}
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return rc == BERTH_OK ? cmd_json_end(ctx, err) : rc;
}

struct series_lines {
	struct table *t;
	const char *name;
};

static void
series_line(void *arg, int64_t t, int64_t len_s, int64_t covered_s, double mean, double peak,
    const struct sketch *sketch)
{
	const struct series_lines *l = arg;

	(void)sketch;
	(void)len_s;
	(void)covered_s;
	table_row(l->t);
	table_time(l->t, t);
	table_double(l->t, mean);
	table_double(l->t, peak);
	table_text(l->t, l->name);
}

/* As `berth record csv` reads them. */
static enum berth_code
series_samples(struct cmd_ctx *ctx, const struct series_view *v, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "timestamp", NULL, TABLE_TIME, 0, 0 },
		{ "gpus", NULL, TABLE_DOUBLE, 3, 0 },
		{ "peak", NULL, TABLE_DOUBLE, 3, 0 },
		{ "series", NULL, TABLE_TEXT, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct series_lines l = { t, v[i].row.name };

		rc = series_each_point(ctx, &v[i].row, series_line, &l, err);
	}
	return rc == BERTH_OK ? cmd_table_print(ctx, t, err) : rc;
}

static enum berth_code
series_plot(struct cmd_ctx *ctx, const struct series_view *v, size_t n, struct berth_err *err)
{
	struct plot_style style = { .columns = ctx->columns > 0 ? ctx->columns : 80,
		.rows = 12,
		.unicode = ctx->unicode,
		.color = ctx->color };
	enum berth_code rc = BERTH_OK;
	struct buf b;

	buf_init(&b, SERIES_PLOT_MAX);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct dense d;

		rc = series_range(ctx, &v[i].row, &d, err);
		if (rc == BERTH_OK && d.n > 0) {
			struct plot_forecast p = { .title = v[i].row.name,
				.unit = strcmp(v[i].row.unit, "gpu") == 0 ? "GPUs" : v[i].row.unit,
				.t0 = d.t0,
				.step_s = d.step_s,
				.history = d.mean,
				.n_history = d.n };

			plot_forecast(&p, &style, &b);
			buf_add_char(&b, '\n');
		}
	}
	if (rc == BERTH_OK)
		rc = buf_check(&b, "the plots", err);
	if (rc == BERTH_OK && b.len > 0)
		cmd_say(ctx, "%s", b.p);
	buf_free(&b);
	return rc;
}

static enum berth_code
series_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct series_opts *o = ctx->opts;
	struct series_view *v;
	struct series *rows;
	size_t n, k = 0;
	enum berth_code rc;

	if (o->waits)
		return series_waits(ctx, o->samples, o->from, o->to, err);
	rc = series_pick(ctx, &rows, &n, err);
	if (rc != BERTH_OK)
		return rc;
	if (o->waste)
		return series_waste(ctx, rows, n, o->from, o->to, err);
	v = arena_array_of(ctx->arena, n, struct series_view);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		v[k].row = rows[i];
		v[k].stale = series_is_stale(ctx, o, &rows[i]);
		if (o->stale && !v[k].stale)
			continue;
		rc = store_series_stats(ctx->store, &rows[i], &v[k++].stats, err);
	}
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return series_json(ctx, v, k, err);
	if (o->samples)
		return series_samples(ctx, v, k, err);
	if (k == 0 && ctx->format != CMD_CSV) {
		cmd_note(ctx, n == 0 ? "no series yet: `berth record` reads usage history"
				     : "no series is stale");
		return BERTH_OK;
	}
	rc = series_table(ctx, v, k, err);
	return rc == BERTH_OK && o->plot ? series_plot(ctx, v, k, err) : rc;
}

static enum berth_code
series_delete(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct series *rows;
	int64_t samples = 0;
	enum berth_code rc;
	struct jsonw *w;
	size_t n;

	rc = series_pick(ctx, &rows, &n, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++)
		samples += rows[i].samples;
	rc = cmd_confirm(ctx, err, "delete %zu series with %lld samples?", n, (long long)samples);
	if (rc == BERTH_OK)
		rc = store_begin(ctx->store, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = store_series_delete(ctx->store, rows[i].id, err);
	if (rc != BERTH_OK) {
		store_rollback(ctx->store);
		return rc;
	}
	rc = store_commit(ctx->store, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx)) {
		cmd_say(ctx, "%s%zu series with %lld samples deleted\n",
		    ctx->dry_run ? "dry run: " : "", n, (long long)samples);
		return BERTH_OK;
	}
	w = cmd_json_begin(ctx, "berth.series-delete/1");
	jsonw_begin_array(w, "deleted");
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, rows[i].name);
	jsonw_end_array(w);
	jsonw_int(w, "samples", samples);
	return cmd_json_end(ctx, err);
}
