/* src/cmd/plan_quota.c - the quotas of berth.yaml, over all offers and series that they count.
 * Floor: cmd. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_facts.h"
#include "broker/quotas.h"
#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

#define QUOTA_MONTH_HOURS 730.0

/* vCPUs of what is owned are those of the same type in the market. Where nobody knows them it is
 * there all the same. */
static int64_t
quota_owned(
    const struct plan_options *o, size_t q, const struct plan_series *ps, const struct offer *x)
{
	struct offer known = *x;

	for (size_t i = 0; i < ps->n_market && !(known.vcpus > 0); i++)
		if (str_eq(ps->market[i]->provider, x->provider) &&
		    str_eq(ps->market[i]->instance_type, x->instance_type))
			known.vcpus = ps->market[i]->vcpus;
	if (str_eq(o->limits[q].unit, "vcpu") && !(known.vcpus > 0))
		return 0;
	return placing_quota_weight(&o->limits[q], &known);
}

double
plan_quota_owned(const struct plan_options *o, size_t q, const struct plan_series *ps,
    const struct offer *x, int64_t machines)
{
	return (double)(quota_owned(o, q, ps, x) * machines);
}

/* Of one machine of the line's offer; 0: not counted. */
static int64_t
quota_weight(const struct plan_options *o, size_t q, const struct plan_series *ps, size_t line)
{
	if (q < o->n_limits && ps->lines[line].kind == COMMIT_OWNED)
		return quota_owned(o, q, ps, ps->offers[line]);
	if (q < o->n_limits)
		return placing_quota_weight(&o->limits[q], ps->offers[line]);
	return ps->lines[line].kind == COMMIT_ON_DEMAND ? ps->offers[line]->accelerator_count
							: 0; /* --on-demand-limit */
}

static int64_t
quota_gcd(int64_t x, int64_t y)
{
	while (y != 0) {
		int64_t t = x % y;

		x = y;
		y = t;
	}
	return x;
}

size_t
plan_quota_count(const struct plan_options *o)
{
	return o->n_limits + (o->on_demand_gpus >= 0);
}

/* Only whole machines can be had of a quota: what no number of them takes does not count. */
static double
quota_limit(const struct plan_series *ps, size_t n, const struct plan_options *o, size_t q)
{
	int64_t unit = 0, limit = q < o->n_limits ? o->limits[q].limit : o->on_demand_gpus;

	for (size_t i = 0; i < n && q < o->n_limits; i++)
		for (size_t l = 0; l < ps[i].n_lines; l++) {
			int64_t w = quota_weight(o, q, &ps[i], l);

			if (w > 0 && w <= limit)
				unit = quota_gcd(unit, w);
		}
	return (double)(unit > 0 ? limit / unit * unit : limit);
}

static bool
quota_spots(const struct plan_series *ps)
{
	size_t n = 0;

	for (size_t i = 0; i < ps->n_lines; i++)
		n += ps->lines[i].kind == COMMIT_SPOT;
	return n > 1;
}

/* What spot may carry of each series that has several offers of it: behind the quotas. */
static void
quota_spot(struct plan_series *ps, size_t n, size_t i, struct commit_quota *quota, struct arena *a)
{
	for (size_t k = 0; k < n; k++) {
		double *weight;

		if (!quota_spots(&ps[k]))
			continue;
		weight = arena_array(a, ps[i].n_lines + 1, sizeof(*weight));
		for (size_t l = 0; l < ps[i].n_lines; l++)
			weight[l] = i == k && ps[i].lines[l].kind == COMMIT_SPOT;
		*quota++ = (struct commit_quota){ (double)ps[k].spot_gpus, weight };
	}
}

