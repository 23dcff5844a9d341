#include "config.h"

#include <math.h>

#include "cmd/plan_join.h"
#include "cmd/roadmap.h"
#include "util/arena.h"
#include "util/vec.h"

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
			VEC_PUSH(a, &line,
			    arena_printf(a,
				"the roadmap's %s (%s) is in it%s: %+.1f GPUs on the mean, %+.1f "
				"at the peak",
				u->event->name, roadmap_say(u->event, "GPUs", a),
				u->state == FC_EVENT_ABSENT  ? ", but the history does not show it"
				: u->state == FC_EVENT_AHEAD ? ""
							     : ", and has begun",
				u->mean, u->at_peak));
		}
		ps[i].because.line = line.v;
		ps[i].because.n = line.n;
	}
}
