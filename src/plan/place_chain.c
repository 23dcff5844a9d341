/*
 * Jobs that hand data on to the next: where each runs decides on what it costs to move them. Without limits a dynamic
 * program over the places, exact for trees; with limits the placement at the moves that the last
 * one made, the same tables at shadow prices as a bound, and in small queues branch and bound over
 * them.
 */
#include <math.h>
#include <string.h>

#include "plan/place_chain.h"
#include "util/arena.h"

#define CHAIN_TURNS 6		/* placements at the neighbours' last choices */
#define CHAIN_PAIRS_JOBS 16	/* pairs are tried one by one in queues up to this */
#define CHAIN_ROUNDS 150	/* of the bound, in queues whose tables take up to CHAIN_WORK / CHAIN_ROUNDS steps */
#define CHAIN_WORK ((size_t)40000000)
#define CHAIN_STEPS ((size_t)20000000)	/* of the search for the optimum: some tenths of a second */
#define CHAIN_TREE_JOBS 256

struct chain {
	const struct place_problem *p;
	const struct place_chain *c;
	size_t *order;		/* [n_jobs] each behind the one that it waits for */
	size_t *pick;		/* [n_jobs][n_places + 1] the candidate, by where its input lies */
	const size_t *after;	/* [n_jobs] as given, but behind what can go nowhere nothing is moved */
	double *cost;		/* [n_cand] of the problem that is solved */
	double *behind;		/* [n_jobs][n_places + 1] all that waits for a job, by its place */
	double *least;		/* likewise a job and all behind it, by where its input lies */
	struct arena *a;
};

static double
chain_move(const struct place_chain *c, size_t job, size_t from, size_t to)
{
	return c->gib[job] * c->move[from * c->n_places + to];
}

/* Parents before children; BERTH_EINVAL where jobs wait for one another. */
static enum berth_code
chain_order(struct chain *h, struct berth_err *err)
{
	size_t n = h->p->n_jobs, done = 0;
	bool *is = arena_array(h->a, n, sizeof(*is)), moved = true;

	h->order = arena_array(h->a, n, sizeof(*h->order));
	size_t *after = arena_array(h->a, n, sizeof(*after));

	for (size_t i = 0; i < n; i++) {
		size_t before = h->c->after[i];

		after[i] = before < n && h->p->cand_start[before] == h->p->cand_start[before + 1] ? PLACE_NONE : before;
	}
	h->after = after;
	while (moved) {
		moved = false;
		for (size_t i = 0; i < n; i++) {
			size_t before = h->after[i];

			if (is[i] || (before != PLACE_NONE && (before >= n || !is[before])))
				continue;
			is[i] = moved = true;
			h->order[done++] = i;
		}
	}
	return done == n ? BERTH_OK : err_set(err, BERTH_EINVAL, "jobs wait for one another in a ring");
}

/*
 * From the last jobs to the first: the cheapest choice for each place where the input may lie, at these prices. The place
 * behind the last stands for nowhere: nothing is moved from there.
 */
static void
chain_tables(struct chain *h, const double *reduced)
{
	const struct place_problem *p = h->p;
	size_t nowhere = h->c->n_places, width = nowhere + 1;
	double *behind = h->behind;

	memset(behind, 0, p->n_jobs * width * sizeof(*behind));
	for (size_t x = p->n_jobs; x-- > 0;) {
		size_t i = h->order[x], before = h->after[i];

		for (size_t from = before == PLACE_NONE ? nowhere : 0; from <= nowhere; from++) {
			double least = p->penalty[i] + behind[i * width + nowhere];
			size_t pick = PLACE_NONE;

			for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
				size_t at = h->c->place[p->offer[k]];
				double v = reduced[k] + behind[i * width + at];

				if (from != nowhere)
					v += chain_move(h->c, i, from, at);
				if (v < least) {
					least = v;
					pick = k;
				}
			}
			h->pick[i * width + from] = pick;
			h->least[i * width + from] = least;
			if (before != PLACE_NONE)
				behind[before * width + from] += least;
		}
	}
}

