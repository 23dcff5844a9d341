/* src/plan/schedule_impl.h - what the files of schedule share.  Floor: domain; for
 * src/plan/schedule*.c alone. */
#ifndef BERTH_PLAN_SCHEDULE_IMPL_H
#define BERTH_PLAN_SCHEDULE_IMPL_H

#include "plan/commit_impl.h"
#include "plan/schedule.h"
#include "util/vec.h"

struct schedule_work {
	const struct schedule_problem *p;
	struct arena *a;
	int64_t steps;
	VEC(int64_t) border; /* sorted, from 0 to steps */
	VEC(int64_t) start;  /* sorted */
	VEC(struct terms_offer) offer;
	VEC(size_t) line;
	struct terms_rest rest; /* by GPUs */
	double *usd, *use;      /* use: [rest.n][levels + 1] */
	size_t levels;          /* of demand */
	int64_t *least;
	int64_t *count; /* [offers] */
};

/* Are there quotas, shares or limits that the flow does not know, or machines of several sizes? */
bool schedule_ruled(const struct schedule_work *w, size_t n_sizes);
/*
 * n members, of the same borders: from the counts in start[0] and start[1] ([n][offers], the whole
 * may be NULL) to the best that keeps the rules of all. first: USD that none costs less than. Sets
 * w->count, and out's cost, lower bound and prices. A member's own budget is not looked at.
 * BERTH_EINFEASIBLE: no purchases keep the rules at all times.
 */
BERTH_MUST_CHECK enum berth_code schedule_rules_solve(struct schedule_work *w, size_t n,
    double budget, double first, int64_t *const *start[2], struct schedule **out,
    struct berth_err *err);

/* Start dates and the borders that they make; then offers and stretches, by the borders as they are
 * then. */
BERTH_MUST_CHECK enum berth_code schedule_begin(struct schedule_work *w,
    const struct schedule_problem *p, struct arena *a, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code schedule_fill(struct schedule_work *w, struct berth_err *err);
/* The number of the border at a step. */
size_t schedule_at(const struct schedule_work *w, int64_t step);
void schedule_report(struct schedule_work *w, struct schedule *out);

#endif
