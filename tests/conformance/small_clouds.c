#include <stdlib.h>
#include <string.h>

#include "tests/conformance/clouds.h"
#include "tests/conformance/kit.h"
#include "util/arena.h"
#include "util/str.h"

static struct kit_fleet pods, contracts, droplets, vms;

void
small_clouds_reset(void)
{
	pods.n = contracts.n = droplets.n = vms.n = 0;
}

/* Every one of them wants the same key. */
static bool
let_in(const struct http_req *req, struct http_resp *resp)
{
	const char *bearer = http_req_get_header(req, "Authorization");

	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	return bearer != NULL && str_eq(bearer, "Bearer key-SECRET");
}

static bool
ready(const struct kit_machine *m, int64_t now)
{
	return m->ended == 0 && now >= m->created + KIT_START_S;
}

/* --- RunPod ------------------------------------------------------------------------------------------------------- */

static const char *
pod_json(struct arena *a, const struct kit_machine *m, int64_t now)
{
	return arena_printf(a, "{\"id\":\"%s\",\"name\":\"%s\",\"desiredStatus\":\"%s\",\"gpuCount\":1,\"podType\":\"%s\",\"machine\":{"
	    "\"gpuTypeId\":\"NVIDIA L4\",\"location\":\"SE\"},\"runtime\":%s}", m->id, m->name, m->ended != 0 ? "TERMINATING" : "RUNNING",
	    m->spot ? "INTERRUPTABLE" : "RESERVED", !ready(m, now) ? "null" : "{\"uptimeInSeconds\":1,\"ports\":[{\"ip\":\"192.0.2.4\","
	    "\"isIpPublic\":true,\"privatePort\":22,\"publicPort\":40022,\"type\":\"tcp\"}]}");
}

static enum berth_code
pod_make(const struct http_req *req, struct http_resp *resp, const char *field, int64_t now)
{
	struct kit_machine *m;

	if (!str_eq(kit_str(req, "variables.input.gpuTypeId"), "NVIDIA L4") || !str_eq(kit_str(req, "variables.input.gpuCount"), "1") ||
	    kit_str(req, "variables.input.imageName")[0] == '\0' || !str_eq(kit_str(req, "variables.input.cloudType"), "SECURE"))
		return kit_answer(resp, 200, "{\"errors\":[{\"message\":\"no\",\"extensions\":{\"code\":\"BAD_USER_INPUT\"}}],\"data\":null}");
	if (kit_full(&pods, now))
		return kit_answer(resp, 200, "{\"errors\":[{\"message\":\"There are no longer any instances available with the requested "
		    "specifications. Please refresh and try again.\"}],\"data\":{}}");
	m = kit_add(&pods, "pod", now);
	str_copy(m->name, sizeof(m->name), kit_str(req, "variables.input.name"));
	m->spot = str_eq(field, "podRentInterruptable");
	return kit_answer(resp, 200, arena_printf(resp->arena, "{\"data\":{\"%s\":{\"id\":\"%s\",\"desiredStatus\":\"RUNNING\"}}}", field, m->id));
}

enum berth_code
runpod_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	int64_t now = acc->env.now;
	const char *query;
	struct kit_machine *m;

	(void)arg, (void)err;
	if (!let_in(req, resp))
		return kit_answer(resp, 401, "{\"message\":\"Unauthorized\"}");
	query = kit_str(req, "query");
	if (!str_eq(req->url, "https://api.runpod.io/graphql") || !str_eq(req->method, "POST"))
		return kit_answer(resp, 404, "{}");
	if (strstr(query, "gpuTypes") != NULL)
		return kit_answer(resp, 200, "{\"data\":{\"gpuTypes\":[{\"id\":\"NVIDIA L4\",\"displayName\":\"L4\",\"memoryInGb\":24,\"c1\":{"
		    "\"minimumBidPrice\":0.2,\"uninterruptablePrice\":0.43,\"stockStatus\":\"High\"},\"c2\":{\"uninterruptablePrice\":0.43,"
		    "\"stockStatus\":null},\"c4\":null,\"c8\":null}]}}");
	if (strstr(query, "podFindAndDeployOnDemand") != NULL)
		return pod_make(req, resp, "podFindAndDeployOnDemand", now);
	if (strstr(query, "podRentInterruptable") != NULL)
		return pod_make(req, resp, "podRentInterruptable", now);
	if (strstr(query, "myself") != NULL)
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"data\":{\"myself\":{\"pods\":[%s]}}}",
		    kit_list(&pods, resp->arena, pod_json, now)));
	m = kit_find(&pods, kit_str(req, "variables.input.podId"), now);
	if (strstr(query, "podTerminate") == NULL)
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"data\":{\"pod\":%s}}", m != NULL ? pod_json(resp->arena, m, now) : "null"));
	if (m == NULL)
		return kit_answer(resp, 200, "{\"errors\":[{\"message\":\"pod not found to terminate\"}],\"data\":{\"podTerminate\":null}}");
	if (m->ended == 0)
		m->ended = now;
	return kit_answer(resp, 200, "{\"data\":{\"podTerminate\":null}}");
}

