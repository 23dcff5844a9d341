/* tests/unit/kubernetes.c - Kubernetes: kubeconfig in every form, quantities, what pods hold, states, codes, recorded answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/kubernetes/kubernetes.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/base64.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "util/yaml.h"

#define NOW INT64_C(1796016100)		/* 2026-11-30T05:21:40Z: when the testbed's samples were taken */

static struct arena *a;
static const struct accel_table *accels;
static struct log quiet;
static char dir[64];

/* What was sent, in order, and answers by a part of the URL, in order. */
static struct { const char *line, *body, *auth; } sent[64];
static size_t n_sent;
static struct reply { const char *part; int status; const char *body; } replies[8];

static enum berth_code
exchange(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *auth = http_req_get_header(req, "Authorization");

	(void)arg, (void)acc, (void)err;
	if (n_sent < 64) {
		sent[n_sent].line = arena_printf(a, "%s %s", req->method != NULL ? req->method : "GET", req->url);
		sent[n_sent].auth = arena_strdup(a, auth != NULL ? auth : "");
		sent[n_sent++].body = arena_strdup(a, req->body != NULL ? req->body : "");
	}
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = 404;
	resp->body = "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"no\"}";
	for (size_t i = 0; i < 8 && replies[i].part != NULL; i++)
		if (strstr(req->url, replies[i].part) != NULL) {
			resp->status = replies[i].status;
			resp->body = replies[i].body;
			break;
		}
	resp->body_len = strlen(resp->body);
	return BERTH_OK;
}

static void
put(const char *name, const char *text)
{
	(void)!atomicfile_write(arena_printf(a, "%s/%s", dir, name), text, strlen(text), 0600, NULL);
}

static struct prov_account *
open_account(const char *more, enum berth_code want)
{
	const char *yaml = arena_printf(a, "{name: c, provider: kubernetes%s%s}", more[0] != '\0' ? ", " : "", more);
	struct prov_env env = { .now = NOW, .installation = "inst", .accels = accels, .log = &quiet, .config_dir = dir };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	if (want != BERTH_OK)
		tap_diag("%s: %s", err.where, err.msg);
	if (acc != NULL)
		prov_account_hook(acc, exchange, NULL);
	memset(replies, 0, sizeof(replies));
	n_sent = 0;
	return acc;
}

