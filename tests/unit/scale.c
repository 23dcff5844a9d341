/* Autoscaling: the invariants, on a fleet whose machines take a while to come. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/scalehours.h"
#include "tests/tap.h"
#include "tests/unit/scale_fleet.h"
#include "util/rng.h"

static const double shares[] = { 0.05, 0.1, 0.2, 0.25, 0.5, 1 };

static void
test_constant(void)
{
	int moves = 0;

	for (int n = 1; n <= 40; n++) {
		static struct fleet f;

		fleet_init(&f, n, 300);
		for (int k = 0; k < 300; k++)
			fleet_step(&f, 8.0 * n - 0.5, NAN, 0);
		moves += f.ups + f.downs;
	}
	tap_is_long(moves, 0, "constant input: no change, at 1 to 40 machines");
}

/* Up, down and up again within a window is what noise must never cause. */
static void
test_noise(void)
{
	struct rng r;
	int flaps = 0;

	rng_seed(&r, 3);
	for (int n = 1; n <= 60; n++) {
		static struct fleet f;
		int64_t last_down = -1000000;
		int ups = 0, downs = 0;

		fleet_init(&f, n, 300);
		for (int k = 0; k < 600; k++) {
			fleet_step(&f, 8.0 * n * (1 + 0.05 * (2 * rng_unit(&r) - 1)), NAN, 0);
			if (f.downs > downs)
				last_down = f.t;
			if (f.ups > ups && f.t - last_down < 1800)
				flaps++;
			ups = f.ups;
			downs = f.downs;
		}
	}
	tap_is_long(flaps, 0, "5 %% of noise for 10 h: never down and up again within the window, at 1 to 60 machines");
}

/* The same where a sample comes every 5 and 10 min, so that few make a window, and the level is around a whole machine. */
static void
test_sparse(double share)
{
	static const double level[] = { 1, 0.99, 0.97, 0.95, 0.93, 0.9, 1.01, 1.03 };
	struct scale_rule r = { .min = 0, .max = 1000, .unit = 8, .target = 1, .tolerance = 0.1, .boot_s = 300,
		.down_window_s = 1800, .down_rate = 0.2, .headroom.share = share };
	int flaps = 0, soon = 0, steps = 0;
	struct rng g;

	rng_seed(&g, 5);
	for (int n = 1; n <= 30; n++)
		for (size_t l = 0; l < sizeof(level) / sizeof(level[0]); l++)
			for (int64_t step = 300; step <= 600; step += 300) {
				struct scale_state s = { 0 };
				int64_t have = n, down = INT64_MIN / 2, up = INT64_MIN / 2;

				for (int64_t t = 0; t < 3 * 86400; t += step, steps++) {
					struct scale_input in = { t, have, 0, 0,
						8.0 * n * level[l] * (1 + 0.05 * (2 * rng_unit(&g) - 1)), 0, NAN, 0, NAN, NAN, NAN };
					struct scale_decision d;

					scale_step(&r, &s, &in, &d);
					flaps += d.target > have && t - up < 1800 && down > up;
					soon += d.target > have && t - down < 1800;
					up = d.target > have ? t : up;
					down = d.target < have ? t : down;
					have = d.target;
				}
			}
	tap_is_long(flaps, 0,
	    "5 %% of noise, 5 and 10 min between samples, %g %% spare: never up, down and up within the window",
	    100 * share);
	tap_ok(soon <= 10, "and hardly ever up within a window after a machine went (%d of %d steps)", soon, steps);
}

/* A load that is told every 5 min, as a tick from cron may see it, and a window no longer: what is known of the noise
 * lasts for many samples, and is forgotten when the load stands still. */
