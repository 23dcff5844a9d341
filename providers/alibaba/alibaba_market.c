#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/accel.h"
#include "providers/alibaba/alibaba.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

#define ALIBABA_TYPES_PAGE "500"

/*
 * The walk: for each region its types; where there is room for them, by the hour, as spot and paid
 * ahead; how often spot machines are taken back; then a price for each type that is sold so.
 */
enum alibaba_phase {
	ALIBABA_TYPES,
	ALIBABA_ROOM,
	ALIBABA_ROOM_SPOT,
	ALIBABA_ROOM_AHEAD,
	ALIBABA_ADVICE,
	ALIBABA_HOUR,
	ALIBABA_SPOT,
	ALIBABA_MONTH,
	ALIBABA_YEAR,
	ALIBABA_YEARS,
	ALIBABA_PHASES
};
enum alibaba_sale { ALIBABA_BY_HOUR, ALIBABA_AS_SPOT, ALIBABA_AHEAD, ALIBABA_SALES };

static const struct {
	enum alibaba_sale sale;
	const char *unit, *period;
	int months;
} alibaba_prices[ALIBABA_PHASES] = {
	[ALIBABA_ROOM] = { ALIBABA_BY_HOUR, "", "", 0 },
	[ALIBABA_ROOM_SPOT] = { ALIBABA_AS_SPOT, "", "", 0 },
	[ALIBABA_ROOM_AHEAD] = { ALIBABA_AHEAD, "", "", 0 },
	[ALIBABA_ADVICE] = { ALIBABA_AS_SPOT, "", "", 0 },
	[ALIBABA_HOUR] = { ALIBABA_BY_HOUR, "Hour", "1", 0 },
	[ALIBABA_SPOT] = { ALIBABA_AS_SPOT, "", "", 0 },
	[ALIBABA_MONTH] = { ALIBABA_AHEAD, "Month", "1", 1 },
	[ALIBABA_YEAR] = { ALIBABA_AHEAD, "Year", "1", 12 },
	[ALIBABA_YEARS] = { ALIBABA_AHEAD, "Year", "3", 36 },
};

struct alibaba_type {
	const char *name, *card;
	int count;
	double card_gib, vcpus, memory_gib;
	bool sold[ALIBABA_SALES];
};
struct alibaba_place {
	size_t type;
	enum alibaba_sale sale;
	const char *zone;
	enum availability room;
	double rate;
};
struct alibaba_refresh {
	struct arena *arena;
	enum alibaba_phase phase;
	size_t region, item;
	struct strmap by_name;
	VEC(struct alibaba_type) types;
	VEC(struct alibaba_place) places;
};

void
alibaba_market_close(struct alibaba *o)
{
	if (o->refresh != NULL)
		arena_free(o->refresh->arena);
	o->refresh = NULL;
}

/* cur->next: "REGION|PHASE|ITEM|PAGE"; "" is the start. Returns the page, "" for a first one. */
static const char *
alibaba_offers_at(struct alibaba *o, const struct prov_cursor *cur)
{
	const char *rest = "", *page = "", *tail = "";
	size_t region = lease_cursor(cur->next, &rest), phase = lease_cursor(rest, &tail),
	       item = lease_cursor(tail, &page);
	struct arena *a;

	if (o->refresh == NULL || (phase == ALIBABA_TYPES && page[0] == '\0')) {
		alibaba_market_close(o);
		a = arena_new();
		o->refresh = arena_new_of(a, struct alibaba_refresh);
		o->refresh->arena = a;
	}
	o->refresh->region = region;
	o->refresh->phase = (enum alibaba_phase)phase;
	o->refresh->item = item;
	return page;
}

static bool
alibaba_goto(
    struct prov_cursor *cur, size_t region, enum alibaba_phase phase, size_t item, const char *page)
{
	int n =
	    snprintf(cur->next, sizeof(cur->next), "%zu|%d|%zu|%s", region, (int)phase, item, page);

