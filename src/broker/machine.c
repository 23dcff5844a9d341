/* Changes of one machine, each in one transaction with its job, its money and its event. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/gang.h"
#include "store/job_rows.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "store/silent_rows.h"
#include "util/time.h"

#define DAY_S INT64_C(86400)

static const char *
machine_subject(struct broker *b, int64_t id)
{
	return arena_printf(b->tick_arena, "instance:%" PRId64, id);
}

/* The job that a machine serves; found_out false for a machine without one. */
static enum berth_code
machine_job(struct broker *b, const struct instance *in, struct job *job_out, bool *found_out,
    struct berth_err *err)
{
	enum berth_code rc;

	*found_out = false;
	if (in->job_id[0] == '\0')
		return BERTH_OK;
	rc = store_job_get(b->store, in->job_id, b->tick_arena, job_out, err);
	if (rc == BERTH_ENOTFOUND)
		return BERTH_OK;
	*found_out = rc == BERTH_OK;
	return rc;
}

static void
machine_fill(struct instance *in, const struct prov_machine *pm, int64_t now)
{
	in->provider_ref = pm->ref;
	in->address = pm->address;
	in->created = pm->created != 0 && pm->created <= now ? pm->created : now;
	in->state = INSTANCE_STARTING;
	in->verdict = "";
	in->end_reason = "";
	in->speed = NAN;
}

/* Whether a new machine is one for the job: it waits for one, or for the rest of the gang to which
 * this belongs. again_out: in place of one that was lost. */
static enum berth_code
machine_joins(struct broker *b, const struct intent *it, const struct job *job, bool *joins_out,
    bool *again_out, struct berth_err *err)
{
	enum berth_code rc;
	struct gang g;

	*again_out = false;
	*joins_out = job->state == JOB_QUEUED;
	if (it->machines <= 1 || (job->state != JOB_QUEUED && job->state != JOB_PLACED))
		return BERTH_OK;
	rc = gang_load(b, it->id, job->id, &g, err);
	if (rc != BERTH_OK)
		return rc;
	*joins_out = job->state == JOB_QUEUED || g.open > 0;
	for (size_t i = 0; i < g.n; i++)
		*again_out = *again_out || (g.m[i].it.id == it->id && g.m[i].asked > 0);
	if (job->state == JOB_PLACED && gang_waits(job, &g))
		return BERTH_OK;
	for (size_t i = 0; i < g.n; i++) /* its own row is made already, and has no attempt yet */
		if (g.m[i].it.id != it->id &&
		    (g.m[i].it.state == INTENT_FAILED || (g.m[i].made && !g.m[i].open)))
			*joins_out = false;
	return BERTH_OK;
}

static const char *
machine_starting(struct broker *b, const struct intent *it, const struct instance *in, bool asked)
{
	const char *where = in->offer.zone[0] != '\0' ? in->offer.zone : in->offer.region;

	if (it->machines > 1 && asked)
		return arena_printf(b->tick_arena,
		    "%s %s in %s is starting in place of the machine of rank %d that was lost",
		    in->offer.instance_type, purchase_name(in->offer.purchase), where, it->rank);
	if (it->machines > 1)
		return arena_printf(b->tick_arena, "%d x %s %s in %s are starting", it->machines,
		    in->offer.instance_type, purchase_name(in->offer.purchase), where);
	return arena_printf(b->tick_arena, "%s %s in %s is starting", in->offer.instance_type,
	    purchase_name(in->offer.purchase), where);
}

static enum berth_code
machine_adopt_job(
    struct broker *b, const struct intent *it, const struct instance *in, struct berth_err *err)
{
	struct attempt at = { .job_id = it->job_id,
		.instance_id = in->id,
		.state = ATTEMPT_PROVISIONING,
		.started = b->now,
		.reason = "" };
	struct attempt have;
	enum berth_code rc;
	struct job job;
	bool joins, again;

	rc = store_job_get(b->store, it->job_id, b->tick_arena, &job, err);
	if (rc != BERTH_OK)
		return rc;
	rc = job_attempt_open(b, it->job_id, in->id, &have, err);
	if (rc != BERTH_ENOTFOUND)
		return rc;
	rc = machine_joins(b, it, &job, &joins, &again, err);
	if (rc != BERTH_OK ||
	    !joins) /* cancelled, or placed elsewhere since: the release pass takes the machine */
		return rc;
	at.progress_start = at.progress_end = job.progress;
	rc = store_attempt_insert(b->store, &at, &at.id, err);
	if (rc != BERTH_OK)
		return rc;
	job.state = JOB_PLACED;
	job.reason = machine_starting(b, it, in, again);
	rc = store_job_update(b->store, &job, JOB_BIT(JOB_QUEUED) | JOB_BIT(JOB_PLACED), err);
	return rc == BERTH_OK && again
		   ? broker_event(b, err, "job.node_replaced", job.id, job.id, in, "%s", job.reason)
		   : rc;
}

