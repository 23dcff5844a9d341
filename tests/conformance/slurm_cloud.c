#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/account.h"
#include "tests/conformance/clouds.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

#define ROOM 2		/* GPUs of the node */

static struct job { char comment[200]; int gpus; int64_t submitted, ended; } jobs[64];
static size_t n_jobs;

void
slurm_cloud_reset(void)
{
	n_jobs = 0;
}

static enum berth_code
answer(struct http_resp *resp, int status, const char *body)
{
	resp->status = status;
	resp->body = body;
	resp->body_len = strlen(body);
	resp->headers[0] = (struct http_header){ "Content-Type", "application/json", false };
	resp->n_headers = 1;
	return BERTH_OK;
}

static enum berth_code
refuse(struct http_resp *resp, int code, const char *text)
{
	return answer(resp, 500, arena_printf(resp->arena, "{\"meta\":{},\"errors\":[{\"error_number\":%d,\"error\":\"%s\"}]}",
	    code, text));
}

/* Whether a job runs now: first come, first served, and nobody is passed by. */
static bool
runs(size_t at, int64_t now)
{
	int held = 0;

	for (size_t i = 0; i <= at; i++)
		if (jobs[i].ended == 0)
			held += jobs[i].gpus;
	return jobs[at].ended == 0 && held <= ROOM && now >= jobs[at].submitted + 10;
}

static int
held(int64_t now)
{
	int n = 0;

	for (size_t i = 0; i < n_jobs; i++)
		n += runs(i, now) ? jobs[i].gpus : 0;
	return n;
}

static const char *
job_json(struct arena *a, size_t i, int64_t now)
{
	const struct job *j = &jobs[i];
	bool run = runs(i, now);

	return arena_printf(a, "{\"job_id\":%zu,\"job_state\":[\"%s\"],\"state_reason\":\"%s\",\"comment\":\"%s\","
	    "\"user_name\":\"ann\",\"partition\":\"gpu\",\"qos\":\"normal\",\"batch_host\":\"%s\",\"nodes\":\"%s\",\"restart_cnt\":0,"
	    "\"submit_time\":{\"set\":true,\"infinite\":false,\"number\":%lld},"
	    "\"start_time\":{\"set\":true,\"infinite\":false,\"number\":%lld},"
	    "\"end_time\":{\"set\":true,\"infinite\":false,\"number\":%lld},\"preempt_time\":{\"set\":false,\"infinite\":false,"
	    "\"number\":0}}", i + 1, j->ended != 0 ? "CANCELLED" : run ? "RUNNING" : "PENDING",
	    j->ended != 0 || run ? "None" : "Resources", j->comment, run ? "n1" : "", run ? "n1" : "", (long long)j->submitted,
	    run ? (long long)j->submitted + 10 : 0LL, j->ended != 0 ? (long long)j->ended : (long long)j->submitted + 86400);
}

static bool
kept(size_t i, int64_t now)
{
	return jobs[i].ended == 0 || now < jobs[i].ended + 300;
}

static enum berth_code
list(struct http_resp *resp, int64_t now)
{
	const char *text = "{\"jobs\":[{\"job_id\":900,\"job_state\":[\"SUSPENDED\"],\"user_name\":\"bob\",\"comment\":\"berth? no\"}";

	for (size_t i = 0; i < n_jobs; i++)
		if (kept(i, now))
			text = arena_printf(resp->arena, "%s,%s", text, job_json(resp->arena, i, now));
	return answer(resp, 200, arena_printf(resp->arena, "%s],\"errors\":[],\"warnings\":[]}", text));
}

