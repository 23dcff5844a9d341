#include "cmd/plan_deal.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_lines.h"
#include "util/arena.h"

/* Does a quota count what serves by the hour? Then the hours of all are one program. */
static bool
now_hourly(const struct plan_open *d)
{
	for (size_t k = 0; k < d->n; k++) {
		const struct plan_series *ps = &d->ps[k];

		for (size_t q = 0; q < ps->shares.n_quotas; q++)
			for (size_t i = 0; i < ps->n_lines; i++)
				if ((ps->lines[i].kind == COMMIT_SPOT ||
					ps->lines[i].kind == COMMIT_ON_DEMAND) &&
				    ps->shares.quota[q].weight[i] > 0)
					return true;
	}
	return false;
}

/* All now, to the end of the horizon, and what is owned holds so long. */
static struct schedule_problem
now_problem(const struct plan_open *d, size_t k, const struct plan_options *o, struct arena *a)
{
	const struct plan_series *ps = &d->ps[k];
	struct schedule_problem p = plan_schedule_problem(ps, o, a);
	int64_t *term = arena_array(a, ps->n_lines + 1, sizeof(*term));
	struct schedule_owned *own = arena_array(a, ps->n_lines + 1, sizeof(*own));

	p.n_owned = 0;
	for (size_t i = 0; i < ps->n_lines; i++) {
		const struct commit_line *l = &ps->lines[i];
		double *weight;

		term[i] = ps->schedule_steps;
		if (l->kind != COMMIT_OWNED || l->max_count < 1)
			continue;
		weight = arena_array(a, ps->shares.n_quotas + 1, sizeof(*weight));
		own[p.n_owned] = (struct schedule_owned){ 0, INT64_MAX,
			(double)l->max_count * commit_line_gpus(l), ps->shares.group[i], weight,
			l->usage };
		for (size_t q = 0; q < ps->shares.n_quotas; q++)
			weight[q] = ps->shares.quota[q].weight[i] * own[p.n_owned].gpus;
		p.n_owned++;
	}
	p.owned = own;
	p.term = term;
	p.every = ps->schedule_steps;
	p.held = d->held[k];
	return p;
}

/* By the levels of each series: machines [n][n_dealt], and the bound of all. */
static enum berth_code
now_levels(const struct plan_open *d, const struct plan_series *ps, const struct plan_options *o,
    struct arena *a, int64_t *machines, double *lower, struct berth_err *err)
{
	struct schedule_problem *p = arena_array(a, d->n, sizeof(*p));
	struct schedule **start = arena_array(a, d->n, sizeof(*start)),
			**out = arena_array(a, d->n, sizeof(*out));
	enum berth_code rc;

	for (size_t k = 0; k < d->n; k++) {
		p[k] = now_problem(d, k, o, a);
		out[k] = arena_array(a, 1, sizeof(**out));
		start[k] = arena_array(a, 1, sizeof(**start));
		start[k]->buy = arena_array(a, d->n_dealt + 1, sizeof(*start[k]->buy));
		for (size_t e = 0; e < d->n_dealt; e++)
			if (d->line[k][e] != SIZE_MAX)
				start[k]->buy[start[k]->n++] = (struct schedule_buy){ d->line[k][e],
					0, INT64_MAX, ps[k].owned_part[d->commitment[e]], 0 };
	}
	rc = schedule_solve_joint(p, d->n, o->budget_usd, start, NULL, a, out, err);
	*lower = 0;
	for (size_t k = 0; k < d->n && rc == BERTH_OK; k++) {
		*lower += out[k]->lower_bound_usd;
		for (size_t i = 0; i < out[k]->n; i++)
			for (size_t e = 0; e < d->n_dealt; e++)
				if (out[k]->buy[i].line == d->line[k][e])
					machines[k * d->n_dealt + e] = out[k]->buy[i].count;
	}
	return rc;
}

static enum berth_code
now_hours(const struct plan_open *d, const struct plan_options *o, struct arena *a,
    int64_t *machines, double *lower, struct berth_err *err)
{
	struct commit_member *m = arena_array(a, d->n, sizeof(*m));
	struct commit_plan *plan = arena_array(a, d->n, sizeof(*plan));
	enum berth_code rc;

	for (size_t k = 0; k < d->n; k++)
		m[k] = (struct commit_member){ &d->ps[k].problem, &d->ps[k].shares,
			&d->ps[k].demand, &plan[k] };
	rc = commit_solve_joint(m, d->n, o->budget_usd, a, err);
	*lower = 0;
	for (size_t k = 0; k < d->n && rc == BERTH_OK; k++) {
		*lower += plan[k].lower_bound_usd;
		for (size_t e = 0; e < d->n_dealt; e++)
			if (d->line[k][e] != SIZE_MAX)
				machines[k * d->n_dealt + e] = plan[k].use[d->line[k][e]].count;
	}
	return rc;
}

