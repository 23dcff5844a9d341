/* tests/unit/replay.c - the replayed cloud behind the core: its file, its traces, its answers, hostile ones too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/replay/trace.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/log.h"
#include "util/rng.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define T0 INT64_C(1795996800)

static struct arena *a;
static const struct accel_table *accels;
static char dir[64];
static struct log quiet;

static const char trace_text[] =
    "schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\n"
    "quotas: [{accelerator: 'H100*', purchase: spot, limit: 16}]\n"
    "pools:\n"
    "  - {provider: acme, region: eu-1, zone: eu-1a, instance_type: big, accelerator: H100-SXM5-80GB, accelerator_count: 8,\n"
    "     startup: 2m, spot: {price: [[0h, 10.5], [1h, 12.25]], capacity: [[0h, 3], [2h, 1]], interruption_rate: 0.1},\n"
    "     on_demand: {price: 30, capacity: 1, shown: false},\n"
    "     reserved: [{term_months: 12, price: 20}, {term_months: 36, payment: all, upfront: 100000, price: 0}]}\n"
    "  - {provider: acme, region: eu-1, instance_type: bad, accelerator: T4, startup: 0s, broken: 1, on_demand: {price: 1}}\n"
    "  - {provider: acme, region: eu-1, instance_type: lame, accelerator: T4, startup: 0s, slow: {share: 1, factor: 0.5},\n"
    "     on_demand: {price: 1}}\n";

static struct prov_account *
open_text(const char *yaml, int64_t now, enum berth_code want)
{
	struct prov_env env = { .now = now, .account = "r", .installation = "inst", .state_dir = dir, .config_dir = dir,
		.accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	if (want != BERTH_OK)
		tap_diag("%s", err.msg);
	return acc;
}

static struct prov_account *
open_trace(int64_t now)
{
	return open_text("{name: r, provider: replay, trace: t.trace}", now, BERTH_OK);
}

static void
fresh(void)
{
	unlink(arena_printf(a, "%s/replay-r.json", dir));
}

static VEC(struct offer) offers;

static enum berth_code
keep_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	struct offer c = *o;

	(void)arg;
	(void)err;
	c.provider = arena_strdup(a, o->provider);
	c.region = arena_strdup(a, o->region);
	c.zone = arena_strdup(a, o->zone);
	c.instance_type = arena_strdup(a, o->instance_type);
	c.accelerator = arena_strdup(a, o->accelerator);
	c.account = arena_strdup(a, o->account);
	c.source = arena_strdup(a, o->source);
	VEC_PUSH(a, &offers, c);
	return BERTH_OK;
}

static const struct offer *
find_offer(const char *type, enum purchase p)
{
	for (size_t i = 0; i < offers.n; i++)
		if (str_eq(offers.v[i].instance_type, type) && offers.v[i].purchase == p)
			return &offers.v[i];
	return NULL;
}

static void
test_offers(void)
{
	struct prov_account *acc = open_trace(T0 + 5400);
	struct berth_err err = { 0 };
	const struct offer *o;

	offers.n = 0;
	tap_code(prov_offers(acc, NULL, keep_offer, NULL, &err), BERTH_OK, &err);
	tap_is_long((long long)offers.n, 6, "spot, on demand, two reserved, and two others");
	o = find_offer("big", PURCHASE_SPOT);
	tap_ok(o->price.v == 12250000 && o->available == AVAIL_YES && o->interruption_rate == 0.1 && o->as_of == T0 + 5400,
	    "the spot price of the second hour");
	tap_ok(o->accelerator_known && o->accelerator_memory_gib == 80 && strcmp(o->account, "r") == 0, "resolved by the table");
	o = find_offer("big", PURCHASE_ON_DEMAND);
	tap_ok(o->available == AVAIL_UNKNOWN && isnan(o->interruption_rate), "what is not shown is not known");
	o = find_offer("big", PURCHASE_RESERVED);
	tap_ok(o->term_months == 12 && o[1].term_months == 36 && o[1].payment == PAYMENT_ALL &&
	    o[1].upfront.v == INT64_C(100000000000), "reserved rows");
	prov_account_close(acc);
}

static enum berth_code
create(struct prov_account *acc, const char *token, const char *type, enum purchase p, struct prov_machine *m,
    struct berth_err *err)
{
	struct prov_create c = { .token = token, .offer = find_offer(type, p) };

	return prov_create(acc, &c, m, err);
}

static enum berth_code
count_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)err;
	*(int *)arg += m->state != PROV_GONE;
	return BERTH_OK;
}

/* The life of a machine, each call from a process of its own: the file carries the cloud. */
static void
test_life(void)
{
	struct prov_job job = { .job_id = "j-1", .work_hours = 4, .checkpoint_interval_s = 600, .checkpoint_write_s = 10 };
	struct prov_account *acc = open_trace(T0);
	struct prov_machine m, again;
	struct berth_err err = { 0 };
	struct prov_run run;
	int n = 0;

	fresh();
	tap_code(create(acc, "k-1", "big", PURCHASE_SPOT, &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_PENDING && m.ready_at == T0 + 120, "it starts");
	tap_code(create(acc, "k-2", "big", PURCHASE_SPOT, &again, &err), BERTH_OK, &err);
	tap_code(create(acc, "k-3", "big", PURCHASE_SPOT, &again, &err), BERTH_EQUOTA, &err);
	prov_account_close(acc);
	acc = open_trace(T0 + 60);
	tap_code(create(acc, "k-1", "big", PURCHASE_SPOT, &again, &err), BERTH_OK, &err);
	tap_is_str(again.ref, m.ref, "the same token from another process is the same machine");
	tap_code(create(acc, "k-1", "big", PURCHASE_ON_DEMAND, &again, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "token_mismatch") != NULL, "but not with another wish: %s", err.msg);
	tap_code(prov_start(acc, m.ref, &job, &run, &err), BERTH_OK, &err);
	tap_ok(run.state == PROV_RUN_WAITING, "the job waits for it");
	prov_account_close(acc);
	acc = open_trace(T0 + 120 + 1830);
	tap_code(prov_poll(acc, m.ref, "j-1", 0, &run, &err), BERTH_OK, &err);
	tap_near(run.progress, 1800.0 / 14400, 1e-6, "three stretches of ten minutes in 1830 s");
	tap_code(prov_poll(acc, m.ref, "j-2", 0, &run, &err), BERTH_ENOTFOUND, &err);
	prov_account_set_now(acc, T0 + 7080);
	tap_code(prov_status(acc, "r-000002", &again, &err), BERTH_OK, &err);
	tap_ok(again.state == PROV_NOTICED && again.reclaim_at == T0 + 7200, "the younger one got a notice");
	n = 0;
	tap_code(prov_notices(acc, count_machine, &n, &err), BERTH_OK, &err);
	tap_is_long(n, 1, "one notice");
	prov_account_set_now(acc, T0 + 7200);
	n = 0;
	tap_code(prov_list_ours(acc, count_machine, &n, &err), BERTH_OK, &err);
	tap_is_long(n, 1, "one of two is left");
	tap_code(prov_stop(acc, m.ref, "j-1", &run, &err), BERTH_OK, &err);
	tap_ok(run.state == PROV_RUN_STOPPED && run.safe_progress == run.progress, "stopped with a checkpoint");
	tap_code(prov_destroy(acc, m.ref, &again, &err), BERTH_OK, &err);
	tap_ok(again.state == PROV_GONE && !again.preempted && again.ended == T0 + 7200, "gone, and not preempted");
	tap_code(prov_destroy(acc, "r-999999", &again, &err), BERTH_OK, &err);
	tap_ok(again.state == PROV_GONE, "what was never there is gone");
	prov_account_close(acc);
}

/* Fails the n-th exchange, before or after the cloud acted. */
struct fault { int at, n; bool after; };

static enum berth_code
fail_one(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct fault *f = arg;
	enum berth_code rc;

	if (f->n++ != f->at)
		return prov_exchange_next(acc, req, resp, err);
	if (f->after && (rc = prov_exchange_next(acc, req, resp, err)) != BERTH_OK)
		return rc;
	return err_set(err, BERTH_ETRANSIENT, "lost");
}

/* Whatever exchange is lost, one token makes one machine and the destroy ends it. */
static void
test_faults(void)
{
	int bad = 0, runs = 0;

	for (int at = 0; at < 6; at++)
		for (int after = 0; after < 2; after++) {
			struct prov_account *acc = open_trace(T0);
			struct fault f = { at, 0, after != 0 };
			struct prov_machine m = { .ref = "" };
			struct berth_err err;
			int n = 0;

			fresh();
			prov_account_hook(acc, fail_one, &f);
			for (int tries = 0; tries < 3 && m.ref[0] == '\0'; tries++)
				(void)!create(acc, "k-9", "big", PURCHASE_SPOT, &m, &err);
			bad += prov_list_ours(acc, count_machine, &n, &err) != BERTH_OK || n != 1;
			bad += prov_destroy(acc, m.ref, &m, &err) != BERTH_OK || m.state != PROV_GONE;
			n = 0;
			bad += prov_list_ours(acc, count_machine, &n, &err) != BERTH_OK || n != 0;
			runs++;
			prov_account_close(acc);
		}
	tap_ok(bad == 0, "%d runs with one exchange lost before or after it was obeyed: one machine, then none", runs);
}

static void
test_same_bytes(void)
{
	char *bytes[2] = { NULL, NULL };
	struct berth_err err = { 0 };

	for (int k = 0; k < 2; k++) {
		struct prov_account *acc = open_trace(T0);
		struct prov_machine m;
		size_t n;

		fresh();
		(void)!create(acc, "k-1", "big", PURCHASE_SPOT, &m, &err);
		(void)!create(acc, "k-2", "lame", PURCHASE_ON_DEMAND, &m, &err);
		prov_account_set_now(acc, T0 + 4000);
		(void)!prov_destroy(acc, m.ref, &m, &err);
		prov_account_close(acc);
		tap_code(fileio_slurp(a, arena_printf(a, "%s/replay-r.json", dir), 1 << 20, &bytes[k], &n, &err), BERTH_OK, &err);
	}
	tap_is_str(bytes[0], bytes[1], "same seed and calls, same bytes");
}

static double
measured(struct prov_account *acc, const char *ref, const char *test, const char **status, struct berth_err *err)
{
	const char *json = NULL, *name = "";
	struct jsonr root, tests, item;
	double value = NAN;
	json_t *v = NULL;

	if (prov_measure(acc, ref, a, &json, err) != BERTH_OK ||
	    jsonr_parse(json, strlen(json), "probe", &v, err) != BERTH_OK)
		return NAN;
	root = jsonr_root(v, "probe");
	tests = jsonr_get(&root, "tests");
	for (size_t i = 0; i < jsonr_len(&tests); i++) {
		item = jsonr_at(&tests, i);
		(void)!jsonr_str(&item, "name", &name, err);
		if (!str_eq(name, test))
			continue;
		(void)!jsonr_double(&item, "value", &value, err);
		*status = json_string_value(json_object_get(item.v, "status"));
		*status = arena_strdup(a, *status != NULL ? *status : "");
		break;
	}
	json_decref(v);
	return value;
}

static void
test_measure(void)
{
	struct prov_account *acc = open_trace(T0);
	struct prov_machine bad, lame, big;
	const char *status = "";
	struct berth_err err = { 0 };
	double good;

	fresh();
	tap_code(create(acc, "k-1", "bad", PURCHASE_ON_DEMAND, &bad, &err), BERTH_OK, &err);
	tap_code(create(acc, "k-2", "lame", PURCHASE_ON_DEMAND, &lame, &err), BERTH_OK, &err);
	tap_code(create(acc, "k-3", "big", PURCHASE_SPOT, &big, &err), BERTH_OK, &err);
	tap_ok(isnan(measured(acc, big.ref, "dram_triad", &status, &err)) && err.code == BERTH_EPERMANENT,
	    "no measure of a machine that is not up: %s", err.msg);
	good = 244;	/* DCGM's figure, of 320 GB/s */
	tap_near(measured(acc, lame.ref, "dram_triad", &status, &err) / good, 0.5, 0.02, "half the speed of a sound T4");
	tap_is_str(status, "ok", "measured");
	tap_ok(isnan(measured(acc, bad.ref, "dram_triad", &status, &err)), "a broken machine has no rate");
	tap_is_str(status, "failed", "its test failed");
	prov_account_close(acc);
}

/* Answers are cut and twisted at every place: nothing crashes, and nothing cut is believed. */
struct twist { size_t cut; uint64_t seed; int status; const char *body; };

static enum berth_code
twist_answer(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	const struct twist *t = arg;
	enum berth_code rc = prov_exchange_next(acc, req, resp, err);
	char *body;
	struct rng r;

	if (rc != BERTH_OK)
		return rc;
	if (t->body != NULL) {
		resp->status = t->status;
		resp->body = t->body;
		resp->body_len = strlen(t->body);
		return BERTH_OK;
	}
	body = arena_memdup(req->arena, resp->body, resp->body_len + 1);
	if (t->cut < resp->body_len)
		resp->body_len = t->cut;
	body[resp->body_len] = '\0';
	if (t->seed != 0 && resp->body_len > 0) {
		rng_seed(&r, t->seed);
		for (int i = 0; i < 3; i++)
			body[rng_below(&r, resp->body_len)] = (char)rng_below(&r, 256);
	}
	resp->body = body;
	return BERTH_OK;
}

static void
test_hostile(void)
{
	static const char *const bodies[] = { "", "null", "[]", "{}", "<html><body>sign in</body></html>", "{\"machine\":null}",
		"{\"offers\":{}}", "{\"machine\":{\"id\":\"x\",\"state\":\"flying\",\"purchase\":\"spot\"}}",
		"{\"machines\":[{\"id\":17}]}", "{\"machines\":[null]}", "{\"offers\":[{\"price_per_hour\":1e400}]}" };
	struct prov_account *acc = open_trace(T0);
	struct berth_err err = { 0 };
	struct prov_machine m, made;
	struct prov_run run;
	int believed = 0, n = 0;

	fresh();
	tap_code(create(acc, "k-1", "big", PURCHASE_SPOT, &made, &err), BERTH_OK, &err);
	for (size_t cut = 0; cut < 200; cut++) {
		struct twist t = { cut, 0, 0, NULL };

		prov_account_hook(acc, twist_answer, &t);
		believed += prov_status(acc, made.ref, &m, &err) == BERTH_OK;
		believed += prov_list_ours(acc, count_machine, &n, &err) == BERTH_OK;
		believed += prov_offers(acc, NULL, keep_offer, NULL, &err) == BERTH_OK;
	}
	tap_is_long(believed, 0, "no cut answer is believed");
	for (uint64_t s = 1; s < 2000; s++) {
		struct twist t = { SIZE_MAX, s, 0, NULL };

		prov_account_hook(acc, twist_answer, &t);
		(void)!prov_status(acc, made.ref, &m, &err);
		(void)!prov_offers(acc, NULL, keep_offer, NULL, &err);
		(void)!prov_poll(acc, made.ref, "j", 0, &run, &err);
	}
	tap_ok(1, "twisted answers do no harm");
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct twist t = { 0, 0, 200, bodies[i] };

		prov_account_hook(acc, twist_answer, &t);
		tap_ok(prov_status(acc, made.ref, &m, &err) != BERTH_OK && prov_offers(acc, NULL, keep_offer, NULL, &err) != BERTH_OK,
		    "refused: %s", bodies[i]);
	}
	prov_account_close(acc);
}

