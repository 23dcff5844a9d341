#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/time.h"

/* Cost of the demand in steps [from, to) with these counts of what is bought; nothing is bought beside them. */
static enum berth_code
ladder_part(const struct plan_series *ps, const int64_t *count, size_t from, size_t to, struct arena *a, double *usd_out,
    struct berth_err *err)
{
	struct commit_line *line = arena_array(a, ps->n_lines, sizeof(*line));
	size_t n = to - from, paths = ps->demand.n_paths;
	double *gpus = arena_array(a, paths * n, sizeof(*gpus)), fixed = 0;
	struct commit_demand d = { gpus, paths, n, ps->demand.weight, ps->demand.step_hours };
	struct commit_problem p = ps->problem;
	struct commit_curve curve;
	struct commit_plan plan;
	enum berth_code rc;

	for (size_t k = 0; k < paths; k++)
		memcpy(gpus + k * n, ps->demand.gpus + k * ps->demand.n_steps + from, n * sizeof(*gpus));
	for (size_t i = 0; i < ps->n_lines; i++) {
		int64_t cap = ps->plan.use[i].cap;

		line[i] = ps->lines[i];
		if ((line[i].kind == COMMIT_SPOT || line[i].kind == COMMIT_ON_DEMAND) && cap != COMMIT_NO_LIMIT)
			line[i].max_count = cap / line[i].gpus;
		if (line[i].kind != COMMIT_RESERVED)
			continue;
		line[i].kind = COMMIT_OWNED;
		line[i].min_count = line[i].max_count = count[i];
		fixed += line[i].fixed * (double)line[i].gpus * (double)count[i];
	}
	rc = commit_curve_build(&d, a, &curve, NULL, err);
	if (rc != BERTH_OK)
		return rc;
	p.curve = &curve;
	p.lines = line;
	p.peak = p.budget = NAN;
	p.theta = 0;
	rc = commit_solve(&p, a, &plan, err);
	if (rc == BERTH_OK)
		*usd_out += plan.cost_usd + fixed * curve.hours;
	return rc;
}

enum berth_code
plan_ladder(struct plan_series *ps, const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	size_t steps = (size_t)(o->ladder_every_s / ps->forecast.step_s), rungs = (size_t)o->ladder, at = 0;
	int64_t *count = arena_array(a, ps->n_lines, sizeof(*count)), bought = 0;
	double cost = 0;

	for (size_t i = 0; i < ps->n_lines; i++)
		bought += ps->lines[i].kind == COMMIT_RESERVED ? ps->plan.use[i].count : 0;
	if (rungs < 2 || steps == 0 || bought == 0)
		return BERTH_OK;
	ps->rung = arena_array(a, rungs, sizeof(*ps->rung));
	for (size_t k = 0; k < rungs && at < ps->demand.n_steps; k++) {
		size_t to = k + 1 == rungs || at + steps > ps->demand.n_steps ? ps->demand.n_steps : at + steps;
		struct plan_rung *r = &ps->rung[ps->n_rungs++];
		enum berth_code rc;

		r->at = ps->forecast.t0 + (int64_t)at * ps->forecast.step_s;
		r->count = arena_array(a, ps->n_lines, sizeof(*r->count));
		for (size_t i = 0; i < ps->n_lines; i++) {
			int64_t all = ps->lines[i].kind == COMMIT_RESERVED ? ps->plan.use[i].count : 0;
			int64_t upto = (all * (int64_t)(k + 1) + (int64_t)rungs - 1) / (int64_t)rungs;

			r->count[i] = upto - count[i];
			count[i] = upto;
		}
		rc = ladder_part(ps, count, at, to, a, &cost, err);
		if (rc != BERTH_OK)
			return err_ctx(err, "series %s", ps->series.name);
		at = to;
	}
	ps->ladder_cost_usd = cost;
	return BERTH_OK;
}

const char *
plan_ladder_text(const struct plan_series *ps, struct arena *a)
{
	const char *text = "";
	char day[TIME_FMT_SIZE];

	for (size_t k = 0; k < ps->n_rungs; k++) {
		int64_t machines = 0;

		for (size_t i = 0; i < ps->n_lines; i++)
			machines += ps->rung[k].count[i];
		text = arena_printf(a, "%s%s%lld on %s", text, k == 0 ? "" : ", ", (long long)machines,
		    time_fmt_date(day, ps->rung[k].at));
	}
	return arena_printf(a, "in steps: buy %s; plan again before each. It costs %.2f USD more than buying all at once if the "
	    "forecast holds, and binds only the first step if it does not", text, ps->ladder_cost_usd - ps->plan.cost_usd);
}
