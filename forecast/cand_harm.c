/* forecast/cand_harm.c - a smooth daily and weekly shape, fixed over the history, on a level that
 * wanders.  Floor: domain.
 *
 * The shape's sines and cosines are fitted to the differences of the series, since the level of
 * demand is near a random walk and would else be taken for shape. What is left is smoothed, with an
 * AR(1) error; smoothing and decay are chosen from a grid by the error over the rolling origins,
 * for each part of the horizon its own.
 */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

enum {
	LANES = 16,
	HARM_DAY = 5,
	HARM_WEEK = 3,
	HARM_TERMS = 2 * (HARM_DAY + HARM_WEEK),
	HARM_THIN = 3
};

static const double harm_alpha[LANES] = { .01, .01, .03, .03, .03, .1, .1, .1, .2, .2, .2, .4, .4,
	.6, .8, 1 };
static const double harm_rho[LANES] = { .8, .95, 0, .8, .95, 0, .6, .9, 0, .6, .9, 0, .5, 0, 0, 0 };

struct harm {
	size_t period, n_term;
	double *wave;  /* [period][n_term] */
	double *shape; /* [period] */
};

static void
harm_layout(struct harm *m, const struct fc_job *j)
{
	size_t k_day = (j->day - 1) / 2 < HARM_DAY ? (j->day - 1) / 2 : HARM_DAY;
	size_t k_week = j->week > 0 && j->fit_n >= 3 * j->week ? HARM_WEEK : 0;

	m->period = k_week > 0 ? j->week : j->day;
	m->n_term = 2 * (k_day + k_week);
	m->wave = arena_array(j->tmp, m->period * m->n_term, sizeof(double));
	m->shape = arena_array(j->tmp, m->period, sizeof(double));
	for (size_t p = 0; p < m->period; p++)
		for (size_t k = 0; k < k_day + k_week; k++) {
			double cycle = k < k_day
					   ? (double)(k + 1) * (double)p / (double)j->day
					   : (double)(k - k_day + 1) * (double)p / (double)j->week;

			m->wave[p * m->n_term + 2 * k] = sin(2 * M_PI * cycle);
			m->wave[p * m->n_term + 2 * k + 1] = cos(2 * M_PI * cycle);
		}
}

/* The differences of z[0..n) by the phase they lead to: a sum and a count for each, so that the fit
 * costs the period, not n. */
static bool
harm_fit(struct harm *m, const double *z, size_t n, struct arena *a)
{
	size_t k = m->n_term, q = m->period;
	double *sum = arena_array(a, q, sizeof(*sum)), *count = arena_array(a, q, sizeof(*count));
	double *gram = arena_array(a, k * k, sizeof(*gram)), beta[HARM_TERMS] = { 0 },
	       row[HARM_TERMS];

	for (size_t t = 1; t < n; t++) {
		sum[t % q] += z[t] - z[t - 1];
		count[t % q]++;
	}
	for (size_t p = 0; p < q; p++) {
		const double *w = m->wave + p * k, *v = m->wave + (p + q - 1) % q * k;

		for (size_t i = 0; i < k; i++)
			row[i] = w[i] - v[i];
		for (size_t i = 0; i < k; i++) {
			for (size_t l = i; l < k; l++)
				gram[i * k + l] += count[p] * row[i] * row[l];
			beta[i] += row[i] * sum[p];
		}
	}
	for (size_t i = 0; i < k; i++)
		gram[i * k + i] *= 1 + 1e-6;
	if (!fc_chol(gram, k))
		return false;
	fc_chol_solve(gram, k, beta, 1);
	for (size_t p = 0; p < q; p++) {
		m->shape[p] = 0;
		for (size_t i = 0; i < k; i++)
			m->shape[p] += beta[i] * m->wave[p * k + i];
	}
	return true;
}

struct lanes {
	double level[LANES], resid[LANES];
	size_t at; /* steps seen */
};

