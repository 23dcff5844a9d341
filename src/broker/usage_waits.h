/* src/broker/usage_waits.h - how long the jobs of other schedulers waited, from the jobs that the
 * store keeps.  Floor: broker. */
#ifndef BERTH_BROKER_USAGE_WAITS_H
#define BERTH_BROKER_USAGE_WAITS_H

#include "ingest/waits.h"
#include "util/arena.h"

struct store;

/* One series as `berth series` names it, of GPUs that jobs held: "accelerator=H100", "total". */
struct usage_waits_row {
	const char *name;
	const char *accelerator; /* of its labels; NULL: no such label */
	struct waits_step step;
};

/*
 * The waits of all groupings of jobs that the store keeps, and of all jobs, in [from, to) of which
 * each step_s is told; the window is a multiple of it. A job counts once, with the type of its
 * first GPUs. Rows by name, then by time, in a. Errors: BERTH_ENOMEM, those of the store;
 * BERTH_EINVAL: more than 68 years.
 */
BERTH_MUST_CHECK enum berth_code usage_waits(struct store *s, struct arena *a, int64_t step_s,
    int64_t from, int64_t to, struct usage_waits_row **rows_out, size_t *n_out,
    struct berth_err *err);

#endif
