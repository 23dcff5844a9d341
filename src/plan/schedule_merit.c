#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/schedule_impl.h"
#include "util/arena.h"

/* What serves in a stretch: a fixed number of GPUs, or what runs of a band. */
struct merit_item {
	double usage, gpus;
	size_t band, number; /* band SIZE_MAX: fixed */
};

static int
merit_cmp(const void *a, const void *b)
{
	const struct merit_item *x = a, *y = b;

	if (x->usage != y->usage)
		return x->usage < y->usage ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int
merit_cmp_price(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void
schedule_bands(struct schedule_work *w)
{
	const struct schedule_problem *p = w->p;

	w->band = arena_array(w->a, p->n_lines + 1, sizeof(*w->band));
	w->band_of = arena_array(w->a, p->n_lines + 1, sizeof(*w->band_of));
	w->n_bands = 0;
	for (size_t i = 0; i < p->n_lines; i++) {
		bool known = p->lines[i].kind != COMMIT_RESERVED;

		for (size_t b = 0; b < w->n_bands && !known; b++)
			known = w->band[b] == p->lines[i].usage;
		if (!known)
			w->band[w->n_bands++] = p->lines[i].usage;
	}
	if (w->n_bands == 0) /* nothing is sold */
		w->band[w->n_bands++] = 0;
	qsort(w->band, w->n_bands, sizeof(*w->band), merit_cmp_price);
	for (size_t i = 0; i < p->n_lines; i++)
		for (size_t b = 0; b < w->n_bands && p->lines[i].kind == COMMIT_RESERVED; b++)
			if (w->band[b] == p->lines[i].usage)
				w->band_of[i] = b;
}

/* What serves in a stretch by its price of use, what is bought in the first n_bands bands. */
static struct merit_item *
merit_items(const struct schedule_work *w, size_t t, size_t n_bands, struct arena *a, size_t *n_out)
{
	const struct schedule_problem *p = w->p;
	struct merit_item *item = arena_array(a, p->n_lines + p->n_owned + n_bands, sizeof(*item));
	size_t n = 0;

	for (size_t i = 0; i < p->n_owned; i++)
		if (p->owned[i].from <= w->border.v[t] && w->border.v[t + 1] <= p->owned[i].to)
			item[n++] =
			    (struct merit_item){ p->owned[i].usage, p->owned[i].gpus, SIZE_MAX, 0 };
	for (size_t b = 0; b < n_bands; b++)
		item[n++] = (struct merit_item){ w->band[b], 0, b, 1 + b };
	for (size_t i = 0; i < p->n_lines; i++) {
		const struct commit_line *l = &p->lines[i];

		if (l->kind != COMMIT_SPOT && l->kind != COMMIT_ON_DEMAND)
			continue;
		item[n++] = (struct merit_item){ l->usage, commit_stack_gpus(l, l->max_count),
			SIZE_MAX, 1 + n_bands + i };
	}
	for (size_t i = 0; i < n; i++) /* of equal prices, what is owned goes first */
		item[i].number = item[i].number == 0 ? i : item[i].number + p->n_owned;
	qsort(item, n, sizeof(*item), merit_cmp);
	*n_out = n;
	return item;
}

/* Mean GPUs in use where s serve. */
static double
merit_use(const struct schedule_work *w, size_t t, double s)
{
	const double *u = w->served + t * (w->levels + 1);
	size_t l = s >= (double)w->levels ? w->levels : (size_t)s;

	return l == w->levels ? u[l] : u[l] + (s - (double)l) * (u[l + 1] - u[l]);
}

void
schedule_merit(struct schedule_work *w, size_t t)
{
	struct schedule_merit *m = &w->merit[t];
	struct arena *a = arena_new();
	size_t n, band = 0;
	struct merit_item *item = merit_items(w, t, w->n_bands, a, &n);
	double at = 0, mean = merit_use(w, t, INFINITY);

	m->step = arena_array(w->a, n + 1, sizeof(*m->step));
	m->usd = w->hours[t] * mean * (n > 0 ? item[0].usage : w->p->unserved);
	for (size_t i = 0; i < n; i++) {
		double fall = (i + 1 < n ? item[i + 1].usage : w->p->unserved) - item[i].usage;

		at += item[i].gpus;
		if (item[i].band != SIZE_MAX)
			band = item[i].band + 1;
		if (fall <= 0)
			continue;
		if (band == 0)
			m->usd += w->hours[t] * fall * (mean - merit_use(w, t, at));
		else
			m->step[m->n++] =
			    (struct schedule_step){ band - 1, at, w->hours[t] * fall };
	}
	arena_free(a);
}

/* Between whole GPUs of w->usd. */
static double
merit_priced(const struct schedule_work *w, size_t t, double s, double *slope_out)
{
	const double *usd = w->usd + t * ((size_t)w->rest.levels + 1);
	size_t l = s >= (double)w->rest.levels ? (size_t)w->rest.levels : (size_t)s;
	double slope = l == (size_t)w->rest.levels ? 0 : usd[l + 1] - usd[l];

	if (slope_out != NULL)
		*slope_out = slope;
	return usd[l] + slope * (s - (double)l);
}

double
schedule_band_usd(const struct schedule_work *w, size_t t, size_t band, double s, double *slope_out)
{
	const double *u = w->served + t * (w->levels + 1);
	const struct schedule_merit *m = &w->merit[t];
	double usd = band == 0 ? m->usd : 0, slope = 0;

	if (w->priced)
		return merit_priced(w, t, s, slope_out);
	for (size_t k = 0; k < m->n; k++) {
		double at = m->step[k].at + s;

		if (m->step[k].band != band || at >= (double)w->levels)
			continue;
		usd += m->step[k].fall * (u[w->levels] - merit_use(w, t, at));
		slope -= m->step[k].fall * (u[(size_t)at + 1] - u[(size_t)at]);
	}
	if (slope_out != NULL)
		*slope_out = slope;
	return usd;
}

void
schedule_rest(const struct schedule_work *w, size_t t, double *usd)
{
	struct arena *a = arena_new();
	size_t n;
	const struct merit_item *item = merit_items(w, t, 1, a, &n);

	for (size_t i = 0; i <= (size_t)w->rest.levels; i++) {
		double at = 0, cost = 0, mean = merit_use(w, t, INFINITY);

		for (size_t k = 0; k < n; k++) {
			double q = item[k].band != SIZE_MAX ? (double)i : item[k].gpus;

			if (q == 0)
				continue;
			cost += item[k].usage * (merit_use(w, t, at + q) - merit_use(w, t, at));
			at += q;
		}
		usd[i] =
		    w->hours[t] * fmax(0, cost + w->p->unserved * (mean - merit_use(w, t, at)));
	}
	arena_free(a);
}

void
schedule_have(const struct schedule_work *w, const struct schedule_kind *but, int64_t *have)
{
	memset(have, 0, w->rest.n * w->n_bands * sizeof(*have));
	for (size_t j = 0; j < w->offer.n; j++) {
		int64_t g = w->p->lines[w->line.v[j]].gpus;
		size_t band = w->band_of[w->line.v[j]];

		if (w->count[j] == 0 || (but != NULL && but->gpus == g && but->band == band))
			continue;
		for (size_t t = w->offer.v[j].from; t < w->offer.v[j].to; t++)
			have[t * w->n_bands + band] += w->count[j] * g;
	}
}

int64_t
schedule_sum(const struct schedule_work *w, const int64_t *have, size_t t)
{
	int64_t sum = 0;

	for (size_t b = 0; b < w->n_bands; b++)
		sum += have[t * w->n_bands + b];
	return sum;
}

double
schedule_hours_usd(
    const struct schedule_work *w, const int64_t *have, size_t t, size_t band, int64_t more)
{
	size_t width = (size_t)w->rest.levels + 1;
	double usd = 0;
	int64_t s = 0;

	if (w->n_bands == 1) {
		s = have[t] + more;
		return w->usd[t * width + (size_t)(s < w->rest.levels ? s : w->rest.levels)];
	}
	for (size_t b = 0; b < w->n_bands; b++) {
		s += have[t * w->n_bands + b] + (b == band ? more : 0);
		usd += schedule_band_usd(w, t, b, (double)s, NULL);
	}
	return usd;
}
