/* Steps, hours and days against plain arrays of steps: loads of all kinds, with roll-ups in between. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/db.h"
#include "store/migrate.h"
#include "store/series_rows.h"
#include "store/tier_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

#define DAY INT64_C(86400)
#define DAYS 40
#define SLOTS_MAX (DAYS * 288)

/* The oracle: each step as it should be, whatever the store did with it. */
struct step {
	double mean, peak;
	int64_t covered_s;	/* 0: nothing is known */
};
static struct step truth[SLOTS_MAX];
static int64_t step_s, t0, slots;
static uint64_t rng;

static uint64_t
below(uint64_t n)
{
	return store_tmp_random(&rng) % n;
}

/* Length of the bucket that a step lies in by now; 0: it is kept as it is. */
static int64_t
bucket_of(const char *path, int64_t id, int64_t t)
{
	char sql[256];
	int64_t n;

	for (int tier = 1; tier >= 0; tier--) {
		snprintf(sql, sizeof(sql), "SELECT coalesce(max(%s), 0) > %lld FROM rollup_mark WHERE series_id = %lld",
		    tier == 1 ? "day_until" : "hour_until", (long long)t, (long long)id);
		n = store_tmp_number(path, sql);
		if (n != 0)
			return tier == 1 ? DAY : 3600;
	}
	return 0;
}

static bool
same(const struct step *x, const struct step *y)
{
	return x->mean == y->mean && x->peak == y->peak && x->covered_s == y->covered_s;
}

static int
by_value(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->mean != y->mean)
		return x->mean < y->mean ? -1 : 1;
	return x->covered_s < y->covered_s ? -1 : x->covered_s > y->covered_s;
}

/* A bucket knows which steps are there, how long each value was in force and the highest peak, not when. */
static bool
same_values(const struct step *load, int64_t from, int64_t to)
{
	static struct step x[288], y[288];
	double px = 0, py = 0;

	for (int64_t i = from; i < to; i++) {
		x[i - from] = load[i];
		y[i - from] = truth[i];
		px = load[i].covered_s > 0 && load[i].peak > px ? load[i].peak : px;
		py = truth[i].covered_s > 0 && truth[i].peak > py ? truth[i].peak : py;
	}
	qsort(x, (size_t)(to - from), sizeof(x[0]), by_value);
	qsort(y, (size_t)(to - from), sizeof(y[0]), by_value);
	for (int64_t i = 0; i < to - from; i++)
		if (x[i].mean != y[i].mean || x[i].covered_s != y[i].covered_s)
			return false;
	return px == py;
}

/* What must come of the steps of a load that lie in [from, to) of one bucket. */
static enum put_fate
bucket_fate(const struct step *load, int64_t from, int64_t to)
{
	bool all_same = same_values(load, from, to), apart = true, whole = true;
	int64_t more = 0;

	for (int64_t i = from; i < to; i++) {
		bool in_load = load[i].covered_s > 0, there = truth[i].covered_s > 0;

		all_same = all_same && in_load == there;
		apart = apart && !(in_load && there);
		whole = whole && (!there || in_load);
		more += load[i].covered_s - truth[i].covered_s;
	}
	return all_same ? PUT_DUPLICATE : apart ? PUT_STORED : whole && more >= 0 ? PUT_REPLACED : PUT_REFUSED;
}

