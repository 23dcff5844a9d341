#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place.h"
#include "plan/place_impl.h"
#include "util/arena.h"

#define PLACE_PLAN_EVERY 20	/* subgradient rounds between two plans */
#define PLACE_PASSES 4
#define PLACE_ROUND 1e-14	/* of sums: a better plan is better by more */
#define PLACE_STALL 15		/* rounds without a better bound before the step shrinks */

static enum berth_code
place_check_job(const struct place_problem *p, size_t i, struct berth_err *err)
{
	if (p->cand_start[i] > p->cand_start[i + 1])
		return err_set(err, BERTH_EINVAL, "job %zu: candidates end before they begin", i + 1);
	if (!isfinite(p->penalty[i]) || p->penalty[i] < 0)
		return err_set(err, BERTH_EINVAL, "job %zu: penalty of %g USD", i + 1, p->penalty[i]);
	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
		if (p->offer[k] >= p->n_offers)
			return err_set(err, BERTH_EINVAL, "job %zu: no offer %zu", i + 1, p->offer[k]);
		if (!isfinite(p->cost[k]) || p->cost[k] < 0)
			return err_set(err, BERTH_EINVAL, "job %zu on offer %zu: cost of %g USD", i + 1, p->offer[k] + 1,
			    p->cost[k]);
		if (p->need[k] < 1 || p->need[k] > PLACE_MAX_UNITS)
			return err_set(err, BERTH_EINVAL, "job %zu on offer %zu: needs %lld", i + 1, p->offer[k] + 1,
			    (long long)p->need[k]);
	}
	return BERTH_OK;
}

static enum berth_code
place_check_more(const struct place_problem *p, struct berth_err *err)
{
	size_t n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0;

	for (size_t k = 0; p->more != NULL && k < n_cand; k++)
		for (size_t u = p->more->start[k]; u < p->more->start[k + 1]; u++)
			if (p->more->resource[u] >= p->n_resources || p->more->units[u] < 1 ||
			    p->more->units[u] > PLACE_MAX_MORE)
				return err_set(err, BERTH_EINVAL, "candidate %zu: %lld of resource %zu", k + 1,
				    (long long)p->more->units[u], p->more->resource[u]);
	return BERTH_OK;
}

static enum berth_code
place_check_problem(const struct place_problem *p, struct berth_err *err)
{
	enum berth_code rc = place_check_more(p, err);

	for (size_t i = 0; i < p->n_jobs && rc == BERTH_OK; i++)
		rc = place_check_job(p, i, err);
	for (size_t r = 0; r < p->n_resources && rc == BERTH_OK; r++)
		if (p->limit[r] < 0)
			rc = err_set(err, BERTH_EINVAL, "limit %zu is %lld", r + 1, (long long)p->limit[r]);
	for (size_t u = 0; p->n_offers > 0 && u < p->use_start[p->n_offers] && rc == BERTH_OK; u++)
		if (p->resource[u] >= p->n_resources || p->weight[u] < 1 || p->weight[u] > PLACE_MAX_UNITS)
			rc = err_set(err, BERTH_EINVAL, "use %zu: resource %zu, weight %lld", u + 1, p->resource[u],
			    (long long)p->weight[u]);
	return rc;
}

/* Cost, then risk, then the lower offer, then the earlier candidate. */
static bool
place_before(const struct place_problem *p, size_t x, size_t y)
{
	if (p->cost[x] != p->cost[y])
		return p->cost[x] < p->cost[y];
	if (p->risk != NULL && p->risk[x] != p->risk[y])
		return p->risk[x] < p->risk[y];
	if (p->offer[x] != p->offer[y])
		return p->offer[x] < p->offer[y];
	return x < y;
}

/* Heap sort of the candidates [n]: no recursion, no extra room. */
static void
place_sift(const struct place_problem *p, size_t *v, size_t top, size_t n)
{
	for (size_t kid; (kid = 2 * top + 1) < n; top = kid) {
		size_t t = v[top];

		if (kid + 1 < n && place_before(p, v[kid], v[kid + 1]))
			kid++;
		if (!place_before(p, t, v[kid]))
			return;
		v[top] = v[kid];
		v[kid] = t;
	}
}

static void
place_sort(const struct place_problem *p, size_t *v, size_t n)
{
	for (size_t k = n / 2; k > 0; k--)
		place_sift(p, v, k - 1, n);
	for (size_t k = n; k > 1; k--) {
		size_t t = v[0];

		v[0] = v[k - 1];
		v[k - 1] = t;
		place_sift(p, v, 0, k - 1);
	}
}

