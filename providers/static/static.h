/* providers/static/static.h - own machines, priced by what they cost.  Floor: providers. */
#ifndef BERTH_PROVIDERS_STATIC_H
#define BERTH_PROVIDERS_STATIC_H

#include "providers/provider.h"

struct arena;
struct yaml_node;

extern const struct provider_ops provider_static;

/*
 * Price of one hour of use:
 *   (capital / (life_months * 730) + upkeep_per_month / 730) / utilisation + power_kw * pue *
 * energy_price Capital and upkeep are paid in idle hours too, so each hour of use carries
 * 1/utilisation of them; power is drawn while it works (what an idle machine draws belongs to
 * upkeep).
 */
struct static_cost {
	double capital;          /* USD, the whole machine; 0: written off */
	double life_months;      /* > 0 where there is capital */
	double upkeep_per_month; /* USD: rack, network, people, support */
	double power_kw;         /* under load */
	double pue;              /* of the room, >= 1 */
	double energy_price;     /* USD a kWh */
	double utilisation;      /* share of hours in use, 0 < u <= 1 */
};
/* USD_UNKNOWN if a figure is out of range. */
struct usd_micro static_price(const struct static_cost *c);
/* The formula with its figures, for people: the source of the offer. */
const char *static_formula(const struct static_cost *c, struct arena *a);

/* Reads the map under `cost`: the price, and the formula as its source. BERTH_EINVAL with
 * file:line:column. */
BERTH_MUST_CHECK enum berth_code static_read_cost(const struct yaml_node *map, struct arena *a,
    struct usd_micro *price_out, const char **source_out, struct berth_err *err);

/* One machine of the account. */
struct static_machine {
	const char *name, *address, *region, *zone, *instance_type, *accelerator;
	int accelerator_count;
	double accelerator_memory_gib, vcpus, memory_gib;
	struct usd_micro price;
	const char *source;
};

struct static_account {
	const struct prov_env *env;
	struct static_machine *machines;
	size_t n_machines;
	const char *state_path; /* "": none can be taken */
};

/* Reads the sequence under `machines`. BERTH_EINVAL with file:line:column. */
BERTH_MUST_CHECK enum berth_code static_read(const struct yaml_node *list, struct arena *a,
    struct static_account *acc, struct berth_err *err);

/*
 * Answers requests to static://: a machine is free or taken; who took it lies in one file beside
 * the store, under a lock.
 */
BERTH_MUST_CHECK enum berth_code static_exchange(
    void *st, const struct http_req *req, struct http_resp *resp, struct berth_err *err);

#endif