/* --- Vast.ai ------------------------------------------------------------------------------------------------------ */

static const char *
contract_json(struct arena *a, const struct kit_machine *m, int64_t now)
{
	return arena_printf(a, "{\"id\":%s,\"label\":\"%s\",\"actual_status\":%s,\"gpu_name\":\"L4\",\"num_gpus\":1,\"is_bid\":%s,\"start_date\":"
	    "%lld.5,\"ssh_host\":\"ssh4.example\",\"ssh_port\":10400}", m->id, m->name, ready(m, now) ? "\"running\"" : "null",
	    m->spot ? "true" : "false", (long long)m->created);
}

static enum berth_code
vast_instances(const struct http_req *req, struct http_resp *resp, const char *path, int64_t now)
{
	struct kit_machine *m;

	if (str_starts(path, "v1/instances/?"))
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"success\":true,\"instances\":[%s],\"next_token\":null}",
		    kit_list(&contracts, resp->arena, contract_json, now)));
	m = kit_find(&contracts, arena_strndup(req->arena, path + 13, strspn(path + 13, "0123456789")), now);
	if (str_eq(req->method, "GET"))
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"instances\":%s}", m != NULL ? contract_json(resp->arena, m, now) : "null"));
	if (m == NULL)
		return kit_answer(resp, 404, "{\"success\":false,\"error\":\"not_found\",\"msg\":\"Instance not found\"}");
	if (m->ended == 0)
		m->ended = now;
	return kit_answer(resp, 200, "{\"success\":true,\"msg\":\"Instance destroyed successfully\"}");
}

enum berth_code
vast_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	static const char base[] = "https://console.vast.ai/api/";
	const char *path = req->url + sizeof(base) - 1;
	int64_t now = acc->env.now;
	struct kit_machine *m;

	(void)arg, (void)err;
	if (!let_in(req, resp))
		return kit_answer(resp, 401, "{\"success\":false,\"error\":\"auth_error\",\"msg\":\"Invalid user key\"}");
	if (!str_starts(req->url, base))
		return kit_answer(resp, 404, "{}");
	if (str_eq(path, "v0/bundles/"))
		return kit_answer(resp, 200, "{\"offers\":[{\"id\":77,\"num_gpus\":1,\"gpu_name\":\"L4\",\"gpu_ram\":22888,\"dph_base\":0.3,\"min_bid\":"
		    "0.1,\"storage_cost\":0.15,\"geolocation\":\"Stockholm, SE\",\"cpu_ram\":65536,\"cpu_cores\":16,\"cpu_cores_effective\":8}]}");
	if (str_starts(path, "v1/instances/") || str_starts(path, "v0/instances/"))
		return vast_instances(req, resp, path, now);
	if (!str_eq(path, "v0/asks/77/") || !str_eq(req->method, "PUT"))
		return kit_answer(resp, 404, "{\"success\":false,\"error\":\"invalid_args\",\"msg\":\"error 404/3603: no_such_ask\"}");
	if (kit_str(req, "image")[0] == '\0' || kit_str(req, "label")[0] == '\0')
		return kit_answer(resp, 400, "{\"success\":false,\"error\":\"invalid_args\",\"msg\":\"no\"}");
	if (kit_full(&contracts, now))
		return kit_answer(resp, 410, "{\"success\":false,\"error\":\"no_such_ask\",\"msg\":\"error 410/3907: no_such_ask\"}");
	m = kit_add(&contracts, "9", now);
	str_copy(m->name, sizeof(m->name), kit_str(req, "label"));
	return kit_answer(resp, 200, arena_printf(resp->arena, "{\"success\":true,\"new_contract\":%s}", m->id));
}

