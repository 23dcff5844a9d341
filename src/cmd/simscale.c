#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/simscale.h"

#define SIMSCALE_FLIGHT 4096 /* orders on their way at a time */
#define SIMSCALE_HOLD_S 300  /* of the threshold policy: its peers' default */
#define SIMSCALE_HISTORY_H 48

static const char *const simscale_names[SIMSCALE_POLICIES] = {
	"fixed_peak",
	"fixed_mean",
	"threshold",
	"berth",
	"berth_forecast",
};

const char *
simscale_name(size_t p)
{
	return simscale_names[p];
}

struct simscale_world {
	const struct simscale_grid *g;
	const double *load;
	size_t n;
	int64_t t0, step_s;
	double *ahead; /* [n_made][reach][FC_LEVEL_COUNT] forecasts of each hour, the k-th made at
			  hour HISTORY_H + k every of made_t0 */
	size_t n_made, reach, every;
	int64_t made_t0;
	size_t moved;     /* steps from the first one on that are all alike */
	double still;     /* ... their load */
	int64_t fixed[2]; /* replicas for the peak, for the mean */
	struct scale_rule rule;
};

/* One policy on its way through the world. */
struct simscale_fleet {
	int64_t ready, starting;
	struct {
		int64_t due, n;
	} order[SIMSCALE_FLIGHT]; /* oldest first */
	size_t n_order;
	struct scale_state state;
	struct {
		int64_t t, n;
	} rec[SIMSCALE_HOLD_S]; /* recommendations of the threshold policy, newest last */
	size_t n_rec;
	int64_t up, down; /* when it last grew, shrank */
};

static double
simscale_load(const struct simscale_world *w, int64_t t)
{
	return t < w->t0 || (size_t)((t - w->t0) / w->step_s) >= w->n
		   ? NAN
		   : w->load[(t - w->t0) / w->step_s];
}

static int64_t
simscale_clamp(const struct simscale_world *w, double n)
{
	return n < (double)w->rule.min   ? w->rule.min
	       : n > (double)w->rule.max ? w->rule.max
					 : (int64_t)n;
}

/* The most that was recommended in the last 5 min, if that differs from what is there by more than
 * the tolerance. */
static int64_t
simscale_threshold(const struct simscale_world *w, struct simscale_fleet *f, int64_t t, double seen)
{
	int64_t have = f->ready + f->starting, most = 0;
	double want = seen / (w->rule.unit * w->rule.target);
	size_t kept = 0;

	if (isnan(seen))
		return have;
	if (have > 0 && fabs(want / (double)have - 1) <= w->rule.tolerance)
		want = (double)have;
	for (size_t i = 0; i < f->n_rec; i++)
		if (f->rec[i].t > t - SIMSCALE_HOLD_S && kept + 1 < SIMSCALE_HOLD_S)
			f->rec[kept++] = f->rec[i];
	f->rec[kept].t = t;
	f->rec[kept].n = simscale_clamp(w, ceil(want));
	f->n_rec = kept + 1;
	for (size_t i = 0; i < f->n_rec; i++)
		most = f->rec[i].n > most ? f->rec[i].n : most;
	return f->rec[kept].n > have ? f->rec[kept].n : most < have ? most : have;
}

/* Load of the hour of t by the newest forecast that was there at `now`; NaN: there was none. */
static double
simscale_ahead(const struct simscale_world *w, int64_t now, int64_t t, size_t level)
{
	int64_t hour = (now - w->made_t0) / 3600 - SIMSCALE_HISTORY_H;
	size_t k, at;

	if (w->n_made == 0 || hour < 0)
		return NAN;
	k = (size_t)hour / w->every < w->n_made ? (size_t)hour / w->every : w->n_made - 1;
	at = (size_t)((t - w->made_t0) / 3600) - SIMSCALE_HISTORY_H - k * w->every;
	return at < w->reach ? w->ahead[(k * w->reach + at) * FC_LEVEL_COUNT + level] : NAN;
}

static size_t
simscale_level(double level)
{
	size_t k = 0;

	while (k + 1 < FC_LEVEL_COUNT && fc_levels[k] < level - 1e-9)
		k++;
	return k;
}

/* The most that is foreseen at t of the hours of `from` to `to`. */
static double
simscale_most(const struct simscale_world *w, const struct scale_still *still, int64_t t,
    int64_t from, int64_t to, double level)
{
	size_t k = simscale_level(level);
	double most = NAN;

	for (int64_t at = from; (at - w->made_t0) / 3600 <= (to - w->made_t0) / 3600; at += 3600)
		most = fmax(most, scale_foreseen(still, fc_levels[k], (at < to ? at : to) - t,
				      simscale_ahead(w, t, at, k)));
	return most;
}

