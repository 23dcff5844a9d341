/*
 * The bound: the Lagrangian of the limits, climbed by the volume algorithm (Barahona and Anbil
 * 2000). A job's candidates are looked at from cheap to dear, as far as one could still be the
 * least at the shadow prices: those are never below 0.
 */
#include <math.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

#define DUAL_EARLY                                                                                 \
	200U /* steps in which they shrink sooner: far from the best prices long ones mislead */
#define DUAL_RED_EARLY 4U
#define DUAL_RED 10U    /* steps in vain before they shrink */
#define DUAL_SHORT 2e-3 /* shortest steps, ... */
#define DUAL_ANEW 0.2
#define DUAL_ALONG 12     /* halvings of a step along given prices */
#define DUAL_RESTART 0.05 /* ... and those after them */

struct dual {
	double *center, *mean,
	    *slope;            /* [n_resources] best prices, mean slope, that of the last step */
	double *cost, *square; /* [n_jobs] what it costs in the mean, its penalty where it stays
				  out; of it squared */
	double *cost_now;      /* [n_jobs] likewise in the last step */
	double height;         /* of the core's Lagrangian at the center */
	double f, alpha;       /* length of the steps; most weight of a new slope */
	unsigned red;
	double last; /* bound when alpha was looked at */
	unsigned steps;
	bool anew; /* towards the value itself */
};

void
place_price(struct place_work *w)
{
	for (size_t s = 0; s < w->n_slots; s++) {
		double sum = 0;

		for (size_t u = w->use_start[s]; u < w->use_start[s + 1]; u++)
			sum += (double)w->units[u] * w->mu[w->use[u]];
		w->price[s] = sum;
	}
}

struct dual *
place_dual_new(struct place_work *w, struct arena *a)
{
	const struct place_problem *p = w->p;
	struct dual *d = arena_array(a, 1, sizeof(*d));
	size_t n = 0;

	d->center = arena_array(a, w->n_all, sizeof(*d->center));
	d->mean = arena_array(a, w->n_all, sizeof(*d->mean));
	d->slope = arena_array(a, w->n_all, sizeof(*d->slope));
	d->cost = arena_array(a, p->n_jobs, sizeof(*d->cost));
	d->square = arena_array(a, p->n_jobs, sizeof(*d->square));
	d->cost_now = arena_array(a, p->n_jobs, sizeof(*d->cost_now));
	d->f = 0.5;
	d->alpha = 0.3;
	w->core_start = arena_array(a, p->n_jobs + 1, sizeof(*w->core_start));
	w->core_end = arena_array(a, p->n_jobs, sizeof(*w->core_end));
	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t all = p->cand_start[i + 1] - p->cand_start[i];

		w->core_start[i] = n;
		n += all < PLACE_CORE ? all : PLACE_CORE;
	}
	w->core_start[p->n_jobs] = n;
	w->core = arena_array(a, n, sizeof(*w->core));
	return d;
}

/* Most units of a limit that the candidate takes: how hard it is to fit later. */
static double
dual_size(const struct place_work *w, size_t cand)
{
	size_t s = w->slot[cand];
	double most = 0;

	for (size_t u = w->use_start[s]; u < w->cut_start[s]; u++)
		most = fmax(most, (double)w->units[u]);
	return most;
}

static double
dual_begin(struct place_work *w, double *slope)
{
	double bound = 0;

	place_price(w);
	for (size_t r = 0; r < w->n_all; r++) {
		slope[r] = w->limit[r] == PLACE_NO_LIMIT ? 0 : -(double)w->limit[r];
		bound += w->mu[r] * slope[r];
	}
	return bound;
}

static void
dual_use(const struct place_work *w, size_t cand, double *slope)
{
	const struct place_more *m = w->p->more;
	size_t s = w->slot[cand];

	for (size_t u = w->use_start[s]; u < w->use_start[s + 1]; u++)
		slope[w->use[u]] += (double)w->units[u];
	for (size_t u = m == NULL ? 0 : m->start[cand]; m != NULL && u < m->start[cand + 1]; u++)
		if (w->limit[m->resource[u]] != PLACE_NO_LIMIT)
			slope[m->resource[u]] += (double)m->units[u];
}

