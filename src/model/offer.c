#include "model/offer.h"
#include "util/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/glob.h"
#include "util/str.h"

#define OFFER_MONTH_HOURS 730 /* 8760 / 12, as clouds count */

static const char *const offer_purchases[] = {
	[PURCHASE_ON_DEMAND] = "on_demand",
	[PURCHASE_SPOT] = "spot",
	[PURCHASE_RESERVED] = "reserved",
};
static const char *const offer_kinds[] = {
	[OFFER_PLAIN] = "plain",
	[OFFER_WINDOWS] = "windows",
	[OFFER_LICENSED] = "licensed",
	[OFFER_DEDICATED] = "dedicated",
	[OFFER_BLOCK] = "block",
};
static const char *const offer_payments[] = {
	[PAYMENT_NONE] = "none",
	[PAYMENT_PARTIAL] = "partial",
	[PAYMENT_ALL] = "all",
};
static const char *const offer_availabilities[] = {
	[AVAIL_UNKNOWN] = "unknown",
	[AVAIL_NO] = "no",
	[AVAIL_YES] = "yes",
};

const char *
purchase_name(enum purchase p)
{
	return offer_purchases[p];
}

bool
purchase_parse(const char *s, enum purchase *p_out)
{
	if (str_ieq(s, "on-demand") || str_ieq(s, "ondemand"))
		s = "on_demand";
	for (int p = 0; p < PURCHASE_COUNT; p++)
		if (str_ieq(s, offer_purchases[p])) {
			*p_out = (enum purchase)p;
			return true;
		}
	return false;
}

const char *
payment_name(enum payment p)
{
	return offer_payments[p];
}

bool
payment_parse(const char *s, enum payment *p_out)
{
	for (int p = 0; p < PAYMENT_COUNT; p++)
		if (str_ieq(s, offer_payments[p])) {
			*p_out = (enum payment)p;
			return true;
		}
	return false;
}

const char *
availability_name(enum availability a)
{
	return offer_availabilities[a];
}

const char *
offer_kind_name(enum offer_kind k)
{
	return offer_kinds[k];
}

bool
offer_kind_parse(const char *s, enum offer_kind *k_out)
{
	for (int k = 0; k < OFFER_KIND_COUNT; k++)
		if (str_ieq(s, offer_kinds[k])) {
			*k_out = (enum offer_kind)k;
			return true;
		}
	return false;
}

const char *
offer_doubt_price(struct offer *o)
{
	struct usd_micro hour;
	const char *why;

	if (!usd_known(o->price))
		return NULL;
	hour = offer_effective_hour(o);
	if (usd_known(o->upfront) && o->upfront.v < 0)
		why = "an upfront payment below 0 is no price";
	else if (usd_known(o->usage) && o->usage.v < 0)
		why = "a price of use below 0 is no price";
	else if (o->price.v > OFFER_PRICE_MAX || (usd_known(hour) && hour.v > OFFER_PRICE_MAX))
		why = "a price over 100,000 USD an hour is not believed";
	else if (o->price.v < 0)
		why = "a price below 0 is no price";
	else if (o->price.v == 0 && !(usd_known(o->upfront) && o->upfront.v > 0) &&
		 !(usd_known(o->usage) && o->usage.v > 0))
		why = "a price of 0 is no price";
	else
		return NULL;
	o->price = USD_UNKNOWN;
	return why;
}

bool
offer_region_hits(const char *pattern, const struct offer *o)
{
	char place[256];

	if (glob_match(pattern, o->region))
		return true;
	return strchr(pattern, '/') != NULL &&
	       (size_t)snprintf(place, sizeof(place), "%s/%s", o->provider, o->region) <
		   sizeof(place) &&
	       glob_match(pattern, place);
}

bool
offer_region_hits_any(const char *const *patterns, size_t n, const struct offer *o)
{
	for (size_t i = 0; i < n; i++)
		if (offer_region_hits(patterns[i], o))
			return true;
	return n == 0;
}

double
offer_term_hours(const struct offer *o)
{
	if (o->purchase != PURCHASE_RESERVED)
		return 0;
	return o->ends_at > o->starts_at ? (double)(o->ends_at - o->starts_at) / 3600
					 : (double)OFFER_MONTH_HOURS * o->term_months;
}

bool
offer_paid_at(const struct offer *o, int64_t t)
{
	return t >= o->paid_from && t < o->paid_until;
}

enum purchase
offer_counts_as(const struct offer *o)
{
	return o->paid_until > 0 ? PURCHASE_RESERVED : o->purchase;
}

struct usd_micro
offer_hour(const struct offer *o, int64_t t)
{
	return offer_paid_at(o, t) ? o->usage : o->price;
}

static int64_t
offer_clamp(int64_t t, int64_t from, int64_t to)
{
	return t < from ? from : t < to ? t : to;
}

enum berth_code
offer_cost(
    const struct offer *o, int64_t from, int64_t to, struct usd_micro *out, struct berth_err *err)
{
	int64_t begin = offer_clamp(o->paid_from, from, to),
		end = offer_clamp(o->paid_until, begin, to);
	struct usd_micro used = USD_ZERO, rest;
	enum berth_code rc = BERTH_OK;

	if (end > begin)
		rc = usd_mul_ratio(o->usage, end - begin, 3600, &used, err);
	if (rc == BERTH_OK)
		rc = usd_mul_ratio(o->price, begin - from + to - end, 3600, &rest, err);
	return rc == BERTH_OK ? usd_add(used, rest, out, err) : rc;
}

