/* Which limits keep a job out, and what the moving of data
 * decided. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_raise.h"
#include "util/arena.h"
#include "util/str.h"

#define PLACING_CENT 0.005 /* USD; what saves less is not worth a word */

static bool
placing_is_short(int64_t left, int64_t units)
{
	return left != PLACE_NO_LIMIT && left < units;
}

/* The limits that are short for one candidate. */
static void
placing_short_of(const struct placing_work_space *w, size_t k, const int64_t *left, size_t *count)
{
	int64_t units;
	size_t r;

	for (size_t at = 0; raise_draw(&w->p, k, at, &r, &units); at++)
		count[r] += placing_is_short(left[r], units);
}

size_t
placing_kept_out(struct placing_work_space *w, size_t i, const int64_t *left, size_t binds,
    const size_t **limits_out, size_t *n_out)
{
	const struct place_problem *p = &w->p;
	size_t from = p->cand_start[i], n = p->cand_start[i + 1] - from, best = from;
	size_t *count = w->short_of;
	VEC(size_t) limits = { 0 };

	memset(count, 0, p->n_resources * sizeof(*count));
	for (size_t k = from; k < from + n; k++) {
		placing_short_of(w, k, left, count);
		best = p->cost[k] < p->cost[best] ? k : best;
	}
	for (size_t r = 0; r < p->n_resources; r++)
		if (count[r] == n)
			VEC_PUSH(w->a, &limits, r);
	if (limits.n == 0) { /* each is kept out by another one: those of the cheapest */
		memset(count, 0, p->n_resources * sizeof(*count));
		placing_short_of(w, best, left, count);
		for (size_t r = 0; r < p->n_resources; r++)
			if (count[r] > 0)
				VEC_PUSH(w->a, &limits, r);
	}
	*limits_out = limits.v;
	*n_out = limits.n;
	for (size_t x = 0; x < limits.n; x++)
		if (limits.v[x] == binds)
			return binds;
	return limits.n > 0 ? limits.v[0] : binds;
}

size_t
placing_pool(const struct placing_work_space *w, size_t offer)
{
	const struct place_problem *p = &w->p;

	for (size_t u = p->use_start[offer]; u < p->use_start[offer + 1]; u++)
		if (p->resource[u] >= w->facts.n_quotas + w->facts.n_budgets)
			return p->resource[u];
	return PLACE_NONE;
}

/* The limits that are short for what was refused before the plan. */
static void
placing_short_for(const struct placing_work_space *w, size_t i, const struct placing_need *need,
    const int64_t *left, size_t *count)
{
	const struct placing_facts *f = &w->facts;
	const struct placing_offer *po = &f->offers[need->offer];
	const struct job_spec *s = &w->jobs[i].job.spec;
	bool later = placing_later(w, i);
	size_t pool = placing_pool(w, need->offer);

	for (size_t u = f->use_start[need->offer]; u < f->use_start[need->offer + 1]; u++)
		count[f->uses[u].quota] +=
		    f->uses[u].weight * need->machines >
		    placing_quota_has(w, i, PLACE_NONE, f->uses[u].quota, left);
	for (size_t b = 0; b < f->n_budgets; b++)
		count[f->n_quotas + b] += budget_scope_hits(f->budgets[b].scope,
					      f->accounts[po->account], s->project, s->user) &&
					  !(later && f->budgets[b].period == BUDGET_HOUR) &&
					  placing_budget_takes(&f->budgets[b], po, need->machines,
					      need->usd) > left[f->n_quotas + b];
	if (pool != PLACE_NONE)
		count[pool] += need->machines > (later ? w->p.limit : left)[pool];
}

size_t
placing_refused_all(
    struct placing_work_space *w, size_t i, const int64_t *left, const size_t **limits_out)
{
	const struct placing_hint *h = &w->hints[i];
	size_t *count = w->short_of;
	VEC(size_t) limits = { 0 };

	memset(count, 0, w->p.n_resources * sizeof(*count));
	for (size_t x = 0; x < h->limited.n; x++)
		placing_short_for(w, i, &h->limited.v[x], left, count);
	for (size_t r = 0; r < w->p.n_resources; r++)
		if (h->limited.n > 0 && count[r] == h->limited.n)
			VEC_PUSH(w->a, &limits, r);
	*limits_out = limits.v;
	return limits.n;
}

const char *
placing_caps(const struct placing_work_space *w, size_t i, const struct placing_near *need,
    const char **subject_out)
{
	const struct job *j = &w->jobs[i].job;
	const struct placing_offer *po = &w->facts.offers[need->offer];
	const char **caps = arena_array(w->a, w->facts.n_budgets + 1, sizeof(*caps)),
		   **names = arena_array(w->a, w->facts.n_budgets + 1, sizeof(*names));
	double left = usd_to_double(j->spec.max_cost) - fmax(0, usd_to_double(j->cost));
	char have[USD_FMT_SIZE];
	size_t n = 0;

	if (usd_known(j->spec.max_cost) && left + 4e-7 < need->usd + need->idle_usd) {
		names[n] = "max_cost";
		caps[n++] =
		    arena_printf(w->a, "its max_cost leaves %s", usd_have(have, fmax(0, left)));
	}
	for (size_t b = 0; b < w->facts.n_budgets; b++) {
		const struct budget *x = &w->facts.budgets[b];
		int64_t rest = placing_budget_rest(x);

		if (placing_budget_takes(x, po, need->machines, need->usd) <= rest ||
		    !budget_scope_hits(
			x->scope, w->facts.accounts[po->account], j->spec.project, j->spec.user))
			continue;
		names[n] = arena_printf(w->a, "budget %s", x->name);
		caps[n++] = arena_printf(w->a, "budget %s leaves %s%s", x->name,
		    usd_have(have, (double)rest / 1e6),
		    x->period == BUDGET_HOUR ? " USD an hour" : "");
	}
	*subject_out = str_join(w->a, names, n, " and ");
	return str_join(w->a, caps, n, ", ");
}

size_t
placing_refused_by(const struct placing_work_space *w, size_t i, size_t k)
{
	const struct placing_facts *f = &w->facts;
	const struct placing_hint *h = &w->hints[i];
	double least = w->cost.v[k] - PLACING_CENT;
	size_t best = PLACE_NONE;

	for (size_t x = 0; x < h->over.n; x++) {
		const struct placing_need *n = &h->over.v[x];

		for (size_t u = f->use_start[n->offer]; u < f->use_start[n->offer + 1]; u++) {
			size_t q = f->uses[u].quota;

			if (n->usd < least && w->raise[q].more > 0 &&
			    f->uses[u].weight * n->machines > f->quotas[q].left) {
				best = q;
				least = n->usd;
			}
		}
	}
	return best;
}

void
placing_egress_told(struct placing_work_space *w, size_t i, size_t k)
{
	struct placing_egress *x = &w->jobs[i].egress;
	double own = w->cost.v[k] - w->estimate.v[k].egress_usd;

	for (size_t c = w->p.cand_start[i]; c < w->p.cand_start[i + 1]; c++) {
		double egress = w->estimate.v[c].egress_usd, saves = own - (w->cost.v[c] - egress);

		if (w->cost.v[c] < w->cost.v[k] || egress <= w->estimate.v[k].egress_usd ||
		    saves < PLACING_CENT || (x->offer != NULL && saves <= x->saves_usd))
			continue;
		*x = (struct placing_egress){ placing_label(&w->facts.offers[w->offer.v[c]],
						  w->estimate.v[c].machines, w->a),
			w->cost.v[c], saves, egress };
	}
}
