/* Autoscaling: headroom, as machines, a share or a percentile. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/scalehours.h"
#include "tests/tap.h"
#include "tests/unit/scale_fleet.h"
#include "util/rng.h"

static const double shares[] = { 0.05, 0.1, 0.2, 0.25, 0.5, 1 };

/* The invariants of section AUTOSCALING with a headroom and with hours: the same fleets, two machines above the load. */
static void
test_headroom(void)
{
	int moves = 0, flaps = 0;
	struct rng g;

	rng_seed(&g, 11);
	for (int n = 1; n <= 40; n++) {
		static struct fleet f;
		int64_t down = -1000000;
		int ups = 0, downs = 0;

		fleet_init(&f, n + 2, 300);
		f.rule.headroom.machines = 2;
		for (int k = 0; k < 300; k++)
			fleet_step(&f, 8.0 * n - 0.5, NAN, 0);
		moves += f.ups + f.downs;
		fleet_init(&f, n + 2, 300);
		f.rule.headroom.machines = 2;
		for (int k = 0; k < 600; k++) {
			fleet_step(&f, 8.0 * n * (1 + 0.05 * (2 * rng_unit(&g) - 1)), NAN, 0);
			down = f.downs > downs ? f.t : down;
			flaps += f.ups > ups && f.t - down < 1800;
			ups = f.ups;
			downs = f.downs;
		}
	}
	tap_is_long(moves, 0, "constant input with two spare: no change");
	tap_is_long(flaps, 0, "5 %% of noise with two spare: never down and up again within the window");
	static struct fleet f;
	fleet_init(&f, 4, 600);
	f.rule.headroom.machines = 2;
	fleet_step(&f, 16, NAN, 0);
	fleet_step(&f, 80, NAN, 0);
	tap_is_long(f.last.target, 12, "a step to 80 GPUs is answered in one period: ten machines and two spare");
	fleet_step(&f, 80, NAN, 0);
	tap_is_long(f.orders, 8, "what is in flight is counted");
	for (int k = 0; k < 100; k++)
		fleet_step(&f, NAN, NAN, 0);
	tap_is_long(f.ready, 12, "no metric: neither in nor out");
	for (int k = 0; k < 300; k++)
		fleet_step(&f, 0, NAN, 0);
	tap_is_long(f.ready, 2, "no load at all: the spare ones stay");
	f.rule.max = 1;
	fleet_step(&f, 0, NAN, 0);
	tap_is_long(f.last.target, 1, "max goes before them");
}

/* Machines of 8 for a load of whole GPUs with a headroom of percent: in whole numbers only. */
static int64_t
share_want(int64_t load, int64_t percent)
{
	int64_t one = (load + 15) / 8, all = (load * (100 + percent) + 799) / 800;

	return load == 0 ? 0 : percent == 0 ? (load + 7) / 8 : one > all ? one : all;
}

/* A headroom of a share: what it asks for, and the invariants on a load that stands still, steps, or is not known. */
static void
test_share(void)
{
	int bad = 0, parts = 0, moves = 0;

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		for (int64_t load = 0; load <= 800; load++) {
			int64_t want = share_want(load, (int64_t)floor(100 * shares[i] + 0.5));
			static struct fleet f;

			fleet_init(&f, want, 300);
			f.rule.min = 0;
			f.rule.headroom.share = shares[i];
			for (int k = 0; k < 60; k++)
				fleet_step(&f, (double)load, NAN, 0);
			bad += f.last.want != want;
			parts += f.last.asked != (load + 7) / 8 || f.last.asked + f.last.spare != want;
			moves += f.ups + f.downs;
		}
	tap_is_long(bad, 0, "a share of what the load asks for, at least one machine, rounded up once");
	tap_is_long(parts, 0, "and the decision says what of it the load asks for, and what is spare");
	tap_is_long(moves, 0, "constant input with a share spare: no change");
	static struct fleet f;
	fleet_init(&f, 4, 600);
	f.rule.headroom.share = 0.2;
	fleet_step(&f, 16, NAN, 0);
	tap_is_long(f.orders, 0, "four are there, two and one spare are asked for");
	fleet_step(&f, 80, NAN, 0);
	tap_is_long(f.last.target, 12, "a step to 80 GPUs is answered in one period: ten machines and two spare");
	for (int k = 0; k < 9; k++)
		fleet_step(&f, 80, NAN, 0);
	tap_is_long(f.orders, 8, "what is in flight is counted");
	for (int k = 0; k < 100; k++)
		fleet_step(&f, NAN, NAN, 0);
	tap_is_long(f.ready, 12, "no metric: neither in nor out");
	tap_is_long(f.last.asked, -1, "and it is not known what is spare");
	fleet_step(&f, 80, 160, 0);
	tap_is_long(f.last.target, 24, "a forecast has its headroom too");
	f.rule.max = 23;
	fleet_step(&f, 160, NAN, 0);
	tap_ok(f.last.want == 23 && f.last.asked == 20 && f.last.spare == 3, "of 23 at most three are spare");
	f.rule.max = 1000;
	for (int k = 0; k < 600; k++)
		fleet_step(&f, 0, NAN, 0);
	tap_is_long(f.ready, 1, "a share of no load is nothing: the least stays");
}

