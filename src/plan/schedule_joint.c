#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/schedule_impl.h"
#include "util/arena.h"

#define JOINT_CELLS_MAX 2.5e7 /* of the first program, twice of which is kept */

static int
joint_cmp(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The borders of all members are those of each. */
static void
joint_borders(struct schedule_work *w, size_t n)
{
	struct schedule_work all = { .a = w->a };
	size_t kept = 0;

	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < w[k].border.n; i++)
			VEC_PUSH(all.a, &all.border, w[k].border.v[i]);
	qsort(all.border.v, all.border.n, sizeof(*all.border.v), joint_cmp);
	for (size_t i = 0; i < all.border.n; i++)
		if (kept == 0 || all.border.v[kept - 1] != all.border.v[i])
			all.border.v[kept++] = all.border.v[i];
	all.border.n = kept;
	for (size_t k = 0; k < n; k++)
		w[k].border = all.border;
}

int64_t *
schedule_counts(const struct schedule_work *w, const struct schedule *of)
{
	int64_t *count = arena_array(w->a, w->offer.n + 1, sizeof(*count));

	for (size_t i = 0; i < of->n; i++)
		for (size_t j = 0; j < w->offer.n; j++)
			if (w->line.v[j] == of->buy[i].line &&
			    w->border.v[w->offer.v[j].from] == of->buy[i].from)
				count[j] += of->buy[i].count;
	return count;
}

static int64_t **
joint_start(const struct schedule_work *w, size_t n, struct schedule *const *of)
{
	int64_t **count = arena_array(w->a, n, sizeof(*count));

	if (of == NULL)
		return NULL;
	for (size_t k = 0; k < n; k++)
		count[k] = schedule_counts(&w[k], of[k]);
	return count;
}

/* Rows times columns of the program, about. */
static double
joint_cells(const struct schedule_work *w, size_t n)
{
	double columns = (double)w->border.n, rows = 0;

	for (size_t k = 0; k < n; k++) {
		const struct schedule_problem *p = w[k].p;
		double lines = 0;

		columns += (double)w[k].offer.n;
		for (size_t i = 0; i < p->n_lines; i++) {
			rows += p->lines[i].kind == COMMIT_RESERVED &&
				p->lines[i].max_count != COMMIT_NO_LIMIT;
			lines += p->lines[i].kind == COMMIT_ON_DEMAND && !isnan(p->peak);
		}
		columns += lines * (double)w->border.n;
		if (p->rules != NULL)
			rows += 2 * (double)p->rules->n +
				(double)p->rules->n_quotas * ((lines > 0) + (k == 0));
		rows += !isnan(p->peak);
	}
	return columns * (rows + 4) * (double)w->border.n;
}

enum berth_code
schedule_meet(struct schedule_work *w, const struct schedule_problem *p, size_t n,
    const struct schedule_work *like, double scale, struct arena *a, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t k = 0; k < n && like != NULL; k++) {
		w[k] = (struct schedule_work){
			.p = &p[k], .a = a, .steps = like[k].steps, .like = &like[k], .scale = scale
		};
		w[k].border = like[k].border;
		w[k].start = like[k].start;
		schedule_bands(&w[k]);
		rc = schedule_fill(&w[k], err);
		if (rc != BERTH_OK || k + 1 == n)
			return rc;
	}

	for (size_t k = 0; k < n && rc == BERTH_OK; k++) {
		if (p[k].demand->n_steps != p[0].demand->n_steps ||
		    p[k].demand->step_hours != p[0].demand->step_hours)
			return err_set(err, BERTH_EINVAL, "schedules of %zu and %zu steps",
			    p[0].demand->n_steps, p[k].demand->n_steps);
		rc = schedule_begin(&w[k], &p[k], a, err);
	}
	if (rc != BERTH_OK)
		return rc;
	if (n > 1)
		joint_borders(w, n);
	for (size_t k = 0; k < n && rc == BERTH_OK; k++)
		rc = schedule_fill(&w[k], err);
	return rc;
}

enum berth_code
schedule_solve_joint(const struct schedule_problem *p, size_t n, double budget,
    struct schedule *const *alone, struct schedule *const *part, struct arena *a,
    struct schedule **out, struct berth_err *err)
{
	struct schedule_work *w = arena_array(a, n, sizeof(*w));
	int64_t *const *start[2];
	double first = 0;
	enum berth_code rc = schedule_meet(w, p, n, NULL, 1, a, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t k = 0; k < n; k++)
		first += alone[k]->lower_bound_usd;
	if (joint_cells(w, n) > JOINT_CELLS_MAX)
		return err_set(err, BERTH_EFAIL,
		    "%zu series with %zu dates are too many for one program", n, w->border.n);
	start[0] = joint_start(w, n, alone);
	start[1] = joint_start(w, n, part);
	for (size_t k = 0; k < n; k++)
		*out[k] = (struct schedule){ .cost_usd = NAN };
	rc = schedule_rules_solve(w, n, budget, first, start, 2, NULL, out, err);
	for (size_t k = 0; k < n && rc == BERTH_OK; k++)
		schedule_report(&w[k], out[k]);
	return rc;
}
