/*
 * A higher bound: what an offer takes is decided whole for each offer alone (a knapsack), what the
 * jobs of a small budget take for each budget alone, and that the two agree has a price (Fisher,
 * Jaikumar and Van Wassenhove 1986; Guignard and Kim 1987), climbed as in place_dual.c. A job that
 * draws on no such budget has one price for all of its candidates. Limits of several offers and of
 * larger budgets keep theirs.
 */
#include <math.h>
#include <string.h>

#include "plan/place_hull.h"
#include "plan/place_purse.h"
#include "util/arena.h"

#define HULL_CELLS ((size_t)64000000) /* of all knapsacks: more is not tried */
#define HULL_ROOM 4096                /* most units of an offer, likewise */
#define HULL_BLOCK 16                 /* most jobs of a budget that are decided together */

/* True when the limit, or that of the cut, is of one offer: then it is in its knapsack. */
static bool
hull_own(const struct place_work *w, size_t r)
{
	if (r >= w->p->n_resources)
		r = w->cut_of[r - w->p->n_resources];
	return w->at_start[r + 1] - w->at_start[r] == 1;
}

static uint32_t
hull_gcd(uint32_t x, uint32_t y)
{
	while (y != 0) {
		uint32_t t = x % y;

		x = y;
		y = t;
	}
	return x;
}

/* Room of an offer in units of its jobs' needs; its items' needs likewise. */
static size_t
hull_room(struct hull *h, size_t j)
{
	const struct place_problem *p = h->w->p;
	uint32_t unit = 0;
	int64_t room = 0;

	for (size_t x = h->start[j]; x < h->start[j + 1]; x++)
		unit = hull_gcd(h->item[x].need, unit);
	for (size_t x = h->start[j]; x < h->start[j + 1]; x++) {
		h->item[x].need /= unit;
		room += h->item[x].need;
	}
	for (size_t u = p->use_start[j]; u < p->use_start[j + 1] && unit > 0; u++) {
		int64_t most = p->limit[p->resource[u]] / (p->weight[u] * (int64_t)unit);

		if (p->limit[p->resource[u]] != PLACE_NO_LIMIT && most < room)
			room = most;
	}
	return (size_t)room;
}

/* The candidates by their offers. */
static void
hull_items(struct hull *h, struct arena *a)
{
	const struct place_work *w = h->w;
	const struct place_problem *p = w->p;
	size_t *fill = arena_array(a, p->n_offers + 1, sizeof(*fill));

	h->start = arena_array(a, p->n_offers + 1, sizeof(*h->start));
	h->item = arena_array(a, p->cand_start[p->n_jobs], sizeof(*h->item));
	for (size_t i = 0; i < p->n_jobs; i++)
		for (size_t c = p->cand_start[i]; c < w->lean_end[i]; c++)
			h->start[p->offer[w->lean[c].cand] + 1]++;
	for (size_t j = 0; j < p->n_offers; j++)
		h->start[j + 1] += h->start[j];
	memcpy(fill, h->start, (p->n_offers + 1) * sizeof(*fill));
	for (size_t i = 0; i < p->n_jobs; i++)
		for (size_t c = p->cand_start[i]; c < w->lean_end[i]; c++) {
			uint32_t k = w->lean[c].cand;

			h->item[fill[p->offer[k]]++] = (struct hull_item){ p->cost[k], w->slot[k],
				(uint32_t)i, k, (uint32_t)p->need[k] };
		}
}

/* Rooms, and the work space of one knapsack. False: they are too large. */
static bool
hull_rooms(struct hull *h, struct arena *a)
{
	const struct place_problem *p = h->w->p;
	size_t cells = 0, most = 0, widest = 0;

	h->room = arena_array(a, p->n_offers, sizeof(*h->room));
	for (size_t j = 0; j < p->n_offers; j++) {
		size_t n = h->start[j + 1] - h->start[j], size;

		h->room[j] = hull_room(h, j);
		if (h->room[j] > HULL_ROOM)
			return false;
		size = n * (h->room[j] + 1);
		cells += size;
		most = size > most ? size : most;
		widest = n > widest ? n : widest;
	}
	if (cells > HULL_CELLS)
		return false;
	h->taken = arena_array(a, most, 1);
	h->pick = arena_array(a, widest, sizeof(*h->pick));
	h->gain = arena_array(a, widest, sizeof(*h->gain));
	h->best = arena_array(a, HULL_ROOM + 1, sizeof(*h->best));
	return true;
}