	return n > 0 && (size_t)n < sizeof(cur->next);
}

static void
alibaba_price_args(const struct alibaba *o, const char *type, enum alibaba_phase phase,
    struct arena *a, struct alibaba_args *q)
{
	alibaba_arg(q, "InstanceType", type);
	if (phase == ALIBABA_SPOT) {
		alibaba_arg(q, "NetworkType", "vpc");
		alibaba_arg(q, "OSType", "linux");
		return;
	}
	alibaba_arg(q, "ResourceType", "instance");
	alibaba_arg(q, "PriceUnit", alibaba_prices[phase].unit);
	alibaba_arg(q, "Period", alibaba_prices[phase].period);
	alibaba_arg(
	    q, "SystemDisk.Category", prov_conf_str(o->env->conf, "disk_category", "cloud_essd"));
	alibaba_arg(q, "SystemDisk.Size",
	    arena_printf(a, "%lld", (long long)prov_conf_int(o->env->conf, "disk_gib", 100)));
}

static enum berth_code
alibaba_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct alibaba *o = st;
	const char *page = alibaba_offers_at(o, cur);
	const struct alibaba_refresh *r = o->refresh;
	const char *region = o->regions[r->region];
	struct alibaba_args args = { .n = 0 };

	(void)q;
	if (r->phase != ALIBABA_TYPES) /* of those it is the endpoint that says it */
		alibaba_arg(&args, "RegionId", region);
	if (r->phase == ALIBABA_TYPES) {
		alibaba_arg(&args, "MaxResults", ALIBABA_TYPES_PAGE);
		if (page[0] != '\0')
			alibaba_arg(&args, "NextToken", page);
		return alibaba_request(o, req, region, "DescribeInstanceTypes", &args, err);
	}
	if (r->phase == ALIBABA_ADVICE) {
		/* types of any size: without a size it must be told which, ten at a time */
		alibaba_arg(&args, "MinCores", "1");
		alibaba_arg(&args, "MinMemory", "1");
		req->any_status = true; /* who may not ask that has offers all the same */
		return alibaba_request(o, req, region, "DescribeSpotAdvice", &args, err);
	}
	if (r->phase < ALIBABA_ADVICE) {
		alibaba_arg(&args, "DestinationResource", "InstanceType");
		alibaba_arg(&args, "ResourceType", "instance");
		alibaba_arg(&args, "InstanceChargeType",
		    r->phase == ALIBABA_ROOM_AHEAD ? "PrePaid" : "PostPaid");
		if (r->phase == ALIBABA_ROOM_SPOT)
			alibaba_arg(&args, "SpotStrategy", "SpotAsPriceGo");
		return alibaba_request(o, req, region, "DescribeAvailableResource", &args, err);
	}
	if (r->item >= r->types.n)
		return err_set(err, BERTH_EFAIL, "no type %zu", r->item);
	alibaba_price_args(o, r->types.v[r->item].name, r->phase, req->arena, &args);
	if (page[0] != '\0')
		alibaba_arg(&args, "Offset", page);
	req->any_status = true; /* one type without a price must not hide the others */
	return alibaba_request(o, req, region,
	    r->phase == ALIBABA_SPOT ? "DescribeSpotPriceHistory" : "DescribePrice", &args, err);
}

/* Of "NVIDIA A10*1/4" the name and 1/4. */
static const char *
alibaba_spec(struct arena *a, const char *spec, double *share_out)
{
	size_t n = strcspn(spec, "*/");
	const char *slash = strchr(spec + n, '/');
	double whole = 1, parts = 1;

	if (spec[n] == '*' && slash != NULL)
		(void)!str_to_double(str_trim(a, arena_strndup(a, spec + n + 1,
						     (size_t)(slash - spec - (ptrdiff_t)n - 1))),
		    1, 64, &whole, NULL);
	if (slash != NULL &&
	    str_to_double(str_trim(a, arena_strdup(a, slash + 1)), 1, 64, &parts, NULL) == BERTH_OK)
		*share_out = whole / parts;
	return str_trim(a, arena_strndup(a, spec, n));
}