/*
 * Which resources the pairs draw on beside their offers, and the mean amount as their scale: steps on micro-USD and on
 * GPUs then weigh alike.
 */
static bool *
place_index_more(struct place_work *w, struct arena *a)
{
	const struct place_problem *p = w->p;
	size_t n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0;
	size_t *n = arena_array(a, p->n_resources, sizeof(*n));
	bool *is = arena_array(a, p->n_resources, sizeof(*is));

	w->scale = arena_array(a, p->n_resources, sizeof(*w->scale));
	for (size_t u = 0; p->more != NULL && u < p->more->start[n_cand]; u++) {
		w->scale[p->more->resource[u]] += (double)p->more->units[u];
		n[p->more->resource[u]]++;
		is[p->more->resource[u]] = true;
	}
	for (size_t r = 0; r < p->n_resources; r++)
		w->scale[r] = n[r] == 0 ? 1 : w->scale[r] / (double)n[r];
	return is;
}

static void
place_index_resources(struct place_work *w, struct arena *a)
{
	const struct place_problem *p = w->p;
	size_t uses = p->n_offers > 0 ? p->use_start[p->n_offers] : 0, *fill;
	bool *more = place_index_more(w, a);

	w->at_start = arena_array(a, p->n_resources + 1, sizeof(*w->at_start));
	fill = arena_array(a, p->n_resources + 1, sizeof(*fill));
	for (size_t u = 0; u < uses; u++)
		w->at_start[p->resource[u] + 1]++;
	for (size_t r = 0; r < p->n_resources; r++)
		w->at_start[r + 1] += more[r] ? p->n_offers : 0;
	for (size_t r = 0; r < p->n_resources; r++)
		w->at_start[r + 1] += w->at_start[r];
	w->at_offer = arena_array(a, w->at_start[p->n_resources], sizeof(*w->at_offer));
	memcpy(fill, w->at_start, (p->n_resources + 1) * sizeof(*fill));
	for (size_t r = 0; r < p->n_resources; r++)
		for (size_t j = 0; more[r] && j < p->n_offers; j++)
			w->at_offer[fill[r]++] = j;
	for (size_t j = 0; j < p->n_offers; j++)
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			w->at_offer[fill[p->resource[u]]++] = j;
}

static void
place_work_init(const struct place_problem *p, uint64_t seed, struct arena *a, struct place_work *w)
{
	size_t n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0;

	memset(w, 0, sizeof(*w));
	w->p = p;
	w->sorted = arena_array(a, n_cand, sizeof(*w->sorted));
	w->left = arena_array(a, p->n_resources, sizeof(*w->left));
	w->chosen = arena_array(a, p->n_jobs, sizeof(*w->chosen));
	w->head = arena_array(a, p->n_offers, sizeof(*w->head));
	w->next = arena_array(a, p->n_jobs, sizeof(*w->next));
	w->prev = arena_array(a, p->n_jobs, sizeof(*w->prev));
	w->mu = arena_array(a, p->n_resources, sizeof(*w->mu));
	w->price = arena_array(a, p->n_offers, sizeof(*w->price));
	w->regret = arena_array(a, p->n_jobs, sizeof(*w->regret));
	w->size = arena_array(a, p->n_jobs, sizeof(*w->size));
	w->key = arena_array(a, p->n_jobs, sizeof(*w->key));
	w->order = arena_array(a, p->n_jobs, sizeof(*w->order));
	rng_seed(&w->rng, seed);
	for (size_t k = 0; k < n_cand; k++)
		w->sorted[k] = k;
	for (size_t i = 0; i < p->n_jobs; i++)
		place_sort(p, w->sorted + p->cand_start[i], p->cand_start[i + 1] - p->cand_start[i]);
	place_index_resources(w, a);
	for (size_t r = 0; r < p->n_resources; r++)
		w->mu[r] = p->warm != NULL && p->limit[r] != PLACE_NO_LIMIT && isfinite(p->warm[r]) ? fmax(0, p->warm[r]) : 0;
}

/* Price of one unit of need of each offer at the shadow prices. */
static void
place_price(struct place_work *w)
{
	const struct place_problem *p = w->p;

	for (size_t j = 0; j < p->n_offers; j++) {
		w->price[j] = 0;
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			w->price[j] += (double)p->weight[u] * w->mu[p->resource[u]];
	}
}

/* Most units of a limit that the candidate takes: how hard it is to fit later. */
static double
place_size(const struct place_problem *p, size_t cand)
{
	size_t j = p->offer[cand];
	double most = 0;

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
		if (p->limit[p->resource[u]] != PLACE_NO_LIMIT)
			most = fmax(most, (double)p->need[cand] * (double)p->weight[u]);
	return most;
}

