#include <math.h>
#include <string.h>

#include "providers/runpod/runpod.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

/* Room and price differ by the number of cards, so each is asked for; prices are of one card and
 * hour. */
static const int runpod_counts[] = { 1, 2, 4, 8 };

static enum berth_code
runpod_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	const struct runpod *r = st;
	char *fields = arena_strdup(req->arena, "");

	(void)q, (void)cur;
	for (size_t i = 0; i < sizeof(runpod_counts) / sizeof(runpod_counts[0]); i++)
		fields = arena_printf(req->arena,
		    "%s c%d: lowestPrice(input: {gpuCount: %d, secureCloud: %s}) { minimumBidPrice "
		    "uninterruptablePrice stockStatus }",
		    fields, runpod_counts[i], runpod_counts[i], r->secure ? "true" : "false");
	return runpod_query(r, req,
	    arena_printf(req->arena, "query { gpuTypes { id displayName memoryInGb%s } }", fields),
	    NULL, NULL, err);
}

static enum berth_code
runpod_emit(const struct offer *o, enum purchase p, const struct jsonr *price, const char *key,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct offer f = *o;
	struct usd_micro one = USD_UNKNOWN;
	enum berth_code rc = jsonr_price(price, key, &one, err);

	if (rc != BERTH_OK || !usd_known(one) || one.v <= 0)
		return rc;
	f.purchase = p;
	rc = usd_mul_i64(one, f.accelerator_count, &f.price, err);
	return rc == BERTH_OK ? emit(arg, &f, err) : rc;
}

static enum berth_code
runpod_type(const struct runpod *r, const struct jsonr *type, struct arena *a, prov_offer_fn *emit,
    void *arg, struct berth_err *err)
{
	struct offer o = { .provider = "runpod",
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
		.as_of = r->env->now,
		.source = r->endpoint };
	const char *id = "", *stock;
	struct jsonr price;
	enum berth_code rc;

	if ((rc = jsonr_str(type, "id", &id, err)) != BERTH_OK || id[0] == '\0' ||
	    (rc = jsonr_double(type, "memoryInGb", &o.accelerator_memory_gib, err)) != BERTH_OK)
		return rc;
	o.accelerator = id;
	for (size_t i = 0; rc == BERTH_OK && i < sizeof(runpod_counts) / sizeof(runpod_counts[0]);
	     i++) {
		price = jsonr_get(type, arena_printf(a, "c%d", runpod_counts[i]));
		if (jsonr_none(&price))
			continue;
		stock = "";
		if ((rc = jsonr_str(&price, "stockStatus", &stock, err)) != BERTH_OK)
			break;
		o.available = stock[0] != '\0' && !str_ieq(stock, "None") ? AVAIL_YES : AVAIL_NO;
		o.accelerator_count = runpod_counts[i];
		o.instance_type = arena_printf(
		    a, "%s:%dx%s", r->secure ? "secure" : "community", runpod_counts[i], id);
		rc = runpod_emit(
		    &o, PURCHASE_ON_DEMAND, &price, "uninterruptablePrice", emit, arg, err);
		if (rc == BERTH_OK)
			rc = runpod_emit(
			    &o, PURCHASE_SPOT, &price, "minimumBidPrice", emit, arg, err);
	}
	return rc;
}

static enum berth_code
runpod_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, data, list, item;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)cur;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	data = jsonr_get(&root, "data");
	rc = jsonr_array(&data, "gpuTypes", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no prices in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = runpod_type(st, &item, resp->arena, emit, arg, err);
	}
	json_decref(v);
	return rc;
}

const struct prov_market_ops runpod_market = {
	.offers_build = runpod_offers_build,
	.offers_parse = runpod_offers_parse,
};
