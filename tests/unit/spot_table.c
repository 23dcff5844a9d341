/* Tables of spot under a deadline: against plain backward induction, and the rules around them. */
#include <math.h>
#include <stdlib.h>

#include "plan/spot.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define PLAIN_LEFT 48
#define PLAIN_WORK 20
#define PLAIN_CHANGE 3
#define PLAIN_NEVER 1e12

/* Cost of the rest by work, mode, changeover ticks left and state: up by age, then down by age. */
typedef double plain_values[PLAIN_WORK + 1][3][PLAIN_CHANGE + 1][2 * SPOT_AGES];

struct plain {
	struct spot_setting s;
	struct spot_hazard up, down;
	plain_values v[PLAIN_LEFT + 1];
};

/* What is expected a tick on, with so much left. */
static double
plain_expect(const struct plain *p, int left, int work, enum spot_mode mode, int k, size_t state)
{
	bool up = state < SPOT_AGES;
	const struct spot_hazard *h = up ? &p->up : &p->down;
	size_t b = state % SPOT_AGES;
	enum spot_mode lost = mode == SPOT_HAS_SPOT ? SPOT_NOTHING : mode;
	double on = (1 - h->leave[b]) * h->older[b], away, none = 1;

	away = up ? 0 : p->v[left][work][mode][k][0];
	for (size_t a = 0; up && a < SPOT_AGES; a++) {
		away += p->up.hop[a] * p->v[left][work][lost][k][a];
		none -= p->up.hop[a];
	}
	away += up ? none * p->v[left][work][lost][k][SPOT_AGES] : 0;
	return (1 - h->leave[b] - on) * p->v[left][work][mode][k][state] +
	    on * p->v[left][work][mode][k][b + 1 < SPOT_AGES ? state + 1 : state] + h->leave[b] * away;
}

/* cost[] of waiting, of spot, of on demand in this tick. */
static void
plain_costs(const struct plain *p, int left, int work, enum spot_mode mode, int k, size_t state, double cost[3])
{
	cost[SPOT_WAIT] = cost[SPOT_TAKE] = PLAIN_NEVER;
	for (int m = SPOT_HAS_SPOT; m <= SPOT_HAS_ON_DEMAND; m++) {
		int to_come = (int)mode == m ? k : p->s.changeover;
		double price = m == SPOT_HAS_SPOT ? p->s.price : 1;

		if (m == SPOT_HAS_SPOT && state >= SPOT_AGES)
			continue;
		cost[m] = price + (to_come > 0 ? plain_expect(p, left - 1, work, (enum spot_mode)m, to_come - 1, state) :
		    plain_expect(p, left - 1, work - 1, (enum spot_mode)m, 0, state));
	}
	if (state >= SPOT_AGES)
		cost[SPOT_WAIT] = plain_expect(p, left - 1, work, SPOT_NOTHING, 0, state);
}

static void
plain_solve(struct plain *p)
{
	for (int left = 0; left <= p->s.deadline; left++)
		for (int work = 0; work <= p->s.work; work++)
			for (int m = 0; m < 3; m++)
				for (int k = 0; k <= p->s.changeover; k++)
					for (size_t state = 0; state < 2 * SPOT_AGES; state++) {
						double cost[3], *v = &p->v[left][work][m][k][state];

						*v = work == 0 ? 0 : PLAIN_NEVER;
						if (work == 0 || left == 0)
							continue;
						plain_costs(p, left, work, (enum spot_mode)m, k, state, cost);
						*v = fmin(PLAIN_NEVER, fmin(cost[0], fmin(cost[1], cost[2])));
					}
}

/* Chance that a run reaches that age. */
static double
plain_alive(const struct plain *p, size_t b)
{
	double alive = 1;

	for (size_t a = 0; a < b; a++)
		alive *= pow(1 - p->up.leave[a], p->up.edge[a] - (a == 0 ? 0 : p->up.edge[a - 1]));
	return alive;
}

