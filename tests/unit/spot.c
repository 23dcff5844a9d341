/* Spot under a deadline: the omniscient program against brute force, the table against every future, and what must hold. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/spot_job.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define MAX_TICKS 4096

struct world {
	uint8_t up[3][MAX_TICKS], any_up[MAX_TICKS];
	int32_t age[3][MAX_TICKS], any_age[MAX_TICKS];
	struct spot_zone zone[3], any;
	size_t n_zones, n;
};

/* Runs whose lengths are drawn between 1 and longest. */
static void
make_world(struct world *w, struct rng *r, size_t zones, size_t n, unsigned longest)
{
	w->n_zones = zones;
	w->n = n;
	for (size_t z = 0; z < zones; z++) {
		bool up = rng_below(r, 2) == 1;

		for (size_t t = 0; t < n; up = !up)
			for (uint64_t k = 1 + rng_below(r, longest); k > 0 && t < n; k--)
				w->up[z][t++] = up;
		spot_ages(w->up[z], n, w->age[z]);
		w->zone[z] = (struct spot_zone){ w->up[z], w->age[z], n };
	}
	spot_union(w->zone, zones, n, w->any_up);
	spot_ages(w->any_up, n, w->any_age);
	w->any = (struct spot_zone){ w->any_up, w->any_age, n };
}

/* Least cost from tick t on: every action in every tick. mode -1 nothing, 0.. spot in that zone, 9 on demand. */
static double
brute(const struct world *w, const struct spot_setting *s, int t, int work, int mode, int left)
{
	double best;

	if (work == 0)
		return 0;
	if (t == s->deadline)
		return INFINITY;
	if (mode >= 0 && mode < 9 && !w->up[mode][t])
		mode = -1;
	best = brute(w, s, t + 1, work, -1, 0);
	for (int z = 0; z <= (int)w->n_zones; z++) {
		int to = z == (int)w->n_zones ? 9 : z, k = to == mode ? left : s->changeover;
		double price = to == 9 ? 1 : s->price;

		if (to < 9 && !w->up[to][t])
			continue;
		best = fmin(best, price + (k > 0 ? brute(w, s, t + 1, work, to, k - 1) : brute(w, s, t + 1, work - 1, to, 0)));
	}
	return best;
}

static void
test_omniscient(void)
{
	struct arena *a = arena_new();
	static struct world w;
	struct rng r;
	int bad = 0;

	rng_seed(&r, 5);
	for (int k = 0; k < 300; k++) {
		struct spot_setting s = { 1 + (int)rng_below(&r, 4), 2 + (int)rng_below(&r, 6), (int)rng_below(&r, 3), 0.3 };
		double want, got;

		make_world(&w, &r, 1 + rng_below(&r, 2), 10, 4);
		want = brute(&w, &s, 0, s.work, -1, 0);
		got = spot_omniscient(w.zone, w.n_zones, 0, &s, a);
		bad += isinf(want) ? got >= 0 : fabs(got - want) > 1e-9;
		arena_reset(a);
	}
	tap_is_long(bad, 0, "300 small worlds: the omniscient program equals brute force");
	arena_free(a);
}

