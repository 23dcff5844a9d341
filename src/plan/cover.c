/* src/plan/cover.c - a maximum flow from what is owned to what is used.  Floor: domain. */
#include "config.h"

#include <math.h>

#include "plan/cover.h"

#define COVER_LEAST 1e-9 /* GPUs: less is a rounding error */
#define COVER_NONE ((size_t)-1)

static size_t
cover_width(const struct cover *c, size_t need)
{
	size_t n = 0;

	for (size_t o = 0; o < c->n_owned; o++)
		n += c->serves[need * c->n_owned + o];
	return n;
}

static size_t
cover_reach(const struct cover *c, size_t owned)
{
	size_t n = 0;

	for (size_t d = 0; d < c->n_needs; d++)
		n += c->serves[d * c->n_owned + owned];
	return n;
}

struct cover *
cover_new(struct arena *a, size_t n_owned, size_t n_needs, const bool *serves, const double *usage)
{
	struct cover *c = arena_array(a, 1, sizeof(*c));
	size_t nodes = n_owned + n_needs + 1;

	*c = (struct cover){ .n_owned = n_owned,
		.n_needs = n_needs,
		.serves = serves,
		.needs = arena_array(a, n_needs + 1, sizeof(*c->needs)),
		.owned = arena_array(a, n_owned + 1, sizeof(*c->owned)),
		.flow = arena_array(a, n_needs * n_owned + 1, sizeof(*c->flow)),
		.queue = arena_array(a, nodes, sizeof(*c->queue)),
		.from = arena_array(a, nodes, sizeof(*c->from)) };
	for (size_t d = 0; d < n_needs; d++) {
		size_t i = d;

		for (; i > 0 && cover_width(c, c->needs[i - 1]) > cover_width(c, d); i--)
			c->needs[i] = c->needs[i - 1];
		c->needs[i] = d;
	}
	for (size_t o = 0; o < n_owned; o++) {
		size_t i = o;

		for (; i > 0; i--) {
			size_t before = c->owned[i - 1];

			if (usage[before] < usage[o] ||
			    (!(usage[before] > usage[o]) &&
				cover_reach(c, before) <= cover_reach(c, o)))
				break;
			c->owned[i] = before;
		}
		c->owned[i] = o;
	}
	return c;
}

/* The nodes of a search: needs, then what is owned. True: *last_out has GPUs left, and from[] leads
 * back to `need`. */
static bool
cover_search(struct cover *c, size_t need, const double *left, size_t *last_out)
{
	size_t head = 0, tail = 0;

	for (size_t i = 0; i < c->n_needs + c->n_owned; i++)
		c->from[i] = COVER_NONE;
	c->from[need] = need;
	c->queue[tail++] = need;
	while (head < tail) {
		size_t at = c->queue[head++];

		for (size_t o = 0; at < c->n_needs && o < c->n_owned; o++) {
			size_t node = c->n_needs + o;

			if (!c->serves[at * c->n_owned + o] || c->from[node] != COVER_NONE)
				continue;
			c->from[node] = at;
			*last_out = o;
			if (left[o] > COVER_LEAST)
				return true;
			c->queue[tail++] = node;
		}
		for (size_t d = 0; at >= c->n_needs && d < c->n_needs; d++) {
			if (c->from[d] != COVER_NONE ||
			    !(c->flow[d * c->n_owned + at - c->n_needs] > COVER_LEAST))
				continue;
			c->from[d] = at;
			c->queue[tail++] = d;
		}
	}
	return false;
}

/* GPUs along the path that was found; `most` at most. */
static double
cover_push(struct cover *c, size_t need, size_t last, double most)
{
	double gpus = most;

	for (size_t o = last, d;; o = c->from[d] - c->n_needs) {
		d = c->from[c->n_needs + o];
		if (d == need)
			break;
		gpus = fmin(gpus, c->flow[d * c->n_owned + c->from[d] - c->n_needs]);
	}
	for (size_t o = last, d;; o = c->from[d] - c->n_needs) {
		d = c->from[c->n_needs + o];
		c->flow[d * c->n_owned + o] += gpus;
		if (d == need)
			break;
		c->flow[d * c->n_owned + c->from[d] - c->n_needs] -= gpus;
	}
	return gpus;
}

void
cover_step(
    struct cover *c, const double *have, const double *need, double *used_out, double *covered_out)
{
	double *left = used_out;

	for (size_t o = 0; o < c->n_owned; o++)
		left[o] = have[o];
	for (size_t i = 0; i < c->n_needs * c->n_owned; i++)
		c->flow[i] = 0;
	for (size_t i = 0; i < c->n_needs; i++) {
		size_t d = c->needs[i], last;
		double lacks = need[d];

		for (size_t k = 0; k < c->n_owned; k++) {
			size_t o = c->owned[k];
			double take =
			    c->serves[d * c->n_owned + o] ? fmin(lacks, fmax(0, left[o])) : 0;

			c->flow[d * c->n_owned + o] += take;
			left[o] -= take;
			lacks -= take;
		}
		while (lacks > COVER_LEAST && cover_search(c, d, left, &last)) {
			double moved = cover_push(c, d, last, fmin(lacks, left[last]));

			left[last] -= moved;
			lacks -= moved;
		}
		covered_out[d] = need[d] - fmax(0, lacks);
	}
	for (size_t o = 0; o < c->n_owned; o++)
		used_out[o] = have[o] - fmax(0, left[o]);
}