/* The job's candidates of least reduced cost, cheap first, become its core. */
static void
dual_core(struct place_work *w, size_t i)
{
	const struct place_problem *p = w->p;
	struct place_core *v = w->core + w->core_start[i];
	size_t room = w->core_start[i + 1] - w->core_start[i], n = 0;

	for (size_t c = p->cand_start[i]; c < w->lean_end[i]; c++) {
		size_t k = w->lean[c].cand, x;
		double r;

		if (n == room && w->lean[c].cost >= v[n - 1].reduced)
			break;
		r = w->lean[c].cost + w->price[w->lean[c].slot];
		if (p->more != NULL && (n < room || r < v[n - 1].reduced))
			r = place_reduced(w, k);
		if (n == room && r >= v[n - 1].reduced)
			continue;
		n += n < room;
		for (x = n - 1; x > 0 && v[x - 1].reduced > r; x--)
			v[x] = v[x - 1];
		v[x] = (struct place_core){ r, w->lean[c].cost, w->lean[c].slot, k };
	}
	w->core_end[i] = w->core_start[i] + n;
}

void
place_cores(struct place_work *w)
{
	const struct place_problem *p = w->p;

	for (size_t i = 0; i < p->n_jobs; i++) {
		const struct place_core *v = w->core + w->core_start[i];
		size_t n;
		double least, second;

		dual_core(w, i);
		n = w->core_end[i] - w->core_start[i];
		least = n > 0 ? fmin(v[0].reduced, p->penalty[i]) : p->penalty[i];
		second = n > 1 ? fmin(v[1].reduced, p->penalty[i]) : p->penalty[i];
		w->regret[i] = second - least;
		w->size[i] = n > 0 ? dual_size(w, v[0].cand) : 0;
	}
}

/* The job's least reduced cost, its penalty if that is less; *best_out: which candidate. */
static double
dual_least(const struct place_work *w, size_t i, size_t *best_out)
{
	const struct place_problem *p = w->p;
	const struct place_more *m = p->more;
	double least = p->penalty[i];

	*best_out = PLACE_NONE;
	for (size_t c = p->cand_start[i]; c < w->lean_end[i] && w->lean[c].cost < least; c++) {
		const struct place_lean *v = &w->lean[c];
		double r = v->cost + w->price[v->slot];

		if (r < least && m != NULL)
			for (size_t u = m->start[v->cand]; u < m->start[v->cand + 1]; u++)
				r += (double)m->units[u] * w->mu[m->resource[u]];
		if (r < least) {
			least = r;
			*best_out = v->cand;
		}
	}
	return least;
}

/*
 * Lagrangian L(mu) = sum of min (penalty, cost + need price) - mu limit, with the slope of each mu
 * into slope [n_resources] (use minus limit).
 */
static double
dual_look(struct place_work *w, struct dual *d, double *slope)
{
	const struct place_problem *p = w->p;
	double value = dual_begin(w, slope);

	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t best;

		value += dual_least(w, i, &best);
		d->cost_now[i] = best == PLACE_NONE ? p->penalty[i] : p->cost[best];
		if (best != PLACE_NONE)
			dual_use(w, best, slope);
	}
	return value;
}

/* Weight of the new slope in the mean that makes it shortest. */
static double
dual_weight(const struct place_work *w, const struct dual *d)
{
	double over = 0, under = 0, x;

	for (size_t r = 0; r < w->n_all; r++) {
		double scale = 1 / (w->scale[r] * w->scale[r]), diff = d->mean[r] - d->slope[r];

		over += d->mean[r] * diff * scale;
		under += diff * diff * scale;
	}
	x = under > 0 ? over / under : 1;
	return fmin(fmax(x, d->alpha / 10), d->alpha);
}

/* What the last step costs goes into the mean by this weight. */
static void
dual_average(const struct place_work *w, struct dual *d, double weight)
{
	for (size_t i = 0; i < w->p->n_jobs; i++) {
		double c = d->cost_now[i];

		d->cost[i] += weight * (c - d->cost[i]);
		d->square[i] += weight * (c * c - d->square[i]);
	}
}

/* Steps that have become too short to lead anywhere: from the best prices anew. */
static void
dual_restart(struct place_work *w, struct dual *d)
{
	memcpy(w->mu, d->center, w->n_all * sizeof(*w->mu));
	(void)dual_look(w, d, d->mean);
	dual_average(w, d, 1);
	d->f = DUAL_RESTART;
	d->alpha = fmax(0.1, d->alpha);
}

