#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/simcommit.h"
#include "cmd/simowned.h"
#include "plan/commit.h"
#include "util/arena.h"
#include "util/vec.h"

#define SIMCOMMIT_SHORT 48                 /* steps that must be known, and must follow */
#define SIMCOMMIT_MOST ((double)(1 << 20)) /* GPUs, as those of a plan */

static const char *const simcommit_names[SIMCOMMIT_POLICIES] = {
	"on_demand",
	"reserve_mean",
	"reserve_p95",
	"best_of_past",
	"berth",
	"hindsight",
};

const char *
simcommit_name(size_t policy)
{
	return policy < SIMCOMMIT_POLICIES ? simcommit_names[policy] : "unknown";
}

const char *
simcommit_left_name(enum simcommit_left left)
{
	static const char *const names[SIMCOMMIT_LEFT_COUNT] = { NULL, "no_data", "no_demand",
		"owned", "too_large" };

	return left < SIMCOMMIT_LEFT_COUNT ? names[left] : NULL;
}

static int
simcommit_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The steps that have data, sorted. */
static size_t
simcommit_known(const double *v, size_t n, struct arena *a, double **out)
{
	double *x = arena_array(a, n, sizeof(*x));
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(v[i]))
			x[k++] = v[i];
	qsort(x, k, sizeof(*x), simcommit_cmp);
	*out = x;
	return k;
}

/* What is owned in the steps of a period. */
struct simcommit_owned {
	const double *gpus; /* [n] by the step */
	size_t n;
	double *level, *share; /* [n_levels] those that occur, and for what share of the steps */
	size_t n_levels;
};

static void
simcommit_levels(struct simcommit_owned *o, struct arena *a)
{
	double *x = arena_memdup(a, o->gpus, o->n * sizeof(*x));

	qsort(x, o->n, sizeof(*x), simcommit_cmp);
	o->level = arena_array(a, o->n + 1, sizeof(*o->level));
	o->share = arena_array(a, o->n + 1, sizeof(*o->share));
	for (size_t i = 0; i < o->n; i++) {
		if (o->n_levels == 0 || x[i] > o->level[o->n_levels - 1])
			o->level[o->n_levels++] = x[i];
		o->share[o->n_levels - 1]++;
	}
	for (size_t k = 0; k < o->n_levels; k++)
		o->share[k] /= (double)o->n;
}

/* What lacks to so many GPUs beside what is owned, on average. */
static double
simcommit_lacks(const struct simcommit_owned *o, double gpus)
{
	double sum = 0;

	for (size_t k = 0; k < o->n_levels; k++)
		sum += o->share[k] * fmax(0, gpus - o->level[k]);
	return sum;
}

/* Hours in which the GPU behind so many is busy beside what is owned: it serves min(1, D - gpus) of
 * each. */
static double
simcommit_busy(const double *sorted, size_t n, const struct simcommit_owned *o, double gpus)
{
	double busy = 0;

	for (size_t k = 0; k < o->n_levels; k++)
		for (size_t i = n; i-- > 0 && sorted[i] - o->level[k] > gpus;)
			busy += o->share[k] * fmin(1, sorted[i] - o->level[k] - gpus);
	return busy;
}

/* Whole GPUs that serve this past best beside what is owned: those busy at least the share of time
 * that a reserved one costs. NaN: more than SIMCOMMIT_MOST. */
static double
simcommit_best(const double *sorted, size_t n, const struct simcommit_owned *o, double reserved)
{
	double gpus = 0;

	if (n > 0 && simcommit_busy(sorted, n, o, SIMCOMMIT_MOST) >= reserved * (double)n)
		return NAN;
	while (n > 0 && simcommit_busy(sorted, n, o, gpus) >= reserved * (double)n)
		gpus++;
	return gpus;
}

double
simcommit_over(const struct simcommit_cell *c, enum simcommit_policy p, enum simcommit_policy base)
{
	return c->cost[base] > 0 ? c->cost[p] / c->cost[base] : NAN;
}

struct simcommit_world {
	const struct simcommit_grid *g;
	struct arena *a;
	const struct fc_series *s;
	size_t n;
	struct simcommit_cell *cells; /* [n][n_reserved] */
	size_t *from; /* [n] first step of the period; n of the series: it has ended */
	size_t *to;
	const int64_t *dealt; /* [n_own][n] machines of what is owned */
};

/* The paths beside what is owned [horizon]; NULL: nothing is. Absurd ones are cut as what is
 * forecast, not as what is left of it. */
