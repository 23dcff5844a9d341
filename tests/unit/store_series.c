/* Series and samples against plain arrays kept beside the store. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/series_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

#define STEP INT64_C(3600)
#define SLOTS 3000

/* The oracle: what each step holds, NaN for nothing. */
static double want_mean[SLOTS], want_peak[SLOTS];

static void
check_range(struct store *s, int64_t id, struct arena *a, const char *what)
{
	struct berth_err err;
	struct dense d;
	size_t wrong = 0, missing = 0;

	tap_code(store_samples_range(s, id, T0, T0 + SLOTS * STEP, a, &d, &err), BERTH_OK, &err);
	tap_is_long((long long)d.n, SLOTS, "%s: one entry a step", what);
	for (size_t i = 0; i < d.n; i++) {
		bool none = isnan(want_mean[i]);

		missing += none;
		wrong += none != isnan(d.mean[i]) || none != isnan(d.peak[i]) ||
		    (!none && (d.mean[i] != want_mean[i] || d.peak[i] != want_peak[i]));
	}
	tap_is_long((long long)wrong, 0, "%s: every step as the array has it", what);
	tap_is_long((long long)d.missing, (long long)missing, "%s: missing steps are counted", what);
}

static void
check_row(struct store *s, struct arena *a, const char *what)
{
	struct berth_err err;
	struct series row;
	struct series_stats stats;
	double peak = -1, sum = 0;
	int64_t n = 0, first = 0, last = 0;

	for (int64_t i = 0; i < SLOTS; i++) {
		if (isnan(want_mean[i]))
			continue;
		if (n++ == 0)
			first = T0 + i * STEP;
		last = T0 + i * STEP;
		sum += want_mean[i];
		peak = want_peak[i] > peak ? want_peak[i] : peak;
	}
	tap_code(store_series_get(s, "random", a, &row, &err), BERTH_OK, &err);
	tap_ok(row.samples == n && row.from == first && row.to == last && row.peak == peak,
	    "%s: the series row agrees (%lld samples, peak %g)", what, (long long)row.samples, row.peak);
	tap_code(store_series_stats(s, &row, &stats, &err), BERTH_OK, &err);
	tap_near(stats.mean, sum / (double)n, 1e-9, "%s: mean", what);
	tap_is_long(stats.missing, (last - first) / STEP + 1 - n, "%s: missing between first and last", what);
	tap_near(stats.last, want_mean[(last - T0) / STEP], 0, "%s: last", what);
}

/* Puts a random set of samples, some of which are there already or change, and keeps the arrays in step. */
static void
put_random(struct store *s, int64_t id, uint64_t *rng)
{
	static struct sample v[SLOTS];
	static unsigned char fate[SLOTS];
	struct put_counts got = { 0 }, want = { 0 };
	struct berth_err err;
	size_t n = 0, wrong = 0;
	unsigned char fates[SLOTS];

	for (int64_t i = (int64_t)(store_tmp_random(rng) % 200); i < SLOTS; i += 1 + (int64_t)(store_tmp_random(rng) % 7)) {
		double mean = (double)(store_tmp_random(rng) % 64) / 4;
		double peak = mean + (double)(store_tmp_random(rng) % 3);

		if (!isnan(want_mean[i]) && store_tmp_random(rng) % 2 == 0) {
			mean = want_mean[i];
			peak = want_peak[i];
		}
		if (isnan(want_mean[i])) {
			want.stored++;
			fates[n] = PUT_STORED;
		} else if (want_mean[i] == mean && want_peak[i] == peak) {
			want.duplicate++;
			fates[n] = PUT_DUPLICATE;
		} else {
			want.replaced++;
			fates[n] = PUT_REPLACED;
		}
		v[n++] = (struct sample){ T0 + i * STEP, mean, peak, 0 };
		want_mean[i] = mean;
		want_peak[i] = peak;
	}
	tap_code(store_samples_put(s, id, v, n, fate, &got, &err), BERTH_OK, &err);
	tap_ok(got.stored == want.stored && got.duplicate == want.duplicate && got.replaced == want.replaced,
	    "%zu samples: %lld new, %lld the same, %lld replaced", n, (long long)got.stored,
	    (long long)got.duplicate, (long long)got.replaced);
	for (size_t i = 0; i < n; i++)
		wrong += fate[i] != fates[i];
	tap_is_long((long long)wrong, 0, "the fate of each is told");
}

