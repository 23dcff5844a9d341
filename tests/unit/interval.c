/*
 * Checkpoint intervals by age against the least loss there is, found by a search over every plan of intervals: the loss of a
 * machine's life is its length less the work that was kept, and its length does not depend on the intervals.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/broker.h"
#include "broker/shell.h"
#include "plan/spot_job.h"
#include "tests/tap.h"
#include "util/fileio.h"

#define STEP 10			/* s of the grid; the times to write are multiples of it */
#define OLD 43200		/* s: from here on the hazard is that of the last age */
#define MOST fmax(7200, 60 * (double)job.spec.checkpoint_write_s)
#define CELLS (OLD / STEP + 1)

static struct broker broker;
static struct job job = { .spec = { .can_resume = true } };
static double hazard[SPOT_AGES];	/* an hour */
static double passed[CELLS];		/* hazard summed up to each age */
static double best[CELLS], ours[CELLS], life[CELLS];	/* work kept from here on, and time left, in s */

static int64_t
interval_at(double age_s, double rate)
{
	struct instance in = { .ready = 1000000000, .offer = { .provider = "aws", .instance_type = "p", .purchase = PURCHASE_SPOT,
		.interruption_rate = rate } };
	struct berth_err err;
	int64_t s = -1;

	broker.now = in.ready + (int64_t)age_s;
	return broker_interval(&broker, &job, &in, 1, &s, &err) == BERTH_OK ? s : -1;
}

/* Work kept by a machine that never ages further, with one interval for ever. */
static double
kept_old(double interval, double write)
{
	return interval / expm1(hazard[SPOT_AGES - 1] / 3600 * (interval + write));
}

/* Value at any age by the line between two cells; with the last hazard from OLD on. */
static double
value_at(const double *v, double age)
{
	size_t i = (size_t)(age / STEP);
	double part = age / STEP - (double)i;

	return age >= OLD ? v[CELLS - 1] : v[i] + part * (v[i + 1] - v[i]);
}

static double
hazard_passed(double age)
{
	return age >= OLD ? passed[CELLS - 1] + (age - OLD) * hazard[SPOT_AGES - 1] / 3600 : value_at(passed, age);
}

/* Kept from this age on: one interval and its write survive, or nothing of it is kept. */
static double
kept(const double *later, double age, double interval, double write)
{
	double end = age + interval + write;

	return exp(hazard_passed(age) - hazard_passed(end)) * (interval + value_at(later, end));
}

static void
solve(double write, double rate)
{
	double old = hazard[SPOT_AGES - 1] / 3600;

	passed[0] = best[CELLS - 1] = 0;
	for (size_t i = 1; i < CELLS; i++)
		passed[i] = passed[i - 1] + STEP * hazard[spot_age_of(((double)i - 0.5) * STEP / 3600)] / 3600;
	for (double t = 1; t <= 10 * MOST; t++)
		best[CELLS - 1] = fmax(best[CELLS - 1], kept_old(t, write));
	ours[CELLS - 1] = kept_old((double)interval_at(OLD, rate), write);
	life[CELLS - 1] = 1 / old;
	for (size_t i = CELLS - 1; i-- > 0; ) {
		double age = (double)i * STEP, h = passed[i + 1] - passed[i], on = exp(-h);

		life[i] = (1 - on) / h * STEP + on * life[i + 1];
		best[i] = 0;
		for (double t = STEP; t <= MOST; t += STEP)
			best[i] = fmax(best[i], kept(best, age, t, write));
		ours[i] = kept(ours, age, (double)interval_at(age, rate), write);
	}
}

/* Loss over the least loss, of a new machine, when every interval is the same. */
static double
fixed_loss(double interval, double write)
{
	static double v[CELLS];

	v[CELLS - 1] = kept_old(interval, write);
	for (size_t i = CELLS - 1; i-- > 0; )
		v[i] = kept(v, (double)i * STEP, interval, write);
	return (life[0] - v[0]) / (life[0] - best[0]);
}

static void
check(const char *what, double write, double rate, const struct spot_evidence *seen)
{
	static const double ages[] = { 0, 450, 900, 2000, 3600, 9000, 14400, 30000, 43200 };
	double worst = 0, alike = INFINITY;

	job.spec.checkpoint_write_s = (int64_t)write;
	for (size_t b = 0; b < SPOT_AGES; b++)
		hazard[b] = spot_evidence_hazard(seen, true, b, rate, 1, 0);
	solve(write, rate);
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		size_t c = (size_t)(ages[i] / STEP);
		double loss = (life[c] - ours[c]) / (life[c] - best[c]);

		tap_diag("age %g s: interval %lld s, loss %.1f s, least %.1f s", ages[i], (long long)interval_at(ages[i], rate),
		    life[c] - ours[c], life[c] - best[c]);
		worst = fmax(worst, loss);
	}
	tap_ok(worst >= 1 - 1e-3 && worst <= 1.0005, "%s, write %g s: at most %.4f of the least loss at any age", what, write, worst);
	for (double t = 60; t <= MOST; t *= 1.05)
		alike = fmin(alike, fixed_loss(t, write));
	tap_ok(fixed_loss((double)interval_at(0, rate) * 3, write) > 1.1 && fixed_loss((double)interval_at(OLD, rate) / 5, write) > 1.1,
	    "... of which intervals that are wrong fall short");
	tap_ok((life[0] - ours[0]) / (life[0] - best[0]) <= alike, "... and no worse than the best single interval (%.4f)", alike);
}

