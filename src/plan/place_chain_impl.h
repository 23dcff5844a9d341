/* src/plan/place_chain_impl.h - what the files of place_chain share.  Floor: domain; for
 * src/plan/place_chain*.c alone. */
#ifndef BERTH_PLAN_PLACE_CHAIN_IMPL_H
#define BERTH_PLAN_PLACE_CHAIN_IMPL_H

#include "plan/place_chain.h"

struct chain {
	const struct place_problem *p;
	const struct place_chain *c;
	size_t *order; /* [n_jobs] each behind the one that it waits for */
	size_t *pick;  /* [n_jobs][width] the candidate, by where and when its input lies */
	const size_t
	    *after;     /* [n_jobs] as given, but behind what can go nowhere nothing is moved */
	double *cost;   /* [n_cand] of the problem that is solved */
	double *behind; /* [n_jobs][width] all that waits for a job, by its place and end */
	double *least;  /* likewise a job and all behind it, by where and when its input lies */
	size_t slots;   /* the most ends of a job: place x at its y-th end is x * slots + y */
	size_t nowhere, width; /* behind all of those, and one more */
	int64_t **ends;        /* [n_jobs][n_ends[i]] rising; NULL: they do not matter */
	size_t *n_ends;        /* [n_jobs] at least 1 */
	size_t *to;            /* [n_cand] where a candidate leads; PLACE_NONE: it is too late */
	bool thinned;          /* some ends are left out */
	bool down;             /* those are rounded down: for bounds */
	struct arena *a;
};

static inline double
chain_move(const struct place_chain *c, size_t job, size_t from, size_t to)
{
	return c->gib[job] * c->move[from * c->n_places + to];
}

/* The ends that each job may have: ends, slots and what follows of them. Needs order and after. */
void chain_ends(struct chain *h);
/* When job i starts, by these choices of the jobs before it. */
int64_t chain_start(const struct chain *h, const size_t *chosen, size_t i);
bool chain_late(const struct chain *h, const size_t *chosen, size_t i);
/* Where and when the input of job i lies. */
size_t chain_from(const struct chain *h, const size_t *chosen, size_t i);
/* Where candidate k of job i leads when it starts then; PLACE_NONE: that is too late. */
size_t chain_to(const struct chain *h, size_t i, size_t k, int64_t start);

/*
 * From the last jobs to the first: the cheapest choice for each place and end of the job before, at
 * these prices [n_cand]. The place behind the last stands for nowhere: nothing is moved from there.
 */
void chain_tables(struct chain *h, const double *reduced);
/* The choices that the tables make, first jobs first. */
void chain_choose(const struct chain *h, size_t *chosen);
/* The plan becomes these choices if they are cheaper. */
void chain_keep(const struct chain *h, const size_t *chosen, struct place_plan *plan);
/* True when the choices pass no limit. */
bool chain_fits(const struct chain *h, size_t *chosen);
/* Costs at so many times the shadow prices. */
void chain_reduce(struct chain *h, const double *shadow, double times, double *reduced);
/* Where limits bind: the bound, and the optimum itself where the search ends within its steps. */
void chain_prove(struct chain *h, const struct place_options *o, struct place_plan *plan);

#endif
