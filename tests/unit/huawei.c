/* tests/unit/huawei.c - Huawei Cloud: cards in every spelling, sale by zone, prices in halves, jobs that fail, whose keys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/huawei/huawei.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define NOW INT64_C(1796040000)
#define ACCOUNT ", access_key: env:HUAWEI_TEST_KEY, secret_key: env:HUAWEI_TEST_KEY, site: china"

static struct arena *a;
static const struct accel_table *accels;
static struct log quiet;

static struct prov_account *
open_account(const char *more, enum berth_code want)
{
	const char *yaml = arena_printf(a, "{name: h, provider: huawei, regions: r-1, projects: r-1=abc%s}", more);
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

/* A cloud of three texts: its flavors, its policies, and specs that BSS does not know. */
struct cloud { const char *flavors, *policies, *unknown; int asked; const char *currency; };

static const char *
results(const struct http_req *req, const struct cloud *c)
{
	const char *out = "", *at = req->body;

	while ((at = strstr(at, "{\"id\":\"")) != NULL) {
		size_t n = strcspn(at + 7, "\"");

		out = arena_printf(a, "%s%s{\"id\":\"%.*s\",\"official_website_amount\":10,\"discount_amount\":2.5,\"measure_id\":1}", out,
		    out[0] != '\0' ? "," : "", (int)n, at + 7);
		at += 7;
	}
	return arena_printf(a, "{%s\"product_rating_results\":[%s]}", c->currency, out);
}

static enum berth_code
answered(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct cloud *c = arg;
	bool paged = strstr(req->url, "marker=") != NULL;

	(void)acc, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = 200;
	if (strstr(req->url, "availability-zones") != NULL)
		resp->body = "{\"availability_zones\":[{\"availability_zone_id\":\"r-1a\"},{\"availability_zone_id\":\"r-1b\"}]}";
	else if (strstr(req->url, "/flavors") != NULL)
		resp->body = arena_printf(a, "{\"flavors\":[%s]}", paged ? "" : c->flavors);
	else if (strstr(req->url, "policies") != NULL)
		resp->body = arena_printf(a, "{\"sell_policies\":[%s]}", paged ? "" : c->policies);
	else if (c->unknown[0] != '\0' && strstr(req->body, c->unknown) != NULL)
		resp->status = 400, resp->body = "{\"error_code\":\"CBC.99006006\",\"error_msg\":\"Product not found.\"}";
	else
		resp->body = results(req, c);
	c->asked += strstr(req->url, "on-demand") != NULL;
	resp->body_len = strlen(resp->body);
	return BERTH_OK;
}

static void
walk(struct cloud *c, const char *more)
{
	struct prov_account *acc = open_account(arena_printf(a, ACCOUNT "%s", more), BERTH_OK);
	struct berth_err err = { 0 };

	offers.n = 0;
	prov_account_hook(acc, answered, c);
	tap_code(prov_offers(acc, NULL, got_offer, NULL, &err), BERTH_OK, &err);
	prov_account_close(acc);
}

static const struct offer *
find(const char *type, const char *zone, enum purchase p)
{
	static const struct offer none = { .accelerator = "", .accelerator_count = -1, .price = { INT64_MIN }, .accelerator_memory_gib = NAN };

	for (size_t i = 0; i < offers.n; i++)
		if (str_eq(offers.v[i].instance_type, type) && str_eq(offers.v[i].zone, zone) && offers.v[i].purchase == p)
			return &offers.v[i];
	return &none;
}

