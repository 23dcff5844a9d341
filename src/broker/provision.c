/* provision: the queue against the offers; an intent before every create; a refusal sends the job
 * to its next offer. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/decide.h"
#include "broker/gang.h"
#include "broker/placing_replay.h"
#include "broker/provision.h"
#include "broker/waiting.h"
#include "model/block.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "store/plan_rows.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

#define PROVISION_TURNS 8 /* placements in one pass, while other brokers rent too */

/*
 * A refusal by the provider: the intent is closed, the place is blocked, the launch counts as lost.
 * pm: a machine that was not what was asked for, and was ended; NULL: none was made.
 */
static enum berth_code
provision_refused(struct broker *b, const struct intent *it, const struct prov_machine *pm,
    struct job *job, const struct berth_err *why, struct berth_err *err)
{
	const char *reason = arena_printf(b->tick_arena, "%s: %s", err_name(why->code), why->msg);
	enum berth_code rc;

	b->counts.refused++;
	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	if (pm != NULL)
		rc = machine_mistaken(b, it, pm, job, err);
	if (rc == BERTH_OK)
		rc = store_intent_settle(b->store, it->id, INTENT_FAILED, 0, reason, b->now, err);
	if (rc == BERTH_OK)
		rc = broker_refused(b, &it->offer, why, err);
	if (rc == BERTH_OK && why->code == BERTH_ECAPACITY)
		rc = store_capacity_count(b->store, &it->offer, false, b->now, err);
	if (rc == BERTH_OK)
		rc = broker_event(b, err, "launch.refused", it->job_id, it->job_id, NULL,
		    "%s %s in %s %s: %s", it->offer.instance_type,
		    purchase_name(it->offer.purchase), it->offer.region, it->offer.zone, reason);
	if (rc != BERTH_OK) {
		store_rollback(b->store);
		return rc;
	}
	return store_commit(b->store, err);
}

/* Only money lacks: told once, and where there is a deadline, as a risk to it. budget: a budget has
 * too little; else the job may not cost so much. */
static enum berth_code
provision_unpaid(struct broker *b, struct job *job, bool budget, const char *reason, unsigned marks,
    struct berth_err *err)
{
	bool told = (job->marks & JOB_MARK_UNPAID) != 0;
	enum berth_code rc = BERTH_OK;

	b->counts.unpaid++;
	if (!told && budget)
		rc = broker_event(b, err, "budget.reached", job->id, job->id, NULL, "%s", reason);
	if (rc == BERTH_OK && !told && job->spec.deadline > 0)
		rc = broker_event(b, err, "job.deadline_at_risk", job->id, job->id, NULL, "%s: %s",
		    budget ? "no budget pays for it now" : "its max_cost does not pay for it now",
		    reason);
	return rc == BERTH_OK ? provision_reason(b, job, reason, marks | JOB_MARK_UNPAID, err) : rc;
}

/* The deadline is at risk, or can be kept no more: told once. */
static enum berth_code
provision_late(struct broker *b, struct job *job, enum job_mark mark, const char *reason,
    struct berth_err *err)
{
	enum berth_code rc;

	if ((job->marks & mark) != 0)
		return BERTH_OK;
	rc = broker_event(b, err, "job.deadline_at_risk", job->id, job->id, NULL, "%s", reason);
	return rc == BERTH_OK ? provision_reason(b, job, job->reason, job->marks | mark, err) : rc;
}

static unsigned
provision_risk_mark(const struct placing_job *pj)
{
	return pj->at_risk || pj->overdue > 0 ? JOB_MARK_AT_RISK : 0;
}

/* Told once of one whose deadline is at risk, or lost while it had begun; not after it has passed.
 */
static enum berth_code
provision_risk(struct broker *b, struct placing_job *pj, struct berth_err *err)
{
	if (provision_risk_mark(pj) == 0 || (pj->job.marks & JOB_MARK_MISSED) != 0)
		return BERTH_OK;
	return provision_late(b, &pj->job, JOB_MARK_AT_RISK, pj->reason, err);
}

