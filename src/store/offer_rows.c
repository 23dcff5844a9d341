#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/machine_rows.h"
#include "store/offer_rows.h"
#include "store/priv.h"
#include "util/glob.h"
#include "util/hash.h"
#include "util/strmap.h"
#include "util/vec.h"

struct offer_list {
	struct arena *a;
	const struct offer_query *q;
	struct strmap speeds;			/* "provider\nregion\ntype\naccelerator" -> index into fleet */
	const struct fleet_speed *fleet;
	VEC(struct offer_price) v;
};

struct offer_names {
	struct arena *a;
	VEC(const char *) v;
};

static bool
offer_text_hits(const char *want, const char *have, bool pattern)
{
	if (want == NULL || want[0] == '\0')
		return true;
	return pattern ? glob_match(want, have) : strcmp(want, have) == 0;
}

static bool
offer_hits(const struct offer_query *q, const struct offer *o)
{
	return offer_text_hits(q->provider, o->provider, true) && offer_text_hits(q->account, o->account, false) &&
	    offer_text_hits(q->region, o->region, true) &&
	    offer_text_hits(q->instance_type, o->instance_type, false) &&
	    offer_text_hits(q->accelerator, o->accelerator, false) &&
	    (q->every_kind || o->kind == OFFER_PLAIN) && (!q->by_purchase || q->purchase == o->purchase) &&
	    (q->count_min <= 0 || o->accelerator_count >= q->count_min) &&
	    (q->count_max <= 0 || o->accelerator_count <= q->count_max) &&
	    !(o->accelerator_memory_gib < q->memory_min_gib);
}

static enum availability
offer_availability(const char *s)
{
	if (strcmp(s, availability_name(AVAIL_YES)) == 0)
		return AVAIL_YES;
	return strcmp(s, availability_name(AVAIL_NO)) == 0 ? AVAIL_NO : AVAIL_UNKNOWN;
}

static enum berth_code
offer_read(struct db_stmt *st, struct arena *a, struct offer *o, struct berth_err *err)
{
	const char *currency = db_col_text(st, "currency", a);

	*o = (struct offer){
		.id = db_col_i64(st, "id"),
		.provider = db_col_text(st, "provider", a),
		.account = db_col_text(st, "account", a),
		.region = db_col_text(st, "region", a),
		.zone = db_col_text(st, "zone", a),
		.instance_type = db_col_text(st, "instance_type", a),
		.accelerator = db_col_text(st, "accelerator", a),
		.accelerator_known = db_col_bool(st, "accelerator_known"),
		.accelerator_count = (int)db_col_i64(st, "accelerator_count"),
		.accelerator_memory_gib = db_col_real(st, "accelerator_memory_gib"),
		.vcpus = db_col_real(st, "vcpus"),
		.memory_gib = db_col_real(st, "memory_gib"),
		.term_months = (int)db_col_i64(st, "term_months"),
		.starts_at = db_col_i64(st, "starts_at"),
		.ends_at = db_col_i64(st, "ends_at"),
		.upfront = db_col_usd(st, "upfront"),
		.price = db_col_usd(st, "price"),
		.available = offer_availability(db_col_text(st, "available", a)),
		.interruption_rate = db_col_real(st, "interruption_rate"),
		.measured = (double)NAN,
		.as_of = db_col_i64(st, "as_of"),
		.source = db_col_text(st, "source", a),
	};
	memcpy(o->currency, currency, strlen(currency) < sizeof(o->currency) ? strlen(currency) : 0);
	if (!offer_kind_parse(db_col_text(st, "kind", a), &o->kind) ||
	    !purchase_parse(db_col_text(st, "purchase", a), &o->purchase) ||
	    !payment_parse(db_col_text(st, "payment", a), &o->payment))
		return err_set(err, BERTH_EINVAL, "store: offer %lld: its kind, purchase or payment is not one this berth "
		    "knows", (long long)o->id);
	return BERTH_OK;
}

static const char *
offer_fleet_key(struct arena *a, const char *provider, const char *region, const char *type, const char *acc)
{
	return arena_printf(a, "%s\n%s\n%s\n%s", provider, region, type, acc);
}

