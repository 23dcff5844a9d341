/* src/broker/placing.h - the queue against the offers of the store: used by `berth place` and by
 * the tick.  Floor: broker. */
#ifndef BERTH_BROKER_PLACING_H
#define BERTH_BROKER_PLACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/job.h"
#include "model/offer.h"
#include "plan/cost.h"
#include "plan/spot.h"
#include "plan/place.h"
#include "store/machine_rows.h"
#include "util/err.h"

struct accel_table;
struct arena;
struct buf;
struct store;

struct placing_limit {    /* one quota; globs, "" any */
	const char *name; /* for the explanation */
	const char *provider, *account, *region, *accelerator;
	const char *purchase;            /* "on_demand" ...; "" any */
	const char *unit;                /* "gpu" "machine" "vcpu" */
	int64_t limit;                   /* machines that run now are counted by the join */
	const char *const *accelerators; /* [n_accelerators] in place of the glob: names that it
					    stands for, each as offers have it */
	size_t n_accelerators;
	const struct placing_told *told; /* by a provider; NULL: by berth.yaml */
	bool override; /* of berth.yaml: in place of what providers tell of what it counts */
};

struct placing_told;
struct quota_reading;
struct share_policy;
struct shares;

struct placing_options {
	int64_t now;
	uint64_t seed;
	const struct placing_limit *limits; /* [n_limits] */
	size_t n_limits;
	int64_t quota_age_s;   /* what providers told of quotas no longer ago is a limit too; 0:
				  nothing is */
	struct cost_ages ages; /* of prices; 0, 0: the defaults */
	bool need_account;     /* only offers that an account of the config can create */
	unsigned rounds;
	struct spot_tables *tables; /* kept from run to run */
	bool finish; /* the last job done as early as can be, at the least cost for that */
	const char *const *block; /* [n_block] rules of block_rules_read() */
	size_t n_block;
	const struct share_policy *shares; /* NULL: among equals by the GPUs that users hold now */
	int64_t tick_s; /* between ticks: max_cost pays for what a machine waits for them; 0: not
			   known */
	bool others; /* other brokers work on the store too: of ids those are left out that are not
			queued any more, or that a create is out for */
	const char *const *behind; /* [n_behind] ids of jobs that wait for some of ids: where those
				      go is decided with them in view; they themselves take
				      nothing, and nothing is told of them */
	size_t n_behind;
	struct buf *inputs; /* becomes what placing_keep_inputs() keeps, of the same instant; the
			       caller frees it, after an error too; NULL: not asked for */
};

/* One candidate of a job, cheapest first at the shadow prices: the order of failover. */
struct placing_try {
	const struct offer *offer;
	struct cost_estimate cost;
	bool paid;          /* by an owned commitment */
	bool late;          /* for those behind it */
	double reserve_usd; /* to be kept of the budgets: on spot under a deadline what on demand
			       would cost, should it fail */
};

/* Something that would change where a job goes. */
struct placing_change {
	const char *what; /* "price" "limit" "deadline" "max_price" "memory" "gang", or the name of
			     the rule */
	const char *subject; /* the limit; "" */
	const char *offer;   /* label of where the job would go; "" */
	double from, to;     /* USD an hour, GiB, ...; of a limit to: how much more; NaN: none */
	int64_t at;          /* a deadline, the end of a hold; 0 */
	double usd;          /* what the job would cost then; NaN */
	const char *text;    /* the whole as one sentence without its point */
};

/* Who went first among jobs of one priority that draw on the same limits. */
struct placing_turn {
	size_t rank;    /* 0 goes first; with shares */
	double counted; /* with shares: GPU-hours of its owner at its turn; else GPUs that its user
			   would hold with it */
	double weight;
	bool urgent;              /* its deadline left no time to wait */
	const char **gave_way_to; /* [n_gave_way_to] jobs behind it in the queue that have a place,
				     where it has none; at most 25 */
	size_t n_gave_way_to;
	const char **went_before; /* [n_went_before] the other way round */
	size_t n_went_before;
};

/* The refused offer that would cost the job least of those that one rule alone keeps from it. */
struct placing_nearest {
	const char *offer; /* label; NULL: none */
	enum refuse_code rule;
	double usd;
	int64_t finish;
};