/* The choices that the tables make, first jobs first. */
static void
chain_choose(const struct chain *h, size_t *chosen)
{
	size_t nowhere = h->c->n_places;

	for (size_t x = 0; x < h->p->n_jobs; x++) {
		size_t i = h->order[x], before = h->after[i], from = nowhere;

		if (before != PLACE_NONE && chosen[before] != PLACE_NONE)
			from = h->c->place[h->p->offer[chosen[before]]];
		chosen[i] = h->pick[i * (nowhere + 1) + from];
	}
}

static double
chain_moves(const struct chain *h, const size_t *chosen, size_t i)
{
	size_t before = h->after[i];

	if (before == PLACE_NONE || chosen[i] == PLACE_NONE || chosen[before] == PLACE_NONE)
		return 0;
	return chain_move(h->c, i, h->c->place[h->p->offer[chosen[before]]], h->c->place[h->p->offer[chosen[i]]]);
}

double
place_chain_value(const struct place_problem *p, const struct place_chain *c, const size_t *chosen, double *cost_out)
{
	struct chain h = { .p = p, .c = c, .after = c->after };
	double value = 0, cost = 0;

	for (size_t i = 0; i < p->n_jobs; i++) {
		double x = chosen[i] == PLACE_NONE ? 0 : p->cost[chosen[i]] + chain_moves(&h, chosen, i);

		cost += x;
		value += chosen[i] == PLACE_NONE ? p->penalty[i] : x;
	}
	if (cost_out != NULL)
		*cost_out = cost;
	return value;
}

/* The least that a move to each candidate can cost: a problem whose value no plan of the whole goes below. */
static void
chain_least_moves(struct chain *h)
{
	const struct place_problem *p = h->p;

	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t before = h->after[i];

		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
			double least = before == PLACE_NONE ? 0 : INFINITY;

			for (size_t b = before == PLACE_NONE ? 0 : p->cand_start[before];
			    before != PLACE_NONE && b < p->cand_start[before + 1]; b++)
				least = fmin(least, chain_move(h->c, i, h->c->place[p->offer[b]], h->c->place[p->offer[k]]));
			h->cost[k] = p->cost[k] + (isfinite(least) ? least : 0);
		}
	}
}

/* Costs with the moves to and from where the neighbours are. */
static void
chain_moves_at(struct chain *h, const size_t *chosen)
{
	const struct place_problem *p = h->p;

	memcpy(h->cost, p->cost, p->cand_start[p->n_jobs] * sizeof(*h->cost));
	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t before = h->after[i];

		for (size_t k = p->cand_start[i]; before != PLACE_NONE && chosen[before] != PLACE_NONE &&
		    k < p->cand_start[i + 1]; k++)
			h->cost[k] += chain_move(h->c, i, h->c->place[p->offer[chosen[before]]], h->c->place[p->offer[k]]);
		for (size_t k = before == PLACE_NONE ? 0 : p->cand_start[before]; before != PLACE_NONE &&
		    chosen[i] != PLACE_NONE && k < p->cand_start[before + 1]; k++)
			h->cost[k] += chain_move(h->c, i, h->c->place[p->offer[k]], h->c->place[p->offer[chosen[i]]]);
	}
}

static void
chain_keep(const struct chain *h, const size_t *chosen, struct place_plan *plan)
{
	double cost, value = place_chain_value(h->p, h->c, chosen, &cost);

	if (!(value < plan->value - 1e-9 * fabs(value)))
		return;
	plan->value = value;
	plan->cost = cost;
	memcpy(plan->chosen, chosen, h->p->n_jobs * sizeof(*chosen));
}

