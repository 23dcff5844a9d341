/* Spot for one job, in seconds and hours: what is learned, what is decided, where the decision turns. */
#include <math.h>
#include <stdlib.h>

#include "plan/spot_job.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

/* Prior of an age by hand, from all ages together: ends, hours, ends that the prior expects, the prior's mean. */
static double
prior_of(double prior, double ends, double hours, double expected, double mean)
{
	double part = ends / (ends + 2) / 2;

	return pow(prior * (ends + 2) / (expected + 2), 1 - part) * pow((ends + 2) / (hours + 2 / mean), part);
}

/* Chances by hand: runs of 4 up and 4 down of 450 s, so that ages end at 2, 8, 32, 96 ticks. */
static void
test_learning(void)
{
	static uint8_t up[81];
	static int32_t age[81];
	struct spot_zone zone = { up, age, 81 };
	struct spot_hazard h;
	double expected, young, next, left[SPOT_AGES];

	for (size_t t = 0; t < 81; t++)
		up[t] = t / 4 % 2 == 0;
	spot_ages(up, 81, age);
	spot_learn(&zone, 0, 81, 1, 450, 0, &h);
	/* 80 transitions: 10 up runs of 4 ticks, 2.5 h at each of two ages; each ends at age 3. */
	expected = 2.5 * (1.37 + 0.96);
	young = prior_of(1.37, 10, 5, expected, 0.379);
	next = prior_of(0.96, 10, 5, expected, 0.379);
	tap_is_long(h.events[0], 0, "no end at age 0 and 1");
	tap_is_long(h.events[1], 10, "10 ends at age 2 and 3");
	tap_near(h.leave[0], 0.125 * 2 / (2.5 + 2 / young), 1e-12, "the young bucket: the prior, scaled by all that was seen");
	tap_near(h.leave[1], 0.125 * 12 / (2.5 + 2 / next), 1e-12, "the next: its ends and the prior");
	tap_near(h.older[1], 1 / 6.0, 1e-12, "a bucket of 6 ticks is left in 6");
	spot_learn(&zone, 0, 81, 1, 450, 1, &h);
	tap_near(h.leave[1], 0.125 * 12 / (2.5 + 2 / next) * (1 + 1 / sqrt(13)), 1e-12, "one standard error worse");
	tap_near(h.leave[4], 0.125 * 0.059 * 12 / (expected + 2), 1e-12,
	    "an age that no run reached: the prior scaled by all that was seen, and no worse for being reached");
	spot_learn(&zone, 0, 81, 0, 450, 1, &h);
	next = prior_of(1.08, 10, 5, 2.5 * (1.65 + 1.08), 0.324);
	tap_near(h.leave[1], 0.125 * 12 / (2.5 + 2 / next) * (1 - 1 / sqrt(13)), 1e-12, "down runs end later");
	for (size_t b = 0; b < SPOT_AGES; b++)
		h.leave[b] = 0.25;
	spot_remaining(&h, left);
	tap_near(left[0], 4, 1e-9, "at 0.25 a tick a run goes on for 4");
}

