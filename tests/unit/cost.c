/* Cost of a job on an offer: closed forms, published intervals, and simulated interruptions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/cost.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define NOW INT64_C(1796000000)

static const struct accel_table *table;

static struct offer
make_offer(const char *provider, const char *region, const char *accelerator, int count, double memory,
    enum purchase purchase, int64_t price_micro)
{
	return (struct offer){ .provider = provider, .account = "acc", .region = region, .zone = "",
		.instance_type = "m", .accelerator = accelerator, .accelerator_known = true, .accelerator_count = count,
		.accelerator_memory_gib = memory, .vcpus = NAN, .memory_gib = NAN, .purchase = purchase, .upfront = { 0 },
		.price = { price_micro }, .currency = "USD", .available = AVAIL_YES, .interruption_rate = NAN,
		.measured = NAN, .as_of = NOW - 3600, .source = "test" };
}

static struct job_variant variant;

static struct job
make_job(const char *accelerator, int count, double hours)
{
	struct job j = { .id = "j-1", .state = JOB_QUEUED, .cost = { 0 } };

	variant = (struct job_variant){ .name = "", .accelerator = accelerator, .count_min = count, .count_max = count,
		.nodes = 1, .work_hours = NAN, .speed = NAN };
	j.spec = (struct job_spec){ .name = "n", .user = "u", .project = "", .variants = &variant, .n_variants = 1,
		.work_hours = hours, .precision = "bf16", .checkpoint_write_s = 60, .restart_s = 120, .can_resume = true,
		.max_price = USD_UNKNOWN, .max_cost = USD_UNKNOWN, .purchase_ok = { true, true, true }, .data_region = "" };
	return j;
}

static struct cost_estimate
estimate(const struct job *j, const struct offer *o, const struct cost_facts *facts, const struct cost_limits *limits)
{
	const struct accel *want[4];
	struct cost_facts f = { .accel = accel_find(table, o->accelerator), .start_s = 600, .hazard_per_hour = NAN,
		.recover_s = NAN, .egress_usd_per_gib = NAN };
	struct cost_limits lim = { .now = NOW, .budget_usd = NAN, .need_account = true };
	struct cost_job c = { j, want, PRECISION_BF16 };
	struct cost_estimate e;

	for (size_t v = 0; v < j->spec.n_variants; v++)
		want[v] = j->spec.variants[v].accelerator[0] == '\0' ? NULL :
		    accel_find(table, j->spec.variants[v].accelerator);
	cost_of(&c, o, facts == NULL ? &f : facts, limits == NULL ? &lim : limits, &e);
	return e;
}

static void
test_on_demand(void)
{
	struct job j = make_job("A100-80GB", 8, 10);
	struct offer o = make_offer("aws", "us-east-1", "A100-80GB", 8, 80, PURCHASE_ON_DEMAND, 40000000);
	struct cost_estimate e = estimate(&j, &o, NULL, NULL);

	tap_ok(e.refuse == REFUSE_NOT, "on demand: taken");
	tap_near(e.run_hours, 10, 1e-12, "on demand: the work as told");
	tap_near(e.total_usd, 40 * (10 + (4 * 60 + 600) / 3600.0), 1e-9, "on demand: run, start-up and a write after each 2 h but the last");
	tap_is_long(e.finish, NOW + 36600 + 240, "on demand: start-up, then the run with its writes");
	j.spec.checkpoint_interval_s = 600;
	e = estimate(&j, &o, NULL, NULL);
	tap_near(e.busy_hours, 10 + 59 * 60 / 3600.0, 1e-12, "a write of 1 min after each 10 but the last: 59");
	j.spec.can_resume = false;
	e = estimate(&j, &o, NULL, NULL);
	tap_near(e.busy_hours, 10, 1e-12, "a job that cannot resume writes nothing");
	j = make_job("A100-80GB", 8, 10);
	j.progress = 0.75;
	e = estimate(&j, &o, NULL, NULL);
	tap_near(e.run_hours, 2.5, 1e-12, "three quarters are done");
	o.measured = 0.5;
	e = estimate(&j, &o, NULL, NULL);
	tap_near(e.run_hours, 5, 1e-12, "measured at half speed: twice the time");
}

static void
test_speed(void)
{
	struct job j = make_job("A100-SXM4-80GB", 8, 31.7);
	struct offer o = make_offer("aws", "us-east-1", "H100-SXM5-80GB", 8, 80, PURCHASE_ON_DEMAND, 98000000);
	struct cost_estimate e = estimate(&j, &o, NULL, NULL);

	tap_ok(e.refuse == REFUSE_ACCELERATOR, "another accelerator than was asked for");
	struct job_variant two[2] = { variant, variant };
	two[1].accelerator = "H100-SXM5-80GB";
	j.spec.variants = two;
	j.spec.n_variants = 2;
	e = estimate(&j, &o, NULL, NULL);
	/* Dense BF16 peaks of the vendor: A100 312, H100 SXM 989.4 TFLOPS. */
	tap_near(e.run_hours, 31.7 * 312 / 989.4, 0.01, "the table's BF16 rates scale the work");
	tap_is_long((long long)e.variant, 1, "the second variant");
	two[1].speed = 2;
	e = estimate(&j, &o, NULL, NULL);
	tap_near(e.run_hours, 15.85, 1e-9, "the job's own speed goes before the table");
	two[1].work_hours = 12;
	two[1].count_max = 16;
	two[1].count_min = 4;
	e = estimate(&j, &o, NULL, NULL);
	tap_near(e.run_hours, 6, 1e-9, "12 h on 4 accelerators: 6 h on the 8 of the machine");
}

