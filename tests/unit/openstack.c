/* tests/unit/openstack.c - OpenStack: who we are from every source, tokens, flavours, placement, bodies, codes, recorded answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/openstack/openstack.h"
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
static char dir[64];
static int64_t opened = NOW;

/* What was sent, in order, and answers by a part of the URL; what none fits goes to the cloud of the conformance suite. */
static struct { const char *line, *body, *token, *version; } sent[64];
static size_t n_sent;
static struct reply { const char *part; int status; const char *body; } replies[8];

static const char *
header(const struct http_req *req, const char *name)
{
	const char *v = http_req_get_header(req, name);

	return arena_strdup(a, v != NULL ? v : "");
}

static enum berth_code
exchange(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	if (n_sent < 64) {
		sent[n_sent].line = arena_printf(a, "%s %s", req->method != NULL ? req->method : "GET", req->url);
		sent[n_sent].body = arena_strdup(a, req->body != NULL ? req->body : "");
		sent[n_sent].token = header(req, "X-Auth-Token");
		sent[n_sent++].version = header(req, "OpenStack-API-Version");
	}
	for (size_t i = 0; i < 8 && replies[i].part != NULL; i++)
		if (strstr(req->url, replies[i].part) != NULL) {
			memset(resp, 0, sizeof(*resp));
			resp->arena = req->arena;
			resp->status = replies[i].status;
			resp->body = replies[i].body;
			resp->body_len = strlen(resp->body);
			resp->headers[resp->n_headers++] = (struct http_header){ "X-Subject-Token", "tok-2", true };
			return BERTH_OK;
		}
	return openstack_cloud(arg, acc, req, resp, err);
}

static struct prov_account *
open_account(const char *more, enum berth_code want)
{
	const char *yaml = arena_printf(a, "{name: c, provider: openstack%s%s}", more[0] != '\0' ? ", " : "", more);
	struct prov_env env = { .now = opened, .installation = "inst", .accels = accels, .log = &quiet, .config_dir = dir };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	if (acc != NULL)
		prov_account_hook(acc, exchange, NULL);
	memset(replies, 0, sizeof(replies));
	n_sent = 0;
	openstack_cloud_reset();
	return acc;
}

#define LAB "auth_url: 'http://127.0.0.1:5000', username: ann, project_name: lab, password: env:K, image: debian"

static enum berth_code
nothing(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	*(struct prov_machine *)arg = *m;
	return BERTH_OK;
}

