/* Loads in pieces: however an export is cut, overlapped, shuffled and repeated, the store ends as after one load. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/usage_load.h"
#include "store/series_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

#define ROWS 900	/* of each source */
#define TEAMS 3
#define FROM (T0 - ROWS * 300 + 700)	/* not on the hour */

struct point {
	int64_t t;
	double value, peak;
	bool there;
};
static struct point points[TEAMS][ROWS];

static void
quiet(void *arg, enum usage_say kind, long line, const char *message)
{
	(void)kind;
	(void)line;
	snprintf(arg, 512, "%s", message);
}

/* Loads the points with index in [from, to) of all teams. together: as one series of three sources. */
static void
load(struct store *s, int from, int to, bool together, struct usage_load_counts *counts, char *said)
{
	const struct usage_load_options o = { .unit = "gpu", .format = "csv", .source = "test", .now = T0 };
	struct arena *a = arena_new();
	struct usage_counts read = { 0 };
	struct berth_err err;
	struct usage_set set;
	struct spool *sp;
	uint32_t target;
	char name[32];

	said[0] = '\0';
	usage_set_init(&set, a);
	if (spool_new(10000, NULL, &sp, &err) != BERTH_OK)
		exit(1);
	for (int k = 0; k < TEAMS; k++) {
		snprintf(name, sizeof(name), "team-%d", k);
		if (usage_target_put(&set, together ? "all" : name, "{}", &target, &err) != BERTH_OK)
			exit(1);
		for (int i = from; i < to; i++) {
			struct usage_row row = { .t = points[k][i].t, .value = points[k][i].value, .peak = points[k][i].peak };

			if (!points[k][i].there)
				continue;
			row.source = usage_source_put(&set, name, target);
			usage_seen(&set, row.source, row.t);
			read.read++;
			if (spool_add(sp, &row, &err) != BERTH_OK)
				exit(1);
		}
	}
	if (read.read > 0) {
		memset(counts, 0, sizeof(*counts));
		if (usage_load(s, &set, sp, &o, &read, counts, quiet, said, &err) != BERTH_OK)
			tap_code(err.code, BERTH_OK, &err);
		if (counts->stored + counts->duplicate != read.read)
			tap_ok(0, "%lld rows read, %lld stored, %lld duplicates", (long long)read.read,
			    (long long)counts->stored, (long long)counts->duplicate);
	}
	spool_free(sp);
	arena_free(a);
}

/*
 * Steps in which the two stores differ: means by more than share of the peak. With jitter the interval is known to a
 * second or two only, and a row before a hole lasts that much longer or shorter.
 */
static size_t
differences(struct store *x, struct store *y, const char *name, double share, struct arena *a)
{
	struct series sx, sy;
	struct berth_err err;
	struct dense dx, dy;
	size_t wrong = 0;

	if (store_series_get(x, name, a, &sx, &err) != BERTH_OK || store_series_get(y, name, a, &sy, &err) != BERTH_OK ||
	    store_samples_range(x, sx.id, 0, 0, a, &dx, &err) != BERTH_OK ||
	    store_samples_range(y, sy.id, 0, 0, a, &dy, &err) != BERTH_OK)
		return 9999;
	if (dx.t0 != dy.t0 || dx.n != dy.n || sx.samples != sy.samples)
		return 9998;
	for (size_t i = 0; i < dx.n; i++) {
		bool differs = isnan(dx.mean[i]) != isnan(dy.mean[i]) || (!isnan(dx.mean[i]) &&
		    (fabs(dx.mean[i] - dy.mean[i]) > share * dx.peak[i] || dx.peak[i] != dy.peak[i]));

		wrong += differs;
		if (differs)
			tap_diag("%s step %zu at row %lld: %g %g, %g %g", name, i,
			    (long long)((dx.t0 + (int64_t)i * 3600 - FROM) / 300), dx.mean[i], dx.peak[i], dy.mean[i], dy.peak[i]);
	}
	return wrong;
}

static void
make_points(uint64_t *rng, bool jitter)
{
	for (int k = 0; k < TEAMS; k++)
		for (int i = 0; i < ROWS; i++) {
			struct point *p = &points[k][i];

			p->t = FROM + i * 300 + (jitter ? (int64_t)(store_tmp_random(rng) % 5) - 2 : 0);
			p->value = (double)(store_tmp_random(rng) % 256) / 8;
			p->peak = p->value + (double)(store_tmp_random(rng) % 2);
			p->there = true;
		}
	/* An exporter was dead for some hours, a second one for a quarter of an hour. */
	for (int i = 300; i < 360; i++)
		points[1][i].there = points[0][i].there = points[2][i].there = false;
	for (int i = 500; i < 503; i++)
		points[1][i].there = false;
}

