#include "model/holiday.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/csv.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

#define HOLIDAY_DAY_S 86400
#define HOLIDAY_RULES_MAX 20000
#define HOLIDAY_SPAN_MAX 400 /* days of one span */

static const char *const holiday_weekdays[] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun",
	NULL };

static int64_t
holiday_day(int year, int month, int day)
{
	return time_from_civil((struct time_civil){ year, month, day, 0, 0, 0 }) / HOLIDAY_DAY_S;
}

static int
holiday_month_days(int year, int month)
{
	int64_t next = month < 12 ? holiday_day(year, month + 1, 1) : holiday_day(year + 1, 1, 1);

	return (int)(next - holiday_day(year, month, 1));
}

int64_t
holiday_easter(int year)
{
	int a = year % 19, b = year / 100, c = year % 100, d = b / 4, e = b % 4, f = (b + 8) / 25,
	    g = (b - f + 1) / 3;
	int h = (19 * a + b - d - g + 15) % 30, i = c / 4, k = c % 4,
	    l = (32 + 2 * e + 2 * i - h - k) % 7;
	int m = (a + 11 * h + 22 * l) / 451, n = h + l - 7 * m + 114;

	return holiday_day(year, n / 31, n % 31 + 1);
}

/* "YYYY-MM-DD" of n characters. */
static bool
holiday_date(const char *s, size_t n, int64_t *out)
{
	char text[16];
	struct berth_err ignored;
	const struct tz *utc;
	struct arena *a;
	int64_t t = 0;
	bool good;

	if (n != 10 || s[4] != '-' || s[7] != '-')
		return false;
	memcpy(text, s, n);
	text[n] = '\0';
	a = arena_new();
	good = tz_load(a, "UTC", &utc, &ignored) == BERTH_OK &&
	       time_parse(text, 0, utc, TIME_ABSOLUTE, &t, &ignored) == BERTH_OK;
	arena_free(a);
	*out = t / HOLIDAY_DAY_S;
	return good;
}

static bool
holiday_two(const char *s, int *out)
{
	if (!str_is_digit(s[0]) || !str_is_digit(s[1]))
		return false;
	*out = (s[0] - '0') * 10 + (s[1] - '0');
	return true;
}

/* A whole number with an optional sign that fills the text. */
static bool
holiday_number(const char *s, int min, int max, int *out)
{
	struct berth_err ignored;
	int64_t v;

	if (str_to_i64(s, min, max, &v, &ignored) != BERTH_OK)
		return false;
	*out = (int)v;
	return true;
}

static bool
holiday_rule(const char *s, struct holiday_rule *r)
{
	const char *dots = strstr(s, "..");
	char word[4] = "";

	if (str_starts(s, "easter")) {
		r->kind = HOLIDAY_EASTER;
		return s[6] == '\0' || ((s[6] == '+' || s[6] == '-') &&
					   holiday_number(s + 6, -365, 365, &r->offset));
	}
	if (strlen(s) >= 10 && s[4] == '-') {
		r->kind = HOLIDAY_DATE;
		if (!holiday_date(s, dots != NULL ? (size_t)(dots - s) : strlen(s), &r->from))
			return false;
		r->to = r->from;
		return dots == NULL || (holiday_date(dots + 2, strlen(dots + 2), &r->to) &&
					   r->to >= r->from && r->to - r->from < HOLIDAY_SPAN_MAX);
	}
	if (strlen(s) < 5 || !holiday_two(s, &r->month) || s[2] != '-' || r->month < 1 ||
	    r->month > 12)
		return false;
	if (strlen(s) == 5 && holiday_two(s + 3, &r->day)) {
		r->kind = HOLIDAY_FIXED;
		return r->day >= 1 && r->day <= holiday_month_days(2024, r->month);
	}
	memcpy(word, s + 3, strlen(s + 3) < 3 ? strlen(s + 3) : 3);
	r->kind = HOLIDAY_WEEKDAY;
	r->weekday = str_index(word, holiday_weekdays);
	return r->weekday >= 0 && s[6] != '+' && holiday_number(s + 6, -5, 5, &r->nth) &&
	       r->nth != 0;
}

enum berth_code
holiday_parse(const char *day, struct holiday_rule *out, struct berth_err *err)
{
	struct holiday_rule r = { .name = "" };

	if (!holiday_rule(day, &r))
		return err_set(err, BERTH_EINVAL,
		    "'%s' is no day off: 2027-02-06, 2027-02-05..2027-02-12, 12-25, 05-mon1 (first "
		    "Monday of May), 05-mon-1 (its last) or easter+39",
		    day);
	*out = r;
	return BERTH_OK;
}

static enum berth_code
holiday_row(struct arena *a, const struct csv *c, const struct csv_row *row, const int *col,
    struct holiday_rule *r, struct berth_err *err)
{
	static const char *const words[] = { "", "next", "nearest", NULL };
	const char *observed = col[2] < 0 ? "" : str_trim(a, row->field[col[2]]);
	enum berth_code rc = holiday_parse(str_trim(a, row->field[col[0]]), r, err);

