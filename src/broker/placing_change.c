#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define PLACING_EVEN 1e-3  /* micro-USD: at the even price itself nothing is less */
#define PLACING_CENT 0.005 /* USD; what saves less is not worth a word */

struct placing_change *
placing_change_add(struct placing_change_list *l, const char *what, const char *subject)
{
	struct placing_change c = {
		.what = what, .subject = subject, .offer = "", .from = NAN, .to = NAN, .usd = NAN
	};

	VEC_PUSH(l->w->a, &l->v, c);
	return &l->v.v[l->v.n - 1];
}

static const char *
placing_offer_name(const struct placing_work_space *w, size_t offer)
{
	return placing_label(&w->facts.offers[offer], 1, w->a);
}

/*
 * The price below which the runner-up would cost the job less: hours do not depend on it, so that
 * the whole difference comes off its compute. Nothing is said where even a price of 0 would not do.
 */
static void
placing_change_price(struct placing_change_list *l, size_t k, size_t r)
{
	const struct placing_work_space *w = l->w;
	const struct cost_estimate *e = &w->estimate.v[r];
	double price = usd_to_double(w->facts.offers[w->offer.v[r]].offer->price), gap, to;
	struct placing_change *c;

	gap = w->cost.v[r] - w->cost.v[k];
	if (!(gap >= 0) || !(e->compute_usd > gap) || w->facts.offers[w->offer.v[r]].facts.paid)
		return;
	to = (ceil(price * (1 - gap / e->compute_usd) * 1e6 - PLACING_EVEN) - 1) / 1e6;
	if (!(to > 0))
		return;
	c = placing_change_add(l, "price", "");
	c->offer = placing_offer_name(w, w->offer.v[r]);
	c->from = price;
	c->to = to;
	c->usd = w->cost.v[r] - gap;
	c->text = arena_printf(w->a, "%s at under %.10g USD an hour (%.6g now) would cost less",
	    c->offer, to + 1e-6, price);
}

size_t
placing_lacks(const struct placing_work_space *w, const int64_t *left, size_t k, size_t c,
    size_t *limit_out, int64_t *more_out)
{
	const struct place_problem *p = &w->p;
	size_t j = p->offer[c], n = 0;

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++) {
		int64_t lacks = p->need[c] * p->weight[u] - placing_own(w, k, p->resource[u]) -
				left[p->resource[u]];

		if (p->limit[p->resource[u]] != PLACE_NO_LIMIT && lacks > 0) {
			*limit_out = p->resource[u];
			*more_out = lacks;
			n++;
		}
	}
	for (size_t u = p->more == NULL ? 0 : p->more->start[c];
	     p->more != NULL && u < p->more->start[c + 1]; u++) {
		int64_t lacks = p->more->units[u] - placing_own(w, k, p->more->resource[u]) -
				left[p->more->resource[u]];

		if (lacks > 0) {
			*limit_out = p->more->resource[u];
			*more_out = lacks;
			n++;
		}
	}
	return n;
}

/* The cheapest candidate that one limit alone keeps the job from, and what is missing of that:
 * where two do, neither alone helps. */
static void
placing_change_limit(
    struct placing_change_list *l, size_t i, const int64_t *left, size_t k, double cost)
{
	const struct placing_work_space *w = l->w;
	size_t best = PLACE_NONE, short_of = PLACE_NONE, r = PLACE_NONE;
	int64_t more = 0, lacks = 0;
	const char *unit, *name, *who;
	struct placing_change *c;
	double amount, said;

	for (size_t x = w->p.cand_start[i]; x < w->p.cand_start[i + 1]; x++)
		if (x != k && w->cost.v[x] < cost - PLACING_CENT &&
		    (best == PLACE_NONE || w->cost.v[x] < w->cost.v[best]) &&
		    placing_lacks(w, left, k, x, &r, &lacks) == 1) {
			best = x;
			short_of = r;
			more = lacks;
		}
	if (best == PLACE_NONE)
		return;
	name = placing_resource(w, short_of, &unit);
	more = placing_more_in_turn(l, i, k, short_of, more, &who);
	amount = short_of >= w->facts.n_quotas && short_of < w->facts.n_quotas + w->facts.n_budgets
		     ? (double)more / 1e6
		     : (double)more;
	c = placing_change_add(l, "limit", name);
	c->offer = placing_offer_name(w, w->offer.v[best]);
	c->to = amount;
	c->usd = w->cost.v[best];
	said = ceil(amount * 100 - 1e-4) / 100; /* a cent less would not do */
	c->text =
	    k == PLACE_NONE
		? arena_printf(w->a, "%.15g %s more of %s%s would place it on %s for %.2f USD",
		      said, unit, name, who, c->offer, c->usd)
		: arena_printf(w->a,
		      "%.15g %s more of %s%s would let it go to %s for %.2f USD, %.2f less", said,
		      unit, name, who, c->offer, c->usd, w->cost.v[k] - c->usd);
}

