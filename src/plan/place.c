#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place.h"
#include "plan/place_impl.h"
#include "util/arena.h"

#define PLACE_ROUND 1e-14 /* of sums: a better plan is better by more */
#define PLACE_PASSES 4
#define PLACE_IMPROVE ((size_t)100000)  /* steps of a local search, ... */
#define PLACE_IMPROVE_JOB ((size_t)100) /* ... and for each job */
#define PLACE_IMPROVE_PAIR ((size_t)2)  /* ... but no more than so often for each pair */
#define PLACE_FIRST 200U                /* steps of the bound before the first plan */
#define PLACE_FIRST_ROUNDS 8U           /* search of the first plan in rounds */
#define PLACE_FIRST_GAP 0.03            /* a first plan of which so much is unproven ... */
#define PLACE_FIRST_TIMES 4U            /* ... is made so often, ... */
#define PLACE_FIRST_MORE 50U            /* ... after so many steps more */
#define PLACE_ADMIT ((size_t)5)     /* times those steps: exchanges of one job for several, ... */
#define PLACE_ADMIT_OUT ((size_t)3) /* ... of each of the more plans where some stay out, ... */
#define PLACE_LET_IN ((size_t)20)   /* ... and for those of the best plan, of a round, ... */
#define PLACE_NOISE 1.0             /* ... their noise, ... */
#define PLACE_FIRST_ADMIT 10        /* ... and how often for the first plan, ... */
#define PLACE_FIRST_OUT 25          /* ... at most where some stay out */
#define PLACE_FIRST_VAIN 5          /* ... until so many in a row save less than ... */
#define PLACE_FIRST_LITTLE 2e-4     /* ... this share */

/* Of the jobs that are placed. */
static double
place_cost(const struct place_work *w)
{
	double sum = 0;

	for (size_t i = 0; i < w->p->n_jobs; i++)
		sum += w->chosen[i] == PLACE_NONE ? 0 : w->p->cost[w->chosen[i]];
	return sum;
}

void
place_keep(struct place_work *w, struct place_best *b)
{
	double v = place_value(w);

	if (v < b->value - PLACE_ROUND * fabs(v)) {
		b->value = v;
		b->cost = place_cost(w);
		memcpy(b->chosen, w->chosen, w->p->n_jobs * sizeof(*b->chosen));
	}
}

/* True when no limit is passed by what is chosen: then it is built up anew, so that the lists
 * agree. */
static bool
place_rebuild(struct place_work *w, size_t *tmp)
{
	bool fits = true;

	memcpy(tmp, w->chosen, w->p->n_jobs * sizeof(*tmp));
	place_clear(w);
	for (size_t i = 0; i < w->p->n_jobs && fits; i++) {
		if (tmp[i] == PLACE_NONE)
			continue;
		fits = place_fits(w, tmp[i]);
		if (fits)
			place_take(w, i, tmp[i]);
	}
	return fits;
}

/* Nothing binds: each job has its cheapest candidate, and there is nothing to search. */
static bool
place_cheapest_fit(struct place_work *w, struct place_best *b)
{
	const struct place_problem *p = w->p;

	for (size_t i = 0; i < p->n_jobs; i++) {
		bool none = p->cand_start[i] == p->cand_start[i + 1] ||
			    p->penalty[i] <= p->cost[w->sorted[p->cand_start[i]]];

		w->chosen[i] = none ? PLACE_NONE : w->sorted[p->cand_start[i]];
	}
	if (!place_rebuild(w, w->order))
		return false;
	place_keep(w, b);
	memset(b->mu, 0, w->n_all * sizeof(*b->mu));
	b->bound = b->value;
	return true;
}

/*
 * Exact where the problem, or enough of it, is a flow (*proven_out); else its bound and its prices
 * to start from. False: nothing of it is a flow.
 */
static bool
place_exact(struct place_work *w, const struct place_options *o, struct place_best *b,
    struct arena *a, bool *proven_out)
{
	double bound, *cold = arena_array(a, w->n_all, sizeof(*cold));

	memcpy(cold, w->mu, w->n_all * sizeof(*cold));
	if (!place_flow(w, o->stop, o->stop_arg, a, &bound)) {
		memcpy(w->mu, cold, w->n_all * sizeof(*cold));
		return false;
	}
	b->bound = fmax(b->bound, bound);
	memcpy(b->mu, w->mu, w->n_all * sizeof(*b->mu));
	*proven_out = place_rebuild(w, w->order);
	if (!*proven_out)
		return true;
	b->value = place_value(w);
	b->cost = place_cost(w);
	memcpy(b->chosen, w->chosen, w->p->n_jobs * sizeof(*b->chosen));
	return true;
}

/* Steps of a local search. */
static size_t
place_improve_steps(const struct place_problem *p)
{
	size_t by_job = PLACE_IMPROVE_JOB * p->n_jobs,
	       by_pair = PLACE_IMPROVE_PAIR * p->cand_start[p->n_jobs];

	return PLACE_IMPROVE + (by_job < by_pair ? by_job : by_pair);
}

