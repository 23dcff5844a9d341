/* sync: what each provider says it runs for us, against what the store says; recover: intents whose
 * end is not known. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/gang.h"
#include "store/event_rows.h"
#include "store/job_rows.h"

struct sync_list {
	struct broker *b;
	struct broker_account *acc;
};

static enum berth_code
sync_keep(void *arg, const struct prov_machine *pm, struct berth_err *err)
{
	struct sync_list *l = arg;
	struct broker_account *acc = l->acc;
	struct prov_machine *grown;

	(void)err;
	if (acc->n_machines == acc->cap_machines) {
		acc->cap_machines = acc->cap_machines == 0 ? 16 : 2 * acc->cap_machines;
		grown = arena_array_of(l->b->tick_arena, acc->cap_machines, struct prov_machine);
		if (acc->n_machines > 0)
			memcpy(grown, acc->machines, acc->n_machines * sizeof(*grown));
		acc->machines = grown;
	}
	acc->machines[acc->n_machines++] = *pm;
	return BERTH_OK;
}

static const struct prov_machine *
sync_find(const struct broker_account *acc, const char *ref, const char *token)
{
	for (size_t i = 0; i < acc->n_machines; i++) {
		if (ref != NULL && strcmp(acc->machines[i].ref, ref) == 0)
			return &acc->machines[i];
		if (token != NULL && strcmp(acc->machines[i].token, token) == 0)
			return &acc->machines[i];
	}
	return NULL;
}

/* The job's attempt on a machine that went away under it. */
static enum berth_code
sync_lost_job(struct broker *b, const struct instance *in, const struct prov_machine *pm,
    struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_FAILED, .alone = true };
	enum berth_code rc;
	struct job job;

	if (in->job_id[0] == '\0')
		return BERTH_OK;
	rc = store_job_get(b->store, in->job_id, b->tick_arena, &job, err);
	if (rc != BERTH_OK)
		return rc;
	end.progress = job.progress;
	if (pm != NULL && pm->preempted) {
		end.state = ATTEMPT_PREEMPTED;
		end.reason = arena_printf(b->tick_arena, "preempted in %s",
		    in->offer.zone[0] != '\0' ? in->offer.zone : in->offer.region);
	} else {
		end.reason = pm != NULL && pm->detail[0] != '\0'
				 ? arena_strdup(b->tick_arena, pm->detail)
				 : "the machine is gone at the provider";
	}
	return job_attempt_end(b, in->job_id, in->id, &end, err);
}

static enum berth_code
sync_gone(
    struct broker *b, struct instance *in, const struct prov_machine *pm, struct berth_err *err)
{
	bool preempted = pm != NULL && pm->preempted && in->state != INSTANCE_RELEASING;
	enum berth_code rc;

	if (in->state != INSTANCE_RELEASING) {
		rc = sync_lost_job(b, in, pm, err);
		if (rc != BERTH_OK)
			return rc;
	}
	if (preempted) {
		rc = broker_preempted(b, in, err);
		if (rc != BERTH_OK)
			return rc;
	} else if (in->state != INSTANCE_RELEASING) {
		b->counts.lost++;
	}
	return machine_gone(b, in, pm != NULL ? pm->ended : 0,
	    pm != NULL && pm->preempted ? "preempted" : "lost", err);
}

static enum berth_code
sync_noticed(
    struct broker *b, struct instance *in, const struct prov_machine *pm, struct berth_err *err)
{
	if (in->state == INSTANCE_NOTICED)
		return BERTH_OK;
	in->state = INSTANCE_NOTICED;
	in->notice_at = pm->notice_at != 0 ? pm->notice_at : b->now;
	in->reclaim_at = pm->reclaim_at;
	return broker_event(b, err, "instance.noticed",
	    arena_printf(b->tick_arena, "instance:%" PRId64, in->id), in->job_id, in,
	    "the provider takes it back in %" PRId64 " s",
	    pm->reclaim_at > b->now ? pm->reclaim_at - b->now : 0);
}

