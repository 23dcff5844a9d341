#include <stdio.h>
#include <string.h>

#include "providers/kubernetes/kubernetes.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/str.h"

#define KUBE_BODY_MAX 1048576

static const char *
kube_jobs_path(const struct kube *s, struct arena *a, const char *name)
{
	return arena_printf(a, "/apis/batch/v1/namespaces/%s/jobs%s%s", s->access.namespace,
	    name[0] != '\0' ? "/" : "", http_urlencode(a, name));
}

static bool
kube_is_label(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= 63 && str_is_alnum(s[0]) && str_is_alnum(s[n - 1]) &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == n;
}

static enum berth_code
kube_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct kube *s = st;
	struct kube_type type;
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	if (c->image == NULL && s->image == NULL)
		return err_set(err, BERTH_EPERMANENT,
		    "the account needs 'image' in berth.yaml: the container image of a machine");
	if (!kube_type_parse(c->offer->instance_type, &type))
		return err_set(err, BERTH_EPERMANENT, "'%s' is no instance type of a cluster",
		    c->offer->instance_type);
	if (!kube_is_label(s->env->installation))
		return err_set(err, BERTH_EPERMANENT, "the installation id is no label value");
	buf_init(&b, KUBE_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	kube_job_body(s, c, kube_job_name(req->arena, c->token), &type, req->arena, &w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = kube_request(s, req, "POST", kube_jobs_path(s, req->arena, ""), err);
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b.p, b.len, err);
	buf_free(&b);
	return rc;
}

/* 201 with the Job, or 409 where the same token has made it before. */
static enum berth_code
kube_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const struct kube *s = st;
	const char *name = kube_job_name(resp->arena, c->token);
	struct jsonr root, meta;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	meta = jsonr_get(&root, "metadata");
	if (resp->status != 409 && !str_eq(kube_text(&meta, "name"), name))
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "the answer names no Job '%s'", name);
	json_decref(v);
	str_copy(machine_out->ref, sizeof(machine_out->ref), rc == BERTH_OK ? name : "");
	machine_out->state = PROV_PENDING;
	machine_out->purchase = c->offer->purchase;
	machine_out->created = s->env->now;
	str_copy(machine_out->region, sizeof(machine_out->region), c->offer->region);
	str_copy(machine_out->zone, sizeof(machine_out->zone), c->offer->zone);
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type),
	    c->offer->instance_type);
	return rc;
}

static const char *
kube_pods_path(const struct kube *s, struct arena *a, const char *label, const char *value)
{
	return arena_printf(a, "/api/v1/namespaces/%s/pods?labelSelector=%s%%3D%s",
	    s->access.namespace, label, http_urlencode(a, value));
}

static const char *
kube_events_path(const struct kube *s, struct arena *a, const char *uid)
{
	return arena_printf(a,
	    "/api/v1/namespaces/%s/events?fieldSelector=involvedObject.uid%%3D%s",
	    s->access.namespace, http_urlencode(a, uid));
}

/* A status is the Job, then its pod, and where it has none the Job's events. */
static bool
kube_more(void *st, bool begin)
{
	struct kube *s = st;

	if (begin) {
		kube_seen_reset(s);
		s->asking = KUBE_JOBS;
		s->more = false;
	}
	return s->more;
}

static enum berth_code
kube_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	struct kube *s = st;

	if (s->asking == KUBE_JOB_PODS)
		return kube_request(
		    s, req, "GET", kube_pods_path(s, req->arena, "job-name", ref), err);
	if (s->asking == KUBE_EVENTS) {
		req->any_status = true; /* a right that an account may lack */
		return kube_request(
		    s, req, "GET", kube_events_path(s, req->arena, s->seen.v[0].uid), err);
	}
	req->any_status = true; /* where the Job is gone its pod may not be */
	return kube_request(s, req, "GET", kube_jobs_path(s, req->arena, ref), err);
}

static enum berth_code
kube_status_job(
    struct kube *s, const struct http_resp *resp, const struct jsonr *root, struct berth_err *err)
{
	struct kube_seen *seen;
	enum berth_code rc = kube_refused(resp, err);

	s->asking = KUBE_JOB_PODS;
	if (rc == BERTH_ENOTFOUND) {
		s->more = true;
		return BERTH_OK;
	}
	if (rc != BERTH_OK)
		return rc;
	seen = VEC_ADD(s->pass, &s->seen);
	rc = kube_read_job(root, seen, s->pass, err);
	s->more = rc == BERTH_OK && !seen->over;
	return rc;
}

static enum berth_code
kube_status_pods(struct kube *s, const struct jsonr *root, const char *ref, struct berth_err *err)
{
	struct jsonr items;
	enum berth_code rc = jsonr_array(root, "items", &items, err);

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&items); i++) {
		struct jsonr pod = jsonr_at(&items, i);

		rc = s->seen.n > 0 ? kube_read_pod(s, &pod, &s->seen.v[0], err)
				   : kube_read_orphan(s, &pod, ref, err);
	}
	if (rc == BERTH_OK && s->seen.n == 0)
		return err_set(err, BERTH_ENOTFOUND, "there is no such Job, and no pod of it");
	s->more = rc == BERTH_OK && kube_waits(&s->seen.v[0]);
	s->asking = KUBE_EVENTS;
	return rc;
}

