/* src/store/offer_rows.h - price lists, offers and their history.  Floor: store. */
#ifndef BERTH_STORE_OFFER_ROWS_H
#define BERTH_STORE_OFFER_ROWS_H

#include "model/block.h"
#include "model/offer.h"
#include "store/store.h"

/* One provider's offers from one source, replaced as a whole. */
struct price_list {
	int64_t id;
	const char *provider;
	const char *account; /* "" a public list */
	const char *source;  /* "offers.csv", "api", file name */
	int64_t fetched;     /* last time that it was replaced */
	int64_t offers;      /* current */
	bool stale;          /* the last refresh failed: these are the prices of `fetched` */
	const char *reason;  /* why */
	int64_t stale_since; /* 0 not stale */
};

struct list_counts {
	int64_t unchanged, changed, added, removed;
};

/*
 * Puts offers [n] in the place of the list's current ones, in one transaction: an offer that is the
 * same keeps its id (its as_of and source move on), one whose price changed ends at now and begins
 * again, one that is absent ends. What ended stays as history. Takes away the stale mark. Every
 * offer's provider must be `provider`; account comes from the arguments, and source where an offer
 * does not say its own. n 0 empties the list. counts_out may be NULL.
 */
BERTH_MUST_CHECK enum berth_code store_offers_replace(struct store *s, const char *provider,
    const char *account, const char *source, const struct offer *offers, size_t n, int64_t now,
    struct list_counts *counts_out, struct berth_err *err);
/* The same where the caller holds a transaction and has read old [n_old], all of
 * store_offer_current(), within it. */
BERTH_MUST_CHECK enum berth_code store_offers_exchange(struct store *s, const char *provider,
    const char *account, const char *source, const struct offer *old, size_t n_old,
    const struct offer *offers, size_t n, int64_t now, struct list_counts *counts_out,
    struct berth_err *err);
/* What stands in one list now, of every kind and in no order; `measured` is not filled in. No such
 * list: none. */
BERTH_MUST_CHECK enum berth_code store_offer_current(struct store *s, const char *provider,
    const char *account, const char *source, struct arena *a, struct offer **offers_out,
    size_t *n_out, struct berth_err *err);
/* A refresh failed: the list stays, with a reason. No list yet: one without offers is made. */
BERTH_MUST_CHECK enum berth_code store_offers_stale(struct store *s, const char *provider,
    const char *account, const char *source, const char *reason, int64_t now,
    struct berth_err *err);
/* Those that are marked; their offers are not counted (0). */
BERTH_MUST_CHECK enum berth_code store_price_list_stale(struct store *s, struct arena *a,
    struct price_list **lists_out, size_t *n_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_price_list_list(struct store *s, struct arena *a,
    struct price_list **lists_out, size_t *n_out, struct berth_err *err);

/* NULL or "" matches all; texts match whole, except region and provider, which may be glob
 * patterns. */
struct offer_query {
	const char *provider, *account, *region, *instance_type, *accelerator;
	bool by_purchase;
	enum purchase purchase;   /* if by_purchase */
	int count_min, count_max; /* accelerators; 0: any */
	double memory_min_gib;    /* per accelerator; 0: any (unknown memory then passes) */
	const char *list_source;  /* of the list, exact; NULL or "": any */
	bool every_kind; /* also Windows, licensed and dedicated ones; else plain offers alone */
	bool fresh_only; /* leave out lists marked stale */
	int64_t at;      /* offers as they were at that time; 0: current */
	bool by_ids; /* those of ids [n_ids] alone, each once, whether they have ended or not; at is
			not looked at, and an id that is not known is left out */
	const int64_t *ids;
	size_t n_ids;
};
/*
 * In the order of offer_cmp(); `measured` is filled in from the fleet's probes, `read_at` from the
 * list where q names no accelerator, or fresh_only. q NULL: all.
 */
BERTH_MUST_CHECK enum berth_code store_offer_list(struct store *s, const struct offer_query *q,
    struct arena *a, struct offer **offers_out, size_t *n_out, struct berth_err *err);
/* Every accelerator of a current offer, once each, sorted. */
BERTH_MUST_CHECK enum berth_code store_offer_accelerators(struct store *s, struct arena *a,
    const char ***names_out, size_t *n_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code store_offer_get(struct store *s, int64_t id, struct arena *a,
    struct offer *offer_out, struct berth_err *err); /* also ended ones; BERTH_ENOTFOUND */

/*
 * A time in which a provider said that it had none of an offer, by what its lists said one after
 * the other. Readings that touch, and those of several accounts that overlap, are one.
 */
struct offer_gap {
	struct place_key key; /* place_key(KEY_OFFER) */
	int64_t from, until;  /* s since epoch; until: when a list said otherwise or had it no more,
				 else its last reading */
	bool back;            /* a list said otherwise: it was to be had again */
};
/* Those that reach beyond since, by key, then time. */
BERTH_MUST_CHECK enum berth_code store_offer_gaps(struct store *s, int64_t since, struct arena *a,
    struct offer_gap **gaps_out, size_t *n_out, struct berth_err *err);

/* One stretch of time at one price; until 0: still so. */
struct offer_price {
	struct offer offer;
	int64_t from, until;
};
/* By offer, then time; only what overlaps [from, to) (to 0: open). */
BERTH_MUST_CHECK enum berth_code store_offer_history(struct store *s, const struct offer_query *q,
    int64_t from, int64_t to, struct arena *a, struct offer_price **prices_out, size_t *n_out,
    struct berth_err *err);

#endif
