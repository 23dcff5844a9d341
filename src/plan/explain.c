#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/explain.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

#define EXPLAIN_MONTH_HOURS 730.0

struct explain_lines {
	struct arena *a;
	VEC(const char *) v;
};

static void BERTH_PRINTF(2, 3) explain_add(struct explain_lines *l, const char *fmt, ...)
{
	va_list ap;
	const char *s;

	va_start(ap, fmt);
	s = arena_vprintf(l->a, fmt, ap);
	va_end(ap);
	VEC_PUSH(l->a, &l->v, s);
}

static double
explain_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* "GPUs 1-24 are busy 61.0 to 98.2 %", "GPU 25 is busy 60.0 %" */
static const char *
explain_levels(const struct commit_use *u, struct arena *a)
{
	const char *last = arena_printf(a, "%.1f", 100 * u->use_last),
		   *first = arena_printf(a, "%.1f", 100 * u->use_first);
	bool even = str_eq(last, first);

	if (u->from == u->to)
		return arena_printf(a, "GPU %lld is busy %s %%", (long long)u->from, first);
	return arena_printf(a, "GPUs %lld-%lld are busy %s%s%s %%", (long long)u->from,
	    (long long)u->to, last, even ? "" : " to ", even ? "" : first);
}

static void
explain_line(struct explain_lines *l, const struct commit_line *line, const struct commit_use *u,
    const char *name)
{
	const char *verb = line->kind == COMMIT_OWNED      ? "owned already"
			   : line->kind == COMMIT_RESERVED ? "reserve"
			   : line->kind == COMMIT_SPOT     ? "spot"
							   : "on demand";

	if (u->gpus == 0)
		return;
	explain_add(l, "%s of the time: %s, %s (%.2f USD, used %.1f %%)", explain_levels(u, l->a),
	    verb, name, u->cost_usd, 100 * u->utilisation);
}

/* Levels that are busy at least this share of the time: a quantile of demand. */
static size_t
explain_busy(const struct commit_problem *p, double share)
{
	size_t l = 0;

	while (l < p->curve->levels && p->curve->use[l] >= share)
		l++;
	return l;
}

/* The first GPUs that the plan does not reserve: what one more machine would cost and save there.
 */
static const char *
explain_next(const struct commit_problem *p, const struct commit_plan *plan, size_t line,
    size_t top, const char *name, struct arena *a)
{
	int64_t gpus = (int64_t)ceil(commit_line_gpus(&p->lines[line]));
	double busy = 0, saves, costs = commit_one_more(p, plan, line, a, &saves);
	const char *what;

	for (size_t l = top; l < top + (size_t)gpus && l < p->curve->levels; l++)
		busy += p->curve->use[l];
	what = gpus == 1 ? arena_printf(a, "GPU %zu is busy %.1f %% of the time: one more of %s",
			       top + 1, 100 * busy, name)
			 : arena_printf(a,
			       "GPUs %zu-%zu are busy %.1f %% of the time: one more machine of %s",
			       top + 1, top + (size_t)gpus, 100 * busy / (double)gpus, name);
	return arena_printf(a,
	    "%s would cost %.4f USD an hour and save %.4f USD of what serves now", what, costs,
	    fmax(0, saves));
}

/* Of what is bought that with the lowest break-even, else of all. n_lines: nothing can be. */
static size_t
explain_best(const struct commit_problem *p, const struct commit_plan *plan)
{
	size_t best = p->n_lines;

	for (size_t i = 0; i < p->n_lines; i++) {
		const struct commit_use *u = &plan->use[i], *b = &plan->use[best];

		if (p->lines[i].kind == COMMIT_RESERVED && !isnan(u->break_even) &&
		    (best == p->n_lines || (u->count > 0 && b->count == 0) ||
			((u->count > 0) == (b->count > 0) && u->break_even < b->break_even)))
			best = i;
	}
	return best;
}

