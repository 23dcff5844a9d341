/* src/ingest/lines.h - a stream line by line, without a copy of each.  Floor: ingest. */
#ifndef BERTH_INGEST_LINES_H
#define BERTH_INGEST_LINES_H

#include <stddef.h>
#include <stdio.h>

#include "util/err.h"

#define LINES_MAX ((size_t)16 * 1024 * 1024) /* bytes of one line */

struct lines;
struct zin;

BERTH_MUST_CHECK enum berth_code lines_new(
    FILE *f, struct lines **l_out, struct berth_err *err); /* f stays the caller's */
/* Of what zin_read() gives: large files are read with fewer copies. */
BERTH_MUST_CHECK enum berth_code lines_new_zin(
    struct zin *z, struct lines **l_out, struct berth_err *err);
void lines_free(struct lines *l); /* NULL is fine */
/*
 * The next line [*len_out] without its newline, writable, line[len] is NUL; NULL at the end. Valid
 * until the next call. Errors: BERTH_EIO; BERTH_EINVAL: a NUL byte, or a line over LINES_MAX (the
 * number is in the message).
 */
BERTH_MUST_CHECK enum berth_code lines_next(
    struct lines *l, char **line_out, size_t *len_out, struct berth_err *err);
long lines_number(const struct lines *l); /* of the line last given, from 1 */

#endif