static void
test_random(struct store *s)
{
	struct arena *a = arena_new();
	uint64_t rng = 88172645463325252ULL;
	struct berth_err err;
	int64_t id, again;

	for (size_t i = 0; i < SLOTS; i++)
		want_mean[i] = want_peak[i] = (double)NAN;
	tap_code(store_series_put(s, "random", "{\"team\":\"nlp\"}", "gpu", STEP, &id, &err), BERTH_OK, &err);
	tap_code(store_series_put(s, "random", NULL, "gpu", STEP, &again, &err), BERTH_OK, &err);
	tap_is_long(again, id, "the same name is the same series");
	tap_code(store_series_put(s, "random", NULL, "gpu", 60, &again, &err), BERTH_EINVAL, &err);
	tap_code(store_series_put(s, "random", NULL, "rps", STEP, &again, &err), BERTH_EINVAL, &err);
	for (int round = 0; round < 12; round++) {
		put_random(s, id, &rng);
		if (round % 4 == 3) {
			check_range(s, id, a, "random");
			check_row(s, a, "random");
		}
	}
	arena_free(a);
}

static void
test_refused(struct store *s)
{
	const struct sample good = { T0, 1, 2, 0 };
	const struct sample bad[][2] = {
		{ good, { T0 + 1, 1, 1, 0 } },		/* off the grid */
		{ good, { T0, 1, 1, 0 } },			/* twice */
		{ { T0 + STEP, 1, 1, 0 }, good },		/* backwards */
		{ good, { T0 + STEP, -1, 1, 0 } },
		{ good, { T0 + STEP, 2, 1, 0 } },		/* peak below mean */
		{ good, { T0 + STEP, (double)NAN, 1, 0 } },
		{ good, { T0 + STEP, 1, (double)INFINITY, 0 } },
	};
	struct arena *a = arena_new();
	struct put_counts counts = { 0 };
	struct berth_err err;
	struct dense d;
	int64_t id;

	tap_code(store_series_put(s, "refused", NULL, "gpu", STEP, &id, &err), BERTH_OK, &err);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_code(store_samples_put(s, id, bad[i], 2, NULL, &counts, &err), BERTH_EINVAL, &err);
	tap_is_long(counts.stored + counts.duplicate + counts.replaced, 0, "nothing was stored, the good one neither");
	tap_code(store_samples_range(s, id, 0, 0, a, &d, &err), BERTH_OK, &err);
	tap_is_long((long long)d.n, 0, "no samples: no steps");
	tap_code(store_samples_put(s, id + 1000, &good, 1, NULL, &counts, &err), BERTH_ENOTFOUND, &err);
	tap_code(store_series_put(s, "", NULL, "gpu", STEP, &id, &err), BERTH_EINVAL, &err);
	tap_code(store_series_put(s, "line\nbreak", NULL, "gpu", STEP, &id, &err), BERTH_EINVAL, &err);
	tap_code(store_series_get(s, "no such", a, &(struct series){ 0 }, &err), BERTH_ENOTFOUND, &err);
	arena_free(a);
}

