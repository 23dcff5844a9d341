#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "providers/kubernetes/kubernetes.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/yaml.h"

#define KUBE_NEURON "aws.amazon.com/neuron"
#define KUBE_NEURON_OLD "aws.amazon.com/neurondevice"
#define KUBE_NEURON_CORE "aws.amazon.com/neuroncore"
#define KUBE_PODS_QUERY                                                                            \
	"/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"

/* What can be asked for: so many of one resource and product in one place. */
struct kube_shape {
	const char *region, *zone, *resource, *product, *instance;
	int64_t count;
	double cpu, memory; /* least share of any node that can serve it */
	bool spot, free;
};

struct kube_shapes {
	struct kube *s;
	struct arena *a;
	VEC(struct kube_shape) v;
	struct strmap index;
};

static double
kube_amount(const struct jsonr *o, const char *key)
{
	struct jsonr v = jsonr_get(o, key);
	double out = 0;

	if (json_is_string(v.v))
		(void)!kube_quantity(json_string_value(v.v), &out);
	else if (json_is_number(v.v))
		out = json_number_value(v.v);
	return out > 0 ? out : 0;
}

/* Accelerators' own taints and those of spot are tolerated by every machine; others must be named.
 */
static bool
kube_tolerates(const struct kube *s, const char *key)
{
	for (const struct kube_spot *p = kube_spot_labels; p->key != NULL; p++)
		if (str_eq(p->key, key))
			return true;
	for (size_t i = 0; i < s->n_tolerations; i++)
		if (str_eq(s->tolerations[i], key))
			return true;
	return kube_is_device(s, key);
}

static bool
kube_usable(const struct kube *s, const struct jsonr *node, const struct jsonr *labels)
{
	struct jsonr spec = jsonr_get(node, "spec"), taints = jsonr_get(&spec, "taints"),
		     closed = jsonr_get(&spec, "unschedulable");
	struct jsonr status = jsonr_get(node, "status"),
		     conditions = jsonr_get(&status, "conditions");
	bool ready = false;

	for (size_t i = 0; i < jsonr_len(&conditions); i++) {
		struct jsonr c = jsonr_at(&conditions, i);

		ready |= str_eq(kube_text(&c, "type"), "Ready") &&
			 str_eq(kube_text(&c, "status"), "True");
	}
	for (size_t i = 0; i < jsonr_len(&taints); i++) {
		struct jsonr t = jsonr_at(&taints, i);

		if (!str_eq(kube_text(&t, "effect"), "PreferNoSchedule") &&
		    !kube_tolerates(s, kube_text(&t, "key")))
			return false;
	}
	for (size_t i = 0; s->selector != NULL && i < s->selector->n; i++)
		if (s->selector->items[i]->text == NULL ||
		    !str_eq(kube_text(labels, s->selector->keys[i]), s->selector->items[i]->text))
			return false;
	return ready && !json_is_true(closed.v);
}

/*
 * A Neuron device is told three times over: as itself, by an older name and by its cores. The first
 * that a node has counts.
 */
static void
kube_neuron(const struct jsonr *allocatable, struct kube_node *n)
{
	double devices = kube_amount(allocatable, KUBE_NEURON),
	       cores = kube_amount(allocatable, KUBE_NEURON_CORE);
	size_t kept = 0;

	for (size_t i = 0; i < n->devices.n; i++)
		if (devices < 1 || !str_eq(n->devices.v[i].resource, KUBE_NEURON_OLD))
			n->devices.v[kept++] = n->devices.v[i];
	n->devices.n = kept;
	devices = devices >= 1 ? devices : kube_amount(allocatable, KUBE_NEURON_OLD);
	n->neuron_cores = devices >= 1 ? cores / devices : 0;
}

