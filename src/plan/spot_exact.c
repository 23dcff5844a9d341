#include <string.h>

#include "plan/spot_impl.h"
#include "util/arena.h"

/*
 * Least cost with the future known: dynamic programs backwards over the ticks, a row of values by
 * the work left for each thing that the job may have. A job begins with so much time to spare, and
 * never has more; so at each time left only works that leave no more than that are looked at.
 */

#define SPOT_NEVER 1e12 /* of what cannot be done in time */
#define SPOT_VEC 2

typedef double spot_vec __attribute__((vector_size(SPOT_VEC * sizeof(double))));
typedef int64_t spot_mask __attribute__((vector_size(SPOT_VEC * sizeof(int64_t))));

/* Works left that matter at a time left: [from, to). */
struct spot_window {
	size_t from, to;
};

static struct spot_window
spot_window(const struct spot_setting *s, int left)
{
	int from = left - (s->deadline - s->work), to = left < s->work ? left : s->work;

	return (struct spot_window){ from < 1 ? 1 : (size_t)from, (size_t)to + 1 };
}

static spot_vec
spot_load(const double *from)
{
	spot_vec x;

	memcpy(&x, from, sizeof(x));
	return x;
}

/* out[w] = min(out[w] or fresh[w], cost + from[w - shift]); downwards, so that out may be from. */
static void
spot_min(double *out, const double *fresh, const double *from, double cost, size_t shift,
    struct spot_window in)
{
	size_t w = in.to;

	for (; w >= in.from + SPOT_VEC; w -= SPOT_VEC) {
		spot_vec x = spot_load(fresh + w - SPOT_VEC),
			 y = cost + spot_load(from + w - SPOT_VEC - shift);
		spot_mask less = y < x, v = ((spot_mask)y & less) | ((spot_mask)x & ~less);

		memcpy(out + w - SPOT_VEC, &v, sizeof(v));
	}
	for (; w > in.from; w--) {
		double y = cost + from[w - 1 - shift];

		out[w - 1] = y < fresh[w - 1] ? y : fresh[w - 1];
	}
}

/* Rows of values [width], one after the other. */
static double *
spot_rows(struct arena *a, size_t n, size_t width)
{
	double *v = arena_array(a, n * width, sizeof(*v));

	for (size_t k = 0; k < n * width; k++)
		v[k] = k % width == 0 ? 0 : SPOT_NEVER;
	return v;
}

/* Values of running on a machine, by tick: as many as a changeover has, and one. */
struct spot_ring {
	double *v;
	size_t n, width;
};

static struct spot_ring
spot_ring(struct arena *a, const struct spot_setting *s)
{
	struct spot_ring r = { .n = (size_t)s->changeover + 1, .width = (size_t)s->work + 1 };

	r.v = spot_rows(a, r.n, r.width);
	return r;
}

static double *
spot_at(const struct spot_ring *r, int tick)
{
	return r->v + (size_t)tick % r->n * r->width;
}

struct spot_exact {
	const struct spot_world *w;
	const struct spot_setting *s;
	size_t t0, n_regions;
	double **idle;                      /* [regions] with nothing, the state being there */
	struct spot_ring *on_demand, *spot; /* [regions], [zones] */
};

/*
 * Price of a launch in zone z at tick t up to where it brings work; < 0: its changeover would be
 * cut off. (Such a launch is never worth it.)
 */
static double
spot_launch(const struct spot_exact *x, size_t z, int t)
{
	double cost = 0;
	int d = x->s->changeover;

	if (t + d >= x->s->deadline)
		return -1;
	for (int k = 0; k <= d; k++)
		if (!x->w->zones[z].up[x->t0 + (size_t)(t + k)])
			return -1;
	if (x->w->market == NULL)
		return d * x->s->price;
	for (int k = 0; k < d; k++)
		cost += spot_price(x->w, z, x->t0 + (size_t)(t + k), x->s);
	return cost;
}

