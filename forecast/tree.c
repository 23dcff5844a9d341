/* forecast/tree.c - forecasts that add up.  Floor: domain. */
#include "forecast/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/fc.h"

enum { TREE_FULL_MAX = 400, TREE_ORIGINS_MIN = 8 };

enum berth_code
fc_tree_align(const struct fc_series *in, size_t n, struct arena *a, struct fc_series *out, struct berth_err *err)
{
	int64_t t0 = INT64_MAX, end = INT64_MIN, step = n > 0 ? in[0].step_s : 1;

	for (size_t i = 0; i < n; i++) {
		int64_t last = in[i].t0 + (int64_t)in[i].n * in[i].step_s;

		if (in[i].step_s != step)
			return err_set(err, BERTH_EINVAL, "series %s has steps of %lld s, series %s of %lld s: they can not be added up",
			    in[0].name, (long long)step, in[i].name, (long long)in[i].step_s);
		t0 = in[i].t0 < t0 ? in[i].t0 : t0;
		end = last > end ? last : end;
	}
	for (size_t i = 0; i < n; i++) {
		size_t m = (size_t)((end - t0) / step), off = (size_t)((in[i].t0 - t0) / step);
		double *mean, *peak;

		out[i] = in[i];
		if (in[i].n == m)
			continue;
		mean = arena_array(a, m, sizeof(*mean));
		peak = in[i].peak != NULL ? arena_array(a, m, sizeof(*peak)) : NULL;
		for (size_t k = 0; k < m; k++) {
			bool has = k >= off && k - off < in[i].n;

			mean[k] = has ? in[i].mean[k - off] : NAN;
			if (peak != NULL)
				peak[k] = has ? in[i].peak[k - off] : NAN;
		}
		out[i] = (struct fc_series){ in[i].name, t0, step, m, mean, peak };
	}
	return BERTH_OK;
}

/* Adds a leaf; steps before its first sample are none, gaps behind it make the sum unknown. */
static void
tree_add(const struct fc_series *leaf, double *mean, double *peak)
{
	size_t first = 0;

	while (first < leaf->n && isnan(leaf->mean[first]))
		first++;
	for (size_t i = first; i < leaf->n; i++) {
		double p = leaf->peak != NULL && !isnan(leaf->peak[i]) ? leaf->peak[i] : leaf->mean[i];

		mean[i] += leaf->mean[i];
		peak[i] += isnan(leaf->mean[i]) ? NAN : p;
	}
}

void
fc_tree_history(const struct fc_series *leaves, const struct fc_sum *sum, struct arena *a, struct fc_series *out)
{
	const struct fc_series *one = &leaves[sum->leaf[0]];
	double *mean = arena_array(a, one->n, sizeof(*mean)), *peak = arena_array(a, one->n, sizeof(*peak));
	size_t none = one->n;

	for (size_t k = 0; k < sum->n; k++) {
		const struct fc_series *s = &leaves[sum->leaf[k]];
		size_t first = 0;

		while (first < s->n && isnan(s->mean[first]))
			first++;
		none = first < none ? first : none;
		tree_add(s, mean, peak);
	}
	for (size_t i = 0; i < none; i++)
		mean[i] = peak[i] = NAN;
	*out = (struct fc_series){ sum->name, one->t0, one->step_s, one->n, mean, peak };
}

struct tree_work {
	const struct fc_tree *t;
	struct arena *a;
	struct fc_result *r;
	size_t n, h, paths;
	enum fc_reconcile how;
	double *give[FC_BUCKETS];	/* [n_leaves][n_sums] how much of a sum's gap each leaf takes, in this part of the horizon */
};

static bool
tree_has(const struct fc_sum *s, size_t leaf)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->leaf[mid] == leaf)
			return true;
		if (s->leaf[mid] < leaf)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

/* Entry of the constraints: sum k minus its leaves is 0. */
static double
tree_constraint(const struct fc_tree *t, size_t k, size_t node)
{
	if (node >= t->n_leaves)
		return node == t->n_leaves + k ? 1 : 0;
	return tree_has(&t->sums[k], node) ? -1 : 0;
}

