/* src/store/fleet_rows.h - scaled groups of jobs: what they remember, and which jobs are theirs.
 * Floor: store. */
#ifndef BERTH_STORE_FLEET_ROWS_H
#define BERTH_STORE_FLEET_ROWS_H

#include "model/job.h"
#include "store/store.h"

struct fleet_row {
	const char *name;
	int64_t t;         /* of the last decision */
	const char *state; /* JSON */
};

BERTH_MUST_CHECK enum berth_code store_fleet_put(
    struct store *s, const struct fleet_row *f, struct berth_err *err);
/* All, by name. */
BERTH_MUST_CHECK enum berth_code store_fleet_list(struct store *s, struct arena *a,
    struct fleet_row **fs_out, size_t *n_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_fleet_delete(
    struct store *s, const char *name, struct berth_err *err);

BERTH_MUST_CHECK enum berth_code store_replica_insert(
    struct store *s, const char *fleet, const char *job_id, struct berth_err *err);
/* Jobs of a fleet (NULL: of all) that are open, or ended at `since` or later, by id: oldest first.
 */
BERTH_MUST_CHECK enum berth_code store_replica_list(struct store *s, const char *fleet,
    int64_t since, struct arena *a, const char *const **ids_out, size_t *n_out,
    struct berth_err *err);

#endif
