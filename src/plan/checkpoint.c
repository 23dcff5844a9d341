/* src/plan/checkpoint.c - checkpoint intervals by the machine's age.  Floor: domain. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "plan/checkpoint.h"
#include "plan/cost.h"

#define CHECKPOINT_MOST_S 7200.0
#define CHECKPOINT_WRITES 60.0
#define CHECKPOINT_STEP_LEAST 15.0 /* s of the grid of ages and intervals: the optimum is flat */
#define CHECKPOINT_STEP_MOST 120.0
#define CHECKPOINT_GOLDEN 0.6180339887498949

struct checkpoint_table {
	double hazard[SPOT_AGES], write_s;
	double edge[SPOT_AGES]; /* s: each age begins here; the last goes on for ever */
	double step, most;      /* s */
	size_t n;               /* cells up to the last age */
	double *kept;           /* [n + 1] s of work from the age i * step on */
	double old_s;           /* interval from the last age on */
};

double
checkpoint_most_s(double write_s)
{
	return fmax(CHECKPOINT_MOST_S, CHECKPOINT_WRITES * write_s);
}

/* Hazard summed up to this age. */
static double
checkpoint_passed(const struct checkpoint_table *t, double age_s)
{
	double sum = 0;

	for (size_t b = 0; b < SPOT_AGES && age_s > t->edge[b]; b++) {
		double end = b + 1 < SPOT_AGES ? fmin(age_s, t->edge[b + 1]) : age_s;

		sum += t->hazard[b] / 3600 * (end - t->edge[b]);
	}
	return sum;
}

/* Work kept from this age on, by the line between two cells. */
static double
checkpoint_kept(const struct checkpoint_table *t, double age_s)
{
	double at = age_s / t->step, part;
	size_t i;

	if (!(at < (double)t->n))
		return t->kept[t->n];
	i = (size_t)at;
	part = at - (double)i;
	return t->kept[i] + part * (t->kept[i + 1] - t->kept[i]);
}

/* Work kept from this age on with this interval, and the best ones behind it. */
static double
checkpoint_with(const struct checkpoint_table *t, double age_s, double passed, double interval)
{
	double end = age_s + interval + t->write_s;

	return exp(passed - checkpoint_passed(t, end)) * (interval + checkpoint_kept(t, end));
}

/* The best interval on the grid. */
static double
checkpoint_search(const struct checkpoint_table *t, double age_s, double *kept_out)
{
	double passed = checkpoint_passed(t, age_s), best = t->step;

	*kept_out = 0;
	for (double s = t->step; s <= t->most; s += t->step) {
		double kept = checkpoint_with(t, age_s, passed, s);

		if (kept > *kept_out) {
			*kept_out = kept;
			best = s;
		}
	}
	return best;
}

const struct checkpoint_table *
checkpoint_table_new(struct arena *a, const double hazard[SPOT_AGES], double write_s)
{
	struct checkpoint_table *t = arena_array(a, 1, sizeof(*t));
	double last = hazard[SPOT_AGES - 1];
	int edge[SPOT_AGES - 1];

	*t = (struct checkpoint_table){ .write_s = write_s,
		.step = fmax(fmin(CHECKPOINT_STEP_MOST, fmax(CHECKPOINT_STEP_LEAST, write_s / 8)),
		    write_s / CHECKPOINT_WRITES),
		.most = checkpoint_most_s(write_s) };
	memcpy(t->hazard, hazard, sizeof(t->hazard));
	spot_edges(1, edge);
	for (size_t b = 1; b < SPOT_AGES; b++)
		t->edge[b] = edge[b - 1];
	t->n = (size_t)ceil(t->edge[SPOT_AGES - 1] / t->step);
	t->kept = arena_array(a, t->n + 1, sizeof(*t->kept));
	t->old_s = fmin(t->most, cost_checkpoint_s(write_s, last));
	t->kept[t->n] = t->old_s / expm1(last / 3600 * (t->old_s + write_s));
	for (size_t i = t->n; i-- > 0;)
		checkpoint_search(t, (double)i * t->step, &t->kept[i]);
	return t;
}

bool
checkpoint_table_is(
    const struct checkpoint_table *t, const double hazard[SPOT_AGES], double write_s)
{
	for (size_t b = 0; b < SPOT_AGES; b++)
		if (t->hazard[b] < hazard[b] || t->hazard[b] > hazard[b])
			return false;
	return !(t->write_s < write_s) && !(t->write_s > write_s);
}

double
checkpoint_next_s(const struct checkpoint_table *t, double age_s)
{
	double lo, hi, kept, passed;

	age_s = fmax(0, age_s); /* a clock that goes back */
	if (age_s >= t->edge[SPOT_AGES - 1])
		return t->old_s;
	lo = checkpoint_search(t, age_s, &kept);
	passed = checkpoint_passed(t, age_s);
	hi = fmin(t->most, lo + t->step);
	lo = fmax(1, lo - t->step);
	while (hi - lo > 0.5) { /* golden section between the cells beside the best */
		double x = hi - CHECKPOINT_GOLDEN * (hi - lo),
		       y = lo + CHECKPOINT_GOLDEN * (hi - lo);

		if (checkpoint_with(t, age_s, passed, x) < checkpoint_with(t, age_s, passed, y))
			lo = x;
		else
			hi = y;
	}
	return (lo + hi) / 2;
}
