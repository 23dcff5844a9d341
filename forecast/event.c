/* forecast/event.c - the roadmap on sample paths.  Floor: domain. */
#include "forecast/event.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/fc.h"
#include "util/hash.h"
#include "util/rng.h"

#define EVENT_YEAR_S (365.25 * 86400)
#define EVENT_LOOK_S (72 * 3600) /* the level before and after is the median of so long */
#define EVENT_NEED_S (24 * 3600) /* and of at least so long */

/* One draw of an event. */
struct event_draw {
	bool comes;
	double start, end, size;
};

const char *
fc_event_state_name(enum fc_event_state s)
{
	static const char *const names[] = { "ahead", "seen", "over", "open", "absent" };

	return names[s];
}

/* GPUs of the series for each one of the event. */
static double
event_part(const struct fc_event_use *u)
{
	return u->rate > 0 ? u->share * u->rate : u->share;
}

/* Quantile u of a triangular distribution (Kotz & van Dorp, 2004, eq. 1.5). */
static double
event_triangle(const struct fc_range *r, double u)
{
	double span = r->most - r->least, left = r->likely - r->least;

	if (!(span > 0) || isinf(r->likely))
		return r->likely;
	if (u * span <= left)
		return r->least + sqrt(u * span * left);
	return r->most - sqrt((1 - u) * span * (r->most - r->likely));
}

/* When an event that began at start ends, at quantile u of what is not known. */
static double
event_end(const struct fc_event *e, double start, double u)
{
	return e->has_until ? fmax(start, event_triangle(&e->until, u))
			    : start + event_triangle(&e->length, u);
}

/* Height of the event at t: 0 to 1. */
static double
event_height(const struct fc_event *e, double start, double end, double t)
{
	double up = 1, down = 1;

	if (t < start || t >= end)
		return 0;
	if (e->ramp_up_s > 0)
		up = (t - start) / e->ramp_up_s;
	if (e->ramp_down_s > 0)
		down = (end - t) / e->ramp_down_s;
	return fmin(1, fmin(up, down));
}

/* What the event does to demand at t: demand becomes demand * factor + gpus. */
static void
event_effect(
    const struct fc_event *e, const struct event_draw *d, double t, double *factor, double *gpus)
{
	double h = event_height(e, d->start, d->end, t), years;

	*factor = 1;
	*gpus = 0;
	switch (e->kind) {
	case FC_EVENT_GPUS:
		*gpus = h * d->size;
		break;
	case FC_EVENT_FACTOR:
		*factor = 1 + h * (d->size - 1);
		break;
	case FC_EVENT_GROWTH:
		years = (fmin(t, d->end) - d->start) / EVENT_YEAR_S;
		*factor = years > 0 ? pow(d->size, years) : 1;
		break;
	}
}

/* The event as said, without chance. */
static struct event_draw
event_likely(const struct fc_event *e)
{
	double end = e->has_until ? fmax(e->start.likely, e->until.likely)
				  : e->start.likely + e->length.likely;

	return (struct event_draw){ true, e->start.likely, end, e->size.likely };
}

/* Median of the known steps of s in [from, to); NaN if they cover too little. */
static double
event_level(const struct fc_series *s, double from, double to)
{
	size_t n = 0, need = (size_t)((EVENT_NEED_S + s->step_s - 1) / s->step_s);
	double *v, median;
	struct arena *tmp = arena_new();

	need = need < 2 ? 2 : need;
	v = arena_array(tmp, s->n, sizeof(*v));
	for (size_t i = 0; i < s->n; i++) {
		double t = (double)(s->t0 + (int64_t)i * s->step_s);

		if (t >= from && t + (double)s->step_s <= to && !isnan(s->mean[i]))
			v[n++] = s->mean[i];
	}
	median = n >= need ? fc_median(v, n) : NAN;
	arena_free(tmp);
	return median;
}

