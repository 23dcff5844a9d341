/*
 * bench/place-speed - placements of made-up queues: first plan, plan and bound after some seconds,
 * and CBC on the same problem where it is small.  Prints gaps and a ratio.  usage: place-speed
 * [JOBS OFFERS SEED TIGHTNESS SECONDS | replan]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/place.h"
#include "util/arena.h"
#include "util/rng.h"
#include "util/vec.h"

struct gpu { int memory; double price, speed, share; };

static const struct gpu gpus[] = {
	{ 16, 0.35, 1, 0.12 },
	{ 24, 0.7, 1.6, 0.14 },
	{ 24, 1.0, 2.2, 0.12 },
	{ 48, 1.8, 4, 0.12 },
	{ 40, 2.6, 5.5, 0.14 },
	{ 80, 3.4, 6.2, 0.14 },
	{ 80, 6.0, 12, 0.14 },
	{ 141, 7.5, 14, 0.08 },
};

struct made_offer {
	size_t cloud, region, gpu;
	bool spot;
	int64_t per_node, capacity;
	double price;
};
struct made_job {
	int64_t gang;
	int memory;
	double work, slack, data;
	size_t cloud, region;
	bool stays, saves;
};

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t
draw_share(struct rng *r)
{
	double x = rng_unit(r);
	size_t i = 0;

	for (; i + 1 < sizeof(gpus) / sizeof(gpus[0]) && x >= gpus[i].share; i++)
		x -= gpus[i].share;
	return i;
}

static double
uniform(struct rng *r, double lo, double hi)
{
	return lo + (hi - lo) * rng_unit(r);
}

static void
make_offers(struct rng *r, struct made_offer *o, size_t n)
{
	static const int64_t small[] = { 1, 2, 4 };

	for (size_t j = 0; j < n; j++) {
		o[j].cloud = rng_below(r, 6);
		o[j].region = rng_below(r, 8);
		o[j].gpu = draw_share(r);
		o[j].spot = rng_unit(r) < 0.4;
		o[j].per_node = o[j].gpu >= 5 || rng_unit(r) < 0.4 ? 8 : small[rng_below(r, 3)];
		o[j].price = gpus[o[j].gpu].price * uniform(r, 0.75, 1.4) * (o[j].spot ? 0.35 : 1);
		o[j].capacity = o[j].per_node * (int64_t)(1 + rng_below(r, 8));
	}
}

static void
make_jobs(struct rng *r, struct made_job *b, size_t n)
{
	static const int64_t gangs[] = { 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32 };
	static const int memory[] = { 8, 8, 14, 14, 20, 20, 30, 30, 40, 70 };

	for (size_t i = 0; i < n; i++) {
		b[i].gang = gangs[rng_below(r, 11)];
		b[i].memory = memory[rng_below(r, 10)];
		b[i].work = exp(3 + rng_normal(r)) * (double)b[i].gang;
		b[i].slack = uniform(r, 1.1, 6);
		b[i].data = exp(3.5 + 1.5 * rng_normal(r));
		b[i].cloud = rng_below(r, 6);
		b[i].region = rng_below(r, 8);
		b[i].stays = rng_unit(r) < 0.15;
		b[i].saves = rng_unit(r) < 0.7;
	}
}

/* Cost of the pair, NaN if it is not allowed. */
static double
pair(const struct made_job *b, const struct made_offer *o)
{
	double hours = b->work / (double)b->gang / gpus[o->gpu].speed /
	    (b->gang <= o->per_node ? 1 : 0.85) * (o->spot ? 1.12 : 1);
	double best = b->work / (double)b->gang / gpus[6].speed, egress = 0;

	if (gpus[o->gpu].memory < b->memory || b->gang > o->capacity ||
	    (b->gang > o->per_node && b->gang % o->per_node != 0) ||
	    (b->stays && o->region != b->region) || (o->spot && !b->saves) ||
	    hours > best * b->slack * 2.2 + 1)
		return NAN;
	if (o->cloud != b->cloud)
		egress = 0.09;
	else if (o->region != b->region)
		egress = 0.02;
	return o->price * (double)b->gang * hours + egress * b->data;
}

static void
make_problem(size_t jobs, size_t offers, uint64_t seed, double tight, size_t most, struct arena *a,
    struct place_problem *p)
{
	struct made_offer *o = arena_array(a, offers, sizeof(*o));
	struct made_job *b = arena_array(a, jobs, sizeof(*b));
	size_t *start = arena_array(a, jobs + 1, sizeof(*start));
	size_t *use_start = arena_array(a, offers + 1, sizeof(*use_start));
	size_t *resource = arena_array(a, 2 * offers, sizeof(*resource)), quota_of[6 * 8 * 2 * 2];
	int64_t *limit = arena_array(a, offers + 6 * 8 * 4, sizeof(*limit));
	int64_t *weight = arena_array(a, 2 * offers, sizeof(*weight));
	double *penalty = arena_array(a, jobs, sizeof(*penalty)), demand = 0, supply = 0;
	VEC(size_t) cand = { 0 };
	VEC(double) cost = { 0 };
	VEC(int64_t) need = { 0 };
	size_t n_res = offers, u = 0;
	struct rng r;

