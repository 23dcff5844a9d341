/* src/store/silent_rows.h - machines of running jobs that do not answer.  Floor: store. */
#ifndef BERTH_STORE_SILENT_ROWS_H
#define BERTH_STORE_SILENT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct silent_row {
	int64_t instance_id, since; /* s since epoch; since 0: it answers, as far as is known */
	bool told;
};

/* since 0 where nothing is kept of this machine. */
BERTH_MUST_CHECK enum berth_code store_silent_get(
    struct store *s, int64_t instance_id, struct silent_row *out, struct berth_err *err);
/* In place of what is kept of the machine. */
BERTH_MUST_CHECK enum berth_code store_silent_put(
    struct store *s, const struct silent_row *row, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_silent_delete(
    struct store *s, int64_t instance_id, struct berth_err *err);

#endif
