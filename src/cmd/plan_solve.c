#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_deal.h"
#include "cmd/plan_join.h"
#include "cmd/plan_lines.h"
#include "util/arena.h"
#include "util/time.h"
#include "util/vec.h"

#define PLAN_BUDGET_STEPS 50
#define PLAN_MEASURED_SAID 5
#define PLAN_SEARCH_LINES 60

/* Plans of all series with fixed prices times 1 + theta; *bound_out what they bind, *lower_out what
 * none costs less than then. */
static enum berth_code
plan_at(struct plan_series *ps, size_t n, double theta, struct arena *a, double *bound_out,
    double *lower_out, struct berth_err *err)
{
	*bound_out = 0;
	*lower_out = 0;
	for (size_t i = 0; i < n; i++) {
		enum berth_code rc;

		ps[i].problem.theta = theta;
		ps[i].problem.budget = NAN;
		rc = commit_solve_shares(&ps[i].problem, &ps[i].shares, a, &ps[i].plan, err);
		if (rc != BERTH_OK)
			return err_ctx(err, "series %s", ps[i].series.name);
		*bound_out += ps[i].plan.bound_usd;
		*lower_out += ps[i].plan.lower_theta_usd;
	}
	return BERTH_OK;
}

/* No plans of all series together cost less than lower (USD): each has its part of the gap. */
static void
plan_budget_bound(struct plan_series *ps, size_t n, double lower)
{
	double cost = 0;

	for (size_t i = 0; i < n; i++)
		cost += ps[i].plan.cost_usd;
	for (size_t i = 0; i < n && n > 1; i++) {
		ps[i].plan.lower_bound_usd =
		    cost > 0 ? ps[i].plan.cost_usd * fmin(1, fmax(0, lower) / cost) : 0;
		ps[i].plan.optimal = cost - lower <= 1e-9 * cost;
	}
}

/* All series at once, where they have few offers; kept if that is better. */
static enum berth_code
plan_budget_search(
    struct plan_series *ps, size_t n, double budget, struct arena *a, struct berth_err *err)
{
	struct commit_member *m = arena_array(a, n, sizeof(*m));
	struct commit_plan *plan = arena_array(a, n, sizeof(*plan));
	double was = 0, is = 0;
	size_t lines = 0;
	enum berth_code rc;

	for (size_t i = 0; i < n; i++) {
		m[i] = (struct commit_member){ &ps[i].problem, &ps[i].shares, &ps[i].demand,
			&plan[i] };
		lines += ps[i].n_lines;
	}
	if (lines > PLAN_SEARCH_LINES)
		return BERTH_OK;
	rc = commit_solve_joint(m, n, budget, a, err);
	if (rc != BERTH_OK)
		return rc == BERTH_EINFEASIBLE ? BERTH_OK
					       : rc; /* not found in time: what is there stands */
	for (size_t i = 0; i < n; i++) {
		was += ps[i].plan.cost_usd;
		is += plan[i].cost_usd;
	}
	for (size_t i = 0; i < n && is <= was; i++)
		ps[i].plan = plan[i];
	return BERTH_OK;
}

