/* tests/unit/slurm.c - Slurm: the versions' shapes, its lists of resources, reasons, codes, and recorded answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/slurm/slurm.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/str.h"
#include "util/yaml.h"

#define NOW INT64_C(1796010930)

static struct arena *a;
static const struct accel_table *accels;
static struct log quiet;

/* What was sent, and the answers: by the end of the URL. */
static struct { const char *method, *url, *body, *user, *token; int n; } wire;
static struct reply { const char *path; int status; const char *body; } replies[8];

static const char *
header(const struct http_req *req, const char *name)
{
	const char *v = http_req_get_header(req, name);

	return arena_strdup(a, v != NULL ? v : "");
}

static enum berth_code
exchange(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	(void)arg, (void)acc, (void)err;
	wire.method = arena_strdup(a, req->method != NULL ? req->method : "GET");
	wire.url = arena_strdup(a, req->url);
	wire.body = arena_strdup(a, req->body != NULL ? req->body : "");
	wire.user = header(req, "X-SLURM-USER-NAME");
	wire.token = header(req, "X-SLURM-USER-TOKEN");
	wire.n++;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = 404;
	resp->body = "Unable find requested URL.";
	for (size_t i = 0; i < 8 && replies[i].path != NULL; i++)
		if (str_ends(req->url, replies[i].path)) {
			resp->status = replies[i].status;
			resp->body = replies[i].body;
			break;
		}
	resp->body_len = strlen(resp->body);
	return BERTH_OK;
}

static struct prov_account *
open_account(const char *more, enum berth_code want)
{
	const char *yaml = arena_printf(a, "{name: c, provider: slurm, %s}", more);
	struct prov_env env = { .now = NOW, .installation = "inst", .accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	if (acc != NULL)
		prov_account_hook(acc, exchange, NULL);
	memset(replies, 0, sizeof(replies));
	return acc;
}

static void
test_gres(void)
{
	static const struct { const char *list, *want; } lists[] = {
		{ "gpu:a100:8(S:0-1)", "gpu/a100=8" }, { "gpu:8", "gpu/=8" }, { "gpu", "gpu/=1" }, { "", "" },
		{ "gpu:a100:2(IDX:0,2),gpu:v100:1(IDX:7),shard:16(0/8,0/8)", "gpu/a100=2 gpu/v100=1 shard/=16" },
		{ "gres:gpu:h100:4", "gpu/h100=4" }, { "gres/gpu:h100=4", "gpu/h100=4" }, { "gpu:1g.10gb:7", "gpu/1g.10gb=7" },
		{ "gpu:nvidia_a100-sxm4-80gb:4(S:0)", "gpu/nvidia_a100-sxm4-80gb=4" }, { "gpu:a100:0(IDX:N/A)", "gpu/a100=0" },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const char *list = lists[i].list, *text = "";
		const struct slurm_gres *g;

		while ((g = slurm_gres_next(a, &list)) != NULL)
			text = arena_printf(a, "%s%s%s/%s=%lld", text, text[0] != '\0' ? " " : "", g->name, g->type, (long long)g->count);
		tap_is_str(text, lists[i].want, "'%s'", lists[i].list);
	}
}

static void
test_numbers(void)
{
	static const struct { const char *json; bool set; int64_t n; } numbers[] = {
		{ "{\"n\":5}", true, 5 }, { "{\"n\":\"5\"}", true, 5 }, { "{\"n\":null}", false, 0 }, { "{}", false, 0 },
		{ "{\"n\":-1}", false, 0 }, { "{\"n\":{\"set\":true,\"infinite\":false,\"number\":7}}", true, 7 },
		{ "{\"n\":{\"set\":false,\"infinite\":false,\"number\":0}}", false, 0 },
		{ "{\"n\":{\"set\":true,\"infinite\":true,\"number\":0}}", false, 0 }, { "{\"n\":[1]}", false, 0 },
	};
	static const struct { const char *json, *word; bool has; } words[] = {
		{ "{\"s\":\"idle\"}", "IDLE", true }, { "{\"s\":[\"MIXED\",\"DRAIN\"]}", "DRAIN", true }, { "{\"s\":\"IDLE*\"}", "IDLE", true },
		{ "{\"s\":\"MIXED+DRAIN\"}", "DRAIN", true }, { "{\"s\":\"DRAINED\"}", "DRAIN", false }, { "{\"s\":[]}", "UP", false },
		{ "{}", "UP", false }, { "{\"s\":7}", "UP", false },
	};
	json_t *v;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int64_t n = 0;
		struct jsonr root;
		bool set;

		if (jsonr_parse(numbers[i].json, strlen(numbers[i].json), "t", &v, NULL) != BERTH_OK)
			continue;
		root = jsonr_root(v, "t");
		set = slurm_number(&root, "n", &n);
		tap_ok(set == numbers[i].set && n == numbers[i].n, "%s", numbers[i].json);
		json_decref(v);
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct jsonr root;

		if (jsonr_parse(words[i].json, strlen(words[i].json), "t", &v, NULL) != BERTH_OK)
			continue;
		root = jsonr_root(v, "t");
		tap_ok(slurm_has_word(&root, "s", words[i].word) == words[i].has, "%s %s", words[i].json, words[i].word);
		json_decref(v);
	}
}

