/* forecast/peak.c - quantiles of the maximum over a window.  Floor: domain.
 *
 * Not the maximum of hourly quantiles: errors of neighbouring hours are not independent, jumps are
 * rare and large. Four estimators that err in different ways are averaged quantile by quantile:
 * past window maxima with the errors they would have made (own and pooled), the mean of four
 * windows with pooled errors, a seasonal random walk, and the history itself.
 */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PEAK_BACK = 4, PEAK_SPIKES = 3 }; /* windows looked back; spikes left out at most */

/* Ascending quantiles of standard normal at the peak levels. */
static const double peak_normal[FC_PEAK_LEVEL_COUNT] = { 0, 1.2815515655446004, 1.6448536269514722,
	2.3263478740408408 };

/* The first day, then each week; less than half a week at the end belongs to the week before. */
size_t
fc_windows_of(size_t h, size_t cycle, size_t day, struct fc_win *win)
{
	size_t n = 0;

	if (day > 0 && h > day)
		win[n++] = (struct fc_win){ .first = 0, .count = day };
	for (size_t i = 0; i < h;) {
		size_t left = h - i,
		       count = 2 * left < 3 * cycle || n + 1 == FC_WIN_MAX ? left : cycle;

		win[n++] = (struct fc_win){ .first = i,
			.count = count,
			.kind = i == 0 && day > 0 && left <= day ? 0 : 1 + i / cycle };
		i += count;
	}
	return n;
}

void
fc_windows(struct fc_job *j)
{
	j->n_win = fc_windows_of(j->h, j->cycle, j->daily ? 0 : j->day, j->win);
}

/* Maxima of every run of len steps: out[i] = max x[i .. i+len), n - len + 1 of them. */
static size_t
peak_rolling(const double *x, size_t n, size_t len, double *out)
{
	size_t m = 0;

	for (size_t i = 0; i + len <= n; i++) {
		if (i > 0 && x[i - 1] < out[i - 1])
			out[i] = x[i + len - 1] > out[i - 1] ? x[i + len - 1] : out[i - 1];
		else {
			out[i] = x[i];
			for (size_t k = 1; k < len; k++)
				out[i] = x[i + k] > out[i] ? x[i + k] : out[i];
		}
		m++;
	}
	return m;
}

static double
peak_span(const double *x, size_t from, size_t to)
{
	double m = x[from];

	for (size_t i = from + 1; i < to; i++)
		m = x[i] > m ? x[i] : m;
	return m;
}

/* Last window's maximum and the mean of the last four, at origin o. roll: rolling maxima of len
 * steps. */
static void
peak_back(const double *roll, size_t o, size_t len, double *last, double *mean4)
{
	size_t k = o / len < PEAK_BACK ? o / len : PEAK_BACK;

	*last = roll[o - len];
	*mean4 = 0;
	for (size_t i = 1; i <= k; i++)
		*mean4 += roll[o - i * len] / (double)k;
}

/* Mean of the maxima of the last eight weeks at most. */
static double
peak_weekly(const double *x, size_t n, size_t week)
{
	size_t weeks = n / week < 8 ? n / week : 8;
	double sum = 0;

	for (size_t k = 1; k <= weeks; k++)
		sum += peak_span(x, n - k * week, n - (k - 1) * week) / (double)weeks;
	return weeks > 0 ? sum : peak_span(x, 0, n);
}

/*
 * The steps above half of the maximum of x [n], if they are one short run that is over: demand of
 * that height came once, for hours. Returns the highest of what is left, 0 if there is no such
 * spike.
 */
static double
peak_once(const double *x, size_t n, size_t most, size_t *from, size_t *to)
{
	double top = peak_span(x, 0, n), rest = 0;

	*from = n;
	*to = 0;
	for (size_t i = 0; i < n; i++)
		if (x[i] > 0.5 * top) {
			*from = *from < i ? *from : i;
			*to = i + 1;
		} else
			rest = x[i] > rest ? x[i] : rest;
	return *to < n && *from + most >= *to ? rest : 0;
}

/*
 * Spikes say how high demand can go, not where it usually peaks: the bases of the median do without
 * them, the errors and the history's own quantiles keep them. A spike that came again is none.
 */
static void
peak_calm(struct fc_job *j)
{
	size_t n = j->n - j->since, most = j->daily || j->day < 8 ? 1 : j->day / 8, from, to;
	double *x = NULL, rest;

	j->calm = j->peak;
	for (int k = 0; k < PEAK_SPIKES && n >= 2 * j->cycle; k++) {
		rest = peak_once(j->calm + j->since, n, most, &from, &to);
		if (!(rest > 0))
			break;
		if (x == NULL) {
			x = arena_array(j->a, j->n, sizeof(*x));
			memcpy(x, j->peak, j->n * sizeof(*x));
			j->calm = x;
		}
		for (size_t i = from; i < to; i++)
			x[j->since + i] = fmin(x[j->since + i], rest);
	}
}

