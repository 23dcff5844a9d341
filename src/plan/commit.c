#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/commit.h"
#include "plan/commit_impl.h"
#include "util/arena.h"
#include "util/money.h"

#define COMMIT_MAX_LINES 4096
#define COMMIT_MAX_GPUS (INT64_C(1) << 20) /* of all purchases together */
#define COMMIT_BUDGET_STEPS 60

static const char *const commit_kind_names[COMMIT_KIND_COUNT] = { "owned", "reserved", "spot",
	"on_demand" };

const char *
commit_kind_name(enum commit_kind k)
{
	return k < COMMIT_KIND_COUNT ? commit_kind_names[k] : "unknown";
}

static enum berth_code
commit_check_line(const struct commit_problem *p, size_t i, struct berth_err *err)
{
	const struct commit_line *l = &p->lines[i];

	if (!isfinite(l->fixed) || l->fixed < 0 || !isfinite(l->usage) || l->usage < 0)
		return err_set(err, BERTH_EINVAL,
		    "offer %zu: price of %g USD fixed and %g USD an hour of use", i + 1, l->fixed,
		    l->usage);
	if ((l->kind == COMMIT_SPOT || l->kind == COMMIT_ON_DEMAND) && l->fixed > 0)
		return err_set(err, BERTH_EINVAL, "offer %zu: %s cannot have a fixed price", i + 1,
		    commit_kind_name(l->kind));
	if (l->gpus < 1 || l->gpus > COMMIT_MAX_GPUS || l->min_count < 0 ||
	    l->max_count < l->min_count)
		return err_set(err, BERTH_EINVAL,
		    "offer %zu: %lld GPUs each, at least %lld and at most %lld of it", i + 1,
		    (long long)l->gpus, (long long)l->min_count, (long long)l->max_count);
	if (l->kind == COMMIT_OWNED && l->max_count == COMMIT_NO_LIMIT)
		return err_set(
		    err, BERTH_EINVAL, "offer %zu: an owned commitment without a count", i + 1);
	if (!(l->speed >= 0) || !isfinite(l->speed))
		return err_set(err, BERTH_EINVAL, "offer %zu: a speed of %g", i + 1, l->speed);
	if (l->usage >= p->unserved)
		return err_set(err, BERTH_EINVAL,
		    "offer %zu: %g USD an hour is not below the %g USD of demand not served", i + 1,
		    l->usage, p->unserved);
	return BERTH_OK;
}

static enum berth_code
commit_check(const struct commit_problem *p, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	if (p->n_lines > COMMIT_MAX_LINES)
		return err_set(
		    err, BERTH_EINVAL, "%zu offers are more than %d", p->n_lines, COMMIT_MAX_LINES);
	if (!isfinite(p->unserved) || p->unserved <= 0)
		return err_set(err, BERTH_EINVAL, "demand not served at %g USD", p->unserved);
	if (!(p->theta >= 0) || !isfinite(p->theta))
		return err_set(err, BERTH_EINVAL, "a price of money of %g", p->theta);
	if (!isnan(p->budget) && p->budget < 0)
		return err_set(err, BERTH_EINVAL, "a budget of %g USD", p->budget);
	for (size_t i = 0; i < p->n_lines && rc == BERTH_OK; i++)
		rc = commit_check_line(p, i, err);
	return rc;
}

/* GPUs that are there without a purchase, in the meaning of the peak: owned and on demand, never
 * spot. */
static double
commit_free_gpus(const struct commit_problem *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind == COMMIT_OWNED || p->lines[i].kind == COMMIT_ON_DEMAND)
			sum += commit_stack_gpus(&p->lines[i], p->lines[i].max_count);
	return sum;
}

double
commit_capacity(const struct commit_problem *p, const int64_t *count)
{
	double sum = 0;

	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind != COMMIT_SPOT)
			sum += commit_stack_gpus(&p->lines[i], count[i]);
	return sum;
}