static enum berth_code
submit(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	struct jsonr root, job;
	json_t *v = NULL;
	const char *comment = "", *tres = "", *script = "";
	enum berth_code rc = BERTH_OK;

	if (jsonr_parse(req->body, req->body_len, "request", &v, NULL) != BERTH_OK)
		return answer(resp, 400, "Unable to parse query.");
	root = jsonr_root(v, "request");
	job = jsonr_get(&root, "job");
	(void)!jsonr_str(&job, "comment", &comment, NULL);
	(void)!jsonr_str(&job, "tres_per_node", &tres, NULL);
	(void)!jsonr_str(&job, "script", &script, NULL);
	if (!json_is_array(json_object_get(job.v, "environment")) || !str_starts(script, "#!") || n_jobs == 64)
		rc = refuse(resp, 9001, "Failure during parsing");
	else if (!str_eq(tres, "gres/gpu:l4=1"))
		rc = refuse(resp, 2014, "Requested node configuration is not available");
	else {
		jobs[n_jobs] = (struct job){ "", 1, now, 0 };
		str_copy(jobs[n_jobs++].comment, sizeof(jobs[0].comment), comment);
		rc = answer(resp, 200, arena_printf(resp->arena, "{\"job_id\":%zu,\"step_id\":\"batch\",\"errors\":[]}", n_jobs));
	}
	json_decref(v);
	return rc;
}

static enum berth_code
one(const struct http_req *req, struct http_resp *resp, const char *id, int64_t now)
{
	int64_t n = 0;

	if (str_to_i64(id, 1, (int64_t)n_jobs, &n, NULL) != BERTH_OK || !kept((size_t)n - 1, now))
		return refuse(resp, 2017, "Invalid job id specified");
	if (str_eq(req->method, "DELETE")) {
		if (jobs[n - 1].ended == 0)
			jobs[n - 1].ended = now;
		return answer(resp, 200, "{\"errors\":[],\"warnings\":[]}");
	}
	return answer(resp, 200, arena_printf(resp->arena, "{\"jobs\":[%s],\"errors\":[]}", job_json(resp->arena,
	    (size_t)n - 1, now)));
}

enum berth_code
slurm_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *user = http_req_get_header(req, "X-SLURM-USER-NAME"), *token = http_req_get_header(req, "X-SLURM-USER-TOKEN");
	const char *path = req->url + strlen("http://127.0.0.1:6820/slurm/");

	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (user == NULL || token == NULL || !str_eq(user, "ann") || !str_eq(token, "key-SECRET"))
		return answer(resp, 401, "Authentication failure");
	if (!str_starts(path, "v0.0.41/") && !str_starts(path, "/v0.0.41/") && !str_starts(path, "b/v0.0.41/"))
		return answer(resp, 404, "Unable find requested URL.");
	path = strstr(path, "v0.0.41/") + strlen("v0.0.41/");
	if (str_eq(path, "ping"))
		return answer(resp, 200, "{\"pings\":[],\"errors\":[]}");
	if (str_eq(path, "partitions"))
		return answer(resp, 200, "{\"partitions\":[{\"name\":\"gpu\",\"partition\":{\"state\":[\"UP\"]}},"
		    "{\"name\":\"off\",\"partition\":{\"state\":[\"DOWN\"]}}],\"errors\":[]}");
	if (str_eq(path, "nodes"))
		return answer(resp, 200, arena_printf(resp->arena, "{\"nodes\":[{\"name\":\"n1\",\"state\":[\"MIXED\"],\"cpus\":32,"
		    "\"alloc_cpus\":0,\"real_memory\":131072,\"alloc_memory\":0,\"gres\":\"gpu:l4:2(S:0)\",\"gres_used\":"
		    "\"gpu:l4:%d(IDX:0)\",\"partitions\":[\"gpu\",\"off\"],\"features\":[\"l4\"]}],\"errors\":[]}",
		    held(acc->env.now)));
	if (str_eq(path, "qos"))
		return answer(resp, 200, "{\"qos\":[{\"name\":\"normal\",\"limits\":{\"max\":{\"tres\":{\"total\":[],\"per\":{\"user\":"
		    "[{\"type\":\"gres\",\"name\":\"gpu\",\"count\":8},{\"type\":\"cpu\",\"name\":\"\",\"count\":9}]}}}}}],"
		    "\"errors\":[]}");
	if (str_eq(path, "jobs"))
		return list(resp, acc->env.now);
	if (str_eq(path, "job/submit"))
		return submit(req, resp, acc->env.now);
	return str_starts(path, "job/") ? one(req, resp, path + 4, acc->env.now) : answer(resp, 404, "Unable find requested URL.");
}
