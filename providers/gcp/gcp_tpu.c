#include <stdio.h>
#include <string.h>

#include "providers/gcp/gcp.h"
#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"

#define GCP_TPU_BODY_MAX 524288

/* API's accelerator types by generation, with the runtime that fits
 * (cloud.google.com/tpu/docs/runtimes). */
static const struct {
	const char *prefix, *runtime;
} gcp_tpus[] = {
	{ "v2-", "tpu-ubuntu2204-base" }, { "v3-", "tpu-ubuntu2204-base" },
	{ "v4-", "tpu-ubuntu2204-base" }, { "v5litepod-", "v2-alpha-tpuv5-lite" },
	{ "v5p-", "v2-alpha-tpuv5" }, { "v6e-", "v2-alpha-tpuv6e" },
	{ "tpu7x-", NULL }, /* the account says which */
};

static const struct {
	const char *state;
	enum prov_state to;
} gcp_queued_states[] = {
	{ "CREATING", PROV_PENDING }, { "ACCEPTED", PROV_PENDING }, { "PROVISIONING", PROV_PENDING },
	{ "WAITING_FOR_RESOURCES", PROV_PENDING }, { "ACTIVE", PROV_READY }, { "FAILED", PROV_FAILED },
	{ "SUSPENDING", PROV_FAILED }, { "SUSPENDED", PROV_FAILED }, { "DELETING", PROV_ENDING },
}, gcp_node_states[] = {
	{ "CREATING", PROV_PENDING }, { "STARTING", PROV_PENDING }, { "RESTARTING", PROV_PENDING },
	{ "REIMAGING", PROV_PENDING }, { "REPAIRING", PROV_PENDING }, { "READY", PROV_READY }, { "DELETING", PROV_ENDING },
	{ "STOPPING", PROV_FAILED }, { "STOPPED", PROV_FAILED }, { "PREEMPTED", PROV_FAILED }, { "TERMINATED", PROV_FAILED },
};

bool
gcp_tpu_is(const char *instance_type)
{
	for (size_t i = 0; i < sizeof(gcp_tpus) / sizeof(gcp_tpus[0]); i++)
		if (str_starts(instance_type, gcp_tpus[i].prefix))
			return true;
	return false;
}

static const char *
gcp_tpu_runtime(const char *type)
{
	for (size_t i = 0; i < sizeof(gcp_tpus) / sizeof(gcp_tpus[0]); i++)
		if (str_starts(type, gcp_tpus[i].prefix))
			return gcp_tpus[i].runtime;
	return NULL;
}

static void
gcp_tpu_node_body(const struct gcp *g, const struct prov_create *c, struct jsonw *w)
{
	const char *runtime =
	    c->image != NULL ? c->image : prov_conf_str(g->env->conf, "tpu_runtime", NULL);
	const char *key =
	    c->ssh_key != NULL ? c->ssh_key : prov_conf_str(g->env->conf, "ssh_key", NULL);

	if (runtime == NULL)
		runtime = gcp_tpu_runtime(c->offer->instance_type);
	jsonw_begin_object(w, "node");
	jsonw_str(w, "acceleratorType", c->offer->instance_type);
	jsonw_str(w, "runtimeVersion", runtime);
	gcp_labels(g, c->token, w);
	jsonw_begin_object(w, "networkConfig");
	if (prov_conf_has(g->env->conf, "network"))
		jsonw_str(w, "network", prov_conf_str(g->env->conf, "network", ""));
	jsonw_bool(w, "enableExternalIps", prov_conf_bool(g->env->conf, "external_ip", true));
	jsonw_end_object(w);
	if (key != NULL || c->user_data != NULL) {
		jsonw_begin_object(w, "metadata");
		if (key != NULL)
			jsonw_str(w, "ssh-keys", key);
		if (c->user_data != NULL)
			jsonw_str(w, "startup-script", c->user_data);
		jsonw_end_object(w);
	}
	jsonw_end_object(w);
}

enum berth_code
gcp_tpu_create_build(
    const struct gcp *g, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const char *name = "";
	enum berth_code rc = gcp_name(g, req->arena, c->token, &name, err);
	struct jsonw w;
	struct buf b;

	if (rc != BERTH_OK)
		return rc;
	if (c->image == NULL && !prov_conf_has(g->env->conf, "tpu_runtime") &&
	    gcp_tpu_runtime(c->offer->instance_type) == NULL)
		return err_set(err, BERTH_EPERMANENT, "a TPU %s needs 'tpu_runtime' in berth.yaml",
		    c->offer->instance_type);
	if (c->offer->zone[0] == '\0')
		return err_set(err, BERTH_EPERMANENT,
		    "a commitment is no machine: rent an offer of a zone, which it then pays for");
	rc = gcp_request(req, "POST", g->tpu_api, err,
	    "v2/projects/%s/locations/%s/queuedResources?queuedResourceId=%s&requestId=%s",
	    g->project, http_urlencode(req->arena, c->offer->zone), name,
	    gcp_request_id(req->arena, c->token));
	if (rc != BERTH_OK)
		return rc;
	buf_init(&b, GCP_TPU_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_begin_object(&w, "tpu");
	jsonw_begin_array(&w, "nodeSpec");
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "parent",
	    arena_printf(req->arena, "projects/%s/locations/%s", g->project, c->offer->zone));
	jsonw_str(&w, "nodeId", name);
	gcp_tpu_node_body(g, c, &w);
	jsonw_end_object(&w);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	if (c->offer->purchase == PURCHASE_SPOT) {
		jsonw_begin_object(&w, "spot");
		jsonw_end_object(&w);
	}
	jsonw_end_object(&w);
	return wirejson_body(&w, &b, req, err);
}

