/* src/ingest/rollup.h - rows in force become steps with a time-weighted mean and the true peak.
 * Floor: ingest; pure. */
#ifndef BERTH_INGEST_ROLLUP_H
#define BERTH_INGEST_ROLLUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/spool.h"
#include "util/err.h"

/*
 * First half: how long each row of one source is in force. A row lasts until the source's next row;
 * if that is one and a half intervals away or more, rows are missing and it lasts one interval. The
 * interval is what the user says, else the median of the first 1024 distances where that is plain:
 *   three distances or more, and if it is longer than a step half of them are equal to it; or all
 * rows lie on the grid of steps, and then it is the step. Where it is not plain the series'
 * interval of earlier loads counts; without one rows are USAGE_ASSUMED: the median if it is no
 * longer than a step, else a step (no data is invented); the only row of a source lasts to the end
 * of its step. A USAGE_GAP row is a row without a value: it ends the one before.
 */
struct hold;

struct hold_options {
	int64_t step_s;
	int64_t given_s; /* the user's interval; 0: none */
	int64_t hint_s;  /* of earlier loads; 0: none */
};

/* What became of the rows of a source. */
struct hold_ends {
	int64_t dropped;   /* rows of this load that did not count: another of their time did */
	int64_t conflicts; /* those of dropped where the two had different values */
	long line;         /* the later line of the first such two; 0 not known */
};

/* Called with rows whose end is set, by t. plain_s: the interval if it was plain to see in these
 * rows; else 0. */
typedef enum berth_code hold_emit_fn(
    void *arg, const struct usage_row *row, int64_t plain_s, struct berth_err *err);

BERTH_MUST_CHECK enum berth_code hold_new(struct hold **h_out, struct berth_err *err);
void hold_free(struct hold *h);
void hold_begin(struct hold *h, const struct hold_options *o, hold_emit_fn *emit, void *arg);
/*
 * Rows of one source by t. Of rows of this load at the same t the highest counts, and the highest
 * peak; where they say how long they are in force the last one does. One of this load goes before a
 * USAGE_KEPT one.
 */
BERTH_MUST_CHECK enum berth_code hold_add(
    struct hold *h, const struct usage_row *row, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code hold_end(
    struct hold *h, struct hold_ends *out, struct berth_err *err);

/* Second half: rows with an end, of any number of sources, add up. */
struct rollup_step {
	int64_t t;                      /* start */
	double mean, peak;              /* of the time that is covered */
	int64_t covered_s;              /* 1 .. step_s */
	int64_t rows;                   /* of this load that begin in the step */
	long line;                      /* of the first of them; 0 not known */
	bool touched;                   /* a row of this load is in force in it */
	bool assumed;                   /* a USAGE_ASSUMED row is in force in it */
	const struct usage_row *window; /* [n_window] rows in force in the step; NULL: more than are
					   kept, or one fills it */
	size_t n_window;
	const double *form; /* [n_forms] value times seconds of the rows of each form */
};

struct rollup;
typedef enum berth_code rollup_emit_fn(
    void *arg, const struct rollup_step *step, struct berth_err *err);

BERTH_MUST_CHECK enum berth_code rollup_new(struct rollup **r_out, struct berth_err *err);
void rollup_free(struct rollup *r);
/* average: the mean of the rows in force at a time, not their sum; the peak is that of the highest
 * row. */
void rollup_begin(struct rollup *r, int64_t step_s, bool average, rollup_emit_fn *emit, void *arg);
/* Of the sources' rows, sums are kept by form of_source[row->source] < n_forms, which a caller that
 * adds sources gives anew. Before rollup_begin(); n_forms 0: none are. BERTH_ENOMEM. */
BERTH_MUST_CHECK enum berth_code rollup_forms(
    struct rollup *r, const uint32_t *of_source, size_t n_forms, struct berth_err *err);
/* By t; end > t. Steps without any row are not emitted: no data is not zero. */
BERTH_MUST_CHECK enum berth_code rollup_add(
    struct rollup *r, const struct usage_row *row, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code rollup_end(struct rollup *r, struct berth_err *err);

#endif
