/*
 * Branch and bound over the placements of a small queue, at the shadow prices of its best bound: what is open takes its
 * cheapest reduced cost that still fits, and the job that would lose most by its second choice is decided next.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

struct tree_choice {
	double reduced;
	size_t cand;		/* PLACE_NONE: left out */
};

struct tree {
	struct place_work *w;
	struct tree_choice *list;	/* each job's choices, cheap first */
	size_t *start;			/* [n_jobs + 1] into list */
	bool *done;			/* [n_jobs] */
	size_t *best;			/* [n_jobs] */
	double value;
	size_t steps;			/* left */
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

static void
tree_leaf(struct tree *t)
{
	double value = place_value(t->w);

	if (value < tree_cut(t)) {
		t->value = value;
		memcpy(t->best, t->w->chosen, t->w->p->n_jobs * sizeof(*t->best));
	}
}

/*
 * The bound below this branch and the job to decide next: *low_out, *first_out its cheapest choice that fits. False: nothing
 * better lies here. Reduced costs are never below 0, so that a part of the sum is a bound already.
 */
static bool
tree_look(struct tree *t, double fixed, double *low_out, size_t *job_out, double *first_out)
{
	double low = fixed, most = -1;

	*job_out = PLACE_NONE;
	for (size_t i = 0; i < t->w->p->n_jobs; i++) {
		double first = INFINITY, second = INFINITY;

		if (t->done[i])
			continue;
		for (size_t c = t->start[i]; c < t->start[i + 1] && second == INFINITY; c++) {
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
			*job_out = i;
			*first_out = first;
		}
	}
	*low_out = low;
	return true;
}

static void
tree_branch(struct tree *t, double fixed)
{
	double low, first = 0;
	size_t i;

	if (t->steps == 0 || !tree_look(t, fixed, &low, &i, &first))
		return;
	if (i == PLACE_NONE) {
		tree_leaf(t);
		return;
	}
	t->done[i] = true;
	for (size_t c = t->start[i]; c < t->start[i + 1] && t->steps > 0; c++) {
		size_t k = t->list[c].cand;

		if (low - first + t->list[c].reduced >= tree_cut(t))
			break;
		if (!tree_fits(t, c))
			continue;
		if (k != PLACE_NONE)
			place_take(t->w, i, k);
		tree_branch(t, fixed + t->list[c].reduced);
		if (k != PLACE_NONE)
			place_drop(t->w, i);
	}
	t->done[i] = false;
}

/* The choices of each job, cheap first. */
static void
tree_lists(struct tree *t)
{
	const struct place_work *w = t->w;
	const struct place_problem *p = w->p;
	size_t n = 0;

	for (size_t i = 0; i < p->n_jobs; i++) {
		t->start[i] = n;
		t->list[n++] = (struct tree_choice){ p->penalty[i], PLACE_NONE };
		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++)
			if (place_never_fits(p, k) == PLACE_NONE)
				t->list[n++] = (struct tree_choice){ place_reduced(w, k), k };
		qsort(t->list + t->start[i], n - t->start[i], sizeof(*t->list), tree_cmp);
	}
	t->start[p->n_jobs] = n;
}

bool
place_tree(struct place_work *w, size_t *chosen, double *value, size_t steps, struct arena *a)
{
	const struct place_problem *p = w->p;
	struct tree t = { .w = w, .best = chosen, .value = *value, .steps = steps };
	double fixed = 0;

	t.list = arena_array(a, p->cand_start[p->n_jobs] + p->n_jobs, sizeof(*t.list));
	t.start = arena_array(a, p->n_jobs + 1, sizeof(*t.start));
	t.done = arena_array(a, p->n_jobs, sizeof(*t.done));
	place_clear(w);
	tree_lists(&t);
	for (size_t r = 0; r < p->n_resources; r++)
		fixed -= w->mu[r] > 0 ? w->mu[r] * (double)p->limit[r] : 0;
	tree_branch(&t, fixed);
	*value = t.value;
	return t.steps > 0;
}
