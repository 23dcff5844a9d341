/* src/store/prune.h - what was decided and what happened, for as long as it is kept.  Floor: store.
 *
 * Money, jobs, machines, launches, prices and history are no business of it.
 */
#ifndef BERTH_STORE_PRUNE_H
#define BERTH_STORE_PRUNE_H

#include "store/store.h"

#define STORE_RECORDS_S (INT64_C(400) * 86400) /* a month of last year can still be reported on */

struct prune_counts {
	int64_t decisions, events, intents, runs;
	bool more; /* most is reached, and there is more */
};

/*
 * Deletes what is older than now - keep_s (0: nothing is): decisions but the newest about each
 * subject and all about open jobs, where jobs were to go eight days later; events, and that they
 * were delivered, but those about open jobs, those that a sink is still to hear of, and machines of
 * nobody, which are told once; what placements of that time were made from; refused launches with
 * their settled reservations; runs of ticks. Of each at most most rows (0: all), in one
 * transaction.
 */
BERTH_MUST_CHECK enum berth_code store_prune(struct store *s, int64_t keep_s, int64_t now,
    int64_t most, struct prune_counts *out, struct berth_err *err);
/* The same unless that was done within the last day; counts of nothing then. */
BERTH_MUST_CHECK enum berth_code store_prune_daily(struct store *s, int64_t keep_s, int64_t now,
    int64_t most, struct prune_counts *out, struct berth_err *err);
/* What store_prune() would delete. Changes nothing. */
BERTH_MUST_CHECK enum berth_code store_prune_due(
    struct store *s, int64_t keep_s, int64_t now, struct prune_counts *out, struct berth_err *err);

#endif
