/* The report as one HTML file: no script, no outside resource; it may be mailed or put behind any
 * web server. */

#include <math.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/report_data.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/svg.h"
#include "util/time.h"

#define HTML_MAX (64U << 20)

static const char html_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>berth "
    "report</title>\n<style>\n"
    ":root{color-scheme:light "
    "dark;--fg:#1c2430;--bg:#fff;--soft:#667;--line:#d8dde6;--card:#f6f8fb}\n"
    "@media(prefers-color-scheme:dark){:root{--fg:#e6e9ef;--bg:#14181f;--soft:#9aa3b2;--line:#"
    "2c3442;--card:#1b212b}}\n"
    "body{font:15px/1.5 "
    "system-ui,sans-serif;color:var(--fg);background:var(--bg);max-width:1040px;margin:2rem "
    "auto;padding:0 1rem}\n"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem;border-bottom:1px "
    "solid var(--line);padding-bottom:.3rem}\n"
    ".sub{color:var(--soft);margin:.2rem 0 1.4rem}.cards{display:flex;flex-wrap:wrap;gap:.8rem}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem "
    "1rem;min-width:150px;flex:1}\n"
    ".card b{display:block;font-size:1.5rem}.card span{color:var(--soft)}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:"
    ".3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}\n"
    "th{color:var(--soft);font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-"
    "nums;white-space:nowrap}\n"
    "svg{max-width:100%;height:auto}details{margin:.4rem "
    "0}summary{cursor:pointer}ul{padding-left:1.2rem}footer{color:var(--soft);margin:3rem 0 1rem}\n"
    "</style></head><body>\n";

struct html_cell {
	const char *text;
	bool number;
};

static void
html_text(struct buf *b, const char *tag, const char *s)
{
	buf_printf(b, "<%s>", tag);
	svg_escape(s, b);
	buf_printf(b, "</%s>", tag);
}

static void
html_row(struct buf *b, const char *tag, const struct html_cell *cells, size_t n)
{
	buf_add_str(b, "<tr>");
	for (size_t i = 0; i < n; i++) {
		buf_printf(b, "<%s%s>", tag, cells[i].number ? " class=\"n\"" : "");
		svg_escape(cells[i].text, b);
		buf_printf(b, "</%s>", tag);
	}
	buf_add_str(b, "</tr>\n");
}

static void
html_card(struct buf *b, const char *value, const char *what)
{
	buf_add_str(b, "<div class=\"card\">");
	html_text(b, "b", value);
	html_text(b, "span", what);
	buf_add_str(b, "</div>\n");
}

static const char *
html_usd(struct cmd_ctx *ctx, struct usd_micro v)
{
	char s[USD_FMT_SIZE];

	return usd_known(v) ? arena_printf(ctx->arena, "$%s", usd_fmt(s, sizeof(s), v, 2)) : "-";
}

static void
html_summary(struct cmd_ctx *ctx, const struct report *r, struct buf *b)
{
	double paid = report_paid(r), same = usd_to_double(r->on_demand_cost);
	char from[TIME_FMT_SIZE], to[TIME_FMT_SIZE];

	html_text(b, "h1", "berth report");
	buf_printf(b, "<p class=\"sub\">%s to %s</p>\n<div class=\"cards\">\n",
	    time_fmt(from, r->from), time_fmt(to, r->to));
	html_card(b, html_usd(ctx, r->spent),
	    r->egress.v == 0
		? "spent"
		: arena_printf(ctx->arena, "spent, %s of it egress", html_usd(ctx, r->egress)));
	if (r->owned.n > 0)
		html_card(b, html_usd(ctx, r->owned.cost),
		    arena_printf(ctx->arena,
			"for commitments beside that (%.0f of %.0f machine-hours used%s)",
			r->owned.used_hours, r->owned.hours,
			r->owned.unpriced == 0
			    ? ""
			    : arena_printf(ctx->arena, "; %zu without a price left out",
				  r->owned.unpriced)));
	html_card(b, same > 0 ? arena_printf(ctx->arena, "$%.2f", fabs(same - paid)) : "-",
	    same > 0
		? arena_printf(ctx->arena, "%s on demand (%.0f %%)",
		      same < paid ? "more than" : "saved against", 100 * fabs(same - paid) / same)
		: "saved against on demand");
	html_card(b, arena_printf(ctx->arena, "%zu of %zu", r->job_states[JOB_DONE], r->n_jobs),
	    "jobs done");
	html_card(b, arena_printf(ctx->arena, "%zu", r->n_machines), "machines rented");
	html_card(b, arena_printf(ctx->arena, "%zu", r->rejected),
	    arena_printf(
		ctx->arena, "rejected by the probe (%s wasted)", html_usd(ctx, r->wasted)));
	buf_add_str(b, "</div>\n");
}