/* How the level changed as the event began: GPUs, or the factor. NaN: not to be seen. */
static double
event_measure(const struct fc_series *s, const struct fc_event *e)
{
	struct event_draw d = event_likely(e);
	double full = d.start + e->ramp_up_s, look = fmax(EVENT_LOOK_S, 3.0 * (double)s->step_s),
	       before, after;

	if (e->kind == FC_EVENT_GROWTH)
		return NAN;
	before = event_level(s, d.start - look, d.start);
	after = event_level(s, full, fmin(full + look, d.end - e->ramp_down_s));
	return e->kind == FC_EVENT_GPUS ? after - before : before > 0 ? after / before : NAN;
}

/* Takes what use says off (sign -1) or puts it on (sign 1) the history, with the sizes that are
 * set. */
static void
event_lift(struct fc_series *s, const struct fc_event_use *u, double *mean, double *peak)
{
	struct event_draw d = event_likely(u->event);
	double last = (double)(s->t0 + (int64_t)s->n * s->step_s), f_now, g_now;

	d.size = u->size;
	event_effect(u->event, &d, last, &f_now, &g_now);
	for (size_t i = 0; i < s->n; i++) {
		double f, g, *v[2] = { mean, peak };

		event_effect(u->event, &d,
		    (double)(s->t0 + (int64_t)i * s->step_s) + 0.5 * (double)s->step_s, &f, &g);
		for (int k = 0; k < 2; k++)
			if (v[k] != NULL && f > 0)
				v[k][i] =
				    fmax(0, v[k][i] * (f_now / f) + event_part(u) * (g_now - g));
			else if (v[k] != NULL)
				v[k][i] = f_now > 0 ? NAN : 0;
	}
}

/* Does the history rather show the event than nothing? */
static bool
event_shown(const struct fc_event_use *u)
{
	double nothing = u->event->kind == FC_EVENT_GPUS ? 0 : 1, said = u->event->size.likely;

	if (u->event->kind == FC_EVENT_GPUS)
		said *= event_part(u);
	return fabs(u->measured - said) < fabs(u->measured - nothing);
}

static void
event_place(const struct fc_series *s, struct fc_event_use *u)
{
	const struct fc_event *e = u->event;
	double last = (double)(s->t0 + (int64_t)s->n * s->step_s), found;

	u->measured = NAN;
	u->size = e->size.likely;
	u->state = FC_EVENT_AHEAD;
	if (u->share == 0 || e->start.most >= last)
		return;
	u->measured = event_measure(s, e);
	if (isnan(u->measured) && e->kind != FC_EVENT_GROWTH &&
	    last - e->start.likely - e->ramp_up_s < 2 * EVENT_NEED_S) {
		u->state = FC_EVENT_OPEN;
		return;
	}
	if (!isnan(u->measured) && !event_shown(u)) {
		u->state = FC_EVENT_ABSENT;
		return;
	}
	u->state = event_likely(e).end <= last ? FC_EVENT_OVER : FC_EVENT_SEEN;
	if (isnan(u->measured))
		return;
	found = e->kind == FC_EVENT_GPUS ? u->measured / event_part(u) : u->measured;
	u->size = fmin(fmax(found, e->size.least), e->size.most);
}

static bool
event_explains(const struct fc_event_use *u)
{
	return u->share != 0 && (u->state == FC_EVENT_SEEN || u->state == FC_EVENT_OVER);
}

void
fc_events_history(const struct fc_series *in, struct fc_event_use *use, size_t n, struct arena *a,
    struct fc_series *out)
{
	double *mean = NULL, *peak = NULL;

	*out = *in;
	for (size_t i = 0; i < n; i++) {
		event_place(in, &use[i]);
		if (!event_explains(&use[i]))
			continue;
		if (mean == NULL) {
			mean = arena_memdup(a, in->mean, in->n * sizeof(*mean));
			peak = in->peak != NULL ? arena_memdup(a, in->peak, in->n * sizeof(*peak))
						: NULL;
			out->mean = mean;
			out->peak = peak;
		}
		event_lift(out, &use[i], mean, peak);
	}
}

/* u[k] = (a random order of 0..n-1, each with a random place in its stratum) / n: the share of
 * every range is exact. */
