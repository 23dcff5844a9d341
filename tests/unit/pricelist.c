/* tests/unit/pricelist.c - the gate, and lists that are put, kept, quarantined and ended. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/pricelist.h"
#include "broker/quarantine.h"
#include "model/rates.h"
#include "store/event_rows.h"
#include "store/offer_rows.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"

#define NOW INT64_C(1795996800)

static struct arena *a;

/* n offers of one provider, priced base * factor ^ k. */
static struct offer *
make(const char *provider, size_t n, double base, const char *accelerator)
{
	struct offer *v = arena_array_of(a, n, struct offer);

	for (size_t i = 0; i < n; i++) {
		v[i] = (struct offer){ .provider = provider, .account = "", .region = "r", .zone = "",
			.instance_type = arena_printf(a, "t%zu", i), .accelerator = accelerator, .accelerator_known = true,
			.accelerator_count = 1, .accelerator_memory_gib = 24, .vcpus = NAN, .memory_gib = NAN, .upfront = USD_ZERO,
			.currency = "USD", .interruption_rate = NAN, .measured = NAN, .source = "" };
		v[i].price.v = (int64_t)((base + (double)i) * 1e6);
	}
	return v;
}

static bool
passes(const struct offer *old, size_t n_old, const struct offer *fresh, size_t n_fresh, const char *why)
{
	struct pricelist_gate g;

	pricelist_judge(NULL, false, old, n_old, fresh, n_fresh, &g);
	if (!g.pass && why != NULL && strstr(g.why, why) == NULL)
		tap_diag("said: %s", g.why);
	return g.pass;
}

static void
test_gate(void)
{
	struct offer *old = make("p", 10, 10, "L4"), *fresh = make("p", 10, 10, "L4");

	tap_ok(passes(NULL, 0, fresh, 10, NULL), "a first list has nothing to be compared with");
	tap_ok(!passes(NULL, 0, fresh, 0, "no price"), "an empty list is none");
	tap_ok(passes(old, 10, fresh, 10, NULL), "the same");
	fresh[0].price.v *= 3;
	fresh[1].price.v /= 3;
	tap_ok(passes(old, 10, fresh, 10, NULL), "two of ten moved far: 20 %% may");
	fresh[2].price.v *= 3;
	tap_ok(!passes(old, 10, fresh, 10, "3 of 10 prices"), "three may not");
	for (size_t i = 0; i < 10; i++)
		fresh[i].price.v = old[i].price.v * 3 / 2;
	tap_ok(passes(old, 10, fresh, 10, NULL), "half as much again is not over 50 %%");
	for (size_t i = 0; i < 10; i++)
		fresh[i].price.v = old[i].price.v / 2 - 1;
	tap_ok(!passes(old, 10, fresh, 10, "10 of 10"), "a little less than half of it is");
	tap_ok(passes(old, 4, fresh, 4, NULL), "four prices say nothing");
	for (size_t i = 0; i < 10; i++)
		fresh[i].price = USD_UNKNOWN;
	tap_ok(!passes(old, 10, fresh, 10, "no price"), "a list whose prices are all unknown");
	for (size_t i = 0; i < 10; i++)
		fresh[i].price = i < 3 ? USD_UNKNOWN : old[i].price;
	tap_ok(!passes(old, 10, fresh, 10, "3 of 10 prices moved by over 50 % or are none any more (3)"), "three prices that were and are none");
	fresh[2].price = old[2].price;
	tap_ok(passes(old, 10, fresh, 10, NULL), "two may");
	for (size_t i = 0; i < 10; i++)
		old[i].accelerator = arena_printf(a, "gpu%zu", i / 2);
	fresh = make("p", 10, 10, "gpu0");
	tap_ok(!passes(old, 10, fresh, 10, "4 of 5 accelerators"), "four of five families gone");
	fresh[1].accelerator = "gpu1";
	fresh[2].accelerator = "gpu2";
	tap_ok(passes(old, 10, fresh, 10, NULL), "two of five may go");
}

static size_t
current(struct store *s, const char *provider, int64_t *sum_out)
{
	struct offer_query q = { .provider = provider };
	struct berth_err err;
	struct offer *v;
	size_t n = 0;

	*sum_out = 0;
	if (store_offer_list(s, &q, a, &v, &n, &err) != BERTH_OK)
		return 9999;
	for (size_t i = 0; i < n; i++)
		*sum_out += v[i].price.v / 1000000;
	return n;
}

