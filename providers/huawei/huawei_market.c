#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/accel.h"
#include "providers/huawei/huawei.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/log.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

#define HUAWEI_BODY_MAX 262144
#define HUAWEI_PAGE 1000
#define HUAWEI_BATCH 50 /* products in one question about prices */
#define HUAWEI_SERVICE "hws.service.type.ec2"
#define HUAWEI_RESOURCE "hws.resource.type.vm"
#define HUAWEI_HOUR_UNIT 4

/*
 * The walk: for each region its zones, its flavors page by page, where they are sold as spot; then
 * what the flavors cost by the hour and paid ahead, many in one question.
 */
enum huawei_phase {
	HUAWEI_ZONES,
	HUAWEI_FLAVORS,
	HUAWEI_SPOT_ROOM,
	HUAWEI_HOUR,
	HUAWEI_MONTH,
	HUAWEI_YEAR,
	HUAWEI_YEARS,
	HUAWEI_PHASES
};

static const struct {
	int type, num, months;
} huawei_periods[HUAWEI_PHASES] = {
	[HUAWEI_MONTH] = { 2, 1, 1 },
	[HUAWEI_YEAR] = { 3, 1, 12 },
	[HUAWEI_YEARS] = { 3, 3, 36 },
};

struct huawei_refresh {
	struct arena *arena;
	enum huawei_phase phase;
	size_t region, start, count; /* count: flavors in the question about prices */
	struct strmap seen;          /* ids of flavors, or of policies, of the pages so far */
	struct strmap by_name;
	VEC(const char *) zones;
	VEC(struct huawei_type) types;
};

void
huawei_market_close(struct huawei *h)
{
	if (h->refresh != NULL)
		arena_free(h->refresh->arena);
	h->refresh = NULL;
}

/* cur->next: "REGION|PHASE|START|COUNT|MARKER"; "" is the start. Returns the marker, "" for a first
 * page. */
static const char *
huawei_offers_at(struct huawei *h, const struct prov_cursor *cur)
{
	const char *s = cur->next;
	size_t region = lease_cursor(s, &s), phase = lease_cursor(s, &s),
	       start = lease_cursor(s, &s), count = lease_cursor(s, &s);
	struct arena *a;

	if (h->refresh == NULL || phase == HUAWEI_ZONES) {
		huawei_market_close(h);
		a = arena_new();
		h->refresh = arena_new_of(a, struct huawei_refresh);
		h->refresh->arena = a;
	}
	h->refresh->region = region;
	h->refresh->phase = (enum huawei_phase)phase;
	h->refresh->start = start;
	h->refresh->count = count;
	return s;
}

static enum berth_code
huawei_goto(struct prov_cursor *cur, size_t region, int phase, size_t start, size_t count,
    const char *marker, struct berth_err *err)
{
	int n = snprintf(
	    cur->next, sizeof(cur->next), "%zu|%d|%zu|%zu|%s", region, phase, start, count, marker);

	return n > 0 && (size_t)n < sizeof(cur->next)
		   ? BERTH_OK
		   : err_set(err, BERTH_EINVAL, "the marker of a page is too long");
}

static void
huawei_product(const struct huawei_refresh *r, size_t i, const char *region, struct jsonw *w)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "id", arena_printf(r->arena, "%zu", i));
	jsonw_str(w, "cloud_service_type", HUAWEI_SERVICE);
	jsonw_str(w, "resource_type", HUAWEI_RESOURCE);
	jsonw_str(w, "resource_spec", arena_printf(r->arena, "%s.linux", r->types.v[i].name));
	jsonw_str(w, "region", region);
	if (r->phase == HUAWEI_HOUR) {
		jsonw_str(w, "usage_factor", "Duration");
		jsonw_int(w, "usage_value", 1);
		jsonw_int(w, "usage_measure_id", HUAWEI_HOUR_UNIT);
	} else {
		jsonw_int(w, "period_type", huawei_periods[r->phase].type);
		jsonw_int(w, "period_num", huawei_periods[r->phase].num);
	}
	jsonw_int(w, "subscription_num", 1);
	jsonw_end_object(w);
}

