/*
 * One job for several: a job that stays out, or is dear, takes the place of those that lose least
 * by it, for what they take of what it lacks, and these go where there is still room.
 */
#include <math.h>

#include "plan/place_impl.h"
#include "util/arena.h"

#define ADMIT_MOST 24   /* most jobs that make room for one */
#define ADMIT_BEST 6    /* choices of a job in place that are worth it */
#define ADMIT_TRIES 16  /* least choices of a job that stays out, ... */
#define ADMIT_ALL 384   /* ... and those of all such jobs, shared by what they would save */
#define ADMIT_SHARE 0.3 /* of what a job gains: loss of those whose whole room it would take */

/* A choice of a job that stays out, and what it is likely to cost. */
struct admit_choice {
	double cost;
	size_t at; /* in w->lean */
};

struct admit {
	struct place_work *w;
	struct admit_choice best[ADMIT_TRIES + ADMIT_ALL];
	double out;           /* penalties of the jobs that stay out */
	double *loss;         /* [n_jobs] what the job loses where it goes, in this trial, ... */
	size_t *stamp, trial; /* [n_jobs] ... the last one that it was looked at in */
	double noise;         /* of what is lost */
	size_t victim[ADMIT_MOST], was[ADMIT_MOST], n;
};

struct admit *
place_admit_new(struct place_work *w, struct arena *a)
{
	struct admit *m = arena_array(a, 1, sizeof(*m));

	m->w = w;
	m->loss = arena_array(a, w->p->n_jobs, sizeof(*m->loss));
	m->stamp = arena_array(a, w->p->n_jobs, sizeof(*m->stamp));
	return m;
}

/* What the candidate takes of the resource. */
static int64_t
admit_units(const struct place_work *w, size_t cand, size_t r)
{
	const struct place_more *m = w->p->more;
	size_t s = w->slot[cand];

	for (size_t u = w->use_start[s]; u < w->cut_start[s]; u++)
		if (w->use[u] == r)
			return w->units[u];
	for (size_t u = m == NULL ? 0 : m->start[cand]; m != NULL && u < m->start[cand + 1]; u++)
		if (m->resource[u] == r)
			return m->units[u];
	return 0;
}

/* What the job would lose by going elsewhere while all others stay. */
static double
admit_loss(struct admit *m, size_t i)
{
	struct place_work *w = m->w;
	size_t was = w->chosen[i], k;

	if (m->stamp[i] == m->trial)
		return m->loss[i];
	k = place_cheapest(w, i, w->p->penalty[i], was);
	m->stamp[i] = m->trial;
	m->loss[i] = (k == PLACE_NONE ? w->p->penalty[i] : w->p->cost[k]) - w->p->cost[was];
	if (m->noise > 0)
		m->loss[i] *= 1 + m->noise * (rng_unit(&w->rng) - 0.5);
	return m->loss[i];
}

/* The job's loss for each unit of the resource that is missing becomes *least, if it is less. */
static void
admit_look(struct admit *m, size_t i, size_t r, int64_t missing, double *least, size_t *best)
{
	int64_t units = admit_units(m->w, m->w->chosen[i], r);
	double loss;

	if (units == 0)
		return;
	m->w->steps -= m->w->steps > 0;
	loss = admit_loss(m, i) / (double)(units < missing ? units : missing);
	if (loss >= *least)
		return;
	*least = loss;
	*best = i;
}

/* Who makes room in the resource; PLACE_NONE: nobody can. */
static size_t
admit_victim(struct admit *m, size_t r, int64_t missing)
{
	const struct place_work *w = m->w;
	size_t best = PLACE_NONE;
	double least = INFINITY;

	for (size_t x = w->at_start[r]; x < w->at_start[r + 1]; x++)
		for (size_t i = w->head[w->at_offer[x]]; i != PLACE_NONE; i = w->next[i])
			admit_look(m, i, r, missing, &least, &best);
	for (size_t x = w->mate_start[r]; x < w->mate_start[r + 1]; x++)
		if (w->chosen[w->mate[x]] != PLACE_NONE)
			admit_look(m, w->mate[x], r, missing, &least, &best);
	return best;
}

/* Jobs go until the candidate fits; false: they lose more than it gains. */
static bool
admit_room(struct admit *m, size_t cand, double gain)
{
	struct place_work *w = m->w;
	size_t r;

	m->n = 0;
	m->trial++;
	while ((r = place_blocker(w, cand)) != PLACE_NONE) {
		size_t v = m->n == ADMIT_MOST || w->steps == 0
			       ? PLACE_NONE
			       : admit_victim(m, r, admit_units(w, cand, r) - w->left[r]);

		if (v == PLACE_NONE || (gain -= m->loss[v]) <= PLACE_EPS)
			return false;
		m->was[m->n] = w->chosen[v];
		m->victim[m->n++] = v;
		place_drop(w, v);
	}
	return true;
}

/* Those who need not go come back, the last first. */
static void
admit_spare(struct admit *m, size_t cand)
{
	struct place_work *w = m->w;

	for (size_t x = m->n; x-- > 0;) {
		if (!place_fits(w, m->was[x]))
			continue;
		place_take(w, m->victim[x], m->was[x]);
		if (!place_fits(w, cand)) {
			place_drop(w, m->victim[x]);
			continue;
		}
		m->n--;
		m->was[x] = m->was[m->n];
		m->victim[x] = m->victim[m->n];
	}
}