/* Whatever spot does, no deadline is missed, and no policy is below the omniscient. */
static void
test_adversarial(void)
{
	struct arena *a = arena_new(), *scratch = arena_new();
	static struct world w;
	struct rng r;
	int missed = 0, below = 0, idle = 0;
	double worst = 0;

	rng_seed(&r, 6);
	for (int k = 0; k < 60; k++) {
		struct spot_setting s = { 40 + (int)rng_below(&r, 60), 0, (int)rng_below(&r, 5), 0.3 };
		struct spot_hazard up, down;
		struct spot_table *table;
		struct berth_err err;
		unsigned longest = 1 + (unsigned)rng_below(&r, 40);
		struct spot_world sw;

		s.deadline = s.work + s.changeover + (int)rng_below(&r, 80);
		make_world(&w, &r, 1 + (size_t)k % 3, 1000, longest);
		sw = (struct spot_world){ w.zone, w.n_zones, &w.any, NULL, NULL, NULL, false, NULL };
		spot_learn_pool(&sw, 0, 500, 300, 1, &up, &down);
		if (spot_table_solve(&s, &up, &down, a, &table, &err) != BERTH_OK) {
			missed++;
			continue;
		}
		for (size_t t0 = 500; t0 + (size_t)s.deadline < 1000; t0 += 97) {
			double best = spot_omniscient(w.zone, w.n_zones, t0, &s, scratch);

			for (size_t p = 0; p < SPOT_POLICY_COUNT; p++) {
				struct spot_run run;

				spot_replay((enum spot_policy)p, &sw, t0, &s, table, &run);
				missed += run.missed;
				below += run.cost < best - 1e-9;
				if (p == SPOT_POLICY_BERTH)
					worst = fmax(worst, run.cost / (s.work + s.changeover));
			}
			arena_reset(scratch);
		}
		for (int left = 1; left <= s.deadline; left++)
			for (int work = 1; work <= s.work && work <= left; work++)
				for (int age = 0; age < 200; age += 37)
					idle += spot_decide(table, left, work, SPOT_NOTHING, 0, true, age) == SPOT_WAIT &&
					    work + s.changeover < left;
		arena_reset(a);
	}
	tap_is_long(missed, 0, "60 flapping zones and pools: no deadline is missed by any policy");
	tap_is_long(below, 0, "60 flapping zones and pools: nobody is below the omniscient");
	tap_is_long(idle, 0, "the table never waits while spot is up");
	tap_diag("worst run of the table: %.3f of always on demand", worst);
	arena_free(a);
	arena_free(scratch);
}

/* Never up, always up: on demand alone, spot alone. */
static void
test_constant(void)
{
	struct arena *a = arena_new();
	static struct world w;
	struct spot_setting s = { 50, 80, 3, 0.3 };
	struct spot_hazard up, down;
	struct spot_table *table;
	struct berth_err err = { 0 };

	w.n_zones = 1;
	for (int state = 0; state <= 1; state++) {
		struct spot_world sw = { w.zone, 1, w.zone, NULL, NULL, NULL, false, NULL };
		struct spot_run run;

		memset(w.up[0], state, 1000);
		spot_ages(w.up[0], 1000, w.age[0]);
		w.zone[0] = (struct spot_zone){ w.up[0], w.age[0], 1000 };
		spot_learn(&w.zone[0], 0, 500, 1, 300, 1, &up);
		spot_learn(&w.zone[0], 0, 500, 0, 300, 1, &down);
		tap_code(spot_table_solve(&s, &up, &down, a, &table, &err), BERTH_OK, &err);
		spot_replay(SPOT_POLICY_BERTH, &sw, 500, &s, table, &run);
		tap_near(run.cost, state == 1 ? 0.3 * 53 : 53, 1e-9, state == 1 ? "always up: spot alone" : "never up: on demand alone");
		tap_is_long(run.launches, 1, "one launch");
	}
	s.deadline = 52;
	tap_ok(spot_omniscient(w.zone, 1, 0, &s, a) < 0, "work and changeover do not fit: infeasible");
	s.deadline = 53;
	tap_ok(spot_omniscient(w.zone, 1, 0, &s, a) > 0, "one tick more: feasible");
	tap_ok(spot_decide(table, 53, 50, SPOT_NOTHING, 0, false, 10) == SPOT_ON_DEMAND, "left = work + changeover: on demand now");
	s.price = NAN;
	tap_code(spot_table_solve(&s, &up, &down, a, &table, &err), BERTH_EINVAL, &err);
	arena_free(a);
}

/*
 * Two zones with a period of 24 ticks of 300 s: the first up for 12, the second from tick 6 to 17. Whoever sits in the first
 * until it is lost finds the second at an age of 6 ticks, and after that none.
 */