/* True when the choices pass no limit. */
static bool
chain_fits(const struct chain *h, size_t *chosen)
{
	struct place_plan plan = { .chosen = chosen };

	for (size_t i = 0; i < h->p->n_jobs; i++) {
		plan.cost += chosen[i] == PLACE_NONE ? 0 : h->p->cost[chosen[i]];
		plan.value += chosen[i] == PLACE_NONE ? h->p->penalty[i] : h->p->cost[chosen[i]];
	}
	return place_check(h->p, &plan);
}

static bool
chain_free(struct chain *h, size_t *chosen, struct place_plan *plan)
{
	chain_tables(h, h->p->cost);
	chain_choose(h, chosen);
	if (!chain_fits(h, chosen))
		return false;
	chain_keep(h, chosen, plan);
	return true;
}

/* Placements at the moves that the last one made, until they stand still. */
static enum berth_code
chain_turns(struct chain *h, const struct place_options *o, size_t *chosen, struct place_plan *plan, struct berth_err *err)
{
	struct place_problem at = *h->p;
	struct place_plan turn;

	at.cost = h->cost;
	for (int turns = 0; turns < CHAIN_TURNS; turns++) {
		enum berth_code rc;

		chain_moves_at(h, chosen);
		rc = place_solve(&at, o, h->a, &turn, err);
		if (rc != BERTH_OK)
			return rc;
		if (memcmp(chosen, turn.chosen, h->p->n_jobs * sizeof(*chosen)) == 0)
			break;
		memcpy(chosen, turn.chosen, h->p->n_jobs * sizeof(*chosen));
		chain_keep(h, chosen, plan);
	}
	return BERTH_OK;
}

/* Costs at so many times the shadow prices. */
static void
chain_reduce(struct chain *h, const double *shadow, double times, double *reduced)
{
	const struct place_problem *p = h->p;

	for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++) {
		size_t j = p->offer[k];

		reduced[k] = p->cost[k];
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			reduced[k] += times * (double)p->need[k] * (double)p->weight[u] * shadow[p->resource[u]];
		for (size_t u = p->more == NULL ? 0 : p->more->start[k]; p->more != NULL && u < p->more->start[k + 1]; u++)
			reduced[k] += times * (double)p->more->units[u] * shadow[p->more->resource[u]];
	}
}

/* Where limits bind: from the plan of the least moves, and from what the tables choose at growing shadow prices. */
static enum berth_code
chain_limited(struct chain *h, const struct place_options *o, struct place_plan *plan, struct berth_err *err)
{
	static const double times[] = { 0, 0.5, 1, 2 };
	size_t n = h->p->n_jobs, *chosen = arena_array(h->a, n, sizeof(*chosen));
	double *reduced = arena_array(h->a, h->p->cand_start[n], sizeof(*reduced));
	enum berth_code rc;

	memcpy(chosen, plan->chosen, n * sizeof(*chosen));
	rc = chain_turns(h, o, chosen, plan, err);
	for (size_t t = 0; t < sizeof(times) / sizeof(times[0]) && rc == BERTH_OK; t++) {
		chain_reduce(h, plan->shadow, times[t], reduced);
		chain_tables(h, reduced);
		chain_choose(h, chosen);
		if (chain_fits(h, chosen))
			chain_keep(h, chosen, plan);
		rc = chain_turns(h, o, chosen, plan, err);
	}
	return rc;
}

/* True when the job may have candidate k while all others keep theirs. */
static bool
chain_fits_with(struct chain *h, size_t *chosen, size_t i, size_t k)
{
	size_t was = chosen[i];
	bool fits;

	chosen[i] = k;
	fits = chain_fits(h, chosen);
	if (!fits)
		chosen[i] = was;
	return fits;
}

