#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/account.h"
#include "tests/conformance/clouds.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

#define HOST "http://127.0.0.1:6443"
#define ROOM 2

static struct job { char name[80], installation[64], notes[400]; int64_t created, ended; } jobs[64];
static size_t n_jobs;
static int expiries;		/* how often the second page of nodes was refused for its token */

void
kube_cloud_reset(void)
{
	n_jobs = 0;
	expiries = 0;
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
refuse(struct http_resp *resp, int status, const char *reason, const char *text)
{
	return answer(resp, status, arena_printf(resp->arena, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
	    "\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}", text, reason, status));
}

static bool
runs(size_t at, int64_t now)
{
	int held = 0;

	for (size_t i = 0; i <= at; i++)
		held += jobs[i].ended == 0;
	return jobs[at].ended == 0 && held <= ROOM && now >= jobs[at].created + 20;
}

static bool
there(size_t i, int64_t now)
{
	return jobs[i].ended == 0 || now < jobs[i].ended + 5;
}

static const char *
meta(struct arena *a, const struct job *j, const char *more)
{
	char created[TIME_FMT_SIZE];

	return arena_printf(a, "{\"name\":\"%s\",\"uid\":\"uid-%s\",\"labels\":{\"berth-installation\":\"%s\",\"job-name\":\"%s\"},"
	    "\"annotations\":{%s},\"creationTimestamp\":\"%s\"%s}", j->name, j->name, j->installation, j->name, j->notes,
	    time_fmt(created, j->created), more);
}

static const char *
job_json(struct arena *a, size_t i)
{
	return arena_printf(a, "{\"kind\":\"Job\",\"metadata\":%s,\"status\":{\"active\":1}}", meta(a, &jobs[i], jobs[i].ended != 0 ?
	    ",\"deletionTimestamp\":\"2026-11-30T00:00:00Z\"" : ""));
}

static const char *
pod_json(struct arena *a, size_t i, int64_t now)
{
	return arena_printf(a, "{\"metadata\":%s,\"spec\":{%s\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":"
	    "{\"nvidia.com/gpu\":\"1\"}}}]},\"status\":{%s}}", meta(a, &jobs[i], ""), runs(i, now) ? "\"nodeName\":\"n1\"," : "",
	    runs(i, now) ? "\"phase\":\"Running\",\"podIP\":\"10.0.0.9\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]" :
	    "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\","
	    "\"message\":\"0/1 nodes are available: 1 Insufficient nvidia.com/gpu.\"}]");
}

static enum berth_code
list(struct http_resp *resp, const char *mine, bool pods, const char *name, int64_t now)
{
	const char *text = "";

	for (size_t i = 0; i < n_jobs; i++)
		if (there(i, now) && (mine == NULL || str_eq(jobs[i].installation, mine)) && (name == NULL || str_eq(jobs[i].name, name)))
			text = arena_printf(resp->arena, "%s%s%s", text, text[0] != '\0' ? "," : "", pods ? pod_json(resp->arena, i, now) :
			    job_json(resp->arena, i));
	return answer(resp, 200, arena_printf(resp->arena, "{\"kind\":\"List\",\"metadata\":{},\"items\":[%s]}", text));
}

static enum berth_code
nodes(const char *path, struct http_resp *resp)
{
	const char *rest = strstr(path, "continue=");

	if (rest == NULL)
		return answer(resp, 200, "{\"metadata\":{\"continue\":\"abc\"},\"items\":[{\"metadata\":{\"name\":\"n0\",\"labels\":{}},"
		    "\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\"}}}]}");
	if (expiries++ == 0)
		return refuse(resp, 410, "Expired", "The provided continue parameter is too old");
	return answer(resp, 200, "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"n1\",\"labels\":{\"nvidia.com/gpu.product\":"
	    "\"NVIDIA-L4\",\"topology.kubernetes.io/zone\":\"z\"}},\"spec\":{\"taints\":[{\"key\":\"nvidia.com/gpu\",\"effect\":"
	    "\"NoSchedule\"}]},\"status\":{\"allocatable\":{\"cpu\":\"15900m\",\"memory\":\"65536Mi\",\"nvidia.com/gpu\":\"2\"},"
	    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}]}");
}

static const char *
text_at(json_t *v, const char *key)
{
	json_t *o = json_object_get(v, key);

	return json_is_string(o) ? json_string_value(o) : "";
}

