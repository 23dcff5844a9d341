/* forecast/tree_add.c - results made to add up as they come, one by one.  Floor: domain.
 *
 * Of all leaves nothing is kept but what they add up to: for each sum, step and path the gap
 * between the sum as it was forecast and its leaves, and the sum of the leaves as they have become.
 * So memory goes with the number of sums.
 */
#include <math.h>
#include <string.h>

#include "forecast/fc.h"

enum {
	ADD_PATHS,
	ADD_LEVELS,
	ADD_KINDS
}; /* demand of the step on each path; its mean on it: by the path's rank */

struct fc_adder {
	struct fc_tree_errors w;
	struct arena *a;
	size_t h, paths;
	double *gap[ADD_KINDS], *sum[ADD_KINDS], *events; /* [n_sums][h][paths] */
	double *mean_gap, *mean_sum, *mean_events;        /* [n_sums][h] */
	double *give[FC_BUCKETS];
	bool ready;
	double *level, *before, *after; /* [paths] scratch */
	struct fc_rank *rank;
};

struct fc_adder *
fc_adder_new(
    const struct fc_tree *t, enum fc_reconcile how, size_t horizon, size_t n_paths, bool events)
{
	struct arena *a = arena_new();
	struct fc_adder *x = arena_alloc(a, sizeof(*x));
	size_t all = t->n_sums * horizon;

	x->w = (struct fc_tree_errors){ .t = t, .how = how, .n = t->n_leaves + t->n_sums };
	x->a = a;
	x->h = horizon;
	x->paths = n_paths;
	for (int k = 0; k < ADD_KINDS && how != FC_RECONCILE_NONE; k++) {
		x->sum[k] = arena_array(a, all * n_paths, sizeof(double));
		x->gap[k] =
		    fc_adder_looks(how) ? arena_array(a, all * n_paths, sizeof(double)) : NULL;
	}
	x->mean_gap = arena_array(a, all, sizeof(double));
	x->mean_sum = arena_array(a, all, sizeof(double));
	if (events) {
		x->events = arena_array(a, all * n_paths, sizeof(double));
		x->mean_events = arena_array(a, all, sizeof(double));
	}
	if (how == FC_RECONCILE_MINT)
		x->w.node = arena_array(a, x->w.n, sizeof(*x->w.node));
	x->level = arena_array(a, n_paths, sizeof(double));
	x->before = arena_array(a, n_paths, sizeof(double));
	x->after = arena_array(a, n_paths, sizeof(double));
	x->rank = arena_array(a, n_paths, sizeof(*x->rank));
	return x;
}

void
fc_adder_free(struct fc_adder *x)
{
	if (x != NULL)
		arena_free(x->a);
}

bool
fc_adder_looks(enum fc_reconcile how)
{
	return how == FC_RECONCILE_STRUCTURAL || how == FC_RECONCILE_MINT;
}

/* Row of sum k at step i in an array of all sums. */
static size_t
add_at(const struct fc_adder *x, size_t k, size_t i)
{
	return (k * x->h + i) * x->paths;
}

static const struct fc_sum *
add_sum(const struct fc_adder *x, size_t k)
{
	return &x->w.t->sums[k];
}

/* The mean of step i on each path is the quantile of the path's rank in the step; these add up as
 * paths do. */
static void
add_levels(struct fc_adder *x, const struct fc_result *r, size_t i)
{
	for (size_t p = 0; p < x->paths; p++)
		x->rank[p] = (struct fc_rank){ r->paths[p * x->h + i], p };
	fc_rank(x->rank, x->paths);
	for (size_t p = 0; p < x->paths; p++)
		x->level[x->rank[p].k] = fc_level_quantile(r->q + i * FC_LEVEL_COUNT,
		    ((double)p + 2.0 / 3.0) / ((double)x->paths + 1.0 / 3.0));
}

static void
add_keep_errors(struct fc_adder *x, size_t node, const struct fc_result *r)
{
	struct fc_tree_node *e = &x->w.node[node];

	e->level = fc_mean(r->mean, x->h);
	e->n_origins = r->n_origins;
	e->origins = arena_memdup(x->a, r->origins, r->n_origins * sizeof(*r->origins));
	e->errors = arena_memdup(x->a, r->errors, r->n_origins * FC_BUCKETS * sizeof(*r->errors));
}