static enum berth_code
machine_adopt_rows(
    struct broker *b, const struct intent *it, const struct prov_machine *pm, struct berth_err *err)
{
	struct instance in = { .account = it->account,
		.intent_id = it->id,
		.job_id = it->job_id,
		.offer = it->offer };
	enum berth_code rc;

	machine_fill(&in, pm, b->now);
	rc = store_instance_insert(b->store, &in, &in.id, err);
	if (rc == BERTH_OK)
		rc = store_intent_settle(b->store, it->id, INTENT_DONE, in.id, "", b->now, err);
	if (rc == BERTH_OK && it->job_id[0] != '\0')
		rc = machine_adopt_job(b, it, &in, err);
	if (rc == BERTH_OK && in.created < b->now) { /* found later: it has cost already */
		rc = machine_accrue(b, &in, b->now, false, err);
		if (rc == BERTH_OK)
			rc = store_instance_update(b->store, &in, err);
	}
	if (rc == BERTH_OK)
		rc = store_capacity_count(b->store, &it->offer, true, b->now, err);
	if (rc == BERTH_OK)
		rc = broker_event(b, err, "instance.created", machine_subject(b, in.id), it->job_id,
		    &in, "%s in %s as %s", in.offer.instance_type, in.offer.region,
		    purchase_name(in.offer.purchase));
	return rc;
}

enum berth_code
machine_adopt(
    struct broker *b, const struct intent *it, const struct prov_machine *pm, struct berth_err *err)
{
	enum berth_code rc;

	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = machine_adopt_rows(b, it, pm, err);
	if (rc != BERTH_OK) {
		store_rollback(b->store);
		return rc;
	}
	return store_commit(b->store, err);
}

/* What the ledger already holds for a machine. */
static enum berth_code
machine_charged(struct broker *b, int64_t instance_id, struct usd_micro *out, struct berth_err *err)
{
	struct ledger_query q = { .instance_id = instance_id };
	struct usd_micro sum = { 0 };
	struct ledger_row *rows;
	enum berth_code rc;
	size_t n;

	rc = store_ledger_list(b->store, &q, b->tick_arena, &rows, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (rows[i].kind == LEDGER_COMPUTE)
			rc = usd_add(sum, rows[i].amount, &sum, err);
	}
	if (rc == BERTH_OK)
		*out = sum;
	return rc;
}

static int64_t
machine_hours_s(struct usd_micro usd, struct usd_micro hour)
{
	return hour.v > 0 ? (int64_t)((double)usd.v / (double)hour.v * 3600 + 0.5) : 0;
}

/* Up to which time the ledger holds what the machine has cost. */
static int64_t
machine_paid_s(const struct instance *in, struct usd_micro charged)
{
	const struct offer *o = &in->offer;
	int64_t begin = o->paid_from > in->created ? o->paid_from : in->created;
	int64_t end = o->paid_until > begin ? o->paid_until : begin;
	struct usd_micro before, used;

	if (offer_cost(o, in->created, begin, &before, NULL) != BERTH_OK ||
	    offer_cost(o, in->created, end, &used, NULL) != BERTH_OK)
		return in->created;
	if (charged.v < before.v)
		return in->created + machine_hours_s(charged, o->price);
	if (charged.v < used.v)
		return begin +
		       machine_hours_s((struct usd_micro){ charged.v - before.v }, o->usage);
	return end + machine_hours_s((struct usd_micro){ charged.v - used.v }, o->price);
}

/* The next midnight, or before it the begin or the end of what a commitment pays. */
static int64_t
machine_cut(const struct instance *in, int64_t after)
{
	int64_t cut = time_floor(after, DAY_S) + DAY_S;

	if (in->offer.paid_from > after && in->offer.paid_from < cut)
		cut = in->offer.paid_from;
	if (in->offer.paid_until > after && in->offer.paid_until < cut)
		cut = in->offer.paid_until;
	return cut;
}

/* What was spent up to each midnight is of the day, week and month before it, and what was used of
 * a commitment up to its end is of that, whenever it is written down. */
static enum berth_code
machine_charge_days(struct broker *b, const struct instance *in, struct ledger_row *row, int64_t t,
    struct usd_micro *charged, struct berth_err *err)
{
	int64_t paid_s = machine_paid_s(in, *charged);
	enum berth_code rc = BERTH_OK;

