/* src/plan/schedule.h - purchases at start dates over the horizon: what to buy when, and whether to
 * renew it.  Floor: domain. */
#ifndef BERTH_PLAN_SCHEDULE_H
#define BERTH_PLAN_SCHEDULE_H

#include "plan/commit.h"
#include "plan/terms.h"

struct schedule_owned {
	int64_t from, to;     /* steps; may lie beyond the horizon on both sides */
	double gpus;          /* 0: what others use, which only takes of quotas here */
	size_t group;         /* of the shares; 0 none */
	const double *weight; /* [n_quotas] what all of it takes; NULL: none counts it */
	double usage;         /* USD per GPU-hour of use; its fixed money is sunk */
};

/* Steps of a line that is owned and dealt: bought at no price for these or not at all; may lie
 * beyond the horizon on both sides. */
struct schedule_held {
	int64_t from, to; /* equal: the line is bought at dates */
};

struct schedule_problem {
	const struct commit_demand *demand;
	const struct commit_line *lines; /* [n_lines] owned ones are not looked at */
	size_t n_lines;
	const int64_t *term;                /* [n_lines] steps, >= 1, of reserved lines */
	const struct schedule_owned *owned; /* [n_owned] */
	size_t n_owned;
	int64_t every;                        /* steps between start dates, >= 1 */
	double unserved, peak, theta, budget; /* as in commit_problem */
	const struct commit_shares *rules;    /* hold at all times; NULL: none */
	double work; /* cells of tableaus that rules may take; 0: some seconds */
	const struct schedule_held *held; /* [n_lines]; NULL: none */
};

struct schedule_buy {
	size_t line;
	int64_t from,
	    to;        /* steps; `to` may lie beyond the horizon: only what is paid inside counts */
	int64_t count; /* machines */
	double usd;    /* of all of them, inside the horizon */
};

/* The problem that was solved, so that others can be asked for it: in GPUs. */
struct schedule_form {
	const struct terms_offer *offers; /* [n_offers] cost of one machine */
	const size_t *line;               /* [n_offers] */
	size_t n_offers;
	const struct terms_rest *rest; /* by GPUs reserved, all at the lowest price of use */
	const int64_t *border;         /* [rest->n + 1] steps */
	const double
	    *use; /* [rest->n][levels + 1] share of the time in which each further GPU is busy */
	size_t levels;
};

struct schedule {
	struct schedule_buy *buy; /* [n] by date, then line */
	size_t n;
	double cost_usd, bound_usd, lower_bound_usd, theta;
	bool optimal;
	const double *quota_price; /* [n_quotas] USD that one more of a quota saves; NULL: none was
				      looked at */
	struct schedule_form form;
};

/*
 * Start dates are every `every` steps, the ends of what is owned, and the ends of terms that began
 * with the horizon; between them everything is merged, exactly. What runs serves by rising price of
 * use. Machines of one size and one price of use are a flow (terms_solve_rest()) and the plan is
 * the best there is. Several, max_count (of the machines that run at once), quotas, shares and a
 * budget that binds are no flow: where the flow's plan breaks them or is not proven, tangents of
 * the hours' cost in each stretch, cuts and branch and bound go on from it, as in
 * commit_solve_joint(), and lower_bound_usd says how far they came. Where no quota counts spot or
 * on demand the hours' cost falls into one convex function for each price of use, of what runs at
 * it and below, and each has tangents of its own. Errors: as terms_solve_rest() and
 * commit_curve_build().
 */
BERTH_MUST_CHECK enum berth_code schedule_solve(const struct schedule_problem *p, struct arena *a,
    struct schedule *schedule_out, struct berth_err *err);

/*
 * Several schedules that draw on the same quotas (begun by prices of those in each hour: Everett
 * 1963, Larsson & Migdalas 1990; large ones are left at that), which hold for all of them together
 * in each hour of each path, and on one budget (NaN: none): one program. A problem's own budget and
 * theta are not looked at; all have the same steps, their paths go together. alone [n]: each by
 * itself, without a budget, whose bounds add up to one; part [n]: what keeps the quotas together,
 * to begin with (NULL: nothing). Neither is changed. Costs and bounds are split by member. out [n]
 * may not be alone or part. Errors: as schedule_solve(); BERTH_EFAIL where the program would be too
 * large.
 */
BERTH_MUST_CHECK enum berth_code schedule_solve_joint(const struct schedule_problem *p, size_t n,
    double budget, struct schedule *const *alone, struct schedule *const *part, struct arena *a,
    struct schedule **out, struct berth_err *err);

/* From a factor on, others are cheaper than the purchases of now. NaN: not in reach. */
struct schedule_turn {
	double factor, same;    /* same: nearer to 1, where nothing is cheaper yet */
	struct schedule **plan; /* [n] what is cheaper there; only what is bought */
};
struct schedule_change {
	struct schedule_turn dearer,
	    cheaper; /* reserved prices, up to four times and down to a quarter; to 1e-6 */
	struct schedule_turn more,
	    less; /* demand, up to twice and down to half; to half a percent */
};

/*
 * What would change schedules that were solved together, or one. Another is cheaper only if it is
 * so by more than the schedules of now may be off their bound; of hours that several share, on
 * means of those that are used alike, to a millionth of the cost. With a bounded work: where that
 * is over, a turn is told farther away than it may be, or not. budget: of all; NaN none. Errors: as
 * schedule_solve().
 */
BERTH_MUST_CHECK enum berth_code schedule_change(const struct schedule_problem *p, size_t n,
    double budget, struct schedule *const *now, struct arena *a, struct schedule_change *out,
    struct berth_err *err);

#endif
