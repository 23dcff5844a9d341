#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_deal.h"
#include "cmd/plan_join.h"
#include "model/offer.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"

#define SCHEDULE_BUDGET_STEPS 40
#define SCHEDULE_NEAR                                                                              \
	0.005 /* of the cost, that the bound may be off before it is tried from elsewhere */
#define SCHEDULE_SAID 24
#define SCHEDULE_LIGHT 2e7 /* cells of tableaus for one that is planned with others after that */

void
plan_schedule_steps(struct plan_series *ps, size_t n)
{
	size_t finest = 0;

	for (size_t i = 1; i < n; i++)
		finest = ps[i].demand.n_steps > ps[finest].demand.n_steps ? i : finest;
	for (size_t i = 0; i < n; i++) {
		ps[i].schedule_steps = (int64_t)ps[finest].demand.n_steps;
		ps[i].schedule_step_s = ps[finest].forecast.step_s;
	}
}

/* The series' demand by those steps. */
static const struct commit_demand *
schedule_demand(const struct plan_series *ps, struct arena *a)
{
	size_t steps = (size_t)ps->schedule_steps;
	struct commit_demand *d = arena_memdup(a, &ps->demand, sizeof(*d));
	double *gpus;

	if (d->n_steps == steps)
		return &ps->demand;
	gpus = arena_array(a, d->n_paths * steps, sizeof(*gpus));
	for (size_t k = 0; k < d->n_paths; k++)
		for (size_t t = 0; t < steps; t++)
			gpus[k * steps + t] = d->gpus[k * d->n_steps + t * d->n_steps / steps];
	d->gpus = gpus;
	d->step_hours = (double)ps->schedule_step_s / 3600;
	d->n_steps = steps;
	return d;
}

int64_t
plan_schedule_step(const struct plan_series *ps, int64_t step)
{
	if (step == INT64_MAX || ps->forecast.step_s == ps->schedule_step_s)
		return step;
	return step * ps->forecast.step_s / ps->schedule_step_s;
}

static const struct schedule_owned *
schedule_owned(const struct plan_series *ps, struct arena *a)
{
	struct schedule_owned *own = arena_memdup(a, ps->owned, ps->n_owned * sizeof(*own));

	for (size_t i = 0; i < ps->n_owned; i++) {
		own[i].from = plan_schedule_step(ps, own[i].from);
		own[i].to = plan_schedule_step(ps, own[i].to);
	}
	return own;
}

struct schedule_problem
plan_schedule_problem(const struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	int64_t *term = arena_array(a, ps->n_lines + 1, sizeof(*term)),
		every = o->starts_s / ps->schedule_step_s;

	for (size_t i = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_RESERVED)
			term[i] = (int64_t)fmax(1, rint(offer_term_hours(ps->offers[i]) * 3600 /
							(double)ps->schedule_step_s));
	return (struct schedule_problem){ schedule_demand(ps, a), ps->lines, ps->n_lines, term,
		schedule_owned(ps, a), ps->n_owned, every > 0 ? every : 1, ps->problem.unserved,
		ps->problem.peak, 0, NAN, &ps->shares, 0, NULL };
}

/* All series at one price of money; *bound_out: what that binds. */
static enum berth_code
schedule_at(struct plan_series *ps, struct schedule_problem *p, size_t n, double theta,
    struct schedule **to, struct arena *a, double *bound_out, struct berth_err *err)
{
	*bound_out = 0;
	for (size_t i = 0; i < n; i++) {
		enum berth_code rc;

		p[i].theta = theta;
		p[i].budget = NAN;
		rc = schedule_solve(&p[i], a, to[i], err);
		if (rc == BERTH_EINFEASIBLE && p[i].work > 0) { /* or not found in so little */
			p[i].work = 0;
			rc = schedule_solve(&p[i], a, to[i], err);
		}
		if (rc != BERTH_OK)
			return err_ctx(err, "series %s", ps[i].series.name);
		*bound_out += to[i]->bound_usd;
	}
	return BERTH_OK;
}

/* As plan_budget(): one price for all, then what is left goes to them in turn. */
static enum berth_code
schedule_budget(struct plan_series *ps, struct schedule_problem *p, size_t n, double budget,
    struct schedule **to, struct arena *a, struct berth_err *err)
{
	double lo = 0, hi = 1, bound, left = budget;
	enum berth_code rc = BERTH_OK;

