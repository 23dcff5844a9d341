/* tests/unit/pricelist.c - the gate, and lists that are put, kept, quarantined and ended. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/pricelist.h"
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

	pricelist_judge(old, n_old, fresh, n_fresh, &g);
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

static void
test_put(struct store *store, const char *dir)
{
	struct pricelist_setup s = { .store = store, .now = NOW, .quarantine_dir = arena_printf(a, "%s/q", dir) };
	struct pricelist_result r;
	struct berth_err err = { 0 };
	struct offer *v = make("p", 6, 10, "L4");
	const char *file = arena_printf(a, "%s/q/p-%lld.csv", dir, (long long)NOW + 1);
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
	s.force = true;
	tap_code(pricelist_put(&s, "p", "", "f.csv", v, 6, a, &r, &err), BERTH_OK, &err);
	tap_ok(r.code == BERTH_OK && current(store, "p", &sum) == 6 && sum == 300, "by force it is taken");
	unlink(file);
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
	tap_code(store_open(":memory:", STORE_CREATE, NOW, &store, &err), BERTH_OK, &err);
	test_put(store, dir);
	test_refresh(store, dir);
	store_close(store);
	unlink(arena_printf(a, "%s/q/replay-play-%lld.csv", dir, (long long)NOW));
	rmdir(arena_printf(a, "%s/q", dir));
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