static void
test_share_noise(void)
{
	int flaps = 0, ups = 0, fleets = 0;
	struct rng g;

	rng_seed(&g, 17);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		for (int n = 2; n <= 120; n++, fleets++) { /* halves of machines */
			static struct fleet f;
			int64_t down = -1000000;
			int u = 0, d = 0;

			fleet_init(&f, share_want(4 * n, (int64_t)floor(100 * shares[i] + 0.5)), 300);
			f.rule.headroom.share = shares[i];
			for (int k = 0; k < 600; k++) {
				fleet_step(&f, 4.0 * n * (1 + 0.05 * (2 * rng_unit(&g) - 1)), NAN, 0);
				down = f.downs > d ? f.t : down;
				flaps += f.ups > u && f.t - down < 1800;
				u = f.ups;
				d = f.downs;
			}
			ups += f.ups;
		}
	tap_is_long(flaps, 0, "5 %% of noise with a share spare: never down and up again within the window");
	tap_ok(ups <= 2 * fleets, "and up at most twice in 10 h (%d times in %d fleets)", ups, fleets);
}

static void
test_gpus(void)
{
	static struct fleet f;

	fleet_init(&f, 4, 300);
	f.rule.headroom.gpus = 16;
	f.rule.gpus = 8;
	fleet_step(&f, 16, NAN, 0);
	tap_is_long(f.last.want, 4, "16 GPUs spare on machines of 8 are two");
	tap_is_long(f.last.spare, 2, "and two are said to be spare");
	f.rule.headroom.gpus = 4;
	fleet_step(&f, 17, NAN, 0);
	tap_is_long(f.last.want, 3, "four GPUs are spare on the third machine of 17 GPUs");
	tap_is_long(f.last.spare, 0, "which the load asks for anyway");
	fleet_step(&f, 21, NAN, 0);
	tap_is_long(f.last.want, 4, "but not of 21");
	f.rule.gpus = 0;
	fleet_step(&f, 16, NAN, 0);
	tap_is_long(f.last.want, 6, "of machines that nobody knows each has one");
	f.rule.headroom = (struct scale_headroom){ .machines = 3, .share = 0.5 };
	fleet_step(&f, 16, NAN, 0);
	tap_is_long(f.last.want, 5, "of three machines and a half of two the larger");
	fleet_step(&f, 80, NAN, 0);
	tap_is_long(f.last.want, 15, "of three machines and a half of ten the larger");
}

/* The load that so many carry, against what a load asks for. */
static void
test_carried(void)
{
	int bad = 0, none = 0, checked = 0;
	struct rng g;

	rng_seed(&g, 23);
	for (int w = 0; w < 20000; w++) {
		struct scale_rule r = { .max = 1000, .unit = 1 + 10 * rng_unit(&g), .target = 0.5 + 0.5 * rng_unit(&g),
			.gpus = 1 + (int64_t)rng_below(&g, 8) };
		double n = (double)rng_below(&g, 60), load;

		if (rng_below(&g, 2) > 0)
			r.headroom.machines = (int64_t)rng_below(&g, 6);
		if (rng_below(&g, 2) > 0)
			r.headroom.gpus = (int64_t)rng_below(&g, 40);
		if (rng_below(&g, 2) > 0)
			r.headroom.share = 2 * rng_unit(&g);
		load = scale_carried(&r, n);
		if (load < 0) {
			none += scale_carries(&r, 1e-6 * r.unit) <= (int64_t)n;
			continue;
		}
		checked++;
		bad += scale_carries(&r, load) > (int64_t)n || scale_carries(&r, load + 1e-6 * r.unit) <= (int64_t)n;
	}
	tap_ok(bad == 0 && checked > 10000, "the largest load of so many machines: %d wrong of %d", bad, checked);
	tap_is_long(none, 0, "where not even the headroom fits, no load does");
}

