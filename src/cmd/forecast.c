#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/usage_history.h"
#include "cmd/calendar.h"
#include "cmd/forecast.h"
#include "store/series_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/time.h"

static const struct forecast_opts forecast_defaults = {
	.paths = 200,
	.seed = 1,
	.origins = 8,
	.threads = 1,
	.gpus_per_node = 8,
	.reconcile = "structural",
};

#define FORECAST_SPARSE_S (14 * (int64_t)86400)
#define FORECAST_STALE_S (2 * INT64_C(86400))
#define FORECAST_LOOK_STEPS 400 /* that a fit looks at, at least */

#define OFF(field) offsetof(struct forecast_opts, field)
static const struct opt_row forecast_rows[] = {
	{ "series", 's', OPT_LIST, "SERIES", "these series (names or globs); default: all",
	    OFF(series), 0, 0, NULL },
	{ "horizon", 0, OPT_DURATION, "DUR", "how far ahead; default 4w, or horizon of berth.yaml",
	    OFF(horizon_s), 1, 5.0 * 366 * 86400, NULL },
	{ "at", 0, OPT_TIME, "TIME", "forecast as of this time: history ends before it", OFF(at), 0,
	    0, NULL },
	{ "history", 0, OPT_DURATION, "DUR", "use at most so much of the history", OFF(history_s),
	    3600, 5200.0 * 604800, NULL },
	{ "cap", 0, OPT_LIST, "[SERIES=]GPUS|quota",
	    "size of the fleet or quota: no forecast passes it, no sum either", OFF(cap), 0, 0,
	    NULL },
	{ "events", 0, OPT_PATH, "FILE",
	    "the roadmap: what history can not know; default: roadmap of berth.yaml", OFF(events),
	    0, 0, NULL },
	{ "no-events", 0, OPT_FLAG, NULL, "leave the roadmap of berth.yaml out", OFF(no_events), 0,
	    0, NULL },
	{ "capacity", 0, OPT_LIST, "[SERIES=]GPUS", "say when demand passes this", OFF(capacity), 0,
	    0, NULL },
	{ "requested", 0, OPT_FLAG, NULL, "what was waited for counts as demand too",
	    OFF(requested), 0, 0, NULL },
	{ "sparse", 0, OPT_FLAG, NULL,
	    "also series of two weeks or more with more than half of it missing", OFF(sparse), 0, 0,
	    NULL },
	{ "keep-spikes", 0, OPT_FLAG, NULL, "take single values far over all others as they are",
	    OFF(keep_spikes), 0, 0, NULL },
	{ "zone", 'z', OPT_STRING, "ZONE",
	    "days and weeks follow this clock: Europe/Berlin; default that of berth.yaml, or UTC",
	    OFF(zone), 0, 0, NULL },
	{ "holidays", 0, OPT_PATH, "FILE", "days off: a CSV file, or a country: cn de fr gb us",
	    OFF(holidays), 0, 0, NULL },
	{ "total", 0, OPT_FLAG, NULL, "also the sum of the series; all forecasts add up",
	    OFF(total), 0, 0, NULL },
	{ "by", 0, OPT_LIST, "LABEL", "also the sums by the values of these labels, and the total",
	    OFF(by), 0, 0, NULL },
	{ "reconcile", 0, OPT_CHOICE, "structural|mint|bottom-up|none",
	    "how sums and series are brought together; default structural", OFF(reconcile), 0, 0,
	    NULL },
	{ "why", 'w', OPT_FLAG, NULL,
	    "say for each series what drives its peak; default with one series", OFF(why), 0, 0,
	    NULL },
	{ "brief", 'b', OPT_FLAG, NULL, "the table alone", OFF(brief), 0, 0, NULL },
	{ "plot", 0, OPT_FLAG, NULL, "draw each series in the terminal", OFF(plot), 0, 0, NULL },
	{ "svg", 0, OPT_PATH, "FILE", "write a picture; with several series FILE-NAME.svg for each",
	    OFF(svg), 0, 0, NULL },
	{ "points", 0, OPT_FLAG, NULL, "one row for each step, with all quantiles", OFF(points), 0,
	    0, NULL },
	{ "windows", 0, OPT_FLAG, NULL,
	    "one row for the first day and each week: quantiles of its peak", OFF(windows), 0, 0,
	    NULL },
	{ "backtest", 0, OPT_FLAG, NULL, "forecast from past times instead, and score",
	    OFF(backtest), 0, 0, NULL },
	{ "compare", 0, OPT_FLAG, NULL, "like --backtest, with simple methods of others beside",
	    OFF(compare), 0, 0, NULL },
	{ "origins", 0, OPT_INT, "N",
	    "with --backtest and --compare: so many past times; default 8", OFF(origins), 1, 1000,
	    NULL },
	{ "scores", 0, OPT_FLAG, NULL, "score the forecasts made so far by what came", OFF(scores),
	    0, 0, NULL },
	{ "node", 0, OPT_INT, "GPUS", "GPUs of a node, to count nodes; default 8",
	    OFF(gpus_per_node), 1, 1024, NULL },
	{ "paths", 0, OPT_INT, "N", "sample paths; default 200", OFF(paths), 50, 10000, NULL },
	{ "seed", 0, OPT_INT, "N", "of the sample paths; default 1", OFF(seed), 0, 9e15, NULL },
	{ "threads", 0, OPT_INT, "N", "over series; the results do not change; default 1",
	    OFF(threads), 1, 64, NULL },
	{ 0 },
};

