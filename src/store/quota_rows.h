/* src/store/quota_rows.h - what providers said of the quotas of accounts.  Floor: store. */
#ifndef BERTH_STORE_QUOTA_ROWS_H
#define BERTH_STORE_QUOTA_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/offer.h"
#include "store/store.h"

struct quota_row {
	const char *account;
	const char *region, *zone, *name; /* name: the provider's own word */
	const char *unit;                 /* "gpu" "vcpu" "machine" ... */
	enum purchase purchase;
	bool any_purchase; /* counts all ways to buy */
	bool counts; /* what it counts is known: by the above, and by these patterns, "" all */
	const char *provider, *types, *accelerator; /* types: a blank between each two */
	double limit, used;                         /* NaN: not said */
	double ours;                                /* what machines of ours took of it at as_of */
	int64_t as_of;
};

struct quota_region {
	const char *account, *region;
	int64_t as_of;            /* of the last whole answer; 0: never */
	const char *code, *error; /* of the last try; "" it was answered */
};

struct quota_reading {
	const char *account, *provider;
	int64_t tried, as_of; /* as_of: of the last whole answer; 0: never */
	const char *code;     /* of the last try, as err_name(); "" it was answered */
	const char *error;
	bool due; /* a launch was refused since: asked for again */
};

/*
 * What came of asking an account, in one transaction: rows [n] that were told, and how each of its
 * regions [n_regions] ended (as_of does not count), where it was asked by them. Without a code it
 * is all there is, and takes the place of all rows of the account; with one, of the rows of regions
 * that answered and of those rows alone, and as_of stays.
 */
BERTH_MUST_CHECK enum berth_code store_quota_put(struct store *s, const struct quota_reading *r,
    const struct quota_row *rows, size_t n, const struct quota_region *regions, size_t n_regions,
    struct berth_err *err);
/* By account, region. */
BERTH_MUST_CHECK enum berth_code store_quota_regions(struct store *s, struct arena *a,
    struct quota_region **rows_out, size_t *n_out, struct berth_err *err);
/* By account, region, zone, name, purchase; counts: those of which it is known what they count. */
BERTH_MUST_CHECK enum berth_code store_quota_list(struct store *s, bool counts, struct arena *a,
    struct quota_row **rows_out, size_t *n_out, struct berth_err *err);
/* By account. */
BERTH_MUST_CHECK enum berth_code store_quota_readings(struct store *s, struct arena *a,
    struct quota_reading **rows_out, size_t *n_out, struct berth_err *err);
/* A launch of the account was refused: what is known of its quotas is out of date. */
BERTH_MUST_CHECK enum berth_code store_quota_due(
    struct store *s, const char *account, struct berth_err *err);

#endif
