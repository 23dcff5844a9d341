/* tests/unit/small.c - RunPod, Vast.ai, DigitalOcean and Crusoe: bodies, prices, codes; the answers of others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "net/sign.h"
#include "providers/account.h"
#include "providers/digitalocean/digitalocean.h"
#include "providers/runpod/runpod.h"
#include "providers/vast/vast.h"
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

/* Answers in turn, the last one again and again. */
static struct { const char *answers[8]; int status[8], n, at, posts; char url[512], body[2048]; } line;

static enum berth_code
exchange(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	int i = line.at < line.n - 1 ? line.at : line.n - 1;

	(void)arg, (void)acc, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = line.status[i];
	resp->body = line.answers[i] != NULL ? line.answers[i] : "";
	resp->body_len = strlen(resp->body);
	line.at++;
	line.posts += req->method != NULL && str_eq(req->method, "POST");
	str_copy(line.url, sizeof(line.url), req->url);
	str_copy(line.body, sizeof(line.body), req->body != NULL ? req->body : "");
	return BERTH_OK;
}

static void
says(int status, const char *body)
{
	memset(&line, 0, sizeof(line));
	line.status[0] = status;
	line.answers[0] = body;
	line.n = 1;
}

static void
then(int status, const char *body)
{
	line.status[line.n] = status;
	line.answers[line.n++] = body;
}

static struct prov_account *
open_account(const char *provider, const char *more)
{
	const char *yaml = arena_printf(a, "{name: s, provider: %s, api_key: env:SMALL_KEY, image: img%s}", provider, more);
	struct prov_env env = { .now = NOW, .installation = "inst", .accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), BERTH_OK, &err);
	if (acc != NULL)
		prov_account_hook(acc, exchange, NULL);
	return acc;
}

static VEC(struct offer) offers;
static VEC(struct prov_machine) machines;

static enum berth_code
got_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &offers, offer_copy(o, a));
	return BERTH_OK;
}

static enum berth_code
got_machine(const struct provider_ops *ops, struct prov_account *acc, const char *body, struct berth_err *err);

static enum berth_code
keep_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &machines, *m);
	return BERTH_OK;
}

/* One page of a list, whoever's the machines are. */
static enum berth_code
got_machine(const struct provider_ops *ops, struct prov_account *acc, const char *body, struct berth_err *err)
{
	struct http_resp resp = { .arena = a, .status = 200, .body = body, .body_len = strlen(body) };
	struct prov_cursor cur = { 0 };

	machines.n = 0;
	return ops->lease->list_parse(acc->st, &resp, &cur, keep_machine, NULL, err);
}

static char *
slurp(const char *path)
{
	const char *dir = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");
	char *body = NULL;

	path = arena_printf(a, "%s/%s", dir != NULL ? dir : arena_printf(a, "%s/../shared", top != NULL ? top : "."), path);
	return fileio_slurp(a, path, 1 << 20, &body, NULL, NULL) == BERTH_OK ? body : NULL;
}

static const struct offer pod = { .provider = "runpod", .account = "s", .region = "", .zone = "", .instance_type =
	"secure:4xNVIDIA H100 80GB HBM3", .accelerator = "H100", .accelerator_count = 4, .price = { 5160000 }, .currency = "USD", .source = "" };

