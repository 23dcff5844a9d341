#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/offerkey.h"
#include "store/machine_rows.h"
#include "store/offer_rows.h"
#include "store/priv.h"
#include "util/glob.h"
#include "util/strmap.h"
#include "util/vec.h"

/* The texts of a list are the same few over and over: one copy of each, and those of the last row
 * are tried first. */
enum offer_text {
	OFFER_TEXT_PROVIDER,
	OFFER_TEXT_ACCOUNT,
	OFFER_TEXT_REGION,
	OFFER_TEXT_ZONE,
	OFFER_TEXT_TYPE,
	OFFER_TEXT_ACCELERATOR,
	OFFER_TEXT_CURRENCY,
	OFFER_TEXT_PURCHASE,
	OFFER_TEXT_PAYMENT,
	OFFER_TEXT_KIND,
	OFFER_TEXT_AVAILABLE,
	OFFER_TEXT_SOURCE,
	OFFER_TEXT_COUNT
};
struct offer_reader {
	struct arena *a;
	struct strmap texts;
	const char *last[OFFER_TEXT_COUNT];
	enum purchase purchase; /* of last[] */
	enum payment payment;
	enum offer_kind kind;
	enum availability available;
};

struct offer_list {
	struct arena *a;
	struct offer_reader reader;
	const struct offer_query *q;
	struct strmap speeds; /* "provider\nregion\ntype\naccelerator" -> index into fleet */
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
	return offer_text_hits(q->provider, o->provider, true) &&
	       offer_text_hits(q->account, o->account, false) &&
	       (q->region == NULL || q->region[0] == '\0' || offer_region_hits(q->region, o)) &&
	       offer_text_hits(q->instance_type, o->instance_type, false) &&
	       offer_text_hits(q->accelerator, o->accelerator, false) &&
	       (q->every_kind || o->kind == OFFER_PLAIN) &&
	       (!q->by_purchase || q->purchase == o->purchase) &&
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

/* Whether it is another text than in the row before. */
static bool
offer_text(struct db_stmt *st, struct offer_reader *r, enum offer_text t, const char *column)
{
	struct db_val v = db_col_at(st, db_col(st, column));
	const char *s = v.type == DB_TEXT ? v.s : "";

	if (r->last[t] != NULL && strcmp(r->last[t], s) == 0)
		return false;
	r->last[t] = strmap_intern(r->a, &r->texts, s);
	return true;
}

static bool
offer_read_words(struct db_stmt *st, struct offer_reader *r)
{
	if (offer_text(st, r, OFFER_TEXT_KIND, "kind") &&
	    !offer_kind_parse(r->last[OFFER_TEXT_KIND], &r->kind))
		return false;
	if (offer_text(st, r, OFFER_TEXT_PURCHASE, "purchase") &&
	    !purchase_parse(r->last[OFFER_TEXT_PURCHASE], &r->purchase))
		return false;
	if (offer_text(st, r, OFFER_TEXT_PAYMENT, "payment") &&
	    !payment_parse(r->last[OFFER_TEXT_PAYMENT], &r->payment))
		return false;
	if (offer_text(st, r, OFFER_TEXT_AVAILABLE, "available"))
		r->available = offer_availability(r->last[OFFER_TEXT_AVAILABLE]);
	return true;
}

static void
offer_read_names(struct db_stmt *st, struct offer_reader *r)
{
	offer_text(st, r, OFFER_TEXT_PROVIDER, "provider");
	offer_text(st, r, OFFER_TEXT_ACCOUNT, "account");
	offer_text(st, r, OFFER_TEXT_REGION, "region");
	offer_text(st, r, OFFER_TEXT_ZONE, "zone");
	offer_text(st, r, OFFER_TEXT_TYPE, "instance_type");
	offer_text(st, r, OFFER_TEXT_ACCELERATOR, "accelerator");
	offer_text(st, r, OFFER_TEXT_CURRENCY, "currency");
	offer_text(st, r, OFFER_TEXT_SOURCE, "source");
}

static enum berth_code
offer_read(struct db_stmt *st, struct offer_reader *r, struct offer *o, struct berth_err *err)
{
	const char *currency;

	offer_read_names(st, r);
	if (!offer_read_words(st, r))
		return err_set(err, BERTH_EINVAL,
		    "store: offer %lld: its kind, purchase or payment is not one this berth knows",
		    (long long)db_col_i64(st, "id"));
	currency = r->last[OFFER_TEXT_CURRENCY];
	*o = (struct offer){
		.id = db_col_i64(st, "id"),
		.provider = r->last[OFFER_TEXT_PROVIDER],
		.account = r->last[OFFER_TEXT_ACCOUNT],
		.region = r->last[OFFER_TEXT_REGION],
		.zone = r->last[OFFER_TEXT_ZONE],
		.instance_type = r->last[OFFER_TEXT_TYPE],
		.accelerator = r->last[OFFER_TEXT_ACCELERATOR],
		.accelerator_known = db_col_bool(st, "accelerator_known"),
		.accelerator_count = (int)db_col_i64(st, "accelerator_count"),
		.accelerator_memory_gib = db_col_real(st, "accelerator_memory_gib"),
		.vcpus = db_col_real(st, "vcpus"),
		.memory_gib = db_col_real(st, "memory_gib"),
		.kind = r->kind,
		.purchase = r->purchase,
		.term_months = (int)db_col_i64(st, "term_months"),
		.starts_at = db_col_i64(st, "starts_at"),
		.ends_at = db_col_i64(st, "ends_at"),
		.payment = r->payment,
		.upfront = db_col_usd(st, "upfront"),
		.price = db_col_usd(st, "price"),
		.usage = db_col_usd(st, "usage_price"),
		.available = r->available,
		.interruption_rate = db_col_real(st, "interruption_rate"),
		.measured = (double)NAN,
		.as_of = db_col_i64(st, "as_of"),
		.source = r->last[OFFER_TEXT_SOURCE],
	};
	memcpy(
	    o->currency, currency, strlen(currency) < sizeof(o->currency) ? strlen(currency) : 0);
	return BERTH_OK;
}

static const char *
offer_fleet_key(
    struct arena *a, const char *provider, const char *region, const char *type, const char *acc)
{
	return arena_printf(a, "%s\n%s\n%s\n%s", provider, region, type, acc);
}

static enum berth_code
offer_list_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct offer_list *l = arg;
	struct offer_price p = { .from = db_col_i64(st, "from_t"),
		.until = db_col_i64(st, "until_t") };
	enum berth_code rc;
	const size_t *at;