/* The intents of all machines that the offer takes, with the money for all, or none. */
static enum berth_code
provision_open(struct broker *b, struct job *job, const struct placing_try *t,
    struct intent_turn *turn, struct intent **its_out, size_t *n_out, struct berth_err *err)
{
	struct budget_ask ask = { .account = t->offer->account,
		.project = job->spec.project,
		.user = job->spec.user,
		.job_id = job->id };
	size_t n = t->cost.machines > 1 ? (size_t)t->cost.machines : 1;
	struct intent *its = arena_array_of(b->tick_arena, n, struct intent);
	enum berth_code rc =
	    usd_from_double(fmax(t->cost.total_usd, t->reserve_usd), &ask.amount, err);

	for (size_t i = 0; i < n; i++)
		its[i] = (struct intent){ .kind = INTENT_CREATE,
			.account = t->offer->account,
			.token = "",
			.job_id = job->id,
			.offer = *t->offer,
			.created = b->now };
	if (rc == BERTH_OK)
		rc = store_intent_open_turn(b->store, its, n, &ask, turn, b->tick_arena, err);
	*its_out = its;
	*n_out = n;
	return rc;
}

/* A gang of which one machine was not had: those not asked for yet never are, those made are given
 * back at once. */
static enum berth_code
provision_undo(struct broker *b, struct job *job, const struct intent *its, size_t made, size_t n,
    struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_NO_CAPACITY, .progress = job->progress };
	enum berth_code rc = BERTH_OK;
	struct gang g;

	if (n == 1)
		return BERTH_OK;
	for (size_t i = made + 1; i < n && rc == BERTH_OK; i++)
		rc = store_intent_settle(b->store, its[i].id, INTENT_FAILED, 0,
		    "not asked for: the gang cannot become whole", b->now, err);
	if (rc == BERTH_OK && made > 0)
		rc = gang_load(b, its[0].id, job->id, &g, err);
	if (rc != BERTH_OK || made == 0)
		return rc;
	end.reason = arena_printf(b->tick_arena,
	    "%zu of the %zu machines of %s in %s could be had: they are given back, as a gang "
	    "starts whole or not at all",
	    made, n, its[0].offer.instance_type,
	    its[0].offer.zone[0] != '\0' ? its[0].offer.zone : its[0].offer.region);
	rc = gang_give_back(b, job, &g, &end, err);
	return rc == BERTH_OK ? store_job_get(b->store, job->id, b->tick_arena, job, err) : rc;
}

/* Own machines have names: those that a probe rejected, or that never came up, are left out for a
 * while. */
static enum berth_code
provision_avoid(struct broker *b, const struct broker_account *acc, struct prov_create *c,
    struct berth_err *err)
{
	int64_t since = b->now - b->policy.avoid_rejected_s;
	VEC(const char *) refs = { 0 };
	struct instance *ins;
	enum berth_code rc;
	size_t n;

	if ((prov_account_ops(acc->prov)->caps & PROV_CAP_AVOID) == 0)
		return BERTH_OK;
	rc = store_instance_lives(b->store, since, b->tick_arena, &ins, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (str_eq(ins[i].account, acc->name) && ins[i].created > since &&
		    (str_eq(ins[i].end_reason, "probe_rejected") ||
			str_eq(ins[i].end_reason, "start_failed") ||
			str_eq(ins[i].end_reason, INSTANCE_TOO_SLOW)))
			VEC_PUSH(b->tick_arena, &refs, ins[i].provider_ref);
	c->avoid = refs.v;
	c->n_avoid = refs.n;
	return rc;
}

/* Of a rank that is asked for again another than that of the machine which it takes the place of.
 */
static const char *
provision_name(struct broker *b, const struct job *job, const struct intent *it)
{
	if (it->machines <= 1)
		return job->id;
	return it->id == it->gang + it->rank
		   ? arena_printf(b->tick_arena, "%s-%d", job->id, it->rank)
		   : arena_printf(
			 b->tick_arena, "%s-%d-%" PRId64, job->id, it->rank, it->id - it->gang);
}

enum berth_code
provision_create(struct broker *b, struct broker_account *acc, struct job *job,
    const struct intent *it, enum provision_step *step_out, const char **unknown_out,
    struct berth_err *err)
{
	struct prov_create c = {
		.name = provision_name(b, job, it), .token = it->token, .offer = &it->offer
	};
	struct prov_machine pm = { .other_market = false };
	int64_t since = time_mono_ms();
	struct berth_err why;
	enum berth_code rc;

