/* src/plan/spot_job.h - one job with a deadline, in seconds and hours: wait, spot or on demand now.
 * Floor: domain. */
#ifndef BERTH_PLAN_SPOT_JOB_H
#define BERTH_PLAN_SPOT_JOB_H

#include "plan/spot.h"

/* A job that may run on spot and on demand, and can resume. */
struct spot_job {
	double work_s;       /* left, on the spot machine that it would take */
	double left_s;       /* to the deadline */
	double changeover_s; /* start of a machine and restore of the state */
	double price;        /* of spot over on demand, for the whole work */
	enum spot_mode mode;
	double changeover_left_s; /* of the machine that it has */
	bool is_up;               /* spot can be had, as far as is known */
	double age_s;   /* of the spot machine that it has; else since the pool came or went */
	double stood_s; /* how long the zone that it would take has been up, as far as is known */
	double stand_s; /* how long it must have been: spot_stand() */
	double rate;    /* see spot_evidence_hazard() */
	size_t zones;
};

#define SPOT_PESSIMISM 1.0

/* Tables already solved, so that jobs alike and the ticks of one process share them. A zeroed one
 * is empty. */
struct spot_tables {
	struct arena *a;
	struct spot_tables_entry *first;
	size_t bytes;
};
void spot_tables_free(struct spot_tables *t);

/*
 * The action of spot_rule() over ticks of at least a minute, at most 512 to the deadline; times are
 * rounded against the job. Where the deadline is past saving: SPOT_ON_DEMAND. e may be NULL:
 * nothing was seen yet. Errors: BERTH_EINVAL for a time or price that is negative or not finite.
 */
BERTH_MUST_CHECK enum berth_code spot_job_decide(const struct spot_job *j,
    const struct spot_evidence *e, struct spot_tables *tables, enum spot_action *action_out,
    struct berth_err *err);

/*
 * The work, s, beyond which the same job would be told to go on demand, as much time being left: up
 * to it spot_job_decide() says what it says now, or where that is on demand, something else. NaN:
 * no work turns the decision, or the deadline lies beyond four times the work and an hour, where
 * the table does not tell times apart. Errors: as above.
 */
BERTH_MUST_CHECK enum berth_code spot_job_turn(const struct spot_job *j,
    const struct spot_evidence *e, struct spot_tables *tables, double *work_s_out,
    struct berth_err *err);

/* The last second, counted from now, at which on demand must be asked for: left - work -
 * changeover; < 0: too late. */
double spot_job_slack_s(const struct spot_job *j);

#endif
