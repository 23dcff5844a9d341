#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/fileio.h"
#include "util/str.h"
#include "util/time.h"
#include "util/tz.h"

#define TZ_OFFSET_MAX (26 * 3600)
#define TZ_BYTES_MAX ((size_t)1024 * 1024)
#define TZ_DAY INT64_C(86400)

/* When a change of the footer's rule happens in each year (POSIX.1, TZ). */
struct tz_date {
	enum {
		TZ_JULIAN,
		TZ_YEAR_DAY,
		TZ_MONTH_WEEK
	} kind; /* Jn (no leap day), n (from 0), Mm.w.d */
	int month, week, day;
	int32_t at; /* seconds of wall clock behind midnight, may be negative or beyond a day */
};

struct tz_rule {
	int32_t std, dst; /* offsets east; equal if there is no summer time */
	bool has_dst;
	struct tz_date start, end;
};

struct tz {
	const char *name;
	size_t n;
	int64_t *at; /* [n] ascending: from at[i] on the offset is off[i] */
	int32_t *off;
	int32_t first; /* before at[0] */
	bool has_rule; /* for everything from at[n - 1] on */
	struct tz_rule rule;
};

const char *
tz_name(const struct tz *tz)
{
	return tz->name;
}

static int64_t
tz_year_start(int year)
{
	return time_from_civil((struct time_civil){ year, 1, 1, 0, 0, 0 });
}

/* Midnight of the date in that year, on the wall clock, as if UTC. */
static int64_t
tz_date_midnight(const struct tz_date *d, int year)
{
	int64_t jan1 = tz_year_start(year), first;
	bool leap = tz_year_start(year + 1) - jan1 == 366 * TZ_DAY;
	int day;

	switch (d->kind) {
	case TZ_JULIAN:
		return jan1 + TZ_DAY * (d->day - 1 + (leap && d->day >= 60));
	case TZ_YEAR_DAY:
		return jan1 + TZ_DAY * d->day;
	case TZ_MONTH_WEEK:
		first = time_from_civil((struct time_civil){ year, d->month, 1, 0, 0, 0 });
		day = (d->day - (time_weekday(first) + 1) % 7 + 7) % 7 + 7 * (d->week - 1);
		while (day >= (time_add_months(first, 1) - first) / TZ_DAY)
			day -= 7;
		return first + TZ_DAY * day;
	}
	return jan1;
}

static int32_t
tz_rule_offset(const struct tz_rule *r, int64_t t)
{
	int64_t start, end;
	int year;

	if (!r->has_dst)
		return r->std;
	year = time_to_civil(t + r->std).year;
	start = tz_date_midnight(&r->start, year) + r->start.at - r->std;
	end = tz_date_midnight(&r->end, year) + r->end.at - r->dst;
	if (start < end)
		return t >= start && t < end ? r->dst : r->std;
	return t >= end && t < start ? r->std : r->dst;
}