static enum berth_code
huawei_price_build(
    const struct huawei *h, const char *region, struct http_req *req, struct berth_err *err)
{
	const struct huawei_refresh *r = h->refresh;
	const char *project = huawei_project(h, region);
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	if (project == NULL || r->start + r->count > r->types.n)
		return err_set(
		    err, BERTH_EFAIL, "no flavor %zu of %s", r->start + r->count, region);
	buf_init(&b, HUAWEI_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "project_id", project);
	jsonw_begin_array(&w, "product_infos");
	for (size_t i = r->start; i < r->start + r->count; i++)
		huawei_product(r, i, region, &w);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	req->method = "POST";
	req->idempotent = true;
	req->any_status = true; /* one flavor that BSS does not know must not hide the others */
	http_req_url(req, "%s/v2/bills/ratings/%s", h->bss,
	    r->phase == HUAWEI_HOUR ? "on-demand-resources" : "period-resources/subscribe-rate");
	if (rc == BERTH_OK)
		rc = http_req_body(req, "application/json", b.p, b.len, err);
	buf_free(&b);
	if (rc == BERTH_OK && h->domain[0] != '\0')
		rc = http_req_header(req, "X-Domain-Id", h->domain, false, err);
	return rc;
}

static enum berth_code
huawei_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct huawei *h = st;
	const char *marker = huawei_offers_at(h, cur), *region = h->regions[h->refresh->region];
	const char *and = marker[0] != '\0' ? "&marker=" : "";

	(void)q;
	marker = http_urlencode(req->arena, marker);
	switch (h->refresh->phase) {
	case HUAWEI_ZONES:
		return huawei_ecs(h, req, "GET", region, "v1", err, "availability-zones");
	case HUAWEI_FLAVORS:
		return huawei_ecs(h, req, "GET", region, "v1", err,
		    "cloudservers/flavors?limit=%d%s%s", HUAWEI_PAGE, and, marker);
	case HUAWEI_SPOT_ROOM:
		return huawei_ecs(h, req, "GET", region, "v1", err,
		    "cloudservers/flavor-sell-policies?sell_mode=spot&limit=%d%s%s", HUAWEI_PAGE,
		    and, marker);
	case HUAWEI_HOUR:
	case HUAWEI_MONTH:
	case HUAWEI_YEAR:
	case HUAWEI_YEARS:
	case HUAWEI_PHASES:
		break;
	}
	return huawei_price_build(h, region, req, err);
}

static enum berth_code
huawei_take_zone(struct huawei_refresh *r, const struct jsonr *item, struct berth_err *err)
{
	const char *id = "";
	enum berth_code rc = jsonr_str(item, "availability_zone_id", &id, err);

	if (rc == BERTH_OK && id[0] != '\0')
		VEC_PUSH(r->arena, &r->zones, arena_strdup(r->arena, id));
	return rc;
}

/* id_out: of the entry, in the refresh's arena, for the next page begins behind the last one. */
static enum berth_code
huawei_take_flavor(
    struct huawei *h, const struct jsonr *item, const char **id_out, struct berth_err *err)
{
	struct huawei_refresh *r = h->refresh;
	struct huawei_type t;
	int added = 0;
	enum berth_code rc = jsonr_str(item, "id", id_out, err);

	if (rc == BERTH_OK)
		rc = huawei_flavor(h, item, r->zones.v, r->zones.n, r->arena, &t, err);
	if (rc != BERTH_OK || t.count < 1)
		return rc;
	strmap_add(r->arena, &r->by_name, t.name, r->types.n, &added);
	if (added)
		VEC_PUSH(r->arena, &r->types, t);
	return BERTH_OK;
}

/* Whether a zone has a flavor as spot now: what is said here stands above what the flavor itself
 * says. */
static enum berth_code
huawei_take_policy(
    struct huawei *h, const struct jsonr *item, const char **id_out, struct berth_err *err)
{
	const struct huawei_refresh *r = h->refresh;
	const char *flavor = "", *zone = "", *status = "", *mode = "";
	int64_t id = 0;
	const size_t *at;
	enum berth_code rc;

	if ((rc = jsonr_int(item, "id", 0, INT64_MAX, &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "flavor_id", &flavor, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "availability_zone_id", &zone, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "sell_status", &status, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "sell_mode", &mode, err)) != BERTH_OK)
		return rc;
	*id_out = arena_printf(r->arena, "%lld", (long long)id);
	if (!str_eq(mode, "spot") || (at = strmap_get(&r->by_name, flavor)) == NULL)
		return BERTH_OK;
	for (size_t z = 0; z < r->zones.n; z++)
		if (str_eq(r->zones.v[z], zone))
			r->types.v[*at].spot[z] = huawei_sale(status, HUAWEI_MAYBE);
	return BERTH_OK;
}

