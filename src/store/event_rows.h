/* src/store/event_rows.h - events and the outbox.  Floor: store. */
#ifndef BERTH_STORE_EVENT_ROWS_H
#define BERTH_STORE_EVENT_ROWS_H

#include "model/event.h"
#include "store/store.h"

/* Names of the configured sinks [n]; every event appended from now on waits for each of them.
 * Copied. */
BERTH_MUST_CHECK enum berth_code store_sinks_set(
    struct store *s, const char *const *sinks, size_t n, struct berth_err *err);
/*
 * Appends an event and its outbox rows, in the caller's transaction if one is open: what happened
 * and that it was told stand or fall together. data "" : "{}". id and run are set by the store.
 */
BERTH_MUST_CHECK enum berth_code store_event_append(
    struct store *s, const struct event *e, struct berth_err *err);

struct event_query {
	int64_t after;       /* id greater than; 0 all */
	int64_t since;       /* t at or after; 0 all */
	const char *type;    /* glob "job.*"; NULL any */
	const char *subject; /* exact; NULL any */
	size_t limit;        /* newest so many; 0: all */
};
/* By id. */
BERTH_MUST_CHECK enum berth_code store_event_list(struct store *s, const struct event_query *q,
    struct arena *a, struct event **es_out, size_t *n_out, struct berth_err *err);

/* What is due for a sink, oldest first. limit 0: all */
BERTH_MUST_CHECK enum berth_code store_outbox_due(struct store *s, const char *sink, int64_t now,
    size_t limit, struct arena *a, struct outbox_row **rows_out, size_t *n_out,
    struct berth_err *err);
/* The sink has it. */
BERTH_MUST_CHECK enum berth_code store_outbox_delivered(
    struct store *s, int64_t event_id, const char *sink, int64_t now, struct berth_err *err);
/* It has not; try again at next_try. */
BERTH_MUST_CHECK enum berth_code store_outbox_failed(struct store *s, int64_t event_id,
    const char *sink, const char *error, int64_t next_try, struct berth_err *err);

#endif
