/* src/plan/place.h - which job goes to which offer.  Floor: domain. */
#ifndef BERTH_PLAN_PLACE_H
#define BERTH_PLAN_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

struct arena;

#define PLACE_NONE SIZE_MAX
#define PLACE_NO_LIMIT INT64_MAX

/*
 * min sum of cost[k] over the chosen candidates + penalty of the jobs left out, at most one
 * candidate a job, and for each resource r: sum of need[k] * weight of (offer[k], r) <= limit[r]. A
 * candidate is taken whole or not at all, so a gang is never split. Resources are the capacities of
 * offers and the quotas, nested or not: an offer that lies in a zone's, a region's and an account's
 * quota lists all three, each with what one unit of need takes of it (1 machine, 8 GPUs, 96 vCPUs).
 * What depends on the pair, such as the money of a budget, stands in more. Pairs that are not
 * allowed are simply absent.
 */
struct place_more {
	const size_t *start;    /* [n_cand + 1] */
	const size_t *resource; /* [start[n_cand]] */
	const int64_t *units;   /* > 0, of the resource's limit: micro-USD */
};

struct place_problem {
	size_t n_jobs, n_offers, n_resources;
	const size_t
	    *cand_start; /* [n_jobs + 1] candidates of job i: [cand_start[i], cand_start[i + 1]) */
	const size_t *offer; /* [n_cand] */
	const double *cost;  /* [n_cand] USD, finite, >= 0 */
	const double *risk;  /* [n_cand] breaks ties of cost: less is better; NULL */
	const int64_t *need; /* [n_cand] > 0, units of the offer (machines) */
	const size_t
	    *use_start; /* [n_offers + 1] resources of offer j: [use_start[j], use_start[j + 1]) */
	const size_t *resource; /* [n_uses] */
	const int64_t *weight;  /* [n_uses] > 0, per unit of need */
	const int64_t *limit;   /* [n_resources] >= 0; PLACE_NO_LIMIT */
	const double *penalty;  /* [n_jobs] USD of leaving it out, > every cost of it */
	const double *warm;     /* [n_resources] shadow prices of the last plan, or NULL */
	const struct place_more
	    *more;          /* what a candidate takes beside the uses of its offer, or NULL */
	const size_t *keep; /* [n_jobs] candidate that the last plan chose, or PLACE_NONE; NULL:
			       there was none */
};

struct place_options {
	uint64_t seed;   /* order of equal moves in the search; same seed, same plan */
	unsigned rounds; /* of bound and search; 0: the first plan and the bound of the prices that
			    it was made at */
	double gap;      /* stop when proven this close (share), e.g. 0.001 */
	bool (*stop)(void *arg); /* asked between rounds; NULL: never. With a clock behind it the
				    plan depends on it. */
	void *stop_arg;
};

struct place_plan {
	size_t *chosen;    /* [n_jobs] candidate or PLACE_NONE */
	size_t *runner_up; /* [n_jobs] best other candidate at the shadow prices, or PLACE_NONE */
	size_t
	    *binds; /* [n_jobs] resource that keeps it from its cheapest candidate, or PLACE_NONE */
	double *shadow; /* [n_resources] USD per unit of the limit; 0 where it does not bind */
	double cost;    /* USD, penalties of the jobs left out not counted */
	double value;   /* cost + penalties */
	double bound;   /* no plan has a lower value */
	size_t placed;
	unsigned rounds; /* done */
	bool flow;       /* solved as a flow of least cost: exact */
	bool optimal;    /* value == bound up to rounding */
};

/*
 * Nothing binds: each job its cheapest candidate, proven optimal. Else, where each limit that can
 * bind is nested in or apart from the others and all that draw on it take the same amount, a flow
 * of least cost, exact (rounds > 0). Else a first plan: gangs first and by regret on reduced costs,
 * shifts, ejections, one job for several, and again at better prices where 3 % of it are unproven
 * though all jobs have a place, or from one price for all that is scarce where they have not; then
 * each round climbs the Lagrangian bound (the volume algorithm of Barahona and Anbil 2000, with
 * rounded limits as cuts) and searches neighbourhoods of the best plan by branch and bound; every
 * other round, every eighth of larger queues, decides of one job more who may stay out or be dear,
 * with a bound and a plan of its own; in the others, where jobs stay out, limits of more are also
 * priced instead of held, and what comes of it cut to them. Up to 1,200 jobs have a higher bound
 * too, which decides each offer and each budget of few jobs as a whole; up to 128 jobs take plans
 * from it, have a second search beside that of the best plan, and are also searched as a whole, 200
 * steps for each round done, and proven where that comes to its end. A round of 1,000 jobs and 500
 * offers takes some 10 ms. Stable: equal costs go to less risk, then to what the last plan chose,
 * then to the lower offer. Deterministic for a seed when stop is NULL. Errors: BERTH_EINVAL for a
 * broken shape, a NaN or negative cost, a limit below 0.
 */
BERTH_MUST_CHECK enum berth_code place_solve(const struct place_problem *p,
    const struct place_options *o, struct arena *a, struct place_plan *plan_out,
    struct berth_err *err);

/* True when no limit is passed and every choice belongs to its job; cost and value agree with the
 * choices to 1e-9. */
bool place_check(const struct place_problem *p, const struct place_plan *plan);

/* First resource of candidate k that its need alone passes, or PLACE_NONE: such a candidate can
 * never be taken. */
size_t place_never_fits(const struct place_problem *p, size_t k);

#endif