/* The body of the request for a token, as each source makes it. */
static void
test_who(void)
{
	static const char clouds[] = "clouds:\n  lab:\n    auth: {auth_url: 'http://127.0.0.1:5000/v3/', username: ann, project_name: lab,\n"
	    "      user_domain_id: d1, project_domain_name: Lab}\n    region_name: one\n    cacert: /nowhere.pem\n"
	    "  app:\n    auth_type: v3applicationcredential\n    auth: {auth_url: 'http://127.0.0.1:5000', application_credential_id: a1,\n"
	    "      application_credential_secret: sec}\n  lax:\n    auth: {auth_url: 'http://127.0.0.1:5000', username: ann,\n"
	    "      password: x, project_name: lab}\n    verify: false\n";
	static const char secure[] = "clouds:\n  lab:\n    auth: {password: from-secure}\n";
	static const char password[] = "{\"auth\":{\"identity\":{\"methods\":[\"password\"],\"password\":{\"user\":{\"name\":\"ann\","
	    "\"domain\":{\"id\":\"d1\"},\"password\":\"from-secure\"}}},\"scope\":{\"project\":{\"name\":\"lab\",\"domain\":{\"name\":\"Lab\"}}}}}";
	static const char app[] = "{\"auth\":{\"identity\":{\"methods\":[\"application_credential\"],\"application_credential\":"
	    "{\"id\":\"a1\",\"secret\":\"sec\"}}}}";
	static const char by_env[] = "{\"auth\":{\"identity\":{\"methods\":[\"password\"],\"password\":{\"user\":{\"name\":\"ann\","
	    "\"domain\":{\"name\":\"Default\"},\"password\":\"env-secret\"}}},\"scope\":{\"project\":{\"id\":\"p1\"}}}}";
	struct prov_account *acc;
	struct prov_machine m;
	struct berth_err err = { 0 };

	(void)!atomicfile_write(arena_printf(a, "%s/clouds.yaml", dir), clouds, strlen(clouds), 0600, NULL);
	(void)!atomicfile_write(arena_printf(a, "%s/secure.yaml", dir), secure, strlen(secure), 0600, NULL);
	acc = open_account("cloud: lab, clouds_file: clouds.yaml", BERTH_OK);
	replies[0] = (struct reply){ "/auth/tokens", 401, "{}" };
	tap_code(prov_list_ours(acc, nothing, &m, &err), BERTH_EAUTH, &err);
	tap_is_str(sent[0].line, "POST http://127.0.0.1:5000/v3/auth/tokens", "where a token comes from");
	tap_is_str(sent[0].body, password, "clouds.yaml and secure.yaml");
	tap_ok(acc->http.ca_file != NULL && str_eq(acc->http.ca_file, "/nowhere.pem"), "its authority");
	prov_account_close(acc);
	acc = open_account("cloud: app, clouds_file: clouds.yaml", BERTH_OK);
	replies[0] = (struct reply){ "/auth/tokens", 401, "{}" };
	tap_code(prov_list_ours(acc, nothing, &m, &err), BERTH_EAUTH, &err);
	tap_is_str(sent[0].body, app, "an application credential has no scope");
	prov_account_close(acc);
	open_account("cloud: lax, clouds_file: clouds.yaml", BERTH_EINVAL);
	open_account("cloud: none, clouds_file: clouds.yaml", BERTH_EINVAL);
	open_account("auth_url: 'http://far.example:5000', username: ann, project_name: lab, password: env:K", BERTH_EINVAL);
	open_account("auth_url: 'https://far.example:5000', username: ann, project_name: lab", BERTH_EAUTH);
	open_account("auth_url: 'https://far.example:5000', username: ann, password: env:K", BERTH_EINVAL);
	open_account("", BERTH_EINVAL);
	setenv("OS_AUTH_URL", "http://127.0.0.1:5000", 1);
	setenv("OS_USERNAME", "ann", 1);
	setenv("OS_PASSWORD", "env-secret", 1);
	setenv("OS_PROJECT_ID", "p1", 1);
	acc = open_account("", BERTH_OK);
	replies[0] = (struct reply){ "/auth/tokens", 401, "{}" };
	tap_code(prov_list_ours(acc, nothing, &m, &err), BERTH_EAUTH, &err);
	tap_is_str(sent[0].body, by_env, "the environment");
	tap_ok(strstr(err.msg, "env-secret") == NULL, "%s", err.msg);
	prov_account_close(acc);
	unsetenv("OS_AUTH_URL");
}

/* Tokens: made once, renewed before they end, and once after a 401. */
static void
test_tokens(void)
{
	struct prov_account *acc = open_account(LAB, BERTH_OK);
	struct prov_machine m = { .ref = "" };
	struct berth_err err = { 0 };
	size_t before;

	tap_code(prov_list_ours(acc, nothing, &m, &err), BERTH_OK, &err);
	/* the token, flavours on two pages, the image; then the list */
	tap_ok(n_sent == 5 && str_eq(sent[4].line, "GET http://127.0.0.1:8774/v2.1/servers/detail?limit=500&tags=berth-inst"),
	    "%zu: %s", n_sent, sent[4].line);
	tap_ok(str_eq(sent[4].token, "tok-SECRET") && str_eq(sent[4].version, "compute 2.61"), "with the token");
	tap_code(prov_list_ours(acc, nothing, &m, &err), BERTH_OK, &err);
	tap_is_long((long)n_sent, 6, "no second token");
	prov_account_set_now(acc, NOW + 3600 - 60);
	tap_code(prov_list_ours(acc, nothing, &m, &err), BERTH_OK, &err);
	tap_ok(n_sent == 8 && strstr(sent[6].line, "auth/tokens") != NULL, "a token that ends within two minutes is renewed");
	before = n_sent;
	replies[0] = (struct reply){ "/servers/detail", 401, "{\"error\":{\"code\":401,\"message\":\"no\"}}" };
	tap_code(prov_list_ours(acc, nothing, &m, &err), BERTH_EAUTH, &err);
	tap_ok(n_sent == before + 3 && strstr(sent[before + 1].line, "auth/tokens") != NULL, "one new token after a 401, not two");
	prov_account_close(acc);
}