static void
test_runpod(void)
{
	struct prov_account *acc = open_account("runpod", ", ssh_key: ssh-rsa k");
	const char *text;
	struct prov_create c = { .token = "tok", .offer = &pod };
	struct prov_machine m = { .ref = "" };
	struct berth_err err = { 0 };
	struct offer spot = pod;

	says(200, "{\"data\":{\"podFindAndDeployOnDemand\":{\"id\":\"p1\",\"desiredStatus\":\"RUNNING\"}}}");
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_is_str(line.body, "{\"query\":\"mutation($input: PodFindAndDeployOnDemandInput) { podFindAndDeployOnDemand(input: $input) { "
	    "id desiredStatus costPerHr machineId } }\",\"variables\":{\"input\":{\"cloudType\":\"SECURE\",\"gpuCount\":4,\"gpuTypeId\":"
	    "\"NVIDIA H100 80GB HBM3\",\"name\":\"berth-inst-tok\",\"imageName\":\"img\",\"containerDiskInGb\":50,\"volumeInGb\":0,\"ports\":"
	    "\"22/tcp\",\"startSsh\":true,\"supportPublicIp\":true,\"env\":[{\"key\":\"PUBLIC_KEY\",\"value\":\"ssh-rsa k\"}]}}}", "a pod is asked for");
	tap_is_str(m.ref, "p1", "and made");
	spot.purchase = PURCHASE_SPOT;
	c.offer = &spot;
	says(200, "{\"data\":{\"podRentInterruptable\":null}}");
	tap_code(prov_create(acc, &c, &m, &err), BERTH_ECAPACITY, &err);
	tap_ok(strstr(line.body, "podRentInterruptable") != NULL && strstr(line.body, "\"bidPerGpu\":1.29,") != NULL, "a bid is for one card");
	says(200, "{\"data\":{\"pod\":null}}");
	tap_code(prov_status(acc, "p1", &m, &err), BERTH_ENOTFOUND, &err);
	says(200, "{\"data\":{\"pod\":{\"id\":\"p1\",\"name\":\"berth-inst-tok\",\"desiredStatus\":\"EXITED\",\"podType\":\"INTERRUPTABLE\"}}}");
	tap_code(prov_status(acc, "p1", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_FAILED && m.preempted && str_eq(m.token, "tok"), "taken back, its disk still there");
	says(402, "{\"title\":\"Payment Required\",\"detail\":\"no\"}");
	tap_code(prov_create(acc, &c, &m, &err), BERTH_EQUOTA, &err);
	says(200, "{\"errors\":[{\"message\":\"Never heard of this\"}]}");
	tap_code(prov_create(acc, &c, &m, &err), BERTH_ECAPACITY, &err);
	tap_code(prov_status(acc, "p1", &m, &err), BERTH_ETRANSIENT, &err);
	text = slurp("payloads/runpod/graphql_01_podFindAndDeployOnDemand.json");
	if (text != NULL) {
		c.offer = &pod;
		says(200, text);
		tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
		tap_is_str(m.ref, "50qynxzilsxoey", "the document's pod");
	} else
		tap_skip("the document's pod", "no shared data");
	prov_account_close(acc);
}

/* The collected case: an error and null in a 200, then a pod. */
static void
test_case(void)
{
	char *text = slurp("cases/inputs/case-057-server.json");
	struct prov_account *acc;
	struct prov_create c = { .token = "t1", .offer = &pod };
	struct prov_machine m = { .ref = "" };
	struct berth_err err = { 0 };
	json_t *v = NULL, *steps;

	if (text == NULL || jsonr_parse(text, strlen(text), "case", &v, NULL) != BERTH_OK) {
		tap_skip("two offers in turn", "no shared data");
		return;
	}
	steps = json_object_get(v, "steps");
	acc = open_account("runpod", "");
	for (size_t i = 0; i < 2; i++) {
		json_t *reply = json_object_get(json_array_get(steps, i), "reply");
		char *body = json_dumps(json_object_get(reply, "body"), JSON_COMPACT);

		if (i == 0)
			says((int)json_integer_value(json_object_get(reply, "status")), arena_strdup(a, body));
		else
			then((int)json_integer_value(json_object_get(reply, "status")), arena_strdup(a, body));
		free(body);
	}
	tap_code(prov_create(acc, &c, &m, &err), BERTH_ECAPACITY, &err);
	tap_is_str(m.ref, "", "nothing was made");
	c.token = "t2";
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_is_str(m.ref, "pod-2b", "the second offer");
	tap_is_long(line.posts, 2, "two requests");
	prov_account_close(acc);
	json_decref(v);
}

static void
test_vast(void)
{
	static const char *const refusals[] = { "create_instance_put_api_v0_asks_id_404.json", "create_instance_put_api_v0_asks_id_410.json",
		"create_instance_put_api_v0_asks_id_429.json", "create_instance_put_api_v0_asks_id_400.json", "destroy_instance_delete_api_v0_instances_id_404.json",
		"show_instance_get_api_v0_instances_id_401_example.json" };
	static const struct { int status; enum berth_code want; } wants[] = { { 404, BERTH_ECAPACITY }, { 410, BERTH_ECAPACITY },
		{ 429, BERTH_ETHROTTLED }, { 400, BERTH_EPERMANENT }, { 404, BERTH_ENOTFOUND }, { 401, BERTH_EAUTH } };
	struct prov_account *acc = open_account("vast", ", disk_gib: 72");
	struct berth_err err = { 0 };
	struct prov_error e;
	char *text;

	says(200, "{\"offers\":[{\"id\":5,\"num_gpus\":2,\"gpu_name\":\"A100 PCIE\",\"gpu_ram\":81559,\"dph_base\":2.0,\"min_bid\":1.0,"
	    "\"storage_cost\":0.2,\"geolocation\":\"Texas, US\",\"cpu_ram\":131072,\"cpu_cores\":64,\"cpu_cores_effective\":16},{\"id\":6,"
	    "\"num_gpus\":1,\"gpu_name\":\"L4\",\"gpu_ram\":22888,\"dph_base\":0.3,\"cpu_cores\":null,\"rented\":true},{\"id\":7,\"num_gpus\":1,"
	    "\"gpu_name\":\"L4\",\"gpu_ram\":22888,\"dph_base\":0}]}");
	then(200, "{\"offers\":[{\"id\":8,\"num_gpus\":1,\"gpu_name\":\"L4\",\"gpu_ram\":22888,\"min_bid\":0.1,\"storage_cost\":0,\"cpu_cores\":null},{\"id\":9,"
	    "\"num_gpus\":1,\"gpu_name\":\"L4\",\"gpu_ram\":22888,\"min_bid\":1e300,\"storage_cost\":0}]}");
	tap_code(prov_offers(acc, NULL, got_offer, NULL, &err), BERTH_OK, &err);
	tap_is_long((long long)offers.n, 3, "what is rented or has no price is none");
	if (offers.n == 3) {
		tap_ok(!usd_known(offers.v[2].price), "a bid of more than any money is unknown and refuses no list");
		tap_near(usd_to_double(offers.v[0].price), 2.0 + 72 * 0.2 / 720, 1e-9, "the disk is part of the price");
		tap_is_str(offers.v[0].accelerator, "A100-PCIE-80GB", "a card that reports a little less than 80 GiB");
		tap_ok(offers.v[0].memory_gib == 32 && offers.v[0].vcpus == 16 && str_eq(offers.v[0].region, "US") &&
		    str_eq(offers.v[0].instance_type, "2xA100 PCIE/5"), "a quarter of the machine");
		tap_ok(offers.v[1].purchase == PURCHASE_SPOT && isnan(offers.v[1].memory_gib), "a bid");
	}
	for (size_t i = 0; i < 6; i++) {
		struct http_resp resp = { .arena = a, .status = wants[i].status };

		text = slurp(arena_printf(a, "payloads/vast/%s", refusals[i]));
		if (text == NULL)
			break;
		resp.body = text;
		resp.body_len = strlen(text);
		tap_ok(provider_vast.error_read(&resp, &e), "%s is a refusal", refusals[i]);
		tap_is_long(prov_classify(&provider_vast, &resp, &e, true, NULL), wants[i].want, "%s %s", e.code, e.text);
	}
	text = slurp("payloads/vast/show_instances_get_api_v1_instances_200.json");
	if (text != NULL) {
		tap_code(got_machine(&provider_vast, acc, text, &err), BERTH_OK, &err);
		tap_ok(machines.n == 1 && str_eq(machines.v[0].ref, "312") && machines.v[0].state == PROV_READY &&
		    str_eq(machines.v[0].address, "ssh://root@192.0.2.45:20000") && machines.v[0].installation[0] == '\0',
		    "one of somebody's, reached straight");
	} else
		tap_skip("recorded contracts", "no shared data");
	prov_account_close(acc);
}

/* Answers that somebody recorded: a list, and two refusals. */
static void
test_droplets_recorded(struct prov_account *acc)
{
	static const struct { const char *file; int status; enum berth_code want; } refusals[] = {
		{ "libcloud_error.json", 401, BERTH_EAUTH }, { "libcloud_error_invalid_image.json", 422, BERTH_EPERMANENT } };
	const char *text = slurp("payloads/digitalocean/libcloud_list_nodes.json");
	struct berth_err err = { 0 };
	struct prov_error e;

	if (text == NULL) {
		tap_skip("recorded droplets", "no shared data");
		return;
	}
	machines.n = 0;
	tap_code(got_machine(&provider_digitalocean, acc, text, &err), BERTH_OK, &err);
	tap_ok(machines.n == 1 && str_eq(machines.v[0].ref, "3164444") && str_eq(machines.v[0].address, "128.199.13.158") &&
	    str_eq(machines.v[0].region, "sfo3") && machines.v[0].created == 1602770302 && machines.v[0].token[0] == '\0',
	    "the public address, though the private one comes first");
	for (size_t i = 0; i < 2; i++) {
		struct http_resp resp = { .arena = a, .status = refusals[i].status };

		resp.body = text = slurp(arena_printf(a, "payloads/digitalocean/%s", refusals[i].file));
		resp.body_len = text != NULL ? strlen(text) : 0;
		tap_ok(provider_digitalocean.error_read(&resp, &e), "%s is a refusal", refusals[i].file);
		tap_is_long(prov_classify(&provider_digitalocean, &resp, &e, true, NULL), refusals[i].want, "%s", e.text);
	}
}

static void
test_digitalocean(void)
{
	static const struct { int status; const char *body; enum berth_code want; } codes[] = {
		{ 422, "{\"id\":\"unprocessable_entity\",\"message\":\"Size is not available in this region.\"}", BERTH_ECAPACITY },
		{ 422, "{\"id\":\"unprocessable_entity\",\"message\":\"creating this/these droplet(s) will exceed your droplet limit\"}", BERTH_EQUOTA },
		{ 422, "{\"id\":\"unprocessable_entity\",\"message\":\"You specified an invalid image for Droplet creation.\"}", BERTH_EPERMANENT },
		{ 401, "{\"id\":\"\",\"message\":\"Unable to authenticate you.\"}", BERTH_EAUTH },
		{ 429, "{\"id\":\"too_many_requests\",\"message\":\"API Rate limit exceeded.\"}", BERTH_ETHROTTLED },
		{ 404, "{\"id\":\"not_found\",\"message\":\"The resource you requested could not be found.\"}", BERTH_ENOTFOUND },
	};
	static const char sizes[] = "{\"sizes\":[{\"slug\":\"gpu-h100x8-640gb\",\"memory\":1966080,\"vcpus\":160,\"price_hourly\":23.92,\"regions\":["
	    "\"nyc2\",\"tor1\"],\"available\":true,\"gpu_info\":{\"count\":8,\"vram\":{\"amount\":640,\"unit\":\"gib\"},\"model\":\"nvidia_h100\"}},"
	    "{\"slug\":\"gpu-mi300x1-192gb\",\"memory\":245760,\"vcpus\":20,\"price_hourly\":1.99,\"regions\":[],\"available\":true,\"gpu_info\":{"
	    "\"count\":1,\"vram\":{\"amount\":192,\"unit\":\"gib\"},\"model\":\"amd_mi300x\"}}]}";
	struct prov_account *acc = open_account("digitalocean", ", ssh_keys: [aa]");
	struct berth_err err = { 0 };
	struct prov_error e;
	char *text;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct http_resp resp = { .arena = a, .status = codes[i].status, .body = codes[i].body, .body_len = strlen(codes[i].body) };

		tap_ok(provider_digitalocean.error_read(&resp, &e), "a refusal");
		tap_is_long(prov_classify(&provider_digitalocean, &resp, &e, true, NULL), codes[i].want, "%s", e.text);
	}
	offers.n = 0;
	says(200, sizes);
	tap_code(prov_offers(acc, NULL, got_offer, NULL, &err), BERTH_OK, &err);
	tap_is_long((long long)offers.n, 3, "an offer a region, and one of a size that no region has");
	if (offers.n == 3)
		tap_ok(offers.v[0].accelerator_memory_gib == 80 && offers.v[0].accelerator_known && offers.v[0].price.v == 23920000 &&
		    offers.v[2].available == AVAIL_NO && offers.v[2].accelerator_known, "%s, %s", offers.v[0].accelerator, offers.v[2].accelerator);
	text = slurp("payloads/digitalocean/droplet_example_gpu_droplets.json");
	if (text != NULL) {
		tap_code(got_machine(&provider_digitalocean, acc, text, &err), BERTH_OK, &err);
		tap_ok(machines.n > 0 && str_eq(machines.v[0].ref, "448543583") && machines.v[0].state == PROV_READY && machines.v[0].created > 0 &&
		    str_eq(machines.v[0].instance_type, "gpu-h100x1-80gb"), "%s", machines.n > 0 ? machines.v[0].address : "");
	} else
		tap_skip("the document's droplets", "no shared data");
	test_droplets_recorded(acc);
	prov_account_close(acc);
}

