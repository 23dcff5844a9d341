/*
 * Where all that draw on a limit take the same amount of it, and the limits lie within or apart
 * from one another, the choice of candidates is a flow of least cost from the jobs through a forest
 * of limits; its corner points are whole. Successive shortest paths with potentials (Tomizawa 1971;
 * Edmonds and Karp 1972), one job at a time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

#define FLOW_WORK                                                                                  \
	INT64_C(400000000) /* arcs looked at before the search is given up: about two seconds */
#define FLOW_SINK ((size_t)0)

struct flow_entry {
	double d;
	size_t node;
};

/* Nodes: 0 the sink, 1 .. n_groups the limits, then the jobs. */
struct flow {
	struct place_work *w;
	const struct place_problem *p;
	size_t n_groups;
	size_t *group; /* [n_cand] innermost limit that it draws on, or the sink; PLACE_NONE: it can
			  never be taken */
	size_t *parent;             /* [n_groups + 1] */
	size_t *resource;           /* [n_groups + 1] */
	int64_t *cap, *used;        /* [n_groups + 1] jobs */
	int64_t *unit;              /* [n_resources] that each candidate takes; 0: they differ */
	size_t *kid, *sibling;      /* [n_groups + 1] first child; next of the same parent */
	size_t *head, *next, *prev; /* jobs of a group: head [n_groups + 1], the others [n_jobs] */
	size_t *chosen;             /* [n_jobs] */
	double *pi, *dist;          /* [n_nodes] potentials, distances */
	size_t *from, *via;         /* [n_nodes] node before it, and the candidate of the arc */
	size_t *seen, *done;        /* [n_nodes] the search that reached, that settled it */
	size_t *settled, n_settled;
	struct flow_entry *heap;
	size_t n_heap, room, search;
	int64_t work;
	struct arena *a;
};

/* Each resource that the candidate draws on, offer's and own. Returns false at the end. */
static bool
flow_use(const struct place_problem *p, size_t cand, size_t n, size_t *r_out, int64_t *units_out)
{
	size_t u = p->use_start[p->offer[cand]] + n, end = p->use_start[p->offer[cand] + 1];

	if (u < end) {
		*r_out = p->resource[u];
		*units_out = p->need[cand] * p->weight[u];
		return true;
	}
	if (p->more == NULL || p->more->start[cand] + (u - end) >= p->more->start[cand + 1])
		return false;
	u = p->more->start[cand] + (u - end);
	*r_out = p->more->resource[u];
	*units_out = p->more->units[u];
	return true;
}

/* most [n_resources]: what could be drawn at once. unit: what each draws, 0 if that differs. n: how
 * many can. */
static void
flow_measure(struct flow *f, double *most, size_t *n)
{
	const struct place_problem *p = f->p;
	double *peak = arena_array(f->a, p->n_resources, sizeof(*peak));
	size_t *last = arena_array(f->a, p->n_resources, sizeof(*last)), r;
	bool *mixed = arena_array(f->a, p->n_resources, sizeof(*mixed));
	int64_t units;

	for (size_t i = 0; i < p->n_jobs; i++) {
		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
			if (place_never_fits(p, k) != PLACE_NONE) {
				f->group[k] = PLACE_NONE;
				continue;
			}
			for (size_t u = 0; flow_use(p, k, u, &r, &units); u++) {
				mixed[r] |= f->unit[r] != 0 && f->unit[r] != units;
				f->unit[r] = units;
				n[r]++;
				if (last[r] != i + 1)
					peak[r] = 0;
				if ((double)units > peak[r]) {
					most[r] += (double)units - peak[r];
					peak[r] = (double)units;
				}
				last[r] = i + 1;
			}
		}
	}
	for (r = 0; r < p->n_resources; r++)
		f->unit[r] = mixed[r] ? 0 : f->unit[r];
}

struct flow_size {
	size_t n, r;
};

