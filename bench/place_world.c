/* Made-up queues and clouds for the placement's benchmarks. */
#include <math.h>
#include <string.h>

#include "bench/place_world.h"
#include "util/arena.h"
#include "util/rng.h"
#include "util/vec.h"

#define CLOUDS 6
#define REGIONS 8

const struct world world_plain = { .name = "plain", .tight = 2.2, .quota = 0.7, .depth = 1, .slack = 1 };

const struct world world_kinds[] = {
	{ .name = "loose", .tight = 3, .quota = 0.7, .depth = 1, .slack = 1 },
	{ .name = "tight", .tight = 2.2, .quota = 0.7, .depth = 1, .slack = 1 },
	{ .name = "very tight", .tight = 1.5, .quota = 0.7, .depth = 1, .slack = 1 },
	{ .name = "overloaded", .tight = 0.8, .quota = 0.7, .depth = 1, .slack = 1 },
	{ .name = "half fits", .tight = 0.4, .quota = 0.7, .depth = 3, .slack = 1 },
	{ .name = "singles", .tight = 2.2, .gangs = WORLD_SINGLES, .quota = 0.7, .depth = 1, .slack = 1 },
	{ .name = "odd gangs", .tight = 2.2, .gangs = WORLD_ODD, .quota = 0.7, .depth = 1, .slack = 1 },
	{ .name = "big gangs", .tight = 2.2, .gangs = WORLD_BIG, .quota = 0.7, .depth = 1, .slack = 1, .nodes = 16 },
	{ .name = "1 and 32", .tight = 2.2, .gangs = WORLD_ENDS, .quota = 0.7, .depth = 1, .slack = 1 },
	{ .name = "no quotas", .tight = 2.2, .slack = 1 },
	{ .name = "nested quotas", .tight = 2.6, .quota = 0.7, .depth = 3, .slack = 1 },
	{ .name = "quotas bind", .tight = 3, .quota = 0.45, .depth = 2, .slack = 1 },
	{ .name = "cheap few", .tight = 2.2, .quota = 0.7, .depth = 1, .cheap = 0.05, .slack = 1 },
	{ .name = "equal prices", .tight = 2.2, .quota = 0.7, .depth = 1, .slack = 1, .alike = 1 },
	{ .name = "price steps", .tight = 2.2, .quota = 0.7, .depth = 1, .slack = 1, .alike = 2 },
	{ .name = "deadlines", .tight = 2.6, .quota = 0.7, .depth = 1, .slack = 0.35 },
	{ .name = "budgets", .tight = 2.6, .quota = 0.7, .depth = 2, .slack = 1, .users = 12 },
	{ .name = NULL },
};

struct gpu { int memory; double price, speed, share; };

static const struct gpu gpus[] = {
	{ 16, 0.35, 1, 0.12 },
	{ 24, 0.7, 1.6, 0.14 },
	{ 24, 1.0, 2.2, 0.12 },
	{ 48, 1.8, 4, 0.12 },
	{ 40, 2.6, 5.5, 0.14 },
	{ 80, 3.4, 6.2, 0.14 },
	{ 80, 6.0, 12, 0.14 },
	{ 141, 7.5, 14, 0.08 },
};

struct made_offer {
	size_t cloud, region, gpu;
	bool spot;
	int64_t per_node, capacity;
	double price;
};
struct made_job {
	int64_t gang;
	int memory;
	double work, slack, data;
	size_t cloud, region;
	bool stays, saves;
};

static size_t
draw_share(struct rng *r)
{
	double x = rng_unit(r);
	size_t i = 0;

	for (; i + 1 < sizeof(gpus) / sizeof(gpus[0]) && x >= gpus[i].share; i++)
		x -= gpus[i].share;
	return i;
}

static double
uniform(struct rng *r, double lo, double hi)
{
	return lo + (hi - lo) * rng_unit(r);
}

