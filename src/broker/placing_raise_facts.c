/* The program of a placement again, for what more of a limit would bring: with the candidates that
 * one limit alone refuses, and costs at the shadow prices. */
#include "config.h"

#include <math.h>

#include "broker/placing_raise.h"
#include "util/arena.h"

bool
raise_draw(const struct place_problem *p, size_t k, size_t at, size_t *r_out, int64_t *units_out)
{
	size_t j = p->offer[k], u = p->use_start[j] + at, own = p->use_start[j + 1];

	if (u < own) {
		*r_out = p->resource[u];
		*units_out = p->need[k] * p->weight[u];
		return true;
	}
	if (p->more == NULL || (u = p->more->start[k] + (u - own)) >= p->more->start[k + 1])
		return false;
	*r_out = p->more->resource[u];
	*units_out = p->more->units[u];
	return true;
}

int64_t
raise_takes(const struct place_problem *p, size_t k, size_t limit)
{
	int64_t sum = 0, units;
	size_t r;

	for (size_t at = 0; k != PLACE_NONE && raise_draw(p, k, at, &r, &units); at++)
		sum += r == limit ? units : 0;
	return sum;
}

static void
raise_push(struct raise *x, size_t offer, double cost, int64_t need, size_t over)
{
	struct arena *a = x->w->a;

	VEC_PUSH(a, &x->offer, offer);
	VEC_PUSH(a, &x->cost, cost);
	VEC_PUSH(a, &x->need, need);
	VEC_PUSH(a, &x->over, over);
	VEC_PUSH(a, &x->more_vec.start, x->more_vec.units.n);
	if (over != PLACE_NONE)
		x->refuses[over] = true;
}

/* The job's candidates in the plan; of one that stays the chosen one. */
static void
raise_known(struct raise *x, size_t i)
{
	const struct placing_work_space *w = x->w;
	const struct place_problem *p = &w->p;

	x->chosen[i] = PLACE_NONE;
	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
		if (k != x->plan->chosen[i] &&
		    (x->fixed[i] || (w->by > 0 && w->estimate.v[k].finish > w->by)))
			continue;
		if (k == x->plan->chosen[i])
			x->chosen[i] = x->cost.n;
		for (size_t u = p->more == NULL ? 0 : p->more->start[k];
		     p->more != NULL && u < p->more->start[k + 1]; u++) {
			VEC_PUSH(w->a, &x->more_vec.resource, p->more->resource[u]);
			VEC_PUSH(w->a, &x->more_vec.units, p->more->units[u]);
		}
		raise_push(x, p->offer[k], p->cost[k], p->need[k], PLACE_NONE);
	}
}

/* One that limits refuse by themselves, where it is one of them. */
static void
raise_refused(struct raise *x, size_t i, size_t offer, int64_t machines, double usd, double all)
{
	const struct placing_work_space *w = x->w;
	const struct placing_facts *f = &w->facts;
	const struct placing_offer *po = &f->offers[offer];
	const struct job *j = &w->jobs[i].job;
	size_t n_over = 0, over = PLACE_NONE, n = x->more_vec.units.n;

	if (po->machines < machines ||
	    (w->spot[i].applies && po->offer->purchase == PURCHASE_SPOT) ||
	    (usd_known(j->spec.max_cost) &&
		usd_to_double(j->cost) + all > usd_to_double(j->spec.max_cost)))
		return;
	for (size_t u = f->use_start[offer]; u < f->use_start[offer + 1]; u++)
		if (f->uses[u].weight * machines > f->quotas[f->uses[u].quota].left) {
			over = f->uses[u].quota;
			n_over++;
		}
	for (size_t b = 0; b < f->n_budgets; b++) {
		int64_t units = placing_budget_takes(&f->budgets[b], po, machines, usd);

		if (units <= 0 || !budget_scope_hits(f->budgets[b].scope, f->accounts[po->account],
				      j->spec.project, j->spec.user))
			continue;
		VEC_PUSH(w->a, &x->more_vec.resource, f->n_quotas + b);
		VEC_PUSH(w->a, &x->more_vec.units, units);
		if (units > placing_budget_rest(&f->budgets[b])) {
			over = f->n_quotas + b;
			n_over++;
		}
	}
	if (n_over == 1)
		raise_push(x, offer, usd, machines, over);
	else
		x->more_vec.resource.n = x->more_vec.units.n = n;
}

static void
raise_candidates(struct raise *x, size_t i)
{
	const struct placing_hint *h = &x->w->hints[i];

	raise_known(x, i);
	for (size_t v = 0; !x->fixed[i] && v < h->over.n; v++)
		raise_refused(x, i, h->over.v[v].offer, h->over.v[v].machines, h->over.v[v].usd,
		    h->over.v[v].usd);
	for (size_t v = 0; !x->fixed[i] && v < h->away.n; v++) {
		const struct placing_near *n = &h->away.v[v].near;

		if (h->away.v[v].rule == REFUSE_OVER_BUDGET)
			raise_refused(x, i, n->offer, n->machines, n->usd, n->usd + n->idle_usd);
	}
	x->start[i + 1] = x->cost.n;
}

