/* src/store/sqlite.h - what the files of the SQLite engine share.  Floor: store, private to the
 * engine. */
#ifndef BERTH_STORE_SQLITE_H
#define BERTH_STORE_SQLITE_H

#include <sqlite3.h>

#include "store/db.h"
#include "util/err.h"

struct sqlite_conn {
	sqlite3 *db;
	char *path;
	int busy_timeout_ms;
	const struct db_rows *rows; /* of the load that runs; NULL: none */
};

/* SQLite's code rc as ours, with a message that names the file and what to do next. */
enum berth_code sqlite_fail(const struct sqlite_conn *c, int rc, struct berth_err *err);

/* db_engine.load, in sqlite_load.c */
BERTH_MUST_CHECK enum berth_code sqlite_load(
    void *conn, const char *table, const struct db_rows *rows, struct berth_err *err);
/* db_engine.copy and .check, in sqlite_upkeep.c */
BERTH_MUST_CHECK enum berth_code sqlite_copy(void *conn, const char *path, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code sqlite_compact(void *conn, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code sqlite_check(
    void *conn, void (*say)(void *arg, const char *fault), void *arg, struct berth_err *err);

#endif
