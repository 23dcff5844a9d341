/* Price lists: replaced as a whole, history kept, filters against a plain scan. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/machine_rows.h"
#include "store/offer_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

#define N 400

static const char *const regions[] = { "us-east-1", "eu-west-1", "eu-central-1" };
static const char *const accs[] = { "H100-80GB", "A100-80GB", "A10" };

static struct offer
offer_make(size_t i, const char *provider)
{
	static char types[N][16];
	struct offer o = { .provider = provider, .account = "", .region = regions[i % 3], .zone = "",
		.accelerator = accs[(i / 3) % 3], .accelerator_known = true, .accelerator_count = 1 << (i % 4),
		.accelerator_memory_gib = 80, .vcpus = 8, .memory_gib = (double)NAN, .purchase = (enum purchase)(i % 3),
		.term_months = i % 3 == 2 ? 12 : 0, .upfront = { 0 }, .price = { 1000000 + (int64_t)i * 1001 },
		.currency = "USD", .interruption_rate = (double)NAN, .measured = (double)NAN, .as_of = T0, .source = "t" };

	snprintf(types[i], sizeof(types[i]), "type-%zu", i);
	o.instance_type = types[i];
	if (i % 50 == 7)
		o.price = USD_UNKNOWN;
	return o;
}

static size_t
plain_count(const struct offer *offers, size_t n, const char *acc, int purchase, const char *region, int count_min)
{
	size_t hits = 0;

	for (size_t i = 0; i < n; i++)
		hits += (acc == NULL || strcmp(offers[i].accelerator, acc) == 0) &&
		    (purchase < 0 || (int)offers[i].purchase == purchase) &&
		    (region == NULL || strncmp(offers[i].region, region, strlen(region)) == 0) &&
		    offers[i].accelerator_count >= count_min;
	return hits;
}

static void
test_filters(struct store *s, const struct offer *offers)
{
	struct arena *a = arena_new();
	struct berth_err err;
	struct offer *got;
	size_t n, unsorted = 0;

	for (int acc = -1; acc < 3; acc++)
		for (int p = -1; p < 3; p++)
			for (int eu = 0; eu < 2; eu++) {
				struct offer_query q = { .accelerator = acc < 0 ? NULL : accs[acc], .by_purchase = p >= 0,
					.purchase = (enum purchase)(p < 0 ? 0 : p), .region = eu ? "eu-*" : NULL, .count_min = eu ? 2 : 0 };
				size_t want = plain_count(offers, N, q.accelerator, p, eu ? "eu-" : NULL, eu ? 2 : 0);

				if (store_offer_list(s, &q, a, &got, &n, &err) != BERTH_OK || n != want)
					tap_ok(0, "filter %d %d %d: %zu, want %zu", acc, p, eu, n, want);
			}
	tap_code(store_offer_list(s, NULL, a, &got, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, N, "all");
	for (size_t i = 1; i < n; i++)
		unsorted += offer_cmp(&got[i - 1], &got[i]) > 0;
	tap_is_long((long long)unsorted, 0, "in the order of offer_cmp");
	tap_ok(!usd_known(got[n - 1].price), "an unknown price comes last, and is unknown");
	tap_ok(isnan(got[0].memory_gib) && got[0].vcpus == 8, "unknown numbers stay unknown");
	arena_free(a);
}

static void
test_replace(struct store *s, struct offer *offers)
{
	struct arena *a = arena_new();
	struct list_counts c;
	struct berth_err err;
	struct offer *before, *after, *at;
	struct offer_price *prices;
	size_t n, m, kept = 0;

	tap_code(store_offers_replace(s, "cloud", "", "list", offers, N, T0, &c, &err), BERTH_OK, &err);
	tap_ok(c.added == N && c.changed == 0 && c.removed == 0, "a first list is new");
	test_filters(s, offers);
	tap_code(store_offer_list(s, NULL, a, &before, &n, &err), BERTH_OK, &err);
	/* An hour later: 10 prices changed, 5 offers gone, 1 new, 3 only seen again later; in another order. */
	for (size_t i = 0; i < 10; i++)
		offers[i].price.v += 500000;
	offers[20].as_of = offers[21].as_of = offers[22].as_of = T0 + 3600;
	offers[N - 6] = offer_make(N - 6, "cloud");
	offers[N - 6].zone = "z";
	for (size_t i = 0; i < N / 2; i++) {
		struct offer swap = offers[i];

		offers[i] = offers[N - 6 - i];
		offers[N - 6 - i] = swap;
	}
	tap_code(store_offers_replace(s, "cloud", "", "list", offers, N - 5, T0 + 3600, &c, &err), BERTH_OK, &err);
	tap_ok(c.changed == 10 && c.removed == 6 && c.added == 1 && c.unchanged == N - 16,
	    "%lld changed, %lld removed, %lld added, %lld unchanged", (long long)c.changed, (long long)c.removed,
	    (long long)c.added, (long long)c.unchanged);
	tap_code(store_offer_list(s, NULL, a, &after, &m, &err), BERTH_OK, &err);
	tap_is_long((long long)m, N - 5, "the new list is current");
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < n; j++)
			kept += after[i].id == before[j].id;
	tap_is_long((long long)kept, N - 16, "what did not change keeps its id");
	tap_code(store_offer_list(s, &(struct offer_query){ .at = T0 + 60 }, a, &at, &m, &err), BERTH_OK, &err);
	tap_is_long((long long)m, N, "the list as it was is still there");
	tap_code(store_offer_history(s, &(struct offer_query){ .instance_type = "type-3" }, T0, 0, a, &prices, &m, &err),
	    BERTH_OK, &err);
	tap_ok(m == 2 && prices[0].until == T0 + 3600 && prices[1].from == T0 + 3600 && prices[1].until == 0 &&
	    prices[1].offer.price.v - prices[0].offer.price.v == 500000, "price history of one offer");
	tap_code(store_offer_get(s, prices[0].offer.id, a, &before[0], &err), BERTH_OK, &err);
	tap_is_str(before[0].instance_type, "type-3", "an ended offer can be looked up");
	arena_free(a);
}

