#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/simscale.h"
#include "cmd/simshow.h"
#include "model/series.h"
#include "store/series_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/svg.h"
#include "util/time.h"

const struct simulate_scale_opts simulate_scale_defaults = {
	.unit = NAN,
	.target = 1,
	.tolerance = 0.1,
	.down_rate = 0.2,
	.level = 0.9,
	.boot_s = 600,
	.period_s = 60,
	.every_s = INT64_C(7) * 86400,
};

#define OFF(field) offsetof(struct simulate_scale_opts, field)
const struct opt_row simulate_scale_rows[] = {
	{ "unit", 0, OPT_DOUBLE, "LOAD", "load that one replica carries", OFF(unit), 1e-9, 1e12,
	    NULL },
	{ "target", 0, OPT_DOUBLE, "SHARE", "of it that is used when all is well; default 1",
	    OFF(target), 0.01, 1, NULL },
	{ "min", 0, OPT_INT, "N", "replicas at the least; default 0", OFF(min), 0, 100000, NULL },
	{ "max", 0, OPT_INT, "N", "replicas at most; default: no limit", OFF(max), 1, 100000,
	    NULL },
	{ "headroom", 0, OPT_STRING, "SPARE",
	    "kept above what the load asks for: 2, 20%, 16gpus or p90; default 0", OFF(headroom), 0,
	    0, NULL },
	{ "gpus", 0, OPT_INT, "N", "accelerators of one replica, for a headroom in them", OFF(gpus),
	    1, 100000, NULL },
	{ "hours", 0, OPT_LIST, "HOURS",
	    "least, most and headroom by the hours, as in 'mon-fri 08:00-20:00 4..20 +25%'",
	    OFF(hours), 0, 0, NULL },
	{ "zone", 0, OPT_STRING, "ZONE", "time zone of the hours; default UTC", OFF(zone), 0, 0,
	    NULL },
	{ "boot", 0, OPT_DURATION, "DUR", "from the order to a replica that works; default 10m",
	    OFF(boot_s), 0, 86400, NULL },
	{ "tolerance", 0, OPT_DOUBLE, "SHARE", "of change that is none; default 0.1",
	    OFF(tolerance), 0, 0.99, NULL },
	{ "down-window", 0, OPT_DURATION, "DUR",
	    "fewer only after so long; default: twice the boot and the billing, at least 5m",
	    OFF(down_window_s), 0, 30.0 * 86400, NULL },
	{ "down-rate", 0, OPT_DOUBLE, "SHARE",
	    "of the replicas that may go in 5 minutes; default 0.2", OFF(down_rate), 0.001, 1,
	    NULL },
	{ "billing", 0, OPT_DURATION, "DUR", "shortest time that is billed; default 0",
	    OFF(billing_s), 0, 86400, NULL },
	{ "period", 0, OPT_DURATION, "DUR", "between decisions; default 1m", OFF(period_s), 1,
	    86400, NULL },
	{ "every", 0, OPT_DURATION, "DUR", "between forecasts; default 1w", OFF(every_s), 3600,
	    366.0 * 86400, NULL },
	{ "level", 0, OPT_DOUBLE, "P", "quantile of the forecast that is counted with; default 0.9",
	    OFF(level), 0.01, 0.99, NULL },
	{ "from", 0, OPT_TIME, "TIME", "only the load from then on", OFF(from), 0, 0, NULL },
	{ "to", 0, OPT_TIME, "TIME", "only the load before then", OFF(to), 0, 0, NULL },
	{ "policies", 0, OPT_LIST, "POLICY",
	    "fixed_peak, fixed_mean, threshold, berth, berth_forecast; default all", OFF(policies),
	    0, 0, NULL },
	{ "svg", 0, OPT_PATH, "FILE", "write cost against shortage as a chart", OFF(svg), 0, 0,
	    NULL },
	{ 0 },
};

static enum berth_code
simscale_grid(const struct simulate_scale_opts *o, struct simscale_grid *g, struct berth_err *err)
{
	*g = (struct simscale_grid){ .period_s = o->period_s,
		.every_s = o->every_s,
		.level = o->level,
		.rule = { .min = o->min,
		    .max = o->max,
		    .gpus = o->gpus,
		    .unit = o->unit,
		    .target = o->target,
		    .tolerance = o->tolerance,
		    .boot_s = o->boot_s,
		    .down_window_s = o->down_window_s,
		    .billing_s = o->billing_s,
		    .down_rate = o->down_rate } };
	if (isnan(o->unit)) {
		err_set(err, BERTH_EUSAGE, "how much load does one replica carry?");
		return err_at(err, "--unit");
	}
	if (o->max != 0 && o->max < o->min)
		return err_set(err, BERTH_EUSAGE, "--max lies below --min");
	for (size_t p = 0; p < SIMSCALE_POLICIES; p++)
		g->policy[p] = o->policies.n == 0;
	for (size_t i = 0; i < o->policies.n; i++) {
		size_t p = 0;

		while (p < SIMSCALE_POLICIES && !str_eq(simscale_name(p), o->policies.v[i]))
			p++;
		if (p == SIMSCALE_POLICIES) {
			err_set(err, BERTH_EUSAGE,
			    "'%s' is no policy: fixed_peak, fixed_mean, threshold, berth or "
			    "berth_forecast",
			    o->policies.v[i]);
			return err_at(err, "--policies");
		}
		g->policy[p] = true;
	}
	return BERTH_OK;
}

