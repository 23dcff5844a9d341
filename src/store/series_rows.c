#include <math.h>
#include <string.h>

#include "store/priv.h"
#include "store/series_rows.h"
#include "store/tier_rows.h"
#include "util/str.h"
#include "util/vec.h"

static enum berth_code
series_name_check(const char *name, struct berth_err *err)
{
	size_t n = strlen(name);

	if (n == 0 || n > SERIES_NAME_MAX)
		return err_set(err, BERTH_EINVAL, "series: a name has 1 to %d bytes, not %zu",
		    SERIES_NAME_MAX, n);
	if (str_control(name) >= 0)
		return err_set(err, BERTH_EINVAL,
		    "series: a control character in the name, byte %td", str_control(name) + 1);
	return BERTH_OK;
}

struct series_list {
	struct arena *a;
	VEC(struct series) v;
};

static enum berth_code
series_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct series_list *l = arg;
	struct series *s = VEC_ADD(l->a, &l->v);

	(void)err;
	s->id = db_col_i64(st, "id");
	s->name = db_col_text(st, "name", l->a);
	s->labels = db_col_text(st, "labels", l->a);
	s->unit = db_col_text(st, "unit", l->a);
	s->step_s = db_col_i64(st, "step_s");
	s->interval_s = db_col_i64(st, "interval_s");
	s->from = db_col_i64(st, "first_t");
	s->to = db_col_i64(st, "last_t");
	s->samples = db_col_i64(st, "samples");
	s->peak = db_col_real(st, "peak");
	return BERTH_OK;
}

enum berth_code
store_series_list(struct store *s, struct arena *a, struct series **series_out, size_t *n_out,
    struct berth_err *err)
{
	struct series_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, series_row, &l, err, "SELECT * FROM series ORDER BY name", DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*series_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_series_get(struct store *s, const char *name, struct arena *a, struct series *series_out,
    struct berth_err *err)
{
	struct series_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(
	    s, series_row, &l, err, "SELECT * FROM series WHERE name = $1", DB_ARGS(db_text(name)));
	if (rc == BERTH_OK && l.v.n == 0)
		rc = err_set(err, BERTH_ENOTFOUND,
		    "there is no series '%s'; `berth series` lists them", name);
	if (rc == BERTH_OK)
		*series_out = l.v.v[0];
	return rc;
}

static enum berth_code
series_match(struct store *s, const char *name, const char *labels, const char *unit,
    int64_t step_s, int64_t *id_out, struct berth_err *err)
{
	struct arena *a = arena_new();
	struct series have;
	enum berth_code rc;

	rc = store_series_get(s, name, a, &have, err);
	if (rc == BERTH_OK && have.step_s != step_s)
		rc = err_set(err, BERTH_EINVAL, "series '%s' has a step of %lld s, not %lld s",
		    name, (long long)have.step_s, (long long)step_s);
	else if (rc == BERTH_OK && strcmp(have.unit, unit) != 0)
		rc = err_set(err, BERTH_EINVAL, "series '%s' has the unit %s, not %s", name,
		    have.unit, unit);
	else if (rc == BERTH_OK && labels != NULL && strcmp(have.labels, "{}") == 0 &&
		 strcmp(labels, "{}") != 0)
		rc = db_run(s->db, err, "UPDATE series SET labels = $1 WHERE id = $2",
		    DB_ARGS(db_text(labels), db_i64(have.id)));
	if (rc == BERTH_OK)
		*id_out = have.id;
	arena_free(a);
	return rc;
}

enum berth_code
store_series_put(struct store *s, const char *name, const char *labels, const char *unit,
    int64_t step_s, int64_t *id_out, struct berth_err *err)
{
	enum berth_code rc = series_name_check(name, err);
	int64_t id = 0;

	if (rc == BERTH_OK && step_s <= 0)
		rc = err_set(
		    err, BERTH_EINVAL, "series '%s': a step of %lld s", name, (long long)step_s);
	if (rc == BERTH_OK)
		rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = db_insert(s->db, &id, err,
	    "INSERT INTO series (name, labels, unit, step_s, run) VALUES ($1, $2, $3, $4, $5) ON "
	    "CONFLICT (name) DO NOTHING RETURNING id",
	    DB_ARGS(db_text(name), db_text(labels != NULL ? labels : "{}"), db_text(unit),
		db_i64(step_s), db_id(s->run_id)));
	if (rc == BERTH_OK && id == 0)
		rc = series_match(s, name, labels, unit, step_s, &id, err);
	rc = store_end(s, rc, err);
	if (rc == BERTH_OK)
		*id_out = id;
	return rc;
}

enum berth_code
store_series_interval(struct store *s, int64_t series_id, int64_t interval_s, struct berth_err *err)
{
	return store_write(s, err, "UPDATE series SET interval_s = $1 WHERE id = $2",
	    DB_ARGS(db_i64(interval_s), db_i64(series_id)));
}

enum berth_code
store_series_delete(struct store *s, int64_t series_id, struct berth_err *err)
{
	static const char *const parts[] = { "DELETE FROM sample WHERE series_id = $1",
		"DELETE FROM sample_part WHERE series_id = $1",
		"DELETE FROM sample_was WHERE series_id = $1",
		"DELETE FROM rollup WHERE series_id = $1",
		"DELETE FROM series_form WHERE series_id = $1",
		"DELETE FROM series_form_was WHERE series_id = $1",
		"DELETE FROM rollup_mark WHERE series_id = $1",
		"DELETE FROM ledger_step WHERE series_id = $1" };
	struct load l = { .t = s->opened, .format = "delete", .source = "a series", .digest = "" };
	struct tier_count flow = s->flow, sum = { 0 };
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = tier_ledger_sum(s, series_id, &sum, err);
	for (size_t i = 0; rc == BERTH_OK && i < sizeof(parts) / sizeof(parts[0]); i++)
		rc = db_run(s->db, err, parts[i], DB_ARGS(db_i64(series_id)));
	if (rc == BERTH_OK)
		rc = store_met(s,
		    db_run(
			s->db, err, "DELETE FROM series WHERE id = $1", DB_ARGS(db_i64(series_id))),
		    err, "there is no series %lld", (long long)series_id);
	s->flow = tier_count_sub((struct tier_count){ 0 }, sum);
	if (rc == BERTH_OK && sum.steps != 0)
		rc = store_load_insert(s, &l, err);
	s->flow = flow;
	return store_end(s, rc, err);
}

enum berth_code
store_series_stats(
    struct store *s, const struct series *series, struct series_stats *out, struct berth_err *err)
{
	struct series_sum sum;
	struct history last;
	struct arena *a;
	enum berth_code rc;

