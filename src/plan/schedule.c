#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/schedule_impl.h"
#include "util/arena.h"

#define SCHEDULE_ROUNDS 6
#define SCHEDULE_BORDERS 4096

static int
schedule_cmp(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts v and drops what is there twice. */
static size_t
schedule_unique(int64_t *v, size_t n)
{
	size_t kept = 0;

	qsort(v, n, sizeof(*v), schedule_cmp);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || v[kept - 1] != v[i])
			v[kept++] = v[i];
	return kept;
}

/* Is a line bought at dates? */
static bool
schedule_dated(const struct schedule_problem *p, size_t line)
{
	return p->lines[line].kind == COMMIT_RESERVED && !schedule_dealt(p, line);
}

/* What is owned holds for such steps: where it ends other things may begin. */
static void
schedule_holds(struct schedule_work *w, int64_t from, int64_t to)
{
	if (from > 0 && from < w->steps)
		VEC_PUSH(w->a, &w->border, from);
	if (to <= 0 || to >= w->steps)
		return;
	VEC_PUSH(w->a, &w->border, to);
	VEC_PUSH(w->a, &w->start, to);
}

static void
schedule_dates(struct schedule_work *w)
{
	const struct schedule_problem *p = w->p;

	for (int64_t s = 0; s < w->steps; s += p->every)
		VEC_PUSH(w->a, &w->start, s);
	for (size_t i = 0; i < p->n_owned; i++)
		schedule_holds(w, p->owned[i].from, p->owned[i].to);
	for (size_t i = 0; i < p->n_lines; i++) {
		if (schedule_dealt(p, i))
			schedule_holds(w, p->held[i].from, p->held[i].to);
		for (int64_t s = p->term[i]; schedule_dated(p, i) && s < w->steps; s += p->term[i])
			VEC_PUSH(w->a, &w->start, s);
	}
	w->start.n = schedule_unique(w->start.v, w->start.n);
	VEC_PUSH(w->a, &w->border, 0);
	VEC_PUSH(w->a, &w->border, w->steps);
	for (size_t k = 0; k < w->start.n; k++) {
		VEC_PUSH(w->a, &w->border, w->start.v[k]);
		for (size_t i = 0; i < p->n_lines; i++)
			if (schedule_dated(p, i) && w->start.v[k] + p->term[i] < w->steps)
				VEC_PUSH(w->a, &w->border, w->start.v[k] + p->term[i]);
	}
	w->border.n = schedule_unique(w->border.v, w->border.n);
}

size_t
schedule_at(const struct schedule_work *w, int64_t step)
{
	size_t lo = 0, hi = w->border.n - 1;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->border.v[mid] < step)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
schedule_offer_dealt(struct schedule_work *w, size_t line)
{
	const struct schedule_held *h = &w->p->held[line];
	struct terms_offer o = { schedule_at(w, h->from > 0 ? h->from : 0),
		schedule_at(w, h->to < w->steps ? h->to : w->steps), USD_ZERO,
		w->p->lines[line].max_count };

	if (o.from >= o.to)
		return;
	VEC_PUSH(w->a, &w->offer, o);
	VEC_PUSH(w->a, &w->line, line);
}

static enum berth_code
schedule_offers(struct schedule_work *w, struct berth_err *err)
{
	const struct schedule_problem *p = w->p;

	for (size_t i = 0; i < p->n_lines; i++) {
		if (schedule_dealt(p, i))
			schedule_offer_dealt(w, i);
		for (size_t k = 0; k < w->start.n && schedule_dated(p, i); k++) {
			int64_t s = w->start.v[k],
				end = s + p->term[i] < w->steps ? s + p->term[i] : w->steps;
			const struct commit_line *l = &p->lines[i];
			struct terms_offer o = { schedule_at(w, s), schedule_at(w, end), USD_ZERO,
				l->max_count };
			double usd = l->fixed * commit_line_gpus(l) * (double)(end - s) *
				     p->demand->step_hours;
			enum berth_code rc = usd_from_double(usd, &o.cost, err);

			if (rc != BERTH_OK)
				return rc;
			VEC_PUSH(w->a, &w->offer, o);
			VEC_PUSH(w->a, &w->line, i);
		}
	}
	w->count = arena_array(w->a, w->offer.n + 1, sizeof(*w->count));
	return BERTH_OK;
}

