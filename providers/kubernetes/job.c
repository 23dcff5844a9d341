#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/kubernetes/kubernetes.h"
#include "util/arena.h"
#include "util/hash.h"
#include "util/str.h"
#include "util/yaml.h"

#define KUBE_NAME_MAX 63
#define KUBE_TTL_S 3600 /* an ended Job is taken away by the cluster itself after this */

const char *
kube_job_name(struct arena *a, const char *token)
{
	const char *name = arena_printf(a, "berth-%s", token);
	char digest[HASH_SHA256_SIZE];

	if (strlen(name) <= KUBE_NAME_MAX && str_is_alnum(name[strlen(name) - 1]))
		return name;
	if (hash_sha256_hex(token, strlen(token), digest, NULL) != BERTH_OK)
		return name;
	return arena_printf(a, "berth-%.48s", digest);
}

static void
kube_toleration(struct jsonw *w, const char *key)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "key", key);
	jsonw_str(w, "operator", "Exists");
	jsonw_end_object(w);
}

static void
kube_tolerations(const struct kube *s, const struct kube_type *type, bool spot, struct jsonw *w)
{
	jsonw_begin_array(w, "tolerations");
	kube_toleration(w, type->resource);
	if (str_starts(type->resource, "nvidia.com/mig-"))
		kube_toleration(w, "nvidia.com/gpu");
	for (const struct kube_spot *p = kube_spot_labels; spot && p->key != NULL; p++)
		kube_toleration(w, p->key);
	for (size_t i = 0; i < s->n_tolerations; i++)
		kube_toleration(w, s->tolerations[i]);
	jsonw_end_array(w);
}

static void
kube_expression(struct jsonw *w, const char *key, const char *operator, const char * value)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "key", key);
	jsonw_str(w, "operator", operator);
	jsonw_begin_array(w, "values");
	jsonw_str(w, NULL, value);
	jsonw_end_array(w);
	jsonw_end_object(w);
}

/* One way for a node to be right: its product by this label (NULL: any), spot by that one (NULL:
 * not by one). */
static void
kube_term(const struct prov_create *c, const struct kube_type *type, const char *label,
    const struct kube_spot *spot, struct jsonw *w)
{
	jsonw_begin_object(w, NULL);
	jsonw_begin_array(w, "matchExpressions");
	if (label != NULL)
		kube_expression(w, label, "In", type->product);
	if (c->offer->zone[0] != '\0')
		kube_expression(w, "topology.kubernetes.io/zone", "In", c->offer->zone);
	if (spot != NULL)
		kube_expression(w, spot->key, "In", spot->value);
	for (const struct kube_spot *p = kube_spot_labels;
	     c->offer->purchase != PURCHASE_SPOT && p->key != NULL; p++)
		kube_expression(w, p->key, "NotIn", p->value);
	jsonw_end_array(w);
	jsonw_end_object(w);
}

/* The terms are alternatives: which label a cluster uses for a product is not known when a machine
 * is asked for. */
