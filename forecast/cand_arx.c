/* forecast/cand_arx.c - ridge regression on lags and harmonics, forecast recursively.  Floor:
 * domain. */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

enum { ARX_LAGS = 10, ARX_TERMS = 40 };

struct arx {
	size_t n_lag, lag[ARX_LAGS], n_term; /* terms: 1, lags, sine and cosine pairs */
	size_t day, week, k_day, k_week;
	size_t period;         /* the harmonics repeat after so many steps */
	double *harm;          /* [period][2 * (k_day + k_week)] */
	double mu, sd, lo, hi; /* standardisation and range of what was fitted */
	double beta[ARX_TERMS];
	bool singular;
	double *season; /* [period] harmonics times beta */
};

static void
arx_layout(struct arx *x, const struct fc_job *j, size_t max_lag)
{
	const size_t lags[] = { 1, 2, 3, j->day, j->day + 1, j->week, j->week + 1 };

	memset(x, 0, sizeof(*x));
	for (size_t i = 0; i < sizeof(lags) / sizeof(lags[0]); i++)
		if ((lags[i] > 1 || i == 0) && lags[i] <= max_lag)
			if (3 * lags[i] < j->fit_n &&
			    (x->n_lag == 0 || lags[i] > x->lag[x->n_lag - 1]))
				x->lag[x->n_lag++] = lags[i];
	x->day = j->day;
	x->week = j->week;
	x->k_day = j->day >= 7 && j->fit_n >= 3 * j->day ? j->day >= 8 ? 4 : 3 : 0;
	x->k_week = j->week >= 7 && j->fit_n >= 3 * j->week ? 3 : 0;
	x->period = j->week > 0 ? j->week : j->day > 0 ? j->day : 1;
	x->n_term = 1 + x->n_lag + 2 * (x->k_day + x->k_week);
	x->harm = arena_array(j->tmp, x->period * 2 * (x->k_day + x->k_week) + 1, sizeof(double));
	x->season = arena_array(j->tmp, x->period, sizeof(double));
	for (size_t p = 0; p < x->period; p++) {
		double *row = x->harm + p * 2 * (x->k_day + x->k_week);

		for (size_t k = 0; k < x->k_day + x->k_week; k++) {
			double cycle =
			    k < x->k_day ? (double)(k + 1) * (double)p / (double)x->day
					 : (double)(k - x->k_day + 1) * (double)p / (double)x->week;

			*row++ = sin(2 * M_PI * cycle);
			*row++ = cos(2 * M_PI * cycle);
		}
	}
}

/* Fits on z[0..n). */
static bool
arx_fit(struct arx *x, const double *z, size_t n, double *s, double *gram)
{
	size_t m = x->n_term, from = x->lag[x->n_lag - 1], nh = 2 * (x->k_day + x->k_week);
	double ss = 0, row[ARX_TERMS];

	x->mu = fc_mean(z, n);
	for (size_t i = 0; i < n; i++)
		ss += (z[i] - x->mu) * (z[i] - x->mu);
	x->sd = sqrt(ss / (double)(n - 1));
	if (!(x->sd > 1e-12 * fabs(x->mu)) || n < from + 2 * m)
		return false;
	x->lo = INFINITY;
	x->hi = -INFINITY;
	for (size_t i = 0; i < n; i++) {
		s[i] = (z[i] - x->mu) / x->sd;
		x->lo = s[i] < x->lo ? s[i] : x->lo;
		x->hi = s[i] > x->hi ? s[i] : x->hi;
	}
	memset(gram, 0, m * m * sizeof(*gram));
	memset(x->beta, 0, sizeof(x->beta));
	for (size_t t = from; t < n; t++) {
		row[0] = 1;
		for (size_t i = 0; i < x->n_lag; i++)
			row[1 + i] = s[t - x->lag[i]];
		memcpy(row + 1 + x->n_lag, x->harm + t % x->period * nh, nh * sizeof(*row));
		for (size_t i = 0; i < m; i++) {
			for (size_t k = i; k < m; k++)
				gram[i * m + k] += row[i] * row[k];
			x->beta[i] += row[i] * s[t];
		}
	}
	for (size_t i = 0; i < m; i++)
		gram[i * m + i] += 1e-3 * (double)(n - from);
	x->singular = !fc_chol(gram, m);
	if (x->singular)
		return false;
	fc_chol_solve(gram, m, x->beta, 1);
	for (size_t p = 0; p < x->period; p++) {
		x->season[p] = x->beta[0];
		for (size_t i = 0; i < nh; i++)
			x->season[p] += x->beta[1 + x->n_lag + i] * x->harm[p * nh + i];
	}
	return true;
}

/* s: standardised history up to at, with room for h more; out: [h] in the scale of z. */
static void
arx_predict(const struct arx *x, double *s, size_t at, size_t h, double *out)
{
	for (size_t i = 0; i < h; i++) {
		double v = x->season[(at + i) % x->period];

		for (size_t k = 0; k < x->n_lag; k++)
			v += x->beta[1 + k] * s[at + i - x->lag[k]];
		v = v < x->lo - 1 ? x->lo - 1 : v > x->hi + 1 ? x->hi + 1 : v;
		s[at + i] = v;
		out[i] = v * x->sd + x->mu;
	}
}

static void
arx_scale(const struct arx *x, const double *z, double *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s[i] = (z[i] - x->mu) / x->sd;
}

static void
arx_run(struct fc_job *j, const char *name, bool logs, size_t max_lag)
{
	struct arx x;
	const double *z = logs ? j->logy : j->y;
	double *s = arena_array(j->tmp, j->n + j->h + j->hc, sizeof(*s)), *gram;
	struct fc_cand *c;

	arx_layout(&x, j, max_lag);
	gram = arena_array(j->tmp, x.n_term * x.n_term, sizeof(*gram));
	if (x.n_lag == 0)
		return;
	c = fc_cand_add(j, name);
	if (!arx_fit(&x, z, j->fit_n, s, gram)) {
		if (x.singular)
			fc_cand_drop(j, j->n_cand - 1);
		else
			j->n_cand--; /* nothing to fit */
		return;
	}
	arx_scale(&x, z, s, j->n);
	for (size_t k = 0; k < j->n_org; k++) {
		arx_predict(&x, s, j->org[k], fc_seen(j, k), c->cv + k * j->hc);
		for (size_t i = j->org[k]; i < j->org[k] + j->hc && i < j->n; i++)
			s[i] = (z[i] - x.mu) / x.sd;
	}
	if (!arx_fit(&x, z, j->n, s, gram)) {
		fc_cand_drop(j, j->n_cand - 1);
		return;
	}
	arx_predict(&x, s, j->n, j->h, c->fin);
	if (logs)
		fc_cand_exp(j, c);
}

void
fc_cand_arx(struct fc_job *j)
{
	arx_run(j, "autoregression", false, SIZE_MAX);
	if (j->day > 1 && j->week > j->day)
		arx_run(j, "daily autoregression", false, j->day + 1);
	else if (j->daily ||
		 j->day < 2) /* days and weeks have no shared regressions of logarithms */
		arx_run(j, "autoregression of logs", true, SIZE_MAX);
}