/* Puts what load has, and keeps truth in step with what must come of it. Returns how many fates were wrong. */
static size_t
put(struct store *s, const char *path, int64_t id, const struct step *load)
{
	static struct sample v[SLOTS_MAX];
	static unsigned char fate[SLOTS_MAX];
	static int64_t at[SLOTS_MAX];
	static enum put_fate want[SLOTS_MAX];
	const struct put_rule rule = { .loaded_before = false };
	struct put_counts counts = { 0 };
	struct berth_err err;
	size_t n = 0, wrong = 0;
	int64_t late, day_until, len;
	char sql[128];

	if (store_late_until(s, id, &late, &err) != BERTH_OK)
		exit(1);
	snprintf(sql, sizeof(sql), "SELECT coalesce(max(day_until), 0) FROM rollup_mark WHERE series_id = %lld", (long long)id);
	day_until = store_tmp_number(path, sql);
	for (int64_t i = 0; i < slots; i++) {
		int64_t t = t0 + i * step_s, from, to;

		if (load[i].covered_s == 0)
			continue;
		len = t < day_until ? DAY : t < late ? 3600 : 0;
		if (len == 0) {
			want[n] = truth[i].covered_s == 0 ? PUT_STORED : same(&load[i], &truth[i]) ? PUT_DUPLICATE : PUT_REPLACED;
		} else {
			from = (t / len * len - t0) / step_s;
			to = from + len / step_s;
			want[n] = bucket_fate(load, from < 0 ? 0 : from, to > slots ? slots : to);
			if (want[n] == PUT_REPLACED && truth[i].covered_s == 0)
				want[n] = PUT_STORED;
		}
		at[n] = i;
		v[n++] = (struct sample){ t, load[i].mean, load[i].peak, load[i].covered_s };
	}
	tap_code(store_samples_late(s, id, v, n, &rule, fate, &counts, &err), BERTH_OK, &err);
	for (size_t k = 0; k < n; k++) {
		wrong += fate[k] != want[k];
		if (fate[k] != want[k] && wrong < 5)
			tap_diag("step %lld: fate %d, want %d, bucket %lld", (long long)at[k], fate[k], want[k],
			    (long long)bucket_of(path, id, v[k].t));
		if (want[k] == PUT_STORED || want[k] == PUT_REPLACED)
			truth[at[k]] = load[at[k]];
	}
	return wrong;
}

/* A load: one to three stretches, often those of an earlier one, some steps other than before, some known in part. */
static void
draw_load(struct step *load, int64_t align)
{
	memset(load, 0, sizeof(*load) * (size_t)slots);
	for (uint64_t k = 1 + below(3); k > 0; k--) {
		int64_t from = (int64_t)below((uint64_t)slots), n = (int64_t)below((uint64_t)slots / 4) + 1;
		uint64_t change = below(3), holes = below(3);

		if (below(2) == 0) {	/* whole days */
			from -= from % align;
			n += align - n % align;
		}
		for (int64_t i = from; i < from + n && i < slots; i++) {
			if (holes == 0 && below(10) == 0)
				continue;
			if (truth[i].covered_s > 0 && (change == 0 || (change == 1 && below(50) != 0))) {
				load[i] = truth[i];
				continue;
			}
			load[i].mean = below(4) == 0 ? (double)below(1000) / 7 : (double)below(64);
			load[i].peak = load[i].mean + (double)below(5);
			load[i].covered_s = below(200) == 0 ? 1 + (int64_t)below((uint64_t)step_s - 1) : step_s;
		}
	}
}

struct view_check { size_t wrong, buckets, quantiles; };

static enum berth_code
check_view(void *arg, const struct tier_view *b, struct berth_err *err)
{
	static struct step v[288];
	struct view_check *c = arg;
	int64_t covered = 0, from = (b->t - t0) / step_s;
	double area = 0, peak = 0, sum = 0;
	size_t n = 0;

	(void)err;
	for (int64_t i = from < 0 ? 0 : from; i < from + b->len_s / step_s && i < slots; i++) {
		if (truth[i].covered_s == 0)
			continue;
		covered += truth[i].covered_s;
		area += truth[i].mean * (double)truth[i].covered_s;
		peak = truth[i].peak > peak ? truth[i].peak : peak;
		v[n++] = truth[i];
	}
	c->buckets++;
	c->wrong += covered != b->covered_s || (int64_t)n != b->steps || b->peak != peak || fabs(area - b->unit_seconds) > 1e-3;
	qsort(v, n, sizeof(v[0]), by_value);
	for (size_t k = 0; k < n; k++) {
		double share;

		sum += (double)v[k].covered_s;
		share = (sum - 0.5) / (double)covered;	/* surely within the seconds of this step */
		c->quantiles += fabs(sketch_quantile(&b->sketch, share) - v[k].mean) > SKETCH_ERROR * v[k].mean * (1 + 1e-9);
	}
	return BERTH_OK;
}