void
plan_quotas(struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a)
{
	size_t asked = plan_quota_count(o), n_quotas = asked;

	for (size_t i = 0; i < n; i++)
		n_quotas += quota_spots(&ps[i]);
	for (size_t i = 0; i < n; i++) {
		struct commit_quota *quota = arena_array(a, n_quotas + 1, sizeof(*quota));

		quota_spot(ps, n, i, quota + asked, a);
		for (size_t q = 0; q < asked; q++) {
			double *weight = arena_array(a, ps[i].n_lines + 1, sizeof(*weight));

			for (size_t l = 0; l < ps[i].n_lines; l++)
				weight[l] =
				    (double)quota_weight(o, q, &ps[i], l) / ps[i].carries[l];
			quota[q] = (struct commit_quota){ quota_limit(ps, n, o, q), weight };
		}
		for (size_t k = 0; k < ps[i].n_owned; k++) {
			double *weight = arena_array(a, n_quotas + 1, sizeof(*weight));

			for (size_t q = 0; q < o->n_limits; q++)
				weight[q] = plan_quota_owned(
				    o, q, &ps[i], ps[i].owned_offer[k], ps[i].owned_count[k]);
			ps[i].owned[k].weight = weight;
		}
		ps[i].shares.quota = quota;
		ps[i].shares.n_quotas = n_quotas;
	}
}

int64_t
plan_quota_most(const struct plan_series *ps, const struct plan_options *o, size_t q)
{
	int64_t gpus = -1;

	for (size_t l = 0; l < ps->n_lines; l++) {
		int64_t w = quota_weight(o, q, ps, l), most;

		if (w <= 0 || ps->lines[l].kind == COMMIT_OWNED)
			continue;
		most = (int64_t)floor((double)(o->limits[q].limit / w) * ps->carries[l] + 1e-9);
		gpus = most > gpus ? most : gpus;
	}
	return gpus;
}

/* What a plan takes of a quota: owned and bought; or all, at the series' busiest hour. */
static double
quota_taken(const struct plan_series *ps, size_t q, bool all)
{
	double sum = 0;

	for (size_t l = 0; l < ps->n_lines; l++)
		if (all || ps->lines[l].kind == COMMIT_OWNED ||
		    ps->lines[l].kind == COMMIT_RESERVED)
			sum += ps->shares.quota[q].weight[l] * ps->plan.use[l].gpus;
	return sum;
}

static bool
quota_counts(const struct plan_series *ps, size_t q)
{
	for (size_t l = 0; l < ps->n_lines; l++)
		if (ps->shares.quota[q].weight[l] > 0)
			return true;
	return false;
}

bool
plan_quota_shared(const struct plan_series *x, const struct plan_series *y)
{
	for (size_t q = 0; q < x->shares.n_quotas; q++)
		if (quota_counts(x, q) && quota_counts(y, q))
			return true;
	return false;
}

/* Series that may meet at a quota: their busiest hours together pass it. */
static size_t
quota_meet(struct plan_series *ps, size_t n)
{
	size_t met = 0;

	for (size_t i = 0; i < n; i++)
		ps[i].met = false;
	for (size_t q = 0; n > 0 && q < ps[0].shares.n_quotas; q++) {
		double sum = 0;
		size_t counted = 0;

		for (size_t i = 0; i < n; i++) {
			sum += quota_taken(&ps[i], q, true);
			counted += quota_counts(&ps[i], q);
		}
		for (size_t i = 0; i < n && counted > 1 && sum > ps[0].shares.quota[q].limit + 1e-9;
		     i++)
			ps[i].met = ps[i].met || quota_counts(&ps[i], q);
	}
	for (bool more = true; more;) { /* what they share with others comes along */
		more = false;
		for (size_t i = 0; i < n; i++)
			for (size_t q = 0; q < ps[i].shares.n_quotas && ps[i].met; q++)
				for (size_t k = 0; k < n && quota_counts(&ps[i], q); k++)
					if (!ps[k].met && quota_counts(&ps[k], q))
						ps[k].met = more = true;
	}
	for (size_t i = 0; i < n; i++)
		met += ps[i].met;
	return met;
}

