/* src/util/base64.h - bytes as text (RFC 4648, 4).  Floor: util. */
#ifndef BERTH_UTIL_BASE64_H
#define BERTH_UTIL_BASE64_H

#include <stddef.h>

#include "util/arena.h"
#include "util/err.h"

/* With padding, without line ends. */
char *base64_encode(struct arena *a, const void *p, size_t n);
/*
 * The bytes, with a NUL behind them; blanks and line ends are passed over, missing padding is fine.
 * BERTH_EINVAL says where another character stands.
 */
BERTH_MUST_CHECK enum berth_code base64_decode(
    struct arena *a, const char *s, char **bytes_out, size_t *n_out, struct berth_err *err);

#endif