static enum berth_code
offer_list_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct offer_list *l = arg;
	struct offer_price p = { .from = db_col_i64(st, "from_t"), .until = db_col_i64(st, "until_t") };
	enum berth_code rc;
	const size_t *at;

	rc = offer_read(st, l->a, &p.offer, err);
	if (rc != BERTH_OK || !offer_hits(l->q, &p.offer))
		return rc;
	if (l->q->fresh_only && db_col_i64(st, "stale_since") != 0)
		return BERTH_OK;
	if (l->q->list_source != NULL && l->q->list_source[0] != '\0' &&
	    !offer_text_hits(l->q->list_source, db_col_text(st, "list_source", l->a), false))
		return BERTH_OK;
	at = l->speeds.n == 0 ? NULL : strmap_get(&l->speeds, offer_fleet_key(l->a, p.offer.provider,
	    p.offer.region, p.offer.instance_type, p.offer.accelerator));
	if (at != NULL)
		p.offer.measured = l->fleet[*at].speed;
	VEC_PUSH(l->a, &l->v, p);
	return BERTH_OK;
}

static enum berth_code
offer_fleet(struct store *s, struct offer_list *l, struct berth_err *err)
{
	struct fleet_speed *fs;
	enum berth_code rc;
	size_t n;

	rc = store_fleet_speeds(s, l->a, &fs, &n, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++)
		strmap_add(l->a, &l->speeds, offer_fleet_key(l->a, fs[i].provider, fs[i].region,
		    fs[i].instance_type, fs[i].accelerator), i, NULL);
	l->fleet = fs;
	return BERTH_OK;
}

#define OFFER_SELECT "SELECT o.*, p.stale_since, p.source AS list_source FROM offer o JOIN price_list p ON p.id = o.list_id WHERE "

/* The current rows of one list, or of the lists of one source. */
static enum berth_code
offer_scan_list(struct store *s, struct offer_list *l, struct berth_err *err)
{
	const char *provider = l->q->provider != NULL && strpbrk(l->q->provider, "*?[\\") == NULL ? l->q->provider : "";

	return store_each(s, offer_list_row, l, err, OFFER_SELECT "o.until_t IS NULL AND p.source = $1 AND "
	    "($2 = '' OR p.provider = $2)", DB_ARGS(db_text(l->q->list_source), db_text(provider)));
}

/* The rows of a query; the accelerator, which cuts them down most, is looked up by the index. */
static enum berth_code
offer_scan(struct store *s, struct offer_list *l, int64_t from, int64_t to, bool current, struct berth_err *err)
{
	const char *acc = l->q->accelerator != NULL ? l->q->accelerator : "";
	bool by_acc = acc[0] != '\0';

	if (current && l->q->list_source != NULL && l->q->list_source[0] != '\0')
		return offer_scan_list(s, l, err);
	/* what is asked most, and nothing of the list itself: no row of it is looked up */
	if (current && by_acc && !l->q->fresh_only)
		return store_each(s, offer_list_row, l, err, "SELECT o.* FROM offer o WHERE o.until_t IS NULL AND "
		    "o.accelerator = $1 AND o.accelerator_count >= $2 AND o.accelerator_count <= $3", DB_ARGS(db_text(acc),
		    db_i64(l->q->count_min), db_i64(l->q->count_max > 0 ? l->q->count_max : INT64_MAX)));
	if (current && by_acc)
		return store_each(s, offer_list_row, l, err, OFFER_SELECT "o.until_t IS NULL AND o.accelerator = $1 AND "
		    "o.accelerator_count >= $2 AND o.accelerator_count <= $3", DB_ARGS(db_text(acc), db_i64(l->q->count_min),
		    db_i64(l->q->count_max > 0 ? l->q->count_max : INT64_MAX)));
	if (current)
		return store_each(s, offer_list_row, l, err, OFFER_SELECT "o.until_t IS NULL", DB_NO_ARGS);
	if (by_acc)
		return store_each(s, offer_list_row, l, err, OFFER_SELECT "o.accelerator = $1 AND o.from_t < $2 "
		    "AND (o.until_t IS NULL OR o.until_t > $3)", DB_ARGS(db_text(acc), db_i64(to), db_i64(from)));
	return store_each(s, offer_list_row, l, err, OFFER_SELECT "o.from_t < $1 AND "
	    "(o.until_t IS NULL OR o.until_t > $2)", DB_ARGS(db_i64(to), db_i64(from)));
}

