/*
 * The fleet's medians out of a store, and what the thresholds make of them. References by hand: the seed of an H100 SXM is
 * 2970 GB/s (data/probe_reference.csv), its floor 0.9 of that, 2673; medians of the values written here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker/fleet.h"
#include "model/accel.h"
#include "plan/verdict_fleet.h"
#include "plan/verdict_rate.h"
#include "store/machine_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"
#include "util/arena.h"
#include "util/fileio.h"

struct world {
	struct arena *a;
	const struct accel_table *table;
	struct verdict_refs seeds;
	struct verdict_limits limits;
	struct store *s;
	int machines;
	const char *json;
};

/* n machines of both providers in turn, all of about the same rate: from -2 to 2 of it. */
static void
world_measure(struct world *w, int n, int64_t t, double rate, const char *verdict, const char *test, const char *mode)
{
	for (int i = 0; i < n; i++) {
		struct measurement m = { .t = t + i, .provider = i % 2 ? "north" : "south", .region = "r", .zone = "",
			.instance_type = "x", .accelerator = "H100-SXM5-80GB", .host = arena_printf(w->a, "h%d", w->machines++),
			.mode = mode, .level = "standard", .speed = 1, .verdict = verdict, .reason = "", .json = w->json };
		struct measure_row rows[] = {
			{ .test = test, .gpu = mode[0] == 'o' ? -1 : 0, .peer = -1, .value = rate + i % 5 - 2, .unit = "GB/s", .status = "ok" },
			{ .test = test, .gpu = mode[0] == 'o' ? -1 : 1, .peer = -1, .value = rate + 50, .unit = "GB/s", .status = "ok" },
			{ .test = test, .gpu = 2, .peer = -1, .value = 1, .unit = "GB/s", .status = "failed" },
			{ .test = "host_triad", .gpu = -1, .peer = -1, .value = 5, .unit = "GB/s", .status = "ok" },
		};
		struct berth_err err;
		int64_t id;

		if (store_measurement_insert(w->s, &m, rows, 4, &id, &err) != BERTH_OK)
			tap_diag("%s", err.msg);
	}
}

static double
world_reference(struct world *w, const char *test, const char **source)
{
	struct verdict_refs refs = w->seeds;
	struct berth_err err;

	tap_code(fleet_refs(w->s, T0, w->a, &refs, &err), BERTH_OK, &err);
	return verdict_reference(accel_find(w->table, "H100-SXM5-80GB"), test, &refs, &w->limits, source);
}

static void
world_fresh(struct world *w, const char *name)
{
	if (w->s != NULL)
		store_close(w->s);
	w->s = store_tmp_open(store_tmp_path(name));
}

static bool
world_open(struct world *w)
{
	const char *top = getenv("TOP_SRCDIR");
	struct berth_err err;
	char *bytes;
	size_t n;

	*w = (struct world){ .a = arena_new(), .json = "{}" };
	if (top == NULL)
		top = ".";
	return accel_table_load(arena_printf(w->a, "%s/data/accelerators.csv", top), w->a, &w->table, &err) == BERTH_OK &&
	    fileio_slurp(w->a, arena_printf(w->a, "%s/data/probe_reference.csv", top), 1 << 20, &bytes, &n, &err) == BERTH_OK &&
	    verdict_refs_parse(bytes, n, w->a, &w->seeds, &err) == BERTH_OK &&
	    fileio_slurp(w->a, arena_printf(w->a, "%s/data/probe_thresholds.csv", top), 1 << 20, &bytes, &n, &err) == BERTH_OK &&
	    verdict_limits_parse(bytes, n, &w->limits, &err) == BERTH_OK;
}

#define CAPPED "{\"kernels\":\"fnv1a:1\",\"gpus\":[\n {\"index\":0,\"pci\":\"10de:2330:10de:16c1\",\"power_limit_w\":500,\"ecc\":true,\"mig\":null}]}"
#define FULL "{\"kernels\":\"fnv1a:1\",\"gpus\":[\n {\"index\":0,\"pci\":\"10de:2330:10de:16c1\",\"power_limit_w\":700,\"ecc\":true,\"mig\":null}]}"