/* A job and the one it waits for change together, as long as that helps; for short queues, where it is cheap. */
static void
chain_pairs(struct chain *h, struct place_plan *plan)
{
	const struct place_problem *p = h->p;
	size_t *chosen = arena_memdup(h->a, plan->chosen, p->n_jobs * sizeof(*chosen));
	bool moved = p->n_jobs <= CHAIN_PAIRS_JOBS;

	while (moved) {
		double value = plan->value;

		for (size_t i = 0; i < p->n_jobs; i++) {
			size_t b = h->after[i];

			for (size_t k = p->cand_start[i]; b != PLACE_NONE && k < p->cand_start[i + 1]; k++)
				for (size_t c = p->cand_start[b]; c < p->cand_start[b + 1]; c++) {
					memcpy(chosen, plan->chosen, p->n_jobs * sizeof(*chosen));
					chosen[i] = PLACE_NONE;
					if (chain_fits_with(h, chosen, b, c) && chain_fits_with(h, chosen, i, k))
						chain_keep(h, chosen, plan);
				}
		}
		moved = plan->value < value;
	}
}

/* What each choice takes of each limit, added up; sign -1: taken off again. */
static void
chain_use(const struct chain *h, size_t k, int64_t sign, int64_t *use)
{
	const struct place_problem *p = h->p;
	size_t j = p->offer[k];

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
		use[p->resource[u]] += sign * p->need[k] * p->weight[u];
	for (size_t u = p->more == NULL ? 0 : p->more->start[k]; p->more != NULL && u < p->more->start[k + 1]; u++)
		use[p->more->resource[u]] += sign * p->more->units[u];
}

/* No plan has a lower value: the tables at these shadow prices, less what the limits are worth at them (Geoffrion 1974). */
static double
chain_bound_at(struct chain *h, const double *mu, double *reduced)
{
	const struct place_problem *p = h->p;
	size_t width = h->c->n_places + 1;
	double bound = 0;

	chain_reduce(h, mu, 1, reduced);
	chain_tables(h, reduced);
	for (size_t i = 0; i < p->n_jobs; i++)
		bound += h->after[i] == PLACE_NONE ? h->least[i * width + width - 1] : 0;
	for (size_t r = 0; r < p->n_resources; r++)
		bound -= mu[r] > 0 ? mu[r] * (double)p->limit[r] : 0;
	return bound;
}

/* The most that one candidate takes of each limit: the unit of its steps. */
static double *
chain_scales(const struct chain *h)
{
	const struct place_problem *p = h->p;
	double *scale = arena_array(h->a, p->n_resources, sizeof(*scale));
	int64_t *use = arena_array(h->a, p->n_resources, sizeof(*use));

	for (size_t r = 0; r < p->n_resources; r++)
		scale[r] = 1;
	for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++) {
		size_t j = p->offer[k];

		chain_use(h, k, 1, use);
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			scale[p->resource[u]] = fmax(scale[p->resource[u]], (double)use[p->resource[u]]);
		for (size_t u = p->more == NULL ? 0 : p->more->start[k]; p->more != NULL && u < p->more->start[k + 1]; u++)
			scale[p->more->resource[u]] = fmax(scale[p->more->resource[u]], (double)use[p->more->resource[u]]);
		chain_use(h, k, -1, use);
	}
	return scale;
}

/* One subgradient step of length theta (Polyak's rule) from bound towards value. */
static void
chain_step(const struct chain *h, const size_t *chosen, const double *scale, double theta, double bound, double value,
    double *mu)
{
	const struct place_problem *p = h->p;
	int64_t *use = arena_array(h->a, p->n_resources, sizeof(*use));
	double norm = 0;

	for (size_t i = 0; i < p->n_jobs; i++)
		if (chosen[i] != PLACE_NONE)
			chain_use(h, chosen[i], 1, use);
	for (size_t r = 0; r < p->n_resources; r++) {
		double over = p->limit[r] == PLACE_NO_LIMIT ? 0 : ((double)use[r] - (double)p->limit[r]) / scale[r];

		norm += over > 0 || mu[r] > 0 ? over * over : 0;
	}
	for (size_t r = 0; norm > 0 && r < p->n_resources; r++)
		if (p->limit[r] != PLACE_NO_LIMIT)
			mu[r] = fmax(0, mu[r] + theta * (value - bound) / norm * ((double)use[r] - (double)p->limit[r]) /
			    (scale[r] * scale[r]));
}

