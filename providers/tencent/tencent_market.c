#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/accel.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/tencent/tencent.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

/* The walk: for each region its types, then what they cost by the hour, as spot, and paid ahead. */
enum tencent_phase { TENCENT_TYPES, TENCENT_HOURLY, TENCENT_SPOT, TENCENT_PREPAID, TENCENT_PHASES };

static const char *const tencent_charges[] = { "", "POSTPAID_BY_HOUR", "SPOTPAID", "PREPAID" };

/* What DescribeInstanceTypeConfigs alone says: the card and its memory. */
struct tencent_type {
	const char *card;
	double card_gib, gpus;
};
struct tencent_refresh {
	struct arena *arena;
	enum tencent_phase phase;
	size_t region;
	struct strmap by_name;
	VEC(struct tencent_type) types;
};

/* Cards of families (cloud.tencent.com/document/product/560/19700), for types whose card is not
 * told. */
static const struct {
	const char *family, *card;
} tencent_families[] = {
	{ "GN6", "P4" },
	{ "GN6S", "P4" },
	{ "GN7", "T4" },
	{ "GN7vw", "T4" },
	{ "GN8", "P40" },
	{ "GN10X", "V100-SXM2-32GB" },
	{ "GN10Xp", "V100-SXM2-32GB" },
	{ "GT4", "A100-SXM4-40GB" },
	{ "PNV4", "A10" },
};

/* A whole term, paid ahead. */
static const struct {
	const char *price, *list;
	int months;
} tencent_terms[] = {
	{ "DiscountPrice", "OriginalPrice", 1 },
	{ "DiscountPriceOneYear", "OriginalPriceOneYear", 12 },
	{ "DiscountPriceThreeYear", "OriginalPriceThreeYear", 36 },
	{ "DiscountPriceFiveYear", "OriginalPriceFiveYear", 60 },
};

void
tencent_market_close(struct tencent *t)
{
	if (t->refresh != NULL)
		arena_free(t->refresh->arena);
	t->refresh = NULL;
}

/* cur->next: "REGION|PHASE"; "" is the start. */
static void
tencent_offers_at(struct tencent *t, const struct prov_cursor *cur)
{
	const char *phase = "";
	size_t region = lease_cursor(cur->next, &phase);
	struct arena *a;

	if (t->refresh == NULL || phase[0] == '\0' || phase[0] == '0') {
		tencent_market_close(t);
		a = arena_new();
		t->refresh = arena_new_of(a, struct tencent_refresh);
		t->refresh->arena = a;
	}
	t->refresh->region = region;
	t->refresh->phase = phase[0] != '\0' ? (enum tencent_phase)(phase[0] - '0') : TENCENT_TYPES;
}

static enum berth_code
tencent_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct tencent *t = st;
	struct jsonw w;
	struct buf b;
	struct tencent_call c = { .req = req, .b = &b, .w = &w };

	(void)q;
	tencent_offers_at(t, cur);
	c.region = t->regions[t->refresh->region];
	c.action = t->refresh->phase == TENCENT_TYPES ? "DescribeInstanceTypeConfigs"
						      : "DescribeZoneInstanceConfigInfos";
	tencent_begin(&c);
	if (t->refresh->phase != TENCENT_TYPES) {
		jsonw_begin_array(&w, "Filters");
		tencent_filter(&w, "instance-charge-type",
		    (const char *const[]){ tencent_charges[t->refresh->phase], NULL });
		jsonw_end_array(&w);
	}
	return tencent_end(t, &c, err);
}

static enum berth_code
tencent_take_type(struct tencent_refresh *r, const struct jsonr *item, struct berth_err *err)
{
	struct tencent_type type = { .card = "", .card_gib = NAN, .gpus = NAN };
	const char *name = "";
	double whole = NAN;
	int added = 0;
	enum berth_code rc;

	if ((rc = jsonr_str(item, "InstanceType", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "GpuType", &type.card, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "GpuMemory", &type.card_gib, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "GPU", &whole, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "GpuCount", &type.gpus, err)) != BERTH_OK)
		return rc;
	if (!(type.gpus > 0))
		type.gpus = whole;
	if (!(type.gpus > 0) || name[0] == '\0')
		return BERTH_OK;
	strmap_add(r->arena, &r->by_name, name, r->types.n, &added);
	if (added) { /* once a zone */
		type.card = arena_strdup(r->arena, type.card);
		VEC_PUSH(r->arena, &r->types, type);
	}
	return BERTH_OK;
}

