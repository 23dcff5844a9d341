#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "store/migrate.h"
#include "store/priv.h"
#include "store/series_rows.h"
#include "util/fileio.h"
#include "util/str.h"

#define STORE_BUSY_MS (60 * 1000)

/* The random tag of this installation, made by the run that makes the store. */
static enum berth_code
store_install(struct store *s, int64_t now, struct berth_err *err)
{
	enum berth_code rc;
	uint64_t bits;
	char hex[17], at[32];

	if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		return err_set(err, BERTH_EFAIL, "store: the system gives no random bytes");
	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)bits);
	snprintf(at, sizeof(at), "%lld", (long long)now);
	rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err,
	    "INSERT INTO meta (key, value) VALUES ('installation', $1) ON CONFLICT (key) DO "
	    "NOTHING",
	    DB_ARGS(db_text(hex)));
	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "INSERT INTO meta (key, value) VALUES ('created', $1) ON CONFLICT (key) DO "
		    "NOTHING",
		    DB_ARGS(db_text(at)));
	return store_end(s, rc, err);
}

static enum berth_code
store_read_installation(struct store *s, struct berth_err *err)
{
	struct db_stmt *st;
	struct db_val v;
	enum berth_code rc;
	bool row;

	rc = db_query(
	    s->db, &st, err, "SELECT value FROM meta WHERE key = 'installation'", DB_NO_ARGS);
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	if (rc == BERTH_OK && row) {
		v = db_col_at(st, 0);
		if (v.type == DB_TEXT)
			str_copy(s->installation, sizeof(s->installation), v.s);
	}
	db_done(st);
	return rc;
}

static enum berth_code
store_connect(struct store *s, bool write, bool create, struct berth_err *err)
{
	struct db_open o = {
		.path = s->path, .write = write, .create = create, .busy_timeout_ms = STORE_BUSY_MS
	};

	db_close(s->db);
	s->db = NULL;
	return db_open(&o, &s->db, err);
}

/* Series of a store that had no ledger yet. If this does not come to its end, the next change of
 * the series does it. */
static enum berth_code
store_open_ledger(struct store *s, struct berth_err *err)
{
	enum store_mode mode = s->mode;
	struct arena *a = arena_new();
	struct series *list;
	size_t n;
	enum berth_code rc = store_series_list(s, a, &list, &n, err);

	s->mode = STORE_WRITE;
	if (rc == BERTH_OK && n > 0 && (rc = store_begin(s, err)) == BERTH_OK) {
		for (size_t i = 0; rc == BERTH_OK && i < n; i++)
			rc = tier_ledger_open(s, list[i].id, list[i].step_s, err);
		rc = store_end(s, rc, err);
	}
	s->mode = mode;
	arena_free(a);
	return rc;
}

static enum berth_code
store_upgrade(struct store *s, struct berth_err *err)
{
	enum berth_code rc;
	bool old;

	rc = migrate_need(s->db, s->path, migrations_n, &old, err);
	if (rc != BERTH_OK || !old)
		return rc;
	if (s->mode == STORE_READ) {
		rc = store_connect(s, true, false, err);
		if (rc != BERTH_OK)
			return err_ctx(
			    err, "an older store must be upgraded before it can be read");
	}
	rc = migrate_run(s->db, s->path, migrations, migrations_n, err);
	if (rc == BERTH_OK)
		rc = store_open_ledger(s, err);
	if (rc == BERTH_OK && s->mode == STORE_READ)
		rc = store_connect(s, false, false, err);
	return rc;
}

enum berth_code
store_open(const char *path, enum store_mode mode, int64_t now, struct store **s_out,
    struct berth_err *err)
{
	struct store *s = calloc(1, sizeof(*s));
	enum berth_code rc = BERTH_OK;

	if (s == NULL || (s->path = strdup(path)) == NULL) {
		free(s);
		return err_set(err, BERTH_ENOMEM, "store: out of memory");
	}
	s->mode = mode;
	s->opened = now;
	s->lock = LOCKFILE_NONE;
	if (mode == STORE_CREATE && strstr(path, "://") == NULL)
		rc = fileio_mkdirs_for(path, err);
	if (rc == BERTH_OK)
		rc = store_connect(s, mode != STORE_READ, mode == STORE_CREATE, err);
	if (rc == BERTH_OK)
		rc = store_upgrade(s, err);
	if (rc == BERTH_OK)
		rc = store_read_installation(s, err);
	if (rc == BERTH_OK && s->installation[0] == '\0' && mode != STORE_READ) {
		rc = store_install(s, now, err);
		if (rc == BERTH_OK)
			rc = store_read_installation(s, err);
	}
	if (rc != BERTH_OK)
		store_close(s);
	else
		*s_out = s;
	return rc;
}

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	if (s->depth > 0 || s->reading > 0)
		db_rollback(s->db);
	db_close(s->db);
	lockfile_release(&s->lock);
	for (size_t i = 0; i < s->n_sinks; i++)
		free(s->sinks[i]);
	free(s->sinks);
	free(s->sample_sql);
	free(s->path);
	free(s);
}

