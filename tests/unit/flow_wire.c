/* tests/unit/flow_wire.c - clocks, caches, silence and many accounts at once, against a server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/net.h"
#include "tests/tap.h"
#include "tests/unit/flow_fake.h"
#include "util/arena.h"
#include "util/time.h"

static int ports[16];
static FILE *to, *from;

static pid_t
server_start(void)
{
	const char *top = getenv("TOP_SRCDIR");
	int in[2], out[2];
	pid_t pid;

	if (pipe(in) != 0 || pipe(out) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char script[4096];

		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		snprintf(script, sizeof(script), "%s/tests/unit/flow_server.py", top != NULL ? top : ".");
		execlp("python3", "python3", script, "16", "0.2", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to = fdopen(in[1], "w");
	from = fdopen(out[0], "r");
	for (int i = 0; i < 16; i++)
		if (fscanf(from, "%d", &ports[i]) != 1)
			return -1;
	return pid;
}

static void
test_wire(void)
{
	struct prov_env env = { .now = time_clock_s(), .account = "f", .installation = "inst", .log = &quiet };
	struct berth_err err = { 0 };
	struct prov_account *acc = NULL;
	char url[64];
	int64_t began, off;
	int n = 0;

	snprintf(url, sizeof(url), "http://127.0.0.1:%d/clock", ports[0]);
	base = url;
	memset(&me, 0, sizeof(me));
	tap_code(account_open(&ops, NULL, &env, &acc, &err), BERTH_OK, &err);
	tap_ok(!prov_account_clock_off(acc, &off), "a cloud that was not asked has told no time");
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && me.signs == 2 && me.signed_at[1] >= me.signed_at[0] + 590, "a server whose clock is ahead is satisfied");
	tap_ok(prov_account_clock_off(acc, &off) && off >= 590 && off <= 602, "its clock is %lld s ahead", (long long)off);
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_is_long(me.signs, 3, "and at once with the next call");
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/busy", ports[0]);
	began = time_mono_ms();
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(time_mono_ms() - began >= 950, "Retry-After is waited for: %lld ms", (long long)(time_mono_ms() - began));
	acc->rate = 10;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/count", ports[0]);
	began = time_mono_ms();
	for (int i = 0; i < 20; i++)
		(void)!prov_offers(acc, NULL, count_offer, &n, &err);
	tap_ok(time_mono_ms() - began >= 850, "20 calls at 10 a second, of which a second's worth at once: %lld ms",
	    (long long)(time_mono_ms() - began));
	prov_account_close(acc);
}

/* How often the server was asked for what. */
static int
asked(const char *what)
{
	struct http *h = NULL;
	struct arena *a = arena_new();
	struct http_req req = { .arena = a };
	struct http_resp resp;
	struct berth_err err;
	const char *at;
	int n = 0;

	http_req_url(&req, "http://127.0.0.1:%d/count", ports[0]);
	if (http_new(NULL, &h, &err) == BERTH_OK && http_exchange(h, &req, &resp, &err) == BERTH_OK &&
	    (at = strstr(resp.body, what)) != NULL)
		n = atoi(at + strlen(what));
	http_free(h);
	arena_free(a);
	return n;
}

static void
test_cached(void)
{
	char dir[] = "/tmp/berth-flow-XXXXXX", url[64], cmd[256];
	struct prov_env env = { .now = time_clock_s(), .account = "f", .installation = "inst", .log = &quiet };
	struct berth_err err = { 0 };
	struct prov_account *acc = NULL;
	int n = 0;

	memset(&me, 0, sizeof(me));
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/tagged", ports[0]);
	base = url;
	if (mkdtemp(dir) == NULL || setenv("XDG_CACHE_HOME", dir, 1) != 0)
		return;
	tap_code(prov_net_open(NULL, "", &env.net, &err), BERTH_OK, &err);
	tap_code(account_open(&ops, NULL, &env, &acc, &err), BERTH_OK, &err);
	prov_net_free(env.net);
	cache_ttl_s = 100;
	for (int i = 0; i < 3; i++)
		tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 3 && asked("/tagged ") == 1, "three lists, one request: the rest is from the cache");
	cache_ttl_s = 0;
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 4 && asked("/tagged ") == 2, "an old one is asked for, and a 304 is enough");
	snprintf(cmd, sizeof(cmd), "for f in %s/berth/http/*.??????; do printf 'x y' >$f; done; sed -i 's/\"length\": 4/\"length\": 3/' %s/berth/http/*.json", dir, dir);
	tap_is_long(system(cmd), 0, "the kept answer is spoiled");
	cache_ttl_s = 100;
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 5 && asked("/tagged ") == 3, "what cannot be read is forgotten and asked for anew");
	snprintf(cmd, sizeof(cmd), "for f in %s/berth/http/*.??????; do printf 'x' >$f; done", dir);
	tap_is_long(system(cmd), 0, "it is cut");
	cache_ttl_s = 0;
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_ok(n == 6 && asked("/tagged ") == 4, "and one that is cut is not asked about");
	prov_account_close(acc);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	tap_is_long(system(cmd), 0, "away with it");
}

