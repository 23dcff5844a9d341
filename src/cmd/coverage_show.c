/* src/cmd/coverage_show.c - what is owned and what is used: tables and JSON.  Floor: cmd. */
#include "config.h"

#include <math.h>

#include "cmd/commitments_coverage.h"
#include "util/arena.h"
#include "util/json.h"

/* Of what is known; NaN: there is none. */
static double
coverage_share(double part, double whole)
{
	return whole > 0 ? part / whole : (double)NAN;
}

static double
coverage_utilisation(const struct coverage_sum *s)
{
	return coverage_share(s->used, s->used + s->idle);
}

static struct usd_micro
coverage_usd(double usd)
{
	struct usd_micro out = USD_UNKNOWN;

	if (isnan(usd) || usd_from_double(usd, &out, NULL) != BERTH_OK)
		return USD_UNKNOWN;
	return out;
}

/* Of GPU-hours none of which has a price nothing is known. */
static struct usd_micro
coverage_cost(double usd, double gpu_hours, double unpriced)
{
	return coverage_usd(unpriced > 0 && unpriced >= gpu_hours ? (double)NAN : usd);
}

static struct usd_micro
coverage_idle(const struct coverage_sum *s)
{
	return coverage_cost(s->idle_cost, s->idle, s->idle_unpriced);
}

static struct usd_micro
coverage_uncovered(const struct coverage_sum *s)
{
	return coverage_cost(s->uncovered_cost, s->needed - s->covered, s->uncovered_unpriced);
}

static void
coverage_json_owned(struct jsonw *w, const struct coverage_sum *s)
{
	jsonw_fixed(w, "owned_gpu_hours", s->owned, 3);
	jsonw_fixed(w, "used_gpu_hours", s->used, 3);
	jsonw_fixed(w, "idle_gpu_hours", s->idle, 3);
	jsonw_fixed(w, "unknown_gpu_hours", s->unknown, 3);
	jsonw_fixed(w, "utilisation", coverage_utilisation(s), 6);
	jsonw_money(w, "idle_cost", coverage_idle(s));
	jsonw_fixed(w, "idle_unpriced_gpu_hours", s->idle_unpriced, 3);
}

static void
coverage_json_needed(struct jsonw *w, const struct coverage_sum *s)
{
	jsonw_fixed(w, "needed_gpu_hours", s->needed, 3);
	jsonw_fixed(w, "covered_gpu_hours", s->covered, 3);
	jsonw_fixed(w, "uncovered_gpu_hours", s->needed - s->covered, 3);
	jsonw_fixed(w, "coverage", coverage_share(s->covered, s->needed), 6);
	jsonw_money(w, "uncovered_cost", coverage_uncovered(s));
	jsonw_fixed(w, "uncovered_unpriced_gpu_hours", s->uncovered_unpriced, 3);
}

static enum berth_code
coverage_json(struct coverage *v, bool by_time, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(v->ctx, "berth.coverage/1");

	jsonw_time(w, "from", v->from);
	jsonw_time(w, "to", v->to);
	jsonw_begin_array(w, "commitments");
	for (size_t i = 0; i < v->own.n; i++) {
		const struct coverage_own *x = &v->own.v[i];

		jsonw_begin_object(w, NULL);
		jsonw_int(w, "id", x->c->id);
		jsonw_str(w, "provider", x->c->offer.provider);
		jsonw_str(w, "accelerator", x->c->offer.accelerator);
		jsonw_int(w, "gpus", (int64_t)x->c->count * x->c->offer.accelerator_count);
		jsonw_money(w, "price_per_gpu_hour", coverage_usd(x->gpu_hour));
		coverage_json_owned(w, &x->sum);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "series");
	for (size_t i = 0; i < v->need.n; i++) {
		const struct coverage_need *x = &v->need.v[i];

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "series", x->row.name);
		jsonw_str(w, "accelerator", x->accel->name);
		jsonw_money(w, "on_demand_per_gpu_hour", coverage_usd(x->on_demand));
		coverage_json_needed(w, &x->sum);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_object(w, "total");
	coverage_json_owned(w, &v->sum);
	coverage_json_needed(w, &v->sum);
	jsonw_end_object(w);
	if (by_time)
		jsonw_begin_array(w, "steps");
	for (size_t i = 0; i < v->steps.n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_time(w, "from", v->steps.v[i].from);
		jsonw_time(w, "to", v->steps.v[i].to);
		coverage_json_owned(w, &v->steps.v[i].sum);
		coverage_json_needed(w, &v->steps.v[i].sum);
		jsonw_end_object(w);
	}
	if (by_time)
		jsonw_end_array(w);
	return cmd_json_end(v->ctx, err);
}

