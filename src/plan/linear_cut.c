#include <math.h>
#include <string.h>

#include "plan/linear_cut.h"

#define CUT_AWAY 0.01   /* of a whole number: what is nearer is not rounded */
#define CUT_SIZE 1e6    /* of the largest part of its rows, beside what it takes away */
#define CUT_STEEP 1000  /* of a whole variable's weight */
#define CUT_ROUND 1e-13 /* of those: what sums may be off */
#define CUT_TINY 1e-10  /* what a term may say at most that is left out */

/* What is to be rounded: sum a x + sum y s = b, of the rows as they were given; size: its largest
 * part.
 */
static void
cut_base(const struct linear *l, const double *row, double *y, struct linear_cut *c, double *size)
{
	memset(y, 0, l->m * sizeof(*y));
	memset(c->a, 0, l->n * sizeof(*c->a));
	c->b = 0;
	*size = 1;
	for (size_t k = 0; k < l->n; k++)
		if (l->col[k] >= l->n)
			y[l->col[k] - l->n] = row[k];
	for (size_t r = 0; r < l->m; r++) {
		if (y[r] == 0)
			continue;
		for (size_t j = 0; j < l->n; j++)
			c->a[j] += y[r] * l->a[r][j];
		c->b += y[r] * l->b[r];
		*size = fmax(*size, fabs(y[r]) * l->part[r]);
	}
}

/* Is a variable taken from its upper bound? */
static bool
cut_from_top(const struct linear *l, size_t var)
{
	double v = linear_value(l, var);

	return l->hi[var] - v < v - l->lo[var];
}

/* What one of a term weighs in sum >= f, where it weighs v in sum = b; whole: the term is. */
static double
cut_weight(double v, bool whole, double f)
{
	double part = whole ? v - floor(v) : 0;

	if (whole)
		return part <= f ? part : f * (1 - part) / (1 - f);
	return v >= 0 ? v : -v * f / (1 - f);
}

/* A term of little weight is left out, at what it can say most. */
static void
cut_clean(const struct linear *l, struct linear_cut *c)
{
	for (size_t j = 0; j < l->n; j++) {
		double v = c->a[j], most = fmax(fabs(l->lo[j]), fabs(l->hi[j]));

		if (v == 0 || fabs(v) * most > CUT_TINY)
			continue;
		c->b += v > 0 ? -v * l->lo[j] : -v * l->hi[j]; /* of a x <= b: the least of v x */
		c->a[j] = 0;
	}
}

/* Weights of the variables; c->a, c->b: of sum a x >= b. y: of the slacks. */
static void
cut_weights(const struct linear *l, const double *y, const bool *whole, const double *unit,
    double f, struct linear_cut *c)
{
	c->b = f;
	for (size_t j = 0; j < l->n; j++) {
		double v = c->a[j];

		if (v == 0)
			continue;
		if (cut_from_top(l, j)) {
			c->a[j] = -cut_weight(-v, whole[j], f);
			c->b += c->a[j] * l->hi[j];
		} else {
			c->a[j] = cut_weight(v, whole[j], f);
			c->b += c->a[j] * l->lo[j];
		}
	}
	for (size_t r = 0; r < l->m; r++) {
		double u = unit[r] > 0 ? unit[r] : 1,
		       g = y[r] == 0 ? 0 : cut_weight(y[r] * u, unit[r] > 0, f) / u;

		if (g == 0)
			continue;
		for (size_t j = 0; j < l->n; j++)
			c->a[j] -= g * l->a[r][j];
		c->b -= g * l->b[r];
	}
}

/* How much the cost rises where the cut enters: one dual step. row: of its sum. */
static double
cut_rise(const struct linear *l, const double *row, const bool *whole, const double *unit, double f)
{
	double least = INFINITY;

	for (size_t k = 0; k < l->n; k++) {
		size_t v = l->col[k];
		bool slack = v >= l->n, top = !slack && cut_from_top(l, v);
		double u = slack && unit[v - l->n] > 0 ? unit[v - l->n] : 1,
		       p = top ? -row[k] : row[k];
		double g = cut_weight(p * u, slack ? unit[v - l->n] > 0 : whole[v], f) / u;

		if (l->lo[v] != l->hi[v] && g > 1e-9)
			least = fmin(least, fabs(l->d[k]) / g);
	}
	return least * f;
}

bool
linear_cut_round(const struct linear *l, const double *row, const bool *whole, const double *unit,
    double *work, struct linear_cut *out)
{
	double size, b, f, value = 0, norm = 0, v;

	cut_base(l, row, work, out, &size);
	b = out->b;
	for (size_t j = 0; j < l->n; j++)
		if (out->a[j] != 0)
			b -= out->a[j] * (cut_from_top(l, j) ? l->hi[j] : l->lo[j]);
	f = b - floor(b);
	if (f < CUT_AWAY || f > 1 - CUT_AWAY || size > CUT_SIZE)
		return false;
	cut_weights(l, work, whole, unit, f, out);
	out->b -= CUT_ROUND * size * (double)(l->n + l->m) / fmin(f, 1 - f);
	for (size_t j = 0; j < l->n; j++)
		out->a[j] = -out->a[j];
	out->b = -out->b;
	cut_clean(l, out);
	for (size_t j = 0; j < l->n; j++) {
		v = out->a[j] == 0 ? 0 : linear_value(l, j);
		value += out->a[j] * v;
		if (whole[j] && fabs(out->a[j]) > CUT_STEEP)
			return false;
		norm += fabs(out->a[j]) * fmax(1, fabs(v));
	}
	out->off = norm > 0 ? (value - out->b) / norm : 0;
	out->rise = cut_rise(l, row, whole, unit, f);
	return norm > 0 && value > out->b + CUT_AWAY * f;
}