/* Wherever the deadline can still be held, costs are not as good as alike, and an age is no surprise. */
static void
plain_compare(const struct plain *p, const struct spot_table *t, long *wrong, long *asked)
{
	for (int work = 1; work <= p->s.work; work++)
		for (int left = work; left <= work + p->s.deadline - p->s.work; left++)
			for (int m = 0; m < 3; m++)
				for (int k = 0; k <= p->s.changeover; k++)
					for (size_t state = 0; state < (m == SPOT_HAS_SPOT ? 1 : 2) * (size_t)SPOT_AGES; state++) {
						bool up = state < SPOT_AGES;
						size_t b = state % SPOT_AGES;
						int age = b == 0 ? 0 : up ? p->up.edge[b - 1] : p->down.edge[b - 1];
						enum spot_action said = spot_decide(t, left, work, (enum spot_mode)m, k, up, age);
						double cost[3], best;

						plain_costs(p, left, work, (enum spot_mode)m, k, state, cost);
						best = fmin(cost[0], fmin(cost[1], cost[2]));
						if (left < work + (m == SPOT_HAS_ON_DEMAND ? k : p->s.changeover) ||
						    (up && plain_alive(p, b) <= 0.05))
							continue;
						++*asked;
						*wrong += cost[said] > best + 1e-4;
					}
}

static void
test_plain(void)
{
	struct plain *p = calloc(1, sizeof(*p));
	struct arena *a = arena_new();
	long wrong = 0, asked = 0, failed = 0;
	struct rng r;

	rng_seed(&r, 21);
	for (int n = 0; n < 12; n++) {
		struct spot_evidence e = { 0 };
		struct spot_table *t;
		struct berth_err err;

		p->s = (struct spot_setting){ .work = 2 + (int)rng_below(&r, PLAIN_WORK - 1), .changeover = n % (PLAIN_CHANGE + 1),
			.price = 0.1 + rng_unit(&r) };
		p->s.deadline = p->s.work + (int)rng_below(&r, PLAIN_LEFT - PLAIN_WORK + 1);
		for (uint64_t k = rng_below(&r, 20); k > 0; k--)
			spot_evidence_add(&e, rng_below(&r, 2) == 1, 8 * rng_unit(&r), true);
		spot_chances(&e, true, 600, NAN, 1, 1, &p->up);
		spot_chances(&e, false, 600, NAN, 1, 1, &p->down);
		for (size_t b = 0; b < SPOT_AGES; b++)
			p->up.hop[b] = n % 2 == 0 ? 0 : 0.18 * rng_unit(&r);
		plain_solve(p);
		failed += spot_table_solve(&p->s, &p->up, &p->down, a, &t, &err) != BERTH_OK;
		if (failed == 0)
			plain_compare(p, t, &wrong, &asked);
		arena_reset(a);
	}
	tap_is_long(failed, 0, "12 settings are solved");
	tap_is_long(wrong, 0, "each of %ld actions costs as little as plain backward induction finds", asked);
	tap_ok(asked > 10000, "and there are enough of them");
	arena_free(a);
	free(p);
}

/* Two days of work due in 60 hours, in ticks of 195 s: at most 120 MB. More to spare than the table is for counts as that. */
static void
test_size(void)
{
	struct spot_setting s = { 886, 1108, 4, 0.3 };
	struct arena *a = arena_new();
	struct spot_hazard up, down;
	struct spot_table *t;
	struct berth_err err = { 0 };
	int apart = 0;

	spot_chances(NULL, true, 195, NAN, 1, 1, &up);
	spot_chances(NULL, false, 195, NAN, 1, 1, &down);
	tap_code(spot_table_solve(&s, &up, &down, a, &t, &err), BERTH_OK, &err);
	tap_ok(spot_table_bytes(t) <= 120000000, "48 hours in 60: %.1f MB", (double)spot_table_bytes(t) / 1e6);
	for (int work = 1; work <= 886; work++)
		for (int more = 0; more < 2000; more += 400)
			apart += spot_decide(t, work + 222 + more, work, SPOT_NOTHING, 0, false, 9) !=
			    spot_decide(t, work + 222, work, SPOT_NOTHING, 0, false, 9);
	tap_is_long(apart, 0, "more time to spare counts as the most");
	tap_is_long(spot_decide(t, 900, 887, SPOT_NOTHING, 0, true, 9), SPOT_ON_DEMAND, "more work than it is for: on demand");
	arena_free(a);
}

