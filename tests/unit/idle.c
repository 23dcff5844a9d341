/* When a job counts as idle: against the definition, over all readings that came before. */
#include <math.h>
#include <stdlib.h>

#include "plan/idle.h"
#include "tests/tap.h"
#include "util/rng.h"

#define MOST 400

struct reading {
	int64_t t;
	double busy;
};

static bool
is_idle(const struct idle_rule *r, double busy)
{
	return !isnan(busy) && busy >= 0 && busy < r->below;
}

/* First of the unbroken run of idle readings that ends with the last of n; n: the last is none. */
static size_t
idle_from(const struct idle_rule *r, const struct reading *h, size_t n)
{
	int64_t timer = r->stop_s > r->alert_s ? r->stop_s : r->alert_s;
	size_t from = n;

	while (from > 0 && is_idle(r, h[from - 1].busy) &&
	       (from == n || (h[from].t >= h[from - 1].t && h[from].t - h[from - 1].t <= timer / 2)))
		from--;
	return from;
}

/* Whether so many readings lie in a run that has lasted so long. */
static bool
idle_long(const struct reading *h, size_t from, size_t n, int64_t timer)
{
	return timer > 0 && n - from >= IDLE_READINGS && h[n - 1].t - h[from].t >= timer;
}

/* The verdict of the n-th reading by its whole history alone. */
static enum idle_verdict
idle_oracle(const struct idle_rule *r, const struct reading *h, size_t n)
{
	size_t from = idle_from(r, h, n);
	bool blind = isnan(h[n - 1].busy) || h[n - 1].busy < 0;

	for (size_t i = 0; blind && i + 1 < n; i++)
		if (isnan(h[i].busy) || h[i].busy < 0)
			return IDLE_NO;
	if (blind)
		return IDLE_BLIND;
	if (from == n)
		return IDLE_NO;
	if (idle_long(h, from, n, r->alert_s)) {
		bool before = false;

		for (size_t k = from + 1; k < n; k++)
			before = before || idle_long(h, from, k, r->alert_s);
		if (!before)
			return IDLE_ALERT;
	}
	return idle_long(h, from, n, r->stop_s) ? IDLE_STOP : IDLE_NO;
}

static void
test_definition(void)
{
	static const double odd[] = { (double)NAN, (double)INFINITY, -1 };
	int wrong = 0, seen[4] = { 0 };
	struct rng g;

	rng_seed(&g, 41);
	for (int w = 0; w < 3000; w++) {
		static struct reading h[MOST];
		struct idle_rule r = { .below = 0.01 + 0.3 * rng_unit(&g),
			.alert_s = rng_below(&g, 4) == 0 ? 0 : 60 + (int64_t)rng_below(&g, 3600) };
		int64_t t = 1000000, step = 20 + (int64_t)rng_below(&g, 600);
		double calm = 0.7 + 0.3 * rng_unit(&g);
		struct idle_state s = { 0 };

		r.stop_s = rng_below(&g, 4) == 0 ? 0 : r.alert_s + 1 + (int64_t)rng_below(&g, 7200);
		if (r.alert_s == 0 && r.stop_s == 0)
			continue;
		for (size_t n = 1; n <= 60; n++) {
			enum idle_verdict v;

			t += rng_below(&g, 40) == 0 ? -500 : rng_below(&g, 30) == 0 ? 5000 : step;
			h[n - 1].t = t;
			h[n - 1].busy = rng_unit(&g) < calm ? r.below * 0.99 * rng_unit(&g)
					: rng_below(&g, 4) == 0 ? odd[rng_below(&g, 3)]
								: r.below + 0.5 * rng_unit(&g);
			if (isinf(h[n - 1].busy))
				h[n - 1].busy = NAN;
			v = idle_step(&r, &s, t, h[n - 1].busy);
			wrong += v != idle_oracle(&r, h, n);
			seen[v]++;
		}
	}
	tap_is_long(wrong, 0, "each verdict is that of the readings before it");
	tap_ok(seen[IDLE_ALERT] > 100 && seen[IDLE_STOP] > 100 && seen[IDLE_BLIND] > 100,
	    "%d alerts, %d stops, %d without a reading", seen[IDLE_ALERT], seen[IDLE_STOP], seen[IDLE_BLIND]);
}