static void
kube_affinity(
    const struct prov_create *c, const struct kube_type *type, bool by_label, struct jsonw *w)
{
	static const char *const any[] = { NULL };
	const char *const *labels = type->product[0] != '\0' ? kube_product_labels : any;
	size_t n = 0;

	while (type->product[0] != '\0' && labels[n] != NULL)
		n++;
	jsonw_begin_object(w, "affinity");
	jsonw_begin_object(w, "nodeAffinity");
	jsonw_begin_object(w, "requiredDuringSchedulingIgnoredDuringExecution");
	jsonw_begin_array(w, "nodeSelectorTerms");
	for (size_t i = 0; i < (n > 0 ? n : 1); i++) {
		if (!by_label)
			kube_term(c, type, labels[i], NULL, w);
		for (const struct kube_spot *p = kube_spot_labels; by_label && p->key != NULL; p++)
			kube_term(c, type, labels[i], p, w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

static void
kube_container(const struct kube *s, const struct prov_create *c, const struct kube_type *type,
    struct arena *a, struct jsonw *w)
{
	jsonw_begin_array(w, "containers");
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", "main");
	jsonw_str(w, "image", c->image != NULL ? c->image : s->image);
	jsonw_begin_array(w, "command");
	jsonw_str(w, NULL, "sh");
	jsonw_str(w, NULL, "-c");
	jsonw_str(w, NULL,
	    c->user_data != NULL ? c->user_data
				 : "trap 'exit 143' TERM INT; sleep 2147483647 & wait");
	jsonw_end_array(w);
	jsonw_begin_object(w, "resources");
	jsonw_begin_object(w, "limits");
	jsonw_str(w, type->resource, arena_printf(a, "%lld", (long long)type->count));
	jsonw_end_object(w);
	jsonw_begin_object(w, "requests");
	jsonw_str(w, type->resource, arena_printf(a, "%lld", (long long)type->count));
	if (c->offer->vcpus > 0)
		jsonw_str(w, "cpu", arena_printf(a, "%lldm", (long long)(c->offer->vcpus * 1000)));
	if (c->offer->memory_gib > 0)
		jsonw_str(w, "memory",
		    arena_printf(a, "%lldMi", (long long)(c->offer->memory_gib * 1024)));
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_array(w);
}

static void
kube_pod_spec(const struct kube *s, const struct prov_create *c, const struct kube_type *type,
    struct arena *a, struct jsonw *w)
{
	/* spot by the node, or by a priority that gives way on any node */
	const bool spot = c->offer->purchase == PURCHASE_SPOT,
		   by_class = spot && s->spot_priority_class != NULL;
	const char *class = by_class ? s->spot_priority_class : s->priority_class;

	jsonw_begin_object(w, "spec");
	jsonw_str(w, "restartPolicy", "Never");
	jsonw_int(w, "terminationGracePeriodSeconds", KUBE_GRACE_S);
	if (class != NULL)
		jsonw_str(w, "priorityClassName", class);
	if (s->service_account != NULL)
		jsonw_str(w, "serviceAccountName", s->service_account);
	jsonw_bool(w, "automountServiceAccountToken", s->service_account != NULL);
	if (s->pull_secret != NULL) {
		jsonw_begin_array(w, "imagePullSecrets");
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", s->pull_secret);
		jsonw_end_object(w);
		jsonw_end_array(w);
	}
	if (s->selector != NULL && s->selector->n > 0) {
		jsonw_begin_object(w, "nodeSelector");
		for (size_t i = 0; i < s->selector->n; i++)
			jsonw_str(w, s->selector->keys[i], s->selector->items[i]->text);
		jsonw_end_object(w);
	}
	kube_affinity(c, type, spot && !by_class, w);
	kube_tolerations(s, type, spot, w);
	kube_container(s, c, type, a, w);
	jsonw_end_object(w);
}

/* On the Job and on its pod, which may outlive it for a while. */
static void
kube_marks(const struct kube *s, const struct prov_create *c, struct jsonw *w)
{
	jsonw_begin_object(w, "labels");
	jsonw_str(w, KUBE_LABEL, s->env->installation);
	jsonw_end_object(w);
	jsonw_begin_object(w, "annotations");
	jsonw_str(w, KUBE_TOKEN, c->token);
	jsonw_str(w, KUBE_TYPE, c->offer->instance_type);
	jsonw_str(w, "berth-purchase", purchase_name(c->offer->purchase));
	jsonw_str(w, "berth-region", c->offer->region);
	jsonw_str(w, "berth-zone", c->offer->zone);
	jsonw_end_object(w);
}

void
kube_job_body(const struct kube *s, const struct prov_create *c, const char *name,
    const struct kube_type *type, struct arena *a, struct jsonw *w)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "apiVersion", "batch/v1");
	jsonw_str(w, "kind", "Job");
	jsonw_begin_object(w, "metadata");
	jsonw_str(w, "name", name);
	kube_marks(s, c, w);
	jsonw_end_object(w);
	jsonw_begin_object(w, "spec");
	jsonw_int(w, "parallelism", 1);
	jsonw_int(w, "completions", 1);
	jsonw_int(w, "backoffLimit", 0);
	jsonw_int(w, "ttlSecondsAfterFinished", KUBE_TTL_S);
	if (s->time_limit_s > 0)
		jsonw_int(w, "activeDeadlineSeconds", s->time_limit_s);
	jsonw_begin_object(w, "template");
	jsonw_begin_object(w, "metadata");
	kube_marks(s, c, w);
	jsonw_end_object(w);
	kube_pod_spec(s, c, type, a, w);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
}
