/* quotas: what each account's provider says that it may have, asked for when it has grown old or a
 * launch was refused. */
#include "broker/quotas.h"

#include <math.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/placing_facts.h"
#include "model/block.h"
#include "store/machine_rows.h"
#include "store/offer_rows.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"
#include "util/yaml.h"

#define QUOTAS_MOST 1e12 /* more is none */

enum berth_code
quotas_policy_read(const struct yaml_node *config, struct quota_policy *out, struct berth_err *err)
{
	static const char *const keys[] = { "every", "max_age", NULL };
	const struct yaml_node *n = NULL;
	enum berth_code rc = yaml_map(config, "quotas", &n, err);

	*out = (struct quota_policy){ QUOTAS_EVERY_S, QUOTAS_AGE_S };
	if (rc != BERTH_OK || n == NULL || (rc = yaml_check_keys(n, keys, err)) != BERTH_OK ||
	    (rc = yaml_duration(n, "every", &out->every_s, err)) != BERTH_OK)
		return rc;
	return yaml_duration(n, "max_age", &out->age_s, err);
}

/* "aws us-east-1 L-417A185B Running On-Demand P instances" */
static const char *
quota_name(const struct quota_row *q, struct arena *a)
{
	return arena_printf(a, "%s%s%s %s%s%s", q->account, q->region[0] != '\0' ? " " : "",
	    q->region, q->name, q->any_purchase ? "" : " ",
	    q->any_purchase ? "" : purchase_name(q->purchase));
}

/* What it counts; how much is the caller's. */
static struct placing_limit
quota_limit(const struct quota_row *q, struct arena *a)
{
	struct placing_told *t = arena_alloc(a, sizeof(*t));

	*t = (struct placing_told){ .provider = q->provider,
		.account = q->account,
		.region = q->region,
		.zone = q->zone,
		.most = q->limit,
		.used = q->used,
		.others = isnan(q->used) ? 0 : fmax(0, q->used - q->ours),
		.as_of = q->as_of };
	if (q->types[0] != '\0')
		t->types = (const char *const *)str_split(a, q->types, ' ', &t->n_types);
	return (struct placing_limit){ .name = quota_name(q, a),
		.provider = q->provider,
		.account = q->account,
		.region = q->region,
		.accelerator = q->accelerator,
		.purchase = q->any_purchase ? "" : purchase_name(q->purchase),
		.unit = q->unit,
		.told = t };
}

static bool
quota_counts_any(const struct placing_limit *l, const struct offer *const *offers, size_t n_offers)
{
	for (size_t i = 0; i < n_offers; i++)
		if (placing_quota_weight(l, offers[i]) > 0)
			return true;
	return false;
}

void
quotas_limits(const struct quota_row *quotas, size_t n, int64_t now, int64_t age_s,
    const struct offer *const *offers, size_t n_offers, const struct placing_limit *limits,
    size_t n_limits, struct arena *a, struct placing_limit **out, size_t *n_out)
{
	VEC(struct placing_limit) v = { 0 };

	for (size_t i = 0; i < n_limits; i++)
		VEC_PUSH(a, &v, limits[i]);
	for (size_t i = 0; i < n; i++) {
		const struct quota_row *q = &quotas[i];
		struct placing_limit l;
		struct placing_told *t;

		if (!q->counts || !(q->limit >= 0) || q->limit > QUOTAS_MOST ||
		    now - q->as_of > age_s || age_s == 0)
			continue;
		l = quota_limit(q, a);
		t = arena_memdup(a, l.told, sizeof(*t));
		t->limits = limits;
		t->n_limits = n_limits;
		l.told = t;
		l.limit = (int64_t)floor(fmax(0, t->most - t->others));
		if (quota_counts_any(&l, offers, n_offers))
			VEC_PUSH(a, &v, l);
	}
	*out = v.v;
	*n_out = v.n;
}

enum berth_code
quotas_limits_load(struct store *store, int64_t now, int64_t age_s,
    const struct placing_limit *limits, size_t n_limits, struct arena *a,
    struct placing_limit **out, size_t *n_out, struct berth_err *err)
{
	const struct offer **at;
	struct quota_row *quotas;
	struct offer *offers = NULL;
	size_t n = 0, n_offers = 0;
	enum berth_code rc = store_quota_list(store, true, a, &quotas, &n, err);

	if (rc == BERTH_OK && n > 0)
		rc = store_offer_list(store, NULL, a, &offers, &n_offers, err);
	if (rc != BERTH_OK)
		return rc;
	at = arena_array_of(a, n_offers + 1, const struct offer *);
	for (size_t i = 0; i < n_offers; i++)
		at[i] = &offers[i];
	quotas_limits(quotas, n, now, age_s, at, n_offers, limits, n_limits, a, out, n_out);
	return BERTH_OK;
}

static enum quota_state
quota_state(int64_t as_of, int64_t now, int64_t age_s)
{
	return as_of == 0 ? QUOTA_UNKNOWN : now - as_of > age_s ? QUOTA_OLD : QUOTA_KNOWN;
}

