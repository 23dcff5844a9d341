/* src/plan/linear_cut.h - cuts of a linear program whose variables are whole in part.  Floor:
 * domain; for src/plan alone. */
#ifndef BERTH_PLAN_LINEAR_CUT_H
#define BERTH_PLAN_LINEAR_CUT_H

#include "plan/linear.h"

/* A row a x <= b that all whole numbers within the rows and bounds keep, and the program's x does
 * not. */
struct linear_cut {
	double *a;           /* [n] */
	double b, rise, off; /* rise: of the cost at least, where it is added; off: what x breaks it
				by, in parts of it */
};

/*
 * Mixed-integer rounding (Gomory 1960; Marchand & Wolsey 2001) of a sum of variables that is whole
 * but not at the optimum: row [n] as of linear_sum(). It is made of the rows as they were given by
 * the multipliers that the tableau has, so that no drift of the tableau makes it wrong, and is
 * loosened by what sums may be off. whole [n]: variables; unit [m]: what slacks are whole multiples
 * of, 0 for others. The bounds are kept, too. work [m]: scratch. False: there is none that is worth
 * it.
 */
bool linear_cut_round(const struct linear *l, const double *row, const bool *whole,
    const double *unit, double *work, struct linear_cut *out);

#endif
