#include <string.h>

#include "providers/lambda/lambda.h"
#include "providers/lease.h"
#include "providers/nametag.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"

#define LAMBDA_BODY_MAX 262144
#define LAMBDA_NAME_MAX 64 /* of an instance */

static const struct {
	const char *status;
	enum prov_state state;
} lambda_states[] = {
	{ "booting", PROV_PENDING },
	{ "active", PROV_READY },
	{ "unhealthy", PROV_FAILED },
	{ "terminating", PROV_ENDING },
	{ "terminated", PROV_GONE },
	{ "preempted", PROV_GONE },
};

static enum berth_code
lambda_machine(const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	static const char *const needed[] = { "id", "status", NULL };
	struct jsonr region = jsonr_get(o, "region"), type = jsonr_get(o, "instance_type");
	const char *name = "", *status = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	m->purchase = PURCHASE_ON_DEMAND;
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "id", m->ref, sizeof(m->ref), err)) != BERTH_OK ||
	    (rc = wirejson_field(o, "ip", m->address, sizeof(m->address), err)) != BERTH_OK ||
	    (rc = wirejson_field(&region, "name", m->region, sizeof(m->region), err)) != BERTH_OK ||
	    (rc = wirejson_field(&type, "name", m->instance_type, sizeof(m->instance_type), err)) !=
		BERTH_OK ||
	    (rc = jsonr_str(o, "name", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "status", &status, err)) != BERTH_OK)
		return rc;
	nametag_read(name, m); /* there are no tags */
	str_copy(m->detail, sizeof(m->detail), status);
	m->preempted = str_eq(status, "preempted");
	for (size_t i = 0; i < sizeof(lambda_states) / sizeof(lambda_states[0]); i++)
		if (str_eq(status, lambda_states[i].status)) {
			m->state = lambda_states[i].state;
			m->why = m->state == PROV_FAILED ? BERTH_EFAIL : BERTH_OK;
			return BERTH_OK;
		}
	m->state = PROV_PENDING; /* a word of tomorrow's API: it is there, it costs, and it is not
				    known to be usable */
	return BERTH_OK;
}

/* Whether a create can be asked for at all. */
static enum berth_code
lambda_may_create(const struct prov_create *c, const char *key, struct berth_err *err)
{
	if (c->offer->region[0] == '\0')
		return err_set(err, BERTH_ECAPACITY, "no region has this machine now");
	if (key == NULL)
		return err_set(err, BERTH_EPERMANENT,
		    "the account needs 'ssh_key' in berth.yaml: the name of a key that Lambda has");
	return BERTH_OK;
}

static void
lambda_create_body(const struct prov_create *c, const char *key, const char *name, struct jsonw *w)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "region_name", c->offer->region);
	jsonw_str(w, "instance_type_name", c->offer->instance_type);
	jsonw_begin_array(w, "ssh_key_names");
	jsonw_str(w, NULL, key);
	jsonw_end_array(w);
	jsonw_str(w, "name", name);
	if (c->image != NULL) {
		jsonw_begin_object(w, "image");
		jsonw_str(w, "id", c->image);
		jsonw_end_object(w);
	}
	if (c->user_data != NULL)
		jsonw_str(w, "user_data", c->user_data);
	jsonw_end_object(w);
}

/* Ends the body, and makes it a POST. */
static enum berth_code
lambda_post(const struct lambda *l, struct http_req *req, const char *path, struct buf *b,
    struct jsonw *w, struct berth_err *err)
{
	enum berth_code rc = jsonw_finish(w, err);

	if (rc == BERTH_OK)
		rc = lambda_request(l, req, "POST", path, err);
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b->p, b->len, err);
	buf_free(b);
	return rc;
}

static enum berth_code
lambda_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct lambda *l = st;
	const char *key = c->ssh_key != NULL ? c->ssh_key : l->ssh_key, *name = "";
	enum berth_code rc = lambda_may_create(c, key, err);
	struct jsonw w;
	struct buf b;

	if (rc == BERTH_OK)
		rc = nametag_make(
		    req->arena, l->env->installation, c->token, LAMBDA_NAME_MAX, &name, err);
	if (rc != BERTH_OK)
		return rc;
	buf_init(&b, LAMBDA_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	lambda_create_body(c, key, name, &w);
	return lambda_post(l, req, "instance-operations/launch", &b, &w, err);
}

static enum berth_code
lambda_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, data, ids;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	data = jsonr_get(&root, "data");
	rc = jsonr_array(&data, "instance_ids", &ids, err);
	if (rc == BERTH_OK &&
	    (jsonr_len(&ids) != 1 || json_string_value(json_array_get(ids.v, 0)) == NULL))
		rc = jsonr_err(&data, BERTH_EINVAL, err, "instance_ids is not one id");
	if (rc == BERTH_OK && !str_copy(machine_out->ref, sizeof(machine_out->ref),
				  json_string_value(json_array_get(ids.v, 0))))
		rc = jsonr_err(&data, BERTH_EINVAL, err, "the id is too long");
	json_decref(v);
	machine_out->state = PROV_PENDING;
	machine_out->purchase = PURCHASE_ON_DEMAND;
	str_copy(machine_out->region, sizeof(machine_out->region), c->offer->region);
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type),
	    c->offer->instance_type);
	return rc;
}

static enum berth_code
lambda_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return lambda_request(st, req, "GET",
	    arena_printf(req->arena, "instances/%s", http_urlencode(req->arena, ref)), err);
}

static enum berth_code
lambda_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)ref;
	return lease_one(resp, "data", lambda_machine, machine_out, err);
}

static enum berth_code
lambda_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	struct jsonw w;
	struct buf b;

	buf_init(&b, LAMBDA_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_begin_array(&w, "instance_ids");
	jsonw_str(&w, NULL, ref);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	return lambda_post(st, req, "instance-operations/terminate", &b, &w, err);
}

/* The answer may still say "booting" or "active" of a machine that is on its way out: only
 * "terminated" is gone. */
static enum berth_code
lambda_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, data, list, item;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	data = jsonr_get(&root, "data");
	rc = jsonr_array(&data, "terminated_instances", &list, err);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = lambda_machine(&item, machine_out, err);
		if (rc == BERTH_OK && str_eq(machine_out->ref, ref))
			break;
	}
	if (rc == BERTH_OK && !str_eq(machine_out->ref, ref))
		rc = jsonr_err(&root, BERTH_EINVAL, err, "the answer does not name the machine");
	if (rc == BERTH_OK && machine_out->state != PROV_GONE)
		machine_out->state = PROV_ENDING;
	json_decref(v);
	return rc;
}

static enum berth_code
lambda_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)cur;
	return lambda_request(st, req, "GET", "instances", err);
}

static enum berth_code
lambda_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st, (void)cur;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = lease_each(&root, "data", "machines", lambda_machine, emit, arg, err);
	json_decref(v);
	return rc;
}

const struct prov_lease_ops lambda_lease = {
	.create_build = lambda_create_build,
	.create_parse = lambda_create_parse,
	.status_build = lambda_status_build,
	.status_parse = lambda_status_parse,
	.destroy_build = lambda_destroy_build,
	.destroy_parse = lambda_destroy_parse,
	.list_build = lambda_list_build,
	.list_parse = lambda_list_parse,
};
