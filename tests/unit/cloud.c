/* tests/unit/cloud.c - the replayed cloud: capacity, notices, tokens, luck and work. -s SEED repeats a run. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/prov.h"
#include "providers/replay/cloud.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"
#include "util/str.h"

#define T0 INT64_C(1795996800)
#define HOURS 20
#define WORLDS 60

static struct arena *a;

/* Capacity that jumps at random minutes, as two arrays of the arena. */
static struct curve
random_curve(struct rng *r, int max, int64_t repeat_s)
{
	size_t n = 2 + (size_t)rng_below(r, 30);
	int64_t *at = arena_array(a, n, sizeof(*at));
	double *v = arena_array(a, n, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		at[i] = i == 0 ? 0 : at[i - 1] + 1 + (int64_t)rng_below(r, 3600);
		v[i] = (double)rng_below(r, (uint64_t)max + 1);
	}
	return (struct curve){ T0, repeat_s > at[n - 1] ? repeat_s : 0, n, at, v };
}

static struct trace_pool
random_pool(struct rng *r, const char *zone)
{
	struct trace_pool p = {
		.provider = "acme", .region = "eu", .zone = zone, .instance_type = "t", .accelerator = "T4",
		.accelerator_count = 4, .accelerator_memory_gib = 16, .vcpus = NAN, .memory_gib = NAN, .startup_min_s = 60,
		.startup_max_s = 300, .slow_share = 0.3, .slow_factor = 0.7, .broken_share = 0.1, .jitter = 0.01,
	};

	p.market[PURCHASE_SPOT] = (struct trace_market){ .sold = true, .notice_s = (int64_t)rng_below(r, 300),
		.hazard = rng_unit(r) < 0.5 ? 0 : rng_unit(r), .interruption_rate = NAN, .shown = true };
	p.market[PURCHASE_SPOT].capacity = random_curve(r, 6, 40000);
	p.market[PURCHASE_ON_DEMAND] = (struct trace_market){ .sold = true, .interruption_rate = NAN };
	p.market[PURCHASE_ON_DEMAND].capacity = random_curve(r, 3, 0);
	return p;
}

static struct trace
random_trace(struct rng *r)
{
	struct trace t = { .source = "random", .start = T0, .n_pools = 2 };

	t.pools = arena_array(a, 2, sizeof(*t.pools));
	t.pools[0] = random_pool(r, "a");
	t.pools[1] = random_pool(r, "b");
	return t;
}

struct action { int64_t t; int kind; enum purchase purchase; size_t pool, victim; };	/* kind 0 create, 1 destroy */

static struct action *
random_actions(struct rng *r, size_t n)
{
	struct action *v = arena_array(a, n, sizeof(*v));
	int64_t t = T0;

	for (size_t i = 0; i < n; i++) {
		t += (int64_t)rng_below(r, HOURS * 7200 / n);
		v[i] = (struct action){ t, rng_unit(r) < 0.7 ? 0 : 1, rng_unit(r) < 0.7 ? PURCHASE_SPOT : PURCHASE_ON_DEMAND,
			(size_t)rng_below(r, 2), (size_t)rng_below(r, 1000) };
	}
	return v;
}

static enum cloud_answer
create(struct cloud *c, const char *token, const char *zone, enum purchase purchase, size_t *i)
{
	struct cloud_create w = { token, "inst-1", "acme", "eu", zone, "t", purchase };

	return cloud_create(c, &w, i);
}

/* Plays the actions; step_s > 0 also moves the clock in between. */
static void
play(struct cloud *c, const struct trace *t, uint64_t seed, const struct action *v, size_t n, int64_t step_s)
{
	*c = (struct cloud){ .trace = t, .seed = seed, .arena = a, .next = 1 };
	for (size_t i = 0; i < n; i++) {
		size_t m;

		for (int64_t x = c->clock; step_s > 0 && x != 0 && x < v[i].t; x += step_s)
			cloud_advance(c, x);
		cloud_advance(c, v[i].t);
		if (v[i].kind == 0)
			(void)!create(c, arena_printf(a, "tok-%zu", i), v[i].pool == 0 ? "a" : "b", v[i].purchase, &m);
		else if (c->machines.n > 0)
			cloud_destroy(c, v[i].victim % c->machines.n);
	}
	cloud_advance(c, T0 + HOURS * 3600);
}