int64_t
placing_own(const struct placing_work_space *w, size_t k, size_t r)
{
	const struct place_problem *p = &w->p;
	int64_t own = 0;

	if (k == PLACE_NONE)
		return 0;
	for (size_t u = p->use_start[p->offer[k]]; u < p->use_start[p->offer[k] + 1]; u++)
		own += p->resource[u] == r ? p->need[k] * p->weight[u] : 0;
	for (size_t u = p->more == NULL ? 0 : p->more->start[k];
	     p->more != NULL && u < p->more->start[k + 1]; u++)
		own += p->more->resource[u] == r ? p->more->units[u] : 0;
	return own;
}

/* Do the budgets leave enough for it beside all other jobs? */
static bool
placing_pays(const struct placing_work_space *w, size_t i, size_t k,
    const struct placing_need *need, const int64_t *left)
{
	const struct placing_offer *po = &w->facts.offers[need->offer];
	const struct job *j = &w->jobs[i].job;

	for (size_t b = 0; b < w->facts.n_budgets; b++)
		if (budget_scope_hits(w->facts.budgets[b].scope, w->facts.accounts[po->account],
			j->spec.project, j->spec.user) &&
		    placing_budget_takes(&w->facts.budgets[b], po, need->machines, need->usd) >
			left[w->facts.n_quotas + b] + placing_own(w, k, w->facts.n_quotas + b))
			return false;
	return true;
}

int64_t
placing_quota_has(
    const struct placing_work_space *w, size_t i, size_t k, size_t q, const int64_t *left)
{
	return placing_later(w, i) ? w->facts.quotas[q].limit->limit
				   : left[q] + placing_own(w, k, q);
}

static bool
placing_quotas_let(const struct placing_work_space *w, size_t i, size_t k,
    const struct placing_need *need, const int64_t *left)
{
	const struct placing_facts *f = &w->facts;

	for (size_t u = f->use_start[need->offer]; u < f->use_start[need->offer + 1]; u++)
		if (f->uses[u].weight * need->machines >
		    placing_quota_has(w, i, k, f->uses[u].quota, left))
			return false;
	return true;
}

bool
placing_room(const struct placing_work_space *w, size_t i, size_t k,
    const struct placing_need *need, bool money, const int64_t *left)
{
	const struct placing_offer *po = &w->facts.offers[need->offer];
	const struct place_problem *p = &w->p;

	if (!placing_quotas_let(w, i, k, need, left))
		return false;
	/* machines of an owned commitment */
	for (size_t u = p->use_start[need->offer];
	     !placing_later(w, i) && u < p->use_start[need->offer + 1]; u++)
		if (p->limit[p->resource[u]] != PLACE_NO_LIMIT &&
		    p->weight[u] * need->machines >
			left[p->resource[u]] + placing_own(w, k, p->resource[u]))
			return false;
	return po->machines >= need->machines && (!money || placing_pays(w, i, k, need, left));
}

/* The first deadline that buys a cheaper end, or any end at all. */
static void
placing_change_deadline(
    struct placing_change_list *l, size_t i, size_t k, const int64_t *left, double cost)
{
	const struct placing_work_space *w = l->w;
	const struct placing_hint *h = &w->hints[i];
	char t[TIME_FMT_SIZE];

	for (size_t x = 0; x < h->n_late; x++) {
		const struct placing_near *n = &h->late[x];
		const struct placing_need need = { n->offer, n->machines, n->usd, n->finish };
		struct placing_change *c;

		if (!(n->usd < cost - PLACING_CENT) || !placing_room(w, i, k, &need, true, left))
			continue;
		c = placing_change_add(l, "deadline", "");
		c->offer = placing_offer_name(w, n->offer);
		c->at = n->finish;
		c->usd = n->usd;
		c->text =
		    arena_printf(w->a, "a deadline of %s or later would allow %s for %.2f USD",
			time_fmt(t, n->finish), c->offer, n->usd);
		return;
	}
}

