/* forecast/cold.c - a series of less than two days takes the fleet's shape of the day and week.
 * Floor: domain.
 *
 * The shape is the median, for each hour of the week, over series with four weeks of history, each
 * divided by its mean. A series that is new takes it at its own level where its own hours say so;
 * where they can not (less than half a day, or hours that are alike in the fleet), where the fleet
 * agrees.
 */
#include "forecast/fc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLD_FLEET_MAX = 256, COLD_FLEET_MIN = 3, COLD_WEEKS = 4 };
#define COLD_EARN 0.7   /* error of the shape over that of a level, on the hours that are known */
#define COLD_AGREE 0.7  /* mean correlation of the fleet's shapes with their median */
#define COLD_SPREAD 0.1 /* a shape: hours differ by so much of the level */

struct cold {
	int64_t step_s;
	size_t week;
	double *shape; /* [week] by slot; mean 1 */
	bool known, agreed;
};

struct fc_cold {
	struct cold *fleet; /* [n] one for each step length that a new series has */
	size_t n;
};

struct cold_name {
	const char *name;
	size_t i;
};

static int
cold_cmp(const void *a, const void *b)
{
	return strcmp(((const struct cold_name *)a)->name, ((const struct cold_name *)b)->name);
}

static size_t
cold_known(const struct fc_series *s)
{
	size_t known = 0;

	for (size_t i = 0; i < s->n; i++)
		known += isnan(s->mean[i]) ? 0 : 1;
	return known;
}

static bool
cold_is(const struct fc_series *s)
{
	return s->step_s <= 21600 && 86400 % s->step_s == 0 &&
	       s->n * (size_t)s->step_s < 14 * 86400 &&
	       cold_known(s) * (size_t)s->step_s < 2 * 86400;
}

static size_t
cold_slot(const struct cold *c, int64_t t)
{
	return (size_t)(t / c->step_s % (int64_t)c->week);
}

/* Means by hour of the week over the last four weeks, over their mean; false: not all are known. */
static bool
cold_shape(const struct cold *c, const struct fc_series *s, double *shape)
{
	double sum = 0;

	if (s->step_s != c->step_s || s->n < COLD_WEEKS * c->week)
		return false;
	for (size_t k = 0; k < c->week; k++) {
		size_t at = s->n - c->week + k, known = 0,
		       slot = cold_slot(c, s->t0 + (int64_t)at * s->step_s);

		shape[slot] = 0;
		for (size_t w = 0; w < COLD_WEEKS; w++)
			if (!isnan(s->mean[at - w * c->week])) {
				shape[slot] += s->mean[at - w * c->week];
				known++;
			}
		if (known == 0)
			return false;
		shape[slot] /= (double)known;
		sum += shape[slot];
	}
	for (size_t k = 0; k < c->week && sum > 0; k++)
		shape[k] *= (double)c->week / sum;
	return sum > 0;
}