static void
test_pool(void)
{
	static struct world w;
	struct spot_world sw = { w.zone, 2, &w.any, NULL, NULL, NULL, false, NULL };
	struct spot_evidence e = { .hours = { { 0 }, { 2.5, 12.5, 0, 0, 0 } }, .ends = { { 0 }, { 0, 20, 0, 0, 0 } } };
	struct spot_setting s = { .work = 30, .deadline = 60, .changeover = 2, .price = 0.3 };
	struct spot_hazard up, down, own;
	struct arena *a = arena_new();
	struct spot_table *alone, *pool;
	struct berth_err err = { 0 };
	double sum = 0;
	int other = 0;

	for (size_t t = 0; t < 240; t++) {
		w.up[0][t] = t % 24 < 12;
		w.up[1][t] = t % 24 >= 6 && t % 24 < 18;
	}
	for (size_t z = 0; z < 2; z++) {
		spot_ages(w.up[z], 240, w.age[z]);
		w.zone[z] = (struct spot_zone){ w.up[z], w.age[z], 240 };
	}
	spot_union(w.zone, 2, 240, w.any_up);
	spot_ages(w.any_up, 240, w.any_age);
	w.any = (struct spot_zone){ w.any_up, w.any_age, 240 };
	spot_learn_pool(&sw, 0, 240, 300, 1, &up, &down);
	for (size_t b = 0; b < SPOT_AGES; b++) {
		tap_near(up.leave[b], fmin(0.9, spot_evidence_hazard(&e, true, b, NAN, 1, 1) / 12), 1e-12, "age %zu: hours and ends of the "
		    "zone it sits in", b);
		sum += up.hop[b];
	}
	tap_near(up.hop[1], 10 / (1.001 * 20 + 2), 1e-12, "after ten of twenty losses the other zone was up, half an hour old");
	tap_near(sum, up.hop[1], 0, "and at no other age");
	/* One zone: as it is learned alone. */
	sw = (struct spot_world){ w.zone, 1, &w.zone[0], NULL, NULL, NULL, false, NULL };
	spot_learn_pool(&sw, 0, 240, 300, 1, &up, &down);
	spot_learn(&w.zone[0], 0, 240, 1, 300, 1, &own);
	tap_ok(memcmp(&up, &own, sizeof(up)) == 0, "one zone is a pool of one");
	tap_code(spot_table_solve(&s, &up, &down, a, &alone, &err), BERTH_OK, &err);
	up.hop[1] = 0.9;
	tap_code(spot_table_solve(&s, &up, &down, a, &pool, &err), BERTH_OK, &err);
	for (int left = 1; left <= s.deadline; left++)
		for (int work = 1; work <= s.work && work <= left; work++) {
			enum spot_action x = spot_decide(alone, left, work, SPOT_HAS_ON_DEMAND, 0, true, 5);
			enum spot_action y = spot_decide(pool, left, work, SPOT_HAS_ON_DEMAND, 0, true, 5);

			other += x != SPOT_TAKE && y == SPOT_TAKE;
		}
	tap_ok(other > 0, "on demand is left for spot more readily where another zone is likely to be up (%d times)", other);
	up.hop[1] = 1;
	tap_code(spot_table_solve(&s, &up, &down, a, &pool, &err), BERTH_EINVAL, &err);
	arena_free(a);
}

/* Spot that stays for 300 ticks: a table that believes it goes at once never takes it. */
static void
test_guard(void)
{
	static struct world w;
	struct spot_setting s = { .work = 50, .deadline = 90, .changeover = 4, .price = 0.3 };
	struct spot_world sw = { w.zone, 1, &w.zone[0], NULL, NULL, NULL, false, NULL };
	struct spot_hazard up = { .edge = { 3, 12, 48, 144 } }, down = up;
	struct arena *a = arena_new();
	struct spot_table *fearful, *learned;
	double cost[2] = { 0, 0 };
	struct berth_err err;

	for (size_t t = 0; t < 1000; t++)
		w.up[0][t] = t % 330 < 300;
	spot_ages(w.up[0], 1000, w.age[0]);
	w.zone[0] = (struct spot_zone){ w.up[0], w.age[0], 1000 };
	for (size_t b = 0; b < SPOT_AGES; b++) {
		up.leave[b] = 0.9;
		down.leave[b] = 0.001;
		up.older[b] = down.older[b] = b == SPOT_AGES - 1 ? 0 : 0.1;
	}
	tap_code(spot_table_solve(&s, &up, &down, a, &fearful, &err), BERTH_OK, &err);
	tap_ok(spot_misled(&sw, 0, 1000, &s, fearful), "on demand beside spot that lasts: the rule without a table was cheaper");
	spot_learn(&w.zone[0], 0, 1000, 1, 300, 1, &up);
	spot_learn(&w.zone[0], 0, 1000, 0, 300, 1, &down);
	tap_code(spot_table_solve(&s, &up, &down, a, &learned, &err), BERTH_OK, &err);
	for (size_t k = 0; k < 24; k++) {
		struct spot_run r;

		spot_replay(SPOT_POLICY_BERTH, &sw, 909 * k / 23, &s, NULL, &r);
		cost[0] += r.cost;
		spot_replay(SPOT_POLICY_BERTH, &sw, 909 * k / 23, &s, learned, &r);
		cost[1] += r.cost;
	}
	tap_ok(spot_misled(&sw, 0, 1000, &s, learned) == (cost[0] < 0.99 * cost[1]), "the learned table: as the replays say");
	tap_ok(!spot_misled(&sw, 0, 91, &s, fearful), "no room for two starts: nothing is claimed");
	arena_free(a);
}

