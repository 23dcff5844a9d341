#include <math.h>
#include <string.h>

#include "plan/spot_impl.h"

#define SPOT_ENDS 2.0 /* that the prior is worth, of an age and of all ages together */
#define SPOT_LEAVE_MAX 0.9
#define SPOT_SCALE_UP 8.0 /* a published rate scales the prior up by so much at most ... */
/* ... and down by its power of this, to at least that: a pool that is announced as calm and is not
 * costs 5 % more than Uniform Progress at an eighth, 0.6 % at a quarter. */
#define SPOT_SCALE_POWER 0.15
#define SPOT_SCALE_DOWN 0.25
#define SPOT_PRIOR_MEAN spot_prior_mean[1]

static const double spot_prior_mean[2] = { 0.324,
	0.379 }; /* 4,039 ends in 12,450 h down, 10,668 h up */
static const double spot_age_h[SPOT_AGES - 1] = { 0.25, 1, 4, 12 };
/* Ends an hour by age, down and up. */
static const double spot_prior[2][SPOT_AGES] = {
	{ 1.65, 1.08, 0.39, 0.20, 0.058 },
	{ 1.37, 0.96, 0.33, 0.14, 0.059 },
};

void
spot_edges(int tick_s, int edge[SPOT_AGES - 1])
{
	for (size_t b = 0; b < SPOT_AGES - 1; b++)
		edge[b] = ((int)(3600 * spot_age_h[b]) + tick_s - 1) / tick_s;
}

size_t
spot_bucket(int age, const int edge[SPOT_AGES - 1])
{
	size_t b = 0;

	while (b < SPOT_AGES - 1 && age >= edge[b])
		b++;
	return b;
}

void
spot_evidence_add(struct spot_evidence *e, bool up, double hours, bool ended)
{
	double from = 0;

	for (size_t b = 0; b < SPOT_AGES && hours > from; b++) {
		double to = b < SPOT_AGES - 1 ? spot_age_h[b] : INFINITY;

		e->hours[up][b] += fmin(hours, to) - from;
		if (ended && hours <= to)
			e->ends[up][b] += 1;
		from = to;
	}
}

size_t
spot_age_of(double hours)
{
	size_t b = 0;

	while (b < SPOT_AGES - 1 && hours >= spot_age_h[b])
		b++;
	return b;
}

/* Times the prior of up that a published rate makes it. */
static double
spot_rate_scale(double rate)
{
	double times = rate / SPOT_PRIOR_MEAN;

	if (!isfinite(rate) || !(rate > 0))
		return 1;
	return times >= 1 ? fmin(SPOT_SCALE_UP, times)
			  : fmax(SPOT_SCALE_DOWN, pow(times, SPOT_SCALE_POWER));
}

double
spot_evidence_hazard(
    const struct spot_evidence *e, bool up, size_t age, double rate, size_t zones, double z)
{
	static const struct spot_evidence nothing;
	double scale = 1, ends = 0, hours = 0, expected = 0, alike, part, h;

	if (e == NULL)
		e = &nothing;
	if (up)
		scale = spot_rate_scale(rate);
	if (!up && zones > 1)
		scale = (double)zones;
	for (size_t b = 0; b < SPOT_AGES; b++) {
		ends += e->ends[up][b];
		hours += e->hours[up][b];
		expected += scale * spot_prior[up][b] * e->hours[up][b];
	}
	/* What this pool does at all ages: by the prior's fall with age, and alike at each; both
	 * have their say once ends are seen. */
	alike = (ends + SPOT_ENDS) / (hours + SPOT_ENDS / (scale * spot_prior_mean[up]));
	scale *= (ends + SPOT_ENDS) / (expected + SPOT_ENDS);
	part = 0.5 * ends / (ends + SPOT_ENDS);
	/* An up age beyond all that were seen: times are better than they were, and that it was
	 * reached is good news already. */
	if (up && ends > 0 && !(e->hours[up][age] > 0))
		part = z = 0;
	h = pow(scale * spot_prior[up][age], 1 - part) * pow(alike, part);
	ends = e->ends[up][age];
	h = (ends + SPOT_ENDS) / (e->hours[up][age] + SPOT_ENDS / h);
	z /= sqrt(ends + 1 + SPOT_ENDS);
	return up ? h * (1 + z) : h * fmax(0.2, 1 - z);
}

double
spot_evidence_mean(const struct spot_evidence *e, double from_h, double to_h, double rate)
{
	double at = from_h, sum = 0;

	for (size_t b = spot_age_of(from_h); b < SPOT_AGES && at < to_h; b++) {
		double end = b < SPOT_AGES - 1 ? fmin(to_h, spot_age_h[b]) : to_h;

		sum += (end - at) * spot_evidence_hazard(e, true, b, rate, 1, 0);
		at = end;
	}
	return to_h > from_h ? sum / (to_h - from_h)
			     : spot_evidence_hazard(e, true, spot_age_of(from_h), rate, 1, 0);
}

/* Hours that a state of this age goes on within the next `within`, by the chances of each age;
 * *stays_out: that it lasts so long. */
