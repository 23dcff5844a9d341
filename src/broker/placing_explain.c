#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "broker/quotas.h"
#include "plan/explain.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define PLACING_TRIES 25
#define PLACING_SLOW                                                                               \
	1.3 /* times as usual from which a start-up or the tries for one are worth a word */
#define PLACING_NOISE 0.03 /* a measured speed closer to the rated one is not worth a word */

/* What was seen of the machine that its list does not tell; "" where it is as usual. */
static const char *
placing_seen(const struct placing_offer *po, struct arena *a)
{
	const struct cost_facts *f = &po->facts;
	double tries = (f->won + f->lost + 1) / (f->won + 1);
	const char *seen[3];
	size_t n = 0;

	if (isfinite(po->offer->measured) && fabs(po->offer->measured - 1) >= PLACING_NOISE)
		seen[n++] = arena_printf(a, "measured at %.2f of its rating", po->offer->measured);
	if (isfinite(f->start_s) && f->start_s >= PLACING_SLOW * COST_START_S)
		seen[n++] = arena_printf(a, "starts in %.0f min by what was seen", f->start_s / 60);
	if (tries >= PLACING_SLOW)
		seen[n++] = arena_printf(a, "%.1f tries a machine lately", tries);
	return n == 0 ? "" : arena_printf(a, " (%s)", str_join(a, seen, n, ", "));
}

const char *
placing_label(const struct placing_offer *po, int machines, struct arena *a)
{
	const struct offer *o = po->offer;
	const char *place = o->zone[0] != '\0' ? o->zone : o->region;

	return arena_printf(a, "%s%s%s%s%s %s%s%s%s", o->provider, place[0] == '\0' ? "" : " ",
	    place, o->instance_type[0] == '\0' ? "" : " ", o->instance_type,
	    po->facts.paid ? "reserved, paid" : purchase_name(o->purchase),
	    machines > 1 ? " x" : "", machines > 1 ? arena_printf(a, "%d", machines) : "",
	    placing_seen(po, a));
}

const char *
placing_none_text(const struct placing_offer *po, struct arena *a)
{
	const struct offer_gap *last = po->n_gaps > 0 ? &po->gaps[po->n_gaps - 1] : NULL;
	char since[TIME_FMT_SIZE], at[TIME_FMT_SIZE], until[TIME_FMT_SIZE];

	time_fmt(at, po->none_at);
	time_fmt(until, po->facts.none_until);
	if (last == NULL || last->from >= po->none_at)
		return arena_printf(a,
		    "none to be had, as its provider said at %s; it is asked again from %s", at,
		    until);
	return arena_printf(a,
	    "none to be had since %s, as its provider last said at %s; it is asked again from %s",
	    time_fmt(since, last->from), at, until);
}

const char *
placing_resource(const struct placing_work_space *w, size_t r, const char **unit_out)
{
	if (r < w->facts.n_quotas) {
		*unit_out = w->facts.quotas[r].limit->unit;
		return w->facts.quotas[r].limit->name;
	}
	if (r < w->facts.n_quotas + w->facts.n_budgets) {
		*unit_out =
		    w->facts.budgets[r - w->facts.n_quotas].period == BUDGET_HOUR ? "USD/h" : "USD";
		return arena_printf(
		    w->a, "budget %s", w->facts.budgets[r - w->facts.n_quotas].name);
	}
	if (w->hold.job != PLACE_NONE && r >= w->hold.base && r < w->hold.base + w->hold.n) {
		*unit_out = "unit";
		return arena_printf(w->a, "what is kept for job %s", w->jobs[w->hold.job].job.id);
	}
	*unit_out = "machine";
	return "owned commitment";
}

bool
placing_lacks_money(const struct placing_job *j)
{
	return j->n_tries == 0 && (j->binds_budget || j->refused[REFUSE_OVER_BUDGET] > 0);
}

bool
placing_lacks_budget(const struct placing_job *j)
{
	return placing_lacks_money(j) &&
	       (j->binds_budget || j->own_cap < j->refused[REFUSE_OVER_BUDGET]);
}

