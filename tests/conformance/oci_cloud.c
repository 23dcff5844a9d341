#include <string.h>

#include "tests/conformance/clouds.h"
#include "tests/conformance/kit.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define IAAS "https://iaas.eu-nowhere-1.oraclecloud.com/20160918/"

static struct kit_fleet fleet;

void
oci_cloud_reset(void)
{
	fleet.n = 0;
}

static enum berth_code
refuse(struct http_resp *resp, int status, const char *code, const char *message)
{
	return kit_answer(resp, status, arena_printf(resp->arena, "{\"code\":\"%s\",\"message\":\"%s\"}", code, message));
}

static const char *
as_json(struct arena *a, const struct kit_machine *m, int64_t now)
{
	char at[TIME_FMT_SIZE];

	return arena_printf(a, "{\"id\":\"%s\",\"displayName\":\"%s\",\"shape\":\"VM.GPU.A10.1\",\"availabilityDomain\":\"x:NOWHERE-AD-1\","
	    "\"region\":\"nwh\",\"lifecycleState\":\"%s\",\"timeCreated\":\"%s\",\"freeformTags\":{\"berth-installation\":\"%s\","
	    "\"berth-token\":\"%s\"}%s}", m->id, m->name, m->ended != 0 ? "TERMINATING" : now >= m->created + KIT_START_S ? "RUNNING" :
	    "PROVISIONING", time_fmt(at, m->created), m->installation, m->token, m->spot ? ",\"preemptibleInstanceConfig\":{}" : "");
}

static const char *
attachment(struct arena *a, const struct kit_machine *m, int64_t now)
{
	(void)now;
	return arena_printf(a, "{\"instanceId\":\"%s\",\"vnicId\":\"vnic-%s\",\"lifecycleState\":\"ATTACHED\"},"
	    "{\"instanceId\":\"%s\",\"vnicId\":\"gone\",\"lifecycleState\":\"DETACHED\"}", m->id, m->id, m->id);
}

static enum berth_code
launch(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	const char *token = http_req_get_header(req, "opc-retry-token");
	struct kit_machine *m;

	if (token == NULL || !str_eq(kit_str(req, "shape"), "VM.GPU.A10.1") || !str_eq(kit_str(req, "compartmentId"), "ten") ||
	    !str_eq(kit_str(req, "availabilityDomain"), "x:NOWHERE-AD-1") || !str_eq(kit_str(req, "sourceDetails.imageId"), "img") ||
	    !str_eq(kit_str(req, "createVnicDetails.subnetId"), "sub"))
		return refuse(resp, 400, "InvalidParameter", "no");
	for (size_t i = 0; i < fleet.n; i++)
		if (str_eq(fleet.v[i].key, token))
			return kit_answer(resp, 200, as_json(resp->arena, &fleet.v[i], now));
	if (kit_full(&fleet, now))
		return refuse(resp, 500, "InternalError", "Out of host capacity.");
	m = kit_add(&fleet, "ocid1.instance.oc1.nwh.", now);
	str_copy(m->key, sizeof(m->key), token);
	str_copy(m->name, sizeof(m->name), kit_str(req, "displayName"));
	str_copy(m->installation, sizeof(m->installation), kit_str(req, "freeformTags.berth-installation"));
	str_copy(m->token, sizeof(m->token), kit_str(req, "freeformTags.berth-token"));
	m->spot = str_eq(kit_str(req, "preemptibleInstanceConfig.preemptionAction.type"), "TERMINATE");
	return kit_answer(resp, 200, as_json(resp->arena, m, now));
}

static enum berth_code
iaas(const struct http_req *req, struct http_resp *resp, const char *path, int64_t now)
{
	struct kit_machine *m = str_starts(path, "instances/") ?
	    kit_find(&fleet, arena_strndup(req->arena, path + 10, strcspn(path + 10, "?")), now) : NULL;

	if (str_starts(path, "shapes?"))
		return kit_answer(resp, 200, "[{\"shape\":\"VM.Standard.E4.Flex\",\"ocpus\":1,\"memoryInGBs\":16,\"gpus\":0},"
		    "{\"shape\":\"VM.GPU.A10.1\",\"ocpus\":15,\"memoryInGBs\":240,\"gpus\":1,\"gpuDescription\":\"NVIDIA A10\"}]");
	if (str_eq(path, "computeCapacityReports"))
		return kit_answer(resp, 200, "{\"shapeAvailabilities\":[{\"instanceShape\":\"VM.GPU.A10.1\",\"availabilityStatus\":"
		    "\"AVAILABLE\",\"availableCount\":2}]}");
	if (str_eq(path, "instances") && str_eq(req->method, "POST"))
		return launch(req, resp, now);
	if (str_starts(path, "instances?"))
		return kit_answer(resp, 200, arena_printf(resp->arena, "[%s]", kit_list(&fleet, resp->arena, as_json, now)));
	if (str_starts(path, "vnicAttachments?"))
		return kit_answer(resp, 200, arena_printf(resp->arena, "[%s]", kit_list(&fleet, resp->arena, attachment, now)));
	if (str_starts(path, "vnics/") && !str_eq(path, "vnics/gone"))
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"id\":\"%s\",\"privateIp\":\"10.0.0.2\",\"publicIp\":\"192.0.2.3\"}",
		    path + 6));
	if (m == NULL)
		return refuse(resp, 404, "NotAuthorizedOrNotFound", "Authorization failed or requested resource not found.");
	if (!str_eq(req->method, "DELETE"))
		return kit_answer(resp, 200, as_json(resp->arena, m, now));
	if (m->ended == 0)
		m->ended = now;
	return kit_answer(resp, 204, "");
}

enum berth_code
oci_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *signature = http_req_get_header(req, "Authorization");

	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (str_starts(req->url, "https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/?"))
		return signature != NULL ? refuse(resp, 400, "SignatureWentAstray", "no") : kit_answer(resp, 200, "{\"items\":[{\"displayName\":"
		    "\"Compute  - GPU - A10\",\"metricName\":\"GPU Per Hour\",\"currencyCodeLocalizations\":[{\"currencyCode\":\"USD\",\"prices\":["
		    "{\"model\":\"PAY_AS_YOU_GO\",\"value\":2}]}]}]}");
	if (signature == NULL || strstr(signature, "keyId=\"ten/usr/fin\"") == NULL)
		return refuse(resp, 401, "NotAuthenticated", "no");
	if (str_starts(req->url, "https://identity.eu-nowhere-1.oraclecloud.com/20160918/availabilityDomains?"))
		return kit_answer(resp, 200, "[{\"name\":\"x:NOWHERE-AD-1\"}]");
	if (strstr(req->url, ".oraclecloud.com/20190729/limitValues?") != NULL || strstr(req->url, ".oci.oraclecloud.com/20190729/limitValues?") != NULL)
		return kit_answer(resp, 200, "[{\"name\":\"gpu-a10-count\",\"scopeType\":\"AD\",\"value\":2},{\"name\":\"standard-e4-core-count\","
		    "\"scopeType\":\"AD\",\"value\":9}]");
	if (str_starts(req->url, IAAS))
		return iaas(req, resp, req->url + strlen(IAAS), acc->env.now);
	return refuse(resp, 404, "NotAuthorizedOrNotFound", "no");
}
