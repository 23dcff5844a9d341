#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pricelist.h"
#include "broker/quarantine.h"
#include "model/event.h"
#include "model/offerkey.h"
#include "model/rates.h"
#include "store/event_rows.h"
#include "store/offer_rows.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

static size_t
pricelist_known(const struct offer *v, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		known += usd_known(v[i].price);
	return known;
}

/* Which old offer each new one takes the place of: was [n_fresh], indices into old or
 * OFFERKEY_NONE. */
static size_t *
pricelist_match(const struct offer *old, size_t n_old, const struct offer *fresh, size_t n_fresh,
    struct arena *a)
{
	size_t *was = arena_array_of(a, n_fresh, size_t);
	struct offerkey_set set = { 0 };

	for (size_t i = 0; i < n_old; i++)
		(void)offerkey_add(a, &set, old, i);
	for (size_t i = 0; i < n_fresh; i++)
		was[i] = offerkey_find(&set, old, &fresh[i]);
	return was;
}

/* Accelerators of the old list, and how many of them the new one lacks. */
static void
pricelist_families(const struct offer *old, size_t n_old, const struct offer *fresh, size_t n_fresh,
    struct arena *a, struct pricelist_gate *g)
{
	struct strmap names = { 0 }, seen = { 0 };
	const char *last = NULL;
	int added;

	for (size_t i = 0; i < n_fresh; last = fresh[i++].accelerator)
		if (fresh[i].accelerator != last)
			strmap_add(a, &names, fresh[i].accelerator, 1, NULL);
	last = NULL;
	for (size_t i = 0; i < n_old; last = old[i++].accelerator) {
		if (old[i].accelerator == last)
			continue;
		strmap_add(a, &seen, old[i].accelerator, 1, &added);
		g->families += (size_t)added;
		g->lost += added && strmap_get(&names, old[i].accelerator) == NULL;
	}
}

static void
pricelist_compare(double far, const struct offer *old, const struct offer *fresh, size_t n_fresh,
    const size_t *match, struct pricelist_gate *g)
{
	for (size_t i = 0; i < n_fresh; i++) {
		double was, is;

		if (match[i] == OFFERKEY_NONE)
			continue;
		was = usd_to_double(offer_effective_hour(&old[match[i]]));
		if (isnan(was) || was <= 0)
			continue;
		is = usd_to_double(offer_effective_hour(&fresh[i]));
		g->common++;
		g->unknown += isnan(is) ? 1 : 0;
		g->moved += isnan(is) || fabs(is / was - 1) > far;
	}
}

static void
pricelist_say_moved(struct pricelist_gate *g, double far)
{
	int n = snprintf(g->why, sizeof(g->why), "%zu of %zu prices moved by over %.0f %%",
	    g->moved, g->common, far * 100);

	if (g->unknown > 0 && n > 0 && (size_t)n < sizeof(g->why))
		snprintf(g->why + n, sizeof(g->why) - (size_t)n, " or are none any more (%zu)",
		    g->unknown);
}

static void
pricelist_judge_match(const struct pricelist_policy *policy, bool own, const struct offer *old,
    size_t n_old, const struct offer *fresh, size_t n_fresh, const size_t *match, struct arena *a,
    struct pricelist_gate *g)
{
	const struct pricelist_policy *p = policy != NULL ? policy : &pricelist_policy_default;

	memset(g, 0, sizeof(*g));
	if (n_old > 0) {
		pricelist_families(old, n_old, fresh, n_fresh, a, g);
		pricelist_compare(p->moved, old, fresh, n_fresh, match, g);
	}
	if (own) {
		g->moved -= g->unknown; /* a row was taken out of berth.yaml */
		g->unknown = 0;
	}
	if (pricelist_known(fresh, n_fresh) == 0 && (!own || n_fresh == 0))
		snprintf(g->why, sizeof(g->why), "no price in it");
	else if (g->common >= PRICELIST_SMALL &&
		 (double)g->moved > p->moved_share * (double)g->common)
		pricelist_say_moved(g, p->moved);
	else if (g->families > 1 && (double)g->lost > p->lost_share * (double)g->families)
		snprintf(g->why, sizeof(g->why), "%zu of %zu accelerators are not in it any more",
		    g->lost, g->families);
	g->pass = g->why[0] == '\0';
}

