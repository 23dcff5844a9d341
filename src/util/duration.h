/* src/util/duration.h - lengths of time as people write them.  Floor: util. */
#ifndef BERTH_UTIL_DURATION_H
#define BERTH_UTIL_DURATION_H

#include <stdint.h>

#include "util/err.h"

/*
 * "90m" "36h" "4w" "2d" "30s" "1h30m" "1.5h" -> seconds; units w d h m s, each once and in that
 * order; a fraction only if whole seconds come out. "0" alone is 0. A bare number else is
 * BERTH_EINVAL: it says to add a unit. At most 200 years; never negative.
 */
BERTH_MUST_CHECK enum berth_code duration_parse(
    const char *s, int64_t *s_out, struct berth_err *err);

#define DURATION_FMT_SIZE 40
/* Exact, reads back as the same: "4w", "1h30m", "1d2h", "0s"; a '-' in front if negative. Returns
 * dst. */
char *duration_fmt(char dst[DURATION_FMT_SIZE], int64_t s);

#endif
