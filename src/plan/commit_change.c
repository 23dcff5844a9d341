#include <math.h>
#include <string.h>

#include "plan/commit_impl.h"
#include "util/arena.h"

#define CHANGE_STEPS 60         /* solves for one turn at most */
#define CHANGE_NEAR 1e-9        /* how closely a turn in prices is told, */
#define CHANGE_SEARCH_NEAR 4e-5 /* ... where each solve is a search, */
#define CHANGE_DEMAND_NEAR 1e-4 /* ... and in demand */
#define CHANGE_REACH 4.0        /* times as dear, or a quarter; twice and half the demand */

struct change_work {
	const struct commit_problem *p;
	const struct commit_shares *shares;
	const struct commit_demand *d;
	double spot;
	struct arena *a;
	const struct commit_side *now;
};

static struct commit_line *
change_lines(const struct commit_problem *p, double price, struct arena *a)
{
	struct commit_line *line = arena_array(a, p->n_lines + 1, sizeof(*line));

	for (size_t i = 0; i < p->n_lines; i++) {
		line[i] = p->lines[i];
		if (line[i].kind == COMMIT_RESERVED) {
			line[i].fixed *= price;
			line[i].usage = fmin(line[i].usage * price, p->unserved * (1 - 1e-9));
		}
	}
	return line;
}

/* Of a plan at reserved prices that are so many times those of the problem. */
static struct commit_side
change_side(const struct commit_problem *p, const struct commit_plan *plan, double price)
{
	struct commit_side x = { .factor = price, .bound = plan->bound_usd / price };
	double reserved = 0;

	for (size_t i = 0; i < p->n_lines; i++) {
		if (p->lines[i].kind != COMMIT_RESERVED)
			continue;
		x.gpus += plan->use[i].gpus;
		reserved += plan->use[i].cost_usd;
	}
	x.reserved = reserved / price;
	x.rest = plan->cost_usd - reserved;
	return x;
}

/*
 * The factor, past `same` and not past `other`, from which on the other is the better of the two if
 * both are used as they are: where their lines cross, or where the budget has no room for the one
 * any more, or room for the other. NaN: none.
 */
static double
change_cross(const struct commit_side *same, const struct commit_side *other, double budget)
{
	double lo = fmin(same->factor, other->factor), hi = fmax(same->factor, other->factor);
	double at = (other->rest - same->rest) / (same->reserved - other->reserved);
	double room = budget / (other->factor > same->factor ? same->bound : other->bound);
	bool crosses = at > lo && at<hi, bars = room> lo && room < hi;

	/* dearer: the first of the two; cheaper: the other is had only where there is room too */
	if (crosses && bars)
		return fmin(at, room);
	return crosses ? at : bars ? room : NAN;
}

double
commit_change_next(const struct commit_side *same, const struct commit_side *other, double budget,
    double near, int k)
{
	double side = other->factor > same->factor ? 1 : -1, far;
	double at = k % 4 == 3 ? NAN : change_cross(same, other, budget);

	/* just past where it should turn; where that is looked at already, just short of it */
	far = at * (1 + side * 0.4 * near);
	if (side * (far - other->factor) >= 0)
		far = at * (1 - side * 0.4 * near);
	if (side * (far - same->factor) > 0 && side * (other->factor - far) > 0)
		return far;
	return sqrt(same->factor * other->factor);
}

/* Spot may carry a share of the demand's peak: scales p->lines, and the quota over all of them. */
static void
change_spot(const struct change_work *w, double demand, struct commit_line *line,
    struct commit_shares *rules)
{
	int64_t was = (int64_t)floor(w->spot), is = (int64_t)floor(w->spot * demand);
	struct commit_quota *quota;

	for (size_t i = 0; i < w->p->n_lines; i++)
		if (line[i].kind == COMMIT_SPOT &&
		    (line[i].max_count == was || line[i].max_count > is))
			line[i].max_count = is;
	if (rules->n_quotas == 0)
		return;
	quota = arena_memdup(w->a, rules->quota, rules->n_quotas * sizeof(*quota));
	rules->quota = quota;
	for (size_t q = 0; q < rules->n_quotas; q++) {
		bool all = quota[q].limit == (double)was;

		for (size_t i = 0; i < w->p->n_lines; i++)
			all = all && quota[q].weight[i] == (line[i].kind == COMMIT_SPOT ? 1 : 0);
		quota[q].limit = all ? (double)is : quota[q].limit;
	}
}

/* What is best if reserved prices, or demand, are so many times what they are; gpus -1: no plan. */
static enum berth_code
change_solve(const struct change_work *w, double price, double demand, struct commit_side *out,
    struct berth_err *err)
{
	struct commit_problem p;
	struct commit_shares rules = { .n = 0 };
	struct commit_curve curve;
	struct commit_plan plan;
	struct commit_line *line;
	enum berth_code rc = BERTH_OK;