/* Errors at origins that every node has, by origin: e [m][n]; returns m. */
static size_t
tree_errors(const struct tree_work *w, size_t bucket, double *e)
{
	const struct fc_result *first = &w->r[0];
	size_t m = 0;

	for (size_t o = 0; o < first->n_origins; o++) {
		bool all = true;

		for (size_t i = 0; i < w->n && all; i++) {
			const struct fc_result *r = &w->r[i];
			size_t k = 0;

			while (k < r->n_origins && r->origins[k] != first->origins[o])
				k++;
			all = k < r->n_origins && !isnan(r->errors[k * FC_BUCKETS + bucket]);
			if (all)
				e[m * w->n + i] = r->errors[k * FC_BUCKETS + bucket];
		}
		m += all ? 1 : 0;
	}
	return m;
}

/* Share of the off-diagonal covariance that is not to be trusted (Schafer & Strimmer, 2005, table 1, target D). */
static double
tree_shrink(const double *e, size_t m, size_t n, const double *sd)
{
	double var = 0, sq = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++) {
			double mean = 0, v = 0;

			if (!(sd[i] > 0 && sd[k] > 0))
				continue;
			for (size_t o = 0; o < m; o++)
				mean += e[o * n + i] / sd[i] * e[o * n + k] / sd[k] / (double)m;
			for (size_t o = 0; o < m; o++) {
				double d = e[o * n + i] / sd[i] * e[o * n + k] / sd[k] - mean;

				v += d * d;
			}
			var += v * (double)m / ((double)(m - 1) * (double)(m - 1) * (double)(m - 1));
			sq += mean * mean;
		}
	return sq > 0 ? fmin(1, fmax(0, var / sq)) : 1;
}

/* Covariance [n][n] of the nodes' errors, shrunk; without enough origins the size of each node stands for its variance. */
static void
tree_covariance(const struct tree_work *w, size_t bucket, double *cov)
{
	size_t n = w->n, most = w->r[0].n_origins, m;
	double *e = arena_array(w->a, (most + 1) * n, sizeof(*e)), *sd = arena_array(w->a, n, sizeof(*sd)), keep, least = 0;

	m = tree_errors(w, bucket, e);
	memset(cov, 0, n * n * sizeof(*cov));
	for (size_t i = 0; i < n; i++) {
		double s = 0;

		for (size_t o = 0; o < m; o++)
			s += e[o * n + i] * e[o * n + i] / (double)m;
		sd[i] = m >= TREE_ORIGINS_MIN ? sqrt(s) : sqrt(fc_mean(w->r[i].mean, w->h));
		least += sd[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		cov[i * n + i] = sd[i] * sd[i] + 1e-6 * least * least + 1e-300;
	if (m < TREE_ORIGINS_MIN || n > TREE_FULL_MAX)
		return;
	keep = 1 - tree_shrink(e, m, n, sd);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++) {
			double c = 0;

			for (size_t o = 0; o < m; o++)
				c += e[o * n + i] * e[o * n + k] / (double)m;
			cov[i * n + k] = cov[k * n + i] = keep * c;
		}
}

/* give = (W C' (C W C')^-1) of the leaves; C the constraints. All gaps to the leaves as they are if it can not be solved. */
static void
tree_give(struct tree_work *w, size_t bucket)
{
	const struct fc_tree *t = w->t;
	size_t n = w->n, k_n = t->n_sums;
	double *cov = arena_array(w->a, n * n, sizeof(*cov)), *wc = arena_array(w->a, n * k_n, sizeof(*wc));
	double *m = arena_array(w->a, k_n * k_n, sizeof(*m)), *rhs = arena_array(w->a, k_n * n, sizeof(*rhs));
	double *c = arena_array(w->a, k_n * n, sizeof(*c));

	w->give[bucket] = arena_array(w->a, t->n_leaves * k_n, sizeof(double));
	if (w->how == FC_RECONCILE_MINT)
		tree_covariance(w, bucket, cov);
	for (size_t i = 0; i < n && w->how == FC_RECONCILE_STRUCTURAL; i++)
		cov[i * n + i] = i < t->n_leaves ? 1 : (double)t->sums[i - t->n_leaves].n;
	for (size_t k = 0; k < k_n; k++)
		for (size_t i = 0; i < n; i++)
			c[k * n + i] = tree_constraint(t, k, i);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < k_n; k++)
			for (size_t l = 0; l < n; l++)
				wc[i * k_n + k] += cov[i * n + l] * c[k * n + l];
	for (size_t k = 0; k < k_n; k++)
		for (size_t q = 0; q < k_n; q++)
			for (size_t i = 0; i < n; i++)
				m[k * k_n + q] += c[k * n + i] * wc[i * k_n + q];
	for (size_t k = 0; k < k_n; k++)
		m[k * k_n + k] *= 1 + 1e-9;	/* two sums of the same leaves */
	if (!fc_chol(m, k_n))
		return;
	for (size_t k = 0; k < k_n; k++)
		for (size_t i = 0; i < t->n_leaves; i++)
			rhs[k * t->n_leaves + i] = wc[i * k_n + k];
	fc_chol_solve(m, k_n, rhs, t->n_leaves);
	for (size_t i = 0; i < t->n_leaves; i++)
		for (size_t k = 0; k < k_n; k++)
			w->give[bucket][i * k_n + k] = rhs[k * t->n_leaves + i];
}