static void
test_bad_state(void)
{
	static const char *const states[] = { "", "{", "{\"schema\":\"other\"}",
		"{\"schema\":\"berth.replay-state/1\",\"machines\":[{}]}",
		("{\"schema\":\"berth.replay-state/1\",\"clock\":1,\"next\":2,\"machines\":[{\"ref\":\"r\",\"token\":\"t\","
		"\"installation\":\"i\",\"pool\":\"p\",\"purchase\":\"spot\",\"created\":1,\"ready_at\":1,\"speed\":-1}]}") };
	char *path = arena_printf(a, "%s/replay-r.json", dir);
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct prov_account *acc = open_trace(T0);
		int n = 0;

		tap_code(atomicfile_write(path, states[i], strlen(states[i]), 0600, &err), BERTH_OK, &err);
		tap_code(prov_list_ours(acc, count_machine, &n, &err), BERTH_EINVAL, &err);
		prov_account_close(acc);
	}
	fresh();
}

static void
test_bad_traces(void)
{
	static const struct { const char *text, *says, *where; } bad[] = {
		{ "schema: berth.replay/2\nstart: 2026-11-30T00:00:00Z\npools: []\n", "berth.replay/1", "t:1:9" },
		{ "schema: berth.replay/1\nstart: 2026-11-30\npools: []\n", "zone", "t:2:8" },
		{ "schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\npols: []\n", "pools", "t:3:1" },
		{ "schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\npools:\n- {region: r, instance_type: t, accelerator: T4,\n"
		  "   spot: {price: [[0h, 1], [0h, 2]]}}\n", "ascend", "t:5:28" },
		{ "schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\npools:\n- {region: r, instance_type: t, accelerator: T4,\n"
		  "   spot: {price: [[1h, 1]]}}\n", "first offset", "t:5:19" },
		{ "schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\npools:\n- {region: r, instance_type: t, accelerator: T4}\n"
		  "- {region: r, instance_type: t, accelerator: T4}\n", "line 4", "t:5:3" },
		{ "schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\npools:\n- {region: r, instance_type: t, accelerator: T4,\n"
		  "   slow: {share: 2, factor: 0.5}}\n", "share", "t:5:18" },
	};
	struct trace t;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct berth_err err = { 0 };

		tap_code(trace_parse("t", bad[i].text, strlen(bad[i].text), 0, a, &t, &err), BERTH_EINVAL, &err);
		tap_ok(strstr(err.msg, bad[i].says) != NULL, "%s: %s", err.where, err.msg);
		tap_is_str(err.where, bad[i].where, "at its place");
	}
}

