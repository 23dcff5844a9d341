/* src/cmd/plan_schedule_turns.c - what would change a schedule.  Floor: cmd. */
#include "config.h"

#include <math.h>

#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"

/* GPUs that are bought at all dates; what is renewed counts again. */
static int64_t
schedule_gpus(const struct plan_series *ps, const struct schedule *s)
{
	int64_t gpus = 0;

	for (size_t k = 0; k < s->n; k++)
		gpus += s->buy[k].count * ps->lines[s->buy[k].line].gpus;
	return gpus;
}

static const struct schedule *
schedule_turned(const struct plan_series *ps, const struct schedule_turn *t)
{
	return isfinite(t->factor) ? t->plan[ps->turns_at] : NULL;
}

/* The first purchase that is another one: its step, line and count then. False: all are the same.
 */
static bool
schedule_differs(const struct plan_series *ps, const struct schedule *then, int64_t *step_out,
    size_t *line_out, int64_t *count_out)
{
	const struct schedule *of[2] = { ps->schedule, then };
	bool any = false;

	for (int side = 0; side < 2; side++)
		for (size_t k = 0; k < of[side]->n; k++) {
			const struct schedule_buy *b = &of[side]->buy[k];
			int64_t others = plan_schedule_beginning(of[1 - side], b->line, b->from);

			if (others == b->count ||
			    (any && (b->from > *step_out ||
					(b->from == *step_out && b->line >= *line_out))))
				continue;
			any = true;
			*step_out = b->from;
			*line_out = b->line;
			*count_out = side == 1 ? b->count : others;
		}
	return any;
}

static void
schedule_turn_say(struct plan_series *ps, struct arena *a, const struct schedule_turn *t,
    const char *what, const char *which)
{
	const struct schedule *then = schedule_turned(ps, t);
	char day[TIME_FMT_SIZE];
	int64_t step = 0, count = 0;
	size_t line = 0;

	if (then == NULL)
		return;
	if (!schedule_differs(ps, then, &step, &line, &count)) {
		plan_add(&ps->because, a,
		    arena_printf(a,
			"what would change the schedule: with %s %s %s, that of another series "
			"which was planned together with this one",
			what, plan_percent(t->factor, a), which));
		return;
	}
	plan_add(&ps->because, a,
	    arena_printf(a,
		"what would change the schedule: with %s %s %s, %s; first on %s %lld x %s, not "
		"%lld",
		what, plan_percent(t->factor, a), which,
		schedule_gpus(ps, then) == schedule_gpus(ps, ps->schedule)
		    ? "other purchases of as many GPUs over all dates"
		    : arena_printf(a, "%lld GPUs would be bought over all dates, not %lld",
			  (long long)schedule_gpus(ps, then),
			  (long long)schedule_gpus(ps, ps->schedule)),
		time_fmt_date(day, plan_schedule_time(ps, step)), (long long)count, ps->names[line],
		(long long)plan_schedule_beginning(ps->schedule, line, step)));
}

void
plan_schedule_turns_say(struct plan_series *ps, struct arena *a)
{
	if (ps->turns == NULL)
		return;
	schedule_turn_say(ps, a, &ps->turns->dearer, "reserved prices", "higher");
	schedule_turn_say(ps, a, &ps->turns->cheaper, "reserved prices", "lower");
	schedule_turn_say(ps, a, &ps->turns->more, "demand", "higher");
	schedule_turn_say(ps, a, &ps->turns->less, "demand", "lower");
}

static void
schedule_turn_json(
    struct jsonw *w, const struct plan_series *ps, const char *name, const struct schedule_turn *t)
{
	const struct schedule *then = schedule_turned(ps, t);
	int64_t step = 0, count = 0;
	size_t line = 0;

	jsonw_begin_object(w, name);
	jsonw_fixed(w, "factor", t->factor, 9);
	if (then != NULL)
		jsonw_int(w, "gpus", schedule_gpus(ps, then));
	else
		jsonw_null(w, "gpus");
	if (then != NULL && schedule_differs(ps, then, &step, &line, &count)) {
		jsonw_time(w, "t", plan_schedule_time(ps, step));
		jsonw_str(w, "offer", ps->names[line]);
		jsonw_int(w, "count", count);
		jsonw_int(w, "instead_of", plan_schedule_beginning(ps->schedule, line, step));
	}
	jsonw_end_object(w);
}

void
plan_schedule_turns_json(struct jsonw *w, const struct plan_series *ps)
{
	if (ps->turns == NULL) {
		jsonw_null(w, "what_changes_it");
		return;
	}
	jsonw_begin_object(w, "what_changes_it");
	jsonw_int(w, "gpus", schedule_gpus(ps, ps->schedule));
	schedule_turn_json(w, ps, "reserved_price_up", &ps->turns->dearer);
	schedule_turn_json(w, ps, "reserved_price_down", &ps->turns->cheaper);
	schedule_turn_json(w, ps, "demand_up", &ps->turns->more);
	schedule_turn_json(w, ps, "demand_down", &ps->turns->less);
	jsonw_end_object(w);
}
