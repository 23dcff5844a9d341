#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/account.h"
#include "tests/conformance/clouds.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

#define HOST "http://127.0.0.1"
#define ROOM 2

static struct server { char id[40], installation[64], token[80], tag[80]; int64_t created, ended; bool fits; } servers[64];
static size_t n_servers;

void
openstack_cloud_reset(void)
{
	n_servers = 0;
}

static enum berth_code
answer(struct http_resp *resp, int status, const char *body)
{
	resp->status = status;
	resp->body = body;
	resp->body_len = strlen(body);
	resp->headers[resp->n_headers++] = (struct http_header){ "Content-Type", "application/json", false };
	return BERTH_OK;
}

static enum berth_code
refuse(struct http_resp *resp, int status, const char *key, const char *text)
{
	return answer(resp, status, arena_printf(resp->arena, "{\"%s\":{\"code\":%d,\"message\":\"%s\"}}", key, status, text));
}

static const char *
string_at(json_t *v, const char *a, const char *b, const char *c)
{
	const char *const keys[] = { a, b, c };

	for (size_t i = 0; i < 3 && keys[i] != NULL; i++)
		v = json_object_get(v, keys[i]);
	return json_is_string(v) ? json_string_value(v) : "";
}

static enum berth_code
tokens(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	char until[TIME_FMT_SIZE];
	json_t *v = NULL, *user;
	bool fine;

	if (jsonr_parse(req->body, req->body_len, "request", &v, NULL) != BERTH_OK)
		return refuse(resp, 400, "error", "no JSON");
	user = json_object_get(json_object_get(json_object_get(json_object_get(v, "auth"), "identity"), "password"), "user");
	fine = str_eq(string_at(user, "name", NULL, NULL), "ann") && str_eq(string_at(user, "password", NULL, NULL), "key-SECRET") &&
	    str_eq(string_at(user, "domain", "name", NULL), "Default") &&
	    str_eq(string_at(json_object_get(v, "auth"), "scope", "project", "name"), "lab");
	json_decref(v);
	if (!fine)
		return refuse(resp, 401, "error", "The request you have made requires authentication.");
	resp->headers[resp->n_headers++] = (struct http_header){ "X-Subject-Token", "tok-SECRET", true };
	return answer(resp, 201, arena_printf(resp->arena, "{\"token\":{\"methods\":[\"password\"],\"expires_at\":\"%s\","
	    "\"catalog\":[{\"type\":\"compute\",\"name\":\"nova\",\"endpoints\":["
	    "{\"interface\":\"internal\",\"region\":\"one\",\"url\":\"" HOST ":1/v2.1\"},"
	    "{\"interface\":\"public\",\"region\":\"one\",\"url\":\"" HOST ":8774/v2.1/\"}]},"
	    "{\"type\":\"image\",\"name\":\"glance\",\"endpoints\":["
	    "{\"interface\":\"public\",\"region\":\"one\",\"url\":\"" HOST ":9292\"}]}]}}", time_fmt(until, now + 3600)));
}

/* Two pages: the first names the last one it holds. */
static enum berth_code
flavors(const char *url, struct http_resp *resp)
{
	if (strstr(url, "marker=f-1") != NULL)
		return answer(resp, 200, "{\"flavors\":[{\"id\":\"f-2\",\"name\":\"gpu.l4.1\",\"vcpus\":8,\"ram\":32768,\"disk\":40,"
		    "\"OS-FLV-DISABLED:disabled\":false,\"extra_specs\":{\"pci_passthrough:alias\":\"nic:2,l4:1\"}}]}");
	return answer(resp, 200, "{\"flavors\":[{\"id\":\"f-1\",\"name\":\"cpu\",\"vcpus\":2,\"ram\":4096,\"disk\":20,"
	    "\"OS-FLV-DISABLED:disabled\":false,\"extra_specs\":{}}],\"flavors_links\":[{\"rel\":\"next\","
	    "\"href\":\"" HOST ":8774/v2.1/flavors/detail?limit=1&marker=f-1\"}]}");
}

static const char *
status_of(const struct server *s, int64_t now)
{
	if (now < s->created + 60)
		return "BUILD";
	return s->fits ? "ACTIVE" : "ERROR";
}

static bool
there(const struct server *s, int64_t now)
{
	return s->ended == 0 || now < s->ended + 30;
}

static const char *
server_json(struct arena *a, const struct server *s, int64_t now, bool fault)
{
	char created[TIME_FMT_SIZE];
	bool error = str_eq(status_of(s, now), "ERROR");

	return arena_printf(a, "{\"id\":\"%s\",\"status\":\"%s\",\"metadata\":{\"berth-installation\":\"%s\",\"berth-token\":\"%s\"},"
	    "\"flavor\":{\"original_name\":\"gpu.l4.1\",\"vcpus\":8},\"created\":\"%s\",\"OS-EXT-AZ:availability_zone\":\"nova\","
	    "\"OS-EXT-STS:task_state\":%s,\"addresses\":{\"net\":[{\"addr\":\"10.0.0.7\",\"version\":4,\"OS-EXT-IPS:type\":\"fixed\"},"
	    "{\"addr\":\"192.0.2.7\",\"version\":4,\"OS-EXT-IPS:type\":\"floating\"}]}%s}", s->id, status_of(s, now), s->installation,
	    s->token, time_fmt(created, s->created), s->ended != 0 ? "\"deleting\"" : "null", error && fault ?
	    ",\"fault\":{\"code\":500,\"message\":\"No valid host was found. There are not enough hosts available.\"}" : "");
}

