/* Rounds of a placement: the bounds rise, the plan is searched. */
#include <math.h>
#include <string.h>

#include "plan/place_impl.h"
#include "util/arena.h"

#define PLACE_STEPS 10U     /* of the bound in a round ... */
#define PLACE_FEW 2U        /* ... and when it hardly rises */
#define PLACE_FAR 0.04      /* share unproven of a plan whose bound still rises: many steps */
#define PLACE_TURN_SMALL 2U /* rounds for one of branch and bound over costs: small queues */
#define PLACE_TURN 8U
#define PLACE_WALK 32U       /* rounds of a second search before it begins anew */
#define PLACE_DIVE 10U       /* rounds for one plan from the higher bound */
#define PLACE_HULL_JOBS 1200 /* queues up to this have the higher bound, ... */
#define PLACE_HULL_STEPS 10U /* ... so many steps at once, ... */
#define PLACE_HULL_RISE 2e-3 /* ... more seldom where they raise it by less of what is missing */
#define PLACE_HULL_LARGE 32U /* least rounds between them: larger queues */
#define PLACE_HULL_PAUSE 64U /* most rounds between them */
#define PLACE_SWAP_PAUSE 16U /* most rounds between exchanges of one job for several */
#define PLACE_TREE_ROUND                                                                           \
	((size_t)200) /* steps of the whole tree for a round done: about as much work again */
#define PLACE_TREE_FIRST                                                                           \
	4U /* round before which it is tried first; then each time twice as many have passed */

/* Small queues are searched to the end where that is not far: then the plan is its own bound. */
static void
place_search_out(struct place_work *w, struct place_best *b, struct tree *t, size_t steps)
{
	bool better;

	memcpy(w->mu, b->mu, w->n_all * sizeof(*w->mu));
	place_price(w);
	place_restore(w, b);
	for (size_t i = 0; i < w->p->n_jobs; i++)
		w->order[i] = i;
	if (place_tree(t, w->order, w->p->n_jobs, false, &steps, &better)) {
		place_keep(w, b);
		b->bound = b->value;
	}
	place_keep(w, b);
}

/* Enough: proven as close as asked for, or told to stop. */
static bool
place_enough(const struct place_options *o, const struct place_best *b)
{
	return b->value - b->bound <= o->gap * b->cost || (o->stop != NULL && o->stop(o->stop_arg));
}

/* True when the best plan leaves out a job that fits somewhere alone. */
static bool
place_some_out(const struct place_work *w, const struct place_best *b)
{
	for (size_t i = 0; i < w->p->n_jobs; i++)
		if (b->chosen[i] == PLACE_NONE && w->lean_end[i] > w->p->cand_start[i])
			return true;
	return false;
}

/* A second search, of small queues: begun now and then from the best plan, stirred up. */
static void
place_stray(struct place_work *w, struct place_best *b, struct tree *t, struct lns *s, size_t *walk,
    unsigned round, size_t steps)
{
	size_t n = w->p->n_jobs;

	if (round % PLACE_WALK == 1) {
		place_restore(w, b);
		place_kick(s);
	} else {
		place_clear(w);
		for (size_t i = 0; i < n; i++)
			if (walk[i] != PLACE_NONE)
				place_take(w, i, walk[i]);
	}
	(void)place_lns(s, t, steps);
	place_keep(w, b);
	memcpy(walk, w->chosen, n * sizeof(*walk));
}

/* The higher bound, and the round in which it is climbed next. */
struct rounds_hull {
	struct hull *of;
	unsigned next, pause;
	bool tried;
};

/* Some steps of it, at the prices in w to begin with. */
static void
place_raise_hull(struct place_work *w, struct place_best *b, struct rounds_hull *h, unsigned round,
    struct arena *a)
{
	unsigned least = w->p->n_jobs <= PLACE_TREE_JOBS ? 1 : PLACE_HULL_LARGE;
	double was, now;

	if (!h->tried && w->p->n_jobs <= PLACE_HULL_JOBS)
		h->of = place_hull_new(w, a);
	h->tried = true;
	if (h->of == NULL || round < h->next)
		return;
	was = place_hull(h->of, 0, b->value);
	now = place_hull(h->of, PLACE_HULL_STEPS, b->value);
	b->bound = fmax(b->bound, now);
	h->pause = now > was + PLACE_HULL_RISE * (b->value - was) ? least : 2 * h->pause;
	if (h->pause > PLACE_HULL_PAUSE)
		h->pause = PLACE_HULL_PAUSE;
	h->next = round + h->pause;
}

