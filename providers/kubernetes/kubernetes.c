#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "providers/kubernetes/kubernetes.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/yaml.h"

static const struct prov_key kube_keys[] = {
	{ "kubeconfig", PROV_KEY_PATH, false,
	    "kubeconfig; KUBECONFIG, ~/.kube/config, or the service account of the pod" },
	{ "context", PROV_KEY_STRING, false, "context of it; the current one" },
	{ "in_cluster", PROV_KEY_PATH, false,
	    "folder of a service account's token, ca.crt and namespace, instead" },
	{ "namespace", PROV_KEY_STRING, false, "namespace of the Jobs; the context's" },
	{ "image", PROV_KEY_STRING, false, "container image of a machine; needed to rent" },
	{ "resources", PROV_KEY_STRINGS, false,
	    "patterns of resource names that are accelerators, beside the known ones" },
	{ "tolerations", PROV_KEY_STRINGS, false,
	    "keys of taints that machines tolerate, beside those of accelerators and spot" },
	{ "node_selector", PROV_KEY_NODE, false, "labels that nodes must have: a map" },
	{ "priority_class", PROV_KEY_STRING, false, "priority class of machines on demand" },
	{ "spot_priority_class", PROV_KEY_STRING, false,
	    "a class that others preempt: what runs under it is offered as spot" },
	{ "service_account", PROV_KEY_STRING, false,
	    "service account of the pods; none, and no token in them" },
	{ "pull_secret", PROV_KEY_STRING, false, "secret with which the image is pulled" },
	{ "share", PROV_KEY_DOUBLE, false,
	    "part of a node's CPUs and memory that goes with its accelerators; 0.9" },
	{ "time_limit", PROV_KEY_DURATION, false, "limit of a machine's life; none" },
	{ "queue_wait", PROV_KEY_DURATION, false,
	    "a pod that finds no node for longer than this counts as no capacity; 2m" },
	{ "region", PROV_KEY_STRING, false, "name of the place where nodes carry no region; own" },
	{ "shapes", PROV_KEY_NODE, false,
	    "what can be asked for where nodes may not be listed: a list" },
	{ "prices", PROV_KEY_NODE, false, "what an hour costs: a list, see below" },
	{ "accelerators", PROV_KEY_NODE, false,
	    "names for labels, instance types and resources: a map, see below" },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/* Reasons of a Status; a quota and a missing right share one, and only the message tells them
 * apart. */
static const struct prov_error_row kube_errors[] = {
	{ 403, "Forbidden", "exceeded quota", BERTH_EQUOTA },
	{ 403, NULL, NULL, BERTH_EAUTH },
	{ 401, NULL, NULL, BERTH_EAUTH },
	{ 404, "NotFound", "namespaces \"", BERTH_EPERMANENT },
	{ 409, "Conflict", NULL, BERTH_ETRANSIENT },
	{ 410, NULL, NULL, BERTH_ETRANSIENT },
	{ 400, NULL, NULL, BERTH_EPERMANENT },
	{ 405, NULL, NULL, BERTH_EPERMANENT },
	{ 415, NULL, NULL, BERTH_EPERMANENT },
	{ 422, NULL, NULL, BERTH_EPERMANENT },
	{ 429, NULL, NULL, BERTH_ETHROTTLED },
	{ 500, NULL, NULL, BERTH_ETRANSIENT },
	{ 503, NULL, NULL, BERTH_ETRANSIENT },
	{ 504, NULL, NULL, BERTH_ETRANSIENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static const char *const kube_devices[] = { "nvidia.com/gpu", "nvidia.com/gpu.shared",
	"nvidia.com/mig-*", "amd.com/gpu", "amd.com/?px_nps?", "gpu.intel.com/i915",
	"gpu.intel.com/xe", "npu.intel.com/accel", "google.com/tpu", "aws.amazon.com/neuron",
	"aws.amazon.com/neurondevice", "habana.ai/gaudi*", "qualcomm.com/qaic*",
	"tenstorrent.com/*", "furiosa.ai/*", "rebellions.ai/*", "huawei.com/Ascend*",
	"cambricon.com/mlu*", "hygon.com/dcu*", "mthreads.com/gpu", "metax-tech.com/gpu",
	"iluvatar.com/gpu", "iluvatar.ai/gpu", "enflame.com/gcu*", "kunlunxin.com/xpu",
	"birentech.com/gpu" };

/* Parts of such a device, counted beside it. */
static const char *const kube_parts[] = { "*-memory", "*-core", "*.vcore", "*.vmemory",
	"*_monitoring" };

const char *const kube_product_labels[] = { "nvidia.com/gpu.product",
	"cloud.google.com/gke-accelerator", "cloud.google.com/gke-tpu-accelerator",
	"gpu.nvidia.com/class", "amd.com/gpu.product-name", "gpu.intel.com/product",
	"node.kubernetes.io/instance-type", NULL };

const struct kube_spot kube_spot_labels[] = { { "karpenter.sh/capacity-type", "spot" },
	{ "eks.amazonaws.com/capacityType", "SPOT" }, { "cloud.google.com/gke-spot", "true" },
	{ "cloud.google.com/gke-preemptible", "true" },
	{ "kubernetes.azure.com/scalesetpriority", "spot" }, { NULL, NULL } };

bool
kube_is_device(const struct kube *s, const char *resource)
{
	return (glob_match_any(
		    kube_devices, sizeof(kube_devices) / sizeof(kube_devices[0]), resource) &&
		   !glob_match_any(
		       kube_parts, sizeof(kube_parts) / sizeof(kube_parts[0]), resource)) ||
	       (s->n_resources > 0 && glob_match_any(s->resources, s->n_resources, resource));
}

bool
kube_quantity(const char *text, double *out)
{
	static const struct {
		const char *suffix;
		double factor;
	} units[] = {
		{ "Ki", 1024.0 },
		{ "Mi", 1048576.0 },
		{ "Gi", 1073741824.0 },
		{ "Ti", 1099511627776.0 },
		{ "Pi", 1125899906842624.0 },
		{ "Ei", 1152921504606846976.0 },
		{ "n", 1e-9 },
		{ "u", 1e-6 },
		{ "m", 1e-3 },
		{ "k", 1e3 },
		{ "M", 1e6 },
		{ "G", 1e9 },
		{ "T", 1e12 },
		{ "P", 1e15 },
		{ "E", 1e18 },
	};
	char number[40];

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(text), u = strlen(units[i].suffix);

		if (n <= u || n - u >= sizeof(number) || !str_eq(text + n - u, units[i].suffix))
			continue;
		memcpy(number, text, n - u);
		number[n - u] = '\0';
		if (str_to_double(number, 0, 1e18, out, NULL) != BERTH_OK)
			return false;
		*out *= units[i].factor;
		return true;
	}
	return str_to_double(text, 0, 1e18, out, NULL) == BERTH_OK;
}

bool
kube_type_parse(const char *text, struct kube_type *out)
{
	const char *colon = strchr(text, ':'), *at = strchr(text, '@');
	char count[8];
	size_t n;

	if (colon == NULL || (at != NULL && at < colon) ||
	    (size_t)(colon - text) >= sizeof(out->resource))
		return false;
	memcpy(out->resource, text, (size_t)(colon - text));
	out->resource[colon - text] = '\0';
	n = at != NULL ? (size_t)(at - colon - 1) : strlen(colon + 1);
	if (n == 0 || n >= sizeof(count))
		return false;
	memcpy(count, colon + 1, n);
	count[n] = '\0';
	return str_to_i64(count, 1, 4096, &out->count, NULL) == BERTH_OK &&
	       str_copy(out->product, sizeof(out->product), at != NULL ? at + 1 : "");
}

static enum berth_code
kube_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct kube *s = st;
	const struct prov_conf *conf = env->conf;
	enum berth_code rc;

	s->env = env;
	s->pass = arena_new();
	s->region = prov_conf_str(conf, "region", "own");
	s->image = prov_conf_str(conf, "image", NULL);
	s->priority_class = prov_conf_str(conf, "priority_class", NULL);
	s->spot_priority_class = prov_conf_str(conf, "spot_priority_class", NULL);
	s->service_account = prov_conf_str(conf, "service_account", NULL);
	s->pull_secret = prov_conf_str(conf, "pull_secret", NULL);
	s->n_tolerations = prov_conf_strings(conf, "tolerations", &s->tolerations);
	s->n_resources = prov_conf_strings(conf, "resources", &s->resources);
	s->selector = prov_conf_node(conf, "node_selector");
	s->shapes = prov_conf_node(conf, "shapes");
	s->queue_wait_s = prov_conf_int(conf, "queue_wait", 120);
	s->time_limit_s = prov_conf_int(conf, "time_limit", 0);
	s->share = prov_conf_double(conf, "share", 0.9);
	if (!(s->share > 0 && s->share <= 1))
		return err_set(err, BERTH_EINVAL, "share must be above 0 and at most 1");
	if (s->selector != NULL &&
	    (rc = yaml_need_kind(s->selector, YAML_KIND_MAP, err)) != BERTH_OK)
		return rc;
	if (s->shapes != NULL && (rc = yaml_need_kind(s->shapes, YAML_KIND_LIST, err)) != BERTH_OK)
		return rc;
	rc = rates_read(prov_conf_node(conf, "prices"), prov_conf_node(conf, "accelerators"),
	    env->arena, &s->rates, err);
	return rc == BERTH_OK ? kube_access_read(s, err) : rc;
}

static void
kube_wipe(char **secret)
{
	if (*secret != NULL)
		explicit_bzero(*secret, strlen(*secret));
	free(*secret);
	*secret = NULL;
}

static void
kube_close(void *st)
{
	struct kube *s = st;

	kube_wipe(&s->access.token);
	kube_wipe(&s->access.key_pem);
	arena_free(s->pass);
}

static void
kube_wire(void *st, struct http_config *conf)
{
	const struct kube_access *c = &((const struct kube *)st)->access;

	if (conf->ca_file == NULL && c->ca_pem != NULL)
		conf->ca_pem = c->ca_pem;
	if (conf->proxy == NULL && c->proxy != NULL)
		conf->proxy = c->proxy;
	conf->cert_pem = c->cert_pem;
	conf->key_pem = c->key_pem;
}

static enum berth_code
kube_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	const struct kube_access *c = &((const struct kube *)st)->access;
	const char *token = c->token;
	struct buf b;
	enum berth_code rc = BERTH_OK;

	(void)now;
	buf_init(&b, 65536);
	if (c->token_file != NULL) {
		rc = fileio_read(c->token_file, &b, err);
		if (rc != BERTH_OK) /* no token is no credentials, whatever the file system says */
			rc = err != NULL ? (err->code = BERTH_EAUTH) : BERTH_EAUTH;
		while (b.len > 0 && str_is_space(b.p[b.len - 1]))
			b.p[--b.len] = '\0';
		token = b.len > 0 ? b.p : "";
	}
	if (rc == BERTH_OK && token != NULL)
		rc = http_req_set_header(
		    req, "Authorization", arena_printf(req->arena, "Bearer %s", token), true, err);
	buf_wipe(&b);
	return rc;
}

