#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/hash.h"
#include "util/time.h"

#define NOW INT64_C(1796032800)		/* 2026-11-30T10:00:00Z, by date -u -d @1796032800 */

/* The C library computes the calendar by another way. */
static void
test_calendar(void)
{
	int fmt = 1, back = 1, weekday = 1, month = 1;

	for (uint64_t i = 0; i < 20000; i++) {
		time_t t = (time_t)(hash_u64(i) % (TIME_MAX + 1));
		struct time_civil c = time_to_civil(t);
		struct tm tm;
		char want[32], got[TIME_FMT_SIZE];

		gmtime_r(&t, &tm);
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &tm);
		fmt = fmt && strcmp(time_fmt(got, t), want) == 0;
		back = back && time_from_civil(c) == t && timegm(&tm) == t;
		weekday = weekday && time_weekday(t) == (tm.tm_wday + 6) % 7;
		tm.tm_mday = 1;
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		month = month && time_month_start(t) == timegm(&tm);
	}
	tap_ok(fmt, "20000 times are written as strftime() writes them");
	tap_ok(back, "and the calendar leads back");
	tap_ok(weekday, "on the same weekday");
	tap_ok(month, "of a month with the same start");
	tap_is_long(time_floor(-1, 3600), -3600, "floor goes down below 0 too");
	tap_is_long(time_floor(7200, 3600), 7200, "a multiple is its own floor");
	tap_ok(time_floor(INT64_MIN, 3600) == INT64_MIN, "the start of all time is its own floor");
}

static int64_t
at(const char *s)
{
	struct berth_err err = { 0 };
	int64_t t = -1;

	if (time_parse(s, NOW, NULL, 0, &t, &err) != BERTH_OK)
		tap_diag("%s: %s", s, err.msg);
	return t;
}

static void
test_months(void)
{
	tap_is_long(time_add_months(at("2026-01-31T12:00:00Z"), 1), at("2026-02-28T12:00:00Z"), "31 January + 1");
	tap_is_long(time_add_months(at("2024-01-31T12:00:00Z"), 1), at("2024-02-29T12:00:00Z"), "in a leap year");
	tap_is_long(time_add_months(at("2026-11-30T00:00:00Z"), 36), at("2029-11-30T00:00:00Z"), "+ 36 months");
	tap_is_long(time_add_months(at("2026-03-31T00:00:00Z"), -13), at("2025-02-28T00:00:00Z"), "- 13 months");
	tap_is_long(time_add_months(at("2026-12-15T00:00:00Z"), 1), at("2027-01-15T00:00:00Z"), "over the year's end");
}