	for (int64_t m = machine_cut(in, paid_s); rc == BERTH_OK && m <= t;
	     m = machine_cut(in, m)) {
		struct usd_micro due;

		rc = offer_cost(&in->offer, in->created, m, &due, err);
		if (rc == BERTH_OK)
			rc = usd_sub(due, *charged, &row->amount, err);
		if (rc != BERTH_OK || row->amount.v <= 0)
			continue;
		row->t = m - 1;
		rc = store_budget_charge(b->store, in->intent_id, row, err);
		*charged = due;
	}
	return rc;
}

static enum berth_code
machine_charge(struct broker *b, const struct instance *in, const struct job *job, int64_t t,
    bool final, struct usd_micro *open_out, struct berth_err *err)
{
	struct ledger_row row = { .t = t,
		.kind = LEDGER_COMPUTE,
		.account = in->account,
		.job_id = in->job_id,
		.project = job != NULL ? job->spec.project : "",
		.user = job != NULL ? job->spec.user : "",
		.instance_id = in->id,
		.note = "" };
	struct usd_micro charged;
	enum berth_code rc;

	rc = machine_charged(b, in->id, &charged, err);
	if (rc == BERTH_OK && in->cost.v > charged.v)
		rc = machine_charge_days(b, in, &row, t, &charged, err);
	if (rc == BERTH_OK)
		rc = usd_sub(in->cost, charged, &row.amount, err);
	*open_out = row.amount;
	if (rc != BERTH_OK || row.amount.v == 0)
		return rc;
	if (!final &&
	    row.amount.v <
		offer_hour(&in->offer, t).v) /* an hour at a time keeps the ledger short */
		return BERTH_OK;
	*open_out = (struct usd_micro){ 0 };
	row.t = t;
	return store_budget_charge(b->store, in->intent_id, &row, err);
}

/* Hours that the machine is still to run, at the speed that was measured of it; 0: its job does not
 * run on it, or is over time. */
static enum berth_code
machine_left_h(struct broker *b, const struct instance *in, const struct job *job,
    double *hours_out, struct berth_err *err)
{
	double speed = isfinite(in->speed) && in->speed > 0 ? in->speed : 1, ran, all;
	struct placing_work work;
	struct attempt at;
	enum berth_code rc;

	*hours_out = 0;
	if (job->state != JOB_RUNNING || in->ready == 0)
		return BERTH_OK;
	rc = job_attempt_open(b, job->id, in->id, &at, err);
	if (rc != BERTH_OK)
		return rc == BERTH_ENOTFOUND ? BERTH_OK : rc;
	placing_work(b->accels, &job->spec, &in->offer, &work);
	all = work.hours / speed;
	/* one that is kept for a gang begins again behind its ready */
	ran = (double)(b->now - (at.started > in->ready ? at.started : in->ready)) / 3600;
	*hours_out = fmax(0, fmin(all * (1 - at.progress_start) - ran, all * (1 - job->progress)));
	if (!isfinite(*hours_out))
		*hours_out = 0;
	return BERTH_OK;
}

/*
 * What a running machine has cost and not paid, and what it still will, stays reserved: one that is
 * slower than was promised, or runs longer, must not find its money given to others.
 */
static enum berth_code
machine_hold(struct broker *b, const struct instance *in, const struct job *job,
    struct usd_micro open, struct berth_err *err)
{
	struct usd_micro least;
	double hours = 0;
	enum berth_code rc = job != NULL ? machine_left_h(b, in, job, &hours, err) : BERTH_OK;

	if (rc == BERTH_OK)
		rc = offer_cost(&in->offer, b->now, b->now + llround(hours * 3600), &least, err);
	if (rc == BERTH_OK)
		rc = usd_add(least, open, &least, err);
	return rc == BERTH_OK ? store_budget_hold(b->store, in->intent_id, least, err) : rc;
}

enum berth_code
machine_accrue(struct broker *b, struct instance *in, int64_t t, bool final, struct berth_err *err)
{
	struct usd_micro total, more;
	enum berth_code rc;
	struct job job;
	bool found;

	if (!usd_known(in->offer.price))
		return BERTH_OK;
	if (t < in->created)
		t = in->created;
	rc = offer_cost(&in->offer, in->created, t, &total, err);
	if (rc == BERTH_OK)
		rc = usd_sub(total, in->cost, &more, err);
	if (rc != BERTH_OK)
		return rc;
	in->cost = total;
	rc = machine_job(b, in, &job, &found, err);
	if (rc == BERTH_OK && found && more.v != 0) {
		rc = usd_add(job.cost, more, &job.cost, err);
		if (rc == BERTH_OK)
			rc = store_job_update(b->store, &job, 0, err);
	}
	if (rc == BERTH_OK)
		rc = machine_charge(b, in, found ? &job : NULL, t, final, &more, err);
	return rc == BERTH_OK && !final ? machine_hold(b, in, found ? &job : NULL, more, err) : rc;
}

