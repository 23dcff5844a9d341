/* Chains under limits: a bound of their tables at shadow prices, and in short queues branch and
 * bound under it. */
#include <math.h>
#include <string.h>

#include "plan/place_chain_impl.h"
#include "util/arena.h"

#define CHAIN_ROUNDS                                                                               \
	150 /* of the bound, in queues whose tables take up to CHAIN_WORK / CHAIN_ROUNDS steps */
#define CHAIN_WORK ((size_t)40000000)
#define CHAIN_STEPS                                                                                \
	((size_t)20000000) /* of the search for the optimum: some tenths of a second               \
			    */
#define CHAIN_TREE_JOBS 256

/* What each choice takes of each limit, added up; sign -1: taken off again. */
static void
chain_use(const struct chain *h, size_t k, int64_t sign, int64_t *use)
{
	const struct place_problem *p = h->p;
	size_t j = p->offer[k];

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
		use[p->resource[u]] += sign * p->need[k] * p->weight[u];
	for (size_t u = p->more == NULL ? 0 : p->more->start[k];
	     p->more != NULL && u < p->more->start[k + 1]; u++)
		use[p->more->resource[u]] += sign * p->more->units[u];
}

/* No plan has a lower value: the tables at these shadow prices, less what the limits are worth at
 * them (Geoffrion 1974). */
static double
chain_bound_at(struct chain *h, const double *mu, double *reduced)
{
	const struct place_problem *p = h->p;
	double bound = 0;

	chain_reduce(h, mu, 1, reduced);
	chain_tables(h, reduced);
	for (size_t i = 0; i < p->n_jobs; i++)
		bound += h->after[i] == PLACE_NONE ? h->least[i * h->width + h->nowhere] : 0;
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
			scale[p->resource[u]] =
			    fmax(scale[p->resource[u]], (double)use[p->resource[u]]);
		for (size_t u = p->more == NULL ? 0 : p->more->start[k];
		     p->more != NULL && u < p->more->start[k + 1]; u++)
			scale[p->more->resource[u]] =
			    fmax(scale[p->more->resource[u]], (double)use[p->more->resource[u]]);
		chain_use(h, k, -1, use);
	}
	return scale;
}

/* One subgradient step of length theta (Polyak's rule) from bound towards value. */
static void
chain_step(const struct chain *h, const size_t *chosen, const double *scale, double theta,
    double bound, double value, double *mu)
{
	const struct place_problem *p = h->p;
	int64_t *use = arena_array(h->a, p->n_resources, sizeof(*use));
	double norm = 0;

	for (size_t i = 0; i < p->n_jobs; i++)
		if (chosen[i] != PLACE_NONE)
			chain_use(h, chosen[i], 1, use);
	for (size_t r = 0; r < p->n_resources; r++) {
		double over = p->limit[r] == PLACE_NO_LIMIT
				  ? 0
				  : ((double)use[r] - (double)p->limit[r]) / scale[r];

		norm += over > 0 || mu[r] > 0 ? over * over : 0;
	}
	for (size_t r = 0; norm > 0 && r < p->n_resources; r++)
		if (p->limit[r] != PLACE_NO_LIMIT)
			mu[r] = fmax(0, mu[r] + theta * (value - bound) / norm *
						    ((double)use[r] - (double)p->limit[r]) /
						    (scale[r] * scale[r]));
}

/* The best bound of some rounds, and the plans found on the way; mu [n_resources] becomes the
 * prices of that bound. */
static double
chain_dual(struct chain *h, const struct place_options *o, double *mu, double *reduced,
    struct place_plan *plan)
{
	size_t n = h->p->n_jobs, m = h->p->n_resources, work = h->p->cand_start[n] * h->width;
	size_t rounds =
		   work > 0 && CHAIN_WORK / work < CHAIN_ROUNDS ? CHAIN_WORK / work : CHAIN_ROUNDS,
	       idle = 0;
	size_t *chosen = arena_array(h->a, n, sizeof(*chosen));
	double *at = arena_memdup(h->a, mu, m * sizeof(*at)), *scale = chain_scales(h),
	       best = -INFINITY, theta = 1;

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
	double *bound; /* [n_cand] of the branch, where its job stands now */
	size_t steps;  /* left */
};

