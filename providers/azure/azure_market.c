#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/azure/azure.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/log.h"
#include "util/str.h"

#define AZURE_PRICES_CACHE_S 21600
#define AZURE_GRAPH_API "2021-03-01"
#define AZURE_GRAPH_MAX 65536

/* The walk: how often spot machines are taken back (all regions at once); for each region its
 * sizes, then its prices. */
enum azure_phase { AZURE_RATES = 'r', AZURE_SIZES = 's', AZURE_METERS = 'p' };

enum azure_buy {
	AZURE_ON_DEMAND,
	AZURE_SPOT,
	AZURE_RESERVED_1,
	AZURE_RESERVED_3,
	AZURE_RESERVED_5,
	AZURE_SAVINGS_1,
	AZURE_SAVINGS_3,
	AZURE_WINDOWS,
	AZURE_WINDOWS_SPOT,
	AZURE_BUYS
};

/* Prices of one size in one region: of several meters of one kind the one in force last, of two of
 * one day the dearer. */
struct azure_meter {
	struct usd_micro price;
	int64_t from;
	char currency[4];
};
struct azure_row {
	const char *size;
	struct azure_meter meters[AZURE_BUYS];
};
struct azure_sku {
	int64_t gpus;
	double vcpus, memory_gib;
	bool spot, restricted;
};

struct azure_refresh {
	struct arena *arena;
	char phase;
	size_t place; /* index in locations */
	bool sized;   /* this region's sizes are known: what is not among them is not sold there */
	struct strmap by_sku, by_size, by_rate;
	VEC(struct azure_sku) skus;
	VEC(struct azure_row) rows;
	VEC(double) rates;
};

void
azure_market_close(struct azure *z)
{
	if (z->refresh != NULL)
		arena_free(z->refresh->arena);
	z->refresh = NULL;
}

/* cur->next is "PHASE INDEX|LINK"; "" is the start. Returns the link, "" for a first page. */
static const char *
azure_at(struct azure *z, const struct prov_cursor *cur)
{
	const char *bar = strchr(cur->next, '|');
	struct arena *a;

	if (z->refresh == NULL || bar == NULL) {
		azure_market_close(z);
		a = arena_new();
		z->refresh = arena_new_of(a, struct azure_refresh);
		z->refresh->arena = a;
		z->refresh->phase = z->subscription[0] == '\0' ? AZURE_METERS
				    : prov_conf_bool(z->env->conf, "eviction_rates", true)
					? AZURE_RATES
					: AZURE_SIZES;
		return "";
	}
	z->refresh->phase = cur->next[0];
	z->refresh->place = 0;
	for (const char *p = cur->next + 1; p < bar; p++)
		z->refresh->place = z->refresh->place * 10 + (size_t)(*p - '0');
	return bar + 1;
}

/* Eviction rates of the last 28 days, from the Resource Graph
 * (learn.microsoft.com/azure/virtual-machines/spot-vms). */
static enum berth_code
azure_rates_build(
    const struct azure *z, const char *token, struct http_req *req, struct berth_err *err)
{
	char *where = arena_strdup(req->arena, "");
	enum berth_code rc;
	struct jsonw w;
	struct buf b;

	for (size_t i = 0; i < z->n_locations; i++)
		where =
		    arena_printf(req->arena, "%s%s'%s'", where, i > 0 ? ", " : "", z->locations[i]);
	buf_init(&b, AZURE_GRAPH_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_begin_array(&w, "subscriptions");
	jsonw_str(&w, NULL, z->subscription);
	jsonw_end_array(&w);
	jsonw_str(&w, "query",
	    arena_printf(req->arena,
		"SpotResources | where type =~ 'microsoft.compute/skuspotevictionrate/location' | "
		"where location in~ (%s) | where tostring(sku.name) startswith 'standard_n' | "
		"project size = tostring(sku.name), location, rate = "
		"tostring(properties.evictionRate) | order by location asc, size asc",
		where));
	jsonw_begin_object(&w, "options");
	jsonw_str(&w, "resultFormat", "objectArray");
	if (token[0] != '\0')
		jsonw_str(&w, "$skipToken", token);
	jsonw_end_object(&w);
	jsonw_end_object(&w);
	req->any_status = true; /* who may not ask that has offers all the same */
	rc = azure_request(z, req, "POST", err,
	    "providers/Microsoft.ResourceGraph/resources?api-version=" AZURE_GRAPH_API);
	if (rc == BERTH_OK)
		rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b.p, b.len, err);
	buf_free(&b);
	return rc;
}