/* One decision a minute in seconds and hours, spot by coin; from any start with slack the deadline is never missed. */
static void
test_job(void)
{
	struct spot_evidence seen = { .hours = { { 0 } } };
	struct rng r;
	size_t missed = 0, worst = 0;
	struct berth_err err;
	double spot_hours = 0, hours = 0;

	rng_seed(&r, 11);
	for (int run = 0; run < 24; run++) {
		struct spot_tables tables = { 0 };
		struct spot_job j = { .work_s = 1800 + 60 * (double)rng_below(&r, 300), .changeover_s = 60 * (double)(1 + rng_below(&r, 15)),
			.price = 0.3, .zones = 1, .rate = NAN };
		double left = j.work_s + j.changeover_s + 180 + 60 * (double)rng_below(&r, 400), until = 0, since = 0;
		unsigned stay = 1 + (unsigned)rng_below(&r, 90);

		j.left_s = left;
		j.is_up = rng_below(&r, 2) == 0;
		for (double t = 0; j.work_s > 0 && t < left; t += 60) {
			enum spot_mode want;
			enum spot_action act;

			if (rng_below(&r, stay) == 0) {
				j.is_up = !j.is_up;
				since = t;
			}
			if (!j.is_up && j.mode == SPOT_HAS_SPOT)
				j.mode = SPOT_NOTHING;
			j.left_s = left - t;
			j.age_s = t - since;
			j.changeover_left_s = fmax(0, until - t);
			if (spot_job_decide(&j, &seen, &tables, &act, &err) != BERTH_OK)
				worst++;
			want = act == SPOT_TAKE && j.is_up ? SPOT_HAS_SPOT : act == SPOT_ON_DEMAND ? SPOT_HAS_ON_DEMAND : SPOT_NOTHING;
			if (want != j.mode)
				until = t + j.changeover_s;
			j.mode = want;
			if (want != SPOT_NOTHING && t >= until)
				j.work_s -= 60;
			spot_hours += want == SPOT_HAS_SPOT;
			hours += want != SPOT_NOTHING;
		}
		missed += j.work_s > 0;
		spot_tables_free(&tables);
	}
	tap_is_long((long)missed, 0, "no deadline is missed whatever spot does");
	tap_is_long((long)worst, 0, "each decision is made");
	tap_ok(spot_hours > 0.2 * hours, "and spot is used: %.0f of %.0f minutes", spot_hours, hours);

	/* Evidence: 3 h alive, taken back: 0.25, 0.75 and 2 h, an end in the bucket of 1 to 4 h. */
	spot_evidence_add(&seen, true, 3, true);
	tap_near(seen.hours[1][0] + seen.hours[1][1] + seen.hours[1][2], 3, 1e-12, "3 hours in the three young buckets");
	tap_ok(seen.ends[1][2] == 1 && seen.ends[1][1] == 0, "the end where it fell");
	tap_near(spot_evidence_hazard(&seen, true, 2, NAN, 1, 0),
	    3 / (2 + 2 / prior_of(0.33, 1, 3, 0.25 * 1.37 + 0.75 * 0.96 + 2 * 0.33, 0.379)), 1e-12,
	    "(ends + 2) / (hours + 2 / prior), the prior scaled by all ages");
	tap_ok(spot_age_of(0) == 0 && spot_age_of(0.25) == 1 && spot_age_of(3.9) == 2 && spot_age_of(100) == 4, "ages in hours");
	tap_near(spot_evidence_hazard(NULL, true, 4, NAN, 1, 0), 0.059, 1e-12, "nothing seen: the prior");
	tap_near(spot_evidence_hazard(NULL, false, 0, NAN, 3, 0), 3 * 1.65, 1e-12, "three zones come back three times as fast");
}

/* The shares of machines taken back in a month that a cloud publishes in bands: each band has a chance of its own, and none is
 * believed so far that spot counts as almost safe. */
static void
test_bands(void)
{
	static const double share[] = { 0.025, 0.075, 0.125, 0.175 };
	double prior, before;

	for (size_t age = 0; age < SPOT_AGES; age++) {
		prior = spot_evidence_hazard(NULL, true, age, NAN, 1, 0);
		before = 0;
		for (size_t k = 0; k < 4; k++) {
			double h = spot_evidence_hazard(NULL, true, age, -log1p(-share[k]) / 730, 1, 0);

			tap_ok(h > 1.05 * before, "age %zu: %g %% a month are worse than the band below: %.4f an hour", age, 100 * share[k], h);
			before = h;
		}
		tap_ok(before < prior, "age %zu: the worst of them is under the prior of %.3f", age, prior);
		tap_near(spot_evidence_hazard(NULL, true, age, 1e-9, 1, 0), prior / 4, 1e-12, "age %zu: no rate scales it to under a quarter",
		    age);
		tap_near(spot_evidence_hazard(NULL, true, age, 0.379, 1, 0), prior, 1e-12, "age %zu: the prior's own rate", age);
		tap_near(spot_evidence_hazard(NULL, true, age, 0.758, 1, 0), 2 * prior, 1e-12, "age %zu: twice that", age);
		tap_near(spot_evidence_hazard(NULL, true, age, 100, 1, 0), 8 * prior, 1e-12, "age %zu: at most eight times", age);
	}
	tap_near(spot_evidence_hazard(NULL, true, 4, 1.068e-4, 1, 0), 0.059 * 0.2934, 1e-5, "7.5 %% a month: 0.293 of the prior");
	tap_near(spot_evidence_hazard(NULL, false, 1, 1e-4, 1, 0), 1.08, 1e-12, "how long spot stays away hangs on no such rate");
}