/* idle of tick t from that of t + 1, in place. Without a changeover a launch brings work in the
 * same tick: its ring has the values of t + 1 still. */
static void
spot_exact_launch(double *idle, const struct spot_ring *r, int t, double cost, double price,
    struct spot_window in)
{
	if (r->n > 1)
		spot_min(idle, idle, spot_at(r, t + (int)r->n - 1), cost, 0, in);
	else
		spot_min(idle, idle, spot_at(r, t), cost + price, 1, in);
}

static void
spot_exact_idle(struct spot_exact *x, int t, struct spot_window in)
{
	for (size_t r = 0; r < x->n_regions; r++)
		if (t + x->s->changeover < x->s->deadline)
			spot_exact_launch(x->idle[r], &x->on_demand[r], t, x->s->changeover, 1, in);
	for (size_t z = 0; z < x->w->n_zones; z++) {
		double cost = spot_launch(x, z, t);

		for (size_t r = 0; r < x->n_regions && cost >= 0; r++)
			spot_exact_launch(x->idle[r], &x->spot[z], t,
			    cost + spot_move(x->w, (int)r, z),
			    spot_price(x->w, z, x->t0 + (size_t)t, x->s), in);
	}
}

/* Runs on through tick t, or is as with nothing. */
static void
spot_exact_run(const struct spot_ring *r, int t, const double *idle, double price, bool up,
    struct spot_window in)
{
	double *now = spot_at(r, t);

	if (up)
		spot_min(now, idle, spot_at(r, t + 1), price, 1, in);
	else
		memcpy(now + in.from, idle + in.from, (in.to - in.from) * sizeof(*now));
}

static void
spot_exact_tick(struct spot_exact *x, int t)
{
	struct spot_window in = spot_window(x->s, x->s->deadline - t);
	size_t at = x->t0 + (size_t)t;

	spot_exact_idle(x, t, in);
	for (size_t r = 0; r < x->n_regions; r++)
		spot_exact_run(&x->on_demand[r], t, x->idle[r], 1, true, in);
	for (size_t z = 0; z < x->w->n_zones; z++)
		spot_exact_run(&x->spot[z], t, x->idle[spot_region(x->w, z)],
		    spot_price(x->w, z, at, x->s), x->w->zones[z].up[at] != 0, in);
}

double
spot_omniscient_market(
    const struct spot_world *w, size_t t0, const struct spot_setting *s, struct arena *scratch)
{
	struct spot_exact x = { .w = w, .s = s, .t0 = t0, .n_regions = 1 };
	size_t home = w->market == NULL ? 0 : (size_t)w->market->home;
	double best;

	if (s->deadline < s->work)
		return -1;
	for (size_t z = 0; z < w->n_zones; z++)
		if ((size_t)spot_region(w, z) >= x.n_regions)
			x.n_regions = (size_t)spot_region(w, z) + 1;
	if (home >= x.n_regions)
		x.n_regions = home + 1;
	x.idle = arena_array(scratch, x.n_regions, sizeof(*x.idle));
	x.on_demand = arena_array(scratch, x.n_regions, sizeof(*x.on_demand));
	x.spot = arena_array(scratch, w->n_zones, sizeof(*x.spot));
	for (size_t r = 0; r < x.n_regions; r++) {
		x.idle[r] = spot_rows(scratch, 1, (size_t)s->work + 1);
		x.on_demand[r] = spot_ring(scratch, s);
	}
	for (size_t z = 0; z < w->n_zones; z++)
		x.spot[z] = spot_ring(scratch, s);
	for (int t = s->deadline - 1; t >= 0; t--)
		spot_exact_tick(&x, t);
	best = x.idle[home][s->work];
	return best >= SPOT_NEVER / 2 ? -1 : best;
}

double
spot_omniscient(const struct spot_zone *zones, size_t n_zones, size_t t0,
    const struct spot_setting *s, struct arena *scratch)
{
	struct spot_world w = { .zones = zones, .n_zones = n_zones };

	return spot_omniscient_market(&w, t0, s, scratch);
}
