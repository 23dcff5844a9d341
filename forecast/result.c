/* forecast/result.c - from a job to what the caller sees.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULT_SHIFT 0.1 /* of the greater level: less is no news */

enum {
	RESULT_PATHS = 200,  /* drawn for the peak where the caller wants none */
	RESULT_ORIGINS = 128 /* kept with opt.errors: the last */
};

void
fc_result_alloc(
    const struct fc_series *s, const struct fc_options *opt, struct arena *a, struct fc_result *r)
{
	char *text;
	size_t h = opt->horizon;

	*r = (struct fc_result){
		.name = s->name, .step_s = s->step_s, .horizon = h, .n_paths = opt->n_paths
	};
	r->mean = arena_array(a, h, sizeof(*r->mean));
	r->q = arena_array(a, h * FC_LEVEL_COUNT, sizeof(*r->q));
	r->windows = arena_array(a, FC_WIN_MAX, sizeof(*r->windows));
	r->paths = opt->n_paths > 0 ? arena_array(a, opt->n_paths * h, sizeof(*r->paths)) : NULL;
	r->parts = arena_array(a, FC_CAND_MAX, sizeof(*r->parts));
	r->shifts = arena_array(a, FC_SHIFT_MAX, sizeof(*r->shifts));
	r->outages = arena_array(a, FC_SPAN_MAX, sizeof(*r->outages));
	r->gaps = arena_array(a, FC_SPAN_MAX, sizeof(*r->gaps));
	r->spikes = arena_array(a, FC_SPIKE_MAX, sizeof(*r->spikes));
	r->warnings = arena_array(a, FC_WARN_MAX, sizeof(*r->warnings));
	if (opt->errors) {
		r->origins = arena_array(a, RESULT_ORIGINS, sizeof(*r->origins));
		r->errors = arena_array(a, RESULT_ORIGINS * FC_BUCKETS, sizeof(*r->errors));
	}
	text = arena_array(a, FC_WARN_MAX, FC_WARN_LEN);
	for (size_t i = 0; i < FC_WARN_MAX; i++)
		r->warnings[i] = text + i * FC_WARN_LEN;
}

void
fc_result_copy(const struct fc_result *r, struct arena *a, struct fc_result *out)
{
	char *text = arena_array(a, FC_WARN_MAX, FC_WARN_LEN);

	*out = *r;
#define COPY(field, n) out->field = arena_memdup(a, r->field, (n) * sizeof(*r->field))
	COPY(mean, r->horizon);
	COPY(q, r->horizon * FC_LEVEL_COUNT);
	COPY(windows, FC_WIN_MAX);
	if (r->paths != NULL)
		COPY(paths, r->n_paths * r->horizon);
	COPY(parts, r->n_parts);
	COPY(shifts, r->n_shifts);
	COPY(outages, r->n_outages);
	COPY(gaps, r->n_gaps);
	COPY(spikes, FC_SPIKE_MAX);
	if (r->origins != NULL) {
		COPY(origins, r->n_origins);
		COPY(errors, r->n_origins * FC_BUCKETS);
	}
#undef COPY
	out->warnings = arena_array(a, FC_WARN_MAX, sizeof(*out->warnings));
	for (size_t i = 0; i < FC_WARN_MAX; i++)
		out->warnings[i] = memcpy(text + i * FC_WARN_LEN, r->warnings[i], FC_WARN_LEN);
}

static void result_warn(struct fc_result *r, const char *fmt, ...) BERTH_PRINTF(2, 3);