void
pricelist_judge(const struct pricelist_policy *policy, bool own, const struct offer *old,
    size_t n_old, const struct offer *fresh, size_t n_fresh, struct pricelist_gate *g)
{
	struct arena *a = arena_new();

	pricelist_judge_match(policy, own, old, n_old, fresh, n_fresh,
	    pricelist_match(old, n_old, fresh, n_fresh, a), a, g);
	arena_free(a);
}

/* Keeps the list for somebody to look at; why_out says where it is and what was wrong with it. */
static enum berth_code
pricelist_quarantine(const struct pricelist_setup *s, const struct quarantine *key,
    const struct offer *offers, size_t n, const char *why, struct arena *a, const char **why_out,
    struct berth_err *err)
{
	struct quarantine q = *key;
	enum berth_code rc;

	q.why = why;
	q.at = s->now;
	rc = quarantine_put(s->quarantine_dir, &q, offers, n, s->dry_run, a, err);
	if (rc == BERTH_OK)
		*why_out = arena_printf(a, "quarantined in %.200s: %s", q.path, why);
	return rc;
}

/* The largest move among the offers of one provider, accelerator and way to buy. */
struct pricelist_move {
	const struct offer *is;
	struct usd_micro was, now;
	double share;
	size_t n;
};

static enum berth_code
pricelist_tell_move(const struct pricelist_setup *s, const struct pricelist_move *m,
    struct arena *a, struct berth_err *err)
{
	struct event e = { .t = s->now,
		.type = "price.moved",
		.subject = arena_printf(a, "offer:%s/%s/%s", m->is->provider, m->is->accelerator,
		    purchase_name(m->is->purchase)) };
	char was[USD_FMT_SIZE], now[USD_FMT_SIZE];
	enum berth_code rc;
	struct jsonw w;
	struct buf b;

	buf_init(&b, 65536);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "message",
	    arena_printf(a,
		"%s %s in %s: %s, was %s USD an hour (%+.0f %%); %zu offers of %s moved",
		m->is->provider, m->is->instance_type, m->is->region,
		usd_fmt(now, sizeof(now), m->now, 4), usd_fmt(was, sizeof(was), m->was, 4),
		m->share * 100, m->n, m->is->accelerator));
	jsonw_str(&w, "provider", m->is->provider);
	jsonw_str_or_null(&w, "account", m->is->account);
	jsonw_str(&w, "accelerator", m->is->accelerator);
	jsonw_str(&w, "purchase", purchase_name(m->is->purchase));
	jsonw_str(&w, "instance_type", m->is->instance_type);
	jsonw_str_or_null(&w, "region", m->is->region);
	jsonw_money(&w, "was", m->was);
	jsonw_money(&w, "is", m->now);
	jsonw_fixed(&w, "moved", m->share, 4);
	jsonw_int(&w, "offers", (int64_t)m->n);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	e.data = b.p;
	if (rc == BERTH_OK)
		rc = store_event_append(s->store, &e, err);
	buf_free(&b);
	return rc;
}

/* One event for each provider, accelerator and way to buy of which a price moved by more than the
 * policy's share. */
static enum berth_code
pricelist_tell(const struct pricelist_setup *s, const struct offer *old, const struct offer *fresh,
    size_t n_fresh, const size_t *match, struct arena *a, struct berth_err *err)
{
	double least = s->policy != NULL ? s->policy->alert : pricelist_policy_default.alert;
	struct strmap groups = { 0 };
	VEC(struct pricelist_move) moves = { 0 };
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n_fresh && least > 0; i++) {
		struct pricelist_move *m;
		struct usd_micro was, now;
		double share;
		int added = 0;
		size_t *g;

		if (match[i] == OFFERKEY_NONE)
			continue;
		was = offer_effective_hour(&old[match[i]]);
		now = offer_effective_hour(&fresh[i]);
		share = usd_to_double(now) / usd_to_double(was) - 1;
		if (!(fabs(share) > least) || was.v <= 0)
			continue;
		g = strmap_add(a, &groups,
		    arena_printf(a, "%s\t%s\t%d", fresh[i].provider, fresh[i].accelerator,
			(int)fresh[i].purchase),
		    moves.n, &added);
		if (added)
			VEC_PUSH(a, &moves, (struct pricelist_move){ .is = &fresh[i] });
		m = &moves.v[*g];
		m->n++;
		if (fabs(share) > fabs(m->share))
			*m = (struct pricelist_move){ &fresh[i], was, now, share, m->n };
	}
	for (size_t i = 0; rc == BERTH_OK && i < moves.n; i++)
		rc = pricelist_tell_move(s, &moves.v[i], a, err);
	return rc;
}