#define PRICES 1000
static double market_price[2][PRICES];

/* Every action in every tick, with prices that move and a state that lies in a region. */
static double
brute_market(const struct world *w, const struct spot_setting *s, const struct spot_market *m, int t, int work, int mode, int left,
    int region)
{
	double best;

	if (work == 0)
		return 0;
	if (t == s->deadline)
		return INFINITY;
	if (mode >= 0 && mode < 9 && !w->up[mode][t])
		mode = -1;
	best = brute_market(w, s, m, t + 1, work, -1, 0, region);
	for (int z = 0; z <= (int)w->n_zones; z++) {
		int to = z == (int)w->n_zones ? 9 : z, k = to == mode ? left : s->changeover, there = to == 9 ? region : m->region[z];
		double price = to == 9 ? 1 : m->price[z][t];

		if (to < 9 && !w->up[to][t])
			continue;
		if (to != mode && there != region)
			price += m->move;
		best = fmin(best, price + (k > 0 ? brute_market(w, s, m, t + 1, work, to, k - 1, there) :
		    brute_market(w, s, m, t + 1, work - 1, to, 0, there)));
	}
	return best;
}

static void
make_prices(struct rng *r, size_t zones, size_t n, unsigned longest)
{
	for (size_t z = 0; z < zones; z++)
		for (size_t t = 0; t < n;) {
			double price = 0.1 + 1.1 * rng_unit(r);

			for (uint64_t k = 1 + rng_below(r, longest); k > 0 && t < n; k--)
				market_price[z][t++] = price;
		}
}

static void
test_market(void)
{
	static const int region[2] = { 0, 1 };
	const double *price[2] = { market_price[0], market_price[1] };
	struct spot_market m = { .price = price, .region = region };
	struct arena *scratch = arena_new();
	int bad = 0;
	static struct world w;
	struct rng r;

	rng_seed(&r, 15);
	for (int k = 0; k < 150; k++) {
		struct spot_setting s = { 1 + (int)rng_below(&r, 3), 2 + (int)rng_below(&r, 5), (int)rng_below(&r, 3), 0.3 };
		double want, got;

		make_world(&w, &r, 2, 10, 4);
		make_prices(&r, 2, 10, 3);
		m.move = rng_unit(&r);
		m.home = (int)rng_below(&r, 2);
		struct spot_world sw = { w.zone, 2, &w.any, NULL, NULL, &m, false, NULL };
		want = brute_market(&w, &s, &m, 0, s.work, -1, 0, m.home);
		got = spot_omniscient_market(&sw, 0, &s, scratch);
		bad += isinf(want) ? got >= 0 : fabs(got - want) > 1e-9;
		arena_reset(scratch);
	}
	tap_is_long(bad, 0, "150 small markets: the omniscient program equals brute force");
	arena_free(scratch);
}

