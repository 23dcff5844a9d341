/*
 * Where not all jobs fit, those that just stay out set a price for what is scarce, about the same
 * one whichever offer it lies in: from there the bound has a shorter way than from nothing.
 */
#include <math.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

#define SCARCE_FITS 2 /* times that sizes of jobs and units of offers are fitted to one another */

struct scarce {
	const struct place_work *w;
	double *size;  /* [n_jobs] a job needs about size * unit of an offer */
	double *unit;  /* [n_offers] */
	double *each;  /* [n_resources] price that no offer of it has less of than 1 a size */
	size_t *order; /* [n_resources] of few offers first */
	size_t *cover; /* [n_offers] resource that has its price, or PLACE_NONE */
	size_t *seen;  /* [n_resources] */
	struct arena *a;
};

/* The mean need of each job in units of its offers. */
static void
scarce_sizes(struct scarce *s)
{
	const struct place_problem *p = s->w->p;

	for (size_t i = 0; i < p->n_jobs; i++) {
		double sum = 0;

		for (size_t c = p->cand_start[i]; c < s->w->lean_end[i]; c++) {
			size_t k = s->w->lean[c].cand;

			sum += (double)p->need[k] / s->unit[p->offer[k]];
		}
		s->size[i] = sum / fmax(1, (double)(s->w->lean_end[i] - p->cand_start[i]));
	}
}

/* The mean need on each offer in sizes of its jobs. */
static void
scarce_units(struct scarce *s)
{
	const struct place_problem *p = s->w->p;
	double *n = arena_array(s->a, p->n_offers, sizeof(*n));
	double *sum = arena_array(s->a, p->n_offers, sizeof(*sum));

	for (size_t i = 0; i < p->n_jobs; i++)
		for (size_t c = p->cand_start[i]; c < s->w->lean_end[i]; c++) {
			size_t k = s->w->lean[c].cand;

			sum[p->offer[k]] += (double)p->need[k] / s->size[i];
			n[p->offer[k]]++;
		}
	for (size_t j = 0; j < p->n_offers; j++)
		s->unit[j] = n[j] > 0 ? sum[j] / n[j] : s->unit[j];
}

static void
scarce_each(struct scarce *s)
{
	const struct place_problem *p = s->w->p;

	for (size_t j = 0; j < p->n_offers; j++)
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			s->each[p->resource[u]] =
			    fmax(s->each[p->resource[u]], 1 / (s->unit[j] * (double)p->weight[u]));
}

static size_t
scarce_offers(const struct scarce *s, size_t r)
{
	return s->w->at_start[r + 1] - s->w->at_start[r];
}

/* The resources by how many offers they have: counted, then written. */
static void
scarce_sort(struct scarce *s)
{
	size_t n = s->w->p->n_resources, offers = s->w->p->n_offers;
	size_t *at = arena_array(s->a, offers + 2, sizeof(*at));

	for (size_t r = 0; r < n; r++)
		at[scarce_offers(s, r) + 1]++;
	for (size_t m = 0; m < offers; m++)
		at[m + 1] += at[m];
	for (size_t r = 0; r < n; r++)
		s->order[at[scarce_offers(s, r)]++] = r;
}

/* Sizes that all the resource holds; of what covers its offers now likewise: infinite where one has
 * no cover. */
static double
scarce_held(struct scarce *s, size_t r, size_t stamp)
{
	const struct place_work *w = s->w;
	double held = 0;

	for (size_t x = w->at_start[r]; x < w->at_start[r + 1]; x++) {
		size_t c = s->cover[w->at_offer[x]];

		if (c == PLACE_NONE)
			return INFINITY;
		if (s->seen[c] != stamp)
			held += s->each[c] * (double)w->p->limit[c];
		s->seen[c] = stamp;
	}
	return held;
}

/* From the narrowest limit on: one that holds less than those of its offers takes their place. */
static void
scarce_cover(struct scarce *s)
{
	const struct place_work *w = s->w;
	const struct place_problem *p = w->p;

	for (size_t j = 0; j < p->n_offers; j++)
		s->cover[j] = PLACE_NONE;
	for (size_t o = 0; o < p->n_resources; o++) {
		size_t r = s->order[o];

		if (p->limit[r] == PLACE_NO_LIMIT ||
		    s->each[r] * (double)p->limit[r] >= scarce_held(s, r, o + 1))
			continue;
		for (size_t x = w->at_start[r]; x < w->at_start[r + 1]; x++)
			s->cover[w->at_offer[x]] = r;
	}
}

double
place_scarce(struct place_work *w, struct dual *d, struct arena *a)
{
	const struct place_problem *p = w->p;
	struct scarce s = { .w = w, .a = a };
	double *along = arena_array(a, w->n_all, sizeof(*along));

	s.size = arena_array(a, p->n_jobs, sizeof(*s.size));
	s.unit = arena_array(a, p->n_offers, sizeof(*s.unit));
	s.each = arena_array(a, p->n_resources, sizeof(*s.each));
	s.order = arena_array(a, p->n_resources, sizeof(*s.order));
	s.cover = arena_array(a, p->n_offers, sizeof(*s.cover));
	s.seen = arena_array(a, p->n_resources, sizeof(*s.seen));
	for (size_t j = 0; j < p->n_offers; j++)
		s.unit[j] = 1;
	for (int x = 0; x < SCARCE_FITS; x++) {
		scarce_sizes(&s);
		scarce_units(&s);
	}
	scarce_each(&s);
	scarce_sort(&s);
	scarce_cover(&s);
	for (size_t j = 0; j < p->n_offers; j++)
		if (s.cover[j] != PLACE_NONE)
			along[s.cover[j]] = s.each[s.cover[j]];
	return place_climb_along(w, d, along);
}
