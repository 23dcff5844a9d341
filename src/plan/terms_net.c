#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/terms_net.h"
#include "util/arena.h"

#define TERMS_FAR INT64_MAX
#define TERMS_NONE SIZE_MAX
#define TERMS_NANO 1e9

static size_t
terms_arc(enum terms_arc kind, size_t index)
{
	return 4 * index + kind;
}

/* Offers by a node of theirs: at [nodes + 1]. */
static void
terms_index(const struct terms_net *g, bool by_start, size_t *list, size_t *at, struct arena *a)
{
	size_t *fill = arena_array(a, g->nodes + 1, sizeof(*fill));

	for (size_t j = 0; j < g->n_offers; j++)
		at[(by_start ? g->offers[j].from : g->offers[j].to) + 1]++;
	for (size_t v = 0; v < g->nodes; v++)
		at[v + 1] += at[v];
	memcpy(fill, at, g->nodes * sizeof(*fill));
	for (size_t j = 0; j < g->n_offers; j++)
		list[fill[by_start ? g->offers[j].from : g->offers[j].to]++] = j;
}

/* What the k-th unit without a reservation costs; kept rising where differences of large sums do
 * not. */
static void
terms_steps(struct terms_net *g)
{
	size_t levels = (size_t)g->rest->levels;

	for (size_t t = 0; t < g->rest->n; t++) {
		const double *v = g->rest->usd + t * (levels + 1);
		int64_t last = 0;

		for (size_t y = 0; y < levels; y++) {
			int64_t c =
			    (int64_t)llrint((v[levels - y - 1] - v[levels - y]) * TERMS_NANO);

			last = c > last ? c : last;
			g->step[t * levels + y] = last;
		}
	}
}

void
terms_net_init(struct terms_net *g, const struct terms_rest *rest, const struct terms_offer *offers,
    size_t n_offers, struct arena *a)
{
	size_t n = rest->n, nodes = n + 1;

	*g = (struct terms_net){
		.rest = rest, .offers = offers, .n_offers = n_offers, .nodes = nodes
	};
	g->step = arena_array(a, n * (size_t)rest->levels + 1, sizeof(*g->step));
	g->open = arena_array(a, n, sizeof(*g->open));
	g->room = arena_array(a, n, sizeof(*g->room));
	g->taken = arena_array(a, n_offers + 1, sizeof(*g->taken));
	g->price = arena_array(a, n_offers + 1, sizeof(*g->price));
	g->out = arena_array(a, n_offers + 1, sizeof(*g->out));
	g->in = arena_array(a, n_offers + 1, sizeof(*g->in));
	g->out_at = arena_array(a, nodes + 2, sizeof(*g->out_at));
	g->in_at = arena_array(a, nodes + 2, sizeof(*g->in_at));
	g->potential = arena_array(a, nodes, sizeof(*g->potential));
	g->distance = arena_array(a, nodes, sizeof(*g->distance));
	g->by = arena_array(a, nodes, sizeof(*g->by));
	g->heap = arena_array(a, nodes, sizeof(*g->heap));
	g->at = arena_array(a, nodes, sizeof(*g->at));
	g->cycle = arena_array(a, nodes, sizeof(*g->cycle));
	g->seen = arena_array(a, nodes, sizeof(*g->seen));
	terms_index(g, true, g->out, g->out_at, a);
	terms_index(g, false, g->in, g->in_at, a);
	for (size_t t = 0; t < n; t++)
		g->room[t] = rest->levels - (rest->least == NULL ? 0 : rest->least[t]);
	terms_steps(g);
}

int64_t
terms_count(const struct terms_net *g, size_t offer)
{
	return g->taken[offer];
}

void
terms_price(struct terms_net *g, double theta)
{
	for (size_t j = 0; j < g->n_offers; j++)
		g->price[j] = (int64_t)llrint((double)g->offers[j].cost.v * 1000 * (1 + theta));
}

/* Machines reserved in a stretch are levels - open. */
double
terms_rest_usd(const struct terms_net *g, size_t t)
{
	int64_t k = g->rest->levels - (g->open[t] > 0 ? g->open[t] : 0);

	return g->rest->usd[t * ((size_t)g->rest->levels + 1) + (size_t)k];
}