/* Prices that move, a state that lies in a region: deadlines hold, and nobody beats the omniscient. */
static void
test_market_policy(void)
{
	static const int region[2] = { 0, 1 };
	const double *price[2] = { market_price[0], market_price[1] };
	struct spot_market m = { .price = price, .region = region, .move = 6 };
	struct arena *a = arena_new(), *scratch = arena_new();
	double sum[SPOT_POLICY_COUNT] = { 0 };
	int missed = 0, below = 0, moves = 0;
	static struct world w;
	struct rng r;

	rng_seed(&r, 16);
	for (int k = 0; k < 12; k++) {
		struct spot_setting s = { 40 + (int)rng_below(&r, 60), 0, (int)rng_below(&r, 5), 0.3 };
		struct spot_hazard up, down;
		const struct spot_table *table[3];
		double level[3] = { 0.2, 0.5, 0.9 }, score[2][SPOT_AGES];
		struct berth_err err;
		int edge[SPOT_AGES - 1];

		s.deadline = s.work + s.changeover + 1 + (int)rng_below(&r, 80);
		make_world(&w, &r, 2, PRICES, 10 + (unsigned)rng_below(&r, 60));
		make_prices(&r, 2, PRICES, 60);
		spot_edges(300, edge);
		spot_learn(&w.any, 0, 500, 1, 300, 1, &up);
		spot_learn(&w.any, 0, 500, 0, 300, 1, &down);
		for (size_t z = 0; z < 2; z++)
			spot_remaining(&up, score[z]);
		for (size_t l = 0; l < 3; l++) {
			struct spot_setting at = s;
			struct spot_table *t;

			at.price = level[l];
			tap_code(spot_table_solve(&at, &up, &down, a, &t, &err), BERTH_OK, &err);
			table[l] = t;
		}
		m.table = table;
		m.level = level;
		m.n_levels = 3;
		for (size_t t0 = 500; t0 + (size_t)s.deadline < PRICES; t0 += 97) {
			struct spot_world sw = { w.zone, 2, &w.any, (const double (*)[SPOT_AGES])score, edge, &m, false, NULL };
			double best = spot_omniscient_market(&sw, t0, &s, scratch);

			for (size_t p = 0; p < SPOT_POLICY_COUNT; p++) {
				struct spot_run run;

				spot_replay((enum spot_policy)p, &sw, t0, &s, table[1], &run);
				missed += run.missed;
				below += run.cost < best - 1e-9;
				moves += run.moves;
				sum[p] += run.cost / (s.work + s.changeover);
			}
			arena_reset(scratch);
		}
		arena_reset(a);
	}
	tap_is_long(missed, 0, "moving prices: no deadline is missed");
	tap_is_long(below, 0, "moving prices: nobody is below the omniscient");
	tap_ok(moves > 0, "the state moves between regions (%d times)", moves);
	tap_ok(sum[SPOT_POLICY_BERTH] < sum[SPOT_POLICY_UNIFORM] && sum[SPOT_POLICY_BERTH] < sum[SPOT_POLICY_GREEDY],
	    "and berth's policy is the cheapest: %.3f, Uniform Progress %.3f, greedy %.3f", sum[SPOT_POLICY_BERTH],
	    sum[SPOT_POLICY_UNIFORM], sum[SPOT_POLICY_GREEDY]);
	arena_free(a);
	arena_free(scratch);
}