/* One price of money for all series; then what is left of the budget goes to them in turn. */
static enum berth_code
plan_budget(struct plan_series *ps, size_t n, double budget, struct arena *a, struct berth_err *err)
{
	double lo = 0, hi = 1, bound, left, at, lower = 0;
	enum berth_code rc;

	for (;; hi *= 4) {
		rc = plan_at(ps, n, hi, a, &bound, &at, err);
		if (rc != BERTH_OK)
			return rc;
		lower = fmax(lower, at - hi * budget); /* Lagrangian */
		if (bound <= budget)
			break;
		if (hi > 1e9)
			return commit_over_budget(bound, budget, err);
		lo = hi;
	}
	for (int k = 0; k < PLAN_BUDGET_STEPS && n > 1; k++) {
		double mid = lo + (hi - lo) / 2;

		rc = plan_at(ps, n, mid, a, &bound, &at, err);
		if (rc != BERTH_OK)
			return rc;
		lower = fmax(lower, at - mid * budget);
		if (bound <= budget)
			hi = mid;
		else
			lo = mid;
	}
	rc = plan_at(ps, n, hi, a, &bound, &at, err);
	left = budget - bound;
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		double share = n == 1 ? budget : ps[i].plan.bound_usd + left;

		left += ps[i].plan.bound_usd;
		ps[i].problem.theta = 0;
		ps[i].problem.budget = share;
		rc = commit_solve_shares(&ps[i].problem, &ps[i].shares, a, &ps[i].plan, err);
		left -= ps[i].plan.bound_usd;
	}
	if (rc == BERTH_OK)
		plan_budget_bound(ps, n, lower);
	return rc == BERTH_OK && n > 1 && !ps[0].plan.optimal
		   ? plan_budget_search(ps, n, budget, a, err)
		   : rc;
}

enum berth_code
plan_feasible(
    struct plan_series *ps, const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	double bound, lower;

	return plan_quota_short(ps, 1, o, plan_at(ps, 1, 0, a, &bound, &lower, err), a, err);
}

void
plan_add(struct explain *e, struct arena *a, const char *s)
{
	const char **line = arena_array(a, e->n + 1, sizeof(*line));

	if (e->n > 0)
		memcpy(line, e->line, e->n * sizeof(*line));
	line[e->n++] = s;
	e->line = line;
}

/* GPUs owned or bought, of the offers in a share's group; 0: all. */
static double
plan_bound_gpus(const struct plan_series *ps, size_t group)
{
	double sum = 0;

	for (size_t i = 0; i < ps->n_lines; i++)
		if ((ps->lines[i].kind == COMMIT_OWNED || ps->lines[i].kind == COMMIT_RESERVED) &&
		    (group == 0 || ps->shares.group[i] == group))
			sum += ps->plan.use[i].gpus;
	return sum;
}

/* A least share that nothing on offer can fill allows no purchase at all. */
static const char *
plan_share_barred(const struct plan_series *ps, size_t group, double least)
{
	if (least <= 0)
		return "";
	for (size_t i = 0; i < ps->n_lines; i++)
		if ((ps->lines[i].kind == COMMIT_OWNED || ps->lines[i].kind == COMMIT_RESERVED) &&
		    ps->shares.group[i] == group)
			return "";
	return ": it reserves nothing that fits, so that nothing may be bought at all";
}

/* What GPUs are counted in, and cards of the group that differ from it in speed. */
static void
plan_forms(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	const char *unit = unit_say(&ps->unit, ps->accel, a);

	if (unit != NULL)
		plan_add(&ps->because, a, unit);
	for (size_t i = 0; i < ps->forms.n && unit != NULL; i++)
		plan_add(&ps->because, a,
		    arena_printf(a, "each %s counts as %.2f %s, as they are rated at %s",
			ps->forms.v[i].accel->name, ps->forms.v[i].speed, ps->counted_in->name,
			accel_precision_name(o->precision)));
	for (size_t i = 0; i < ps->forms.n && unit == NULL; i++)
		plan_add(&ps->because, a,
		    arena_printf(a,
			"each %s counts as %.2f %s, as they are rated at %s: %s is taken to be the "
			"faster, as history does not tell them apart; --gpu says which it was",
			ps->forms.v[i].accel->name, ps->forms.v[i].speed, ps->counted_in->name,
			accel_precision_name(o->precision), ps->accel->name));
}

