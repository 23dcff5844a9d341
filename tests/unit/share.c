/* Fair shares: figures worked by hand, and a queue that runs for a long time. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "plan/share.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define OWNERS 4
#define MACHINES 64
#define QUEUE 48

/* Sums of minutes, each with its own weight: another way than the closed form. */
static double
faded_by_minutes(int64_t from, int64_t to, int64_t now, double half_s)
{
	double sum = 0;

	for (int64_t t = from; t < to && t < now; t += 60)
		sum += pow(0.5, (double)(now - t - 30) / half_s) / 60;
	return sum;
}

static void
test_faded(void)
{
	int64_t now = 1000000 * INT64_C(60), h = 3600, day = 24 * h;

	tap_near(share_faded_hours(now - 7 * day, now, now, INFINITY), 168, 1e-9, "what never fades is plain hours");
	/* h/ln 2 * (1 - 1/2) with h = 168 hours */
	tap_near(share_faded_hours(now - 7 * day, now, now, 7 * 86400.0), 84 / log(2), 1e-9, "one half-life until now");
	tap_near(share_faded_hours(now - 14 * day, now - 7 * day, now, 7 * 86400.0), 42 / log(2), 1e-9, "the half-life before it counts half");
	tap_near(share_faded_hours(now - 3 * day, now - 2 * day, now, 86400.0), faded_by_minutes(now - 3 * day, now - 2 * day, now, 86400),
	    1e-5, "as the sum of minutes");
	tap_near(share_faded_hours(now - h, now + h, now, 86400.0), faded_by_minutes(now - h, now, now, 86400), 1e-5, "what lies ahead is left out");
	tap_near(share_faded_hours(now + h, now + 2 * h, now, 86400.0), 0, 0, "all of it ahead is nothing");
	tap_near(share_faded_hours(now - h, now - 2 * h, now, 86400.0), 0, 0, "an end before the start is nothing");
	tap_near(share_faded_hours(now - 2 * h, now - h, now, 1e-3), 0, 1e-300, "a half-life of a millisecond forgets it");
	tap_near(share_faded_hours(now - 2, now - 1, now, 1e15), 1 / 3600.0, 1e-9, "a second counts under a half-life of an age");
}

struct room { int64_t left; const int64_t *need; };

static bool
room_admits(void *arg, size_t job)
{
	struct room *r = arg;

	if (r->need[job] > r->left)
		return false;
	r->left -= r->need[job];
	return true;
}

static const char *
order_text(const struct share_rank *r, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		out[r[i].rank] = (char)('a' + (int)i);
	out[n] = '\0';
	return out;
}

static void
test_order(struct arena *a)
{
	struct share_owner two[] = { { "alice", 2, 0, 0, 0, 0 }, { "bob", 1, 0, 0, 0, 0 } }, used[] = { { "alice", 1, 40, 0, 0, 0 }, { "bob", 1, 5, 3, 0, 0 } };
	struct share_owner none[] = { { "alice", 0, 0, 0, 0, 0 }, { "bob", 1, 1e9, 0, 0, 0 }, { "carol", 0, 5, 0, 0, 0 } };
	struct share_job jobs[] = { { 0, 0, 4, false }, { 0, 0, 4, false }, { 0, 0, 4, false }, { 0, 0, 4, false }, { 1, 0, 4, false },
		{ 1, 0, 4, false } };
	struct share_job turns[] = { { 2, 0, 4, false }, { 0, 0, 4, false }, { 1, 0, 4, false } };
	const int64_t need[] = { 9, 2, 2, 2, 2, 2 };
	struct room room = { 8, need };
	struct share_rank r[6];
	char text[8];

	/* levels before each: alice 0, bob 0, alice 2 (4/2), alice 4 before bob 4 by the queue, then bob, then alice */
	share_order(two, 2, jobs, 6, NULL, NULL, a, r);
	tap_is_str(order_text(r, 6, text), "aebcfd", "twice the weight, twice the turns");
	share_order(used, 2, jobs, 6, NULL, NULL, a, r);
	tap_is_str(order_text(r, 6, text), "efabcd", "who has used less goes first until the levels meet");
	tap_near(r[5].counted, 12, 1e-12, "bob's second job finds 5 used, 3 to come and 4 of the first");
	jobs[2].priority = 5;
	jobs[1].urgent = true;
	share_order(used, 2, jobs, 6, NULL, NULL, a, r);
	tap_is_str(order_text(r, 6, text), "cbefad", "priority goes before urgency, urgency before shares");
	jobs[2].priority = INT32_MIN;
	jobs[3].priority = INT32_MAX;
	jobs[1].urgent = false;
	share_order(two, 2, jobs, 6, NULL, NULL, a, r);
	/* d adds 4: alice stands at 2, bob at 0; e, a (4/2), then both at 4: the queue */
	tap_is_str(order_text(r, 6, text), "deabfc", "the farthest priorities of all");
	share_order(none, 3, turns, 3, NULL, NULL, a, r);
	tap_is_str(order_text(r, 3, text), "cba", "weight 0 goes last, there by usage alone");
	jobs[2].priority = jobs[3].priority = 0;
	share_order(two, 2, jobs, 6, room_admits, &room, a, r);
	tap_ok(!r[0].in && r[1].in && r[4].in, "what does not fit is passed over");
	tap_near(r[1].counted, 0, 0, "and adds nothing to its owner's");
	tap_is_long(room.left, 0, "the others take the room");
	share_order(two, 2, jobs, 0, NULL, NULL, a, r);
	tap_ok(1, "no jobs are no order");
}