enum berth_code
kube_request(const struct kube *s, struct http_req *req, const char *method, const char *path,
    struct berth_err *err)
{
	req->method = method;
	http_req_url(req, "%s%s", s->access.server, path);
	return http_req_header(req, "Accept", "application/json", false, err);
}

/* {"kind": "Status", "reason", "message"}. A Job of that name is there already: the same token's,
 * so no refusal. */
static bool
kube_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *reason = "", *text = "";
	struct jsonr root;
	json_t *v = NULL;
	bool same;

	if (resp->status / 100 != 2 && wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		(void)!jsonr_str(&root, "reason", &reason, NULL);
		(void)!jsonr_str(&root, "message", &text, NULL);
	}
	str_copy(error_out->code, sizeof(error_out->code), reason);
	if (!str_copy(error_out->text, sizeof(error_out->text), text)) {
		memcpy(error_out->text, text, sizeof(error_out->text) - 1);
		error_out->text[sizeof(error_out->text) - 1] = '\0';
	}
	same = resp->status == 409 && str_eq(reason, "AlreadyExists");
	json_decref(v);
	return resp->status / 100 != 2 && !same;
}

enum berth_code
kube_refused(const struct http_resp *resp, struct berth_err *err)
{
	struct prov_error e;
	enum berth_code rc;

	if (!kube_error_read(resp, &e))
		return BERTH_OK;
	rc = prov_classify(&provider_kubernetes, resp, &e, false, NULL);
	err_set(
	    err, rc, "HTTP %d %s%s%s", resp->status, e.code, e.text[0] != '\0' ? ": " : "", e.text);
	if (err != NULL) {
		err->http_status = resp->status;
		err->retry_after_s = resp->retry_after_s;
	}
	return rc;
}

