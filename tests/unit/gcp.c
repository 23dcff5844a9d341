/* tests/unit/gcp.c - Google Cloud: tokens, bodies, operations, codes; the answers of others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/gcp/gcp.h"
#include "tests/tap.h"
#include "tests/unit/gcp_test.h"
#include "util/str.h"
#include "util/yaml.h"

static void
test_create(void)
{
	static const struct offer o = { .provider = "gcp", .account = "g", .region = "us-central1", .zone = "us-central1-c",
		.instance_type = "n1-standard-8+2xnvidia-tesla-t4", .purchase = PURCHASE_SPOT, .currency = "USD", .source = "" };
	struct prov_account *acc = open_account(", ssh_key: 'me:ssh-ed25519 AAAA me', subnetwork: regions/REGION/subnetworks/s, "
	    "external_ip: false", BERTH_OK);
	struct prov_create c = { .token = "0123456789abcdef0123456789abcdef", .offer = &o, .user_data = "#!/bin/sh\n" };
	struct http_req req = { .arena = a };
	struct prov_machine m = { .ref = "" };
	struct berth_err err = { 0 };
	struct http_resp resp;
	struct offer lease = o;

	tap_code(acc->ops->lease->create_build(acc->st, &c, &req, &err), BERTH_OK, &err);
	tap_is_str(req.url, "https://compute.googleapis.com/compute/v1/projects/proj/zones/us-central1-c/instances?requestId="
	    "01234567-89ab-cdef-0123-456789abcdef", "where a machine is made");
	tap_is_str(req.body, "{\"name\":\"berth-78199d8e1c8ed013-0123456789abcdef0123456789abcdef\",\"machineType\":"
	    "\"zones/us-central1-c/machineTypes/n1-standard-8\",\"labels\":{\"berth-installation\":\"78199d8e1c8ed013\",\"berth-token\":"
	    "\"0123456789abcdef0123456789abcdef\"},\"disks\":[{\"boot\":true,\"autoDelete\":true,\"initializeParams\":{\"sourceImage\":"
	    "\"img\",\"diskSizeGb\":\"100\",\"diskType\":\"zones/us-central1-c/diskTypes/pd-balanced\"}}],\"networkInterfaces\":["
	    "{\"subnetwork\":\"regions/us-central1/subnetworks/s\"}],\"scheduling\":{\"provisioningModel\":\"SPOT\","
	    "\"instanceTerminationAction\":\"DELETE\",\"onHostMaintenance\":\"TERMINATE\",\"automaticRestart\":false},"
	    "\"guestAccelerators\":[{\"acceleratorType\":\"projects/proj/zones/us-central1-c/acceleratorTypes/nvidia-tesla-t4\","
	    "\"acceleratorCount\":2}],\"metadata\":{\"items\":[{\"key\":\"ssh-keys\",\"value\":\"me:ssh-ed25519 AAAA me\"},{\"key\":"
	    "\"startup-script\",\"value\":\"#!/bin/sh\\n\"}]}}", "what it is asked with");
	resp = say(200, "{\"name\":\"operation-1\",\"targetLink\":\"https://x/zones/us-central1-c/instances/"
	    "berth-78199d8e1c8ed013-0123456789abcdef0123456789abcdef\"}");
	tap_code(acc->ops->lease->create_parse(acc->st, &resp, &c, &m, &err), BERTH_OK, &err);
	tap_is_str(m.ref, "us-central1-c/berth-78199d8e1c8ed013-0123456789abcdef0123456789abcdef", "its ref");
	resp = say(200, "{\"name\":\"operation-1\",\"targetLink\":\"https://x/zones/us-central1-c/instances/other\"}");
	tap_code(acc->ops->lease->create_parse(acc->st, &resp, &c, &m, &err), BERTH_EINVAL, &err);
	lease.zone = "";
	c.offer = &lease;
	tap_code(acc->ops->lease->create_build(acc->st, &c, &(struct http_req){ .arena = a }, &err), BERTH_EPERMANENT, &err);
	for (const char *const *bad = (const char *const[]){ "x", "a/b/c", "/b", "a/", "a/b?c", "a/../b", NULL }; *bad != NULL; bad++)
		tap_code(acc->ops->lease->destroy_build(acc->st, *bad, &(struct http_req){ .arena = a }, &err), BERTH_EINVAL, &err);
	prov_account_close(acc);
}

static void
test_tpu(void)
{
	static const struct offer o = { .provider = "gcp", .account = "g", .region = "us-east5", .zone = "us-east5-b",
		.instance_type = "v6e-8", .purchase = PURCHASE_SPOT, .currency = "USD", .source = "" };
	struct prov_account *acc = open_account(", tpu_zones: us-east5-b", BERTH_OK);
	struct prov_create c = { .token = "0123456789abcdef0123456789abcdef", .offer = &o };
	struct http_req req = { .arena = a };
	struct prov_machine m = { .ref = "" };
	struct berth_err err = { 0 };
	struct wire prices[] = { { "aggregated/machineTypes", no_cards }, { "aggregated/acceleratorTypes", no_cards },
	    { "locations/us-east5-b/acceleratorTypes", "{\"acceleratorTypes\":[{\"type\":\"v6e-8\",\"acceleratorConfigs\":[{\"type\":\"V6E\","
	    "\"topology\":\"2x4\"}]}]}" }, { "/skus?", arena_printf(a, "{\"skus\":[%s,%s]}",
	    sku("TpuV6e running in Columbus", "TPU", "OnDemand", "h", "us-east5", 2.7),
	    sku("TpuV6e attached to Spot Preemptible VMs running in Columbus", "TPU", "Preemptible", "h", "us-east5", 1.35)) },
	    { NULL, NULL } };
	struct wire machines[] = { { "aggregated/", no_cards }, { "/nodes?", "{}" }, { "/queuedResources?", "{\"queuedResources\":["
	    "{\"name\":\"projects/proj/locations/us-east5-b/queuedResources/berth-78199d8e1c8ed013-t1\",\"createTime\":"
	    "\"2026-11-30T11:00:00.5Z\",\"spot\":{},\"tpu\":{\"nodeSpec\":[{\"node\":{\"acceleratorType\":\"v6e-8\"}}]},\"state\":{\"state\":"
	    "\"WAITING_FOR_RESOURCES\"}},{\"name\":\"projects/proj/locations/us-east5-b/queuedResources/berth-78199d8e1c8ed013-t2\","
	    "\"state\":{\"state\":\"FAILED\",\"failedData\":{\"error\":{\"code\":8,\"message\":\"There is no more capacity in the zone\"}}}},"
	    "{\"name\":\"projects/proj/locations/us-east5-b/queuedResources/berth-78199d8e1c8ed013-t3\",\"state\":{\"state\":\"FAILED\","
	    "\"failedData\":{\"error\":{\"code\":8,\"message\":\"Quota limit exceeded\"}}}}]}" }, { NULL, NULL } };

	tap_code(walk(acc, 'o', prices, &err), BERTH_OK, &err);
	is_price("v6e-8", "us-east5", PURCHASE_ON_DEMAND, 0, 8 * 2.7);
	is_price("v6e-8", "us-east5", PURCHASE_SPOT, 0, 8 * 1.35);
	tap_ok(got.offers.n > 0 && accel_find(accels, got.offers.v[0].accelerator) != NULL && got.offers.v[0].accelerator_count == 8,
	    "eight chips of a known kind");
	tap_code(acc->ops->lease->create_build(acc->st, &c, &req, &err), BERTH_OK, &err);
	tap_is_str(req.url, "https://tpu.googleapis.com/v2/projects/proj/locations/us-east5-b/queuedResources?queuedResourceId="
	    "berth-78199d8e1c8ed013-0123456789abcdef0123456789abcdef&requestId=01234567-89ab-cdef-0123-456789abcdef", "a TPU is queued for");
	tap_ok(strstr(req.body, "\"spot\":{}") != NULL && strstr(req.body, "\"runtimeVersion\":\"v2-alpha-tpuv6e\"") != NULL, "%s", req.body);
	tap_code(walk(acc, 'm', machines, &err), BERTH_OK, &err);
	tap_is_long((long long)got.machines.n, 3, "three queued resources");
	if (got.machines.n != 3)
		return;
	m = got.machines.v[0];
	tap_ok(m.state == PROV_PENDING && m.purchase == PURCHASE_SPOT && str_eq(m.token, "t1") &&
	    str_eq(m.ref, "tpu:us-east5-b/berth-78199d8e1c8ed013-t1") && str_eq(m.instance_type, "v6e-8"), "one waits");
	tap_ok(got.machines.v[1].state == PROV_FAILED && got.machines.v[1].why == BERTH_ECAPACITY, "no capacity");
	tap_ok(got.machines.v[2].state == PROV_FAILED && got.machines.v[2].why == BERTH_EQUOTA, "quota, under the same number");
	machines[1].body = "{\"unreachable\":[\"us-east5-b\"]}";
	tap_code(walk(acc, 'm', machines, &err), BERTH_ETRANSIENT, &err);
	c.offer = &(struct offer){ .provider = "gcp", .account = "g", .region = "us-east5", .zone = "us-east5-b", .instance_type = "tpu7x-8" };
	tap_code(acc->ops->lease->create_build(acc->st, &c, &req, &err), BERTH_EPERMANENT, &err);
	prov_account_close(acc);
}

/* One exchange after the other, with the core. */
static struct { int status; const char *part, *body; } said[4];
static int asked;