static void
html_demand(struct cmd_ctx *ctx, const struct report *r, struct buf *b)
{
	html_text(b, "h2", "Demand and forecast");
	if (r->n_demand == 0)
		html_text(b, "p", "No usage history is recorded yet.");
	for (size_t i = 0; i < r->n_demand; i++) {
		const struct report_demand *d = &r->demand[i];
		const struct svg_series s[] = {
			{ .kind = SVG_BAND,
			    .label = "P50 to P95",
			    .x = d->t_ahead,
			    .y = d->p95,
			    .y_low = d->p50,
			    .n = d->n_ahead,
			    .color = 1 },
			{ .kind = SVG_LINE,
			    .label = "forecast P50",
			    .x = d->t_ahead,
			    .y = d->p50,
			    .n = d->n_ahead,
			    .color = 1 },
			{ .kind = SVG_STEP,
			    .label = "peak of each day",
			    .x = d->t,
			    .y = d->peak,
			    .n = d->n_history,
			    .color = 0 },
		};
		struct svg_chart c = { .title = d->series.name,
			.x_label = "",
			.y_label = "GPUs",
			.x_time = true,
			.y_min = NAN,
			.y_max = NAN,
			.width = 980,
			.height = 260,
			.series = d->n_ahead > 0 ? s : s + 2,
			.n_series = d->n_ahead > 0 ? 3 : 1 };

		svg_chart_write(&c, false, b);
		buf_add_char(b, '\n');
	}
	(void)ctx;
}

static void
html_money(struct cmd_ctx *ctx, const struct report *r, struct buf *b)
{
	size_t n = r->by_day.n;
	const char **names = arena_array_of(ctx->arena, n, const char *);
	double *y = arena_array_of(ctx->arena, n, double);
	struct svg_series s = { .kind = SVG_BAR, .label = "", .y = y, .n = n, .color = 2 };
	struct svg_chart c = { .title = "Spent by day",
		.x_label = "",
		.y_label = "USD",
		.categories = names,
		.n_categories = n,
		.y_min = NAN,
		.y_max = NAN,
		.width = 980,
		.height = 240,
		.series = &s,
		.n_series = 1 };
	char day[TIME_FMT_SIZE];

	html_text(b, "h2", "Money");
	for (size_t i = 0; i < n; i++) {
		names[i] = arena_strdup(ctx->arena, time_fmt_date(day, r->by_day.v[i].day));
		y[i] = usd_to_double(r->by_day.v[i].amount);
	}
	if (n > 0)
		svg_chart_write(&c, false, b);
	buf_add_str(b, "<div class=\"wide\"><table><thead><tr><th>By</th><th></th><th "
		       "class=\"n\">USD</th></tr></thead><tbody>\n");
	const struct {
		const char *what;
		const struct report_sums *sums;
	} groups[] = { { "project", &r->by_project }, { "account", &r->by_account },
		{ "user", &r->by_user }, { "purchase", &r->by_purchase } };
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		for (size_t i = 0; i < groups[g].sums->n; i++) {
			const struct html_cell cells[] = { { groups[g].what, false },
				{ groups[g].sums->v[i].name, false },
				{ html_usd(ctx, groups[g].sums->v[i].amount), true } };

			html_row(b, "td", cells, 3);
		}
	}
	buf_add_str(b, "</tbody></table></div>\n");
}