	*out = (struct series_stats){ .mean = (double)NAN, .last = (double)NAN };
	if (series->samples == 0)
		return BERTH_OK;
	out->missing = (series->to - series->from) / series->step_s + 1 - series->samples;
	rc = store_series_sum(s, series->id, &sum, err);
	if (rc != BERTH_OK)
		return rc;
	out->mean = sum.covered_s > 0 ? sum.unit_seconds / (double)sum.covered_s : (double)NAN;
	out->gpu_seconds = sum.unit_seconds;
	a = arena_new();
	rc =
	    store_history(s, series->id, 0, series->to, series->to + series->step_s, a, &last, err);
	if (rc == BERTH_OK && last.d.n > 0)
		out->last = last.d.mean[last.d.n - 1];
	arena_free(a);
	return rc;
}

enum berth_code
store_load_insert(struct store *s, const struct load *l, struct berth_err *err)
{
	struct tier_count flow = s->flow;

	s->flow = (struct tier_count){ 0 };
	return store_write(s, err,
	    "INSERT INTO load (run, t, format, source, digest, rows_read, rows_stored, "
	    "rows_duplicate, rows_replaced, rows_refused, first_t, last_t, steps, covered_s, "
	    "total_hi, total_lo, late, options) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
	    "$11, $12, $13, $14, $15, $16, $17, $18)",
	    DB_ARGS(db_id(s->run_id), db_i64(l->t), db_text(l->format), db_text(l->source),
		db_text(l->digest), db_i64(l->rows_read), db_i64(l->rows_stored),
		db_i64(l->rows_duplicate), db_i64(l->rows_replaced), db_i64(l->rows_refused),
		db_id(l->from), db_id(l->to), db_i64(flow.steps), db_i64(flow.covered_s),
		db_i64(flow.total.hi), db_i64((int64_t)flow.total.lo), db_i64(l->late),
		db_text(l->options)));
}

struct load_list {
	struct arena *a;
	VEC(struct load) v;
};

static enum berth_code
load_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct load_list *l = arg;
	struct load *r = VEC_ADD(l->a, &l->v);

	(void)err;
	r->id = db_col_i64(st, "id");
	r->run = db_col_i64(st, "run");
	r->t = db_col_i64(st, "t");
	r->format = db_col_text(st, "format", l->a);
	r->source = db_col_text(st, "source", l->a);
	r->digest = db_col_text(st, "digest", l->a);
	r->rows_read = db_col_i64(st, "rows_read");
	r->rows_stored = db_col_i64(st, "rows_stored");
	r->rows_duplicate = db_col_i64(st, "rows_duplicate");
	r->rows_replaced = db_col_i64(st, "rows_replaced");
	r->rows_refused = db_col_i64(st, "rows_refused");
	r->late = db_col_i64(st, "late");
	r->options = db_col_text(st, "options", l->a);
	r->steps = db_col_i64(st, "steps");
	r->covered_s = db_col_i64(st, "covered_s");
	r->unit_seconds = tier_sum_value(
	    (struct tier_sum){ db_col_i64(st, "total_hi"), (uint64_t)db_col_i64(st, "total_lo") });
	r->from = db_col_i64(st, "first_t");
	r->to = db_col_i64(st, "last_t");
	return BERTH_OK;
}

enum berth_code
store_load_list(struct store *s, size_t limit, struct arena *a, struct load **loads_out,
    size_t *n_out, struct berth_err *err)
{
	struct load_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, load_row, &l, err, "SELECT * FROM load ORDER BY id DESC LIMIT $1",
	    DB_ARGS(db_i64(limit > 0 ? (int64_t)limit : INT64_MAX)));
	if (rc == BERTH_OK) {
		*loads_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}
