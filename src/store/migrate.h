/* src/store/migrate.h - brings a database to the newest schema.  Floor: store, private to it. */
#ifndef BERTH_STORE_MIGRATE_H
#define BERTH_STORE_MIGRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/db.h"
#include "util/err.h"

/* One file of src/store/migrations. Versions are 1, 2 ... without gaps. */
struct migration {
	int version;
	const char *name;
	const char *const *lines; /* ends with NULL */
};

extern const struct migration migrations[]; /* made at build time by embed.awk */
extern const size_t migrations_n;

/*
 * Runs what is missing of list [n], all in one transaction that also sets the version: an upgrade
 * that fails or is killed has not happened. A database that holds something is copied to
 * PATH.before-vN first, N the newest version. Two processes at once: one does it, the other waits.
 * path   where the copy goes; "" (a server) makes none
 * Errors BERTH_EINVAL: the database is newer than the list, or belongs to another program.
 */
BERTH_MUST_CHECK enum berth_code migrate_run(
    struct db *db, const char *path, const struct migration *list, size_t n, struct berth_err *err);
/* BERTH_EINVAL as above; *old_out: versions are missing. Writes nothing. */
BERTH_MUST_CHECK enum berth_code migrate_need(
    struct db *db, const char *path, size_t n, bool *old_out, struct berth_err *err);

#endif
