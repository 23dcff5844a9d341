/* forecast/growth.c - growth over months: earned on quarters, damped or saturating.  Floor: domain.
 *
 * Weekly means of up to two years. Five ways to go on from the last level (a straight line and a
 * constant rate, each damped by .9 or .98 a week, and a logistic curve) are tried over thirteen
 * weeks from up to eight past weeks, against going on level. One that errs a quarter less over all,
 * and less from most of them, is taken, in the share of the error that it takes away. What the
 * forecast already grows by itself is taken out first, and the first week is left alone.
 */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	GROWTH_WEEKS_MAX = 104,
	GROWTH_AHEAD = 13,
	GROWTH_APART = 3,
	GROWTH_ORIGINS_MAX = 8,
	GROWTH_ORIGINS_MIN = 4,
	GROWTH_FIT = 26,
	GROWTH_LEAST = 20,
	GROWTH_WAYS = 5,
	GROWTH_RAMP_FROM = 1,
	GROWTH_RAMP_TO = 5
};
#define GROWTH_EARN 0.75
#define GROWTH_FADE 0.85 /* weight of a quarter over that of the one three weeks later */
#define GROWTH_WEEK_S 604800

/* One way to grow, fitted at a week: ratio of a later week to it. */
struct growth_fit {
	enum fc_growth_kind kind;
	double slope; /* a week: share of the level, or of its logarithm */
	double damp;
	double cap, shift; /* LOGISTIC: level over the last level that it comes to; logit of the
			      last week */
};

/* Weekly means that end with the history, oldest first; a week that is known less than half is as
 * the one before. */
static size_t
growth_weeks(const struct fc_series *in, double *w)
{
	size_t len = (size_t)(GROWTH_WEEK_S / in->step_s),
	       m = in->n / len < GROWTH_WEEKS_MAX ? in->n / len : GROWTH_WEEKS_MAX;
	size_t first = 0;

	for (size_t k = 0; k < m; k++) {
		const double *x = in->mean + in->n - (m - k) * len;
		double sum = 0;
		size_t known = 0;

		for (size_t i = 0; i < len; i++)
			if (!isnan(x[i])) {
				sum += x[i];
				known++;
			}
		w[k] = 2 * known >= len ? sum / (double)known : NAN;
	}
	while (first < m && isnan(w[first]))
		first++;
	memmove(w, w + first, (m - first) * sizeof(*w));
	for (size_t k = 1; k < m - first; k++)
		w[k] = isnan(w[k]) ? w[k - 1] : w[k];
	return m - first;
}

/* Median of the slopes between all pairs (Theil, 1950; Sen, 1968). */
static double
growth_slope(const double *x, size_t n)
{
	double s[GROWTH_FIT * GROWTH_FIT / 2];
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			s[m++] = (x[k] - x[i]) / (double)(k - i);
	return m > 0 ? fc_median(s, m) : 0;
}

static double
growth_level(const double *w, size_t n)
{
	return n >= 2 ? .5 * (w[n - 1] + w[n - 2]) : w[n - 1];
}

/*
 * Straight line through the logits of w over cap, each weighted by what it tells of the level;
 * squared error in units of w, and its slope and value at the end.
 */
static double
growth_logit(const double *w, size_t n, double cap, double *slope, double *end)
{
	double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, err = 0, a, b;

	for (size_t i = 0; i < n; i++) {
		double z = log(w[i] / (cap - w[i])), x = (double)i - (double)(n - 1),
		       v = w[i] * (cap - w[i]) / (cap * cap);

		v *= v;
		sw += v;
		sx += v * x;
		sy += v * z;
		sxx += v * x * x;
		sxy += v * x * z;
	}
	b = (sw * sxy - sx * sy) / (sw * sxx - sx * sx);
	a = (sy - b * sx) / sw;
	for (size_t i = 0; i < n; i++) {
		double d = cap / (1 + exp(-(a + b * ((double)i - (double)(n - 1))))) - w[i];

		err += d * d;
	}
	*slope = b;
	*end = a;
	return err;
}