/* What the policy for spot under a deadline decided; NULL: it has no say. */
static const char *
placing_spot_text(const struct placing_work_space *w, size_t i)
{
	const struct placing_spot *s = &w->spot[i];
	const char *due = placing_due_text(w, i), *whose;
	char by[TIME_FMT_SIZE], need[USD_FMT_SIZE], have[USD_FMT_SIZE];

	if (w->jobs[i].overdue > 0)
		return placing_overdue_text(w, i);
	if (!s->applies)
		return NULL;
	whose = placing_due_binds(w, i) ? arena_printf(w->a, " for %s", due) : "";
	if (w->jobs[i].at_risk)
		return arena_printf(w->a,
		    "%s is at risk: on demand must run now and none can be had, so any machine is "
		    "taken",
		    due);
	if (w->hints[i].safety_usd > 0 && w->jobs[i].n_tries == 0)
		return NULL;
	if (w->hints[i].safety_usd > 0 && s->action != SPOT_ON_DEMAND)
		return arena_printf(w->a,
		    "on demand now: spot may fail, and then %s USD would be needed where the "
		    "budgets leave %s",
		    usd_need(need, w->hints[i].safety_usd),
		    usd_have(have, w->hints[i].safety_left));
	if (s->action == SPOT_ON_DEMAND)
		return arena_printf(w->a,
		    "on demand now, for losing a spot machine could break %s (%.0f %% of the price "
		    "would be saved)",
		    due, 100 * (1 - s->ratio));
	time_fmt(by, (w->early[i] > w->o->now ? w->early[i] : w->o->now) + (int64_t)s->slack_s);
	if (s->action == SPOT_WAIT && placing_later(w, i))
		return arena_printf(w->a,
		    "where there is no spot then, it waits for it at %.0f %% of the price, on "
		    "demand from %s at the latest%s",
		    100 * s->ratio, by, whose);
	if (s->action == SPOT_WAIT && s->stand_s > 0)
		return arena_printf(w->a,
		    "waits for spot that has been up for %.0f minutes and is likely to stay, for "
		    "%s; on demand from %s at the latest%s",
		    ceil(s->stand_s / 60),
		    s->vain >= SPOT_VAIN
			? arena_printf(w->a,
			      "%d launches in a row were lost before it did any work", s->vain)
			: "one more that is lost would make it dearer than on demand from the "
			  "start",
		    by, whose);
	return arena_printf(w->a,
	    s->action == SPOT_WAIT
		? "waits for spot at %.0f %% of the price, on demand from %s at the latest%s"
		: "spot at %.0f %% of the price, on demand from %s at the latest if it is lost%s",
	    100 * s->ratio, by, whose);
}

struct placing_ranked {
	bool late; /* for those behind it */
	double cost;
	size_t cand;
};

static int
placing_cmp_ranked(const void *a, const void *b)
{
	const struct placing_ranked *x = a, *y = b;

	if (x->late != y->late)
		return x->late ? 1 : -1;
	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return (x->cand > y->cand) - (x->cand < y->cand);
}

/* Does the candidate fit beside the other jobs of the plan, when its own job gives back what it
 * holds? */
static bool
placing_fits(const struct placing_work_space *w, const int64_t *left, size_t own, size_t k)
{
	const struct place_problem *p = &w->p;
	size_t j = p->offer[k];

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++) {
		int64_t have = left[p->resource[u]], jown = 0;

		for (size_t v = p->use_start[p->offer[own]]; v < p->use_start[p->offer[own] + 1];
		     v++)
			jown += p->resource[v] == p->resource[u] ? p->need[own] * p->weight[v] : 0;
		if (have != PLACE_NO_LIMIT && have + jown < p->need[k] * p->weight[u])
			return false;
	}
	for (size_t u = p->more == NULL ? 0 : p->more->start[k];
	     p->more != NULL && u < p->more->start[k + 1]; u++) {
		int64_t have = left[p->more->resource[u]];

		for (size_t v = p->more->start[own]; v < p->more->start[own + 1]; v++)
			have +=
			    p->more->resource[v] == p->more->resource[u] ? p->more->units[v] : 0;
		if (have < p->more->units[u])
			return false;
	}
	return true;
}

