/*
 * Large neighbourhood search (Shaw 1998): some jobs that stand in one another's way are placed
 * anew, best first, by branch and bound, while all others stay.
 */
#include <math.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

#define LNS_LEAST 4
#define LNS_MOST 14
#define LNS_STEPS ((size_t)2000) /* of one branch and bound */
#define LNS_COST ((size_t)300)   /* of making a neighbourhood, in steps */
#define LNS_KICKS 2              /* neighbourhoods that a kick stirs up, ... */
#define LNS_KICK_CHOICES 2       /* ... each job among so many choices */

struct lns {
	struct place_work *w;
	size_t *stamp, search; /* [n_jobs] neighbourhood that the job was last in */
	size_t jobs[LNS_MOST], n, want;
};

static void
lns_add(struct lns *s, size_t job)
{
	if (s->n >= s->want || s->stamp[job] == s->search)
		return;
	s->stamp[job] = s->search;
	s->jobs[s->n++] = job;
}

/* What the job pays over its cheapest choice at the shadow prices. */
static double
lns_excess(const struct place_work *w, size_t i)
{
	double least = w->p->penalty[i];
	double now = w->chosen[i] == PLACE_NONE ? w->p->penalty[i] : place_reduced(w, w->chosen[i]);

	if (w->core_end[i] > w->core_start[i])
		least = fmin(least, w->core[w->core_start[i]].reduced);
	return now - least;
}

/* The jobs on an offer that draws on the resource, one picked by chance. */
static void
lns_users(struct lns *s, size_t r)
{
	struct place_work *w = s->w;
	size_t n = w->at_start[r + 1] - w->at_start[r];

	for (int tries = 0; tries < 4 && n > 0; tries++) {
		size_t j = w->at_offer[w->at_start[r] + rng_below(&w->rng, n)];

		for (size_t i = w->head[j]; i != PLACE_NONE && s->n < s->want; i = w->next[i])
			if (rng_below(&w->rng, 4) != 0)
				lns_add(s, i);
	}
}

/* Those who draw on the same budget as the candidate, which it would pass. */
static void
lns_mates(struct lns *s, size_t cand)
{
	struct place_work *w = s->w;
	const struct place_more *m = w->p->more;

	for (size_t u = m == NULL ? 0 : m->start[cand]; m != NULL && u < m->start[cand + 1]; u++) {
		size_t r = m->resource[u], n = w->mate_start[r + 1] - w->mate_start[r];
		size_t first = rng_below(&w->rng, n);

		for (size_t x = 0; w->left[r] < m->units[u] && x < n && s->n < s->want; x++)
			if (rng_below(&w->rng, 4) != 0)
				lns_add(s, w->mate[w->mate_start[r] + (first + x) % n]);
	}
}

/* Those who stand where the job would rather be. */
static void
lns_rivals(struct lns *s, size_t job)
{
	struct place_work *w = s->w;
	size_t n = w->core_end[job] - w->core_start[job], look = 1 + rng_below(&w->rng, 5);

	for (size_t c = 0; c < look && c < n; c++) {
		const struct place_core *v =
		    &w->core[w->core_start[job] +
			     (rng_below(&w->rng, 4) == 0 ? rng_below(&w->rng, n) : c)];
		size_t r;

		if (v->cand == w->chosen[job])
			continue;
		for (size_t i = w->head[w->p->offer[v->cand]]; i != PLACE_NONE && s->n < s->want;
		     i = w->next[i])
			if (rng_below(&w->rng, 5) != 0)
				lns_add(s, i);
		r = place_blocker(w, v->cand);
		if (r != PLACE_NONE)
			lns_users(s, r);
		lns_mates(s, v->cand);
	}
}

static void
lns_choose(struct lns *s)
{
	struct place_work *w = s->w;
	size_t first = PLACE_NONE, n = w->p->n_jobs;
	double most = -INFINITY;

	s->search++;
	s->n = 0;
	s->want = LNS_LEAST + rng_below(&w->rng, LNS_MOST - LNS_LEAST + 1);
	for (size_t x = 1 + rng_below(&w->rng, 6); x > 0; x--) {
		size_t i = rng_below(&w->rng, n);
		double e = lns_excess(w, i);

		if (e > most) {
			most = e;
			first = i;
		}
	}
	lns_add(s, first);
	for (size_t x = 0; x < s->n && s->n < s->want; x++)
		lns_rivals(s, s->jobs[x]);
}

struct lns *
place_lns_new(struct place_work *w, struct arena *a)
{
	struct lns *s = arena_array(a, 1, sizeof(*s));

	s->w = w;
	s->stamp = arena_array(a, w->p->n_jobs, sizeof(*s->stamp));
	return s;
}

bool
place_lns(struct lns *s, struct tree *t, size_t steps)
{
	bool any = false;

	if (s->w->p->n_jobs == 0)
		return false;
	while (steps > 0) {
		size_t room = LNS_STEPS, used;
		bool better;

		lns_choose(s);
		(void)place_tree(t, s->jobs, s->n, true, &room, &better);
		any |= better;
		used = LNS_STEPS - room + LNS_COST;
		steps -= used < steps ? used : steps;
	}
	return any;
}

/* One of the job's few best choices that fit, picked by chance. */
static size_t
lns_any(struct lns *s, size_t job)
{
	struct place_work *w = s->w;
	size_t best = PLACE_NONE, tries = 1 + rng_below(&w->rng, LNS_KICK_CHOICES);

	for (size_t c = w->core_start[job]; c < w->core_end[job] && tries > 0; c++) {
		if (!place_fits(w, w->core[c].cand))
			continue;
		best = w->core[c].cand;
		tries--;
	}
	return best;
}

void
place_kick(struct lns *s)
{
	struct place_work *w = s->w;

	for (int x = 0; x < LNS_KICKS && w->p->n_jobs > 0; x++) {
		lns_choose(s);
		for (size_t k = 0; k < s->n; k++)
			if (w->chosen[s->jobs[k]] != PLACE_NONE)
				place_drop(w, s->jobs[k]);
		for (size_t k = s->n; k > 0; k--) {
			size_t y = rng_below(&w->rng, k), job = s->jobs[y], cand;

			s->jobs[y] = s->jobs[k - 1];
			cand = lns_any(s, job);
			if (cand != PLACE_NONE)
				place_take(w, job, cand);
		}
	}
}
