/*
 * refill: gangs that have lost a machine and wait for another in its place. The work on the others
 * is stopped, one machine is rented beside them for each rank that is lost, and the start pass
 * begins on all again; when none comes in time they are given back, and the job is queued.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/decide.h"
#include "broker/gang.h"
#include "broker/late.h"
#include "broker/placing.h"
#include "broker/provision.h"
#include "broker/runner.h"
#include "store/job_rows.h"
#include "store/silent_rows.h"
#include "util/str.h"
#include "util/time.h"

/* Since when it waits: the attempts on machines that are kept begin with the loss. */
static int64_t
refill_until(const struct job *job, const struct gang *g)
{
	int64_t since = 0;

	for (size_t i = 0; i < g->n; i++)
		if (g->m[i].open && (since == 0 || g->m[i].at.started < since))
			since = g->m[i].at.started;
	return since + job->spec.replace_lost_s;
}

/* "rank 2", "ranks 1, 3" */
static const char *
refill_ranks(struct broker *b, const struct gang *g)
{
	const char *text = NULL;

	for (size_t i = 0; i < g->n; i++)
		if (g->m[i].lost)
			text = text == NULL ? arena_printf(b->tick_arena, "rank%s %zu",
						  g->lost > 1 ? "s" : "", i)
					    : arena_printf(b->tick_arena, "%s, %zu", text, i);
	return text == NULL ? "" : text;
}

static enum berth_code
refill_say(
    struct broker *b, struct job *job, const struct gang *g, const char *why, struct berth_err *err)
{
	char t[TIME_FMT_SIZE];
	const char *reason = arena_printf(b->tick_arena,
	    "%zu of %zu machines: the others wait until %s for one in place of %s: %s", g->open,
	    g->n, time_fmt(t, refill_until(job, g)), refill_ranks(b, g), why);

	if (str_eq(reason, job->reason))
		return BERTH_OK;
	job->reason = reason;
	return store_job_update(b->store, job, JOB_BIT(JOB_PLACED), err);
}

/* What was chosen in its place, and what else could have been. */
static enum berth_code
refill_decide(struct broker *b, const struct job *job, const struct gang *g,
    const struct gang_member *m, const struct placing_rank *r, size_t taken, struct berth_err *err)
{
	const struct placing_try *t = &r->tries[taken];
	struct decide d;

	decide_begin(&d,
	    arena_printf(b->tick_arena,
		"the machine of rank %d of %zu is lost; the other %zu are kept, and %s %s %s in %s "
		"is rented in its place at %.4f USD an hour",
		m->it.rank, g->n, g->open, t->offer->provider, t->offer->instance_type,
		purchase_name(t->offer->purchase),
		t->offer->zone[0] != '\0' ? t->offer->zone : t->offer->region,
		usd_to_double(t->offer->price)));
	jsonw_str(&d.w, "choice", purchase_name(t->offer->purchase));
	broker_json_machine(&d.w, b, &m->in);
	jsonw_int(&d.w, "rank", m->it.rank);
	jsonw_int(&d.w, "machines", (int64_t)g->n);
	jsonw_int(&d.w, "machines_kept", (int64_t)g->open);
	jsonw_fixed(&d.w, "progress", job->progress, 6);
	jsonw_fixed(&d.w, "expected_cost", t->cost.total_usd, 6);
	jsonw_time(&d.w, "expected_finish", t->cost.finish);
	jsonw_begin_array(&d.w, "tries");
	for (size_t i = 0; i < r->n_tries; i++) {
		jsonw_begin_object(&d.w, NULL);
		jsonw_str(&d.w, "purchase", purchase_name(r->tries[i].offer->purchase));
		jsonw_money(&d.w, "price_per_hour", r->tries[i].offer->price);
		jsonw_bool(&d.w, "taken", i == taken);
		jsonw_end_object(&d.w);
	}
	jsonw_end_array(&d.w);
	return decide_end(b, &d, "replace", job->id, err);
}

/* Its intent, with its part of the money for the rest of the work. */
static enum berth_code
refill_open(struct broker *b, const struct job *job, const struct gang *g,
    const struct gang_member *m, const struct placing_try *t, struct intent_turn *turn,
    struct intent *it, struct berth_err *err)
{
	struct budget_ask ask = { .account = t->offer->account,
		.project = job->spec.project,
		.user = job->spec.user,
		.job_id = job->id };
	enum berth_code rc =
	    usd_from_double(t->cost.total_usd / t->cost.machines, &ask.amount, err);

