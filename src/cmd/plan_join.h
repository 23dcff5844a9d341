/* src/cmd/plan_join.h - history, forecast, offers and what is owned become one commitment problem a
 * series.  Floor: cmd. */
#ifndef BERTH_CMD_PLAN_JOIN_H
#define BERTH_CMD_PLAN_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/placing.h"
#include "cmd/unit.h"
#include "forecast/event.h"
#include "forecast/forecast.h"
#include "model/jobdefaults.h"
#include "model/accel.h"
#include "model/commitment.h"
#include "model/offer.h"
#include "model/series.h"
#include "plan/commit.h"
#include "plan/cost.h"
#include "plan/explain.h"
#include "plan/schedule.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/progress.h"
#include "util/vec.h"

struct arena;
struct cmd_ctx;
struct forecast_was;
struct jsonw;
struct forecast_set;
struct opt_list;
struct store;

/* A provider's least and greatest share of the GPUs that are owned or bought. */
struct plan_share {
	const char *provider;
	double min, max;
};

/* A budget that counts all, and what the jobs need of it. */
struct plan_money {
	const char *name;
	int64_t period_s; /* 0: all time; 3600: all amounts are USD an hour of machines */
	double cap, spent, reserved; /* USD, in the period that holds now */
	double queued;               /* what waiting jobs will need; NaN: more than is left */
};

#define PLAN_HORIZON_S (INT64_C(52) * 7 * 86400)
#define PLAN_IDLE_S (28 * 86400)
#define PLAN_WEEK_S (7 * 86400)

/* Offers that were left out for the age of their price alone, by id. */
struct plan_stale {
	VEC(int64_t) ids;
};

/* Offers that a series was held against, by id, and how many others there were, of accelerators
 * that no series can use: those of a replay, whatever time their lists are of. */
struct plan_read {
	VEC(int64_t) ids;
	int64_t others;
};

/* Steps that are done: purchases at one date, then for each series its schedule, what changes that,
 * and its reasons. */
struct plan_progress {
	struct progress bar;
	int64_t done;
};

struct plan_options {
	struct plan_progress *progress; /* NULL: it is not told */
	int64_t now, at; /* history ends before at; 0: the step after the last sample */
	int64_t horizon_s;
	double service_level;
	double budget_usd;        /* all series together; NaN: none */
	struct plan_money *money; /* [n_money] */
	size_t n_money;
	int64_t paths;
	uint64_t seed;
	int64_t max_term_months;
	struct cost_ages ages;    /* of prices */
	struct plan_stale *stale; /* to note which were too old; NULL: not */
	const struct plan_stale
	    *was_stale; /* of a replay: by rising id, whatever their date is now; NULL: by age */
	const struct offer_gap *gaps; /* [n_gaps] when providers had none of an offer, to now */
	size_t n_gaps;
	struct plan_stale *gone;           /* to note which were left out for that; NULL: not */
	const struct plan_stale *was_gone; /* of a replay, as was_stale */
	struct plan_read *read;            /* to note which were looked at; NULL: not */
	int64_t n_others;                  /* of a replay: offers that are not looked up again */
	const char *gpu;                   /* accelerator of every series; NULL: by label or name */
	const struct accel *const
	    *also; /* [n_also] others that can do the same work, at their speed */
	size_t n_also;
	enum accel_precision precision;                /* whose rates compare them */
	const char *const *providers, *const *regions; /* globs */
	size_t n_providers, n_regions;
	struct job_defaults rails; /* what berth.yaml allows to be bought at all */
	bool no_spot;
	bool brief;             /* no reasons in the table */
	bool need_account;      /* leave list prices out where an account's own offers serve the
				   accelerator */
	double spot_share;      /* of the median peak that spot may carry */
	int64_t on_demand_gpus; /* that can be had; below 0: not known */
	int64_t ladder,
	    ladder_every_s; /* purchases in so many steps, so far apart; 0: all at once */
	int64_t starts_s; /* time between start dates of later purchases; 0: all with the horizon */
	const struct forecast_was *then; /* of a replay; NULL: what there is now */
	bool no_forms; /* of a replay: what history ran on was not looked up then */
	const struct plan_share *shares; /* [n_shares] of what is owned or bought */
	size_t n_shares;
	const struct opt_list *series,
	    *by; /* names and patterns; one label whose sums are planned */
	bool total, requested, sparse, keep_spikes; /* as of `berth forecast` */
	const char *reconcile;
	const char *events; /* path of the option; NULL: that of berth.yaml */
	bool no_events;
	struct fc_options calendar;         /* its clock and days off */
	const char *roadmap;                /* path of what was used; NULL: none */
	const struct placing_limit *limits; /* quotas of berth.yaml */
	size_t n_limits;
	const char *const *block; /* [n_block] its block list, of a replay that of then */
	size_t n_block;
};

