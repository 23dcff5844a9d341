#include "store/quota_rows.h"

#include <math.h>

#include "store/priv.h"
#include "util/str.h"
#include "util/vec.h"

static struct db_val
quota_number(double v)
{
	return isnan(v) ? db_null() : db_real(v);
}

static enum berth_code
quota_put_row(struct store *s, const struct quota_row *q, struct berth_err *err)
{
	return store_write(s, err,
	    "INSERT INTO quota (account, region, zone, name, purchase, unit, any_purchase, "
	    "provider, types, accelerator, counts, limit_n, used, ours, as_of, run) VALUES ($1, "
	    "$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT "
	    "(account, region, zone, name, purchase) DO UPDATE SET unit = $6, any_purchase = $7, "
	    "provider = $8, types = $9, accelerator = $10, counts = $11, limit_n = $12, used = "
	    "$13, ours = $14, as_of = $15, run = $16",
	    DB_ARGS(db_text(q->account), db_text(q->region), db_text(q->zone), db_text(q->name),
		db_text(purchase_name(q->purchase)), db_text(q->unit), db_i64(q->any_purchase),
		db_text(q->provider), db_text(q->types), db_text(q->accelerator), db_i64(q->counts),
		quota_number(q->limit), quota_number(q->used), db_real(q->ours), db_i64(q->as_of),
		db_id(s->run_id)));
}

static enum berth_code
quota_put_reading(struct store *s, const struct quota_reading *r, struct berth_err *err)
{
	return store_write(s, err,
	    "INSERT INTO quota_reading (account, provider, tried, as_of, code, error, due, run) "
	    "VALUES ($1, $2, $3, CASE WHEN $4 = '' THEN $3 END, $4, $5, 0, $6) ON CONFLICT "
	    "(account) DO UPDATE SET provider = $2, tried = $3, as_of = CASE WHEN $4 = '' THEN $3 "
	    "ELSE quota_reading.as_of END, code = $4, error = $5, due = 0, run = $6",
	    DB_ARGS(db_text(r->account), db_text(r->provider), db_i64(r->tried), db_text(r->code),
		db_text(r->error), db_id(s->run_id)));
}

/* Of one that answered nothing else is left. */
static enum berth_code
quota_put_region(struct store *s, const char *account, int64_t tried, const struct quota_region *q,
    struct berth_err *err)
{
	enum berth_code rc = store_write(s, err,
	    "INSERT INTO quota_region (account, region, as_of, code, error, run) VALUES ($1, $2, "
	    "CASE WHEN $4 = '' THEN $3 END, $4, $5, $6) ON CONFLICT (account, region) DO UPDATE "
	    "SET as_of = CASE WHEN $4 = '' THEN $3 ELSE quota_region.as_of END, code = $4, error = "
	    "$5, run = $6",
	    DB_ARGS(db_text(account), db_text(q->region), db_i64(tried), db_text(q->code),
		db_text(q->error), db_id(s->run_id)));

	if (rc == BERTH_OK && q->code[0] == '\0')
		rc = store_write(s, err, "DELETE FROM quota WHERE account = $1 AND region = $2",
		    DB_ARGS(db_text(account), db_text(q->region)));
	return rc;
}