	rng_seed(&r, seed);
	make_offers(&r, o, offers);
	make_jobs(&r, b, jobs);
	for (size_t i = 0; i < jobs; i++)
		demand += (double)b[i].gang;
	for (size_t j = 0; j < offers; j++)
		supply += (double)o[j].capacity;
	for (size_t q = 0; q < 6 * 8 * 4; q++)
		quota_of[q] = SIZE_MAX;
	for (size_t j = 0; j < offers; j++) {
		size_t q = ((o[j].cloud * 8 + o[j].region) * 2 + (o[j].gpu >= 4)) * 2 + o[j].spot;
		int64_t nodes = (int64_t)llround(
		    (double)o[j].capacity * demand * tight / supply / (double)o[j].per_node);

		o[j].capacity = o[j].per_node * (nodes > 0 ? nodes : 1);
		limit[j] = o[j].capacity;
		if (quota_of[q] == SIZE_MAX)
			quota_of[q] = n_res++;
		limit[quota_of[q]] += o[j].capacity;
		resource[u] = j;
		weight[u++] = 1;
		resource[u] = quota_of[q];
		weight[u++] = 1;
		use_start[j + 1] = u;
	}
	for (size_t q = offers; q < n_res; q++)
		limit[q] = (int64_t)(0.7 * (double)limit[q]) + 8;
	for (size_t i = 0; i < jobs; i++) {
		double dear = 100;
		size_t first = rng_below(&r, offers);

		for (size_t k = 0; k < offers && cand.n - start[i] < most; k++) {
			size_t j = (first + k) % offers;
			double c = pair(&b[i], &o[j]);

			if (isnan(c))
				continue;
			dear = fmax(dear, c);
			VEC_PUSH(a, &cand, j);
			VEC_PUSH(a, &cost, c);
			VEC_PUSH(a, &need, b[i].gang);
		}
		start[i + 1] = cand.n;
		penalty[i] = 10 * dear + 1000;
	}
	*p = (struct place_problem){ jobs, offers, n_res, start, cand.v, cost.v, NULL, need.v,
		use_start, resource, weight, limit, penalty, NULL, NULL };
}

struct clock { double end; };

static bool
late(void *arg)
{
	return now_s() > ((struct clock *)arg)->end;
}

static double
cbc(const struct place_problem *p, double *took)
{
	const char *lp = "/tmp/berth-place-speed.lp", *out = "/tmp/berth-place-speed.out";
	FILE *f = fopen(lp, "w");
	char line[256];
	double best = NAN, t;

	if (f == NULL || system("command -v cbc >/dev/null 2>&1") != 0)
		return NAN;
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
		for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++)
			for (size_t u = p->use_start[p->offer[k]];
			     u < p->use_start[p->offer[k] + 1]; u++)
				if (p->resource[u] == r)
					fprintf(f, "\n + %lld x%zu",
					    (long long)(p->need[k] * p->weight[u]), k);
		fprintf(f, " <= %lld\n", (long long)p->limit[r]);
	}
	fprintf(f, "Bounds\n zero = 0\nBinary\n");
	for (size_t k = 0; k < p->cand_start[p->n_jobs]; k++)
		fprintf(f, " x%zu\n", k);
	for (size_t i = 0; i < p->n_jobs; i++)
		fprintf(f, " u%zu\n", i);
	fprintf(f, "End\n");
	fclose(f);
	struct timespec t0, t1;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	if (system("timeout 120 cbc /tmp/berth-place-speed.lp -ratioGap 0 solve solu "
		   "/tmp/berth-place-speed.out >/dev/null 2>&1") != 0)
		return NAN;
	clock_gettime(CLOCK_MONOTONIC, &t1);
	t = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
	f = fopen(out, "r");
	if (f != NULL && fgets(line, sizeof(line), f) != NULL &&
	    sscanf(line, "Optimal - objective value %lf", &best) != 1)
		best = NAN;
	if (f != NULL)
		fclose(f);
	remove(lp);
	remove(out);
	*took = t;
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

	make_problem(jobs, offers, seed, tight, most, a, &p);
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

	make_problem(jobs, offers, seed, tight, most, a, &p);
	if (place_solve(&p, &o, a, &last, &err) != BERTH_OK)
		return 1;
	rng_seed(&r, 99);
	cost = arena_memdup(a, p.cost, p.cand_start[jobs] * sizeof(*cost));
	for (size_t i = 0; i < jobs; i++) {
		double f = rng_below(&r, 20) == 0 ? uniform(&r, 0.9, 1.1) : 1;

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

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "replan") == 0)
		return replan(1000, 500, 2, 3.0, SIZE_MAX) + replan(1000, 500, 2, 2.2, SIZE_MAX);
	if (argc > 5)
		return bench(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10),
		    strtoull(argv[3], NULL, 10), strtod(argv[4], NULL), strtod(argv[5], NULL),
		    SIZE_MAX, strtoull(argv[1], NULL, 10) <= 150);
	return bench(100, 50, 1, 1.6, 0.5, SIZE_MAX, true) +
	    bench(1000, 500, 2, 3.0, 10, SIZE_MAX, false) +
	    bench(1000, 500, 2, 2.2, 10, SIZE_MAX, false) +
	    bench(10000, 2000, 3, 2.2, 20, 50, false);
}
