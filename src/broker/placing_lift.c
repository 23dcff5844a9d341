/* Rules before the cost that alone keep a better offer from a job: which one change would admit it,
 * and what the job would cost there. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "model/block.h"
#include "plan/latency.h"
#include "util/arena.h"
#include "util/duration.h"
#include "util/str.h"
#include "util/time.h"

#define LIFT_TOLD 3        /* the best so many are told */
#define LIFT_UNKNOWN 1e300 /* GiB that a job is off an offer of unknown memory */
#define LIFT_EVER (INT64_C(1000) * 366 * 86400)

static const enum refuse_code lift_rules[] = { REFUSE_MEMORY, REFUSE_FABRIC, REFUSE_RESIDENCY,
	REFUSE_LATENCY, REFUSE_PROVIDER, REFUSE_BLOCKED, REFUSE_PURCHASE, REFUSE_NO_ACCOUNT,
	REFUSE_PRICE_STALE, REFUSE_MAX_PRICE };

#define LIFT_RULES (sizeof(lift_rules) / sizeof(lift_rules[0]))

/* The job and the options, with one rule less or one that is wider. */
struct lift {
	enum refuse_code rule;
	struct job job;
	struct cost_job cost;
	struct placing_options o;
	const char *rule_text; /* of a block list */
	bool own;              /* the job's */
	double from, to;       /* of a number in the job */
};

struct lift_best {
	struct placing_near near;
	double order; /* the least goes first */
	size_t variant;
};

static void
lift_begin(const struct placing_work_space *w, size_t i, enum refuse_code rule, struct lift *out)
{
	*out = (struct lift){ .rule = rule,
		.job = w->jobs[i].job,
		.cost = w->costs[i],
		.o = *w->o,
		.from = NAN,
		.to = NAN };
	out->job.spec.variants = arena_memdup(w->a, out->job.spec.variants,
	    out->job.spec.n_variants * sizeof(*out->job.spec.variants));
	out->cost.job = &out->job;
}

/* Without the rule altogether: what any change of it could admit. */
static void
lift_all(struct lift *l)
{
	struct job_spec *s = &l->job.spec;

	if (l->rule == REFUSE_MEMORY)
		for (size_t v = 0; v < s->n_variants; v++)
			s->variants[v].memory_gib = s->variants[v].memory_max_gib = 0;
	else if (l->rule == REFUSE_FABRIC)
		s->link_gb_s = NAN;
	else if (l->rule == REFUSE_RESIDENCY)
		s->n_regions = 0;
	else if (l->rule == REFUSE_LATENCY)
		s->latency_to = "";
	else if (l->rule == REFUSE_PROVIDER)
		s->n_providers = 0;
	else if (l->rule == REFUSE_BLOCKED)
		s->n_block = l->o.n_block = 0;
	else if (l->rule == REFUSE_PURCHASE)
		s->purchase_ok[PURCHASE_SPOT] = s->purchase_ok[PURCHASE_ON_DEMAND] = true;
	else if (l->rule == REFUSE_NO_ACCOUNT)
		l->o.need_account = false;
	else if (l->rule == REFUSE_PRICE_STALE)
		l->o.ages.list_s = l->o.ages.spot_s = LIFT_EVER;
	else if (l->rule == REFUSE_MAX_PRICE)
		s->max_price = USD_UNKNOWN;
}

static const char **
lift_add(struct arena *a, const char *const *v, size_t n, const char *more)
{
	const char **out = arena_array(a, n + 1, sizeof(*out));

	for (size_t i = 0; i < n; i++)
		out[i] = v[i];
	out[n] = more;
	return out;
}

static const char *const *
lift_without(struct arena *a, const char *const *v, size_t n, size_t at)
{
	const char **out = arena_array(a, n, sizeof(*out));

	for (size_t i = 0, k = 0; i < n; i++)
		if (i != at)
			out[k++] = v[i];
	return out;
}

