/* forecast/stat.c - order statistics and means.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>

const double fc_levels[FC_LEVEL_COUNT] = { .01, .025, .05, .10, .25, .50, .75, .90, .95, .975, .99 };
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

static void
stat_insertion(double *x, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		double v = x[i];
		size_t k = i;

		for (; k > 0 && v < x[k - 1]; k--)
			x[k] = x[k - 1];
		x[k] = v;
	}
}

/* Parts x around the median of its ends and middle: [0, result) <= pivot <= [result, n); 0 < result < n. */
static size_t
stat_part(double *x, size_t n)
{
	double a = x[0], b = x[n / 2], c = x[n - 1];
	double pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
	size_t i = 0, k = n - 1;

	for (;;) {
		while (x[i] < pivot)
			i++;
		while (pivot < x[k])
			k--;
		if (i >= k)
			return i > 0 ? i : 1;
		a = x[i];
		x[i++] = x[k];
		x[k--] = a;
	}
}

/* Depth is bounded: a part that does not shrink well goes to the library's sort. */
static void
stat_sort(double *x, size_t n, int depth)
{
	while (n > 24) {
		size_t m;

		if (depth-- == 0) {
			qsort(x, n, sizeof(*x), fc_cmp_double);
			return;
		}
		m = stat_part(x, n);
		if (m < n - m) {
			stat_sort(x, m, depth);
			x += m;
			n -= m;
		} else {
			stat_sort(x + m, n - m, depth);
			n = m;
		}
	}
	stat_insertion(x, n);
}

void
fc_sort(double *x, size_t n)
{
	stat_sort(x, n, 48);
}

/* Puts the element of rank k where sorting would, lower ones before it, higher ones behind. */
static void
stat_select(double *x, size_t n, size_t k)
{
	for (int depth = 48; n > 24; depth--) {
		size_t m;

		if (depth == 0) {
			qsort(x, n, sizeof(*x), fc_cmp_double);
			return;
		}
		m = stat_part(x, n);
		if (k < m) {
			n = m;
		} else {
			x += m;
			n -= m;
			k -= m;
		}
	}
	stat_insertion(x, n);
}

double
fc_median(double *x, size_t n)
{
	double lower;

	if (n == 0)
		return NAN;
	stat_select(x, n, n / 2);
	if (n % 2 == 1)
		return x[n / 2];
	lower = x[0];
	for (size_t i = 1; i < n / 2; i++)
		lower = x[i] > lower ? x[i] : lower;
	return 0.5 * (lower + x[n / 2]);
}

double
fc_mean(const double *x, size_t n)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += x[i];
	return n == 0 ? NAN : s / (double)n;
}
