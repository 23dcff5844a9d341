/* src/ingest/slurmrest.h - answers of slurmrestd's accounting as the text of sacct.  Floor: domain,
 * pure. */
#ifndef BERTH_INGEST_SLURMREST_H
#define BERTH_INGEST_SLURMREST_H

#include <stdint.h>

#include "util/buf.h"

#define SLURMREST_OLDEST 38 /* v0.0.38, Slurm 22.05 */
#define SLURMREST_NEWEST 44 /* v0.0.44, Slurm 25.11 */

struct slurmrest;

/* Reads the answers to one question, asked window by window, in order. */
struct slurmrest *slurmrest_new(void);
void slurmrest_free(struct slurmrest *s); /* NULL is fine */
/* The header of what slurmrest_read() writes: sacct_columns, with "|" between. */
void slurmrest_header(struct buf *out);
/*
 * The answer of GET /slurmdb/v0.0.N/jobs, N from SLURMREST_OLDEST to SLURMREST_NEWEST, to out: a
 * line for each job as `sacct -P -D -X` prints it with its clock set to UTC, without steps.
 * "Nothing found" is an answer without jobs. until   end of the window asked for: a job that lasts
 * longer comes with the next window as well, and is left out there name    of the server, for
 * messages Errors: BERTH_EAUTH, BERTH_EINVAL: the answer tells of an error; BERTH_EINVAL also: no
 * such answer.
 */
BERTH_MUST_CHECK enum berth_code slurmrest_read(struct slurmrest *s, const char *bytes, size_t n,
    const char *name, int64_t until, struct buf *out, int64_t *jobs_out, struct berth_err *err);

#endif
