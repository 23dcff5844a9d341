/* src/cmd/plan_runway.c - when quotas are too small for plans and schedules.  Floor: cmd. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_facts.h"
#include "cmd/plan_join.h"
#include "plan/commit.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"

enum runway_what { RUNWAY_OWNED, RUNWAY_ONE_DATE, RUNWAY_SCHEDULE };

/* One quota through the finest steps that the forecasts have. */
struct runway {
	const struct plan_series *ps; /* [n] */
	size_t n, q, steps, finest;
	enum runway_what what; /* what stands beside the quota, with what is owned */
	int64_t *most;         /* [n] as plan_quota_most() */
	double *beside;        /* [n] GPUs that it does not count, in the step */
	double *room;          /* [n] ... and that may be had on demand besides, at any time */
	bool shared;           /* ... by one of the series or by another: a limit counts both */
	size_t paths;
	double *part; /* [paths] */
};

static int64_t
runway_time(const struct runway *r, size_t step)
{
	const struct fc_result *f = &r->ps[r->finest].forecast;

	return f->t0 + (int64_t)step * f->step_s;
}

/* What the plan at one date has bought by then; in steps, where it buys so. */
static double
runway_bought(const struct plan_series *ps, size_t q, int64_t at)
{
	double gpus = 0;

	for (size_t l = 0; l < ps->n_lines; l++) {
		int64_t machines = 0;

		if (ps->lines[l].kind != COMMIT_RESERVED || ps->shares.quota[q].weight[l] > 0)
			continue;
		for (size_t k = 0; k < ps->n_rungs; k++)
			machines += ps->rung[k].at <= at ? ps->rung[k].count[l] : 0;
		gpus += ps->n_rungs > 0 ? (double)machines * commit_line_gpus(&ps->lines[l])
					: ps->plan.use[l].gpus;
	}
	return gpus;
}

/* GPUs that a series has in a step of which the quota counts nothing. */
static double
runway_beside(const struct runway *r, const struct plan_series *ps, size_t step)
{
	int64_t own = (int64_t)(step * ps->demand.n_steps / r->steps);
	const struct schedule *s = ps->schedule;
	double gpus = 0;

	for (size_t i = 0; i < ps->n_owned; i++)
		if (ps->owned[i].weight[r->q] == 0 && ps->owned[i].from <= own &&
		    own < ps->owned[i].to)
			gpus += ps->owned[i].gpus;
	if (r->what == RUNWAY_ONE_DATE)
		gpus += runway_bought(ps, r->q, runway_time(r, step));
	for (size_t k = 0; r->what == RUNWAY_SCHEDULE && k < s->n; k++)
		if (ps->shares.quota[r->q].weight[s->buy[k].line] == 0 &&
		    s->buy[k].from <= (int64_t)step && (int64_t)step < s->buy[k].to)
			gpus += (double)(s->buy[k].count * ps->lines[s->buy[k].line].gpus);
	return gpus;
}

/*
 * GPUs that all limits let a series have on demand beside a quota that counts none of them: what is
 * reserved or spot need not carry that.
 */
static double
runway_room(const struct plan_series *ps, const struct plan_options *o, size_t q, struct arena *a)
{
	struct commit_problem p = ps->problem;
	struct commit_line *line = arena_array(a, p.n_lines + 1, sizeof(*line));
	double owned = 0, most;

	for (size_t i = 0; i < ps->n_market; i++)
		if (ps->market[i]->purchase == PURCHASE_ON_DEMAND &&
		    placing_quota_weight(&o->limits[q], ps->market[i]) > 0)
			return 0;
	for (size_t l = 0; l < p.n_lines; l++) {
		line[l] = p.lines[l];
		if (line[l].kind == COMMIT_OWNED)
			owned += (double)line[l].max_count * commit_line_gpus(&line[l]);
		else if (line[l].kind != COMMIT_ON_DEMAND)
			line[l].max_count = 0;
	}
	p.lines = line;
	most =
	    commit_most(&p, &ps->shares, a, arena_array(a, ps->shares.n_quotas + 1, sizeof(bool)));
	return isnan(most) ? 0 : fmax(0, most - owned);
}