static void
event_strata(struct rng *r, size_t n, double *u)
{
	for (size_t k = 0; k < n; k++)
		u[k] = ((double)k + rng_unit(r)) / (double)n;
	for (size_t k = n; k > 1; k--) {
		size_t at = (size_t)rng_below(r, k);
		double t = u[k - 1];

		u[k - 1] = u[at];
		u[at] = t;
	}
}

/* One draw for each path; what has begun keeps its start and size. */
static void
event_draw_all(const struct fc_event_use *use, double from, uint64_t seed, size_t n,
    struct arena *tmp, struct event_draw *d)
{
	const struct fc_event *e = use->event;
	double *u = arena_array(tmp, 4 * n, sizeof(*u));
	bool begun = use->state != FC_EVENT_AHEAD, sure = event_explains(use);
	struct rng r;

	rng_seed_stream(&r, seed, hash_join(hash_str("event"), hash_str(e->name)));
	for (int i = 0; i < 4; i++)
		event_strata(&r, n, u + (size_t)i * n);
	for (size_t k = 0; k < n; k++) {
		d[k].comes = sure || u[k] < e->probability;
		d[k].start = begun ? e->start.likely : event_triangle(&e->start, u[n + k]);
		if (!begun)
			d[k].start = fmax(d[k].start, from);
		d[k].end = event_end(e, d[k].start, u[2 * n + k]);
		if (use->state == FC_EVENT_SEEN)
			d[k].end = fmax(d[k].end, from);
		d[k].size = sure ? use->size : event_triangle(&e->size, u[3 * n + k]);
	}
}

struct event_mix {
	struct fc_event_use *use;
	struct event_draw *draw; /* [n_paths] */
	double *f_now,
	    *g_now; /* [n_paths] effect at the end of the history, which the forecast carries on */
};

/* Factor and GPUs of the events at time t on path k; demand becomes demand * f + g, whatever their
 * order. */
static void
event_sum(const struct event_mix *m, size_t n, size_t k, double t, double *f, double *g)
{
	*f = 1;
	*g = 0;
	for (size_t i = 0; i < n; i++) {
		double fi, gi;

		if (!m[i].draw[k].comes || m[i].use->share == 0)
			continue;
		event_effect(m[i].use->event, &m[i].draw[k], t, &fi, &gi);
		*f *= m[i].f_now[k] > 0 ? fi / m[i].f_now[k] : 1;
		*g += event_part(m[i].use) * (gi - m[i].g_now[k]);
	}
}

static double
event_bound(double x, double cap)
{
	x = x > 0 ? x : 0;
	return x > cap ? cap : x;
}

/*
 * Quantiles of the step's mean under the events: path k stands at the quantile of its own rank, so
 * that what the events do to a path they do to its place in the distribution. Without chance in the
 * events the quantiles move as one.
 */
static void
event_step_quantiles(double *q, const struct fc_rank *order, const double *f, const double *g,
    size_t n, bool same, double cap, double *x)
{
	if (same) {
		for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
			q[l] = event_bound(q[l] * f[0] + g[0], cap);
		return;
	}
	for (size_t r = 0; r < n; r++) {
		double u = ((double)r + 2.0 / 3.0) / ((double)n + 1.0 / 3.0);

		x[r] = event_bound(fc_level_quantile(q, u) * f[order[r].k] + g[order[r].k], cap);
	}
	fc_sort(x, n);
	for (size_t l = 0; l < FC_LEVEL_COUNT; l++)
		q[l] = fc_quantile_sorted(x, n, fc_levels[l]);
}

struct event_room {
	struct fc_rank *order;
	double *f, *g, *x;
};

/* One step of the horizon. */
static void
event_step(struct fc_result *r, const struct event_mix *m, size_t n, size_t i, double cap,
    struct event_room *w)
{
	double t = (double)(r->t0 + (int64_t)i * r->step_s) + 0.5 * (double)r->step_s, mf = 0,
	       mg = 0;
	bool same = true, none = true;

