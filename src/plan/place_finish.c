/* The last job done as early as can be: bisection on that time over placements without what ends
 * later. */
#include <stdlib.h>
#include <string.h>

#include "plan/place_finish.h"
#include "util/arena.h"

struct finish {
	const struct place_problem *p;
	const int64_t *finish;
	size_t *start, *offer, *back, *keep, *more_start,
	    *more_resource; /* of the smaller problem; back: to the candidates of p */
	double *cost, *risk;
	int64_t *need, *more_units;
	struct place_more more;
	struct place_problem at;
	struct arena *a;
};

static int
finish_cmp(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
finish_init(struct finish *f)
{
	size_t n = f->p->n_jobs > 0 ? f->p->cand_start[f->p->n_jobs] : 0;
	size_t uses = f->p->more == NULL ? 0 : f->p->more->start[n];

	f->start = arena_array(f->a, f->p->n_jobs + 1, sizeof(*f->start));
	f->offer = arena_array(f->a, n, sizeof(*f->offer));
	f->back = arena_array(f->a, n, sizeof(*f->back));
	f->keep = arena_array(f->a, f->p->n_jobs, sizeof(*f->keep));
	f->cost = arena_array(f->a, n, sizeof(*f->cost));
	f->risk = arena_array(f->a, n, sizeof(*f->risk));
	f->need = arena_array(f->a, n, sizeof(*f->need));
	f->more_start = arena_array(f->a, n + 1, sizeof(*f->more_start));
	f->more_resource = arena_array(f->a, uses, sizeof(*f->more_resource));
	f->more_units = arena_array(f->a, uses, sizeof(*f->more_units));
}

/* The problem without the candidates that end after the time. */
static void
finish_cut(struct finish *f, int64_t by)
{
	const struct place_problem *p = f->p;
	size_t n = 0, m = 0;

	for (size_t i = 0; i < p->n_jobs; i++) {
		f->keep[i] = PLACE_NONE;
		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
			if (f->finish[k] > by)
				continue;
			if (p->keep != NULL && p->keep[i] == k)
				f->keep[i] = n;
			f->offer[n] = p->offer[k];
			f->back[n] = k;
			f->cost[n] = p->cost[k];
			f->risk[n] = p->risk == NULL ? 0 : p->risk[k];
			f->need[n] = p->need[k];
			for (size_t u = p->more == NULL ? 0 : p->more->start[k];
			     p->more != NULL && u < p->more->start[k + 1]; u++) {
				f->more_resource[m] = p->more->resource[u];
				f->more_units[m++] = p->more->units[u];
			}
			f->more_start[++n] = m;
		}
		f->start[i + 1] = n;
	}
	f->more = (struct place_more){ f->more_start, f->more_resource, f->more_units };
	f->at = *p;
	f->at.cand_start = f->start;
	f->at.offer = f->offer;
	f->at.cost = f->cost;
	f->at.risk = p->risk == NULL ? NULL : f->risk;
	f->at.need = f->need;
	f->at.keep = p->keep == NULL ? NULL : f->keep;
	f->at.more = p->more == NULL ? NULL : &f->more;
}

static enum berth_code
finish_solve(struct finish *f, int64_t by, const struct place_options *o, struct place_plan *plan,
    struct berth_err *err)
{
	enum berth_code rc;

	finish_cut(f, by);
	rc = place_solve(&f->at, o, f->a, plan, err);
	for (size_t i = 0; rc == BERTH_OK && i < f->p->n_jobs; i++) {
		plan->chosen[i] =
		    plan->chosen[i] == PLACE_NONE ? PLACE_NONE : f->back[plan->chosen[i]];
		plan->runner_up[i] =
		    plan->runner_up[i] == PLACE_NONE ? PLACE_NONE : f->back[plan->runner_up[i]];
	}
	return rc;
}

/* Penalties of the jobs left out: what a later end may not buy back. */
static double
finish_left_out(const struct place_plan *plan)
{
	return plan->value - plan->cost;
}

enum berth_code
place_finish_solve(const struct place_problem *p, const int64_t *finish,
    const struct place_options *o, struct arena *a, struct place_plan *plan_out, int64_t *by_out,
    struct berth_err *err)
{
	struct finish f = { .p = p, .finish = finish, .a = a };
	size_t n = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0, lo = 0, hi, k = 0;
	int64_t *times = arena_array(a, n + 1, sizeof(*times));
	struct place_plan plan;
	double most;
	enum berth_code rc;

	finish_init(&f);
	for (size_t c = 0; c < n; c++)
		times[c] = finish[c];
	qsort(times, n, sizeof(*times), finish_cmp);
	for (size_t c = 0; c < n; c++)
		if (k == 0 || times[c] != times[k - 1])
			times[k++] = times[c];
	rc = finish_solve(&f, INT64_MAX, o, plan_out, err);
	most = rc == BERTH_OK ? finish_left_out(plan_out) : 0;
	*by_out = k == 0 ? 0 : times[k - 1];
	hi = k == 0 ? 0 : k - 1;
	while (rc == BERTH_OK && lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		rc = finish_solve(&f, times[mid], o, &plan, err);
		if (rc == BERTH_OK && finish_left_out(&plan) <= most * (1 + 1e-12)) {
			hi = mid;
			*plan_out = plan;
			*by_out = times[mid];
		} else {
			lo = mid + 1;
		}
	}
	return rc;
}
