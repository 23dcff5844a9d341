/* src/plan/cover.h - what of the use of one step the owned commitments cover.  Floor: domain. */
#ifndef BERTH_PLAN_COVER_H
#define BERTH_PLAN_COVER_H

#include <stdbool.h>
#include <stddef.h>

#include "util/arena.h"

/* Commitments [n_owned] and series [n_needs], and who may serve whom. */
struct cover {
	size_t n_owned, n_needs;
	const bool *serves; /* [n_needs][n_owned] */
	/* Set by cover_new(). */
	size_t *needs, *owned; /* orders: what few serve first; what serves few first */
	double *flow;          /* [n_needs][n_owned] GPUs, of the last step */
	size_t *queue, *from;  /* [n_needs + n_owned] of a search */
};

/* usage  [n_owned] USD for an hour's use of a GPU: cheap ones serve first. serves is kept. */
struct cover *cover_new(
    struct arena *a, size_t n_owned, size_t n_needs, const bool *serves, const double *usage);

/*
 * Deals what is owned to what is used in one step so that as much as can be is covered (a maximum
 * flow: greedy in those orders, then augmenting paths).
 * have     [n_owned] GPUs that are there, >= 0
 * need     [n_needs] GPUs in use, >= 0
 * used_out [n_owned], covered_out [n_needs]: GPUs
 */
void cover_step(
    struct cover *c, const double *have, const double *need, double *used_out, double *covered_out);

#endif
