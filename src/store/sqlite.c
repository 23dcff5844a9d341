#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "store/db.h"
#include "store/sqlite.h"
#include "util/buf.h"
#include "util/str.h"
#include "util/time.h"

#define SQLITE_APPLICATION_ID 0x42525448 /* "BRTH" */

struct sqlite_stmt {
	struct sqlite_conn *c;
	sqlite3_stmt *st;
};

/* File systems on which WAL loses locks or corrupts: its shared memory works within one host only.
 */
static const struct {
	unsigned long magic;
	const char *name;
} sqlite_networks[] = {
	{ 0x6969, "NFS" },
	{ 0x517b, "SMB" },
	{ 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB2" },
	{ 0x65735546, "FUSE" },
	{ 0x5346414f, "AFS" },
	{ 0x73757245, "Coda" },
	{ 0x01021997, "9P" },
	{ 0x00c36400, "Ceph" },
	{ 0x0bd00bd0, "Lustre" },
	{ 0x47504653, "GPFS" },
	{ 0x19830326, "BeeGFS" },
	{ 0x7461636f, "OCFS2" },
	{ 0x01161970, "GFS2" },
	{ 0x786f4256, "vboxsf" },
	{ 0xbacbacbc, "vmhgfs" },
};

static const char *const sqlite_tokens[][2] = {
	{ "{i64}", "INTEGER" },
	{ "{real}", "REAL" },
	{ "{text}", "TEXT" },
	{ "{blob}", "BLOB" },
	{ "{id}", "INTEGER PRIMARY KEY AUTOINCREMENT" },
	{ "{strict}", "STRICT" },
	{ "{clustered}", "STRICT, WITHOUT ROWID" },
	{ NULL, NULL },
};

/* One place turns SQLite's codes into ours, with what to do next. */
enum berth_code
sqlite_fail(const struct sqlite_conn *c, int rc, struct berth_err *err)
{
	int sys = c->db != NULL ? sqlite3_system_errno(c->db) : 0;
	const char *text = c->db != NULL ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc);

	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return err_set(err, BERTH_ETRANSIENT,
		    "store %s: another process has kept it busy for %d s; nothing was changed, try "
		    "again later",
		    c->path, (c->busy_timeout_ms + 999) / 1000);
	case SQLITE_FULL:
		return err_set(err, BERTH_EIO,
		    "store %s: the disk is full; nothing of this step was stored", c->path);
	case SQLITE_READONLY:
		return err_set(err, BERTH_EIO, "store %s: is read-only (%s)", c->path, text);
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
		return err_sys(
		    err, BERTH_EIO, sys != 0 ? sys : EACCES, "store %s: cannot be opened", c->path);
	case SQLITE_IOERR:
		/* SQLite does not always keep errno; which operation failed says as much. */
		if (sys == 0 && (rc == SQLITE_IOERR_WRITE || rc == SQLITE_IOERR_SHMSIZE ||
				    rc == SQLITE_IOERR_TRUNCATE || rc == SQLITE_IOERR_FSYNC))
			return err_set(err, BERTH_EIO,
			    "store %s: cannot be written, nothing of this step was stored: is the "
			    "disk full, or is there a limit on the size of files?",
			    c->path);
		if (sys == EFBIG || sys == ENOSPC || sys == EDQUOT)
			return err_sys(err, BERTH_EIO, sys,
			    "store %s: cannot grow, nothing of this step was stored", c->path);
		return err_sys(
		    err, BERTH_EIO, sys != 0 ? sys : EIO, "store %s: %s (%d)", c->path, text, rc);
	case SQLITE_NOTADB:
		return err_set(err, BERTH_EINVAL, "store %s: this is not a database", c->path);
	case SQLITE_CORRUPT:
		return err_set(err, BERTH_EINVAL,
		    "store %s: the file is damaged (%s); see `berth store check`, or go back to a "
		    "copy made by `berth store backup`",
		    c->path, text);
	case SQLITE_NOMEM:
		return err_set(err, BERTH_ENOMEM, "store %s: out of memory", c->path);
	default:
		return err_set(err, BERTH_EFAIL, "store %s: %s", c->path, text);
	}
}

