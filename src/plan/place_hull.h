/* src/plan/place_hull.h - the bound that decides offers and small budgets whole.  Floor: domain;
 * for src/plan/place_hull*.c alone. */
#ifndef BERTH_PLAN_PLACE_HULL_H
#define BERTH_PLAN_PLACE_HULL_H

#include "plan/place_impl.h"

struct hull_item {
	double cost;
	uint32_t slot, job, cand;
	uint32_t need; /* in units of the offer's knapsack */
};

/* How far the climb is. */
struct hull_climb {
	double *center, *mean; /* [n] best prices, mean slope */
	double *share;         /* [n_cand] of small queues: how much of each the bound takes, in the
				  mean; NULL */
	double height;         /* the bound */
	double f, alpha, last; /* as in place_dual.c */
	unsigned red, steps;
};

struct hull {
	struct place_work *w;
	struct hull_item *item; /* of offer j: [start[j], start[j + 1]) */
	size_t *start;          /* [n_offers + 1] */
	size_t *room;           /* [n_offers] */
	/* Of one knapsack: the items worth taking and what they gain, the best of each room, what
	   is taken for it. */
	struct hull_item **pick;
	double *gain, *best;
	uint8_t *taken;
	size_t *block;                 /* [n_jobs] budget by which it is decided, or PLACE_NONE */
	size_t *member, *member_start; /* [n_resources + 1] jobs of such a budget */
	struct purse *purse;
	size_t *option_start, *option, *chosen; /* of one budget */
	double *option_cost;
	int64_t *option_units;
	size_t n, pairs;      /* prices: of jobs, resources and cuts; from pairs on of candidates */
	double *top;          /* [n] highest; 0: has none */
	double *scale;        /* [n] units that count as one in the steps */
	double *at, *slope;   /* [n] of the last step */
	double *price;        /* [n_slots] of the limits that keep theirs */
	double *now;          /* [n_cand] what the last step takes; NULL */
	bool *banned, *fixed; /* [n_cand], [n_jobs] of a dive */
	struct hull_climb s, was; /* was: before the dive */
	bool begun;
};

/* The bound at h->at, and its slope; what it takes into h->now. */
double hull_look(struct hull *h);

#endif