	rc = provision_avoid(b, acc, &c, err);
	if (rc != BERTH_OK)
		return rc;
	rc = prov_create(acc->prov, &c, &pm, &why);
	broker_pass_spent(acc, since);
	*step_out = STEP_NEXT;
	if (rc == BERTH_OK) {
		*step_out = STEP_MADE;
		return machine_adopt(b, it, &pm, err);
	}
	if (rc == BERTH_ETRANSIENT) { /* nobody knows what was made: recover looks before anything
					 is asked again */
		*step_out = STEP_UNKNOWN;
		b->counts.errors++;
		*unknown_out = arena_printf(b->tick_arena, WAITING_UNKNOWN_TEXT ": %s", why.msg);
		return BERTH_OK;
	}
	if (rc == BERTH_EAUTH || rc == BERTH_ETHROTTLED) {
		acc->down = rc;
		snprintf(acc->why, sizeof(acc->why), "%s", why.msg);
	}
	if (it->rank > 0 &&
	    store_job_get(b->store, it->job_id, b->tick_arena, job, err) != BERTH_OK)
		return err->code; /* the machines before it have changed the job */
	return provision_refused(
	    b, it, rc == BERTH_ECAPACITY && pm.other_market ? &pm : NULL, job, &why, err);
}

/* One offer for one job, with as many machines as it needs there. */
static enum berth_code
provision_try(struct broker *b, struct job *job, const struct placing_try *t,
    struct intent_turn *turn, enum provision_step *step_out, struct berth_err *err)
{
	struct broker_account *acc = broker_account(b, t->offer->account);
	const char *unknown = NULL;
	struct intent *its;
	enum berth_code rc;
	size_t i, n;

	*step_out = STEP_NEXT;
	if (acc == NULL || acc->prov == NULL || acc->down != BERTH_OK)
		return BERTH_OK;
	if (!broker_pass_left(b, acc)) {
		*step_out = STEP_LATE;
		return BERTH_OK;
	}
	rc = provision_open(b, job, t, turn, &its, &n, err);
	if (rc == BERTH_ELOCKED) {
		*step_out = STEP_OVERTAKEN;
		return BERTH_OK;
	}
	if (rc == BERTH_EBUDGET) {
		*step_out = STEP_UNPAID;
		return provision_unpaid(
		    b, job, true, arena_strdup(b->tick_arena, err->msg), job->marks, err);
	}
	for (i = 0; i < n && rc == BERTH_OK; i++) {
		rc = provision_create(b, acc, job, &its[i], step_out, &unknown, err);
		b->counts.unplaced += *step_out == STEP_UNKNOWN;
		if (rc != BERTH_OK || *step_out != STEP_MADE)
			break;
		b->counts.created++;
	}
	if (rc != BERTH_OK || i == n)
		return rc;
	if (unknown != NULL && n > 1 &&
	    i + 1 == n) /* the last of a gang: whole if it was made, else recover takes it apart */
		return BERTH_OK;
	rc = provision_undo(b, job, its, i, n, err);
	return rc == BERTH_OK && unknown != NULL
		   ? provision_reason(b, job, unknown,
			 JOB_MARK_LAUNCH_UNKNOWN | (job->marks & JOB_MARK_AT_RISK), err)
		   : rc;
}

/* When the first of the tried offers may be asked for again; 0: none is on hold. */
static enum berth_code
provision_held(struct broker *b, const struct placing_job *pj, size_t tried, int64_t *until_out,
    struct berth_err *err)
{
	struct block *blocks;
	size_t n;
	enum berth_code rc = store_block_active(b->store, b->now, b->tick_arena, &blocks, &n, err);

