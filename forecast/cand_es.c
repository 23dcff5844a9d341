/* forecast/cand_es.c - additive double-seasonal exponential smoothing with AR(1) errors.  Floor:
 * domain.
 *
 * Taylor (2003), "Short-term electricity demand forecasting using double seasonal exponential
 * smoothing". Parameters are not fitted one step ahead but chosen from a grid by the error over the
 * rolling origins, for each part of the horizon its own; sixteen parameter sets run side by side as
 * lanes of one filter, so a grid costs what one fit costs.
 */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

enum {
	LANES = 16,
	DENSE = 48,
	THIN = 5 /* errors further ahead are looked at every fifth step */
};

struct es_set {
	double alpha, gamma_day, gamma_week, rho;
};

static const struct es_set es_day_sets[LANES] = {
	{ .01, .10, 0, .00 },
	{ .01, .10, 0, .80 },
	{ .02, .25, 0, .60 },
	{ .02, .25, 0, .95 },
	{ .10, .05, 0, .00 },
	{ .10, .05, 0, .80 },
	{ .10, .20, 0, .50 },
	{ .10, .40, 0, .90 },
	{ .30, .05, 0, .00 },
	{ .30, .15, 0, .50 },
	{ .30, .30, 0, .80 },
	{ .60, .05, 0, .00 },
	{ .60, .20, 0, .30 },
	{ .90, .02, 0, .00 },
	{ .90, .10, 0, .00 },
	{ .98, .00, 0, .00 },
};
static const struct es_set es_week_sets[LANES] = {
	{ .005, .00, .10, .80 },
	{ .005, .05, .20, .95 },
	{ .02, .00, .15, .70 },
	{ .02, .05, .30, .90 },
	{ .02, .15, .15, .80 },
	{ .02, .10, .45, .95 },
	{ .05, .00, .10, .50 },
	{ .05, .05, .30, .80 },
	{ .05, .20, .20, .90 },
	{ .15, .00, .10, .00 },
	{ .15, .05, .30, .60 },
	{ .15, .20, .20, .70 },
	{ .40, .02, .10, .00 },
	{ .40, .15, .30, .50 },
	{ .80, .02, .05, .00 },
	{ .80, .10, .20, .00 },
};

struct es_filter {
	const double *z;           /* [n] the series, or its logarithm */
	size_t day, week;          /* week 0: one season */
	const struct es_set *sets; /* [LANES] */
	double level[LANES], resid[LANES];
	double (*s_day)[LANES], (*s_week)[LANES]; /* [day], [week] */
	size_t at;                                /* steps seen */
};

/* Seasonal shapes and level from the first k steps: means around each cycle's mean. */
static void
es_start(struct es_filter *f, size_t k, double *day_shape, double *week_shape)
{
	size_t nd = k / f->day, nw = f->week > 0 ? k / f->week : 0;
	double level = 0;

	for (size_t b = 0; b < nd; b++) {
		double m = fc_mean(f->z + b * f->day, f->day);

		for (size_t i = 0; i < f->day; i++)
			day_shape[i] += (f->z[b * f->day + i] - m) / (double)nd;
	}
	for (size_t b = 0; b < nw; b++) {
		double m = fc_mean(f->z + b * f->week, f->week);

		for (size_t i = 0; i < f->week; i++)
			week_shape[i] +=
			    (f->z[b * f->week + i] - m - day_shape[i % f->day]) / (double)nw;
	}
	for (size_t i = 0; i < f->day; i++)
		level += (f->z[i] - (nw > 0 ? week_shape[i] : 0)) / (double)f->day;
	for (size_t c = 0; c < LANES; c++) {
		f->level[c] = level;
		f->resid[c] = 0;
		for (size_t i = 0; i < f->day; i++)
			f->s_day[i][c] = day_shape[i];
		for (size_t i = 0; i < f->week; i++)
			f->s_week[i][c] = week_shape[i];
	}
	f->at = 0;
}

static void
es_advance(struct es_filter *f, size_t to)
{
	double a[LANES], g1[LANES], g2[LANES];

	for (size_t c = 0; c < LANES; c++) {
		a[c] = f->sets[c].alpha;
		g1[c] = f->sets[c].gamma_day;
		g2[c] = f->sets[c].gamma_week;
	}
	for (; f->at < to; f->at++) {
		double *s1 = f->s_day[f->at % f->day], z = f->z[f->at];
		double *s2 = f->week > 0 ? f->s_week[f->at % f->week] : NULL;

		for (size_t c = 0; c < LANES; c++) {
			double r = z - f->level[c] - s1[c] - (s2 ? s2[c] : 0);

			f->level[c] += a[c] * r;
			s1[c] += g1[c] * r;
			if (s2)
				s2[c] += g2[c] * r;
			f->resid[c] = r;
		}
	}
}

/* out [LANES]: forecasts of the step `ahead` (0-based); carry [LANES] holds rho^(ahead + 1) *
 * resid. */