static const char *
fit_of(const char *extra, const char *more, struct openstack_flavor *f)
{
	const char *text = arena_printf(a, "{\"flavors\":[{\"id\":\"f\",\"name\":\"n\",\"vcpus\":8,\"ram\":1024,\"disk\":20,\"extra_specs\":{%s}}]}",
	    extra);
	struct prov_account *acc = open_account(arena_printf(a, LAB "%s", more), BERTH_OK);
	struct openstack *s = acc->st;
	struct http_resp resp = { .arena = a, .status = 200, .body = text, .body_len = strlen(text) };
	struct prov_cursor cur = { 0 };
	struct berth_err err = { 0 };
	const char *fit;

	s->asking = SIZE_MAX;
	s->placement = "http://127.0.0.1:1";
	tap_code(openstack_market.offers_parse(s, &resp, &cur, NULL, NULL, &err), BERTH_OK, &err);
	*f = (struct openstack_flavor){ 0 };
	fit = s->found.n == 1 ? arena_strdup(a, s->found.v[0].fit) : "none";
	if (s->found.n == 1) {
		*f = s->found.v[0];
		f->accelerator = arena_strdup(a, f->accelerator);
		f->word = arena_strdup(a, f->word);
	}
	prov_account_close(acc);
	return fit;
}

static void
test_flavors(void)
{
	static const struct { const char *extra, *more, *accelerator; int count; bool placed; const char *fit; } rows[] = {
		{ "\"pci_passthrough:alias\":\"a100:2\"", "", "A100", 2, false, "limit=1&resources=VCPU:8,MEMORY_MB:1024,DISK_GB:20" },
		{ "\"pci_passthrough:alias\":\"nic:1, a100:4\"", ", accelerators: {a100: A100-SXM4-80GB}, boot_volume_gib: 50", "A100-SXM4-80GB", 4, false,
		    "limit=1&resources=VCPU:8,MEMORY_MB:1024" },
		{ "\"pci_passthrough:alias\":\"nic:1\"", "", NULL, 0, false, "none" },
		{ "\"pci_passthrough:alias\":\"fast-gpu:1\"", "", "fast-gpu", 1, false, "limit=1&resources=VCPU:8,MEMORY_MB:1024,DISK_GB:20" },
		{ "\"hw:cpu_policy\":\"dedicated\"", "", NULL, 0, false, "none" },
		{ "\"resources:VGPU\":\"1\",\"trait:CUSTOM_NVIDIA_12\":\"required\"", ", accelerators: {CUSTOM_NVIDIA_12: A16}", "A16", 1, true,
		    "limit=1&resources=VCPU:8,MEMORY_MB:1024,DISK_GB:20,VGPU:1&required=CUSTOM_NVIDIA_12" },
		{ "\"resources:CUSTOM_GPU_H100\":\"8\",\"resources:VCPU\":\"0\"", "", "H100", 8, true,
		    "limit=1&resources=MEMORY_MB:1024,DISK_GB:20,CUSTOM_GPU_H100:8" },
		{ "\"resources1:VGPU\":\"1\",\"resources2:VGPU\":\"1\",\"trait2:CUSTOM_X\":\"forbidden\"", "", "VGPU", 2, true,
		    "limit=1&resources=VCPU:8,MEMORY_MB:1024,DISK_GB:20&resources1=VGPU:1&resources2=VGPU:1&required2=!CUSTOM_X&group_policy=none" },
		{ "\"accel:device_profile\":\"fpga\"", "", "fpga", 1, false, "limit=1&resources=VCPU:8,MEMORY_MB:1024,DISK_GB:20" },
		{ "\"pci_passthrough:alias\":\"a100:2\"", ", flavors: 'g*'", NULL, 0, false, "none" },
	};
	struct openstack_flavor f;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tap_is_str(fit_of(rows[i].extra, rows[i].more, &f), rows[i].fit, "asked of placement: %s", rows[i].extra);
		tap_ok(rows[i].accelerator == NULL ? f.accelerator == NULL : f.accelerator != NULL && f.count == rows[i].count &&
		    f.placed == rows[i].placed && str_eq(f.accelerator, rows[i].accelerator), "%s: %s x%d", rows[i].extra,
		    f.accelerator != NULL ? f.accelerator : "none", f.count);
	}
}

