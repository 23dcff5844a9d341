/* src/cmd/plan_schedule_runway.c - when quotas are too small for schedules.  Floor: cmd. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"

/* GPUs that a schedule has in a step of which the quota counts nothing. */
static double
runway_beside(const struct plan_series *ps, size_t q, int64_t step)
{
	const struct schedule *s = ps->schedule;
	double gpus = 0;

	for (size_t i = 0; i < ps->n_owned; i++)
		if (ps->owned[i].weight[q] == 0 &&
		    plan_schedule_step(ps, ps->owned[i].from) <= step &&
		    step < plan_schedule_step(ps, ps->owned[i].to))
			gpus += (double)ps->owned[i].gpus;
	for (size_t k = 0; k < s->n; k++)
		if (ps->shares.quota[q].weight[s->buy[k].line] == 0 && s->buy[k].from <= step &&
		    step < s->buy[k].to)
			gpus += (double)(s->buy[k].count * ps->lines[s->buy[k].line].gpus);
	return gpus;
}

static int
runway_cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What a series asks of a quota, in parts of the most that it lets it have. */
static double
runway_part(double gpus, double beside, int64_t most)
{
	return fmax(0, gpus - beside) / fmax((double)most, 1e-9);
}

/* Of one series its 95 % quantile, of several that of their sum. */
static double
runway_need(const struct plan_series *ps, size_t n, const int64_t *most, const double *beside,
    size_t step, size_t paths, double *part)
{
	size_t counted = 0, last = 0;

	for (size_t i = 0; i < n; i++) {
		counted += most[i] >= 0;
		last = most[i] >= 0 ? i : last;
	}
	if (counted == 1) {
		size_t at = step * ps[last].forecast.horizon / (size_t)ps[last].schedule_steps;

		return runway_part(
		    ps[last].forecast.q[at * FC_LEVEL_COUNT + FC_P95], beside[last], most[last]);
	}
	memset(part, 0, paths * sizeof(*part));
	for (size_t i = 0; i < n; i++) {
		const struct commit_demand *d = &ps[i].peaks;
		size_t at = step * d->n_steps / (size_t)ps[i].schedule_steps;

		for (size_t p = 0; p < paths && most[i] >= 0; p++)
			part[p] += runway_part(
			    d->gpus[p % d->n_paths * d->n_steps + at], beside[i], most[i]);
	}
	qsort(part, paths, sizeof(*part), runway_cmp);
	return part[(size_t)ceil(0.95 * (double)paths) - 1];
}

/* The first step in which more is asked of a quota than it has; -1: none. */
static int64_t
runway_step(const struct plan_series *ps, size_t n, const int64_t *most, size_t q, struct arena *a)
{
	double *beside = arena_array(a, n + 1, sizeof(*beside)), *part;
	size_t paths = 1;

	for (size_t i = 0; i < n; i++)
		paths = ps[i].peaks.n_paths > paths ? ps[i].peaks.n_paths : paths;
	part = arena_array(a, paths, sizeof(*part));
	for (int64_t step = 0; step < ps[0].schedule_steps; step++) {
		for (size_t i = 0; i < n; i++)
			beside[i] = most[i] >= 0 ? runway_beside(&ps[i], q, step) : 0;
		if (runway_need(ps, n, most, beside, (size_t)step, paths, part) > 1 + 1e-9)
			return step;
	}
	return -1;
}

void
plan_schedule_runway(
    struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a)
{
	int64_t *most = arena_array(a, n + 1, sizeof(*most));

	for (size_t i = 0; i < n; i++)
		ps[i].later = arena_array(a, o->n_limits + 1, sizeof(*ps[i].later));
	for (size_t q = 0; q < o->n_limits; q++) {
		size_t counted = 0;
		int64_t step;

		for (size_t i = 0; i < n; i++) {
			most[i] = plan_quota_most(&ps[i], o, q);
			counted += most[i] >= 0;
		}
		step = counted > 0 ? runway_step(ps, n, most, q, a) : -1;
		for (size_t i = 0; i < n && step >= 0; i++) {
			int64_t at = ps[i].forecast.t0 + step * ps[i].schedule_step_s,
				by =
				    at - PLAN_ASK_AHEAD_S > o->now ? at - PLAN_ASK_AHEAD_S : o->now;

			if (most[i] >= 0)
				ps[i].later[ps[i].n_later++] =
				    (struct plan_runway){ o->limits[q].name, most[i], at, by,
					    counted };
		}
	}
}

void
plan_runway_say(struct plan_series *ps, const struct plan_runway *r, size_t n, const char *of,
    const char *beside, struct arena *a)
{
	for (const struct plan_runway *end = r + n; r < end; r++) {
		char at[TIME_FMT_SIZE], by[TIME_FMT_SIZE];

		plan_add(&ps->because, a,
		    arena_printf(a,
			"%squota %s%s is too small from %s on for the 95 %% quantile of demand%s: "
			"ask for more by %s",
			of, r->limit[0] != '\0' ? r->limit : "without a name", beside,
			time_fmt_date(at, r->reached),
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
		jsonw_time(w, "reached", r->reached);
		jsonw_time(w, "ask_by", r->ask_by);
		jsonw_int(w, "series_counted", (int64_t)r->series);
		jsonw_end_object(w);
	}
}
