#include <math.h>
#include <string.h>

#include "store/priv.h"
#include "store/tier.h"
#include "store/tier_rows.h"
#include "util/buf.h"
#include "util/time.h"

#define TIER_BLOB_MAX ((size_t)1024 * 1024)

enum berth_code
tier_put(struct store *s, int64_t series_id, const struct tier_bucket *b, struct berth_err *err)
{
	struct tier_row row = { .tier = b->tier, .t = b->t, .sum = b->sum, .peak = b->peak };
	struct buf runs, sketch;
	enum berth_code rc;

	buf_init(&runs, TIER_BLOB_MAX);
	buf_init(&sketch, TIER_BLOB_MAX);
	tier_pack_runs(b, &runs);
	sketch_pack(&b->sketch, &sketch);
	rc = buf_check(&runs, "store: steps of a bucket", err);
	if (rc == BERTH_OK)
		rc = buf_check(&sketch, "store: sketch of a bucket", err);
	row.runs = runs.len > 0 ? runs.p : NULL;
	row.n_runs = runs.len;
	row.sketch = sketch.p;
	row.n_sketch = sketch.len;
	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "INSERT INTO rollup (series_id, tier, t, covered_s, steps, total_hi, total_lo, "
		    "peak, runs, sketch, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
		    "$11) ON CONFLICT (series_id, tier, t) DO UPDATE SET covered_s = "
		    "excluded.covered_s, steps = excluded.steps, total_hi = excluded.total_hi, "
		    "total_lo = excluded.total_lo, peak = excluded.peak, runs = excluded.runs, "
		    "sketch = excluded.sketch, digest = excluded.digest",
		    DB_ARGS(db_i64(series_id), db_i64(b->tier), db_i64(b->t),
			db_i64(b->sum.covered_s), db_i64(b->sum.steps), db_i64(b->sum.total.hi),
			db_i64((int64_t)b->sum.total.lo), db_real(b->peak),
			row.runs != NULL ? db_blob(row.runs, row.n_runs) : db_null(),
			db_blob(row.sketch, row.n_sketch),
			db_i64(tier_row_check(series_id, &row))));
	buf_free(&runs);
	buf_free(&sketch);
	return rc;
}

enum berth_code
tier_get(struct store *s, int64_t series_id, enum tier tier, int64_t t, int64_t step_s,
    struct arena *a, struct tier_bucket *b_out, bool *found_out, struct berth_err *err)
{
	char at[TIME_FMT_SIZE];
	struct db_stmt *st;
	struct tier_row row;
	const char *fault = NULL;
	bool found = false;
	enum berth_code rc = db_query(s->db, &st, err,
	    "SELECT " TIER_COLUMNS " FROM rollup WHERE series_id = $1 AND tier = $2 AND t = $3",
	    DB_ARGS(db_i64(series_id), db_i64(tier), db_i64(t)));

	if (rc == BERTH_OK)
		rc = db_next(st, &found, err);
	if (rc == BERTH_OK && found) {
		tier_row_get(st, a, &row);
		fault = tier_unpack(&row, step_s, a, b_out);
	}
	db_done(st);
	if (rc == BERTH_OK && fault != NULL)
		rc = err_set(err, BERTH_EINVAL, "series %lld: the %s %s is damaged: %s",
		    (long long)series_id, tier_name(tier), time_fmt(at, t), fault);
	if (rc == BERTH_OK)
		*found_out = found;
	return rc;
}

enum berth_code
tier_marks_get(struct store *s, int64_t series_id, struct tier_marks *m_out, struct berth_err *err)
{
	struct db_stmt *st;
	bool row;
	enum berth_code rc = db_query(s->db, &st, err,
	    "SELECT hour_until, day_until FROM rollup_mark WHERE series_id = $1",
	    DB_ARGS(db_i64(series_id)));

	*m_out = (struct tier_marks){ 0, 0 };
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	if (rc == BERTH_OK && row)
		*m_out = (struct tier_marks){ db_col_i64(st, "hour_until"),
			db_col_i64(st, "day_until") };
	db_done(st);
	return rc;
}

enum berth_code
store_late_until(struct store *s, int64_t series_id, int64_t *until_out, struct berth_err *err)
{
	struct tier_marks m;
	enum berth_code rc = tier_marks_get(s, series_id, &m, err);

	if (rc == BERTH_OK)
		*until_out = tier_late(&m);
	return rc;
}

static struct tier_count
ledger_count(struct db_stmt *st)
{
	return (struct tier_count){ db_col_i64(st, "steps"), db_col_i64(st, "covered_s"),
		{ db_col_i64(st, "total_hi"), (uint64_t)db_col_i64(st, "total_lo") } };
}

static enum berth_code
ledger_sum_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct tier_count *sum = arg;

	(void)err;
	*sum = tier_count_add(*sum, ledger_count(st));
	return BERTH_OK;
}

enum berth_code
tier_ledger_add(struct store *s, int64_t series_id, int64_t stretch_t, struct tier_count change,
    struct berth_err *err)
{
	struct tier_count sum = change;
	enum berth_code rc;

	if (tier_count_eq(change, (struct tier_count){ 0 }))
		return BERTH_OK;
	rc = store_each(s, ledger_sum_row, &sum, err,
	    "SELECT steps, covered_s, total_hi, total_lo FROM ledger_step WHERE series_id = $1 AND "
	    "t = $2",
	    DB_ARGS(db_i64(series_id), db_i64(stretch_t)));
	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "INSERT INTO ledger_step (series_id, t, steps, covered_s, total_hi, total_lo) "
		    "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (series_id, t) DO UPDATE SET "
		    "steps = excluded.steps, covered_s = excluded.covered_s, total_hi = "
		    "excluded.total_hi, total_lo = excluded.total_lo",
		    DB_ARGS(db_i64(series_id), db_i64(stretch_t), db_i64(sum.steps),
			db_i64(sum.covered_s), db_i64(sum.total.hi),
			db_i64((int64_t)sum.total.lo)));
	if (rc == BERTH_OK)
		s->flow = tier_count_add(s->flow, change);
	return rc;
}