	rc = offer_read(st, &l->reader, &p.offer, err);
	if (rc != BERTH_OK || !offer_hits(l->q, &p.offer))
		return rc;
	p.offer.read_at = db_col_i64(st, "fetched");
	if (l->q->fresh_only && db_col_i64(st, "stale_since") != 0)
		return BERTH_OK;
	if (l->q->list_source != NULL && l->q->list_source[0] != '\0' &&
	    !offer_text_hits(l->q->list_source, db_col_text(st, "list_source", l->a), false))
		return BERTH_OK;
	at = l->speeds.n == 0
		 ? NULL
		 : strmap_get(&l->speeds, offer_fleet_key(l->a, p.offer.provider, p.offer.region,
					      p.offer.instance_type, p.offer.accelerator));
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
		strmap_add(l->a, &l->speeds,
		    offer_fleet_key(
			l->a, fs[i].provider, fs[i].region, fs[i].instance_type, fs[i].accelerator),
		    i, NULL);
	l->fleet = fs;
	return BERTH_OK;
}

#define OFFER_SELECT                                                                               \
	"SELECT o.*, p.stale_since, p.fetched, p.source AS list_source FROM offer o JOIN "         \
	"price_list p ON p.id = o.list_id WHERE "

/* The current rows of one list, or of the lists of one source: the lists first, then the rows of
 * each. */
