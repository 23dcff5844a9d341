/* src/plan/schedule_tree.h - nodes of the search for schedules under rules.  Floor: domain; for
 * schedule_r*.c and schedule_[st]*.c. */
#ifndef BERTH_PLAN_SCHEDULE_TREE_H
#define BERTH_PLAN_SCHEDULE_TREE_H

#include "plan/schedule_rules.h"

/* One bound that a node changes, beside those of the node that it came from: of a purchase, or from
 * n_offers on of a sum of them. */
struct rules_node {
	const struct rules_node *from;
	size_t what;
	double lo, hi, usd;
};

struct rules_stack {
	struct rules_node **v;
	size_t n;
};

/* Machines of one size of a member that run together. */
void rules_sums(struct rules *s);
/* The bounds of a node, into the program. False: they leave nothing. */
bool rules_bounds(struct rules *s, const struct rules_node *node);
/* The purchase or sum to branch on: where both ways raise the bound most; n_offers + n_sums: all
 * are whole. *at: its value; *up: the way that raises the bound less. */
size_t rules_broken(struct rules *s, double *at, bool *up);
/* Counts of a purchase or sum up to `at`, and those above. */
void rules_branch(struct rules *s, const struct rules_node *node, size_t what, double at,
    bool up_first, struct rules_stack *stack);
/* Where a branch ends, the node of the lowest bound is next: it holds the bound of all down. */
void rules_lowest(struct rules_stack *stack);

#endif