/* An entry of len seconds by the truth: NaN if less than half of it is known. */
static double
entry_of(int64_t t, int64_t len, double *peak_out)
{
	double area = 0, covered = 0;

	*peak_out = 0;
	for (int64_t i = (t - t0) / step_s; i < (t - t0 + len) / step_s && i < slots; i++) {
		if (truth[i].covered_s == 0)
			continue;
		area += truth[i].mean * (double)truth[i].covered_s;
		covered += (double)truth[i].covered_s;
		*peak_out = truth[i].peak > *peak_out ? truth[i].peak : *peak_out;
	}
	return covered >= 0.5 * (double)len ? area / covered : (double)NAN;
}

static void
say(void *arg, const char *what)
{
	(void)arg;
	tap_diag("%s", what);
}

/* Everything that can be asked, against the truth. */
static size_t
check(struct store *s, int64_t id, struct view_check *c)
{
	struct arena *a = arena_new();
	struct berth_err err;
	struct series_sum sum;
	struct history h;
	size_t faults, wrong = 0;
	int64_t steps = 0, covered = 0, late;
	double area = 0;

	for (int64_t i = 0; i < slots; i++) {
		steps += truth[i].covered_s > 0;
		covered += truth[i].covered_s;
		area += truth[i].mean * (double)truth[i].covered_s;
	}
	if (store_check(s, say, NULL, &faults, &err) != BERTH_OK || store_series_sum(s, id, &sum, &err) != BERTH_OK ||
	    store_late_until(s, id, &late, &err) != BERTH_OK || store_tier_each(s, id, 0, 0, check_view, c, &err) != BERTH_OK ||
	    store_history(s, id, 0, t0, t0 + slots * step_s, a, &h, &err) != BERTH_OK) {
		tap_diag("%s", err.msg);
		exit(1);
	}
	wrong += faults + (sum.steps != steps) + (sum.covered_s != covered) + (fabs(sum.unit_seconds - area) > 1e-2);
	for (int64_t i = 0; i < slots; i++) {
		bool there = truth[i].covered_s > 0;

		if (there == isnan(h.d.mean[i]) || (there && t0 + i * step_s >= late &&
		    (fabs(h.d.mean[i] - truth[i].mean) > 1e-9 * truth[i].mean || h.d.peak[i] != truth[i].peak)))
			wrong++;
	}
	if (3600 % step_s == 0 && step_s < 3600) {
		if (store_history(s, id, 3600, t0, t0 + slots * step_s, a, &h, &err) != BERTH_OK)
			exit(1);
		for (size_t k = 0; k < h.d.n; k++) {
			double peak, mean = entry_of(t0 + (int64_t)k * 3600, 3600, &peak);

			/* Hours that are in days by now know only that they are there. */
			if (t0 + (int64_t)k * 3600 < h.days_until)
				continue;
			/* At exactly half the seconds of a bucket are spread over its steps. */
			if (isnan(mean) != isnan(h.d.mean[k]) || (!isnan(mean) &&
			    (fabs(mean - h.d.mean[k]) > 1e-5 || h.d.peak[k] != peak)))
				wrong++;
		}
	}
	arena_free(a);
	return wrong;
}

