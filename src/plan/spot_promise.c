#include <math.h>
#include <string.h>

#include "plan/spot_impl.h"
#include "util/arena.h"

#define SPOT_PROMISED 2.0 /* runs that the chances by age are worth */
/* Of the price: work would cost twice what it does on demand. At the price itself flapping pools
 * cost 0.5 % less, and 1.5 % more those of zones that turned from bad to good. */
#define SPOT_LEAST 0.5

/* Sums over the runs that reached each age. */
struct spot_seen {
	double runs, paid, useful, lasting;
};

static void
spot_see(const struct spot_zone *zone, size_t from, size_t to, int changeover, int work,
    const double *more, size_t ages, struct spot_seen *out)
{
	size_t end = to;

	for (size_t t = to; t-- > from;) {
		size_t age = (size_t)zone->age[t];
		double left = (double)(end - t);

		if (!zone->up[t]) {
			end = t;
			continue;
		}
		if (age >= ages) /* one run, one say */
			continue;
		/* One that goes on beyond what is known: as the chances have it. */
		if (end == to)
			left += more[age + (end - t) < ages ? age + (end - t) : ages - 1];
		out[age].runs++;
		out[age].paid += fmin(left, work + changeover);
		out[age].useful += fmin(fmax(0, left - changeover), work);
		out[age].lasting += left >= 2 * changeover;
	}
}

/* more[n]: ticks that a run is expected to go on after this one, by the chances alone. */
static void
spot_expect_more(const struct spot_hazard *up, size_t n, double *more)
{
	more[n - 1] = 1 / up->leave[SPOT_AGES - 1] - 1;
	for (size_t a = n - 1; a-- > 0;)
		more[a] = (1 - up->leave[spot_bucket((int)a, up->edge)]) * (1 + more[a + 1]);
}

static double
spot_survives(const struct spot_hazard *up, size_t age, size_t ticks)
{
	double alive = 1;

	for (size_t k = 0; k < ticks; k++)
		alive *= 1 - up->leave[spot_bucket((int)(age + k), up->edge)];
	return alive;
}

static void
spot_promise_zone(const struct spot_zone *zone, size_t from, size_t to, int tick_s,
    const struct spot_setting *s, struct arena *scratch, struct spot_promise *out, size_t at)
{
	size_t d = (size_t)s->changeover, far = out->ages + d;
	struct spot_seen *seen = arena_array(scratch, out->ages, sizeof(*seen));
	double *more = arena_array(scratch, far, sizeof(*more));
	struct spot_hazard up;

	spot_learn(zone, from, to, 1, tick_s, 0, &up);
	spot_expect_more(&up, far, more);
	spot_see(zone, from, to, s->changeover, s->work, more, out->ages, seen);
	for (size_t a = 0; a < out->ages; a++) {
		const struct spot_seen *x = &seen[a];
		double useful =
			   spot_survives(&up, a, d) * (1 + more[a + d < far ? a + d : far - 1]),
		       paid = fmin(1 + more[a], s->work + s->changeover);

		/* Times have changed where a run lasts as hardly any did. */
		out->worth[at + a] = x->runs < SPOT_SURPRISE * seen[0].runs
					 ? 1
					 : (x->useful + SPOT_PROMISED * fmin(useful, s->work)) /
					       (x->paid + SPOT_PROMISED * paid);
		out->lasts[at + a] = (x->lasting + SPOT_PROMISED * spot_survives(&up, a, 2 * d)) /
				     (x->runs + SPOT_PROMISED);
	}
}

static double
spot_promised(const struct spot_world *w, const double *of, size_t zone, size_t t)
{
	size_t age = (size_t)w->zones[zone].age[t], last = w->promise->ages - 1;

	return of[zone * w->promise->ages + (age < last ? age : last)];
}

bool
spot_pays(const struct spot_world *w, size_t zone, size_t t)
{
	return w->promise == NULL ||
	       spot_promised(w, w->promise->worth, zone, t) >= w->promise->least;
}

double
spot_zone_lasts(const struct spot_world *w, size_t zone, size_t t)
{
	return w->promise == NULL ? 0 : spot_promised(w, w->promise->lasts, zone, t);
}

const struct spot_zone *
spot_any_zone(const struct spot_world *w)
{
	return w->promise == NULL ? w->any : &w->promise->paying;
}

void
spot_promise_learn(struct spot_world *w, size_t from, size_t to, int tick_s,
    const struct spot_setting *s, struct arena *a, struct spot_promise *out)
{
	size_t n = w->any->n;
	struct arena *scratch = arena_new();
	uint8_t *up = arena_array(a, n, sizeof(*up));
	int32_t *age = arena_array(a, n, sizeof(*age));
	int edge[SPOT_AGES - 1];

	spot_edges(tick_s, edge);
	*out = (struct spot_promise){ .ages = (size_t)edge[SPOT_AGES - 2] + 1,
		.least = SPOT_LEAST * s->price,
		.paying = { up, age, n } };
	out->worth = arena_array(a, w->n_zones * out->ages, sizeof(*out->worth));
	out->lasts = arena_array(a, w->n_zones * out->ages, sizeof(*out->lasts));
	for (size_t z = 0; z < w->n_zones; z++) {
		spot_promise_zone(&w->zones[z], from, to, tick_s, s, scratch, out, z * out->ages);
		arena_reset(scratch);
	}
	arena_free(scratch);
	w->promise = out;
	for (size_t t = 0; t < n; t++)
		for (size_t z = 0; z < w->n_zones && !up[t]; z++)
			up[t] = w->zones[z].up[t] && spot_pays(w, z, t);
	spot_ages(up, n, age);
}