/* The first limit of more that one of the job's candidates draws on, or PLACE_NONE. */
static size_t
hull_budget(const struct place_problem *p, size_t i)
{
	const struct place_more *m = p->more;

	if (m == NULL)
		return PLACE_NONE;
	for (size_t u = m->start[p->cand_start[i]]; u < m->start[p->cand_start[i + 1]]; u++)
		if (p->limit[m->resource[u]] != PLACE_NO_LIMIT)
			return m->resource[u];
	return PLACE_NONE;
}

/* Which jobs are decided together by their budget. */
static void
hull_blocks(struct hull *h, struct arena *a)
{
	const struct place_problem *p = h->w->p;
	size_t *jobs = arena_array(a, p->n_resources, sizeof(*jobs)), most = 0, n = 0;

	h->block = arena_array(a, p->n_jobs, sizeof(*h->block));
	h->member = arena_array(a, p->n_jobs, sizeof(*h->member));
	h->member_start = arena_array(a, p->n_resources + 1, sizeof(*h->member_start));
	for (size_t i = 0; i < p->n_jobs; i++)
		if ((h->block[i] = hull_budget(p, i)) != PLACE_NONE)
			jobs[h->block[i]]++;
	for (size_t i = 0; i < p->n_jobs; i++)
		if (h->block[i] != PLACE_NONE && jobs[h->block[i]] > HULL_BLOCK)
			h->block[i] = PLACE_NONE;
	for (size_t r = 0; r < p->n_resources; r++) {
		size_t options = 0;

		for (size_t i = 0; i < p->n_jobs && jobs[r] > 0 && jobs[r] <= HULL_BLOCK; i++)
			if (h->block[i] == r) {
				h->member[n++] = i;
				options += p->cand_start[i + 1] - p->cand_start[i] + 1;
			}
		most = options > most ? options : most;
		h->member_start[r + 1] = n;
	}
	if (n == 0)
		return;
	h->purse = purse_new(HULL_BLOCK, most, a);
	h->option_start = arena_array(a, HULL_BLOCK + 1, sizeof(*h->option_start));
	h->chosen = arena_array(a, HULL_BLOCK, sizeof(*h->chosen));
	h->option = arena_array(a, most, sizeof(*h->option));
	h->option_cost = arena_array(a, most, sizeof(*h->option_cost));
	h->option_units = arena_array(a, most, sizeof(*h->option_units));
}

static bool
hull_is_block(const struct hull *h, size_t r)
{
	return r < h->w->p->n_resources && h->member_start[r + 1] > h->member_start[r];
}

/* Which prices there are, and how high they can be. */
static void
hull_prices(struct hull *h, struct arena *a)
{
	const struct place_work *w = h->w;
	const struct place_problem *p = w->p;
	size_t n_cand = p->cand_start[p->n_jobs];

	h->pairs = p->n_jobs + w->n_all;
	h->n = h->pairs + (h->purse == NULL ? 0 : n_cand);
	h->top = arena_array(a, h->n, sizeof(*h->top));
	h->scale = arena_array(a, h->n, sizeof(*h->scale));
	h->at = arena_array(a, h->n, sizeof(*h->at));
	h->s.center = arena_array(a, h->n, sizeof(*h->s.center));
	h->s.mean = arena_array(a, h->n, sizeof(*h->s.mean));
	h->slope = arena_array(a, h->n, sizeof(*h->slope));
	h->price = arena_array(a, w->n_slots, sizeof(*h->price));
	for (size_t k = 0; k < h->n; k++)
		h->scale[k] = 1;
	memcpy(h->scale + p->n_jobs, w->scale, w->n_all * sizeof(*h->scale));
	for (size_t i = 0; i < p->n_jobs; i++) {
		bool block = h->block[i] != PLACE_NONE;

		h->top[i] = block ? 0 : p->penalty[i];
		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1] && block; k++)
			h->top[h->pairs + k] = INFINITY;
	}
	for (size_t r = 0; r < w->n_all; r++)
		h->top[p->n_jobs + r] =
		    hull_own(w, r) || hull_is_block(h, r) || w->limit[r] == PLACE_NO_LIMIT
			? 0
			: INFINITY;
}