static enum berth_code
list(const char *url, struct http_resp *resp, int64_t now)
{
	const char *tags = strstr(url, "tags="), *text = "";

	for (size_t i = 0; i < n_servers; i++)
		if (there(&servers[i], now) && tags != NULL && str_starts(tags + 5, servers[i].tag))
			text = arena_printf(resp->arena, "%s%s%s", text, text[0] != '\0' ? "," : "",
			    server_json(resp->arena, &servers[i], now, false));
	return answer(resp, 200, arena_printf(resp->arena, "{\"servers\":[%s]}", text));
}

static enum berth_code
boot(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	struct server *s = &servers[n_servers];
	json_t *v = NULL, *o;
	size_t held = 0;

	if (n_servers == 64 || jsonr_parse(req->body, req->body_len, "request", &v, NULL) != BERTH_OK)
		return refuse(resp, 400, "badRequest", "no JSON");
	o = json_object_get(v, "server");
	for (size_t i = 0; i < n_servers; i++)
		held += servers[i].fits && servers[i].ended == 0;
	*s = (struct server){ .created = now, .fits = held < ROOM };
	snprintf(s->id, sizeof(s->id), "00000000-0000-4000-8000-%012zu", n_servers);
	str_copy(s->installation, sizeof(s->installation), string_at(o, "metadata", "berth-installation", NULL));
	str_copy(s->token, sizeof(s->token), string_at(o, "metadata", "berth-token", NULL));
	if (json_is_string(json_array_get(json_object_get(o, "tags"), 0)))
		str_copy(s->tag, sizeof(s->tag), json_string_value(json_array_get(json_object_get(o, "tags"), 0)));
	if (!str_eq(string_at(o, "flavorRef", NULL, NULL), "f-2") || !str_eq(string_at(o, "imageRef", NULL, NULL), "i-1") ||
	    !str_eq(string_at(o, "networks", NULL, NULL), "auto")) {
		json_decref(v);
		return refuse(resp, 400, "badRequest", "Invalid input for field/attribute server.");
	}
	json_decref(v);
	n_servers++;
	return answer(resp, 202, arena_printf(resp->arena, "{\"server\":{\"id\":\"%s\",\"links\":[],\"adminPass\":\"x\"}}", s->id));
}

static enum berth_code
one(const struct http_req *req, struct http_resp *resp, const char *id, int64_t now)
{
	for (size_t i = 0; i < n_servers; i++) {
		if (!str_eq(servers[i].id, id) || !there(&servers[i], now))
			continue;
		if (!str_eq(req->method, "DELETE"))
			return answer(resp, 200, arena_printf(resp->arena, "{\"server\":%s}", server_json(resp->arena, &servers[i], now,
			    true)));
		if (servers[i].ended == 0)
			servers[i].ended = now;
		return answer(resp, 204, "");
	}
	return refuse(resp, 404, "itemNotFound", "Instance could not be found.");
}

enum berth_code
openstack_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	const char *token = http_req_get_header(req, "X-Auth-Token"), *version = http_req_get_header(req, "OpenStack-API-Version");
	const char *path = req->url;
	int64_t now = acc->env.now;

	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (str_eq(path, HOST ":5000/v3/auth/tokens"))
		return tokens(req, resp, now);
	if (token == NULL || !str_eq(token, "tok-SECRET"))
		return refuse(resp, 401, "error", "The request you have made requires authentication.");
	if (str_starts(path, HOST ":9292/v2/images?name=debian&"))
		return answer(resp, 200, "{\"images\":[{\"id\":\"i-1\",\"name\":\"debian\"}]}");
	if (str_eq(path, HOST ":8774/v2.1/limits"))
		return answer(resp, 200, "{\"limits\":{\"rate\":[],\"absolute\":{\"maxTotalInstances\":9,\"totalInstancesUsed\":1,"
		    "\"maxTotalCores\":-1,\"totalCoresUsed\":8}}}");
	if (!str_starts(path, HOST ":8774/v2.1/") || version == NULL || !str_eq(version, "compute 2.61"))
		return refuse(resp, 404, "itemNotFound", "The resource could not be found.");
	path += strlen(HOST ":8774/v2.1/");
	if (str_starts(path, "flavors"))
		return flavors(path, resp);
	if (str_eq(path, "servers"))
		return boot(req, resp, now);
	if (str_starts(path, "servers/detail?"))
		return list(path, resp, now);
	return str_starts(path, "servers/") ? one(req, resp, path + 8, now) : refuse(resp, 404, "itemNotFound", "no");
}
