/* forecast/prep.c - makes one series ready: checks, gaps, outages, unit, rolling origins.  Floor:
 * domain. */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

/* Seasons: a day and a week where steps are at most six hours long; for longer steps the week is
 * the only one. */
static void
prep_seasons(struct fc_job *j, int64_t step_s)
{
	j->cycle = step_s <= 604800 ? (size_t)((604800 + step_s - 1) / step_s) : 1;
	if (step_s <= 21600 && 86400 % step_s == 0) {
		j->day = (size_t)(86400 / step_s);
		j->week = 7 * j->day;
	} else if (step_s <= 86400 && 604800 % step_s == 0)
		j->day = (size_t)(604800 / step_s);
	j->daily = step_s > 21600;
}

/* Missing steps take the last value for up to three steps, then the same step of the week (or day)
 * before. */
static void
prep_fill(const struct fc_job *j, double *y)
{
	size_t run = 0, season = j->week > 0 ? j->week : j->day;

	for (size_t i = 1; i < j->n; i++) {
		run = j->miss[i] ? run + 1 : 0;
		if (run == 0)
			continue;
		y[i] = run <= 3 || season == 0 || i < season ? y[i - 1] : y[i - season];
	}
}

/* A series that is next to nothing more often than once in four weeks: that is its way. */
static bool
prep_often_low(const struct fc_job *j)
{
	double *s = arena_array(j->tmp, j->n, sizeof(*s)), low;
	size_t runs = 0;

	memcpy(s, j->y, j->n * sizeof(*s));
	low = 0.05 * fc_median(s, j->n);
	for (size_t i = 1; i < j->n; i++)
		runs += j->y[i] <= low && j->y[i - 1] > low;
	return runs * 4 * j->cycle > j->n + 4 * j->cycle;
}

/*
 * Runs below a twentieth of the week's median, at most two days long and over again, after a week
 * that was never so low, are left out of the fit. They are outages if the series is not often so
 * low.
 */
static void
prep_outages(struct fc_job *j)
{
	size_t win = j->cycle > 6 ? j->cycle : 7, max_run = j->daily ? 2 : 2 * j->day;
	double *s = arena_array(j->tmp, win, sizeof(*s));
	bool often = j->n > win && prep_often_low(j);

	j->outage = arena_array(j->a, FC_SPAN_MAX, sizeof(*j->outage));
	for (size_t i = win; i < j->n; i++) {
		size_t e = i, low = 0;
		double med;

		if (j->miss[i] || j->y[i] >= 0.25 * j->y[i - 1])
			continue;
		memcpy(s, j->y + i - win, win * sizeof(*s));
		med = fc_median(s, win);
		for (size_t k = 0; k < win; k++)
			low += s[k] < 0.05 * med;
		if (!(j->y[i] < 0.05 * med) || 20 * low > win)
			continue;
		while (e < j->n && j->y[e] < 0.05 * med)
			e++;
		if (e < j->n && e - i <= max_run) {
			memset(j->miss + i, 1, e - i);
			if (!often && j->n_outage < FC_SPAN_MAX)
				j->outage[j->n_outage++] =
				    (struct fc_span){ (int64_t)i, (int64_t)e };
		}
		i = e;
	}
}

static void
prep_scale(struct fc_job *j)
{
	size_t recent = j->n > 4 * j->cycle ? 4 * j->cycle : j->n, lag = j->daily ? 1 : j->day;
	double lo = INFINITY, sum = 0;

	j->unit = fc_mean(j->y + j->n - recent, recent);
	if (!(j->unit > 0))
		j->unit = fc_mean(j->y, j->n);
	if (!(j->unit > 0))
		j->unit = 1;
	for (size_t i = 0; i < j->n; i++) {
		j->y[i] /= j->unit;
		j->peak[i] /= j->unit;
		lo = j->y[i] < lo ? j->y[i] : lo;
		j->top = j->peak[i] > j->top ? j->peak[i] : j->top;
	}
	j->level = fc_mean(j->y + j->n - recent, recent);
	if (lag == 0 || j->n < 2 * lag)
		lag = 1;
	for (size_t i = lag; i < j->n; i++)
		sum += fabs(j->y[i] - j->y[i - lag]);
	j->diff = j->n > lag ? sum / (double)(j->n - lag) : 0;
	j->log_shift = lo >= 0.02 ? 0 : 0.1;
	j->logy = arena_array(j->a, j->n, sizeof(*j->logy));
	for (size_t i = 0; i < j->n; i++)
		j->logy[i] = log(j->y[i] + j->log_shift);
	sum = 0;
	for (size_t i = lag; i < j->n; i++)
		sum += fabs(j->logy[i] - j->logy[i - lag]);
	j->log_diff = j->n > lag ? sum / (double)(j->n - lag) : 0;
}

