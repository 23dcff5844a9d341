/* src/plan/place_impl.h - what the files of place share.  Floor: domain; for src/plan/place*.c alone. */
#ifndef BERTH_PLAN_PLACE_IMPL_H
#define BERTH_PLAN_PLACE_IMPL_H

#include "plan/place.h"
#include "util/rng.h"

struct arena;

/* One plan in the making, and the orders that its steps need. */
struct place_work {
	const struct place_problem *p;
	size_t *sorted;		/* [n_cand] each job's candidates from cheap to dear: cost, risk, offer, index */
	size_t *at_start;	/* [n_resources + 1] offers that use a resource: at_offer[at_start[r] ..] */
	size_t *at_offer;
	int64_t *left;		/* [n_resources] of the limits */
	size_t *chosen;		/* [n_jobs] */
	size_t *head;		/* [n_offers] jobs on an offer, a doubly linked list */
	size_t *next, *prev;	/* [n_jobs] */
	double *mu;		/* [n_resources] shadow prices */
	double *price;		/* [n_offers] of one unit of need at the shadow prices */
	double *scale;		/* [n_resources] units that count as one in the steps of mu: 1, of money more */
	double *regret;		/* [n_jobs] */
	double *size;		/* [n_jobs] most units of a limit that it takes */
	double *key;		/* [n_jobs] */
	size_t *order;		/* [n_jobs] */
	struct rng rng;
};

/* Largest values of need and weight, so that their product fits. */
#define PLACE_MAX_UNITS (INT64_C(1) << 31)
#define PLACE_MAX_MORE (INT64_C(1) << 52)
#define PLACE_EPS 1e-9

bool place_fits(const struct place_work *w, size_t cand);
/* Cost at the shadow prices. */
double place_reduced(const struct place_work *w, size_t cand);
void place_take(struct place_work *w, size_t job, size_t cand);	/* the job is not placed */
void place_drop(struct place_work *w, size_t job);		/* the job is placed */
void place_clear(struct place_work *w);
double place_value(const struct place_work *w);

/* How the greedy orders the jobs. */
enum place_order { PLACE_BY_REGRET, PLACE_BY_SIZE, PLACE_BY_NOISE };

/* From nothing: jobs in order, each to its cheapest candidate at the shadow prices that still fits. */
void place_greedy(struct place_work *w, enum place_order order);
/* Shifts and ejections until none helps, at most passes rounds. */
void place_improve(struct place_work *w, int passes);

/*
 * The part of the problem that is a flow, solved exactly into w->chosen and w->mu; false: nothing of it is, or it takes too
 * long. *bound_out: no plan has a lower value. The choices may pass limits that the flow does not hold.
 */
bool place_flow(struct place_work *w, bool (*stop)(void *), void *stop_arg, struct arena *a, double *bound_out);

/*
 * A search for what is better than chosen [n_jobs] of this value, at the prices w->mu and w->price; both become the best that
 * is found. True: it came to its end within so many steps, and nothing is better.
 */
bool place_tree(struct place_work *w, size_t *chosen, double *value, size_t steps, struct arena *a);

#endif
