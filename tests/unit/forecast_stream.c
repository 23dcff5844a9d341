/* Results handed out one by one: the same as together, and in bounded memory. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "forecast/forecast.h"
#include "forecast/tree.h"
#include "util/rng.h"
#include "tests/tap.h"

enum { N = 24, HOURS = 300, HORIZON = 168, PATHS = 4000, FEW = 100 };

static double values[N][HOURS];
static char names[N][8];
static struct fc_series set[N];

static void
make(void)
{
	struct rng r;

	rng_seed(&r, 5);
	for (size_t k = 0; k < N; k++) {
		(void)snprintf(names[k], sizeof(names[k]), "s%02zu", N - k);
		for (size_t t = 0; t < HOURS; t++)
			values[k][t] = 40 + 10 * (double)k * (double)(t / 60 % 2) + 20 * rng_unit(&r);
		set[k] = (struct fc_series){ names[k], 1704067200, 3600, HOURS, values[k], NULL };
	}
	set[3].n = 30;
	set[3].mean = values[3] + HOURS - 30;
	set[3].t0 += (HOURS - 30) * 3600;
}

struct taker {
	const struct fc_result *want;	/* [N]; NULL: none */
	const size_t *order;		/* in which they are to come */
	size_t taken, wrong, stop;
};

static bool
same(const struct fc_result *x, const struct fc_result *y)
{
	return memcmp(x->mean, y->mean, x->horizon * sizeof(double)) == 0 &&
	    memcmp(x->q, y->q, x->horizon * FC_LEVEL_COUNT * sizeof(double)) == 0 &&
	    memcmp(x->paths, y->paths, x->n_paths * x->horizon * sizeof(double)) == 0 &&
	    memcmp(x->peak, y->peak, sizeof(x->peak)) == 0 && x->n_warnings == y->n_warnings;
}

static enum berth_code
take(void *arg, size_t i, struct fc_result *r, struct arena *a, struct berth_err *err)
{
	struct taker *t = arg;

	(void)a;
	if (i != (t->order != NULL ? t->order[t->taken] : t->taken) || strcmp(r->name, names[i]) != 0 ||
	    (t->want != NULL && !same(r, &t->want[i])))
		t->wrong++;
	t->taken++;
	return t->taken == t->stop ? err_set(err, BERTH_EIO, "enough") : BERTH_OK;
}

static void
check_same(unsigned threads)
{
	static struct fc_result want[N];
	static const size_t back[] = { 20, 3, 4, 19 };
	struct arena *a = arena_new();
	struct taker t = { .want = want };
	struct berth_err err = { 0 };
	struct fc_options o;
	struct fc_run *r;

	fc_options_init(&o);
	o.horizon = HORIZON;
	o.n_paths = FEW;
	tap_code(fc_run_many(set, N, &o, a, want, &err), BERTH_OK, &err);
	o.threads = threads;
	tap_code(fc_run_open(set, N, &o, &r, &err), BERTH_OK, &err);
	tap_code(fc_run_each(r, NULL, N, false, take, &t, &err), BERTH_OK, &err);
	tap_ok(t.taken == N && t.wrong == 0, "%u threads: all in order, the same as together (%zu differ)", threads, t.wrong);
	t = (struct taker){ .want = want, .order = back };
	tap_code(fc_run_each(r, back, 4, false, take, &t, &err), BERTH_OK, &err);
	tap_ok(t.taken == 4 && t.wrong == 0, "some of them again, in the order asked for (%zu differ)", t.wrong);
	t = (struct taker){ .want = want, .stop = 5 };
	tap_code(fc_run_each(r, NULL, N, true, take, &t, &err), BERTH_EIO, &err);
	tap_ok(t.taken == 5, "the first error ends it");
	fc_run_close(r);
	arena_free(a);
}

static long
peak_kib(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Paths of 5.4 MB a series, 129 MB in all. */
static void
check_memory(unsigned threads)
{
	struct taker t = { .want = NULL };
	struct berth_err err = { 0 };
	struct fc_options o;
	struct fc_run *r;
	long before = peak_kib();

	fc_options_init(&o);
	o.horizon = HORIZON;
	o.n_paths = PATHS;
	o.threads = threads;
	tap_code(fc_run_open(set, N, &o, &r, &err), BERTH_OK, &err);
	tap_code(fc_run_each(r, NULL, N, true, take, &t, &err), BERTH_OK, &err);
	fc_run_close(r);
	tap_ok(peak_kib() - before < 65536, "%u threads: %ld KiB more for %d series", threads, peak_kib() - before, N);
}

int
main(void)
{
	make();
	check_same(1);
	check_same(3);
#ifndef BERTH_SANITIZED		/* which keep what was freed for a while */
	check_memory(1);
	check_memory(2);
#else
	(void)check_memory;
#endif
	return tap_done();
}
