/* forecast/shift.c - changes of level: found by contrasting medians, dated, confirmed.  Floor:
 * domain. */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

#define SHIFT_LEAST 0.25 /* of the greater level */

/* The last shift found: what was before step t times factor is what it would be since. */
struct shift_known {
	size_t t;
	double factor;
};

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
 * How far the median of x [n] may err: with the autocorrelation at lag 1 a window of n steps tells
 * no more than n (1 - r) / (1 + r) independent ones do.
 */
static double
shift_doubt(const double *x, size_t n, double spread, double *tmp)
{
	double m = shift_median(x, n, tmp), c = 0, v = 0, r;

	for (size_t i = 0; i < n; i++) {
		double d = fmin(fabs(x[i] - m), 4 * spread),
		       e = i > 0 ? fmin(fabs(x[i - 1] - m), 4 * spread) : 0;

		v += d * d;
		c += (x[i] > m) == (i > 0 && x[i - 1] > m) ? d * e : -d * e;
	}
	r = v > 0 && c > 0 ? fmin(c / v, .98) : 0;
	return 1.2533 * spread / sqrt(fmax((double)n * (1 - r) / (1 + r), 1));
}

/* What a contrast of the medians of two windows has to pass to be none of chance: in the unit of x
 * and y. */
static double
shift_chance(const double *x, size_t n, const double *y, size_t m, double *tmp)
{
	double sx = shift_spread(x, n, tmp), sy = shift_spread(y, m, tmp);

	return fmin(
	    6 * fmax(sx, sy), 7 * hypot(shift_doubt(x, n, sx, tmp), shift_doubt(y, m, sy, tmp)));
}

/* The same for the median of log ratios x [n], which have both sides in them. */
static double
shift_chance_ratio(const double *x, size_t n, double *tmp)
{
	double s = shift_spread(x, n, tmp);

	return fmin(3 * s, 7 * shift_doubt(x, n, s, tmp));
}

/*
 * A shift at t: the medians of the three days before and of what came after (one to three days)
 * differ by more than chance makes them and by more than a quarter of the greater; a spike of hours
 * moves no median.
 */
static bool
shift_at(const struct fc_job *j, size_t t, size_t before, size_t after, double *tmp,
    struct fc_shift *out)
{
	size_t day = before / 3;
	const double *y = j->y;
	double a = shift_median(y + t - before, before, tmp), b = shift_median(y + t, after, tmp);

	if (fabs(b - a) <= SHIFT_LEAST * fmax(a, b) ||
	    fabs(b - a) <= shift_chance(y + t - before, before, y + t, after, tmp))
		return false;
	*out = (struct fc_shift){ (int64_t)t, a, b };
	if (after % day == 0)
		return true;
	b = shift_median(y + t, after - after % day,
	    tmp); /* a part of a day, at the end, may be its busy or its idle hours */
	return fabs(b - a) > SHIFT_LEAST * fmax(a, b);
}

/* Log ratios of the n steps from t to those `back` steps before (times factor before step known),
 * into out; their median. */
static double
shift_ratio(const struct fc_job *j, const struct shift_known *k, size_t t, size_t n, size_t back,
    double *out, double *tmp)
{
	double least = 0.01 * j->level + 1e-12;

	for (size_t i = 0; i < n; i++) {
		size_t u = t + i - back;

		out[i] = log(
		    fmax(j->y[t + i], least) / fmax(j->y[u] * (u < k->t ? k->factor : 1), least));
	}
	return shift_median(out, n, tmp);
}

/*
 * A series with a strong rhythm has a spread inside that hides even a tenfold change. There two
 * days or more are compared hour by hour with the same hours a week before, and with those of the
 * three days before t; or, where those three were as usual (a change on a Saturday hides behind the
 * weekend), with the same hours two weeks before. A shift is a factor that both comparisons show.
 */
static bool
shift_rhythmic(const struct fc_job *j, const struct shift_known *k, size_t t, size_t after,
    double *tmp, double *ratio)
{
	size_t day = j->day, week = j->cycle;
	double *x = tmp, *z = tmp + 3 * day, *s = tmp + 6 * day, first, other,
	       least = -log(1 - SHIFT_LEAST), chance;

	if (day < 2 || after < 2 * day || t < week + 3 * day)
		return false;
	first = shift_ratio(j, k, t, after, week, x, s);
	if (fabs(first) <= least)
		return false;
	chance = shift_chance_ratio(x, after, s);
	other = shift_ratio(j, k, t, after, 3 * day, z, s);
	*ratio = first;
	if (first * other > 0 && fmin(fabs(first), fabs(other)) >
				     fmax(least, fmax(chance, shift_chance_ratio(z, after, s))))
		return true;
	if (t < 2 * week + 3 * day)
		return false;
	other = shift_ratio(j, k, t, after, 2 * week, z, s);
	chance = fmax(chance, shift_chance_ratio(z, after, s));
	return first * other > 0 && fmin(fabs(first), fabs(other)) > fmax(least, chance) &&
	       fabs(shift_ratio(j, k, t - 3 * day, 3 * day, week, z, s)) < 0.5 * fabs(first);
}