static int64_t
end_of(const struct cloud *c, const struct cloud_machine *m)
{
	int64_t end = cloud_ended(c, m, NULL);

	return end != 0 ? end : INT64_MAX;
}

/* Counted minute by minute from the outside: what each machine's own dates say. */
static bool
never_over_capacity(const struct cloud *c)
{
	for (size_t p = 0; p < 2; p++)
		for (int64_t t = T0; t <= c->clock; t += 30) {
			double cap = curve_at(&c->trace->pools[p].market[PURCHASE_SPOT].capacity, t);
			int up = 0;

			for (size_t i = 0; i < c->machines.n; i++) {
				const struct cloud_machine *m = &c->machines.v[i];

				up += m->pool == p && m->purchase == PURCHASE_SPOT && m->created <= t && t < end_of(c, m);
			}
			if (up > cap)
				return false;
		}
	return true;
}

static bool
notices_are_fair(const struct cloud *c)
{
	for (size_t i = 0; i < c->machines.n; i++) {
		struct prov_machine m;
		int64_t notice;

		cloud_describe(c, &c->machines.v[i], &m);
		notice = c->trace->pools[c->machines.v[i].pool].market[PURCHASE_SPOT].notice_s;
		if (m.preempted && (m.purchase != PURCHASE_SPOT || m.notice_at == 0 ||
		    (m.reclaim_at - m.notice_at < notice && m.notice_at != m.created) || m.ended != m.reclaim_at))
			return false;
	}
	return true;
}

static bool
same_worlds(const struct cloud *x, const struct cloud *y)
{
	if (x->machines.n != y->machines.n)
		return false;
	for (size_t i = 0; i < x->machines.n; i++) {
		struct prov_machine p, q;

		cloud_describe(x, &x->machines.v[i], &p);
		cloud_describe(y, &y->machines.v[i], &q);
		if (memcmp(&p, &q, sizeof(p)) != 0)
			return false;
	}
	return true;
}

static void
test_worlds(uint64_t seed)
{
	int over = 0, unfair = 0, differ = 0, preempted = 0, made = 0;

	for (uint64_t w = 0; w < WORLDS; w++) {
		struct trace t;
		struct action *v;
		struct cloud one, two;
		struct rng r;

		rng_seed_stream(&r, seed, w);
		t = random_trace(&r);
		v = random_actions(&r, 80);
		play(&one, &t, w, v, 80, 0);
		play(&two, &t, w, v, 80, 97);
		over += !never_over_capacity(&one);
		unfair += !notices_are_fair(&one);
		differ += !same_worlds(&one, &two);
		made += (int)one.machines.n;
		for (size_t i = 0; i < one.machines.n; i++) {
			bool p;

			(void)!cloud_ended(&one, &one.machines.v[i], &p);
			preempted += p;
		}
	}
	tap_ok(over == 0, "spot machines never exceed the capacity of their pool (%d worlds of %d do)", over, WORLDS);
	tap_ok(unfair == 0, "every preemption had its notice");
	tap_ok(differ == 0, "one step or many: the same world (%d differ)", differ);
	tap_ok(made > 300 && preempted > 30, "and there was something to see: %d machines, %d preempted", made, preempted);
}

static struct trace
fixed_trace(const int64_t *at, const double *v, size_t n)
{
	struct trace t = { .source = "fixed", .start = T0, .n_pools = 1 };

	t.pools = arena_alloc(a, sizeof(*t.pools));
	t.pools[0] = (struct trace_pool){ .provider = "acme", .region = "eu", .zone = "a", .instance_type = "t",
		.accelerator = "T4", .accelerator_count = 4, .startup_min_s = 120, .startup_max_s = 120, .slow_factor = 1 };
	t.pools[0].market[PURCHASE_SPOT] = (struct trace_market){ .sold = true, .notice_s = 120, .interruption_rate = NAN,
		.capacity = { T0, 0, n, at, v } };
	t.pools[0].market[PURCHASE_ON_DEMAND] = (struct trace_market){ .sold = true, .interruption_rate = NAN };
	return t;
}

