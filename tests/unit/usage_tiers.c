/* Rows in pieces with roll-ups in between, against the rows themselves; and history as forecasts get it, laid out from days. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/usage_history.h"
#include "broker/usage_load.h"
#include "store/series_rows.h"
#include "store/tier_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

#define DAY INT64_C(86400)
#define ROW INT64_C(300)	/* rows are five minutes apart */
#define DAYS 24
#define ROWS (DAYS * 288)

static int64_t t0;
static struct point { double value, peak; bool there; } points[ROWS];
static uint64_t rng;

static uint64_t
below(uint64_t n)
{
	return store_tmp_random(&rng) % n;
}

static void
hear(void *arg, enum usage_say kind, long line, const char *message)
{
	(void)message;
	*(long *)arg += kind == USAGE_REFUSED ? line : 0;
}

/* Loads the points [from, to) of one series whose step is step_s; each row is told as line i + 2. */
static void
load(struct store *s, int from, int to, int64_t step_s, const char *digest, struct usage_load_counts *counts, long *lines)
{
	const struct usage_load_options o = { .unit = "gpu", .format = "csv", .source = "test", .now = T0, .step_s = step_s,
		.interval_s = ROW, .digest = digest };
	struct usage_counts read = { 0 };
	struct arena *a = arena_new();
	struct usage_set set;
	struct berth_err err;
	struct spool *sp;
	uint32_t target;

	*lines = 0;
	memset(counts, 0, sizeof(*counts));
	usage_set_init(&set, a);
	if (spool_new(100000, NULL, &sp, &err) != BERTH_OK || usage_target_put(&set, "x", "{}", &target, &err) != BERTH_OK)
		exit(1);
	for (int i = from; i < to; i++) {
		struct usage_row row = { .t = t0 + i * ROW, .value = points[i].value, .peak = points[i].peak,
			.flags = usage_line_flag(i + 2) };

		if (!points[i].there)
			continue;
		row.source = usage_source_put(&set, "x", target);
		usage_seen(&set, row.source, row.t);
		read.read++;
		if (spool_add(sp, &row, &err) != BERTH_OK)
			exit(1);
	}
	if (read.read > 0 && usage_load(s, &set, sp, &o, &read, counts, hear, lines, &err) != BERTH_OK)
		tap_code(err.code, BERTH_OK, &err);
	if (counts->stored + counts->duplicate + counts->refused != read.read)
		tap_ok(0, "%lld rows: %lld stored, %lld there, %lld refused", (long long)read.read, (long long)counts->stored,
		    (long long)counts->duplicate, (long long)counts->refused);
	spool_free(sp);
	arena_free(a);
}

/* Sum and peak of each day by the rows; days in which they and the store differ. */
static int
differences(struct store *s)
{
	struct arena *a = arena_new();
	struct berth_err err;
	struct history h;
	int wrong = 0;

	if (store_history(s, 1, DAY, t0, t0 + DAYS * DAY, a, &h, &err) != BERTH_OK)
		exit(1);
	for (int d = 0; d < DAYS; d++) {
		double area = 0, covered = 0, peak = 0;

		for (int i = d * 288; i < (d + 1) * 288; i++) {
			if (!points[i].there)
				continue;
			area += points[i].value * (double)ROW;
			covered += (double)ROW;
			peak = points[i].peak > peak ? points[i].peak : peak;
		}
		if (covered < (double)DAY / 2)
			continue;
		wrong += isnan(h.d.mean[d]) || fabs(h.d.mean[d] - area / covered) > 1e-6 || h.d.peak[d] != peak;
	}
	arena_free(a);
	return wrong;
}

static void
quiet(void *arg, const char *what)
{
	(void)arg;
	tap_diag("%s", what);
}

/*
 * Pieces of an export in any order, some of them again, with roll-ups in between. Pieces of whole days are taken or are
 * there; others may be refused, by line, and what is refused is not counted as stored. The whole export at the end makes
 * everything right; twice, it changes nothing.
 */
static void
test_pieces(uint64_t seed, int64_t step_s)
{
	char path[1024], name[64];
	struct usage_load_counts c;
	int64_t refused = 0, pieces = 0;
	size_t faults = 1;
	struct berth_err err;
	struct store *s;
	long lines, told = 0;
	bool whole_refused = false;

	rng = seed * 0x9e3779b97f4a7c15ULL + 99;
	t0 = T0 / DAY * DAY - DAYS * DAY;
	for (int i = 0; i < ROWS; i++) {
		points[i].value = (double)below(200) / (below(2) == 0 ? 1 : 3);
		points[i].peak = points[i].value + (double)below(3);
		points[i].there = true;
	}
	for (int k = 0; k < 6; k++) {	/* dead exporters */
		int from = (int)below(ROWS), n = 1 + (int)below(120);

		for (int i = from; i < from + n && i < ROWS; i++)
			points[i].there = false;
	}
	snprintf(name, sizeof(name), "pieces-%llu.db", (unsigned long long)seed);
	snprintf(path, sizeof(path), "%s", store_tmp_path(name));
	s = store_tmp_open(path);
	for (; pieces < 30; pieces++) {
		const struct tier_policy policy = { (int64_t)(1 + below(6)) * DAY, (int64_t)(6 + below(9)) * DAY };
		int from = (int)below(ROWS), to = from + 1 + (int)below(ROWS / 4);
		struct tier_moved moved;
		bool days = below(2) == 0;

		if (days) {
			from -= from % 288;
			to += 288 - to % 288;
		}
		load(s, from, to < ROWS ? to : ROWS, step_s, NULL, &c, &lines);
		refused += c.refused;
		told += lines > 0;
		whole_refused = whole_refused || (days && c.refused > 0);
		if (c.refused > 0 && lines < from + 2)
			tap_ok(0, "rows are refused by line");
		tap_code(store_rollup(s, &policy, T0 - (int64_t)below(10) * DAY, 0, NULL, NULL, &moved, &err), BERTH_OK, &err);
	}
	load(s, 0, ROWS, step_s, "all", &c, &lines);
	tap_is_long(c.refused, 0, "seed %llu step %lld: nothing of the whole export is refused (%lld rows of %lld pieces were)",
	    (unsigned long long)seed, (long long)step_s, (long long)refused, (long long)pieces);
	tap_ok(refused > 0 && told > 0, "those were, by their lines, in %ld loads", told);
	tap_ok(!whole_refused, "nor of pieces that are whole days");
	tap_is_long(differences(s), 0, "sum and peak of each day are those of the rows");
	load(s, 0, ROWS, step_s, "all", &c, &lines);
	tap_ok(c.stored == 0 && c.refused == 0 && c.before != 0, "the same again changes nothing, and is known");
	load(s, 100, ROWS - 100, step_s, "all", &c, &lines);
	tap_ok(c.stored == 0 && c.refused == 0, "nor does a part, where its digest says that it was loaded");
	tap_is_long(differences(s), 0, "still");
	tap_code(store_check(s, quiet, NULL, &faults, &err), BERTH_OK, &err);
	tap_is_long((long long)faults, 0, "the store is sound");
	store_close(s);
}

