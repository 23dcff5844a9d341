#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/commit.h"
#include "plan/terms.h"
#include "plan/terms_net.h"
#include "util/arena.h"

#define TERMS_DEMAND_MAX INT64_C(1000000)
#define TERMS_COST_MAX (INT64_C(1) << 50)
#define TERMS_CELLS_MAX ((size_t)1 << 27)
#define TERMS_BUDGET_STEPS 60
#define TERMS_CYCLES 20000
#define TERMS_ASIDE 1e-7 /* of a price: just above it and just below it */

static enum berth_code
terms_check(const struct terms_rest *r, const struct terms_offer *o, size_t n, double theta,
    double budget, struct berth_err *err)
{
	double most = 0;

	if (r->n == 0 || r->levels < 0 || r->n > TERMS_CELLS_MAX ||
	    (size_t)r->levels + 1 > TERMS_CELLS_MAX / r->n)
		return err_set(err, BERTH_EINVAL,
		    "%zu stretches of time with %lld machines are too many", r->n,
		    (long long)r->levels);
	if (!(theta >= 0) || !isfinite(theta) || (!isnan(budget) && budget < 0))
		return err_set(
		    err, BERTH_EINVAL, "a price of money of %g, a budget of %g USD", theta, budget);
	for (size_t t = 0; t < r->n; t++) {
		const double *v = r->usd + t * ((size_t)r->levels + 1);

		for (int64_t k = 0; k <= r->levels; k++)
			if (!isfinite(v[k]) || v[k] < 0)
				return err_set(err, BERTH_EINVAL,
				    "stretch %zu: %g USD with %lld machines reserved", t + 1, v[k],
				    (long long)k);
		most += v[0];
	}
	if (most > TERMS_USD_MAX)
		return err_set(
		    err, BERTH_EINVAL, "a demand of %g USD is more than a plan can hold", most);
	for (size_t j = 0; j < n; j++)
		if (o[j].from >= o[j].to || o[j].to > r->n || !usd_known(o[j].cost) ||
		    o[j].cost.v < 0 || o[j].cost.v > TERMS_COST_MAX || o[j].max < 0)
			return err_set(err, BERTH_EINVAL,
			    "reservation %zu: stretches %zu to %zu of %zu, %lld micro-USD", j + 1,
			    o[j].from, o[j].to, r->n, (long long)o[j].cost.v);
	return BERTH_OK;
}

/* Money of the counts in the net: of the reservations in *bound_out, all of it is returned. */
static double
terms_money(const struct terms_net *g, double *bound_out)
{
	double bound = 0, sum = 0;

	for (size_t j = 0; j < g->n_offers; j++)
		bound += (double)terms_count(g, j) * usd_to_double(g->offers[j].cost);
	for (size_t t = 0; t < g->rest->n; t++)
		sum += terms_rest_usd(g, t);
	*bound_out = bound;
	return sum + bound;
}

/* Single reservations that save most, as long as they fit: what is left of the budget. */
static void
terms_fill(struct terms_net *g, double budget)
{
	double bound;

	for (;;) {
		size_t best = g->n_offers;
		double most = 1e-9;

		terms_money(g, &bound);
		for (size_t j = 0; j < g->n_offers; j++) {
			double cost = usd_to_double(g->offers[j].cost), saves;

			if (terms_count(g, j) >= g->offers[j].max || bound + cost > budget)
				continue;
			saves = terms_saves(g, j) - cost;
			if (saves > most) {
				most = saves;
				best = j;
			}
		}
		if (best == g->n_offers)
			return;
		terms_take(g, best);
	}
}

struct terms_search {
	struct terms_net *g;
	double budget, slack; /* slack: of rounding */
	double lower;         /* best Lagrangian bound so far */
	double lo, hi;        /* prices: hi keeps the budget, lo does not */
	double lo_cost, lo_bound, hi_cost, hi_bound;
};

/* Solves at a price, and moves hi or lo there. *value_out: cost with the budget priced. */
static enum berth_code
terms_try(struct terms_search *s, double price, double *value_out, struct berth_err *err)
{
	double bound, cost;
	enum berth_code rc = terms_flow(s->g, price, err);

	if (rc != BERTH_OK)
		return rc;
	cost = terms_money(s->g, &bound);
	*value_out = cost + price * (bound - s->budget);
	s->lower = fmax(s->lower, *value_out);
	if (bound <= s->budget + s->slack) {
		s->hi = price;
		s->hi_cost = cost;
		s->hi_bound = bound;
	} else {
		s->lo = price;
		s->lo_cost = cost;
		s->lo_bound = bound;
	}
	return BERTH_OK;
}

/* Where the lines of both flows meet, until no flow lies below them there: then both are the best
 * at that price. */
static enum berth_code
terms_meet(struct terms_search *s, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	double value;

	for (int k = 0; k < TERMS_BUDGET_STEPS && rc == BERTH_OK; k++) {
		double price = (s->hi_cost - s->lo_cost) / (s->lo_bound - s->hi_bound);
		double meet = s->hi_cost + price * (s->hi_bound - s->budget);

		if (!(price > s->lo && price < s->hi))
			break;
		rc = terms_try(s, price, &value, err);
		if (rc == BERTH_OK && value >= meet - 1e-11 * fabs(meet)) {
			s->hi = price;
			break;
		}
	}
	return rc;
}