/* Chances say that runs end within ten ticks; one that is 20 old tells otherwise. */
static void
test_surprise(void)
{
	struct spot_hazard up = { .edge = { 2, 4, 40, 80 }, .leave = { 0.3, 0.3, 0.3, 0.01, 0.01 }, .older = { 0.5, 0.5, 0.03, 0.03, 0 } };
	struct spot_hazard down = { .edge = { 2, 4, 40, 80 }, .leave = { 0.1, 0.1, 0.1, 0.1, 0.1 }, .older = { 0.5, 0.5, 0.03, 0.03, 0 } };
	struct spot_setting s = { 30, 60, 4, 0.3 };
	struct arena *a = arena_new();
	struct spot_table *t;
	struct berth_err err = { 0 };
	int young = 0, old = 0;

	tap_code(spot_table_solve(&s, &up, &down, a, &t, &err), BERTH_OK, &err);
	for (int left = 1; left <= 60; left++)
		for (int work = 1; work <= left && work <= 30; work++) {
			enum spot_action at = spot_decide(t, left, work, SPOT_NOTHING, 0, true, 100);

			young += spot_decide(t, left, work, SPOT_NOTHING, 0, true, 8) != at;
			old += spot_decide(t, left, work, SPOT_NOTHING, 0, true, 20) != at;
		}
	tap_ok(young > 0, "a run of 8 ticks is taken for a short one (%d)", young);
	tap_is_long(old, 0, "one of 20, which one in a thousand reaches, for a long one");
	arena_free(a);
}

/* How long a zone must have been up, in closed form; and a zone that must have been is asked only where (1 - h)^(2 changeovers)
 * reaches a fifth. */
static void
test_stand(void)
{
	static const double leave[2] = { 0.14, 0.16 };	/* 0.86^10 = 0.22, 0.84^10 = 0.17 */
	struct spot_setting s = { .work = 60, .deadline = 160, .changeover = 5, .price = 0.3 };
	struct arena *a = arena_new();
	struct berth_err err = { 0 };

	tap_near(spot_stand(10, 0.3, false, 0, 0), 0, 0, "a first launch needs no time up");
	tap_near(spot_stand(10, 0.3, false, SPOT_VAIN, 0), 10, 0, "nor after three in vain more than a launch");
	tap_near(spot_stand(10, 0.3, true, 0, -3), 0, 0, "leaving on demand needs none where a launch was saved");
	tap_near(spot_stand(10, 0.3, true, 0, 0), 10, 0, "a launch's time where nothing was saved or lost");
	tap_near(spot_stand(10, 0.3, true, 0, 2), 30, 1e-12, "and where launches were lost, twice that and twice the 5 over");
	for (size_t k = 0; k < 2; k++) {
		struct spot_hazard up = { .edge = { 3, 12, 48, 144 } }, down;
		struct spot_table *table;
		int apart = 0, as_up = 0, as_down = 0;

		for (size_t b = 0; b < SPOT_AGES; b++)
			up.leave[b] = leave[k];
		down = up;
		tap_code(spot_table_solve(&s, &up, &down, a, &table, &err), BERTH_OK, &err);
		for (int left = 20; left <= 160; left++)
			for (int work = 1; work <= 60; work++) {
				struct spot_now n = { .left = left, .work = work, .mode = SPOT_NOTHING, .up = true, .age = 6, .stood = 6, .stand = 6 };
				enum spot_action there = spot_decide(table, left, work, n.mode, 0, true, n.age),
					gone = spot_decide(table, left, work, n.mode, 0, false, n.age), said = spot_rule(table, &n);

				apart += there != gone;
				as_up += there != gone && said == there;
				as_down += there != gone && said == gone;
			}
		tap_ok(apart > 100 && (k == 0 ? as_up : as_down) == apart, "a tick ends %g of the runs: of %d cases %d are as with spot, %d as "
		    "without", leave[k], apart, as_up, as_down);
	}
	arena_free(a);
}
int
main(void)
{
	test_plain();
	test_size();
	test_surprise();
	test_stand();
	return tap_done();
}