static enum berth_code
sync_failed(
    struct broker *b, struct instance *in, const struct prov_machine *pm, struct berth_err *err)
{
	struct berth_err why = { .code = pm->why != BERTH_OK ? pm->why : BERTH_ECAPACITY };
	enum berth_code rc;

	snprintf(why.msg, sizeof(why.msg), "%s",
	    pm->detail[0] != '\0' ? pm->detail : "it never came up");
	rc = sync_lost_job(b, in, pm, err);
	if (rc == BERTH_OK)
		rc = broker_refused(b, &in->offer, &why, err);
	if (rc == BERTH_OK)
		rc = store_capacity_count(b->store, &in->offer, false, b->now, err);
	return rc == BERTH_OK ? machine_release(b, in, "start_failed", err) : rc;
}

static enum berth_code
sync_started(
    struct broker *b, struct instance *in, const struct prov_machine *pm, struct berth_err *err)
{
	struct attempt at;
	enum berth_code rc;

	in->state = INSTANCE_READY;
	in->ready = pm->ready_at != 0 && pm->ready_at <= b->now ? pm->ready_at : b->now;
	rc = job_attempt_open(b, in->job_id, in->id, &at, err);
	if (rc == BERTH_ENOTFOUND)
		return BERTH_OK;
	if (rc != BERTH_OK || at.state != ATTEMPT_PROVISIONING)
		return rc;
	at.state = ATTEMPT_PROBING;
	return store_attempt_update(b->store, &at, err);
}

/* Cost is written in steps of ten minutes: a tick that finds nothing new leaves the disk alone. */
static bool
sync_cost_due(const struct broker *b, const struct instance *in)
{
	struct usd_micro due;

	return offer_cost(&in->offer, in->created, b->now, &due, NULL) != BERTH_OK ||
	       (due.v > in->cost.v && due.v - in->cost.v >= offer_hour(&in->offer, b->now).v / 6);
}

/* A machine that is still there: state, address, cost so far. */
/* What it has cost until now, all or nothing: half of it would be booked twice. */
static enum berth_code
sync_book(struct broker *b, struct instance *in, struct berth_err *err)
{
	enum berth_code rc = store_begin(b->store, err);

	if (rc != BERTH_OK)
		return rc;
	rc = machine_accrue(b, in, b->now, false, err);
	if (rc == BERTH_OK)
		rc = store_instance_update(b->store, in, err);
	if (rc == BERTH_OK)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}

static enum berth_code
sync_alive(
    struct broker *b, struct instance *in, const struct prov_machine *pm, struct berth_err *err)
{
	enum instance_state was = in->state;
	bool changed = sync_cost_due(b, in);
	enum berth_code rc = BERTH_OK;

	if (pm->address[0] != '\0' && strcmp(pm->address, in->address) != 0) {
		in->address = pm->address;
		changed = true;
	}
	if (in->state == INSTANCE_STARTING &&
	    (pm->state == PROV_READY || pm->state == PROV_NOTICED))
		rc = sync_started(b, in, pm, err);
	if (rc == BERTH_OK && pm->state == PROV_NOTICED && in->state != INSTANCE_RELEASING)
		rc = sync_noticed(b, in, pm, err);
	changed = changed || in->state != was;
	if (rc == BERTH_OK && changed)
		rc = sync_book(b, in, err);
	if (rc == BERTH_OK && in->state == INSTANCE_STARTING &&
	    b->now - in->created > b->policy.start_timeout_s) {
		struct prov_machine late = *pm;

		snprintf(late.detail, sizeof(late.detail), "not ready after %" PRId64 " s",
		    b->now - in->created);
		rc = sync_failed(b, in, &late, err);
	}
	return rc;
}

/* Just after a create a provider may not list a machine yet; its own word about that one machine
 * decides. */
static enum berth_code
sync_missing(
    struct broker *b, struct broker_account *acc, struct instance *in, struct berth_err *err)
{
	struct prov_machine pm;
	struct berth_err why;
	enum berth_code rc;

