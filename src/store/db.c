#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/db.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/str.h"

#define DB_SLOTS 512 /* prepared statements kept; a power of two, far above what the store has */
#define DB_SCRIPT_MAX ((size_t)1024 * 1024)

/* name: the caller's literal, told by its address. */
struct db_asked {
	const char *name;
	int i;
};

struct db_stmt {
	struct db *db;
	const char *sql; /* its address is the key */
	void *handle;
	bool busy;    /* between db_query() and db_done() */
	bool spare;   /* not kept: the kept one was busy */
	char **names; /* [n_names] of its columns, from the first db_col() on */
	int n_names;
	struct db_asked *asked; /* [n_asked] what a reader asks of each row, in its order: learned
				   from the first */
	int n_asked, at;
};

struct db {
	const struct db_engine *engine;
	void *conn;
	char warning[512];
	struct db_stmt *slots[DB_SLOTS];
};

struct db_val
db_text(const char *s)
{
	const char *text = s != NULL ? s : "";

	return (struct db_val){ .type = DB_TEXT, .s = text, .len = strlen(text) };
}

struct db_val
db_blob(const void *p, size_t len)
{
	return (struct db_val){ .type = DB_BLOB, .s = p, .len = len };
}

enum berth_code
db_open(const struct db_open *o, struct db **db_out, struct berth_err *err)
{
	enum berth_code rc;
	struct db *db;

	if (str_starts(o->path, "postgresql://") || str_starts(o->path, "postgres://"))
		return err_set(err, BERTH_EUSAGE,
		    "store: this berth is built without PostgreSQL; give --store a file name");
	db = calloc(1, sizeof(*db));
	if (db == NULL)
		return err_set(err, BERTH_ENOMEM, "store: out of memory");
	db->engine = &db_sqlite;
	rc = db->engine->open(o, &db->conn, db->warning, sizeof(db->warning), err);
	if (rc != BERTH_OK) {
		free(db);
		return rc;
	}
	*db_out = db;
	return BERTH_OK;
}

static void
db_stmt_free(struct db_stmt *st)
{
	st->db->engine->finalize(st->handle);
	for (int i = 0; i < st->n_names; i++)
		free(st->names[i]);
	free(st->names);
	free(st->asked);
	free(st);
}

void
db_close(struct db *db)
{
	if (db == NULL)
		return;
	for (size_t i = 0; i < DB_SLOTS; i++)
		if (db->slots[i] != NULL)
			db_stmt_free(db->slots[i]);
	db->engine->close(db->conn);
	free(db);
}

const struct db_engine *
db_engine(const struct db *db)
{
	return db->engine;
}

void *
db_conn(const struct db *db)
{
	return db->conn;
}

const char *
db_warning(const struct db *db)
{
	return db->warning;
}

/* Replaces {tokens}; an unknown one is our bug. */
static void
db_translate(const struct db_engine *e, const char *sql, struct buf *out)
{
	const char *open;

	while ((open = strchr(sql, '{')) != NULL) {
		size_t i = 0;

		buf_add(out, sql, (size_t)(open - sql));
		while (e->tokens[i][0] != NULL && !str_starts(open, e->tokens[i][0]))
			i++;
		assert(e->tokens[i][0] != NULL);
		buf_add_str(out, e->tokens[i][1]);
		sql = open + strlen(e->tokens[i][0]);
	}
	buf_add_str(out, sql);
}

static enum berth_code
db_prepare_new(struct db *db, const char *sql, struct db_stmt **st_out, struct berth_err *err)
{
	struct db_stmt *st = calloc(1, sizeof(*st));
	enum berth_code rc;

	if (st == NULL)
		return err_set(err, BERTH_ENOMEM, "store: out of memory");
	st->db = db;
	st->sql = sql;
	rc = db->engine->prepare(db->conn, sql, &st->handle, err);
	if (rc != BERTH_OK) {
		free(st);
		return rc;
	}
	*st_out = st;
	return BERTH_OK;
}