static struct commit_demand
simcommit_demand(const struct fc_result *f, const double *owned, struct arena *a)
{
	struct commit_demand d = { f->paths, f->n_paths, f->horizon, NULL, (double)f->step_s / 3600,
		false };
	double *left;

	if (owned == NULL)
		return d;
	left = arena_memdup(a, f->paths, f->n_paths * f->horizon * sizeof(*left));
	commit_winsorise(left, f->n_paths, f->horizon, a);
	for (size_t i = 0; i < f->n_paths * f->horizon; i++)
		left[i] = fmax(0, left[i] - owned[i % f->horizon]);
	d.gpus = left;
	d.uncut = true;
	return d;
}

static enum berth_code
simcommit_plan(const struct fc_result *f, const double *owned, double reserved, struct arena *a,
    double *gpus_out, struct berth_err *err)
{
	const struct commit_demand d = simcommit_demand(f, owned, a);
	const struct commit_line lines[] = {
		{ COMMIT_RESERVED, 0, reserved, 0, 1, 0, COMMIT_NO_LIMIT, 0 },
		{ COMMIT_ON_DEMAND, 1, 0, 1, 1, 0, COMMIT_NO_LIMIT, 0 },
	};
	struct commit_curve curve;
	struct commit_problem p = { &curve, lines, 2, 10, NAN, NAN, 0 };
	struct commit_plan plan;
	size_t cut;
	enum berth_code rc = commit_curve_build(&d, a, &curve, &cut, err);

	if (rc == BERTH_OK)
		rc = commit_solve(&p, a, &plan, err);
	*gpus_out = rc == BERTH_OK ? plan.use[0].gpus : 0;
	return rc;
}

/* For what came [n] beside what is owned. */
static void
simcommit_pay(
    struct simcommit_cell *c, enum simcommit_policy p, double gpus, const double *left, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isnan(left[i])) {
			c->cost[p] += c->reserved * gpus + fmax(0, left[i] - gpus);
			c->gpus[p] += gpus;
		}
}

/* What came in the period [n] beside what is owned; NaN where there is no data. */
static double *
simcommit_left(const double *came, const double *owned, size_t n, struct arena *a)
{
	double *left = arena_array(a, n + 1, sizeof(*left));

	for (size_t i = 0; i < n; i++)
		left[i] = isnan(came[i]) ? NAN : fmax(0, came[i] - owned[i]);
	return left;
}

/* What series i reserves at this period under each rule, and what that costs. */
static enum berth_code
simcommit_buy(struct simcommit_world *w, size_t i, const struct fc_result *f, struct arena *a,
    struct berth_err *err)
{
	double none = 0, all = 1;
	const struct simcommit_owned nothing = { .level = &none, .share = &all, .n_levels = 1 };
	const double *y = w->s[i].mean, *came = y + w->from[i];
	size_t n = w->to[i] - w->from[i], n_past, n_came;
	double *owned = arena_array(a, f->horizon + n, sizeof(*owned)), *left, *past, *future,
	       mean = 0, p95;
	struct simcommit_owned o = { .gpus = owned, .n = n };

	simowned_have(w->s, w->g->own, w->g->n_own, w->dealt, w->n, i, w->from[i],
	    f->horizon > n ? f->horizon : n, owned);
	simcommit_levels(&o, a);
	left = simcommit_left(came, owned, n, a);
	n_past = simcommit_known(y, w->from[i], a, &past);
	n_came = simcommit_known(left, n, a, &future);
	for (size_t k = 0; k < n_past; k++)
		mean += past[k] / (double)n_past;
	p95 = n_past > 0 ? past[(size_t)(0.95 * (double)(n_past - 1))] : 0;
	for (size_t r = 0; r < w->g->n_reserved; r++) {
		struct simcommit_cell *c = &w->cells[i * w->g->n_reserved + r];
		double gpus[SIMCOMMIT_POLICIES] = { 0 };
		enum berth_code rc = simcommit_plan(
		    f, w->g->n_own > 0 ? owned : NULL, c->reserved, a, &gpus[SIMCOMMIT_BERTH], err);

		if (rc != BERTH_OK)
			return rc;
		gpus[SIMCOMMIT_MEAN] = rint(simcommit_lacks(&o, mean));
		gpus[SIMCOMMIT_P95] = ceil(simcommit_lacks(&o, p95) - 1e-9);
		gpus[SIMCOMMIT_PAST] = simcommit_best(past, n_past, &o, c->reserved);
		gpus[SIMCOMMIT_HINDSIGHT] = simcommit_best(future, n_came, &nothing, c->reserved);
		if (isnan(gpus[SIMCOMMIT_PAST]) || isnan(gpus[SIMCOMMIT_HINDSIGHT]))
			return err_set(err, BERTH_EINVAL,
			    "most of its hours ask for more than the %.0f GPUs that a plan can "
			    "hold: are its numbers right?",
			    SIMCOMMIT_MOST);
		for (size_t p = 0; p < SIMCOMMIT_POLICIES; p++)
			simcommit_pay(c, (enum simcommit_policy)p, gpus[p], left, n);
		c->hours += (double)n_came;
		for (size_t k = 0; k < n; k++) {
			c->owned += isnan(left[k]) ? 0 : owned[k];
			c->demand += isnan(left[k]) ? 0 : came[k];
		}
	}
	return BERTH_OK;
}

