/*
 * The fleet's medians out of a store, and what the thresholds make of them. References by hand: the seed of an H100 SXM is
 * 2970 GB/s (data/probe_reference.csv), its floor 0.9 of that, 2673; medians of the values written here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker/fleet.h"
#include "model/accel.h"
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
};

/* n machines of both providers in turn, all of about the same rate: from -2 to 2 of it. */
static void
world_measure(struct world *w, int n, int64_t t, double rate, const char *verdict, const char *test, const char *mode)
{
	for (int i = 0; i < n; i++) {
		struct measurement m = { .t = t + i, .provider = i % 2 ? "north" : "south", .region = "r", .zone = "",
			.instance_type = "x", .accelerator = "H100-SXM5-80GB", .host = arena_printf(w->a, "h%d", w->machines++),
			.mode = mode, .level = "standard", .speed = 1, .verdict = verdict, .reason = "", .json = "{}" };
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

	*w = (struct world){ .a = arena_new() };
	if (top == NULL)
		top = ".";
	return accel_table_load(arena_printf(w->a, "%s/data/accelerators.csv", top), w->a, &w->table, &err) == BERTH_OK &&
	    fileio_slurp(w->a, arena_printf(w->a, "%s/data/probe_reference.csv", top), 1 << 20, &bytes, &n, &err) == BERTH_OK &&
	    verdict_refs_parse(bytes, n, w->a, &w->seeds, &err) == BERTH_OK &&
	    fileio_slurp(w->a, arena_printf(w->a, "%s/data/probe_thresholds.csv", top), 1 << 20, &bytes, &n, &err) == BERTH_OK &&
	    verdict_limits_parse(bytes, n, &w->limits, &err) == BERTH_OK;
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
