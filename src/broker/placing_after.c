/* Jobs that need the output of another: where it lies, and what it costs to move. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "plan/place_finish.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/strmap.h"

static const char *
placing_place(const struct placing_work_space *w, const struct offer *o)
{
	return arena_printf(w->a, "%s/%s", o->provider, o->region);
}

enum berth_code
placing_after_where(
    struct store *store, const char *job, struct arena *a, const char **out, struct berth_err *err)
{
	struct attempt *at;
	struct instance in;
	enum berth_code rc;
	size_t n;

	*out = "";
	rc = store_attempt_list(store, job, a, &at, &n, err);
	if (rc != BERTH_OK || n == 0 || at[n - 1].instance_id == 0)
		return rc;
	rc = store_instance_get(store, at[n - 1].instance_id, a, &in, err);
	if (rc == BERTH_OK)
		*out = arena_printf(a, "%s/%s", in.offer.provider, in.offer.region);
	return rc == BERTH_ENOTFOUND ? BERTH_OK : rc;
}

enum berth_code
placing_after_load(struct placing_work_space *w, struct store *store, struct berth_err *err)
{
	struct strmap ids = { 0 };
	enum berth_code rc = BERTH_OK;

	w->after = arena_array(w->a, w->n_jobs, sizeof(*w->after));
	w->from = arena_array(w->a, w->n_jobs, sizeof(*w->from));
	w->early = arena_array(w->a, w->n_jobs, sizeof(*w->early));
	w->before = arena_array(w->a, w->n_jobs, sizeof(*w->before));
	w->soonest = arena_array(w->a, w->n_jobs, sizeof(*w->soonest));
	for (size_t i = 0; i < w->n_jobs; i++)
		strmap_add(w->a, &ids, w->jobs[i].job.id, i, NULL);
	for (size_t i = 0; i < w->n_jobs && rc == BERTH_OK; i++) {
		const char *after = w->jobs[i].job.spec.after;
		const size_t *at =
		    after == NULL || after[0] == '\0' ? NULL : strmap_get(&ids, after);

		w->after[i] = at == NULL ? PLACE_NONE : *at;
		w->from[i] = "";
		w->early[i] = w->o->now;
		w->chained |= at != NULL;
		if (at == NULL && after != NULL && after[0] != '\0')
			rc = placing_late_load(w, store, i, err);
	}
	return rc;
}

size_t *
placing_order(const struct placing_work_space *w, size_t *n_out)
{
	size_t *order = arena_array(w->a, w->n_jobs, sizeof(*order));
	bool *done = arena_array(w->a, w->n_jobs, sizeof(*done)), more = true;

	*n_out = 0;
	while (more) {
		more = false;
		for (size_t i = 0; i < w->n_jobs; i++) {
			size_t before = w->after[i];

			if (done[i] || (before != PLACE_NONE && !done[before]))
				continue;
			done[i] = more = true;
			order[(*n_out)++] = i;
		}
	}
	return order;
}

/* With the move it may cost more than the job or a budget allows. */
static bool
placing_after_pays(const struct placing_work_space *w, const struct job *j, size_t account,
    double usd, double idle)
{
	double left = placing_budget_left(&w->facts, j, account);

	if (!isnan(left) && usd > left * (1 + 1e-12))
		return false;
	return !usd_known(j->spec.max_cost) || !usd_known(j->cost) ||
	       usd_to_double(j->cost) + usd + idle <= usd_to_double(j->spec.max_cost) * (1 + 1e-12);
}

void
placing_after_add_one(
    const struct placing_work_space *w, size_t i, size_t offer, struct cost_estimate *e)
{
	const struct placing_offer *po = &w->facts.offers[offer];
	double gib = w->jobs[i].job.spec.after_gib, usd;

	if (w->from[i][0] == '\0' || !(gib > 0) || e->refuse != REFUSE_NOT)
		return;
	usd = gib * cost_egress_rate(w->from[i], placing_place(w, po->offer), NULL);
	e->egress_usd += usd;
	e->total_usd += usd;
	if (!placing_after_pays(w, &w->jobs[i].job, po->account, e->total_usd, e->idle_usd))
		e->refuse = REFUSE_OVER_BUDGET;
}

