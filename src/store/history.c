#include <math.h>

#include "store/priv.h"
#include "store/tier.h"
#include "store/tier_rows.h"
#include "util/time.h"

#define HISTORY_STEPS_MAX INT64_C(100000000)

struct history_head {
	int64_t step_s, first_t, last_t, samples;
};

/*
 * What plan $4 found of a step that has changed since stands in the row of the first plan from that
 * one on; of all others the step itself is as it was.
 */
#define HISTORY_SINCE                                                                              \
	"NOT EXISTS (SELECT 1 FROM sample_was w WHERE w.series_id = s.series_id AND w.t = s.t "    \
	"AND w.plan_id >= $4)"
#define HISTORY_WAS                                                                                \
	"w.series_id = $1 AND w.t >= $2 AND w.t < $3 AND w.mean IS NOT NULL AND w.plan_id = "      \
	"(SELECT min(x.plan_id) FROM sample_was x WHERE x.series_id = w.series_id AND x.t = w.t "  \
	"AND x.plan_id >= $4)"

/* The first step that the plan found. */
static enum berth_code
history_first_was(struct store *s, int64_t series_id, int64_t *first_out, struct berth_err *err)
{
	return db_get_one(s->db, 0, first_out, err,
	    "SELECT min(t) FROM (SELECT s.t AS t FROM sample s WHERE s.series_id = $1 AND s.t >= "
	    "$2 AND s.t < $3 AND " HISTORY_SINCE
	    " UNION ALL SELECT w.t AS t FROM sample_was w WHERE " HISTORY_WAS
	    " UNION ALL SELECT t FROM rollup WHERE series_id = $1) AS found",
	    DB_ARGS(
		db_i64(series_id), db_i64(INT64_MIN), db_i64(INT64_MAX), db_i64(s->as_of_plan)));
}

static enum berth_code
history_head_get(struct store *s, int64_t series_id, struct history_head *h, struct berth_err *err)
{
	struct db_stmt *st;
	enum berth_code rc;
	bool row;

	rc = db_query(s->db, &st, err,
	    "SELECT step_s, first_t, last_t, samples FROM series WHERE id = $1",
	    DB_ARGS(db_i64(series_id)));
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	if (rc == BERTH_OK && !row)
		rc = err_set(err, BERTH_ENOTFOUND, "there is no series %lld", (long long)series_id);
	if (rc == BERTH_OK)
		*h = (struct history_head){ db_col_i64(st, "step_s"), db_col_i64(st, "first_t"),
			db_col_i64(st, "last_t"), db_col_i64(st, "samples") };
	db_done(st);
	if (rc == BERTH_OK && s->as_of_plan != 0 && h->samples > 0)
		rc = history_first_was(s, series_id, &h->first_t, err);
	return rc;
}

/* Entries while they are summed up: mean holds unit-seconds, covered seconds, peak NaN nothing. */
struct history_fill {
	struct history *h;
	int64_t own_s;            /* step of the series */
	int64_t end, samples_end; /* of the grid; of single steps */
	struct arena *a;          /* of one row */
	struct tier_row row;      /* being laid out */
	int t, mean, peak;        /* columns; -1: not looked up */
};

static void
history_add(struct history_fill *f, int64_t t, double area, double covered_s, double peak)
{
	struct dense *d = &f->h->d;
	size_t i;

	if (t < d->t0 || t >= f->end)
		return;
	i = (size_t)((t - d->t0) / d->step_s);
	d->mean[i] += area;
	f->h->covered[i] += covered_s;
	if (!(d->peak[i] >= peak))
		d->peak[i] = peak;
}

static double
history_real(struct db_val v, double null)
{
	return v.type == DB_I64 ? (double)v.i : v.type == DB_REAL ? v.d : null;
}

static enum berth_code
history_sample_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct history_fill *f = arg;
	double mean;

	(void)err;
	if (f->t < 0) {
		f->t = db_col(st, "t");
		f->mean = db_col(st, "mean");
		f->peak = db_col(st, "peak");
	}
	mean = history_real(db_col_at(st, f->mean), (double)NAN);
	history_add(f, db_col_at(st, f->t).i, mean * (double)f->own_s, (double)f->own_s,
	    history_real(db_col_at(st, f->peak), mean));
	return BERTH_OK;
}