enum berth_code
machine_release(struct broker *b, struct instance *in, const char *reason, struct berth_err *err)
{
	if (in->state == INSTANCE_RELEASING || in->state == INSTANCE_GONE)
		return BERTH_OK;
	in->state = INSTANCE_RELEASING;
	in->end_reason = reason;
	return store_instance_update(b->store, in, err);
}

#define MACHINE_LEAST_S 60 /* billed however short it ran */

/* The offer of the same machine on demand; its price is unknown where no list has one. */
static enum berth_code
machine_on_demand(
    struct broker *b, const struct offer *spot, struct offer *out, struct berth_err *err)
{
	struct offer_query q = { .provider = spot->provider,
		.account = spot->account,
		.region = spot->region,
		.instance_type = spot->instance_type,
		.by_purchase = true,
		.purchase = PURCHASE_ON_DEMAND };
	struct offer *o;
	enum berth_code rc;
	size_t n;

	rc = store_offer_list(b->store, &q, b->tick_arena, &o, &n, err);
	*out = *spot;
	out->purchase = PURCHASE_ON_DEMAND;
	out->price = rc == BERTH_OK && n > 0 ? o[0].price : USD_UNKNOWN;
	return rc;
}

enum berth_code
machine_mistaken(struct broker *b, const struct intent *it, const struct prov_machine *pm,
    struct job *job, struct berth_err *err)
{
	struct instance in = { .account = it->account, .intent_id = it->id, .job_id = it->job_id };
	struct usd_micro open;
	enum berth_code rc;

	machine_fill(&in, pm, b->now);
	in.created = in.gone = b->now;
	in.state = INSTANCE_GONE;
	in.end_reason = "not_spot";
	rc = machine_on_demand(b, &it->offer, &in.offer, err);
	if (rc == BERTH_OK && usd_known(in.offer.price))
		rc = usd_mul_ratio(in.offer.price, MACHINE_LEAST_S, 3600, &in.cost, err);
	if (rc == BERTH_OK)
		rc = store_instance_insert(b->store, &in, &in.id, err);
	if (rc == BERTH_OK && job != NULL && in.cost.v > 0) {
		rc = usd_add(job->cost, in.cost, &job->cost, err);
		if (rc == BERTH_OK)
			rc = store_job_update(b->store, job, 0, err);
	}
	if (rc == BERTH_OK)
		rc = machine_charge(b, &in, job, b->now, true, &open, err);
	return rc;
}

/* A destroy that was asked for has its answer, whoever brought it. */
static enum berth_code
machine_settle_destroy(struct broker *b, const struct instance *in, struct berth_err *err)
{
	struct intent *its;
	enum berth_code rc;
	size_t n;

	rc = store_intent_pending(b->store, b->tick_arena, &its, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (its[i].kind == INTENT_DESTROY && its[i].instance_id == in->id)
			rc = store_intent_settle(
			    b->store, its[i].id, INTENT_DONE, in->id, "", b->now, err);
	}
	return rc;
}

static enum berth_code
machine_gone_rows(
    struct broker *b, struct instance *in, int64_t ended, const char *reason, struct berth_err *err)
{
	enum berth_code rc;

	in->state = INSTANCE_GONE;
	in->gone = ended != 0 && ended <= b->now ? ended : b->now;
	if (in->gone < in->created) /* by another clock than ours */
		in->gone = in->created;
	if (in->end_reason[0] == '\0')
		in->end_reason = reason;
	rc = machine_accrue(b, in, in->gone, true, err);
	if (rc == BERTH_OK)
		rc = store_instance_update(b->store, in, err);
	if (rc == BERTH_OK)
		rc = machine_settle_destroy(b, in, err);
	if (rc == BERTH_OK)
		rc = store_silent_delete(b->store, in->id, err);
	if (rc == BERTH_OK)
		rc = store_budget_settle(b->store, in->intent_id, b->now, err);
	if (rc == BERTH_OK)
		rc = broker_event(b, err, "instance.gone", machine_subject(b, in->id), in->job_id,
		    in, "%s after %.2f h", in->end_reason,
		    (double)(in->gone - in->created) / 3600.0);
	return rc;
}

enum berth_code
machine_gone(
    struct broker *b, struct instance *in, int64_t ended, const char *reason, struct berth_err *err)
{
	enum berth_code rc;

	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = machine_gone_rows(b, in, ended, reason, err);
	if (rc != BERTH_OK) {
		store_rollback(b->store);
		return rc;
	}
	return store_commit(b->store, err);
}