double
terms_saves(const struct terms_net *g, size_t offer)
{
	double sum = 0;

	for (size_t t = g->offers[offer].from; t < g->offers[offer].to; t++) {
		const double *v = g->rest->usd + t * ((size_t)g->rest->levels + 1);
		int64_t k = g->rest->levels - g->open[t];

		if (g->open[t] > 0)
			sum += v[k] - v[k + 1];
	}
	return sum;
}

void
terms_take(struct terms_net *g, size_t offer)
{
	g->taken[offer]++;
	for (size_t t = g->offers[offer].from; t < g->offers[offer].to; t++)
		g->open[t]--;
}

/* Nodes and cost of one more unit on an arc, given that it has room. */
static size_t
terms_head(const struct terms_net *g, size_t arc)
{
	size_t i = arc / 4;

	switch ((enum terms_arc)(arc % 4)) {
	case TERMS_OPEN:
		return i + 1;
	case TERMS_OPEN_BACK:
		return i;
	case TERMS_OFFER:
		return g->offers[i].to;
	case TERMS_OFFER_BACK:
		return g->offers[i].from;
	}
	return 0;
}

static size_t
terms_tail(const struct terms_net *g, size_t arc)
{
	return terms_head(g, arc ^ 1);
}

/* The arcs that leave a node and have room are called with their cost. */
typedef void terms_arc_fn(struct terms_net *g, size_t from, size_t arc, size_t to, int64_t cost);

