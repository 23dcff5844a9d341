/* src/plan/spot_job.h - one job with a deadline, in seconds and hours: wait, spot or on demand now.  Floor: domain. */
#ifndef BERTH_PLAN_SPOT_JOB_H
#define BERTH_PLAN_SPOT_JOB_H

#include "plan/spot.h"

/* What a pool of spot machines did so far, by age (15 min, 1 h, 4 h, 12 h, older): hours seen in the state, and its ends. */
struct spot_evidence {
	double hours[2][SPOT_AGES];	/* [0] down, [1] up */
	double ends[2][SPOT_AGES];
};

/* Adds one run of a state of this length; ended false: it goes on, or we ended it ourselves. Lengths <= 0 add nothing. */
void spot_evidence_add(struct spot_evidence *e, bool up, double hours, bool ended);

/*
 * Chance an hour that a state of this age ends: (ends + 2) / (hours + 2 / prior), then z standard errors worse (up ends
 * sooner, down later). The prior: 27 public availability traces of V100 and K80 spot machines, Wu et al., NSDI 2024
 * (spot-traces, 10,668 h up with 4,039 ends, 12,450 h down), by the same ages. rate: interruptions an hour that the
 * provider publishes, by which the prior of up is scaled (within 8 times); NaN: not known. zones: a pool comes back when
 * any of them does.
 */
double spot_evidence_hazard(const struct spot_evidence *e, bool up, size_t age, double rate, size_t zones, double z);

/* The bucket of an age in hours. */
size_t spot_age_of(double hours);

/* A job that may run on spot and on demand, and can resume. */
struct spot_job {
	double work_s;		/* left, on the spot machine that it would take */
	double left_s;		/* to the deadline */
	double changeover_s;	/* start of a machine and restore of the state */
	double price;		/* of spot over on demand, for the whole work */
	enum spot_mode mode;
	double changeover_left_s;	/* of the machine that it has */
	bool is_up;		/* spot can be had, as far as is known */
	double age_s;		/* of the spot machine that it has; else since the pool came or went */
	double rate;		/* see spot_evidence_hazard() */
	size_t zones;
};

#define SPOT_PESSIMISM 1.0

/* Tables already solved, so that jobs alike and the ticks of one process share them. A zeroed one is empty. */
struct spot_tables {
	struct arena *a;
	struct spot_tables_entry *first;
	size_t bytes;
};
void spot_tables_free(struct spot_tables *t);

/*
 * The cheapest action now by the table of spot.h over ticks of at least a minute, at most 512 to the deadline; times are
 * rounded against the job. Where the deadline is past saving: SPOT_ON_DEMAND. e may be NULL: nothing was seen yet.
 * Errors: BERTH_EINVAL for a time or price that is negative or not finite.
 */
BERTH_MUST_CHECK enum berth_code spot_job_decide(const struct spot_job *j, const struct spot_evidence *e,
    struct spot_tables *tables, enum spot_action *action_out, struct berth_err *err);

/* The last second, counted from now, at which on demand must be asked for: left - work - changeover; < 0: too late. */
double spot_job_slack_s(const struct spot_job *j);

#endif