/* Hours of 4 h of "H100" on a card; dense BF16 peaks of the vendor: SXM5 989.4, PCIe 756 TFLOPS. */
static double
hours_of_group(const char *card)
{
	struct job j = make_job("H100", 8, 4);
	struct offer o = make_offer("aws", "us-east-1", card, 8, 80, PURCHASE_ON_DEMAND, 98000000);

	return estimate(&j, &o, NULL, NULL).run_hours;
}

static void
test_group(void)
{
	tap_near(hours_of_group("H100-SXM5-80GB"), 4, 1e-9, "work of a group is that on its fastest card");
	tap_near(hours_of_group("H100-PCIE-80GB"), 4 * 989.4 / 756, 0.01, "and takes longer on a slower one");
	tap_near(hours_of_group("H100"), 4, 1e-9, "an offer of the same name means the same");
}

/* Segments of the run, each redone from its start after an interruption: mean billed hours of many lives. */
static double
simulate(double run, double segment, double write, double restart, double hazard, uint64_t seed)
{
	struct rng r;
	double total = 0;
	int lives = 100000;

	rng_seed(&r, seed);
	for (int k = 0; k < lives; k++) {
		double left = rng_exp(&r) / hazard, done = 0;

		while (done < run - 1e-12) {
			double piece = fmin(segment, run - done), need = piece + (done + piece < run - 1e-12 ? write : 0);

			if (left >= need) {
				total += need;
				left -= need;
				done += piece;
				continue;
			}
			total += left;
			for (left = rng_exp(&r) / hazard; left < restart; left = rng_exp(&r) / hazard)
				total += left;	/* lost again while it restarts */
			total += restart;
			left -= restart;
		}
	}
	return total / lives;
}

static void
test_interruptions(void)
{
	static const struct { double run, interval_s, hazard; bool resume; } t[] = {
		{ 10, 1800, 0.3, true }, { 10, 3600, 0.1, true }, { 2, 7200, 0.3, false }, { 24, 0, 0.05, true },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct job j = make_job("T4", 1, t[i].run);
		struct offer o = make_offer("gcp", "us-central1", "T4", 1, 16, PURCHASE_SPOT, 1000000);
		struct cost_estimate e;
		double segment = t[i].resume ? t[i].interval_s / 3600 : t[i].run, mean;

		o.interruption_rate = t[i].hazard;
		j.spec.checkpoint_interval_s = (int64_t)t[i].interval_s;
		j.spec.can_resume = t[i].resume;
		if (t[i].interval_s == 0)
			segment = cost_checkpoint_s(60, t[i].hazard) / 3600;
		e = estimate(&j, &o, NULL, NULL);
		mean = simulate(t[i].run, segment, 60 / 3600.0, (120 + 600) / 3600.0, t[i].hazard, 11 + i);
		/* The formula adds restarts at 1/h + R each; a restart that is itself lost is of second order in h R. */
		tap_near(e.expected_hours - 600 / 3600.0, mean, 0.015 * mean, "%g h at %g an hour: %.3f h, simulated %.3f",
		    t[i].run, t[i].hazard, e.expected_hours - 600 / 3600.0, mean);
		tap_near(e.survival, exp(-t[i].run * t[i].hazard), 1e-12, "chance of no interruption");
	}
}