static enum berth_code forecast_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_forecast = {
	.name = "forecast",
	.summary = "forecast demand and its peak",
	.args = "[SERIES ...]",
	.opts = forecast_rows,
	.opts_default = &forecast_defaults,
	.opts_size = sizeof(forecast_defaults),
	.flags = CMD_STORE_RW | CMD_STORE_TRY,
	.args_max = -1,
	.run = forecast_run,
};

/* The words and --series as one list of patterns. */
static const char *const *
forecast_patterns(const struct cmd_ctx *ctx, const struct series *all, size_t n, size_t *n_out)
{
	const struct forecast_opts *o = ctx->opts;
	struct opt_list list = forecast_words(&o->series, false, all, n, ctx->arena);
	const char **v = arena_array(ctx->arena, list.n + ctx->n_args + 1, sizeof(*v));

	for (size_t i = 0; i < list.n; i++)
		v[i] = list.v[i];
	for (size_t i = 0; i < ctx->n_args; i++)
		v[list.n + i] = ctx->args[i];
	*n_out = list.n + ctx->n_args;
	return v;
}

/* A name matches itself even if it holds pattern characters. */
static bool
forecast_wanted(const char *pattern, const char *name)
{
	return strcmp(pattern, name) == 0 || glob_match(pattern, name);
}

enum berth_code
forecast_pick(struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err)
{
	const char *const *want;
	const char **names;
	struct series *all;
	size_t n, n_want;
	enum berth_code rc = store_series_list(ctx->store, ctx->arena, &all, &n, err);

	if (rc != BERTH_OK)
		return rc;
	if (n == 0) {
		cmd_next_step(ctx, "berth record csv FILE");
		return err_set(err, BERTH_ENOTFOUND, "the store has no series yet");
	}
	f->all = arena_memdup(ctx->arena, all, n * sizeof(*all));
	f->n_all = n;
	want = forecast_patterns(ctx, all, n, &n_want);
	names = arena_array(ctx->arena, n + 1, sizeof(*names));
	for (size_t i = 0; i < n; i++)
		names[i] = all[i].name;
	for (size_t k = 0; k < n_want; k++) {
		bool found = false;

		for (size_t i = 0; i < n && !found; i++)
			found = forecast_wanted(want[k], all[i].name);
		if (!found) {
			const char *near = str_suggest(want[k], names);

			return err_set(err, BERTH_ENOTFOUND, "no series '%s'%s%s%s", want[k],
			    near != NULL ? "; did you mean '" : "; `berth series` lists them",
			    near != NULL ? near : "", near != NULL ? "'?" : "");
		}
	}
	f->rows = arena_array(ctx->arena, n, sizeof(*f->rows));
	for (size_t i = 0; i < n; i++) {
		bool wanted = n_want == 0 && series_is_demand(&all[i]);

		for (size_t k = 0; k < n_want && !wanted; k++)
			wanted = forecast_wanted(want[k], all[i].name);
		if (wanted)
			f->rows[f->n++] = all[i];
	}
	return BERTH_OK;
}

