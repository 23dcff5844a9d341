/*
 * Best-first branch and bound over what jobs may cost. The Lagrangian mixes the choices of a job,
 * cheap ones and dear ones or to stay out, just as much of each as the limits can take; a plan has
 * one of them. Each node says of one job more that it costs at most so much, or more, has a bound
 * of its own and makes a plan at its own prices.
 */
#include <math.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

#define BRANCH_NODES 4000
#define BRANCH_CLIMB 400U /* most steps of a node's bound before it is split, ... */
#define BRANCH_RISE 2e-4  /* ... fewer where one raises it by less of what is missing */
#define BRANCH_SMALL 50U  /* steps in a turn of queues that are searched to the end ... */
#define BRANCH_LARGE 10U  /* ... and of others */
#define BRANCH_NEAR 1e-3  /* parts of what is missing that a spread is next to nothing */
#define BRANCH_IN 10      /* times the penalty of jobs that are to stay in */
#define BRANCH_PASSES 2

struct branch_node {
	double bound;
	double *mu;         /* [n_all] */
	size_t parent, job; /* PLACE_NONE: the root */
	double cost;        /* USD, that it may cost at most, or costs more than (dear) */
	unsigned steps;     /* done */
	bool dear, open;
};

struct branch {
	struct place_work *w, work; /* of the problem as it is, and as a node has it */
	struct place_problem p;
	double *penalty;         /* [n_jobs] */
	struct place_lean *lean; /* [n_cand] of the problem as it is, ... */
	size_t *lean_end;        /* [n_jobs] ... likewise */
	double *least, *most;    /* [n_jobs] what it costs more than, and at most */
	struct branch_node *node;
	size_t n, last, dive; /* nodes; that of the last turn; that to go on with */
	struct dual *dual;
	struct tree *tree;
	struct lns *lns;
	struct arena *a;
};

struct branch *
place_branch_new(struct place_work *w, uint64_t seed, struct arena *a)
{
	const struct place_problem *p = w->p;
	struct branch *b = arena_array(a, 1, sizeof(*b));

	b->w = w;
	b->a = a;
	b->p = *p;
	b->p.keep = NULL;
	b->p.penalty = b->penalty = arena_array(a, p->n_jobs, sizeof(*b->penalty));
	memcpy(b->penalty, p->penalty, p->n_jobs * sizeof(*b->penalty));
	b->lean_end = arena_array(a, p->n_jobs, sizeof(*b->lean_end));
	b->least = arena_array(a, p->n_jobs, sizeof(*b->least));
	b->most = arena_array(a, p->n_jobs, sizeof(*b->most));
	b->node = arena_array(a, BRANCH_NODES, sizeof(*b->node));
	place_work_init(&b->p, seed, a, &b->work);
	b->lean = arena_memdup(a, b->work.lean, p->cand_start[p->n_jobs] * sizeof(*b->lean));
	memcpy(b->lean_end, b->work.lean_end, p->n_jobs * sizeof(*b->lean_end));
	b->dual = place_dual_new(&b->work, a);
	b->tree = place_tree_new(&b->work, a);
	b->lns = place_lns_new(&b->work, a);
	return b;
}

static void
branch_add(struct branch *b, struct branch_node like, const double *mu)
{
	like.open = true;
	like.steps = 0;
	like.mu = arena_memdup(b->a, mu, b->work.n_all * sizeof(*mu));
	b->node[b->n++] = like;
}

/* The job's choices between its least and its most. */
static void
branch_choices(struct branch *b, size_t i)
{
	const struct place_problem *p = b->w->p;
	struct place_work *x = &b->work;
	size_t n = p->cand_start[i];

	for (size_t c = n; c < b->lean_end[i]; c++)
		if (b->lean[c].cost > b->least[i] && b->lean[c].cost <= b->most[i])
			x->lean[n++] = b->lean[c];
	x->lean_end[i] = n;
	b->penalty[i] = (p->penalty[i] > b->most[i] ? BRANCH_IN : 1) * p->penalty[i];
}

/* Penalties and candidates as the node has them. */
static void
branch_set(struct branch *b, size_t at)
{
	for (size_t i = 0; i < b->p.n_jobs; i++) {
		b->least[i] = -1;
		b->most[i] = INFINITY;
	}
	for (; b->node[at].job != PLACE_NONE; at = b->node[at].parent) {
		const struct branch_node *x = &b->node[at];

		if (x->dear)
			b->least[x->job] = fmax(b->least[x->job], x->cost);
		else
			b->most[x->job] = fmin(b->most[x->job], x->cost);
	}
	for (size_t i = 0; i < b->p.n_jobs; i++)
		branch_choices(b, i);
}