	for (; n > 1; hi *= 4) {
		rc = schedule_at(ps, p, n, hi, to, a, &bound, err);
		if (rc != BERTH_OK)
			return rc;
		if (bound <= budget)
			break;
		if (hi > 100)
			return commit_over_budget(bound, budget, err);
		lo = hi;
	}
	for (int k = 0; k < SCHEDULE_BUDGET_STEPS && n > 1 && rc == BERTH_OK; k++) {
		double mid = lo + (hi - lo) / 2;

		rc = schedule_at(ps, p, n, mid, to, a, &bound, err);
		*(bound <= budget ? &hi : &lo) = mid;
	}
	if (n > 1 && rc == BERTH_OK) {
		rc = schedule_at(ps, p, n, hi, to, a, &bound, err);
		left = budget - bound;
	}
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		left += n > 1 ? to[i]->bound_usd : 0;
		p[i].theta = 0;
		p[i].budget = left;
		rc = schedule_solve(&p[i], a, to[i], err);
		left -= to[i]->bound_usd;
	}
	return rc;
}

static struct schedule **
schedule_new(size_t n, struct arena *a)
{
	struct schedule **s = arena_array(a, n + 1, sizeof(*s));

	for (size_t i = 0; i < n; i++)
		s[i] = arena_array(a, 1, sizeof(**s));
	return s;
}

/* Each series with its part of the quotas that it shares; the bound is as if the others left it
 * all. */
static enum berth_code
schedule_parts(struct plan_series *ps, const struct schedule_problem *p, size_t n, double budget,
    struct schedule **part, struct arena *a, struct berth_err *err)
{
	struct schedule_problem *own = arena_memdup(a, p, n * sizeof(*own));
	double bound;
	enum berth_code rc;

	for (size_t i = 0; i < n; i++) {
		own[i].rules = plan_quota_allot(ps, n, i, a);
		own[i].work = 0;
	}
	rc = schedule_at(ps, own, n, 0, part, a, &bound, err);
	if (rc == BERTH_OK && !isnan(budget) && bound > budget)
		rc = schedule_budget(ps, own, n, budget, part, a, err);
	return rc;
}

/* Is the plan within a part of its bound? */
static bool
schedule_near(struct schedule *const *s, size_t n)
{
	double cost = 0, lower = 0;

	for (size_t i = 0; i < n; i++) {
		cost += s[i]->cost_usd;
		lower += s[i]->lower_bound_usd;
	}
	return cost - lower <= SCHEDULE_NEAR * cost;
}

/*
 * All at once. Where that ends far from its bound, plans of parts are another place to begin from;
 * where the program is too large they are the plan.
 */
static enum berth_code
schedule_together(struct plan_series *ps, const struct schedule_problem *p, size_t n, double budget,
    const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	struct schedule **alone = schedule_new(n, a), **out = schedule_new(n, a),
			**part = schedule_new(n, a);
	struct berth_err why;
	enum berth_code rc, parts;

	for (size_t i = 0; i < n; i++) {
		*alone[i] = *ps[i].schedule;
		ps[i].allotted = false;
	}
	rc = plan_deal_schedule(ps, p, n, budget, alone, NULL, o, a, out, err);
	if (rc != BERTH_OK && rc != BERTH_EINFEASIBLE && rc != BERTH_EFAIL)
		return rc;
	if (rc != BERTH_OK || !schedule_near(out, n)) {
		enum berth_code again = rc;

		parts = schedule_parts(ps, p, n, budget, part, a, &why);
		if (parts == BERTH_OK && rc != BERTH_EFAIL)
			again = plan_deal_schedule(ps, p, n, budget, alone, part, o, a, out, err);
		if (parts != BERTH_OK && rc != BERTH_OK)
			return rc == BERTH_EFAIL ? (*err = why, parts) : rc;
		for (size_t i = 0; i < n && again != BERTH_OK; i++) {
			ps[i].open = NULL;
			*out[i] = *part[i];
			out[i]->lower_bound_usd =
			    fmin(alone[i]->lower_bound_usd, part[i]->cost_usd);
			out[i]->optimal = part[i]->cost_usd - out[i]->lower_bound_usd <=
					  1e-9 * fmax(1, part[i]->cost_usd);
			ps[i].allotted = true;
		}
	}
	for (size_t i = 0; i < n; i++) {
		ps[i].schedule = out[i];
		ps[i].together = !ps[i].allotted;
	}
	return BERTH_OK;
}