static struct offer
huawei_offer(
    const struct huawei *h, const struct huawei_type *t, size_t zone, enum huawei_sale room)
{
	const struct huawei_refresh *r = h->refresh;
	struct offer o = { .provider = "huawei",
		.account = "",
		.region = h->regions[r->region],
		.zone = r->zones.v[zone],
		.instance_type = t->name,
		.accelerator = t->card,
		.accelerator_count = t->count,
		.accelerator_memory_gib = t->card_gib,
		.vcpus = t->vcpus,
		.memory_gib = t->memory_gib,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = h->env->now,
		.source = h->bss,
		.available = room == HUAWEI_SOLD       ? AVAIL_YES
			     : room == HUAWEI_SOLD_OUT ? AVAIL_NO
						       : AVAIL_UNKNOWN };

	str_copy(o.currency, sizeof(o.currency), h->currency);
	return o;
}

/* Spot machines have no price in the API: what berth.yaml says of it, or none. */
static enum berth_code
huawei_emit_spot(const struct huawei *h, const struct huawei_type *t, prov_offer_fn *emit,
    void *arg, struct berth_err *err)
{
	const struct accel *card =
	    h->env->accels != NULL ? accel_find(h->env->accels, t->card) : NULL;
	enum berth_code rc = BERTH_OK;

	for (size_t z = 0; rc == BERTH_OK && z < h->refresh->zones.n; z++) {
		struct offer o;

		if (t->spot[z] == HUAWEI_NONE)
			continue;
		o = huawei_offer(h, t, z, t->spot[z]);
		o.purchase = PURCHASE_SPOT;
		o.source = h->ecs;
		rates_price(&h->rates, card != NULL ? card->name : t->card, &o);
		if (usd_known(o.price))
			str_copy(o.currency, sizeof(o.currency), "USD");
		rc = emit(arg, &o, err);
	}
	return rc;
}

/* paid: by the hour, or for a whole term ahead. */
static enum berth_code
huawei_emit(const struct huawei *h, const struct huawei_type *t, struct usd_micro paid,
    const char *currency, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	int months = huawei_periods[h->refresh->phase].months;
	enum berth_code rc = BERTH_OK;

	if (months > 0 ? !t->ahead || !usd_known(paid) : !t->by_hour)
		return BERTH_OK;
	for (size_t z = 0; rc == BERTH_OK && z < h->refresh->zones.n; z++) {
		struct offer o;

		if (t->room[z] == HUAWEI_NONE)
			continue;
		o = huawei_offer(h, t, z, t->room[z]);
		str_copy(o.currency, sizeof(o.currency), currency);
		o.purchase = months > 0 ? PURCHASE_RESERVED : PURCHASE_ON_DEMAND;
		o.payment = months > 0 ? PAYMENT_ALL : PAYMENT_NONE;
		o.term_months = months;
		o.upfront = months > 0 ? paid : USD_ZERO;
		o.price = months > 0 ? USD_ZERO : paid;
		rc = emit(arg, &o, err);
	}
	return rc;
}

/* What the account pays: the list price less its discount, both of one product. In another unit
 * than money: unknown. */
static enum berth_code
huawei_paid(const struct jsonr *item, struct usd_micro *out, struct berth_err *err)
{
	struct usd_micro list = USD_UNKNOWN, less = USD_UNKNOWN;
	int64_t unit = 1;
	enum berth_code rc;

	if ((rc = jsonr_int(item, "measure_id", 0, INT64_MAX, &unit, err)) != BERTH_OK ||
	    (rc = jsonr_price(item, "official_website_amount", &list, err)) != BERTH_OK ||
	    (rc = jsonr_price(item, "discount_amount", &less, err)) != BERTH_OK)
		return rc;
	if (unit != 1 || !usd_known(list))
		return BERTH_OK;
	*out = list;
	return usd_known(less) ? usd_sub(list, less, out, err) : BERTH_OK;
}

/* Of each product of the question its place in paid [count], by the id that it was given. */
static enum berth_code
huawei_take_results(const struct huawei_refresh *r, const struct jsonr *from,
    struct usd_micro *paid, struct berth_err *err)
{
	struct jsonr list = jsonr_get(from, "product_rating_results"), item;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		const char *id = "";
		int64_t at = -1;

		item = jsonr_at(&list, i);
		if ((rc = jsonr_str(&item, "id", &id, err)) != BERTH_OK)
			return rc;
		if (str_to_i64(id, (int64_t)r->start, (int64_t)(r->start + r->count) - 1, &at,
			NULL) == BERTH_OK)
			rc = huawei_paid(&item, &paid[(size_t)at - r->start], err);
	}
	return rc;
}

/* By the hour the discounts are in it; paid ahead the best of those that the account has stands
 * beside the list price. */