static enum berth_code
offer_name_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct offer_names *l = arg;

	(void)err;
	VEC_PUSH(l->a, &l->v, db_col_text(st, "name", l->a));
	return BERTH_OK;
}

enum berth_code
store_offer_accelerators(struct store *s, struct arena *a, const char ***names_out, size_t *n_out,
    struct berth_err *err)
{
	struct offer_names l = { .a = a };
	enum berth_code rc;

	/* from name to name along the index, instead of through all rows */
	rc = store_each(s, offer_name_row, &l, err, "WITH RECURSIVE t(name) AS (SELECT min(accelerator) FROM offer WHERE "
	    "until_t IS NULL UNION ALL SELECT (SELECT min(accelerator) FROM offer WHERE until_t IS NULL AND accelerator > "
	    "t.name) FROM t WHERE t.name IS NOT NULL) SELECT name FROM t WHERE name IS NOT NULL", DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*names_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_offer_list(struct store *s, const struct offer_query *q, struct arena *a, struct offer **offers_out,
    size_t *n_out, struct berth_err *err)
{
	static const struct offer_query all = { 0 };
	struct offer_list l = { .a = a, .q = q != NULL ? q : &all };
	struct offer *offers;
	enum berth_code rc;

	rc = offer_fleet(s, &l, err);
	if (rc == BERTH_OK)
		rc = offer_scan(s, &l, l.q->at, l.q->at + 1, l.q->at == 0, err);
	if (rc != BERTH_OK)
		return rc;
	offers = arena_array_of(a, l.v.n, struct offer);
	offer_sort_into(offers, l.v.v, sizeof(*l.v.v), l.v.n, a);
	*offers_out = offers;
	*n_out = l.v.n;
	return BERTH_OK;
}

static enum berth_code
offer_get_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct offer_list *l = arg;
	struct offer_price p = { 0 };
	enum berth_code rc = offer_read(st, l->a, &p.offer, err);

	if (rc == BERTH_OK)
		VEC_PUSH(l->a, &l->v, p);
	return rc;
}

enum berth_code
store_offer_get(struct store *s, int64_t id, struct arena *a, struct offer *offer_out, struct berth_err *err)
{
	struct offer_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, offer_get_row, &l, err, "SELECT * FROM offer WHERE id = $1", DB_ARGS(db_i64(id)));
	if (rc == BERTH_OK && l.v.n == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "there is no offer %lld", (long long)id);
	if (rc == BERTH_OK)
		*offer_out = l.v.v[0].offer;
	return rc;
}

/* What makes two rows the same offer at different times. */
static int
offer_same_cmp(const struct offer *x, const struct offer *y)
{
	int c;

	if ((c = strcmp(x->provider, y->provider)) != 0 || (c = strcmp(x->account, y->account)) != 0 ||
	    (c = strcmp(x->region, y->region)) != 0 ||
	    (c = strcmp(x->zone, y->zone)) != 0 || (c = strcmp(x->instance_type, y->instance_type)) != 0 ||
	    (c = strcmp(x->accelerator, y->accelerator)) != 0 || (c = strcmp(x->currency, y->currency)) != 0)
		return c;
	if (x->accelerator_count != y->accelerator_count)
		return x->accelerator_count < y->accelerator_count ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->purchase != y->purchase)
		return x->purchase < y->purchase ? -1 : 1;
	if (x->term_months != y->term_months)
		return x->term_months < y->term_months ? -1 : 1;
	if (x->payment != y->payment)
		return x->payment < y->payment ? -1 : 1;
	if (x->starts_at != y->starts_at)
		return x->starts_at < y->starts_at ? -1 : 1;
	return x->ends_at == y->ends_at ? 0 : x->ends_at < y->ends_at ? -1 : 1;
}

