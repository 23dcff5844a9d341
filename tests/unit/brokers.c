/*
 * Two brokers on one store: the second does a whole tick while the first waits for the answer to its first launch, after
 * both have placed the same queue. What the first had planned on must not be rented on twice.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/placing_replay.h"
#include "model/accel.h"
#include "model/commitment.h"
#include "store/job_rows.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "store/machine_rows.h"
#include "store/plan_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"
#include "util/fileio.h"
#include "util/yaml.h"

static const char brokers_trace[] = "schema: berth.replay/1\nstart: 2026-11-30T16:00:00Z\npools:\n"
    "  - {provider: own, region: hall, zone: a, instance_type: x1, accelerator: L4, accelerator_count: 1, startup: 1m,"
    " on_demand: {price: 1, capacity: 99}}\n";

struct two;

struct one {
	struct two *w;
	struct arena *arena;
	struct store *store;
	struct broker broker;
	const struct accel_table *accels;
	bool other;		/* at its next launch the other one does a tick */
};

struct two {
	const char *dir, *path, *config;
	struct one v[2];
};

static struct log brokers_log = { .level = LOG_ERROR };

static void
must(enum berth_code rc, const struct berth_err *err)
{
	if (rc != BERTH_OK)
		tap_ok(0, "%s", err->msg);
}

static enum berth_code
brokers_hook(void *arg, struct prov_account *account, const struct http_req *req, struct http_resp *resp,
    struct berth_err *err)
{
	struct one *o = arg;

	if (o->other && req->method != NULL && strcmp(req->method, "POST") == 0 &&
	    strstr(req->url, "machines") != NULL) {
		struct berth_err why = { 0 };

		o->other = false;
		must(broker_tick(&o->w->v[1].broker, &why), &why);
	}
	return prov_exchange_next(account, req, resp, err);
}

static void
brokers_open(struct two *w, size_t i)
{
	struct one *o = &w->v[i];
	struct broker_setup setup = { .now = T0, .seed = 1 };
	const struct yaml_node *config;
	struct berth_err err = { 0 };

	*o = (struct one){ .w = w, .arena = arena_new() };
	brokers_log.f = stderr;
	must(accel_table_open(o->arena, &o->accels, &err), &err);
	must(yaml_parse(o->arena, w->config, strlen(w->config), "berth.yaml", &config, &err), &err);
	must(store_open(w->path, STORE_CREATE, T0, &o->store, &err), &err);
	setup.store = o->store;
	setup.accels = o->accels;
	setup.arena = o->arena;
	setup.config = config;
	setup.config_dir = setup.state_dir = setup.quarantine_dir = w->dir;
	setup.log = &brokers_log;
	setup.refs_path = arena_printf(o->arena, "%s/probe_reference.csv", getenv("BERTH_DATA"));
	setup.limits_path = arena_printf(o->arena, "%s/probe_thresholds.csv", getenv("BERTH_DATA"));
	must(broker_open(&setup, &o->broker, &err), &err);
	prov_account_hook(o->broker.accounts[0].prov, brokers_hook, o);
}

static void
brokers_close(struct two *w)
{
	for (size_t i = 0; i < 2; i++) {
		broker_close(&w->v[i].broker);
		store_close(w->v[i].store);
		arena_free(w->v[i].arena);
	}
}

static void
brokers_submit(struct two *w, const char *name)
{
	struct store *s = w->v[0].store;
	struct job_variant v = { .name = "", .accelerator = "L4", .count_min = 1, .count_max = 1, .nodes = 1,
		.memory_gib = (double)NAN, .speed = (double)NAN, .work_hours = (double)NAN };
	struct job_spec spec = { .name = name, .user = "u", .project = "p", .n_variants = 1, .variants = &v, .work_hours = 1,
		.precision = "bf16", .checkpoint_write_s = 10, .can_resume = true, .restart_s = 60,
		.max_price = USD_UNKNOWN, .max_cost = USD_UNKNOWN, .purchase_ok = { true, true, true }, .data_region = "",
		.latency_to = "", .latency_max_ms = (double)NAN, .link_gb_s = (double)NAN, .after = "", .run = "make" };
	struct berth_err err = { 0 };
	const char *id;

	must(store_job_insert(s, &spec, T0, w->v[0].arena, &id, &err), &err);
}