/* A part of a card, told by its spec or by its memory, is one accelerator with the name of that
 * profile: A10-6Q. */
static void
alibaba_card(const struct alibaba *o, const char *spec, double gpus, struct alibaba_type *t)
{
	struct arena *a = o->refresh->arena;
	double share = 1, gib;
	const char *name = alibaba_spec(a, spec, &share), *own = rates_accelerator(&o->words, spec);
	const struct accel *card;

	if (own == NULL)
		own = rates_accelerator(&o->words, name);
	t->card = own != NULL ? arena_strdup(a, own) : name;
	t->count = gpus >= 1 ? (int)gpus : 0;
	card = o->env->accels != NULL ? accel_find(o->env->accels, t->card) : NULL;
	if (gpus > 0 && gpus < 1)
		share = gpus;
	else if (share >= 1 && card != NULL && card->n_members == 0 && t->card_gib > 0 &&
		 t->card_gib < 0.9 * card->memory_gib)
		share = t->card_gib / card->memory_gib;
	if (share >= 1)
		return;
	gib = card != NULL && card->n_members == 0 ? share * card->memory_gib : NAN;
	t->count = 1;
	t->card_gib = gib;
	t->card = gib >= 1 && fabs(gib - round(gib)) < 0.01
		      ? arena_printf(a, "%s-%.0fQ", card->name, round(gib))
		      : arena_printf(a, "%.3g %s", share, t->card);
}

static enum berth_code
alibaba_take_type(struct alibaba *o, const struct jsonr *item, struct berth_err *err)
{
	struct alibaba_refresh *r = o->refresh;
	struct alibaba_type t = { .card = "", .card_gib = NAN, .vcpus = NAN, .memory_gib = NAN };
	const char *name = "", *spec = "";
	double gpus = 0;
	int added = 0;
	enum berth_code rc;

	if ((rc = jsonr_str(item, "InstanceTypeId", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "GPUSpec", &spec, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "GPUAmount", &gpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "GPUMemorySize", &t.card_gib, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "CpuCoreCount", &t.vcpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "MemorySize", &t.memory_gib, err)) != BERTH_OK)
		return rc;
	if (name[0] == '\0' || spec[0] == '\0' || gpus < 0 || gpus > 4096 ||
	    (gpus > 1 && gpus != floor(gpus)))
		return BERTH_OK;
	if (!(t.card_gib > 0))
		t.card_gib = NAN;
	alibaba_card(o, spec, gpus, &t);
	if (t.count < 1)
		return BERTH_OK;
	strmap_add(r->arena, &r->by_name, name, r->types.n, &added);
	if (added) {
		t.name = arena_strdup(r->arena, name);
		VEC_PUSH(r->arena, &r->types, t);
	}
	return BERTH_OK;
}