/* Scores of both bases at the origins whose windows lie behind the last shift; returns how many.
 * roll, calm: rolling maxima. */
static size_t
peak_score(const struct fc_job *j, const struct fc_win *v, const double *roll, const double *calm,
    double *mixed, double *mean)
{
	size_t n = 0;

	for (size_t k = 0; k < j->n_org; k++) {
		size_t o = j->org[k] - (j->org[k] < j->since ? j->org[k] : j->since);
		double last, mean4, ahead, actual;

		if (o < v->count || j->org[k] + v->first + v->count > j->n ||
		    v->first + v->count > j->hc)
			continue;
		peak_back(calm, o, v->count, &last, &mean4);
		ahead = peak_span(j->cv + k * j->hc, v->first, v->first + v->count);
		actual = roll[o + v->first];
		mixed[n] = (actual - .35 * last - .35 * mean4 - .3 * ahead) / j->peak_scale;
		mean[n++] = (actual - mean4) / j->peak_scale;
	}
	return n;
}

double
fc_rough(const struct fc_job *j, const struct fc_pool *pool, size_t kind)
{
	size_t w = kind == 0 ? 0 : 1;
	double n = j->n_rough[w], k = fc_tuning.rough_own, typical = pool->rough[w];
	double r = (n * j->rough[w] + k * typical) / (n + k) / (fc_tuning.rough_most[w] * typical);

	return r < 1 ? r : 1;
}

static void
peak_rough(struct fc_job *j, const double *x, size_t n, double *roll)
{
	for (int w = 0; w < 2; w++) {
		size_t len = w == 0 && !j->daily && j->day > 0 ? j->day : j->cycle, m;
		double sum = 0;

		if (n < 2 * len)
			continue;
		m = peak_rolling(x, n, len, roll);
		for (size_t i = len; i < m; i++)
			sum += fabs(roll[i] - roll[i - len]);
		j->rough[w] = m > len ? sum / (double)(m - len) / j->peak_scale : 0;
		j->n_rough[w] = (double)(n - len) / (double)len;
	}
}

void
fc_peak_scores(struct fc_job *j)
{
	size_t n = j->n - j->since;
	const double *x = j->peak + j->since;
	double *roll = arena_array(j->tmp, n + 1, sizeof(*roll)), *calm = roll, *score[2];

	peak_calm(j);
	if (j->calm != j->peak)
		calm = arena_array(j->tmp, n + 1, sizeof(*calm));
	j->peak_scale = peak_weekly(j->calm + j->since, n, j->cycle);
	if (j->peak_scale > 0)
		peak_rough(j, x, n, roll);
	for (int s = 0; s < 2; s++)
		score[s] = arena_array(j->tmp, j->n_org + 1, sizeof(double));
	for (size_t w = 0; w < j->n_win && j->peak_scale > 0; w++) {
		struct fc_win *v = &j->win[w];

		if (v->count > n || v->kind >= FC_PEAK_KINDS)
			continue;
		peak_rolling(x, n, v->count, roll);
		if (calm != roll)
			peak_rolling(j->calm + j->since, n, v->count, calm);
		v->n_own = peak_score(j, v, roll, calm, score[0], score[1]);
		v->n_eff = j->n_org > 1
			       ? (double)(v->n_own * (j->org[1] - j->org[0])) / (double)v->count
			       : 1;
		for (int s = 0; s < 2 && v->n_own > 0; s++) {
			fc_sort(score[s], v->n_own);
			for (size_t p = 0; p < FC_SCORE_POINTS; p++)
				v->point[s][p] = fc_quantile_sorted(
				    score[s], v->n_own, ((double)p + .5) / FC_SCORE_POINTS);
			for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
				v->own[s][l] =
				    fc_quantile_sorted(score[s], v->n_own, fc_peak_levels[l]);
		}
	}
}

/* What fc_peak() needs of the past of one window. */
struct peak_past {
	const double *x;           /* [n] peaks since the last shift, without single spikes */
	size_t n, lag;             /* lag of the random walk */
	double last, mean4, ahead; /* bases */
	double sd;                 /* of the walk */
	double *roll;              /* [m] sorted maxima of windows of the last eight weeks */
	size_t m;
	double pooled[2][FC_PEAK_LEVEL_COUNT]; /* scores, mixed with the series' own for the first
						  base */
};

static double
peak_walk_sd(const double *x, size_t n, size_t lag)
{
	double m = 0, ss = 0;

	if (n < lag + 2)
		return 0;
	for (size_t i = lag; i < n; i++)
		m += (x[i] - x[i - lag]) / (double)(n - lag);
	for (size_t i = lag; i < n; i++)
		ss += (x[i] - x[i - lag] - m) * (x[i] - x[i - lag] - m);
	return sqrt(ss / (double)(n - lag - 1));
}

