#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/linear_cut.h"
#include "plan/schedule_rules.h"
#include "util/arena.h"

#define CUT_MOST 24    /* of one round */
#define CUT_LEAST 1e-9 /* of the cost: what raises it less does not at all */
#define CUT_TRIED 400  /* sums */

/* The largest number that a row of whole purchases and its right side are multiples of; 0: none. */
static double
cut_unit(const struct rules *s, const double *row, double b)
{
	double unit = 0;

	for (size_t j = 0; j <= s->lp.n; j++) {
		double v = fabs(j < s->lp.n ? row[j] : b);

		if (v == 0)
			continue;
		if (v != floor(v) || v > 1e6 || (j < s->lp.n && j >= s->n_offers))
			return 0;
		while (v > 0) {
			double rest = fmod(unit, v);

			unit = v;
			v = rest;
		}
	}
	return unit;
}

struct cut_list {
	struct linear_cut *v; /* [n] by rise, the most first */
	size_t n;
};

static int
cut_cmp(const void *a, const void *b)
{
	const struct linear_cut *x = a, *y = b;

	if (x->rise != y->rise)
		return x->rise < y->rise ? 1 : -1;
	return (x->off < y->off) - (x->off > y->off);
}

/* Two cuts that say nearly the same. */
static bool
cut_alike(const struct rules *s, const struct linear_cut *x, const struct linear_cut *y)
{
	double xx = 0, yy = 0, xy = 0;

	for (size_t j = 0; j < s->lp.n; j++) {
		double by = s->lp.hi[j] - s->lp.lo[j], a = x->a[j] * by, b = y->a[j] * by;

		xx += a * a;
		yy += b * b;
		xy += a * b;
	}
	return xy > 0.9999 * sqrt(xx) * sqrt(yy);
}

static double
cut_value(const struct rules *s, const struct rules_sum *sum)
{
	double v = 0;

	for (size_t k = 0; k < sum->n; k++)
		v += s->x[sum->offer[k]];
	return v;
}

/* A cut of one sum that is not whole, into the list. */
static void
cut_try(struct rules *s, const size_t *var, size_t n, const bool *whole, const double *unit,
    struct cut_list *list)
{
	double *row = arena_array(s->a, s->lp.n + 1, sizeof(*row)),
	       *work = arena_array(s->a, s->lp.m + 1, sizeof(*work));
	struct linear_cut *c = &list->v[list->n];

	c->a = arena_array(s->a, s->lp.n + 1, sizeof(*c->a));
	linear_sum(&s->lp, var, n, row);
	s->work += (double)s->lp.n * (double)s->lp.m;
	if (!linear_cut_round(&s->lp, row, whole, unit, work, c))
		return;
	if (c->rise < CUT_LEAST * fabs(s->root_usd)) /* of one vertex alone */
		c->rise = 0;
	list->n++;
}

size_t
rules_cuts(struct rules *s)
{
	bool *whole = arena_array(s->a, s->lp.n + 1, sizeof(*whole));
	double *unit = arena_array(s->a, s->lp.m + 1, sizeof(*unit));
	struct cut_list list = { arena_array(s->a, s->n_offers + s->n_sums + 1, sizeof(*list.v)),
		0 };
	size_t added = 0;

	for (size_t j = 0; j < s->n_offers; j++)
		whole[j] = true;
	for (size_t r = 0; r < s->rows; r++)
		unit[r] = cut_unit(s, s->lp.a[r], s->lp.b[r]);
	for (size_t j = 0; j < s->n_offers; j++)
		if (fabs(s->x[j] - round(s->x[j])) > 0.01)
			cut_try(s, &j, 1, whole, unit, &list);
	for (size_t k = 0; k < s->n_sums && k < CUT_TRIED; k++) {
		double v = cut_value(s, &s->sum[k]);

		if (fabs(v - round(v)) > 0.01)
			cut_try(s, s->sum[k].offer, s->sum[k].n, whole, unit, &list);
	}
	if (list.n > 0)
		qsort(list.v, list.n, sizeof(*list.v), cut_cmp);
	for (size_t k = 0; k < list.n && added < CUT_MOST; k++) {
		bool known = false;

		for (size_t i = 0; i < k && !known; i++)
			known = list.v[i].off > 0 && cut_alike(s, &list.v[i], &list.v[k]);
		if (known) {
			list.v[k].off = 0;
			continue;
		}
		linear_row(&s->lp, list.v[k].a, list.v[k].b);
		added++;
	}
	return added;
}