static void
harm_start(const struct harm *m, const double *z, size_t day, struct lanes *f)
{
	double level = 0;

	for (size_t i = 0; i < day; i++)
		level += (z[i] - m->shape[i % m->period]) / (double)day;
	for (size_t c = 0; c < LANES; c++) {
		f->level[c] = level;
		f->resid[c] = 0;
	}
	f->at = 0;
}

static void
harm_advance(const struct harm *m, const double *z, size_t to, struct lanes *f)
{
	for (; f->at < to; f->at++) {
		double u = z[f->at] - m->shape[f->at % m->period];

		for (size_t c = 0; c < LANES; c++) {
			double r = u - f->level[c];

			f->level[c] += harm_alpha[c] * r;
			f->resid[c] = r - harm_alpha[c] * r;
		}
	}
}

/* Every third step tells enough of a lane. */
static void
harm_errors(const struct fc_job *j, const struct harm *m, const double *z, double (*err)[LANES])
{
	struct lanes f;

	memset(err, 0, FC_GROUPS * sizeof(*err));
	harm_start(m, z, j->day, &f);
	for (size_t k = 0; k < j->n_org; k++) {
		double carry[LANES];

		harm_advance(m, z, j->org[k], &f);
		memcpy(carry, f.resid, sizeof(carry));
		for (size_t i = 0; i < fc_seen(j, k); i++) {
			double u = z[f.at + i] - m->shape[(f.at + i) % m->period],
			       *e = err[fc_group(fc_bucket(i))];

			for (size_t c = 0; c < LANES; c++)
				carry[c] *= harm_rho[c];
			for (size_t c = 0; c < LANES && i % HARM_THIN == 0; c++)
				e[c] += fabs(u - f.level[c] - carry[c]);
		}
	}
}

static void
harm_emit(const struct harm *m, const struct lanes *f, const size_t *lane, size_t h, double *out)
{
	size_t i = 0;

	for (size_t b = 0; b < FC_BUCKETS; b++) {
		size_t c = lane[fc_group(b)];
		double carry = f->resid[c] * pow(harm_rho[c], (double)i);

		for (; i < fc_bucket_end(b, h); i++) {
			carry *= harm_rho[c];
			out[i] = f->level[c] + carry + m->shape[(f->at + i) % m->period];
		}
	}
}

static void
harm_run(struct fc_job *j, const char *name, const double *z, bool logs)
{
	double err[FC_GROUPS][LANES];
	size_t lane[FC_GROUPS] = { 0 };
	struct fc_cand *c;
	struct lanes f;
	struct harm m;

	harm_layout(&m, j);
	c = fc_cand_add(j, name);
	if (!harm_fit(&m, z, j->fit_n, j->tmp)) {
		fc_cand_drop(j, j->n_cand - 1);
		return;
	}
	harm_errors(j, &m, z, err);
	for (size_t g = 0; g < FC_GROUPS; g++) {
		lane[g] = g > 0 ? lane[g - 1] : 0;
		for (size_t i = 0; i < LANES; i++)
			if (err[g][i] < err[g][lane[g]])
				lane[g] = i;
	}
	harm_start(&m, z, j->day, &f);
	for (size_t k = 0; k < j->n_org; k++) {
		harm_advance(&m, z, j->org[k], &f);
		harm_emit(&m, &f, lane, fc_seen(j, k), c->cv + k * j->hc);
	}
	if (!harm_fit(&m, z, j->n, j->tmp)) {
		fc_cand_drop(j, j->n_cand - 1);
		return;
	}
	harm_start(&m, z, j->day, &f);
	harm_advance(&m, z, j->n, &f);
	harm_emit(&m, &f, lane, j->h, c->fin);
	if (logs)
		fc_cand_exp(j, c);
}

void
fc_cand_harm(struct fc_job *j)
{
	if (j->day < 4 || j->fit_n < 3 * j->day)
		return;
	harm_run(j, "harmonics", j->y, false);
	harm_run(j, "harmonics of logs", j->logy, true);
}