static enum berth_code
coverage_table_steps(struct coverage *v, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "from", NULL, TABLE_TIME, 0, 0 },
		{ "owned_gpu_hours", "OWNED", TABLE_DOUBLE, 1, 0 },
		{ "covered_gpu_hours", "COVERED", TABLE_DOUBLE, 1, 0 },
		{ "uncovered_gpu_hours", "UNCOVERED", TABLE_DOUBLE, 1, 0 },
		{ "idle_gpu_hours", "IDLE", TABLE_DOUBLE, 1, 0 },
		{ "unknown_gpu_hours", "UNKNOWN", TABLE_DOUBLE, 1, TABLE_WIDE },
		{ "utilisation", "USED", TABLE_SHARE, 0, 0 },
		{ "coverage", NULL, TABLE_SHARE, 0, 0 },
		{ "idle_cost", "IDLE USD", TABLE_MONEY, 2, 0 },
		{ "uncovered_cost", "UNCOV. USD", TABLE_MONEY, 2, TABLE_SPARE },
	};
	struct table *t = table_new(v->ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < v->steps.n; i++) {
		const struct coverage_sum *s = &v->steps.v[i].sum;

		table_row(t);
		table_time(t, v->steps.v[i].from);
		table_double(t, s->owned);
		table_double(t, s->covered);
		table_double(t, s->needed - s->covered);
		table_double(t, s->idle);
		table_double(t, s->unknown);
		table_double(t, coverage_utilisation(s));
		table_double(t, coverage_share(s->covered, s->needed));
		table_money(t, coverage_idle(s));
		table_money(t, coverage_uncovered(s));
	}
	return cmd_table_print(v->ctx, t, err);
}

static enum berth_code
coverage_table_owned(struct coverage *v, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", "ID", TABLE_INT, 0, 0 },
		{ "provider", NULL, TABLE_TEXT, 0, 0 },
		{ "accelerator", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "gpus", "GPUS", TABLE_INT, 0, 0 },
		{ "owned_gpu_hours", "OWNED GPU-H", TABLE_DOUBLE, 1, 0 },
		{ "used_gpu_hours", "USED GPU-H", TABLE_DOUBLE, 1, TABLE_WIDE },
		{ "utilisation", "USED", TABLE_SHARE, 0, 0 },
		{ "idle_gpu_hours", "IDLE GPU-H", TABLE_DOUBLE, 1, 0 },
		{ "unknown_gpu_hours", "UNKNOWN", TABLE_DOUBLE, 1, TABLE_WIDE },
		{ "price_per_gpu_hour", "USD/GPU-H", TABLE_MONEY, 4, TABLE_SPARE },
		{ "idle_cost", "IDLE USD", TABLE_MONEY, 2, 0 },
	};
	struct table *t = table_new(v->ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < v->own.n; i++) {
		const struct coverage_own *x = &v->own.v[i];

		table_row(t);
		table_int(t, x->c->id);
		table_text(t, x->c->offer.provider);
		table_text(t, x->c->offer.accelerator);
		table_int(t, (int64_t)x->c->count * x->c->offer.accelerator_count);
		table_double(t, x->sum.owned);
		table_double(t, x->sum.used);
		table_double(t, coverage_utilisation(&x->sum));
		table_double(t, isnan(coverage_utilisation(&x->sum)) ? (double)NAN : x->sum.idle);
		table_double(t, x->sum.unknown);
		table_money(t, coverage_usd(x->gpu_hour));
		table_money(
		    t, isnan(coverage_utilisation(&x->sum)) ? USD_UNKNOWN : coverage_idle(&x->sum));
	}
	return cmd_table_print(v->ctx, t, err);
}

