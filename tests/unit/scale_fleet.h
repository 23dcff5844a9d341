/* tests/unit/scale_fleet.h - a fleet whose machines take a while to come, for tests/unit/scale*.c alone. */
#ifndef BERTH_TESTS_SCALE_FLEET_H
#define BERTH_TESTS_SCALE_FLEET_H

#include <math.h>
#include <string.h>

#include "plan/scale.h"

#define STEP 60

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

#endif
