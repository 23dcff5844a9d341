#include <math.h>
#include <stdio.h>

#include "providers/static/static.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/yaml.h"

#define STATIC_MONTH_HOURS 730

struct usd_micro
static_price(const struct static_cost *c)
{
	struct usd_micro out = USD_UNKNOWN;
	double fixed;

	if (!(c->utilisation > 0 && c->utilisation <= 1) || !(c->pue >= 1) || !(c->capital >= 0) ||
	    (c->capital > 0 && !(c->life_months > 0)))
		return USD_UNKNOWN;
	fixed = c->upkeep_per_month / STATIC_MONTH_HOURS;
	if (c->capital > 0)
		fixed += c->capital / (c->life_months * STATIC_MONTH_HOURS);
	if (usd_from_double(fixed / c->utilisation + c->power_kw * c->pue * c->energy_price, &out,
		NULL) != BERTH_OK)
		return USD_UNKNOWN;
	return out.v > 0 ? out : USD_UNKNOWN;
}

const char *
static_formula(const struct static_cost *c, struct arena *a)
{
	return arena_printf(a,
	    "(%.10g USD / %.10g h + %.10g USD / %d h) / %.10g + %.10g kW * %.10g * %.10g USD",
	    c->capital, c->life_months * STATIC_MONTH_HOURS, c->upkeep_per_month,
	    STATIC_MONTH_HOURS, c->utilisation, c->power_kw, c->pue, c->energy_price);
}

enum berth_code
static_read_cost(const struct yaml_node *map, struct arena *a, struct usd_micro *price_out,
    const char **source_out, struct berth_err *err)
{
	static const char *const keys[] = { "capital", "life_months", "upkeep_per_month",
		"power_kw", "pue", "energy_price", "utilisation", NULL };
	struct static_cost c = { .life_months = 0, .pue = 1, .utilisation = 1 };
	enum berth_code rc;

	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "capital", 0, 1e10, &c.capital, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "life_months", 1, 600, &c.life_months, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "upkeep_per_month", 0, 1e8, &c.upkeep_per_month, err)) !=
		BERTH_OK ||
	    (rc = yaml_double(map, "power_kw", 0, 1e4, &c.power_kw, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "pue", 1, 10, &c.pue, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "energy_price", 0, 100, &c.energy_price, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "utilisation", 0.001, 1, &c.utilisation, err)) != BERTH_OK)
		return rc;
	if (c.capital > 0 && !(c.life_months > 0))
		return yaml_err(
		    map, err, "capital needs life_months: over how many months it is spread");
	*price_out = static_price(&c);
	*source_out = static_formula(&c, a);
	return usd_known(*price_out) ? BERTH_OK
				     : yaml_err(map, err, "these figures make no price above 0");
}

static enum berth_code
static_read_price(
    const struct yaml_node *map, struct arena *a, struct static_machine *m, struct berth_err *err)
{
	const struct yaml_node *cost = NULL;
	enum berth_code rc;

	m->price = USD_UNKNOWN;
	m->source = "berth.yaml";
	if ((rc = yaml_money(map, "price_per_hour", &m->price, err)) != BERTH_OK ||
	    (rc = yaml_map(map, "cost", &cost, err)) != BERTH_OK)
		return rc;
	if (cost != NULL)
		return usd_known(m->price)
			   ? yaml_err(cost, err, "either cost or price_per_hour, not both")
			   : static_read_cost(cost, a, &m->price, &m->source, err);
	if (usd_known(m->price) && m->price.v <= 0)
		return yaml_err(map, err, "price_per_hour must be above 0");
	return usd_known(m->price) ? BERTH_OK
				   : yaml_err(map, err, "needs 'cost' or 'price_per_hour'");
}

static enum berth_code
static_read_machine(
    const struct yaml_node *map, struct arena *a, struct static_machine *m, struct berth_err *err)
{
	static const char *const keys[] = { "name", "address", "region", "zone", "instance_type",
		"accelerator", "accelerator_count", "accelerator_memory_gib", "vcpus", "memory_gib",
		"price_per_hour", "cost", NULL };
	static const char *const needed[] = { "name", "address", "accelerator", NULL };
	int64_t count = 1;
	enum berth_code rc;

	*m = (struct static_machine){ .region = "own",
		.zone = "",
		.accelerator_memory_gib = NAN,
		.vcpus = NAN,
		.memory_gib = NAN };
	if ((rc = yaml_need_kind(map, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(map, needed, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "name", &m->name, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "address", &m->address, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "region", &m->region, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "zone", &m->zone, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "accelerator", &m->accelerator, err)) != BERTH_OK ||
	    (rc = yaml_int(map, "accelerator_count", 1, 4096, &count, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "accelerator_memory_gib", 0.1, 1e5, &m->accelerator_memory_gib,
		 err)) != BERTH_OK ||
	    (rc = yaml_double(map, "vcpus", 0, 1e6, &m->vcpus, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "memory_gib", 0, 1e7, &m->memory_gib, err)) != BERTH_OK)
		return rc;
	m->accelerator_count = (int)count;
	m->instance_type = arena_printf(a, "%s x%d", m->accelerator, m->accelerator_count);
	if ((rc = yaml_str(map, "instance_type", &m->instance_type, err)) != BERTH_OK)
		return rc;
	return static_read_price(map, a, m, err);
}

enum berth_code
static_read(const struct yaml_node *list, struct arena *a, struct static_account *acc,
    struct berth_err *err)
{
	enum berth_code rc = yaml_need_kind(list, YAML_KIND_LIST, err);

	if (rc != BERTH_OK)
		return rc;
	if (list->n == 0)
		return yaml_err(list, err, "no machines");
	acc->machines = arena_array(a, list->n, sizeof(*acc->machines));
	for (size_t i = 0; i < list->n; i++) {
		if ((rc = static_read_machine(list->items[i], a, &acc->machines[i], err)) !=
		    BERTH_OK)
			return rc;
		for (size_t k = 0; k < i; k++)
			if (str_eq(acc->machines[k].name, acc->machines[i].name))
				return yaml_err(list->items[i], err,
				    "the machine '%s' is there already (line %d)",
				    acc->machines[i].name, list->items[k]->line);
	}
	acc->n_machines = list->n;
	return BERTH_OK;
}
