/* src/cmd/simspot.h - recorded spot availability, and many jobs replayed over it under several
 * policies.  Floor: cmd. */
#ifndef BERTH_CMD_SIMSPOT_H
#define BERTH_CMD_SIMSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/spot.h"
#include "util/err.h"

struct arena;

/* Where spot of one kind could be had, tick by tick. */
struct simspot_trace {
	const char *id, *name; /* name: its zone, with the device where the set has several */
	const char *region, *zone_name;
	int tick_s;
	int nodes; /* a tick is up when all of them could be had */
	struct spot_zone zone;
	const double *usd; /* [zone.n] price of an instance-hour; NULL: none is recorded */
};

struct simspot_traces {
	struct simspot_trace *trace;
	size_t n;
};

/*
 * Reads traces.csv and segments.csv of dir; only traces whose id begins with set. BERTH_ENOTFOUND:
 * no such trace (names sets there are); BERTH_EINVAL with file:line for a bad row.
 */
/* prices: reads prices.csv too; a trace without any is then BERTH_EINVAL. */
BERTH_MUST_CHECK enum berth_code simspot_load(const char *dir, const char *set, bool prices,
    struct arena *a, struct simspot_traces *out, struct berth_err *err);

enum simspot_pool { SIMSPOT_ZONE, SIMSPOT_REGION, SIMSPOT_ALL };
enum simspot_train { SIMSPOT_OTHER_HALF, SIMSPOT_PAST };

struct simspot_grid {
	double work_s, price, pessimism;
	double on_demand_usd; /* of an instance-hour: spot costs what prices.csv says over it; 0:
				 price throughout */
	double
	    move_hours; /* on-demand hours that bringing the checkpoint to another region costs */
	const double *slack; /* [n_slack] deadline over work, > 1 */
	size_t n_slack;
	const double *changeover_s; /* [n_changeover] */
	size_t n_changeover;
	size_t starts; /* of jobs in each half of each trace, spread evenly */
	enum simspot_pool pool;
	enum simspot_train train;
	bool policy[SPOT_POLICY_COUNT];
	bool omniscient;
};

#define SIMSPOT_OMNISCIENT SPOT_POLICY_COUNT
#define SIMSPOT_POLICIES (SPOT_POLICY_COUNT + 1)

struct simspot_cell { /* one zone or pool, half, slack and changeover */
	const char *zone;
	int half; /* 1 or 2 */
	double slack, changeover_s;
	size_t runs;
	double mean[SIMSPOT_POLICIES]; /* cost over always on demand */
};

struct simspot_result {
	struct simspot_cell *cell;
	size_t n_cells;
	double *cost[SIMSPOT_POLICIES]; /* [n_runs] each run, sorted */
	size_t n_runs;
	size_t impossible; /* cells left out: on demand from the start would be late */
	size_t misses[SIMSPOT_POLICIES];
	/* Sums over the runs; of the omniscient only the cost is known. */
	double waited_hours[SPOT_POLICY_COUNT]; /* from submission to the end, less the work */
	size_t preemptions[SPOT_POLICY_COUNT];
	size_t halves,
	    too_short; /* halves of places, and those that are shorter than the longest deadline */
};

const char *simspot_policy_name(size_t policy);

/* Called after each cell: done of all. */
typedef void simspot_progress_fn(void *arg, size_t done, size_t all);

BERTH_MUST_CHECK enum berth_code simspot_run(const struct simspot_traces *t,
    const struct simspot_grid *g, simspot_progress_fn *progress, void *arg, struct arena *a,
    struct simspot_result *out, struct berth_err *err);

#endif