enum berth_code
gcp_tpu_ref_build(const struct gcp *g, const char *method, const char *ref, struct http_req *req,
    struct berth_err *err)
{
	const char *zone, *name;

	if (!gcp_ref(ref + strlen(GCP_TPU_REF), req->arena, &zone, &name))
		return err_set(err, BERTH_EINVAL, "'%s' is no TPU: " GCP_TPU_REF "ZONE/NAME", ref);
	return gcp_request(req, method, g->tpu_api, err,
	    "v2/projects/%s/locations/%s/queuedResources/%s%s", g->project, zone, name,
	    str_eq(method, "DELETE") ? "?force=true" : "");
}

/* "projects/P/locations/ZONE/KIND/NAME" into ref, zone, region and, by its name, whose. */
static enum berth_code
gcp_tpu_name(const struct jsonr *o, struct arena *a, struct prov_machine *m, struct berth_err *err)
{
	const char *path = "", *name, *at, *zone;
	enum berth_code rc = jsonr_str(o, "name", &path, err);

	if (rc != BERTH_OK)
		return rc;
	name = gcp_tail(path);
	at = strstr(path, "/locations/");
	if (at == NULL || name[0] == '\0')
		return jsonr_err(o, BERTH_EINVAL, err, "name is no path of a TPU");
	zone =
	    arena_strndup(a, at + strlen("/locations/"), strcspn(at + strlen("/locations/"), "/"));
	if (snprintf(m->ref, sizeof(m->ref), GCP_TPU_REF "%s/%s", zone, name) >=
		(int)sizeof(m->ref) ||
	    !str_copy(m->zone, sizeof(m->zone), zone))
		return jsonr_err(o, BERTH_EINVAL, err, "name is too long");
	str_copy(m->region, sizeof(m->region), gcp_region(a, zone));
	nametag_read(name, m);
	return BERTH_OK;
}

enum berth_code
gcp_tpu_machine(
    const struct jsonr *queued, struct arena *a, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr state = jsonr_get(queued, "state"), tpu = jsonr_get(queued, "tpu"),
		     specs = jsonr_get(&tpu, "nodeSpec");
	struct jsonr spec = jsonr_at(&specs, 0), node = jsonr_get(&spec, "node"),
		     spot = jsonr_get(queued, "spot");
	struct jsonr failed = jsonr_get(&state, "failedData"), error = jsonr_get(&failed, "error");
	struct prov_error e = { "", "" };
	const char *word = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = gcp_tpu_name(queued, a, m, err)) != BERTH_OK ||
	    (rc = jsonr_str(&state, "state", &word, err)) != BERTH_OK ||
	    (rc = jsonr_time(queued, "createTime", &m->created, err)) != BERTH_OK)
		return rc;
	if (word[0] == '\0')
		return jsonr_err(queued, BERTH_EINVAL, err, "no state");
	gcp_read_labels(&node, m);
	rc = wirejson_field(
	    &node, "acceleratorType", m->instance_type, sizeof(m->instance_type), err);
	m->purchase = json_is_object(spot.v) ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	str_copy(m->detail, sizeof(m->detail), word);
	for (size_t i = 0; i < sizeof(gcp_queued_states) / sizeof(gcp_queued_states[0]); i++)
		if (str_eq(word, gcp_queued_states[i].state))
			m->state = gcp_queued_states[i].to;
	if (m->state != PROV_FAILED)
		return rc;
	m->preempted = str_starts(word, "SUSPEND"); /* taken back, or its end of time; the queued
						       resource stays until deleted */
	m->why = BERTH_EFAIL;
	if (!jsonr_none(&error)) {
		gcp_error_of(&error, &e);
		m->why = gcp_classify(&e);
		snprintf(m->detail, sizeof(m->detail), "%s: %.90s", e.code, e.text);
	}
	return rc;
}

enum berth_code
gcp_tpu_node(
    const struct jsonr *node, struct arena *a, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr ends = jsonr_get(node, "networkEndpoints"), end = jsonr_at(&ends, 0);
	struct jsonr access = jsonr_get(&end, "accessConfig"),
		     scheduling = jsonr_get(node, "schedulingConfig");
	const char *word = "", *ip = "";
	bool spot = false, preemptible = false;
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = gcp_tpu_name(node, a, m, err)) != BERTH_OK ||
	    (rc = jsonr_str(node, "state", &word, err)) != BERTH_OK ||
	    (rc = jsonr_time(node, "createTime", &m->created, err)) != BERTH_OK ||
	    (rc = jsonr_str(&end, "ipAddress", &ip, err)) != BERTH_OK ||
	    (rc = jsonr_str(&access, "externalIp", &ip, err)) != BERTH_OK ||
	    (rc = jsonr_bool(&scheduling, "spot", &spot, err)) != BERTH_OK ||
	    (rc = jsonr_bool(&scheduling, "preemptible", &preemptible, err)) != BERTH_OK ||
	    (rc = wirejson_field(node, "acceleratorType", m->instance_type,
		 sizeof(m->instance_type), err)) != BERTH_OK)
		return rc;
	if (word[0] == '\0')
		return jsonr_err(node, BERTH_EINVAL, err, "no state");
	gcp_read_labels(node, m);
	m->purchase = spot || preemptible ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	str_copy(m->address, sizeof(m->address), ip);
	str_copy(m->detail, sizeof(m->detail), word);
	for (size_t i = 0; i < sizeof(gcp_node_states) / sizeof(gcp_node_states[0]); i++)
		if (str_eq(word, gcp_node_states[i].state))
			m->state = gcp_node_states[i].to;
	m->preempted = str_eq(word, "PREEMPTED");
	m->why = m->state == PROV_FAILED ? BERTH_EFAIL : BERTH_OK;
	return BERTH_OK;
}