static void
test_kubeconfig(void)
{
	const char *pem = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n", *data = base64_encode(a, pem, strlen(pem));
	const char *bad[][2] = {
		{ "insecure-skip-tls-verify: true, server: 'https://h'", "token: t" }, { "server: 'http://h.example'", "token: t" },
		{ "server: 'https://h'", "exec: {command: aws}" }, { "server: 'https://h'", "auth-provider: {name: gcp}" },
		{ "server: 'https://h'", "username: u, password: p" }, { "server: 'https://h'", "{}" }, { "{}", "token: t" },
		{ "server: 'https://h', certificate-authority-data: '!'", "token: t" },
		{ "server: 'https://h'", "client-certificate-data: QQ==" }, { "server: 'https://h', tls-server-name: x", "token: t" },
	};
	struct prov_account *acc;
	struct kube *s;
	struct prov_machine m;
	struct berth_err err = { 0 };

	put("ca.pem", pem);
	put("tok", "from-file\n");
	put("one", arena_printf(a, "current-context: a\ncontexts:\n  - {name: a, context: {cluster: c, user: u, namespace: lab}}\n"
	    "  - {name: b, context: {cluster: c, user: v}}\nclusters:\n  - {name: c, cluster: {server: 'https://10.0.0.1:6443/', "
	    "certificate-authority-data: %s, proxy-url: 'http://p:1'}}\nusers:\n  - {name: u, user: {token: abc}}\n", data));
	put("two", "current-context: b\nusers:\n  - {name: v, user: {tokenFile: tok, client-certificate: ca.pem, client-key: ca.pem}}\n"
	    "  - {name: u, user: {token: never}}\n");
	acc = open_account("kubeconfig: one", BERTH_OK);
	s = acc->st;
	tap_ok(str_eq(s->access.server, "https://10.0.0.1:6443") && str_eq(s->access.namespace, "lab") && str_eq(s->access.token, "abc"),
	    "server, namespace, token");
	tap_ok(acc->http.ca_pem != NULL && str_eq(acc->http.ca_pem, pem) && str_eq(acc->http.proxy, "http://p:1"), "its authority and proxy");
	prov_account_close(acc);
	setenv("KUBECONFIG", arena_printf(a, "%s/none:%s/one:%s/two", dir, dir, dir), 1);
	acc = open_account("context: b", BERTH_OK);
	s = acc->st;
	tap_ok(str_eq(s->access.namespace, "default") && acc->http.cert_pem != NULL && str_eq(acc->http.cert_pem, pem) &&
	    str_eq(acc->http.key_pem, pem), "several files: context of the first, user of the second, paths beside it");
	(void)!prov_status(acc, "x", &m, &err);
	tap_is_str(sent[0].auth, "Bearer from-file", "a token file");
	put("tok", "renewed");
	(void)!prov_status(acc, "x", &m, &err);
	tap_is_str(sent[n_sent - 1].auth, "Bearer renewed", "is read anew");
	unlink(arena_printf(a, "%s/tok", dir));
	tap_code(prov_status(acc, "x", &m, &err), BERTH_EAUTH, &err);
	prov_account_close(acc);
	acc = open_account("", BERTH_OK);
	tap_is_str(((struct kube *)acc->st)->access.token, "abc", "the first current-context, the first user of a name");
	prov_account_close(acc);
	unsetenv("KUBECONFIG");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put("bad", arena_printf(a, "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
		    "clusters: [{name: c, cluster: {%s}}]\nusers: [{name: u, user: {%s}}]\n", str_eq(bad[i][0], "{}") ? "x: y" : bad[i][0],
		    str_eq(bad[i][1], "{}") ? "x: y" : bad[i][1]));
		open_account("kubeconfig: bad", BERTH_EINVAL);
	}
	open_account("kubeconfig: one, context: nope", BERTH_EINVAL);
	open_account("kubeconfig: one, namespace: 'a/b'", BERTH_EINVAL);
	open_account("kubeconfig: nofile", BERTH_ENOTFOUND);
}

static void
test_in_cluster(void)
{
	struct prov_account *acc;

	setenv("HOME", dir, 1);
	unsetenv("KUBERNETES_SERVICE_HOST");
	open_account("", BERTH_EINVAL);
	setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	put("ca.crt", "ca");
	put("token", "t");
	put("namespace", "here\n");
	acc = open_account(arena_printf(a, "in_cluster: %s", dir), BERTH_OK);
	tap_is_str(((struct kube *)acc->st)->access.server, "https://[fd00::1]:443", "where a pod finds it");
	tap_is_str(((struct kube *)acc->st)->access.namespace, "here", "its namespace");
	prov_account_close(acc);
	unsetenv("KUBERNETES_SERVICE_HOST");
}

