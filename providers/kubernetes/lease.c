#include <stdio.h>
#include <string.h>

#include "providers/kubernetes/kubernetes.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/str.h"

#define KUBE_BODY_MAX 1048576
#define KUBE_YOUNG_S 30		/* a pod so much younger than its Job stands in for one that went */

static const char *
kube_text(const struct jsonr *o, const char *key)
{
	struct jsonr v = jsonr_get(o, key);

	return json_is_string(v.v) ? json_string_value(v.v) : "";
}

/* The condition of a type: its status, reason and message; false: there is none. */
struct kube_condition { const char *status, *reason, *message; };

static bool
kube_condition(const struct jsonr *status, const char *type, struct kube_condition *out)
{
	struct jsonr list = jsonr_get(status, "conditions");

	*out = (struct kube_condition){ "", "", "" };
	for (size_t i = 0; i < jsonr_len(&list); i++) {
		struct jsonr c = jsonr_at(&list, i);

		if (!str_eq(kube_text(&c, "type"), type))
			continue;
		*out = (struct kube_condition){ kube_text(&c, "status"), kube_text(&c, "reason"), kube_text(&c, "message") };
		return true;
	}
	return false;
}

static void
kube_fail(struct prov_machine *m, enum berth_code why, const char *what, const char *words)
{
	m->state = PROV_FAILED;
	m->why = why;
	snprintf(m->detail, sizeof(m->detail), "%s%s%s", what, words[0] != '\0' ? ": " : "", words);
}

/* What berth wrote on a Job or a pod. */
static enum berth_code
kube_read_marks(const struct jsonr *meta, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr labels = jsonr_get(meta, "labels"), notes = jsonr_get(meta, "annotations");
	enum berth_code rc;

	if ((rc = wirejson_field(&labels, KUBE_LABEL, m->installation, sizeof(m->installation), err)) != BERTH_OK ||
	    (rc = wirejson_field(&notes, KUBE_TOKEN, m->token, sizeof(m->token), err)) != BERTH_OK ||
	    (rc = wirejson_field(&notes, KUBE_TYPE, m->instance_type, sizeof(m->instance_type), err)) != BERTH_OK ||
	    (rc = wirejson_field(&notes, "berth-region", m->region, sizeof(m->region), err)) != BERTH_OK ||
	    (rc = wirejson_field(&notes, "berth-zone", m->zone, sizeof(m->zone), err)) != BERTH_OK)
		return rc;
	m->purchase = str_eq(kube_text(&notes, "berth-purchase"), "spot") ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	return jsonr_time(meta, "creationTimestamp", &m->created, err);
}

/* The Job alone. */
static enum berth_code
kube_read_job(const struct jsonr *job, struct kube_seen *seen, struct arena *a, struct berth_err *err)
{
	struct jsonr meta = jsonr_get(job, "metadata"), status = jsonr_get(job, "status");
	struct prov_machine *m = &seen->m;
	struct kube_condition c;
	enum berth_code rc;

	memset(seen, 0, sizeof(*seen));
	if ((rc = wirejson_field(&meta, "name", m->ref, sizeof(m->ref), err)) != BERTH_OK ||
	    (rc = kube_read_marks(&meta, m, err)) != BERTH_OK)
		return rc;
	if (m->ref[0] == '\0')
		return jsonr_err(job, BERTH_EINVAL, err, "a Job without name");
	seen->uid = arena_strdup(a, kube_text(&meta, "uid"));
	m->state = PROV_PENDING;
	str_copy(m->detail, sizeof(m->detail), "its pod is not made yet");
	if (kube_condition(&status, "Complete", &c) && str_eq(c.status, "True")) {
		m->state = PROV_GONE;
		str_copy(m->detail, sizeof(m->detail), "its command has ended");
		seen->over = true;
	} else if (kube_condition(&status, "Failed", &c) && str_eq(c.status, "True")) {
		m->state = PROV_GONE;
		snprintf(m->detail, sizeof(m->detail), "%s", c.reason);
	}
	if (kube_text(&meta, "deletionTimestamp")[0] != '\0') {
		m->state = PROV_ENDING;
		str_copy(m->detail, sizeof(m->detail), "deleted");
		seen->over = true;
	}
	return BERTH_OK;
}