/* When a quota will be too small. */
struct plan_runway {
	const char *limit;
	int64_t gpus;            /* what it allows */
	double beside;           /* GPUs owned or bought that it does not count, at that time */
	double on_demand;        /* GPUs that may be had on demand, where it counts none such */
	int64_t reached, ask_by; /* P95 of demand passes it; two weeks before */
	size_t series;           /* that draw on it, whose demand is added up */
};

/* One step of a purchase in several. */
struct plan_rung {
	int64_t at;
	int64_t *count; /* [n_lines] machines to buy then */
};

/* The best plan without the purchase that costs most; where nothing is bought, with one of what
 * would pay first. */
struct plan_rival {
	const char *without; /* NULL: nothing is bought */
	const char *instead; /* what more is used then; NULL: nothing */
	double cost_usd;     /* expected; NaN: there is no such plan */
};

/* The plan with the GPUs that stand idle in use first: what need not be bought then. */
struct plan_reclaim {
	int64_t gpus;     /* whole ones that stood idle; 0: none, or nothing can be said */
	int64_t *fewer;   /* [n_lines] machines that are not bought; below 0: more of them, in place
			     of others */
	double saved_usd; /* expected */
};

/* Another card of the group that a series' accelerator is. */
struct plan_form {
	const struct accel *accel;
	double speed; /* GPUs of the fastest card that one of it counts as, by its rates */
};

