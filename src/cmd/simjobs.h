/* src/cmd/simjobs.h - a stream of jobs through a seeded world of spot zones, under several
 * policies.  Floor: cmd. */
#ifndef BERTH_CMD_SIMJOBS_H
#define BERTH_CMD_SIMJOBS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/spot.h"
#include "util/err.h"

struct arena;

/* The policies of spot.h, and one without spot: machines for the mean are reserved, on demand
 * carries what passes them. */
enum { SIMJOBS_RESERVE_MEAN = SPOT_POLICY_COUNT, SIMJOBS_POLICIES };
const char *simjobs_policy_name(size_t p);

struct simjobs_grid {
	int64_t span_s; /* in which jobs are submitted */
	int64_t tick_s;
	double per_day;                /* jobs a day, Poisson */
	double work_min_s, work_max_s; /* log-uniform */
	double slack_min,
	    slack_max; /* deadline over work, uniform; at least work + 2 changeovers */
	double changeover_s, price;
	size_t zones; /* that a job may use */
	double churn; /* times the prior's hazards */
	uint64_t seed;
	double reserved; /* price of a reserved machine over on demand */
	bool policy[SIMJOBS_POLICIES];
};

#define SIMJOBS_WEEKS 60

struct simjobs_result { /* of one policy; times in hours, cost in on-demand machine-hours */
	size_t jobs, misses, preemptions;
	double work, cost, spot_hours, on_demand_hours, reserved_hours;
	double waited, waited_p95;    /* a job: from submission to its end, less its work */
	double weekly[SIMJOBS_WEEKS]; /* cost by the week of submission */
};

typedef void simjobs_progress_fn(void *arg, size_t done, size_t all);

/*
 * The world: each zone has a spot market that comes and goes by the bundled prior (spot_job.h),
 * scaled by churn and, zone by zone, by a log-normal factor; 30 days before the first job are there
 * to learn from, and berth's table is learned anew each week from the 30 days before. Same seed,
 * same world and jobs for each policy. weeks_out: how many weekly[] are used.
 */
BERTH_MUST_CHECK enum berth_code simjobs_run(const struct simjobs_grid *g,
    simjobs_progress_fn *progress, void *arg, struct arena *a,
    struct simjobs_result out[SIMJOBS_POLICIES], size_t *weeks_out, struct berth_err *err);

#endif
