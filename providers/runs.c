#include <math.h>
#include <string.h>

#include "providers/account.h"
#include "util/arena.h"

enum runs_verb { RUNS_START, RUNS_POLL, RUNS_STOP };

struct runs_call {
	enum runs_verb verb;
	const char *ref, *job_id;
	const struct prov_job *job;	/* RUNS_START only */
};

static enum berth_code
runs_build(struct prov_account *acc, const struct runs_call *c, struct http_req *req, struct berth_err *err)
{
	const struct prov_run_ops *r = acc->ops->run;

	switch (c->verb) {
	case RUNS_START:
		return r->start_build(acc->st, c->ref, c->job, req, err);
	case RUNS_POLL:
		return r->poll_build(acc->st, c->ref, c->job_id, req, err);
	case RUNS_STOP:
		return r->stop_build(acc->st, c->ref, c->job_id, req, err);
	}
	return BERTH_EFAIL;
}

static enum berth_code
runs_parse(struct prov_account *acc, const struct runs_call *c, const struct http_resp *resp, struct prov_run *run_out,
    struct berth_err *err)
{
	const struct prov_run_ops *r = acc->ops->run;

	switch (c->verb) {
	case RUNS_START:
		return r->start_parse(acc->st, resp, c->ref, run_out, err);
	case RUNS_POLL:
		return r->poll_parse(acc->st, resp, c->ref, run_out, err);
	case RUNS_STOP:
		return r->stop_parse(acc->st, resp, c->ref, run_out, err);
	}
	return BERTH_EFAIL;
}

/* What an answer says about progress is outside data. */
static enum berth_code
runs_check(const struct prov_run *run, struct berth_err *err)
{
	if (!(run->progress >= 0 && run->progress <= 1 && run->safe_progress >= 0 &&
	    run->safe_progress <= run->progress))
		return err_set(err, BERTH_EINVAL, "progress %g, of which %g safe: not shares of one work", run->progress,
		    run->safe_progress);
	return BERTH_OK;
}

static enum berth_code
runs_call(struct prov_account *acc, const struct runs_call *c, struct prov_run *run_out, struct berth_err *err)
{
	enum berth_code rc = account_need(acc, PROV_CAP_RUN, "run jobs itself", err);
	struct http_req req = { 0 };
	struct http_resp resp;

	if (rc != BERTH_OK)
		return rc;
	memset(run_out, 0, sizeof(*run_out));
	req.arena = arena_new();
	rc = runs_build(acc, c, &req, err);
	if (rc == BERTH_OK)
		rc = account_send(acc, &req, c->verb == RUNS_POLL ? ACCOUNT_READ : ACCOUNT_REPEATABLE, false, &resp, err);
	if (rc == BERTH_OK)
		rc = runs_parse(acc, c, &resp, run_out, err);
	if (rc == BERTH_OK)
		rc = runs_check(run_out, err);
	arena_free(req.arena);
	if (rc != BERTH_OK)
		err_ctx(err, "%s: job %s on %s", acc->env.account, c->job_id, c->ref);
	return rc;
}

enum berth_code
prov_start(struct prov_account *account, const char *ref, const struct prov_job *job, struct prov_run *run_out,
    struct berth_err *err)
{
	struct runs_call c = { RUNS_START, ref, job->job_id, job };

	if (!(job->work_hours > 0) || !isfinite(job->work_hours) || !(job->progress >= 0 && job->progress < 1))
		return err_set(err, BERTH_EINVAL, "job %s: %g hours of work, %g of it done", job->job_id, job->work_hours,
		    job->progress);
	return runs_call(account, &c, run_out, err);
}

enum berth_code
prov_poll(struct prov_account *account, const char *ref, const char *job_id, struct prov_run *run_out,
    struct berth_err *err)
{
	struct runs_call c = { RUNS_POLL, ref, job_id, NULL };

	return runs_call(account, &c, run_out, err);
}

enum berth_code
prov_stop(struct prov_account *account, const char *ref, const char *job_id, struct prov_run *run_out,
    struct berth_err *err)
{
	struct runs_call c = { RUNS_STOP, ref, job_id, NULL };

	return runs_call(account, &c, run_out, err);
}

enum berth_code
prov_measure(struct prov_account *account, const char *ref, struct arena *arena, const char **json_out,
    struct berth_err *err)
{
	enum berth_code rc = account_need(account, PROV_CAP_MEASURE, "measure a machine itself", err);
	struct http_req req = { 0 };
	struct http_resp resp;
	const char *json = NULL;

	if (rc != BERTH_OK)
		return rc;
	req.arena = arena_new();
	rc = account->ops->run->measure_build(account->st, ref, &req, err);
	if (rc == BERTH_OK)
		rc = account_send(account, &req, ACCOUNT_READ, false, &resp, err);
	if (rc == BERTH_OK)
		rc = account->ops->run->measure_parse(account->st, &resp, ref, &json, err);
	if (rc == BERTH_OK)
		*json_out = arena_strdup(arena, json);
	arena_free(req.arena);
	if (rc != BERTH_OK)
		err_ctx(err, "%s: measure %s", account->env.account, ref);
	return rc;
}