/* Of both --headroom and --hours: a headroom in GPUs needs to know how many a replica has. */
static enum berth_code
simscale_headroom(
    const struct simulate_scale_opts *o, struct simscale_grid *g, struct berth_err *err)
{
	bool gpus;

	if (o->headroom != NULL &&
	    scale_headroom_parse(o->headroom, &g->rule.headroom, err) != BERTH_OK) {
		err->code = BERTH_EUSAGE;
		return err_at(err, "--headroom");
	}
	gpus = g->rule.headroom.gpus > 0;
	for (size_t i = 0; i < g->n_hours; i++)
		gpus = gpus || g->hours[i].headroom.gpus > 0;
	if (!gpus || o->gpus > 0)
		return BERTH_OK;
	err_set(err, BERTH_EUSAGE,
	    "headroom is told in GPUs: how many one replica has is said by --gpus");
	return err_at(err, "--gpus");
}

static enum berth_code
simscale_hours(struct cmd_ctx *ctx, struct simscale_grid *g, struct berth_err *err)
{
	const struct simulate_scale_opts *o = ctx->opts;
	struct scale_hours *hours = arena_array_of(ctx->arena, o->hours.n + 1, struct scale_hours);
	enum berth_code rc = BERTH_OK;

	if (o->zone != NULL && o->hours.n == 0) {
		err_set(err, BERTH_EUSAGE, "the zone is that of --hours, of which there are none");
		return err_at(err, "--zone");
	}
	if (o->hours.n > 0 && (rc = tz_load(ctx->arena, o->zone != NULL ? o->zone : "UTC", &g->tz,
				   err)) != BERTH_OK) {
		err->code = BERTH_EUSAGE;
		return err_at(err, "--zone");
	}
	for (size_t i = 0; i < o->hours.n; i++) {
		if (scale_hours_parse(o->hours.v[i], &hours[i], err) != BERTH_OK) {
			err->code = BERTH_EUSAGE;
			return err_at(err, "--hours");
		}
	}
	g->hours = hours;
	g->n_hours = o->hours.n;
	return BERTH_OK;
}

/* The peaks of the steps, as scaling itself sees a stored series, and the hours that forecasts are
 * made of. */
static enum berth_code
simscale_series(
    struct cmd_ctx *ctx, struct dense *d, struct fc_series *hours, struct berth_err *err)
{
	const struct simulate_scale_opts *o = ctx->opts;
	struct fc_series own;
	struct series s;
	enum berth_code rc = store_series_get(ctx->store, ctx->args[0], ctx->arena, &s, err);

	if (rc == BERTH_ENOTFOUND)
		cmd_next_step(ctx, "berth series lists what is recorded");
	if (rc == BERTH_OK)
		rc = store_samples_range(ctx->store, s.id, o->from, o->to, ctx->arena, d, err);
	if (rc != BERTH_OK)
		return rc;
	if (d->n == 0)
		return err_set(
		    err, BERTH_EINFEASIBLE, "series %s has no sample in this time", s.name);
	own = (struct fc_series){ .name = s.name,
		.t0 = d->t0,
		.step_s = d->step_s,
		.n = d->n,
		.mean = d->mean,
		.peak = d->peak };
	fc_to_hours(&own, ctx->arena, hours);
	hours->mean =
	    hours->peak != NULL ? hours->peak : hours->mean; /* what is counted with is the peak */
	return BERTH_OK;
}

