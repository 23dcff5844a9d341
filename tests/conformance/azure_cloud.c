#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/account.h"
#include "tests/conformance/clouds.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

#define ROOM 2
#define ARM "https://management.azure.com/"
#define GROUP "subscriptions/sub/resourceGroups/rg/providers/"
#define SIZE "Standard_NC4as_T4_v3"

static struct machine { char name[80], installation[64], token[80]; bool spot; int64_t created, ended; } machines[64];
static size_t n_machines;

void
azure_cloud_reset(void)
{
	n_machines = 0;
}

static enum berth_code
answer(struct http_resp *resp, int status, const char *body)
{
	resp->status = status;
	resp->body = body;
	resp->body_len = strlen(body);
	resp->headers[0] = (struct http_header){ "Content-Type", "application/json; charset=utf-8", false };
	resp->n_headers = 1;
	return BERTH_OK;
}

static enum berth_code
refuse(struct http_resp *resp, int status, const char *code, const char *message)
{
	return answer(resp, status, arena_printf(resp->arena, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}", code, message));
}

static bool
gone(const struct machine *m, int64_t now)
{
	return m->ended != 0 && now >= m->ended + 30;
}

static struct machine *
find(const char *name, int64_t now)
{
	for (size_t i = 0; i < n_machines; i++)
		if (str_eq(machines[i].name, name) && !gone(&machines[i], now))
			return &machines[i];
	return NULL;
}

static const char *
as_json(struct arena *a, const struct machine *m, int64_t now)
{
	bool up = now >= m->created + 60;
	char at[TIME_FMT_SIZE];

	return arena_printf(a, "{\"name\":\"%s\",\"id\":\"/" GROUP "Microsoft.Compute/virtualMachines/%s\",\"type\":"
	    "\"Microsoft.Compute/virtualMachines\",\"location\":\"eastus\",\"tags\":{\"berth-installation\":\"%s\",\"berth-token\":\"%s\"},"
	    "\"properties\":{\"vmId\":\"1\",\"hardwareProfile\":{\"vmSize\":\"" SIZE "\"},\"provisioningState\":\"%s\",\"priority\":\"%s\","
	    "\"timeCreated\":\"%s\",\"instanceView\":{\"statuses\":[{\"code\":\"ProvisioningState/%s\",\"level\":\"Info\"},{\"code\":"
	    "\"PowerState/%s\"}]}}}", m->name, m->name, m->installation, m->token, m->ended != 0 ? "Deleting" : up ? "Succeeded" :
	    "Creating", m->spot ? "Spot" : "Regular", time_fmt(at, m->created), up ? "succeeded" : "creating", up ? "running" : "starting");
}

/* What Compute demands of this body, and what this cloud has. */
static bool
body_is_right(const struct jsonr *o, struct machine *m)
{
	struct jsonr tags = jsonr_get(o, "tags"), p = jsonr_get(o, "properties"), hardware = jsonr_get(&p, "hardwareProfile");
	struct jsonr network = jsonr_get(&p, "networkProfile"), nics = jsonr_get(&network, "networkInterfaceConfigurations");
	struct jsonr nic = jsonr_at(&nics, 0), np = jsonr_get(&nic, "properties"), storage = jsonr_get(&p, "storageProfile");
	struct jsonr disk = jsonr_get(&storage, "osDisk");
	const char *location = "", *size = "", *whose = "", *token = "", *priority = "", *evict = "", *with = "", *disk_with = "";

	if (jsonr_str(o, "location", &location, NULL) != BERTH_OK || jsonr_str(&hardware, "vmSize", &size, NULL) != BERTH_OK ||
	    jsonr_str(&tags, "berth-installation", &whose, NULL) != BERTH_OK ||
	    jsonr_str(&tags, "berth-token", &token, NULL) != BERTH_OK || jsonr_str(&p, "priority", &priority, NULL) != BERTH_OK ||
	    jsonr_str(&p, "evictionPolicy", &evict, NULL) != BERTH_OK || jsonr_str(&np, "deleteOption", &with, NULL) != BERTH_OK ||
	    jsonr_str(&disk, "deleteOption", &disk_with, NULL) != BERTH_OK)
		return false;
	str_copy(m->installation, sizeof(m->installation), whose);
	str_copy(m->token, sizeof(m->token), token);
	m->spot = str_eq(priority, "Spot");
	return str_eq(location, "eastus") && str_eq(size, SIZE) && str_eq(with, "Delete") && str_eq(disk_with, "Delete") &&
	    m->spot == str_eq(evict, "Delete");
}

static enum berth_code
put(const struct http_req *req, struct http_resp *resp, const char *name, int64_t now)
{
	struct machine m = { .created = now };
	struct jsonr o;
	size_t up = 0;
	json_t *v = NULL;
	bool right;

	if (jsonr_parse(req->body, req->body_len, "body", &v, NULL) != BERTH_OK)
		return refuse(resp, 400, "InvalidRequestContent", "no");
	o = jsonr_root(v, "body");
	right = body_is_right(&o, &m);
	json_decref(v);
	if (!right || strlen(name) > 64)
		return refuse(resp, 400, "InvalidParameter", "no");
	if (find(name, now) != NULL)
		return answer(resp, 200, as_json(resp->arena, find(name, now), now));
	for (size_t i = 0; i < n_machines; i++)
		up += !gone(&machines[i], now);
	if (up >= ROOM || n_machines == 64)
		return refuse(resp, 409, "SkuNotAvailable", "not available in location");
	str_copy(m.name, sizeof(m.name), name);
	machines[n_machines++] = m;
	return answer(resp, 201, as_json(resp->arena, &m, now));
}

static enum berth_code
vm(const struct http_req *req, struct http_resp *resp, const char *path, int64_t now)
{
	const char *name = arena_strndup(resp->arena, path, strcspn(path, "?"));
	struct machine *m = find(name, now);

	if (str_eq(req->method, "PUT"))
		return put(req, resp, name, now);
	if (m == NULL)
		return str_eq(req->method, "DELETE") ? answer(resp, 204, "") : refuse(resp, 404, "ResourceNotFound", "no");
	if (!str_eq(req->method, "DELETE"))
		return answer(resp, 200, as_json(resp->arena, m, now));
	if (m->ended == 0)
		m->ended = now;
	return answer(resp, 202, "");
}

/* Public addresses, cards, machines: machines on two pages. */
static enum berth_code
list(struct http_resp *resp, const char *path, int64_t now)
{
	char *text = arena_strdup(resp->arena, "");
	bool nic = strstr(path, "networkInterfaces") != NULL, ip = strstr(path, "publicIPAddresses") != NULL;

	if (strstr(path, "virtualMachines?") != NULL && strstr(path, "$skiptoken=") == NULL)
		return answer(resp, 200, "{\"value\":[],\"nextLink\":\"https://management.azure.com:443/" GROUP
		    "Microsoft.Compute/virtualMachines?api-version=2024-07-01&$expand=instanceView&$skiptoken=2\"}");
	for (size_t i = 0; i < n_machines; i++) {
		const struct machine *m = &machines[i];

		if (gone(m, now))
			continue;
		text = arena_printf(resp->arena, "%s%s%s", text, text[0] != '\0' ? "," : "", ip ? arena_printf(resp->arena,
		    "{\"id\":\"/x/publicIPAddresses/%s\",\"properties\":{\"ipAddress\":\"192.0.2.%zu\"}}", m->name, i) : nic ?
		    arena_printf(resp->arena, "{\"properties\":{\"virtualMachine\":{\"id\":\"/x/virtualMachines/%s\"},\"ipConfigurations\":["
		    "{\"properties\":{\"privateIPAddress\":\"10.0.0.4\",\"publicIPAddress\":{\"id\":\"/X/publicIPAddresses/%s\"}}}]}}", m->name,
		    m->name) : as_json(resp->arena, m, now));
	}
	return answer(resp, 200, arena_printf(resp->arena, "{\"value\":[%s]}", text));
}

static const char *
meter(struct arena *a, const char *type, const char *sku, double price, const char *more)
{
	return arena_printf(a, "{\"currencyCode\":\"USD\",\"tierMinimumUnits\":0.0,\"retailPrice\":%g,\"armRegionName\":\"eastus\","
	    "\"effectiveStartDate\":\"2026-01-01T00:00:00Z\",\"meterName\":\"%s\",\"productName\":\"Virtual Machines NCasT4 v3 Series\","
	    "\"skuName\":\"%s\",\"unitOfMeasure\":\"1 Hour\",\"type\":\"%s\",\"armSkuName\":\"" SIZE "\",\"isPrimaryMeterRegion\":true%s}",
	    price, sku, sku, type, more);
}

static enum berth_code
prices(const struct http_req *req, struct http_resp *resp)
{
	struct arena *a = resp->arena;

	if (http_req_get_header(req, "Authorization") != NULL)
		return refuse(resp, 400, "TokenWentAstray", "no");
	if (strstr(req->url, "$skip=") == NULL)
		return answer(resp, 200, arena_printf(a, "{\"BillingCurrency\":\"USD\",\"Items\":[%s],\"NextPageLink\":"
		    "\"https://prices.azure.com:443/api/retail/prices?api-version=2023-01-01-preview&$skip=1000\",\"Count\":1}",
		    meter(a, "Consumption", "NC4as T4 v3", 0.526, "")));
	return answer(resp, 200, arena_printf(a, "{\"BillingCurrency\":\"USD\",\"Items\":[%s,%s],\"NextPageLink\":null,\"Count\":2}",
	    meter(a, "Consumption", "NC4as T4 v3 Spot", 0.0526, ""), meter(a, "Reservation", "NC4as T4 v3", 2700,
	    ",\"reservationTerm\":\"1 Year\"")));
}

static enum berth_code
arm(const struct http_req *req, struct http_resp *resp, const char *path, int64_t now)
{
	const char *bearer = http_req_get_header(req, "Authorization");
	static const char machine[] = GROUP "Microsoft.Compute/virtualMachines/";

	if (bearer == NULL || !str_eq(bearer, "Bearer tok-SECRET"))
		return refuse(resp, 401, "InvalidAuthenticationToken", "no");
	if (str_starts(path, machine))
		return vm(req, resp, path + strlen(machine), now);
	if (str_starts(path, GROUP) && (strstr(path, "publicIPAddresses?") != NULL || strstr(path, "networkInterfaces?") != NULL ||
	    strstr(path, "virtualMachines?") != NULL))
		return list(resp, path, now);
	if (str_starts(path, "providers/Microsoft.ResourceGraph/resources?") && str_eq(req->method, "POST"))
		return answer(resp, 200, "{\"totalRecords\":1,\"data\":[{\"size\":\"standard_nc4as_t4_v3\",\"location\":\"eastus\",\"rate\":"
		    "\"5-10\"}]}");
	if (str_starts(path, "subscriptions/sub/providers/Microsoft.Compute/locations/eastus/usages?"))
		return answer(resp, 200, "{\"value\":[{\"unit\":\"Count\",\"currentValue\":0,\"limit\":8,\"name\":{\"value\":"
		    "\"standardNCASv3_T4Family\"}},{\"unit\":\"Count\",\"currentValue\":0,\"limit\":8,\"name\":{\"value\":\"lowPriorityCores\"}}]}");
	if (str_starts(path, "subscriptions/sub/providers/Microsoft.Compute/skus?"))
		return answer(resp, 200, "{\"value\":[{\"resourceType\":\"virtualMachines\",\"name\":\"" SIZE "\",\"capabilities\":[{\"name\":"
		    "\"vCPUs\",\"value\":\"4\"},{\"name\":\"MemoryGB\",\"value\":\"28\"},{\"name\":\"GPUs\",\"value\":\"1\"},{\"name\":"
		    "\"LowPriorityCapable\",\"value\":\"True\"}],\"restrictions\":[]}]}");
	return refuse(resp, 404, "NotFound", "no");
}

enum berth_code
azure_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (str_eq(req->url, "https://login.microsoftonline.com/ten/oauth2/v2.0/token"))
		return str_eq(req->body, "client_id=app&client_secret=key-SECRET&grant_type=client_credentials&scope="
		    "https%3A%2F%2Fmanagement.azure.com%2F.default") ? answer(resp, 200, "{\"token_type\":\"Bearer\",\"expires_in\":3599,"
		    "\"access_token\":\"tok-SECRET\"}") : answer(resp, 400, "{\"error\":\"invalid_client\",\"error_description\":\"no\"}");
	if (str_starts(req->url, "https://prices.azure.com/api/retail/prices?") ||
	    str_starts(req->url, "https://prices.azure.com:443/api/retail/prices?"))
		return prices(req, resp);
	if (str_starts(req->url, ARM))
		return arm(req, resp, req->url + strlen(ARM), acc->env.now);
	if (str_starts(req->url, "https://management.azure.com:443/"))
		return arm(req, resp, req->url + strlen("https://management.azure.com:443/"), acc->env.now);
	return refuse(resp, 404, "NotFound", "no");
}
