/* What is done when a machine is taken back under a job: the record of it, with what it cost and
 * what was chosen instead. */
#include <math.h>

#include "broker/decide.h"
#include "broker/waiting.h"
#include "util/str.h"

void
preempt_note(
    struct broker *b, const char *job_id, const struct instance *in, const struct attempt_end *end)
{
	struct taken *t = arena_alloc(b->tick_arena, sizeof(*t));

	*t = (struct taken){ .job_id = arena_strdup(b->tick_arena, job_id),
		.in = *in,
		.progress = end->progress,
		.reason = end->reason,
		.next = b->taken };
	b->taken = t;
}

static const struct placing_job *
preempt_placed(const struct placing *p, const char *job_id)
{
	for (size_t i = 0; i < p->n_jobs; i++)
		if (str_eq(p->jobs[i].job.id, job_id) && p->jobs[i].taken > 0)
			return &p->jobs[i];
	return NULL;
}

static const struct waiting *
preempt_waits(const struct broker *b, const char *job_id)
{
	for (size_t i = 0; i < b->waits->v.n; i++)
		if (str_eq(b->waits->v.v[i].job->id, job_id))
			return &b->waits->v.v[i];
	return NULL;
}

static const char *
preempt_how(enum purchase p)
{
	return p == PURCHASE_SPOT        ? "spot"
	       : p == PURCHASE_ON_DEMAND ? "demand"
					 : "what is reserved";
}

static const char *
preempt_reason(
    struct broker *b, const struct taken *t, const struct placing_job *j, const struct waiting *w)
{
	const char *text = arena_printf(
	    b->tick_arena, "%s; %.1f %% of the work is safe", t->reason, 100 * t->progress);
	const struct placing_try *c = j == NULL ? NULL : &j->tries[j->taken - 1];

	if (j != NULL && j->taken > 1)
		return arena_printf(b->tick_arena,
		    "%s; it goes on on %s, with %s %s in %s, the rest of the work for %.2f USD, as "
		    "%zu %s before it could not be had",
		    text, preempt_how(c->offer->purchase), c->offer->provider,
		    c->offer->instance_type, c->offer->region, c->cost.total_usd, j->taken - 1,
		    j->taken == 2 ? "offer" : "offers");
	if (j != NULL)
		return arena_printf(b->tick_arena, "%s; it goes on on %s, with %s", text,
		    preempt_how(c->offer->purchase), j->reason);
	return arena_printf(b->tick_arena, "%s; it waits: %s", text,
	    w != NULL ? w->reason : "the next tick places it");
}

static enum berth_code
preempt_keep_one(
    struct broker *b, const struct placing *p, const struct taken *t, struct berth_err *err)
{
	const struct placing_job *j = preempt_placed(p, t->job_id);
	const struct waiting *w = j == NULL ? preempt_waits(b, t->job_id) : NULL;
	const char *reason = preempt_reason(b, t, j, w);
	struct decide d;
	int64_t until;
	enum berth_code rc = decide_held(b, &t->in.offer, &until, err);

	if (rc != BERTH_OK)
		return rc;
	decide_begin(&d, NULL);
	jsonw_str(&d.w, "choice",
	    j == NULL ? "wait" : purchase_name(j->tries[j->taken - 1].offer->purchase));
	broker_json_machine(&d.w, b, &t->in);
	jsonw_fixed(&d.w, "progress", t->progress, 6);
	jsonw_time_or_null(&d.w, "held_until", until);
	if (j != NULL) {
		struct placing_job told = *j;

		told.reason = reason;
		placing_json_job(&d.w, p, &told, j->taken - 1);
	} else if (w != NULL) {
		struct waiting told = *w;

		told.reason = reason;
		waiting_json(&d.w, p, &told);
	} else {
		jsonw_str(&d.w, "reason", reason);
	}
	return decide_end(b, &d, "preemption", t->job_id, err);
}

enum berth_code
preempt_keep(struct broker *b, const struct placing *p, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (const struct taken *t = b->taken; rc == BERTH_OK && t != NULL; t = t->next)
		rc = preempt_keep_one(b, p, t, err);
	b->taken = NULL;
	return rc;
}
