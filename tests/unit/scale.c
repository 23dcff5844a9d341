/* Autoscaling: the invariants, on a fleet whose machines take a while to come. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/scalehours.h"
#include "tests/tap.h"
#include "util/rng.h"

#define STEP 60

static const double shares[] = { 0.05, 0.1, 0.2, 0.25, 0.5, 1 };

/* A cloud that obeys: machines ordered at t work at t + boot. */
struct fleet {
	struct scale_rule rule;
	struct scale_state state;
	int64_t t, ready;
	int64_t due[4096];		/* when each starting machine is there */
	size_t starting;
	int64_t orders, releases;	/* machines */
	int ups, downs;			/* steps that changed the fleet */
	struct scale_decision last;
	double least;			/* of the headroom's percentile */
};

static void
fleet_init(struct fleet *f, int64_t ready, int64_t boot_s)
{
	memset(f, 0, sizeof(*f));
	f->rule = (struct scale_rule){ .min = 1, .max = 1000, .unit = 8, .target = 1, .tolerance = 0.1, .boot_s = boot_s,
		.down_window_s = 1800, .down_rate = 0.2 };
	f->ready = ready;
	f->least = NAN;
	f->t = 1000000;
}

static void
fleet_step(struct fleet *f, double load, double forecast, int64_t busy)
{
	struct scale_input in = { .t = f->t, .busy = busy, .load = load, .forecast = forecast, .soon = NAN,
		.least = f->least, .least_soon = f->least };
	size_t left = 0;
	int64_t have;

	for (size_t k = 0; k < f->starting; k++) {
		if (f->due[k] <= f->t)
			f->ready++;
		else
			f->due[left++] = f->due[k];
	}
	f->starting = left;
	in.ready = f->ready;
	in.starting = (int64_t)f->starting;
	have = in.ready + in.starting;
	scale_step(&f->rule, &f->state, &in, &f->last);
	for (; have < f->last.target; have++, f->orders++)
		f->due[f->starting++] = f->t + f->rule.boot_s;
	if (have > f->last.target) {
		f->releases += have - f->last.target;
		f->ready -= have - f->last.target;
		f->downs++;
	}
	f->ups += f->last.reason == SCALE_UP;
	f->t += STEP;
}

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

static void
hours_are(const char *const *texts, size_t n, const char *zone, const char *what, int64_t t, int64_t boot, int64_t min, int64_t max)
{
	struct scale_rule r = { .min = 1, .max = 10, .boot_s = boot };
	struct arena *a = arena_new();
	struct scale_hours h[4];
	const struct tz *tz;
	struct berth_err err;
	bool ok = tz_load(a, zone, &tz, &err) == BERTH_OK;

	for (size_t i = 0; ok && i < n; i++)
		ok = scale_hours_parse(texts[i], &h[i], &err) == BERTH_OK;
	if (ok)
		scale_hours_apply(h, n, tz, t, &r);
	tap_ok(ok && r.min == min && r.max == max, "%s: %lld..%lld (want %lld..%lld)", what, (long long)r.min, (long long)r.max,
	    (long long)min, (long long)max);
	arena_free(a);
}

