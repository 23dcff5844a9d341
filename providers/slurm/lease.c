#include <stdio.h>
#include <string.h>

#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/slurm/slurm.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"

#define SLURM_BODY_MAX 1048576
/* Comments of jobs are kept in the controller's memory, and in accounting where it is told to. */
#define SLURM_HOLDER "#!/bin/sh\nexec sleep infinity\n"

static const struct {
	const char *word;
	enum prov_state state;
} slurm_states[] = {
	/* flags first, for they stand beside a base state */
	{ "REQUEUED", PROV_FAILED },
	{ "REQUEUE_HOLD", PROV_FAILED },
	{ "SPECIAL_EXIT", PROV_FAILED },
	{ "REQUEUE_FED", PROV_FAILED },
	{ "LAUNCH_FAILED", PROV_FAILED },
	{ "RECONFIG_FAIL", PROV_FAILED },
	{ "RESV_DEL_HOLD", PROV_FAILED },
	{ "EXPEDITING", PROV_FAILED },
	{ "STOPPED", PROV_FAILED },
	{ "COMPLETING", PROV_ENDING },
	{ "STAGE_OUT", PROV_ENDING },
	{ "CONFIGURING", PROV_PENDING },
	{ "POWER_UP_NODE", PROV_PENDING },
	{ "PENDING", PROV_PENDING },
	{ "RUNNING", PROV_READY },
	{ "SUSPENDED", PROV_FAILED },
	{ "COMPLETED", PROV_GONE },
	{ "CANCELLED", PROV_GONE },
	{ "FAILED", PROV_GONE },
	{ "TIMEOUT", PROV_GONE },
	{ "NODE_FAIL", PROV_GONE },
	{ "PREEMPTED", PROV_GONE },
	{ "BOOT_FAIL", PROV_GONE },
	{ "DEADLINE", PROV_GONE },
	{ "OUT_OF_MEMORY", PROV_GONE },
	{ "REVOKED", PROV_GONE },
	{ "RESIZING", PROV_READY },
	{ "SIGNALING", PROV_READY },
};

/* What waiting means: too long for resources is no capacity, a limit is a quota, and some waits
 * never end. */
static void
slurm_waits(const struct slurm *s, const char *reason, struct prov_machine *m)
{
	enum berth_code code = BERTH_OK;
	bool at_once = false;
	const char *words = slurm_reason(reason, &code, &at_once);

	snprintf(m->detail, sizeof(m->detail), "waits: %s (%s)", words, reason);
	if (code != BERTH_OK && (at_once || s->env->now - m->created >= s->queue_wait_s)) {
		m->state = PROV_FAILED;
		m->why = code;
	}
}

static void
slurm_times(const struct slurm *s, const struct jsonr *o, struct prov_machine *m)
{
	int64_t submitted = 0, start = 0, end = 0, preempt = 0;

	(void)!slurm_number(o, "submit_time", &submitted);
	(void)!slurm_number(o, "start_time", &start);
	(void)!slurm_number(o, "end_time", &end);
	(void)!slurm_number(o, "preempt_time", &preempt);
	m->created = submitted;
	m->ready_at = start;
	if (m->state == PROV_GONE)
		m->ended = end;
	if (m->state != PROV_READY || end <= 0)
		return;
	/* Slurm sets the end to now and the time of grace when it preempts */
	m->preempted = preempt > 0;
	if (preempt > 0 || end - s->env->now <= s->notice_s) {
		m->state = PROV_NOTICED;
		m->reclaim_at = end;
		m->notice_at = preempt > 0 ? preempt : end - s->notice_s;
		str_copy(m->detail, sizeof(m->detail),
		    preempt > 0 ? "preempted" : "its time limit is near");
	}
}

