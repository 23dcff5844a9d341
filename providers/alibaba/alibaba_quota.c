#include <math.h>
#include <stdio.h>

#include "providers/alibaba/alibaba.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

static const struct {
	const char *most, *used;
	enum purchase purchase;
} alibaba_quotas[] = {
	{ "max-postpaid-instance-vcpu-count", "used-postpaid-instance-vcpu-count",
	    PURCHASE_ON_DEMAND },
	{ "max-spot-instance-vcpu-count", "used-spot-instance-vcpu-count", PURCHASE_SPOT },
};

/* cur->next: "REGION|". */
enum berth_code
alibaba_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct alibaba *o = st;
	struct alibaba_args args = { .n = 0 };
	const char *rest;

	o->quota_region = lease_cursor(cur->next, &rest);
	alibaba_arg(&args, "RegionId", o->regions[o->quota_region]);
	for (size_t i = 0; i < sizeof(alibaba_quotas) / sizeof(alibaba_quotas[0]); i++) {
		alibaba_arg(&args, arena_printf(req->arena, "AttributeName.%zu", 2 * i + 1),
		    alibaba_quotas[i].most);
		alibaba_arg(&args, arena_printf(req->arena, "AttributeName.%zu", 2 * i + 2),
		    alibaba_quotas[i].used);
	}
	return alibaba_request(
	    o, req, o->regions[o->quota_region], "DescribeAccountAttributes", &args, err);
}

/* The first value of an attribute; NaN: not told. */
static double
alibaba_attribute(const struct jsonr *list, const char *name)
{
	for (size_t i = 0; i < jsonr_len(list); i++) {
		struct jsonr item = jsonr_at(list, i), outer = jsonr_get(&item, "AttributeValues"),
			     all = jsonr_get(&outer, "ValueItem");
		struct jsonr first = jsonr_at(&all, 0);
		const char *is = "";
		double v = NAN;

		(void)!jsonr_str(&item, "AttributeName", &is, NULL);
		if (str_eq(is, name) && jsonr_len(&all) > 0 &&
		    jsonr_double(&first, "Value", &v, NULL) == BERTH_OK)
			return v;
	}
	return NAN;
}

void
alibaba_quota_part(const void *st, struct prov_part *out)
{
	const struct alibaba *o = st;

	lease_part(o->regions, o->n_regions, o->quota_region, out);
}

enum berth_code
alibaba_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	const struct alibaba *o = st;
	struct jsonr root, outer, list;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	outer = jsonr_get(&root, "AccountAttributeItems");
	list = jsonr_get(&outer, "AccountAttributeItem");
	if (!json_is_array(list.v))
		rc = jsonr_err(
		    &root, BERTH_ETRANSIENT, err, "no AccountAttributeItems in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < sizeof(alibaba_quotas) / sizeof(alibaba_quotas[0]);
	     i++) {
		struct prov_quota q = { .limit = alibaba_attribute(&list, alibaba_quotas[i].most),
			.used = alibaba_attribute(&list, alibaba_quotas[i].used),
			.unit = "vcpu",
			.counts = true,
			.purchase = alibaba_quotas[i].purchase };

		str_copy(q.region, sizeof(q.region), o->regions[o->quota_region]);
		str_copy(q.name, sizeof(q.name), alibaba_quotas[i].most);
		if (!isnan(q.limit))
			rc = emit(arg, &q, err);
	}
	if (rc == BERTH_OK && o->quota_region + 1 < o->n_regions)
		snprintf(cur->next, sizeof(cur->next), "%zu|", o->quota_region + 1);
	json_decref(v);
	return rc;
}