/* A quota by itself too small for what the job needs somewhere. */
struct placing_short_of {
	const struct placing_limit *limit; /* NULL: none is */
	int64_t have, need;                /* in its unit */
	bool later;                        /* the job starts later: have is all of it */
};

/* The offer that would cost the job least if its data lay where it runs, where moving them there
 * decided. */
struct placing_egress {
	const char *offer; /* label; NULL: moving data decided nothing */
	double usd;        /* there, with the moving */
	double saves_usd;  /* it would be cheaper by so much without any moving */
	double egress_usd; /* of usd, more than where the job goes */
};

struct placing_job {
	struct job job;
	struct placing_try *tries; /* [n_tries] chosen first, then the rest in order of failover, at
				      most 25; n 0: not placed */
	size_t n_tries;
	size_t taken;      /* the broker's: tries[taken - 1] was had; 0: none yet */
	const char *label; /* of the chosen offer; NULL: none */
	size_t seen;       /* candidates looked at */
	size_t refused[REFUSE_COUNT];
	size_t own_cap; /* of those over_budget: by its own max_cost, whatever the budgets leave */
	enum refuse_code rule;          /* of one that is not placed: that took the last offer */
	const char *waits_for;          /* the limit that keeps it out; "" */
	struct placing_nearest nearest; /* of one that is not placed */
	const char *reason;             /* in plain words (explain_place) */
	struct placing_egress egress;   /* of one that is placed */
	struct placing_short_of quota;  /* of what was refused for one: the least that is known */
	const char *binds;              /* name of the limit that binds, "" none */
	const char **kept_out_by;       /* [n_kept_out_by] of one that is not placed: the limits of
					   which each by itself refuses all that suits it */
	size_t n_kept_out_by;
	double shadow;    /* USD per unit of it; NaN: more of it places jobs, and saves no money */
	const char *unit; /* of it; "" */
	struct placing_change *changes; /* [n_changes] */
	size_t n_changes;
	int64_t price_as_of;      /* of the chosen offer; 0: not said */
	int64_t oldest_as_of;     /* of the offers that could be taken */
	struct spot_outlook spot; /* leave 0: the policy for spot under a deadline has no say */
	struct placing_turn turn;
	int64_t by;         /* by when it must end for the deadline of one that waits for it, before
			       its own; 0: it need not */
	const char *by_of;  /* id of that one; "" */
	const char *astray; /* that nobody knows where its data lie, with what may be meant; NULL */
	int64_t overdue;    /* the deadline that it can keep no more, begun as it is; 0 */
	bool at_risk;       /* on demand must run now to keep the deadline, and none can be had */
	bool kept;          /* it has no place now, and one is kept for it */
	bool binds_budget;  /* what binds is a budget */
};

/* A quota or a budget after the plan. */
struct placing_bind {
	const char *name, *unit;
	double left;
	double shadow; /* USD that one unit more would save; NaN: more of it would place jobs, and
			  save no money */
	double more;   /* the least that would save anything, or place jobs; 0: nothing would */
	double saves;  /* USD, so much more; NaN: it would place jobs */
	double dual;   /* the price of a unit in the search, in which a job left out has one too */
	size_t offers; /* that a quota counts; of a budget 0 */
};

struct placing {
	struct placing_job
	    *jobs; /* [n_jobs] in the order of the queue: priority, then submission */
	size_t n_jobs;
	double total_usd, bound_usd, solve_s;
	bool optimal;
	size_t n_offers, placed;
	int64_t by; /* for an early finish: when all that can be placed is done; else 0 */
	unsigned rounds;
	struct placing_bind *limits;          /* [n_limits] */
	size_t n_limits, n_quotas;            /* the quotas first */
	int64_t oldest_price, newest_price;   /* of all offers; 0: not said */
	const struct quota_reading *readings; /* [n_readings] when accounts told their quotas */
	size_t n_readings;
	int64_t now, quota_age_s;
	const char *vain;            /* the first rule of the block list that hits no offer; NULL */
	const struct shares *shares; /* NULL: none in berth.yaml */
	struct intent_turn turn; /* for store_intent_open_turn(): what others begin from here on */
};