/* Series whose quotas meet, or that can use the same of what is owned, from the first of them on,
 * are brought to the front, by their place; how many. */
static size_t
schedule_group(const struct plan_series *ps, size_t *rest, size_t n)
{
	size_t group = 1;

	for (size_t k = 0; k < group; k++)
		for (size_t i = group; i < n; i++)
			if (plan_quota_shared(&ps[rest[k]], &ps[rest[i]]) ||
			    plan_owned_shared(&ps[rest[k]], &ps[rest[i]])) {
				size_t was = rest[i];

				memmove(
				    &rest[group + 1], &rest[group], (i - group) * sizeof(*rest));
				rest[group++] = was;
			}
	return group;
}

/* Some of the series, as if there were no others. */
static enum berth_code
schedule_some(struct plan_series *ps, const struct schedule_problem *p, const size_t *which,
    size_t n, const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	struct plan_series *some = arena_array(a, n, sizeof(*some));
	struct schedule_problem *of = arena_array(a, n, sizeof(*of));
	enum berth_code rc;

	for (size_t i = 0; i < n; i++) {
		some[i] = ps[which[i]];
		of[i] = p[which[i]];
	}
	rc = schedule_together(some, of, n, NAN, o, a, err);
	for (size_t i = 0; i < n; i++)
		ps[which[i]] = some[i];
	return rc;
}

static bool
schedule_over(const struct plan_series *ps, size_t n, double budget)
{
	double bound = 0;

	for (size_t i = 0; i < n; i++)
		bound += ps[i].schedule->bound_usd;
	return !isnan(budget) && bound > budget;
}

/* Without a budget those that share a quota are planned together in any case, and by themselves
 * only so that there is something to begin from. */
static void
schedule_light(
    const struct plan_series *ps, struct schedule_problem *p, size_t *rest, size_t n, double budget)
{
	size_t group;

	for (size_t k = 0; k < n && isnan(budget); k += group) {
		group = schedule_group(ps, rest + k, n - k);
		for (size_t i = 0; i < group; i++)
			for (size_t e = 0; e < group; e++)
				if (e != i && plan_quota_shared(&ps[rest[k + i]], &ps[rest[k + e]]))
					p[rest[k + i]].work = SCHEDULE_LIGHT;
	}
}

/* Each by itself, then those together that share a quota or what is owned, or all under a budget
 * that binds. */
static enum berth_code
schedule_all(struct plan_series *ps, struct schedule_problem *p, size_t n,
    const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	struct schedule **to = schedule_new(n, a);
	size_t *rest = arena_array(a, n + 1, sizeof(*rest)), group;
	double bound, budget = o->budget_usd;
	enum berth_code rc;

	for (size_t i = 0; i < n; i++)
		rest[i] = i;
	schedule_light(ps, p, rest, n, budget);
	rc = schedule_at(ps, p, n, 0, to, a, &bound, err);
	for (size_t i = 0; i < n; i++) {
		ps[i].schedule = to[i];
		rest[i] = i;
	}
	if (rc != BERTH_OK)
		return rc;
	for (size_t k = 0; k < n && rc == BERTH_OK && !schedule_over(ps, n, budget); k += group) {
		group = schedule_group(ps, rest + k, n - k);
		if (group > 1)
			rc = schedule_some(ps, p, rest + k, group, o, a, err);
	}
	if (rc != BERTH_OK || !schedule_over(ps, n, budget))
		return rc;
	for (size_t i = 0; i < n; i++)
		ps[i].schedule = to[i];
	return n == 1 ? schedule_budget(ps, p, n, budget, to, a, err)
		      : schedule_together(ps, p, n, budget, o, a, err);
}

/* What would change the schedules of one group, given by their places. */
static enum berth_code
schedule_turns(struct plan_series *ps, const struct schedule_problem *p, const size_t *which,
    size_t n, double budget, struct arena *a, struct berth_err *err)
{
	struct schedule_problem *of = arena_array(a, n, sizeof(*of));
	struct schedule **now = arena_array(a, n, sizeof(*now));
	struct schedule_change *turns = arena_array(a, 1, sizeof(*turns));
	enum berth_code rc;

	for (size_t i = 0; i < n; i++) {
		of[i] = p[which[i]];
		now[i] = ps[which[i]].schedule;
	}
	rc = schedule_change(of, n, budget, now, a, turns, err);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		ps[which[i]].turns = turns;
		ps[which[i]].turns_at = i;
	}
	return rc;
}