static void
es_ahead(const struct es_filter *f, size_t ahead, const double *carry, double *out)
{
	const double *s1 = f->s_day[(f->at + ahead) % f->day];
	const double *s2 = f->week > 0 ? f->s_week[(f->at + ahead) % f->week] : NULL;

	for (size_t c = 0; c < LANES; c++) {
		out[c] = f->level[c] + s1[c] + carry[c] + (s2 ? s2[c] : 0);
	}
}

/* Error of each lane and group of steps over the rolling origins; in logs an error counts as much
 * as it does in demand, to first order. */
static void
es_errors(const struct fc_job *j, struct es_filter *f, bool logs, double (*err)[LANES])
{
	double carry[LANES], out[LANES];

	memset(err, 0, FC_GROUPS * sizeof(*err));
	for (size_t k = 0; k < j->n_org; k++) {
		size_t h = fc_seen(j, k);

		es_advance(f, j->org[k]);
		memcpy(carry, f->resid, sizeof(carry));
		for (size_t i = 0; i < h; i++) {
			size_t t = f->at + i;
			double w = logs ? j->y[t] + j->log_shift : 1,
			       *e = err[fc_group(fc_bucket(i))];

			for (size_t c = 0; c < LANES; c++)
				carry[c] *= f->sets[c].rho;
			if (i >= DENSE && i % THIN != 0)
				continue;
			es_ahead(f, i, carry, out);
			for (size_t c = 0; c < LANES; c++)
				e[c] += (i < DENSE ? w : THIN * w) * fabs(out[c] - f->z[t]);
		}
	}
}

static double
es_value(const struct fc_job *j, bool logs, double v)
{
	return logs ? exp(v) - j->log_shift : v;
}

/* Writes the forecasts at all origins and at the end into a candidate; lane [FC_GROUPS]. */
static void
es_emit(struct fc_job *j, struct es_filter *f, bool logs, const size_t *lane, struct fc_cand *cand)
{
	for (size_t k = 0; k <= j->n_org; k++) {
		size_t h = k < j->n_org ? fc_seen(j, k) : j->h, d, w, i = 0;
		double *to = k < j->n_org ? cand->cv + k * j->hc : cand->fin;

		es_advance(f, k < j->n_org ? j->org[k] : j->n);
		d = f->at % f->day;
		w = f->week > 0 ? f->at % f->week : 0;
		for (size_t b = 0; b < FC_BUCKETS; b++) {
			size_t c = lane[fc_group(b)];
			double carry = f->resid[c] * pow(f->sets[c].rho, (double)i);

			for (; i < fc_bucket_end(b, h); i++) {
				carry *= f->sets[c].rho;
				to[i] = es_value(j, logs,
				    f->level[c] + f->s_day[d][c] + carry +
					(f->week > 0 ? f->s_week[w][c] : 0));
				d = d + 1 < f->day ? d + 1 : 0;
				w = w + 1 < f->week ? w + 1 : 0;
			}
		}
	}
}

/* The lane that erred least for each group of steps; where nothing is seen, that of the group
 * before. */
static void
es_choose(double (*err)[LANES], size_t *lane)
{
	for (size_t g = 0; g < FC_GROUPS; g++) {
		lane[g] = g > 0 ? lane[g - 1] : 0;
		for (size_t i = 0; i < LANES; i++)
			if (err[g][i] < err[g][lane[g]])
				lane[g] = i;
	}
}

static void
es_family(struct fc_job *j, const char *name, bool logs, size_t week, const struct es_set *sets)
{
	struct es_filter f = {
		.z = logs ? j->logy : j->y, .day = j->day, .week = week, .sets = sets
	};
	size_t k = j->fit_n < 4 * j->cycle ? j->fit_n : 4 * j->cycle, lane[FC_GROUPS];
	double *day_shape = arena_array(j->tmp, j->day, sizeof(*day_shape)), err[FC_GROUPS][LANES];
	double *week_shape = arena_array(j->tmp, week + 1, sizeof(*week_shape));
	struct fc_cand *c;

	if (week == 0 && k > 14 * j->day)
		k = 14 * j->day;
	f.s_day = arena_array(j->tmp, j->day, sizeof(*f.s_day));
	f.s_week = arena_array(j->tmp, week + 1, sizeof(*f.s_week));
	es_start(&f, k, day_shape, week_shape);
	es_errors(j, &f, logs, err);
	es_choose(err, lane);
	c = fc_cand_add(j, name);
	memset(day_shape, 0, j->day * sizeof(*day_shape));
	memset(week_shape, 0, week * sizeof(*week_shape));
	es_start(&f, k, day_shape, week_shape);
	es_emit(j, &f, logs, lane, c);
}

void
fc_cand_es(struct fc_job *j)
{
	if (j->day < 2 || j->fit_n < 3 * j->day)
		return;
	es_family(j, j->daily ? "weekly smoothing" : "daily smoothing", false, 0, es_day_sets);
	es_family(j, j->daily ? "weekly smoothing of logs" : "daily smoothing of logs", true, 0,
	    es_day_sets);
	if (j->week == 0 || j->fit_n < 2 * j->week)
		return;
	es_family(j, "weekly smoothing", false, j->week, es_week_sets);
	es_family(j, "weekly smoothing of logs", true, j->week, es_week_sets);
}
