#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/offer.h"
#include "model/offerkey.h"
#include "tests/tap.h"
#include "util/arena.h"

static struct offer
make(enum purchase p, int term, int64_t upfront, int64_t price, int count)
{
	return (struct offer){ .provider = "p", .account = "", .region = "r", .zone = "", .instance_type = "t",
		.accelerator = "A", .accelerator_count = count, .accelerator_memory_gib = NAN, .purchase = p,
		.term_months = term, .upfront = { upfront }, .price = { price }, .currency = "USD", .source = "" };
}

static void
test_names(void)
{
	enum purchase p = PURCHASE_COUNT;
	enum payment y = PAYMENT_COUNT;

	for (int i = 0; i < PURCHASE_COUNT; i++)
		tap_ok(purchase_parse(purchase_name((enum purchase)i), &p) && p == (enum purchase)i, "purchase %s",
		    purchase_name((enum purchase)i));
	for (int i = 0; i < PAYMENT_COUNT; i++)
		tap_ok(payment_parse(payment_name((enum payment)i), &y) && y == (enum payment)i, "payment %s",
		    payment_name((enum payment)i));
	tap_ok(purchase_parse("on-demand", &p) && p == PURCHASE_ON_DEMAND, "on-demand with a dash");
	tap_ok(purchase_parse("OnDemand", &p) && p == PURCHASE_ON_DEMAND, "and without");
	tap_ok(!purchase_parse("preemptible", &p) && !purchase_parse("", &p) && !payment_parse("some", &y),
	    "other words are refused");
	tap_is_str(availability_name(AVAIL_UNKNOWN), "unknown", "availability");
}

/* AWS publishes the effective hour of a reservation beside its upfront: an all-upfront year at 164955 is 18.830479. */
static void
test_effective(void)
{
	struct offer o = make(PURCHASE_RESERVED, 12, INT64_C(164955000000), 0, 8);

	tap_near((double)offer_effective_hour(&o).v / 1e6, 18.830479, 1e-6, "all upfront, one year");
	tap_near((double)offer_effective_gpu_hour(&o).v / 1e6, 18.830479 / 8, 1e-6, "one of its eight GPUs");
	tap_near(offer_term_hours(&o), 8760, 0, "a year has 8760 hours");
	o = make(PURCHASE_RESERVED, 36, INT64_C(26280000000), 500000, 1);	/* 26280 USD over 26280 h is 1 an hour */
	tap_is_long(offer_effective_hour(&o).v, 1500000, "part upfront, three years");
	o = make(PURCHASE_ON_DEMAND, 0, 0, 55040000, 8);
	tap_is_long(offer_effective_gpu_hour(&o).v, 6880000, "on demand");
	tap_near(offer_term_hours(&o), 0, 0, "no term");
	o = make(PURCHASE_ON_DEMAND, 0, 0, 10000000, 3);
	tap_is_long(offer_effective_gpu_hour(&o).v, 3333333, "a third, rounded");
}

static void
test_unknown(void)
{
	struct offer o = make(PURCHASE_ON_DEMAND, 0, 0, 1000000, 1);

	memcpy(o.currency, "CNY", 4);
	tap_ok(!usd_known(offer_effective_hour(&o)), "another currency is not comparable");
	o = make(PURCHASE_ON_DEMAND, 0, 0, USD_UNKNOWN.v, 1);
	tap_ok(!usd_known(offer_effective_hour(&o)), "no price is no price");
	o = make(PURCHASE_RESERVED, 12, USD_UNKNOWN.v, 1000000, 1);
	tap_ok(!usd_known(offer_effective_hour(&o)), "unknown upfront");
	o = make(PURCHASE_RESERVED, 0, 1000000, 1000000, 1);
	tap_ok(!usd_known(offer_effective_hour(&o)), "upfront over no term");
	o = make(PURCHASE_ON_DEMAND, 0, 0, 1000000, 0);
	tap_ok(!usd_known(offer_effective_gpu_hour(&o)), "no accelerator to divide by");
	o = make(PURCHASE_RESERVED, 12, INT64_MAX - 7, INT64_MAX - 7, 1);
	tap_ok(!usd_known(offer_effective_hour(&o)), "a sum beyond all money");
}

static int
by_offer(const void *a, const void *b)
{
	return offer_cmp(a, b);
}

