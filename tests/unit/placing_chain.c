/*
 * Random chains and trees of a few jobs: where `berth place` puts the first, with all of them, is where a tick does, which has
 * those behind it in view alone; and both are what full enumeration by prices, hours and ends says.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing.h"
#include "model/accel.h"
#include "store/job_rows.h"
#include "store/offer_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"
#include "util/arena.h"
#include "util/rng.h"

#define HOUR 3600.0
#define OFFERS 4
#define MOST 4
#define NONE OFFERS
#define START 300.0 /* s of start-up */
#define MOVE 0.09   /* USD a GiB between regions */

static const char *const accelerators[OFFERS] = { "L4", "A10G", "L40S", "T4" };
static const char *const types[OFFERS] = { "one", "two", "three", "four" };

struct world {
	struct arena *a;
	const struct accel_table *table;
	struct store *s;
	size_t n;
	double price[OFFERS], hours[MOST][OFFERS], gib[MOST];
	bool far[OFFERS], has[MOST][OFFERS];
	int64_t deadline[MOST]; /* 0: none */
	size_t before[MOST];
	const char *id[MOST];
	bool quota;
};

static void
must(enum berth_code rc, const struct berth_err *err)
{
	if (rc == BERTH_OK)
		return;
	printf("Bail out! %s\n", err->msg);
	exit(1);
}

static double
lasts(const struct world *w, size_t i, size_t j)
{
	return w->hours[i][j] * HOUR + START;
}

/* Its end on what ends first, were all before it so too. */
static double
soonest(const struct world *w, size_t i)
{
	double least = INFINITY;

	for (size_t j = 0; j < OFFERS; j++)
		if (w->has[i][j])
			least = fmin(least, lasts(w, i, j));
	return least + (i == 0 ? 0 : soonest(w, w->before[i]));
}

static void
submit(struct world *w, size_t i)
{
	struct job_variant *v = arena_array(w->a, OFFERS, sizeof(*v));
	struct job_spec spec = { .name = arena_printf(w->a, "j%zu", i), .user = "u", .project = "p", .variants = v,
		.work_hours = (double)NAN, .precision = "bf16", .restart_s = 60, .deadline = w->deadline[i],
		.max_price = USD_UNKNOWN, .max_cost = USD_UNKNOWN, .purchase_ok = { true, true, true }, .data_region = "",
		.latency_to = "", .latency_max_ms = (double)NAN, .link_gb_s = (double)NAN,
		.after = i == 0 ? "" : w->id[w->before[i]], .after_gib = w->gib[i], .run = "make" };
	struct berth_err err = { 0 };

	for (size_t j = 0; j < OFFERS; j++)
		if (w->has[i][j])
			v[spec.n_variants++] = (struct job_variant){ .name = types[j], .accelerator = accelerators[j],
				.count_min = 1, .count_max = 1, .nodes = 1, .work_hours = w->hours[i][j],
				.speed = (double)NAN };
	spec.work_hours = v[0].work_hours;
	must(store_job_insert(w->s, &spec, T0 - 60, w->a, &w->id[i], &err), &err);
}

static void
make_world(struct world *w, uint64_t seed)
{
	struct offer offer[OFFERS];
	struct berth_err err = { 0 };
	struct rng r;

	rng_seed(&r, seed);
	w->s = store_tmp_open(store_tmp_path(arena_printf(w->a, "chain-%d.db", (int)seed)));
	w->n = 2 + seed % (MOST - 1);
	w->quota = seed % 2 == 1;
	for (size_t j = 0; j < OFFERS; j++) {
		w->price[j] = floor(100 + 1900 * rng_unit(&r)) / 100;
		w->far[j] = rng_below(&r, 2) == 1;
		offer[j] = (struct offer){ .provider = "acme", .account = "a", .region = w->far[j] ? "far" : "near",
			.zone = "", .instance_type = types[j], .accelerator = accelerators[j], .accelerator_known = true,
			.accelerator_count = 1, .accelerator_memory_gib = 24, .vcpus = 8, .memory_gib = 32,
			.purchase = PURCHASE_ON_DEMAND, .currency = "USD", .interruption_rate = (double)NAN,
			.measured = (double)NAN, .as_of = T0 - 60, .source = "test" };
		must(usd_from_double(w->price[j], &offer[j].price, &err), &err);
	}
	must(store_offers_replace(w->s, "acme", "a", "test", offer, OFFERS, T0, NULL, &err), &err);
	for (size_t i = 0; i < w->n; i++) {
		size_t sure = rng_below(&r, OFFERS);

		w->before[i] = i == 0 ? 0 : seed % 3 == 0 ? rng_below(&r, i) : i - 1;
		w->gib[i] = i > 0 && rng_below(&r, 2) == 1 ? floor(300 * rng_unit(&r)) : 0;
		for (size_t j = 0; j < OFFERS; j++) {
			w->has[i][j] = j == sure || rng_below(&r, 4) > 0;
			w->hours[i][j] = 0.5 + 8 * rng_unit(&r);
		}
		w->deadline[i] = i > 0 && rng_below(&r, 3) > 0 /* some cannot be kept */
				     ? T0 + (int64_t)(soonest(w, i) * (0.9 + 0.8 * rng_unit(&r)))
				     : 0;
		submit(w, i);
	}
}