/* A fresh world with n jobs, its prices read; more: of berth.yaml. */
static void
brokers_world(struct two *w, const char *name, const char *more, int n)
{
	static char path[256], dir[256], config[1024];
	struct berth_err err = { 0 };
	char trace[300];

	snprintf(path, sizeof(path), "%s", store_tmp_path(name));
	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	snprintf(trace, sizeof(trace), "%s/two.trace", dir);
	snprintf(config, sizeof(config),
	    "schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: two.trace}\n%s", more);
	w->path = path;
	w->dir = dir;
	w->config = config;
	must(atomicfile_write(trace, brokers_trace, sizeof(brokers_trace) - 1, 0600, &err), &err);
	brokers_open(w, 0);
	brokers_open(w, 1);
	must(broker_tick(&w->v[0].broker, &err), &err);
	for (int i = 0; i < n; i++)
		brokers_submit(w, arena_printf(w->v[0].arena, "job%d", i));
}

/* Both tick: the second while the first launches. */
static void
brokers_tick(struct two *w)
{
	struct berth_err err = { 0 };

	w->v[0].other = true;
	must(broker_tick(&w->v[0].broker, &err), &err);
	tap_ok(!w->v[0].other, "the second did its tick while the first launched");
}

static void
brokers_number(struct two *w, const char *sql, int64_t want, const char *what)
{
	int64_t is = store_tmp_number(w->path, sql);

	tap_ok(is == want, "%s (%lld)", what, (long long)is);
}

static void
brokers_replayed(struct two *w)
{
	struct one *o = &w->v[0];
	struct placing_replay r;
	struct decision *ds = NULL;
	struct berth_err err = { 0 };
	size_t n = 0;

	must(store_decision_list(o->store, "placement", "placement", 10, o->arena, &ds, &n, &err), &err);
	tap_ok(n > 0, "%zu placements are kept", n);
	for (size_t i = 0; i < n; i++) {
		enum berth_code rc = placing_replay(o->store, o->accels, ds[i].id, o->arena, &r, &err);

		tap_ok(rc == BERTH_OK, "placement %lld comes out the same%s%s", (long long)ds[i].id, rc == BERTH_OK ? "" : ": ",
		    rc == BERTH_OK ? "" : err.msg);
	}
}

#define ALIVE "SELECT count(*) FROM instance WHERE state <> 'gone'"
#define TWICE "SELECT count(*) FROM (SELECT job_id FROM intent WHERE kind = 'create' GROUP BY job_id HAVING count(*) > 1)"

int
main(void)
{
	struct two w;

	/* Four jobs and a quota of two machines. */
	brokers_world(&w, "quota", "limits: [{name: hall, account: sky, limit: 2, unit: gpu}]\n", 4);
	brokers_tick(&w);
	brokers_number(&w, ALIVE, 2, "a quota of two is not passed");
	brokers_number(&w, TWICE, 0, "no job is rented for twice");
	brokers_replayed(&w);
	brokers_close(&w);

	/* Enough for all: each job once, and both have a part in it. */
	brokers_world(&w, "room", "", 5);
	brokers_tick(&w);
	brokers_number(&w, ALIVE, 5, "all are rented for");
	brokers_number(&w, TWICE, 0, "no job is rented for twice");
	brokers_number(&w, "SELECT count(*) FROM job WHERE state = 'placed'", 5, "all are placed");
	brokers_replayed(&w);
	brokers_close(&w);

	/* Money for two, 1 h 5 min each. */
	brokers_world(&w, "money", "", 4);
	{
		struct budget b = { .name = "lid", .scope = "all", .period = BUDGET_TOTAL, .cap = { 2200000 } };
		struct berth_err err = { 0 };

		must(store_budget_set(w.v[0].store, &b, T0, &err), &err);
	}
	brokers_tick(&w);
	brokers_number(&w, ALIVE, 2, "money for two pays for two");
	brokers_number(&w, "SELECT sum(held) <= 2200000 FROM reservation WHERE settled IS NULL", 1, "no more is reserved");
	brokers_close(&w);

	/* Two machines are owned: two jobs go there, the third pays. */
	brokers_world(&w, "owned", "", 3);
	{
		struct commitment c = { .offer = { .provider = "own", .account = "", .region = "hall", .zone = "",
			.instance_type = "x1", .accelerator = "L4", .accelerator_count = 1, .purchase = PURCHASE_RESERVED,
			.currency = "USD", .price = { 500000 }, .upfront = { 0 }, .usage = { 0 },
			.source = "manual" }, .count = 2, .from = T0 - 3600, .to = T0 + 864000, .source = "manual", .note = "" };
		struct berth_err err = { 0 };
		int64_t id;

		must(store_commitment_insert(w.v[0].store, &c, &id, &err), &err);
	}
	brokers_tick(&w);
	brokers_number(&w, ALIVE, 3, "three run");
	brokers_number(&w, "SELECT count(*) FROM instance WHERE offer LIKE '%paid_until%' AND json_extract(offer, "
	    "'$.paid_until') > 0", 2, "two of them on the commitment of two");
	brokers_replayed(&w);
	brokers_close(&w);
	store_tmp_end();
	return tap_done();
}
