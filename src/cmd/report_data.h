/* src/cmd/report_data.h - what `berth report` tells, gathered from the store.  Floor: cmd. */
#ifndef BERTH_CMD_REPORT_DATA_H
#define BERTH_CMD_REPORT_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "model/budget.h"
#include "model/event.h"
#include "model/job.h"
#include "model/machine.h"
#include "model/measure.h"
#include "model/record.h"
#include "model/series.h"
#include "util/err.h"

struct cmd_ctx;

/* Money of one group: a project, an account, a user, a kind of purchase, a day. */
struct report_sum {
	const char *name;
	int64_t day;
	struct usd_micro amount;
};
struct report_sums {
	struct report_sum *v;
	size_t n, cap;
};

/* One stored forecast against what came. */
struct report_score {
	const char *series;
	int64_t as_of, horizon_s;
	double p50, p95; /* of the peak */
	double actual;   /* highest peak seen in the horizon so far; NaN none */
	double known;    /* share of the horizon that has data */
};

/* History and forecast of one series, for its chart. */
struct report_demand {
	struct series series;
	size_t n_history, n_ahead;
	double *t, *peak;            /* [n_history] days, the highest peak of each */
	double *t_ahead, *p50, *p95; /* [n_ahead] */
};

/* Commitments that held in the period: sunk, and no part of what was spent. */
struct report_owned {
	size_t n, unpriced;
	struct usd_micro cost;    /* by the hour, with the upfront payment spread over the time */
	double hours, used_hours; /* of machines: owned, and those that ran on them */
};

struct report {
	int64_t from, to;
	struct usd_micro spent, machines_cost,
	    on_demand_cost; /* the last two: same machine-hours, at the launch price and on demand
			     */
	struct report_owned owned;
	size_t priced, unpriced; /* machines whose on-demand price is known, or not */
	struct report_sums by_project, by_account, by_user, by_purchase, by_day;
	struct usd_micro egress; /* of spent, to move data */
	struct budget *budgets;
	size_t n_budgets;
	struct job *jobs; /* that were open or ended in the period */
	size_t n_jobs;
	size_t job_states[JOB_STATE_COUNT];
	size_t missed; /* whose deadline was in the period, and passed before they ended */
	struct instance *machines;
	size_t n_machines;
	struct usd_micro wasted; /* machines that the probe rejected, or that never came up */
	size_t accepted, discounted, rejected;
	struct measurement *measurements;
	size_t n_measurements;
	struct report_score *scores;
	size_t n_scores;
	struct report_demand *demand;
	size_t n_demand;
	struct plan_row plan;      /* id 0: none was made */
	struct report_sums events; /* amount.v counts */
};

BERTH_MUST_CHECK enum berth_code report_gather(
    struct cmd_ctx *ctx, int64_t from, int64_t to, struct report *r, struct berth_err *err);
/* USD for the machines that are set against on demand, those of commitments with their sunk price.
 */
double report_paid(const struct report *r);
/* Self-contained HTML page into path, written whole or not at all. */
BERTH_MUST_CHECK enum berth_code report_html(
    struct cmd_ctx *ctx, const struct report *r, const char *path, struct berth_err *err);

#endif