/* What offers take, with the quotas that alone refuse them. */
static void
raise_uses(struct raise *x)
{
	const struct placing_work_space *w = x->w;
	const struct placing_facts *f = &w->facts;
	size_t *start = arena_array(w->a, w->p.n_offers + 1, sizeof(*start));
	VEC(size_t) resource = { 0 };
	VEC(int64_t) weight = { 0 };

	for (size_t j = 0; j < w->p.n_offers; j++) {
		for (size_t u = w->p.use_start[j]; u < w->p.use_start[j + 1]; u++) {
			VEC_PUSH(w->a, &resource, w->p.resource[u]);
			VEC_PUSH(w->a, &weight, w->p.weight[u]);
		}
		for (size_t u = j < f->n_offers ? f->use_start[j] : 0;
		     j < f->n_offers && u < f->use_start[j + 1]; u++)
			if (f->uses[u].weight > f->quotas[f->uses[u].quota].left) {
				VEC_PUSH(w->a, &resource, f->uses[u].quota);
				VEC_PUSH(w->a, &weight, f->uses[u].weight);
			}
		start[j + 1] = resource.n;
	}
	x->p.use_start = start;
	x->p.resource = resource.v;
	x->p.weight = weight.v;
}

/* Each has to be above what its job may cost; one without a candidate in the plan had none, and is
 * to go beside the others, not in the place of one. */
static void
raise_penalties(struct raise *x)
{
	double least = INFINITY;

	for (size_t i = 0; i < x->w->n_jobs; i++)
		if (x->w->p.penalty[i] > 0)
			least = fmin(least, x->w->p.penalty[i]);
	for (size_t i = 0; i < x->w->n_jobs; i++) {
		double most = 0, own = x->w->p.penalty[i];

		for (size_t k = x->start[i]; k < x->start[i + 1]; k++)
			most = fmax(most, x->cost.v[k]);
		if (!(own > 0))
			own = isfinite(least) ? 0.9 * least : 10 * most;
		x->penalty[i] = fmax(own, 1.01 * most + 1);
	}
}

/* Costs at the shadow prices; what the jobs could take more of each limit; is the bound tight? */
static void
raise_price(struct raise *x)
{
	const struct place_problem *p = &x->p;
	int64_t *most = arena_array(x->w->a, p->n_resources, sizeof(*most)), units;
	double bound = 0, value = 0;
	size_t r;

	for (size_t i = 0; i < p->n_jobs; i++) {
		double least = x->penalty[i];

		value += x->chosen[i] == PLACE_NONE ? x->penalty[i] : p->cost[x->chosen[i]];
		for (size_t k = x->start[i]; k < x->start[i + 1]; k++) {
			x->priced[k] = p->cost[k];
			for (size_t at = 0; raise_draw(p, k, at, &r, &units); at++) {
				x->priced[k] += (double)units * x->plan->shadow[r];
				if (units > most[r]) {
					x->want[r] += units - most[r];
					most[r] = units;
				}
			}
			if (x->over.v[k] == PLACE_NONE)
				least = fmin(least, x->priced[k]);
		}
		bound += least;
		for (size_t k = x->start[i]; k < x->start[i + 1]; k++)
			for (size_t at = 0; raise_draw(p, k, at, &r, &units); at++)
				most[r] = 0;
	}
	for (r = 0; r < p->n_resources; r++)
		bound -= x->w->p.limit[r] == PLACE_NO_LIMIT
			     ? 0
			     : x->plan->shadow[r] * (double)x->w->p.limit[r];
	x->tight = value - bound < RAISE_CENT;
}

void
raise_begin(struct raise *x)
{
	struct placing_work_space *w = x->w;
	size_t n = w->n_jobs, nr = w->p.n_resources;

	x->start = arena_array(w->a, n + 1, sizeof(*x->start));
	x->chosen = arena_array(w->a, n, sizeof(*x->chosen));
	x->penalty = arena_array(w->a, n, sizeof(*x->penalty));
	x->fixed = arena_array(w->a, n, sizeof(*x->fixed));
	x->job = arena_array(w->a, n, sizeof(*x->job));
	x->refuses = arena_array(w->a, nr, sizeof(*x->refuses));
	x->binds = arena_array(w->a, nr, sizeof(*x->binds));
	x->want = arena_array(w->a, nr, sizeof(*x->want));
	VEC_PUSH(w->a, &x->more_vec.start, 0);
	for (size_t i = 0; i < n; i++) /* what a chain costs depends on where all of it goes */
		x->fixed[i] = placing_later(w, i);
	for (size_t i = 0; i < n; i++)
		if (w->after[i] != PLACE_NONE)
			x->fixed[w->after[i]] = true;
	for (size_t i = 0; i < n; i++) {
		raise_candidates(x, i);
		if (x->plan->binds[i] != PLACE_NONE)
			x->binds[x->plan->binds[i]] = true;
	}
	x->p = w->p;
	x->p.risk = NULL;
	x->p.cand_start = x->start;
	x->p.offer = x->offer.v;
	x->p.cost = x->cost.v;
	x->p.need = x->need.v;
	x->more =
	    (struct place_more){ x->more_vec.start.v, x->more_vec.resource.v, x->more_vec.units.v };
	x->p.more = x->more_vec.units.n > 0 ? &x->more : NULL;
	x->priced = arena_array(w->a, x->cost.n, sizeof(*x->priced));
	x->in = arena_array(w->a, x->cost.n, sizeof(*x->in));
	raise_uses(x);
	raise_penalties(x);
	raise_price(x);
}
