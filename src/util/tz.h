/* src/util/tz.h - named time zones, read from TZif files.  Floor: util. */
#ifndef BERTH_UTIL_TZ_H
#define BERTH_UTIL_TZ_H

#include <stdbool.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/err.h"

struct tz;

/* What a wall-clock time turned out to be. */
enum tz_note {
	TZ_PLAIN,
	TZ_AMBIGUOUS, /* the hour that runs twice as clocks go back: the earlier instant */
	TZ_GAP        /* the hour that clocks skip: one gap later, the offset before the change */
};

/*
 * "Europe/Berlin", "UTC", "Z", or a fixed offset "+02:00". Named zones are read from $TZDIR, else
 * /usr/share/zoneinfo (RFC 8536, its footer rule is used behind the last listed change). The name
 * may hold letters, digits, '/', '_', '+', '-' and no "..": anything else, or no such file, is
 * BERTH_EINVAL or BERTH_ENOTFOUND.
 */
BERTH_MUST_CHECK enum berth_code tz_load(
    struct arena *a, const char *name, const struct tz **tz_out, struct berth_err *err);
/* The same from the bytes of a TZif file (for tests and fuzzing). */
BERTH_MUST_CHECK enum berth_code tz_parse(struct arena *a, const char *name,
    const unsigned char *bytes, size_t n, const struct tz **tz_out, struct berth_err *err);
/* A fixed offset alone: "Z" "UTC" "+02:00" "-0330" "+01", in *offset_out seconds east; false: it is
 * none. */
bool tz_fixed(const char *s, int32_t *offset_out);
const char *tz_name(const struct tz *tz);
/* Seconds east of UTC at the instant t. */
int32_t tz_offset(const struct tz *tz, int64_t t);
/*
 * The instant of a wall-clock time, given as seconds since 1970-01-01T00:00 on that clock.
 * *note_out may be NULL.
 */
int64_t tz_instant(const struct tz *tz, int64_t wall, enum tz_note *note_out);

#endif