size_t
placing_short(const struct placing_work_space *w, size_t i, size_t k,
    const struct placing_need *need, const int64_t *left, int64_t *more_out)
{
	size_t found = PLACE_NONE;

	for (size_t u = w->facts.use_start[need->offer]; u < w->facts.use_start[need->offer + 1];
	     u++) {
		const struct placing_use *x = &w->facts.uses[u];
		size_t q = x->quota;
		int64_t more = x->weight * need->machines - placing_quota_has(w, i, k, q, left);

		if (more <= 0)
			continue;
		if (found != PLACE_NONE)
			return PLACE_NONE;
		found = q;
		*more_out = more;
	}
	return placing_pays(w, i, k, need, left) ? found : PLACE_NONE;
}

/* The quota of which the least more lets the job have what would be cheaper. */
static void
placing_change_quota(
    struct placing_change_list *l, size_t i, size_t k, const int64_t *left, double cost)
{
	const struct placing_work_space *w = l->w;
	const struct placing_hint *h = &w->hints[i];
	const struct placing_need *best = NULL;
	const struct placing_limit *limit;
	size_t quota = PLACE_NONE;
	struct placing_change *c;
	const char *who;
	int64_t least = 0;

	for (size_t x = 0; x < h->over.n; x++) {
		const struct placing_need *n = &h->over.v[x];
		int64_t more;
		size_t q;

		if (!(n->usd < cost - PLACING_CENT) ||
		    (q = placing_short(w, i, k, n, left, &more)) == PLACE_NONE)
			continue;
		if (best != NULL && (more > least || (more == least && n->usd >= best->usd)))
			continue;
		best = n;
		quota = q;
		least = more;
	}
	if (best == NULL)
		return;
	limit = w->facts.quotas[quota].limit;
	least = placing_more_in_turn(l, i, k, quota, least, &who);
	c = placing_change_add(l, refuse_name(REFUSE_NO_QUOTA), limit->name);
	c->offer = placing_offer_name(w, best->offer);
	c->to = (double)least;
	c->usd = best->usd;
	c->text = arena_printf(w->a, "%lld %s more of %s%s would allow %s for %.2f USD",
	    (long long)least, limit->unit, limit->name, who, c->offer, c->usd);
}

/* What would cost least of what more machines of an owned commitment alone would let it have. */
static void
placing_change_owned(
    struct placing_change_list *l, size_t i, size_t k, const int64_t *left, double cost)
{
	const struct placing_work_space *w = l->w;
	const struct placing_hint *h = &w->hints[i];
	const struct placing_near *best = NULL;
	struct placing_change *c;
	const char *who;
	int64_t more;
	size_t pool;

	for (size_t x = 0; x < h->away.n; x++) {
		const struct placing_near *n = &h->away.v[x].near;
		struct placing_need need = { n->offer, n->machines, n->usd, n->finish };

		if (h->away.v[x].rule == REFUSE_NO_CAPACITY && n->usd < cost - PLACING_CENT &&
		    (best == NULL || n->usd < best->usd) && placing_pays(w, i, k, &need, left) &&
		    placing_quotas_let(w, i, k, &need, left))
			best = n;
	}
	if (best == NULL || (pool = placing_pool(w, best->offer)) == PLACE_NONE)
		return;
	more = placing_more_in_turn(
	    l, i, k, pool, best->machines - left[pool] - placing_own(w, k, pool), &who);
	c = placing_change_add(l, "limit", "owned commitment");
	c->offer = placing_label(&w->facts.offers[best->offer], best->machines, w->a);
	c->to = (double)more;
	c->usd = best->usd;
	c->text =
	    arena_printf(w->a, "%lld machine%s more of owned commitment%s would %s %s for %.2f USD",
		(long long)more, more == 1 ? "" : "s", who,
		k == PLACE_NONE ? "place it on" : "let it go to", c->offer, c->usd);
}

/* When it can be asked again; then the deadline must still be kept. 0: at any time. */
static int64_t
placing_change_at(
    const struct placing_work_space *w, enum refuse_code code, const struct placing_near *n)
{
	const struct cost_facts *f = &w->facts.offers[n->offer].facts;

	if (code == REFUSE_BLOCKED_UNTIL || code == REFUSE_PROBE_FAILED)
		return f->blocked_until;
	return code == REFUSE_UNAVAILABLE ? f->none_until : 0;
}

