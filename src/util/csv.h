/* src/util/csv.h - CSV, streaming and fast (RFC 4180).  Floor: util. */
#ifndef BERTH_UTIL_CSV_H
#define BERTH_UTIL_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/err.h"

#define CSV_RECORD_MAX (1024 * 1024) /* bytes of one record */
#define CSV_FIELDS_MAX 4096

struct csv;

/*
 * One record. Fields are NUL-terminated, unquoted, and point into the reader's buffer: valid
 * until the next csv_next(), and the caller may write within them. Blanks are kept.
 */
struct csv_row {
	char **field; /* [n]; as many as the header has */
	size_t n;
	long line; /* physical line the record starts on, from 1 */
};

/*
 * Opens and reads the header line: "-" is stdin; name stands in messages. The separator (, ; or
 * tab) is the one most frequent outside quotes in the header, or what a line "sep=;" before it
 * says (also |). A UTF-8 byte order mark is taken off; CRLF and LF end lines; empty lines are
 * skipped. BERTH_EINVAL: UTF-16, gzip, no header, a name twice; BERTH_ENOTFOUND / BERTH_EIO: cannot
 * be read.
 */
BERTH_MUST_CHECK enum berth_code csv_open(
    const char *path, struct csv **csv_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code csv_open_stream(FILE *f, const char *name, struct csv **csv_out,
    struct berth_err *err); /* f stays the caller's */
BERTH_MUST_CHECK enum berth_code csv_open_bytes(const void *bytes, size_t n, const char *name,
    struct csv **csv_out, struct berth_err *err); /* bytes are borrowed */
void csv_close(struct csv *c);                    /* NULL is fine */

const char *csv_name(const struct csv *c);
char csv_separator(const struct csv *c);
size_t csv_columns(const struct csv *c);
const char *csv_header(const struct csv *c, size_t i); /* blanks around it taken off; borrowed */
/* Index of the column so named (ASCII case does not count), -1 if there is none. */
int csv_column(const struct csv *c, const char *name);
/* As csv_column(), or BERTH_EINVAL that names the file, the missing column and those it has. */
BERTH_MUST_CHECK enum berth_code csv_need(
    const struct csv *c, const char *name, int *i_out, struct berth_err *err);

/*
 * The next record; *row_out is NULL at the end. BERTH_EINVAL refuses this one record only
 * (err.where is "file:line", csv_line() its line): call again for the next. A quote that is never
 * closed costs the line it stands on only. Reasons: fields more (that
 * are not empty) or fewer than the header, text
 * behind a closing quote, a quote never closed, a NUL byte, over CSV_RECORD_MAX. BERTH_EIO and
 * BERTH_ENOMEM end it.
 */
BERTH_MUST_CHECK enum berth_code csv_next(
    struct csv *c, const struct csv_row **row_out, struct berth_err *err);
long csv_line(const struct csv *c); /* line of the record that csv_next() spoke of last */
/*
 * For a value of the current record that the caller refuses: where = "file:line", and "column
 * NAME: " in front of the message (column may be NULL). Returns err->code.
 */
enum berth_code csv_err(const struct csv *c, struct berth_err *err, const char *column);

/*
 * Writes one field, quoted if it must be (sep, quote, CR, LF, blank at an end); the caller writes
 * separators.
 */
void csv_put(FILE *f, const char *s, char sep);

#endif