static void
simscale_json(struct jsonw *w, const struct simscale_grid *g, const struct simscale_result *r)
{
	jsonw_begin_array(w, "policies");
	for (size_t p = 0; p < SIMSCALE_POLICIES; p++) {
		if (!g->policy[p])
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", simscale_name(p));
		jsonw_fixed(w, "cost", r[p].cost, 3);
		jsonw_fixed(
		    w, "mean", r[p].cost / (r[p].load / (g->rule.unit * g->rule.target)), 6);
		jsonw_fixed(w, "shortage", r[p].shortage / r[p].load, 6);
		jsonw_fixed(w, "short_hours", r[p].short_hours, 3);
		jsonw_int(w, "changes", r[p].changes);
		jsonw_int(w, "starts", r[p].starts);
		jsonw_int(w, "flaps", r[p].flaps);
		jsonw_int(w, "most", r[p].most);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

/* As many places as in JSON: sums of tenths of hours are not exact. */
static double
simscale_places(double v, double per_unit)
{
	return isfinite(v) ? round(v * per_unit) / per_unit : v;
}

static enum berth_code
simscale_table(struct cmd_ctx *ctx, const struct simscale_grid *g, const struct simscale_result *r,
    struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "policy", NULL, TABLE_TEXT, 0, 0 },
		{ "cost", "COST H", TABLE_DOUBLE, 0, 0 },
		{ "mean", "COST", TABLE_DOUBLE, 3, 0 },
		{ "shortage", "SHORT", TABLE_SHARE, 3, 0 },
		{ "short_hours", "SHORT H", TABLE_DOUBLE, 1, 0 },
		{ "changes", NULL, TABLE_INT, 0, 0 },
		{ "starts", NULL, TABLE_INT, 0, 0 },
		{ "flaps", NULL, TABLE_INT, 0, 0 },
		{ "most", NULL, TABLE_INT, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	const char *name[SIMSCALE_POLICIES];
	double mean[SIMSCALE_POLICIES];
	enum berth_code rc;
	size_t n = 0;

	for (size_t p = 0; p < SIMSCALE_POLICIES; p++) {
		if (!g->policy[p])
			continue;
		name[n] = simscale_name(p);
		mean[n++] = r[p].cost / (r[p].load / (g->rule.unit * g->rule.target));
		table_row(t);
		table_text(t, simscale_name(p));
		table_double(t, simscale_places(r[p].cost, 1e3));
		table_double(t, simscale_places(mean[n - 1], 1e6));
		table_double(t, simscale_places(r[p].shortage / r[p].load, 1e6));
		table_double(t, simscale_places(r[p].short_hours, 1e3));
		table_int(t, r[p].changes);
		table_int(t, r[p].starts);
		table_int(t, r[p].flaps);
		table_int(t, r[p].most);
	}
	cmd_say(ctx,
	    "Cost in replica-hours, and over the load itself; short: load that no replica\n"
	    "carried, and the hours with any; flaps: up, down and up within the window\n");
	rc = cmd_table_print(ctx, t, err);
	return rc == BERTH_OK
		   ? simshow_bars(ctx,
			 "Cost; | is the load itself, carried by replicas that come and go at once",
			 name, mean, n, err)
		   : rc;
}

/* What a policy costs against what it leaves short: the nearer to the corner, the better. */
static enum berth_code
simscale_svg(struct cmd_ctx *ctx, const struct simscale_grid *g, const struct simscale_result *r,
    struct berth_err *err)
{
	const struct simulate_scale_opts *o = ctx->opts;
	double x[SIMSCALE_POLICIES], y[SIMSCALE_POLICIES];
	struct svg_series v[SIMSCALE_POLICIES];
	struct svg_chart c = { .title = ctx->args[0],
		.x_label = "replica-hours over the load itself",
		.y_label = "load not carried, %",
		.y_min = NAN,
		.y_max = NAN,
		.series = v };

	for (size_t p = 0; p < SIMSCALE_POLICIES; p++) {
		if (!g->policy[p])
			continue;
		x[p] = r[p].cost / (r[p].load / (g->rule.unit * g->rule.target));
		y[p] = 100 * r[p].shortage / r[p].load;
		v[c.n_series] = (struct svg_series){ .kind = SVG_POINTS,
			.label = simscale_name(p),
			.x = &x[p],
			.y = &y[p],
			.n = 1,
			.color = (int)p };
		c.n_series++;
	}
	return simshow_svg(ctx, o->svg, &c, err);
}

enum berth_code
simulate_scale(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct simscale_result r[SIMSCALE_POLICIES] = { { 0 } };
	struct simscale_grid g;
	struct fc_series hours;
	struct dense d;
	enum berth_code rc = simscale_grid(ctx->opts, &g, err);

	if (rc == BERTH_OK)
		rc = simscale_hours(ctx, &g, err);
	if (rc == BERTH_OK)
		rc = simscale_headroom(ctx->opts, &g, err);
	if (rc == BERTH_OK)
		rc = simscale_series(ctx, &d, &hours, err);
	if (rc == BERTH_OK)
		rc = simscale_run(d.peak, d.n, d.t0, d.step_s, &hours, &g, ctx->arena, r, err);
	if (rc == BERTH_OK)
		rc = simscale_svg(ctx, &g, r, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx))
		return simscale_table(ctx, &g, r, err);
	simscale_json(cmd_json_begin(ctx, "berth.simulation/1"), &g, r);
	return cmd_json_end(ctx, err);
}
