#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/gcp/gcp.h"
#include "providers/gcp/gcp_sku.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/str.h"

#define GCP_COMPUTE_SKUS "6F81-5844-456A"
#define GCP_TPU_SKUS "E000-3F24-B8AA" /* TPUs up to v4 */
#define GCP_SKU_BYTES_MAX ((size_t)64 << 20)
#define GCP_SKU_CACHE_S 21600 /* list prices move at most daily */

/*
 * The walk: machine types, cards of N1, TPUs zone by zone, at last the prices of parts, those of
 * old TPUs where there are any.
 */
enum gcp_phase { GCP_TYPES, GCP_CARDS, GCP_TPUS, GCP_SKUS, GCP_OLD_SKUS };

struct gcp_tpu {
	const char *type, *zone, *region, *version;
	int64_t chips;
};
struct gcp_zone_card {
	const char *zone;
	const struct gcp_card *card;
};

struct gcp_refresh {
	struct arena *arena;
	enum gcp_phase phase;
	size_t place; /* index of the zone asked for in GCP_TPUS */
	VEC(struct gcp_machine) machines;
	VEC(struct gcp_tpu) tpus;
	VEC(struct gcp_zone_card) cards;
	struct gcp_prices prices;
};

void
gcp_market_close(struct gcp *g)
{
	if (g->refresh != NULL)
		arena_free(g->refresh->arena);
	g->refresh = NULL;
}

static struct gcp_refresh *
gcp_refresh_new(struct gcp *g)
{
	struct arena *a = arena_new();
	struct gcp_refresh *r = arena_new_of(a, struct gcp_refresh);

	gcp_market_close(g);
	r->arena = r->prices.arena = a;
	g->refresh = r;
	return r;
}

/* cur->next is "PHASE|TOKEN"; "" is the start. Returns the token. */
static const char *
gcp_refresh_at(struct gcp *g, const struct prov_cursor *cur)
{
	const char *bar = strchr(cur->next, '|');
	size_t place = 0;

	if (g->refresh == NULL || bar == NULL) {
		gcp_refresh_new(g);
		return "";
	}
	g->refresh->phase = (enum gcp_phase)(cur->next[0] - '0');
	for (const char *p = cur->next + 1; p < bar; p++)
		place = place * 10 + (size_t)(*p - '0');
	g->refresh->place = place;
	return bar + 1;
}

const char *
gcp_page(struct arena *a, const char *token)
{
	return token[0] != '\0' ? arena_printf(a, "&pageToken=%s", http_urlencode(a, token)) : "";
}

static enum berth_code
gcp_skus_build(const struct gcp *g, const char *token, struct http_req *req, struct berth_err *err)
{
	char *key = NULL;
	const char *service = g->refresh->phase == GCP_OLD_SKUS ? GCP_TPU_SKUS : GCP_COMPUTE_SKUS;
	enum berth_code rc;

	rc = gcp_request(req, "GET", g->billing, err,
	    "v1/services/%s/skus?currencyCode=USD&pageSize=5000%s", service,
	    gcp_page(req->arena, token));
	req->max_bytes = GCP_SKU_BYTES_MAX;
	req->cache_key = arena_printf(req->arena, "gcp-skus-%s-%s%s", g->billing,
	    g->refresh->phase == GCP_OLD_SKUS ? "tpu-" : "", token);
	req->cache_ttl_s = GCP_SKU_CACHE_S;
	if (rc != BERTH_OK || !prov_conf_has(g->env->conf, "api_key"))
		return rc;
	rc = prov_conf_secret(g->env->conf, "api_key", &key, err);
	if (rc != BERTH_OK)
		return rc;
	rc = http_req_header(req, "X-Goog-Api-Key", key, true, err);
	explicit_bzero(key, strlen(key));
	free(key);
	return rc;
}

