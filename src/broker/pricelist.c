#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pricelist.h"
#include "providers/import/import.h"
#include "store/offer_rows.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"
#include "util/vec.h"

#define PRICELIST_FILE_MAX ((size_t)256 * 1024 * 1024)

static size_t
pricelist_known(const struct offer *v, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		known += usd_known(v[i].price);
	return known;
}

static void
pricelist_compare(const struct offer *old, size_t n_old, const struct offer *fresh, size_t n_fresh,
    struct pricelist_gate *g)
{
	struct strmap prices = { 0 }, names = { 0 }, seen = { 0 };
	struct arena *a;
	int added;

	if (n_old == 0)
		return;
	a = arena_new();
	for (size_t i = 0; i < n_fresh; i++) {
		strmap_add(a, &names, fresh[i].accelerator, 1, NULL);
		strmap_add(a, &prices, import_offer_key(&fresh[i], a), i, NULL);
	}
	for (size_t i = 0; i < n_old; i++) {
		const size_t *at = strmap_get(&prices, import_offer_key(&old[i], a));
		double was = usd_to_double(offer_effective_hour(&old[i])), is;

		strmap_add(a, &seen, old[i].accelerator, 1, &added);
		g->families += (size_t)added;
		g->lost += added && strmap_get(&names, old[i].accelerator) == NULL;
		is = at != NULL ? usd_to_double(offer_effective_hour(&fresh[*at])) : (double)NAN;
		if (isnan(was) || isnan(is) || was <= 0)
			continue;
		g->common++;
		g->moved += fabs(is / was - 1) > PRICELIST_MOVED;
	}
	arena_free(a);
}

void
pricelist_judge(const struct offer *old, size_t n_old, const struct offer *fresh, size_t n_fresh,
    struct pricelist_gate *g)
{
	memset(g, 0, sizeof(*g));
	pricelist_compare(old, n_old, fresh, n_fresh, g);
	if (pricelist_known(fresh, n_fresh) == 0)
		snprintf(g->why, sizeof(g->why), "no price in it");
	else if (g->common >= PRICELIST_SMALL && (double)g->moved > PRICELIST_MOVED_SHARE * (double)g->common)
		snprintf(g->why, sizeof(g->why), "%zu of %zu prices moved by over %.0f %%", g->moved, g->common,
		    PRICELIST_MOVED * 100);
	else if (g->families > 1 && (double)g->lost > PRICELIST_LOST_SHARE * (double)g->families)
		snprintf(g->why, sizeof(g->why), "%zu of %zu accelerators are not in it any more", g->lost, g->families);
	g->pass = g->why[0] == '\0';
}

static void
pricelist_csv_field(struct buf *b, const char *s)
{
	if (strpbrk(s, ",\"\r\n") == NULL) {
		buf_add_str(b, s);
		return;
	}
	buf_add_char(b, '"');
	for (; *s != '\0'; s++) {
		if (*s == '"')
			buf_add_char(b, '"');
		buf_add_char(b, *s);
	}
	buf_add_char(b, '"');
}

static void
pricelist_csv_number(struct buf *b, double x)
{
	char text[STR_DOUBLE_SIZE];

	if (!isnan(x))
		buf_add_str(b, str_from_double(text, x));
	buf_add_char(b, ',');
}

static void
pricelist_csv_money(struct buf *b, struct usd_micro v)
{
	char text[USD_FMT_SIZE];

	if (usd_known(v))
		buf_add_str(b, usd_fmt(text, sizeof(text), v, 6));
	buf_add_char(b, ',');
}

/* One row of berth's own layout, which `prices import` reads. */
static void
pricelist_csv_row(struct buf *b, const struct offer *o)
{
	const char *names[] = { o->provider, o->region, o->zone, o->instance_type, o->accelerator };
	char t[TIME_FMT_SIZE];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		pricelist_csv_field(b, names[i]);
		buf_add_char(b, ',');
	}
	buf_printf(b, "%d,", o->accelerator_count);
	pricelist_csv_number(b, o->accelerator_memory_gib);
	pricelist_csv_number(b, o->vcpus);
	pricelist_csv_number(b, o->memory_gib);
	buf_printf(b, "%s,", purchase_name(o->purchase));
	if (o->purchase == PURCHASE_RESERVED)
		buf_printf(b, "%d,%s,", o->term_months, payment_name(o->payment));
	else
		buf_add_str(b, ",,");
	pricelist_csv_money(b, o->upfront);
	pricelist_csv_money(b, o->price);
	buf_printf(b, "%s,", o->currency);
	pricelist_csv_number(b, o->interruption_rate);
	buf_printf(b, "%s,", o->as_of != 0 ? time_fmt(t, o->as_of) : "");
	pricelist_csv_field(b, o->source);
	buf_printf(b, ",%s\n", offer_kind_name(o->kind));
}