static void
slurm_state(const struct slurm *s, const struct jsonr *o, struct prov_machine *m)
{
	const char *reason = "None";
	int64_t restarts = 0;

	(void)!jsonr_str(o, "state_reason", &reason, NULL);
	(void)!slurm_number(o, "restart_cnt", &restarts);
	m->state = PROV_PENDING; /* a word of tomorrow's Slurm: it is there, and it is not known to
				    be usable */
	for (size_t i = 0; i < sizeof(slurm_states) / sizeof(slurm_states[0]); i++)
		if (slurm_has_word(o, "job_state", slurm_states[i].word)) {
			m->state = slurm_states[i].state;
			snprintf(m->detail, sizeof(m->detail), "%s%s%s", slurm_states[i].word,
			    str_eq(reason, "None") || reason[0] == '\0' ? "" : ": ",
			    str_eq(reason, "None") ? "" : reason);
			break;
		}
	m->preempted = slurm_has_word(o, "job_state", "PREEMPTED") || restarts > 0 ||
		       slurm_has_word(o, "job_state", "REQUEUED");
	slurm_times(s, o, m);
	if (m->state == PROV_PENDING && restarts > 0) {
		m->state = PROV_FAILED;
		str_copy(m->detail, sizeof(m->detail), "preempted: put back into the queue");
	}
	if (m->state == PROV_PENDING && slurm_has_word(o, "job_state", "PENDING"))
		slurm_waits(s, reason, m);
	if (m->state == PROV_FAILED && m->why == BERTH_OK)
		m->why = BERTH_EFAIL;
	if (m->preempted && (m->state == PROV_GONE || m->state == PROV_FAILED))
		str_copy(m->detail, sizeof(m->detail), "preempted");
}

static void
slurm_address(const struct jsonr *o, struct prov_machine *m)
{
	const char *host = "", *nodes = "";

	(void)!jsonr_str(o, "batch_host", &host, NULL);
	(void)!jsonr_str(o, "nodes", &nodes, NULL);
	if (host[0] == '\0' && strpbrk(nodes, "[,") == NULL)
		host = nodes;
	if (m->state == PROV_READY || m->state == PROV_NOTICED)
		str_copy(m->address, sizeof(m->address), host);
}

/* One job; *ours_out: its comment is one of ours and it is our user's. */
static enum berth_code
slurm_machine(const struct slurm *s, const struct jsonr *o, struct prov_machine *m, bool *ours_out,
    struct berth_err *err)
{
	const char *comment = "", *user = "", *qos = "";
	struct jsonr state = jsonr_get(o, "job_state");
	int64_t id = 0;
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	*ours_out = false;
	if ((rc = jsonr_str(o, "comment", &comment, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "user_name", &user, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "qos", &qos, err)) != BERTH_OK)
		return rc;
	if (!slurm_number(o, "job_id", &id) || id == 0 || jsonr_none(&state))
		return jsonr_err(o, BERTH_EINVAL, err, "no job_id or job_state");
	if (!slurm_read_comment(comment, m) ||
	    (s->user != NULL && user[0] != '\0' && !str_eq(user, s->user)))
		return BERTH_OK;
	*ours_out = true;
	snprintf(m->ref, sizeof(m->ref), "%lld", (long long)id);
	str_copy(m->region, sizeof(m->region), s->region);
	if ((rc = wirejson_field(o, "partition", m->zone, sizeof(m->zone), err)) != BERTH_OK)
		return rc;
	m->purchase =
	    s->spot_qos != NULL && str_eq(qos, s->spot_qos) ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	slurm_state(s, o, m);
	slurm_address(o, m);
	return BERTH_OK;
}

static enum berth_code
slurm_jobs_of(const struct http_resp *resp, json_t **v, struct jsonr *root, struct jsonr *list,
    struct berth_err *err)
{
	enum berth_code rc = wirejson_parse(resp, v, err);

	if (rc != BERTH_OK)
		return rc;
	*root = jsonr_root(*v, "answer");
	rc = jsonr_array(root, "jobs", list, err);
	if (rc == BERTH_OK && list->v == NULL)
		rc = jsonr_err(root, BERTH_ETRANSIENT, err, "no jobs in the answer");
	return rc;
}

enum berth_code
slurm_jobs(struct slurm *s, const struct http_resp *resp, bool notices, prov_machine_fn *emit,
    void *arg, struct berth_err *err)
{
	struct jsonr root, list;
	json_t *v = NULL;
	enum berth_code rc = slurm_jobs_of(resp, &v, &root, &list, err);

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct jsonr item = jsonr_at(&list, i);
		struct prov_machine m;
		bool ours = false;

		rc = slurm_machine(s, &item, &m, &ours, err);
		if (rc == BERTH_OK && ours &&
		    (!notices || m.state == PROV_NOTICED || (m.preempted && m.state != PROV_GONE)))
			rc = emit(arg, &m, err);
	}
	json_decref(v);
	return rc;
}

