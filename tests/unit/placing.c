/*
 * What the store knows changes where a job goes: owned commitments, capacity memory, blocks, probes, machines that ran
 * and that run, the last plan's shadow prices. Each on the same two zones, of which the first is a little cheaper.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing.h"
#include "model/accel.h"
#include "model/commitment.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "store/plan_rows.h"
#include "store/quota_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"
#include "util/arena.h"

#define HOUR 3600

struct world {
	struct arena *a;
	const struct accel_table *table;
	struct store *s;
	struct offer offer[3];		/* near: cheap, od; far: dearer, od; spot: near's on spot */
	struct placing_limit *limits;
	size_t n_limits;
	int machines;
};

static void
must(enum berth_code rc, const struct berth_err *err)
{
	if (rc != BERTH_OK)
		tap_ok(0, "%s", err->msg);
}

static struct offer
world_offer(const char *region, enum purchase p, double price)
{
	struct offer o = { .provider = "acme", .account = "a", .region = region, .zone = "", .instance_type = "l4x1",
		.accelerator = "L4", .accelerator_known = true, .accelerator_count = 1, .accelerator_memory_gib = 24,
		.vcpus = 8, .memory_gib = 32, .purchase = p, .currency = "USD", .interruption_rate = (double)NAN,
		.measured = (double)NAN, .as_of = T0 - HOUR, .source = "test" };
	struct berth_err err = { 0 };

	must(usd_from_double(price, &o.price, &err), &err);
	return o;
}

static void
world_fresh(struct world *w, const char *name, double spot)
{
	struct berth_err err = { 0 };

	if (w->s != NULL)
		store_close(w->s);
	w->s = store_tmp_open(store_tmp_path(name));
	w->n_limits = 0;
	w->offer[0] = world_offer("near", PURCHASE_ON_DEMAND, 1.00);
	w->offer[1] = world_offer("far", PURCHASE_ON_DEMAND, 1.02);
	w->offer[2] = world_offer("near", PURCHASE_SPOT, spot);
	must(store_offers_replace(w->s, "acme", "a", "test", w->offer, spot > 0 ? 3 : 2, T0, NULL, &err), &err);
}

static void
world_submit(struct world *w, const char *name, int64_t deadline)
{
	struct job_variant *v = arena_array(w->a, 1, sizeof(*v));
	struct job_spec spec = { .name = name, .user = "u", .project = "p", .n_variants = 1, .variants = v, .work_hours = 10,
		.precision = "bf16", .checkpoint_write_s = 10, .can_resume = true, .restart_s = 60, .deadline = deadline,
		.max_price = USD_UNKNOWN, .max_cost = USD_UNKNOWN, .purchase_ok = { true, true, true }, .data_region = "",
		.latency_to = "", .latency_max_ms = (double)NAN, .link_gb_s = (double)NAN, .after = "", .run = "make" };
	struct berth_err err = { 0 };
	const char *id;

	*v = (struct job_variant){ .name = "", .accelerator = "L4", .count_min = 1, .count_max = 1, .nodes = 1,
		.work_hours = (double)NAN, .speed = (double)NAN };
	must(store_job_insert(w->s, &spec, T0 - 60, w->a, &id, &err), &err);
}

static struct placing
world_place(struct world *w)
{
	struct placing_options o = { .now = T0, .seed = 1, .rounds = 100, .limits = w->limits, .n_limits = w->n_limits,
		.quota_age_s = 24 * HOUR };
	struct berth_err err = { 0 };
	struct placing p = { 0 };

	must(placing_run(w->s, w->table, &o, NULL, 0, w->a, &p, &err), &err);
	return p;
}

static const char *
world_where(struct world *w)
{
	struct placing p = world_place(w);

	if (p.n_jobs == 0 || p.jobs[0].n_tries == 0)
		return "none";
	return arena_printf(w->a, "%s %s%s", p.jobs[0].tries[0].offer->region,
	    purchase_name(p.jobs[0].tries[0].offer->purchase), p.jobs[0].tries[0].paid ? " paid" : "");
}

/* A machine that was asked for at created, was ready start_s later, and is gone (preempted) or runs. */
static void
world_machine(struct world *w, const struct offer *o, int64_t created, int64_t start_s, int64_t gone, const char *why)
{
	struct intent it = { .kind = INTENT_CREATE, .account = "a", .token = "", .job_id = "", .offer = *o, .created = created };
	struct instance in = { .account = "a", .provider_ref = arena_printf(w->a, "m-%d", w->machines++), .job_id = "",
		.offer = *o, .state = gone > 0 ? INSTANCE_GONE : INSTANCE_READY, .address = "", .created = created,
		.ready = created + start_s, .gone = gone, .end_reason = why, .verdict = "", .speed = (double)NAN };
	struct berth_err err = { 0 };
	int64_t id;

	must(store_intent_open(w->s, &it, NULL, w->a, &it, &err), &err);
	in.intent_id = it.id;
	must(store_instance_insert(w->s, &in, &id, &err), &err);
	in.id = id;
	must(store_instance_update(w->s, &in, &err), &err);
	must(store_intent_settle(w->s, it.id, INTENT_DONE, id, "", created, &err), &err);
}

