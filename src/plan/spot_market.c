#include <math.h>

#include "plan/spot_impl.h"

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
