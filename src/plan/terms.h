/* src/plan/terms.h - reservations with start dates and terms, under whatever the rest of the demand
 * costs.  Floor: domain. */
#ifndef BERTH_PLAN_TERMS_H
#define BERTH_PLAN_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/money.h"

struct arena;

/* A reservation of one machine that runs over stretches of time [from, to). */
struct terms_offer {
	size_t from, to;       /* from < to <= stretches */
	struct usd_micro cost; /* of one for all of it, >= 0 */
	int64_t max;           /* how many can be had; INT64_MAX: no limit */
};

/* What each stretch costs beside the reservations: usd [n][levels + 1], entry k with k machines
 * reserved. */
struct terms_rest {
	const double *usd; /* >= 0, convex and not rising in k; no more is saved beyond levels */
	size_t n;
	int64_t levels;
	const int64_t *least; /* [n] machines that must be reserved; NULL: none */
};

struct terms_plan {
	int64_t *count;         /* [n_offers] */
	double cost_usd;        /* reservations and the rest */
	double bound_usd;       /* reservations */
	double lower_bound_usd; /* no whole numbers cost less */
	double theta;           /* price of the budget; 0: it does not bind */
};

/*
 * The cheapest whole numbers of reservations: min sum cost_j x_j + sum_t rest_t(machines reserved
 * in t). Each offer runs over consecutive stretches, so that this is a flow of `levels` units along
 * the time: a reservation is an arc from its start to its end, a stretch without one an arc to the
 * next whose cost is convex in its flow. Exact, to a nano-USD, by successive shortest paths (Ahuja,
 * Magnanti & Orlin 1993, ch. 9 and 14). A budget on the reservations is priced as in
 * commit_solve(): costs times 1 + theta, bisection, then cycles of the dearer flow under the lower
 * theta as long as they fit, and single reservations. theta: weighs them so from the start (a
 * budget shared with others); budget NaN: none.
 * Errors: BERTH_EINVAL for a value out of range; BERTH_EINFEASIBLE where what must be reserved
 * cannot be, or passes the budget.
 */
BERTH_MUST_CHECK enum berth_code terms_solve_rest(const struct terms_rest *rest,
    const struct terms_offer *offers, size_t n_offers, double theta, double budget, struct arena *a,
    struct terms_plan *plan_out, struct berth_err *err);

/* The same for one known demand [hours] of GPUs, 0..1e6, the rest on demand; stretches are hours.
 */
BERTH_MUST_CHECK enum berth_code terms_solve(const int64_t *demand, size_t hours,
    const struct terms_offer *offers, size_t n_offers, struct usd_micro on_demand, double budget,
    struct arena *a, struct terms_plan *plan_out, struct berth_err *err);

#endif