/* The best bound of some rounds, and the plans found on the way; mu [n_resources] becomes the prices of that bound. */
static double
chain_dual(struct chain *h, const struct place_options *o, double *mu, double *reduced, struct place_plan *plan)
{
	size_t n = h->p->n_jobs, m = h->p->n_resources, work = h->p->cand_start[n] * (h->c->n_places + 1);
	size_t rounds = work > 0 && CHAIN_WORK / work < CHAIN_ROUNDS ? CHAIN_WORK / work : CHAIN_ROUNDS, idle = 0;
	size_t *chosen = arena_array(h->a, n, sizeof(*chosen));
	double *at = arena_memdup(h->a, mu, m * sizeof(*at)), *scale = chain_scales(h), best = -INFINITY, theta = 1;

	for (size_t round = 0; round == 0 || (round < rounds && o->rounds > 0); round++) {
		double bound = chain_bound_at(h, at, reduced);

		chain_choose(h, chosen);
		if (chain_fits(h, chosen))
			chain_keep(h, chosen, plan);
		if (!isfinite(best) || bound > best + 1e-9 * fabs(best)) {
			best = bound;
			memcpy(mu, at, m * sizeof(*mu));
			idle = 0;
		} else if (++idle >= 4) {
			theta *= 0.6;
			idle = 0;
			memcpy(at, mu, m * sizeof(*mu));
			bound = chain_bound_at(h, at, reduced);
			chain_choose(h, chosen);
		}
		if (plan->value - best <= 1e-9 * fmax(1, fabs(plan->value)) || theta < 1e-3 ||
		    (o->stop != NULL && o->stop(o->stop_arg)))
			break;
		chain_step(h, chosen, scale, theta, bound, plan->value, at);
	}
	return best;
}

struct chain_tree {
	struct chain *h;
	const double *reduced;
	struct place_plan *plan;
	size_t *chosen;
	int64_t *use;
	double *bound;		/* [n_cand] of the branch, where its job stands now */
	size_t steps;		/* left */
};

static bool
chain_room(const struct chain_tree *t, size_t k)
{
	const struct place_problem *p = t->h->p;
	bool room = true;

	chain_use(t->h, k, 1, t->use);
	for (size_t u = p->use_start[p->offer[k]]; u < p->use_start[p->offer[k] + 1]; u++)
		room = room && t->use[p->resource[u]] <= p->limit[p->resource[u]];
	for (size_t u = p->more == NULL ? 0 : p->more->start[k]; p->more != NULL && u < p->more->start[k + 1]; u++)
		room = room && t->use[p->more->resource[u]] <= p->limit[p->more->resource[u]];
	if (!room)
		chain_use(t->h, k, -1, t->use);
	return room;
}

/*
 * Branch and bound, first jobs first; low: no plan below this branch has a lower value. A branch takes its job's share of
 * the bound away and puts its choice and all that then lies behind it there.
 */
static void
chain_branch(struct chain_tree *t, size_t x, double low)
{
	const struct chain *h = t->h;
	const struct place_problem *p = h->p;
	size_t nowhere = h->c->n_places, i, before, from;
	double rest;

	if (x == p->n_jobs) {
		chain_keep(h, t->chosen, t->plan);
		return;
	}
	i = h->order[x];
	before = h->after[i];
	from = before != PLACE_NONE && t->chosen[before] != PLACE_NONE ? h->c->place[p->offer[t->chosen[before]]] : nowhere;
	rest = low - h->least[i * (nowhere + 1) + from];
	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
		size_t at = h->c->place[p->offer[k]];

		t->bound[k] = rest + t->reduced[k] + h->behind[i * (nowhere + 1) + at] +
		    (from != nowhere ? chain_move(h->c, i, from, at) : 0);
	}
	while (t->steps > 0) {
		size_t next = PLACE_NONE;

		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++, t->steps -= t->steps > 0)
			if (next == PLACE_NONE || t->bound[k] < t->bound[next])
				next = k;
		if (next == PLACE_NONE || !(t->bound[next] < t->plan->value - 1e-9 * fmax(1, fabs(t->plan->value))))
			break;
		if (chain_room(t, next)) {
			t->chosen[i] = next;
			chain_branch(t, x + 1, t->bound[next]);
			chain_use(h, next, -1, t->use);
		}
		t->bound[next] = INFINITY;
	}
	t->chosen[i] = PLACE_NONE;
	low = rest + p->penalty[i] + h->behind[i * (nowhere + 1) + nowhere];
	if (t->steps > 0 && low < t->plan->value - 1e-9 * fmax(1, fabs(t->plan->value))) {
		t->steps--;
		chain_branch(t, x + 1, low);
	}
}

