/* src/broker/quotas.h - what providers say of quotas: asked for, kept, and made limits of.  Floor:
 * broker. */
#ifndef BERTH_BROKER_QUOTAS_H
#define BERTH_BROKER_QUOTAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/placing.h"
#include "store/quota_rows.h"
#include "util/err.h"

struct arena;
struct prov_account;
struct store;
struct yaml_node;

#define QUOTAS_EVERY_S 3600
#define QUOTAS_AGE_S 86400

struct quota_policy {    /* `quotas:` of berth.yaml */
	int64_t every_s; /* a tick asks again after so long; 0: never */
	int64_t age_s;   /* older ones are unknown; 0: none of them is a limit */
};
/* The defaults where config is NULL or says nothing. BERTH_EINVAL with file:line:col. */
BERTH_MUST_CHECK enum berth_code quotas_policy_read(
    const struct yaml_node *config, struct quota_policy *out, struct berth_err *err);

/* A quota that a provider told, beside what it counts (struct placing_limit). */
struct placing_told {
	const char *provider, *account, *region; /* whose it is */
	const char *zone;                        /* "" all of the region */
	const char *const *types;                /* [n_types] globs; none: all */
	size_t n_types;
	double most, used; /* as told; used NaN: not said */
	double others;     /* of used, what no machine of ours took then */
	int64_t as_of;
	const struct placing_limit *limits; /* [n_limits] of berth.yaml: what those with `override`
					       count, this does not */
	size_t n_limits;
};

/* What of quotas [n] is a limit at `now`: told not longer ago than age_s, with a number, and it
 * counts one of the offers. Behind those of berth.yaml [n_limits], which are copied. */
void quotas_limits(const struct quota_row *quotas, size_t n, int64_t now, int64_t age_s,
    const struct offer *const *offers, size_t n_offers, const struct placing_limit *limits,
    size_t n_limits, struct arena *a, struct placing_limit **out, size_t *n_out);
/* The same from the store, with all its offers. */
BERTH_MUST_CHECK enum berth_code quotas_limits_load(struct store *store, int64_t now, int64_t age_s,
    const struct placing_limit *limits, size_t n_limits, struct arena *a,
    struct placing_limit **out, size_t *n_out, struct berth_err *err);

enum quota_state { QUOTA_KNOWN, QUOTA_OLD, QUOTA_UNKNOWN };
/* Old: there was an answer, of some regions at least, longer ago than age_s. */
enum quota_state quota_reading_state(const struct quota_reading *r, int64_t now, int64_t age_s);
enum quota_state quota_region_state(const struct quota_region *r, int64_t now, int64_t age_s);
const char *quota_state_name(enum quota_state s); /* "known" "old" "unknown" */
/* "quotas of aws are unknown: last told TIME, and then: the error"; "" they are known. */
const char *quota_reading_text(
    const struct quota_reading *r, int64_t now, int64_t age_s, struct arena *a);
/* The same of a region, "quotas of aws in eu-west-1 are unknown: never told; the error". */
const char *quota_region_text(
    const struct quota_region *r, int64_t now, int64_t age_s, struct arena *a);

/* What came of asking one account. */
struct quotas_result {
	const char *account;
	size_t n;             /* quotas that were told */
	enum berth_code code; /* BERTH_EPARTIAL: some of its regions told */
	const char *error;
};
/*
 * Asks accounts [n], all at once, and keeps what they say, each in a transaction of its own; one
 * that fails changes nothing for the others. Ends the holds of places that were refused for a
 * quota, where more is told now than before and a machine fits. results [n] in the order of
 * accounts. Errors are those of the store alone.
 */
BERTH_MUST_CHECK enum berth_code quotas_refresh(struct store *store, int64_t now,
    struct prov_account *const *accounts, size_t n, int deadline_s, struct arena *a,
    struct quotas_result *results, struct berth_err *err);

#endif
