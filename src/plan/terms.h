/* src/plan/terms.h - reservations with start dates and terms, for one known demand.  Floor: domain. */
#ifndef BERTH_PLAN_TERMS_H
#define BERTH_PLAN_TERMS_H

#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/money.h"

struct arena;

/* A reservation of one GPU that runs over hours [from, to). */
struct terms_offer {
	size_t from, to;	/* from < to <= hours */
	struct usd_micro cost;	/* of one for all of it, >= 0 */
	int64_t max;		/* how many can be had; INT64_MAX: no limit */
};

struct terms_plan {
	int64_t *count;		/* [n_offers] */
	struct usd_micro cost;	/* reservations and on demand */
	struct usd_micro reserved;
	int64_t on_demand_hours;	/* GPU-hours */
};

/*
 * The cheapest whole numbers of reservations: min sum cost_j x_j + on_demand * hours served by it, where each hour's reservations
 * and on-demand GPUs reach demand[t]. Each column has consecutive ones, so that this is a flow of max(demand) units along the
 * hours: a reservation is an arc from its start to its end, an hour on demand or idle (at most max - demand[t] of those)
 * an arc to the next hour. Exact in whole micro-USD, by successive shortest paths (Ahuja, Magnanti & Orlin 1993, ch. 9).
 * demand [hours] GPUs, >= 0, at most 1e6.  Errors: BERTH_EINVAL for a value out of range.
 */
BERTH_MUST_CHECK enum berth_code terms_solve(const int64_t *demand, size_t hours, const struct terms_offer *offers,
    size_t n_offers, struct usd_micro on_demand, struct arena *a, struct terms_plan *plan_out, struct berth_err *err);

#endif