enum quota_state
quota_reading_state(const struct quota_reading *r, int64_t now, int64_t age_s)
{
	return quota_state(
	    str_eq(r->code, err_name(BERTH_EPARTIAL)) ? r->tried : r->as_of, now, age_s);
}

enum quota_state
quota_region_state(const struct quota_region *r, int64_t now, int64_t age_s)
{
	return quota_state(r->as_of, now, age_s);
}

const char *
quota_state_name(enum quota_state s)
{
	return s == QUOTA_KNOWN ? "known" : s == QUOTA_OLD ? "old" : "unknown";
}

static const char *
quota_text(
    const char *whose, enum quota_state state, int64_t as_of, const char *error, struct arena *a)
{
	char t[TIME_FMT_SIZE];

	if (state == QUOTA_KNOWN && error[0] == '\0')
		return "";
	return arena_printf(a, "quotas of %s are %s: %s%s%s%s", whose,
	    state == QUOTA_KNOWN ? "known in part" : "unknown",
	    as_of == 0 ? "never told" : "last told ", as_of == 0 ? "" : time_fmt(t, as_of),
	    error[0] != '\0' ? "; " : "", error);
}

const char *
quota_reading_text(const struct quota_reading *r, int64_t now, int64_t age_s, struct arena *a)
{
	return age_s == 0 ? ""
			  : quota_text(r->account, quota_reading_state(r, now, age_s), r->as_of,
				r->error, a);
}

const char *
quota_region_text(const struct quota_region *r, int64_t now, int64_t age_s, struct arena *a)
{
	return age_s == 0 ? ""
			  : quota_text(arena_printf(a, "%s in %s", r->account, r->region),
				quota_region_state(r, now, age_s), r->as_of, r->error, a);
}

/* What one account says, as it comes. */
struct quotas_gather {
	struct arena *a;
	const char *account;
	int64_t now;
	const struct instance *machines; /* [n_machines] of ours that are not gone */
	size_t n_machines;
	VEC(struct quota_row) v;
	VEC(struct quota_region) regions;
};

static enum berth_code
quotas_keep(void *arg, const struct prov_quota *p, struct berth_err *err)
{
	struct quotas_gather *g = arg;
	struct quota_row *q = VEC_ADD(g->a, &g->v);
	struct placing_limit l;

	(void)err;
	*q = (struct quota_row){ .account = g->account,
		.region = arena_strdup(g->a, p->region),
		.zone = arena_strdup(g->a, p->zone),
		.name = arena_strdup(g->a, p->name),
		.unit = arena_strdup(g->a, p->unit),
		.purchase = p->purchase,
		.any_purchase = p->any_purchase,
		.counts = p->counts,
		.provider = arena_strdup(g->a, p->provider),
		.types = arena_strdup(g->a, p->types),
		.accelerator = arena_strdup(g->a, p->accelerator),
		.limit = p->limit,
		.used = p->used,
		.as_of = g->now };
	if (!q->counts)
		return BERTH_OK;
	l = quota_limit(q, g->a);
	for (size_t i = 0; i < g->n_machines; i++)
		q->ours += (double)placing_quota_weight(&l, &g->machines[i].offer);
	return BERTH_OK;
}

static void
quotas_region(void *arg, const char *region, const struct berth_err *err)
{
	struct quotas_gather *g = arg;

	VEC_PUSH(g->a, &g->regions,
	    ((struct quota_region){ .account = g->account,
		.region = arena_strdup(g->a, region),
		.code = err == NULL ? "" : err_name(err->code),
		.error = err == NULL ? "" : arena_strdup(g->a, err->msg) }));
}

/* What quotas [n] leave for machines of an offer, as they were told. */
struct quotas_room {
	bool known;  /* some count it */
	double left; /* the least of those, in machines */
};

static struct quotas_room
quotas_room(const struct quota_row *quotas, size_t n, const struct offer *o, struct arena *a)
{
	struct quotas_room room = { false, INFINITY };

	for (size_t i = 0; i < n; i++) {
		const struct quota_row *q = &quotas[i];
		struct placing_limit l;
		int64_t weight;

		if (!q->counts || !str_eq(q->account, o->account) || !(q->limit >= 0))
			continue;
		l = quota_limit(q, a);
		weight = placing_quota_weight(&l, o);
		if (weight <= 0)
			continue;
		room.known = true;
		room.left = fmin(room.left,
		    floor((q->limit - (isnan(q->used) ? q->ours : q->used)) / (double)weight));
	}
	return room;
}

/* What was known of the account before [n_before] and is now. */
struct quotas_news {
	const char *account;
	int64_t now;
	struct quota_row *before, *after;
	size_t n_before, n_after;
};

/*
 * A place that was refused for a quota may be asked for again once its provider tells of room. What
 * told of as much before the refusal was wrong then, and proves nothing now.
 */
static enum berth_code
quotas_lift(struct store *store, const struct quotas_news *news, const struct block *b,
    const struct offer *offers, size_t n_offers, struct arena *a, struct berth_err *err)
{
	for (size_t i = 0; i < n_offers; i++) {
		struct quotas_room was, is;

		if (!str_eq(offers[i].account, news->account) ||
		    !place_key_hits(&b->key, &offers[i]))
			continue;
		is = quotas_room(news->after, news->n_after, &offers[i], a);
		was = quotas_room(news->before, news->n_before, &offers[i], a);
		if (is.known && is.left >= 1 && (!was.known || is.left > was.left))
			return store_block_clear(store, &b->key, err);
	}
	return BERTH_OK;
}