static void
test_tokens(void)
{
	struct trace t = fixed_trace((int64_t[]){ 0 }, (double[]){ 2 }, 1);
	struct cloud c = { .trace = &t, .seed = 1, .arena = a, .next = 1 };
	struct trace_quota q = { "*", "*", "T4", PURCHASE_ON_DEMAND, 8 };
	size_t x = 9, y = 9;

	t.quotas = &q;
	t.n_quotas = 1;
	cloud_advance(&c, T0);
	tap_ok(create(&c, "k1", "a", PURCHASE_SPOT, &x) == CLOUD_MADE, "made");
	tap_ok(create(&c, "k1", "a", PURCHASE_SPOT, &y) == CLOUD_SAME && x == y, "the same token is the same machine");
	tap_ok(create(&c, "k1", "a", PURCHASE_ON_DEMAND, &y) == CLOUD_MISMATCH, "with another wish it is a mismatch");
	tap_ok(create(&c, "k2", "a", PURCHASE_SPOT, &y) == CLOUD_MADE, "a second");
	tap_ok(create(&c, "k3", "a", PURCHASE_SPOT, &y) == CLOUD_NO_CAPACITY, "no third: capacity is 2");
	tap_ok(create(&c, "k4", "z", PURCHASE_SPOT, &y) == CLOUD_NO_POOL, "another zone is not sold");
	tap_ok(create(&c, "k5", "a", PURCHASE_ON_DEMAND, &y) == CLOUD_MADE &&
	    create(&c, "k6", "a", PURCHASE_ON_DEMAND, &y) == CLOUD_MADE, "two on demand");
	tap_ok(create(&c, "k7", "a", PURCHASE_ON_DEMAND, &y) == CLOUD_QUOTA, "the third would be 12 of 8 accelerators");
	cloud_destroy(&c, x);
	tap_ok(create(&c, "k3", "a", PURCHASE_SPOT, &y) == CLOUD_MADE, "what was given back is free; a refused token was not used");
	tap_ok(create(&c, "k1", "a", PURCHASE_SPOT, &y) == CLOUD_SAME && cloud_ended(&c, &c.machines.v[y], NULL) != 0,
	    "the token of a machine that is gone makes no new one");
}

static void
test_youngest(void)
{
	struct trace t = fixed_trace((int64_t[]){ 0, 3600, 7200 }, (double[]){ 3, 1, 3 }, 3);
	struct cloud c = { .trace = &t, .seed = 1, .arena = a, .next = 1 };
	struct prov_machine m;
	size_t i;

	for (int64_t k = 0; k < 3; k++) {
		cloud_advance(&c, T0 + k * 100);
		(void)!create(&c, arena_printf(a, "y%lld", (long long)k), "a", PURCHASE_SPOT, &i);
	}
	cloud_advance(&c, T0 + 3479);
	cloud_describe(&c, &c.machines.v[2], &m);
	tap_ok(m.state == PROV_READY && m.notice_at == 0, "before its time nothing tells of the fall");
	cloud_advance(&c, T0 + 3480);
	for (size_t k = 0; k < 3; k++) {
		cloud_describe(&c, &c.machines.v[k], &m);
		tap_ok(m.state == (k == 0 ? PROV_READY : PROV_NOTICED) && (k == 0 || m.reclaim_at == T0 + 3600),
		    "machine %zu is %s", k, prov_state_name(m.state));
	}
	cloud_advance(&c, T0 + 3600);
	cloud_describe(&c, &c.machines.v[2], &m);
	tap_ok(m.state == PROV_GONE && m.preempted && m.ended == T0 + 3600, "and at the fall it is gone");
	tap_is_long(cloud_room(&c, 0, PURCHASE_SPOT), 0, "no room now");
	cloud_advance(&c, T0 + 7200);
	tap_is_long(cloud_room(&c, 0, PURCHASE_SPOT), 2, "room for two later");
	tap_ok(create(&c, "late", "a", PURCHASE_SPOT, &i) == CLOUD_MADE, "made again");
	cloud_advance(&c, T0 + 3600 + CLOUD_KEEP_S);
	tap_is_long((long long)c.machines.n, 2, "what ended a day ago is forgotten");
}