	*it = (struct intent){ .kind = INTENT_CREATE,
		.account = t->offer->account,
		.token = "",
		.job_id = job->id,
		.offer = *t->offer,
		.created = b->now,
		.gang = m->it.gang,
		.rank = m->it.rank,
		.machines = (int)g->n };
	return rc == BERTH_OK ? store_intent_open_rank(b->store, it, &ask, turn, b->tick_arena, err)
			      : rc;
}

/* The first of the tries that is had; why_out: why none was, NULL: nothing more is to be said. */
static enum berth_code
refill_try(struct broker *b, struct job *job, const struct gang *g, const struct gang_member *m,
    struct placing_rank *r, const char **why_out, struct berth_err *err)
{
	struct broker_account *acc = broker_account(b, r->like->account);
	enum provision_step step = STEP_NEXT;
	enum berth_code rc = BERTH_OK;
	struct intent it;

	*why_out = "its account cannot be reached now";
	for (size_t i = 0; i < r->n_tries && i < b->policy.max_attempts; i++) {
		struct job was = *job; /* a refusal reads it anew */

		if (acc == NULL || acc->prov == NULL || acc->down != BERTH_OK ||
		    !broker_pass_left(b, acc))
			return BERTH_OK;
		rc = refill_open(b, job, g, m, &r->tries[i], &r->turn, &it, err);
		if (rc == BERTH_EBUDGET) {
			*why_out = arena_strdup(b->tick_arena, err->msg);
			return BERTH_OK;
		}
		if (rc != BERTH_OK) {
			*why_out = NULL;
			return rc == BERTH_ELOCKED ? BERTH_OK : rc;
		}
		rc = provision_create(b, acc, &was, &it, &step, why_out, err);
		if (rc != BERTH_OK || step == STEP_UNKNOWN)
			return rc;
		if (step == STEP_MADE) {
			*why_out = NULL;
			b->counts.created++;
			return refill_decide(b, job, g, m, r, i, err);
		}
		*why_out = "none could be had";
	}
	return rc;
}

static enum berth_code
refill_rank(struct broker *b, struct job *job, const struct gang *g, const struct gang_member *m,
    struct berth_err *err)
{
	const struct placing_options o = broker_placing_options(b);
	struct placing_rank r = { .job = job, .like = &m->it.offer, .machines = (int)g->n };
	const char *why = NULL;
	enum berth_code rc = placing_rank(b->store, b->accels, &o, &r, b->tick_arena, err);

	if (rc != BERTH_OK)
		return rc;
	if (r.n_tries > 0)
		rc = refill_try(b, job, g, m, &r, &why, err);
	else
		why = r.rule == REFUSE_NOT ? "none is sold there any more" : refuse_text(r.rule);
	return rc == BERTH_OK && why != NULL ? refill_say(b, job, g, why, err) : rc;
}

/* Work that began before the loss is ended on the machines that are kept. */
static enum berth_code
refill_stop(struct broker *b, const struct job *job, struct gang_member *m, size_t rank,
    struct berth_err *err)
{
	struct prov_run run;
	struct berth_err why;
	enum berth_code rc = runner_stop(b, &m->in, job, (int)rank, &run, &why);

	if (rc != BERTH_OK && rc != BERTH_ENOTFOUND) { /* tried again at the next tick */
		b->counts.errors++;
		log_warn(b->log, "%s is not stopped on instance %" PRId64 ": %s", job->id, m->in.id,
		    why.msg);
		return silent_unheard(b, &m->in, job->id,
		    "its old work may still run, and its gang waits for it no longer than "
		    "replace_lost",
		    why.msg, err);
	}
	m->at.state = ATTEMPT_PROBING;
	rc = store_attempt_update(b->store, &m->at, err);
	return rc == BERTH_OK ? silent_heard(b, &m->in, job->id, err) : rc;
}

/* Another of them is to be taken back while they wait. */
static enum berth_code
refill_noticed(
    struct broker *b, const struct job *job, struct gang_member *m, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_PREEMPTED,
		.progress = job->progress,
		.reason = "it is taken back before the work began on it again",
		.alone = true };
	enum berth_code rc = broker_preempted(b, &m->in, err);

	if (rc == BERTH_OK)
		rc = job_attempt_end(b, job->id, m->in.id, &end, err);
	return rc == BERTH_OK ? machine_release(b, &m->in, "preempted", err) : rc;
}

static enum berth_code
refill_give_up(struct broker *b, const struct job *job, const struct gang *g, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_NO_CAPACITY, .progress = job->progress };

	end.reason = arena_printf(b->tick_arena,
	    "no machine in place of %s came within %" PRId64 " min; the other %zu are given back, "
	    "and the job asks again for all",
	    refill_ranks(b, g), (job->spec.replace_lost_s + 59) / 60, g->open);
	return gang_give_back(b, job, g, &end, err);
}

