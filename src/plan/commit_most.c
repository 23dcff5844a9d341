/* src/plan/commit_most.c - how much all quotas together let be had, and what one more purchase
 * beside a plan would do.  Floor: domain. */
#include "config.h"

#include <math.h>

#include "plan/commit_impl.h"
#include "plan/linear.h"
#include "util/arena.h"

/* Of what is owned too much may be there already: it stays. */
static double
most_left(const struct commit_problem *p, const struct commit_quota *quota)
{
	double owned = 0;

	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind == COMMIT_OWNED)
			owned += quota->weight[i] * (double)p->lines[i].max_count *
				 commit_line_gpus(&p->lines[i]);
	return fmax(quota->limit, owned);
}

/* What the smallest machine takes of a quota; INFINITY: it counts nothing that can be had. */
static double
most_machine(const struct commit_problem *p, const struct commit_quota *quota)
{
	double least = INFINITY;

	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind != COMMIT_SPOT && p->lines[i].kind != COMMIT_OWNED &&
		    quota->weight[i] > 0)
			least = fmin(least, quota->weight[i] * commit_line_gpus(&p->lines[i]));
	return least;
}

double
commit_most(
    const struct commit_problem *p, const struct commit_shares *rules, struct arena *a, bool *binds)
{
	double *cost = arena_array(a, p->n_lines + 1, sizeof(*cost)),
	       *lo = arena_array(a, p->n_lines + 1, sizeof(*lo)),
	       *hi = arena_array(a, p->n_lines + 1, sizeof(*hi)), sum = 0;
	struct linear l;

	for (size_t i = 0; i < p->n_lines; i++) {
		const struct commit_line *x = &p->lines[i];

		if (x->kind == COMMIT_SPOT)
			continue;
		if (x->max_count == COMMIT_NO_LIMIT)
			hi[i] = COMMIT_MOST_GPUS;
		else
			hi[i] = fmin(COMMIT_MOST_GPUS, (double)x->max_count * commit_line_gpus(x));
		cost[i] = -1;
		lo[i] = x->kind == COMMIT_OWNED ? hi[i] : 0;
	}
	linear_init(&l, p->n_lines, cost, lo, hi, a);
	for (size_t q = 0; q < rules->n_quotas; q++)
		linear_row(&l, rules->quota[q].weight, most_left(p, &rules->quota[q]));
	if (linear_solve(&l) != LINEAR_SOLVED)
		return NAN;
	for (size_t i = 0; i < p->n_lines; i++)
		sum += linear_value(&l, i);
	for (size_t q = 0; q < rules->n_quotas; q++)
		binds[q] = linear_value(&l, p->n_lines + q) + 1e-6 <
			       most_machine(p, &rules->quota[q]) * (1 - 1e-9) &&
			   isfinite(most_machine(p, &rules->quota[q]));
	return sum;
}

double
commit_one_more(const struct commit_problem *p, const struct commit_plan *plan, size_t line,
    struct arena *a, double *saves_out)
{
	int64_t *count = arena_array(a, p->n_lines + 1, sizeof(*count));
	struct commit_stack st;
	double bound, fixed, use;

	for (size_t i = 0; i < p->n_lines; i++) {
		const struct commit_use *u = &plan->use[i];
		bool bought =
		    p->lines[i].kind == COMMIT_OWNED || p->lines[i].kind == COMMIT_RESERVED;

		count[i] = bought                      ? u->count
			   : u->cap == COMMIT_NO_LIMIT ? COMMIT_NO_LIMIT
						       : u->cap / p->lines[i].gpus;
	}
	commit_stack_init(p, a, &st);
	use = commit_stack_cost(&st, count, &bound);
	use -= bound;
	count[line]++;
	*saves_out = use - commit_stack_cost(&st, count, &fixed);
	*saves_out += fixed;
	return fixed - bound;
}
