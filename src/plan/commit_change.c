#include <math.h>
#include <string.h>

#include "plan/commit_impl.h"
#include "util/arena.h"

#define CHANGE_PRICE_STEPS 30
#define CHANGE_SEARCH_STEPS 8 /* where each solve is a search */
#define CHANGE_DEMAND_STEPS 8
#define CHANGE_REACH 4.0 /* times as dear, or a quarter; twice and half the demand */

struct change_work {
	const struct commit_problem *p;
	const struct commit_shares *shares;
	const struct commit_demand *d;
	struct arena *a;
	double was;
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

static double
change_bought(const struct commit_problem *p, const struct commit_plan *plan)
{
	double gpus = 0;

	for (size_t i = 0; i < p->n_lines; i++)
		gpus += p->lines[i].kind == COMMIT_RESERVED ? plan->use[i].gpus : 0;
	return gpus;
}

/* GPUs that are bought if reserved prices, or demand, are so many times what they are; -1: no plan.
 */
static enum berth_code
change_gpus(const struct change_work *w, double price, double demand, double *gpus_out,
    struct berth_err *err)
{
	struct commit_problem p;
	struct commit_curve curve;
	struct commit_plan plan;
	enum berth_code rc = BERTH_OK;

	p = *w->p;
	p.lines = change_lines(&p, price, w->a);
	if (demand != 1) {
		rc = commit_curve_scaled(w->d, demand, w->a, &curve, NULL, err);
		if (rc != BERTH_OK)
			return rc;
		p.curve = &curve;
		p.peak *= demand;
	}
	*gpus_out = -1;
	rc = commit_solve_shares(&p, w->shares, w->a, &plan, err);
	if (rc == BERTH_EINFEASIBLE)
		return BERTH_OK;
	if (rc == BERTH_OK)
		*gpus_out = change_bought(&p, &plan);
	return rc;
}

/* The factor nearest to 1, towards `reach`, at which another number is bought. */
static enum berth_code
change_find(const struct change_work *w, bool price, double reach, int steps,
    struct commit_turn *out, struct berth_err *err)
{
	double same = 1, other = reach;
	double gpus;
	enum berth_code rc = change_gpus(w, price ? other : 1, price ? 1 : other, &gpus, err);

	*out = (struct commit_turn){ NAN, -1 };
	if (rc != BERTH_OK || fabs(gpus - w->was) < 1e-6 || gpus < 0)
		return rc;
	*out = (struct commit_turn){ other, gpus };
	for (int k = 0; k < steps && rc == BERTH_OK; k++) {
		double mid = price ? sqrt(same * other) : (same + other) / 2;

		rc = change_gpus(w, price ? mid : 1, price ? 1 : mid, &gpus, err);
		if (fabs(gpus - w->was) < 1e-6 || gpus < 0) {
			same = mid;
		} else {
			other = mid;
			*out = (struct commit_turn){ other, gpus };
		}
	}
	return rc;
}

static enum berth_code
change_all(
    const struct change_work *w, int price_steps, struct commit_change *out, struct berth_err *err)
{
	enum berth_code rc = change_find(w, true, CHANGE_REACH, price_steps, &out->dearer, err);

	if (rc == BERTH_OK)
		rc = change_find(w, true, 1 / CHANGE_REACH, price_steps, &out->cheaper, err);
	if (rc == BERTH_OK)
		rc = change_find(w, false, 2, CHANGE_DEMAND_STEPS, &out->more, err);
	if (rc == BERTH_OK)
		rc = change_find(w, false, 0.5, CHANGE_DEMAND_STEPS, &out->less, err);
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
    const struct commit_plan *plan, const struct commit_demand *d, struct arena *a,
    struct commit_change *out, struct berth_err *err)
{
	struct change_work w = { .p = p, .shares = shares, .d = d, .a = a };

	*out = change_none;
	if (!change_any(p))
		return BERTH_OK;
	w.was = change_bought(p, plan);
	return change_all(
	    &w, change_searched(p, shares) ? CHANGE_SEARCH_STEPS : CHANGE_PRICE_STEPS, out, err);
}
