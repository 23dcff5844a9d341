/* tests/unit/oci.c - Oracle Cloud: part prices, room, codes in words, bodies; the answers of others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/oci/oci.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define NOW INT64_C(1796040000)

static struct arena *a;
static const struct accel_table *accels;
static struct log quiet;

static struct prov_account *
open_account(const char *more, enum berth_code want)
{
	const char *yaml = arena_printf(a, "{name: o, provider: oci, tenancy: ten, user: usr, fingerprint: fin, key: env:OCI_TEST_KEY, "
	    "regions: us-a-1, image: img, subnet: sub%s}", more);
	struct prov_env env = { .now = NOW, .installation = "inst", .accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	return acc;
}

static char *
slurp(const char *path)
{
	const char *dir = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");
	char *body = NULL;

	path = arena_printf(a, "%s/payloads/oci/%s", dir != NULL ? dir : arena_printf(a, "%s/../shared", top != NULL ? top : "."), path);
	return fileio_slurp(a, path, 1 << 20, &body, NULL, NULL) == BERTH_OK ? body : NULL;
}

static VEC(struct offer) offers;

static enum berth_code
got_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &offers, offer_copy(o, a));
	return BERTH_OK;
}

/* Prices, one domain, shapes, room: answered in this order. */
static enum berth_code
walk(struct prov_account *acc, const char *const *answers, int room_status, struct berth_err *err)
{
	struct prov_cursor cur = { 0 };
	struct prov_query q = { 0 };
	enum berth_code rc = BERTH_OK;

	offers.n = 0;
	for (int i = 0; rc == BERTH_OK && i < 4; i++) {
		struct http_req req = { .arena = a };
		struct http_resp resp = { .arena = a, .status = i == 3 ? room_status : 200, .body = answers[i],
			.body_len = strlen(answers[i]) };

		rc = acc->ops->market->offers_build(acc->st, &q, &cur, &req, err);
		cur.next[0] = '\0';
		if (rc == BERTH_OK)
			rc = acc->ops->market->offers_parse(acc->st, &resp, &cur, got_offer, NULL, err);
	}
	tap_ok(cur.next[0] == '\0', "four answers are all");
	return rc;
}

static const struct offer *
find(const char *shape, enum purchase p)
{
	for (size_t i = 0; i < offers.n; i++)
		if (str_eq(offers.v[i].instance_type, shape) && offers.v[i].purchase == p)
			return &offers.v[i];
	return NULL;
}

static void
is_price(const char *shape, enum purchase p, double want, enum availability room)
{
	const struct offer *o = find(shape, p);

	tap_near(o != NULL ? usd_to_double(o->price) : NAN, want, 1e-9, "%s, %s", shape, purchase_name(p));
	tap_is_str(o != NULL ? availability_name(o->available) : "", availability_name(room), "%s: room", shape);
}

static void
test_offers(void)
{
	static const char shapes[] = "[{\"shape\":\"VM.GPU.A10.1\",\"ocpus\":15,\"memoryInGBs\":240,\"gpus\":1},{\"shape\":\"BM.GPU.H100.8\","
	    "\"ocpus\":112,\"memoryInGBs\":2048,\"gpus\":8},{\"shape\":\"BM.GPU4.8\",\"ocpus\":64,\"memoryInGBs\":2048,\"gpus\":8},"
	    "{\"shape\":\"BM.GPU.A100-v2.8\",\"gpus\":8},{\"shape\":\"VM.GPU3.4\",\"gpus\":4},{\"shape\":\"BM.GPU.H200.8\",\"gpus\":8},"
	    "{\"shape\":\"VM.Standard3.Flex\",\"gpus\":0},{\"shape\":\"BM.GPU.X9.8\",\"gpus\":8}]";
	const char *answers[] = { slurp("cetools_products_usd_gpu_2024-01.json"), "[{\"name\":\"x:AD-1\"}]", shapes,
		slurp("capacity_report_constructed.json") };
	struct prov_account *acc;
	struct berth_err err = { 0 };

	if (answers[0] == NULL || answers[3] == NULL) {
		tap_skip("the recorded price list", "no shared data");
		return;
	}
	acc = open_account("", BERTH_OK);
	tap_code(walk(acc, answers, 200, &err), BERTH_OK, &err);
	is_price("VM.GPU.A10.1", PURCHASE_ON_DEMAND, 2, AVAIL_YES);
	is_price("VM.GPU.A10.1", PURCHASE_SPOT, 1, AVAIL_YES);
	is_price("BM.GPU.H100.8", PURCHASE_ON_DEMAND, 80, AVAIL_NO);
	is_price("BM.GPU4.8", PURCHASE_ON_DEMAND, 8 * 3.05, AVAIL_NO);
	is_price("BM.GPU.A100-v2.8", PURCHASE_ON_DEMAND, 32, AVAIL_UNKNOWN);
	is_price("VM.GPU3.4", PURCHASE_ON_DEMAND, 4 * 2.95, AVAIL_UNKNOWN);
	tap_ok(find("BM.GPU.H100.8", PURCHASE_SPOT) == NULL, "no bare metal is preemptible");
	tap_ok(find("BM.GPU.H200.8", PURCHASE_ON_DEMAND) != NULL && !usd_known(find("BM.GPU.H200.8", PURCHASE_ON_DEMAND)->price),
	    "a shape that the list has no price of has none");
	tap_is_long((long long)offers.n, 8, "known shapes alone");
	for (size_t i = 0; i < offers.n; i++)
		tap_ok(accel_find(accels, offers.v[i].accelerator) != NULL, "%s is known", offers.v[i].accelerator);
	tap_code(walk(acc, answers, 404, &err), BERTH_OK, &err);
	is_price("VM.GPU.A10.1", PURCHASE_ON_DEMAND, 2, AVAIL_UNKNOWN);
	prov_account_close(acc);
}

