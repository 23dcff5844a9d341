/* The queue as a tick takes it up: who is ready, who waits for whom, and whom to have in view. */
#include <string.h>

#include "broker/late.h"
#include "broker/provision.h"
#include "broker/waiting.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

/* Where the deadline of a job that waits is lost, as those before it go: why, and what would help.
 */
static void
after_late(struct broker *b, const struct placing_outlook *v, struct waiting_fate *f)
{
	char by[TIME_FMT_SIZE], starts[TIME_FMT_SIZE], ends[TIME_FMT_SIZE], latest[TIME_FMT_SIZE];
	const struct job *j = v->job;

	time_fmt(by, j->spec.deadline);
	if (v->never) {
		f->more = arena_printf(b->tick_arena, "so its deadline of %s is lost", by);
		f->help = arena_printf(b->tick_arena,
		    "`berth job retry` of the one that failed before it, or to submit it without "
		    "waiting for %s",
		    f->subject);
		return;
	}
	time_fmt(starts, v->starts);
	time_fmt(ends, v->ends);
	f->until = v->ends;
	f->more = arena_printf(b->tick_arena,
	    "%s ends at %s at the soonest, so that it would end at %s on %s, after its deadline of "
	    "%s",
	    v->before[0] != '\0' ? v->before : f->subject, starts, ends, v->offer, by);
	f->help = v->by > b->now
		      ? arena_printf(b->tick_arena,
			    "a deadline of %s or later (`berth job deadline %s %s`), or an end of "
			    "%s by %s, would keep it",
			    ends, j->id, ends, f->subject, time_fmt(latest, v->by))
		      : arena_printf(b->tick_arena,
			    "a deadline of %s or later would keep it (`berth job deadline %s %s`)",
			    ends, j->id, ends);
}

/*
 * A job that needs the output of another waits until that is done; *ready_out: it need not wait. v:
 * what becomes of its deadline; NULL: it has none that can still be kept. That it is lost is told
 * once in all the time that it waits.
 */
static enum berth_code
provision_after(struct broker *b, struct job *job, const struct placing_outlook *v, bool *ready_out,
    struct berth_err *err)
{
	const char *after = job->spec.after, *reason;
	struct job before;
	struct waiting_fate f = { .rule = WAITING_AFTER,
		.subject = after,
		.state = "",
		.said = "",
		.late = "",
		.more = "",
		.help = "" };
	unsigned told = job->marks & (unsigned)JOB_MARK_LATE;
	enum berth_code rc;

	*ready_out = after == NULL || after[0] == '\0';
	if (*ready_out)
		return BERTH_OK;
	rc = store_job_get(b->store, after, b->tick_arena, &before, err);
	if (rc != BERTH_OK && rc != BERTH_ENOTFOUND)
		return rc;
	*ready_out = rc == BERTH_OK && before.state == JOB_DONE;
	if (*ready_out)
		return BERTH_OK;
	if (rc == BERTH_OK)
		f.state = job_state_name(before.state);
	if (v != NULL && (v->late || v->never))
		after_late(b, v, &f);
	reason = waiting_add_fate(b->waits, job, NULL, &f)->reason;
	if (f.more[0] == '\0' || told != 0)
		return provision_reason(b, job, reason, told, err);
	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = broker_event(
	    b, err, "job.deadline_at_risk", job->id, job->id, NULL, "%s; %s", reason, f.help);
	if (rc == BERTH_OK)
		rc = provision_reason(b, job, reason, JOB_MARK_LATE, err);
	if (rc == BERTH_OK)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}

/* Of queued jobs [n] those that wait for others and have a deadline ahead: at [n] is SIZE_MAX, or
 * an index into *out. */
static enum berth_code
provision_outlook(struct broker *b, const struct placing_options *o, const struct job *jobs,
    size_t n, size_t *at, struct placing_outlook **out, struct berth_err *err)
{
	struct placing_outlook *v = *out = arena_array_of(b->tick_arena, n, struct placing_outlook);
	enum berth_code rc = BERTH_OK;
	size_t k = 0;

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const char *after = jobs[i].spec.after;
		struct job before;

		at[i] = SIZE_MAX;
		if (after == NULL || after[0] == '\0' || jobs[i].spec.deadline <= b->now)
			continue;
		rc = store_job_get(b->store, after, b->tick_arena, &before, err);
		if (rc == BERTH_OK && before.state != JOB_DONE) {
			v[k].job = &jobs[i];
			at[i] = k++;
		}
		if (rc == BERTH_ENOTFOUND)
			rc = BERTH_OK;
	}
	return rc == BERTH_OK && k > 0
		   ? placing_outlooks(b->store, b->accels, o, v, k, b->tick_arena, err)
		   : rc;
}

void
provision_unknown(struct broker *b, const struct job *job)
{
	bool told = (job->marks & JOB_MARK_LAUNCH_UNKNOWN) != 0;

	(void)waiting_add_fate(b->waits, job, NULL,
	    &(struct waiting_fate){ .rule = WAITING_LAUNCH_UNKNOWN,
		.subject = "",
		.state = "",
		.said = told ? job->reason : "",
		.late = "" });
}

enum berth_code
provision_queue(struct broker *b, const char ***ids_out, size_t *n_out, struct placing_options *o,
    struct berth_err *err)
{
	struct job_query q = { .states = JOB_BIT(JOB_QUEUED) };
	struct intent *its;
	struct job *jobs;
	enum berth_code rc;
	size_t n, n_its, k = 0, *look;
	const char **ids;
	struct placing_outlook *outlook = NULL;

	rc = store_job_list(b->store, &q, b->tick_arena, &jobs, &n, err);
	if (rc == BERTH_OK)
		rc = store_intent_pending(b->store, b->tick_arena, &its, &n_its, err);
	if (rc != BERTH_OK)
		return rc;
	ids = arena_array_of(b->tick_arena, n, const char *);
	look = arena_array_of(b->tick_arena, n, size_t);
	rc = provision_outlook(b, o, jobs, n, look, &outlook, err);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		bool out = false, ready = true;

		rc = late_missed_open(b, &jobs[i], NULL, err);
		for (size_t j = 0; j < n_its && !out; j++)
			out =
			    its[j].kind == INTENT_CREATE && strcmp(its[j].job_id, jobs[i].id) == 0;
		if (out)
			provision_unknown(b, &jobs[i]);
		else if (rc == BERTH_OK)
			rc = provision_after(b, &jobs[i],
			    look[i] == SIZE_MAX ? NULL : &outlook[look[i]], &ready, err);
		if (!out && ready)
			ids[k++] = jobs[i].id;
	}
	placing_view(jobs, n, ids, rc == BERTH_OK ? k : 0, b->tick_arena, o);
	*ids_out = ids;
	*n_out = k;
	return rc;
}

enum berth_code
provision_reason(
    struct broker *b, struct job *job, const char *reason, unsigned marks, struct berth_err *err)
{
	struct job now;
	enum berth_code rc;

	marks |= job->marks & JOB_MARK_MISSED;
	if (strcmp(job->reason, reason) == 0 && job->marks == marks)
		return BERTH_OK;
	job->reason = reason;
	job->marks = marks;
	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = store_job_get(b->store, job->id, b->tick_arena, &now, err);
	if (rc == BERTH_OK && now.state == JOB_QUEUED) /* else somebody has moved it meanwhile */
		rc = store_job_update(b->store, job, JOB_BIT(JOB_QUEUED), err);
	if (rc == BERTH_OK)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}