	for (size_t k = 0; k < r->n_paths; k++) {
		event_sum(m, n, k, t, &w->f[k], &w->g[k]);
		same = same && w->f[k] == w->f[0] && w->g[k] == w->g[0];
		none = none && w->f[k] == 1 && w->g[k] == 0;
		mf += w->f[k] / (double)r->n_paths;
		mg += w->g[k] / (double)r->n_paths;
	}
	if (none)
		return;
	for (size_t k = 0; k < r->n_paths; k++)
		w->order[k] = (struct fc_rank){ r->paths[k * r->horizon + i], k };
	fc_rank(w->order, r->n_paths);
	event_step_quantiles(
	    r->q + i * FC_LEVEL_COUNT, w->order, w->f, w->g, r->n_paths, same, cap, w->x);
	r->mean[i] = event_bound(r->mean[i] * mf + mg, cap);
	for (size_t k = 0; k < r->n_paths; k++) {
		double *p = &r->paths[k * r->horizon + i];

		*p = event_bound(*p * w->f[k] + w->g[k], cap);
	}
}

/* What event i alone adds to the mean of step s, before the others. */
static double
event_alone(const struct fc_result *r, const struct event_mix *m, const double *base, size_t s)
{
	double t = (double)(r->t0 + (int64_t)s * r->step_s) + 0.5 * (double)r->step_s, sum = 0;

	for (size_t k = 0; k < r->n_paths; k++) {
		double f, g;

		event_sum(m, 1, k, t, &f, &g);
		sum += fmax(0, base[s] * f + g) - base[s];
	}
	return sum / (double)r->n_paths;
}

static void
event_report(
    const struct fc_result *r, struct event_mix *m, size_t n, const double *base, struct arena *tmp)
{
	size_t peak = fc_peak_step(r, tmp);

	for (size_t i = 0; i < n; i++) {
		struct fc_event_use *u = m[i].use;

		u->mean = u->happens = 0;
		for (size_t s = 0; s < r->horizon; s++)
			u->mean += event_alone(r, &m[i], base, s) / (double)r->horizon;
		for (size_t k = 0; k < r->n_paths; k++)
			u->happens += m[i].draw[k].comes ? 1.0 / (double)r->n_paths : 0;
		u->at_peak = event_alone(r, &m[i], base, peak);
	}
}

void
fc_events_apply(struct fc_result *r, struct fc_event_use *use, size_t n, uint64_t seed, double cap)
{
	struct arena *tmp = arena_new();
	struct event_mix *m = arena_array(tmp, n, sizeof(*m));
	double *base = arena_memdup(tmp, r->mean, r->horizon * sizeof(*base)), from = (double)r->t0;
	struct event_room room = { arena_array(tmp, r->n_paths, sizeof(*room.order)),
		arena_array(tmp, r->n_paths, sizeof(double)),
		arena_array(tmp, r->n_paths, sizeof(double)),
		arena_array(tmp, r->n_paths, sizeof(double)) };
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		use[i].mean = use[i].at_peak = use[i].happens = 0;
		if (use[i].share == 0 || use[i].state == FC_EVENT_ABSENT ||
		    use[i].state == FC_EVENT_OVER)
			continue;
		m[kept] = (struct event_mix){ &use[i],
			arena_array(tmp, r->n_paths, sizeof(struct event_draw)),
			arena_array(tmp, r->n_paths, sizeof(double)),
			arena_array(tmp, r->n_paths, sizeof(double)) };
		event_draw_all(&use[i], from, seed, r->n_paths, tmp, m[kept].draw);
		for (size_t k = 0; k < r->n_paths; k++) {
			m[kept].f_now[k] = 1;
			if (use[i].state != FC_EVENT_AHEAD)
				event_effect(use[i].event, &m[kept].draw[k], from,
				    &m[kept].f_now[k], &m[kept].g_now[k]);
		}
		kept++;
	}
	for (size_t i = 0; kept > 0 && i < r->horizon; i++)
		event_step(r, m, kept, i, cap, &room);
	if (kept > 0) {
		fc_result_windows(r, tmp);
		event_report(r, m, kept, base, tmp);
	}
	arena_free(tmp);
}
