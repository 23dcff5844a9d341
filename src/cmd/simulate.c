#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/usage_history.h"
#include "cmd/cmd.h"
#include "cmd/simcommit.h"
#include "cmd/simjobs.h"
#include "cmd/simowned.h"
#include "cmd/simscale.h"
#include "cmd/simshow.h"
#include "cmd/simspot.h"
#include "cmd/simunit.h"
#include "model/block.h"
#include "model/series.h"
#include "store/series_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/duration.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/plot.h"
#include "util/progress.h"
#include "util/str.h"
#include "util/svg.h"

#define SIMULATE_CHANGEOVER_MAX_S (30 * 86400)

struct simulate_opts {
	const char *traces, *set, *train, *pool, *svg;
	int64_t work_s, starts;
	double price, pessimism, move_hours;
	struct usd_micro on_demand;
	struct opt_list slack, changeover, policies;
};

static const struct simulate_opts simulate_defaults = {
	.set = "",
	.train = "other-half",
	.pool = "zone",
	.work_s = INT64_C(48) * 3600,
	.starts = 24,
	.price = 0.3,
	.pessimism = 1,
	.on_demand = { INT64_MIN },
};

#define OFF(field) offsetof(struct simulate_opts, field)
static const struct opt_row simulate_rows[] = {
	{ "traces", 0, OPT_PATH, "DIR", "folder with traces.csv and segments.csv", OFF(traces), 0,
	    0, NULL },
	{ "set", 0, OPT_STRING, "NAME", "only traces whose id begins so; default: all", OFF(set), 0,
	    0, NULL },
	{ "work", 0, OPT_DURATION, "DUR", "work of each job; default 48h", OFF(work_s), 60,
	    400.0 * 86400, NULL },
	{ "slack", 0, OPT_LIST, "RATIO", "deadline over work; default 1.0833,1.25,1.5,2",
	    OFF(slack), 0, 0, NULL },
	{ "changeover", 0, OPT_LIST, "DUR",
	    "start and restore of a machine; default 195s,780s,2145s", OFF(changeover), 0, 0,
	    NULL },
	{ "policies", 0, OPT_LIST, "POLICY",
	    "on_demand, greedy, uniform_progress, berth, omniscient; default all but the first",
	    OFF(policies), 0, 0, NULL },
	{ "train", 0, OPT_CHOICE, "other-half|past",
	    "what berth's policy learns from; default other-half", OFF(train), 0, 0, NULL },
	{ "pool", 0, OPT_CHOICE, "zone|region|all", "where a job may move; default zone", OFF(pool),
	    0, 0, NULL },
	{ "price", 0, OPT_DOUBLE, "RATIO", "spot price over on-demand price; default 0.3",
	    OFF(price), 0, 10, NULL },
	{ "on-demand-price", 0, OPT_MONEY, "USD",
	    "of an instance-hour: spot costs what prices.csv says over it", OFF(on_demand), 0, 9e6,
	    NULL },
	{ "move", 0, OPT_DOUBLE, "HOURS",
	    "on-demand hours that bringing the checkpoint to another region costs; default 0",
	    OFF(move_hours), 0, 1000, NULL },
	{ "starts", 0, OPT_INT, "N", "jobs in each half of each trace; default 24", OFF(starts), 1,
	    100000, NULL },
	{ "pessimism", 0, OPT_DOUBLE, "Z",
	    "standard errors that learned chances are worsened by; default 1", OFF(pessimism), 0,
	    10, NULL },
	{ "svg", 0, OPT_PATH, "FILE", "write the mean cost by slack as a chart", OFF(svg), 0, 0,
	    NULL },
	{ 0 },
};

struct simulate_commit_opts {
	struct opt_list reserved;
	const char *svg;
	double split;
	int64_t every_s, paths, seed;
};

static const struct simulate_commit_opts simulate_commit_defaults = {
	.split = 0.5, .paths = 200, .seed = 1
};