/* Steps that are known in part weigh less: their row beside says how much. It comes after the
 * steps. */
static enum berth_code
history_part_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct history_fill *f = arg;
	int64_t less = f->own_s - db_col_i64(st, "covered_s");

	(void)err;
	history_add(
	    f, db_col_i64(st, "t"), -db_col_real(st, "mean") * (double)less, -(double)less, 0);
	return BERTH_OK;
}

/* A run of steps of a bucket, entry by entry: each step has the mean and the peak of the bucket. */
static void
history_run(void *arg, size_t first, size_t n)
{
	struct history_fill *f = arg;
	int64_t own = f->own_s, t = f->row.t + (int64_t)first * own, end = t + (int64_t)n * own;
	double each = (double)f->row.sum.covered_s / (double)f->row.sum.steps;
	double mean = tier_sum_value(f->row.sum.total) / (double)f->row.sum.covered_s;

	while (t < end) {
		int64_t next = time_floor(t, f->h->d.step_s) + f->h->d.step_s;
		double covered;

		next = next < end ? next : end;
		covered = each * (double)((next - t) / own);
		history_add(f, t, mean * covered, covered, f->row.peak);
		t = next;
	}
}

static enum berth_code
history_bucket_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct history_fill *f = arg;
	char at[TIME_FMT_SIZE];
	bool sound;

	tier_row_get(st, f->a, &f->row);
	sound = f->row.sum.steps > 0 && f->row.sum.covered_s > 0 &&
		tier_len(f->row.tier) % f->own_s == 0 &&
		tier_runs(&f->row, (size_t)(tier_len(f->row.tier) / f->own_s), history_run, f);
	if (f->row.tier == TIER_DAY && f->row.t + TIER_DAY_S > f->h->days_until)
		f->h->days_until = f->row.t + TIER_DAY_S;
	if (f->row.t + tier_len(f->row.tier) > f->h->hours_until)
		f->h->hours_until = f->row.t + tier_len(f->row.tier);
	arena_reset(f->a);
	return sound ? BERTH_OK
		     : err_set(err, BERTH_EINVAL, "the %s %s is damaged: see `berth store check`",
			   tier_name(f->row.tier), time_fmt(at, f->row.t));
}

/* From sums to means. One entry is one step: what is known of it is the entry. */
static void
history_finish(struct history *h, int64_t own_s)
{
	struct dense *d = &h->d;

	d->missing = 0;
	for (size_t i = 0; i < d->n; i++) {
		double covered = h->covered[i];

		h->covered[i] = covered / (double)d->step_s;
		if (covered > 0 && (d->step_s == own_s || h->covered[i] >= 0.5 - 1e-9)) {
			d->mean[i] /= covered;
			if (d->mean[i] < 0)
				d->mean[i] = 0;
			if (d->peak[i] < d->mean[i]) /* by the last bit of a rounding */
				d->mean[i] = d->peak[i];
			continue;
		}
		d->mean[i] = d->peak[i] = (double)NAN;
		d->missing++;
	}
}

/* Single steps, as a plan found them. */
static enum berth_code
history_fill_was(
    struct store *s, const struct db_val *span, struct history_fill *f, struct berth_err *err)
{
	const struct db_val args[] = { span[0], span[1], span[2], db_i64(s->as_of_plan) };
	enum berth_code rc = store_each(s, history_sample_row, f, err,
	    "SELECT s.t AS t, s.mean AS mean, s.peak AS peak FROM sample s WHERE s.series_id = $1 "
	    "AND s.t >= $2 AND s.t < $3 AND " HISTORY_SINCE
	    " UNION ALL SELECT w.t AS t, w.mean AS mean, w.peak AS peak FROM sample_was w "
	    "WHERE " HISTORY_WAS " ORDER BY t",
	    args, 4);

	if (rc != BERTH_OK)
		return rc;
	return store_each(s, history_part_row, f, err,
	    "SELECT s.t AS t, a.covered_s AS covered_s, s.mean AS mean FROM sample_part a JOIN "
	    "sample s ON s.series_id = a.series_id AND s.t = a.t WHERE a.series_id = $1 AND a.t >= "
	    "$2 AND a.t < $3 AND " HISTORY_SINCE
	    " UNION ALL SELECT w.t AS t, w.covered_s AS covered_s, w.mean AS mean FROM sample_was "
	    "w WHERE w.covered_s IS NOT NULL AND " HISTORY_WAS " ORDER BY t",
	    args, 4);
}

