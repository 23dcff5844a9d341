/* forecast/pool.c - what the series of a run say together about errors.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double prior_growth[FC_BUCKETS] = { 1, 1.6, 1.5, 1.35, 1.2, 1.2 };

static double
pool_median(double *x, size_t n, double fallback)
{
	return n == 0 ? fallback : fc_median(x, n);
}

static void
pool_peaks(struct fc_pool *pool, const struct fc_job *jobs, size_t n, double *v)
{
	for (size_t w = 0; w < FC_WIN_MAX; w++)
		for (int s = 0; s < 2; s++) {
			size_t m = 0;

			for (size_t i = 0; i < n; i++)
				if (w < jobs[i].n_win && jobs[i].win[w].n_own > 0)
					for (size_t p = 0; p < FC_SCORE_POINTS; p++)
						v[m++] = jobs[i].win[w].point[s][p];
			fc_sort(v, m);
			for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
				pool->peak[w][s][l] = m > 0 ? fc_quantile_sorted(v, m, fc_peak_levels[l]) : 0;
		}
}

void
fc_pool_build(struct fc_pool *pool, const struct fc_job *jobs, size_t n, struct arena *a)
{
	double *v = arena_array(a, n * FC_SCORE_POINTS + 1, sizeof(*v));

	memset(pool, 0, sizeof(*pool));
	for (size_t b = 0; b < FC_BUCKETS; b++) {
		size_t m = 0;

		for (size_t i = 0; i < n; i++)
			if (jobs[i].scores.seen[b] && jobs[i].scores.scale[b] > 0 && jobs[i].level > 0)
				v[m++] = jobs[i].scores.scale[b] / jobs[i].level;
		pool->rel_scale[b] = pool_median(v, m, 0.05 * (double)(b + 1));
		m = 0;
		for (size_t i = 0; b > 0 && i < n; i++)
			if (jobs[i].scores.seen[b] && jobs[i].scores.scale[b - 1] > 0)
				v[m++] = jobs[i].scores.scale[b] / jobs[i].scores.scale[b - 1];
		pool->growth[b] = pool_median(v, m, prior_growth[b]);
		m = 0;
		for (size_t i = 0; i < n; i++)
			if (jobs[i].scores.seen[b] && jobs[i].scores.scale[b] > 0)
				for (size_t p = 0; p < FC_SCORE_POINTS; p++)
					v[m++] = jobs[i].scores.point[b][p];
		fc_sort(v, m);
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			pool->shape[b][l] = m > 0 ? fc_quantile_sorted(v, m, fc_levels[l]) :
			    b > 0 ? pool->shape[b - 1][l] : 0;
	}
	pool_peaks(pool, jobs, n, v);
}