static enum berth_code
answer(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	(void)arg, (void)acc, (void)err;
	*resp = say(said[asked].status, said[asked].body);
	if (strstr(req->url, said[asked].part) == NULL)
		tap_ok(false, "asked for %s", req->url);
	asked += asked < 3;
	return BERTH_OK;
}

/* A machine that is not there: its zone's operations say what became of it. */
static void
test_status_why(void)
{
	static const char ref[] = "us-a1-b/berth-78199d8e1c8ed013-t1", missing[] = "{\"error\":{\"code\":404,\"errors\":[{\"reason\":\"notFound\"}]}}";
	struct prov_account *acc = open_account("", BERTH_OK);
	struct prov_machine m = { .ref = "" };
	struct berth_err err = { 0 };

	(void)setenv("GCP_KEY", "{\"type\":\"authorized_user\",\"client_id\":\"c\",\"client_secret\":\"s\",\"refresh_token\":\"r\"}", 1);
	prov_account_hook(acc, answer, NULL);
	said[0].status = 200, said[0].part = "/token", said[0].body = "{\"access_token\":\"t\",\"expires_in\":3600}";
	said[1].status = 404, said[1].part = "/zones/us-a1-b/instances/berth-78199d8e1c8ed013-t1", said[1].body = missing;
	said[2].status = 200, said[2].part = "/zones/us-a1-b/operations?", said[2].body = "{\"items\":[{\"operationType\":\"insert\",\"zone\":"
	    "\"z/us-a1-b\",\"targetLink\":\"x/instances/berth-78199d8e1c8ed013-t0\",\"insertTime\":\"2026-11-30T11:59:00Z\",\"error\":{\"errors\":"
	    "[{\"code\":\"QUOTA_EXCEEDED\"}]}},{\"operationType\":\"insert\",\"zone\":\"z/us-a1-b\",\"targetLink\":\"x/instances/"
	    "berth-78199d8e1c8ed013-t1\",\"insertTime\":\"2026-11-30T11:59:00Z\",\"error\":{\"errors\":[{\"code\":"
	    "\"ZONE_RESOURCE_POOL_EXHAUSTED\",\"message\":\"none left\"}]}}]}";
	tap_code(prov_status(acc, ref, &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_FAILED && m.why == BERTH_ECAPACITY && str_eq(m.ref, ref) && str_eq(m.installation, "78199d8e1c8ed013"),
	    "failed after it was accepted: %s", m.detail);
	asked = 1;
	said[2].body = "{}";
	tap_code(prov_status(acc, ref, &m, &err), BERTH_ENOTFOUND, &err);
	asked = 1;
	said[2].status = 403;
	tap_code(prov_status(acc, ref, &m, &err), BERTH_ENOTFOUND, &err);
	asked = 1;
	said[1].status = 403;
	tap_code(prov_status(acc, ref, &m, &err), BERTH_EAUTH, &err);
	(void)setenv("GCP_KEY", "", 1);
	acc->ops->auth->drop(acc->st);
	tap_code(prov_status(acc, ref, &m, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "credentials: credentials") == NULL && strstr(err.msg, "credentials: the environment has no GCP_KEY") != NULL,
	    "%s", err.msg);
	prov_account_close(acc);
}

/* What an insert came to after it was accepted; each code of the collected answers. */
static void
test_operations(void)
{
	static const struct { const char *op; enum berth_code why; } ops[] = {
		{ "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", BERTH_ECAPACITY }, { "ZONE_RESOURCE_POOL_EXHAUSTED", BERTH_ECAPACITY },
		{ "QUOTA_EXCEEDED", BERTH_EQUOTA }, { "IP_SPACE_EXHAUSTED", BERTH_ECAPACITY }, { "PERMISSIONS_ERROR", BERTH_EAUTH },
		{ "RESOURCE_NOT_FOUND", BERTH_EPERMANENT }, { "NEVER_SEEN", BERTH_ECAPACITY }, { "INTERNAL_ERROR", BERTH_ETRANSIENT },
	};
	struct prov_account *acc = open_account("", BERTH_OK);
	struct berth_err err = { 0 };
	char *text = arena_strdup(a, "");
	struct wire w[] = { { "aggregated/instances", no_cards }, { "aggregated/operations", NULL }, { NULL, NULL } };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		text = arena_printf(a, "%s{\"operationType\":\"insert\",\"zone\":\"z/us-a1-b\",\"targetLink\":\"x/instances/"
		    "berth-78199d8e1c8ed013-%zu\",\"insertTime\":\"2026-11-30T03:59:00.000-08:00\",\"status\":\"DONE\",\"error\":{\"errors\":["
		    "{\"code\":\"%s\",\"message\":\"m\"}]},\"httpErrorStatusCode\":503},", text, i, ops[i].op);
	text = arena_printf(a, "{\"items\":{\"zones/us-a1-b\":{\"operations\":[%s"
	    "{\"operationType\":\"insert\",\"zone\":\"z/us-a1-b\",\"targetLink\":\"x/instances/berth-78199d8e1c8ed013-ok\",\"insertTime\":"
	    "\"2026-11-30T03:59:00-08:00\"},{\"operationType\":\"insert\",\"zone\":\"z/us-a1-b\",\"targetLink\":\"x/instances/theirs\","
	    "\"insertTime\":\"2026-11-30T03:59:00-08:00\",\"error\":{\"errors\":[{\"code\":\"X\"}]}},{\"operationType\":"
	    "\"compute.instances.preempted\",\"zone\":\"z/us-a1-b\",\"targetLink\":\"x/instances/berth-78199d8e1c8ed013-p\","
	    "\"insertTime\":\"2026-11-30T03:59:00-08:00\"},{\"operationType\":\"insert\",\"zone\":\"z/us-a1-b\",\"targetLink\":"
	    "\"x/instances/berth-78199d8e1c8ed013-old\",\"insertTime\":\"2026-11-20T03:59:00-08:00\",\"error\":{\"errors\":[{\"code\":"
	    "\"X\"}]}}]}}}", text);
	w[1].body = text;
	tap_code(walk(acc, 'm', w, &err), BERTH_OK, &err);
	tap_is_long((long long)got.machines.n, 9, "failed inserts of ours and a preemption; not what is done, theirs or old");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]) && i < got.machines.n; i++)
		tap_ok(got.machines.v[i].state == PROV_FAILED && got.machines.v[i].why == ops[i].why &&
		    str_eq(got.machines.v[i].installation, "78199d8e1c8ed013") && got.machines.v[i].zone[0] != '\0', "%s: %s", ops[i].op,
		    err_name(got.machines.v[i].why));
	if (got.machines.n == 9)
		tap_ok(got.machines.v[8].state == PROV_GONE && got.machines.v[8].preempted && str_eq(got.machines.v[8].token, "p"),
		    "taken back");
	w[0].body = "{\"items\":{},\"unreachables\":[\"zones/us-a1-b\"]}";
	tap_code(walk(acc, 'm', w, &err), BERTH_ETRANSIENT, &err);
	w[0].body = "{\"items\":{\"zones/us-a1-b\":{\"warning\":{\"code\":\"UNREACHABLE\"}}}}";
	tap_code(walk(acc, 'm', w, &err), BERTH_ETRANSIENT, &err);
	prov_account_close(acc);
}

