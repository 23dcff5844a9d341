#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/offerkey.h"
#include "store/offer_rows.h"
#include "store/priv.h"
#include "util/arena.h"

/*
 * Replacing a list. Both sides are put in one order, by a hash, and run through together. Its upper
 * half is that of accelerator and count alone: what is asked for together is written together, and
 * lies on few pages.
 */

struct offer_ranked {
	uint64_t hash;
	const struct offer *o;
};

struct offer_swap {
	struct store *s;
	const char *account, *source; /* of the list */
	int64_t list_id, now;
	const struct offer **add; /* [n_add] begin */
	size_t n_add;
	bool dated;    /* all offers that are wanted share date and source */
	size_t redate; /* kept ones whose date or source moves on */
	struct list_counts counts;
};

static const char *
offer_source(const struct offer_swap *w, const struct offer *o)
{
	return o->source[0] != '\0' ? o->source : w->source;
}

static int
offer_ranked_cmp(const struct offer_ranked *x, const struct offer_ranked *y)
{
	return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : offerkey_cmp(x->o, y->o);
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
		v[i] = (struct offer_ranked){ offerkey_hash(&offers[i]), &offers[i] };
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
	return x->price.v == y->price.v && x->upfront.v == y->upfront.v &&
	       x->usage.v == y->usage.v && x->available == y->available &&
	       x->accelerator_known == y->accelerator_known &&
	       offer_same_real(x->accelerator_memory_gib, y->accelerator_memory_gib) &&
	       offer_same_real(x->vcpus, y->vcpus) &&
	       offer_same_real(x->memory_gib, y->memory_gib) &&
	       offer_same_real(x->interruption_rate, y->interruption_rate);
}

#define OFFER_COLUMNS                                                                              \
	"list_id, provider, account, region, zone, instance_type, accelerator, "                   \
	"accelerator_known, "                                                                      \
	"accelerator_count, accelerator_memory_gib, vcpus, memory_gib, purchase, term_months, "    \
	"payment, upfront, price, "                                                                \
	"currency, available, interruption_rate, as_of, source, from_t, run, kind, starts_at, "    \
	"ends_at, usage_price"
#define OFFER_COLUMNS_N 28

/* One row, in the order of OFFER_COLUMNS. */
static void
offer_fill(void *arg, size_t i, struct db_val *v)
{
	const struct offer_swap *w = arg;
	const struct offer *o = w->add[i];
	const struct db_val row[OFFER_COLUMNS_N] = {
		db_i64(w->list_id),
		db_text(o->provider),
		db_text(w->account),
		db_text(o->region),
		db_text(o->zone),
		db_text(o->instance_type),
		db_text(o->accelerator),
		db_bool(o->accelerator_known),
		db_i64(o->accelerator_count),
		db_real(o->accelerator_memory_gib),
		db_real(o->vcpus),
		db_real(o->memory_gib),
		db_text(purchase_name(o->purchase)),
		db_i64(o->term_months),
		db_text(payment_name(o->payment)),
		db_usd(o->upfront),
		db_usd(o->price),
		db_text(o->currency),
		db_text(availability_name(o->available)),
		db_real(o->interruption_rate),
		db_id(o->as_of),
		db_text(offer_source(w, o)),
		db_i64(w->now),
		db_id(w->s->run_id),
		db_text(offer_kind_name(o->kind)),
		db_i64(o->starts_at),
		db_i64(o->ends_at),
		db_usd(o->usage),
	};

	memcpy(v, row, sizeof(row));
}

static enum berth_code
offer_end(struct offer_swap *w, int64_t id, struct berth_err *err)
{
	return db_run(w->s->db, err, "UPDATE offer SET until_t = $1 WHERE id = $2",
	    DB_ARGS(db_i64(w->now), db_i64(id)));
}

/* have and want are the same offer. */
static enum berth_code
offer_keep(
    struct offer_swap *w, const struct offer *have, const struct offer *want, struct berth_err *err)
{
	if (!offer_unchanged(have, want)) {
		w->counts.changed++;
		w->add[w->n_add++] = want;
		return offer_end(w, have->id, err);
	}
	w->counts.unchanged++;
	if (have->as_of == want->as_of && strcmp(have->source, offer_source(w, want)) == 0)
		return BERTH_OK;
	w->redate++;
	if (w->dated)
		return BERTH_OK;
	return db_run(w->s->db, err, "UPDATE offer SET as_of = $1, source = $2 WHERE id = $3",
	    DB_ARGS(db_id(want->as_of), db_text(offer_source(w, want)), db_i64(have->id)));
}

