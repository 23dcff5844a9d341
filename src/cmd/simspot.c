#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "cmd/simspot.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/vec.h"

#define SIMSPOT_LEVELS 3            /* prices that a table is made for */
#define SIMSPOT_PAST_S (14 * 86400) /* history that a policy learns from */
#define SIMSPOT_EVENTS 5            /* under so many ends seen one launch in vain is enough */

const char *
simspot_policy_name(size_t policy)
{
	return policy == SIMSPOT_OMNISCIENT ? "omniscient"
					    : spot_policy_name((enum spot_policy)policy);
}

/* A zone, or zones that a job may move among. */
struct simspot_place {
	const char *name;
	const struct simspot_trace **member;
	size_t n;
	size_t ticks; /* of the shortest */
	int tick_s;
};

static bool
simspot_same_place(
    const struct simspot_trace *x, const struct simspot_trace *y, enum simspot_pool pool)
{
	return x->tick_s == y->tick_s &&
	       (pool == SIMSPOT_ALL || (pool == SIMSPOT_REGION && str_eq(x->region, y->region)));
}

static size_t
simspot_places(const struct simspot_traces *t, enum simspot_pool pool, struct arena *a,
    struct simspot_place **out)
{
	struct simspot_place *p = arena_array(a, t->n, sizeof(*p));
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct simspot_trace *x = &t->trace[i];
		size_t k = 0;

		while (k < n && !simspot_same_place(p[k].member[0], x, pool))
			k++;
		if (k == n) {
			p[n].member = arena_array(a, t->n, sizeof(*p[n].member));
			p[n].name = pool == SIMSPOT_ZONE     ? x->name
				    : pool == SIMSPOT_REGION ? x->region
							     : "all";
			p[n].ticks = x->zone.n;
			p[n++].tick_s = x->tick_s;
		}
		p[k].member[p[k].n++] = x;
		p[k].ticks = x->zone.n < p[k].ticks ? x->zone.n : p[k].ticks;
	}
	*out = p;
	return n;
}

/* A place as a policy sees it: zones best first by the ticks it learns from, their union, scores.
 */
struct simspot_view {
	struct spot_world world;
	struct spot_zone *zones, any;
	double (*score)[SPOT_AGES];
	int edge[SPOT_AGES - 1];
	struct spot_hazard up, down;
	struct spot_promise promise;
	const struct simspot_trace **member; /* [n] in the order of zones */
	struct spot_market market;
	const struct spot_table *table[SIMSPOT_LEVELS];
	double level[SIMSPOT_LEVELS];
};

static double
simspot_share(const struct spot_zone *z, size_t from, size_t to)
{
	size_t up = 0;

	for (size_t t = from; t < to; t++)
		up += z->up[t];
	return to > from ? (double)up / (double)(to - from) : 0;
}

static void
simspot_rank(const struct simspot_place *p, size_t from, size_t to, struct spot_zone *zones,
    const struct simspot_trace **member)
{
	for (size_t i = 0; i < p->n; i++) {
		double share = simspot_share(&p->member[i]->zone, from, to);
		size_t k = i;

		for (; k > 0 && simspot_share(&zones[k - 1], from, to) < share; k--) {
			zones[k] = zones[k - 1];
			member[k] = member[k - 1];
		}
		zones[k] = p->member[i]->zone;
		member[k] = p->member[i];
	}
}

/* Mean cost of a tick of work in each region, in what is learned from: the cheapest of its zones
 * that are up, else 1. */
static void
simspot_regions(const struct simspot_place *p, const int *region, const double *const *price,
    size_t from, size_t to, struct arena *a, struct simspot_view *v)
{
	double *tick = arena_array(a, p->n, sizeof(*tick));
	int n = 0;

	for (size_t i = 0; i < p->n; i++)
		n = region[i] >= n ? region[i] + 1 : n;
	for (int r = 0; r < n; r++)
		for (size_t t = from; t < to; t++) {
			double least = 1;

			for (size_t i = 0; i < p->n; i++)
				if (region[i] == r && v->zones[i].up[t])
					least = fmin(least, price[i][t]);
			tick[r] += least / (double)(to - from);
		}
	v->market.tick = tick;
	v->market.n_regions = n;
}

/* Prices over on demand, regions, and the levels between the least and the greatest price of what
 * is learned from. */