/*
 * All machines are there and sound, but the one on which the old work cannot be ended or the new
 * begun: deaf_out. One that is still starting or measured keeps the gang waiting by itself, as does
 * one that fell silent just now.
 */
static enum berth_code
refill_deaf(struct broker *b, const struct job *job, const struct gang *g,
    const struct gang_member **deaf_out, struct berth_err *err)
{
	int64_t for_s = job->spec.replace_lost_s < b->policy.silent_s ? job->spec.replace_lost_s
								      : b->policy.silent_s;
	enum berth_code rc = BERTH_OK;
	struct silent_row row;

	*deaf_out = NULL;
	for (size_t i = 0; i < g->n; i++)
		if (!g->m[i].open || g->m[i].in.state != INSTANCE_READY ||
		    g->m[i].in.verdict[0] == '\0')
			return BERTH_OK;
	for (size_t i = 0; rc == BERTH_OK && *deaf_out == NULL && i < g->n; i++) {
		rc = store_silent_get(b->store, g->m[i].in.id, &row, err);
		if (rc == BERTH_OK && row.since > 0 && b->now - row.since >= for_s)
			*deaf_out = &g->m[i];
	}
	return rc;
}

/* A gang that is whole again, and yet does not start: its machines are not paid for for ever. */
static enum berth_code
refill_whole(struct broker *b, struct job *job, const struct gang *g, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_NO_CAPACITY, .progress = job->progress };
	const struct gang_member *deaf;
	char t[TIME_FMT_SIZE];
	enum berth_code rc = refill_deaf(b, job, g, &deaf, err);

	if (rc != BERTH_OK || deaf == NULL)
		return rc;
	if (b->now < refill_until(job, g)) {
		const char *why = arena_printf(b->tick_arena,
		    "%zu machines: instance %" PRId64 " of rank %d does not answer; the others "
		    "wait for it until %s",
		    g->n, deaf->in.id, deaf->it.rank, time_fmt(t, refill_until(job, g)));
		if (str_eq(why, job->reason))
			return BERTH_OK;
		job->reason = why;
		return store_job_update(b->store, job, JOB_BIT(JOB_PLACED), err);
	}
	end.reason = arena_printf(b->tick_arena,
	    "instance %" PRId64 " of rank %d does not answer, and the work did not begin on all "
	    "within %" PRId64 " min: all %zu machines are given back, and the job asks again",
	    deaf->in.id, deaf->it.rank, (job->spec.replace_lost_s + 59) / 60, g->n);
	return gang_give_back(b, job, g, &end, err);
}

static enum berth_code
refill_job(struct broker *b, struct job *job, struct berth_err *err)
{
	struct gang g;
	enum berth_code rc = gang_held(b, job->id, &g, err);

	for (size_t i = 0; rc == BERTH_OK && i < g.n; i++)
		if (g.m[i].open && g.m[i].in.state == INSTANCE_NOTICED && g.m[i].in.ready > 0 &&
		    g.m[i].in.verdict[0] != '\0')
			rc = refill_noticed(b, job, &g.m[i], err);
	if (rc == BERTH_OK)
		rc = gang_held(b, job->id, &g, err);
	for (size_t i = 0; rc == BERTH_OK && i < g.n; i++)
		if (g.m[i].open && g.m[i].in.state == INSTANCE_READY &&
		    g.m[i].at.state == ATTEMPT_PROVISIONING)
			rc = refill_stop(b, job, &g.m[i], i, err);
	if (rc != BERTH_OK || g.n == 0)
		return rc;
	if (!gang_waits(job, &g))
		return refill_whole(b, job, &g, err);
	rc = late_missed_open(b, job, NULL, err);
	if (rc == BERTH_OK && b->now >= refill_until(job, &g))
		return refill_give_up(b, job, &g, err);
	for (size_t i = 0; rc == BERTH_OK && i < g.n; i++)
		if (g.m[i].lost)
			rc = refill_rank(b, job, &g, &g.m[i], err);
	return rc;
}

enum berth_code
pass_refill(struct broker *b, struct berth_err *err)
{
	struct job_query q = { .states = JOB_BIT(JOB_PLACED) };
	struct job *jobs;
	enum berth_code rc;
	size_t n;

	broker_pass_begin(b);
	rc = store_job_list(b->store, &q, b->tick_arena, &jobs, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (jobs[i].spec.replace_lost_s > 0)
			rc = refill_job(b, &jobs[i], err);
	return rc;
}