/* What was cut and left out, what was measured, and how old prices and history are. */
static void
plan_assumed_prices(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	const struct fc_result *f = &ps->forecast;
	char t[TIME_FMT_SIZE];
	struct explain *e = &ps->because;

	if (ps->cut_paths > 0)
		plan_add(e, a,
		    arena_printf(a, "%zu absurd sample paths were cut to the highest of the others",
			ps->cut_paths));
	if (ps->refused[REFUSE_PRICE_STALE] > 0)
		plan_add(e, a,
		    arena_printf(a,
			"%zu offer%s left out, the price is too old: `berth prices refresh` or a "
			"newer file for `berth prices import` brings newer ones, --spot-age and "
			"--price-age take older ones",
			ps->refused[REFUSE_PRICE_STALE],
			ps->refused[REFUSE_PRICE_STALE] == 1 ? " is" : "s are"));
	if (ps->refused_term > 0)
		plan_add(e, a,
		    arena_printf(a,
			"%zu reserved offers with a term over %lld months were left out "
			"(--max-term)",
			ps->refused_term, (long long)o->max_term_months));
	for (size_t i = 0, said = 0; i < ps->n_market && said < PLAN_MEASURED_SAID; i++) {
		const struct offer *x = ps->market[i];

		if (plan_measured(x) == 1 || x->purchase == PURCHASE_RESERVED)
			continue;
		said++;
		plan_add(e, a,
		    arena_printf(a,
			"measured: %s %s %s does %.2f of its rating, so that its %s GPU-hour "
			"counts as %.2f of one",
			x->provider, x->region, x->instance_type, x->measured,
			purchase_name(x->purchase), 1 / ps->speed[i]));
	}
	plan_forms(ps, o, a);
	if (ps->price_oldest > 0)
		plan_add(e, a,
		    arena_printf(
			a, "prices as of %s or later", time_fmt_date(t, ps->price_oldest)));
	if (ps->history_warning != NULL)
		plan_add(e, a, arena_printf(a, "forecast warning: %s", ps->history_warning));
	for (size_t i = 0; i < f->n_warnings; i++)
		plan_add(e, a, arena_printf(a, "forecast warning: %s", f->warnings[i]));
}

/* What the plan stands on: forecast, prices, what was assumed and what was left out. */
static void
plan_assumed(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	const struct fc_result *f = &ps->forecast;
	char t[TIME_FMT_SIZE], u[TIME_FMT_SIZE];
	struct explain *e = &ps->because;

	plan_add(e, a,
	    arena_printf(a, "forecast: %s, %zu sample paths of %zu steps from %s; history %s to %s",
		f->model, f->n_paths, f->horizon, time_fmt(t, f->t0),
		time_fmt_date(u, f->history_from),
		time_fmt_date((char[TIME_FMT_SIZE]){ 0 }, f->history_to)));
	plan_add(e, a,
	    arena_printf(a, "peak at service level %.6g: %.0f GPU%s%s", o->service_level,
		ceil(ps->peak), ceil(ps->peak) == 1 ? "" : "s",
		ps->peak_enough
		    ? ""
		    : " (too few sample paths to claim it with 95 % confidence: see --paths)"));
	plan_reclaim_explain(ps, a);
	if (ps->list_prices)
		plan_add(e, a,
		    "no account of berth.yaml sells this accelerator: list prices were taken");
	if (isinf(ps->plan.capacity_gpus))
		plan_add(e, a,
		    "assumed: on-demand machines can be had whenever they are needed; "
		    "--on-demand-limit or limits: in berth.yaml say otherwise");
	for (size_t i = 0, said = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_SPOT && (ps->plan.use[i].gpus > 0 || said == 0) &&
		    ++said > 0)
			plan_add(e, a,
			    arena_printf(a,
				"assumed: spot carries at most %lld GPU%s, can be had 80 %% of the "
				"time (%s else), and costs %.4f USD a useful GPU-hour with "
				"lost work%s%s",
				(long long)ps->spot_gpus, ps->spot_gpus == 1 ? "" : "s",
				ps->no_on_demand ? "what is owned or reserved" : "on demand",
				ps->lines[i].usage, said > 1 ? " at " : "",
				said > 1 ? ps->names[i] : ""));
	for (size_t k = 0; k < o->n_shares; k++)
		plan_add(e, a,
		    arena_printf(a,
			"%s: %.4g of %.4g GPUs that are owned or bought (asked: %.0f to %.0f %%)%s",
			o->shares[k].provider, plan_bound_gpus(ps, k + 1), plan_bound_gpus(ps, 0),
			100 * o->shares[k].min, 100 * o->shares[k].max,
			plan_share_barred(ps, k + 1, o->shares[k].min)));
	plan_assumed_prices(ps, o, a);
}