/* The scheduler's words, and before them what they come to. */
static void
kube_no_room(const struct kube *s, struct prov_machine *m, int64_t since, const char *message)
{
	const char *what = "no node can take it";

	if (glob_match("*Insufficient *", message))
		what = "no node has that much free";
	else if (glob_match("*taint*", message))
		what = "nodes keep it away by taints";
	else if (glob_match("*selector*", message) || glob_match("*affinity*", message))
		what = "no node is of that kind";
	snprintf(m->detail, sizeof(m->detail), "%s: %s", what, message);
	if (s->env->now - since < s->queue_wait_s)
		return;
	m->state = PROV_FAILED;
	m->why = BERTH_ECAPACITY;
}

/* What a container waits for that no waiting will bring. */
static bool
kube_stuck(const struct jsonr *status, struct prov_machine *m)
{
	static const char *const reasons[] = { "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
		"ImageInspectError", "CreateContainerConfigError", "CreateContainerError", "RunContainerError" };
	struct jsonr list = jsonr_get(status, "containerStatuses"), one = jsonr_at(&list, 0), state = jsonr_get(&one, "state");
	struct jsonr waiting = jsonr_get(&state, "waiting");
	const char *reason = kube_text(&waiting, "reason");

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (str_eq(reason, reasons[i])) {
			kube_fail(m, BERTH_EPERMANENT, reason, kube_text(&waiting, "message"));
			return true;
		}
	if (reason[0] != '\0')
		str_copy(m->detail, sizeof(m->detail), reason);
	return false;
}

static void
kube_pod_pending(const struct kube *s, const struct jsonr *status, int64_t created, struct prov_machine *m)
{
	struct kube_condition c;

	m->state = PROV_PENDING;
	str_copy(m->detail, sizeof(m->detail), "Pending");
	if (kube_condition(status, "PodScheduled", &c) && str_eq(c.status, "False"))
		kube_no_room(s, m, created, c.message);
	else
		(void)kube_stuck(status, m);
}

static void
kube_pod_running(const struct jsonr *status, struct prov_machine *m)
{
	struct jsonr list = jsonr_get(status, "containerStatuses"), one = jsonr_at(&list, 0), state = jsonr_get(&one, "state");
	struct jsonr running = jsonr_get(&state, "running");
	struct kube_condition ready, containers;

	(void)!jsonr_time(&running, "startedAt", &m->ready_at, NULL);
	str_copy(m->address, sizeof(m->address), kube_text(status, "podIP"));
	str_copy(m->detail, sizeof(m->detail), "Running");
	if (kube_condition(status, "Ready", &ready) && str_eq(ready.status, "True"))
		m->state = PROV_READY;
	else if (kube_condition(status, "ContainersReady", &containers) && str_eq(containers.status, "True")) {
		kube_fail(m, BERTH_EFAIL, "its node does not answer", "");	/* the phase of such a pod stays Running */
		m->preempted = true;
	} else
		m->state = PROV_PENDING;
}

static void
kube_pod_failed(const struct jsonr *status, struct prov_machine *m)
{
	static const char *const refused[] = { "UnexpectedAdmissionError", "OutOf*", "NodeAffinity", "Topology*" };
	static const char *const taken[] = { "Preempt*", "Evicted", "Shutdown", "NodeShutdown", "Terminated", "NodeLost",
		"DeletionByTaintManager" };
	const char *reason = kube_text(status, "reason"), *message = kube_text(status, "message");
	struct kube_condition disrupted;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (glob_match(refused[i], reason)) {
			kube_fail(m, BERTH_ECAPACITY, reason, message);
			return;
		}
	m->preempted |= kube_condition(status, "DisruptionTarget", &disrupted) && str_eq(disrupted.status, "True");
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		m->preempted |= glob_match(taken[i], reason);
	m->state = PROV_GONE;
	snprintf(m->detail, sizeof(m->detail), "%s%s%s", m->preempted ? "preempted" : "its command has failed",
	    reason[0] != '\0' ? ": " : "", reason);
}