struct plan_series {
	struct series series;
	size_t node;     /* its place in the forecasts */
	const char **of; /* [n_of] series that it is the sum of; 0: it is a series */
	size_t n_of;
	double queued;  /* GPUs that were waited for beside what ran, mean of four weeks */
	bool requested; /* ... and are in its demand */
	const struct accel *accel;
	const struct accel *counted_in; /* what its GPUs are (cmd/unit.h) */
	struct unit unit;
	VEC(struct plan_form) forms; /* on offer, of another speed than that */
	const struct offer **market; /* [n_market] offers that serve it, cheapest GPU-hour of its
					own accelerator first */
	size_t n_market;
	double *speed; /* [n_market] GPUs of counted_in that one GPU there stands for */
	const char *history_warning; /* what of it is kept coarser; NULL nothing */
	struct fc_series history;    /* as the roadmap's events have left it */
	struct fc_event_use *events; /* [n_events] of the roadmap */
	size_t n_events;
	struct fc_result forecast;
	struct commit_demand demand; /* paths on the level of the mean */
	struct commit_demand peaks;  /* paths on the level of the peak */
	double raised; /* ... by so much: they lay below all that was used; 1 or 0: not */
	struct commit_curve curve;
	size_t cut_paths;
	bool uncut; /* they were cut before events were added: what is named is not absurd */
	struct commit_line *lines;
	const struct offer **offers; /* [n_lines] */
	const char **names;          /* [n_lines] */
	double *
	    carries; /* [n_lines] GPUs of the series' own accelerator that one machine stands for */
	size_t n_lines;
	int64_t spot_gpus; /* that spot may carry, all offers together */
	bool no_on_demand; /* limits let none be had */
	struct commit_problem problem;
	struct commit_shares shares; /* of the problem, with the quotas; n 0: none */
	struct commit_shares alone;  /* the same with what other series leave of the quotas */
	bool met;                    /* planned together with others that draw on the same quotas */
	struct commit_plan plan;
	struct commit_risk risk;
	struct plan_rival rival;
	struct plan_reclaim reclaim;
	struct commit_change change;      /* what would change the number of GPUs that are bought */
	struct schedule_owned *owned;     /* [n_owned] of what is owned, as long as it holds */
	const char **owned_name;          /* [n_owned] */
	const struct offer **owned_offer; /* [n_owned] */
	int64_t *owned_count;             /* [n_owned] machines */
	size_t n_owned;
	int64_t
	    *owned_part; /* machines of each commitment that count here, not for another series */
	int64_t *owned_first; /* ... as they are dealt to begin with, which schedules begin with */
	const struct commitment *owned_all; /* [n_owned_all] of the plan */
	size_t n_owned_all;
	const double *fits;            /* [n_owned_all] GPUs of one machine here; 0: none */
	double deal_lower_usd;         /* none of the deals of what several can use costs all those
					  series less; NaN: that is not known, or there are none */
	size_t deal;                   /* number of those series' first */
	VEC(const char *) owned_notes; /* on what several can use */
	struct plan_series *open;  /* as its schedule was solved, with lines more for what several
				      can use; NULL: as it is */
	struct schedule *schedule; /* with o->starts_s; else NULL */
	int64_t schedule_steps, schedule_step_s; /* of its dates */
	const struct schedule_change
	    *turns;                   /* of the schedules planned together; NULL: not known */
	size_t turns_at;              /* its place among them */
	bool allotted;                /* ... which has a part of a quota that others draw on too */
	bool together;                /* ... which was planned with others, as one program */
	double peak;                  /* at the service level */
	bool peak_enough;             /* the paths are enough to claim it */
	int64_t price_oldest;         /* as_of of the oldest price used; 0: not said */
	size_t refused[REFUSE_COUNT]; /* offers left out */
	size_t refused_term;          /* ... for their term */
	bool list_prices;       /* no account sells this accelerator: list prices were taken */
	double idle_gpu_hours;  /* of this accelerator, of the last PLAN_IDLE_S: to be reclaimed
				   before any is bought */
	struct plan_rung *rung; /* [n_rungs]; none without --ladder */
	size_t n_rungs;
	double ladder_cost_usd; /* expected, as plan.cost_usd */
	bool ladder_raised;     /* a step is more than an equal share */
	struct plan_runway *runway;
	size_t n_runway;
	struct plan_runway *later; /* [n_later] of the schedule */
	size_t n_later;
	struct explain because;
	const char *next; /* what to do where there is no plan; NULL: not said */
};

/* The accelerator a series is about: o->gpu, its label "accelerator", else its name. NULL: nobody
 * knows it. */
const struct accel *plan_accel(const struct accel_table *accels, const struct series *s,
    const char *gpu, struct arena *a, const char **name_out);

/* Offers for one series (accel is set), cheapest first. BERTH_EINFEASIBLE: there are none. */
BERTH_MUST_CHECK enum berth_code plan_market(const struct accel_table *accels,
    const struct offer *offers, size_t n_offers, const struct plan_options *o, struct arena *a,
    struct plan_series *ps, struct berth_err *err);
/* Who sells what a plan may buy or has bought. */
struct plan_sellers {
	const struct offer *offers;
	size_t n_offers;
	const struct commitment *owned;
	size_t n_owned;
};

/* Names of --provider, --region and --share that nobody has: a warning each, with what may be
 * meant. */
void plan_names_check(
    struct cmd_ctx *ctx, const struct plan_options *o, const struct plan_sellers *s);
/* Measured speed over the rated one; 1 where it was never measured, or lies within what machines
 * alike differ by. */
double plan_measured(const struct offer *x);
/*
 * The series of the plan, picked and read as `berth forecast` does it, with their accelerators: one
 * each, or one for each sum of --by or --total, whose series are in f. A series that cannot be
 * planned is named in a warning and counts in f->n_left. BERTH_EINFEASIBLE: none is left, or one
 * that was named is not known to have an accelerator; BERTH_ENOTFOUND: no such series.
 */