static void
test_reasons(void)
{
	static const struct { const char *reason; enum berth_code code; bool at_once; } reasons[] = {
		{ "None", BERTH_OK, false }, { "Resources", BERTH_ECAPACITY, false }, { "Priority", BERTH_ECAPACITY, false },
		{ "QOSMaxGRESPerUser", BERTH_EQUOTA, true }, { "AssocGrpGRES", BERTH_EQUOTA, true }, { "QOSNotAllowed", BERTH_EAUTH, true },
		{ "ReqNodeNotAvail, UnavailableNodes:n1", BERTH_ECAPACITY, false }, { "PartitionTimeLimit", BERTH_EPERMANENT, true },
		{ "BadConstraints", BERTH_ECAPACITY, true }, { "JobHeldAdmin", BERTH_EPERMANENT, true },
		{ "launch_failed_requeued_held", BERTH_EFAIL, true }, { "AWordOfTomorrow", BERTH_ECAPACITY, false },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		enum berth_code code = BERTH_EIO;
		bool at_once = false;
		const char *words = slurm_reason(reasons[i].reason, &code, &at_once);

		tap_ok(code == reasons[i].code && at_once == reasons[i].at_once, "%s: %s", reasons[i].reason, words);
	}
}

static const struct offer sold = { .provider = "slurm", .account = "c", .region = "own", .zone = "gpu", .instance_type = "gpu:a100:2",
	.accelerator = "A100", .accelerator_count = 2, .vcpus = 16, .memory_gib = 120, .currency = "USD", .source = "" };