/* A pod that is being taken away although its Job is not: until when, or that its node is lost. */
static void
kube_pod_leaving(const struct kube *s, int64_t until, struct prov_machine *m)
{
	m->preempted = true;
	if ((m->state == PROV_READY || m->state == PROV_NOTICED) && until > s->env->now) {
		m->state = PROV_NOTICED;
		m->reclaim_at = until;
		m->notice_at = s->env->now;
		str_copy(m->detail, sizeof(m->detail), "its pod is ended by the cluster");
	} else
		kube_fail(m, BERTH_EFAIL, "its pod was ended by the cluster, or its node is lost", "");
}

static void
kube_replaced(struct prov_machine *m)
{
	m->preempted = true;
	kube_fail(m, BERTH_EFAIL, "preempted: its pod went, and another stands in for it", "");
}

static enum berth_code
kube_read_pod(const struct kube *s, const struct jsonr *pod, struct kube_seen *seen, struct berth_err *err)
{
	struct jsonr meta = jsonr_get(pod, "metadata"), status = jsonr_get(pod, "status");
	const char *phase = kube_text(&status, "phase");
	struct prov_machine *m = &seen->m;
	const bool second = seen->has_pod;
	int64_t created = m->created, until = 0;
	enum berth_code rc;

	if ((rc = jsonr_time(&meta, "creationTimestamp", &created, err)) != BERTH_OK ||
	    (rc = jsonr_time(&meta, "deletionTimestamp", &until, err)) != BERTH_OK)
		return rc;
	seen->has_pod = true;
	if (seen->over)
		return BERTH_OK;
	if (str_eq(phase, "Pending"))
		kube_pod_pending(s, &status, created, m);
	else if (str_eq(phase, "Running"))
		kube_pod_running(&status, m);
	else if (str_eq(phase, "Failed"))
		kube_pod_failed(&status, m);
	else if (str_eq(phase, "Succeeded")) {
		m->state = PROV_GONE;
		str_copy(m->detail, sizeof(m->detail), "its command has ended");
	}
	if (until != 0)
		kube_pod_leaving(s, until, m);
	else if (m->state == PROV_READY && (second || created > m->created + KUBE_YOUNG_S))
		kube_replaced(m);
	return BERTH_OK;
}

/* A pod whose Job is gone is on its way out, and holds its accelerators until it is. */
static enum berth_code
kube_read_orphan(struct kube *s, const struct jsonr *pod, const char *name, struct berth_err *err)
{
	struct jsonr meta = jsonr_get(pod, "metadata"), status = jsonr_get(pod, "status");
	struct kube_seen *seen;
	enum berth_code rc;

	if (str_eq(kube_text(&status, "phase"), "Succeeded") || str_eq(kube_text(&status, "phase"), "Failed"))
		return BERTH_OK;
	strmap_add(s->pass, &s->seen_index, name, s->seen.n, NULL);
	seen = VEC_ADD(s->pass, &s->seen);
	*seen = (struct kube_seen){ .uid = "", .has_pod = true, .over = true };
	rc = kube_read_marks(&meta, &seen->m, err);
	seen->m.state = PROV_ENDING;
	str_copy(seen->m.ref, sizeof(seen->m.ref), name);
	str_copy(seen->m.detail, sizeof(seen->m.detail), "its pod still ends");
	return rc;
}

/* A Job that waits: its events may say why, or that its pod is not the first. */
static bool
kube_waits(const struct kube_seen *seen)
{
	return !seen->over && (seen->m.state == PROV_PENDING || (seen->m.state == PROV_FAILED && seen->m.why == BERTH_ECAPACITY));
}

/*
 * A quota or another refusal of the pod, and how often one was made: after a preemption the Job makes another, which is
 * not the machine that was. Events of an earlier Job of that name have another uid.
 */