/* The money that would pay for it: for all of its work, an hour, or both. */
static void
placing_change_money(const struct placing_work_space *w, size_t i, const struct placing_near *n,
    struct placing_change *c)
{
	const struct job *j = &w->jobs[i].job;
	const struct placing_offer *po = &w->facts.offers[n->offer];
	double all = n->usd + n->idle_usd, hour = n->machines * placing_hour(po),
	       left = placing_budget_left(&w->facts, j, po->account);
	bool over = placing_over_hour(w, j, n->offer, n->machines, placing_later(w, i)),
	     lacks = !over || n->idle_usd > 0 || all > left ||
		     (usd_known(j->spec.max_cost) &&
			 usd_to_double(j->cost) + all > usd_to_double(j->spec.max_cost));
	char usd[USD_FMT_SIZE], rate[USD_FMT_SIZE];

	const char *caps = placing_caps(w, i, n, &c->subject);

	c->to = lacks ? all : hour;
	c->text = arena_printf(w->a, "%s%s%s to spend would pay for %s%s",
	    lacks ? arena_printf(w->a, "%s USD", usd_need(usd, all)) : "",
	    lacks && over ? " and " : "",
	    over ? arena_printf(w->a, "%s USD an hour", usd_need(rate, hour)) : "", c->offer,
	    caps[0] == '\0' ? "" : arena_printf(w->a, " (%s)", caps));
}

/* The cheapest under cost that one rule alone keeps away and that has room; NULL: none. */
static const struct placing_near *
placing_away(const struct placing_work_space *w, size_t i, size_t k, enum refuse_code code,
    const int64_t *left, double cost)
{
	const struct placing_hint *h = &w->hints[i];
	const struct placing_near *best = NULL;

	for (size_t x = 0; x < h->away.n; x++) {
		const struct placing_near *n = &h->away.v[x].near;
		const struct placing_need need = { n->offer, n->machines, n->usd, n->finish };

		if (h->away.v[x].rule == code && n->usd < cost - PLACING_CENT &&
		    (best == NULL || n->usd < best->usd) &&
		    placing_room(w, i, k, &need, code != REFUSE_OVER_BUDGET, left))
			best = n;
	}
	return best;
}

/* What one more rule keeps away that would be cheaper. */
static void
placing_change_rule(struct placing_change_list *l, size_t i, size_t k, enum refuse_code code,
    const int64_t *left, double cost)
{
	const struct placing_work_space *w = l->w;
	const struct placing_near *n = placing_away(w, i, k, code, left, cost);
	int64_t by = w->jobs[i].job.spec.deadline, at;
	struct placing_change *c;
	char t[TIME_FMT_SIZE], usd[USD_FMT_SIZE];

	if (n == NULL)
		return;
	at = placing_change_at(w, code, n);
	if (by > 0 && at > w->o->now && placing_late_end(w, i, n->finish, at) > by)
		return;
	c = placing_change_add(l, refuse_name(code), "");
	c->at = at;
	c->offer = placing_offer_name(w, n->offer);
	c->usd = n->usd;
	if (code == REFUSE_BLOCKED_UNTIL) {
		c->text = arena_printf(w->a, "the hold on %s ends %s: it would cost %.2f USD",
		    c->offer, time_fmt(t, c->at), n->usd);
	} else if (code == REFUSE_OVER_BUDGET && w->hints[i].safety_usd > n->usd &&
		   w->facts.offers[n->offer].offer->purchase == PURCHASE_SPOT) {
		c->to = w->hints[i].safety_usd;
		c->text = arena_printf(w->a,
		    "%s USD to spend, as much as on demand may cost after a launch in vain, would "
		    "allow %s",
		    usd_need(usd, c->to), c->offer);
	} else if (code == REFUSE_OVER_BUDGET) {
		placing_change_money(w, i, n, c);
	} else if (code == REFUSE_UNAVAILABLE) {
		c->text =
		    arena_printf(w->a, "%s for %.2f USD, when its provider has some again (%s)",
			c->offer, n->usd, placing_none_text(&w->facts.offers[n->offer], w->a));
	} else if (code == REFUSE_WAIT_SPOT && w->spot[i].slack_s > 0) {
		c->at = w->o->now + (int64_t)w->spot[i].slack_s;
		c->text = arena_printf(w->a,
		    "%s from %s on at the latest, for %.2f USD: until then waiting for spot is "
		    "cheaper and safe",
		    c->offer, time_fmt(t, c->at), n->usd);
	} else if (code == REFUSE_PROBE_FAILED) {
		c->text = arena_printf(w->a,
		    "the hold on %s after a rejected machine ends %s: it would cost %.2f USD",
		    c->offer, time_fmt(t, c->at), n->usd);
	} else {
		c->text = arena_printf(w->a, "%s would cost %.2f USD, but is left out: %s",
		    c->offer, n->usd, refuse_text(code));
	}
}

