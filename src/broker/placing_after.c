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

/* Where the last machine of a job was; "" if it had none. */
static enum berth_code
placing_after_where(struct placing_work_space *w, struct store *store, const char *job, const char **out,
    struct berth_err *err)
{
	struct attempt *at;
	struct instance in;
	enum berth_code rc;
	size_t n;

	rc = store_attempt_list(store, job, w->a, &at, &n, err);
	if (rc != BERTH_OK || n == 0 || at[n - 1].instance_id == 0)
		return rc;
	rc = store_instance_get(store, at[n - 1].instance_id, w->a, &in, err);
	if (rc == BERTH_OK)
		*out = placing_place(w, &in.offer);
	return rc == BERTH_ENOTFOUND ? BERTH_OK : rc;
}

enum berth_code
placing_after_load(struct placing_work_space *w, struct store *store, struct berth_err *err)
{
	struct strmap ids = { 0 };
	enum berth_code rc = BERTH_OK;

	w->after = arena_array(w->a, w->n_jobs, sizeof(*w->after));
	w->from = arena_array(w->a, w->n_jobs, sizeof(*w->from));
	for (size_t i = 0; i < w->n_jobs; i++)
		strmap_add(w->a, &ids, w->jobs[i].job.id, i, NULL);
	for (size_t i = 0; i < w->n_jobs && rc == BERTH_OK; i++) {
		const char *after = w->jobs[i].job.spec.after;
		const size_t *at = after == NULL || after[0] == '\0' ? NULL : strmap_get(&ids, after);

		w->after[i] = at == NULL ? PLACE_NONE : *at;
		w->from[i] = "";
		w->chained |= at != NULL;
		if (at == NULL && after != NULL && after[0] != '\0')
			rc = placing_after_where(w, store, after, &w->from[i], err);
	}
	return rc;
}

/* With the move it may cost more than the job or a budget allows. */
static bool
placing_after_pays(const struct placing_work_space *w, const struct job *j, size_t account, double usd)
{
	double left = placing_budget_left(&w->facts, j, account);

	if (!isnan(left) && usd > left * (1 + 1e-12))
		return false;
	return !usd_known(j->spec.max_cost) || !usd_known(j->cost) ||
	    usd_to_double(j->cost) + usd <= usd_to_double(j->spec.max_cost) * (1 + 1e-12);
}

void
placing_after_add(const struct placing_work_space *w, size_t i, struct cost_estimate *e)
{
	double gib = w->jobs[i].job.spec.after_gib;

	for (size_t j = 0; w->from[i][0] != '\0' && gib > 0 && j < w->facts.n_offers; j++) {
		double usd = gib * cost_egress_rate(w->from[i], placing_place(w, w->facts.offers[j].offer), NULL);

		if (e[j].refuse != REFUSE_NOT)
			continue;
		e[j].egress_usd += usd;
		e[j].total_usd += usd;
		if (!placing_after_pays(w, &w->jobs[i].job, w->facts.offers[j].account, e[j].total_usd))
			e[j].refuse = REFUSE_OVER_BUDGET;
	}
}

void
placing_chain(struct placing_work_space *w)
{
	const struct placing_facts *f = &w->facts;
	size_t *place = arena_array(w->a, f->n_offers, sizeof(*place)), n = 0;
	const char **name = arena_array(w->a, f->n_offers, sizeof(*name));
	double *gib = arena_array(w->a, w->n_jobs, sizeof(*gib)), *move;
	struct strmap places = { 0 };

	for (size_t j = 0; j < f->n_offers; j++) {
		int added;

		name[n] = placing_place(w, f->offers[j].offer);
		place[j] = *strmap_add(w->a, &places, name[n], n, &added);
		n += added != 0;
	}
	move = arena_array(w->a, n * n, sizeof(*move));
	for (size_t x = 0; x < n; x++)
		for (size_t y = 0; y < n; y++)
			move[x * n + y] = cost_egress_rate(name[x], name[y], NULL);
	for (size_t i = 0; i < w->n_jobs; i++)
		gib[i] = w->jobs[i].job.spec.after_gib;
	w->chain = (struct place_chain){ w->after, gib, place, n, move };
}

static enum berth_code
placing_finish(struct placing_work_space *w, const struct place_options *o, struct place_plan *plan, struct berth_err *err)
{
	size_t n = w->p.cand_start[w->n_jobs];
	int64_t *finish = arena_array(w->a, n, sizeof(*finish));

	for (size_t k = 0; k < n; k++)
		finish[k] = w->estimate.v[k].finish;
	return place_finish_solve(&w->p, finish, o, w->a, plan, &w->by, err);
}

enum berth_code
placing_solve(struct placing_work_space *w, const struct place_options *o, struct place_plan *plan, struct berth_err *err)
{
	const struct place_chain *c = &w->chain;
	enum berth_code rc;

	if (w->o->finish && w->chained)
		return err_set(err, BERTH_EUSAGE, "--for finish cannot be had with jobs that wait for one another: name the others");
	if (w->o->finish)
		return placing_finish(w, o, plan, err);
	if (!w->chained)
		return place_solve(&w->p, o, w->a, plan, err);
	rc = place_chain_solve(&w->p, c, o, w->a, plan, err);
	for (size_t i = 0; rc == BERTH_OK && i < w->n_jobs; i++) {
		size_t before = w->after[i];

		if (before == PLACE_NONE || plan->chosen[before] == PLACE_NONE)
			continue;
		for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++) {
			double usd = c->gib[i] * c->move[c->place[w->p.offer[plan->chosen[before]]] * c->n_places +
			    c->place[w->p.offer[k]]];

			w->cost.v[k] += usd;
			w->estimate.v[k].egress_usd += usd;
			w->estimate.v[k].total_usd += usd;
		}
	}
	return rc;
}
