#include <stdio.h>
#include <string.h>

#include "providers/gcp/gcp.h"
#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/str.h"

#define GCP_BODY_MAX 524288
#define GCP_NAME_MAX 63

static const struct {
	const char *status;
	enum prov_state state;
} gcp_states[] = {
	{ "PENDING", PROV_PENDING },
	{ "PROVISIONING", PROV_PENDING },
	{ "STAGING", PROV_PENDING },
	{ "REPAIRING", PROV_PENDING },
	{ "RUNNING", PROV_READY },
	{ "STOPPING", PROV_ENDING },
	{ "PENDING_STOP", PROV_ENDING },
	{ "DEPROVISIONING", PROV_ENDING },
	/* Stopped machines keep a disk that costs: broken, until they are destroyed. */
	{ "SUSPENDING", PROV_FAILED },
	{ "SUSPENDED", PROV_FAILED },
	{ "STOPPED", PROV_FAILED },
	{ "TERMINATED", PROV_FAILED },
};

enum berth_code
gcp_name(const struct gcp *g, struct arena *a, const char *token, const char **name_out,
    struct berth_err *err)
{
	enum berth_code rc =
	    nametag_make(a, g->env->installation, token, GCP_NAME_MAX, name_out, err);
	const char *name = rc == BERTH_OK ? *name_out : "";

	if (rc == BERTH_OK &&
	    (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0' ||
		name[strlen(name) - 1] == '-'))
		return err_set(err, BERTH_EPERMANENT, "'%s' is no name that Google takes", name);
	return rc;
}

/*
 * Tokens are 32 hex digits as a rule, and then it is those; else two hashes of it. Never all zero,
 * which the API refuses.
 */
const char *
gcp_request_id(struct arena *a, const char *token)
{
	const char *hex = token;

	if (strlen(token) != 32 || token[strspn(token, "0123456789abcdef")] != '\0' ||
	    token[strspn(token, "0")] == '\0')
		hex = arena_printf(a, "%016llx%016llx", (unsigned long long)hash_str(token),
		    (unsigned long long)hash_u64(hash_str(token) + 1));
	return arena_printf(
	    a, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

void
gcp_labels(const struct gcp *g, const char *token, struct jsonw *w)
{
	jsonw_begin_object(w, "labels");
	jsonw_str(w, "berth-installation", g->env->installation);
	jsonw_str(w, "berth-token", token);
	jsonw_end_object(w);
}

void
gcp_read_labels(const struct jsonr *o, struct prov_machine *m)
{
	struct jsonr labels = jsonr_get(o, "labels");
	const char *whose = "", *token = "";

	if (jsonr_str(&labels, "berth-installation", &whose, NULL) == BERTH_OK &&
	    jsonr_str(&labels, "berth-token", &token, NULL) == BERTH_OK && token[0] != '\0') {
		str_copy(m->installation, sizeof(m->installation), whose);
		str_copy(m->token, sizeof(m->token), token);
	}
}

/* "us-central1-a/berth-…": both parts are path segments as they stand. */
bool
gcp_ref(const char *ref, struct arena *a, const char **zone_out, const char **name_out)
{
	const char *slash = strchr(ref, '/');

	if (slash == NULL || slash == ref || slash[1] == '\0' ||
	    ref[strspn(ref, "abcdefghijklmnopqrstuvwxyz0123456789-/")] != '\0' ||
	    strchr(slash + 1, '/') != NULL)
		return false;
	*zone_out = arena_strndup(a, ref, (size_t)(slash - ref));
	*name_out = slash + 1;
	return true;
}

static void
gcp_meta(struct jsonw *w, const char *key, const char *value)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "key", key);
	jsonw_str(w, "value", value);
	jsonw_end_object(w);
}

static void
gcp_body_disk(const struct gcp *g, const struct prov_create *c, const char *image, struct arena *a,
    struct jsonw *w)
{
	const char *type = c->offer->instance_type;
	bool hyper =
	    str_starts(type, "a3-ultra") || str_starts(type, "a4") || str_starts(type, "g4-");

	jsonw_begin_array(w, "disks");
	jsonw_begin_object(w, NULL);
	jsonw_bool(w, "boot", true);
	jsonw_bool(w, "autoDelete", true);
	jsonw_begin_object(w, "initializeParams");
	jsonw_str(w, "sourceImage", image);
	jsonw_str(w, "diskSizeGb",
	    arena_printf(a, "%lld", (long long)prov_conf_int(g->env->conf, "disk_gib", 100)));
	jsonw_str(w, "diskType",
	    arena_printf(a, "zones/%s/diskTypes/%s", c->offer->zone,
		hyper ? "hyperdisk-balanced" : "pd-balanced"));
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_array(w);
}