static void
kube_read_events(const struct jsonr *items, struct kube_seen *seen)
{
	int made = 0;

	for (size_t i = 0; i < jsonr_len(items); i++) {
		struct jsonr e = jsonr_at(items, i);
		const char *message = kube_text(&e, "message");

		made += str_eq(kube_text(&e, "reason"), "SuccessfulCreate");
		if (made > 1)
			kube_replaced(&seen->m);
		else if (!seen->has_pod && str_eq(kube_text(&e, "reason"), "FailedCreate"))
			kube_fail(&seen->m, glob_match("*exceeded quota*", message) ? BERTH_EQUOTA : BERTH_EPERMANENT,
			    glob_match("*exceeded quota*", message) ? "a quota of the namespace" : "its pod was refused", message);
	}
}

static const char *
kube_jobs_path(const struct kube *s, struct arena *a, const char *name)
{
	return arena_printf(a, "/apis/batch/v1/namespaces/%s/jobs%s%s", s->access.namespace, name[0] != '\0' ? "/" : "",
	    http_urlencode(a, name));
}

static bool
kube_is_label(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= 63 && str_is_alnum(s[0]) && str_is_alnum(s[n - 1]) &&
	    strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == n;
}

static enum berth_code
kube_create_build(void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct kube *s = st;
	struct kube_type type;
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	if (c->image == NULL && s->image == NULL)
		return err_set(err, BERTH_EPERMANENT, "the account needs 'image' in berth.yaml: the container image of a machine");
	if (!kube_type_parse(c->offer->instance_type, &type))
		return err_set(err, BERTH_EPERMANENT, "'%s' is no instance type of a cluster", c->offer->instance_type);
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
kube_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c, struct prov_machine *machine_out,
    struct berth_err *err)
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
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type), c->offer->instance_type);
	return rc;
}

static const char *
kube_pods_path(const struct kube *s, struct arena *a, const char *label, const char *value)
{
	return arena_printf(a, "/api/v1/namespaces/%s/pods?labelSelector=%s%%3D%s", s->access.namespace, label,
	    http_urlencode(a, value));
}

static const char *
kube_events_path(const struct kube *s, struct arena *a, const char *uid)
{
	return arena_printf(a, "/api/v1/namespaces/%s/events?fieldSelector=involvedObject.uid%%3D%s", s->access.namespace,
	    http_urlencode(a, uid));
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
		return kube_request(s, req, "GET", kube_pods_path(s, req->arena, "job-name", ref), err);
	if (s->asking == KUBE_EVENTS) {
		req->any_status = true;		/* a right that an account may lack */
		return kube_request(s, req, "GET", kube_events_path(s, req->arena, s->seen.v[0].uid), err);
	}
	req->any_status = true;			/* where the Job is gone its pod may not be */
	return kube_request(s, req, "GET", kube_jobs_path(s, req->arena, ref), err);
}

static enum berth_code
kube_status_job(struct kube *s, const struct http_resp *resp, const struct jsonr *root, struct berth_err *err)
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

		rc = s->seen.n > 0 ? kube_read_pod(s, &pod, &s->seen.v[0], err) : kube_read_orphan(s, &pod, ref, err);
	}
	if (rc == BERTH_OK && s->seen.n == 0)
		return err_set(err, BERTH_ENOTFOUND, "there is no such Job, and no pod of it");
	s->more = rc == BERTH_OK && kube_waits(&s->seen.v[0]);
	s->asking = KUBE_EVENTS;
	return rc;
}

static enum berth_code
kube_status_parse(void *st, const struct http_resp *resp, const char *ref, struct prov_machine *machine_out,
    struct berth_err *err)
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

	return kube_request(s, req, "DELETE", arena_printf(req->arena, "%s?propagationPolicy=Background",
	    kube_jobs_path(s, req->arena, ref)), err);
}