static enum berth_code
judge(int status, const char *body, struct prov_error *e)
{
	struct http_resp resp = say(status, body);

	return provider_gcp.error_read(&resp, e) ? prov_classify(&provider_gcp, &resp, e, true, NULL) : BERTH_OK;
}

static void
test_codes(void)
{
	static const struct { int status; const char *body; enum berth_code want; } codes[] = {
		{ 403, "{\"error\":{\"code\":403,\"errors\":[{\"reason\":\"rateLimitExceeded\"}]}}", BERTH_ETHROTTLED },
		{ 403, "{\"error\":{\"code\":403,\"errors\":[{\"reason\":\"quotaExceeded\"}]}}", BERTH_EQUOTA },
		{ 403, "{\"error\":{\"code\":403,\"errors\":[{\"reason\":\"forbidden\"}]}}", BERTH_EAUTH },
		{ 403, "{\"error\":{\"code\":403,\"status\":\"PERMISSION_DENIED\",\"details\":[{\"reason\":\"SERVICE_DISABLED\"}]}}", BERTH_EAUTH },
		{ 409, "{\"error\":{\"code\":409,\"errors\":[{\"reason\":\"alreadyExists\"}]}}", BERTH_ETRANSIENT },
		{ 404, "{\"error\":{\"code\":404,\"errors\":[{\"reason\":\"notFound\"}]}}", BERTH_ENOTFOUND },
		{ 400, "{\"error\":{\"code\":400,\"errors\":[{\"reason\":\"invalid\"}]}}", BERTH_EPERMANENT },
		{ 429, "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"There is no more capacity\"}}", BERTH_ECAPACITY },
		{ 429, "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"Quota limit 'X' exceeded\"}}", BERTH_EQUOTA },
		{ 429, "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"Quota exceeded for limit 'Reads per minute'\"}}",
		    BERTH_ETHROTTLED },
		{ 400, "{\"error\":\"invalid_grant\",\"error_description\":\"Invalid JWT\"}", BERTH_EAUTH },
		{ 400, "{\"error\":\"internal_failure\"}", BERTH_ETRANSIENT },
		{ 200, "{\"kind\":\"compute#operation\",\"error\":{\"errors\":[{\"code\":\"QUOTA_EXCEEDED\"}]}}", BERTH_EQUOTA },
		{ 200, "{\"kind\":\"compute#operation\"}", BERTH_OK },
	};
	struct prov_error e;
	char *text;
	json_t *v = NULL, *body;
	const char *name;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		tap_is_long(judge(codes[i].status, codes[i].body, &e), codes[i].want, "%d %s", codes[i].status, codes[i].body);
	text = slurp("payloads/gcp/operation_errors_constructed.json");
	if (text == NULL || jsonr_parse(text, strlen(text), "payload", &v, NULL) != BERTH_OK) {
		tap_skip("collected answers", "no shared data");
		return;
	}
	json_object_foreach(v, name, body) {
		char *one = json_dumps(body, JSON_COMPACT);
		enum berth_code want = strstr(name, "POOL") != NULL ? BERTH_ECAPACITY : strstr(name, "uota") != NULL ||
		    strstr(name, "QUOTA") != NULL ? BERTH_EQUOTA : strstr(name, "rate") != NULL ? BERTH_ETHROTTLED : BERTH_ETRANSIENT;
		int status = strstr(name, "403") != NULL ? 403 : strstr(name, "409") != NULL ? 409 : 200;

		tap_is_long(judge(status, one, &e), want, "%s (%s)", name, e.text);
		free(one);
	}
	json_decref(v);
	text = slurp("payloads/gcp/opencost_error.json");
	if (text != NULL)
		tap_is_long(judge(400, text, &e), BERTH_EAUTH, "%s", e.text);
}

