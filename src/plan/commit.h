/* src/plan/commit.h - how many GPUs to bind, at which offer, and what serves the rest.  Floor:
 * domain. */
#ifndef BERTH_PLAN_COMMIT_H
#define BERTH_PLAN_COMMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

struct arena;

enum commit_kind {
	COMMIT_OWNED,    /* bought before: its fixed money is sunk, it is used first */
	COMMIT_RESERVED, /* can be bought now */
	COMMIT_SPOT,
	COMMIT_ON_DEMAND,
	COMMIT_KIND_COUNT
};

const char *commit_kind_name(enum commit_kind k); /* "owned" "reserved" "spot" "on_demand" */

#define COMMIT_NO_LIMIT INT64_MAX

/*
 * One way to serve a GPU-hour. fixed is paid each hour of the horizon whether used or not (an
 * upfront payment is spread over its term by the caller), usage for each hour of use: a two-part
 * tariff. A GPU whose level of the demand is busy a share u of the time costs fixed + usage * u an
 * hour, so each level takes the lowest such line.
 */
struct commit_line {
	enum commit_kind kind;
	size_t ref;          /* the caller's own number of it */
	double fixed, usage; /* USD per GPU-hour, finite, >= 0; fixed is 0 for spot and on-demand */
	int64_t gpus;        /* of one purchase (machine), >= 1 */
	int64_t min_count;   /* purchases that must be taken (owned: all of them) */
	int64_t max_count;   /* quota, capacity; COMMIT_NO_LIMIT */
	double speed; /* one purchase carries gpus * speed GPUs, at fixed and usage for each of
			 those; 0: 1 */
};

/* Of all GPUs that are owned or bought, those of a group (a provider) are at least and at most such
 * a share. */
struct commit_share {
	size_t group;    /* from 1 */
	double min, max; /* 0 <= min <= max <= 1 */
};
/* What lines take together at any time is limited: what is owned or bought by its number, the
 * others by what serves. */
struct commit_quota {
	double limit;         /* >= 0 */
	const double *weight; /* [lines of the problem] >= 0, of one GPU; 0: not counted */
};
struct commit_shares {
	const struct commit_share *share; /* [n], one a group */
	size_t n;
	const size_t *group;              /* [lines of the problem] 0: none */
	const struct commit_quota *quota; /* [n_quotas] */
	size_t n_quotas;
};

/* Sample paths of demand. One path with weight 1 is a plain history. */
struct commit_demand {
	const double *gpus; /* [n_paths][n_steps], each finite and >= 0 */
	size_t n_paths, n_steps;
	const double *weight; /* [n_paths] > 0; NULL: equal */
	double step_hours;    /* > 0 */
	bool uncut; /* no path is absurd, however high: that was seen to before what is known to
		       come was added */
};

/* The merged demand: use[l] is the share of time in which GPU number l + 1 is busy; falls with l.
 * Exact for any demand, since a purchase is a whole number of GPUs (Masse & Gibrat 1957;
 * load-duration curve of power planning). */
struct commit_curve {
	double *use;       /* [levels], 0..1, not rising */
	size_t levels;     /* = ceil(peak) */
	double mean, peak; /* GPUs */
	double hours;      /* length of the horizon */
};

struct commit_problem {
	const struct commit_curve *curve;
	const struct commit_line *lines; /* [n_lines], any order */
	size_t n_lines;
	double unserved; /* USD per GPU-hour of demand that nothing can serve, > every usage */
	double peak;     /* GPUs that owned + bought + on-demand must be able to carry; NaN: no such
			    demand */
	double budget;   /* USD that new purchases may bind over the horizon; NaN: no limit */
	double theta; /* >= 0: fixed prices of new purchases weigh 1 + theta, for a budget shared by
			 several problems */
};

/* What one line does in the plan. Levels are numbered from 1; a line with count 0 has from = to
 * + 1. */
struct commit_use {
	int64_t count; /* purchases; spot and on-demand: those used at the busiest hour */
	double gpus;
	int64_t cap; /* GPUs that it could serve, with what the quotas leave; COMMIT_NO_LIMIT */
	int64_t from,
	    to; /* levels it serves in the merit order (lowest usage price at the bottom) */
	double gpu_hours;   /* served */
	double bound_usd;   /* fixed money over the horizon; 0 for an owned one (sunk) */
	double cost_usd;    /* bound_usd + usage money */
	double utilisation; /* gpu_hours over what it could serve; NaN: count 0 */
	double use_first,
	    use_last;      /* share of time its lowest and highest level are busy; NaN: count 0 */
	double break_even; /* share of time from which a GPU of it beats what would serve it
			      instead; NaN: none */
};