void
placing_after_add(const struct placing_work_space *w, size_t i, struct cost_estimate *e)
{
	for (size_t j = 0; j < w->facts.n_offers; j++)
		placing_after_add_one(w, i, j, &e[j]);
}

void
placing_chain(struct placing_work_space *w)
{
	const struct placing_facts *f = &w->facts;
	size_t *place = arena_array(w->a, w->p.n_offers, sizeof(*place)), n = 0;
	const char **name = arena_array(w->a, f->n_offers, sizeof(*name));
	double *gib = arena_array(w->a, w->n_jobs, sizeof(*gib)), *move;
	struct strmap places = { 0 };

	for (size_t j = 0; j < f->n_offers; j++) {
		int added;

		name[n] = placing_place(w, f->offers[j].offer);
		place[j] = *strmap_add(w->a, &places, name[n], n, &added);
		n += added != 0;
	}
	for (size_t j = f->n_offers; j < w->p.n_offers; j++)
		place[j] = place[j - f->n_offers];
	move = arena_array(w->a, n * n, sizeof(*move));
	for (size_t x = 0; x < n; x++)
		for (size_t y = 0; y < n; y++)
			move[x * n + y] = cost_egress_rate(name[x], name[y], NULL);
	for (size_t i = 0; i < w->n_jobs; i++)
		gib[i] = w->jobs[i].job.spec.after_gib;
	w->chain = (struct place_chain){
		.after = w->after, .gib = gib, .place = place, .n_places = n, .move = move
	};
	placing_late_chain(w);
}

static enum berth_code
placing_finish(struct placing_work_space *w, const struct place_options *o, struct place_plan *plan,
    struct berth_err *err)
{
	size_t n = w->p.cand_start[w->n_jobs];
	int64_t *finish = arena_array(w->a, n, sizeof(*finish));

	for (size_t k = 0; k < n; k++)
		finish[k] = w->estimate.v[k].finish;
	return place_finish_solve(&w->p, finish, o, w->a, plan, &w->by, err);
}

void
placing_use(const struct placing_work_space *w, size_t k, int64_t sign, int64_t *left)
{
	const struct place_problem *p = &w->p;
	size_t j = p->offer[k];

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
		if (p->limit[p->resource[u]] != PLACE_NO_LIMIT)
			left[p->resource[u]] += sign * p->need[k] * p->weight[u];
	for (size_t u = p->more == NULL ? 0 : p->more->start[k];
	     p->more != NULL && u < p->more->start[k + 1]; u++)
		left[p->more->resource[u]] += sign * p->more->units[u];
}

/* The first limit that the choice does not fit into; PLACE_NONE: it fits. */
static size_t
placing_use_short(const struct placing_work_space *w, size_t k, const int64_t *left)
{
	const struct place_problem *p = &w->p;
	size_t j = p->offer[k];

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
		if (p->limit[p->resource[u]] != PLACE_NO_LIMIT &&
		    left[p->resource[u]] < p->need[k] * p->weight[u])
			return p->resource[u];
	for (size_t u = p->more == NULL ? 0 : p->more->start[k];
	     p->more != NULL && u < p->more->start[k + 1]; u++)
		if (left[p->more->resource[u]] < p->more->units[u])
			return p->more->resource[u];
	return PLACE_NONE;
}

/* The costs of what job i may take, with the move from where the job before it is planned; budgets
 * count it too. */
static void
placing_move_add(struct placing_work_space *w, const struct place_plan *plan, size_t i)
{
	const struct place_chain *c = &w->chain;
	size_t from = c->place[w->offer.v[plan->chosen[w->after[i]]]];

	for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++) {
		double usd = c->gib[i] * c->move[from * c->n_places + c->place[w->offer.v[k]]];

		w->cost.v[k] += usd;
		w->estimate.v[k].egress_usd += usd;
		w->estimate.v[k].total_usd += usd;
		for (size_t u = w->more_vec.start.v[k]; u < w->more_vec.start.v[k + 1]; u++)
			if (w->more_vec.resource.v[u] < w->facts.n_quotas + w->facts.n_budgets)
				w->more_vec.units.v[u] += llround(usd * 1e6);
	}
}

