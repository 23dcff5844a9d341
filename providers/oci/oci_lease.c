#include <stdio.h>
#include <string.h>

#include "providers/keyed.h"
#include "providers/lease.h"
#include "providers/nametag.h"
#include "providers/oci/oci.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define OCI_NAME_MAX 255

static const struct lease_state oci_states[] = {
	{ "PROVISIONING", PROV_PENDING },
	{ "STARTING", PROV_PENDING },
	{ "RUNNING", PROV_READY },
	{ "MOVING", PROV_PENDING },
	{ "STOPPING", PROV_FAILED },
	{ "STOPPED", PROV_FAILED },
	{ "TERMINATING", PROV_ENDING },
	{ "TERMINATED", PROV_GONE },
	{ NULL, PROV_PENDING },
};

static void
oci_body(const struct oci *o, const struct prov_create *c, const char *name, const char *image,
    const char *subnet, struct jsonw *w)
{
	const char *key =
	    c->ssh_key != NULL ? c->ssh_key : prov_conf_str(o->env->conf, "ssh_key", NULL);

	jsonw_begin_object(w, NULL);
	jsonw_str(w, "compartmentId", o->compartment);
	jsonw_str(w, "availabilityDomain", c->offer->zone);
	jsonw_str(w, "displayName", name);
	jsonw_str(w, "shape", c->offer->instance_type);
	jsonw_begin_object(w, "sourceDetails");
	jsonw_str(w, "sourceType", "image");
	jsonw_str(w, "imageId", image);
	jsonw_int(w, "bootVolumeSizeInGBs", prov_conf_int(o->env->conf, "disk_gib", 100));
	jsonw_end_object(w);
	jsonw_begin_object(w, "createVnicDetails");
	jsonw_str(w, "subnetId", subnet);
	jsonw_bool(w, "assignPublicIp", prov_conf_bool(o->env->conf, "public_ip", true));
	jsonw_end_object(w);
	jsonw_begin_object(w, "freeformTags");
	jsonw_str(w, "berth-installation", o->env->installation);
	jsonw_str(w, "berth-token", c->token);
	jsonw_end_object(w);
	if (key != NULL || c->user_data != NULL) {
		jsonw_begin_object(w, "metadata");
		if (key != NULL)
			jsonw_str(w, "ssh_authorized_keys", key);
		if (c->user_data != NULL)
			jsonw_str(w, "user_data", wirejson_base64(o->env->arena, c->user_data));
		jsonw_end_object(w);
	}
	if (c->offer->purchase == PURCHASE_SPOT) {
		jsonw_begin_object(w, "preemptibleInstanceConfig");
		jsonw_begin_object(w, "preemptionAction");
		jsonw_str(w, "type", "TERMINATE");
		jsonw_bool(w, "preserveBootVolume", false);
		jsonw_end_object(w);
		jsonw_end_object(w);
	}
	jsonw_end_object(w);
}

static enum berth_code
oci_create_build(void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct oci *o = st;
	const char *image =
		       c->image != NULL ? c->image : prov_conf_str(o->env->conf, "image", NULL),
		   *name = "";
	const char *subnet = prov_conf_str(o->env->conf, "subnet", NULL);
	enum berth_code rc;
	struct jsonw w;
	struct buf b;

	if (image == NULL || subnet == NULL)
		return err_set(err, BERTH_EPERMANENT, "machines want '%s' in berth.yaml",
		    image == NULL ? "image" : "subnet");
	if ((rc = nametag_make(req->arena, o->env->installation, c->token, OCI_NAME_MAX, &name,
		 err)) != BERTH_OK ||
	    (rc = oci_request(o, req, "POST", "iaas", c->offer->region, err,
		 "20160918/instances")) != BERTH_OK ||
	    (rc = http_req_header(req, "opc-retry-token", c->token, false, err)) != BERTH_OK)
		return rc;
	buf_init(&b, KEYED_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	oci_body(o, c, name, image, subnet, &w);
	return keyed_body(req, &b, &w, err);
}

enum berth_code
oci_machine(const struct oci *o, const struct jsonr *v, const char *region, struct prov_machine *m,
    struct berth_err *err)
{
	static const char *const needed[] = { "id", "lifecycleState", NULL };
	struct jsonr tags = jsonr_get(v, "freeformTags"),
		     preemptible = jsonr_get(v, "preemptibleInstanceConfig");
	const char *id = "", *state = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_need(v, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(v, "id", &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(v, "lifecycleState", &state, err)) != BERTH_OK ||
	    (rc = wirejson_field(v, "shape", m->instance_type, sizeof(m->instance_type), err)) !=
		BERTH_OK ||
	    (rc = wirejson_field(v, "availabilityDomain", m->zone, sizeof(m->zone), err)) !=
		BERTH_OK ||
	    (rc = wirejson_field(&tags, "berth-installation", m->installation,
		 sizeof(m->installation), err)) != BERTH_OK ||
	    (rc = wirejson_field(&tags, "berth-token", m->token, sizeof(m->token), err)) !=
		BERTH_OK ||
	    (rc = jsonr_time(v, "timeCreated", &m->created, err)) != BERTH_OK)
		return rc;
	if (snprintf(m->ref, sizeof(m->ref), "%s/%s", region, id) >= (int)sizeof(m->ref))
		return jsonr_err(v, BERTH_EINVAL, err, "id is too long");
	str_copy(m->region, sizeof(m->region), region);
	str_copy(m->address, sizeof(m->address), oci_address(o, m->ref));
	str_copy(m->detail, sizeof(m->detail), state);
	m->purchase = json_is_object(preemptible.v) ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	m->state = lease_state(oci_states, state);
	m->why = m->state == PROV_FAILED ? BERTH_EFAIL : BERTH_OK;
	m->preempted = m->purchase == PURCHASE_SPOT && m->state == PROV_FAILED;
	return BERTH_OK;
}

static enum berth_code
oci_machine_of(const struct oci *o, const struct http_resp *resp, const char *region,
    struct prov_machine *m, struct berth_err *err)
{
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = oci_machine(o, &root, region, m, err);
	json_decref(v);
	return rc;
}

static enum berth_code
oci_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	return oci_machine_of(st, resp, c->offer->region, machine_out, err);
}

/* "REGION/OCID". */
static enum berth_code
oci_ref_build(const struct oci *o, const char *method, const char *ref, const char *more,
    struct http_req *req, struct berth_err *err)
{
	const char *slash = strchr(ref, '/');

	if (slash == NULL || slash == ref || slash[1] == '\0' || slash[1] == '.')
		return err_set(
		    err, BERTH_EINVAL, "'%s' is no machine of Oracle's: REGION/OCID", ref);
	return oci_request(o, req, method, "iaas",
	    arena_strndup(req->arena, ref, (size_t)(slash - ref)), err, "20160918/instances/%s%s",
	    http_urlencode(req->arena, slash + 1), more);
}

static enum berth_code
oci_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return oci_ref_build(st, "GET", ref, "", req, err);
}

static enum berth_code
oci_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	return oci_machine_of(
	    st, resp, arena_strndup(resp->arena, ref, strcspn(ref, "/")), machine_out, err);
}

static enum berth_code
oci_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return oci_ref_build(st, "DELETE", ref, "?preserveBootVolume=false", req, err);
}

const struct prov_lease_ops oci_lease = {
	.create_build = oci_create_build,
	.create_parse = oci_create_parse,
	.status_build = oci_status_build,
	.status_parse = oci_status_parse,
	.destroy_build = oci_destroy_build,
	.destroy_parse = lease_destroy_parse,
	.list_build = oci_list_build,
	.list_parse = oci_list_parse,
};