/* Answers recorded by others, parsed where they lie. */
static void
test_recorded(void)
{
	char *one = slurp("payloads/gcp/libcloud_zones_us-central1-a_instances_node-name.json"), *types, *pages;
	struct prov_account *acc;
	struct berth_err err = { 0 };
	struct prov_machine m;
	struct http_resp resp;

	if (one == NULL) {
		tap_skip("recorded answers", "no shared data");
		return;
	}
	acc = open_account("", BERTH_OK);
	resp = say(200, one);
	tap_code(acc->ops->lease->status_parse(acc->st, &resp, "x/y", &m, &err), BERTH_OK, &err);
	tap_ok(str_eq(m.ref, "us-central1-a/node-name") && m.installation[0] == '\0' && m.state == PROV_READY && m.created > 0 &&
	    str_eq(m.region, "us-central1") && str_eq(m.instance_type, "n1-standard-1"), "%s, %s, %s", m.ref, m.detail, m.address);
	types = slurp("payloads/gcp/libcloud_aggregated_machineTypes.json");
	tap_code(walk(acc, 'o', (struct wire[]){ { "pageToken=Chh", no_cards }, { "aggregated/machineTypes", types }, { "aggregated/acceleratorTypes",
	    "{\"items\":{\"zones/us-central1-a\":{\"acceleratorTypes\":[{\"name\":\"nvidia-tesla-t4\"}]}}}" }, { "/skus?",
	    arena_printf(a, "{\"skus\":[%s,%s,%s]}", sku("N1 Predefined Instance Core running in Americas", "N1Standard", "OnDemand", "h",
	    "us-central1", 0.031611), sku("N1 Predefined Instance Ram running in Americas", "N1Standard", "OnDemand", "GiBy.h",
	    "us-central1", 0.004237), sku("Nvidia Tesla T4 GPU running in Americas", "GPU", "OnDemand", "h", "us-central1", 0.35)) },
	    { NULL, NULL } }, &err), BERTH_OK, &err);
	is_price("n1-standard-4+1xnvidia-tesla-t4", "us-central1", PURCHASE_ON_DEMAND, 0, 4 * 0.031611 + 15 * 0.004237 + 0.35);
	pages = slurp("payloads/gcp/libcloud_regions-paged-1.json");
	tap_code(walk(acc, 'q', (struct wire[]){ { "quotaInfos?", "{}" }, { "pageToken=",
	    slurp("payloads/gcp/libcloud_regions-paged-2.json") }, { "/regions?",
	    pages }, { "projects/proj", slurp("payloads/gcp/libcloud_project.json") }, { NULL, NULL } }, &err), BERTH_OK, &err);
	tap_ok(got.requests == 4 && got.quotas.n >= 3 && str_eq(got.quotas.v[0].name, "CPUS") && got.quotas.v[0].limit == 24 &&
	    str_eq(got.quotas.v[0].unit, "vcpu"), "%d requests, %zu quotas", got.requests, got.quotas.n);
	prov_account_close(acc);
}