static enum berth_code
gcp_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct gcp *g = st;
	const char *token = gcp_refresh_at(g, cur);
	const struct gcp_refresh *r = g->refresh;

	(void)q;
	switch (r->phase) {
	case GCP_TYPES:
		return gcp_request(req, "GET", g->compute, err,
		    "compute/v1/projects/%s/aggregated/machineTypes?maxResults=500%s", g->project,
		    gcp_page(req->arena, token));
	case GCP_CARDS:
		return gcp_request(req, "GET", g->compute, err,
		    "compute/v1/projects/%s/aggregated/acceleratorTypes?maxResults=500%s",
		    g->project, gcp_page(req->arena, token));
	case GCP_TPUS:
		req->any_status =
		    true; /* one zone that does not answer takes no other offers away */
		return gcp_request(req, "GET", g->tpu_api, err,
		    "v2/projects/%s/locations/%s/acceleratorTypes?pageSize=100%s", g->project,
		    http_urlencode(req->arena, g->tpu_zones[r->place]),
		    gcp_page(req->arena, token));
	case GCP_OLD_SKUS:
	case GCP_SKUS:
		break;
	}
	return gcp_skus_build(g, token, req, err);
}

/* Calls each() for every object of every scope's array. */
typedef enum berth_code gcp_each_fn(
    struct gcp_refresh *r, const char *zone, const struct jsonr *item, struct berth_err *err);

static enum berth_code
gcp_scopes(const struct gcp *g, const struct jsonr *root, const char *array, gcp_each_fn *each,
    struct berth_err *err)
{
	struct jsonr items, scope, list, item;
	const char *name, *far;
	enum berth_code rc;
	json_t *v;

	if ((rc = jsonr_object(root, "items", &items, err)) != BERTH_OK)
		return rc;
	if (items.v == NULL)
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no %s in the answer", array);
	gcp_unreachable(root, &far);
	if (far != NULL)
		log_warn(g->env->log, "%s: %s could not be reached: its offers are left out",
		    g->env->account, far);
	json_object_foreach((json_t *)(uintptr_t)items.v, name, v)
	{
		scope = jsonr_get(&items, name);
		if (!str_starts(name, "zones/"))
			continue;
		if ((rc = jsonr_array(&scope, array, &list, err)) != BERTH_OK)
			return rc;
		for (size_t i = 0; i < jsonr_len(&list); i++) {
			item = jsonr_at(&list, i);
			if ((rc = each(g->refresh,
				 arena_strdup(g->refresh->arena, name + strlen("zones/")), &item,
				 err)) != BERTH_OK)
				return rc;
		}
	}
	return BERTH_OK;
}

static bool
gcp_gone(const struct jsonr *item)
{
	struct jsonr deprecated = jsonr_get(item, "deprecated");
	const char *state = "";

	(void)!jsonr_str(&deprecated, "state", &state, NULL);
	return state[0] != '\0' && !str_eq(state, "ACTIVE");
}

static enum berth_code
gcp_take_type(
    struct gcp_refresh *r, const char *zone, const struct jsonr *item, struct berth_err *err)
{
	static const char *const needed[] = { "name", "guestCpus", "memoryMb", NULL };
	struct gcp_machine m = { .zone = zone, .region = gcp_region(r->arena, zone), .card = "" };
	struct jsonr cards = jsonr_get(item, "accelerators"), card = jsonr_at(&cards, 0);
	const char *name = "", *type = "";
	enum berth_code rc;

	if ((rc = jsonr_need(item, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "name", &name, err)) != BERTH_OK ||
	    (rc = jsonr_int(item, "guestCpus", 0, 100000, &m.vcpus, err)) != BERTH_OK ||
	    (rc = jsonr_int(item, "memoryMb", 0, INT64_C(1) << 40, &m.memory_mib, err)) !=
		BERTH_OK ||
	    (rc = jsonr_str(&card, "guestAcceleratorType", &type, err)) != BERTH_OK ||
	    (rc = jsonr_int(&card, "guestAcceleratorCount", 0, 4096, &m.cards, err)) != BERTH_OK)
		return rc;
	if (gcp_gone(item) || m.region[0] == '\0' ||
	    (m.cards == 0 && !str_starts(name, "n1-standard-")))
		return BERTH_OK;
	m.name = arena_strdup(r->arena, name);
	m.card = arena_strdup(r->arena, type);
	VEC_PUSH(r->arena, &r->machines, m);
	return BERTH_OK;
}