/* Second by second: work for interval_s, write for write_s; safe is what lay before a finished write. */
static void
oracle(const struct cloud_job *j, double speed, int64_t elapsed, double *done, double *safe)
{
	double whole = j->work_hours * 3600 / speed, left = whole * (1 - j->progress), work = 0;
	int64_t since = 0, writing = 0;

	*safe = j->progress;
	for (int64_t s = 0; s < elapsed && work < left; s++) {
		if (writing > 0) {
			if (--writing == 0)
				*safe = j->progress + work / whole;
			continue;
		}
		work += 1;
		if (j->interval_s > 0 && ++since == j->interval_s) {
			since = 0;
			writing = j->write_s;
			if (writing == 0)
				*safe = j->progress + work / whole;
		}
	}
	*done = work >= left ? 1 : j->progress + work / whole;
	if (*done >= 1)
		*safe = 1;
}

static void
test_work(uint64_t seed)
{
	struct trace t = fixed_trace((int64_t[]){ 0 }, (double[]){ 1000 }, 1);
	int wrong = 0, finished = 0;
	struct rng r;

	rng_seed(&r, seed);
	for (int k = 0; k < 400; k++) {
		struct cloud c = { .trace = &t, .seed = 1, .arena = a, .next = 1 };
		struct prov_job job = { .job_id = "j", .work_hours = 0.01 + rng_unit(&r), .progress = rng_unit(&r) * 0.9,
			.checkpoint_interval_s = (int64_t)rng_below(&r, 4) == 0 ? 0 : 1 + (int64_t)rng_below(&r, 900),
			.checkpoint_write_s = (int64_t)rng_below(&r, 60), .restart_s = (int64_t)rng_below(&r, 100) };
		int64_t elapsed = (int64_t)rng_below(&r, 6000), begin;
		double done, safe;
		struct prov_run run;
		size_t i = 0;

		cloud_advance(&c, T0);
		(void)!create(&c, "w", "a", PURCHASE_SPOT, &i);
		c.machines.v[i].speed = 0.5 + rng_unit(&r);
		(void)!cloud_job_start(&c, i, &job);
		begin = c.machines.v[i].ready_at + job.restart_s;
		cloud_advance(&c, begin + elapsed);
		cloud_job_state(&c, &c.machines.v[i], &run);
		oracle(&c.machines.v[i].job, c.machines.v[i].speed, elapsed, &done, &safe);
		finished += run.state == PROV_RUN_DONE;
		/* the last second of work is whole in the oracle: one second of slack */
		wrong += fabs(run.progress - done) > 1.01 * c.machines.v[i].speed / 3600 / job.work_hours ||
		    (done < 1 && run.state != PROV_RUN_DONE && fabs(run.safe_progress - safe) > 1e-9) ||
		    run.safe_progress > run.progress;
	}
	tap_ok(wrong == 0, "progress and what of it is safe, as counted second by second (%d of 400 differ)", wrong);
	tap_ok(finished > 40 && finished < 360, "%d of them finished", finished);
}

struct tell { int64_t at, interval_s; };	/* s behind the first second of work */

/* The same second by second, where the job looks after each write what it was last told; safe and done in seconds. */
static void
oracle_told(const struct cloud_job *j, int64_t first_s, const struct tell *tells, size_t n, int64_t elapsed, double *done,
    double *safe)
{
	int64_t interval = first_s, since = 0, writing = 0;

	*done = *safe = 0;
	for (int64_t s = 0; s < elapsed; s++) {
		if (since == 0 && writing == 0)
			for (size_t k = 0; k < n; k++)
				if (tells[k].at <= s)
					interval = tells[k].interval_s;
		if (writing == 0) {
			*done += 1;
			writing = ++since == interval ? j->write_s + 1 : 0;
			since = writing > 0 ? 0 : since;
		}
		if (writing > 0 && --writing == 0)
			*safe = *done;
	}
}