static int
by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* Hours with a rhythm over the day and week and bursts; the first part becomes days. */
static void
test_layout(void)
{
	static struct sample v[120 * 24];
	const struct tier_policy policy = { 30 * DAY, 60 * DAY };
	const char *path = store_tmp_path("layout.db");
	struct store *s = store_tmp_open(path);
	int64_t first = T0 / DAY * DAY - 120 * DAY, id;
	struct arena *a = arena_new();
	struct put_counts counts = { 0 };
	struct usage_history h;
	struct tier_moved moved;
	struct berth_err err;
	struct series row;
	double worst_sum = 0, off = 0, flat = 0, worst_value = 0;
	int peaks = 0, days = 0;
	size_t n = 0;

	rng = 4711;
	for (int i = 0; i < 120 * 24; i++) {
		int hour = i % 24, week = i / 24 % 7;
		double mean = 20 + (hour >= 8 && hour < 19 ? 60 : 0) * (week < 5 ? 1 : 0.25) + (double)below(6) + (double)(i / 24 % 11);

		v[n++] = (struct sample){ first + i * 3600, mean, mean + 2 + (below(40) == 0 ? 50 : 0), 0 };
	}
	tap_code(store_series_put(s, "x", NULL, "gpu", 3600, &id, &err), BERTH_OK, &err);
	tap_code(store_samples_put(s, id, v, n, NULL, &counts, &err), BERTH_OK, &err);
	tap_code(store_series_get(s, "x", a, &row, &err), BERTH_OK, &err);
	tap_code(usage_history(s, &row, 0, 0, a, &h, &err), BERTH_OK, &err);
	tap_ok(h.s.n == n && h.warning == NULL && h.s.mean[100] == v[100].mean, "before, it is what was put");
	tap_code(store_rollup(s, &policy, T0, 0, NULL, NULL, &moved, &err), BERTH_OK, &err);
	tap_is_long(moved.days_made, 60, "half of it becomes days");
	tap_code(usage_history(s, &row, 0, 0, a, &h, &err), BERTH_OK, &err);
	tap_ok(h.s.n == n && h.s.step_s == 3600 && h.warning != NULL, "it still comes by the hour: %s", h.warning);
	for (int d = 0; d < 60; d++) {
		double got[24], want[24], sum = 0, true_sum = 0, peak = 0, true_peak = 0;

		for (int k = 0; k < 24; k++) {
			got[k] = h.s.mean[d * 24 + k];
			want[k] = v[d * 24 + k].mean;
			sum += got[k];
			true_sum += want[k];
			peak = fmax(peak, h.s.peak[d * 24 + k]);
			true_peak = fmax(true_peak, v[d * 24 + k].peak);
			off += fabs(got[k] - want[k]);
		}
		for (int k = 0; k < 24; k++)
			flat += fabs(true_sum / 24 - want[k]);
		worst_sum = fmax(worst_sum, fabs(sum - true_sum) / true_sum);
		peaks += peak == true_peak;
		qsort(got, 24, sizeof(got[0]), by_value);
		qsort(want, 24, sizeof(want[0]), by_value);
		for (int k = 0; k < 24; k++)
			worst_value = fmax(worst_value, fabs(got[k] - want[k]) / want[k]);
		days++;
	}
	tap_ok(worst_sum < 1e-9, "each day keeps its sum: %g off at most", worst_sum);
	tap_is_long(peaks, days, "each day keeps its true peak");
	tap_ok(worst_value < 0.035, "and its values, each to %.3f (a bin of the sketch, and the sum again)", worst_value);
	tap_ok(off < flat / 4, "the hours are near the true ones: %.2f off, an even day %.2f", off / 1440, flat / 1440);
	/* As of a time in the middle of a day that is kept as one: nothing behind it may be known. */
	tap_code(usage_history(s, &row, first + 30 * DAY + 7 * 3600, 0, a, &h, &err), BERTH_OK, &err);
	n = h.s.n;
	while (n > 0 && isnan(h.s.mean[n - 1]))
		n--;
	tap_ok(h.s.t0 + (int64_t)n * h.s.step_s <= first + 30 * DAY, "as of a day that is kept as one, it ends before that day");
	store_close(s);
	arena_free(a);
}

int
main(void)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		test_pieces(seed, seed % 3 == 0 ? 3600 : seed % 3 == 1 ? 300 : 900);
	test_layout();
	store_tmp_end();
	return tap_done();
}