/* The request for a token is, byte for byte, what was built from the same key with openssl. */
static void
test_jwt(void)
{
	char *text = slurp("vectors/gcp_jwt_rs256.json");
	struct prov_account *acc;
	struct http_req req = { .arena = a };
	struct berth_err err = { 0 };
	json_t *v = NULL, *want;
	char *key;

	if (text == NULL || jsonr_parse(text, strlen(text), "vector", &v, NULL) != BERTH_OK) {
		tap_skip("the published assertion", "no shared data");
		return;
	}
	key = json_dumps(json_object_get(v, "service_account_json"), JSON_COMPACT);
	setenv("GCP_KEY", key, 1);
	acc = open_account("", BERTH_OK);
	want = json_object_get(json_array_get(json_object_get(v, "cases"), 0), "token_request");
	tap_ok(gcp_auth.need(acc->st, 1767225600), "a token is needed");
	tap_code(gcp_auth.step_build(acc->st, 1767225600, &req, &err), BERTH_OK, &err);
	tap_is_str(req.url, json_string_value(json_object_get(want, "url")), "where it is asked for");
	tap_is_str(req.body, json_string_value(json_object_get(want, "body")), "and with what");
	free(key);
	json_decref(v);
	prov_account_close(acc);
}

/* Cards of the newest families have limits in an API of their own, which may refuse. */
static void
test_families(void)
{
	struct wire w[] = { { "quotaInfos?pageSize=500&pageToken=2", "{\"quotaInfos\":[{\"metric\":\"compute.googleapis.com/"
	    "preemptible_gpus_per_gpu_family\",\"dimensionsInfos\":[{\"dimensions\":{\"region\":\"us-a1\",\"gpu_family\":\"NVIDIA_B200\"},"
	    "\"details\":{\"value\":\"-1\"}}]}]}" }, { "quotaInfos?", "{\"quotaInfos\":[{\"metric\":\"compute.googleapis.com/cpus\"},{\"metric\":"
	    "\"compute.googleapis.com/gpus_per_gpu_family\",\"dimensionsInfos\":[{\"dimensions\":{\"region\":\"us-a1\",\"gpu_family\":"
	    "\"NVIDIA_H100\"},\"details\":{\"value\":\"8\"}},{\"details\":{\"value\":\"0\"}}]}],\"nextPageToken\":\"2\"}" },
	    { "/regions?", "{\"items\":[]}" }, { "projects/proj", "{\"quotas\":[{\"metric\":\"GPUS_ALL_REGIONS\",\"limit\":1,\"usage\":0}]}" },
	    { NULL, NULL } };
	struct prov_account *acc = open_account("", BERTH_OK);
	struct prov_cursor cur = { .next = "c" };
	struct berth_err err = { 0 };
	struct http_resp refused = say(403, "{\"error\":{\"code\":403}}");

	tap_code(walk(acc, 'q', w, &err), BERTH_OK, &err);
	tap_ok(got.quotas.n == 3 && str_eq(got.quotas.v[1].name, "NVIDIA_H100") && got.quotas.v[1].limit == 8 &&
	    str_eq(got.quotas.v[1].region, "us-a1") && got.quotas.v[2].purchase == PURCHASE_SPOT && isnan(got.quotas.v[2].limit),
	    "%zu quotas", got.quotas.n);
	tap_ok(got.quotas.v[0].counts && str_eq(got.quotas.v[0].types, "n1-* a2-* g2-*") && got.quotas.v[0].region[0] == '\0',
	    "cards of older machines in all regions");
	tap_ok(got.quotas.v[1].counts && strstr(got.quotas.v[1].types, "a3-highgpu-*") != NULL && !got.quotas.v[2].counts,
	    "H100 by its machines; spot without a quota of its own counts nothing");
	tap_code(acc->ops->market->quota_build(acc->st, &cur, &(struct http_req){ .arena = a }, &err), BERTH_OK, &err);
	cur.next[0] = '\0';
	tap_code(acc->ops->market->quota_parse(acc->st, &refused, &cur, got_quota, NULL, &err), BERTH_OK, &err);
	prov_account_close(acc);
}

