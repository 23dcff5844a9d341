/* forecast/peer.c - simple methods of others, as the M4 benchmarks define them.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *
fc_peer_name(enum fc_peer p)
{
	static const char *const names[FC_PEER_COUNT] = { "last value", "seasonal naive", "Naive2",
		"SES", "Theta" };

	return names[p];
}

/* Autocorrelation test of the M4 benchmarks: is the season's lag beyond the 90 % band of the lags
 * before it? */
static bool
peer_seasonal(const double *y, size_t n, size_t m)
{
	double mean = fc_mean(y, n), var = 0, sum = 0, r = 0;

	if (m < 2 || n < 3 * m)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!(y[i] > 0))
			return false;
		var += (y[i] - mean) * (y[i] - mean);
	}
	for (size_t lag = 1; lag <= m; lag++) {
		r = 0;
		for (size_t i = lag; i < n; i++)
			r += (y[i] - mean) * (y[i - lag] - mean);
		r /= var;
		if (lag < m)
			sum += r * r;
	}
	return fabs(r) > 1.645 * sqrt((1 + 2 * sum) / (double)n);
}

/* Classical multiplicative seasonal indices (ratio to a centred moving average), factor [m],
 * mean 1. */
static void
peer_indices(const double *y, size_t n, size_t m, double *factor, double *count)
{
	double total = 0;

	memset(factor, 0, m * sizeof(*factor));
	memset(count, 0, m * sizeof(*count));
	for (size_t t = m / 2; t + m / 2 < n; t++) {
		double ma = 0;

		for (size_t i = 0; i < m; i++)
			ma += y[t - m / 2 + i] / (double)m;
		if (m % 2 == 0)
			ma += 0.5 * (y[t + m / 2] - y[t - m / 2]) / (double)m;
		factor[t % m] += y[t] / ma;
		count[t % m]++;
	}
	for (size_t i = 0; i < m; i++) {
		factor[i] /= count[i];
		total += factor[i] / (double)m;
	}
	for (size_t i = 0; i < m; i++)
		factor[i] /= total;
}

/* One-step squared error of simple exponential smoothing from level l; the last level in *l. */
static double
peer_ses_run(const double *y, size_t n, double alpha, double *l)
{
	double sse = 0;

	for (size_t i = 0; i < n; i++) {
		double e = y[i] - *l;

		sse += e * e;
		*l += alpha * e;
	}
	return sse;
}

/* Level that minimises the squared error for this alpha: the errors are linear in the first level.
 */
static double
peer_ses_start(const double *y, size_t n, double alpha)
{
	double l = 0, w = 1, num = 0, den = 0;

	for (size_t i = 0; i < n; i++) {
		num += (y[i] - l) * w;
		den += w * w;
		l += alpha * (y[i] - l);
		w *= 1 - alpha;
	}
	return den > 0 ? num / den : y[0];
}

/* Simple exponential smoothing, alpha and first level by least squares; returns the last level,
 * alpha in *alpha_out. */
static double
peer_ses(const double *y, size_t n, double *alpha_out)
{
	double lo = 1e-4, hi = 0.9999, best = 0.5, best_sse = INFINITY, l;

	for (double a = lo; a < 1; a += 0.0495) {
		double start = peer_ses_start(y, n, a), sse = peer_ses_run(y, n, a, &start);

		if (sse < best_sse) {
			best_sse = sse;
			best = a;
		}
	}
	lo = best - 0.05 > lo ? best - 0.05 : lo;
	hi = best + 0.05 < hi ? best + 0.05 : hi;
	for (int it = 0; it < 60; it++) { /* golden section */
		double x1 = hi - 0.6180339887498949 * (hi - lo),
		       x2 = lo + 0.6180339887498949 * (hi - lo);
		double l1 = peer_ses_start(y, n, x1), l2 = peer_ses_start(y, n, x2);

		if (peer_ses_run(y, n, x1, &l1) < peer_ses_run(y, n, x2, &l2))
			hi = x2;
		else
			lo = x1;
	}
	*alpha_out = 0.5 * (lo + hi);
	l = peer_ses_start(y, n, *alpha_out);
	(void)peer_ses_run(y, n, *alpha_out, &l);
	return l;
}

/* Slope of the least squares line through y. */
static double
peer_slope(const double *y, size_t n)
{
	double mt = (double)(n - 1) / 2, my = fc_mean(y, n), num = 0, den = 0;

	for (size_t i = 0; i < n; i++) {
		num += ((double)i - mt) * (y[i] - my);
		den += ((double)i - mt) * ((double)i - mt);
	}
	return den > 0 ? num / den : 0;
}

/* x [n]: without season. SES with drift is the Theta method (Hyndman & Billah, 2003). */
static void
peer_level(enum fc_peer p, const double *x, size_t n, size_t h, double *out)
{
	double alpha = 1, level = p == FC_PEER_NAIVE2 ? x[n - 1] : peer_ses(x, n, &alpha),
	       drift = 0;

	if (p == FC_PEER_THETA)
		drift = peer_slope(x, n) / 2;
	for (size_t i = 0; i < h; i++)
		out[i] = level + drift * ((double)i + (1 - pow(1 - alpha, (double)n)) / alpha);
	if (drift == 0)
		for (size_t i = 0; i < h; i++)
			out[i] = level;
}

enum berth_code
fc_peer(enum fc_peer p, const double *y, size_t n, size_t season, size_t horizon, double *mean_out,
    struct berth_err *err)
{
	double *x;
	bool seasonal;

	if (n < 2 || season < 1)
		return err_set(err, BERTH_EINVAL,
		    "forecast: %s needs two values and a season of one step or more",
		    fc_peer_name(p));
	if (p == FC_PEER_NAIVE || (p == FC_PEER_SNAIVE && n < season)) {
		for (size_t i = 0; i < horizon; i++)
			mean_out[i] = y[n - 1];
		return BERTH_OK;
	}
	if (p == FC_PEER_SNAIVE) {
		for (size_t i = 0; i < horizon; i++)
			mean_out[i] = y[n - season + i % season];
		return BERTH_OK;
	}
	x = calloc(n + 2 * season, sizeof(*x));
	if (x == NULL)
		return err_set(err, BERTH_ENOMEM, "forecast: %zu values", n);
	memcpy(x, y, n * sizeof(*x));
	seasonal = peer_seasonal(y, n, season);
	if (seasonal) {
		peer_indices(y, n, season, x + n, x + n + season);
		for (size_t i = 0; i < n; i++)
			x[i] /= x[n + i % season];
	}
	peer_level(p, x, n, horizon, mean_out);
	for (size_t i = 0; seasonal && i < horizon; i++)
		mean_out[i] *= x[n + (n + i) % season];
	free(x);
	return BERTH_OK;
}
