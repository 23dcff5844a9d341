#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place_impl.h"

static bool
place_fits_more(const struct place_work *w, size_t cand)
{
	const struct place_more *m = w->p->more;

	for (size_t u = m->start[cand]; u < m->start[cand + 1]; u++)
		if (w->left[m->resource[u]] < m->units[u])
			return false;
	return true;
}

bool
place_fits(const struct place_work *w, size_t cand)
{
	size_t s = w->slot[cand];

	for (size_t u = w->use_start[s]; u < w->cut_start[s]; u++)
		if (w->left[w->use[u]] < w->units[u])
			return false;
	return w->p->more == NULL || place_fits_more(w, cand);
}

double
place_reduced(const struct place_work *w, size_t cand)
{
	const struct place_more *m = w->p->more;
	double r = w->p->cost[cand] + w->price[w->slot[cand]];

	for (size_t u = m == NULL ? 0 : m->start[cand]; m != NULL && u < m->start[cand + 1]; u++)
		r += (double)m->units[u] * w->mu[m->resource[u]];
	return r;
}

/* Adds sign times the need of a candidate to what is left. */
static void
place_move(struct place_work *w, size_t cand, int64_t sign)
{
	const struct place_more *m = w->p->more;
	size_t s = w->slot[cand];

	for (size_t u = w->use_start[s]; u < w->use_start[s + 1]; u++)
		w->left[w->use[u]] += sign * w->units[u];
	for (size_t u = m == NULL ? 0 : m->start[cand]; m != NULL && u < m->start[cand + 1]; u++)
		if (w->limit[m->resource[u]] != PLACE_NO_LIMIT)
			w->left[m->resource[u]] += sign * m->units[u];
}

void
place_take(struct place_work *w, size_t job, size_t cand)
{
	size_t offer = w->p->offer[cand];

	place_move(w, cand, -1);
	w->chosen[job] = cand;
	w->prev[job] = PLACE_NONE;
	w->next[job] = w->head[offer];
	if (w->head[offer] != PLACE_NONE)
		w->prev[w->head[offer]] = job;
	w->head[offer] = job;
}

void
place_drop(struct place_work *w, size_t job)
{
	size_t cand = w->chosen[job], offer = w->p->offer[cand];

	place_move(w, cand, 1);
	w->chosen[job] = PLACE_NONE;
	if (w->prev[job] == PLACE_NONE)
		w->head[offer] = w->next[job];
	else
		w->next[w->prev[job]] = w->next[job];
	if (w->next[job] != PLACE_NONE)
		w->prev[w->next[job]] = w->prev[job];
}

void
place_clear(struct place_work *w)
{
	memcpy(w->left, w->limit, w->n_all * sizeof(*w->left));
	for (size_t i = 0; i < w->p->n_jobs; i++)
		w->chosen[i] = PLACE_NONE;
	for (size_t j = 0; j < w->p->n_offers; j++)
		w->head[j] = PLACE_NONE;
}

double
place_cost_of(const struct place_work *w, size_t job)
{
	return w->chosen[job] == PLACE_NONE ? w->p->penalty[job] : w->p->cost[w->chosen[job]];
}

double
place_value(const struct place_work *w)
{
	double sum = 0;

	for (size_t i = 0; i < w->p->n_jobs; i++)
		sum += place_cost_of(w, i);
	return sum;
}

static void
place_sort_order(struct place_work *w, size_t from, size_t to, size_t *tmp)
{
	size_t mid = from + (to - from) / 2, i = from, j = mid, k = from;

	if (to - from < 2)
		return;
	place_sort_order(w, from, mid, tmp);
	place_sort_order(w, mid, to, tmp);
	while (i < mid || j < to)
		tmp[k++] = j == to || (i < mid && w->key[w->order[i]] >= w->key[w->order[j]])
			       ? w->order[i++]
			       : w->order[j++];
	memcpy(w->order + from, tmp + from, (to - from) * sizeof(*tmp));
}

/* What it saves to place the job, by the power of its size. */
static double
place_worth(const struct place_work *w, size_t i)
{
	double least =
	    w->core_end[i] > w->core_start[i] ? w->core[w->core_start[i]].cost : w->p->penalty[i];

	return (w->p->penalty[i] - least) / pow(fmax(1, w->size[i]), w->power);
}

void
place_greedy(struct place_work *w, enum place_order order)
{
	const struct place_problem *p = w->p;

	for (size_t i = 0; i < p->n_jobs; i++) {
		w->order[i] = i;
		w->key[i] = w->regret[i];
		if (order == PLACE_BY_SIZE)
			w->key[i] = w->size[i];
		else if (order == PLACE_BY_WORTH)
			w->key[i] = place_worth(w, i);
		else if (order == PLACE_BY_NOISE)
			w->key[i] = w->size[i] * (0.5 + rng_unit(&w->rng));
	}
	place_clear(w);
	place_sort_order(w, 0, p->n_jobs, w->next);
	for (size_t x = 0; x < p->n_jobs; x++) {
		size_t i = w->order[x], best = PLACE_NONE;
		double least = INFINITY;

		for (size_t c = p->cand_start[i]; c < w->lean_end[i] && w->lean[c].cost < least;
		     c++) {
			size_t k = w->lean[c].cand;
			double r = w->lean[c].cost + w->price[w->lean[c].slot];

			if (r < least && p->more != NULL)
				r = place_reduced(w, k);
			if (r < least && place_fits(w, k)) {
				least = r;
				best = k;
			}
		}
		if (best != PLACE_NONE)
			place_take(w, i, best);
	}
}

