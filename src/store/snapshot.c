#include "store/snapshot.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "store/priv.h"
#include "util/buf.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

#define SNAPSHOT_MAX ((size_t)256 << 20) /* unpacked */
#define SNAPSHOT_SINCE_S (31 * 86400)    /* what offers were before tells a placement nothing */
#define SNAPSHOT_HEAD 9                  /* version, length */
#define SNAPSHOT_VERSION 1

/* Rows that change. Those with an id that the table of snapshot_live has too are what has changed
 * of it; the others are all there was. */
static const struct {
	const char *table, *sql;
	bool dated; /* $1 is now */
} snapshot_rows[] = {
	{ "price_list", "SELECT * FROM price_list ORDER BY id", false },
	{ "block", "SELECT * FROM block WHERE until_t > $1 ORDER BY id", true },
	{ "capacity", "SELECT * FROM capacity", false },
	{ "commitment", "SELECT * FROM commitment ORDER BY id", false },
	{ "budget", "SELECT * FROM budget ORDER BY id", false },
	{ "reservation", "SELECT * FROM reservation WHERE settled IS NULL ORDER BY id", false },
	{ "fleet_speed", "SELECT * FROM fleet_speed", false },
	{ "quota",
	    "SELECT * FROM quota WHERE counts = 1 ORDER BY account, region, zone, name, purchase",
	    false },
	{ "quota_reading", "SELECT * FROM quota_reading ORDER BY account", false },
	{ "job",
	    "SELECT id, state, reason, marks, progress, started, finished, tries, preemptions, "
	    "cost, spec FROM job WHERE state IN ('queued', 'placed', 'running') OR submitted > $1 "
	    "ORDER BY id", /* by a clock that was ahead: its time does not say that it was there */
	    true },
	{ "intent", "SELECT id, state FROM intent WHERE state = 'pending' ORDER BY id", false },
	{ "instance", "SELECT * FROM instance WHERE state <> 'gone' ORDER BY id", false },
	{ "attempt", "SELECT * FROM attempt WHERE ended IS NULL ORDER BY id", false },
};

/* Rows that the store still has, in the order that foreign keys allow to load them; $1 as `by`
 * says. */
static const struct snapshot_live {
	const char *table, *sql;
	enum { BY_LAST, BY_OFFER, BY_ALL } by;
} snapshot_live[] = {
	{ "offer",
	    "SELECT * FROM offer WHERE id <= $1 AND (until_t IS NULL OR until_t > $2) ORDER BY id",
	    BY_OFFER },
	{ "job", "SELECT * FROM job", BY_ALL },
	{ "intent", "SELECT * FROM intent WHERE id <= $1", BY_LAST },
	{ "instance", "SELECT * FROM instance WHERE id <= $1", BY_LAST },
	{ "attempt", "SELECT * FROM attempt WHERE id <= $1", BY_LAST },
	{ "ledger", "SELECT * FROM ledger WHERE id <= $1", BY_LAST },
	{ "decision",
	    "SELECT * FROM decision WHERE id IN (SELECT max(id) FROM decision WHERE kind IN "
	    "('place', 'placement') AND id <= $1 GROUP BY kind, subject)",
	    BY_LAST },
};

static const char *const snapshot_last[][2] = {
	{ "offer", "SELECT max(id) FROM offer" },
	{ "intent", "SELECT max(id) FROM intent" },
	{ "instance", "SELECT max(id) FROM instance" },
	{ "attempt", "SELECT max(id) FROM attempt" },
	{ "ledger", "SELECT max(id) FROM ledger" },
	{ "decision", "SELECT max(id) FROM decision" },
};

#define SNAPSHOT_N(x) (sizeof(x) / sizeof((x)[0]))

static enum berth_code
snapshot_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct jsonw *w = arg;

	(void)err;
	jsonw_begin_object(w, NULL);
	for (int i = 0; i < db_cols(st); i++) {
		const char *name = db_col_name(st, i);
		struct db_val v = db_col_at(st, i);

		if (v.type == DB_I64)
			jsonw_int(w, name, v.i);
		else if (v.type == DB_REAL)
			jsonw_double(w, name, v.d);
		else if (v.type == DB_TEXT)
			jsonw_strn(w, name, v.s, v.len);
		else
			jsonw_null(w, name);
	}
	jsonw_end_object(w);
	return BERTH_OK;
}

