/* forecast/local.c - seasons by the clock on the wall.  Floor: domain.
 *
 * Where the zone's offset changes, a series is laid out by local hours before the library sees it:
 * the hour that clocks skip is missing, the hour that runs twice is one entry (mean of the means,
 * maximum of the peaks). The forecast comes back by UTC hours, so that days of 23 and 25 hours
 * shift no season.
 */
#include "forecast/fc.h"

#include <math.h>
#include <string.h>

/* Steps of local time since the first step, at step i. */
static int64_t
local_index(const struct fc_series *s, const struct fc_options *o, size_t i)
{
	int64_t t = s->t0 + (int64_t)i * s->step_s;

	return (t + o->utc_offset(o->utc_offset_arg, t) - s->t0 -
		   o->utc_offset(o->utc_offset_arg, s->t0)) /
	       s->step_s;
}

/* Is there a change of offset in the history or the horizon that is a whole number of steps, at
 * most six hours long? */
static bool
local_needed(const struct fc_series *s, const struct fc_options *o)
{
	int64_t first;
	bool changes = false;

	if (o->utc_offset == NULL || s->step_s > 21600 || s->n == 0)
		return false;
	first = o->utc_offset(o->utc_offset_arg, s->t0);
	for (size_t i = 1; i < s->n + o->horizon; i++) {
		int64_t d =
		    o->utc_offset(o->utc_offset_arg, s->t0 + (int64_t)i * s->step_s) - first;

		if (d % s->step_s != 0)
			return false;
		changes = changes || d != 0;
	}
	return changes;
}

void
fc_local_map(
    const struct fc_series *s, const struct fc_options *o, struct arena *a, struct fc_local *l)
{
	int64_t n = local_index(s, o, s->n);

	*l = (struct fc_local){ .in = *s, .ahead = o->horizon };
	if (!local_needed(s, o) || n < 1)
		return;
	l->changes = true;
	l->index = arena_array(a, o->horizon, sizeof(*l->index));
	l->ahead = 0;
	for (size_t i = 0; i < o->horizon; i++) {
		int64_t k = local_index(s, o, s->n + i) - n;

		l->index[i] = k > 0 ? (size_t)k : 0;
		l->ahead = l->index[i] + 1 > l->ahead ? l->index[i] + 1 : l->ahead;
	}
	l->n = (size_t)n;
	l->utc = arena_array(a, l->n + 1, sizeof(*l->utc));
}

/* Lays the history out by local steps; t0 is 0, so that times of the result are local steps. */
void
fc_local_series(
    struct fc_local *l, const struct fc_options *o, struct arena *a, struct fc_series *out)
{
	const struct fc_series *s = &l->in;
	double *mean, *peak;

	*out = *s;
	if (!l->changes)
		return;
	mean = arena_array(a, l->n, sizeof(*mean));
	peak = arena_array(a, l->n, sizeof(*peak));
	for (size_t k = 0; k < l->n; k++) {
		mean[k] = peak[k] = NAN;
		l->utc[k] = INT64_MIN;
	}
	for (size_t i = 0; i < s->n; i++) {
		int64_t k = local_index(s, o, i);
		double p = s->peak != NULL && !isnan(s->peak[i]) ? s->peak[i] : s->mean[i];

		if (k < 0 || k >= (int64_t)l->n)
			continue;
		if (l->utc[k] == INT64_MIN)
			l->utc[k] = s->t0 + (int64_t)i * s->step_s;
		if (isnan(s->mean[i]))
			continue;
		mean[k] = isnan(mean[k]) ? s->mean[i] : 0.5 * (mean[k] + s->mean[i]);
		peak[k] = isnan(peak[k]) || p > peak[k] ? p : peak[k];
	}
	for (size_t k = 1; k < l->n; k++)
		if (l->utc[k] == INT64_MIN)
			l->utc[k] = l->utc[k - 1] + s->step_s;
	l->utc[l->n] = s->t0 + (int64_t)s->n * s->step_s;
	*out = (struct fc_series){ s->name, 0, s->step_s, l->n, mean, peak };
}

static int64_t
local_utc(const struct fc_local *l, int64_t t)
{
	int64_t k = t / l->in.step_s;

	return l->utc[k < 0 ? 0 : (size_t)k < l->n ? (size_t)k : l->n];
}

/* Rows of width values move from local to UTC steps. */
static double *
local_rows(const struct fc_local *l, const double *x, size_t h, size_t width, struct arena *a)
{
	double *out = arena_array(a, h * width, sizeof(*out));

	for (size_t i = 0; i < h; i++)
		memcpy(out + i * width, x + l->index[i] * width, width * sizeof(*out));
	return out;
}

void
fc_local_result(
    const struct fc_local *l, const struct fc_options *o, struct arena *a, struct fc_result *r)
{
	const struct fc_series *s = &l->in;
	size_t h = o->horizon, missing = 0;
	double *paths;

	if (!l->changes)
		return;
	r->mean = local_rows(l, r->mean, h, 1, a);
	r->q = local_rows(l, r->q, h, FC_LEVEL_COUNT, a);
	paths = arena_array(a, r->n_paths * h, sizeof(*paths));
	for (size_t p = 0; p < r->n_paths; p++)
		for (size_t i = 0; i < h; i++)
			paths[p * h + i] = r->paths[p * r->horizon + l->index[i]];
	r->paths = paths;
	r->horizon = h;
	for (size_t i = 0; i < s->n; i++)
		missing += isnan(s->mean[i]) ? 1 : 0;
	r->history_from = local_utc(l, r->history_from);
	r->history_to = s->t0 + ((int64_t)s->n - 1) * s->step_s;
	r->n_missing = missing;
	r->n_used = s->n - missing;
	r->t0 = s->t0 + (int64_t)s->n * s->step_s;
	for (size_t i = 0; i < r->n_shifts; i++)
		r->shifts[i].t = local_utc(l, r->shifts[i].t);
	for (size_t i = 0; i < r->n_outages; i++)
		r->outages[i] = (struct fc_span){ local_utc(l, r->outages[i].from),
			local_utc(l, r->outages[i].to) };
	for (size_t i = 0; i < r->n_gaps; i++)
		r->gaps[i] =
		    (struct fc_span){ local_utc(l, r->gaps[i].from), local_utc(l, r->gaps[i].to) };
	fc_result_windows(r, a);
}
