/* Days off: earned or not; expectations are how the series were made. */
#include <math.h>
#include <string.h>

#include "forecast/forecast.h"
#include "tests/tap.h"

enum { HOURS = 24 * 7 * 14, AHEAD = 240, OFF = 6 };

static const int64_t start = 1704067200;	/* 2024-01-01T00:00:00Z, a Monday */
static double y[HOURS], peak[HOURS];
static int64_t days[OFF + 1];	/* Wednesdays of weeks 4, 6 ... and of the second week ahead */
static int64_t shift_s;

static double
noise(int t)
{
	return (double)((t * 7919) % 101) / 101 - 0.5;
}

static int64_t
offset(void *arg, int64_t t)
{
	(void)t;
	return *(int64_t *)arg;
}

static bool
is_off(int64_t day)
{
	for (int i = 0; i <= OFF; i++)
		if (days[i] == day)
			return true;
	return false;
}

/* Demand in a usual week by the wall clock: 100 from 9 to 17 on weekdays, else 20. */
static double
office(int64_t t, bool sunday)
{
	int64_t wall = t + shift_s, hour = wall / 3600 % 24, day = (wall / 86400 + 3) % 7;

	return !sunday && day < 5 && hour >= 9 && hour < 17 ? 100 : 20;
}

static void
forecast(struct arena *a, size_t n_days, struct fc_result *r)
{
	struct fc_series s = { "s", start, 3600, HOURS, y, peak };
	struct fc_options o;
	struct berth_err err = { 0 };

	fc_options_init(&o);
	o.horizon = AHEAD;
	o.holidays = days;
	o.n_holidays = n_days;
	if (shift_s != 0) {
		o.utc_offset = offset;
		o.utc_offset_arg = &shift_s;
	}
	for (int t = 0; t < HOURS; t++)
		peak[t] = 1.2 * y[t];
	tap_code(fc_run(&s, &o, a, r, &err), BERTH_OK, &err);
}

static void
like_sundays(struct arena *a)
{
	struct fc_result r, none;
	double worst = 0, off = 0, top = 0;

	for (int t = 0; t < HOURS; t++) {
		int64_t at = start + 3600 * (int64_t)t;

		y[t] = office(at, is_off((at + shift_s) / 86400)) + noise(t);
	}
	forecast(a, OFF + 1, &r);
	tap_is_long(r.holiday.effect, FC_HOLIDAY_SUNDAY, "days off that are like Sundays are seen to be");
	tap_is_long((long long)r.holiday.past, OFF, "all of them are looked at");
	tap_is_long((long long)r.holiday.ahead, 1, "one lies ahead");
	tap_ok(r.holiday.gain > .9, "they explain nearly all (%.3f)", r.holiday.gain);
	for (size_t i = 0; i < AHEAD; i++) {
		int64_t at = r.t0 + 3600 * (int64_t)i;

		worst = fmax(worst, fabs(r.mean[i] - office(at, is_off((at + shift_s) / 86400))));
		if (is_off((at + shift_s) / 86400))
			for (size_t k = 0; k < r.n_paths; k++)
				top = fmax(top, r.paths[k * AHEAD + i]);
	}
	tap_near(worst, 0, 4, "the day off ahead is forecast by the hour, and all other days too");
	tap_ok(top < 90, "its paths have no office hours (%.0f)", top);
	forecast(a, 0, &none);
	for (size_t i = 0; i < AHEAD; i++) {
		int64_t at = r.t0 + 3600 * (int64_t)i;

		if (is_off((at + shift_s) / 86400))
			off = fmax(off, fabs(none.mean[i] - office(at, true)));
	}
	tap_ok(off > 50, "without the list the day is missed (%.0f)", off);
}

static void
factor(struct arena *a)
{
	struct fc_result r;

	for (int t = 0; t < HOURS; t++)
		y[t] = (80 + 10 * sin(t * 6.283185307179586 / 24) + noise(t)) * (is_off((start + 3600 * (int64_t)t) / 86400) ? .5 : 1);
	forecast(a, OFF + 1, &r);
	tap_is_long(r.holiday.effect, FC_HOLIDAY_FACTOR, "half of a usual day is a factor");
	/* exp(6/7 log .5): six days of the seven that the shrinkage counts */
	tap_near(r.holiday.ratio, pow(.5, 6.0 / 7), .01, "of nearly a half");
}

static void
not_earned(struct arena *a)
{
	struct fc_result r, none;

	for (int t = 0; t < HOURS; t++)
		y[t] = office(start + 3600 * (int64_t)t, false) + 8 * noise(t);
	forecast(a, OFF + 1, &r);
	tap_is_long(r.holiday.effect, FC_HOLIDAY_NONE, "days that are like any other earn no effect");
	forecast(a, 0, &none);
	tap_ok(memcmp(r.mean, none.mean, AHEAD * sizeof(double)) == 0 && memcmp(r.paths, none.paths, AHEAD * r.n_paths *
	    sizeof(double)) == 0, "then the list changes no byte");
	for (int t = 0; t < HOURS; t++)
		y[t] = office(start + 3600 * (int64_t)t, is_off((start + 3600 * (int64_t)t) / 86400));
	forecast(a, 2, &r);
	tap_is_long(r.holiday.effect, FC_HOLIDAY_NONE, "two days are too few");
	tap_is_long((long long)r.holiday.past, 2, "but are counted");
}

int
main(void)
{
	struct arena *a = arena_new();

	for (int i = 0; i < OFF; i++)
		days[i] = start / 86400 + 7 * (2 * i + 2) + 2;
	days[OFF] = start / 86400 + 7 * 15 + 2;
	like_sundays(a);
	shift_s = 9 * 3600;	/* Tokyo: its Wednesday begins at 15:00 UTC on Tuesday */
	like_sundays(a);
	shift_s = 0;
	factor(a);
	not_earned(a);
	arena_free(a);
	return tap_done();
}
