/*
 * Jobs that hand data on to the next: where each runs decides on what it costs to move them.
 * Without limits a dynamic program over the places, exact for trees; with limits the placement at
 * the moves that the last one made, the same tables at shadow prices as a bound, and in small
 * queues branch and bound over them.
 */
#include <math.h>
#include <string.h>

#include "plan/place_chain_impl.h"
#include "util/arena.h"

#define CHAIN_TURNS 6       /* placements at the neighbours' last choices */
#define CHAIN_PAIRS_JOBS 16 /* pairs are tried one by one in queues up to this */

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

		after[i] = before < n && h->p->cand_start[before] == h->p->cand_start[before + 1]
			       ? PLACE_NONE
			       : before;
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
	return done == n ? BERTH_OK
			 : err_set(err, BERTH_EINVAL, "jobs wait for one another in a ring");
}

/* The cheapest choice of job i when its input lies there; h->to is set. */
static void
chain_pick(struct chain *h, const double *reduced, size_t i, size_t from)
{
	const struct place_problem *p = h->p;
	double least = p->penalty[i] + h->behind[i * h->width + h->nowhere];
	size_t pick = PLACE_NONE;

	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
		double v;

		if (h->to[k] == PLACE_NONE)
			continue;
		v = reduced[k] + h->behind[i * h->width + h->to[k]];
		if (from != h->nowhere)
			v += chain_move(h->c, i, from / h->slots, h->to[k] / h->slots);
		if (v < least) {
			least = v;
			pick = k;
		}
	}
	h->pick[i * h->width + from] = pick;
	h->least[i * h->width + from] = least;
}

/*
 * From the last jobs to the first: the cheapest choice for each place where the input may lie and
 * each end that the job before may have, at these prices. The place behind the last stands for
 * nowhere: nothing is moved from there.
 */
void
chain_tables(struct chain *h, const double *reduced)
{
	const struct place_problem *p = h->p;

	memset(h->behind, 0, p->n_jobs * h->width * sizeof(*h->behind));
	for (size_t x = p->n_jobs; x-- > 0;) {
		size_t i = h->order[x], before = h->after[i],
		       n = before == PLACE_NONE ? 0 : h->n_ends[before];

		for (size_t slot = 0; slot <= n; slot++) {
			size_t first = slot == n ? h->nowhere : slot;
			int64_t start = h->c->early == NULL ? 0
					: slot == n         ? h->c->early[i]
							    : h->ends[before][slot];

			for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++)
				h->to[k] = chain_to(h, i, k, start);
			for (size_t from = first; from < (slot == n ? h->width : h->nowhere);
			     from += h->slots) {
				chain_pick(h, reduced, i, from);
				if (before != PLACE_NONE)
					h->behind[before * h->width + from] +=
					    h->least[i * h->width + from];
			}
		}
	}
}

/* The choices that the tables make, first jobs first. */
void
chain_choose(const struct chain *h, size_t *chosen)
{
	for (size_t x = 0; x < h->p->n_jobs; x++) {
		size_t i = h->order[x];

		chosen[i] = h->pick[i * h->width + chain_from(h, chosen, i)];
	}
}

static double
chain_moves(const struct chain *h, const size_t *chosen, size_t i)
{
	size_t before = h->after[i];

	if (before == PLACE_NONE || chosen[i] == PLACE_NONE || chosen[before] == PLACE_NONE)
		return 0;
	return chain_move(
	    h->c, i, h->c->place[h->p->offer[chosen[before]]], h->c->place[h->p->offer[chosen[i]]]);
}

double
place_chain_value(const struct place_problem *p, const struct place_chain *c, const size_t *chosen,
    double *cost_out)
{
	struct chain h = { .p = p, .c = c, .after = c->after };
	double value = 0, cost = 0;

	for (size_t i = 0; i < p->n_jobs; i++) {
		double x =
		    chosen[i] == PLACE_NONE ? 0 : p->cost[chosen[i]] + chain_moves(&h, chosen, i);

		cost += x;
		value += chosen[i] == PLACE_NONE     ? p->penalty[i]
			 : chain_late(&h, chosen, i) ? INFINITY
						     : x;
	}
	if (cost_out != NULL)
		*cost_out = cost;
	return value;
}

/* The least that a move to each candidate can cost: a problem whose value no plan of the whole goes
 * below. */
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
				least = fmin(least, chain_move(h->c, i, h->c->place[p->offer[b]],
							h->c->place[p->offer[k]]));
			h->cost[k] = p->cost[k] + (isfinite(least) ? least : 0);
		}
	}
}

/* What candidate k of the job before costs job i where that is: its move, or its place when it
 * comes too late. */
static double
chain_hands_on(const struct chain *h, const size_t *chosen, size_t i, size_t k)
{
	const struct place_chain *c = h->c;
	double usd = chain_move(c, i, c->place[h->p->offer[k]], c->place[h->p->offer[chosen[i]]]);

	if (c->early != NULL && c->latest[chosen[i]] != PLACE_NO_LIMIT &&
	    chain_start(h, chosen, h->after[i]) + c->lasts[k] > c->latest[chosen[i]])
		usd += h->p->penalty[i];
	return usd;
}

/* Costs with the moves to and from where the neighbours are; what is too late there costs no less
 * than to be left out. */
