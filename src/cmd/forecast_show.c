#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/forecast.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/plot.h"
#include "util/svg.h"
#include "util/time.h"

enum { FORECAST_DECIMALS = 6, SVG_NAME_MAX = 150 /* bytes of a series in the name of a file */ };

static const char *const forecast_peak_keys[FC_PEAK_LEVEL_COUNT] = { "p50", "p90", "p95", "p99" };
static const struct {
	const char *key;
	enum fc_level level;
} forecast_levels[] = {
	{ "p05", FC_P05 },
	{ "p10", FC_P10 },
	{ "p50", FC_P50 },
	{ "p90", FC_P90 },
	{ "p95", FC_P95 },
	{ "p99", FC_P99 },
};

/* Whole GPUs that carry x; what is above by rounding error alone needs no GPU more. */
int64_t
forecast_whole(double x)
{
	double up = ceil(x - 1e-6 * (1 + fabs(x)));

	return up < 9e18 ? (int64_t)up : INT64_MAX;
}

static void
forecast_json_peak(struct jsonw *w, const char *key, const double *q)
{
	jsonw_begin_object(w, key);
	for (int l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
		jsonw_fixed(w, forecast_peak_keys[l], q[l], FORECAST_DECIMALS);
	jsonw_end_object(w);
}

static void
forecast_json_span(struct jsonw *w, const char *key, const struct fc_span *v, size_t n)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_time(w, "from", v[i].from);
		jsonw_time(w, "to", v[i].to);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void
forecast_json_history(struct jsonw *w, const struct fc_result *r)
{
	jsonw_begin_object(w, "history");
	jsonw_time(w, "from", r->history_from);
	jsonw_time(w, "to", r->history_to);
	jsonw_int(w, "samples", (int64_t)r->n_used);
	jsonw_int(w, "missing", (int64_t)r->n_missing);
	jsonw_end_object(w);
	jsonw_begin_object(w, "model");
	jsonw_str(w, "name", r->model);
	jsonw_begin_array(w, "parts");
	for (size_t i = 0; i < r->n_parts; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", r->parts[i].name);
		jsonw_fixed(w, "weight", r->parts[i].weight, FORECAST_DECIMALS);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}

static void
forecast_json_points(struct jsonw *w, const struct fc_result *r)
{
	jsonw_begin_array(w, "points");
	for (size_t i = 0; i < r->horizon; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_time(w, "t", r->t0 + (int64_t)i * r->step_s);
		jsonw_fixed(w, "mean", r->mean[i], FORECAST_DECIMALS);
		for (size_t l = 0; l < sizeof(forecast_levels) / sizeof(forecast_levels[0]); l++)
			jsonw_fixed(w, forecast_levels[l].key,
			    r->q[i * FC_LEVEL_COUNT + forecast_levels[l].level], FORECAST_DECIMALS);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void
forecast_json_peaks(struct jsonw *w, const struct fc_result *r, bool gpus)
{
	forecast_json_peak(w, "peak", r->peak);
	jsonw_begin_object(w, "peak_gpus");
	for (int l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
		if (gpus)
			jsonw_int(w, forecast_peak_keys[l], forecast_whole(r->peak[l]));
		else
			jsonw_null(w, forecast_peak_keys[l]);
	jsonw_end_object(w);
	jsonw_begin_array(w, "windows");
	for (size_t i = 0; i < r->n_windows; i++) {
		const struct fc_window *v = &r->windows[i];

		jsonw_begin_object(w, NULL);
		jsonw_time(w, "from", r->t0 + (int64_t)v->first * r->step_s);
		jsonw_time(w, "to", r->t0 + (int64_t)(v->first + v->count) * r->step_s);
		forecast_json_peak(w, "peak", v->q);
		jsonw_time(w, "likeliest", r->t0 + (int64_t)v->likeliest * r->step_s);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

void
forecast_json_series(struct jsonw *w, const struct forecast_set *f, size_t at)
{
	const struct fc_result *r = &f->out[at];

	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", r->name);
	jsonw_str(w, "unit", f->rows[at].unit);
	jsonw_int(w, "step_s", r->step_s);
	forecast_json_history(w, r);
	forecast_json_points(w, r);
	forecast_json_peaks(w, r, series_is_gpus(&f->rows[at]));
	forecast_json_answers(w, f, at);
	jsonw_begin_array(w, "shifts");
	for (size_t i = 0; i < r->n_shifts; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_time(w, "t", r->shifts[i].t);
		jsonw_fixed(w, "before", r->shifts[i].before, FORECAST_DECIMALS);
		jsonw_fixed(w, "after", r->shifts[i].after, FORECAST_DECIMALS);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	forecast_json_span(w, "outages", r->outages, r->n_outages);
	forecast_json_span(w, "gaps", r->gaps, r->n_gaps);
	jsonw_begin_array(w, "spikes");
	for (size_t i = 0; i < r->n_spikes; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_time(w, "t", r->spikes[i].t);
		jsonw_fixed(w, "value", r->spikes[i].value, FORECAST_DECIMALS);
		jsonw_fixed(w, "counts_as", r->spikes[i].to, FORECAST_DECIMALS);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_bool(w, "censored", r->censored);
	jsonw_begin_array(w, "warnings");
	if (at < f->n_coarse && f->coarse[at] != NULL)
		jsonw_str(w, NULL, f->coarse[at]);
	for (size_t i = 0; i < r->n_warnings; i++)
		jsonw_str(w, NULL, r->warnings[i]);
	jsonw_end_array(w);
	jsonw_end_object(w);
}

/* With capacities the table shows the tightest. */
static struct table *
forecast_table(struct arena *a, const struct forecast_opts *o, bool capacities)
{
	static const struct table_col points[] = {
		{ "series", NULL, TABLE_TEXT, 0, TABLE_NAME },
		{ "t", NULL, TABLE_TIME, 0, 0 },
		{ "mean", NULL, TABLE_DOUBLE, 1, 0 },
		{ "p01", NULL, TABLE_DOUBLE, 1, TABLE_WIDE },
		{ "p025", NULL, TABLE_DOUBLE, 1, TABLE_WIDE },
		{ "p05", NULL, TABLE_DOUBLE, 1, 0 },
		{ "p10", NULL, TABLE_DOUBLE, 1, TABLE_WIDE },
		{ "p25", NULL, TABLE_DOUBLE, 1, TABLE_WIDE },
		{ "p50", NULL, TABLE_DOUBLE, 1, 0 },
		{ "p75", NULL, TABLE_DOUBLE, 1, TABLE_WIDE },
		{ "p90", NULL, TABLE_DOUBLE, 1, 0 },
		{ "p95", NULL, TABLE_DOUBLE, 1, 0 },
		{ "p975", NULL, TABLE_DOUBLE, 1, TABLE_WIDE },
		{ "p99", NULL, TABLE_DOUBLE, 1, 0 },
	};
	static const struct table_col windows[] = {
		{ "series", NULL, TABLE_TEXT, 0, TABLE_NAME },
		{ "from", NULL, TABLE_TIME, 0, 0 },
		{ "to", NULL, TABLE_TIME, 0, 0 },
		{ "p50", NULL, TABLE_DOUBLE, 1, 0 },
		{ "p90", NULL, TABLE_DOUBLE, 1, 0 },
		{ "p95", NULL, TABLE_DOUBLE, 1, 0 },
		{ "p99", NULL, TABLE_DOUBLE, 1, 0 },
		{ "likeliest", NULL, TABLE_TIME, 0, TABLE_WIDE },
	};
	static const struct table_col summary[] = {
		{ "series", NULL, TABLE_TEXT, 0, TABLE_NAME },
		{ "last", NULL, TABLE_DOUBLE, 1, TABLE_SPARE },
		{ "mean", NULL, TABLE_DOUBLE, 1, 0 },
		{ "peak_p50", NULL, TABLE_DOUBLE, 0, 0 },
		{ "peak_p90", "P90", TABLE_DOUBLE, 0, 0 },
		{ "peak_p95", "P95", TABLE_DOUBLE, 0, 0 },
		{ "peak_p99", "P99", TABLE_DOUBLE, 0, 0 },
		{ "nodes_p95", "NODES", TABLE_INT, 0, TABLE_SPARE },
		{ "when", NULL, TABLE_TIME, 0, 0 },
		{ "unit", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "from", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "samples", NULL, TABLE_INT, 0, TABLE_WIDE },
		{ "driver", "HEAVIEST-METHOD", TABLE_TEXT, 0, TABLE_WIDE },
		{ "capacity", NULL, TABLE_INT, 0, TABLE_WIDE },
		{ "passed", NULL, TABLE_SHARE, 0, TABLE_WIDE },
	};
	struct table_col *cols;
	size_t n = sizeof(summary) / sizeof(summary[0]);

	if (o->points)
		return table_new(a, points, sizeof(points) / sizeof(points[0]));
	if (o->windows)
		return table_new(a, windows, sizeof(windows) / sizeof(windows[0]));
	cols = arena_memdup(a, summary, sizeof(summary));
	for (size_t i = n - 2; i < n && capacities; i++)
		cols[i].flags = i == n - 2 ? TABLE_SPARE : 0;
	return table_new(a, cols, n);
}

/* A series has a capacity that is known. */
static bool
forecast_any_capacity(struct cmd_ctx *ctx, const struct forecast_set *f)
{
	struct arena *a = arena_new();
	bool any = false;

	for (size_t i = 0; i < f->n && !any; i++)
		any = forecast_capacity_known(ctx, f, i, a);
	arena_free(a);
	return any;
}

static void
forecast_points(struct table *t, const struct fc_result *r)
{
	for (size_t k = 0; k < r->horizon; k++) {
		table_row(t);
		table_text(t, r->name);
		table_time(t, r->t0 + (int64_t)k * r->step_s);
		table_double(t, r->mean[k]);
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			table_double(t, r->q[k * FC_LEVEL_COUNT + l]);
	}
}

static void
forecast_windows(struct table *t, const struct fc_result *r)
{
	for (size_t k = 0; k < r->n_windows; k++) {
		const struct fc_window *v = &r->windows[k];

		table_row(t);
		table_text(t, r->name);
		table_time(t, r->t0 + (int64_t)v->first * r->step_s);
		table_time(t, r->t0 + (int64_t)(v->first + v->count) * r->step_s);
		for (int l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
			table_double(t, v->q[l]);
		table_time(t, r->t0 + (int64_t)v->likeliest * r->step_s);
	}
}

/* Places that tell values of this size apart: three digits or so. */
static int
forecast_decimals(double top)
{
	return top >= 100 ? 0 : top >= 10 ? 1 : top >= 1 ? 2 : 4;
}

/* Peaks in whole GPUs and nodes; in other units as they are. */
static void
forecast_summary_peaks(struct table *t, const struct fc_result *r, bool gpus, int64_t node)
{
	for (int l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
		if (gpus)
			table_double(t, (double)forecast_whole(r->peak[l]));
		else
			table_double_to(t, r->peak[l], forecast_decimals(r->peak[FC_PEAK99]));
	if (gpus)
		table_int(t, (forecast_whole(r->peak[FC_PEAK95]) + node - 1) / node);
	else
		table_unknown(t);
}

/* Demand on average. What is expected of a sum is what is expected of its leaves, where they were
 * brought to add up. */
static double
forecast_mean(
    const struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct forecast_view *v)
{
	const struct fc_result *r = &f->out[i];
	double mean = 0;

	if (f->tree.n_sums > 0 && i >= f->tree.n_leaves &&
	    forecast_tree_how(ctx) != FC_RECONCILE_NONE) {
		const struct fc_sum *sum = &f->tree.sums[i - f->tree.n_leaves];

		for (size_t k = 0; k < sum->n; k++)
			mean += v->mean[sum->leaf[k]];
		return mean;
	}
	for (size_t k = 0; k < r->horizon; k++)
		mean += fc_expected(r, k) / (double)r->horizon;
	if (v->mean != NULL)
		v->mean[i] = mean;
	return mean;
}

/* The tightest capacity that is known, and the chance that demand passes it. */
static void
forecast_tightest(struct table *t, const struct forecast_set *f, size_t i)
{
	const struct forecast_capacity *least = NULL;

	for (size_t k = 0; k < f->n_capacity[i]; k++)
		if (least == NULL || f->capacity[i][k].gpus < least->gpus)
			least = &f->capacity[i][k];
	if (least != NULL) {
		table_int(t, least->gpus);
		table_double(t, least->passed[f->out[i].horizon - 1]);
		return;
	}
	table_unknown(t);
	table_unknown(t);
}

static void
forecast_summary(struct table *t, const struct forecast_set *f, size_t i, int64_t node, double mean)
{
	const struct fc_result *r = &f->out[i];
	bool gpus = series_is_gpus(&f->rows[i]);
	int decimals = gpus ? 1 : forecast_decimals(r->peak[FC_PEAK99]);
	double last = NAN;
	struct fc_when when;

	for (size_t k = f->recorded[i].n; k-- > 0 && isnan(last);)
		last = f->recorded[i].mean[k];
	table_row(t);
	table_text(t, r->name);
	table_double_to(t, last, decimals);
	table_double_to(t, mean, decimals);
	forecast_summary_peaks(t, r, gpus, node);
	fc_when(r, &when);
	table_time(t, when.likeliest);
	table_text(t, series_unit(&f->rows[i]));
	table_time(t, r->history_from);
	table_int(t, (int64_t)r->n_used);
	table_text(t, r->n_parts > 0 ? r->parts[0].name : "");
	forecast_tightest(t, f, i);
}

/* Where the events of this series are likeliest to begin; 0: not of this series. */
static const int64_t *
forecast_marks(struct cmd_ctx *ctx, const struct forecast_set *f, size_t at)
{
	int64_t *t = arena_array(ctx->arena, f->map.n, sizeof(*t));

	for (size_t k = 0; k < f->map.n; k++)
		t[k] = f->uses[at][k].share != 0 ? (int64_t)f->uses[at][k].event->start.likely : 0;
	return t;
}

static const struct plot_rule *
forecast_rules(struct cmd_ctx *ctx, const struct forecast_set *f, size_t at)
{
	struct plot_rule *v = arena_array(ctx->arena, f->n_capacity[at], sizeof(*v));

	for (size_t k = 0; k < f->n_capacity[at]; k++)
		v[k] =
		    (struct plot_rule){ f->capacity[at][k].name, (double)f->capacity[at][k].gpus };
	return v;
}

static enum berth_code
forecast_draw(struct cmd_ctx *ctx, const struct forecast_set *f, size_t at, struct berth_err *err)
{
	const struct fc_series *in = &f->recorded[at];
	const struct fc_result *r = &f->out[at];
	struct plot_style style = { ctx->columns > 0 ? ctx->columns : 80, 12, ctx->unicode,
		ctx->color };
	double *mid = arena_array(ctx->arena, r->horizon, sizeof(*mid)),
	       *hi = arena_array(ctx->arena, r->horizon, sizeof(*hi));
	size_t show = 3 * r->horizon < in->n ? 3 * r->horizon : in->n;
	struct plot_forecast p = { r->name, series_unit(&f->rows[at]),
		in->t0 + (int64_t)(in->n - show) * in->step_s, in->step_s,
		(in->peak != NULL ? in->peak : in->mean) + (in->n - show), show, mid, hi,
		r->horizon, forecast_marks(ctx, f, at), f->map.n, forecast_rules(ctx, f, at),
		f->n_capacity[at] };
	struct buf b;
	enum berth_code rc;

	for (size_t i = 0; i < r->horizon; i++) {
		mid[i] = r->q[i * FC_LEVEL_COUNT + FC_P50];
		hi[i] = r->q[i * FC_LEVEL_COUNT + FC_P95];
	}
	buf_init(&b, 1 << 20);
	plot_forecast(&p, &style, &b);
	rc = buf_check(&b, "plot", err);
	if (rc == BERTH_OK)
		cmd_say(ctx, "%s\n", b.p);
	buf_free(&b);
	return rc;
}

enum berth_code
forecast_show_begin(struct cmd_ctx *ctx, const struct forecast_set *f, struct forecast_view *v,
    struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;

	*v = (struct forecast_view){ .json = NULL };
	if (cmd_wants_json(ctx)) {
		v->json = cmd_json_begin(ctx, "berth.forecast/1");
		jsonw_time(v->json, "as_of", f->as_of);
		jsonw_int(v->json, "step_s", f->in[0].step_s);
		if (f->map.n > 0)
			roadmap_json(v->json, &f->map);
		if (f->tree.n_sums > 0)
			forecast_json_sums(v->json, f);
		jsonw_begin_array(v->json, "series");
		return BERTH_OK;
	}
	v->table = forecast_table(ctx->arena, o, forecast_any_capacity(ctx, f));
	v->mean = f->tree.n_sums > 0 ? arena_array(ctx->arena, f->n, sizeof(*v->mean)) : NULL;
	if ((o->why || f->n == 1) && !o->brief && !o->points && !o->windows) {
		v->why = open_memstream(&v->why_text, &v->why_len);
		if (v->why == NULL)
			return err_set(err, BERTH_ENOMEM, "out of memory");
	}
	return BERTH_OK;
}

/* Rows of a long csv go out series by series; a table has to see them all. */
static enum berth_code
forecast_rows_of(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i,
    struct forecast_view *v, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	bool part = ctx->format == CMD_CSV && (o->points || o->windows);
	struct arena *a = part ? arena_new() : NULL;
	struct table *t = part ? forecast_table(a, o, false) : v->table;
	enum berth_code rc = BERTH_OK;

	if (o->points)
		forecast_points(t, &f->out[i]);
	else if (o->windows)
		forecast_windows(t, &f->out[i]);
	else
		forecast_summary(t, f, i, o->gpus_per_node, forecast_mean(ctx, f, i, v));
	if (part) {
		v->table = NULL;
		rc = cmd_table_part(ctx, t, v->shown == 0, err);
		arena_free(a);
	}
	return rc;
}

/* The sentences come behind the table. */
static enum berth_code
forecast_why_of(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i,
    struct forecast_view *v, struct berth_err *err)
{
	FILE *out = ctx->out;
	enum berth_code rc;

	ctx->out = v->why;
	rc = forecast_why(ctx, f, i, err);
	ctx->out = out;
	return rc;
}

enum berth_code
forecast_show(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct forecast_view *v,
    struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	enum berth_code rc = BERTH_OK;

	for (size_t k = 0; k < f->out[i].n_warnings; k++)
		cmd_warn(ctx, "series %s: %s", f->out[i].name, f->out[i].warnings[k]);
	if (v->json != NULL) {
		forecast_json_series(v->json, f, i);
		return cmd_json_part(ctx, err);
	}
	if (o->plot)
		rc = forecast_draw(ctx, f, i, err);
	if (rc == BERTH_OK)
		rc = forecast_rows_of(ctx, f, i, v, err);
	if (rc == BERTH_OK && v->why != NULL)
		rc = forecast_why_of(ctx, f, i, v, err);
	v->shown++;
	return rc;
}

enum berth_code
forecast_show_end(
    struct cmd_ctx *ctx, struct forecast_view *v, enum berth_code rc, struct berth_err *err)
{
	if (rc == BERTH_OK && v->json != NULL) {
		jsonw_end_array(v->json);
		rc = cmd_json_end(ctx, err);
	} else if (rc == BERTH_OK) {
		rc = v->table != NULL ? cmd_table_print(ctx, v->table, err)
				      : cmd_parts_end(ctx, err);
	}
	if (v->why == NULL)
		return rc;
	if (fclose(v->why) != 0 && rc == BERTH_OK)
		rc = err_set(err, BERTH_ENOMEM, "out of memory");
	if (rc == BERTH_OK)
		cmd_say_items(ctx, v->why_text);
	free(v->why_text);
	return rc;
}

/* Events of this series as upright lines, capacities as level ones, those above `within` in the key
 * alone; returns how many. */
static size_t
forecast_svg_marks(struct cmd_ctx *ctx, const struct forecast_set *f, size_t at, double first,
    double within, struct svg_series *s)
{
	const struct fc_result *r = &f->out[at];
	double last = (double)(r->t0 + (int64_t)r->horizon * r->step_s);
	size_t n = 0;

	for (size_t k = 0; k < f->map.n; k++) {
		const struct fc_event *e = f->uses[at][k].event;
		double *xy;

		if (f->uses[at][k].share == 0 || e->start.likely < first || e->start.likely > last)
			continue;
		xy = arena_array(ctx->arena, 4, sizeof(*xy));
		xy[0] = xy[1] = e->start.likely;
		xy[3] = r->peak[FC_PEAK99];
		s[n++] =
		    (struct svg_series){ SVG_LINE, e->name, xy, xy + 2, NULL, 2, 4 + (int)(k % 4) };
	}
	for (size_t k = 0; k < f->n_capacity[at]; k++) {
		const struct forecast_capacity *c = &f->capacity[at][k];
		const char *label = arena_printf(ctx->arena, "%s of %" PRId64 "%s", c->name,
		    c->gpus, (double)c->gpus > within ? ", above the picture" : "");
		double *y = arena_array(ctx->arena, 1, sizeof(*y));

		y[0] = (double)c->gpus > within ? NAN : (double)c->gpus;
		s[n++] = (struct svg_series){ SVG_RULE, label, NULL, y, NULL, 1, 2 };
	}
	return n;
}

static enum berth_code
forecast_svg_one(struct cmd_ctx *ctx, const struct forecast_set *f, size_t at, const char *path,
    struct berth_err *err)
{
	const struct fc_series *in = &f->recorded[at];
	const struct fc_result *r = &f->out[at];
	size_t show = 4 * r->horizon < in->n ? 4 * r->horizon : in->n, off = in->n - show,
	       h = r->horizon;
	double *x = arena_array(ctx->arena, show + h, sizeof(*x)),
	       *y = arena_array(ctx->arena, 4 * h, sizeof(*y));
	const struct svg_series fixed[] = {
		{ SVG_BAND, "P5 to P95", x + show, y, y + h, h, 1 },
		{ SVG_LINE, "P50", x + show, y + 2 * h, NULL, h, 1 },
		{ SVG_LINE, "P99", x + show, y + 3 * h, NULL, h, 3 },
		{ SVG_LINE, "history", x, (in->peak != NULL ? in->peak : in->mean) + off, NULL,
		    show, 0 },
	};
	struct svg_chart c = { .title = r->name,
		.y_label = series_unit(&f->rows[at]),
		.x_time = true,
		.y_min = NAN,
		.y_max = NAN };
	size_t n = sizeof(fixed) / sizeof(fixed[0]);
	struct svg_series *s =
	    arena_array(ctx->arena, n + f->map.n + f->n_capacity[at], sizeof(*s));
	double top = 0;
	struct buf b;
	enum berth_code rc;

	for (size_t i = 0; i < show; i++)
		x[i] = (double)(in->t0 + (int64_t)(off + i) * in->step_s);
	for (size_t i = 0; i < h; i++) {
		x[show + i] = (double)(r->t0 + (int64_t)i * r->step_s);
		y[i] = r->q[i * FC_LEVEL_COUNT + FC_P95];
		y[h + i] = r->q[i * FC_LEVEL_COUNT + FC_P05];
		y[2 * h + i] = r->q[i * FC_LEVEL_COUNT + FC_P50];
		y[3 * h + i] = r->q[i * FC_LEVEL_COUNT + FC_P99];
	}
	memcpy(s, fixed, sizeof(fixed));
	c.series = s;
	for (size_t i = 0; i < h + show; i++)
		top =
		    fmax(top, i < h ? y[3 * h + i] : fixed[3].y[i - h]); /* fmax() leaves NaN out */
	c.n_series = n + forecast_svg_marks(ctx, f, at, x[0], 2 * top, s + n);
	buf_init(&b, (size_t)64 << 20);
	svg_chart_write(&c, true, &b);
	rc = buf_check(&b, path, err);
	if (rc == BERTH_OK)
		rc = cmd_write_file(ctx, path, b.p, b.len, err);
	buf_free(&b);
	return rc;
}

/* A name of a file for a series: one that had to be changed or cut ends with a number of its own.
 */
static const char *
forecast_svg_name(const char *series, struct arena *a)
{
	size_t n = strlen(series), cut = n > SVG_NAME_MAX ? SVG_NAME_MAX : n;
	bool other = cut < n;
	char *name;

	while (cut < n && cut > 0 && ((unsigned char)series[cut] & 0xc0) == 0x80)
		cut--; /* no half of a character */
	name = arena_strndup(a, series, cut);
	for (char *c = name; *c != '\0'; c++)
		if (*c == '/') {
			*c = '_';
			other = true;
		}
	return other ? arena_printf(a, "%s~%08" PRIx32, name, (uint32_t)hash_str(series)) : name;
}

enum berth_code
forecast_svg(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	size_t len = strlen(o->svg),
	       stem = len > 4 && strcmp(o->svg + len - 4, ".svg") == 0 ? len - 4 : len;

	return forecast_svg_one(ctx, f, i,
	    f->n == 1 ? o->svg
		      : arena_printf(ctx->arena, "%.*s-%s.svg", (int)stem, o->svg,
			    forecast_svg_name(f->out[i].name, ctx->arena)),
	    err);
}
