/* src/store/usage_rows.h - jobs of other schedulers, the groupings of their GPUs, and their series'
 * raw material. Floor: store. */
#ifndef BERTH_STORE_USAGE_ROWS_H
#define BERTH_STORE_USAGE_ROWS_H

#include "store/series_rows.h"
#include "store/store.h"

enum usage_state { USAGE_WAITS, USAGE_RUNS, USAGE_OVER };

#define USAGE_LABEL_NONE 0

/* GPUs of one type that one attempt of a job held or waits for. */
struct usage_job {
	int64_t submit; /* the key: submit, job, part */
	const char *job;
	int64_t part;  /* 0 .. : types of GPU of one job */
	int64_t label; /* store_usage_label(); USAGE_LABEL_NONE, in rows to be put: the job has no
			  GPUs */
	int64_t start; /* 0: never started */
	int64_t until; /* the end, or as far as it was seen */
	enum usage_state state;
	double gpus; /* whole cards; a slice is a part of one */
};

/* Makes or finds the set of labels, a JSON object text with keys in order. */
BERTH_MUST_CHECK enum berth_code store_usage_label(
    struct store *s, const char *labels, int64_t *id_out, struct berth_err *err);
struct usage_label_row {
	int64_t id;
	const char *labels;
};
BERTH_MUST_CHECK enum berth_code store_usage_labels(struct store *s, struct arena *a,
    struct usage_label_row **v_out, size_t *n_out, struct berth_err *err);

/* [from, to) of time in which series must be made again; from > to: none. */
struct usage_span {
	int64_t from, to;
};
#define USAGE_SPAN_NONE ((struct usage_span){ INT64_MAX, INT64_MIN })

/*
 * Stores rows [n] in one go; they are sorted by key, and the last of equal ones counts. A row
 * replaces that of its key unless it knows less: one that waits or runs never replaces one that is
 * over, nor one that was seen to run longer. Parts of a job that its rows no longer have are taken
 * away: rows have all parts of their jobs. One without GPUs takes all of them away, and is not
 * stored itself. counts, in which a job is one however many parts it has, and changed are added to.
 */
BERTH_MUST_CHECK enum berth_code store_usage_put(struct store *s, struct usage_job *rows, size_t n,
    struct put_counts *counts, struct usage_span *changed, struct berth_err *err);
/* Rows that wait, by key. */
BERTH_MUST_CHECK enum berth_code store_usage_waiting(struct store *s, struct arena *a,
    struct usage_job **rows_out, size_t *n_out, struct berth_err *err);
/* All parts of one job. */
BERTH_MUST_CHECK enum berth_code store_usage_remove(
    struct store *s, int64_t submit, const char *job, struct berth_err *err);

/* Each row of which some lies in [from, to), by the hour of submission; lent to fn. */
typedef enum berth_code store_usage_fn(
    void *arg, const struct usage_job *row, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_usage_each(struct store *s, int64_t from, int64_t to,
    store_usage_fn *fn, void *arg, struct berth_err *err);
/* First submit and last until of all; 0 and 0: none. */
BERTH_MUST_CHECK enum berth_code store_usage_bounds(
    struct store *s, int64_t *from_out, int64_t *to_out, struct berth_err *err);

struct usage_view {
	const char *keys;
	int64_t step_s;
};
/* Keeps a grouping; *added_out: it is new. step_s 0: its step, or an hour. BERTH_EINVAL: it is kept
 * with another step. */
BERTH_MUST_CHECK enum berth_code store_usage_view_put(
    struct store *s, const char *keys, int64_t step_s, bool *added_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_usage_view_list(struct store *s, struct arena *a,
    struct usage_view **v_out, size_t *n_out, struct berth_err *err);

#endif