/* What the caller may do is named; a TPU zone that does not answer takes nothing else away. */
static void
test_permissions(void)
{
	struct prov_account *acc = open_account(", tpu_zones: us-east5-b", BERTH_OK);
	struct prov_check c = { .code = BERTH_OK };
	struct http_req req = { .arena = a };
	struct berth_err err = { 0 };
	struct http_resp resp = say(200, "{}");
	struct prov_cursor cur = { 0 };

	tap_code(acc->ops->lease->check_build(acc->st, 0, &req, &err), BERTH_OK, &err);
	tap_is_str(req.url, "https://cloudresourcemanager.googleapis.com/v1/projects/proj:testIamPermissions", "where permissions are asked for");
	tap_code(acc->ops->lease->check_parse(acc->st, &resp, 0, &c, &err), BERTH_OK, &err);
	tap_ok(c.code == BERTH_EAUTH && strstr(c.detail, "missing: compute.machineTypes.list, compute.") != NULL, "%s", c.detail);
	tap_ok(strstr(c.detail, "compute.zoneOperations.list") != NULL, "to the last one");
	resp = say(200, req.body);		/* the question is an answer too: all of them */
	c = (struct prov_check){ .code = BERTH_OK };
	tap_code(acc->ops->lease->check_parse(acc->st, &resp, 0, &c, &err), BERTH_OK, &err);
	tap_ok(c.code == BERTH_OK && c.detail[0] == '\0', "all of them");
	tap_ok(acc->ops->lease->check_build(acc->st, 1, &req, &err) == BERTH_ENOTFOUND, "one question");
	req = (struct http_req){ .arena = a };
	tap_code(acc->ops->market->offers_build(acc->st, &(struct prov_query){ 0 }, &cur, &req, &err), BERTH_OK, &err);
	str_copy(cur.next, sizeof(cur.next), "20|");
	tap_code(acc->ops->market->offers_build(acc->st, &(struct prov_query){ 0 }, &cur, &req, &err), BERTH_OK, &err);
	tap_ok(req.any_status && strstr(req.url, "/us-east5-b/acceleratorTypes") != NULL, "a zone's TPUs, whatever it answers");
	cur.next[0] = '\0';
	resp = say(503, "502:Bad Gateway");
	tap_code(acc->ops->market->offers_parse(acc->st, &resp, &cur, got_offer, NULL, &err), BERTH_OK, &err);
	tap_is_str(cur.next, "31|", "and on to the prices");
	prov_account_close(acc);
}