const char *
store_path(const struct store *s)
{
	return s->path;
}

const char *
store_engine(const struct store *s)
{
	return db_engine(s->db)->name;
}

int
store_version(const struct store *s)
{
	int64_t version;

	return db_engine(s->db)->version(db_conn(s->db), &version, NULL) == BERTH_OK ? (int)version
										     : 0;
}

const char *
store_warning(const struct store *s)
{
	return db_warning(s->db);
}

const char *
store_installation(const struct store *s)
{
	return s->installation;
}

enum berth_code
store_begin(struct store *s, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	if (s->mode == STORE_READ)
		return err_set(err, BERTH_EFAIL, "store %s: was opened for reading", s->path);
	assert(s->reading == 0 || s->depth > 0);
	if (s->depth == 0) {
		rc = db_begin(s->db, true, err);
		s->broken = false;
		s->flow = (struct tier_count){ 0 };
	}
	if (rc == BERTH_OK)
		s->depth++;
	return rc;
}

/* A change of samples that no load has told of gets a row of its own in the log of loads, so that
 * sums agree. */
static enum berth_code
store_flow_told(struct store *s, struct berth_err *err)
{
	const struct load l = { .t = s->opened, .format = "store", .source = "", .digest = "" };

	return tier_count_eq(s->flow, (struct tier_count){ 0 }) ? BERTH_OK
								: store_load_insert(s, &l, err);
}

enum berth_code
store_commit(struct store *s, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	assert(s->depth > 0);
	if (s->depth == 1 && !s->broken)
		rc = store_flow_told(s, err);
	if (rc != BERTH_OK) {
		store_rollback(s);
		return rc;
	}
	if (--s->depth > 0)
		return BERTH_OK;
	if (!s->broken)
		return db_commit(s->db, err);
	db_rollback(s->db);
	return err_set(err, BERTH_EFAIL,
	    "store %s: a part of this step failed, all of it was taken back", s->path);
}

void
store_rollback(struct store *s)
{
	assert(s->depth > 0);
	s->broken = true;
	if (--s->depth == 0)
		db_rollback(s->db);
}

enum berth_code
store_read_begin(struct store *s, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	if (s->depth == 0 && s->reading == 0)
		rc = db_begin(s->db, false, err);
	if (rc == BERTH_OK)
		s->reading++;
	return rc;
}

void
store_read_end(struct store *s)
{
	assert(s->reading > 0);
	if (--s->reading == 0 && s->depth == 0)
		db_rollback(s->db); /* there is nothing to keep */
}

enum berth_code
store_end(struct store *s, enum berth_code rc, struct berth_err *err)
{
	if (rc == BERTH_OK)
		return store_commit(s, err);
	store_rollback(s);
	return rc;
}

enum berth_code
store_met(struct store *s, enum berth_code rc, struct berth_err *err, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	if (rc != BERTH_OK || db_changes(s->db) > 0)
		return rc;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(err, BERTH_ENOTFOUND, "%s", what);
}

enum berth_code
store_write(
    struct store *s, struct berth_err *err, const char *sql, const struct db_val *args, size_t n)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	return store_end(s, db_run(s->db, err, sql, args, n), err);
}

enum berth_code
store_insert(struct store *s, int64_t *id_out, struct berth_err *err, const char *sql,
    const struct db_val *args, size_t n)
{
	enum berth_code rc = store_begin(s, err);
	int64_t id = 0;

	if (rc != BERTH_OK)
		return rc;
	rc = store_end(s, db_insert(s->db, &id, err, sql, args, n), err);
	if (rc == BERTH_OK)
		*id_out = id;
	return rc;
}

enum berth_code
store_each(struct store *s, store_row_fn *fn, void *arg, struct berth_err *err, const char *sql,
    const struct db_val *args, size_t n)
{
	struct db_stmt *st;
	enum berth_code rc;
	bool row = true;

	rc = db_query(s->db, &st, err, sql, args, n);
	while (rc == BERTH_OK && (rc = db_next(st, &row, err)) == BERTH_OK && row)
		rc = fn(st, arg, err);
	db_done(st);
	return rc;
}

enum berth_code
store_lock(struct store *s, const char *name, struct berth_err *err)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s.%s.lock", s->path, name) >= (int)sizeof(path))
		return err_set(err, BERTH_EINVAL, "store: the path is too long: %s", s->path);
	return lockfile_take(path, 0, &s->lock, err);
}

void
store_unlock(struct store *s)
{
	lockfile_release(&s->lock);
}