/* What none of them needs is with the first that can use it, but where shares bar it. */
static void
now_take(const struct plan_open *d, struct plan_series *ps, const int64_t *machines)
{
	for (size_t e = 0; e < d->n_dealt; e++) {
		size_t c = d->commitment[e];
		int64_t left = ps[0].owned_all[c].count;

		for (size_t k = 0; k < d->n; k++)
			left -= machines[k * d->n_dealt + e];
		for (size_t k = 0; k < d->n; k++) {
			ps[k].owned_part[c] = machines[k * d->n_dealt + e];
			if (d->line[k][e] == SIZE_MAX || ps[k].shares.n > 0)
				continue;
			ps[k].owned_part[c] += left;
			left = 0;
		}
	}
}

/* Must they be looked at together? */
static bool
now_meet(const struct plan_series *x, const struct plan_series *y, const struct plan_options *o)
{
	return !isnan(o->budget_usd) || plan_owned_shared(x, y) || plan_quota_shared(x, y);
}

/* Series which[0] and all that it meets, by their place; how many. */
static size_t
now_group(const struct plan_series *ps, size_t n, const struct plan_options *o, bool *seen,
    size_t first, size_t *which)
{
	size_t group = 1;

	which[0] = first;
	seen[first] = true;
	for (size_t k = 0; k < group; k++)
		for (size_t i = 0; i < n; i++)
			if (!seen[i] && now_meet(&ps[which[k]], &ps[i], o)) {
				seen[i] = true;
				which[group++] = i;
			}
	return group;
}

static enum berth_code
now_solve(struct plan_series *ps, const size_t *which, size_t n, const struct plan_options *o,
    struct arena *a, struct berth_err *err)
{
	struct plan_series *some = arena_array(a, n, sizeof(*some));
	struct plan_open *d;
	int64_t *machines;
	double lower;
	enum berth_code rc;

	for (size_t i = 0; i < n; i++)
		some[i] = ps[which[i]];
	d = plan_deal_open(some, n, false, NULL, o, a);
	if (d == NULL)
		return BERTH_OK;
	machines = arena_array(a, n * d->n_dealt + 1, sizeof(*machines));
	rc = now_hourly(d) ? now_hours(d, o, a, machines, &lower, err)
			   : now_levels(d, some, o, a, machines, &lower, err);
	if (rc == BERTH_OK)
		now_take(d, some, machines);
	for (size_t i = 0; i < n; i++) {
		ps[which[i]].deal = which[0];
		ps[which[i]].deal_lower_usd = rc == BERTH_OK ? lower : 0;
	}
	/* not found in time, or there is nothing: what was dealt to begin with stands */
	return rc == BERTH_EINFEASIBLE || rc == BERTH_EFAIL ? BERTH_OK : rc;
}

enum berth_code
plan_deal(struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a,
    struct berth_err *err)
{
	bool *seen = arena_array(a, n + 1, sizeof(*seen));
	size_t *which = arena_array(a, n + 1, sizeof(*which));
	enum berth_code rc = BERTH_OK;

	plan_quotas(ps, n, o, a);
	plan_schedule_steps(ps, n);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++)
		if (!seen[i]) {
			size_t group = now_group(ps, n, o, seen, i, which);

			rc = group > 1 ? now_solve(ps, which, group, o, a, err) : BERTH_OK;
		}
	return rc;
}

void
plan_deal_bound(struct plan_series *ps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double cost = 0, is = 0, lower = ps[i].deal_lower_usd;

		if (isnan(lower) || ps[i].deal != i)
			continue;
		for (size_t k = i; k < n; k++)
			if (!isnan(ps[k].deal_lower_usd) && ps[k].deal == i) {
				cost += ps[k].plan.cost_usd;
				is += ps[k].plan.lower_bound_usd;
			}
		for (size_t k = i; k < n && lower < is - 1e-9 * cost; k++)
			if (!isnan(ps[k].deal_lower_usd) && ps[k].deal == i) {
				ps[k].plan.lower_bound_usd =
				    ps[k].plan.cost_usd * fmin(1, fmax(0, lower) / cost);
				ps[k].plan.optimal = false;
			}
	}
}