static enum berth_code
make(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	struct job *j = &jobs[n_jobs];
	json_t *v = NULL, *m, *notes, *limits;
	enum berth_code rc;

	if (n_jobs == 64 || jsonr_parse(req->body, req->body_len, "request", &v, NULL) != BERTH_OK)
		return refuse(resp, 400, "BadRequest", "no JSON");
	m = json_object_get(v, "metadata");
	notes = json_object_get(m, "annotations");
	limits = json_object_get(json_object_get(json_array_get(json_object_get(json_object_get(json_object_get(json_object_get(v, "spec"),
	    "template"), "spec"), "containers"), 0), "resources"), "limits");
	*j = (struct job){ .created = now };
	str_copy(j->name, sizeof(j->name), text_at(m, "name"));
	str_copy(j->installation, sizeof(j->installation), text_at(json_object_get(m, "labels"), "berth-installation"));
	snprintf(j->notes, sizeof(j->notes), "\"berth-token\":\"%s\",\"berth-type\":\"%s\",\"berth-zone\":\"%s\"", text_at(notes, "berth-token"),
	    text_at(notes, "berth-type"), text_at(notes, "berth-zone"));
	for (size_t i = 0; i < n_jobs; i++)
		if (str_eq(jobs[i].name, j->name)) {
			json_decref(v);
			return refuse(resp, 409, "AlreadyExists", "jobs.batch already exists");
		}
	if (!str_eq(text_at(v, "kind"), "Job") || !str_eq(text_at(limits, "nvidia.com/gpu"), "1"))
		rc = refuse(resp, 422, "Invalid", "no Job of one GPU");
	else
		rc = answer(resp, 201, job_json(resp->arena, n_jobs++));
	json_decref(v);
	return rc;
}

static enum berth_code
one(const struct http_req *req, struct http_resp *resp, const char *name, int64_t now)
{
	char bare[80];

	str_copy(bare, sizeof(bare), arena_strndup(resp->arena, name, strcspn(name, "?")));
	for (size_t i = 0; i < n_jobs; i++) {
		if (!str_eq(jobs[i].name, bare) || !there(i, now))
			continue;
		if (!str_eq(req->method, "DELETE"))
			return answer(resp, 200, job_json(resp->arena, i));
		if (strstr(name, "propagationPolicy=Background") == NULL)
			return refuse(resp, 422, "Invalid", "its pods would go on");
		if (jobs[i].ended == 0)
			jobs[i].ended = now;
		return answer(resp, 200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
	}
	return refuse(resp, 404, "NotFound", "jobs.batch not found");
}

enum berth_code
kube_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *auth = http_req_get_header(req, "Authorization"), *path = req->url + strlen(HOST), *at;
	int64_t now = acc->env.now;

	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (!str_starts(req->url, HOST) || auth == NULL || !str_eq(auth, "Bearer key-SECRET"))
		return refuse(resp, 401, "Unauthorized", "Unauthorized");
	if (str_starts(path, "/api/v1/nodes"))
		return nodes(path, resp);
	if (str_starts(path, "/api/v1/pods?"))
		return list(resp, NULL, true, NULL, now);
	if ((at = strstr(path, "labelSelector=job-name%3D")) != NULL)
		return list(resp, NULL, true, at + strlen("labelSelector=job-name%3D"), now);
	if ((at = strstr(path, "labelSelector=berth-installation%3D")) != NULL) {
		at += strlen("labelSelector=berth-installation%3D");
		return list(resp, arena_strndup(req->arena, at, strcspn(at, "&")), strstr(path, "/pods?") != NULL, NULL, now);
	}
	if (str_starts(path, "/api/v1/namespaces/lab/resourcequotas"))
		return answer(resp, 200, "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"q\"},\"status\":{\"hard\":"
		    "{\"requests.nvidia.com/gpu\":\"8\",\"services\":\"3\"},\"used\":{\"requests.nvidia.com/gpu\":\"1\"}}}]}");
	if (str_eq(path, "/apis/batch/v1/namespaces/lab/jobs"))
		return make(req, resp, now);
	if (str_starts(path, "/apis/batch/v1/namespaces/lab/jobs/"))
		return one(req, resp, path + strlen("/apis/batch/v1/namespaces/lab/jobs/"), now);
	return refuse(resp, 404, "NotFound", "the server could not find the requested resource");
}