/* Seasonal random walk: the largest of its quantiles; behind four weeks its errors grow with the
 * fourth root of time only. */
static double
peak_walk(const struct peak_past *p, const struct fc_job *j, const struct fc_win *v, double z)
{
	double best = 0, month = (double)(4 * j->cycle) / (double)p->lag;

	for (size_t i = v->first; i < v->first + v->count; i++) {
		double k = (double)(i / p->lag + 1), q;

		q = p->x[p->n - p->lag + i % p->lag] +
		    z * p->sd * (k <= month ? sqrt(k) : sqrt(month * sqrt(k / month)));
		best = q > best ? q : best;
	}
	return best;
}

/* Behind week 4 the scores of week 4, growing with the root of time. */
static void
peak_pooled(
    const struct fc_job *j, const struct fc_pool *pool, const struct fc_win *v, struct peak_past *p)
{
	size_t kind = v->kind < FC_PEAK_KINDS ? v->kind : FC_PEAK_KINDS - 1;
	double grow = v->kind > kind ? pow((double)v->kind / (double)kind, fc_tuning.peak_grow) : 1;
	double rough = fc_rough(j, pool, kind), share;
	const struct fc_win *own = NULL;

	for (size_t w = 0; w < j->n_win; w++)
		if (j->win[w].n_own >= 10 &&
		    (j->win[w].kind == kind || (own == NULL && j->win[w].kind == v->kind)))
			own = &j->win[w];
	share = own != NULL && kind == 0 ? own->n_eff / (own->n_eff + fc_tuning.peak_own) : 0.5;
	for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT; l++) {
		p->pooled[0][l] = rough * pool->peak[kind][0][l];
		if (own != NULL)
			p->pooled[0][l] += share * (own->own[0][l] - p->pooled[0][l]);
		p->pooled[0][l] *= grow;
		p->pooled[1][l] = rough * pool->peak[kind][1][l] * grow;
	}
}

static void
peak_look(
    const struct fc_job *j, const struct fc_pool *pool, const struct fc_win *v, struct peak_past *p)
{
	size_t len, keep = 8 * j->cycle;

	p->x = j->calm + j->since;
	p->n = j->n - j->since;
	p->lag = j->day > 0 && p->n >= 2 * j->day ? j->day : 1;
	p->sd = peak_walk_sd(j->peak + j->since, p->n, p->lag);
	len = v->count < p->n ? v->count : p->n;
	p->roll = arena_array(j->tmp, p->n + 1, sizeof(*p->roll));
	p->ahead = peak_span(j->fin, v->first, v->first + v->count);
	peak_rolling(p->x, p->n, len, p->roll);
	peak_back(p->roll, p->n, len, &p->last, &p->mean4);
	peak_rolling(j->peak + j->since, p->n, len, p->roll);
	if (p->n < 2 * v->count) /* less than two windows: their maxima say little about the next */
		p->last = p->mean4 = p->ahead;
	p->m = p->n - len + 1;
	if (keep >= len && p->m > keep - len + 1) {
		p->roll += p->m - (keep - len + 1);
		p->m = keep - len + 1;
	}
	fc_sort(p->roll, p->m);
	peak_pooled(j, pool, v, p);
}

/* q [FC_PEAK_LEVEL_COUNT] in units of the job. */
void
fc_peak(const struct fc_job *j, const struct fc_pool *pool, size_t w, double *q)
{
	const struct fc_win *v = &j->win[w];
	const double *share = fc_tuning.peak_share[v->kind == 0 ? 0 : v->first == 0 ? 1 : 2];
	double top = (j->rare ? 1 : FC_TOP) * j->top;
	struct peak_past p;

	peak_look(j, pool, v, &p);
	for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT; l++) {
		double e[4];

		e[0] = .35 * p.last + .35 * p.mean4 + .3 * p.ahead + p.pooled[0][l] * j->peak_scale;
		e[1] = p.mean4 + p.pooled[1][l] * j->peak_scale;
		e[2] = peak_walk(&p, j, v, peak_normal[l]);
		e[3] = fc_quantile_sorted(p.roll, p.m, fc_peak_levels[l]);
		q[l] = 0;
		for (int i = 0; i < 4; i++)
			q[l] += share[i] * (e[i] > 0 ? e[i] : 0);
		if (j->rare && p.n >= PEAK_BACK * v->count && q[l] < e[3])
			q[l] = e[3]; /* jobs of a size: nothing lies between none of them and one */
		if (q[l] > top && v->kind < FC_PEAK_KINDS)
			q[l] = top;
		if (l > 0 && q[l] < q[l - 1])
			q[l] = q[l - 1];
	}
}