/* A term that outlives the forecast. */
static void
plan_tail(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	double tail = 0;

	for (size_t i = 0; i < ps->n_lines; i++) {
		double term_s = offer_term_hours(ps->offers[i]) * 3600;

		if (ps->lines[i].kind == COMMIT_RESERVED && ps->plan.use[i].count > 0 &&
		    term_s > 1.01 * (double)o->horizon_s)
			tail += ps->plan.use[i].bound_usd * (term_s / (double)o->horizon_s - 1);
	}
	if (tail > 0)
		plan_add(&ps->because, a,
		    arena_printf(a,
			"the terms run on beyond the horizon and bind %.2f USD more there: the "
			"plan assumes that demand stays",
			tail));
}

/* Terms that end inside the horizon: the plan at one date pays them through it. */
static void
plan_again(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	const char *names = "";

	for (size_t i = 0; i < ps->n_lines; i++) {
		double term_s = offer_term_hours(ps->offers[i]) * 3600;

		if (ps->lines[i].kind == COMMIT_RESERVED && ps->plan.use[i].count > 0 &&
		    term_s > 0 && 1.01 * term_s < (double)o->horizon_s)
			names = arena_printf(
			    a, "%s%s%s", names, names[0] == '\0' ? "" : " and ", ps->names[i]);
	}
	if (names[0] != '\0')
		plan_add(&ps->because, a,
		    arena_printf(a,
			"assumed: terms that end inside the horizon are bought again at the same "
			"price (%s)%s",
			names,
			o->starts_s > 0 ? ", in the plan that buys all now"
					: "; --starts says when"));
}

/* A change of price or demand, of as many digits as it takes to be seen. */
const char *
plan_percent(double factor, struct arena *a)
{
	double percent = 100 * fabs(factor - 1);

	return arena_printf(a, percent < 0.095 ? "%.1g %%" : "%.1f %%", fmax(percent, 0.0001));
}

static void
plan_turn(struct plan_series *ps, struct arena *a, const struct commit_turn *t, const char *what,
    const char *which)
{
	if (isfinite(t->factor))
		plan_add(&ps->because, a,
		    arena_printf(a,
			"what would change %s: with %s %s %s, %.4g GPU%s would be bought%s",
			ps->schedule != NULL ? "the plan that buys all now" : "it", what,
			plan_percent(t->factor, a), which, t->gpus, t->gpus == 1 ? "" : "s",
			ps->met ? " for the series planned together" : ""));
}

/* What would change the number of purchases. */
static void
plan_turns(struct plan_series *ps, struct arena *a)
{
	plan_turn(ps, a, &ps->change.dearer, "reserved prices", "higher");
	plan_turn(ps, a, &ps->change.cheaper, "reserved prices", "lower");
	plan_turn(ps, a, &ps->change.more, "demand", "higher");
	plan_turn(ps, a, &ps->change.less, "demand", "lower");
}

/* What is owned and ends before the horizon does. */
static void
plan_ends(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	char day[TIME_FMT_SIZE];

	for (size_t i = 0; i < ps->n_owned; i++) {
		int64_t to = ps->owned[i].to;

		if (to >= (int64_t)ps->demand.n_steps || ps->owned[i].gpus < 1)
			continue;
		plan_add(&ps->because, a,
		    arena_printf(a,
			"owned: %.0f GPU%s of %s end%s on %s, inside the horizon: counted here as "
			"%s%s",
			ps->owned[i].gpus, ps->owned[i].gpus == 1 ? "" : "s", ps->owned_name[i],
			ps->owned[i].gpus == 1 ? "s" : "",
			time_fmt_date(day, ps->forecast.t0 + to * ps->forecast.step_s),
			2 * (to - (ps->owned[i].from > 0 ? ps->owned[i].from : 0)) <
				(int64_t)ps->demand.n_steps
			    ? "not there"
			    : "if they stayed",
			o->starts_s > 0 ? "" : "; --starts says what to do then"));
	}
}

