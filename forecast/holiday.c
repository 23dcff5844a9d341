/* forecast/holiday.c - days off: effects that a series has to earn.  Floor: domain.
 *
 * Past days off that fell on working days are compared with the same hours of the same weekday one
 * and two weeks before and behind. Two effects are tried on each, learned from the others only: a
 * common factor, and the hours of the Sundays beside it. One that errs a fifth less than none over
 * all, and less on most, is taken: the history's days off are then put as they would have been, and
 * the effect is put on those ahead. Else nothing is done.
 */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

enum { HOLIDAY_PAST_MAX = 64, HOLIDAY_LEAST = 3, HOLIDAY_DAY_S = 86400 };
#define HOLIDAY_EARN 0.8

/* Sums over the known hours of one past day off. */
struct holiday_past {
	double actual, usual, sunday;
	int64_t day;
};

static int64_t
holiday_local(const struct fc_series *s, const struct fc_options *o, int64_t i)
{
	int64_t t = s->t0 + i * s->step_s;

	return t + (o->utc_offset != NULL ? o->utc_offset(o->utc_offset_arg, t) : 0);
}

static int64_t
holiday_day(const struct fc_series *s, const struct fc_options *o, int64_t i)
{
	int64_t t = holiday_local(s, o, i);

	return t >= 0 ? t / HOLIDAY_DAY_S : (t - HOLIDAY_DAY_S + 1) / HOLIDAY_DAY_S;
}

/* 0 Monday; 1970-01-01 was a Thursday. */
static int
holiday_weekday(int64_t day)
{
	return (int)(((day + 3) % 7 + 7) % 7);
}