static void
test_coarse(void)
{
	static const double level[] = { 0.955, 0.97, 0.985, 1 };
	struct scale_rule r = { .min = 0, .max = 1000, .unit = 8, .target = 1, .tolerance = 0.1, .boot_s = 60,
		.down_rate = 0.2 };
	int days = 0, worst = 0, all = 0, late = 0;
	struct rng g;

	rng_seed(&g, 11);
	for (int n = 1; n <= 9; n++)
		for (size_t l = 0; l < sizeof(level) / sizeof(level[0]); l++) {
			struct scale_state s = { 0 };
			int64_t have = n, t = 0;
			int changes = 0;
			double load = 0;

			for (; t < 5 * 86400; t += 60) {
				struct scale_input in = { t, have, 0, 0, 0, 0, NAN, 0, NAN, NAN, NAN };
				struct scale_decision d;

				if (t % 300 == 0)
					load = 8.0 * n * level[l] * (1 + 0.05 * (2 * rng_unit(&g) - 1));
				in.load = load;
				scale_step(&r, &s, &in, &d);
				changes += d.target != have;
				have = d.target;
			}
			all += changes;
			days += 5;
			worst = changes > worst ? changes : worst;
			for (int64_t end = t + 3600; t < end; t += 60) {
				struct scale_input in = { t, have, 0, 0, 8.0 * n * 0.95, 0, NAN, 0, NAN, NAN, NAN };
				struct scale_decision d;

				scale_step(&r, &s, &in, &d);
				have = d.target;
			}
			late += have != n;
		}
	tap_ok(all <= days / 2 && worst <= 8,
	    "5 %% of noise in samples of 5 min, a window of 5 min: %d changes in %d days, %d in the worst 5", all, days, worst);
	tap_is_long(late, 0, "and as many as a load that stands still asks for after an hour");
}

static void
test_step(void)
{
	static struct fleet f;

	fleet_init(&f, 2, 600);
	for (int k = 0; k < 20; k++)
		fleet_step(&f, 15, NAN, 0);
	fleet_step(&f, 100, NAN, 0);
	tap_is_long(f.orders, 11, "a step from 15 to 100 GPUs is answered in one period: 13 machines");
	for (int k = 0; k < 9; k++)
		fleet_step(&f, 100, NAN, 0);
	tap_is_long(f.orders, 11, "what is in flight is counted: nothing is ordered again");
	for (int k = 0; k < 300; k++)
		fleet_step(&f, 15, NAN, 0);
	tap_is_long(f.ready, 2, "back at 15 GPUs: 2 machines in the end");
	tap_is_long(f.ups, 1, "one order in all");
}

/* Cooldown starts when the capacity arrives: a spike that is over before the machines come does not send them straight back. */
static void
test_arrival(void)
{
	static struct fleet f;
	int64_t came = 0, went = 0;

	fleet_init(&f, 2, 900);
	fleet_step(&f, 15, NAN, 0);
	fleet_step(&f, 40, NAN, 0);
	for (int k = 0; k < 200 && went == 0; k++) {
		int64_t before = f.ready;

		fleet_step(&f, 15, NAN, 0);
		if (f.ready > before && came == 0)
			came = f.t;
		if (f.releases > 0)
			went = f.t;
	}
	tap_ok(came > 0 && went - came >= 1800, "machines stay a window after they came (%lld s)", (long long)(went - came));
}

static void
test_missing(void)
{
	static struct fleet f;

	fleet_init(&f, 10, 300);
	for (int k = 0; k < 200; k++)
		fleet_step(&f, NAN, NAN, 0);
	tap_is_long(f.ups + f.downs, 0, "no metric: neither in nor out");
	tap_is_str(scale_reason_name(f.last.reason), "no_metric", "and it says so");
	fleet_step(&f, 8, NAN, 0);
	tap_is_long(f.downs, 0, "one low value after the gap: the window still holds");
	for (int k = 0; k < 29; k++)
		fleet_step(&f, k % 3 == 0 ? NAN : 8, NAN, 0);
	tap_is_long(f.downs, 0, "gaps within the window keep it");
}

/* What no meter can mean, in any mix, with a clock that jumps: never in on it, never beyond the limits. */
static void
test_odd(void)
{
	static const double odd[] = { (double)NAN, (double)INFINITY, -(double)INFINITY, -5, 0, 1e300, 20, 50 };
	static const int64_t jump[] = { 60, 60, 60, -100000, 100000, 0 };
	int bad = 0, blind = 0;
	struct rng g;

	rng_seed(&g, 1);
	for (int w = 0; w < 2000; w++) {
		struct scale_rule r = { .min = (int64_t)rng_below(&g, 3), .unit = 8, .target = 0.8, .tolerance = 0.1,
			.boot_s = 300, .down_rate = 0.2, .drain_s = rng_below(&g, 2) > 0 ? 600 : 0 };
		struct scale_state s = { 0 };
		int64_t t = 1000000, n = (int64_t)rng_below(&g, 12);

		r.max = r.min + (int64_t)rng_below(&g, 20);
		r.headroom.percentile = w % 2 > 0 ? 90 : 0;
		for (int k = 0; k < 60; k++, t += jump[rng_below(&g, 6)]) {
			struct scale_input in = { t, n, 0, (int64_t)rng_below(&g, (uint64_t)n + 1), odd[rng_below(&g, 8)],
				odd[rng_below(&g, 8)], odd[rng_below(&g, 8)], 0, odd[rng_below(&g, 8)],
				odd[rng_below(&g, 8)], odd[rng_below(&g, 8)] };
			struct scale_decision d;

			scale_step(&r, &s, &in, &d);
			bad += (d.target > r.max && d.target > n) || d.target < in.busy || (d.target < r.min && d.target < n);
			blind += !(in.load >= 0 && in.load < (double)INFINITY) && (d.target < n || d.target > (n > r.min ? n : r.min));
			n = d.target;
		}
	}
	tap_is_long(bad, 0, "120,000 odd steps: within min, max and what is busy");
	tap_is_long(blind, 0, "no load, one below 0 or without end: neither in nor out");
}