/* Does a limit count what two of these series have on demand? */
static bool
runway_shared(const struct runway *r)
{
	for (size_t q = 0; r->n > 0 && q < r->ps[0].shares.n_quotas; q++) {
		size_t counts = 0;

		for (size_t i = 0; i < r->n; i++) {
			bool any = false;

			for (size_t l = 0; l < r->ps[i].n_lines && r->room[i] > 0; l++)
				any = any || (r->ps[i].lines[l].kind == COMMIT_ON_DEMAND &&
						 r->ps[i].shares.quota[q].weight[l] > 0);
			counts += any;
		}
		if (counts > 1)
			return true;
	}
	return false;
}

static int
runway_cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What series i asks of a quota, in parts of the most that it lets it have; left: of what may be
 * had on demand the part that no series before it takes. */
static double
runway_part(const struct runway *r, size_t i, double gpus, double *left)
{
	double need = fmax(0, gpus - r->beside[i]);
	double besides = fmin(need, (r->shared ? *left : 1) * r->room[i]);

	if (besides > 0)
		*left -= besides / r->room[i];
	return (need - besides) / fmax((double)r->most[i], 1e-9);
}

/* Of one series its 95 % quantile, of several that of their sum. */
static double
runway_need(const struct runway *r, size_t step)
{
	size_t counted = 0, last = 0;

	for (size_t i = 0; i < r->n; i++) {
		counted += r->most[i] >= 0;
		last = r->most[i] >= 0 ? i : last;
	}
	if (counted == 1) {
		const struct fc_result *f = &r->ps[last].forecast;
		double left = 1;

		return runway_part(
		    r, last, f->q[step * f->horizon / r->steps * FC_LEVEL_COUNT + FC_P95], &left);
	}
	for (size_t p = 0; p < r->paths; p++) {
		double left = 1;

		r->part[p] = 0;
		for (size_t i = 0; i < r->n; i++) {
			const struct commit_demand *d = &r->ps[i].peaks;
			size_t at = step * d->n_steps / r->steps;

			if (r->most[i] >= 0)
				r->part[p] += runway_part(
				    r, i, d->gpus[p % d->n_paths * d->n_steps + at], &left);
		}
	}
	qsort(r->part, r->paths, sizeof(*r->part), runway_cmp);
	return r->part[(size_t)ceil(0.95 * (double)r->paths) - 1];
}

/* Is more asked of the quota than it has in some step? r->beside is that of the first such step. */
static bool
runway_reached(struct runway *r, size_t *step_out)
{
	for (size_t step = 0; step < r->steps; step++) {
		for (size_t i = 0; i < r->n; i++)
			r->beside[i] = r->most[i] >= 0 ? runway_beside(r, &r->ps[i], step) : 0;
		if (runway_need(r, step) > 1 + 1e-9) {
			*step_out = step;
			return true;
		}
	}
	return false;
}

static struct runway
runway_new(const struct plan_series *ps, size_t n, enum runway_what what, struct arena *a)
{
	struct runway r = { .ps = ps, .n = n, .what = what, .paths = 1 };

	for (size_t i = 0; i < n; i++) {
		r.paths = ps[i].peaks.n_paths > r.paths ? ps[i].peaks.n_paths : r.paths;
		if (ps[i].demand.n_steps > r.steps) {
			r.steps = ps[i].demand.n_steps;
			r.finest = i;
		}
	}
	r.most = arena_array(a, n + 1, sizeof(*r.most));
	r.beside = arena_array(a, n + 1, sizeof(*r.beside));
	r.room = arena_array(a, n + 1, sizeof(*r.room));
	r.part = arena_array(a, r.paths, sizeof(*r.part));
	return r;
}

/* Providers tell quotas of every region: of those that the plan takes nothing of nobody asks. */
static bool
runway_drawn(const struct runway *r, const struct plan_options *o)
{
	if (o->limits[r->q].told == NULL || r->what == RUNWAY_OWNED)
		return true;
	for (size_t i = 0; i < r->n; i++)
		for (size_t l = 0; l < r->ps[i].n_lines; l++)
			if (r->ps[i].shares.quota[r->q].weight[l] > 0 &&
			    r->ps[i].plan.use[l].gpus > 0)
				return true;
	return false;
}

static void
runway_find(struct plan_series *ps, size_t n, enum runway_what what, const struct plan_options *o,
    struct arena *a)
{
	struct runway r = runway_new(ps, n, what, a);

