#include <stdint.h>
#include <string.h>

#include "plan/terms.h"
#include "util/arena.h"

#define TERMS_DEMAND_MAX INT64_C(1000000)
#define TERMS_COST_MAX (INT64_C(1) << 50)
#define TERMS_FAR INT64_MAX

/* Arcs in pairs: 2k forth, 2k + 1 back. */
struct terms_arc {
	size_t to;
	int64_t room, cost;
};

struct terms_net {
	size_t nodes;
	struct terms_arc *arc;
	size_t n_arcs;
	size_t *start, *out;		/* arcs of a node: out[start[v]] .. out[start[v + 1] - 1] */
	int64_t *potential, *distance;
	size_t *by;			/* arc by which a node was reached */
	size_t *heap, *at, n_heap;	/* nodes by distance, and where each stands; SIZE_MAX: nowhere */
};

static enum berth_code
terms_check(const int64_t *demand, size_t hours, const struct terms_offer *o, size_t n, struct usd_micro on_demand,
    struct berth_err *err)
{
	if (hours == 0 || hours > (size_t)1 << 24)
		return err_set(err, BERTH_EINVAL, "a demand of %zu hours", hours);
	for (size_t t = 0; t < hours; t++)
		if (demand[t] < 0 || demand[t] > TERMS_DEMAND_MAX)
			return err_set(err, BERTH_EINVAL, "hour %zu: demand of %lld GPUs", t + 1, (long long)demand[t]);
	for (size_t j = 0; j < n; j++)
		if (o[j].from >= o[j].to || o[j].to > hours || !usd_known(o[j].cost) || o[j].cost.v < 0 ||
		    o[j].cost.v > TERMS_COST_MAX || o[j].max < 0)
			return err_set(err, BERTH_EINVAL, "reservation %zu: hours %zu to %zu of %zu, %lld micro-USD", j + 1,
			    o[j].from, o[j].to, hours, (long long)o[j].cost.v);
	if (!usd_known(on_demand) || on_demand.v < 0 || on_demand.v > TERMS_COST_MAX / (int64_t)hours)
		return err_set(err, BERTH_EINVAL, "on demand at %lld micro-USD", (long long)on_demand.v);
	return BERTH_OK;
}

static void
terms_add(struct terms_net *g, size_t from, size_t to, int64_t room, int64_t cost)
{
	g->arc[g->n_arcs++] = (struct terms_arc){ to, room, cost };
	g->arc[g->n_arcs++] = (struct terms_arc){ from, 0, -cost };
}

/* Arcs in the order: on demand of each hour, idle of each hour, offers. */
static void
terms_build(struct terms_net *g, const int64_t *demand, size_t hours, const struct terms_offer *o, size_t n,
    int64_t on_demand, int64_t most, struct arena *a)
{
	size_t *fill;

	g->nodes = hours + 1;
	g->arc = arena_array(a, 2 * (2 * hours + n), sizeof(*g->arc));
	for (size_t t = 0; t < hours; t++)
		terms_add(g, t, t + 1, most, on_demand);
	for (size_t t = 0; t < hours; t++)
		terms_add(g, t, t + 1, most - demand[t], 0);
	for (size_t j = 0; j < n; j++)
		terms_add(g, o[j].from, o[j].to, o[j].max < most ? o[j].max : most, o[j].cost.v);
	g->start = arena_array(a, g->nodes + 2, sizeof(*g->start));
	g->out = arena_array(a, g->n_arcs, sizeof(*g->out));
	fill = arena_array(a, g->nodes + 1, sizeof(*fill));
	for (size_t k = 0; k < g->n_arcs; k++)
		g->start[g->arc[k ^ 1].to + 1]++;
	for (size_t v = 0; v < g->nodes; v++)
		g->start[v + 1] += g->start[v];
	memcpy(fill, g->start, g->nodes * sizeof(*fill));
	for (size_t k = 0; k < g->n_arcs; k++)
		g->out[fill[g->arc[k ^ 1].to]++] = k;
	g->potential = arena_array(a, g->nodes, sizeof(*g->potential));
	g->distance = arena_array(a, g->nodes, sizeof(*g->distance));
	g->by = arena_array(a, g->nodes, sizeof(*g->by));
	g->heap = arena_array(a, g->nodes, sizeof(*g->heap));
	g->at = arena_array(a, g->nodes, sizeof(*g->at));
}

static void
terms_heap_put(struct terms_net *g, size_t slot, size_t node)
{
	g->heap[slot] = node;
	g->at[node] = slot;
}

