#include <stdio.h>
#include <string.h>

#include "providers/azure/azure.h"
#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"

#define AZURE_BODY_MAX 262144
#define AZURE_NAME_MAX 64 /* of a Linux machine */
#define AZURE_VM "subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/virtualMachines/%s"

/* The name is the token: a PUT of the same name is the same machine. */
static enum berth_code
azure_name(const struct azure *z, struct arena *a, const char *token, const char **name_out,
    struct berth_err *err)
{
	enum berth_code rc =
	    nametag_make(a, z->env->installation, token, AZURE_NAME_MAX, name_out, err);

	if (rc == BERTH_OK &&
	    (*name_out)[strspn(*name_out, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
		return err_set(
		    err, BERTH_EPERMANENT, "'%s' is no name that Azure takes", *name_out);
	return rc;
}

static enum berth_code
azure_may(const struct azure *z, struct berth_err *err)
{
	static const char *const needed[] = { "subscription", "resource_group" };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!prov_conf_has(z->env->conf, needed[i]))
			return err_set(
			    err, BERTH_EPERMANENT, "machines want '%s' in berth.yaml", needed[i]);
	return BERTH_OK;
}

/* "PUBLISHER:OFFER:SKU:VERSION", or the id of an image or of a gallery's. */
static void
azure_body_image(const char *image, struct arena *a, struct jsonw *w)
{
	static const char *const keys[] = { "publisher", "offer", "sku", "version" };
	size_t n = 0;
	char **parts = str_split(a, image, ':', &n);

	jsonw_begin_object(w, "imageReference");
	if (image[0] == '/' || n != 4)
		jsonw_str(w, "id", image);
	else
		for (size_t i = 0; i < 4; i++)
			jsonw_str(w, keys[i], parts[i]);
	jsonw_end_object(w);
}

static void
azure_body_storage(const struct azure *z, const char *image, struct arena *a, struct jsonw *w)
{
	jsonw_begin_object(w, "storageProfile");
	azure_body_image(image, a, w);
	jsonw_begin_object(w, "osDisk");
	jsonw_str(w, "createOption", "FromImage");
	jsonw_str(w, "deleteOption", "Delete");
	jsonw_int(w, "diskSizeGB", prov_conf_int(z->env->conf, "disk_gib", 128));
	jsonw_begin_object(w, "managedDisk");
	jsonw_str(w, "storageAccountType", "Premium_LRS");
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

static void
azure_body_os(const struct azure *z, const struct prov_create *c, const char *name, const char *key,
    struct arena *a, struct jsonw *w)
{
	const char *user = prov_conf_str(z->env->conf, "admin_user", "berth");

	jsonw_begin_object(w, "osProfile");
	jsonw_str(w, "computerName", name);
	jsonw_str(w, "adminUsername", user);
	if (c->user_data != NULL)
		jsonw_str(w, "customData", wirejson_base64(a, c->user_data));
	jsonw_begin_object(w, "linuxConfiguration");
	jsonw_bool(w, "disablePasswordAuthentication", true);
	jsonw_begin_object(w, "ssh");
	jsonw_begin_array(w, "publicKeys");
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "path", arena_printf(a, "/home/%s/.ssh/authorized_keys", user));
	jsonw_str(w, "keyData", key);
	jsonw_end_object(w);
	jsonw_end_array(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

static void
azure_body_public_ip(struct jsonw *w)
{
	jsonw_begin_object(w, "publicIPAddressConfiguration");
	jsonw_str(w, "name", "berth");
	jsonw_begin_object(w, "properties");
	jsonw_str(w, "deleteOption", "Delete");
	jsonw_str(w, "publicIPAllocationMethod", "Static");
	jsonw_end_object(w);
	jsonw_begin_object(w, "sku");
	jsonw_str(w, "name", "Standard");
	jsonw_end_object(w);
	jsonw_end_object(w);
}

/* Card and address are made with the machine and go with it. */
static void
azure_body_network(const struct azure *z, const char *subnet, struct jsonw *w)
{
	jsonw_begin_object(w, "networkProfile");
	jsonw_str(w, "networkApiVersion", AZURE_NETWORK_API);
	jsonw_begin_array(w, "networkInterfaceConfigurations");
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", "berth");
	jsonw_begin_object(w, "properties");
	jsonw_bool(w, "primary", true);
	jsonw_str(w, "deleteOption", "Delete");
	jsonw_begin_array(w, "ipConfigurations");
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", "berth");
	jsonw_begin_object(w, "properties");
	jsonw_begin_object(w, "subnet");
	jsonw_str(w, "id", subnet);
	jsonw_end_object(w);
	if (prov_conf_bool(z->env->conf, "public_ip", true))
		azure_body_public_ip(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_array(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_array(w);
	jsonw_end_object(w);
}

struct azure_make {
	const char *name, *image, *key, *subnet;
};

static void
azure_body(const struct azure *z, const struct prov_create *c, const struct azure_make *k,
    struct arena *a, struct jsonw *w)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "location", c->offer->region);
	jsonw_begin_object(w, "tags");
	jsonw_str(w, "berth-installation", z->env->installation);
	jsonw_str(w, "berth-token", c->token);
	jsonw_end_object(w);
	if (c->offer->zone[0] != '\0') {
		jsonw_begin_array(w, "zones");
		jsonw_str(w, NULL, c->offer->zone);
		jsonw_end_array(w);
	}
	jsonw_begin_object(w, "properties");
	jsonw_begin_object(w, "hardwareProfile");
	jsonw_str(w, "vmSize", c->offer->instance_type);
	jsonw_end_object(w);
	azure_body_storage(z, k->image, a, w);
	azure_body_os(z, c, k->name, k->key, a, w);
	azure_body_network(z, k->subnet, w);
	if (c->offer->purchase == PURCHASE_SPOT) {
		jsonw_str(w, "priority", "Spot");
		jsonw_str(w, "evictionPolicy", "Delete");
		jsonw_begin_object(w, "billingProfile");
		jsonw_int(w, "maxPrice",
		    -1); /* up to the price on demand: taken back for capacity alone */
		jsonw_end_object(w);
	}
	jsonw_end_object(w);
	jsonw_end_object(w);
}

static enum berth_code
azure_make_read(const struct azure *z, const struct prov_create *c, struct arena *a,
    struct azure_make *k, struct berth_err *err)
{
	const char *at;
	enum berth_code rc = azure_may(z, err);

	if (rc == BERTH_OK)
		rc = azure_name(z, a, c->token, &k->name, err);
	if (rc != BERTH_OK)
		return rc;
	k->image = c->image != NULL ? c->image : prov_conf_str(z->env->conf, "image", NULL);
	k->key = c->ssh_key != NULL ? c->ssh_key : prov_conf_str(z->env->conf, "ssh_key", NULL);
	k->subnet = prov_conf_str(z->env->conf, "subnet", NULL);
	if (k->image == NULL || k->key == NULL || k->subnet == NULL)
		return err_set(err, BERTH_EPERMANENT, "machines want '%s' in berth.yaml",
		    k->image == NULL ? "image"
		    : k->key == NULL ? "ssh_key"
				     : "subnet");
	if ((at = strstr(k->subnet, "LOCATION")) != NULL)
		k->subnet = arena_printf(a, "%.*s%s%s", (int)(at - k->subnet), k->subnet,
		    c->offer->region, at + strlen("LOCATION"));
	return BERTH_OK;
}

static enum berth_code
azure_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct azure *z = st;
	struct azure_make k = { NULL, NULL, NULL, NULL };
	struct jsonw w;
	struct buf b;
	enum berth_code rc = azure_make_read(z, c, req->arena, &k, err);

	if (rc == BERTH_OK)
		rc = azure_request(z, req, "PUT", err, AZURE_VM "?api-version=" AZURE_COMPUTE_API,
		    z->subscription, z->group, k.name);
	if (rc != BERTH_OK)
		return rc;
	buf_init(&b, AZURE_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	azure_body(z, c, &k, req->arena, &w);
	return wirejson_body(&w, &b, req, err);
}

/* Codes of an instance view: "PowerState/running", "ProvisioningState/failed/AllocationFailed". */
static void
azure_statuses(const struct jsonr *properties, const char **power_out, struct prov_error *e)
{
	struct jsonr view = jsonr_get(properties, "instanceView"),
		     list = jsonr_get(&view, "statuses"), item;
	const char *code, *text;

	*power_out = "";
	for (size_t i = 0; i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		code = text = "";
		(void)!jsonr_str(&item, "code", &code, NULL);
		(void)!jsonr_str(&item, "message", &text, NULL);
		if (str_istarts(code, "PowerState/"))
			*power_out = code + strlen("PowerState/");
		if (str_istarts(code, "ProvisioningState/failed")) {
			code += strlen("ProvisioningState/failed");
			str_copy(e->code, sizeof(e->code), code[0] == '/' ? code + 1 : "");
			str_copy(e->text, sizeof(e->text), text);
		}
	}
}

static void
azure_state(const char *provisioning, const char *power, struct prov_machine *m)
{
	m->state = PROV_PENDING; /* Creating, Updating, starting; a word of tomorrow's API is not
				    known to be usable */
	if (str_ieq(provisioning, "Deleting"))
		m->state = PROV_ENDING;
	else if (str_ieq(provisioning, "Failed"))
		m->state = PROV_FAILED;
	else if (str_ieq(power, "running"))
		m->state = str_ieq(provisioning, "Creating") ? PROV_PENDING : PROV_READY;
	else if (str_ieq(power, "deallocated") || str_ieq(power, "deallocating") ||
		 str_ieq(power, "stopped") || str_ieq(power, "stopping"))
		m->state = PROV_FAILED; /* disks cost on, until it is destroyed */
}

static enum berth_code
azure_read_tags(const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr tags = jsonr_get(o, "tags");
	enum berth_code rc = wirejson_field(
	    &tags, "berth-installation", m->installation, sizeof(m->installation), err);

	return rc == BERTH_OK
		   ? wirejson_field(&tags, "berth-token", m->token, sizeof(m->token), err)
		   : rc;
}

enum berth_code
azure_machine(
    const struct azure *z, const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	static const char *const needed[] = { "name", "location", "properties", NULL };
	struct jsonr properties = jsonr_get(o, "properties"),
		     hardware = jsonr_get(&properties, "hardwareProfile");
	struct jsonr zones = jsonr_get(o, "zones");
	const char *provisioning = "", *priority = "", *power;
	struct prov_error e = { "", "" };
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "name", m->ref, sizeof(m->ref), err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "location", m->region, sizeof(m->region), err)) != BERTH_OK ||
	    (rc = wirejson_field(&hardware, "vmSize", m->instance_type, sizeof(m->instance_type),
		 err)) != BERTH_OK ||
	    (rc = azure_read_tags(o, m, err)) != BERTH_OK ||
	    (rc = jsonr_str(&properties, "provisioningState", &provisioning, err)) != BERTH_OK ||
	    (rc = jsonr_str(&properties, "priority", &priority, err)) != BERTH_OK ||
	    (rc = jsonr_time(&properties, "timeCreated", &m->created, err)) != BERTH_OK)
		return rc;
	if (json_is_string(json_array_get(zones.v, 0)))
		str_copy(m->zone, sizeof(m->zone), json_string_value(json_array_get(zones.v, 0)));
	m->purchase = str_ieq(priority, "Spot") || str_ieq(priority, "Low") ? PURCHASE_SPOT
									    : PURCHASE_ON_DEMAND;
	str_copy(m->address, sizeof(m->address), azure_address(z, m->ref));
	azure_statuses(&properties, &power, &e);
	azure_state(provisioning, power, m);
	snprintf(m->detail, sizeof(m->detail), "%s%s%s", provisioning, power[0] != '\0' ? ", " : "",
	    power);
	if (m->state != PROV_FAILED)
		return BERTH_OK;
	m->preempted = m->purchase == PURCHASE_SPOT && str_istarts(power, "dealloc");
	m->why = e.code[0] != '\0'                 ? azure_classify(&e)
		 : str_ieq(provisioning, "Failed") ? BERTH_ECAPACITY
						   : BERTH_EFAIL;
	if (e.code[0] != '\0')
		snprintf(m->detail, sizeof(m->detail), "%.60s: %.120s", e.code, e.text);
	return BERTH_OK;
}

static enum berth_code
azure_machine_of(const struct azure *z, const struct http_resp *resp, struct prov_machine *m,
    struct berth_err *err)
{
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = azure_machine(z, &root, m, err);
	json_decref(v);
	return rc;
}

/* 201 with the machine as far as it is: what is refused later shows in its instance view, and it
 * stays until deleted. */
static enum berth_code
azure_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const struct azure *z = st;
	const char *name = "";
	enum berth_code rc = azure_name(z, resp->arena, c->token, &name, err);