size_t
place_cheapest(struct place_work *w, size_t job, double limit, size_t but)
{
	const struct place_problem *p = w->p;

	for (size_t c = p->cand_start[job]; c < w->lean_end[job] && w->lean[c].cost < limit; c++) {
		size_t k = w->lean[c].cand;

		w->steps -= w->steps > 0;
		if (k != but && place_fits(w, k))
			return k;
	}
	return PLACE_NONE;
}

static bool
place_shift(struct place_work *w, size_t job)
{
	size_t was = w->chosen[job], k;
	double cost = place_cost_of(w, job);

	if (was != PLACE_NONE)
		place_drop(w, job);
	k = place_cheapest(w, job, cost - PLACE_EPS, PLACE_NONE);
	if (k == PLACE_NONE)
		k = was;
	if (k != PLACE_NONE)
		place_take(w, job, k);
	return k != was;
}

/*
 * job (not placed now) wants cand; the job `victim` goes elsewhere for less than gain more, or
 * stays. True if both have moved.
 */
static bool
place_eject_one(struct place_work *w, size_t job, size_t cand, size_t victim, double gain)
{
	const struct place_problem *p = w->p;
	size_t was = w->chosen[victim], k;

	place_drop(w, victim);
	if (place_fits(w, cand)) {
		place_take(w, job, cand);
		k = place_cheapest(w, victim, p->cost[was] + gain - PLACE_EPS, PLACE_NONE);
		if (k != PLACE_NONE) {
			place_take(w, victim, k);
			return true;
		}
		if (p->penalty[victim] < p->cost[was] + gain - PLACE_EPS)
			return true;
		place_drop(w, job);
	}
	place_take(w, victim, was);
	return false;
}

/* The users of the scarcest resource are the only ones worth ejecting. */
size_t
place_blocker(const struct place_work *w, size_t cand)
{
	const struct place_more *m = w->p->more;
	size_t s = w->slot[cand], best = PLACE_NONE, least = SIZE_MAX;

	for (size_t u = w->use_start[s]; u < w->cut_start[s]; u++) {
		size_t r = w->use[u], offers = w->at_start[r + 1] - w->at_start[r];

		if (w->left[r] < w->units[u] && offers < least) {
			least = offers;
			best = r;
		}
	}
	for (size_t u = m == NULL ? 0 : m->start[cand];
	     m != NULL && u < m->start[cand + 1] && best == PLACE_NONE; u++)
		if (w->left[m->resource[u]] < m->units[u])
			best = m->resource[u];
	return best;
}

static bool
place_eject_from(struct place_work *w, size_t job, size_t cand, size_t resource, double gain)
{
	for (size_t x = w->at_start[resource]; x < w->at_start[resource + 1]; x++) {
		size_t victim = w->head[w->at_offer[x]], after;

		for (; victim != PLACE_NONE && w->steps > 0; victim = after) {
			w->steps--;
			after = w->next[victim];
			if (place_eject_one(w, job, cand, victim, gain))
				return true;
		}
	}
	for (size_t x = w->mate_start[resource]; x < w->mate_start[resource + 1] && w->steps > 0;
	     x++) {
		size_t victim = w->mate[x];

		if (w->chosen[victim] == PLACE_NONE)
			continue;
		w->steps--;
		if (place_eject_one(w, job, cand, victim, gain))
			return true;
	}
	return false;
}

static bool
place_eject(struct place_work *w, size_t job)
{
	const struct place_problem *p = w->p;
	size_t was = w->chosen[job];
	double cost = place_cost_of(w, job);
	bool done = false;

	if (was != PLACE_NONE)
		place_drop(w, job);
	for (size_t c = p->cand_start[job]; c < w->lean_end[job] && !done && w->steps > 0; c++) {
		size_t k = w->lean[c].cand, r;
		double gain = cost - p->cost[k];

		if (gain <= PLACE_EPS)
			break;
		r = place_blocker(w, k);
		if (r == PLACE_NONE) {
			place_take(w, job, k);
			done = true;
		} else {
			done = place_eject_from(w, job, k, r, gain);
		}
	}
	if (!done && was != PLACE_NONE)
		place_take(w, job, was);
	return done;
}

void
place_improve(struct place_work *w, int passes, size_t steps)
{
	bool moved = true;

	w->steps = steps;
	while (w->steps > 0 && moved && passes-- > 0) {
		moved = false;
		for (size_t i = 0; i < w->p->n_jobs; i++)
			moved |= place_shift(w, i);
		for (size_t i = 0; i < w->p->n_jobs && w->steps > 0; i++)
			moved |= place_eject(w, i);
	}
}