static bool
pricelist_all_usd(const struct offer *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].currency, "USD") != 0)
			return false;
	return true;
}

/* Prices in other currencies become USD where the policy has a rate: a copy, or raw where there is
 * nothing to do. */
static const struct offer *
pricelist_in_usd(
    const struct pricelist_setup *s, const struct offer *raw, size_t n, struct arena *a)
{
	struct offer *v;

	if (s->policy == NULL || s->policy->rates == NULL || pricelist_all_usd(raw, n))
		return raw;
	v = arena_memdup(a, raw, n * sizeof(*v));
	for (size_t i = 0; i < n; i++)
		rates_convert(s->policy->rates, &v[i], a);
	return v;
}

/* What is there now and what shall be: read, judged and replaced in one transaction. */
struct pricelist_two {
	const struct offer *fresh;
	struct offer *old;
	size_t n, n_old;
	const size_t *match; /* [n] */
};

static enum berth_code
pricelist_put_locked(const struct pricelist_setup *s, const struct quarantine *key,
    struct pricelist_two *t, struct arena *a, struct pricelist_result *r, struct berth_err *err)
{
	struct pricelist_gate g;
	const char *why;
	enum berth_code rc;

	rc = store_offer_current(
	    s->store, key->provider, key->account, key->source, a, &t->old, &t->n_old, err);
	if (rc != BERTH_OK)
		return rc;
	t->match = pricelist_match(t->old, t->n_old, t->fresh, t->n, a);
	pricelist_judge_match(s->policy, false, t->old, t->n_old, t->fresh, t->n, t->match, a, &g);
	if (g.pass || s->force) {
		rc = store_offers_exchange(s->store, key->provider, key->account, key->source,
		    t->old, t->n_old, t->fresh, t->n, s->now, NULL, err);
		return rc == BERTH_OK ? pricelist_tell(s, t->old, t->fresh, t->n, t->match, a, err)
				      : rc;
	}
	rc = pricelist_quarantine(s, key, t->fresh, t->n, g.why, a, &why, err);
	if (rc != BERTH_OK)
		return rc;
	r->stale = true;
	r->code = BERTH_EPRICE;
	str_copy(r->error, sizeof(r->error), why);
	return store_offers_stale(
	    s->store, key->provider, key->account, key->source, why, s->now, err);
}

enum berth_code
pricelist_put(const struct pricelist_setup *s, const char *provider, const char *account,
    const char *source, const struct offer *raw, size_t n, struct arena *a,
    struct pricelist_result *r, struct berth_err *err)
{
	struct quarantine key = { .provider = provider, .account = account, .source = source };
	struct pricelist_two t = { .fresh = pricelist_in_usd(s, raw, n, a), .n = n };
	enum berth_code rc;

	*r = (struct pricelist_result){ .name = provider, .offers = n };
	if ((rc = store_begin(s->store, err)) != BERTH_OK)
		return rc;
	rc = pricelist_put_locked(s, &key, &t, a, r, err);
	if (rc != BERTH_OK) {
		store_rollback(s->store);
		return rc;
	}
	rc = store_commit(s->store, err);
	if (rc == BERTH_OK && r->code == BERTH_OK && !s->dry_run)
		quarantine_drop(s->quarantine_dir, &key, a);
	return rc;
}

/* Which lists belong to an account. Where it cannot make machines its offers are no account's:
 * prices alone. */
struct pricelist_key {
	const char *account, *source;
};

static struct pricelist_key
pricelist_key(const char *account, const char *provider)
{
	const struct provider_ops *ops = provider_find(provider);

	if (ops != NULL && (ops->caps & PROV_CAP_LEASE) != 0)
		return (struct pricelist_key){ account, "api" };
	return (struct pricelist_key){ "", account };
}

static bool
pricelist_is(const struct price_list *l, const struct pricelist_key *k)
{
	return str_eq(l->account, k->account) && str_eq(l->source, k->source);
}

struct pricelist_gather {
	struct arena *a;
	VEC(struct offer) v;
};

