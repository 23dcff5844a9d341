/*
 * One budget and the jobs that draw on it: each takes one of its choices, as cheap as the budget
 * allows (the multiple-choice knapsack). Partial choices that another one beats in cost and in
 * units go, and so do those that cannot lead to a better end at one price for the units (Dyer,
 * Riha and Walker 1995).
 */
#include <math.h>
#include <string.h>

#include "plan/place_purse.h"
#include "util/arena.h"

#define PURSE_STATES 6000
/* of all jobs: more, and the price alone gives the bound */
#define PURSE_HALVINGS 40

struct purse_state {
	double cost;
	int64_t units;
	uint32_t from;
	uint32_t choice;
};

struct purse {
	struct purse_state *state;        /* [PURSE_STATES] */
	struct purse_state *next, *other; /* [PURSE_STATES] */
	size_t *keep, *left; /* [choices] those worth a look; [jobs + 1] each job's first */
	double *rest;        /* [jobs + 1] least of the jobs from this one on, at the price */
	size_t *layer;       /* [jobs + 2] first state after so many jobs, and the end */
	size_t n_keep;
};

struct purse *
purse_new(size_t jobs, size_t choices, struct arena *a)
{
	struct purse *p = arena_array(a, 1, sizeof(*p));

	p->state = arena_array(a, PURSE_STATES, sizeof(*p->state));
	p->next = arena_array(a, PURSE_STATES, sizeof(*p->next));
	p->other = arena_array(a, PURSE_STATES, sizeof(*p->other));
	p->keep = arena_array(a, choices, sizeof(*p->keep));
	p->left = arena_array(a, jobs + 1, sizeof(*p->left));
	p->rest = arena_array(a, jobs + 1, sizeof(*p->rest));
	p->layer = arena_array(a, jobs + 2, sizeof(*p->layer));
	return p;
}

/* The choices of each job that no other one of it beats. */
static void
purse_thin(struct purse *p, const struct purse_problem *q)
{
	p->n_keep = 0;
	for (size_t i = 0; i < q->n; i++) {
		p->left[i] = p->n_keep;
		for (size_t c = q->start[i]; c < q->start[i + 1]; c++) {
			size_t x = p->left[i], y = x;
			bool beaten = q->units[c] > q->limit;

			for (; x < p->n_keep && !beaten; x++)
				beaten = q->cost[p->keep[x]] <= q->cost[c] &&
					 q->units[p->keep[x]] <= q->units[c];
			if (beaten)
				continue;
			for (x = y; x < p->n_keep; x++)
				if (q->cost[p->keep[x]] < q->cost[c] ||
				    q->units[p->keep[x]] < q->units[c])
					p->keep[y++] = p->keep[x];
			p->keep[y++] = c;
			p->n_keep = y;
		}
	}
	p->left[q->n] = p->n_keep;
}

/* Each job's least at the price; of equals that of the fewest units. Returns the bound. */
static double
purse_at(struct purse *p, const struct purse_problem *q, double price, size_t *chosen,
    int64_t *units_out)
{
	double sum = -price * (double)q->limit;

	*units_out = 0;
	for (size_t i = 0; i < q->n; i++) {
		double least = INFINITY;
		size_t best = 0;

		for (size_t x = p->left[i]; x < p->left[i + 1]; x++) {
			size_t c = p->keep[x];
			double v = q->cost[c] + price * (double)q->units[c];

			if (v < least || (v == least && q->units[c] < q->units[best])) {
				least = v;
				best = c;
			}
		}
		chosen[i] = best;
		p->rest[i] = least;
		sum += least;
		*units_out += q->units[best];
	}
	return sum;
}

/* The price of the highest bound, and a choice that keeps the limit. */
static double
purse_price(struct purse *p, const struct purse_problem *q, size_t *chosen, double *bound)
{
	double lo = 0, hi = 0;
	int64_t units;

	*bound = purse_at(p, q, 0, chosen, &units);
	if (units <= q->limit)
		return 0;
	for (size_t i = 0; i < q->n; i++) {
		const size_t *k = p->keep + p->left[i];
		size_t n = p->left[i + 1] - p->left[i];
		double least = INFINITY, most = 0;

		for (size_t x = 0; x < n; x++) {
			least = fmin(least, q->cost[k[x]]);
			most = fmax(most, q->cost[k[x]]);
		}
		hi += most - least;
	}
	hi += 1; /* USD for one unit: each job takes the fewest */
	for (int x = 0; x < PURSE_HALVINGS; x++) {
		double mid = x < PURSE_HALVINGS / 2 && lo > 0 ? sqrt(lo * hi) : (lo + hi) / 2;

		(void)purse_at(p, q, mid, chosen, &units);
		if (units > q->limit)
			lo = mid;
		else
			hi = mid;
	}
	*bound = purse_at(p, q, hi, chosen, &units);
	return hi;
}