/* The same list read again later, all of one date: every row keeps its id and its place in the history. */
static void
test_redate(struct store *s)
{
	struct arena *a = arena_new();
	struct offer o[30], *before, *after;
	struct list_counts c;
	struct berth_err err;
	size_t n, m, kept = 0, moved = 0;

	for (size_t i = 0; i < 30; i++)
		o[i] = offer_make(i, "daily");
	tap_code(store_offers_replace(s, "daily", "", "list", o, 30, T0, NULL, &err), BERTH_OK, &err);
	tap_code(store_offer_current(s, "daily", "", "list", a, &before, &n, &err), BERTH_OK, &err);
	for (size_t i = 0; i < 30; i++) {
		o[i].as_of = T0 + 86400;
		o[i].source = "tomorrow";
	}
	o[8].price.v += 1;
	tap_code(store_offers_replace(s, "daily", "", "list", o, 29, T0 + 86400, &c, &err), BERTH_OK, &err);
	tap_ok(c.unchanged == 28 && c.changed == 1 && c.removed == 1 && c.added == 0, "one changed, one gone");
	tap_code(store_offer_current(s, "daily", "", "list", a, &after, &m, &err), BERTH_OK, &err);
	for (size_t i = 0; i < m; i++) {
		moved += after[i].as_of == T0 + 86400 && strcmp(after[i].source, "tomorrow") == 0;
		for (size_t j = 0; j < n; j++)
			kept += after[i].id == before[j].id;
	}
	tap_ok(n == 30 && m == 29 && moved == 29 && kept == 28, "date and source move on, ids stay");
	tap_code(store_offer_get(s, before[0].id, a, &o[0], &err), BERTH_OK, &err);
	tap_code(store_offer_list(s, &(struct offer_query){ .provider = "daily", .at = T0 + 60 }, a, &after, &m, &err), BERTH_OK,
	    &err);
	for (size_t i = kept = 0; i < m; i++)
		kept += after[i].as_of != T0 + 86400;
	tap_ok(m == 30 && kept == 2, "those that ended keep the date that they had");
	tap_code(store_offers_replace(s, "daily", "", "list", NULL, 0, T0 + 90000, &c, &err), BERTH_OK, &err);
	tap_is_long(c.removed, 29, "a list can be emptied");
	arena_free(a);
}