/* Does candidate k end too late for a deadline behind job i? */
static bool
placing_too_late(const struct placing_work_space *w, size_t i, size_t k)
{
	return placing_due_binds(w, i) && w->estimate.v[k].finish > w->due[i] &&
	       !(w->spot[i].applies &&
		   w->facts.offers[w->offer.v[k]].offer->purchase == PURCHASE_SPOT);
}

/* Of what else fits the cheapest, what is late last: where in r [n], of which the first is chosen;
 * n: there is none. */
static size_t
placing_next(const struct place_problem *p, const struct placing_ranked *r, size_t n)
{
	size_t best = n;

	for (size_t c = 1; c < n; c++)
		if (best == n ||
		    (r[c].late == r[best].late ? p->cost[r[c].cand] < p->cost[r[best].cand]
					       : r[best].late))
			best = c;
	return best;
}

static double
placing_priced(const struct place_problem *p, const struct place_plan *plan, size_t k)
{
	size_t j = p->offer[k];
	double cost = p->cost[k];

	for (size_t u = p->more == NULL ? 0 : p->more->start[k];
	     p->more != NULL && u < p->more->start[k + 1]; u++)
		cost += (double)p->more->units[u] * plan->shadow[p->more->resource[u]];
	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
		cost += (double)p->need[k] * (double)p->weight[u] * plan->shadow[p->resource[u]];
	return cost;
}

static struct placing_try
placing_try_of(const struct placing_work_space *w, size_t i, const struct placing_ranked *r)
{
	const struct placing_offer *po = &w->facts.offers[w->offer.v[r->cand]];
	const struct cost_estimate *e = &w->estimate.v[r->cand];

	return (struct placing_try){ .offer = po->offer,
		.cost = *e,
		.paid = po->facts.paid,
		.late = r->late,
		.reserve_usd = placing_reserve(w, i, po->offer, e) };
}

/*
 * The chosen candidate, then what else fits beside the other jobs by cost at the shadow prices: the
 * order of failover, what is too late for those behind it last. Returns the runner-up, the one that
 * costs least, or PLACE_NONE.
 */
static size_t
placing_tries(
    struct placing_work_space *w, size_t i, const struct place_plan *plan, const int64_t *left)
{
	struct placing_job *pj = &w->jobs[i];
	const struct place_problem *p = &w->p;
	size_t from = p->cand_start[i], n = p->cand_start[i + 1] - from;
	struct placing_ranked *r = arena_array(w->a, n, sizeof(*r));
	size_t fit = 0, next, out;

	if (plan->chosen[i] == PLACE_NONE)
		return PLACE_NONE;
	for (size_t k = from; k < from + n; k++) {
		bool is = k == plan->chosen[i];

		if (is || (placing_fits(w, left, plan->chosen[i], k) &&
			      (w->by == 0 || w->estimate.v[k].finish <= w->by)))
			r[fit++] = (struct placing_ranked){ !is && placing_too_late(w, i, k),
				is ? -INFINITY : placing_priced(p, plan, k), k };
	}
	qsort(r, fit, sizeof(*r), placing_cmp_ranked);
	next = placing_next(p, r, fit);
	out = next < fit ? r[next].cand : PLACE_NONE;
	if (next < fit && next >= PLACING_TRIES)
		r[PLACING_TRIES - 1] = r[next];
	pj->n_tries = fit < PLACING_TRIES ? fit : PLACING_TRIES;
	pj->tries = arena_array(w->a, pj->n_tries, sizeof(*pj->tries));
	for (size_t c = 0; c < pj->n_tries; c++)
		pj->tries[c] = placing_try_of(w, i, &r[c]);
	return out;
}

