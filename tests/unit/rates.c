/* tests/unit/rates.c - what an hour costs where nobody sends a price list: rows in order, shares, formulas, refusals. */
#include <math.h>
#include <string.h>

#include "providers/rates.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/yaml.h"

static struct arena *a;

static enum berth_code
read_rates(const char *text, struct rates *r, struct berth_err *err)
{
	const struct yaml_node *root = NULL;
	enum berth_code rc = yaml_parse(a, text, strlen(text), "berth.yaml", &root, err);

	return rc != BERTH_OK ? rc : rates_read(yaml_get(root, "prices"), yaml_get(root, "accelerators"), a, r, err);
}

static void
test_prices(void)
{
	static const char text[] = "prices:\n"
	    "  - {accelerator: a100, zone: fast, price_per_hour: 20}\n"
	    "  - {accelerator: 'A100*', purchase: spot, price_per_gpu_hour: 0.5}\n"
	    "  - {instance_type: 'gpu:a100:*', price_per_gpu_hour: 1.25}\n"
	    /* (73000 / (50 * 730)) / 0.5 = 4 an hour for a machine of four */
	    "  - {accelerator: l40s, cost: {capital: 73000, life_months: 50, utilisation: 0.5}, accelerator_count: 4}\n"
	    "  - {region: far, price_per_hour: 3, accelerator_count: 8}\n";
	static const struct { const char *word, *type, *accelerator, *region, *zone; int count; enum purchase purchase; double price; } rows[] = {
		{ "a100", "gpu:a100:4", "A100", "own", "fast", 4, PURCHASE_ON_DEMAND, 20 },
		{ "a100", "gpu:a100:4", "A100", "own", "slow", 4, PURCHASE_ON_DEMAND, 5 },
		{ "a100", "gpu:a100:2", "A100", "own", "slow", 2, PURCHASE_SPOT, 1 },
		{ "l40s", "gpu:l40s:1", "L40S", "own", "", 1, PURCHASE_ON_DEMAND, 1 },
		{ "l40s", "gpu:l40s:8", "L40S", "own", "", 8, PURCHASE_ON_DEMAND, 8 },
		{ "h100", "gpu:h100:8", "H100", "own", "", 8, PURCHASE_ON_DEMAND, NAN },
		{ "h100", "gpu:h100:2", "H100", "far", "", 2, PURCHASE_ON_DEMAND, 0.75 },
		{ NULL, "x", "L40S", "own", "", 4, PURCHASE_ON_DEMAND, 4 },
	};
	struct rates r;
	struct berth_err err = { 0 };

	tap_code(read_rates(text, &r, &err), BERTH_OK, &err);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct offer o = { .instance_type = rows[i].type, .accelerator = rows[i].accelerator, .region = rows[i].region,
			.zone = rows[i].zone, .accelerator_count = rows[i].count, .purchase = rows[i].purchase, .price = USD_UNKNOWN,
			.source = "-" };

		rates_price(&r, rows[i].word, &o);
		if (isnan(rows[i].price))
			tap_ok(!usd_known(o.price) && str_eq(o.source, "-"), "%s in %s has no price", rows[i].type, rows[i].region);
		else
			tap_near(usd_to_double(o.price), rows[i].price, 1e-9, "%s in %s%s costs %g", rows[i].type, rows[i].region, rows[i].zone,
			    usd_to_double(o.price));
		if (i == 3)
			tap_ok(strstr(o.source, "73000 USD") != NULL, "the formula is its source: %s", o.source);
	}
}

static void
test_names(void)
{
	struct rates r;
	struct berth_err err = { 0 };

	tap_code(read_rates("accelerators: {a100: A100-SXM4-80GB, 'nvidia-*': L4}", &r, &err), BERTH_OK, &err);
	tap_is_str(rates_accelerator(&r, "A100"), "A100-SXM4-80GB", "a word, in either case");
	tap_is_str(rates_accelerator(&r, "nvidia-l4"), "L4", "a pattern");
	tap_ok(rates_accelerator(&r, "h100") == NULL, "a word that nobody named");
}

static void
test_refusals(void)
{
	static const char *const bad[] = {
		"prices: {a: 1}", "prices: [1]", "prices: [{price_per_gpu_hour: 0}]", "prices: [{price_per_gpu_hour: -1}]", "prices: [{accelerator: x}]",
		"prices: [{price_per_hour: 1, price_per_gpu_hour: 1}]", "prices: [{price_per_gpu_hour: 1, accelerator_count: 2}]",
		"prices: [{price_per_hour: 1, purchase: reserved}]", "prices: [{price_per_hour: 1, purchase: maybe}]", "prices: [{cost: {capital: 5}}]",
		"prices: [{price: 1}]", "accelerators: [a]", "accelerators: {a: [b]}",
	};
	struct rates r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct berth_err err = { 0 };

		tap_ok(read_rates(bad[i], &r, &err) == BERTH_EINVAL && str_starts(err.where, "berth.yaml:"), "%s: %s %s", bad[i], err.where, err.msg);
	}
}

int
main(void)
{
	a = arena_new();
	test_prices();
	test_names();
	test_refusals();
	arena_free(a);
	return tap_done();
}
