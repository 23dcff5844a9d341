/* src/plan/commit_impl.h - what the files of commit share.  Floor: domain; for src/plan/commit*.c alone. */
#ifndef BERTH_PLAN_COMMIT_IMPL_H
#define BERTH_PLAN_COMMIT_IMPL_H

#include "plan/commit.h"

/* Highest peak of the paths that are not absurd; demand above it is cut to it. d is valid. */
double commit_cap(const struct commit_demand *d, struct arena *a, size_t *cut_out);
/* As commit_curve_build() for demand times scale. */
BERTH_MUST_CHECK enum berth_code commit_curve_scaled(const struct commit_demand *d, double scale, struct arena *a,
    struct commit_curve *curve_out, size_t *cut_out, struct berth_err *err);
/* Peaks of the paths, cut; [n_paths]. d is valid. */
double *commit_peaks(const struct commit_demand *d, struct arena *a);
/* Quantiles q [n_q] of value [n_paths] by the paths' weights. */
void commit_quantiles(const struct commit_demand *d, const double *value, const double *q, size_t n_q, struct arena *a,
    double *out);

/* Lines in merit order, with what never changes while counts do. */
struct commit_stack {
	const struct commit_line *lines;
	size_t *order;		/* [n] lowest usage price at the bottom */
	size_t n;
	double *u;		/* [levels + 1] U(s) = E min(D, s) */
	size_t levels;
	double mean, unserved;
};

void commit_stack_init(const struct commit_problem *p, struct arena *a, struct commit_stack *st);
/* U at any s >= 0. */
double commit_stack_u(const struct commit_stack *st, double s);
/* GPUs of a line with that count of purchases: what is bought, owned, or can be had; INFINITY: no limit. */
double commit_stack_gpus(const struct commit_line *l, int64_t count);
/* USD an hour of these purchases [n lines, order of the problem]; *bound_out: of new fixed money (may be NULL). */
double commit_stack_cost(const struct commit_stack *st, const int64_t *count, double *bound_out);

#endif
