/* forecast/combine.c - weights from rolling origins, and the combination.  Floor: domain.
 *
 * The combination is the weighted mean of the middle of the candidates, its tails cut off, so that
 * one wild candidate moves nothing; but where the weighted median says "as now", the answer is
 * exactly "as now", which is what a step-like series does. How sharply weights follow the past
 * errors is not a taste either: a trial on past origins tells (fc_trial), pooled over the run.
 */
#include "forecast/fc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct fc_tuning fc_tuning = {
	.powers = { 2, 3, 4 },
	.cuts = { .4, .3, .2 },
	.now_share = .15,
	.power_doubt = .01,
	.power_own = 8,
	.handicap = 1,
	.flat_handicap = 5,
	.flat_step = .0003,
	.own_n = 8,
	.widen = 1.02,
	.widen_bucket = .06,
	.least_scale = .1,
	.hier_own = .1,
	.rough_own = .7,
	.rough_most = { .6, .4 },
	.peak_grow = .4,
	.peak_own = 8,
	.move_own = 4,
	.move_grow = .4,
	.peak_share = { { .45, .20, .05, .30 }, { .45, .20, .20, .15 }, { .25, .25, .20, .30 } },
};

/* No forecast leaves [0, twice the highest value seen]; a trace of demand is none. */
#define FC_NOTHING 1e-3 /* of the mean level */

static void
combine_clamp(const struct fc_job *j, double *x, size_t n)
{
	double top = FC_TOP * j->top;

	for (size_t i = 0; i < n; i++)
		x[i] = !(x[i] > FC_NOTHING) ? 0 : x[i] < top ? x[i] : top;
}

/* Over the first n_org origins, as far as truth is known before step `known`. */
static void
combine_errors(const struct fc_job *j, size_t n_org, size_t known, struct fc_cand *c)
{
	double sum[FC_BUCKETS] = { 0 }, count[FC_BUCKETS] = { 0 };

	for (size_t k = 0; k < n_org; k++)
		for (size_t i = 0; i < fc_seen(j, k) && j->org[k] + i < known; i++) {
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

/* w [n_cand] from the errors of bucket b */
static void
combine_weights(const struct fc_job *j, size_t b, double handicap, double power, double *w)
{
	double sum = 0, best = INFINITY;
	size_t m = j->n_cand;

	for (size_t c = 0; c < m; c++) {
		double e = j->cand[c].err[b] * (j->cand[c].plain ? 1 : handicap);

		w[c] = isnan(e) ? j->cand[c].plain ? 1e-9 : 1 : e + 1e-9;
		best = w[c] < best ? w[c] : best;
	}
	for (size_t c = 0; c < m; c++)
		sum += w[c] = pow(best / w[c], power);
	for (size_t c = 0; c < m; c++)
		w[c] /= sum;
}

static void
combine_sort(const double *v, unsigned char *order, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && v[order[k]] < v[order[k - 1]]; k--) {
			unsigned char o = order[k];

			order[k] = order[k - 1];
			order[k - 1] = o;
		}
}

/*
 * The middle of v [n] with weights w; sorts order by value. Equal values are met in the order of
 * the candidates. now: value of the plain candidate; cut: share of the weight left out at either
 * end.
 */
static double
combine_middle(
    const double *v, const double *w, unsigned char *order, size_t n, double now, double cut)
{
	double acc = 0, sum = 0, share = 0;
	bool half = false;

	combine_sort(v, order, n);
	for (size_t i = 0; i < n; i++) {
		double from = acc > cut ? acc : cut, to, x = v[order[i]];

		acc += w[order[i]];
		to = acc < 1 - cut ? acc : 1 - cut;
		if (to > from) {
			sum += (to - from) * x;
			share += to - from;
		}
		if (acc >= 0.5 && !half) {
			if (w[0] >= fc_tuning.now_share && fabs(x - now) <= 1e-9 * now)
				return now;
			half = true;
		}
	}
	return share > 0 ? sum / share : v[order[n / 2]];
}

/* The first candidate is the plain one. The order changes little from step to step: sorting starts
 * from the last one. */
static void
combine_mix(const struct fc_job *j, const double *weight, const size_t *sharp, double *out,
    size_t h, size_t offset, bool fin)
{
	unsigned char order[FC_CAND_MAX];
	double v[FC_CAND_MAX];

	for (size_t c = 0; c < j->n_cand; c++)
		order[c] = (unsigned char)c;
	for (size_t i = 0; i < h; i++) {
		for (size_t c = 0; c < j->n_cand; c++)
			v[c] = fin ? j->cand[c].fin[i] : j->cand[c].cv[offset + i];
		out[i] = combine_middle(v, weight + fc_bucket(i) * j->n_cand, order, j->n_cand,
		    v[0], fc_tuning.cuts[sharp[fc_group(fc_bucket(i))]]);
	}
}

static int
combine_cmp_part(const void *a, const void *b)
{
	const struct fc_part *x = a, *y = b;

	return x->weight < y->weight   ? 1
	       : x->weight > y->weight ? -1
				       : (x->name > y->name) - (x->name < y->name);
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
			j->part[c].weight += j->weight[b * j->n_cand + c] *
					     (double)(fc_bucket_end(b, j->h) - from) / (double)j->h;
	}
	qsort(j->part, j->n_part, sizeof(*j->part), combine_cmp_part);
}