static void
test_parse(void)
{
	static const struct { const char *s; int64_t t; unsigned flags; } good[] = {
		{ "2026-11-30T10:00:00Z", NOW, 0 }, { "2026-11-30t10:00:00z", NOW, 0 },
		{ "2026-11-30 10:00:00+00:00", NOW, 0 }, { "2026-11-30T11:00:00+01:00", NOW, 0 },
		{ "2026-11-30T04:30:00-0530", NOW, 0 }, { "2026-11-30T09:00-01", NOW, 0 },
		{ "2026-11-30 10:00:00 UTC", NOW, 0 }, { "2026-11-30T10:00:00.999999Z", NOW, 0 },
		{ "2026-11-30T10:00:00,5Z", NOW, 0 }, { "2026-12-01T09:59:00+23:59", NOW, 0 },
		{ "2016-12-31T23:59:60Z", 1483228799, 0 },	/* a real leap second; 2017 began at 1483228800 */
		{ "1970-01-01T00:00:00Z", 0, 0 }, { "2199-12-31T23:59:59Z", TIME_MAX, 0 },
		{ "2024-02-29T00:00:00Z", 1709164800, 0 }, { "2000-02-29T00:00:00Z", 951782400, 0 },
		{ "now", NOW, 0 }, { "+1h", NOW + 3600, 0 }, { "-2d", NOW - 172800, 0 }, { "now-4w", NOW - 2419200, 0 },
		{ "+1h30m", NOW + 5400, 0 }, { "1796032800", NOW, TIME_EPOCH }, { "1796032800.75", NOW, TIME_EPOCH },
		{ "1796032800999", NOW, TIME_EPOCH }, { "1796032800999999", NOW, TIME_EPOCH },
		{ "1796032800999999999", NOW, TIME_EPOCH }, { "0", 0, TIME_EPOCH }, { "86400", 86400, TIME_EPOCH },
	};
	static const struct { const char *s; const char *says; unsigned flags; } bad[] = {
		{ "2026-11-30T10:00:00", "time without zone: add Z or an offset, as in 2026-11-30T10:00:00Z", 0 },
		{ "2026-11-30", "time without zone", 0 }, { "2026-11-30 10:00", "time without zone", 0 },
		{ "2026-02-29T00:00:00Z", "no such day", 0 }, { "2100-02-29T00:00:00Z", "no such day", 0 },
		{ "2026-13-01T00:00:00Z", "no such day", 0 }, { "2026-00-01T00:00:00Z", "no such day", 0 },
		{ "2026-04-31T00:00:00Z", "no such day", 0 }, { "2026-04-00T00:00:00Z", "no such day", 0 },
		{ "2026-11-30T24:00:00Z", "no such time of day", 0 }, { "2026-11-30T10:60:00Z", "no such time", 0 },
		{ "2026-11-30T10:00:61Z", "no such time of day", 0 }, { "1969-12-31T23:59:59Z", "1970 to 2199", 0 },
		{ "2200-01-01T00:00:00Z", "1970 to 2199", 0 }, { "1970-01-01T00:00:00+01:00", "1970 to 2199", 0 },
		{ "2026-11-30T10:00:00+24:00", "is not a time", 0 }, { "2026-11-30T10:00:00+1", "is not a time", 0 },
		{ "2026-11-30T10:00:00+01:60", "is not a time", 0 }, { "2026-11-30T10:00:00.Z", "is not a time", 0 },
		{ "2026-11-30T10:00:00X", "is not a time", 0 }, { "2026-11-30T10:00:00Zx", "is not a time", 0 },
		{ "30.11.2026", "is not a time", 0 }, { "11/30/2026", "is not a time", 0 }, { "", "is not a time", 0 },
		{ "tomorrow", "is not a time", 0 }, { "2026-11-30T1:00:00Z", "is not a time", 0 },
		{ "2026-11-30T10:00:00ZZ", "is not a time", 0 }, { "nowhere", "is not a time", 0 },
		{ "1796032800", "bare number", 0 }, { "45991", "spreadsheet's serial date", TIME_EPOCH },
		{ "45991.5", "spreadsheet's serial date", TIME_EPOCH }, { "45991", "spreadsheet's serial date", 0 },
		{ "20261130", "write the time", TIME_EPOCH }, { "17960328009999999", "1970 to 2199", TIME_EPOCH },
		{ "99999999999", "1970 to 2199", TIME_EPOCH }, { "9999999999999999999999", "1970", TIME_EPOCH },
		{ "+1", "has no unit", 0 }, { "-", "duration", 0 }, { "+200w", "relative", TIME_ABSOLUTE },
		{ "now", "relative", TIME_ABSOLUTE }, { "-5000w", "1970 to 2199", 0 },
	};
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		int64_t t = -1;

		tap_code(time_parse(good[i].s, NOW, NULL, good[i].flags, &t, &err), BERTH_OK, &err);
		tap_is_long(t, good[i].t, "'%s'", good[i].s);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int64_t t = -1;

		tap_ok(time_parse(bad[i].s, NOW, NULL, bad[i].flags, &t, &err) == BERTH_EINVAL && t == -1,
		    "'%s' is refused", bad[i].s);
		tap_ok(strstr(err.msg, bad[i].says) != NULL, "because: %s", bad[i].says);
	}
}

static void
test_round_trip(void)
{
	int same = 1;

	for (uint64_t i = 0; i < 20000; i++) {
		int64_t t = (int64_t)(hash_u64(i + 9) % (TIME_MAX + 1)), back = -1;
		int minutes = (int)(hash_u64(i + 5) % 2879) - 1439;
		int64_t wall = t + minutes * 60;
		char text[64], f[TIME_FMT_SIZE];

		if (wall < 0)
			continue;
		time_fmt(f, wall);
		f[19] = '\0';
		snprintf(text, sizeof(text), "%s%c%02d:%02d", f, minutes < 0 ? '-' : '+', abs(minutes) / 60,
		    abs(minutes) % 60);
		same = same && time_parse(text, 0, NULL, TIME_ABSOLUTE, &back, NULL) == BERTH_OK && back == t;
	}
	tap_ok(same, "20000 times with offsets read back");
}