/* The same job in the words of each version, and of the one that the server has. */
static void
test_bodies(void)
{
	static const char body38[] = "{\"script\":\"#!/bin/sh\\nexec sleep infinity\\n\",\"job\":{\"name\":\"berth-01234567\","
	    "\"comment\":\"berth inst 0123456789 gpu:a100:2\",\"partition\":\"gpu\",\"account\":\"ml\",\"gpus_per_node\":\"a100:2\","
	    "\"tasks\":1,\"cpus_per_task\":16,\"memory_per_node\":122880,\"time_limit\":91,\"no_requeue\":true,"
	    "\"current_working_directory\":\"/tmp\",\"standard_output\":\"/dev/null\","
	    "\"environment\":{\"PATH\":\"/usr/local/bin:/usr/bin:/bin\",\"BERTH_TOKEN\":\"0123456789\"}}}";
	static const char body41[] = "{\"job\":{\"script\":\"#!/bin/sh\\nexec sleep infinity\\n\",\"name\":\"berth-01234567\","
	    "\"comment\":\"berth inst 0123456789 gpu:a100:2\",\"partition\":\"gpu\",\"account\":\"ml\","
	    "\"tres_per_node\":\"gres/gpu:a100=2\",\"tasks\":1,\"cpus_per_task\":16,"
	    "\"memory_per_node\":{\"set\":true,\"infinite\":false,\"number\":122880},"
	    "\"time_limit\":{\"set\":true,\"infinite\":false,\"number\":91},"
	    "\"requeue\":false,\"current_working_directory\":\"/tmp\",\"standard_output\":\"/dev/null\","
	    "\"environment\":[\"PATH=/usr/local/bin:/usr/bin:/bin\",\"BERTH_TOKEN=0123456789\"]}}";
	static const struct { const char *version, *want; } bodies[] = { { "v0.0.38", body38 }, { "v0.0.41", body41 } };
	struct prov_create c = { .token = "0123456789", .offer = &sold };
	struct prov_machine m;
	struct berth_err err = { 0 };

	for (size_t i = 0; i < 2; i++) {
		struct prov_account *acc = open_account("url: 'http://localhost:6820', user: ann, token: env:K, account: ml, time_limit: 5430s",
		    BERTH_OK);

		replies[0] = (struct reply){ arena_printf(a, "/slurm/%s/ping", bodies[i].version), 200, "{\"pings\":[],\"errors\":[]}" };
		replies[1] = (struct reply){ arena_printf(a, "/slurm/%s/job/submit", bodies[i].version), 200, "{\"job_id\":7,\"errors\":[]}" };
		wire.n = 0;
		tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
		tap_is_str(wire.body, bodies[i].want, "the body of %s", bodies[i].version);
		tap_is_long(wire.n, i == 0 ? 8 : 5, "asked from v0.0.44 on down, once");
		tap_ok(str_eq(m.ref, "7") && str_eq(wire.method, "POST"), "number %s", m.ref);
		tap_ok(str_eq(wire.user, "ann") && str_eq(wire.token, "key-SECRET"), "who it is");
		c.user_data = "#cloud-config\n";
		tap_code(prov_create(acc, &c, &m, &err), BERTH_EPERMANENT, &err);
		c.user_data = NULL;
		prov_account_close(acc);
	}
	open_account("url: 'http://far.example:6820', user: ann", BERTH_EINVAL);
	prov_account_close(open_account("url: 'http://far.example:6820', user: ann, plain_http: true", BERTH_OK));
	open_account("url: 'https://far.example:6820'", BERTH_EINVAL);
	open_account("url: 'https://far.example', user: ann, api_version: v0.0.37", BERTH_EINVAL);
	open_account("ssh: '-oProxyCommand=x'", BERTH_EINVAL);
}

static const char *
job_in(const char *state, const char *reason, const char *more)
{
	return arena_printf(a, "{\"jobs\":[{\"job_id\":7,\"job_state\":%s,\"state_reason\":\"%s\",\"comment\":"
	    "\"berth inst tok gpu:a100:2\",\"user_name\":\"ann\",\"partition\":\"gpu\",\"qos\":\"spot\",\"batch_host\":\"n1\","
	    "\"submit_time\":%lld%s}],\"errors\":[]}", state, reason, (long long)NOW - 60, more);
}

