/* providers/gcp/gcp_sku.h - prices of parts, and machines made of them.  Floor: providers. */
#ifndef BERTH_PROVIDERS_GCP_SKU_H
#define BERTH_PROVIDERS_GCP_SKU_H

#include "util/json.h"
#include "util/strmap.h"
#include "util/vec.h"

/*
 * Google sells no machine: it sells cores, memory, cards and local disks by the hour, region by
 * region, each a SKU of the Cloud Billing catalogue known by its description. A machine's price is
 * the sum of its parts in one region; if one is missing there is no price.
 */
enum gcp_buy { GCP_ON_DEMAND, GCP_SPOT, GCP_1_YEAR, GCP_3_YEARS, GCP_BUYS };

struct gcp_prices {
	struct arena *arena;
	struct strmap index;
	VEC(int64_t) nanos; /* USD * 1e9, per unit and hour */
};

/* One machine type in one zone. Strings are borrowed. */
struct gcp_machine {
	const char *name, *zone, *region;
	const char *card; /* the API's name of the accelerator */
	int64_t vcpus, memory_mib, cards;
};

/*
 * Takes in one SKU; what is no part of an accelerator machine, or has no plain price in USD, is
 * left out. A part that comes twice keeps the higher price. Never fails: a broken SKU is a missing
 * part.
 */
void gcp_sku_add(struct gcp_prices *p, const struct jsonr *sku);
/*
 * Price of an hour in micro-USD, rounded half up; false: a part is missing, the type is not known,
 * or it is not sold that way (some cards are not to be had on demand though their SKUs exist).
 * Committed use covers core, memory and card; local disks stay on demand.
 */
bool gcp_sku_price(
    const struct gcp_prices *p, const struct gcp_machine *m, enum gcp_buy buy, int64_t *micro_out);
/*
 * So many TPU chips (at most 100,000) by the API's version name ("v5litepod" of v5litepod-8), nanos
 * an hour of all; false: no price.
 */
bool gcp_sku_tpu(const struct gcp_prices *p, const char *version, int64_t chips, const char *region,
    enum gcp_buy buy, int64_t *nanos_out);
bool gcp_sku_old(
    const char *version); /* its prices stand in the catalogue of TPUs, not in that of Compute */

/* Cards that go onto an N1 machine, with how many cores each number of cards allows
 * (compute/docs/gpus). */
struct gcp_card {
	const char *name; /* "nvidia-tesla-t4" */
	const char *sku;
	struct {
		int cards, vcpus_max;
	} limits[4]; /* cards 0 ends */
};
extern const struct gcp_card gcp_cards[]; /* ends with a NULL name */

#endif