int32_t
tz_offset(const struct tz *tz, int64_t t)
{
	size_t lo = 0, hi = tz->n;

	if (tz->has_rule && (tz->n == 0 || t >= tz->at[tz->n - 1]))
		return tz_rule_offset(&tz->rule, t);
	while (lo < hi) { /* at[lo - 1] <= t < at[hi] */
		size_t mid = lo + (hi - lo) / 2;

		if (tz->at[mid] <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo == 0 ? tz->first : tz->off[lo - 1];
}

int64_t
tz_instant(const struct tz *tz, int64_t wall, enum tz_note *note_out)
{
	/* No offset is a day or more, so these two stand before and behind the instant looked for.
	 */
	int64_t a = wall - tz_offset(tz, wall - TZ_DAY), b = wall - tz_offset(tz, wall + TZ_DAY);
	bool a_fits = wall - tz_offset(tz, a) == a, b_fits = wall - tz_offset(tz, b) == b;
	enum tz_note note = TZ_PLAIN;

	if (a_fits && b_fits && a != b)
		note = TZ_AMBIGUOUS;
	else if (!a_fits && !b_fits)
		note = TZ_GAP;
	if (note_out != NULL)
		*note_out = note;
	if (note == TZ_AMBIGUOUS)
		return a < b ? a : b;
	return a_fits || note == TZ_GAP ? a : b;
}

/* The footer: "CET-1CEST,M3.5.0,M10.5.0/3". Each scanner moves *p and says whether it found its
 * part. */

static bool
tz_scan_name(const char **p)
{
	const char *s = *p, *from = s;

	if (*s == '<') {
		for (s = ++from; *s != '\0' && *s != '>'; s++)
			continue;
		*p = s + 1;
		return *s == '>' && s - from >= 3;
	}
	while (str_lower_char(*s) >= 'a' && str_lower_char(*s) <= 'z')
		s++;
	*p = s;
	return s - from >= 3;
}

static bool
tz_scan_int(const char **p, int max, int *out)
{
	int v = 0;

	if (!str_is_digit(**p))
		return false;
	for (; str_is_digit(**p); (*p)++) {
		v = v * 10 + (**p - '0');
		if (v > max)
			return false;
	}
	*out = v;
	return true;
}

static bool
tz_scan_hms(const char **p, int32_t *out)
{
	int h, m = 0, s = 0, sign = 1;

	if (**p == '-' || **p == '+')
		sign = *(*p)++ == '-' ? -1 : 1;
	if (!tz_scan_int(p, 167, &h))
		return false;
	if (**p == ':' && ((*p)++, !tz_scan_int(p, 59, &m)))
		return false;
	if (**p == ':' && ((*p)++, !tz_scan_int(p, 59, &s)))
		return false;
	*out = sign * (h * 3600 + m * 60 + s);
	return true;
}

static bool
tz_scan_date(const char **p, struct tz_date *d)
{
	bool ok;

	d->at = 7200;
	if (**p == 'M') {
		d->kind = TZ_MONTH_WEEK;
		ok = ((*p)++, tz_scan_int(p, 12, &d->month)) && d->month >= 1 && *(*p)++ == '.' &&
		     tz_scan_int(p, 5, &d->week) && d->week >= 1 && *(*p)++ == '.' &&
		     tz_scan_int(p, 6, &d->day);
	} else if (**p == 'J') {
		d->kind = TZ_JULIAN;
		ok = ((*p)++, tz_scan_int(p, 365, &d->day)) && d->day >= 1;
	} else {
		d->kind = TZ_YEAR_DAY;
		ok = tz_scan_int(p, 365, &d->day);
	}
	return ok && (**p != '/' || ((*p)++, tz_scan_hms(p, &d->at)));
}

static bool
tz_scan_rule(const char *p, struct tz_rule *r)
{
	if (!tz_scan_name(&p) || !tz_scan_hms(&p, &r->std))
		return false;
	r->std = -r->std;
	r->dst = r->std;
	if (*p == '\0')
		return abs(r->std) < TZ_OFFSET_MAX;
	r->has_dst = true;
	if (!tz_scan_name(&p))
		return false;
	r->dst = r->std + 3600;
	if (*p != ',') {
		if (!tz_scan_hms(&p, &r->dst))
			return false;
		r->dst = -r->dst;
	}
	return *p++ == ',' && tz_scan_date(&p, &r->start) && *p++ == ',' &&
	       tz_scan_date(&p, &r->end) && *p == '\0' && abs(r->std) < TZ_OFFSET_MAX &&
	       abs(r->dst) < TZ_OFFSET_MAX;
}

struct tz_reader {
	const unsigned char *p;
	size_t left;
};

static int64_t
tz_be(const unsigned char *p, int n)
{
	uint64_t v = (p[0] & 0x80) != 0 ? UINT64_MAX : 0;

	for (int i = 0; i < n; i++)
		v = v << 8 | p[i];
	return (int64_t)v;
}

struct tz_head {
	int version;
	size_t n_isut, n_isstd, n_leap, n_time, n_type, n_char;
};

static bool
tz_read_head(struct tz_reader *r, struct tz_head *h)
{
	const unsigned char *p = r->p;
	size_t *counts[] = { &h->n_isut, &h->n_isstd, &h->n_leap, &h->n_time, &h->n_type,
		&h->n_char };

	if (r->left < 44 || memcmp(p, "TZif", 4) != 0)
		return false;
	h->version = p[4] >= '2' ? 2 : 1;
	for (size_t i = 0; i < 6; i++) {
		int64_t v = tz_be(p + 20 + 4 * i, 4);

		if (v < 0 || v > 65536)
			return false;
		*counts[i] = (size_t)v;
	}
	r->p += 44;
	r->left -= 44;
	return h->n_type >= 1;
}

static size_t
tz_body_size(const struct tz_head *h, size_t time_size)
{
	return h->n_time * time_size + h->n_time + h->n_type * 6 + h->n_char +
	       h->n_leap * (time_size + 4) + h->n_isstd + h->n_isut;
}

static bool
tz_read_body(
    struct arena *a, struct tz_reader *r, const struct tz_head *h, int time_size, struct tz *tz)
{
	const unsigned char *times = r->p, *index, *types;
	size_t size = tz_body_size(h, (size_t)time_size);

	if (r->left < size)
		return false;
	index = times + h->n_time * (size_t)time_size;
	types = index + h->n_time;
	for (size_t i = 0; i < h->n_type; i++) {
		if (llabs(tz_be(types + 6 * i, 4)) >= TZ_OFFSET_MAX)
			return false;
	}
	tz->n = h->n_time;
	tz->at = arena_array_of(a, tz->n, int64_t);
	tz->off = arena_array_of(a, tz->n, int32_t);
	tz->first = (int32_t)tz_be(types, 4);
	for (size_t i = 0; i < tz->n; i++) {
		tz->at[i] = tz_be(times + i * (size_t)time_size, time_size);
		if (index[i] >= h->n_type || (i > 0 && tz->at[i] <= tz->at[i - 1]))
			return false;
		tz->off[i] = (int32_t)tz_be(types + 6 * (size_t)index[i], 4);
	}
	r->p += size;
	r->left -= size;
	return true;
}

static bool
tz_read_footer(struct arena *a, struct tz_reader *r, struct tz *tz)
{
	const unsigned char *end;

	if (r->left < 2 || *r->p != '\n')
		return false;
	end = memchr(r->p + 1, '\n', r->left - 1);
	if (end == NULL || memchr(r->p, '\0', (size_t)(end - r->p)) != NULL)
		return false;
	if (end == r->p + 1)
		return true;
	tz->has_rule = tz_scan_rule(
	    arena_strndup(a, (const char *)r->p + 1, (size_t)(end - r->p - 1)), &tz->rule);
	return tz->has_rule;
}

enum berth_code
tz_parse(struct arena *a, const char *name, const unsigned char *bytes, size_t n,
    const struct tz **tz_out, struct berth_err *err)
{
	struct tz *tz = arena_new_of(a, struct tz);
	struct tz_reader r = { bytes, n };
	struct tz_head h;
	bool ok = tz_read_head(&r, &h);

	tz->name = arena_strdup(a, name);
	if (ok && h.version >= 2) { /* the first body is for readers of 32-bit times */
		size_t skip = tz_body_size(&h, 4);

		ok = r.left >= skip;
		if (ok) {
			r = (struct tz_reader){ r.p + skip, r.left - skip };
			ok = tz_read_head(&r, &h) && tz_read_body(a, &r, &h, 8, tz) &&
			     tz_read_footer(a, &r, tz);
		}
	} else if (ok) {
		ok = tz_read_body(a, &r, &h, 4, tz);
	}
	if (!ok)
		return err_set(err, BERTH_EINVAL, "time zone '%.60s': its file is damaged", name);
	*tz_out = tz;
	return BERTH_OK;
}

static int
tz_two_digits(const char *s)
{
	return str_is_digit(s[0]) && str_is_digit(s[1]) ? (s[0] - '0') * 10 + s[1] - '0' : -1;
}

bool
tz_fixed(const char *s, int32_t *offset_out)
{
	int hours, minutes = 0;

	*offset_out = 0;
	if (str_ieq(s, "z") || str_ieq(s, "utc"))
		return true;
	if ((*s != '+' && *s != '-') || (hours = tz_two_digits(s + 1)) < 0 || hours > 23)
		return false;
	if (s[3] != '\0') {
		const char *m = s + 3 + (s[3] == ':');

		minutes = tz_two_digits(m);
		if (minutes < 0 || minutes > 59 || m[2] != '\0')
			return false;
	}
	*offset_out = (hours * 3600 + minutes * 60) * (*s == '-' ? -1 : 1);
	return true;
}

static bool
tz_name_fits(const char *name)
{
	for (const char *p = name; *p != '\0'; p++) {
		if (!str_is_alnum(*p) && strchr("/_+-", *p) == NULL)
			return false;
	}
	return str_is_alnum(*name) && strlen(name) < 100;
}

enum berth_code
tz_load(struct arena *a, const char *name, const struct tz **tz_out, struct berth_err *err)
{
	const char *dir = getenv("TZDIR");
	struct tz *tz = arena_new_of(a, struct tz);
	enum berth_code rc;
	char *bytes;
	size_t n;

	tz->name = arena_strdup(a, name);
	*tz_out = tz;
	if (tz_fixed(name, &tz->first))
		return BERTH_OK;
	if (!tz_name_fits(name))
		return err_set(err, BERTH_EINVAL,
		    "'%.60s' is not a time zone, as in Europe/Berlin or +01:00", name);
	if (dir == NULL || *dir != '/')
		dir = "/usr/share/zoneinfo";
	rc = fileio_slurp(a, arena_printf(a, "%s/%s", dir, name), TZ_BYTES_MAX, &bytes, &n, err);
	if (rc == BERTH_ENOTFOUND)
		return err_set(err, rc,
		    "time zone '%.60s' is not in %s: write it as in Europe/Berlin, or as an "
		    "offset, +01:00",
		    name, dir);
	if (rc != BERTH_OK) {
		err_ctx(err, "time zone '%.60s'", name);
		return rc;
	}
	return tz_parse(a, name, (const unsigned char *)bytes, n, tz_out, err);
}