/* What berth.yaml calls it, else the API, else what the family is known to have, else the family
 * itself. */
static const char *
tencent_card(const struct tencent *t, const char *card, const char *family)
{
	const char *own = card[0] != '\0' ? rates_accelerator(&t->words, card) : NULL;

	if (own == NULL)
		own = rates_accelerator(&t->words, family);
	if (own != NULL || card[0] != '\0')
		return own != NULL ? own : card;
	for (size_t i = 0; i < sizeof(tencent_families) / sizeof(tencent_families[0]); i++)
		if (str_eq(tencent_families[i].family, family))
			return tencent_families[i].card;
	return family;
}

/* A part of a card is one accelerator, named as the profile with its share of the memory: a quarter
 * of a T4 is a T4-4Q. */
static void
tencent_part(const struct tencent *t, double share, struct arena *a, struct offer *o)
{
	const struct accel *card =
	    t->env->accels != NULL ? accel_find(t->env->accels, o->accelerator) : NULL;
	double gib = card != NULL ? card->memory_gib * share : NAN;

	o->accelerator_count = 1;
	o->accelerator_memory_gib = gib;
	o->accelerator = gib >= 1 && fabs(gib - round(gib)) < 0.01
			     ? arena_printf(a, "%s-%.0fQ", card->name, round(gib))
			     : arena_printf(a, "%.3g %s", share, o->accelerator);
}

/* False: no GPU in it, or a number of them that is none. */
static bool
tencent_cards(const struct tencent *t, const struct jsonr *item, struct arena *a, struct offer *o)
{
	const size_t *at = strmap_get(&t->refresh->by_name, o->instance_type);
	struct tencent_type type = { .card = "", .card_gib = NAN, .gpus = NAN };
	const char *family = "";
	double gpus = NAN;

	if (at != NULL)
		type = t->refresh->types.v[*at];
	(void)!jsonr_str(item, "InstanceFamily", &family, NULL);
	(void)!jsonr_double(item, "GpuCount", &gpus, NULL);
	if (!(gpus > 0))
		gpus = type.gpus;
	if (!(gpus > 0) && jsonr_double(item, "Gpu", &gpus, NULL) != BERTH_OK)
		return false;
	if (!(gpus > 0) || gpus > 4096 || (gpus > 1 && gpus != floor(gpus)))
		return false;
	o->accelerator = tencent_card(t, type.card, family);
	if (o->accelerator[0] == '\0')
		return false;
	if (gpus < 1) {
		tencent_part(t, gpus, a, o);
		return true;
	}
	o->accelerator_count = (int)gpus;
	if (type.card_gib > 0)
		o->accelerator_memory_gib = type.card_gib;
	return true;
}

/* Sold: SELL or SOLD_OUT, and how much of it there is. */
static enum berth_code
tencent_room(const struct jsonr *item, enum availability *room_out, struct berth_err *err)
{
	const char *status = "", *stock = "";
	enum berth_code rc;

	if ((rc = jsonr_str(item, "Status", &status, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "StatusCategory", &stock, err)) != BERTH_OK)
		return rc;
	*room_out = str_eq(status, "SOLD_OUT") || str_eq(stock, "WithoutStock") ? AVAIL_NO
		    : str_eq(status, "SELL")                                    ? AVAIL_YES
										: AVAIL_UNKNOWN;
	return BERTH_OK;
}

/* What is paid, else the list price, which is never lower. 0 and less are no price. */
static enum berth_code
tencent_price(const struct jsonr *price, const char *key, const char *list, struct usd_micro *out,
    struct berth_err *err)
{
	enum berth_code rc;