	if (b->now - in->created < b->policy.lost_after_s)
		return BERTH_OK;
	rc = prov_status(acc->prov, in->provider_ref, &pm, &why);
	if (rc == BERTH_ENOTFOUND)
		return sync_gone(b, in, NULL, err);
	if (rc != BERTH_OK) /* no answer is not "gone" */
		return BERTH_OK;
	return pm.state == PROV_GONE ? sync_gone(b, in, &pm, err) : sync_alive(b, in, &pm, err);
}

static enum berth_code
sync_instance(
    struct broker *b, struct broker_account *acc, struct instance *in, struct berth_err *err)
{
	const struct prov_machine *pm = sync_find(acc, in->provider_ref, NULL);

	if (pm == NULL)
		return sync_missing(b, acc, in, err);
	switch (pm->state) {
	case PROV_GONE:
		return sync_gone(b, in, pm, err);
	case PROV_FAILED:
		return in->state == INSTANCE_RELEASING ? BERTH_OK : sync_failed(b, in, pm, err);
	case PROV_PENDING:
	case PROV_READY:
	case PROV_NOTICED:
	case PROV_ENDING:
		return sync_alive(b, in, pm, err);
	case PROV_STATE_COUNT:
		break;
	}
	return err_set(err, BERTH_EFAIL, "machine %s has no state", pm->ref);
}

/* Ours by its tag, but no row of ours: taken over if its intent waits, else told of and never
 * touched. */
static enum berth_code
sync_stranger(struct broker *b, struct broker_account *acc, const struct prov_machine *pm,
    struct berth_err *err)
{
	const char *subject = arena_printf(b->tick_arena, "machine:%s/%s", acc->name, pm->ref);
	struct event_query q = { .type = "machine.orphan", .subject = subject, .limit = 1 };
	struct instance in;
	struct intent it;
	struct event *es;
	enum berth_code rc;
	size_t n;

	if (pm->state == PROV_GONE)
		return BERTH_OK;
	rc = store_instance_by_ref(b->store, acc->name, pm->ref, b->tick_arena, &in, err);
	if (rc != BERTH_ENOTFOUND)
		return rc;
	rc = store_intent_by_token(b->store, pm->token, b->tick_arena, &it, err);
	if (rc == BERTH_OK && strcmp(it.account, acc->name) == 0) {
		b->counts.adopted++;
		return machine_adopt(b, &it, pm, err);
	}
	if (rc != BERTH_OK && rc != BERTH_ENOTFOUND)
		return rc;
	rc = store_event_list(b->store, &q, b->tick_arena, &es, &n, err);
	if (rc != BERTH_OK || n > 0)
		return rc;
	return broker_event(b, err, "machine.orphan", subject, "", NULL,
	    "%s %s in %s carries our tag but no intent of this store made it; it costs money: look "
	    "at it and end it by hand",
	    pm->instance_type, pm->ref, pm->region);
}

#define SYNC_DOWN_S                                                                                \
	900 /* an account that did not answer within the last quarter of an hour ...               \
	     */
#define SYNC_DOWN_WAIT_S 5 /* ... is given so long, lest its outage hold up every tick */

/* Whether the account was out of reach just now, by the store's own events. */
static enum berth_code
sync_was_down(
    struct broker *b, const struct broker_account *acc, bool *down_out, struct berth_err *err)
{
	struct event_query q = { .type = "account.unreachable",
		.since = b->now - SYNC_DOWN_S,
		.limit = 1,
		.subject = arena_printf(b->tick_arena, "account:%s", acc->name) };
	struct event *es;
	size_t n;
	enum berth_code rc = store_event_list(b->store, &q, b->tick_arena, &es, &n, err);

	*down_out = rc == BERTH_OK && n > 0;
	return rc;
}

/* Notices are asked for where there is something to take back. */
static bool
sync_has_machine(const struct broker_account *acc, const struct instance *ins, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(ins[i].account, acc->name) == 0)
			return true;
	return false;
}

/* Asks all accounts at once, so that a silent cloud delays no other: each is looked at as its
 * answer comes. */
