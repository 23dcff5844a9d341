#include <string.h>

#include "providers/prov.h"
#include "providers/replay/replay_int.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"

#define REPLAY_BODY_MAX 65536

static enum berth_code
replay_run_read(const struct jsonr *o, struct prov_run *r, struct berth_err *err)
{
	static const char *const needed[] = { "state", "progress", "safe_progress", NULL };
	const char *state = "", *detail = "";
	int64_t status = 0;
	enum berth_code rc;

	memset(r, 0, sizeof(*r));
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "state", &state, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "progress", &r->progress, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "safe_progress", &r->safe_progress, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "started", &r->started, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "ended", &r->ended, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "notice_at", &r->notice_at, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "reclaim_at", &r->reclaim_at, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "exit_status", 0, 255, &status, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "detail", &detail, err)) != BERTH_OK)
		return rc;
	r->exit_status = (int)status;
	str_copy(r->detail, sizeof(r->detail), detail);
	for (int i = 0; i < PROV_RUN_STATE_COUNT; i++)
		if (str_eq(state, prov_run_state_name((enum prov_run_state)i))) {
			r->state = (enum prov_run_state)i;
			return BERTH_OK;
		}
	return jsonr_err(o, BERTH_EINVAL, err, "state '%s'", state);
}

static enum berth_code
replay_run_parse(void *st, const struct http_resp *resp, const char *ref, struct prov_run *run_out,
    struct berth_err *err)
{
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc;

	(void)st, (void)ref;
	if ((rc = jsonr_parse(resp->body, resp->body_len, "job", &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "job");
	rc = replay_run_read(&root, run_out, err);
	json_decref(v);
	return rc;
}

static enum berth_code
replay_start_build(void *st, const char *ref, const struct prov_job *job, struct http_req *req,
    struct berth_err *err)
{
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	(void)st;
	buf_init(&b, REPLAY_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "job", job->job_id);
	jsonw_double(&w, "work_hours", job->work_hours);
	jsonw_double(&w, "progress", job->progress);
	jsonw_int(&w, "checkpoint_interval_s", job->checkpoint_interval_s);
	jsonw_int(&w, "checkpoint_write_s", job->checkpoint_write_s);
	jsonw_int(&w, "restart_s", job->restart_s);
	jsonw_end_object(&w);
	rc = wirejson_body(&w, &b, req, err);
	if (rc != BERTH_OK)
		return rc;
	return replay_request(req, "POST",
	    arena_printf(req->arena, "machines/%s/job", http_urlencode(req->arena, ref)));
}

static enum berth_code
replay_job_request(struct http_req *req, const char *method, const char *ref, const char *job_id)
{
	return replay_request(req, method,
	    arena_printf(req->arena, "machines/%s/job/%s", http_urlencode(req->arena, ref),
		http_urlencode(req->arena, job_id)));
}

static enum berth_code
replay_poll_build(void *st, const char *ref, const char *job_id, int64_t interval_s,
    struct http_req *req, struct berth_err *err)
{
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	(void)st;
	if (interval_s <= 0)
		return replay_job_request(req, "GET", ref, job_id);
	buf_init(&b, REPLAY_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_int(&w, "checkpoint_interval_s", interval_s);
	jsonw_end_object(&w);
	rc = wirejson_body(&w, &b, req, err);
	return rc == BERTH_OK ? replay_job_request(req, "PUT", ref, job_id) : rc;
}

static enum berth_code
replay_stop_build(
    void *st, const char *ref, const char *job_id, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return replay_job_request(req, "DELETE", ref, job_id);
}

static enum berth_code
replay_measure_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return replay_request(req, "GET",
	    arena_printf(req->arena, "machines/%s/measure", http_urlencode(req->arena, ref)));
}

/* The result is outside bytes to whoever judges it; here it only has to be text. */
static enum berth_code
replay_measure_parse(void *st, const struct http_resp *resp, const char *ref, const char **json_out,
    struct berth_err *err)
{
	(void)st;
	if (strlen(resp->body) != resp->body_len || resp->body_len == 0)
		return err_set(err, BERTH_EINVAL, "%s: no result", ref);
	*json_out = resp->body;
	return BERTH_OK;
}

const struct prov_run_ops replay_run = {
	.start_build = replay_start_build,
	.start_parse = replay_run_parse,
	.poll_build = replay_poll_build,
	.poll_parse = replay_run_parse,
	.stop_build = replay_stop_build,
	.stop_parse = replay_run_parse,
	.measure_build = replay_measure_build,
	.measure_parse = replay_measure_parse,
};
