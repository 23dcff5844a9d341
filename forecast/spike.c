/* forecast/spike.c - single values far over all others, cut to the highest of them (winsorised).
 * Floor: domain. */
#include "forecast/fc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/time.h"

enum {
	SPIKE_NEAR = 5,         /* what is over a fifth of the highest value stands with it */
	SPIKE_RUN_S = 3 * 3600, /* a run that is longer is a level */
	SPIKE_RUNS = 3,
	SPIKE_SHARE = 50, /* one step in so many, at most */
	SPIKE_ROUNDS = 8
};

/* The steps over a fifth of the top: how many, in how many runs, the longest; what is the highest
 * below them. */
struct spike_set {
	double top, rest;
	size_t n, runs, longest, last, known, positive;
};

static struct spike_set
spike_look(const double *x, size_t n)
{
	struct spike_set s = { 0 };
	size_t run = 0;

	for (size_t i = 0; i < n; i++)
		s.top = x[i] > s.top ? x[i] : s.top;
	for (size_t i = 0; i < n; i++) {
		s.known += isnan(x[i]) ? 0 : 1;
		s.positive += x[i] > 0 ? 1 : 0;
		if (!(x[i] * SPIKE_NEAR > s.top)) {
			run = 0;
			s.rest = x[i] > s.rest ? x[i] : s.rest;
			continue;
		}
		s.runs += run == 0 ? 1 : 0;
		run++;
		s.n++;
		s.longest = run > s.longest ? run : s.longest;
		s.last = i;
	}
	return s;
}

/* Is what stands out no demand to plan on? A run at the end may be the beginning of a level, unless
 * it is absurd. */
static bool
spike_is(const struct spike_set *s, size_t n, int64_t step_s, double times)
{
	size_t most = step_s >= SPIKE_RUN_S ? 1 : (size_t)(SPIKE_RUN_S / step_s),
	       day = step_s >= 86400 ? 1 : (size_t)(86400 / step_s);
	bool once = s->runs == 1 && s->last + day < n && 2 * s->positive > s->known;

	return s->rest > 0 && s->longest <= most && s->runs <= SPIKE_RUNS &&
	       s->n * SPIKE_SHARE <= s->known &&
	       s->top > (once ? times : fmax(times, FC_SPIKE_ABSURD)) * s->rest;
}

static void
spike_note(
    const struct fc_series *in, size_t i, double value, double to, struct fc_spike *v, size_t *n)
{
	int64_t t = in->t0 + (int64_t)i * in->step_s;

	for (size_t k = 0; k < *n; k++)
		if (v[k].t == t) { /* its mean and its peak, or one that was cut before */
			v[k].value = fmax(v[k].value, value);
			v[k].to = fmin(v[k].to, to);
			return;
		}
	if (*n < FC_SPIKE_MAX)
		v[(*n)++] = (struct fc_spike){ t, value, to };
}

/* Cuts what stands out of x [n], of which low [n] is a floor (NULL: none); x where nothing does. */
static const double *
spike_cut(const struct fc_series *in, double times, const double *x, const double *low,
    struct arena *a, struct fc_spike *v, size_t *n_out)
{
	double *own = NULL;

	for (int round = 0; round < SPIKE_ROUNDS; round++) {
		struct spike_set s = spike_look(own != NULL ? own : x, in->n);

		if (!spike_is(&s, in->n, in->step_s, times))
			break;
		if (own == NULL)
			own = arena_memdup(a, x, in->n * sizeof(*own));
		for (size_t i = 0; i < in->n; i++) {
			double to = low != NULL && low[i] > s.rest ? low[i] : s.rest;

			if (!(own[i] * SPIKE_NEAR > s.top) || !(own[i] > to))
				continue;
			spike_note(in, i, x[i], to, v, n_out);
			own[i] = to;
		}
	}
	return own != NULL ? own : x;
}

void
fc_spikes(const struct fc_series *in, double times, struct arena *a, struct fc_series *out,
    struct fc_spike *spike_out, size_t *n_out)
{
	*out = *in;
	*n_out = 0;
	times = times > 0 ? times : FC_SPIKE_ABSURD;
	if (in->step_s > 86400 || isinf(times))
		return;
	out->mean = spike_cut(in, times, in->mean, NULL, a, spike_out, n_out);
	if (in->peak == in->mean)
		out->peak = out->mean;
	else if (in->peak != NULL)
		out->peak = spike_cut(in, times, in->peak, out->mean, a, spike_out, n_out);
}

void
fc_spikes_result(const struct fc_spike *v, size_t n, struct fc_result *r)
{
	char t[TIME_FMT_SIZE];

	memcpy(r->spikes, v, n * sizeof(*v));
	r->n_spikes = n;
	if (n == 0 || r->n_warnings == FC_WARN_MAX)
		return;
	if (n == 1)
		(void)snprintf((char *)(uintptr_t)r->warnings[r->n_warnings++], FC_WARN_LEN,
		    "%.15g at %s is far over all other values and counts as %.6g; --keep-spikes "
		    "takes it as it is",
		    v[0].value, time_fmt(t, v[0].t), v[0].to);
	else
		(void)snprintf((char *)(uintptr_t)r->warnings[r->n_warnings++], FC_WARN_LEN,
		    "%zu values are far over all others, the first of them %.15g at %s: it counts "
		    "as %.6g; --keep-spikes takes all as they are",
		    n, v[0].value, time_fmt(t, v[0].t), v[0].to);
}