static enum berth_code
pricelist_quarantine(const struct pricelist_setup *s, const char *provider, const char *account,
    const struct offer *offers, size_t n, struct arena *a, const char **path_out, struct berth_err *err)
{
	enum berth_code rc;
	struct buf b;
	char *path = arena_printf(a, "%s/%s%s%s-%lld.csv", s->quarantine_dir, provider, account[0] != '\0' ? "-" : "",
	    account, (long long)s->now);

	for (char *p = path + strlen(s->quarantine_dir) + 1; *p != '\0'; p++)
		if (!str_is_alnum(*p) && *p != '-' && *p != '.')
			*p = '_';
	*path_out = path;
	if (s->dry_run)
		return BERTH_OK;
	buf_init(&b, PRICELIST_FILE_MAX);
	buf_add_str(&b, "provider,region,zone,instance_type,accelerator,accelerator_count,accelerator_memory_gib,vcpus,"
	    "memory_gib,purchase,term_months,payment,upfront,price_per_hour,currency,interruption_rate,as_of,source,kind\n");
	for (size_t i = 0; i < n; i++)
		pricelist_csv_row(&b, &offers[i]);
	rc = buf_check(&b, path, err);
	if (rc == BERTH_OK)
		rc = fileio_mkdirs_for(path, err);
	if (rc == BERTH_OK)
		rc = atomicfile_write(path, b.p, b.len, 0600, err);
	buf_free(&b);
	return rc;
}

/* Quarantines and marks stale. */
static enum berth_code
pricelist_refuse(const struct pricelist_setup *s, const char *provider, const char *account, const char *source,
    const struct offer *offers, size_t n, const char *why, struct arena *a, struct pricelist_result *r,
    struct berth_err *err)
{
	const char *path;
	enum berth_code rc = pricelist_quarantine(s, provider, account, offers, n, a, &path, err);

	if (rc != BERTH_OK)
		return rc;
	r->stale = true;
	r->code = BERTH_EPRICE;
	snprintf(r->error, sizeof(r->error), "quarantined in %s: %s", path, why);
	return store_offers_stale(s->store, provider, account, source, r->error, s->now, err);
}

enum berth_code
pricelist_put(const struct pricelist_setup *s, const char *provider, const char *account, const char *source,
    const struct offer *offers, size_t n, struct arena *a, struct pricelist_result *r, struct berth_err *err)
{
	struct offer_query q = { .provider = provider, .account = account, .list_source = source, .every_kind = true };
	struct pricelist_gate g;
	struct offer *old;
	enum berth_code rc;
	size_t n_old;

	*r = (struct pricelist_result){ .name = provider, .offers = n };
	rc = store_offer_list(s->store, &q, a, &old, &n_old, err);
	if (rc != BERTH_OK)
		return rc;
	pricelist_judge(old, n_old, offers, n, &g);
	if (!g.pass && !s->force)
		return pricelist_refuse(s, provider, account, source, offers, n, g.why, a, r, err);
	return store_offers_replace(s->store, provider, account, source, offers, n, s->now, NULL, err);
}

/* Which lists belong to an account. Where it cannot make machines its offers are no account's: prices alone. */
struct pricelist_key { const char *account, *source; };

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

static int
pricelist_by_provider(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;

	return strcmp(x->provider, y->provider);
}

/* Lists of the account whose provider it does not sell any more end. */
static enum berth_code
pricelist_end_others(const struct pricelist_setup *s, const struct pricelist_key *k, const struct offer *fresh, size_t n,
    struct arena *a, struct berth_err *err)
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
			rc = store_offers_replace(s->store, lists[i].provider, k->account, k->source, NULL, 0, s->now, NULL, err);
	}
	return rc;
}