/* Numbers as what they grow by: offers are read and dated together. */
static enum berth_code
snapshot_steps(
    struct store *s, struct jsonw *w, const char *key, const char *sql, struct berth_err *err)
{
	int64_t before = 0;
	struct db_stmt *st;
	bool row = false;
	enum berth_code rc = db_query(s->db, &st, err, sql, DB_NO_ARGS);

	jsonw_begin_array(w, key);
	while (rc == BERTH_OK && (rc = db_next(st, &row, err)) == BERTH_OK && row) {
		int64_t x = db_col_i64(st, "x");

		jsonw_int(w, NULL, x - before);
		before = x;
	}
	jsonw_end_array(w);
	db_done(st);
	return rc;
}

enum berth_code
store_snapshot_write(struct store *s, int64_t now, struct jsonw *w, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	jsonw_begin_object(w, "rows");
	for (size_t i = 0; rc == BERTH_OK && i < SNAPSHOT_N(snapshot_rows); i++) {
		const struct db_val at = db_i64(now);

		jsonw_begin_array(w, snapshot_rows[i].table);
		rc = store_each(s, snapshot_row, w, err, snapshot_rows[i].sql, &at,
		    snapshot_rows[i].dated ? 1 : 0);
		jsonw_end_array(w);
	}
	jsonw_end_object(w);
	jsonw_begin_object(w, "offers");
	if (rc == BERTH_OK)
		rc = snapshot_steps(
		    s, w, "id", "SELECT id AS x FROM offer WHERE until_t IS NULL ORDER BY id", err);
	if (rc == BERTH_OK)
		rc = snapshot_steps(s, w, "as_of",
		    "SELECT COALESCE(as_of, 0) AS x FROM offer WHERE until_t IS NULL ORDER BY id",
		    err);
	jsonw_end_object(w);
	jsonw_begin_object(w, "last");
	for (size_t i = 0; rc == BERTH_OK && i < SNAPSHOT_N(snapshot_last); i++) {
		int64_t last = 0;

		rc = db_get_one(s->db, 0, &last, err, snapshot_last[i][1], DB_NO_ARGS);
		jsonw_int(w, snapshot_last[i][0], last);
	}
	jsonw_end_object(w);
	return rc;
}

enum berth_code
store_snapshot_keep(struct store *s, int64_t decision_id, int64_t t, int64_t placed,
    const char *text, size_t n, struct berth_err *err)
{
	struct arena *a = arena_new();
	uLongf len = compressBound((uLong)n);
	unsigned char *p = arena_alloc(a, SNAPSHOT_HEAD + len);
	enum berth_code rc;

	p[0] = SNAPSHOT_VERSION;
	for (int i = 0; i < 8; i++)
		p[1 + i] = (unsigned char)((uint64_t)n >> (8 * i));
	if (compress2(p + SNAPSHOT_HEAD, &len, (const Bytef *)text, (uLong)n, 6) != Z_OK) {
		arena_free(a);
		return err_set(
		    err, BERTH_ENOMEM, "no memory to pack what a placement was made from");
	}
	rc = store_write(s, err,
	    "INSERT INTO placement_input (decision_id, t, placed, packed) VALUES ($1, $2, $3, $4) "
	    "ON CONFLICT (decision_id) DO UPDATE SET t = $2, placed = $3, packed = $4",
	    DB_ARGS(
		db_i64(decision_id), db_i64(t), db_i64(placed), db_blob(p, SNAPSHOT_HEAD + len)));
	if (rc == BERTH_OK)
		rc = store_write(s, err,
		    "DELETE FROM placement_input WHERE decision_id NOT IN (SELECT decision_id FROM "
		    "placement_input WHERE placed > 0 ORDER BY decision_id DESC LIMIT $1) AND "
		    "decision_id NOT IN (SELECT decision_id FROM placement_input WHERE placed = 0 "
		    "ORDER BY decision_id DESC LIMIT $1) AND decision_id NOT IN (SELECT "
		    "d.placement FROM decision d JOIN waiting w ON w.decision_id = d.id WHERE "
		    "d.placement IS NOT NULL)",
		    DB_ARGS(db_i64(STORE_SNAPSHOT_KEPT)));
	arena_free(a);
	return rc;
}

struct snapshot_packed {
	struct arena *a;
	const unsigned char *p;
	size_t len;
};