/* Intermittent: nine tenths of the last eight weeks are empty, and so is the last step. */
static void
prep_rare(struct fc_job *j)
{
	size_t n = j->n < 8 * j->cycle ? j->n : 8 * j->cycle, empty = 0;

	for (size_t i = j->n - n; i < j->n; i++)
		empty += j->y[i] > 0 ? 0 : 1;
	j->rare = 10 * empty >= 9 * n && !(j->y[j->n - 1] > 0) && j->top > 0;
}

/* Long histories can spare more for the rolling origins; short ones need it for the fit. */
static size_t
prep_span(size_t n)
{
	return n >= 1500 ? 1008 : n >= 800 ? 336 : n > 448 ? 240 : n > 200 ? n - 200 : n / 2;
}

/* Origins reach back over a quarter of the history, half of it where it is long; the first stands
 * behind fit_n steps. */
static void
prep_origins(struct fc_job *j)
{
	size_t day = j->daily ? 1 : j->day, span, step;

	span = prep_span(j->n);
	if (span + 2 * day > j->n)
		span = j->n > 3 * day ? j->n - 3 * day : 0;
	step = j->n >= 1200 && day >= 12  ? day / 2
	       : j->n >= 800 && day >= 12 ? day / 3
	       : day >= 4                 ? day / 4
					  : 1;
	step *= j->thin > 0 ? j->thin : 1;
	j->fit_n = j->n - span;
	j->org = arena_array(j->a, span / step + 1, sizeof(*j->org));
	for (size_t o = j->fit_n; o + (j->h < day ? j->h : day) <= j->n; o += step)
		j->org[j->n_org++] = o;
}

/* Fits look at the last year at most. */
static size_t
prep_keep(const struct fc_job *j)
{
	int64_t year = 366 * (int64_t)86400 / j->in->step_s;
	size_t keep = year < 400 ? 400 : (size_t)year;

	return j->opt->max_history > 0 && j->opt->max_history < keep ? j->opt->max_history : keep;
}

/* Counts what is missing and lists the runs of more than three steps. */
static void
prep_gaps(struct fc_job *j)
{
	j->gap = arena_array(j->a, FC_SPAN_MAX, sizeof(*j->gap));
	for (size_t i = 0, e; i < j->n; i = e + 1) {
		for (e = i; e < j->n && j->miss[e]; e++)
			j->n_missing++;
		if (e - i > 3 && j->n_gap < FC_SPAN_MAX)
			j->gap[j->n_gap++] = (struct fc_span){ (int64_t)i, (int64_t)e };
	}
}

void
fc_prepare(struct fc_job *j)
{
	const struct fc_series *s = j->in;
	size_t skip = 0;

	j->h = j->opt->horizon;
	j->hc = j->h < FC_CV_MAX ? j->h : FC_CV_MAX;
	if (s->n > prep_keep(j))
		skip = s->n - prep_keep(j);
	while (skip < s->n && isnan(s->mean[skip]))
		skip++;
	if (skip == s->n) /* nothing in what is looked at: the last value there is */
		for (skip--; skip > 0 && isnan(s->mean[skip]);)
			skip--;
	j->skip = skip;
	j->n = s->n - skip;
	prep_seasons(j, s->step_s);
	j->y = arena_array(j->a, j->n, sizeof(*j->y));
	j->peak = arena_array(j->a, j->n, sizeof(*j->peak));
	j->miss = arena_alloc(j->a, j->n + 1);
	for (size_t i = 0; i < j->n; i++) {
		j->y[i] = s->mean[skip + i];
		j->peak[i] =
		    s->peak != NULL && !isnan(s->peak[skip + i]) ? s->peak[skip + i] : j->y[i];
		j->miss[i] = (unsigned char)(isnan(j->y[i]) ? 1 : 0);
	}
	prep_gaps(j);
	prep_fill(j, j->y);
	prep_outages(j);
	prep_fill(j, j->y);
	for (size_t i = 0; i < j->n; i++)
		if (j->miss[i])
			j->peak[i] = j->y[i];
	prep_scale(j);
	prep_rare(j);
	fc_shifts(j);
	prep_origins(j);
}