/* The numbers behind what the policy says. */
static const char *
placing_outlook(const struct spot_outlook *o, struct arena *a)
{
	const char *turn =
	    isnan(o->turn_h)
		? ""
		: arena_printf(a,
		      "; on demand from more than %.2f h of work on, with %.2f h to the deadline",
		      o->turn_h, o->left_h);

	if (!o->up)
		return arena_printf(a,
		    "spot has been gone for %.1f h and comes back within an hour with a chance of "
		    "%.0f %% (%lld return%s seen)%s",
		    o->age_h, 100 * o->back_1h, (long long)o->events, o->events == 1 ? "" : "s",
		    turn);
	return arena_printf(a,
	    "spot has been up for %.1f h or more, is lost at %.2g an hour (%lld loss%s seen) and "
	    "is expected to stay %.1f h; lost, it is back within an hour with a chance of %.0f "
	    "%%%s",
	    o->age_h, o->leave, (long long)o->events, o->events == 1 ? "" : "es", o->more_h,
	    100 * o->back_1h, turn);
}

static void
placing_nearer(struct placing_work_space *w, struct placing_job *pj, enum refuse_code rule,
    const struct placing_near *x)
{
	if (!x->is || (pj->nearest.offer != NULL && pj->nearest.usd <= x->usd))
		return;
	pj->nearest =
	    (struct placing_nearest){ placing_label(&w->facts.offers[x->offer], x->machines, w->a),
		    rule, x->usd, x->finish };
}

/* Of a job that is not placed: by which rule, and the best of what was refused. */
static void
placing_refused(struct placing_work_space *w, size_t i)
{
	struct placing_job *pj = &w->jobs[i];
	const struct placing_hint *h = &w->hints[i];

	pj->rule = explain_rule(pj->refused);
	pj->waits_for =
	    h->quota != NULL && w->p.cand_start[i] == w->p.cand_start[i + 1] ? h->quota : pj->binds;
	for (size_t c = 0; c < REFUSE_COUNT; c++)
		placing_nearer(w, pj, (enum refuse_code)c, &h->least[c]);
	if (h->n_late > 0)
		placing_nearer(w, pj, REFUSE_DEADLINE, &h->late[h->n_late - 1]);
	for (size_t x = 0; x < h->over.n; x++)
		placing_nearer(w, pj, REFUSE_NO_QUOTA,
		    &(struct placing_near){ h->over.v[x].offer, (int)h->over.v[x].machines,
			h->over.v[x].usd, h->over.v[x].finish, true, 0 });
	for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++)
		placing_nearer(w, pj, REFUSE_NO_CAPACITY,
		    &(struct placing_near){ w->offer.v[k], w->estimate.v[k].machines, w->cost.v[k],
			w->estimate.v[k].finish, true, 0 });
}

/* What binds, and what more of it is worth; of a job without a place each limit that keeps it out.
 */
static void
placing_explain_binds(struct placing_work_space *w, size_t i, const struct place_plan *plan,
    const int64_t *left, struct explain_job *e)
{
	struct placing_job *pj = &w->jobs[i];
	size_t k = plan->chosen[i], b = plan->binds[i], n = 0;
	const size_t *limits = NULL;
	const char *unit;

	if (k == PLACE_NONE && w->p.cand_start[i] < w->p.cand_start[i + 1])
		b = placing_kept_out(w, i, left, b, &limits, &n);
	else if (k == PLACE_NONE)
		n = placing_refused_all(w, i, left, &limits);
	if (k != PLACE_NONE && b == PLACE_NONE)
		b = placing_refused_by(w, i, k);
	pj->kept_out_by = arena_array(w->a, n, sizeof(*pj->kept_out_by));
	for (size_t x = 0; x < n; x++) {
		const char *name = placing_resource(w, limits[x], &unit);

		if (pj->n_kept_out_by == 0 || !str_eq(pj->kept_out_by[pj->n_kept_out_by - 1], name))
			pj->kept_out_by[pj->n_kept_out_by++] = name;
	}
	pj->binds = "";
	if (b == PLACE_NONE && n > 0) { /* in words it is the detail */
		pj->binds = placing_resource(w, limits[0], &e->unit);
		pj->shadow = NAN;
	}
	if (b == PLACE_NONE)
		return;
	pj->binds = e->binds = placing_resource(w, b, &e->unit);
	pj->binds_budget = b >= w->facts.n_quotas && b < w->facts.n_quotas + w->facts.n_budgets;
	pj->shadow = e->shadow = w->raise[b].shadow;
	e->more = w->raise[b].more;
	e->more_saves_usd = w->raise[b].saves;
	if (pj->n_kept_out_by > 1)
		e->binds = str_join(w->a, pj->kept_out_by, pj->n_kept_out_by, " and ");
}