static void
test_credentials(void)
{
	static const char *const bad[] = { "{", "{}", "{\"type\":\"external_account\"}", "{\"type\":\"service_account\"}",
		"{\"type\":\"service_account\",\"client_email\":\"a@b\",\"private_key\":\"no key\",\"private_key_id\":\"ab\"}",
		"{\"type\":\"authorized_user\",\"client_id\":\"i\",\"client_secret\":\"s\",\"refresh_token\":\"r\",\"token_uri\":\"http://far.example/\"}" };
	struct prov_account *acc = open_account("", BERTH_OK);
	struct http_req req = { .arena = a };
	struct berth_err err = { 0 };
	struct http_resp resp;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("GCP_KEY", bad[i], 1);
		tap_code(gcp_auth.step_build(acc->st, NOW, &(struct http_req){ .arena = a }, &err), BERTH_EAUTH, &err);
		tap_ok(strstr(err.msg, "no key") == NULL, "%s", err.msg);
	}
	prov_account_close(acc);
	unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
	setenv("HOME", "/nonexistent", 1);
	acc = NULL;
	{
		struct prov_env env = { .now = NOW, .installation = "i", .log = &quiet };
		const struct yaml_node *n = NULL;

		tap_code(yaml_parse(a, "{name: g, provider: gcp, project: proj}", 39, "y", &n, &err), BERTH_OK, &err);
		tap_code(prov_account_open(n, NULL, &env, &acc, &err), BERTH_OK, &err);
	}
	tap_code(gcp_auth.step_build(acc->st, NOW, &req, &err), BERTH_OK, &err);
	tap_ok(str_eq(req.url, "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token") &&
	    str_eq(http_req_get_header(&req, "Metadata-Flavor"), "Google"), "the machine's own account: %s", req.url);
	resp = say(200, "{\"access_token\":\"ya29.x\",\"expires_in\":100,\"token_type\":\"Bearer\"}");
	tap_code(gcp_auth.step_parse(acc->st, &resp, NOW, &err), BERTH_OK, &err);
	tap_ok(!gcp_auth.need(acc->st, NOW + 89) && gcp_auth.need(acc->st, NOW + 90), "what is left of a token is used, but not to its end");
	tap_code(gcp_auth.sign(acc->st, &req, NOW, &err), BERTH_OK, &err);
	tap_is_str(http_req_get_header(&req, "Authorization"), "Bearer ya29.x", "put on");
	gcp_auth.drop(acc->st);
	tap_ok(gcp_auth.need(acc->st, NOW), "dropped");
	prov_account_close(acc);
	open_account(", endpoint: 'http://far.example'", BERTH_EINVAL);
	open_account(", endpoint: 'http://127.0.0.1.far.example'", BERTH_EINVAL);
	open_account(", endpoint: 'https://u@far.example'", BERTH_EINVAL);
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	if (accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	test_composition();
	test_cases();
	test_regions_apart();
	test_create();
	test_tpu();
	test_old_tpu();
	test_status_why();
	test_operations();
	test_codes();
	test_recorded();
	test_jwt();
	test_families();
	test_permissions();
	test_credentials();
	arena_free(a);
	return tap_done();
}
