/* tests/unit/gcp_price.c - prices of Google Cloud, made of parts, against sums done here. */
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/gcp_test.h"
#include "util/str.h"

static const char *
type(const char *name, int cpus, double gib, const char *card, int cards)
{
	return arena_printf(a, "{\"name\":\"%s\",\"guestCpus\":%d,\"memoryMb\":%.0f%s}", name, cpus, gib * 1024, cards == 0 ? "" :
	    arena_printf(a, ",\"accelerators\":[{\"guestAcceleratorType\":\"%s\",\"guestAcceleratorCount\":%d}]", card, cards));
}

/* Every way of buying, against sums done here from published parts of us-central1 (2023-10, and the price pages). */
void
test_composition(void)
{
	struct prov_account *acc = open_account("", BERTH_OK);
	struct berth_err err = { 0 };
	const char *skus = arena_printf(a, "{\"skus\":[%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s]}",
	    sku("A2 Instance Core running in Americas", "CPU", "OnDemand", "h", "us-central1", 0.031611),
	    sku("A2 Instance Ram running in Americas", "RAM", "OnDemand", "GiBy.h", "us-central1", 0.004237),
	    sku("Nvidia Tesla A100 80GB GPU running in Americas", "GPU", "OnDemand", "h", "us-central1", 3.93),
	    sku("SSD backed Local Storage", "LocalSSD", "OnDemand", "GiBy.mo", "us-central1", 0.08),
	    sku("Commitment v1: A2 Cpu in Americas for 1 Year", "CPU", "Commit1Yr", "h", "us-central1", 0.019915),
	    sku("Commitment v1: A2 Ram in Americas for 1 Year", "RAM", "Commit1Yr", "GiBy.h", "us-central1", 0.002669),
	    sku("Commitment v1: Nvidia Tesla A100 80GB GPU running in Americas for 1 Year", "GPU", "Commit1Yr", "h", "us-central1", 2.48),
	    sku("N1 Predefined Instance Core running in Americas", "N1Standard", "OnDemand", "h", "us-central1", 0.031611),
	    sku("N1 Predefined Instance Ram running in Americas", "N1Standard", "OnDemand", "GiBy.h", "us-central1", 0.004237),
	    sku("Nvidia Tesla T4 GPU running in Americas", "GPU", "OnDemand", "h", "us-central1", 0.35),
	    sku("Commitment v1: Cpu in Americas for 3 Year", "CPU", "Commit3Yr", "h", "us-central1", 0.014225),
	    sku("Commitment v1: Ram in Americas for 3 Year", "RAM", "Commit3Yr", "GiBy.h", "us-central1", 0.001907),
	    sku("Commitment v1: Nvidia Tesla T4 GPU running in Americas for 3 Years", "GPU", "Commit3Yr", "h", "us-central1", 0.16),
	    sku("A4 Nvidia B200 (1 gpu slice) running in Americas", "GPU", "OnDemand", "h", "us-central1", 16.11),
	    sku("Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Americas", "GPU", "OnDemand", "h", "us-central1", 4.9542));
	const char *types = arena_printf(a, "{\"items\":{\"zones/us-central1-a\":{\"machineTypes\":[%s,%s,%s,%s]},"
	    "\"zones/us-central1-c\":{\"machineTypes\":[%s]},\"zones/africa-south1-a\":{\"machineTypes\":[%s]}}}",
	    type("a2-ultragpu-1g", 12, 170, "nvidia-a100-80gb", 1), type("n1-standard-8", 8, 30, "", 0),
	    type("n1-standard-64", 64, 240, "", 0), type("a4-highgpu-8g", 224, 3968, "nvidia-b200", 8),
	    type("a2-ultragpu-1g", 12, 170, "nvidia-a100-80gb", 1), type("a2-ultragpu-1g", 12, 170, "nvidia-a100-80gb", 1));
	struct wire w[] = { { "aggregated/machineTypes", types }, { "aggregated/acceleratorTypes",
	    "{\"items\":{\"zones/us-central1-a\":{\"acceleratorTypes\":[{\"name\":\"nvidia-tesla-t4\"}]}}}" }, { "/skus?", skus },
	    { NULL, NULL } };
	int in_africa = 0, in_c = 0, terms = 0;

	tap_code(walk(acc, 'o', w, &err), BERTH_OK, &err);
	is_price("a2-ultragpu-1g", "us-central1", PURCHASE_ON_DEMAND, 0, 12 * 0.031611 + 170 * 0.004237 + 3.93 + 375 * 0.08 / 730);
	is_price("a2-ultragpu-1g", "us-central1", PURCHASE_RESERVED, 12, 12 * 0.019915 + 170 * 0.002669 + 2.48 + 375 * 0.08 / 730);
	is_price("n1-standard-8+2xnvidia-tesla-t4", "us-central1", PURCHASE_ON_DEMAND, 0, 8 * 0.031611 + 30 * 0.004237 + 2 * 0.35);
	is_price("n1-standard-8+4xnvidia-tesla-t4", "us-central1", PURCHASE_RESERVED, 36, 8 * 0.014225 + 30 * 0.001907 + 4 * 0.16);
	tap_ok(find("n1-standard-64+2xnvidia-tesla-t4", "us-central1", PURCHASE_ON_DEMAND, 0) == NULL &&
	    find("n1-standard-64+4xnvidia-tesla-t4", "us-central1", PURCHASE_ON_DEMAND, 0) != NULL, "64 cores want four T4");
	is_price("a4-highgpu-8g", "us-central1", PURCHASE_SPOT, 0, 8 * 4.9542);
	tap_ok(find("a4-highgpu-8g", "us-central1", PURCHASE_ON_DEMAND, 0) == NULL, "a4 is not to be had on demand");
	for (size_t i = 0; i < got.offers.n; i++) {
		in_africa += str_eq(got.offers.v[i].region, "africa-south1");
		in_c += str_eq(got.offers.v[i].zone, "us-central1-c");
		terms += str_eq(got.offers.v[i].instance_type, "a2-ultragpu-1g") && got.offers.v[i].term_months == 12;
	}
	tap_is_long(in_africa, 0, "a type is no offer where its parts have no price");
	tap_is_long(in_c, 1, "one offer a zone on demand");
	tap_is_long(terms, 1, "one commitment a region");
	tap_ok(find("a2-ultragpu-1g", "us-central1", PURCHASE_SPOT, 0) == NULL, "no spot price without all its parts");
	tap_is_long(got.requests, 3, "types, cards, prices");
	prov_account_close(acc);
}

