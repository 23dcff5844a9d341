/* forecast/combine.c - weights from rolling origins, and the combination.  Floor: domain.
 *
 * The combination is the weighted median of the candidates: where half of the weight says "as now", the answer is exactly
 * "as now", which is what a step-like series does, and one wild candidate moves nothing.
 */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct fc_tuning fc_tuning = {
	.power = 2, .handicap = 1, .flat_handicap = 5, .flat_step = .0003, .own_n = 8, .widen = 1.02, .widen_bucket = .06,
	.least_scale = .1, .hier_own = 25, .peak_now = { .40, .15, .30, .15 }, .peak_later = { .25, .25, .20, .30 },
};

/* No forecast leaves [0, twice the highest value seen]; a trace of demand is none. */
#define FC_NOTHING 1e-3		/* of the mean level */

static void
combine_clamp(const struct fc_job *j, double *x, size_t n)
{
	double top = FC_TOP * j->top;

	for (size_t i = 0; i < n; i++)
		x[i] = !(x[i] > FC_NOTHING) ? 0 : x[i] < top ? x[i] : top;
}

static void
combine_errors(struct fc_job *j, struct fc_cand *c)
{
	double sum[FC_BUCKETS] = { 0 }, count[FC_BUCKETS] = { 0 };

	for (size_t k = 0; k < j->n_org; k++)
		for (size_t i = 0; i < fc_seen(j, k); i++) {
			size_t t = j->org[k] + i, b = fc_bucket(i);

			if (j->miss[t])
				continue;
			sum[b] += fabs(c->cv[k * j->hc + i] - j->y[t]);
			count[b]++;
		}
	for (size_t b = 0; b < FC_BUCKETS; b++)
		c->err[b] = count[b] > 0 ? sum[b] / count[b] : b > 0 ? c->err[b - 1] : NAN;
}

/* Share of steps on which the series does not move. */
static double
combine_flat(const struct fc_job *j)
{
	size_t flat = 0;

	for (size_t i = 1; i < j->n; i++)
		flat += fabs(j->y[i] - j->y[i - 1]) <= fc_tuning.flat_step * j->level;
	return (double)flat / (double)j->n;
}

static void
combine_weights(struct fc_job *j)
{
	double handicap = fc_tuning.handicap + fc_tuning.flat_handicap * combine_flat(j);
	size_t m = j->n_cand;

	for (size_t b = 0; b < FC_BUCKETS; b++) {
		double *w = j->weight + b * m, sum = 0, best = INFINITY;

		for (size_t c = 0; c < m; c++) {
			double e = j->cand[c].err[b] * (j->cand[c].plain ? 1 : handicap);

			w[c] = isnan(e) ? j->cand[c].plain ? 1e-9 : 1 : e + 1e-9;
			best = w[c] < best ? w[c] : best;
		}
		for (size_t c = 0; c < m; c++)
			sum += w[c] = pow(best / w[c], fc_tuning.power);
		for (size_t c = 0; c < m; c++)
			w[c] /= sum;
	}
}

/* Weighted median of v [n]; sorts order by value. Equal values are met in the order of the candidates. */
static double
combine_median(const double *v, const double *w, unsigned char *order, size_t n)
{
	double acc = 0;

	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && v[order[k]] < v[order[k - 1]]; k--) {
			unsigned char o = order[k];

			order[k] = order[k - 1];
			order[k - 1] = o;
		}
	for (size_t i = 0; i < n; i++) {
		acc += w[order[i]];
		if (acc >= 0.5)
			return v[order[i]];
	}
	return v[order[n - 1]];
}

/* The order of the candidates changes little from step to step: sorting starts from the last one. */
static void
combine_mix(const struct fc_job *j, double *out, size_t h, size_t offset, bool fin)
{
	unsigned char order[FC_CAND_MAX];
	double v[FC_CAND_MAX];

	for (size_t c = 0; c < j->n_cand; c++)
		order[c] = (unsigned char)c;
	for (size_t i = 0; i < h; i++) {
		for (size_t c = 0; c < j->n_cand; c++)
			v[c] = fin ? j->cand[c].fin[i] : j->cand[c].cv[offset + i];
		out[i] = combine_median(v, j->weight + fc_bucket(i) * j->n_cand, order, j->n_cand);
	}
}

static int
combine_cmp_part(const void *a, const void *b)
{
	const struct fc_part *x = a, *y = b;

	return x->weight < y->weight ? 1 : x->weight > y->weight ? -1 : (x->name > y->name) - (x->name < y->name);
}

/* Mean weights over the horizon. */
static void
combine_parts(struct fc_job *j)
{
	j->n_part = j->n_cand;
	j->part = arena_array(j->a, j->n_cand, sizeof(*j->part));
	for (size_t c = 0; c < j->n_cand; c++) {
		j->part[c].name = j->cand[c].name;
		for (size_t b = 0, from = 0; b < FC_BUCKETS; from = fc_bucket_end(b++, j->h))
			j->part[c].weight += j->weight[b * j->n_cand + c] * (double)(fc_bucket_end(b, j->h) - from) /
			    (double)j->h;
	}
	qsort(j->part, j->n_part, sizeof(*j->part), combine_cmp_part);
}

void
fc_combine(struct fc_job *j)
{
	for (size_t c = 0; c < j->n_cand; c++) {
		for (size_t k = 0; k < j->n_org; k++)
			combine_clamp(j, j->cand[c].cv + k * j->hc, fc_seen(j, k));
		combine_clamp(j, j->cand[c].fin, j->h);
		combine_errors(j, &j->cand[c]);
	}
	j->weight = arena_array(j->tmp, FC_BUCKETS * j->n_cand, sizeof(*j->weight));
	combine_weights(j);
	j->cv = arena_array(j->a, j->n_org * j->hc + 1, sizeof(*j->cv));
	j->fin = arena_array(j->a, j->h, sizeof(*j->fin));
	for (size_t k = 0; k < j->n_org; k++)
		combine_mix(j, j->cv + k * j->hc, fc_seen(j, k), k * j->hc, false);
	combine_mix(j, j->fin, j->h, 0, true);
	combine_parts(j);
}