static void
simscale_moved(struct simscale_world *w)
{
	w->still = NAN;
	for (w->moved = 0; w->moved < w->n; w->moved++) {
		double x = w->load[w->moved];

		if (!isnan(x) && !isnan(w->still) && x != w->still)
			return;
		w->still = isnan(x) ? w->still : x;
	}
}

/* What is known at t of a load that has never moved: the past alone. */
static struct scale_still
simscale_still(const struct simscale_world *w, int64_t t)
{
	int64_t seen = (t - w->g->period_s - w->t0) / w->step_s;

	return (
	    struct scale_still){ w->still, seen >= 0 && (size_t)seen < w->moved ? t - w->t0 : 0 };
}

static int64_t
simscale_target(const struct simscale_world *w, enum simscale_policy p, struct simscale_fleet *f,
    int64_t t, double seen)
{
	struct scale_input in = { .t = t,
		.ready = f->ready,
		.starting = f->starting,
		.load = seen,
		.forecast = NAN,
		.soon = NAN,
		.least = NAN,
		.least_soon = NAN };
	const struct scale_still still = simscale_still(w, t);
	double level = w->g->level;
	struct scale_rule rule = w->rule;
	struct scale_decision d = { 0 };

	switch (p) {
	case SIMSCALE_FIXED_PEAK:
	case SIMSCALE_FIXED_MEAN:
		return w->fixed[p == SIMSCALE_FIXED_MEAN];
	case SIMSCALE_THRESHOLD:
		return simscale_threshold(w, f, t, seen);
	case SIMSCALE_BERTH:
	case SIMSCALE_FORECAST:
		if (p == SIMSCALE_FORECAST) {
			in.forecast = simscale_most(
			    w, &still, t, t + w->rule.boot_s, t + w->rule.boot_s, level);
			in.soon =
			    simscale_most(w, &still, t, t, t + scale_restart(&w->rule), level);
		}
		scale_hours_apply(w->g->hours, w->g->n_hours, w->g->tz, t, &rule);
		if (rule.headroom.percentile > 0) {
			level = (double)rule.headroom.percentile / 100;
			in.least = simscale_most(w, &still, t, t, t + rule.boot_s, level);
			in.least_soon =
			    simscale_most(w, &still, t, t, t + scale_restart(&rule), level);
		}
		scale_step(&rule, &f->state, &in, &d);
		return d.target;
	case SIMSCALE_POLICIES:
		break;
	}
	return 0;
}

/* Those that have come by t work; an order is for now or for later. */
static void
simscale_arrive(struct simscale_fleet *f, int64_t t)
{
	size_t done = 0;

	while (done < f->n_order && f->order[done].due <= t) {
		f->ready += f->order[done].n;
		f->starting -= f->order[done++].n;
	}
	for (size_t i = done; i < f->n_order; i++)
		f->order[i - done] = f->order[i];
	f->n_order -= done;
}

static void
simscale_apply(const struct simscale_world *w, struct simscale_fleet *f, int64_t t, int64_t target,
    struct simscale_result *r)
{
	int64_t change = target - f->ready - f->starting;

	if (change == 0)
		return;
	if (change > 0 && f->n_order < SIMSCALE_FLIGHT) {
		r->flaps += f->down > f->up && t - f->up < scale_window(&w->rule);
		f->up = t;
		f->order[f->n_order].due = t + w->rule.boot_s;
		f->order[f->n_order++].n = change;
		f->starting += change;
		r->starts += change;
	}
	f->down = change < 0 ? t : f->down;
	for (; change < 0 && f->n_order > 0; f->n_order -= f->order[f->n_order - 1].n == 0) {
		int64_t k =
		    f->order[f->n_order - 1].n < -change ? f->order[f->n_order - 1].n : -change;

		f->order[f->n_order - 1].n -= k;
		f->starting -= k;
		change += k;
	}
	f->ready += change < 0 ? change : 0;
	r->changes++;
}

static void
simscale_play(const struct simscale_world *w, enum simscale_policy p, struct arena *a,
    struct simscale_result *r)
{
	struct simscale_fleet *f = arena_alloc(a, sizeof(*f));
	double hours = (double)w->g->period_s / 3600;
	int64_t end = w->t0 + (int64_t)w->n * w->step_s;
	struct scale_rule rule = w->rule;