static void
test_codes(void)
{
	static const struct { const char *name; enum berth_code want; } rows[] = {
		{ "out_of_host_capacity", BERTH_ECAPACITY }, { "limit_exceeded", BERTH_EQUOTA }, { "quota_exceeded", BERTH_EQUOTA },
		{ "too_many", BERTH_ETHROTTLED }, { "not_authenticated", BERTH_EAUTH }, { "not_authorized_or_not_found", BERTH_ENOTFOUND },
		{ "invalid_retry_token", BERTH_ETRANSIENT },
	};
	static const char plain[] = "{\"code\":\"InternalError\",\"message\":\"An internal error\"}";
	struct http_resp resp = { .arena = a, .status = 500, .body = plain, .body_len = sizeof(plain) - 1 };
	char *text = slurp("errors_constructed.json");
	struct prov_error e;
	json_t *v = NULL;

	tap_ok(provider_oci.error_read(&resp, &e) && prov_classify(&provider_oci, &resp, &e, true, NULL) == BERTH_ETRANSIENT,
	    "a 500 that says nothing of room may pass");
	if (text == NULL || jsonr_parse(text, strlen(text), "payload", &v, NULL) != BERTH_OK) {
		tap_skip("collected answers", "no shared data");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *one = json_object_get(v, rows[i].name);
		char *body = json_dumps(json_object_get(one, "body"), JSON_COMPACT);

		resp = (struct http_resp){ .arena = a, .status = (int)json_integer_value(json_object_get(one, "http_status")), .body = body,
			.body_len = strlen(body) };
		tap_ok(provider_oci.error_read(&resp, &e), "%s is a refusal", rows[i].name);
		tap_is_long(prov_classify(&provider_oci, &resp, &e, true, NULL), rows[i].want, "%s", e.text);
		free(body);
	}
	json_decref(v);
}

static void
test_create(void)
{
	static const struct offer o = { .provider = "oci", .account = "o", .region = "us-a-1", .zone = "x:AD-1",
		.instance_type = "VM.GPU.A10.1", .purchase = PURCHASE_SPOT, .currency = "USD", .source = "" };
	struct prov_account *acc = open_account(", ssh_key: k, compartment: com", BERTH_OK);
	struct prov_create c = { .token = "tok", .offer = &o, .user_data = "#!/bin/sh\n" };
	struct http_req req = { .arena = a };
	struct berth_err err = { 0 };

	tap_code(acc->ops->lease->create_build(acc->st, &c, &req, &err), BERTH_OK, &err);
	tap_ok(str_eq(req.url, "https://iaas.us-a-1.oraclecloud.com/20160918/instances") && str_eq(req.method, "POST") &&
	    str_eq(http_req_get_header(&req, "opc-retry-token"), "tok"), "%s", req.url);
	tap_is_str(req.body, "{\"compartmentId\":\"com\",\"availabilityDomain\":\"x:AD-1\",\"displayName\":\"berth-inst-tok\",\"shape\":"
	    "\"VM.GPU.A10.1\",\"sourceDetails\":{\"sourceType\":\"image\",\"imageId\":\"img\",\"bootVolumeSizeInGBs\":100},\"createVnicDetails\":{"
	    "\"subnetId\":\"sub\",\"assignPublicIp\":true},\"freeformTags\":{\"berth-installation\":\"inst\",\"berth-token\":\"tok\"},\"metadata\":{"
	    "\"ssh_authorized_keys\":\"k\",\"user_data\":\"IyEvYmluL3NoCg==\"},\"preemptibleInstanceConfig\":{\"preemptionAction\":{\"type\":"
	    "\"TERMINATE\",\"preserveBootVolume\":false}}}", "what a machine is asked with");
	req = (struct http_req){ .arena = a };
	tap_code(acc->ops->lease->destroy_build(acc->st, "us-a-1/ocid1.x", &req, &err), BERTH_OK, &err);
	tap_is_str(req.url, "https://iaas.us-a-1.oraclecloud.com/20160918/instances/ocid1.x?preserveBootVolume=false", "its end");
	for (const char *const *bad = (const char *const[]){ "ocid1.x", "/x", "r/", "r/..", NULL }; *bad != NULL; bad++)
		tap_code(acc->ops->lease->status_build(acc->st, *bad, &(struct http_req){ .arena = a }, &err), BERTH_EINVAL, &err);
	prov_account_close(acc);
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	if (accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	test_offers();
	test_codes();
	test_create();
	arena_free(a);
	return tap_done();
}
