/* The roadmap on sample paths: expectations are sums done by hand on the forecast without events. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/answer.h"
#include "forecast/event.h"
#include "tests/tap.h"

enum { HOURS = 1200, AHEAD = 240, PATHS = 200 };

static const int64_t start = 1704067200;	/* 2024-01-01T00:00:00Z */
static double y[HOURS];
static struct fc_options opt;

static struct fc_range
sure(double x)
{
	return (struct fc_range){ x, x, x };
}

static struct fc_event
event(enum fc_event_kind kind, double size, double from_h)
{
	return (struct fc_event){ .name = "e", .probability = 1, .kind = kind, .size = sure(size),
		.start = sure((double)start + 3600 * from_h), .length = sure(INFINITY) };
}

static double
noise(int t)
{
	return (double)((t * 7919) % 101) / 101 - 0.5;
}

static void
history(void)
{
	for (int t = 0; t < HOURS; t++)
		y[t] = 100 + 15 * sin(t * 6.283185307179586 / 24) + 6 * noise(t);
}

/* The forecast without (base) and with the events. */
static void
both(struct fc_event_use *use, size_t n, struct arena *a, struct fc_result *base, struct fc_result *r)
{
	struct fc_series s = { "s", start, 3600, HOURS, y, NULL }, clean;
	struct berth_err err = { 0 };

	fc_events_history(&s, use, n, a, &clean);
	tap_code(fc_run(&clean, &opt, a, base, &err), BERTH_OK, &err);
	tap_code(fc_run(&clean, &opt, a, r, &err), BERTH_OK, &err);
	fc_events_apply(r, use, n, 7, NAN);
}

static void
certain(struct arena *a)
{
	struct fc_event e = event(FC_EVENT_GPUS, 64, HOURS + 48);
	struct fc_event_use u = { .event = &e, .share = 1 };
	struct fc_result base, r;
	double worst = 0, ramp = 0, quantiles = 0, peak = 0;

	e.length = sure(72 * 3600);
	e.ramp_up_s = 24 * 3600;
	both(&u, 1, a, &base, &r);
	tap_is_long(u.state, FC_EVENT_AHEAD, "what begins behind the history is ahead");
	for (size_t i = 0; i < AHEAD; i++) {
		double add = i < 48 || i >= 120 ? 0 : i < 72 ? 64 * ((double)i - 48 + .5) / 24 : 64;

		worst = fmax(worst, fabs(r.mean[i] - base.mean[i] - add));
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			quantiles = fmax(quantiles, fabs(r.q[i * FC_LEVEL_COUNT + l] - base.q[i * FC_LEVEL_COUNT + l] - add));
		for (size_t k = 0; k < PATHS; k++)
			ramp = fmax(ramp, fabs(r.paths[k * AHEAD + i] - base.paths[k * AHEAD + i] - add));
	}
	tap_near(worst, 0, 1e-9, "a certain project adds its GPUs to the mean, rising over its ramp, and only while it lasts");
	tap_near(quantiles, 0, 1e-9, "and to every quantile");
	tap_near(ramp, 0, 1e-9, "and to every path");
	for (size_t k = 0; k < PATHS; k++) {
		double max = 0;

		for (size_t i = 0; i < AHEAD; i++)
			max = fmax(max, r.paths[k * AHEAD + i]);
		peak += max > r.peak[FC_PEAK90] ? 1 : 0;
	}
	tap_near(peak, 20, 1, "a tenth of the paths pass the new P90 of the peak (%.0f)", peak);
	tap_ok(r.peak[FC_PEAK50] > base.peak[FC_PEAK50] + 55, "the peak moves with it");
	tap_near(u.mean, (12 + 48) * 64.0 / AHEAD, 1e-6, "its mean over the horizon is its area");
}

/* Share of the base distribution at or below x. */
static double
cdf(const double *q, double x)
{
	size_t l = 0;

	if (x <= q[0])
		return x < q[0] ? 0 : fc_levels[0];
	while (l + 1 < FC_LEVEL_COUNT && q[l + 1] < x)
		l++;
	if (l + 1 == FC_LEVEL_COUNT)
		return 1;
	return fc_levels[l] + (fc_levels[l + 1] - fc_levels[l]) * (x - q[l]) / (q[l + 1] - q[l]);
}