/* Whether a later rule than those of sizes refused any offer: what passes them meets it. */
static bool
placing_more_rules(const size_t *refused)
{
	for (size_t c = REFUSE_MEMORY + 1; c < REFUSE_COUNT; c++)
		if (refused[c] > 0)
			return true;
	return false;
}

void
placing_hint_memory(
    struct placing_hint *h, const struct placing_offer *po, const struct job_variant *v)
{
	double memory = placing_memory(po);

	if (memory < v->memory_gib && memory > h->most_memory) {
		h->most_memory = memory;
		h->need_memory = v->memory_gib;
	} else if (memory >= v->memory_gib && !(h->over_memory > 0 && h->over_memory <= memory)) {
		h->over_memory = memory;
		h->cap_memory = v->memory_max_gib;
	}
}

const char *
placing_memory_text(const struct placing_work_space *w, const struct placing_hint *h)
{
	if (h->most_memory > 0)
		return arena_printf(w->a, "needs %.*g GiB, the most is %.*g",
		    str_digits_apart(h->need_memory, h->most_memory), h->need_memory,
		    str_digits_apart(h->need_memory, h->most_memory), h->most_memory);
	if (h->over_memory > 0)
		return arena_printf(w->a, "allows %.*g GiB, the least is %.*g",
		    str_digits_apart(h->cap_memory, h->over_memory), h->cap_memory,
		    str_digits_apart(h->cap_memory, h->over_memory), h->over_memory);
	return "nobody says how much there is; the column"
	       " accelerator_memory_gib of a price list does";
}

static void
placing_change_memory(struct placing_change_list *l, const struct placing_hint *h)
{
	struct placing_change *c;

	if (!(h->most_memory > 0 || h->over_memory > 0))
		return;
	c = placing_change_add(l, "memory", "");
	c->from = h->most_memory > 0 ? h->need_memory : h->cap_memory;
	c->to = h->most_memory > 0 ? h->most_memory : h->over_memory;
	c->text = arena_printf(l->w->a,
	    h->most_memory > 0
		? "memory of at most %.*g GiB per accelerator (it asks for %.*g) would pass that "
		  "rule"
		: "memory of up to %.*g GiB per accelerator (it allows %.*g) would pass that rule",
	    str_digits_apart(c->to, c->from), c->to, str_digits_apart(c->to, c->from), c->from);
}

/* For a job that no offer suits, nor would one with one change: sizes that end a search first. */
static void
placing_change_none(struct placing_change_list *l, size_t i)
{
	const struct placing_hint *h = &l->w->hints[i];
	const size_t *r = l->w->jobs[i].refused;
	struct placing_change *c;

	if (placing_more_rules(r))
		return;
	if (r[REFUSE_MEMORY] > 0)
		placing_change_memory(l, h);
	if (r[REFUSE_GANG] > 0) {
		c = placing_change_add(l, "gang", "");
		c->from = h->need_count;
		c->to = h->most_count;
		c->text = arena_printf(l->w->a,
		    "%d accelerators on one machine (it asks for %d), over several nodes, would "
		    "pass that rule",
		    h->most_count, h->need_count);
	}
}

void
placing_changes(struct placing_work_space *w, size_t i, const struct place_plan *plan,
    const int64_t *left, size_t runner_up)
{
	static const enum refuse_code rules[] = { REFUSE_OVER_BUDGET, REFUSE_PROBE_FAILED,
		REFUSE_UNAVAILABLE, REFUSE_BLOCKED_UNTIL, REFUSE_SPOT_LATE, REFUSE_SPOT_VAIN,
		REFUSE_WAIT_SPOT };
	struct placing_change_list l = { .w = w, .plan = plan, .left = left };
	size_t k = plan->chosen[i];
	double cost = k == PLACE_NONE ? INFINITY : w->cost.v[k];

	if (k != PLACE_NONE && runner_up != PLACE_NONE)
		placing_change_price(&l, k, runner_up);
	placing_change_limit(&l, i, left, k, cost);
	placing_change_deadline(&l, i, k, left, cost);
	for (size_t x = 0; x < sizeof(rules) / sizeof(rules[0]); x++)
		placing_change_rule(&l, i, k, rules[x], left, cost);
	placing_change_quota(&l, i, k, left, cost);
	placing_change_owned(&l, i, k, left, cost);
	placing_lifts(&l, i, k, left, cost - PLACING_CENT);
	if (w->p.cand_start[i] == w->p.cand_start[i + 1] && l.v.n == 0)
		placing_change_none(&l, i);
	w->jobs[i].changes = l.v.v;
	w->jobs[i].n_changes = l.v.n;
}
