#include "store/waiting_rows.h"
#include "store/priv.h"
#include "util/vec.h"

struct waiting_rows {
	struct arena *a;
	VEC(struct waiting_row) v;
};

static enum berth_code
waiting_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct waiting_rows *l = arg;
	struct waiting_row *w = VEC_ADD(l->a, &l->v);

	(void)err;
	w->job_id = db_col_text(st, "job_id", l->a);
	w->decision_id = db_col_i64(st, "decision_id");
	w->reason = db_col_text(st, "reason", l->a);
	w->digest = db_col_i64(st, "digest");
	w->seen = db_col_i64(st, "seen");
	return BERTH_OK;
}

enum berth_code
store_waiting_list(struct store *s, struct arena *a, struct waiting_row **rows_out, size_t *n_out,
    struct berth_err *err)
{
	struct waiting_rows l = { .a = a };
	enum berth_code rc = store_each(
	    s, waiting_row, &l, err, "SELECT * FROM waiting ORDER BY job_id", DB_NO_ARGS);

	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_waiting_put(struct store *s, const struct waiting_row *w, struct berth_err *err)
{
	return store_write(s, err,
	    "INSERT INTO waiting (job_id, decision_id, reason, digest, seen) VALUES ($1, $2, $3, "
	    "$4, $5) ON CONFLICT (job_id) DO UPDATE SET decision_id = $2, reason = $3, digest = "
	    "$4, seen = $5",
	    DB_ARGS(db_text(w->job_id), db_i64(w->decision_id), db_text(w->reason),
		db_i64(w->digest), db_i64(w->seen)));
}

enum berth_code
store_waiting_end(struct store *s, const struct waiting_row *w, struct berth_err *err)
{
	enum berth_code rc = store_write(s, err, "UPDATE decision SET seen = $1 WHERE id = $2",
	    DB_ARGS(db_i64(w->seen), db_i64(w->decision_id)));

	return rc == BERTH_OK ? store_write(s, err, "DELETE FROM waiting WHERE job_id = $1",
				    DB_ARGS(db_text(w->job_id)))
			      : rc;
}

enum berth_code
store_waiting_seen(struct store *s, int64_t now, struct berth_err *err)
{
	return store_write(s, err, "UPDATE waiting SET seen = $1", DB_ARGS(db_i64(now)));
}
