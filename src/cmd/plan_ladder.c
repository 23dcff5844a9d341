/* src/cmd/plan_ladder.c - the purchases of a plan in several steps.  Floor: cmd. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/time.h"

#define LADDER_SAID 24
#define LADDER_PARTS 16 /* of an equal step, by which one is raised until it keeps the rules */

/* One series in the hours of a step, with nothing to choose: what it has by then is bought. */
struct ladder_part {
	struct plan_series *ps;
	size_t from, to; /* steps of its forecast */
	int64_t *count;  /* [n_lines] by the end of the step before, then of this one */
	struct commit_problem problem;
	struct commit_demand demand;
	struct commit_curve curve;
	struct commit_plan plan;
};

/* Series that were planned together, or one. */
struct ladder {
	struct ladder_part *part; /* [n] */
	size_t n;
	struct arena *a;
};

/* Steps [from, to) of sample paths. */
static struct commit_demand
ladder_hours(const struct commit_demand *d, size_t from, size_t to, double cap, struct arena *a)
{
	size_t n = to - from;
	double *gpus = arena_array(a, d->n_paths * n + 1, sizeof(*gpus));

	for (size_t k = 0; k < d->n_paths; k++)
		for (size_t t = 0; t < n; t++)
			gpus[k * n + t] = fmin(d->gpus[k * d->n_steps + from + t], cap);
	return (struct commit_demand){ gpus, d->n_paths, n, d->weight, d->step_hours, d->uncut };
}

static enum berth_code
ladder_hours_of(
    struct ladder_part *p, const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	const struct plan_series *ps = p->ps;
	struct commit_demand peaks = ladder_hours(&ps->peaks, p->from, p->to, INFINITY, a);
	bool enough;
	enum berth_code rc;

	p->demand = ladder_hours(&ps->demand, p->from, p->to, ps->curve.peak,
	    a); /* absurd paths are cut as in the whole */
	p->problem = ps->problem;
	p->problem.curve = &p->curve;
	p->problem.budget = NAN;
	p->problem.theta = 0;
	rc = commit_curve_build(&p->demand, a, &p->curve, NULL, err);
	if (rc == BERTH_OK)
		rc = commit_peak(&peaks, o->service_level, a, &p->problem.peak, &enough, err);
	p->problem.peak = fmin(p->problem.peak, ps->problem.peak);
	return rc;
}

/* With parts/of of each purchase, rounded up. BERTH_EINFEASIBLE: peak, shares or quotas are not
 * kept. */
static enum berth_code
ladder_try(struct ladder *l, int64_t parts, int64_t of, struct berth_err *err)
{
	struct commit_member *m = arena_array(l->a, l->n + 1, sizeof(*m));
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct ladder_part *p = &l->part[i];
		struct commit_line *line =
		    arena_memdup(l->a, p->ps->lines, p->ps->n_lines * sizeof(*line));

		for (size_t k = 0; k < p->ps->n_lines; k++) {
			if (line[k].kind != COMMIT_RESERVED)
				continue;
			p->count[k] = (p->ps->plan.use[k].count * parts + of - 1) / of;
			line[k].min_count = line[k].max_count = p->count[k];
		}
		p->problem.lines = line;
		if (p->to > p->from)
			m[n++] = (struct commit_member){ &p->problem, &p->ps->shares, &p->demand,
				&p->plan };
	}
	if (n == 0)
		return BERTH_OK;
	if (n == 1)
		return commit_solve_shares(m[0].problem, m[0].rules, l->a, m[0].plan, err);
	return commit_solve_joint(m, n, NAN, l->a, err);
}

/* One step: an equal share, or as much more as keeps the rules. *parts_io: of what was bought
 * before. */
static enum berth_code
ladder_step(struct ladder *l, size_t rung, int64_t rungs, int64_t *parts_io, struct berth_err *err)
{
	int64_t of = rungs * LADDER_PARTS, equal = ((int64_t)rung + 1) * LADDER_PARTS;
	int64_t parts = equal > *parts_io ? equal : *parts_io;
	enum berth_code rc = ladder_try(l, parts, of, err);

	while (rc == BERTH_EINFEASIBLE && parts < of)
		rc = ladder_try(l, ++parts, of, err);
	*parts_io = parts;
	for (size_t i = 0; i < l->n && rc == BERTH_OK; i++) {
		struct ladder_part *p = &l->part[i];
		struct plan_rung *r = &p->ps->rung[rung];

		for (size_t k = 0; k < p->ps->n_lines; k++) {
			int64_t before = 0;

			for (size_t b = 0; b < rung; b++)
				before += p->ps->rung[b].count[k];
			r->count[k] =
			    p->ps->lines[k].kind == COMMIT_RESERVED ? p->count[k] - before : 0;
		}
		if (p->to > p->from)
			p->ps->ladder_cost_usd += p->plan.cost_usd;
		p->ps->ladder_raised = p->ps->ladder_raised || parts > equal;
	}
	return rc;
}

