/* forecast/shift.c - changes of level: found by contrasting medians, dated, confirmed.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

/* Median of x [n] without touching it. */
static double
shift_median(const double *x, size_t n, double *tmp)
{
	memcpy(tmp, x, n * sizeof(*x));
	return fc_median(tmp, n);
}

/* Typical spread inside a window: median absolute deviation as a normal's standard deviation. */
static double
shift_spread(const double *x, size_t n, double *tmp)
{
	double m = shift_median(x, n, tmp);

	for (size_t i = 0; i < n; i++)
		tmp[i] = fabs(x[i] - m);
	return 1.4826 * fc_median(tmp, n);
}

/*
 * A shift at t: the medians of the three days before and of what came after (one to three days) differ by more than six
 * times the spread inside both and by more than a quarter of the greater; a spike of hours moves no median.
 */
static bool
shift_at(const struct fc_job *j, size_t t, size_t before, size_t after, double *tmp, struct fc_shift *out)
{
	const double *y = j->y;
	double a = shift_median(y + t - before, before, tmp), b = shift_median(y + t, after, tmp);
	double spread = fmax(shift_spread(y + t - before, before, tmp), shift_spread(y + t, after, tmp));

	if (fabs(b - a) <= 6 * spread || fabs(b - a) <= 0.25 * fmax(a, b))
		return false;
	*out = (struct fc_shift){ (int64_t)t, a * j->unit, b * j->unit };
	return true;
}

/* Contrast of means around t, to date a shift to the step. */
static double
shift_contrast(const double *y, size_t t, size_t width)
{
	return fabs(fc_mean(y + t, width) - fc_mean(y + t - width, width));
}

size_t
fc_shifts(const struct fc_job *j, struct fc_shift *out, size_t max)
{
	size_t day = j->day > 1 ? j->day : 7, before = 3 * day, least = day, n = 0;
	double *tmp = arena_array(j->tmp, before, sizeof(*tmp));

	for (size_t t = before; t + least <= j->n && n < max; t += day / 4 > 0 ? day / 4 : 1) {
		size_t after = j->n - t < 3 * day ? j->n - t : 3 * day, best = t, w = day / 4 > 0 ? day / 4 : 1;

		if (j->miss[t] || !shift_at(j, t, before, after, tmp, &out[n]))
			continue;
		for (size_t s = t - day > w ? t - day : w; s + w <= j->n && s <= t + day; s++)
			if (shift_contrast(j->y, s, w) > shift_contrast(j->y, best, w))
				best = s;
		out[n].t = (int64_t)best;
		n++;
		t = best + before;
	}
	return n;
}