/* Waste of an interval, and its minimum by golden section. */
static double
golden(double write_s, double hazard)
{
	double lo = 1, hi = 40 * 3600, g = (sqrt(5) - 1) / 2;

	for (int k = 0; k < 200; k++) {
		double x = hi - g * (hi - lo), y = lo + g * (hi - lo);

		if (cost_useful_share(x, write_s, 780, hazard) > cost_useful_share(y, write_s, 780, hazard))
			hi = y;
		else
			lo = x;
	}
	return (lo + hi) / 2;
}

static void
test_checkpoint(void)
{
	/* Exact optima in minutes (Daly 2006, setting of eq. 37): write s, mean life h. */
	static const double t[][4] = { { 30, 0.6, 5.7, 0.05 }, { 120, 2, 20.6, 0.05 }, { 120, 10, 47.7, 0.05 },
		{ 600, 40, 212.5, 0.5 } };

	for (size_t i = 0; i < 4; i++) {
		double s = cost_checkpoint_s(t[i][0], 1 / t[i][1]);

		tap_near(s / 60, t[i][2], t[i][3], "write %g s, life %g h: %.1f min", t[i][0], t[i][1], s / 60);
		tap_near(s, golden(t[i][0], 1 / t[i][1]), 1e-4 * s, "the least waste by search");
		/* Daly's third-order approximation is within 1 %. */
		double m = t[i][1] * 3600, d = t[i][0];
		tap_near(s, sqrt(2 * d * m) * (1 + sqrt(d / (2 * m)) / 3 + d / (18 * m)) - d, 0.01 * s, "near Daly (2006)");
	}
	tap_ok(isinf(cost_checkpoint_s(60, 0)), "no hazard: never");
	tap_near(1 - cost_useful_share(cost_checkpoint_s(120, 0.1), 120, 780, 0.1), 0.099, 0.001, "9.9 %% waste at 10 h");
}

static void
refused(const char *what, enum refuse_code got, enum refuse_code want)
{
	tap_is_str(refuse_name(got), refuse_name(want), "%s", what);
}

/* Spot prices move by the hour, list prices stand for months; what is not dated is not too old. */
static void
test_ages(void)
{
	struct offer o = make_offer("aws", "us-east-1", "A100-80GB", 8, 80, PURCHASE_ON_DEMAND, 40000000);
	struct cost_limits lim = { .now = NOW, .budget_usd = NAN };
	struct job j = make_job("A100-80GB", 8, 10);

	o.purchase = PURCHASE_SPOT;
	j.spec.purchase_ok[PURCHASE_SPOT] = true;
	lim.now = o.as_of + 86400;
	refused("a spot price of a day", estimate(&j, &o, NULL, &lim).refuse, REFUSE_NOT);
	lim.now++;
	refused("and a second", estimate(&j, &o, NULL, &lim).refuse, REFUSE_PRICE_STALE);
	lim.ages.spot_s = 2 * 86400;
	refused("where two days are allowed", estimate(&j, &o, NULL, &lim).refuse, REFUSE_NOT);
	lim.ages.spot_s = 0;
	o.purchase = PURCHASE_ON_DEMAND;
	refused("a list price of a day", estimate(&j, &o, NULL, &lim).refuse, REFUSE_NOT);
	lim.now = o.as_of + 52 * 7 * 86400 + 1;
	refused("of more than a year", estimate(&j, &o, NULL, &lim).refuse, REFUSE_PRICE_STALE);
	o.as_of = 0;
	refused("of unknown age", estimate(&j, &o, NULL, &lim).refuse, REFUSE_NOT);
}