/* Share of the time in which each further GPU is busy, in steps [from, to); demand over cap is cut
 * to it. */
static void
schedule_busy(const struct commit_demand *d, double scale, int64_t from, int64_t to, double cap,
    double *u, size_t levels)
{
	double total = 0;

	memset(u, 0,
	    (levels + 1) *
		sizeof(*u)); /* first the weight by whole GPUs, in u[l]: E clip(D - l, 0, 1) */
	for (size_t k = 0; k < d->n_paths; k++) {
		double w = d->weight == NULL ? 1 : d->weight[k];

		total += w * (double)(to - from);
		for (int64_t t = from; t < to; t++) {
			double v = scale * d->gpus[k * d->n_steps + (size_t)t], whole;

			v = v < cap ? v : cap;
			whole = floor(v);

			/* As differences: busy to `whole`, and by the fraction at it. */
			if (whole > 0)
				u[(size_t)whole - 1] += w * (1 - (v - whole));
			u[(size_t)whole] += w * (v - whole);
		}
	}
	for (size_t l = levels; l > 0; l--)
		u[l - 1] += u[l];
	for (size_t l = 0; l <= levels; l++)
		u[l] /= total;
}

/* Levels, hours and costs of each stretch. */
static void
schedule_fill_stretches(struct schedule_work *w, double on_demand)
{
	const struct schedule_problem *p = w->p;
	size_t n = w->rest.n, width = w->levels + 1, levels = (size_t)w->rest.levels + 1;
	bool like = w->like != NULL && w->scale == 1;

	w->usd = arena_array(w->a, n * levels, sizeof(*w->usd));
	w->least = arena_array(w->a, n, sizeof(*w->least));
	w->use = arena_array(w->a, n * width, sizeof(*w->use));
	w->served = arena_array(w->a, n * width, sizeof(*w->served));
	w->hours = arena_array(w->a, n, sizeof(*w->hours));
	w->merit = arena_array(w->a, n, sizeof(*w->merit));
	for (size_t t = 0; t < n; t++) {
		int64_t from = w->border.v[t], to = w->border.v[t + 1];
		double owned = 0;
		double *u = w->use + t * width, *served = w->served + t * width;

		w->hours[t] = (double)(to - from) * p->demand->step_hours;
		if (like)
			memcpy(u, w->like->use + t * width, width * sizeof(*u));
		else
			schedule_busy(p->demand, w->scale, from, to, w->cap, u, w->levels);
		for (size_t l = 0; l < w->levels; l++)
			served[l + 1] = served[l] + u[l];
		for (size_t i = 0; i < p->n_owned; i++)
			owned +=
			    p->owned[i].from <= from && to <= p->owned[i].to ? p->owned[i].gpus : 0;
		schedule_rest(w, t, w->usd + t * levels);
		schedule_merit(w, t);
		if (!isnan(p->peak))
			w->least[t] = (int64_t)fmax(0, ceil(p->peak - on_demand - owned - 1e-9));
	}
	w->rest.usd = w->usd;
	w->rest.least = w->least;
}

static enum berth_code
schedule_stretches(struct schedule_work *w, struct berth_err *err)
{
	const struct schedule_problem *p = w->p;
	double on_demand = 0;

	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind == COMMIT_ON_DEMAND)
			on_demand += commit_stack_gpus(&p->lines[i], p->lines[i].max_count);
	w->cap = w->like != NULL ? w->like->cap * w->scale : commit_cap(p->demand, w->a, NULL);
	w->rest.n = w->border.n - 1;
	w->levels = (size_t)ceil(w->cap);
	w->rest.levels = (int64_t)w->levels;
	if (!isnan(p->peak) && p->peak - on_demand > w->cap)
		w->rest.levels = (int64_t)ceil(p->peak - on_demand);
	if (w->rest.n > SCHEDULE_BORDERS)
		return err_set(err, BERTH_EINVAL,
		    "%zu start and end dates are too many; take later ones (--starts)", w->rest.n);
	schedule_fill_stretches(w, on_demand);
	return BERTH_OK;
}

