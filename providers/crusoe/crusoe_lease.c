#include <string.h>

#include "providers/crusoe/crusoe.h"
#include "providers/keyed.h"
#include "providers/lease.h"
#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/str.h"

#define CRUSOE_NAME_MAX 63
#define CRUSOE_VMS "projects/%s/compute/vms/instances"

static const struct lease_state crusoe_states[] = {
	{ "STATE_CREATING", PROV_PENDING },
	{ "STATE_STARTING", PROV_PENDING },
	{ "STATE_RUNNING", PROV_READY },
	{ "STATE_STOPPING", PROV_FAILED },
	{ "STATE_STOPPED", PROV_FAILED },
	{ "STATE_SHUTOFF", PROV_FAILED },
	{ "STATE_DELETING", PROV_ENDING },
	{ "STATE_DELETED", PROV_GONE },
	{ NULL, PROV_PENDING },
};

static enum berth_code
crusoe_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct crusoe *z = st;
	const char *key = c->ssh_key != NULL ? c->ssh_key
					     : prov_conf_str(z->env->conf, "ssh_key", NULL),
		   *name = "";
	const char *image =
	    c->image != NULL ? c->image : prov_conf_str(z->env->conf, "image", NULL);
	enum berth_code rc;
	struct jsonw w;
	struct buf b;

	if (key == NULL)
		return err_set(err, BERTH_EPERMANENT,
		    "the account needs 'ssh_key' in berth.yaml: a public key");
	if (image == NULL)
		image = strstr(c->offer->instance_type, "sxm") != NULL
			    ? "ubuntu22.04-nvidia-sxm-docker:latest"
			    : "ubuntu22.04-nvidia-pcie-docker:latest";
	if ((rc = nametag_make(req->arena, z->env->installation, c->token, CRUSOE_NAME_MAX, &name,
		 err)) != BERTH_OK ||
	    (rc = crusoe_request(z, req, "POST", err, CRUSOE_VMS, z->project)) != BERTH_OK)
		return rc;
	buf_init(&b, KEYED_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "name", name);
	jsonw_str(&w, "type", c->offer->instance_type);
	jsonw_str(&w, "location", c->offer->region);
	jsonw_str(&w, "image", image);
	jsonw_str(&w, "ssh_public_key", key);
	if (c->user_data != NULL)
		jsonw_str(&w, "startup_script", c->user_data);
	jsonw_end_object(&w);
	return keyed_body(req, &b, &w, err);
}

/* {"operation": {operation_id, state, metadata {id}}}: accepted, and may yet fail. */
static enum berth_code
crusoe_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, op, meta;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	op = jsonr_get(&root, "operation");
	meta = jsonr_get(&op, "metadata");
	rc = wirejson_field(&meta, "id", machine_out->ref, sizeof(machine_out->ref), err);
	json_decref(v);
	machine_out->state = PROV_PENDING;
	machine_out->purchase = c->offer->purchase;
	str_copy(machine_out->region, sizeof(machine_out->region), c->offer->region);
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type),
	    c->offer->instance_type);
	return rc;
}

static enum berth_code
crusoe_machine(const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	static const char *const needed[] = { "id", "state", NULL };
	struct jsonr nics = jsonr_get(o, "network_interfaces"), nic = jsonr_at(&nics, 0),
		     ips = jsonr_get(&nic, "ips");
	struct jsonr ip = jsonr_at(&ips, 0), inner = jsonr_get(&ip, "private_ipv4"),
		     outer = jsonr_get(&ip, "public_ipv4");
	const char *name = "", *state = "", *address = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "id", m->ref, sizeof(m->ref), err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "name", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "state", &state, err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "type", m->instance_type, sizeof(m->instance_type), err)) !=
		BERTH_OK ||
	    (rc = wirejson_field(o, "location", m->region, sizeof(m->region), err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "created_at", &m->created, err)) != BERTH_OK ||
	    (rc = jsonr_str(&inner, "address", &address, err)) != BERTH_OK ||
	    (rc = jsonr_str(&outer, "address", &address, err)) != BERTH_OK)
		return rc;
	nametag_read(name, m);
	str_copy(m->address, sizeof(m->address), address);
	str_copy(m->detail, sizeof(m->detail), state);
	m->state = lease_state(crusoe_states, state);
	m->why = m->state == PROV_FAILED ? BERTH_EFAIL : BERTH_OK;
	return BERTH_OK;
}

static enum berth_code
crusoe_ref(const struct crusoe *z, const char *method, const char *ref, struct http_req *req,
    struct berth_err *err)
{
	if (ref[0] == '\0' || ref[0] == '.')
		return err_set(err, BERTH_EINVAL, "'%s' is no machine of Crusoe's", ref);
	return crusoe_request(
	    z, req, method, err, CRUSOE_VMS "/%s", z->project, http_urlencode(req->arena, ref));
}

static enum berth_code
crusoe_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return crusoe_ref(st, "GET", ref, req, err);
}

static enum berth_code
crusoe_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)ref;
	return lease_one(resp, NULL, crusoe_machine, machine_out, err);
}

static enum berth_code
crusoe_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return crusoe_ref(st, "DELETE", ref, req, err);
}

static enum berth_code
crusoe_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	const struct crusoe *z = st;

	return crusoe_request(z, req, "GET", err, CRUSOE_VMS "%s%s", z->project,
	    cur->next[0] != '\0' ? "?next_token=" : "", http_urlencode(req->arena, cur->next));
}

static enum berth_code
crusoe_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = lease_each(&root, "items", "machines", crusoe_machine, emit, arg, err);
	if (rc == BERTH_OK)
		rc = wirejson_field(&root, "next_page_token", cur->next, sizeof(cur->next), err);
	json_decref(v);
	return rc;
}

const struct prov_lease_ops crusoe_lease = {
	.create_build = crusoe_create_build,
	.create_parse = crusoe_create_parse,
	.status_build = crusoe_status_build,
	.status_parse = crusoe_status_parse,
	.destroy_build = crusoe_destroy_build,
	.destroy_parse = lease_destroy_parse,
	.list_build = crusoe_list_build,
	.list_parse = crusoe_list_parse,
};