/* Own machines, whose prices berth.yaml says or does not. */
static void
test_gate_own(void)
{
	struct offer *old = make("p", 10, 10, "L4"), *fresh = make("p", 10, 10, "L4");
	struct pricelist_gate g;

	for (size_t i = 0; i < 10; i++)
		fresh[i].price = USD_UNKNOWN;
	pricelist_judge(NULL, true, NULL, 0, fresh, 10, &g);
	tap_ok(g.pass, "own machines without a price are a list");
	pricelist_judge(NULL, true, old, 10, fresh, 10, &g);
	tap_ok(g.pass, "also where they had one");
	pricelist_judge(NULL, true, old, 10, fresh, 0, &g);
	tap_ok(!g.pass, "none at all is no list");
	fresh = make("p", 10, 10, "L4");
	for (size_t i = 0; i < 5; i++)
		fresh[i].price.v = old[i].price.v * 3;
	pricelist_judge(NULL, true, old, 10, fresh, 10, &g);
	tap_ok(!g.pass && strstr(g.why, "5 of 10 prices") != NULL, "a slip of the pen is told: %s", g.why);
}

static void
test_put(struct store *store, const char *dir)
{
	struct pricelist_setup s = { .store = store, .now = NOW, .quarantine_dir = arena_printf(a, "%s/q", dir) };
	struct pricelist_result r;
	struct berth_err err = { 0 };
	struct offer *v = make("p", 6, 10, "L4");
	const char *file = arena_printf(a, "%s/q/p-f.csv.csv", dir);
	struct quarantine *kept;
	char *text = NULL;
	int64_t sum;
	size_t n;

	tap_code(pricelist_put(&s, "p", "", "f.csv", v, 6, a, &r, &err), BERTH_OK, &err);
	tap_ok(r.code == BERTH_OK && r.offers == 6 && !r.stale && current(store, "p", &sum) == 6 && sum == 75, "six offers");
	s.now++;
	for (size_t i = 0; i < 6; i++)
		v[i].price.v *= 4;
	v[0].region = "a,\"b\"";
	tap_code(pricelist_put(&s, "p", "", "f.csv", v, 6, a, &r, &err), BERTH_OK, &err);
	tap_ok(r.code == BERTH_EPRICE && r.stale, "not believed: %s", r.error);
	tap_ok(current(store, "p", &sum) == 6 && sum == 75, "the old list stands");
	tap_code(fileio_slurp(a, file, 1 << 20, &text, &n, &err), BERTH_OK, &err);
	tap_ok(text != NULL && strstr(text, "p,\"a,\"\"b\"\"\",,t0,L4,1,24,,,on_demand,,,0.000000,40.000000,USD,,,") != NULL,
	    "quarantined as CSV, quotes and all");
	tap_code(pricelist_put(&s, "p", "", "f.csv", v, 6, a, &r, &err), BERTH_OK, &err);
	tap_code(quarantine_list(s.quarantine_dir, a, &kept, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && str_eq(kept[0].provider, "p") && str_eq(kept[0].source, "f.csv") && kept[0].offers == 6 && kept[0].at == NOW + 1 &&
	    strstr(kept[0].why, "5 of 5 prices") != NULL, "refused twice it lies there once: %s", kept[0].name);
	s.force = true;
	tap_code(pricelist_put(&s, "p", "", "f.csv", v, 6, a, &r, &err), BERTH_OK, &err);
	tap_ok(r.code == BERTH_OK && current(store, "p", &sum) == 6 && sum == 300, "by force it is taken");
	tap_code(quarantine_list(s.quarantine_dir, a, &kept, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "and leaves the quarantine");
	rmdir(s.quarantine_dir);
}

/* An account whose answer the test makes up. */
struct fake_answer { int status; const char *body; };

static enum berth_code
answer(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const struct fake_answer *f = arg;

	(void)acc;
	(void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = f->status;
	resp->body = f->body;
	resp->body_len = strlen(f->body);
	return BERTH_OK;
}

static void
test_refresh(struct store *store, const char *dir)
{
	struct pricelist_setup s = { .store = store, .now = NOW, .quarantine_dir = arena_printf(a, "%s/q", dir) };
	struct prov_env env = { .now = NOW, .account = "play", .installation = "i" };
	struct fake_answer good = { 200, "{\"source\":\"x\",\"as_of\":\"2026-11-30T00:00:00Z\",\"offers\":["
	    "{\"provider\":\"one\",\"region\":\"r\",\"instance_type\":\"t\",\"accelerator\":\"L4\",\"accelerator_count\":1,"
	    "\"purchase\":\"spot\",\"price_per_hour\":1},"
	    "{\"provider\":\"two\",\"region\":\"r\",\"instance_type\":\"t\",\"accelerator\":\"L4\",\"accelerator_count\":1,"
	    "\"purchase\":\"spot\",\"price_per_hour\":2}]}" };
	struct fake_answer less = { 200, "{\"source\":\"x\",\"as_of\":\"2026-11-30T00:00:00Z\",\"offers\":["
	    "{\"provider\":\"two\",\"region\":\"r\",\"instance_type\":\"t\",\"accelerator\":\"L4\",\"accelerator_count\":1,"
	    "\"purchase\":\"spot\",\"price_per_hour\":2}]}" };
	struct fake_answer html = { 200, "<html>sign in</html>" }, down = { 503, "" }, none = { 200, "{\"offers\":[]}" };
	struct fake_answer *bad[] = { &html, &down, &none };
	struct prov_account *acc = NULL;
	struct pricelist_result r;
	struct berth_err err = { 0 };
	struct price_list *lists;
	size_t n, stale = 0;
	int64_t sum;

	setenv("BERTH_DATA", arena_printf(a, "%s/data", getenv("TOP_SRCDIR") != NULL ? getenv("TOP_SRCDIR") : "."), 0);
	tap_code(prov_account_open(NULL, "replay", &env, &acc, &err), BERTH_OK, &err);
	prov_account_hook(acc, answer, &good);
	tap_code(pricelist_refresh(&s, &acc, 1, 0, a, &r, &err), BERTH_OK, &err);
	tap_ok(r.code == BERTH_OK && r.offers == 2 && current(store, "one", &sum) == 1 && current(store, "two", &sum) == 1,
	    "one list a provider");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		prov_account_hook(acc, answer, bad[i]);
		tap_code(pricelist_refresh(&s, &acc, 1, 0, a, &r, &err), BERTH_OK, &err);
		tap_ok(r.code != BERTH_OK && r.stale && current(store, "one", &sum) == 1 && current(store, "two", &sum) == 1,
		    "the old lists stand: %s", r.error);
	}
	tap_code(store_price_list_list(store, a, &lists, &n, &err), BERTH_OK, &err);
	for (size_t i = 0; i < n; i++)
		stale += lists[i].stale && str_eq(lists[i].account, "play");
	tap_is_long((long long)stale, 2, "both are marked stale");
	prov_account_hook(acc, answer, &less);
	tap_code(pricelist_refresh(&s, &acc, 1, 0, a, &r, &err), BERTH_OK, &err);
	tap_ok(current(store, "one", &sum) == 0 && current(store, "two", &sum) == 1, "who is not sold any more ends");
	prov_account_close(acc);
}

/* CNY at 7.10 a USD, EUR at 1.25 USD each; what has no rate stays as it is. */
static void
test_rates(const char *dir)
{
	static const char text[] = "from,to,rate,as_of\nUSD,CNY,8,2026-01-01\nUSD,CNY,7.10,2026-11-28\nEUR,USD,1.25,\n";
	static const char *const bad[] = { "from,to,rate\nUSD,CNY,0\n", "from,to,rate\nCNY,EUR,2\n", "from,to,rate\nUSD,CNY,x\n",
		"from,to\nUSD,CNY\n" };
	const char *path = arena_printf(a, "%s/rates.csv", dir);
	struct offer *v = make("p", 4, 1, "L4");
	struct rates *r = NULL;
	struct berth_err err = { 0 };

	tap_code(atomicfile_write(path, text, strlen(text), 0600, &err), BERTH_OK, &err);
	tap_code(rates_load(path, NOW, a, &r, &err), BERTH_OK, &err);
	v[0].price.v = 21856800;
	memcpy(v[0].currency, "CNY", 4);
	v[0].source = "list";
	memcpy(v[1].currency, "EUR", 4);
	v[1].price.v = 2000000;
	v[1].upfront.v = 8000000;
	memcpy(v[2].currency, "JPY", 4);
	for (int i = 0; i < 4; i++)
		rates_convert(r, &v[i], a);
	tap_ok(v[0].price.v == 3078423 && str_eq(v[0].currency, "USD"), "21.8568 CNY are 3.078423 USD");
	tap_is_str(v[0].source, "list, CNY at 7.10 a USD of 2026-11-28", "the source says so");
	tap_ok(v[1].price.v == 2500000 && v[1].upfront.v == 10000000, "2 EUR are 2.5 USD, upfront too");
	tap_ok(v[2].price.v == 3000000 && str_eq(v[2].currency, "JPY") && !usd_known(offer_effective_hour(&v[2])), "without a rate: not comparable");
	tap_ok(v[3].price.v == 4000000 && v[3].source[0] == '\0', "USD stays");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tap_code(atomicfile_write(path, bad[i], strlen(bad[i]), 0600, &err), BERTH_OK, &err);
		tap_code(rates_load(path, NOW, a, &r, &err), BERTH_EINVAL, &err);
	}
	unlink(path);
}

/* A move by more than the policy's share is one event for provider, accelerator and way to buy. */
static void
test_alerts(struct store *store, const char *dir)
{
	struct pricelist_policy p = pricelist_policy_default;
	struct pricelist_setup s = { .store = store, .now = NOW, .quarantine_dir = arena_printf(a, "%s/q", dir), .policy = &p };
	struct event_query q = { .type = "price.moved" };
	struct offer *v = make("mover", 20, 10, "H100");
	struct pricelist_result r;
	struct berth_err err = { 0 };
	struct event *es;
	size_t n;

	tap_code(pricelist_put(&s, "mover", "", "f", v, 20, a, &r, &err), BERTH_OK, &err);
	v[3].price.v = v[3].price.v * 13 / 10;
	v[4].price.v = v[4].price.v * 14 / 10;
	v[5].price.v = v[5].price.v * 11 / 10;
	tap_code(pricelist_put(&s, "mover", "", "f", v, 20, a, &r, &err), BERTH_OK, &err);
	q.subject = "offer:mover/H100/on_demand";
	tap_code(store_event_list(store, &q, a, &es, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && strstr(es[0].data, "\"offers\":2") != NULL && strstr(es[0].data, "\"instance_type\":\"t4\"") != NULL &&
	    strstr(es[0].data, "\"was\":14.000000") != NULL && strstr(es[0].data, "\"moved\":0.4") != NULL, "two moved by over 20 %%, one is told of: %s",
	    n > 0 ? es[0].data : "");
	p.alert = 0;
	v[3].price.v *= 2;
	tap_code(pricelist_put(&s, "mover", "", "f", v, 20, a, &r, &err), BERTH_OK, &err);
	tap_code(store_event_list(store, &q, a, &es, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 1, "none is where none is wanted");
	p.moved = 0.05;
	p.moved_share = 0;
	v[6].price.v = v[6].price.v * 107 / 100;
	tap_code(pricelist_put(&s, "mover", "", "f", v, 20, a, &r, &err), BERTH_OK, &err);
	tap_ok(r.stale, "a stricter gate: %s", r.error);
	quarantine_drop(s.quarantine_dir, &(struct quarantine){ .provider = "mover", .account = "", .source = "f" }, a);
	rmdir(s.quarantine_dir);
}

int
main(void)
{
	char dir[] = "/tmp/berth-pricelist-XXXXXX";
	struct store *store = NULL;
	struct berth_err err = { 0 };

	a = arena_new();
	if (mkdtemp(dir) == NULL)
		return 99;
	test_gate();
	test_gate_own();
	tap_code(store_open(":memory:", STORE_CREATE, NOW, &store, &err), BERTH_OK, &err);
	test_put(store, dir);
	test_rates(dir);
	test_alerts(store, dir);
	test_refresh(store, dir);
	store_close(store);
	unlink(arena_printf(a, "%s/q/replay-play-%lld.csv", dir, (long long)NOW));
	rmdir(arena_printf(a, "%s/q", dir));
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