/* Each way in which the API tells a card. */
static void
test_cards(void)
{
	static const struct { const char *specs, *card; int count; double gib; } rows[] = {
		{ "\"info:gpu:name\":\"1 * NVIDIA P100 / 1 * 16G\"", "P100-16GB", 1, 16 },
		{ "\"info:gpu:name\":\"1 * NVIDIA M60-2Q / 2G\"", "M60-2Q", 1, 2 },
		{ "\"info:gpu:name\":\"2 * NVIDIA T4 / 2 * 16GiB\"", "T4", 2, 16 },
		{ "\"info:gpu:name\":\"1 * NVIDIA Professional Graphics Card / 16G\",\"quota:gpu\":\"nvidia-t4:1\"", "T4", 1, 16 },
		{ "\"info:ascend:name\":\"'2 * HUAWEI Ascend 310'\"", "Ascend 310", 2, 8 },
		{ "\"info:ascend:name\":\"1 * HUAWEI Ascend 910B3 / 1 * 64G\"", "Ascend 910B3", 1, 64 },
		{ "\"info:asic_accelerators\":[{\"name\":\"Ascend 310P\",\"count\":4,\"memory_mb\":24576}]", "Ascend 310P", 4, 24 },
		{ "\"info:gpus\":\"[{\\\"name\\\":\\\"NVIDIA A100\\\",\\\"count\\\":8,\\\"memory_mb\\\":81920}]\"", "A100-80GB", 8, 80 },
		{ "\"info:gpus\":\"no list\",\"pci_passthrough:gpu_specs\":\"t4:pcie:1\"", "T4", 1, 16 },
		{ "\"pci_passthrough:gpu_specs\":\"m60_1q:virt:1\"", "M60-1Q", 1, 1 },
		{ "\"pci_passthrough:alias\":\"nvidia-p4:2,other:1\"", "P4", 2, 8 },
		{ "\"info:gpu:name\":\"1 * Nobody / 48G\"", "Nobody", 1, 48 },
		{ "\"pci_passthrough:alias\":\"qat:4\"", "", -1, NAN },
		{ "\"info:gpu:name\":\"0 * NVIDIA T4 / 16G\"", "", -1, NAN },
		{ "\"info:gpu:name\":\"NVIDIA T4\"", "", -1, NAN },
		{ "\"pci_passthrough:alias\":\"nvidia-t4:0.5\"", "", -1, NAN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cloud c = { .policies = "", .unknown = "", .currency = "", .flavors = arena_printf(a, "{\"id\":\"x1.large\",\"vcpus\":\"4\","
		    "\"ram\":8192,\"os_extra_specs\":{%s}}", rows[i].specs) };
		const struct offer *o;

		walk(&c, ", commitments: false");
		o = find("x1.large", "r-1a", PURCHASE_ON_DEMAND);
		tap_ok(str_eq(o->accelerator, rows[i].card) && o->accelerator_count == rows[i].count && (isnan(rows[i].gib) || fabs(o->accelerator_memory_gib - rows[i].gib) < 0.01),
		    "%s: %d %s of %g GiB", rows[i].specs, o->accelerator_count, o->accelerator, o->accelerator_memory_gib);
	}
}

#define T4(id, more) "{\"id\":\"" id "\",\"vcpus\":\"8\",\"ram\":32768,\"os_extra_specs\":{\"ecs:performancetype\":\"gpu\"," \
	"\"info:gpu:name\":\"1 * NVIDIA T4 / 1 * 16G\"" more "}}"

static void
test_zones(void)
{
	struct cloud c = { .unknown = "", .currency = "\"currency\":\"EUR\",", .flavors =
	    T4("t.1", ",\"cond:operation:status\":\"abandon\",\"cond:operation:az\":\"r-1a(sellout), r-9(normal)\"") ","
	    T4("t.2", ",\"cond:operation:az\":\"r-1a(tomorrow),r-1b(obt)\",\"cond:operation:charge\":\"demand\"") ","
	    T4("t.3", ",\"cond:spot:operation:status\":\"normal\",\"cond:spot:operation:az\":\"r-1b(abandon)\",\"cond:operation:charge\":\"period\""),
		.policies = "{\"id\":1,\"flavor_id\":\"t.3\",\"availability_zone_id\":\"r-1a\",\"sell_mode\":\"spot\",\"sell_status\":\"sellout\"},"
	    "{\"id\":2,\"flavor_id\":\"t.2\",\"availability_zone_id\":\"r-1b\",\"sell_mode\":\"spot\",\"sell_status\":\"available\"},"
	    "{\"id\":3,\"flavor_id\":\"t.1\",\"availability_zone_id\":\"r-1b\",\"sell_mode\":\"postPaid\",\"sell_status\":\"available\"}" };

	walk(&c, ", prices: [{purchase: spot, region: r-1, price_per_hour: 0.3}]");
	tap_ok(find("t.1", "r-1a", PURCHASE_ON_DEMAND)->available == AVAIL_NO, "sold out in one zone");
	tap_is_long(find("t.1", "r-1b", PURCHASE_ON_DEMAND)->accelerator_count, -1, "and not sold in the other");
	tap_ok(find("t.2", "r-1a", PURCHASE_ON_DEMAND)->available == AVAIL_UNKNOWN, "a word of tomorrow's API is no promise");
	tap_ok(find("t.2", "r-1b", PURCHASE_ON_DEMAND)->available == AVAIL_YES, "a public test is sold");
	tap_near(usd_to_double(find("t.2", "r-1b", PURCHASE_ON_DEMAND)->price), 7.5, 1e-9, "the list price less the discount");
	tap_is_str(find("t.2", "r-1b", PURCHASE_ON_DEMAND)->currency, "EUR", "in the currency of the answer");
	tap_is_long(find("t.2", "r-1b", PURCHASE_RESERVED)->accelerator_count, -1, "what is sold by the hour alone is not sold ahead");
	tap_is_long(find("t.3", "r-1a", PURCHASE_ON_DEMAND)->accelerator_count, -1, "nor the other way round");
	tap_ok(find("t.3", "r-1a", PURCHASE_SPOT)->available == AVAIL_NO, "the policy of a zone stands above the flavor's word");
	tap_is_long(find("t.3", "r-1b", PURCHASE_SPOT)->accelerator_count, -1, "where no policy is, the flavor's word counts");
	tap_near(usd_to_double(find("t.2", "r-1b", PURCHASE_SPOT)->price), 0.3, 1e-9, "spot costs what berth.yaml says");
	tap_is_str(find("t.2", "r-1b", PURCHASE_SPOT)->currency, "USD", "in dollars");
	walk(&c, ", spot: false, accelerators: {t: L40S}");
	tap_is_long(find("t.2", "r-1b", PURCHASE_SPOT)->accelerator_count, -1, "no spot where it is not wanted");
	tap_is_str(find("t.2", "r-1b", PURCHASE_ON_DEMAND)->accelerator, "L40S", "berth.yaml names a card by the family");
}

/* A question that one product spoils is asked in halves: all others keep their price. */
static void
test_halves(void)
{
	struct cloud c = { .policies = "", .unknown = "\"t.37.linux\"", .currency = "" };
	int priced = 0;

	c.flavors = "";
	for (int i = 0; i < 120; i++)
		c.flavors = arena_printf(a, "%s%s{\"id\":\"t.%d\",\"vcpus\":\"8\",\"ram\":32768,\"os_extra_specs\":{\"pci_passthrough:alias\":"
		    "\"nvidia-t4:1\"}}", c.flavors, i > 0 ? "," : "", i);
	walk(&c, ", commitments: false");
	for (size_t i = 0; i < offers.n; i++)
		priced += usd_known(offers.v[i].price) && str_eq(offers.v[i].currency, "CNY");
	tap_ok(offers.n == 240 && priced == 238, "%d of %zu offers have a price, in the site's money", priced, offers.n);
	tap_ok(!usd_known(find("t.37", "r-1a", PURCHASE_ON_DEMAND)->price), "and one is shown without");
	tap_ok(c.asked > 3 && c.asked < 20, "in %d questions", c.asked);
}

static void
test_keys(void)
{
	static const char *const bad[] = { ", site: moon, access_key: env:X, secret_key: env:X", ", site: china, access_key: env:X",
		", access_key: env:X, secret_key: env:X", ACCOUNT ", spot_max_price: much", ACCOUNT ", endpoint: 'http://ecs.example'" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		prov_account_close(open_account(bad[i], BERTH_EINVAL));
}

static enum berth_code
access_of(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *s = http_req_get_header(req, "Authorization"), *token = http_req_get_header(req, "X-Security-Token");

	(void)acc, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = 200;
	resp->body = "{\"absolute\":{}}";
	resp->body_len = strlen(resp->body);
	*(const char **)arg = arena_printf(a, "%.*s %s", (int)strcspn(strstr(s, "Access=") + 7, ","), strstr(s, "Access=") + 7,
	    token != NULL ? token : "");
	return BERTH_OK;
}

static enum berth_code
got_quota(void *arg, const struct prov_quota *q, struct berth_err *err)
{
	(void)arg, (void)q, (void)err;
	return BERTH_OK;
}

/* Keys of berth.yaml, else of the environment, else of the file that the cloud's own tools read. */
static void
test_whose(void)
{
	char path[] = "/tmp/berth-huawei-XXXXXX";
	static const char text[] = "[global]\nak=g\nsk=g\n[basic]\nak = file-ak\nsk = file-sk\nsecurity_token = tok\n";
	int fd = mkstemp(path);
	struct prov_account *acc = open_account(", site: china", BERTH_OK);
	const char *got = "";
	struct berth_err err = { 0 };

	prov_account_hook(acc, access_of, &got);
	setenv("HUAWEICLOUD_SDK_CREDENTIALS_FILE", "/nonexistent/credentials", 1);
	unsetenv("HUAWEICLOUD_SDK_AK");
	tap_code(prov_quotas(acc, got_quota, NULL, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "/nonexistent/credentials") != NULL && strstr(err.msg, "HUAWEICLOUD_SDK_AK") != NULL, "%s", err.msg);
	tap_ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "a file of keys");
	setenv("HUAWEICLOUD_SDK_CREDENTIALS_FILE", path, 1);
	tap_code(prov_quotas(acc, got_quota, NULL, &err), BERTH_OK, &err);
	tap_is_str(got, "file-ak tok", "its [basic], with the token");
	setenv("HUAWEICLOUD_SDK_AK", "env-ak", 1);
	setenv("HUAWEICLOUD_SDK_SK", "env-sk", 1);
	tap_code(prov_quotas(acc, got_quota, NULL, &err), BERTH_OK, &err);
	tap_is_str(got, "env-ak ", "the environment goes before it");
	prov_account_close(acc);
	acc = open_account(ACCOUNT, BERTH_OK);
	prov_account_hook(acc, access_of, &got);
	tap_code(prov_quotas(acc, got_quota, NULL, &err), BERTH_OK, &err);
	tap_is_str(got, "key ", "and berth.yaml before both");
	prov_account_close(acc);
	unsetenv("HUAWEICLOUD_SDK_AK");
	unsetenv("HUAWEICLOUD_SDK_SK");
	close(fd);
	unlink(path);
}

static void
test_create(void)
{
	static const struct offer o = { .provider = "huawei", .account = "h", .region = "r-1", .zone = "r-1a", .instance_type = "t.1",
		.purchase = PURCHASE_SPOT, .currency = "CNY", .source = "" };
	static const char *const less[] = { ", vpc: v, subnet: s", ", image: i, subnet: s", ", image: i, vpc: 'r-2=v', subnet: s" };
	struct prov_account *acc = open_account(ACCOUNT ", image: i, vpc: [r-2=w, r-1=v], subnet: s, bandwidth_mbps: 0, disk_gib: 50", BERTH_OK);
	struct prov_create c = { .token = "tok", .offer = &o };
	struct http_req req = { .arena = a };
	struct offer other = o;
	struct berth_err err = { 0 };

	tap_code(acc->ops->lease->create_build(acc->st, &c, &req, &err), BERTH_OK, &err);
	tap_is_str(req.body, "{\"server\":{\"name\":\"berth-inst-tok\",\"availability_zone\":\"r-1a\",\"flavorRef\":\"t.1\",\"imageRef\":\"i\","
	    "\"vpcid\":\"v\",\"nics\":[{\"subnet_id\":\"s\"}],\"root_volume\":{\"volumetype\":\"GPSSD\",\"size\":50},\"count\":1,\"extendparam\":{"
	    "\"chargingMode\":\"postPaid\",\"regionID\":\"r-1\",\"marketType\":\"spot\"},\"server_tags\":[{\"key\":\"berth-installation\",\"value\":"
	    "\"inst\"},{\"key\":\"berth-token\",\"value\":\"tok\"}]}}", "what a spot machine is asked with");
	c.token = "0123456789012345678901234567890123456789-long";
	tap_code(acc->ops->lease->create_build(acc->st, &c, &(struct http_req){ .arena = a }, &err), BERTH_EPERMANENT, &err);
	c.token = "tok";
	other.purchase = PURCHASE_RESERVED;
	c.offer = &other;
	tap_code(acc->ops->lease->create_build(acc->st, &c, &(struct http_req){ .arena = a }, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "paid ahead") != NULL, "%s", err.msg);
	other = o;
	other.region = "r-2";
	tap_code(acc->ops->lease->create_build(acc->st, &c, &(struct http_req){ .arena = a }, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "projects: r-2=ID") != NULL, "%s", err.msg);
	for (const char *const *bad = (const char *const[]){ "id", "/id", "r-1/", "r-1/a/b", "r-1/a?b", NULL }; *bad != NULL; bad++)
		tap_code(acc->ops->lease->status_build(acc->st, *bad, &(struct http_req){ .arena = a }, &err), BERTH_EINVAL, &err);
	prov_account_close(acc);
	c.offer = &o;
	for (size_t i = 0; i < sizeof(less) / sizeof(less[0]); i++) {
		acc = open_account(arena_printf(a, ACCOUNT "%s", less[i]), BERTH_OK);
		tap_code(acc->ops->lease->create_build(acc->st, &c, &(struct http_req){ .arena = a }, &err), BERTH_EPERMANENT, &err);
		tap_ok(strstr(err.msg, "region r-1") != NULL, "%s", err.msg);
		prov_account_close(acc);
	}
}

/* The machine is not there; its job says why, or that it is on its way, or that it was. */
static enum berth_code
job_says(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	(void)acc, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = 200;
	if (str_eq(req->method, "POST"))
		resp->body = "{\"job_id\":\"j1\",\"serverIds\":[\"s1\"]}";
	else if (strstr(req->url, "/jobs/j1") != NULL)
		resp->body = *(const char **)arg;
	else
		resp->status = 404, resp->body = "{\"error\":{\"code\":\"Ecs.0614\",\"message\":\"\"}}";
	resp->body_len = strlen(resp->body);
	return BERTH_OK;
}

static void
test_jobs(void)
{
	static const struct { const char *job; enum berth_code rc; enum prov_state state; enum berth_code why; } rows[] = {
		{ "{\"status\":\"INIT\"}", BERTH_OK, PROV_PENDING, BERTH_OK },
		{ "{\"status\":\"SUCCESS\"}", BERTH_ENOTFOUND, PROV_PENDING, BERTH_OK },
		{ "{\"status\":\"FAIL\",\"error_code\":\"Ecs.0319\",\"fail_reason\":\"no\"}", BERTH_OK, PROV_FAILED, BERTH_ECAPACITY },
		{ "{\"status\":\"FAIL\",\"error_code\":\"Ecs.0200\",\"fail_reason\":\"Failed because No valid host was found.\"}", BERTH_OK, PROV_FAILED,
		    BERTH_ECAPACITY },
		{ "{\"status\":\"FAIL\",\"error_code\":\"Ecs.0100\",\"fail_reason\":\"part\",\"entities\":{\"sub_jobs\":[{\"error_code\":\"Ecs.0013\","
		    "\"fail_reason\":\"Insufficient EIP quota.\"}]}}", BERTH_OK, PROV_FAILED, BERTH_EQUOTA },
		{ "{\"status\":\"FAIL\",\"error_code\":\"Ecs.0031\",\"fail_reason\":\"Image does not exist.\"}", BERTH_OK, PROV_FAILED, BERTH_EFAIL },
		{ "{}", BERTH_ETRANSIENT, PROV_PENDING, BERTH_OK },
	};
	static const struct offer o = { .provider = "huawei", .account = "h", .region = "r-1", .zone = "r-1a", .instance_type = "t.1",
		.purchase = PURCHASE_ON_DEMAND, .currency = "CNY", .source = "" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct prov_account *acc = open_account(ACCOUNT ", image: i, vpc: v, subnet: s", BERTH_OK);
		struct prov_create c = { .token = "tok", .offer = &o };
		struct prov_machine m = { .ref = "" };
		struct berth_err err = { 0 };
		const char *job = rows[i].job;

		prov_account_hook(acc, job_says, &job);
		tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
		tap_code(prov_status(acc, "r-1/s1", &m, &err), rows[i].rc, &err);
		tap_ok(rows[i].rc != BERTH_OK || (m.state == rows[i].state && m.why == rows[i].why && str_eq(m.installation, "inst")), "%s: %s", job,
		    m.detail);
		tap_code(prov_status(acc, "r-1/s2", &m, &err), BERTH_ENOTFOUND, &err);
		prov_account_close(acc);
	}
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	setenv("HUAWEI_TEST_KEY", "key", 1);
	if (accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	test_cards();
	test_zones();
	test_halves();
	test_keys();
	test_whose();
	test_create();
	test_jobs();
	arena_free(a);
	return tap_done();
}
