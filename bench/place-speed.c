/*
 * bench/place-speed - placements of made-up queues: first plan, plan and bound after some seconds,
 * and CBC on the same problem where it is small.  Prints gaps and a ratio.  usage: place-speed
 * [JOBS OFFERS SEED TIGHTNESS SECONDS | replan | worlds JOBS OFFERS SEEDS SECONDS [KIND]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/place_world.h"
#include "plan/place.h"
#include "util/arena.h"
#include "util/rng.h"

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct clock { double end; };

static bool
late(void *arg)
{
	return now_s() > ((struct clock *)arg)->end;
}

/* The problem as CBC reads it. */
static void
write_lp(const struct place_problem *p, FILE *f)
{
	fprintf(f, "Minimize\n c: 0 zero");
	for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++)
		fprintf(f, "\n + %.10g x%zu", p->cost[k], k);
	for (size_t i = 0; i < p->n_jobs; i++)
		fprintf(f, "\n + %.10g u%zu", p->penalty[i], i);
	fprintf(f, "\nSubject To\n");
	for (size_t i = 0; i < p->n_jobs; i++) {
		fprintf(f, " a%zu: u%zu", i, i);
		for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++)
			fprintf(f, "\n + x%zu", k);
		fprintf(f, " = 1\n");
	}
	for (size_t r = 0; r < p->n_resources; r++) {
		fprintf(f, " r%zu: 0 zero", r);
		for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++) {
			for (size_t u = p->use_start[p->offer[k]];
			     u < p->use_start[p->offer[k] + 1]; u++)
				if (p->resource[u] == r)
					fprintf(f, "\n + %lld x%zu",
					    (long long)(p->need[k] * p->weight[u]), k);
			for (size_t u = p->more == NULL ? 0 : p->more->start[k];
			     p->more != NULL && u < p->more->start[k + 1]; u++)
				if (p->more->resource[u] == r)
					fprintf(f, "\n + %lld x%zu", (long long)p->more->units[u], k);
		}
		fprintf(f, " <= %lld\n", (long long)p->limit[r]);
	}
	fprintf(f, "Bounds\n zero = 0\nBinary\n");
	for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++)
		fprintf(f, " x%zu\n", k);
	for (size_t i = 0; i < p->n_jobs; i++)
		fprintf(f, " u%zu\n", i);
	fprintf(f, "End\n");
}

/* The optimum that CBC writes into the folder, and the time that it took; NAN: none in 120 s. */
static double
cbc_in(const struct place_problem *p, const char *dir, double *took)
{
	char lp[512], out[512], command[2048], line[256];
	struct timespec t0, t1;
	double best = NAN;
	FILE *f;

	snprintf(lp, sizeof(lp), "%s/a.lp", dir);
	snprintf(out, sizeof(out), "%s/a.out", dir);
	snprintf(command, sizeof(command), "timeout 120 cbc '%s' -ratioGap 0 solve solu '%s' >/dev/null 2>&1", lp, out);
	f = fopen(lp, "w");
	if (f == NULL)
		return NAN;
	write_lp(p, f);
	fclose(f);
	clock_gettime(CLOCK_MONOTONIC, &t0);
	f = system(command) == 0 ? fopen(out, "r") : NULL;
	clock_gettime(CLOCK_MONOTONIC, &t1);
	*took = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
	if (f != NULL && fgets(line, sizeof(line), f) != NULL &&
	    sscanf(line, "Optimal - objective value %lf", &best) != 1)
		best = NAN;
	if (f != NULL)
		fclose(f);
	remove(lp);
	remove(out);
	return best;
}

static double
cbc(const struct place_problem *p, double *took)
{
	const char *tmp = getenv("TMPDIR");
	char dir[400];
	double best;
	int n = snprintf(dir, sizeof(dir), "%s/berth-bench.XXXXXX", tmp == NULL || *tmp == '\0' ? "/tmp" : tmp);

	if (n >= (int)sizeof(dir) || system("command -v cbc >/dev/null 2>&1") != 0)
		return NAN;
	if (mkdtemp(dir) == NULL) {
		perror("temporary folder (TMPDIR names where)");
		return NAN;
	}
	best = cbc_in(p, dir, took);
	rmdir(dir);
	return best;
}