/* How many rules of both block lists hit the offer; those that do are taken out. */
static size_t
lift_unblock(const struct placing_work_space *w, const struct offer *o, struct lift *l)
{
	struct job_spec *s = &l->job.spec;
	size_t n = 0;

	for (size_t b = 0; b < w->o->n_block; b++)
		if (block_rules_hit(&w->o->block[b], 1, o) != NULL && n++ == 0) {
			l->rule_text = w->o->block[b];
			l->o.block = lift_without(w->a, w->o->block, w->o->n_block, b);
			l->o.n_block = w->o->n_block - 1;
		}
	for (size_t b = 0; b < s->n_block; b++)
		if (block_rules_hit(&s->block[b], 1, o) != NULL && n++ == 0) {
			l->rule_text = s->block[b];
			l->own = true;
			s->block = lift_without(w->a, s->block, s->n_block, b);
			s->n_block--;
			break;
		}
	return n;
}

/* How many rules of both block lists hit the offer. */
static size_t
lift_blocks(const struct placing_work_space *w, size_t i, const struct offer *o)
{
	const struct job_spec *s = &w->jobs[i].job.spec;
	size_t n = 0;

	for (size_t b = 0; b < w->o->n_block; b++)
		n += block_rules_hit(&w->o->block[b], 1, o) != NULL;
	for (size_t b = 0; b < s->n_block; b++)
		n += block_rules_hit(&s->block[b], 1, o) != NULL;
	return n;
}

double
placing_memory(const struct placing_offer *po)
{
	return isnan(po->offer->accelerator_memory_gib) && po->facts.accel != NULL
		   ? po->facts.accel->memory_gib
		   : po->offer->accelerator_memory_gib;
}

static double
lift_latency_ms(const struct placing_work_space *w, const struct job_spec *s, const struct offer *o)
{
	double ms = latency_ms(arena_printf(w->a, "%s/%s", o->provider, o->region), s->latency_to);

	return ceil(ms * 10) / 10;
}

/* The memory that the variant may ask for to fit there; where none is known, none. */
static void
lift_to_memory(struct lift *l, const struct placing_offer *po, size_t variant)
{
	struct job_variant *v = &l->job.spec.variants[variant];

	l->to = placing_memory(po);
	if (isnan(l->to)) {
		l->from = v->memory_gib > 0 ? v->memory_gib : v->memory_max_gib;
		v->memory_gib = v->memory_max_gib = 0;
	} else if (l->to < v->memory_gib) {
		l->from = v->memory_gib;
		v->memory_gib = l->to;
	} else {
		l->from = v->memory_max_gib;
		v->memory_max_gib = l->to;
	}
}

/* The least that admits the offer, as a change that a user can make. */
static void
lift_to(
    const struct placing_work_space *w, struct lift *l, size_t offer, const struct cost_estimate *e)
{
	const struct placing_offer *po = &w->facts.offers[offer];
	const struct offer *o = po->offer;
	struct job_spec *s = &l->job.spec;

	if (l->rule == REFUSE_MEMORY) {
		lift_to_memory(l, po, e->variant);
	} else if (l->rule == REFUSE_FABRIC) {
		l->from = s->link_gb_s;
		s->link_gb_s = l->to = po->facts.accel == NULL ? NAN : po->facts.accel->link_gb_s;
	} else if (l->rule == REFUSE_RESIDENCY && o->region[0] == '\0') {
		s->n_regions = 0;
	} else if (l->rule == REFUSE_RESIDENCY) {
		s->regions = lift_add(w->a, s->regions, s->n_regions++, o->region);
	} else if (l->rule == REFUSE_LATENCY) {
		l->from = s->latency_max_ms;
		s->latency_max_ms = l->to = lift_latency_ms(w, s, o);
		if (isnan(l->to))
			s->latency_to = "";
	} else if (l->rule == REFUSE_PROVIDER) {
		s->providers = lift_add(w->a, s->providers, s->n_providers++, o->provider);
	} else if (l->rule == REFUSE_BLOCKED) {
		lift_unblock(w, o, l);
	} else if (l->rule == REFUSE_PURCHASE) {
		s->purchase_ok[o->purchase] = true;
	} else if (l->rule == REFUSE_NO_ACCOUNT) {
		l->o.need_account = false;
	} else if (l->rule == REFUSE_PRICE_STALE) {
		int64_t unit = o->purchase == PURCHASE_SPOT ? 3600 : 86400,
			need = (w->o->now - o->as_of + unit - 1) / unit * unit;

		*(o->purchase == PURCHASE_SPOT ? &l->o.ages.spot_s : &l->o.ages.list_s) = need;
		l->to = (double)need;
	} else if (l->rule == REFUSE_MAX_PRICE) {
		l->from = usd_to_double(s->max_price);
		l->to = cost_hour(o, &po->facts, w->o->now, e);
		s->max_price.v = (int64_t)ceil(l->to * 1e6 - 1e-3);
	}
}

