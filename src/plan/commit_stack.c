#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/commit_impl.h"
#include "util/arena.h"

struct commit_ranked {
	struct commit_line line;
	size_t index;
};

/* Merit order: what is cheapest to use serves first. A total order, so that equal plans come out
 * the same. */
static int
commit_cmp_ranked(const void *a, const void *b)
{
	const struct commit_line *x = &((const struct commit_ranked *)a)->line,
				 *y = &((const struct commit_ranked *)b)->line;

	if (x->usage != y->usage)
		return x->usage < y->usage ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->fixed != y->fixed)
		return x->fixed < y->fixed ? -1 : 1;
	if (x->gpus != y->gpus)
		return x->gpus < y->gpus ? -1 : 1;
	return (x->ref > y->ref) - (x->ref < y->ref);
}

void
commit_stack_init(const struct commit_problem *p, struct arena *a, struct commit_stack *st)
{
	struct commit_ranked *r = arena_array(a, p->n_lines, sizeof(*r));

	st->lines = p->lines;
	st->n = p->n_lines;
	st->order = arena_array(a, p->n_lines, sizeof(*st->order));
	st->levels = p->curve->levels;
	st->mean = p->curve->mean;
	st->unserved = p->unserved;
	st->u = arena_array(a, st->levels + 1, sizeof(*st->u));
	for (size_t l = 0; l < st->levels; l++)
		st->u[l + 1] = st->u[l] + p->curve->use[l];
	st->mean = st->u[st->levels];
	for (size_t i = 0; i < p->n_lines; i++)
		r[i] = (struct commit_ranked){ p->lines[i], i };
	qsort(r, p->n_lines, sizeof(*r), commit_cmp_ranked);
	for (size_t i = 0; i < p->n_lines; i++)
		st->order[i] = r[i].index;
}

double
commit_stack_u(const struct commit_stack *st, double s)
{
	size_t l = s >= (double)st->levels ? st->levels : (size_t)s;

	if (l == st->levels)
		return st->mean;
	return st->u[l] + (s - (double)l) * (st->u[l + 1] - st->u[l]);
}

double
commit_line_gpus(const struct commit_line *l)
{
	return (double)l->gpus * (l->speed > 0 ? l->speed : 1);
}

double
commit_stack_gpus(const struct commit_line *l, int64_t count)
{
	return count == COMMIT_NO_LIMIT ? INFINITY : (double)count * commit_line_gpus(l);
}

double
commit_stack_cost(const struct commit_stack *st, const int64_t *count, double *bound_out)
{
	double at = 0, cost = 0, bound = 0;

	for (size_t k = 0; k < st->n; k++) {
		const struct commit_line *l = &st->lines[st->order[k]];
		double q = commit_stack_gpus(l, count[st->order[k]]);

		if (q == 0)
			continue;
		cost += l->usage * (commit_stack_u(st, at + q) - commit_stack_u(st, at));
		if (l->kind == COMMIT_RESERVED)
			bound += l->fixed * q;
		at += q;
	}
	cost += st->unserved * (st->mean - commit_stack_u(st, at));
	if (bound_out != NULL)
		*bound_out = bound;
	return cost + bound;
}