static enum berth_code
kube_destroy_parse(void *st, const struct http_resp *resp, const char *ref, struct prov_machine *machine_out,
    struct berth_err *err)
{
	(void)st, (void)resp, (void)err;
	memset(machine_out, 0, sizeof(*machine_out));
	str_copy(machine_out->ref, sizeof(machine_out->ref), ref);
	machine_out->state = PROV_ENDING;
	return BERTH_OK;
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

/* Jobs of ours page by page ("j"), their pods ("q"), and the events of each that has none ("e" + number). */
enum berth_code
kube_ours_build(void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct kube *s = st;
	struct arena *a = req->arena;
	const char *token = strchr(cur->next, ' ');
	int64_t i = 0;

	if (cur->page == 0) {
		kube_seen_reset(s);
		s->restarts = 0;
	}
	s->asking = cur->next[0] == 'q' ? KUBE_JOB_PODS : cur->next[0] == 'e' ? KUBE_EVENTS : KUBE_JOBS;
	token = token != NULL ? token + 1 : "";
	if (s->asking == KUBE_EVENTS && str_to_i64(cur->next + 1, 0, (int64_t)s->seen.n - 1, &i, NULL) == BERTH_OK) {
		s->asked = (size_t)i;
		req->any_status = true;
		return kube_request(s, req, "GET", kube_events_path(s, a, s->seen.v[i].uid), err);
	}
	if (s->asking == KUBE_JOB_PODS)
		return kube_list_request(s, req, kube_pods_path(s, a, KUBE_LABEL, s->env->installation), token, err);
	return kube_list_request(s, req, arena_printf(a, "%s?labelSelector=" KUBE_LABEL "%%3D%s", kube_jobs_path(s, a, ""),
	    http_urlencode(a, s->env->installation)), token, err);
}

static enum berth_code
kube_emit_ours(struct kube *s, bool notices, prov_machine_fn *emit, void *arg, struct berth_err *err)
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
kube_podless(struct kube *s, size_t i, struct prov_cursor *cur, bool notices, prov_machine_fn *emit, void *arg,
    struct berth_err *err)
{
	for (; i < s->seen.n; i++)
		if (kube_waits(&s->seen.v[i])) {
			snprintf(cur->next, sizeof(cur->next), "e%zu", i);
			return BERTH_OK;
		}
	return kube_emit_ours(s, notices, emit, arg, err);
}

static enum berth_code
kube_ours_items(struct kube *s, const struct jsonr *items, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(items); i++) {
		struct jsonr o = jsonr_at(items, i), meta = jsonr_get(&o, "metadata"), labels = jsonr_get(&meta, "labels");
		const size_t *at;
		struct kube_seen seen;

		if (s->asking == KUBE_JOBS) {
			rc = kube_read_job(&o, &seen, s->pass, err);
			if (rc == BERTH_OK) {
				strmap_add(s->pass, &s->seen_index, seen.m.ref, s->seen.n, NULL);
				VEC_PUSH(s->pass, &s->seen, seen);
			}
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
kube_ours_parse(struct kube *s, const struct http_resp *resp, struct prov_cursor *cur, bool notices, prov_machine_fn *emit,
    void *arg, struct berth_err *err)
{
	struct jsonr root, items;
	const char *token = "";
	bool restart = false;
	json_t *v = NULL;
	enum berth_code rc;

	if (s->asking == KUBE_EVENTS && (resp->status == 403 || resp->status == 404))	/* a right that an account may lack */
		return kube_podless(s, s->asked + 1, cur, notices, emit, arg, err);
	rc = kube_items(s, resp, &v, &root, &items, &token, &restart, err);
	if (rc == BERTH_OK && restart) {
		kube_seen_reset(s);
		rc = kube_next(s, cur, 'j', "", err);
	} else if (rc == BERTH_OK && s->asking == KUBE_EVENTS) {
		kube_read_events(&items, &s->seen.v[s->asked]);
		rc = kube_podless(s, s->asked + 1, cur, notices, emit, arg, err);
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
kube_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur, prov_machine_fn *emit, void *arg,
    struct berth_err *err)
{
	return kube_ours_parse(st, resp, cur, false, emit, arg, err);
}

const struct prov_lease_ops kube_lease = {
	.create_build = kube_create_build, .create_parse = kube_create_parse,
	.status_build = kube_status_build, .status_parse = kube_status_parse, .more = kube_more,
	.destroy_build = kube_destroy_build, .destroy_parse = kube_destroy_parse,
	.list_build = kube_ours_build, .list_parse = kube_list_parse,
};
