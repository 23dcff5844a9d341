#include "store/bill_rows.h"

#include <math.h>
#include <string.h>

#include "store/priv.h"
#include "util/arena.h"
#include "util/vec.h"

enum berth_code
store_bill_label(struct store *s, const char *labels, int64_t *id_out, struct berth_err *err)
{
	int64_t id = 0;
	enum berth_code rc = db_get_one(s->db, 0, &id, err,
	    "SELECT id FROM bill_label WHERE labels = $1", DB_ARGS(db_text(labels)));

	if (rc == BERTH_OK && id == 0)
		rc = store_insert(s, &id, err,
		    "INSERT INTO bill_label (labels) VALUES ($1) RETURNING id",
		    DB_ARGS(db_text(labels)));
	*id_out = id;
	return rc;
}

struct bill_found {
	const struct bill_row *row;
	bool found, same;
};

static enum berth_code
bill_compare(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct bill_found *f = arg;
	struct db_val currency = db_col_at(st, 6);
	double cost = db_col_real(st, "cost");

	(void)err;
	f->found = true;
	f->same =
	    db_col_i64(st, "end_t") == f->row->end && db_col_i64(st, "scope") == f->row->scope &&
	    db_col_i64(st, "label") == f->row->label && db_col_i64(st, "used") == f->row->used &&
	    db_col_real(st, "gpu_hours") == f->row->gpu_hours &&
	    (cost == f->row->cost || (isnan(cost) && isnan(f->row->cost))) &&
	    strcmp(currency.s != NULL ? currency.s : "", f->row->currency) == 0;
	return BERTH_OK;
}

enum berth_code
store_bill_put(
    struct store *s, const struct bill_row *row, enum put_fate *fate_out, struct berth_err *err)
{
	struct bill_found f = { .row = row };
	enum berth_code rc = store_each(s, bill_compare, &f, err,
	    "SELECT end_t, scope, label, used, gpu_hours, cost, currency FROM bill_row WHERE "
	    "start_t = $1 AND key_hi = $2 AND key_lo = $3 AND n = $4",
	    DB_ARGS(db_i64(row->start), db_i64(row->key_hi), db_i64(row->key_lo), db_i64(row->n)));

	*fate_out = !f.found ? PUT_STORED : f.same ? PUT_DUPLICATE : PUT_REPLACED;
	if (rc == BERTH_OK && f.same)
		return store_write(s, err,
		    "UPDATE bill_row SET gone = 0 WHERE start_t = $1 AND key_hi = $2 AND key_lo = "
		    "$3 AND n = $4 AND gone = 1",
		    DB_ARGS(db_i64(row->start), db_i64(row->key_hi), db_i64(row->key_lo),
			db_i64(row->n)));
	if (rc == BERTH_OK)
		rc = store_write(s, err,
		    "INSERT INTO bill_row (start_t, key_hi, key_lo, n, end_t, scope, label, used, "
		    "gone, gpu_hours, cost, currency) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, "
		    "$9, $10, $11) ON CONFLICT (start_t, key_hi, key_lo, n) DO UPDATE SET end_t = "
		    "excluded.end_t, scope = excluded.scope, label = excluded.label, used = "
		    "excluded.used, gone = 0, gpu_hours = excluded.gpu_hours, cost = "
		    "excluded.cost, currency = excluded.currency",
		    DB_ARGS(db_i64(row->start), db_i64(row->key_hi), db_i64(row->key_lo),
			db_i64(row->n), db_i64(row->end), db_i64(row->scope), db_i64(row->label),
			db_bool(row->used), db_real(row->gpu_hours), db_real(row->cost),
			db_text(row->currency)));
	return rc;
}

static enum berth_code
bill_bounds(struct db_stmt *st, void *arg, struct berth_err *err)
{
	int64_t *v = arg;

	(void)err;
	if (db_col_at(st, 0).type != DB_NULL) {
		v[0] = db_col_at(st, 0).i;
		v[1] = db_col_at(st, 1).i;
	}
	return BERTH_OK;
}

enum berth_code
store_bill_expect(
    struct store *s, int64_t scope, int64_t *from_out, int64_t *to_out, struct berth_err *err)
{
	int64_t v[2] = { INT64_MAX, INT64_MIN };
	enum berth_code rc = store_each(s, bill_bounds, v, err,
	    "SELECT min(start_t), max(start_t) FROM bill_row WHERE scope = $1",
	    DB_ARGS(db_i64(scope)));