static enum berth_code
azure_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct azure *z = st;
	const char *link = azure_at(z, cur), *location;

	(void)q;
	if (z->refresh->phase == AZURE_RATES)
		return azure_rates_build(z, link, req, err);
	location = z->locations[z->refresh->place];
	if (z->refresh->phase == AZURE_SIZES && link[0] == '\0')
		return azure_request(z, req, "GET", err,
		    "subscriptions/%s/providers/Microsoft.Compute/skus?api-version=" AZURE_SKUS_API
		    "&$filter=%s",
		    z->subscription,
		    http_urlencode(
			req->arena, arena_printf(req->arena, "location eq '%s'", location)));
	if (link[0] != '\0')
		http_req_url(req, "%s", link);
	else
		http_req_url(req,
		    "%s" AZURE_RETAIL "?api-version=2023-01-01-preview&meterRegion=%%27primary%%27&"
		    "currencyCode=%%27USD%%27&$filter=%s",
		    z->prices,
		    http_urlencode(req->arena,
			arena_printf(req->arena,
			    "serviceName eq 'Virtual Machines' and armRegionName eq '%s'",
			    location)));
	if (z->refresh->phase == AZURE_METERS) {
		req->cache_key = arena_printf(req->arena, "azure-prices-%s", req->url);
		req->cache_ttl_s = AZURE_PRICES_CACHE_S;
	}
	return http_req_header(req, "Accept", "application/json", false, err);
}

/*
 * "0-5", "5-10", "10-15", "15-20", "20+": per cent of machines taken back within an hour; the
 * middle, as a rate. NaN: none.
 */
static double
azure_rate(const char *text)
{
	static const struct {
		const char *text;
		double share;
	} bands[] = {
		{ "0-5", 0.025 },
		{ "5-10", 0.075 },
		{ "10-15", 0.125 },
		{ "15-20", 0.175 },
		{ "20+", 0.25 },
	};

	for (size_t i = 0; i < sizeof(bands) / sizeof(bands[0]); i++)
		if (str_starts(text, bands[i].text) &&
		    (text[strlen(bands[i].text)] == '\0' || text[strlen(bands[i].text)] == '%'))
			return -log1p(-bands[i].share);
	return NAN;
}

static enum berth_code
azure_take_rates(struct azure *z, const struct jsonr *root, struct berth_err *err)
{
	struct azure_refresh *r = z->refresh;
	struct jsonr list, item;
	enum berth_code rc = jsonr_array(root, "data", &list, err);

	if (rc == BERTH_OK && list.v == NULL)
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no eviction rates in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		const char *size = "", *location = "", *rate = "";
		int added = 0;

		item = jsonr_at(&list, i);
		if ((rc = jsonr_str(&item, "size", &size, err)) != BERTH_OK ||
		    (rc = jsonr_str(&item, "location", &location, err)) != BERTH_OK ||
		    (rc = jsonr_str(&item, "rate", &rate, err)) != BERTH_OK)
			break;
		strmap_add(r->arena, &r->by_rate,
		    str_lower(r->arena, arena_printf(r->arena, "%s|%s", location, size)),
		    r->rates.n, &added);
		if (added)
			VEC_PUSH(r->arena, &r->rates, azure_rate(rate));
	}
	return rc;
}

/* A capability, which is always a string. */
static const char *
azure_capability(const struct jsonr *sku, const char *name)
{
	struct jsonr list = jsonr_get(sku, "capabilities"), item;
	const char *key, *value;

	for (size_t i = 0; i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		key = value = "";
		(void)!jsonr_str(&item, "name", &key, NULL);
		(void)!jsonr_str(&item, "value", &value, NULL);
		if (str_eq(key, name))
			return value;
	}
	return "";
}

static bool
azure_restricted(const struct jsonr *sku)
{
	struct jsonr list = jsonr_get(sku, "restrictions"), item;
	const char *type;

	for (size_t i = 0; i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		type = "";
		(void)!jsonr_str(&item, "type", &type, NULL);
		if (str_ieq(type, "Location"))
			return true;
	}
	return false;
}