static enum berth_code
slurm_may_create(const struct slurm *s, const struct prov_create *c, struct berth_err *err)
{
	if (c->user_data != NULL && !str_starts(c->user_data, "#!"))
		return err_set(err, BERTH_EPERMANENT,
		    "user data for Slurm is the batch script: it must begin with #!");
	if (c->offer->purchase == PURCHASE_SPOT && s->spot_qos == NULL)
		return err_set(
		    err, BERTH_EPERMANENT, "the account needs 'spot_qos' for spot machines");
	if (strchr(s->env->installation, ' ') != NULL ||
	    strchr(c->offer->instance_type, ' ') != NULL)
		return err_set(
		    err, BERTH_EPERMANENT, "installation id or instance type with a blank");
	return BERTH_OK;
}

/* "gpu:a100:4" in the words of the version: v0.0.38 has a place of its own for GPUs. */
static void
slurm_body_gres(const struct slurm *s, const char *type, struct arena *a, struct jsonw *w)
{
	const char *rest = type, *count = strrchr(type, ':');

	if (s->version <= 38 && str_starts(type, "gpu:"))
		jsonw_str(w, "gpus_per_node", type + 4);
	else if (s->version <= 38)
		jsonw_str(w, "gres", type);
	else if (s->version == 39 || count == NULL)
		jsonw_str(w, "tres_per_node", arena_printf(a, "gres:%s", rest));
	else
		jsonw_str(w, "tres_per_node",
		    arena_printf(a, "gres/%.*s=%s", (int)(count - type), type, count + 1));
}

static void
slurm_body_env(const struct slurm *s, const struct prov_create *c, struct arena *a, struct jsonw *w)
{
	static const char path[] = "/usr/local/bin:/usr/bin:/bin";

	if (s->version <= 38) {
		jsonw_begin_object(w, "environment");
		jsonw_str(w, "PATH", path);
		jsonw_str(w, "BERTH_TOKEN", c->token);
		jsonw_end_object(w);
		return;
	}
	jsonw_begin_array(w, "environment");
	jsonw_str(w, NULL, arena_printf(a, "PATH=%s", path));
	jsonw_str(w, NULL, arena_printf(a, "BERTH_TOKEN=%s", c->token));
	jsonw_end_array(w);
}

/* What may be infinite or not set is an object from v0.0.39 on. */
static void
slurm_body_number(const struct slurm *s, struct jsonw *w, const char *key, int64_t n)
{
	if (s->version <= 38) {
		jsonw_int(w, key, n);
		return;
	}
	jsonw_begin_object(w, key);
	jsonw_bool(w, "set", true);
	jsonw_bool(w, "infinite", false);
	jsonw_int(w, "number", n);
	jsonw_end_object(w);
}

static void
slurm_opt(struct jsonw *w, const char *key, const char *value)
{
	if (value != NULL && value[0] != '\0')
		jsonw_str(w, key, value);
}