static enum berth_code
offer_scan_list(struct store *s, struct offer_list *l, struct berth_err *err)
{
	const char *provider = l->q->provider != NULL && strpbrk(l->q->provider, "*?[\\") == NULL
				   ? l->q->provider
				   : "";

	return store_each(s, offer_list_row, l, err,
	    OFFER_SELECT "o.until_t IS NULL AND o.list_id IN (SELECT id FROM price_list WHERE "
			 "source = $1 AND ($2 = '' OR provider = $2))",
	    DB_ARGS(db_text(l->q->list_source), db_text(provider)));
}

static enum berth_code
offer_scan_ids(struct store *s, struct offer_list *l, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < l->q->n_ids; i++)
		rc = store_each(s, offer_list_row, l, err, OFFER_SELECT "o.id = $1",
		    DB_ARGS(db_i64(l->q->ids[i])));
	return rc;
}

/* The rows of a query; the accelerator, which cuts them down most, is looked up by the index. */
static enum berth_code
offer_scan(struct store *s, struct offer_list *l, int64_t from, int64_t to, bool current,
    struct berth_err *err)
{
	const char *acc = l->q->accelerator != NULL ? l->q->accelerator : "";
	bool by_acc = acc[0] != '\0';

	if (current && l->q->list_source != NULL && l->q->list_source[0] != '\0')
		return offer_scan_list(s, l, err);
	/* what is asked most, and nothing of the list itself: no row of it is looked up */
	if (current && by_acc && !l->q->fresh_only)
		return store_each(s, offer_list_row, l, err,
		    "SELECT o.*, 0 AS fetched FROM offer o WHERE o.until_t IS NULL AND "
		    "o.accelerator = $1 AND o.accelerator_count >= $2 AND o.accelerator_count <= "
		    "$3",
		    DB_ARGS(db_text(acc), db_i64(l->q->count_min),
			db_i64(l->q->count_max > 0 ? l->q->count_max : INT64_MAX)));
	if (current && by_acc)
		return store_each(s, offer_list_row, l, err,
		    OFFER_SELECT "o.until_t IS NULL AND o.accelerator = $1 AND o.accelerator_count "
				 ">= $2 AND o.accelerator_count <= $3",
		    DB_ARGS(db_text(acc), db_i64(l->q->count_min),
			db_i64(l->q->count_max > 0 ? l->q->count_max : INT64_MAX)));
	if (current)
		return store_each(
		    s, offer_list_row, l, err, OFFER_SELECT "o.until_t IS NULL", DB_NO_ARGS);
	if (by_acc)
		return store_each(s, offer_list_row, l, err,
		    OFFER_SELECT "o.accelerator = $1 AND o.from_t < $2 AND (o.until_t IS NULL OR "
				 "o.until_t > $3)",
		    DB_ARGS(db_text(acc), db_i64(to), db_i64(from)));
	return store_each(s, offer_list_row, l, err,
	    OFFER_SELECT "o.from_t < $1 AND (o.until_t IS NULL OR o.until_t > $2)",
	    DB_ARGS(db_i64(to), db_i64(from)));
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
store_offer_accelerators(
    struct store *s, struct arena *a, const char ***names_out, size_t *n_out, struct berth_err *err)
{
	struct offer_names l = { .a = a };
	enum berth_code rc;

