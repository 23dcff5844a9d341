/* src/plan/place_purse.h - choices of jobs that draw on one budget.  Floor: domain; for
 * src/plan/place*.c alone. */
#ifndef BERTH_PLAN_PLACE_PURSE_H
#define BERTH_PLAN_PLACE_PURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* min sum of cost, one choice of each job, sum of units <= limit. Each job has a choice of no
 * units. */
struct purse_problem {
	size_t n;             /* jobs */
	const size_t *start;  /* [n + 1] choices of job i: [start[i], start[i + 1]) */
	const double *cost;   /* [start[n]] USD */
	const int64_t *units; /* [start[n]] >= 0 */
	int64_t limit;        /* >= 0 */
};

struct purse;
/* For up to so many jobs and choices. */
struct purse *purse_new(size_t jobs, size_t choices, struct arena *a);
/* No choice costs less than what is returned; chosen [n]: one that costs as much, or where there
 * are too many to look at, one that is near. */
double purse_solve(struct purse *p, const struct purse_problem *q, size_t *chosen);

#endif