static bool
dual_step(struct place_work *w, struct dual *d, double target)
{
	size_t n = w->n_all;
	double norm = 0, along = 0, height, step, x;

	for (size_t r = 0; r < n; r++) {
		double v = w->limit[r] == PLACE_NO_LIMIT || (d->center[r] <= 0 && d->mean[r] < 0)
			       ? 0
			       : d->mean[r];

		norm += v * v / (w->scale[r] * w->scale[r]);
	}
	if (norm < 1e-12 || !(target > d->height))
		return false;
	step = d->f * (target - d->height) / norm;
	for (size_t r = 0; r < n; r++)
		w->mu[r] = fmax(0, d->center[r] + step * d->mean[r] / (w->scale[r] * w->scale[r]));
	height = dual_look(w, d, d->slope);
	for (size_t r = 0; r < n; r++)
		along += d->slope[r] * d->mean[r] / (w->scale[r] * w->scale[r]);
	x = dual_weight(w, d);
	for (size_t r = 0; r < n; r++)
		d->mean[r] += x * (d->slope[r] - d->mean[r]);
	dual_average(w, d, x);
	if (height > d->height) {
		d->height = height;
		memcpy(d->center, w->mu, n * sizeof(*d->center));
		d->red = 0;
		if (along > 0)
			d->f = fmin(2, d->f * 1.1);
	} else if (++d->red >= (d->steps < DUAL_EARLY ? DUAL_RED_EARLY : DUAL_RED)) {
		d->f *= 0.66;
		d->red = 0;
		if (d->f < DUAL_SHORT)
			dual_restart(w, d);
	}
	if (++d->steps % 100 == 0) {
		if (d->height < d->last + 0.01 * fabs(d->last))
			d->alpha = fmax(d->alpha / 2, 1e-4);
		d->last = d->height;
	}
	return true;
}

double
place_climb(struct place_work *w, struct dual *d, unsigned steps, double value)
{
	for (unsigned k = 0; k < steps; k++) {
		double target = d->anew ? INFINITY : d->height + 0.05 * fabs(d->height);

		if (!dual_step(w, d, fmin(target, value + 1e-3 * fabs(value))))
			break;
	}
	memcpy(w->mu, d->center, w->n_all * sizeof(*w->mu));
	place_price(w);
	return d->height;
}

double
place_climb_from(struct place_work *w, struct dual *d)
{
	size_t n = w->n_all;

	memcpy(d->center, w->mu, n * sizeof(*d->center));
	d->height = d->last = dual_look(w, d, d->slope);
	memcpy(d->mean, d->slope, n * sizeof(*d->mean));
	dual_average(w, d, 1);
	return d->height;
}

/* How steep the bound is at so much along the prices. */
static double
dual_along(struct place_work *w, struct dual *d, const double *along, double x)
{
	double sum = 0;

	for (size_t r = 0; r < w->n_all; r++)
		w->mu[r] = x * along[r];
	(void)dual_look(w, d, d->slope);
	for (size_t r = 0; r < w->n_all; r++)
		sum += along[r] * d->slope[r];
	return sum;
}

double
place_climb_along(struct place_work *w, struct dual *d, const double *along)
{
	double lo = 0, hi = 1;

	for (int k = 0; k < DUAL_ALONG && dual_along(w, d, along, hi) > 0; k++) {
		lo = hi;
		hi *= 4;
	}
	for (int k = 0; k < DUAL_ALONG; k++) {
		double mid = (lo + hi) / 2;

		if (dual_along(w, d, along, mid) > 0)
			lo = mid;
		else
			hi = mid;
	}
	for (size_t r = 0; r < w->n_all; r++)
		w->mu[r] = lo * along[r];
	if (dual_look(w, d, d->slope) > d->height)
		return place_climb_from(w, d);
	memcpy(w->mu, d->center, w->n_all * sizeof(*w->mu));
	place_price(w);
	return d->height;
}

void
place_climb_anew(struct dual *d)
{
	d->f = DUAL_ANEW;
	d->alpha = DUAL_ANEW;
	d->red = 0;
	d->anew = true;
	d->steps = 0;
}

double
place_spread(const struct dual *d, size_t job, double *cost_out)
{
	*cost_out = d->cost[job];
	return sqrt(fmax(0, d->square[job] - d->cost[job] * d->cost[job]));
}