static void
html_budgets(struct cmd_ctx *ctx, const struct report *r, struct buf *b)
{
	static const struct html_cell head[] = { { "Budget", false }, { "Scope", false },
		{ "Period", false }, { "Cap", true }, { "Spent", true }, { "Reserved", true } };

	if (r->n_budgets == 0)
		return;
	html_text(b, "h2", "Budgets");
	buf_add_str(b, "<div class=\"wide\"><table><thead>");
	html_row(b, "th", head, 6);
	buf_add_str(b, "</thead><tbody>\n");
	for (size_t i = 0; i < r->n_budgets; i++) {
		const struct budget *g = &r->budgets[i];
		const struct html_cell cells[] = { { g->name, false }, { g->scope, false },
			{ budget_period_name(g->period), false }, { html_usd(ctx, g->cap), true },
			{ html_usd(ctx, g->spent), true }, { html_usd(ctx, g->reserved), true } };

		html_row(b, "td", cells, 6);
	}
	buf_add_str(b, "</tbody></table></div>\n");
}

static const char *
html_deadline(struct cmd_ctx *ctx, const struct job *j, int64_t now)
{
	char t[TIME_FMT_SIZE];

	if (j->spec.deadline == 0)
		return "";
	return arena_printf(ctx->arena, "%s%s", time_fmt(t, j->spec.deadline),
	    job_missed(j, now) ? ", missed" : "");
}

static void
html_jobs(struct cmd_ctx *ctx, const struct report *r, struct buf *b)
{
	static const struct html_cell head[] = { { "Job", false }, { "Name", false },
		{ "State", false }, { "Done", true }, { "Deadline", false }, { "Preempted", true },
		{ "Cost", true }, { "Why", false } };

	html_text(b, "h2", "Jobs");
	buf_add_str(b, "<div class=\"wide\"><table><thead>");
	html_row(b, "th", head, 8);
	buf_add_str(b, "</thead><tbody>\n");
	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct job *j = &r->jobs[i];
		const struct html_cell cells[] = { { j->id, false }, { j->spec.name, false },
			{ job_state_name(j->state), false },
			{ arena_printf(ctx->arena, "%.0f %%", 100 * j->progress), true },
			{ html_deadline(ctx, j, r->to), false },
			{ arena_printf(ctx->arena, "%d", j->preemptions), true },
			{ html_usd(ctx, j->cost), true }, { j->reason, false } };

		html_row(b, "td", cells, 8);
	}
	buf_add_str(b, "</tbody></table></div>\n");
}

/* One line of the plan's table, from an entry of buys[]. */
static void
html_plan_buy(struct cmd_ctx *ctx, const char *series, const struct jsonr *buy, struct buf *b)
{
	const char *provider = "", *region = "", *type = "", *purchase = "";
	int64_t months = 0, gpus = 0, count = 0;
	struct usd_micro price = USD_UNKNOWN;
	struct berth_err ignored;

	if (jsonr_str(buy, "provider", &provider, &ignored) != BERTH_OK ||
	    jsonr_str(buy, "region", &region, &ignored) != BERTH_OK ||
	    jsonr_str(buy, "instance_type", &type, &ignored) != BERTH_OK ||
	    jsonr_str(buy, "purchase", &purchase, &ignored) != BERTH_OK ||
	    jsonr_int(buy, "term_months", 0, 1200, &months, &ignored) != BERTH_OK ||
	    jsonr_int(buy, "gpus", 0, INT64_MAX, &gpus, &ignored) != BERTH_OK ||
	    jsonr_int(buy, "count", 0, INT64_MAX, &count, &ignored) != BERTH_OK ||
	    jsonr_money(buy, "price_per_hour", &price, &ignored) != BERTH_OK)
		return;
	const struct html_cell cells[] = { { series, false },
		{ arena_printf(ctx->arena, "%s %s %s", provider, region, type), false },
		{ arena_printf(ctx->arena, "%s, %lld months", purchase, (long long)months), false },
		{ arena_printf(ctx->arena, "%lld", (long long)count), true },
		{ arena_printf(ctx->arena, "%lld", (long long)gpus), true },
		{ html_usd(ctx, price), true } };

	html_row(b, "td", cells, 6);
}