static void
gcp_body_network(const struct gcp *g, const struct prov_create *c, struct arena *a, struct jsonw *w)
{
	const char *subnet = prov_conf_str(g->env->conf, "subnetwork", NULL), *at;

	jsonw_begin_array(w, "networkInterfaces");
	jsonw_begin_object(w, NULL);
	if (subnet == NULL || prov_conf_has(g->env->conf, "network"))
		jsonw_str(w, "network",
		    prov_conf_str(g->env->conf, "network", "global/networks/default"));
	if (subnet != NULL && (at = strstr(subnet, "REGION")) != NULL)
		subnet = arena_printf(a, "%.*s%s%s", (int)(at - subnet), subnet, c->offer->region,
		    at + strlen("REGION"));
	if (subnet != NULL)
		jsonw_str(w, "subnetwork", subnet);
	if (prov_conf_bool(g->env->conf, "external_ip", true)) {
		jsonw_begin_array(w, "accessConfigs");
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "type", "ONE_TO_ONE_NAT");
		jsonw_str(w, "name", "External NAT");
		jsonw_end_object(w);
		jsonw_end_array(w);
	}
	jsonw_end_object(w);
	jsonw_end_array(w);
}

/* Machines with cards cannot move: they end at host maintenance. What Google takes back it deletes,
 * disk and all. */
static void
gcp_body_scheduling(const struct prov_create *c, struct jsonw *w)
{
	bool spot = c->offer->purchase == PURCHASE_SPOT;

	jsonw_begin_object(w, "scheduling");
	jsonw_str(w, "provisioningModel", spot ? "SPOT" : "STANDARD");
	if (spot)
		jsonw_str(w, "instanceTerminationAction", "DELETE");
	jsonw_str(w, "onHostMaintenance", "TERMINATE");
	jsonw_bool(w, "automaticRestart", false);
	jsonw_end_object(w);
}

static void
gcp_body_rest(const struct gcp *g, const struct prov_create *c, struct jsonw *w)
{
	const char *key =
	    c->ssh_key != NULL ? c->ssh_key : prov_conf_str(g->env->conf, "ssh_key", NULL);
	const char *as = prov_conf_str(g->env->conf, "service_account", NULL);

	if (key != NULL || c->user_data != NULL) {
		jsonw_begin_object(w, "metadata");
		jsonw_begin_array(w, "items");
		if (key != NULL)
			gcp_meta(w, "ssh-keys", key);
		if (c->user_data != NULL)
			gcp_meta(w,
			    str_starts(c->user_data, "#cloud-config") ? "user-data"
								      : "startup-script",
			    c->user_data);
		jsonw_end_array(w);
		jsonw_end_object(w);
	}
	if (as != NULL) {
		jsonw_begin_array(w, "serviceAccounts");
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "email", as);
		jsonw_begin_array(w, "scopes");
		jsonw_str(w, NULL, "https://www.googleapis.com/auth/cloud-platform");
		jsonw_end_array(w);
		jsonw_end_object(w);
		jsonw_end_array(w);
	}
}

static void
gcp_body(const struct gcp *g, const struct prov_create *c, const char *name, const char *image,
    struct arena *a, struct jsonw *w)
{
	struct gcp_shape shape;

	gcp_shape_read(c->offer->instance_type, &shape);
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", name);
	jsonw_str(w, "machineType",
	    arena_printf(a, "zones/%s/machineTypes/%s", c->offer->zone, shape.type));
	gcp_labels(g, c->token, w);
	gcp_body_disk(g, c, image, a, w);
	gcp_body_network(g, c, a, w);
	gcp_body_scheduling(c, w);
	if (shape.cards > 0) {
		jsonw_begin_array(w, "guestAccelerators");
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "acceleratorType",
		    arena_printf(a, "projects/%s/zones/%s/acceleratorTypes/%s", g->project,
			c->offer->zone, shape.card));
		jsonw_int(w, "acceleratorCount", shape.cards);
		jsonw_end_object(w);
		jsonw_end_array(w);
	}
	gcp_body_rest(g, c, w);
	jsonw_end_object(w);
}