static void
test_texts(void)
{
	static const struct { const char *text; double want; } quantities[] = {
		{ "8", 8 }, { "95690m", 95.69 }, { "1176289Mi", 1176289.0 * 1048576 }, { "1e3", 1000 }, { "2k", 2000 }, { "4Gi", 4294967296.0 },
		{ "197929188Ki", 197929188.0 * 1024 }, { "0", 0 }, { "1.5", 1.5 }, { "100n", 1e-7 }, { "1E", 1e18 }, { "", -1 }, { "x", -1 },
		{ "Mi", -1 }, { "-1", -1 }, { "1 Gi", -1 },
	};
	static const struct { const char *text; bool fine; const char *resource; int count; const char *product; } types[] = {
		{ "nvidia.com/gpu:4@NVIDIA-L40S", true, "nvidia.com/gpu", 4, "NVIDIA-L40S" }, { "google.com/tpu:16", true, "google.com/tpu", 16, "" },
		{ "nvidia.com/mig-1g.10gb:7@NVIDIA-H100-80GB-HBM3", true, "nvidia.com/mig-1g.10gb", 7, "NVIDIA-H100-80GB-HBM3" },
		{ "nvidia.com/gpu", false, "", 0, "" }, { "nvidia.com/gpu:0", false, "", 0, "" }, { "x@y:1", false, "", 0, "" }, { "a:99999", false, "", 0, "" },
	};
	static const char *const devices[] = { "nvidia.com/gpu", "nvidia.com/mig-3g.40gb", "amd.com/gpu", "google.com/tpu", "aws.amazon.com/neuron",
		"habana.ai/gaudi", "huawei.com/Ascend910B", "cambricon.com/mlu370", "gpu.intel.com/i915", "gpu.intel.com/xe",
		"amd.com/cpx_nps4", "qualcomm.com/qaic", "tenstorrent.com/n150" };
	static const char *const others[] = { "cpu", "memory", "vpc.amazonaws.com/efa", "aws.amazon.com/neuroncore", "rdma/ib", "hugepages-1Gi",
		"gpu.intel.com/i915_monitoring", "gpu.intel.com/millicores", "huawei.com/Ascend910-memory" };
	struct kube s = { .n_resources = 0 };
	char token[80];

	for (size_t i = 0; i < sizeof(quantities) / sizeof(quantities[0]); i++) {
		double v = -1;
		bool fine = kube_quantity(quantities[i].text, &v);

		tap_ok(fine == (quantities[i].want >= 0) && (!fine || fabs(v - quantities[i].want) <= 1e-12 * v), "quantity '%s' is %g",
		    quantities[i].text, v);
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct kube_type t = { "", 0, "" };
		bool fine = kube_type_parse(types[i].text, &t);

		tap_ok(fine == types[i].fine && (!fine || (str_eq(t.resource, types[i].resource) && t.count == types[i].count &&
		    str_eq(t.product, types[i].product))), "type '%s'", types[i].text);
	}
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		tap_ok(kube_is_device(&s, devices[i]), "%s is an accelerator", devices[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		tap_ok(!kube_is_device(&s, others[i]), "%s is none", others[i]);
	memset(token, 'a', 64);
	token[64] = '\0';
	tap_is_str(kube_job_name(a, "0123"), "berth-0123", "the name of a Job");
	tap_ok(strlen(kube_job_name(a, token)) <= 63 && str_eq(kube_job_name(a, token), kube_job_name(a, token)) &&
	    !str_eq(kube_job_name(a, token), kube_job_name(a, token + 1)), "%s", kube_job_name(a, token));
}

static struct { int n, free; struct offer last; double cpus; } got;

static enum berth_code
keep_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)err;
	got.n++;
	if (arg == NULL || str_eq(o->instance_type, arg)) {
		got.last = offer_copy(o, a);
		got.free = o->available == AVAIL_YES;
	}
	return BERTH_OK;
}