/*
 * Places the queued jobs, or only ids [n_ids] of them, onto the store's current offers, with its
 * block list, capacity memory, last verdicts, owned commitments, machines that run (capacity and
 * quotas) and what the budgets have left, all as it is at one instant. Writes nothing. Errors:
 * BERTH_ENOTFOUND for an id that is not queued; whatever the store says.
 */
BERTH_MUST_CHECK enum berth_code placing_run(struct store *store, const struct accel_table *accels,
    const struct placing_options *o, const char *const *ids, size_t n_ids, struct arena *a,
    struct placing *out, struct berth_err *err);

/*
 * Of the queued jobs [n] those that wait, be it by others, for one of roots [n_roots] (ids, queued
 * or not), and for whose sake it matters where that goes: they, or some behind them, have a
 * deadline or (moves) data of theirs to be moved. Into out [n], which may be 0 of them; their
 * number.
 */
size_t placing_behind(const struct job *jobs, size_t n, const char *const *roots, size_t n_roots,
    bool moves, struct arena *a, size_t *out);

/* Those of the queued jobs [n] that are to be in view when ids [n_ids] are placed: into o->behind.
 */
void placing_view(const struct job *jobs, size_t n, const char *const *ids, size_t n_ids,
    struct arena *a, struct placing_options *o);
/* The same of jobs [n] that are named by id or name. BERTH_ENOTFOUND: there is none of it. */
BERTH_MUST_CHECK enum berth_code placing_view_named(struct store *store, const char *const *names,
    size_t n, struct arena *a, struct placing_options *o, struct berth_err *err);

/* A job that waits for another, as those before it are expected to end. */
struct placing_outlook {
	const struct job *job; /* is queued, and has a deadline */
	const char *before;    /* name of the one it waits for; "": it has ended, or nobody knows it
				*/
	int64_t starts, ends;  /* at the soonest; without late the ends is only one that keeps the
				  deadline; 0: no offer suits it */
	int64_t by;            /* with late: by when the other must end for the deadline */
	const char *offer;     /* with late: label of where it ends then; "" */
	bool late;             /* no end of it keeps the deadline */
	bool never;            /* one before it has failed or was cancelled */
};
/* Fills all but job. What offers refuse only now is no matter. Writes nothing. */
BERTH_MUST_CHECK enum berth_code placing_outlooks(struct store *store,
    const struct accel_table *accels, const struct placing_options *o, struct placing_outlook *v,
    size_t n, struct arena *a, struct berth_err *err);

/* Does a job that is not placed lack money, as far as the rules went: of a budget, or over its own
 * max_cost? */
bool placing_lacks_money(const struct placing_job *j);
/* The same, and a budget with more in it would do. */
bool placing_lacks_budget(const struct placing_job *j);

struct jsonw;
struct placing_move;
/* The decision to move, an object with all keys. */
void placing_json_move(struct jsonw *w, const struct placing_move *m);
/* The keys of one job in berth.placement/1, into an open object. first: the try that was taken. */
void placing_json_job(
    struct jsonw *w, const struct placing *p, const struct placing_job *j, size_t first);
void placing_json_change(struct jsonw *w, const struct placing_change *c);
/* Of the tries behind `first` the one that costs least, what is late for others last: an index;
 * SIZE_MAX: none. */
size_t placing_runner_up(const struct placing_job *j, size_t first);
/* None of its tries was had: it becomes a job without an offer, whose nearest was the first. */
void placing_not_taken(struct placing_job *j);
/* The keys of the plan as a whole but the jobs, into an open object. */
void placing_json_plan(struct jsonw *w, const struct placing *p);
/* The decision about a job, or with j NULL that about all limits. The caller frees out. */
BERTH_MUST_CHECK enum berth_code placing_text(const struct placing *p, const struct placing_job *j,
    size_t first, struct buf *out, struct berth_err *err);
/* Keeps it; that about all limits ("placement") is what the next plan starts from. id_out may be
 * NULL. */
BERTH_MUST_CHECK enum berth_code placing_keep(struct store *store, int64_t now,
    const struct placing *p, const struct placing_job *j, size_t first, int64_t *id_out,
    struct berth_err *err);