static void
place_plan_by(struct place_work *w, struct place_best *b, enum place_order order, size_t steps)
{
	size_t times;

	place_greedy(w, order);
	place_improve(w, PLACE_PASSES, steps);
	times = place_value(w) > place_cost(w) ? PLACE_ADMIT_OUT : PLACE_ADMIT;
	(void)place_admit(w->admit, 0, times * place_improve_steps(w->p));
	place_keep(w, b);
}

/* Where some stay out, which ones counts most: those worth most first, by their size, its root and
 * not at all. */
static void
place_plans_by_worth(struct place_work *w, struct place_best *b, size_t steps)
{
	if (b->value <= b->cost)
		return;
	for (int half = 2; half >= 0; half--) {
		w->power = (double)half / 2;
		place_plan_by(w, b, PLACE_BY_WORTH, steps);
	}
}

void
place_plans(struct place_work *w, struct place_best *b, unsigned round, size_t times)
{
	size_t steps = times * place_improve_steps(w->p);

	place_plan_by(
	    w, b, round == 0 || rng_below(&w->rng, 2) == 0 ? PLACE_BY_SIZE : PLACE_BY_NOISE, steps);
	place_plan_by(w, b, PLACE_BY_REGRET, steps);
	if (round == 0)
		place_plans_by_worth(w, b, steps);
}

/* The largest first, at the prices to start from: none, or the last plan's. What is alike stays
 * apart by size alone. */
static void
place_plan_by_size(struct place_work *w, struct place_best *b)
{
	place_cores(w);
	place_plan_by(w, b, PLACE_BY_SIZE, place_improve_steps(w->p));
	place_plans_by_worth(w, b, place_improve_steps(w->p));
}

static double
place_risk(const struct place_work *w, const size_t *chosen)
{
	double sum = 0;

	for (size_t i = 0; i < w->p->n_jobs && w->p->risk != NULL; i++)
		sum += chosen[i] == PLACE_NONE ? 0 : w->p->risk[chosen[i]];
	return sum;
}

/* The last plan, with what came since, where none that is known is better. */
static void
place_last(struct place_work *w, struct place_best *b)
{
	double v;

	if (w->p->keep == NULL || w->p->n_jobs == 0 ||
	    !place_plan_kept(w, place_improve_steps(w->p)))
		return;
	v = place_value(w);
	if (v > b->value + PLACE_ROUND * fabs(v) ||
	    (v >= b->value && place_risk(w, w->chosen) > place_risk(w, b->chosen)))
		return;
	b->value = v;
	b->cost = place_cost(w);
	memcpy(b->chosen, w->chosen, w->p->n_jobs * sizeof(*b->chosen));
}

void
place_restore(struct place_work *w, const struct place_best *b)
{
	place_clear(w);
	for (size_t i = 0; i < w->p->n_jobs; i++)
		if (b->chosen[i] != PLACE_NONE)
			place_take(w, i, b->chosen[i]);
}

void
place_raise(const struct place_work *w, struct place_best *b, double bound)
{
	if (bound <= b->bound)
		return;
	b->bound = bound;
	memcpy(b->mu, w->mu, w->n_all * sizeof(*b->mu));
}

bool
place_let_in(struct place_work *w, struct place_best *b)
{
	double was = b->value;

	place_restore(w, b);
	if (place_admit(w->admit, PLACE_NOISE, PLACE_LET_IN * place_effort(w)))
		place_keep(w, b);
	return b->value < was;
}

size_t
place_effort(const struct place_work *w)
{
	return (1000 + w->core_start[w->p->n_jobs] / 2);
}

static size_t
place_runner_up(const struct place_work *w, size_t job, size_t chosen)
{
	const struct place_problem *p = w->p;
	size_t best = PLACE_NONE;
	double least = INFINITY;

	for (size_t c = p->cand_start[job]; c < p->cand_start[job + 1]; c++) {
		size_t k = w->sorted[c];
		double r = place_reduced(w, k);

		if (k != chosen && r < least) {
			least = r;
			best = k;
		}
	}
	return best;
}

/* Which limit keeps the job from its cheapest candidate, all else as it is. */
static size_t
place_binding(const struct place_work *w, size_t job, size_t chosen)
{
	const struct place_problem *p = w->p;
	const struct place_more *m = p->more;
	size_t k, j, best = PLACE_NONE;

	if (p->cand_start[job] == p->cand_start[job + 1])
		return PLACE_NONE;
	k = w->sorted[p->cand_start[job]];
	if (k == chosen || (chosen != PLACE_NONE && p->cost[k] >= p->cost[chosen]))
		return PLACE_NONE;
	j = p->offer[k];
	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++) {
		size_t r = p->resource[u];

		if (w->left[r] < p->need[k] * p->weight[u] &&
		    (best == PLACE_NONE || w->mu[r] > w->mu[best]))
			best = r;
	}
	for (size_t u = m == NULL ? 0 : m->start[k]; m != NULL && u < m->start[k + 1]; u++)
		if (w->left[m->resource[u]] < m->units[u] && best == PLACE_NONE)
			best = m->resource[u];
	return best;
}