/* What would have to be true for one more GPU of the best offer. */
static void
explain_margin(struct explain_lines *l, const struct commit_problem *p,
    const struct commit_plan *plan, const char *const *name)
{
	size_t best = explain_best(p, plan), top = 0, pays;
	double even;

	if (best == p->n_lines) {
		explain_add(l, "no offer can be reserved for this: all stays on demand or spot");
		return;
	}
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind != COMMIT_SPOT && p->lines[i].kind != COMMIT_ON_DEMAND &&
		    plan->use[i].gpus > 0 && (size_t)plan->use[i].to > top)
			top = (size_t)plan->use[i].to;
	if (top >= p->curve->levels)
		return;
	even = plan->use[best].break_even;
	pays = explain_busy(p, even);
	if (even >= 1)
		explain_add(l, "%s can never pay: its break-even against on demand is %.1f %%",
		    name[best], 100 * even);
	else if (pays == 0)
		explain_add(l,
		    "no GPU is busy for %.1f %% of the time, the break-even of %s against on "
		    "demand",
		    100 * even, name[best]);
	else
		explain_add(l,
		    "against on demand alone, %s would pay for the first %zu GPU%s busy for %.1f "
		    "%% "
		    "of the time or more, its break-even",
		    name[best], pays, pays == 1 ? ", the one that is" : "s, those that are",
		    100 * even);
	explain_add(l, "%s", explain_next(p, plan, best, top, name[best], l->a));
}

static void
explain_bound(
    struct explain_lines *l, const struct commit_problem *p, const struct commit_plan *plan)
{
	if (plan->theta > 0)
		explain_add(l,
		    "the budget of %.2f USD binds: what is bought next would save %.2f USD for "
		    "each USD more that it takes",
		    p->budget, plan->theta);
	if (plan->optimal)
		explain_add(
		    l, "optimal: no other whole numbers of purchases cost less on this forecast");
	else
		explain_add(l, "at most %.2f %% above any possible plan (bound %.2f USD)",
		    explain_percent(plan->cost_usd - plan->lower_bound_usd, plan->lower_bound_usd),
		    plan->lower_bound_usd);
	if (plan->unserved_gpu_hours > 0)
		explain_add(l, "%.*f GPU-hours of the demand can be served by nothing",
		    plan->unserved_gpu_hours < 0.095 ? 4 : 1, plan->unserved_gpu_hours);
}

static void
explain_risk(struct explain_lines *l, const struct commit_problem *p, const struct commit_risk *r)
{
	double months = p->curve->hours / EXPLAIN_MONTH_HOURS;

	explain_add(l,
	    "over the courses that demand may take, the cost is under %.2f USD in one of ten and "
	    "over %.2f USD in one of ten; the peak is over %.0f GPU%s in every second one, over "
	    "%.0f GPU%s in one of twenty",
	    r->p10_usd, r->p90_usd, ceil(r->peak_p50), ceil(r->peak_p50) == 1 ? "" : "s",
	    ceil(r->peak_p95), ceil(r->peak_p95) == 1 ? "" : "s");
	explain_add(l,
	    "if demand falls 10 %%, the plan loses %.2f USD a month against the best for that "
	    "demand (%s%.1f %% %s on-demand only)",
	    r->fall_regret_usd / months, r->fall_usd <= r->fall_on_demand_usd ? "still " : "",
	    fabs(explain_percent(r->fall_on_demand_usd - r->fall_usd, r->fall_on_demand_usd)),
	    r->fall_usd <= r->fall_on_demand_usd ? "under" : "over");
	explain_add(l,
	    "if demand is 20 %% less the plan costs %.2f USD more than the best for that demand, "
	    "%.1f %% %s on-demand only; if it is 20 %% more, %.2f USD",
	    r->regret_down_usd,
	    fabs(explain_percent(r->down_on_demand_usd - r->down_usd, r->down_on_demand_usd)),
	    r->down_usd <= r->down_on_demand_usd ? "under" : "over", r->regret_up_usd);
}

void
explain_commit(const struct commit_problem *p, const struct commit_plan *plan,
    const struct commit_risk *risk, const char *const *name, struct arena *a, struct explain *out)
{
	struct explain_lines l = { .a = a };

	if (p->curve->mean == 0) {
		explain_add(&l, "no demand is forecast: nothing to reserve");
	} else {
		for (size_t i = 0; i < p->n_lines; i++)
			if (p->lines[i].kind == COMMIT_OWNED || p->lines[i].kind == COMMIT_RESERVED)
				explain_line(&l, &p->lines[i], &plan->use[i], name[i]);
		for (size_t i = 0; i < p->n_lines; i++)
			if (p->lines[i].kind == COMMIT_SPOT || p->lines[i].kind == COMMIT_ON_DEMAND)
				explain_line(&l, &p->lines[i], &plan->use[i], name[i]);
		explain_margin(&l, p, plan, name);
		explain_add(&l, "expected %.2f USD, on-demand only %.2f USD: %.1f %% %s",
		    plan->cost_usd, plan->on_demand_usd,
		    fabs(
			explain_percent(plan->on_demand_usd - plan->cost_usd, plan->on_demand_usd)),
		    plan->cost_usd <= plan->on_demand_usd ? "less" : "more");
		explain_risk(&l, p, risk);
	}
	explain_bound(&l, p, plan);
	out->line = l.v.v;
	out->n = l.v.n;
}