/* What those behind a job have to spare in the plan, and whose deadline that is. */
struct placing_slack {
	int64_t s;  /* INT64_MAX: nobody's */
	size_t job; /* PLACE_NONE */
};

static struct placing_slack
placing_slack_behind(const struct placing_work_space *w, size_t i, const struct place_plan *plan)
{
	struct placing_slack out = { INT64_MAX, PLACE_NONE };

	if (w->due == NULL || plan->chosen[i] == PLACE_NONE)
		return out;
	for (size_t d = 0; d < w->n_jobs; d++) {
		int64_t by = w->jobs[d].job.spec.deadline, s;
		size_t up = d;

		if (by <= 0 || d == i || plan->chosen[d] == PLACE_NONE)
			continue;
		while (up != PLACE_NONE && up != i && plan->chosen[up] != PLACE_NONE)
			up = w->after[up];
		if (up != i)
			continue;
		s = by - w->estimate.v[plan->chosen[d]].finish;
		if (s < out.s)
			out = (struct placing_slack){ s, d };
	}
	return out;
}

/* Would candidate c in the place of k break a deadline behind it? */
static bool
placing_breaks(
    const struct placing_work_space *w, const struct placing_slack *behind, size_t k, size_t c)
{
	return behind->job != PLACE_NONE &&
	       w->estimate.v[c].finish - w->estimate.v[k].finish > behind->s;
}

/* By when it must end for another, and what that costs. */
static void
placing_due_told(
    struct placing_work_space *w, size_t i, size_t k, const struct placing_slack *behind)
{
	struct placing_job *pj = &w->jobs[i];
	const struct job *j = behind->job == PLACE_NONE ? NULL : &w->jobs[behind->job].job;
	size_t best = PLACE_NONE;

	pj->by_of = "";
	if (placing_due_binds(w, i)) {
		pj->by = w->due[i];
		pj->by_of = w->jobs[w->due_of[i]].job.id;
	}
	for (size_t c = w->p.cand_start[i]; j != NULL && c < w->p.cand_start[i + 1]; c++)
		if (placing_breaks(w, behind, k, c) &&
		    w->cost.v[c] < w->cost.v[best == PLACE_NONE ? k : best])
			best = c;
	if (best != PLACE_NONE)
		pj->reason = arena_printf(w->a,
		    "%s; %s would cost %.2f USD less, but %s (%s) behind it would miss its "
		    "deadline",
		    pj->reason,
		    placing_label(
			&w->facts.offers[w->offer.v[best]], w->estimate.v[best].machines, w->a),
		    w->cost.v[k] - w->cost.v[best], j->spec.name, j->id);
}

/* Whether a launch there can be refused for a quota nobody knows. */
static void
placing_unread(const struct placing_work_space *w, struct placing_job *pj, const char *account)
{
	for (size_t r = 0; r < w->facts.n_readings; r++) {
		const char *text = str_eq(w->facts.readings[r].account, account)
				       ? quota_reading_text(&w->facts.readings[r], w->o->now,
					     w->o->quota_age_s, w->a)
				       : "";

		if (text[0] != '\0')
			pj->reason = arena_printf(w->a, "%s; %s", pj->reason, text);
	}
}