static enum berth_code
azure_take_sizes(struct azure *z, const struct jsonr *root, struct berth_err *err)
{
	struct azure_refresh *r = z->refresh;
	struct jsonr list, item;
	enum berth_code rc = jsonr_array(root, "value", &list, err);

	if (rc == BERTH_OK && list.v == NULL)
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no sizes in the answer");
	r->sized = true;
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct azure_sku s = { .vcpus = NAN, .memory_gib = NAN };
		const char *type = "", *name = "";
		int added = 0;

		item = jsonr_at(&list, i);
		if ((rc = jsonr_str(&item, "resourceType", &type, err)) != BERTH_OK ||
		    (rc = jsonr_str(&item, "name", &name, err)) != BERTH_OK ||
		    !str_eq(type, "virtualMachines") || !str_starts(name, "Standard_N"))
			continue;
		(void)!str_to_i64(azure_capability(&item, "GPUs"), 0, 64, &s.gpus, NULL);
		(void)!str_to_double(azure_capability(&item, "vCPUs"), 0, 1e5, &s.vcpus, NULL);
		(void)!str_to_double(
		    azure_capability(&item, "MemoryGB"), 0, 1e6, &s.memory_gib, NULL);
		s.spot = str_ieq(azure_capability(&item, "LowPriorityCapable"), "True");
		s.restricted = azure_restricted(&item);
		strmap_add(r->arena, &r->by_sku, name, r->skus.n, &added);
		if (added)
			VEC_PUSH(r->arena, &r->skus, s);
	}
	return rc;
}

static bool
azure_holds(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* What one meter sells; false: nothing that a machine of ours is billed by. */
static bool
azure_meter_kind(const struct jsonr *item, enum azure_buy *buy_out)
{
	const char *type = "", *term = "", *unit = "", *product = "", *meter = "", *sku = "";
	bool primary = true, spot;
	double tier = 0;

	if (jsonr_str(item, "type", &type, NULL) != BERTH_OK ||
	    jsonr_str(item, "reservationTerm", &term, NULL) != BERTH_OK ||
	    jsonr_str(item, "unitOfMeasure", &unit, NULL) != BERTH_OK ||
	    jsonr_str(item, "productName", &product, NULL) != BERTH_OK ||
	    jsonr_str(item, "meterName", &meter, NULL) != BERTH_OK ||
	    jsonr_str(item, "skuName", &sku, NULL) != BERTH_OK ||
	    jsonr_double(item, "tierMinimumUnits", &tier, NULL) != BERTH_OK ||
	    jsonr_bool(item, "isPrimaryMeterRegion", &primary, NULL) != BERTH_OK)
		return false;
	if (azure_holds(product, "Cloud Services") || azure_holds(product, "Dedicated") ||
	    azure_holds(meter, "Low Priority") || azure_holds(sku, "Low Priority") || !primary ||
	    tier > 0)
		return false;
	if (str_eq(type, "Reservation")) {
		*buy_out = str_eq(term, "1 Year")    ? AZURE_RESERVED_1
			   : str_eq(term, "3 Years") ? AZURE_RESERVED_3
						     : AZURE_RESERVED_5;
		return *buy_out != AZURE_RESERVED_5 || str_eq(term, "5 Years");
	}
	spot = azure_holds(meter, "Spot") || azure_holds(sku, "Spot");
	if (azure_holds(product, "Windows"))
		*buy_out = spot ? AZURE_WINDOWS_SPOT : AZURE_WINDOWS;
	else
		*buy_out = spot ? AZURE_SPOT : AZURE_ON_DEMAND;
	return str_eq(type, "Consumption") && str_eq(unit, "1 Hour");
}

static struct azure_row *
azure_row(struct azure_refresh *r, const char *size)
{
	int added = 0;
	size_t at = *strmap_add(r->arena, &r->by_size, size, r->rows.n, &added);

	if (added) {
		struct azure_row *row = VEC_ADD(r->arena, &r->rows);

		row->size = arena_strdup(r->arena, size);
		for (int i = 0; i < AZURE_BUYS; i++)
			row->meters[i].price = USD_UNKNOWN;
	}
	return &r->rows.v[at];
}

static void
azure_put(struct azure_row *row, enum azure_buy buy, struct usd_micro price, const char *currency,
    int64_t from)
{
	struct azure_meter *m = &row->meters[buy];

	if (!usd_known(price) || price.v <= 0 || strlen(currency) != 3)
		return;
	if (usd_known(m->price) && (from < m->from || (from == m->from && price.v <= m->price.v)))
		return;
	m->price = price;
	m->from = from;
	str_copy(m->currency, sizeof(m->currency), currency);
}

/* Savings plans stand inside of the on-demand meter, by the hour. */
static void
azure_savings(struct azure_row *row, const struct jsonr *item, const char *currency, int64_t from)
{
	struct jsonr plans = jsonr_get(item, "savingsPlan"), plan;

	for (size_t i = 0; i < jsonr_len(&plans); i++) {
		struct usd_micro price = USD_UNKNOWN;
		const char *term = "";

		plan = jsonr_at(&plans, i);
		if (jsonr_str(&plan, "term", &term, NULL) != BERTH_OK ||
		    jsonr_price(&plan, "retailPrice", &price, NULL) != BERTH_OK)
			continue;
		if (str_eq(term, "1 Year"))
			azure_put(row, AZURE_SAVINGS_1, price, currency, from);
		else if (str_eq(term, "3 Years"))
			azure_put(row, AZURE_SAVINGS_3, price, currency, from);
	}
}

static enum berth_code
azure_take_meter(struct azure *z, const struct jsonr *item, struct berth_err *err)
{
	const char *size = "", *location = "", *currency = "";
	struct azure_refresh *r = z->refresh;
	struct usd_micro price = USD_UNKNOWN;
	int64_t from = 0, until = 0;
	enum azure_buy buy;
	enum berth_code rc;
	const char *name;
	int count;

	if ((rc = jsonr_str(item, "armSkuName", &size, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "armRegionName", &location, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "currencyCode", &currency, err)) != BERTH_OK)
		return rc;
	if (!str_ieq(location, z->locations[r->place]) || !azure_size(size, 1, &name, &count) ||
	    !azure_meter_kind(item, &buy))
		return BERTH_OK;
	if ((rc = jsonr_price(item, "retailPrice", &price, err)) != BERTH_OK ||
	    (rc = jsonr_time(item, "effectiveStartDate", &from, err)) != BERTH_OK ||
	    (rc = jsonr_time(item, "effectiveEndDate", &until, err)) != BERTH_OK)
		return rc;
	if (from > z->env->now || (until != 0 && until <= z->env->now))
		return BERTH_OK;
	azure_put(azure_row(r, size), buy, price, currency, from);
	if (buy == AZURE_ON_DEMAND)
		azure_savings(azure_row(r, size), item, currency, from);
	return BERTH_OK;
}

static enum berth_code
azure_take_meters(struct azure *z, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr list, item;
	enum berth_code rc = jsonr_array(root, "Items", &list, err);

	if (rc == BERTH_OK && list.v == NULL)
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no prices in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = azure_take_meter(z, &item, err);
	}
	return rc;
}