static enum berth_code
offer_merge(struct offer_swap *w, const struct offer_ranked *have, size_t n_have,
    const struct offer_ranked *want, size_t n_want, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	size_t i = 0, j = 0;

	while (rc == BERTH_OK && (i < n_have || j < n_want)) {
		int c = i == n_have ? 1 : j == n_want ? -1 : offer_ranked_cmp(&have[i], &want[j]);

		if (c < 0) {
			w->counts.removed++;
			rc = offer_end(w, have[i++].o->id, err);
		} else if (c > 0) {
			w->counts.added++;
			w->add[w->n_add++] = want[j++].o;
		} else {
			rc = offer_keep(w, have[i++].o, want[j++].o, err);
		}
	}
	return rc;
}

static bool
offer_dated_alike(const struct offer_swap *w, const struct offer *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i].as_of != v[0].as_of ||
		    (v[i].source != v[0].source &&
			strcmp(offer_source(w, &v[i]), offer_source(w, &v[0])) != 0))
			return false;
	return n > 0;
}

/* The rows that stay, all in one statement. */
static enum berth_code
offer_redate(const struct offer_swap *w, const struct offer *like, struct berth_err *err)
{
	if (!w->dated || w->redate == 0)
		return BERTH_OK;
	return db_run(w->s->db, err,
	    "UPDATE offer SET as_of = $1, source = $2 WHERE list_id = $3 AND until_t IS NULL AND "
	    "(COALESCE(as_of, 0) <> $4 OR source <> $2)",
	    DB_ARGS(db_id(like->as_of), db_text(offer_source(w, like)), db_i64(w->list_id),
		db_i64(like->as_of)));
}

static enum berth_code
offer_swap(struct offer_swap *w, const struct offer *old, size_t n_old, const struct offer *want,
    size_t n, struct berth_err *err)
{
	struct arena *a = arena_new();
	const struct db_rows rows = { OFFER_COLUMNS, OFFER_COLUMNS_N, 0, offer_fill, w };
	enum berth_code rc;

	w->add = arena_array_of(a, n, const struct offer *);
	w->dated = offer_dated_alike(w, want, n);
	rc = offer_merge(w, offer_rank(old, n_old, a), n_old, offer_rank(want, n, a), n, err);
	if (rc == BERTH_OK)
		rc = offer_redate(w, want, err);
	if (rc == BERTH_OK) {
		struct db_rows add = rows;

		add.n = w->n_add;
		rc = db_load(w->s->db, "offer", &add, err);
	}
	arena_free(a);
	return rc;
}

static enum berth_code
offer_list_id(struct offer_swap *w, const char *provider, struct berth_err *err)
{
	return db_insert(w->s->db, &w->list_id, err,
	    "INSERT INTO price_list (provider, account, source, fetched, reason, run) VALUES ($1, "
	    "$2, $3, $4, '', $5) ON CONFLICT (provider, account, source) DO UPDATE SET fetched = "
	    "$4, stale_since = NULL, reason = '', run = $5 RETURNING id",
	    DB_ARGS(db_text(provider), db_text(w->account), db_text(w->source), db_i64(w->now),
		db_id(w->s->run_id)));
}

enum berth_code
store_offers_exchange(struct store *s, const char *provider, const char *account,
    const char *source, const struct offer *old, size_t n_old, const struct offer *offers, size_t n,
    int64_t now, struct list_counts *counts_out, struct berth_err *err)
{
	struct offer_swap w = { .s = s, .account = account, .source = source, .now = now };
	enum berth_code rc;

	for (size_t i = 0; i < n; i++)
		if (offers[i].provider != provider && strcmp(offers[i].provider, provider) != 0)
			return err_set(err, BERTH_EINVAL, "prices of %s: offer %zu is of %s",
			    provider, i + 1, offers[i].provider);
	if ((rc = store_begin(s, err)) != BERTH_OK)
		return rc;
	rc = offer_list_id(&w, provider, err);
	if (rc == BERTH_OK)
		rc = offer_swap(&w, old, n_old, offers, n, err);
	rc = store_end(s, rc, err);
	if (rc == BERTH_OK && counts_out != NULL)
		*counts_out = w.counts;
	return rc;
}

enum berth_code
store_offers_replace(struct store *s, const char *provider, const char *account, const char *source,
    const struct offer *offers, size_t n, int64_t now, struct list_counts *counts_out,
    struct berth_err *err)
{
	struct arena *a = arena_new();
	struct offer *old = NULL;
	size_t n_old = 0;
	enum berth_code rc = store_begin(s, err);

	if (rc == BERTH_OK) {
		rc = store_offer_current(s, provider, account, source, a, &old, &n_old, err);
		if (rc == BERTH_OK)
			rc = store_offers_exchange(s, provider, account, source, old, n_old, offers,
			    n, now, counts_out, err);
		rc = store_end(s, rc, err);
	}
	arena_free(a);
	return rc;
}