	*from_out = v[0];
	*to_out = v[1];
	return rc == BERTH_OK ? store_write(s, err, "UPDATE bill_row SET gone = 1 WHERE scope = $1",
				    DB_ARGS(db_i64(scope)))
			      : rc;
}

enum berth_code
store_bill_bounds(struct store *s, int64_t *from_out, int64_t *to_out, struct berth_err *err)
{
	int64_t v[2] = { INT64_MAX, INT64_MIN };
	enum berth_code rc = store_each(
	    s, bill_bounds, v, err, "SELECT min(start_t), max(start_t) FROM bill_row", DB_NO_ARGS);

	*from_out = v[0];
	*to_out = v[1];
	return rc;
}

struct bill_scan {
	store_bill_fn *fn;
	void *arg;
};

static enum berth_code
bill_sum_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct bill_scan *scan = arg;
	struct db_val currency = db_col_at(st, 3);
	struct bill_sum sum = { .label = db_col_at(st, 0).i,
		.start = db_col_at(st, 1).i,
		.end = db_col_at(st, 2).i,
		.currency = currency.s != NULL ? currency.s : "",
		.used = db_col_at(st, 4).i != 0,
		.gpu_hours = db_col_real(st, "gpu_hours"),
		.cost = db_col_real(st, "cost") };

	return scan->fn(scan->arg, &sum, err);
}

enum berth_code
store_bill_sums(
    struct store *s, int64_t from, int64_t to, store_bill_fn *fn, void *arg, struct berth_err *err)
{
	struct bill_scan scan = { fn, arg };

	return store_each(s, bill_sum_row, &scan, err,
	    "SELECT label, start_t, end_t, currency, max(used) AS used, sum(CASE WHEN gone = 0 "
	    "THEN gpu_hours ELSE 0 END) AS gpu_hours, sum(CASE WHEN gone = 0 OR cost IS NULL THEN "
	    "cost ELSE 0 END) AS cost FROM bill_row WHERE start_t >= $1 AND start_t <= $2 GROUP BY "
	    "start_t, end_t, label, currency ORDER BY start_t, end_t, label, currency",
	    DB_ARGS(db_i64(from), db_i64(to)));
}

struct bill_labels {
	struct arena *a;
	VEC(struct bill_label_row) v;
};

static enum berth_code
bill_label_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct bill_labels *l = arg;

	(void)err;
	VEC_PUSH(l->a, &l->v,
	    (struct bill_label_row){ db_col_i64(st, "id"), db_col_text(st, "labels", l->a) });
	return BERTH_OK;
}

enum berth_code
store_bill_labels(struct store *s, struct arena *a, struct bill_label_row **v_out, size_t *n_out,
    struct berth_err *err)
{
	struct bill_labels l = { .a = a };
	enum berth_code rc = store_each(s, bill_label_row, &l, err,
	    "SELECT id, labels FROM bill_label ORDER BY id", DB_NO_ARGS);

	*v_out = l.v.v;
	*n_out = l.v.n;
	return rc;
}

enum berth_code
store_bill_view_put(struct store *s, const char *keys, bool *added_out, struct berth_err *err)
{
	int64_t have = 0;
	enum berth_code rc = db_get_one(s->db, 0, &have, err,
	    "SELECT 1 FROM bill_view WHERE keys = $1", DB_ARGS(db_text(keys)));

	*added_out = have == 0;
	if (rc == BERTH_OK && have == 0)
		rc = store_write(
		    s, err, "INSERT INTO bill_view (keys) VALUES ($1)", DB_ARGS(db_text(keys)));
	return rc;
}

struct bill_views {
	struct arena *a;
	VEC(const char *) v;
};

static enum berth_code
bill_view_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct bill_views *l = arg;

	(void)err;
	VEC_PUSH(l->a, &l->v, db_col_text(st, "keys", l->a));
	return BERTH_OK;
}

enum berth_code
store_bill_view_list(
    struct store *s, struct arena *a, const char ***v_out, size_t *n_out, struct berth_err *err)
{
	struct bill_views l = { .a = a };
	enum berth_code rc = store_each(
	    s, bill_view_row, &l, err, "SELECT keys FROM bill_view ORDER BY keys", DB_NO_ARGS);

	*v_out = l.v.v;
	*n_out = l.v.n;
	return rc;
}