static struct { int n; struct offer first; } got;

static enum berth_code
keep_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)arg, (void)err;
	if (got.n++ == 0)
		got.first = offer_copy(o, a);
	return BERTH_OK;
}

/* What placement says, and that it may not be asked. */
static void
test_placement(void)
{
	static const char vgpu[] = "{\"flavors\":[{\"id\":\"f\",\"name\":\"v\",\"vcpus\":8,\"ram\":1024,\"disk\":20,\"extra_specs\":"
	    "{\"resources:VGPU\":\"1\"}},{\"id\":\"g\",\"name\":\"w\",\"vcpus\":8,\"ram\":1024,\"disk\":20,\"extra_specs\":{\"resources:VGPU\":\"2\"}}]}";
	static const struct { int status; const char *body; enum availability want; size_t asked; } rows[] = {
		{ 200, "{\"allocation_requests\":[{\"allocations\":{}}],\"provider_summaries\":{}}", AVAIL_YES, 2 },
		{ 200, "{\"allocation_requests\":[],\"provider_summaries\":{}}", AVAIL_NO, 2 },
		{ 403, "{\"errors\":[{\"status\":403,\"title\":\"Forbidden\",\"detail\":\"no\"}]}", AVAIL_UNKNOWN, 1 },
		{ 400, "{}", AVAIL_UNKNOWN, 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct prov_account *acc = open_account(LAB ", placement_endpoint: 'http://127.0.0.1:8778/placement/'", BERTH_OK);
		struct berth_err err = { 0 };

		replies[0] = (struct reply){ "/flavors/detail", 200, vgpu };
		replies[1] = (struct reply){ ":8778/placement/allocation_candidates", rows[i].status, rows[i].body };
		memset(&got, 0, sizeof(got));
		tap_code(prov_offers(acc, NULL, keep_offer, NULL, &err), BERTH_OK, &err);
		tap_ok(got.n == 2 && got.first.available == rows[i].want && n_sent == 5 + rows[i].asked, "HTTP %d: %s, asked %zu times",
		    rows[i].status, availability_name(got.first.available), n_sent - 5);
		tap_is_str(sent[5].version, "placement 1.25", "its version");
		prov_account_close(acc);
	}
}

static const struct offer sold = { .provider = "openstack", .account = "c", .region = "one", .zone = "", .instance_type = "gpu.l4.1",
	.accelerator = "L4", .accelerator_count = 1, .currency = "USD", .source = "" };

static void
test_body(void)
{
	struct prov_account *acc = open_account(LAB ", network: 11111111-2222-3333-4444-555555555555, key_name: k, security_groups: [ssh, web], "
	    "availability_zone: az1, boot_volume_gib: 100", BERTH_OK);
	struct prov_create c = { .token = "0123456789", .offer = &sold, .user_data = "#cloud-config\n" };
	struct prov_machine m;
	struct berth_err err = { 0 };

	replies[0] = (struct reply){ "/v2.1/servers", 202, "{\"server\":{\"id\":\"s1\"}}" };
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_is_str(sent[n_sent - 1].line, "POST http://127.0.0.1:8774/v2.1/servers", "a create");
	tap_is_str(sent[n_sent - 1].body, "{\"server\":{\"name\":\"berth-0123456789\",\"flavorRef\":\"f-2\",\"block_device_mapping_v2\":[{"
	    "\"boot_index\":0,\"source_type\":\"image\",\"destination_type\":\"volume\",\"uuid\":\"i-1\",\"volume_size\":100,"
	    "\"delete_on_termination\":true}],\"networks\":[{\"uuid\":\"11111111-2222-3333-4444-555555555555\"}],"
	    "\"availability_zone\":\"az1\",\"key_name\":\"k\",\"security_groups\":[{\"name\":\"ssh\"},{\"name\":\"web\"}],"
	    "\"user_data\":\"I2Nsb3VkLWNvbmZpZwo=\",\"metadata\":{\"berth-installation\":\"inst\",\"berth-token\":\"0123456789\"},"
	    "\"tags\":[\"berth-inst\"]}}", "its body");
	tap_ok(str_eq(m.ref, "s1") && m.state == PROV_PENDING, "a promise");
	c.offer = &(struct offer){ .instance_type = "nope", .region = "one", .zone = "" };
	tap_code(prov_create(acc, &c, &m, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "nope") != NULL, "%s", err.msg);
	prov_account_close(acc);
	acc = open_account("auth_url: 'http://127.0.0.1:5000', username: ann, project_name: lab, password: env:K, image: other", BERTH_OK);
	c.offer = &sold;
	tap_code(prov_create(acc, &c, &m, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "other") != NULL, "%s", err.msg);
	prov_account_close(acc);
}

static void
test_codes(void)
{
	static const struct { int status; const char *body; enum berth_code create, other; } codes[] = {
		{ 403, "{\"forbidden\":{\"code\":403,\"message\":\"Quota exceeded for cores: Requested 8, but already used 8 of 8 cores\"}}", BERTH_EQUOTA, BERTH_EQUOTA },
		{ 403, "{\"forbidden\":{\"code\":403,\"message\":\"Policy doesn't allow os_compute_api:servers:create\"}}", BERTH_EAUTH, BERTH_EAUTH },
		{ 429, "{\"overLimit\":{\"code\":429,\"message\":\"This request was rate-limited.\"}}", BERTH_ETHROTTLED, BERTH_ETHROTTLED },
		{ 413, "{\"overLimit\":{\"code\":413,\"message\":\"This request was rate-limited.\"}}", BERTH_ETHROTTLED, BERTH_ETHROTTLED },
		{ 400, "{\"badRequest\":{\"code\":400,\"message\":\"Can not find requested image\"}}", BERTH_EPERMANENT, BERTH_EPERMANENT },
		{ 409, "{\"conflictingRequest\":{\"code\":409,\"message\":\"Multiple possible networks found\"}}", BERTH_EPERMANENT, BERTH_EPERMANENT },
		{ 404, "{\"itemNotFound\":{\"code\":404,\"message\":\"Instance could not be found.\"}}", BERTH_ENOTFOUND, BERTH_ENOTFOUND },
		{ 406, "{\"computeFault\":{\"code\":406,\"message\":\"Version 2.61 is not supported by the API.\"}}", BERTH_EPERMANENT, BERTH_EPERMANENT },
		{ 500, "{\"computeFault\":{\"code\":500,\"message\":\"Unexpected API Error.\"}}", BERTH_ETRANSIENT, BERTH_ETRANSIENT },
		{ 503, "<html>upstream</html>", BERTH_ETRANSIENT, BERTH_ETRANSIENT }, { 202, "{}", BERTH_ETRANSIENT, BERTH_EINVAL },
	};
	static const struct { const char *text; enum berth_code code; } faults[] = {
		{ "No valid host was found. There are not enough hosts available.", BERTH_ECAPACITY },
		{ "Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance x.", BERTH_ECAPACITY },
		{ "Build of instance x aborted: VolumeSizeExceedsAvailableQuota: Requested volume exceeds allowed gigabytes quota. Quota exceeded.", BERTH_EQUOTA },
		{ "Build of instance x aborted: Failed to allocate the network(s)", BERTH_EFAIL }, { "", BERTH_EFAIL },
	};
	struct prov_create c = { .token = "t", .offer = &sold };
	struct prov_machine m;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct prov_account *acc = open_account(LAB, BERTH_OK);
		struct berth_err err = { 0 };

		replies[0] = (struct reply){ "/v2.1/servers", codes[i].status, codes[i].body };
		tap_code(prov_create(acc, &c, &m, &err), codes[i].create, &err);
		tap_ok(strstr(err.msg, "SECRET") == NULL, "%s", err.msg);
		tap_code(prov_status(acc, "s1", &m, &err), codes[i].other, &err);
		prov_account_close(acc);
	}
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		tap_ok(openstack_fault(faults[i].text) == faults[i].code, "fault '%s'", faults[i].text);
}