static enum berth_code
quotas_lift_all(
    struct store *store, const struct quotas_news *news, struct arena *a, struct berth_err *err)
{
	struct block *blocks;
	struct offer *offers = NULL;
	size_t n = 0, n_offers = 0;
	enum berth_code rc = store_block_active(store, news->now, a, &blocks, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (!str_eq(blocks[i].code, err_name(BERTH_EQUOTA)) ||
		    !str_eq(blocks[i].key.account, news->account) || blocks[i].from >= news->now)
			continue;
		if (offers == NULL)
			rc = store_offer_list(store, NULL, a, &offers, &n_offers, err);
		if (rc == BERTH_OK)
			rc = quotas_lift(store, news, &blocks[i], offers, n_offers, a, err);
	}
	return rc;
}

static enum berth_code
quotas_take(struct store *store, int64_t now, const struct prov_many *m,
    const struct quotas_gather *g, struct quotas_result *r, struct berth_err *err)
{
	const struct quota_reading reading = { .account = g->account,
		.provider = prov_account_ops(m->account)->name,
		.tried = now,
		.code = m->code == BERTH_OK ? "" : err_name(m->code),
		.error = m->code == BERTH_OK ? "" : arena_strdup(g->a, m->err.msg) };
	struct quotas_news news = { .account = g->account, .now = now };
	enum berth_code rc = store_quota_list(store, true, g->a, &news.before, &news.n_before, err);

	*r = (struct quotas_result){ g->account, g->v.n, m->code, reading.error };
	if (rc == BERTH_OK)
		rc = store_quota_put(
		    store, &reading, g->v.v, g->v.n, g->regions.v, g->regions.n, err);
	if (rc == BERTH_OK)
		rc = store_quota_list(store, true, g->a, &news.after, &news.n_after, err);
	return rc == BERTH_OK ? quotas_lift_all(store, &news, g->a, err) : rc;
}

enum berth_code
quotas_refresh(struct store *store, int64_t now, struct prov_account *const *accounts, size_t n,
    int deadline_s, struct arena *a, struct quotas_result *results, struct berth_err *err)
{
	struct quotas_gather *got = arena_array_of(a, n, struct quotas_gather);
	struct prov_many *many = arena_array_of(a, n, struct prov_many);
	struct instance *machines;
	size_t n_machines;
	enum berth_code rc =
	    store_instance_list(store, INSTANCE_ALIVE, a, &machines, &n_machines, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		got[i] = (struct quotas_gather){ .a = a,
			.account = arena_strdup(a, prov_account_name(accounts[i])),
			.now = now,
			.machines = machines,
			.n_machines = n_machines };
		many[i] = (struct prov_many){ .account = accounts[i],
			.quota_fn = quotas_keep,
			.region_fn = quotas_region,
			.arg = &got[i] };
	}
	prov_run_many(many, n, deadline_s);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = quotas_take(store, now, &many[i], &got[i], &results[i], err);
	return rc;
}

/* Can be asked now, and what it said is old, or was said before a launch was refused. */
static bool
quotas_due(const struct broker *b, const struct broker_account *acc, const struct quota_reading *rs,
    size_t n)
{
	if (acc->prov == NULL || acc->down != BERTH_OK || b->quotas.every_s == 0 ||
	    b->quotas.age_s == 0 || (prov_account_ops(acc->prov)->caps & PROV_CAP_QUOTA) == 0 ||
	    (b->offline && !provider_is_local(prov_account_ops(acc->prov))))
		return false;
	for (size_t i = 0; i < n; i++)
		if (str_eq(rs[i].account, acc->name))
			return rs[i].due || b->now - rs[i].tried >= b->quotas.every_s;
	return true;
}

enum berth_code
pass_quotas(struct broker *b, struct berth_err *err)
{
	struct prov_account **ask =
	    arena_array_of(b->tick_arena, b->n_accounts, struct prov_account *);
	struct quotas_result *results =
	    arena_array_of(b->tick_arena, b->n_accounts, struct quotas_result);
	struct quota_reading *rs;
	size_t n, due = 0;
	enum berth_code rc = store_quota_readings(b->store, b->tick_arena, &rs, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < b->n_accounts; i++)
		if (quotas_due(b, &b->accounts[i], rs, n))
			ask[due++] = b->accounts[i].prov;
	if (rc != BERTH_OK || due == 0)
		return rc;
	rc = quotas_refresh(
	    b->store, b->now, ask, due, b->policy.sync_pass_s, b->tick_arena, results, err);
	for (size_t i = 0; rc == BERTH_OK && i < due; i++)
		if (results[i].code != BERTH_OK)
			log_warn(b->log, "quotas of %s are %s: %s", results[i].account,
			    results[i].code == BERTH_EPARTIAL ? "known in part" : "not known",
			    results[i].error);
	return rc;
}