static void
terms_heap_up(struct terms_net *g, size_t node)
{
	size_t slot = g->at[node];

	for (; slot > 0 && g->distance[g->heap[(slot - 1) / 2]] > g->distance[node]; slot = (slot - 1) / 2)
		terms_heap_put(g, slot, g->heap[(slot - 1) / 2]);
	terms_heap_put(g, slot, node);
}

static size_t
terms_heap_pop(struct terms_net *g)
{
	size_t top = g->heap[0], last = g->heap[--g->n_heap], slot = 0;

	g->at[top] = SIZE_MAX;
	while (g->n_heap > 0) {
		size_t kid = 2 * slot + 1;

		if (kid + 1 < g->n_heap && g->distance[g->heap[kid + 1]] < g->distance[g->heap[kid]])
			kid++;
		if (kid >= g->n_heap || g->distance[g->heap[kid]] >= g->distance[last])
			break;
		terms_heap_put(g, slot, g->heap[kid]);
		slot = kid;
	}
	if (g->n_heap > 0)
		terms_heap_put(g, slot, last);
	return top;
}

/* Shortest paths from hour 0 over arcs with room, by costs that the potentials make >= 0. */
static void
terms_paths(struct terms_net *g)
{
	for (size_t v = 0; v < g->nodes; v++) {
		g->distance[v] = TERMS_FAR;
		g->at[v] = SIZE_MAX;
	}
	g->distance[0] = 0;
	g->n_heap = 1;
	terms_heap_put(g, 0, 0);
	while (g->n_heap > 0) {
		size_t v = terms_heap_pop(g);

		for (size_t i = g->start[v]; i < g->start[v + 1]; i++) {
			const struct terms_arc *x = &g->arc[g->out[i]];
			int64_t d = g->distance[v] + x->cost + g->potential[v] - g->potential[x->to];

			if (x->room == 0 || d >= g->distance[x->to])
				continue;
			if (g->distance[x->to] == TERMS_FAR || g->at[x->to] == SIZE_MAX)
				terms_heap_put(g, g->n_heap++, x->to);
			g->distance[x->to] = d;
			g->by[x->to] = g->out[i];
			terms_heap_up(g, x->to);
		}
	}
	for (size_t v = 0; v < g->nodes; v++)
		g->potential[v] += g->distance[v];	/* every hour is reached: on demand has room for all units */
}

/* Pushes what fits along the shortest path; at most `most` units. */
static int64_t
terms_push(struct terms_net *g, int64_t most)
{
	for (size_t v = g->nodes - 1; v != 0; v = g->arc[g->by[v] ^ 1].to)
		most = g->arc[g->by[v]].room < most ? g->arc[g->by[v]].room : most;
	for (size_t v = g->nodes - 1; v != 0; v = g->arc[g->by[v] ^ 1].to) {
		g->arc[g->by[v]].room -= most;
		g->arc[g->by[v] ^ 1].room += most;
	}
	return most;
}

enum berth_code
terms_solve(const int64_t *demand, size_t hours, const struct terms_offer *offers, size_t n_offers,
    struct usd_micro on_demand, struct arena *a, struct terms_plan *plan_out, struct berth_err *err)
{
	struct terms_net g = { 0 };
	struct usd_micro part;
	int64_t most = 0;
	enum berth_code rc = terms_check(demand, hours, offers, n_offers, on_demand, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t t = 0; t < hours; t++)
		most = demand[t] > most ? demand[t] : most;
	terms_build(&g, demand, hours, offers, n_offers, on_demand.v, most, a);
	for (int64_t left = most; left > 0;) {
		terms_paths(&g);
		left -= terms_push(&g, left);
	}
	*plan_out = (struct terms_plan){ .count = arena_array(a, n_offers, sizeof(*plan_out->count)), .reserved = USD_ZERO };
	for (size_t t = 0; t < hours; t++)
		plan_out->on_demand_hours += g.arc[2 * t + 1].room;
	for (size_t j = 0; j < n_offers && rc == BERTH_OK; j++) {
		plan_out->count[j] = g.arc[2 * (2 * hours + j) + 1].room;
		rc = usd_mul_i64(offers[j].cost, plan_out->count[j], &part, err);
		if (rc == BERTH_OK)
			rc = usd_add(plan_out->reserved, part, &plan_out->reserved, err);
	}
	if (rc == BERTH_OK)
		rc = usd_mul_i64(on_demand, plan_out->on_demand_hours, &part, err);
	return rc == BERTH_OK ? usd_add(plan_out->reserved, part, &plan_out->cost, err) : rc;
}