/* A clock that jumps: lives that end before they began teach nothing, an age below 0 is new, one beyond all is old. */
static void
test_clock(void)
{
	struct spot_evidence e = { 0 };
	struct spot_job j = { .work_s = 7200, .left_s = 14400, .changeover_s = 900, .price = 0.3, .rate = NAN, .zones = 1,
		.mode = SPOT_HAS_SPOT, .is_up = true };
	const double age[] = { 0, -1e6, NAN, 50 * 3600, 1e18, INFINITY };
	enum spot_action action[6];
	struct spot_tables tables = { 0 };
	struct berth_err err = { 0 };
	double sum = 0;

	spot_evidence_add(&e, true, -5, true);
	spot_evidence_add(&e, false, NAN, true);
	for (int up = 0; up < 2; up++)
		for (size_t b = 0; b < SPOT_AGES; b++)
			sum += fabs(e.hours[up][b]) + fabs(e.ends[up][b]);
	tap_near(sum, 0, 0, "a life of -5 hours, and one of none, teach nothing");
	for (size_t k = 0; k < 6; k++) {
		j.age_s = age[k];
		tap_code(spot_job_decide(&j, &e, &tables, &action[k], &err), BERTH_OK, &err);
	}
	tap_ok(action[1] == action[0] && action[2] == action[0], "an age below 0, or unknown, counts as new");
	tap_ok(action[4] == action[3] && action[5] == action[3], "an age beyond all counts as old");
	j.age_s = 0;
	j.left_s = -1e7;
	tap_code(spot_job_decide(&j, &e, &tables, &action[0], &err), BERTH_OK, &err);
	tap_is_long(action[0], SPOT_ON_DEMAND, "a deadline that the clock jumped over: on demand at once");
	j.left_s = NAN;
	tap_code(spot_job_decide(&j, &e, &tables, &action[0], &err), BERTH_EINVAL, &err);
	spot_tables_free(&tables);
}

/* The work at which a decision turns is exact: a second of it more or less, and spot_job_decide() itself says the other thing. */
static void
test_turn(void)
{
	struct spot_tables tables = { 0 };
	struct berth_err err = { 0 };
	struct rng r;
	int known = 0, of[3] = { 0 }, wrong = 0, failed = 0;

	rng_seed(&r, 5);
	for (int k = 0; k < 60; k++) {
		struct spot_job j = { .work_s = 600 + (double)rng_below(&r, 30000), .changeover_s = 60 + (double)rng_below(&r, 1200),
			.price = 0.3, .zones = 1 + rng_below(&r, 3), .rate = NAN, .mode = (enum spot_mode)rng_below(&r, 3),
			.age_s = (double)rng_below(&r, 20000), .stood_s = 3600 };
		enum spot_action now, at, beyond;
		double turn;

		j.left_s = j.work_s + j.changeover_s + 180 + (double)rng_below(&r, k % 2 == 0 ? 3000 : 30000);
		j.is_up = j.mode == SPOT_HAS_SPOT || rng_below(&r, 2) == 0;
		failed += spot_job_decide(&j, NULL, &tables, &now, &err) != BERTH_OK;
		failed += spot_job_turn(&j, NULL, &tables, &turn, &err) != BERTH_OK;
		if (isnan(turn))
			continue;
		known++;
		of[now]++;
		j.work_s = turn;
		failed += spot_job_decide(&j, NULL, &tables, &at, &err) != BERTH_OK;
		j.work_s = turn + 1;
		failed += spot_job_decide(&j, NULL, &tables, &beyond, &err) != BERTH_OK;
		wrong += beyond != SPOT_ON_DEMAND || at == SPOT_ON_DEMAND;
	}
	tap_is_long(failed, 0, "60 jobs: all are decided");
	tap_is_long(wrong, 0, "%d turns (%d while waiting, %d on spot, %d on demand): each just where it is said", known, of[SPOT_WAIT],
	    of[SPOT_TAKE], of[SPOT_ON_DEMAND]);
	tap_ok(of[SPOT_WAIT] > 2 && of[SPOT_TAKE] > 2 && of[SPOT_ON_DEMAND] > 2, "and there are some of each");
	spot_tables_free(&tables);
}

/* Against sums over steps of a second. */
static void
test_outlook(void)
{
	static const double ages[] = { 0, 0.1, 3, 50 };
	struct spot_evidence e = { .hours = { { 3, 2, 1, 0, 0 }, { 10, 20, 30, 5, 0 } }, .ends = { { 4, 2, 0, 0, 0 }, { 3, 5, 6, 0, 0 } } };

	for (size_t k = 0; k < sizeof(ages) / sizeof(ages[0]); k++) {
		struct spot_outlook o;
		double stays = 1, sum = 0, away = 1;

		spot_look_ahead(&e, true, ages[k], NAN, 1, &o);
		for (double t = ages[k]; stays > 1e-9; t += 1 / 3600.0) {
			sum += stays / 3600;
			stays *= 1 - spot_evidence_hazard(&e, true, spot_age_of(t), NAN, 1, 0) / 3600;
		}
		for (double t = 0; t < 1; t += 1 / 3600.0)
			away *= 1 - spot_evidence_hazard(&e, false, spot_age_of(t), NAN, 1, 0) / 3600;
		tap_near(o.more_h, sum, 2e-3 * sum, "hours more at an age of %g h", ages[k]);
		tap_near(o.back_1h, 1 - away, 2e-3, "and the chance to be back in one");
		tap_is_long((long long)o.events, 14, "of 14 ends");
	}
}

int
main(void)
{
	test_learning();
	test_bands();
	test_clock();
	test_job();
	test_outlook();
	test_turn();
	return tap_done();
}