static void
test_random(uint64_t seed, int64_t step)
{
	static struct step load[SLOTS_MAX];
	char path[1024], name[64];
	struct view_check c = { 0 };
	struct tier_moved moved, all = { 0 };
	size_t fates = 0, wrong = 0;
	struct berth_err err;
	struct store *s;
	int64_t id, now;

	rng = seed * 0x9e3779b97f4a7c15ULL + 1;
	step_s = step;
	slots = DAYS * DAY / step;
	t0 = T0 / DAY * DAY;
	memset(truth, 0, sizeof(truth));
	snprintf(name, sizeof(name), "tiers-%llu.db", (unsigned long long)seed);
	snprintf(path, sizeof(path), "%s", store_tmp_path(name));
	s = store_tmp_open(path);
	tap_code(store_series_put(s, "x", NULL, "gpu", step, &id, &err), BERTH_OK, &err);
	now = t0;
	for (int i = 0; i < 30; i++) {
		const struct tier_policy policy = { (int64_t)below(12) * DAY, (int64_t)below(25) * DAY };

		draw_load(load, DAY / step);
		fates += put(s, path, id, load);
		now += (int64_t)below(3 * (uint64_t)DAY);
		tap_code(store_rollup(s, &policy, now, below(2) == 0 ? 0 : 2000, NULL, NULL, &moved, &err), BERTH_OK, &err);
		all.steps += moved.steps;
		all.hours_made += moved.hours_made;
		all.days_made += moved.days_made;
		if (i % 5 == 4 || i < 5)
			wrong += check(s, id, &c);
	}
	tap_is_long((long long)fates, 0, "seed %llu step %lld: the fate of each step", (unsigned long long)seed, (long long)step);
	tap_is_long((long long)wrong, 0, "sums, gaps and values are those of the arrays");
	tap_ok(c.wrong == 0 && c.buckets > 20, "%zu buckets are the sums of their steps, %zu are not", c.buckets, c.wrong);
	tap_is_long((long long)c.quantiles, 0, "quantiles of each are within %g", SKETCH_ERROR);
	tap_diag("%lld steps moved, %lld hours, %lld days made", (long long)all.steps, (long long)all.hours_made,
	    (long long)all.days_made);
	store_close(s);
}

/* A store of the version before the ledger, with samples in it. */
static void
test_upgrade(void)
{
	char path[1024];
	struct db_open o = { .path = path, .write = true, .create = true, .busy_timeout_ms = 1000 };
	struct series_sum sum;
	struct berth_err err;
	struct store *s;
	struct db *db;
	size_t faults = 1, before = 0;

	while (before < migrations_n && strstr(migrations[before].name, "_tiers") == NULL)
		before++;
	snprintf(path, sizeof(path), "%s", store_tmp_path("upgrade.db"));
	tap_code(db_open(&o, &db, &err), BERTH_OK, &err);
	tap_code(migrate_run(db, path, migrations, before, &err), BERTH_OK, &err);
	db_close(db);
	store_tmp_exec(path, "INSERT INTO series (id, name, labels, unit, step_s, first_t, last_t, samples, peak) VALUES "
	    "(1, 'a', '{}', 'gpu', 3600, 3600, 2880000, 800, 9), (2, 'b', '{}', 'gpu', 900, 900, 1800, 2, 5); "
	    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 800) INSERT INTO sample "
	    "SELECT 1, i * 3600, 2.5, CASE WHEN i = 7 THEN 9 END FROM n; "
	    "INSERT INTO sample VALUES (2, 900, 5, NULL), (2, 1800, 1, NULL)");
	tap_code(store_open(path, STORE_READ, T0, &s, &err), BERTH_OK, &err);
	tap_code(store_series_sum(s, 1, &sum, &err), BERTH_OK, &err);
	tap_ok(sum.steps == 800 && sum.covered_s == 800 * 3600 && sum.unit_seconds == 2.5 * 800 * 3600,
	    "what was there before the ledger is in it");
	tap_code(store_check(s, say, NULL, &faults, &err), BERTH_OK, &err);
	tap_is_long((long long)faults, 0, "and all sums agree");
	store_close(s);
	tap_is_long(store_tmp_number(path, "SELECT sum(steps) FROM load WHERE format = 'opening'"), 802, "the log of loads tells it");
}

int
main(void)
{
	static const int64_t steps[] = { 300, 900, 3600, 7200, 2700, 21600 };

	test_upgrade();
	for (uint64_t i = 0; i < 18; i++)
		test_random(i + 1, steps[i % 6]);
	store_tmp_end();
	return tap_done();
}
