/*
 * Where limits that stand beside those of the offers, such as budgets, leave jobs out: the same
 * queue without these limits, what they hold paid for instead (a Lagrangian heuristic: Beasley
 * 1993). The price of a limit that is passed rises, that of one that is kept falls, and what each
 * turn finds is cut to the limits. All jobs but those that the best plan leaves out are to stay in,
 * and one of these; a limit that no price keeps leaves one out.
 */
#include <math.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

#define SOFT_CLIMB 10U /* steps of the bound at new prices */
#define SOFT_FIRST 0.1 /* price of a limit that is passed, in what its units cost ... */
#define SOFT_RISE 1.3  /* ... and how it rises and falls */
#define SOFT_FALL 0.95
#define SOFT_MOST 8   /* a limit that is passed at this price leaves a job out ... */
#define SOFT_AFTER 8  /* ... and costs so much less then */
#define SOFT_IN 10    /* times the penalty of jobs that are to stay in */
#define SOFT_TURNS 40 /* before it begins anew from the best plan */
#define SOFT_PASSES 2

struct soft {
	struct place_work *w, work; /* of the problem as it is; of that without these limits */
	struct place_problem p;
	double *penalty;     /* [n_jobs] 0: left out for now */
	double *cost;        /* [n_cand] with what the limits cost */
	size_t first;        /* job to try next */
	size_t end;          /* turn in which it begins anew */
	size_t *since, turn; /* [n_jobs] turn in which it was left out; 0: it was not */
	double *base;        /* [n_resources] USD of cost per unit; 0: not one of these limits */
	double *price;       /* [n_resources] in shares of it */
	int64_t *use;        /* [n_resources] */
	struct dual *dual;
	struct tree *tree;
	struct lns *lns;
};

static void
soft_bases(struct soft *s)
{
	const struct place_problem *p = s->w->p;
	const struct place_more *m = p->more;
	double *units = s->price;

	for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++)
		for (size_t u = m->start[k]; u < m->start[k + 1]; u++)
			if (p->limit[m->resource[u]] != PLACE_NO_LIMIT) {
				s->base[m->resource[u]] += p->cost[k];
				units[m->resource[u]] += (double)m->units[u];
			}
	for (size_t r = 0; r < p->n_resources; r++) {
		s->base[r] = units[r] > 0 ? fmax(1e-12, s->base[r] / units[r]) : 0;
		s->price[r] = s->base[r] > 0 ? fmin(1, s->w->mu[r] / s->base[r]) : 0;
	}
}

/* Costs and penalties at the prices. */
static void
soft_costs(struct soft *s)
{
	const struct place_problem *p = s->w->p;
	const struct place_more *m = p->more;

	for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++) {
		s->cost[k] = p->cost[k];
		for (size_t u = m->start[k]; u < m->start[k + 1]; u++)
			s->cost[k] += s->price[m->resource[u]] * s->base[m->resource[u]] *
				      (double)m->units[u];
	}
	for (size_t i = 0; i < p->n_jobs; i++)
		s->penalty[i] = s->since[i] > 0 ? 0 : SOFT_IN * p->penalty[i];
}

/* From the best plan, with one more of those it leaves out. */
static void
soft_begin(struct soft *s, const size_t *chosen)
{
	const struct place_work *w = s->w;
	struct place_work *x = &s->work;
	size_t n = s->p.n_jobs, out = 0;

	place_clear(x);
	for (size_t i = 0; i < n; i++) {
		s->since[i] = 0;
		if (chosen[i] != PLACE_NONE)
			place_take(x, i, chosen[i]);
		else if (w->lean_end[i] > w->p->cand_start[i])
			s->since[i] = ++out;
	}
	s->turn = out;
	s->end = out + SOFT_TURNS;
	for (size_t y = 0; y < n; y++) {
		size_t i = (s->first + y) % n;

		if (s->since[i] == 0)
			continue;
		s->since[i] = 0;
		s->first = i + 1;
		break;
	}
	for (size_t r = 0; r < s->p.n_resources; r++)
		x->mu[r] = s->base[r] > 0 ? 0 : w->mu[r];
}

struct soft *
place_soft_new(struct place_work *w, uint64_t seed, struct arena *a)
{
	const struct place_problem *p = w->p;
	struct soft *s = arena_array(a, 1, sizeof(*s));

	s->w = w;
	s->p = *p;
	s->p.cost = s->cost = arena_array(a, p->cand_start[p->n_jobs], sizeof(*s->cost));
	s->p.penalty = s->penalty = arena_array(a, p->n_jobs, sizeof(*s->penalty));
	s->p.more = NULL;
	s->p.keep = NULL;
	s->since = arena_array(a, p->n_jobs, sizeof(*s->since));
	s->base = arena_array(a, p->n_resources, sizeof(*s->base));
	s->price = arena_array(a, p->n_resources, sizeof(*s->price));
	s->use = arena_array(a, p->n_resources, sizeof(*s->use));
	soft_bases(s);
	place_work_init(&s->p, seed, a, &s->work);
	s->dual = place_dual_new(&s->work, a);
	s->tree = place_tree_new(&s->work, a);
	s->lns = place_lns_new(&s->work, a);
	return s;
}