static enum berth_code
snapshot_packed_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct snapshot_packed *x = arg;
	struct db_val v = db_col_at(st, 0);

	(void)err;
	x->p = arena_memdup(x->a, v.s, v.len);
	x->len = v.len;
	return BERTH_OK;
}

enum berth_code
store_snapshot_has(struct store *s, int64_t decision_id, bool *has_out, struct berth_err *err)
{
	int64_t n = 0;
	enum berth_code rc = db_get_one(s->db, 0, &n, err,
	    "SELECT COUNT(*) FROM placement_input WHERE decision_id = $1",
	    DB_ARGS(db_i64(decision_id)));

	*has_out = n > 0;
	return rc;
}

enum berth_code
store_snapshot_get(struct store *s, int64_t decision_id, struct arena *a, const char **text_out,
    size_t *n_out, struct berth_err *err)
{
	struct snapshot_packed x = { .a = a };
	uint64_t n = 0;
	uLongf len;
	char *text;
	enum berth_code rc = store_each(s, snapshot_packed_row, &x, err,
	    "SELECT packed FROM placement_input WHERE decision_id = $1",
	    DB_ARGS(db_i64(decision_id)));

	if (rc != BERTH_OK)
		return rc;
	if (x.p == NULL)
		return err_set(err, BERTH_ENOTFOUND,
		    "what placement %lld was made from is not kept: it is of the newest %d alone, "
		    "and of none by an earlier berth; `berth explain JOB` tells what was decided",
		    (long long)decision_id, STORE_SNAPSHOT_KEPT);
	for (int i = 0; x.len > SNAPSHOT_HEAD && i < 8; i++)
		n |= (uint64_t)x.p[1 + i] << (8 * i);
	if (x.len <= SNAPSHOT_HEAD || x.p[0] != SNAPSHOT_VERSION || n > SNAPSHOT_MAX)
		return err_set(err, BERTH_EINVAL,
		    "what placement %lld was made from was kept by a newer berth, or is damaged",
		    (long long)decision_id);
	text = arena_alloc(a, (size_t)n + 1);
	len = (uLongf)n;
	if (uncompress((Bytef *)text, &len, x.p + SNAPSHOT_HEAD, (uLong)(x.len - SNAPSHOT_HEAD)) !=
		Z_OK ||
	    len != n)
		return err_set(err, BERTH_EINVAL, "what placement %lld was made from is damaged",
		    (long long)decision_id);
	text[n] = '\0';
	*text_out = text;
	*n_out = (size_t)n;
	return BERTH_OK;
}

/* Rows on their way into the store in memory. */
struct snapshot_table {
	struct arena *a;
	const char *columns;
	const char *names[64];
	size_t n_cols, n;
	VEC(struct db_val) v;    /* [n][n_cols] */
	const struct jsonr *was; /* rows that may have changed since, or keys of them */
	const int64_t *as_of;    /* of offers in its place: of those that were current */
	struct strmap at;        /* id -> index into was or as_of */
	int64_t now;
};

static void
snapshot_fill(void *arg, size_t i, struct db_val *v)
{
	const struct snapshot_table *t = arg;

	memcpy(v, t->v.v + i * t->n_cols, t->n_cols * sizeof(*v));
}

static enum berth_code
snapshot_put(struct store *to, const char *table, struct snapshot_table *t, struct berth_err *err)
{
	const struct db_rows rows = { t->columns, t->n_cols, t->n, snapshot_fill, t };

	return db_load(to->db, table, &rows, err);
}

static void
snapshot_column(struct snapshot_table *t, const char *name)
{
	if (t->n_cols == SNAPSHOT_N(t->names))
		return;
	t->names[t->n_cols] = arena_strdup(t->a, name);
	t->columns = t->n_cols == 0 ? t->names[0] : arena_printf(t->a, "%s, %s", t->columns, name);
	t->n_cols++;
}

static struct db_val
snapshot_json_value(const json_t *v)
{
	if (json_is_integer(v))
		return db_i64(json_integer_value(v));
	if (json_is_real(v))
		return db_real(json_real_value(v));
	if (json_is_string(v))
		return db_text(json_string_value(v));
	return db_null();
}