/* Spot that costs as much as on demand, or more, is not taken, whatever rule and whatever is learned; one that a job has is left. */
static void
test_dear(void)
{
	static struct world w;
	static const double price[] = { 1, 1.5, 10 };
	struct spot_job j = { .work_s = 10 * 3600, .left_s = 20 * 3600, .changeover_s = 600, .price = 3, .rate = NAN, .zones = 1,
		.mode = SPOT_HAS_SPOT, .is_up = true, .age_s = 7200 };
	struct spot_tables tables = { 0 };
	struct arena *a = arena_new();
	struct berth_err err = { 0 };
	enum spot_action action;
	struct rng r;

	rng_seed(&r, 17);
	make_world(&w, &r, 1, 1000, 30);
	for (size_t k = 0; k < 3; k++) {
		struct spot_setting s = { .work = 50, .deadline = 90, .changeover = 4, .price = price[k] };
		struct spot_world sw = { w.zone, 1, &w.any, NULL, NULL, NULL, false, NULL };
		struct spot_hazard up, down;
		struct spot_table *table;

		spot_learn(&w.zone[0], 0, 500, 1, 300, 1, &up);
		spot_learn(&w.zone[0], 0, 500, 0, 300, 1, &down);
		tap_code(spot_table_solve(&s, &up, &down, a, &table, &err), BERTH_OK, &err);
		for (size_t p = 0; p < SPOT_POLICY_COUNT; p++) {
			struct spot_run run;

			spot_replay((enum spot_policy)p, &sw, 500, &s, table, &run);
			tap_ok(run.spot == 0 && run.lost == 0 && !run.missed && fabs(run.cost - 54) < 1e-9,
			    "spot at %g times on demand: %s runs on demand, at %g", price[k], spot_policy_name((enum spot_policy)p), run.cost);
		}
	}
	tap_code(spot_job_decide(&j, NULL, &tables, &action, &err), BERTH_OK, &err);
	tap_is_long(action, SPOT_ON_DEMAND, "ten hours at three times on demand: left for 10 minutes of changeover");
	j.work_s = 120;
	tap_code(spot_job_decide(&j, NULL, &tables, &action, &err), BERTH_OK, &err);
	tap_is_long(action, SPOT_TAKE, "two minutes at three times on demand: not worth the changeover");
	spot_tables_free(&tables);
	arena_free(a);
}

/* The same table (NULL: none) in worlds whose runs up are all shorter than a changeover, by chance: each run costs at most that. */
static void
test_flapping_worlds(struct world *flap, const struct spot_world *sw, const struct spot_table *table, int changeover)
{
	struct rng r;
	double worst = 0;
	int over = 0, missed = 0;

	rng_seed(&r, 13);
	for (int k = 0; k < 400; k++) {
		struct spot_setting s = { .work = 10 + (int)rng_below(&r, 41), .changeover = changeover, .price = 0.3 };
		struct spot_run run;

		s.deadline = s.work + changeover + (int)rng_below(&r, 65);
		for (size_t t = 0; t < 200;) {
			size_t up = t + 1 + rng_below(&r, (uint64_t)changeover), down = up + 1 + rng_below(&r, 1 + (uint64_t)k % 4);

			for (; t < down && t < 200; t++)
				flap->up[0][t] = t < up;
		}
		spot_ages(flap->up[0], 200, flap->age[0]);
		spot_replay(SPOT_POLICY_BERTH, sw, 0, &s, table, &run);
		missed += run.missed;
		over += run.cost > s.work + 2 * changeover + 1e-9;
		worst = fmax(worst, run.cost - s.work);
	}
	tap_is_long(missed, 0, "400 worlds that flap%s: no deadline is missed", table == NULL ? ", without a table" : "");
	tap_is_long(over, 0, "each run costs at most on demand and one launch: %g ticks of %d over the work", worst, 2 * changeover);
}

