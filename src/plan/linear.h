/* src/plan/linear.h - small linear programs that grow by rows and change their bounds.  Floor:
 * domain; for src/plan alone. */
#ifndef BERTH_PLAN_LINEAR_H
#define BERTH_PLAN_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/*
 * min cost x, rows: a x + s = b, s >= 0 the row's slack. Variables 0..n-1 are x, n + r is the slack
 * of row r. All bounds are finite but the upper ones of slacks. Kept dual feasible throughout, so
 * that a new row or bound is mended by the dual simplex with bounded variables (Lemke 1954; Maros
 * 2003, ch. 10). A condensed tableau: rows are basic variables.
 */
struct linear {
	struct arena *arena;
	size_t n, m, room;         /* variables, rows, rows that fit */
	double *cost;              /* [n] */
	double *lo, *hi;           /* [n + room] */
	double **a, *b;            /* [m][n], [m] as given */
	double **t, *beta;         /* [m][n], [m] values of the basic ones */
	double *part;              /* [m] the largest that a part of a row can be */
	double *sum;               /* [n] work space */
	double dearest;            /* highest cost */
	double *d, *at;            /* [n] reduced costs and values of the nonbasic ones */
	size_t *col, *row;         /* [n], [m] whose variable */
	ptrdiff_t *where;          /* [n + room] column c as c, row r as -1 - r */
	size_t pivots, all_pivots; /* since the basis was that of slacks; in all */
};

/* lo and hi [n], finite. Each variable begins where its cost is least. */
void linear_init(struct linear *l, size_t n, const double *cost, const double *lo, const double *hi,
    struct arena *a);
/* One more row, copied: a x <= b. Returns its number. */
size_t linear_row(struct linear *l, const double *a, double b);
/* Rows from `first` on that do not bind (their slack is basic) go; now [m]: the new number of each,
 * SIZE_MAX: it went. */
void linear_drop(struct linear *l, size_t first, size_t *now);
/* Rows from `rows` on go, and the basis is that of slacks. */
void linear_cut_back(struct linear *l, size_t rows);
/* Of a variable, or of the slack of a row. */
void linear_bound(struct linear *l, size_t var, double lo, double hi);
void linear_rhs(struct linear *l, size_t row, double b);
/*
 * Empty: no x keeps all rows and bounds, as a sum of the rows as they were given shows. Failed:
 * rounding, or too many pivots.
 */
enum linear_end { LINEAR_SOLVED, LINEAR_EMPTY, LINEAR_FAILED };
enum linear_end linear_solve(struct linear *l);
double linear_value(const struct linear *l, size_t var); /* of a variable or a slack */
double linear_cost(const struct linear *l);
/* No x that keeps the rows costs less, whatever rounding did to the tableau: of any prices
 * (Neumaier & Shcherbina 2004). */
double linear_lower(const struct linear *l);
/* By how much the cost rises at least where a variable becomes the next whole number up or down:
 * one dual step. */
double linear_forced(const struct linear *l, size_t var, bool up);
/* A sum of variables in the tableau: with row [n] times what is not basic it stays as it is. */
void linear_sum(const struct linear *l, const size_t *var, size_t n, double *row);
/* By how much the cost rises at least where that sum changes by so much: one dual step. */
double linear_sum_forced(const struct linear *l, const double *row, double by);
/* What the cost falls by for one more of b of a row, >= 0. */
double linear_price(const struct linear *l, size_t row);

#endif