void
store_history_as_of(struct store *s, int64_t plan_id)
{
	s->as_of_plan = plan_id;
}

static enum berth_code
history_fill_all(struct store *s, int64_t series_id, struct history_fill *f, struct berth_err *err)
{
	const struct db_val args[] = { db_i64(series_id), db_i64(f->h->d.t0),
		db_i64(f->samples_end) };
	enum berth_code rc = s->as_of_plan != 0 ? history_fill_was(s, args, f, err)
						: store_each(s, history_sample_row, f, err,
						      "SELECT t, mean, peak FROM sample WHERE "
						      "series_id = $1 AND t >= $2 AND t < $3",
						      args, 3);

	if (rc == BERTH_OK && s->as_of_plan == 0)
		rc = store_each(s, history_part_row, f, err,
		    "SELECT a.t AS t, a.covered_s AS covered_s, b.mean AS mean FROM sample_part a "
		    "JOIN sample b ON b.series_id = a.series_id AND b.t = a.t WHERE a.series_id = "
		    "$1 AND a.t >= $2 AND a.t < $3",
		    args, 3);
	if (rc == BERTH_OK)
		rc = store_each(s, history_bucket_row, f, err,
		    "SELECT " TIER_COLUMNS
		    " FROM rollup WHERE series_id = $1 AND t > $2 AND t < $3",
		    DB_ARGS(args[0], db_i64(f->h->d.t0 - TIER_DAY_S), db_i64(f->end)));
	return rc;
}

enum berth_code
store_history(struct store *s, int64_t series_id, int64_t step_s, int64_t from, int64_t to,
    struct arena *a, struct history *out, struct berth_err *err)
{
	struct history h = { .hours_until = INT64_MIN, .days_until = INT64_MIN };
	struct history_fill f = { .h = &h, .t = -1 };
	struct history_head head;
	enum berth_code rc = history_head_get(s, series_id, &head, err);

	if (rc != BERTH_OK)
		return rc;
	f.own_s = head.step_s;
	h.d.step_s = step_s != 0 ? step_s : head.step_s;
	if (h.d.step_s % head.step_s != 0)
		return err_set(err, BERTH_EINVAL,
		    "series %lld: steps of %lld s make none of %lld s", (long long)series_id,
		    (long long)head.step_s, (long long)h.d.step_s);
	h.d.t0 = time_floor(from != 0 ? from : head.first_t, h.d.step_s);
	f.samples_end =
	    to != 0 ? time_floor(to + head.step_s - 1, head.step_s) : head.last_t + head.step_s;
	f.end = time_floor((to != 0 ? to : head.last_t + head.step_s) + h.d.step_s - 1, h.d.step_s);
	if (head.samples > 0 && f.end > h.d.t0) {
		if ((f.end - h.d.t0) / h.d.step_s > HISTORY_STEPS_MAX)
			return err_set(err, BERTH_EINVAL, "series %lld: %lld steps at once",
			    (long long)series_id, (long long)((f.end - h.d.t0) / h.d.step_s));
		h.d.n = (size_t)((f.end - h.d.t0) / h.d.step_s);
	}
	h.d.mean = arena_array_of(a, h.d.n, double);
	h.d.peak = arena_array_of(a, h.d.n, double);
	h.covered = arena_array_of(a, h.d.n, double);
	for (size_t i = 0; i < h.d.n; i++)
		h.d.peak[i] = (double)NAN;
	f.a = arena_new();
	if (h.d.n > 0)
		rc = history_fill_all(s, series_id, &f, err);
	arena_free(f.a);
	if (rc != BERTH_OK)
		return rc;
	history_finish(&h, head.step_s);
	*out = h;
	return BERTH_OK;
}

enum berth_code
store_samples_range(struct store *s, int64_t series_id, int64_t from, int64_t to, struct arena *a,
    struct dense *out, struct berth_err *err)
{
	struct history h;
	enum berth_code rc = store_history(s, series_id, 0, from, to, a, &h, err);

	if (rc == BERTH_OK)
		*out = h.d;
	return rc;
}