static enum berth_code
gcp_create_build(void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct gcp *g = st;
	const char *image =
		       c->image != NULL ? c->image : prov_conf_str(g->env->conf, "image", NULL),
		   *name = "";
	enum berth_code rc;
	struct jsonw w;
	struct buf b;

	if (gcp_tpu_is(c->offer->instance_type))
		return gcp_tpu_create_build(g, c, req, err);
	if (image == NULL)
		return err_set(err, BERTH_EPERMANENT,
		    "the account needs 'image' in berth.yaml: a boot image with the cards' "
		    "drivers");
	if (c->offer->zone[0] == '\0')
		return err_set(err, BERTH_EPERMANENT,
		    "a commitment is no machine: rent an offer of a zone, which it then pays for");
	if ((rc = gcp_name(g, req->arena, c->token, &name, err)) != BERTH_OK)
		return rc;
	buf_init(&b, GCP_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	gcp_body(g, c, name, image, req->arena, &w);
	rc = gcp_request(req, "POST", g->compute, err,
	    "compute/v1/projects/%s/zones/%s/instances?requestId=%s", g->project,
	    http_urlencode(req->arena, c->offer->zone), gcp_request_id(req->arena, c->token));
	if (rc != BERTH_OK) {
		buf_free(&b);
		return rc;
	}
	return wirejson_body(&w, &b, req, err);
}

/* An operation: the machine is asked for, and may yet be refused; the list tells (gcp_list.c). */
static enum berth_code
gcp_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const struct gcp *g = st;
	const char *target = "", *name = "", *op = "";
	bool tpu = gcp_tpu_is(c->offer->instance_type);
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc == BERTH_OK)
		rc = gcp_name(g, resp->arena, c->token, &name, err);
	root = jsonr_root(v, "answer");
	if (rc == BERTH_OK && (rc = jsonr_str(&root, "name", &op, err)) == BERTH_OK)
		rc = jsonr_str(&root, "targetLink", &target, err);
	if (rc == BERTH_OK && (op[0] == '\0' || (!tpu && !str_eq(gcp_tail(target), name))))
		rc = jsonr_err(
		    &root, BERTH_EINVAL, err, "no operation on the machine that was asked for");
	if (rc == BERTH_OK &&
	    snprintf(machine_out->ref, sizeof(machine_out->ref), "%s%s/%s", tpu ? GCP_TPU_REF : "",
		c->offer->zone, name) >= (int)sizeof(machine_out->ref))
		rc = jsonr_err(&root, BERTH_EINVAL, err, "the name is too long");
	json_decref(v);
	machine_out->state = PROV_PENDING;
	machine_out->purchase = c->offer->purchase;
	str_copy(machine_out->region, sizeof(machine_out->region), c->offer->region);
	str_copy(machine_out->zone, sizeof(machine_out->zone), c->offer->zone);
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type),
	    c->offer->instance_type);
	return rc;
}

static void
gcp_address(const struct jsonr *o, struct prov_machine *m)
{
	struct jsonr nics = jsonr_get(o, "networkInterfaces"), nic = jsonr_at(&nics, 0);
	struct jsonr configs = jsonr_get(&nic, "accessConfigs"), config = jsonr_at(&configs, 0);
	const char *ip = "";

	(void)!jsonr_str(&nic, "networkIP", &ip, NULL);
	(void)!jsonr_str(&config, "natIP", &ip, NULL);
	str_copy(m->address, sizeof(m->address), ip);
}

static enum berth_code
gcp_type_of(const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr cards = jsonr_get(o, "guestAccelerators"), card = jsonr_at(&cards, 0);
	const char *type = "", *name = "";
	int64_t n = 0;
	enum berth_code rc = jsonr_str(o, "machineType", &type, err);

	if (rc == BERTH_OK && (rc = jsonr_str(&card, "acceleratorType", &name, err)) == BERTH_OK)
		rc = jsonr_int(&card, "acceleratorCount", 0, 4096, &n, err);
	type = gcp_tail(type);
	if (rc != BERTH_OK)
		return rc;
	if (n > 0 && str_starts(type, "n1-"))
		snprintf(m->instance_type, sizeof(m->instance_type), "%s+%lldx%s", type,
		    (long long)n, gcp_tail(name));
	else
		str_copy(m->instance_type, sizeof(m->instance_type), type);
	return BERTH_OK;
}

enum berth_code
gcp_machine(const struct jsonr *o, struct arena *a, struct prov_machine *m, struct berth_err *err)
{
	static const char *const needed[] = { "name", "zone", "status", NULL };
	struct jsonr scheduling = jsonr_get(o, "scheduling");
	const char *name = "", *zone = "", *status = "", *model = "", *said = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "name", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "zone", &zone, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "status", &status, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "statusMessage", &said, err)) != BERTH_OK ||
	    (rc = jsonr_str(&scheduling, "provisioningModel", &model, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "creationTimestamp", &m->created, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "lastStartTimestamp", &m->ready_at, err)) != BERTH_OK ||
	    (rc = gcp_type_of(o, m, err)) != BERTH_OK)
		return rc;
	zone = gcp_tail(zone);
	if (snprintf(m->ref, sizeof(m->ref), "%s/%s", zone, name) >= (int)sizeof(m->ref) ||
	    !str_copy(m->zone, sizeof(m->zone), zone))
		return jsonr_err(o, BERTH_EINVAL, err, "name is too long");
	str_copy(m->region, sizeof(m->region), gcp_region(a, zone));
	gcp_read_labels(o, m);
	gcp_address(o, m);
	m->purchase = str_eq(model, "SPOT") ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	snprintf(m->detail, sizeof(m->detail), "%s%s%s", status, said[0] != '\0' ? ": " : "", said);
	m->state = PROV_PENDING; /* a word of tomorrow's API: it is there, it costs, and it is not
				    known to be usable */
	for (size_t i = 0; i < sizeof(gcp_states) / sizeof(gcp_states[0]); i++)
		if (str_eq(status, gcp_states[i].status))
			m->state = gcp_states[i].state;
	if (m->state == PROV_FAILED) {
		m->why = BERTH_EFAIL;
		m->preempted = m->purchase == PURCHASE_SPOT;
	}
	return BERTH_OK;
}

