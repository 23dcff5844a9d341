#include "cmd/plan_deal.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_lines.h"
#include "util/arena.h"

/* Purchases of a dealt line that a series has as what is owned is dealt now. */
static int64_t
dates_has(const struct plan_open *d, const struct plan_series *ps, size_t k, size_t e)
{
	size_t line = d->line[k][e];
	double gpus = 0;

	for (size_t i = 0; i < ps->n_owned; i++)
		if (ps->owned_offer[i] == d->ps[k].offers[line])
			gpus += ps->owned[i].gpus;
	return (int64_t)(gpus / commit_line_gpus(&d->ps[k].lines[line]) + 1e-9);
}

/* A schedule of one series with what is dealt to it now, of its open problem. */
static struct schedule *
dates_start(const struct plan_open *d, const struct plan_series *ps, size_t k,
    const struct schedule *of, struct arena *a)
{
	struct schedule *s = arena_memdup(a, of, sizeof(*s));

	s->buy = arena_array(a, of->n + d->n_dealt + 1, sizeof(*s->buy));
	if (of->n > 0)
		memcpy(s->buy, of->buy, of->n * sizeof(*s->buy));
	for (size_t e = 0; e < d->n_dealt; e++) {
		size_t line = d->line[k][e];
		int64_t from;

		if (line == SIZE_MAX)
			continue;
		from = d->held[k][line].from;
		s->buy[s->n++] = (struct schedule_buy){ line, from > 0 ? from : 0,
			d->held[k][line].to, dates_has(d, ps, k, e), 0 };
	}
	return s;
}

/* No deal lets a series cost less by itself than all that it can use. */
static double
dates_least(const struct plan_open *d, const struct plan_series *ps, size_t k,
    const struct schedule_problem *p, struct arena *a)
{
	struct schedule_problem all = *p;
	struct schedule_owned *own = arena_array(a, p->n_owned + d->n_dealt + 1, sizeof(*own));
	struct schedule s;
	struct berth_err ignored;

	if (p->n_owned > 0)
		memcpy(own, p->owned, p->n_owned * sizeof(*own));
	for (size_t e = 0; e < d->n_dealt; e++) {
		size_t line = d->line[k][e];
		const struct commit_line *l = line == SIZE_MAX ? NULL : &p->lines[line];

		if (l != NULL)
			own[all.n_owned++] = (struct schedule_owned){ p->held[line].from,
				p->held[line].to, (double)l->max_count * commit_line_gpus(l),
				p->rules->group[line], NULL, l->usage };
	}
	all.owned = own;
	all.lines = ps->lines;
	all.n_lines = ps->n_lines;
	all.rules = ps->shares.n == 0 ? &ps->shares : NULL; /* shares may bar what is owned */
	all.held = NULL;
	return schedule_solve(&all, a, &s, &ignored) == BERTH_OK ? s.lower_bound_usd : 0;
}

/* One solve, with those commitments dealt that are not closed. */
static enum berth_code
dates_solve(struct plan_open *d, const struct plan_series *ps, const struct schedule_problem *p,
    double budget, struct schedule *const *alone, struct schedule *const *part,
    const struct plan_options *o, struct arena *a, struct schedule **out, struct berth_err *err)
{
	struct schedule_problem *of = arena_array(a, d->n, sizeof(*of));
	struct schedule **start[2] = { arena_array(a, d->n, sizeof(**start)),
		arena_array(a, d->n, sizeof(**start)) };

	for (size_t k = 0; k < d->n; k++) {
		of[k] = plan_schedule_problem(&d->ps[k], o, a);
		of[k].work = p[k].work;
		of[k].held = d->held[k];
		start[0][k] = dates_start(d, &ps[k], k, alone[k], a);
		if (part != NULL)
			start[1][k] = dates_start(d, &ps[k], k, part[k], a);
		if (of[k].n_lines > ps[k].n_lines)
			alone[k]->lower_bound_usd = start[0][k]->lower_bound_usd =
			    dates_least(d, &ps[k], k, &of[k], a);
	}
	return schedule_solve_joint(
	    of, d->n, budget, start[0], part != NULL ? start[1] : NULL, a, out, err);
}

static double
dates_lower(struct schedule *const *s, size_t n, double *cost)
{
	double lower = 0;

	*cost = 0;
	for (size_t k = 0; k < n; k++) {
		lower += s[k]->lower_bound_usd;
		*cost += s[k]->cost_usd;
	}
	return lower;
}

/* Bounds of fewer deals than there are hold for those alone: the bound of all, by member. */
static void
dates_bound(struct schedule **s, size_t n, double lower)
{
	double cost, is = dates_lower(s, n, &cost);

	for (size_t k = 0; k < n && lower < is; k++) {
		s[k]->lower_bound_usd =
		    cost > 0 ? s[k]->cost_usd * fmin(1, fmax(0, lower) / cost) : 0;
		s[k]->optimal = cost - lower <= 1e-9 * fmax(1, cost);
	}
}

enum berth_code
plan_deal_schedule(struct plan_series *ps, const struct schedule_problem *p, size_t n,
    double budget, struct schedule *const *alone, struct schedule *const *part,
    const struct plan_options *o, struct arena *a, struct schedule **out, struct berth_err *err)
{
	bool *closed = arena_array(a, ps[0].n_owned_all + 1, sizeof(*closed));
	double lower = INFINITY, cost;
	struct plan_open *d;
	enum berth_code rc = BERTH_OK;

	for (;;) {
		size_t over;

		d = plan_deal_open(ps, n, true, closed, o, a);
		if (d == NULL)
			break;
		rc = dates_solve(d, ps, p, budget, alone, part, o, a, out, err);
		if (rc != BERTH_OK)
			return rc;
		lower = fmin(lower, dates_lower(out, n, &cost));
		over = plan_deal_over(d, out);
		if (over == SIZE_MAX)
			break;
		closed[over] = true;
	}
	if (d == NULL)
		rc = schedule_solve_joint(p, n, budget, alone, part, a, out, err);
	if (rc != BERTH_OK)
		return rc;
	dates_bound(out, n, lower);
	for (size_t k = 0; k < n; k++)
		ps[k].open = NULL;
	if (d == NULL)
		return BERTH_OK;
	for (size_t k = 0; k < n; k++) {
		ps[k].open = &d->ps[k];
		ps[k].open->schedule = out[k];
	}
	plan_deal_take(d, out, ps, o, a);
	return BERTH_OK;
}

void
plan_deal_explain(struct plan_series *ps, struct arena *a)
{
	for (size_t i = 0; i < ps->n_owned && ps->open != NULL; i++) {
		int64_t all = 0;

		for (size_t c = 0; c < ps->n_owned_all; c++)
			if (&ps->owned_all[c].offer == ps->owned_offer[i])
				all = ps->owned_all[c].count;
		if (ps->open->owned[i].gpus > 0)
			continue;
		plan_add(&ps->because, a,
		    arena_printf(a,
			"schedule: owned: %lld of the %lld machines of %s count here as long as "
			"they hold, the others for series that they serve as well",
			(long long)ps->owned_count[i], (long long)all, ps->owned_name[i]));
	}
}
