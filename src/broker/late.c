/* Deadlines that are lost on a machine, or have passed: what is told of them, and how often a job
 * may leave a machine for them. */
#include <math.h>

#include "broker/gang.h"
#include "broker/late.h"
#include "store/job_rows.h"
#include "util/str.h"
#include "util/time.h"

#define LATE_MOVES 2        /* machines that a job leaves as too slow ... */
#define LATE_WINDOW_S 86400 /* ... in so long: the next is taken as it is */

void
late_pace(struct broker *b, const char *job_id, double progress, bool fresh)
{
	struct pace *p = arena_alloc(b->tick_arena, sizeof(*p));

	*p = (struct pace){ .job_id = arena_strdup(b->tick_arena, job_id),
		.progress = progress,
		.fresh = fresh,
		.next = b->paces };
	b->paces = p;
}

void
late_move(struct broker *b, const struct job *job, const struct instance *in, const struct gang *g,
    bool runs, struct placing_move *out)
{
	*out = (struct placing_move){
		.job = job, .in = in, .runs = runs, .speed = in->speed, .told = NAN
	};
	for (size_t i = 0; i < g->n; i++) /* a gang goes as fast as its slowest */
		out->speed = fmin(out->speed, g->m[i].in.speed);
	for (const struct pace *p = b->paces; runs && p != NULL; p = p->next) {
		if (!str_eq(p->job_id, job->id))
			continue;
		out->told = p->progress;
		out->fresh = p->fresh;
		return;
	}
}

enum berth_code
late_cap(struct broker *b, struct placing_move *m, struct berth_err *err)
{
	struct instance *ins = NULL;
	size_t n = 0, left = 0;
	enum berth_code rc =
	    store_instance_lives(b->store, b->now - LATE_WINDOW_S, b->tick_arena, &ins, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		left += str_eq(ins[i].job_id, m->job->id) &&
			str_eq(ins[i].end_reason, INSTANCE_TOO_SLOW);
	if (left >= LATE_MOVES)
		m->move = m->slow = false;
	return rc;
}

/* The deadline is that of a job which waits for it: that one is told of too, once. */
static enum berth_code
late_tell_behind(struct broker *b, const struct placing_move *m, struct berth_err *err)
{
	char ends[TIME_FMT_SIZE], by[TIME_FMT_SIZE], lost[TIME_FMT_SIZE];
	struct job job;
	enum berth_code rc;

	if (m->by_of[0] == '\0')
		return BERTH_OK;
	rc = store_job_get(b->store, m->by_of, b->tick_arena, &job, err);
	if (rc != BERTH_OK || job.state != JOB_QUEUED ||
	    (job.marks & (JOB_MARK_LATE | JOB_MARK_MISSED)) != 0)
		return rc;
	job.marks |= JOB_MARK_LATE;
	rc = broker_event(b, err, "job.deadline_at_risk", job.id, job.id, m->in,
	    "%s (%s) before it is expected to end at %s, on a machine that does %.0f %% of its "
	    "rating, and by %s it would have to for the deadline of %s",
	    m->job->spec.name, m->job->id, time_fmt(ends, m->ends), 100 * m->speed,
	    time_fmt(by, m->by), time_fmt(lost, job.spec.deadline));
	return rc == BERTH_OK ? store_job_update(b->store, &job, JOB_BIT(JOB_QUEUED), err) : rc;
}

enum berth_code
late_tell(struct broker *b, const struct placing_move *m, struct berth_err *err)
{
	char ends[TIME_FMT_SIZE], by[TIME_FMT_SIZE];
	struct job job;
	enum berth_code rc = store_job_get(b->store, m->job->id, b->tick_arena, &job, err);

	if (rc != BERTH_OK || (job.marks & JOB_MARK_AT_RISK) != 0)
		return rc;
	job.marks |= JOB_MARK_AT_RISK;
	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = broker_event(b, err, "job.deadline_at_risk", job.id, job.id, m->in,
	    "it is expected to end at %s, and %s is %s: its machine does %.0f %% of its rating, "
	    "and "
	    "it may go to none that keeps it",
	    time_fmt(ends, m->ends), m->by_text, time_fmt(by, m->by), 100 * m->speed);
	if (rc == BERTH_OK)
		rc = store_job_update(
		    b->store, &job, JOB_BIT(JOB_PLACED) | JOB_BIT(JOB_RUNNING), err);
	if (rc == BERTH_OK)
		rc = late_tell_behind(b, m, err);
	if (rc == BERTH_OK)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}

enum berth_code
late_missed(struct broker *b, struct job *job, const struct instance *in, struct berth_err *err)
{
	char by[TIME_FMT_SIZE];

	if (!job_missed(job, b->now) || (job->marks & JOB_MARK_MISSED) != 0)
		return BERTH_OK;
	job->marks |= JOB_MARK_MISSED;
	if (job->state == JOB_DONE)
		return broker_event(b, err, "job.deadline_missed", job->id, job->id, in,
		    "done, %.0f min after its deadline of %s",
		    ceil((double)(job->finished - job->spec.deadline) / 60),
		    time_fmt(by, job->spec.deadline));
	return broker_event(b, err, "job.deadline_missed", job->id, job->id, in,
	    "its deadline of %s has passed; it is %s, %.1f %% of the work is safe",
	    time_fmt(by, job->spec.deadline), job_state_name(job->state), 100 * job->progress);
}

enum berth_code
late_missed_open(
    struct broker *b, struct job *job, const struct instance *in, struct berth_err *err)
{
	enum berth_code rc;

	if (!job_missed(job, b->now) || (job->marks & JOB_MARK_MISSED) != 0)
		return BERTH_OK;
	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = late_missed(b, job, in, err);
	if (rc == BERTH_OK)
		rc = store_job_update(b->store, job, JOB_OPEN, err);
	if (rc == BERTH_OK)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}