/* The kept choices become the plan's, with what can be said of them. */
static void
place_report(
    struct place_work *w, const struct place_best *b, struct arena *a, struct place_plan *plan)
{
	const struct place_problem *p = w->p;

	plan->chosen = b->chosen;
	plan->shadow = arena_array(a, p->n_resources, sizeof(*plan->shadow));
	memcpy(plan->shadow, b->mu, p->n_resources * sizeof(*plan->shadow));
	for (size_t c = p->n_resources; c < w->n_all; c++)
		plan->shadow[w->cut_of[c - p->n_resources]] +=
		    b->mu[c] / (double)w->cut_by[c - p->n_resources];
	plan->runner_up = arena_array(a, p->n_jobs, sizeof(*plan->runner_up));
	plan->binds = arena_array(a, p->n_jobs, sizeof(*plan->binds));
	memcpy(w->mu, b->mu, w->n_all * sizeof(*w->mu));
	place_price(w);
	place_restore(w, b);
	place_settle(w);
	memcpy(b->chosen, w->chosen, p->n_jobs * sizeof(*b->chosen));
	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t k = b->chosen[i];

		if (k != PLACE_NONE) {
			place_drop(w, i);
			plan->placed++;
			plan->cost += p->cost[k];
		}
		plan->runner_up[i] = place_runner_up(w, i, k);
		plan->binds[i] = place_binding(w, i, k);
		if (k != PLACE_NONE)
			place_take(w, i, k);
	}
	plan->value = place_value(w);
	plan->bound = fmin(b->bound, plan->value);
	plan->optimal = plan->value - plan->bound <= PLACE_EPS * fmax(1, fabs(plan->value));
}

/* Exchanges of one job for several in the first plan: longer where some stay out and come in. */
static void
place_first_let_in(struct place_work *w, struct place_best *b)
{
	int vain = 0;

	for (int y = 0; y < PLACE_FIRST_OUT; y++) {
		double was = b->value;

		if (y >= PLACE_FIRST_ADMIT && (b->value <= b->cost || vain >= PLACE_FIRST_VAIN))
			return;
		(void)place_let_in(w, b);
		vain = b->value < was * (1 - PLACE_FIRST_LITTLE) ? 0 : vain + 1;
	}
}

/* Plans at prices that are nearly the best, then at better ones while all jobs stay in, but far
 * from the bound. */
static void
place_first(
    struct place_work *w, struct place_best *b, struct dual *d, struct tree *t, struct lns *s)
{
	for (unsigned x = 0; x < PLACE_FIRST_TIMES; x++) {
		unsigned steps = x == 0 ? PLACE_FIRST : PLACE_FIRST_MORE;

		if (x > 0 &&
		    (b->value > b->cost || b->value - b->bound <= PLACE_FIRST_GAP * b->value))
			break;
		place_raise(w, b, place_climb(w, d, steps, INFINITY));
		place_cores(w);
		place_plans(w, b, x, 1);
		place_first_let_in(w, b);
		place_restore(w, b);
		if (place_lns(s, t, PLACE_FIRST_ROUNDS * place_effort(w)))
			place_keep(w, b);
	}
}

enum berth_code
place_solve(const struct place_problem *p, const struct place_options *o, struct arena *a,
    struct place_plan *plan_out, struct berth_err *err)
{
	struct place_best b = { .value = INFINITY, .bound = -INFINITY };
	struct place_work w;
	struct dual *d;
	struct tree *t;
	struct lns *s;
	enum berth_code rc = place_check_problem(p, err);

	if (rc != BERTH_OK)
		return rc;
	memset(plan_out, 0, sizeof(*plan_out));
	place_work_init(p, o->seed, a, &w);
	w.admit = place_admit_new(&w, a);
	b.chosen = arena_array(a, p->n_jobs, sizeof(*b.chosen));
	b.mu = arena_array(a, w.n_all, sizeof(*b.mu));
	d = place_dual_new(&w, a);
	place_raise(&w, &b, place_climb_from(&w, d));
	if (place_cheapest_fit(&w, &b) ||
	    (o->rounds > 0 && place_exact(&w, o, &b, a, &plan_out->flow) && plan_out->flow)) {
		place_last(&w, &b);
		place_report(&w, &b, a, plan_out);
		return BERTH_OK;
	}
	place_raise(&w, &b, place_climb_from(&w, d));
	place_last(&w, &b);
	place_plan_by_size(&w, &b);
	if (b.value > b.cost)
		place_raise(&w, &b, place_scarce(&w, d, a));
	t = place_tree_new(&w, a);
	s = place_lns_new(&w, a);
	place_first(&w, &b, d, t, s);
	plan_out->rounds = place_rounds(&w, o, &b, d, t, s, a);
	place_report(&w, &b, a, plan_out);
	return BERTH_OK;
}
