#include <math.h>
#include <string.h>

#include "providers/rates.h"
#include "providers/static/static.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/yaml.h"

static enum berth_code
rates_read_price(
    const struct yaml_node *map, struct arena *a, struct rate *r, struct berth_err *err)
{
	struct usd_micro gpu = USD_UNKNOWN, whole = USD_UNKNOWN, own = USD_UNKNOWN;
	const struct yaml_node *cost = NULL;
	int64_t count = 0;
	enum berth_code rc;

	r->source = "berth.yaml";
	if ((rc = yaml_money(map, "price_per_gpu_hour", &gpu, err)) != BERTH_OK ||
	    (rc = yaml_money(map, "price_per_hour", &whole, err)) != BERTH_OK ||
	    (rc = yaml_int(map, "accelerator_count", 1, 4096, &count, err)) != BERTH_OK ||
	    (rc = yaml_map(map, "cost", &cost, err)) != BERTH_OK)
		return rc;
	if (usd_known(gpu) + usd_known(whole) + (cost != NULL) != 1)
		return yaml_err(
		    map, err, "needs one of 'price_per_gpu_hour', 'price_per_hour' and 'cost'");
	if (cost != NULL && (rc = static_read_cost(cost, a, &own, &r->source, err)) != BERTH_OK)
		return rc;
	if (usd_known(gpu) && count > 0)
		return yaml_err(map, err,
		    "price_per_gpu_hour is for one accelerator: accelerator_count says nothing "
		    "there");
	r->price = usd_known(gpu) ? gpu : usd_known(whole) ? whole : own;
	r->per = usd_known(gpu) ? 1 : (double)count;
	return r->price.v > 0 ? BERTH_OK : yaml_err(map, err, "a price must be above 0");
}

static enum berth_code
rates_read_row(const struct yaml_node *map, struct arena *a, struct rate *r, struct berth_err *err)
{
	static const char *const keys[] = { "instance_type", "accelerator", "region", "zone",
		"purchase", "price_per_gpu_hour", "price_per_hour", "cost", "accelerator_count",
		NULL };
	const char *purchase = NULL;
	enum berth_code rc;

	if ((rc = yaml_need_kind(map, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "instance_type", &r->instance_type, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "accelerator", &r->accelerator, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "region", &r->region, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "zone", &r->zone, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "purchase", &purchase, err)) != BERTH_OK)
		return rc;
	r->any_purchase = purchase == NULL;
	if (purchase != NULL &&
	    (!purchase_parse(purchase, &r->purchase) || r->purchase == PURCHASE_RESERVED))
		return yaml_err(yaml_get(map, "purchase"), err, "must be on_demand or spot");
	return rates_read_price(map, a, r, err);
}

enum berth_code
rates_read(const struct yaml_node *prices, const struct yaml_node *accelerators, struct arena *a,
    struct rates *rates_out, struct berth_err *err)
{
	const char *name;
	enum berth_code rc;

	memset(rates_out, 0, sizeof(*rates_out));
	if (prices != NULL && (rc = yaml_need_kind(prices, YAML_KIND_LIST, err)) != BERTH_OK)
		return rc;
	if (accelerators != NULL &&
	    (rc = yaml_need_kind(accelerators, YAML_KIND_MAP, err)) != BERTH_OK)
		return rc;
	rates_out->n = prices != NULL ? prices->n : 0;
	rates_out->rows = arena_array_of(a, rates_out->n, struct rate);
	rates_out->names = accelerators;
	for (size_t i = 0; i < rates_out->n; i++)
		if ((rc = rates_read_row(prices->items[i], a, &rates_out->rows[i], err)) !=
		    BERTH_OK)
			return rc;
	for (size_t i = 0; accelerators != NULL && i < accelerators->n; i++)
		if ((rc = yaml_as_str(accelerators->items[i], &name, err)) != BERTH_OK)
			return rc;
	return BERTH_OK;
}

const char *
rates_accelerator(const struct rates *r, const char *word)
{
	for (size_t i = 0; r->names != NULL && i < r->names->n; i++)
		if (glob_match(r->names->keys[i], word))
			return r->names->items[i]->text;
	return NULL;
}

static bool
rates_fits(const struct rate *r, const char *word, const struct offer *o)
{
	if (!r->any_purchase && r->purchase != o->purchase)
		return false;
	if (r->accelerator != NULL && !glob_match(r->accelerator, o->accelerator) &&
	    (word == NULL || !glob_match(r->accelerator, word)))
		return false;
	return (r->instance_type == NULL || glob_match(r->instance_type, o->instance_type)) &&
	       (r->region == NULL || glob_match(r->region, o->region)) &&
	       (r->zone == NULL || glob_match(r->zone, o->zone));
}

void
rates_price(const struct rates *r, const char *word, struct offer *o)
{
	struct usd_micro p;

	for (size_t i = 0; i < r->n; i++) {
		const struct rate *row = &r->rows[i];

		if (!rates_fits(row, word, o))
			continue;
		if (row->per <= 0)
			p = row->price;
		else if (o->accelerator_count <= 0 ||
			 usd_mul_ratio(row->price, o->accelerator_count, (int64_t)row->per, &p,
			     NULL) != BERTH_OK)
			return;
		o->price = p.v > 0 ? p : USD_UNKNOWN;
		o->source = row->source;
		return;
	}
}