static void
growth_logistic(const double *w, size_t n, double known_cap, struct growth_fit *f)
{
	static const double times[] = { 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.2, 3, 5 };
	double top = 0, best = INFINITY, level = growth_level(w, n);
	size_t tries = sizeof(times) / sizeof(times[0]);

	for (size_t i = 0; i < n; i++)
		top = fmax(top, w[i]);
	if (known_cap > top * 1.001) {
		top = known_cap;
		tries = 1;
	}
	for (size_t i = 0; i < tries; i++) {
		double cap = tries == 1 ? top : top * times[i], slope, end,
		       err = growth_logit(w, n, cap, &slope, &end);

		if (!(err < best))
			continue;
		best = err;
		*f = (struct growth_fit){ FC_GROWTH_LOGISTIC, slope, 1, cap / level, end };
	}
}

/* The five ways at the end of w [n], n >= GROWTH_LEAST; all w > 0. */
static void
growth_fit(const double *w, size_t n, double cap, struct growth_fit *f)
{
	static const double damps[] = { .9, .98 };
	size_t m = n < GROWTH_FIT ? n : GROWTH_FIT, long_n = n < 52 ? n : 52;
	double logs[GROWTH_FIT], level = growth_level(w, n),
				 line = growth_slope(w + n - m, m) / level, rate;

	for (size_t i = 0; i < m; i++)
		logs[i] = log(w[n - m + i]);
	rate = growth_slope(logs, m);
	for (int d = 0; d < 2; d++) {
		f[d] = (struct growth_fit){ FC_GROWTH_LINE, line, damps[d], 0, 0 };
		f[2 + d] = (struct growth_fit){ FC_GROWTH_RATE, rate, damps[d], 0, 0 };
	}
	growth_logistic(w + n - long_n, long_n, cap, &f[4]);
}

/* Level h weeks ahead over the level now. */
static double
growth_ratio(const struct growth_fit *f, double h)
{
	double sum = f->damp < 1 ? f->damp * (1 - pow(f->damp, h)) / (1 - f->damp) : h;

	switch (f->kind) {
	case FC_GROWTH_LINE:
		return fmax(0, 1 + f->slope * sum);
	case FC_GROWTH_RATE:
		return exp(f->slope * sum);
	case FC_GROWTH_LOGISTIC:
		return (1 + exp(-f->shift)) / (1 + exp(-f->shift - f->slope * h));
	case FC_GROWTH_NONE:
		break;
	}
	return 1;
}

/* Errors of the five ways and of none [GROWTH_WAYS] over past quarters; wins: quarters on which a
 * way beats none. */
static size_t
growth_try(const double *w, size_t n, double cap, double *err, size_t *wins)
{
	size_t origins = 0;

	for (size_t o = n - GROWTH_AHEAD; o >= GROWTH_LEAST && origins < GROWTH_ORIGINS_MAX;
	     o -= GROWTH_APART, origins++) {
		struct growth_fit f[GROWTH_WAYS + 1] = { { 0 } };
		double level = growth_level(w, o), e[GROWTH_WAYS + 1] = { 0 },
		       weight = pow(GROWTH_FADE, (double)origins);

		growth_fit(w, o, cap, f);
		for (int k = 0; k <= GROWTH_WAYS; k++) {
			for (size_t h = 1; h <= GROWTH_AHEAD; h++)
				e[k] +=
				    fabs(w[o + h - 1] -
					 level * (k < GROWTH_WAYS ? growth_ratio(&f[k], (double)h)
								  : 1)) /
				    level;
			err[k] += weight * e[k];
		}
		for (int k = 0; k < GROWTH_WAYS; k++)
			wins[k] += e[k] < e[GROWTH_WAYS];
	}
	return origins;
}

