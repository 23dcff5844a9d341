/* src/store/db.h - the one small database interface; each engine is a struct db_engine.  Floor:
 * store, private to it.
 *
 * SQL is the common dialect of SQLite 3.37 and PostgreSQL 13: placeholders $1 $2 ... whose first
 * uses are in order, ON CONFLICT, RETURNING, no PRAGMA. Types are tokens that the engine replaces:
 * {i64} {real} {text} {blob}, {id} (a primary key that grows by itself), and behind a CREATE TABLE
 * {strict} or {clustered} (rows lie in the order of the primary key).
 */
#ifndef BERTH_STORE_DB_H
#define BERTH_STORE_DB_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/money.h"

enum db_type { DB_NULL, DB_I64, DB_REAL, DB_TEXT, DB_BLOB };

struct db_val {
	enum db_type type;
	int64_t i;
	double d;
	const char *s; /* TEXT: ends with NUL; BLOB: len bytes; borrowed until the next step */
	size_t len;
};

/* Row i as v [n_cols]; what it points to lives until the load ends. */
typedef void db_fill_fn(void *arg, size_t i, struct db_val *v);
struct db_rows {
	const char *columns; /* "a, b, c": their names, n_cols of them */
	size_t n_cols, n;
	db_fill_fn *fill; /* called once a row, in order */
	void *arg;
};

/* What the engine is to open. */
struct db_open {
	const char *path; /* file or URL */
	bool write, create;
	int busy_timeout_ms;
};

/*
 * conn and stmt belong to the engine. Every error message names the file or server.
 * Errors: BERTH_ETRANSIENT busy for longer than the timeout; BERTH_EIO disk, full, read-only;
 * BERTH_EINVAL not a database, damaged; BERTH_ENOTFOUND no such file; BERTH_EFAIL a constraint or
 * our own SQL.
 */
struct db_engine {
	const char *name;               /* "sqlite" */
	const char *const (*tokens)[2]; /* "{i64}" -> "INTEGER", ends with a NULL */
	enum berth_code (*open)(const struct db_open *o, void **conn_out, char *warning,
	    size_t warning_size, struct berth_err *err);
	void (*close)(void *conn);
	enum berth_code (*exec)(
	    void *conn, const char *script, struct berth_err *err); /* statements, ";" between */
	enum berth_code (*begin)(void *conn, bool write, struct berth_err *err);
	enum berth_code (*commit)(void *conn, struct berth_err *err);
	void (*rollback)(void *conn);
	enum berth_code (*prepare)(
	    void *conn, const char *sql, void **stmt_out, struct berth_err *err);
	enum berth_code (*bind)(
	    void *stmt, const struct db_val *args, size_t n, struct berth_err *err); /* resets */
	enum berth_code (*step)(void *stmt, bool *row_out, struct berth_err *err);
	/* Inserts rows into a table in one go. */
	enum berth_code (*load)(
	    void *conn, const char *table, const struct db_rows *rows, struct berth_err *err);
	void (*reset)(void *stmt);
	void (*finalize)(void *stmt);
	int (*columns)(void *stmt);
	const char *(*column_name)(void *stmt, int i);
	void (*column)(void *stmt, int i, struct db_val *v_out);
	int64_t (*changes)(void *conn); /* rows of the last INSERT, UPDATE or DELETE */
	/* Version of the schema: 0 an empty database; BERTH_EINVAL if it belongs to another
	 * program. */
	enum berth_code (*version)(void *conn, int64_t *version_out, struct berth_err *err);
	enum berth_code (*set_version)(
	    void *conn, int64_t version, struct berth_err *err); /* inside a transaction */
	enum berth_code (*copy)(void *conn, const char *path, struct berth_err *err);
	/* Gives the room of what was deleted back. Outside of a transaction. */
	enum berth_code (*compact)(void *conn, struct berth_err *err);
	/* Calls say for each fault that the engine finds in its own files. */
	enum berth_code (*check)(void *conn, void (*say)(void *arg, const char *fault), void *arg,
	    struct berth_err *err);
};

extern const struct db_engine db_sqlite;

struct db;
struct db_stmt;

BERTH_MUST_CHECK enum berth_code db_open(
    const struct db_open *o, struct db **db_out, struct berth_err *err);