static double
schedule_usd(const struct schedule_work *w, const int64_t *have, double *bound_out)
{
	double rest = 0, bound = 0;

	for (size_t t = 0; t < w->rest.n; t++)
		rest += schedule_hours_usd(w, have, t, 0, 0);
	for (size_t j = 0; j < w->offer.n; j++)
		bound += (double)w->count[j] * usd_to_double(w->offer.v[j].cost);
	*bound_out = bound;
	return rest + bound;
}

static bool
schedule_is(const struct schedule_work *w, size_t offer, const struct schedule_kind *kind)
{
	size_t line = w->line.v[offer];

	return w->p->lines[line].gpus == kind->gpus && w->band_of[line] == kind->band;
}

/* Machines of one kind, all others held. */
static enum berth_code
schedule_one(struct schedule_work *w, const struct schedule_kind *kind, struct terms_plan *plan,
    struct berth_err *err)
{
	int64_t *have = arena_array(w->a, w->rest.n * w->n_bands, sizeof(*have)),
		*least = arena_array(w->a, w->rest.n, sizeof(*least)), g = kind->gpus;
	struct terms_rest r = {
		.n = w->rest.n, .levels = (w->rest.levels + g - 1) / g, .least = least
	};
	size_t width = (size_t)r.levels + 1, n = 0;
	double *usd = arena_array(w->a, r.n * width, sizeof(*usd)), budget = w->p->budget;
	struct terms_offer *o = arena_array(w->a, w->offer.n, sizeof(*o));
	enum berth_code rc;

	schedule_have(w, kind, have);
	for (size_t t = 0; t < r.n; t++) {
		int64_t is = schedule_sum(w, have, t);

		for (size_t k = 0; k < width; k++)
			usd[t * width + k] =
			    schedule_hours_usd(w, have, t, kind->band, (int64_t)k * g);
		least[t] = w->least[t] > is ? (w->least[t] - is + g - 1) / g : 0;
	}
	r.usd = usd;
	for (size_t j = 0; j < w->offer.n; j++) {
		if (schedule_is(w, j, kind))
			o[n++] = w->offer.v[j];
		else if (!isnan(budget))
			budget = fmax(
			    0, budget - (double)w->count[j] * usd_to_double(w->offer.v[j].cost));
	}
	rc = terms_solve_rest(&r, o, n, w->p->theta, budget, w->a, plan, err);
	n = 0;
	for (size_t j = 0; j < w->offer.n && rc == BERTH_OK; j++)
		if (schedule_is(w, j, kind))
			w->count[j] = plan->count[n++];
	return rc;
}

enum berth_code
schedule_bound(struct schedule_work *w, struct terms_plan *plan, struct berth_err *err)
{
	struct terms_offer *o = arena_array(w->a, w->offer.n, sizeof(*o));

	for (size_t j = 0; j < w->offer.n; j++) {
		int64_t g = w->p->lines[w->line.v[j]].gpus;

		o[j] = w->offer.v[j];
		o[j].cost.v /= g;
		o[j].max = o[j].max > INT64_MAX / g ? INT64_MAX : o[j].max * g;
	}
	return terms_solve_rest(
	    &w->rest, o, w->offer.n, w->p->theta, w->p->budget, w->a, plan, err);
}

static int
schedule_cmp_kind(const void *a, const void *b)
{
	const struct schedule_kind *x = a, *y = b;

	if (x->band != y->band)
		return x->band < y->band ? -1 : 1;
	return (x->gpus > y->gpus) - (x->gpus < y->gpus);
}

