/* src/ingest/sacct.h - the text of `sacct -P`, Slurm 20 to 25.  Floor: domain, pure. */
#ifndef BERTH_INGEST_SACCT_H
#define BERTH_INGEST_SACCT_H

#include "ingest/ingest.h"
#include "util/arena.h"
#include "util/tz.h"

struct sacct;

/*
 * A reader that is handed one line after the other; the first that is not empty and no comment (#)
 * is the header. Columns are found by name: JobID or JobIDRaw, Start, AllocTRES, and End, Elapsed
 * or ElapsedRaw must be there; Submit, State, ReqTRES, Timelimit, JobName, User, Account,
 * Partition, QOS, Cluster are used where they are. Steps (JobID with a dot) are counted and left
 * out: they repeat the GPUs of their job. sacct does not escape "|" in free text (JobName, Comment,
 * SubmitLine, WorkDir ...): where a line has more fields than the header, the other columns tell
 * where the text ends. tz  of the times; lives as long as the reader
 */
struct sacct *sacct_new(struct arena *a, const struct tz *tz, const struct ingest_sink *sink);
/*
 * line  [len] without the end of line, line[len] writable; changed
 * BERTH_EINVAL: a header that lacks a column, with all that it has; or what the sink returned.
 */
BERTH_MUST_CHECK enum berth_code sacct_line(
    struct sacct *r, char *line, size_t len, long number, struct berth_err *err);
/* BERTH_EINVAL: there was no header. */
BERTH_MUST_CHECK enum berth_code sacct_end(const struct sacct *r, struct berth_err *err);
int64_t sacct_rows(const struct sacct *r); /* lines behind the header, steps too */
int64_t sacct_steps(const struct sacct *r);

/* The columns that `record slurm` asks sacct for: no free text among them. */
extern const char sacct_columns[];

#endif