static enum berth_code
coverage_table_needed(struct coverage *v, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "series", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "accelerator", NULL, TABLE_TEXT, 0, TABLE_SPARE },
		{ "needed_gpu_hours", "GPU-H", TABLE_DOUBLE, 1, 0 },
		{ "coverage", "COVERED", TABLE_SHARE, 0, 0 },
		{ "uncovered_gpu_hours", "UNCOVERED", TABLE_DOUBLE, 1, 0 },
		{ "on_demand_per_gpu_hour", "USD/GPU-H", TABLE_MONEY, 4, 0 },
		{ "uncovered_cost", "USD", TABLE_MONEY, 2, 0 },
	};
	struct table *t = table_new(v->ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < v->need.n; i++) {
		const struct coverage_need *x = &v->need.v[i];

		table_row(t);
		table_text(t, x->row.name);
		table_text(t, x->accel->name);
		table_double(t, x->sum.needed);
		table_double(t, coverage_share(x->sum.covered, x->sum.needed));
		table_double(t, x->sum.needed - x->sum.covered);
		table_money(t, coverage_usd(x->on_demand));
		table_money(t, coverage_uncovered(&x->sum));
	}
	return cmd_table_print(v->ctx, t, err);
}

/* "12.50 USD", and how much of it has no price. */
static const char *
coverage_words(struct coverage *v, struct usd_micro usd, double unpriced)
{
	char text[USD_FMT_SIZE];

	if (!usd_known(usd))
		return "not known";
	usd_fmt(text, sizeof(text), usd, 2);
	return unpriced > 0 ? arena_printf(v->ctx->arena,
				  "%s USD, but for %.1f of which no price is known", text, unpriced)
			    : arena_printf(v->ctx->arena, "%s USD", text);
}

static void
coverage_say(struct coverage *v)
{
	const struct coverage_sum *s = &v->sum;
	double uncovered = s->needed - s->covered;
	size_t none = 0;

	cmd_say(v->ctx, "\n");
	cmd_say_hung(v->ctx, 0, "covered: %.1f of %.1f GPU-hours in use (%.1f %%)", s->covered,
	    s->needed, s->needed > 0 ? 100 * s->covered / s->needed : 0);
	cmd_say_hung(v->ctx, 0,
	    "not covered: %.1f GPU-hours; at today's cheapest price on demand: %s", uncovered,
	    coverage_words(v, coverage_uncovered(s), s->uncovered_unpriced));
	cmd_say_hung(v->ctx, 0, "idle: %.1f of %.1f owned GPU-hours (%.1f %%); they cost: %s",
	    s->idle, s->owned, s->owned > 0 ? 100 * s->idle / s->owned : 0,
	    coverage_words(v, coverage_idle(s), s->idle_unpriced));
	for (size_t i = 0; i < v->own.n; i++)
		none += !v->own.v[i].some;
	if (none > 0)
		cmd_note(v->ctx,
		    "%zu of the %zu commitments serve%s no series that is recorded: whether %s "
		    "used is not known",
		    none, v->own.n, none == 1 ? "s" : "", none == 1 ? "it is" : "they are");
	if (s->unknown > 0)
		cmd_note(v->ctx, "of %.1f owned GPU-hours no history says whether they were used",
		    s->unknown);
}

enum berth_code
coverage_show(struct coverage *v, bool by_time, struct berth_err *err)
{
	enum berth_code rc;

	if (cmd_wants_json(v->ctx))
		return coverage_json(v, by_time, err);
	rc = by_time ? coverage_table_steps(v, err) : coverage_table_owned(v, err);
	if (rc == BERTH_OK && !by_time && v->ctx->format != CMD_CSV) {
		cmd_say(v->ctx, "\n");
		rc = coverage_table_needed(v, err);
	}
	if (rc == BERTH_OK)
		coverage_say(v);
	return rc;
}