/* 2027-03-29 and 2027-11-01 are the Mondays after the clocks of Berlin changed. */
static void
test_hours(void)
{
	static const char *const work[] = { "mon-fri 08:00-20:00 4..20", "sat sun 00:00-24:00 ..2" }, *const night[] = { "fri 22:00-06:00 3.." },
		*const gap[] = { "sun 02:15-02:45 5.." };
	static const char *const bad[] = { "", "8:00-20:00 1..2", "mon-fri", "mon-fry 08:00-20:00 1..2", "08:00-24:30 1..2",
		"24:00-08:00 1..2", "08:00-20:00 5..2", "08:00-20:00 ..", "08:00-20:00 1..2 x", "08:60-20:00 1..", "mon,tue 08:00-20:00 1..",
		"08:00-20:00 9999999..", "Mon 08:00-20:00 1..", "mon  08:00-20:00 1.." };
	int64_t mon = INT64_C(1796601600);	/* 2026-12-07T00:00:00Z, a Monday */
	int refused = 0;

	hours_are(work, 2, "UTC", "Monday 07:59", mon + 8 * 3600 - 60, 0, 1, 10);
	hours_are(work, 2, "UTC", "Monday 08:00", mon + 8 * 3600, 0, 4, 20);
	hours_are(work, 2, "UTC", "Monday 19:59", mon + 20 * 3600 - 60, 0, 4, 20);
	hours_are(work, 2, "UTC", "Monday 20:00", mon + 20 * 3600, 0, 1, 10);
	hours_are(work, 2, "UTC", "Monday 07:55 with 5 min to boot: the least of 08:00 counts, the most does not", mon + 8 * 3600 - 300, 300,
	    4, 10);
	hours_are(work, 2, "UTC", "Saturday", mon + 5 * 86400 + 3600, 0, 1, 2);
	hours_are(work, 2, "UTC", "Sunday 23:59", mon - 60, 0, 1, 2);
	hours_are(night, 1, "UTC", "Friday 21:59", mon + 4 * 86400 + 22 * 3600 - 60, 0, 1, 10);
	hours_are(night, 1, "UTC", "Friday 22:00", mon + 4 * 86400 + 22 * 3600, 0, 3, 10);
	hours_are(night, 1, "UTC", "Saturday 05:59, of the night that began on Friday", mon + 5 * 86400 + 6 * 3600 - 60, 0, 3, 10);
	hours_are(night, 1, "UTC", "Saturday 22:00", mon + 5 * 86400 + 22 * 3600, 0, 1, 10);
	hours_are(work, 2, "Europe/Berlin", "Monday 06:59Z in winter is 07:59", mon + 7 * 3600 - 60, 0, 1, 10);
	hours_are(work, 2, "Europe/Berlin", "Monday 07:00Z in winter is 08:00", mon + 7 * 3600, 0, 4, 20);
	hours_are(work, 2, "Europe/Berlin", "2027-03-29T05:59Z in summer is 07:59", INT64_C(1806278400) + 6 * 3600 - 60, 0, 1, 10);
	hours_are(work, 2, "Europe/Berlin", "2027-03-29T06:00Z in summer is 08:00", INT64_C(1806278400) + 6 * 3600, 0, 4, 20);
	hours_are(work, 2, "Europe/Berlin", "2027-11-01T06:59Z in winter again", INT64_C(1825027200) + 7 * 3600 - 60, 0, 1, 10);
	hours_are(work, 2, "Europe/Berlin", "2027-11-01T07:00Z in winter again", INT64_C(1825027200) + 7 * 3600, 0, 4, 20);
	hours_are(gap, 1, "Europe/Berlin", "hours that the clock skips do not come", INT64_C(1806278400) - 86400 + 3600, 0, 1, 10);
	hours_are(gap, 1, "Europe/Berlin", "hours that run twice come twice: first", INT64_C(1825027200) - 86400 + 1800, 0, 5, 10);
	hours_are(gap, 1, "Europe/Berlin", "hours that run twice come twice: second", INT64_C(1825027200) - 86400 + 1800 + 3600, 0, 5, 10);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct scale_hours h;
		struct berth_err err;

		refused += scale_hours_parse(bad[i], &h, &err) == BERTH_EINVAL;
	}
	tap_is_long(refused, (long)(sizeof(bad) / sizeof(bad[0])), "hours that are none are refused");
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

static void
spare_is(const char *const *texts, size_t n, const char *zone, const char *what, int64_t t, int64_t boot,
    int64_t machines, double share)
{
	struct scale_rule r = { .min = 1, .max = 10, .boot_s = boot, .headroom.machines = 1 };
	struct arena *a = arena_new();
	struct scale_hours h[4];
	const struct tz *tz;
	struct berth_err err;
	bool ok = tz_load(a, zone, &tz, &err) == BERTH_OK;

	for (size_t i = 0; ok && i < n; i++)
		ok = scale_hours_parse(texts[i], &h[i], &err) == BERTH_OK;
	if (ok)
		scale_hours_apply(h, n, tz, t, &r);
	tap_ok(ok && r.headroom.machines == machines && fabs(r.headroom.share - share) < 1e-12, "%s: %lld and %g %%",
	    what, (long long)r.headroom.machines, 100 * r.headroom.share);
	arena_free(a);
}