	*out = USD_UNKNOWN;
	rc = jsonr_price(price, list, out, err);
	return rc == BERTH_OK ? jsonr_price(price, key, out, err) : rc;
}

/* The price of an hour is that of the first 96, the dearest of three steps. */
static enum berth_code
tencent_emit_hour(const struct jsonr *price, struct offer *o, prov_offer_fn *emit, void *arg,
    struct berth_err *err)
{
	const char *unit = "";
	enum berth_code rc;

	if ((rc = jsonr_str(price, "ChargeUnit", &unit, err)) != BERTH_OK ||
	    (rc = tencent_price(price, "UnitPriceDiscount", "UnitPrice", &o->price, err)) !=
		BERTH_OK)
		return rc;
	if (!str_eq(unit, "HOUR"))
		o->price = USD_UNKNOWN;
	return emit(arg, o, err);
}

static enum berth_code
tencent_emit_terms(const struct jsonr *price, struct offer *o, prov_offer_fn *emit, void *arg,
    struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	o->payment = PAYMENT_ALL;
	for (size_t i = 0; rc == BERTH_OK && i < sizeof(tencent_terms) / sizeof(tencent_terms[0]);
	     i++) {
		rc = tencent_price(
		    price, tencent_terms[i].price, tencent_terms[i].list, &o->upfront, err);
		o->term_months = tencent_terms[i].months;
		o->price = USD_ZERO;
		if (rc == BERTH_OK && usd_known(o->upfront))
			rc = emit(arg, o, err);
	}
	return rc;
}

static enum berth_code
tencent_take_price(const struct tencent *t, const struct jsonr *item, struct arena *a,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct offer o = { .provider = "tencent",
		.account = "",
		.region = t->regions[t->refresh->region],
		.zone = "",
		.instance_type = "",
		.accelerator = "",
		.accelerator_memory_gib = NAN,
		.vcpus = NAN,
		.memory_gib = NAN,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = t->env->now,
		.source = t->endpoint };
	struct jsonr price = jsonr_get(item, "Price");
	const char *charge = "";
	enum berth_code rc;

	if ((rc = jsonr_str(item, "InstanceType", &o.instance_type, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "Zone", &o.zone, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "InstanceChargeType", &charge, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "Cpu", &o.vcpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "Memory", &o.memory_gib, err)) != BERTH_OK ||
	    (rc = tencent_room(item, &o.available, err)) != BERTH_OK)
		return rc;
	if (o.instance_type[0] == '\0' || !str_eq(charge, tencent_charges[t->refresh->phase]) ||
	    !tencent_cards(t, item, a, &o))
		return BERTH_OK;
	str_copy(o.currency, sizeof(o.currency), t->currency);
	o.purchase = t->refresh->phase == TENCENT_SPOT      ? PURCHASE_SPOT
		     : t->refresh->phase == TENCENT_PREPAID ? PURCHASE_RESERVED
							    : PURCHASE_ON_DEMAND;
	if (o.purchase == PURCHASE_RESERVED)
		return tencent_emit_terms(&price, &o, emit, arg, err);
	return tencent_emit_hour(&price, &o, emit, arg, err);
}

static enum berth_code
tencent_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct tencent *t = st;
	struct tencent_refresh *r = t->refresh;
	const char *key =
	    r->phase == TENCENT_TYPES ? "InstanceTypeConfigSet" : "InstanceTypeQuotaSet";
	struct jsonr root, response, list, item;
	json_t *v = NULL;
	enum berth_code rc = tencent_answer(resp, &v, &root, &response, err);

	if (rc != BERTH_OK)
		return rc;
	rc = jsonr_array(&response, key, &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&response, BERTH_ETRANSIENT, err, "no %s in the answer", key);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = r->phase == TENCENT_TYPES
			 ? tencent_take_type(r, &item, err)
			 : tencent_take_price(t, &item, resp->arena, emit, arg, err);
	}
	json_decref(v);
	if (rc != BERTH_OK)
		return rc;
	if (r->phase + 1 < TENCENT_PHASES)
		snprintf(cur->next, sizeof(cur->next), "%zu|%d", r->region, (int)r->phase + 1);
	else if (r->region + 1 < t->n_regions)
		snprintf(cur->next, sizeof(cur->next), "%zu|0", r->region + 1);
	else
		tencent_market_close(t);
	return BERTH_OK;
}

