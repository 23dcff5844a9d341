#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/report_data.h"
#include "store/event_rows.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "store/forecast_rows.h"
#include "store/plan_rows.h"
#include "store/series_rows.h"
#include "store/tier_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"

#define REPORT_SERIES_MAX 6
#define REPORT_DAY_S INT64_C(86400)
#define REPORT_HISTORY_S (INT64_C(26) * 7 * 86400)

static enum berth_code
sums_add(struct arena *a, struct report_sums *s, const char *name, int64_t day,
    struct usd_micro amount, struct berth_err *err)
{
	struct report_sum *grown;

	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].day == day && strcmp(s->v[i].name, name) == 0)
			return usd_add(s->v[i].amount, amount, &s->v[i].amount, err);
	}
	if (s->n == s->cap) {
		s->cap = s->cap == 0 ? 16 : 2 * s->cap;
		grown = arena_array_of(a, s->cap, struct report_sum);
		if (s->n > 0)
			memcpy(grown, s->v, s->n * sizeof(*grown));
		s->v = grown;
	}
	s->v[s->n++] = (struct report_sum){ name, day, amount };
	return BERTH_OK;
}

static int
sums_cmp(const void *a, const void *b)
{
	const struct report_sum *x = a, *y = b;

	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	if (x->amount.v != y->amount.v)
		return x->amount.v > y->amount.v ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* By day, then the dearest first. */
static void
sums_sort(struct report_sums *s)
{
	if (s->n > 1)
		qsort(s->v, s->n, sizeof(*s->v), sums_cmp);
}

/* The machines by their id: [*n_out], NULL for none. */
static enum berth_code
report_by_id(
    struct cmd_ctx *ctx, const struct instance ***ins_out, size_t *n_out, struct berth_err *err)
{
	struct instance *ins;
	size_t n;
	enum berth_code rc = store_instance_list(ctx->store, 0, ctx->arena, &ins, &n, err);

	*n_out = 0;
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++)
		*n_out = (size_t)ins[i].id >= *n_out ? (size_t)ins[i].id + 1 : *n_out;
	*ins_out = arena_array_of(ctx->arena, *n_out, const struct instance *);
	for (size_t i = 0; i < n; i++)
		(*ins_out)[ins[i].id] = &ins[i];
	return BERTH_OK;
}

/* How the machine of a ledger row was bought: on a commitment while that paid for it; of money that
 * no hour of a machine cost its kind. */
static const char *
report_purchase(const struct ledger_row *l, const struct instance *in)
{
	if (in == NULL || l->kind != LEDGER_COMPUTE)
		return ledger_kind_name(l->kind);
	return purchase_name(l->t >= in->offer.paid_from && l->t <= in->offer.paid_until
				 ? PURCHASE_RESERVED
				 : in->offer.purchase);
}

static enum berth_code
report_money(struct cmd_ctx *ctx, struct report *r, struct berth_err *err)
{
	struct ledger_query q = { .from = r->from, .to = r->to };
	struct ledger_row *rows;
	const struct instance **ins = NULL;
	size_t n = 0, n_ins;
	enum berth_code rc = report_by_id(ctx, &ins, &n_ins, err);

	if (rc == BERTH_OK)
		rc = store_ledger_list(ctx->store, &q, ctx->arena, &rows, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const struct ledger_row *l = &rows[i];
		const struct instance *in = l->instance_id > 0 && (size_t)l->instance_id < n_ins
						? ins[l->instance_id]
						: NULL;

		rc = usd_add(r->spent, l->amount, &r->spent, err);
		if (rc == BERTH_OK && l->kind == LEDGER_EGRESS)
			rc = usd_add(r->egress, l->amount, &r->egress, err);
		if (rc == BERTH_OK)
			rc = sums_add(ctx->arena, &r->by_user,
			    l->user[0] != '\0' ? l->user : "(none)", 0, l->amount, err);
		if (rc == BERTH_OK)
			rc = sums_add(ctx->arena, &r->by_project,
			    l->project[0] != '\0' ? l->project : "(none)", 0, l->amount, err);
		if (rc == BERTH_OK)
			rc = sums_add(ctx->arena, &r->by_account, l->account, 0, l->amount, err);
		if (rc == BERTH_OK)
			rc = sums_add(
			    ctx->arena, &r->by_purchase, report_purchase(l, in), 0, l->amount, err);
		if (rc == BERTH_OK)
			rc = sums_add(
			    ctx->arena, &r->by_day, "", time_floor(l->t, 86400), l->amount, err);
	}
	if (rc == BERTH_OK)
		rc = store_budget_list(
		    ctx->store, ctx->now, ctx->arena, &r->budgets, &r->n_budgets, err);
	return rc;
}