void
fc_adder_look(struct fc_adder *x, size_t node, const struct fc_result *r)
{
	size_t n_leaves = x->w.t->n_leaves;

	if (x->w.how == FC_RECONCILE_MINT)
		add_keep_errors(x, node, r);
	for (size_t i = 0; i < x->h; i++) {
		add_levels(x, r, i);
		for (size_t k = 0; k < x->w.t->n_sums; k++) {
			double *paths = x->gap[ADD_PATHS] + add_at(x, k, i),
			       *levels = x->gap[ADD_LEVELS] + add_at(x, k, i);
			bool own = node == n_leaves + k;

			if (!own && !(node < n_leaves && fc_tree_has(add_sum(x, k), node)))
				continue;
			for (size_t p = 0; p < x->paths; p++) {
				paths[p] = own ? r->paths[p * x->h + i]
					       : paths[p] - r->paths[p * x->h + i];
				levels[p] = own ? x->level[p] : levels[p] - x->level[p];
			}
			x->mean_gap[k * x->h + i] =
			    own ? r->mean[i] : x->mean_gap[k * x->h + i] - r->mean[i];
		}
	}
}

void
fc_tree_move(double *q, const double *before, const double *after, size_t n)
{
	for (size_t l = 0; l < FC_LEVEL_COUNT; l++) {
		q[l] += fc_quantile_sorted(after, n, fc_levels[l]) -
			fc_quantile_sorted(before, n, fc_levels[l]);
		q[l] = q[l] > 0 ? q[l] : 0;
		if (l > 0 && q[l] < q[l - 1])
			q[l] = q[l - 1];
	}
}

/* Halfway between the quantiles of a sum's paths and its own, moved as its mean was. */
static void
add_widen(double *q, const double *own, double moved)
{
	for (size_t l = 0; l < FC_LEVEL_COUNT; l++) {
		q[l] = .5 * (q[l] + fmax(0, own[l] + moved));
		if (l > 0 && q[l] < q[l - 1])
			q[l] = q[l - 1];
	}
}

/* A leaf's value after it has taken its share of the gaps, which lie stride apart in gap. */
static double
add_take(const struct fc_adder *x, const double *give, double share, double value,
    const double *gap, size_t stride)
{
	if (give == NULL)
		return value;
	for (size_t k = 0; k < x->w.t->n_sums; k++)
		value -= share * give[k] * gap[k * stride];
	return value > 0 ? value : 0;
}

/* Adds step i of a leaf to its sums. */
static void
add_to_sums(struct fc_adder *x, size_t leaf, const struct fc_result *r, size_t i)
{
	for (size_t k = 0; k < x->w.t->n_sums; k++) {
		double *paths = x->sum[ADD_PATHS] + add_at(x, k, i),
		       *levels = x->sum[ADD_LEVELS] + add_at(x, k, i);

		if (!fc_tree_has(add_sum(x, k), leaf))
			continue;
		for (size_t p = 0; p < x->paths; p++) {
			paths[p] += r->paths[p * x->h + i];
			levels[p] += x->level[p];
		}
		x->mean_sum[k * x->h + i] += r->mean[i];
	}
}

static void
add_leaf(struct fc_adder *x, size_t leaf, struct fc_result *r)
{
	size_t stride = x->h * x->paths;

	for (size_t i = 0; i < x->h; i++) {
		const double *give = x->give[fc_bucket(i)];
		const double *row = give != NULL ? give + leaf * x->w.t->n_sums : NULL;
		double share = x->w.how == FC_RECONCILE_STRUCTURAL ? 0.5 : 1;

		add_levels(x, r, i);
		memcpy(x->before, x->level, x->paths * sizeof(double));
		fc_sort(x->before, x->paths);
		for (size_t p = 0; p < x->paths && row != NULL; p++) {
			double *path = &r->paths[p * x->h + i];

			x->level[p] = add_take(x, row, 1, x->level[p],
			    x->gap[ADD_LEVELS] + add_at(x, 0, i) + p, stride);
			*path = add_take(
			    x, row, 1, *path, x->gap[ADD_PATHS] + add_at(x, 0, i) + p, stride);
		}
		r->mean[i] = add_take(x, row, share, r->mean[i], x->mean_gap + i, x->h);
		memcpy(x->after, x->level, x->paths * sizeof(double));
		fc_sort(x->after, x->paths);
		fc_tree_move(r->q + i * FC_LEVEL_COUNT, x->before, x->after, x->paths);
		add_to_sums(x, leaf, r, i);
	}
}