static int
offer_by_time(const void *a, const void *b)
{
	const struct offer_price *x = a, *y = b;
	int c = offer_same_cmp(&x->offer, &y->offer);

	if (c != 0)
		return c;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->offer.id == y->offer.id ? 0 : x->offer.id < y->offer.id ? -1 : 1;
}

enum berth_code
store_offer_history(struct store *s, const struct offer_query *q, int64_t from, int64_t to, struct arena *a,
    struct offer_price **prices_out, size_t *n_out, struct berth_err *err)
{
	static const struct offer_query all = { 0 };
	struct offer_list l = { .a = a, .q = q != NULL ? q : &all };
	enum berth_code rc;

	rc = offer_scan(s, &l, from, to != 0 ? to : INT64_MAX, false, err);
	if (rc != BERTH_OK)
		return rc;
	if (l.v.n > 0)
		qsort(l.v.v, l.v.n, sizeof(*l.v.v), offer_by_time);
	*prices_out = l.v.v;
	*n_out = l.v.n;
	return BERTH_OK;
}

/*
 * Replacing a list. Both sides are put in one order, by a hash, and run through together. Its upper half is that of
 * accelerator and count alone: what is asked for together is written together, and lies on few pages.
 */

struct offer_ranked { uint64_t hash; const struct offer *o; };

static uint64_t
offer_hash(const struct offer *o)
{
	const char *const texts[] = { o->provider, o->account, o->region, o->zone, o->instance_type, o->currency };
	uint64_t place = hash_join(hash_str(o->accelerator), (uint64_t)o->accelerator_count), h = place;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		h = hash_join(h, hash_str(texts[i]));
	h = hash_join(h, (uint64_t)o->term_months);
	if (o->kind == OFFER_BLOCK)
		h = hash_join(hash_join(h, (uint64_t)o->starts_at), (uint64_t)o->ends_at);
	h = hash_join(h, (uint64_t)o->kind << 32 | (uint64_t)o->purchase << 16 | (uint64_t)o->payment);
	return (place & ~UINT64_C(0xffffffff)) | h >> 32;
}

static int
offer_ranked_cmp(const struct offer_ranked *x, const struct offer_ranked *y)
{
	return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : offer_same_cmp(x->o, y->o);
}

static int
offer_by_identity(const void *a, const void *b)
{
	const struct offer_ranked *x = a, *y = b;
	int c = offer_ranked_cmp(x, y);

	if (c != 0)
		return c;
	if ((c = usd_cmp(x->o->price, y->o->price)) != 0)
		return c;
	return x->o->id == y->o->id ? 0 : x->o->id < y->o->id ? -1 : 1;
}

/* offers [n] in the order of the merge. */
static struct offer_ranked *
offer_rank(const struct offer *offers, size_t n, struct arena *a)
{
	struct offer_ranked *v = arena_array_of(a, n, struct offer_ranked);

	for (size_t i = 0; i < n; i++)
		v[i] = (struct offer_ranked){ offer_hash(&offers[i]), &offers[i] };
	if (n > 1)
		qsort(v, n, sizeof(*v), offer_by_identity);
	return v;
}

static bool
offer_same_real(double x, double y)
{
	return (isnan(x) && isnan(y)) || x == y;
}

static bool
offer_unchanged(const struct offer *x, const struct offer *y)
{
	return x->price.v == y->price.v && x->upfront.v == y->upfront.v && x->available == y->available &&
	    x->accelerator_known == y->accelerator_known &&
	    offer_same_real(x->accelerator_memory_gib, y->accelerator_memory_gib) &&
	    offer_same_real(x->vcpus, y->vcpus) && offer_same_real(x->memory_gib, y->memory_gib) &&
	    offer_same_real(x->interruption_rate, y->interruption_rate);
}