static void
test_states(void)
{
	static const struct { const char *state, *reason, *more; enum prov_state want; enum berth_code why; bool preempted; } states[] = {
		{ "\"PENDING\"", "Priority", "", PROV_PENDING, BERTH_OK, false },
		{ "[\"PENDING\"]", "QOSMaxGRESPerUser", "", PROV_FAILED, BERTH_EQUOTA, false },
		{ "[\"PENDING\"]", "None", ",\"restart_cnt\":1", PROV_FAILED, BERTH_EFAIL, true },
		{ "[\"RUNNING\",\"CONFIGURING\"]", "None", "", PROV_PENDING, BERTH_OK, false },
		{ "[\"RUNNING\"]", "None", ",\"end_time\":{\"set\":true,\"number\":1796099999}", PROV_READY, BERTH_OK, false },
		{ "[\"RUNNING\"]", "None", ",\"end_time\":1796011000", PROV_NOTICED, BERTH_OK, false },
		{ "[\"RUNNING\"]", "None", ",\"end_time\":1796010960,\"preempt_time\":1796010930", PROV_NOTICED, BERTH_OK, true },
		{ "[\"RUNNING\"]", "None", ",\"end_time\":{\"set\":true,\"infinite\":true,\"number\":0}", PROV_READY, BERTH_OK, false },
		{ "\"SUSPENDED\"", "None", "", PROV_FAILED, BERTH_EFAIL, false },
		{ "[\"CANCELLED\",\"COMPLETING\"]", "None", "", PROV_ENDING, BERTH_OK, false },
		{ "\"CANCELLED\"", "None", "", PROV_GONE, BERTH_OK, false }, { "[\"TIMEOUT\"]", "TimeLimit", "", PROV_GONE, BERTH_OK, false },
		{ "[\"PREEMPTED\"]", "None", "", PROV_GONE, BERTH_OK, true }, { "[\"NODE_FAIL\"]", "None", "", PROV_GONE, BERTH_OK, false },
		{ "[\"RUNNING\",\"POWER_UP_NODE\"]", "None", "", PROV_PENDING, BERTH_OK, false },
		{ "[\"PENDING\",\"LAUNCH_FAILED\"]", "None", "", PROV_FAILED, BERTH_EFAIL, false },
		{ "[\"WORD_OF_TOMORROW\"]", "None", "", PROV_PENDING, BERTH_OK, false },
	};
	struct prov_account *acc = open_account("url: 'http://localhost:6820', user: ann, token: env:K, api_version: v0.0.40, spot_qos: spot",
	    BERTH_OK);
	struct berth_err err = { 0 };
	struct prov_machine m;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		replies[0] = (struct reply){ "/job/7", 200, job_in(states[i].state, states[i].reason, states[i].more) };
		tap_code(prov_status(acc, "7", &m, &err), BERTH_OK, &err);
		tap_ok(m.state == states[i].want && m.why == states[i].why && m.preempted == states[i].preempted &&
		    m.purchase == PURCHASE_SPOT, "%s %s%s: %s (%s)", states[i].state, states[i].reason, states[i].more,
		    prov_state_name(m.state), m.detail);
	}
	prov_account_set_now(acc, NOW + 120);
	replies[0] = (struct reply){ "/job/7", 200, job_in("\"PENDING\"", "Resources", "") };
	tap_code(prov_status(acc, "7", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_FAILED && m.why == BERTH_ECAPACITY, "waited too long: %s", m.detail);
	replies[0].body = "{\"jobs\":[{\"job_id\":7,\"job_state\":\"RUNNING\",\"comment\":\"mine\",\"user_name\":\"ann\"}],\"errors\":[]}";
	tap_code(prov_status(acc, "7", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_GONE && str_eq(m.ref, "7"), "another's job by now: ours is gone, %s", m.detail);
	memset(&m, 0, sizeof(m));
	tap_code(prov_destroy(acc, "7", &m, &err), BERTH_OK, &err);	/* nothing answers a DELETE here */
	tap_ok(m.state == PROV_GONE, "and the other's is not cancelled");
	tap_code(prov_status(acc, "7/../8", &m, &err), BERTH_ENOTFOUND, &err);
	prov_account_close(acc);
}

static void
test_codes(void)
{
	static const struct { int status; const char *body; enum berth_code create, other; } codes[] = {
		{ 500, "{\"errors\":[{\"error_code\":2014,\"error\":\"Requested node configuration is not available\"}]}", BERTH_ECAPACITY, BERTH_ECAPACITY },
		{ 200, "{\"errors\":[{\"error_number\":2050,\"error\":\"Job violates accounting/QOS policy\"}]}", BERTH_EQUOTA, BERTH_EQUOTA },
		{ 500, "{\"errors\":[{\"error_number\":2017,\"error\":\"Invalid job id specified\"}]}", BERTH_ENOTFOUND, BERTH_ENOTFOUND },
		{ 500, "{\"errors\":[{\"error\":\"Unspecified error\",\"errno\":-1}]}", BERTH_EAUTH, BERTH_EAUTH },
		{ 500, "{\"errors\":[{\"error_code\":2045,\"error\":\"Invalid account or account/partition combination specified\"}]}", BERTH_EAUTH, BERTH_EAUTH },
		{ 401, "Authentication failure", BERTH_EAUTH, BERTH_EAUTH }, { 400, "Unable to parse query.", BERTH_ECAPACITY, BERTH_EPERMANENT },
		{ 500, "{\"errors\":[{\"error\":\"Unable to contact slurm controller (connect failure)\"}]}", BERTH_ETRANSIENT, BERTH_ETRANSIENT },
		{ 200, "<html>sign in</html>", BERTH_ETRANSIENT, BERTH_ETRANSIENT },
	};
	struct prov_create c = { .token = "t", .offer = &sold };
	struct prov_machine m;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct prov_account *acc = open_account("url: 'http://localhost:6820', user: ann, token: env:K, api_version: v0.0.38", BERTH_OK);
		struct berth_err err = { 0 };

		replies[0] = (struct reply){ "", codes[i].status, codes[i].body };
		tap_code(prov_create(acc, &c, &m, &err), codes[i].create, &err);
		tap_ok(strstr(err.msg, "SECRET") == NULL, "%s", err.msg);
		tap_code(prov_status(acc, "7", &m, &err), codes[i].other, &err);
		prov_account_close(acc);
	}
}

