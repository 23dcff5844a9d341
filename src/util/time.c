#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/str.h"
#include "util/time.h"

#define TIME_EXAMPLE "as in 2026-11-30T10:00:00Z"
#define TIME_DAY INT64_C(86400)

static int64_t
time_floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Days since 1970-01-01; years begin in March, so that the leap day is last (H. Hinnant, 2013). */
static int64_t
time_days(int64_t year, int month, int day)
{
	int64_t y = year - (month <= 2), era = time_floor_div(y, 400), yoe = y - era * 400;
	int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

struct time_civil
time_to_civil(int64_t t)
{
	int64_t days = time_floor_div(t, TIME_DAY), s = t - days * TIME_DAY, z = days + 719468;
	int64_t era = time_floor_div(z, 146097), doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	int month = (int)(mp < 10 ? mp + 3 : mp - 9);

	return (struct time_civil){ (int)(yoe + era * 400 + (month <= 2)), month,
		(int)(doy - (153 * mp + 2) / 5 + 1), (int)(s / 3600), (int)(s / 60 % 60),
		(int)(s % 60) };
}

int64_t
time_from_civil(struct time_civil c)
{
	return time_days(c.year, c.month, c.day) * TIME_DAY + c.hour * 3600 + c.minute * 60 +
	       c.second;
}

int
time_weekday(int64_t t)
{
	return (
	    int)(((time_floor_div(t, TIME_DAY) + 3) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
}

int64_t
time_floor(int64_t t, int64_t step_s)
{
	int64_t past = t % step_s < 0 ? t % step_s + step_s : t % step_s;

	return t < INT64_MIN + past ? INT64_MIN : t - past; /* "since ever" stays so */
}

int64_t
time_month_start(int64_t t)
{
	struct time_civil c = time_to_civil(t);

	return time_days(c.year, c.month, 1) * TIME_DAY;
}

static int
time_month_days(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

int64_t
time_add_months(int64_t t, int months)
{
	struct time_civil c = time_to_civil(t);
	int64_t m = (int64_t)c.year * 12 + c.month - 1 + months;

	c.year = (int)time_floor_div(m, 12);
	c.month = (int)(m - (int64_t)c.year * 12) + 1;
	if (c.day > time_month_days(c.year, c.month))
		c.day = time_month_days(c.year, c.month);
	return time_from_civil(c);
}

char *
time_fmt(char dst[TIME_FMT_SIZE], int64_t t)
{
	struct time_civil c = time_to_civil(t);

	snprintf(dst, TIME_FMT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02dZ", c.year, c.month, c.day,
	    c.hour, c.minute, c.second);
	return dst;
}

char *
time_fmt_date(char dst[TIME_FMT_SIZE], int64_t t)
{
	struct time_civil c = time_to_civil(t);

	snprintf(dst, TIME_FMT_SIZE, "%04d-%02d-%02d", c.year, c.month, c.day);
	return dst;
}

static enum berth_code
time_store(const char *s, int64_t t, int64_t *t_out, struct berth_err *err)
{
	if (t < TIME_MIN || t > TIME_MAX)
		return err_set(
		    err, BERTH_EINVAL, "time '%.60s' is not within the years 1970 to 2199", s);
	*t_out = t;
	return BERTH_OK;
}

static enum berth_code
time_parse_relative(
    const char *s, int64_t now, unsigned flags, int64_t *t_out, struct berth_err *err)
{
	const char *d = *s == 'n' ? s + 3 : s;
	int64_t delta = 0;
	enum berth_code rc;

	if (flags & TIME_ABSOLUTE)
		return err_set(err, BERTH_EINVAL,
		    "time '%.60s' is relative: write the time itself, " TIME_EXAMPLE, s);
	if (*d != '\0') {
		rc = duration_parse(d + 1, &delta, err);
		if (rc != BERTH_OK) {
			err_ctx(err, "time '%.60s'", s);
			return rc;
		}
	}
	return time_store(s, *d == '-' ? now - delta : now + delta, t_out, err);
}

/* A number that somebody may have meant as a date, 20261130. */
static bool
time_is_compact_date(int64_t v)
{
	int year = (int)(v / 10000), month = (int)(v / 100 % 100), day = (int)(v % 100);

	return year >= 1970 && year < 2200 && month >= 1 && month <= 12 && day >= 1 &&
	       day <= time_month_days(year, month);
}

static enum berth_code
time_parse_number(const char *s, unsigned flags, int64_t *t_out, struct berth_err *err)
{
	int64_t v = 0;
	size_t n = 0;

	for (; str_is_digit(s[n]); n++)
		v = n < 18 || (n == 18 && v < INT64_MAX / 10) ? v * 10 + (s[n] - '0') : v;
	if (v >= 20000 && v <= 80000)
		return err_set(err, BERTH_EINVAL,
		    "time '%.60s' looks like a spreadsheet's serial date: write the "
		    "time, " TIME_EXAMPLE,
		    s);
	if (n == 8 && time_is_compact_date(v))
		return err_set(err, BERTH_EINVAL,
		    "time '%.60s' is a number: write the time, " TIME_EXAMPLE, s);
	if (!(flags & TIME_EPOCH))
		return err_set(err, BERTH_EINVAL,
		    "time '%.60s' is a bare number: write the time, " TIME_EXAMPLE, s);
	if (n > 11)
		v = n == 13   ? v / 1000
		    : n == 16 ? v / 1000000
		    : n == 19 ? v / 1000000000
			      : INT64_MAX;
	return time_store(s, v, t_out, err);
}

/* Exactly n digits at *p, and moves behind them; -1 if they are not there. */
static int
time_digits(const char **p, int n)
{
	const char *s = *p;
	int v = 0;

	for (int i = 0; i < n; i++) {
		if (!str_is_digit(s[i]))
			return -1;
		v = v * 10 + (s[i] - '0');
	}
	*p = s + n;
	return v;
}

/* "YYYY-MM-DD" and, unless the text ends there, a 'T' or a blank and the time of day. */
static bool
time_scan_civil(const char **p, struct time_civil *c)
{
	const char *s = *p;

	c->year = time_digits(&s, 4);
	if (c->year < 0 || *s++ != '-' || (c->month = time_digits(&s, 2)) < 0 || *s++ != '-' ||
	    (c->day = time_digits(&s, 2)) < 0)
		return false;
	*p = s;
	if (*s == '\0')
		return true;
	if ((*s != 'T' && *s != 't' && *s != ' ') || (s++, c->hour = time_digits(&s, 2)) < 0 ||
	    *s++ != ':' || (c->minute = time_digits(&s, 2)) < 0)
		return false;
	if (*s == ':') {
		s++;
		if ((c->second = time_digits(&s, 2)) < 0)
			return false;
		if (*s == '.' || *s == ',') {
			do
				s++;
			while (str_is_digit(*s));
			if (!str_is_digit(s[-1]))
				return false;
		}
	}
	*p = s;
	return true;
}

static enum berth_code
time_parse_calendar(const char *s, const struct tz *tz, int64_t *t_out, enum tz_note *note_out,
    struct berth_err *err)
{
	struct time_civil c = { 0 };
	const char *p = s;
	int32_t offset = 0;
	bool zoned;
	int64_t t;

	if (!time_scan_civil(&p, &c) || (*p != '\0' && !tz_fixed(p + (*p == ' '), &offset)))
		return err_set(err, BERTH_EINVAL, "'%.60s' is not a time, " TIME_EXAMPLE, s);
	if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > time_month_days(c.year, c.month))
		return err_set(err, BERTH_EINVAL, "time '%.60s': there is no such day", s);
	if (c.hour > 23 || c.minute > 59 || c.second > 60)
		return err_set(err, BERTH_EINVAL, "time '%.60s': there is no such time of day", s);
	if (c.second == 60)
		c.second = 59;
	zoned = *p != '\0';
	if (!zoned && tz == NULL)
		return err_set(err, BERTH_EINVAL,
		    "'%.60s' is a time without zone: add Z or an offset, " TIME_EXAMPLE, s);
	t = time_from_civil(c);
	return time_store(s, zoned ? t - offset : tz_instant(tz, t, note_out), t_out, err);
}

enum berth_code
time_parse_noted(const char *s, int64_t now, const struct tz *tz, unsigned flags, int64_t *t_out,
    enum tz_note *note_out, struct berth_err *err)
{
	size_t digits = strspn(s, "0123456789");
	size_t rest = s[digits] == '.' && digits > 0
			  ? digits + 1 + strspn(s + digits + 1, "0123456789")
			  : digits;

	*note_out = TZ_PLAIN;
	if (*s == '+' || *s == '-' ||
	    (str_starts(s, "now") && (s[3] == '\0' || s[3] == '+' || s[3] == '-')))
		return time_parse_relative(s, now, flags, t_out, err);
	if (digits > 0 && s[rest] == '\0')
		return time_parse_number(s, flags, t_out, err);
	return time_parse_calendar(s, tz, t_out, note_out, err);
}

enum berth_code
time_parse(const char *s, int64_t now, const struct tz *tz, unsigned flags, int64_t *t_out,
    struct berth_err *err)
{
	enum tz_note note;

	return time_parse_noted(s, now, tz, flags, t_out, &note, err);
}

int64_t
time_clock_s(void)
{
	return (int64_t)time(NULL);
}

int64_t
time_mono_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
