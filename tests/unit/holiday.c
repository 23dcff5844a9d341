/* Days off: published dates of Easter and of national calendars; what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/holiday.h"
#include "tests/tap.h"
#include "util/time.h"

static int64_t
day(int y, int m, int d)
{
	return time_from_civil((struct time_civil){ y, m, d, 0, 0, 0 }) / 86400;
}

static void
file(struct arena *a, const char *path, struct holidays *h)
{
	struct berth_err err = { 0 };

	tap_code(holiday_read(a, path, h, &err), BERTH_OK, &err);
}

/* Days off of a year as "MM-DD MM-DD ..." */
static const char *
year(const struct holidays *h, int y, struct arena *a)
{
	const char *text = "";
	int64_t *v;
	size_t n;

	holiday_days(h, day(y, 1, 1), day(y, 12, 31), a, &v, &n);
	for (size_t i = 0; i < n; i++) {
		struct time_civil c = time_to_civil(v[i] * 86400);

		text = arena_printf(a, "%s%s%02d-%02d", text, i > 0 ? " " : "", c.month, c.day);
	}
	return text;
}

static void
text(struct arena *a, const char *csv, struct holidays *h)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "holiday-%ld.csv", (long)time_clock_s());
	f = fopen(path, "w");
	tap_ok(f != NULL, "a file of our own");
	if (f == NULL)
		return;
	fputs(csv, f);
	fclose(f);
	file(a, path, h);
	remove(path);
}

int
main(void)
{
	/* Easter Sundays as the US Census Bureau lists them, with the earliest and the latest that can be. */
	static const int easters[][3] = { { 1818, 3, 22 }, { 1943, 4, 25 }, { 2000, 4, 23 }, { 2008, 3, 23 }, { 2011, 4, 24 },
		{ 2019, 4, 21 }, { 2024, 3, 31 }, { 2025, 4, 20 }, { 2026, 4, 5 }, { 2027, 3, 28 }, { 2038, 4, 25 } };
	static const char *const bad[] = { "", "13-01", "02-30", "2027-02-30", "2027-03-02..2027-03-01", "easter2", "05-mon0", "05-mun1",
		"05-mon6", "12-5", "2020-01-01..2029-01-01", "easter+", "05-mon", "1-1" };
	struct arena *a = arena_new();
	struct holidays h;
	struct holiday_rule r;
	struct berth_err err = { 0 };
	const char *data = getenv("BERTH_DATA");

	for (size_t i = 0; i < sizeof(easters) / sizeof(easters[0]); i++)
		tap_is_long(holiday_easter(easters[i][0]), day(easters[i][0], easters[i][1], easters[i][2]), "Easter of %d", easters[i][0]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_code(holiday_parse(bad[i], &r, &err), BERTH_EINVAL, &err);
	text(a, "day,name,observed\n01-01,,next\n12-25,,next\n12-26,,next\n", &h);
	/* gov.uk, bank holidays of England and Wales: 2021 and 2022 had substitute days at Christmas */
	tap_is_str(year(&h, 2021, a), "01-01 12-25 12-26 12-27 12-28", "Christmas on a weekend gives Monday and Tuesday");
	tap_is_str(year(&h, 2022, a), "01-01 01-03 12-25 12-26 12-27", "Christmas on a Sunday gives Tuesday, behind Boxing Day");
	text(a, "day,observed\n01-01,nearest\n11-thu4,\n05-mon-1,\n02-29,\n2026-02-16..2026-02-18,\n2026-02-17,\n", &h);
	/* opm.gov: New Year's Day of 2022 was observed on Friday, 31 December 2021 */
	tap_is_str(year(&h, 2021, a), "01-01 05-31 11-25 12-31", "Saturday's is had on the Friday before, in the year before");
	tap_is_str(year(&h, 2026, a), "01-01 02-16 02-17 02-18 05-25 11-26", "spans, nth and last weekdays, nothing twice");
	tap_is_str(year(&h, 2024, a), "01-01 02-29 05-27 11-28", "29 February only where it is");
	if (data == NULL) {
		tap_skip("bundled files", "BERTH_DATA is not set");
	} else {
		file(a, arena_printf(a, "%s/holidays/de.csv", data), &h);
		tap_is_str(year(&h, 2026, a), "01-01 04-03 04-06 05-01 05-14 05-25 10-03 12-25 12-26", "Germany 2026");
		file(a, arena_printf(a, "%s/holidays/us.csv", data), &h);
		tap_is_str(year(&h, 2026, a), "01-01 01-19 02-16 05-25 06-19 07-03 07-04 09-07 10-12 11-11 11-26 12-25",
		    "United States 2026 (opm.gov; 4 July is a Saturday)");
	}
	arena_free(a);
	return tap_done();
}