static enum berth_code
huawei_take_prices(const struct huawei_refresh *r, const struct jsonr *root, struct usd_micro *paid,
    struct berth_err *err)
{
	struct jsonr list = jsonr_get(root, "official_website_rating_result"),
		     all = jsonr_get(root, "optional_discount_rating_results"), one;
	enum berth_code rc;

	if (r->phase == HUAWEI_HOUR)
		return huawei_take_results(r, root, paid, err);
	rc = huawei_take_results(r, &list, paid, err);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&all); i++) {
		int64_t best = 0;

		one = jsonr_at(&all, i);
		rc = jsonr_int(&one, "best_offer", 0, 1, &best, err);
		if (rc == BERTH_OK && best == 1)
			rc = huawei_take_results(r, &one, paid, err);
	}
	return rc;
}

static bool
huawei_wanted(const struct huawei *h, int phase)
{
	if (phase == HUAWEI_SPOT_ROOM)
		return prov_conf_bool(h->env->conf, "spot", true);
	return phase < HUAWEI_MONTH || prov_conf_bool(h->env->conf, "commitments", true);
}

/* The next question: another phase, another region, or none. */
static enum berth_code
huawei_next(struct huawei *h, struct prov_cursor *cur, struct berth_err *err)
{
	const struct huawei_refresh *r = h->refresh;
	int phase = (int)r->phase + 1;

	while (phase < HUAWEI_PHASES && !huawei_wanted(h, phase))
		phase++;
	if (phase < HUAWEI_PHASES && (phase == HUAWEI_FLAVORS || r->types.n > 0))
		return huawei_goto(cur, r->region, phase, 0,
		    r->types.n < HUAWEI_BATCH ? r->types.n : HUAWEI_BATCH, "", err);
	if (r->region + 1 < h->n_regions)
		return huawei_goto(cur, r->region + 1, HUAWEI_ZONES, 0, 0, "", err);
	huawei_market_close(h);
	return BERTH_OK;
}

/* What stands behind this question's flavors; a question that was refused is asked for half of
 * them. */
static enum berth_code
huawei_next_batch(struct huawei *h, bool half, struct prov_cursor *cur, struct berth_err *err)
{
	const struct huawei_refresh *r = h->refresh;
	size_t start = half ? r->start : r->start + r->count, left = r->types.n - start;
	size_t count = half ? r->count / 2 : left < HUAWEI_BATCH ? left : HUAWEI_BATCH;

	if (left == 0)
		return huawei_next(h, cur, err);
	return huawei_goto(cur, r->region, (int)r->phase, start, count, "", err);
}

/* What keeps one flavor's price from being told is not what keeps any. */
static enum berth_code
huawei_refused(const struct huawei *h, const struct http_resp *resp, struct berth_err *err)
{
	const struct huawei_refresh *r = h->refresh;
	struct prov_error e = { "", "" };
	enum berth_code rc;

	(void)huawei_error_read(resp, &e);
	rc = prov_classify(&provider_huawei, resp, &e, false, NULL);
	if (rc == BERTH_EAUTH || rc == BERTH_ETHROTTLED || rc == BERTH_ETRANSIENT)
		return err_set(err, rc, "prices: HTTP %d %s: %s", resp->status, e.code, e.text);
	log_debug(h->env->log, "%s: no price of %s%s: HTTP %d %s", h->env->account,
	    r->types.v[r->start].name, r->count > 1 ? " and others" : "", resp->status, e.code);
	return BERTH_OK;
}

static enum berth_code
huawei_prices_parse(struct huawei *h, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	const struct huawei_refresh *r = h->refresh;
	struct usd_micro *paid = arena_alloc(resp->arena, r->count * sizeof(*paid));
	const char *currency = "";
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc;

	for (size_t i = 0; i < r->count; i++)
		paid[i] = USD_UNKNOWN;
	if (resp->status / 100 != 2) {
		if ((rc = huawei_refused(h, resp, err)) != BERTH_OK)
			return rc;
		if (r->count > 1)
			return huawei_next_batch(h, true, cur, err);
	} else {
		if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
			return rc;
		root = jsonr_root(v, "answer");
		if ((rc = jsonr_str(&root, "currency", &currency, err)) == BERTH_OK)
			rc = huawei_take_prices(r, &root, paid, err);
	}
	if (strlen(currency) != 3)
		currency = h->currency;
	for (size_t i = 0; rc == BERTH_OK && i < r->count; i++) {
		rc = huawei_emit(h, &r->types.v[r->start + i], paid[i], currency, emit, arg, err);
		if (rc == BERTH_OK && r->phase == HUAWEI_HOUR && huawei_wanted(h, HUAWEI_SPOT_ROOM))
			rc = huawei_emit_spot(h, &r->types.v[r->start + i], emit, arg, err);
	}
	json_decref(v);
	return rc == BERTH_OK ? huawei_next_batch(h, false, cur, err) : rc;
}

