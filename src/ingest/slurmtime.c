#include "ingest/slurmtime.h"

#include <stdlib.h>
#include <string.h>

#include "util/str.h"
#include "util/time.h"

#define SLURMTIME_DAY INT64_C(86400)
#define SLURMTIME_FIELD_MAX INT64_C(1000000000)
#define SLURMTIME_NO_DATE INT64_MIN

/* As str_is_digit(), within the loops over every byte of an export. */
static inline bool
slurmtime_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int
slurmtime_two(const char *p)
{
	if (!slurmtime_digit(p[0]) || !slurmtime_digit(p[1]))
		return -1;
	return (p[0] - '0') * 10 + (p[1] - '0');
}

static bool
slurmtime_word(const char *s, const char *const *words)
{
	for (; *words != NULL; words++)
		if (str_ieq(s, *words))
			return true;
	return false;
}

/* Up to three numbers with ":" between, in v [3]; a fraction behind the last is skipped. */
static bool
slurmtime_numbers(const char *p, int64_t v[3], int *n_out)
{
	int n = 0;

	for (;;) {
		int64_t x = 0;
		const char *from = p;

		for (; slurmtime_digit(*p) && x < SLURMTIME_FIELD_MAX; p++)
			x = x * 10 + (*p - '0');
		if (p == from || n == 3)
			return false;
		v[n++] = x;
		if (*p != ':')
			break;
		p++;
	}
	if (*p == '.')
		for (p++; slurmtime_digit(*p); p++)
			;
	*n_out = n;
	return *p == '\0';
}

/*
 * "HH:MM:SS" in eight bytes; each pair in any range: its tens and ones are digits. In *hms_out
 * hours, minutes and seconds stand in bytes 0, 3 and 6. For machines whose low byte comes first.
 */
static inline bool
slurmtime_hms(const char *s, uint64_t *hms_out)
{
	const uint64_t form = UINT64_C(0x30303a30303a3030), high = UINT64_C(0xf0f0fff0f0fff0f0);
	uint64_t w;

	memcpy(&w, s, sizeof(w));
	if ((w & high) != form || ((w + UINT64_C(0x0606000606000606)) & high) != form)
		return false;
	w -= form;
	*hms_out = w * 10 + (w >> 8); /* the tens of each pair take its ones; the colons are 0 */
	return true;
}

static inline int64_t
slurmtime_hms_s(uint64_t hms)
{
	return (int64_t)((hms & 0xff) * 3600 + (hms >> 24 & 0xff) * 60 + (hms >> 48 & 0xff));
}

bool
slurmtime_duration(const char *s, int64_t *s_out)
{
	static const char *const none[] = { "UNLIMITED", "NOT_SET", "INFINITE", NULL };
	static const char *const unknown[] = { "", "Partition_Limit", "INVALID", "Unknown", "N/A",
		"None", NULL };
	const char *dash;
	int64_t v[3] = { 0 }, days = 0;
	uint64_t hms;
	int n;

	if (!slurmtime_digit(*s) && (slurmtime_word(s, none) || slurmtime_word(s, unknown))) {
		*s_out = slurmtime_word(s, none) ? INGEST_NO_LIMIT : INGEST_UNKNOWN;
		return true;
	}
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && strlen(s) == 8 &&
	    slurmtime_hms(s, &hms)) { /* most are */
		*s_out = slurmtime_hms_s(hms);
		return true;
	}
	for (dash = s; slurmtime_digit(*dash) && dash - s < 9; dash++)
		v[0] = v[0] * 10 + (*dash - '0');
	if (*dash == '\0' && dash > s) {
		*s_out = v[0] * 60;
		return true;
	}
	v[0] = 0;
	dash = strchr(s, '-');
	if (dash != NULL) {
		for (const char *p = s; p < dash; p++) {
			if (!slurmtime_digit(*p) || days > SLURMTIME_FIELD_MAX)
				return false;
			days = days * 10 + (*p - '0');
		}
		if (dash == s)
			return false;
		s = dash + 1;
	}
	if (!slurmtime_numbers(s, v, &n))
		return false;
	if (dash != NULL || n == 3) /* D-HH[:MM[:SS]], HH:MM:SS */
		*s_out = days * SLURMTIME_DAY + v[0] * 3600 + v[1] * 60 + v[2];
	else
		*s_out = v[0] * 60 + v[1]; /* MM, MM:SS */
	return true;
}