/* Of one zone: what is on sale there, and whether there is some. */
static enum berth_code
alibaba_take_zone(struct alibaba_refresh *r, const struct jsonr *zone, struct berth_err *err)
{
	enum alibaba_sale sale = alibaba_prices[r->phase].sale;
	struct jsonr outer = jsonr_get(zone, "AvailableResources"),
		     list = jsonr_get(&outer, "AvailableResource"), one, in, all, item;
	const char *name = "";
	enum berth_code rc = jsonr_str(zone, "ZoneId", &name, err);

	if (rc != BERTH_OK || name[0] == '\0')
		return rc;
	name = arena_strdup(r->arena, name);
	for (size_t i = 0; i < jsonr_len(&list); i++) {
		one = jsonr_at(&list, i);
		in = jsonr_get(&one, "SupportedResources");
		all = jsonr_get(&in, "SupportedResource");
		for (size_t k = 0; k < jsonr_len(&all); k++) {
			const char *type = "", *stock = "", *status = "";
			const size_t *at;

			item = jsonr_at(&all, k);
			if ((rc = jsonr_str(&item, "Value", &type, err)) != BERTH_OK ||
			    (rc = jsonr_str(&item, "Status", &status, err)) != BERTH_OK ||
			    (rc = jsonr_str(&item, "StatusCategory", &stock, err)) != BERTH_OK)
				return rc;
			if ((at = strmap_get(&r->by_name, type)) == NULL)
				continue;
			r->types.v[*at].sold[sale] = true;
			VEC_PUSH(r->arena, &r->places,
			    ((struct alibaba_place){ .type = *at,
				.sale = sale,
				.zone = name,
				.rate = NAN,
				.room = str_eq(status, "SoldOut") || str_ends(stock, "WithoutStock")
					    ? AVAIL_NO
					: str_ends(stock, "WithStock") ? AVAIL_YES
								       : AVAIL_UNKNOWN }));
		}
	}
	return BERTH_OK;
}

static struct offer
alibaba_offer(const struct alibaba *o, const struct alibaba_type *t, const struct alibaba_place *p)
{
	return (struct offer){ .provider = "alibaba",
		.account = "",
		.region = o->regions[o->refresh->region],
		.zone = p->zone,
		.instance_type = t->name,
		.accelerator = t->card,
		.accelerator_count = t->count,
		.accelerator_memory_gib = t->card_gib,
		.vcpus = t->vcpus,
		.memory_gib = t->memory_gib,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.available = p->room,
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = o->env->now,
		.source = o->template };
}

/* Of the machine alone where the parts are told, else of all of it; what is paid, else the list
 * price. */
static enum berth_code
alibaba_price_of(const struct jsonr *price, struct usd_micro *out, struct berth_err *err)
{
	struct jsonr infos = jsonr_get(price, "DetailInfos"),
		     list = jsonr_get(&infos, "DetailInfo"), one = *price, item;
	enum berth_code rc;

	for (size_t i = 0; i < jsonr_len(&list); i++) {
		const char *what = "";

		item = jsonr_at(&list, i);
		if ((rc = jsonr_str(&item, "Resource", &what, err)) != BERTH_OK)
			return rc;
		if (str_eq(what, "instanceType"))
			one = item;
	}
	*out = USD_UNKNOWN;
	rc = jsonr_price(&one, "OriginalPrice", out, err);
	return rc == BERTH_OK ? jsonr_price(&one, "TradePrice", out, err) : rc;
}

static enum berth_code
alibaba_take_price(const struct alibaba *o, const struct jsonr *root, prov_offer_fn *emit,
    void *arg, struct berth_err *err)
{
	const struct alibaba_refresh *r = o->refresh;
	struct jsonr info = jsonr_get(root, "PriceInfo"), price = jsonr_get(&info, "Price");
	int months = alibaba_prices[r->phase].months;
	struct usd_micro paid = USD_UNKNOWN;
	const char *currency = "";
	enum berth_code rc;

	if ((rc = alibaba_price_of(&price, &paid, err)) != BERTH_OK ||
	    (rc = jsonr_str(&price, "Currency", &currency, err)) != BERTH_OK)
		return rc;
	if (strlen(currency) != 3) { /* a number of nobody knows what is no price */
		paid = USD_UNKNOWN;
		currency = "USD";
	}
	for (size_t i = 0; rc == BERTH_OK && i < r->places.n; i++) {
		const struct alibaba_place *p = &r->places.v[i];
		struct offer f;

		if (p->type != r->item || p->sale != alibaba_prices[r->phase].sale ||
		    (months > 0 && !usd_known(paid)))
			continue;
		f = alibaba_offer(o, &r->types.v[p->type], p);
		str_copy(f.currency, sizeof(f.currency), currency);
		f.purchase = months > 0 ? PURCHASE_RESERVED : PURCHASE_ON_DEMAND;
		f.payment = months > 0 ? PAYMENT_ALL : PAYMENT_NONE;
		f.term_months = months;
		f.upfront = months > 0 ? paid : USD_ZERO;
		f.price = months > 0 ? USD_ZERO : paid;
		rc = emit(arg, &f, err);
	}
	return rc;
}