static enum berth_code
kube_add_node(struct kube *s, const struct jsonr *o, struct berth_err *err)
{
	struct jsonr meta = jsonr_get(o, "metadata"), labels = jsonr_get(&meta, "labels"),
		     status = jsonr_get(o, "status");
	struct jsonr allocatable = jsonr_get(&status, "allocatable");
	const char *name = kube_text(&meta, "name"), *key;
	struct kube_node n = { .region = arena_strdup(
				   s->pass, kube_text(&labels, "topology.kubernetes.io/region")),
		.zone = arena_strdup(s->pass, kube_text(&labels, "topology.kubernetes.io/zone")),
		.product = "",
		.instance =
		    arena_strdup(s->pass, kube_text(&labels, "node.kubernetes.io/instance-type")) };
	json_t *v;

	if (name[0] == '\0' || !json_is_object(allocatable.v))
		return jsonr_err(o, BERTH_EINVAL, err, "a node without name or allocatable");
	if (n.region[0] == '\0')
		n.region = s->region;
	for (size_t i = 0; kube_product_labels[i] != NULL && n.product[0] == '\0'; i++)
		n.product = arena_strdup(s->pass, kube_text(&labels, kube_product_labels[i]));
	for (const struct kube_spot *p = kube_spot_labels; p->key != NULL; p++)
		n.spot |= str_eq(kube_text(&labels, p->key), p->value);
	n.usable = kube_usable(s, o, &labels);
	n.cpu = kube_amount(&allocatable, "cpu");
	n.memory = kube_amount(&allocatable, "memory");
	json_object_foreach((json_t *)(uintptr_t)allocatable.v, key,
	    v) if (kube_is_device(s, key) && kube_amount(&allocatable, key) >= 1) VEC_PUSH(s->pass,
	    &n.devices,
	    (struct kube_device){ arena_strdup(s->pass, key), kube_amount(&allocatable, key), 0 });
	kube_neuron(&allocatable, &n);
	strmap_add(s->pass, &s->node_index, name, s->nodes.n, NULL);
	VEC_PUSH(s->pass, &s->nodes, n);
	return BERTH_OK;
}

static double
kube_requested(const struct jsonr *container, const char *resource)
{
	struct jsonr resources = jsonr_get(container, "resources"),
		     requests = jsonr_get(&resources, "requests");
	struct jsonr limits = jsonr_get(&resources, "limits"),
		     said = jsonr_get(&requests, resource);

	return json_is_string(said.v) || json_is_number(said.v) ? kube_amount(&requests, resource)
								: kube_amount(&limits, resource);
}

/* What the scheduler counts for a pod: its containers together, or one init container if that wants
 * more; sidecars add. */
static double
kube_pod_wants(const struct jsonr *spec, const char *resource)
{
	struct jsonr containers = jsonr_get(spec, "containers"),
		     inits = jsonr_get(spec, "initContainers");
	struct jsonr overhead = jsonr_get(spec, "overhead");
	double sum = 0, most = 0, sidecars = 0;

	for (size_t i = 0; i < jsonr_len(&inits); i++) {
		struct jsonr c = jsonr_at(&inits, i);
		double want = kube_requested(&c, resource);

		if (str_eq(kube_text(&c, "restartPolicy"), "Always"))
			sidecars += want;
		else if (sidecars + want > most)
			most = sidecars + want;
	}
	for (size_t i = 0; i < jsonr_len(&containers); i++) {
		struct jsonr c = jsonr_at(&containers, i);

		sum += kube_requested(&c, resource);
	}
	sum += sidecars;
	return (sum > most ? sum : most) + kube_amount(&overhead, resource);
}

/* Devices of a resource that a pod takes, under whatever name it asks for them. */
static double
kube_pod_takes(const struct jsonr *spec, const struct kube_node *n, const char *resource)
{
	const bool neuron = str_eq(resource, KUBE_NEURON), old = str_eq(resource, KUBE_NEURON_OLD);
	double wants = kube_pod_wants(spec, resource);

	if (neuron)
		wants += kube_pod_wants(spec, KUBE_NEURON_OLD);
	if ((neuron || old) && n->neuron_cores >= 1)
		wants += ceil(kube_pod_wants(spec, KUBE_NEURON_CORE) / n->neuron_cores);
	return wants;
}

static void
kube_add_pod(struct kube *s, const struct jsonr *o)
{
	struct jsonr spec = jsonr_get(o, "spec"), status = jsonr_get(o, "status");
	const size_t *at = strmap_get(&s->node_index, kube_text(&spec, "nodeName"));
	const char *phase = kube_text(&status, "phase");
	struct kube_node *n;

	if (at == NULL || str_eq(phase, "Succeeded") || str_eq(phase, "Failed"))
		return;
	n = &s->nodes.v[*at];
	n->cpu_used += kube_pod_wants(&spec, "cpu");
	n->memory_used += kube_pod_wants(&spec, "memory");
	for (size_t i = 0; i < n->devices.n; i++)
		n->devices.v[i].used += kube_pod_takes(&spec, n, n->devices.v[i].resource);
}