	if (rc != BERTH_OK)
		return csv_err(c, err, "day");
	if (str_index(observed, words) < 0) {
		rc = err_set(err, BERTH_EINVAL, "'%s' is none of next and nearest", observed);
		return csv_err(c, err, "observed");
	}
	r->observed = (enum holiday_observed)str_index(observed, words);
	r->name = col[1] < 0 ? "" : str_trim(a, row->field[col[1]]);
	return BERTH_OK;
}

enum berth_code
holiday_read(struct arena *a, const char *path, struct holidays *out, struct berth_err *err)
{
	VEC(struct holiday_rule) rules = { 0 };
	const struct csv_row *row;
	struct csv *c = NULL;
	int col[3] = { -1, -1, -1 };
	enum berth_code rc = csv_open(path, &c, err);

	if (rc == BERTH_OK)
		rc = csv_need(c, "day", &col[0], err);
	if (rc == BERTH_OK) {
		col[1] = csv_column(c, "name");
		col[2] = csv_column(c, "observed");
	}
	while (rc == BERTH_OK) {
		rc = csv_next(c, &row, err);
		if (rc != BERTH_OK || row == NULL)
			break;
		if (rules.n == HOLIDAY_RULES_MAX) {
			rc = err_set(err, BERTH_EINVAL, "more than %d days off", HOLIDAY_RULES_MAX);
			rc = csv_err(c, err, NULL);
			break;
		}
		rc = holiday_row(a, c, row, col, VEC_ADD(a, &rules), err);
	}
	csv_close(c);
	*out = (struct holidays){ path, rules.v, rules.n };
	return rc;
}

static int64_t
holiday_nth(const struct holiday_rule *r, int year)
{
	int days = holiday_month_days(year, r->month);
	int64_t first = holiday_day(year, r->month, 1), last = first + days - 1;
	int to_first = (r->weekday - time_weekday(first * HOLIDAY_DAY_S) + 7) % 7;
	int to_last = (time_weekday(last * HOLIDAY_DAY_S) - r->weekday + 7) % 7;
	int64_t day =
	    r->nth > 0 ? first + to_first + 7 * (r->nth - 1) : last - to_last + 7 * (r->nth + 1);

	return day >= first && day <= last ? day : INT64_MIN;
}

struct holiday_list {
	struct arena *a;
	VEC(int64_t) day;
};

static bool
holiday_taken(const struct holiday_list *l, int64_t day)
{
	for (size_t i = 0; i < l->day.n; i++)
		if (l->day.v[i] == day)
			return true;
	return false;
}

static void
holiday_add(struct holiday_list *l, int64_t day)
{
	if (day != INT64_MIN && !holiday_taken(l, day))
		VEC_PUSH(l->a, &l->day, day);
}

/* The day of a rule in a year; INT64_MIN: it has none. */
static int64_t
holiday_of_year(const struct holiday_rule *r, int year)
{
	switch (r->kind) {
	case HOLIDAY_FIXED:
		return r->day <= holiday_month_days(year, r->month)
			   ? holiday_day(year, r->month, r->day)
			   : INT64_MIN;
	case HOLIDAY_WEEKDAY:
		return holiday_nth(r, year);
	case HOLIDAY_EASTER:
		return holiday_easter(year) + r->offset;
	case HOLIDAY_DATE:
		break;
	}
	return INT64_MIN;
}

static void
holiday_observe(const struct holiday_rule *r, int64_t day, struct holiday_list *l)
{
	int weekday;

	if (day == INT64_MIN || r->observed == HOLIDAY_AS_IS)
		return;
	weekday = time_weekday(day * HOLIDAY_DAY_S);
	if (weekday < 5)
		return;
	if (r->observed == HOLIDAY_NEAREST) {
		holiday_add(l, weekday == 5 ? day - 1 : day + 1);
		return;
	}
	for (day++; time_weekday(day * HOLIDAY_DAY_S) >= 5 || holiday_taken(l, day);)
		day++;
	holiday_add(l, day);
}

static int
holiday_cmp(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void
holiday_days(const struct holidays *h, int64_t from, int64_t to, struct arena *a,
    int64_t **days_out, size_t *n_out)
{
	int first = time_to_civil(from * HOLIDAY_DAY_S).year - 1,
	    last = time_to_civil(to * HOLIDAY_DAY_S).year + 1;
	struct holiday_list l = { .a = a };
	size_t kept = 0;

	first = first < 1970 ? 1970 : first;
	for (size_t i = 0; i < h->n; i++)
		for (int64_t d = h->rules[i].from;
		     h->rules[i].kind == HOLIDAY_DATE && d <= h->rules[i].to; d++)
			holiday_add(&l, d);
	for (int year = first; year <= last;
	     year++) { /* days themselves first: what is observed must not fall on them */
		for (size_t i = 0; i < h->n; i++)
			holiday_add(&l, holiday_of_year(&h->rules[i], year));
		for (size_t i = 0; i < h->n; i++)
			holiday_observe(&h->rules[i], holiday_of_year(&h->rules[i], year), &l);
	}
	qsort(l.day.v, l.day.n, sizeof(*l.day.v), holiday_cmp);
	for (size_t i = 0; i < l.day.n; i++)
		if (l.day.v[i] >= from && l.day.v[i] <= to)
			l.day.v[kept++] = l.day.v[i];
	*days_out = l.day.v;
	*n_out = kept;
}