static void
chance(struct arena *a)
{
	struct fc_event e = event(FC_EVENT_GPUS, 64, HOURS + 24);
	struct fc_event_use u = { .event = &e, .share = 1 };
	struct fc_result base, r, again;
	size_t with = 0, i = 100;
	double off = 0;

	e.probability = .6;
	both(&u, 1, a, &base, &r);
	for (size_t k = 0; k < PATHS; k++)
		with += r.paths[k * AHEAD + i] > base.paths[k * AHEAD + i] + 1;
	tap_is_long((long long)with, 120, "60 %% of 200 paths have it: 120");
	tap_near(r.mean[i], base.mean[i] + .6 * 64, 1e-9, "the mean has 60 %% of it");
	for (size_t l = FC_P05; l <= FC_P95; l++) {
		double x = r.q[i * FC_LEVEL_COUNT + l];
		const double *q = base.q + i * FC_LEVEL_COUNT;

		off = fmax(off, fabs(.4 * cdf(q, x) + .6 * cdf(q, x - 64) - fc_levels[l]));
	}
	tap_ok(off < .05, "quantiles are those of the mixture of both worlds (%.3f)", off);
	both(&u, 1, a, &base, &again);
	tap_ok(memcmp(r.paths, again.paths, PATHS * AHEAD * sizeof(double)) == 0, "the same seed gives the same paths");
}

static void
ranges(struct arena *a)
{
	struct fc_event e = event(FC_EVENT_GPUS, 0, HOURS);
	struct fc_event_use u = { .event = &e, .share = .5 };
	struct fc_result base, r;
	double early = 0, sum = 0;

	e.size = (struct fc_range){ 20, 30, 100 };
	e.start = (struct fc_range){ e.start.likely, e.start.likely + 48 * 3600, e.start.likely + 96 * 3600 };
	both(&u, 1, a, &base, &r);
	for (size_t k = 0; k < PATHS; k++) {
		early += r.paths[k * AHEAD + 47] > base.paths[k * AHEAD + 47] + 1;
		sum += r.paths[k * AHEAD + 200] - base.paths[k * AHEAD + 200];
	}
	tap_near(early, 100, 3, "half of the paths have begun at the middle of the range of dates (%.0f)", early);
	tap_near(sum / PATHS, .5 * 50, .5, "the mean size is a third of least, likely and most, times the share");
}

static void
factors(struct arena *a)
{
	struct fc_event e[3] = { event(FC_EVENT_FACTOR, 0, HOURS + 100), event(FC_EVENT_GROWTH, 2, HOURS),
		event(FC_EVENT_GPUS, 5, HOURS + 100) };
	struct fc_event_use u[3] = { { .event = &e[0], .share = 1 }, { .event = &e[1], .share = 1 }, { .event = &e[2], .share = 1 } };
	struct fc_result base, r;

	both(u, 1, a, &base, &r);
	tap_near(r.q[150 * FC_LEVEL_COUNT + FC_P99], 0, 1e-12, "a team that leaves leaves nothing behind");
	tap_near(r.mean[99], base.mean[99], 1e-12, "and is all there until then");
	both(u + 1, 1, a, &base, &r);
	tap_near(r.mean[239], base.mean[239] * pow(2, 239.5 / 8766), 1e-9, "growth of twice a year compounds");
	both(u, 3, a, &base, &r);
	tap_near(r.mean[150], 5, 1e-9, "factors do not touch the GPUs of other events, whatever the order");
	e[2].size = sure(-1000);
	both(u + 2, 1, a, &base, &r);
	tap_near(r.q[150 * FC_LEVEL_COUNT + FC_P50], 0, 1e-12, "nothing falls below 0");
}

/* A team of 40 left 200 hours ago; said as 30 to 50. */
static void
begun(struct arena *a)
{
	struct fc_event e = event(FC_EVENT_GPUS, -40, HOURS - 200);
	struct fc_event_use u = { .event = &e, .share = 1 };
	struct fc_result base, r;
	double low = 0;

	e.size = (struct fc_range){ -50, -40, -30 };
	history();
	for (int t = HOURS - 200; t < HOURS; t++)
		y[t] -= 37;
	both(&u, 1, a, &base, &r);
	tap_is_long(u.state, FC_EVENT_SEEN, "a team that left is seen in the history");
	tap_near(u.size, -37, 1.5, "with the size that it had there");
	tap_is_long((long long)r.n_shifts, 0, "it is no change of level any more");
	for (size_t i = 0; i < AHEAD; i++)
		low += r.mean[i] / AHEAD;
	tap_near(low, 63, 1.5, "the forecast carries the level after it: it is not taken off twice");
	e.has_until = true;
	e.until = sure((double)start + 3600.0 * (HOURS + 100));
	both(&u, 1, a, &base, &r);
	tap_near(r.mean[150] - base.mean[150], -u.size, 1e-6, "if it comes back, its GPUs come back");
	tap_near(r.mean[50] - base.mean[50], 0, 1e-9, "and not before");
	e.size = sure(40);
	both(&u, 1, a, &base, &r);
	tap_is_long(u.state, FC_EVENT_ABSENT, "the history contradicts 40 GPUs more");
	tap_near(r.mean[150] - base.mean[150], 0, 1e-12, "so nothing is taken back at its end");
	e = event(FC_EVENT_GPUS, -40, HOURS - 5);
	both(&u, 1, a, &base, &r);
	tap_is_long(u.state, FC_EVENT_OPEN, "five hours do not tell");
	history();
}

