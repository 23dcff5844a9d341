#include <stdio.h>

#include "store/migrate.h"
#include "util/buf.h"

#define MIGRATE_SQL_MAX ((size_t)1024 * 1024)

enum berth_code
migrate_need(struct db *db, const char *path, size_t n, bool *old_out, struct berth_err *err)
{
	enum berth_code rc;
	int64_t version;

	rc = db_engine(db)->version(db_conn(db), &version, err);
	if (rc != BERTH_OK)
		return rc;
	if (version > (int64_t)n)
		return err_set(err, BERTH_EINVAL,
		    "store %s: has version %lld, made by a newer berth; this one knows versions up "
		    "to %zu. Upgrade berth; nothing was changed",
		    path, (long long)version, n);
	*old_out = version < (int64_t)n;
	return BERTH_OK;
}

static enum berth_code
migrate_one(struct db *db, const struct migration *m, struct berth_err *err)
{
	enum berth_code rc;
	struct buf sql;

	buf_init(&sql, MIGRATE_SQL_MAX);
	for (size_t i = 0; m->lines[i] != NULL; i++)
		buf_add_str(&sql, m->lines[i]);
	rc = buf_check(&sql, m->name, err);
	if (rc == BERTH_OK)
		rc = db_exec(db, sql.p, err);
	if (rc == BERTH_OK)
		rc = db_engine(db)->set_version(db_conn(db), m->version, err);
	if (rc != BERTH_OK)
		err_ctx(err, "migration %s", m->name);
	buf_free(&sql);
	return rc;
}

/* Under the write lock, so that of several processes one copies and upgrades, and the others find
 * it done. */
static enum berth_code
migrate_locked(
    struct db *db, const char *path, const struct migration *list, size_t n, struct berth_err *err)
{
	enum berth_code rc;
	int64_t version;
	char copy[4096];

	rc = db_engine(db)->version(db_conn(db), &version, err);
	if (rc == BERTH_OK && version > 0 && version < (int64_t)n && path[0] != '\0') {
		snprintf(copy, sizeof(copy), "%s.before-v%zu", path, n);
		rc = db_engine(db)->copy(db_conn(db), copy, err);
	}
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (list[i].version > version)
			rc = migrate_one(db, &list[i], err);
	return rc;
}

enum berth_code
migrate_run(
    struct db *db, const char *path, const struct migration *list, size_t n, struct berth_err *err)
{
	enum berth_code rc;

	rc = db_begin(db, true, err);
	if (rc != BERTH_OK)
		return rc;
	rc = migrate_locked(db, path, list, n, err);
	if (rc == BERTH_OK)
		return db_commit(db, err);
	db_rollback(db);
	return rc;
}
