/* release: machines that nobody needs any more are destroyed, by an intent, until the provider
 * confirms. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/runner.h"
#include "store/job_rows.h"
#include "util/time.h"

/* Whether the job of a machine still wants it. */
static enum berth_code
release_wanted(struct broker *b, const struct instance *in, bool *wanted_out, struct berth_err *err)
{
	struct attempt at;
	enum berth_code rc;
	struct job job;

	*wanted_out = false;
	if (in->job_id[0] == '\0')
		return BERTH_OK;
	rc = store_job_get(b->store, in->job_id, b->tick_arena, &job, err);
	if (rc != BERTH_OK)
		return rc == BERTH_ENOTFOUND ? BERTH_OK : rc;
	if (job.state != JOB_PLACED && job.state != JOB_RUNNING)
		return BERTH_OK;
	rc = job_attempt_open(b, job.id, in->id, &at, err);
	*wanted_out = rc == BERTH_OK;
	return rc == BERTH_ENOTFOUND ? BERTH_OK : rc;
}

static enum berth_code
release_cancelled(struct broker *b, struct instance *in, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_CANCELLED, .reason = "cancelled" };
	struct attempt at;
	enum berth_code rc;

	if (in->job_id[0] == '\0')
		return BERTH_OK;
	rc = job_attempt_open(b, in->job_id, in->id, &at, err);
	if (rc == BERTH_ENOTFOUND)
		return BERTH_OK;
	end.progress = at.progress_end;
	return rc == BERTH_OK ? job_attempt_end(b, in->job_id, in->id, &end, err) : rc;
}

static enum berth_code
release_intent(
    struct broker *b, const struct instance *in, struct intent *it_out, struct berth_err *err)
{
	struct intent it = { .kind = INTENT_DESTROY,
		.account = in->account,
		.token = "",
		.job_id = in->job_id,
		.instance_id = in->id,
		.offer = in->offer,
		.created = b->now };
	struct intent *its;
	enum berth_code rc;
	size_t n;

	rc = store_intent_pending(b->store, b->tick_arena, &its, &n, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		if (its[i].kind == INTENT_DESTROY && its[i].instance_id == in->id) {
			*it_out = its[i];
			return BERTH_OK;
		}
	}
	return store_intent_open(b->store, &it, NULL, b->tick_arena, it_out, err);
}

/*
 * A machine that goes on running when it is given back is rid of the job first; one that does not
 * answer is given back all the same.
 */
static void
release_quiet(struct broker *b, struct broker_account *acc, const struct instance *in)
{
	struct intent *its = NULL;
	struct prov_run run;
	struct berth_err why;
	struct job job;
	int rank = 0;
	size_t n = 0;

	if ((prov_account_ops(acc->prov)->caps & PROV_CAP_STAYS) == 0 || in->job_id[0] == '\0' ||
	    in->ready == 0 ||
	    store_job_get(b->store, in->job_id, b->tick_arena, &job, &why) != BERTH_OK ||
	    store_intent_gang(b->store, in->intent_id, b->tick_arena, &its, &n, &why) != BERTH_OK)
		return;
	for (size_t i = 0; i < n; i++)
		if (its[i].id == in->intent_id)
			rank = its[i].rank;
	if (runner_stop(b, in, &job, rank, &run, &why) != BERTH_OK && why.code != BERTH_ENOTFOUND)
		log_warn(b->log, "%s may still run on instance %" PRId64 ": %s", job.id, in->id,
		    why.msg);
}

static enum berth_code
release_machine(struct broker *b, struct instance *in, struct berth_err *err)
{
	struct broker_account *acc = broker_account(b, in->account);
	struct prov_machine pm;
	struct berth_err why;
	enum berth_code rc;
	struct intent it;
	int64_t since;

	rc = release_intent(b, in, &it, err);
	if (rc != BERTH_OK)
		return rc;
	if (acc == NULL || acc->prov == NULL || acc->down != BERTH_OK || !broker_pass_left(b, acc))
		return BERTH_OK; /* kept until its account answers again, or has time */
	since = time_mono_ms();
	release_quiet(b, acc, in);
	rc = prov_destroy(acc->prov, in->provider_ref, &pm, &why);
	broker_pass_spent(acc, since);
	if (rc != BERTH_OK) {
		b->counts.errors++;
		log_warn(b->log, "instance %" PRId64 " (%s) is not gone yet: %s", in->id,
		    in->provider_ref, why.msg);
		return BERTH_OK;
	}
	if (pm.state != PROV_GONE)
		return BERTH_OK;
	b->counts.released++;
	return machine_gone(b, in, pm.ended, "released", err);
}

enum berth_code
broker_give_back(struct broker *b, struct instance *in, const char *reason, struct berth_err *err)
{
	enum berth_code rc = machine_release(b, in, reason, err);

	return rc == BERTH_OK ? release_machine(b, in, err) : rc;
}

enum berth_code
pass_release(struct broker *b, struct berth_err *err)
{
	struct instance *ins;
	enum berth_code rc;
	bool wanted;
	size_t n;

	broker_pass_begin(b);
	rc = store_instance_list(b->store, INSTANCE_ALIVE, b->tick_arena, &ins, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		rc = release_wanted(b, &ins[i], &wanted, err);
		if (rc != BERTH_OK || (wanted && ins[i].state != INSTANCE_RELEASING))
			continue;
		rc = release_cancelled(b, &ins[i], err);
		if (rc == BERTH_OK)
			rc = broker_give_back(b, &ins[i], "released", err);
	}
	return rc;
}
