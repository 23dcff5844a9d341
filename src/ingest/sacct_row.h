/* src/ingest/sacct_row.h - one line of sacct, cut into its columns.  Floor: domain, inside
 * sacct*.c. */
#ifndef BERTH_INGEST_SACCT_ROW_H
#define BERTH_INGEST_SACCT_ROW_H

#include "ingest/sacct.h"
#include "ingest/slurmtime.h"

#define SACCT_COLUMNS_MAX 160
#define SACCT_FIELDS_MAX 512

enum sacct_col {
	SACCT_JOBID,
	SACCT_JOBIDRAW,
	SACCT_JOBNAME,
	SACCT_CLUSTER,
	SACCT_USER,
	SACCT_ACCOUNT,
	SACCT_PARTITION,
	SACCT_QOS,
	SACCT_STATE,
	SACCT_SUBMIT,
	SACCT_START,
	SACCT_END,
	SACCT_ELAPSED,
	SACCT_ELAPSEDRAW,
	SACCT_TIMELIMIT,
	SACCT_TIMELIMITRAW,
	SACCT_ALLOCTRES,
	SACCT_REQTRES,
	SACCT_COL_COUNT
};

/* What a column may hold, as far as it tells free text from the rest. */
enum sacct_kind {
	SACCT_ANY,
	SACCT_FREE,
	SACCT_ID,
	SACCT_STATUS,
	SACCT_TIME,
	SACCT_SPAN,
	SACCT_NUMBER,
	SACCT_TRES
};

struct sacct_head {
	char sep;
	size_t n;
	enum sacct_kind kind[SACCT_COLUMNS_MAX];
	int col[SACCT_COL_COUNT]; /* index, -1: not there */
	size_t n_free;
	bool trailing; /* sacct -p: a separator ends each line */
};

/* The header line. BERTH_EINVAL names what is missing. */
BERTH_MUST_CHECK enum berth_code sacct_head_parse(
    struct sacct_head *h, char *line, struct berth_err *err);
/*
 * Cuts line [len] into field [h->n], which has room for SACCT_FIELDS_MAX. Returns NULL, or why it
 * cannot be done.
 */
const char *sacct_split(const struct sacct_head *h, char *line, size_t len, char **field);
/*
 * Ends each part of [p, end) where sep stands; part [SACCT_FIELDS_MAX]. Returns how many parts
 * there are, more than SACCT_FIELDS_MAX if they are too many. Fields are short and lines long, so
 * this looks at many bytes at once.
 */
size_t sacct_cut(char sep, char *p, char *end, char **part);
bool sacct_is_state(const char *s);

#endif
