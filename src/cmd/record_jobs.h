/* src/cmd/record_jobs.h - what `record sacct` and `record slurm` share.  Floor: cmd. */
#ifndef BERTH_CMD_RECORD_JOBS_H
#define BERTH_CMD_RECORD_JOBS_H

#include <stdio.h>

#include "cmd/record.h"

struct zin;

/* One export being read. */
struct jobs_file {
	struct record *r;
	const struct record_jobs_opts *o;
	const struct tz *tz;
	const struct accel_table *accels;
	const char *format, *source;
	struct zin *zin; /* that in comes of; NULL: in can be read again */
};

/* All of one stream of sacct's text into the store, or nothing of it. */
BERTH_MUST_CHECK enum berth_code jobs_stream(struct jobs_file *f, FILE *in, struct berth_err *err);
/* What slurmrestd tells of jobs in [from, to), written to out as sacct would print it. o->url is
 * the server. */
BERTH_MUST_CHECK enum berth_code slurmrest_fetch(struct record *r, const struct record_jobs_opts *o,
    int64_t from, int64_t to, FILE *out, struct berth_err *err);

#endif
