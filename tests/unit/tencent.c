/* tests/unit/tencent.c - Tencent Cloud: parts of cards, steps and terms of prices, states, codes within a 200. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/tencent/tencent.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define NOW INT64_C(1796040000)
#define PRICES(rows) "{\"Response\":{\"InstanceTypeQuotaSet\":[" rows "],\"RequestId\":\"r\"}}"
#define ROW(type, charge, gpus, more) "{\"Zone\":\"ap-a-1\",\"InstanceType\":\"" type "\",\"InstanceChargeType\":\"" charge "\"," \
	"\"Cpu\":8,\"Memory\":32,\"GpuCount\":" gpus ",\"Status\":\"SELL\"," more "}"

static struct arena *a;
static const struct accel_table *accels;
static struct log quiet;

static struct prov_account *
open_account(const char *more, enum berth_code want)
{
	const char *yaml = arena_printf(a, "{name: t, provider: tencent, secret_id: env:TENCENT_TEST_KEY, secret_key: env:TENCENT_TEST_KEY, "
	    "regions: ap-a, image: img-1%s}", more);
	struct prov_env env = { .now = NOW, .installation = "inst", .accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	return acc;
}

static VEC(struct offer) offers;

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
	const char *const *answers = arg, *action = http_req_get_header(req, "X-TC-Action");
	size_t i = str_eq(action, "DescribeInstanceTypeConfigs") ? 0 : strstr(req->body, "POSTPAID") != NULL ? 1 :
	    strstr(req->body, "SPOTPAID") != NULL ? 2 : 3;

	(void)acc, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = 200;
	resp->body = answers[i];
	resp->body_len = strlen(resp->body);
	return BERTH_OK;
}

static const struct offer *
find(const char *type, enum purchase p, int months)
{
	static const struct offer none = { .accelerator = "", .accelerator_count = -1, .price = { INT64_MIN }, .upfront = { INT64_MIN },
		.zone = "", .accelerator_memory_gib = NAN };

	for (size_t i = 0; i < offers.n; i++)
		if (str_eq(offers.v[i].instance_type, type) && offers.v[i].purchase == p && offers.v[i].term_months == months)
			return &offers.v[i];
	tap_diag("no offer %s %s %d", type, purchase_name(p), months);
	return &none;
}

static void
walk(const char *const *answers, const char *more)
{
	struct prov_account *acc = open_account(more, BERTH_OK);
	struct berth_err err = { 0 };

	offers.n = 0;
	prov_account_hook(acc, answered, (void *)(uintptr_t)answers);
	tap_code(prov_offers(acc, NULL, got_offer, NULL, &err), BERTH_OK, &err);
	prov_account_close(acc);
}

static void
test_offers(void)
{
	static const char *const answers[] = {
		"{\"Response\":{\"InstanceTypeConfigSet\":[{\"InstanceType\":\"GN7.LARGE20\",\"GpuType\":\"NVIDIA T4\",\"GpuCount\":0.25},"
		    "{\"InstanceType\":\"GN10Xp.20XLARGE320\",\"GpuType\":\"\",\"GPU\":8},{\"InstanceType\":\"X.1\",\"GpuType\":\"Nobody's\","
		    "\"GpuMemory\":48,\"GpuCount\":2},{\"InstanceType\":\"S5.MEDIUM2\",\"GPU\":0}],\"RequestId\":\"r\"}}",
		PRICES(ROW("GN7.LARGE20", "POSTPAID_BY_HOUR", "0.25", "\"InstanceFamily\":\"GN7\",\"StatusCategory\":\"EnoughStock\",\"Price\":"
		    "{\"UnitPrice\":0.49,\"UnitPriceDiscount\":0.44,\"UnitPriceDiscountThirdStep\":0.1,\"ChargeUnit\":\"HOUR\"}") ","
		    ROW("GN10Xp.20XLARGE320", "POSTPAID_BY_HOUR", "null", "\"InstanceFamily\":\"GN10Xp\",\"StatusCategory\":\"WithoutStock\",\"Price\":"
		    "{\"UnitPrice\":80,\"ChargeUnit\":\"HOUR\"}") ","
		    ROW("X.1", "POSTPAID_BY_HOUR", "2", "\"InstanceFamily\":\"X\",\"Price\":{\"UnitPrice\":3,\"ChargeUnit\":\"GB\"}") ","
		    ROW("X.3", "POSTPAID_BY_HOUR", "0.3", "\"InstanceFamily\":\"X\",\"Price\":{\"UnitPrice\":3,\"ChargeUnit\":\"HOUR\"}") ","
		    ROW("X.4", "POSTPAID_BY_HOUR", "1", "\"InstanceFamily\":\"X\",\"Price\":{\"UnitPrice\":1e300,\"ChargeUnit\":\"HOUR\"}") ","
		    ROW("X.2", "POSTPAID_BY_HOUR", "1.5", "\"InstanceFamily\":\"X\",\"Price\":{\"UnitPrice\":3,\"ChargeUnit\":\"HOUR\"}") ","
		    ROW("CDH.1", "CDHPAID", "1", "\"InstanceFamily\":\"X\",\"Price\":{\"UnitPrice\":3,\"ChargeUnit\":\"HOUR\"}")),
		PRICES(ROW("GN7.LARGE20", "SPOTPAID", "0.25", "\"InstanceFamily\":\"GN7\",\"Price\":{\"UnitPrice\":0.49,\"UnitPriceDiscount\":0.05,"
		    "\"ChargeUnit\":\"HOUR\"}")),
		PRICES(ROW("GN7.LARGE20", "PREPAID", "0.25", "\"InstanceFamily\":\"GN7\",\"Price\":{\"OriginalPrice\":200,\"DiscountPrice\":180.5,"
		    "\"DiscountPriceOneYear\":1800,\"OriginalPriceThreeYear\":5000,\"DiscountPriceFiveYear\":0}")),
	};
	const struct offer *o;
	struct accel_ref ref;

	walk(answers, ", currency: CNY");
	o = find("GN7.LARGE20", PURCHASE_ON_DEMAND, 0);
	tap_ok(str_eq(o->accelerator, "T4-4Q") && o->accelerator_count == 1 && fabs(o->accelerator_memory_gib - 4) < 1e-9,
	    "a quarter of a T4 is one %s", o->accelerator);
	tap_ok(accel_resolve(accels, a, o->accelerator, &ref) && str_eq(ref.accel->name, "T4") && fabs(ref.share - 0.25) < 1e-9,
	    "which the table knows as its quarter");
	tap_near(usd_to_double(o->price), 0.44, 1e-9, "what is paid in the first hours");
	tap_ok(str_eq(o->currency, "CNY") && o->available == AVAIL_YES && str_eq(o->zone, "ap-a-1"), "in yuan, to be had, of its zone");
	tap_near(usd_to_double(find("GN7.LARGE20", PURCHASE_SPOT, 0)->price), 0.05, 1e-9, "spot");
	o = find("GN10Xp.20XLARGE320", PURCHASE_ON_DEMAND, 0);
	tap_ok(str_eq(o->accelerator, "V100-SXM2-32GB") && o->accelerator_count == 8 && o->available == AVAIL_NO,
	    "the family names the card where the API does not; none in stock");
	tap_near(usd_to_double(o->price), 80, 1e-9, "without a discount the list price");
	o = find("X.1", PURCHASE_ON_DEMAND, 0);
	tap_ok(str_eq(o->accelerator, "Nobody's") && !o->accelerator_known && o->accelerator_count == 2 &&
	    fabs(o->accelerator_memory_gib - 48) < 1e-9 && !usd_known(o->price), "a card nobody knows, a price by the gigabyte");
	tap_is_str(find("X.3", PURCHASE_ON_DEMAND, 0)->accelerator, "0.3 X", "a part of it is no whole one");
	tap_near(usd_to_double(find("GN7.LARGE20", PURCHASE_RESERVED, 1)->upfront), 180.5, 1e-9, "a month paid ahead");
	tap_near(usd_to_double(find("GN7.LARGE20", PURCHASE_RESERVED, 12)->upfront), 1800, 1e-9, "a year");
	o = find("GN7.LARGE20", PURCHASE_RESERVED, 36);
	tap_ok(o->upfront.v == INT64_C(5000000000) && o->price.v == 0 && o->payment == PAYMENT_ALL, "three years, by the list");
	o = find("X.4", PURCHASE_ON_DEMAND, 0);
	tap_ok(o->accelerator_count == 1 && !usd_known(o->price), "more than any money is an unknown price and refuses no list");
	tap_is_long((long long)offers.n, 9, "no price of 0, no dedicated host, no card and a half");
	walk(answers, ", currency: USD, accelerators: {\"Nobody's\": L40S, GN10Xp: V100}");
	tap_is_str(find("X.1", PURCHASE_ON_DEMAND, 0)->accelerator, "L40S", "berth.yaml names a card by the API's word");
	tap_is_str(find("GN10Xp.20XLARGE320", PURCHASE_ON_DEMAND, 0)->accelerator, "V100", "and by the family");
}

static void
test_keys(void)
{
	prov_account_close(open_account(", currency: EUR", BERTH_EINVAL));
	prov_account_close(open_account("", BERTH_EINVAL));
	prov_account_close(open_account(", currency: USD, spot_max_price: much", BERTH_EINVAL));
	prov_account_close(open_account(", currency: USD, endpoint: 'http://cvm.example'", BERTH_EINVAL));
}

static void
test_create(void)
{
	static const struct offer o = { .provider = "tencent", .account = "t", .region = "ap-a", .zone = "ap-a-1",
		.instance_type = "GN7.LARGE20", .purchase = PURCHASE_SPOT, .currency = "CNY", .source = "" };
	struct prov_account *acc = open_account(", currency: CNY, vpc: vpc-1, subnets: [ap-a-1=subnet-1], security_groups: sg-1, "
	    "ssh_keys: skey-1, spot_max_price: 0.6, disk_gib: 50, bandwidth_mbps: 0", BERTH_OK);
	struct prov_create c = { .token = "tok", .offer = &o, .user_data = "#!/bin/sh\n" };
	struct http_req req = { .arena = a };
	struct offer other = o;
	struct berth_err err = { 0 };

	tap_code(acc->ops->lease->create_build(acc->st, &c, &req, &err), BERTH_OK, &err);
	tap_is_str(req.body, "{\"InstanceChargeType\":\"SPOTPAID\",\"Placement\":{\"Zone\":\"ap-a-1\"},\"InstanceType\":\"GN7.LARGE20\","
	    "\"ImageId\":\"img-1\",\"SystemDisk\":{\"DiskType\":\"CLOUD_PREMIUM\",\"DiskSize\":50},\"VirtualPrivateCloud\":{\"VpcId\":\"vpc-1\","
	    "\"SubnetId\":\"subnet-1\"},\"InstanceCount\":1,\"SecurityGroupIds\":[\"sg-1\"],\"InstanceMarketOptions\":{\"MarketType\":\"spot\","
	    "\"SpotOptions\":{\"MaxPrice\":\"0.6\",\"SpotInstanceType\":\"one-time\"}},\"InstanceName\":\"berth-inst-tok\",\"LoginSettings\":{"
	    "\"KeyIds\":[\"skey-1\"]},\"ClientToken\":\"tok\",\"TagSpecification\":[{\"ResourceType\":\"instance\",\"Tags\":[{\"Key\":"
	    "\"berth-installation\",\"Value\":\"inst\"},{\"Key\":\"berth-token\",\"Value\":\"tok\"}]}],\"UserData\":\"IyEvYmluL3NoCg==\"}",
	    "what a spot machine is asked with");
	other.zone = "ap-a-2";
	c.offer = &other;
	tap_code(acc->ops->lease->create_build(acc->st, &c, &(struct http_req){ .arena = a }, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "ap-a-2=subnet-") != NULL, "%s", err.msg);
	other = o;
	other.purchase = PURCHASE_RESERVED;
	tap_code(acc->ops->lease->create_build(acc->st, &c, &(struct http_req){ .arena = a }, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "paid ahead") != NULL, "%s", err.msg);
	for (const char *const *bad = (const char *const[]){ "ins-1", "/ins-1", "ap-a/", "ap-a/i-1", NULL }; *bad != NULL; bad++)
		tap_code(acc->ops->lease->status_build(acc->st, *bad, &(struct http_req){ .arena = a }, &err), BERTH_EINVAL, &err);
	prov_account_close(acc);
}

static enum berth_code
got_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	*(struct prov_machine *)arg = *m;
	return BERTH_OK;
}

static void
test_states(void)
{
	static const struct { const char *state, *text; enum prov_state want; enum berth_code why; } rows[] = {
		{ "PENDING", "", PROV_PENDING, BERTH_OK }, { "RUNNING", "", PROV_READY, BERTH_OK }, { "STOPPED", "", PROV_FAILED, BERTH_EFAIL },
		{ "LAUNCH_FAILED", "ResourceInsufficient.SpecifiedInstanceType", PROV_FAILED, BERTH_ECAPACITY },
		{ "LAUNCH_FAILED", "LimitExceeded.InstanceQuota", PROV_FAILED, BERTH_EQUOTA },
		{ "STOPPING", "", PROV_ENDING, BERTH_OK }, { "SHUTDOWN", "", PROV_ENDING, BERTH_OK }, { "TERMINATING", "", PROV_ENDING, BERTH_OK }, { "TOMORROW", "", PROV_PENDING, BERTH_OK },
	};
	struct prov_account *acc = open_account(", currency: USD", BERTH_OK);
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *body = arena_printf(a, "{\"Response\":{\"TotalCount\":2,\"InstanceSet\":[{\"InstanceId\":\"ins-1\",\"InstanceState\":"
		    "\"%s\",\"LatestOperationErrorMsg\":\"%s\",\"PublicIpAddresses\":null,\"PrivateIpAddresses\":[\"10.0.0.9\"]}]}}", rows[i].state,
		    rows[i].text);
		struct http_resp resp = { .arena = a, .status = 200, .body = body, .body_len = strlen(body) };
		struct prov_cursor cur = { 0 };
		struct prov_machine m = { .ref = "" };

		tap_code(acc->ops->lease->list_build(acc->st, &cur, &(struct http_req){ .arena = a }, &err), BERTH_OK, &err);
		tap_code(acc->ops->lease->list_parse(acc->st, &resp, &cur, got_machine, &m, &err), BERTH_OK, &err);
		tap_ok(m.state == rows[i].want && m.why == rows[i].why && str_eq(m.ref, "ap-a/ins-1") && str_eq(m.address, "10.0.0.9") &&
		    str_eq(cur.next, "0|1"), "%s %s: next page %s", rows[i].state, rows[i].text, cur.next);
	}
	prov_account_close(acc);
}

/* Too old a signature is refused within a 200: signed again by the provider's clock, once. */
static enum berth_code
late(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	int64_t *when = arg;

	(void)acc, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = 200;
	resp->date = NOW + 600;
	when[when[0]++] = strtoll(http_req_get_header(req, "X-TC-Timestamp"), NULL, 10);
	resp->body = "{\"Response\":{\"Error\":{\"Code\":\"AuthFailure.SignatureExpire\",\"Message\":\"\"},\"RequestId\":\"r\"}}";
	resp->body_len = strlen(resp->body);
	return BERTH_OK;
}

