/*
 * bench/spot-speed - spot under a deadline: the table of a job of 48 h due in 60 h in ticks of 195 s, one decision, and
 * the omniscient program.  CPU time and bytes, each over what it may take; ends 1 if one takes more.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "plan/spot.h"
#include "util/arena.h"
#include "util/rng.h"

#define TICK_S 195
#define WORK 886	/* 48 h */
#define DEADLINE 1108	/* 60 h */
#define TABLE_S 0.3
#define TABLE_MB 120.0
#define DECISION_US 10.0
#define OMNISCIENT_MS 5.0
#define ASKED 1000000
#define BEST_OF 5

static const int changeover_s[] = { 195, 780, 2145 };

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int
tell(const char *what, int change_s, double took, double limit, const char *unit)
{
	printf("%-12s %8d s %10.4f %-4s %8g %8.3f%s\n", what, change_s, took, unit, limit, took / limit,
	    took > limit ? "  BROKEN" : "");
	return took > limit;
}

/* Each state once in a while, so that no decision is the one before. */
static double
decide_us(const struct spot_table *table, int changeover)
{
	struct rng r;
	double from;
	volatile int sum = 0;

	rng_seed(&r, 3);
	from = now_s();
	for (int k = 0; k < ASKED; k++) {
		uint64_t x = rng_below(&r, UINT64_C(1) << 40);
		int work = 1 + (int)(x % WORK);
		struct spot_now n = { .work = work, .left = work + (int)(x / 1024 % (DEADLINE - WORK)),
			.mode = (enum spot_mode)(x / 7 % 3),
			.changeover_left = (int)(x / 64 % (unsigned)(changeover + 1)), .up = x % 2 == 0, .age = (int)(x / 16 % 300),
			.stood = (int)(x / 32 % 300), .stand = x % 5 == 0 ? changeover : 0 };

		sum += (int)spot_rule(table, &n);
	}
	return (now_s() - from) * 1e6 / ASKED;
}

/* Over a zone whose runs up and down take an hour and a half in the mean. */
static double
omniscient_ms(const struct spot_setting *s)
{
	static uint8_t up[DEADLINE];
	static int32_t age[DEADLINE];
	struct spot_zone z = { up, age, DEADLINE };
	struct arena *a = arena_new();
	struct rng r;
	double from;

	rng_seed(&r, 4);
	for (int t = 0, is = 1; t < DEADLINE; is = !is)
		for (uint64_t k = 1 + rng_below(&r, 56); k > 0 && t < DEADLINE; k--)
			up[t++] = (uint8_t)is;
	spot_ages(up, DEADLINE, age);
	from = now_s();
	for (int k = 0; k < BEST_OF; k++) {
		spot_omniscient(&z, 1, 0, s, a);
		arena_reset(a);
	}
	from = (now_s() - from) * 1e3 / BEST_OF;
	arena_free(a);
	return from;
}

int
main(void)
{
	int bad = 0;

	printf("%-12s %10s %15s %8s %8s\n", "WHAT", "CHANGEOVER", "TOOK", "LIMIT", "RATIO");
	for (size_t c = 0; c < sizeof(changeover_s) / sizeof(changeover_s[0]); c++) {
		struct spot_setting s = { WORK, DEADLINE, changeover_s[c] / TICK_S, 0.3 };
		struct arena *a = arena_new();
		struct spot_hazard up, down;
		struct spot_table *table;
		struct berth_err err;
		double best = INFINITY;

		spot_chances(NULL, true, TICK_S, NAN, 1, 1, &up);
		spot_chances(NULL, false, TICK_S, NAN, 1, 1, &down);
		for (int k = 0; k < BEST_OF; k++) {
			double from = now_s();

			arena_reset(a);
			if (spot_table_solve(&s, &up, &down, a, &table, &err) != BERTH_OK) {
				fprintf(stderr, "%s\n", err.msg);
				return 1;
			}
			best = fmin(best, now_s() - from);
		}
		bad |= tell("table", changeover_s[c], best, TABLE_S, "s");
		bad |= tell("table", changeover_s[c], (double)spot_table_bytes(table) / 1e6, TABLE_MB, "MB");
		bad |= tell("decision", changeover_s[c], decide_us(table, s.changeover), DECISION_US, "us");
		bad |= tell("omniscient", changeover_s[c], omniscient_ms(&s), OMNISCIENT_MS, "ms");
		arena_free(a);
	}
	return bad;
}
