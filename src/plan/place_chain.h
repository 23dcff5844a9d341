/* src/plan/place_chain.h - jobs that hand data on to the next.  Floor: domain. */
#ifndef BERTH_PLAN_PLACE_CHAIN_H
#define BERTH_PLAN_PLACE_CHAIN_H

#include "plan/place.h"

struct place_chain {
	const size_t *after; /* [n_jobs] the job whose output it needs; PLACE_NONE */
	const double *gib;   /* [n_jobs] of that output */
	const size_t *place; /* [n_offers] < n_places */
	size_t n_places;
	const double *move;    /* [n_places * n_places] USD per GiB, from row to column; >= 0 */
	const int64_t *early;  /* [n_jobs] s from now: it starts then, or when the job before it
				  ends, which has no sooner end; NULL: ends do not matter */
	const int64_t *lasts;  /* [n_cand] s from its start to its end, >= 0 */
	const int64_t *latest; /* [n_cand] s from now by which it must start; PLACE_NO_LIMIT */
};

/*
 * place_solve() with gib[i] * move[place of the job before][its own place] added to the cost of
 * each job i that waits for another. What waits may form chains or trees. Where no limit binds it
 * is exact: a dynamic program over the places, O(jobs * places * candidates of a job). Else the
 * placements at the last one's moves are repeated until they stand still, under the bound of those
 * tables at shadow prices (subgradient steps), which holds against every plan; queues of some dozen
 * jobs are then searched to the end by branch and bound. optimal is true only where that or the
 * bound proves it. With early, a job starts when the one before it ends, and the tables are over
 * the places and ends of that: exact up to some dozen different ends a job; of more, some are
 * rounded up for plans and down for bounds. A choice that starts after its latest is never made.
 * value and cost count the moves; runner_up, binds and shadow are those of the problem with the
 * least moves. Errors: as place_solve(); BERTH_EINVAL for a ring.
 */
BERTH_MUST_CHECK enum berth_code place_chain_solve(const struct place_problem *p,
    const struct place_chain *c, const struct place_options *o, struct arena *a,
    struct place_plan *plan_out, struct berth_err *err);

/* Cost with moves and penalties of these choices [n_jobs]; cost_out (may be NULL) without the
 * penalties. INFINITY where one starts too late. */
double place_chain_value(const struct place_problem *p, const struct place_chain *c,
    const size_t *chosen, double *cost_out);

#endif