static const char *
payload(const char *name)
{
	const char *shared = getenv("BERTH_SHARED");
	char *body = NULL;
	struct berth_err err = { 0 };

	if (fileio_slurp(a, arena_printf(a, "%s/payloads/openstack/%s", shared != NULL ? shared : "../shared", name), 1 << 20, &body, NULL,
	    &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	return body != NULL ? body : "";
}

static void
test_recorded(void)
{
	const char *shared = getenv("BERTH_SHARED");
	struct prov_account *acc;
	struct prov_machine m = { .ref = "" };
	struct berth_err err = { 0 };

	if (!fileio_exists(arena_printf(a, "%s/payloads/openstack", shared != NULL ? shared : "../shared"))) {
		tap_skip("recorded answers of OpenStack", "not on this machine");
		return;
	}
	opened = INT64_C(1446000000);		/* before the recorded token ended */
	acc = open_account(LAB ", plain_http: true", BERTH_OK);
	replies[0] = (struct reply){ "/auth/tokens", 201, payload("keystone_auth-password-project-scoped-response.json") };
	replies[1] = (struct reply){ "/flavors/detail", 200, payload("nova_flavors_v2.61_flavors-detail-resp.json") };
	replies[2] = (struct reply){ "/servers/", 200, arena_printf(a, "{\"server\":%s", strchr(payload(
	    "libcloud_servers_26f7fbee_8ce1_4c28_887a_bfe8e4bb10fe.json"), ':') + 1) };
	memset(&got, 0, sizeof(got));
	tap_code(prov_offers(acc, NULL, keep_offer, NULL, &err), BERTH_OK, &err);
	tap_is_long(got.n, 0, "flavours without accelerators are no offers");
	tap_is_str(((struct openstack *)acc->st)->compute, "http://23.253.248.171:8774/v2.1/a6944d763bf64ee6a275f1263fae0352",
	    "compute, not compute_legacy");
	tap_is_str(((struct openstack *)acc->st)->who.region, "RegionOne", "its region");
	tap_code(prov_status(acc, "26f7fbee-8ce1-4c28-887a-bfe8e4bb10fe", &m, &err), BERTH_OK, &err);
	tap_ok(str_eq(m.ref, "26f7fbee-8ce1-4c28-887a-bfe8e4bb10fe") && m.installation[0] == '\0', "a server that is not ours: %s", m.detail);
	prov_account_close(acc);
}

int
main(void)
{
	static const char *const vars[] = { "OS_CLOUD", "OS_AUTH_URL", "OS_USERNAME", "OS_PASSWORD", "OS_PROJECT_NAME", "OS_PROJECT_ID",
		"OS_USER_DOMAIN_NAME", "OS_PROJECT_DOMAIN_NAME", "OS_REGION_NAME", "OS_CACERT", "OS_APPLICATION_CREDENTIAL_ID",
		"OS_APPLICATION_CREDENTIAL_SECRET", "OS_CLIENT_CONFIG_FILE" };
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++)
		unsetenv(vars[i]);
	setenv("K", "key-SECRET", 1);
	snprintf(dir, sizeof(dir), "/tmp/berth-openstack-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return 99;
	tap_code(accel_table_open(a, &accels, &err), BERTH_OK, &err);
	test_who();
	test_tokens();
	test_flavors();
	test_placement();
	test_body();
	test_codes();
	test_recorded();
	unlink(arena_printf(a, "%s/clouds.yaml", dir));
	unlink(arena_printf(a, "%s/secure.yaml", dir));
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