/* A cloud that takes connections and says nothing: repeats share the limit of one exchange, and after two calls it is let be. */
static void
test_silent(void)
{
	struct prov_env env = { .now = time_clock_s(), .account = "f", .installation = "inst", .log = &quiet };
	struct berth_err err = { 0 };
	struct prov_account *acc = NULL;
	char url[64];
	int64_t began, took;
	int n = 0;

	snprintf(url, sizeof(url), "http://127.0.0.1:%d/silent", ports[0]);
	base = url;
	memset(&me, 0, sizeof(me));
	tap_code(account_open(&ops, NULL, &env, &acc, &err), BERTH_OK, &err);
	acc->http.timeout_s = 2;
	for (int i = 0; i < 3; i++) {
		began = time_mono_ms();
		tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_ETRANSIENT, &err);
		took = time_mono_ms() - began;
		tap_ok(i < 2 ? took >= 1900 && took < 3900 : took < 1900, "call %d took %lld ms: %s", i, (long long)took, err.msg);
	}
	acc->silent_ms -= 31000;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/count", ports[0]);
	tap_code(prov_offers(acc, NULL, count_offer, &n, &err), BERTH_OK, &err);
	tap_is_long(acc->silent, 0, "asked again after half a minute, and forgiven");
	prov_account_close(acc);
}

/* The base of the account that is asked stands in its name: one adapter, sixteen places. */
static enum berth_code
many_build(void *st, const struct prov_query *q, const struct prov_cursor *cur, struct http_req *req,
    struct berth_err *err)
{
	const struct prov_env *env = *(const struct prov_env **)st;	/* what provider_fake keeps */

	(void)q;
	(void)cur;
	(void)err;
	http_req_url(req, "http://127.0.0.1:%s", env->account);
	return BERTH_OK;
}

static void
test_many(void)
{
	struct prov_env env = { .now = time_clock_s(), .installation = "inst", .log = &quiet };
	struct prov_many m[16] = { 0 }, *one;
	struct prov_many_run *run;
	struct berth_err err = { 0 };
	int found[16] = { 0 }, good = 0, all = 0;
	int64_t began, took;
	char name[16][32];

	memset(&me, 0, sizeof(me));
	market.offers_build = many_build;
	for (int i = 0; i < 16; i++) {
		snprintf(name[i], sizeof(name[i]), "%d/%s", ports[i], i == 5 ? "silent" : "offers");
		env.account = name[i];
		tap_code(account_open(&ops, NULL, &env, &m[i].account, &err), BERTH_OK, &err);
		m[i].offer_fn = count_offer;
		m[i].arg = &found[i];
	}
	began = time_mono_ms();
	prov_run_many(m, 16, 3);
	took = time_mono_ms() - began;
	for (int i = 0; i < 16; i++) {
		good += m[i].code == BERTH_OK;
		all += found[i];
	}
	tap_ok(good == 15 && all == 45, "15 of 16 clouds answer with 3 offers each (%d, %d)", good, all);
	tap_ok(m[5].code == BERTH_ETRANSIENT && took >= 2900 && took < 9000, "the silent one ends with the pass: %s", m[5].err.msg);
	tap_ok(m[4].took_ms < 2900 && m[6].took_ms < 2900, "and delays nobody: %lld ms", (long long)m[6].took_ms);
	began = time_mono_ms();
	m[5].deadline_s = 1;
	run = prov_many_begin(m, 16, 3);
	for (int i = 0; (one = prov_many_next(run)) != NULL; i++) {
		if (one == &m[5])
			tap_ok(i == 15 && one->code == BERTH_ETRANSIENT, "the silent one comes last");
		if (i == 0)
			tap_code(prov_offers(one->account, NULL, count_offer, &found[0], &err), BERTH_OK, &err);
		good += one->code == BERTH_OK;
	}
	took = time_mono_ms() - began;
	tap_ok(good == 30 && took >= 950 && took < 2900, "one by one as they come, with a call between: %lld ms", (long long)took);
	began = time_mono_ms();
	prov_run_many(m + 6, 10, 0);
	took = time_mono_ms() - began;
	tap_ok(m[6].code == BERTH_OK && took < 1900, "ten of 200 ms take %lld ms", (long long)took);
	for (int i = 0; i < 16; i++)
		prov_account_close(m[i].account);
	market.offers_build = my_offers_build;
}

void
test_on_the_wire(void)
{
	pid_t pid = server_start();

	if (pid > 0) {
		test_wire();
		test_cached();
		test_silent();
		test_many();
	} else {
		tap_skip("wire", "no python3");
	}
	fclose(to);
	waitpid(pid, NULL, 0);
	fclose(from);
}
