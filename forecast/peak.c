/* forecast/peak.c - quantiles of the maximum over a window.  Floor: domain.
 *
 * Not the maximum of hourly quantiles: errors of neighbouring hours are not independent, jumps are rare and large. Four
 * estimators that err in different ways are averaged quantile by quantile: past window maxima with the errors they would
 * have made (own and pooled), the mean of four windows with pooled errors, a seasonal random walk, and the history itself.
 */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PEAK_BACK = 4 };		/* windows looked back */

/* Ascending quantiles of standard normal at the peak levels. */
static const double peak_normal[FC_PEAK_LEVEL_COUNT] = { 0, 1.2815515655446004, 1.6448536269514722, 2.3263478740408408 };

/* The first day, then each week of the horizon. */
void
fc_windows(struct fc_job *j)
{
	size_t week = j->cycle;

	j->n_win = 0;
	if (!j->daily && j->day > 0 && j->h > j->day)
		j->win[j->n_win++] = (struct fc_win){ .first = 0, .count = j->day };
	for (size_t i = 0; i < j->h && j->n_win < FC_WIN_MAX; i += week)
		j->win[j->n_win++] = (struct fc_win){ .first = i, .count = j->h - i < week ? j->h - i : week };
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

/* Last window's maximum and the mean of the last four, at origin o. roll: rolling maxima of len steps. */
static void
peak_back(const double *roll, size_t o, size_t len, double *last, double *mean4)
{
	size_t k = o / len < PEAK_BACK ? o / len : PEAK_BACK;

	*last = roll[o - len];
	*mean4 = 0;
	for (size_t i = 1; i <= k; i++)
		*mean4 += roll[o - i * len] / (double)k;
}

void
fc_peak_scores(struct fc_job *j)
{
	size_t week = j->cycle, kmax = j->n / week < 8 ? j->n / week : 8;
	double *roll = arena_array(j->tmp, j->n + 1, sizeof(*roll)), *score[2];

	j->peak_scale = 0;
	for (size_t k = 1; k <= kmax; k++)
		j->peak_scale += peak_span(j->peak, j->n - k * week, j->n - (k - 1) * week) / (double)kmax;
	if (kmax == 0)
		j->peak_scale = peak_span(j->peak, 0, j->n);
	for (int s = 0; s < 2; s++)
		score[s] = arena_array(j->tmp, j->n_org + 1, sizeof(double));
	for (size_t w = 0; w < j->n_win; w++) {
		struct fc_win *v = &j->win[w];
		size_t n = 0;

		if (v->count > j->n || !(j->peak_scale > 0))
			continue;
		peak_rolling(j->peak, j->n, v->count, roll);
		for (size_t k = 0; k < j->n_org; k++) {
			size_t o = j->org[k];
			double last, mean4, ahead, actual;

			if (o < v->count || o + v->first + v->count > j->n || v->first + v->count > j->hc)
				continue;
			peak_back(roll, o, v->count, &last, &mean4);
			ahead = peak_span(j->cv + k * j->hc, v->first, v->first + v->count);
			actual = roll[o + v->first];
			score[0][n] = (actual - .35 * last - .35 * mean4 - .3 * ahead) / j->peak_scale;
			score[1][n++] = (actual - mean4) / j->peak_scale;
		}
		v->n_own = n;
		for (int s = 0; s < 2 && n > 0; s++) {
			fc_sort(score[s], n);
			for (size_t p = 0; p < FC_SCORE_POINTS; p++)
				v->point[s][p] = fc_quantile_sorted(score[s], n, ((double)p + .5) / FC_SCORE_POINTS);
			for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
				v->own[s][l] = fc_quantile_sorted(score[s], n, fc_peak_levels[l]);
		}
	}
}

/* Seasonal random walk: the largest of its hourly quantiles. */
static double
peak_walk(const struct fc_job *j, const struct fc_win *v, double sd, double z)
{
	double best = 0;
	size_t lag = j->day > 0 && j->n >= 2 * j->day ? j->day : 1;

	for (size_t i = v->first; i < v->first + v->count; i++) {
		double q = j->peak[j->n - lag + i % lag] + z * sd * sqrt((double)(i / lag + 1));

		best = q > best ? q : best;
	}
	return best;
}

static double
peak_walk_sd(const struct fc_job *j)
{
	size_t lag = j->day > 0 && j->n >= 2 * j->day ? j->day : 1;
	double m = 0, ss = 0;

	if (j->n < lag + 2)
		return 0;
	for (size_t i = lag; i < j->n; i++)
		m += (j->peak[i] - j->peak[i - lag]) / (double)(j->n - lag);
	for (size_t i = lag; i < j->n; i++)
		ss += pow(j->peak[i] - j->peak[i - lag] - m, 2);
	return sqrt(ss / (double)(j->n - lag - 1));
}

/* q [FC_PEAK_LEVEL_COUNT] in units of the job. */
void
fc_peak(const struct fc_job *j, const struct fc_pool *pool, size_t w, double *q)
{
	const struct fc_win *v = &j->win[w];
	const double *share = v->first == 0 ? fc_tuning.peak_now : fc_tuning.peak_later;
	size_t len = v->count < j->n ? v->count : j->n, keep = 8 * j->cycle, m;
	double *roll = arena_array(j->tmp, j->n + 1, sizeof(*roll)), last, mean4, ahead, sd = peak_walk_sd(j);

	peak_rolling(j->peak, j->n, len, roll);
	peak_back(roll, j->n, len, &last, &mean4);
	ahead = peak_span(j->fin, v->first, v->first + v->count);
	m = j->n < keep ? j->n - len + 1 : keep - len + 1;
	if (m > j->n - len + 1)
		m = j->n - len + 1;
	memmove(roll, roll + (j->n - len + 1 - m), m * sizeof(*roll));
	fc_sort(roll, m);
	for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT; l++) {
		double mixed = pool->peak[w][0][l], e[4];

		if (v->n_own >= 10)
			mixed = .5 * (mixed + v->own[0][l]);
		e[0] = .35 * last + .35 * mean4 + .3 * ahead + mixed * j->peak_scale;
		e[1] = mean4 + pool->peak[w][1][l] * j->peak_scale;
		e[2] = peak_walk(j, v, sd, peak_normal[l]);
		e[3] = fc_quantile_sorted(roll, m, fc_peak_levels[l]);
		q[l] = 0;
		for (int i = 0; i < 4; i++)
			q[l] += share[i] * (e[i] > 0 ? e[i] : 0);
		if (l > 0 && q[l] < q[l - 1])
			q[l] = q[l - 1];
	}
}
