/* src/cmd/plan_money.c - what the budgets leave for commitments, once the jobs have theirs.  Floor:
 * cmd. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing.h"
#include "cmd/cmd.h"
#include "cmd/plan_join.h"
#include "store/money_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"

/* Periods of a budget that lie in the horizon, one at least. */
static double
money_periods(const struct plan_money *m, int64_t horizon_s)
{
	return m->period_s > 0 ? fmax(1, (double)horizon_s / (double)m->period_s) : 1;
}

/* A cap on what machines ask for an hour; what a commitment may cost is that times its hours. */
static bool
money_hourly(const struct plan_money *m)
{
	return m->period_s == 3600;
}

static double
money_left(const struct plan_money *m)
{
	return isnan(m->queued) ? 0 : fmax(0, m->cap - m->spent - m->reserved - m->queued);
}

/*
 * What the jobs that wait will need, by where they would be placed now; NaN: more than the budgets
 * have. A job that nothing but the money of a budget keeps back has no price here, and comes before
 * any commitment all the same. hour_out: USD an hour of their machines.
 */
static enum berth_code
money_queued(struct cmd_ctx *ctx, const struct accel_table *accels, const struct plan_options *o,
    double *queued_out, double *hour_out, struct berth_err *err)
{
	const struct placing_options po = { .now = ctx->now,
		.seed = o->seed,
		.limits = o->limits,
		.n_limits = o->n_limits,
		.ages = o->ages,
		.need_account = o->need_account };
	struct placing p;
	enum berth_code rc = placing_run(ctx->store, accels, &po, NULL, 0, ctx->arena, &p, err);

	*queued_out = *hour_out = 0;
	for (size_t i = 0; rc == BERTH_OK && i < p.n_jobs; i++) {
		const struct placing_try *t = p.jobs[i].n_tries > 0 ? &p.jobs[i].tries[0] : NULL;

		if (t != NULL) {
			*queued_out += t->cost.total_usd;
			*hour_out += t->cost.machines *
				     usd_to_double(t->paid ? t->offer->usage : t->offer->price);
		} else if (placing_lacks_budget(&p.jobs[i])) {
			*queued_out = *hour_out = NAN;
		}
	}
	return rc;
}

enum berth_code
plan_money_read(struct cmd_ctx *ctx, const struct accel_table *accels, struct plan_options *o,
    struct berth_err *err)
{
	VEC(struct plan_money) v = { 0 };
	struct budget *b;
	double queued = 0, hour = 0;
	size_t n;
	enum berth_code rc = store_budget_list(ctx->store, ctx->now, ctx->arena, &b, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (str_eq(b[i].scope, "all"))
			VEC_PUSH(ctx->arena, &v,
			    ((struct plan_money){ .name = b[i].name,
				.period_s = b[i].period == BUDGET_TOTAL ? 0 : b[i].to - b[i].from,
				.cap = usd_to_double(b[i].cap),
				.spent = usd_to_double(b[i].spent),
				.reserved = usd_to_double(b[i].reserved) }));
	if (rc == BERTH_OK && v.n > 0)
		rc = money_queued(ctx, accels, o, &queued, &hour, err);
	for (size_t i = 0; i < v.n; i++)
		v.v[i].queued = money_hourly(&v.v[i]) ? hour : queued;
	o->money = v.v;
	o->n_money = v.n;
	return rc;
}

void
plan_money_apply(struct plan_options *o)
{
	for (size_t i = 0; i < o->n_money; i++) {
		double most = money_left(&o->money[i]) * money_periods(&o->money[i], o->horizon_s);

		o->budget_usd = isnan(o->budget_usd) ? most : fmin(o->budget_usd, most);
	}
}

static const char *
money_explain_hour(const struct plan_money *m, const struct plan_options *o, struct arena *a)
{
	return arena_printf(a,
	    "jobs come first: of the budget %s of %.2f USD an hour, what runs and is being made "
	    "takes "
	    "%.2f USD, and %s; new commitments may bind %.2f USD over the horizon, %.2f USD an "
	    "hour",
	    m->name, m->cap, m->spent + m->reserved,
	    isnan(m->queued) ? "what waits needs more than is left"
			     : arena_printf(a, "what waits needs %.2f USD", m->queued),
	    money_left(m) * money_periods(m, o->horizon_s), money_left(m));
}

void
plan_money_explain(struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < o->n_money; k++) {
			const struct plan_money *m = &o->money[k];

			if (money_hourly(m)) {
				plan_add(&ps[i].because, a, money_explain_hour(m, o, a));
				continue;
			}
			plan_add(&ps[i].because, a,
			    arena_printf(a,
				"jobs come first: of the budget %s of %.2f USD, %.2f USD are "
				"spent, %.2f USD reserved by what runs, and %s; new commitments "
				"may bind %.2f USD%s",
				m->name, m->cap, m->spent, m->reserved,
				isnan(m->queued)
				    ? "what waits needs more than is left"
				    : arena_printf(a, "%.2f USD needed by what waits", m->queued),
				money_left(m) * money_periods(m, o->horizon_s),
				m->period_s > 0 ? " over the horizon" : ""));
		}
}

void
plan_money_json(struct jsonw *w, const struct plan_options *o)
{
	jsonw_begin_array(w, "budgets");
	for (size_t k = 0; k < o->n_money; k++) {
		const struct plan_money *m = &o->money[k];

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", m->name);
		jsonw_int(w, "period_s", m->period_s);
		jsonw_fixed(w, "cap", m->cap, 6);
		jsonw_fixed(w, "spent", m->spent, 6);
		jsonw_fixed(w, "reserved", m->reserved, 6);
		jsonw_fixed(w, "queued", m->queued, 6);
		jsonw_fixed(w, "left", money_left(m), 6);
		jsonw_fixed(
		    w, "commitments_may_bind", money_left(m) * money_periods(m, o->horizon_s), 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

/* As plan_money_json() wrote it. */
void
plan_money_again(
    const struct jsonr *inputs, struct arena *a, struct plan_money **money_out, size_t *n_out)
{
	struct jsonr list = jsonr_get(inputs, "budgets");
	struct plan_money *m = arena_array(a, jsonr_len(&list) + 1, sizeof(*m));
	struct berth_err ignored;

	*n_out = jsonr_len(&list);
	*money_out = m;
	for (size_t i = 0; i < *n_out; i++, m++) {
		struct jsonr x = jsonr_at(&list, i);
		const struct {
			const char *key;
			double *to;
		} v[] = {
			{ "cap", &m->cap },
			{ "spent", &m->spent },
			{ "reserved", &m->reserved },
			{ "queued", &m->queued },
		};
		const json_t *name = jsonr_get(&x, "name").v;

		m->name = arena_strdup(a, json_is_string(name) ? json_string_value(name) : "");
		m->period_s = json_integer_value(jsonr_get(&x, "period_s").v);
		for (size_t k = 0; k < sizeof(v) / sizeof(v[0]); k++)
			if (jsonr_double(&x, v[k].key, v[k].to, &ignored) != BERTH_OK)
				*v[k].to = NAN;
	}
}
