/* The queue as a tick takes it up: who is ready, who waits for whom, and whom to have in view. */
#include <string.h>

#include "broker/late.h"
#include "broker/provision.h"
#include "broker/waiting.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/str.h"

/* A job that needs the output of another waits until that is done; *ready_out: it need not wait. */
static enum berth_code
provision_after(struct broker *b, struct job *job, bool *ready_out, struct berth_err *err)
{
	const char *after = job->spec.after;
	struct job before;
	struct waiting_fate f = {
		.rule = WAITING_AFTER, .subject = after, .state = "", .said = "", .late = ""
	};
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
	return provision_reason(b, job, waiting_add_fate(b->waits, job, NULL, &f)->reason, 0, err);
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
	size_t n, n_its, k = 0, *behind;
	const char **ids, **in_view;

	rc = store_job_list(b->store, &q, b->tick_arena, &jobs, &n, err);
	if (rc == BERTH_OK)
		rc = store_intent_pending(b->store, b->tick_arena, &its, &n_its, err);
	if (rc != BERTH_OK)
		return rc;
	ids = arena_array_of(b->tick_arena, n, const char *);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		bool out = false, ready = true;

		rc = late_missed_open(b, &jobs[i], NULL, err);
		for (size_t j = 0; j < n_its && !out; j++)
			out =
			    its[j].kind == INTENT_CREATE && strcmp(its[j].job_id, jobs[i].id) == 0;
		if (out)
			provision_unknown(b, &jobs[i]);
		else if (rc == BERTH_OK)
			rc = provision_after(b, &jobs[i], &ready, err);
		if (!out && ready)
			ids[k++] = jobs[i].id;
	}
	behind = arena_array_of(b->tick_arena, n, size_t);
	o->n_behind = rc == BERTH_OK && k > 0
			  ? placing_behind(jobs, n, ids, k, true, b->tick_arena, behind)
			  : 0;
	in_view = arena_array_of(b->tick_arena, o->n_behind, const char *);
	for (size_t i = 0; i < o->n_behind; i++)
		in_view[i] = jobs[behind[i]].id;
	o->behind = in_view;
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
