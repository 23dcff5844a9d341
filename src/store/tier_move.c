#include <math.h>

#include "store/priv.h"
#include "store/tier.h"
#include "store/tier_rows.h"
#include "util/time.h"
#include "util/vec.h"

#define MOVE_STEPS INT64_C(20000) /* of one transaction, about */

/* One series on its way. */
struct move {
	struct store *s;
	int64_t series_id, step_s;
	enum tier first; /* where its steps go */
	struct tier_marks marks;
	struct tier_moved *moved;
};

/* Steps before this are old; INT64_MIN: none. */
static int64_t
move_until(int64_t keep_s, int64_t now)
{
	return keep_s > 0 ? time_floor(now - keep_s, TIER_DAY_S) : INT64_MIN;
}

/* Buckets of one kind being made from what comes by time. */
struct move_fill {
	struct move *m;
	enum tier tier;
	struct tier_bucket b;
	bool open;
	struct arena *a; /* of one bucket */
	int64_t made;
};

/* A bucket may be there in part, if a load put old steps behind a mark that a roll-up then passed.
 */
static enum berth_code
move_flush(struct move_fill *f, struct berth_err *err)
{
	char at[TIME_FMT_SIZE];
	struct tier_bucket old;
	bool found = false;
	enum berth_code rc = BERTH_OK;

	if (!f->open)
		return BERTH_OK;
	f->open = false;
	rc = tier_get(
	    f->m->s, f->m->series_id, f->tier, f->b.t, f->m->step_s, f->a, &old, &found, err);
	if (rc == BERTH_OK && found && tier_fit(&f->b, &old) != TIER_APART)
		rc = err_set(err, BERTH_EINVAL,
		    "series %lld: the %s %s is there already: see `berth store check`",
		    (long long)f->m->series_id, tier_name(f->tier), time_fmt(at, f->b.t));
	if (rc == BERTH_OK && found)
		tier_merge(&f->b, &old);
	if (rc == BERTH_OK)
		rc = tier_put(f->m->s, f->m->series_id, &f->b, err);
	f->made += !found;
	return rc;
}

static enum berth_code
move_at(struct move_fill *f, int64_t t, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	int64_t start = time_floor(t, tier_len(f->tier));

	if (f->open && f->b.t == start)
		return BERTH_OK;
	rc = move_flush(f, err);
	arena_reset(f->a);
	tier_begin(&f->b, f->tier, start, f->m->step_s, f->a);
	f->open = true;
	return rc;
}

static enum berth_code
move_step_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct move_fill *f = arg;
	struct sample v = { .t = db_col_i64(st, "t"), .mean = db_col_real(st, "mean") };
	double peak = db_col_real(st, "peak");
	enum berth_code rc = move_at(f, v.t, err);

	v.peak = isnan(peak) ? v.mean : peak;
	v.covered_s = db_col_i64(st, "covered_s"); /* NULL: all of it */
	if (rc == BERTH_OK)
		tier_add(&f->b, &v);
	f->m->moved->steps++;
	return rc;
}

static enum berth_code
move_hour_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct move_fill *f = arg;
	struct arena *a = arena_new();
	char at[TIME_FMT_SIZE];
	struct tier_bucket hour;
	struct tier_row row;
	const char *fault;
	enum berth_code rc = BERTH_OK;

	tier_row_get(st, a, &row);
	fault = tier_row_check(f->m->series_id, &row) != row.check
		    ? "it was changed by something else"
		    : tier_unpack(&row, f->m->step_s, a, &hour);
	if (fault != NULL)
		rc = err_set(err, BERTH_EINVAL,
		    "series %lld: the hour %s is damaged: %s; it is not rolled up further",
		    (long long)f->m->series_id, time_fmt(at, row.t), fault);
	if (rc == BERTH_OK)
		rc = move_at(f, row.t, err);
	if (rc == BERTH_OK)
		tier_merge(&f->b, &hour);
	f->m->moved->hours++;
	arena_free(a);
	return rc;
}