/* Collected cases: three SKUs of three units make one price; parts of different regions never meet. */
void
test_cases(void)
{
	char *skus = slurp("cases/inputs/case-043-gcp-skus.json");
	struct prov_account *acc = open_account("", BERTH_OK);
	struct berth_err err = { 0 };
	const char *types = arena_printf(a, "{\"items\":{\"zones/us-central1-a\":{\"machineTypes\":[%s,%s]}}}",
	    type("a2-highgpu-1g", 12, 85, "nvidia-tesla-a100", 1), type("a2-highgpu-8g", 96, 680, "nvidia-tesla-a100", 8));
	struct wire w[] = { { "aggregated/machineTypes", types }, { "aggregated/acceleratorTypes", no_cards },
	    { "pageToken=", "{\"skus\":[]}" }, { "/skus?", skus }, { NULL, NULL } };

	if (skus == NULL) {
		tap_skip("prices of three SKUs", "no shared data");
		prov_account_close(acc);
		return;
	}
	tap_code(walk(acc, 'o', w, &err), BERTH_OK, &err);
	is_price("a2-highgpu-1g", "us-central1", PURCHASE_ON_DEMAND, 0, 3.673385);
	is_price("a2-highgpu-8g", "us-central1", PURCHASE_ON_DEMAND, 0, 29.38708);
	for (int i = 0; i < 3; i++) {		/* any part missing: no offer */
		static const char *const parts[] = { "A2 Instance Core", "A2 Instance Ram", "Nvidia Tesla A100 GPU" };
		char *less = arena_strdup(a, skus);

		*strstr(less, parts[i]) = 'X';
		w[3].body = less;
		tap_code(walk(acc, 'o', w, &err), BERTH_OK, &err);
		tap_is_long((long long)got.offers.n, 0, "without %s there is no offer", parts[i]);
	}
	w[3].body = slurp("payloads/gcp/opencost_skus.json");
	if (w[3].body != NULL) {
		tap_code(walk(acc, 'o', w, &err), BERTH_OK, &err);
		is_price("a2-highgpu-1g", "us-central1", PURCHASE_ON_DEMAND, 0, 3.673385);
	}
	prov_account_close(acc);
}

