#include "store/plan_rows.h"
#include "store/priv.h"
#include "util/str.h"
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
store_plan_before(
    struct store *s, int64_t id, struct arena *a, struct plan_row *p_out, struct berth_err *err)
{
	struct plan_rows l = { .a = a };
	enum berth_code rc = store_each(s, plan_row, &l, err,
	    "SELECT * FROM plan WHERE id < $1 ORDER BY id DESC LIMIT 1", DB_ARGS(db_i64(id)));

	*p_out = rc == BERTH_OK && l.v.n > 0 ? l.v.v[0] : (struct plan_row){ .id = 0 };
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

/* Kinds by what they tell: how often a job writes checkpoints, why it left its machine, or the
 * rest.
 */
#define DECISION_CLASS                                                                             \
	"CASE x.kind WHEN 'checkpoint' THEN 2 WHEN 'move' THEN 1 WHEN 'preemption' THEN 1 WHEN "   \
	"'probe' THEN 1 WHEN 'replace' THEN 1 ELSE 0 END"

static bool
decision_leaves(const struct decision *d)
{
	return str_eq(d->kind, "move") || str_eq(d->kind, "preemption") ||
	       str_eq(d->kind, "probe") || str_eq(d->kind, "replace");
}

/* It left its machine after it was placed the last time but for stand. */
static enum berth_code
decision_led_to(struct store *s, const struct decision *left, const struct decision *stand,
    struct arena *a, bool *led_out, struct berth_err *err)
{
	struct decision *ds;
	size_t n;
	enum berth_code rc = store_decision_list(s, "place", left->subject, 2, a, &ds, &n, err);

	*led_out = rc == BERTH_OK;
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (ds[i].id < stand->id && ds[i].id > left->id)
			*led_out = false;
	return rc;
}

enum berth_code
store_decision_stand(struct store *s, const char *subject, struct arena *a,
    struct decision **ds_out, size_t *n_out, struct berth_err *err)
{
	struct decision_rows l = { .a = a };
	struct decision *of;
	size_t n = 0;
	bool belongs;
	enum berth_code rc = store_each(s, decision_row, &l, err,
	    DECISIONS "WHERE d.id IN (SELECT MAX(x.id) FROM decision x WHERE x.subject = $1 GROUP "
		      "BY " DECISION_CLASS ") ORDER BY d.kind = 'checkpoint', d.id DESC",
	    DB_ARGS(db_text(subject)));

	of = l.v.v;
	for (size_t i = 0; rc == BERTH_OK && i < l.v.n; i++) {
		belongs = i == 0 || (str_eq(of[i].kind, "checkpoint") && of[i].id > of[0].id);
		if (!belongs && decision_leaves(&of[i]))
			rc = decision_led_to(s, &of[i], &of[0], a, &belongs, err);
		if (belongs)
			of[n++] = of[i];
	}
	*ds_out = of;
	*n_out = n;
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