/* Single steps of [from, to) become buckets. */
static enum berth_code
move_steps(struct move *m, int64_t from, int64_t to, struct berth_err *err)
{
	static const char *const gone[] = {
		"DELETE FROM sample WHERE series_id = $1 AND t >= $2 AND t < $3",
		"DELETE FROM sample_part WHERE series_id = $1 AND t >= $2 AND t < $3",
		"DELETE FROM sample_was WHERE series_id = $1 AND t >= $2 AND t < $3",
		"DELETE FROM raw WHERE series_id = $1 AND step >= $2 AND step < $3"
	};
	const struct db_val args[] = { db_i64(m->series_id), db_i64(from), db_i64(to) };
	struct move_fill f = { .m = m, .tier = m->first, .a = arena_new() };
	enum berth_code rc = store_each(m->s, move_step_row, &f, err,
	    "SELECT a.t AS t, a.mean AS mean, a.peak AS peak, b.covered_s AS covered_s FROM sample "
	    "a LEFT JOIN sample_part b ON b.series_id = a.series_id AND b.t = a.t WHERE "
	    "a.series_id = $1 AND a.t >= $2 AND a.t < $3 ORDER BY a.t",
	    args, 3);

	if (rc == BERTH_OK)
		rc = move_flush(&f, err);
	for (size_t i = 0; rc == BERTH_OK && i < sizeof(gone) / sizeof(gone[0]); i++)
		rc = db_run(m->s->db, err, gone[i], args, 3);
	if (m->first == TIER_HOUR)
		m->moved->hours_made += f.made;
	else
		m->moved->days_made += f.made;
	if (m->first == TIER_HOUR && to > m->marks.hour_until)
		m->marks.hour_until = to;
	if (m->first == TIER_DAY && to > m->marks.day_until)
		m->marks.day_until = to;
	arena_free(f.a);
	return rc;
}

/* Hours of [from, to) become days. */
static enum berth_code
move_hours(struct move *m, int64_t from, int64_t to, struct berth_err *err)
{
	const struct db_val args[] = { db_i64(m->series_id), db_i64(from), db_i64(to) };
	struct move_fill f = { .m = m, .tier = TIER_DAY, .a = arena_new() };
	enum berth_code rc = store_each(m->s, move_hour_row, &f, err,
	    "SELECT " TIER_COLUMNS
	    " FROM rollup WHERE series_id = $1 AND tier = 0 AND t >= $2 AND t < $3 ORDER BY t",
	    args, 3);

	if (rc == BERTH_OK)
		rc = move_flush(&f, err);
	if (rc == BERTH_OK)
		rc = db_run(m->s->db, err,
		    "DELETE FROM rollup WHERE series_id = $1 AND tier = 0 AND t >= $2 AND t < $3",
		    args, 3);
	m->moved->days_made += f.made;
	if (to > m->marks.day_until)
		m->marks.day_until = to;
	arena_free(f.a);
	return rc;
}

static enum berth_code
move_mark(struct move *m, struct berth_err *err)
{
	return db_run(m->s->db, err,
	    "INSERT INTO rollup_mark (series_id, hour_until, day_until) VALUES ($1, $2, $3) ON "
	    "CONFLICT (series_id) DO UPDATE SET hour_until = excluded.hour_until, day_until = "
	    "excluded.day_until",
	    DB_ARGS(db_i64(m->series_id), db_i64(m->marks.hour_until), db_i64(m->marks.day_until)));
}

typedef enum berth_code move_fn(struct move *m, int64_t from, int64_t to, struct berth_err *err);

