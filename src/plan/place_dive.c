/*
 * The bound of place_hull.c climbed by the volume algorithm, as in place_dual.c, and a plan from
 * it: what it is nearly sure of is fixed, it is climbed on with that, and so forth.
 */
#include <math.h>
#include <string.h>

#include "plan/place_hull.h"
#include "util/arena.h"

#define HULL_RED 10U      /* steps in vain before they shrink */
#define HULL_SHORT 2e-3   /* shortest steps, ... */
#define HULL_RESTART 0.05 /* ... and those after them */
#define HULL_ALPHA 0.2
#define HULL_DIVE 60       /* most times that something is fixed, ... */
#define HULL_DIVE_STEPS 8  /* ... the steps after each, ... */
#define HULL_DIVE_STEP 0.1 /* ... how long, ... */
#define HULL_DIVE_TO 1.01  /* ... and how high they aim, in parts of the bound, at the least */
#define HULL_PASSES 3
#define HULL_SURE 0.8       /* shares from which a choice is fixed: from this on ... */
#define HULL_SURE_MORE 0.18 /* ... and up to so much more, by chance */

/* What the last step takes goes into the mean by this weight. */
static void
hull_average(struct hull *h, double weight)
{
	for (size_t k = 0; h->now != NULL && k < h->w->p->cand_start[h->w->p->n_jobs]; k++)
		h->s.share[k] += weight * (h->now[k] - h->s.share[k]);
}

/* At the prices of the Lagrangian: the bound is no lower there. */
static void
hull_begin(struct hull *h)
{
	struct place_work *w = h->w;
	const struct place_problem *p = w->p;

	for (size_t i = 0; i < p->n_jobs; i++) {
		bool block = h->block[i] != PLACE_NONE;

		h->at[i] = block ? 0 : p->penalty[i];
		for (size_t c = p->cand_start[i]; c < w->lean_end[i]; c++) {
			size_t k = w->lean[c].cand;

			if (block)
				h->at[h->pairs + k] = w->price[w->slot[k]];
			else
				h->at[i] = fmin(h->at[i], place_reduced(w, k));
		}
	}
	for (size_t r = 0; r < w->n_all; r++)
		h->at[p->n_jobs + r] = h->top[p->n_jobs + r] > 0 ? w->mu[r] : 0;
	memcpy(h->s.center, h->at, h->n * sizeof(*h->s.center));
	h->s.height = h->s.last = hull_look(h);
	memcpy(h->s.mean, h->slope, h->n * sizeof(*h->s.mean));
	hull_average(h, 1);
	h->begun = true;
}

/* Goes along the mean slope, towards the target; false: there is nowhere to go. */
static bool
hull_go(struct hull *h, double target)
{
	double norm = 0, step;

	for (size_t k = 0; k < h->n; k++) {
		double v = h->s.mean[k] / h->scale[k];

		if ((h->s.center[k] <= 0 && v < 0) || (h->s.center[k] >= h->top[k] && v > 0))
			continue;
		norm += v * v;
	}
	if (norm < 1e-12 || !(target > h->s.height))
		return false;
	step = h->s.f * (target - h->s.height) / norm;
	for (size_t k = 0; k < h->n; k++)
		h->at[k] = fmin(h->top[k],
		    fmax(0, h->s.center[k] + step * h->s.mean[k] / (h->scale[k] * h->scale[k])));
	return true;
}

/* The new slope goes into the mean by the weight that makes it shortest. Returns how far the two
 * point the same way. */
static double
hull_mix(struct hull *h)
{
	double along = 0, over = 0, under = 0, x;

	for (size_t k = 0; k < h->n; k++) {
		double s = 1 / (h->scale[k] * h->scale[k]), diff = h->s.mean[k] - h->slope[k];

		along += h->slope[k] * h->s.mean[k] * s;
		over += h->s.mean[k] * diff * s;
		under += diff * diff * s;
	}
	x = under > 0 ? over / under : 1;
	x = fmin(fmax(x, h->s.alpha / 10), h->s.alpha);
	for (size_t k = 0; k < h->n; k++)
		h->s.mean[k] += x * (h->slope[k] - h->s.mean[k]);
	hull_average(h, x);
	return along;
}

