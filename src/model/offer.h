/* src/model/offer.h - what a provider asks for one machine-hour.  Floor: model. */
#ifndef BERTH_MODEL_OFFER_H
#define BERTH_MODEL_OFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "util/money.h"

enum purchase {
	PURCHASE_ON_DEMAND,
	PURCHASE_SPOT,
	PURCHASE_RESERVED, /* with term_months and payment */
	PURCHASE_COUNT
};

enum payment {
	PAYMENT_NONE, /* nothing upfront */
	PAYMENT_PARTIAL,
	PAYMENT_ALL, /* all upfront */
	PAYMENT_COUNT
};

/* What is in the price besides a Linux machine on shared hardware. Only plain offers are ranked and
 * placed. */
enum offer_kind {
	OFFER_PLAIN,
	OFFER_WINDOWS,
	OFFER_LICENSED,  /* RHEL, SUSE, a database: software that is paid by the hour */
	OFFER_DEDICATED, /* hardware of one's own: dedicated instance or host, sole tenant */
	OFFER_BLOCK, /* a dated reservation, paid whole: usable from starts_at to ends_at alone */
	OFFER_KIND_COUNT
};

enum availability { AVAIL_UNKNOWN, AVAIL_NO, AVAIL_YES, AVAIL_COUNT };

/*
 * Strings are borrowed (the arena of the command owns them) and never NULL: "" is "not said".
 * NaN is an unknown double; USD_UNKNOWN an unknown price: neither ever ranks as 0.
 */
struct offer {
	int64_t id;           /* row of the store; 0: not stored */
	const char *provider; /* "aws", "replay": the vendor that sells */
	const char *account;  /* berth account that can create it; "" for a list price only */
	const char *region;
	const char *zone; /* "" : any zone of the region */
	const char *instance_type;
	const char *
	    accelerator; /* canonical name of the accelerator table, else as the source spells it */
	bool accelerator_known;
	int accelerator_count;
	double accelerator_memory_gib; /* per accelerator */
	double vcpus;
	double memory_gib;
	enum offer_kind kind;
	enum purchase purchase;
	int term_months; /* reserved: 1, 12, 36 ...; else 0 */
	int64_t starts_at,
	    ends_at; /* of a block (reserved, term_months 0), s since epoch; else 0 */
	enum payment payment;
	struct usd_micro upfront; /* whole machine, whole term; 0 if none */
	struct usd_micro price;   /* per machine-hour, whole machine, on top of upfront */
	struct usd_micro usage;   /* reserved: ... and for each machine-hour that it is used, on top
				     of both; else 0 */
	int64_t paid_from,
	    paid_until;   /* of a machine that an owned commitment pays for: in [paid_from,
			     paid_until) an hour of it costs usage alone; else 0 */
	char currency[4]; /* "USD", or the ISO code of a price that is not comparable */
	enum availability available;
	double interruption_rate; /* spot: expected interruptions per running hour */
	double measured; /* fleet's measured speed over the table's, 1 = as promised; NaN: never
			    probed */
	int64_t as_of;   /* when the price was true, s since epoch; 0: not said */
	int64_t read_at; /* of one from the store: when its list was last read; 0: not known */
	const char *source;
};

const char *purchase_name(enum purchase p);               /* "on_demand" "spot" "reserved" */
bool purchase_parse(const char *s, enum purchase *p_out); /* also "on-demand", "ondemand" */
const char *payment_name(enum payment p);                 /* "none" "partial" "all" */
bool payment_parse(const char *s, enum payment *p_out);
const char *offer_kind_name(
    enum offer_kind k); /* "plain" "windows" "licensed" "dedicated" "block" */
bool offer_kind_parse(const char *s, enum offer_kind *k_out);
const char *availability_name(enum availability a); /* "unknown" "no" "yes" */

#define OFFER_PRICE_MAX INT64_C(100000000000) /* micro-USD: 100,000 USD an hour is not believed */
/*
 * A price that is no price (0 without any other, below 0 in a part, or not believed: by the hour or
 * with the upfront payment spread over the term) becomes unknown; the words for it, or NULL where
 * all is well.
 */
const char *offer_doubt_price(struct offer *o);

/* Does a pattern name where an offer lies: "eu-*", or with its provider "aws/eu-*"; in either case?
 */
bool offer_region_hits(const char *pattern, const struct offer *o);
/* Does any of the n; true for n == 0: no pattern is no limit. */
bool offer_region_hits_any(const char *const *patterns, size_t n, const struct offer *o);

/* Hours of a term: 730 an average month; of a block its own. */
double offer_term_hours(const struct offer *o);
/* Price of one machine-hour that is used, with the upfront spread over the term; USD_UNKNOWN if a
 * part is unknown or not in USD. */
struct usd_micro offer_effective_hour(const struct offer *o);
/* The same for one accelerator. */
struct usd_micro offer_effective_gpu_hour(const struct offer *o);
/* What an hour of the machine adds to the bill at time t: its price, or where an owned commitment
 * pays for it, what that asks for use. */
struct usd_micro offer_hour(const struct offer *o, int64_t t);
/* Does an owned commitment pay for the machine at t? */
bool offer_paid_at(const struct offer *o, int64_t t);
/* How the offer is bought, or reserved where an owned commitment pays for it: what quotas and rules
 * of purchases count it as. */
enum purchase offer_counts_as(const struct offer *o);
/* Is it the machine that a commitment is for: provider, region and type, and account and zone where
 * both name one? */
bool offer_same_machine(const struct offer *x, const struct offer *y);
/* The same from one time to a later one (s since epoch); USD_UNKNOWN where the price is. Errors
 * BERTH_EINVAL: out of range. */
BERTH_MUST_CHECK enum berth_code offer_cost(
    const struct offer *o, int64_t from, int64_t to, struct usd_micro *out, struct berth_err *err);
/*
 * Total order for stable ranking: effective price per GPU (unknown last), then provider, region,
 * zone, type, purchase, id.
 */
int offer_cmp(const struct offer *a, const struct offer *b);
/* Puts v [n] in the order of offer_cmp(), with each price worked out once. */
struct arena;
void offer_sort(struct offer *v, size_t n, struct arena *scratch);
/* The same from src to dst [n]; src: offers that lie stride bytes apart, as the first member of a
 * larger struct. */
void offer_sort_into(
    struct offer *dst, const void *src, size_t stride, size_t n, struct arena *scratch);
/* The same with every string in the arena: for offers that are only lent. */
struct offer offer_copy(const struct offer *o, struct arena *a);

#endif
