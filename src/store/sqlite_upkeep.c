#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/sqlite.h"

/* A copy that cannot be gone back to is none: better to hear of it now than when it is needed. */
static enum berth_code
sqlite_copy_check(const struct sqlite_conn *to, const char *source, struct berth_err *err)
{
	sqlite3_stmt *st = NULL;
	enum berth_code rc = BERTH_OK;
	int sq = sqlite3_prepare_v2(to->db, "PRAGMA quick_check(1)", -1, &st, NULL);
	const char *said;

	if (sq == SQLITE_OK)
		sq = sqlite3_step(st);
	said = sq == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : sqlite3_errmsg(to->db);
	if (sq != SQLITE_ROW || said == NULL || strcmp(said, "ok") != 0)
		rc = err_set(err, BERTH_EINVAL,
		    "store %s: the file is damaged, so no copy was made (%s): see `berth store "
		    "check`, and keep the copies there are",
		    source, said != NULL ? said : "out of memory");
	sqlite3_finalize(st);
	return rc;
}

/* The pages of c as of now, into a new file of mode 0600 that needs no WAL beside it. */
static enum berth_code
sqlite_copy_pages(const struct sqlite_conn *c, const char *path, struct berth_err *err)
{
	struct sqlite_conn from = { .path = c->path, .busy_timeout_ms = c->busy_timeout_ms };
	struct sqlite_conn to = { .path = (char *)(uintptr_t)path,
		.busy_timeout_ms = c->busy_timeout_ms };
	enum berth_code rc = BERTH_OK;
	sqlite3_backup *b = NULL;
	int sq;

	/* A connection of its own: SQLite does not copy out of one that is inside a write
	 * transaction. */
	sq = sqlite3_open_v2(c->path, &from.db, SQLITE_OPEN_READWRITE, NULL);
	if (sq != SQLITE_OK) {
		rc = sqlite_fail(&from, sq, err);
		goto out;
	}
	sqlite3_busy_timeout(from.db, c->busy_timeout_ms);
	sq = sqlite3_open_v2(path, &to.db, SQLITE_OPEN_READWRITE, NULL);
	if (sq == SQLITE_OK && (b = sqlite3_backup_init(to.db, "main", from.db, "main")) == NULL)
		sq = sqlite3_errcode(to.db);
	if (sq == SQLITE_OK) {
		sq = sqlite3_backup_step(b, -1);
		if (sq == SQLITE_DONE)
			sq = sqlite3_backup_finish(b);
		else
			sqlite3_backup_finish(b);
	}
	if (sq == SQLITE_OK)
		sq = sqlite3_exec(to.db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	if (sq != SQLITE_OK)
		rc = sqlite_fail(&to, sq, err);
	else
		rc = sqlite_copy_check(&to, c->path, err);
out:
	sqlite3_close_v2(to.db);
	sqlite3_close_v2(from.db);
	return rc;
}

enum berth_code
sqlite_copy(void *conn, const char *path, struct berth_err *err)
{
	const struct sqlite_conn *c = conn;
	enum berth_code rc;
	char part[4096];
	int fd;

	if (snprintf(part, sizeof(part), "%s.part", path) >= (int)sizeof(part))
		return err_set(
		    err, BERTH_EINVAL, "store: the path of the copy is too long: %s", path);
	fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, BERTH_EIO, errno, "store: the copy %s", part);
	close(fd);
	rc = sqlite_copy_pages(c, part, err);
	if (rc == BERTH_OK && rename(part, path) != 0)
		rc = err_sys(err, BERTH_EIO, errno, "store: the copy %s", path);
	if (rc != BERTH_OK)
		unlink(part);
	return rc;
}

/* Hands every row of a PRAGMA that lists faults to say. */
static int
sqlite_check_rows(const struct sqlite_conn *c, const char *sql, const char *fmt,
    void (*say)(void *arg, const char *fault), void *arg)
{
	sqlite3_stmt *st;
	char line[512];
	int rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *a = (const char *)sqlite3_column_text(st, 0);
		const char *b =
		    sqlite3_column_count(st) > 1 ? (const char *)sqlite3_column_text(st, 1) : NULL;

		if (a != NULL && strcmp(a, "ok") == 0 && b == NULL)
			continue;
		snprintf(line, sizeof(line), "%s%s%s%s", fmt, a != NULL ? a : "?",
		    b != NULL ? " row " : "", b != NULL ? b : "");
		say(arg, line);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The write-ahead log holds all of a compacted file until it is moved over; that may have to wait
 * for who still reads. */
enum berth_code
sqlite_compact(void *conn, struct berth_err *err)
{
	struct sqlite_conn *c = conn;
	int sq = sqlite3_exec(c->db, "VACUUM", NULL, NULL, NULL);

	if (sq == SQLITE_OK)
		(void)sqlite3_exec(c->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
	return sq == SQLITE_OK ? BERTH_OK : sqlite_fail(c, sq, err);
}

enum berth_code
sqlite_check(
    void *conn, void (*say)(void *arg, const char *fault), void *arg, struct berth_err *err)
{
	const struct sqlite_conn *c = conn;
	int rc;

	rc = sqlite_check_rows(c, "PRAGMA integrity_check(100)", "file: ", say, arg);
	if (rc == SQLITE_OK)
		rc = sqlite_check_rows(
		    c, "PRAGMA foreign_key_check", "a row points at nothing: ", say, arg);
	return rc == SQLITE_OK ? BERTH_OK : sqlite_fail(c, rc, err);
}
