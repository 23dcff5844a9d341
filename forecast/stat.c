/* forecast/stat.c - order statistics and means.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

const double fc_levels[FC_LEVEL_COUNT] = { .01, .025, .05, .10, .25, .50, .75, .90, .95, .975,
	.99 };
const double fc_peak_levels[FC_PEAK_LEVEL_COUNT] = { .50, .90, .95, .99 };

static const size_t bucket_ends[FC_BUCKETS] = { 6, 24, 72, 168, 336, SIZE_MAX };

size_t
fc_bucket(size_t step)
{
	size_t b = 0;

	while (step >= bucket_ends[b])
		b++;
	return b;
}

size_t
fc_group(size_t bucket)
{
	return bucket < 2 ? 0 : bucket == 2 ? 1 : 2;
}

size_t
fc_bucket_end(size_t bucket, size_t h)
{
	return bucket_ends[bucket] < h ? bucket_ends[bucket] : h;
}

size_t
fc_seen(const struct fc_job *j, size_t k)
{
	return j->n - j->org[k] < j->hc ? j->n - j->org[k] : j->hc;
}

int
fc_cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
fc_quantile_sorted(const double *x, size_t n, double p)
{
	double pos = ((double)n + 1.0 / 3.0) * p + 1.0 / 3.0, lo = floor(pos);
	size_t i;

	if (n == 0)
		return NAN;
	if (pos <= 1.0)
		return x[0];
	if (pos >= (double)n)
		return x[n - 1];
	i = (size_t)lo;
	return x[i - 1] + (pos - lo) * (x[i] - x[i - 1]);
}

void
fc_sort(double *x, size_t n)
{
	gsl_sort(x, 1, n);
}

double
fc_median(double *x, size_t n)
{
	return n == 0 ? NAN : gsl_stats_median(x, 1, n);
}

double
fc_mean(const double *x, size_t n)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += x[i];
	return n == 0 ? NAN : s / (double)n;
}

double
fc_level_quantile(const double *q, double u)
{
	size_t l = 0;

	if (u <= fc_levels[0])
		return q[0];
	if (u >= fc_levels[FC_LEVEL_COUNT - 1])
		return q[FC_LEVEL_COUNT - 1];
	while (l + 2 < FC_LEVEL_COUNT && fc_levels[l + 1] < u)
		l++;
	return q[l] + (q[l + 1] - q[l]) * (u - fc_levels[l]) / (fc_levels[l + 1] - fc_levels[l]);
}

static int
stat_cmp_rank(const void *a, const void *b)
{
	const struct fc_rank *x = a, *y = b;

	return x->x < y->x ? -1 : x->x > y->x ? 1 : (x->k > y->k) - (x->k < y->k);
}

void
fc_rank(struct fc_rank *v, size_t n)
{
	qsort(v, n, sizeof(*v), stat_cmp_rank);
}