/* Sets n and floor of the work; an error if what must be bought cannot be. */
static enum berth_code
commit_range(struct commit_work *w, struct berth_err *err)
{
	const struct commit_problem *p = w->p;
	double most = 0, least = 0, need, have = commit_free_gpus(p);
	int64_t widest = 1;

	for (size_t i = 0; i < p->n_lines; i++) {
		const struct commit_line *l = &p->lines[i];

		if (l->kind != COMMIT_RESERVED)
			continue;
		most += commit_stack_gpus(l, l->max_count);
		least += commit_stack_gpus(l, l->min_count);
		widest = (int64_t)fmax((double)widest, ceil(commit_line_gpus(l)));
	}
	need = isnan(p->peak) ? 0 : fmax(0, ceil(ceil(p->peak - 1e-9) - have - 1e-9));
	if (need > most)
		return err_set(err, BERTH_EINFEASIBLE,
		    "a peak of %g GPUs cannot be carried: %g are owned or to be had on demand, %g "
		    "can be reserved",
		    p->peak, have, most);
	most = fmin(most, fmax((double)w->st.levels, need) + least + (double)widest - 1);
	if (most > (double)COMMIT_MAX_GPUS)
		return err_set(err, BERTH_EINVAL, "%g GPUs to buy are more than %lld", most,
		    (long long)COMMIT_MAX_GPUS);
	w->n = (int64_t)most;
	w->floor = (int64_t)need;
	return BERTH_OK;
}

static void
commit_work_alloc(struct commit_work *w, struct arena *a)
{
	size_t n = (size_t)w->n + 1;

	w->best = arena_array(a, n, sizeof(*w->best));
	w->prev = arena_array(a, n, sizeof(*w->prev));
	w->g = arena_array(a, n, sizeof(*w->g));
	w->queue = arena_array(a, n, sizeof(*w->queue));
	w->taken = arena_array(a, w->p->n_lines, sizeof(*w->taken));
	w->count = arena_array(a, w->p->n_lines, sizeof(*w->count));
	for (size_t i = 0; i < w->p->n_lines; i++)
		if (w->p->lines[i].kind == COMMIT_RESERVED)
			w->taken[i] = arena_array(a, n, sizeof(**w->taken));
}

/*
 * best(s) = h(s) + min over counts m of prev(s - m gpus) - h(s - m gpus), h(s) = fixed s + usage
 * U(s + skip): for each rest of s by gpus a window that slides over the counts, its minimum kept in
 * a monotone queue.
 */
static void
commit_buy_line(struct commit_work *w, size_t i, double fixed, double skip)
{
	const struct commit_line *l = &w->p->lines[i];
	int64_t top = w->n / l->gpus, least = l->min_count;
	int64_t most = l->max_count < top ? l->max_count : top;
	double *t;

	for (int64_t s = 0; s <= w->n; s++)
		w->g[s] = w->best[s] - fixed * (double)s -
			  l->usage * commit_stack_u(&w->st, (double)s + skip);
	for (int64_t r = 0; r < l->gpus && r <= w->n; r++) {
		int64_t head = 0, tail = 0;

		for (int64_t k = 0; r + k * l->gpus <= w->n; k++) {
			int64_t s = r + k * l->gpus, in = k - least;

			if (in >= 0) {
				while (tail > head && w->g[r + w->queue[tail - 1] * l->gpus] >=
							  w->g[r + in * l->gpus])
					tail--;
				w->queue[tail++] = in;
			}
			while (tail > head && w->queue[head] < k - most)
				head++;
			w->prev[s] = tail == head
					 ? INFINITY
					 : w->g[r + w->queue[head] * l->gpus] + fixed * (double)s +
					       l->usage * commit_stack_u(&w->st, (double)s + skip);
			w->taken[i][s] = tail == head ? 0 : (int32_t)(k - w->queue[head]);
		}
	}
	t = w->best;
	w->best = w->prev;
	w->prev = t;
}

double
commit_program(struct commit_work *w, double theta)
{
	double skip = 0, least = INFINITY;
	int64_t s = 0;

	for (int64_t k = 0; k <= w->n; k++)
		w->best[k] = k == 0 ? 0 : INFINITY;
	for (size_t k = 0; k < w->st.n; k++) {
		size_t i = w->st.order[k];
		const struct commit_line *l = &w->p->lines[i];
		double q = commit_stack_gpus(l, l->max_count);

		w->count[i] = l->max_count;
		if (l->kind == COMMIT_RESERVED) {
			commit_buy_line(w, i,
			    l->fixed * (1 + theta) + (w->adjust == NULL ? 0 : w->adjust[i]), skip);
			continue;
		}
		for (int64_t x = 0; x <= w->n; x++)
			w->best[x] += l->usage * (commit_stack_u(&w->st, (double)x + skip + q) -
						     commit_stack_u(&w->st, (double)x + skip));
		skip += q;
	}
	for (int64_t x = w->floor; x <= w->n; x++) {
		double c = w->best[x] +
			   w->p->unserved * (w->st.mean - commit_stack_u(&w->st, (double)x + skip));

		if (c < least) {
			least = c;
			s = x;
		}
	}
	for (size_t k = w->st.n; k > 0 && isfinite(least); k--) {
		size_t i = w->st.order[k - 1];

		if (w->taken[i] == NULL)
			continue;
		w->count[i] = w->taken[i][s];
		s -= w->count[i] * w->p->lines[i].gpus;
	}
	return least;
}

