/*
 * Small queues of every kind against the enumeration of all their plans: no bound lies above the
 * optimum, nothing is called optimal that is not, and most optima are found.  BERTH_FUZZ=N: N
 * queues of each kind instead of some.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/place.h"
#include "plan/place_chain.h"
#include "plan/place_finish.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define JOBS 6
#define OFFERS 4
#define RES (OFFERS + 5) /* offers, two zones, all of them, two budgets */
#define QUEUES 60
#define PENALTY 2000.0

enum kind { LOOSE, FLOW, MIXED, BUDGETS, CHAIN, FINISH, KINDS };

static const char *const names[] = { "nothing binds", "flows", "nested quotas", "budgets", "chains", "finish times" };

struct audit {
	enum kind kind;
	struct place_problem p;
	struct place_more more;
	struct place_chain chain;
	size_t start[JOBS + 1], offer[JOBS * OFFERS], use_start[OFFERS + 1], resource[3 * OFFERS], after[JOBS];
	size_t place[OFFERS], more_start[JOBS * OFFERS + 1], more_resource[2 * JOBS * OFFERS];
	double cost[JOBS * OFFERS], penalty[JOBS], gib[JOBS], move[9];
	int64_t need[JOBS * OFFERS], weight[3 * OFFERS], limit[RES], finish[JOBS * OFFERS];
	int64_t more_units[2 * JOBS * OFFERS], left[RES];
	size_t chosen[JOBS];
	double least[3]; /* of the best plan: penalties, last finish, cost; of all but finish times value, 0, 0 */
};

static void
make_jobs(struct audit *x, struct rng *r, bool steps)
{
	size_t jobs = 3 + rng_below(r, JOBS - 2), k = 0, m = 0;

	for (size_t i = 0; i < jobs; i++) {
		int64_t gang = x->kind == FLOW ? 2 : INT64_C(1) << rng_below(r, 3);
		double work = 1 + 20 * rng_unit(r);

		for (size_t j = 0; j < OFFERS; j++) {
			if (rng_below(r, 4) == 0)
				continue;
			x->offer[k] = j;
			x->need[k] = gang;
			x->cost[k] = work * (double)gang * (0.5 + rng_unit(r));
			if (steps)
				x->cost[k] = floor(x->cost[k] / 8) * 8 + 1;
			x->finish[k] = 1 + (int64_t)rng_below(r, 9);
			x->more_resource[m] = OFFERS + 3 + i % 2; /* of its user */
			x->more_units[m++] = 1 + (int64_t)(100 * x->cost[k]);
			x->more_start[++k] = m;
		}
		x->start[i + 1] = k;
		x->penalty[i] = PENALTY * (double)(1 + i % 3);
		x->after[i] = i > 0 && rng_below(r, 3) > 0 ? rng_below(r, i) : PLACE_NONE;
		x->gib[i] = 100 * rng_unit(r);
	}
	x->p.n_jobs = jobs;
}

static void
make_limits(struct audit *x, struct rng *r)
{
	size_t u = 0;

	for (size_t j = 0; j < OFFERS; j++) {
		x->place[j] = j % 3;
		x->limit[j] = x->kind == LOOSE ? 100 : 2 + (int64_t)rng_below(r, 7);
		x->resource[u] = j;
		x->weight[u++] = 1;
		x->resource[u] = OFFERS + j % 2;
		x->weight[u++] = 1;
		x->resource[u] = OFFERS + 2;
		x->weight[u++] = x->kind == FLOW ? 1 : 12;
		x->use_start[j + 1] = u;
	}
	for (size_t q = 0; q < 2; q++) {
		x->limit[OFFERS + q] = x->kind == LOOSE ? 1000 : 3 + (int64_t)rng_below(r, 12);
		x->limit[OFFERS + 3 + q] = 2000 + (int64_t)rng_below(r, 20000);
	}
	x->limit[OFFERS + 2] = x->kind == LOOSE ? 100000 :
	    x->kind == FLOW ? 8 + (int64_t)rng_below(r, 12) : 12 * (6 + (int64_t)rng_below(r, 14)) + 5;
	for (size_t m = 0; m < 9; m++)
		x->move[m] = m % 4 == 0 ? 0 : 0.02 + 0.07 * rng_unit(r);
}

static void
make_queue(struct audit *x, enum kind kind, uint64_t seed)
{
	struct rng r;

	memset(x, 0, sizeof(*x));
	x->kind = kind;
	rng_seed(&r, 10 * seed + kind);
	make_jobs(x, &r, seed % 3 == 0);
	make_limits(x, &r);
	x->more = (struct place_more){ x->more_start, x->more_resource, x->more_units };
	x->p = (struct place_problem){ .n_jobs = x->p.n_jobs, .n_offers = OFFERS, .n_resources = RES,
		.cand_start = x->start, .offer = x->offer, .cost = x->cost, .need = x->need, .use_start = x->use_start,
		.resource = x->resource, .weight = x->weight, .limit = x->limit, .penalty = x->penalty,
		.more = kind == BUDGETS ? &x->more : NULL };
	x->chain = (struct place_chain){ .after = x->after, .gib = x->gib, .place = x->place, .n_places = 3,
		.move = x->move };
}