static void
simspot_market(const struct simspot_grid *g, const struct simspot_place *p, size_t from, size_t to,
    struct arena *a, struct simspot_view *v)
{
	const double **price = arena_array(a, p->n, sizeof(*price));
	int *region = arena_array(a, p->n, sizeof(*region));
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < p->n; i++) {
		double *x = arena_array(a, p->ticks, sizeof(*x));

		for (size_t t = 0; t < p->ticks; t++) {
			x[t] = g->on_demand_usd > 0 ? v->member[i]->usd[t] / g->on_demand_usd
						    : g->price;
			if (t >= from && t < to && x[t] < 1) {
				least = fmin(least, x[t]);
				most = fmax(most, x[t]);
			}
		}
		price[i] = x;
		while (!str_eq(v->member[region[i]]->region, v->member[i]->region))
			region[i]++;
	}
	v->market = (struct spot_market){ .price = price,
		.region = region,
		.move = g->move_hours * 3600 / p->tick_s,
		.table = v->table,
		.level = v->level };
	simspot_regions(p, region, price, from, to, a, v);
	if (isinf(least))
		least = most = g->price;
	for (size_t k = 0; k < SIMSPOT_LEVELS; k++)
		v->level[k] = least + (most - least) * (double)k / (SIMSPOT_LEVELS - 1);
	v->world.market = &v->market;
}

/* The tables of this setting: one, or one for each level of price. */
static enum berth_code
simspot_solve(struct simspot_view *v, const struct spot_setting *s, struct arena *a,
    struct spot_table **table_out, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	bool levels = v->world.market != NULL && v->level[SIMSPOT_LEVELS - 1] > v->level[0];

	v->market.n_levels = 0;
	if (v->world.market == NULL || !levels) {
		struct spot_setting at = *s;

		if (v->world.market != NULL)
			at.price = v->level[0];
		return spot_table_solve(&at, &v->up, &v->down, a, table_out, err);
	}
	for (size_t k = 0; k < SIMSPOT_LEVELS && rc == BERTH_OK; k++) {
		struct spot_setting at = *s;

		at.price = v->level[k];
		rc = spot_table_solve(&at, &v->up, &v->down, a, table_out, err);
		v->table[k] = *table_out;
	}
	v->market.n_levels = SIMSPOT_LEVELS;
	return rc;
}

/* Is it the prior that speaks, rather than what was seen here? */
static bool
simspot_thin(const struct simspot_view *v)
{
	int64_t n = 0;

	for (size_t b = 0; b < SPOT_AGES; b++)
		n += v->up.events[b] + v->down.events[b];
	return n < SIMSPOT_EVENTS;
}

/* Learns from ticks [from, to) of the place; of s all but the deadline counts. */
static void
simspot_look(const struct simspot_grid *g, const struct simspot_place *p, size_t from, size_t to,
    const struct spot_setting *s, struct arena *a, struct simspot_view *v)
{
	uint8_t *up = arena_alloc(a, p->ticks);
	int32_t *age = arena_array(a, p->ticks, sizeof(*age));

	v->zones = arena_array(a, p->n, sizeof(*v->zones));
	v->score = arena_array(a, p->n, sizeof(*v->score));
	spot_edges(p->tick_s, v->edge);
	v->member = arena_array(a, p->n, sizeof(*v->member));
	simspot_rank(p, from, to, v->zones, v->member);
	spot_union(v->zones, p->n, p->ticks, up);
	spot_ages(up, p->ticks, age);
	v->any = (struct spot_zone){ up, age, p->ticks };
	for (size_t i = 0; i < p->n; i++) {
		struct spot_hazard h;

		spot_learn(&v->zones[i], from, to, 1, p->tick_s, 0, &h);
		spot_remaining(&h, v->score[i]);
		for (size_t b = 0; b < SPOT_AGES; b++)
			v->score[i][b] = fmin(v->score[i][b], s->work);
	}
	v->world = (struct spot_world){ v->zones, p->n, &v->any,
		(const double(*)[SPOT_AGES])v->score, v->edge, NULL, false, NULL };
	if (!(g->on_demand_usd > 0 || g->move_hours > 0))
		spot_promise_learn(&v->world, from, to, p->tick_s, s, a, &v->promise);
	spot_learn_pool(&v->world, from, to, p->tick_s, g->pessimism, &v->up, &v->down);
	v->world.thin = simspot_thin(v);
	if (g->on_demand_usd > 0 || g->move_hours > 0)
		simspot_market(g, p, from, to, a, v);
}

