#include <string.h>

#include "providers/prov.h"
#include "providers/replay/replay_int.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"

#define REPLAY_BODY_MAX 65536

static enum berth_code
replay_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
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
	rc = wirejson_body(&w, &b, req, err);
	return rc == BERTH_OK ? replay_request(req, "POST", "machines") : rc;
}

static enum berth_code
replay_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)c;
	return inproc_one_read(resp, machine_out, err);
}

static enum berth_code
replay_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return replay_request(
	    req, "GET", arena_printf(req->arena, "machines/%s", http_urlencode(req->arena, ref)));
}

static enum berth_code
replay_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)ref;
	return inproc_one_read(resp, machine_out, err);
}

static enum berth_code
replay_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return replay_request(req, "DELETE",
	    arena_printf(req->arena, "machines/%s", http_urlencode(req->arena, ref)));
}

static enum berth_code
replay_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)cur, (void)err;
	return replay_request(req, "GET", "machines");
}

static enum berth_code
replay_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	(void)st, (void)cur;
	return inproc_list_read(resp, emit, arg, err);
}

const struct prov_lease_ops replay_lease = {
	.create_build = replay_create_build,
	.create_parse = replay_create_parse,
	.status_build = replay_status_build,
	.status_parse = replay_status_parse,
	.destroy_build = replay_destroy_build,
	.destroy_parse = replay_status_parse,
	.list_build = replay_list_build,
	.list_parse = replay_list_parse,
};
