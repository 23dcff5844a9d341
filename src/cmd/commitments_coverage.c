/* src/cmd/commitments_coverage.c - `berth commitments coverage`: the ledger by hour of what is
 * owned and what is used.  Floor: cmd. */
#include "config.h"

#include <math.h>
#include <stddef.h>

#include "cmd/commitments.h"
#include "cmd/commitments_coverage.h"
#include "cmd/series_waste.h"
#include "model/budget.h"
#include "plan/cover.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/time.h"

#define COVERAGE_HOUR INT64_C(3600)
#define COVERAGE_SPAN (30 * INT64_C(86400))
#define COVERAGE_MOST_HOURS (20 * INT64_C(8784))

const struct coverage_opts coverage_defaults = { .by = NULL };

#define OFF(field) offsetof(struct coverage_opts, field)
const struct opt_row coverage_rows[] = {
	{ "from", 0, OPT_TIME, "TIME", "begin here; default 30 days before the end", OFF(from), 0,
	    0, NULL },
	{ "to", 0, OPT_TIME, "TIME", "end before this; default now", OFF(to), 0, 0, NULL },
	{ "by", 0, OPT_CHOICE, "hour|day|week|month", "a row for each of these times, in UTC",
	    OFF(by), 0, 0, NULL },
	{ 0 },
};

static void
coverage_add(struct coverage_sum *to, const struct coverage_sum *x)
{
	to->owned += x->owned;
	to->used += x->used;
	to->idle += x->idle;
	to->unknown += x->unknown;
	to->needed += x->needed;
	to->covered += x->covered;
	to->idle_cost += x->idle_cost;
	to->uncovered_cost += x->uncovered_cost;
	to->idle_unpriced += x->idle_unpriced;
	to->uncovered_unpriced += x->uncovered_unpriced;
}

static enum berth_code
coverage_times(struct coverage *v, const struct coverage_opts *o, struct berth_err *err)
{
	v->to = o->to != 0 ? o->to : time_floor(v->ctx->now, COVERAGE_HOUR);
	v->from = o->from != 0 ? o->from : v->to - COVERAGE_SPAN;
	v->from = time_floor(v->from, COVERAGE_HOUR);
	v->to = time_floor(v->to + COVERAGE_HOUR - 1, COVERAGE_HOUR);
	if (v->to <= v->from) {
		err_set(err, BERTH_EUSAGE, "there is no hour from --from to --to");
		return err_at(err, "--to");
	}
	if ((v->to - v->from) / COVERAGE_HOUR > COVERAGE_MOST_HOURS) {
		err_set(err, BERTH_EUSAGE, "20 years of hours are looked at, at most");
		return err_at(err, "--from");
	}
	return BERTH_OK;
}

/* What a GPU-hour of it costs, used or not: by the hour, and its part of what was paid upfront. */
static double
coverage_paid(const struct commitment *c)
{
	double hours = (double)(c->to - c->from) / (double)COVERAGE_HOUR;

	return (usd_to_double(c->offer.price) + usd_to_double(c->offer.upfront) / hours) /
	       c->offer.accelerator_count;
}

static enum berth_code
coverage_owned(struct coverage *v, struct berth_err *err)
{
	struct commitment *c;
	size_t n;
	enum berth_code rc = store_commitment_list(v->ctx->store, 0, v->ctx->arena, &c, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const struct offer *x = &c[i].offer;

		if (c[i].from >= v->to || c[i].to <= v->from || x->accelerator_count < 1)
			continue;
		*VEC_ADD(v->ctx->arena, &v->own) = (struct coverage_own){ .c = &c[i],
			.accel =
			    accel_find_sized(v->accels, x->accelerator, x->accelerator_memory_gib),
			.gpu_hour = coverage_paid(&c[i]) };
	}
	if (rc == BERTH_OK && v->own.n == 0) {
		cmd_next_step(v->ctx, "say what is owned: berth commitments import FILE");
		return err_set(err, BERTH_ENOTFOUND, "nothing is reserved in this time");
	}
	return rc;
}

/* Is it asked for, by name or glob; without words each that counts GPUs in use. */
static bool
coverage_wants(const struct coverage *v, const struct series *s, size_t n_all, bool *hit)
{
	bool take = false;

	if (v->ctx->n_args == 0)
		return series_is_demand(s) && !(n_all > 1 && str_eq(s->name, "total"));
	for (size_t j = 0; j < v->ctx->n_args; j++)
		if (str_eq(v->ctx->args[j], s->name) || glob_match(v->ctx->args[j], s->name))
			take = hit[j] = true;
	return take;
}