/* One machine for ever, and four users of three projects who always want it: an hour goes to whose turn it is. */
static void
test_groups(struct arena *a)
{
	struct share_owner groups[] = { { .name = "vision", .weight = 3 }, { .name = "nlp", .weight = 1 }, { .name = "none", .weight = 0 } };
	struct share_owner users[] = { { .name = "vision/ann", .weight = 2 }, { .name = "vision/bob", .weight = 1 },
		{ .name = "nlp/ann", .weight = 0.001, .group = 1 }, { .name = "none/cid", .weight = 9, .group = 2 } };
	const struct share_job jobs[] = { { 3, 0, 1, false }, { 2, 0, 1, false }, { 1, 0, 1, false }, { 0, 0, 1, false } };
	const double want[] = { 0.5, 0.25, 0.25, 0 };
	const int64_t need[] = { 1, 1, 1, 1 };
	struct share_rank r[4];

	for (int hour = 0; hour < 4000; hour++) {
		struct room room = { 1, need };

		share_order_in(groups, 3, users, 4, jobs, 4, room_admits, &room, a, r);
		for (size_t i = 0; i < 4; i++)
			if (r[i].in) {
				users[jobs[i].owner].used++;
				groups[users[jobs[i].owner].group].used++;
			}
	}
	for (size_t o = 0; o < 4; o++)
		tap_near(users[o].used / 4000, want[o], 0.002, "%s has its part of its project's", users[o].name);
	tap_ok(r[0].rank == 3 && r[0].group_counted == 0, "a project of weight 0 goes last");
}

/* A cluster that is always wanted more than it has: jobs of random sizes and lengths, each hour filled by turns. */
struct world {
	struct share_owner owners[OWNERS];
	double got[OWNERS];		/* GPU-hours since the start */
	int64_t ends[MACHINES * 4];	/* hours; of running jobs */
	int64_t need[MACHINES * 4];
	size_t owner[MACHINES * 4], n;
};

static void
world_hour(struct world *w, struct rng *rng, int64_t hour, double half_h, struct arena *a)
{
	struct share_job jobs[QUEUE];
	struct share_rank ranks[QUEUE];
	int64_t need[QUEUE], hours[QUEUE];
	struct room room = { MACHINES, need };
	size_t k = 0;

	for (size_t o = 0; o < OWNERS; o++) {
		w->owners[o].used *= pow(0.5, 1 / half_h);
		w->owners[o].coming = 0;
	}
	for (size_t i = 0; i < w->n; i++) {
		w->owners[w->owner[i]].used += (double)w->need[i];
		w->got[w->owner[i]] += (double)w->need[i];
		if (w->ends[i] <= hour)
			continue;
		w->ends[k] = w->ends[i];
		w->need[k] = w->need[i];
		w->owner[k] = w->owner[i];
		w->owners[w->owner[i]].coming += (double)(w->need[i] * (w->ends[i] - hour));
		room.left -= w->need[i];
		k++;
	}
	w->n = k;
	for (size_t i = 0; i < QUEUE; i++) {
		size_t o = i % OWNERS;

		/* the owners want different things: the first many small and short ones, the last few large and long ones */
		need[i] = 1 + (int64_t)(rng_unit(rng) * (double)(2 * o + 1));
		hours[i] = 1 + (int64_t)(rng_unit(rng) * (double)(3 * o + 2));
		jobs[i] = (struct share_job){ o, 0, (double)(need[i] * hours[i]), false };
	}
	share_order(w->owners, OWNERS, jobs, QUEUE, room_admits, &room, a, ranks);
	for (size_t i = 0; i < QUEUE; i++)
		if (ranks[i].in) {
			w->ends[w->n] = hour + hours[i];
			w->need[w->n] = need[i];
			w->owner[w->n++] = i % OWNERS;
		}
}

static void
test_long_run(const double *weights, double half_h, uint64_t seed)
{
	struct world w = { .n = 0 };
	double sum = 0, all = 0, off = 0;
	struct arena *a = arena_new();
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t o = 0; o < OWNERS; o++) {
		w.owners[o] = (struct share_owner){ "", weights[o], 0, 0, 0, 0 };
		sum += weights[o];
	}
	for (int64_t hour = 0; hour < 24 * 90; hour++) {
		world_hour(&w, &rng, hour, half_h, a);
		arena_reset(a);
	}
	for (size_t o = 0; o < OWNERS; o++)
		all += w.got[o];
	for (size_t o = 0; o < OWNERS; o++)
		off = fmax(off, fabs(w.got[o] / all - weights[o] / sum) / (weights[o] / sum));
	tap_ok(off < 0.03, "weights %g %g %g %g, half-life %g h: GPU-hours within %.2f %% of the shares (seed %llu)", weights[0],
	    weights[1], weights[2], weights[3], half_h, 100 * off, (unsigned long long)seed);
	tap_ok(all > 0.95 * MACHINES * 24 * 90, "the machines are busy: %.1f %%", 100 * all / (MACHINES * 24 * 90));
	arena_free(a);
}

int
main(void)
{
	static const double equal[] = { 1, 1, 1, 1 }, steps[] = { 1, 2, 3, 4 }, parts[] = { 0.25, 0.5, 0.125, 0.125 };
	struct arena *a = arena_new();

	test_faded();
	test_order(a);
	test_groups(a);
	for (uint64_t seed = 1; seed <= 3; seed++) {
		test_long_run(equal, 168, seed);
		test_long_run(steps, 168, seed);
		test_long_run(parts, 24, seed);
	}
	arena_free(a);
	return tap_done();
}