static void
add_up(struct fc_adder *x, size_t k, struct fc_result *r)
{
	for (size_t i = 0; i < x->h; i++) {
		double own[FC_LEVEL_COUNT], *q = r->q + i * FC_LEVEL_COUNT,
					    mean = x->mean_sum[k * x->h + i];

		memcpy(own, q, sizeof(own));
		add_levels(x, r, i);
		memcpy(x->before, x->level, x->paths * sizeof(double));
		fc_sort(x->before, x->paths);
		memcpy(x->after, x->sum[ADD_LEVELS] + add_at(x, k, i), x->paths * sizeof(double));
		fc_sort(x->after, x->paths);
		fc_tree_move(q, x->before, x->after, x->paths);
		for (size_t p = 0; p < x->paths; p++)
			r->paths[p * x->h + i] = x->sum[ADD_PATHS][add_at(x, k, i) + p];
		add_widen(q, own, mean - r->mean[i]);
		r->mean[i] = mean;
	}
}

void
fc_adder_node(struct fc_adder *x, size_t node, struct fc_result *r)
{
	struct arena *tmp;

	if (x->w.how == FC_RECONCILE_NONE)
		return;
	if (fc_adder_looks(x->w.how) && !x->ready)
		fc_tree_gives(&x->w, x->a, x->give);
	x->ready = true;
	if (node < x->w.t->n_leaves)
		add_leaf(x, node, r);
	else
		add_up(x, node - x->w.t->n_leaves, r);
	tmp = arena_new();
	fc_result_windows(r, tmp);
	arena_free(tmp);
}

static void
add_events_up(struct fc_adder *x, size_t k, struct fc_result *r)
{
	struct arena *tmp = arena_new();

	for (size_t i = 0; i < x->h; i++) {
		const double *events = x->events + add_at(x, k, i);

		for (size_t p = 0; p < x->paths; p++) {
			x->before[p] = r->paths[p * x->h + i];
			x->after[p] = r->paths[p * x->h + i] = events[p];
		}
		r->mean[i] = x->mean_events[k * x->h + i];
		fc_sort(x->before, x->paths);
		fc_sort(x->after, x->paths);
		fc_tree_move(r->q + i * FC_LEVEL_COUNT, x->before, x->after, x->paths);
	}
	fc_result_windows(r, tmp);
	arena_free(tmp);
}

void
fc_adder_events(struct fc_adder *x, size_t node, struct fc_result *r)
{
	size_t n_leaves = x->w.t->n_leaves;

	if (node >= n_leaves) {
		add_events_up(x, node - n_leaves, r);
		return;
	}
	for (size_t k = 0; k < x->w.t->n_sums; k++) {
		if (!fc_tree_has(add_sum(x, k), node))
			continue;
		for (size_t i = 0; i < x->h; i++) {
			double *events = x->events + add_at(x, k, i);

			for (size_t p = 0; p < x->paths; p++)
				events[p] += r->paths[p * x->h + i];
			x->mean_events[k * x->h + i] += r->mean[i];
		}
	}
}

void
fc_tree_reconcile(const struct fc_tree *t, enum fc_reconcile how, struct fc_result *results)
{
	struct fc_adder *x = fc_adder_new(t, how, results[0].horizon, results[0].n_paths, false);
	size_t n = t->n_leaves + t->n_sums;

	for (size_t k = 0; k < n && fc_adder_looks(how); k++) {
		size_t node = k < t->n_sums ? t->n_leaves + k : k - t->n_sums;

		fc_adder_look(x, node, &results[node]);
	}
	for (size_t s = 0; s < n; s++)
		fc_adder_node(x, s, &results[s]);
	fc_adder_free(x);
}

void
fc_tree_sum(const struct fc_tree *t, struct fc_result *results)
{
	struct fc_adder *x =
	    fc_adder_new(t, FC_RECONCILE_NONE, results[0].horizon, results[0].n_paths, true);

	for (size_t s = 0; s < t->n_leaves + t->n_sums; s++)
		fc_adder_events(x, s, &results[s]);
	fc_adder_free(x);
}
