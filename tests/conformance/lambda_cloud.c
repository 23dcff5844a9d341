#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/account.h"
#include "tests/conformance/clouds.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

#define ROOM 2

static struct machine { char id[40], name[80]; int64_t created, ended; } machines[64];
static size_t n_machines;

void
lambda_cloud_reset(void)
{
	n_machines = 0;
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
refuse(struct http_resp *resp, int status, const char *code)
{
	return answer(resp, status, arena_printf(resp->arena, "{\"error\":{\"code\":\"%s\",\"message\":\"no\",\"suggestion\":null}}",
	    code));
}

static const char *
status_of(const struct machine *m, int64_t now)
{
	if (m->ended != 0)
		return now >= m->ended + 30 ? "terminated" : "terminating";
	return now >= m->created + 60 ? "active" : "booting";
}

static const char *
as_json(struct arena *a, const struct machine *m, int64_t now)
{
	return arena_printf(a, "{\"id\":\"%s\",\"name\":\"%s\",\"ip\":%s,\"status\":\"%s\",\"ssh_key_names\":[\"ours\"],"
	    "\"region\":{\"name\":\"eu-9\",\"description\":\"Nowhere\"},\"instance_type\":{\"name\":\"gpu_1x_l4\","
	    "\"description\":\"1x L4 (24 GB)\",\"price_cents_per_hour\":75,\"specs\":{\"vcpus\":8,\"memory_gib\":32,"
	    "\"storage_gib\":100,\"gpus\":1}}}", m->id, m->name, str_eq(status_of(m, now), "active") ? "\"192.0.2.7\"" : "null",
	    status_of(m, now));
}

static size_t
up(int64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < n_machines; i++)
		n += !str_eq(status_of(&machines[i], now), "terminated");
	return n;
}

static const char *
types(struct arena *a, int64_t now)
{
	return arena_printf(a, "{\"data\":{\"cpu_4x\":{\"instance_type\":{\"name\":\"cpu_4x\",\"description\":\"4x CPU\","
	    "\"gpu_description\":\"\",\"price_cents_per_hour\":20,\"specs\":{\"vcpus\":4,\"memory_gib\":16,\"storage_gib\":1,"
	    "\"gpus\":0}},\"regions_with_capacity_available\":[{\"name\":\"eu-9\",\"description\":\"x\"}]},"
	    "\"gpu_1x_l4\":{\"instance_type\":{\"name\":\"gpu_1x_l4\",\"description\":\"1x L4 (24 GB)\",\"gpu_description\":"
	    "\"L4 (24 GB)\",\"price_cents_per_hour\":75,\"specs\":{\"vcpus\":8,\"memory_gib\":32,\"storage_gib\":100,\"gpus\":1}},"
	    "\"regions_with_capacity_available\":[%s]},\"gpu_8x_h100_sxm5\":{\"instance_type\":{\"name\":\"gpu_8x_h100_sxm5\","
	    "\"description\":\"8x H100 (80 GB SXM5)\",\"gpu_description\":\"H100 (80 GB SXM5)\",\"price_cents_per_hour\":2392,"
	    "\"specs\":{\"vcpus\":208,\"memory_gib\":1800,\"storage_gib\":22000,\"gpus\":8}},"
	    "\"regions_with_capacity_available\":[]}}}",
	    up(now) < ROOM ? "{\"name\":\"eu-9\",\"description\":\"Nowhere\"}" : "");
}