static enum berth_code
pricelist_replace_account(const struct pricelist_setup *s, const struct pricelist_key *k, struct offer *fresh, size_t n,
    struct arena *a, struct berth_err *err)
{
	enum berth_code rc = store_begin(s->store, err);

	if (rc != BERTH_OK)
		return rc;
	if (n > 0)
		qsort(fresh, n, sizeof(*fresh), pricelist_by_provider);
	for (size_t i = 0, j; rc == BERTH_OK && i < n; i = j) {
		for (j = i; j < n && str_eq(fresh[j].provider, fresh[i].provider);)
			j++;
		rc = store_offers_replace(s->store, fresh[i].provider, k->account, k->source, &fresh[i], j - i, s->now, NULL,
		    err);
	}
	if (rc == BERTH_OK)
		rc = pricelist_end_others(s, k, fresh, n, a, err);
	if (rc == BERTH_OK)
		return store_commit(s->store, err);
	store_rollback(s->store);
	return rc;
}

/* Every list of the account is marked, or one is made to carry the mark. */
static enum berth_code
pricelist_mark(const struct pricelist_setup *s, const char *account, const char *provider, const char *why,
    struct arena *a, struct berth_err *err)
{
	struct pricelist_key k = pricelist_key(account, provider);
	struct price_list *lists;
	size_t n, marked = 0;
	enum berth_code rc = store_price_list_list(s->store, a, &lists, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (pricelist_is(&lists[i], &k)) {
			marked++;
			rc = store_offers_stale(s->store, lists[i].provider, k.account, k.source, why, s->now, err);
		}
	if (rc == BERTH_OK && marked == 0)
		rc = store_offers_stale(s->store, provider, k.account, k.source, why, s->now, err);
	return rc;
}

enum berth_code
pricelist_failed(const struct pricelist_setup *s, const char *account, const char *provider, enum berth_code code,
    const char *why, struct arena *a, struct pricelist_result *r, struct berth_err *err)
{
	*r = (struct pricelist_result){ .name = account, .stale = true, .code = code };
	str_copy(r->error, sizeof(r->error), why);
	return pricelist_mark(s, account, provider, why, a, err);
}

/* What an account answered takes the old lists' place, or does not. */
static enum berth_code
pricelist_take(const struct pricelist_setup *s, const struct prov_many *m, const struct pricelist_gather *got,
    struct arena *a, struct pricelist_result *r, struct berth_err *err)
{
	const char *account = arena_strdup(a, prov_account_name(m->account)), *path;
	const char *provider = prov_account_ops(m->account)->name;
	struct pricelist_key k = pricelist_key(account, provider);
	struct offer_query q = { .account = k.account, .list_source = k.source, .every_kind = true };
	struct pricelist_gate g;
	char why[512];
	struct offer *old;
	enum berth_code rc;
	size_t n_old;

	if (m->code != BERTH_OK)
		return pricelist_failed(s, account, provider, m->code, m->err.msg, a, r, err);
	*r = (struct pricelist_result){ .name = account, .offers = got->v.n };
	rc = store_offer_list(s->store, &q, a, &old, &n_old, err);
	if (rc != BERTH_OK)
		return rc;
	pricelist_judge(old, n_old, got->v.v, got->v.n, &g);
	if (g.pass || s->force)
		return pricelist_replace_account(s, &k, got->v.v, got->v.n, a, err);
	rc = pricelist_quarantine(s, provider, account, got->v.v, got->v.n, a, &path, err);
	if (rc != BERTH_OK)
		return rc;
	snprintf(why, sizeof(why), "quarantined in %.200s: %.200s", path, g.why);
	return pricelist_failed(s, account, provider, BERTH_EPRICE, why, a, r, err);
}

enum berth_code
pricelist_refresh(const struct pricelist_setup *s, struct prov_account *const *accounts, size_t n, int deadline_s,
    struct arena *a, struct pricelist_result *results, struct berth_err *err)
{
	struct pricelist_gather *got = arena_array_of(a, n, struct pricelist_gather);
	struct prov_many *many = arena_array_of(a, n, struct prov_many);
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n; i++) {
		got[i].a = a;
		many[i] = (struct prov_many){ .account = accounts[i], .offer_fn = pricelist_keep, .arg = &got[i] };
	}
	prov_run_many(many, n, deadline_s);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = pricelist_take(s, &many[i], &got[i], a, &results[i], err);
	return rc;
}
