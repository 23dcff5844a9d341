#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/digitalocean/digitalocean.h"
#include "providers/endpoint.h"
#include "providers/keyed.h"
#include "providers/lease.h"
#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define DOCEAN_ENDPOINT "https://api.digitalocean.com"
#define DOCEAN_NAME_MAX 253

static const struct prov_key docean_keys[] = {
	{ "api_key", PROV_KEY_SECRET, true, "personal access token: env:NAME or file:PATH" },
	{ "image", PROV_KEY_STRING, false, "image; gpu-h100x1-base" },
	{ "ssh_keys", PROV_KEY_STRINGS, false,
	    "fingerprints or ids of keys of the account, put on every droplet" },
	{ "vpc", PROV_KEY_STRING, false, "UUID of the VPC of droplets; the region's own" },
	{ "endpoint", PROV_KEY_STRING, false, "base URL; " DOCEAN_ENDPOINT },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/* No room, a limit and a wrong request share one code. */
static const struct prov_error_row docean_errors[] = {
	{ 422, NULL, "not available in", BERTH_ECAPACITY },
	{ 422, NULL, "currently unavailable", BERTH_ECAPACITY },
	{ 422, NULL, "capacity", BERTH_ECAPACITY },
	{ 422, NULL, "droplet limit", BERTH_EQUOTA },
	{ 422, NULL, "exceed", BERTH_EQUOTA },
	{ 422, NULL, NULL, BERTH_EPERMANENT },
	{ 0, "too_many_requests", NULL, BERTH_ETHROTTLED },
	{ 0, "unauthorized", NULL, BERTH_EAUTH },
	{ 0, NULL, "unable to authenticate", BERTH_EAUTH },
	{ 0, "forbidden", NULL, BERTH_EAUTH },
	{ 0, "not_found", NULL, BERTH_ENOTFOUND },
	{ 0, "server_error", NULL, BERTH_ETRANSIENT },
	{ 0, "service_unavailable", NULL, BERTH_ETRANSIENT },
	{ 0, NULL, NULL, BERTH_OK },
};

static enum berth_code
docean_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct docean *d = st;

	d->env = env;
	return endpoint_read(env, "endpoint", DOCEAN_ENDPOINT, ENDPOINT_SECRETS, &d->endpoint, err);
}

static bool
docean_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	return wirejson_refusal(resp, "id", error_out);
}

/* Pages are numbers here; links.pages.next only says whether there is one more. */
static enum berth_code
docean_next(const struct jsonr *root, struct prov_cursor *cur, struct berth_err *err)
{
	struct jsonr links = jsonr_get(root, "links"), pages = jsonr_get(&links, "pages");
	const char *next = "";
	enum berth_code rc = jsonr_str(&pages, "next", &next, err);

	/* pages are asked for by number; the link stands for the page, so that one which leads back
	 * is noticed */
	if (rc == BERTH_OK && !str_copy(cur->next, sizeof(cur->next), next))
		return jsonr_err(
		    &pages, BERTH_EINVAL, err, "the link to the next page is too long");
	return rc;
}

static enum berth_code
docean_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	const struct docean *d = st;

	(void)q;
	return keyed_request(
	    d->env, req, "GET", d->endpoint, err, "v2/sizes?per_page=200&page=%d", cur->page + 1);
}