static void
test_headroom_parse(void)
{
	static const struct {
		const char *text;
		struct scale_headroom h;
	} good[] = { { "0", { 0, 0, 0, 0 } }, { "2", { 2, 0, 0, 0 } }, { "20%", { 0, 0, 0.2, 0 } },
		{ "12.5%", { 0, 0, 0.125, 0 } }, { "1000%", { 0, 0, 10, 0 } }, { "16gpus", { 0, 16, 0, 0 } },
		{ "100000", { 100000, 0, 0, 0 } }, { "p50", { 0, 0, 0, 50 } }, { "p90", { 0, 0, 0, 90 } },
		{ "p95", { 0, 0, 0, 95 } }, { "p99", { 0, 0, 0, 99 } } };
	static const char *const bad[] = { "", "-1", "+2", "2.5", "20 %", "%", "x", "1e3", "0x10", "2%%", "1001%",
		"100001", "9999999", "2.%", ".5%", "16 gpus", "16GPUS", "2.5gpus", "100001gpus", "0.1234567%",
		"nan", "inf%", "2 ", "p", "p9", "p75", "p100", "P90", "p90%", "p90 ", "p0", "90p" };
	int wrong = 0, refused = 0;
	struct scale_headroom h;
	struct berth_err err;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		wrong += scale_headroom_parse(good[i].text, &h, &err) != BERTH_OK || !scale_headroom_eq(&h, &good[i].h);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused += scale_headroom_parse(bad[i], &h, &err) == BERTH_EINVAL && strstr(err.msg, bad[i]) != NULL;
	tap_is_long(wrong, 0, "replicas, shares and GPUs are read");
	tap_is_long(refused, (long)(sizeof(bad) / sizeof(bad[0])), "what is no headroom is refused, and named");
}

/* A percentile of the forecast: what it asks for in whole numbers, of loads and headrooms of all kinds. */
static void
test_percentile(void)
{
	int bad = 0, parts = 0, moves = 0, checked = 0;

	for (int64_t load = 0; load <= 200; load += 7)
		for (int64_t least = 0; least <= 200; least += 5)
			for (int64_t spare = 0; spare <= 4; spare += 2, checked++) {
				int64_t own = (load + 7) / 8 + spare, told = (least + 7) / 8;
				int64_t want = own > told ? own : told;
				static struct fleet f;

				want = want > 20 ? 20 : want < 2 ? 2 : want;
				fleet_init(&f, want, 300);
				f.rule.min = 2;
				f.rule.max = 20;
				f.rule.headroom.percentile = 90;
				f.rule.headroom.machines = spare;
				f.least = (double)least;
				for (int k = 0; k < 60; k++)
					fleet_step(&f, (double)load, NAN, 0);
				bad += f.last.want != want;
				parts += f.last.asked != ((load + 7) / 8 > 20 ? 20 : (load + 7) / 8) ||
					 (f.last.asked + f.last.spare != want && want > 2);
				moves += f.ups + f.downs;
			}
	tap_ok(bad == 0 && checked > 3000, "as many as the percentile carries, or as the load and its spare: %d wrong of %d",
	    bad, checked);
	tap_is_long(parts, 0, "and the decision says what of them the load asks for, and what is spare");
	tap_is_long(moves, 0, "constant load and forecast: no change");
	static struct fleet f;
	fleet_init(&f, 4, 600);
	f.least = 80;
	fleet_step(&f, 32, NAN, 0);
	tap_is_long(f.orders, 0, "a percentile that nobody asked for counts for nothing");
	f.rule.headroom.percentile = 90;
	fleet_step(&f, 16, NAN, 0);
	fleet_step(&f, 16, NAN, 0);
	tap_ok(f.last.target == 10 && f.orders == 6, "else ten machines, ordered once");
	for (int k = 0; k < 100; k++)
		fleet_step(&f, NAN, NAN, 0);
	f.least = 160;
	fleet_step(&f, NAN, NAN, 0);
	tap_is_long(f.last.target, 10, "no metric: neither in nor out");
	f.least = NAN;
	for (int k = 0; k < 300; k++)
		fleet_step(&f, 16, NAN, 0);
	tap_ok(f.last.target == 10 && f.last.reason == SCALE_HELD, "no forecast: nothing goes");
	fleet_step(&f, 96, NAN, 0);
	tap_is_long(f.last.target, 12, "but what the load asks for comes");
	f.rule.max = 11;
	fleet_step(&f, 96, NAN, 0);
	tap_is_long(f.last.target, 11, "max goes before it");
	f.least = 0;
	for (int k = 0; k < 300; k++)
		fleet_step(&f, 16, NAN, 0);
	tap_is_long(f.ready, 2, "a forecast of nothing keeps nothing");
}

