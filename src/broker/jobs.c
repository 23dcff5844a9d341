/* Ends of attempts, each with the job's next state. */
#include <string.h>

#include "broker/broker.h"
#include "broker/decide.h"
#include "broker/late.h"
#include "store/idling_rows.h"
#include "store/job_rows.h"

enum berth_code
job_attempt_open(struct broker *b, const char *job_id, int64_t instance_id, struct attempt *at_out,
    struct berth_err *err)
{
	struct attempt *ats;
	enum berth_code rc;
	size_t n;

	rc = store_attempt_list(b->store, job_id, b->tick_arena, &ats, &n, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = n; i-- > 0;) {
		if (ats[i].instance_id == instance_id && ats[i].ended == 0) {
			*at_out = ats[i];
			return BERTH_OK;
		}
	}
	return err_set(err, BERTH_ENOTFOUND, "%s has no open attempt on instance %lld", job_id,
	    (long long)instance_id);
}

static const char *
job_end_event(enum attempt_state s)
{
	switch (s) {
	case ATTEMPT_DONE:
		return "job.done";
	case ATTEMPT_PREEMPTED:
		return "job.preempted";
	case ATTEMPT_REJECTED:
		return "job.probe_rejected";
	case ATTEMPT_FAILED:
		return "job.attempt_failed";
	case ATTEMPT_CANCELLED:
		return "job.cancelled";
	case ATTEMPT_NO_CAPACITY:
		return "job.no_capacity";
	case ATTEMPT_MOVED:
		return "job.moved";
	case ATTEMPT_PROVISIONING:
	case ATTEMPT_PROBING:
	case ATTEMPT_RUNNING:
	case ATTEMPT_STATE_COUNT:
		break;
	}
	return "job.attempt_ended";
}

/* The state that follows: done, failed for good, or back in the queue. */
static void
job_next(struct job *job, const struct attempt_end *end, int64_t now)
{
	job->progress = end->progress;
	job->reason = end->reason;
	if (end->state == ATTEMPT_DONE) {
		job->state = JOB_DONE;
		job->finished = now;
		return;
	}
	if (end->over) {
		job->state = JOB_CANCELLED;
		job->finished = now;
		return;
	}
	if (end->state == ATTEMPT_PREEMPTED)
		job->preemptions++;
	if (end->counts)
		job->tries++;
	job->state = end->counts && job->tries > job->spec.retries ? JOB_FAILED : JOB_QUEUED;
	if (job->state == JOB_FAILED)
		job->finished = now;
}

/* The attempts of a gang end together: what took one machine has ended the work on all. */
static enum berth_code
job_attempts_end(struct broker *b, const struct attempt *first, struct berth_err *err)
{
	struct attempt *ats;
	enum berth_code rc;
	size_t n;

	rc = store_attempt_list(b->store, first->job_id, b->tick_arena, &ats, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (ats[i].ended != 0 || ats[i].id == first->id)
			continue;
		ats[i].state = first->state;
		ats[i].ended = first->ended;
		ats[i].progress_end = first->progress_end;
		ats[i].reason =
		    first->state == ATTEMPT_DONE
			? first->reason
			: arena_printf(b->tick_arena, "with instance %lld of its gang: %s",
			      (long long)first->instance_id, first->reason);
		rc = store_attempt_update(b->store, &ats[i], err);
	}
	return rc;
}

static enum berth_code
job_attempt_end_rows(struct broker *b, const char *job_id, int64_t instance_id,
    const struct attempt_end *end, struct berth_err *err)
{
	struct instance in;
	struct attempt at;
	enum berth_code rc;
	struct job job;
	bool changed;

	rc = job_attempt_open(b, job_id, instance_id, &at, err);
	if (rc == BERTH_ENOTFOUND) /* ended before: a repeated pass changes nothing */
		return BERTH_OK;
	if (rc == BERTH_OK)
		rc = store_job_get(b->store, job_id, b->tick_arena, &job, err);
	if (rc == BERTH_OK)
		rc = store_instance_get(b->store, instance_id, b->tick_arena, &in, err);
	if (rc != BERTH_OK)
		return rc;
	at.state = end->state;
	at.ended = b->now;
	at.progress_end = end->progress;
	at.reason = end->reason;
	rc = store_attempt_update(b->store, &at, err);
	if (rc == BERTH_OK)
		rc = job_attempts_end(b, &at, err);
	if (rc == BERTH_OK)
		rc = store_idling_delete(b->store, job_id, err);
	changed = rc == BERTH_OK && (job.state == JOB_PLACED || job.state == JOB_RUNNING);
	if (changed) {
		job_next(&job, end, b->now);
		if (job.state == JOB_DONE)
			rc = late_missed(b, &job, &in, err);
	}
	if (rc == BERTH_OK && changed)
		rc = store_job_update(
		    b->store, &job, JOB_BIT(JOB_PLACED) | JOB_BIT(JOB_RUNNING), err);
	if (rc == BERTH_OK)
		rc = broker_event(b, err, job_end_event(end->state), job_id, job_id, &in,
		    "%s (%.1f %% of the work is safe)", end->reason, 100.0 * end->progress);
	if (rc == BERTH_OK && job.state == JOB_FAILED)
		rc = broker_event(b, err, "job.failed", job_id, job_id, &in,
		    "%d of %d tries used up: %s", job.tries, job.spec.retries + 1, end->reason);
	if (rc == BERTH_OK && end->state == ATTEMPT_PREEMPTED && job.state == JOB_QUEUED)
		preempt_note(b, job_id, &in, end);
	return rc;
}

enum berth_code
job_attempt_end(struct broker *b, const char *job_id, int64_t instance_id,
    const struct attempt_end *end, struct berth_err *err)
{
	enum berth_code rc;

	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = job_attempt_end_rows(b, job_id, instance_id, end, err);
	if (rc != BERTH_OK) {
		store_rollback(b->store);
		return rc;
	}
	return store_commit(b->store, err);
}