/* The text to sign is that of the official client (client-go, auth/v1); the signature is Python's hmac over it. */
static void
test_crusoe(void)
{
	struct http_req req = { .arena = a, .url = "https://api.crusoecloud.com/v1alpha5/projects/p1/compute/vms/instances?next_token=a%2Bb&limit=100" };
	struct sign_keys keys = { .id = "AK", .secret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" };
	struct berth_err err = { 0 };
	struct sign_text text;

	tap_code(sign_crusoe(&req, &keys, NOW, &text, &err), BERTH_OK, &err);
	tap_is_str(text.to_sign, "/v1alpha5/projects/p1/compute/vms/instances\nlimit=100&next_token=a%2Bb\nGET\n2026-11-30T12:00:00+00:00\n",
	    "what is signed");
	tap_is_str(http_req_get_header(&req, "Authorization"), "Bearer 1.0:AK:yOJ6J2BU9LIalGv5ORazFwWCgezPrObaH4Wc-KnvFqo", "and how");
	tap_is_str(http_req_get_header(&req, "X-Crusoe-Timestamp"), "2026-11-30T12:00:00+00:00", "when");
	keys.secret = "not base64!";
	tap_code(sign_crusoe(&req, &keys, NOW, NULL, &err), BERTH_EAUTH, &err);
	keys.secret = "";
	tap_code(sign_crusoe(&req, &keys, NOW, NULL, &err), BERTH_EAUTH, &err);
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	setenv("SMALL_KEY", "key-SECRET", 1);
	if (accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	test_runpod();
	test_case();
	test_vast();
	test_digitalocean();
	test_crusoe();
	arena_free(a);
	return tap_done();
}
