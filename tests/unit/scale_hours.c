/* Autoscaling: hours, with limits and headroom of their own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/scalehours.h"
#include "tests/tap.h"
#include "tests/unit/scale_fleet.h"
#include "util/rng.h"

static void
hours_are(const char *const *texts, size_t n, const char *zone, const char *what, int64_t t, int64_t boot, int64_t min, int64_t max)
{
	struct scale_rule r = { .min = 1, .max = 10, .boot_s = boot };
	struct arena *a = arena_new();
	struct scale_hours h[4];
	const struct tz *tz;
	struct berth_err err;
	bool ok = tz_load(a, zone, &tz, &err) == BERTH_OK;

	for (size_t i = 0; ok && i < n; i++)
		ok = scale_hours_parse(texts[i], &h[i], &err) == BERTH_OK;
	if (ok)
		scale_hours_apply(h, n, tz, t, &r);
	tap_ok(ok && r.min == min && r.max == max, "%s: %lld..%lld (want %lld..%lld)", what, (long long)r.min, (long long)r.max,
	    (long long)min, (long long)max);
	arena_free(a);
}

/* 2027-03-29 and 2027-11-01 are the Mondays after the clocks of Berlin changed. */
static void
test_hours(void)
{
	static const char *const work[] = { "mon-fri 08:00-20:00 4..20", "sat sun 00:00-24:00 ..2" }, *const night[] = { "fri 22:00-06:00 3.." },
		*const gap[] = { "sun 02:15-02:45 5.." };
	static const char *const bad[] = { "", "8:00-20:00 1..2", "mon-fri", "mon-fry 08:00-20:00 1..2", "08:00-24:30 1..2",
		"24:00-08:00 1..2", "08:00-20:00 5..2", "08:00-20:00 ..", "08:00-20:00 1..2 x", "08:60-20:00 1..", "mon,tue 08:00-20:00 1..",
		"08:00-20:00 9999999..", "Mon 08:00-20:00 1..", "mon  08:00-20:00 1.." };
	int64_t mon = INT64_C(1796601600);	/* 2026-12-07T00:00:00Z, a Monday */
	int refused = 0;

	hours_are(work, 2, "UTC", "Monday 07:59", mon + 8 * 3600 - 60, 0, 1, 10);
	hours_are(work, 2, "UTC", "Monday 08:00", mon + 8 * 3600, 0, 4, 20);
	hours_are(work, 2, "UTC", "Monday 19:59", mon + 20 * 3600 - 60, 0, 4, 20);
	hours_are(work, 2, "UTC", "Monday 20:00", mon + 20 * 3600, 0, 1, 10);
	hours_are(work, 2, "UTC", "Monday 07:55 with 5 min to boot: the least of 08:00 counts, the most does not", mon + 8 * 3600 - 300, 300,
	    4, 10);
	hours_are(work, 2, "UTC", "Saturday", mon + 5 * 86400 + 3600, 0, 1, 2);
	hours_are(work, 2, "UTC", "Sunday 23:59", mon - 60, 0, 1, 2);
	hours_are(night, 1, "UTC", "Friday 21:59", mon + 4 * 86400 + 22 * 3600 - 60, 0, 1, 10);
	hours_are(night, 1, "UTC", "Friday 22:00", mon + 4 * 86400 + 22 * 3600, 0, 3, 10);
	hours_are(night, 1, "UTC", "Saturday 05:59, of the night that began on Friday", mon + 5 * 86400 + 6 * 3600 - 60, 0, 3, 10);
	hours_are(night, 1, "UTC", "Saturday 22:00", mon + 5 * 86400 + 22 * 3600, 0, 1, 10);
	hours_are(work, 2, "Europe/Berlin", "Monday 06:59Z in winter is 07:59", mon + 7 * 3600 - 60, 0, 1, 10);
	hours_are(work, 2, "Europe/Berlin", "Monday 07:00Z in winter is 08:00", mon + 7 * 3600, 0, 4, 20);
	hours_are(work, 2, "Europe/Berlin", "2027-03-29T05:59Z in summer is 07:59", INT64_C(1806278400) + 6 * 3600 - 60, 0, 1, 10);
	hours_are(work, 2, "Europe/Berlin", "2027-03-29T06:00Z in summer is 08:00", INT64_C(1806278400) + 6 * 3600, 0, 4, 20);
	hours_are(work, 2, "Europe/Berlin", "2027-11-01T06:59Z in winter again", INT64_C(1825027200) + 7 * 3600 - 60, 0, 1, 10);
	hours_are(work, 2, "Europe/Berlin", "2027-11-01T07:00Z in winter again", INT64_C(1825027200) + 7 * 3600, 0, 4, 20);
	hours_are(gap, 1, "Europe/Berlin", "hours that the clock skips do not come", INT64_C(1806278400) - 86400 + 3600, 0, 1, 10);
	hours_are(gap, 1, "Europe/Berlin", "hours that run twice come twice: first", INT64_C(1825027200) - 86400 + 1800, 0, 5, 10);
	hours_are(gap, 1, "Europe/Berlin", "hours that run twice come twice: second", INT64_C(1825027200) - 86400 + 1800 + 3600, 0, 5, 10);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct scale_hours h;
		struct berth_err err;

		refused += scale_hours_parse(bad[i], &h, &err) == BERTH_EINVAL;
	}
	tap_is_long(refused, (long)(sizeof(bad) / sizeof(bad[0])), "hours that are none are refused");
}