/* Those who went, the largest first, to where it is cheapest. Returns what they lose. */
static double
admit_settle(struct admit *m)
{
	struct place_work *w = m->w;
	double loss = 0;

	for (size_t y = 0; y < m->n; y++) {
		size_t best = y, v, t, k;

		for (size_t x = y + 1; x < m->n; x++)
			if (w->p->need[m->was[x]] > w->p->need[m->was[best]])
				best = x;
		v = m->victim[best];
		t = m->was[best];
		m->victim[best] = m->victim[y];
		m->was[best] = m->was[y];
		m->victim[y] = v;
		m->was[y] = t;
		k = place_cheapest(w, v, w->p->penalty[v], PLACE_NONE);
		if (k != PLACE_NONE)
			place_take(w, v, k);
		loss += place_cost_of(w, v) - w->p->cost[t];
	}
	return loss;
}

/* All is as before. */
static void
admit_undo(struct admit *m)
{
	struct place_work *w = m->w;

	for (size_t x = 0; x < m->n; x++)
		if (w->chosen[m->victim[x]] != PLACE_NONE)
			place_drop(w, m->victim[x]);
	for (size_t x = 0; x < m->n; x++)
		place_take(w, m->victim[x], m->was[x]);
}

/* The job, which is not placed, for some that lose less than gain; true: it is now. */
static bool
admit_try(struct admit *m, size_t job, size_t cand, double gain)
{
	struct place_work *w = m->w;

	if (admit_room(m, cand, gain)) {
		admit_spare(m, cand);
		place_take(w, job, cand);
		if (admit_settle(m) < gain - PLACE_EPS)
			return true;
		place_drop(w, job);
	}
	admit_undo(m);
	return false;
}

/* What those would lose who stand where the candidate lacks room: its price, and for limits that
 * have none a share of what is gained. */
static double
admit_likely(struct admit *m, uint32_t slot, double gain)
{
	struct place_work *w = m->w;
	double sum = 0, share = 0;

	for (size_t u = w->use_start[slot]; u < w->use_start[slot + 1]; u++) {
		double lacks = (double)(w->units[u] - w->left[w->use[u]]);

		if (lacks <= 0)
			continue;
		sum += w->mu[w->use[u]] * lacks;
		share = fmax(share, lacks / (double)w->units[u]);
	}
	sum += ADMIT_SHARE * share * gain;
	return m->noise > 0 ? sum * (1 + m->noise * (rng_unit(&w->rng) - 0.5)) : sum;
}

/* The job's choices that are likely to cost least, into m->best, cheap first. A job that would save
 * more than others has more of them. */
static size_t
admit_choose(struct admit *m, size_t job)
{
	const struct place_work *w = m->w;
	const struct place_problem *p = w->p;
	size_t room, n = 0;

	room = ADMIT_TRIES + (size_t)(ADMIT_ALL * fmin(1, p->penalty[job] / m->out));
	for (size_t c = p->cand_start[job]; c < w->lean_end[job]; c++) {
		double cost = w->lean[c].cost, v;
		size_t x;

		v = cost + admit_likely(m, w->lean[c].slot, p->penalty[job] - cost);
		if (n == room && v >= m->best[n - 1].cost)
			continue;
		n += n < room;
		for (x = n - 1; x > 0 && m->best[x - 1].cost > v; x--)
			m->best[x] = m->best[x - 1];
		m->best[x] = (struct admit_choice){ v, c };
	}
	return n;
}

static bool
admit_out(struct admit *m, size_t job)
{
	struct place_work *w = m->w;
	size_t n = admit_choose(m, job);

	for (size_t x = 0; x < n && w->steps > 0; x++) {
		const struct place_lean *v = &w->lean[m->best[x].at];

		if (admit_try(m, job, v->cand, w->p->penalty[job] - v->cost))
			return true;
	}
	return false;
}

/* A job that is placed, for one of those few that were best at the prices. */
static bool
admit_dear(struct admit *m, size_t job)
{
	struct place_work *w = m->w;
	size_t was = w->chosen[job], end = w->core_start[job] + ADMIT_BEST;
	double least;

	if (end > w->core_end[job])
		end = w->core_end[job];
	if (w->core_start[job] == end || was == w->core[w->core_start[job]].cand)
		return false;
	least = place_reduced(w, was);
	place_drop(w, job);
	for (size_t c = w->core_start[job]; c < end && w->steps > 0; c++) {
		const struct place_core *v = &w->core[c];

		if (v->reduced >= least)
			break;
		if (v->cand != was && admit_try(m, job, v->cand, w->p->cost[was] - v->cost))
			return true;
	}
	place_take(w, job, was);
	return false;
}

/* Each job that stays out, once, from this one on: they gain most. */
static bool
admit_all_out(struct admit *m, size_t i)
{
	struct place_work *w = m->w;
	size_t n = w->p->n_jobs;
	bool any = false;

	m->out = 0;
	for (size_t x = 0; x < n; x++)
		m->out += w->chosen[x] == PLACE_NONE ? w->p->penalty[x] : 0;
	for (size_t x = 0; x < n && w->steps > 0; x++, i = i + 1 < n ? i + 1 : 0)
		if (w->chosen[i] == PLACE_NONE && admit_out(m, i))
			any = true;
	return any;
}

bool
place_admit(struct admit *m, double noise, size_t steps)
{
	struct place_work *w = m->w;
	size_t n = w->p->n_jobs, last = 0, i = n > 0 ? rng_below(&w->rng, n) : 0;
	bool any;

	w->steps = steps;
	m->noise = noise;
	any = admit_all_out(m, i);
	for (; last < n && w->steps > 0; last++, i = i + 1 < n ? i + 1 : 0)
		if (w->chosen[i] == PLACE_NONE ? admit_out(m, i) : admit_dear(m, i)) {
			any = true;
			last = 0;
		}
	return any;
}