/* Headroom by the hours: with and without bounds, before its hours begin, over the changes of the clocks. */
static void
test_headroom_hours(void)
{
	static const char *const work[] = { "mon-fri 08:00-20:00 4..20 +25%", "sat sun 00:00-24:00 +0",
		"22:00-06:00 2.." };
	static const char *const gap[] = { "sun 02:15-02:45 +50%" }, *const day[] = { "08:00-20:00 +3" };
	static const char *const bad[] = { "08:00-20:00", "08:00-20:00 +", "08:00-20:00 +x", "08:00-20:00 4..20+25%",
		"08:00-20:00 4..20  +2", "08:00-20:00 4..20 25%", "08:00-20:00 +2 4..20", "08:00-20:00 4..20 +-1",
		"08:00-20:00 +2 ",
		"08:00-20:00 +1001%", "08:00-20:00 4..20 +2 +3" };
	int64_t mon = INT64_C(1796601600);	/* 2026-12-07T00:00:00Z, a Monday */
	int64_t summer = INT64_C(1806278400) - 86400, winter = INT64_C(1825027200) - 86400;
	int refused = 0;

	spare_is(work, 3, "UTC", "Monday 07:59", mon + 8 * 3600 - 60, 0, 1, 0);
	spare_is(work, 3, "UTC", "Monday 08:00", mon + 8 * 3600, 0, 0, 0.25);
	spare_is(work, 3, "UTC", "Monday 07:55 with 5 min to boot: both", mon + 8 * 3600 - 300, 300, 1, 0.25);
	spare_is(work, 3, "UTC", "Monday 19:55 with 5 min to boot: both", mon + 20 * 3600 - 300, 300, 1, 0.25);
	spare_is(work, 3, "UTC", "Monday 23:00: hours that tell none have the fleet's", mon + 23 * 3600, 0, 1, 0);
	spare_is(work, 3, "UTC", "Saturday: none", mon + 5 * 86400 + 3600, 0, 0, 0);
	spare_is(day, 1, "Europe/Berlin", "the day before summer: 06:59Z", summer - 86400 + 7 * 3600 - 60, 0, 1, 0);
	spare_is(day, 1, "Europe/Berlin", "the day before summer: 07:00Z", summer - 86400 + 7 * 3600, 0, 3, 0);
	spare_is(day, 1, "Europe/Berlin", "the Sunday of summer: 05:59Z", summer + 6 * 3600 - 60, 0, 1, 0);
	spare_is(day, 1, "Europe/Berlin", "the Sunday of summer: 06:00Z", summer + 6 * 3600, 0, 3, 0);
	spare_is(day, 1, "Europe/Berlin", "the Sunday of winter: 06:59Z", winter + 7 * 3600 - 60, 0, 1, 0);
	spare_is(day, 1, "Europe/Berlin", "the Sunday of winter: 07:00Z", winter + 7 * 3600, 0, 3, 0);
	spare_is(gap, 1, "Europe/Berlin", "hours that the clock skips do not come", summer + 3600, 0, 1, 0);
	spare_is(gap, 1, "Europe/Berlin", "hours that run twice come twice: first", winter + 1800, 0, 0, 0.5);
	spare_is(gap, 1, "Europe/Berlin", "hours that run twice come twice: second", winter + 5400, 0, 0, 0.5);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct scale_hours h;
		struct berth_err err;

		refused += scale_hours_parse(bad[i], &h, &err) == BERTH_EINVAL;
	}
	tap_is_long(refused, (long)(sizeof(bad) / sizeof(bad[0])), "hours whose headroom is none are refused");
}