/* Purchases of lines that are alike in all but their number go to the earlier one. */
static void
commit_settle_ties(struct commit_work *w)
{
	for (size_t k = 1; k < w->st.n; k++) {
		size_t i = w->st.order[k - 1], j = w->st.order[k];
		const struct commit_line *x = &w->p->lines[i], *y = &w->p->lines[j];
		int64_t move;

		if (x->kind != COMMIT_RESERVED || y->kind != COMMIT_RESERVED ||
		    x->usage != y->usage || x->fixed != y->fixed || x->gpus != y->gpus ||
		    x->speed != y->speed)
			continue;
		move = w->count[j] - y->min_count;
		if (move > x->max_count - w->count[i])
			move = x->max_count - w->count[i];
		w->count[i] += move;
		w->count[j] -= move;
	}
}

/* The best of: `step` more of a line, or `step` fewer of another beside it, that fits the budget.
 * True if it helped. */
static bool
commit_fill_once(struct commit_work *w, int64_t step, double limit)
{
	double bound, cost = commit_stack_cost(&w->st, w->count, &bound),
		      best = cost - 1e-12 * fabs(cost);
	size_t n = w->p->n_lines, up = n, down = n;

	for (size_t i = 0; i < n; i++) {
		if (w->taken[i] == NULL || w->count[i] > w->p->lines[i].max_count - step)
			continue;
		w->count[i] += step;
		for (size_t j = 0; j <= n; j++) {
			double c, b;

			if (j < n && (j == i || w->taken[j] == NULL ||
					 w->count[j] - step < w->p->lines[j].min_count ||
					 w->p->lines[j].gpus > w->p->lines[i].gpus))
				continue;
			if (j < n)
				w->count[j] -= step;
			c = commit_stack_cost(&w->st, w->count, &b);
			if (b <= limit && c < best) {
				best = c;
				up = i;
				down = j;
			}
			if (j < n)
				w->count[j] += step;
		}
		w->count[i] -= step;
	}
	if (up == n)
		return false;
	w->count[up] += step;
	if (down < n)
		w->count[down] -= step;
	return true;
}

enum berth_code
commit_over_budget(double binds, double budget, struct berth_err *err)
{
	char need[USD_FMT_SIZE], have[USD_FMT_SIZE];

	return err_set(err, BERTH_EINFEASIBLE,
	    "what must be bought binds %s USD, the budget is %s USD", usd_need(need, binds),
	    usd_have(have, budget));
}

/*
 * Prices the budget. limit: USD an hour. On return w->count fits it, *theta_out is its price and
 * *lower_out the best Lagrangian bound max over theta of min cost(theta) - theta limit.
 */
static enum berth_code
commit_budget(struct commit_work *w, double limit, double *theta_out, double *lower_out,
    struct berth_err *err)
{
	double lo = 0, hi = 1, bound, c, slack = 1e-12 * limit;
	int64_t step = 1;

	for (;; hi *= 4) {
		c = commit_program(w, hi);
		*lower_out = fmax(*lower_out, c - hi * limit);
		commit_stack_cost(&w->st, w->count, &bound);
		if (bound <= limit + slack)
			break;
		if (hi > 1e9)
			return commit_over_budget(bound * w->p->curve->hours, w->p->budget, err);
		lo = hi;
	}
	for (int k = 0; k < COMMIT_BUDGET_STEPS && hi - lo > 1e-14 * hi; k++) {
		double mid = lo + (hi - lo) / 2;

		c = commit_program(w, mid);
		*lower_out = fmax(*lower_out, c - mid * limit);
		commit_stack_cost(&w->st, w->count, &bound);
		if (bound <= limit + slack)
			hi = mid;
		else
			lo = mid;
	}
	c = commit_program(w, hi);
	while (step < w->n)
		step *= 2;
	for (; step > 0; step /= 2)
		while (commit_fill_once(w, step, limit + slack))
			continue;
	*theta_out = hi;
	return BERTH_OK;
}