static void
azure_terms(struct offer *o, enum azure_buy buy, const struct azure_meter *m)
{
	static const int months[] = { 0, 0, 12, 36, 60, 12, 36, 0, 0 };

	o->purchase = months[buy] > 0                                  ? PURCHASE_RESERVED
		      : buy == AZURE_SPOT || buy == AZURE_WINDOWS_SPOT ? PURCHASE_SPOT
								       : PURCHASE_ON_DEMAND;
	o->kind = buy == AZURE_WINDOWS || buy == AZURE_WINDOWS_SPOT ? OFFER_WINDOWS : OFFER_PLAIN;
	o->term_months = months[buy];
	o->payment =
	    buy >= AZURE_RESERVED_1 && buy <= AZURE_RESERVED_5 ? PAYMENT_ALL : PAYMENT_NONE;
	/* A reservation's price is that of its whole term, whatever the unit says. */
	o->upfront = o->payment == PAYMENT_ALL ? m->price : USD_ZERO;
	o->price = o->payment == PAYMENT_ALL ? USD_ZERO : m->price;
	str_copy(o->currency, sizeof(o->currency), m->currency);
}

static enum berth_code
azure_emit_row(const struct azure *z, const struct azure_row *row, prov_offer_fn *emit, void *arg,
    struct berth_err *err)
{
	const struct azure_refresh *r = z->refresh;
	const size_t *at = strmap_get(&r->by_sku, row->size), *rate;
	const struct azure_sku *sku = at != NULL ? &r->skus.v[*at] : NULL;
	const char *location = z->locations[r->place];
	struct offer o = { .provider = "azure",
		.account = "",
		.region = location,
		.zone = "",
		.instance_type = row->size,
		.accelerator_memory_gib = NAN,
		.vcpus = sku != NULL ? sku->vcpus : NAN,
		.memory_gib = sku != NULL ? sku->memory_gib : NAN,
		.interruption_rate = NAN,
		.measured = NAN,
		.source = z->prices };
	enum berth_code rc = BERTH_OK;