static void
test_duration(void)
{
	static const struct { const char *s; int64_t want; } t[] = {
		{ "90m", 5400 }, { "36h", 129600 }, { "4w", 2419200 }, { "2d", 172800 }, { "30s", 30 },
		{ "1h30m", 5400 }, { "1w2d3h4m5s", 788645 }, { "1.5h", 5400 }, { "0.5m", 30 }, { "0", 0 }, { "0s", 0 },
		{ "0.25d", 21600 }, { "1.5s", -1 }, { "0.001h", -1 }, { "1m1h", -1 }, { "1h1h", -1 }, { "", -1 },
		{ "h", -1 }, { "5", -1 }, { "5 h", -1 }, { "-5h", -1 }, { "+5h", -1 }, { "5H", -1 }, { "5hours", -1 },
		{ "99999999999999999999s", -1 }, { "200000w", -1 }, { "1..5h", -1 }, { ".5h", -1 }, { "1ms", -1 },
		{ "1.h", -1 }, { "1e3s", -1 },
	};
	char text[DURATION_FMT_SIZE];
	int same = 1;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		int64_t s = -1;

		if (duration_parse(t[i].s, &s, NULL) != BERTH_OK)
			s = -1;
		tap_is_long(s, t[i].want, "duration '%s'", t[i].s);
	}
	tap_is_str(duration_fmt(text, 5400), "1h30m", "5400 s");
	tap_is_str(duration_fmt(text, 0), "0s", "0 s");
	tap_is_str(duration_fmt(text, -86400), "-1d", "a negative one");
	tap_is_str(duration_fmt(text, INT64_MIN), "-15250284452471w3d15h30m8s", "the most negative one fits");
	for (uint64_t i = 0; i < 10000; i++) {
		int64_t s = (int64_t)(hash_u64(i) % 6000000000), back = -1;

		same = same && duration_parse(duration_fmt(text, s), &back, NULL) == BERTH_OK && back == s;
	}
	tap_ok(same, "10000 durations read back");
}

static const char *const zones[] = { "Europe/Berlin", "America/New_York", "Asia/Shanghai", "Asia/Kolkata",
	"Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca", "Europe/Dublin",
	"America/St_Johns", "Asia/Tehran", "Pacific/Chatham", "America/Santiago", "Antarctica/Troll", "UTC" };

static int32_t
libc_offset(time_t t)
{
	struct tm tm;

	localtime_r(&t, &tm);
	return (int32_t)tm.tm_gmtoff;
}

/* Every instant whose wall clock shows `wall`, found by trying all offsets there are. */
static int
libc_instants(int64_t wall, int64_t *first_out)
{
	int n = 0;

	for (int32_t off = 15 * 3600; off >= -15 * 3600; off -= 900) {	/* the earliest instant first */
		if (libc_offset(wall - off) != off)
			continue;
		if (n++ == 0)
			*first_out = wall - off;
	}
	return n;
}

/* The next change of offset within a year behind t, else t. */
static int64_t
libc_change(int64_t t)
{
	for (int64_t lo = t; lo < t + 366 * 86400; lo += 7 * 86400) {
		int64_t a = lo, b = lo + 7 * 86400;

		if (libc_offset(a) == libc_offset(b))
			continue;
		while (b - a > 1) {
			int64_t mid = a + (b - a) / 2;

			if (libc_offset(mid) == libc_offset(a))
				a = mid;
			else
				b = mid;
		}
		return b;
	}
	return t;
}

static void
test_zone(struct arena *a, const char *name)
{
	struct berth_err err = { 0 };
	const struct tz *tz;
	int same = 1, instants = 1, odd = 0;

	setenv("TZ", name, 1);
	tzset();
	tap_code(tz_load(a, name, &tz, &err), BERTH_OK, &err);
	for (uint64_t i = 0; i < 1000 && same && instants; i++) {
		int64_t t = (int64_t)(hash_u64(i) % (TIME_MAX + 1)), wall, first = 0;
		enum tz_note note, want;
		int n;

		same = tz_offset(tz, t) == libc_offset(t);
		/* Most wall clocks are plain: look at the hours around changes. */
		wall = i % 2 == 0 ? libc_change(t) : t;
		wall += libc_offset(wall) + (int64_t)(hash_u64(i + 3) % 16) * 900 - 7200;
		n = libc_instants(wall, &first);
		want = n == 0 ? TZ_GAP : n > 1 ? TZ_AMBIGUOUS : TZ_PLAIN;
		odd += want != TZ_PLAIN;
		t = tz_instant(tz, wall, &note);
		instants = note == want && (n == 0 || t == first);
		if (!same || !instants)
			tap_diag("%s: t %" PRId64 " wall %" PRId64 ": %d instants", name, t, wall, n);
	}
	tap_ok(same, "%s: offsets are those of the C library, 1970 to 2199", name);
	tap_ok(instants, "%s: wall clocks lead to its instants (%d odd hours)", name, odd);
	setenv("TZ", "UTC", 1);
	tzset();
}

static int64_t
in_zone(const struct tz *tz, const char *s, enum tz_note *note)
{
	struct berth_err err = { 0 };
	int64_t t = -1;

	if (time_parse_noted(s, NOW, tz, 0, &t, note, &err) != BERTH_OK)
		tap_diag("%s: %s", s, err.msg);
	return t;
}

