#include <stdlib.h>
#include <string.h>

#include "store/event_rows.h"
#include "store/priv.h"
#include "util/glob.h"
#include "util/vec.h"

enum berth_code
store_sinks_set(struct store *s, const char *const *sinks, size_t n, struct berth_err *err)
{
	char **copy = calloc(n > 0 ? n : 1, sizeof(*copy));
	bool ok = copy != NULL;

	for (size_t i = 0; ok && i < n; i++)
		ok = (copy[i] = strdup(sinks[i])) != NULL;
	if (!ok) {
		for (size_t i = 0; copy != NULL && i < n; i++)
			free(copy[i]);
		free(copy);
		return err_set(err, BERTH_ENOMEM, "store: out of memory");
	}
	for (size_t i = 0; i < s->n_sinks; i++)
		free(s->sinks[i]);
	free(s->sinks);
	s->sinks = copy;
	s->n_sinks = n;
	return BERTH_OK;
}

enum berth_code
store_event_append(struct store *s, const struct event *e, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);
	int64_t id = 0;

	if (rc != BERTH_OK)
		return rc;
	rc = db_insert(s->db, &id, err,
	    "INSERT INTO event (t, type, subject, data, run) VALUES ($1, $2, $3, $4, $5) RETURNING "
	    "id",
	    DB_ARGS(db_i64(e->t), db_text(e->type), db_text(e->subject),
		db_text(e->data != NULL && e->data[0] != '\0' ? e->data : "{}"), db_id(s->run_id)));
	for (size_t i = 0; rc == BERTH_OK && i < s->n_sinks; i++)
		rc = db_run(s->db, err,
		    "INSERT INTO outbox (event_id, sink, tries, next_try, error) VALUES ($1, $2, "
		    "0, $3, '')",
		    DB_ARGS(db_i64(id), db_text(s->sinks[i]), db_i64(e->t)));
	return store_end(s, rc, err);
}

struct event_list {
	struct arena *a;
	const struct event_query *q;
	VEC(struct event) v;
};

static void
event_read(struct db_stmt *st, struct arena *a, struct event *e)
{
	e->id = db_col_i64(st, "id");
	e->t = db_col_i64(st, "t");
	e->type = db_col_text(st, "type", a);
	e->subject = db_col_text(st, "subject", a);
	e->data = db_col_text(st, "data", a);
	e->run = db_col_i64(st, "run");
}

static enum berth_code
event_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct event_list *l = arg;
	struct event e;

	(void)err;
	if (l->q->limit > 0 && l->v.n == l->q->limit)
		return BERTH_OK;
	if (l->q->type != NULL && !glob_match(l->q->type, db_col_text(st, "type", l->a)))
		return BERTH_OK;
	event_read(st, l->a, &e);
	VEC_PUSH(l->a, &l->v, e);
	return BERTH_OK;
}

enum berth_code
store_event_list(struct store *s, const struct event_query *q, struct arena *a,
    struct event **es_out, size_t *n_out, struct berth_err *err)
{
	static const struct event_query all = { 0 };
	struct event_list l = { .a = a, .q = q != NULL ? q : &all };
	enum berth_code rc;

	/* Newest first, so that a limit keeps the newest; then turned round. */
	if (l.q->subject != NULL)
		rc = store_each(s, event_row, &l, err,
		    "SELECT * FROM event WHERE subject = $1 AND id > $2 AND t >= $3 ORDER BY id "
		    "DESC",
		    DB_ARGS(db_text(l.q->subject), db_i64(l.q->after), db_i64(l.q->since)));
	else
		rc = store_each(s, event_row, &l, err,
		    "SELECT * FROM event WHERE id > $1 AND t >= $2 ORDER BY id DESC",
		    DB_ARGS(db_i64(l.q->after), db_i64(l.q->since)));
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < l.v.n / 2; i++) {
		struct event e = l.v.v[i];

		l.v.v[i] = l.v.v[l.v.n - 1 - i];
		l.v.v[l.v.n - 1 - i] = e;
	}
	*es_out = l.v.v;
	*n_out = l.v.n;
	return BERTH_OK;
}

struct outbox_list {
	struct arena *a;
	VEC(struct outbox_row) v;
};

static enum berth_code
outbox_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct outbox_list *l = arg;
	struct outbox_row *o = VEC_ADD(l->a, &l->v);

	(void)err;
	event_read(st, l->a, &o->event);
	o->sink = db_col_text(st, "sink", l->a);
	o->tries = (int)db_col_i64(st, "tries");
	o->next_try = db_col_i64(st, "next_try");
	o->error = db_col_text(st, "error", l->a);
	return BERTH_OK;
}

enum berth_code
store_outbox_due(struct store *s, const char *sink, int64_t now, size_t limit, struct arena *a,
    struct outbox_row **rows_out, size_t *n_out, struct berth_err *err)
{
	struct outbox_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, outbox_row, &l, err,
	    "SELECT e.*, o.sink, o.tries, o.next_try, o.error FROM outbox o JOIN event e ON e.id = "
	    "o.event_id WHERE o.sink = $1 AND o.delivered IS NULL AND o.next_try <= $2 ORDER BY "
	    "o.event_id LIMIT $3",
	    DB_ARGS(db_text(sink), db_i64(now), db_i64(limit > 0 ? (int64_t)limit : INT64_MAX)));
	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_outbox_delivered(
    struct store *s, int64_t event_id, const char *sink, int64_t now, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err,
	    "UPDATE outbox SET delivered = COALESCE(delivered, $1), tries = tries + 1, error = '' "
	    "WHERE event_id = $2 AND sink = $3",
	    DB_ARGS(db_i64(now), db_i64(event_id), db_text(sink)));
	return store_end(s,
	    store_met(s, rc, err, "event %lld does not wait for %s", (long long)event_id, sink),
	    err);
}

enum berth_code
store_outbox_failed(struct store *s, int64_t event_id, const char *sink, const char *error,
    int64_t next_try, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err,
	    "UPDATE outbox SET tries = tries + 1, error = $1, next_try = $2 WHERE event_id = $3 "
	    "AND sink = $4 AND delivered IS NULL",
	    DB_ARGS(db_text(error), db_i64(next_try), db_i64(event_id), db_text(sink)));
	return store_end(s,
	    store_met(s, rc, err, "event %lld does not wait for %s", (long long)event_id, sink),
	    err);
}
