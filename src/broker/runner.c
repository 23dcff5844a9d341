/* Work on one machine: by the provider itself where it can, else over ssh. */
#include <string.h>

#include "broker/idling.h"
#include "broker/runner.h"
#include "broker/shell.h"

static enum berth_code
runner_account(struct broker *b, const struct instance *in, unsigned cap,
    struct prov_account **prov_out, bool *by_provider_out, struct berth_err *err)
{
	struct broker_account *acc = broker_account(b, in->account);

	if (acc == NULL || acc->prov == NULL)
		return err_set(err, BERTH_ETRANSIENT, "account %s is not open", in->account);
	*prov_out = acc->prov;
	*by_provider_out = (prov_account_ops(acc->prov)->caps & cap) != 0;
	return BERTH_OK;
}

enum berth_code
runner_start(struct broker *b, const struct instance *in, const struct job *job,
    const struct prov_job *pj, struct prov_run *run_out, struct berth_err *err)
{
	struct prov_account *prov;
	enum berth_code rc;
	bool by_provider;

	rc = runner_account(b, in, PROV_CAP_RUN, &prov, &by_provider, err);
	if (rc != BERTH_OK)
		return rc;
	if (by_provider)
		return prov_start(prov, in->provider_ref, pj, run_out, err);
	return shell_start(in->address, job, pj, b->tick_arena, run_out, err);
}

enum berth_code
runner_poll(struct broker *b, const struct instance *in, const struct job *job, int rank,
    int64_t interval_s, struct prov_run *run_out, struct berth_err *err)
{
	struct prov_account *prov;
	struct idle_rule idle;
	enum berth_code rc;
	bool by_provider;

	rc = runner_account(b, in, PROV_CAP_RUN, &prov, &by_provider, err);
	if (rc != BERTH_OK)
		return rc;
	if (by_provider)
		return prov_poll(prov, in->provider_ref, job->id, interval_s, run_out, err);
	idling_rule(&b->idle, &job->spec, &idle);
	return shell_poll(in->address, job, rank, interval_s, idle.alert_s > 0 || idle.stop_s > 0,
	    b->tick_arena, run_out, err);
}

enum berth_code
runner_stop(struct broker *b, const struct instance *in, const struct job *job, int rank,
    struct prov_run *run_out, struct berth_err *err)
{
	struct prov_account *prov;
	enum berth_code rc;
	bool by_provider;

	rc = runner_account(b, in, PROV_CAP_RUN, &prov, &by_provider, err);
	if (rc != BERTH_OK)
		return rc;
	if (by_provider)
		return prov_stop(prov, in->provider_ref, job->id, run_out, err);
	return shell_stop(in->address, job, rank, b->tick_arena, run_out, err);
}

enum berth_code
runner_measure(
    struct broker *b, const struct instance *in, const char **json_out, struct berth_err *err)
{
	struct prov_account *prov;
	enum berth_code rc;
	bool by_provider;

	rc = runner_account(b, in, PROV_CAP_MEASURE, &prov, &by_provider, err);
	if (rc != BERTH_OK)
		return rc;
	if (by_provider)
		return prov_measure(prov, in->provider_ref, b->tick_arena, json_out, err);
	return shell_measure(in->address, b->probe_path,
	    bench_find(b->benches, b->n_benches,
		accel_find_sized(
		    b->accels, in->offer.accelerator, in->offer.accelerator_memory_gib)),
	    b->tick_arena, json_out, err);
}