/* What the others leave of the quotas, for what is asked of one series alone. */
static void
quota_alone(struct plan_series *ps, size_t n, struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		struct commit_quota *own =
		    arena_memdup(a, ps[i].shares.quota, ps[i].shares.n_quotas * sizeof(*own));

		for (size_t q = 0; q < ps[i].shares.n_quotas; q++)
			for (size_t k = 0; k < n; k++)
				if (k != i && ps[k].met)
					own[q].limit =
					    fmax(0, own[q].limit - quota_taken(&ps[k], q, false));
		if (ps[i].met) {
			ps[i].alone = ps[i].shares;
			ps[i].alone.quota = own;
		}
	}
}

enum berth_code
plan_quota_solve(struct plan_series *ps, size_t n, bool all, const struct plan_options *o,
    struct arena *a, struct berth_err *err)
{
	struct commit_member *m = arena_array(a, n + 1, sizeof(*m));
	struct commit_change change;
	size_t met = 0;
	enum berth_code rc;

	for (size_t i = 0; i < n; i++)
		ps[i].alone = ps[i].shares;
	if (n == 0 || ps[0].shares.n_quotas == 0)
		return BERTH_OK;
	if (quota_meet(ps, n) == 0 && !all)
		return BERTH_OK;
	for (size_t i = 0; i < n; i++) {
		ps[i].met = ps[i].met || all;
		if (!ps[i].met)
			continue;
		ps[i].problem.theta = 0;
		ps[i].problem.budget = NAN;
		m[met++] = (struct commit_member){ &ps[i].problem, &ps[i].shares, &ps[i].demand,
			&ps[i].plan };
	}
	rc = commit_solve_joint(m, met, o->budget_usd, a, err);
	if (rc != BERTH_OK)
		return plan_quota_short(ps, n, o, rc, a, err);
	if (n == 1)
		ps[0].met = false;
	else
		rc = commit_change_joint(m, met, o->budget_usd, &change, err);
	for (size_t i = 0; i < n && rc == BERTH_OK && n > 1; i++)
		ps[i].change = change;
	quota_alone(ps, n, a);
	return rc;
}

const struct commit_shares *
plan_quota_allot(const struct plan_series *ps, size_t n, size_t i, struct arena *a)
{
	struct commit_shares *own = arena_memdup(a, &ps[i].shares, sizeof(*own));
	struct commit_quota *quota = arena_memdup(a, own->quota, own->n_quotas * sizeof(*quota));
	bool shared = false;

	for (size_t q = 0; q < own->n_quotas; q++) {
		double held = 0, all = 0, limit = quota[q].limit,
		       mine = quota_taken(&ps[i], q, false);
		size_t counted = 0;

		for (size_t k = 0; k < n; k++) {
			held += quota_taken(&ps[k], q, false);
			all += quota_taken(&ps[k], q, true);
			counted += quota_counts(&ps[k], q);
		}
		if (counted < 2 || !quota_counts(&ps[i], q))
			continue;
		shared = true;
		if (all <= limit)
			mine = quota_taken(&ps[i], q, true) + (limit - all) / (double)counted;
		else
			mine +=
			    (limit - held) * (quota_taken(&ps[i], q, true) - mine) / (all - held);
		quota[q].limit = fmax(0, floor(mine + 1e-9));
	}
	own->quota = quota;
	return shared ? own : &ps[i].shares;
}

double
plan_quota_price(const struct plan_series *ps, size_t q)
{
	return ps->plan.quota_price == NULL
		   ? 0
		   : ps->plan.quota_price[q] / ps->curve.hours * QUOTA_MONTH_HOURS;
}

const char *
plan_quota_name(const struct plan_options *o, size_t q)
{
	return q < o->n_limits ? o->limits[q].name : "--on-demand-limit";
}

static const char *
quota_unit(const struct plan_options *o, size_t q)
{
	const char *unit = q < o->n_limits ? o->limits[q].unit : "gpu";

	return unit[0] == 'g' ? "GPU" : unit[0] == 'v' ? "vCPU" : "machine";
}

