/* tests/unit/lambda.c - Lambda Cloud: requests, its names of GPUs, its codes, and the examples of its own document. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/lambda/lambda.h"
#include "tests/conformance/clouds.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/str.h"
#include "util/yaml.h"

#define NOW INT64_C(1795996800)

static struct arena *a;
static const struct accel_table *accels;
static struct log quiet;

/* The last request, and the answer that is given to it. */
static struct { const char *method, *url, *body; int status; const char *answer; } wire;

static enum berth_code
exchange(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	(void)arg, (void)acc, (void)err;
	wire.method = arena_strdup(a, req->method);
	wire.url = arena_strdup(a, req->url);
	wire.body = arena_strdup(a, req->body != NULL ? req->body : "");
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = wire.status;
	resp->body = wire.answer;
	resp->body_len = strlen(wire.answer);
	return BERTH_OK;
}

static struct prov_account *
open_account(const char *yaml, enum berth_code want)
{
	struct prov_env env = { .now = NOW, .installation = "78199d8e1c8ed013", .accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	if (acc != NULL)
		prov_account_hook(acc, exchange, NULL);
	return acc;
}

static void
test_names(void)
{
	static const struct { const char *text, *name; double gib; } names[] = {
		{ "8x H100 (80 GB SXM5)", "H100-SXM5-80GB", 80 }, { "1x H100 (80 GB PCIe)", "H100-PCIe-80GB", 80 },
		{ "1x GH200 (96 GB)", "GH200-96GB", 96 }, { "8x Tesla V100 (16 GB)", "V100-16GB", 16 },
		{ "A10 (24 GB PCIe)", "A10", 24 }, { "4x A6000 (48 GB)", "A6000", 48 }, { "1x Odd", "Odd", NAN },
		{ "2x Odd (lots)", "Odd", NAN }, { "", "", NAN },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double gib = -1;
		const char *name = lambda_gpu(accels, names[i].text, a, &gib);

		tap_ok(str_ieq(name, names[i].name) && (isnan(names[i].gib) ? isnan(gib) : gib == names[i].gib), "'%s' is %s, %g GiB",
		    names[i].text, name, gib);
	}
}

static const struct offer sold = { .provider = "lambda", .account = "l", .region = "us-west-1", .zone = "",
	.instance_type = "gpu_1x_a10", .accelerator = "A10", .accelerator_count = 1, .currency = "USD", .source = "" };

static void
test_requests(void)
{
	struct prov_account *acc = open_account("{name: l, provider: lambda, api_key: env:K, ssh_key: ours, "
	    "endpoint: 'https://proxy.example/api/v1/'}", BERTH_OK);
	struct prov_create c = { .token = "0123456789abcdef0123456789abcdef", .offer = &sold };
	struct prov_machine m;
	struct berth_err err = { 0 };

	setenv("K", "key-SECRET", 1);
	wire.status = 200;
	wire.answer = "{\"data\":{\"instance_ids\":[\"i1\"]}}";
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_ok(str_eq(wire.method, "POST") && str_eq(wire.url, "https://proxy.example/api/v1/instance-operations/launch"), "%s",
	    wire.url);
	tap_is_str(wire.body, "{\"region_name\":\"us-west-1\",\"instance_type_name\":\"gpu_1x_a10\",\"ssh_key_names\":[\"ours\"],"
	    "\"name\":\"berth-78199d8e1c8ed013-0123456789abcdef0123456789abcdef\"}", "body of a launch");
	tap_ok(str_eq(m.ref, "i1") && m.state == PROV_PENDING, "the id");
	wire.answer = "{\"data\":{\"terminated_instances\":[{\"id\":\"i1\",\"status\":\"active\",\"name\":\"x\"}]}}";
	tap_code(prov_destroy(acc, "i1", &m, &err), BERTH_OK, &err);
	tap_is_str(wire.body, "{\"instance_ids\":[\"i1\"]}", "body of a terminate");
	tap_ok(m.state == PROV_ENDING, "still 'active' in the answer is not gone");
	wire.answer = "{\"data\":{\"terminated_instances\":[]}}";
	tap_code(prov_destroy(acc, "i1", &m, &err), BERTH_EINVAL, &err);
	wire.status = 404;
	wire.answer = "{\"error\":{\"code\":\"global/object-does-not-exist\",\"message\":\"no\"}}";
	tap_code(prov_destroy(acc, "i1", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_GONE, "what is not there is gone");
	unsetenv("K");
	tap_code(prov_status(acc, "i1", &m, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "K") != NULL, "%s", err.msg);
	prov_account_close(acc);
	open_account("{name: l, provider: lambda, api_key: env:K, endpoint: 'http://far.example/'}", BERTH_EINVAL);
	open_account("{name: l, provider: lambda}", BERTH_EINVAL);
}

static void
test_codes(void)
{
	static const struct { int status; const char *body; enum berth_code create, other; } codes[] = {
		{ 400, "{\"error\":{\"code\":\"instance-operations/launch/insufficient-capacity\"}}", BERTH_ECAPACITY, BERTH_ECAPACITY },
		{ 200, "{\"error\":{\"code\":\"instance-operations/launch/insufficient-capacity\"}}", BERTH_ECAPACITY, BERTH_ECAPACITY },
		{ 400, "{\"error\":{\"code\":\"global/quota-exceeded\"}}", BERTH_EQUOTA, BERTH_EQUOTA },
		{ 403, "{\"error\":{\"code\":\"global/account-inactive\"}}", BERTH_EAUTH, BERTH_EAUTH },
		{ 400, "{\"error\":{\"code\":\"global/invalid-parameters\"}}", BERTH_EPERMANENT, BERTH_EPERMANENT },
		{ 500, "{\"error\":{\"code\":\"provider/internal-unavailable\"}}", BERTH_ETRANSIENT, BERTH_ETRANSIENT },
		{ 400, "{\"error\":{\"code\":\"global/never-seen\"}}", BERTH_ECAPACITY, BERTH_EPERMANENT },
		{ 200, "{\"error\":{\"code\":\"global/never-seen\"}}", BERTH_ECAPACITY, BERTH_ETRANSIENT },
		{ 200, "<html>sign in</html>", BERTH_ETRANSIENT, BERTH_ETRANSIENT },
		/* what cannot be read may have been made: no refusal */
		{ 200, "{\"data\":null}", BERTH_ETRANSIENT, BERTH_EINVAL },
		{ 429, "", BERTH_ETHROTTLED, BERTH_ETHROTTLED },
	};
	struct prov_create c = { .token = "t", .offer = &sold };
	struct prov_machine m;

	setenv("K", "key-SECRET", 1);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct prov_account *acc = open_account("{name: l, provider: lambda, api_key: env:K, ssh_key: ours}", BERTH_OK);
		struct berth_err err = { 0 };

		wire.status = codes[i].status;
		wire.answer = codes[i].body;
		tap_code(prov_create(acc, &c, &m, &err), codes[i].create, &err);
		tap_ok(strstr(err.msg, "SECRET") == NULL, "%s", err.msg);
		tap_code(prov_status(acc, "i1", &m, &err), codes[i].other, &err);
		prov_account_close(acc);
	}
}

static struct { int n; struct offer first; struct prov_machine machine; } got;

static enum berth_code
got_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)arg, (void)err;
	got.first = *o;
	got.first.accelerator = arena_strdup(a, o->accelerator);
	got.first.region = arena_strdup(a, o->region);
	got.n++;
	return BERTH_OK;
}