static void
test_raw(struct store *s)
{
	const struct raw_row rows[] = { { T0, 7, T0 + 360, 8, 8, NULL }, { T0, 7, T0 + 60, 4, 5, "H100-PCIE-80GB" }, { T0, -9, T0 + 60, 1, 1, "" } };
	const struct raw_row next = { T0 + STEP, 7, T0 + STEP - 60, 3, 3, NULL };
	struct arena *a = arena_new();
	struct raw_row *got;
	struct berth_err err;
	struct series row;
	int64_t id;
	size_t n;

	tap_code(store_series_put(s, "raw", NULL, "gpu", STEP, &id, &err), BERTH_OK, &err);
	tap_code(store_raw_replace(s, id, T0, rows, 3, &err), BERTH_OK, &err);
	tap_code(store_raw_replace(s, id, T0 + STEP, &next, 1, &err), BERTH_OK, &err);
	tap_code(store_raw_list(s, id, T0, T0 + STEP, a, &got, &n, &err), BERTH_OK, &err);
	tap_ok(n == 3 && got[0].source == -9 && got[1].source == 7 && got[1].peak == 5 && got[2].t == T0 + 360,
	    "of one step, by time, then source");
	tap_ok(strcmp(got[0].form, "") == 0 && strcmp(got[1].form, "H100-PCIE-80GB") == 0 && got[2].form == NULL,
	    "with the product, the word that none was said, or nothing");
	tap_code(store_raw_replace(s, id, T0, NULL, 0, &err), BERTH_OK, &err);
	tap_code(store_raw_list(s, id, T0, T0 + 2 * STEP, a, &got, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && got[0].step == T0 + STEP && got[0].t == T0 + STEP - 60, "a full step has none, its neighbour keeps them");
	tap_code(store_series_interval(s, id, 300, &err), BERTH_OK, &err);
	tap_code(store_series_get(s, "raw", a, &row, &err), BERTH_OK, &err);
	tap_is_long(row.interval_s, 300, "the interval is kept");
	tap_code(store_series_delete(s, id, &err), BERTH_OK, &err);
	tap_code(store_raw_list(s, id, T0, T0 + 2 * STEP, a, &got, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "gone with the series");
	tap_code(store_series_delete(s, id, &err), BERTH_ENOTFOUND, &err);
	arena_free(a);
}

static void
test_loads_and_runs(struct store *s)
{
	const char *const args[] = { "csv", "--token", "abc", "--api-key=xyz", "file.csv", "--secret", "--quiet" };
	const struct load l = { .t = T0, .format = "csv", .source = "file.csv", .digest = "d", .rows_read = 10,
		.rows_stored = 4, .rows_duplicate = 3, .rows_replaced = 2, .rows_refused = 1, .from = T0, .to = T0 + STEP };
	struct arena *a = arena_new();
	struct berth_err err;
	struct load *loads;
	struct run *runs;
	size_t n;

	tap_code(store_run_begin(s, "record", args, 7, T0, &err), BERTH_OK, &err);
	tap_code(store_load_insert(s, &l, &err), BERTH_OK, &err);
	tap_code(store_load_list(s, 1, a, &loads, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && loads[0].run == store_run_id(s) && loads[0].rows_replaced == 2 && loads[0].to == T0 + STEP,
	    "a load carries its run");
	tap_code(store_run_list(s, 0, a, &runs, &n, &err), BERTH_OK, &err);
	tap_is_str(runs[0].args, "csv --token *** --api-key=*** file.csv --secret --quiet", "no secret is kept");
	tap_is_long(runs[0].exit_status, -1, "not ended yet");
	tap_code(store_run_end(s, 8, T0 + 5, &err), BERTH_OK, &err);
	tap_code(store_run_list(s, 0, a, &runs, &n, &err), BERTH_OK, &err);
	tap_ok(runs[0].exit_status == 8 && runs[0].ended == T0 + 5, "then with its exit status");
	arena_free(a);
}

/* A transaction inside another one is part of it. */
static void
test_nesting(struct store *s, const char *path)
{
	struct berth_err err;
	int64_t id;

	tap_code(store_begin(s, &err), BERTH_OK, &err);
	tap_code(store_series_put(s, "outer", NULL, "gpu", STEP, &id, &err), BERTH_OK, &err);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM series WHERE name = 'outer'"), 0,
	    "nobody else sees it before the outer commit");
	tap_code(store_commit(s, &err), BERTH_OK, &err);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM series WHERE name = 'outer'"), 1, "then everybody");
	tap_code(store_begin(s, &err), BERTH_OK, &err);
	tap_code(store_series_put(s, "doomed", NULL, "gpu", STEP, &id, &err), BERTH_OK, &err);
	tap_code(store_series_delete(s, 999999, &err), BERTH_ENOTFOUND, &err);
	tap_code(store_commit(s, &err), BERTH_EFAIL, &err);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM series WHERE name = 'doomed'"), 0,
	    "a part that failed takes all back");
}

int
main(void)
{
	char path[1024];
	struct store *s;

	snprintf(path, sizeof(path), "%s", store_tmp_path("berth.db"));
	s = store_tmp_open(path);
	test_random(s);
	test_refused(s);
	test_raw(s);
	test_loads_and_runs(s);
	test_nesting(s, path);
	store_close(s);
	store_tmp_end();
	return tap_done();
}
