#include "config.h"

#include <math.h>

#include "cmd/plan_join.h"
#include "cmd/roadmap.h"
#include "util/arena.h"
#include "util/vec.h"

enum berth_code
plan_events_before(struct cmd_ctx *ctx, const struct roadmap *map, struct plan_series *ps, size_t n, struct berth_err *err)
{
	struct series *rows = arena_array(ctx->arena, n, sizeof(*rows));
	struct fc_series *in = arena_array(ctx->arena, n, sizeof(*in));
	struct fc_event_use **uses = arena_array(ctx->arena, n, sizeof(*uses));
	enum berth_code rc;

	if (map->n == 0)
		return BERTH_OK;
	for (size_t i = 0; i < n; i++) {
		rows[i] = ps[i].series;
		in[i] = ps[i].history;
	}
	rc = roadmap_uses(ctx, map, rows, in, n, uses, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		ps[i].events = uses[i];
		ps[i].n_events = map->n;
		fc_events_history(&in[i], ps[i].events, map->n, ctx->arena, &ps[i].history);
	}
	return rc;
}

void
plan_events_after(const struct plan_options *o, struct plan_series *ps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ps[i].n_events > 0)
			fc_events_apply(&ps[i].forecast, ps[i].events, ps[i].n_events, o->seed, NAN);
}

void
plan_events_explain(struct plan_series *ps, size_t n, struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		VEC(const char *) line = { 0 };

		for (size_t k = 0; k < ps[i].because.n; k++)
			VEC_PUSH(a, &line, ps[i].because.line[k]);
		for (size_t k = 0; k < ps[i].n_events; k++) {
			const struct fc_event_use *u = &ps[i].events[k];

			if (u->share == 0)
				continue;
			VEC_PUSH(a, &line, arena_printf(a, "the roadmap's %s (%s) is in it%s: %+.1f GPUs on the mean, %+.1f at the peak",
			    u->event->name, roadmap_say(u->event, a), u->state == FC_EVENT_ABSENT ? ", but the history does not show it" :
			    u->state == FC_EVENT_AHEAD ? "" : ", and has begun", u->mean, u->at_peak));
		}
		ps[i].because.line = line.v;
		ps[i].because.n = line.n;
	}
}