static void
spare_is(const char *const *texts, size_t n, const char *zone, const char *what, int64_t t, int64_t boot,
    int64_t machines, double share)
{
	struct scale_rule r = { .min = 1, .max = 10, .boot_s = boot, .headroom.machines = 1 };
	struct arena *a = arena_new();
	struct scale_hours h[4];
	const struct tz *tz;
	struct berth_err err;
	bool ok = tz_load(a, zone, &tz, &err) == BERTH_OK;

	for (size_t i = 0; ok && i < n; i++)
		ok = scale_hours_parse(texts[i], &h[i], &err) == BERTH_OK;
	if (ok)
		scale_hours_apply(h, n, tz, t, &r);
	tap_ok(ok && r.headroom.machines == machines && fabs(r.headroom.share - share) < 1e-12, "%s: %lld and %g %%",
	    what, (long long)r.headroom.machines, 100 * r.headroom.share);
	arena_free(a);
}

/* Headroom by the hours: with and without bounds, before its hours begin, over the changes of the clocks. */
static void
test_headroom_hours(void)
{
	static const char *const work[] = { "mon-fri 08:00-20:00 4..20 +25%", "sat sun 00:00-24:00 +0",
		"22:00-06:00 2.." };
	static const char *const gap[] = { "sun 02:15-02:45 +50%" }, *const day[] = { "08:00-20:00 +3" };
	static const char *const bad[] = { "08:00-20:00", "08:00-20:00 +", "08:00-20:00 +x", "08:00-20:00 4..20+25%",
		"08:00-20:00 4..20  +2", "08:00-20:00 4..20 25%", "08:00-20:00 +2 4..20", "08:00-20:00 4..20 +-1",
		"08:00-20:00 +2 ",
		"08:00-20:00 +1001%", "08:00-20:00 4..20 +2 +3" };
	int64_t mon = INT64_C(1796601600);	/* 2026-12-07T00:00:00Z, a Monday */
	int64_t summer = INT64_C(1806278400) - 86400, winter = INT64_C(1825027200) - 86400;
	int refused = 0;

	spare_is(work, 3, "UTC", "Monday 07:59", mon + 8 * 3600 - 60, 0, 1, 0);
	spare_is(work, 3, "UTC", "Monday 08:00", mon + 8 * 3600, 0, 0, 0.25);
	spare_is(work, 3, "UTC", "Monday 07:55 with 5 min to boot: both", mon + 8 * 3600 - 300, 300, 1, 0.25);
	spare_is(work, 3, "UTC", "Monday 19:55 with 5 min to boot: both", mon + 20 * 3600 - 300, 300, 1, 0.25);
	spare_is(work, 3, "UTC", "Monday 23:00: hours that tell none have the fleet's", mon + 23 * 3600, 0, 1, 0);
	spare_is(work, 3, "UTC", "Saturday: none", mon + 5 * 86400 + 3600, 0, 0, 0);
	spare_is(day, 1, "Europe/Berlin", "the day before summer: 06:59Z", summer - 86400 + 7 * 3600 - 60, 0, 1, 0);
	spare_is(day, 1, "Europe/Berlin", "the day before summer: 07:00Z", summer - 86400 + 7 * 3600, 0, 3, 0);
	spare_is(day, 1, "Europe/Berlin", "the Sunday of summer: 05:59Z", summer + 6 * 3600 - 60, 0, 1, 0);
	spare_is(day, 1, "Europe/Berlin", "the Sunday of summer: 06:00Z", summer + 6 * 3600, 0, 3, 0);
	spare_is(day, 1, "Europe/Berlin", "the Sunday of winter: 06:59Z", winter + 7 * 3600 - 60, 0, 1, 0);
	spare_is(day, 1, "Europe/Berlin", "the Sunday of winter: 07:00Z", winter + 7 * 3600, 0, 3, 0);
	spare_is(gap, 1, "Europe/Berlin", "hours that the clock skips do not come", summer + 3600, 0, 1, 0);
	spare_is(gap, 1, "Europe/Berlin", "hours that run twice come twice: first", winter + 1800, 0, 0, 0.5);
	spare_is(gap, 1, "Europe/Berlin", "hours that run twice come twice: second", winter + 5400, 0, 0, 0.5);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct scale_hours h;
		struct berth_err err;

		refused += scale_hours_parse(bad[i], &h, &err) == BERTH_EINVAL;
	}
	tap_is_long(refused, (long)(sizeof(bad) / sizeof(bad[0])), "hours whose headroom is none are refused");
}