static void
test_refusals(void)
{
	const struct offer good = make_offer("aws", "us-east-1", "A100-80GB", 8, 80, PURCHASE_ON_DEMAND, 40000000);
	const char *eu[] = { "eu-*" }, *gcp[] = { "gcp" };
	struct cost_facts f = { .accel = accel_find(table, "A100-80GB"), .start_s = 600, .hazard_per_hour = NAN,
		.recover_s = NAN, .egress_usd_per_gib = NAN };
	struct cost_limits lim = { .now = NOW, .budget_usd = NAN, .need_account = true };
	struct job j = make_job("A100-80GB", 8, 10);
	struct offer o = good;

	o.accelerator_count = 4;
	refused("4 of 8", estimate(&j, &o, NULL, NULL).refuse, REFUSE_GANG);
	o = make_offer("lambda", "us-west", "A100-40GB", 8, 40, PURCHASE_ON_DEMAND, 1100000);
	refused("an 80 GB card was asked for", estimate(&j, &o, NULL, NULL).refuse, REFUSE_ACCELERATOR);
	variant.accelerator = "A100";
	refused("any A100", estimate(&j, &o, NULL, NULL).refuse, REFUSE_NOT);
	variant.memory_gib = 48;
	refused("any A100 with 48 GiB", estimate(&j, &o, NULL, NULL).refuse, REFUSE_MEMORY);
	o = good;
	refused("80 GB has 48 GiB", estimate(&j, &o, NULL, NULL).refuse, REFUSE_NOT);
	o.accelerator = "A10";
	refused("an A10 is no A100", estimate(&j, &o, NULL, NULL).refuse, REFUSE_ACCELERATOR);
	o.accelerator = "Nobody 3000";
	refused("a name nobody knows", estimate(&j, &o, NULL, NULL).refuse, REFUSE_ACCELERATOR);
	o = good;
	j.spec.regions = eu;
	j.spec.n_regions = 1;
	refused("residency", estimate(&j, &o, NULL, NULL).refuse, REFUSE_RESIDENCY);
	j.spec.n_regions = 0;
	j.spec.providers = gcp;
	j.spec.n_providers = 1;
	refused("provider", estimate(&j, &o, NULL, NULL).refuse, REFUSE_PROVIDER);
	j.spec.n_providers = 0;
	j.spec.purchase_ok[PURCHASE_ON_DEMAND] = false;
	refused("purchase", estimate(&j, &o, NULL, NULL).refuse, REFUSE_PURCHASE);
	j.spec.purchase_ok[PURCHASE_ON_DEMAND] = true;
	o.account = "";
	refused("no account", estimate(&j, &o, NULL, NULL).refuse, REFUSE_NO_ACCOUNT);
	o = good;
	o.price = USD_UNKNOWN;
	refused("no price is not a price of 0", estimate(&j, &o, NULL, NULL).refuse, REFUSE_PRICE_UNKNOWN);
	o = good;
	strcpy(o.currency, "CNY");
	refused("yuan", estimate(&j, &o, NULL, NULL).refuse, REFUSE_PRICE_UNKNOWN);
	o = good;
	lim.ages.list_s = 1800;
	refused("an hour old", estimate(&j, &o, NULL, &lim).refuse, REFUSE_PRICE_STALE);
	lim.ages.list_s = 7200;
	refused("fresh enough", estimate(&j, &o, NULL, &lim).refuse, REFUSE_NOT);
	j.spec.max_price = (struct usd_micro){ 39999999 };
	refused("max_price", estimate(&j, &o, NULL, NULL).refuse, REFUSE_MAX_PRICE);
	j.spec.max_price = (struct usd_micro){ 40000000 };
	refused("max_price met", estimate(&j, &o, NULL, NULL).refuse, REFUSE_NOT);
	lim.budget_usd = 400;
	refused("budget's rest", estimate(&j, &o, NULL, &lim).refuse, REFUSE_OVER_BUDGET);
	j.spec.max_cost = (struct usd_micro){ 400000000 };
	refused("max_cost", estimate(&j, &o, NULL, NULL).refuse, REFUSE_OVER_BUDGET);
	j.spec.max_cost = USD_UNKNOWN;
	f.probe_failed = true;
	refused("probe", estimate(&j, &o, &f, NULL).refuse, REFUSE_PROBE_FAILED);
	struct cost_limits later = { .now = NOW, .from = NOW + 50, .budget_usd = NAN };
	f.blocked_until = NOW + 100;
	refused("probe, for one that starts before the hold ends", estimate(&j, &o, &f, &later).refuse, REFUSE_PROBE_FAILED);
	later.from = NOW + 200;
	refused("a hold that ends before the start", estimate(&j, &o, &f, &later).refuse, REFUSE_NOT);
	f.blocked_until = 0;
	f.probe_failed = false;
	f.blocked_until = NOW + 1;
	refused("on hold", estimate(&j, &o, &f, NULL).refuse, REFUSE_BLOCKED_UNTIL);
	f.blocked_until = NOW;
	refused("hold is over", estimate(&j, &o, &f, NULL).refuse, REFUSE_NOT);
	f.none_until = NOW + 1;
	refused("none left", estimate(&j, &o, &f, NULL).refuse, REFUSE_UNAVAILABLE);
	f.none_until = NOW;
	refused("nobody has said so for long", estimate(&j, &o, &f, NULL).refuse, REFUSE_NOT);
}