/* Any order of the same offers sorts to one order: cheapest GPU first, unknown last, equal ones told apart. */
static void
test_order(void)
{
	struct offer o[6], sorted[6];

	o[0] = make(PURCHASE_ON_DEMAND, 0, 0, 2000000, 1);
	o[1] = make(PURCHASE_SPOT, 0, 0, 8000000, 8);
	o[2] = make(PURCHASE_ON_DEMAND, 0, 0, USD_UNKNOWN.v, 1);
	o[3] = make(PURCHASE_RESERVED, 12, 0, 2000000, 1);
	o[4] = make(PURCHASE_ON_DEMAND, 0, 0, 2000000, 1);
	o[5] = make(PURCHASE_ON_DEMAND, 0, 0, 2000000, 1);
	o[0].id = 10;
	o[4].id = 4;
	o[5].region = "a";
	for (int turn = 0; turn < 6; turn++) {
		for (int i = 0; i < 6; i++)
			sorted[i] = o[(i + turn) % 6];
		qsort(sorted, 6, sizeof(sorted[0]), by_offer);
		tap_ok(sorted[0].purchase == PURCHASE_SPOT && strcmp(sorted[1].region, "a") == 0 && sorted[2].id == 4 &&
		    sorted[3].id == 10 && sorted[4].purchase == PURCHASE_RESERVED && !usd_known(sorted[5].price),
		    "order %d", turn);
	}
}

/* Each field of an identity by itself makes another offer; price, date, source and account do not. */
static void
test_identity(void)
{
	struct offer v[600];
	struct offerkey_set set = { 0 };
	struct arena *a = arena_new();
	size_t n = 0, found = 0;
	struct offer same;

	for (int i = 0; i < 13; i++)
		v[n++] = make(PURCHASE_RESERVED, 12, 0, 1000000, 8);
	v[1].provider = "q";
	v[2].region = "s";
	v[3].zone = "z";
	v[4].instance_type = "u";
	v[5].accelerator = "B";
	v[6].accelerator_count = 4;
	v[7].purchase = PURCHASE_SPOT;
	v[8].term_months = 36;
	v[9].payment = PAYMENT_ALL;
	v[10].kind = OFFER_WINDOWS;
	memcpy(v[11].currency, "EUR", 4);
	v[12].starts_at = 1;
	for (int i = 0; n < 600; i++) {		/* and enough to make the set grow */
		v[n] = make(PURCHASE_ON_DEMAND, 0, 0, 1000000, 1);
		v[n++].accelerator_count = i + 1;
	}
	for (size_t i = 0; i < n; i++)
		found += offerkey_add(a, &set, v, i) == i;
	tap_is_long((long long)found, 600, "each differs from all others");
	for (size_t i = found = 0; i < n; i++)
		found += offerkey_add(a, &set, v, i) == i && offerkey_find(&set, v, &v[i]) == i;
	tap_ok(found == 600 && set.n == 600, "none comes in twice, each is found");
	same = v[9];
	same.price.v = 5;
	same.as_of = 7;
	same.source = "other";
	same.account = "mine";
	same.region = strcpy(arena_alloc(a, 2), "r");	/* the text counts, not where it lies */
	tap_is_long((long long)offerkey_find(&set, v, &same), 9, "price, date, source and account are no part of it");
	same.region = "elsewhere";
	tap_ok(offerkey_find(&set, v, &same) == OFFERKEY_NONE, "one that is not there is not found");
	tap_ok(offerkey_hash(&v[0]) >> 32 == offerkey_hash(&v[2]) >> 32 && offerkey_hash(&v[0]) >> 32 !=
	    offerkey_hash(&v[6]) >> 32, "offers of one accelerator and count lie together");
	arena_free(a);
}

/* On a commitment until T an hour costs 0.5, then 4. */
static void
test_owned(void)
{
	static const struct { int64_t from, to, want; } t[] = {
		{ 0, 3600, 500000 }, { 0, 7200, 1000000 }, { 7200, 10800, 4000000 }, { 3600, 10800, 4500000 },
		{ 7199, 7201, 139 + 1111 }, { 20000, 20000, 0 }, { 0, 0, 0 },
	};
	struct offer o = { .price = { 4000000 }, .usage = { 500000 }, .paid_until = 7200 };
	struct usd_micro c = { -1 };
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		tap_code(offer_cost(&o, t[i].from, t[i].to, &c, &err), BERTH_OK, &err);
		tap_is_long(c.v, t[i].want, "from %lld to %lld", (long long)t[i].from, (long long)t[i].to);
	}
	tap_is_long(offer_hour(&o, 7199).v, 500000, "an hour on it");
	tap_is_long(offer_hour(&o, 7200).v, 4000000, "an hour after it");
	o.paid_until = 0;
	tap_code(offer_cost(&o, 0, 3600, &c, &err), BERTH_OK, &err);
	tap_is_long(c.v, 4000000, "without one");
	o.price = USD_UNKNOWN;
	tap_code(offer_cost(&o, 0, 3600, &c, &err), BERTH_OK, &err);
	tap_ok(!usd_known(c), "an unknown price costs nobody knows what");
}

int
main(void)
{
	test_names();
	test_effective();
	test_unknown();
	test_order();
	test_identity();
	test_owned();
	return tap_done();
}