static inline void
terms_leave(struct terms_net *g, size_t v, terms_arc_fn *fn)
{
	size_t levels = (size_t)g->rest->levels;

	if (v + 1 < g->nodes && g->open[v] < g->room[v])
		fn(g, v, terms_arc(TERMS_OPEN, v), v + 1, g->step[v * levels + (size_t)g->open[v]]);
	if (v > 0 && g->open[v - 1] > 0)
		fn(g, v, terms_arc(TERMS_OPEN_BACK, v - 1), v - 1,
		    -g->step[(v - 1) * levels + (size_t)g->open[v - 1] - 1]);
	for (size_t i = g->out_at[v]; i < g->out_at[v + 1]; i++)
		if (g->taken[g->out[i]] < g->offers[g->out[i]].max)
			fn(g, v, terms_arc(TERMS_OFFER, g->out[i]), g->offers[g->out[i]].to,
			    g->price[g->out[i]]);
	for (size_t i = g->in_at[v]; i < g->in_at[v + 1]; i++)
		if (g->taken[g->in[i]] > 0)
			fn(g, v, terms_arc(TERMS_OFFER_BACK, g->in[i]), g->offers[g->in[i]].from,
			    -g->price[g->in[i]]);
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

	for (; slot > 0 && g->distance[g->heap[(slot - 1) / 2]] > g->distance[node];
	     slot = (slot - 1) / 2)
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

		if (kid + 1 < g->n_heap &&
		    g->distance[g->heap[kid + 1]] < g->distance[g->heap[kid]])
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

static void
terms_reach(struct terms_net *g, size_t from, size_t arc, size_t to, int64_t cost)
{
	int64_t d = g->distance[from] + cost + g->potential[from] - g->potential[to];

	if (d >= g->distance[to])
		return;
	if (g->at[to] == SIZE_MAX)
		terms_heap_put(g, g->n_heap++, to);
	g->distance[to] = d;
	g->by[to] = arc;
	terms_heap_up(g, to);
}

/*
 * Shortest path from the first node to the last over arcs with room; the potentials keep costs >=
 * 0. False: there is none.
 */
static bool
terms_path(struct terms_net *g)
{
	size_t end = g->nodes - 1;

	for (size_t v = 0; v < g->nodes; v++) {
		g->distance[v] = TERMS_FAR;
		g->at[v] = SIZE_MAX;
	}
	g->distance[0] = 0;
	g->n_heap = 1;
	terms_heap_put(g, 0, 0);
	while (g->n_heap > 0) {
		size_t v = terms_heap_pop(g);

		if (v == end)
			break;
		terms_leave(g, v, terms_reach);
	}
	if (g->distance[end] == TERMS_FAR)
		return false;
	for (size_t v = 0; v < g->nodes; v++)
		g->potential[v] +=
		    g->distance[v] < g->distance[end] ? g->distance[v] : g->distance[end];
	return true;
}

/* Units that an arc takes at the cost of its next one. */
static int64_t
terms_run(const struct terms_net *g, size_t arc, int64_t most)
{
	size_t i = arc / 4, levels = (size_t)g->rest->levels;
	int64_t n = 1, y;

	switch ((enum terms_arc)(arc % 4)) {
	case TERMS_OPEN:
		y = g->open[i];
		while (n < most && y + n < g->room[i] &&
		       g->step[i * levels + (size_t)(y + n)] == g->step[i * levels + (size_t)y])
			n++;
		return n;
	case TERMS_OPEN_BACK:
		y = g->open[i] - 1;
		while (n < most && y - n >= 0 &&
		       g->step[i * levels + (size_t)(y - n)] == g->step[i * levels + (size_t)y])
			n++;
		return n;
	case TERMS_OFFER:
		n = g->offers[i].max - g->taken[i];
		break;
	case TERMS_OFFER_BACK:
		n = g->taken[i];
		break;
	}
	return n < most ? n : most;
}

static void
terms_send(struct terms_net *g, size_t arc, int64_t units)
{
	int64_t *x = arc % 4 < TERMS_OFFER ? &g->open[arc / 4] : &g->taken[arc / 4];

	*x += arc % 2 == 0 ? units : -units;
}

enum berth_code
terms_flow(struct terms_net *g, double theta, struct berth_err *err)
{
	int64_t left = g->rest->levels;

	memset(g->open, 0, g->rest->n * sizeof(*g->open));
	memset(g->taken, 0, g->n_offers * sizeof(*g->taken));
	memset(g->potential, 0, g->nodes * sizeof(*g->potential));
	terms_price(g, theta);
	while (left > 0) {
		int64_t units = left;

		if (!terms_path(g))
			return err_set(err, BERTH_EINFEASIBLE,
			    "the peak cannot be carried at all times: too little can be reserved");
		for (size_t v = g->nodes - 1; v != 0; v = terms_tail(g, g->by[v]))
			units = terms_run(g, g->by[v], units);
		for (size_t v = g->nodes - 1; v != 0; v = terms_tail(g, g->by[v]))
			terms_send(g, g->by[v], units);
		left -= units;
	}
	return BERTH_OK;
}

static void
terms_relax(struct terms_net *g, size_t from, size_t arc, size_t to, int64_t cost)
{
	if (g->distance[from] + cost >= g->distance[to])
		return;
	g->distance[to] = g->distance[from] + cost;
	g->by[to] = arc;
	g->moved = true;
}

/* A cycle among the arcs by which nodes were reached; in g->cycle. */
static bool
terms_closed(struct terms_net *g)
{
	memset(g->seen, 0, g->nodes * sizeof(*g->seen));
	for (size_t v = 0; v < g->nodes; v++) {
		size_t u = v;

		while (g->seen[u] == 0 && g->by[u] != TERMS_NONE) {
			g->seen[u] = (uint32_t)v + 1;
			u = terms_tail(g, g->by[u]);
		}
		if (g->by[u] == TERMS_NONE || g->seen[u] != (uint32_t)v + 1)
			continue;
		g->n_cycle = 0;
		for (size_t x = u; g->n_cycle == 0 || x != u; x = terms_tail(g, g->by[x]))
			g->cycle[g->n_cycle++] = g->by[x];
		return true;
	}
	return false;
}

/* Bellman & Ford from all nodes at once. */
bool
terms_cycle(struct terms_net *g)
{
	memset(g->distance, 0, g->nodes * sizeof(*g->distance));
	for (size_t v = 0; v < g->nodes; v++)
		g->by[v] = TERMS_NONE;
	for (size_t pass = 0; pass <= g->nodes; pass++) {
		g->moved = false;
		for (size_t v = 0; v < g->nodes; v++)
			terms_leave(g, v, terms_relax);
		if (!g->moved)
			return false;
		if (terms_closed(g)) {
			for (size_t k = 0; k < g->n_cycle; k++)
				terms_send(g, g->cycle[k], 1);
			return true;
		}
	}
	return false;
}

void
terms_cycle_undo(struct terms_net *g)
{
	for (size_t k = 0; k < g->n_cycle; k++)
		terms_send(g, g->cycle[k] ^ 1, 1);
}
