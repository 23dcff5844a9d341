/* Paths that lie below all that was used are raised: against means and logarithms worked out by hand and by other sums. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/commit.h"
#include "tests/tap.h"
#include "util/rng.h"

#define WEEK 168
#define PAST (10 * WEEK)
#define AHEAD (2 * WEEK)
#define PATHS 3

static double past[PAST], paths[PATHS * AHEAD];

/* The last week, the three before it and all earlier hours stand at these levels; all paths at one. */
static void
world(double week, double month, double before, double ahead)
{
	for (int i = 0; i < PAST; i++)
		past[i] = i >= PAST - WEEK ? week : i >= PAST - 4 * WEEK ? month : before;
	for (int i = 0; i < PATHS * AHEAD; i++)
		paths[i] = ahead;
}

static double
level(size_t n)
{
	return commit_level(past, n, WEEK, paths, PATHS, AHEAD);
}

static void
test_levels(void)
{
	/* Least: the week's 20. exp(-0.1) * 20 = 18.097: at 18.2 nothing, at 5 half of the way to it: sqrt(5 * 18.09675). */
	world(20, 40, 60, 18.2);
	tap_ok(level(PAST) == 1 && paths[7] == 18.2, "within a tenth of the lowest nothing is changed");
	world(20, 40, 60, 5);
	tap_near(level(PAST) * 5, 9.5122942, 1e-6, "half of what lies beyond a tenth, in logarithms");
	tap_near(paths[PATHS * AHEAD - 1], 9.5122942, 1e-6, "on every hour of every path");
	world(60, 20, 60, 5); /* four weeks: (60 + 3 * 20) / 4 = 30; all: (60 * 7 + 3 * 20) / 10 = 48 */
	tap_near(level(PAST) * 5, sqrt(5 * 30 * exp(-0.1)), 1e-9, "the last four weeks are the lowest");
	world(60, 60, 10, 5); /* all: (4 * 60 + 6 * 10) / 10 = 30 */
	tap_near(level(PAST) * 5, sqrt(5 * 30 * exp(-0.1)), 1e-9, "all of the history is the lowest");
	world(20, 40, 60, 100);
	tap_ok(level(PAST) == 1, "paths above it stay");
	world(20, 20, 20, 19);
	past[PAST - 1] = 1e9;
	past[PAST - 60] = 4000;
	past[100] = 1e6;
	tap_ok(level(PAST) == 1, "a few hours of anything are no level");
}

static void
test_unknown(void)
{
	world(20, 40, 60, 5);
	for (int i = 0; i < WEEK / 2; i++)
		past[PAST - 1 - i] = NAN;
	tap_near(level(PAST) * 5, 9.5122942, 1e-6, "half of the week's hours are known, and tell it");
	world(20, 40, 60, 5);
	for (int i = 0; i <= WEEK / 2; i++)
		past[PAST - 1 - i] = NAN;
	tap_ok(level(PAST) == 1, "fewer do not");
	world(0, 40, 60, 5);
	tap_ok(level(PAST) == 1, "a week of nothing lets the paths be as low as they are");
	world(20, 40, 60, 0);
	tap_ok(level(PAST) == 1 && paths[0] == 0, "paths of nothing have no level to raise");
	world(20, 20, 20, 5);
	tap_ok(level(WEEK - 1) == 1, "less than a week of history says nothing");
	tap_ok(commit_level(past, PAST, WEEK, paths, PATHS, WEEK - 1) == 1, "nor do paths of less than one, which may be its quiet days");
	tap_near(level(WEEK) * 5, 9.5122942, 1e-6, "a week is enough");
}

static int
cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The factor keeps the shape, and does not depend on the unit. */
static void
test_shape(void)
{
	static double was[PATHS * AHEAD], sorted[PAST];
	struct rng r;
	double factor, sum = 0, least = INFINITY, mean;

	rng_seed_stream(&r, 4, 2);
	for (int i = 0; i < PAST; i++)
		past[i] = 50 + 20 * rng_unit(&r);
	for (int i = 0; i < PATHS * AHEAD; i++)
		sum += was[i] = paths[i] = 30 * rng_unit(&r);
	for (int weeks = 1; weeks <= 10; weeks += weeks == 1 ? 3 : 6) {
		int n = weeks * WEEK, most = n - 1 - n / 50;

		mean = 0;
		memcpy(sorted, past + PAST - n, (size_t)n * sizeof(*sorted));
		qsort(sorted, (size_t)n, sizeof(*sorted), cmp_double);
		for (int i = 0; i < n; i++)
			mean += sorted[i < most ? i : most] / n;
		least = fmin(least, mean);
	}
	factor = level(PAST);
	tap_near(2 * log(factor) + 0.1, log(least) - log(sum / (PATHS * AHEAD)), 1e-9, "the factor from the logarithms of the means");
	tap_near(paths[100] / was[100], paths[901] / was[901], 1e-12, "the same everywhere");
	for (int i = 0; i < PAST; i++)
		past[i] *= 1e6;
	for (int i = 0; i < PATHS * AHEAD; i++)
		paths[i] = was[i] * 1e6;
	tap_near(level(PAST), factor, 1e-9, "in any unit");
}

int
main(void)
{
	test_levels();
	test_unknown();
	test_shape();
	return tap_done();
}
