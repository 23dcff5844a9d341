/* Ends of attempts, each with the job's next state. */
#include <string.h>

#include "broker/broker.h"
#include "broker/decide.h"
#include "broker/gang.h"
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

/* The work on the others has ended too, and begins again on the same machines. */
static enum berth_code
job_attempts_renew(struct broker *b, const struct job *job, const struct attempt *first,
    const struct gang *g, struct berth_err *err)
{
	enum berth_code rc = job_attempts_end(b, first, err);

	for (size_t i = 0; rc == BERTH_OK && i < g->n; i++) {
		struct attempt at = { .job_id = job->id,
			.instance_id = g->m[i].in.id,
			.state = ATTEMPT_PROVISIONING, /* until its old work is stopped */
			.started = b->now,
			.progress_start = first->progress_end,
			.progress_end = first->progress_end,
			.reason = "" };

		if (g->m[i].open && g->m[i].in.id != first->instance_id)
			rc = store_attempt_insert(b->store, &at, &at.id, err);
	}
	return rc;
}

/* One machine of a gang is lost: the others are kept for another in its place. */
static enum berth_code
job_node_lost(struct broker *b, struct job *job, struct attempt *at, const struct instance *in,
    const struct gang *g, const struct attempt_end *end, struct berth_err *err)
{
	size_t rank = 0;
	enum berth_code rc;

	while (rank + 1 < g->n && g->m[rank].in.id != in->id)
		rank++;
	rc = store_attempt_update(b->store, at, err);
	if (rc == BERTH_OK && job->state == JOB_RUNNING)
		rc = job_attempts_renew(b, job, at, g, err);
	if (rc == BERTH_OK)
		rc = store_idling_delete(b->store, job->id, err);
	if (rc != BERTH_OK)
		return rc;
	job->state = JOB_PLACED;
	job->progress = end->progress;
	job->preemptions += end->state == ATTEMPT_PREEMPTED;
	job->reason = arena_printf(b->tick_arena,
	    "%zu of %zu machines: that of rank %zu is lost (%s), the others wait up to %lld min "
	    "for one in its place",
	    g->open - 1, g->n, rank, end->reason, (long long)(job->spec.replace_lost_s + 59) / 60);
	rc = store_job_update(b->store, job, JOB_BIT(JOB_PLACED) | JOB_BIT(JOB_RUNNING), err);
	return rc == BERTH_OK
		   ? broker_event(b, err, "job.node_lost", job->id, job->id, in,
			 "%s (%.1f %% of the work is safe)", job->reason, 100 * job->progress)
		   : rc;
}

static enum berth_code
job_attempt_end_rows(struct broker *b, const char *job_id, int64_t instance_id,
    const struct attempt_end *end, struct berth_err *err)
{
	struct instance in;
	struct attempt at;
	struct gang g = { .n = 0 };
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
	if (rc == BERTH_OK && end->alone && job.spec.replace_lost_s > 0)
		rc = gang_load(b, in.intent_id, job_id, &g, err);
	if (rc != BERTH_OK)
		return rc;
	at.state = end->state;
	at.ended = b->now;
	at.progress_end = end->progress;
	at.reason = end->reason;
	if (g.open > 1 && !g.refused && (job.state == JOB_PLACED || job.state == JOB_RUNNING))
		return job_node_lost(b, &job, &at, &in, &g, end, err);
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
