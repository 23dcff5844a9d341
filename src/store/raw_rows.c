#include "store/priv.h"
#include "store/series_rows.h"
#include "util/vec.h"

struct raw_list {
	struct arena *a;
	VEC(struct raw_row) v;
};

static enum berth_code
raw_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct raw_list *l = arg;
	struct raw_row *r = VEC_ADD(l->a, &l->v);

	struct db_val form;

	(void)err;
	r->step = db_col_i64(st, "step");
	r->source = db_col_i64(st, "source");
	r->t = db_col_i64(st, "t");
	r->value = db_col_real(st, "value");
	r->peak = db_col_real(st, "peak");
	form = db_col_at(st, db_col(st, "form"));
	r->form = form.type == DB_TEXT ? db_col_text(st, "form", l->a) : NULL;
	return BERTH_OK;
}

enum berth_code
store_raw_list(struct store *s, int64_t series_id, int64_t from, int64_t to, struct arena *a,
    struct raw_row **rows_out, size_t *n_out, struct berth_err *err)
{
	struct raw_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, raw_row, &l, err,
	    "SELECT step, t, source, value, peak, form FROM raw WHERE series_id = $1 AND step >= "
	    "$2 AND "
	    "step < $3 ORDER BY step, t, source",
	    DB_ARGS(db_i64(series_id), db_i64(from), db_i64(to)));
	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_raw_replace(struct store *s, int64_t series_id, int64_t step, const struct raw_row *rows,
    size_t n, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err, "DELETE FROM raw WHERE series_id = $1 AND step = $2",
	    DB_ARGS(db_i64(series_id), db_i64(step)));
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = db_run(s->db, err,
		    "INSERT INTO raw (series_id, step, t, source, value, peak, form) VALUES ($1, "
		    "$2, "
		    "$3, $4, $5, $6, $7)",
		    DB_ARGS(db_i64(series_id), db_i64(step), db_i64(rows[i].t),
			db_i64(rows[i].source), db_real(rows[i].value), db_real(rows[i].peak),
			rows[i].form != NULL ? db_text(rows[i].form) : db_null()));
	return store_end(s, rc, err);
}