static enum berth_code
offer_add(struct store *s, int64_t list_id, const struct offer *o, int64_t now, struct berth_err *err)
{
	return db_run(s->db, err, "INSERT INTO offer (list_id, provider, account, region, zone, instance_type, "
	    "accelerator, accelerator_known, accelerator_count, accelerator_memory_gib, vcpus, memory_gib, purchase, "
	    "term_months, payment, upfront, price, currency, available, interruption_rate, as_of, source, from_t, run, kind, "
	    "starts_at, ends_at) "
	    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, "
	    "$22, $23, $24, $25, $26, $27)",
	    DB_ARGS(db_i64(list_id), db_text(o->provider), db_text(o->account), db_text(o->region), db_text(o->zone),
	    db_text(o->instance_type), db_text(o->accelerator), db_bool(o->accelerator_known),
	    db_i64(o->accelerator_count), db_real(o->accelerator_memory_gib), db_real(o->vcpus),
	    db_real(o->memory_gib), db_text(purchase_name(o->purchase)), db_i64(o->term_months),
	    db_text(payment_name(o->payment)), db_usd(o->upfront), db_usd(o->price), db_text(o->currency),
	    db_text(availability_name(o->available)), db_real(o->interruption_rate), db_id(o->as_of),
	    db_text(o->source), db_i64(now), db_id(s->run_id), db_text(offer_kind_name(o->kind)),
	    db_i64(o->starts_at), db_i64(o->ends_at)));
}

static enum berth_code
offer_end(struct store *s, int64_t id, int64_t now, struct berth_err *err)
{
	return db_run(s->db, err, "UPDATE offer SET until_t = $1 WHERE id = $2", DB_ARGS(db_i64(now), db_i64(id)));
}

/* have and want are the same offer. */
static enum berth_code
offer_keep(struct store *s, int64_t list_id, const struct offer *have, const struct offer *want, int64_t now,
    struct list_counts *counts, struct berth_err *err)
{
	enum berth_code rc;

	if (!offer_unchanged(have, want)) {
		counts->changed++;
		rc = offer_end(s, have->id, now, err);
		return rc == BERTH_OK ? offer_add(s, list_id, want, now, err) : rc;
	}
	counts->unchanged++;
	if (have->as_of == want->as_of && strcmp(have->source, want->source) == 0)
		return BERTH_OK;
	return db_run(s->db, err, "UPDATE offer SET as_of = $1, source = $2 WHERE id = $3",
	    DB_ARGS(db_id(want->as_of), db_text(want->source), db_i64(have->id)));
}

static enum berth_code
offer_merge(struct store *s, int64_t list_id, const struct offer_ranked *have, size_t n_have,
    const struct offer_ranked *want, size_t n_want, int64_t now, struct list_counts *counts, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	size_t i = 0, j = 0;

	while (rc == BERTH_OK && (i < n_have || j < n_want)) {
		int c = i == n_have ? 1 : j == n_want ? -1 : offer_ranked_cmp(&have[i], &want[j]);

		if (c < 0) {
			counts->removed++;
			rc = offer_end(s, have[i++].o->id, now, err);
		} else if (c > 0) {
			counts->added++;
			rc = offer_add(s, list_id, want[j++].o, now, err);
		} else {
			rc = offer_keep(s, list_id, have[i++].o, want[j++].o, now, counts, err);
		}
	}
	return rc;
}

static enum berth_code
offer_list_id(struct store *s, const char *provider, const char *account, const char *source, int64_t now,
    int64_t *id_out, struct berth_err *err)
{
	return db_insert(s->db, id_out, err, "INSERT INTO price_list (provider, account, source, fetched, reason, run) "
	    "VALUES ($1, $2, $3, $4, '', $5) ON CONFLICT (provider, account, source) DO UPDATE SET fetched = $4, "
	    "stale_since = NULL, reason = '', run = $5 RETURNING id",
	    DB_ARGS(db_text(provider), db_text(account), db_text(source), db_i64(now), db_id(s->run_id)));
}

static enum berth_code
offer_replace_all(struct store *s, const char *provider, const char *account, const char *source,
    struct offer *want, size_t n, int64_t now, struct list_counts *counts, struct berth_err *err)
{
	struct offer_list have = { .a = arena_new() };
	struct offer *old;
	enum berth_code rc;
	int64_t list_id;