/* The cheapest that fits into left and into the job's own cap; PLACE_NONE: none. short_out: what
 * the cheapest of all lacks. */
static size_t
placing_move_best(
    const struct placing_work_space *w, size_t i, const int64_t *left, size_t *short_out)
{
	size_t best = PLACE_NONE, cheap = PLACE_NONE;

	for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++) {
		size_t lacks = placing_use_short(w, k, left);

		if (w->estimate.v[k].refuse != REFUSE_NOT ||
		    !placing_after_pays(w, &w->jobs[i].job, w->facts.offers[w->offer.v[k]].account,
			w->cost.v[k], w->estimate.v[k].idle_usd))
			continue;
		if (cheap == PLACE_NONE || w->cost.v[k] < w->cost.v[cheap]) {
			cheap = k;
			*short_out = lacks;
		}
		if (lacks == PLACE_NONE && (best == PLACE_NONE || w->cost.v[k] < w->cost.v[best]))
			best = k;
	}
	return best;
}

/*
 * Which move a job makes, only the plan says: with it the choice may pass a budget or the job's own
 * cap. Then the job has the cheapest that does not, or waits. left [n_resources] is what the plan
 * leaves, without the moves.
 */
static void
placing_move_pay(struct placing_work_space *w, struct place_plan *plan, size_t i, int64_t *left)
{
	size_t k = plan->chosen[i], lacks = PLACE_NONE, to;

	if (k != PLACE_NONE)
		placing_use(w, k, 1, left);
	placing_move_add(w, plan, i);
	placing_late_shift(w, i, w->estimate.v[plan->chosen[w->after[i]]].finish);
	if (k == PLACE_NONE)
		return;
	to = w->estimate.v[k].refuse == REFUSE_NOT && placing_use_short(w, k, left) == PLACE_NONE &&
		     placing_after_pays(w, &w->jobs[i].job, w->facts.offers[w->offer.v[k]].account,
			 w->cost.v[k], w->estimate.v[k].idle_usd)
		 ? k
		 : placing_move_best(w, i, left, &lacks);
	if (to != PLACE_NONE)
		placing_use(w, to, -1, left);
	if (to == k)
		return;
	plan->chosen[i] = to;
	plan->runner_up[i] = PLACE_NONE;
	plan->binds[i] = lacks;
	plan->placed -= to == PLACE_NONE;
	plan->optimal = false;
}

/* Moves of the plan, first jobs first, and what they cost in all. */
static void
placing_moves_pay(struct placing_work_space *w, struct place_plan *plan)
{
	int64_t *left = arena_memdup(w->a, w->p.limit, w->p.n_resources * sizeof(*left));
	size_t n, *order = placing_order(w, &n);

	for (size_t i = 0; i < w->n_jobs; i++)
		if (plan->chosen[i] != PLACE_NONE)
			placing_use(w, plan->chosen[i], -1, left);
	for (size_t x = 0; x < n; x++) {
		size_t i = order[x], before = w->after[i];

		if (before != PLACE_NONE && plan->chosen[before] != PLACE_NONE)
			placing_move_pay(w, plan, i, left);
	}
	placing_late_drop(w, plan);
	plan->value = plan->cost = 0;
	for (size_t i = 0; i < w->n_jobs; i++) {
		plan->cost += plan->chosen[i] == PLACE_NONE ? 0 : w->cost.v[plan->chosen[i]];
		plan->value +=
		    plan->chosen[i] == PLACE_NONE ? w->p.penalty[i] : w->cost.v[plan->chosen[i]];
	}
}

enum berth_code
placing_solve(struct placing_work_space *w, const struct place_options *o, struct place_plan *plan,
    struct berth_err *err)
{
	enum berth_code rc;

	if (w->o->finish && w->chained)
		return err_set(err, BERTH_EUSAGE,
		    "--for finish cannot be had with jobs that wait for one another: name the "
		    "others");
	if (w->o->finish)
		return placing_finish(w, o, plan, err);
	if (!w->chained)
		return place_solve(&w->p, o, w->a, plan, err);
	rc = place_chain_solve(&w->p, &w->chain, o, w->a, plan, err);
	if (rc == BERTH_OK)
		placing_moves_pay(w, plan);
	return rc;
}