/* Machines whose power is capped are measured by such, and by the seed until there are enough of them. */
static void
test_keys(struct world *w)
{
	const struct accel *h100 = accel_find(w->table, "H100-SXM5-80GB");
	struct verdict_refs refs = w->seeds;
	const char *source;
	struct berth_err err;

	world_fresh(w, "keys.db");
	w->json = FULL;
	world_measure(w, 40, T0 - 1000, 3000, "accept", "dram_triad", "gpu");
	w->json = CAPPED;
	world_measure(w, 25, T0 - 1000, 2800, "accept", "dram_triad", "gpu");
	w->json = "{}";
	tap_code(fleet_refs(w->s, T0, w->a, &refs, &err), BERTH_OK, &err);
	refs.key = verdict_fleet_key(w->a, "10de:2330:10de:16c1", "", 1, 700, "fnv1a:1");
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 3000, 1.0, "700 W: the median of such");
	refs.key = verdict_fleet_key(w->a, "10de:2330:10de:16c1", "", 1, 500, "fnv1a:1");
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 2800, 1.0, "500 W: the median of those");
	refs.key = verdict_fleet_key(w->a, "10de:2330:10de:16c1", "", 0, 700, "fnv1a:1");
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 2970, 1e-9, "without ECC there are none: the seed");
	refs.key = verdict_fleet_key(w->a, "10de:2330:10de:16c1", "", 1, 700, "fnv1a:2");
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 2970, 1e-9, "other kernels: the seed");
	refs.key = NULL;
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 3000, 1.0, "where nothing is known of it, most machines");
}

int
main(void)
{
	struct world w;
	const char *source = "";

	if (!world_open(&w)) {
		tap_ok(0, "the tables can be read");
		return tap_done();
	}
	world_fresh(&w, "few.db");
	tap_near(world_reference(&w, "dram_triad", &source), 2970, 1e-9, "an empty store: the seed");
	world_measure(&w, 19, T0 - 1000, 2900, "accept", "dram_triad", "gpu");
	tap_near(world_reference(&w, "dram_triad", &source), 2970, 1e-9, "19 machines: the seed");
	world_measure(&w, 1, T0 - 900, 2900, "accept", "dram_triad", "gpu");
	tap_near(world_reference(&w, "dram_triad", &source), 2900, 1.0, "20 machines of two providers: their median");
	tap_is_str(source, "the fleet's median", "and the source says so");
	world_measure(&w, 60, T0 - 800, 900, "reject", "dram_triad", "gpu");
	tap_near(world_reference(&w, "dram_triad", &source), 2900, 1.0, "rejected machines have no vote");

	test_keys(&w);
	world_fresh(&w, "slow.db");
	world_measure(&w, 60, T0 - 1000, 1500, "accept", "dram_triad", "gpu");
	tap_near(world_reference(&w, "dram_triad", &source), 2673, 1e-9, "a fleet of slow machines counts 0.9 of the seed");
	world_fresh(&w, "old.db");
	world_measure(&w, 60, T0 - 181 * 86400, 2900, "accept", "dram_triad", "gpu");
	tap_near(world_reference(&w, "dram_triad", &source), 2970, 1e-9, "machines of half a year ago have no vote");
	world_fresh(&w, "moved.db");
	world_measure(&w, 30, T0 - 90 * 86400, 2950, "accept", "dram_triad", "gpu");
	world_measure(&w, 30, T0 - 1000, 2750, "accept", "dram_triad", "gpu");
	tap_near(world_reference(&w, "dram_triad", &source), 2970, 1e-9, "a fleet that moved by seven in a hundred asks a person");
	world_fresh(&w, "host.db");
	world_measure(&w, 40, T0 - 1000, 2900, "accept", "dram_triad", "gpu");
	tap_ok(isnan(world_reference(&w, "host_triad", &source)), "the host's rate is no accelerator's");
	world_measure(&w, 40, T0 - 1000, 700, "accept", "user_llm", "other");
	tap_near(world_reference(&w, "user_llm", &source), 700, 2.1, "a user's benchmark has the fleet's median");
	store_close(w.s);
	store_tmp_end();
	arena_free(w.a);
	return tap_done();
}