/* On demand only: what is owned stays, nothing is bought, spot is left alone, and the cheapest can
 * be had without limit. */
static double
commit_without(const struct commit_stack *st, size_t n_lines, struct arena *a)
{
	int64_t *count = arena_array(a, n_lines, sizeof(*count));
	size_t best = n_lines;

	for (size_t i = 0; i < n_lines; i++) {
		if (st->lines[i].kind == COMMIT_OWNED)
			count[i] = st->lines[i].max_count;
		if (st->lines[i].kind == COMMIT_ON_DEMAND &&
		    (best == n_lines || st->lines[i].usage < st->lines[best].usage))
			best = i;
	}
	if (best < n_lines)
		count[best] = COMMIT_NO_LIMIT;
	return commit_stack_cost(st, count, NULL);
}

static double
commit_break_even(const struct commit_problem *p, const struct commit_line *l)
{
	double alt = INFINITY;

	if (l->kind != COMMIT_RESERVED)
		return NAN;
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind == COMMIT_ON_DEMAND)
			alt = fmin(alt, p->lines[i].usage);
	if (isinf(alt) || alt <= l->usage)
		return NAN;
	return l->fixed / (alt - l->usage);
}

static double
commit_use_of(const struct commit_curve *c, double level)
{
	return level >= 0 && level < (double)c->levels ? c->use[(size_t)level] : 0;
}

static void
commit_report_line(
    const struct commit_work *w, size_t i, int64_t count, double from, struct commit_use *out)
{
	const struct commit_problem *p = w->p;
	const struct commit_line *l = &p->lines[i];
	double q = commit_stack_gpus(l, count), hours = p->curve->hours, top, hourly;

	memset(out, 0, sizeof(*out));
	top = from + q;
	if (l->kind == COMMIT_SPOT || l->kind == COMMIT_ON_DEMAND) {
		top = fmin(top, fmax(from, (double)w->st.levels));
		count = (int64_t)ceil((top - from) / commit_line_gpus(l));
	}
	hourly = commit_stack_u(&w->st, top) - commit_stack_u(&w->st, from);
	out->cap = isinf(q) ? COMMIT_NO_LIMIT : (int64_t)q;
	out->count = count;
	out->gpus = top - from;
	out->from = (int64_t)from + 1;
	out->to = (int64_t)ceil(top - 1e-9);
	out->gpu_hours = hourly * hours;
	out->bound_usd = l->kind == COMMIT_RESERVED ? l->fixed * q * hours : 0;
	out->cost_usd = out->bound_usd + l->usage * out->gpu_hours;
	out->utilisation = out->gpus > 0 ? hourly / (top - from) : NAN;
	out->use_first = out->gpus > 0 ? commit_use_of(p->curve, from) : NAN;
	out->use_last = out->gpus > 0 ? commit_use_of(p->curve, ceil(top - 1e-9) - 1) : NAN;
	out->break_even = commit_break_even(p, l);
}

void
commit_report(const struct commit_work *w, struct arena *a, struct commit_plan *plan)
{
	double hours = w->p->curve->hours, at = 0, bound;

	plan->use = arena_array(a, w->p->n_lines, sizeof(*plan->use));
	plan->cost_usd = commit_stack_cost(&w->st, w->count, &bound) * hours;
	plan->bound_usd = bound * hours;
	plan->on_demand_usd = commit_without(&w->st, w->p->n_lines, a) * hours;
	plan->capacity_gpus = commit_capacity(w->p, w->count);
	for (size_t k = 0; k < w->st.n; k++) {
		size_t i = w->st.order[k];
		double from = fmin(at, (double)COMMIT_MAX_GPUS * 2);

		commit_report_line(w, i, w->count[i], from, &plan->use[i]);
		at += commit_stack_gpus(&w->p->lines[i], w->count[i]);
	}
	plan->unserved_gpu_hours = (w->st.mean - commit_stack_u(&w->st, at)) * hours;
	if (plan->unserved_gpu_hours < 1e-9 * w->st.mean * hours)
		plan->unserved_gpu_hours = 0;
}

enum berth_code
commit_solve(const struct commit_problem *p, struct arena *a, struct commit_plan *plan_out,
    struct berth_err *err)
{
	return commit_solve_shares(p, NULL, a, plan_out, err);
}