static int64_t
report_overlap(int64_t from, int64_t to, int64_t since, int64_t until)
{
	int64_t a = from > since ? from : since, b = to < until ? to : until;

	return b > a ? b - a : 0;
}

/* What the owned commitments cost in the period, used or not: by the hour, and what was paid
 * upfront spread over their time. */
static enum berth_code
report_owned(struct cmd_ctx *ctx, struct report *r, struct berth_err *err)
{
	int64_t to = r->to < ctx->now ? r->to : ctx->now;
	struct commitment *cs;
	size_t n = 0;
	enum berth_code rc = store_commitment_list(ctx->store, 0, ctx->arena, &cs, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		int64_t s = cs[i].count * report_overlap(r->from, to, cs[i].from, cs[i].to);
		struct usd_micro hourly, upfront, sum;

		if (s == 0)
			continue;
		r->owned.n++;
		r->owned.hours += (double)s / 3600;
		rc = usd_mul_ratio(cs[i].offer.price, s, 3600, &hourly, err);
		if (rc == BERTH_OK)
			rc = usd_mul_ratio(
			    cs[i].offer.upfront, s, cs[i].to - cs[i].from, &upfront, err);
		if (rc == BERTH_OK)
			rc = usd_add(hourly, upfront, &sum, err);
		if (rc == BERTH_OK && !usd_known(sum))
			r->owned.unpriced++;
		else if (rc == BERTH_OK)
			rc = usd_add(r->owned.cost, sum, &r->owned.cost, err);
		if (rc != BERTH_OK)
			err_ctx(err, "commitment %lld", (long long)cs[i].id);
	}
	return rc;
}

static enum berth_code
report_jobs(struct cmd_ctx *ctx, struct report *r, struct berth_err *err)
{
	enum berth_code rc;
	struct job *jobs;
	size_t n;

	rc = store_job_list(ctx->store, NULL, ctx->arena, &jobs, &n, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		if (jobs[i].submitted >= r->to ||
		    (jobs[i].finished != 0 && jobs[i].finished < r->from))
			continue;
		r->job_states[jobs[i].state]++;
		r->missed += jobs[i].spec.deadline >= r->from && job_missed(&jobs[i], r->to);
		jobs[r->n_jobs++] = jobs[i];
	}
	r->jobs = jobs;
	return BERTH_OK;
}

/* What the same machine asks on demand; USD_UNKNOWN if nobody lists it. */
static enum berth_code
report_on_demand(
    struct cmd_ctx *ctx, const struct offer *o, struct usd_micro *price_out, struct berth_err *err)
{
	struct offer_query q = { .provider = o->provider,
		.region = o->region,
		.instance_type = o->instance_type,
		.by_purchase = true,
		.purchase = PURCHASE_ON_DEMAND };
	struct offer *offers;
	enum berth_code rc;
	size_t n;

	*price_out = USD_UNKNOWN;
	if (o->purchase == PURCHASE_ON_DEMAND) {
		*price_out = o->price;
		return BERTH_OK;
	}
	rc = store_offer_list(ctx->store, &q, ctx->arena, &offers, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (usd_cmp(offers[i].price, *price_out) < 0 &&
		    strcmp(offers[i].currency, "USD") == 0)
			*price_out = offers[i].price;
	}
	return rc;
}

static enum berth_code
report_machine(
    struct cmd_ctx *ctx, struct report *r, const struct instance *in, struct berth_err *err)
{
	int64_t end = in->gone != 0 ? in->gone : ctx->now;
	struct usd_micro price, same;
	enum berth_code rc = BERTH_OK;

