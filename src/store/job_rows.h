/* src/store/job_rows.h - jobs and their attempts.  Floor: store. */
#ifndef BERTH_STORE_JOB_ROWS_H
#define BERTH_STORE_JOB_ROWS_H

#include "model/job.h"
#include "store/store.h"

#define JOB_BIT(state) (1U << (unsigned)(state))
#define JOB_OPEN (JOB_BIT(JOB_QUEUED) | JOB_BIT(JOB_PLACED) | JOB_BIT(JOB_RUNNING))

/*
 * Writes a new job; every field of the spec is kept. id_out: "j-" and 10 characters of [0-9a-z],
 * sorts by submission. job->id, state, cost and the like are ignored: a new job is queued, at
 * progress 0, with cost 0.
 */
BERTH_MUST_CHECK enum berth_code store_job_insert(struct store *s, const struct job_spec *spec,
    int64_t now, struct arena *a, const char **id_out, struct berth_err *err);
/* By id, else by name (the only open job of that name, else the newest that has ended), else by an
 * unambiguous beginning of the id. BERTH_ENOTFOUND; BERTH_EINVAL: it could be several (names them).
 */
BERTH_MUST_CHECK enum berth_code store_job_get(
    struct store *s, const char *id, struct arena *a, struct job *job_out, struct berth_err *err);

struct job_query {
	unsigned states;            /* JOB_BIT()s; 0: all */
	const char *user, *project; /* NULL: any */
	int64_t since;              /* submitted at or after; 0: any */
	size_t limit;               /* newest so many; 0: all */
};
/* By priority (higher first), then time of submission, then id. q NULL: all. */
BERTH_MUST_CHECK enum berth_code store_job_list(struct store *s, const struct job_query *q,
    struct arena *a, struct job **jobs_out, size_t *n_out, struct berth_err *err);
/*
 * Writes state, reason, progress, started, finished, tries, preemptions and cost of job->id, if its
 * state is still one of `from` (JOB_BIT()s; 0: any). BERTH_ENOTFOUND; BERTH_ETRANSIENT: another run
 * has moved it (names both states).
 */
BERTH_MUST_CHECK enum berth_code store_job_update(
    struct store *s, const struct job *job, unsigned from, struct berth_err *err);

/*
 * Another deadline for an open job, 0: none; what was told of the old one may be told of the new
 * one. BERTH_ENOTFOUND; BERTH_EINVAL: it has ended.
 */
BERTH_MUST_CHECK enum berth_code store_job_deadline(
    struct store *s, const char *id, int64_t deadline, struct berth_err *err);

/* id is ignored and given back. */
BERTH_MUST_CHECK enum berth_code store_attempt_insert(
    struct store *s, const struct attempt *at, int64_t *id_out, struct berth_err *err);
/* Writes instance_id, state, ended, progress_end and reason. */
BERTH_MUST_CHECK enum berth_code store_attempt_update(
    struct store *s, const struct attempt *at, struct berth_err *err);
/* Oldest first. job_id NULL: of all jobs. */
BERTH_MUST_CHECK enum berth_code store_attempt_list(struct store *s, const char *job_id,
    struct arena *a, struct attempt **attempts_out, size_t *n_out, struct berth_err *err);

/* Machines that a job holds now. */
struct job_nodes {
	const char *job_id;
	int up;     /* that run, or are about to be taken back */
	int wanted; /* of all that belong together; 1: it is no gang */
};
/* By job id; job_id NULL: of all jobs that hold any. */
BERTH_MUST_CHECK enum berth_code store_job_nodes(struct store *s, const char *job_id,
    struct arena *a, struct job_nodes **nodes_out, size_t *n_out, struct berth_err *err);

/* Accelerators that an attempt held. */
struct attempt_use {
	const char *job_id, *user, *project;
	int64_t from, until; /* until 0: it holds them still */
	double progress_start;
	int gpus;
};
/* Attempts with a machine that began before `now` and held it after `since`, oldest first. */
BERTH_MUST_CHECK enum berth_code store_attempt_uses(struct store *s, int64_t since, int64_t now,
    struct arena *a, struct attempt_use **uses_out, size_t *n_out, struct berth_err *err);

#endif
