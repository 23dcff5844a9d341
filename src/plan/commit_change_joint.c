#include <math.h>
#include <string.h>

#include "plan/commit_impl.h"
#include "plan/commit_joint.h"
#include "util/arena.h"

#define CHANGE_REACH 4.0   /* reserved prices: times as dear, or a quarter */
#define CHANGE_STEPS 24    /* solves for one turn at most */
#define CHANGE_NEAR 1e-4   /* factors that are not told apart, relative */
#define CHANGE_GROUPS 500  /* of hours, before they are parted by the plan's own use of them */
#define CHANGE_MANY 1000   /* groups, from which on */
#define CHANGE_LOOSE 1e-5  /* ... so much of the cost is not told apart */
#define CHANGE_PROVEN 1e-7 /* part of the cost */
#define CHANGE_WORK 2e7    /* of all solves of one of the four turns, as JOINT_WORK */
#define CHANGE_PART 4      /* ... of which one has at most this part */

/* A best plan at some factor: reserved ones cost factor * fixed. */
struct change_point {
	double factor, fixed, hours, gpus;
	double *x; /* [columns] */
};

struct change_joint {
	struct joint j;
	double was;   /* GPUs that are bought */
	double gap;   /* part of the cost that the plan itself may be off */
	double known; /* USD of the counts that the last solve began with; INFINITY: they keep no
			 rules then */
	double work;  /* that is left */
	double
	    *usage; /* [servers] at the prices of now; NULL: what is reserved has no price of use */
};

static double
change_gpus(const struct joint *j, const double *x)
{
	double gpus = 0;

	for (size_t c = 0; c < j->column.n; c++)
		gpus += j->column.v[c].gpus * x[c];
	return gpus;
}

/* Prices of use change with the others, and the tangents with them. */
static void
change_usage(struct change_joint *w, double price)
{
	struct joint *j = &w->j;

	for (size_t i = 0; i < j->server.n; i++) {
		struct commit_server *s = &j->server.v[i];

		if (s->column != COMMIT_NOT_BOUGHT)
			s->usage = fmin(
			    w->usage[i] * price, j->r.m[s->member].problem->unserved * (1 - 1e-9));
	}
	j->cut.n = 0;
}

static void
change_usage_find(struct change_joint *w)
{
	struct joint *j = &w->j;
	double *usage = arena_array(j->a, j->server.n + 1, sizeof(*usage));

	for (size_t i = 0; i < j->server.n; i++) {
		usage[i] = j->server.v[i].usage;
		if (j->server.v[i].column != COMMIT_NOT_BOUGHT && usage[i] > 0)
			w->usage = usage;
	}
}

/*
 * The best at these prices and this demand, from all tangents that are known: they hold for any.
 * start: counts to begin with, where they keep the rules. False: there is none, or it was not found
 * in time.
 */
static bool
change_solve(struct change_joint *w, double price, double scale, const double *start,
    struct change_point *out)
{
	struct joint *j = &w->j;

	j->price_factor = price;
	j->scale = scale;
	joint_hours_means(j);
	if (w->usage != NULL)
		change_usage(w, price);
	joint_again(j);
	j->best_usd = INFINITY;
	j->work = 0;
	j->tries = 0;
	j->work_max = fmin(w->work, CHANGE_WORK / CHANGE_PART);
	if (joint_keeps(j, start)) {
		joint_at(j, start);
		j->best_usd = joint_fixed(j, start) + j->at.usd;
		memcpy(j->best, start, j->column.n * sizeof(*start));
	}
	w->known = j->best_usd;
	joint_search(j);
	w->work -= j->work;
	if (isinf(j->best_usd))
		return false;
	out->factor = price;
	out->fixed = joint_fixed(j, j->best) / price;
	out->hours = j->best_usd - price * out->fixed;
	out->gpus = change_gpus(j, j->best);
	out->x = arena_memdup(j->a, j->best, (j->column.n + 1) * sizeof(double));
	return true;
}

/* Is it better than what it began with, by more than that may be off? */
static bool
change_better(const struct change_joint *w, const struct change_point *at)
{
	return isinf(w->known) ||
	       at->factor * at->fixed + at->hours < w->known * (1 - w->gap - 1e-6);
}

/* ... and with another number? */
static bool
change_turned(const struct change_joint *w, const struct change_point *at)
{
	return fabs(at->gpus - w->was) > 1e-6 && change_better(w, at);
}