/* A table of which the snapshot has every row; a column that is NULL in one stands in another. */
static enum berth_code
snapshot_put_rows(struct store *to, const char *table, const struct jsonr *rows, struct arena *a,
    struct berth_err *err)
{
	struct snapshot_table t = { .a = a, .n = jsonr_len(rows) };
	struct strmap seen = { 0 };
	const char *key;
	json_t *v;
	int added;

	for (size_t i = 0; i < t.n; i++)
		json_object_foreach((json_t *)(uintptr_t)jsonr_at(rows, i).v, key, v)
		{
			strmap_add(a, &seen, key, 0, &added);
			if (added)
				snapshot_column(&t, key);
		}
	for (size_t i = 0; i < t.n; i++)
		for (size_t c = 0; c < t.n_cols; c++) {
			struct jsonr row = jsonr_at(rows, i);

			VEC_PUSH(a, &t.v, snapshot_json_value(jsonr_get(&row, t.names[c]).v));
		}
	return snapshot_put(to, table, &t, err);
}

static const char *
snapshot_id(struct arena *a, const struct db_val *v)
{
	return v->type == DB_TEXT ? v->s : arena_printf(a, "%lld", (long long)v->i);
}

static void
snapshot_index(struct snapshot_table *t, const struct jsonr *was)
{
	t->was = was;
	for (size_t i = 0; i < jsonr_len(was); i++) {
		struct jsonr row = jsonr_at(was, i);
		struct db_val id = snapshot_json_value(jsonr_get(&row, "id").v);

		strmap_add(t->a, &t->at, arena_strdup(t->a, snapshot_id(t->a, &id)), i, NULL);
	}
}

static size_t
snapshot_find(const struct snapshot_table *t, const char *name)
{
	size_t c = 0;

	while (c < t->n_cols && !str_eq(t->names[c], name))
		c++;
	return c;
}

/* A job that was open then has its row in the snapshot: one that is open now, and was not, had been
 * closed and has come back since. */
static void
snapshot_closed(const struct snapshot_table *t, struct db_val *v)
{
	size_t state = snapshot_find(t, "state");

	if (snapshot_find(t, "submitted") < t->n_cols && state < t->n_cols &&
	    (str_eq(v[state].s, "queued") || str_eq(v[state].s, "placed") ||
		str_eq(v[state].s, "running")))
		v[state] = db_text("cancelled");
}

/* An offer goes on with its date, or had ended by then; false: it began later. */
static bool
snapshot_offer(const struct snapshot_table *t, struct db_val *v, const size_t *at)
{
	size_t until = snapshot_find(t, "until_t"), as_of = snapshot_find(t, "as_of");

	if (at == NULL)
		return v[until].type == DB_I64 && v[until].i <= t->now;
	v[until] = db_null();
	v[as_of] = db_id(t->as_of[*at]);
	return true;
}

/* Whether a job that the snapshot does not have came later. Its time alone does not tell those that
 * had begun by another clock: they are in the snapshot. */
static bool
snapshot_later(const struct snapshot_table *t, const struct db_val *v)
{
	size_t submitted = snapshot_find(t, "submitted");

	return submitted < t->n_cols && v[submitted].type == DB_I64 && v[submitted].i > t->now;
}

static enum berth_code
snapshot_live_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct snapshot_table *t = arg;
	size_t from = t->v.n;
	const size_t *at;
	struct db_val *row;

	(void)err;
	while (t->n_cols < (size_t)db_cols(st))
		snapshot_column(t, db_col_name(st, (int)t->n_cols));
	for (size_t c = 0; c < t->n_cols; c++) {
		struct db_val v = db_col_at(st, (int)c);

		if (v.type == DB_TEXT)
			v.s = arena_strndup(t->a, v.s, v.len);
		VEC_PUSH(t->a, &t->v, v);
	}
	row = t->v.v + from;
	at = strmap_get(&t->at, snapshot_id(t->a, &row[snapshot_find(t, "id")]));
	if (t->as_of != NULL ? !snapshot_offer(t, row, at) : at == NULL && snapshot_later(t, row)) {
		t->v.n = from;
		return BERTH_OK;
	}
	t->n++;
	if (t->as_of != NULL)
		return BERTH_OK;
	if (at == NULL)
		snapshot_closed(t, row);
	for (size_t c = 0; at != NULL && c < t->n_cols; c++) {
		struct jsonr was = jsonr_at(t->was, *at), x = jsonr_get(&was, t->names[c]);

		if (x.v != NULL)
			row[c] = snapshot_json_value(x.v);
	}
	return BERTH_OK;
}