static enum berth_code
gcp_take_card(
    struct gcp_refresh *r, const char *zone, const struct jsonr *item, struct berth_err *err)
{
	const char *name = "";
	enum berth_code rc = jsonr_str(item, "name", &name, err);

	for (const struct gcp_card *c = gcp_cards; rc == BERTH_OK && c->name != NULL; c++)
		if (str_eq(c->name, name) && !gcp_gone(item))
			VEC_PUSH(r->arena, &r->cards, (struct gcp_zone_card){ zone, c });
	return rc;
}

/* "2x4" chips, "2x2x1" chips: the product; 0 if it is none. */
static int64_t
gcp_chips(const char *topology)
{
	int64_t all = 1, n = 0;

	for (const char *p = topology;; p++) {
		if (str_is_digit(*p)) {
			n = n * 10 + (*p - '0');
			if (n > 100000)
				return 0;
			continue;
		}
		if (n == 0 || (*p != 'x' && *p != '\0') || (all *= n) > 100000)
			return 0;
		if (*p == '\0')
			return all;
		n = 0;
	}
}

static enum berth_code
gcp_take_tpus(const struct gcp *g, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr list, item, configs, config;
	struct gcp_refresh *r = g->refresh;
	const char *zone = g->tpu_zones[r->place];
	enum berth_code rc = jsonr_array(root, "acceleratorTypes", &list, err);

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		const char *type = "", *topology = "";

		item = jsonr_at(&list, i);
		configs = jsonr_get(&item, "acceleratorConfigs");
		config = jsonr_at(&configs, 0);
		if ((rc = jsonr_str(&item, "type", &type, err)) == BERTH_OK)
			rc = jsonr_str(&config, "topology", &topology, err);
		if (rc == BERTH_OK && gcp_chips(topology) > 0)
			VEC_PUSH(r->arena, &r->tpus,
			    (struct gcp_tpu){ arena_strdup(r->arena, type), zone,
				gcp_region(r->arena, zone),
				arena_strndup(r->arena, type, strcspn(type, "-")),
				gcp_chips(topology) });
	}
	return rc;
}

struct gcp_emit {
	const struct gcp *g;
	prov_offer_fn *emit;
	void *arg;
	struct strmap regional;
};

static enum berth_code
gcp_emit_one(
    struct gcp_emit *e, struct offer *o, enum gcp_buy buy, int64_t micro, struct berth_err *err)
{
	struct arena *a = e->g->refresh->arena;
	const char *zone = o->zone;
	enum berth_code rc;
	int added = 1;

	o->purchase = buy == GCP_ON_DEMAND ? PURCHASE_ON_DEMAND
		      : buy == GCP_SPOT    ? PURCHASE_SPOT
					   : PURCHASE_RESERVED;
	o->term_months = buy == GCP_1_YEAR ? 12 : buy == GCP_3_YEARS ? 36 : 0;
	o->price = micro > 0 ? (struct usd_micro){ micro } : USD_UNKNOWN;
	if (o->purchase == PURCHASE_RESERVED) { /* a commitment is the region's */
		strmap_add(a, &e->regional,
		    arena_printf(a, "%d|%s|%s", o->term_months, o->region, o->instance_type), 1,
		    &added);
		o->zone = "";
	}
	rc = added ? e->emit(e->arg, o, err) : BERTH_OK;
	o->zone = zone;
	return rc;
}