static void
lift_estimate(const struct placing_work_space *w, size_t i, const struct lift *l, size_t offer,
    struct cost_estimate *e)
{
	const struct placing_offer *po = &w->facts.offers[offer];
	double hour = placing_hour_left(&w->facts, l->cost.job, po->account, placing_later(w, i));
	const struct cost_limits lim = { .now = w->o->now,
		.from = w->early[i],
		.tick_s = w->o->tick_s,
		.ages = l->o.ages,
		.need_account = l->o.need_account,
		.block = l->o.block,
		.n_block = l->o.n_block,
		.spot_leaves = w->spot[i].applies,
		.budget_usd = placing_budget_left(&w->facts, l->cost.job, po->account),
		.hour_capped = !isnan(hour),
		.hour_usd = hour };

	cost_of(&l->cost, po->offer, &po->facts, &lim, e);
	placing_after_add_one(w, i, offer, e);
}

/* Of a job that has no place: how far the number in it would have to go; of others, and where the
 * rule has no number, what it costs. */
static double
lift_order(const struct placing_work_space *w, size_t i, const struct lift *l, size_t offer,
    bool placed, const struct cost_estimate *e)
{
	const struct placing_offer *po = &w->facts.offers[offer];

	if (placed)
		return e->total_usd;
	if (l->rule == REFUSE_MAX_PRICE)
		return cost_hour(po->offer, &po->facts, w->early[i], e);
	if (l->rule == REFUSE_MEMORY && isnan(placing_memory(po)))
		return LIFT_UNKNOWN;
	if (l->rule == REFUSE_MEMORY)
		return fabs(
		    placing_memory(po) - w->jobs[i].job.spec.variants[e->variant].memory_gib);
	return e->total_usd;
}

/* Under a deadline the policy has a say in whether the job goes there. */
static bool
lift_policy(struct placing_work_space *w, size_t i, const struct lift *l, size_t offer)
{
	const struct placing_options *o = w->o;
	const struct placing_hint hint = w->hints[i];
	const struct placing_spot spot = w->spot[i];
	const struct cost_job cost = w->costs[i];
	const struct job job = w->jobs[i].job;
	bool at_risk = w->jobs[i].at_risk, fits;
	struct budget *budgets = w->facts.budgets;
	struct cost_estimate *e = arena_array(w->a, w->facts.n_offers, sizeof(*e));

	if (w->jobs[i].overdue > 0 || !placing_spot_job(&l->job, placing_due(w, i)))
		return true;
	w->o = &l->o;
	w->jobs[i].job = l->job;
	w->costs[i].job = &w->jobs[i].job;
	w->facts.budgets =
	    arena_memdup(w->a, budgets, w->facts.n_budgets * sizeof(*w->facts.budgets));
	placing_apply_spot(w, i, e);
	fits = e[offer].refuse == REFUSE_NOT;
	w->o = o;
	w->jobs[i].job = job;
	w->costs[i] = cost;
	w->hints[i] = hint;
	w->spot[i] = spot;
	w->jobs[i].at_risk = at_risk;
	w->facts.budgets = budgets;
	return fits;
}