/* Money of one series of the plan, and its reasons folded away. */
static void
html_plan_series(struct cmd_ctx *ctx, const struct jsonr *s, struct buf *b)
{
	struct jsonr because = jsonr_get(s, "because");
	double cost = NAN, all = NAN;
	struct berth_err ignored;
	const char *name = "";

	if (jsonr_str(s, "name", &name, &ignored) != BERTH_OK ||
	    jsonr_double(s, "expected_cost", &cost, &ignored) != BERTH_OK ||
	    jsonr_double(s, "on_demand_only_cost", &all, &ignored) != BERTH_OK)
		return;
	buf_add_str(b, "<details><summary>");
	svg_escape(arena_printf(ctx->arena, "%s: expected $%.2f, on demand only $%.2f: why", name,
		       cost, all),
	    b);
	buf_add_str(b, "</summary><ul>\n");
	for (size_t k = 0; k < jsonr_len(&because); k++) {
		struct jsonr item = jsonr_at(&because, k);
		const char *line = json_string_value(item.v);

		if (line != NULL)
			html_text(b, "li", line);
	}
	buf_add_str(b, "</ul></details>\n");
}

/* What the newest stored plan buys, what it costs, and why. */
static void
html_plan(struct cmd_ctx *ctx, const struct report *r, struct buf *b)
{
	static const struct html_cell head[] = { { "Series", false }, { "Reserve", false },
		{ "Purchase", false }, { "Machines", true }, { "GPUs", true }, { "USD/h", true } };
	struct berth_err ignored;
	struct jsonr root, list;
	char made[TIME_FMT_SIZE];
	json_t *v;

	if (r->plan.id == 0 ||
	    jsonr_parse(r->plan.json, strlen(r->plan.json), "plan", &v, &ignored) != BERTH_OK)
		return;
	html_text(b, "h2", "What to reserve");
	html_text(b, "p",
	    arena_printf(ctx->arena, "Plan %lld of %s", (long long)r->plan.id,
		time_fmt(made, r->plan.made)));
	root = jsonr_root(v, "plan");
	list = jsonr_get(&root, "series");
	buf_add_str(b, "<div class=\"wide\"><table><thead>");
	html_row(b, "th", head, 6);
	buf_add_str(b, "</thead><tbody>\n");
	for (size_t i = 0; i < jsonr_len(&list); i++) {
		struct jsonr s = jsonr_at(&list, i), buys = jsonr_get(&s, "buys");
		const char *name = "";

		if (jsonr_str(&s, "name", &name, &ignored) != BERTH_OK)
			continue;
		for (size_t k = 0; k < jsonr_len(&buys); k++) {
			struct jsonr buy = jsonr_at(&buys, k);

			html_plan_buy(ctx, name, &buy, b);
		}
	}
	buf_add_str(b, "</tbody></table></div>\n");
	for (size_t i = 0; i < jsonr_len(&list); i++) {
		struct jsonr s = jsonr_at(&list, i);

		html_plan_series(ctx, &s, b);
	}
	json_decref(v);
}

/* A zone's name may be the same in two clouds, or in two regions of one. */
static const char *
html_where(struct cmd_ctx *ctx, const struct offer *o)
{
	return arena_printf(ctx->arena, "%s %s%s%s", o->provider, o->region,
	    o->zone[0] != '\0' ? ", " : "", o->zone);
}

