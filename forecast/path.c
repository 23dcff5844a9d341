/* forecast/path.c - sample paths whose maxima have the forecast distribution of the peak.  Floor:
 * domain.
 *
 * A path is the forecast plus the errors that followed one past origin, in their order, so that a
 * path keeps the persistence and the jumps of real errors. Path k follows the same instant in every
 * series: what went wrong together goes wrong together again. The level walks on as it did from
 * week to week (walk.c). Then, window by window, the part of each path above its median is
 * stretched so that the maxima of all paths have the window's peak quantiles.
 */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/rng.h"

enum { PATH_SPAN = 1008 }; /* steps that the longest rolling origins reach back */
#define PATH_GOLDEN                                                                                \
	0.61803398874989485 /* steps of the golden ratio spread any number of paths evenly over    \
			       the origins */

/* Error at step i of the horizon after origin k; beyond the truth, the same hour of an earlier week
 * behind that origin. */
static double
path_error(const struct fc_job *j, size_t k, size_t i)
{
	size_t season = j->cycle, at = i, seen = j->n - j->org[k];
	double e;

	if (seen > j->hc)
		seen = j->hc;
	while (at >= seen && at >= season)
		at -= season;
	if (at >= seen)
		at = seen - 1;
	e = j->peak[j->org[k] + at] - j->cv[k * j->hc + at];
	return at == i ? e : e * sqrt(sqrt((double)(i + 1) / (double)(at + 1)));
}

/* Without origins: one draw from the pool's error shape a day, half of it kept from the day before.
 */
static void
path_pooled(const struct fc_job *j, const struct fc_pool *pool, struct rng *r, double *out)
{
	size_t day = j->daily || j->day == 0 ? 1 : j->day;
	double u = rng_unit(r);

	for (size_t i = 0; i < j->h; i++) {
		size_t b = fc_bucket(i), l = 0;
		double share, scale = 1;

		if (i > 0 && i % day == 0 && rng_unit(r) < 0.2)
			u = rng_unit(r);
		while (l + 2 < FC_LEVEL_COUNT && fc_levels[l + 1] < u)
			l++;
		for (size_t k = 1; k <= b; k++)
			scale *= pool->growth[k];
		share = (u - fc_levels[l]) / (fc_levels[l + 1] - fc_levels[l]);
		share = share < 0 ? 0 : share > 1 ? 1 : share;
		out[i] = (pool->shape[b][l] + share * (pool->shape[b][l + 1] - pool->shape[b][l])) *
			 pool->rel_scale[0] * scale * j->level;
	}
}

/* The origin that lies u of the way back over the longest span; a shorter one is gone over again.
 */
static size_t
path_origin(const struct fc_job *j, double u)
{
	size_t step = j->n_org > 1 ? j->org[1] - j->org[0] : 1,
	       back = (size_t)(u * PATH_SPAN / (double)step);

	return j->n_org - 1 - back % j->n_org;
}

/* The level of x walks: straight in logarithms from the end of one week to the next. side: -1
 * mirrors the walk. */
static void
path_walk(const struct fc_job *j, const double *walk, double side, double *x)
{
	double at = 0;

	for (size_t w = 0, i = 0; i < j->h; at = walk[w++]) {
		double level = exp(side * at), step = exp(side * (walk[w] - at) / (double)j->cycle);

		for (size_t s = 0; s < j->cycle && i < j->h; s++)
			x[i++] *= level *= step;
	}
}

static void
path_draw(const struct fc_job *j, const struct fc_pool *pool, double u, struct rng *r, double *out)
{
	size_t k = j->n_org > 0 ? path_origin(j, u) : 0;

	if (j->n_org < 8)
		path_pooled(j, pool, r, out);
	else
		for (size_t i = 0; i < j->h; i++)
			out[i] = path_error(j, k, i);
	for (size_t i = 0; i < j->h; i++) {
		out[i] += j->fin[i];
		out[i] = out[i] > 0 ? out[i] : 0;
	}
}

struct path_max {
	double max;
	size_t path;
};

static int
path_cmp(const void *a, const void *b)
{
	const struct path_max *x = a, *y = b;

	return x->max < y->max   ? -1
	       : x->max > y->max ? 1
				 : (x->path > y->path) - (x->path < y->path);
}