	*until_out = 0;
	for (size_t i = 0; rc == BERTH_OK && i < tried; i++) {
		const struct block *hit = block_hit(blocks, n, pj->tries[i].offer);

		if (hit != NULL && (*until_out == 0 || hit->until < *until_out))
			*until_out = hit->until;
	}
	return rc;
}

/* None of the tried offers was had; late: an account that had no time left for n_late of them, or
 * NULL. */
static enum berth_code
provision_unplaced(struct broker *b, struct placing_job *pj, size_t tried, const char *late,
    size_t n_late, struct berth_err *err)
{
	struct waiting_fate f = { .rule =
				      late == NULL ? WAITING_LAUNCH_REFUSED : WAITING_ACCOUNT_BUSY,
		.subject = "",
		.state = "",
		.said = "",
		.late = late == NULL ? "" : late,
		.tried = tried,
		.n_late = n_late };
	enum berth_code rc;

	b->counts.unplaced++;
	rc = provision_held(b, pj, tried, &f.until, err);
	return rc == BERTH_OK ? provision_reason(b, &pj->job,
				    waiting_add_fate(b->waits, &pj->job, pj, &f)->reason,
				    provision_risk_mark(pj), err)
			      : rc;
}

/* The offer was within the budgets when it was chosen, and is no more. */
static void
provision_wait_money(struct broker *b, struct placing_job *pj, size_t taken)
{
	(void)waiting_add_fate(b->waits, &pj->job, pj,
	    &(struct waiting_fate){ .rule = WAITING_OVER_BUDGET,
		.subject = "",
		.state = "",
		.said = pj->job.reason,
		.late = "",
		.tried = taken });
}

/* One that the placement gave no offer. */
static enum berth_code
provision_refused_job(struct broker *b, struct placing_job *pj, struct berth_err *err)
{
	unsigned marks = (pj->kept ? JOB_MARK_KEPT : 0u) | provision_risk_mark(pj);
	enum berth_code rc = BERTH_OK;

	waiting_add_refused(b->waits, pj, pj->reason);
	rc = provision_risk(b, pj, err);
	if (rc != BERTH_OK)
		return rc;
	if (placing_lacks_money(pj))
		return provision_unpaid(
		    b, &pj->job, placing_lacks_budget(pj), pj->reason, marks, err);
	if (pj->refused[REFUSE_OVER_BUDGET] > 0)
		marks |= pj->job.marks & JOB_MARK_UNPAID;
	if (pj->rule == REFUSE_DEADLINE) {
		rc = provision_late(b, &pj->job, JOB_MARK_LATE, pj->reason, err);
		marks |= JOB_MARK_LATE;
	}
	return rc == BERTH_OK ? provision_reason(b, &pj->job, pj->reason, marks, err) : rc;
}

static enum berth_code
provision_keep(struct broker *b, const struct placing *p, const struct placing_job *pj,
    size_t first, struct berth_err *err)
{
	int64_t id = 0;
	enum berth_code rc = placing_keep(b->store, b->now, p, pj, first, &id, err);

	VEC_PUSH(b->tick_arena, &b->waits->made, id);
	return rc;
}

static enum berth_code
provision_job(struct broker *b, struct placing *p, struct placing_job *pj, bool *overtaken_out,
    struct berth_err *err)
{
	enum provision_step step = STEP_NEXT;
	enum berth_code rc = BERTH_OK;
	const char *late = NULL;
	size_t i, tried = 0, n_late = 0;