/* One transaction: the oldest days of what lies before until. *done_out: nothing is left. */
static enum berth_code
move_some(struct move *m, move_fn *fn, const char *oldest_sql, int64_t until, int64_t step_s,
    bool *done_out, struct berth_err *err)
{
	int64_t days = MOVE_STEPS * step_s / TIER_DAY_S, from = INT64_MAX, to;
	struct tier_moved before = *m->moved;
	enum berth_code rc;

	/* Nothing is locked where nothing is due. */
	*done_out = true;
	rc = db_get_one(m->s->db, INT64_MAX, &from, err, oldest_sql,
	    DB_ARGS(db_i64(m->series_id), db_i64(until)));
	if (rc == BERTH_OK && from == INT64_MAX)
		return BERTH_OK;
	if (rc == BERTH_OK)
		rc = store_begin(m->s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = tier_ledger_open(m->s, m->series_id, m->step_s, err);
	if (rc == BERTH_OK)
		rc = tier_marks_get(m->s, m->series_id, &m->marks, err);
	if (fn == move_hours && until > m->marks.hour_until)
		until = m->marks.hour_until; /* a policy that keeps steps longer than hours */
	if (rc == BERTH_OK)
		rc = db_get_one(m->s->db, INT64_MAX, &from, err, oldest_sql,
		    DB_ARGS(db_i64(m->series_id), db_i64(until)));
	*done_out = from == INT64_MAX;
	if (rc == BERTH_OK && !*done_out) {
		from = time_floor(from, TIER_DAY_S);
		to = from + (days > 0 ? days : 1) * TIER_DAY_S;
		to = to < until ? to : until;
		rc = fn(m, from, to, err);
		if (rc == BERTH_OK)
			rc = move_mark(m, err);
	}
	rc = store_end(m->s, rc, err);
	if (rc != BERTH_OK)
		*m->moved = before;
	return rc;
}

#define MOVE_STEPS_DUE "SELECT min(t) FROM sample WHERE series_id = $1 AND t < $2"
#define MOVE_HOURS_DUE "SELECT min(t) FROM rollup WHERE series_id = $1 AND tier = 0 AND t < $2"

struct move_run {
	const struct tier_policy *policy;
	int64_t now, max_work;
	tier_progress_fn *progress;
	void *arg;
	int64_t all;
	struct tier_moved moved;
};

static int64_t
move_done(const struct tier_moved *m)
{
	return m->steps + m->hours;
}

static enum berth_code
move_series(struct store *s, const struct series *series, struct move_run *r, struct berth_err *err)
{
	struct move m = {
		.s = s, .series_id = series->id, .step_s = series->step_s, .moved = &r->moved
	};
	int64_t before = move_done(&r->moved), steps_until,
		hours_until = move_until(r->policy->hourly_s, r->now);
	enum berth_code rc = BERTH_OK;
	bool done;

	if (!tier_of_step(series->step_s, &m.first) || series->samples == 0)
		return BERTH_OK;
	steps_until = m.first == TIER_HOUR ? move_until(r->policy->raw_s, r->now) : hours_until;
	for (int part = 0; rc == BERTH_OK && part < 2; part++) {
		int64_t until = part == 0 ? steps_until : hours_until;

		if (part == 1 && m.first != TIER_HOUR)
			break;
		for (done = until == INT64_MIN; rc == BERTH_OK && !done;) {
			if (r->max_work > 0 && move_done(&r->moved) >= r->max_work) {
				r->moved.more = true;
				break;
			}
			rc = part == 0 ? move_some(&m, move_steps, MOVE_STEPS_DUE, until,
					     series->step_s, &done, err)
				       : move_some(&m, move_hours, MOVE_HOURS_DUE, until,
					     tier_len(TIER_HOUR), &done, err);
			if (r->progress != NULL)
				r->progress(r->arg, move_done(&r->moved), r->all);
		}
	}
	r->moved.series += move_done(&r->moved) > before;
	return rc == BERTH_OK ? rc : err_ctx(err, "series %s", series->name);
}

static enum berth_code
due_series(struct store *s, const struct series *series, const struct tier_policy *policy,
    int64_t now, struct tier_moved *due, struct berth_err *err)
{
	int64_t hours_until = move_until(policy->hourly_s, now), until, steps = 0, hours = 0,
		buckets = 0, days = 0;
	enum tier first;
	enum berth_code rc;

	if (!tier_of_step(series->step_s, &first) || series->samples == 0)
		return BERTH_OK;
	until = first == TIER_HOUR ? move_until(policy->raw_s, now) : hours_until;
	rc = db_get_one(s->db, 0, &steps, err,
	    "SELECT count(*) FROM sample WHERE series_id = $1 AND t < $2",
	    DB_ARGS(db_i64(series->id), db_i64(until)));
	if (rc == BERTH_OK)
		rc = db_get_one(s->db, 0, &buckets, err,
		    "SELECT count(DISTINCT t / $1) FROM sample WHERE series_id = $2 AND t < $3",
		    DB_ARGS(db_i64(tier_len(first)), db_i64(series->id), db_i64(until)));
	if (rc == BERTH_OK && first == TIER_HOUR)
		rc = db_get_one(s->db, 0, &hours, err,
		    "SELECT (SELECT count(*) FROM rollup WHERE series_id = $1 AND tier = 0 AND t < "
		    "$2) + (SELECT count(DISTINCT t / 3600) FROM sample WHERE series_id = $1 AND t "
		    "< $2 AND t < $3)",
		    DB_ARGS(db_i64(series->id), db_i64(hours_until), db_i64(until)));
	if (rc == BERTH_OK && first == TIER_HOUR)
		rc = db_get_one(s->db, 0, &days, err,
		    "SELECT count(*) FROM (SELECT t / 86400 AS day FROM rollup WHERE series_id = "
		    "$1 AND tier = 0 AND t < $2 UNION SELECT t / 86400 AS day FROM sample WHERE "
		    "series_id = $1 AND t < $2 AND t < $3) AS days",
		    DB_ARGS(db_i64(series->id), db_i64(hours_until), db_i64(until)));
	if (rc != BERTH_OK)
		return rc;
	due->series += steps + hours > 0;
	due->steps += steps;
	due->hours += hours;
	due->hours_made += first == TIER_HOUR ? buckets : 0;
	due->days_made += first == TIER_HOUR ? days : buckets;
	return BERTH_OK;
}

enum berth_code
store_rollup_due(struct store *s, const struct tier_policy *policy, int64_t now,
    struct tier_moved *due_out, struct berth_err *err)
{
	struct arena *a = arena_new();
	struct tier_moved due = { 0 };
	struct series *list;
	size_t n;
	enum berth_code rc = store_series_list(s, a, &list, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = due_series(s, &list[i], policy, now, &due, err);
	arena_free(a);
	if (rc == BERTH_OK)
		*due_out = due;
	return rc;
}

enum berth_code
store_rollup(struct store *s, const struct tier_policy *policy, int64_t now, int64_t max_work,
    tier_progress_fn *progress, void *arg, struct tier_moved *moved_out, struct berth_err *err)
{
	struct move_run r = {
		.policy = policy, .now = now, .max_work = max_work, .progress = progress, .arg = arg
	};
	struct arena *a = arena_new();
	struct tier_moved due;
	struct series *list;
	size_t n;
	enum berth_code rc = store_series_list(s, a, &list, &n, err);

	if (rc == BERTH_OK && progress != NULL &&
	    (rc = store_rollup_due(s, policy, now, &due, err)) == BERTH_OK)
		r.all = move_done(&due);
	for (size_t i = 0; rc == BERTH_OK && i < n && !r.moved.more; i++)
		rc = move_series(s, &list[i], &r, err);
	arena_free(a);
	*moved_out = r.moved;
	return rc;
}

enum berth_code
store_compact(struct store *s, struct berth_err *err)
{
	return db_engine(s->db)->compact(db_conn(s->db), err);
}