/* A machine on an owned commitment is on demand for who may not take reserved ones, and reserved for who may. */
static void
test_paid(void)
{
	struct offer o = make_offer("aws", "us-east-1", "A100-80GB", 8, 80, PURCHASE_ON_DEMAND, 40000000);
	struct cost_facts f = { .accel = accel_find(table, "A100-80GB"), .start_s = 600, .hazard_per_hour = NAN,
		.recover_s = NAN, .egress_usd_per_gib = NAN, .none_until = NOW + 1 };
	struct job j = make_job("A100-80GB", 8, 10);

	f.paid = true;
	refused("none left for others than the owner", estimate(&j, &o, &f, NULL).refuse, REFUSE_NOT);
	j.spec.purchase_ok[PURCHASE_ON_DEMAND] = false;
	j.spec.purchase_ok[PURCHASE_SPOT] = false;
	refused("reserved alone: one that is owned", estimate(&j, &o, &f, NULL).refuse, REFUSE_NOT);
	o.paid_until = NOW + 36600 - 3600;
	refused("which ends before the job", estimate(&j, &o, &f, NULL).refuse, REFUSE_PURCHASE);
	o.paid_until = NOW + 40 * 3600;
	refused("or long after", estimate(&j, &o, &f, NULL).refuse, REFUSE_NOT);
	j.spec.purchase_ok[PURCHASE_RESERVED] = false;
	j.spec.purchase_ok[PURCHASE_SPOT] = true;
	refused("spot alone takes none that is owned", estimate(&j, &o, &f, NULL).refuse, REFUSE_PURCHASE);
	j.spec.purchase_ok[PURCHASE_ON_DEMAND] = true;
	refused("on demand alone does", estimate(&j, &o, &f, NULL).refuse, REFUSE_NOT);
}

static void
test_spot_rules(void)
{
	struct job j = make_job("T4", 1, 10);
	struct offer o = make_offer("gcp", "us-central1", "T4", 1, 16, PURCHASE_SPOT, 1000000);

	j.spec.can_resume = false;
	o.interruption_rate = 0.1;
	refused("10 h without checkpoints at 0.1 an hour", estimate(&j, &o, NULL, NULL).refuse, REFUSE_CANNOT_RESUME);
	o.interruption_rate = 0.01;
	refused("at 0.01 an hour it may try", estimate(&j, &o, NULL, NULL).refuse, REFUSE_NOT);
	o = make_offer("gcp", "us-central1", "T4", 1, 16, PURCHASE_ON_DEMAND, 1000000);
	j.spec.deadline = NOW + 36600;
	refused("deadline met to the second", estimate(&j, &o, NULL, NULL).refuse, REFUSE_NOT);
	j.spec.deadline = NOW + 36599;
	refused("one second short", estimate(&j, &o, NULL, NULL).refuse, REFUSE_DEADLINE);
	tap_is_long(estimate(&j, &o, NULL, NULL).finish, NOW + 36600, "the shortest possible end is told");
	j.spec.deadline = NOW - 5;
	refused("deadline is past", estimate(&j, &o, NULL, NULL).refuse, REFUSE_DEADLINE);
}