struct commit_plan {
	struct commit_use *use; /* [n_lines], in the order of the problem */
	double cost_usd;        /* expected, over the horizon */
	double on_demand_usd;   /* no new purchase, no spot, owned ones kept, on demand at its
				   cheapest without limit */
	double lower_bound_usd; /* no plan of whole purchases is cheaper */
	double bound_usd;       /* of new purchases */
	double lower_theta_usd; /* with a theta of the problem: no plan's cost + theta * what it
				   binds is less */
	double
	    theta; /* price of the budget: USD saved per further USD bound; 0: it does not bind */
	double *hourly; /* [levels + 1] USD of use in an hour with so many GPUs of demand; NULL: by
			   merit order */
	double *quota_price; /* [n_quotas] USD that one more of a quota saves over the horizon;
				NULL: no quotas */
	double unserved_gpu_hours;
	double capacity_gpus; /* owned + bought + on-demand that can be had; INFINITY: no limit is
				 known */
	bool optimal;         /* cost_usd == lower_bound_usd up to rounding */
};

/* Outcomes of one plan over the sample paths, and its regret. */
struct commit_risk {
	double p10_usd, p50_usd, p90_usd;      /* of the cost over the paths */
	double regret_down_usd, regret_up_usd; /* cost of this plan minus that of the best plan, if
						  all demand is 20 % less, more */
	double down_usd, up_usd;               /* cost of this plan then */
	double down_on_demand_usd;             /* on-demand only then */
	double fall_usd, fall_regret_usd,
	    fall_on_demand_usd;    /* the same three at 10 % less: cost, regret, on-demand only */
	double covered;            /* share of paths (by weight) whose peak the capacity carries */
	double peak_p50, peak_p95; /* of the paths' peaks */
};

/*
 * Builds the curve. A path whose peak is absurd (over 50 times the 90 % quantile of the peaks, of 5
 * paths or more) is cut to the highest peak of the others, unless the demand is uncut: *cut_out
 * counts such paths (may be NULL). Errors: BERTH_EINVAL for an empty demand, a NaN, infinite or
 * negative value, or a peak over 2^20 GPUs.
 */
BERTH_MUST_CHECK enum berth_code commit_curve_build(const struct commit_demand *d, struct arena *a,
    struct commit_curve *curve_out, size_t *cut_out, struct berth_err *err);

/* Cuts absurd paths [n_paths][n_steps] where they lie, by the same rule; how many there were.
 * Values finite and >= 0. */
size_t commit_winsorise(double *gpus, size_t n_paths, size_t n_steps, struct arena *a);

/*
 * Raises sample paths [n_paths][n_steps] of demand, GPUs, that lie below all that was used. least
 * is the smallest of the means of history [n] (NaN: unknown) over its last week of `week` steps,
 * its last four and all of it, in each the highest fiftieth taken as high as the next; where the
 * paths' mean lies below it by more than a tenth (of its logarithm), half of what lies beyond is
 * made up for, by one factor, which is returned. 1: nothing is changed, as over less than a week,
 * or where half of a week is unknown or nothing was used.
 */
double commit_level(
    const double *history, size_t n, size_t week, double *gpus, size_t n_paths, size_t n_steps);

/* The same from a merged demand: value [n] GPUs with weight [n] > 0 (shares of time, any scale)
 * over hours. */
BERTH_MUST_CHECK enum berth_code commit_curve_merged(const double *value, const double *weight,
    size_t n, double hours, struct arena *a, struct commit_curve *curve_out, struct berth_err *err);

/*
 * Quantile q of the paths' peaks as an order statistic: the least GPUs that at least a share q of
 * the paths stays within. *enough_out: the paths are enough to claim it with 95 % confidence (1 -
 * q^n >= 0.95; 59 paths for 0.95).
 */
BERTH_MUST_CHECK enum berth_code commit_peak(const struct commit_demand *d, double q,
    struct arena *a, double *gpus_out, bool *enough_out, struct berth_err *err);

/*
 * The cheapest whole numbers of purchases. Exact without a budget: lines in merit order, S_j GPUs
 * in the lowest j of them, cost = sum (fixed_j - fixed_j+1) S_j + (usage_j - usage_j+1) U(S_j) with
 * U(S) = E min(D, S), minimised by dynamic programming over S with S_j - S_j-1 a multiple of gpus_j
 * between its limits: O(lines * levels). Purchases that carry no whole number of GPUs are searched
 * as commit_solve_joint() does. A budget is priced (Everett 1963): fixed * (1 + theta), bisection
 * on theta, then single purchases fill what is left; lower_bound_usd is then the Lagrangian bound.
 * Ties: fewer purchases, then the earlier line. Errors: BERTH_EINVAL for a bad price or limit;
 * BERTH_EINFEASIBLE when the limits cannot carry peak, or the purchases that must be taken pass the
 * budget (the message names which).
 */
BERTH_MUST_CHECK enum berth_code commit_solve(const struct commit_problem *p, struct arena *a,
    struct commit_plan *plan_out, struct berth_err *err);

/*
 * The same with shares: they are priced (with the budget, by subgradient steps), then single
 * purchases, and pairs that change places, mend and improve the plan; lower_bound_usd is the
 * Lagrangian bound. shares may be NULL.
 */