static void
test_clock(void)
{
	struct prov_account *acc = open_account(", currency: USD", BERTH_OK);
	int64_t when[8] = { 1 };
	struct berth_err err = { 0 };

	prov_account_hook(acc, late, when);
	tap_code(prov_offers(acc, NULL, got_offer, NULL, &err), BERTH_EAUTH, &err);
	tap_ok(when[0] == 3 && when[1] == NOW && when[2] == NOW + 600, "signed by our clock, then once by the provider's");
	prov_account_close(acc);
}

/* Answers that others collected. */
static void
test_collected(void)
{
	static const struct { const char *name; enum berth_code want; } rows[] = {
		{ "no_capacity", BERTH_ECAPACITY }, { "quota", BERTH_EQUOTA }, { "spot_quota", BERTH_EQUOTA }, { "throttled", BERTH_ETHROTTLED },
		{ "auth", BERTH_EAUTH },
	};
	const char *dir = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR"), *path;
	const char *none = "{\"Response\":{\"InstanceTypeConfigSet\":[]}}", *empty = PRICES("");
	char *text = NULL;
	struct prov_error e;
	json_t *v = NULL;

	path = arena_printf(a, "%s/payloads/tencent/errors_and_shapes_constructed.json", dir != NULL ? dir : arena_printf(a, "%s/../shared",
	    top != NULL ? top : "."));
	if (fileio_slurp(a, path, 1 << 20, &text, NULL, NULL) != BERTH_OK || jsonr_parse(text, strlen(text), "payload", &v, NULL) != BERTH_OK) {
		tap_skip("collected answers", "no shared data");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *body = json_dumps(json_object_get(v, rows[i].name), JSON_COMPACT);
		struct http_resp resp = { .arena = a, .status = 200, .body = body, .body_len = strlen(body) };

		tap_ok(provider_tencent.error_read(&resp, &e), "%s is a refusal within a 200", rows[i].name);
		tap_is_long(prov_classify(&provider_tencent, &resp, &e, true, NULL), rows[i].want, "%s", e.code);
		free(body);
	}
	text = json_dumps(json_object_get(v, "zone_config"), JSON_COMPACT);
	walk((const char *const[]){ none, text, empty, empty }, ", currency: CNY");
	tap_ok(offers.n == 1 && str_eq(offers.v[0].accelerator, "V100-SXM2-32GB") && offers.v[0].price.v == 9550000 &&
	    offers.v[0].available == AVAIL_YES && str_eq(offers.v[0].zone, "ap-guangzhou-6"), "a collected row of types and prices");
	free(text);
	json_decref(v);
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	setenv("TENCENT_TEST_KEY", "key", 1);
	if (accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	test_offers();
	test_keys();
	test_create();
	test_states();
	test_clock();
	test_collected();
	arena_free(a);
	return tap_done();
}