/* x [n] of all nodes becomes one that adds up; share of the way from bottom-up. gap [n_sums] is scratch. */
static void
tree_project(const struct tree_work *w, const double *give, double share, double *x, double *gap)
{
	const struct fc_tree *t = w->t;

	for (size_t k = 0; k < t->n_sums; k++) {
		gap[k] = x[t->n_leaves + k];
		for (size_t i = 0; i < t->sums[k].n; i++)
			gap[k] -= x[t->sums[k].leaf[i]];
	}
	for (size_t i = 0; i < t->n_leaves && give != NULL; i++) {
		for (size_t k = 0; k < t->n_sums; k++)
			x[i] -= share * give[i * t->n_sums + k] * gap[k];
		x[i] = x[i] > 0 ? x[i] : 0;
	}
	for (size_t k = 0; k < t->n_sums; k++) {
		x[t->n_leaves + k] = 0;
		for (size_t i = 0; i < t->sums[k].n; i++)
			x[t->n_leaves + k] += x[t->sums[k].leaf[i]];
	}
}

/* Quantiles move by what the sample's do, and stay in order. */
static void
tree_move(double *q, const double *before, const double *after, size_t n)
{
	for (size_t l = 0; l < FC_LEVEL_COUNT; l++) {
		q[l] += fc_quantile_sorted(after, n, fc_levels[l]) - fc_quantile_sorted(before, n, fc_levels[l]);
		q[l] = q[l] > 0 ? q[l] : 0;
		if (l > 0 && q[l] < q[l - 1])
			q[l] = q[l - 1];
	}
}

struct tree_room {
	double *x, *gap, *level;	/* level [n][paths]: the step's mean of each node on each path */
	double *before, *after, *own;	/* own [n_sums][levels]: quantiles as they were */
	struct fc_rank *rank;
};

/* The mean of step i on path k of each node is the quantile of the path's rank in the step; these add up as paths do. */
static void
tree_step_quantiles(struct tree_work *w, const double *give, size_t i, struct tree_room *m)
{
	size_t paths = w->paths;

	for (size_t s = 0; s < w->n; s++) {
		for (size_t k = 0; k < paths; k++)
			m->rank[k] = (struct fc_rank){ w->r[s].paths[k * w->h + i], k };
		fc_rank(m->rank, paths);
		for (size_t k = 0; k < paths; k++)
			m->level[s * paths + m->rank[k].k] = fc_level_quantile(w->r[s].q + i * FC_LEVEL_COUNT,
			    ((double)k + 2.0 / 3.0) / ((double)paths + 1.0 / 3.0));
	}
	for (size_t s = 0; s < w->n; s++) {	/* kept sorted aside: the projection writes over level */
		memcpy(m->before + s * paths, m->level + s * paths, paths * sizeof(double));
		fc_sort(m->before + s * paths, paths);
	}
	for (size_t k = 0; k < paths; k++) {
		for (size_t s = 0; s < w->n; s++)
			m->x[s] = m->level[s * paths + k];
		tree_project(w, give, 1, m->x, m->gap);
		for (size_t s = 0; s < w->n; s++)
			m->level[s * paths + k] = m->x[s];
	}
	for (size_t s = 0; s < w->n; s++) {
		memcpy(m->after, m->level + s * paths, paths * sizeof(double));
		fc_sort(m->after, paths);
		tree_move(w->r[s].q + i * FC_LEVEL_COUNT, m->before + s * paths, m->after, paths);
	}
}