static enum berth_code
pricelist_keep(void *arg, const struct offer *offer, struct berth_err *err)
{
	struct pricelist_gather *g = arg;
	struct offer o = *offer;

	(void)err;
	o.provider = arena_strdup(g->a, o.provider);
	o.account = arena_strdup(g->a, o.account);
	o.region = arena_strdup(g->a, o.region);
	o.zone = arena_strdup(g->a, o.zone);
	o.instance_type = arena_strdup(g->a, o.instance_type);
	o.accelerator = arena_strdup(g->a, o.accelerator);
	o.source = arena_strdup(g->a, o.source);
	VEC_PUSH(g->a, &g->v, o);
	return BERTH_OK;
}

/* Provider by provider; of rows that are the same offer the cheapest first, as an import has it. */
static int
pricelist_by_offer(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;
	int c = strcmp(x->provider, y->provider);

	if (c == 0)
		c = offerkey_cmp(x, y);
	return c != 0 ? c : usd_cmp(x->price, y->price);
}

/*
 * A list whose pages shifted while they were read, or that repeats itself, has no offer twice; in
 * the order of providers.
 */
static size_t
pricelist_once(struct offer *v, size_t n)
{
	size_t kept = 0;

	if (n > 1)
		qsort(v, n, sizeof(*v), pricelist_by_offer);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || strcmp(v[i].provider, v[kept - 1].provider) != 0 ||
		    offerkey_cmp(&v[i], &v[kept - 1]) != 0)
			v[kept++] = v[i];
	return kept;
}

/* Lists of the account whose provider it does not sell any more end. */
static enum berth_code
pricelist_end_others(const struct pricelist_setup *s, const struct pricelist_key *k,
    const struct offer *fresh, size_t n, struct arena *a, struct berth_err *err)
{
	struct price_list *lists;
	size_t n_lists;
	enum berth_code rc = store_price_list_list(s->store, a, &lists, &n_lists, err);

	for (size_t i = 0; rc == BERTH_OK && i < n_lists; i++) {
		bool sold = false;

		if (!pricelist_is(&lists[i], k))
			continue;
		for (size_t j = 0; j < n; j++)
			sold |= str_eq(fresh[j].provider, lists[i].provider);
		if (!sold)
			rc = store_offers_replace(s->store, lists[i].provider, k->account,
			    k->source, NULL, 0, s->now, NULL, err);
	}
	return rc;
}

static enum berth_code
pricelist_replace_account(const struct pricelist_setup *s, const struct pricelist_key *k,
    const struct offer *old, size_t n_old, struct offer *fresh, size_t n, struct arena *a,
    struct berth_err *err)
{
	enum berth_code rc = store_begin(s->store, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0, j; rc == BERTH_OK && i < n; i = j) {
		for (j = i; j < n && str_eq(fresh[j].provider, fresh[i].provider);)
			j++;
		rc = store_offers_replace(s->store, fresh[i].provider, k->account, k->source,
		    &fresh[i], j - i, s->now, NULL, err);
	}
	if (rc == BERTH_OK)
		rc = pricelist_end_others(s, k, fresh, n, a, err);
	if (rc == BERTH_OK)
		rc = pricelist_tell(
		    s, old, fresh, n, pricelist_match(old, n_old, fresh, n, a), a, err);
	if (rc == BERTH_OK)
		return store_commit(s->store, err);
	store_rollback(s->store);
	return rc;
}

