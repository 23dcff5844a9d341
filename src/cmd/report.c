#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/report_data.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"

struct report_opts {
	int64_t from, to;
	const char *html;
};

static const struct report_opts report_defaults = { 0 };

#define OFF(field) offsetof(struct report_opts, field)
static const struct opt_row report_rows[] = {
	{ "from", 0, OPT_TIME, "TIME", "start of the period; default 30 days before its end",
	    OFF(from), 0, 0, NULL },
	{ "to", 0, OPT_TIME, "TIME", "end of the period; default now", OFF(to), 0, 0, NULL },
	{ "html", 0, OPT_PATH, "FILE",
	    "write a page with charts, in one file without outside resources", OFF(html), 0, 0,
	    NULL },
	{ 0 },
};

static enum berth_code report_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_report = {
	.name = "report",
	.summary = "what was spent and saved, forecasts against truth, machine health",
	.args = "",
	.opts = report_rows,
	.opts_default = &report_defaults,
	.opts_size = sizeof(report_defaults),
	.flags = CMD_STORE_RO | CMD_NO_ROWS,
	.run = report_run,
};

static void
report_sums_json(struct jsonw *w, const char *key, const struct report_sums *s)
{
	jsonw_begin_object(w, key);
	for (size_t i = 0; i < s->n; i++)
		jsonw_money(w, s->v[i].name, s->v[i].amount);
	jsonw_end_object(w);
}

