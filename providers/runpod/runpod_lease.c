#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/runpod/runpod.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define RUNPOD_NAME_MAX 191
#define RUNPOD_POD                                                                                 \
	"id name desiredStatus gpuCount costPerHr podType machine { gpuTypeId location } "         \
	"runtime { uptimeInSeconds ports { ip isIpPublic privatePort publicPort type } }"

struct runpod_make {
	const struct runpod *r;
	const struct prov_create *c;
	const char *name, *image, *type, *ref;
	int64_t cards;
};

/* "secure:4xNVIDIA L4". */
static bool
runpod_shape(const char *type, struct runpod_make *k)
{
	const char *colon = strchr(type, ':'), *p;

	k->cards = 0;
	for (p = colon != NULL ? colon + 1 : ""; str_is_digit(*p) && k->cards < 1000; p++)
		k->cards = k->cards * 10 + (*p - '0');
	k->type = p + 1;
	return *p == 'x' && k->cards > 0 && p[1] != '\0';
}

static void
runpod_write_pod(void *arg, struct jsonw *w)
{
	const struct runpod_make *k = arg;
	const char *key =
	    k->c->ssh_key != NULL ? k->c->ssh_key : prov_conf_str(k->r->env->conf, "ssh_key", NULL);

	jsonw_str(w, "cloudType",
	    str_starts(k->c->offer->instance_type, "secure:") ? "SECURE" : "COMMUNITY");
	jsonw_int(w, "gpuCount", k->cards);
	jsonw_str(w, "gpuTypeId", k->type);
	jsonw_str(w, "name", k->name);
	jsonw_str(w, "imageName", k->image);
	jsonw_int(w, "containerDiskInGb", prov_conf_int(k->r->env->conf, "disk_gib", 50));
	jsonw_int(w, "volumeInGb", 0);
	jsonw_str(w, "ports", "22/tcp");
	jsonw_bool(w, "startSsh", true);
	jsonw_bool(w, "supportPublicIp", true);
	if (k->c->offer->purchase == PURCHASE_SPOT)
		jsonw_double(w, "bidPerGpu", usd_to_double(k->c->offer->price) / (double)k->cards);
	jsonw_begin_array(w, "env");
	if (key != NULL) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "key", "PUBLIC_KEY");
		jsonw_str(w, "value", key);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	if (k->c->user_data != NULL)
		jsonw_str(w, "dockerArgs", k->c->user_data);
}

static enum berth_code
runpod_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	struct runpod_make k = { .r = st, .c = c, .image = c->image };
	enum berth_code rc;

	if (k.image == NULL)
		k.image = prov_conf_str(k.r->env->conf, "image", NULL);
	if (k.image == NULL)
		return err_set(err, BERTH_EPERMANENT,
		    "the account needs 'image' in berth.yaml: a container image with sshd");
	if (!runpod_shape(c->offer->instance_type, &k))
		return err_set(err, BERTH_EPERMANENT,
		    "'%s' is no type of RunPod's: secure:4xNVIDIA L4", c->offer->instance_type);
	rc = nametag_make(
	    req->arena, k.r->env->installation, c->token, RUNPOD_NAME_MAX, &k.name, err);
	if (rc != BERTH_OK)
		return rc;
	if (c->offer->purchase == PURCHASE_SPOT)
		return runpod_query(k.r, req,
		    "mutation($input: PodRentInterruptableInput!) { podRentInterruptable(input: "
		    "$input) { id desiredStatus costPerHr machineId } }",
		    runpod_write_pod, &k, err);
	return runpod_query(k.r, req,
	    "mutation($input: PodFindAndDeployOnDemandInput) { podFindAndDeployOnDemand(input: "
	    "$input) { id desiredStatus costPerHr machineId } }",
	    runpod_write_pod, &k, err);
}

/* No pod and no error is no room as well. */
static enum berth_code
runpod_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, data, pod;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	data = jsonr_get(&root, "data");
	pod = jsonr_get(&data, c->offer->purchase == PURCHASE_SPOT ? "podRentInterruptable"
								   : "podFindAndDeployOnDemand");
	if (json_is_object(data.v) && json_is_null(pod.v))
		rc = err_set(err, BERTH_ECAPACITY, "no pod was made, and no reason given");
	else
		rc = wirejson_field(&pod, "id", machine_out->ref, sizeof(machine_out->ref), err);
	json_decref(v);
	machine_out->state = PROV_PENDING;
	machine_out->purchase = c->offer->purchase;
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type),
	    c->offer->instance_type);
	return rc;
}