enum berth_code
kube_list_request(
    struct kube *s, struct http_req *req, const char *path, const char *next, struct berth_err *err)
{
	req->any_status = true; /* a token that has expired, a right that is missing */
	return kube_request(s, req, "GET",
	    arena_printf(req->arena, "%s%climit=500%s%s", path,
		strchr(path, '?') != NULL ? '&' : '?', next[0] != '\0' ? "&continue=" : "",
		http_urlencode(req->arena, next)),
	    err);
}

enum berth_code
kube_items(struct kube *s, const struct http_resp *resp, json_t **v, struct jsonr *root,
    struct jsonr *items, const char **continue_out, bool *restart_out, struct berth_err *err)
{
	struct jsonr meta;
	enum berth_code rc;

	*continue_out = "";
	*restart_out = false;
	if (resp->status == 410 && s->restarts < KUBE_RESTARTS) {
		s->restarts++;
		*restart_out = true;
		return BERTH_OK;
	}
	if ((rc = kube_refused(resp, err)) != BERTH_OK ||
	    (rc = wirejson_parse(resp, v, err)) != BERTH_OK)
		return rc;
	*root = jsonr_root(*v, "answer");
	meta = jsonr_get(root, "metadata");
	(void)!jsonr_str(&meta, "continue", continue_out, NULL);
	rc = jsonr_array(root, "items", items, err);
	if (rc == BERTH_OK && items->v == NULL && !json_is_null(json_object_get(root->v, "items")))
		rc = jsonr_err(root, BERTH_ETRANSIENT, err, "no items in the answer");
	return rc;
}

const struct prov_auth_ops kube_auth = { .sign = kube_sign };

const struct provider_ops provider_kubernetes = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_NOTICES | PROV_CAP_APART |
		PROV_CAP_LEASE | PROV_CAP_TOKEN | PROV_CAP_SPOT | PROV_CAP_FREE | PROV_CAP_OWN,
	.name = "kubernetes",
	.summary = "a Kubernetes cluster: machines are Jobs",
	.state_size = sizeof(struct kube),
	.keys = kube_keys,
	.errors = kube_errors,
	.error_read = kube_error_read,
	.open = kube_open,
	.close = kube_close,
	.wire = kube_wire,
	.auth = &kube_auth,
	.market = &kube_market,
	.lease = &kube_lease,
};