static void
world_measure(struct world *w, const char *region, double speed, const char *verdict, int64_t t)
{
	struct measurement m = { .t = t, .provider = "acme", .region = region, .zone = "", .instance_type = "l4x1",
		.accelerator = "L4", .host = arena_printf(w->a, "h%d", w->machines++), .mode = "gpu", .level = "standard",
		.speed = speed, .verdict = verdict, .reason = "", .json = "{}" };
	struct berth_err err = { 0 };
	int64_t id;

	must(store_measurement_insert(w->s, &m, NULL, 0, &id, &err), &err);
}

static void
test_commitment(struct world *w)
{
	struct commitment c = { .count = 1, .from = T0 - HOUR, .to = T0 + 1000 * HOUR, .source = "test", .note = "" };
	struct berth_err err = { 0 };
	struct placing p;
	int64_t id;

	world_fresh(w, "commitment.db", 0);
	world_submit(w, "one", 0);
	tap_is_str(world_where(w), "near on_demand", "nothing is known: the cheaper one");
	c.offer = w->offer[1];
	c.offer.purchase = PURCHASE_RESERVED;
	c.offer.term_months = 12;
	must(store_commitment_insert(w->s, &c, &id, &err), &err);
	tap_is_str(world_where(w), "far on_demand paid", "an owned commitment is taken first");
	p = world_place(w);
	tap_near(p.total_usd, 0, 1e-9, "at a marginal price of 0");
	world_submit(w, "two", 0);
	p = world_place(w);
	tap_ok(p.placed == 2 && p.total_usd > 10, "it has one machine: the second job pays (%.2f USD)", p.total_usd);
	world_machine(w, &w->offer[1], T0 - 2 * HOUR, 300, 0, "");
	tap_is_str(world_where(w), "near on_demand", "a machine that runs there uses it up");
}

static void
test_block(struct world *w)
{
	struct place_key key;
	struct berth_err err = { 0 };
	struct placing p;

	world_fresh(w, "block.db", 0);
	world_submit(w, "one", 0);
	key = place_key(&w->offer[0], KEY_OFFER);
	must(store_block_put(w->s, &key, 1800, 3600, "no_capacity", "sold out", T0 - 60, NULL, &err), &err);
	tap_is_str(world_where(w), "far on_demand", "a place on hold is left out");
	p = world_place(w);
	tap_ok(p.jobs[0].n_changes == 1 && strcmp(p.jobs[0].changes[0].what, "blocked_until") == 0 &&
	    p.jobs[0].changes[0].at == T0 - 60 + 1800, "and it is said when the hold ends");
}

/* Launches lost lately make a job wait: the deadline that the cheaper zone kept is kept by the other one alone. */
static void
test_capacity(struct world *w)
{
	struct berth_err err = { 0 };

	world_fresh(w, "capacity.db", 0);
	world_submit(w, "one", T0 + 10 * HOUR + 700);
	tap_is_str(world_where(w), "near on_demand", "both keep the deadline");
	for (int k = 0; k < 4; k++)
		must(store_capacity_count(w->s, &w->offer[0], false, T0 - 60, &err), &err);
	tap_is_str(world_where(w), "far on_demand", "capacity memory: four lost launches cost 20 minutes");
	for (int k = 0; k < 4; k++)
		must(store_capacity_count(w->s, &w->offer[0], true, T0 - 30, &err), &err);
	tap_is_str(world_where(w), "near on_demand", "four won ones make good for them");
}

static void
test_probes(struct world *w)
{
	struct berth_err err = { 0 };
	struct place_key key;

	world_fresh(w, "probes.db", 0);
	world_submit(w, "one", 0);
	world_measure(w, "near", 0.90, "discount", T0 - HOUR);
	tap_is_str(world_where(w), "far on_demand", "measured at 0.9 of its rating, the cheaper one is dearer for the work");
	world_fresh(w, "reject.db", 0);
	world_submit(w, "one", 0);
	world_measure(w, "near", 1, "reject", T0 - HOUR);
	tap_is_str(world_where(w), "near on_demand", "a machine rejected an hour ago is not its pool");
	key = place_key(&w->offer[0], KEY_OFFER);
	must(store_block_put(w->s, &key, 600, 6 * HOUR, err_name(BERTH_EPROBE), "slow", T0 - 60, NULL, &err), &err);
	tap_is_str(world_where(w), "far on_demand", "one rejected a minute ago puts it on hold");
	world_fresh(w, "old-reject.db", 0);
	world_submit(w, "one", 0);
	must(store_block_put(w->s, &key, 600, 6 * HOUR, err_name(BERTH_EPROBE), "slow", T0 - 660, NULL, &err), &err);
	tap_is_str(world_where(w), "near on_demand", "for ten minutes");
}