static enum berth_code
ladder_all(struct ladder *l, const struct plan_options *o, struct berth_err *err)
{
	size_t rungs = (size_t)o->ladder;
	int64_t parts = 0;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < l->n; i++) {
		struct plan_series *ps = l->part[i].ps;

		ps->rung = arena_array(l->a, rungs, sizeof(*ps->rung));
		ps->n_rungs = rungs;
		l->part[i].count = arena_array(l->a, ps->n_lines + 1, sizeof(int64_t));
	}
	for (size_t k = 0; k < rungs && rc == BERTH_OK; k++) {
		for (size_t i = 0; i < l->n && rc == BERTH_OK; i++) {
			struct ladder_part *p = &l->part[i];
			size_t steps = (size_t)(o->ladder_every_s / p->ps->forecast.step_s),
			       end = p->ps->demand.n_steps;

			p->from = k * steps < end ? k * steps : end;
			p->to = k + 1 == rungs || (k + 1) * steps > end ? end : (k + 1) * steps;
			p->ps->rung[k].at =
			    p->ps->forecast.t0 + (int64_t)(k * steps) * p->ps->forecast.step_s;
			p->ps->rung[k].count =
			    arena_array(l->a, p->ps->n_lines + 1, sizeof(int64_t));
			if (p->to > p->from)
				rc = ladder_hours_of(p, o, l->a, err);
		}
		if (rc == BERTH_OK)
			rc = ladder_step(l, k, (int64_t)rungs, &parts, err);
	}
	return rc == BERTH_OK ? rc
			      : err_ctx(err, "ladder of series %s", l->part[0].ps->series.name);
}

static bool
ladder_any(const struct plan_series *ps, const struct plan_options *o)
{
	for (size_t i = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_RESERVED && ps->plan.use[i].count > 0)
			return o->ladder > 1 && o->ladder_every_s >= ps->forecast.step_s;
	return false;
}

enum berth_code
plan_ladder(struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a,
    struct berth_err *err)
{
	struct ladder met = { arena_array(a, n + 1, sizeof(*met.part)), 0, a };
	bool any = false;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		struct ladder_part part = { .ps = &ps[i] };
		struct ladder one = { &part, 1, a };

		any = any || (ps[i].met && ladder_any(&ps[i], o));
		if (ps[i].met)
			met.part[met.n++] = part;
		else if (ladder_any(&ps[i], o))
			rc = ladder_all(&one, o, err);
	}
	return rc == BERTH_OK && any ? ladder_all(&met, o, err) : rc;
}

/* "2 x acme r1 quad reserved 12 months, nothing upfront and 1 x ..."; NULL: nothing is bought then.
 */
static const char *
ladder_buys(const struct plan_series *ps, const struct plan_rung *r, struct arena *a)
{
	const char *text = NULL;

	for (size_t i = 0; i < ps->n_lines; i++)
		if (r->count[i] > 0)
			text = arena_printf(a, "%s%s%lld x %s", text == NULL ? "" : text,
			    text == NULL ? "" : " and ", (long long)r->count[i], ps->names[i]);
	return text;
}

void
plan_ladder_explain(struct plan_series *ps, struct arena *a)
{
	char from[TIME_FMT_SIZE], to[TIME_FMT_SIZE];
	int64_t machines = 0;

	if (ps->n_rungs == 0)
		return;
	for (size_t k = 0; k < ps->n_rungs; k++)
		for (size_t i = 0; i < ps->n_lines; i++)
			machines += ps->rung[k].count[i];
	plan_add(&ps->because, a,
	    arena_printf(a,
		"in steps: buy %lld machine%s in %zu steps, %s to %s, and plan again before each. "
		"It "
		"costs %.2f USD more than buying all at once if the forecast holds, and binds only "
		"the first step if it does not%s",
		(long long)machines, machines == 1 ? "" : "s", ps->n_rungs,
		time_fmt_date(from, ps->rung[0].at),
		time_fmt_date(to, ps->rung[ps->n_rungs - 1].at),
		ps->ladder_cost_usd - ps->plan.cost_usd,
		ps->ladder_raised
		    ? "; steps are larger where the peak, the shares or the quotas ask for it"
		    : ""));
	for (size_t k = 0, said = 0; k < ps->n_rungs; k++) {
		const char *buys = ladder_buys(ps, &ps->rung[k], a);

		if (buys != NULL && said++ == LADDER_SAID)
			plan_add(&ps->because, a, "in steps: -o json has those after that");
		if (buys != NULL && said <= LADDER_SAID)
			plan_add(&ps->because, a,
			    arena_printf(a, "in steps: on %s buy %s",
				time_fmt_date(from, ps->rung[k].at), buys));
	}
}