/* Has the part that is looked at, --history or a year, a sample? */
static bool
forecast_is_fresh(const struct fc_series *in, int64_t history_s)
{
	size_t look = (size_t)(USAGE_LOOK_S / in->step_s), last = in->n;

	if (look < FORECAST_LOOK_STEPS)
		look = FORECAST_LOOK_STEPS;
	if (history_s != 0 && (size_t)(history_s / in->step_s) < look)
		look = (size_t)(history_s / in->step_s);
	while (last > 0 && isnan(in->mean[last - 1]))
		last--;
	return last > 0 && (in->n - last < look || look == 0);
}

/* Is more than half of what is looked at missing, where it is two weeks or more? Says so. */
static bool
forecast_is_sparse(struct cmd_ctx *ctx, const struct fc_series *in, int64_t history_s)
{
	size_t look = (size_t)(USAGE_LOOK_S / in->step_s), from, missing = 0, n;

	if (history_s != 0 && (size_t)(history_s / in->step_s) < look)
		look = (size_t)(history_s / in->step_s);
	from = in->n > look ? in->n - look : 0;
	while (from < in->n && isnan(in->mean[from]))
		from++;
	n = in->n - from;
	for (size_t i = from; i < in->n; i++)
		missing += isnan(in->mean[i]) ? 1 : 0;
	if ((int64_t)n * in->step_s < FORECAST_SPARSE_S || 2 * missing <= n)
		return false;
	cmd_warn(ctx,
	    "series %s: %zu of %zu steps are missing and it is left out: no data is not zero; "
	    "--sparse takes it all the same",
	    in->name, missing, n);
	return true;
}

/* Samples strictly before `at`; a step that `at` lies in is not over and is left out. */
enum berth_code
forecast_read(struct cmd_ctx *ctx, const struct series *s, int64_t at, struct arena *a,
    struct fc_series *in, const char **coarse, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	struct usage_history h;
	enum berth_code rc = usage_history(ctx->store, s, at != 0 ? time_floor(at, s->step_s) : 0,
	    o->history_s != 0 ? o->history_s : USAGE_LOOK_S, a, &h, err);

	if (rc != BERTH_OK)
		return rc;
	*coarse = h.warning;
	*in = h.s;
	return BERTH_OK;
}

/* Names series that look renamed or split. */
static void
forecast_hints(struct cmd_ctx *ctx, const struct forecast_set *f)
{
	struct join_hint *hints;
	size_t n;

	joins_find(f->recorded, f->n, ctx->arena, &hints, &n);
	for (size_t i = 0; i < n; i++) {
		const char **into = arena_array(ctx->arena, hints[i].n, sizeof(*into));
		char t[TIME_FMT_SIZE];

		for (size_t k = 0; k < hints[i].n; k++)
			into[k] = f->recorded[hints[i].into[k]].name;
		cmd_warn(ctx,
		    "series %s ended on %s at a level of %.1f as %s began at %.1f%s: if it was %s, "
		    "say so in joins of berth.yaml(5), so that its history is not lost",
		    f->recorded[hints[i].from].name, time_fmt_date(t, hints[i].t), hints[i].before,
		    str_join(ctx->arena, into, hints[i].n, ", "), hints[i].after,
		    hints[i].n > 1 ? " together" : "", hints[i].n > 1 ? "split" : "renamed");
	}
}

