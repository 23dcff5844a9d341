/* src/cmd/commitments_coverage.h - the ledger by hour of what is owned and what is used.  Floor:
 * cmd, inside commitments*.c. */
#ifndef BERTH_CMD_COMMITMENTS_COVERAGE_H
#define BERTH_CMD_COMMITMENTS_COVERAGE_H

#include "cmd/cmd.h"
#include "model/accel.h"
#include "model/commitment.h"
#include "model/series.h"
#include "store/series_rows.h"
#include "util/vec.h"

/* GPU-hours, and USD of those with a price; the others are counted. */
struct coverage_sum {
	double owned, used, idle, unknown; /* unknown: not used, and no history says whether */
	double needed, covered;
	double idle_cost, uncovered_cost;
	double idle_unpriced, uncovered_unpriced;
};

struct coverage_own {
	const struct commitment *c;
	const struct accel *accel;
	double gpu_hour; /* USD of a GPU-hour that is paid in any case; NaN unknown */
	bool some;       /* serves a series */
	struct coverage_sum sum;
};

struct coverage_need {
	struct series row;
	const struct accel *accel;
	const char *provider, *account, *region, *zone, *purchase; /* labels; NULL none */
	double on_demand; /* USD of a GPU-hour; NaN unknown */
	struct dense d;
	struct coverage_sum sum;
};

struct coverage_step {
	int64_t from, to;
	struct coverage_sum sum;
};

struct coverage {
	struct cmd_ctx *ctx;
	const struct accel_table *accels;
	int64_t from, to;
	VEC(struct coverage_own) own;
	VEC(struct coverage_need) need;
	bool *serves; /* [need.n][own.n] */
	VEC(struct coverage_step) steps;
	struct coverage_sum sum;
};

BERTH_MUST_CHECK enum berth_code coverage_show(
    struct coverage *v, bool by_time, struct berth_err *err);

#endif
