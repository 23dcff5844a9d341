/* src/plan/cost.h - what a job costs on an offer, when it ends there, or why it cannot go there.
 * Floor: domain. */
#ifndef BERTH_PLAN_COST_H
#define BERTH_PLAN_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/accel.h"
#include "model/job.h"
#include "model/offer.h"
#include "util/err.h"

/* Why an offer is not taken; the first rule that says no, in this order. Names are keys of the JSON
 * output. */
enum refuse_code {
	REFUSE_NOT,         /* it may be taken */
	REFUSE_ACCELERATOR, /* another accelerator than any variant asks for */
	REFUSE_GANG, /* fewer accelerators on the machine than the gang needs, or machines of a gang
			not to be had together */
	REFUSE_MEMORY, /* memory per accelerator: less than the variant needs, or more than it
			  allows */
	REFUSE_FABRIC, /* accelerators of the machine exchange less than the gang needs, or nobody
			  knows how much */
	REFUSE_RESIDENCY,     /* region not among the job's */
	REFUSE_LATENCY,       /* round trip too long, or nobody knows how long */
	REFUSE_PROVIDER,      /* provider not among the job's */
	REFUSE_BLOCKED,       /* on the user's own block list, or on the job's */
	REFUSE_PURCHASE,      /* on_demand, spot or reserved not allowed by the job */
	REFUSE_NO_ACCOUNT,    /* a list price: no account can create it */
	REFUSE_PRICE_UNKNOWN, /* no price, or in a currency without a rate */
	REFUSE_PRICE_STALE,   /* older than the limit */
	REFUSE_MAX_PRICE,
	REFUSE_SPEED_UNKNOWN, /* the table has no rate for this accelerator and the job gives none
			       */
	REFUSE_CANNOT_RESUME, /* spot, and the job cannot resume and would more likely than not be
				 lost, or would never end */
	REFUSE_DEADLINE,
	REFUSE_OVER_BUDGET, /* max_cost of the job, or the budget's rest */
	REFUSE_PROBE_FAILED,
	REFUSE_UNAVAILABLE,   /* the provider says none is left */
	REFUSE_BLOCKED_UNTIL, /* no capacity or a failure a short time ago: on hold */
	REFUSE_NO_QUOTA,      /* its own need passes a quota */
	REFUSE_NO_CAPACITY,   /* other jobs took what was left */
	REFUSE_SPOT_LATE, /* spot, and a loss of the machine could break the deadline: on demand now
			   */
	REFUSE_SPOT_VAIN, /* spot that has not been up for as long as spot_stand() asks of it */
	REFUSE_WAIT_SPOT, /* on demand, while waiting for spot is cheaper and still safe */
	REFUSE_RESERVED,  /* it would make a job wait longer that goes before, and for which a place
			     is kept */
	REFUSE_LATER, /* it may be taken, but ends after the time by which all others can be done */
	REFUSE_DEARER, /* it may be taken, another costs less */
	REFUSE_COUNT
};

const char *refuse_name(enum refuse_code c); /* "max_price" */
const char *refuse_text(enum refuse_code c); /* "price over the job's max_price" */
bool refuse_parse(const char *s, enum refuse_code *c_out);

/* A job with its accelerators resolved once through the table. */
struct cost_job {
	const struct job *job;
	const struct accel *const *want; /* [n_variants] NULL: any */
	enum accel_precision precision;  /* whose rates scale work between accelerators */
};

/* What is known about one offer beside its price; unknown doubles are NaN. */
struct cost_facts {
	const struct accel *accel; /* row of the offer's accelerator; NULL: the table lacks it */
	double start_s;            /* from the call to a ready machine; NaN: 300 s */
	double hazard_per_hour;    /* spot: interruptions per running hour; NaN:
				      offer.interruption_rate, else COST_HAZARD_DEFAULT */
	double recover_s;      /* unbilled wait for another machine after an interruption; NaN: 0 */
	double won, lost;      /* launches here lately (capacity memory); 0, 0: none */
	int64_t blocked_until; /* 0: not */
	int64_t none_until;    /* the provider said that it has none: believed until then; 0: not */
	bool probe_failed;     /* on hold as a probe rejected the last machine */
	bool paid; /* an owned commitment covers it: marginal price is that of use, 0 for most */
	double paid_usage;         /* ... USD a machine-hour */
	double egress_usd_per_gib; /* data to and from the job's home; NaN: cost_egress_rate() */
};

/*
 * How old a price may be; one of unknown age is never too old. Spot prices move by the hour: one of
 * yesterday says nothing of what a machine costs, or whether there is one; list prices stand for
 * months.
 */
#define COST_SPOT_AGE_S INT64_C(86400)
#define COST_LIST_AGE_S INT64_C(31449600) /* 52 weeks */
#define COST_NONE_AGE_S                                                                            \
	INT64_C(3600) /* a provider's word that it has none: half of spot is back within the hour  \
		       */
struct cost_ages {
	int64_t list_s, spot_s, none_s;
}; /* 0: the default above */
bool cost_price_stale(const struct offer *o, const struct cost_ages *ages, int64_t now);