	p = *w->p;
	p.lines = line = change_lines(&p, price, w->a);
	if (w->shares != NULL)
		rules = *w->shares;
	if (demand != 1 && w->spot >= 1)
		change_spot(w, demand, line, &rules);
	if (demand != 1) {
		rc = commit_curve_scaled(w->d, demand, w->a, &curve, NULL, err);
		if (rc != BERTH_OK)
			return rc;
		p.curve = &curve;
		p.peak *= demand;
	}
	out->gpus = -1;
	rc = commit_solve_shares(&p, &rules, w->a, &plan, err);
	if (rc == BERTH_EINFEASIBLE)
		return BERTH_OK;
	if (rc == BERTH_OK)
		*out = change_side(&p, &plan, price);
	return rc;
}

static bool
change_turned(const struct change_work *w, const struct commit_side *at)
{
	return at->gpus >= 0 && fabs(at->gpus - w->now->gpus) > 1e-6;
}

/* The factor of reserved prices nearest to 1, towards `reach`, at which another number is bought.
 */
static enum berth_code
change_price(const struct change_work *w, double reach, double near, struct commit_turn *out,
    struct berth_err *err)
{
	struct commit_side same = *w->now, other, at;
	enum berth_code rc = change_solve(w, reach, 1, &other, err);

	*out = (struct commit_turn){ NAN, -1 };
	if (rc != BERTH_OK || !change_turned(w, &other))
		return rc;
	for (int k = 0; k < CHANGE_STEPS && fabs(log(other.factor / same.factor)) > near; k++) {
		double f = commit_change_next(&same, &other, w->p->budget, near, k);

		rc = change_solve(w, f, 1, &at, err);
		if (rc != BERTH_OK)
			return rc;
		if (change_turned(w, &at))
			other = at;
		else if (at.gpus >= 0)
			same = at;
		else
			same.factor = f;
	}
	*out = (struct commit_turn){ other.factor, other.gpus };
	return BERTH_OK;
}

/* The same of demand, by halves. */
static enum berth_code
change_demand(
    const struct change_work *w, double reach, struct commit_turn *out, struct berth_err *err)
{
	double same = 1, other = reach;
	struct commit_side at;
	enum berth_code rc = change_solve(w, 1, reach, &at, err);

	*out = (struct commit_turn){ NAN, -1 };
	if (rc != BERTH_OK || !change_turned(w, &at))
		return rc;
	*out = (struct commit_turn){ reach, at.gpus };
	while (fabs(other - same) > CHANGE_DEMAND_NEAR * same) {
		double mid = (same + other) / 2;

		rc = change_solve(w, 1, mid, &at, err);
		if (rc != BERTH_OK)
			return rc;
		if (change_turned(w, &at)) {
			other = mid;
			*out = (struct commit_turn){ mid, at.gpus };
		} else {
			same = mid;
		}
	}
	return BERTH_OK;
}

static enum berth_code
change_all(
    const struct change_work *w, double near, struct commit_change *out, struct berth_err *err)
{
	enum berth_code rc = change_price(w, CHANGE_REACH, near, &out->dearer, err);

	if (rc == BERTH_OK)
		rc = change_price(w, 1 / CHANGE_REACH, near, &out->cheaper, err);
	if (rc == BERTH_OK)
		rc = change_demand(w, 2, &out->more, err);
	if (rc == BERTH_OK)
		rc = change_demand(w, 0.5, &out->less, err);
	return rc;
}

static bool
change_any(const struct commit_problem *p)
{
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind == COMMIT_RESERVED)
			return p->curve->levels > 0;
	return false;
}

/* Is each solve a search? */
static bool
change_searched(const struct commit_problem *p, const struct commit_shares *shares)
{
	bool whole = true;

	for (size_t i = 0; i < p->n_lines; i++)
		whole = whole && (p->lines[i].speed == 0 || p->lines[i].speed == 1);
	return !whole || !isnan(p->budget) || (shares != NULL && shares->n > 0);
}

static const struct commit_change change_none = { { NAN, -1 }, { NAN, -1 }, { NAN, -1 },
	{ NAN, -1 } };

enum berth_code
commit_change(const struct commit_problem *p, const struct commit_shares *shares,
    const struct commit_plan *plan, const struct commit_demand *d, double spot, struct arena *a,
    struct commit_change *out, struct berth_err *err)
{
	struct commit_side now;
	struct change_work w = {
		.p = p, .shares = shares, .d = d, .spot = spot, .a = a, .now = &now
	};

	*out = change_none;
	if (!change_any(p))
		return BERTH_OK;
	now = change_side(p, plan, 1);
	return change_all(
	    &w, change_searched(p, shares) ? CHANGE_SEARCH_NEAR : CHANGE_NEAR, out, err);
}
