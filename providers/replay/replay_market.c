#include <math.h>
#include <string.h>

#include "providers/replay/replay_int.h"
#include "util/str.h"

static enum berth_code
replay_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	(void)st, (void)q, (void)cur, (void)err;
	return replay_request(req, "GET", "offers");
}

static enum berth_code
replay_offer(const struct jsonr *o, int64_t as_of, const char *source, struct offer *out,
    struct berth_err *err)
{
	const char *purchase = "", *payment = "none";
	int64_t count = 0, months = 0;
	bool available = false;
	struct jsonr shown = jsonr_get(o, "available");
	enum berth_code rc;

	*out = (struct offer){
		.provider = "",
		.account = "",
		.region = "",
		.zone = "",
		.instance_type = "",
		.accelerator = "",
		.accelerator_memory_gib = NAN,
		.vcpus = NAN,
		.memory_gib = NAN,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.currency = "USD",
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = as_of,
		.source = source,
	};
	if ((rc = jsonr_str(o, "provider", &out->provider, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "region", &out->region, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "zone", &out->zone, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "instance_type", &out->instance_type, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "accelerator", &out->accelerator, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "accelerator_count", 0, 4096, &count, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "accelerator_memory_gib", &out->accelerator_memory_gib, err)) !=
		BERTH_OK ||
	    (rc = jsonr_double(o, "vcpus", &out->vcpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "memory_gib", &out->memory_gib, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "purchase", &purchase, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "term_months", 0, 120, &months, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "payment", &payment, err)) != BERTH_OK ||
	    (rc = jsonr_money(o, "upfront", &out->upfront, err)) != BERTH_OK ||
	    (rc = jsonr_money(o, "price_per_hour", &out->price, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "interruption_rate", &out->interruption_rate, err)) != BERTH_OK ||
	    (rc = jsonr_bool(o, "available", &available, err)) != BERTH_OK)
		return rc;
	out->accelerator_count = (int)count;
	out->term_months = (int)months;
	out->available = jsonr_none(&shown) ? AVAIL_UNKNOWN : available ? AVAIL_YES : AVAIL_NO;
	if (!purchase_parse(purchase, &out->purchase) || !payment_parse(payment, &out->payment))
		return jsonr_err(
		    o, BERTH_EINVAL, err, "purchase '%s', payment '%s'", purchase, payment);
	return BERTH_OK;
}

static enum berth_code
replay_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, list, item;
	const char *source = "";
	struct offer o;
	json_t *v = NULL;
	int64_t as_of = 0;
	enum berth_code rc;

	(void)st, (void)cur;
	if ((rc = jsonr_parse(resp->body, resp->body_len, "offers", &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "offers");
	if ((rc = jsonr_str(&root, "source", &source, err)) != BERTH_OK ||
	    (rc = jsonr_time(&root, "as_of", &as_of, err)) != BERTH_OK ||
	    (rc = jsonr_array(&root, "offers", &list, err)) != BERTH_OK)
		goto out;
	if (list.v == NULL) {
		rc = jsonr_err(&root, BERTH_EINVAL, err, "no offers in the answer");
		goto out;
	}
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = replay_offer(&item, as_of, source, &o, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &o, err);
	}
out:
	json_decref(v);
	return rc;
}

static enum berth_code
replay_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)cur, (void)err;
	return replay_request(req, "GET", "quotas");
}

static enum berth_code
replay_quota(const struct jsonr *o, struct prov_quota *q, struct berth_err *err)
{
	const char *region = "", *accelerator = "", *purchase = "", *provider = "";
	enum berth_code rc;

	memset(q, 0, sizeof(*q));
	q->limit = q->used = NAN;
	if ((rc = jsonr_str(o, "region", &region, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "accelerator", &accelerator, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "purchase", &purchase, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "provider", &provider, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "limit", &q->limit, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "used", &q->used, err)) != BERTH_OK)
		return rc;
	if (!purchase_parse(purchase, &q->purchase))
		return jsonr_err(o, BERTH_EINVAL, err, "purchase '%s'", purchase);
	str_copy(q->region, sizeof(q->region), str_eq(region, "*") ? "" : region);
	str_copy(q->name, sizeof(q->name), accelerator);
	str_copy(q->unit, sizeof(q->unit), "gpu");
	q->counts = str_copy(q->accelerator, sizeof(q->accelerator), accelerator) &&
		    str_copy(q->provider, sizeof(q->provider), provider);
	return BERTH_OK;
}

static enum berth_code
replay_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, list, item;
	struct prov_quota q;
	json_t *v = NULL;
	enum berth_code rc;

	(void)st, (void)cur;
	if ((rc = jsonr_parse(resp->body, resp->body_len, "quotas", &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "quotas");
	rc = jsonr_array(&root, "quotas", &list, err);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = replay_quota(&item, &q, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &q, err);
	}
	json_decref(v);
	return rc;
}

static enum berth_code
replay_notices_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)st, (void)cur, (void)err;
	return replay_request(req, "GET", "notices");
}

static enum berth_code
replay_notices_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	(void)st, (void)cur;
	return inproc_list_read(resp, emit, arg, err);
}

const struct prov_market_ops replay_market = {
	.offers_build = replay_offers_build,
	.offers_parse = replay_offers_parse,
	.quota_build = replay_quota_build,
	.quota_parse = replay_quota_parse,
	.notices_build = replay_notices_build,
	.notices_parse = replay_notices_parse,
};
