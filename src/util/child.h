/* src/util/child.h - one program run to its end, its input fed and its output drained.  Floor:
 * util. */
#ifndef BERTH_UTIL_CHILD_H
#define BERTH_UTIL_CHILD_H

#include <stddef.h>

#include "util/buf.h"
#include "util/err.h"

/*
 * Runs argv[0] (looked for in PATH) with in [n] as its standard input, adds what it prints to out
 * and errs up to their caps, and waits for its end; argv ends with NULL. No shell is involved, the
 * environment is ours. *status_out gets its exit status, 128 + N if signal N ended it. Errors:
 * BERTH_ENOTFOUND: no such program; BERTH_ETRANSIENT: not done within timeout_s, and killed;
 * BERTH_EIO; BERTH_EINVAL: out is over its cap (errs is cut without a word).
 */
BERTH_MUST_CHECK enum berth_code child_run(const char *const *argv, const char *in, size_t n,
    int timeout_s, struct buf *out, struct buf *errs, int *status_out, struct berth_err *err);

#endif