/* Target of the maximum at probability u: through the peak quantiles, below the median in
 * proportion to the raw maxima. */
static double
path_target(const double *q, double u, double raw, double raw_median)
{
	size_t l = 1;

	if (u <= fc_peak_levels[0])
		return raw_median > 0 && raw < raw_median ? q[0] * raw / raw_median : q[0];
	while (l + 1 < FC_PEAK_LEVEL_COUNT && fc_peak_levels[l] < u)
		l++;
	return q[l - 1] + (q[l] - q[l - 1]) * (u - fc_peak_levels[l - 1]) /
			      (fc_peak_levels[l] - fc_peak_levels[l - 1]);
}

/* Brings the maximum of x [n] to target. mode: which step to raise when x is all zero. */
static void
path_stretch(double *x, size_t n, double target, size_t mode, double *sorted)
{
	double max = x[0], c;

	memcpy(sorted, x, n * sizeof(*x));
	c = fc_median(sorted, n);
	for (size_t i = 1; i < n; i++)
		max = x[i] > max ? x[i] : max;
	if (!(max > 0)) {
		x[mode] = target;
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (target <= c || !(max > c * (1 + 1e-9)))
			x[i] = x[i] < max ? x[i] * (target / max) : target;
		else if (x[i] > c)
			x[i] = x[i] < max ? c + (x[i] - c) * ((target - c) / (max - c)) : target;
}

/* fixed: steps in front of the window that an earlier window has set already. */
static void
path_calibrate(const struct fc_job *j, const struct fc_win *w, size_t fixed, const double *q,
    size_t n, double *out)
{
	struct path_max *m = arena_array(j->tmp, n, sizeof(*m));
	double *sorted = arena_array(j->tmp, w->count, sizeof(*sorted)), median;
	size_t mode = fixed;

	for (size_t i = fixed; i < w->count; i++)
		if (j->fin[w->first + i] > j->fin[w->first + mode])
			mode = i;
	for (size_t s = 0; s < n; s++) {
		const double *x = out + s * j->h + w->first;

		m[s] = (struct path_max){ x[0], s };
		for (size_t i = 1; i < w->count; i++)
			m[s].max = x[i] > m[s].max ? x[i] : m[s].max;
	}
	qsort(m, n, sizeof(*m), path_cmp);
	median = 0.5 * (m[(n - 1) / 2].max + m[n / 2].max);
	for (size_t r = 0; r < n; r++) {
		double *x = out + m[r].path * j->h + w->first, kept = 0, u, target;

		u = ((double)r + 2.0 / 3.0) /
		    ((double)n + 1.0 / 3.0); /* plotting positions of type 8 */
		target = path_target(q, u, m[r].max, median);
		for (size_t i = 0; i < fixed; i++)
			kept = x[i] > kept ? x[i] : kept;
		path_stretch(x + fixed, w->count - fixed, target > kept ? target : kept,
		    mode - fixed, sorted);
	}
}

void
fc_paths(const struct fc_job *j, const struct fc_pool *pool, const double *targets, size_t n,
    double *out)
{
	struct rng shared, r, walk_shared, walk_own;
	double *walk = arena_array(j->tmp, fc_walk_weeks(j), sizeof(*walk)), u;

	rng_seed_stream(&shared, j->opt->seed, 0);
	rng_seed_stream(&r, j->opt->seed, hash_str(j->in->name));
	rng_seed_stream(&walk_shared, j->opt->seed, hash_str("walk"));
	rng_seed_stream(&walk_own, j->opt->seed, hash_str("walk") ^ hash_str(j->in->name));
	u = rng_unit(&shared);
	for (size_t s = 0; s < n; s++) {
		path_draw(j, pool, u, &r, out + s * j->h);
		u = fmod(u + PATH_GOLDEN, 1);
		if (s % 2 == 0)
			fc_walk(j, pool, &walk_shared, &walk_own, walk);
		path_walk(j, walk, s % 2 == 0 ? 1 : -1,
		    out + s * j->h); /* in pairs: chance gives the level no drift */
	}
	for (size_t w = 0; w < j->n_win; w++) {
		bool inner = w == 1 && j->win[0].first == j->win[1].first;

		path_calibrate(j, &j->win[w], inner ? j->win[0].count : 0,
		    targets + w * FC_PEAK_LEVEL_COUNT, n, out);
	}
}