/* Those that were planned together have the same borders. Of the budget each has what the others
 * leave. */
static enum berth_code
schedule_turns_all(struct plan_series *ps, const struct schedule_problem *p, size_t n,
    const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	size_t *which = arena_array(a, n + 1, sizeof(*which));

	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		double left = o->budget_usd;
		size_t group = 0;

		for (size_t k = 0; k < n; k++)
			if (ps[k].schedule->form.border == ps[i].schedule->form.border)
				which[group++] = k;
			else
				left -= ps[k].schedule->bound_usd;
		if (which[0] == i && !ps[i].allotted)
			rc = schedule_turns(ps, p, which, group, left, a, err);
		plan_tick(o, 1);
	}
	return rc;
}

enum berth_code
plan_schedule(struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a,
    struct berth_err *err)
{
	struct schedule_problem *p = arena_array(a, n + 1, sizeof(*p));
	enum berth_code rc;

	if (o->starts_s <= 0) {
		plan_tick(o, 2 * n);
		return BERTH_OK;
	}
	plan_schedule_steps(ps, n);
	for (size_t i = 0; i < n; i++)
		p[i] = plan_schedule_problem(&ps[i], o, a);
	rc = schedule_all(ps, p, n, o, a, err);
	for (size_t i = 0; i < n; i++)
		p[i].owned = schedule_owned(&ps[i], a);
	plan_tick(o, n);
	if (rc == BERTH_OK)
		plan_schedule_runway(ps, n, o, a);
	return rc != BERTH_OK ? rc : schedule_turns_all(ps, p, n, o, a, err);
}

int64_t
plan_schedule_time(const struct plan_series *ps, int64_t step)
{
	return ps->forecast.t0 + step * ps->schedule_step_s;
}

/* Machines of this line that end at a step. */
static int64_t
schedule_ending(const struct schedule *s, size_t line, int64_t step)
{
	int64_t n = 0;

	for (size_t k = 0; k < s->n; k++)
		n += s->buy[k].line == line && s->buy[k].to == step ? s->buy[k].count : 0;
	return n;
}

int64_t
plan_schedule_beginning(const struct schedule *s, size_t line, int64_t step)
{
	for (size_t k = 0; k < s->n; k++)
		if (s->buy[k].line == line && s->buy[k].from == step)
			return s->buy[k].count;
	return 0;
}

static int64_t
schedule_renews(const struct schedule *s, const struct schedule_buy *b)
{
	int64_t ending = schedule_ending(s, b->line, b->from);

	return ending < b->count ? ending : b->count;
}

/* What ends inside the horizon and is not bought again then: machines of this purchase. */
static int64_t
schedule_lapses(const struct plan_series *ps, const struct schedule_buy *b)
{
	const struct schedule *s = ps->schedule;
	int64_t ending, again;

	if (b->to >= ps->schedule_steps)
		return 0;
	ending = schedule_ending(s, b->line, b->to);
	again = plan_schedule_beginning(s, b->line, b->to);
	if (again >= ending)
		return 0;
	return ending - again < b->count ? ending - again : b->count;
}

static void
schedule_say(struct plan_series *ps, const struct schedule_buy *b, struct arena *a)
{
	char from[TIME_FMT_SIZE], to[TIME_FMT_SIZE];
	int64_t renews = schedule_renews(ps->schedule, b), lapses = schedule_lapses(ps, b);
	const char *text =
	    arena_printf(a, "schedule: on %s buy %lld x %s, to %s (%.2f USD in the horizon)",
		time_fmt_date(from, plan_schedule_time(ps, b->from)), (long long)b->count,
		ps->names[b->line], time_fmt_date(to, plan_schedule_time(ps, b->to)), b->usd);

	if (ps->lines[b->line].usage > 0)
		text = arena_printf(
		    a, "%s and %.4f USD for each GPU-hour in use", text, ps->lines[b->line].usage);
	if (renews > 0)
		text = arena_printf(
		    a, "%s; %lld of them renew what ends then", text, (long long)renews);
	if (lapses > 0)
		text = arena_printf(a, "%s; let %lld of them end", text, (long long)lapses);
	plan_add(&ps->because, a, text);
}

