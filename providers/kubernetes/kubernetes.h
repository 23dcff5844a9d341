/* providers/kubernetes/kubernetes.h - a Kubernetes cluster: free accelerators, machines as batch/v1
 * Jobs.  Floor: providers. */
#ifndef BERTH_PROVIDERS_KUBERNETES_H
#define BERTH_PROVIDERS_KUBERNETES_H

#include "providers/provider.h"
#include "providers/rates.h"
#include "util/json.h"
#include "util/strmap.h"
#include "util/vec.h"

extern const struct provider_ops provider_kubernetes;

/* This folder's own. */
#define KUBE_GRACE_S 30                 /* between a pod's end and its kill */
#define KUBE_LABEL "berth-installation" /* on Jobs and their pods */
#define KUBE_TOKEN "berth-token"        /* annotations: label values may not have every byte */
#define KUBE_TYPE "berth-type"
#define KUBE_RESTARTS 3 /* of one list whose continue token has expired */

/* How to reach the cluster, from a kubeconfig or from within a pod. */
struct kube_access {
	const char *server;
	const char *namespace;
	const char *token_file;                /* read anew for each call; NULL: token */
	char *token;                           /* wiped at close; NULL: none */
	const char *ca_pem, *cert_pem, *proxy; /* NULL: not said */
	char *key_pem;                         /* wiped at close */
};

/* One kind of accelerator on one node. */
struct kube_device {
	const char *resource;
	double count, used;
};

struct kube_node {
	const char *region, *zone, *product,
	    *instance; /* labels; product: what tells this accelerator from others; "" */
	bool usable, spot;
	double cpu, cpu_used, memory, memory_used; /* cores, bytes */
	double neuron_cores; /* of each Neuron device; 0: has none, or does not say */
	VEC(struct kube_device) devices;
};

/* A machine under assembly: its Job, then its pod, then perhaps the Job's events. */
struct kube_seen {
	struct prov_machine m;
	const char *uid, *node;
	bool has_pod, over;
};

struct kube {
	const struct prov_env *env;
	struct kube_access access;
	const char *region, *image, *priority_class, *spot_priority_class, *service_account,
	    *pull_secret;
	const char *const *tolerations, *const *resources;
	size_t n_tolerations, n_resources;
	const struct yaml_node *selector, *shapes;
	int64_t queue_wait_s, time_limit_s;
	double share; /* of a node's CPUs and memory that goes with its accelerators */
	struct rates rates;
	struct arena *pass; /* of one list */
	int restarts;
	enum { KUBE_NODES, KUBE_PODS, KUBE_JOBS, KUBE_JOB_PODS, KUBE_EVENTS, KUBE_TAINTS } asking;
	size_t asked;     /* number of seen whose events are asked for */
	bool pods_hidden; /* what is used is not ours to see */
	VEC(struct kube_node) nodes;
	struct strmap node_index;
	VEC(struct kube_seen) seen;
	struct strmap seen_index;
	bool more; /* a status is not whole yet */
};

/* Reads kubeconfig files or the pod's own service account. */
BERTH_MUST_CHECK enum berth_code kube_access_read(struct kube *s, struct berth_err *err);
/* "8" "95690m" "1176289Mi" "1e3" -> a number; false: it is none. */
bool kube_quantity(const char *text, double *out);
/* The resource of an accelerator, of whatever vendor. */
bool kube_is_device(const struct kube *s, const char *resource);
/* "nvidia.com/gpu:4@NVIDIA-L40S" in its parts; false: no instance type of ours. */
struct kube_type {
	char resource[64];
	int64_t count;
	char product[64];
};
bool kube_type_parse(const char *text, struct kube_type *out);
/* Label keys whose value names an accelerator, and those that say spot; both end with NULL. */
extern const char *const kube_product_labels[];
struct kube_spot {
	const char *key, *value;
};
extern const struct kube_spot kube_spot_labels[];

/* Starts a request; path and query are safe in a URL. */
BERTH_MUST_CHECK enum berth_code kube_request(const struct kube *s, struct http_req *req,
    const char *method, const char *path, struct berth_err *err);
/* One page of a list, from its continue token on. */
BERTH_MUST_CHECK enum berth_code kube_list_request(struct kube *s, struct http_req *req,
    const char *path, const char *next, struct berth_err *err);
/*
 * The items of a list's answer. *restart_out: its continue token has expired, begin anew. Refusals
 * come back as their code.
 */
BERTH_MUST_CHECK enum berth_code kube_items(struct kube *s, const struct http_resp *resp,
    json_t **v, struct jsonr *root, struct jsonr *items, const char **continue_out,
    bool *restart_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code kube_refused(const struct http_resp *resp, struct berth_err *err);
/* "n0 TOKEN" into cur->next: of what, after how many restarts, where on. */
BERTH_MUST_CHECK enum berth_code kube_next(const struct kube *s, struct prov_cursor *cur, char what,
    const char *token, struct berth_err *err);
/* Begins a list or a status anew. */
void kube_seen_reset(struct kube *s);

/* A string of an object; "" if there is none. */
const char *kube_text(const struct jsonr *o, const char *key);
/* The Job alone: who made it, and whether it is over. */
BERTH_MUST_CHECK enum berth_code kube_read_job(
    const struct jsonr *job, struct kube_seen *seen, struct arena *a, struct berth_err *err);
/* A pod of it: the state of the machine. */
BERTH_MUST_CHECK enum berth_code kube_read_pod(
    const struct kube *s, const struct jsonr *pod, struct kube_seen *seen, struct berth_err *err);
/* A pod whose Job is gone is on its way out, and holds its accelerators until it is: one more of
 * s->seen. */
BERTH_MUST_CHECK enum berth_code kube_read_orphan(
    struct kube *s, const struct jsonr *pod, const char *name, struct berth_err *err);
/* A Job that waits: its events may say why, or that its pod is not the first. */
bool kube_waits(const struct kube_seen *seen);
/*
 * A quota or another refusal of the pod, and how often one was made: after a preemption the Job
 * makes another, which is not the machine that was. Events of an earlier Job of that name have
 * another uid.
 */
void kube_read_events(const struct jsonr *items, struct kube_seen *seen);

/* Rights that machines need, for doctor. */
BERTH_MUST_CHECK enum berth_code kube_check_build(
    void *st, int n, struct http_req *req, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code kube_check_parse(void *st, const struct http_resp *resp, int n,
    struct prov_check *check_out, struct berth_err *err);

extern const struct prov_auth_ops kube_auth;
extern const struct prov_market_ops kube_market;
extern const struct prov_lease_ops kube_lease;
/* Lists of ours, for list and for notices. */
BERTH_MUST_CHECK enum berth_code kube_ours_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code kube_ours_parse(struct kube *s, const struct http_resp *resp,
    struct prov_cursor *cur, bool notices, prov_machine_fn *emit, void *arg, struct berth_err *err);
/* The body of a Job. */
void kube_job_body(const struct kube *s, const struct prov_create *c, const char *name,
    const struct kube_type *type, struct arena *a, struct jsonw *w);
/* The name of the Job of a token: "berth-" and the token, or its digest where that is too long for
 * a name. */
const char *kube_job_name(struct arena *a, const char *token);

#endif
