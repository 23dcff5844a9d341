#include <math.h>
#include <string.h>

#include "plan/spot.h"
#include "plan/spot_impl.h"
#include "util/arena.h"

double
spot_price(const struct spot_world *w, size_t zone, size_t t, const struct spot_setting *s)
{
	return w->market == NULL || w->market->price == NULL ? s->price : w->market->price[zone][t];
}

int
spot_region(const struct spot_world *w, size_t zone)
{
	return w->market == NULL || w->market->region == NULL ? 0 : w->market->region[zone];
}

/* What it costs to have the state there, in on-demand ticks. */
double
spot_move(const struct spot_world *w, int from, size_t zone)
{
	return w->market == NULL || spot_region(w, zone) == from ? 0 : w->market->move;
}

/* The table whose price is nearest. */
const struct spot_table *
spot_table_at(const struct spot_world *w, const struct spot_table *table, double price)
{
	const struct spot_market *m = w->market;
	size_t best = 0;

	if (m == NULL || m->n_levels == 0)
		return table;
	for (size_t k = 1; k < m->n_levels; k++)
		if (fabs(m->level[k] - price) < fabs(m->level[best] - price))
			best = k;
	return m->table[best];
}

/* Where the rest of the work costs least with at most one move. */
static int
spot_target(const struct spot_world *w, int region, int work)
{
	const struct spot_market *m = w->market;
	int best = region;

	if (m == NULL || m->tick == NULL || region >= m->n_regions)
		return region;
	for (int r = 0; r < m->n_regions; r++)
		if ((r == region ? 0 : m->move) + work * m->tick[r] <
		    (best == region ? 0 : m->move) + work * m->tick[best])
			best = r;
	return best;
}

/*
 * Cost a tick of work in a zone: its price, and the changeover spread over what its run has left. A
 * move into the region where the work is to end is spread over all of it; any other is paid there
 * and back over that run alone.
 */
static double
spot_rate(const struct spot_world *w, size_t z, size_t t, const struct spot_setting *s, int region,
    int target, int work)
{
	double rest = w->score == NULL
			  ? work
			  : fmin(work, w->score[z][spot_bucket(w->zones[z].age[t], w->edge)]);
	double move = spot_move(w, region, z);

	rest = fmax(1, rest);
	return spot_price(w, z, t, s) * (rest + s->changeover) / rest +
	       (spot_region(w, z) == target ? move / fmax(1, work) : 2 * move / rest);
}

size_t
spot_cheapest_zone(
    const struct spot_world *w, size_t t, const struct spot_setting *s, int region, int work)
{
	int target = spot_target(w, region, work);
	size_t best = w->n_zones;
	double least = INFINITY;

	for (size_t z = 0; z < w->n_zones; z++) {
		double rate;

		if (!w->zones[z].up[t] || spot_price(w, z, t, s) >= 1)
			continue;
		/* Without scores a policy looks at prices alone. */
		rate = w->score == NULL ? spot_price(w, z, t, s)
					: spot_rate(w, z, t, s, region, target, work);
		if (w->score != NULL && rate >= 1 && spot_move(w, region, z) > 0)
			continue; /* on demand, where the state lies, costs less */
		if (best == w->n_zones || rate < least) {
			least = rate;
			best = z;
		}
	}
	return best;
}

bool
spot_worth_moving(const struct spot_world *w, size_t t, const struct spot_setting *s, size_t from,
    size_t to, int work)
{
	double rest = w->score == NULL
			  ? work
			  : fmin(work, w->score[to][spot_bucket(w->zones[to].age[t], w->edge)]);
	double gain = (spot_price(w, from, t, s) - spot_price(w, to, t, s)) * rest;

	return gain >
	       spot_price(w, to, t, s) * s->changeover + spot_move(w, spot_region(w, from), to);
}

#define SPOT_NEVER 1e12

/* Values of the exact program: with nothing by region, on demand by region, on spot by zone, each
 * with rings of d + 1 ticks. */
struct spot_exact {
	const struct spot_world *w;
	const struct spot_setting *s;
	size_t t0, ring, width, n_regions;
	double **idle, **on_demand, **spot; /* idle [regions]; [regions * ring]; [zones * ring] */
	double *tmp;
};

