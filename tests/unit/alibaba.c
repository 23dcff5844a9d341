/* tests/unit/alibaba.c - Alibaba Cloud: parts of cards, prices of parts and terms, machines to be taken back, codes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/alibaba/alibaba.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define NOW INT64_C(1796040000)
#define TYPE(name, spec, n, gib) "{\"InstanceTypeId\":\"" name "\",\"GPUSpec\":\"" spec "\",\"GPUAmount\":" n ",\"GPUMemorySize\":" gib "}"
#define STOCK(name, word) "{\"Value\":\"" name "\",\"Status\":\"Available\",\"StatusCategory\":\"" word "\"}"

static struct arena *a;
static const struct accel_table *accels;
static struct log quiet;

static struct prov_account *
open_account(const char *more, enum berth_code want)
{
	const char *yaml = arena_printf(a, "{name: c, provider: alibaba, access_key_id: env:ALIBABA_TEST_KEY, access_key_secret: "
	    "env:ALIBABA_TEST_KEY, regions: cn-a%s}", more);
	struct prov_env env = { .now = NOW, .installation = "inst", .accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	return acc;
}

static VEC(struct offer) offers;
static int asked_price;

static enum berth_code
got_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &offers, offer_copy(o, a));
	return BERTH_OK;
}

static enum berth_code
answered(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *action = http_req_get_header(req, "x-acs-action");

	(void)arg, (void)acc, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = 200;
	if (str_eq(action, "DescribeInstanceTypes")) {
		resp->body = "{\"InstanceTypes\":{\"InstanceType\":[" TYPE("t.quarter", "NVIDIA A10*1/4", "1", "6") ","
		    TYPE("t.small", "NVIDIA T4", "1", "4") "," TYPE("t.none", "NVIDIA T4*1/2", "0", "8") "," TYPE("t.two", "NVIDIA T4", "2", "16")
		    "," TYPE("t.odd", "Nobody's*1/3", "1", "9") "," TYPE("t.cpu", "", "0", "0") "," TYPE("t.away", "NVIDIA T4", "1", "16") "]}}";
	} else if (str_eq(action, "DescribeAvailableResource")) {
		resp->body = strstr(req->url, "PrePaid") != NULL ? "{}" : strstr(req->url, "Spot") != NULL ?
		    "{\"AvailableZones\":{\"AvailableZone\":[{\"ZoneId\":\"cn-a-1\",\"AvailableResources\":{\"AvailableResource\":[{"
		    "\"SupportedResources\":{\"SupportedResource\":[" STOCK("t.two", "WithStock") "]}}]}}]}}" :
		    "{\"AvailableZones\":{\"AvailableZone\":[{\"ZoneId\":\"cn-a-1\",\"AvailableResources\":{\"AvailableResource\":[{"
		    "\"SupportedResources\":{\"SupportedResource\":[" STOCK("t.quarter", "WithStock") "," STOCK("t.small", "ClosedWithoutStock") ","
		    STOCK("t.none", "ClosedWithStock") "," STOCK("t.two", "") "," STOCK("t.odd", "WithStock") "," STOCK("t.cpu", "WithStock") "]}}]}}]}}";
	} else if (str_eq(action, "DescribeSpotPriceHistory")) {
		resp->body = "{\"Currency\":\"CNY\",\"SpotPrices\":{\"SpotPriceType\":[{\"ZoneId\":\"cn-a-1\",\"SpotPrice\":2,\"Timestamp\":"
		    "\"2026-11-29T10:00:00Z\"},{\"ZoneId\":\"cn-a-1\",\"SpotPrice\":3,\"Timestamp\":\"2026-11-29T11:00:00Z\"},{\"ZoneId\":\"cn-a-1\","
		    "\"SpotPrice\":1e300,\"Timestamp\":\"2026-11-29T09:00:00Z\"},{\"ZoneId\":\"cn-a-2\","
		    "\"SpotPrice\":1,\"Timestamp\":\"2026-11-29T12:00:00Z\"}]}}";
	} else if (strstr(req->url, "t.odd") != NULL) {
		resp->status = 404;
		resp->body = "{\"Code\":\"PriceNotFound\",\"Message\":\"no\"}";
	} else if (strstr(req->url, "t.none") != NULL) {
		resp->body = "{\"PriceInfo\":{\"Price\":{\"Currency\":\"CNY\",\"TradePrice\":1e300}}}";
	} else if (strstr(req->url, "t.small") != NULL) {
		resp->body = "{\"PriceInfo\":{\"Price\":{\"OriginalPrice\":9,\"TradePrice\":7}}}";
	} else {
		resp->body = "{\"PriceInfo\":{\"Price\":{\"Currency\":\"CNY\",\"OriginalPrice\":9,\"TradePrice\":7.5,\"DetailInfos\":{\"DetailInfo\":[{"
		    "\"Resource\":\"systemDisk\",\"TradePrice\":1},{\"Resource\":\"instanceType\",\"TradePrice\":6.5}]}}}}";
	}
	asked_price += str_eq(action, "DescribePrice");
	resp->body_len = strlen(resp->body);
	return BERTH_OK;
}

static const struct offer *
find(const char *type, enum purchase p)
{
	static const struct offer none = { .accelerator = "", .accelerator_count = -1, .price = { INT64_MIN }, .zone = "",
		.accelerator_memory_gib = NAN };

	for (size_t i = 0; i < offers.n; i++)
		if (str_eq(offers.v[i].instance_type, type) && offers.v[i].purchase == p)
			return &offers.v[i];
	return &none;
}

static void
test_offers(void)
{
	struct prov_account *acc = open_account("", BERTH_OK);
	struct berth_err err = { 0 };
	const struct offer *o;

	prov_account_hook(acc, answered, NULL);
	tap_code(prov_offers(acc, NULL, got_offer, NULL, &err), BERTH_OK, &err);
	o = find("t.quarter", PURCHASE_ON_DEMAND);
	tap_ok(str_eq(o->accelerator, "A10-6Q") && o->accelerator_count == 1 && fabs(o->accelerator_memory_gib - 6) < 1e-9,
	    "a part by its words: %s", o->accelerator);
	tap_ok(o->price.v == 6500000 && str_eq(o->currency, "CNY") && o->available == AVAIL_YES, "the machine's price apart from its disk's");
	o = find("t.small", PURCHASE_ON_DEMAND);
	tap_ok(str_eq(o->accelerator, "T4-4Q") && o->available == AVAIL_NO && !usd_known(o->price),
	    "a part by its memory; a price in no currency is none");
	o = find("t.none", PURCHASE_ON_DEMAND);
	tap_ok(str_eq(o->accelerator, "T4-8Q") && o->accelerator_count == 1 && o->available == AVAIL_YES, "a half that counts no card");
	tap_ok(!usd_known(o->price), "more than any money is an unknown price and refuses no list");
	o = find("t.two", PURCHASE_ON_DEMAND);
	tap_ok(str_eq(o->accelerator, "T4") && o->accelerator_count == 2 && o->available == AVAIL_UNKNOWN, "two whole cards, room not told");
	o = find("t.two", PURCHASE_SPOT);
	tap_ok(o->price.v == 3000000 && o->as_of == NOW, "the zone's newest spot price, as of the reading");
	tap_is_long(find("t.odd", PURCHASE_ON_DEMAND)->accelerator_count, -1, "a type without a price is no offer");
	tap_is_long(find("t.away", PURCHASE_ON_DEMAND)->accelerator_count, -1, "nor is one that no zone sells");
	tap_ok(offers.n == 5 && asked_price == 5, "what is not sold is not asked the price of");
	prov_account_close(acc);
}

static void
test_create(void)
{
	static const struct offer o = { .provider = "alibaba", .account = "c", .region = "cn-a", .zone = "cn-a-1",
		.instance_type = "t.two", .purchase = PURCHASE_SPOT, .currency = "CNY", .source = "" };
	struct prov_account *acc = open_account(", image: img 1, security_group: sg-1, vswitches: [cn-a-1=vsw-1], ssh_key: k, disk_gib: 50, "
	    "bandwidth_mbps: 0", BERTH_OK);
	struct prov_create c = { .token = "tok", .offer = &o, .user_data = "#!/bin/sh\n" };
	struct http_req req = { .arena = a };
	struct offer other = o;
	struct berth_err err = { 0 };

	tap_code(acc->ops->lease->create_build(acc->st, &c, &req, &err), BERTH_OK, &err);
	tap_is_str(req.url, "https://ecs.cn-a.aliyuncs.com/?Amount=1&ClientToken=tok&ImageId=img%201&InstanceChargeType=PostPaid&InstanceName="
	    "berth-inst-tok&InstanceType=t.two&KeyPairName=k&RegionId=cn-a&SecurityGroupId=sg-1&SpotInterruptionBehavior=Terminate&SpotStrategy="
	    "SpotAsPriceGo&SystemDisk.Category=cloud_essd&SystemDisk.Size=50&Tag.1.Key=berth-installation&Tag.1.Value=inst&Tag.2.Key=berth-token"
	    "&Tag.2.Value=tok&UserData=IyEvYmluL3NoCg%3D%3D&VSwitchId=vsw-1&ZoneId=cn-a-1", "what a spot machine is asked with");
	tap_ok(str_eq(req.method, "POST") && req.body_len == 0 && str_eq(http_req_get_header(&req, "x-acs-action"), "RunInstances"),
	    "all of it in the query");
	other.zone = "cn-a-2";
	c.offer = &other;
	tap_code(acc->ops->lease->create_build(acc->st, &c, &(struct http_req){ .arena = a }, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "cn-a-2=vsw-") != NULL, "%s", err.msg);
	other = o;
	other.purchase = PURCHASE_RESERVED;
	tap_code(acc->ops->lease->create_build(acc->st, &c, &(struct http_req){ .arena = a }, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "paid ahead") != NULL, "%s", err.msg);
	for (const char *const *bad = (const char *const[]){ "i-1", "/i-1", "cn-a/", "cn-a/x", "cn-a/i-\"", NULL }; *bad != NULL; bad++)
		tap_code(acc->ops->lease->status_build(acc->st, *bad, &(struct http_req){ .arena = a }, &err), BERTH_EINVAL, &err);
	prov_account_close(acc);
	prov_account_close(open_account(", spot_max_price: much", BERTH_EINVAL));
	prov_account_close(open_account(", endpoint: 'http://ecs.example'", BERTH_EINVAL));
}

static void
test_recycling(void)
{
	static const struct { const char *status, *spot; enum prov_state want; bool preempted; } rows[] = {
		{ "Running", "SpotAsPriceGo", PROV_NOTICED, false }, { "Stopping", "SpotWithPriceLimit", PROV_ENDING, true },
		{ "Running", "NoSpot", PROV_READY, false },
	};
	struct prov_account *acc = open_account("", BERTH_OK);
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *body = arena_printf(a, "{\"Instances\":{\"Instance\":[{\"InstanceId\":\"i-1\",\"Status\":\"%s\",\"SpotStrategy\":\"%s\","
		    "\"CreationTime\":\"2026-11-29T10:00Z\",\"OperationLocks\":{\"LockReason\":[{\"LockReason\":\"Recycling\"}]}}]}}", rows[i].status,
		    rows[i].spot);
		struct http_resp resp = { .arena = a, .status = 200, .body = body, .body_len = strlen(body) };
		struct prov_machine m = { .ref = "" };

		tap_code(acc->ops->lease->status_parse(acc->st, &resp, "cn-a/i-1", &m, &err), BERTH_OK, &err);
		tap_ok(m.state == rows[i].want && m.preempted == rows[i].preempted && m.created == INT64_C(1795946400) &&
		    (m.reclaim_at == NOW + 300) == (m.state == PROV_NOTICED), "%s %s: %s", rows[i].status, rows[i].spot, m.detail);
	}
	prov_account_close(acc);
}

/* Answers that others collected. */
static void
test_collected(void)
{
	static const struct { const char *name; enum berth_code want; } rows[] = {
		{ "no_stock", BERTH_ECAPACITY }, { "throttled", BERTH_ETHROTTLED }, { "sig", BERTH_EAUTH }, { "quota", BERTH_EQUOTA },
	};
	const char *dir = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR"), *path;
	char *text = NULL;
	struct prov_error e;
	json_t *v = NULL;

	path = arena_printf(a, "%s/payloads/alibaba/errors_constructed.json", dir != NULL ? dir : arena_printf(a, "%s/../shared",
	    top != NULL ? top : "."));
	if (fileio_slurp(a, path, 1 << 20, &text, NULL, NULL) != BERTH_OK || jsonr_parse(text, strlen(text), "payload", &v, NULL) != BERTH_OK) {
		tap_skip("collected answers", "no shared data");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *one = json_object_get(v, rows[i].name);
		char *body = json_dumps(json_object_get(one, "body"), JSON_COMPACT);
		struct http_resp resp = { .arena = a, .status = (int)json_integer_value(json_object_get(one, "http_status")), .body = body,
			.body_len = strlen(body) };

		tap_ok(provider_alibaba.error_read(&resp, &e), "%s is a refusal", rows[i].name);
		tap_is_long(prov_classify(&provider_alibaba, &resp, &e, true, NULL), rows[i].want, "%s", e.code);
		free(body);
	}
	json_decref(v);
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	setenv("ALIBABA_TEST_KEY", "key", 1);
	if (accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	test_offers();
	test_create();
	test_recycling();
	test_collected();
	arena_free(a);
	return tap_done();
}