/* A copy that holds no more than it must: peaks that are the means are not kept twice. */
static void
forecast_hold(struct arena *a, const char *name, struct fc_series *in)
{
	bool same = in->peak == NULL;

	for (size_t i = 0; i < in->n && (i == 0 || same) && in->peak != NULL; i++)
		same = isnan(in->mean[i]) ? isnan(in->peak[i]) : in->peak[i] == in->mean[i];
	in->name = name;
	in->mean = arena_memdup(a, in->mean, in->n * sizeof(*in->mean));
	in->peak = same ? NULL : arena_memdup(a, in->peak, in->n * sizeof(*in->peak));
}

/* Where the history of a series ends; 0: with its last sample; < 0: it was not there. */
static int64_t
forecast_until(const struct forecast_opts *o, const char *series)
{
	if (o->then == NULL)
		return o->at;
	for (size_t i = 0; i < o->then->n; i++)
		if (str_eq(o->then->series[i], series))
			return o->then->at[i];
	return -1;
}

/* History of row i of the pick at place k of f, if it has one that can be forecast; scratch holds
 * it before it is cut to size. */
static enum berth_code
forecast_load_one(struct cmd_ctx *ctx, struct forecast_set *f, size_t i, size_t k,
    struct arena *scratch, bool *kept_out, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	const char *coarse = NULL;
	struct fc_series in;
	int64_t until = forecast_until(o, f->rows[i].name);
	enum berth_code rc;

	*kept_out = false;
	if (until < 0)
		return BERTH_OK;
	rc = forecast_read(ctx, &f->rows[i], until, scratch, &in, &coarse, err);
	if (rc == BERTH_OK)
		rc = joins_apply(ctx->store, &f->joins, f->rows[i].name, until, scratch, &in,
		    &f->joined[k], err);
	if (rc == BERTH_OK)
		rc = forecast_queue(ctx, f, &f->rows[i], scratch, &in, &f->queued[k], err);
	if (rc != BERTH_OK)
		return rc;
	if (in.n == 0 || !forecast_is_fresh(&in, o->history_s)) {
		cmd_warn(ctx, "series %s has no samples%s%s and is left out", f->rows[i].name,
		    in.n == 0           ? ""
		    : o->history_s != 0 ? " within --history"
					: " within a year",
		    o->at != 0 ? " before --at" : "");
		f->n_left++;
		return BERTH_OK;
	}
	if (!o->sparse && forecast_is_sparse(ctx, &in, o->history_s)) {
		f->n_left++;
		return BERTH_OK;
	}
	if (o->at == 0 && in.t0 + (int64_t)in.n * in.step_s > f->as_of)
		f->as_of = in.t0 + (int64_t)in.n * in.step_s;
	if (coarse != NULL)
		cmd_warn(ctx, "series %s: %s", f->rows[i].name, coarse);
	forecast_hold(ctx->arena, f->rows[i].name, &in);
	f->rows[k] = f->rows[i];
	f->coarse[k] = coarse != NULL ? arena_strdup(ctx->arena, coarse) : NULL;
	f->in[k] = in;
	*kept_out = true;
	return BERTH_OK;
}

/* Says where forecasts begin in the past: those of series that ended before the others, and all
 * where nothing is new. */
static void
forecast_stale(struct cmd_ctx *ctx, const struct forecast_set *f)
{
	const struct forecast_opts *o = ctx->opts;
	const char **who = arena_array(ctx->arena, f->n + 1, sizeof(*who));
	char t[TIME_FMT_SIZE];
	size_t n = 0;

	if (o->at != 0 || o->then != NULL || f->n == 0)
		return;
	for (size_t i = 0; i < f->n; i++) {
		int64_t end = f->in[i].t0 + (int64_t)f->in[i].n * f->in[i].step_s;

		if (f->as_of - end > FORECAST_STALE_S && f->as_of - end > 2 * f->in[i].step_s)
			who[n++] = arena_printf(
			    ctx->arena, "%s (%s)", f->rows[i].name, time_fmt_date(t, end));
	}
	if (n > 0)
		cmd_warn(ctx,
		    "%zu series ended before the others, and %s forecast begins where it ended: "
		    "%s%s; --at begins all at one time",
		    n, n == 1 ? "its" : "each", str_join(ctx->arena, who, n < 4 ? n : 4, ", "),
		    n > 4 ? " and others" : "");
	if (ctx->now - f->as_of > FORECAST_STALE_S)
		cmd_note(ctx, "nothing was recorded since %s: forecasts begin there, not now",
		    time_fmt(t, f->as_of));
}