#define COFF(field) offsetof(struct simulate_commit_opts, field)
static const struct opt_row simulate_commit_rows[] = {
	{ "reserved", 0, OPT_LIST, "RATIO", "reserved price over on-demand price; default 0.6",
	    COFF(reserved), 0, 0, NULL },
	{ "split", 0, OPT_DOUBLE, "SHARE",
	    "share of the history that is known at the first purchase; default 0.5", COFF(split),
	    0.05, 0.95, NULL },
	{ "every", 0, OPT_DURATION, "DUR",
	    "buy anew for each such time; default: once, for all that follows", COFF(every_s),
	    86400, 5.0 * 366 * 86400, NULL },
	{ "paths", 0, OPT_INT, "N", "sample paths of the forecast; default 200", COFF(paths), 1,
	    10000, NULL },
	{ "seed", 0, OPT_INT, "N", "of the sample paths; default 1", COFF(seed), 0, 9e15, NULL },
	{ "svg", 0, OPT_PATH, "FILE",
	    "write the mean cost by the price of what is reserved as a chart", COFF(svg), 0, 0,
	    NULL },
	{ 0 },
};

struct simulate_jobs_opts {
	int64_t span_s, work_min_s, work_max_s, changeover_s, tick_s, zones, seed;
	double per_day, slack_min, slack_max, price, reserved, churn;
	struct opt_list policies;
	const char *svg;
};

static const struct simulate_jobs_opts simulate_jobs_defaults = {
	.span_s = INT64_C(52) * 7 * 86400,
	.work_min_s = 3600,
	.work_max_s = INT64_C(48) * 3600,
	.changeover_s = 600,
	.tick_s = 600,
	.zones = 3,
	.seed = 1,
	.per_day = 10,
	.slack_min = 1.1,
	.slack_max = 3,
	.price = 0.3,
	.reserved = 0.6,
	.churn = 1,
};

#define JOFF(field) offsetof(struct simulate_jobs_opts, field)
static const struct opt_row simulate_jobs_rows[] = {
	{ "span", 0, OPT_DURATION, "DUR", "time in which jobs come; default 52w", JOFF(span_s),
	    86400, 60.0 * 7 * 86400, NULL },
	{ "per-day", 0, OPT_DOUBLE, "N", "jobs a day; default 10", JOFF(per_day), 0.01, 10000,
	    NULL },
	{ "work-min", 0, OPT_DURATION, "DUR", "shortest work; default 1h", JOFF(work_min_s), 60,
	    400.0 * 86400, NULL },
	{ "work-max", 0, OPT_DURATION, "DUR", "longest work; default 48h", JOFF(work_max_s), 60,
	    400.0 * 86400, NULL },
	{ "slack-min", 0, OPT_DOUBLE, "RATIO", "least deadline over work; default 1.1",
	    JOFF(slack_min), 1, 100, NULL },
	{ "slack-max", 0, OPT_DOUBLE, "RATIO", "greatest deadline over work; default 3",
	    JOFF(slack_max), 1, 100, NULL },
	{ "changeover", 0, OPT_DURATION, "DUR", "start and restore of a machine; default 10m",
	    JOFF(changeover_s), 0, 86400, NULL },
	{ "tick", 0, OPT_DURATION, "DUR", "step of the world; default 10m", JOFF(tick_s), 60, 3600,
	    NULL },
	{ "zones", 0, OPT_INT, "N", "zones that a job may use; default 3", JOFF(zones), 1, 64,
	    NULL },
	{ "churn", 0, OPT_DOUBLE, "X", "times the interruptions of the bundled prior; default 1",
	    JOFF(churn), 0.01, 100, NULL },
	{ "price", 0, OPT_DOUBLE, "RATIO", "spot price over on-demand price; default 0.3",
	    JOFF(price), 0, 10, NULL },
	{ "reserved", 0, OPT_DOUBLE, "RATIO", "reserved price over on-demand price; default 0.6",
	    JOFF(reserved), 0.01, 1, NULL },
	{ "seed", 0, OPT_INT, "N", "of the world; default 1", JOFF(seed), 0, 9e15, NULL },
	{ "policies", 0, OPT_LIST, "POLICY",
	    "on_demand, greedy, uniform_progress, berth, reserve_mean; default all", JOFF(policies),
	    0, 0, NULL },
	{ "svg", 0, OPT_PATH, "FILE", "write the cost by the week as a chart", JOFF(svg), 0, 0,
	    NULL },
	{ 0 },
};