static bool
chain_room(const struct chain_tree *t, size_t k)
{
	const struct place_problem *p = t->h->p;
	bool room = true;

	chain_use(t->h, k, 1, t->use);
	for (size_t u = p->use_start[p->offer[k]]; u < p->use_start[p->offer[k] + 1]; u++)
		room = room && t->use[p->resource[u]] <= p->limit[p->resource[u]];
	for (size_t u = p->more == NULL ? 0 : p->more->start[k];
	     p->more != NULL && u < p->more->start[k + 1]; u++)
		room = room && t->use[p->more->resource[u]] <= p->limit[p->more->resource[u]];
	if (!room)
		chain_use(t->h, k, -1, t->use);
	return room;
}

/*
 * Branch and bound, first jobs first; low: no plan below this branch has a lower value. A branch
 * takes its job's share of the bound away and puts its choice and all that then lies behind it
 * there.
 */
static void
chain_branch(struct chain_tree *t, size_t x, double low)
{
	const struct chain *h = t->h;
	const struct place_problem *p = h->p;
	size_t i, from;
	int64_t start;
	double rest;

	if (x == p->n_jobs) {
		chain_keep(h, t->chosen, t->plan);
		return;
	}
	i = h->order[x];
	from = chain_from(h, t->chosen, i);
	start = h->c->early == NULL ? 0 : chain_start(h, t->chosen, i);
	rest = low - h->least[i * h->width + from];
	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
		size_t to = chain_to(h, i, k, start);

		t->bound[k] = INFINITY;
		if (to == PLACE_NONE)
			continue;
		t->bound[k] = rest + t->reduced[k] + h->behind[i * h->width + to];
		if (from != h->nowhere)
			t->bound[k] += chain_move(h->c, i, from / h->slots, to / h->slots);
	}
	while (t->steps > 0) {
		size_t next = PLACE_NONE;

		for (size_t k = p->cand_start[i];
		     k<p->cand_start[i + 1]; k++, t->steps -= t->steps> 0)
			if (next == PLACE_NONE || t->bound[k] < t->bound[next])
				next = k;
		if (next == PLACE_NONE ||
		    !(t->bound[next] < t->plan->value - 1e-9 * fmax(1, fabs(t->plan->value))))
			break;
		if (chain_room(t, next)) {
			t->chosen[i] = next;
			chain_branch(t, x + 1, t->bound[next]);
			chain_use(h, next, -1, t->use);
		}
		t->bound[next] = INFINITY;
	}
	t->chosen[i] = PLACE_NONE;
	low = rest + p->penalty[i] + h->behind[i * h->width + h->nowhere];
	if (t->steps > 0 && low < t->plan->value - 1e-9 * fmax(1, fabs(t->plan->value))) {
		t->steps--;
		chain_branch(t, x + 1, low);
	}
}

/* Where limits bind: the bound, and the optimum itself where the search ends within its steps. */
void
chain_prove(struct chain *h, const struct place_options *o, struct place_plan *plan)
{
	const struct place_problem *p = h->p;
	double *reduced = arena_array(h->a, p->cand_start[p->n_jobs], sizeof(*reduced));
	double *mu = arena_memdup(h->a, plan->shadow, p->n_resources * sizeof(*mu));
	struct chain_tree t = { .h = h,
		.reduced = reduced,
		.plan = plan,
		.chosen = arena_array(h->a, p->n_jobs, sizeof(*t.chosen)),
		.use = arena_array(h->a, p->n_resources, sizeof(*t.use)),
		.bound = arena_array(h->a, p->cand_start[p->n_jobs], sizeof(*t.bound)),
		.steps = CHAIN_STEPS };

	h->down = true;
	plan->bound = chain_dual(h, o, mu, reduced, plan);
	if (p->n_jobs > CHAIN_TREE_JOBS || o->rounds == 0)
		return;
	for (size_t i = 0; i < p->n_jobs; i++)
		t.chosen[i] = PLACE_NONE;
	chain_branch(&t, 0, chain_bound_at(h, mu, reduced));
	if (t.steps > 0)
		plan->bound = plan->value;
}