static int
bench(size_t jobs, size_t offers, uint64_t seed, double tight, double seconds, size_t most,
    bool peer)
{
	struct arena *a = arena_new();
	struct place_problem p;
	struct place_plan first, plan;
	struct place_options o = { .seed = 1, .rounds = 0, .gap = 0.0005 };
	struct clock c;
	struct berth_err err;
	double t0, first_s, took = NAN, best;

	world_make(&world_plain, jobs, offers, seed, tight, most, a, &p);
	t0 = now_s();
	if (place_solve(&p, &o, a, &first, &err) != BERTH_OK)
		return 1;
	first_s = now_s() - t0;
	t0 = now_s();
	c.end = t0 + seconds;
	o.rounds = 1000000;
	o.stop = late;
	o.stop_arg = &c;
	if (place_solve(&p, &o, a, &plan, &err) != BERTH_OK || !place_check(&p, &plan))
		return 1;
	printf("%zu x %zu, %zu pairs, tightness %.2f: first plan %.3f s, %.2f %% over the bound; "
	       "%.1f s: %.2f USD, %.3f %% over the bound, %zu placed\n",
	    jobs, offers, p.cand_start[jobs], tight, first_s, 100 * (first.value / plan.bound - 1),
	    now_s() - t0, plan.value, 100 * (plan.value / plan.bound - 1), plan.placed);
	best = peer ? cbc(&p, &took) : NAN;
	if (!isnan(best))
		printf("  CBC: optimum %.2f in %.2f s; ours %.3f %% over it, first plan in 1/%.0f "
		       "of the time\n",
		    best, took, 100 * (plan.value / best - 1), took / first_s);
	arena_free(a);
	return 0;
}

/*
 * The next plan after a few changes: a twentieth of the jobs cost a tenth more or less. From
 * nothing, and from the last plan's shadow prices, each with the same few rounds and until the plan
 * from nothing's gap of many rounds is reached.
 */
static int
replan(size_t jobs, size_t offers, uint64_t seed, double tight, size_t most)
{
	static const unsigned rounds[] = { 20, 60, 200 };
	struct arena *a = arena_new();
	struct place_problem p;
	struct place_plan last, cold, warm;
	struct place_options o = { .seed = 1, .rounds = 400, .gap = 0.0005 };
	struct berth_err err;
	struct rng r;
	double *cost, t0, cold_s, warm_s;

	world_make(&world_plain, jobs, offers, seed, tight, most, a, &p);
	if (place_solve(&p, &o, a, &last, &err) != BERTH_OK)
		return 1;
	rng_seed(&r, 99);
	cost = arena_memdup(a, p.cost, p.cand_start[jobs] * sizeof(*cost));
	for (size_t i = 0; i < jobs; i++) {
		double f = rng_below(&r, 20) == 0 ? 0.9 + 0.2 * rng_unit(&r) : 1;

		for (size_t k = p.cand_start[i]; k < p.cand_start[i + 1]; k++)
			cost[k] *= f;
	}
	p.cost = cost;
	for (size_t x = 0; x < sizeof(rounds) / sizeof(rounds[0]); x++) {
		o.rounds = rounds[x];
		p.warm = NULL;
		t0 = now_s();
		if (place_solve(&p, &o, a, &cold, &err) != BERTH_OK)
			return 1;
		cold_s = now_s() - t0;
		p.warm = last.shadow;
		t0 = now_s();
		if (place_solve(&p, &o, a, &warm, &err) != BERTH_OK || !place_check(&p, &warm))
			return 1;
		warm_s = now_s() - t0;
		printf("%zu x %zu again, %u rounds: from nothing %.2f USD, gap %.3f %%, %.2f s; "
		       "from the last prices %.2f USD, gap %.3f %%, %.2f s\n",
		    jobs, offers, rounds[x], cold.value, 100 * (cold.value / cold.bound - 1),
		    cold_s, warm.value, 100 * (warm.value / warm.bound - 1), warm_s);
	}
	arena_free(a);
	return 0;
}