/* Of one age alone the interval itself is the optimum, to the second. */
static void
check_old(double write)
{
	int64_t s = interval_at(2 * OLD, NAN);
	double at = 0, most = 0;

	for (double t = 1; t <= 10 * MOST; t++) {
		if (kept_old(t, write) > most) {
			most = kept_old(t, write);
			at = t;
		}
	}
	tap_near((double)s, at, 1.5, "write %g s, old machine: every %lld s", write, (long long)s);
}

static void
check_read(struct arena *a, const char *dir, const char *name, int64_t want, const char *what)
{
	struct berth_err err = { 0 };
	char *text = NULL;
	size_t n = 0;

	tap_code(fileio_slurp(a, arena_printf(a, "%s/.berth/%s/%s", dir, job.id, name), 100, &text, &n, &err), BERTH_OK, &err);
	tap_is_long(text == NULL ? -1 : strtol(text, NULL, 10), want, "%s", what);
}

/* A job that runs is told once in its environment, and by its file as its machine ages. */
static void
check_told(void)
{
	int64_t young = interval_at(0, NAN), later = interval_at(20000, NAN);
	char dir[] = "/tmp/berth-interval.XXXXXX";
	struct prov_job pj = { .job_id = "j-told", .work_hours = 1, .checkpoint_interval_s = young,
		.command = "echo $BERTH_CHECKPOINT_INTERVAL >$HOME/.berth/j-told/env.new; "
		    "mv $HOME/.berth/j-told/env.new $HOME/.berth/j-told/env; exec sleep 60" };
	struct arena *a = arena_new();
	struct prov_run run;
	struct berth_err err;

	job.id = "j-told";
	if (mkdtemp(dir) == NULL || setenv("HOME", dir, 1) != 0)
		exit(1);
	tap_code(shell_start("localhost", &job, &pj, a, &run, &err), BERTH_OK, &err);
	check_read(a, dir, "interval", young, "its file tells the interval of a new machine");
	tap_code(shell_poll("localhost", &job, 0, later, false, a, &run, &err), BERTH_OK, &err);
	tap_ok(run.state == PROV_RUN_RUNNING, "it runs on");
	check_read(a, dir, "interval", later, "a poll later its file tells that of an older one");
	for (int i = 0; i < 1200 && access(arena_printf(a, "%s/.berth/j-told/env", dir), R_OK) != 0; i++)
		usleep(100000);
	check_read(a, dir, "env", young, "its environment is as it was at the start");
	tap_ok(later > young, "which is longer: what has been up for long is likely to stay");
	tap_code(shell_stop("localhost", &job, 0, a, &run, &err), BERTH_OK, &err);
	if (system(arena_printf(a, "rm -rf '%s'", dir)) != 0)
		tap_diag("%s stays", dir);
	arena_free(a);
}

int
main(void)
{
	static struct instance lives[40];
	struct spot_evidence seen = { 0 };

	broker.lives_read = true;
	broker.tick_arena = arena_new();
	for (int k = 0; k < 4; k++) {
		static const double writes[] = { 10, 60, 200, 1800 };

		check("nothing seen", writes[k], NAN, NULL);
		check_old(writes[k]);
	}
	check_told();
	check("a rate is published", 60, 0.1, NULL);
	check("a low rate is published", 1800, 0.01, NULL);
	for (size_t i = 0; i < 40; i++) {	/* a kind of machine that lives long, and is then taken */
		lives[i] = (struct instance){ .offer = { .provider = "aws", .instance_type = "p" }, .ready = 1, .end_reason = "preempted",
			.gone = 1 + (int64_t)(i % 4 == 0 ? 5400 : 20000 + 900 * i) };
		spot_evidence_add(&seen, true, (double)(lives[i].gone - 1) / 3600, true);
	}
	broker.lives = lives;
	broker.n_lives = 40;
	check("lives were seen", 60, NAN, &seen);
	tap_ok(interval_at(60, NAN) != interval_at(20000, NAN), "it is another at another age");
	tap_is_long(interval_at(-100, NAN), interval_at(0, NAN), "a clock that is behind the machine makes it new");
	tap_is_long(interval_at(-1e7, NAN), interval_at(0, NAN), "also by months");
	job.spec.checkpoint_interval_s = 777;
	tap_is_long(interval_at(60, NAN), 777, "the job's own goes first");
	job.spec.can_resume = false;
	tap_is_long(interval_at(60, NAN), 0, "none where it cannot resume");
	return tap_done();
}