/* cur->next: "REGION|". */
static enum berth_code
tencent_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	static const char *const kinds[] = { "PostPaidQuotaSet", "SpotPaidQuotaSet", NULL };
	struct tencent *t = st;
	const char *rest;
	struct jsonw w;
	struct buf b;
	struct tencent_call c = { .req = req, .action = "DescribeAccountQuota", .b = &b, .w = &w };

	t->quota_region = lease_cursor(cur->next, &rest);
	c.region = t->regions[t->quota_region];
	tencent_begin(&c);
	jsonw_begin_array(&w, "Filters");
	tencent_filter(&w, "quota-type", kinds);
	jsonw_end_array(&w);
	return tencent_end(t, &c, err);
}

/* Machines of a zone by the hour; cores of a zone as spot. */
static enum berth_code
tencent_take_quota(const struct tencent *t, const struct jsonr *set, const char *name, bool spot,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	struct jsonr item;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(set); i++) {
		struct prov_quota q = { .limit = NAN,
			.used = NAN,
			.purchase = spot ? PURCHASE_SPOT : PURCHASE_ON_DEMAND };
		const char *zone = "";

		item = jsonr_at(set, i);
		if ((rc = jsonr_str(&item, "Zone", &zone, err)) != BERTH_OK ||
		    (rc = jsonr_double(&item, "TotalQuota", &q.limit, err)) != BERTH_OK ||
		    (rc = jsonr_double(&item, "UsedQuota", &q.used, err)) != BERTH_OK)
			break;
		str_copy(q.region, sizeof(q.region), t->regions[t->quota_region]);
		str_copy(q.unit, sizeof(q.unit), spot ? "vcpu" : "machine");
		snprintf(q.name, sizeof(q.name), "%s %.80s", name, zone);
		q.counts = zone[0] != '\0' && str_copy(q.zone, sizeof(q.zone), zone);
		rc = emit(arg, &q, err);
	}
	return rc;
}

static void
tencent_quota_part(const void *st, struct prov_part *out)
{
	const struct tencent *t = st;

	lease_part(t->regions, t->n_regions, t->quota_region, out);
}

static enum berth_code
tencent_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	const struct tencent *t = st;
	struct jsonr root, response, overview, quota, hourly, spot;
	json_t *v = NULL;
	enum berth_code rc = tencent_answer(resp, &v, &root, &response, err);

	if (rc != BERTH_OK)
		return rc;
	overview = jsonr_get(&response, "AccountQuotaOverview");
	quota = jsonr_get(&overview, "AccountQuota");
	if (jsonr_none(&quota))
		rc = jsonr_err(&response, BERTH_ETRANSIENT, err, "no AccountQuota in the answer");
	hourly = jsonr_get(&quota, "PostPaidQuotaSet");
	spot = jsonr_get(&quota, "SpotPaidQuotaSet");
	if (rc == BERTH_OK)
		rc = tencent_take_quota(t, &hourly, "PostPaidQuotaSet", false, emit, arg, err);
	if (rc == BERTH_OK)
		rc = tencent_take_quota(t, &spot, "SpotPaidQuotaSet", true, emit, arg, err);
	if (rc == BERTH_OK && t->quota_region + 1 < t->n_regions)
		snprintf(cur->next, sizeof(cur->next), "%zu|", t->quota_region + 1);
	json_decref(v);
	return rc;
}

const struct prov_market_ops tencent_market = {
	.offers_build = tencent_offers_build,
	.offers_parse = tencent_offers_parse,
	.quota_build = tencent_quota_build,
	.quota_parse = tencent_quota_parse,
	.quota_part = tencent_quota_part,
};