/* What a dive needs. */
static void
hull_diving(struct hull *h, struct arena *a)
{
	size_t n_jobs = h->w->p->n_jobs, n_cand = h->w->p->cand_start[n_jobs];

	h->banned = arena_array(a, n_cand, sizeof(*h->banned));
	h->fixed = arena_array(a, n_jobs, sizeof(*h->fixed));
	h->now = arena_array(a, n_cand, sizeof(*h->now));
	h->s.share = arena_array(a, n_cand, sizeof(*h->s.share));
	h->was.share = arena_array(a, n_cand, sizeof(*h->was.share));
	h->was.center = arena_array(a, h->n, sizeof(*h->was.center));
	h->was.mean = arena_array(a, h->n, sizeof(*h->was.mean));
}

struct hull *
place_hull_new(struct place_work *w, struct arena *a)
{
	struct hull *h = arena_array(a, 1, sizeof(*h));

	h->w = w;
	hull_items(h, a);
	if (!hull_rooms(h, a))
		return NULL;
	hull_blocks(h, a);
	hull_prices(h, a);
	if (w->p->n_jobs <= PLACE_TREE_JOBS && h->purse == NULL)
		hull_diving(h, a);
	h->s.f = h->s.alpha = 0.2;
	return h;
}

/* Where the price of a candidate stands. */
static size_t
hull_index(const struct hull *h, const struct hull_item *it)
{
	return h->block[it->job] == PLACE_NONE ? it->job : h->pairs + it->cand;
}

/* What taking the item is worth. */
static double
hull_gain(const struct hull *h, const struct hull_item *it)
{
	const struct place_more *m = h->w->p->more;
	const double *mu = h->at + h->w->p->n_jobs;
	bool block = h->purse != NULL && h->block[it->job] != PLACE_NONE;
	double g = block ? h->at[h->pairs + it->cand] : h->at[it->job] - it->cost;

	if (g <= 0)
		return g;
	g -= h->price[it->slot];
	for (size_t u = m == NULL ? 0 : m->start[it->cand];
	     m != NULL && g > 0 && u < m->start[it->cand + 1]; u++)
		g -= (double)m->units[u] * mu[m->resource[u]];
	return g;
}

/* The item is taken: how it changes the slope. */
static void
hull_take(struct hull *h, const struct hull_item *it)
{
	const struct place_work *w = h->w;
	const struct place_more *m = w->p->more;
	double *slope = h->slope + w->p->n_jobs;

	h->slope[hull_index(h, it)] -= 1;
	if (h->now != NULL)
		h->now[it->cand] = 1;
	for (size_t u = w->use_start[it->slot]; u < w->use_start[it->slot + 1]; u++)
		slope[w->use[u]] += (double)w->units[u];
	for (size_t u = m == NULL ? 0 : m->start[it->cand]; m != NULL && u < m->start[it->cand + 1];
	     u++)
		slope[m->resource[u]] += (double)m->units[u];
}

