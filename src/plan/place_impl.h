/* src/plan/place_impl.h - what the files of place share.  Floor: domain; for src/plan/place*.c
 * alone. */
#ifndef BERTH_PLAN_PLACE_IMPL_H
#define BERTH_PLAN_PLACE_IMPL_H

#include "plan/place.h"
#include "util/rng.h"

struct arena;
struct admit;

#define PLACE_CORE 32       /* most candidates of a job's core */
#define PLACE_TREE_JOBS 128 /* queues up to this are searched to the end, if that is not far */

/* What most steps look at of a candidate; those that fit nowhere even alone are left out. */
struct place_lean {
	double cost;
	uint32_t slot, cand;
};

/* A candidate that may matter at the present prices. */
struct place_core {
	double reduced; /* when its job was last looked at as a whole */
	double cost;
	size_t slot, cand;
};

/*
 * One plan in the making, and the orders that its steps need. Beside the resources of the problem
 * there are cuts, all of them resources here: where so many units fit, of jobs that take s or more
 * at most floor(limit / s) times floor(units / s) do (Chvatal 1973). Plans keep them anyway; the
 * bound rises by them. A slot is an amount on an offer, with all that it takes.
 */
struct place_work {
	const struct place_problem *p;
	size_t *sorted; /* [n_cand] each job's candidates from cheap to dear: cost, risk, offer,
			   index */
	struct place_lean *lean; /* of job i: [cand_start[i], lean_end[i]), in the same order */
	size_t *lean_end;        /* [n_jobs] */
	uint32_t *slot;          /* [n_cand] */
	size_t n_slots;
	size_t *use_start, *cut_start; /* [n_slots + 1], [n_slots] uses: from use_start to
					  cut_start, its cuts behind them */
	size_t *use;                   /* resource */
	int64_t *units;
	size_t n_all;    /* resources and cuts */
	int64_t *limit;  /* [n_all] */
	size_t *cut_of;  /* [n_all - n_resources] resource of the cut */
	int64_t *cut_by; /* likewise what it was divided by */
	size_t
	    *at_start; /* [n_resources + 1] offers that use a resource: at_offer[at_start[r] ..] */
	size_t *at_offer;
	size_t *mate_start; /* [n_resources + 1] jobs with a candidate that takes more of it:
			       mate[..] */
	size_t *mate;
	int64_t *left;       /* [n_all] of the limits */
	size_t *chosen;      /* [n_jobs] */
	size_t *head;        /* [n_offers] jobs on an offer, a doubly linked list */
	size_t *next, *prev; /* [n_jobs] */
	double *mu;          /* [n_all] shadow prices */
	double *price;       /* [n_slots] at the shadow prices */
	double *scale; /* [n_all] units that count as one in the steps of mu: 1, of money more */
	struct place_core *core;       /* of job i: [core_start[i], core_end[i]), cheap first */
	size_t *core_start, *core_end; /* [n_jobs + 1], [n_jobs] */
	double *regret;                /* [n_jobs] */
	double *size;                  /* [n_jobs] most units of a limit that it takes */
	double *key;                   /* [n_jobs] */
	size_t *order;                 /* [n_jobs] */
	double power;                  /* of the size in the order by worth */
	size_t steps;                  /* left of those that a search may take */
	struct admit *admit;           /* of place_admit, where that is used */
	struct rng rng;
};

/* Largest values of need and weight, so that their product fits. */
#define PLACE_MAX_UNITS (INT64_C(1) << 31)
#define PLACE_MAX_MORE (INT64_C(1) << 52)
#define PLACE_EPS 1e-9

bool place_fits(const struct place_work *w, size_t cand);
/* Cost at the shadow prices. */
double place_reduced(const struct place_work *w, size_t cand);
void place_take(struct place_work *w, size_t job, size_t cand); /* the job is not placed */
void place_drop(struct place_work *w, size_t job);              /* the job is placed */
void place_clear(struct place_work *w);
double place_value(const struct place_work *w);

/* How the greedy orders the jobs. */
enum place_order { PLACE_BY_REGRET, PLACE_BY_SIZE, PLACE_BY_NOISE, PLACE_BY_WORTH };

/* From nothing: jobs in order, each to its cheapest candidate at the shadow prices that still fits.
 */
void place_greedy(struct place_work *w, enum place_order order);
/* Shifts and ejections until none helps, at most passes rounds and about so many candidates looked
 * at. */
void place_improve(struct place_work *w, int passes, size_t steps);

/* What the last plan chose, as far as it fits, then the rest. False: nothing of it is left. */
bool place_plan_kept(struct place_work *w, size_t steps);
/* Jobs go back to what the last plan chose, alone or by changing with another one, where neither
 * cost nor risk rises. */
void place_settle(struct place_work *w);

/*
 * The part of the problem that is a flow, solved exactly into w->chosen and w->mu; false: nothing
 * of it is, or it takes too long. *bound_out: no plan has a lower value. The choices may pass
 * limits that the flow does not hold.
 */
bool place_flow(
    struct place_work *w, bool (*stop)(void *), void *stop_arg, struct arena *a, double *bound_out);

enum berth_code place_check_problem(const struct place_problem *p, struct berth_err *err);
void place_slots_init(struct place_work *w, struct arena *a); /* slots and cuts */
void place_work_init(
    const struct place_problem *p, uint64_t seed, struct arena *a, struct place_work *w);