struct ledger_opening {
	struct store *s;
	int64_t series_id, step_s;
	int64_t t; /* stretch */
	struct tier_count sum;
};

static enum berth_code
ledger_open_flush(struct ledger_opening *o, struct berth_err *err)
{
	enum berth_code rc = tier_ledger_add(o->s, o->series_id, o->t, o->sum, err);

	o->sum = (struct tier_count){ 0 };
	return rc;
}

static enum berth_code
ledger_open_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct ledger_opening *o = arg;
	const struct sample v = { .t = db_col_i64(st, "t"), .mean = db_col_real(st, "mean") };
	int64_t t = time_floor(v.t, tier_stretch(o->step_s));
	enum berth_code rc = BERTH_OK;

	if (o->sum.steps > 0 && t != o->t)
		rc = ledger_open_flush(o, err);
	o->t = t;
	o->sum = tier_count_add(o->sum, tier_count_of(&v, o->step_s));
	return rc;
}

enum berth_code
tier_ledger_open(struct store *s, int64_t series_id, int64_t step_s, struct berth_err *err)
{
	struct ledger_opening o = { .s = s, .series_id = series_id, .step_s = step_s };
	struct load l = { .t = s->opened,
		.format = "opening",
		.source = "what was there before the ledger",
		.digest = "" };
	struct tier_count flow = s->flow;
	int64_t have = 0;
	enum berth_code rc = db_get_one(s->db, 0, &have, err,
	    "SELECT 1 FROM ledger_step WHERE series_id = $1 LIMIT 1", DB_ARGS(db_i64(series_id)));

	if (rc != BERTH_OK || have != 0)
		return rc;
	s->flow = (struct tier_count){ 0 };
	rc = store_each(s, ledger_open_row, &o, err,
	    "SELECT t, mean FROM sample WHERE series_id = $1 ORDER BY t",
	    DB_ARGS(db_i64(series_id)));
	if (rc == BERTH_OK)
		rc = ledger_open_flush(&o, err);
	l.rows_stored = s->flow.steps;
	if (rc == BERTH_OK && s->flow.steps > 0)
		rc = store_load_insert(s, &l, err);
	s->flow = flow;
	return rc;
}

enum berth_code
tier_ledger_sum(struct store *s, int64_t series_id, struct tier_count *sum, struct berth_err *err)
{
	return store_each(s, ledger_sum_row, sum, err,
	    "SELECT steps, covered_s, total_hi, total_lo FROM ledger_step WHERE series_id = $1",
	    DB_ARGS(db_i64(series_id)));
}

enum berth_code
store_series_sum(
    struct store *s, int64_t series_id, struct series_sum *sum_out, struct berth_err *err)
{
	struct tier_count sum = { 0 };
	enum berth_code rc = tier_ledger_sum(s, series_id, &sum, err);

	if (rc == BERTH_OK)
		*sum_out =
		    (struct series_sum){ sum.steps, sum.covered_s, tier_sum_value(sum.total) };
	return rc;
}

enum berth_code
store_load_find(struct store *s, const char *format, const char *digest, const char *options,
    int64_t *load_id_out, struct berth_err *err)
{
	*load_id_out = 0;
	if (digest[0] == '\0')
		return BERTH_OK;
	return db_get_one(s->db, 0, load_id_out, err,
	    "SELECT max(id) FROM load WHERE digest = $1 AND digest <> '' AND format = $2 AND "
	    "options = $3 AND late = 0",
	    DB_ARGS(db_text(digest), db_text(format), db_text(options)));
}

struct tier_each {
	struct arena *a;
	tier_view_fn *fn;
	void *arg;
};

static enum berth_code
tier_each_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct tier_each *e = arg;
	char at[TIME_FMT_SIZE];
	struct tier_view v;
	struct tier_row row;
	enum berth_code rc;

	tier_row_get(st, e->a, &row);
	v = (struct tier_view){ .t = row.t,
		.len_s = tier_len(row.tier),
		.steps = row.sum.steps,
		.covered_s = row.sum.covered_s,
		.unit_seconds = tier_sum_value(row.sum.total),
		.peak = row.peak };
	if (!sketch_unpack(row.sketch, row.n_sketch, e->a, &v.sketch))
		return err_set(err, BERTH_EINVAL,
		    "the %s %s is damaged: its sketch cannot be read; see `berth store check`",
		    tier_name(row.tier), time_fmt(at, row.t));
	rc = e->fn(e->arg, &v, err);
	arena_reset(e->a);
	return rc;
}

enum berth_code
store_tier_each(struct store *s, int64_t series_id, int64_t from, int64_t to, tier_view_fn *fn,
    void *arg, struct berth_err *err)
{
	struct tier_each e = { .a = arena_new(), .fn = fn, .arg = arg };
	enum berth_code rc = store_each(s, tier_each_row, &e, err,
	    "SELECT " TIER_COLUMNS
	    " FROM rollup WHERE series_id = $1 AND t >= $2 AND t < $3 ORDER BY t, tier",
	    DB_ARGS(db_i64(series_id), db_i64(from), db_i64(to != 0 ? to : INT64_MAX)));

	arena_free(e.a);
	return rc;
}