static enum berth_code
kube_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct kube *s = st;
	struct jsonr root, items;
	json_t *v = NULL;
	enum berth_code rc = BERTH_OK;

	s->more = false;
	if (resp->status / 100 == 2)
		rc = wirejson_parse(resp, &v, err);
	root = jsonr_root(v, "answer");
	if (rc == BERTH_OK && s->asking == KUBE_JOBS)
		rc = kube_status_job(s, resp, &root, err);
	else if (rc == BERTH_OK && s->asking == KUBE_JOB_PODS)
		rc = kube_status_pods(s, &root, ref, err);
	else if (rc == BERTH_OK && jsonr_array(&root, "items", &items, NULL) == BERTH_OK)
		kube_read_events(&items, &s->seen.v[0]);
	json_decref(v);
	if (rc == BERTH_OK && s->seen.n > 0)
		*machine_out = s->seen.v[0].m;
	return rc;
}

/* Without a policy the pods would go on, on their GPUs, without an owner. */
static enum berth_code
kube_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	const struct kube *s = st;

	return kube_request(s, req, "DELETE",
	    arena_printf(
		req->arena, "%s?propagationPolicy=Background", kube_jobs_path(s, req->arena, ref)),
	    err);
}

void
kube_seen_reset(struct kube *s)
{
	arena_reset(s->pass);
	memset(&s->nodes, 0, sizeof(s->nodes));
	memset(&s->node_index, 0, sizeof(s->node_index));
	memset(&s->seen, 0, sizeof(s->seen));
	memset(&s->seen_index, 0, sizeof(s->seen_index));
}

/*
 * Jobs of ours page by page ("j"), their pods ("q"), the events of each that waits ("e" + number),
 * for notices nodes ("t").
 */
enum berth_code
kube_ours_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct kube *s = st;
	struct arena *a = req->arena;
	const char *token = strchr(cur->next, ' ');
	int64_t i = 0;

	if (cur->page == 0) {
		kube_seen_reset(s);
		s->restarts = 0;
	}
	s->asking = cur->next[0] == 'q'   ? KUBE_JOB_PODS
		    : cur->next[0] == 'e' ? KUBE_EVENTS
		    : cur->next[0] == 't' ? KUBE_TAINTS
					  : KUBE_JOBS;
	token = token != NULL ? token + 1 : "";
	if (s->asking == KUBE_TAINTS)
		return kube_list_request(s, req, "/api/v1/nodes", token, err);
	if (s->asking == KUBE_EVENTS &&
	    str_to_i64(cur->next + 1, 0, (int64_t)s->seen.n - 1, &i, NULL) == BERTH_OK) {
		s->asked = (size_t)i;
		req->any_status = true;
		return kube_request(s, req, "GET", kube_events_path(s, a, s->seen.v[i].uid), err);
	}
	if (s->asking == KUBE_JOB_PODS)
		return kube_list_request(
		    s, req, kube_pods_path(s, a, KUBE_LABEL, s->env->installation), token, err);
	return kube_list_request(s, req,
	    arena_printf(a, "%s?labelSelector=" KUBE_LABEL "%%3D%s", kube_jobs_path(s, a, ""),
		http_urlencode(a, s->env->installation)),
	    token, err);
}

/* Taints by which clouds and autoscalers say that a node is going. */
static bool
kube_is_going(const char *key)
{
	static const char *const keys[] = { "karpenter.sh/disrupted", "karpenter.sh/disruption",
		"aws-node-termination-handler/*", "cloud.google.com/impending-node-termination",
		"ToBeDeletedByClusterAutoscaler", "node.kubernetes.io/out-of-service",
		"node.cloudprovider.kubernetes.io/shutdown", "remediation.kubernetes.azure.com/*" };

	return glob_match_any(keys, sizeof(keys) / sizeof(keys[0]), key);
}

static void
kube_read_taints(struct kube *s, const struct jsonr *items)
{
	for (size_t i = 0; i < jsonr_len(items); i++) {
		struct jsonr o = jsonr_at(items, i), meta = jsonr_get(&o, "metadata"),
			     spec = jsonr_get(&o, "spec");
		struct jsonr taints = jsonr_get(&spec, "taints");
		const char *going = NULL, *name = kube_text(&meta, "name");

		for (size_t k = 0; k < jsonr_len(&taints); k++) {
			struct jsonr t = jsonr_at(&taints, k);

			if (kube_is_going(kube_text(&t, "key")))
				going = kube_text(&t, "key");
		}
		for (size_t k = 0; going != NULL && k < s->seen.n; k++) {
			struct prov_machine *m = &s->seen.v[k].m;

			if (m->state != PROV_READY || s->seen.v[k].node == NULL ||
			    !str_eq(s->seen.v[k].node, name))
				continue;
			m->state = PROV_NOTICED;
			m->preempted = true;
			m->notice_at = s->env->now;
			m->reclaim_at = s->env->now +
					KUBE_GRACE_S; /* not said: what our pods get at the least */
			snprintf(m->detail, sizeof(m->detail), "its node is going: %s", going);
		}
	}
}