static void
hull_shorten(struct hull *h)
{
	h->s.f *= 0.66;
	h->s.red = 0;
	if (h->s.f >= HULL_SHORT)
		return;
	memcpy(h->at, h->s.center, h->n * sizeof(*h->at));
	(void)hull_look(h);
	memcpy(h->s.mean, h->slope, h->n * sizeof(*h->s.mean));
	h->s.f = HULL_RESTART;
	h->s.alpha = fmax(0.1, h->s.alpha);
}

static bool
hull_step(struct hull *h, double target)
{
	double height, along;

	if (!hull_go(h, target))
		return false;
	height = hull_look(h);
	along = hull_mix(h);
	if (height > h->s.height) {
		h->s.height = height;
		memcpy(h->s.center, h->at, h->n * sizeof(*h->s.center));
		h->s.red = 0;
		if (along > 0)
			h->s.f = fmin(2, h->s.f * 1.1);
	} else if (++h->s.red >= HULL_RED) {
		hull_shorten(h);
	}
	if (++h->s.steps % 100 == 0) {
		if (h->s.height < h->s.last + 0.01 * fabs(h->s.last))
			h->s.alpha = fmax(h->s.alpha / 2, 1e-4);
		h->s.last = h->s.height;
	}
	return true;
}

double
place_hull(struct hull *h, unsigned steps, double value)
{
	if (!h->begun)
		hull_begin(h);
	for (unsigned k = 0; k < steps; k++)
		if (!hull_step(h, value))
			break;
	return h->s.height;
}

/* The candidate that the bound takes most of among those allowed; PLACE_NONE: it takes none. */
static size_t
hull_most(const struct hull *h, size_t i)
{
	const struct place_problem *p = h->w->p;
	size_t best = PLACE_NONE;

	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++)
		if (!h->banned[k] && h->s.share[k] > 0 &&
		    (best == PLACE_NONE || h->s.share[k] > h->s.share[best]))
			best = k;
	return best;
}

/* The surest of the open jobs, and all that are nearly sure, keep what the bound takes most of.
 * False: none is open. */
static bool
hull_fix(struct hull *h)
{
	struct place_work *w = h->w;
	const struct place_problem *p = w->p;
	double most = -1, sure;
	bool any = false;

	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t k = h->fixed[i] ? PLACE_NONE : hull_most(h, i);

		if (k != PLACE_NONE)
			most = fmax(most, h->s.share[k]);
	}
	if (most < 0)
		return false;
	sure = fmin(most, HULL_SURE + HULL_SURE_MORE * rng_unit(&w->rng));
	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t best = h->fixed[i] ? PLACE_NONE : hull_most(h, i);

		if (best == PLACE_NONE || h->s.share[best] < sure)
			continue;
		any = true;
		h->fixed[i] = true;
		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++)
			h->banned[k] = k != best;
	}
	return any;
}

/* Copies of the climb: to go on from later. */
static void
hull_copy(const struct hull *h, struct hull_climb *to, const struct hull_climb *from)
{
	struct hull_climb x = *from;

	x.center = memcpy(to->center, from->center, h->n * sizeof(*to->center));
	x.mean = memcpy(to->mean, from->mean, h->n * sizeof(*to->mean));
	x.share = memcpy(
	    to->share, from->share, h->w->p->cand_start[h->w->p->n_jobs] * sizeof(*to->share));
	*to = x;
}

/* Prices for what is fixed. */
static void
hull_settle(struct hull *h, double value)
{
	memcpy(h->at, h->s.center, h->n * sizeof(*h->at));
	h->s.height = hull_look(h);
	h->s.f = HULL_DIVE_STEP;
	h->s.alpha = HULL_ALPHA;
	for (int x = 0; x < HULL_DIVE_STEPS; x++)
		if (!hull_step(h, fmax(value, h->s.height * HULL_DIVE_TO)))
			break;
}

bool
place_dive(struct hull *h, double value, size_t steps)
{
	struct place_work *w = h->w;
	const struct place_problem *p = w->p;

	if (h->s.share == NULL)
		return false;
	hull_copy(h, &h->was, &h->s);
	for (int k = 0; k < HULL_DIVE && hull_fix(h); k++)
		hull_settle(h, value);
	place_clear(w);
	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t k = hull_most(h, i);

		if (k != PLACE_NONE && place_fits(w, k))
			place_take(w, i, k);
	}
	hull_copy(h, &h->s, &h->was);
	memset(h->banned, 0, p->cand_start[p->n_jobs] * sizeof(*h->banned));
	memset(h->fixed, 0, p->n_jobs * sizeof(*h->fixed));
	place_improve(w, HULL_PASSES, steps);
	return true;
}