static void
growth_learn(const double *w, size_t n, double cap, struct growth_fit *fit, struct fc_growth *g)
{
	double err[GROWTH_WAYS + 1] = { 0 };
	size_t wins[GROWTH_WAYS] = { 0 }, origins;
	struct growth_fit f[GROWTH_WAYS];
	int best = 0;

	for (size_t i = 0; i < n; i++)
		if (!(w[i] > 0))
			return;
	if (n < GROWTH_AHEAD + GROWTH_LEAST)
		return;
	origins = growth_try(w, n, cap, err, wins);
	for (int k = 1; k < GROWTH_WAYS; k++)
		if (err[k] < err[best])
			best = k;
	if (origins < GROWTH_ORIGINS_MIN || !(err[best] < GROWTH_EARN * err[GROWTH_WAYS]) ||
	    2 * wins[best] <= origins)
		return;
	growth_fit(w, n, cap, f);
	*fit = f[best];
	g->kind = fit->kind;
	g->gain = 1 - err[best] / err[GROWTH_WAYS];
	g->saturates = fit->kind == FC_GROWTH_LOGISTIC ? fit->cap * growth_level(w, n) : NAN;
}

/* Mean of x over the week around step i, within the horizon. */
static double
growth_around(const double *cum, size_t h, size_t week, size_t i)
{
	size_t from = i > week / 2 ? i - week / 2 : 0, to = from + week;

	if (to > h) {
		to = h;
		from = h > week ? h - week : 0;
	}
	return (cum[to] - cum[from]) / (double)(to - from);
}

static void
growth_apply(struct fc_result *r, const struct growth_fit *fit, double cap, struct fc_growth *g,
    struct arena *tmp)
{
	size_t week = (size_t)(GROWTH_WEEK_S / r->step_s), h = r->horizon;
	double *cum = arena_array(tmp, h + 1, sizeof(*cum)), first;

	for (size_t i = 0; i < h; i++)
		cum[i + 1] = cum[i] + r->mean[i];
	first = growth_around(cum, h, week, 0);
	for (size_t i = 0; i < h; i++) {
		double weeks = (double)(i + 1) / (double)week,
		       own = first > 0 ? growth_around(cum, h, week, i) / first : 1, f;
		double ramp = fmin(
		    1, fmax(0, (weeks - GROWTH_RAMP_FROM) / (GROWTH_RAMP_TO - GROWTH_RAMP_FROM)));

		f = own > 0 ? pow((1 + g->gain * (growth_ratio(fit, weeks) - 1)) / own, ramp) : 1;
		g->factor = f * own;
		r->mean[i] *= f;
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			r->q[i * FC_LEVEL_COUNT + l] *= f;
		for (size_t p = 0; p < r->n_paths; p++)
			r->paths[p * h + i] *= f;
	}
	for (size_t i = 0; i < h && cap > 0; i++) {
		r->mean[i] = fmin(r->mean[i], cap);
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			r->q[i * FC_LEVEL_COUNT + l] = fmin(r->q[i * FC_LEVEL_COUNT + l], cap);
		for (size_t p = 0; p < r->n_paths; p++)
			r->paths[p * h + i] = fmin(r->paths[p * h + i], cap);
	}
	fc_result_windows(r, tmp);
}

void
fc_growth_apply(const struct fc_series *in, double cap, struct fc_result *r)
{
	size_t week = in->step_s <= GROWTH_WEEK_S && GROWTH_WEEK_S % in->step_s == 0
			  ? (size_t)(GROWTH_WEEK_S / in->step_s)
			  : 0;
	double w[GROWTH_WEEKS_MAX];
	struct growth_fit fit = { 0 };
	struct arena *tmp;

	r->growth = (struct fc_growth){ .gain = NAN, .factor = 1, .saturates = NAN };
	if (week == 0 || r->horizon <= (size_t)GROWTH_RAMP_FROM * week || r->n_paths == 0)
		return;
	growth_learn(w, growth_weeks(in, w), cap, &fit, &r->growth);
	if (fit.kind == FC_GROWTH_NONE)
		return;
	tmp = arena_new();
	growth_apply(r, &fit, cap, &r->growth, tmp);
	arena_free(tmp);
}
