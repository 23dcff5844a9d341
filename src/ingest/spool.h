/* src/ingest/spool.h - rows of usage put in order, in bounded memory.  Floor: ingest. */
#ifndef BERTH_INGEST_SPOOL_H
#define BERTH_INGEST_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

/* A source is one signal as it was exported; several may add up to one series. */
struct usage_row {
	uint32_t source; /* index into the caller's sources */
	uint32_t flags;  /* enum usage_flag, and usage_line_flag() */
	int64_t t, end;  /* in force in [t, end); end 0: until the source's next row */
	double value, peak;
};

enum usage_flag {
	USAGE_KEPT =
	    1, /* not from this load: a row that the store kept of a step that was not full */
	USAGE_GAP = 4, /* a row was here, but its value was refused: the source's last row ends,
			  nothing begins */
	USAGE_DERIVED =
	    8, /* told from another row of the load: not one of the rows that are counted */
	USAGE_ASSUMED = 2, /* how long it is in force is a guess (rollup.h) */
	USAGE_FLAGS = 31   /* all of them; the line of the row is in the bits above */
};

#define USAGE_LINE_MAX ((INT64_C(1) << 27) - 1)

/* A line of the input as a part of flags; 0 not known. */
static inline uint32_t
usage_line_flag(int64_t line)
{
	return line > 0 && line <= USAGE_LINE_MAX ? (uint32_t)line << 5 : 0;
}

static inline long
usage_line(uint32_t flags)
{
	return (long)(flags >> 5);
}

#define SPOOL_ROWS                                                                                 \
	((size_t)1 << 20) /* rows in memory before a run of them goes to a temporary file */

struct spool;

/*
 * rows_max  SPOOL_ROWS, or less in tests
 * rank      [all sources] rows come by rank[source] first; NULL: by source; borrowed for the life
 * of the spool BERTH_ENOMEM.
 */
BERTH_MUST_CHECK enum berth_code spool_new(
    size_t rows_max, const uint32_t *rank, struct spool **sp_out, struct berth_err *err);
void spool_free(struct spool *sp); /* NULL is fine */
/* BERTH_EIO: the temporary file ($TMPDIR, else /tmp) cannot be written. */
BERTH_MUST_CHECK enum berth_code spool_add(
    struct spool *sp, const struct usage_row *row, struct berth_err *err);
int64_t spool_count(const struct spool *sp);
/* Ends the adding. Rows then come by rank, then t, then in the order they were added. */
BERTH_MUST_CHECK enum berth_code spool_sort(struct spool *sp, struct berth_err *err);
/* *row_out NULL at the end; else valid until the next call. */
BERTH_MUST_CHECK enum berth_code spool_next(
    struct spool *sp, const struct usage_row **row_out, struct berth_err *err);

#endif
