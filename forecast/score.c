/* forecast/score.c - how a forecast did.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>

static double
score_pinball(double actual, double q, double p)
{
	return actual >= q ? p * (actual - q) : (1 - p) * (q - actual);
}

/* Mean |y[t] - y[t - lag]| of a history, NaN where it has none. */
static double
score_scale(const struct fc_series *h, size_t lag)
{
	double sum = 0, count = 0;

	for (size_t i = lag; i < h->n; i++) {
		double d = fabs(h->mean[i] - h->mean[i - lag]);

		if (!isnan(d)) {
			sum += d;
			count++;
		}
	}
	return count > 0 ? sum / count : NAN;
}

static double
score_weekly_peak(const struct fc_series *h)
{
	const double *x = h->peak != NULL ? h->peak : h->mean;
	size_t week = 604800 / h->step_s > 0 ? (size_t)(604800 / h->step_s) : 1,
	       weeks = h->n / week;
	double sum = 0;

	weeks = weeks < 1 ? 1 : weeks < 8 ? weeks : 8;
	for (size_t k = 0; k < weeks; k++) {
		double m = 0;

		for (size_t i = h->n - (h->n < (k + 1) * week ? h->n : (k + 1) * week);
		     i < h->n - k * week; i++)
			m = x[i] > m ? x[i] : m;
		sum += m;
	}
	return sum / (double)weeks;
}

static void
score_steps(
    const struct fc_result *r, const double *mean, size_t n, double scale, struct fc_score *s)
{
	static const enum fc_level levels[] = { FC_P50, FC_P90, FC_P95, FC_P99 };
	double abs = 0, sm = 0, pin = 0, in = 0, count = 0;

	for (size_t i = 0; i < n; i++) {
		const double *q = r->q + i * FC_LEVEL_COUNT;
		double a = mean[i], f = r->mean[i];

		if (isnan(a))
			continue;
		count++;
		abs += fabs(a - f);
		sm += a + f > 0 ? 200 * fabs(a - f) / (fabs(a) + f) : 0;
		for (size_t l = 0; l < 4; l++)
			pin += score_pinball(a, q[levels[l]], fc_levels[levels[l]]) / 4;
		in += a >= q[FC_P05] * (1 - 1e-9) && a <= q[FC_P95] * (1 + 1e-9);
	}
	if (count == 0)
		return;
	s->smape = sm / count;
	s->coverage90 = in / count;
	if (scale > 0) {
		s->mase = abs / count / scale;
		s->pinball = pin / count / scale;
	}
}

void
fc_score_result(const struct fc_result *r, const struct fc_series *history, const double *mean,
    const double *peak, size_t n, struct fc_score *score_out)
{
	size_t lag = r->step_s > 0 && r->step_s < 86400 && 86400 % r->step_s == 0
			 ? (size_t)(86400 / r->step_s)
			 : 1;
	double ps = score_weekly_peak(history), m = NAN;

	*score_out = (struct fc_score){ NAN, NAN, NAN, NAN, NAN, NAN };
	score_steps(r, mean, n, score_scale(history, history->n > lag ? lag : 1), score_out);
	if (peak == NULL)
		peak = mean;
	for (size_t i = 0; i < n; i++)
		if (!(peak[i] <= m) && !isnan(peak[i]))
			m = peak[i];
	if (n < r->horizon || isnan(m))
		return;
	score_out->peak_exceeded95 = m > r->peak[FC_PEAK95] * (1 + 1e-9);
	if (ps > 0)
		score_out->peak_pinball95 = score_pinball(m, r->peak[FC_PEAK95], 0.95) / ps;
}