BERTH_MUST_CHECK enum berth_code plan_demand_load(struct cmd_ctx *ctx,
    const struct accel_table *accels, const struct plan_options *o, struct forecast_set *f,
    struct plan_series **ps_out, size_t *n_out, struct berth_err *err);
/* Their forecasts with the roadmap, and what reconciles them. */
BERTH_MUST_CHECK enum berth_code plan_demand_forecast(struct cmd_ctx *ctx, struct plan_options *o,
    struct forecast_set *f, struct plan_series *ps, size_t n, struct berth_err *err);
/* At the end: what the demand is made of, and a line for each event. */
void plan_demand_explain(struct plan_series *ps, size_t n, struct arena *a);
void plan_events_explain(struct plan_series *ps, size_t n, struct arena *a);
/* What one series that is forecast will use: its curve and its peak. */
BERTH_MUST_CHECK enum berth_code plan_use(
    const struct plan_options *o, struct arena *a, struct plan_series *ps, struct berth_err *err);
/*
 * Deals what is owned [n_owned] among the series that it can serve, machine by machine, so that
 * each counts once over all of them: to ps->owned_part, to begin with. Behind plan_use() of all.
 */
void plan_owned_part(const struct commitment *c, size_t n_owned, const struct plan_options *o,
    const struct accel_table *accels, struct plan_series *ps, size_t n, struct arena *a);
/* Can both use this commitment; one at least? */
bool plan_owned_common(const struct plan_series *x, const struct plan_series *y, size_t commitment);
bool plan_owned_shared(const struct plan_series *x, const struct plan_series *y);
/* Says of what several series can use how many machines each has. */
void plan_owned_note(struct plan_series *ps, size_t n, struct arena *a);
/* Of line i, which is owned, what the plan leaves unused in the horizon: GPU-hours, and what is
 * paid for them by the hour and as their part of the upfront payment, USD; NaN: nobody said. */
double plan_owned_idle(const struct plan_series *ps, size_t i, double *usd_out);
void plan_owned_explain(struct plan_series *ps, struct arena *a);
/* Lines and the problem of one series, with its part of what is owned. */
void plan_build(const struct accel_table *accels, const struct commitment *owned, size_t n_owned,
    const struct plan_options *o, struct arena *a, struct plan_series *ps);

/* USD that an hour of the series' own accelerator costs there, used all the time. */
double plan_gpu_hour(const struct offer *o, double speed);
/* The name of offer i of the market, as reasons have it. */
const char *plan_market_name(const struct plan_series *ps, size_t i, struct arena *a);
/* The series as if a reserved offer that it may buy were not there: its lines, rules and problem
 * anew, the rest shared. */
void plan_without(const struct plan_series *ps, const struct offer *drop,
    const struct plan_options *o, struct arena *a, struct plan_series *out);
/* Finds ps->rival, with what other series leave of quotas and budget. Errors: as
 * commit_solve_shares(). */
BERTH_MUST_CHECK enum berth_code plan_rival(
    struct plan_series *ps, const struct plan_options *o, struct arena *a, struct berth_err *err);
/* ... and says it, with how many offers each rule left out; the same as keys of berth.plan/1. */
void plan_rival_explain(struct plan_series *ps, struct arena *a);
void plan_rival_json(struct jsonw *w, const struct plan_series *ps);

/* Finds ps->reclaim, with what other series leave of quotas and budget, and says it. Errors: as
 * commit_solve_shares(). */
BERTH_MUST_CHECK enum berth_code plan_reclaim(
    struct plan_series *ps, struct arena *a, struct berth_err *err);
void plan_reclaim_explain(struct plan_series *ps, struct arena *a);
void plan_reclaim_json(struct jsonw *w, const struct plan_series *ps);

/* Can this series be planned by itself, whatever a budget says? BERTH_EINFEASIBLE names what binds.
 */
BERTH_MUST_CHECK enum berth_code plan_feasible(
    struct plan_series *ps, const struct plan_options *o, struct arena *a, struct berth_err *err);

/* Quotas: berth.yaml's limits, and --on-demand-limit; in the rules behind them what spot may carry,
 * of each series that has several. */
