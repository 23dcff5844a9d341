#include <stdio.h>
#include <string.h>

#include "providers/kubernetes/kubernetes.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"

#define KUBE_YOUNG_S 30 /* a pod so much younger than its Job stands in for one that went */

const char *
kube_text(const struct jsonr *o, const char *key)
{
	struct jsonr v = jsonr_get(o, key);

	return json_is_string(v.v) ? json_string_value(v.v) : "";
}

/* The condition of a type: its status, reason and message; false: there is none. */
struct kube_condition {
	const char *status, *reason, *message;
};

static bool
kube_condition(const struct jsonr *status, const char *type, struct kube_condition *out)
{
	struct jsonr list = jsonr_get(status, "conditions");

	*out = (struct kube_condition){ "", "", "" };
	for (size_t i = 0; i < jsonr_len(&list); i++) {
		struct jsonr c = jsonr_at(&list, i);

		if (!str_eq(kube_text(&c, "type"), type))
			continue;
		*out = (struct kube_condition){ kube_text(&c, "status"), kube_text(&c, "reason"),
			kube_text(&c, "message") };
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

	if ((rc = wirejson_field(
		 &labels, KUBE_LABEL, m->installation, sizeof(m->installation), err)) != BERTH_OK ||
	    (rc = wirejson_field(&notes, KUBE_TOKEN, m->token, sizeof(m->token), err)) !=
		BERTH_OK ||
	    (rc = wirejson_field(
		 &notes, KUBE_TYPE, m->instance_type, sizeof(m->instance_type), err)) != BERTH_OK ||
	    (rc = wirejson_field(&notes, "berth-region", m->region, sizeof(m->region), err)) !=
		BERTH_OK ||
	    (rc = wirejson_field(&notes, "berth-zone", m->zone, sizeof(m->zone), err)) != BERTH_OK)
		return rc;
	m->purchase = str_eq(kube_text(&notes, "berth-purchase"), "spot") ? PURCHASE_SPOT
									  : PURCHASE_ON_DEMAND;
	return jsonr_time(meta, "creationTimestamp", &m->created, err);
}

enum berth_code
kube_read_job(
    const struct jsonr *job, struct kube_seen *seen, struct arena *a, struct berth_err *err)
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
	static const char *const reasons[] = { "ErrImagePull", "ImagePullBackOff",
		"InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
		"CreateContainerConfigError", "CreateContainerError", "RunContainerError" };
	struct jsonr list = jsonr_get(status, "containerStatuses"), one = jsonr_at(&list, 0),
		     state = jsonr_get(&one, "state");
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
kube_pod_pending(
    const struct kube *s, const struct jsonr *status, int64_t created, struct prov_machine *m)
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
	struct jsonr list = jsonr_get(status, "containerStatuses"), one = jsonr_at(&list, 0),
		     state = jsonr_get(&one, "state");
	struct jsonr running = jsonr_get(&state, "running");
	struct kube_condition ready, containers;

	(void)!jsonr_time(&running, "startedAt", &m->ready_at, NULL);
	str_copy(m->address, sizeof(m->address), kube_text(status, "podIP"));
	str_copy(m->detail, sizeof(m->detail), "Running");
	if (kube_condition(status, "Ready", &ready) && str_eq(ready.status, "True"))
		m->state = PROV_READY;
	else if (kube_condition(status, "ContainersReady", &containers) &&
		 str_eq(containers.status, "True")) {
		kube_fail(m, BERTH_EFAIL, "its node does not answer",
		    ""); /* the phase of such a pod stays Running */
		m->preempted = true;
	} else
		m->state = PROV_PENDING;
}

static void
kube_pod_failed(const struct jsonr *status, struct prov_machine *m)
{
	static const char *const refused[] = { "UnexpectedAdmissionError", "OutOf*", "NodeAffinity",
		"Topology*" };
	static const char *const taken[] = { "Preempt*", "Evicted", "Shutdown", "NodeShutdown",
		"Terminated", "NodeLost", "DeletionByTaintManager" };
	const char *reason = kube_text(status, "reason"), *message = kube_text(status, "message");
	struct kube_condition disrupted;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (glob_match(refused[i], reason)) {
			kube_fail(m, BERTH_ECAPACITY, reason, message);
			return;
		}
	m->preempted |= kube_condition(status, "DisruptionTarget", &disrupted) &&
			str_eq(disrupted.status, "True");
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		m->preempted |= glob_match(taken[i], reason);
	m->state = PROV_GONE;
	snprintf(m->detail, sizeof(m->detail), "%s%s%s",
	    m->preempted ? "preempted" : "its command has failed", reason[0] != '\0' ? ": " : "",
	    reason);
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
		kube_fail(
		    m, BERTH_EFAIL, "its pod was ended by the cluster, or its node is lost", "");
}

static void
kube_replaced(struct prov_machine *m)
{
	m->preempted = true;
	kube_fail(m, BERTH_EFAIL, "preempted: its pod went, and another stands in for it", "");
}

enum berth_code
kube_read_pod(
    const struct kube *s, const struct jsonr *pod, struct kube_seen *seen, struct berth_err *err)
{
	struct jsonr meta = jsonr_get(pod, "metadata"), status = jsonr_get(pod, "status"),
		     spec = jsonr_get(pod, "spec");
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
	seen->node = arena_strdup(s->pass, kube_text(&spec, "nodeName"));
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

enum berth_code
kube_read_orphan(struct kube *s, const struct jsonr *pod, const char *name, struct berth_err *err)
{
	struct jsonr meta = jsonr_get(pod, "metadata"), status = jsonr_get(pod, "status");
	struct kube_seen *seen;
	enum berth_code rc;

	if (str_eq(kube_text(&status, "phase"), "Succeeded") ||
	    str_eq(kube_text(&status, "phase"), "Failed"))
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

bool
kube_waits(const struct kube_seen *seen)
{
	return !seen->over && (seen->m.state == PROV_PENDING ||
				  (seen->m.state == PROV_FAILED && seen->m.why == BERTH_ECAPACITY));
}

void
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
			kube_fail(&seen->m,
			    glob_match("*exceeded quota*", message) ? BERTH_EQUOTA
								    : BERTH_EPERMANENT,
			    glob_match("*exceeded quota*", message) ? "a quota of the namespace"
								    : "its pod was refused",
			    message);
	}
}