/* How far the bound still seems to have to go: 2, many steps of it in the next round. */
static unsigned
place_far(const struct place_best *b, double bound, double was)
{
	if (bound <= was + 1e-3 * fabs(was))
		return 0;
	return bound > was + 1e-2 * fabs(was) || b->value - bound > PLACE_FAR * b->value ? 2 : 1;
}

/* What the rounds go on with. */
struct rounds {
	struct place_work *w;
	struct place_best *b;
	struct tree *t;
	struct lns *s;
	struct branch *branch;
	struct soft *soft;
	struct rounds_hull hull;
	unsigned swap_next, swap_pause; /* round of the next exchange of one job for several */
	size_t *walk;                   /* [n_jobs] plan of the second search, of small queues */
	bool small;
	uint64_t seed;
	struct arena *a;
};

/* Other searches than that of the best plan's neighbourhoods, each in its turn; stalls: the bound
 * hardly rises. */
static void
place_search_else(struct rounds *x, unsigned round, bool stalls, size_t steps)
{
	struct place_work *w = x->w;
	struct place_best *b = x->b;

	if (stalls && round % (x->small ? PLACE_TURN_SMALL : PLACE_TURN) == 0) {
		if (x->branch == NULL)
			x->branch = place_branch_new(w, x->seed, x->a);
		if (place_branch(x->branch, b->mu, &b->bound, b->value, steps))
			place_keep(w, b);
	} else if (w->p->more != NULL && ((x->small && stalls) || place_some_out(w, b))) {
		if (x->soft == NULL)
			x->soft = place_soft_new(w, x->seed, x->a);
		place_soft(x->soft, b->chosen, steps);
		place_keep(w, b);
	}
	if (x->walk != NULL && stalls && (w->p->more == NULL || !place_some_out(w, b)))
		place_stray(w, b, x->t, x->s, x->walk, round, steps);
	if (x->hull.of != NULL && round % PLACE_DIVE == 0 &&
	    place_dive(x->hull.of, b->value, steps)) {
		(void)place_lns(x->s, x->t, 2 * steps);
		place_keep(w, b);
	}
}

/* One job for several, more seldom where that leads to nothing; small queues have other searches.
 */
static void
place_exchange(struct rounds *x, unsigned round)
{
	if (x->small || round < x->swap_next)
		return;
	x->swap_pause = place_let_in(x->w, x->b) ? 1 : 2 * x->swap_pause;
	if (x->swap_pause > PLACE_SWAP_PAUSE)
		x->swap_pause = PLACE_SWAP_PAUSE;
	x->swap_next = round + x->swap_pause;
}

/* A round: some steps of the bounds, now and then plans from nothing, and about as much work on
 * the best plan. */
unsigned
place_rounds(struct place_work *w, const struct place_options *o, struct place_best *b,
    struct dual *d, struct tree *t, struct lns *s, struct arena *a)
{
	struct rounds x = {
		.w = w, .b = b, .t = t, .s = s, .swap_pause = 1, .seed = o->seed, .a = a
	};
	size_t steps = place_effort(w);
	unsigned round, every = 1, next = 1, tree = PLACE_TREE_FIRST, stall = 0;
	unsigned far = 2;

	x.small = w->p->n_jobs <= PLACE_TREE_JOBS;
	if (x.small)
		x.walk = arena_memdup(a, b->chosen, w->p->n_jobs * sizeof(*x.walk));
	for (round = 1; round <= o->rounds && !place_enough(o, b); round++) {
		unsigned climb = stall < 10 ? PLACE_STEPS : PLACE_FEW;
		double was = b->bound,
		       bound = place_climb(w, d, far > 0 ? 5 * far * PLACE_STEPS : climb, b->value);

		place_raise(w, b, bound);
		if (bound > was || round == 1)
			place_cores(w);
		stall = bound > was + 1e-5 * fabs(was) ? 0 : stall + 1;
		far = place_far(b, bound, was);
		if (round == next) {
			place_plans(w, b, round, every);
			every *= 2;
			next += every;
		}
		if (x.small && (round == tree || round == o->rounds)) {
			place_search_out(w, b, t, PLACE_TREE_ROUND * (size_t)round);
			tree *= 2;
		}
		if (stall > 0)
			place_raise_hull(w, b, &x.hull, round, a);
		if (place_enough(o, b))
			break;
		place_search_else(&x, round, stall > 0, steps);
		place_exchange(&x, round);
		place_restore(w, b);
		if (place_lns(s, t, steps))
			place_keep(w, b);
	}
	return round <= o->rounds ? round : o->rounds;
}