/* The kept statement of this text, or a spare one while that is in use (a query inside its own
 * loop). */
static enum berth_code
db_prepare(struct db *db, const char *sql, struct db_stmt **st_out, struct berth_err *err)
{
	size_t i = hash_u64((uint64_t)(uintptr_t)sql) & (DB_SLOTS - 1);
	enum berth_code rc;
	size_t tried = 0;

	while (db->slots[i] != NULL && db->slots[i]->sql != sql && tried++ < DB_SLOTS)
		i = (i + 1) & (DB_SLOTS - 1);
	if (db->slots[i] != NULL && db->slots[i]->sql == sql && !db->slots[i]->busy) {
		*st_out = db->slots[i];
	} else {
		rc = db_prepare_new(db, sql, st_out, err);
		if (rc != BERTH_OK)
			return rc;
		(*st_out)->spare = db->slots[i] != NULL;
		if (db->slots[i] == NULL)
			db->slots[i] = *st_out;
	}
	(*st_out)->busy = true;
	return BERTH_OK;
}

void
db_done(struct db_stmt *st)
{
	if (st == NULL)
		return;
	st->db->engine->reset(st->handle);
	st->busy = false;
	if (st->spare)
		db_stmt_free(st);
}

enum berth_code
db_query(struct db *db, struct db_stmt **st_out, struct berth_err *err, const char *sql,
    const struct db_val *args, size_t n)
{
	struct db_stmt *st = NULL;
	enum berth_code rc;

	*st_out = NULL;
	rc = db_prepare(db, sql, &st, err);
	if (rc != BERTH_OK)
		return rc;
	rc = db->engine->bind(st->handle, args, n, err);
	if (rc != BERTH_OK) {
		db_done(st);
		return rc;
	}
	*st_out = st;
	return BERTH_OK;
}

enum berth_code
db_next(struct db_stmt *st, bool *row_out, struct berth_err *err)
{
	return st->db->engine->step(st->handle, row_out, err);
}

enum berth_code
db_again(struct db_stmt *st, struct berth_err *err, const struct db_val *args, size_t n)
{
	enum berth_code rc = st->db->engine->bind(st->handle, args, n, err);
	bool row;

	return rc == BERTH_OK ? st->db->engine->step(st->handle, &row, err) : rc;
}

enum berth_code
db_load(struct db *db, const char *table, const struct db_rows *rows, struct berth_err *err)
{
	return rows->n > 0 ? db->engine->load(db->conn, table, rows, err) : BERTH_OK;
}

enum berth_code
db_run(struct db *db, struct berth_err *err, const char *sql, const struct db_val *args, size_t n)
{
	struct db_stmt *st;
	enum berth_code rc;
	bool row;

	rc = db_query(db, &st, err, sql, args, n);
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	db_done(st);
	return rc;
}

enum berth_code
db_get_one(struct db *db, int64_t absent, int64_t *v_out, struct berth_err *err, const char *sql,
    const struct db_val *args, size_t n)
{
	struct db_stmt *st;
	struct db_val v;
	enum berth_code rc;
	bool row;

	rc = db_query(db, &st, err, sql, args, n);
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	if (rc == BERTH_OK) {
		*v_out = absent;
		if (row) {
			v = db_col_at(st, 0);
			if (v.type == DB_I64)
				*v_out = v.i;
		}
	}
	db_done(st);
	return rc;
}

enum berth_code
db_insert(struct db *db, int64_t *id_out, struct berth_err *err, const char *sql,
    const struct db_val *args, size_t n)
{
	return db_get_one(db, 0, id_out, err, sql, args, n);
}

int64_t
db_changes(struct db *db)
{
	return db->engine->changes(db->conn);
}

int
db_cols(struct db_stmt *st)
{
	return st->db->engine->columns(st->handle);
}