static void
placing_explain(struct placing_work_space *w, size_t i, const struct place_plan *plan,
    const int64_t *left, size_t r)
{
	struct placing_job *pj = &w->jobs[i];
	size_t k = plan->chosen[i], from = w->p.cand_start[i], n = w->p.cand_start[i + 1] - from;
	struct explain_job e = { .seen = pj->seen, .refused = pj->refused, .unit = "" };
	const char *kept = placing_backfill_text(w, i);
	const struct placing_slack behind = placing_slack_behind(w, i, plan);

	for (size_t c = from; c < from + n; c++)
		if (c != k)
			pj->refused[w->by > 0 && w->estimate.v[c].finish > w->by ? REFUSE_LATER
				    : k != PLACE_NONE && w->cost.v[c] >= w->cost.v[k]
					? REFUSE_DEARER
				    : k != PLACE_NONE && placing_breaks(w, &behind, k, c)
					? REFUSE_DEADLINE
					: REFUSE_NO_CAPACITY]++;
	if (k != PLACE_NONE) {
		e.cost = &w->estimate.v[k];
		e.chosen = placing_label(&w->facts.offers[w->offer.v[k]], e.cost->machines, w->a);
		placing_egress_told(w, i, k);
		e.passed_over = pj->egress.offer;
		e.passed_over_saves_usd = pj->egress.saves_usd;
		e.passed_over_egress_usd = pj->egress.egress_usd;
	}
	if (r != PLACE_NONE) {
		e.runner_up =
		    placing_label(&w->facts.offers[w->offer.v[r]], w->estimate.v[r].machines, w->a);
		e.runner_up_usd = w->cost.v[r];
		e.runner_up_egress_usd = w->estimate.v[r].egress_usd;
	}
	placing_explain_binds(w, i, plan, left, &e);
	if (k == PLACE_NONE && n == 0) {
		e.detail = placing_detail(w, i);
		e.alone = explain_rule(pj->refused) == REFUSE_NO_CAPACITY;
	}
	if (kept != NULL)
		e.detail = e.detail == NULL ? kept : arena_printf(w->a, "%s; %s", e.detail, kept);
	e.spot = placing_spot_text(w, i);
	if (e.spot != NULL && pj->overdue == 0) {
		pj->spot = w->spot[i].outlook;
		e.spot = arena_printf(w->a, "%s; %s", e.spot, placing_outlook(&pj->spot, w->a));
	}
	pj->label = e.chosen;
	pj->waits_for = "";
	if (k == PLACE_NONE)
		placing_refused(w, i);
	pj->astray = placing_astray(w, &pj->job.spec);
	pj->reason = explain_place(&e, w->a);
	placing_due_told(w, i, k, &behind);
	if (pj->astray != NULL)
		pj->reason = arena_printf(w->a, "%s; %s", pj->reason, pj->astray);
	if (k != PLACE_NONE)
		placing_unread(w, pj, w->facts.offers[w->offer.v[k]].offer->account);
	pj->unit = e.unit;
}

/* Age of what was decided on: the chosen offer's price, and the oldest one among those that could
 * be taken. */
static void
placing_job_ages(struct placing_work_space *w, size_t i, const struct place_plan *plan)
{
	struct placing_job *pj = &w->jobs[i];

	for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++) {
		int64_t as_of = w->facts.offers[w->offer.v[k]].offer->as_of;

		if (k == plan->chosen[i])
			pj->price_as_of = as_of;
		if (as_of > 0 && (pj->oldest_as_of == 0 || as_of < pj->oldest_as_of))
			pj->oldest_as_of = as_of;
	}
}

void
placing_tell(
    struct placing_work_space *w, size_t i, const struct place_plan *plan, const int64_t *left)
{
	size_t r = placing_tries(w, i, plan, left);

	if (w->by == 0) /* prices and limits are told for the least cost */
		placing_changes(w, i, plan, left, r);
	placing_explain(w, i, plan, left, r);
	placing_job_ages(w, i, plan);
}