static enum berth_code
sqlite_exec(void *conn, const char *script, struct berth_err *err)
{
	struct sqlite_conn *c = conn;
	int rc = sqlite3_exec(c->db, script, NULL, NULL, NULL);

	return rc == SQLITE_OK ? BERTH_OK : sqlite_fail(c, rc, err);
}

static bool
sqlite_is_busy(int rc)
{
	return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_PROTOCOL;
}

static void
sqlite_nap(void)
{
	const struct timespec nap = { .tv_nsec = 20 * 1000 * 1000 };

	nanosleep(&nap, NULL);
}

/*
 * Some ways to be busy never reach SQLite's own busy handler (a change of journal mode, recovery of
 * a WAL by another process): such statements are tried again until the same timeout has passed.
 */
static int
sqlite_exec_patient(struct sqlite_conn *c, const char *sql)
{
	int64_t until = time_mono_ms() + c->busy_timeout_ms;
	int rc;

	while (sqlite_is_busy(rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL)) &&
	       time_mono_ms() < until)
		sqlite_nap();
	return rc;
}

/* First column of the first row; "" if there is none. */
static int
sqlite_pragma(struct sqlite_conn *c, const char *sql, char *out, size_t size)
{
	int64_t until = time_mono_ms() + c->busy_timeout_ms;
	sqlite3_stmt *st;
	int rc;

	out[0] = '\0';
	for (;;) {
		rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
		if (rc == SQLITE_OK) {
			if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0) != NULL)
				str_copy(out, size, (const char *)sqlite3_column_text(st, 0));
			rc = sqlite3_finalize(st);
		}
		if (!sqlite_is_busy(rc) || time_mono_ms() >= until)
			return rc;
		sqlite_nap();
	}
}

static const char *
sqlite_network(const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(sqlite_networks) / sizeof(sqlite_networks[0]); i++)
		if (((unsigned long)fs.f_type & 0xffffffffUL) == sqlite_networks[i].magic)
			return sqlite_networks[i].name;
	return NULL;
}

/* WAL where it is safe, a rollback journal elsewhere; the mode is kept in the file. */
static enum berth_code
sqlite_journal(struct sqlite_conn *c, char *warning, size_t warning_size, struct berth_err *err)
{
	const char *network = sqlite_network(c->path);
	char mode[16];
	int rc;

	rc = sqlite_pragma(c, "PRAGMA journal_mode", mode, sizeof(mode));
	if (rc != SQLITE_OK)
		return sqlite_fail(c, rc, err);
	if (network == NULL) {
		if (strcmp(mode, "wal") != 0)
			rc = sqlite_pragma(c, "PRAGMA journal_mode=WAL", mode, sizeof(mode));
		return rc == SQLITE_OK ? BERTH_OK : sqlite_fail(c, rc, err);
	}
	if (strcmp(mode, "wal") == 0) {
		rc = sqlite_pragma(c, "PRAGMA journal_mode=DELETE", mode, sizeof(mode));
		if (rc != SQLITE_OK)
			return sqlite_fail(c, rc, err);
	}
	snprintf(warning, warning_size,
	    "store %s lies on a network file system (%s): berth uses a rollback journal there, is "
	    "slower, and relies on the locks of that file system; a local disk is better",
	    c->path, network);
	return BERTH_OK;
}

/* A file of mode 0600 before SQLite makes one by the umask; the -wal and -shm files take its mode.
 */
static enum berth_code
sqlite_create(const struct db_open *o, struct berth_err *err)
{
	int fd = open(o->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0) {
		close(fd);
		return BERTH_OK;
	}
	if (errno == EEXIST)
		return BERTH_OK;
	return err_sys(err, BERTH_EIO, errno, "store %s: cannot be made", o->path);
}

/* A file that cannot be written, in a folder that cannot be written, is read as it lies if no WAL
 * waits beside it. */
