#include <math.h>
#include <string.h>

#include "providers/keyed.h"
#include "providers/prov.h"
#include "providers/vast/vast.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define VAST_LIMIT 2000
#define VAST_MONTH_HOURS 720 /* storage is by the month */

/* Two searches: asks at a fixed price, then those that take bids. */
static enum berth_code
vast_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct vast *v = st;
	enum berth_code rc = keyed_request(v->env, req, "POST", v->endpoint, err, "v0/bundles/");
	static const char *const wanted[] = { "rentable", "verified" };
	bool unverified = prov_conf_bool(v->env->conf, "unverified", false);
	struct jsonw w;
	struct buf b;

	(void)q;
	if (rc != BERTH_OK)
		return rc;
	v->bids = str_eq(cur->next, "bids");
	buf_init(&b, KEYED_BODY_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	for (size_t i = 0; i < (unverified ? 1 : 2); i++) {
		jsonw_begin_object(&w, wanted[i]);
		jsonw_bool(&w, "eq", true);
		jsonw_end_object(&w);
	}
	jsonw_begin_object(&w, "disk_space");
	jsonw_double(&w, "gte", v->disk_gib);
	jsonw_end_object(&w);
	jsonw_str(&w, "type", v->bids ? "bid" : "ondemand");
	jsonw_int(&w, "limit", VAST_LIMIT);
	jsonw_begin_array(&w, "order");
	jsonw_begin_array(&w, NULL);
	jsonw_str(&w, NULL, "dph_total");
	jsonw_str(&w, NULL, "asc");
	jsonw_end_array(&w);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	return keyed_body(req, &b, &w, err);
}

/* Cards report up to 7 % less than what is printed on them: the nearest size that is sold. */
static double
vast_memory(double mib)
{
	static const double sold[] = { 4, 6, 8, 10, 11, 12, 16, 20, 22, 24, 32, 40, 44, 48, 64, 80,
		94, 96, 141, 180, 192, 288 };
	double gib = mib / 1024, best = NAN;

	for (size_t i = 0; i < sizeof(sold) / sizeof(sold[0]); i++)
		if (fabs(gib - sold[i]) <= 0.07 * sold[i] &&
		    (isnan(best) || fabs(gib - sold[i]) < fabs(gib - best)))
			best = sold[i];
	return best;
}

/* A slice of a machine has its share of the memory; the cores that it may count on are said. */
static enum berth_code
vast_host(const struct jsonr *ask, struct offer *o, struct berth_err *err)
{
	double ram = NAN, all = NAN, own = NAN;
	enum berth_code rc;

	if ((rc = jsonr_double(ask, "cpu_ram", &ram, err)) != BERTH_OK ||
	    (rc = jsonr_double(ask, "cpu_cores", &all, err)) != BERTH_OK ||
	    (rc = jsonr_double(ask, "cpu_cores_effective", &own, err)) != BERTH_OK)
		return rc;
	o->vcpus = own;
	o->memory_gib = all > 0 && own > 0 && own <= all ? ram / 1024 * own / all : NAN;
	return BERTH_OK;
}

static enum berth_code
vast_ask(const struct vast *v, const struct jsonr *ask, struct arena *a, prov_offer_fn *emit,
    void *arg, struct berth_err *err)
{
	struct offer o = { .provider = "vast",
		.account = "",
		.zone = "",
		.region = "",
		.accelerator_memory_gib = NAN,
		.vcpus = NAN,
		.memory_gib = NAN,
		.purchase = v->bids ? PURCHASE_SPOT : PURCHASE_ON_DEMAND,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.currency = "USD",
		.available = AVAIL_YES,
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = v->env->now,
		.source = v->endpoint };
	double base = NAN, disk = NAN, mib = NAN;
	int64_t id = 0, cards = 0;
	const char *name = "", *place = "";
	bool taken = false;
	enum berth_code rc;

	if ((rc = jsonr_int(ask, "id", 1, INT64_MAX, &id, err)) != BERTH_OK ||
	    (rc = jsonr_int(ask, "num_gpus", 0, 64, &cards, err)) != BERTH_OK ||
	    (rc = jsonr_str(ask, "gpu_name", &name, err)) != BERTH_OK ||
	    (rc = jsonr_double(ask, "gpu_ram", &mib, err)) != BERTH_OK ||
	    (rc = jsonr_double(ask, v->bids ? "min_bid" : "dph_base", &base, err)) != BERTH_OK ||
	    (rc = jsonr_double(ask, "storage_cost", &disk, err)) != BERTH_OK ||
	    (rc = jsonr_str(ask, "geolocation", &place, err)) != BERTH_OK ||
	    (rc = jsonr_bool(ask, "rented", &taken, err)) != BERTH_OK ||
	    (rc = vast_host(ask, &o, err)) != BERTH_OK)
		return rc;
	if (id == 0 || cards == 0 || name[0] == '\0' || taken || !(base > 0))
		return BERTH_OK;
	o.region = strrchr(place, ',') != NULL ? str_trim(a, strrchr(place, ',') + 1) : place;
	o.accelerator = name;
	o.accelerator_count = (int)cards;
	o.accelerator_memory_gib = vast_memory(mib);
	o.instance_type = arena_printf(a, "%lldx%.40s/%lld", (long long)cards, name, (long long)id);
	/* without the disk's there is no price of the whole; nor is more than any money one */
	if (disk >= 0 && usd_from_double(base + disk * v->disk_gib / VAST_MONTH_HOURS, &o.price,
			     NULL) != BERTH_OK)
		o.price = USD_UNKNOWN;
	return emit(arg, &o, err);
}

static enum berth_code
vast_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	const struct vast *vast = st;
	struct jsonr root, list, item;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	list = jsonr_get(&root, "offers");
	if (json_is_object(list.v)) /* one alone, in some answers */
		rc = vast_ask(vast, &list, resp->arena, emit, arg, err);
	else if (!json_is_array(list.v))
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no offers in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = vast_ask(vast, &item, resp->arena, emit, arg, err);
	}
	json_decref(v);
	if (rc == BERTH_OK && !vast->bids)
		str_copy(cur->next, sizeof(cur->next), "bids");
	return rc;
}

const struct prov_market_ops vast_market = {
	.offers_build = vast_offers_build,
	.offers_parse = vast_offers_parse,
};