static int
flow_cmp_size(const void *a, const void *b)
{
	const struct flow_size *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->r > y->r) - (x->r < y->r);
}

/* From the widest limit to the narrowest: one whose candidates all lie in the same one so far nests
 * there. */
static void
flow_nest(struct flow *f, const struct flow_size *order, size_t n_order, const size_t *start,
    const size_t *cand)
{
	for (size_t x = 0; x < n_order; x++) {
		size_t r = order[x].r, in = f->group[cand[start[x]]], g;
		bool nested = true;

		for (size_t c = start[x]; c < start[x + 1] && nested; c++)
			nested = f->group[cand[c]] == in;
		if (!nested)
			continue;
		g = ++f->n_groups;
		f->parent[g] = in;
		f->resource[g] = r;
		f->cap[g] = f->p->limit[r] / f->unit[r];
		f->sibling[g] = f->kid[in];
		f->kid[in] = g;
		for (size_t c = start[x]; c < start[x + 1]; c++)
			f->group[cand[c]] = g;
	}
}

/* The forest of limits. False: some can bind and none of them is one of a flow. */
static bool
flow_forest(struct flow *f)
{
	const struct place_problem *p = f->p;
	size_t n_cand = p->cand_start[p->n_jobs], n_order = 0, binding = 0, r;
	double *most = arena_array(f->a, p->n_resources, sizeof(*most));
	size_t *n = arena_array(f->a, p->n_resources, sizeof(*n)), *at, *start, *cand;
	struct flow_size *order = arena_array(f->a, p->n_resources, sizeof(*order));
	int64_t units;

	flow_measure(f, most, n);
	at = arena_array(f->a, p->n_resources, sizeof(*at));
	for (r = 0; r < p->n_resources; r++) {
		bool binds = p->limit[r] != PLACE_NO_LIMIT && most[r] > (double)p->limit[r];

		at[r] = PLACE_NONE;
		binding += binds;
		if (binds && f->unit[r] > 0)
			order[n_order++] = (struct flow_size){ n[r], r };
	}
	if (binding > 0 && n_order == 0)
		return false;
	qsort(order, n_order, sizeof(*order), flow_cmp_size);
	start = arena_array(f->a, n_order + 2, sizeof(*start));
	for (size_t x = 0; x < n_order; x++) {
		at[order[x].r] = x;
		start[x + 2] = start[x + 1] + order[x].n;
	}
	cand = arena_array(f->a, start[n_order + (n_order > 0)], sizeof(*cand));
	for (size_t k = 0; k < n_cand; k++)
		for (size_t u = 0; f->group[k] != PLACE_NONE && flow_use(p, k, u, &r, &units); u++)
			if (at[r] != PLACE_NONE)
				cand[start[at[r] + 1]++] = k;
	flow_nest(f, order, n_order, start, cand);
	return binding == 0 || f->n_groups > 0;
}

static void
flow_push(struct flow *f, double d, size_t node)
{
	size_t i = f->n_heap++;

	if (f->n_heap > f->room) {
		struct flow_entry *v = arena_array(f->a, 2 * f->room, sizeof(*v));

		memcpy(v, f->heap, f->room * sizeof(*v));
		f->heap = v;
		f->room *= 2;
	}
	for (; i > 0 && f->heap[(i - 1) / 2].d > d; i = (i - 1) / 2)
		f->heap[i] = f->heap[(i - 1) / 2];
	f->heap[i] = (struct flow_entry){ d, node };
}

static struct flow_entry
flow_pop(struct flow *f)
{
	struct flow_entry top = f->heap[0], last = f->heap[--f->n_heap];
	size_t i = 0;

	for (size_t kid; (kid = 2 * i + 1) < f->n_heap; i = kid) {
		if (kid + 1 < f->n_heap && f->heap[kid + 1].d < f->heap[kid].d)
			kid++;
		if (last.d <= f->heap[kid].d)
			break;
		f->heap[i] = f->heap[kid];
	}
	f->heap[i] = last;
	return top;
}

