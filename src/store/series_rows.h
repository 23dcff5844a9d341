/* src/store/series_rows.h - demand series, their samples and the loads that brought them.  Floor:
 * store. */
#ifndef BERTH_STORE_SERIES_ROWS_H
#define BERTH_STORE_SERIES_ROWS_H

#include "model/record.h"
#include "model/series.h"
#include "store/store.h"

/* Finds by name; BERTH_ENOTFOUND. */
BERTH_MUST_CHECK enum berth_code store_series_get(struct store *s, const char *name,
    struct arena *a, struct series *series_out, struct berth_err *err);
/*
 * Finds a series by name or makes it. labels NULL: "{}"; a series that exists keeps its labels
 * unless it had none. BERTH_EINVAL: it exists with another step or unit.
 */
BERTH_MUST_CHECK enum berth_code store_series_put(struct store *s, const char *name,
    const char *labels, const char *unit, int64_t step_s, int64_t *id_out, struct berth_err *err);
/* What struct series has as interval_s. */
BERTH_MUST_CHECK enum berth_code store_series_interval(
    struct store *s, int64_t series_id, int64_t interval_s, struct berth_err *err);
/* All, by name; from, to, samples and peak are filled in. */
BERTH_MUST_CHECK enum berth_code store_series_list(struct store *s, struct arena *a,
    struct series **series_out, size_t *n_out, struct berth_err *err);
/* With its samples; the loads stay. */
BERTH_MUST_CHECK enum berth_code store_series_delete(
    struct store *s, int64_t series_id, struct berth_err *err);

enum put_fate {
	PUT_STORED,
	PUT_DUPLICATE,
	PUT_REPLACED,
	PUT_REFUSED /* of a bucket that is rolled up and cannot be told apart (store/tier_rows.h) */
};

struct put_counts {
	int64_t stored;    /* new */
	int64_t duplicate; /* were there with the same values */
	int64_t replaced;  /* were there with other values */
	int64_t refused;   /* see PUT_REFUSED */
	int64_t removed;   /* jobs that have no GPUs any more (store/usage_rows.h) */
};

/*
 * Stores samples of one series; counts are added to *counts.
 * v     [n] times ascending without repeats, multiples of the series' step; values as struct sample
 *       says (BERTH_EINVAL otherwise, nothing stored). A sample replaces one of the same time.
 * fate  [n] enum put_fate of each; may be NULL
 * Fast when times ascend over the calls: put all of a load inside one store_begin/commit.
 * Where steps are rolled up, store_samples_late() says more.
 */
BERTH_MUST_CHECK enum berth_code store_samples_put(struct store *s, int64_t series_id,
    const struct sample *v, size_t n, unsigned char *fate, struct put_counts *counts,
    struct berth_err *err);

/* Samples on the grid of the series; entry i covers [t0 + i*step_s, t0 + (i+1)*step_s). NaN: no
 * data. */
struct dense {
	int64_t t0, step_s;
	size_t n, missing;
	double *mean, *peak; /* [n] */
};
/*
 * from, to   [from, to); from 0: the first sample, to 0: the step after the last. Rounded outwards
 * to the grid. A series without samples gives n = 0. Steps that are rolled up have the mean and the
 * peak of their hour or day; see store_history(), which tells them apart.  Errors: BERTH_ENOTFOUND;
 * BERTH_EINVAL more than 100 M steps.
 */
BERTH_MUST_CHECK enum berth_code store_samples_range(struct store *s, int64_t series_id,
    int64_t from, int64_t to, struct arena *a, struct dense *out, struct berth_err *err);

/* More about a series than its row keeps; a scan of its samples. */
struct series_stats {
	double mean;        /* over the steps that have data; NaN none */
	double last;        /* mean of the last sample; NaN none */
	double gpu_seconds; /* sum of mean times the seconds that are known */
	int64_t missing;    /* steps between from and to without a sample */
};
BERTH_MUST_CHECK enum berth_code store_series_stats(
    struct store *s, const struct series *series, struct series_stats *out, struct berth_err *err);

/*
 * Source rows of steps that are covered in part only, so that the next load can complete the step
 * without losing a peak or weighing a row twice. source tells signals that were added up apart.
 */
struct raw_row {
	int64_t step;   /* start of the step that is not full */
	int64_t source; /* hash of the full label set */
	int64_t t;      /* the row's own time; it may lie before the step */
	double value, peak;
	const char *form; /* model/formmix.h; NULL: nothing to say */
};
/* Of steps in [from, to), by step, time, source. */
BERTH_MUST_CHECK enum berth_code store_raw_list(struct store *s, int64_t series_id, int64_t from,
    int64_t to, struct arena *a, struct raw_row **rows_out, size_t *n_out, struct berth_err *err);
/* Puts rows [n], all of this step, in the place of those it has; n 0: the step is full. */
BERTH_MUST_CHECK enum berth_code store_raw_replace(struct store *s, int64_t series_id, int64_t step,
    const struct raw_row *rows, size_t n, struct berth_err *err);

/* The log of loads; id, run are set by the store. */
BERTH_MUST_CHECK enum berth_code store_load_insert(
    struct store *s, const struct load *l, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_load_list(struct store *s, size_t limit, struct arena *a,
    struct load **loads_out, size_t *n_out, struct berth_err *err); /* newest first */

#endif