static double
purse_cost(const struct purse_problem *q, const size_t *chosen)
{
	double sum = 0;

	for (size_t i = 0; i < q->n; i++)
		sum += q->cost[chosen[i]];
	return sum;
}

/* Job by job to what costs less within the limit, until none can. */
static double
purse_better(struct purse *p, const struct purse_problem *q, size_t *chosen)
{
	int64_t left = q->limit;
	bool moved = true;

	for (size_t i = 0; i < q->n; i++)
		left -= q->units[chosen[i]];
	while (moved) {
		moved = false;
		for (size_t i = 0; i < q->n; i++)
			for (size_t x = p->left[i]; x < p->left[i + 1]; x++) {
				size_t c = p->keep[x];

				if (q->cost[c] >= q->cost[chosen[i]] ||
				    q->units[c] - q->units[chosen[i]] > left)
					continue;
				left -= q->units[c] - q->units[chosen[i]];
				chosen[i] = c;
				moved = true;
			}
	}
	return purse_cost(q, chosen);
}

/* The states [n] of v and those of the layer with one choice more, by units; none that another one
 * beats. Returns how many; more than there is room for: too many. */
static size_t
purse_merge(const struct purse *p, const struct purse_state *v, size_t n, struct purse_state *to,
    size_t from, size_t end, const struct purse_problem *q, size_t c, double slack, double price)
{
	double least = INFINITY;
	size_t x = 0, k = 0;

	while (x < n || from < end) {
		struct purse_state s;

		if (from < end) {
			s = p->state[from];
			s.from = (uint32_t)from;
			s.choice = (uint32_t)c;
			s.cost += q->cost[c];
			s.units += q->units[c];
		}
		if (from == end || (x < n && (v[x].units < s.units ||
						 (v[x].units == s.units && v[x].cost <= s.cost)))) {
			s = v[x++];
		} else {
			from++;
			if (s.units > q->limit) {
				from = end;
				continue;
			}
			if (s.cost + price * (double)s.units >= slack)
				continue;
		}
		if (s.cost >= least)
			continue;
		if (k == PURSE_STATES)
			return PURSE_STATES + 1;
		least = s.cost;
		to[k++] = s;
	}
	return k;
}

/* All states after job i; false: too many. */
static bool
purse_layer(struct purse *p, const struct purse_problem *q, size_t i, double price, double most)
{
	size_t from = p->layer[i], end = p->layer[i + 1], n = 0;
	double slack = most + price * (double)q->limit;

	for (size_t y = i + 1; y < q->n; y++)
		slack -= p->rest[y];
	for (size_t x = p->left[i]; x < p->left[i + 1]; x++) {
		struct purse_state *t;

		n = purse_merge(p, p->next, n, p->other, from, end, q, p->keep[x], slack, price);
		if (n > PURSE_STATES)
			return false;
		t = p->next;
		p->next = p->other;
		p->other = t;
	}
	if (end + n > PURSE_STATES)
		return false;
	memcpy(p->state + end, p->next, n * sizeof(*p->next));
	p->layer[i + 2] = end + n;
	return true;
}

/* Bound of what the states before job i can lead to. */
static double
purse_lowest(const struct purse *p, const struct purse_problem *q, size_t i, double price)
{
	double rest = -price * (double)q->limit, least = INFINITY;

	for (size_t y = i; y < q->n; y++)
		rest += p->rest[y];
	for (size_t s = p->layer[i]; s < p->layer[i + 1]; s++)
		least = fmin(least, p->state[s].cost + price * (double)p->state[s].units + rest);
	return least;
}

double
purse_solve(struct purse *p, const struct purse_problem *q, size_t *chosen)
{
	double bound, price, most;
	size_t best = SIZE_MAX;

	purse_thin(p, q);
	price = purse_price(p, q, chosen, &bound);
	most = purse_better(p, q, chosen);
	if (q->n == 0 || price == 0 || most <= bound + 1e-9 * fabs(bound))
		return q->n == 0 ? 0 : bound;
	p->state[0] = (struct purse_state){ 0 };
	p->layer[0] = 0;
	p->layer[1] = 1;
	for (size_t i = 0; i < q->n; i++)
		if (!purse_layer(p, q, i, price, most))
			return fmin(most, purse_lowest(p, q, i, price));
	for (size_t s = p->layer[q->n]; s < p->layer[q->n + 1]; s++)
		if (best == SIZE_MAX || p->state[s].cost < p->state[best].cost)
			best = s;
	if (best == SIZE_MAX || p->state[best].cost >= most)
		return most;
	most = p->state[best].cost;
	for (size_t i = q->n; i-- > 0; best = p->state[best].from)
		chosen[i] = p->state[best].choice;
	return most;
}