/* The percentile by the hours: of two that meet, the larger; with a number of machines both hold. */
static void
test_percentile_hours(void)
{
	static const char *const texts[] = { "mon-fri 08:00-12:00 4..20 +p90", "mon-fri 12:00-14:00 +p99",
		"mon-fri 14:00-20:00 +2" };
	static const struct {
		int64_t minute, percentile, machines;
	} is[] = { { 7 * 60 + 49, 50, 0 }, { 7 * 60 + 50, 90, 0 }, { 8 * 60, 90, 0 }, { 11 * 60 + 50, 99, 0 },
		{ 13 * 60 + 49, 99, 0 }, { 13 * 60 + 50, 99, 2 }, { 14 * 60, 0, 2 }, { 19 * 60 + 50, 50, 2 }, { 20 * 60, 50, 0 } };
	int64_t mon = INT64_C(1796601600);	/* 2026-12-07T00:00:00Z, a Monday */
	struct scale_rule base = { .min = 1, .max = 30, .boot_s = 600, .headroom.percentile = 50 }, then;
	struct arena *a = arena_new();
	struct scale_hours h[3];
	const struct tz *tz;
	struct berth_err err;
	bool ok = tz_load(a, "UTC", &tz, &err) == BERTH_OK;
	int wrong = 0;

	for (size_t i = 0; ok && i < 3; i++)
		ok = scale_hours_parse(texts[i], &h[i], &err) == BERTH_OK;
	for (size_t i = 0; ok && i < sizeof(is) / sizeof(is[0]); i++) {
		struct scale_rule r = base;

		scale_hours_apply(h, 3, tz, mon + 60 * is[i].minute, &r);
		wrong += r.headroom.percentile != is[i].percentile || r.headroom.machines != is[i].machines;
	}
	tap_ok(ok && wrong == 0, "the percentile of the hour, and of the hour to come: %d wrong", wrong);
	tap_is_long(ok ? scale_hours_next(h, 3, tz, mon + 9 * 3600, &base, &then) : 0, mon + 11 * 3600 + 50 * 60,
	    "and when it is another one");
	arena_free(a);
}

/* The day on which summer begins in Berlin, with and without noise: one order before the hours, one way down. */
static void
test_headroom_day(void)
{
	int64_t t0 = INT64_C(1806278400) - 86400, up = 0, down = 0;	/* 2027-03-28T00:00:00Z */
	struct arena *a = arena_new();
	struct scale_hours h[1];
	struct berth_err err;
	const struct tz *tz;
	struct rng g;
	int flaps = 0, ups = 0, runs = 0;

	rng_seed(&g, 29);
	if (tz_load(a, "Europe/Berlin", &tz, &err) != BERTH_OK ||
	    scale_hours_parse("08:00-20:00 +50%", &h[0], &err) != BERTH_OK) {
		tap_ok(false, "%s", err.msg);
		arena_free(a);
		return;
	}
	for (int n = 3; n <= 30; n++)
		for (int noisy = 0; noisy < 2; noisy++, runs += noisy) {
			static struct fleet f;
			struct scale_rule base;
			int64_t first_up = 0, first_down = 0, last_down = -1000000;
			int u = 0, d = 0;

			fleet_init(&f, n, 600);
			f.t = t0;
			base = f.rule;
			while (f.t < t0 + 86400) {
				f.rule = base;
				scale_hours_apply(h, 1, tz, f.t, &f.rule);
				fleet_step(&f, 8.0 * n * (1 - 0.05 * noisy * rng_unit(&g)), NAN, 0);
				first_up = f.ups > u && first_up == 0 ? f.t - STEP : first_up;
				first_down = f.downs > d && first_down == 0 && first_up > 0 ? f.t - STEP : first_down;
				last_down = f.downs > d ? f.t : last_down;
				flaps += f.ups > u && f.t - last_down < 1800;
				u = f.ups;
				d = f.downs;
			}
			ups += noisy * f.ups;
			if (noisy == 0) {
				up += first_up == t0 + 6 * 3600 - 600 && f.ups == 1;
				down += first_down == t0 + 18 * 3600 + 1800 - STEP && f.ready >= n && 10 * f.ready <= 11 * n;
			}
		}
	tap_is_long(up, 28, "half more at 07:50 of summer time, in one order");
	tap_is_long(down, 28, "and back, within the tolerance, a window after 20:00");
	tap_is_long(flaps, 0, "with noise never down and up again within the window");
	tap_ok(ups <= 3 * runs, "and few orders (%d in %d days)", ups, runs);
	arena_free(a);
}

int
main(void)
{
	test_headroom_hours();
	test_percentile_hours();
	test_headroom_day();
	test_hours();
	return tap_done();
}