static struct offer
gcp_offer(const struct gcp *g, const char *type, const char *zone, const char *region)
{
	return (struct offer){ .provider = "gcp",
		.account = "",
		.region = region,
		.zone = zone,
		.instance_type = type,
		.accelerator = "",
		.accelerator_memory_gib = NAN,
		.vcpus = NAN,
		.memory_gib = NAN,
		.upfront = USD_ZERO,
		.currency = "USD",
		.interruption_rate = NAN,
		.measured = NAN,
		.source = g->billing };
}

static enum berth_code
gcp_emit_machine(
    struct gcp_emit *e, const struct gcp_machine *m, const char *type, struct berth_err *err)
{
	struct offer o = gcp_offer(e->g, type, m->zone, m->region);
	enum berth_code rc = BERTH_OK;
	int64_t micro;

	o.accelerator = m->card;
	o.accelerator_count = (int)m->cards;
	o.vcpus = (double)m->vcpus;
	o.memory_gib = (double)m->memory_mib / 1024;
	for (int buy = 0; rc == BERTH_OK && buy < GCP_BUYS; buy++)
		if (gcp_sku_price(&e->g->refresh->prices, m, (enum gcp_buy)buy, &micro))
			rc = gcp_emit_one(e, &o, (enum gcp_buy)buy, micro, err);
	return rc;
}

/* An N1 machine with every number of every card that its zone has and its cores allow. */
static enum berth_code
gcp_emit_attached(struct gcp_emit *e, const struct gcp_machine *host, struct berth_err *err)
{
	const struct gcp_refresh *r = e->g->refresh;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < r->cards.n; i++) {
		const struct gcp_card *c = r->cards.v[i].card;

		if (!str_eq(r->cards.v[i].zone, host->zone))
			continue;
		for (size_t k = 0; rc == BERTH_OK && k < 4 && c->limits[k].cards > 0; k++) {
			struct gcp_machine m = *host;

			if (host->vcpus < 4 || host->vcpus > c->limits[k].vcpus_max)
				continue;
			m.card = c->name;
			m.cards = c->limits[k].cards;
			rc = gcp_emit_machine(e, &m,
			    arena_printf(
				r->arena, "%s+%dx%s", host->name, c->limits[k].cards, c->name),
			    err);
		}
	}
	return rc;
}

static enum berth_code
gcp_emit_tpu(struct gcp_emit *e, const struct gcp_tpu *t, struct berth_err *err)
{
	struct offer o = gcp_offer(e->g, t->type, t->zone, t->region);
	enum berth_code rc = BERTH_OK;
	int64_t nanos;

	o.accelerator = gcp_sku_old(t->version)
			    ? arena_printf(e->g->refresh->arena, "TPU %s", t->version)
			    : t->version;
	o.accelerator_count = (int)t->chips;
	for (int buy = 0; rc == BERTH_OK && buy < GCP_BUYS; buy++)
		if (gcp_sku_tpu(&e->g->refresh->prices, t->version, t->chips, t->region,
			(enum gcp_buy)buy, &nanos))
			rc = gcp_emit_one(e, &o, (enum gcp_buy)buy, (nanos + 500) / 1000, err);
	return rc;
}

static enum berth_code
gcp_emit_all(const struct gcp *g, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct gcp_emit e = { .g = g, .emit = emit, .arg = arg };
	const struct gcp_refresh *r = g->refresh;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < r->machines.n; i++)
		rc = r->machines.v[i].cards > 0
			 ? gcp_emit_machine(&e, &r->machines.v[i], r->machines.v[i].name, err)
			 : gcp_emit_attached(&e, &r->machines.v[i], err);
	for (size_t i = 0; rc == BERTH_OK && i < r->tpus.n; i++)
		rc = gcp_emit_tpu(&e, &r->tpus.v[i], err);
	return rc;
}