static void
test_start(struct world *w)
{
	struct placing p;

	world_fresh(w, "start.db", 0);
	world_submit(w, "one", T0 + 10 * HOUR + 1200);
	tap_is_str(world_where(w), "near on_demand", "5 minutes of start are assumed");
	for (int k = 0; k < 8; k++)
		world_machine(w, &w->offer[1], T0 - (k + 2) * 5 * HOUR, 1800, T0 - (k + 2) * 5 * HOUR + 4 * HOUR, "released");
	p = world_place(w);
	tap_ok(p.jobs[0].n_tries == 0 && p.jobs[0].refused[REFUSE_DEADLINE] == 2,
	    "machines that took half an hour to start do not keep the deadline");
}

/*
 * At one loss in 10 h a write of 10 s is worth an interval of 842 s: 42 of them in 10 h, 36,420 s in all, reckoned 2 % longer.
 * With 1,180 s to spare spot is safe if a change of machine takes 370 s, not if it takes 790: a few quick start-ups are no proof
 * that none will be slow, nineteen are; one slow one in twenty is allowed, two are not.
 */
static void
test_start_late(struct world *w)
{
	static const struct { int quick, slow; const char *where, *what; } cases[] = {
		{ 0, 0, "near on_demand", "nobody timed a start: 10 minutes" },
		{ 1, 0, "near on_demand", "one quick start proves nothing" },
		{ 18, 0, "near on_demand", "eighteen are one short" },
		{ 19, 0, "near spot", "nineteen quick starts" },
		{ 38, 1, "near spot", "one slow start among thirty-nine" },
		{ 18, 1, "near on_demand", "one slow start among nineteen" },
		{ 37, 2, "near on_demand", "two slow starts among thirty-nine" },
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		world_fresh(w, arena_printf(w->a, "late-%zu.db", c), 0.3);
		world_submit(w, "one", T0 + 37149 + 1180);
		for (int k = 0; k < cases[c].quick + cases[c].slow; k++) {
			int64_t t = T0 - (k + 2) * 5 * HOUR;

			world_machine(w, &w->offer[0], t, k < cases[c].quick ? 180 : 840, t + 4 * HOUR, "released");
		}
		tap_is_str(world_where(w), cases[c].where, "%s", cases[c].what);
	}
}

/* Spot that was never lost, then the same that is lost each hour. */
static void
test_survival(struct world *w)
{
	world_fresh(w, "survival.db", 0.93);
	world_submit(w, "one", 0);
	tap_is_str(world_where(w), "near spot", "spot at 0.93 of the price, one interruption in 10 h");
	for (int k = 0; k < 20; k++)
		world_machine(w, &w->offer[2], T0 - (k + 2) * 3 * HOUR, 300, T0 - (k + 2) * 3 * HOUR + 300 + HOUR, "preempted");
	tap_is_str(world_where(w), "near on_demand", "twenty machines lost within an hour each: not on spot");
}

/* A quota counts what runs; what is left over binds, has a price, and the next plan starts from it. */
static void
test_quota(struct world *w)
{
	struct placing_limit near = { "near", "", "", "near", "", "", "gpu", 2, NULL, 0, NULL, false };
	struct placing p, q;
	struct berth_err err = { 0 };

	world_fresh(w, "quota.db", 0);
	w->limits = &near;
	w->n_limits = 1;
	world_machine(w, &w->offer[0], T0 - HOUR, 300, 0, "");
	world_submit(w, "one", 0);
	world_submit(w, "two", 0);
	p = world_place(w);
	tap_ok(p.placed == 2 && strcmp(p.jobs[0].tries[0].offer->region, p.jobs[1].tries[0].offer->region) != 0,
	    "one of two GPUs is in use: one job goes elsewhere");
	tap_ok(p.optimal && p.n_limits == 1 && p.limits[0].shadow > 0.1 && p.limits[0].left == 0,
	    "the limit binds: one GPU more would save %.2f USD", p.limits[0].shadow);
	tap_ok(p.jobs[1].n_tries == 1, "what does not fit is no alternative when a launch fails");
	must(placing_keep(w->s, T0, &p, NULL, 0, NULL, &err), &err);
	q = world_place(w);
	tap_ok(q.optimal && q.total_usd == p.total_usd && q.jobs[0].tries[0].offer->id == p.jobs[0].tries[0].offer->id,
	    "placed again from the kept prices: the same");
}