void
slurmclock_init(struct slurmclock *c, const struct tz *tz)
{
	memset(c, 0, sizeof(*c));
	c->tz = tz;
}

/* Midnight of "2026-10-25" on the wall clock; SLURMTIME_NO_DATE. West of Greenwich the second 0 is
 * one of 1969. */
static int64_t
slurmtime_date(const char *s)
{
	struct time_civil c = { 0 };
	int hi = slurmtime_two(s), lo = slurmtime_two(s + 2);
	int64_t t;

	if (hi < 0 || lo < 0 || s[4] != '-' || s[7] != '-')
		return SLURMTIME_NO_DATE;
	c.year = hi * 100 + lo;
	c.month = slurmtime_two(s + 5);
	c.day = slurmtime_two(s + 8);
	if (c.year < 1969 || c.year > 2199 || c.month < 1 || c.month > 12 || c.day < 1 ||
	    c.day > 31)
		return SLURMTIME_NO_DATE;
	t = time_from_civil(c);
	return time_to_civil(t).day == c.day
		   ? t
		   : SLURMTIME_NO_DATE; /* the day may not run over its month */
}

/* The zone that a clock time may name, as SLURM_TIME_FORMAT lets it: "Z", "+02:00", "+0200"; "" is
 * none. */
static bool
slurmtime_zone(const char *s, bool *named_out, int64_t *offset_s)
{
	int h, m;

	*offset_s = 0;
	*named_out = *s != '\0';
	if (*s == '\0' || strcmp(s, "Z") == 0)
		return true;
	if ((*s != '+' && *s != '-') || (h = slurmtime_two(s + 1)) < 0 || h > 15)
		return false;
	m = slurmtime_two(s + (s[3] == ':' ? 4 : 3));
	if (m < 0 || m > 59 || s[s[3] == ':' ? 6 : 5] != '\0')
		return false;
	*offset_s = (*s == '-' ? -1 : 1) * (h * 3600 + m * 60);
	return true;
}

int64_t
slurmtime_later(const struct tz *tz, int64_t t)
{
	static const int64_t shifts[] = { 3600, 1800, 7200 };
	int32_t offset = tz_offset(tz, t);

	for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++)
		if (tz_offset(tz, t + shifts[i]) == offset - shifts[i])
			return t + shifts[i];
	return t;
}

/* Remembers whether the offset is the same all day long; the days about 1970-01-01 are looked at in
 * full. */
static void
slurmclock_day(struct slurmclock *c, const char *s, int64_t wall)
{
	int64_t t = tz_instant(c->tz, wall, NULL);
	int32_t at = tz_offset(c->tz, t);

	memcpy(c->day_text, s, 10);
	c->day_wall = wall;
	c->offset_s = at;
	c->day_known = true;
	c->day_plain = wall > 2 * SLURMTIME_DAY && tz_offset(c->tz, t - SLURMTIME_DAY) == at &&
		       tz_offset(c->tz, t + 2 * SLURMTIME_DAY) == at;
}

static bool
slurmtime_epoch(const char *s, struct slurmtime *out)
{
	int64_t t;

	if (str_to_i64(s, 0, TIME_MAX, &t, NULL) != BERTH_OK)
		return false;
	*out = (struct slurmtime){ .known = t != 0, .t = t, .later = t };
	return true;
}