	rule.headroom = (struct scale_headroom){ .machines = 0 };
	f->up = f->down = INT64_MIN / 2;
	/* It begins with what the first load asks for: nobody is measured by how he starts. */
	if (p >= SIMSCALE_BERTH) {
		rule.headroom = w->rule.headroom;
		scale_hours_apply(w->g->hours, w->g->n_hours, w->g->tz, w->t0, &rule);
	}
	f->ready = p < SIMSCALE_THRESHOLD ? w->fixed[p]
		   : isnan(w->load[0])    ? rule.headroom.machines
					  : scale_carries(&rule, w->load[0]);
	f->ready = p < SIMSCALE_THRESHOLD ? f->ready
		   : f->ready < rule.min  ? rule.min
		   : f->ready > rule.max  ? rule.max
					  : f->ready;
	for (int64_t t = w->t0; t < end; t += w->g->period_s) {
		double load = simscale_load(w, t), lack;

		simscale_arrive(f, t);
		if (t > w->t0)
			simscale_apply(w, f, t,
			    simscale_target(w, p, f, t, simscale_load(w, t - w->g->period_s)), r);
		simscale_arrive(f, t);
		r->most = f->ready + f->starting > r->most ? f->ready + f->starting : r->most;
		r->cost += (double)(f->ready + f->starting) * hours;
		if (isnan(load))
			continue;
		lack = fmax(0, load - (double)f->ready * w->rule.unit);
		r->load += load * hours;
		r->shortage += lack * hours;
		r->short_hours += lack > 1e-9 * load ? hours : 0;
	}
}

/* Whether any policy looks ahead. */
static bool
simscale_foresees(const struct simscale_grid *g)
{
	bool headroom = g->rule.headroom.percentile > 0;

	for (size_t i = 0; i < g->n_hours; i++)
		headroom = headroom || g->hours[i].headroom.percentile > 0;
	return g->policy[SIMSCALE_FORECAST] || (g->policy[SIMSCALE_BERTH] && headroom);
}

/* A forecast each every_s with the hours before it. */
static enum berth_code
simscale_foresee(
    struct simscale_world *w, const struct fc_series *hours, struct arena *a, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	struct arena *tmp;

	w->every = w->g->every_s < 3600 ? 1 : (size_t)(w->g->every_s / 3600);
	w->reach = w->every + (size_t)(scale_restart(&w->rule) / 3600) + 1;
	w->made_t0 = hours->t0;
	if (hours->n <= SIMSCALE_HISTORY_H)
		return BERTH_OK;
	tmp = arena_new();
	w->ahead = arena_array_of(a,
	    ((hours->n - SIMSCALE_HISTORY_H - 1) / w->every + 1) * w->reach * FC_LEVEL_COUNT,
	    double);
	for (size_t at = SIMSCALE_HISTORY_H; rc == BERTH_OK && at < hours->n;
	     at += w->every, w->n_made++) {
		struct fc_series known = *hours;
		struct fc_options o;
		struct fc_result f;

		arena_reset(tmp);
		known.n = at;
		fc_options_init(&o);
		o.horizon = w->reach;
		o.n_paths = 0;
		rc = fc_run(&known, &o, tmp, &f, err);
		if (rc == BERTH_OK)
			memcpy(w->ahead + w->n_made * w->reach * FC_LEVEL_COUNT, f.q,
			    w->reach * FC_LEVEL_COUNT * sizeof(double));
	}
	arena_free(tmp);
	return rc;
}

enum berth_code
simscale_run(const double *load, size_t n, int64_t t0, int64_t step_s,
    const struct fc_series *hours, const struct simscale_grid *g, struct arena *a,
    struct simscale_result *out, struct berth_err *err)
{
	struct simscale_world w = {
		.g = g, .load = load, .n = n, .t0 = t0, .step_s = step_s, .rule = g->rule
	};
	double carry = g->rule.unit * g->rule.target, most = 0, sum = 0;
	enum berth_code rc = BERTH_OK;
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(load[i])) {
			most = fmax(most, load[i]);
			sum += load[i];
			known++;
		}
	if (most <= 0)
		return err_set(
		    err, BERTH_EINFEASIBLE, "the series has no load at all in this time");
	if (w.rule.max == 0)
		w.rule.max =
		    SCALE_MOST; /* a limit by the highest load would be one that nobody knew */
	if (w.rule.max < w.rule.min)
		w.rule.max = w.rule.min;
	rc = scale_check(&w.rule, err);
	w.fixed[0] = simscale_clamp(&w, ceil(most / carry));
	w.fixed[1] = simscale_clamp(&w, ceil(sum / (double)known / carry));
	simscale_moved(&w);
	if (rc == BERTH_OK && simscale_foresees(g))
		rc = simscale_foresee(&w, hours, a, err);
	for (size_t p = 0; rc == BERTH_OK && p < SIMSCALE_POLICIES; p++) {
		out[p] = (struct simscale_result){ 0 };
		if (g->policy[p])
			simscale_play(&w, (enum simscale_policy)p, a, &out[p]);
	}
	return rc;
}
