/* src/util/time.h - instants as whole seconds since 1970-01-01T00:00:00Z.  Floor: util. */
#ifndef BERTH_UTIL_TIME_H
#define BERTH_UTIL_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "util/duration.h"
#include "util/err.h"
#include "util/tz.h"

#define TIME_MIN INT64_C(0)          /* 1970-01-01T00:00:00Z */
#define TIME_MAX INT64_C(7258118399) /* 2199-12-31T23:59:59Z */

enum time_flags {
	TIME_EPOCH = 1,   /* a bare number is seconds since 1970; of 13, 16, 19 digits ms, us, ns */
	TIME_ABSOLUTE = 2 /* "now" and "+1h" are refused: for files */
};

/*
 * Text -> instant. Accepted: RFC 3339 with 'Z' or an offset ("2026-11-30T10:00:00Z", a blank for
 * the 'T', no seconds, a fraction that is cut off, "+01:00" "+0100" "+01" " UTC"); "now", "+1h",
 * "-2d", relative to now; the same date and time, or a date alone, without zone only if tz is
 * given (NULL: none is). Leap second :60 is :59. BERTH_EINVAL with the text and what to do: "time
 * without zone: add Z or an offset, as in 2026-11-30T10:00:00Z"; a day that is not in the
 * calendar; outside TIME_MIN..TIME_MAX; a bare number without TIME_EPOCH, and always one in
 * 20000..80000, a spreadsheet's serial date, and one like 20261130, a date without its dashes.
 */
BERTH_MUST_CHECK enum berth_code time_parse(const char *s, int64_t now, const struct tz *tz,
    unsigned flags, int64_t *t_out, struct berth_err *err);
/* time_parse() that also says whether the wall-clock time was ambiguous or skipped in tz. */
BERTH_MUST_CHECK enum berth_code time_parse_noted(const char *s, int64_t now, const struct tz *tz,
    unsigned flags, int64_t *t_out, enum tz_note *note_out, struct berth_err *err);

#define TIME_FMT_SIZE 32
/* "2026-11-30T10:00:00Z". Returns dst. */
char *time_fmt(char dst[TIME_FMT_SIZE], int64_t t);
char *time_fmt_date(char dst[TIME_FMT_SIZE], int64_t t); /* "2026-11-30" */

/* Proleptic Gregorian calendar, UTC. */
struct time_civil {
	int year, month, day, hour, minute, second;
}; /* month and day from 1 */
struct time_civil time_to_civil(int64_t t);
int64_t time_from_civil(struct time_civil c);  /* fields in range; the day may run over its month */
int time_weekday(int64_t t);                   /* 0 Monday .. 6 Sunday */
int64_t time_floor(int64_t t, int64_t step_s); /* greatest multiple of step_s (> 0) that is <= t */
int64_t time_month_start(int64_t t);
/* The same day and time of another month; its last day if it has no such day. */
int64_t time_add_months(int64_t t, int months);

int64_t time_clock_s(void); /* the machine's clock; only main may ask, everyone else is given now */
int64_t time_mono_ms(void); /* for deadlines and measured durations: never goes back */

#endif
