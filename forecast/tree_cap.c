/* forecast/tree_cap.c - sums that can not pass the size of a fleet, and still add up.  Floor:
 * domain. */
#include "forecast/tree.h"

#include <math.h>
#include <string.h>

#include "forecast/fc.h"

struct cap_work {
	const struct fc_tree *t;
	const double *caps; /* [n] NaN: none */
	struct fc_result *r;
	size_t n;
	bool adds;
	double *x, *part;       /* [n] values of all nodes; [n_leaves] what is left of each leaf */
	double *before, *after; /* [n_paths] */
	double *old;            /* [n_paths][n] values before */
};

static double
cap_least(double x, double cap)
{
	return x > cap ? cap : x; /* no cap is NaN: never passed */
}

static double
cap_add_up(const struct cap_work *w, const struct fc_sum *sum)
{
	double s = 0;

	for (size_t k = 0; k < sum->n; k++)
		s += w->x[sum->leaf[k]];
	return s;
}

/* x of all nodes keeps to the caps: each leaf gives by the sum that asks most of it, so that every
 * sum does. */
static void
cap_values(const struct cap_work *w)
{
	const struct fc_tree *t = w->t;

	for (size_t i = 0; i < w->n; i++)
		w->x[i] = cap_least(w->x[i], w->caps[i]);
	if (!w->adds)
		return;
	for (size_t i = 0; i < t->n_leaves; i++)
		w->part[i] = 1;
	for (size_t k = 0; k < t->n_sums; k++) {
		double s = cap_add_up(w, &t->sums[k]), part = w->caps[t->n_leaves + k] / s;

		if (!(s > w->caps[t->n_leaves + k]))
			continue;
		for (size_t l = 0; l < t->sums[k].n; l++)
			w->part[t->sums[k].leaf[l]] = fmin(w->part[t->sums[k].leaf[l]], part);
	}
	for (size_t i = 0; i < t->n_leaves; i++)
		w->x[i] *= w->part[i];
	for (size_t k = 0; k < t->n_sums; k++) /* rounding must not pass a cap either */
		w->x[t->n_leaves + k] =
		    cap_least(cap_add_up(w, &t->sums[k]), w->caps[t->n_leaves + k]);
}

/* The quantiles of a node move as those of its paths have. */
static void
cap_quantiles(const struct cap_work *w, size_t node, size_t i)
{
	struct fc_result *r = &w->r[node];
	double *q = r->q + i * FC_LEVEL_COUNT;
	bool same = true;

	for (size_t p = 0; p < r->n_paths; p++) {
		w->before[p] = w->old[p * w->n + node];
		w->after[p] = r->paths[p * r->horizon + i];
		same = same && w->before[p] == w->after[p];
	}
	if (!same) {
		fc_sort(w->before, r->n_paths);
		fc_sort(w->after, r->n_paths);
		fc_tree_move(q, w->before, w->after, r->n_paths);
	}
	for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
		q[l] = cap_least(q[l], w->caps[node]);
}

static void
cap_step(const struct cap_work *w, size_t i)
{
	size_t h = w->r[0].horizon, paths = w->r[0].n_paths;

	for (size_t p = 0; p < paths; p++) {
		for (size_t s = 0; s < w->n; s++)
			w->x[s] = w->old[p * w->n + s] = w->r[s].paths[p * h + i];
		cap_values(w);
		for (size_t s = 0; s < w->n; s++)
			w->r[s].paths[p * h + i] = w->x[s];
	}
	for (size_t s = 0; s < w->n; s++)
		w->x[s] = w->r[s].mean[i];
	cap_values(w);
	for (size_t s = 0; s < w->n; s++) {
		w->r[s].mean[i] = w->x[s];
		cap_quantiles(w, s, i);
	}
}

void
fc_tree_cap(const struct fc_tree *t, const double *caps, bool adds, struct fc_result *results)
{
	struct arena *tmp = arena_new();
	size_t n = t->n_leaves + t->n_sums, paths = results[0].n_paths;
	struct cap_work w = { t, caps, results, n, adds, arena_array(tmp, n, sizeof(double)),
		arena_array(tmp, n, sizeof(double)), arena_array(tmp, paths, sizeof(double)),
		arena_array(tmp, paths, sizeof(double)),
		arena_array(tmp, paths * n, sizeof(double)) };

	for (size_t i = 0; i < results[0].horizon; i++)
		cap_step(&w, i);
	for (size_t s = 0; s < n; s++)
		fc_result_windows(&results[s], tmp);
	arena_free(tmp);
}
