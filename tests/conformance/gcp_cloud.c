#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/account.h"
#include "tests/conformance/clouds.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

#define ROOM 2
#define BASE "https://compute.googleapis.com/compute/v1/projects/proj/"
#define SKUS "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
#define ZONE "eu-north9-a"

static struct machine { char name[80], request[40], installation[64], token[80]; bool spot; int64_t created, ended; } machines[64];
static size_t n_machines;

void
gcp_cloud_reset(void)
{
	n_machines = 0;
}

static enum berth_code
answer(struct http_resp *resp, int status, const char *body)
{
	resp->status = status;
	resp->body = body;
	resp->body_len = strlen(body);
	resp->headers[0] = (struct http_header){ "Content-Type", "application/json; charset=UTF-8", false };
	resp->n_headers = 1;
	return BERTH_OK;
}

static enum berth_code
refuse(struct http_resp *resp, int status, const char *reason)
{
	return answer(resp, status, arena_printf(resp->arena, "{\"error\":{\"code\":%d,\"message\":\"no\",\"errors\":[{\"message\":"
	    "\"no\",\"domain\":\"global\",\"reason\":\"%s\"}]}}", status, reason));
}

static const char *
operation(struct arena *a, const char *type, const char *name, const char *error)
{
	return arena_printf(a, "{\"kind\":\"compute#operation\",\"id\":\"1\",\"name\":\"operation-1-2-3\",\"zone\":\"" BASE "zones/" ZONE
	    "\",\"operationType\":\"%s\",\"targetLink\":\"" BASE "zones/" ZONE "/instances/%s\",\"status\":\"%s\",\"progress\":0,"
	    "\"insertTime\":\"2026-11-30T00:00:00.000-08:00\"%s}", type, name, error[0] != '\0' ? "DONE" : "PENDING", error);
}

static bool
gone(const struct machine *m, int64_t now)
{
	return m->ended != 0 && now >= m->ended + 30;
}

static const char *
as_json(struct arena *a, const struct machine *m, int64_t now)
{
	const char *status = m->ended != 0 ? "STOPPING" : now >= m->created + 60 ? "RUNNING" : now >= m->created + 20 ? "STAGING" :
	    "PROVISIONING";

	return arena_printf(a, "{\"kind\":\"compute#instance\",\"id\":\"7\",\"name\":\"%s\",\"zone\":\"" BASE "zones/" ZONE "\","
	    "\"machineType\":\"" BASE "zones/" ZONE "/machineTypes/g2-standard-4\",\"status\":\"%s\",\"creationTimestamp\":"
	    "\"%s\",\"networkInterfaces\":[{\"networkIP\":\"10.0.0.9\",\"accessConfigs\":[{\"type\":\"ONE_TO_ONE_NAT\",\"natIP\":"
	    "\"192.0.2.9\"}]}],\"scheduling\":{\"provisioningModel\":\"%s\"},\"guestAccelerators\":[{\"acceleratorType\":\"" BASE
	    "zones/" ZONE "/acceleratorTypes/nvidia-l4\",\"acceleratorCount\":1}],\"labels\":{\"berth-installation\":\"%s\","
	    "\"berth-token\":\"%s\"}}", m->name, status, m->created == 1795996800 ? "2026-11-29T16:00:00.000-08:00" :
	    "2026-11-30T09:00:00.000-08:00", m->spot ? "SPOT" : "STANDARD", m->installation, m->token);
}

static struct machine *
find(const char *name, int64_t now)
{
	for (size_t i = 0; i < n_machines; i++)
		if (str_eq(machines[i].name, name) && !gone(&machines[i], now))
			return &machines[i];
	return NULL;
}

static size_t
up(int64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < n_machines; i++)
		n += !gone(&machines[i], now);
	return n;
}

/* What the document of Compute v1 demands of this body, and what this cloud has. */
static bool
body_is_right(const struct jsonr *o, struct machine *m)
{
	struct jsonr labels = jsonr_get(o, "labels"), disks = jsonr_get(o, "disks"), disk = jsonr_at(&disks, 0);
	struct jsonr init = jsonr_get(&disk, "initializeParams"), nics = jsonr_get(o, "networkInterfaces");
	struct jsonr scheduling = jsonr_get(o, "scheduling");
	const char *name = "", *type = "", *image = "", *whose = "", *token = "", *model = "", *stays = "";

	if (jsonr_str(o, "name", &name, NULL) != BERTH_OK || jsonr_str(o, "machineType", &type, NULL) != BERTH_OK ||
	    jsonr_str(&init, "sourceImage", &image, NULL) != BERTH_OK ||
	    jsonr_str(&labels, "berth-installation", &whose, NULL) != BERTH_OK ||
	    jsonr_str(&labels, "berth-token", &token, NULL) != BERTH_OK ||
	    jsonr_str(&scheduling, "provisioningModel", &model, NULL) != BERTH_OK ||
	    jsonr_str(&scheduling, "onHostMaintenance", &stays, NULL) != BERTH_OK)
		return false;
	str_copy(m->name, sizeof(m->name), name);
	str_copy(m->installation, sizeof(m->installation), whose);
	str_copy(m->token, sizeof(m->token), token);
	m->spot = str_eq(model, "SPOT");
	return str_eq(type, "zones/" ZONE "/machineTypes/g2-standard-4") && image[0] != '\0' && jsonr_len(&nics) == 1 &&
	    strlen(name) <= 63 && str_eq(stays, "TERMINATE");
}