static void
test_told(uint64_t seed)
{
	struct trace t = fixed_trace((int64_t[]){ 0 }, (double[]){ 1000 }, 1);
	int wrong = 0, late = 0;
	struct rng r;

	rng_seed(&r, seed);
	for (int k = 0; k < 300; k++) {
		struct cloud c = { .trace = &t, .seed = 1, .arena = a, .next = 1 };
		struct prov_job job = { .job_id = "j", .work_hours = 10, .checkpoint_interval_s = 1 + (int64_t)rng_below(&r, 900),
			.checkpoint_write_s = (int64_t)rng_below(&r, 60) };
		int64_t begin, at = -100, elapsed;
		double done, safe, speed = 0.5 + rng_unit(&r);
		struct tell tells[12];
		struct prov_run run;
		size_t i = 0;

		cloud_advance(&c, T0);
		(void)!create(&c, "w", "a", PURCHASE_SPOT, &i);
		c.machines.v[i].speed = speed;
		(void)!cloud_job_start(&c, i, &job);
		begin = c.machines.v[i].ready_at;
		for (size_t n = 0; n < 12; n++) {
			tells[n] = (struct tell){ at += (int64_t)rng_below(&r, 700), 1 + (int64_t)rng_below(&r, 900) };
			cloud_advance(&c, begin + at);
			(void)!cloud_job_tell(&c, i, tells[n].interval_s);
		}
		elapsed = at + (int64_t)rng_below(&r, 2000);
		cloud_advance(&c, begin + elapsed);
		cloud_job_state(&c, &c.machines.v[i], &run);
		oracle_told(&c.machines.v[i].job, job.checkpoint_interval_s, tells, 12, elapsed, &done, &safe);
		wrong += fabs(run.progress * 36000 / speed - done) > 1e-6 || fabs(run.safe_progress * 36000 / speed - safe) > 1e-6;
		cloud_advance(&c, begin + 10000000);	/* at the last interval to the end */
		cloud_job_state(&c, &c.machines.v[i], &run);
		oracle_told(&c.machines.v[i].job, job.checkpoint_interval_s, tells, 12, run.ended - begin, &done, &safe);
		late += run.state != PROV_RUN_DONE || fabs(done - 36000 / speed) > 1;
	}
	tap_ok(wrong == 0, "told of new intervals it writes by them after its next write, as counted by seconds (%d of 300 differ)", wrong);
	tap_ok(late == 0, "and ends when its work is done (%d do not)", late);
}

static void
test_lost_and_stopped(void)
{
	struct trace t = fixed_trace((int64_t[]){ 0, 7200 }, (double[]){ 1, 0 }, 2);
	struct cloud c = { .trace = &t, .seed = 1, .arena = a, .next = 1 };
	struct prov_job job = { .job_id = "j", .work_hours = 10, .checkpoint_interval_s = 1000, .checkpoint_write_s = 0 };
	struct prov_run run;
	size_t i = 0;

	cloud_advance(&c, T0);
	(void)!create(&c, "w", "a", PURCHASE_SPOT, &i);
	tap_ok(cloud_job_start(&c, i, &job) && cloud_job_start(&c, i, &job), "starting twice is starting once");
	job.job_id = "other";
	tap_ok(!cloud_job_start(&c, i, &job), "no second job beside it");
	cloud_advance(&c, T0 + 60);
	cloud_job_state(&c, &c.machines.v[i], &run);
	tap_ok(run.state == PROV_RUN_WAITING && run.progress == 0, "it waits for its machine");
	cloud_advance(&c, T0 + 7080);
	cloud_job_state(&c, &c.machines.v[i], &run);
	tap_ok(run.state == PROV_RUN_RUNNING && run.notice_at == T0 + 7080 && run.reclaim_at == T0 + 7200, "it sees the notice");
	cloud_advance(&c, T0 + 9000);
	cloud_job_state(&c, &c.machines.v[i], &run);
	tap_ok(run.state == PROV_RUN_LOST && run.ended == T0 + 7200, "and is lost with the machine");
	tap_near(run.progress, (7200 - 120) / 36000.0, 1e-9, "how far it came");
	tap_near(run.safe_progress, 7000 / 36000.0, 1e-9, "seven checkpoints are safe");
	c.machines.v[i].job.stopped = T0 + 7100;
	cloud_job_state(&c, &c.machines.v[i], &run);
	tap_ok(run.state == PROV_RUN_STOPPED && run.safe_progress == run.progress, "stopped in time, all of it is safe");
	tap_near(run.progress, (7100 - 120) / 36000.0, 1e-9, "up to the stop");
}