/* The clock goes back by two months: the window begins anew, and the fleet still comes down. */
static void
test_clock(void)
{
	static struct fleet f;

	fleet_init(&f, 20, 0);
	for (int k = 0; k < 40; k++)
		fleet_step(&f, 160, NAN, 0);
	f.t -= 60 * 86400;
	for (int k = 0; k < 30; k++)
		fleet_step(&f, 8, NAN, 0);
	tap_is_long(f.ready, 20, "a clock that went back: nothing goes within the window");
	for (int k = 0; k < 200; k++)
		fleet_step(&f, 8, NAN, 0);
	tap_is_long(f.ready, 1, "and the fleet comes down after it");
	fleet_init(&f, 0, 0);
	f.rule.min = 0;
	fleet_step(&f, 8, NAN, 0);
	tap_is_long(f.last.target, 1, "from no machine at all up at once");
}

static void
test_limits(void)
{
	static struct fleet f;
	int64_t most = 0, least = 1000, fastest = 0;

	fleet_init(&f, 20, 0);
	f.rule.min = 3;
	f.rule.max = 25;
	for (int k = 0; k < 100; k++) {
		fleet_step(&f, 1e12, NAN, 0);
		most = f.last.target > most ? f.last.target : most;
	}
	tap_is_long(most, 25, "never above max");
	tap_is_str(scale_reason_name(f.last.reason), "limit", "the limit is named");
	f.ready = 24;
	fleet_step(&f, 1e12, NAN, 0);
	tap_is_long(f.last.target, 25, "the last one below max is had, though it is within the tolerance");
	f.ready = 24;
	f.starting = 0;
	fleet_step(&f, 26 * 8, NAN, 0);
	tap_is_long(f.last.target, 24, "but not for a load within it");
	fleet_step(&f, 1e12, NAN, 0);
	for (int k = 0; k < 400; k++) {
		int64_t before = f.ready + (int64_t)f.starting;

		fleet_step(&f, 0, NAN, 7);
		least = f.last.target < least ? f.last.target : least;
		fastest = before - f.last.target > fastest ? before - f.last.target : fastest;
	}
	tap_is_long(least, 7, "never below what is busy");
	tap_ok(fastest <= 5, "at most 20 %% at once (%lld of 25)", (long long)fastest);
	tap_is_str(scale_reason_name(f.last.reason), "busy", "the busy machines are named");
	for (int k = 0; k < 400; k++)
		fleet_step(&f, 0, NAN, 0);
	tap_is_long(f.ready, 3, "never below min");
}

/* Within the tolerance nothing is ordered, beyond it all at once; rounding of the load makes no machine. */
static void
test_tolerance(void)
{
	static struct fleet f;

	fleet_init(&f, 20, 300);
	fleet_step(&f, 8 * 21.9, NAN, 0);
	tap_is_long(f.orders, 0, "22 machines wanted, 20 there: within a tenth");
	fleet_step(&f, 8 * 22.1, NAN, 0);
	tap_is_long(f.orders, 3, "23 wanted: three are ordered");
	fleet_init(&f, 3, 300);
	f.rule.unit = 0.1;
	fleet_step(&f, 0.1 + 0.2, NAN, 0);
	tap_is_long(f.last.want, 3, "a load of 0.1 + 0.2 on machines of 0.1 is three machines");
}