static double
branch_cut(double value)
{
	return value - PLACE_EPS * fmax(1, fabs(value));
}

/* The open node of the lowest bound, what is no longer worth it closed; PLACE_NONE: there is none.
 */
static size_t
branch_lowest(struct branch *b, double value)
{
	size_t best = PLACE_NONE;

	for (size_t x = 0; x < b->n; x++) {
		if (b->node[x].bound >= branch_cut(value))
			b->node[x].open = false;
		if (b->node[x].open &&
		    (best == PLACE_NONE || b->node[x].bound < b->node[best].bound))
			best = x;
	}
	return best;
}

/* The job whose choices lie farthest apart in the mix, and the mean of what they cost. */
static size_t
branch_job(const struct branch *b, double missing, double *cost_out)
{
	size_t best = PLACE_NONE;
	double most = BRANCH_NEAR * missing;

	for (size_t i = 0; i < b->p.n_jobs; i++) {
		double cost, spread = place_spread(b->dual, i, &cost);

		if (spread <= most)
			continue;
		most = spread;
		best = i;
		*cost_out = cost;
	}
	return best;
}

/* True when the mean is nearer to the dearest that the job can be than to the cheapest. */
static bool
branch_dearer(const struct branch *b, size_t i, double mean)
{
	const struct place_work *x = &b->work;
	size_t from = b->p.cand_start[i], end = x->lean_end[i];

	return end == from ||
	       mean - x->lean[from].cost >
		   (b->most[i] < b->p.penalty[i] ? b->most[i] : b->p.penalty[i]) - mean;
}

/* A plan at the prices of the node, with all that comes in beside it. */
static void
branch_plan(struct branch *b, size_t steps)
{
	struct place_work *w = b->w, *x = &b->work;

	place_cores(x);
	place_greedy(x, PLACE_BY_REGRET);
	place_improve(x, BRANCH_PASSES, steps);
	(void)place_lns(b->lns, b->tree, steps);
	place_clear(w);
	for (size_t i = 0; i < b->p.n_jobs; i++)
		if (x->chosen[i] != PLACE_NONE)
			place_take(w, i, x->chosen[i]);
	place_improve(w, BRANCH_PASSES, steps);
}

bool
place_branch(struct branch *b, const double *mu, double *bound, double value, size_t steps)
{
	struct place_work *x = &b->work;
	unsigned turn = b->p.n_jobs <= PLACE_TREE_JOBS ? BRANCH_SMALL : BRANCH_LARGE;
	struct branch_node *node, next;
	size_t at;
	double was;

	if (b->n == 0) {
		b->last = b->dive = PLACE_NONE;
		branch_add(b,
		    (struct branch_node){
			.parent = PLACE_NONE, .job = PLACE_NONE, .bound = *bound },
		    mu);
	}
	at = branch_lowest(b, value);
	*bound = at == PLACE_NONE ? value : fmax(*bound, b->node[at].bound);
	if (at != PLACE_NONE && b->dive != PLACE_NONE && b->node[b->dive].open)
		at = b->dive;
	if (at == PLACE_NONE || b->n + 2 > BRANCH_NODES)
		return false;
	node = &b->node[at];
	was = node->bound;
	if (at != b->last) {
		branch_set(b, at);
		memcpy(x->mu, node->mu, x->n_all * sizeof(*x->mu));
		place_climb_anew(b->dual);
		node->bound = fmax(node->bound, place_climb_from(x, b->dual));
		b->last = at;
	}
	node->bound = fmax(node->bound, place_climb(x, b->dual, turn, value));
	node->steps += turn;
	memcpy(node->mu, x->mu, x->n_all * sizeof(*x->mu));
	if (node->bound >= branch_cut(value) ||
	    (node->steps < BRANCH_CLIMB && node->bound - was > BRANCH_RISE * turn * (value - was)))
		return false;
	next = (struct branch_node){ .parent = at, .bound = node->bound };
	next.job = branch_job(b, value - node->bound, &next.cost);
	if (next.job != PLACE_NONE) {
		node->open = false;
		branch_add(b, next, x->mu);
		next.dear = true;
		branch_add(b, next, x->mu);
		b->dive = branch_dearer(b, next.job, next.cost) ? b->n - 1 : b->n - 2;
	}
	branch_plan(b, steps);
	return true;
}
