/* src/util/buf.h - a growing byte buffer with a cap, for bytes from outside.  Floor: util. */
#ifndef BERTH_UTIL_BUF_H
#define BERTH_UTIL_BUF_H

#include <stdarg.h>
#include <stddef.h>

#include "util/err.h"

/*
 * p is always NUL-terminated once buf_init() ran (p[len] == 0); len does not count the NUL. A
 * failure (over the cap, out of memory) is kept: later additions do nothing and give the same
 * code, so a builder may check once at the end with buf_check(). Nothing is added in part.
 */
struct buf {
	char *p;
	size_t len;
	size_t size;          /* bytes allocated */
	size_t cap;           /* most bytes of content */
	enum berth_code code; /* BERTH_OK, BERTH_EINVAL (over the cap) or BERTH_ENOMEM */
};

void buf_init(struct buf *b, size_t cap); /* allocates nothing */
void buf_free(struct buf *b);             /* and ready for use again, with the same cap */
void buf_wipe(struct buf *b);  /* buf_free() that overwrites the bytes first: for secrets */
void buf_clear(struct buf *b); /* len = 0, code = BERTH_OK; keeps the memory */

enum berth_code buf_add(struct buf *b, const void *bytes, size_t n);
enum berth_code buf_add_str(struct buf *b, const char *s);
enum berth_code buf_add_char(struct buf *b, char c);
enum berth_code buf_printf(struct buf *b, const char *fmt, ...) BERTH_PRINTF(2, 3);
enum berth_code buf_vprintf(struct buf *b, const char *fmt, va_list ap) BERTH_PRINTF(2, 0);
/* Room for n bytes behind len, to be written by the caller (read(2)); NULL: see code. */
char *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n); /* the first n of the reserved bytes are content now */

/* BERTH_OK, or the kept failure with the message "WHAT: more than CAP bytes". */
BERTH_MUST_CHECK enum berth_code buf_check(
    const struct buf *b, const char *what, struct berth_err *err);

#endif