enum berth_code
forecast_load(struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	struct arena *scratch;
	const struct config *config;
	size_t kept = 0;
	enum berth_code rc = forecast_pick(ctx, f, err);

	if (rc != BERTH_OK)
		return rc;
	rc = cmd_config(ctx, &config, err);
	if (rc == BERTH_OK)
		rc = joins_read(config, ctx->arena, &f->joins, err);
	if (rc != BERTH_OK)
		return rc;
	f->as_of = o->at;
	f->joined = arena_array(ctx->arena, f->n, sizeof(*f->joined));
	f->queued = arena_array(ctx->arena, f->n, sizeof(*f->queued));
	f->in = arena_array(ctx->arena, f->n, sizeof(*f->in));
	f->coarse = arena_array(ctx->arena, f->n, sizeof(*f->coarse));
	f->out = arena_array(ctx->arena, f->n, sizeof(*f->out));
	scratch = arena_new();
	for (size_t i = 0; i < f->n && rc == BERTH_OK; i++) {
		bool keep;

		if (o->series.n + ctx->n_args == 0 && joins_uses(&f->joins, f->rows[i].name))
			continue; /* its history is that of another */
		rc = forecast_load_one(ctx, f, i, kept, scratch, &keep, err);
		kept += keep ? 1 : 0;
		arena_reset(scratch);
	}
	arena_free(scratch);
	if (rc != BERTH_OK)
		return rc;
	f->n = f->n_coarse = kept;
	f->recorded = arena_memdup(ctx->arena, f->in, kept * sizeof(*f->in));
	forecast_hints(ctx, f);
	if (!o->backtest && !o->compare)
		forecast_stale(ctx, f);
	if (kept == 0)
		return err_set(err, BERTH_ENOTFOUND,
		    "none of the series has samples%s to forecast from",
		    o->at != 0 ? " before --at" : "");
	return BERTH_OK;
}

double
forecast_spike_times(const struct forecast_opts *o)
{
	return o->keep_spikes ? INFINITY : o->spike_times > 0 ? o->spike_times : FC_SPIKE_ABSURD;
}

enum berth_code
forecast_options(struct cmd_ctx *ctx, int64_t step_s, int64_t horizon_s, struct fc_options *o,
    struct berth_err *err)
{
	const struct forecast_opts *v = ctx->opts;

	fc_options_init(o);
	o->horizon = (size_t)((horizon_s + step_s - 1) / step_s);
	o->n_paths = (size_t)v->paths;
	o->seed = (uint64_t)v->seed;
	o->max_history = (size_t)(v->history_s / step_s);
	o->threads = (unsigned)v->threads;
	o->spike_times = forecast_spike_times(v);
	o->errors = (v->total || v->by.n > 0) && str_eq(v->reconcile, "mint");
	return calendar_options(ctx, v->zone, v->holidays, o, err);
}

/* Events that name one card of a group, in the unit of each series. */
static enum berth_code
forecast_rates(struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err)
{
	const struct accel_table *accels;
	enum berth_code rc = cmd_accels(ctx, &accels, err);

	for (size_t k = 0; rc == BERTH_OK && k < f->map.n; k++) {
		const char *name = f->map.entries[k].accelerator;
		const struct accel *is = name != NULL ? accel_find(accels, name) : NULL;

		for (size_t i = 0; i < f->n && is != NULL && is->n_members == 0; i++)
			if (f->unit[i].in != NULL && f->unit[i].told)
				f->uses[i][k].rate =
				    accel_work_ratio(is, f->unit[i].in, f->precision);
	}
	return rc;
}