	if (rc == BERTH_OK)
		rc = azure_machine_of(z, resp, machine_out, err);
	if (rc == BERTH_OK && !str_ieq(machine_out->ref, name))
		rc = err_set(err, BERTH_EINVAL,
		    "the answer is about '%.64s', not about the machine that was asked for",
		    machine_out->ref);
	return rc;
}

static enum berth_code
azure_ref_build(const struct azure *z, const char *method, const char *ref, const char *more,
    struct http_req *req, struct berth_err *err)
{
	enum berth_code rc = azure_may(z, err);

	if (rc != BERTH_OK)
		return rc;
	if (ref[0] == '\0' || ref[0] == '.')
		return err_set(err, BERTH_EINVAL, "'%s' is no name of a machine", ref);
	return azure_request(z, req, method, err, AZURE_VM "?api-version=" AZURE_COMPUTE_API "%s",
	    z->subscription, z->group, http_urlencode(req->arena, ref), more);
}

static enum berth_code
azure_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return azure_ref_build(st, "GET", ref, "&$expand=instanceView", req, err);
}

static enum berth_code
azure_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)ref;
	return azure_machine_of(st, resp, machine_out, err);
}

static enum berth_code
azure_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return azure_ref_build(st, "DELETE", ref, "&forceDeletion=true", req, err);
}

/* 202 is on its way, 204 was not there. */
static enum berth_code
azure_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)err;
	str_copy(machine_out->ref, sizeof(machine_out->ref), ref);
	machine_out->state = resp->status == 204 ? PROV_GONE : PROV_ENDING;
	return BERTH_OK;
}

const struct prov_lease_ops azure_lease = {
	.create_build = azure_create_build,
	.create_parse = azure_create_parse,
	.status_build = azure_status_build,
	.status_parse = azure_status_parse,
	.destroy_build = azure_destroy_build,
	.destroy_parse = azure_destroy_parse,
	.list_build = azure_list_build,
	.list_parse = azure_list_parse,
	.check_build = azure_check_build,
	.check_parse = azure_check_parse,
};
