#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_facts.h"
#include "broker/quotas.h"
#include "model/accel.h"
#include "model/block.h"
#include "model/commitment.h"
#include "model/machine.h"
#include "store/machine_rows.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

/* What machines did: of a kind, how long they took to start; of a spot pool, hours up and times
 * taken back. */
struct placing_learned {
	double starts, start_s, hours, ends;
	VEC(double)
	took; /* s, start-ups; of one that is not over, or never came to its end: so far */
};

/* Rows of the store, read once. */
struct placing_rows {
	struct offer *offers;
	size_t n_offers;
	struct block *blocks;
	size_t n_blocks;
	struct capacity *capacities;
	size_t n_capacities;
	struct commitment *commitments;
	size_t n_commitments;
	struct instance *instances;
	size_t n_instances;
	const struct intent *launches;
	size_t n_launches;
	struct instance *lives; /* [n_lives] of the last 30 days, however bought */
	size_t n_lives;
	struct offer_gap *gaps;
	size_t n_gaps;
	struct quota_row *quotas; /* that providers told */
	size_t n_quotas;
	struct strmap capacity;          /* key text -> index */
	struct strmap start, spot;       /* kind of machine, spot pool -> index into learned */
	struct placing_learned *learned; /* [2 n_lives] */
	size_t n_learned;
};

#define PLACING_PRIOR_STARTS 2.0 /* that the usual start counts for beside those seen */
#define PLACING_PRIOR_ENDS 2.0   /* likewise of the rate of a spot pool */
#define PLACING_START_LATE_S                                                                       \
	600.0 /* start-ups take 3 to 15 min on GPU clouds: until there are 19 of a kind, at least  \
		 so long */
#define PLACING_START_ODDS 20

static enum berth_code
placing_rows_load(struct store *s, int64_t now, struct arena *a, struct placing_rows *r,
    struct placing_facts *f, struct berth_err *err)
{
	enum berth_code rc = store_offer_list(s, NULL, a, &r->offers, &r->n_offers, err);

	if (rc == BERTH_OK)
		rc = store_block_active(s, now, a, &r->blocks, &r->n_blocks, err);
	if (rc == BERTH_OK)
		rc = store_capacity_list(s, now, a, &r->capacities, &r->n_capacities, err);
	if (rc == BERTH_OK)
		rc = store_commitment_list(s, now, a, &r->commitments, &r->n_commitments, err);
	if (rc == BERTH_OK)
		rc = store_instance_list(s, INSTANCE_ALIVE, a, &r->instances, &r->n_instances, err);
	if (rc == BERTH_OK)
		rc = store_instance_lives(s, now - PLACING_LIVES_S, a, &r->lives, &r->n_lives, err);
	if (rc == BERTH_OK)
		rc = store_offer_gaps(s, now - PLACING_LIVES_S, a, &r->gaps, &r->n_gaps, err);
	if (rc == BERTH_OK)
		rc = store_quota_list(s, true, a, &r->quotas, &r->n_quotas, err);
	if (rc == BERTH_OK)
		rc = store_quota_readings(s, a, &f->readings, &f->n_readings, err);
	if (rc == BERTH_OK)
		rc = store_budget_list(s, now, a, &f->budgets, &f->n_budgets, err);
	return rc;
}

static const char *
placing_pool_key(
    struct arena *a, const char *provider, const char *region, const char *zone, const char *type)
{
	return arena_printf(a, "%s\t%s\t%s\t%s", provider, region, zone, type);
}

static struct placing_learned *
placing_learn_at(struct arena *a, struct placing_rows *r, struct strmap *map, const char *key)
{
	int added;
	size_t at = *strmap_add(a, map, key, r->n_learned, &added);

	r->n_learned += added != 0;
	return &r->learned[at];
}

/* A mean is for costs; a deadline wants what is rarely passed, so that machines which never came up
 * count too. */