static double
spot_goes_on(const struct spot_evidence *e, bool up, double from_h, double within, double rate,
    size_t zones, double *stays_out)
{
	double at = from_h, end = from_h + within, sum = 0, stays = 1;

	for (size_t b = spot_age_of(from_h); b < SPOT_AGES && at < end; b++) {
		double to = b < SPOT_AGES - 1 ? fmin(end, spot_age_h[b]) : end,
		       h = spot_evidence_hazard(e, up, b, rate, zones, 0);
		double left = exp(-h * (to - at));

		sum += stays * (1 - left) / h;
		stays *= left;
		at = to;
	}
	*stays_out = stays;
	return sum;
}

void
spot_look_ahead(const struct spot_evidence *e, bool up, double age_h, double rate, size_t zones,
    struct spot_outlook *out)
{
	double stays;

	*out = (struct spot_outlook){ .up = up, .age_h = fmax(0, age_h) };
	for (size_t b = 0; e != NULL && b < SPOT_AGES; b++)
		out->events += (int64_t)e->ends[up][b];
	out->leave = spot_evidence_hazard(e, up, spot_age_of(out->age_h), rate, zones, 0);
	out->more_h = spot_goes_on(e, up, out->age_h, INFINITY, rate, zones, &stays);
	(void)spot_goes_on(e, false, up ? 0 : out->age_h, 1, rate, zones, &stays);
	out->back_1h = 1 - stays;
}

void
spot_chances(const struct spot_evidence *e, bool up, int tick_s, double rate, size_t zones,
    double z, struct spot_hazard *out)
{
	double tick_h = tick_s / 3600.0;

	memset(out, 0, sizeof(*out));
	spot_edges(tick_s, out->edge);
	for (size_t b = 0; b < SPOT_AGES; b++) {
		out->leave[b] =
		    fmin(SPOT_LEAVE_MAX, tick_h * spot_evidence_hazard(e, up, b, rate, zones, z));
		out->older[b] =
		    b == SPOT_AGES - 1
			? 0
			: 1.0 / (b == 0 ? out->edge[0] : fmax(1, out->edge[b] - out->edge[b - 1]));
		out->events[b] = e == NULL ? 0 : (int64_t)e->ends[up][b];
	}
}

void
spot_learn(const struct spot_zone *zone, size_t from, size_t to, int state, int tick_s, double z,
    struct spot_hazard *out)
{
	struct spot_evidence e = { .hours = { { 0 } } };
	int edge[SPOT_AGES - 1];

	spot_edges(tick_s, edge);
	for (size_t t = from; t + 1 < to; t++) {
		size_t b = spot_bucket(zone->age[t], edge);

		if (zone->up[t] != state)
			continue;
		e.hours[state][b] += tick_s / 3600.0;
		e.ends[state][b] += zone->up[t + 1] != state;
	}
	spot_chances(&e, state == 1, tick_s, NAN, 1, z, out);
}

#define SPOT_HOPS                                                                                  \
	2.0 /* losses after which no zone was up, that are thought to have been seen ... */
#define SPOT_HOPS_MORE 1.001 /* ... and one more in a thousand: that is never sure */

void
spot_learn_pool(const struct spot_world *w, size_t from, size_t to, int tick_s, double z,
    struct spot_hazard *up_out, struct spot_hazard *down_out)
{
	struct spot_evidence e = { .hours = { { 0 } } };
	double hop[SPOT_AGES] = { 0 }, lost = 0;
	size_t in = w->n_zones;
	int edge[SPOT_AGES - 1];

	spot_edges(tick_s, edge);
	for (size_t t = from; t + 1 < to; t++) {
		size_t b;

		if (in == w->n_zones)
			in = spot_longest_zone(w, t);
		if (in == w->n_zones)
			continue;
		b = spot_bucket(w->zones[in].age[t], edge);
		e.hours[1][b] += tick_s / 3600.0;
		if (w->zones[in].up[t + 1])
			continue;
		e.ends[1][b] += 1;
		lost++;
		in = spot_longest_zone(w, t + 1);
		if (in != w->n_zones)
			hop[spot_bucket(w->zones[in].age[t + 1], edge)]++;
	}
	spot_chances(&e, true, tick_s, NAN, 1, z, up_out);
	for (size_t b = 0; b < SPOT_AGES; b++)
		up_out->hop[b] = hop[b] / (SPOT_HOPS_MORE * lost + SPOT_HOPS);
	spot_learn(spot_any_zone(w), from, to, 0, tick_s, z, down_out);
}

void
spot_remaining(const struct spot_hazard *up, double out[SPOT_AGES])
{
	out[SPOT_AGES - 1] = 1 / up->leave[SPOT_AGES - 1];
	for (size_t b = SPOT_AGES - 1; b > 0; b--) {
		double on = (1 - up->leave[b - 1]) * up->older[b - 1];

		out[b - 1] = (1 + on * out[b]) / fmax(up->leave[b - 1] + on, 1e-9);
	}
}