/* One offer's knapsack; returns what is gained. */
static double
hull_offer(struct hull *h, size_t j)
{
	size_t n = 0, room = h->room[j], width = room + 1;

	for (size_t x = h->start[j]; x < h->start[j + 1]; x++) {
		double g = hull_gain(h, &h->item[x]);

		if (g <= 0 || h->item[x].need > room ||
		    (h->banned != NULL && h->banned[h->item[x].cand]))
			continue;
		h->gain[n] = g;
		h->pick[n++] = &h->item[x];
	}
	memset(h->best, 0, width * sizeof(*h->best));
	memset(h->taken, 0, n * width);
	for (size_t x = 0; x < n; x++)
		for (size_t c = room, need = h->pick[x]->need; c >= need; c--) {
			double v = h->best[c - need] + h->gain[x];

			if (v <= h->best[c])
				continue;
			h->best[c] = v;
			h->taken[x * width + c] = 1;
		}
	for (size_t x = n, c = room; x-- > 0;)
		if (h->taken[x * width + c] != 0) {
			c -= h->pick[x]->need;
			hull_take(h, h->pick[x]);
		}
	return h->best[room];
}

/* The choices of the jobs of a budget. */
static size_t
hull_options(struct hull *h, size_t r)
{
	const struct place_work *w = h->w;
	const struct place_problem *p = w->p;
	const struct place_more *m = p->more;
	const size_t *jobs = h->member + h->member_start[r];
	size_t n = 0, n_jobs = h->member_start[r + 1] - h->member_start[r];

	for (size_t x = 0; x < n_jobs; x++) {
		size_t i = jobs[x];

		h->option_start[x] = n;
		h->option[n] = PLACE_NONE;
		h->option_units[n] = 0;
		h->option_cost[n++] = p->penalty[i];
		for (size_t c = p->cand_start[i]; c < w->lean_end[i]; c++) {
			size_t k = w->lean[c].cand;

			h->option[n] = k;
			h->option_cost[n] = p->cost[k] + h->at[h->pairs + k];
			h->option_units[n] = 0;
			for (size_t u = m->start[k]; u < m->start[k + 1]; u++)
				if (m->resource[u] == r)
					h->option_units[n] += m->units[u];
			n++;
		}
	}
	h->option_start[n_jobs] = n;
	return n_jobs;
}

/* The jobs of one budget; returns what they cost. */
static double
hull_block(struct hull *h, size_t r)
{
	struct purse_problem q = { .n = hull_options(h, r),
		.start = h->option_start,
		.cost = h->option_cost,
		.units = h->option_units,
		.limit = h->w->p->limit[r] };
	double value = purse_solve(h->purse, &q, h->chosen);

	for (size_t x = 0; x < q.n; x++)
		if (h->option[h->chosen[x]] != PLACE_NONE)
			h->slope[h->pairs + h->option[h->chosen[x]]] += 1;
	return value;
}

/* The bound at h->at, and its slope. */
double
hull_look(struct hull *h)
{
	const struct place_work *w = h->w;
	const struct place_problem *p = w->p;
	const double *mu = h->at + p->n_jobs;
	double value = 0;

	for (size_t s = 0; s < w->n_slots; s++) {
		h->price[s] = 0;
		for (size_t u = w->use_start[s]; u < w->use_start[s + 1]; u++)
			h->price[s] += (double)w->units[u] * mu[w->use[u]];
	}
	memset(h->slope, 0, h->n * sizeof(*h->slope));
	if (h->now != NULL)
		memset(h->now, 0, p->cand_start[p->n_jobs] * sizeof(*h->now));
	for (size_t i = 0; i < p->n_jobs; i++) {
		value += h->at[i];
		h->slope[i] = 1;
	}
	for (size_t r = 0; r < w->n_all; r++) {
		if (h->top[p->n_jobs + r] == 0)
			continue;
		h->slope[p->n_jobs + r] = -(double)w->limit[r];
		value -= mu[r] * (double)w->limit[r];
	}
	for (size_t j = 0; j < p->n_offers; j++)
		value -= hull_offer(h, j);
	for (size_t r = 0; r < p->n_resources; r++)
		if (hull_is_block(h, r))
			value += hull_block(h, r);
	for (size_t k = 0; k < h->n; k++)
		if (h->top[k] == 0)
			h->slope[k] = 0;
	return value;
}