/* Where to look next: where the lines cross, if all can be had there; else near it. */
static double
change_next(const struct change_joint *w, const struct change_point *same,
    const struct change_point *other, bool straight, int k)
{
	struct commit_side s = { same->factor, same->fixed, same->fixed, same->hours, same->gpus };
	struct commit_side o = { other->factor, other->fixed, other->fixed, other->hours,
		other->gpus };
	double lo = fmin(s.factor, o.factor), hi = fmax(s.factor, o.factor);
	double cross = (o.rest - s.rest) / (s.bound - o.bound);

	if (!straight)
		return commit_change_next(&s, &o, w->j.budget, CHANGE_NEAR, k);
	return cross > lo && cross < hi ? cross : sqrt(lo * hi);
}

/*
 * The factor of reserved prices nearest to 1, towards reach, at which another number is bought.
 * What is best costs at each factor the least of lines, one a plan: it turns where two of them
 * cross, which is looked at next, until nothing is better there.
 */
static void
change_price(
    struct change_joint *w, const struct change_point *now, double reach, struct commit_turn *out)
{
	struct change_point same = *now, other, at;
	bool straight = isnan(w->j.budget) &&
			w->usage == NULL; /* lines, of which each can be had at all factors */

	*out = (struct commit_turn){ NAN, -1 };
	w->work = CHANGE_WORK;
	if (!change_solve(w, reach, 1, same.x, &other) || !change_turned(w, &other))
		return;
	for (int k = 0; k < CHANGE_STEPS && w->work > 0; k++) {
		double cross = change_next(w, &same, &other, straight, k);

		if (fabs(log(other.factor / same.factor)) < CHANGE_NEAR)
			break;
		if (!change_solve(w, cross, 1, same.x, &at)) {
			same.factor = cross; /* too dear for the budget */
		} else if (change_turned(w, &at)) {
			other = at;
		} else if (change_better(w, &at)) {
			same = at;
		} else if (straight) {
			other.factor = cross; /* nothing is better where the two cost the same */
			break;
		} else {
			same.factor = cross;
		}
	}
	*out = (struct commit_turn){ other.factor, other.gpus };
}

/* The same of demand, by halves. */
static void
change_demand(struct change_joint *w, const double *x, double reach, struct commit_turn *out)
{
	double same = 1, other = reach;
	struct change_point at;

	*out = (struct commit_turn){ NAN, -1 };
	w->work = CHANGE_WORK;
	if (!change_solve(w, 1, reach, x, &at) || !change_turned(w, &at))
		return;
	*out = (struct commit_turn){ reach, at.gpus };
	while (fabs(other - same) > CHANGE_NEAR * same && w->work > 0) {
		double mid = (same + other) / 2;

		if (!change_solve(w, 1, mid, x, &at) || !change_turned(w, &at)) {
			same = mid;
		} else {
			other = mid;
			*out = (struct commit_turn){ mid, at.gpus };
		}
	}
}

/* The plans that were made, as counts. */
static double *
change_known(const struct joint *j)
{
	double *x = arena_array(j->a, j->column.n + 1, sizeof(*x));

	for (size_t c = 0; c < j->column.n; c++)
		x[c] = (double)j->r.m[j->column.v[c].member].plan->use[j->column.v[c].line].count;
	return x;
}

enum berth_code
commit_change_joint(const struct commit_member *m, size_t n, double budget,
    struct commit_change *out, struct berth_err *err)
{
	static const struct commit_turn none = { NAN, -1 };
	struct change_joint w = { .j = joint_new(m, n, budget, arena_new()) };
	struct joint *j = &w.j;
	struct change_point now = { .factor = 1 };

	*out = (struct commit_change){ none, none, none, none };
	j->scale_max = 2;
	j->proven = CHANGE_PROVEN;
	joint_init(j);
	joint_master(j);
	change_usage_find(&w);
	joint_steps(j, CHANGE_GROUPS);
	now.x = change_known(j);
	now.hours = joint_exact(j, now.x) - joint_fixed(j, now.x);
	now.fixed = joint_fixed(j, now.x);
	w.gap = fmax(0, 1 - m[0].plan->lower_bound_usd / fmax(m[0].plan->cost_usd, 1e-9));
	w.was = now.gpus = change_gpus(j, now.x);
	j->loose = j->hours.n_groups > CHANGE_MANY ? CHANGE_LOOSE * (now.fixed + now.hours) : 0;
	if (j->column.n > 0 && !j->r.failed) {
		change_price(&w, &now, CHANGE_REACH, &out->dearer);
		change_price(&w, &now, 1 / CHANGE_REACH, &out->cheaper);
		change_demand(&w, now.x, 2, &out->more);
		change_demand(&w, now.x, 0.5, &out->less);
	}
	joint_hours_end(j);
	arena_free(j->r.scratch);
	arena_free(j->a);
	return j->r.failed
		   ? err_set(err, BERTH_EFAIL, "the hours under the quotas could not be solved")
		   : BERTH_OK;
}