static void
make_offers(const struct world *w, struct rng *r, struct made_offer *o, size_t n)
{
	static const int64_t small[] = { 1, 2, 4 };

	for (size_t j = 0; j < n; j++) {
		o[j].cloud = rng_below(r, CLOUDS);
		o[j].region = rng_below(r, REGIONS);
		o[j].gpu = draw_share(r);
		o[j].spot = rng_unit(r) < 0.4;
		o[j].per_node = o[j].gpu >= 5 || rng_unit(r) < 0.4 ? 8 : small[rng_below(r, 3)];
		o[j].price = gpus[o[j].gpu].price * uniform(r, 0.75, 1.4) * (o[j].spot ? 0.35 : 1);
		o[j].capacity = o[j].per_node * (int64_t)(1 + rng_below(r, w->nodes > 0 ? w->nodes : 8));
		if (w->cheap > 0 && rng_unit(r) < w->cheap)
			o[j].price /= 5;
		if (w->alike == 1)
			o[j].price = gpus[o[j].gpu].speed;
		else if (w->alike == 2)
			o[j].price = gpus[o[j].gpu].speed * (0.5 + 0.1 * (double)rng_below(r, 6));
	}
}

static int64_t
make_gang(enum world_gangs kind, struct rng *r)
{
	static const int64_t mixed[] = { 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32 }, odd[] = { 1, 1, 2, 3, 3, 5, 6, 7, 8, 16, 24 };
	static const int64_t big[] = { 16, 16, 16, 16, 24, 32, 32, 32, 48, 64, 64 };
	size_t x = rng_below(r, 11);

	switch (kind) {
	case WORLD_SINGLES:
		return 1;
	case WORLD_ODD:
		return odd[x];
	case WORLD_BIG:
		return big[x];
	case WORLD_ENDS:
		return x < 8 ? 1 : 32;
	case WORLD_MIXED:
		break;
	}
	return mixed[x];
}

static void
make_jobs(const struct world *w, struct rng *r, struct made_job *b, size_t n)
{
	static const int memory[] = { 8, 8, 14, 14, 20, 20, 30, 30, 40, 70 };

	for (size_t i = 0; i < n; i++) {
		b[i].gang = make_gang(w->gangs, r);
		b[i].memory = memory[rng_below(r, 10)];
		b[i].work = exp(3 + rng_normal(r)) * (double)b[i].gang;
		b[i].slack = uniform(r, 1.1, 6) * w->slack;
		b[i].data = exp(3.5 + 1.5 * rng_normal(r));
		b[i].cloud = rng_below(r, CLOUDS);
		b[i].region = rng_below(r, REGIONS);
		b[i].stays = rng_unit(r) < 0.15;
		b[i].saves = rng_unit(r) < 0.7;
	}
}

/* Cost of the pair, NaN if it is not allowed. */
static double
pair(const struct world *w, const struct made_job *b, const struct made_offer *o)
{
	double hours = b->work / (double)b->gang / gpus[o->gpu].speed /
	    (b->gang <= o->per_node ? 1 : 0.85) * (o->spot ? 1.12 : 1);
	double best = b->work / (double)b->gang / gpus[6].speed, egress = 0;

	if (gpus[o->gpu].memory < b->memory || b->gang > o->capacity ||
	    (b->gang > o->per_node && b->gang % o->per_node != 0) ||
	    (b->stays && o->region != b->region) || (o->spot && !b->saves) ||
	    hours > best * b->slack * 2.2 + 1)
		return NAN;
	if (w->alike == 1)
		hours = b->work / (double)b->gang / gpus[o->gpu].speed;
	else if (o->cloud != b->cloud)
		egress = 0.09;
	else if (o->region != b->region)
		egress = 0.02;
	return o->price * (double)b->gang * hours + egress * b->data;
}

/* Capacities shrunk or grown to so many times the demand, and the quotas over them. Returns how many resources. */
static size_t
make_limits(const struct world *w, struct made_offer *o, size_t offers, double factor, int64_t *limit, size_t *use_start,
    size_t *resource, int64_t *weight)
{
	size_t group[3][CLOUDS * REGIONS * 4], n_res = offers, u = 0;

	for (size_t d = 0; d < 3; d++)
		for (size_t q = 0; q < CLOUDS * REGIONS * 4; q++)
			group[d][q] = SIZE_MAX;
	for (size_t j = 0; j < offers; j++) {
		size_t region = o[j].cloud * REGIONS + o[j].region;
		size_t in[3] = { (region * 2 + (o[j].gpu >= 4)) * 2 + o[j].spot, region, o[j].cloud };
		int64_t nodes = (int64_t)llround((double)o[j].capacity * factor / (double)o[j].per_node);

		o[j].capacity = o[j].per_node * (nodes > 0 ? nodes : 1);
		limit[j] = o[j].capacity;
		resource[u] = j;
		weight[u++] = 1;
		for (int d = 0; d < w->depth; d++) {
			size_t *g = &group[d][in[d]];

			if (*g == SIZE_MAX)
				*g = n_res++;
			limit[*g] += o[j].capacity;
			resource[u] = *g;
			weight[u++] = 1;
		}
		use_start[j + 1] = u;
	}
	for (int d = 0; d < w->depth; d++)
		for (size_t q = 0; q < CLOUDS * REGIONS * 4; q++)
			if (group[d][q] != SIZE_MAX)
				limit[group[d][q]] = (int64_t)(w->quota * (1 - 0.2 * d) * (double)limit[group[d][q]]) + 8;
	return n_res;
}

