/* src/model/holiday.h - days off by rule: berth-holidays in the manual of forecast.  Floor: model.
 */
#ifndef BERTH_MODEL_HOLIDAY_H
#define BERTH_MODEL_HOLIDAY_H

#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/err.h"

enum holiday_kind {
	HOLIDAY_DATE,    /* from..to of one year */
	HOLIDAY_FIXED,   /* month and day of every year */
	HOLIDAY_WEEKDAY, /* the nth such weekday of a month; negative: from its end */
	HOLIDAY_EASTER   /* days from Easter Sunday */
};
enum holiday_observed {
	HOLIDAY_AS_IS,
	HOLIDAY_NEXT,   /* of a Saturday or Sunday: the next weekday that is not taken is off too */
	HOLIDAY_NEAREST /* the Friday before, or the Monday behind */
};

struct holiday_rule {
	enum holiday_kind kind;
	enum holiday_observed observed;
	int month, day;   /* FIXED; WEEKDAY: month */
	int weekday, nth; /* WEEKDAY: 0 Monday */
	int offset;       /* EASTER */
	int64_t from, to; /* DATE: days since 1970-01-01, both included */
	const char *name;
};
struct holidays {
	const char *path;
	struct holiday_rule *rules; /* [n] */
	size_t n;
};

/*
 * "2027-02-06", "2027-02-05..2027-02-12", "12-25", "05-mon1", "05-mon-1", "easter-2", "easter".
 * BERTH_EINVAL says what it may be.
 */
BERTH_MUST_CHECK enum berth_code holiday_parse(
    const char *day, struct holiday_rule *out, struct berth_err *err);
/*
 * CSV with the column day and, if they are there, name and observed ("", "next", "nearest").
 * BERTH_EINVAL: where = file:line.
 */
BERTH_MUST_CHECK enum berth_code holiday_read(
    struct arena *a, const char *path, struct holidays *out, struct berth_err *err);
/* Days off in [from, to], days since 1970-01-01, ascending without repeats. */
void holiday_days(const struct holidays *h, int64_t from, int64_t to, struct arena *a,
    int64_t **days_out, size_t *n_out);
/*
 * Easter Sunday of a Gregorian year, days since 1970-01-01 (anonymous algorithm; Meeus,
 * Astronomical Algorithms, 1991, ch. 8).
 */
int64_t holiday_easter(int year);

#endif