/* Loads and forecasts that jump about, come and go: a percentile only ever raises. */
static void
test_percentile_wild(void)
{
	int below = 0, in = 0, more = 0, over = 0, steps = 0, known = 0;
	struct rng g;

	rng_seed(&g, 31);
	for (int w = 0; w < 200; w++) {
		struct scale_rule with = { .min = 1, .max = 5 + (int64_t)rng_below(&g, 60), .unit = 8, .target = 1,
			.tolerance = 0.1, .boot_s = 300, .down_window_s = 1800, .down_rate = 0.2, .headroom.percentile = 90 };
		struct scale_state s = { 0 };
		double load = 100, least = NAN;
		int64_t have = 5;

		for (int64_t t = 0; t < 2 * 86400; t += 300, steps++) {
			struct scale_input x = { .t = t, .ready = have, .forecast = NAN, .soon = NAN };
			struct scale_decision d;
			int64_t told, own;

			if (rng_below(&g, 6) == 0)
				load = rng_below(&g, 10) == 0 ? NAN : 300 * rng_unit(&g);
			if (rng_below(&g, 12) == 0)
				least = rng_below(&g, 4) == 0 ? NAN : floor(400 * rng_unit(&g));
			x.load = load;
			x.least = x.least_soon = least;
			scale_step(&with, &s, &x, &d);
			told = isnan(least) ? 0 : ((int64_t)least + 7) / 8;
			told = told > with.max ? with.max : told;
			own = isnan(load) ? have : (int64_t)ceil(load / 8);
			below += !isnan(load) && 11 * d.target < 10 * told;
			in += d.target < have && (isnan(load) || isnan(least) || d.target < told);
			more += d.target > have && d.target > own && d.target > told && d.target > with.min;
			over += d.target > with.max;
			known += !isnan(load) && !isnan(least);
			have = d.target;
		}
	}
	tap_ok(below == 0 && known > steps / 2, "never below what it tells, but for the tolerance (%d of %d steps)", below, known);
	tap_is_long(in, 0, "nothing goes that it tells of, nor while it or the load is not known");
	tap_is_long(more, 0, "and no more come than it, the load or the least ask for");
	tap_is_long(over, 0, "nor more than the most");
}

/* Noise of the load below, at and above what the forecast tells. */
static void
test_percentile_noise(void)
{
	int flaps = 0, moves = 0, under = 0;
	struct rng g;

	rng_seed(&g, 37);
	for (int n = 4; n <= 60; n++)
		for (int part = 50; part <= 150; part += 25) {
			static struct fleet f;
			int64_t down = -1000000;
			int u = 0, d = 0;

			fleet_init(&f, part > 100 ? (n * part + 99) / 100 : n, 300);
			f.rule.headroom.percentile = 95;
			f.least = 8.0 * n;
			for (int k = 0; k < 600; k++) {
				fleet_step(&f, 8.0 * n * part / 100 * (1 + 0.05 * (2 * rng_unit(&g) - 1)), NAN, 0);
				down = f.downs > d ? f.t : down;
				flaps += f.ups > u && f.t - down < 1800;
				u = f.ups;
				d = f.downs;
			}
			moves += part < 90 ? f.ups + f.downs : 0;
			under += f.ready < n;
		}
	tap_is_long(flaps, 0, "5 %% of noise with a percentile kept: never down and up again within the window");
	tap_is_long(moves, 0, "and no change at all where it stays below what the forecast tells");
	tap_is_long(under, 0, "of which no machine goes");
}

int
main(void)
{
	test_headroom();
	test_share();
	test_share_noise();
	test_gpus();
	test_carried();
	test_percentile();
	test_percentile_wild();
	test_percentile_noise();
	test_headroom_parse();
	return tap_done();
}
