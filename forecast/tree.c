/* forecast/tree.c - forecasts that add up.  Floor: domain. */
#include "forecast/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/fc.h"

enum { TREE_FULL_MAX = 400, TREE_ORIGINS_MIN = 8 };

enum berth_code
fc_tree_align(const struct fc_series *in, size_t n, struct arena *a, struct fc_series *out,
    struct berth_err *err)
{
	int64_t t0 = INT64_MAX, end = INT64_MIN, step = n > 0 ? in[0].step_s : 1;

	for (size_t i = 0; i < n; i++) {
		int64_t last = in[i].t0 + (int64_t)in[i].n * in[i].step_s;

		if (in[i].step_s != step)
			return err_set(err, BERTH_EINVAL,
			    "series %s has steps of %lld s, series %s of %lld s: they can not be "
			    "added up",
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
		double p =
		    leaf->peak != NULL && !isnan(leaf->peak[i]) ? leaf->peak[i] : leaf->mean[i];

		mean[i] += leaf->mean[i];
		peak[i] += isnan(leaf->mean[i]) ? NAN : p;
	}
}

void
fc_tree_history(const struct fc_series *leaves, const struct fc_sum *sum, struct arena *a,
    struct fc_series *out)
{
	const struct fc_series *one = &leaves[sum->leaf[0]];
	double *mean = arena_array(a, one->n, sizeof(*mean)),
	       *peak = arena_array(a, one->n, sizeof(*peak));
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

bool
fc_tree_has(const struct fc_sum *s, size_t leaf)
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
	return fc_tree_has(&t->sums[k], node) ? -1 : 0;
}

/* Errors at origins that every node has, by origin: e [m][n]; returns m. */
static size_t
tree_errors(const struct fc_tree_errors *w, size_t bucket, double *e)
{
	const struct fc_tree_node *first = &w->node[0];
	size_t m = 0;

	for (size_t o = 0; o < first->n_origins; o++) {
		bool all = true;

		for (size_t i = 0; i < w->n && all; i++) {
			const struct fc_tree_node *r = &w->node[i];
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

/* Share of the off-diagonal covariance that is not to be trusted (Schafer & Strimmer, 2005, table
 * 1, target D). */
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
			var +=
			    v * (double)m / ((double)(m - 1) * (double)(m - 1) * (double)(m - 1));
			sq += mean * mean;
		}
	return sq > 0 ? fmin(1, fmax(0, var / sq)) : 1;
}

/*
 * Covariance of the nodes' errors, shrunk: its diagonal [n], and all of it [n][n] where there are
 * enough origins and not too many nodes, else NULL. Without enough origins the size of each node
 * stands for its variance.
 */
static double *
tree_covariance(const struct fc_tree_errors *w, size_t bucket, struct arena *a, double *diagonal)
{
	size_t n = w->n, most = w->node[0].n_origins, m;
	double *e = arena_array(a, (most + 1) * n, sizeof(*e)),
	       *sd = arena_array(a, n, sizeof(*sd)), *cov, keep, least = 0;

	m = tree_errors(w, bucket, e);
	for (size_t i = 0; i < n; i++) {
		double s = 0;

		for (size_t o = 0; o < m; o++)
			s += e[o * n + i] * e[o * n + i] / (double)m;
		sd[i] = m >= TREE_ORIGINS_MIN ? sqrt(s) : sqrt(w->node[i].level);
		least += sd[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		diagonal[i] = sd[i] * sd[i] + 1e-6 * least * least + 1e-300;
	if (m < TREE_ORIGINS_MIN || n > TREE_FULL_MAX)
		return NULL;
	cov = arena_array(a, n * n, sizeof(*cov));
	keep = 1 - tree_shrink(e, m, n, sd);
	for (size_t i = 0; i < n; i++) {
		cov[i * n + i] = diagonal[i];
		for (size_t k = 0; k < i; k++) {
			double c = 0;

			for (size_t o = 0; o < m; o++)
				c += e[o * n + i] * e[o * n + k] / (double)m;
			cov[i * n + k] = cov[k * n + i] = keep * c;
		}
	}
	return cov;
}

/* W C' [n][n_sums], C [n_sums][n] the constraints. */
static void
tree_spread(
    const double *cov, const double *diagonal, const double *c, size_t n, size_t k_n, double *wc)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < k_n; k++) {
			if (cov == NULL)
				wc[i * k_n + k] = diagonal[i] * c[k * n + i];
			for (size_t l = 0; cov != NULL && l < n; l++)
				wc[i * k_n + k] += cov[i * n + l] * c[k * n + l];
		}
}

/* give = (W C' (C W C')^-1) of the leaves [n_leaves][n_sums]; 0 if it can not be solved: the leaves
 * stay as they are. */
static double *
tree_give(const struct fc_tree_errors *w, size_t bucket, struct arena *a)
{
	const struct fc_tree *t = w->t;
	struct arena *tmp = arena_new();
	size_t n = w->n, k_n = t->n_sums;
	double *diagonal = arena_array(tmp, n, sizeof(double)),
	       *wc = arena_array(tmp, n * k_n, sizeof(*wc)), *cov = NULL;
	double *m = arena_array(tmp, k_n * k_n, sizeof(*m)),
	       *rhs = arena_array(tmp, k_n * n, sizeof(*rhs));
	double *c = arena_array(tmp, k_n * n, sizeof(*c)), *give = NULL;

	if (w->how == FC_RECONCILE_MINT)
		cov = tree_covariance(w, bucket, tmp, diagonal);
	for (size_t i = 0; i < n && w->how == FC_RECONCILE_STRUCTURAL; i++)
		diagonal[i] = i < t->n_leaves ? 1 : (double)t->sums[i - t->n_leaves].n;
	for (size_t k = 0; k < k_n; k++)
		for (size_t i = 0; i < n; i++)
			c[k * n + i] = tree_constraint(t, k, i);
	tree_spread(cov, diagonal, c, n, k_n, wc);
	for (size_t k = 0; k < k_n; k++)
		for (size_t q = 0; q < k_n; q++)
			for (size_t i = 0; i < n; i++)
				m[k * k_n + q] += c[k * n + i] * wc[i * k_n + q];
	for (size_t k = 0; k < k_n; k++)
		m[k * k_n + k] *= 1 + 1e-9; /* two sums of the same leaves */
	give = arena_array(a, t->n_leaves * k_n, sizeof(*give));
	if (fc_chol(m, k_n)) {
		for (size_t k = 0; k < k_n; k++)
			for (size_t i = 0; i < t->n_leaves; i++)
				rhs[k * t->n_leaves + i] = wc[i * k_n + k];
		fc_chol_solve(m, k_n, rhs, t->n_leaves);
		for (size_t i = 0; i < t->n_leaves; i++)
			for (size_t k = 0; k < k_n; k++)
				give[i * k_n + k] = rhs[k * t->n_leaves + i];
	}
	arena_free(tmp);
	return give;
}

void
fc_tree_gives(const struct fc_tree_errors *w, struct arena *a, double **give)
{
	for (size_t b = 0; b < FC_BUCKETS; b++)
		give[b] = w->how == FC_RECONCILE_STRUCTURAL && b > 0 ? give[0] : tree_give(w, b, a);
}
