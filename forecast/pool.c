/* forecast/pool.c - what the series of a run say together about errors.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * What berth knows before it has seen a fleet: round figures of public GPU traces (Alibaba
 * 2023-2026, Helios, Philly). They count as much as POOL_PRIOR series.
 */
enum { POOL_PRIOR = 3, POOL_PRIOR_WINDOWS = 3 };

static const double prior_growth[FC_BUCKETS] = { 1, 1.8, 1.3, 1.15, 1.1, 1.1 };
static const double prior_rel[FC_BUCKETS] = { .04, .08, .10, .12, .13, .14 };
static const double prior_shape[FC_BUCKETS][FC_LEVEL_COUNT] = {
	{ -5, -3.3, -2.3, -1.4, -.4, 0, .4, 1.5, 2.7, 4.2, 8 },
	{ -3.5, -2.7, -2, -1.4, -.5, 0, .6, 1.8, 2.8, 3.8, 6 },
	{ -3, -2.3, -1.9, -1.4, -.6, 0, .8, 1.9, 2.5, 3, 4 },
	{ -2.8, -2.2, -1.8, -1.3, -.6, 0, 1, 1.7, 2.2, 2.7, 3.5 },
	{ -2.8, -2.2, -1.8, -1.4, -.7, 0, .9, 1.7, 2.1, 2.7, 3.5 },
	{ -2.7, -2.2, -1.7, -1.3, -.6, 0, 1, 1.7, 2.1, 2.6, 3.2 },
};
/* Of the maximum over the first day, the first week and later weeks, in mean weekly peaks. */
static const double prior_peak[POOL_PRIOR_WINDOWS][FC_PEAK_LEVEL_COUNT] = {
	{ 0, .15, .25, .5 },
	{ .03, .3, .45, .65 },
	{ .04, .35, .5, .8 },
};

static const double prior_rough[2] = { .08, .12 };
static const double prior_move = .15;

/* A figure of m series and its prior. */
static double
pool_blend(double seen, size_t m, double prior)
{
	return m == 0 ? prior : (seen * (double)m + prior * POOL_PRIOR) / (double)(m + POOL_PRIOR);
}

static double
pool_median(double *x, size_t n, double fallback)
{
	return n == 0 ? fallback : fc_median(x, n);
}

static void
pool_rough(struct fc_pool *pool, const struct fc_job *jobs, size_t n)
{
	for (int w = 0; w < 2; w++) {
		double sum = 0;
		size_t m = 0;

		for (size_t i = 0; i < n; i++)
			if (jobs[i].n_rough[w] > 0 && !jobs[i].rare) {
				sum += jobs[i].rough[w] < 1 ? jobs[i].rough[w] : 1;
				m++;
			}
		pool->rough[w] = pool_blend(m > 0 ? sum / (double)m : 0, m, prior_rough[w]);
	}
}

static void
pool_move(struct fc_pool *pool, const struct fc_job *jobs, size_t n)
{
	double sum = 0;
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (jobs[i].n_move > 0 && !jobs[i].rare) {
			sum += jobs[i].move_rms;
			m++;
		}
	pool->move = pool_blend(m > 0 ? sum / (double)m : 0, m, prior_move);
}

/* Windows of the run: 0 is the first day where the horizon is longer than that, then come weeks. */
static void
pool_peaks(struct fc_pool *pool, const struct fc_job *jobs, size_t n, double *v)
{
	for (size_t w = 0; w < FC_PEAK_KINDS; w++)
		for (int s = 0; s < 2; s++) {
			size_t m = 0, p0 = w < POOL_PRIOR_WINDOWS ? w : POOL_PRIOR_WINDOWS - 1;

			for (size_t i = 0; i < n; i++)
				for (size_t k = 0; k < jobs[i].n_win; k++)
					if (jobs[i].win[k].kind == w && jobs[i].win[k].n_own > 0)
						for (size_t p = 0; p < FC_SCORE_POINTS; p++)
							v[m++] = jobs[i].win[k].point[s][p] /
								 fc_rough(&jobs[i], pool, w);
			fc_sort(v, m);
			for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
				pool->peak[w][s][l] =
				    pool_blend(fc_quantile_sorted(v, m, fc_peak_levels[l]),
					m / FC_SCORE_POINTS, prior_peak[p0][l]);
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
			if (jobs[i].scores.seen[b] && jobs[i].scores.scale[b] > 0 &&
			    jobs[i].level > 0)
				v[m++] = jobs[i].scores.scale[b] / jobs[i].level;
		pool->rel_scale[b] = pool_blend(pool_median(v, m, 0), m, prior_rel[b]);
		m = 0;
		for (size_t i = 0; b > 0 && i < n; i++)
			if (jobs[i].scores.seen[b] && jobs[i].scores.scale[b - 1] > 0)
				v[m++] = jobs[i].scores.scale[b] / jobs[i].scores.scale[b - 1];
		pool->growth[b] = pool_blend(pool_median(v, m, 0), m, prior_growth[b]);
		m = 0;
		for (size_t i = 0; i < n; i++)
			if (jobs[i].scores.seen[b] && jobs[i].scores.scale[b] > 0)
				for (size_t p = 0; p < FC_SCORE_POINTS; p++)
					v[m++] = jobs[i].scores.point[b][p];
		fc_sort(v, m);
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			pool->shape[b][l] = pool_blend(fc_quantile_sorted(v, m, fc_levels[l]),
			    m / FC_SCORE_POINTS, prior_shape[b][l]);
	}
	pool_rough(pool, jobs, n);
	pool_move(pool, jobs, n);
	pool_peaks(pool, jobs, n, v);
}
