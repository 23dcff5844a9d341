/* What the last plan chose stays so where that costs nothing: whoever watches the queue sees no job
 * move without a reason. */
#include <math.h>

#include "plan/place_impl.h"

#define KEEP_STEPS ((size_t)1000) /* rivals looked at for each job */

bool
place_plan_kept(struct place_work *w, size_t steps)
{
	const struct place_problem *p = w->p;
	bool any = false;

	place_clear(w);
	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t k = p->keep[i];

		if (k == PLACE_NONE || !place_fits(w, k))
			continue;
		place_take(w, i, k);
		any = true;
	}
	if (any)
		place_improve(w, 2, steps);
	return any;
}

static double
keep_cost(const struct place_problem *p, size_t job, size_t cand)
{
	return cand == PLACE_NONE ? p->penalty[job] : p->cost[cand];
}

static double
keep_risk(const struct place_problem *p, size_t cand)
{
	return cand == PLACE_NONE || p->risk == NULL ? 0 : p->risk[cand];
}

static bool
keep_no_dearer(double now, double was)
{
	return now <= was + PLACE_EPS * fmax(1, fabs(was));
}

/* The job goes where the last plan had it if there is room. */
static bool
keep_alone(struct place_work *w, size_t job)
{
	const struct place_problem *p = w->p;
	size_t was = w->chosen[job], k = p->keep[job];

	if (!keep_no_dearer(keep_cost(p, job, k), keep_cost(p, job, was)) ||
	    !keep_no_dearer(keep_risk(p, k), keep_risk(p, was)))
		return false;
	if (was != PLACE_NONE)
		place_drop(w, job);
	if (place_fits(w, k)) {
		place_take(w, job, k);
		return true;
	}
	if (was != PLACE_NONE)
		place_take(w, job, was);
	return false;
}

/* The other's candidate that is alike to this one, of another job: same offer, least cost;
 * PLACE_NONE: it has none. */
static size_t
keep_there(const struct place_work *w, size_t other, size_t cand)
{
	const struct place_problem *p = w->p;
	size_t best = PLACE_NONE;

	for (size_t k = p->cand_start[other]; k < p->cand_start[other + 1]; k++)
		if (p->offer[k] == p->offer[cand] &&
		    (best == PLACE_NONE || p->cost[k] < p->cost[best]))
			best = k;
	return best;
}

/* The job changes places with another one that stands where it was. */
static bool
keep_change(struct place_work *w, size_t job, size_t other)
{
	const struct place_problem *p = w->p;
	size_t was = w->chosen[job], k = p->keep[job], its = w->chosen[other], to = was;
	double cost, risk;

	if (its == p->keep[other])
		return false;
	if (was != PLACE_NONE && (to = keep_there(w, other, was)) == PLACE_NONE)
		return false;
	cost = keep_cost(p, job, was) + keep_cost(p, other, its);
	risk = keep_risk(p, was) + keep_risk(p, its);
	if (!keep_no_dearer(keep_cost(p, job, k) + keep_cost(p, other, to), cost) ||
	    !keep_no_dearer(keep_risk(p, k) + keep_risk(p, to), risk))
		return false;
	if (was != PLACE_NONE)
		place_drop(w, job);
	place_drop(w, other);
	if (place_fits(w, k)) {
		place_take(w, job, k);
		if (to == PLACE_NONE)
			return true;
		if (place_fits(w, to)) {
			place_take(w, other, to);
			return true;
		}
		place_drop(w, job);
	}
	if (was != PLACE_NONE)
		place_take(w, job, was);
	place_take(w, other, its);
	return false;
}

static bool
keep_job(struct place_work *w, size_t job)
{
	const struct place_problem *p = w->p;
	size_t r, steps = KEEP_STEPS;

	if (keep_alone(w, job))
		return true;
	r = place_blocker(w, p->keep[job]);
	for (size_t x = r == PLACE_NONE ? 0 : w->at_start[r];
	     r != PLACE_NONE && x < w->at_start[r + 1]; x++) {
		size_t other = w->head[w->at_offer[x]], after;

		for (; other != PLACE_NONE && steps > 0; other = after, steps--) {
			after = w->next[other];
			if (other != job && keep_change(w, job, other))
				return true;
		}
	}
	for (size_t x = r == PLACE_NONE ? 0 : w->mate_start[r];
	     r != PLACE_NONE && x < w->mate_start[r + 1] && steps > 0; x++, steps--) {
		size_t other = w->mate[x];

		if (other != job && w->chosen[other] != PLACE_NONE && keep_change(w, job, other))
			return true;
	}
	return false;
}

void
place_settle(struct place_work *w)
{
	const struct place_problem *p = w->p;
	bool moved = p->keep != NULL;

	while (moved) {
		moved = false;
		for (size_t i = 0; i < p->n_jobs; i++)
			if (p->keep[i] != PLACE_NONE && w->chosen[i] != p->keep[i])
				moved |= keep_job(w, i);
	}
}