static enum berth_code
insert(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	const char *request = strstr(req->url, "requestId=");
	struct machine m = { .created = now };
	struct jsonr o;
	json_t *v = NULL;
	bool right;

	if (request == NULL || strlen(request += 10) != 36 || jsonr_parse(req->body, req->body_len, "body", &v, NULL) != BERTH_OK)
		return refuse(resp, 400, "invalid");
	o = jsonr_root(v, "body");
	right = body_is_right(&o, &m);
	json_decref(v);
	if (!right)
		return refuse(resp, 400, "invalid");
	for (size_t i = 0; i < n_machines; i++)		/* a request seen before: the same operation */
		if (str_eq(machines[i].request, request) && now < machines[i].created + 3600)
			return answer(resp, 200, operation(resp->arena, "insert", machines[i].name, ""));
	if (find(m.name, now) != NULL)
		return refuse(resp, 409, "alreadyExists");
	if (up(now) >= ROOM || n_machines == 64)
		return answer(resp, 200, operation(resp->arena, "insert", m.name, ",\"error\":{\"errors\":[{\"code\":"
		    "\"ZONE_RESOURCE_POOL_EXHAUSTED\",\"message\":\"none left\"}]},\"httpErrorStatusCode\":503"));
	str_copy(m.request, sizeof(m.request), request);
	machines[n_machines++] = m;
	return answer(resp, 200, operation(resp->arena, "insert", m.name, ""));
}

static enum berth_code
list(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	char *text = arena_strdup(resp->arena, "");

	if (strstr(req->url, "filter=labels.berth-installation%20%3D%20%22") == NULL)
		return refuse(resp, 400, "invalid");
	for (size_t i = 0; i < n_machines; i++)
		if (!gone(&machines[i], now))
			text = arena_printf(resp->arena, "%s%s%s", text, text[0] != '\0' ? "," : "", as_json(resp->arena, &machines[i], now));
	return answer(resp, 200, arena_printf(resp->arena, "{\"kind\":\"compute#instanceAggregatedList\",\"items\":{\"zones/" ZONE
	    "\":{\"instances\":[%s]},\"zones/eu-north9-b\":{\"warning\":{\"code\":\"NO_RESULTS_ON_PAGE\"}}}}", text));
}

static const char *
sku(struct arena *a, const char *description, const char *group, const char *usage, const char *unit, int64_t units, int64_t nanos)
{
	return arena_printf(a, "{\"name\":\"s\",\"description\":\"%s\",\"category\":{\"resourceFamily\":\"Compute\",\"resourceGroup\":"
	    "\"%s\",\"usageType\":\"%s\"},\"serviceRegions\":[\"eu-north9\"],\"pricingInfo\":[{\"pricingExpression\":{\"usageUnit\":"
	    "\"%s\",\"tieredRates\":[{\"startUsageAmount\":0,\"unitPrice\":{\"currencyCode\":\"USD\",\"units\":\"%lld\",\"nanos\":%lld}}]}}]}",
	    description, group, usage, unit, (long long)units, (long long)nanos);
}

static enum berth_code
skus(const struct http_req *req, struct http_resp *resp)
{
	struct arena *a = resp->arena;

	if (strstr(req->url, "pageToken=") == NULL)
		return answer(resp, 200, arena_printf(a, "{\"skus\":[%s,%s,%s],\"nextPageToken\":\"p+2/=\"}",
		    sku(a, "G2 Instance Core running in Nowhere", "CPU", "OnDemand", "h", 0, 25000000),
		    sku(a, "G2 Instance Ram running in Nowhere", "RAM", "OnDemand", "GiBy.h", 0, 3000000),
		    sku(a, "Licensing Fee for Something", "Google", "OnDemand", "h", 1, 0)));
	if (strstr(req->url, "pageToken=p%2B2%2F%3D") == NULL)
		return refuse(resp, 400, "invalid");
	return answer(resp, 200, arena_printf(a, "{\"skus\":[%s,%s,%s,%s],\"nextPageToken\":\"\"}",
	    sku(a, "Nvidia L4 GPU running in Nowhere", "GPU", "OnDemand", "h", 0, 560000000),
	    sku(a, "Spot Preemptible G2 Instance Core running in Nowhere", "CPU", "Preemptible", "h", 0, 10000000),
	    sku(a, "Spot Preemptible G2 Instance Ram running in Nowhere", "RAM", "Preemptible", "GiBy.h", 0, 1000000),
	    sku(a, "Nvidia L4 GPU attached to Spot Preemptible VMs running in Nowhere", "GPU", "Preemptible", "h", 0, 200000000)));
}