size_t plan_quota_count(const struct plan_options *o);
/* Sets them on the rules of all series. */
void plan_quotas(struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a);
/* What machines that are owned take of a quota of berth.yaml. */
double plan_quota_owned(const struct plan_options *o, size_t q, const struct plan_series *ps,
    const struct offer *x, int64_t machines);
#define PLAN_ASK_AHEAD_S (14 * 86400)
const char *plan_quota_name(const struct plan_options *o, size_t q);
/* Its shadow price in the plan of a series, or of those that meet; USD a month. */
double plan_quota_price(const struct plan_series *ps, size_t q);
/* GPUs of a series that the whole of a quota lets be had at most; -1: it counts none. */
int64_t plan_quota_most(const struct plan_series *ps, const struct plan_options *o, size_t q);
/* The same with what the schedules have at each time beside what the quota counts; behind
 * plan_schedule(). */
void plan_schedule_runway(
    struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a);
/* Tell of r [n] in the reasons: "OFquota NAMEBESIDE is too small from ..." (beside NULL: what it
 * is); and as objects of an
 * array, with the name of a series or NULL. */
void plan_runway_say(struct plan_series *ps, const struct plan_runway *r, size_t n, const char *of,
    const char *beside, struct arena *a);
void plan_runway_json(struct jsonw *w, const char *series, const struct plan_runway *r, size_t n);
/* When each quota will be too small for all series that it counts together, beside what they own,
 * and have bought in the plan at one date, that it does not count; to those. */
void plan_quota_runway(
    struct plan_series *ps, size_t n, bool bought, const struct plan_options *o, struct arena *a);
/* Says, where a solver has said BERTH_EINFEASIBLE, which quotas are too small from when on, of one
 * series with the most that all limits together let it have; and ps->next. Returns rc. */
enum berth_code plan_quota_short(struct plan_series *ps, size_t n, const struct plan_options *o,
    enum berth_code rc, struct arena *a, struct berth_err *err);
/* Which of them leave demand that nothing serves. */
void plan_short_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a);
/*
 * After each series is solved by itself: those whose busiest hours together pass a quota are solved
 * at once, all of them if `all` (a budget binds). BERTH_EINFEASIBLE: the quotas cannot carry the
 * peaks.
 */
BERTH_MUST_CHECK enum berth_code plan_quota_solve(struct plan_series *ps, size_t n, bool all,
    const struct plan_options *o, struct arena *a, struct berth_err *err);
/* Rules of series i with its part of the quotas that others draw on, by what the plans take; its
 * own where nothing is shared. */
const struct commit_shares *plan_quota_allot(
    const struct plan_series *ps, size_t n, size_t i, struct arena *a);
/* Is there a quota that counts offers of both? */
bool plan_quota_shared(const struct plan_series *x, const struct plan_series *y);
void plan_quota_schedule_explain(
    struct plan_series *ps, const struct plan_options *o, struct arena *a);
void plan_quota_schedule_json(
    struct jsonw *w, const struct plan_series *ps, const struct plan_options *o);
void plan_quota_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a);
void plan_quota_json(
    struct jsonw *w, const struct plan_series *ps, size_t n, const struct plan_options *o);

/*
 * Spreads the purchases of solved series over o->ladder steps, each an equal share of every line,
 * rounded up, or as much more as keeps peak, shares and quotas in its hours; and what that costs.
 */
BERTH_MUST_CHECK enum berth_code plan_ladder(struct plan_series *ps, size_t n,
    const struct plan_options *o, struct arena *a, struct berth_err *err);
/* What to buy when, with start dates every o->starts_s, for all series under the one budget;
 * nothing without it. */
BERTH_MUST_CHECK enum berth_code plan_schedule(struct plan_series *ps, size_t n,
    const struct plan_options *o, struct arena *a, struct berth_err *err);
void plan_schedule_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a);
void plan_schedule_json(
    struct jsonw *w, const struct plan_series *ps, const struct plan_options *o);
/* What would change it. */
void plan_schedule_turns_say(struct plan_series *ps, struct arena *a);
void plan_schedule_turns_json(struct jsonw *w, const struct plan_series *ps);
/* The finest steps among the series: all schedules count by them. */
void plan_schedule_steps(struct plan_series *ps, size_t n);
/* The schedule's problem of one series. */
struct schedule_problem plan_schedule_problem(
    const struct plan_series *ps, const struct plan_options *o, struct arena *a);