/* Taught by a calm zone, sent into one that flaps each tick: what it costs at most, and how often in vain. */
static void
test_flapping(void)
{
	static struct world calm, flap;
	struct spot_setting s = { .work = 50, .deadline = 120, .changeover = 4, .price = 0.3 };
	struct spot_world sw = { flap.zone, 1, &flap.zone[0], NULL, NULL, NULL, false, NULL };
	struct arena *a = arena_new();
	struct spot_hazard up, down;
	struct spot_table *table;
	struct berth_err err = { 0 };
	struct spot_run run;

	for (size_t t = 0; t < 1000; t++) {
		calm.up[0][t] = t % 330 < 300;
		flap.up[0][t] = t % 2 == 0;
	}
	spot_ages(calm.up[0], 1000, calm.age[0]);
	spot_ages(flap.up[0], 1000, flap.age[0]);
	calm.zone[0] = (struct spot_zone){ calm.up[0], calm.age[0], 1000 };
	flap.zone[0] = (struct spot_zone){ flap.up[0], flap.age[0], 1000 };
	spot_learn(&calm.zone[0], 0, 1000, 1, 300, 1, &up);
	spot_learn(&calm.zone[0], 0, 1000, 0, 300, 1, &down);
	tap_code(spot_table_solve(&s, &up, &down, a, &table, &err), BERTH_OK, &err);
	spot_replay(SPOT_POLICY_BERTH, &sw, 0, &s, table, &run);
	tap_ok(!run.missed && run.cost <= s.work + 2 * s.changeover, "at most on demand and one launch: %g", run.cost);
	tap_ok(run.lost <= 3, "at most three launches in vain: %d", run.lost);
	sw.thin = true;
	spot_replay(SPOT_POLICY_BERTH, &sw, 0, &s, table, &run);
	tap_ok(!run.missed && run.lost == 1, "one where hardly anything was learned: %d", run.lost);
	sw.thin = false;
	test_flapping_worlds(&flap, &sw, table, s.changeover);
	/* Nothing is learned: Uniform Progress would launch at each of them. */
	for (size_t t = 0; t < 1000; t++)
		flap.up[0][t] = t % 2 == 1;
	spot_ages(flap.up[0], 1000, flap.age[0]);
	s = (struct spot_setting){ .work = 96, .deadline = 120, .changeover = 2, .price = 0.3 };
	spot_replay(SPOT_POLICY_UNIFORM, &sw, 0, &s, NULL, &run);
	tap_ok(run.cost > 98.6, "Uniform Progress pays for more than one launch on spot in vain: %g", run.cost);
	spot_replay(SPOT_POLICY_BERTH, &sw, 0, &s, NULL, &run);
	tap_ok(!run.missed && run.cost <= 98.6 && run.lost <= 3, "without a table at most for one: %g, %d lost", run.cost, run.lost);
	test_flapping_worlds(&flap, &sw, NULL, s.changeover);
	arena_free(a);
}

/* Runs of 2 and of 10 ticks in turn: what a launch at each age brings is counted by hand. */
static void
test_promise(void)
{
	static struct world w;
	struct spot_world sw = { w.zone, 1, &w.zone[0], NULL, NULL, NULL, false, NULL };
	struct spot_setting s = { .work = 50, .changeover = 3, .price = 0.3 };
	struct arena *a = arena_new();
	struct spot_promise p;
	int wrong = 0;

	for (size_t t = 0; t < MAX_TICKS; t++)
		w.up[0][t] = t % 16 < 2 || (t % 16 >= 4 && t % 16 < 14);
	spot_ages(w.up[0], MAX_TICKS, w.age[0]);
	w.zone[0] = (struct spot_zone){ w.up[0], w.age[0], MAX_TICKS };
	spot_promise_learn(&sw, 0, MAX_TICKS, 300, &s, a, &p);
	tap_near(p.worth[0], 7.0 / 12, 0.01, "fresh: of 2 and 10 ticks, 0 and 7 bring work");
	tap_near(p.worth[2], 5.0 / 8, 0.01, "at 2 ticks: 5 of 8");
	tap_ok(p.worth[7] < p.least, "at 7 ticks: the changeover and no more: %.3f", p.worth[7]);
	tap_near(p.lasts[0], 0.5, 0.01, "fresh: one of two lasts for two changeovers");
	tap_near(p.lasts[4], 1, 0.01, "at 4 ticks: each");
	tap_near(p.lasts[5], 0, 0.01, "at 5 ticks: none");
	tap_ok(p.worth[10] >= p.least, "older than any run was: other times, it may pay");
	for (size_t t = 0; t < MAX_TICKS; t++)
		wrong += p.paying.up[t] != (w.up[0][t] && w.age[0][t] < 7);
	tap_is_long(wrong, 0, "a run near its end counts as down");
	arena_free(a);
}

#define POOL_ZONES 6
#define POOL_HALF 4096

struct flap_pool {
	uint8_t up[POOL_ZONES + 1][2 * POOL_HALF];
	int32_t age[POOL_ZONES + 1][2 * POOL_HALF];
	struct spot_zone zone[POOL_ZONES], any;
	double score[POOL_ZONES][SPOT_AGES];
	int edge[SPOT_AGES - 1];
};