static int64_t
soft_units(const struct place_more *m, size_t cand, size_t r)
{
	for (size_t u = cand == PLACE_NONE ? 0 : m->start[cand];
	     cand != PLACE_NONE && u < m->start[cand + 1]; u++)
		if (m->resource[u] == r)
			return m->units[u];
	return 0;
}

/* How much is used of the limits. */
static void
soft_measure(struct soft *s)
{
	const struct place_more *m = s->w->p->more;

	memset(s->use, 0, s->p.n_resources * sizeof(*s->use));
	for (size_t i = 0; i < s->p.n_jobs; i++) {
		size_t k = s->work.chosen[i];

		for (size_t u = k == PLACE_NONE ? 0 : m->start[k];
		     k != PLACE_NONE && u < m->start[k + 1]; u++)
			s->use[m->resource[u]] += m->units[u];
	}
}

/* The job of least penalty that takes as much of the limit as is used too much, else the one that
 * takes most. */
static void
soft_leave_out(struct soft *s, size_t r)
{
	int64_t over = s->use[r] - s->p.limit[r], most = 0;
	size_t best = PLACE_NONE;

	for (size_t i = 0; i < s->p.n_jobs; i++) {
		int64_t units = soft_units(s->w->p->more, s->work.chosen[i], r);

		units = units < over ? units : over;
		if (units > most ||
		    (units == most && units > 0 && s->w->p->penalty[i] < s->w->p->penalty[best])) {
			most = units;
			best = i;
		}
	}
	if (best == PLACE_NONE)
		return;
	s->since[best] = s->turn;
	place_drop(&s->work, best);
	s->price[r] /= SOFT_AFTER;
}

/* What was left out longest comes in again. */
static void
soft_let_in(struct soft *s)
{
	size_t best = PLACE_NONE;

	for (size_t i = 0; i < s->p.n_jobs; i++)
		if (s->since[i] > 0 && (best == PLACE_NONE || s->since[i] < s->since[best]))
			best = i;
	if (best != PLACE_NONE)
		s->since[best] = 0;
}

/* How far the limit is passed, as a share of it; its price follows. */
static double
soft_reprice(struct soft *s, size_t r)
{
	if (s->base[r] == 0)
		return 0;
	if (s->use[r] <= s->p.limit[r]) {
		s->price[r] *= SOFT_FALL;
		return 0;
	}
	s->price[r] = fmax(SOFT_FIRST, s->price[r] * SOFT_RISE);
	return (double)(s->use[r] - s->p.limit[r]) / (1 + (double)s->p.limit[r]);
}

static void
soft_turn(struct soft *s)
{
	size_t worst = PLACE_NONE;
	double most = 0;
	bool over = false;

	s->turn++;
	soft_measure(s);
	for (size_t r = 0; r < s->p.n_resources; r++) {
		double share = soft_reprice(s, r);

		over |= share > 0;
		if (share > most && s->price[r] > SOFT_MOST) {
			most = share;
			worst = r;
		}
	}
	if (worst != PLACE_NONE)
		soft_leave_out(s, worst);
	else if (!over)
		soft_let_in(s);
}

/* As far as the limits allow. */
static void
soft_cut(struct soft *s, size_t steps)
{
	struct place_work *w = s->w;

	place_clear(w);
	for (size_t i = 0; i < s->p.n_jobs; i++)
		if (s->work.chosen[i] != PLACE_NONE && place_fits(w, s->work.chosen[i]))
			place_take(w, i, s->work.chosen[i]);
	place_improve(w, SOFT_PASSES, steps);
}

void
place_soft(struct soft *s, const size_t *chosen, size_t steps)
{
	struct place_work *x = &s->work;

	if (s->turn == s->end)
		soft_begin(s, chosen);
	soft_costs(s);
	place_reorder(x);
	(void)place_climb_from(x, s->dual);
	(void)place_climb(x, s->dual, SOFT_CLIMB, INFINITY);
	place_cores(x);
	place_improve(x, SOFT_PASSES, steps);
	(void)place_lns(s->lns, s->tree, steps);
	soft_turn(s);
	soft_cut(s, steps);
}
