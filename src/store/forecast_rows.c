#include "store/forecast_rows.h"

#include "store/forecast_pack.h"
#include "store/priv.h"
#include "util/buf.h"
#include "util/vec.h"

#define FORECAST_PACKED_MAX ((size_t)64 << 20)

/* Has the connection a transaction of the caller's, this is a part of it. */
static enum berth_code
forecast_put(struct store *s, const struct forecast_row *f, const struct buf *packed,
    int64_t *id_out, struct berth_err *err)
{
	enum berth_code rc = db_run(s->db, err,
	    "DELETE FROM forecast WHERE series = $1 AND as_of = $2 AND horizon_s = $3",
	    DB_ARGS(db_text(f->series), db_i64(f->as_of), db_i64(f->horizon_s)));

	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "DELETE FROM forecast_score WHERE series = $1 AND as_of = $2 AND horizon_s = "
		    "$3",
		    DB_ARGS(db_text(f->series), db_i64(f->as_of), db_i64(f->horizon_s)));
	if (rc == BERTH_OK)
		rc = store_insert(s, id_out, err,
		    "INSERT INTO forecast (run, series, as_of, horizon_s, made, json, packed) "
		    "VALUES ($1, $2, $3, $4, $5, '', $6) RETURNING id",
		    DB_ARGS(db_id(s->run_id), db_text(f->series), db_i64(f->as_of),
			db_i64(f->horizon_s), db_i64(f->made), db_blob(packed->p, packed->len)));
	return rc;
}

enum berth_code
store_forecast_insert(
    struct store *s, const struct forecast_row *f, int64_t *id_out, struct berth_err *err)
{
	struct buf packed;
	enum berth_code rc;

	buf_init(&packed, FORECAST_PACKED_MAX);
	forecast_pack(f, &packed);
	rc = buf_check(&packed, f->series, err);
	if (rc == BERTH_OK)
		rc = store_begin(s, err);
	if (rc == BERTH_OK)
		rc = store_end(s, forecast_put(s, f, &packed, id_out, err), err);
	buf_free(&packed);
	return rc;
}

struct forecast_rows {
	struct arena *a;
	VEC(struct forecast_row) v;
};

static struct forecast_row *
forecast_head(struct forecast_rows *l, struct db_stmt *st)
{
	struct forecast_row *f = VEC_ADD(l->a, &l->v);

	f->id = db_col_i64(st, "id");
	f->run = db_col_i64(st, "run");
	f->series = db_col_text(st, "series", l->a);
	f->as_of = db_col_i64(st, "as_of");
	f->horizon_s = db_col_i64(st, "horizon_s");
	f->made = db_col_i64(st, "made");
	return f;
}

static enum berth_code
forecast_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct forecast_rows *l = arg;
	struct forecast_row *f = forecast_head(l, st);
	struct db_val packed = db_col_at(st, db_col(st, "packed"));

	if (packed.type == DB_BLOB)
		return forecast_unpack(packed.s, packed.len, l->a, f, err);
	return forecast_unpack_json(db_col_text(st, "json", l->a), l->a, f, err);
}

static enum berth_code
forecast_head_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	(void)err;
	(void)forecast_head(arg, st);
	return BERTH_OK;
}

enum berth_code
store_forecast_list(struct store *s, const char *series, size_t limit, struct arena *a,
    struct forecast_row **fs_out, size_t *n_out, struct berth_err *err)
{
	struct forecast_rows l = { .a = a };
	int64_t most = limit > 0 ? (int64_t)limit : INT64_MAX;
	enum berth_code rc;

	if (series != NULL)
		rc = store_each(s, forecast_row, &l, err,
		    "SELECT * FROM forecast WHERE series = $1 ORDER BY id DESC LIMIT $2",
		    DB_ARGS(db_text(series), db_i64(most)));
	else
		rc = store_each(s, forecast_row, &l, err,
		    "SELECT * FROM forecast ORDER BY id DESC LIMIT $1", DB_ARGS(db_i64(most)));
	*fs_out = l.v.v;
	*n_out = l.v.n;
	return rc;
}

enum berth_code
store_forecast_heads(struct store *s, const char *series, struct arena *a,
    struct forecast_row **fs_out, size_t *n_out, struct berth_err *err)
{
	struct forecast_rows l = { .a = a };
	enum berth_code rc = store_each(s, forecast_head_row, &l, err,
	    "SELECT id, run, series, as_of, horizon_s, made FROM forecast WHERE series = $1 ORDER "
	    "BY as_of, id",
	    DB_ARGS(db_text(series)));

	*fs_out = l.v.v;
	*n_out = l.v.n;
	return rc;
}

enum berth_code
store_forecast_get(
    struct store *s, int64_t id, struct arena *a, struct forecast_row *f_out, struct berth_err *err)
{
	struct forecast_rows l = { .a = a };
	enum berth_code rc = store_each(
	    s, forecast_row, &l, err, "SELECT * FROM forecast WHERE id = $1", DB_ARGS(db_i64(id)));