static enum berth_code
terms_budget(struct terms_search *s, struct berth_err *err)
{
	double bound, value, price = fmax(1, 2 * s->lo);
	enum berth_code rc;

	for (s->hi = INFINITY;; price *= 4) {
		rc = terms_try(s, price, &value, err);
		if (rc != BERTH_OK)
			return rc;
		if (isfinite(s->hi))
			break;
		if (price > TERMS_THETA_MAX / 8) {
			terms_money(s->g, &bound);
			return commit_over_budget(bound, s->budget, err);
		}
	}
	rc = terms_meet(s, err);
	if (rc == BERTH_OK)
		rc = terms_flow(s->g, s->hi * (1 + TERMS_ASIDE), err);
	if (rc != BERTH_OK)
		return rc;
	terms_money(s->g, &bound);
	if (bound > s->budget + s->slack)
		return err_set(
		    err, BERTH_EFAIL, "no reservations of %.2f USD were found", s->budget);
	/* Both flows are the best at the price where they meet; what lies between them is walked
	 * cycle by cycle. */
	terms_price(s->g, s->hi * (1 - TERMS_ASIDE));
	for (int k = 0; k < TERMS_CYCLES && terms_cycle(s->g); k++) {
		terms_money(s->g, &bound);
		if (bound > s->budget + s->slack) {
			terms_cycle_undo(s->g);
			break;
		}
	}
	terms_fill(s->g, s->budget + s->slack);
	return BERTH_OK;
}

enum berth_code
terms_solve_rest(const struct terms_rest *rest, const struct terms_offer *offers, size_t n_offers,
    double theta, double budget, struct arena *a, struct terms_plan *plan_out,
    struct berth_err *err)
{
	struct terms_net g;
	struct terms_search s = { .g = &g,
		.budget = budget,
		.slack = 1e-9 * (isnan(budget) ? 0 : budget),
		.lower = -INFINITY,
		.lo = theta };
	double bound;
	enum berth_code rc = terms_check(rest, offers, n_offers, theta, budget, err);

	if (rc != BERTH_OK)
		return rc;
	terms_net_init(&g, rest, offers, n_offers, a);
	rc = terms_flow(&g, theta, err);
	if (rc != BERTH_OK)
		return rc;
	*plan_out =
	    (struct terms_plan){ .count = arena_array(a, n_offers, sizeof(*plan_out->count)),
		    .theta = 0 };
	s.lower = terms_money(&g, &bound);
	if (!isnan(budget) && bound > budget + s.slack) {
		s.lo_cost = s.lower;
		s.lo_bound = bound;
		s.lower += theta * (bound - budget);
		rc = terms_budget(&s, err);
		if (rc != BERTH_OK)
			return rc;
		plan_out->theta = s.hi;
	}
	for (size_t j = 0; j < n_offers; j++)
		plan_out->count[j] = terms_count(&g, j);
	plan_out->cost_usd = terms_money(&g, &plan_out->bound_usd);
	plan_out->lower_bound_usd = fmin(s.lower, plan_out->cost_usd);
	return BERTH_OK;
}

enum berth_code
terms_solve(const int64_t *demand, size_t hours, const struct terms_offer *offers, size_t n_offers,
    struct usd_micro on_demand, double budget, struct arena *a, struct terms_plan *plan_out,
    struct berth_err *err)
{
	struct terms_rest r = { .n = hours };
	double *usd;

	if (hours == 0 || hours > (size_t)1 << 24)
		return err_set(err, BERTH_EINVAL, "a demand of %zu hours", hours);
	if (!usd_known(on_demand) || on_demand.v < 0 ||
	    on_demand.v > TERMS_COST_MAX / (int64_t)hours)
		return err_set(
		    err, BERTH_EINVAL, "on demand at %lld micro-USD", (long long)on_demand.v);
	for (size_t t = 0; t < hours; t++) {
		if (demand[t] < 0 || demand[t] > TERMS_DEMAND_MAX)
			return err_set(err, BERTH_EINVAL, "hour %zu: demand of %lld GPUs", t + 1,
			    (long long)demand[t]);
		r.levels = demand[t] > r.levels ? demand[t] : r.levels;
	}
	if ((size_t)r.levels + 1 > TERMS_CELLS_MAX / hours)
		return err_set(err, BERTH_EINVAL, "%zu hours of up to %lld GPUs are too many",
		    hours, (long long)r.levels);
	usd = arena_array(a, hours * ((size_t)r.levels + 1), sizeof(*usd));
	for (size_t t = 0; t < hours; t++)
		for (int64_t k = 0; k < demand[t]; k++)
			usd[t * ((size_t)r.levels + 1) + (size_t)k] =
			    (double)(demand[t] - k) * usd_to_double(on_demand);
	r.usd = usd;
	return terms_solve_rest(&r, offers, n_offers, 0, budget, a, plan_out, err);
}