/*
 * Lagrangian L(mu) = sum of min (penalty, cost + need price) - mu limit, with the slope of each mu into slope [n_resources]
 * (use minus limit), each job's regret and size.
 */
static double
place_bound(struct place_work *w, double *slope)
{
	const struct place_problem *p = w->p;
	const struct place_more *m = p->more;
	double bound = 0;

	place_price(w);
	for (size_t r = 0; r < p->n_resources; r++) {
		slope[r] = p->limit[r] == PLACE_NO_LIMIT ? 0 : -(double)p->limit[r];
		bound += w->mu[r] * slope[r];
	}
	for (size_t i = 0; i < p->n_jobs; i++) {
		double least = p->penalty[i], second = p->penalty[i];
		size_t best = PLACE_NONE;

		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
			double r = place_reduced(w, k);

			if (r < least) {
				second = least;
				least = r;
				best = k;
			} else if (r < second) {
				second = r;
			}
		}
		bound += least;
		w->regret[i] = second - least;
		if (best == PLACE_NONE)
			continue;
		w->size[i] = place_size(p, best);
		for (size_t u = p->use_start[p->offer[best]]; u < p->use_start[p->offer[best] + 1]; u++)
			if (p->limit[p->resource[u]] != PLACE_NO_LIMIT)
				slope[p->resource[u]] += (double)p->need[best] * (double)p->weight[u];
		for (size_t u = m == NULL ? 0 : m->start[best]; m != NULL && u < m->start[best + 1]; u++)
			if (p->limit[m->resource[u]] != PLACE_NO_LIMIT)
				slope[m->resource[u]] += (double)m->units[u];
	}
	return bound;
}

/* Polyak step along the slope of the bound towards the value of the best plan. False: nothing is left to climb. */
static bool
place_climb(struct place_work *w, double *slope, double gap, double theta)
{
	double norm = 0, step;

	for (size_t r = 0; r < w->p->n_resources; r++) {
		if (w->mu[r] <= 0 && slope[r] < 0)
			slope[r] = 0;
		norm += slope[r] * slope[r] / (w->scale[r] * w->scale[r]);
	}
	if (norm < 1e-12 || !(gap > 0))
		return false;
	step = theta * gap / norm;
	for (size_t r = 0; r < w->p->n_resources; r++)
		w->mu[r] = fmax(0, w->mu[r] + step * slope[r] / (w->scale[r] * w->scale[r]));
	return true;
}

/* Of the jobs that are placed. */
static double
place_cost(const struct place_work *w)
{
	double sum = 0;

	for (size_t i = 0; i < w->p->n_jobs; i++)
		sum += w->chosen[i] == PLACE_NONE ? 0 : w->p->cost[w->chosen[i]];
	return sum;
}

/* The best plan and bound so far. */
struct place_best {
	double value, bound;
	double cost;		/* value without the penalties: gaps are shares of it, however many jobs fit nowhere */
	size_t *chosen;
	double *mu;
};

static void
place_keep(struct place_work *w, struct place_best *b)
{
	double v = place_value(w);

	if (v < b->value - PLACE_ROUND * fabs(v)) {
		b->value = v;
		b->cost = place_cost(w);
		memcpy(b->chosen, w->chosen, w->p->n_jobs * sizeof(*b->chosen));
	}
}

static void
place_plans(struct place_work *w, struct place_best *b, unsigned round)
{
	static const enum place_order orders[] = { PLACE_BY_SIZE, PLACE_BY_REGRET, PLACE_BY_NOISE };
	size_t n = round == 0 ? 2 : 3;

	for (size_t v = 0; v < n; v++) {
		place_greedy(w, orders[v]);
		place_improve(w, PLACE_PASSES);
		place_keep(w, b);
	}
}

/* True when no limit is passed by what is chosen: then it is built up anew, so that the lists agree. */
static bool
place_rebuild(struct place_work *w, size_t *tmp)
{
	bool fits = true;

	memcpy(tmp, w->chosen, w->p->n_jobs * sizeof(*tmp));
	place_clear(w);
	for (size_t i = 0; i < w->p->n_jobs && fits; i++) {
		if (tmp[i] == PLACE_NONE)
			continue;
		fits = place_fits(w, tmp[i]);
		if (fits)
			place_take(w, i, tmp[i]);
	}
	return fits;
}

/*
 * Exact where the problem, or enough of it, is a flow (*proven_out); else its bound and its prices to start from. False:
 * nothing of it is a flow.
 */