/* 10 TiB at home: the dearer machine there beats the cheap one abroad, and the figure shows why. */
static void
test_egress(void)
{
	struct job j = make_job("T4", 1, 10);
	struct offer home = make_offer("aws", "us-east-1", "T4", 1, 16, PURCHASE_ON_DEMAND, 3000000);
	struct offer away = make_offer("gcp", "us-central1", "T4", 1, 16, PURCHASE_ON_DEMAND, 1000000);
	struct cost_estimate h, a;

	j.spec.data_region = "aws/us-east-1";
	j.spec.data_gib = 10240;
	h = estimate(&j, &home, NULL, NULL);
	a = estimate(&j, &away, NULL, NULL);
	tap_near(h.egress_usd, 0, 0, "data at home moves for nothing");
	tap_near(a.egress_usd, 921.6, 1e-9, "10 TiB out of AWS at 0.09 USD");
	tap_ok(h.total_usd < a.total_usd, "the job stays at home");
	tap_near(cost_egress_rate("aws/us-east-1", "aws/us-west-2", NULL), 0.02, 0, "between two regions of one cloud");
	tap_near(cost_egress_rate("us-east-1", "gcp/us-central1", NULL), COST_EGRESS_DEFAULT, 0, "a home without a cloud");
	tap_near(cost_egress_rate("us-east-1", "aws/us-east-1", NULL), 0, 0, "the same region");
}

static void
test_memory_of_launches(void)
{
	struct job j = make_job("T4", 1, 10);
	struct offer o = make_offer("gcp", "us-central1", "T4", 1, 16, PURCHASE_ON_DEMAND, 1000000);
	struct cost_facts f = { .accel = accel_find(table, "T4"), .start_s = 600, .hazard_per_hour = NAN, .recover_s = NAN,
		.egress_usd_per_gib = NAN, .won = 1, .lost = 4 };
	struct cost_estimate e = estimate(&j, &o, &f, NULL);

	tap_is_long(e.start, NOW + 600 + 600, "1 of 5 launches won: 2 more tries of 5 min on average");
	tap_near(e.total_usd, 10 + (4 * 60 + 600) / 3600.0, 1e-9, "waiting is not billed");
	f.paid = true;
	tap_near(estimate(&j, &o, &f, NULL).total_usd, 0, 0, "an owned commitment costs nothing more");
	o.purchase = PURCHASE_RESERVED;
	f.paid = false;
	refused("a reservation is not bought by a job", estimate(&j, &o, &f, NULL).refuse, REFUSE_PURCHASE);
}

static void
test_names(void)
{
	bool ok = true;

	for (size_t c = 0; c < REFUSE_COUNT; c++) {
		enum refuse_code back = REFUSE_COUNT;

		ok &= refuse_parse(refuse_name((enum refuse_code)c), &back) && back == (enum refuse_code)c;
	}
	tap_ok(ok, "each code has a name that reads back");
}

int
main(void)
{
	struct arena *a = arena_new();
	struct berth_err err = { 0 };
	const char *top = getenv("TOP_SRCDIR");
	enum berth_code rc;

	rc = accel_table_load(arena_printf(a, "%s/data/accelerators.csv", top == NULL ? "." : top), a, &table, &err);
	tap_code(rc, BERTH_OK, &err);
	if (rc == BERTH_OK) {
		test_on_demand();
		test_speed();
		test_group();
		test_interruptions();
		test_checkpoint();
		test_ages();
		test_refusals();
		test_paid();
		test_spot_rules();
		test_egress();
		test_memory_of_launches();
		test_names();
	}
	arena_free(a);
	return tap_done();
}