static void
kube_add_shape(
    struct kube_shapes *f, const struct kube_node *n, const struct kube_device *d, int64_t count)
{
	double part = (double)count / d->count * f->s->share, cpu = n->cpu * part,
	       memory = n->memory * part;
	const char *key = arena_printf(f->a, "%s\n%s\n%s\n%s\n%d\n%lld", n->region, n->zone,
	    d->resource, n->product, n->spot, (long long)count);
	struct kube_shape *p;
	int added = 0;
	size_t *at = strmap_add(f->a, &f->index, key, f->v.n, &added);

	if (added)
		VEC_PUSH(f->a, &f->v,
		    (struct kube_shape){ n->region, n->zone, d->resource, n->product, n->instance,
			count, cpu, memory, n->spot, false });
	p = &f->v.v[*at];
	p->cpu = cpu < p->cpu ? cpu : p->cpu;
	p->memory = memory < p->memory ? memory : p->memory;
	p->free |= n->usable && d->count - d->used >= (double)count &&
		   n->cpu - n->cpu_used >= cpu && n->memory - n->memory_used >= memory;
}

/* The table's name of what a shape has: as the account says it, by label, by the cloud's instance
 * type, by resource. */
static const char *
kube_accelerator(const struct kube_shapes *f, const struct kube_shape *p)
{
	const struct kube *s = f->s;
	const char *words[] = { p->product, p->instance, p->resource }, *name = NULL,
		   *mig = strstr(p->resource, "/mig-");
	struct accel_ref ref;

	for (size_t i = 0; i < 3 && name == NULL; i++)
		name = words[i][0] != '\0' ? rates_accelerator(&s->rates, words[i]) : NULL;
	for (size_t i = 0; i < 3 && name == NULL && s->env->accels != NULL; i++)
		if (words[i][0] != '\0' && accel_resolve(s->env->accels, f->a, words[i], &ref) &&
		    ref.accel != NULL && ref.share == 1)
			name = ref.accel->name;
	if (name == NULL)
		name = p->product[0] != '\0' && !str_eq(p->product, p->instance) ? p->product
										 : p->resource;
	return mig != NULL ? arena_printf(f->a, "%s-MIG-%s", name, mig + 5) : name;
}

static double
kube_mig_gib(const char *resource)
{
	const char *dot =
	    strstr(resource, "/mig-") != NULL ? strchr(strstr(resource, "/mig-") + 5, '.') : NULL;
	char number[16];
	double gib = NAN;
	size_t n = dot != NULL ? strspn(dot + 1, "0123456789") : 0;

	if (n == 0 || n >= sizeof(number) || !str_starts(dot + 1 + n, "gb"))
		return NAN;
	memcpy(number, dot + 1, n);
	number[n] = '\0';
	return str_to_double(number, 1, 4096, &gib, NULL) == BERTH_OK ? gib : NAN;
}

static enum berth_code
kube_emit_shape(const struct kube_shapes *f, const struct kube_shape *p,
    enum availability available, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	const struct kube *s = f->s;
	struct offer o = {
		.provider = "kubernetes",
		.account = "",
		.region = p->region,
		.zone = p->zone,
		.instance_type = arena_printf(f->a, "%s:%lld%s%s", p->resource, (long long)p->count,
		    p->product[0] != '\0' ? "@" : "", p->product),
		.accelerator = kube_accelerator(f, p),
		.accelerator_count = (int)p->count,
		.accelerator_memory_gib = kube_mig_gib(p->resource),
		.vcpus = p->cpu > 0 ? floor(p->cpu * 1000) / 1000 : NAN,
		.memory_gib = p->memory > 0 ? floor(p->memory / 1048576) / 1024 : NAN,
		.purchase = p->spot ? PURCHASE_SPOT : PURCHASE_ON_DEMAND,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.currency = "USD",
		.available = available,
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = s->env->now,
		.source = "berth.yaml",
	};
	struct kube_type t;
	enum berth_code rc;

	if (!kube_type_parse(o.instance_type, &t))
		return BERTH_OK; /* a name that is longer than a machine's record holds */
	rates_price(&s->rates, p->product[0] != '\0' ? p->product : p->resource, &o);
	rc = emit(arg, &o, err);
	if (rc != BERTH_OK || p->spot || s->spot_priority_class == NULL)
		return rc;
	o.purchase = PURCHASE_SPOT;
	o.price = USD_UNKNOWN;
	rates_price(&s->rates, p->product[0] != '\0' ? p->product : p->resource, &o);
	return emit(arg, &o, err);
}