static enum berth_code
sync_ask(struct broker *b, const struct instance *ins, size_t n_ins, struct prov_many **ask_out,
    size_t *n_out, struct berth_err *err)
{
	struct prov_many *ask = arena_array_of(b->tick_arena, b->n_accounts, struct prov_many);
	struct sync_list *lists = arena_array_of(b->tick_arena, b->n_accounts, struct sync_list);
	enum berth_code rc;
	bool down;
	size_t n = 0;

	for (size_t i = 0; i < b->n_accounts; i++) {
		struct broker_account *acc = &b->accounts[i];

		acc->listed = false;
		acc->n_machines = acc->cap_machines = 0;
		if (acc->prov == NULL || (prov_account_ops(acc->prov)->caps & PROV_CAP_LEASE) == 0)
			continue;
		if ((rc = sync_was_down(b, acc, &down, err)) != BERTH_OK)
			return rc;
		lists[n] = (struct sync_list){ b, acc };
		ask[n] = (struct prov_many){ .account = acc->prov,
			.machine_fn = sync_keep,
			.arg = &lists[n],
			.notices = sync_has_machine(acc, ins, n_ins),
			.deadline_s = down ? SYNC_DOWN_WAIT_S : 0 };
		n++;
	}
	*ask_out = ask;
	*n_out = n;
	return BERTH_OK;
}

static enum berth_code
sync_account(struct broker *b, struct broker_account *acc, const struct prov_many *answer,
    struct instance *ins, size_t n, struct berth_err *err)
{
	enum berth_code rc;

	acc->down = BERTH_OK;
	if (answer->code != BERTH_OK)
		return broker_account_down(b, acc, &answer->err, err);
	acc->listed = true;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(ins[i].account, acc->name) != 0)
			continue;
		rc = sync_instance(b, acc, &ins[i], err);
		if (rc != BERTH_OK)
			return rc;
	}
	for (size_t i = 0; i < acc->n_machines; i++) {
		rc = sync_stranger(b, acc, &acc->machines[i], err);
		if (rc != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

enum berth_code
pass_sync(struct broker *b, struct berth_err *err)
{
	struct prov_many_run *run;
	struct prov_many *ask, *m;
	struct instance *ins;
	enum berth_code rc;
	size_t n, n_ask;

	rc = store_instance_list(b->store, INSTANCE_ALIVE, b->tick_arena, &ins, &n, err);
	if (rc == BERTH_OK)
		rc = owned_book(b, ins, n, err);
	if (rc == BERTH_OK)
		rc = sync_ask(b, ins, n, &ask, &n_ask, err);
	if (rc != BERTH_OK)
		return rc;
	run = prov_many_begin(ask, n_ask, b->policy.sync_pass_s);
	while ((m = prov_many_next(run)) != NULL)
		if (rc == BERTH_OK)
			rc = sync_account(b, ((struct sync_list *)m->arg)->acc, m, ins, n, err);
	return rc;
}

/*
 * The call of this intent was made or not, nobody knows: the provider's list was read after it, so
 * a machine that it made has been taken over by now. Nothing was made: it is failed, and the job
 * asks again with a token of its own.
 */
static enum berth_code
recover_create(struct broker *b, const struct intent *it, struct berth_err *err)
{
	const struct broker_account *acc = broker_account(b, it->account);

	if (acc == NULL || !acc->listed || b->now - it->created < b->policy.lost_after_s)
		return BERTH_OK;
	if (sync_find(acc, NULL, it->token) != NULL)
		return BERTH_OK;
	return store_intent_settle(
	    b->store, it->id, INTENT_FAILED, 0, "no machine carries its token", b->now, err);
}

enum berth_code
pass_recover(struct broker *b, struct berth_err *err)
{
	struct intent *its;
	enum berth_code rc;
	size_t n;

	rc = store_intent_pending(b->store, b->tick_arena, &its, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (its[i].kind == INTENT_CREATE)
			rc = recover_create(b, &its[i], err);
	}
	return rc == BERTH_OK ? gang_repair(b, err) : rc;
}
