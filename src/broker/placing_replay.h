/* src/broker/placing_replay.h - placements made again from what they were made from.  Floor:
 * broker. */
#ifndef BERTH_BROKER_PLACING_REPLAY_H
#define BERTH_BROKER_PLACING_REPLAY_H

#include "broker/placing.h"
#include "model/record.h"
#include "util/buf.h"

/* All that placing_run() would read with these arguments, into an empty buffer: the caller's to
 * free. */
BERTH_MUST_CHECK enum berth_code placing_inputs(struct store *store,
    const struct placing_options *o, const char *const *ids, size_t n_ids, struct buf *out,
    struct berth_err *err);
struct waiting_list;
/*
 * Keeps the decision about all limits, what the placement was made from, and what came of the jobs
 * that wait; the decisions that waits has made (NULL: none) are linked to it. Without a placement
 * (no jobs) it is kept under the first of them.
 */
BERTH_MUST_CHECK enum berth_code placing_keep_inputs(struct store *store, int64_t now,
    const struct placing *p, const struct buf *inputs, const struct waiting_list *waits,
    struct berth_err *err);

struct placing_replay {
	int64_t id;    /* of the decision about the placement as a whole */
	size_t jobs;   /* whose decisions were made again */
	size_t waits;  /* of these: to wait */
	size_t bytes;  /* that were compared */
	size_t inputs; /* bytes that it was made from */
};
/*
 * Makes the placement again that this decision (of kind "placement", or of one of its jobs,
 * "place" or "wait") is of, and compares every record. Errors: BERTH_ENOTFOUND: no such decision,
 * or what it was made from is not kept any more; BERTH_EFAIL where a record comes out otherwise,
 * with the place.
 */
BERTH_MUST_CHECK enum berth_code placing_replay(struct store *store,
    const struct accel_table *accels, int64_t decision_id, struct arena *a,
    struct placing_replay *out, struct berth_err *err);

/* Whether that can be done; false of decisions of other kinds. */
BERTH_MUST_CHECK enum berth_code placing_replay_kept(struct store *store, const struct decision *d,
    struct arena *a, bool *kept_out, struct berth_err *err);
/* The newest decision that what names: its number, "placement", or a job that was placed or waits.
 * BERTH_ENOTFOUND */
BERTH_MUST_CHECK enum berth_code placing_replay_id(
    struct store *store, const char *what, struct arena *a, int64_t *id_out, struct berth_err *err);

#endif