	r->owned.used_hours +=
	    (double)report_overlap(r->from, end < r->to ? end : r->to,
		in->offer.paid_from > in->created ? in->offer.paid_from : in->created,
		in->offer.paid_until) /
	    3600;
	r->accepted += strcmp(in->verdict, "accept") == 0;
	r->discounted += strcmp(in->verdict, "discount") == 0;
	r->rejected += strcmp(in->verdict, "reject") == 0;
	if (strcmp(in->end_reason, "probe_rejected") == 0 ||
	    strcmp(in->end_reason, "start_failed") == 0 || strcmp(in->end_reason, "not_spot") == 0)
		rc = usd_add(r->wasted, in->cost, &r->wasted, err);
	if (rc == BERTH_OK)
		rc = report_on_demand(ctx, &in->offer, &price, err);
	if (rc != BERTH_OK)
		return rc;
	if (!usd_known(price)) {
		r->unpriced++;
		return BERTH_OK;
	}
	r->priced++;
	rc = usd_mul_ratio(price, end > in->created ? end - in->created : 0, 3600, &same, err);
	if (rc == BERTH_OK)
		rc = usd_add(r->on_demand_cost, same, &r->on_demand_cost, err);
	if (rc == BERTH_OK)
		rc = usd_add(r->machines_cost, in->cost, &r->machines_cost, err);
	return rc;
}

static enum berth_code
report_machines(struct cmd_ctx *ctx, struct report *r, struct berth_err *err)
{
	struct measurement_query q = { .since = r->from };
	struct instance *ins;
	enum berth_code rc;
	size_t n;

	rc = store_instance_list(ctx->store, 0, ctx->arena, &ins, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (ins[i].created >= r->to || (ins[i].gone != 0 && ins[i].gone < r->from))
			continue;
		rc = report_machine(ctx, r, &ins[i], err);
		ins[r->n_machines++] = ins[i];
	}
	r->machines = ins;
	if (rc == BERTH_OK)
		rc = store_measurement_list(
		    ctx->store, &q, ctx->arena, &r->measurements, &r->n_measurements, err);
	return rc;
}

static enum berth_code
report_score_one(struct cmd_ctx *ctx, const struct forecast_row *f, int64_t series_id,
    struct report_score *s, struct berth_err *err)
{
	struct history h;
	enum berth_code rc;
	struct dense d;
	size_t known = 0;

	*s = (struct report_score){ .series = f->series,
		.as_of = f->as_of,
		.horizon_s = f->horizon_s,
		.p50 = f->peak[0],
		.p95 = f->peak[2],
		.actual = NAN };
	rc = store_history(
	    ctx->store, series_id, 0, f->as_of, f->as_of + f->horizon_s, ctx->arena, &h, err);
	if (rc != BERTH_OK)
		return rc;
	d = h.d;
	/* Of a day that is kept as one and lies half outside nobody knows on which side its peak
	 * was. */
	for (size_t i = 0; i < d.n; i++) {
		int64_t day = time_floor(d.t0 + (int64_t)i * d.step_s, REPORT_DAY_S);

		if (day < h.days_until &&
		    (day < f->as_of || day + REPORT_DAY_S > f->as_of + f->horizon_s))
			d.peak[i] = NAN;
	}
	for (size_t i = 0; i < d.n; i++) {
		if (isnan(d.peak[i]))
			continue;
		known++;
		if (isnan(s->actual) || d.peak[i] > s->actual)
			s->actual = d.peak[i];
	}
	s->known =
	    d.step_s > 0 ? fmin(1, (double)known * (double)d.step_s / (double)f->horizon_s) : 0;
	return BERTH_OK;
}

static enum berth_code
report_scores(struct cmd_ctx *ctx, struct report *r, const struct series *list, size_t n_series,
    struct berth_err *err)
{
	struct forecast_row *fs;
	enum berth_code rc;
	size_t n;

