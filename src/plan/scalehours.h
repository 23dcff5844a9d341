/* src/plan/scalehours.h - bounds and headroom of a fleet by the hours of the week.  Floor:
 * domain. */
#ifndef BERTH_PLAN_SCALEHOURS_H
#define BERTH_PLAN_SCALEHOURS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/scale.h"
#include "util/err.h"
#include "util/tz.h"

/* "2" machines, "20%" of what the load asks for, "16gpus", "p90" of the forecast: p50, p90, p95 or
 * p99, those that are kept. Errors: BERTH_EINVAL says what is wrong. */
BERTH_MUST_CHECK enum berth_code scale_headroom_parse(
    const char *text, struct scale_headroom *out, struct berth_err *err);
/* a := what holds where both are asked for. */
void scale_headroom_join(struct scale_headroom *a, const struct scale_headroom *b);
bool scale_headroom_none(const struct scale_headroom *h);
bool scale_headroom_eq(const struct scale_headroom *a, const struct scale_headroom *b);

struct scale_hours {
	unsigned days;        /* bit 0 Monday .. bit 6 Sunday: on which it begins */
	int32_t from_s, to_s; /* of the clock's day, from_s < 86400, to_s <= 86400; to_s <= from_s:
				 on into the next day */
	int64_t min, max;     /* machines; -1: as without it */
	bool spare;           /* it tells the headroom */
	struct scale_headroom headroom;
	const char *text; /* as it was written */
};

/*
 * "[DAYS ]HH:MM-HH:MM [MIN..MAX] [+HEADROOM]", as in "mon-fri 08:00-20:00 4..20 +25%", "sat sun
 * 22:00-06:00 ..2", "00:00-24:00 +2"; one of the last two at least. Without days all of them. text
 * is borrowed. Errors: BERTH_EINVAL says what is wrong.
 */
BERTH_MUST_CHECK enum berth_code scale_hours_parse(
    const char *text, struct scale_hours *out, struct berth_err *err);

/* The first of hours [n] that holds at t by the clock of tz; NULL: none. */
const struct scale_hours *scale_hours_at(
    const struct scale_hours *hours, size_t n, const struct tz *tz, int64_t t);

/*
 * min, max and headroom of the rule at t. The minimum and the headroom of t + boot_s count already,
 * so that machines work when their hours begin; the maximum gives way to the minimum. Fails
 * nowhere: the result has 0 <= min <= max if each of hours and the rule have.
 */
void scale_hours_apply(const struct scale_hours *hours, size_t n, const struct tz *tz, int64_t t,
    struct scale_rule *r);

/* The first whole minute after t at which min, max or headroom will be another one, within 8 days;
 * 0: none. Fills *then_out. */
int64_t scale_hours_next(const struct scale_hours *hours, size_t n, const struct tz *tz, int64_t t,
    const struct scale_rule *base, struct scale_rule *then_out);

#endif