	/* from name to name along the index, instead of through all rows */
	rc = store_each(s, offer_name_row, &l, err,
	    "WITH RECURSIVE t(name) AS (SELECT min(accelerator) FROM offer WHERE until_t IS NULL "
	    "UNION ALL SELECT (SELECT min(accelerator) FROM offer WHERE until_t IS NULL AND "
	    "accelerator > t.name) FROM t WHERE t.name IS NOT NULL) SELECT name FROM t WHERE name "
	    "IS NOT NULL",
	    DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*names_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_offer_list(struct store *s, const struct offer_query *q, struct arena *a,
    struct offer **offers_out, size_t *n_out, struct berth_err *err)
{
	static const struct offer_query all = { 0 };
	struct offer_list l = { .a = a, .reader.a = a, .q = q != NULL ? q : &all };
	struct offer *offers;
	enum berth_code rc;

	rc = offer_fleet(s, &l, err);
	if (rc == BERTH_OK)
		rc = l.q->by_ids ? offer_scan_ids(s, &l, err)
				 : offer_scan(s, &l, l.q->at, l.q->at + 1, l.q->at == 0, err);
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
	enum berth_code rc = offer_read(st, &l->reader, &p.offer, err);

	if (rc == BERTH_OK)
		VEC_PUSH(l->a, &l->v, p);
	return rc;
}

enum berth_code
store_offer_current(struct store *s, const char *provider, const char *account, const char *source,
    struct arena *a, struct offer **offers_out, size_t *n_out, struct berth_err *err)
{
	struct offer_list l = { .a = a, .reader.a = a };
	struct offer *v;
	enum berth_code rc = store_each(s, offer_get_row, &l, err,
	    "SELECT * FROM offer WHERE until_t IS NULL AND list_id = (SELECT id FROM price_list "
	    "WHERE provider = $1 AND account = $2 AND source = $3)",
	    DB_ARGS(db_text(provider), db_text(account), db_text(source)));

	if (rc != BERTH_OK)
		return rc;
	v = arena_array_of(a, l.v.n, struct offer);
	for (size_t i = 0; i < l.v.n; i++)
		v[i] = l.v.v[i].offer;
	*offers_out = v;
	*n_out = l.v.n;
	return BERTH_OK;
}

enum berth_code
store_offer_get(
    struct store *s, int64_t id, struct arena *a, struct offer *offer_out, struct berth_err *err)
{
	struct offer_list l = { .a = a, .reader.a = a };
	enum berth_code rc;

	rc = store_each(
	    s, offer_get_row, &l, err, "SELECT * FROM offer WHERE id = $1", DB_ARGS(db_i64(id)));
	if (rc == BERTH_OK && l.v.n == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "there is no offer %lld", (long long)id);
	if (rc == BERTH_OK)
		*offer_out = l.v.v[0].offer;
	return rc;
}

static int
offer_by_time(const void *a, const void *b)
{
	const struct offer_price *x = a, *y = b;
	int c = strcmp(x->offer.provider, y->offer.provider);

	if (c == 0)
		c = strcmp(x->offer.account, y->offer.account);
	if (c == 0)
		c = offerkey_cmp(&x->offer, &y->offer);

	if (c != 0)
		return c;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->offer.id == y->offer.id ? 0 : x->offer.id < y->offer.id ? -1 : 1;
}

enum berth_code
store_offer_history(struct store *s, const struct offer_query *q, int64_t from, int64_t to,
    struct arena *a, struct offer_price **prices_out, size_t *n_out, struct berth_err *err)
{
	static const struct offer_query all = { 0 };
	struct offer_list l = { .a = a, .reader.a = a, .q = q != NULL ? q : &all };
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

enum berth_code
store_offers_stale(struct store *s, const char *provider, const char *account, const char *source,
    const char *reason, int64_t now, struct berth_err *err)
{
	return store_write(s, err,
	    "INSERT INTO price_list (provider, account, source, fetched, stale_since, reason, run) "
	    "VALUES ($1, $2, $3, 0, $4, $5, $6) ON CONFLICT (provider, account, source) DO UPDATE "
	    "SET stale_since = COALESCE(price_list.stale_since, $4), reason = $5, run = $6",
	    DB_ARGS(db_text(provider), db_text(account), db_text(source), db_i64(now),
		db_text(reason), db_id(s->run_id)));
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
store_price_list_stale(struct store *s, struct arena *a, struct price_list **lists_out,
    size_t *n_out, struct berth_err *err)
{
	struct price_lists l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, price_list_row, &l, err,
	    "SELECT p.*, 0 AS offers FROM price_list p WHERE p.stale_since IS NOT NULL ORDER BY "
	    "p.provider, p.account, p.source",
	    DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*lists_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_price_list_list(struct store *s, struct arena *a, struct price_list **lists_out,
    size_t *n_out, struct berth_err *err)
{
	struct price_lists l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, price_list_row, &l, err,
	    "SELECT p.*, (SELECT count(*) FROM offer o WHERE o.list_id = p.id AND o.until_t IS "
	    "NULL) AS offers FROM price_list p ORDER BY p.provider, p.account, p.source",
	    DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*lists_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}