const char *
explain_refusals(const size_t *refused, struct arena *a)
{
	const char *text = "";
	bool used[REFUSE_COUNT] = { false };

	for (;;) {
		size_t best = REFUSE_NOT;

		for (size_t c = REFUSE_NOT + 1; c < REFUSE_COUNT; c++)
			if (!used[c] && refused[c] > 0 &&
			    (best == REFUSE_NOT || refused[c] > refused[best]))
				best = c;
		if (best == REFUSE_NOT)
			return text;
		used[best] = true;
		text = arena_printf(a, "%s%s%s %zu", text, text[0] == '\0' ? "" : ", ",
		    refuse_name((enum refuse_code)best), refused[best]);
	}
}

enum refuse_code
explain_rule(const size_t *refused)
{
	enum refuse_code last = REFUSE_NOT;

	for (size_t c = REFUSE_NOT + 1; c < REFUSE_DEARER; c++)
		if (refused[c] > 0)
			last = (enum refuse_code)c;
	return last;
}

static const char *
explain_not_placed(const struct explain_job *j, struct arena *a)
{
	enum refuse_code last = explain_rule(j->refused);
	bool alone = j->detail != NULL && (j->alone || last == REFUSE_ACCELERATOR);

	if (j->seen == 0)
		return "not placed: there are no offers; run `berth prices refresh` or `berth "
		       "prices import`";
	return arena_printf(a, "not placed: %s%s%s%s%s%s%s. %zu offer%s seen, refused: %s",
	    alone ? "" : refuse_text(last), j->detail == NULL || alone ? "" : ": ",
	    j->detail == NULL ? "" : j->detail,
	    j->binds == NULL ? "" : "; binds: ", j->binds == NULL ? "" : j->binds,
	    j->spot == NULL ? "" : "; ", j->spot == NULL ? "" : j->spot, j->seen,
	    j->seen == 1 ? "" : "s", explain_refusals(j->refused, a));
}

const char *
explain_more(double shadow, double more, double saves, const char *unit, struct arena *a)
{
	double said = ceil(more * 100 - 1e-4) / 100;

	if (!(more > 0))
		return "";
	if (isnan(saves))
		return arena_printf(a, " (%.15g %s more would place one more job)", said, unit);
	if (shadow >= 0.005)
		return arena_printf(a, " (%.2f USD a %s)", shadow, unit);
	return arena_printf(a, " (%.15g %s more would save %.2f USD)", said, unit, saves);
}

const char *
explain_place(const struct explain_job *j, struct arena *a)
{
	char finish[TIME_FMT_SIZE], start[TIME_FMT_SIZE];
	const char *text;

	if (j->chosen == NULL)
		return explain_not_placed(j, a);
	text = arena_printf(a, "%s: %.2f USD, done by %s", j->chosen, j->cost->total_usd,
	    time_fmt(finish, j->cost->finish));
	if (j->cost->egress_usd > 0)
		text = arena_printf(
		    a, "%s (%.2f USD of it to move the data)", text, j->cost->egress_usd);
	if (j->cost->interruption_usd >= 0.005)
		text = arena_printf(a,
		    "%s; interruptions are expected to cost %.2f USD, %.0f %% chance of none", text,
		    j->cost->interruption_usd, 100 * j->cost->survival);
	if (j->runner_up != NULL)
		text = arena_printf(a, "%s; next: %s %+.2f USD", text, j->runner_up,
		    j->runner_up_usd - j->cost->total_usd);
	if (j->runner_up != NULL && j->runner_up_egress_usd >= 0.005)
		text = arena_printf(
		    a, "%s (moving the data costs %.2f USD)", text, j->runner_up_egress_usd);
	if (j->passed_over != NULL)
		text = arena_printf(a, "%s; %s would cost %.2f USD less but for %.2f USD of egress",
		    text, j->passed_over, j->passed_over_saves_usd, j->passed_over_egress_usd);
	if (j->binds != NULL)
		text = arena_printf(a, "%s; binds: %s%s", text, j->binds,
		    explain_more(j->shadow, j->more, j->more_saves_usd, j->unit, a));
	if (j->spot != NULL)
		text = arena_printf(a, "%s; %s", text, j->spot);
	else if (j->cost->latest_start > 0)
		text = arena_printf(a,
		    "%s; must run without interruption from %s to keep the deadline", text,
		    time_fmt(start, j->cost->latest_start));
	return text;
}