bool
offer_same_machine(const struct offer *x, const struct offer *y)
{
	return str_eq(x->provider, y->provider) && str_eq(x->region, y->region) &&
	       (x->account[0] == '\0' || y->account[0] == '\0' || str_eq(x->account, y->account)) &&
	       (x->zone[0] == '\0' || y->zone[0] == '\0' || str_eq(x->zone, y->zone)) &&
	       str_eq(x->instance_type, y->instance_type);
}

struct usd_micro
offer_effective_hour(const struct offer *o)
{
	int64_t term_s = o->ends_at > o->starts_at
			     ? o->ends_at - o->starts_at
			     : (int64_t)OFFER_MONTH_HOURS * 3600 * o->term_months;
	struct usd_micro spread = USD_ZERO, sum = USD_UNKNOWN;

	if (strcmp(o->currency, "USD") != 0 || !usd_known(o->price) || !usd_known(o->upfront))
		return USD_UNKNOWN;
	if (o->upfront.v != 0 &&
	    (o->purchase != PURCHASE_RESERVED || term_s <= 0 ||
		usd_mul_ratio(o->upfront, 3600, term_s, &spread, NULL) != BERTH_OK))
		return USD_UNKNOWN;
	if (!usd_known(o->usage) || usd_add(o->price, o->usage, &sum, NULL) != BERTH_OK)
		return USD_UNKNOWN;
	return usd_add(sum, spread, &sum, NULL) == BERTH_OK ? sum : USD_UNKNOWN;
}

struct usd_micro
offer_effective_gpu_hour(const struct offer *o)
{
	struct usd_micro hour = offer_effective_hour(o), each = USD_UNKNOWN;

	if (!usd_known(hour) || o->accelerator_count <= 0)
		return USD_UNKNOWN;
	return usd_div_i64(hour, o->accelerator_count, &each, NULL) == BERTH_OK ? each
										: USD_UNKNOWN;
}

/* By all but the price. */
static int
offer_cmp_names(const struct offer *a, const struct offer *b)
{
	int c = strcmp(a->provider, b->provider);

	if (c == 0)
		c = strcmp(a->region, b->region);
	if (c == 0)
		c = strcmp(a->zone, b->zone);
	if (c == 0)
		c = strcmp(a->instance_type, b->instance_type);
	if (c == 0)
		c = (a->kind > b->kind) - (a->kind < b->kind);
	if (c == 0)
		c = (a->purchase > b->purchase) - (a->purchase < b->purchase);
	if (c == 0)
		c = (a->term_months > b->term_months) - (a->term_months < b->term_months);
	if (c == 0)
		c = (a->payment > b->payment) - (a->payment < b->payment);
	if (c == 0)
		c = (a->usage.v > b->usage.v) - (a->usage.v < b->usage.v);
	if (c == 0)
		c = (a->starts_at > b->starts_at) - (a->starts_at < b->starts_at);
	if (c == 0)
		c = (a->ends_at > b->ends_at) - (a->ends_at < b->ends_at);
	return c != 0 ? c : (a->id > b->id) - (a->id < b->id);
}

int
offer_cmp(const struct offer *a, const struct offer *b)
{
	int c = usd_cmp(offer_effective_gpu_hour(a), offer_effective_gpu_hour(b));

	return c != 0 ? c : offer_cmp_names(a, b);
}

struct offer_priced {
	struct usd_micro price;
	const struct offer *o;
};

static int
offer_priced_cmp(const void *a, const void *b)
{
	const struct offer_priced *x = a, *y = b;
	int c = usd_cmp(x->price, y->price);

	return c != 0 ? c : offer_cmp_names(x->o, y->o);
}

void
offer_sort_into(struct offer *dst, const void *src, size_t stride, size_t n, struct arena *scratch)
{
	struct offer_priced *p = arena_array_of(scratch, n, struct offer_priced);

	for (size_t i = 0; i < n; i++) {
		const struct offer *o = (const void *)((const char *)src + i * stride);

		p[i] = (struct offer_priced){ offer_effective_gpu_hour(o), o };
	}
	if (n > 1)
		qsort(p, n, sizeof(*p), offer_priced_cmp);
	for (size_t i = 0; i < n; i++)
		dst[i] = *p[i].o;
}

void
offer_sort(struct offer *v, size_t n, struct arena *scratch)
{
	if (n > 0)
		offer_sort_into(
		    v, arena_memdup(scratch, v, n * sizeof(*v)), sizeof(*v), n, scratch);
}

struct offer
offer_copy(const struct offer *o, struct arena *a)
{
	struct offer c = *o;
	const char **strings[] = { &c.provider, &c.account, &c.region, &c.zone, &c.instance_type,
		&c.accelerator, &c.source };

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		*strings[i] = arena_strdup(a, *strings[i] != NULL ? *strings[i] : "");
	return c;
}