static bool
holiday_is(const struct fc_options *o, int64_t day)
{
	size_t lo = 0, hi = o->n_holidays;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (o->holidays[mid] == day)
			return true;
		if (o->holidays[mid] < day)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

/* Mean of the known steps at i + days * shift of shifts [n], days off left out; NaN: none. */
static double
holiday_near(
    const struct fc_series *s, const struct fc_options *o, int64_t i, const int *shift, size_t n)
{
	int64_t day = HOLIDAY_DAY_S / s->step_s;
	double sum = 0;
	size_t known = 0;

	for (size_t k = 0; k < n; k++) {
		int64_t at = i + shift[k] * day;

		if (at < 0 || at >= (int64_t)s->n || isnan(s->mean[at]) ||
		    holiday_is(o, holiday_day(s, o, at)))
			continue;
		sum += s->mean[at];
		known++;
	}
	return known > 0 ? sum / (double)known : NAN;
}

static double
holiday_usual(const struct fc_series *s, const struct fc_options *o, int64_t i)
{
	static const int weeks[] = { -14, -7, 7, 14 };

	return holiday_near(s, o, i, weeks, 4);
}

/* The Sundays beside: a step that lies on weekday w has them 6 - w days ahead and w + 1 behind. */
static double
holiday_sunday(const struct fc_series *s, const struct fc_options *o, int64_t i)
{
	int w = holiday_weekday(holiday_day(s, o, i));
	const int days[] = { 6 - w, -(w + 1) };

	return holiday_near(s, o, i, days, 2);
}

static size_t
holiday_collect(const struct fc_series *s, const struct fc_options *o, struct holiday_past *p)
{
	size_t n = 0;

	for (int64_t i = 0; i < (int64_t)s->n; i++) {
		int64_t day = holiday_day(s, o, i);
		double usual, sunday;

		if (isnan(s->mean[i]) || holiday_weekday(day) > 4 || !holiday_is(o, day))
			continue;
		usual = holiday_usual(s, o, i);
		sunday = holiday_sunday(s, o, i);
		if (isnan(usual) || isnan(sunday))
			continue;
		if (n == 0 || p[n - 1].day != day) {
			if (n == HOLIDAY_PAST_MAX) {
				memmove(p, p + 1, (n - 1) * sizeof(*p));
				n--;
			}
			p[n++] = (struct holiday_past){ .day = day };
		}
		p[n - 1].actual += s->mean[i];
		p[n - 1].usual += usual;
		p[n - 1].sunday += sunday;
	}
	return n;
}

/* Mean log of actual over usual without day `but`, drawn towards none by one day's weight. */
static double
holiday_ratio(const struct holiday_past *p, size_t n, size_t but)
{
	double sum = 0;
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (i != but && p[i].usual > 0) {
			sum += log(fmax(p[i].actual, 0.01 * p[i].usual) / p[i].usual);
			m++;
		}
	return m > 0 ? exp(sum / (double)(m + 1)) : 1;
}

/* Relative errors over all days of no effect, the factor and the Sunday; better [3]: days on which
 * it beats none. */
static void
holiday_try(const struct holiday_past *p, size_t n, double *err, size_t *better)
{
	for (size_t i = 0; i < n; i++) {
		double e[3];

		if (!(p[i].usual > 0))
			continue;
		e[0] = fabs(p[i].actual - p[i].usual) / p[i].usual;
		e[1] = fabs(p[i].actual - p[i].usual * holiday_ratio(p, n, i)) / p[i].usual;
		e[2] = fabs(p[i].actual - p[i].sunday) / p[i].usual;
		for (int k = 0; k < 3; k++) {
			err[k] += e[k];
			better[k] += e[k] < e[0];
		}
	}
}

static void
holiday_learn(const struct holiday_past *p, size_t n, struct fc_holiday *h)
{
	double err[3] = { 0 };
	size_t better[3] = { 0 };
	int best;

	h->past = n;
	h->ratio = 1;
	h->gain = NAN;
	holiday_try(p, n, err, better);
	best = err[1] <= err[2] ? 1 : 2;
	if (err[0] > 0)
		h->gain = 1 - err[best] / err[0];
	if (n < HOLIDAY_LEAST || !(err[0] > 0) || err[best] >= HOLIDAY_EARN * err[0] ||
	    2 * better[best] <= n)
		return;
	h->effect = best == 1 ? FC_HOLIDAY_FACTOR : FC_HOLIDAY_SUNDAY;
	h->ratio = holiday_ratio(p, n, n);
}

/* The history as if there had been no days off: what it would have been, with the peak's excess in
 * proportion. */
static void
holiday_clean(
    const struct fc_series *in, const struct fc_options *o, struct arena *a, struct fc_series *out)
{
	double *mean = arena_memdup(a, in->mean, in->n * sizeof(*mean)), *peak = NULL;

	if (in->peak != NULL)
		peak = arena_memdup(a, in->peak, in->n * sizeof(*peak));
	for (int64_t i = 0; i < (int64_t)in->n; i++) {
		int64_t day = holiday_day(in, o, i);
		double usual;

		if (isnan(in->mean[i]) || holiday_weekday(day) > 4 || !holiday_is(o, day))
			continue;
		usual = holiday_usual(in, o, i);
		if (isnan(usual))
			continue;
		mean[i] = usual;
		if (peak != NULL)
			peak[i] = in->mean[i] > 0 && !isnan(peak[i])
				      ? usual * (peak[i] / in->mean[i])
				      : usual;
	}
	out->mean = mean;
	out->peak = peak;
}

void
fc_holiday_history(const struct fc_series *in, const struct fc_options *o, struct arena *a,
    struct fc_series *out, struct fc_holiday *h)
{
	struct holiday_past past[HOLIDAY_PAST_MAX];

	*out = *in;
	*h = (struct fc_holiday){ .ratio = 1, .gain = NAN };
	if (in->step_s > HOLIDAY_DAY_S || HOLIDAY_DAY_S % in->step_s != 0)
		return;
	holiday_learn(past, holiday_collect(in, o, past), h);
	if (h->effect != FC_HOLIDAY_NONE)
		holiday_clean(in, o, a, out);
}

/* What the day off does at step i ahead: the factor, or Sundays over this weekday at this hour in
 * the last four weeks. */
static double
holiday_factor(
    const struct fc_series *s, const struct fc_options *o, const struct fc_holiday *h, int64_t i)
{
	int64_t day = HOLIDAY_DAY_S / s->step_s, week = 7 * day,
		back = i - (i - (int64_t)s->n) / week * week;
	int w = holiday_weekday(holiday_day(s, o, i));
	double sunday = 0, usual = 0;

	if (h->effect == FC_HOLIDAY_FACTOR)
		return h->ratio;
	for (int k = 1; k <= 4; k++) {
		int64_t at = back - k * week, su = at + (6 - w) * day;

		if (su >= (int64_t)s->n)
			su -= week;
		if (at < 0 || su < 0 || at >= (int64_t)s->n || isnan(s->mean[at]) ||
		    isnan(s->mean[su]))
			continue;
		usual += s->mean[at];
		sunday += s->mean[su];
	}
	return usual > 0 ? sunday / usual : 1;
}

void
fc_holiday_apply(const struct fc_series *clean, const struct fc_options *o, struct fc_result *r)
{
	struct fc_holiday *h = &r->holiday;
	struct arena *tmp;
	int64_t last = INT64_MIN;

	if (h->effect == FC_HOLIDAY_NONE)
		return;
	for (size_t i = 0; i < r->horizon; i++) {
		int64_t at = (int64_t)(clean->n + i), day = holiday_day(clean, o, at);
		double f;

		if (holiday_weekday(day) > 4 || !holiday_is(o, day))
			continue;
		h->ahead += day != last ? 1 : 0;
		last = day;
		f = holiday_factor(clean, o, h, at);
		r->mean[i] *= f;
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			r->q[i * FC_LEVEL_COUNT + l] *= f;
		for (size_t p = 0; p < r->n_paths; p++)
			r->paths[p * r->horizon + i] *= f;
	}
	if (h->ahead == 0)
		return;
	tmp = arena_new();
	fc_result_windows(r, tmp);
	arena_free(tmp);
}
