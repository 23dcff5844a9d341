/* Spot under a deadline on the offers of one job, and the money that must stand behind it. */
#include "config.h"

#include <math.h>

#include "broker/placing_impl.h"
#include "util/arena.h"

#define PLACING_SAFE (1 + 1e-9)

bool
placing_begun(const struct job *j)
{
	return j->progress > 0 || j->preemptions > 0 || (usd_known(j->cost) && j->cost.v > 0);
}

/*
 * What its budgets leave for it; NaN: no budget counts it. A job that takes nothing now shares by
 * the queue, where all are before it that do; one that does take something shares in the plan.
 */
static double
placing_safety_left(const struct placing_work_space *w, size_t i, bool waits)
{
	const struct placing_facts *f = &w->facts;
	const struct job *j = &w->jobs[i].job;
	double least = NAN;

	for (size_t b = 0; b < f->n_budgets; b++) {
		double left =
		    usd_to_double((struct usd_micro){ placing_budget_rest(&f->budgets[b]) }) -
		    (waits && !placing_begun(j) ? w->first[b] : 0);

		if (f->budgets[b].period != BUDGET_HOUR &&
		    budget_scope_hits(f->budgets[b].scope, f->accounts[w->spot[i].account],
			j->spec.project, j->spec.user))
			least = isnan(least) || left < least ? left : least;
	}
	return least;
}

static void
placing_safety_keep(struct placing_work_space *w, size_t i, double usd)
{
	struct placing_facts *f = &w->facts;
	const struct job *j = &w->jobs[i].job;

	for (size_t b = 0; b < f->n_budgets; b++)
		if (f->budgets[b].period != BUDGET_HOUR &&
		    budget_scope_hits(f->budgets[b].scope, f->accounts[w->spot[i].account],
			j->spec.project, j->spec.user))
			f->budgets[b].reserved.v += llround(usd * 1e6);
}

double
placing_reserve(const struct placing_work_space *w, size_t i, const struct offer *o,
    const struct cost_estimate *e)
{
	const struct placing_spot *s = &w->spot[i];

	return s->applies && o->purchase == PURCHASE_SPOT ? fmax(e->total_usd, s->safety_usd)
							  : e->total_usd;
}

void
placing_first(struct placing_work_space *w, size_t i, const struct cost_estimate *e)
{
	const struct placing_facts *f = &w->facts;
	const struct job *j = &w->jobs[i].job;
	size_t best = f->n_offers;

	for (size_t k = 0; i < w->n_own && f->n_budgets > 0 && k < f->n_offers; k++)
		if (e[k].refuse == REFUSE_NOT &&
		    (best == f->n_offers || e[k].total_usd < e[best].total_usd))
			best = k;
	for (size_t b = 0; best < f->n_offers && b < f->n_budgets; b++)
		if (f->budgets[b].period != BUDGET_HOUR &&
		    budget_scope_hits(f->budgets[b].scope, f->accounts[f->offers[best].account],
			j->spec.project, j->spec.user))
			w->first[b] +=
			    w->spot[i].applies && f->offers[best].offer->purchase == PURCHASE_SPOT
				? w->spot[i].safety_usd
				: e[best].total_usd;
}

/* The action on the offers; what is paid already goes before all of it. */
static void
placing_spot_rule(struct placing_work_space *w, size_t i, bool safe, struct cost_estimate *e)
{
	const struct placing_spot *s = &w->spot[i];

	for (size_t k = 0; k < w->facts.n_offers; k++) {
		const struct placing_offer *po = &w->facts.offers[k];
		enum purchase p = po->offer->purchase;

		if (e[k].refuse != REFUSE_NOT)
			continue;
		if (s->action == SPOT_ON_DEMAND && p == PURCHASE_SPOT)
			e[k].refuse = REFUSE_SPOT_LATE;
		else if (p == PURCHASE_SPOT && !safe)
			e[k].refuse = REFUSE_OVER_BUDGET;
		else if (p == PURCHASE_SPOT &&
			 placing_spot_stood(&w->facts, po, w->o->now) < s->stand_s)
			e[k].refuse = REFUSE_SPOT_VAIN;
		else if (safe && s->instead == SPOT_WAIT && p == PURCHASE_ON_DEMAND &&
			 !po->facts.paid && !placing_later(w, i)) /* that can wait, when its time
								     has come */
			e[k].refuse = REFUSE_WAIT_SPOT;
	}
}

/* What the policy says with this deadline. */
static void
placing_spot_by(struct placing_work_space *w, size_t i, int64_t deadline,
    const struct placing_has *has, struct cost_estimate *e)
{
	struct job job = w->jobs[i].job;
	struct cost_job c = w->costs[i];

	w->spot[i] = (struct placing_spot){ .action = SPOT_ON_DEMAND, .instead = SPOT_ON_DEMAND };
	if (!placing_spot_job(&job, deadline))
		return;
	job.spec.deadline = deadline;
	c.job = &job;
	placing_estimate(w, &c, w->early[i], true, e);
	placing_spot_advise(&w->facts, &job, e, has, w->o->now, w->tables, &w->spot[i]);
}

void
placing_apply_spot(struct placing_work_space *w, size_t i, struct cost_estimate *e)
{
	const struct placing_has nothing = { SPOT_NOTHING, 0, w->early[i] };
	struct placing_spot *s = &w->spot[i];
	double left;
	bool safe;

	placing_spot_by(w, i, placing_due(w, i), &nothing, e);
	if (!s->applies && placing_due_binds(w, i)) /* nothing keeps that: its own may be kept */
		placing_spot_by(w, i, w->jobs[i].job.spec.deadline, &nothing, e);
	if (s->applies && placing_due_binds(w, i)) /* who can only be late for others may go */
		placing_estimate(w, &w->costs[i], w->early[i], true, e);
	if (!s->applies) {
		placing_estimate(w, &w->costs[i], w->early[i], false, e);
		return;
	}
	left = placing_safety_left(w, i, s->action == SPOT_WAIT);
	safe = !(s->safety_usd > left * PLACING_SAFE);
	w->jobs[i].at_risk = safe && s->action == SPOT_ON_DEMAND && !s->on_demand_up;
	if (w->jobs[i].at_risk)
		return; /* any machine is better than none */
	if (!safe) {
		w->hints[i].safety_usd = s->action == SPOT_ON_DEMAND ? s->rest_usd : s->safety_usd;
		w->hints[i].safety_left = fmax(0, left);
	}
	placing_spot_rule(w, i, safe, e);
	if (safe && s->action == SPOT_WAIT && i < w->n_own)
		placing_safety_keep(w, i, s->safety_usd);
}
