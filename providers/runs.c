#include <math.h>
#include <string.h>

#include "providers/flow.h"
#include "util/arena.h"

enum runs_verb { RUNS_START, RUNS_POLL, RUNS_STOP };

struct runs_call {
	struct prov_account *acc;
	enum runs_verb verb;
	const char *ref, *job_id;
	const struct prov_job *job; /* RUNS_START only */
	int64_t interval_s;         /* RUNS_POLL only */
	struct prov_run run;
};

static enum berth_code
runs_build(void *arg, struct http_req *req, struct berth_err *err)
{
	const struct runs_call *c = arg;
	const struct prov_run_ops *r = c->acc->ops->run;

	switch (c->verb) {
	case RUNS_START:
		return r->start_build(c->acc->st, c->ref, c->job, req, err);
	case RUNS_POLL:
		return r->poll_build(c->acc->st, c->ref, c->job_id, c->interval_s, req, err);
	case RUNS_STOP:
		return r->stop_build(c->acc->st, c->ref, c->job_id, req, err);
	}
	return BERTH_EFAIL;
}

/* What an answer says about progress is outside data. */
static enum berth_code
runs_check(const struct prov_run *run, struct berth_err *err)
{
	if (!(run->progress >= 0 && run->progress <= 1 && run->safe_progress >= 0 &&
		run->safe_progress <= run->progress))
		return err_set(err, BERTH_EINVAL,
		    "progress %g, of which %g safe: not shares of one work", run->progress,
		    run->safe_progress);
	return BERTH_OK;
}

static enum berth_code
runs_read(struct runs_call *c, const struct http_resp *resp, struct berth_err *err)
{
	const struct prov_run_ops *r = c->acc->ops->run;

	switch (c->verb) {
	case RUNS_START:
		return r->start_parse(c->acc->st, resp, c->ref, &c->run, err);
	case RUNS_POLL:
		return r->poll_parse(c->acc->st, resp, c->ref, &c->run, err);
	case RUNS_STOP:
		return r->stop_parse(c->acc->st, resp, c->ref, &c->run, err);
	}
	return BERTH_EFAIL;
}

static enum berth_code
runs_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct runs_call *c = arg;
	enum berth_code rc = runs_read(c, resp, err);

	(void)more_out;
	return rc == BERTH_OK ? runs_check(&c->run, err) : rc;
}

static enum berth_code
runs_call(
    struct prov_account *acc, struct runs_call *c, struct prov_run *run_out, struct berth_err *err)
{
	enum berth_code rc = account_need(acc, PROV_CAP_RUN, "run jobs itself", err);
	struct flow_call call = { .repeat = c->verb == RUNS_POLL ? FLOW_READ : FLOW_REPEATABLE,
		.build = runs_build,
		.parse = runs_parse,
		.arg = c };
	struct flow f;

	if (rc != BERTH_OK)
		return rc;
	c->acc = acc;
	flow_init(&f, acc, &call);
	rc = flow_run_one(&f, err);
	*run_out = c->run;
	if (rc != BERTH_OK)
		err_ctx(err, "%s: job %s on %s", acc->env.account, c->job_id, c->ref);
	return rc;
}

enum berth_code
prov_start(struct prov_account *account, const char *ref, const struct prov_job *job,
    struct prov_run *run_out, struct berth_err *err)
{
	struct runs_call c = { .verb = RUNS_START, .ref = ref, .job_id = job->job_id, .job = job };

	if (!(job->work_hours > 0) || !isfinite(job->work_hours) ||
	    !(job->progress >= 0 && job->progress < 1))
		return err_set(err, BERTH_EINVAL, "job %s: %g hours of work, %g of it done",
		    job->job_id, job->work_hours, job->progress);
	return runs_call(account, &c, run_out, err);
}

enum berth_code
prov_poll(struct prov_account *account, const char *ref, const char *job_id, int64_t interval_s,
    struct prov_run *run_out, struct berth_err *err)
{
	struct runs_call c = {
		.verb = RUNS_POLL, .ref = ref, .job_id = job_id, .interval_s = interval_s
	};

	return runs_call(account, &c, run_out, err);
}

enum berth_code
prov_stop(struct prov_account *account, const char *ref, const char *job_id,
    struct prov_run *run_out, struct berth_err *err)
{
	struct runs_call c = { .verb = RUNS_STOP, .ref = ref, .job_id = job_id };

	return runs_call(account, &c, run_out, err);
}

struct runs_measure {
	struct prov_account *acc;
	const char *ref, *json;
	struct arena *arena;
};

static enum berth_code
runs_measure_build(void *arg, struct http_req *req, struct berth_err *err)
{
	struct runs_measure *m = arg;

	return m->acc->ops->run->measure_build(m->acc->st, m->ref, req, err);
}

static enum berth_code
runs_measure_parse(void *arg, const struct http_resp *resp, bool *more_out, struct berth_err *err)
{
	struct runs_measure *m = arg;
	const char *json = NULL;
	enum berth_code rc = m->acc->ops->run->measure_parse(m->acc->st, resp, m->ref, &json, err);

	(void)more_out;
	if (rc == BERTH_OK)
		m->json = arena_strdup(m->arena, json);
	return rc;
}

enum berth_code
prov_measure(struct prov_account *account, const char *ref, struct arena *arena,
    const char **json_out, struct berth_err *err)
{
	enum berth_code rc =
	    account_need(account, PROV_CAP_MEASURE, "measure a machine itself", err);
	struct runs_measure m = { .acc = account, .ref = ref, .arena = arena };
	struct flow_call call = { .repeat = FLOW_READ,
		.build = runs_measure_build,
		.parse = runs_measure_parse,
		.arg = &m };
	struct flow f;

	if (rc != BERTH_OK)
		return rc;
	flow_init(&f, account, &call);
	rc = flow_run_one(&f, err);
	if (rc == BERTH_OK)
		*json_out = m.json;
	else
		err_ctx(err, "%s: measure %s", account->env.account, ref);
	return rc;
}
