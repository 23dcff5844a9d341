/* src/plan/schedule_impl.h - what the files of schedule share.  Floor: domain; for src/plan/schedule*.c alone. */
#ifndef BERTH_PLAN_SCHEDULE_IMPL_H
#define BERTH_PLAN_SCHEDULE_IMPL_H

#include "plan/commit_impl.h"
#include "plan/schedule.h"
#include "util/vec.h"

struct schedule_work {
	const struct schedule_problem *p;
	struct arena *a;
	int64_t steps;
	VEC(int64_t) border;		/* sorted, from 0 to steps */
	VEC(int64_t) start;		/* sorted */
	VEC(struct terms_offer) offer;
	VEC(size_t) line;
	struct terms_rest rest;		/* by GPUs */
	double *usd;
	int64_t *least;
	int64_t *count;			/* [offers] */
};

/* Share of the time in which each further GPU is busy, in steps [from, to), into u [levels + 1]. */
void schedule_busy(const struct commit_demand *d, int64_t from, int64_t to, double cap, double *u, size_t levels);
/* Are there quotas, shares or limits that the flow does not know, or machines of several sizes? */
bool schedule_ruled(const struct schedule_work *w, size_t n_sizes);
/*
 * From w->count, the best without rules, to the best with them: out's cost, lower bound and price of the budget.
 * BERTH_EINFEASIBLE: no purchases keep the rules at all times.
 */
BERTH_MUST_CHECK enum berth_code schedule_rules_solve(struct schedule_work *w, struct schedule *out, struct berth_err *err);

#endif
