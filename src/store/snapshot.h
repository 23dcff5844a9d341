/* src/store/snapshot.h - what a placement was made from, so that it can be made again.  Floor:
 * store.
 *
 * Rows that a later pass may change are kept as they were; of those that never change once they
 * are there, how far they went. The store itself has the rest.
 */
#ifndef BERTH_STORE_SNAPSHOT_H
#define BERTH_STORE_SNAPSHOT_H

#include "store/store.h"
#include "util/json.h"

#define STORE_SNAPSHOT_KEPT 100 /* of the newest placements */

/* The keys "rows", "offers" and "last" into an open object. */
BERTH_MUST_CHECK enum berth_code store_snapshot_write(
    struct store *s, int64_t now, struct jsonw *w, struct berth_err *err);
/*
 * Keeps text [n] packed with the decision; placed: jobs that got a machine. Those older than the
 * newest STORE_SNAPSHOT_KEPT that placed any, and than as many that placed none, go; but what the
 * reason of a job that still waits was made from stays.
 */
BERTH_MUST_CHECK enum berth_code store_snapshot_keep(struct store *s, int64_t decision_id,
    int64_t t, int64_t placed, const char *text, size_t n, struct berth_err *err);
/* Whether any is kept with that decision. */
BERTH_MUST_CHECK enum berth_code store_snapshot_has(
    struct store *s, int64_t decision_id, bool *has_out, struct berth_err *err);
/* BERTH_ENOTFOUND: none is kept of that decision. */
BERTH_MUST_CHECK enum berth_code store_snapshot_get(struct store *s, int64_t decision_id,
    struct arena *a, const char **text_out, size_t *n_out, struct berth_err *err);
/*
 * A store in memory as `from` was at `now`, in all that a placement reads. root: the object that
 * the keys were written into. The caller's to close.
 */
BERTH_MUST_CHECK enum berth_code store_snapshot_open(struct store *from, const struct jsonr *root,
    int64_t now, struct store **out, struct berth_err *err);

#endif