void
test_regions_apart(void)
{
	static const struct { const char *region; double host, cards, all; } rows[] = {
		{ "us-central1", 8.80, 27.10, 35.90 }, { "europe-west4", 9.68, 25.82, 35.50 }, { "asia-southeast1", 9.90, 26.40, 36.30 },
	};
	struct prov_account *acc = open_account("", BERTH_OK);
	struct berth_err err = { 0 };
	const char *skus = "", *types = "";
	struct wire w[] = { { "aggregated/machineTypes", NULL }, { "aggregated/acceleratorTypes", no_cards }, { "/skus?", NULL },
	    { NULL, NULL } };

	for (size_t i = 0; i < 3; i++) {	/* the host's price as cores and memory, the cards' as sixteen */
		skus = arena_printf(a, "%s%s%s,%s,%s", skus, i > 0 ? "," : "",
		    sku("A2 Instance Core running in X", "CPU", "OnDemand", "h", rows[i].region, rows[i].host / 96 / 2),
		    sku("A2 Instance Ram running in X", "RAM", "OnDemand", "GiBy.h", rows[i].region, rows[i].host / 1360 / 2),
		    sku("Nvidia Tesla A100 GPU running in X", "GPU", "OnDemand", "h", rows[i].region, rows[i].cards / 16));
		types = arena_printf(a, "%s%s\"zones/%s-b\":{\"machineTypes\":[%s]}", types, i > 0 ? "," : "", rows[i].region,
		    type("a2-megagpu-16g", 96, 1360, "nvidia-tesla-a100", 16));
	}
	w[0].body = arena_printf(a, "{\"items\":{%s}}", types);
	w[2].body = arena_printf(a, "{\"skus\":[%s]}", skus);
	tap_code(walk(acc, 'o', w, &err), BERTH_OK, &err);
	tap_is_long((long long)got.offers.n, 3, "three regions, three offers");
	for (size_t i = 0; i < 3; i++)
		is_price("a2-megagpu-16g", rows[i].region, PURCHASE_ON_DEMAND, 0, rows[i].all);
	prov_account_close(acc);
}

/*
 * TPUs up to v4: SKUs of a catalogue of their own, by the eight cores (four chips), a pod at a price of its own; per chip
 * 1.125 (us-central1, v2), 2.0 and 2.2 (europe-west4, v3), 3.22 (us-central2, v4) as Google's price page has them.
 */
void
test_old_tpu(void)
{
	struct prov_account *acc = open_account(", tpu_zones: us-central1-b", BERTH_OK);
	struct berth_err err = { 0 };
	struct wire w[] = { { "aggregated/", no_cards }, { "/acceleratorTypes?", "{\"acceleratorTypes\":["
	    "{\"type\":\"v2-8\",\"acceleratorConfigs\":[{\"topology\":\"2x2\"}]},{\"type\":\"v3-8\",\"acceleratorConfigs\":[{\"topology\":\"2x2\"}]},"
	    "{\"type\":\"v3-32\",\"acceleratorConfigs\":[{\"topology\":\"4x4\"}]},{\"type\":\"v4-8\",\"acceleratorConfigs\":[{\"topology\":\"2x2x1\"}]},"
	    "{\"type\":\"v4-16\",\"acceleratorConfigs\":[{\"topology\":\"2x2x2\"}]}]}" },
	    { "services/E000-3F24-B8AA/skus?", arena_printf(a, "{\"skus\":[%s,%s,%s,%s,%s]}",
	    sku("TPU-v2 Accelerator USA", "TPU", "OnDemand", "h", "us-central1", 4.5),
	    sku("Preemptible Tpu-v2 USA", "TPU", "OnDemand", "h", "us-central1", 1.35),
	    sku("Tpu-v3 Europe", "TPU", "OnDemand", "h", "us-central1", 8.8),
	    sku("Tpu-v3 Pod Europe", "TPU", "OnDemand", "h", "us-central1", 8.0),
	    sku("Tpu-v4 Pod USA", "TPU", "OnDemand", "h", "us-central1", 12.88)) }, { "/skus?", "{\"skus\":[]}" }, { NULL, NULL } };

	tap_code(walk(acc, 'o', w, &err), BERTH_OK, &err);
	tap_is_long(got.requests, 5, "types, cards, TPUs and both catalogues");
	is_price("v2-8", "us-central1", PURCHASE_ON_DEMAND, 0, 4 * 1.125);
	is_price("v2-8", "us-central1", PURCHASE_SPOT, 0, 1.35);
	is_price("v3-8", "us-central1", PURCHASE_ON_DEMAND, 0, 4 * 2.2);
	is_price("v3-32", "us-central1", PURCHASE_ON_DEMAND, 0, 16 * 2.0);
	is_price("v4-8", "us-central1", PURCHASE_ON_DEMAND, 0, 4 * 3.22);
	is_price("v4-16", "us-central1", PURCHASE_ON_DEMAND, 0, 8 * 3.22);
	tap_is_long((long long)got.offers.n, 6, "and no price where there is no SKU");
	for (size_t i = 0; i < got.offers.n; i++)
		tap_ok(accel_find(accels, got.offers.v[i].accelerator) != NULL, "%s is known", got.offers.v[i].accelerator);
	prov_account_close(acc);
}
