#include "store/plan_rows.h"
#include "store/priv.h"
#include "util/vec.h"

static int64_t
plan_limit(size_t limit)
{
	return limit > 0 ? (int64_t)limit : INT64_MAX;
}

enum berth_code
store_plan_insert(struct store *s, const struct plan_row *p, int64_t *id_out, struct berth_err *err)
{
	return store_insert(s, id_out, err,
	    "INSERT INTO plan (run, made, json, inputs) VALUES ($1, $2, $3, $4) RETURNING id",
	    DB_ARGS(db_id(s->run_id), db_i64(p->made), db_text(p->json), db_text(p->inputs)));
}

struct plan_rows {
	struct arena *a;
	VEC(struct plan_row) v;
};

static enum berth_code
plan_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct plan_rows *l = arg;
	struct plan_row *p = VEC_ADD(l->a, &l->v);

	(void)err;
	p->id = db_col_i64(st, "id");
	p->run = db_col_i64(st, "run");
	p->made = db_col_i64(st, "made");
	p->json = db_col_text(st, "json", l->a);
	p->inputs = db_col_text(st, "inputs", l->a);
	return BERTH_OK;
}

enum berth_code
store_plan_list(struct store *s, size_t limit, struct arena *a, struct plan_row **ps_out,
    size_t *n_out, struct berth_err *err)
{
	struct plan_rows l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, plan_row, &l, err, "SELECT * FROM plan ORDER BY id DESC LIMIT $1",
	    DB_ARGS(db_i64(plan_limit(limit))));
	if (rc == BERTH_OK) {
		*ps_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_plan_get(
    struct store *s, int64_t id, struct arena *a, struct plan_row *p_out, struct berth_err *err)
{
	struct plan_rows l = { .a = a };
	enum berth_code rc;

	rc = store_each(
	    s, plan_row, &l, err, "SELECT * FROM plan WHERE id = $1", DB_ARGS(db_i64(id)));
	if (rc == BERTH_OK && l.v.n == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "there is no plan %lld", (long long)id);
	if (rc == BERTH_OK)
		*p_out = l.v.v[0];
	return rc;
}

enum berth_code
store_decision_insert(
    struct store *s, const struct decision *d, int64_t *id_out, struct berth_err *err)
{
	return store_insert(s, id_out, err,
	    "INSERT INTO decision (run, t, kind, subject, json) VALUES ($1, $2, $3, $4, $5) "
	    "RETURNING id",
	    DB_ARGS(db_id(s->run_id), db_i64(d->t), db_text(d->kind), db_text(d->subject),
		db_text(d->json)));
}

#define DECISIONS                                                                                  \
	"SELECT d.*, COALESCE(w.seen, d.seen) AS last_seen FROM decision d "                       \
	"LEFT JOIN waiting w ON w.job_id = d.subject AND w.decision_id = d.id "

enum berth_code
store_decision_change(struct store *s, int64_t id, const char *json, struct berth_err *err)
{
	return store_write(s, err, "UPDATE decision SET json = $1 WHERE id = $2",
	    DB_ARGS(db_text(json), db_i64(id)));
}

struct decision_rows {
	struct arena *a;
	VEC(struct decision) v;
};

static enum berth_code
decision_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct decision_rows *l = arg;
	struct decision *d = VEC_ADD(l->a, &l->v);

	(void)err;
	d->id = db_col_i64(st, "id");
	d->run = db_col_i64(st, "run");
	d->t = db_col_i64(st, "t");
	d->kind = db_col_text(st, "kind", l->a);
	d->subject = db_col_text(st, "subject", l->a);
	d->json = db_col_text(st, "json", l->a);
	d->seen = db_col_i64(st, "last_seen");
	d->placement = db_col_i64(st, "placement");
	return BERTH_OK;
}

enum berth_code
store_decision_link(struct store *s, int64_t id, int64_t placement_id, struct berth_err *err)
{
	return store_write(s, err, "UPDATE decision SET placement = $1 WHERE id = $2",
	    DB_ARGS(db_i64(placement_id), db_i64(id)));
}

enum berth_code
store_decision_with(struct store *s, int64_t placement_id, struct arena *a,
    struct decision **ds_out, size_t *n_out, struct berth_err *err)
{
	struct decision_rows l = { .a = a };
	enum berth_code rc = store_each(s, decision_row, &l, err,
	    DECISIONS "WHERE d.placement = $1 ORDER BY d.id", DB_ARGS(db_i64(placement_id)));

	if (rc == BERTH_OK) {
		*ds_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_decision_list(struct store *s, const char *kind, const char *subject, size_t limit,
    struct arena *a, struct decision **ds_out, size_t *n_out, struct berth_err *err)
{
	struct decision_rows l = { .a = a };
	enum berth_code rc;

	if (subject != NULL)
		rc = store_each(s, decision_row, &l, err,
		    DECISIONS
		    "WHERE d.subject = $1 AND ($2 = '' OR d.kind = $2) ORDER BY d.id DESC LIMIT $3",
		    DB_ARGS(db_text(subject), db_text(kind), db_i64(plan_limit(limit))));
	else
		rc = store_each(s, decision_row, &l, err,
		    DECISIONS "WHERE $1 = '' OR d.kind = $1 ORDER BY d.id DESC LIMIT $2",
		    DB_ARGS(db_text(kind), db_i64(plan_limit(limit))));
	if (rc == BERTH_OK) {
		*ds_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_decision_get(
    struct store *s, int64_t id, struct arena *a, struct decision *d_out, struct berth_err *err)
{
	struct decision_rows l = { .a = a };
	enum berth_code rc =
	    store_each(s, decision_row, &l, err, DECISIONS "WHERE d.id = $1", DB_ARGS(db_i64(id)));

	if (rc == BERTH_OK && l.v.n == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "there is no decision %lld", (long long)id);
	if (rc == BERTH_OK)
		*d_out = l.v.v[0];
	return rc;
}

enum berth_code
store_decision_of(struct store *s, int64_t run, int64_t t, const char *kind, struct arena *a,
    struct decision **ds_out, size_t *n_out, struct berth_err *err)
{
	struct decision_rows l = { .a = a };
	enum berth_code rc = store_each(s, decision_row, &l, err,
	    DECISIONS "WHERE d.run = $1 AND d.t = $2 AND d.kind = $3 ORDER BY d.id",
	    DB_ARGS(db_i64(run), db_i64(t), db_text(kind)));

	if (rc == BERTH_OK) {
		*ds_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_decision_last(struct store *s, const char *kind, int64_t since, struct arena *a,
    struct decision **ds_out, size_t *n_out, struct berth_err *err)
{
	struct decision_rows l = { .a = a };
	enum berth_code rc = store_each(s, decision_row, &l, err,
	    DECISIONS "WHERE d.id IN (SELECT MAX(x.id) FROM job j JOIN decision x ON x.subject = "
		      "j.id WHERE j.state = 'queued' AND x.kind = $1 GROUP BY x.subject) AND d.t "
		      ">= $2 ORDER BY d.id",
	    DB_ARGS(db_text(kind), db_i64(since)));

	if (rc == BERTH_OK) {
		*ds_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}