static void
slurm_body(const struct slurm *s, const struct prov_create *c, struct arena *a, struct jsonw *w)
{
	const char *script = c->user_data != NULL ? c->user_data : SLURM_HOLDER;
	const struct offer *o = c->offer;

	jsonw_begin_object(w, NULL);
	if (s->version <= 39)
		jsonw_str(w, "script", script);
	jsonw_begin_object(w, "job");
	if (s->version >= 40)
		jsonw_str(w, "script", script);
	jsonw_str(w, "name", c->name != NULL ? c->name : arena_printf(a, "berth-%.8s", c->token));
	jsonw_str(w, "comment",
	    arena_printf(a, "berth %s %s %s", s->env->installation, c->token, o->instance_type));
	slurm_opt(w, "partition", o->zone);
	slurm_opt(w, "account", s->account);
	slurm_opt(w, "qos", o->purchase == PURCHASE_SPOT ? s->spot_qos : s->qos);
	slurm_opt(w, "reservation", s->reservation);
	slurm_opt(w, "constraints", s->constraint);
	slurm_body_gres(s, o->instance_type, a, w);
	jsonw_int(w, "tasks", 1);
	if (o->vcpus >= 1)
		jsonw_int(w, "cpus_per_task", (int64_t)o->vcpus);
	if (o->memory_gib > 0)
		slurm_body_number(s, w, "memory_per_node", (int64_t)(o->memory_gib * 1024));
	if (s->time_limit_s > 0)
		slurm_body_number(s, w, "time_limit", (s->time_limit_s + 59) / 60);
	if (s->version <= 38) /* there "requeue" means yes, whatever its value */
		jsonw_bool(w, "no_requeue", true);
	else
		jsonw_bool(w, "requeue", false);
	jsonw_str(w, "current_working_directory", s->workdir);
	jsonw_str(w, "standard_output", s->output);
	slurm_body_env(s, c, a, w);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

static enum berth_code
slurm_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct slurm *s = st;
	enum berth_code rc = slurm_may_create(s, c, err);
	struct jsonw w;
	struct buf b;

	if (rc != BERTH_OK)
		return rc;
	buf_init(&b, SLURM_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	slurm_body(s, c, req->arena, &w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = slurm_request(s, req, "POST", false, "job/submit", err);
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b.p, b.len, err);
	buf_free(&b);
	return rc;
}

static enum berth_code
slurm_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const struct slurm *s = st;
	struct jsonr root;
	json_t *v = NULL;
	int64_t id = 0;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	if (!slurm_number(&root, "job_id", &id) || id == 0)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no job_id in the answer");
	else
		snprintf(machine_out->ref, sizeof(machine_out->ref), "%lld", (long long)id);
	json_decref(v);
	machine_out->state = PROV_PENDING;
	machine_out->purchase = c->offer->purchase;
	machine_out->created = s->env->now;
	str_copy(machine_out->region, sizeof(machine_out->region), c->offer->region);
	str_copy(machine_out->zone, sizeof(machine_out->zone), c->offer->zone);
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type),
	    c->offer->instance_type);
	return rc;
}

/* A ref is a number: nothing else may get into a path or a command line. */
static enum berth_code
slurm_one_build(
    void *st, const char *ref, const char *method, struct http_req *req, struct berth_err *err)
{
	if (ref[0] == '\0' || strspn(ref, "0123456789") != strlen(ref))
		return err_set(err, BERTH_ENOTFOUND, "'%s' is no number of a job", ref);
	return slurm_request(st, req, method, false, arena_printf(req->arena, "job/%s", ref), err);
}

static enum berth_code
slurm_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return slurm_one_build(st, ref, "GET", req, err);
}

static enum berth_code
slurm_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const struct slurm *s = st;
	struct jsonr root, list, job;
	json_t *v = NULL;
	bool ours = false;
	int64_t id = 0;
	enum berth_code rc = slurm_jobs_of(resp, &v, &root, &list, err);

	if (rc == BERTH_OK && jsonr_len(&list) == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "the controller does not know it any more");
	if (rc == BERTH_OK) {
		job = jsonr_at(&list, 0);
		rc = slurm_machine(s, &job, machine_out, &ours, err);
	}
	if (rc == BERTH_OK && (!slurm_number(&job, "job_id", &id) ||
				  !str_eq(arena_printf(resp->arena, "%lld", (long long)id), ref)))
		rc = jsonr_err(
		    &job, BERTH_EINVAL, err, "the answer is about job %lld", (long long)id);
	/* numbers begin again in a controller that lost its state: ours went with it */
	if (rc == BERTH_OK && !ours) {
		memset(machine_out, 0, sizeof(*machine_out));
		str_copy(machine_out->ref, sizeof(machine_out->ref), ref);
		str_copy(machine_out->installation, sizeof(machine_out->installation),
		    s->env->installation);
		machine_out->state = PROV_GONE;
		str_copy(machine_out->detail, sizeof(machine_out->detail),
		    "its number is another job's now");
	}
	json_decref(v);
	return rc;
}

static enum berth_code
slurm_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return slurm_one_build(st, ref, "DELETE", req, err);
}

static enum berth_code
slurm_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)cur;
	return slurm_request(st, req, "GET", false, "jobs", err);
}

static enum berth_code
slurm_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	(void)cur;
	return slurm_jobs(st, resp, false, emit, arg, err);
}

const struct prov_lease_ops slurm_lease = {
	.create_build = slurm_create_build,
	.create_parse = slurm_create_parse,
	.status_build = slurm_status_build,
	.status_parse = slurm_status_parse,
	.destroy_build = slurm_destroy_build,
	.destroy_parse = lease_destroy_parse,
	.list_build = slurm_list_build,
	.list_parse = slurm_list_parse,
};