static void
html_machines(struct cmd_ctx *ctx, const struct report *r, struct buf *b)
{
	static const struct html_cell head[] = { { "Machine", true }, { "Where", false },
		{ "Type", false }, { "Purchase", false }, { "Verdict", false }, { "Speed", true },
		{ "End", false }, { "Cost", true } };

	html_text(b, "h2", "Machines");
	buf_add_str(b, "<div class=\"wide\"><table><thead>");
	html_row(b, "th", head, 8);
	buf_add_str(b, "</thead><tbody>\n");
	for (size_t i = 0; i < r->n_machines; i++) {
		const struct instance *in = &r->machines[i];
		const struct html_cell cells[] = {
			{ arena_printf(ctx->arena, "%lld", (long long)in->id), true },
			{ html_where(ctx, &in->offer), false }, { in->offer.instance_type, false },
			{ purchase_name(in->offer.purchase), false },
			{ in->verdict[0] != '\0' ? in->verdict : "-", false },
			{ isnan(in->speed) ? "-" : arena_printf(ctx->arena, "%.3f", in->speed),
			    true },
			{ in->end_reason[0] != '\0' ? in->end_reason
						    : instance_state_name(in->state),
			    false },
			{ html_usd(ctx, in->cost), true }
		};

		html_row(b, "td", cells, 8);
	}
	buf_add_str(b, "</tbody></table></div>\n");
}

static void
html_scores(struct cmd_ctx *ctx, const struct report *r, struct buf *b)
{
	static const struct html_cell head[] = { { "Series", false }, { "As of", false },
		{ "Horizon", true }, { "Peak P50", true }, { "Peak P95", true },
		{ "Came to", true }, { "Known", true } };
	char t[TIME_FMT_SIZE];

	html_text(b, "h2", "Forecasts against what came");
	buf_add_str(b, "<div class=\"wide\"><table><thead>");
	html_row(b, "th", head, 7);
	buf_add_str(b, "</thead><tbody>\n");
	for (size_t i = 0; i < r->n_scores; i++) {
		const struct report_score *s = &r->scores[i];
		const struct html_cell cells[] = { { s->series, false },
			{ time_fmt(t, s->as_of), false },
			{ arena_printf(ctx->arena, "%.0f h", (double)s->horizon_s / 3600), true },
			{ isnan(s->p50) ? "-" : arena_printf(ctx->arena, "%.0f", s->p50), true },
			{ isnan(s->p95) ? "-" : arena_printf(ctx->arena, "%.0f", s->p95), true },
			{ isnan(s->actual) ? "not yet"
					   : arena_printf(ctx->arena, "%.0f", s->actual),
			    true },
			{ arena_printf(ctx->arena, "%.0f %%", 100 * s->known), true } };

		html_row(b, "td", cells, 7);
	}
	buf_add_str(b, "</tbody></table></div>\n");
}

enum berth_code
report_html(struct cmd_ctx *ctx, const struct report *r, const char *path, struct berth_err *err)
{
	enum berth_code rc;
	struct buf b;

	buf_init(&b, HTML_MAX);
	buf_add_str(&b, html_head);
	html_summary(ctx, r, &b);
	html_demand(ctx, r, &b);
	html_plan(ctx, r, &b);
	html_money(ctx, r, &b);
	html_budgets(ctx, r, &b);
	html_jobs(ctx, r, &b);
	html_machines(ctx, r, &b);
	html_scores(ctx, r, &b);
	buf_printf(&b, "<footer>berth %s</footer>\n</body></html>\n", PACKAGE_VERSION);
	rc = buf_check(&b, "report", err);
	if (rc == BERTH_OK)
		rc = cmd_write_file(ctx, path, b.p, b.len, err);
	buf_free(&b);
	return rc;
}
