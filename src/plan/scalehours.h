/* src/plan/scalehours.h - least and most machines of a fleet by the hours of the week.  Floor:
 * domain. */
#ifndef BERTH_PLAN_SCALEHOURS_H
#define BERTH_PLAN_SCALEHOURS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/scale.h"
#include "util/err.h"
#include "util/tz.h"

struct scale_hours {
	unsigned days;        /* bit 0 Monday .. bit 6 Sunday: on which it begins */
	int32_t from_s, to_s; /* of the clock's day, from_s < 86400, to_s <= 86400; to_s <= from_s:
				 on into the next day */
	int64_t min, max;     /* machines; -1: as without it */
	const char *text;     /* as it was written */
};

/*
 * "[DAYS ]HH:MM-HH:MM MIN..MAX", as in "mon-fri 08:00-20:00 4..20", "sat sun 22:00-06:00 ..2",
 * "00:00-24:00 1..". Without days all of them. text is borrowed. Errors: BERTH_EINVAL says what is
 * wrong.
 */
BERTH_MUST_CHECK enum berth_code scale_hours_parse(
    const char *text, struct scale_hours *out, struct berth_err *err);

/* The first of hours [n] that holds at t by the clock of tz; NULL: none. */
const struct scale_hours *scale_hours_at(
    const struct scale_hours *hours, size_t n, const struct tz *tz, int64_t t);

/*
 * min and max of the rule at t. The minimum of t + boot_s counts already, so that machines work
 * when its hours begin; the maximum gives way to it. Fails nowhere: the result has 0 <= min <= max
 * if each of hours and the rule have.
 */
void scale_hours_apply(const struct scale_hours *hours, size_t n, const struct tz *tz, int64_t t,
    struct scale_rule *r);

/* The first whole minute after t at which min or max will be another one, within 8 days; 0: none.
 * Fills *then_out. */
int64_t scale_hours_next(const struct scale_hours *hours, size_t n, const struct tz *tz, int64_t t,
    const struct scale_rule *base, struct scale_rule *then_out);

#endif