/* The best offer that only this rule keeps away. */
static void
lift_search(struct placing_work_space *w, size_t i, enum refuse_code rule, size_t k,
    const int64_t *left, double under, struct lift_best *best)
{
	const unsigned char *refusal = w->refusal + i * w->facts.n_offers;
	struct lift l;

	*best = (struct lift_best){ .order = INFINITY };
	if (w->jobs[i].refused[rule] == 0)
		return;
	lift_begin(w, i, rule, &l);
	lift_all(&l);
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		struct placing_need need;
		struct cost_estimate e;
		double order;

		if (refusal[j] != rule ||
		    (rule == REFUSE_BLOCKED && lift_blocks(w, i, w->facts.offers[j].offer) != 1))
			continue;
		lift_estimate(w, i, &l, j, &e);
		if (e.refuse != REFUSE_NOT || !(e.total_usd < under))
			continue;
		need = (struct placing_need){ j, e.machines,
			placing_reserve(w, i, w->facts.offers[j].offer, &e), e.finish };
		order = lift_order(w, i, &l, j, k != PLACE_NONE, &e);
		if (order > best->order ||
		    (order == best->order && e.total_usd >= best->near.usd) ||
		    !placing_room(w, i, k, &need, true, left) ||
		    !placing_hold_lets(w, i, k, &need, left))
			continue;
		best->order = order;
		best->variant = e.variant;
		best->near = (struct placing_near){ j, e.machines, e.total_usd, e.finish, true, 0 };
	}
}

/* "with us-east-1 among its regions": what is to be changed. */
static const char *
lift_what(const struct placing_work_space *w, const struct lift *l, const struct placing_near *n,
    size_t variant)
{
	const struct offer *o = w->facts.offers[n->offer].offer;
	const struct job_spec *s = &l->job.spec;
	const char *name = s->n_variants > 1 && s->variants[variant].name[0] != '\0'
			       ? arena_printf(w->a, " in variant %s", s->variants[variant].name)
			       : "";
	char t[TIME_FMT_SIZE], age[DURATION_FMT_SIZE];

	if (l->rule == REFUSE_MEMORY && isnan(l->to))
		return arena_printf(w->a,
		    "without its memory of %.10g GiB per accelerator, as none is known there,%s",
		    l->from, name);
	if (l->rule == REFUSE_MEMORY)
		return arena_printf(w->a,
		    l->to < l->from
			? "with memory of at most %.*g GiB per accelerator (it asks for %.*g)%s"
			: "with memory of up to %.*g GiB per accelerator (it allows %.*g)%s",
		    str_digits_apart(l->to, l->from), l->to, str_digits_apart(l->from, l->to),
		    l->from, name);
	if (l->rule == REFUSE_FABRIC && isnan(l->to))
		return arena_printf(
		    w->a, "without its link of %.10gGB, as none is known there,", l->from);
	if (l->rule == REFUSE_FABRIC)
		return arena_printf(
		    w->a, "with a link of at most %.10gGB (it asks for %.10gGB)", l->to, l->from);
	if (l->rule == REFUSE_RESIDENCY)
		return o->region[0] == '\0'
			   ? "without its regions"
			   : arena_printf(w->a, "with %s among its regions", o->region);
	if (l->rule == REFUSE_LATENCY && isnan(l->to))
		return "without its latency, as nobody knows how far it is there,";
	if (l->rule == REFUSE_LATENCY)
		return arena_printf(w->a, "with a latency of up to %.10gms to %s (it allows %.10g)",
		    l->to, s->latency_to, l->from);
	if (l->rule == REFUSE_PROVIDER)
		return arena_printf(w->a, "with %s among its providers", o->provider);
	if (l->rule == REFUSE_BLOCKED)
		return arena_printf(w->a, "without '%s' in the block list of %s", l->rule_text,
		    l->own ? "the job" : "berth.yaml");
	if (l->rule == REFUSE_PURCHASE)
		return arena_printf(
		    w->a, "with %s among its purchases", purchase_name(o->purchase));
	if (l->rule == REFUSE_NO_ACCOUNT)
		return arena_printf(w->a, "with an account at %s", o->provider);
	if (l->rule == REFUSE_PRICE_STALE)
		return arena_printf(w->a,
		    "with its price of %s confirmed, or prices of up to %s believed",
		    time_fmt(t, o->as_of), duration_fmt(age, (int64_t)l->to));
	return arena_printf(w->a, "a max_price of %.10g USD an hour", l->to);
}