void
plan_schedule_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	const struct schedule *s = ps->schedule;
	double gap;

	if (s == NULL)
		return;
	gap = s->lower_bound_usd > 0 ? 100 * (s->cost_usd - s->lower_bound_usd) / s->lower_bound_usd
				     : 0;
	plan_add(&ps->because, a,
	    arena_printf(a,
		"schedule: with start dates every %.6g weeks, and counting what is owned only "
		"while it holds, %.2f USD are expected, %s",
		(double)o->starts_s / (7 * 86400), s->cost_usd,
		s->optimal ? "the least there is on this forecast"
			   : arena_printf(a, "at most %.2f %% above any other (bound %.2f USD)",
				 gap, s->lower_bound_usd)));
	if (ps->together)
		plan_add(&ps->because, a,
		    "schedule: all series under these quotas and this budget were planned "
		    "together, at all dates, and those that can use the same of what is owned");
	plan_deal_explain(ps, a);
	if (ps->allotted)
		plan_add(&ps->because, a,
		    "schedule: of quotas that other series draw on too it has the part that the "
		    "plan at one date takes; the bound is as if they left it all");
	plan_quota_schedule_explain(ps, o, a);
	for (size_t k = 0; k < s->n && k < SCHEDULE_SAID; k++)
		schedule_say(ps, &s->buy[k], a);
	if (s->n == 0)
		plan_add(&ps->because, a, "schedule: buy nothing, at no date");
	if (s->n > SCHEDULE_SAID)
		plan_add(&ps->because, a,
		    arena_printf(a, "schedule: %zu more purchases (-o json has them all)",
			s->n - SCHEDULE_SAID));
	plan_runway_say(ps, ps->later, ps->n_later,
	    "schedule: ", ", beside what is owned or bought by then that it does not count,", a);
	plan_schedule_turns_say(ps, a);
	if (s->theta > 0)
		plan_add(&ps->because, a,
		    arena_printf(a,
			"schedule: the budget binds: one USD more of it would save %.2f USD",
			s->theta));
}

void
plan_schedule_json(struct jsonw *w, const struct plan_series *ps, const struct plan_options *o)
{
	const struct schedule *s = ps->schedule;

	jsonw_begin_object(w, "schedule");
	jsonw_int(w, "every_s", o->starts_s);
	jsonw_fixed(w, "expected_cost", s->cost_usd, 6);
	jsonw_fixed(w, "lower_bound", s->lower_bound_usd, 6);
	jsonw_fixed(w, "bound", s->bound_usd, 6);
	jsonw_bool(w, "optimal", s->optimal);
	jsonw_fixed(w, "budget_price", s->theta, 6);
	plan_quota_schedule_json(w, ps, o);
	jsonw_begin_array(w, "buys");
	for (size_t k = 0; k < s->n; k++) {
		const struct schedule_buy *b = &s->buy[k];
		const struct offer *x = ps->offers[b->line];

		jsonw_begin_object(w, NULL);
		jsonw_time(w, "t", plan_schedule_time(ps, b->from));
		jsonw_time(w, "until", plan_schedule_time(ps, b->to));
		jsonw_str(w, "provider", x->provider);
		jsonw_str_or_null(w, "region", x->region);
		jsonw_str_or_null(w, "instance_type", x->instance_type);
		jsonw_int(w, "term_months", x->term_months);
		jsonw_str(w, "payment", payment_name(x->payment));
		jsonw_money(w, "upfront", x->upfront);
		jsonw_money(w, "price_per_hour", x->price);
		jsonw_money(w, "usage_price_per_hour", x->usage);
		jsonw_int(w, "count", b->count);
		jsonw_int(w, "gpus", b->count * ps->lines[b->line].gpus);
		jsonw_int(w, "renews", schedule_renews(s, b));
		jsonw_int(w, "lapses", schedule_lapses(ps, b));
		jsonw_fixed(w, "cost", b->usd, 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "quota_runway");
	plan_runway_json(w, NULL, ps->later, ps->n_later);
	jsonw_end_array(w);
	plan_schedule_turns_json(w, ps);
	jsonw_end_object(w);
}