/* The percentile by the hours: of two that meet, the larger; with a number of machines both hold. */
static void
test_percentile_hours(void)
{
	static const char *const texts[] = { "mon-fri 08:00-12:00 4..20 +p90", "mon-fri 12:00-14:00 +p99",
		"mon-fri 14:00-20:00 +2" };
	static const struct {
		int64_t minute, percentile, machines;
	} is[] = { { 7 * 60 + 49, 50, 0 }, { 7 * 60 + 50, 90, 0 }, { 8 * 60, 90, 0 }, { 11 * 60 + 50, 99, 0 },
		{ 13 * 60 + 49, 99, 0 }, { 13 * 60 + 50, 99, 2 }, { 14 * 60, 0, 2 }, { 19 * 60 + 50, 50, 2 }, { 20 * 60, 50, 0 } };
	int64_t mon = INT64_C(1796601600);	/* 2026-12-07T00:00:00Z, a Monday */
	struct scale_rule base = { .min = 1, .max = 30, .boot_s = 600, .headroom.percentile = 50 }, then;
	struct arena *a = arena_new();
	struct scale_hours h[3];
	const struct tz *tz;
	struct berth_err err;
	bool ok = tz_load(a, "UTC", &tz, &err) == BERTH_OK;
	int wrong = 0;

	for (size_t i = 0; ok && i < 3; i++)
		ok = scale_hours_parse(texts[i], &h[i], &err) == BERTH_OK;
	for (size_t i = 0; ok && i < sizeof(is) / sizeof(is[0]); i++) {
		struct scale_rule r = base;

		scale_hours_apply(h, 3, tz, mon + 60 * is[i].minute, &r);
		wrong += r.headroom.percentile != is[i].percentile || r.headroom.machines != is[i].machines;
	}
	tap_ok(ok && wrong == 0, "the percentile of the hour, and of the hour to come: %d wrong", wrong);
	tap_is_long(ok ? scale_hours_next(h, 3, tz, mon + 9 * 3600, &base, &then) : 0, mon + 11 * 3600 + 50 * 60,
	    "and when it is another one");
	arena_free(a);
}

/* The day on which summer begins in Berlin, with and without noise: one order before the hours, one way down. */
static void
test_headroom_day(void)
{
	int64_t t0 = INT64_C(1806278400) - 86400, up = 0, down = 0;	/* 2027-03-28T00:00:00Z */
	struct arena *a = arena_new();
	struct scale_hours h[1];
	struct berth_err err;
	const struct tz *tz;
	struct rng g;
	int flaps = 0, ups = 0, runs = 0;

	rng_seed(&g, 29);
	if (tz_load(a, "Europe/Berlin", &tz, &err) != BERTH_OK ||
	    scale_hours_parse("08:00-20:00 +50%", &h[0], &err) != BERTH_OK) {
		tap_ok(false, "%s", err.msg);
		arena_free(a);
		return;
	}
	for (int n = 3; n <= 30; n++)
		for (int noisy = 0; noisy < 2; noisy++, runs += noisy) {
			static struct fleet f;
			struct scale_rule base;
			int64_t first_up = 0, first_down = 0, last_down = -1000000;
			int u = 0, d = 0;

			fleet_init(&f, n, 600);
			f.t = t0;
			base = f.rule;
			while (f.t < t0 + 86400) {
				f.rule = base;
				scale_hours_apply(h, 1, tz, f.t, &f.rule);
				fleet_step(&f, 8.0 * n * (1 - 0.05 * noisy * rng_unit(&g)), NAN, 0);
				first_up = f.ups > u && first_up == 0 ? f.t - STEP : first_up;
				first_down = f.downs > d && first_down == 0 && first_up > 0 ? f.t - STEP : first_down;
				last_down = f.downs > d ? f.t : last_down;
				flaps += f.ups > u && f.t - last_down < 1800;
				u = f.ups;
				d = f.downs;
			}
			ups += noisy * f.ups;
			if (noisy == 0) {
				up += first_up == t0 + 6 * 3600 - 600 && f.ups == 1;
				down += first_down == t0 + 18 * 3600 + 1800 - STEP && f.ready >= n && 10 * f.ready <= 11 * n;
			}
		}
	tap_is_long(up, 28, "half more at 07:50 of summer time, in one order");
	tap_is_long(down, 28, "and back, within the tolerance, a window after 20:00");
	tap_is_long(flaps, 0, "with noise never down and up again within the window");
	tap_ok(ups <= 3 * runs, "and few orders (%d in %d days)", ups, runs);
	arena_free(a);
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
	test_headroom();
	test_share();
	test_share_noise();
	test_gpus();
	test_carried();
	test_percentile();
	test_percentile_wild();
	test_percentile_noise();
	test_headroom_parse();
	test_headroom_hours();
	test_percentile_hours();
	test_headroom_day();
	test_hours();
	test_quantum();
	test_waiting();
	test_break_even();
	test_check();
	return tap_done();
}