	if ((r->sized && sku == NULL) || !azure_size(row->size, sku != NULL ? sku->gpus : 0,
					     &o.accelerator, &o.accelerator_count))
		return BERTH_OK;
	o.available = sku != NULL && sku->restricted ? AVAIL_NO : AVAIL_UNKNOWN;
	rate = strmap_get(
	    &r->by_rate, str_lower(r->arena, arena_printf(r->arena, "%s|%s", location, row->size)));
	for (int buy = 0; rc == BERTH_OK && buy < AZURE_BUYS; buy++) {
		if (!usd_known(row->meters[buy].price))
			continue;
		azure_terms(&o, (enum azure_buy)buy, &row->meters[buy]);
		if (o.purchase == PURCHASE_SPOT && sku != NULL && !sku->spot)
			continue;
		o.interruption_rate =
		    o.purchase == PURCHASE_SPOT && rate != NULL ? r->rates.v[*rate] : NAN;
		rc = emit(arg, &o, err);
	}
	return rc;
}

/* The region is whole: its offers go out, and the next one starts. */
static enum berth_code
azure_emit_region(const struct azure *z, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct azure_refresh *r = z->refresh;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < r->rows.n; i++)
		rc = azure_emit_row(z, &r->rows.v[i], emit, arg, err);
	r->rows.n = r->skus.n = 0;
	memset(&r->by_sku, 0, sizeof(r->by_sku));
	memset(&r->by_size, 0, sizeof(r->by_size));
	r->sized = false;
	return rc;
}

static void
azure_goto(struct prov_cursor *cur, char phase, size_t place)
{
	snprintf(cur->next, sizeof(cur->next), "%c%zu|", phase, place);
}

static enum berth_code
azure_offers_next(struct azure *z, const struct jsonr *root, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct azure_refresh *r = z->refresh;
	const char *prefix = arena_printf(r->arena, "%c%zu|", r->phase, r->place), *token = "";
	enum berth_code rc;

	if (r->phase == AZURE_RATES) {
		rc = jsonr_str(root, "$skipToken", &token, err);
		if (rc == BERTH_OK && snprintf(cur->next, sizeof(cur->next), "%s%s", prefix,
					  token) >= (int)sizeof(cur->next))
			return jsonr_err(root, BERTH_EINVAL, err, "$skipToken is too long");
		if (token[0] == '\0')
			azure_goto(cur, AZURE_SIZES, 0);
		return rc;
	}
	rc = r->phase == AZURE_SIZES
		 ? azure_next(root, "nextLink", z->arm, prefix, cur, err)
		 : azure_next(root, "NextPageLink", z->prices, prefix, cur, err);
	if (rc != BERTH_OK || cur->next[0] != '\0')
		return rc;
	if (r->phase == AZURE_SIZES) {
		azure_goto(cur, AZURE_METERS, r->place);
		return BERTH_OK;
	}
	rc = azure_emit_region(z, emit, arg, err);
	if (r->place + 1 < z->n_locations)
		azure_goto(
		    cur, z->subscription[0] != '\0' ? AZURE_SIZES : AZURE_METERS, r->place + 1);
	else
		azure_market_close(z);
	return rc;
}

static enum berth_code
azure_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct azure *z = st;
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc;

	if (resp->status / 100 != 2) { /* of the rates: their parse alone gets refusals */
		log_warn(
		    z->env->log, "%s: no eviction rates: HTTP %d", z->env->account, resp->status);
		azure_goto(cur, AZURE_SIZES, 0);
		return BERTH_OK;
	}
	rc = wirejson_parse(resp, &v, err);
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = z->refresh->phase == AZURE_RATES   ? azure_take_rates(z, &root, err)
	     : z->refresh->phase == AZURE_SIZES ? azure_take_sizes(z, &root, err)
						: azure_take_meters(z, &root, err);
	if (rc == BERTH_OK)
		rc = azure_offers_next(z, &root, cur, emit, arg, err);
	json_decref(v);
	return rc;
}