/* A minute each: when it is told of, and when it is ended. */
static void
test_timers(void)
{
	const struct idle_rule r = { .below = 0.05, .alert_s = 1800, .stop_s = 3600 };
	struct idle_state s = { 0 };
	int64_t alert = 0, stop = 0;
	int alerts = 0, early = 0;

	for (int64_t t = 60; t <= 2 * 3600 && stop == 0; t += 60) {
		enum idle_verdict v = idle_step(&r, &s, t, 0);

		alerts += v == IDLE_ALERT;
		alert = v == IDLE_ALERT ? t : alert;
		stop = v == IDLE_STOP ? t : stop;
	}
	tap_is_long(alert, 60 + 1800, "it is told of half an hour after the first reading");
	tap_is_long(alerts, 1, "once");
	tap_is_long(stop, 60 + 3600, "and ended after an hour");
	tap_is_long(idle_stop_at(&r, &s), 60 + 3600, "as was said");
	tap_is_long(idle_step(&r, &s, stop + 60, 0), IDLE_STOP, "which is said again until it is done");
	tap_is_long(idle_step(&r, &s, stop + 120, 0.05), IDLE_NO, "one that works is not idle");
	tap_is_long(idle_stop_at(&r, &s), 0, "nor is there a time for its end");

	s = (struct idle_state){ 0 };
	for (int64_t t = 60; t <= 10 * 3600; t += 60) /* a burst of work in each hour */
		early += idle_step(&r, &s, t, t % 3600 == 0 ? 0.5 : 0) == IDLE_STOP;
	tap_is_long(early, 0, "work once an hour is no idling of an hour");
	s = (struct idle_state){ 0 };
	for (int64_t t = 60; t <= 10 * 3600; t += 60) /* a reading that fails in each hour */
		early += idle_step(&r, &s, t, t % 3600 == 0 ? (double)NAN : 0) == IDLE_STOP;
	tap_is_long(early, 0, "nor is an hour with a reading that failed");
	s = (struct idle_state){ 0 };
	for (int64_t t = 60; t <= 100 * 3600; t += 2400) /* ticks that come too seldom */
		early += idle_step(&r, &s, t, 0) != IDLE_NO;
	tap_is_long(early, 0, "nor are readings that lie further apart than half of it");
	s = (struct idle_state){ 0 };
	for (int64_t t = 1800; t <= 3 * 1800; t += 1800)
		early += idle_step(&r, &s, t, 0) != IDLE_NO;
	tap_is_long(early, 0, "nor are three of them");
}

static void
test_check(void)
{
	struct idle_rule r = { .below = 0.05, .alert_s = 60, .stop_s = 120 };
	struct idle_state s = { 0 };
	struct berth_err err = { 0 };

	tap_code(idle_check(&r, &err), BERTH_OK, &err);
	r.alert_s = 120;
	tap_code(idle_check(&r, &err), BERTH_EINVAL, &err);
	r.stop_s = 0;
	tap_code(idle_check(&r, &err), BERTH_OK, &err);
	r.below = 0;
	tap_code(idle_check(&r, &err), BERTH_EINVAL, &err);
	r = (struct idle_rule){ .below = 0.05 };
	for (int64_t t = 0; t < 100000; t += 60)
		if (idle_step(&r, &s, t, t % 120 == 0 ? 0 : (double)NAN) != IDLE_NO)
			break;
	tap_is_long(s.n, 0, "without a timer nothing is looked at");
}

int
main(void)
{
	test_definition();
	test_timers();
	test_check();
	return tap_done();
}