struct simspot_job {
	const struct simspot_grid *g;
	const struct simspot_place *place;
	size_t from, to; /* the half */
	struct spot_setting s;
	const struct simspot_view *view;
	const struct spot_table *table; /* NULL: what was learned misleads */
	struct arena *scratch;
};

/* One start under every policy: cost over always on demand into cost[], -1 where it was not asked
 * for. */
static void
simspot_start(
    const struct simspot_job *j, size_t t0, double *cost, bool *missed, struct spot_run *run)
{
	double always = j->s.work + j->s.changeover;

	for (size_t p = 0; p < SIMSPOT_POLICIES; p++) {
		struct spot_world w = j->view->world;
		enum spot_policy policy = (enum spot_policy)p;
		double best;

		missed[p] = false;
		cost[p] = -1;
		if (p == SIMSPOT_OMNISCIENT) {
			if (!j->g->omniscient)
				continue;
			best = w.market != NULL
				   ? spot_omniscient_market(&w, t0, &j->s, j->scratch)
				   : spot_omniscient(w.zones, w.n_zones, t0, &j->s, j->scratch);
			missed[p] = best < 0;
			cost[p] = best / always;
			arena_reset(j->scratch);
			continue;
		}
		if (!j->g->policy[p])
			continue;
		/* Without a table the rule is a simple one, but the zone is still chosen by what is
		 * known of it. */
		if (policy != SPOT_POLICY_BERTH) {
			w.score = NULL;
			w.promise = NULL;
		}
		spot_replay(policy, &w, t0, &j->s, j->table, &run[p]);
		missed[p] = run[p].missed;
		cost[p] = run[p].cost / always;
	}
}

struct simspot_runner {
	const struct simspot_grid *g;
	struct arena *a, *table_arena, *scratch;
	VEC(struct simspot_cell) cells;
	VEC(double) cost[SIMSPOT_POLICIES];
	struct simspot_result r;
};

/* The past of a start, learned anew. */
static enum berth_code
simspot_past(struct simspot_runner *x, struct simspot_job *j, size_t t0, struct simspot_view *v,
    struct berth_err *err)
{
	size_t back = (size_t)(SIMSPOT_PAST_S / j->place->tick_s);
	struct spot_table *table = NULL;
	enum berth_code rc = BERTH_OK;

	arena_reset(x->table_arena);
	simspot_look(x->g, j->place, t0 > back ? t0 - back : 0, t0, &j->s, x->table_arena, v);
	if (x->g->policy[SPOT_POLICY_BERTH])
		rc = simspot_solve(v, &j->s, x->table_arena, &table, err);
	j->view = v;
	j->table =
	    table != NULL && spot_misled(&v->world, t0 > back ? t0 - back : 0, t0, &j->s, table)
		? NULL
		: table;
	return rc;
}

static enum berth_code
simspot_cell(struct simspot_runner *x, struct simspot_job *j, struct simspot_cell *cell,
    struct berth_err *err)
{
	double cost[SIMSPOT_POLICIES], span = (double)(j->to - (size_t)j->s.deadline - 1 - j->from);
	bool missed[SIMSPOT_POLICIES];
	struct spot_run run[SPOT_POLICY_COUNT];
	struct simspot_view past;

	for (size_t k = 0; k < x->g->starts; k++) {
		size_t t0 =
		    j->from +
		    (size_t)(x->g->starts > 1 ? span * (double)k / (double)(x->g->starts - 1) : 0);

		if (x->g->train == SIMSPOT_PAST) {
			enum berth_code rc = simspot_past(x, j, t0, &past, err);

			if (rc != BERTH_OK)
				return rc;
		}
		simspot_start(j, t0, cost, missed, run);
		for (size_t p = 0; p < SIMSPOT_POLICIES; p++) {
			if (cost[p] < 0 && !missed[p])
				continue;
			VEC_PUSH(x->a, &x->cost[p], cost[p]);
			cell->mean[p] += cost[p] / (double)x->g->starts;
			x->r.misses[p] += missed[p];
			if (p == SIMSPOT_OMNISCIENT)
				continue;
			x->r.preemptions[p] += (size_t)run[p].lost;
			x->r.waited_hours[p] +=
			    (run[p].finish - j->s.work) * (double)j->place->tick_s / 3600;
		}
		cell->runs++;
		x->r.n_runs++;
	}
	return BERTH_OK;
}