static void
chain_moves_at(struct chain *h, const size_t *chosen)
{
	const struct place_problem *p = h->p;

	memcpy(h->cost, p->cost, p->cand_start[p->n_jobs] * sizeof(*h->cost));
	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t before = h->after[i];
		bool here = before != PLACE_NONE && chosen[before] != PLACE_NONE;
		int64_t start = h->c->early == NULL ? 0 : chain_start(h, chosen, i);

		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
			if (chain_to(h, i, k, start) == PLACE_NONE)
				h->cost[k] += p->penalty[i];
			if (here)
				h->cost[k] +=
				    chain_move(h->c, i, h->c->place[p->offer[chosen[before]]],
					h->c->place[p->offer[k]]);
		}
		for (size_t k = before == PLACE_NONE ? 0 : p->cand_start[before];
		     before != PLACE_NONE && chosen[i] != PLACE_NONE &&
		     k < p->cand_start[before + 1];
		     k++)
			h->cost[k] += chain_hands_on(h, chosen, i, k);
	}
}

void
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
bool
chain_fits(const struct chain *h, size_t *chosen)
{
	struct place_plan plan = { .chosen = chosen };

	for (size_t i = 0; i < h->p->n_jobs; i++) {
		plan.cost += chosen[i] == PLACE_NONE ? 0 : h->p->cost[chosen[i]];
		plan.value += chosen[i] == PLACE_NONE ? h->p->penalty[i] : h->p->cost[chosen[i]];
	}
	return place_check(h->p, &plan);
}

/* Where nothing binds the tables say it all, but for ends that were left out of them. False: there
 * is more to be done. */
static bool
chain_free(struct chain *h, size_t *chosen, struct place_plan *plan)
{
	chain_tables(h, h->p->cost);
	chain_choose(h, chosen);
	if (!chain_fits(h, chosen))
		return false;
	chain_keep(h, chosen, plan);
	plan->bound = plan->value;
	if (!h->thinned)
		return true;
	h->down = true;
	chain_tables(h, h->p->cost);
	h->down = false;
	plan->bound = 0;
	for (size_t i = 0; i < h->p->n_jobs; i++)
		plan->bound += h->after[i] == PLACE_NONE ? h->least[i * h->width + h->nowhere] : 0;
	return plan->value - plan->bound <= 1e-9 * fmax(1, fabs(plan->value));
}

/* What the first plan, which looks at no ends, chose too late is left out. */
static void
chain_in_time(const struct chain *h, struct place_plan *plan)
{
	for (size_t x = 0; x < h->p->n_jobs; x++)
		if (chain_late(h, plan->chosen, h->order[x]))
			plan->chosen[h->order[x]] = PLACE_NONE;
	plan->value = place_chain_value(h->p, h->c, plan->chosen, &plan->cost);
}

/* Placements at the moves that the last one made, until they stand still. */
static enum berth_code
chain_turns(struct chain *h, const struct place_options *o, size_t *chosen, struct place_plan *plan,
    struct berth_err *err)
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
void
chain_reduce(struct chain *h, const double *shadow, double times, double *reduced)
{
	const struct place_problem *p = h->p;

	for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++) {
		size_t j = p->offer[k];

		reduced[k] = p->cost[k];
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			reduced[k] += times * (double)p->need[k] * (double)p->weight[u] *
				      shadow[p->resource[u]];
		for (size_t u = p->more == NULL ? 0 : p->more->start[k];
		     p->more != NULL && u < p->more->start[k + 1]; u++)
			reduced[k] +=
			    times * (double)p->more->units[u] * shadow[p->more->resource[u]];
	}
}

/* Where limits bind: from the plan of the least moves, and from what the tables choose at growing
 * shadow prices. */
static enum berth_code
chain_limited(
    struct chain *h, const struct place_options *o, struct place_plan *plan, struct berth_err *err)
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

/* A job and the one it waits for change together, as long as that helps; for short queues, where it
 * is cheap. */
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

			for (size_t k = p->cand_start[i];
			     b != PLACE_NONE && k < p->cand_start[i + 1]; k++)
				for (size_t c = p->cand_start[b]; c < p->cand_start[b + 1]; c++) {
					memcpy(chosen, plan->chosen, p->n_jobs * sizeof(*chosen));
					chosen[i] = PLACE_NONE;
					if (chain_fits_with(h, chosen, b, c) &&
					    chain_fits_with(h, chosen, i, k))
						chain_keep(h, chosen, plan);
				}
		}
		moved = plan->value < value;
	}
}

enum berth_code
place_chain_solve(const struct place_problem *p, const struct place_chain *c,
    const struct place_options *o, struct arena *a, struct place_plan *plan_out,
    struct berth_err *err)
{
	struct chain h = { .p = p, .c = c, .a = a };
	struct place_problem at = *p;
	size_t *chosen = arena_array(a, p->n_jobs, sizeof(*chosen)),
	       n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0;
	enum berth_code rc = chain_order(&h, err);

	if (rc != BERTH_OK)
		return rc;
	chain_ends(&h);
	h.pick = arena_array(a, p->n_jobs * h.width, sizeof(*h.pick));
	h.least = arena_array(a, p->n_jobs * h.width, sizeof(*h.least));
	h.behind = arena_array(a, p->n_jobs * h.width, sizeof(*h.behind));
	h.to = arena_array(a, n_cand, sizeof(*h.to));
	at.cost = h.cost = arena_array(a, n_cand, sizeof(*h.cost));
	chain_least_moves(&h);
	rc = place_solve(&at, o, a, plan_out, err);
	if (rc != BERTH_OK)
		return rc;
	chain_in_time(&h, plan_out);
	if (!chain_free(&h, chosen, plan_out)) {
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
	plan_out->optimal =
	    plan_out->value - plan_out->bound <= 1e-9 * fmax(1, fabs(plan_out->value));
	return BERTH_OK;
}