/* Pages end where one has nothing new, for none says that it is the last. */
static enum berth_code
huawei_take_list(struct huawei *h, const struct jsonr *root, const char *key,
    struct prov_cursor *cur, struct berth_err *err)
{
	struct huawei_refresh *r = h->refresh;
	struct jsonr list = jsonr_get(root, key), item;
	const char *last = "";
	int added, news = 0;
	enum berth_code rc = BERTH_OK;

	if (!json_is_array(list.v))
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no %s in the answer", key);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		if (r->phase == HUAWEI_ZONES)
			rc = huawei_take_zone(r, &item, err);
		else
			rc = r->phase == HUAWEI_FLAVORS ? huawei_take_flavor(h, &item, &last, err)
							: huawei_take_policy(h, &item, &last, err);
		strmap_add(r->arena, &r->seen, arena_printf(r->arena, "%d %s", (int)r->phase, last),
		    0, &added);
		news += added;
	}
	if (rc != BERTH_OK)
		return rc;
	if (r->phase == HUAWEI_ZONES || news == 0 || last[0] == '\0')
		return huawei_next(h, cur, err);
	return huawei_goto(cur, r->region, (int)r->phase, 0, 0, last, err);
}

static enum berth_code
huawei_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	static const char *const keys[] = { [HUAWEI_ZONES] = "availability_zones",
		[HUAWEI_FLAVORS] = "flavors",
		[HUAWEI_SPOT_ROOM] = "sell_policies" };
	struct huawei *h = st;
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc;

	if (h->refresh->phase >= HUAWEI_HOUR)
		return huawei_prices_parse(h, resp, cur, emit, arg, err);
	if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = huawei_take_list(h, &root, keys[h->refresh->phase], cur, err);
	json_decref(v);
	return rc;
}

static const struct {
	const char *most, *used, *unit;
	enum purchase purchase;
} huawei_quotas[] = {
	{ "maxTotalInstances", "totalInstancesUsed", "machine", PURCHASE_ON_DEMAND },
	{ "maxTotalCores", "totalCoresUsed", "vcpu", PURCHASE_ON_DEMAND },
	{ "maxTotalSpotInstances", "totalSpotInstancesUsed", "machine", PURCHASE_SPOT },
	{ "maxTotalSpotCores", "totalSpotCoresUsed", "vcpu", PURCHASE_SPOT },
};

/* cur->next: "REGION|". */
static enum berth_code
huawei_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct huawei *h = st;
	const char *rest;

	h->quota_region = lease_cursor(cur->next, &rest);
	return huawei_ecs(
	    h, req, "GET", h->regions[h->quota_region], "v1", err, "cloudservers/limits");
}

static void
huawei_quota_part(const void *st, struct prov_part *out)
{
	const struct huawei *h = st;

	lease_part(h->regions, h->n_regions, h->quota_region, out);
}

static enum berth_code
huawei_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	const struct huawei *h = st;
	struct jsonr root, absolute;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	absolute = jsonr_get(&root, "absolute");
	if (!json_is_object(absolute.v))
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no absolute in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < sizeof(huawei_quotas) / sizeof(huawei_quotas[0]);
	     i++) {
		struct prov_quota q = { .limit = NAN,
			.used = NAN,
			.purchase = huawei_quotas[i].purchase,
			.counts = true };

		if ((rc = jsonr_double(&absolute, huawei_quotas[i].most, &q.limit, err)) !=
			BERTH_OK ||
		    (rc = jsonr_double(&absolute, huawei_quotas[i].used, &q.used, err)) != BERTH_OK)
			break;
		str_copy(q.region, sizeof(q.region), h->regions[h->quota_region]);
		str_copy(q.name, sizeof(q.name), huawei_quotas[i].most);
		str_copy(q.unit, sizeof(q.unit), huawei_quotas[i].unit);
		if (q.limit >= 0) /* -1: none */
			rc = emit(arg, &q, err);
	}
	if (rc == BERTH_OK && h->quota_region + 1 < h->n_regions)
		snprintf(cur->next, sizeof(cur->next), "%zu|", h->quota_region + 1);
	json_decref(v);
	return rc;
}

const struct prov_market_ops huawei_market = {
	.offers_build = huawei_offers_build,
	.offers_parse = huawei_offers_parse,
	.quota_build = huawei_quota_build,
	.quota_parse = huawei_quota_parse,
	.quota_part = huawei_quota_part,
};