/* The histories as they would be had the events always stood as they stand now. */
enum berth_code
forecast_roadmap(struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	enum berth_code rc = roadmap_find(ctx, o->events, o->no_events, o->zone, &f->map, err);

	if (rc == BERTH_OK && o->at != 0)
		roadmap_forget(&f->map, o->at);
	if (rc != BERTH_OK || f->map.n == 0)
		return rc;
	f->uses = arena_array(ctx->arena, f->n, sizeof(*f->uses));
	f->base = arena_array(ctx->arena, f->n, sizeof(*f->base));
	rc = roadmap_uses(ctx, &f->map, f->rows, f->in, f->n, f->uses, err);
	if (rc == BERTH_OK && f->unit != NULL)
		rc = forecast_rates(ctx, f, err);
	for (size_t i = 0; rc == BERTH_OK && i < f->n; i++)
		fc_events_history(&f->recorded[i], f->uses[i], f->map.n, ctx->arena, &f->in[i]);
	return rc;
}

int64_t
forecast_horizon(struct cmd_ctx *ctx, const struct config *config)
{
	const struct forecast_opts *o = ctx->opts;

	return o->horizon_s > 0                 ? o->horizon_s
	       : config->defaults.horizon_s > 0 ? config->defaults.horizon_s
						: INT64_C(4) * 7 * 86400;
}

/* Options of which one would be silently left out. */
static enum berth_code
forecast_together(const struct forecast_opts *o, struct berth_err *err)
{
	bool test = o->backtest || o->compare, past = test || o->scores;
	const struct {
		bool both;
		const char *one, *other;
	} rows[] = {
		{ o->scores && test, "--scores", o->compare ? "--compare" : "--backtest" },
		{ o->points && o->windows, "--points", "--windows" },
		{ o->brief && o->why, "--brief", "--why" },
		{ o->no_events && o->events != NULL, "--events", "--no-events" },
		{ past && o->points, "--points", "--backtest, --compare and --scores" },
		{ past && o->windows, "--windows", "--backtest, --compare and --scores" },
		{ past && o->plot, "--plot", "--backtest, --compare and --scores" },
		{ past && o->svg != NULL, "--svg", "--backtest, --compare and --scores" },
		{ test && o->total, "--total", "--backtest and --compare" },
		{ test && o->by.n > 0, "--by", "--backtest and --compare" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].both)
			return err_set(err, BERTH_EUSAGE, "%s does not go with %s", rows[i].one,
			    rows[i].other);
	for (size_t i = 0; i < o->by.n; i++)
		for (size_t k = 0; k < i; k++)
			if (str_eq(o->by.v[i], o->by.v[k]))
				return err_set(
				    err, BERTH_EUSAGE, "--by: '%s' is given twice", o->by.v[i]);
	return BERTH_OK;
}

static enum berth_code
forecast_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct forecast_opts *o = ctx->opts;
	const struct config *config;
	struct forecast_set f = { 0 };
	int64_t horizon_s;
	enum berth_code rc;

	rc = forecast_together(o, err);
	if (rc == BERTH_OK && o->scores)
		return forecast_scores(ctx, err);
	if (rc == BERTH_OK)
		rc = cmd_config(ctx, &config, err);
	if (rc == BERTH_OK)
		rc = forecast_load(ctx, &f, err);
	if (rc != BERTH_OK)
		return rc;
	horizon_s = forecast_horizon(ctx, config);
	if (!o->backtest && !o->compare)
		rc = forecast_roadmap(ctx, &f, err);
	if (rc == BERTH_OK && (o->total || o->by.n > 0))
		rc = forecast_tree(ctx, &f, err);
	if (rc == BERTH_OK)
		rc = forecast_capacities(ctx, &f, err);
	if (rc == BERTH_OK)
		rc = forecast_caps(ctx, &f, err);
	if (rc == BERTH_OK && (o->backtest || o->compare))
		return forecast_backtest(ctx, &f, horizon_s, err);
	return rc == BERTH_OK ? forecast_flow(ctx, &f, horizon_s, err) : rc;
}
