/* src/cmd/simcommit.h - buying rules on recorded demand: reserve from what was known, pay for what
 * came.  Floor: cmd. */
#ifndef BERTH_CMD_SIMCOMMIT_H
#define BERTH_CMD_SIMCOMMIT_H

#include <stdbool.h>
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

/* What is owned before any rule buys: it serves first, and its money is sunk. */
struct simcommit_own {
	double gpus;         /* of one machine */
	int64_t count;       /* machines */
	int64_t from, to;    /* s since epoch */
	const double *speed; /* [n] GPUs of each series that one of its own counts as there; 0: it
				cannot serve it */
	double usage;        /* USD that an hour of use of one machine costs: told, not counted */
	int64_t used;        /* out: machines that count for one of them */
};

struct simcommit_grid {
	const double *reserved; /* [n_reserved] price over on demand, 0..1 */
	size_t n_reserved;
	double split;    /* share of the history that is known at first, 0..1 */
	int64_t every_s; /* buy anew for each such time; 0: once, for all that follows */
	size_t paths;
	uint64_t seed;
	struct simcommit_own *own; /* [n_own] */
	size_t n_own;
};

enum simcommit_left { /* why a series is in no mean */
	SIMCOMMIT_COUNTED,
	SIMCOMMIT_NO_DATA,
	SIMCOMMIT_NO_DEMAND,
	SIMCOMMIT_OWNED, /* nothing is left to pay for beside what is owned */
	SIMCOMMIT_TOO_LARGE,
	SIMCOMMIT_LEFT_COUNT
};
const char *simcommit_left_name(enum simcommit_left left); /* "no_demand"; NULL: counted */

struct simcommit_cell { /* one series and reserved price */
	const char *series;
	double reserved;
	double hours;                    /* with data, that were paid */
	double cost[SIMCOMMIT_POLICIES]; /* on-demand GPU-hours */
	double gpus[SIMCOMMIT_POLICIES]; /* reserved, mean over the periods */
	double owned;                    /* GPUs that were there without that, mean of the hours */
	double demand;                   /* GPU-hours that came */
	enum simcommit_left left;        /* TOO_LARGE: costs and GPUs are NaN */
	const char *why;                 /* of TOO_LARGE: the fault, without the series */
};
/* Cost of a policy over that of another in the cell; NaN where that is nothing. */
double simcommit_over(
    const struct simcommit_cell *c, enum simcommit_policy p, enum simcommit_policy base);

typedef void simcommit_progress_fn(void *arg, size_t done, size_t all);

/*
 * Replays series [n] by the hour. What is owned serves first in every rule: the mean and the
 * quantile of the past are topped up on average over the period, the others buy for what passes
 * it hour by hour. cells_out [n_cells_out] = series x reserved prices, without
 * series that are too short; one that no plan can hold is there, and told as too large. Errors:
 * BERTH_EINFEASIBLE if none is long enough; BERTH_EINVAL if all are too large; those of the
 * forecast.
 */
BERTH_MUST_CHECK enum berth_code simcommit_run(const struct fc_series *s, size_t n,
    const struct simcommit_grid *g, simcommit_progress_fn *progress, void *arg, struct arena *a,
    struct simcommit_cell **cells_out, size_t *n_cells_out, struct berth_err *err);

#endif