/* Two of three runs last one or two ticks, the third 4 to 24 by zone. */
static void
make_flap_pool(struct flap_pool *f, struct rng *r)
{
	const size_t n = 2 * POOL_HALF;

	spot_edges(300, f->edge);
	for (size_t z = 0; z < POOL_ZONES; z++) {
		const size_t life[2][3] = { { 1, 2, 12 }, { 1, 2, 4 + 4 * z } };
		int state = 0;
		struct spot_hazard h;

		for (size_t t = 0; t < n; state = !state)
			for (size_t k = life[state][rng_below(r, 3)]; k > 0 && t < n; k--)
				f->up[z][t++] = (uint8_t)state;
		spot_ages(f->up[z], n, f->age[z]);
		f->zone[z] = (struct spot_zone){ f->up[z], f->age[z], n };
		spot_learn(&f->zone[z], 0, POOL_HALF, 1, 300, 0, &h);
		spot_remaining(&h, f->score[z]);
	}
	spot_union(f->zone, POOL_ZONES, n, f->up[POOL_ZONES]);
	spot_ages(f->up[POOL_ZONES], n, f->age[POOL_ZONES]);
	f->any = (struct spot_zone){ f->up[POOL_ZONES], f->age[POOL_ZONES], n };
}

/* Summed over starts in the second half, learned from the first. */
static double
flap_pool_cost(const struct spot_world *w, enum spot_policy policy, const struct spot_setting *s, int *vain_out, int *missed_out)
{
	struct arena *a = arena_new();
	struct spot_hazard up, down;
	struct spot_table *table;
	struct berth_err err = { 0 };
	double sum = 0;

	spot_learn_pool(w, 0, POOL_HALF, 300, 1, &up, &down);
	tap_code(spot_table_solve(s, &up, &down, a, &table, &err), BERTH_OK, &err);
	for (size_t t0 = POOL_HALF; t0 + (size_t)s->deadline < 2 * POOL_HALF; t0 += 97) {
		struct spot_run run;

		spot_replay(policy, w, t0, s, table, &run);
		sum += run.cost;
		*vain_out = run.vain > *vain_out ? run.vain : *vain_out;
		*missed_out += run.missed;
	}
	arena_free(a);
	return sum;
}

/* One of six zones is nearly always up, most of them not for as long as a machine takes to start. */
static void
test_flapping_pool(void)
{
	static struct flap_pool f;
	struct rng r;

	rng_seed(&r, 21);
	make_flap_pool(&f, &r);
	for (int deadline = 360; deadline <= 576; deadline += 72) {
		struct spot_setting s = { .work = 288, .deadline = deadline, .changeover = 7, .price = 0.3 };
		struct spot_world w = { f.zone, POOL_ZONES, &f.any, NULL, f.edge, NULL, false, NULL };
		double uniform, blind, knowing;
		struct arena *a = arena_new();
		struct spot_promise promise;
		int vain = 0, missed = 0, others = 0;

		uniform = flap_pool_cost(&w, SPOT_POLICY_UNIFORM, &s, &others, &missed);
		w.score = (const double (*)[SPOT_AGES])f.score;
		blind = flap_pool_cost(&w, SPOT_POLICY_BERTH, &s, &others, &missed);
		spot_promise_learn(&w, 0, POOL_HALF, 300, &s, a, &promise);
		knowing = flap_pool_cost(&w, SPOT_POLICY_BERTH, &s, &vain, &missed);
		tap_ok(knowing <= 1.02 * uniform, "due in %d ticks: %.3f of Uniform Progress", deadline, knowing / uniform);
		tap_ok(knowing < blind, "due in %d ticks: %.3f of what it costs without what each zone does", deadline,
		    knowing / blind);
		tap_ok(vain <= SPOT_VAIN, "due in %d ticks: %d launches in vain in a row", deadline, vain);
		tap_is_long(missed, 0, "no deadline is missed");
		arena_free(a);
	}
}

int
main(void)
{
	test_promise();
	test_flapping_pool();
	test_omniscient();
	test_adversarial();
	test_constant();
	test_dear();
	test_flapping();
	test_pool();
	test_guard();
	test_market();
	test_market_policy();
	return tap_done();
}