static void
result_warn(struct fc_result *r, const char *fmt, ...)
{
	va_list ap;

	if (r->n_warnings == FC_WARN_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf((char *)(uintptr_t)r->warnings[r->n_warnings++], FC_WARN_LEN, fmt, ap);
	va_end(ap);
}

/* Spans and shifts of the job count steps; the result has times. */
static void
result_history(struct fc_job *j, struct fc_result *r)
{
	const struct fc_series *s = j->in;
	int64_t t0 = s->t0 + (int64_t)j->skip * s->step_s;

	r->t0 = s->t0 + (int64_t)s->n * s->step_s;
	r->history_from = t0;
	r->history_to = s->t0 + ((int64_t)s->n - 1) * s->step_s;
	r->n_missing = j->n_missing;
	r->n_used = j->n - j->n_missing;
	r->n_shifts = 0;
	for (size_t i = 0; i < j->n_shift; i++) {
		double a = j->shift[i].before * j->unit, b = j->shift[i].after * j->unit;

		if (fabs(b - a) >
		    RESULT_SHIFT *
			fmax(a, b)) /* where most steps are 0 the medians may not tell it */
			r->shifts[r->n_shifts++] =
			    (struct fc_shift){ t0 + j->shift[i].t * s->step_s, a, b };
	}
	r->n_outages = j->n_outage;
	for (size_t i = 0; i < j->n_outage; i++)
		r->outages[i] = (struct fc_span){ t0 + j->outage[i].from * s->step_s,
			t0 + j->outage[i].to * s->step_s };
	r->n_gaps = j->n_gap;
	for (size_t i = 0; i < j->n_gap; i++)
		r->gaps[i] = (struct fc_span){ t0 + j->gap[i].from * s->step_s,
			t0 + j->gap[i].to * s->step_s };
}

static void
result_warnings(const struct fc_job *j, struct fc_result *r)
{
	size_t need = 2 * j->cycle;

	if (r->n_used == 1)
		result_warn(r, "1 observation is all there is: the forecast is flat, and its band "
			       "is that of other series");
	else if (j->n < need)
		result_warn(r,
		    "%zu observations are too few for a weekly season (%zu are needed): none is "
		    "assumed",
		    r->n_used, need);
	if (j->top <= 0)
		result_warn(r, "there is no demand in the history: the forecast is 0");
	if (j->h > j->n && j->top > 0)
		result_warn(r,
		    "the horizon of %zu steps is longer than the history of %zu: beyond it the "
		    "band is that of other series",
		    j->h, j->n);
	if (2 * j->n_missing > j->n)
		result_warn(r, "more than half of the history is missing (%zu of %zu steps)",
		    j->n_missing, j->n);
	if (r->n_gaps > 0)
		result_warn(r,
		    "%zu %s of more than 3 steps %s left out of the fit; `berth forecast -o json` "
		    "says when",
		    r->n_gaps, r->n_gaps == 1 ? "gap" : "gaps", r->n_gaps == 1 ? "was" : "were");
	if (r->n_outages > 0)
		result_warn(r, "%zu %s left out of the fit; `berth forecast -o json` says when",
		    r->n_outages, r->n_outages == 1 ? "outage was" : "outages were");
	for (size_t i = 0; i < j->n_failed; i++)
		result_warn(r, "%s could not be fitted and was left out", j->failed[i]);
	if (r->censored)
		result_warn(r, "the history stands at the cap, and what was not served was not "
			       "seen: record what was requested, and forecast that");
}

/* The history counts as censored where a twentieth of the last four weeks stands within 1 % of the
 * cap. */
static bool
result_censored(const struct fc_job *j)
{
	size_t n = j->n > 4 * j->cycle ? 4 * j->cycle : j->n, at = 0;
	double cap = j->cap / j->unit;

	if (!(j->cap > 0))
		return false;
	for (size_t i = j->n - n; i < j->n; i++)
		at += j->peak[i] >= 0.99 * cap;
	return 20 * at >= n;
}

static void
result_cap(const struct fc_job *j, double *x, size_t n)
{
	double cap = j->cap;

	for (size_t i = 0; i < n; i++) {
		x[i] *= j->unit;
		if (x[i] > cap)
			x[i] = cap;
	}
}

/* Type 8 quantiles of the maxima of paths [n][h] over [first, first + count), and the step where
 * most have theirs. */
static void
result_maxima(struct arena *tmp, const double *paths, size_t n, size_t h, struct fc_window *v)
{
	double *m = arena_array(tmp, n, sizeof(*m));
	size_t *hits = arena_array(tmp, v->count, sizeof(*hits)), best = 0;

	for (size_t s = 0; s < n; s++) {
		const double *x = paths + s * h + v->first;
		size_t at = 0;

		for (size_t i = 1; i < v->count; i++)
			if (x[i] > x[at])
				at = i;
		m[s] = x[at];
		hits[at]++;
	}
	fc_sort(m, n);
	for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
		v->q[l] = fc_quantile_sorted(m, n, fc_peak_levels[l]);
	for (size_t i = 1; i < v->count; i++)
		if (hits[i] > hits[best])
			best = i;
	v->likeliest = v->first + best;
}

static void
result_windows(struct fc_result *r, const double *paths, size_t n, struct arena *tmp)
{
	struct fc_win win[FC_WIN_MAX];
	struct fc_window all = { .first = 0, .count = r->horizon };
	size_t cycle = r->step_s <= 604800 ? (size_t)((604800 + r->step_s - 1) / r->step_s) : 1;
	size_t day = r->step_s <= 21600 && 86400 % r->step_s == 0 ? (size_t)(86400 / r->step_s) : 0;

	r->n_windows = fc_windows_of(r->horizon, cycle, day, win);
	for (size_t w = 0; w < r->n_windows; w++) {
		r->windows[w] = (struct fc_window){ .first = win[w].first, .count = win[w].count };
		result_maxima(tmp, paths, n, r->horizon, &r->windows[w]);
	}
	result_maxima(tmp, paths, n, r->horizon, &all);
	memcpy(r->peak, all.q, sizeof(r->peak));
}

/* No step's quantile lies above that of the maximum over a window that holds the step. */
static void
result_coherent(struct fc_result *r)
{
	static const enum fc_peak_level of[FC_LEVEL_COUNT] = { [FC_P75] = FC_PEAK90,
		[FC_P90] = FC_PEAK90,
		[FC_P95] = FC_PEAK95,
		[FC_P975] = FC_PEAK99,
		[FC_P99] = FC_PEAK99 }; /* the lower half: FC_PEAK50 */

	for (size_t w = 0; w < r->n_windows; w++)
		for (size_t i = r->windows[w].first; i < r->windows[w].first + r->windows[w].count;
		     i++)
			for (size_t l = 0; l < FC_LEVEL_COUNT; l++) {
				double *q = r->q + i * FC_LEVEL_COUNT + l,
				       top = r->windows[w].q[of[l]];

				*q = *q < top ? *q : top;
			}
}

void
fc_result_windows(struct fc_result *r, struct arena *tmp)
{
	result_windows(r, r->paths, r->n_paths, tmp);
	result_coherent(r);
}

/*
 * The maximum over a window is no smaller than any of its steps: its median lies no lower than the
 * median of each step. The levels above keep half of the narrower of its own spread and that of the
 * steps.
 */
static void
result_floor(const struct fc_job *j, const struct fc_result *r, const struct fc_win *v, double *q)
{
	static const enum fc_level level[FC_PEAK_LEVEL_COUNT] = { FC_P50, FC_P90, FC_P95, FC_P99 };
	double most[FC_PEAK_LEVEL_COUNT] = { 0 }, median = q[0];

	for (size_t i = v->first; i < v->first + v->count; i++)
		for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT; l++)
			most[l] = fmax(most[l], r->q[i * FC_LEVEL_COUNT + level[l]] / j->unit);
	for (size_t l = 0; l < FC_PEAK_LEVEL_COUNT && most[0] > median; l++)
		q[l] = fmax(q[l], most[0] + 0.5 * fmin(q[l] - median, most[l] - most[0]));
}