/* Kinds that are sold; [n]. */
static struct schedule_kind *
schedule_kinds(const struct schedule_work *w, size_t *n_out)
{
	struct schedule_kind *kind = arena_array(w->a, w->p->n_lines + 1, sizeof(*kind));
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < w->p->n_lines; i++)
		if (w->p->lines[i].kind == COMMIT_RESERVED)
			kind[n++] = (struct schedule_kind){ w->p->lines[i].gpus, w->band_of[i] };
	qsort(kind, n, sizeof(*kind), schedule_cmp_kind);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || schedule_cmp_kind(&kind[kept - 1], &kind[i]) != 0)
			kind[kept++] = kind[i];
	*n_out = kept;
	return kind;
}

struct schedule_best {
	int64_t *count; /* [offers] */
	double cost, theta;
};

/* From the counts of the work on, each kind in turn, from `first` on, as long as that helps. */
static enum berth_code
schedule_rounds(struct schedule_work *w, const struct schedule_kind *kind, size_t n, size_t first,
    struct schedule_best *best, struct berth_err *err)
{
	int64_t *have = arena_array(w->a, w->rest.n * w->n_bands, sizeof(*have));
	double was = INFINITY, cost = INFINITY, bound;
	struct terms_plan plan;

	for (size_t k = 0; k < SCHEDULE_ROUNDS * n; k++) {
		enum berth_code rc = schedule_one(w, &kind[(first + k) % n], &plan, err);

		if (rc != BERTH_OK)
			return rc;
		schedule_have(w, NULL, have);
		cost = schedule_usd(w, have, &bound) + w->p->theta * bound;
		if (cost < best->cost) {
			best->cost = cost;
			best->theta = plan.theta;
			memcpy(best->count, w->count, w->offer.n * sizeof(*best->count));
		}
		if ((k + 1) % n == 0 && cost >= was)
			break;
		was = (k + 1) % n == 0 ? cost : was;
	}
	return BERTH_OK;
}

/*
 * One kind: exact. Several: from each kind alone, and from the plan of single GPUs cut to whole
 * machines; the best is kept.
 */
static enum berth_code
schedule_kinds_solve(struct schedule_work *w, const struct schedule_kind *kind, size_t n,
    double *lower_out, double *theta_out, struct berth_err *err)
{
	struct schedule_best best = { arena_array(w->a, w->offer.n + 1, sizeof(*best.count)),
		INFINITY, 0 };
	struct terms_plan plan = { .theta = 0 };
	enum berth_code rc = BERTH_OK;

	if (n == 1) {
		rc = schedule_one(w, &kind[0], &plan, err);
		*lower_out = plan.lower_bound_usd;
		*theta_out = plan.theta;
		return rc;
	}
	if (n == 0)
		return BERTH_OK;
	rc = schedule_bound(w, &plan, err);
	if (rc != BERTH_OK)
		return rc;
	*lower_out = plan.lower_bound_usd;
	for (size_t k = 0; k < 2 * n; k++) {
		for (size_t j = 0; j < w->offer.n; j++)
			w->count[j] = k < n ? 0 : plan.count[j] / w->p->lines[w->line.v[j]].gpus;
		rc = schedule_rounds(w, kind, n, k % n, &best, err);
		if (rc != BERTH_OK &&
		    rc != BERTH_EINFEASIBLE) /* of one kind alone; another may do */
			return rc;
	}
	if (isinf(best.cost))
		return rc;
	memcpy(w->count, best.count, w->offer.n * sizeof(*best.count));
	*theta_out = best.theta;
	return BERTH_OK;
}

