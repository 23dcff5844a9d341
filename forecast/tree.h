/* forecast/tree.h - series that add up: teams to a total, and in groups that may cross.  Floor:
 * domain.
 *
 * Every node is forecast on its own; then all are brought together so that at each step, on each
 * sample path and in the mean the leaves of a sum add up to it. Sample paths of all series follow
 * the same past instants, so that their sum has the dependence that the errors had.
 */
#ifndef BERTH_FORECAST_TREE_H
#define BERTH_FORECAST_TREE_H

#include "forecast/forecast.h"

/* A sum: leaf [n] positions among the leaves, ascending. */
struct fc_sum {
	const char *name;
	const size_t *leaf;
	size_t n;
};
struct fc_tree {
	size_t n_leaves, n_sums;
	const struct fc_sum *sums;
};

enum fc_reconcile {
	FC_RECONCILE_STRUCTURAL, /* each node errs with the variance of its number of leaves
				  * (Athanasopoulos et al., 2017); the mean is halfway between that
				  * and bottom-up */
	FC_RECONCILE_MINT,       /* minimum trace with shrinkage (Wickramasuriya, Athanasopoulos &
				    Hyndman, 2019) */
	FC_RECONCILE_UP,         /* bottom-up: sums are those of the leaves */
	FC_RECONCILE_NONE        /* each as it was forecast: they need not add up */
};

/*
 * Leaves [n] on one grid: out [n] from the first step of any to the last; steps that a leaf does
 * not have are missing. BERTH_EINVAL: steps of different length.
 */
BERTH_MUST_CHECK enum berth_code fc_tree_align(const struct fc_series *in, size_t n,
    struct arena *a, struct fc_series *out, struct berth_err *err);
/*
 * History of a sum of aligned leaves. A step is missing if a leaf lacks it between its first and
 * its last sample; before its first a leaf counts as nothing. The peak is the sum of the leaves'
 * peaks: as if they came at once.
 */
void fc_tree_history(const struct fc_series *leaves, const struct fc_sum *sum, struct arena *a,
    struct fc_series *out);
/*
 * results [n_leaves + n_sums]: leaves, then sums, of one run with opt.n_paths > 0 and, for MINT,
 * opt.errors; written in place. MINT: in each part of the horizon the covariance of the nodes'
 * errors at the rolling origins that all share, shrunk to its diagonal (Schafer & Strimmer, 2005);
 * the diagonal alone for more than 400 nodes. Nothing is negative: a leaf that would be is 0, and
 * sums are those of the leaves, at each step, on each path and in the mean. Quantiles of a sum's
 * steps are halfway between those of its paths and its own around the new mean: sums alone come out
 * too narrow.
 */
void fc_tree_reconcile(const struct fc_tree *t, enum fc_reconcile how, struct fc_result *results);
/* Sums again, after leaves were changed on their paths: quantiles move as those of the paths do. */
void fc_tree_sum(const struct fc_tree *t, struct fc_result *results);

/*
 * Caps [n_leaves + n_sums] of nodes, NaN none: results that add up come to keep to them at each
 * step, on each path and in the mean, and still add up. Where a sum would pass its cap, its leaves
 * give in proportion, each by the sum that asks most of it. adds false: results that need not add
 * up are cut, each by itself.
 */
void fc_tree_cap(const struct fc_tree *t, const double *caps, bool adds, struct fc_result *results);

/*
 * The same, result by result, where only what they add up to is kept: for structural and mint,
 * which must look() at all first, 32 bytes (else 16) for each sum, step and path, 8 more with
 * events. t is borrowed. Nodes count as in results above.
 */
struct fc_adder;
struct fc_adder *fc_adder_new(
    const struct fc_tree *t, enum fc_reconcile how, size_t horizon, size_t n_paths, bool events);
void fc_adder_free(struct fc_adder *x); /* NULL is fine */
bool fc_adder_looks(enum fc_reconcile how);
void fc_adder_look(
    struct fc_adder *x, size_t node, const struct fc_result *r); /* all sums, then all leaves */
void fc_adder_node(struct fc_adder *x, size_t node,
    struct fc_result *r); /* then all leaves, then all sums: r adds up */
/* With events: behind fc_adder_node(), for a leaf when it has its events; a sum gets those of its
 * leaves. */
void fc_adder_events(struct fc_adder *x, size_t node, struct fc_result *r);

#endif
