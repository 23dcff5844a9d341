/* forecast/band.c - pointwise quantiles from the errors at the rolling origins, own and pooled.
 * Floor: domain.
 *
 * Signed errors of a bucket of the horizon, divided by their mean size, are one shape; the fleet's
 * shapes together are the pool (conformal prediction with pooled scores). A series with few
 * independent origins leans on the pool.
 */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Errors of bucket b at all origins, unsorted; returns how many. */
static size_t
band_residuals(const struct fc_job *j, size_t b, double *out)
{
	size_t n = 0, from = b == 0 ? 0 : fc_bucket_end(b - 1, j->hc), to = fc_bucket_end(b, j->hc);

	for (size_t k = 0; k < j->n_org; k++)
		for (size_t i = from; i < to && j->org[k] + i < j->n; i++)
			if (!j->miss[j->org[k] + i])
				out[n++] = j->y[j->org[k] + i] - j->cv[k * j->hc + i];
	return n;
}

void
fc_band_scores(struct fc_job *j)
{
	double *r = arena_array(j->tmp, j->n_org * j->hc + 1, sizeof(*r));
	struct fc_scores *s = &j->scores;

	memset(s, 0, sizeof(*s));
	for (size_t b = 0; b < FC_BUCKETS; b++) {
		size_t n = band_residuals(j, b, r), from = b == 0 ? 0 : fc_bucket_end(b - 1, j->hc);
		double sum = 0;

		if (n < 12)
			continue;
		for (size_t i = 0; i < n; i++)
			sum += fabs(r[i]);
		s->scale[b] = sum / (double)n;
		s->n_eff[b] = (double)(j->n - j->fit_n) / (double)(from + 12);
		fc_sort(r, n);
		s->seen[b] = true;
		for (size_t p = 0; p < FC_SCORE_POINTS; p++)
			s->point[b][p] =
			    s->scale[b] > 0
				? fc_quantile_sorted(r, n, ((double)p + 0.5) / FC_SCORE_POINTS) /
				      s->scale[b]
				: 0;
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			s->own[b][l] = fc_quantile_sorted(r, n, fc_levels[l]);
	}
}

/* The history's own quantiles: errors of a series that is mostly empty have no shape to borrow. */
static void
band_rare(const struct fc_job *j, double *q)
{
	size_t n = j->n < 8 * j->cycle ? j->n : 8 * j->cycle;
	double *s = arena_array(j->tmp, n, sizeof(*s));

	memcpy(s, j->y + j->n - n, n * sizeof(*s));
	fc_sort(s, n);
	for (size_t i = 0; i < j->h; i++)
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			q[i * FC_LEVEL_COUNT + l] = fc_quantile_sorted(s, n, fc_levels[l]);
}

/* Quantiles [horizon][FC_LEVEL_COUNT] of the combination's errors, in units of the job, added to
 * the forecast. */
void
fc_band(const struct fc_job *j, const struct fc_pool *pool, double *q)
{
	const struct fc_scores *s = &j->scores;
	double add[FC_BUCKETS][FC_LEVEL_COUNT], scale = 0, top = FC_TOP * j->top;

	if (j->rare) {
		band_rare(j, q);
		return;
	}
	for (size_t b = 0; b < FC_BUCKETS; b++) {
		double w = s->seen[b] ? s->n_eff[b] / (s->n_eff[b] + fc_tuning.own_n) : 0;
		double least = fc_tuning.least_scale * pool->rel_scale[b] * j->level;

		scale = s->seen[b] ? s->scale[b]
			: b == 0   ? pool->rel_scale[0] * j->level
				   : scale * pool->growth[b];
		if (scale < least)
			scale = least;
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++) {
			double pooled = pool->shape[b][l] * scale;

			add[b][l] = (w * s->own[b][l] + (1 - w) * pooled) *
				    (fc_tuning.widen + fc_tuning.widen_bucket * (double)b) *
				    sqrt(1 + 1 / (1 + s->n_eff[b]));
		}
	}
	for (size_t i = 0; i < j->h; i++) {
		/* Behind what rolling origins see, bands go on widening, slower than a random
		 * walk's. */
		double grow = i < FC_CV_MAX ? 1 : pow((double)i / FC_CV_MAX, 0.4);

		for (size_t l = 0; l < FC_LEVEL_COUNT; l++) {
			double v = j->fin[i] + grow * add[fc_bucket(i)][l];

			v = v > 0 ? v < top * grow ? v : top * grow : 0;
			q[i * FC_LEVEL_COUNT + l] = l > 0 && v < q[i * FC_LEVEL_COUNT + l - 1]
							? q[i * FC_LEVEL_COUNT + l - 1]
							: v;
		}
	}
}