static enum berth_code
coverage_series(struct coverage *v, const struct series *s, const struct offer *offers,
    size_t n_offers, struct berth_err *err)
{
	const char *name = series_label(s, "accelerator", v->ctx->arena);
	const struct accel *accel = accel_find(v->accels, name != NULL ? name : s->name);
	struct arena *a = v->ctx->arena;
	struct coverage_need *x;

	if (!series_is_gpus(s) || accel == NULL) {
		if (v->ctx->n_args > 0)
			cmd_warn(v->ctx, "left out: series %s %s", s->name,
			    accel == NULL ? "has no accelerator that is known" : "counts no GPUs");
		return BERTH_OK;
	}
	x = VEC_ADD(a, &v->need);
	*x = (struct coverage_need){ .row = *s,
		.accel = accel,
		.provider = series_label(s, "provider", a),
		.account = series_label(s, "account", a),
		.region = series_label(s, "region", a),
		.zone = series_label(s, "zone", a),
		.purchase = series_label(s, "purchase", a),
		.on_demand = usd_to_double(series_gpu_hour(v->accels, offers, n_offers, accel)) };
	return store_samples_range(v->ctx->store, s->id, v->from, v->to, a, &x->d, err);
}

static enum berth_code
coverage_needs(struct coverage *v, struct berth_err *err)
{
	bool *hit = arena_array_of(v->ctx->arena, v->ctx->n_args, bool);
	struct offer *offers = NULL;
	struct series *all;
	size_t n, n_offers = 0;
	enum berth_code rc = store_series_list(v->ctx->store, v->ctx->arena, &all, &n, err);

	if (rc == BERTH_OK)
		rc = store_offer_list(v->ctx->store, NULL, v->ctx->arena, &offers, &n_offers, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (coverage_wants(v, &all[i], n, hit))
			rc = coverage_series(v, &all[i], offers, n_offers, err);
	for (size_t j = 0; rc == BERTH_OK && j < v->ctx->n_args; j++)
		if (!hit[j])
			return err_set(err, BERTH_ENOTFOUND,
			    "there is no series '%s'; `berth series` lists them", v->ctx->args[j]);
	if (rc == BERTH_OK && v->need.n == 0) {
		cmd_next_step(v->ctx, "berth record csv FILE");
		return err_set(err, BERTH_ENOTFOUND, "no series of GPUs in use is recorded");
	}
	return rc;
}

static bool
coverage_agrees(const char *label, const char *owned)
{
	return label == NULL || label[0] == '\0' || owned[0] == '\0' || str_eq(label, owned);
}

static void
coverage_match(struct coverage *v)
{
	v->serves = arena_array(v->ctx->arena, v->need.n * v->own.n + 1, sizeof(*v->serves));
	for (size_t d = 0; d < v->need.n; d++)
		for (size_t o = 0; o < v->own.n; o++) {
			const struct coverage_need *x = &v->need.v[d];
			struct coverage_own *own = &v->own.v[o];
			const struct offer *of = &own->c->offer;
			bool can = own->accel != NULL && accel_is(own->accel, x->accel) &&
				   coverage_agrees(x->provider, of->provider) &&
				   coverage_agrees(x->account, of->account) &&
				   coverage_agrees(x->region, of->region) &&
				   coverage_agrees(x->zone, of->zone) &&
				   coverage_agrees(x->purchase, purchase_name(PURCHASE_RESERVED));

			v->serves[d * v->own.n + o] = can;
			own->some = own->some || can;
		}
}

/* Mean GPUs in use over what is recorded of the hour; NaN: nothing is. Steps need not divide it. */
static double
coverage_use(const struct dense *d, int64_t t)
{
	int64_t at = t > d->t0 ? (t - d->t0) / d->step_s : 0;
	double sum = 0, known = 0;

	for (int64_t i = at; i < (int64_t)d->n; i++) {
		int64_t from = d->t0 + i * d->step_s, to = from + d->step_s;
		double part;

		if (from >= t + COVERAGE_HOUR)
			break;
		part = (double)((to < t + COVERAGE_HOUR ? to : t + COVERAGE_HOUR) -
				(from > t ? from : t));
		if (isnan(d->mean[i]) || part <= 0)
			continue;
		sum += d->mean[i] * part;
		known += part;
	}
	return known > 0 ? sum / known : (double)NAN;
}

/* Does a series that it serves say what was used in this hour? */
static bool
coverage_known(const struct coverage *v, size_t o, const double *use)
{
	for (size_t d = 0; d < v->need.n; d++)
		if (v->serves[d * v->own.n + o] && !isnan(use[d]))
			return true;
	return false;
}

static void
coverage_money(double gpu_hours, double price, double *cost, double *unpriced)
{
	if (isnan(price))
		*unpriced = gpu_hours;
	else
		*cost = gpu_hours * price;
}

/* The row of time that holds t; a new one where t is behind the last. */
static struct coverage_step *
coverage_step(struct coverage *v, const char *by, int64_t t)
{
	struct coverage_step *last = v->steps.n > 0 ? &v->steps.v[v->steps.n - 1] : NULL;
	enum budget_period p = BUDGET_HOUR;
	int64_t from, to;

	if (last != NULL && t < last->to)
		return last;
	if (by != NULL)
		budget_period_parse(by, &p);
	budget_period_span(p, t, &from, &to);
	last = VEC_ADD(v->ctx->arena, &v->steps);
	*last = (struct coverage_step){ .from = from > v->from ? from : v->from,
		.to = to < v->to ? to : v->to };
	return last;
}

/* One hour into all the sums. have, used  [own.n]; use, covered  [need.n] GPUs. */
static void
coverage_book(struct coverage *v, const double *have, const double *used, const double *use,
    const double *covered, struct coverage_sum *step)
{
	for (size_t o = 0; o < v->own.n; o++) {
		struct coverage_own *own = &v->own.v[o];
		double left = fmax(0, have[o] - used[o]);
		bool known = coverage_known(v, o, use);
		struct coverage_sum x = { .owned = have[o],
			.used = used[o],
			.idle = known ? left : 0,
			.unknown = known ? 0 : left };

		coverage_money(x.idle, own->gpu_hour, &x.idle_cost, &x.idle_unpriced);
		coverage_add(&own->sum, &x);
		coverage_add(step, &x);
	}
	for (size_t d = 0; d < v->need.n; d++) {
		struct coverage_need *need = &v->need.v[d];
		struct coverage_sum x = { .needed = isnan(use[d]) ? 0 : use[d],
			.covered = covered[d] };

		coverage_money(x.needed - x.covered, need->on_demand, &x.uncovered_cost,
		    &x.uncovered_unpriced);
		coverage_add(&need->sum, &x);
		coverage_add(step, &x);
	}
}

static void
coverage_hours(struct coverage *v, const char *by)
{
	struct arena *a = v->ctx->arena;
	double *usage = arena_array(a, v->own.n + 1, sizeof(*usage)),
	       *have = arena_array(a, v->own.n + 1, sizeof(*have)),
	       *used = arena_array(a, v->own.n + 1, sizeof(*used)),
	       *use = arena_array(a, v->need.n + 1, sizeof(*use)),
	       *need = arena_array(a, v->need.n + 1, sizeof(*need)),
	       *covered = arena_array(a, v->need.n + 1, sizeof(*covered));
	struct cover *cover;

	for (size_t o = 0; o < v->own.n; o++) {
		const struct offer *x = &v->own.v[o].c->offer;

		usage[o] = usd_known(x->usage) ? usd_to_double(x->usage) / x->accelerator_count : 0;
	}
	cover = cover_new(a, v->own.n, v->need.n, v->serves, usage);
	for (int64_t t = v->from; t < v->to; t += COVERAGE_HOUR) {
		struct coverage_sum hour = { 0 };

		for (size_t o = 0; o < v->own.n; o++) {
			const struct commitment *c = v->own.v[o].c;
			int64_t from = c->from > t ? c->from : t,
				to = c->to < t + COVERAGE_HOUR ? c->to : t + COVERAGE_HOUR;

			have[o] = to > from ? (double)c->count * c->offer.accelerator_count *
						  (double)(to - from) / (double)COVERAGE_HOUR
					    : 0;
		}
		for (size_t d = 0; d < v->need.n; d++) {
			use[d] = coverage_use(&v->need.v[d].d, t);
			need[d] = isnan(use[d]) ? 0 : use[d];
		}
		cover_step(cover, have, need, used, covered);
		coverage_book(v, have, used, use, covered, &hour);
		coverage_add(&v->sum, &hour);
		if (by != NULL)
			coverage_add(&coverage_step(v, by, t)->sum, &hour);
	}
}

enum berth_code
commitments_run_coverage(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct coverage_opts *o = ctx->opts;
	struct coverage v = { .ctx = ctx };
	enum berth_code rc = coverage_times(&v, o, err);

	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &v.accels, err);
	if (rc == BERTH_OK)
		rc = coverage_owned(&v, err);
	if (rc == BERTH_OK)
		rc = coverage_needs(&v, err);
	if (rc != BERTH_OK)
		return rc;
	coverage_match(&v);
	coverage_hours(&v, o->by);
	return coverage_show(&v, o->by != NULL, err);
}
