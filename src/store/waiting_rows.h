/* src/store/waiting_rows.h - why each queued job waits now.  Floor: store. */
#ifndef BERTH_STORE_WAITING_ROWS_H
#define BERTH_STORE_WAITING_ROWS_H

#include "store/store.h"

struct waiting_row {
	const char *job_id;
	int64_t decision_id; /* that tells of it */
	const char *reason;  /* what tells it from another one */
	int64_t digest;      /* of all that is said of it */
	int64_t seen;        /* the last time that it was so */
};

BERTH_MUST_CHECK enum berth_code store_waiting_list(struct store *s, struct arena *a,
    struct waiting_row **rows_out, size_t *n_out, struct berth_err *err);
/* In the place of the job's row, if there is one. */
BERTH_MUST_CHECK enum berth_code store_waiting_put(
    struct store *s, const struct waiting_row *row, struct berth_err *err);
/* All rows that are there are so now. */
BERTH_MUST_CHECK enum berth_code store_waiting_seen(
    struct store *s, int64_t now, struct berth_err *err);
/* The job waits no more, or for another reason: its decision keeps when it was last so. */
BERTH_MUST_CHECK enum berth_code store_waiting_end(
    struct store *s, const struct waiting_row *row, struct berth_err *err);

#endif
