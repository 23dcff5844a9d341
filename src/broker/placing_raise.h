/* src/broker/placing_raise.h - what the files that price limits share.  Floor: broker; for
 * src/broker/placing_raise*.c and placing_worth.c alone. */
#ifndef BERTH_BROKER_PLACING_RAISE_H
#define BERTH_BROKER_PLACING_RAISE_H

#include "broker/placing_impl.h"

#define RAISE_CENT 0.005 /* USD; what saves less is not worth a word */

struct raise_plan {
	bool better;    /* than what the same jobs have now */
	bool places;    /* others than now, and more of what counts */
	double saves;   /* USD, of the same jobs */
	int64_t takes;  /* steps more of the limit */
	double value;   /* with the penalties of those left out */
	double cost;    /* USD */
	size_t *chosen; /* [n] candidate of each, or PLACE_NONE */
	bool none;      /* it could not be had */
};

struct raise {
	struct placing_work_space *w;
	const struct place_plan *plan;
	const int64_t *left;
	struct place_problem p; /* candidates that one limit alone refuses are in it; limit NULL */
	struct place_more more;
	VEC(size_t) offer;
	VEC(double) cost;
	VEC(int64_t) need;
	VEC(size_t) over; /* by candidate: the limit that alone refuses it, or PLACE_NONE */
	struct place_more_vec more_vec;
	size_t *start, *chosen; /* [n_jobs + 1], [n_jobs] */
	double *penalty;        /* [n_jobs] */
	double *priced;         /* [n_cand] cost at the shadow prices */
	bool *fixed;            /* [n_jobs] it stays where it is */
	bool *refuses;          /* [n_resources] some candidate alone */
	bool *binds;            /* [n_resources] some job */
	bool tight;     /* the bound of the prices is the plan: what has none saves nothing */
	int64_t *want;  /* [n_resources] what all could take more of it */
	size_t *job;    /* [n] those that are placed anew */
	bool *in;       /* [n_cand] those of them that are looked at */
	bool all;       /* every job is one of them */
	size_t n, work; /* candidates looked at in all solutions */
	struct raise_plan base; /* of them without more */
	struct arena *tmp;      /* of one solution */
};

/* What candidate k takes of one limit after the other; at counts them from 0. False: that was all.
 */
bool raise_draw(
    const struct place_problem *p, size_t k, size_t at, size_t *r_out, int64_t *units_out);
/* What it (PLACE_NONE: nothing) takes of one limit. */
int64_t raise_takes(const struct place_problem *p, size_t k, size_t limit);
/* The program again, with what one limit alone refuses. w, plan and left are set. */
void raise_begin(struct raise *x);

#endif