struct cost_limits {
	int64_t now;
	int64_t from;          /* the work can begin then, not sooner; up to now: at once */
	struct cost_ages ages; /* older prices are stale */
	double budget_usd;     /* what the budgets of this job have left; NaN: no limit */
	bool hour_capped; /* its machines may ask for no more than hour_usd an hour, together */
	double hour_usd;
	const char *const *block; /* [n_block] rules of block_rules_read() for all jobs */
	size_t n_block;
	int64_t tick_s;    /* between ticks, which start a job and see its end; 0: not known */
	bool need_account; /* offers without an account are list prices only */
	bool spot_leaves;  /* a job that can resume leaves spot for on demand in time: there its
			      deadline does not bind */
};

#define COST_START_S 300.0 /* machine ready after a create: 3..15 min on GPU clouds */
#define COST_HAZARD_DEFAULT                                                                        \
	0.1 /* per hour: spot with no figure at all (facts: 0.04 old .. 0.6 young) */

struct cost_estimate {
	enum refuse_code refuse; /* REFUSE_NOT: the rest is set */
	size_t variant;
	int machines;
	double run_hours;      /* without interruptions */
	double busy_hours;     /* the same with the writes of its checkpoints */
	double interval_hours; /* of work between two writes; 0: it writes none */
	double expected_hours; /* billed a machine, with start-up, writes, restarts and lost work */
	double compute_usd, egress_usd;
	double interruption_usd; /* part of compute_usd that interruptions cause */
	double total_usd;        /* compute + egress */
	double survival;         /* chance to end without any interruption */
	double idle_usd;         /* at most, while its machines wait for ticks */
	double risk;             /* 0 certain .. 1: for ties and the explanation */
	int64_t start, finish;   /* expected */
	int64_t latest_start; /* on-demand must run by then to keep the deadline; 0: no deadline */
};

/*
 * The most that an hour of the machine costs while the job runs, USD, which max_price is held
 * against: of one that a commitment pays the price of its use, and where the job outlasts that what
 * the machine asks then.
 */
double cost_hour(
    const struct offer *o, const struct cost_facts *f, int64_t from, const struct cost_estimate *e);

/* Does it cost more than the job's max_cost, less what it has cost already and until the tick that
 * sees its end, or than its budgets leave (USD; NaN: none counts it)? */
bool cost_over_budget(const struct job *j, double budget_usd, const struct cost_estimate *e);

/*
 * Work of the job: work_hours on variant 0's accelerator and least count, in accelerator-hours; a
 * variant's own work_hours or speed goes before the table (accel_speed_ratio at the job's
 * precision; of a group's products the fastest is the one that the work is told of). Run time =
 * what is left of it over measured speed and the accelerators used: those of the machine up to
 * count_max (linear), times nodes. Without interruptions the run is billed with its writes: one
 * after each whole interval but the last. The interval is the job's own, else
 * checkpoint_most_s(). On spot, with hazard h an hour for the gang, work cut into segments s
 * (the checkpoint interval, 0: the optimum of cost_checkpoint_s(); all of it if it cannot resume),
 * write time w and restart + start time R: expected billed time = segments * (1/h + R) * (e^(h (s +
 * w)) - 1) (Daly 2006, eq. 13), the last without w. Launches lost lately make it wait for a
 * machine: 300 s for each try beyond the first that it takes on average. Tries all variants and
 * keeps the cheapest; refuse is that of the last rule that any variant reached.
 */
void cost_of(const struct cost_job *j, const struct offer *o, const struct cost_facts *f,
    const struct cost_limits *lim, struct cost_estimate *out);

/*
 * The job's whole work on one such machine as the table rates it, for the variant that fits the
 * machine (accelerator, gang, memory) and ends first. *variant_out SIZE_MAX: none fits; *speed_out
 * of one accelerator over the job's reference one and *hours_out: NaN if unknown.
 */
void cost_fit(const struct cost_job *j, const struct offer *o, const struct accel *accel,
    size_t *variant_out, double *speed_out, double *hours_out);

/*
 * Checkpoint interval in s that wastes least: write_s to write one, hazard per hour. Exact optimum
 * (1 + W0(-exp(-lambda delta - 1))) / lambda, at least 1 s; INFINITY for hazard 0.
 */
double cost_checkpoint_s(double write_s, double hazard_per_hour);

/* Share of running time that ends as kept work, 0..1, with checkpoints each interval_s; 1 for
 * hazard 0. */
double cost_useful_share(
    double interval_s, double write_s, double restart_s, double hazard_per_hour);

/*
 * USD per GiB to move data between two places, each "provider/region" or only "region"; 0 within
 * one region, a list rate of the cloud that sends it else, COST_EGRESS_DEFAULT when neither is
 * known. *source_out: the row's source (may be NULL).
 */
double cost_egress_rate(const char *from, const char *to, const char **source_out);

/* USD to move the job's input (data_gib from data_region) to a machine of the offer, at that rate;
 * 0 for a job that names none. */
double cost_input_usd(const struct job_spec *s, const struct offer *o);

#define COST_EGRESS_DEFAULT 0.09

#endif