static void
test_stale(struct store *s)
{
	struct offer o = offer_make(1, "second");
	struct arena *a = arena_new();
	struct price_list *lists;
	struct berth_err err;
	struct offer *got;
	size_t n;

	tap_code(store_offers_replace(s, "second", "main", "api", &o, 1, T0, NULL, &err), BERTH_OK, &err);
	tap_code(store_offers_stale(s, "second", "main", "api", "503 from the server", T0 + 10, &err), BERTH_OK, &err);
	tap_code(store_offers_stale(s, "second", "main", "api", "still 503", T0 + 20, &err), BERTH_OK, &err);
	tap_code(store_price_list_list(s, a, &lists, &n, &err), BERTH_OK, &err);
	tap_ok(n == 2 && lists[1].stale && lists[1].stale_since == T0 + 10 && lists[1].fetched == T0 &&
	    lists[1].offers == 1 && strcmp(lists[1].reason, "still 503") == 0 && !lists[0].stale,
	    "stale since the first failure, with the last reason");
	tap_code(store_offer_list(s, &(struct offer_query){ .provider = "second" }, a, &got, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && strcmp(got[0].account, "main") == 0, "a stale list still answers");
	tap_code(store_offer_list(s, &(struct offer_query){ .provider = "second", .fresh_only = true }, a, &got, &n, &err),
	    BERTH_OK, &err);
	tap_is_long((long long)n, 0, "but not to who asks for fresh prices");
	tap_code(store_offers_replace(s, "second", "main", "api", &o, 1, T0 + 30, NULL, &err), BERTH_OK, &err);
	tap_code(store_price_list_list(s, a, &lists, &n, &err), BERTH_OK, &err);
	tap_ok(!lists[1].stale && lists[1].fetched == T0 + 30, "a refresh takes the mark away");
	tap_code(store_offers_replace(s, "third", "", "api", &o, 1, T0, NULL, &err), BERTH_EINVAL, &err);
	arena_free(a);
}

/* Measured speed of a fleet: the mean of the newest 20, by another sum. */
static void
test_measured(struct store *s)
{
	struct offer o = offer_make(1, "second");
	const struct measure_row rows[] = { { 0, "dram_triad", 0, -1, 2900.5, "GB/s", "ok" },
		{ 0, "gemm_bf16", 0, -1, (double)NAN, "TFLOP/s", "skipped" } };
	struct arena *a = arena_new();
	struct measure_row *back;
	struct measurement last;
	struct berth_err err;
	struct offer *got;
	double sum = 0;
	int64_t id;
	size_t n;

	for (int i = 0; i < 30; i++) {
		struct measurement m = { .t = T0 + i, .provider = "second", .region = o.region, .zone = "",
			.instance_type = o.instance_type, .accelerator = o.accelerator, .host = "h", .mode = "gpu",
			.level = "quick", .speed = 0.5 + i * 0.01, .verdict = "accept", .reason = "", .json = "{}" };

		if (i == 25)
			m.speed = (double)NAN;	/* not measured: counts for nothing */
		else if (i >= 9)
			sum += m.speed;
		if (store_measurement_insert(s, &m, rows, 2, &id, &err) != BERTH_OK)
			tap_code(err.code, BERTH_OK, &err);
	}
	tap_code(store_offer_list(s, &(struct offer_query){ .provider = "second" }, a, &got, &n, &err), BERTH_OK, &err);
	tap_near(got[0].measured, sum / 20, 1e-12, "offers say how fast the fleet is");
	tap_code(store_measurement_last(s, &(struct measurement_query){ .provider = "second", .region = o.region,
	    .instance_type = o.instance_type, .accelerator = o.accelerator }, a, &last, &err), BERTH_OK, &err);
	tap_is_long(last.t, T0 + 29, "the last measurement");
	tap_code(store_measure_rows(s, last.id, a, &back, &n, &err), BERTH_OK, &err);
	tap_ok(n == 2 && back[0].value == 2900.5 && isnan(back[1].value) && back[1].gpu == 0 &&
	    strcmp(back[1].status, "skipped") == 0, "with its tests");
	tap_code(store_measurement_last(s, &(struct measurement_query){ .provider = "none" }, a, &last, &err),
	    BERTH_ENOTFOUND, &err);
	arena_free(a);
}

/* Five readings of one spot pool, an hour apart: none from the second on, at another price in the third, back in the fifth. */
static void
test_gaps(struct store *s)
{
	struct offer o = offer_make(1, "third"), other = offer_make(4, "third");
	static const enum availability said[] = { AVAIL_YES, AVAIL_NO, AVAIL_NO, AVAIL_NO, AVAIL_YES };
	struct arena *a = arena_new();
	struct offer_gap *g;
	struct berth_err err;
	size_t n;

	other.available = AVAIL_NO;
	for (int i = 0; i < 5; i++) {
		struct offer v[2] = { o, other };

		v[0].available = said[i];
		v[0].price.v += i >= 2 ? 1000 : 0;
		tap_code(store_offers_replace(s, "third", "a", "api", v, i < 4 ? 2 : 1, T0 + 3600 * i, NULL, &err), BERTH_OK, &err);
		if (i != 3)
			continue;
		tap_code(store_offer_gaps(s, 0, a, &g, &n, &err), BERTH_OK, &err);
		tap_ok(n == 2 && g[0].from == T0 + 3600 && g[0].until == T0 + 3 * 3600 && !g[0].back,
		    "it goes on up to the last reading, through another price");
	}
	tap_code(store_offer_gaps(s, 0, a, &g, &n, &err), BERTH_OK, &err);
	tap_ok(n == 2 && g[0].from == T0 + 3600 && g[0].until == T0 + 4 * 3600 && g[0].back && strcmp(g[0].key.account, "") == 0,
	    "back at the fifth");
	tap_ok(g[1].from == T0 && g[1].until == T0 + 4 * 3600 && !g[1].back, "what its list has no more is not back");
	tap_code(store_offer_gaps(s, T0 + 4 * 3600, a, &g, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "what ended before tells nothing");
	/* Another account's list at once: none there for half an hour longer, which is one gap of the place. */
	o.available = AVAIL_NO;
	tap_code(store_offers_replace(s, "third", "b", "api", &o, 1, T0 + 2 * 3600, NULL, &err), BERTH_OK, &err);
	o.available = AVAIL_UNKNOWN;
	tap_code(store_offers_replace(s, "third", "b", "api", &o, 1, T0 + 4 * 3600 + 1800, NULL, &err), BERTH_OK, &err);
	tap_code(store_offer_gaps(s, 0, a, &g, &n, &err), BERTH_OK, &err);
	tap_ok(n == 2 && g[0].from == T0 + 3600 && g[0].until == T0 + 4 * 3600 + 1800 && g[0].back, "two accounts, one place");
	arena_free(a);
}

int
main(void)
{
	struct offer offers[N];
	struct store *s = store_tmp_open(store_tmp_path("berth.db"));

	for (size_t i = 0; i < N; i++)
		offers[i] = offer_make(i, "cloud");
	test_replace(s, offers);
	test_stale(s);
	test_measured(s);
	test_redate(s);
	test_gaps(s);
	store_close(s);
	store_tmp_end();
	return tap_done();
}
