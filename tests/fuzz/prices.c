/* tests/fuzz/prices.c - price lists in every layout. */
#include "providers/import/import.h"
#include "tests/fuzz/fuzz.h"
#include "util/arena.h"

const char fuzz_name[] = "prices";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_opts o = { .provider = "p", .source = "fuzz", .now = INT64_C(1795996800) };
	struct arena *a = arena_new();
	struct import_result r;
	struct csv *csv = NULL;

	if (csv_open_bytes(data, size, "fuzz", &csv, NULL) == BERTH_OK &&
	    import_read(csv, &o, a, &r, NULL) == BERTH_OK)
		for (size_t i = 0; i < r.offers.n; i++)
			FUZZ_CHECK(!usd_known(r.offers.v[i].price) || r.offers.v[i].price.v >= 0);
	csv_close(csv);
	arena_free(a);
	return 0;
}