/* One offer a region that lists the size; without any, one without region that says so. */
static enum berth_code
docean_size(const struct docean *d, const struct jsonr *size, struct arena *a, prov_offer_fn *emit,
    void *arg, struct berth_err *err)
{
	struct offer o = { .provider = "digitalocean",
		.account = "",
		.region = "",
		.zone = "",
		.accelerator_memory_gib = NAN,
		.vcpus = NAN,
		.memory_gib = NAN,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.currency = "USD",
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = d->env->now,
		.source = d->endpoint };
	struct jsonr gpu = jsonr_get(size, "gpu_info"), vram = jsonr_get(&gpu, "vram"),
		     regions = jsonr_get(size, "regions");
	static const char *const needed[] = { "slug", NULL };
	const char *model = "";
	int64_t count = 0;
	double mib = NAN;
	bool sold = true;
	enum berth_code rc;

	if ((rc = jsonr_int(&gpu, "count", 0, 64, &count, err)) != BERTH_OK || count == 0)
		return rc;
	if ((rc = jsonr_need(size, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(size, "slug", &o.instance_type, err)) != BERTH_OK ||
	    (rc = jsonr_str(&gpu, "model", &model, err)) != BERTH_OK ||
	    (rc = jsonr_double(&vram, "amount", &o.accelerator_memory_gib, err)) != BERTH_OK ||
	    (rc = jsonr_double(size, "vcpus", &o.vcpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(size, "memory", &mib, err)) != BERTH_OK ||
	    (rc = jsonr_price(size, "price_hourly", &o.price, err)) != BERTH_OK ||
	    (rc = jsonr_bool(size, "available", &sold, err)) != BERTH_OK)
		return rc;
	/* vram is of the whole droplet in some answers: a card's is what divides to a size that the
	 * table knows, or as said */
	o.accelerator = arena_strdup(a, model);
	for (char *p = (char *)(uintptr_t)o.accelerator; *p != '\0'; p++)
		if (*p == '_')
			*p = ' ';
	if (count > 1 && o.accelerator_memory_gib > 300)
		o.accelerator_memory_gib /= (double)count;
	o.accelerator_count = (int)count;
	o.memory_gib = mib / 1024;
	if (usd_known(o.price) && o.price.v <= 0)
		o.price = USD_UNKNOWN;
	o.available = sold && jsonr_len(&regions) > 0 ? AVAIL_YES : AVAIL_NO;
	if (jsonr_len(&regions) == 0)
		return emit(arg, &o, err);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&regions); i++) {
		o.region = json_string_value(json_array_get(regions.v, i));
		if (o.region != NULL)
			rc = emit(arg, &o, err);
	}
	return rc;
}

static enum berth_code
docean_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, list, item;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, "sizes", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no sizes in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = docean_size(st, &item, resp->arena, emit, arg, err);
	}
	if (rc == BERTH_OK)
		rc = docean_next(&root, cur, err);
	json_decref(v);
	return rc;
}

static enum berth_code
docean_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct docean *d = st;
	const char *name = "", *const *keys = NULL;
	size_t n = prov_conf_strings(d->env->conf, "ssh_keys", &keys);
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	if (c->offer->region[0] == '\0')
		return err_set(err, BERTH_ECAPACITY, "no region has this size now");
	if ((rc = nametag_make(req->arena, d->env->installation, c->token, DOCEAN_NAME_MAX, &name,
		 err)) != BERTH_OK ||
	    (rc = keyed_request(d->env, req, "POST", d->endpoint, err, "v2/droplets")) != BERTH_OK)
		return rc;
	buf_init(&b, KEYED_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "name", name);
	jsonw_str(&w, "region", c->offer->region);
	jsonw_str(&w, "size", c->offer->instance_type);
	jsonw_str(&w, "image",
	    c->image != NULL ? c->image : prov_conf_str(d->env->conf, "image", "gpu-h100x1-base"));
	jsonw_begin_array(&w, "ssh_keys");
	for (size_t i = 0; i < n; i++)
		jsonw_str(&w, NULL, keys[i]);
	jsonw_end_array(&w);
	if (c->user_data != NULL)
		jsonw_str(&w, "user_data", c->user_data);
	if (prov_conf_has(d->env->conf, "vpc"))
		jsonw_str(&w, "vpc_uuid", prov_conf_str(d->env->conf, "vpc", ""));
	jsonw_begin_array(&w, "tags");
	jsonw_str(&w, NULL, "berth");
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	return keyed_body(req, &b, &w, err);
}

static const struct lease_state docean_states[] = {
	{ "active", PROV_READY },
	{ "off", PROV_FAILED },
	{ "archive", PROV_FAILED },
	{ NULL, PROV_PENDING },
};