/* The newest price of the type in a zone: however long ago it changed, it is true now. */
static enum berth_code
alibaba_newest(const struct jsonr *list, const char *zone, struct offer *f, struct berth_err *err)
{
	int64_t newest = 0;
	enum berth_code rc;
	struct jsonr item;

	for (size_t i = 0; i < jsonr_len(list); i++) {
		const char *at = "";
		int64_t when = 0;

		item = jsonr_at(list, i);
		if ((rc = jsonr_str(&item, "ZoneId", &at, err)) != BERTH_OK ||
		    (rc = jsonr_time(&item, "Timestamp", &when, err)) != BERTH_OK)
			return rc;
		if (!str_eq(at, zone) || when <= newest)
			continue;
		newest = when;
		f->price = USD_UNKNOWN;
		if ((rc = jsonr_price(&item, "SpotPrice", &f->price, err)) != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

static enum berth_code
alibaba_take_spot(const struct alibaba *o, const struct jsonr *root, prov_offer_fn *emit, void *arg,
    struct berth_err *err)
{
	const struct alibaba_refresh *r = o->refresh;
	struct jsonr prices = jsonr_get(root, "SpotPrices"),
		     list = jsonr_get(&prices, "SpotPriceType");
	const char *currency = "";
	enum berth_code rc = jsonr_str(root, "Currency", &currency, err);

	for (size_t i = 0; rc == BERTH_OK && i < r->places.n; i++) {
		const struct alibaba_place *p = &r->places.v[i];
		struct offer f;

		if (p->type != r->item || p->sale != ALIBABA_AS_SPOT)
			continue;
		f = alibaba_offer(o, &r->types.v[p->type], p);
		f.purchase = PURCHASE_SPOT;
		f.interruption_rate = p->rate;
		if (strlen(currency) == 3)
			rc = alibaba_newest(&list, p->zone, &f, err);
		str_copy(f.currency, sizeof(f.currency), strlen(currency) == 3 ? currency : "USD");
		if (rc == BERTH_OK)
			rc = emit(arg, &f, err);
	}
	return rc;
}

static bool
alibaba_wanted(const struct alibaba *o, enum alibaba_phase phase)
{
	enum alibaba_sale sale = alibaba_prices[phase].sale;

	return (phase != ALIBABA_ADVICE || prov_conf_bool(o->env->conf, "spot_advice", true)) &&
	       (sale != ALIBABA_AS_SPOT || prov_conf_bool(o->env->conf, "spot", true)) &&
	       (sale != ALIBABA_AHEAD || prov_conf_bool(o->env->conf, "commitments", true));
}

/* The next question: another type in this phase, another phase, another region, or none. */
static void
alibaba_next(struct alibaba *o, struct prov_cursor *cur)
{
	const struct alibaba_refresh *r = o->refresh;
	size_t item = r->phase < ALIBABA_HOUR ? 0 : r->item + 1;

	for (int phase = (int)r->phase + (r->phase < ALIBABA_HOUR);
	     r->types.n > 0 && phase < ALIBABA_PHASES; phase++, item = 0) {
		if (!alibaba_wanted(o, (enum alibaba_phase)phase))
			continue;
		if (phase >= ALIBABA_HOUR)
			while (
			    item < r->types.n && !r->types.v[item].sold[alibaba_prices[phase].sale])
				item++;
		if (phase < ALIBABA_HOUR || item < r->types.n) {
			alibaba_goto(cur, r->region, (enum alibaba_phase)phase, item, "");
			return;
		}
	}
	if (r->region + 1 < o->n_regions)
		alibaba_goto(cur, r->region + 1, ALIBABA_TYPES, 0, "");
	else
		alibaba_market_close(o);
}

static enum berth_code
alibaba_take_list(struct alibaba *o, const struct jsonr *root, struct prov_cursor *cur, bool *more,
    struct berth_err *err)
{
	bool types = o->refresh->phase == ALIBABA_TYPES;
	struct jsonr outer = jsonr_get(root, types ? "InstanceTypes" : "AvailableZones"), item;
	struct jsonr list = jsonr_get(&outer, types ? "InstanceType" : "AvailableZone");
	const char *token = "";
	enum berth_code rc = BERTH_OK;

	if (types && !json_is_array(list.v))
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no InstanceTypes in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = types ? alibaba_take_type(o, &item, err)
			   : alibaba_take_zone(o->refresh, &item, err);
	}
	if (rc == BERTH_OK && types)
		rc = jsonr_str(root, "NextToken", &token, err);
	*more = token[0] != '\0';
	if (rc == BERTH_OK && *more &&
	    !alibaba_goto(cur, o->refresh->region, ALIBABA_TYPES, 0, token))
		return err_set(err, BERTH_EINVAL, "NextToken is too long");
	return rc;
}

static void
alibaba_take_rate(void *arg, const char *zone, const char *type, double rate)
{
	struct alibaba_refresh *r = arg;
	const size_t *at = strmap_get(&r->by_name, type);

	for (size_t i = 0; at != NULL && i < r->places.n; i++)
		if (r->places.v[i].type == *at && r->places.v[i].sale == ALIBABA_AS_SPOT &&
		    str_eq(r->places.v[i].zone, zone))
			r->places.v[i].rate = rate;
}

/* What keeps one type's price from being told is not what keeps any. */
static enum berth_code
alibaba_refused(const struct alibaba *o, const struct http_resp *resp, struct berth_err *err)
{
	struct prov_error e = { "", "" };
	enum berth_code rc;

	(void)alibaba_error_read(resp, &e);
	if (o->refresh->phase == ALIBABA_ADVICE) {
		log_warn(o->env->log, "%s: no rates of interruption: HTTP %d %s", o->env->account,
		    resp->status, e.code);
		return BERTH_OK;
	}
	rc = prov_classify(&provider_alibaba, resp, &e, false, NULL);
	if (rc == BERTH_EAUTH || rc == BERTH_ETHROTTLED || rc == BERTH_ETRANSIENT)
		return err_set(err, rc, "HTTP %d %s: %s", resp->status, e.code, e.text);
	log_debug(o->env->log, "%s: no price of %s: HTTP %d %s", o->env->account,
	    o->refresh->types.v[o->refresh->item].name, resp->status, e.code);
	return BERTH_OK;
}

static enum berth_code
alibaba_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct alibaba *o = st;
	bool more = false;
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc;

	if (resp->status / 100 != 2) {
		if ((rc = alibaba_refused(o, resp, err)) == BERTH_OK)
			alibaba_next(o, cur);
		return rc;
	}
	if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	if (o->refresh->phase == ALIBABA_ADVICE)
		alibaba_advice(&root, alibaba_take_rate, o->refresh);
	else if (o->refresh->phase < ALIBABA_ADVICE)
		rc = alibaba_take_list(o, &root, cur, &more, err);
	else if (o->refresh->phase == ALIBABA_SPOT)
		rc = alibaba_take_spot(o, &root, emit, arg, err);
	else
		rc = alibaba_take_price(o, &root, emit, arg, err);
	if (rc == BERTH_OK && !more)
		alibaba_next(o, cur);
	json_decref(v);
	return rc;
}

const struct prov_market_ops alibaba_market = {
	.offers_build = alibaba_offers_build,
	.offers_parse = alibaba_offers_parse,
	.quota_build = alibaba_quota_build,
	.quota_parse = alibaba_quota_parse,
	.quota_part = alibaba_quota_part,
};