static bool
combine_finite(const struct fc_job *j, const struct fc_cand *c)
{
	bool ok = true;

	for (size_t k = 0; k < j->n_org; k++)
		for (size_t i = 0; i < fc_seen(j, k); i++)
			ok = ok && isfinite(c->cv[k * j->hc + i]);
	for (size_t i = 0; i < j->h; i++)
		ok = ok && isfinite(c->fin[i]);
	return ok;
}

/* The last value never fails; others that are no numbers are taken out. */
static void
combine_clamp_all(struct fc_job *j)
{
	for (size_t c = j->n_cand; c-- > 1;)
		if (!combine_finite(j, &j->cand[c]))
			fc_cand_drop(j, c);
	for (size_t c = 0; c < j->n_cand; c++) {
		for (size_t k = 0; k < j->n_org; k++)
			combine_clamp(j, j->cand[c].cv + k * j->hc, fc_seen(j, k));
		combine_clamp(j, j->cand[c].fin, j->h);
	}
}

void
fc_combine(struct fc_job *j, const size_t *sharp)
{
	double handicap = fc_tuning.handicap + fc_tuning.flat_handicap * combine_flat(j);

	combine_clamp_all(j);
	for (size_t c = 0; c < j->n_cand; c++)
		combine_errors(j, j->n_org, j->n, &j->cand[c]);
	j->weight = arena_array(j->tmp, FC_BUCKETS * j->n_cand, sizeof(*j->weight));
	for (size_t b = 0; b < FC_BUCKETS; b++)
		combine_weights(j, b, handicap, fc_tuning.powers[sharp[fc_group(b)]],
		    j->weight + b * j->n_cand);
	j->cv = arena_array(j->a, j->n_org * j->hc + 1, sizeof(*j->cv));
	j->fin = arena_array(j->a, j->h, sizeof(*j->fin));
	for (size_t k = 0; k < j->n_org; k++)
		combine_mix(
		    j, j->weight, sharp, j->cv + k * j->hc, fc_seen(j, k), k * j->hc, false);
	combine_mix(j, j->weight, sharp, j->fin, j->h, 0, true);
	combine_parts(j);
}

enum { TRIAL_LEAST = 8, TRIAL_SHOW = 5 }; /* origins: at least; at most that are looked at */

/* Mean error over each group of buckets of what the weights make of the origins behind the first n.
 */
static void
trial_error(
    const struct fc_job *j, const double *weight, size_t p, size_t n, double *mix, double *error)
{
	size_t step = (j->n_org - n) / TRIAL_SHOW > 0 ? (j->n_org - n) / TRIAL_SHOW : 1;
	size_t sharp[FC_GROUPS] = { p, p, p };
	double count[FC_GROUPS] = { 0 };

	memset(error, 0, FC_GROUPS * sizeof(*error));
	for (size_t k = n; k < j->n_org; k += step) {
		combine_mix(j, weight, sharp, mix, fc_seen(j, k), k * j->hc, false);
		for (size_t i = 0; i < fc_seen(j, k); i++) {
			size_t g = fc_group(fc_bucket(i));

			if (j->miss[j->org[k] + i])
				continue;
			error[g] += fabs(mix[i] - j->y[j->org[k] + i]);
			count[g]++;
		}
	}
	for (size_t g = 0; g < FC_GROUPS; g++)
		error[g] = count[g] > 0 ? error[g] / count[g] + 1e-3 * j->diff : NAN;
}

void
fc_trial(struct fc_job *j, struct fc_trial *t)
{
	double handicap = fc_tuning.handicap + fc_tuning.flat_handicap * combine_flat(j),
	       error[FC_POWERS][FC_GROUPS];
	double *weight = arena_array(j->tmp, FC_BUCKETS * j->n_cand, sizeof(*weight));
	double *mix = arena_array(j->tmp, j->hc, sizeof(*mix));
	size_t n = j->n_org * 3 / 5;

	memset(t, 0, sizeof(*t));
	if (j->n_org < TRIAL_LEAST || !(j->diff > 0))
		return;
	combine_clamp_all(j);
	for (size_t c = 0; c < j->n_cand; c++)
		combine_errors(j, n, j->org[n], &j->cand[c]);
	for (size_t p = 0; p < FC_POWERS; p++) {
		for (size_t b = 0; b < FC_BUCKETS; b++)
			combine_weights(
			    j, b, handicap, fc_tuning.powers[p], weight + b * j->n_cand);
		trial_error(j, weight, p, n, mix, error[p]);
	}
	for (size_t g = 0; g < FC_GROUPS; g++)
		for (size_t p = 0; p < FC_POWERS; p++)
			if (!isnan(error[0][g])) {
				t->gain[p][g] = log(error[p][g] / error[0][g]);
				t->seen[g] = true;
			}
}

void
fc_trial_choose(const struct fc_trial *t, size_t n, size_t *sharp)
{
	for (size_t g = 0; g < FC_GROUPS; g++) {
		double least = 0;

		sharp[g] = 0;
		for (size_t p = 0; p < FC_POWERS; p++) {
			double sum = p == 0 ? 0 : fc_tuning.power_own * fc_tuning.power_doubt,
			       count = fc_tuning.power_own;

			for (size_t i = 0; i < n; i++)
				if (t[i].seen[g]) {
					sum += t[i].gain[p][g];
					count++;
				}
			if (sum / count < least) {
				least = sum / count;
				sharp[g] = p;
			}
		}
	}
}