/* Machines of a line that begin at a step; and its time. */
int64_t plan_schedule_beginning(const struct schedule *s, size_t line, int64_t step);
int64_t plan_schedule_time(const struct plan_series *ps, int64_t step);
/* A step of the series as one of its schedule. */
int64_t plan_schedule_step(const struct plan_series *ps, int64_t step);
/*
 * The integer program of the schedules, for any solver that reads CPLEX LP files: of series that
 * share nothing by the levels of each, else by hours and paths.
 */
BERTH_MUST_CHECK enum berth_code plan_schedule_lp(struct cmd_ctx *ctx, const struct plan_series *ps,
    size_t n, const struct plan_options *o, const char *path, struct berth_err *err);
/* The same of the plan at one date, over all series: by hours and paths, or by levels where there
 * is one series. */
BERTH_MUST_CHECK enum berth_code plan_lp(struct cmd_ctx *ctx, const struct plan_series *ps,
    size_t n, const struct plan_options *o, const char *path, struct berth_err *err);
#define PLAN_LP_BYTES ((size_t)256 << 20) /* of such a file */
/* Writes such a program to a file and frees b, also on failure. Errors: those of buf_check() and
 * cmd_write_file(). */
BERTH_MUST_CHECK enum berth_code plan_lp_save(
    struct cmd_ctx *ctx, struct buf *b, const char *path, struct berth_err *err);
/* The sample paths, a line for each step: demand that is paid, and its peak. */
BERTH_MUST_CHECK enum berth_code plan_paths_write(struct cmd_ctx *ctx, const struct plan_series *ps,
    size_t n, const char *path, struct berth_err *err);
/* How far a factor is from 1, in words. */
const char *plan_percent(double factor, struct arena *a);
/* Adds a reason. */
void plan_add(struct explain *e, struct arena *a, const char *s);
void plan_ladder_explain(struct plan_series *ps, struct arena *a);

/* The store's budgets of scope "all", with what running jobs have reserved and waiting ones need.
 */
BERTH_MUST_CHECK enum berth_code plan_money_read(struct cmd_ctx *ctx,
    const struct accel_table *accels, struct plan_options *o, struct berth_err *err);
/* Lowers o->budget_usd to what they leave, times their periods in the horizon. */
void plan_money_apply(struct plan_options *o);
void plan_money_explain(
    struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a);
void plan_money_json(struct jsonw *w, const struct plan_options *o);
struct jsonr;
void plan_money_again(
    const struct jsonr *inputs, struct arena *a, struct plan_money **money_out, size_t *n_out);

/* By rising id. */
void plan_stale_sort(struct plan_stale *s);
int plan_id_cmp(const void *a, const void *b);

/* Has its provider had none of it for as long as the plan looks ahead, at every reading (four weeks
 * at most)? */
bool plan_sold_out(const struct plan_options *o, const struct offer *x);
/* Says which offers of the plan can not be had at the moment, and how many are left out as they
 * never can. */
void plan_sold_out_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a);
/* Two-part tariffs: from which use on each is worth it, and what is left out. */
void plan_parts_explain(struct plan_series *ps, struct arena *a);

/* So many steps more are done. */
void plan_tick(const struct plan_options *o, size_t steps);
/* Solves all series together under the one budget, then assesses and explains each. */
BERTH_MUST_CHECK enum berth_code plan_solve_all(struct plan_series *ps, size_t n,
    const struct plan_options *o, struct arena *a, struct berth_err *err);

/* The plan as berth.plan/1 has it, behind its schema; id 0: not kept. */
void plan_json(struct jsonw *w, int64_t id, const struct plan_series *ps, size_t n,
    const struct plan_options *o);
/* The same for people. */
BERTH_MUST_CHECK enum berth_code plan_table(struct cmd_ctx *ctx, const struct plan_series *ps,
    size_t n, const struct plan_options *o, struct berth_err *err);

#endif