struct simcommit_buyer {
	struct simcommit_world *w;
	const size_t *index;
};

/* No plan can hold series i: the others go on. */
static void
simcommit_drop(struct simcommit_world *w, size_t i, const struct berth_err *why)
{
	for (size_t r = 0; r < w->g->n_reserved; r++) {
		struct simcommit_cell *c = &w->cells[i * w->g->n_reserved + r];

		c->left = SIMCOMMIT_TOO_LARGE;
		c->why = arena_strdup(w->a, why->msg);
	}
	w->from[i] = w->s[i].n;
}

static enum berth_code
simcommit_take(void *arg, size_t k, struct fc_result *f, struct arena *a, struct berth_err *err)
{
	struct simcommit_buyer *b = arg;
	size_t i = b->index[k];
	enum berth_code rc;

	if (f->growth.kind == FC_GROWTH_NONE) /* as `berth plan` does */
		(void)commit_level(b->w->s[i].mean, b->w->from[i],
		    (size_t)(604800 / b->w->s[i].step_s), f->paths, f->n_paths, f->horizon);
	rc = simcommit_buy(b->w, i, f, a, err);
	b->w->from[i] = b->w->to[i];
	if (rc != BERTH_EINVAL)
		return rc;
	simcommit_drop(b->w, i, err);
	return BERTH_OK;
}

static int64_t
simcommit_time(const struct simcommit_world *w, size_t i)
{
	return w->s[i].t0 + (int64_t)w->from[i] * w->s[i].step_s;
}

/* The series that buy at time t, together; paths on the level of the mean, as what is used is paid.
 */
static enum berth_code
simcommit_group(struct simcommit_world *w, int64_t t, struct arena *a, struct berth_err *err)
{
	struct fc_series *in = arena_array(a, w->n, sizeof(*in));
	size_t *index = arena_array(a, w->n, sizeof(*index)), m = 0, longest = 0;
	struct simcommit_buyer buyer = { w, index };
	struct fc_options fo;
	struct fc_run *run;
	enum berth_code rc;

	for (size_t i = 0; i < w->n; i++) {
		if (w->to[i] <= w->from[i] || simcommit_time(w, i) != t)
			continue;
		index[m] = i;
		in[m] = w->s[i];
		in[m].n = w->from[i];
		in[m++].peak = NULL;
		longest = w->to[i] - w->from[i] > longest ? w->to[i] - w->from[i] : longest;
	}
	fc_options_init(&fo);
	fo.horizon = longest;
	fo.n_paths = w->g->paths;
	fo.seed = w->g->seed;
	fo.spike_times = FC_SPIKE_ONCE;
	rc = fc_run_open(in, m, &fo, &run, err);
	if (rc != BERTH_OK)
		return rc;
	rc = fc_run_each(run, NULL, m, true, simcommit_take, &buyer, err);
	fc_run_close(run);
	return rc;
}

/*
 * One period of all series that still run. Series of one run learn from each other, so only those
 * share one that buy at the same time: what another one did later was not known.
 */
static enum berth_code
simcommit_period(
    struct simcommit_world *w, struct arena *a, size_t *done_out, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	*done_out = 0;
	for (size_t i = 0; i < w->n; i++) {
		w->to[i] = w->g->every_s == 0
			       ? w->s[i].n
			       : w->from[i] + (size_t)(w->g->every_s / w->s[i].step_s);
		if (w->to[i] > w->s[i].n)
			w->to[i] = w->s[i].n;
		*done_out += w->to[i] > w->from[i];
	}
	for (size_t i = 0; i < w->n && rc == BERTH_OK; i++) {
		if (w->to[i] <= w->from[i]) /* over, or bought by its group */
			continue;
		arena_reset(a);
		rc = simcommit_group(w, simcommit_time(w, i), a, err);
	}
	return rc;
}