static void
report_json_scores(struct jsonw *w, const struct report *r)
{
	jsonw_begin_array(w, "forecasts");
	for (size_t i = 0; i < r->n_scores; i++) {
		const struct report_score *s = &r->scores[i];

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "series", s->series);
		jsonw_time(w, "as_of", s->as_of);
		jsonw_int(w, "horizon_s", s->horizon_s);
		jsonw_double(w, "peak_p50", s->p50);
		jsonw_double(w, "peak_p95", s->p95);
		jsonw_double(w, "peak_actual", s->actual);
		jsonw_fixed(w, "known", s->known, 4);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static enum berth_code
report_json(struct cmd_ctx *ctx, const struct report *r, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.report/1");

	jsonw_time(w, "from", r->from);
	jsonw_time(w, "to", r->to);
	jsonw_money(w, "spent", r->spent);
	jsonw_money(w, "egress", r->egress);
	report_sums_json(w, "by_project", &r->by_project);
	report_sums_json(w, "by_account", &r->by_account);
	report_sums_json(w, "by_user", &r->by_user);
	report_sums_json(w, "by_purchase", &r->by_purchase);
	jsonw_begin_object(w, "commitments");
	jsonw_int(w, "owned", (int64_t)r->owned.n);
	jsonw_money(w, "cost", r->owned.cost);
	jsonw_int(w, "without_price", (int64_t)r->owned.unpriced);
	jsonw_fixed(w, "machine_hours", r->owned.hours, 4);
	jsonw_fixed(w, "used_machine_hours", r->owned.used_hours, 4);
	jsonw_end_object(w);
	jsonw_begin_object(w, "against_on_demand");
	jsonw_money(w, "cost", r->machines_cost);
	jsonw_money(w, "on_demand_cost", r->on_demand_cost);
	jsonw_int(w, "machines", (int64_t)r->priced);
	jsonw_int(w, "machines_without_on_demand_price", (int64_t)r->unpriced);
	jsonw_end_object(w);
	jsonw_begin_object(w, "jobs");
	for (int s = 0; s < JOB_STATE_COUNT; s++)
		jsonw_int(w, job_state_name((enum job_state)s), (int64_t)r->job_states[s]);
	jsonw_int(w, "deadline_missed", (int64_t)r->missed);
	jsonw_end_object(w);
	jsonw_begin_object(w, "machines");
	jsonw_int(w, "rented", (int64_t)r->n_machines);
	jsonw_int(w, "accepted", (int64_t)r->accepted);
	jsonw_int(w, "discounted", (int64_t)r->discounted);
	jsonw_int(w, "rejected", (int64_t)r->rejected);
	jsonw_money(w, "wasted", r->wasted);
	jsonw_end_object(w);
	report_json_scores(w, r);
	jsonw_begin_object(w, "events");
	for (size_t i = 0; i < r->events.n; i++)
		jsonw_int(w, r->events.v[i].name, r->events.v[i].amount.v);
	jsonw_end_object(w);
	if (r->plan.id != 0)
		jsonw_raw(w, "plan", r->plan.json);
	else
		jsonw_null(w, "plan");
	return cmd_json_end(ctx, err);
}

static void
report_say_sums(struct cmd_ctx *ctx, const char *what, const struct report_sums *s)
{
	const char *line = arena_printf(ctx->arena, "  %-12s", what);
	char usd[USD_FMT_SIZE];

	if (s->n == 0)
		return;
	for (size_t i = 0; i < s->n; i++)
		line = arena_printf(ctx->arena, "%s%s%s $%s", line, i > 0 ? ", " : "", s->v[i].name,
		    usd_fmt(usd, sizeof(usd), s->v[i].amount, 2));
	cmd_say_hung(ctx, 14, "%s", line);
}

static void
report_say_owned(struct cmd_ctx *ctx, const struct report *r)
{
	const struct report_owned *o = &r->owned;
	char usd[USD_FMT_SIZE];

	if (o->n > 0)
		cmd_say_hung(ctx, 4,
		    "  apart from that, %zu commitment%s cost $%s in the period, used or not: %.1f "
		    "of %.1f machine-hours were used%s",
		    o->n, o->n == 1 ? "" : "s", usd_fmt(usd, sizeof(usd), o->cost, 2),
		    o->used_hours, o->hours,
		    o->unpriced == 0
			? ""
			: arena_printf(ctx->arena, "; %zu without a price left out", o->unpriced));
}

static void
report_say_saved(struct cmd_ctx *ctx, const struct report *r)
{
	double paid = report_paid(r), same = usd_to_double(r->on_demand_cost);

	if (r->priced == 0 || same <= 0)
		return;
	cmd_say_hung(ctx, 4,
	    "  on demand, the same machine-hours would have cost $%.2f: $%.2f (%.0f %%) %s%s", same,
	    fabs(same - paid), 100 * fabs(same - paid) / same,
	    same < paid ? "less than was paid" : "saved",
	    r->unpriced == 0
		? ""
		: arena_printf(ctx->arena,
		      "; %zu machines have no on-demand price and are left out", r->unpriced));
}

static void
report_say_jobs(struct cmd_ctx *ctx, const struct report *r)
{
	bool first = true;

	cmd_say(ctx, "Jobs       ");
	for (int s = 0; s < JOB_STATE_COUNT; s++) {
		if (r->job_states[s] == 0)
			continue;
		cmd_say(ctx, "%s%zu %s", first ? "" : ", ", r->job_states[s],
		    job_state_name((enum job_state)s));
		first = false;
	}
	if (r->missed > 0)
		cmd_say(ctx, "; %zu missed %s", r->missed,
		    r->missed == 1 ? "its deadline" : "their deadlines");
	cmd_say(ctx, "%s\n", first ? "none" : "");
}

static void
report_say_scores(struct cmd_ctx *ctx, const struct report *r)
{
	char t[TIME_FMT_SIZE];
	size_t shown = 0, waiting = 0;

	for (size_t i = 0; i < r->n_scores; i++) {
		const struct report_score *s = &r->scores[i];

		if (s->known < 1) {
			waiting++;
			continue;
		}
		if (shown++ < 10)
			cmd_say_hung(ctx, 4,
			    "  %s as of %s: peak P50 %.0f, P95 %.0f; it came to %.0f%s", s->series,
			    time_fmt(t, s->as_of), s->p50, s->p95, s->actual,
			    s->actual > s->p95 ? " (over P95)" : "");
	}
	if (waiting > 0)
		cmd_say(ctx, "  %zu forecasts still wait for the truth to arrive\n", waiting);
}

static void
report_say(struct cmd_ctx *ctx, const struct report *r)
{
	char a[TIME_FMT_SIZE], b[TIME_FMT_SIZE], usd[USD_FMT_SIZE];

	cmd_say(ctx, "Report     %s to %s\n", time_fmt(a, r->from), time_fmt(b, r->to));
	cmd_say(ctx, "Spent      $%s\n", usd_fmt(usd, sizeof(usd), r->spent, 2));
	report_say_sums(ctx, "by project", &r->by_project);
	report_say_sums(ctx, "by account", &r->by_account);
	report_say_sums(ctx, "by user", &r->by_user);
	report_say_sums(ctx, "by purchase", &r->by_purchase);
	if (r->egress.v != 0)
		cmd_say_hung(ctx, 4, "  of it $%s of egress, to move data to the machines",
		    usd_fmt(usd, sizeof(usd), r->egress, 2));
	report_say_owned(ctx, r);
	report_say_saved(ctx, r);
	report_say_jobs(ctx, r);
	cmd_say_hung(ctx, 11,
	    "Machines   %zu rented; the probe accepted %zu, discounted %zu, rejected %zu; wasted "
	    "$%s",
	    r->n_machines, r->accepted, r->discounted, r->rejected,
	    usd_fmt(usd, sizeof(usd), r->wasted, 2));
	cmd_say(ctx, "Forecasts  %zu stored\n", r->n_scores);
	report_say_scores(ctx, r);
}

static enum berth_code
report_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct report_opts *o = ctx->opts;
	int64_t to = o->to != 0 ? o->to : ctx->now + 1,
		from = o->from != 0 ? o->from : to - 30 * INT64_C(86400);
	struct report r;
	enum berth_code rc;

	if (from >= to)
		return err_set(err, BERTH_EUSAGE, "--from must lie before --to");
	rc = report_gather(ctx, from, to, &r, err);
	if (rc == BERTH_OK && o->html != NULL) {
		rc = report_html(ctx, &r, o->html, err);
		if (rc == BERTH_OK && !ctx->dry_run)
			cmd_note(ctx, "%s: written", o->html);
	}
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return report_json(ctx, &r, err);
	report_say(ctx, &r);
	return BERTH_OK;
}