	rc = offer_list_id(s, provider, account, source, now, &list_id, err);
	if (rc == BERTH_OK)
		rc = store_each(s, offer_get_row, &have, err, "SELECT * FROM offer WHERE list_id = $1 AND until_t IS NULL",
		    DB_ARGS(db_i64(list_id)));
	if (rc == BERTH_OK) {
		old = arena_array_of(have.a, have.v.n, struct offer);
		for (size_t i = 0; i < have.v.n; i++)
			old[i] = have.v.v[i].offer;
		rc = offer_merge(s, list_id, offer_rank(old, have.v.n, have.a), have.v.n,
		    offer_rank(want, n, have.a), n, now, counts, err);
	}
	arena_free(have.a);
	return rc;
}

enum berth_code
store_offers_replace(struct store *s, const char *provider, const char *account, const char *source,
    const struct offer *offers, size_t n, int64_t now, struct list_counts *counts_out, struct berth_err *err)
{
	struct list_counts counts = { 0 };
	struct arena *a = arena_new();
	struct offer *want = arena_array_of(a, n, struct offer);
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		want[i] = offers[i];
		want[i].account = account;
		if (want[i].source[0] == '\0')
			want[i].source = source;
		if (strcmp(offers[i].provider, provider) != 0)
			rc = err_set(err, BERTH_EINVAL, "prices of %s: offer %zu is of %s", provider, i + 1,
			    offers[i].provider);
	}
	if (rc == BERTH_OK)
		rc = store_begin(s, err);
	if (rc == BERTH_OK) {
		rc = offer_replace_all(s, provider, account, source, want, n, now, &counts, err);
		rc = store_end(s, rc, err);
	}
	if (rc == BERTH_OK && counts_out != NULL)
		*counts_out = counts;
	arena_free(a);
	return rc;
}

enum berth_code
store_offers_stale(struct store *s, const char *provider, const char *account, const char *source,
    const char *reason, int64_t now, struct berth_err *err)
{
	return store_write(s, err, "INSERT INTO price_list (provider, account, source, fetched, stale_since, reason, "
	    "run) VALUES ($1, $2, $3, 0, $4, $5, $6) ON CONFLICT (provider, account, source) DO UPDATE SET "
	    "stale_since = COALESCE(price_list.stale_since, $4), reason = $5, run = $6",
	    DB_ARGS(db_text(provider), db_text(account), db_text(source), db_i64(now), db_text(reason),
	    db_id(s->run_id)));
}

struct price_lists {
	struct arena *a;
	VEC(struct price_list) v;
};

static enum berth_code
price_list_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct price_lists *l = arg;
	struct price_list *p = VEC_ADD(l->a, &l->v);

	(void)err;
	p->id = db_col_i64(st, "id");
	p->provider = db_col_text(st, "provider", l->a);
	p->account = db_col_text(st, "account", l->a);
	p->source = db_col_text(st, "source", l->a);
	p->fetched = db_col_i64(st, "fetched");
	p->offers = db_col_i64(st, "offers");
	p->stale_since = db_col_i64(st, "stale_since");
	p->stale = p->stale_since != 0;
	p->reason = db_col_text(st, "reason", l->a);
	return BERTH_OK;
}

enum berth_code
store_price_list_stale(struct store *s, struct arena *a, struct price_list **lists_out, size_t *n_out,
    struct berth_err *err)
{
	struct price_lists l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, price_list_row, &l, err, "SELECT p.*, 0 AS offers FROM price_list p WHERE p.stale_since IS NOT "
	    "NULL ORDER BY p.provider, p.account, p.source", DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*lists_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_price_list_list(struct store *s, struct arena *a, struct price_list **lists_out, size_t *n_out,
    struct berth_err *err)
{
	struct price_lists l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, price_list_row, &l, err, "SELECT p.*, (SELECT count(*) FROM offer o WHERE o.list_id = p.id "
	    "AND o.until_t IS NULL) AS offers FROM price_list p ORDER BY p.provider, p.account, p.source", DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*lists_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}