	rc = store_forecast_list(ctx->store, NULL, 200, ctx->arena, &fs, &n, err);
	if (rc != BERTH_OK)
		return rc;
	r->scores = arena_array_of(ctx->arena, n, struct report_score);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; rc == BERTH_OK && j < n_series; j++) {
			if (strcmp(list[j].name, fs[i].series) == 0)
				rc = report_score_one(
				    ctx, &fs[i], list[j].id, &r->scores[r->n_scores++], err);
		}
		if (rc != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

static void
report_history(struct cmd_ctx *ctx, const struct dense *d, struct report_demand *out)
{
	size_t per_day = d->step_s > 0 && d->step_s < 86400 ? (size_t)(86400 / d->step_s) : 1;

	out->t = arena_array_of(ctx->arena, d->n / per_day + 1, double);
	out->peak = arena_array_of(ctx->arena, d->n / per_day + 1, double);
	for (size_t i = 0; i < d->n; i += per_day) {
		double top = NAN;

		for (size_t j = i; j < d->n && j < i + per_day; j++)
			top = isnan(top) ? d->peak[j] : fmax(top, d->peak[j]);
		out->t[out->n_history] = (double)(d->t0 + (int64_t)i * d->step_s);
		out->peak[out->n_history++] = top;
	}
}

static void
report_ahead(struct cmd_ctx *ctx, const struct forecast_row *f, struct report_demand *out)
{
	out->t_ahead = arena_array_of(ctx->arena, f->n, double);
	out->p50 = arena_array_of(ctx->arena, f->n, double);
	out->p95 = arena_array_of(ctx->arena, f->n, double);
	for (size_t i = 0; i < f->n; i++) {
		out->t_ahead[i] = (double)(f->as_of + (int64_t)i * f->step_s);
		out->p50[i] = f->q[i * FORECAST_ROW_LEVELS + 1];
		out->p95[i] = f->q[i * FORECAST_ROW_LEVELS + 3];
	}
	out->n_ahead = f->n;
}

static enum berth_code
report_demands(struct cmd_ctx *ctx, struct report *r, const struct series *list, size_t n,
    struct berth_err *err)
{
	bool *taken = arena_array_of(ctx->arena, n, bool);
	struct forecast_row *fs;
	enum berth_code rc = BERTH_OK;
	struct dense d;
	size_t n_fs, best;

	r->demand = arena_array_of(ctx->arena, REPORT_SERIES_MAX, struct report_demand);
	while (rc == BERTH_OK && r->n_demand < REPORT_SERIES_MAX && r->n_demand < n) {
		best = n;
		for (size_t i = 0; i < n; i++) {
			if (!taken[i] && (best == n || list[i].peak > list[best].peak))
				best = i;
		}
		taken[best] = true;
		r->demand[r->n_demand].series = list[best];
		rc = store_samples_range(ctx->store, list[best].id,
		    list[best].to - REPORT_HISTORY_S > list[best].from
			? list[best].to - REPORT_HISTORY_S
			: 0,
		    0, ctx->arena, &d, err);
		if (rc == BERTH_OK)
			rc = store_forecast_list(
			    ctx->store, list[best].name, 1, ctx->arena, &fs, &n_fs, err);
		if (rc != BERTH_OK)
			return rc;
		report_history(ctx, &d, &r->demand[r->n_demand]);
		if (n_fs > 0)
			report_ahead(ctx, &fs[0], &r->demand[r->n_demand]);
		r->n_demand++;
	}
	return rc;
}

static enum berth_code
report_events(struct cmd_ctx *ctx, struct report *r, struct berth_err *err)
{
	struct event_query q = { .since = r->from };
	struct event *es;
	enum berth_code rc;
	size_t n;

	rc = store_event_list(ctx->store, &q, ctx->arena, &es, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (es[i].t < r->to)
			rc = sums_add(
			    ctx->arena, &r->events, es[i].type, 0, (struct usd_micro){ 1 }, err);
	}
	return rc;
}

double
report_paid(const struct report *r)
{
	return usd_to_double(r->machines_cost) + usd_to_double(r->owned.cost);
}

enum berth_code
report_gather(
    struct cmd_ctx *ctx, int64_t from, int64_t to, struct report *r, struct berth_err *err)
{
	struct plan_row *plans;
	struct series *list;
	enum berth_code rc;
	size_t n, n_plans;

	*r = (struct report){ .from = from, .to = to };
	rc = report_money(ctx, r, err);
	if (rc == BERTH_OK)
		rc = report_owned(ctx, r, err);
	if (rc == BERTH_OK)
		rc = report_jobs(ctx, r, err);
	if (rc == BERTH_OK)
		rc = report_machines(ctx, r, err);
	if (rc == BERTH_OK)
		rc = store_series_list(ctx->store, ctx->arena, &list, &n, err);
	if (rc == BERTH_OK)
		rc = report_scores(ctx, r, list, n, err);
	if (rc == BERTH_OK)
		rc = report_demands(ctx, r, list, n, err);
	if (rc == BERTH_OK)
		rc = report_events(ctx, r, err);
	sums_sort(&r->by_project);
	sums_sort(&r->by_account);
	sums_sort(&r->by_user);
	sums_sort(&r->by_purchase);
	sums_sort(&r->by_day);
	sums_sort(&r->events);
	if (rc == BERTH_OK)
		rc = store_plan_list(ctx->store, 1, ctx->arena, &plans, &n_plans, err);
	if (rc == BERTH_OK && n_plans > 0)
		r->plan = plans[0];
	return rc;
}