/* --- DigitalOcean ------------------------------------------------------------------------------------------------- */

static const char *
droplet_json(struct arena *a, const struct kit_machine *m, int64_t now)
{
	return arena_printf(a, "{\"id\":%s,\"name\":\"%s\",\"status\":\"%s\",\"created_at\":\"%s\",\"size_slug\":\"gpu-l4x1-24gb\",\"region\":{"
	    "\"slug\":\"ams9\"},\"networks\":{\"v4\":[{\"ip_address\":\"10.0.0.8\",\"type\":\"private\"}%s]}}", m->id, m->name,
	    ready(m, now) ? "active" : "new", m->created == 1795996800 ? "2026-11-30 00:00:00+00:00" : "2026-11-30T01:00:00Z",
	    ready(m, now) ? ",{\"ip_address\":\"192.0.2.8\",\"type\":\"public\"}" : "");
}

static enum berth_code
droplet_make(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	struct kit_machine *m;

	if (!str_eq(kit_str(req, "size"), "gpu-l4x1-24gb") || !str_eq(kit_str(req, "region"), "ams9") || kit_str(req, "image")[0] == '\0')
		return kit_answer(resp, 422, "{\"id\":\"unprocessable_entity\",\"message\":\"You specified an invalid size for Droplet creation.\"}");
	if (kit_full(&droplets, now))
		return kit_answer(resp, 422, "{\"id\":\"unprocessable_entity\",\"message\":\"Size is not available in this region.\"}");
	m = kit_add(&droplets, "4", now);
	str_copy(m->name, sizeof(m->name), kit_str(req, "name"));
	return kit_answer(resp, 202, arena_printf(resp->arena, "{\"droplet\":%s}", droplet_json(resp->arena, m, now)));
}

enum berth_code
digitalocean_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	static const char base[] = "https://api.digitalocean.com/v2/";
	const char *path = req->url + sizeof(base) - 1;
	int64_t now = acc->env.now;
	struct kit_machine *m;

	(void)arg, (void)err;
	if (!let_in(req, resp))
		return kit_answer(resp, 401, "{\"id\":\"unauthorized\",\"message\":\"Unable to authenticate you\"}");
	if (!str_starts(req->url, base))
		return kit_answer(resp, 404, "{}");
	if (str_eq(path, "sizes?per_page=200&page=1"))
		return kit_answer(resp, 200, "{\"sizes\":[{\"slug\":\"s-1vcpu-1gb\",\"memory\":1024,\"vcpus\":1,\"price_hourly\":0.007,\"regions\":["
		    "\"ams9\"],\"available\":true}],\"links\":{\"pages\":{\"next\":\"https://evil.example/v2/sizes?page=2\"}}}");
	if (str_eq(path, "sizes?per_page=200&page=2"))
		return kit_answer(resp, 200, "{\"sizes\":[{\"slug\":\"gpu-l4x1-24gb\",\"memory\":65536,\"vcpus\":8,\"price_hourly\":0.8,\"regions\":["
		    "\"ams9\"],\"available\":true,\"gpu_info\":{\"count\":1,\"vram\":{\"amount\":24,\"unit\":\"gib\"},\"model\":\"nvidia_l4\"}}],"
		    "\"links\":{}}");
	if (str_eq(path, "droplets") && str_eq(req->method, "POST"))
		return droplet_make(req, resp, now);
	if (str_starts(path, "droplets?type=gpus"))
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"droplets\":[%s],\"links\":{}}",
		    kit_list(&droplets, resp->arena, droplet_json, now)));
	m = str_starts(path, "droplets/") ? kit_find(&droplets, path + 9, now) : NULL;
	if (m == NULL)
		return kit_answer(resp, 404, "{\"id\":\"not_found\",\"message\":\"The resource you requested could not be found.\"}");
	if (!str_eq(req->method, "DELETE"))
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"droplet\":%s}", droplet_json(resp->arena, m, now)));
	if (m->ended == 0)
		m->ended = now;
	return kit_answer(resp, 204, "");
}