/* What pods hold: limits stand for requests, init containers count by the largest, sidecars and overhead add. */
static void
test_free(void)
{
	static const char node[] = "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"n\",\"labels\":{}},\"spec\":{%s},\"status\":{\"allocatable\":"
	    "{\"cpu\":\"10\",\"memory\":\"100Gi\",\"nvidia.com/gpu\":\"4\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}]}";
	static const struct { const char *spec, *ready, *pods, *type; bool free; } rows[] = {
		{ "", "True", "", "nvidia.com/gpu:4", true }, { "", "Unknown", "", "nvidia.com/gpu:1", false },
		{ "\"unschedulable\":true", "True", "", "nvidia.com/gpu:1", false },
		{ "\"taints\":[{\"key\":\"nvidia.com/gpu\",\"effect\":\"NoSchedule\"}]", "True", "", "nvidia.com/gpu:1", true },
		{ "\"taints\":[{\"key\":\"team\",\"effect\":\"NoSchedule\"}]", "True", "", "nvidia.com/gpu:1", false },
		{ "\"taints\":[{\"key\":\"team\",\"effect\":\"PreferNoSchedule\"}]", "True", "", "nvidia.com/gpu:1", true },
		{ "\"taints\":[{\"key\":\"karpenter.sh/disrupted\",\"effect\":\"NoSchedule\"}]", "True", "", "nvidia.com/gpu:1", false },
		{ "", "True", "{\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]},\"status\":{\"phase\":\"Running\"}}",
		    "nvidia.com/gpu:4", false },
		{ "", "True", "{\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]},\"status\":{\"phase\":\"Running\"}}",
		    "nvidia.com/gpu:2", true },
		{ "", "True", "{\"spec\":{\"nodeName\":\"n\",\"initContainers\":[{\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"3\"}}}],"
		    "\"containers\":[{\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}}", "nvidia.com/gpu:2", false },
		{ "", "True", "{\"spec\":{\"nodeName\":\"n\",\"initContainers\":[{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"1\"}}}],"
		    "\"containers\":[{\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"2\"}}}]},\"status\":{\"phase\":\"Running\"}}", "nvidia.com/gpu:2", false },
		{ "", "True", "{\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"7\"}}}],\"overhead\":{\"cpu\":\"500m\"}},"
		    "\"status\":{\"phase\":\"Running\"}}", "nvidia.com/gpu:2", false },	/* 4.5 CPUs are its share; 2.5 are left */
		{ "", "True", "{\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]},\"status\":{\"phase\":\"Failed\"}}",
		    "nvidia.com/gpu:4", true },
		{ "", "True", "{\"spec\":{\"nodeName\":\"other\",\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"4\"}}}]},\"status\":{\"phase\":\"Running\"}}",
		    "nvidia.com/gpu:4", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct prov_account *acc = open_account("kubeconfig: one", BERTH_OK);
		struct berth_err err = { 0 };

		replies[0] = (struct reply){ "/api/v1/nodes", 200, arena_printf(a, "%.*s%s%.*s%s%s", (int)(strstr(node, "%s") - node), node, rows[i].spec,
		    (int)(strstr(strstr(node, "%s") + 2, "%s") - strstr(node, "%s") - 2), strstr(node, "%s") + 2, rows[i].ready,
		    strstr(strstr(node, "%s") + 2, "%s") + 2) };
		replies[1] = (struct reply){ "/api/v1/pods", 200, arena_printf(a, "{\"metadata\":{},\"items\":[%s]}", rows[i].pods) };
		memset(&got, 0, sizeof(got));
		tap_code(prov_offers(acc, NULL, keep_offer, (void *)(uintptr_t)rows[i].type, &err), BERTH_OK, &err);
		tap_ok(got.n == 3 && got.free == rows[i].free, "%s, %s, %s: %s is %s", rows[i].spec, rows[i].ready, rows[i].pods, rows[i].type,
		    got.free ? "free" : "not free");
		prov_account_close(acc);
	}
}

static const struct offer sold = { .provider = "kubernetes", .account = "c", .region = "own", .zone = "z", .instance_type =
	"nvidia.com/gpu:2@NVIDIA-L40S", .accelerator = "L40S", .accelerator_count = 2, .vcpus = 10.5, .memory_gib = 64, .currency = "USD", .source = "" };

static void
test_body(void)
{
	struct prov_account *acc = open_account("kubeconfig: one, image: 'reg/img:1', tolerations: team, node_selector: {pool: gpu}, "
	    "priority_class: high, time_limit: 1h", BERTH_OK);
	struct prov_create c = { .token = "0123", .offer = &sold };
	struct prov_machine m;
	struct berth_err err = { 0 };
	json_t *v = NULL, *spec, *terms, *first;

	replies[0] = (struct reply){ "/jobs", 201, "{\"kind\":\"Job\",\"metadata\":{\"name\":\"berth-0123\"}}" };
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_is_str(sent[0].line, "POST https://10.0.0.1:6443/apis/batch/v1/namespaces/lab/jobs", "a create");
	tap_ok(str_eq(m.ref, "berth-0123") && m.state == PROV_PENDING, "its Job: %s", m.ref);
	tap_code(jsonr_parse(sent[0].body, strlen(sent[0].body), "body", &v, &err), BERTH_OK, &err);
	spec = json_object_get(v, "spec");
	tap_ok(json_integer_value(json_object_get(spec, "backoffLimit")) == 0 && json_integer_value(json_object_get(spec, "activeDeadlineSeconds")) == 3600,
	    "never tried again, for an hour at most");
	spec = json_object_get(json_object_get(spec, "template"), "spec");
	terms = json_object_get(json_object_get(json_object_get(json_object_get(spec, "affinity"), "nodeAffinity"),
	    "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
	first = json_object_get(json_array_get(terms, 0), "matchExpressions");
	tap_ok(json_array_size(terms) == 7 && json_array_size(first) == 7 && str_eq(json_string_value(json_object_get(json_array_get(first, 0), "key")),
	    "nvidia.com/gpu.product") && str_eq(json_string_value(json_object_get(json_array_get(first, 6), "operator")), "NotIn"),
	    "an alternative for each label of a product, none on spot");
	tap_is_str(json_string_value(json_object_get(json_object_get(spec, "nodeSelector"), "pool")), "gpu", "the account's own selector");
	first = json_object_get(json_array_get(json_object_get(spec, "containers"), 0), "resources");
	tap_ok(str_eq(json_string_value(json_object_get(json_object_get(first, "limits"), "nvidia.com/gpu")), "2") &&
	    str_eq(json_string_value(json_object_get(json_object_get(first, "requests"), "cpu")), "10500m") &&
	    str_eq(json_string_value(json_object_get(json_object_get(first, "requests"), "memory")), "65536Mi"), "what it asks for");
	json_decref(v);
	replies[0] = (struct reply){ "/jobs", 409, "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"jobs.batch \\\"berth-0123\\\" already exists\"}" };
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_is_str(m.ref, "berth-0123", "the same token again");
	replies[0] = (struct reply){ "/jobs/berth-0123?propagationPolicy=Background", 200, "{\"kind\":\"Status\",\"status\":\"Success\"}" };
	tap_code(prov_destroy(acc, "berth-0123", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_ENDING, "its pods go with it");
	prov_account_close(acc);
}

static void
test_codes(void)
{
	static const struct { int status; const char *body; enum berth_code create, other; } codes[] = {
		{ 403, "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"jobs.batch \\\"x\\\" is forbidden: exceeded quota: gpus, requested\"}", BERTH_EQUOTA, BERTH_EQUOTA },
		{ 403, "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"User \\\"x\\\" cannot create resource \\\"jobs\\\"\"}", BERTH_EAUTH, BERTH_EAUTH },
		{ 401, "{\"kind\":\"Status\",\"reason\":\"Unauthorized\",\"message\":\"Unauthorized\"}", BERTH_EAUTH, BERTH_EAUTH },
		{ 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"namespaces \\\"lab\\\" not found\"}", BERTH_EPERMANENT, BERTH_EPERMANENT },
		{ 422, "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"Job.batch is invalid\"}", BERTH_EPERMANENT, BERTH_EPERMANENT },
		{ 429, "{\"kind\":\"Status\",\"reason\":\"TooManyRequests\",\"message\":\"too many\"}", BERTH_ETHROTTLED, BERTH_ETHROTTLED },
		{ 500, "{\"kind\":\"Status\",\"reason\":\"InternalError\",\"message\":\"failed calling webhook\"}", BERTH_ETRANSIENT, BERTH_ETRANSIENT },
		{ 504, "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"message\":\"etcd\"}", BERTH_ETRANSIENT, BERTH_ETRANSIENT },
		{ 200, "<html>sign in</html>", BERTH_ETRANSIENT, BERTH_ETRANSIENT },
	};
	struct prov_create c = { .token = "t", .offer = &sold };
	struct prov_machine m;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct prov_account *acc = open_account("kubeconfig: one, image: i", BERTH_OK);
		struct berth_err err = { 0 };

		replies[0] = (struct reply){ "", codes[i].status, codes[i].body };
		tap_code(prov_create(acc, &c, &m, &err), codes[i].create, &err);
		tap_ok(strstr(err.msg, "abc") == NULL, "%s", err.msg);
		tap_code(prov_status(acc, "x", &m, &err), codes[i].other, &err);
		prov_account_close(acc);
	}
}

static const char *
sample(const char *name)
{
	const char *shared = getenv("BERTH_SHARED");
	char *body = NULL;
	struct berth_err err = { 0 };

	if (fileio_slurp(a, arena_printf(a, "%s/%s", shared != NULL ? shared : "../shared", name), 1 << 22, &body, NULL, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	return body != NULL ? body : "";
}

/* A status made of bodies that the API server wrote. */
static void
test_samples(void)
{
	static const struct { const char *job, *pods, *events; enum prov_state state; enum berth_code why; bool preempted; const char *words; } rows[] = {
		{ "job-created", "pods-running", NULL, PROV_READY, BERTH_OK, false, "Running" },
		{ "job-of-unschedulable", "pods-unschedulable", NULL, PROV_PENDING, BERTH_OK, false, "no node has that much free: 0/5" },
		{ "job-created", "pods-imagepull", NULL, PROV_FAILED, BERTH_EPERMANENT, false, "ImagePullBackOff: Back-off pulling" },
		{ "job-created", "pods-admission-error", NULL, PROV_FAILED, BERTH_ECAPACITY, false, "UnexpectedAdmissionError" },
		{ "job-failed", "pods-failed", NULL, PROV_GONE, BERTH_OK, false, "its command has failed" },
		{ "job-complete", NULL, NULL, PROV_GONE, BERTH_OK, false, "its command has ended" },
		{ "job-deadline", "pods-running-none", NULL, PROV_GONE, BERTH_OK, false, "DeadlineExceeded" },
		{ "job-over-quota-later", "none", "events-over-quota", PROV_FAILED, BERTH_EQUOTA, false, "a quota of the namespace: Error creating" },
		{ "job-preempted", "pods-of-lost-node", NULL, PROV_FAILED, BERTH_EFAIL, true, "pod" },
	};
	const char *shared = getenv("BERTH_SHARED");
	struct prov_account *acc;
	struct prov_machine m = { .ref = "" };
	struct berth_err err = { 0 };
	const char *dir_s = "testbed/samples/kubernetes";

	if (!fileio_exists(arena_printf(a, "%s/%s", shared != NULL ? shared : "../shared", dir_s))) {
		tap_skip("recorded answers of Kubernetes", "not on this machine");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *none = "{\"metadata\":{},\"items\":[]}";

		acc = open_account("kubeconfig: one, queue_wait: 1h", BERTH_OK);
		replies[0] = (struct reply){ "/jobs/x", 200, sample(arena_printf(a, "%s/%s.json", dir_s, rows[i].job)) };
		replies[1] = (struct reply){ "/pods?", 200, rows[i].pods == NULL || strstr(rows[i].pods, "none") != NULL ? none :
		    sample(arena_printf(a, "%s/%s.json", dir_s, rows[i].pods)) };
		replies[2] = (struct reply){ "/events?", 200, rows[i].events == NULL ? none : sample(arena_printf(a, "%s/%s.json", dir_s, rows[i].events)) };
		tap_code(prov_status(acc, "x", &m, &err), BERTH_OK, &err);
		tap_ok(m.state == rows[i].state && m.why == rows[i].why && m.preempted == rows[i].preempted && strstr(m.detail, rows[i].words) != NULL,
		    "%s, %s: %s %s (%s)", rows[i].job, rows[i].pods != NULL ? rows[i].pods : "-", prov_state_name(m.state), err_name(m.why), m.detail);
		prov_account_close(acc);
	}
	acc = open_account("kubeconfig: one, queue_wait: 30s", BERTH_OK);
	replies[0] = (struct reply){ "/jobs/x", 200, sample("testbed/samples/kubernetes/job-of-unschedulable.json") };
	replies[1] = (struct reply){ "/pods?", 200, sample("testbed/samples/kubernetes/pods-unschedulable.json") };
	tap_code(prov_status(acc, "x", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_FAILED && m.why == BERTH_ECAPACITY, "and when it has waited for long: %s", m.detail);
	replies[0] = (struct reply){ "/jobs/x", 404, sample("testbed/samples/kubernetes/job-404.json") };
	replies[1] = (struct reply){ "/pods?", 200, sample("testbed/samples/kubernetes/pods-running.json") };
	tap_code(prov_status(acc, "x", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_ENDING, "a pod whose Job is gone still ends: %s", m.detail);
	prov_account_close(acc);
}

static int n_noticed;

static enum berth_code
count_noticed(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	*(struct prov_machine *)arg = *m;
	n_noticed++;
	return BERTH_OK;
}

/* A node that its cloud is about to take, and the rights that doctor asks for. */
static void
test_notices(void)
{
	static const char job[] = "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"berth-t\",\"uid\":\"u\",\"labels\":{\"berth-installation\":\"inst\"},"
	    "\"annotations\":{\"berth-token\":\"t\"},\"creationTimestamp\":\"2026-11-30T05:20:00Z\"},\"status\":{\"active\":1}}]}";
	static const char pod[] = "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"berth-t-x\",\"labels\":{\"job-name\":\"berth-t\"},"
	    "\"creationTimestamp\":\"2026-11-30T05:20:01Z\"%s},\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\","
	    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}]}";
	static const struct { const char *deletion, *taint; int n; int64_t reclaim; } rows[] = {
		{ "", "", 0, 0 }, { "", "{\"key\":\"nvidia.com/gpu\",\"effect\":\"NoSchedule\"}", 0, 0 },
		{ "", "{\"key\":\"cloud.google.com/impending-node-termination\",\"effect\":\"NoSchedule\"}", 1, NOW + 30 },
		{ "", "{\"key\":\"aws-node-termination-handler/spot-itn\",\"effect\":\"NoExecute\"}", 1, NOW + 30 },
		{ ",\"deletionTimestamp\":\"2026-11-30T05:22:00Z\"", "", 1, NOW + 20 },
	};
	struct prov_machine m;
	struct berth_err err = { 0 };
	struct prov_account *acc;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *at = strstr(pod, "%s");

		acc = open_account("kubeconfig: one", BERTH_OK);
		replies[0] = (struct reply){ "/jobs?", 200, job };
		replies[1] = (struct reply){ "/pods?", 200, arena_printf(a, "%.*s%s%s", (int)(at - pod), pod, rows[i].deletion, at + 2) };
		replies[2] = (struct reply){ "/api/v1/nodes", 200, arena_printf(a, "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"n1\"},\"spec\":"
		    "{\"taints\":[%s]}}]}", rows[i].taint) };
		n_noticed = 0;
		m = (struct prov_machine){ .ref = "" };
		tap_code(prov_notices(acc, count_noticed, &m, &err), BERTH_OK, &err);
		tap_ok(n_noticed == rows[i].n && m.reclaim_at == rows[i].reclaim && (n_noticed == 0 || m.state == PROV_NOTICED), "%s%s: %d (%s)",
		    rows[i].deletion, rows[i].taint, n_noticed, m.detail);
		prov_account_close(acc);
	}
}

static int n_checks, n_denied;

static enum berth_code
count_checks(void *arg, const struct prov_check *c, struct berth_err *err)
{
	(void)arg, (void)err;
	n_checks++;
	n_denied += c->code == BERTH_EAUTH;
	return BERTH_OK;
}

static void
test_rights(void)
{
	struct prov_account *acc = open_account("kubeconfig: one", BERTH_OK);
	struct berth_err err = { 0 };

	replies[0] = (struct reply){ "/selfsubjectaccessreviews", 201, "{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"allowed\":true}}" };
	tap_code(prov_checks(acc, count_checks, NULL, &err), BERTH_OK, &err);
	tap_ok(n_checks == 7 && n_denied == 0, "%d rights, all there", n_checks);
	tap_is_str(sent[0].body, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\",\"spec\":{\"resourceAttributes\":"
	    "{\"verb\":\"create\",\"group\":\"batch\",\"resource\":\"jobs\",\"namespace\":\"lab\"}}}", "the first question");
	replies[0].body = "{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"allowed\":false}}";
	n_checks = 0;
	tap_code(prov_checks(acc, count_checks, NULL, &err), BERTH_OK, &err);
	tap_ok(n_checks == 7 && n_denied == 5, "without rights %d of %d are needed", n_denied, n_checks);
	prov_account_close(acc);
}

/* 16 Neuron devices under three names: 3 of 32 cores take 2 devices, 4 are asked for by the older name, 10 are left. */
static void
test_neuron(void)
{
	static const struct { const char *type; int n, free; } rows[] = { { "aws.amazon.com/neuron:8", 5, 1 }, { "aws.amazon.com/neuron:16", 5, 0 } };
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct prov_account *acc = open_account("kubeconfig: one", BERTH_OK);

		replies[0] = (struct reply){ "/api/v1/nodes", 200, "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"n\",\"labels\":{}},\"spec\":{},"
		    "\"status\":{\"allocatable\":{\"cpu\":\"128\",\"memory\":\"500Gi\",\"aws.amazon.com/neurondevice\":\"16\",\"aws.amazon.com/neuron\":"
		    "\"16\",\"aws.amazon.com/neuroncore\":\"32\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}]}" };
		replies[1] = (struct reply){ "/api/v1/pods", 200, "{\"metadata\":{},\"items\":[{\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"resources\":{"
		    "\"limits\":{\"aws.amazon.com/neuroncore\":\"3\"}}}]},\"status\":{\"phase\":\"Running\"}},{\"spec\":{\"nodeName\":\"n\",\"containers\":["
		    "{\"resources\":{\"limits\":{\"aws.amazon.com/neurondevice\":\"4\"}}}]},\"status\":{\"phase\":\"Running\"}}]}" };
		memset(&got, 0, sizeof(got));
		tap_code(prov_offers(acc, NULL, keep_offer, (void *)(uintptr_t)rows[i].type, &err), BERTH_OK, &err);
		tap_ok(got.n == rows[i].n && got.free == rows[i].free, "%s: %d offers, free %d", rows[i].type, got.n, got.free);
		prov_account_close(acc);
	}
}

/* Nodes of four clouds and of three vendors. */
static void
test_nodes(void)
{
	static const struct { const char *type, *accelerator; int count; enum purchase purchase; double gib; bool free; } rows[] = {
		{ "nvidia.com/gpu:8@NVIDIA-A100-SXM4-40GB", "A100-SXM4-40GB", 8, PURCHASE_SPOT, 40, true },
		{ "aws.amazon.com/neuron:16@trn1.32xlarge", "Trainium1", 16, PURCHASE_ON_DEMAND, 32, true },
		{ "nvidia.com/gpu:4@nvidia-l4", "L4", 4, PURCHASE_SPOT, 24, true },
		{ "google.com/tpu:4@tpu-v5-lite-podslice", "TPU v5e", 4, PURCHASE_ON_DEMAND, 16, true },
		{ "amd.com/gpu:8@AMD_Instinct_MI300X_OAM", "MI300X", 8, PURCHASE_ON_DEMAND, 192, true },
		{ "nvidia.com/mig-3g.40gb:2@NVIDIA-H100-80GB-HBM3", "H100-SXM5-80GB-MIG-3g.40gb", 2, PURCHASE_ON_DEMAND, 40, true },
		{ "nvidia.com/gpu:7@H100_NVLINK_80GB", "H100-80GB", 7, PURCHASE_ON_DEMAND, 80, true },	/* one of eight is sick */
		{ "nvidia.com/gpu:1@p3.2xlarge", "V100-SXM2-16GB", 1, PURCHASE_ON_DEMAND, 16, false },	/* its node is lost */
	};
	const char *shared = getenv("BERTH_SHARED");
	struct berth_err err = { 0 };

	if (!fileio_exists(arena_printf(a, "%s/payloads/kubernetes", shared != NULL ? shared : "../shared"))) {
		tap_skip("nodes of four clouds", "not on this machine");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct prov_account *acc = open_account("kubeconfig: one", BERTH_OK);

		replies[0] = (struct reply){ "/api/v1/nodes", 200, sample("payloads/kubernetes/nodelist_gpu_constructed.json") };
		replies[1] = (struct reply){ "/api/v1/pods", 200, "{\"metadata\":{},\"items\":[]}" };
		memset(&got, 0, sizeof(got));
		tap_code(prov_offers(acc, NULL, keep_offer, (void *)(uintptr_t)rows[i].type, &err), BERTH_OK, &err);
		tap_ok(got.last.instance_type != NULL && str_eq(got.last.accelerator, rows[i].accelerator) && got.last.accelerator_count == rows[i].count &&
		    got.last.purchase == rows[i].purchase && got.last.accelerator_memory_gib == rows[i].gib && got.free == rows[i].free,
		    "%s: %s x%d, %s, %g GiB", rows[i].type, got.last.instance_type != NULL ? got.last.accelerator : "none", got.last.accelerator_count,
		    purchase_name(got.last.purchase), got.last.accelerator_memory_gib);
		prov_account_close(acc);
	}
}

int
main(void)
{
	static const char *const files[] = { "ca.pem", "tok", "one", "two", "bad", "ca.crt", "token", "namespace" };
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	unsetenv("KUBECONFIG");
	snprintf(dir, sizeof(dir), "/tmp/berth-kube-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return 99;
	tap_code(accel_table_open(a, &accels, &err), BERTH_OK, &err);
	test_kubeconfig();
	test_in_cluster();
	test_texts();
	test_free();
	test_body();
	test_codes();
	test_samples();
	test_nodes();
	test_neuron();
	test_notices();
	test_rights();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(arena_printf(a, "%s/%s", dir, files[i]));
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