/* Each series by itself, then what binds them together. */
static enum berth_code
plan_purchases(struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a,
    struct berth_err *err)
{
	double bound = 0, lower;
	bool over;
	enum berth_code rc;

	plan_quotas(ps, n, o, a);
	rc = plan_at(ps, n, 0, a, &bound, &lower, err);
	over = !isnan(o->budget_usd) && bound > o->budget_usd;
	if (rc == BERTH_OK)
		rc = plan_quota_solve(ps, n, over, o, a, err);
	if (rc == BERTH_OK && over && plan_quota_count(o) == 0)
		rc = plan_budget(ps, n, o->budget_usd, a, err);
	if (rc == BERTH_OK)
		plan_deal_bound(ps, n);
	return rc;
}

void
plan_tick(const struct plan_options *o, size_t steps)
{
	if (o->progress == NULL)
		return;
	o->progress->done += (int64_t)steps;
	progress_set(&o->progress->bar, o->progress->done);
}

enum berth_code
plan_solve_all(struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a,
    struct berth_err *err)
{
	double bound = 0;
	enum berth_code rc = plan_purchases(ps, n, o, a, err);

	plan_tick(o, 1);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++)
		bound += ps[i].plan.bound_usd;
	if (rc == BERTH_OK)
		rc = plan_schedule(ps, n, o, a, err);
	if (rc == BERTH_OK)
		rc = plan_ladder(ps, n, o, a, err);
	if (rc == BERTH_OK)
		plan_quota_runway(ps, n, true, o, a);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		struct commit_risk peaks;

		ps[i].problem.budget =
		    o->budget_usd - (bound - ps[i].plan.bound_usd); /* what the others leave */
		rc = commit_assess(
		    &ps[i].problem, &ps[i].alone, &ps[i].plan, &ps[i].demand, a, &ps[i].risk, err);
		if (rc != BERTH_OK)
			return err_ctx(err, "series %s, 20 %% more", ps[i].series.name);
		/* Coverage and peaks are those of the steps' peaks, money that of their means. */
		commit_cover(&ps[i].plan, &ps[i].peaks, a, &peaks);
		ps[i].risk.covered = peaks.covered;
		ps[i].risk.peak_p50 = peaks.peak_p50;
		ps[i].risk.peak_p95 = peaks.peak_p95;
		explain_commit(
		    &ps[i].problem, &ps[i].plan, &ps[i].risk, ps[i].names, a, &ps[i].because);
		plan_short_explain(&ps[i], o, a);
		plan_quota_explain(&ps[i], o, a);
		if (!ps[i].met) /* else that of all is known */
			rc = commit_change(&ps[i].problem, &ps[i].shares, &ps[i].plan,
			    &ps[i].demand, plan_spot_gpus(&ps[i], o), a, &ps[i].change, err);
		if (rc != BERTH_OK)
			break;
		rc = plan_rival(&ps[i], o, a, err);
		if (rc != BERTH_OK)
			break;
		rc = plan_reclaim(&ps[i], a, err);
		if (rc != BERTH_OK)
			break;
		plan_rival_explain(&ps[i], a);
		plan_parts_explain(&ps[i], a);
		plan_sold_out_explain(&ps[i], o, a);
		plan_turns(&ps[i], a);
		plan_owned_explain(&ps[i], a);
		plan_ends(&ps[i], o, a);
		plan_schedule_explain(&ps[i], o, a);
		plan_ladder_explain(&ps[i], a);
		plan_tail(&ps[i], o, a);
		plan_again(&ps[i], o, a);
		plan_assumed(&ps[i], o, a);
		plan_tick(o, 1);
	}
	return rc;
}
