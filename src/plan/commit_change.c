#include <math.h>
#include <string.h>

#include "plan/commit_impl.h"
#include "util/arena.h"

#define CHANGE_PRICE_STEPS 30
#define CHANGE_SHARE_STEPS 8	/* where each solve is a search */
#define CHANGE_DEMAND_STEPS 8
#define CHANGE_REACH 4.0	/* times as dear, or a quarter; twice and half the demand */

struct change_work {
	const struct commit_problem *p;
	const struct commit_shares *shares;
	const struct commit_demand *d;
	struct arena *a;
	int64_t was;
};

/* GPUs that are bought if reserved prices, or demand, are so many times what they are; -1: no plan. */
static enum berth_code
change_gpus(const struct change_work *w, double price, double demand, int64_t *gpus_out, struct berth_err *err)
{
	struct commit_line *line = arena_array(w->a, w->p->n_lines, sizeof(*line));
	struct commit_problem p = *w->p;
	struct commit_curve curve;
	struct commit_plan plan;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < p.n_lines; i++) {
		line[i] = p.lines[i];
		if (line[i].kind == COMMIT_RESERVED)
			line[i].fixed *= price;
	}
	p.lines = line;
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
	for (size_t i = 0; i < p.n_lines && rc == BERTH_OK; i++)
		if (line[i].kind == COMMIT_RESERVED)
			*gpus_out = (i == 0 || *gpus_out < 0 ? 0 : *gpus_out) + plan.use[i].gpus;
	if (rc == BERTH_OK && *gpus_out < 0)
		*gpus_out = 0;
	return rc;
}

/* The factor nearest to 1, towards `reach`, at which another number is bought. */
static enum berth_code
change_find(const struct change_work *w, bool price, double reach, int steps, struct commit_turn *out, struct berth_err *err)
{
	double same = 1, other = reach;
	int64_t gpus;
	enum berth_code rc = change_gpus(w, price ? other : 1, price ? 1 : other, &gpus, err);

	*out = (struct commit_turn){ NAN, -1 };
	if (rc != BERTH_OK || gpus == w->was || gpus < 0)
		return rc;
	*out = (struct commit_turn){ other, gpus };
	for (int k = 0; k < steps && rc == BERTH_OK; k++) {
		double mid = price ? sqrt(same * other) : (same + other) / 2;

		rc = change_gpus(w, price ? mid : 1, price ? 1 : mid, &gpus, err);
		if (gpus == w->was || gpus < 0) {
			same = mid;
		} else {
			other = mid;
			*out = (struct commit_turn){ other, gpus };
		}
	}
	return rc;
}

enum berth_code
commit_change(const struct commit_problem *p, const struct commit_shares *shares, const struct commit_plan *plan,
    const struct commit_demand *d, struct arena *a, struct commit_change *out, struct berth_err *err)
{
	struct change_work w = { p, shares, d, a, 0 };
	enum berth_code rc;
	bool any = false;
	int price_steps = CHANGE_PRICE_STEPS;

	*out = (struct commit_change){ { NAN, -1 }, { NAN, -1 }, { NAN, -1 }, { NAN, -1 } };
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].kind == COMMIT_RESERVED) {
			any = true;
			w.was += plan->use[i].gpus;
		}
	if (!any || p->curve->levels == 0)
		return BERTH_OK;
	if (shares != NULL && shares->n > 0)
		price_steps = CHANGE_SHARE_STEPS;
	rc = change_find(&w, true, CHANGE_REACH, price_steps, &out->dearer, err);
	if (rc == BERTH_OK)
		rc = change_find(&w, true, 1 / CHANGE_REACH, price_steps, &out->cheaper, err);
	if (rc == BERTH_OK)
		rc = change_find(&w, false, 2, CHANGE_DEMAND_STEPS, &out->more, err);
	if (rc == BERTH_OK)
		rc = change_find(&w, false, 0.5, CHANGE_DEMAND_STEPS, &out->less, err);
	return rc;
}