/* cur->next: "INDEX|LINK" over the locations. */
static enum berth_code
azure_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct azure *z = st;
	const char *bar = strchr(cur->next, '|');
	size_t place = 0;

	if (z->subscription[0] == '\0')
		return err_set(err, BERTH_EPERMANENT, "quotas want 'subscription' in berth.yaml");
	for (const char *p = cur->next; bar != NULL && p < bar; p++)
		place = place * 10 + (size_t)(*p - '0');
	z->quota_place = place;
	if (bar != NULL && bar[1] != '\0') {
		http_req_url(req, "%s", bar + 1);
		return http_req_header(req, "Accept", "application/json", false, err);
	}
	return azure_request(z, req, "GET", err,
	    "subscriptions/%s/providers/Microsoft.Compute/locations/%s/"
	    "usages?api-version=" AZURE_COMPUTE_API,
	    z->subscription, z->locations[place]);
}

/* "standardNCADSA100v4Family", "Standard NCASv3_T4 Family", "cores", "lowPriorityCores": cores of
 * machines with cards. */
static bool
azure_quota_ours(const char *name)
{
	return str_ieq(name, "cores") || str_ieq(name, "lowPriorityCores") ||
	       str_istarts(name, "standardN") || str_istarts(name, "standard N");
}

/* The sizes of a family: its name does not tell them. Of others it is told of the quota alone. */
static void
azure_quota_types(struct prov_quota *q)
{
	static const struct {
		const char *family, *types;
	} families[] = {
		{ "cores", "" },
		{ "lowPriorityCores", "" },
		{ "standardNCFamily", "Standard_NC[0-9] Standard_NC[0-9][0-9] Standard_NC24r" },
		{ "standardNCSv2Family", "Standard_NC*s_v2" },
		{ "standardNCSv3Family", "Standard_NC[0-9]*s_v3" },
		{ "standardNCASv3_T4Family", "Standard_NC[0-9]*as_T4_v3" },
		{ "standardNCADSA100v4Family", "Standard_NC[0-9]*ads_A100_v4" },
		{ "standardNCadsH100v5Family", "Standard_NC[0-9]*ad*s_H100_v5" },
		{ "standardNDASv4_A100Family", "Standard_ND96asr_v4" },
		{ "standardNDAMSv4_A100Family", "Standard_ND96am*s*_A100_v4" },
		{ "standardNDSH100v5Family", "Standard_ND96isr_H100_v5" },
		{ "standardNDISRH200V5Family", "Standard_ND96isr_H200_v5" },
		{ "standardNVADSA10v5Family", "Standard_NV[0-9]*ad*s_A10_v5" },
	};
	char plain[sizeof(q->name)];
	size_t n = 0;

	for (const char *p = q->name; *p != '\0'; p++)
		if (*p != ' ')
			plain[n++] = *p;
	plain[n] = '\0';
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (str_ieq(plain, families[i].family))
			q->counts = str_copy(q->types, sizeof(q->types), families[i].types);
}

static void
azure_quota_part(const void *st, struct prov_part *out)
{
	const struct azure *z = st;

	lease_part(
	    z->locations, z->subscription[0] == '\0' ? 0 : z->n_locations, z->quota_place, out);
}

static enum berth_code
azure_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	struct azure *z = st;
	struct jsonr root, list, item, name;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, "value", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no quotas in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct prov_quota q = {
			.limit = NAN, .used = NAN, .unit = "vcpu", .purchase = PURCHASE_ON_DEMAND
		};

		item = jsonr_at(&list, i);
		name = jsonr_get(&item, "name");
		if ((rc = wirejson_field(&name, "value", q.name, sizeof(q.name), err)) !=
			BERTH_OK ||
		    !azure_quota_ours(q.name))
			continue;
		if ((rc = jsonr_double(&item, "limit", &q.limit, err)) != BERTH_OK ||
		    (rc = jsonr_double(&item, "currentValue", &q.used, err)) != BERTH_OK)
			break;
		q.purchase =
		    str_ieq(q.name, "lowPriorityCores") ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
		str_copy(q.region, sizeof(q.region), z->locations[z->quota_place]);
		azure_quota_types(&q);
		rc = emit(arg, &q, err);
	}
	if (rc == BERTH_OK)
		rc = azure_next(&root, "nextLink", z->arm,
		    arena_printf(resp->arena, "%zu|", z->quota_place), cur, err);
	if (rc == BERTH_OK && cur->next[0] == '\0' && z->quota_place + 1 < z->n_locations)
		snprintf(cur->next, sizeof(cur->next), "%zu|", z->quota_place + 1);
	json_decref(v);
	return rc;
}

const struct prov_market_ops azure_market = {
	.offers_build = azure_offers_build,
	.offers_parse = azure_offers_parse,
	.quota_build = azure_quota_build,
	.quota_parse = azure_quota_parse,
	.quota_part = azure_quota_part,
};