void place_reorder(struct place_work *w);                     /* after a change of the costs */
double place_cost_of(const struct place_work *w, size_t job); /* as it is placed, or its penalty */
/* The scarcest resource that keeps the candidate out, or PLACE_NONE: it fits. */
size_t place_blocker(const struct place_work *w, size_t cand);

/* Cheapest candidate of the job below limit USD that fits, other than but, or PLACE_NONE. */
size_t place_cheapest(struct place_work *w, size_t job, double limit, size_t but);

struct admit *place_admit_new(struct place_work *w, struct arena *a);
/*
 * Jobs that stay out, or are dear at the prices, take the place of several others that lose less by
 * it, until none does or about so many steps are done; from the cores. noise: share by which what
 * these would lose is misjudged at random, so that another time other ones are tried. True: the
 * plan became better.
 */
bool place_admit(struct admit *m, double noise, size_t steps);

/* The best plan and bound so far. */
struct place_best {
	double value, bound;
	double cost; /* value without the penalties: gaps are shares of it, however many jobs fit
			nowhere */
	size_t *chosen;
	double *mu; /* [n_all] */
};
/* What stands in w becomes the best plan where it is better. */
void place_keep(struct place_work *w, struct place_best *b);
/* The best plan so far stands in w again. */
void place_restore(struct place_work *w, const struct place_best *b);
/* One job for several in the best plan; true: it is another one now. */
bool place_let_in(struct place_work *w, struct place_best *b);
/* Plans from nothing at the present prices, with so many times the work of the first. */
void place_plans(struct place_work *w, struct place_best *b, unsigned round, size_t times);
void place_raise(const struct place_work *w, struct place_best *b, double bound);
/* Steps of the search of neighbourhoods in a round. */
size_t place_effort(const struct place_work *w);

struct dual;
struct tree;
struct lns;
/* Rounds of bound and search, until they are enough. Returns how many. */
unsigned place_rounds(struct place_work *w, const struct place_options *o, struct place_best *b,
    struct dual *d, struct tree *t, struct lns *s, struct arena *a);

/* Price of each slot at the shadow prices. */
void place_price(struct place_work *w);
/* Each job's core, regret and size at the prices. */
void place_cores(struct place_work *w);

struct dual;
struct dual *place_dual_new(struct place_work *w, struct arena *a);
double place_climb_from(
    struct place_work *w, struct dual *d); /* starts at w->mu; the bound there */
/* To so many times the prices along [n_all] as makes the bound highest, where that is higher than
 * the best one so far; w->mu becomes the best prices. Returns the bound there. */
double place_climb_along(struct place_work *w, struct dual *d, const double *along);
/* Starts where all offers have one price for what a job takes of them, if that is higher: of queues
 * that do not all fit. Likewise. */
double place_scarce(struct place_work *w, struct dual *d, struct arena *a);
/* Steps as long as from prices that are nearly the best. */
void place_climb_anew(struct dual *d);
/* How far the costs of the job's choices lie apart that the bound mixes, USD; *cost_out: their
 * mean. A job that stays out costs its penalty. */
double place_spread(const struct dual *d, size_t job, double *cost_out);
/* So many steps towards at most value; w->mu becomes the best prices, returned is the bound there.
 */
double place_climb(struct place_work *w, struct dual *d, unsigned steps, double value);

struct tree;
struct tree *place_tree_new(struct place_work *w, struct arena *a);
/*
 * The jobs [n] placed anew while all others stay: w keeps the best plan found, at the prices w->mu
 * and w->price. core: only from their cores, n up to PLACE_TREE_JOBS; else up to that many jobs are
 * all. *steps: at most so many, left of them. True: the search came to its end.
 */
bool place_tree(struct tree *t, size_t *jobs, size_t n, bool core, size_t *steps, bool *better_out);

struct lns;
struct lns *place_lns_new(struct place_work *w, struct arena *a);
/* Neighbourhoods of the plan in w, for so many steps; true: it became better. */
bool place_lns(struct lns *s, struct tree *t, size_t steps);
/* Places a few neighbourhoods by chance, so that another search begins elsewhere. */
void place_kick(struct lns *s);

struct branch;
struct branch *place_branch_new(struct place_work *w, uint64_t seed, struct arena *a);
/*
 * One turn of branch and bound over what jobs may cost, begun at the prices mu [n_all]. value: of
 * the best plan. *bound: no plan has a lower value, raised. True: w holds another plan.
 */
bool place_branch(struct branch *b, const double *mu, double *bound, double value, size_t steps);

struct hull;
/* NULL: too large. */
struct hull *place_hull_new(struct place_work *w, struct arena *a);
/* So many steps more of the bound that decides offers whole, begun at the prices w->mu and
 * w->price; value: of the best plan. Returns it. */
double place_hull(struct hull *h, unsigned steps, double value);
/* A plan from what the bound takes of each candidate, in w; false: it does not know that, for the
 * queue is large or has small budgets. */
bool place_dive(struct hull *h, double value, size_t steps);

struct soft;
/* Of a problem with more; its prices begin at w->mu. */
struct soft *place_soft_new(struct place_work *w, uint64_t seed, struct arena *a);
/* One turn of about so many steps, begun anew now and then from the best choices [n_jobs]: w holds
 * what it comes to. */
void place_soft(struct soft *s, const size_t *chosen, size_t steps);

#endif