static bool
place_exact(struct place_work *w, const struct place_options *o, struct place_best *b, struct arena *a, bool *proven_out)
{
	double bound, *cold = arena_array(a, w->p->n_resources, sizeof(*cold));

	memcpy(cold, w->mu, w->p->n_resources * sizeof(*cold));
	if (!place_flow(w, o->stop, o->stop_arg, a, &bound)) {
		memcpy(w->mu, cold, w->p->n_resources * sizeof(*cold));
		return false;
	}
	b->bound = fmax(b->bound, bound);
	memcpy(b->mu, w->mu, w->p->n_resources * sizeof(*b->mu));
	*proven_out = place_rebuild(w, w->order);
	if (!*proven_out)
		return true;
	b->value = place_value(w);
	b->cost = place_cost(w);
	memcpy(b->chosen, w->chosen, w->p->n_jobs * sizeof(*b->chosen));
	return true;
}

#define PLACE_TREE_JOBS 128		/* queues up to this are searched to the end ... */
#define PLACE_TREE_ROUND ((size_t)200)	/* ... or for so many steps a round asked for: about as much work again */
#define PLACE_TREE_ROUNDS 1000U

/* Small queues are searched to the end where that is not far: then the plan is its own bound. */
static void
place_search_out(struct place_work *w, const struct place_options *o, struct place_best *b, struct arena *a)
{
	size_t steps = PLACE_TREE_ROUND * (o->rounds < PLACE_TREE_ROUNDS ? o->rounds : PLACE_TREE_ROUNDS);

	memcpy(w->mu, b->mu, w->p->n_resources * sizeof(*w->mu));
	place_price(w);
	if (place_tree(w, b->chosen, &b->value, steps, a))
		b->bound = b->value;
	memcpy(w->chosen, b->chosen, w->p->n_jobs * sizeof(*w->chosen));
	b->cost = place_cost(w);
}

static unsigned
place_rounds(struct place_work *w, const struct place_options *o, struct place_best *b, double *slope, struct arena *a,
    bool *flow_out)
{
	double theta = 1.5;
	unsigned round, stall = 0;

	for (round = 0; round <= o->rounds; round++) {
		double bound = place_bound(w, slope);

		if (bound > b->bound) {
			stall = bound > b->bound + 1e-5 * fabs(b->bound) ? 0 : stall + 1;
			b->bound = bound;
			memcpy(b->mu, w->mu, w->p->n_resources * sizeof(*b->mu));
		} else {
			stall++;
		}
		if (stall > PLACE_STALL) {
			theta *= 0.7;
			stall = 0;
		}
		if (round % PLACE_PLAN_EVERY == 0 || round == o->rounds)
			place_plans(w, b, round);
		if (b->value - b->bound <= o->gap * b->cost || (o->stop != NULL && o->stop(o->stop_arg)))
			break;
		if (round == 0 && o->rounds > 0 && place_exact(w, o, b, a, flow_out)) {
			if (*flow_out)
				break;
			continue;
		}
		if (!place_climb(w, slope, b->value + 0.001 * b->cost - bound, theta))
			break;
	}
	return round;
}

static size_t
place_runner_up(const struct place_work *w, size_t job, size_t chosen)
{
	const struct place_problem *p = w->p;
	size_t best = PLACE_NONE;
	double least = INFINITY;

	for (size_t c = p->cand_start[job]; c < p->cand_start[job + 1]; c++) {
		size_t k = w->sorted[c];
		double r = place_reduced(w, k);

		if (k != chosen && r < least) {
			least = r;
			best = k;
		}
	}
	return best;
}

/* Which limit keeps the job from its cheapest candidate, all else as it is. */
static size_t
place_binding(const struct place_work *w, size_t job, size_t chosen)
{
	const struct place_problem *p = w->p;
	const struct place_more *m = p->more;
	size_t k, j, best = PLACE_NONE;

	if (p->cand_start[job] == p->cand_start[job + 1])
		return PLACE_NONE;
	k = w->sorted[p->cand_start[job]];
	if (k == chosen || (chosen != PLACE_NONE && p->cost[k] >= p->cost[chosen]))
		return PLACE_NONE;
	j = p->offer[k];
	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++) {
		size_t r = p->resource[u];

		if (w->left[r] < p->need[k] * p->weight[u] && (best == PLACE_NONE || w->mu[r] > w->mu[best]))
			best = r;
	}
	for (size_t u = m == NULL ? 0 : m->start[k]; m != NULL && u < m->start[k + 1]; u++)
		if (w->left[m->resource[u]] < m->units[u] && best == PLACE_NONE)
			best = m->resource[u];
	return best;
}

