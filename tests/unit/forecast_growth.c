/* Growth over months: series made by a line, a rate, a logistic curve or none; what they become is how they were made. */
#include <math.h>
#include <stdlib.h>

#include "forecast/forecast.h"
#include "tests/tap.h"

enum { DAYS = 700, AHEAD = 182 };

static double y[DAYS];
static struct fc_result r;

static double
noise(int t)
{
	return (double)((t * 7919) % 101) / 101 - 0.5;
}

static void
run(double (*fn)(int day), double cap, struct arena *a)
{
	struct fc_series s = { "s", 1704067200, 86400, DAYS, y, NULL };
	struct fc_options o;
	struct berth_err err = { 0 };

	for (int t = 0; t < DAYS; t++)
		y[t] = fn(t) * (1 + .05 * sin(t * 6.283185307179586 / 7) + .04 * noise(t));
	fc_options_init(&o);
	o.horizon = AHEAD;
	o.cap = cap;
	tap_code(fc_run(&s, &o, a, &r, &err), BERTH_OK, &err);
}

/* Mean of the forecast over the last four weeks. */
static double
last(void)
{
	double sum = 0;

	for (size_t i = AHEAD - 28; i < AHEAD; i++)
		sum += r.mean[i] / 28;
	return sum;
}

static double line(int t) { return 100 + .3 * t; }
static double rate(int t) { return 40 * pow(2, t / 365.0); }
static double fall(int t) { return 300 - .3 * t; }
static double curve(int t) { return 50 + 400 / (1 + exp(-(t - 480) / 60.0)); }
static double level(int t) { return 100 + 30 * noise(t / 20); }

int
main(void)
{
	struct arena *a = arena_new();
	double end = DAYS + AHEAD - 14, top = 0;

	run(line, NAN, a);
	tap_ok(r.growth.kind != FC_GROWTH_NONE, "a line is seen");
	tap_ok(last() > line(DAYS) + .6 * (line((int)end) - line(DAYS)) && last() < 1.05 * line((int)end),
	    "most of its growth is carried on, damped: %.1f of %.1f", last(), line((int)end));
	tap_near(r.mean[3], line(DAYS + 3), 20, "the first week is left alone");
	run(rate, NAN, a);
	tap_ok(last() > rate(DAYS) + .5 * (rate((int)end) - rate(DAYS)) && last() < 1.1 * rate((int)end),
	    "a doubling each year too: %.1f of %.1f", last(), rate((int)end));
	tap_ok(r.peak[FC_PEAK95] > last(), "peaks grow with it");
	run(rate, 180, a);
	for (size_t i = 0; i < AHEAD * r.n_paths; i++)
		top = fmax(top, r.paths[i]);
	tap_ok(top <= 180 && last() < 180, "up to the cap: no path passes it (%.1f)", top);
	run(fall, NAN, a);
	tap_ok(last() < fall(DAYS) && last() > 0, "a fall goes on, and never below 0: %.1f", last());
	run(curve, NAN, a);
	tap_near(last(), 450, 30, "a curve that is nearly full does not grow on: %.1f of 450", last());
	run(level, NAN, a);
	tap_is_long(r.growth.kind, FC_GROWTH_NONE, "what wanders about a level earns none");
	tap_near(r.growth.factor, 1, 0, "and keeps its level");
	arena_free(a);
	return tap_done();
}
