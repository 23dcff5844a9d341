/* src/plan/commit_level.c - sample paths that lie below all that was used.  Floor: domain. */
#include <math.h>

#include "plan/commit.h"

#define LEVEL_NOISE 0.1 /* log: so much lower paths may lie by chance */
#define LEVEL_HALF 0.5  /* of what lies beyond is made up for: the paths may know why */
enum { LEVEL_WEEKS = 4, LEVEL_STEPS = 64 };

/* Its k-th highest, k from 0: by halves of the range of doubles, so that nothing is sorted. */
static double
level_highest(const double *x, size_t n, size_t k)
{
	double low = 0, high = 0;

	for (size_t i = 0; i < n; i++)
		high = x[i] > high ? x[i] : high;
	for (int step = 0; step < LEVEL_STEPS && high > low; step++) {
		double mid = low + (high - low) / 2;
		size_t above = 0;

		for (size_t i = 0; i < n; i++)
			above += x[i] > mid;
		if (above > k)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/*
 * Mean of what is known of x [n], the highest fiftieth as high as the next, as a few hours tell
 * nothing of a level; NaN where more than half of it is missing.
 */
static double
level_mean(const double *x, size_t n)
{
	double sum = 0, most = level_highest(x, n, n / 50);
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(x[i])) {
			sum += fmin(x[i], most);
			known++;
		}
	return 2 * known >= n && known > 0 ? sum / (double)known : NAN;
}

double
commit_level(
    const double *history, size_t n, size_t week, double *gpus, size_t n_paths, size_t n_steps)
{
	double least, paths = 0, beyond, factor;

	if (week == 0 || n < week || n_steps < week || n_paths == 0)
		return 1;
	least = fmin(level_mean(history + n - week, week), level_mean(history, n));
	if (n > LEVEL_WEEKS * week)
		least =
		    fmin(least, level_mean(history + n - LEVEL_WEEKS * week, LEVEL_WEEKS * week));
	for (size_t i = 0; i < n_paths * n_steps; i++)
		paths += gpus[i] / (double)(n_paths * n_steps);
	if (isnan(level_mean(history + n - week, week)) || !(least > 0) || !(paths > 0))
		return 1;
	beyond = log(least / paths) - LEVEL_NOISE;
	if (!(beyond > 0))
		return 1;
	factor = exp(LEVEL_HALF * beyond);
	for (size_t i = 0; i < n_paths * n_steps; i++)
		gpus[i] *= factor;
	return factor;
}
