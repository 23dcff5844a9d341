#include <string.h>

#include "providers/prov.h"
#include "providers/replay/replay_int.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"

#define REPLAY_BODY_MAX 65536

static bool
replay_state_parse(const char *s, enum prov_state *out)
{
	for (int i = 0; i < PROV_STATE_COUNT; i++)
		if (str_eq(s, prov_state_name((enum prov_state)i))) {
			*out = (enum prov_state)i;
			return true;
		}
	return false;
}

static enum berth_code
replay_why(const char *name)
{
	for (int i = 0; i < BERTH_CODE_COUNT; i++)
		if (str_eq(name, err_name((enum berth_code)i)))
			return (enum berth_code)i;
	return BERTH_EFAIL;
}

/* A string of the answer into its place; what does not fit is refused, for half an id is another id. */
static enum berth_code
replay_field(const struct jsonr *o, const char *key, char *dst, size_t size, struct berth_err *err)
{
	const char *s = "";
	enum berth_code rc = jsonr_str(o, key, &s, err);

	if (rc == BERTH_OK && !str_copy(dst, size, s))
		return jsonr_err(o, BERTH_EINVAL, err, "%s is too long", key);
	return rc;
}

static enum berth_code
replay_machine_words(const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr tags = jsonr_get(o, "tags");
	enum berth_code rc;

	if ((rc = replay_field(o, "id", m->ref, sizeof(m->ref), err)) != BERTH_OK ||
	    (rc = replay_field(&tags, "token", m->token, sizeof(m->token), err)) != BERTH_OK ||
	    (rc = replay_field(&tags, "installation", m->installation, sizeof(m->installation), err)) != BERTH_OK ||
	    (rc = replay_field(o, "instance_type", m->instance_type, sizeof(m->instance_type), err)) != BERTH_OK ||
	    (rc = replay_field(o, "region", m->region, sizeof(m->region), err)) != BERTH_OK ||
	    (rc = replay_field(o, "zone", m->zone, sizeof(m->zone), err)) != BERTH_OK ||
	    (rc = replay_field(o, "address", m->address, sizeof(m->address), err)) != BERTH_OK)
		return rc;
	return replay_field(o, "detail", m->detail, sizeof(m->detail), err);
}

enum berth_code
replay_machine_read(const struct jsonr *o, struct prov_machine *out, struct berth_err *err)
{
	static const char *const needed[] = { "id", "state", "purchase", NULL };
	const char *state = "", *purchase = "", *why = NULL;
	enum berth_code rc;

	memset(out, 0, sizeof(*out));
	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK || (rc = replay_machine_words(o, out, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "state", &state, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "purchase", &purchase, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "why", &why, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "created", &out->created, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "ready_at", &out->ready_at, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "notice_at", &out->notice_at, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "reclaim_at", &out->reclaim_at, err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "ended", &out->ended, err)) != BERTH_OK ||
	    (rc = jsonr_bool(o, "preempted", &out->preempted, err)) != BERTH_OK)
		return rc;
	if (!replay_state_parse(state, &out->state) || !purchase_parse(purchase, &out->purchase))
		return jsonr_err(o, BERTH_EINVAL, err, "state '%s', purchase '%s'", state, purchase);
	out->why = why != NULL ? replay_why(why) : BERTH_OK;
	return BERTH_OK;
}

enum berth_code
replay_machines_read(const struct http_resp *resp, prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, list, item;
	struct prov_machine m;
	json_t *v = NULL;
	enum berth_code rc;

	if ((rc = jsonr_parse(resp->body, resp->body_len, "machines", &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "machines");
	rc = jsonr_array(&root, "machines", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_EINVAL, err, "no machines in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = replay_machine_read(&item, &m, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &m, err);
	}
	json_decref(v);
	return rc;
}

static enum berth_code
replay_one_machine(const struct http_resp *resp, struct prov_machine *out, struct berth_err *err)
{
	struct jsonr root, m;
	json_t *v = NULL;
	enum berth_code rc;

	if ((rc = jsonr_parse(resp->body, resp->body_len, "machine", &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "machine");
	m = jsonr_get(&root, "machine");
	rc = replay_machine_read(&m, out, err);
	json_decref(v);
	return rc;
}

static enum berth_code
replay_create_build(void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct replay *r = st;
	const struct offer *o = c->offer;
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	buf_init(&b, REPLAY_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "token", c->token);
	jsonw_str(&w, "installation", r->env->installation);
	jsonw_str(&w, "provider", o->provider);
	jsonw_str(&w, "region", o->region);
	jsonw_str(&w, "zone", o->zone);
	jsonw_str(&w, "instance_type", o->instance_type);
	jsonw_str(&w, "purchase", purchase_name(o->purchase));
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b.p, b.len, err);
	buf_free(&b);
	return rc == BERTH_OK ? replay_request(req, "POST", "machines") : rc;
}

static enum berth_code
replay_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)c;
	return replay_one_machine(resp, machine_out, err);
}

static enum berth_code
replay_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return replay_request(req, "GET", arena_printf(req->arena, "machines/%s", http_urlencode(req->arena, ref)));
}

static enum berth_code
replay_status_parse(void *st, const struct http_resp *resp, const char *ref, struct prov_machine *machine_out,
    struct berth_err *err)
{
	(void)st, (void)ref;
	return replay_one_machine(resp, machine_out, err);
}

static enum berth_code
replay_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return replay_request(req, "DELETE", arena_printf(req->arena, "machines/%s", http_urlencode(req->arena, ref)));
}

static enum berth_code
replay_list_build(void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)cur, (void)err;
	return replay_request(req, "GET", "machines");
}

static enum berth_code
replay_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur, prov_machine_fn *emit, void *arg,
    struct berth_err *err)
{
	(void)st, (void)cur;
	return replay_machines_read(resp, emit, arg, err);
}

const struct prov_lease_ops replay_lease = {
	.create_build = replay_create_build, .create_parse = replay_create_parse,
	.status_build = replay_status_build, .status_parse = replay_status_parse,
	.destroy_build = replay_destroy_build, .destroy_parse = replay_status_parse,
	.list_build = replay_list_build, .list_parse = replay_list_parse,
};