/* Budgets of users in cents: half as much again as their jobs cost at the least. */
static void
make_budgets(const struct world *w, const size_t *start, const double *cost, size_t jobs, size_t *n_res, int64_t *limit,
    struct arena *a, struct place_problem *p)
{
	struct place_more *m = arena_array(a, 1, sizeof(*m));
	size_t n = start[jobs], *more_start = arena_array(a, n + 1, sizeof(*more_start));
	size_t *resource = arena_array(a, n, sizeof(*resource));
	int64_t *units = arena_array(a, n, sizeof(*units));

	for (size_t i = 0; i < jobs; i++) {
		double least = INFINITY;

		for (size_t k = start[i]; k < start[i + 1]; k++) {
			resource[k] = *n_res + i % w->users;
			units[k] = 1 + (int64_t)(100 * cost[k]);
			more_start[k + 1] = k + 1;
			least = fmin(least, cost[k]);
		}
		limit[*n_res + i % w->users] += isfinite(least) ? (int64_t)(120 * least) : 0;
	}
	*n_res += w->users;
	*m = (struct place_more){ more_start, resource, units };
	p->more = m;
}

void
world_make(const struct world *w, size_t jobs, size_t offers, uint64_t seed, double tight, size_t most, struct arena *a,
    struct place_problem *p)
{
	struct made_offer *o = arena_array(a, offers, sizeof(*o));
	struct made_job *b = arena_array(a, jobs, sizeof(*b));
	size_t *start = arena_array(a, jobs + 1, sizeof(*start)), n_res;
	size_t *use_start = arena_array(a, offers + 1, sizeof(*use_start));
	size_t *resource = arena_array(a, 4 * offers, sizeof(*resource));
	int64_t *limit = arena_array(a, offers + 3 * CLOUDS * REGIONS * 4 + w->users, sizeof(*limit));
	int64_t *weight = arena_array(a, 4 * offers, sizeof(*weight));
	double *penalty = arena_array(a, jobs, sizeof(*penalty)), demand = 0, supply = 0;
	VEC(size_t) cand = { 0 };
	VEC(double) cost = { 0 };
	VEC(int64_t) need = { 0 };
	struct rng r;

	rng_seed(&r, seed);
	make_offers(w, &r, o, offers);
	make_jobs(w, &r, b, jobs);
	for (size_t i = 0; i < jobs; i++)
		demand += (double)b[i].gang;
	for (size_t j = 0; j < offers; j++)
		supply += (double)o[j].capacity;
	n_res = make_limits(w, o, offers, demand * tight / supply, limit, use_start, resource, weight);
	for (size_t i = 0; i < jobs; i++) {
		double dear = 100;
		size_t first = rng_below(&r, offers);

		for (size_t k = 0; k < offers && cand.n - start[i] < most; k++) {
			size_t j = (first + k) % offers;
			double c = pair(w, &b[i], &o[j]);

			if (isnan(c))
				continue;
			dear = fmax(dear, c);
			VEC_PUSH(a, &cand, j);
			VEC_PUSH(a, &cost, c);
			VEC_PUSH(a, &need, b[i].gang);
		}
		start[i + 1] = cand.n;
		penalty[i] = 10 * dear + 1000;
	}
	*p = (struct place_problem){ .n_jobs = jobs, .n_offers = offers, .cand_start = start, .offer = cand.v, .cost = cost.v,
		.need = need.v, .use_start = use_start, .resource = resource, .weight = weight, .limit = limit,
		.penalty = penalty };
	if (w->users > 0)
		make_budgets(w, start, cost.v, jobs, &n_res, limit, a, p);
	p->n_resources = n_res;
}