/* Halfway between the quantiles of a sum's paths and its own, moved as its mean was. */
static void
tree_widen(double *q, const double *own, double moved)
{
	for (size_t l = 0; l < FC_LEVEL_COUNT; l++) {
		q[l] = .5 * (q[l] + fmax(0, own[l] + moved));
		if (l > 0 && q[l] < q[l - 1])
			q[l] = q[l - 1];
	}
}

static void
tree_step(struct tree_work *w, const double *give, size_t i, struct tree_room *m)
{
	for (size_t k = 0; k < w->t->n_sums; k++)
		memcpy(m->own + k * FC_LEVEL_COUNT, w->r[w->t->n_leaves + k].q + i * FC_LEVEL_COUNT, FC_LEVEL_COUNT * sizeof(double));
	tree_step_quantiles(w, give, i, m);
	for (size_t k = 0; k < w->paths; k++) {
		for (size_t s = 0; s < w->n; s++)
			m->x[s] = w->r[s].paths[k * w->h + i];
		tree_project(w, give, 1, m->x, m->gap);
		for (size_t s = 0; s < w->n; s++)
			w->r[s].paths[k * w->h + i] = m->x[s];
	}
	for (size_t s = 0; s < w->n; s++)
		m->x[s] = w->r[s].mean[i];
	tree_project(w, give, w->how == FC_RECONCILE_STRUCTURAL ? 0.5 : 1, m->x, m->gap);
	for (size_t s = 0; s < w->n; s++) {
		if (s >= w->t->n_leaves)
			tree_widen(w->r[s].q + i * FC_LEVEL_COUNT, m->own + (s - w->t->n_leaves) * FC_LEVEL_COUNT, m->x[s] -
			    w->r[s].mean[i]);
		w->r[s].mean[i] = m->x[s];
	}
}

void
fc_tree_reconcile(const struct fc_tree *t, enum fc_reconcile how, struct fc_result *results)
{
	struct tree_work w = { .t = t, .a = arena_new(), .r = results, .n = t->n_leaves + t->n_sums,
		.h = results[0].horizon, .paths = results[0].n_paths, .how = how };
	struct tree_room m = { arena_array(w.a, w.n, sizeof(double)), arena_array(w.a, t->n_sums, sizeof(double)),
		arena_array(w.a, w.n * w.paths, sizeof(double)), arena_array(w.a, w.n * w.paths, sizeof(double)),
		arena_array(w.a, w.paths, sizeof(double)), arena_array(w.a, t->n_sums * FC_LEVEL_COUNT, sizeof(double)),
		arena_array(w.a, w.paths, sizeof(*m.rank)) };

	for (size_t b = 0; b < FC_BUCKETS && (how == FC_RECONCILE_MINT || how == FC_RECONCILE_STRUCTURAL); b++)
		tree_give(&w, b);
	for (size_t i = 0; i < w.h && how != FC_RECONCILE_NONE; i++)
		tree_step(&w, w.give[fc_bucket(i)], i, &m);
	for (size_t s = 0; s < w.n && how != FC_RECONCILE_NONE; s++)
		fc_result_windows(&results[s], w.a);
	arena_free(w.a);
}

void
fc_tree_sum(const struct fc_tree *t, struct fc_result *results)
{
	struct arena *tmp = arena_new();
	size_t h = results[0].horizon, paths = results[0].n_paths;
	double *before = arena_array(tmp, paths, sizeof(*before)), *after = arena_array(tmp, paths, sizeof(*after));

	for (size_t k = 0; k < t->n_sums; k++) {
		struct fc_result *r = &results[t->n_leaves + k];

		for (size_t i = 0; i < h; i++) {
			r->mean[i] = 0;
			for (size_t l = 0; l < t->sums[k].n; l++)
				r->mean[i] += results[t->sums[k].leaf[l]].mean[i];
			for (size_t p = 0; p < paths; p++) {
				before[p] = r->paths[p * h + i];
				after[p] = 0;
				for (size_t l = 0; l < t->sums[k].n; l++)
					after[p] += results[t->sums[k].leaf[l]].paths[p * h + i];
				r->paths[p * h + i] = after[p];
			}
			fc_sort(before, paths);
			fc_sort(after, paths);
			tree_move(r->q + i * FC_LEVEL_COUNT, before, after, paths);
		}
		fc_result_windows(r, tmp);
	}
	arena_free(tmp);
}
