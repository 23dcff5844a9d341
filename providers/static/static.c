#include <math.h>
#include <string.h>

#include "providers/inproc.h"
#include "providers/prov.h"
#include "providers/static/static.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"

#define STATIC_BODY_MAX 65536

static const struct prov_key static_keys[] = {
	{ "machines", PROV_KEY_NODE, true,
	    "sequence of machines: name, address, accelerator, cost or price_per_hour ..." },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

static enum berth_code
static_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct static_account *acc = st;

	acc->env = env;
	acc->state_path = env->state_dir[0] == '\0' ? ""
						    : arena_printf(env->arena, "%s/static-%s.json",
							  env->state_dir, env->account);
	return static_read(prov_conf_node(env->conf, "machines"), env->arena, acc, err);
}

static enum berth_code
static_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	(void)st, (void)q, (void)cur, (void)err;
	return inproc_request(req, "static", "GET", "offers");
}

static bool
static_same_kind(const struct static_machine *a, const struct static_machine *b)
{
	return str_eq(a->region, b->region) && str_eq(a->zone, b->zone) &&
	       str_eq(a->instance_type, b->instance_type);
}

/* Machines of one kind are one offer: the first one's figures, free if any of them is. */
static enum berth_code
static_emit_kind(const struct static_account *acc, size_t first, const struct jsonr *list,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	const struct static_machine *m = &acc->machines[first];
	struct offer o = {
		.provider = "static",
		.account = "",
		.region = m->region,
		.zone = m->zone,
		.instance_type = m->instance_type,
		.accelerator = m->accelerator,
		.accelerator_count = m->accelerator_count,
		.accelerator_memory_gib = m->accelerator_memory_gib,
		.vcpus = m->vcpus,
		.memory_gib = m->memory_gib,
		.purchase = PURCHASE_ON_DEMAND,
		.upfront = USD_ZERO,
		.price = m->price,
		.currency = "USD",
		.available = AVAIL_NO,
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = acc->env->now,
		.source = m->source,
	};

	for (size_t i = first; i < acc->n_machines; i++) {
		struct jsonr free_now = jsonr_at(list, i);

		if (static_same_kind(m, &acc->machines[i]) && json_is_true(free_now.v))
			o.available = AVAIL_YES;
	}
	return emit(arg, &o, err);
}

static enum berth_code
static_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	const struct static_account *acc = st;
	struct jsonr root, list;
	json_t *v = NULL;
	enum berth_code rc;

	(void)cur;
	if ((rc = jsonr_parse(resp->body, resp->body_len, "offers", &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "offers");
	rc = jsonr_array(&root, "free", &list, err);
	if (rc == BERTH_OK && jsonr_len(&list) != acc->n_machines)
		rc = jsonr_err(&root, BERTH_EINVAL, err, "not one entry a machine");
	for (size_t i = 0; rc == BERTH_OK && i < acc->n_machines; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= static_same_kind(&acc->machines[k], &acc->machines[i]);
		if (!seen)
			rc = static_emit_kind(acc, i, &list, emit, arg, err);
	}
	json_decref(v);
	return rc;
}

static enum berth_code
static_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct static_account *acc = st;
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	buf_init(&b, STATIC_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "token", c->token);
	jsonw_str(&w, "installation", acc->env->installation);
	jsonw_str(&w, "region", c->offer->region);
	jsonw_str(&w, "zone", c->offer->zone);
	jsonw_str(&w, "instance_type", c->offer->instance_type);
	jsonw_begin_array(&w, "avoid");
	for (size_t i = 0; i < c->n_avoid; i++)
		jsonw_str(&w, NULL, c->avoid[i]);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	rc = wirejson_body(&w, &b, req, err);
	return rc == BERTH_OK ? inproc_request(req, "static", "POST", "machines") : rc;
}

static enum berth_code
static_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)c;
	return inproc_one_read(resp, machine_out, err);
}

static enum berth_code
static_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return inproc_request(req, "static", "GET", arena_printf(req->arena, "machines/%s", ref));
}

static enum berth_code
static_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)ref;
	return inproc_one_read(resp, machine_out, err);
}

static enum berth_code
static_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)err;
	return inproc_request(
	    req, "static", "DELETE", arena_printf(req->arena, "machines/%s", ref));
}

static enum berth_code
static_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)cur, (void)err;
	return inproc_request(req, "static", "GET", "machines");
}

static enum berth_code
static_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	(void)st, (void)cur;
	return inproc_list_read(resp, emit, arg, err);
}

static const struct prov_market_ops static_market = {
	.offers_build = static_offers_build,
	.offers_parse = static_offers_parse,
};

static const struct prov_lease_ops static_lease = {
	.create_build = static_create_build,
	.create_parse = static_create_parse,
	.status_build = static_status_build,
	.status_parse = static_status_parse,
	.destroy_build = static_destroy_build,
	.destroy_parse = static_status_parse,
	.list_build = static_list_build,
	.list_parse = static_list_parse,
};

const struct provider_ops provider_static = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_LEASE | PROV_CAP_TOKEN | PROV_CAP_FREE | PROV_CAP_OWN |
		PROV_CAP_STAYS | PROV_CAP_AVOID,
	.name = "static",
	.summary = "own machines, priced by capital, power and utilisation; reached by ssh",
	.state_size = sizeof(struct static_account),
	.keys = static_keys,
	.errors = inproc_errors,
	.error_read = inproc_error_read,
	.open = static_open,
	.market = &static_market,
	.lease = &static_lease,
	.exchange = static_exchange,
};