/* Many are busy: what may go by the rate would go below them. */
static void
test_busy(void)
{
	static struct fleet f;

	fleet_init(&f, 25, 0);
	for (int k = 0; k < 200; k++)
		fleet_step(&f, 8, NAN, 23);
	tap_is_long(f.ready, 23, "of 25 machines 23 are busy: two go, not the five that the rate allows");
}

static void
test_forecast(void)
{
	static struct fleet f;

	fleet_init(&f, 4, 600);
	fleet_step(&f, 30, 60, 0);
	tap_is_long(f.last.target, 8, "a forecast of 60 GPUs at t + boot orders now");
	fleet_init(&f, 4, 600);
	for (int k = 0; k < 100; k++)
		fleet_step(&f, 30, 0, 0);
	tap_is_long(f.ready, 4, "a forecast may only raise");
	fleet_init(&f, 4, 600);
	f.rule.drain_s = 600;
	struct scale_input in = { f.t, 4, 0, 0, 30, 600 * 8 * 3, NAN, 0, NAN, NAN, NAN };
	scale_step(&f.rule, &f.state, &in, &f.last);
	tap_is_long(f.last.target, 7, "30 GPUs in use and work of 24 GPUs for 10 min in the queue: 54 GPUs");
}

/* Demand around a step of the machine size, 5-minute samples: one change, where rounding alone makes many. */
static void
test_quantum(void)
{
	static const int demand[] = { 15, 16, 17, 16, 18, 14, 17, 16, 15, 17, 16, 18 };
	static const int want[] = { 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 };
	struct scale_rule r = { .min = 0, .max = 100, .unit = 8, .target = 1, .tolerance = 0.1, .down_window_s = 1800,
		.down_rate = 0.2 };
	struct scale_state s = { 0 };
	int64_t n = 2;
	int bad = 0;

	for (size_t k = 0; k < sizeof(demand) / sizeof(demand[0]); k++) {
		struct scale_input in = { (int64_t)k * 300, n, 0, 0, demand[k], 0, NAN, 0, NAN, NAN, NAN };
		struct scale_decision d;

		scale_step(&r, &s, &in, &d);
		bad += d.target != want[k];
		n = d.target;
	}
	tap_is_long(bad, 0, "16 and 17 GPUs on machines of 8: 3 machines at once, and they stay");
}

/* Sold out: ordered machines that nobody rents do not hold those that are paid for. */
/* Idle for 20 min at a start of 15 min and bills by 5 min: a peak at its end holds the machines, one later does not. */
static void
test_break_even(void)
{
	struct fleet f;
	struct scale_decision d;
	struct scale_input in = { .t = 1000000, .ready = 10, .load = 40, .forecast = 40, .soon = 80 };

	fleet_init(&f, 10, 900);
	f.rule.billing_s = 300;
	tap_is_long((long)scale_restart(&f.rule), 1200, "a restart costs a start and a billing step");
	for (int k = 0; k < 60; k++, in.t += STEP)
		scale_step(&f.rule, &f.state, &in, &d);
	tap_ok(d.target == 10 && d.reason == SCALE_HELD, "ten are wanted again soon: none of them goes (%lld)", (long long)d.target);
	in.soon = 63;
	in.t += STEP;
	scale_step(&f.rule, &f.state, &in, &d);
	tap_is_long((long)d.target, 8, "63 / 8 are wanted again: two go");
	in.soon = NAN;
	in.t += 300;
	in.ready = 8;
	scale_step(&f.rule, &f.state, &in, &d);
	tap_is_long((long)d.target, 7, "nothing is known of what comes: a fifth goes");
	in.soon = 1e18;
	in.t += 300;
	in.ready = 7;
	scale_step(&f.rule, &f.state, &in, &d);
	tap_is_long((long)d.target, 7, "and a forecast beyond all orders nothing");
	in.busy = 0;
	in.ready = 6;
	in.starting = in.waiting = 4;
	in.t += 300;
	scale_step(&f.rule, &f.state, &in, &d);
	tap_is_long((long)d.target, 6, "those that nothing is rented for wait for free, and go");
}