void db_close(struct db *db);
const struct db_engine *db_engine(const struct db *db);
void *db_conn(const struct db *db);
/* What the engine had to say at opening ("" nothing): a network file system, a read-only file. */
const char *db_warning(const struct db *db);

/* Typed helpers for arguments; NaN, USD_UNKNOWN and NULL texts are bound as NULL. */
static inline struct db_val
db_i64(int64_t v)
{
	return (struct db_val){ .type = DB_I64, .i = v };
}
static inline struct db_val
db_bool(bool v)
{
	return db_i64(v ? 1 : 0);
}
static inline struct db_val
db_null(void)
{
	return (struct db_val){ .type = DB_NULL };
}
static inline struct db_val
db_id(int64_t v)
{
	return v != 0 ? db_i64(v) : db_null();
} /* 0: no row */
static inline struct db_val
db_real(double v)
{
	return isnan(v) ? db_null() : (struct db_val){ .type = DB_REAL, .d = v };
}
static inline struct db_val
db_usd(struct usd_micro v)
{
	return usd_known(v) ? db_i64(v.v) : db_null();
}
struct db_val db_text(const char *s); /* NULL: "" - texts of rows are never NULL */
struct db_val db_blob(const void *p, size_t len);

#define DB_ARGS(...)                                                                               \
	(const struct db_val[]){ __VA_ARGS__ },                                                    \
	    sizeof((const struct db_val[]){ __VA_ARGS__ }) / sizeof(struct db_val)
#define DB_NO_ARGS NULL, 0

/* Runs a statement that returns no rows. Prepared statements are kept by the address of sql: pass
 * literals only. */
BERTH_MUST_CHECK enum berth_code db_run(
    struct db *db, struct berth_err *err, const char *sql, const struct db_val *args, size_t n);
/* The same for INSERT ... RETURNING id. */
BERTH_MUST_CHECK enum berth_code db_insert(struct db *db, int64_t *id_out, struct berth_err *err,
    const char *sql, const struct db_val *args, size_t n);
/* Starts a query; db_next() until *row_out is false or an error, then db_done() in any case. */
BERTH_MUST_CHECK enum berth_code db_query(struct db *db, struct db_stmt **st_out,
    struct berth_err *err, const char *sql, const struct db_val *args, size_t n);
BERTH_MUST_CHECK enum berth_code db_next(struct db_stmt *st, bool *row_out, struct berth_err *err);
/* Runs an INSERT or UPDATE that db_query() has prepared with new arguments: the inner loop of a
 * bulk load. */
BERTH_MUST_CHECK enum berth_code db_again(
    struct db_stmt *st, struct berth_err *err, const struct db_val *args, size_t n);
void db_done(struct db_stmt *st);
/* Inserts many rows into a table, several times as fast as a statement for each. At most 64
 * columns. */
BERTH_MUST_CHECK enum berth_code db_load(
    struct db *db, const char *table, const struct db_rows *rows, struct berth_err *err);
/* One integer of the first row; absent if there is no row or it is NULL. */
BERTH_MUST_CHECK enum berth_code db_get_one(struct db *db, int64_t absent, int64_t *v_out,
    struct berth_err *err, const char *sql, const struct db_val *args, size_t n);
int64_t db_changes(struct db *db);

/* Columns by name (an assert for a name that the query lacks). Texts are copied into the arena. */
struct arena;
int64_t db_col_i64(struct db_stmt *st, const char *name); /* NULL: 0 */
bool db_col_bool(struct db_stmt *st, const char *name);
double db_col_real(struct db_stmt *st, const char *name);          /* NULL: NaN */
struct usd_micro db_col_usd(struct db_stmt *st, const char *name); /* NULL: USD_UNKNOWN */
const char *db_col_text(struct db_stmt *st, const char *name, struct arena *a); /* NULL: "" */
/* By place, for long scans and exports. */
int db_cols(struct db_stmt *st);
const char *db_col_name(struct db_stmt *st, int i);
int db_col(struct db_stmt *st, const char *name);
struct db_val db_col_at(struct db_stmt *st, int i);

/* Statements, with their tokens replaced. */
BERTH_MUST_CHECK enum berth_code db_exec(struct db *db, const char *script, struct berth_err *err);
/* Transactions do not nest here; store_begin() does. */
BERTH_MUST_CHECK enum berth_code db_begin(struct db *db, bool write, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code db_commit(struct db *db, struct berth_err *err);
void db_rollback(struct db *db);

#endif
