#include <math.h>
#include <string.h>

#include "plan/schedule_tree.h"
#include "util/arena.h"

/* Do two purchases count in one sum, of one member or of all? */
static bool
tree_alike(const struct rules *s, size_t j, size_t k, bool all)
{
	return (all || s->offer[j].member == s->offer[k].member) &&
	       s->offer[j].gpus == s->offer[k].gpus;
}

/* Is there a sum of the same purchases? */
static bool
tree_known(const struct rules *s, const size_t *offer, size_t n)
{
	for (size_t k = 0; k < s->n_sums; k++)
		if (s->sum[k].n == n && memcmp(s->sum[k].offer, offer, n * sizeof(*offer)) == 0)
			return true;
	return false;
}

/* The sum in a stretch of what is like purchase j, the first of those that run then. */
static void
tree_sum(struct rules *s, size_t j, size_t t, bool all)
{
	size_t *offer = arena_array(s->a, s->n_offers + 1, sizeof(*offer)), n = 0;
	double most = 0;

	for (size_t k = 0; k < s->n_offers; k++) {
		if (!tree_alike(s, j, k, all) || !rules_runs(s, k, t))
			continue;
		if (k < j)
			return;
		offer[n++] = k;
		most += s->all[k];
	}
	if (n < 2 || tree_known(s, offer, n))
		return;
	VEC_PUSH(s->a, &s->sums, (struct rules_sum){ offer, n, SIZE_MAX, most });
	s->sum = s->sums.v;
	s->n_sums = s->sums.n;
}

void
rules_sums(struct rules *s)
{
	if (s->n_sums > 0)
		return;
	for (int all = 0; all < 2; all++)
		for (size_t t = 0; t < s->stretches; t++)
			for (size_t j = 0; j < s->n_offers; j++)
				if (rules_runs(s, j, t))
					tree_sum(s, j, t, all != 0);
	s->sum_lo = arena_array(s->a, s->n_sums + 1, sizeof(*s->sum_lo));
	s->sum_hi = arena_array(s->a, s->n_sums + 1, sizeof(*s->sum_hi));
	s->sum_row = rules_zeroes(s);
}

/* A sum is the slack of a row of its own: most less what it is. */
static void
tree_bound_sum(struct rules *s, size_t k)
{
	struct rules_sum *sum = &s->sum[k];
	double lo = fmax(0, sum->most - s->sum_hi[k]), hi = sum->most - s->sum_lo[k];

	if (sum->row == SIZE_MAX && lo == 0 && hi == sum->most)
		return;
	if (sum->row == SIZE_MAX) {
		double *row = rules_zeroes(s);

		for (size_t i = 0; i < sum->n; i++)
			row[sum->offer[i]] = 1;
		sum->row = linear_row(&s->lp, row, sum->most);
	}
	if (s->lp.lo[s->lp.n + sum->row] != lo || s->lp.hi[s->lp.n + sum->row] != hi)
		linear_bound(&s->lp, s->lp.n + sum->row, lo, hi);
}

bool
rules_bounds(struct rules *s, const struct rules_node *node)
{
	double *l = s->node_lo, *h = s->node_hi;

	memcpy(l, s->least, (s->n_offers + 1) * sizeof(*l));
	memcpy(h, s->most, (s->n_offers + 1) * sizeof(*h));
	for (size_t k = 0; k < s->n_sums; k++) {
		s->sum_lo[k] = 0;
		s->sum_hi[k] = s->sum[k].most;
	}
	for (const struct rules_node *n = node; n != NULL && n->from != NULL; n = n->from) {
		bool sum = n->what >= s->n_offers;
		double *lo = sum ? &s->sum_lo[n->what - s->n_offers] : &l[n->what],
		       *hi = sum ? &s->sum_hi[n->what - s->n_offers] : &h[n->what];

		*lo = fmax(*lo, n->lo);
		*hi = fmin(*hi, n->hi);
		if (*lo > *hi)
			return false;
	}
	for (size_t j = 0; j < s->n_offers; j++)
		if (l[j] > h[j])
			return false;
	for (size_t j = 0; j < s->n_offers; j++)
		if (s->lp.lo[j] != l[j] || s->lp.hi[j] != h[j])
			linear_bound(&s->lp, j, l[j], h[j]);
	for (size_t k = 0; k < s->n_sums; k++)
		tree_bound_sum(s, k);
	return true;
}

/* How much is gained by branching where down and up raise the bound by so much. */
static double
tree_score(double down, double rise, double off)
{
	return fmin(1e12, fmax(down, 1e-6)) * fmin(1e12, fmax(rise, 1e-6)) + 1e-13 * off;
}

/* The score of a sum of value v; *up as rules_broken(). */
static double
tree_sum_score(struct rules *s, const struct rules_sum *sum, double v, bool *up)
{
	double down, rise, *row = s->sum_row;

	linear_sum(&s->lp, sum->offer, sum->n, row);
	s->work += (double)(s->lp.n * (sum->n + 2));
	down = linear_sum_forced(&s->lp, row, floor(v) - v);
	rise = linear_sum_forced(&s->lp, row, ceil(v) - v);
	*up = rise < down || (rise == down && v - floor(v) > 0.5);
	return tree_score(down, rise, fabs(v - round(v)));
}

size_t
rules_broken(struct rules *s, double *at, bool *up)
{
	double most = -1;
	size_t best = s->n_offers + s->n_sums;

	for (size_t k = 0; k < s->n_offers + s->n_sums; k++) {
		double v = 0, score;
		bool way;

		if (k < s->n_offers) {
			v = s->x[k];
		} else {
			const struct rules_sum *sum = &s->sum[k - s->n_offers];

			for (size_t i = 0; i < sum->n; i++)
				v += s->x[sum->offer[i]];
		}
		if (fabs(v - round(v)) <= RULES_WHOLE)
			continue;
		if (k < s->n_offers) {
			double down = linear_forced(&s->lp, k, false),
			       rise = linear_forced(&s->lp, k, true);

			score = tree_score(down, rise, fabs(v - round(v)));
			way = rise < down || (rise == down && v - floor(v) > 0.5);
		} else {
			score = tree_sum_score(s, &s->sum[k - s->n_offers], v, &way);
		}
		if (score <= most)
			continue;
		most = score;
		best = k;
		*at = v;
		*up = way;
	}
	return best;
}

void
rules_branch(struct rules *s, const struct rules_node *node, size_t what, double at, bool up_first,
    struct rules_stack *stack)
{
	for (int k = 0; k < 2; k++) {
		bool up = (k == 1) == up_first;
		struct rules_node kid = { node, what, up ? at + 1 : 0, up ? INFINITY : at,
			node->usd };

		stack->v[stack->n++] = arena_memdup(s->a, &kid, sizeof(kid));
	}
}

void
rules_lowest(struct rules_stack *stack)
{
	struct rules_node *last;
	size_t low = 0;

	for (size_t k = 1; k < stack->n; k++)
		if (stack->v[k]->usd <= stack->v[low]->usd)
			low = k;
	if (stack->n == 0)
		return;
	last = stack->v[stack->n - 1];
	stack->v[stack->n - 1] = stack->v[low];
	stack->v[low] = last;
}