static enum berth_code
kube_emit_all(
    struct kube *s, struct arena *a, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct kube_shapes f = { .s = s, .a = a };
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < s->nodes.n; i++) {
		const struct kube_node *n = &s->nodes.v[i];

		for (size_t k = 0; k < n->devices.n; k++) {
			int64_t all = (int64_t)n->devices.v[k].count;

			for (int64_t c = 1; c < all; c *= 2)
				kube_add_shape(&f, n, &n->devices.v[k], c);
			if (all > 0 && all <= 4096)
				kube_add_shape(&f, n, &n->devices.v[k], all);
		}
	}
	for (size_t i = 0; rc == BERTH_OK && i < f.v.n; i++)
		rc = kube_emit_shape(&f, &f.v.v[i],
		    s->pods_hidden && f.v.v[i].free ? AVAIL_UNKNOWN
		    : f.v.v[i].free                 ? AVAIL_YES
						    : AVAIL_NO,
		    emit, arg, err);
	return rc;
}

/* What the account says there is, where nodes may not be listed. */
static enum berth_code
kube_said(struct kube *s, struct arena *a, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	static const char *const keys[] = { "resource", "count", "product", "region", "zone",
		"vcpus", "memory_gib", NULL };
	struct kube_shapes f = { .s = s, .a = a };

	for (size_t i = 0; i < s->shapes->n; i++) {
		const struct yaml_node *map = s->shapes->items[i];
		struct kube_shape p = { .region = s->region,
			.zone = "",
			.resource = "nvidia.com/gpu",
			.product = "",
			.instance = "",
			.count = 1 };
		double gib = 0;
		enum berth_code rc;

		if ((rc = yaml_need_kind(map, YAML_KIND_MAP, err)) != BERTH_OK ||
		    (rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
		    (rc = yaml_str(map, "resource", &p.resource, err)) != BERTH_OK ||
		    (rc = yaml_int(map, "count", 1, 4096, &p.count, err)) != BERTH_OK ||
		    (rc = yaml_str(map, "product", &p.product, err)) != BERTH_OK ||
		    (rc = yaml_str(map, "region", &p.region, err)) != BERTH_OK ||
		    (rc = yaml_str(map, "zone", &p.zone, err)) != BERTH_OK ||
		    (rc = yaml_double(map, "vcpus", 0, 1e5, &p.cpu, err)) != BERTH_OK ||
		    (rc = yaml_double(map, "memory_gib", 0, 1e6, &gib, err)) != BERTH_OK)
			return rc;
		p.memory = gib * 1073741824.0;
		if ((rc = kube_emit_shape(&f, &p, AVAIL_UNKNOWN, emit, arg, err)) != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

/* Nodes page by page ("n" + token), then the pods that use them ("p" + token). A restart counts up:
 * "n1", "n2" ... */
static enum berth_code
kube_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct kube *s = st;
	const bool pods = cur->next[0] == 'p';
	const char *token = strchr(cur->next, ' ');

	(void)q;
	if (cur->page == 0) {
		s->restarts = 0;
		s->pods_hidden = false;
	}
	s->asking = pods ? KUBE_PODS : KUBE_NODES;
	return kube_list_request(
	    s, req, pods ? KUBE_PODS_QUERY : "/api/v1/nodes", token != NULL ? token + 1 : "", err);
}

enum berth_code
kube_next(const struct kube *s, struct prov_cursor *cur, char what, const char *token,
    struct berth_err *err)
{
	int n = snprintf(cur->next, sizeof(cur->next), "%c%d %s", what, s->restarts, token);

	return n >= 0 && (size_t)n < sizeof(cur->next)
		   ? BERTH_OK
		   : err_set(err, BERTH_EINVAL, "the continue token is too long");
}

static enum berth_code
kube_offers_page(struct kube *s, const struct http_resp *resp, const struct jsonr *items,
    const char *token, struct prov_cursor *cur, prov_offer_fn *emit, void *arg,
    struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(items); i++) {
		struct jsonr o = jsonr_at(items, i);

		if (s->asking == KUBE_NODES)
			rc = kube_add_node(s, &o, err);
		else
			kube_add_pod(s, &o);
	}
	if (rc != BERTH_OK || token[0] != '\0')
		return rc == BERTH_OK
			   ? kube_next(s, cur, s->asking == KUBE_NODES ? 'n' : 'p', token, err)
			   : rc;
	if (s->asking == KUBE_NODES)
		return kube_next(s, cur, 'p', "", err);
	return kube_emit_all(s, resp->arena, emit, arg, err);
}

static enum berth_code
kube_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct kube *s = st;
	struct jsonr root, items;
	const char *token = "";
	bool restart = false;
	json_t *v = NULL;
	enum berth_code rc;

	if (cur->page == 0)
		kube_seen_reset(s);
	if (resp->status == 403 && s->asking == KUBE_NODES && s->shapes != NULL)
		return kube_said(s, resp->arena, emit, arg, err);
	if (resp->status == 403 &&
	    s->asking == KUBE_PODS) { /* nodes but no pods: what is free is not known */
		s->pods_hidden = true;
		return kube_emit_all(s, resp->arena, emit, arg, err);
	}
	rc = kube_items(s, resp, &v, &root, &items, &token, &restart, err);
	if (rc == BERTH_OK && restart) {
		kube_seen_reset(s);
		rc = kube_next(s, cur, 'n', "", err);
	} else if (rc == BERTH_OK)
		rc = kube_offers_page(s, resp, &items, token, cur, emit, arg, err);
	else if (rc == BERTH_EAUTH && resp->status == 403)
		err_ctx(err, "nodes may not be listed: name what there is by 'shapes'");
	json_decref(v);
	return rc;
}

static enum berth_code
kube_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct kube *s = st;

	(void)cur;
	return kube_request(s, req, "GET",
	    arena_printf(req->arena, "/api/v1/namespaces/%s/resourcequotas", s->access.namespace),
	    err);
}

