/*
 * Branch and bound over the placements of some jobs while all others stay, at the shadow prices of
 * the best bound: what is open takes its cheapest reduced cost that still fits, and the job that
 * would lose most by its second choice is decided next.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

struct tree_choice {
	double reduced;
	size_t cand; /* PLACE_NONE: left out */
};

struct tree {
	struct place_work *w;
	struct tree_choice *list; /* each job's choices, cheap first */
	size_t *start;            /* [n + 1] into list */
	size_t *jobs, n;
	bool *done;                 /* [n] */
	size_t *best;               /* [n] */
	double *most;               /* [n_all] that the jobs could take */
	size_t *touched, n_touched; /* resources with most > 0 */
	double value;               /* of these jobs */
	size_t steps;               /* left */
	size_t open;                /* jobs not decided */
	bool better;
};

static int
tree_cmp(const void *pa, const void *pb)
{
	const struct tree_choice *a = pa, *b = pb;

	if (a->reduced != b->reduced)
		return a->reduced < b->reduced ? -1 : 1;
	return a->cand < b->cand ? -1 : a->cand > b->cand;
}

static double
tree_cut(const struct tree *t)
{
	return t->value - PLACE_EPS * fmax(1, fabs(t->value));
}

static bool
tree_fits(const struct tree *t, size_t c)
{
	return t->list[c].cand == PLACE_NONE || place_fits(t->w, t->list[c].cand);
}

static double
tree_value(const struct tree *t)
{
	double value = 0;

	for (size_t x = 0; x < t->n; x++)
		value += place_cost_of(t->w, t->jobs[x]);
	return value;
}

static void
tree_leaf(struct tree *t)
{
	double value = tree_value(t);

	if (value >= tree_cut(t))
		return;
	t->value = value;
	t->better = true;
	for (size_t x = 0; x < t->n; x++)
		t->best[x] = t->w->chosen[t->jobs[x]];
}

/*
 * The bound below this branch and the job to decide next: *low_out, *first_out its cheapest choice
 * that fits. False: nothing better lies here.
 */
static bool
tree_look(struct tree *t, double fixed, double *low_out, size_t *job_out, double *first_out)
{
	double low = fixed, most = -1;

	*job_out = PLACE_NONE;
	for (size_t x = 0; x < t->n; x++) {
		double first = INFINITY, second = INFINITY;

		if (t->done[x])
			continue;
		for (size_t c = t->start[x]; c < t->start[x + 1] && second == INFINITY; c++) {
			t->steps -= t->steps > 0;
			if (!tree_fits(t, c))
				continue;
			if (first == INFINITY)
				first = t->list[c].reduced;
			else
				second = t->list[c].reduced;
		}
		low += first;
		if (low >= tree_cut(t))
			return false;
		if (second - first > most) {
			most = second - first;
			*job_out = x;
			*first_out = first;
		}
	}
	*low_out = low;
	return true;
}

/* The last open job x: only what makes the plan better is worth a look. */
static void
tree_last(struct tree *t, size_t x, double fixed)
{
	const struct place_problem *p = t->w->p;
	size_t job = t->jobs[x];
	double rest = tree_value(t) - p->penalty[job];

	for (size_t c = t->start[x];
	     c < t->start[x + 1] && fixed + t->list[c].reduced < tree_cut(t); c++) {
		size_t k = t->list[c].cand;

		if (rest + (k == PLACE_NONE ? p->penalty[job] : p->cost[k]) >= tree_cut(t) ||
		    !tree_fits(t, c))
			continue;
		if (k != PLACE_NONE)
			place_take(t->w, job, k);
		tree_leaf(t);
		if (k != PLACE_NONE)
			place_drop(t->w, job);
	}
}

static void
tree_branch(struct tree *t, double fixed)
{
	double low, first = 0;
	size_t x;

	if (t->steps == 0 || !tree_look(t, fixed, &low, &x, &first))
		return;
	if (x == PLACE_NONE) {
		tree_leaf(t);
		return;
	}
	if (t->open == 1) {
		tree_last(t, x, fixed);
		return;
	}
	t->done[x] = true;
	t->open--;
	for (size_t c = t->start[x]; c < t->start[x + 1] && t->steps > 0; c++) {
		size_t k = t->list[c].cand;

		if (low - first + t->list[c].reduced >= tree_cut(t))
			break;
		if (!tree_fits(t, c))
			continue;
		if (k != PLACE_NONE)
			place_take(t->w, t->jobs[x], k);
		tree_branch(t, fixed + t->list[c].reduced);
		if (k != PLACE_NONE)
			place_drop(t->w, t->jobs[x]);
	}
	t->open++;
	t->done[x] = false;
}