static const char types_1[] = "{\"kind\":\"compute#machineTypeAggregatedList\",\"items\":{\"zones/" ZONE "\":{\"machineTypes\":["
    "{\"name\":\"e2-medium\",\"guestCpus\":2,\"memoryMb\":4096}]}},\"nextPageToken\":\"2\"}";
static const char types_2[] = "{\"kind\":\"compute#machineTypeAggregatedList\",\"items\":{\"zones/" ZONE "\":{\"machineTypes\":["
    "{\"name\":\"g2-standard-4\",\"guestCpus\":4,\"memoryMb\":16384,\"accelerators\":[{\"guestAcceleratorType\":\"nvidia-l4\","
    "\"guestAcceleratorCount\":1}]}]},\"zones/eu-north9-b\":{\"warning\":{\"code\":\"NO_RESULTS_ON_PAGE\"}}}}";

static enum berth_code
compute(const struct http_req *req, struct http_resp *resp, const char *path, int64_t now)
{
	const char *name = str_starts(path, "zones/" ZONE "/instances/") ? path + strlen("zones/" ZONE "/instances/") : "";
	struct machine *m = find(name, now);

	if (str_starts(path, "aggregated/machineTypes"))
		return answer(resp, 200, strstr(path, "pageToken=2") != NULL ? types_2 : types_1);
	if (str_starts(path, "aggregated/acceleratorTypes"))
		return answer(resp, 200, "{\"kind\":\"compute#acceleratorTypeAggregatedList\",\"items\":{}}");
	if (str_starts(path, "aggregated/operations"))
		return answer(resp, 200, "{\"kind\":\"compute#operationAggregatedList\",\"items\":{}}");
	if (str_starts(path, "aggregated/instances"))
		return list(req, resp, now);
	if (str_starts(path, "zones/" ZONE "/instances?") && str_eq(req->method, "POST"))
		return insert(req, resp, now);
	if (m == NULL)
		return refuse(resp, 404, "notFound");
	if (!str_eq(req->method, "DELETE"))
		return answer(resp, 200, as_json(resp->arena, m, now));
	if (m->ended == 0)
		m->ended = now;
	return answer(resp, 200, operation(resp->arena, "delete", m->name, ""));
}

enum berth_code
gcp_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *bearer = http_req_get_header(req, "Authorization");

	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (str_eq(req->url, "https://oauth2.example/token"))
		return str_eq(req->body, "client_id=id&client_secret=sec&grant_type=refresh_token&refresh_token=ref") ?
		    answer(resp, 200, "{\"access_token\":\"tok-SECRET\",\"expires_in\":3599,\"token_type\":\"Bearer\"}") :
		    answer(resp, 400, "{\"error\":\"invalid_grant\",\"error_description\":\"no\"}");
	if (bearer == NULL || !str_eq(bearer, "Bearer tok-SECRET"))
		return refuse(resp, 401, "authError");
	if (str_starts(req->url, "https://compute.googleapis.com/compute/v1/projects/proj/regions?"))
		return answer(resp, 200, "{\"kind\":\"compute#regionList\",\"items\":[{\"name\":\"eu-north9\",\"quotas\":[{\"metric\":"
		    "\"NVIDIA_L4_GPUS\",\"limit\":2,\"usage\":0},{\"metric\":\"PREEMPTIBLE_NVIDIA_L4_GPUS\",\"limit\":1,\"usage\":0}]}]}");
	if (str_eq(req->url, "https://compute.googleapis.com/compute/v1/projects/proj"))
		return answer(resp, 200, "{\"kind\":\"compute#project\",\"quotas\":[{\"metric\":\"GPUS_ALL_REGIONS\",\"limit\":2,\"usage\":0}]}");
	if (strstr(req->url, "/quotaInfos?") != NULL)
		return answer(resp, 200, "{\"quotaInfos\":[{\"metric\":\"compute.googleapis.com/gpus_per_gpu_family\",\"dimensionsInfos\":["
		    "{\"dimensions\":{\"region\":\"eu-north9\",\"gpu_family\":\"NVIDIA_H100\"},\"details\":{\"value\":\"8\"}}]}]}");
	if (str_starts(req->url, SKUS "?"))
		return skus(req, resp);
	if (str_starts(req->url, BASE))
		return compute(req, resp, req->url + strlen(BASE), acc->env.now);
	return refuse(resp, 404, "notFound");
}