	if (rc == BERTH_OK && l.v.n == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "there is no forecast %lld", (long long)id);
	if (rc == BERTH_OK)
		*f_out = l.v.v[0];
	return rc;
}

static enum berth_code
forecast_score_put(struct store *s, const struct forecast_score_row *r, struct berth_err *err)
{
	enum berth_code rc = db_run(s->db, err,
	    "DELETE FROM forecast_score WHERE series = $1 AND as_of = $2 AND horizon_s = $3",
	    DB_ARGS(db_text(r->series), db_i64(r->as_of), db_i64(r->horizon_s)));

	if (rc != BERTH_OK)
		return rc;
	return db_run(s->db, err,
	    "INSERT INTO forecast_score (series, as_of, horizon_s, made, known_s, mase, smape, "
	    "pinball, coverage90, peak_pinball95, peak_exceeded95, run) VALUES ($1, $2, $3, $4, "
	    "$5, $6, $7, $8, $9, $10, $11, $12)",
	    DB_ARGS(db_text(r->series), db_i64(r->as_of), db_i64(r->horizon_s), db_i64(r->made),
		db_i64(r->known_s), db_real(r->mase), db_real(r->smape), db_real(r->pinball),
		db_real(r->coverage90), db_real(r->peak_pinball95), db_real(r->peak_exceeded95),
		db_id(s->run_id)));
}

enum berth_code
store_forecast_settle(
    struct store *s, int64_t id, const struct forecast_score_row *score, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	if (score != NULL)
		rc = forecast_score_put(s, score, err);
	if (rc == BERTH_OK)
		rc = db_run(s->db, err, "DELETE FROM forecast WHERE id = $1", DB_ARGS(db_i64(id)));
	return store_end(s, rc, err);
}

struct forecast_old {
	struct arena *a;
	VEC(struct forecast_row) v;
};

static enum berth_code
forecast_old_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct forecast_old *l = arg;
	struct forecast_row f = { .id = db_col_i64(st, "id"),
		.series = db_col_text(st, "series", l->a) };
	struct berth_err ignored;

	(void)err;
	if (forecast_unpack_json(db_col_text(st, "json", l->a), l->a, &f, &ignored) == BERTH_OK)
		VEC_PUSH(l->a, &l->v, f);
	return BERTH_OK;
}

enum berth_code
store_forecast_repack(struct store *s, const char *series, struct berth_err *err)
{
	struct forecast_old l = { .a = arena_new() };
	struct buf packed;
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK) {
		arena_free(l.a);
		return rc;
	}
	rc = store_each(s, forecast_old_row, &l, err,
	    "SELECT id, series, json FROM forecast WHERE series = $1 AND packed IS NULL",
	    DB_ARGS(db_text(series)));
	buf_init(&packed, FORECAST_PACKED_MAX);
	for (size_t i = 0; i < l.v.n && rc == BERTH_OK; i++) {
		buf_clear(&packed);
		forecast_pack(&l.v.v[i], &packed);
		rc = buf_check(&packed, series, err);
		if (rc == BERTH_OK)
			rc = db_run(s->db, err,
			    "UPDATE forecast SET packed = $1, json = '' WHERE id = $2",
			    DB_ARGS(db_blob(packed.p, packed.len), db_i64(l.v.v[i].id)));
	}
	buf_free(&packed);
	arena_free(l.a);
	return store_end(s, rc, err);
}

struct forecast_score_rows {
	struct arena *a;
	VEC(struct forecast_score_row) v;
};

static enum berth_code
forecast_score_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct forecast_score_rows *l = arg;
	struct forecast_score_row *r = VEC_ADD(l->a, &l->v);

	(void)err;
	r->series = db_col_text(st, "series", l->a);
	r->as_of = db_col_i64(st, "as_of");
	r->horizon_s = db_col_i64(st, "horizon_s");
	r->made = db_col_i64(st, "made");
	r->known_s = db_col_i64(st, "known_s");
	r->mase = db_col_real(st, "mase");
	r->smape = db_col_real(st, "smape");
	r->pinball = db_col_real(st, "pinball");
	r->coverage90 = db_col_real(st, "coverage90");
	r->peak_pinball95 = db_col_real(st, "peak_pinball95");
	r->peak_exceeded95 = db_col_real(st, "peak_exceeded95");
	return BERTH_OK;
}

enum berth_code
store_forecast_scores(struct store *s, const char *series, struct arena *a,
    struct forecast_score_row **rows_out, size_t *n_out, struct berth_err *err)
{
	struct forecast_score_rows l = { .a = a };
	enum berth_code rc = store_each(s, forecast_score_row, &l, err,
	    "SELECT * FROM forecast_score WHERE series = $1 ORDER BY as_of, horizon_s",
	    DB_ARGS(db_text(series)));

	*rows_out = l.v.v;
	*n_out = l.v.n;
	return rc;
}