/* What is owned, dealt among the series that are kept; keep [w->n]: their places in the grid's. */
static void
simcommit_own(struct simcommit_world *w, const size_t *keep, struct arena *a)
{
	size_t n = w->g->n_own;
	struct simcommit_own *own = arena_array(a, n + 1, sizeof(*own));
	int64_t *dealt;

	for (size_t c = 0; c < n; c++) {
		double *speed = arena_array(a, w->n, sizeof(*speed));

		for (size_t i = 0; i < w->n; i++)
			speed[i] = w->g->own[c].speed[keep[i]];
		own[c] = w->g->own[c];
		own[c].speed = speed;
	}
	simowned_deal(w->s, w->n, w->from, own, n, a, &dealt);
	for (size_t c = 0; c < n; c++)
		w->g->own[c].used = own[c].used;
	w->dealt = dealt;
}

/* Sums become means of the hours, and what is in no mean says why. */
static enum berth_code
simcommit_finish(struct simcommit_world *w, struct berth_err *err)
{
	size_t n = w->n * w->g->n_reserved, large = 0;

	for (size_t i = 0; i < n; i++) {
		struct simcommit_cell *c = &w->cells[i];
		bool no_plan = c->left == SIMCOMMIT_TOO_LARGE;

		large += no_plan;
		c->owned /= fmax(1, c->hours);
		for (size_t p = 0; p < SIMCOMMIT_POLICIES; p++) {
			c->gpus[p] = no_plan ? NAN : c->gpus[p] / fmax(1, c->hours);
			c->cost[p] = no_plan ? NAN : c->cost[p];
		}
		if (!no_plan && !(c->cost[SIMCOMMIT_ON_DEMAND] > 0))
			c->left = c->hours == 0   ? SIMCOMMIT_NO_DATA
				  : c->demand > 0 ? SIMCOMMIT_OWNED
						  : SIMCOMMIT_NO_DEMAND;
	}
	if (large < n)
		return BERTH_OK;
	return err_set(err, BERTH_EINVAL, "series %s: %s", w->cells[0].series, w->cells[0].why);
}

enum berth_code
simcommit_run(const struct fc_series *s, size_t n, const struct simcommit_grid *g,
    simcommit_progress_fn *progress, void *arg, struct arena *a, struct simcommit_cell **cells_out,
    size_t *n_cells_out, struct berth_err *err)
{
	struct simcommit_world w = { .g = g, .a = a };
	struct fc_series *kept = arena_array(a, n, sizeof(*kept));
	struct arena *scratch;
	size_t done = 1, at = 0, periods = 1, *keep = arena_array(a, n, sizeof(*keep));
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n; i++) {
		size_t first = (size_t)(g->split * (double)s[i].n);

		if (first >= SIMCOMMIT_SHORT && s[i].n - first >= SIMCOMMIT_SHORT &&
		    s[i].step_s == 3600) {
			keep[w.n] = i;
			kept[w.n++] = s[i];
		}
	}
	if (w.n == 0)
		return err_set(err, BERTH_EINFEASIBLE,
		    "no series has two days of hours before and behind the split");
	w.s = kept;
	w.from = arena_array(a, w.n, sizeof(*w.from));
	w.to = arena_array(a, w.n, sizeof(*w.to));
	w.cells = arena_array(a, w.n * g->n_reserved, sizeof(*w.cells));
	for (size_t i = 0; i < w.n; i++) {
		size_t rest;

		w.from[i] = (size_t)(g->split * (double)kept[i].n);
		rest =
		    g->every_s == 0 ? 1 : (kept[i].n - w.from[i]) / (size_t)(g->every_s / 3600) + 1;
		periods = rest > periods ? rest : periods;
		for (size_t r = 0; r < g->n_reserved; r++)
			w.cells[i * g->n_reserved + r] =
			    (struct simcommit_cell){ .series = kept[i].name,
				    .reserved = g->reserved[r] };
	}
	simcommit_own(&w, keep, a);
	scratch = arena_new();
	while (rc == BERTH_OK && done > 0) {
		rc = simcommit_period(&w, scratch, &done, err);
		progress(arg, ++at, periods);
	}
	arena_free(scratch);
	if (rc == BERTH_OK)
		rc = simcommit_finish(&w, err);
	*cells_out = w.cells;
	*n_cells_out = w.n * g->n_reserved;
	return rc;
}