/* All deadlines of one place, half and changeover: one table serves them. */
static enum berth_code
simspot_group(struct simspot_runner *x, const struct simspot_place *p, int half, size_t c,
    struct berth_err *err)
{
	size_t mid = p->ticks / 2, from = half == 1 ? 0 : mid, to = half == 1 ? mid : p->ticks;
	int work = (int)lrint(x->g->work_s / p->tick_s);
	double longest = 0;
	struct simspot_view v;
	struct spot_table *table = NULL;
	enum berth_code rc = BERTH_OK;
	struct simspot_job j = {
		.g = x->g, .place = p, .from = from, .to = to, .view = &v, .scratch = x->scratch
	};
	double changeover_s = x->g->changeover_s[c];

	j.s = (struct spot_setting){ work, 0, (int)lrint(changeover_s / p->tick_s), x->g->price };
	for (size_t k = 0; k < x->g->n_slack; k++)
		longest = fmax(longest, rint(work * x->g->slack[k]));
	x->r.halves += c == 0;
	if (work < 1 || (double)(to - from) < longest + 10) {
		x->r.too_short += c == 0;
		return BERTH_OK;
	}
	arena_reset(x->table_arena);
	simspot_look(
	    x->g, p, half == 1 ? mid : 0, half == 1 ? p->ticks : mid, &j.s, x->table_arena, &v);
	if (x->g->train == SIMSPOT_OTHER_HALF && x->g->policy[SPOT_POLICY_BERTH]) {
		struct spot_setting s = j.s;

		s.deadline = (int)longest;
		rc = simspot_solve(&v, &s, x->table_arena, &table, err);
	}
	for (size_t k = 0; k < x->g->n_slack && rc == BERTH_OK; k++) {
		struct simspot_cell *cell;

		if (rint(work * x->g->slack[k]) < work + j.s.changeover) {
			x->r.impossible++;
			continue;
		}
		cell = VEC_ADD(x->a, &x->cells);
		*cell = (struct simspot_cell){ .zone = p->name,
			.half = half,
			.slack = x->g->slack[k],
			.changeover_s = changeover_s };
		j.s.deadline = (int)rint(work * x->g->slack[k]);
		j.table = table != NULL && spot_misled(&v.world, from == 0 ? mid : 0,
					       from == 0 ? p->ticks : mid, &j.s, table)
			      ? NULL
			      : table;
		rc = simspot_cell(x, &j, cell, err);
	}
	return rc;
}

static int
simspot_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

enum berth_code
simspot_run(const struct simspot_traces *t, const struct simspot_grid *g,
    simspot_progress_fn *progress, void *arg, struct arena *a, struct simspot_result *out,
    struct berth_err *err)
{
	struct simspot_runner x = {
		.g = g, .a = a, .table_arena = arena_new(), .scratch = arena_new()
	};
	struct simspot_place *places;
	size_t n = simspot_places(t, g->pool, a, &places), done = 0;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n; i++)
		for (int half = 1; half <= 2; half++)
			for (size_t c = 0; c < g->n_changeover && rc == BERTH_OK; c++) {
				rc = simspot_group(&x, &places[i], half, c, err);
				progress(arg, ++done, n * 2 * g->n_changeover);
			}
	arena_free(x.table_arena);
	arena_free(x.scratch);
	if (rc != BERTH_OK)
		return rc;
	if (x.r.impossible > 0 && x.r.n_runs == 0)
		return err_set(err, BERTH_EINFEASIBLE,
		    "work and one changeover fit into no deadline: try more --slack or a shorter "
		    "--changeover");
	if (x.r.n_runs == 0)
		return err_set(err, BERTH_EINFEASIBLE,
		    "no half of any trace is long enough for such a job: try less --work or "
		    "--slack");
	*out = x.r;
	out->cell = x.cells.v;
	out->n_cells = x.cells.n;
	for (size_t p = 0; p < SIMSPOT_POLICIES; p++) {
		out->cost[p] = x.cost[p].v;
		if (x.cost[p].n > 0)
			qsort(x.cost[p].v, x.cost[p].n, sizeof(double), simspot_cmp);
	}
	return BERTH_OK;
}
