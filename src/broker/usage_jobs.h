/* src/broker/usage_jobs.h - jobs of other schedulers into the store, and the demand series they
 * make.  Floor: broker. */
#ifndef BERTH_BROKER_USAGE_JOBS_H
#define BERTH_BROKER_USAGE_JOBS_H

#include "broker/usage_load.h"
#include "ingest/ingest.h"
#include "store/usage_rows.h"

struct accel_table;

struct usage_jobs_options {
	const char *const *by; /* [n_by] labels; n_by 0: accelerator */
	size_t n_by;
	int64_t step_s;      /* 0: that of the grouping, an hour where it is new */
	int64_t from, to;    /* what the export covers: no job there is no demand; 0: from its first
				job to its last */
	const char *cluster; /* of jobs that name none; "" */
	const char *format, *source;  /* for the log of loads */
	const char *digest, *options; /* as in struct usage_load_options; */
	int64_t now;
	const struct accel_table *accels;
};

struct usage_jobs_counts {
	struct usage_load_counts rows;
	int64_t attempts; /* rows that hold or wait for GPUs */
	int64_t jobs;     /* different ids of those */
	int64_t without_gpus;
};

struct usage_jobs;

/*
 * Takes jobs one by one and stores them by their key, then makes the series of every grouping that
 * the store keeps anew where something changed. From the first jobs on a transaction is open:
 * usage_jobs_end() ends it, all or nothing. set  its targets become the series that were made, for
 * the caller's report.
 */
struct usage_jobs *usage_jobs_new(struct store *s, struct usage_set *set,
    const struct usage_jobs_options *o, usage_say_fn *say, void *arg);
/* A sink's function for jobs; arg is the struct usage_jobs. */
enum berth_code usage_jobs_take(void *arg, const struct ingest_job *job, struct berth_err *err);
/* The digest of the input, which is known once it is read; before usage_jobs_end(). */
void usage_jobs_digest(struct usage_jobs *u, const char *digest);
/* rc not BERTH_OK: rolls back, and gives rc. read: for the log of loads. */
BERTH_MUST_CHECK enum berth_code usage_jobs_end(struct usage_jobs *u, enum berth_code rc,
    const struct usage_counts *read, struct usage_jobs_counts *counts_out, struct berth_err *err);
void usage_jobs_free(struct usage_jobs *u); /* NULL is fine; rolls back what is open */

/*
 * Makes the series of all groupings again in span. added: a grouping that is new, made from the
 * first job on; NULL none. Names of series and their times are put in set.
 */
BERTH_MUST_CHECK enum berth_code usage_demand_make(struct store *s, struct usage_set *set,
    struct usage_span span, const char *added, struct berth_err *err);

#endif
