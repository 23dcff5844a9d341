/* src/store/store.h - the store: open, transactions, runs, upkeep.  Floor: store.
 *
 * Conventions of all src/store headers: texts and arrays that a call returns live in the arena it
 * is given and stay after the store is closed; out-params are written on BERTH_OK only; times are s
 * since the epoch, UTC. A call that writes does so in a transaction of its own, or inside the
 * caller's (store_begin). Errors of every call, not repeated below: BERTH_ETRANSIENT the store was
 * busy for 60 s, BERTH_EIO disk full, read-only or failing, BERTH_EINVAL damaged.
 */
#ifndef BERTH_STORE_STORE_H
#define BERTH_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h"
#include "util/arena.h"
#include "util/err.h"

struct store;

enum store_mode {
	STORE_READ,  /* writes are refused; must exist */
	STORE_WRITE, /* must exist */
	STORE_CREATE /* made, with its directory (0700) and file (0600), if it does not exist */
};

/*
 * Opens a store. An older one is copied to PATH.before-vN and upgraded, in STORE_READ too.
 * path   file name, ":memory:" (with STORE_CREATE: gone at the end), or a postgresql:// URL
 * (BERTH_EUSAGE where that engine is not built in) now    stamps what the opening writes
 * (installation, migrations) Errors BERTH_ENOTFOUND (names `berth init`), BERTH_EINVAL: not a berth
 * store, or made by a newer berth (names both versions).
 */
BERTH_MUST_CHECK enum berth_code store_open(const char *path, enum store_mode mode, int64_t now,
    struct store **s_out, struct berth_err *err);
/* Rolls back what is open. NULL is fine. */
void store_close(struct store *s);
const char *store_path(const struct store *s);
const char *store_engine(const struct store *s); /* "sqlite" */
int store_version(const struct store *s);        /* of the schema */
/* What the user should know about this store ("on a network file system ..."); "" nothing. */
const char *store_warning(const struct store *s);
/* 16 hex digits, random, made with the store: the tag of every machine that is ours. */
const char *store_installation(const struct store *s);

/*
 * Transactions nest: only the outermost pair does work, and a store_rollback() inside makes the
 * outer commit fail with BERTH_EFAIL. store_begin() takes the write lock at once (waits up to 60
 * s); nothing between begin and commit may wait for a network or a person. A killed process leaves
 * all or nothing of a transaction.
 */
BERTH_MUST_CHECK enum berth_code store_begin(struct store *s, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_commit(struct store *s, struct berth_err *err);
void store_rollback(struct store *s);
/*
 * What is read between these two is of one instant, whatever others write meanwhile. Nothing may be
 * written in between, unless a store_begin() is around them, whose they are then. They nest, and
 * are to be short.
 */
BERTH_MUST_CHECK enum berth_code store_read_begin(struct store *s, struct berth_err *err);
void store_read_end(struct store *s);

/*
 * Only one run at a time does a pass: BERTH_ELOCKED if another holds the lock. Freed by
 * store_unlock(), store_close() or the end of the process. name: "tick"
 */
BERTH_MUST_CHECK enum berth_code store_lock(
    struct store *s, const char *name, struct berth_err *err);
void store_unlock(struct store *s);

/*
 * Runs: facts written between begin and end carry the run's id. args are the words of the command
 * line; values of options whose name holds token, secret, password or key are replaced by "***" all
 * the same.
 */
BERTH_MUST_CHECK enum berth_code store_run_begin(struct store *s, const char *verb,
    const char *const *args, size_t n_args, int64_t now, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_run_end(
    struct store *s, int exit_status, int64_t now, struct berth_err *err);
int64_t store_run_id(const struct store *s); /* 0: none begun */
/* s between the last runs of the verb, their median, those over a day left out; 0: not known. */
BERTH_MUST_CHECK enum berth_code store_run_gap(
    struct store *s, const char *verb, int64_t *gap_out, struct berth_err *err);
/* Newest first. */
BERTH_MUST_CHECK enum berth_code store_run_list(struct store *s, size_t limit, struct arena *a,
    struct run **runs_out, size_t *n_out, struct berth_err *err);

/* Upkeep: `berth store ...` */
typedef void store_say_fn(void *arg, const char *what);
/* Structure, foreign keys, and whether derived columns and tables agree with their facts; say is
 * called for each fault. */
BERTH_MUST_CHECK enum berth_code store_check(
    struct store *s, store_say_fn *say, void *arg, size_t *faults_out, struct berth_err *err);
/* A consistent copy while others write; BERTH_EINVAL if path exists. */
BERTH_MUST_CHECK enum berth_code store_backup(
    struct store *s, const char *path, struct berth_err *err);
/* Computes everything derived again from the facts; says what had been wrong. */
BERTH_MUST_CHECK enum berth_code store_rebuild(
    struct store *s, store_say_fn *say, void *arg, struct berth_err *err);
/* Tables by name, in the order that foreign keys allow to load them. */
BERTH_MUST_CHECK enum berth_code store_tables(struct store *s, struct arena *a,
    const char *const **names_out, int64_t **rows_out, size_t *n_out, struct berth_err *err);
/* One table, each row as one line of JSON (keys in column order) handed to line. BERTH_ENOTFOUND:
 * no such table. */
typedef enum berth_code store_line_fn(
    void *arg, const char *json, size_t len, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_export(
    struct store *s, const char *table, store_line_fn *line, void *arg, struct berth_err *err);

#endif
