/* src/util/jsonscan.h - finding what matters in JSON bytes, many at a time.  Floor: util. */
#ifndef BERTH_UTIL_JSONSCAN_H
#define BERTH_UTIL_JSONSCAN_H

#include <stddef.h>
#include <stdint.h>

#define JSONSCAN_BLOCK 64 /* jsonscan_skip() works on whole blocks */
#define JSONSCAN_PAD 64   /* bytes behind the end that may be read */

/* Where a skip is. Zeroed with depth set is its start. */
struct jsonscan {
	uint64_t in_string; /* ~0 inside a string, else 0 */
	uint64_t escaped;   /* 1: the next byte stands behind a backslash */
	int64_t depth;      /* containers to leave; the skip ends where it gets 0 */
	int64_t deepest;    /* most that depth has been after a block */
};

/*
 * Goes over whole blocks of [p, p + n) until depth gets 0. Returns the bytes passed: behind the
 * closing bracket (depth is 0), or the last whole block. The kinds of brackets are not told apart.
 */
size_t jsonscan_skip(struct jsonscan *s, const char *p, size_t n);

/*
 * The first of [p, p + n) that is a quote, a backslash or a control character; n if none. *high_out
 * is set where a byte over 0x7f stands before it.
 */
size_t jsonscan_string(const char *p, size_t n, int *high_out);
/* The first that is no space, tab, CR or LF; n if none. */
size_t jsonscan_blank(const char *p, size_t n);

#endif
