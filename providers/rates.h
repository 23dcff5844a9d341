/* providers/rates.h - what an hour costs where nobody sends a price list: own clouds and clusters.
 * Floor: providers. */
#ifndef BERTH_PROVIDERS_RATES_H
#define BERTH_PROVIDERS_RATES_H

#include "model/offer.h"
#include "providers/provider.h"

struct arena;
struct yaml_node;

/* One row of `prices`. Patterns are globs (util/glob.h); NULL fits all. */
struct rate {
	const char *instance_type, *accelerator, *region, *zone;
	bool any_purchase;
	enum purchase purchase;
	struct usd_micro price; /* an hour */
	double per; /* accelerators that the price is for; 0: one machine of whatever size */
	const char *source; /* "berth.yaml", or the formula of what an own machine costs */
};

struct rates {
	struct rate *rows;
	size_t n;
	const struct yaml_node *names; /* `accelerators`: the source's word -> a name of the
					  accelerator table; NULL: none */
};

/*
 * Reads an account's `prices` (a list; each row with price_per_gpu_hour, price_per_hour or cost,
 * the last as static machines have it, for accelerator_count of them if given) and `accelerators`
 * (a map). Either may be NULL. BERTH_EINVAL with file:line:column.
 */
BERTH_MUST_CHECK enum berth_code rates_read(const struct yaml_node *prices,
    const struct yaml_node *accelerators, struct arena *a, struct rates *rates_out,
    struct berth_err *err);
/* The name that `accelerators` gives a word (a glob on its keys, in their order); NULL if it says
 * nothing. */
const char *rates_accelerator(const struct rates *r, const char *word);
/*
 * Price and source of an offer by the first row that fits its type, accelerator (as the offer or as
 * word spells it), region, zone and purchase; else the price stays unknown. word may be NULL.
 */
void rates_price(const struct rates *r, const char *word, struct offer *o);

#endif
