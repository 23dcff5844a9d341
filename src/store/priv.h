/* src/store/priv.h - what the files of this floor share.  Floor: store, private to it. */
#ifndef BERTH_STORE_PRIV_H
#define BERTH_STORE_PRIV_H

#include "model/job.h"
#include "model/offer.h"
#include "store/db.h"
#include "store/store.h"
#include "store/tier.h"
#include "util/lock.h"

struct store {
	struct db *db;
	char *path;
	char installation[17];
	int64_t run_id;
	enum store_mode mode;
	int depth;   /* of store_begin() */
	int reading; /* of store_read_begin() */
	bool broken; /* an inner transaction was rolled back */
	struct lockfile lock;
	int64_t opened;         /* when, by the caller's clock */
	struct tier_count flow; /* what this transaction has added to the ledger and no row of load
				   tells of yet */
	int64_t as_of_plan;     /* history is read as this plan found it; 0: as it is */
	char *sample_sql;       /* of sample_rows.c, made at its first use */
	char **sinks;           /* [n_sinks] */
	size_t n_sinks;
};

/* The end of every call that writes: commits if rc is BERTH_OK, else rolls back; gives what came of
 * it. */
BERTH_MUST_CHECK enum berth_code store_end(
    struct store *s, enum berth_code rc, struct berth_err *err);
/* rc, or the BERTH_ENOTFOUND of an UPDATE or DELETE that met no row. */
BERTH_MUST_CHECK enum berth_code store_met(struct store *s, enum berth_code rc,
    struct berth_err *err, const char *fmt, ...) BERTH_PRINTF(4, 5);

/* A statement that may write, in a transaction of its own or in the caller's. */
BERTH_MUST_CHECK enum berth_code store_write(
    struct store *s, struct berth_err *err, const char *sql, const struct db_val *args, size_t n);
BERTH_MUST_CHECK enum berth_code store_insert(struct store *s, int64_t *id_out,
    struct berth_err *err, const char *sql, const struct db_val *args,
    size_t n); /* ... RETURNING id */

/* Snapshots as JSON text, lossless; read again by the other. Unknown keys of a newer minor version
 * are left alone. */
BERTH_MUST_CHECK enum berth_code pack_offer(
    const struct offer *o, struct arena *a, const char **text_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code unpack_offer(
    const char *text, struct arena *a, struct offer *o_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pack_spec(
    const struct job_spec *spec, struct arena *a, const char **text_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code unpack_spec(
    const char *text, struct arena *a, struct job_spec *spec_out, struct berth_err *err);

/*
 * for each row of a query: a list function is a query, then this. row_fn copies the current row;
 * BERTH_OK goes on.
 */
typedef enum berth_code store_row_fn(struct db_stmt *st, void *arg, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_each(struct store *s, store_row_fn *fn, void *arg,
    struct berth_err *err, const char *sql, const struct db_val *args, size_t n);

/* Reservation inside the caller's transaction; see store_budget_reserve(). */
struct budget_ask;
BERTH_MUST_CHECK enum berth_code budget_reserve_locked(struct store *s,
    const struct budget_ask *ask, int64_t intent_id, int64_t now, int64_t *id_out,
    struct berth_err *err);

/* Compares what is kept of samples in three ways: steps and buckets, the ledger, the loads. */
BERTH_MUST_CHECK enum berth_code tier_check(
    struct store *s, store_say_fn *say, void *arg, struct berth_err *err);

/* Makes derived tables again; say is told of each difference. fix false: only looks. */
BERTH_MUST_CHECK enum berth_code series_derive(
    struct store *s, bool fix, store_say_fn *say, void *arg, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code fleet_derive(
    struct store *s, bool fix, store_say_fn *say, void *arg, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code capacity_derive(
    struct store *s, bool fix, store_say_fn *say, void *arg, struct berth_err *err);

#endif