/* Where limits bind: the bound, and the optimum itself where the search ends within its steps. */
static void
chain_prove(struct chain *h, const struct place_options *o, struct place_plan *plan)
{
	const struct place_problem *p = h->p;
	double *reduced = arena_array(h->a, p->cand_start[p->n_jobs], sizeof(*reduced));
	double *mu = arena_memdup(h->a, plan->shadow, p->n_resources * sizeof(*mu));
	struct chain_tree t = { .h = h, .reduced = reduced, .plan = plan,
		.chosen = arena_array(h->a, p->n_jobs, sizeof(*t.chosen)), .use = arena_array(h->a, p->n_resources, sizeof(*t.use)),
		.bound = arena_array(h->a, p->cand_start[p->n_jobs], sizeof(*t.bound)), .steps = CHAIN_STEPS };

	plan->bound = chain_dual(h, o, mu, reduced, plan);
	if (p->n_jobs > CHAIN_TREE_JOBS || o->rounds == 0)
		return;
	for (size_t i = 0; i < p->n_jobs; i++)
		t.chosen[i] = PLACE_NONE;
	chain_branch(&t, 0, chain_bound_at(h, mu, reduced));
	if (t.steps > 0)
		plan->bound = plan->value;
}

enum berth_code
place_chain_solve(const struct place_problem *p, const struct place_chain *c, const struct place_options *o,
    struct arena *a, struct place_plan *plan_out, struct berth_err *err)
{
	struct chain h = { .p = p, .c = c, .a = a };
	struct place_problem at = *p;
	size_t *chosen = arena_array(a, p->n_jobs, sizeof(*chosen)), n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0;
	enum berth_code rc = chain_order(&h, err);

	if (rc != BERTH_OK)
		return rc;
	h.pick = arena_array(a, p->n_jobs * (c->n_places + 1), sizeof(*h.pick));
	h.least = arena_array(a, p->n_jobs * (c->n_places + 1), sizeof(*h.least));
	h.behind = arena_array(a, p->n_jobs * (c->n_places + 1), sizeof(*h.behind));
	at.cost = h.cost = arena_array(a, n_cand, sizeof(*h.cost));
	chain_least_moves(&h);
	rc = place_solve(&at, o, a, plan_out, err);
	if (rc != BERTH_OK)
		return rc;
	plan_out->value = place_chain_value(p, c, plan_out->chosen, &plan_out->cost);
	if (chain_free(&h, chosen, plan_out)) {
		plan_out->bound = plan_out->value;
	} else {
		rc = chain_limited(&h, o, plan_out, err);
		if (rc != BERTH_OK)
			return rc;
		chain_pairs(&h, plan_out);
		chain_prove(&h, o, plan_out);
	}
	plan_out->placed = 0;
	for (size_t i = 0; i < p->n_jobs; i++)
		plan_out->placed += plan_out->chosen[i] != PLACE_NONE;
	plan_out->bound = fmin(plan_out->bound, plan_out->value);
	plan_out->flow = false;
	plan_out->optimal = plan_out->value - plan_out->bound <= 1e-9 * fmax(1, fabs(plan_out->value));
	return BERTH_OK;
}