static void
test_waiting(void)
{
	static struct fleet f;
	struct scale_input in = { .t = 1000000, .ready = 5, .load = 80, .forecast = NAN };

	fleet_init(&f, 5, 300);
	scale_step(&f.rule, &f.state, &in, &f.last);
	tap_is_long(f.last.target, 10, "80 GPUs: ten machines");
	in.starting = in.waiting = 5;
	in.load = 8;
	for (int k = 0; k < 29; k++) {
		in.t += STEP;
		scale_step(&f.rule, &f.state, &in, &f.last);
	}
	tap_is_long(f.last.target, 10, "within the window they stay ordered");
	in.t += STEP;
	scale_step(&f.rule, &f.state, &in, &f.last);
	tap_is_long(f.last.target, 5, "after it all five that nobody rented are taken back at once");
	in.starting = in.waiting = 0;
	in.t += STEP;
	scale_step(&f.rule, &f.state, &in, &f.last);
	tap_is_long(f.last.target, 4, "and then one of those that are there");
}

static void
test_check(void)
{
	struct scale_rule r = { .min = 1, .max = 2, .unit = 8, .target = 0.8, .tolerance = 0.1, .down_rate = 0.2 };
	struct berth_err err = { 0 };

	tap_code(scale_check(&r, &err), BERTH_OK, &err);
	r.max = 0;
	tap_code(scale_check(&r, &err), BERTH_EINVAL, &err);
	r.max = 2;
	r.headroom.share = -0.1;
	tap_code(scale_check(&r, &err), BERTH_EINVAL, &err);
	r.headroom.share = NAN;
	tap_code(scale_check(&r, &err), BERTH_EINVAL, &err);
	r.headroom.share = 0;
	r.headroom.percentile = 100;
	tap_code(scale_check(&r, &err), BERTH_EINVAL, &err);
	r.headroom.percentile = 0;
	r.headroom.gpus = -1;
	tap_code(scale_check(&r, &err), BERTH_EINVAL, &err);
	r.headroom.gpus = 0;
	r.target = 0;
	tap_code(scale_check(&r, &err), BERTH_EINVAL, &err);
	r.target = NAN;
	tap_code(scale_check(&r, &err), BERTH_EINVAL, &err);
}

/* By way of the chances themselves: of all chances p that a step moves, each as likely as any other, those
 * are weighed by (1 - p)^known with which nothing has moved; the mean of 1 - (1 - p)^ahead over them. */
static double
moves(double known, double ahead)
{
	enum { STEPS = 200000 };
	double sum = 0, all = 0;

	for (int i = 0; i < STEPS; i++) {
		double p = (i + 0.5) / STEPS, still = pow(1 - p, known);

		all += still;
		sum += still * (1 - pow(1 - p, ahead));
	}
	return sum / all;
}

static void
test_still(void)
{
	static const double levels[] = { 0.05, 0.5, 0.9, 0.95, 0.99 };
	static const int64_t ahead[] = { 1, 10, 60, 600 };

	for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++)
		for (size_t k = 0; k < sizeof(ahead) / sizeof(ahead[0]); k++) {
			double end = fmin(levels[l], 1 - levels[l]);
			int64_t known = 1;

			/* In steps of a minute, the first time after which it stays. */
			while (scale_foreseen(&(struct scale_still){ 7, 60 * known }, levels[l], 60 * ahead[k], 9) == 9)
				known++;
			tap_ok(known == 1 || moves((double)known * 0.98 - 3, (double)ahead[k]) > end,
			    "%g, %d min: not before %d min", levels[l], (int)ahead[k], (int)known);
			tap_ok(moves((double)known * 1.02 + 3, (double)ahead[k]) < end,
			    "%g, %d min: from %d min on", levels[l], (int)ahead[k], (int)known);
		}
	tap_ok(scale_foreseen(&(struct scale_still){ 7, 0 }, 0.9, 60, 9) == 9, "one that has moved: the forecast");
	tap_ok(scale_foreseen(&(struct scale_still){ 7, 864000 }, 1, 60, 9) == 9, "the end itself: the forecast");
	tap_ok(isnan(scale_foreseen(&(struct scale_still){ 7, 864000 }, 0.9, 60, NAN)), "no forecast: none");
	tap_ok(scale_foreseen(&(struct scale_still){ 0, 864000 }, 0.9, 60, 9) == 0, "nothing at all times");
}

int
main(void)
{
	test_still();
	test_constant();
	test_noise();
	test_sparse(0);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		test_sparse(shares[i]);
	test_coarse();
	test_step();
	test_arrival();
	test_missing();
	test_odd();
	test_clock();
	test_limits();
	test_tolerance();
	test_busy();
	test_forecast();
	test_quantum();
	test_waiting();
	test_break_even();
	test_check();
	return tap_done();
}
