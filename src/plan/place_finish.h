/* src/plan/place_finish.h - placements that are done early instead of cheap.  Floor: domain. */
#ifndef BERTH_PLAN_PLACE_FINISH_H
#define BERTH_PLAN_PLACE_FINISH_H

#include "plan/place.h"

/*
 * The least time by which all jobs that can be placed end (the makespan), by bisection over the
 * ends of the candidates, and the cheapest placement that place_solve() finds for it: no job is
 * left out to be early. finish [n_cand] s; by_out: that time, 0 without candidates. bound of the
 * plan: of its cost at that time. Errors: as place_solve().
 */
BERTH_MUST_CHECK enum berth_code place_finish_solve(const struct place_problem *p,
    const int64_t *finish, const struct place_options *o, struct arena *a,
    struct place_plan *plan_out, int64_t *by_out, struct berth_err *err);

#endif