void
plan_quota_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	for (size_t q = 0; q < plan_quota_count(o); q++) {
		double price = plan_quota_price(ps, q);
		const char *name = plan_quota_name(o, q), *unit = quota_unit(o, q);

		if (price < 0.005)
			continue;
		plan_add(&ps->because, a,
		    arena_printf(a,
			"quota %s of %.0f %ss binds%s: one %s more of it would save %.2f USD a "
			"month",
			name[0] != '\0' ? name : arena_printf(a, "number %zu", q + 1),
			ps->shares.quota[q].limit, unit,
			ps->met ? ", for all series that it counts together" : "", unit, price));
	}
	for (size_t q = 0; q < o->n_limits; q++)
		for (size_t k = 0; k < ps->n_owned && str_eq(o->limits[q].unit, "vcpu"); k++) {
			const struct offer *x = ps->owned_offer[k];

			if (!(x->vcpus > 0) && placing_quota_weight(&o->limits[q], x) > 0 &&
			    quota_owned(o, q, ps, x) == 0)
				plan_add(&ps->because, a,
				    arena_printf(a,
					"nobody knows how many vCPUs %s has: what is owned of it "
					"takes nothing of quota %s here",
					ps->owned_name[k], plan_quota_name(o, q)));
		}
	plan_runway_say(ps, ps->runway, ps->n_runway, "", NULL, a);
	if (ps->met)
		plan_add(&ps->because, a,
		    "this series and others draw on the same quotas at their busiest hours: all "
		    "were planned together");
}

/* Series that were planned together tell the same price, others add up: each would have one more.
 */
void
plan_quota_json(
    struct jsonw *w, const struct plan_series *ps, size_t n, const struct plan_options *o)
{
	jsonw_begin_array(w, "quotas");
	for (size_t q = 0; n > 0 && q < plan_quota_count(o); q++) {
		const struct placing_told *told = q < o->n_limits ? o->limits[q].told : NULL;
		double held = 0, price = 0;
		bool counted = false;

		for (size_t i = 0; i < n; i++) {
			held += quota_taken(&ps[i], q, false);
			price = fmax(price, plan_quota_price(&ps[i], q));
			counted = counted || quota_counts(&ps[i], q);
		}
		if (!counted)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "limit", plan_quota_name(o, q));
		jsonw_str(w, "unit", q < o->n_limits ? o->limits[q].unit : "gpu");
		jsonw_str(w, "source", told == NULL ? "config" : "provider");
		jsonw_time_or_null(w, "as_of", told == NULL ? 0 : told->as_of);
		jsonw_fixed(w, "usable", ps[0].shares.quota[q].limit, 0);
		jsonw_fixed(w, "held", held, 3);
		jsonw_fixed(w, "price_per_month", price, 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

/* Shadow price of a quota in a schedule, USD a month. */
static double
quota_schedule_price(const struct plan_series *ps, size_t q)
{
	const double *price = ps->schedule->quota_price;

	return price == NULL ? 0 : price[q] / ps->curve.hours * QUOTA_MONTH_HOURS;
}

void
plan_quota_schedule_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	for (size_t q = 0; q < ps->shares.n_quotas; q++) {
		double price = quota_schedule_price(ps, q);
		const char *name = plan_quota_name(o, q), *unit = quota_unit(o, q);

		if (price < 0.005 || !quota_counts(ps, q))
			continue;
		plan_add(&ps->because, a,
		    arena_printf(a,
			"schedule: quota %s of %.0f %ss binds%s: one %s more of it would save %.2f "
			"USD a month, on average over the horizon",
			name[0] != '\0' ? name : arena_printf(a, "number %zu", q + 1),
			ps->shares.quota[q].limit, unit,
			ps->together ? ", for all series that it counts together" : "", unit,
			price));
	}
}

void
plan_quota_schedule_json(
    struct jsonw *w, const struct plan_series *ps, const struct plan_options *o)
{
	jsonw_begin_array(w, "quotas");
	for (size_t q = 0; q < ps->shares.n_quotas; q++) {
		if (!quota_counts(ps, q))
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "limit", plan_quota_name(o, q));
		jsonw_fixed(w, "price_per_month", quota_schedule_price(ps, q), 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}