static struct { int n; struct offer first; int free; struct prov_machine machine; } got;

static enum berth_code
keep_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)arg, (void)err;
	if (got.n++ == 0)
		got.first = offer_copy(o, a);
	got.free += o->available == AVAIL_YES;
	return BERTH_OK;
}

static enum berth_code
keep_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)arg, (void)err;
	got.n++;
	got.machine = *m;
	return BERTH_OK;
}

/* A partition that says nothing of its state is used; nodes that are kept from work are not. */
static void
test_room(void)
{
	static const struct { const char *partition, *state; int free; } t[] = {
		{ "\"x\":1", "IDLE", 2 }, { "\"state\":\"UP\"", "IDLE", 2 }, { "\"partition\":{\"state\":[\"UP\"]}", "IDLE", 2 },
		{ "\"partition\":{\"state\":[\"INACTIVE\"]}", "IDLE", 0 }, { "\"state\":\"DOWN\"", "IDLE", 0 },
		{ "\"x\":1", "MAINTENANCE", 0 }, { "\"x\":1", "POWER_DRAIN", 0 }, { "\"x\":1", "BLOCKED", 0 },
		{ "\"x\":1", "EXTERNAL", 0 }, { "\"x\":1", "POWERED_DOWN", 2 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct prov_account *acc = open_account("url: 'http://localhost:6820', user: ann, token: env:K, api_version: v0.0.39",
		    BERTH_OK);
		struct berth_err err = { 0 };

		replies[0] = (struct reply){ "/partitions", 200, arena_printf(a, "{\"partitions\":[{\"name\":\"gpu\",%s}]}", t[i].partition) };
		replies[1] = (struct reply){ "/nodes", 200, arena_printf(a, "{\"nodes\":[{\"name\":\"n\",\"gres\":\"gpu:l4:2\",\"cpus\":8,"
		    "\"real_memory\":64,\"state\":[\"IDLE\",\"%s\"],\"partitions\":[\"gpu\"]}]}", t[i].state) };
		memset(&got, 0, sizeof(got));
		tap_code(prov_offers(acc, NULL, keep_offer, NULL, &err), BERTH_OK, &err);
		tap_is_long(got.free, t[i].free, "%s, node %s", t[i].partition, t[i].state);
		prov_account_close(acc);
	}
}

/* Bodies that Slurm 22.05 itself wrote, where they lie. */
static void
test_recorded(void)
{
	static const struct { const char *file; int offers, free; } nodes[] = {
		/* a100 by 1 2 4, h100 by 1 2 4 8 on two nodes; half of gpu1's GPUs hold all of its memory, so it serves nobody */
		{ "nodes_idle.json", 7, 7 }, { "nodes_mixed.json", 7, 7 }, { "nodes_drain.json", 7, 0 }, { "nodes_down.json", 7, 0 },
	};
	const char *shared = getenv("BERTH_SHARED"), *dir;
	struct prov_account *acc;
	struct berth_err err = { 0 };
	char *partitions, *body;

	dir = arena_printf(a, "%s/payloads/slurm/real_22.05_v0.0.38", shared != NULL ? shared : "../shared");
	if (!fileio_exists(dir)) {
		tap_skip("answers recorded from Slurm", "not on this machine");
		return;
	}
	acc = open_account("url: 'http://localhost:6820', user: slurmbot, token: env:K, api_version: v0.0.38", BERTH_OK);
	for (size_t i = 0; i < 4; i++) {
		if (fileio_slurp(a, arena_printf(a, "%s/partitions.json", dir), 1 << 20, &partitions, NULL, &err) != BERTH_OK ||
		    fileio_slurp(a, arena_printf(a, "%s/%s", dir, nodes[i].file), 1 << 20, &body, NULL, &err) != BERTH_OK)
			tap_diag("%s", err.msg);
		replies[0] = (struct reply){ "/partitions", 200, partitions };
		replies[1] = (struct reply){ "/nodes", 200, body };
		memset(&got, 0, sizeof(got));
		tap_code(prov_offers(acc, NULL, keep_offer, NULL, &err), BERTH_OK, &err);
		tap_is_long(got.n, nodes[i].offers, "%s: offers", nodes[i].file);
		tap_is_long(got.free, nodes[i].free, "%s: free", nodes[i].file);
		tap_ok(str_eq(got.first.instance_type, "gpu:a100:1") && got.first.vcpus == 8 && str_eq(got.first.zone, "gpu") &&
		    !usd_known(got.first.price), "%s: %s, %g CPUs, no price", nodes[i].file, got.first.instance_type, got.first.vcpus);
	}
	if (fileio_slurp(a, arena_printf(a, "%s/jobs_running_pending.json", dir), 1 << 20, &body, NULL, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	replies[0] = (struct reply){ "/jobs", 200, body };
	memset(&got, 0, sizeof(got));
	tap_code(prov_list_ours(acc, keep_machine, NULL, &err), BERTH_OK, &err);
	tap_is_long(got.n, 0, "jobs of others are none of ours");
	if (fileio_slurp(a, arena_printf(a, "%s/../rivos_squeue_out.json", dir), 1 << 20, &body, NULL, &err) == BERTH_OK) {
		replies[0] = (struct reply){ "/jobs", 200, body };
		tap_code(prov_list_ours(acc, keep_machine, NULL, &err), BERTH_OK, &err);
		tap_is_long(got.n, 0, "nor are those of a cluster of 2021");
	}
	prov_account_close(acc);
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	setenv("K", "key-SECRET", 1);
	tap_code(accel_table_open(a, &accels, &err), BERTH_OK, &err);
	test_gres();
	test_numbers();
	test_reasons();
	test_bodies();
	test_states();
	test_codes();
	test_room();
	test_recorded();
	arena_free(a);
	return tap_done();
}
