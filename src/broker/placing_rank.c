/* One machine more for a gang that lost one: what can be had in the place of the others. */
#include <math.h>
#include <stdlib.h>

#include "broker/placing_impl.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/str.h"

/* The same machine in the same place; how it is paid for may differ. */
static bool
rank_beside(const struct offer *o, const struct offer *like)
{
	return str_eq(o->provider, like->provider) && str_eq(o->account, like->account) &&
	       str_eq(o->region, like->region) && str_eq(o->zone, like->zone) &&
	       str_eq(o->instance_type, like->instance_type);
}

static int
rank_cmp(const void *a, const void *b)
{
	const struct placing_try *x = a, *y = b;

	if (x->cost.total_usd != y->cost.total_usd)
		return x->cost.total_usd < y->cost.total_usd ? -1 : 1;
	return x->offer->purchase < y->offer->purchase ? -1
						       : x->offer->purchase > y->offer->purchase;
}

/* What the rest of the work costs all of the gang: its max_cost is for all. Budgets are asked when
 * the one machine is reserved. */
static void
rank_estimate(struct placing_work_space *w, const struct placing_rank *r, size_t offer,
    struct cost_estimate *e)
{
	const struct placing_offer *po = &w->facts.offers[offer];
	const struct cost_limits lim = { .now = w->o->now,
		.from = w->o->now,
		.tick_s = w->o->tick_s,
		.ages = w->o->ages,
		.need_account = w->o->need_account,
		.block = w->o->block,
		.n_block = w->o->n_block,
		.budget_usd = NAN };
	struct job job = *r->job;
	struct cost_job c;
	size_t over;

	job.spec.deadline = 0; /* it has begun: late is better than never */
	placing_want(w, &job, &c);
	cost_of(&c, placing_slow_met(w, &job, po->offer), &po->facts, &lim, e);
	if (e->refuse != REFUSE_NOT)
		return;
	if (e->machines != r->machines || po->machines < 1)
		e->refuse = REFUSE_NO_CAPACITY;
	else if (placing_never(w, offer, 1, false, &over) != NULL)
		e->refuse = REFUSE_NO_QUOTA;
}

static void
rank_tries(struct placing_work_space *w, struct placing_rank *r)
{
	r->tries = arena_array(w->a, w->facts.n_offers, sizeof(*r->tries));
	r->n_tries = 0;
	r->rule = REFUSE_NOT;
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		const struct placing_offer *po = &w->facts.offers[j];
		struct placing_try *t = &r->tries[r->n_tries];

		if (!rank_beside(po->offer, r->like))
			continue;
		*t = (struct placing_try){ .offer = po->offer, .paid = po->facts.paid };
		rank_estimate(w, r, j, &t->cost);
		if (t->cost.refuse == REFUSE_NOT)
			r->n_tries++;
		else if (t->cost.refuse > r->rule) /* the one that came furthest */
			r->rule = t->cost.refuse;
	}
	if (r->n_tries > 0)
		qsort(r->tries, r->n_tries, sizeof(*r->tries), rank_cmp);
}

enum berth_code
placing_rank(struct store *store, const struct accel_table *accels, const struct placing_options *o,
    struct placing_rank *r, struct arena *a, struct berth_err *err)
{
	struct placing_work_space w = { .o = o, .accels = accels, .a = a };
	struct intent *its = NULL;
	size_t n = 0, n_out = 0;
	enum berth_code rc = store_read_begin(store, err);

	if (rc != BERTH_OK)
		return rc;
	r->turn = (struct intent_turn){ .last = 0 };
	rc = store_intent_last(store, &r->turn.last, err);
	if (rc == BERTH_OK)
		rc = store_intent_pending(store, a, &its, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) /* what they take is not known yet */
		if (its[i].kind == INTENT_CREATE)
			its[n_out++] = its[i];
	if (rc == BERTH_OK)
		rc = placing_facts_load(store, accels, o, its, n_out, a, &w.facts, err);
	store_read_end(store);
	if (rc == BERTH_OK)
		rank_tries(&w, r);
	return rc;
}
