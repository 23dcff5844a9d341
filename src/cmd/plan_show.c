#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/plan_join.h"
#include "cmd/roadmap.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

#define PLAN_WEEK_S (7 * 86400)
#define PLAN_WIDE 120 /* columns that the totals fit into in one line */

struct plan_totals {
	double cost, on_demand, lower, bound, upfront;
};

/* What it is, and how many GPUs of the series' reference one of its GPUs counts as. */
static void
plan_json_speed(struct jsonw *w, const struct plan_series *ps, size_t line)
{
	const struct offer *o = ps->offers[line];

	jsonw_str(w, "accelerator", o->accelerator);
	jsonw_fixed(w, "speed", ps->carries[line] / o->accelerator_count, 6);
}

/* Machines of other accelerators may carry parts of a GPU of the series' own. */
static void
plan_json_gpus(struct jsonw *w, double gpus)
{
	if (fabs(gpus - rint(gpus)) < 1e-9)
		jsonw_int(w, "gpus", (int64_t)rint(gpus));
	else
		jsonw_fixed(w, "gpus", gpus, 6);
}

static void
plan_json_buys(struct jsonw *w, const struct plan_series *ps)
{
	jsonw_begin_array(w, "buys");
	for (size_t i = 0; i < ps->n_lines; i++) {
		const struct commit_use *u = &ps->plan.use[i];
		const struct offer *o = ps->offers[i];

		if (ps->lines[i].kind != COMMIT_RESERVED || u->count == 0)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "provider", o->provider);
		jsonw_str_or_null(w, "region", o->region);
		jsonw_str_or_null(w, "instance_type", o->instance_type);
		jsonw_str(w, "purchase", purchase_name(o->purchase));
		jsonw_int(w, "term_months", o->term_months);
		jsonw_str(w, "payment", payment_name(o->payment));
		jsonw_int(w, "count", u->count);
		plan_json_gpus(w, u->gpus);
		plan_json_speed(w, ps, i);
		jsonw_money(w, "upfront", o->upfront);
		jsonw_money(w, "price_per_hour", o->price);
		jsonw_money(w, "usage_price_per_hour", o->usage);
		jsonw_fixed(
		    w, "effective_price_per_gpu_hour", ps->lines[i].fixed + ps->lines[i].usage, 6);
		jsonw_fixed(w, "break_even_hours", u->break_even * offer_term_hours(o), 1);
		jsonw_fixed(w, "break_even_utilisation", u->break_even, 6);
		jsonw_fixed(w, "utilisation", u->utilisation, 6);
		jsonw_fixed(w, "bound", u->bound_usd, 6);
		jsonw_fixed(w, "expected_cost", u->cost_usd, 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void
plan_json_rest(struct jsonw *w, const struct plan_series *ps)
{
	double all = ps->curve.mean * ps->curve.hours;

	jsonw_begin_array(w, "rest");
	for (size_t i = 0; i < ps->n_lines; i++) {
		const struct commit_use *u = &ps->plan.use[i];

		if (ps->lines[i].kind == COMMIT_RESERVED ||
		    (u->gpus == 0 && i > 0 && ps->lines[i].kind == ps->lines[i - 1].kind))
			continue; /* of each kind one, and those that are used */
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "purchase", commit_kind_name(ps->lines[i].kind));
		jsonw_str(w, "offer", ps->names[i]);
		jsonw_fixed(w, "share", all > 0 ? u->gpu_hours / all : 0, 6);
		plan_json_gpus(w, u->gpus);
		plan_json_speed(w, ps, i);
		jsonw_fixed(w, "price_per_gpu_hour", ps->lines[i].usage, 6);
		jsonw_fixed(w, "expected_cost", u->cost_usd, 6);
		if (ps->lines[i].kind == COMMIT_OWNED) {
			double paid, idle = plan_owned_idle(ps, i, &paid);

			jsonw_fixed(w, "utilisation", u->utilisation, 6);
			jsonw_fixed(w, "idle_gpu_hours", idle, 3);
			jsonw_fixed(w, "idle_cost", paid, 6);
		}
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

/* Utilisation at the levels where it falls through each twentieth, so that the curve can be drawn.
 */
static void
plan_json_levels(struct jsonw *w, const struct commit_curve *c)
{
	double next = 1.01;

	jsonw_begin_array(w, "utilisation");
	for (size_t l = 0; l < c->levels; l++) {
		if (c->use[l] > next && l + 1 < c->levels)
			continue;
		next = c->use[l] - 0.05;
		jsonw_begin_object(w, NULL);
		jsonw_int(w, "gpu", (int64_t)l + 1);
		jsonw_fixed(w, "busy", c->use[l], 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void
plan_json_risk(struct jsonw *w, const struct plan_series *ps)
{
	const struct commit_risk *r = &ps->risk;

	jsonw_begin_object(w, "outcome");
	jsonw_fixed(w, "p10", r->p10_usd, 6);
	jsonw_fixed(w, "p50", r->p50_usd, 6);
	jsonw_fixed(w, "p90", r->p90_usd, 6);
	jsonw_end_object(w);
	jsonw_begin_object(w, "regret");
	jsonw_fixed(w, "demand_minus_10", r->fall_regret_usd, 6);
	jsonw_fixed(w, "demand_minus_20", r->regret_down_usd, 6);
	jsonw_fixed(w, "demand_plus_20", r->regret_up_usd, 6);
	jsonw_end_object(w);
}

static void
plan_json_ladder(struct jsonw *w, const struct plan_series *ps)
{
	jsonw_begin_object(w, "ladder");
	jsonw_fixed(w, "expected_cost", ps->ladder_cost_usd, 6);
	jsonw_begin_array(w, "steps");
	for (size_t k = 0; k < ps->n_rungs; k++)
		for (size_t i = 0; i < ps->n_lines; i++) {
			if (ps->rung[k].count[i] == 0)
				continue;
			jsonw_begin_object(w, NULL);
			jsonw_time(w, "t", ps->rung[k].at);
			jsonw_str(w, "provider", ps->offers[i]->provider);
			jsonw_str_or_null(w, "region", ps->offers[i]->region);
			jsonw_str_or_null(w, "instance_type", ps->offers[i]->instance_type);
			jsonw_int(w, "term_months", ps->offers[i]->term_months);
			jsonw_str(w, "payment", payment_name(ps->offers[i]->payment));
			jsonw_money(w, "upfront", ps->offers[i]->upfront);
			jsonw_money(w, "price_per_hour", ps->offers[i]->price);
			jsonw_money(w, "usage_price_per_hour", ps->offers[i]->usage);
			jsonw_int(w, "count", ps->rung[k].count[i]);
			jsonw_end_object(w);
		}
	jsonw_end_array(w);
	jsonw_end_object(w);
}

static void
plan_json_turn(struct jsonw *w, const char *name, const struct commit_turn *t)
{
	jsonw_begin_object(w, name);
	jsonw_fixed(w, "factor", t->factor, 9);
	if (isfinite(t->factor))
		plan_json_gpus(w, t->gpus);
	else
		jsonw_null(w, "gpus");
	jsonw_end_object(w);
}

static void
plan_json_change(struct jsonw *w, const struct plan_series *ps)
{
	jsonw_begin_object(w, "what_changes_it");
	jsonw_str(w, "plan", "one_date"); /* that of the buys, not of the schedule */
	plan_json_turn(w, "reserved_price_up", &ps->change.dearer);
	plan_json_turn(w, "reserved_price_down", &ps->change.cheaper);
	plan_json_turn(w, "demand_up", &ps->change.more);
	plan_json_turn(w, "demand_down", &ps->change.less);
	jsonw_end_object(w);
}

static void
plan_json_series(struct jsonw *w, const struct plan_series *ps, const struct plan_options *o)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", ps->series.name);
	jsonw_str(w, "accelerator", ps->accel->name);
	jsonw_str(w, "reference", ps->counted_in->name);
	if (ps->unit.told)
		unit_json(w, &ps->unit);
	if (ps->n_of > 0) {
		jsonw_begin_array(w, "of");
		for (size_t k = 0; k < ps->n_of; k++)
			jsonw_str(w, NULL, ps->of[k]);
		jsonw_end_array(w);
	}
	jsonw_fixed(w, "queued_mean", ps->queued, 6);
	jsonw_bool(w, "requested", ps->requested);
	plan_json_buys(w, ps);
	plan_json_rest(w, ps);
	jsonw_fixed(w, "expected_cost", ps->plan.cost_usd, 6);
	jsonw_fixed(w, "on_demand_only_cost", ps->plan.on_demand_usd, 6);
	jsonw_fixed(w, "lower_bound", ps->plan.lower_bound_usd, 6);
	jsonw_fixed(w, "service_level", o->service_level, 6);
	jsonw_fixed(w, "covered", ps->risk.covered, 6);
	jsonw_fixed(w, "peak", ps->peak, 6);
	jsonw_fixed(w, "mean", ps->curve.mean, 6);
	plan_json_levels(w, &ps->curve);
	plan_json_risk(w, ps);
	plan_json_change(w, ps);
	plan_rival_json(w, ps);
	if (ps->n_rungs > 0)
		plan_json_ladder(w, ps);
	if (ps->schedule != NULL)
		plan_schedule_json(w, ps, o);
	plan_reclaim_json(w, ps);
	if (ps->n_events > 0)
		roadmap_json_uses(w, ps->events, ps->n_events);
	jsonw_begin_array(w, "because");
	for (size_t k = 0; k < ps->because.n; k++)
		jsonw_str(w, NULL, ps->because.line[k]);
	jsonw_end_array(w);
	jsonw_end_object(w);
}

static struct plan_totals
plan_totals(const struct plan_series *ps, size_t n)
{
	struct plan_totals t = { 0 };

	for (size_t i = 0; i < n; i++) {
		t.cost += ps[i].plan.cost_usd;
		t.on_demand += ps[i].plan.on_demand_usd;
		t.lower += ps[i].plan.lower_bound_usd;
		t.bound += ps[i].plan.bound_usd;
		for (size_t k = 0; k < ps[i].n_lines; k++)
			if (ps[i].lines[k].kind == COMMIT_RESERVED && ps[i].plan.use[k].count > 0)
				t.upfront += (double)ps[i].plan.use[k].count *
					     usd_to_double(ps[i].offers[k]->upfront);
	}
	return t;
}

/* All keys of berth.plan/1 behind "schema". */
void
plan_json(struct jsonw *w, int64_t id, const struct plan_series *ps, size_t n,
    const struct plan_options *o)
{
	struct plan_totals t = plan_totals(ps, n);

	if (id != 0)
		jsonw_int(w, "id", id);
	else
		jsonw_null(w, "id");
	jsonw_time(w, "as_of", n > 0 ? ps[0].forecast.t0 : o->now);
	jsonw_int(w, "horizon_s", o->horizon_s);
	jsonw_begin_array(w, "series");
	for (size_t i = 0; i < n; i++)
		plan_json_series(w, &ps[i], o);
	jsonw_end_array(w);
	jsonw_begin_object(w, "totals");
	jsonw_fixed(w, "expected_cost", t.cost, 6);
	jsonw_fixed(w, "on_demand_only_cost", t.on_demand, 6);
	jsonw_fixed(w, "lower_bound", t.lower, 6);
	jsonw_fixed(w, "bound", t.bound, 6);
	jsonw_fixed(w, "upfront", t.upfront, 6);
	jsonw_end_object(w);
	jsonw_fixed(w, "budget", o->budget_usd, 6);
	if (o->n_money > 0)
		plan_money_json(w, o);
	plan_quota_json(w, ps, n, o);
	jsonw_begin_array(w, "quota_runway");
	for (size_t i = 0; i < n; i++)
		plan_runway_json(w, ps[i].series.name, ps[i].runway, ps[i].n_runway);
	jsonw_end_array(w);
}

static void
plan_row_cells(struct table *t, const struct plan_series *ps, size_t i)
{
	const struct commit_use *u = &ps->plan.use[i];
	const struct offer *o = ps->offers[i];
	struct usd_micro cost = USD_UNKNOWN, hour = USD_UNKNOWN;
	bool reserved = ps->lines[i].kind == COMMIT_RESERVED;

	if (usd_from_double(u->cost_usd, &cost, NULL) != BERTH_OK)
		cost = USD_UNKNOWN;
	if (usd_from_double(ps->lines[i].fixed + ps->lines[i].usage, &hour, NULL) != BERTH_OK)
		hour = USD_UNKNOWN;
	table_row(t);
	table_text(t, ps->series.name);
	table_text(t, ps->lines[i].kind == COMMIT_OWNED  ? "owned"
		      : reserved                         ? "reserve"
		      : ps->lines[i].kind == COMMIT_SPOT ? "spot"
							 : "on demand");
	table_text(t, o->provider);
	table_text(t, o->region);
	table_text(t, o->instance_type);
	if (reserved || ps->lines[i].kind == COMMIT_OWNED)
		table_int(t, u->count);
	else
		table_unknown(t);
	table_int(t, (int64_t)rint(u->gpus));
	if (reserved)
		table_int(t, o->term_months);
	else
		table_unknown(t);
	table_money(t, reserved ? o->upfront : USD_UNKNOWN);
	table_money(t, ps->lines[i].kind == COMMIT_OWNED ? USD_UNKNOWN : hour);
	table_double(t, u->utilisation);
	table_double(t, reserved ? u->break_even : NAN);
	table_money(t, cost);
}

enum berth_code
plan_table(struct cmd_ctx *ctx, const struct plan_series *ps, size_t n,
    const struct plan_options *o, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "series", NULL, TABLE_TEXT, 0, TABLE_NAME },
		{ "what", NULL, TABLE_TEXT, 0, 0 },
		{ "provider", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "region", NULL, TABLE_TEXT, 0, TABLE_CUT | TABLE_SPARE },
		{ "instance_type", "TYPE", TABLE_TEXT, 0, TABLE_CUT },
		{ "count", NULL, TABLE_INT, 0, 0 },
		{ "gpus", "GPUS", TABLE_INT, 0, 0 },
		{ "term_months", "MONTHS", TABLE_INT, 0, 0 },
		{ "upfront", "UPFRONT $", TABLE_MONEY, 2, TABLE_WIDE },
		{ "effective_price_per_gpu_hour", "$/GPU-H", TABLE_MONEY, 4, 0 },
		{ "utilisation", "USED", TABLE_SHARE, 1, TABLE_SPARE },
		{ "break_even_utilisation", "BREAK-EVEN", TABLE_SHARE, 1, TABLE_SPARE },
		{ "expected_cost", "COST $", TABLE_MONEY, 2, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	struct plan_totals sum = plan_totals(ps, n);
	enum berth_code rc;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ps[i].n_lines; k++)
			if (ps[i].plan.use[k].gpus > 0)
				plan_row_cells(t, &ps[i], k);
	rc = cmd_table_print(ctx, t, err);
	if (rc != BERTH_OK)
		return rc;
	cmd_say(ctx,
	    "\nExpected cost over %s: %.2f USD; on demand only: %.2f USD;%s%s: %.2f USD (%.1f "
	    "%%)\n",
	    o->horizon_s < PLAN_WEEK_S
		? duration_fmt((char[DURATION_FMT_SIZE]){ 0 }, o->horizon_s)
		: arena_printf(ctx->arena, "%.1f weeks", (double)o->horizon_s / PLAN_WEEK_S),
	    sum.cost, sum.on_demand, ctx->columns > 0 && ctx->columns < PLAN_WIDE ? "\n" : " ",
	    sum.cost <= sum.on_demand ? "saved" : "more", fabs(sum.on_demand - sum.cost),
	    sum.on_demand > 0 ? 100 * fabs(sum.on_demand - sum.cost) / sum.on_demand : 0);
	for (size_t i = 0; i < n && !o->brief; i++) {
		cmd_say(ctx, "\n%s (%s):\n", ps[i].series.name, ps[i].accel->name);
		for (size_t k = 0; k < ps[i].because.n; k++)
			cmd_say_items(
			    ctx, arena_printf(ctx->arena, "  - %s\n", ps[i].because.line[k]));
	}
	return BERTH_OK;
}