const char *
db_col_name(struct db_stmt *st, int i)
{
	return st->db->engine->column_name(st->handle, i);
}

/* Names are asked of the engine once a statement; without memory for them the engine is asked each
 * time. */
static void
db_col_names(struct db_stmt *st)
{
	int n = db_cols(st);

	st->names = calloc((size_t)(n > 0 ? n : 1), sizeof(*st->names));
	if (st->names == NULL)
		return;
	for (; st->n_names < n; st->n_names++)
		if ((st->names[st->n_names] = strdup(db_col_name(st, st->n_names))) == NULL)
			return;
}

static int
db_col_find(struct db_stmt *st, const char *name)
{
	int n = db_cols(st);

	if (st->names == NULL)
		db_col_names(st);
	for (int i = 0; i < n; i++)
		if (strcmp(i < st->n_names ? st->names[i] : db_col_name(st, i), name) == 0)
			return i;
	assert(0 && "no such column");
	return -1;
}

/* A reader asks the same of each row: the name that followed the last one is tried first, by its
 * address. */
int
db_col(struct db_stmt *st, const char *name)
{
	struct db_asked *grown;
	int i;

	for (int tries = 0; tries < 2; tries++) {
		if (st->at < st->n_asked && st->asked[st->at].name == name)
			return st->asked[st->at++].i;
		if (st->at < st->n_asked)
			break;
		st->at = 0; /* the next row, most likely */
	}
	i = db_col_find(st, name);
	for (int k = 0; k < st->n_asked; k++)
		if (st->asked[k].name == name) {
			st->at = k + 1;
			return i;
		}
	grown = realloc(st->asked, ((size_t)st->n_asked + 1) * sizeof(*grown));
	if (grown == NULL)
		return i;
	st->asked = grown;
	st->asked[st->n_asked++] = (struct db_asked){ name, i };
	st->at = st->n_asked;
	return i;
}

struct db_val
db_col_at(struct db_stmt *st, int i)
{
	struct db_val v;

	st->db->engine->column(st->handle, i, &v);
	return v;
}

int64_t
db_col_i64(struct db_stmt *st, const char *name)
{
	struct db_val v = db_col_at(st, db_col(st, name));

	return v.type == DB_I64 ? v.i : 0;
}

bool
db_col_bool(struct db_stmt *st, const char *name)
{
	return db_col_i64(st, name) != 0;
}

double
db_col_real(struct db_stmt *st, const char *name)
{
	struct db_val v = db_col_at(st, db_col(st, name));

	if (v.type == DB_I64)
		return (double)v.i;
	return v.type == DB_REAL ? v.d : (double)NAN;
}

struct usd_micro
db_col_usd(struct db_stmt *st, const char *name)
{
	struct db_val v = db_col_at(st, db_col(st, name));

	return v.type == DB_I64 ? (struct usd_micro){ v.i } : USD_UNKNOWN;
}

const char *
db_col_text(struct db_stmt *st, const char *name, struct arena *a)
{
	struct db_val v = db_col_at(st, db_col(st, name));

	return v.type == DB_TEXT && v.len > 0 ? arena_strndup(a, v.s, v.len) : "";
}

enum berth_code
db_exec(struct db *db, const char *script, struct berth_err *err)
{
	struct buf b;
	enum berth_code rc;

	buf_init(&b, DB_SCRIPT_MAX);
	db_translate(db->engine, script, &b);
	rc = buf_check(&b, "store: a script", err);
	if (rc == BERTH_OK)
		rc = db->engine->exec(db->conn, b.p, err);
	buf_free(&b);
	return rc;
}

enum berth_code
db_begin(struct db *db, bool write, struct berth_err *err)
{
	return db->engine->begin(db->conn, write, err);
}

enum berth_code
db_commit(struct db *db, struct berth_err *err)
{
	return db->engine->commit(db->conn, err);
}

void
db_rollback(struct db *db)
{
	db->engine->rollback(db->conn);
}