static void
test_luck(void)
{
	struct trace t = fixed_trace((int64_t[]){ 0 }, (double[]){ 100000 }, 1);
	struct cloud c = { .trace = &t, .seed = 7, .arena = a, .next = 1 };
	int slow = 0, broken = 0, n = 4000;
	double sum = 0;
	size_t i;

	t.pools[0].slow_share = 0.25;
	t.pools[0].slow_factor = 0.5;
	t.pools[0].broken_share = 0.1;
	t.pools[0].jitter = 0.01;
	t.pools[0].market[PURCHASE_SPOT].hazard = 0.5;
	cloud_advance(&c, T0);
	for (int k = 0; k < n; k++) {
		(void)!create(&c, arena_printf(a, "l%d", k), "a", PURCHASE_SPOT, &i);
		broken += c.machines.v[i].broken;
		slow += c.machines.v[i].speed < 0.75 && !c.machines.v[i].broken;
		sum += (double)(c.machines.v[i].reclaim_at - T0) / 3600;
	}
	/* four deviations of a binomial and of a mean of exponentials */
	tap_near((double)broken / n, 0.10, 4 * sqrt(0.1 * 0.9 / n), "share of broken machines");
	tap_near((double)slow / n, 0.25, 4 * sqrt(0.25 * 0.75 / n), "share of slow machines");
	tap_near(sum / n, 2, 4 * 2 / sqrt(n), "mean life of a hazard of 0.5 an hour");
}

static void
test_curves(void)
{
	const int64_t at[] = { 0, 10, 25 };
	const double v[] = { 1, 2, 3 };
	struct curve c = { 100, 0, 3, at, v }, r = { 100, 40, 3, at, v };
	bool same = true;

	tap_ok(curve_at(&c, -5) == 1 && curve_at(&c, 110) == 2 && curve_at(&c, 124) == 2 && curve_at(&c, 9999) == 3, "steps");
	tap_ok(curve_next(&c, 0) == 100 && curve_next(&c, 100) == 110 && curve_next(&c, 125) == CURVE_NEVER, "next step");
	for (int64_t t = -500; t < 500; t++) {
		int64_t x = ((t - 100) % 40 + 40) % 40;

		same &= curve_at(&r, t) == (x < 10 ? 1 : x < 25 ? 2 : 3);
	}
	tap_ok(same, "a repeated curve is periodic both ways");
	for (int64_t t = -500; t < 500; t++)
		for (int64_t u = t + 1; u < curve_next(&r, t); u++)
			same &= curve_at(&r, u) == curve_at(&r, t);
	tap_ok(same, "nothing changes before the next step");
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc == 3 && strcmp(argv[1], "-s") == 0 ? strtoull(argv[2], NULL, 10) : 20261130;

	tap_diag("seed %llu", (unsigned long long)seed);
	a = arena_new();
	test_curves();
	test_worlds(seed);
	test_tokens();
	test_youngest();
	test_work(seed);
	test_told(seed);
	test_lost_and_stopped();
	test_luck();
	arena_free(a);
	return tap_done();
}