/* The published days of 2026: EU directive 2000/84/EC (29 March, 25 October, 01:00Z); US 15 U.S.C. 260a (8 March, 1 Nov.). */
static void
test_dst_days(struct arena *a)
{
	struct berth_err err = { 0 };
	const struct tz *berlin, *ny;
	enum tz_note note, n2;

	tap_code(tz_load(a, "Europe/Berlin", &berlin, &err), BERTH_OK, &err);
	tap_code(tz_load(a, "America/New_York", &ny, &err), BERTH_OK, &err);
	tap_is_long(in_zone(berlin, "2026-03-30", &n2) - in_zone(berlin, "2026-03-29", &note), 23 * 3600,
	    "29 March in Berlin has 23 hours");
	tap_is_long(in_zone(berlin, "2026-10-26", &n2) - in_zone(berlin, "2026-10-25", &note), 25 * 3600,
	    "25 October in Berlin has 25 hours");
	tap_is_long(in_zone(ny, "2026-03-09", &n2) - in_zone(ny, "2026-03-08", &note), 23 * 3600,
	    "8 March in New York has 23 hours");
	tap_is_long(in_zone(ny, "2026-11-02", &n2) - in_zone(ny, "2026-11-01", &note), 25 * 3600,
	    "1 November in New York has 25 hours");
	tap_is_long(in_zone(berlin, "2026-10-25T02:30:00", &note), at("2026-10-25T00:30:00Z"), "02:30 twice: the first");
	tap_is_long(note, TZ_AMBIGUOUS, "and it is reported");
	tap_is_long(in_zone(berlin, "2026-03-29T02:30:00", &note), at("2026-03-29T01:30:00Z"), "02:30 never: an hour later");
	tap_is_long(note, TZ_GAP, "and it is reported");
	tap_is_long(in_zone(berlin, "2026-10-25T03:00:00", &note), at("2026-10-25T02:00:00Z"), "03:00 is plain again");
	tap_is_long(note, TZ_PLAIN, "and not reported");
	tap_is_long(in_zone(ny, "2026-11-01 01:30:00", &note), at("2026-11-01T05:30:00Z"), "01:30 in New York: the first");
	tap_is_long(in_zone(berlin, "2026-10-25T02:30:00+01:00", &note), at("2026-10-25T01:30:00Z"),
	    "an offset in the text wins over the zone");
	tap_is_long(in_zone(berlin, "2099-07-01T12:00:00", &note), at("2099-07-01T10:00:00Z"), "the rule goes on");
}

static void
test_fixed(struct arena *a)
{
	static const struct { const char *s; long want; } t[] = {
		{ "+02:00", 7200 }, { "-0330", -12600 }, { "+01", 3600 }, { "Z", 0 }, { "utc", 0 }, { "+23:59", 86340 },
		{ "+24:00", -1 }, { "+1", -1 }, { "+01:", -1 }, { "+01:0", -1 }, { "+01::0", -1 }, { "+01000", -1 },
		{ "../etc/passwd", -1 }, { "/etc/passwd", -1 }, { "Europe/../x", -1 }, { "", -1 }, { "Mars/Base", -1 },
		{ "Europe", -1 },
	};
	const struct tz *tz;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		enum berth_code rc = tz_load(a, t[i].s, &tz, NULL);

		tap_is_long(rc == BERTH_OK ? tz_offset(tz, NOW) : -1, t[i].want, "zone '%s'", t[i].s);
	}
}

/* Damaged files: each prefix of a real one, and each byte of its start turned over, end without harm. */
static void
test_damaged(struct arena *a)
{
	unsigned char bytes[8192];
	const struct tz *tz;
	size_t n;
	int refused = 0;
	FILE *f = fopen("/usr/share/zoneinfo/Europe/Berlin", "rb");

	if (f == NULL) {
		tap_skip("damaged zone files", "no zoneinfo");
		return;
	}
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	for (size_t i = 0; i < n; i++) {
		unsigned char *copy = malloc(i + 1);	/* exact, so that a read beyond is seen */

		memcpy(copy, bytes, i);
		refused += tz_parse(a, "x", copy, i, &tz, NULL) == BERTH_EINVAL;
		free(copy);
	}
	tap_is_long(refused, (long)n, "every prefix is refused");
	for (size_t i = 0; i < n; i++) {
		bytes[i] ^= 0xff;
		if (tz_parse(a, "x", bytes, n, &tz, NULL) == BERTH_OK) {
			tz_offset(tz, NOW);
			tz_instant(tz, NOW, NULL);
		}
		bytes[i] ^= 0xff;
	}
	tap_code(tz_parse(a, "x", bytes, n, &tz, NULL), BERTH_OK, NULL);
}

int
main(void)
{
	struct arena *a = arena_new();

	setenv("TZ", "UTC", 1);
	test_calendar();
	test_months();
	test_parse();
	test_round_trip();
	test_duration();
	test_fixed(a);
	if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0) {
		for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++)
			test_zone(a, zones[i]);
		test_dst_days(a);
	} else {
		tap_skip("named zones", "no zoneinfo");
	}
	test_damaged(a);
	arena_free(a);
	return tap_done();
}