static enum berth_code
launch(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	const char *region = "", *type = "", *name = "";
	struct jsonr o, keys;
	struct machine *m;
	json_t *v = NULL;

	if (jsonr_parse(req->body, req->body_len, "body", &v, NULL) != BERTH_OK)
		return refuse(resp, 400, "global/invalid-parameters");
	o = jsonr_root(v, "body");
	keys = jsonr_get(&o, "ssh_key_names");
	if (jsonr_str(&o, "region_name", &region, NULL) != BERTH_OK || jsonr_str(&o, "instance_type_name", &type, NULL) !=
	    BERTH_OK || jsonr_str(&o, "name", &name, NULL) != BERTH_OK || jsonr_len(&keys) != 1 || strlen(name) > 64 ||
	    !str_eq(json_string_value(json_array_get(keys.v, 0)), "ours")) {
		json_decref(v);
		return refuse(resp, 400, "global/invalid-parameters");
	}
	m = &machines[n_machines];
	str_copy(m->name, sizeof(m->name), name);
	bool sold = str_eq(type, "gpu_1x_l4") && str_eq(region, "eu-9");

	json_decref(v);
	if (!sold)
		return refuse(resp, 404, "global/object-does-not-exist");
	if (up(now) >= ROOM || n_machines == 64)
		return refuse(resp, 400, "instance-operations/launch/insufficient-capacity");
	snprintf(m->id, sizeof(m->id), "%032zx", n_machines + 0xabc);
	m->created = now;
	m->ended = 0;
	n_machines++;
	return answer(resp, 200, arena_printf(resp->arena, "{\"data\":{\"instance_ids\":[\"%s\"]}}", m->id));
}

static struct machine *
find(const char *id, int64_t now)
{
	for (size_t i = 0; i < n_machines; i++)
		if (str_eq(machines[i].id, id) && !str_eq(status_of(&machines[i], now), "terminated"))
			return &machines[i];
	return NULL;
}

static enum berth_code
terminate(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	struct machine *m = NULL;
	json_t *v = NULL;
	const char *id;

	if (jsonr_parse(req->body, req->body_len, "body", &v, NULL) == BERTH_OK) {
		id = json_string_value(json_array_get(json_object_get(v, "instance_ids"), 0));
		m = id != NULL ? find(id, now) : NULL;
	}
	json_decref(v);
	if (m == NULL)
		return refuse(resp, 404, "global/object-does-not-exist");
	if (m->ended == 0)
		m->ended = now;
	return answer(resp, 200, arena_printf(resp->arena, "{\"data\":{\"terminated_instances\":[%s]}}",
	    as_json(resp->arena, m, now)));
}

static enum berth_code
list(struct http_resp *resp, int64_t now)
{
	char *text = arena_strdup(resp->arena, "");

	for (size_t i = 0; i < n_machines; i++)
		if (!str_eq(status_of(&machines[i], now), "terminated"))
			text = arena_printf(resp->arena, "%s%s%s", text, text[0] != '\0' ? "," : "",
			    as_json(resp->arena, &machines[i], now));
	return answer(resp, 200, arena_printf(resp->arena, "{\"data\":[%s]}", text));
}

enum berth_code
lambda_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	static const char base[] = "https://cloud.lambda.ai/api/v1/";
	const char *key = http_req_get_header(req, "Authorization"), *path = req->url + sizeof(base) - 1;
	int64_t now = acc->env.now;

	(void)arg;
	(void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (!str_starts(req->url, base))
		return refuse(resp, 404, "global/object-does-not-exist");
	if (key == NULL || !str_eq(key, "Bearer key-SECRET"))
		return refuse(resp, 401, "global/invalid-api-key");
	if (str_eq(path, "instance-types") && str_eq(req->method, "GET"))
		return answer(resp, 200, types(resp->arena, now));
	if (str_eq(path, "instance-operations/launch") && str_eq(req->method, "POST"))
		return launch(req, resp, now);
	if (str_eq(path, "instance-operations/terminate") && str_eq(req->method, "POST"))
		return terminate(req, resp, now);
	if (str_eq(path, "instances"))
		return list(resp, now);
	if (str_starts(path, "instances/") && find(path + 10, now) != NULL)
		return answer(resp, 200, arena_printf(resp->arena, "{\"data\":%s}", as_json(resp->arena, find(path + 10, now), now)));
	return refuse(resp, 404, "global/object-does-not-exist");
}