static void
placing_learn_start(struct arena *a, struct placing_rows *r, const struct instance *in, int64_t now)
{
	const char *key = placing_pool_key(a, in->offer.provider, "", "", in->offer.instance_type);
	int64_t took = (in->ready > 0 ? in->ready : in->gone > 0 ? in->gone : now) - in->created;
	struct placing_learned *l;

	if (took <= 0 || (in->ready == 0 && (double)took <= PLACING_START_LATE_S))
		return;
	l = placing_learn_at(a, r, &r->start, key);
	VEC_PUSH(a, &l->took, (double)took);
	if (in->ready > 0) {
		l->starts++;
		l->start_s += (double)took;
	}
}

static int
placing_cmp_falling(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* Of n start-ups the k-th longest is passed by the next in k cases of n + 1. */
static double
placing_start_late(const struct placing_learned *l)
{
	size_t k = l == NULL ? 0 : (l->took.n + 1) / PLACING_START_ODDS;

	if (l == NULL || l->took.n == 0)
		return PLACING_START_LATE_S;
	return k > 0 ? l->took.v[k - 1] : fmax(PLACING_START_LATE_S, l->took.v[0]);
}

/* Start-ups of a kind of machine are the provider's; how long spot lasts is the zone's. */
static void
placing_learn(struct arena *a, struct placing_rows *r, int64_t now, struct placing_facts *f)
{
	r->learned = arena_array(a, 2 * r->n_lives, sizeof(*r->learned));
	f->lives = arena_array(a, r->n_lives, sizeof(*f->lives));
	f->on_demand = arena_array(a, r->n_lives, sizeof(*f->on_demand));
	for (size_t i = 0; i < r->n_lives; i++) {
		const struct instance *in = &r->lives[i];
		const struct offer *o = &in->offer;
		struct placing_learned *l;

		placing_learn_start(a, r, in, now);
		if (o->purchase == PURCHASE_ON_DEMAND)
			f->on_demand[f->n_on_demand++] = *in;
		if (o->purchase != PURCHASE_SPOT)
			continue;
		f->lives[f->n_lives++] = *in;
		if (in->ready == 0)
			continue;
		l = placing_learn_at(a, r, &r->spot,
		    placing_pool_key(a, o->provider, o->region, o->zone, o->instance_type));
		l->hours += fmax(0, (double)((in->gone > 0 ? in->gone : now) - in->ready)) / 3600;
		l->ends += str_eq(in->end_reason, "preempted");
	}
	for (size_t i = 0; i < r->n_learned; i++)
		if (r->learned[i].took.n > 1)
			qsort(r->learned[i].took.v, r->learned[i].took.n, sizeof(double),
			    placing_cmp_falling);
}

/* (ends + prior) / (hours + prior / rate): the rate as published while nothing was seen, what was
 * seen after enough of it. */
static void
placing_learned_of(const struct placing_rows *r, struct arena *a, struct placing_offer *po)
{
	const struct offer *o = po->offer;
	struct cost_facts *f = &po->facts;
	const size_t *at =
	    strmap_get(&r->start, placing_pool_key(a, o->provider, "", "", o->instance_type));

	po->start_late_s = placing_start_late(at == NULL ? NULL : &r->learned[*at]);
	if (at != NULL)
		f->start_s = (PLACING_PRIOR_STARTS * COST_START_S + r->learned[*at].start_s) /
			     (PLACING_PRIOR_STARTS + r->learned[*at].starts);
	if (o->purchase != PURCHASE_SPOT)
		return;
	at = strmap_get(
	    &r->spot, placing_pool_key(a, o->provider, o->region, o->zone, o->instance_type));
	if (at != NULL) {
		double rate = isnan(o->interruption_rate) ? COST_HAZARD_DEFAULT
							  : fmax(1e-3, o->interruption_rate);

		f->hazard_per_hour = (r->learned[*at].ends + PLACING_PRIOR_ENDS) /
				     (r->learned[*at].hours + PLACING_PRIOR_ENDS / rate);
	}
}

static void
placing_index(struct arena *a, struct placing_rows *r)
{
	char key[PLACING_KEY_SIZE];

	for (size_t i = 0; i < r->n_capacities; i++)
		strmap_add(a, &r->capacity, place_key_text(&r->capacities[i].key, key, sizeof(key)),
		    i, NULL);
}

static void
placing_facts_of(const struct placing_rows *r, const struct accel_table *accels, struct arena *a,
    struct placing_offer *po)
{
	const struct offer *o = po->offer;
	struct cost_facts *f = &po->facts;
	struct place_key key = place_key(o, KEY_OFFER);
	const struct block *b = block_hit(r->blocks, r->n_blocks, o);
	char text[PLACING_KEY_SIZE];
	const size_t *at;

	*f = (struct cost_facts){ .accel = accel_find_sized(
				      accels, o->accelerator, o->accelerator_memory_gib),
		.start_s = NAN,
		.hazard_per_hour = NAN,
		.recover_s = NAN,
		.egress_usd_per_gib = NAN };
	placing_learned_of(r, a, po);
	f->blocked_until = b == NULL ? 0 : b->until;
	f->probe_failed = b != NULL && str_eq(b->code, err_name(BERTH_EPROBE));
	at = strmap_get(&r->capacity, place_key_text(&key, text, sizeof(text)));
	if (at != NULL) {
		f->won = r->capacities[*at].won_recent;
		f->lost = r->capacities[*at].lost_recent;
		po->last_won = r->capacities[*at].last_won;
		po->last_lost = r->capacities[*at].last_lost;
	}
}

/* Machines of the commitment that nothing runs on: on-demand and reserved machines of its kind use
 * it up first. */
static int64_t
placing_free_of(const struct placing_rows *r, size_t index)
{
	const struct commitment *c = &r->commitments[index];
	int64_t left = c->count;

	for (size_t k = 0; k < index;
	     k++) /* what an earlier one of the same kind takes is not this one's */
		if (offer_same_machine(&r->commitments[k].offer, &c->offer))
			left += r->commitments[k].count;
	for (size_t i = 0; i < r->n_instances; i++)
		if (r->instances[i].offer.purchase != PURCHASE_SPOT &&
		    offer_same_machine(&r->instances[i].offer, &c->offer))
			left--;
	for (size_t i = 0; i < r->n_launches; i++)
		if (r->launches[i].offer.purchase != PURCHASE_SPOT &&
		    offer_same_machine(&r->launches[i].offer, &c->offer))
			left--;
	return left < 0 ? 0 : left < c->count ? left : c->count;
}

static size_t
placing_account_of(
    struct placing_facts *f, struct strmap *map, const char *account, struct arena *a)
{
	int added;
	size_t at = *strmap_add(a, map, account, f->n_accounts, &added);

	if (added)
		f->accounts[f->n_accounts++] = account;
	return at;
}

/* The same machine, paid for by the commitment while that lasts: its launch carries that along. */
static void
placing_paid(const struct commitment *c, struct arena *a, struct placing_offer *po)
{
	struct offer *o = arena_memdup(a, po->offer, sizeof(*o));

	o->usage = usd_known(c->offer.usage) ? c->offer.usage : USD_ZERO;
	o->paid_from = c->from;
	o->paid_until = c->to;
	po->offer = o;
	po->facts.paid = true;
	po->facts.paid_usage = usd_to_double(o->usage);
}

/* Every offer, and before it the paid machines of commitments that match it: one that names no zone
 * or account may be used in each, with one count for all. */
static void
placing_offers(const struct placing_rows *r, const struct accel_table *accels, struct arena *a,
    struct placing_facts *f)
{
	VEC(struct placing_offer) v = { 0 };
	struct strmap accounts = { 0 };
	int64_t *left = arena_array(a, r->n_commitments, sizeof(*left));

	f->accounts = arena_array(a, r->n_offers, sizeof(*f->accounts));
	for (size_t c = 0; c < r->n_commitments; c++)
		left[c] = placing_free_of(r, c);
	for (size_t i = 0; i < r->n_offers; i++) {
		struct placing_offer po = { .offer = &r->offers[i], .machines = PLACE_NO_LIMIT };

		placing_facts_of(r, accels, a, &po);
		po.account = placing_account_of(f, &accounts, po.offer->account, a);
		for (size_t c = 0; c < r->n_commitments && po.offer->purchase == PURCHASE_ON_DEMAND;
		     c++) {
			struct placing_offer paid = po;

			if (left[c] == 0 || !offer_same_machine(&r->commitments[c].offer, po.offer))
				continue;
			placing_paid(&r->commitments[c], a, &paid);
			paid.machines = left[c];
			paid.pool = c;
			VEC_PUSH(a, &v, paid);
		}
		VEC_PUSH(a, &v, po);
	}
	f->offers = v.v;
	f->n_offers = v.n;
	f->n_pools = r->n_commitments;
}

static bool
placing_limit_accel(const struct placing_limit *l, const char *accelerator)
{
	for (size_t i = 0; i < l->n_accelerators; i++)
		if (str_eq(l->accelerators[i], accelerator))
			return true;
	return l->n_accelerators == 0 &&
	       (l->accelerator[0] == '\0' || glob_match(l->accelerator, accelerator));
}

/* Beside the words that all limits have: its zone and types, and that berth.yaml does not say
 * otherwise. A machine whose vCPUs nobody knows is not known to pass a quota of them. */
static bool
placing_told_counts(
    const struct placing_told *t, const struct placing_limit *l, const struct offer *o)
{
	if ((t->zone[0] != '\0' && !str_eq(t->zone, o->zone)) ||
	    !glob_match_any(t->types, t->n_types, o->instance_type) ||
	    (str_eq(l->unit, "vcpu") && !(isfinite(o->vcpus) && o->vcpus > 0)))
		return false;
	for (size_t i = 0; i < t->n_limits; i++)
		if (t->limits[i].override && placing_quota_weight(&t->limits[i], o) > 0)
			return false;
	return true;
}

/* What is reserved runs as what is on demand, and clouds count it as that; a dated block apart. */
static bool
placing_limit_purchase(const struct placing_limit *l, const struct offer *o)
{
	enum purchase as = offer_counts_as(o);

	return l->purchase[0] == '\0' || str_eq(l->purchase, purchase_name(as)) ||
	       (l->told != NULL && as == PURCHASE_RESERVED && o->kind != OFFER_BLOCK &&
		   str_eq(l->purchase, purchase_name(PURCHASE_ON_DEMAND)));
}

int64_t
placing_quota_weight(const struct placing_limit *l, const struct offer *o)
{
	if ((l->provider[0] != '\0' && !glob_match(l->provider, o->provider)) ||
	    (l->account[0] != '\0' && !glob_match(l->account, o->account)) ||
	    (l->region[0] != '\0' && !offer_region_hits(l->region, o)) ||
	    !placing_limit_accel(l, o->accelerator) || !placing_limit_purchase(l, o) ||
	    (l->told != NULL && !placing_told_counts(l->told, l, o)))
		return 0;
	if (str_eq(l->unit, "gpu"))
		return o->accelerator_count > 0 ? o->accelerator_count : 1;
	if (str_eq(l->unit,
		"vcpu")) /* a machine whose vCPUs nobody knows never fits a quota of them */
		return isfinite(o->vcpus) && o->vcpus > 0 ? (int64_t)ceil(o->vcpus) : l->limit + 1;
	return 1;
}

int64_t
placing_quota_held(const struct placing_limit *l, const struct offer *o, int64_t now)
{
	struct offer as = *o;

	if (!offer_paid_at(o, now))
		as.paid_until = 0;
	return placing_quota_weight(l, &as);
}

/* Which quotas count each offer. */
static void
placing_uses(struct arena *a, struct placing_facts *f)
{
	VEC(struct placing_use) v = { 0 };

	f->use_start = arena_array(a, f->n_offers + 1, sizeof(*f->use_start));
	for (size_t j = 0; j < f->n_offers; j++) {
		for (size_t q = 0; q < f->n_quotas; q++) {
			const struct placing_use u = { q,
				placing_quota_weight(f->quotas[q].limit, f->offers[j].offer) };

			if (u.weight > 0)
				VEC_PUSH(a, &v, u);
		}
		f->use_start[j + 1] = v.n;
	}
	f->uses = v.v;
}

int64_t
placing_takes_of(const struct placing_facts *f, size_t offer, size_t quota)
{
	for (size_t u = f->use_start[offer]; u < f->use_start[offer + 1]; u++)
		if (f->uses[u].quota == quota)
			return f->uses[u].weight;
	return 0;
}

/* Those of berth.yaml and those that providers told, less what runs. */
static void
placing_quotas(const struct placing_rows *r, const struct placing_options *o, struct arena *a,
    struct placing_facts *f)
{
	const struct offer **offers = arena_array(a, f->n_offers, sizeof(const struct offer *));
	struct placing_limit *limits;

	for (size_t j = 0; j < f->n_offers; j++)
		offers[j] = f->offers[j].offer;
	quotas_limits(r->quotas, r->n_quotas, o->now, o->quota_age_s, offers, f->n_offers,
	    o->limits, o->n_limits, a, &limits, &f->n_quotas);
	f->quotas = arena_array(a, f->n_quotas, sizeof(*f->quotas));
	for (size_t q = 0; q < f->n_quotas; q++) {
		f->quotas[q] = (struct placing_quota){ &limits[q], limits[q].limit, false };
		for (size_t i = 0; i < r->n_instances; i++)
			f->quotas[q].left -=
			    placing_quota_held(&limits[q], &r->instances[i].offer, o->now);
		for (size_t i = 0; i < r->n_launches; i++)
			f->quotas[q].left -=
			    placing_quota_held(&limits[q], &r->launches[i].offer, o->now);
		if (f->quotas[q].left < 0)
			f->quotas[q].left = 0;
	}
	placing_uses(a, f);
}

int64_t
placing_budget_rest(const struct budget *b)
{
	int64_t left = b->cap.v - b->spent.v - b->reserved.v;

	return left > 0 ? left : 0;
}

static double
placing_left_of(
    const struct placing_facts *f, const struct job *j, size_t account, bool hour, bool whole)
{
	double least = NAN;

	for (size_t b = 0; b < f->n_budgets; b++) {
		const struct budget *x = &f->budgets[b];
		double left;

		if ((x->period == BUDGET_HOUR) != hour ||
		    !budget_scope_hits(
			x->scope, f->accounts[account], j->spec.project, j->spec.user))
			continue;
		left = usd_to_double(x->cap);
		if (!whole)
			left = left - usd_to_double(x->spent) - usd_to_double(x->reserved);
		least = isnan(least) || left < least ? left : least;
	}
	return least;
}

double
placing_budget_left(const struct placing_facts *f, const struct job *j, size_t account)
{
	return placing_left_of(f, j, account, false, false);
}

double
placing_hour_left(const struct placing_facts *f, const struct job *j, size_t account, bool later)
{
	return placing_left_of(f, j, account, true, later);
}

double
placing_hour(const struct placing_offer *po)
{
	return po->facts.paid ? po->facts.paid_usage : usd_to_double(po->offer->price);
}

int64_t
placing_budget_takes(
    const struct budget *b, const struct placing_offer *po, int64_t machines, double usd)
{
	return llround(
	    1e6 * (b->period == BUDGET_HOUR ? (double)machines * placing_hour(po) : usd));
}

enum berth_code
placing_facts_load(struct store *store, const struct accel_table *accels,
    const struct placing_options *o, const struct intent *launches, size_t n_launches,
    struct arena *a, struct placing_facts *out, struct berth_err *err)
{
	struct placing_rows r = { .launches = launches, .n_launches = n_launches };
	enum berth_code rc;

	memset(out, 0, sizeof(*out));
	out->now = o->now;
	rc = placing_rows_load(store, o->now, a, &r, out, err);
	if (rc != BERTH_OK)
		return rc;
	placing_index(a, &r);
	placing_learn(a, &r, o->now, out);
	placing_offers(&r, accels, a, out);
	placing_readings(out, r.gaps, r.n_gaps, o->ages.none_s, a);
	placing_quotas(&r, o, a, out);
	out->alive = r.instances;
	out->n_alive = r.n_instances;
	return BERTH_OK;
}