/* What plans are compared by, in this order. */
static void
measure(const struct audit *x, const size_t *chosen, double *out)
{
	double penalty = 0, cost = 0;
	int64_t last = 0;

	for (size_t i = 0; i < x->p.n_jobs; i++) {
		size_t k = chosen[i];

		penalty += k == PLACE_NONE ? x->penalty[i] : 0;
		cost += k == PLACE_NONE ? 0 : x->cost[k];
		last = k != PLACE_NONE && x->finish[k] > last ? x->finish[k] : last;
	}
	out[0] = x->kind == FINISH ? penalty : x->kind == CHAIN ? place_chain_value(&x->p, &x->chain, chosen, NULL) :
	    penalty + cost;
	out[1] = x->kind == FINISH ? (double)last : 0;
	out[2] = x->kind == FINISH ? cost : 0;
}

static double
beyond(const double *a, const double *b) /* > 0: a is worse than b */
{
	for (int x = 0; x < 3; x++)
		if (fabs(a[x] - b[x]) > 1e-8 * fmax(1, fabs(b[x])))
			return a[x] - b[x];
	return 0;
}

/* Takes or gives back; false: it does not fit, and nothing is taken. */
static bool
use(struct audit *x, size_t k, int64_t sign)
{
	size_t j = x->offer[k];
	bool fits = true;

	for (size_t u = x->use_start[j]; u < x->use_start[j + 1]; u++)
		fits &= (x->left[x->resource[u]] -= sign * x->need[k] * x->weight[u]) >= 0;
	for (size_t u = x->more_start[k]; x->p.more != NULL && u < x->more_start[k + 1]; u++)
		fits &= (x->left[x->more_resource[u]] -= sign * x->more_units[u]) >= 0;
	if (!fits && sign > 0)
		(void)use(x, k, -1);
	return fits;
}

static void
enumerate(struct audit *x, size_t i)
{
	double now[3];

	x->chosen[i < JOBS ? i : 0] = i < x->p.n_jobs ? PLACE_NONE : x->chosen[0];
	if (i == x->p.n_jobs) {
		measure(x, x->chosen, now);
		if (beyond(now, x->least) < 0)
			memcpy(x->least, now, sizeof(now));
		return;
	}
	enumerate(x, i + 1);
	for (size_t k = x->start[i]; k < x->start[i + 1]; k++) {
		if (!use(x, k, 1))
			continue;
		x->chosen[i] = k;
		enumerate(x, i + 1);
		(void)use(x, k, -1);
	}
	x->chosen[i] = PLACE_NONE;
}

static enum berth_code
solve(struct audit *x, struct arena *a, struct place_plan *plan, struct berth_err *err)
{
	struct place_options o = { .seed = 1, .rounds = 200 };
	int64_t by;

	if (x->kind == CHAIN)
		return place_chain_solve(&x->p, &x->chain, &o, a, plan, err);
	if (x->kind == FINISH)
		return place_finish_solve(&x->p, x->finish, &o, a, plan, &by, err);
	return place_solve(&x->p, &o, a, plan, err);
}

static void
audit(enum kind kind, size_t queues)
{
	size_t found = 0, proven = 0, broken = 0, high = 0, falsely = 0;

	for (uint64_t seed = 1; seed <= queues; seed++) {
		struct arena *a = arena_new();
		struct audit x;
		struct place_plan plan;
		struct berth_err err = { 0 };
		double value[3];

		make_queue(&x, kind, seed);
		memcpy(x.left, x.limit, sizeof(x.left));
		x.least[0] = 1e300;
		enumerate(&x, 0);
		broken += solve(&x, a, &plan, &err) != BERTH_OK || (kind != CHAIN && !place_check(&x.p, &plan));
		measure(&x, plan.chosen, value);
		found += beyond(value, x.least) <= 0;
		broken += beyond(value, x.least) < 0; /* better than all plans there are */
		proven += plan.optimal;
		high += kind != FINISH && plan.bound > x.least[0] * (1 + 1e-9) + 1e-9;
		falsely += kind != FINISH && plan.optimal && beyond(value, x.least) > 0;
		arena_free(a);
	}
	tap_ok(broken == 0, "%s: all of %zu queues get a plan that keeps the limits (%zu do not)", names[kind], queues,
	    broken);
	tap_ok(high == 0 && falsely == 0, "%s: no bound lies above the optimum (%zu), none is proven that is not (%zu)",
	    names[kind], high, falsely);
	tap_ok(found == queues && (kind == FINISH || proven == queues), "%s: all optima are found (%zu) and proven (%zu)",
	    names[kind], found, proven);
}

int
main(void)
{
	const char *more = getenv("BERTH_FUZZ");
	size_t queues = more != NULL && atoi(more) > 0 ? (size_t)atoi(more) : QUEUES;

	for (int k = 0; k < KINDS; k++)
		audit((enum kind)k, queues);
	return tap_done();
}
