#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/keyed.h"
#include "providers/lease.h"
#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/vast/vast.h"
#include "providers/wirejson.h"
#include "util/str.h"

#define VAST_LABEL_MAX 200

static const struct lease_state vast_states[] = {
	{ "created", PROV_PENDING },
	{ "loading", PROV_PENDING },
	{ "connecting", PROV_PENDING },
	{ "running", PROV_READY },
	/* A stopped contract keeps its disk, which costs until it is destroyed. */
	{ "exited", PROV_FAILED },
	{ "stopped", PROV_FAILED },
	{ "offline", PROV_FAILED },
	{ NULL, PROV_PENDING },
};

static enum berth_code
vast_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct vast *v = st;
	const char *image =
		       c->image != NULL ? c->image : prov_conf_str(v->env->conf, "image", NULL),
		   *label = "";
	const char *slash = strrchr(c->offer->instance_type, '/'),
		   *ask = slash != NULL ? slash + 1 : "";
	enum berth_code rc;
	struct jsonw w;
	struct buf b;

	if (image == NULL)
		return err_set(err, BERTH_EPERMANENT, "the account needs 'image' in berth.yaml");
	if (ask[0] == '\0' || ask[strspn(ask, "0123456789")] != '\0')
		return err_set(err, BERTH_EPERMANENT, "'%s' is no ask of Vast's: 1xRTX 4090/12345",
		    c->offer->instance_type);
	if ((rc = nametag_make(req->arena, v->env->installation, c->token, VAST_LABEL_MAX, &label,
		 err)) != BERTH_OK ||
	    (rc = keyed_request(v->env, req, "PUT", v->endpoint, err, "v0/asks/%s/", ask)) !=
		BERTH_OK)
		return rc;
	buf_init(&b, KEYED_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "image", image);
	jsonw_double(&w, "disk", v->disk_gib);
	jsonw_str(&w, "label", label);
	jsonw_str(&w, "runtype", "ssh_direc ssh_proxy");
	if (c->offer->purchase == PURCHASE_SPOT && usd_known(c->offer->price))
		jsonw_double(&w, "price", usd_to_double(c->offer->price));
	if (c->user_data != NULL)
		jsonw_str(&w, "onstart", c->user_data);
	jsonw_bool(&w, "cancel_unavail", true); /* no contract that waits for room, and costs */
	jsonw_end_object(&w);
	return keyed_body(req, &b, &w, err);
}

static enum berth_code
vast_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root;
	json_t *v = NULL;
	int64_t id = 0;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_int(&root, "new_contract", 1, INT64_MAX, &id, err);
	if (rc == BERTH_OK && id > 0)
		snprintf(machine_out->ref, sizeof(machine_out->ref), "%lld", (long long)id);
	json_decref(v);
	machine_out->state = PROV_PENDING;
	machine_out->purchase = c->offer->purchase;
	str_copy(machine_out->region, sizeof(machine_out->region), c->offer->region);
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type),
	    c->offer->instance_type);
	return rc;
}

/*
 * Where its ssh listens: machines are asked for direct connections, so the host's own address and
 * the port that stands for the container's 22 count first; the proxy's, which other contracts have,
 * where those are not told.
 */
static enum berth_code
vast_address(const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr ports = jsonr_get(o, "ports"), list = jsonr_get(&ports, "22/tcp"),
		     first = jsonr_at(&list, 0);
	const char *host = "", *own = "", *mapped = "";
	int64_t port = 0;
	enum berth_code rc;

	if ((rc = jsonr_str(o, "ssh_host", &host, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "ssh_port", 0, 65535, &port, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "public_ipaddr", &own, err)) != BERTH_OK ||
	    (rc = jsonr_str(&first, "HostPort", &mapped, err)) != BERTH_OK)
		return rc;
	if (own[0] != '\0' && mapped[0] != '\0') {
		host = own;
		if ((rc = str_to_i64(mapped, 1, 65535, &port, err)) != BERTH_OK)
			return jsonr_err(&first, BERTH_EINVAL, err, "'%.20s' is no port", mapped);
	}
	if (host[0] != '\0' && port > 0)
		snprintf(m->address, sizeof(m->address), "ssh://root@%.80s:%d", host, (int)port);
	return BERTH_OK;
}