static double **
spot_rows(struct arena *a, size_t n, size_t width)
{
	double **v = arena_array(a, n, sizeof(*v));

	for (size_t k = 0; k < n; k++) {
		v[k] = arena_array(a, width, sizeof(double));
		for (size_t x = 1; x < width; x++)
			v[k][x] = SPOT_NEVER;
	}
	return v;
}

/* Price of a launch in zone z at tick t that finishes its changeover; < 0: it does not. */
static double
spot_launch(const struct spot_exact *x, size_t z, int t)
{
	double cost = 0;

	if (t + x->s->changeover >= x->s->deadline)
		return -1;
	for (int k = 0; k <= x->s->changeover; k++) {
		if (!x->w->zones[z].up[x->t0 + (size_t)(t + k)])
			return -1;
		if (k < x->s->changeover)
			cost += spot_price(x->w, z, x->t0 + (size_t)(t + k), x->s);
	}
	return cost;
}

static void
spot_relax_from(double *best, const double *from, double cost, size_t n, size_t shift)
{
	for (size_t w = n - 1; w >= 1; w--)
		best[w] = fmin(best[w], cost + from[w - shift]);
}

/* idle of tick t from that of t + 1, in place. */
static void
spot_exact_idle(struct spot_exact *x, int t)
{
	int d = x->s->changeover;

	for (size_t r = 0; r < x->n_regions; r++) {
		if (t + d < x->s->deadline)
			spot_relax_from(x->idle[r],
			    x->on_demand[r * x->ring + (size_t)(t + d) % x->ring], d > 0 ? d : 1,
			    x->width, d > 0 ? 0 : 1);
		for (size_t z = 0; z < x->w->n_zones; z++) {
			double cost = spot_launch(x, z, t);

			if (cost < 0)
				continue;
			cost += spot_move(x->w, (int)r, z) +
				(d > 0 ? 0 : spot_price(x->w, z, x->t0 + (size_t)t, x->s));
			spot_relax_from(x->idle[r],
			    x->spot[z * x->ring + (size_t)(t + d) % x->ring], cost, x->width,
			    d > 0 ? 0 : 1);
		}
	}
}

static void
spot_exact_run(struct spot_exact *x, double *out, const double *next, const double *fresh,
    double cost, bool up)
{
	memcpy(x->tmp, next, x->width * sizeof(*x->tmp));
	for (size_t w = 1; w < x->width; w++)
		out[w] = up ? fmin(fresh[w], cost + x->tmp[w - 1]) : fresh[w];
}

double
spot_omniscient_market(
    const struct spot_world *w, size_t t0, const struct spot_setting *s, struct arena *scratch)
{
	struct spot_exact x = { .w = w,
		.s = s,
		.t0 = t0,
		.ring = (size_t)s->changeover + 1,
		.width = (size_t)s->work + 1,
		.n_regions = 1 };
	size_t home = w->market == NULL ? 0 : (size_t)w->market->home;

	for (size_t z = 0; z < w->n_zones; z++)
		if ((size_t)spot_region(w, z) >= x.n_regions)
			x.n_regions = (size_t)spot_region(w, z) + 1;
	if (home >= x.n_regions)
		x.n_regions = home + 1;
	x.idle = spot_rows(scratch, x.n_regions, x.width);
	x.on_demand = spot_rows(scratch, x.n_regions * x.ring, x.width);
	x.spot = spot_rows(scratch, w->n_zones * x.ring, x.width);
	x.tmp = arena_array(scratch, x.width, sizeof(*x.tmp));
	for (int t = s->deadline - 1; t >= 0; t--) {
		size_t now = (size_t)t % x.ring, next = (size_t)(t + 1) % x.ring;

		spot_exact_idle(&x, t);
		for (size_t r = 0; r < x.n_regions; r++)
			spot_exact_run(&x, x.on_demand[r * x.ring + now],
			    x.on_demand[r * x.ring + next], x.idle[r], 1, true);
		for (size_t z = 0; z < w->n_zones; z++)
			spot_exact_run(&x, x.spot[z * x.ring + now], x.spot[z * x.ring + next],
			    x.idle[spot_region(w, z)], spot_price(w, z, t0 + (size_t)t, s),
			    w->zones[z].up[t0 + (size_t)t] != 0);
	}
	return x.idle[home][s->work] >= SPOT_NEVER / 2 ? -1 : x.idle[home][s->work];
}