	for (size_t i = 0; i < n; i++) {
		struct plan_runway *new = arena_array(a, o->n_limits + 1, sizeof(*new));

		*(what == RUNWAY_SCHEDULE ? &ps[i].later : &ps[i].runway) = new;
		*(what == RUNWAY_SCHEDULE ? &ps[i].n_later : &ps[i].n_runway) = 0;
	}
	for (r.q = 0; r.q < o->n_limits; r.q++) {
		size_t counted = 0, step;
		int64_t at, by;

		for (size_t i = 0; i < n; i++) {
			r.most[i] = plan_quota_most(&ps[i], o, r.q);
			r.room[i] = r.most[i] >= 0 ? runway_room(&ps[i], o, r.q, a) : 0;
			counted += r.most[i] >= 0;
		}
		r.shared = runway_shared(&r);
		if (counted == 0 || !runway_drawn(&r, o) || !runway_reached(&r, &step))
			continue;
		at = runway_time(&r, step);
		by = at - PLAN_ASK_AHEAD_S > o->now ? at - PLAN_ASK_AHEAD_S : o->now;
		for (size_t i = 0; i < n; i++) {
			struct plan_runway found = { o->limits[r.q].name, r.most[i], r.beside[i],
				r.room[i], at, by, counted };

			if (r.most[i] < 0)
				continue;
			if (what == RUNWAY_SCHEDULE)
				ps[i].later[ps[i].n_later++] = found;
			else
				ps[i].runway[ps[i].n_runway++] = found;
		}
	}
}

void
plan_quota_runway(
    struct plan_series *ps, size_t n, bool bought, const struct plan_options *o, struct arena *a)
{
	runway_find(ps, n, bought ? RUNWAY_ONE_DATE : RUNWAY_OWNED, o, a);
}

void
plan_schedule_runway(
    struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a)
{
	runway_find(ps, n, RUNWAY_SCHEDULE, o, a);
}

/* "quota cards, beside 125 GPUs owned or bought and 40 on demand that it does not count," */
static const char *
runway_name(const struct plan_runway *r, const char *beside, struct arena *a)
{
	const char *name =
	    arena_printf(a, "quota %s", r->limit[0] != '\0' ? r->limit : "without a name");

	if (beside != NULL)
		return arena_printf(a, "%s%s", name, beside);
	if (r->beside < 0.5 && r->on_demand < 0.5)
		return name;
	return arena_printf(a, "%s, beside %s%s%s that it does not count,", name,
	    r->beside < 0.5 ? ""
			    : arena_printf(a, "%.4g GPU%s owned or bought", r->beside,
				  r->beside < 1.5 ? "" : "s"),
	    r->beside < 0.5 || r->on_demand < 0.5 ? "" : " and ",
	    r->on_demand < 0.5 ? ""
			       : arena_printf(a, "%.4g GPU%s to be had on demand", r->on_demand,
				     r->on_demand < 1.5 ? "" : "s"));
}

void
plan_runway_say(struct plan_series *ps, const struct plan_runway *r, size_t n, const char *of,
    const char *beside, struct arena *a)
{
	for (const struct plan_runway *end = r + n; r < end; r++) {
		char at[TIME_FMT_SIZE], by[TIME_FMT_SIZE];

		plan_add(&ps->because, a,
		    arena_printf(a,
			"%s%s is too small from %s on for the 95 %% quantile of demand%s: ask for "
			"more by %s",
			of, runway_name(r, beside, a), time_fmt_date(at, r->reached),
			r->series > 1 ? arena_printf(a,
					    " of the %zu series that it counts together", r->series)
				      : "",
			time_fmt_date(by, r->ask_by)));
	}
}

void
plan_runway_json(struct jsonw *w, const char *series, const struct plan_runway *r, size_t n)
{
	for (const struct plan_runway *end = r + n; r < end; r++) {
		jsonw_begin_object(w, NULL);
		if (series != NULL)
			jsonw_str(w, "series", series);
		jsonw_str(w, "limit", r->limit);
		jsonw_int(w, "gpus", r->gpus);
		jsonw_fixed(w, "beside", r->beside, 3);
		jsonw_fixed(w, "on_demand", r->on_demand, 3);
		jsonw_time(w, "reached", r->reached);
		jsonw_time(w, "ask_by", r->ask_by);
		jsonw_int(w, "series_counted", (int64_t)r->series);
		jsonw_end_object(w);
	}
}