static double
ends(const struct world *w, const size_t *at, size_t i)
{
	size_t b = w->before[i];
	double from = i == 0 ? 0 : at[b] == NONE ? soonest(w, b) : ends(w, at, b);

	return from + lasts(w, i, at[i]);
}

/* USD of it, moves too; INFINITY where a deadline is missed. *placed_out: jobs that have a place. */
static double
costs(const struct world *w, const size_t *at, size_t *placed_out)
{
	double usd = 0;

	*placed_out = 0;
	for (size_t i = 0; i < w->n; i++) {
		size_t b = w->before[i];

		if (at[i] == NONE)
			continue;
		if (!w->has[i][at[i]] || (w->deadline[i] > 0 && ends(w, at, i) > (double)(w->deadline[i] - T0)))
			return INFINITY;
		++*placed_out;
		usd += w->price[at[i]] * lasts(w, i, at[i]) / HOUR;
		if (i > 0 && at[b] != NONE && w->far[at[b]] != w->far[at[i]])
			usd += MOVE * w->gib[i];
	}
	return usd;
}

/* The first job's offer in the cheapest of all ways to place the most jobs. */
static size_t
enumerate(const struct world *w, double *usd_out)
{
	size_t ways = 1, most = 0, first = NONE;
	double least = INFINITY;

	for (size_t i = 0; i < w->n; i++)
		ways *= OFFERS + 1;
	for (size_t x = 0; x < ways; x++) {
		size_t at[MOST], placed, rest = x;
		double usd;

		for (size_t i = 0; i < w->n; i++, rest /= OFFERS + 1)
			at[i] = rest % (OFFERS + 1);
		usd = costs(w, at, &placed);
		if (isinf(usd) || placed < most || (placed == most && usd >= least))
			continue;
		most = placed;
		least = usd;
		first = at[0];
	}
	*usd_out = least;
	return first;
}

static const char *
place(struct world *w, bool tick, struct placing *p)
{
	const struct placing_limit one = { .name = "one", .provider = "", .account = "", .region = "", .accelerator = "",
		.purchase = "", .unit = "machine", .limit = 1 };
	struct placing_options o = { .now = T0, .seed = 1, .rounds = 100, .limits = &one, .n_limits = w->quota,
		.behind = w->id + 1, .n_behind = tick ? w->n - 1 : 0 };
	struct berth_err err = { 0 };

	must(placing_run(w->s, w->table, &o, w->id, tick ? 1 : w->n, w->a, p, &err), &err);
	return p->jobs[0].n_tries == 0 ? "none" : p->jobs[0].tries[0].offer->instance_type;
}

int
main(void)
{
	size_t worlds = 0, dearer = 0, as_place = 0, as_all = 0, sums = 0, alone = 0;
	struct berth_err err = { 0 };
	struct world w = { .a = arena_new() };
	struct arena *table = arena_new();

	must(accel_table_open(table, &w.table, &err), &err);
	for (uint64_t seed = 1; seed <= 120; seed++) {
		struct placing all, tick;
		const char *by_place, *by_tick;
		size_t first, cheapest = NONE;
		double usd;

		arena_reset(w.a);
		make_world(&w, seed);
		first = enumerate(&w, &usd);
		by_place = place(&w, false, &all);
		by_tick = place(&w, true, &tick);
		for (size_t j = 0; j < OFFERS; j++)
			if (w.has[0][j] && (cheapest == NONE || w.price[j] * lasts(&w, 0, j) <
								    w.price[cheapest] * lasts(&w, 0, cheapest)))
				cheapest = j;
		worlds++;
		dearer += first != cheapest;
		as_place += strcmp(by_place, by_tick) == 0;
		as_all += strcmp(by_tick, types[first]) == 0 && fabs(all.total_usd - usd) < 0.001 * usd;
		sums += tick.n_jobs == 1 && tick.placed == 1 &&
			fabs(tick.total_usd - w.price[first] * lasts(&w, 0, first) / HOUR) < 0.001 * tick.total_usd;
		alone += tick.optimal;
		if (strcmp(by_tick, types[first]) != 0 || strcmp(by_place, by_tick) != 0)
			printf("# seed %d: %s, by place %s, by the tick %s\n", (int)seed, types[first], by_place, by_tick);
		store_close(w.s);
		w.s = NULL;
	}
	tap_ok(dearer * 8 > worlds, "in %zu of %zu worlds the first job is to be dearer than it could be", dearer, worlds);
	tap_ok(as_place == worlds, "the tick puts the first job where place does: %zu of %zu", as_place, worlds);
	tap_ok(as_all == worlds, "and that is what enumeration says, at its cost: %zu of %zu", as_all, worlds);
	tap_ok(sums == worlds, "the tick's placement is of the first job alone, at its cost: %zu of %zu", sums, worlds);
	tap_ok(alone == worlds, "it is proven: %zu of %zu", alone, worlds);
	arena_free(w.a);
	arena_free(table);
	store_tmp_end();
	return tap_done();
}