/* --- Crusoe ------------------------------------------------------------------------------------------------------- */

static const char *
vm_json(struct arena *a, const struct kit_machine *m, int64_t now)
{
	return arena_printf(a, "{\"id\":\"%s\",\"name\":\"%s\",\"type\":\"l4.1x\",\"location\":\"eu-nowhere1-a\",\"state\":\"%s\","
	    "\"network_interfaces\":[{\"ips\":[{\"private_ipv4\":{\"address\":\"10.0.0.3\"},\"public_ipv4\":{\"address\":\"192.0.2.6\"}}]}]}",
	    m->id, m->name, m->ended != 0 ? "STATE_DELETING" : ready(m, now) ? "STATE_RUNNING" : "STATE_CREATING");
}

static enum berth_code
vm_make(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	struct kit_machine *m;

	if (!str_eq(kit_str(req, "type"), "l4.1x") || !str_eq(kit_str(req, "location"), "eu-nowhere1-a") ||
	    kit_str(req, "ssh_public_key")[0] == '\0' || kit_str(req, "image")[0] == '\0')
		return kit_answer(resp, 400, "{\"code\":\"bad_request\",\"message\":\"no\"}");
	if (kit_full(&vms, now))
		return kit_answer(resp, 200, "{\"operation\":{\"operation_id\":\"o\",\"state\":\"FAILED\",\"result\":{\"code\":\"out_of_stock\","
		    "\"message\":\"VM is out of stock.\"}}}");
	m = kit_add(&vms, "vm-", now);
	str_copy(m->name, sizeof(m->name), kit_str(req, "name"));
	return kit_answer(resp, 200, arena_printf(resp->arena, "{\"operation\":{\"operation_id\":\"o\",\"state\":\"IN_PROGRESS\",\"metadata\":{"
	    "\"id\":\"%s\"}}}", m->id));
}

enum berth_code
crusoe_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	static const char base[] = "https://api.crusoecloud.com/v1alpha5/", machine[] = "projects/p/compute/vms/instances";
	const char *signature = http_req_get_header(req, "Authorization"), *path = req->url + sizeof(base) - 1;
	int64_t now = acc->env.now;
	struct kit_machine *m;

	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (signature == NULL || !str_starts(signature, "Bearer 1.0:key-SECRET:") || !str_starts(req->url, base) ||
	    http_req_get_header(req, "X-Crusoe-Timestamp") == NULL)
		return kit_answer(resp, 401, "{\"code\":\"bad_credential\",\"message\":\"no\"}");
	if (str_eq(path, "projects/p/compute/vms/types"))
		return kit_answer(resp, 200, "{\"items\":[{\"product_name\":\"c1a.2x\",\"num_gpu\":0},{\"product_name\":\"l4.1x\",\"num_gpu\":1,"
		    "\"gpu_type\":\"L4-24GB\",\"cpu_cores\":8,\"memory_gb\":32}]}");
	if (str_eq(path, "projects/p/quotas"))
		return kit_answer(resp, 200, "{\"quotas\":[{\"category\":\"Instances\",\"programmatic_name\":\"l4.instance\",\"max\":8,\"used\":1,"
		    "\"available\":7}]}");
	if (str_eq(path, "capacities"))
		return kit_answer(resp, 200, "{\"items\":[{\"type\":\"l4.1x\",\"location\":\"eu-nowhere1-a\",\"quantity\":2}]}");
	if (str_eq(path, machine) && str_eq(req->method, "POST"))
		return vm_make(req, resp, now);
	if (str_eq(path, machine))
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"items\":[%s]}", kit_list(&vms, resp->arena, vm_json, now)));
	m = str_starts(path, machine) ? kit_find(&vms, path + sizeof(machine), now) : NULL;
	if (m == NULL)
		return kit_answer(resp, 404, "{\"code\":\"not_found\",\"message\":\"no\"}");
	if (!str_eq(req->method, "DELETE"))
		return kit_answer(resp, 200, vm_json(resp->arena, m, now));
	if (m->ended == 0)
		m->ended = now;
	return kit_answer(resp, 200, "{\"operation\":{\"operation_id\":\"o\",\"state\":\"IN_PROGRESS\"}}");
}