/*
 * Each kind of world over some seeds: what the first plan takes and misses, and the plan of so many seconds; against CBC's
 * optimum where that is asked for. The worst of each kind last.
 */
static int
worlds(size_t jobs, size_t offers, size_t seeds, double seconds, const char *only)
{
	struct place_options first_o = { .seed = 1, .gap = 0.0005 };
	int bad = 0;

	for (const struct world *kind = world_kinds; kind->name != NULL; kind++) {
		double worst_first = 0, worst_s = 0, worst = 0, worst_peer = 0, sum = 0;

		for (uint64_t seed = 1; seed <= seeds && (only == NULL || strcmp(only, kind->name) == 0); seed++) {
			struct arena *a = arena_new();
			struct place_problem p;
			struct place_plan first, plan;
			struct clock c;
			struct place_options o = { .seed = 1, .rounds = 1000000, .stop = late, .stop_arg = &c };
			struct berth_err err;
			double took, t0, best, gap;

			world_make(kind, jobs, offers, seed, kind->tight, SIZE_MAX, a, &p);
			t0 = now_s();
			bad += place_solve(&p, &first_o, a, &first, &err) != BERTH_OK;
			took = now_s() - t0;
			c.end = now_s() + seconds;
			bad += place_solve(&p, &o, a, &plan, &err) != BERTH_OK || !place_check(&p, &plan);
			gap = plan.value / plan.bound - 1;
			worst_s = fmax(worst_s, took);
			worst_first = fmax(worst_first, first.value / plan.bound - 1);
			worst = fmax(worst, gap);
			sum += gap;
			printf("%-14s %2llu: first %.3f s %6.2f %%, %.1f s %10.2f USD %7.3f %% (%u rounds, %zu of %zu placed)",
			    kind->name, (unsigned long long)seed, took, 100 * (first.value / plan.bound - 1), seconds,
			    plan.value, 100 * gap, plan.rounds, plan.placed, jobs);
			best = jobs <= 150 ? cbc(&p, &took) : NAN;
			if (!isnan(best)) {
				worst_peer = fmax(worst_peer, plan.value / best - 1);
				bad += plan.bound > best * (1 + 1e-6);
				printf(", %.3f %% over CBC's optimum (%.1f s)", 100 * (plan.value / best - 1), took);
			}
			printf("\n");
			fflush(stdout);
			arena_free(a);
		}
		if (only == NULL || strcmp(only, kind->name) == 0)
			printf("%-14s worst: first %.3f s, %.2f %%; then %.3f %%, mean %.3f %%; over CBC %.3f %%\n", kind->name,
			    worst_s, 100 * worst_first, 100 * worst, 100 * sum / (double)seeds, 100 * worst_peer);
	}
	if (bad > 0)
		printf("%d broken plans or bounds\n", bad);
	return bad > 0;
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "replan") == 0)
		return replan(1000, 500, 2, 3.0, SIZE_MAX) + replan(1000, 500, 2, 2.2, SIZE_MAX);
	if (argc > 5 && strcmp(argv[1], "worlds") == 0)
		return worlds(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
		    strtod(argv[5], NULL), argc > 6 ? argv[6] : NULL);
	if (argc > 5)
		return bench(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10),
		    strtoull(argv[3], NULL, 10), strtod(argv[4], NULL), strtod(argv[5], NULL),
		    SIZE_MAX, strtoull(argv[1], NULL, 10) <= 150 && strtoull(argv[2], NULL, 10) <= 200);
	return bench(100, 50, 1, 1.6, 0.5, SIZE_MAX, true) +
	    bench(1000, 500, 2, 3.0, 10, SIZE_MAX, false) +
	    bench(1000, 500, 2, 2.2, 10, SIZE_MAX, false) +
	    bench(10000, 2000, 3, 2.2, 20, 50, false);
}