static enum berth_code
snapshot_offers(struct snapshot_table *t, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr offers, id, as_of;
	int64_t *date, x = 0, y = 0;
	enum berth_code rc = jsonr_object(root, "offers", &offers, err);

	if (rc == BERTH_OK)
		rc = jsonr_array(&offers, "id", &id, err);
	if (rc == BERTH_OK)
		rc = jsonr_array(&offers, "as_of", &as_of, err);
	if (rc != BERTH_OK)
		return rc;
	t->as_of = date = arena_array_of(t->a, jsonr_len(&id) + 1, int64_t);
	for (size_t i = 0; i < jsonr_len(&id) && i < jsonr_len(&as_of); i++) {
		x += json_integer_value(jsonr_at(&id, i).v);
		y += json_integer_value(jsonr_at(&as_of, i).v);
		date[i] = y;
		strmap_add(t->a, &t->at, arena_printf(t->a, "%lld", (long long)x), i, NULL);
	}
	return BERTH_OK;
}

static enum berth_code
snapshot_copy(struct store *from, struct store *to, const struct snapshot_live *l,
    const struct jsonr *root, int64_t now, struct arena *a, struct berth_err *err)
{
	struct snapshot_table t = { .a = a, .now = now };
	struct jsonr rows, was, last;
	int64_t most = now;
	enum berth_code rc = jsonr_object(root, "rows", &rows, err);

	if (rc == BERTH_OK)
		rc = jsonr_object(root, "last", &last, err);
	if (rc == BERTH_OK)
		rc = jsonr_array(&rows, l->table, &was, err);
	if (rc == BERTH_OK)
		rc = jsonr_int(&last, l->table, 0, INT64_MAX, &most, err);
	if (rc == BERTH_OK && l->by == BY_OFFER)
		rc = snapshot_offers(&t, root, err);
	else if (rc == BERTH_OK)
		snapshot_index(&t, &was);
	if (rc == BERTH_OK)
		rc = store_each(from, snapshot_live_row, &t, err, l->sql,
		    (const struct db_val[]){ db_i64(most), db_i64(now - SNAPSHOT_SINCE_S) },
		    l->by == BY_OFFER ? 2
		    : l->by == BY_ALL ? 0
				      : 1);
	return rc == BERTH_OK ? snapshot_put(to, l->table, &t, err) : rc;
}

/* Those of which the snapshot has every row. */
static enum berth_code
snapshot_whole(struct store *to, const struct jsonr *root, struct arena *a, struct berth_err *err)
{
	struct jsonr rows, table;
	enum berth_code rc = jsonr_object(root, "rows", &rows, err);

	for (size_t i = 0; rc == BERTH_OK && i < SNAPSHOT_N(snapshot_rows); i++) {
		bool live = false;

		for (size_t k = 0; k < SNAPSHOT_N(snapshot_live); k++)
			live = live || str_eq(snapshot_live[k].table, snapshot_rows[i].table);
		if (live)
			continue;
		rc = jsonr_array(&rows, snapshot_rows[i].table, &table, err);
		if (rc == BERTH_OK)
			rc = snapshot_put_rows(to, snapshot_rows[i].table, &table, a, err);
	}
	return rc;
}

enum berth_code
store_snapshot_open(struct store *from, const struct jsonr *root, int64_t now, struct store **out,
    struct berth_err *err)
{
	struct arena *a = arena_new();
	struct store *to = NULL;
	enum berth_code rc = store_open(":memory:", STORE_CREATE, now, &to, err);

	if (rc == BERTH_OK)
		rc = store_begin(to, err);
	if (rc == BERTH_OK) {
		rc = snapshot_whole(to, root, a, err);
		for (size_t i = 0; rc == BERTH_OK && i < SNAPSHOT_N(snapshot_live); i++)
			rc = snapshot_copy(from, to, &snapshot_live[i], root, now, a, err);
		if (rc == BERTH_OK)
			rc = store_commit(to, err);
		else
			store_rollback(to);
	}
	arena_free(a);
	if (rc != BERTH_OK) {
		store_close(to);
		return err_ctx(err, "what the placement was made from");
	}
	*out = to;
	return BERTH_OK;
}