/* An arc of this cost from u, at distance d, to v. */
static void
flow_arc(struct flow *f, size_t u, double d, size_t v, double cost, size_t cand)
{
	double to = fmax(d, d + cost + f->pi[u] - f->pi[v]);

	f->work++;
	if (f->done[v] == f->search || (f->seen[v] == f->search && f->dist[v] <= to))
		return;
	f->seen[v] = f->search;
	f->dist[v] = to;
	f->from[v] = u;
	f->via[v] = cand;
	flow_push(f, to, v);
}

static void
flow_from_job(struct flow *f, size_t u, double d)
{
	const struct place_problem *p = f->p;
	size_t i = u - f->n_groups - 1;

	for (size_t c = p->cand_start[i]; c < p->cand_start[i + 1]; c++) {
		size_t k = f->w->sorted[c];

		if (f->group[k] != PLACE_NONE && k != f->chosen[i])
			flow_arc(f, u, d, f->group[k], p->cost[k], k);
	}
	flow_arc(f, u, d, FLOW_SINK, p->penalty[i], PLACE_NONE);
}

static void
flow_from_group(struct flow *f, size_t g, double d)
{
	if (f->used[g] < f->cap[g])
		flow_arc(f, g, d, f->parent[g], 0, PLACE_NONE);
	for (size_t h = f->kid[g]; h != 0; h = f->sibling[h])
		if (f->used[h] > 0)
			flow_arc(f, g, d, h, 0, PLACE_NONE);
	for (size_t i = f->head[g]; i != PLACE_NONE; i = f->next[i])
		flow_arc(f, g, d, f->n_groups + 1 + i, -f->p->cost[f->chosen[i]], PLACE_NONE);
}

/* Shortest way from the job to the sink. Every job has one: to stay out. */
static double
flow_search(struct flow *f, size_t source)
{
	f->search++;
	f->n_heap = f->n_settled = 0;
	f->seen[source] = f->search;
	f->dist[source] = 0;
	flow_push(f, 0, source);
	while (f->n_heap > 0) {
		struct flow_entry e = flow_pop(f);

		if (f->done[e.node] == f->search)
			continue;
		if (e.node == FLOW_SINK)
			return e.d;
		f->done[e.node] = f->search;
		f->settled[f->n_settled++] = e.node;
		if (e.node > f->n_groups)
			flow_from_job(f, e.node, e.d);
		else
			flow_from_group(f, e.node, e.d);
	}
	return INFINITY;
}

static void
flow_assign(struct flow *f, size_t i, size_t cand)
{
	size_t old = f->chosen[i] == PLACE_NONE ? FLOW_SINK : f->group[f->chosen[i]];
	size_t g = cand == PLACE_NONE ? FLOW_SINK : f->group[cand];

	if (old != FLOW_SINK) {
		if (f->prev[i] == PLACE_NONE)
			f->head[old] = f->next[i];
		else
			f->next[f->prev[i]] = f->next[i];
		if (f->next[i] != PLACE_NONE)
			f->prev[f->next[i]] = f->prev[i];
	}
	f->chosen[i] = cand;
	if (g == FLOW_SINK)
		return;
	f->prev[i] = PLACE_NONE;
	f->next[i] = f->head[g];
	if (f->head[g] != PLACE_NONE)
		f->prev[f->head[g]] = i;
	f->head[g] = i;
}

/* One more job along the shortest way; the potentials of what was settled keep every arc that is
 * left at 0 or above. */
static void
flow_augment(struct flow *f, size_t source, double d)
{
	for (size_t v = FLOW_SINK; v != source; v = f->from[v]) {
		size_t u = f->from[v];

		if (u > f->n_groups)
			flow_assign(f, u - f->n_groups - 1, f->via[v]);
		else if (v <= f->n_groups && f->parent[u] == v)
			f->used[u]++;
		else if (v <= f->n_groups)
			f->used[v]--;
	}
	for (size_t k = 0; k < f->n_settled; k++)
		f->pi[f->settled[k]] += f->dist[f->settled[k]] - d;
}

