/* forecast/answer.c - what a forecast answers.  Floor: domain. */
#include "forecast/answer.h"

#include <math.h>
#include <string.h>

#include "forecast/fc.h"

static size_t
answer_argmax(const double *x, size_t n)
{
	size_t at = 0;

	for (size_t i = 1; i < n; i++)
		at = x[i] > x[at] ? i : at;
	return at;
}

/* hits [horizon]: paths that have their maximum in this step. */
static size_t *
answer_hits(const struct fc_result *r, struct arena *tmp)
{
	size_t *hits = arena_array(tmp, r->horizon, sizeof(*hits));

	for (size_t k = 0; k < r->n_paths; k++)
		hits[answer_argmax(r->paths + k * r->horizon, r->horizon)]++;
	return hits;
}

/* First step and number of hits of the 24 h, counted from the start, that have the most. */
static size_t
answer_day(const struct fc_result *r, const size_t *hits, size_t *most_out)
{
	size_t day = r->step_s < 86400 ? (size_t)(86400 / r->step_s) : 1, best = 0;

	*most_out = 0;
	for (size_t from = 0; from < r->horizon; from += day) {
		size_t sum = 0;

		for (size_t i = from; i < r->horizon && i < from + day; i++)
			sum += hits[i];
		if (sum > *most_out) {
			*most_out = sum;
			best = from;
		}
	}
	return best;
}

/* The likeliest step of the likeliest day. */
static size_t
answer_likeliest(const struct fc_result *r, const size_t *hits)
{
	size_t day = r->step_s < 86400 ? (size_t)(86400 / r->step_s) : 1, most,
	       from = answer_day(r, hits, &most), best = from;

	for (size_t i = from; i < r->horizon && i < from + day; i++)
		best = hits[i] > hits[best] ? i : best;
	return best;
}

size_t
fc_peak_step(const struct fc_result *r, struct arena *tmp)
{
	return answer_likeliest(r, answer_hits(r, tmp));
}

/* Start of the first step up to which a share of at least p of the paths have their maximum. */
static int64_t
answer_by(const struct fc_result *r, const size_t *hits, double p)
{
	size_t sum = 0, i = 0;

	for (; i + 1 < r->horizon; i++) {
		sum += hits[i];
		if ((double)sum >= p * (double)r->n_paths - 1e-9)
			break;
	}
	return r->t0 + (int64_t)i * r->step_s;
}

void
fc_when(const struct fc_result *r, struct fc_when *out)
{
	struct arena *tmp = arena_new();
	size_t *hits = answer_hits(r, tmp), most;

	*out = (struct fc_when){ .p10 = answer_by(r, hits, .1),
		.p50 = answer_by(r, hits, .5),
		.p90 = answer_by(r, hits, .9) };
	out->likeliest = r->t0 + (int64_t)answer_likeliest(r, hits) * r->step_s;
	out->day = r->t0 + (int64_t)answer_day(r, hits, &most) * r->step_s;
	out->day_share = (double)most / (double)r->n_paths;
	arena_free(tmp);
}

void
fc_passed(const struct fc_result *r, double gpus, double *passed)
{
	memset(passed, 0, r->horizon * sizeof(*passed));
	for (size_t k = 0; k < r->n_paths; k++) {
		const double *x = r->paths + k * r->horizon;
		size_t i = 0;

		while (i < r->horizon && !(x[i] > gpus))
			i++;
		if (i < r->horizon)
			passed[i]++;
	}
	for (size_t i = 0; i < r->horizon; i++) {
		passed[i] /= (double)r->n_paths;
		passed[i] = fmin(1, passed[i] + (i > 0 ? passed[i - 1] : 0));
	}
}

/* Mean of the known values of the last n of x [len]. */
static double
answer_tail(const double *x, size_t len, size_t n)
{
	double sum = 0;
	size_t known = 0;

	for (size_t i = len > n ? len - n : 0; i < len; i++)
		if (!isnan(x[i])) {
			sum += x[i];
			known++;
		}
	return known > 0 ? sum / (double)known : 0;
}

void
fc_drivers(const struct fc_series *in, const struct fc_result *r, const double *base,
    struct fc_drivers *out)
{
	struct arena *tmp = arena_new();
	size_t at = fc_peak_step(r, tmp), from, to;
	size_t week = r->step_s <= 604800 ? (size_t)(604800 / r->step_s) : 1;
	double around;

	arena_free(tmp);
	if (base == NULL)
		base = r->mean;
	from = at > week / 2 ? at - week / 2 : 0;
	to = from + week < r->horizon ? from + week : r->horizon;
	from = to > week ? (to - week < from ? to - week : from) : 0;
	around = fc_mean(base + from, to - from);
	out->t = r->t0 + (int64_t)at * r->step_s;
	out->peak = r->peak[FC_PEAK95];
	out->level = answer_tail(in->mean, in->n, week);
	out->growth = around - out->level;
	out->season = base[at] - around;
	out->events = r->mean[at] - base[at];
	out->doubt = out->peak - r->mean[at];
}