/* Contrast of means around t, to date a shift to the step; of log ratios to a week before under a
 * rhythm. */
static double
shift_contrast(const struct fc_job *j, const struct shift_known *k, bool rhythmic, size_t t,
    size_t width, double *tmp)
{
	const double *x = j->y + t - width;

	if (rhythmic) {
		(void)shift_ratio(j, k, t - width, 2 * width, j->cycle, tmp, tmp + 2 * width);
		x = tmp;
	}
	return fabs(fc_mean(x + width, width) - fc_mean(x, width));
}

/* The step around t where the contrast is greatest. */
static size_t
shift_date(const struct fc_job *j, const struct shift_known *k, bool rhythmic, size_t t, size_t day,
    double *tmp)
{
	size_t w = rhythmic || day / 4 == 0 ? day : day / 4, best = t,
	       first = rhythmic ? w + j->cycle : w;
	double most = -1;

	for (size_t s = t - day > first ? t - day : first; s + w <= j->n && s <= t + 2 * day; s++) {
		double c = shift_contrast(j, k, rhythmic, s, w, tmp);

		if (c > most) {
			most = c;
			best = s;
		}
	}
	return best;
}

static size_t
shift_find(const struct fc_job *j, struct fc_shift *out, size_t max)
{
	size_t day = j->day > 1 ? j->day : 7, before = 3 * day, least = day, n = 0;
	double *tmp = arena_array(j->tmp, 3 * before, sizeof(*tmp)), ratio;
	struct shift_known known = { 0, 1 };

	for (size_t t = before; t + least <= j->n && n<max; t += day / 4> 0 ? day / 4 : 1) {
		size_t after = j->n - t < before ? j->n - t : before, best, w;
		bool rhythmic = false;

		if (j->miss[t])
			continue;
		if (!shift_at(j, t, before, after, tmp, &out[n])) {
			rhythmic = shift_rhythmic(j, &known, t, after, tmp, &ratio);
			if (!rhythmic)
				continue;
		}
		best = shift_date(j, &known, rhythmic, t, day, tmp);
		after = j->n - best < before ? j->n - best : before;
		w = best < before ? best : before;
		out[n] = (struct fc_shift){ (int64_t)best, shift_median(j->y + best - w, w, tmp),
			shift_median(j->y + best, after, tmp) };
		if (rhythmic)
			out[n].before = out[n].after / exp(ratio);
		known = (struct shift_known){ best,
			out[n].after / fmax(out[n].before, 1e-9 * j->level) };
		n++;
		t = best + before;
	}
	return n;
}

/* Has the series never been, before t, where it is since then (by half of the higher level, but for
 * tails)? */
static bool
shift_unheard(const struct fc_job *j, size_t from, size_t t)
{
	size_t before = t - from, after = j->n - t;
	double *b = arena_array(j->tmp, before, sizeof(*b)),
	       *a = arena_array(j->tmp, after, sizeof(*a));

	memcpy(b, j->y + from, before * sizeof(*b));
	memcpy(a, j->y + t, after * sizeof(*a));
	fc_sort(b, before);
	fc_sort(a, after);
	return 1.5 * fc_quantile_sorted(a, after, 0.95) < fc_quantile_sorted(b, before, 0.05) ||
	       fc_quantile_sorted(a, after, 0.05) > 1.5 * fc_quantile_sorted(b, before, 0.95);
}

/*
 * The peaks from before a shift to a level never seen before are history: a day after a rise, a
 * week after a fall. A level that comes and goes, as with jobs of days, is no such shift: its peaks
 * come back.
 */
void
fc_shifts(struct fc_job *j)
{
	size_t least = j->day > 1 ? j->day : 7;

	j->shift = arena_array(j->a, FC_SHIFT_MAX, sizeof(*j->shift));
	j->n_shift = shift_find(j, j->shift, FC_SHIFT_MAX);
	for (size_t i = 0; i < j->n_shift; i++) {
		size_t t = (size_t)j->shift[i].t,
		       wait = j->shift[i].after > j->shift[i].before ? least : j->cycle;

		if (t + wait <= j->n && t > j->since && shift_unheard(j, j->since, t))
			j->since = t;
	}
}