BERTH_MUST_CHECK enum berth_code commit_solve_shares(const struct commit_problem *p,
    const struct commit_shares *shares, struct arena *a, struct commit_plan *plan_out,
    struct berth_err *err);

/* One of several problems whose lines draw on the same quotas and budget. */
struct commit_member {
	const struct commit_problem *problem; /* its budget and theta are not looked at */
	const struct commit_shares *rules;    /* n_quotas and limits are the same for all members */
	const struct commit_demand *demand;   /* paths of all members go together, step by step; not
						 looked at for one member */
	struct commit_plan *plan;             /* out */
};

/*
 * All members at once, quotas held over all of them in each hour of each path. A two-stage program:
 * counts first, then in each hour the cheapest use of what is there, a linear program whose value
 * is convex in the counts. Its tangents (Benders 1962, Van Slyke & Wets 1969) make the master
 * program, branch and bound its counts whole. Exact to 5e-10 unless a limit of nodes is met;
 * lower_bound_usd says so. budget: NaN none. Errors: as commit_solve_shares(); BERTH_EINFEASIBLE:
 * no counts keep quotas, peaks, shares and budget.
 */
BERTH_MUST_CHECK enum berth_code commit_solve_joint(
    const struct commit_member *m, size_t n, double budget, struct arena *a, struct berth_err *err);

/*
 * GPUs that all quotas together, and the limits of the lines, let be owned, bought and had on
 * demand at most (never spot), parts of machines counted: where that is under a peak, no purchases
 * carry it. binds [n_quotas]: has the quota no room for one machine more then. COMMIT_MOST_GPUS or
 * more: no limit is known; NaN: not found.
 */
#define COMMIT_MOST_GPUS 1e9
double commit_most(const struct commit_problem *p, const struct commit_shares *rules,
    struct arena *a, bool *binds);

/*
 * One more purchase of a reserved line beside a plan: USD an hour that it costs whether it is used
 * or not, and *saves_out what all use costs less then, in merit order within what each line could
 * serve.
 */
double commit_one_more(const struct commit_problem *p, const struct commit_plan *plan, size_t line,
    struct arena *a, double *saves_out);

/* GPUs that one purchase of a line carries. */
double commit_line_gpus(const struct commit_line *l);

/* Cost, coverage and regret of a plan over the paths; same units as the plan. rules: of the best
 * plans; may be NULL. */
BERTH_MUST_CHECK enum berth_code commit_assess(const struct commit_problem *p,
    const struct commit_shares *rules, const struct commit_plan *plan,
    const struct commit_demand *d, struct arena *a, struct commit_risk *risk_out,
    struct berth_err *err);

/* Where a plan turns: reserved prices (in both parts), or all demand, times factor bring another
 * number of bought GPUs. NaN: not in reach. */
struct commit_turn {
	double factor, gpus;
};
struct commit_change {
	struct commit_turn dearer,
	    cheaper; /* reserved prices, up to four times and down to a quarter; to 1e-9, or 1e-4
			where a solve is a search (budget, shares, quotas, parts of GPUs) */
	struct commit_turn more, less; /* demand, up to twice and down to half; to 1e-4 */
};

/*
 * What would change the number of GPUs that are bought, by solving again. spot: GPUs that all spot
 * lines together may carry before they are rounded down, which grow and fall with demand; NaN: they
 * do not. Errors: as commit_solve_shares().
 */
BERTH_MUST_CHECK enum berth_code commit_change(const struct commit_problem *p,
    const struct commit_shares *shares, const struct commit_plan *plan,
    const struct commit_demand *d, double spot, struct arena *a, struct commit_change *out,
    struct berth_err *err);

/*
 * The same of a joint plan, GPUs of all members together: on means of hours that the plan uses
 * alike, from the plan itself (m->plan as commit_solve_joint() left it), to a millionth of the cost
 * and 1e-4 of prices and demand; what spot may carry stays. With a bounded work: where that is
 * over, a turn is told farther away than it may be.
 */
BERTH_MUST_CHECK enum berth_code commit_change_joint(const struct commit_member *m, size_t n,
    double budget, struct commit_change *out, struct berth_err *err);

/* Only covered, peak_p50 and peak_p95 of the risk, for other paths than those that are paid (peaks
 * within the steps). */
void commit_cover(const struct commit_plan *plan, const struct commit_demand *d, struct arena *a,
    struct commit_risk *risk_out);

/*
 * USD for one useful GPU-hour asked of a spot market: obtain (share of time in which it can be had,
 * 0..1) at price / useful (useful: share of the paid time that ends as work kept, > 0..1), the rest
 * on demand.
 */
double commit_spot_usage(double price, double useful, double obtain, double on_demand);

/* BERTH_EINFEASIBLE: what must be bought binds more (USD) than the budget; the two read apart. */
enum berth_code commit_over_budget(double binds, double budget, struct berth_err *err);

#endif
