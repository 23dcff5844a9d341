/* forecast/cand_simple.c - candidates without a fit: last value, means, seasonal naive, profiles.
 * Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

struct fc_cand *
fc_cand_add(struct fc_job *j, const char *name)
{
	struct fc_cand *c = &j->cand[j->n_cand++];

	c->name = name;
	c->plain = false;
	c->cv = arena_array(j->tmp, j->n_org * j->hc, sizeof(*c->cv));
	c->fin = arena_array(j->tmp, j->h, sizeof(*c->fin));
	return c;
}

void
fc_cand_drop(struct fc_job *j, size_t c)
{
	j->failed[j->n_failed++] = j->cand[c].name;
	memmove(&j->cand[c], &j->cand[c + 1], (--j->n_cand - c) * sizeof(j->cand[0]));
}

void
fc_cand_exp(const struct fc_job *j, struct fc_cand *c)
{
	for (size_t k = 0; k < j->n_org; k++)
		for (size_t i = 0; i < fc_seen(j, k); i++)
			c->cv[k * j->hc + i] = exp(c->cv[k * j->hc + i]) - j->log_shift;
	for (size_t i = 0; i < j->h; i++)
		c->fin[i] = exp(c->fin[i]) - j->log_shift;
}

/* Forecasts h steps from the first o steps of y. */
typedef void simple_fn(
    const struct fc_job *j, const double *sum, size_t o, size_t par, double *out, size_t h);

static void
simple_mean(const struct fc_job *j, const double *sum, size_t o, size_t par, double *out, size_t h)
{
	size_t k = par < o ? par : o;
	double m = k == 1 ? j->y[o - 1] : (sum[o] - sum[o - k]) / (double)k;

	for (size_t i = 0; i < h; i++)
		out[i] = m;
}

static void
simple_snaive(
    const struct fc_job *j, const double *sum, size_t o, size_t par, double *out, size_t h)
{
	(void)sum;
	for (size_t i = 0; i < h; i++)
		out[i] = i < par ? j->y[o - par + i] : out[i - par];
}

/* Half last value, half the same hour yesterday. */
static void
simple_half(const struct fc_job *j, const double *sum, size_t o, size_t par, double *out, size_t h)
{
	simple_snaive(j, sum, o, par, out, h);
	for (size_t i = 0; i < h; i++)
		out[i] = 0.5 * (out[i] + j->y[o - 1]);
}

/* Mean shape of up to four seasons of par steps around each season's mean, hung on the last day's
 * level. */
static void
simple_profile(
    const struct fc_job *j, const double *sum, size_t o, size_t par, double *out, size_t h)
{
	size_t k = o / par < 4 ? o / par : 4;
	double base = (sum[o] - sum[o - j->day]) / (double)j->day, last_day = 0;

	for (size_t i = 0; i < h && i < par; i++) {
		out[i] = 0;
		for (size_t w = 1; w <= k; w++)
			out[i] += j->y[o - w * par + i] -
				  (sum[o - (w - 1) * par] - sum[o - w * par]) / (double)par;
		out[i] /= (double)k;
	}
	for (size_t w = 1; w <= k; w++)
		last_day +=
		    (sum[o - (w - 1) * par] - sum[o - (w - 1) * par - j->day]) / (double)j->day -
		    (sum[o - (w - 1) * par] - sum[o - w * par]) / (double)par;
	base -= last_day / (double)k;
	for (size_t i = 0; i < h; i++)
		out[i] = i < par ? out[i] + base : out[i - par];
}

static void
simple_run(struct fc_job *j, const char *name, simple_fn *fn, const double *sum, size_t par)
{
	struct fc_cand *c = fc_cand_add(j, name);

	for (size_t k = 0; k < j->n_org; k++)
		fn(j, sum, j->org[k], par, c->cv + k * j->hc, fc_seen(j, k));
	fn(j, sum, j->n, par, c->fin, j->h);
	c->plain = par == 1;
}

void
fc_cand_simple(struct fc_job *j)
{
	double *sum = arena_array(j->tmp, j->n + 1, sizeof(*sum));
	size_t month = 4 * j->week;
	bool w = j->daily;

	for (size_t i = 0; i < j->n; i++)
		sum[i + 1] = sum[i] + j->y[i];
	simple_run(j, "last value", simple_mean, sum, 1);
	if (j->day > 1 && j->fit_n >= 2 * j->day) {
		simple_run(j, w ? "mean of a week" : "mean of a day", simple_mean, sum, j->day);
		simple_run(j, w ? "same day last week" : "same hour yesterday", simple_snaive, sum,
		    j->day);
		simple_run(j, w ? "last value and last week" : "last value and yesterday",
		    simple_half, sum, j->day);
	}
	if (j->week > 0 && j->fit_n >= j->week)
		simple_run(j, "mean of a week", simple_mean, sum, j->week);
	if (j->week > 0 && j->fit_n >= 2 * j->week) {
		simple_run(j, "mean of four weeks", simple_mean, sum, month);
		simple_run(j, "same hour last week", simple_snaive, sum, j->week);
		simple_run(j, "weekly profile", simple_profile, sum, j->week);
	}
}