/* The examples of the provider's own OpenAPI document, where they lie. */
/* A price that is more than any money, or less than nothing, is unknown and refuses no list; nor does a byte order mark before it. */
static void
test_prices(void)
{
	static const struct { const char *cents; int64_t micro; } prices[] = { { "75", 750000 }, { "\"75\"", 750000 }, { "1e300", -1 },
		{ "-1e300", -1 }, { "0", -1 }, { "-5", -1 }, { "9000000000000000000", -1 }, { "74.5", 745000 } };
	struct prov_account *acc = open_account("{name: l, provider: lambda, api_key: env:K, ssh_key: ours}", BERTH_OK);
	struct berth_err err = { 0 };

	wire.status = 200;
	for (size_t i = 0; i < sizeof(prices) / sizeof(prices[0]); i++) {
		got.n = 0;
		wire.answer = arena_printf(a, "%s{\"data\":{\"t\":{\"instance_type\":{\"name\":\"t\",\"description\":\"1x L4 (24 GB)\","
		    "\"price_cents_per_hour\":%s,\"specs\":{\"vcpus\":8,\"memory_gib\":32,\"gpus\":1}},"
		    "\"regions_with_capacity_available\":[{\"name\":\"r\"}]}}}", i % 2 == 0 ? "\xef\xbb\xbf" : "", prices[i].cents);
		tap_code(prov_offers(acc, NULL, got_offer, NULL, &err), BERTH_OK, &err);
		tap_ok(got.n == 1 && (prices[i].micro < 0 ? !usd_known(got.first.price) : got.first.price.v == prices[i].micro),
		    "%s cents", prices[i].cents);
	}
	prov_account_close(acc);
	got.n = 0;
}