static void
over(struct arena *a)
{
	struct fc_event e = event(FC_EVENT_GPUS, 80, HOURS - 600);
	struct fc_event_use u = { .event = &e, .share = 1 };
	struct fc_series s = { "s", start, 3600, HOURS, y, NULL }, clean;
	double worst = 0, want[HOURS];

	e.length = sure(3600 * 200);
	history();
	memcpy(want, y, sizeof(want));
	for (int t = HOURS - 600; t < HOURS - 400; t++)
		y[t] += 80;
	fc_events_history(&s, &u, 1, a, &clean);
	tap_is_long(u.state, FC_EVENT_OVER, "a project that came and went is over");
	for (int t = 0; t < HOURS; t++)
		worst = fmax(worst, fabs(clean.mean[t] - want[t]));
	tap_near(worst, 0, 1e-9, "the history without it is what it was made of");
	history();
	for (int t = 0; t < HOURS - 300; t++)
		y[t] /= 2;
	e = event(FC_EVENT_FACTOR, 2, HOURS - 300);
	fc_events_history(&s, &u, 1, a, &clean);
	worst = 0;
	for (int t = 0; t < HOURS; t++)
		worst = fmax(worst, fabs(clean.mean[t] - want[t]));
	tap_near(worst, 0, 1e-9, "a doubling that is said is taken back exactly");
	history();
}

/* Two series, one event of both: the sum has the same GPUs on every path as the event says. */
static void
joint(struct arena *a)
{
	struct fc_event e = event(FC_EVENT_GPUS, 100, HOURS + 10);
	struct fc_event_use u[2] = { { .event = &e, .share = .25 }, { .event = &e, .share = .75 } };
	struct fc_result base[2], r[2];
	double worst = 0;

	e.probability = .3;
	e.size = (struct fc_range){ 50, 100, 150 };
	for (int i = 0; i < 2; i++)
		both(&u[i], 1, a, &base[i], &r[i]);
	for (size_t k = 0; k < PATHS; k++)
		worst = fmax(worst, fabs(3 * (r[0].paths[k * AHEAD + 99] - base[0].paths[k * AHEAD + 99]) -
		    (r[1].paths[k * AHEAD + 99] - base[1].paths[k * AHEAD + 99])));
	tap_near(worst, 0, 1e-9, "both series see the same draw of the event on the same path");
}

static void
answers(struct arena *a)
{
	struct fc_event e = event(FC_EVENT_GPUS, 300, HOURS + 96);
	struct fc_event_use u = { .event = &e, .share = 1 };
	struct fc_series s = { "s", start, 3600, HOURS, y, NULL };
	struct fc_result base, r;
	struct fc_drivers d;
	struct fc_when w;
	double passed[AHEAD];

	e.length = sure(24 * 3600);
	both(&u, 1, a, &base, &r);
	fc_when(&r, &w);
	tap_is_long(w.day, r.t0 + 96 * 3600, "the maximum comes on the day of the event");
	tap_near(w.day_share, 1, 1e-12, "on all paths");
	tap_ok(w.p10 >= w.day && w.p10 <= w.p50 && w.p50 <= w.p90 && w.p90 < w.day + 86400, "its quantiles lie within that day");
	fc_passed(&r, 250, passed);
	tap_ok(passed[95] == 0 && passed[120] == 1 && passed[AHEAD - 1] == 1, "250 GPUs are passed on that day, and stay passed");
	fc_drivers(&s, &r, base.mean, &d);
	tap_near(d.level + d.growth + d.season + d.events + d.doubt, r.peak[FC_PEAK95], 1e-9, "the parts add up to the peak");
	tap_near(d.events, 300, 1e-6, "the event is 300 of it");
	tap_near(d.level, 100, 2, "the level is the last week's mean");
}

int
main(void)
{
	struct arena *a = arena_new();

	fc_options_init(&opt);
	opt.horizon = AHEAD;
	opt.n_paths = PATHS;
	history();
	certain(a);
	chance(a);
	ranges(a);
	factors(a);
	begun(a);
	over(a);
	joint(a);
	answers(a);
	arena_free(a);
	return tap_done();
}
