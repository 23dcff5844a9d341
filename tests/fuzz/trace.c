/* tests/fuzz/trace.c - traces of a replayed cloud, and the cloud that is made of them. */
#include "providers/replay/cloud.h"
#include "tests/fuzz/fuzz.h"
#include "util/arena.h"

const char fuzz_name[] = "trace";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct trace t;

	if (trace_parse("fuzz", (const char *)data, size, 0, a, &t, NULL) == BERTH_OK && t.n_pools > 0) {
		struct trace_pool *p = &t.pools[0];
		struct cloud c = { .trace = &t, .seed = 1, .arena = a, .next = 1 };
		struct cloud_create want = { "t", "i", p->provider, p->region, p->zone, p->instance_type, PURCHASE_SPOT };
		struct prov_machine m;
		size_t i;

		cloud_advance(&c, t.start + 1);
		if (cloud_create(&c, &want, &i) == CLOUD_MADE) {
			cloud_advance(&c, t.start + 5000);
			if (c.machines.n > 0)
				cloud_describe(&c, &c.machines.v[0], &m);
		}
	}
	arena_free(a);
	return 0;
}