/* A job that comes in: as high as keeps all its arcs at 0 or above. */
static double
flow_first_pi(const struct flow *f, size_t i)
{
	const struct place_problem *p = f->p;
	double pi = -p->penalty[i];

	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++)
		if (f->group[k] != PLACE_NONE)
			pi = fmax(pi, f->pi[f->group[k]] - p->cost[k]);
	return pi;
}

static void
flow_init(struct flow *f)
{
	const struct place_problem *p = f->p;
	size_t groups = p->n_resources + 1, nodes = groups + p->n_jobs;

	f->group = arena_array(f->a, p->cand_start[p->n_jobs], sizeof(*f->group));
	f->unit = arena_array(f->a, p->n_resources, sizeof(*f->unit));
	f->parent = arena_array(f->a, groups, sizeof(*f->parent));
	f->resource = arena_array(f->a, groups, sizeof(*f->resource));
	f->cap = arena_array(f->a, groups, sizeof(*f->cap));
	f->used = arena_array(f->a, groups, sizeof(*f->used));
	f->kid = arena_array(f->a, groups, sizeof(*f->kid));
	f->sibling = arena_array(f->a, groups, sizeof(*f->sibling));
	f->head = arena_array(f->a, groups, sizeof(*f->head));
	f->next = arena_array(f->a, p->n_jobs, sizeof(*f->next));
	f->prev = arena_array(f->a, p->n_jobs, sizeof(*f->prev));
	f->chosen = arena_array(f->a, p->n_jobs, sizeof(*f->chosen));
	f->pi = arena_array(f->a, nodes, sizeof(*f->pi));
	f->dist = arena_array(f->a, nodes, sizeof(*f->dist));
	f->from = arena_array(f->a, nodes, sizeof(*f->from));
	f->via = arena_array(f->a, nodes, sizeof(*f->via));
	f->seen = arena_array(f->a, nodes, sizeof(*f->seen));
	f->done = arena_array(f->a, nodes, sizeof(*f->done));
	f->settled = arena_array(f->a, nodes, sizeof(*f->settled));
	f->room = 1024;
	f->heap = arena_array(f->a, f->room, sizeof(*f->heap));
	for (size_t i = 0; i < p->n_jobs; i++)
		f->chosen[i] = PLACE_NONE;
	for (size_t g = 0; g < groups; g++)
		f->head[g] = PLACE_NONE;
}

bool
place_flow(
    struct place_work *w, bool (*stop)(void *), void *stop_arg, struct arena *a, double *bound_out)
{
	struct flow f = { .w = w, .p = w->p, .a = a };
	double bound = 0;

	if (w->p->n_jobs == 0 || w->p->n_offers == 0)
		return false;
	flow_init(&f);
	if (!flow_forest(&f))
		return false;
	for (size_t i = 0; i < f.p->n_jobs; i++) {
		size_t source = f.n_groups + 1 + i;

		f.pi[source] = flow_first_pi(&f, i);
		flow_augment(&f, source, flow_search(&f, source));
		if (f.work > FLOW_WORK || (stop != NULL && i % 64 == 63 && stop(stop_arg)))
			return false;
	}
	for (size_t i = 0; i < f.p->n_jobs; i++) {
		w->chosen[i] = f.chosen[i];
		bound += f.chosen[i] == PLACE_NONE ? f.p->penalty[i] : f.p->cost[f.chosen[i]];
	}
	for (size_t r = 0; r < w->n_all; r++)
		w->mu[r] = 0;
	for (size_t g = 1; g <= f.n_groups; g++)
		w->mu[f.resource[g]] =
		    fmax(0, f.pi[f.parent[g]] - f.pi[g]) / (double)f.unit[f.resource[g]];
	*bound_out = bound;
	return true;
}