static void
test_pieces(uint64_t seed, bool together, bool jitter)
{
	char whole_path[1024], parts_path[1024], name[32], said[512];
	struct usage_load_counts counts;
	struct store *whole, *parts;
	uint64_t rng = seed * 0x9e3779b97f4a7c15ULL;
	struct arena *a = arena_new();
	int from[64], to[64], order[64], n = 0;
	size_t wrong = 0;

	snprintf(name, sizeof(name), "whole-%llu.db", (unsigned long long)seed);
	snprintf(whole_path, sizeof(whole_path), "%s", store_tmp_path(name));
	snprintf(name, sizeof(name), "parts-%llu.db", (unsigned long long)seed);
	snprintf(parts_path, sizeof(parts_path), "%s", store_tmp_path(name));
	whole = store_tmp_open(whole_path);
	parts = store_tmp_open(parts_path);
	make_points(&rng, jitter);
	load(whole, 0, ROWS, together, &counts, said);
	/* Pieces that cover everything and overlap here and there; some are a few rows only. */
	for (int at = 0; at < ROWS && n < 63; n++) {
		int len = store_tmp_random(&rng) % 3 == 0 ? 2 + (int)(store_tmp_random(&rng) % 4) :
		    20 + (int)(store_tmp_random(&rng) % 60);

		from[n] = at;
		to[n] = at + len < ROWS ? at + len : ROWS;
		at = to[n] - (int)(store_tmp_random(&rng) % 2) * (int)(store_tmp_random(&rng) % (uint64_t)(len / 2 + 1));
		if (to[n] == ROWS)
			at = ROWS;
		order[n] = n;
	}
	for (int i = n - 1; i > 0; i--) {
		int j = (int)(store_tmp_random(&rng) % (uint64_t)(i + 1)), swap = order[i];

		order[i] = order[j];
		order[j] = swap;
	}
	for (int i = 0; i < n; i++)
		load(parts, from[order[i]], to[order[i]], together, &counts, said);
	for (int k = 0; k < TEAMS; k++) {
		snprintf(name, sizeof(name), "team-%d", k);
		if (k == 0 || !together)
			wrong += differences(whole, parts, together ? "all" : name, jitter ? 0.01 : 1e-14, a);
	}
	tap_is_long((long long)wrong, 0, "seed %llu: %d pieces in any order make the same%s%s", (unsigned long long)seed, n,
	    together ? " sum" : "", jitter ? ", with jitter" : "");
	load(parts, 0, ROWS, together, &counts, said);
	load(parts, 0, ROWS, together, &counts, said);
	tap_is_long(counts.stored, 0, "and the whole of it once more changes nothing");
	store_close(whole);
	store_close(parts);
	arena_free(a);
}

/* Rows one at a time, as a cron job brings them. */
static void
test_one_by_one(void)
{
	char path[1024], whole_path[1024], said[512];
	struct usage_load_counts counts;
	struct store *s, *whole;
	struct arena *a = arena_new();
	uint64_t rng = 7;

	snprintf(path, sizeof(path), "%s", store_tmp_path("one.db"));
	snprintf(whole_path, sizeof(whole_path), "%s", store_tmp_path("one-whole.db"));
	s = store_tmp_open(path);
	whole = store_tmp_open(whole_path);
	make_points(&rng, false);
	for (int i = 0; i < 60; i++)
		load(s, i, i + 1, false, &counts, said);
	load(whole, 0, 60, false, &counts, said);
	tap_is_long((long long)differences(whole, s, "team-0", 1e-14, a), 0, "row by row is the same as at once");
	store_close(s);
	store_close(whole);
	arena_free(a);
}

/* Numbers by hand: a correction replaces, a part of a whole step does not, a coarser file says its step. */
static void
test_by_hand(void)
{
	char path[1024], said[512];
	struct usage_load_counts counts;
	struct arena *a = arena_new();
	struct berth_err err;
	struct series series;
	struct dense d;
	struct store *s;

	snprintf(path, sizeof(path), "%s", store_tmp_path("hand.db"));
	s = store_tmp_open(path);
	for (int k = 0; k < TEAMS; k++)
		for (int i = 0; i < 24; i++)
			points[k][i] = (struct point){ T0 - 7200 + i * 300, i == 7 ? 64 : 8, i == 7 ? 64 : 8, k == 0 };
	load(s, 0, 24, false, &counts, said);
	tap_ok(counts.stored == 24 && counts.gpu_seconds == (23 * 8 + 64) * 300.0, "24 rows, %g GPU-seconds",
	    counts.gpu_seconds);
	tap_code(store_series_get(s, "team-0", a, &series, &err), BERTH_OK, &err);
	tap_code(store_samples_range(s, series.id, 0, 0, a, &d, &err), BERTH_OK, &err);
	tap_ok(d.n == 2 && fabs(d.mean[0] - 152.0 / 12) < 1e-12 && d.peak[0] == 64 && d.mean[1] == 8 && d.peak[1] == 8,
	    "the mean is weighted, the peak is kept");
	points[0][3].value = points[0][3].peak = 20;
	load(s, 0, 24, false, &counts, said);
	tap_ok(counts.stored == 12 && counts.replaced == 12 && counts.duplicate == 12, "a correction replaces its step");
	points[0][5].value = points[0][5].peak = 1000;
	load(s, 4, 8, false, &counts, said);
	tap_ok(counts.stored == 0 && strstr(said, "stay as they are") != NULL, "a part of a whole step changes nothing: %s",
	    said);
	for (int i = 0; i < 8; i++)
		points[1][i] = (struct point){ 1795305600 + i * 86400, i, i, true };	/* days from 2026-11-22 */
	for (int i = 0; i < 8; i++)
		points[0][i].there = points[2][i].there = false;
	load(s, 0, 8, false, &counts, said);
	tap_code(store_series_get(s, "team-1", a, &series, &err), BERTH_OK, &err);
	tap_ok(series.step_s == 86400 && series.samples == 8 && strstr(said, "1d") != NULL, "daily rows: %s", said);
	store_close(s);
	arena_free(a);
}

int
main(void)
{
	for (uint64_t seed = 1; seed <= 8; seed++)
		test_pieces(seed, seed % 2 == 0, seed % 4 >= 2);
	test_one_by_one();
	test_by_hand();
	store_tmp_end();
	return tap_done();
}