/* One quota of the near region, as its provider told it: where does the job of 8 vCPUs and one GPU go? */
static const char *
told_where(struct world *w, const struct quota_row *q)
{
	struct quota_reading r = { .account = "a", .provider = "acme", .tried = T0, .code = "", .error = "" };
	struct berth_err err = { 0 };

	must(store_quota_put(w->s, &r, q, 1, NULL, 0, &err), &err);
	return world_where(w);
}

static void
test_told(struct world *w)
{
	const struct quota_row base = { .account = "a", .region = "near", .zone = "", .name = "P", .unit = "vcpu",
		.purchase = PURCHASE_ON_DEMAND, .counts = true, .provider = "", .types = "x* l4x*", .accelerator = "",
		.limit = 7, .used = (double)NAN, .as_of = T0 };
	struct placing_limit wide = { .name = "wide", .provider = "", .account = "", .region = "near", .accelerator = "",
		.purchase = "", .unit = "gpu", .limit = 9 };
	struct quota_row q = base;
	struct berth_err err = { 0 };
	struct placing p;

	world_fresh(w, "told.db", 0);
	world_submit(w, "one", 0);
	tap_is_str(told_where(w, &q), "far on_demand", "7 vCPUs are too few for 8");
	p = world_place(w);
	tap_ok(p.jobs[0].refused[REFUSE_NO_QUOTA] == 1 && p.jobs[0].quota.limit != NULL && p.jobs[0].quota.have == 7 &&
	    p.jobs[0].quota.need == 8, "have=%lld need=%lld", (long long)p.jobs[0].quota.have, (long long)p.jobs[0].quota.need);
	tap_ok(p.n_limits == 1 && p.n_quotas == 1, "one that refuses is told of");
	w->limits = &wide;
	w->n_limits = 1;
	tap_is_str(world_where(w), "far on_demand", "a wider limit of berth.yaml beside it changes nothing");
	wide.override = true;
	tap_is_str(world_where(w), "near on_demand", "in its place it does");
	w->n_limits = 0;
	q.limit = 8;
	tap_is_str(told_where(w, &q), "near on_demand", "8 are enough");
	p = world_place(w);
	tap_ok(p.n_limits == 0, "one that refuses nothing is not told of");
	q = base, q.types = "p4*";
	tap_is_str(told_where(w, &q), "near on_demand", "it counts other types");
	q = base, q.zone = "near-z";
	tap_is_str(told_where(w, &q), "near on_demand", "it counts a zone that nobody says the offer is in");
	q = base, q.purchase = PURCHASE_SPOT;
	tap_is_str(told_where(w, &q), "near on_demand", "it counts spot");
	q = base, q.counts = false;
	tap_is_str(told_where(w, &q), "near on_demand", "nobody knows what it counts");
	q = base, q.limit = (double)NAN;
	tap_is_str(told_where(w, &q), "near on_demand", "nobody knows how much it is");
	q = base, q.as_of = T0 - 24 * HOUR;
	tap_is_str(told_where(w, &q), "far on_demand", "a day old, it still holds");
	q.as_of--;
	tap_is_str(told_where(w, &q), "near on_demand", "a second later it is not known");
	world_machine(w, &w->offer[0], T0 - HOUR, 300, 0, "");
	q = base, q.limit = 16, q.used = 8, q.ours = 8;
	tap_is_str(told_where(w, &q), "near on_demand", "8 of 16 are used, by a machine of ours: counted once, 8 are left");
	q.used = 9;
	tap_is_str(told_where(w, &q), "far on_demand", "one more is used by others: 7 are left");
	q.ours = 0;
	tap_is_str(told_where(w, &q), "far on_demand", "a machine that came since takes what the reading did not count");
	w->offer[0].vcpus = (double)NAN;
	must(store_offers_replace(w->s, "acme", "a", "test", w->offer, 2, T0, NULL, &err), &err);
	tap_is_str(world_where(w), "near on_demand", "of unknown vCPUs nobody knows that they pass a quota");
}

int
main(void)
{
	const char *top = getenv("TOP_SRCDIR");
	struct world w = { .a = arena_new() };
	struct berth_err err = { 0 };

	must(accel_table_load(arena_printf(w.a, "%s/data/accelerators.csv", top == NULL ? "." : top), w.a, &w.table, &err),
	    &err);
	test_commitment(&w);
	test_block(&w);
	test_capacity(&w);
	test_probes(&w);
	test_start(&w);
	test_start_late(&w);
	test_survival(&w);
	test_quota(&w);
	test_told(&w);
	store_close(w.s);
	store_tmp_end();
	arena_free(w.a);
	return tap_done();
}