static enum berth_code
gcp_take_skus(struct gcp_refresh *r, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr list, sku;
	enum berth_code rc = jsonr_array(root, "skus", &list, err);

	if (rc == BERTH_OK && list.v == NULL)
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no prices in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		sku = jsonr_at(&list, i);
		gcp_sku_add(&r->prices, &sku);
	}
	return rc;
}

static enum berth_code
gcp_take(const struct gcp *g, const struct jsonr *root, struct berth_err *err)
{
	switch (g->refresh->phase) {
	case GCP_TYPES:
		return gcp_scopes(g, root, "machineTypes", gcp_take_type, err);
	case GCP_CARDS:
		return gcp_scopes(g, root, "acceleratorTypes", gcp_take_card, err);
	case GCP_TPUS:
		return gcp_take_tpus(g, root, err);
	case GCP_OLD_SKUS:
	case GCP_SKUS:
		break;
	}
	return gcp_take_skus(g->refresh, root, err);
}

/* Where the walk goes when a list has no more pages; false: it is over. */
static bool
gcp_next_phase(const struct gcp *g, enum gcp_phase *phase, size_t *place)
{
	const struct gcp_refresh *r = g->refresh;

	switch (r->phase) {
	case GCP_TYPES:
		*phase = GCP_CARDS;
		return true;
	case GCP_CARDS:
		*phase = g->n_tpu_zones > 0 ? GCP_TPUS : GCP_SKUS;
		return true;
	case GCP_TPUS:
		*place = r->place + 1;
		*phase = *place < g->n_tpu_zones ? GCP_TPUS : GCP_SKUS;
		for (size_t i = 0; *phase == GCP_SKUS && i < r->tpus.n; i++)
			if (gcp_sku_old(r->tpus.v[i].version))
				*phase = GCP_OLD_SKUS;
		return true;
	case GCP_OLD_SKUS:
		*phase = GCP_SKUS;
		return true;
	case GCP_SKUS:
		break;
	}
	return false;
}

static enum berth_code
gcp_next(const struct gcp *g, const struct jsonr *root, struct prov_cursor *cur, bool *over_out,
    struct berth_err *err)
{
	enum gcp_phase phase = g->refresh->phase;
	size_t place = g->refresh->place;
	const char *token = "";
	int n;
	enum berth_code rc = jsonr_str(root, "nextPageToken", &token, err);

	*over_out = false;
	if (rc != BERTH_OK)
		return rc;
	if (token[0] == '\0' && !gcp_next_phase(g, &phase, &place)) {
		*over_out = true;
		return BERTH_OK;
	}
	n = snprintf(cur->next, sizeof(cur->next), "%d%zu|%s", (int)phase, place, token);
	return n < 0 || (size_t)n >= sizeof(cur->next)
		   ? jsonr_err(root, BERTH_EINVAL, err, "nextPageToken is too long")
		   : BERTH_OK;
}

static enum berth_code
gcp_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct gcp *g = st;
	struct jsonr root;
	json_t *v = NULL;
	bool over = false;
	enum berth_code rc;

	if (resp->status / 100 != 2) { /* of a TPU zone: its parse alone gets refusals */
		log_warn(g->env->log, "%s: TPUs of %s: HTTP %d: left out", g->env->account,
		    g->tpu_zones[g->refresh->place], resp->status);
		rc = jsonr_parse("{}", 2, "answer", &v, err);
	} else
		rc = wirejson_parse(resp, &v, err);
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = gcp_take(g, &root, err);
	if (rc == BERTH_OK)
		rc = gcp_next(g, &root, cur, &over, err);
	if (rc == BERTH_OK && over) {
		rc = gcp_emit_all(g, emit, arg, err);
		gcp_market_close(g);
	}
	json_decref(v);
	return rc;
}

const struct prov_market_ops gcp_market = {
	.offers_build = gcp_offers_build,
	.offers_parse = gcp_offers_parse,
	.quota_build = gcp_quota_build,
	.quota_parse = gcp_quota_parse,
};