static void
tree_touch(struct tree *t, size_t r, double units)
{
	if (t->most[r] == 0)
		t->touched[t->n_touched++] = r;
	t->most[r] += units;
}

static void
tree_room(struct tree *t, size_t k)
{
	const struct place_work *w = t->w;
	const struct place_more *m = w->p->more;
	size_t s = w->slot[k];

	for (size_t u = w->use_start[s]; u < w->use_start[s + 1]; u++)
		tree_touch(t, w->use[u], (double)w->units[u]);
	for (size_t u = m == NULL ? 0 : m->start[k]; m != NULL && u < m->start[k + 1]; u++)
		tree_touch(t, m->resource[u], (double)m->units[u]);
}

/* The choices of a job, cheap first: of its core or of all. */
static size_t
tree_list(struct tree *t, size_t i, size_t n, bool core)
{
	const struct place_work *w = t->w;
	const struct place_problem *p = w->p;
	size_t from = n;

	t->list[n++] = (struct tree_choice){ p->penalty[i], PLACE_NONE };
	for (size_t c = core ? w->core_start[i] : p->cand_start[i];
	     c < (core ? w->core_end[i] : p->cand_start[i + 1]); c++) {
		size_t k = core ? w->core[c].cand : c;

		if (!place_fits(w, k))
			continue;
		t->list[n++] = (struct tree_choice){ place_reduced(w, k), k };
		tree_room(t, k);
	}
	qsort(t->list + from, n - from, sizeof(*t->list), tree_cmp);
	return n;
}

/* What the limits are worth at their prices, as far as these jobs can use them. */
static double
tree_worth(struct tree *t)
{
	double worth = 0;

	for (size_t x = 0; x < t->n_touched; x++) {
		size_t r = t->touched[x];

		if (t->w->mu[r] > 0)
			worth += t->w->mu[r] * fmin((double)t->w->left[r], t->most[r]);
		t->most[r] = 0;
	}
	t->n_touched = 0;
	return worth;
}

struct tree *
place_tree_new(struct place_work *w, struct arena *a)
{
	const struct place_problem *p = w->p;
	struct tree *t = arena_array(a, 1, sizeof(*t));
	size_t n = 0, whole = p->n_jobs <= PLACE_TREE_JOBS ? p->n_jobs : PLACE_TREE_JOBS;

	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t all = p->cand_start[i + 1] - p->cand_start[i] + 1;

		n = p->n_jobs <= PLACE_TREE_JOBS ? n + all : n;
	}
	if (p->n_jobs > PLACE_TREE_JOBS)
		n = PLACE_TREE_JOBS * (PLACE_CORE + 1);
	t->w = w;
	t->list = arena_array(a, n, sizeof(*t->list));
	t->start = arena_array(a, whole + 1, sizeof(*t->start));
	t->done = arena_array(a, whole, sizeof(*t->done));
	t->best = arena_array(a, whole, sizeof(*t->best));
	t->most = arena_array(a, w->n_all, sizeof(*t->most));
	t->touched = arena_array(a, w->n_all, sizeof(*t->touched));
	return t;
}

bool
place_tree(struct tree *t, size_t *jobs, size_t n, bool core, size_t *steps, bool *better_out)
{
	struct place_work *w = t->w;
	size_t end = 0;
	double fixed;

	t->jobs = jobs;
	t->n = n;
	t->steps = *steps;
	t->open = n;
	t->better = false;
	t->value = tree_value(t);
	for (size_t x = 0; x < n; x++) {
		t->best[x] = w->chosen[jobs[x]];
		t->done[x] = false;
		if (t->best[x] != PLACE_NONE)
			place_drop(w, jobs[x]);
	}
	for (size_t x = 0; x < n; x++) {
		t->start[x] = end;
		end = tree_list(t, jobs[x], end, core);
	}
	t->start[n] = end;
	fixed = -tree_worth(t);
	tree_branch(t, fixed);
	for (size_t x = 0; x < n; x++)
		if (t->best[x] != PLACE_NONE)
			place_take(w, jobs[x], t->best[x]);
	*steps = t->steps;
	*better_out = t->better;
	return t->steps > 0;
}
