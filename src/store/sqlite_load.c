#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite.h"
#include "util/buf.h"

/*
 * Rows out of the program's memory as a table of SQLite's, so that one statement inserts them all:
 * most of what a statement a row costs is its start, and the copies of what is bound.
 */
#define SQLITE_LOAD_COLS 64
#define SQLITE_LOAD_TABLE "berth_rows"

struct sqlite_load_table {
	sqlite3_vtab base;
	const struct sqlite_conn *c;
};
struct sqlite_load_cursor {
	sqlite3_vtab_cursor base;
	const struct db_rows *rows;
	size_t i;
	struct db_val v[SQLITE_LOAD_COLS];
};

static int
sqlite_load_connect(sqlite3 *db, void *conn, int argc, const char *const *argv,
    sqlite3_vtab **table_out, char **error_out)
{
	struct sqlite_load_table *t;
	char sql[SQLITE_LOAD_COLS * 5 + 32];
	int n = snprintf(sql, sizeof(sql), "CREATE TABLE x (c0"), rc;

	(void)argc, (void)argv, (void)error_out;
	for (int i = 1; i < SQLITE_LOAD_COLS; i++)
		n += snprintf(sql + n, sizeof(sql) - (size_t)n, ",c%d", i);
	snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
	if ((rc = sqlite3_declare_vtab(db, sql)) != SQLITE_OK)
		return rc;
	sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return SQLITE_NOMEM;
	t->c = conn;
	*table_out = &t->base;
	return SQLITE_OK;
}

static int
sqlite_load_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int
sqlite_load_best(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table, (void)info; /* a scan is all there is */
	return SQLITE_OK;
}

static int
sqlite_load_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor_out)
{
	struct sqlite_load_cursor *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return SQLITE_NOMEM;
	k->rows = ((const struct sqlite_load_table *)table)->c->rows;
	*cursor_out = &k->base;
	return SQLITE_OK;
}

static int
sqlite_load_close(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static void
sqlite_load_fill(struct sqlite_load_cursor *k)
{
	if (k->rows != NULL && k->i < k->rows->n)
		k->rows->fill(k->rows->arg, k->i, k->v);
}

static int
sqlite_load_filter(
    sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc, sqlite3_value **argv)
{
	struct sqlite_load_cursor *k = (struct sqlite_load_cursor *)cursor;

	(void)plan, (void)text, (void)argc, (void)argv;
	k->i = 0;
	sqlite_load_fill(k);
	return SQLITE_OK;
}

static int
sqlite_load_next(sqlite3_vtab_cursor *cursor)
{
	struct sqlite_load_cursor *k = (struct sqlite_load_cursor *)cursor;

	k->i++;
	sqlite_load_fill(k);
	return SQLITE_OK;
}

static int
sqlite_load_eof(sqlite3_vtab_cursor *cursor)
{
	const struct sqlite_load_cursor *k = (const struct sqlite_load_cursor *)cursor;

	return k->rows == NULL || k->i >= k->rows->n;
}

static int
sqlite_load_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int i)
{
	const struct sqlite_load_cursor *k = (const struct sqlite_load_cursor *)cursor;
	const struct db_val *v = &k->v[i];

	switch (v->type) {
	case DB_NULL:
		sqlite3_result_null(ctx);
		break;
	case DB_I64:
		sqlite3_result_int64(ctx, v->i);
		break;
	case DB_REAL:
		sqlite3_result_double(ctx, v->d);
		break;
	case DB_TEXT:
		sqlite3_result_text64(ctx, v->s, v->len, SQLITE_STATIC, SQLITE_UTF8);
		break;
	case DB_BLOB:
		sqlite3_result_blob64(ctx, v->s, v->len, SQLITE_STATIC);
		break;
	}
	return SQLITE_OK;
}

static int
sqlite_load_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id_out)
{
	*id_out = (sqlite3_int64)((const struct sqlite_load_cursor *)cursor)->i;
	return SQLITE_OK;
}

static const sqlite3_module sqlite_load_module = {
	.xConnect = sqlite_load_connect,
	.xDisconnect = sqlite_load_disconnect,
	.xBestIndex = sqlite_load_best,
	.xOpen = sqlite_load_open,
	.xClose = sqlite_load_close,
	.xFilter = sqlite_load_filter,
	.xNext = sqlite_load_next,
	.xEof = sqlite_load_eof,
	.xColumn = sqlite_load_column,
	.xRowid = sqlite_load_rowid,
};

static enum berth_code
sqlite_load_sql(const char *table, const struct db_rows *rows, struct buf *b, struct berth_err *err)
{
	buf_printf(b, "INSERT INTO %s (%s) SELECT c0", table, rows->columns);
	for (size_t i = 1; i < rows->n_cols; i++)
		buf_printf(b, ",c%zu", i);
	buf_add_str(b, " FROM " SQLITE_LOAD_TABLE);
	return buf_check(b, "store: a load", err);
}

enum berth_code
sqlite_load(void *conn, const char *table, const struct db_rows *rows, struct berth_err *err)
{
	struct sqlite_conn *c = conn;
	enum berth_code rc;
	struct buf b;
	int sq;

	if (rows->n_cols > SQLITE_LOAD_COLS)
		return err_set(err, BERTH_EFAIL, "store: a load of %zu columns", rows->n_cols);
	buf_init(&b, 65536);
	rc = sqlite_load_sql(table, rows, &b, err);
	if (rc == BERTH_OK) {
		c->rows = rows;
		sq = sqlite3_create_module(c->db, SQLITE_LOAD_TABLE, &sqlite_load_module, c);
		if (sq == SQLITE_OK)
			sq = sqlite3_exec(c->db, b.p, NULL, NULL, NULL);
		c->rows = NULL;
		if (sq != SQLITE_OK)
			rc = sqlite_fail(c, sq, err);
	}
	buf_free(&b);
	return rc;
}