/* Do purchases carry whole numbers of GPUs, as the program over them takes for granted? */
static bool
commit_whole(const struct commit_problem *p)
{
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind == COMMIT_RESERVED && p->lines[i].speed > 0 &&
		    p->lines[i].speed != 1)
			return false;
	return true;
}

/* The same by search, with the price of money in the fixed prices while it goes on. */
static enum berth_code
commit_search(const struct commit_problem *p, const struct commit_shares *shares, struct arena *a,
    struct commit_plan *plan, struct berth_err *err)
{
	struct commit_line *line = arena_memdup(a, p->lines, p->n_lines * sizeof(*line));
	struct commit_problem dear = *p;
	const struct commit_member whole = { &dear, shares, NULL, plan };
	enum berth_code rc;

	dear.lines = line;
	for (size_t i = 0; i < p->n_lines; i++)
		line[i].fixed *= line[i].kind == COMMIT_RESERVED ? 1 + p->theta : 1;
	rc = commit_solve_joint(&whole, 1, p->budget, a, err);
	if (rc != BERTH_OK || p->theta == 0)
		return rc;
	for (size_t i = 0; i < p->n_lines; i++) {
		struct commit_use *u = &plan->use[i];
		double more = u->bound_usd * p->theta / (1 + p->theta);

		u->bound_usd -= more;
		u->cost_usd -= more;
		u->break_even /= 1 + p->theta;
		plan->bound_usd -= more;
		plan->cost_usd -= more;
	}
	plan->lower_theta_usd = plan->lower_bound_usd;
	plan->lower_bound_usd = 0; /* none is known at these prices */
	plan->optimal = false;
	return BERTH_OK;
}

enum berth_code
commit_solve_shares(const struct commit_problem *p, const struct commit_shares *shares,
    struct arena *a, struct commit_plan *plan_out, struct berth_err *err)
{
	static const struct commit_shares none = { .n = 0 };
	struct commit_work w = { .p = p, .shares = shares != NULL ? shares : &none };
	struct commit_member whole = { p, w.shares, NULL, plan_out };
	double lower, theta = p->theta, bound, limit = p->budget / p->curve->hours;
	enum berth_code rc = commit_check(p, err);

	if (rc == BERTH_OK)
		rc = commit_shares_check(w.shares, err);
	if (rc != BERTH_OK)
		return rc;
	commit_stack_init(p, a, &w.st);
	rc = commit_range(&w, err);
	if (rc != BERTH_OK)
		return rc;
	if (!commit_whole(p))
		return commit_search(p, w.shares, a, plan_out, err);
	commit_work_alloc(&w, a);
	lower = commit_program(&w, p->theta);
	if (isinf(lower))
		return err_set(
		    err, BERTH_EINFEASIBLE, "no whole numbers of purchases keep every limit");
	commit_stack_cost(&w.st, w.count, &bound);
	if (!commit_shares_hold(&w, w.count) ||
	    (w.shares->n > 0 && p->theta == 0 && bound > limit)) {
		rc = commit_shares_price(&w, limit, a, &lower, err);
		if (rc == BERTH_EINFEASIBLE &&
		    p->theta == 0) /* it found none, and there may be some */
			return commit_solve_joint(&whole, 1, p->budget, a, err);
		if (rc != BERTH_OK)
			return rc;
	} else if (p->theta == 0 && !isnan(limit) && bound > limit) {
		rc = commit_budget(&w, limit, &theta, &lower, err);
		if (rc != BERTH_OK)
			return rc;
	}
	if (p->theta == 0 && commit_stack_cost(&w.st, w.count, NULL) - lower > 1e-9 * fabs(lower))
		commit_joint_improve(&w, &lower, &theta);
	if (!commit_quota_free(&w, a))
		return commit_solve_joint(&whole, 1, p->budget, a, err);
	if (w.shares->n + w.shares->n_quotas == 0)
		commit_settle_ties(&w);
	memset(plan_out, 0, sizeof(*plan_out));
	commit_report(&w, a, plan_out);
	plan_out->theta = theta;
	plan_out->lower_theta_usd = lower * p->curve->hours;
	if (p->theta > 0) { /* of the problem as it stands, with every price once */
		w.adjust = NULL;
		lower = commit_program(&w, 0);
	}
	plan_out->lower_bound_usd = fmin(lower * p->curve->hours, plan_out->cost_usd);
	plan_out->optimal =
	    plan_out->cost_usd - plan_out->lower_bound_usd <= 1e-9 * fabs(plan_out->cost_usd);
	return BERTH_OK;
}