static const char *
kube_unit(const struct kube *s, const char *key)
{
	if (str_starts(key, "requests.") && kube_is_device(s, key + strlen("requests.")))
		return "gpu";
	if (str_eq(key, "count/jobs.batch") || str_eq(key, "pods") || str_eq(key, "count/pods"))
		return "machine";
	return str_eq(key, "requests.cpu") || str_eq(key, "limits.cpu") || str_eq(key, "cpu")
		   ? "vcpu"
		   : NULL;
}

static enum berth_code
kube_quota_one(const struct kube *s, const struct jsonr *o, prov_quota_fn *emit, void *arg,
    struct berth_err *err)
{
	struct jsonr meta = jsonr_get(o, "metadata"), status = jsonr_get(o, "status"),
		     hard = jsonr_get(&status, "hard");
	struct jsonr used = jsonr_get(&status, "used");
	enum berth_code rc = BERTH_OK;
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)hard.v, key, v)
	{
		struct prov_quota q = { .purchase = PURCHASE_ON_DEMAND };
		const char *unit = kube_unit(s, key);

		if (unit == NULL)
			continue;
		q.limit = kube_amount(&hard, key);
		q.used = kube_amount(&used, key);
		str_copy(q.region, sizeof(q.region), s->region);
		str_copy(q.unit, sizeof(q.unit), unit);
		if (snprintf(q.name, sizeof(q.name), "%s %s", kube_text(&meta, "name"), key) >=
		    (int)sizeof(q.name))
			continue;
		if ((rc = emit(arg, &q, err)) != BERTH_OK)
			break;
	}
	return rc;
}

static enum berth_code
kube_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, items;
	const char *token = "";
	bool restart = false;
	json_t *v = NULL;
	enum berth_code rc = kube_items(st, resp, &v, &root, &items, &token, &restart, err);

	(void)cur;
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&items); i++) {
		struct jsonr o = jsonr_at(&items, i);

		rc = kube_quota_one(st, &o, emit, arg, err);
	}
	json_decref(v);
	return rc;
}

static enum berth_code
kube_notices_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	return kube_ours_parse(st, resp, cur, true, emit, arg, err);
}

const struct prov_market_ops kube_market = {
	.offers_build = kube_offers_build,
	.offers_parse = kube_offers_parse,
	.quota_build = kube_quota_build,
	.quota_parse = kube_quota_parse,
	.notices_build = kube_ours_build,
	.notices_parse = kube_notices_parse,
};