static int
sqlite_open_read_only(struct sqlite_conn *c)
{
	struct stat st;
	struct buf uri;
	int rc = SQLITE_NOMEM;

	buf_init(&uri, strlen(c->path) * 3 + 32);
	if (buf_printf(&uri, "%s-wal", c->path) == BERTH_OK && stat(uri.p, &st) == 0 &&
	    st.st_size > 0) {
		buf_free(&uri);
		return sqlite3_open_v2(
		    c->path, &c->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	}
	buf_clear(&uri);
	buf_add_str(&uri, "file:");
	for (const char *p = c->path; *p != '\0'; p++)
		buf_printf(
		    &uri, strchr("%?#", *p) != NULL ? "%%%02X" : "%c", (unsigned)(unsigned char)*p);
	if (buf_add_str(&uri, "?immutable=1") == BERTH_OK)
		rc = sqlite3_open_v2(uri.p, &c->db,
		    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
	buf_free(&uri);
	return rc;
}

static void
sqlite_close(void *conn)
{
	struct sqlite_conn *c = conn;

	if (c == NULL)
		return;
	sqlite3_close_v2(c->db);
	free(c->path);
	free(c);
}

static enum berth_code
sqlite_setup(struct sqlite_conn *c, const struct db_open *o, bool writable, char *warning,
    size_t warning_size, struct berth_err *err)
{
	enum berth_code rc;
	char id[32], tables[32];
	int sq;

	sqlite3_busy_timeout(c->db, c->busy_timeout_ms); /* before the first statement */
	sqlite3_extended_result_codes(c->db, 1);
	sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sq = sqlite_pragma(
	    c, "PRAGMA application_id", id, sizeof(id)); /* finds out whether it is a database */
	if (sq == SQLITE_OK)
		sq = sqlite_pragma(c, "SELECT count(*) FROM sqlite_schema", tables, sizeof(tables));
	if (sq != SQLITE_OK)
		return sqlite_fail(c, sq, err);
	rc = sqlite_exec(c,
	    "PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF; PRAGMA "
	    "cache_size=-16384; PRAGMA journal_size_limit=67108864",
	    err);
	/* Another program's file is left as it is; db_engine.version says so. */
	if (rc == BERTH_OK && writable &&
	    (strtol(id, NULL, 10) == SQLITE_APPLICATION_ID || strcmp(tables, "0") == 0))
		rc = sqlite_journal(c, warning, warning_size, err);
	if (rc == BERTH_OK && !o->write)
		rc = sqlite_exec(c, "PRAGMA query_only=ON", err);
	return rc;
}

static enum berth_code
sqlite_open(const struct db_open *o, void **conn_out, char *warning, size_t warning_size,
    struct berth_err *err)
{
	struct sqlite_conn *c = calloc(1, sizeof(*c));
	enum berth_code rc = BERTH_OK;
	bool writable, memory = strcmp(o->path, ":memory:") == 0;
	int sq;

	if (c == NULL || (c->path = strdup(o->path)) == NULL) {
		free(c);
		return err_set(err, BERTH_ENOMEM, "store: out of memory");
	}
	c->busy_timeout_ms = o->busy_timeout_ms;
	if (o->create && !memory)
		rc = sqlite_create(o, err);
	else if (!memory && faccessat(AT_FDCWD, o->path, F_OK, AT_EACCESS) != 0)
		rc = errno == ENOENT || errno == ENOTDIR
			 ? err_set(err, BERTH_ENOTFOUND,
			       "store %s: there is none; `berth init` makes it", o->path)
			 : err_sys(err, BERTH_EIO, errno, "store %s", o->path);
	if (rc != BERTH_OK)
		goto out;
	writable = memory || faccessat(AT_FDCWD, o->path, W_OK, AT_EACCESS) == 0;
	if (!writable && o->write) {
		rc = err_sys(err, BERTH_EIO, errno, "store %s: cannot be written", o->path);
		goto out;
	}
	/* Without its mutexes: a connection is used by one thread. */
	sq = writable ? sqlite3_open_v2(o->path, &c->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
				(memory ? SQLITE_OPEN_CREATE : 0),
			    NULL)
		      : sqlite_open_read_only(c);
	rc = sq == SQLITE_OK ? sqlite_setup(c, o, writable, warning, warning_size, err)
			     : sqlite_fail(c, sq, err);
out:
	if (rc != BERTH_OK)
		sqlite_close(c);
	else
		*conn_out = c;
	return rc;
}

static enum berth_code
sqlite_begin(void *conn, bool write, struct berth_err *err)
{
	struct sqlite_conn *c = conn;
	int rc = sqlite_exec_patient(c, write ? "BEGIN IMMEDIATE" : "BEGIN");

	return rc == SQLITE_OK ? BERTH_OK : sqlite_fail(c, rc, err);
}

static void
sqlite_rollback(void *conn)
{
	struct sqlite_conn *c = conn;

	/* After a full disk SQLite may have rolled back by itself; then there is nothing left to
	 * do. */
	if (sqlite3_get_autocommit(c->db) == 0)
		sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
}

static enum berth_code
sqlite_commit(void *conn, struct berth_err *err)
{
	struct sqlite_conn *c = conn;
	enum berth_code rc;
	int sq = sqlite_exec_patient(c, "COMMIT");

	if (sq == SQLITE_OK)
		return BERTH_OK;
	rc = sqlite_fail(c, sq, err);
	sqlite_rollback(c);
	return rc;
}

static enum berth_code
sqlite_prepare(void *conn, const char *sql, void **stmt_out, struct berth_err *err)
{
	struct sqlite_conn *c = conn;
	struct sqlite_stmt *st = calloc(1, sizeof(*st));
	int rc;

	if (st == NULL)
		return err_set(err, BERTH_ENOMEM, "store %s: out of memory", c->path);
	st->c = c;
	rc = sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st->st, NULL);
	if (rc != SQLITE_OK) {
		free(st);
		return sqlite_fail(c, rc, err);
	}
	*stmt_out = st;
	return BERTH_OK;
}

static void
sqlite_finalize(void *stmt)
{
	struct sqlite_stmt *st = stmt;

	sqlite3_finalize(st->st);
	free(st);
}

static void
sqlite_reset(void *stmt)
{
	struct sqlite_stmt *st = stmt;

	sqlite3_reset(st->st);
}

static int
sqlite_bind_one(sqlite3_stmt *st, int i, const struct db_val *v)
{
	switch (v->type) {
	case DB_NULL:
		return sqlite3_bind_null(st, i);
	case DB_I64:
		return sqlite3_bind_int64(st, i, v->i);
	case DB_REAL:
		return sqlite3_bind_double(st, i, v->d);
	case DB_TEXT:
		return sqlite3_bind_text64(st, i, v->s, v->len, SQLITE_TRANSIENT, SQLITE_UTF8);
	case DB_BLOB:
		return sqlite3_bind_blob64(st, i, v->s, v->len, SQLITE_TRANSIENT);
	}
	return SQLITE_MISUSE;
}

static enum berth_code
sqlite_bind(void *stmt, const struct db_val *args, size_t n, struct berth_err *err)
{
	struct sqlite_stmt *st = stmt;

	sqlite3_reset(st->st);
	assert(sqlite3_bind_parameter_count(st->st) == (int)n);
	/* SQLite numbers parameters by where they first stand; values go by their names. */
	for (int i = 1; i <= (int)n; i++) {
		const char *name = sqlite3_bind_parameter_name(st->st, i);
		int at = name == NULL ? i : (int)strtol(name + 1, NULL, 10), rc;

		assert(at >= 1 && at <= (int)n);
		rc = sqlite_bind_one(st->st, i, &args[at - 1]);
		if (rc != SQLITE_OK)
			return sqlite_fail(st->c, rc, err);
	}
	return BERTH_OK;
}

static enum berth_code
sqlite_step(void *stmt, bool *row_out, struct berth_err *err)
{
	struct sqlite_stmt *st = stmt;
	int rc = sqlite3_step(st->st);

	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return sqlite_fail(st->c, rc, err);
	*row_out = rc == SQLITE_ROW;
	return BERTH_OK;
}

static int
sqlite_columns(void *stmt)
{
	struct sqlite_stmt *st = stmt;

	return sqlite3_column_count(st->st);
}

static const char *
sqlite_column_name(void *stmt, int i)
{
	struct sqlite_stmt *st = stmt;

	return sqlite3_column_name(st->st, i);
}

static void
sqlite_column(void *stmt, int i, struct db_val *v)
{
	/* one look-up a column: connections are opened without a mutex, so that a value may be read
	 * where it lies */
	sqlite3_value *at = sqlite3_column_value(((struct sqlite_stmt *)stmt)->st, i);

	*v = (struct db_val){ .type = DB_NULL };
	switch (sqlite3_value_type(at)) {
	case SQLITE_INTEGER:
		v->type = DB_I64;
		v->i = sqlite3_value_int64(at);
		break;
	case SQLITE_FLOAT:
		v->type = DB_REAL;
		v->d = sqlite3_value_double(at);
		break;
	case SQLITE_TEXT:
		v->type = DB_TEXT;
		v->s = (const char *)sqlite3_value_text(at);
		v->len = (size_t)sqlite3_value_bytes(at);
		break;
	case SQLITE_BLOB:
		v->type = DB_BLOB;
		v->s = sqlite3_value_blob(at);
		v->len = (size_t)sqlite3_value_bytes(at);
		break;
	default:
		break;
	}
}

static int64_t
sqlite_changes(void *conn)
{
	return sqlite3_changes64(((struct sqlite_conn *)conn)->db);
}

static enum berth_code
sqlite_version(void *conn, int64_t *version_out, struct berth_err *err)
{
	struct sqlite_conn *c = conn;
	char id[32], version[32], tables[32];
	int rc;

	rc = sqlite_pragma(c, "PRAGMA application_id", id, sizeof(id));
	if (rc == SQLITE_OK)
		rc = sqlite_pragma(c, "PRAGMA user_version", version, sizeof(version));
	if (rc == SQLITE_OK)
		rc = sqlite_pragma(c, "SELECT count(*) FROM sqlite_schema", tables, sizeof(tables));
	if (rc != SQLITE_OK)
		return sqlite_fail(c, rc, err);
	if (strtol(id, NULL, 10) != SQLITE_APPLICATION_ID &&
	    (strcmp(id, "0") != 0 || strcmp(version, "0") != 0 || strcmp(tables, "0") != 0))
		return err_set(err, BERTH_EINVAL,
		    "store %s: is a database of another program (application id %s); give --store "
		    "another path",
		    c->path, id);
	*version_out = strtol(version, NULL, 10);
	return BERTH_OK;
}

static enum berth_code
sqlite_set_version(void *conn, int64_t version, struct berth_err *err)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "PRAGMA application_id=%d; PRAGMA user_version=%lld",
	    SQLITE_APPLICATION_ID, (long long)version);
	return sqlite_exec(conn, sql, err);
}

const struct db_engine db_sqlite = {
	.name = "sqlite",
	.tokens = sqlite_tokens,
	.open = sqlite_open,
	.close = sqlite_close,
	.exec = sqlite_exec,
	.begin = sqlite_begin,
	.commit = sqlite_commit,
	.rollback = sqlite_rollback,
	.prepare = sqlite_prepare,
	.bind = sqlite_bind,
	.step = sqlite_step,
	.load = sqlite_load,
	.reset = sqlite_reset,
	.finalize = sqlite_finalize,
	.columns = sqlite_columns,
	.column_name = sqlite_column_name,
	.column = sqlite_column,
	.changes = sqlite_changes,
	.version = sqlite_version,
	.set_version = sqlite_set_version,
	.copy = sqlite_copy,
	.compact = sqlite_compact,
	.check = sqlite_check,
};