static enum berth_code simulate_jobs(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code simulate_spot(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code simulate_commit(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd simulate_subs[] = {
	{ .name = "spot",
	    .summary = "replay spot policies over recorded availability",
	    .args = "",
	    .opts = simulate_rows,
	    .opts_default = &simulate_defaults,
	    .opts_size = sizeof(simulate_defaults),
	    .run = simulate_spot },
	{ .name = "commit",
	    .summary = "buy on the first part of the history, pay for the rest",
	    .args = "[SERIES ...]",
	    .opts = simulate_commit_rows,
	    .opts_default = &simulate_commit_defaults,
	    .opts_size = sizeof(simulate_commit_defaults),
	    .flags = CMD_STORE_RO,
	    .args_max = -1,
	    .run = simulate_commit },
	{ .name = "jobs",
	    .summary = "a year of jobs through a made-up world of spot zones",
	    .args = "",
	    .opts = simulate_jobs_rows,
	    .opts_default = &simulate_jobs_defaults,
	    .opts_size = sizeof(simulate_jobs_defaults),
	    .run = simulate_jobs },
	{ .name = "scale",
	    .summary = "replay policies of autoscaling over a recorded load",
	    .args = "SERIES",
	    .opts = simulate_scale_rows,
	    .opts_default = &simulate_scale_defaults,
	    .opts_size = sizeof(simulate_scale_defaults),
	    .flags = CMD_STORE_RO,
	    .args_min = 1,
	    .args_max = 1,
	    .run = simulate_scale },
	{ 0 },
};

const struct cmd cmd_simulate = {
	.name = "simulate",
	.summary = "try policies on recorded or made-up worlds",
	.args = "spot|commit|jobs|scale",
	.subs = simulate_subs,
};

static enum berth_code
simulate_policies(const struct opt_list *list, struct simspot_grid *g, struct berth_err *err)
{
	for (size_t p = SPOT_POLICY_GREEDY; p < SPOT_POLICY_COUNT; p++)
		g->policy[p] = list->n == 0;
	g->omniscient = list->n == 0;
	for (size_t i = 0; i < list->n; i++) {
		size_t p = 0;

		while (p < SIMSPOT_POLICIES && !str_eq(simspot_policy_name(p), list->v[i]))
			p++;
		if (p == SIMSPOT_POLICIES) {
			err_set(err, BERTH_EUSAGE,
			    "'%s' is no policy: on_demand, greedy, uniform_progress, berth or "
			    "omniscient",
			    list->v[i]);
			return err_at(err, "--policies");
		}
		*(p == SIMSPOT_OMNISCIENT ? &g->omniscient : &g->policy[p]) = true;
	}
	return BERTH_OK;
}

/* A value of an option is the command line's fault. */
static enum berth_code
simulate_usage(struct berth_err *err, const char *option)
{
	err->code = BERTH_EUSAGE;
	return err_at(err, "%s", option);
}

static enum berth_code
simulate_numbers(struct cmd_ctx *ctx, const struct opt_list *slack,
    const struct opt_list *changeover, struct simspot_grid *g, struct berth_err *err)
{
	static const double slacks[] = { 1.0833, 1.25, 1.5, 2 }, changeovers[] = { 195, 780, 2145 };
	double *s = arena_array(ctx->arena, slack->n, sizeof(*s)),
	       *c = arena_array(ctx->arena, changeover->n, sizeof(*c));

	for (size_t i = 0; i < slack->n; i++)
		if (str_to_double(slack->v[i], 1, 100, &s[i], err) != BERTH_OK)
			return simulate_usage(err, "--slack");
	for (size_t i = 0; i < changeover->n; i++) {
		int64_t v;

		if (duration_parse(changeover->v[i], &v, err) != BERTH_OK)
			return simulate_usage(err, "--changeover");
		if (v > SIMULATE_CHANGEOVER_MAX_S) {
			err_set(err, BERTH_EUSAGE, "'%s': must be at most 30d", changeover->v[i]);
			return err_at(err, "--changeover");
		}
		c[i] = (double)v;
	}
	g->slack = slack->n > 0 ? s : slacks;
	g->n_slack = slack->n > 0 ? slack->n : 4;
	g->changeover_s = changeover->n > 0 ? c : changeovers;
	g->n_changeover = changeover->n > 0 ? changeover->n : 3;
	return BERTH_OK;
}

static void
simulate_progress(void *arg, size_t done, size_t all)
{
	(void)all;
	progress_set(arg, (int64_t)done);
}

/* Traces of zones that `block:` keeps all spot from are left out, and named: no tick would go
 * there. A rule that asks for more than a trace tells leaves it in. */
static enum berth_code
simulate_block(struct cmd_ctx *ctx, struct simspot_traces *t, struct berth_err *err)
{
	const struct config *config;
	const char *const *rules = NULL;
	const char *out = "";
	size_t n_rules = 0, n = 0, gone = 0;
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc == BERTH_OK)
		rc = block_rules_read(config->root, "block", ctx->arena, &rules, &n_rules, err);
	for (size_t i = 0; rc == BERTH_OK && i < t->n; i++) {
		const struct offer o = { .provider = "",
			.account = "",
			.region = t->trace[i].region,
			.zone = t->trace[i].zone_name,
			.instance_type = "",
			.accelerator = "",
			.purchase = PURCHASE_SPOT };

		if (block_rules_hit(rules, n_rules, &o) == NULL) {
			t->trace[n++] = t->trace[i];
			continue;
		}
		out =
		    arena_printf(ctx->arena, "%s%s%s", out, gone > 0 ? ", " : "", t->trace[i].name);
		gone++;
	}
	if (rc != BERTH_OK || gone == 0)
		return rc;
	t->n = n;
	if (n == 0)
		return err_set(err, BERTH_EINFEASIBLE,
		    "block of berth.yaml keeps all jobs from every zone of these traces (%s)", out);
	cmd_note(ctx, "left out, for block of berth.yaml keeps all jobs from there: %s", out);
	return BERTH_OK;
}

static enum berth_code
simulate_spot(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct simulate_opts *o = ctx->opts;
	struct simspot_grid g = { .work_s = (double)o->work_s,
		.price = o->price,
		.pessimism = o->pessimism,
		.starts = (size_t)o->starts,
		.move_hours = o->move_hours,
		.on_demand_usd = usd_known(o->on_demand) ? usd_to_double(o->on_demand) : 0 };
	struct simspot_traces traces;
	struct simspot_result r;
	struct progress bar;
	enum berth_code rc;

	if (o->traces == NULL) {
		err_set(err, BERTH_EUSAGE, "name the folder of the traces");
		return err_at(err, "--traces");
	}
	if (usd_known(o->on_demand) && o->on_demand.v == 0) {
		err_set(err, BERTH_EUSAGE,
		    "0 is no price to weigh spot against: give what an instance-hour costs on "
		    "demand, or leave it out and take --price");
		return err_at(err, "--on-demand-price");
	}
	g.train = str_eq(o->train, "past") ? SIMSPOT_PAST : SIMSPOT_OTHER_HALF;
	g.pool = str_eq(o->pool, "all")      ? SIMSPOT_ALL
		 : str_eq(o->pool, "region") ? SIMSPOT_REGION
					     : SIMSPOT_ZONE;
	rc = simulate_policies(&o->policies, &g, err);
	if (rc == BERTH_OK)
		rc = simulate_numbers(ctx, &o->slack, &o->changeover, &g, err);
	if (rc == BERTH_OK)
		rc = simspot_load(o->traces, o->set, g.on_demand_usd > 0, ctx->arena, &traces, err);
	if (rc == BERTH_OK)
		rc = simulate_block(ctx, &traces, err);
	if (rc != BERTH_OK)
		return rc;
	progress_start(&bar, cmd_progress(ctx), "simulate", "",
	    g.pool == SIMSPOT_ZONE ? (int64_t)(traces.n * 2 * g.n_changeover) : 0);
	rc = simspot_run(&traces, &g, simulate_progress, &bar, ctx->arena, &r, err);
	progress_end(&bar);
	if (rc != BERTH_OK)
		return rc;
	if (r.impossible > 0)
		cmd_warn(ctx,
		    "%zu combinations are left out: work and one changeover do not fit into the "
		    "deadline",
		    r.impossible);
	if (r.too_short > 0)
		cmd_warn(ctx,
		    "%zu of %zu halves of traces are left out: too short for the longest deadline, "
		    "or their ticks longer than the work",
		    r.too_short, r.halves);
	rc = simshow_spot_svg(ctx, o->svg, &r, err);
	if (rc != BERTH_OK || !cmd_wants_json(ctx))
		return rc == BERTH_OK ? simshow_spot(ctx, &r, err) : rc;
	simshow_spot_json(cmd_json_begin(ctx, "berth.simulation/1"), &r);
	return cmd_json_end(ctx, err);
}

/* The series that were asked for, or all that are demand, by the hour. */
static enum berth_code
simulate_series(struct cmd_ctx *ctx, struct fc_series **out, struct series **rows_out,
    size_t *n_out, struct berth_err *err)
{
	struct series *all, *rows;
	size_t n, kept = 0, n_named = ctx->n_args;
	enum berth_code rc = store_series_list(ctx->store, ctx->arena, &all, &n, err);
	struct fc_series *v;

	if (rc != BERTH_OK)
		return rc;
	v = arena_array(ctx->arena, n + n_named, sizeof(*v));
	rows = arena_array(ctx->arena, n + n_named, sizeof(*rows));
	for (size_t i = 0; i < (n_named > 0 ? n_named : n) && rc == BERTH_OK; i++) {
		struct series s = n_named > 0 ? (struct series){ 0 } : all[i];
		struct usage_history h = { .warning = NULL };

		if (n_named > 0)
			rc = store_series_get(ctx->store, ctx->args[i], ctx->arena, &s, err);
		if (rc != BERTH_OK ||
		    (n_named == 0 && (!series_is_demand(&s) || (n > 1 && str_eq(s.name, "total")))))
			continue;
		if (s.samples > 0)
			rc = usage_history(ctx->store, &s, 0, 0, ctx->arena, &h, err);
		if (rc == BERTH_OK && h.warning != NULL)
			cmd_warn(ctx, "series %s: %s", s.name, h.warning);
		if (rc == BERTH_OK && h.s.n > 0) {
			rows[kept] = s;
			v[kept++] = h.s;
		}
	}
	*out = v;
	*rows_out = rows;
	*n_out = kept;
	return rc;
}

static enum berth_code
simulate_commit(struct cmd_ctx *ctx, struct berth_err *err)
{
	static const double reserved[] = { 0.6 };
	const struct simulate_commit_opts *o = ctx->opts;
	struct simcommit_grid g = { .split = o->split,
		.every_s = o->every_s / 3600 * 3600,
		.paths = (size_t)o->paths,
		.seed = (uint64_t)o->seed };
	double *ratio = arena_array(ctx->arena, o->reserved.n, sizeof(*ratio));
	struct simcommit_cell *cells;
	struct series *rows;
	struct fc_series *s;
	struct unit *units;
	struct jsonw *w;
	struct progress bar;
	size_t n, n_cells;
	enum berth_code rc;

	for (size_t i = 0; i < o->reserved.n; i++)
		if (str_to_double(o->reserved.v[i], 0.01, 1, &ratio[i], err) != BERTH_OK)
			return simulate_usage(err, "--reserved");
	g.reserved = o->reserved.n > 0 ? ratio : reserved;
	g.n_reserved = o->reserved.n > 0 ? o->reserved.n : 1;
	rc = simulate_series(ctx, &s, &rows, &n, err);
	if (rc != BERTH_OK)
		return rc;
	if (n == 0)
		return err_set(err, BERTH_EINFEASIBLE,
		    "the store has no demand: record usage first (berth-record(1))");
	rc = simunit_read(ctx, rows, s, n, &units, err);
	if (rc == BERTH_OK)
		rc = simowned_read(ctx, rows, n, units, &g.own, &g.n_own, err);
	if (rc != BERTH_OK)
		return rc;
	progress_start(&bar, cmd_progress(ctx), "simulate", "", 0);
	rc = simcommit_run(s, n, &g, simulate_progress, &bar, ctx->arena, &cells, &n_cells, err);
	progress_end(&bar);
	if (rc == BERTH_OK)
		simowned_note(ctx, g.own, g.n_own);
	if (rc == BERTH_OK)
		simshow_commit_left(ctx, cells, n_cells);
	if (rc == BERTH_OK)
		rc = simshow_commit_svg(ctx, o->svg, cells, n_cells, err);
	if (rc != BERTH_OK || !cmd_wants_json(ctx))
		return rc == BERTH_OK ? simshow_commit(ctx, cells, n_cells, err) : rc;
	w = cmd_json_begin(ctx, "berth.simulation/1");
	simshow_commit_json(w, cells, n_cells);
	simunit_json(w, rows, units, n);
	return cmd_json_end(ctx, err);
}

static enum berth_code
simulate_jobs_policies(const struct opt_list *list, struct simjobs_grid *g, struct berth_err *err)
{
	for (size_t p = 0; p < SIMJOBS_POLICIES; p++)
		g->policy[p] = list->n == 0;
	for (size_t i = 0; i < list->n; i++) {
		size_t p = 0;

		while (p < SIMJOBS_POLICIES && !str_eq(simjobs_policy_name(p), list->v[i]))
			p++;
		if (p == SIMJOBS_POLICIES) {
			err_set(err, BERTH_EUSAGE,
			    str_eq(list->v[i], "omniscient")
				? "%s is too slow for a stream of jobs: see simulate spot"
				: "'%s' is no policy: on_demand, greedy, uniform_progress, berth "
				  "or reserve_mean",
			    list->v[i]);
			return err_at(err, "--policies");
		}
		g->policy[p] = true;
	}
	return BERTH_OK;
}

static void
simulate_jobs_json(
    struct jsonw *w, const struct simjobs_grid *g, const struct simjobs_result *r, size_t weeks)
{
	jsonw_begin_array(w, "policies");
	for (size_t p = 0; p < SIMJOBS_POLICIES; p++) {
		if (!g->policy[p])
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", simjobs_policy_name(p));
		jsonw_int(w, "runs", (int64_t)r[p].jobs);
		jsonw_fixed(w, "mean", r[p].cost / r[p].work, 6);
		jsonw_fixed(w, "cost", r[p].cost, 3);
		jsonw_fixed(w, "work_hours", r[p].work, 3);
		jsonw_fixed(w, "spot_hours", r[p].spot_hours, 3);
		jsonw_fixed(w, "on_demand_hours", r[p].on_demand_hours, 3);
		jsonw_fixed(w, "reserved_hours", r[p].reserved_hours, 3);
		jsonw_fixed(w, "waited_hours", r[p].waited, 3);
		jsonw_fixed(w, "waited_hours_p95", r[p].waited_p95, 3);
		jsonw_int(w, "misses", (int64_t)r[p].misses);
		jsonw_int(w, "preemptions", (int64_t)r[p].preemptions);
		jsonw_begin_array(w, "weekly_cost");
		for (size_t k = 0; k < weeks; k++)
			jsonw_fixed(w, NULL, r[p].weekly[k], 3);
		jsonw_end_array(w);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

/* Each policy's cost by the week, on one scale: a blank week costs nothing. */
static enum berth_code
simulate_jobs_plot(struct cmd_ctx *ctx, const struct simjobs_grid *g,
    const struct simjobs_result *r, size_t weeks, struct berth_err *err)
{
	double most = 0, v[SIMJOBS_WEEKS + 1];
	enum berth_code rc;
	struct buf b;

	for (size_t p = 0; p < SIMJOBS_POLICIES; p++)
		for (size_t k = 0; k < weeks; k++)
			most = fmax(most, r[p].weekly[k]);
	buf_init(&b, 65536);
	buf_printf(&b, "\nCost by week, up to %.0f on-demand hours\n", most);
	for (size_t p = 0; p < SIMJOBS_POLICIES; p++) {
		if (!g->policy[p])
			continue;
		memcpy(v, r[p].weekly, weeks * sizeof(*v));
		v[weeks] = most; /* sets the scale; cut off again */
		buf_printf(&b, "%-17s", simjobs_policy_name(p));
		plot_spark(v, weeks + 1, (int)weeks + 1, ctx->unicode, &b);
		if (b.len > 3)
			b.p[b.len -= ctx->unicode ? 3 : 1] = '\0';
		buf_printf(&b, "\n");
	}
	rc = buf_check(&b, "the plot", err);
	if (rc == BERTH_OK)
		cmd_say(ctx, "%s", b.p);
	buf_free(&b);
	return rc;
}

static enum berth_code
simulate_jobs_svg(struct cmd_ctx *ctx, const struct simjobs_grid *g, const struct simjobs_result *r,
    size_t weeks, struct berth_err *err)
{
	const struct simulate_jobs_opts *o = ctx->opts;
	struct svg_series v[SIMJOBS_POLICIES];
	struct svg_chart c = { .title = "Cost by week",
		.x_label = "week",
		.y_label = "on-demand machine-hours",
		.y_min = NAN,
		.y_max = NAN,
		.series = v };
	double week[SIMJOBS_WEEKS];

	for (size_t k = 0; k < SIMJOBS_WEEKS; k++)
		week[k] = (double)(k + 1);
	for (size_t p = 0; p < SIMJOBS_POLICIES; p++)
		if (g->policy[p]) {
			v[c.n_series] = (struct svg_series){ .kind = SVG_LINE,
				.label = simjobs_policy_name(p),
				.x = week,
				.y = r[p].weekly,
				.n = weeks,
				.color = (int)p };
			c.n_series++;
		}
	return simshow_svg(ctx, o->svg, &c, err);
}

static enum berth_code
simulate_jobs_table(struct cmd_ctx *ctx, const struct simjobs_grid *g,
    const struct simjobs_result *r, size_t weeks, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "policy", NULL, TABLE_TEXT, 0, 0 },
		{ "runs", "JOBS", TABLE_INT, 0, 0 },
		{ "mean", "COST", TABLE_DOUBLE, 4, 0 },
		{ "spot_percent", "SPOT %", TABLE_DOUBLE, 0, 0 },
		{ "waited_hours", "WAITED H", TABLE_DOUBLE, 2, 0 },
		{ "waited_hours_p95", "P95", TABLE_DOUBLE, 1, 0 },
		{ "preemptions", NULL, TABLE_INT, 0, 0 },
		{ "misses", NULL, TABLE_INT, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	enum berth_code rc;

	for (size_t p = 0; p < SIMJOBS_POLICIES; p++) {
		if (!g->policy[p])
			continue;
		table_row(t);
		table_text(t, simjobs_policy_name(p));
		table_int(t, (int64_t)r[p].jobs);
		table_double(t, r[p].cost / r[p].work);
		table_double(t, 100 * r[p].spot_hours /
				    (r[p].spot_hours + r[p].on_demand_hours + r[p].reserved_hours));
		table_double(t, r[p].waited);
		table_double(t, r[p].waited_p95);
		table_int(t, (int64_t)r[p].preemptions);
		table_int(t, (int64_t)r[p].misses);
	}
	cmd_say(ctx,
	    "Cost over the work on demand, without start-up; waited: from submission to the\n"
	    "end, less the work\n");
	rc = cmd_table_print(ctx, t, err);
	return rc == BERTH_OK ? simulate_jobs_plot(ctx, g, r, weeks, err) : rc;
}

static enum berth_code
simulate_jobs(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct simulate_jobs_opts *o = ctx->opts;
	struct simjobs_grid g = { .span_s = o->span_s,
		.tick_s = o->tick_s,
		.per_day = o->per_day,
		.work_min_s = (double)o->work_min_s,
		.work_max_s = (double)o->work_max_s,
		.slack_min = o->slack_min,
		.slack_max = o->slack_max,
		.changeover_s = (double)o->changeover_s,
		.price = o->price,
		.zones = (size_t)o->zones,
		.reserved = o->reserved,
		.churn = o->churn,
		.seed = (uint64_t)o->seed };
	struct simjobs_result r[SIMJOBS_POLICIES];
	struct progress bar;
	size_t weeks;
	enum berth_code rc = simulate_jobs_policies(&o->policies, &g, err);

	if (rc != BERTH_OK)
		return rc;
	if (o->work_max_s < o->work_min_s || o->slack_max < o->slack_min)
		err_set(err, BERTH_EUSAGE, "the greatest work or slack lies below the least");
	else
		err_set(err, BERTH_OK, "%s", "");
	if (err->code != BERTH_OK)
		return err->code;
	progress_start(&bar, cmd_progress(ctx), "simulate", "jobs", 0);
	rc = simjobs_run(&g, simulate_progress, &bar, ctx->arena, r, &weeks, err);
	progress_end(&bar);
	if (rc == BERTH_OK)
		rc = simulate_jobs_svg(ctx, &g, r, weeks, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx))
		return simulate_jobs_table(ctx, &g, r, weeks, err);
	simulate_jobs_json(cmd_json_begin(ctx, "berth.simulation/1"), &g, r, weeks);
	return cmd_json_end(ctx, err);
}