static enum berth_code
kube_emit_ours(
    struct kube *s, bool notices, prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < s->seen.n; i++) {
		const struct prov_machine *m = &s->seen.v[i].m;

		if (!notices || m->state == PROV_NOTICED || (m->preempted && m->state != PROV_GONE))
			rc = emit(arg, m, err);
	}
	return rc;
}

/* The next Job from i on that waits, for its events; all of them once each is answered. */
static enum berth_code
kube_podless(struct kube *s, size_t i, struct prov_cursor *cur, bool notices, prov_machine_fn *emit,
    void *arg, struct berth_err *err)
{
	for (; i < s->seen.n; i++)
		if (kube_waits(&s->seen.v[i])) {
			snprintf(cur->next, sizeof(cur->next), "e%zu", i);
			return BERTH_OK;
		}
	if (notices && s->seen.n > 0)
		return kube_next(s, cur, 't', "", err);
	return kube_emit_ours(s, notices, emit, arg, err);
}

static enum berth_code
kube_ours_items(struct kube *s, const struct jsonr *items, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(items); i++) {
		struct jsonr o = jsonr_at(items, i), meta = jsonr_get(&o, "metadata"),
			     labels = jsonr_get(&meta, "labels");
		const size_t *at;
		struct kube_seen seen;

		if (s->asking == KUBE_JOBS) {
			int added = 0;

			rc = kube_read_job(&o, &seen, s->pass, err);
			if (rc == BERTH_OK)
				strmap_add(s->pass, &s->seen_index, seen.m.ref, s->seen.n, &added);
			if (added) /* a name is one Job's; a waiting one is a question of its own */
				VEC_PUSH(s->pass, &s->seen, seen);
			continue;
		}
		at = strmap_get(&s->seen_index, kube_text(&labels, "job-name"));
		if (at != NULL)
			rc = kube_read_pod(s, &o, &s->seen.v[*at], err);
		else if (kube_text(&labels, "job-name")[0] != '\0')
			rc = kube_read_orphan(s, &o, kube_text(&labels, "job-name"), err);
	}
	return rc;
}

enum berth_code
kube_ours_parse(struct kube *s, const struct http_resp *resp, struct prov_cursor *cur, bool notices,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, items;
	const char *token = "";
	bool restart = false;
	json_t *v = NULL;
	enum berth_code rc;

	if (s->asking == KUBE_EVENTS &&
	    (resp->status == 403 || resp->status == 404)) /* a right that an account may lack */
		return kube_podless(s, s->asked + 1, cur, notices, emit, arg, err);
	if (s->asking == KUBE_TAINTS && resp->status == 403)
		return kube_emit_ours(s, notices, emit, arg, err);
	rc = kube_items(s, resp, &v, &root, &items, &token, &restart, err);
	if (rc == BERTH_OK && restart) {
		kube_seen_reset(s);
		rc = kube_next(s, cur, 'j', "", err);
	} else if (rc == BERTH_OK && s->asking == KUBE_EVENTS) {
		kube_read_events(&items, &s->seen.v[s->asked]);
		rc = kube_podless(s, s->asked + 1, cur, notices, emit, arg, err);
	} else if (rc == BERTH_OK && s->asking == KUBE_TAINTS) {
		kube_read_taints(s, &items);
		rc = token[0] != '\0' ? kube_next(s, cur, 't', token, err)
				      : kube_emit_ours(s, notices, emit, arg, err);
	} else if (rc == BERTH_OK) {
		rc = kube_ours_items(s, &items, err);
		if (rc == BERTH_OK && token[0] != '\0')
			rc = kube_next(s, cur, s->asking == KUBE_JOBS ? 'j' : 'q', token, err);
		else if (rc == BERTH_OK && s->asking == KUBE_JOBS)
			rc = kube_next(s, cur, 'q', "", err);
		else if (rc == BERTH_OK)
			rc = kube_podless(s, 0, cur, notices, emit, arg, err);
	}
	json_decref(v);
	return rc;
}

static enum berth_code
kube_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	return kube_ours_parse(st, resp, cur, false, emit, arg, err);
}

const struct prov_lease_ops kube_lease = {
	.create_build = kube_create_build,
	.create_parse = kube_create_parse,
	.status_build = kube_status_build,
	.status_parse = kube_status_parse,
	.more = kube_more,
	.destroy_build = kube_destroy_build,
	.destroy_parse = lease_destroy_parse,
	.list_build = kube_ours_build,
	.list_parse = kube_list_parse,
	.check_build = kube_check_build,
	.check_parse = kube_check_parse,
};
