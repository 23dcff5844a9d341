/* src/cmd/simcommit.h - buying rules on recorded demand: reserve from what was known, pay for what
 * came.  Floor: cmd. */
#ifndef BERTH_CMD_SIMCOMMIT_H
#define BERTH_CMD_SIMCOMMIT_H

#include <stddef.h>
#include <stdint.h>

#include "forecast/forecast.h"
#include "util/err.h"

struct arena;

enum simcommit_policy {
	SIMCOMMIT_ON_DEMAND, /* nothing is reserved */
	SIMCOMMIT_MEAN,      /* the mean of the past */
	SIMCOMMIT_P95,       /* its 95 % quantile */
	SIMCOMMIT_PAST,      /* what would have been best for the past */
	SIMCOMMIT_BERTH,     /* the plan on berth's forecast */
	SIMCOMMIT_HINDSIGHT, /* what is best for what came: nobody can buy better */
	SIMCOMMIT_POLICIES
};
const char *simcommit_name(size_t policy);

struct simcommit_grid {
	const double *reserved; /* [n_reserved] price over on demand, 0..1 */
	size_t n_reserved;
	double split;    /* share of the history that is known at first, 0..1 */
	int64_t every_s; /* buy anew for each such time; 0: once, for all that follows */
	size_t paths;
	uint64_t seed;
};

struct simcommit_cell { /* one series and reserved price */
	const char *series;
	double reserved;
	double hours;                    /* with data, that were paid */
	double cost[SIMCOMMIT_POLICIES]; /* on-demand GPU-hours */
	double gpus[SIMCOMMIT_POLICIES]; /* reserved, mean over the periods */
};

typedef void simcommit_progress_fn(void *arg, size_t done, size_t all);

/*
 * Replays series [n] by the hour. cells_out [n_cells_out] = series x reserved prices, without
 * series that are too short. Errors: BERTH_EINFEASIBLE if none is long enough; those of the
 * forecast.
 */
BERTH_MUST_CHECK enum berth_code simcommit_run(const struct fc_series *s, size_t n,
    const struct simcommit_grid *g, simcommit_progress_fn *progress, void *arg, struct arena *a,
    struct simcommit_cell **cells_out, size_t *n_cells_out, struct berth_err *err);

#endif