/* The kept choices become the plan's, with what can be said of them. */
static void
place_report(struct place_work *w, const struct place_best *b, struct arena *a, struct place_plan *plan)
{
	const struct place_problem *p = w->p;

	plan->chosen = b->chosen;
	plan->shadow = b->mu;
	plan->runner_up = arena_array(a, p->n_jobs, sizeof(*plan->runner_up));
	plan->binds = arena_array(a, p->n_jobs, sizeof(*plan->binds));
	memcpy(w->mu, b->mu, p->n_resources * sizeof(*w->mu));
	place_price(w);
	place_clear(w);
	for (size_t i = 0; i < p->n_jobs; i++)
		if (b->chosen[i] != PLACE_NONE)
			place_take(w, i, b->chosen[i]);
	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t k = b->chosen[i];

		if (k != PLACE_NONE) {
			place_drop(w, i);
			plan->placed++;
			plan->cost += p->cost[k];
		}
		plan->runner_up[i] = place_runner_up(w, i, k);
		plan->binds[i] = place_binding(w, i, k);
		if (k != PLACE_NONE)
			place_take(w, i, k);
	}
	plan->value = b->value;
	plan->bound = fmin(b->bound, b->value);
	plan->optimal = plan->value - plan->bound <= PLACE_EPS * fmax(1, fabs(plan->value));
}

enum berth_code
place_solve(const struct place_problem *p, const struct place_options *o, struct arena *a, struct place_plan *plan_out,
    struct berth_err *err)
{
	struct place_best b = { .value = INFINITY, .bound = -INFINITY };
	struct place_work w;
	double *slope;
	enum berth_code rc = place_check_problem(p, err);

	if (rc != BERTH_OK)
		return rc;
	memset(plan_out, 0, sizeof(*plan_out));
	place_work_init(p, o->seed, a, &w);
	b.chosen = arena_array(a, p->n_jobs, sizeof(*b.chosen));
	b.mu = arena_array(a, p->n_resources, sizeof(*b.mu));
	slope = arena_array(a, p->n_resources, sizeof(*slope));
	plan_out->rounds = place_rounds(&w, o, &b, slope, a, &plan_out->flow);
	if (!plan_out->flow && p->n_jobs <= PLACE_TREE_JOBS && b.value - b.bound > o->gap * b.cost &&
	    (o->stop == NULL || !o->stop(o->stop_arg)))
		place_search_out(&w, o, &b, a);
	place_report(&w, &b, a, plan_out);
	return BERTH_OK;
}

bool
place_check(const struct place_problem *p, const struct place_plan *plan)
{
	const struct place_more *m = p->more;
	double cost = 0, value = 0;

	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t k = plan->chosen[i];

		if (k != PLACE_NONE && (k < p->cand_start[i] || k >= p->cand_start[i + 1]))
			return false;
		cost += k == PLACE_NONE ? 0 : p->cost[k];
		value += k == PLACE_NONE ? p->penalty[i] : p->cost[k];
	}
	for (size_t r = 0; r < p->n_resources; r++) {
		double used = 0;

		for (size_t i = 0; i < p->n_jobs; i++) {
			size_t k = plan->chosen[i], j = k == PLACE_NONE ? 0 : p->offer[k];

			for (size_t u = p->use_start[j]; k != PLACE_NONE && u < p->use_start[j + 1]; u++)
				used += p->resource[u] == r ? (double)p->need[k] * (double)p->weight[u] : 0;
			for (size_t u = k == PLACE_NONE || m == NULL ? 0 : m->start[k];
			    k != PLACE_NONE && m != NULL && u < m->start[k + 1]; u++)
				used += m->resource[u] == r ? (double)m->units[u] : 0;
		}
		if (p->limit[r] != PLACE_NO_LIMIT && used > (double)p->limit[r])
			return false;
	}
	return fabs(cost - plan->cost) <= 1e-9 * fmax(1, cost) && fabs(value - plan->value) <= 1e-9 * fmax(1, value);
}

size_t
place_never_fits(const struct place_problem *p, size_t k)
{
	const struct place_more *m = p->more;
	size_t j = p->offer[k];

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
		if (p->limit[p->resource[u]] < p->need[k] * p->weight[u])
			return p->resource[u];
	for (size_t u = m == NULL ? 0 : m->start[k]; m != NULL && u < m->start[k + 1]; u++)
		if (p->limit[m->resource[u]] < m->units[u])
			return m->resource[u];
	return PLACE_NONE;
}