static double
cold_alike(const double *a, const double *b, size_t n)
{
	double ab = 0, aa = 0, bb = 0;

	for (size_t k = 0; k < n; k++) {
		ab += (a[k] - 1) * (b[k] - 1);
		aa += (a[k] - 1) * (a[k] - 1);
		bb += (b[k] - 1) * (b[k] - 1);
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* The fleet's shape for steps of this length; not known: fewer than three series have one. */
static void
cold_fleet(const struct fc_series *s, size_t n, fc_series_fn *clean, void *arg, int64_t step_s,
    struct arena *a, struct cold *c)
{
	struct arena *tmp = arena_new(), *one = arena_new();
	struct cold_name *name = arena_array(tmp, n, sizeof(*name));
	double *all, *column, alike = 0, spread = 0;
	size_t m = 0, kept = 0, take;

	*c = (struct cold){ .step_s = step_s, .week = (size_t)(604800 / step_s) };
	for (size_t i = 0; i < n; i++)
		if (s[i].step_s == step_s && s[i].n >= COLD_WEEKS * c->week)
			name[m++] = (struct cold_name){ s[i].name, i };
	qsort(name, m, sizeof(*name), cold_cmp);
	take = m < COLD_FLEET_MAX ? m : COLD_FLEET_MAX;
	all = arena_array(tmp, take * c->week, sizeof(*all));
	column = arena_array(tmp, take, sizeof(*column));
	c->shape = arena_array(a, c->week, sizeof(*c->shape));
	for (size_t k = 0; k < take; k++) {
		struct fc_series x;

		clean(arg, name[k * m / take].i, one, &x);
		kept += cold_shape(c, &x, all + kept * c->week) ? 1 : 0;
		arena_reset(one);
	}
	c->known = kept >= COLD_FLEET_MIN;
	for (size_t k = 0; c->known && k < c->week; k++) {
		for (size_t j = 0; j < kept; j++)
			column[j] = all[j * c->week + k];
		c->shape[k] = fc_median(column, kept);
		spread += fabs(c->shape[k] - 1) / (double)c->week;
	}
	for (size_t j = 0; j < kept; j++)
		alike += cold_alike(all + j * c->week, c->shape, c->week) / (double)kept;
	c->agreed = alike >= COLD_AGREE && spread >= COLD_SPREAD;
	arena_free(one);
	arena_free(tmp);
}

/* Level of a new series under the shape; 0: it does not follow it. */
static double
cold_level(const struct cold *c, const struct fc_series *s)
{
	double sum = 0, shape = 0, flat, err[2] = { 0 }, spread = 0;
	size_t known = cold_known(s);

	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->mean[i])) {
			sum += s->mean[i];
			shape += c->shape[cold_slot(c, s->t0 + (int64_t)i * s->step_s)];
		}
	if (!(shape > 0))
		return 0;
	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->mean[i]))
			spread += fabs(c->shape[cold_slot(c, s->t0 + (int64_t)i * s->step_s)] /
					   (shape / (double)known) -
				       1) /
				  (double)known;
	if (2 * known * (size_t)s->step_s < 86400 ||
	    spread < COLD_SPREAD) /* its hours can not tell */
		return c->agreed ? sum / shape : 0;
	flat = sum / (double)known;
	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->mean[i])) {
			err[0] += fabs(s->mean[i] - flat);
			err[1] += fabs(
			    s->mean[i] -
			    sum / shape * c->shape[cold_slot(c, s->t0 + (int64_t)i * s->step_s)]);
		}
	return err[1] < COLD_EARN * err[0] ? sum / shape : 0;
}

static void
cold_apply(const struct cold *c, double level, struct fc_result *r, struct arena *a)
{
	for (size_t i = 0; i < r->horizon; i++) {
		double f = r->mean[i] > 0
			       ? level * c->shape[cold_slot(c, r->t0 + (int64_t)i * r->step_s)] /
				     r->mean[i]
			       : 1;

		r->mean[i] *= f;
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			r->q[i * FC_LEVEL_COUNT + l] *= f;
		for (size_t p = 0; p < r->n_paths; p++)
			r->paths[p * r->horizon + i] *= f;
	}
	fc_result_windows(r, a);
	r->model = "fleet";
	if (r->n_warnings < FC_WARN_MAX)
		(void)snprintf((char *)(uintptr_t)r->warnings[r->n_warnings++], FC_WARN_LEN,
		    "%zu observations: the shape of the day and week is that of the fleet",
		    r->n_used);
}

static struct cold *
cold_of(const struct fc_cold *c, int64_t step_s)
{
	for (size_t k = 0; k < c->n; k++)
		if (c->fleet[k].step_s == step_s)
			return &c->fleet[k];
	return NULL;
}

struct fc_cold *
fc_cold_learn(const struct fc_series *s, size_t n, fc_series_fn *clean, void *arg, struct arena *a)
{
	struct fc_cold *c = arena_alloc(a, sizeof(*c));
	size_t steps = 0;

	for (size_t i = 0; i < n; i++)
		steps += cold_is(&s[i]) ? 1 : 0;
	c->fleet = arena_array(a, steps, sizeof(*c->fleet));
	for (size_t i = 0; i < n && steps > 0; i++)
		if (cold_is(&s[i]) && cold_of(c, s[i].step_s) == NULL)
			cold_fleet(s, n, clean, arg, s[i].step_s, a, &c->fleet[c->n++]);
	return c;
}

void
fc_cold_apply(const struct fc_cold *cold, const struct fc_series *s, struct fc_result *r)
{
	const struct cold *c =
	    cold != NULL && r->n_paths > 0 && cold_is(s) ? cold_of(cold, s->step_s) : NULL;
	double level = c != NULL && c->known ? cold_level(c, s) : 0;
	struct arena *tmp;

	if (!(level > 0))
		return;
	tmp = arena_new();
	cold_apply(c, level, r, tmp);
	arena_free(tmp);
}