static void
result_peaks(struct fc_job *j, const struct fc_pool *pool, struct fc_result *r)
{
	size_t n = r->n_paths > 0 ? r->n_paths : RESULT_PATHS;
	double *targets = arena_array(j->tmp, j->n_win * FC_PEAK_LEVEL_COUNT, sizeof(*targets)),
	       *paths = r->paths;

	if (paths == NULL)
		paths = arena_array(j->tmp, n * j->h, sizeof(*paths));
	for (size_t w = 0; w < j->n_win; w++) {
		fc_peak(j, pool, w, targets + w * FC_PEAK_LEVEL_COUNT);
		result_floor(j, r, &j->win[w], targets + w * FC_PEAK_LEVEL_COUNT);
	}
	fc_paths(j, pool, targets, n, paths);
	result_cap(j, paths, n * j->h);
	result_windows(r, paths, n, j->tmp);
}

/* Mean error of the combination after origin k in one part of the horizon; NaN if some of its truth
 * lies ahead. */
static double
result_error(const struct fc_job *j, size_t k, size_t bucket)
{
	size_t from = bucket == 0 ? 0 : fc_bucket_end(bucket - 1, j->hc),
	       to = fc_bucket_end(bucket, j->hc);
	double sum = 0;

	if (from >= to || fc_seen(j, k) < to)
		return NAN;
	for (size_t i = from; i < to; i++)
		sum += j->y[j->org[k] + i] - j->cv[k * j->hc + i];
	return sum / (double)(to - from) * j->unit;
}

static void
result_errors(const struct fc_job *j, struct fc_result *r)
{
	size_t first = j->n_org > RESULT_ORIGINS ? j->n_org - RESULT_ORIGINS : 0;

	for (size_t k = first; k < j->n_org; k++) {
		r->origins[r->n_origins] = j->n - j->org[k];
		for (size_t b = 0; b < FC_BUCKETS; b++)
			r->errors[r->n_origins * FC_BUCKETS + b] = result_error(j, k, b);
		r->n_origins++;
	}
}

void
fc_result_fill(struct fc_job *j, const struct fc_pool *pool, struct fc_result *r)
{
	fc_band(j, pool, r->q);
	for (size_t i = 0; i < j->h; i++) {
		const double *q = r->q + i * FC_LEVEL_COUNT;

		/* Errors that all went one way, as in a fall to nothing, correct the forecast too.
		 */
		r->mean[i] = j->fin[i] < q[FC_P25]   ? q[FC_P25]
			     : j->fin[i] > q[FC_P75] ? q[FC_P75]
						     : j->fin[i];
	}
	result_cap(j, r->mean, j->h);
	result_cap(j, r->q, j->h * FC_LEVEL_COUNT);
	r->censored = result_censored(j);
	result_peaks(j, pool, r);
	result_coherent(r);
	r->model = j->top <= 0     ? "zero"
		   : j->rare       ? "intermittent"
		   : j->n_part > 1 ? "combination"
				   : "level";
	r->n_parts = j->n_part;
	memcpy(r->parts, j->part, j->n_part * sizeof(*r->parts));
	if (j->opt->errors)
		result_errors(j, r);
	result_history(j, r);
	result_warnings(j, r);
}

double
fc_expected(const struct fc_result *r, size_t step)
{
	const double *q = r->q + step * FC_LEVEL_COUNT;
	double sum =
	    q[0] * fc_levels[0] + q[FC_LEVEL_COUNT - 1] * (1 - fc_levels[FC_LEVEL_COUNT - 1]);

	for (size_t l = 1; l < FC_LEVEL_COUNT; l++)
		sum += (q[l - 1] + q[l]) / 2 * (fc_levels[l] - fc_levels[l - 1]);
	return sum;
}
