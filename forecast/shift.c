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
	*out = (struct fc_shift){ (int64_t)t, a, b };
	return true;
}

/*
 * A series with a strong rhythm has a spread inside that hides even a tenfold change. There every hour is compared with the
 * same hour of the days before and of a week before: a shift is a factor that all of two days or more share, alike in both,
 * and it is none of the days of the week.
 */
static bool
shift_rhythmic(const struct fc_job *j, size_t t, size_t after, double *tmp, struct fc_shift *out)
{
	size_t day = j->day, week = j->cycle;
	const double *y = j->y;
	double a, b, day_ratio, week_ratio, spread;

	if (day < 2 || after < 2 * day || t < week + 3 * day)
		return false;
	a = shift_median(y + t - 3 * day, 3 * day, tmp);
	b = shift_median(y + t, after, tmp);
	if (!(a > 0) || !(b > 0) || fabs(b - a) <= 0.25 * fmax(a, b))
		return false;
	for (size_t i = 0; i < after; i++) {
		double before = (y[t - day + i % day] + y[t - 2 * day + i % day] + y[t - 3 * day + i % day]) / 3;

		tmp[i] = log(fmax(y[t + i], 0.01 * b) / fmax(before, 0.01 * a));
	}
	spread = shift_spread(tmp, after, tmp + 3 * day);
	day_ratio = shift_median(tmp, after, tmp + 3 * day);
	for (size_t i = 0; i < after; i++)
		tmp[i] = log(fmax(y[t + i], 0.01 * b) / fmax(y[t + i - week], 0.01 * a));
	spread = fmax(spread, shift_spread(tmp, after, tmp + 3 * day));
	week_ratio = shift_median(tmp, after, tmp + 3 * day);
	if (day_ratio * week_ratio <= 0 || fmin(fabs(day_ratio), fabs(week_ratio)) <= fmax(log(1.5), 3 * spread))
		return false;
	*out = (struct fc_shift){ (int64_t)t, a, b };
	return true;
}

/* Contrast of means around t, to date a shift to the step. */
static double
shift_contrast(const double *y, size_t t, size_t width)
{
	return fabs(fc_mean(y + t, width) - fc_mean(y + t - width, width));
}

static size_t
shift_find(const struct fc_job *j, struct fc_shift *out, size_t max)
{
	size_t day = j->day > 1 ? j->day : 7, before = 3 * day, least = day, n = 0;
	double *tmp = arena_array(j->tmp, 2 * before, sizeof(*tmp));

	for (size_t t = before; t + least <= j->n && n < max; t += day / 4 > 0 ? day / 4 : 1) {
		size_t after = j->n - t < 3 * day ? j->n - t : 3 * day, best = t, w = day / 4 > 0 ? day / 4 : 1;

		if (j->miss[t])
			continue;
		if (!shift_at(j, t, before, after, tmp, &out[n])) {
			if (!shift_rhythmic(j, t, after, tmp, &out[n]))
				continue;
			w = day;	/* the rhythm has contrasts of its own */
		}
		for (size_t s = t - day > w ? t - day : w; s + w <= j->n && s <= t + 2 * day; s++)
			if (shift_contrast(j->y, s, w) > shift_contrast(j->y, best, w))
				best = s;
		after = j->n - best < 3 * day ? j->n - best : 3 * day;
		w = best < before ? best : before;
		out[n++] = (struct fc_shift){ (int64_t)best, shift_median(j->y + best - w, w, tmp),
			shift_median(j->y + best, after, tmp) };
		t = best + before;
	}
	return n;
}

/* Has the series never been, before t, where it is since then (by half of the higher level, but for tails)? */
static bool
shift_unheard(const struct fc_job *j, size_t from, size_t t)
{
	size_t before = t - from, after = j->n - t;
	double *b = arena_array(j->tmp, before, sizeof(*b)), *a = arena_array(j->tmp, after, sizeof(*a));

	memcpy(b, j->y + from, before * sizeof(*b));
	memcpy(a, j->y + t, after * sizeof(*a));
	fc_sort(b, before);
	fc_sort(a, after);
	return 1.5 * fc_quantile_sorted(a, after, 0.95) < fc_quantile_sorted(b, before, 0.05) ||
	    fc_quantile_sorted(a, after, 0.05) > 1.5 * fc_quantile_sorted(b, before, 0.95);
}

/*
 * The peaks from before a shift to a level never seen before are history: a day after a rise, a week after a fall. A level that comes and goes, as
 * with jobs of days, is no such shift: its peaks come back.
 */
void
fc_shifts(struct fc_job *j)
{
	size_t least = j->day > 1 ? j->day : 7;

	j->shift = arena_array(j->a, FC_SHIFT_MAX, sizeof(*j->shift));
	j->n_shift = shift_find(j, j->shift, FC_SHIFT_MAX);
	for (size_t i = 0; i < j->n_shift; i++) {
		size_t t = (size_t)j->shift[i].t, wait = j->shift[i].after > j->shift[i].before ? least : j->cycle;

		if (t + wait <= j->n && t > j->since && shift_unheard(j, j->since, t))
			j->since = t;
	}
}