static enum berth_code
vast_machine(const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	const char *label = "", *status = "created", *gpu = "";
	int64_t id = 0, cards = 0;
	double start = 0;
	bool bid = false;
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_int(o, "id", 1, INT64_MAX, &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "label", &label, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "actual_status", &status, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "gpu_name", &gpu, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "num_gpus", 0, 64, &cards, err)) != BERTH_OK ||
	    (rc = jsonr_bool(o, "is_bid", &bid, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "start_date", &start, err)) != BERTH_OK)
		return rc;
	if (id == 0)
		return jsonr_err(o, BERTH_EINVAL, err, "no id");
	snprintf(m->ref, sizeof(m->ref), "%lld", (long long)id);
	nametag_read(label, m);
	if (cards > 0 && gpu[0] != '\0')
		snprintf(m->instance_type, sizeof(m->instance_type), "%dx%.40s", (int)cards, gpu);
	if ((rc = vast_address(o, m, err)) != BERTH_OK)
		return rc;
	if (start > 0 && start < 1e10)
		m->created = (int64_t)start;
	str_copy(m->detail, sizeof(m->detail), status);
	m->purchase = bid ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	m->state = lease_state(vast_states, status);
	m->why = m->state == PROV_FAILED ? BERTH_EFAIL : BERTH_OK;
	m->preempted = m->state == PROV_FAILED && bid;
	return BERTH_OK;
}

static enum berth_code
vast_ref(const struct vast *v, const char *method, const char *ref, struct http_req *req,
    struct berth_err *err)
{
	if (ref[0] == '\0' || ref[strspn(ref, "0123456789")] != '\0')
		return err_set(err, BERTH_EINVAL, "'%s' is no contract of Vast's", ref);
	return keyed_request(v->env, req, method, v->endpoint, err, "v0/instances/%s/", ref);
}

static enum berth_code
vast_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return vast_ref(st, "GET", ref, req, err);
}

static enum berth_code
vast_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, one;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	one = jsonr_get(&root, "instances");
	rc = json_is_null(one.v) ? err_set(err, BERTH_ENOTFOUND, "no contract %.40s", ref)
				 : vast_machine(&one, machine_out, err);
	json_decref(v);
	return rc;
}

static enum berth_code
vast_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return vast_ref(st, "DELETE", ref, req, err);
}

static enum berth_code
vast_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root;
	json_t *v = NULL;
	bool done = false;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_bool(&root, "success", &done, err);
	if (rc == BERTH_OK && !done)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no success in the answer");
	json_decref(v);
	lease_ending(ref, machine_out);
	return rc;
}

static enum berth_code
vast_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	const struct vast *v = st;

	return keyed_request(v->env, req, "GET", v->endpoint, err, "v1/instances/?limit=100%s%s",
	    cur->next[0] != '\0' ? "&after_token=" : "", http_urlencode(req->arena, cur->next));
}

static enum berth_code
vast_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = lease_each(&root, "instances", "instances", vast_machine, emit, arg, err);
	if (rc == BERTH_OK)
		rc = wirejson_field(&root, "next_token", cur->next, sizeof(cur->next), err);
	json_decref(v);
	return rc;
}

const struct prov_lease_ops vast_lease = {
	.create_build = vast_create_build,
	.create_parse = vast_create_parse,
	.status_build = vast_status_build,
	.status_parse = vast_status_parse,
	.destroy_build = vast_destroy_build,
	.destroy_parse = vast_destroy_parse,
	.list_build = vast_list_build,
	.list_parse = vast_list_parse,
};