static enum berth_code
docean_machine(const struct jsonr *o, struct prov_machine *m, struct berth_err *err)
{
	struct jsonr region = jsonr_get(o, "region"), networks = jsonr_get(o, "networks"),
		     v4 = jsonr_get(&networks, "v4"), net;
	const char *name = "", *status = "", *ip = "", *type = "";
	int64_t id = 0;
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_int(o, "id", 1, INT64_MAX, &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "name", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "status", &status, err)) != BERTH_OK ||
	    (rc = wirejson_field(
		 o, "size_slug", m->instance_type, sizeof(m->instance_type), err)) != BERTH_OK ||
	    (rc = wirejson_field(&region, "slug", m->region, sizeof(m->region), err)) != BERTH_OK ||
	    (rc = jsonr_time(o, "created_at", &m->created, err)) != BERTH_OK)
		return rc;
	if (id == 0 || status[0] == '\0')
		return jsonr_err(o, BERTH_EINVAL, err, "no id or status");
	for (size_t i = 0; i < jsonr_len(&v4); i++) {
		net = jsonr_at(&v4, i);
		if ((rc = jsonr_str(&net, "type", &type, err)) != BERTH_OK ||
		    (rc = jsonr_str(&net, "ip_address", &ip, err)) != BERTH_OK)
			return rc;
		if (m->address[0] == '\0' || str_eq(type, "public"))
			str_copy(m->address, sizeof(m->address), ip);
	}
	snprintf(m->ref, sizeof(m->ref), "%lld", (long long)id);
	nametag_read(name, m);
	str_copy(m->detail, sizeof(m->detail), status);
	m->state = lease_state(docean_states, status);
	m->why = m->state == PROV_FAILED ? BERTH_EFAIL : BERTH_OK;
	return BERTH_OK;
}

static enum berth_code
docean_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	enum berth_code rc = lease_one(resp, "droplet", docean_machine, machine_out, err);

	(void)st;
	str_copy(machine_out->region, sizeof(machine_out->region), c->offer->region);
	return rc;
}

static enum berth_code
docean_ref(const struct docean *d, const char *method, const char *ref, struct http_req *req,
    struct berth_err *err)
{
	if (ref[0] == '\0' || ref[strspn(ref, "0123456789")] != '\0')
		return err_set(err, BERTH_EINVAL, "'%s' is no droplet's id", ref);
	return keyed_request(d->env, req, method, d->endpoint, err, "v2/droplets/%s", ref);
}

static enum berth_code
docean_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return docean_ref(st, "GET", ref, req, err);
}

static enum berth_code
docean_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)ref;
	return lease_one(resp, "droplet", docean_machine, machine_out, err);
}

static enum berth_code
docean_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return docean_ref(st, "DELETE", ref, req, err);
}

static enum berth_code
docean_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	const struct docean *d = st;

	return keyed_request(d->env, req, "GET", d->endpoint, err,
	    "v2/droplets?type=gpus&per_page=200&page=%d", cur->page + 1);
}

static enum berth_code
docean_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = lease_each(&root, "droplets", "droplets", docean_machine, emit, arg, err);
	if (rc == BERTH_OK)
		rc = docean_next(&root, cur, err);
	json_decref(v);
	return rc;
}

static const struct prov_market_ops docean_market = {
	.offers_build = docean_offers_build,
	.offers_parse = docean_offers_parse,
};
static const struct prov_lease_ops docean_lease = {
	.create_build = docean_create_build,
	.create_parse = docean_create_parse,
	.status_build = docean_status_build,
	.status_parse = docean_status_parse,
	.destroy_build = docean_destroy_build,
	.destroy_parse = lease_destroy_parse,
	.list_build = docean_list_build,
	.list_parse = docean_list_parse,
};

const struct provider_ops provider_digitalocean = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_LEASE,
	.name = "digitalocean",
	.summary = "DigitalOcean GPU droplets",
	.state_size = sizeof(struct docean),
	.keys = docean_keys,
	.errors = docean_errors,
	.error_read = docean_error_read,
	.open = docean_open,
	.market = &docean_market,
	.lease = &docean_lease,
};