/* What the change names: a region, a provider, a rule of a block list; "". */
static const char *
lift_subject(const struct placing_work_space *w, const struct lift *l, size_t offer)
{
	const struct offer *o = w->facts.offers[offer].offer;

	if (l->rule == REFUSE_RESIDENCY)
		return o->region;
	if (l->rule == REFUSE_PROVIDER || l->rule == REFUSE_NO_ACCOUNT)
		return o->provider;
	if (l->rule == REFUSE_BLOCKED)
		return l->rule_text;
	if (l->rule == REFUSE_PURCHASE)
		return purchase_name(o->purchase);
	return "";
}

static void
lift_tell(struct placing_change_list *list, size_t k, enum refuse_code rule,
    const struct lift_best *b, const struct lift *l)
{
	const struct placing_work_space *w = list->w;
	struct placing_change *c =
	    placing_change_add(list, refuse_name(rule), lift_subject(w, l, b->near.offer));
	const char *what = lift_what(w, l, &b->near, b->variant);

	c->offer = placing_label(&w->facts.offers[b->near.offer], b->near.machines, w->a);
	c->from = l->from;
	c->to = l->to;
	c->usd = b->near.usd;
	c->text = arena_printf(w->a, "%s %s %s for %.2f USD%s", what,
	    rule == REFUSE_MAX_PRICE ? "would allow" : "it could go to", c->offer, c->usd,
	    k == PLACE_NONE ? "" : arena_printf(w->a, ", %.2f less", w->cost.v[k] - c->usd));
}

void
placing_lifts(
    struct placing_change_list *list, size_t i, size_t k, const int64_t *left, double under)
{
	struct placing_work_space *w = list->w;
	struct lift_best best[LIFT_RULES];
	struct lift lift[LIFT_RULES];

	for (size_t r = 0; r < LIFT_RULES; r++) {
		struct cost_estimate e;

		lift_search(w, i, lift_rules[r], k, left, under, &best[r]);
		if (!best[r].near.is)
			continue;
		lift_begin(w, i, lift_rules[r], &lift[r]);
		lift_all(&lift[r]);
		lift_estimate(w, i, &lift[r], best[r].near.offer, &e);
		lift_begin(w, i, lift_rules[r], &lift[r]);
		lift_to(w, &lift[r], best[r].near.offer, &e);
		lift[r].cost.job = &lift[r].job;
		best[r].near.is = lift_policy(w, i, &lift[r], best[r].near.offer);
		if (best[r].near.is)
			w->hints[i].least[lift_rules[r]] = best[r].near;
	}
	for (size_t told = 0; told < LIFT_TOLD; told++) {
		size_t first = LIFT_RULES;

		for (size_t r = 0; r < LIFT_RULES; r++)
			if (best[r].near.is &&
			    (first == LIFT_RULES || best[r].near.usd < best[first].near.usd))
				first = r;
		if (first == LIFT_RULES)
			return;
		lift_tell(list, k, lift_rules[first], &best[first], &lift[first]);
		best[first].near.is = false;
	}
}