static void
test_example(void)
{
	struct prov_account *acc = open_text("{name: r, provider: replay}", T0, BERTH_OK);
	struct berth_err err = { 0 };
	bool kinds[PURCHASE_COUNT] = { false };
	int unknown = 0;

	offers.n = 0;
	tap_code(prov_offers(acc, NULL, keep_offer, NULL, &err), BERTH_OK, &err);
	for (size_t i = 0; i < offers.n; i++) {
		kinds[offers.v[i].purchase] = true;
		unknown += !offers.v[i].accelerator_known || !usd_known(offers.v[i].price);
	}
	tap_ok(kinds[0] && kinds[1] && kinds[2] && unknown == 0, "the bundled trace: %zu offers of all kinds, all known", offers.n);
	prov_account_close(acc);
}

/* The shared spot traces: capacity tick by tick as the file says, in each zone of a set. */
static void
test_tidy(void)
{
	const char *shared = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");
	const char *spot = arena_printf(a, "%s/data/spot",
	    shared != NULL ? shared : arena_printf(a, "%s/../shared", top != NULL ? top : "."));
	struct trace_tidy_opts o = { .set = "av-20230215*", .start = T0, .spot_price = { 918000 },
		.on_demand_price = { 3060000 }, .startup_s = 60, .notice_s = 120 };
	struct trace t = { 0 };
	struct berth_err err = { 0 };
	double mean = 0;

	if (!fileio_exists(arena_printf(a, "%s/traces.csv", spot))) {
		tap_skip("spot traces", "no shared data");
		return;
	}
	tap_code(trace_add_tidy(spot, &o, a, &t, &err), BERTH_OK, &err);
	tap_is_long((long long)t.n_pools, 9, "nine zones");
	for (int64_t k = 0; k < 20158; k++)
		mean += curve_at(&t.pools[0].market[PURCHASE_SPOT].capacity, T0 + k * 195 + 100) / 20158;
	tap_near(mean, 0.1667, 5e-5, "mean availability of us-east-1a, as traces.csv has it");
	tap_near(curve_at(&t.pools[0].market[PURCHASE_SPOT].price, T0), 0.918, 0, "the price from the account");
	o.set = "nothing*";
	tap_code(trace_add_tidy(spot, &o, a, &t, &err), BERTH_ENOTFOUND, &err);
	o.set = "*";
	tap_code(trace_add_tidy(spot, &o, a, &t, &err), BERTH_EINVAL, &err);
	tap_diag("%s", err.msg);
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	snprintf(dir, sizeof(dir), "/tmp/berth-replay-XXXXXX");
	if (mkdtemp(dir) == NULL || accel_table_open(a, &accels, &err) != BERTH_OK) {
		tap_ok(0, "set up: %s", err.msg);
		return tap_done();
	}
	tap_code(atomicfile_write(arena_printf(a, "%s/t.trace", dir), trace_text, strlen(trace_text), 0600, &err), BERTH_OK,
	    &err);
	test_offers();
	test_life();
	test_faults();
	test_same_bytes();
	test_measure();
	test_hostile();
	test_bad_state();
	test_bad_traces();
	test_example();
	test_tidy();
	fresh();
	unlink(arena_printf(a, "%s/replay-r.json.lock", dir));
	unlink(arena_printf(a, "%s/t.trace", dir));
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