	rc = provision_risk(b, pj, err);
	if (rc != BERTH_OK)
		return rc;
	for (i = 0; i < pj->n_tries && i < b->policy.max_attempts; i++) {
		rc = provision_try(b, &pj->job, &pj->tries[i], &p->turn, &step, err);
		if (rc != BERTH_OK || (step != STEP_NEXT && step != STEP_LATE))
			break;
		tried++;
		if (step == STEP_LATE) {
			late = pj->tries[i].offer->account;
			n_late++;
		}
	}
	if (rc != BERTH_OK)
		return rc;
	switch (step) {
	case STEP_UNPAID:
		provision_wait_money(b, pj, i);
		return BERTH_OK;
	case STEP_UNKNOWN:
		provision_unknown(b, &pj->job);
		return BERTH_OK;
	case STEP_OVERTAKEN:
		*overtaken_out = true;
		return BERTH_OK;
	case STEP_MADE:
		b->counts.placed++;
		pj->taken = i + 1;
		return provision_keep(b, p, pj, i, err);
	case STEP_NEXT:
	case STEP_LATE:
		break;
	}
	return provision_unplaced(b, pj, tried, late, n_late, err);
}

/* All that only wait, in one transaction: nothing is asked of any cloud here. */
static enum berth_code
provision_rest(struct broker *b, struct placing *p, const struct buf *inputs, struct berth_err *err)
{
	enum berth_code rc = store_begin(b->store, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; rc == BERTH_OK && i < p->n_jobs; i++)
		if (p->jobs[i].n_tries == 0)
			rc = provision_refused_job(b, &p->jobs[i], err);
	if (rc == BERTH_OK)
		rc = waiting_keep(b->store, b->now, p, b->waits, err);
	if (rc == BERTH_OK)
		rc = preempt_keep(b, p, err);
	if (rc == BERTH_OK && b->waits->made.n > 0)
		rc = placing_keep_inputs(b->store, b->now, p, inputs, b->waits, err);
	if (rc == BERTH_OK)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}

/* What the placement gave an offer, until another broker rents as well; then, with all of it done,
 * what only waits. */
static enum berth_code
provision_placed(struct broker *b, struct placing *p, const struct buf *inputs, bool *overtaken_out,
    struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	*overtaken_out = false;
	for (size_t i = 0; rc == BERTH_OK && i < p->n_jobs && !*overtaken_out; i++)
		if (p->jobs[i].n_tries > 0)
			rc = provision_job(b, p, &p->jobs[i], overtaken_out, err);
	if (rc == BERTH_OK && !*overtaken_out)
		return provision_rest(b, p, inputs, err);
	return rc == BERTH_OK && b->waits->made.n > 0
		   ? placing_keep_inputs(b->store, b->now, p, inputs, b->waits, err)
		   : rc;
}

/* One placement of what waits, and what it leads to. */
static enum berth_code
provision_turn(
    struct broker *b, const struct placing_options *opt, bool *overtaken_out, struct berth_err *err)
{
	struct placing_options o = *opt;
	struct placing p = { .n_jobs = 0 };
	struct buf inputs = { 0 };
	const char **ids;
	enum berth_code rc;
	size_t n;

	*overtaken_out = false;
	o.inputs = &inputs;
	b->counts.unplaced = b->counts.unpaid = 0;
	rc = provision_queue(b, &ids, &n, &o, err);
	if (rc == BERTH_OK && n > 0)
		rc = placing_run(b->store, b->accels, &o, ids, n, b->tick_arena, &p, err);
	if (rc == BERTH_OK)
		rc = provision_placed(b, &p, &inputs, overtaken_out, err);
	buf_free(&inputs);
	return rc;
}

enum berth_code
pass_provision(struct broker *b, struct berth_err *err)
{
	struct placing_options o = broker_placing_options(b);
	enum berth_code rc = BERTH_OK;
	bool overtaken = true;

	o.shares = b->shares;
	o.others = true;
	o.rounds = 100;
	broker_pass_begin(b);
	for (int turn = 0; rc == BERTH_OK && overtaken && turn < PROVISION_TURNS; turn++) {
		struct waiting_list waits = { .a = b->tick_arena };

		b->waits = &waits;
		rc = provision_turn(b, &o, &overtaken, err);
		b->waits = NULL;
	}
	return rc;
}