/* One machine in place of one that a gang has lost. */
struct placing_rank {
	const struct job *job;
	const struct offer *like;  /* of the others: same account, region, zone and type */
	int machines;              /* of the gang */
	struct placing_try *tries; /* [n_tries] cheapest first; costs are of the whole gang, for the
				      rest of the work */
	size_t n_tries;
	enum refuse_code rule; /* n_tries 0: that took the last of them; REFUSE_NOT: none is sold */
	struct intent_turn turn; /* for store_intent_open_rank() */
};
/*
 * Fills tries, rule and turn. The limits of the job hold as for a new one, but for its deadline;
 * budgets are left to the reservation. Errors are those of the store.
 */
BERTH_MUST_CHECK enum berth_code placing_rank(struct store *store, const struct accel_table *accels,
    const struct placing_options *o, struct placing_rank *r, struct arena *a,
    struct berth_err *err);

/* A running job and its machine: stay, or leave for what is safer or cheaper. */
struct placing_move {
	const struct job *job;
	const struct instance *in;
	bool move;
	enum purchase to; /* PURCHASE_ON_DEMAND or PURCHASE_SPOT */
	const char *why;  /* in plain words */
	const char
	    *target; /* the cheapest that it may go to, as the user knows it; "" none by now */
	double target_usd,
	    stay_usd; /* the rest of the work there, and where it is; NaN: not known */
	size_t seen, refused[REFUSE_COUNT]; /* of all offers, by the first rule; REFUSE_DEARER: of
					       that kind, but not the cheapest */
	const char *next;                   /* the next best of the same purchase; "" none */
	double next_usd;                    /* the rest of the work there; NaN */
	double bound_usd;  /* no machine of any offer does the rest for less; NaN: not known */
	const char *binds; /* "deadline", or a rule that keeps it from what costs less; "" */
	double binds_usd;  /* that would be saved without it; NaN */
	struct placing_change *changes; /* [n_changes] */
	size_t n_changes;
	int64_t oldest_as_of; /* of all that it could go to; 0: not said */
	int64_t price_as_of;  /* of the target */
	struct spot_outlook spot;
	double reserve_usd;  /* on spot: what is to be kept of the budgets, should it fail; NaN: as
				it is */
	int64_t by;          /* the deadline that is kept: its own, or that of one behind it */
	const char *by_of;   /* id of that one; "": its own */
	const char *by_text; /* "the deadline of train (j-2)" */
	bool runs;           /* the work has begun on it; else it is not moved for spot */
	int64_t started;     /* with runs, and by: when */
	double speed;        /* of its slowest machine, measured over promised; NaN: not measured */
	double from;         /* with by: progress at its start there */
	double told;         /* ... and now, as it tells; NaN: it tells none */
	bool fresh;          /* told has risen just now */
	bool late;           /* it is expected to end after `by` where it is */
	bool slow;           /* late, and so the reason of the move; speed is what it does there */
	int64_t ends;        /* with late: when */
};
/*
 * Fills move, to and why of each; jobs without a deadline, of their own or behind them, stay. What
 * is bound to one purchase, or has none of spot, moves only where the deadline is lost on its
 * machine and kept on another, start-up and restart counted; late without move: nothing keeps it.
 * Writes nothing.
 */
BERTH_MUST_CHECK enum berth_code placing_moves(struct store *store,
    const struct accel_table *accels, const struct placing_options *o, struct placing_move *moves,
    size_t n, struct arena *a, struct berth_err *err);

/* The job's work on one machine of this offer. */
struct placing_work {
	size_t variant; /* the one that fits; SIZE_MAX: none does */
	double
	    speed; /* of one accelerator over the job's reference one, by the table; NaN: unknown */
	double hours; /* whole work on this machine as the table rates it; NaN: unknown */
};
void placing_work(const struct accel_table *accels, const struct job_spec *spec,
    const struct offer *o, struct placing_work *out);

/* "PROVIDER/REGION" of the last machine of a job, where its output lies; "" if it had none. */
BERTH_MUST_CHECK enum berth_code placing_after_where(
    struct store *store, const char *job, struct arena *a, const char **out, struct berth_err *err);

#endif
