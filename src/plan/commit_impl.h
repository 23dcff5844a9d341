/* src/plan/commit_impl.h - what the files of commit share.  Floor: domain; for src/plan/commit*.c
 * alone. */
#ifndef BERTH_PLAN_COMMIT_IMPL_H
#define BERTH_PLAN_COMMIT_IMPL_H

#include "plan/commit.h"

#define COMMIT_QUOTAS_MAX 1024

/* Highest peak of the paths that are not absurd; demand above it is cut to it. d is valid. */
double commit_cap(const struct commit_demand *d, struct arena *a, size_t *cut_out);
/* As commit_curve_build() for demand times scale. */
BERTH_MUST_CHECK enum berth_code commit_curve_scaled(const struct commit_demand *d, double scale,
    struct arena *a, struct commit_curve *curve_out, size_t *cut_out, struct berth_err *err);
/* Peaks of the paths, cut; [n_paths]. d is valid. */
double *commit_peaks(const struct commit_demand *d, struct arena *a);
/* Quantiles q [n_q] of value [n_paths] by the paths' weights. */
void commit_quantiles(const struct commit_demand *d, const double *value, const double *q,
    size_t n_q, struct arena *a, double *out);

/* Lines in merit order, with what never changes while counts do. */
struct commit_stack {
	const struct commit_line *lines;
	size_t *order; /* [n] lowest usage price at the bottom */
	size_t n;
	double *u; /* [levels + 1] U(s) = E min(D, s) */
	size_t levels;
	double mean, unserved;
};

void commit_stack_init(const struct commit_problem *p, struct arena *a, struct commit_stack *st);
/* U at any s >= 0. */
double commit_stack_u(const struct commit_stack *st, double s);
/* GPUs of a line with that count of purchases: what is bought, owned, or can be had; INFINITY: no
 * limit. */
double commit_stack_gpus(const struct commit_line *l, int64_t count);
/* USD an hour of these purchases [n lines, order of the problem]; *bound_out: of new fixed money
 * (may be NULL). */
double commit_stack_cost(const struct commit_stack *st, const int64_t *count, double *bound_out);

/* Work space of one solve. State s: GPUs of the purchases in the lines so far; what is owned, on
 * spot or on demand among them only shifts the levels by skip[j]. */
struct commit_work {
	const struct commit_problem *p;
	const struct commit_shares *shares;
	struct commit_stack st;
	int64_t n;           /* highest s */
	int64_t floor;       /* least GPUs bought in all */
	double *best, *prev; /* [n + 1] */
	double *g;           /* [n + 1] */
	int64_t *queue;      /* [n + 1] */
	int32_t **taken; /* [lines] count chosen at each s; NULL for a line that is not bought */
	int64_t *count;  /* [lines], order of the problem */
	double *adjust;  /* [lines] added to the fixed price of a purchase, USD per GPU-hour; NULL:
			    nothing */
};

/* Lowest cost an hour with fixed prices times (1 + theta), of new purchases only; counts into
 * w->count. INFINITY: none. */
double commit_program(struct commit_work *w, double theta);

BERTH_MUST_CHECK enum berth_code commit_shares_check(
    const struct commit_shares *s, struct berth_err *err);
/* Do these counts keep every share? */
bool commit_shares_hold(const struct commit_work *w, const int64_t *count);
/*
 * The cheapest counts found that keep the shares and bind at most limit USD an hour (NaN: no
 * limit), into w->count. *lower_io: raised to the best Lagrangian bound, USD an hour.
 * BERTH_EINFEASIBLE: none was found.
 */
BERTH_MUST_CHECK enum berth_code commit_shares_price(
    struct commit_work *w, double limit, struct arena *a, double *lower_io, struct berth_err *err);

/*
 * From w->count, which keep shares, peak and budget, to the best there is in as little time as a
 * search takes; quotas are not looked at. *lower_io (USD an hour) is raised to what is proven,
 * *theta_io is the price of a budget that binds.
 */
void commit_joint_improve(struct commit_work *w, double *lower_io, double *theta_io);
/* Plan of the counts in w->count, of which those of spot and on demand are what the quotas leave.
 */
void commit_report(const struct commit_work *w, struct arena *a, struct commit_plan *plan);
/* What the quotas leave of spot and on demand in merit order, beside what is owned or bought;
 * [lines] into count. */
void commit_quota_caps(const struct commit_stack *st, const struct commit_shares *rules,
    const double *left, int64_t *count);
/* What of each quota is not owned or bought, [n_quotas]; false: one is passed. */
bool commit_quota_left(const struct commit_problem *p, const struct commit_shares *rules,
    const int64_t *count, double *left);
/*
 * Do the counts keep the quotas, does what is left serve as well as without them, and would one
 * more of a quota change nothing? Sets w->count as commit_quota_caps().
 */
bool commit_quota_free(struct commit_work *w, struct arena *a);
/* A best plan at some factor on reserved prices, USD over the horizon at a factor of 1: what it
 * binds, all that its reserved lines cost, and (at any factor) the rest. */
struct commit_side {
	double factor, bound, reserved, rest, gpus;
};
/*
 * Where to look next for the factor at which one plan turns into another: between the two, just
 * past or (once that is known) just short of where their costs cross or the budget parts them, so
 * that the two ends come within `near` (relative) in a few looks; at their geometric mean each
 * fourth look, counted by k from 0, and where there is no such place. budget: USD; NaN: none.
 */
double commit_change_next(const struct commit_side *same, const struct commit_side *other,
    double budget, double near, int k);

/* GPUs owned, bought, or to be had on demand. INFINITY: no limit. */
double commit_capacity(const struct commit_problem *p, const int64_t *count);

#endif