static int
schedule_cmp_buy(const void *a, const void *b)
{
	const struct schedule_buy *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

void
schedule_report(struct schedule_work *w, struct schedule *out)
{
	int64_t *have = arena_array(w->a, w->rest.n * w->n_bands, sizeof(*have));
	struct terms_rest *rest = arena_array(w->a, 1, sizeof(*rest));
	double usd;

	schedule_have(w, NULL, have);
	usd = schedule_usd(w, have, &out->bound_usd);
	if (isnan(out->cost_usd))
		out->cost_usd = usd;
	out->lower_bound_usd = fmin(out->lower_bound_usd, out->cost_usd);
	out->optimal = out->cost_usd - out->lower_bound_usd <= 1e-9 * fmax(1, out->cost_usd);
	out->buy = arena_array(w->a, w->offer.n + 1, sizeof(*out->buy));
	for (size_t j = 0; j < w->offer.n; j++) {
		int64_t from = w->border.v[w->offer.v[j].from];

		if (w->count[j] > 0)
			out->buy[out->n++] = (struct schedule_buy){ w->line.v[j], from,
				schedule_dealt(w->p, w->line.v[j])
				    ? w->p->held[w->line.v[j]].to
				    : from + w->p->term[w->line.v[j]],
				w->count[j],
				(double)w->count[j] * usd_to_double(w->offer.v[j].cost) };
	}
	qsort(out->buy, out->n, sizeof(*out->buy), schedule_cmp_buy);
	*rest = w->rest;
	out->form = (struct schedule_form){ w->offer.v, w->line.v, w->offer.n, rest, w->border.v,
		w->use, w->levels };
}

enum berth_code
schedule_begin(struct schedule_work *w, const struct schedule_problem *p, struct arena *a,
    struct berth_err *err)
{
	struct commit_curve check;
	enum berth_code rc = commit_curve_build(p->demand, a, &check, NULL, err);

	*w = (struct schedule_work){
		.p = p, .a = a, .steps = (int64_t)p->demand->n_steps, .scale = 1
	};
	if (rc == BERTH_OK && p->every < 1)
		return err_set(
		    err, BERTH_EINVAL, "start dates every %lld steps", (long long)p->every);
	for (size_t i = 0; i < p->n_lines && rc == BERTH_OK; i++)
		if (p->lines[i].kind == COMMIT_RESERVED &&
		    ((schedule_dated(p, i) && p->term[i] < 1) || !(p->lines[i].usage >= 0) ||
			!(p->lines[i].usage < p->unserved)))
			return err_set(err, BERTH_EINVAL,
			    "offer %zu: a term of %lld steps, %g USD an hour of use", i + 1,
			    (long long)p->term[i], p->lines[i].usage);
	for (size_t i = 0; i < p->n_owned && rc == BERTH_OK; i++)
		if (!(p->owned[i].usage >= 0) || !(p->owned[i].usage < p->unserved))
			return err_set(err, BERTH_EINVAL, "owned %zu: %g USD an hour of use", i + 1,
			    p->owned[i].usage);
	schedule_bands(w);
	if (rc == BERTH_OK)
		schedule_dates(w);
	return rc;
}

enum berth_code
schedule_fill(struct schedule_work *w, struct berth_err *err)
{
	enum berth_code rc = schedule_offers(w, err);

	return rc != BERTH_OK ? rc : schedule_stretches(w, err);
}

enum berth_code
schedule_flow(struct schedule_work *w, struct schedule *out, bool *ruled_out, struct berth_err *err)
{
	size_t n_kinds;
	struct schedule_kind *kind = schedule_kinds(w, &n_kinds);
	enum berth_code rc;

	*out = (struct schedule){ .theta = 0, .cost_usd = NAN };
	if (n_kinds == 0)
		out->lower_bound_usd = INFINITY;
	rc = schedule_kinds_solve(w, kind, n_kinds, &out->lower_bound_usd, &out->theta, err);
	*ruled_out = schedule_ruled(w, n_kinds, out->theta > 0);
	return rc;
}

enum berth_code
schedule_solve(
    const struct schedule_problem *p, struct arena *a, struct schedule *out, struct berth_err *err)
{
	struct schedule_work w;
	int64_t *const *start = &w.count;
	struct schedule_effort e = { .work = p->work };
	bool ruled = false;
	enum berth_code rc = schedule_begin(&w, p, a, err);

	if (rc == BERTH_OK)
		rc = schedule_fill(&w, err);
	if (rc == BERTH_OK)
		rc = schedule_flow(&w, out, &ruled, err);
	if (rc == BERTH_OK && ruled)
		rc = schedule_rules_solve(&w, 1, p->budget,
		    p->theta > 0 || isinf(out->lower_bound_usd) ? -INFINITY : out->lower_bound_usd,
		    &start, 1, &e, &out, err);
	if (rc == BERTH_OK)
		schedule_report(&w, out);
	return rc;
}