enum berth_code
store_quota_put(struct store *s, const struct quota_reading *r, const struct quota_row *rows,
    size_t n, const struct quota_region *regions, size_t n_regions, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = quota_put_reading(s, r, err);
	if (rc == BERTH_OK && r->code[0] == '\0')
		rc = store_write(
		    s, err, "DELETE FROM quota WHERE account = $1", DB_ARGS(db_text(r->account)));
	if (rc == BERTH_OK && r->code[0] == '\0')
		rc = store_write(s, err, "DELETE FROM quota_region WHERE account = $1",
		    DB_ARGS(db_text(r->account)));
	for (size_t i = 0; rc == BERTH_OK && i < n_regions; i++)
		rc = quota_put_region(s, r->account, r->tried, &regions[i], err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = quota_put_row(s, &rows[i], err);
	return store_end(s, rc, err);
}

struct quota_rows {
	struct arena *a;
	VEC(struct quota_row) v;
};

static enum berth_code
quota_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct quota_rows *l = arg;
	struct quota_row *q = VEC_ADD(l->a, &l->v);

	q->account = db_col_text(st, "account", l->a);
	q->region = db_col_text(st, "region", l->a);
	q->zone = db_col_text(st, "zone", l->a);
	q->name = db_col_text(st, "name", l->a);
	q->unit = db_col_text(st, "unit", l->a);
	q->any_purchase = db_col_bool(st, "any_purchase");
	q->counts = db_col_bool(st, "counts");
	q->provider = db_col_text(st, "provider", l->a);
	q->types = db_col_text(st, "types", l->a);
	q->accelerator = db_col_text(st, "accelerator", l->a);
	q->limit = db_col_real(st, "limit_n");
	q->used = db_col_real(st, "used");
	q->ours = db_col_real(st, "ours");
	q->as_of = db_col_i64(st, "as_of");
	if (!purchase_parse(db_col_text(st, "purchase", l->a), &q->purchase))
		return err_set(
		    err, BERTH_EINVAL, "quota %s of %s has no purchase", q->name, q->account);
	return BERTH_OK;
}

enum berth_code
store_quota_list(struct store *s, bool counts, struct arena *a, struct quota_row **rows_out,
    size_t *n_out, struct berth_err *err)
{
	struct quota_rows l = { .a = a };
	enum berth_code rc = store_each(s, quota_row, &l, err,
	    "SELECT * FROM quota WHERE counts >= $1 ORDER BY account, region, zone, name, purchase",
	    DB_ARGS(db_i64(counts)));

	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

struct quota_readings {
	struct arena *a;
	VEC(struct quota_reading) v;
};

static enum berth_code
quota_reading(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct quota_readings *l = arg;
	struct quota_reading *r = VEC_ADD(l->a, &l->v);

	(void)err;
	r->account = db_col_text(st, "account", l->a);
	r->provider = db_col_text(st, "provider", l->a);
	r->tried = db_col_i64(st, "tried");
	r->as_of = db_col_i64(st, "as_of");
	r->code = db_col_text(st, "code", l->a);
	r->error = db_col_text(st, "error", l->a);
	r->due = db_col_bool(st, "due");
	return BERTH_OK;
}

enum berth_code
store_quota_readings(struct store *s, struct arena *a, struct quota_reading **rows_out,
    size_t *n_out, struct berth_err *err)
{
	struct quota_readings l = { .a = a };
	enum berth_code rc = store_each(
	    s, quota_reading, &l, err, "SELECT * FROM quota_reading ORDER BY account", DB_NO_ARGS);

	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

struct quota_regions {
	struct arena *a;
	VEC(struct quota_region) v;
};

static enum berth_code
quota_region(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct quota_regions *l = arg;
	struct quota_region *r = VEC_ADD(l->a, &l->v);

	(void)err;
	r->account = db_col_text(st, "account", l->a);
	r->region = db_col_text(st, "region", l->a);
	r->as_of = db_col_i64(st, "as_of");
	r->code = db_col_text(st, "code", l->a);
	r->error = db_col_text(st, "error", l->a);
	return BERTH_OK;
}

enum berth_code
store_quota_regions(struct store *s, struct arena *a, struct quota_region **rows_out, size_t *n_out,
    struct berth_err *err)
{
	struct quota_regions l = { .a = a };
	enum berth_code rc = store_each(s, quota_region, &l, err,
	    "SELECT * FROM quota_region ORDER BY account, region", DB_NO_ARGS);

	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_quota_due(struct store *s, const char *account, struct berth_err *err)
{
	return store_write(s, err, "UPDATE quota_reading SET due = 1 WHERE account = $1",
	    DB_ARGS(db_text(account)));
}
