#include <math.h>
#include <string.h>

#include "plan/commit_impl.h"
#include "util/arena.h"

#define QUOTA_SLACK 1e-9

void
commit_quota_caps(const struct commit_stack *st, const struct commit_shares *rules,
    const double *left, int64_t *count)
{
	double rest[COMMIT_QUOTAS_MAX];

	memcpy(rest, left, rules->n_quotas * sizeof(*rest));
	for (size_t k = 0; k < st->n; k++) {
		size_t i = st->order[k];
		const struct commit_line *l = &st->lines[i];
		double gpus = commit_stack_gpus(l, l->max_count);

		if (l->kind != COMMIT_SPOT && l->kind != COMMIT_ON_DEMAND)
			continue;
		for (size_t q = 0; q < rules->n_quotas; q++)
			if (rules->quota[q].weight[i] > 0)
				gpus = fmin(gpus, fmax(0, rest[q]) / rules->quota[q].weight[i]);
		count[i] = isinf(gpus) ? COMMIT_NO_LIMIT
				       : (int64_t)floor(gpus / commit_line_gpus(l) + QUOTA_SLACK);
		for (size_t q = 0; q < rules->n_quotas && count[i] != COMMIT_NO_LIMIT; q++)
			rest[q] -= rules->quota[q].weight[i] * commit_stack_gpus(l, count[i]);
	}
}

bool
commit_quota_left(const struct commit_problem *p, const struct commit_shares *rules,
    const int64_t *count, double *left)
{
	bool kept = true;

	for (size_t q = 0; q < rules->n_quotas; q++) {
		left[q] = rules->quota[q].limit;
		for (size_t i = 0; i < p->n_lines; i++)
			if (p->lines[i].kind == COMMIT_OWNED || p->lines[i].kind == COMMIT_RESERVED)
				left[q] -= rules->quota[q].weight[i] *
					   commit_stack_gpus(&p->lines[i], count[i]);
		kept = kept && left[q] >= -QUOTA_SLACK * (1 + rules->quota[q].limit);
	}
	return kept;
}

/* Of a quota one machine more could make a difference: in use at the busiest hour, or for the peak.
 */
static bool
quota_tight(const struct commit_work *w, const int64_t *count, const double *left)
{
	const struct commit_problem *p = w->p;
	double rest[COMMIT_QUOTAS_MAX], at = 0, least[COMMIT_QUOTAS_MAX], widest = 0;

	memcpy(rest, left, w->shares->n_quotas * sizeof(*rest));
	for (size_t q = 0; q < w->shares->n_quotas; q++)
		least[q] = INFINITY;
	for (size_t k = 0; k < w->st.n; k++) {
		size_t i = w->st.order[k];
		const struct commit_line *l = &p->lines[i];
		double gpus = commit_stack_gpus(l, count[i]),
		       used = fmin(gpus, fmax(0, (double)w->st.levels - at));

		at += gpus;
		for (size_t q = 0; q < w->shares->n_quotas; q++) {
			double weight = w->shares->quota[q].weight[i];

			if (weight > 0)
				least[q] = fmin(least[q], weight * commit_line_gpus(l));
			if (l->kind == COMMIT_SPOT || l->kind == COMMIT_ON_DEMAND)
				rest[q] -= weight * used;
			if (weight > 0 && l->kind != COMMIT_SPOT)
				widest = fmax(widest, commit_line_gpus(l));
		}
	}
	for (size_t q = 0; q < w->shares->n_quotas; q++)
		if (isfinite(least[q]) && rest[q] < least[q] - QUOTA_SLACK)
			return true;
	return !isnan(p->peak) && widest > 0 &&
	       commit_capacity(p, count) < ceil(p->peak - 1e-9) + widest;
}

bool
commit_quota_free(struct commit_work *w, struct arena *a)
{
	const struct commit_problem *p = w->p;
	int64_t *count = arena_memdup(a, w->count, p->n_lines * sizeof(*count));
	double left[COMMIT_QUOTAS_MAX], was, is;

	if (w->shares->n_quotas == 0)
		return true;
	if (!commit_quota_left(p, w->shares, count, left))
		return false;
	was = commit_stack_cost(&w->st, count, NULL);
	commit_quota_caps(&w->st, w->shares, left, count);
	is = commit_stack_cost(&w->st, count, NULL);
	if (is > was + 1e-12 * fabs(was) ||
	    (!isnan(p->peak) && commit_capacity(p, count) < ceil(p->peak - 1e-9)))
		return false;
	if (quota_tight(w, count, left))
		return false;
	memcpy(w->count, count, p->n_lines * sizeof(*count));
	return true;
}