/* Every list of the account is marked, or one is made to carry the mark. */
static enum berth_code
pricelist_mark(const struct pricelist_setup *s, const char *account, const char *provider,
    const char *why, struct arena *a, struct berth_err *err)
{
	struct pricelist_key k = pricelist_key(account, provider);
	struct price_list *lists;
	size_t n, marked = 0;
	enum berth_code rc = store_price_list_list(s->store, a, &lists, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (pricelist_is(&lists[i], &k)) {
			marked++;
			rc = store_offers_stale(
			    s->store, lists[i].provider, k.account, k.source, why, s->now, err);
		}
	if (rc == BERTH_OK && marked == 0)
		rc = store_offers_stale(s->store, provider, k.account, k.source, why, s->now, err);
	return rc;
}

enum berth_code
pricelist_failed(const struct pricelist_setup *s, const char *account, const char *provider,
    enum berth_code code, const char *why, struct arena *a, struct pricelist_result *r,
    struct berth_err *err)
{
	size_t len = strlen(account);

	*r = (struct pricelist_result){ .name = account, .stale = true, .code = code };
	if (len > 0 && strncmp(why, account, len) == 0 &&
	    str_starts(why + len, ": ")) /* the result says whose it is */
		why += len + 2;
	str_copy(r->error, sizeof(r->error), why);
	return pricelist_mark(s, account, provider, why, a, err);
}

/* All that an account sells takes the old lists' place, or does not. */
static enum berth_code
pricelist_put_account(const struct pricelist_setup *s, const struct pricelist_key *k,
    const char *account, const char *provider, const struct offer *raw, size_t n, struct arena *a,
    struct pricelist_result *r, struct berth_err *err)
{
	struct offer_query q = {
		.account = k->account, .list_source = k->source, .every_kind = true
	};
	struct quarantine key = { .provider = "", .account = k->account, .source = k->source };
	struct offer *offers = n > 0 ? arena_memdup(
					   a, pricelist_in_usd(s, raw, n, a), n * sizeof(*offers))
				     : NULL,
		     *old;
	const struct provider_ops *ops = provider_find(provider);
	struct pricelist_gate g;
	const char *why;
	enum berth_code rc;
	size_t n_old;

	n = pricelist_once(offers, n);
	*r = (struct pricelist_result){ .name = account, .offers = n };
	rc = store_offer_list(s->store, &q, a, &old, &n_old, err);
	if (rc != BERTH_OK)
		return rc;
	pricelist_judge(
	    s->policy, ops != NULL && (ops->caps & PROV_CAP_OWN) != 0, old, n_old, offers, n, &g);
	if (g.pass || s->force) {
		rc = pricelist_replace_account(s, k, old, n_old, offers, n, a, err);
		if (rc == BERTH_OK && !s->dry_run)
			quarantine_drop(s->quarantine_dir, &key, a);
		return rc;
	}
	rc = pricelist_quarantine(s, &key, offers, n, g.why, a, &why, err);
	return rc == BERTH_OK ? pricelist_failed(s, account, provider, BERTH_EPRICE, why, a, r, err)
			      : rc;
}

static enum berth_code
pricelist_take(const struct pricelist_setup *s, const struct prov_many *m,
    const struct pricelist_gather *got, struct arena *a, struct pricelist_result *r,
    struct berth_err *err)
{
	const char *account = arena_strdup(a, prov_account_name(m->account));
	const char *provider = prov_account_ops(m->account)->name;
	struct pricelist_key k = pricelist_key(account, provider);

	if (m->code != BERTH_OK)
		return pricelist_failed(s, account, provider, m->code,
		    strstr(m->err.where, "://") == NULL
			? m->err.msg
			: arena_printf(a, "%s (%s)", m->err.msg, m->err.where),
		    a, r, err);
	return pricelist_put_account(s, &k, account, provider, got->v.v, got->v.n, a, r, err);
}

enum berth_code
pricelist_accept(const struct pricelist_setup *setup, const struct quarantine *q,
    const struct offer *offers, size_t n, struct arena *a, struct pricelist_result *r,
    struct berth_err *err)
{
	struct pricelist_key k = { q->account, q->source };
	struct pricelist_setup s = *setup;
	enum berth_code rc;

	s.force = true;
	rc = q->provider[0] != '\0'
		 ? pricelist_put(&s, q->provider, q->account, q->source, offers, n, a, r, err)
		 : pricelist_put_account(&s, &k, q->account[0] != '\0' ? q->account : q->source, "",
		       offers, n, a, r, err);
	r->name = q->name;
	return rc;
}

enum berth_code
pricelist_refresh(const struct pricelist_setup *s, struct prov_account *const *accounts, size_t n,
    int deadline_s, struct arena *a, struct pricelist_result *results, struct berth_err *err)
{
	struct pricelist_gather *got = arena_array_of(a, n, struct pricelist_gather);
	struct prov_many *many = arena_array_of(a, n, struct prov_many);
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n; i++) {
		got[i].a = a;
		many[i] = (struct prov_many){
			.account = accounts[i], .offer_fn = pricelist_keep, .arg = &got[i]
		};
	}
	prov_run_many(many, n, deadline_s);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = pricelist_take(s, &many[i], &got[i], a, &results[i], err);
	return rc;
}