/* Where sshd answers: a port of the host, which ssh takes as a URI. */
static enum berth_code
runpod_address(const struct jsonr *runtime, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr ports = jsonr_get(runtime, "ports"), port;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&ports); i++) {
		int64_t inner = 0, outer = 0;
		const char *ip = "", *type = "";
		bool open = false;

		port = jsonr_at(&ports, i);
		if ((rc = jsonr_int(&port, "privatePort", 0, 65535, &inner, err)) != BERTH_OK ||
		    (rc = jsonr_int(&port, "publicPort", 0, 65535, &outer, err)) != BERTH_OK ||
		    (rc = jsonr_str(&port, "ip", &ip, err)) != BERTH_OK ||
		    (rc = jsonr_str(&port, "type", &type, err)) != BERTH_OK ||
		    (rc = jsonr_bool(&port, "isIpPublic", &open, err)) != BERTH_OK)
			break;
		if (inner == 22 && open && str_eq(type, "tcp") && ip[0] != '\0')
			snprintf(
			    m->address, sizeof(m->address), "ssh://root@%.60s:%d", ip, (int)outer);
	}
	return rc;
}

static enum berth_code
runpod_machine(
    const struct runpod *r, const struct jsonr *pod, struct prov_machine *m, struct berth_err *err)
{
	static const char *const needed[] = { "id", "desiredStatus", NULL };
	struct jsonr runtime = jsonr_get(pod, "runtime"), machine = jsonr_get(pod, "machine");
	const char *name = "", *status = "", *kind = "", *gpu = "";
	int64_t cards = 0;
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_need(pod, needed, err)) != BERTH_OK ||
	    (rc = wirejson_field(pod, "id", m->ref, sizeof(m->ref), err)) != BERTH_OK ||
	    (rc = jsonr_str(pod, "name", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(pod, "desiredStatus", &status, err)) != BERTH_OK ||
	    (rc = jsonr_str(pod, "podType", &kind, err)) != BERTH_OK ||
	    (rc = jsonr_int(pod, "gpuCount", 0, 1000, &cards, err)) != BERTH_OK ||
	    (rc = jsonr_str(&machine, "gpuTypeId", &gpu, err)) != BERTH_OK ||
	    (rc = wirejson_field(&machine, "location", m->region, sizeof(m->region), err)) !=
		BERTH_OK ||
	    (rc = runpod_address(&runtime, m, err)) != BERTH_OK)
		return rc;
	nametag_read(name, m);
	if (cards > 0 && gpu[0] != '\0')
		snprintf(m->instance_type, sizeof(m->instance_type), "%s:%dx%s",
		    r->secure ? "secure" : "community", (int)cards, gpu);
	str_copy(m->detail, sizeof(m->detail), status);
	m->purchase = str_eq(kind, "INTERRUPTABLE") ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	if (str_eq(status, "RUNNING"))
		m->state = jsonr_none(&runtime) ? PROV_PENDING : PROV_READY;
	else if (str_eq(status, "TERMINATED"))
		m->state = PROV_GONE;
	else if (str_eq(status, "EXITED") || str_eq(status, "DEAD")) {
		m->state = PROV_FAILED; /* its disk costs on, until it is terminated */
		m->why = BERTH_EFAIL;
		m->preempted = m->purchase == PURCHASE_SPOT;
	} else
		m->state = PROV_PENDING;
	return BERTH_OK;
}

static void
runpod_write_id(void *arg, struct jsonw *w)
{
	jsonw_str(w, "podId", arg);
}

static enum berth_code
runpod_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return runpod_query(st, req,
	    "query($input: PodFilter) { pod(input: $input) { " RUNPOD_POD " } }", runpod_write_id,
	    (void *)(uintptr_t)ref, err);
}

static enum berth_code
runpod_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, data, pod;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	data = jsonr_get(&root, "data");
	pod = jsonr_get(&data, "pod");
	rc = json_is_null(pod.v) ? err_set(err, BERTH_ENOTFOUND, "no pod %.100s", ref)
				 : runpod_machine(st, &pod, machine_out, err);
	json_decref(v);
	return rc;
}

static enum berth_code
runpod_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return runpod_query(st, req,
	    "mutation($input: PodTerminateInput!) { podTerminate(input: $input) }", runpod_write_id,
	    (void *)(uintptr_t)ref, err);
}

static enum berth_code
runpod_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, data;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_object(&root, "data", &data, err);
	if (rc == BERTH_OK && data.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no data in the answer");
	json_decref(v);
	str_copy(machine_out->ref, sizeof(machine_out->ref), ref);
	machine_out->state = PROV_ENDING;
	return rc;
}

static enum berth_code
runpod_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)cur;
	return runpod_query(
	    st, req, "query { myself { pods { " RUNPOD_POD " } } }", NULL, NULL, err);
}

static enum berth_code
runpod_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, data, myself, list, item;
	struct prov_machine m;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)cur;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	data = jsonr_get(&root, "data");
	myself = jsonr_get(&data, "myself");
	rc = jsonr_array(&myself, "pods", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no pods in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = runpod_machine(st, &item, &m, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &m, err);
	}
	json_decref(v);
	return rc;
}

const struct prov_lease_ops runpod_lease = {
	.create_build = runpod_create_build,
	.create_parse = runpod_create_parse,
	.status_build = runpod_status_build,
	.status_parse = runpod_status_parse,
	.destroy_build = runpod_destroy_build,
	.destroy_parse = runpod_destroy_parse,
	.list_build = runpod_list_build,
	.list_parse = runpod_list_parse,
};
