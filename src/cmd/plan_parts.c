/* src/cmd/plan_parts.c - two-part tariffs in a plan: a price for every hour, and one for each hour
 * of use.  Floor: cmd. */
#include "config.h"

#include <math.h>

#include "cmd/plan_join.h"
#include "util/arena.h"

#define PARTS_SAID 3 /* of those that are not bought */

/* The least a GPU-hour costs on demand; INFINITY: there is none. */
static double
parts_on_demand(const struct plan_series *ps)
{
	double least = INFINITY;

	for (size_t i = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_ON_DEMAND)
			least = fmin(least, ps->lines[i].usage);
	return least;
}

/* Which reserved line beats this one soonest as a GPU is used more; n_lines: none does before it is
 * used all the time. */
static size_t
parts_next(const struct plan_series *ps, size_t line, double *share_out)
{
	const struct commit_line *l = &ps->lines[line];
	size_t best = ps->n_lines;

	*share_out = 1;
	for (size_t i = 0; i < ps->n_lines; i++) {
		const struct commit_line *x = &ps->lines[i];
		double share = (x->fixed - l->fixed) / (l->usage - x->usage);

		if (x->kind == COMMIT_RESERVED && x->usage < l->usage && share < *share_out) {
			*share_out = fmax(0, share);
			best = i;
		}
	}
	return best;
}

static void
parts_say(struct plan_series *ps, size_t i, double on_demand, struct arena *a)
{
	const struct commit_line *l = &ps->lines[i];
	double share, even = l->fixed / (on_demand - l->usage);
	size_t next = parts_next(ps, i, &share);
	const char *text = arena_printf(a,
	    "in two parts: %s asks %.4f USD for each hour of a GPU, used or not, and %.4f USD for "
	    "each hour of use",
	    ps->names[i], l->fixed, l->usage);

	if (l->usage >= on_demand || even >= 1)
		text = arena_printf(a, "%s: never less than on demand", text);
	else if (isfinite(on_demand))
		text = arena_printf(
		    a, "%s: less than on demand from %.1f %% of the time on", text, 100 * even);
	if (next < ps->n_lines)
		text = arena_printf(
		    a, "%s; from %.1f %% on %s is cheaper", text, 100 * share, ps->names[next]);
	plan_add(&ps->because, a, text);
}

void
plan_parts_explain(struct plan_series *ps, struct arena *a)
{
	double on_demand = parts_on_demand(ps);

	for (size_t i = 0, said = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_RESERVED && ps->lines[i].usage > 0 &&
		    (ps->plan.use[i].count > 0 || said++ < PARTS_SAID))
			parts_say(ps, i, on_demand, a);
}