/* Whether the ten bytes at a and at b are the same, in two looks that overlap. */
static inline bool
slurmtime_same_date(const char *a, const char *b)
{
	uint64_t x[2], y[2];

	memcpy(&x[0], a, 8);
	memcpy(&x[1], a + 2, 8);
	memcpy(&y[0], b, 8);
	memcpy(&y[1], b + 2, 8);
	return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

/* The common case of slurmtime_parse(): "2026-10-25T02:30:00" of the day before, whose offset does
 * not change. */
static bool
slurmtime_again(const struct slurmclock *c, const char *s, struct slurmtime *out)
{
	uint64_t hms;

	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || !c->day_plain || strlen(s) != 19 ||
	    s[10] != 'T' || !slurmtime_same_date(c->day_text, s) || !slurmtime_hms(s + 11, &hms) ||
	    (hms & 0xff) > 23 || (hms >> 24 & 0xff) > 59 || (hms >> 48 & 0xff) > 59)
		return false;
	out->known = true;
	out->t = c->day_wall - c->offset_s + slurmtime_hms_s(hms);
	out->later = out->t;
	out->skipped = false;
	return true;
}

bool
slurmtime_parse(struct slurmclock *c, const char *s, struct slurmtime *out)
{
	static const char *const unknown[] = { "", "Unknown", "None", "N/A", "NONE", NULL };
	enum tz_note note;
	int64_t offset_s;
	bool zoned;
	int h, m, sec;

	if (slurmtime_again(c, s, out))
		return true;
	*out = (struct slurmtime){ 0 };
	if (!c->day_known || strncmp(c->day_text, s, 10) != 0) {
		int64_t wall;

		if (strlen(s) < 16)
			return slurmtime_word(s, unknown) || slurmtime_epoch(s, out);
		wall = slurmtime_date(s);

		if (wall == SLURMTIME_NO_DATE)
			return false;
		slurmclock_day(c, s, wall);
	}
	/* Each look is behind one that has found no end of the text. */
	if ((s[10] != 'T' && s[10] != ' ') || (h = slurmtime_two(s + 11)) < 0 || h > 23 ||
	    s[13] != ':' || (m = slurmtime_two(s + 14)) < 0 || m > 59)
		return false;
	sec = s[16] == ':' ? slurmtime_two(s + 17) : 0;
	if (sec < 0 || sec > 60)
		return false;
	s += s[16] == ':' ? 19 : 16;
	if (*s == '.')
		for (s++; slurmtime_digit(*s); s++)
			;
	if (!slurmtime_zone(s, &zoned, &offset_s))
		return false;
	out->t = c->day_wall + h * 3600 + m * 60 + (sec == 60 ? 59 : sec);
	if (zoned || c->day_plain) {
		out->t -= zoned ? offset_s : c->offset_s;
		out->later = out->t;
	} else {
		out->t = tz_instant(c->tz, out->t, &note);
		out->skipped = note == TZ_GAP;
		out->later = note == TZ_AMBIGUOUS ? slurmtime_later(c->tz, out->t) : out->t;
	}
	out->known = out->t > 0; /* the first second of 1970 in local time is how 0 is printed */
	return true;
}

bool
slurmtime_settle(const struct slurmtime *start, const struct slurmtime *end, int64_t elapsed_s,
    int64_t *start_out, int64_t *end_out)
{
	const int64_t starts[] = { start->t, start->later }, ends[] = { end->t, end->later };
	int fits = 0, valid = 0, best_i = -1, best_j = -1;
	int64_t best = INT64_MAX;

	if (start->t == start->later && end->t == end->later) {
		*start_out = start->t;
		*end_out = end->t;
		return true;
	}
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 2; j++) {
			int64_t off = ends[j] - starts[i] - (elapsed_s >= 0 ? elapsed_s : 0);

			if ((i == 1 && starts[0] == starts[1]) || (j == 1 && ends[0] == ends[1]) ||
			    ends[j] < starts[i])
				continue;
			off = off < 0 ? -off : off;
			fits += off == 0;
			valid++;
			if (off < best || best_i < 0) {
				best = off;
				best_i = i;
				best_j = j;
			}
		}
	}
	if (best_i < 0)
		best_i = best_j = 0;
	*start_out = starts[best_i];
	*end_out = ends[best_j];
	return (elapsed_s >= 0 ? fits : valid) == 1;
}