static enum berth_code
gcp_ref_build(const struct gcp *g, const char *method, const char *ref, struct http_req *req,
    struct berth_err *err)
{
	const char *zone, *name;

	if (str_starts(ref, GCP_TPU_REF))
		return gcp_tpu_ref_build(g, method, ref, req, err);
	if (!gcp_ref(ref, req->arena, &zone, &name))
		return err_set(err, BERTH_EINVAL, "'%s' is no machine of Google's: ZONE/NAME", ref);
	return gcp_request(req, method, g->compute, err,
	    "compute/v1/projects/%s/zones/%s/instances/%s", g->project, zone, name);
}

/* A status is the machine, and where there is none what the zone's operations say of its end. */
static bool
gcp_more(void *st, bool begin)
{
	struct gcp *g = st;

	if (begin)
		g->asking_why = g->more = false;
	return g->more;
}

static enum berth_code
gcp_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	const struct gcp *g = st;
	const char *zone, *name;

	req->any_status = !str_starts(ref, GCP_TPU_REF);
	if (!g->asking_why || !gcp_ref(ref, req->arena, &zone, &name))
		return gcp_ref_build(g, "GET", ref, req, err);
	return gcp_request(req, "GET", g->compute, err,
	    "compute/v1/projects/%s/zones/%s/operations?maxResults=500&filter=%s", g->project, zone,
	    http_urlencode(req->arena, GCP_ENDINGS));
}

/* A refusal in the place of a machine. */
static enum berth_code
gcp_status_refused(struct gcp *g, const struct http_resp *resp, struct berth_err *err)
{
	struct prov_error e;
	enum berth_code rc;

	(void)gcp_error_read(resp, &e);
	rc = prov_classify(&provider_gcp, resp, &e, false, NULL);
	g->more = g->asking_why = rc == BERTH_ENOTFOUND;
	return g->more ? BERTH_OK
		       : err_set(err, rc, "HTTP %d %s: %s", resp->status, e.code, e.text);
}

static enum berth_code
gcp_status_why(const struct gcp *g, const struct jsonr *root, const char *ref, struct arena *a,
    struct prov_machine *m, struct berth_err *err)
{
	struct jsonr items = jsonr_get(root, "items"), item;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&items); i++) {
		item = jsonr_at(&items, i);
		rc = gcp_operation(g, &item, a, m, err);
		if (rc == BERTH_OK && str_eq(m->ref, ref))
			return BERTH_OK;
	}
	return rc != BERTH_OK ? rc : err_set(err, BERTH_ENOTFOUND, "there is no such machine");
}

static enum berth_code
gcp_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct gcp *g = st;
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc;

	g->more = false;
	if (resp->status / 100 != 2)
		return !g->asking_why ? gcp_status_refused(g, resp, err)
				      : err_set(err, BERTH_ENOTFOUND, "there is no such machine");
	if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	if (g->asking_why)
		rc = gcp_status_why(g, &root, ref, resp->arena, machine_out, err);
	else
		rc = str_starts(ref, GCP_TPU_REF)
			 ? gcp_tpu_machine(&root, resp->arena, machine_out, err)
			 : gcp_machine(&root, resp->arena, machine_out, err);
	json_decref(v);
	return rc;
}

static enum berth_code
gcp_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return gcp_ref_build(st, "DELETE", ref, req, err);
}

/* An operation again; gone is only what is not found any more. */
static enum berth_code
gcp_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	static const char *const needed[] = { "name", NULL };
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_need(&root, needed, err);
	json_decref(v);
	str_copy(machine_out->ref, sizeof(machine_out->ref), ref);
	machine_out->state = PROV_ENDING;
	return rc;
}

const struct prov_lease_ops gcp_lease = {
	.create_build = gcp_create_build,
	.create_parse = gcp_create_parse,
	.status_build = gcp_status_build,
	.status_parse = gcp_status_parse,
	.more = gcp_more,
	.destroy_build = gcp_destroy_build,
	.destroy_parse = gcp_destroy_parse,
	.list_build = gcp_list_build,
	.list_parse = gcp_list_parse,
	.check_build = gcp_check_build,
	.check_parse = gcp_check_parse,
};
