#include <math.h>
#include <string.h>

#include "plan/commit.h"
#include "plan/commit_impl.h"
#include "util/arena.h"

#define COMMIT_REGRET 0.2 /* demand off by this share */
#define COMMIT_FALL 0.1   /* what a fall of demand is told for */

/* What a plan's lines can serve, lowest usage price first. */
struct commit_step {
	double gpus, usage;
};

/* Usage money of one hour with demand v. */
static double
commit_hour(const struct commit_step *step, size_t n, double unserved, double v)
{
	double usd = 0;

	for (size_t k = 0; k < n && v > 0; k++) {
		usd += step[k].usage * fmin(v, step[k].gpus);
		v -= step[k].gpus;
	}
	return v > 0 ? usd + unserved * v : usd;
}

/* The same where it is known for whole GPUs. */
static double
commit_hourly(const double *usd, double v)
{
	size_t l = (size_t)v;

	return v > (double)l ? usd[l] + (v - (double)l) * (usd[l + 1] - usd[l]) : usd[l];
}

/* Purchases of the plan; what is not bought serves up to its limit, and what the quotas leave of
 * it. */
static int64_t *
commit_counts(const struct commit_problem *p, const struct commit_plan *plan, struct arena *a)
{
	int64_t *count = arena_array(a, p->n_lines, sizeof(*count));

	for (size_t i = 0; i < p->n_lines; i++) {
		int64_t cap = plan->use[i].cap;

		count[i] = p->lines[i].kind == COMMIT_RESERVED ? plan->use[i].count
							       : p->lines[i].max_count;
		if ((p->lines[i].kind == COMMIT_SPOT || p->lines[i].kind == COMMIT_ON_DEMAND) &&
		    cap != COMMIT_NO_LIMIT)
			count[i] = cap / p->lines[i].gpus;
	}
	return count;
}

static void
commit_paths(const struct commit_problem *p, const struct commit_plan *plan,
    const struct commit_demand *d, struct arena *a, struct commit_risk *risk)
{
	static const double levels[3] = { 0.1, 0.5, 0.9 };
	struct commit_stack st;
	struct commit_step *step = arena_array(a, p->n_lines, sizeof(*step));
	double *usd = arena_array(a, d->n_paths, sizeof(*usd)), cap = commit_cap(d, a, NULL), q[3];
	int64_t *count = commit_counts(p, plan, a);
	size_t n = 0;

	commit_stack_init(p, a, &st);
	for (size_t k = 0; k < st.n; k++) {
		double gpus = commit_stack_gpus(&p->lines[st.order[k]], count[st.order[k]]);

		if (gpus > 0)
			step[n++] = (struct commit_step){ gpus, p->lines[st.order[k]].usage };
	}
	for (size_t i = 0; i < d->n_paths; i++) {
		const double *v = d->gpus + i * d->n_steps;

		for (size_t t = 0; t < d->n_steps; t++)
			usd[i] += plan->hourly != NULL
				      ? commit_hourly(plan->hourly, fmin(v[t], cap))
				      : commit_hour(step, n, p->unserved, fmin(v[t], cap));
		usd[i] = plan->bound_usd + usd[i] * d->step_hours;
	}
	commit_quantiles(d, usd, levels, 3, a, q);
	risk->p10_usd = q[0];
	risk->p50_usd = q[1];
	risk->p90_usd = q[2];
}

void
commit_cover(const struct commit_plan *plan, const struct commit_demand *d, struct arena *a,
    struct commit_risk *risk)
{
	static const double levels[2] = { 0.5, 0.95 };
	double *peak = commit_peaks(d, a), in = 0, all = 0, q[2];

	for (size_t i = 0; i < d->n_paths; i++) {
		double w = d->weight == NULL ? 1 : d->weight[i];

		all += w;
		in += peak[i] <= plan->capacity_gpus * (1 + 1e-12) + 1e-9 ? w : 0;
	}
	risk->covered = in / all;
	commit_quantiles(d, peak, levels, 2, a, q);
	risk->peak_p50 = q[0];
	risk->peak_p95 = q[1];
}

/* Cost of the plan and of the best plan if all demand were scale times the paths'. */
static enum berth_code
commit_scaled(const struct commit_problem *p, const struct commit_shares *rules,
    const struct commit_plan *plan, const struct commit_demand *d, double scale, struct arena *a,
    double *usd_out, double *regret_out, double *on_demand_out, struct berth_err *err)
{
	struct commit_problem q = *p;
	struct commit_curve curve;
	struct commit_line *line = arena_memdup(a, p->lines, p->n_lines * sizeof(*line));
	struct commit_plan best, stay;
	enum berth_code rc = commit_curve_scaled(d, scale, a, &curve, NULL, err);

	if (rc != BERTH_OK)
		return rc;
	q.curve = &curve;
	q.peak = NAN;
	q.theta = 0;
	rc = commit_solve_shares(&q, rules, a, &best, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < p->n_lines; i++)
		if (line[i].kind == COMMIT_RESERVED)
			line[i].min_count = line[i].max_count = plan->use[i].count;
	q.lines = line;
	q.budget = NAN;
	rc = commit_solve_shares(&q, rules, a, &stay, err);
	if (rc != BERTH_OK)
		return rc;
	*usd_out = stay.cost_usd;
	*regret_out = fmax(0, *usd_out - best.cost_usd);
	*on_demand_out = best.on_demand_usd;
	return BERTH_OK;
}

enum berth_code
commit_assess(const struct commit_problem *p, const struct commit_shares *rules,
    const struct commit_plan *plan, const struct commit_demand *d, struct arena *a,
    struct commit_risk *risk_out, struct berth_err *err)
{
	double unused;
	enum berth_code rc;

	memset(risk_out, 0, sizeof(*risk_out));
	commit_paths(p, plan, d, a, risk_out);
	commit_cover(plan, d, a, risk_out);
	rc = commit_scaled(p, rules, plan, d, 1 - COMMIT_REGRET, a, &risk_out->down_usd,
	    &risk_out->regret_down_usd, &risk_out->down_on_demand_usd, err);
	if (rc == BERTH_OK)
		rc = commit_scaled(p, rules, plan, d, 1 + COMMIT_REGRET, a, &risk_out->up_usd,
		    &risk_out->regret_up_usd, &unused, err);
	if (rc == BERTH_OK)
		rc = commit_scaled(p, rules, plan, d, 1 - COMMIT_FALL, a, &risk_out->fall_usd,
		    &risk_out->fall_regret_usd, &risk_out->fall_on_demand_usd, err);
	return rc;
}
