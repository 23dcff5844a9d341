/* src/store/idling_rows.h - running jobs whose accelerators may do nothing.  Floor: store. */
#ifndef BERTH_STORE_IDLING_ROWS_H
#define BERTH_STORE_IDLING_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct idling_row {
	const char *job_id;
	int64_t instance_id; /* that the rest is told of */
	int64_t since, last; /* s since epoch; since 0: it works, or that is not known */
	int64_t readings;    /* since then */
	bool told, blind;
	double busy; /* 0..1 */
};

/* In place of what is kept of the job. */
BERTH_MUST_CHECK enum berth_code store_idling_put(
    struct store *s, const struct idling_row *row, struct berth_err *err);
/* All of it zero, where nothing is kept of this job on this machine. job_id is borrowed. */
BERTH_MUST_CHECK enum berth_code store_idling_get(struct store *s, const char *job_id,
    int64_t instance_id, struct idling_row *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_idling_delete(
    struct store *s, const char *job_id, struct berth_err *err);

#endif