static void
test_document(void)
{
	const char *shared = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");
	const char *dir = arena_printf(a, "%s/payloads/lambda",
	    shared != NULL ? shared : arena_printf(a, "%s/../shared", top != NULL ? top : "."));
	struct prov_account *acc;
	struct prov_machine m;
	struct berth_err err = { 0 };
	char *body = NULL;

	if (fileio_slurp(a, arena_printf(a, "%s/spec_get_api_v1_instance_types_200.json", dir), 65536, &body, NULL, &err) !=
	    BERTH_OK) {
		tap_skip("OpenAPI examples", "no shared data");
		return;
	}
	acc = open_account("{name: l, provider: lambda, api_key: env:K, ssh_key: ours}", BERTH_OK);
	wire.status = 200;
	wire.answer = body;
	tap_code(prov_offers(acc, NULL, got_offer, NULL, &err), BERTH_OK, &err);
	tap_ok(got.n == 1 && got.first.price.v == 1490000 && str_eq(got.first.region, "us-west-1") &&
	    got.first.accelerator_known && got.first.vcpus == 64, "a GH200 at 1.49 in us-west-1 (%s)", got.first.accelerator);
	tap_code(fileio_slurp(a, arena_printf(a, "%s/spec_get_api_v1_instances_id_200.json", dir), 65536, &body, NULL, &err),
	    BERTH_OK, &err);
	wire.answer = body;
	tap_code(prov_status(acc, "x", &m, &err), BERTH_OK, &err);
	tap_ok(str_eq(m.ref, "0920582c7ff041399e34823a0be62549") && m.state == PROV_PENDING && m.installation[0] == '\0',
	    "an instance that boots and is not ours");
	tap_code(fileio_slurp(a, arena_printf(a, "%s/spec_post_api_v1_instance_operations_terminate_200.json", dir), 65536, &body,
	    NULL, &err), BERTH_OK, &err);
	wire.answer = body;
	tap_code(prov_destroy(acc, "0920582c7ff041399e34823a0be62549", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_ENDING, "'booting' in the answer to a terminate");
	wire.status = 401;
	tap_code(fileio_slurp(a, arena_printf(a, "%s/spec_get_api_v1_instances_401.json", dir), 65536, &body, NULL, &err),
	    BERTH_OK, &err);
	wire.answer = body;
	tap_code(prov_status(acc, "x", &m, &err), BERTH_EAUTH, &err);
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
	test_names();
	test_requests();
	test_codes();
	test_prices();
	test_document();
	arena_free(a);
	return tap_done();
}
