/* src/plan/place_chain_impl.h - what the files of place_chain share.  Floor: domain; for
 * src/plan/place_chain*.c alone. */
#ifndef BERTH_PLAN_PLACE_CHAIN_IMPL_H
#define BERTH_PLAN_PLACE_CHAIN_IMPL_H

#include "plan/place_chain.h"

struct chain {
	const struct place_problem *p;
	const struct place_chain *c;
	size_t *order; /* [n_jobs] each behind the one that it waits for */
	size_t *pick;  /* [n_jobs][n_places + 1] the candidate, by where its input lies */
	const size_t
	    *after;     /* [n_jobs] as given, but behind what can go nowhere nothing is moved */
	double *cost;   /* [n_cand] of the problem that is solved */
	double *behind; /* [n_jobs][n_places + 1] all that waits for a job, by its place */
	double *least;  /* likewise a job and all behind it, by where its input lies */
	struct arena *a;
};

static inline double
chain_move(const struct place_chain *c, size_t job, size_t from, size_t to)
{
	return c->gib[job] * c->move[from * c->n_places + to];
}

/*
 * From the last jobs to the first: the cheapest choice for each place where the input may lie, at
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
