/*
 * What more of a limit would bring: some jobs are placed anew with more of it, all others staying
 * where they are. Where all are placed anew that is exact; else it is what can be had for sure.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_raise.h"
#include "util/arena.h"

#define RAISE_JOBS ((size_t)24)     /* that are placed anew: all of them where they are no more */
#define RAISE_WANT (RAISE_JOBS / 2) /* of them those that want more of it most */
#define RAISE_WORK ((size_t)12000)  /* candidates, in all solutions together */
#define RAISE_NEAR ((size_t)8)      /* candidates of a job where not all are placed anew */
#define RAISE_ROUNDS_SOME 4
#define RAISE_ROUNDS 60
#define RAISE_STEP 10000 /* of a budget: a cent, in micro-USD */

struct raise_want {
	double score; /* the highest goes first */
	size_t job;
};

static int
raise_cmp_want(const void *a, const void *b)
{
	const struct raise_want *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

/* What job i would gain on limit r if that were free, at the prices of the others; into *best_out
 * the candidate. */
static double
raise_gain(const struct raise *x, size_t i, size_t r, size_t *best_out)
{
	double price = x->plan->shadow[r], least = INFINITY;
	size_t c = x->chosen[i];

	*best_out = PLACE_NONE;
	for (size_t k = x->start[i]; k < x->start[i + 1]; k++) {
		int64_t takes = k == c || (x->over.v[k] != PLACE_NONE && x->over.v[k] != r)
				    ? 0
				    : raise_takes(&x->p, k, r);
		double free = x->priced[k] - price * (double)takes;

		if (takes > 0 && free < least) {
			least = free;
			*best_out = k;
		}
	}
	return (c == PLACE_NONE ? x->penalty[i]
				: x->priced[c] - price * (double)raise_takes(&x->p, c, r)) -
	       least;
}

/* What job i loses at least when it goes elsewhere, at the prices. */
static double
raise_loss(const struct raise *x, size_t i)
{
	double least = INFINITY;

	for (size_t k = x->start[i]; k < x->start[i + 1]; k++)
		if (k != x->chosen[i] && x->over.v[k] == PLACE_NONE)
			least = fmin(least, x->priced[k]);
	return least - x->priced[x->chosen[i]];
}

static void
raise_pick(struct raise *x, const struct raise_want *v, size_t n, size_t most)
{
	for (size_t i = 0; i < n && i < most && x->n < RAISE_JOBS; i++)
		x->job[x->n++] = v[i].job;
}

/* Where not all are placed anew: those that want more of the limit, and those that hold what these
 * would need beside it and lose least elsewhere. */
static void
raise_pick_some(struct raise *x, size_t r)
{
	size_t n_jobs = x->w->n_jobs, n = 0, best, s;
	struct raise_want *v = arena_array(x->tmp, n_jobs, sizeof(*v));
	bool *needs = arena_array(x->tmp, x->p.n_resources, sizeof(*needs)),
	     *in = arena_array(x->tmp, n_jobs, sizeof(*in));
	int64_t units;

	for (size_t i = 0; i < n_jobs; i++) {
		double gain = x->fixed[i] ? 0 : raise_gain(x, i, r, &best);

		if (gain > RAISE_CENT)
			v[n++] = (struct raise_want){ gain, i };
	}
	qsort(v, n, sizeof(*v), raise_cmp_want);
	raise_pick(x, v, n, RAISE_WANT);
	for (size_t c = 0; c < x->n; c++) {
		in[x->job[c]] = true;
		raise_gain(x, x->job[c], r, &best);
		for (size_t at = 0; raise_draw(&x->p, best, at, &s, &units); at++)
			needs[s] |= x->w->p.limit[s] != PLACE_NO_LIMIT && x->left[s] < units;
	}
	n = 0;
	for (size_t i = 0; x->n > 0 && i < n_jobs; i++) {
		bool holds = false;

		if (x->fixed[i] || in[i] || x->chosen[i] == PLACE_NONE)
			continue;
		for (size_t at = 0; raise_draw(&x->p, x->chosen[i], at, &s, &units); at++)
			holds |= needs[s];
		if (holds)
			v[n++] = (struct raise_want){ -raise_loss(x, i), i };
	}
	qsort(v, n, sizeof(*v), raise_cmp_want);
	raise_pick(x, v, n, RAISE_JOBS);
}

static int
raise_cmp_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Where all are placed anew: what is dearer than all of them together could gain is in no better
 * plan of the same jobs. */
static void
raise_look_all(struct raise *x)
{
	double gain = 0;

	for (size_t c = 0; c < x->n; c++) {
		size_t i = x->job[c];
		double least = INFINITY;

		for (size_t k = x->start[i]; k < x->start[i + 1]; k++)
			least = fmin(least, x->cost.v[k]);
		gain += x->chosen[i] == PLACE_NONE ? INFINITY : x->cost.v[x->chosen[i]] - least;
	}
	for (size_t c = 0; c < x->n; c++)
		for (size_t i = x->job[c], k = x->start[i]; k < x->start[i + 1]; k++)
			x->in[k] = x->chosen[i] == PLACE_NONE ||
				   x->cost.v[k] <= x->cost.v[x->chosen[i]] + gain;
}

/* Else the best few of each at the prices, were limit r free. */
static void
raise_look(struct raise *x, size_t r)
{
	for (size_t c = 0; c < x->n; c++) {
		size_t i = x->job[c], from = x->start[i], n = x->start[i + 1] - from;
		double *v = arena_array(x->tmp, n, sizeof(*v)),
		       *sorted = arena_array(x->tmp, n, sizeof(*sorted)), most;

		for (size_t k = 0; k < n; k++)
			v[k] = sorted[k] =
			    x->over.v[from + k] != PLACE_NONE && x->over.v[from + k] != r
				? INFINITY
				: x->priced[from + k] -
				      x->plan->shadow[r] * (double)raise_takes(&x->p, from + k, r);
		qsort(sorted, n, sizeof(*sorted), raise_cmp_double);
		most = sorted[n < RAISE_NEAR ? n - 1 : RAISE_NEAR - 1];
		for (size_t k = 0; k < n; k++)
			x->in[from + k] =
			    from + k == x->chosen[i] || (isfinite(v[k]) && v[k] <= most);
	}
}

/* Who is placed anew for limit r; false: nobody new. */
static bool
raise_jobs(struct raise *x, size_t r)
{
	size_t n = 0;

	for (size_t i = 0; i < x->w->n_jobs; i++)
		n += !x->fixed[i] && x->start[i] < x->start[i + 1];
	x->all = n <= RAISE_JOBS;
	if (x->all && x->n == n)
		return false;
	x->n = 0;
	if (!x->all)
		raise_pick_some(x, r);
	for (size_t i = 0; x->all && i < x->w->n_jobs; i++)
		if (!x->fixed[i] && x->start[i] < x->start[i + 1])
			x->job[x->n++] = i;
	if (x->all)
		raise_look_all(x);
	else
		raise_look(x, r);
	return true;
}

struct raise_part { /* the jobs that are placed anew */
	struct place_problem p;
	struct place_more more;
	size_t *of; /* [n_cand] of those of all */
};

/* Their candidates. */
static void
raise_part_jobs(const struct raise *x, struct raise_part *out)
{
	struct arena *a = x->tmp;
	size_t *start = arena_array(a, x->n + 1, sizeof(*start)), n = 0, n_more = 0;
	size_t *keep = arena_array(a, x->n, sizeof(*keep)), *offer, *more_start, *resource;
	double *penalty = arena_array(a, x->n, sizeof(*penalty)), *cost;
	int64_t *need, *units;

	for (size_t c = 0; c < x->n; c++) {
		size_t i = x->job[c];

		keep[c] = PLACE_NONE;
		penalty[c] = x->penalty[i];
		for (size_t k = x->start[i]; k < x->start[i + 1]; k++) {
			if (!x->in[k])
				continue;
			keep[c] = k == x->chosen[i] ? n : keep[c];
			n_more += x->more_vec.start.v[k + 1] - x->more_vec.start.v[k];
			n++;
		}
		start[c + 1] = n;
	}
	out->of = arena_array(a, n, sizeof(*out->of));
	offer = arena_array(a, n, sizeof(*offer));
	cost = arena_array(a, n, sizeof(*cost));
	need = arena_array(a, n, sizeof(*need));
	more_start = arena_array(a, n + 1, sizeof(*more_start));
	resource = arena_array(a, n_more, sizeof(*resource));
	units = arena_array(a, n_more, sizeof(*units));
	n = n_more = 0;
	for (size_t c = 0; c < x->n; c++)
		for (size_t k = x->start[x->job[c]]; k < x->start[x->job[c] + 1]; k++) {
			if (!x->in[k])
				continue;
			out->of[n] = k;
			offer[n] = x->offer.v[k];
			cost[n] = x->cost.v[k];
			need[n] = x->need.v[k];
			for (size_t u = x->more_vec.start.v[k]; u < x->more_vec.start.v[k + 1];
			     u++, n_more++) {
				resource[n_more] = x->more_vec.resource.v[u];
				units[n_more] = x->more_vec.units.v[u];
			}
			more_start[++n] = n_more;
		}
	out->more = (struct place_more){ more_start, resource, units };
	out->p = x->p;
	out->p.n_jobs = x->n;
	out->p.cand_start = start;
	out->p.offer = offer;
	out->p.cost = cost;
	out->p.need = need;
	out->p.penalty = penalty;
	out->p.keep = keep;
	out->p.warm = x->plan->shadow;
	out->p.more = n_more > 0 ? &out->more : NULL;
}

/* What they may take: what the plan leaves and they give back, of r so much more; PLACE_NO_LIMIT:
 * all. Returns what there is of r without that. */
static int64_t
raise_part_limits(const struct raise *x, size_t r, int64_t more, struct raise_part *out)
{
	size_t n = x->p.n_resources, s;
	int64_t *limit = arena_memdup(x->tmp, x->left, n * sizeof(*limit)), units, has;

	for (size_t c = 0; c < x->n; c++)
		for (size_t at = 0, k = x->chosen[x->job[c]];
		     k != PLACE_NONE && raise_draw(&x->p, k, at, &s, &units); at++)
			limit[s] += units;
	for (s = 0; s < n; s++)
		limit[s] = x->w->p.limit[s] == PLACE_NO_LIMIT ? PLACE_NO_LIMIT
			   : limit[s] > 0                     ? limit[s]
							      : 0;
	has = limit[r];
	limit[r] = more == PLACE_NO_LIMIT ? PLACE_NO_LIMIT : has + more;
	out->p.limit = limit;
	return has;
}

static int64_t
raise_step(const struct raise *x, size_t r)
{
	const struct placing_facts *f = &x->w->facts;

	return r >= f->n_quotas && r < f->n_quotas + f->n_budgets ? RAISE_STEP : 1;
}

/* The same jobs placed with so many steps more of the limit; PLACE_NO_LIMIT: as much as they like.
 */
static struct raise_plan
raise_solve(struct raise *x, size_t r, int64_t steps)
{
	const unsigned most = x->all ? RAISE_ROUNDS : RAISE_ROUNDS_SOME;
	const struct place_options o = { .seed = x->w->o->seed,
		.rounds = x->w->o->rounds < most ? x->w->o->rounds : most };
	int64_t step = raise_step(x, r), has, takes = 0;
	struct raise_plan out = { .none = true };
	struct raise_part part;
	struct place_plan plan;
	struct berth_err ignored;
	bool others = false;

	arena_reset(x->tmp);
	raise_part_jobs(x, &part);
	has =
	    raise_part_limits(x, r, steps == PLACE_NO_LIMIT ? PLACE_NO_LIMIT : steps * step, &part);
	x->work += part.p.cand_start[x->n];
	if (place_solve(&part.p, &o, x->tmp, &plan, &ignored) != BERTH_OK)
		return out;
	out = (struct raise_plan){ .value = plan.value,
		.cost = plan.cost,
		.chosen = arena_array(x->w->a, x->n, sizeof(*out.chosen)) };
	for (size_t c = 0; c < x->n; c++) {
		size_t k = plan.chosen[c];

		out.chosen[c] = k == PLACE_NONE ? PLACE_NONE : part.of[k];
		takes += raise_takes(&x->p, out.chosen[c], r);
		others |= x->base.chosen != NULL &&
			  (k == PLACE_NONE) != (x->base.chosen[c] == PLACE_NONE);
	}
	out.takes = takes > has ? (takes - has + step - 1) / step : 0;
	out.saves = others ? 0 : x->base.cost - out.cost;
	out.better = others ? out.value < x->base.value - RAISE_CENT : out.saves >= RAISE_CENT;
	out.places = out.better && others;
	return out;
}

/* What they have now, or where that is not proven can have without more of anything. */
static void
raise_base(struct raise *x, size_t r)
{
	struct raise_plan b = { .chosen = arena_array(x->w->a, x->n, sizeof(*b.chosen)) }, at;

	for (size_t c = 0; c < x->n; c++) {
		size_t i = x->job[c];

		b.chosen[c] = x->chosen[i];
		b.cost += x->chosen[i] == PLACE_NONE ? 0 : x->cost.v[x->chosen[i]];
		b.value += x->chosen[i] == PLACE_NONE ? x->penalty[i] : x->cost.v[x->chosen[i]];
	}
	x->base = b;
	if (x->plan->optimal)
		return;
	at = raise_solve(x, r, 0);
	if (at.better)
		x->base = at;
}

/* Is r alone short for candidate k, with what its job gives back? Into *more_out by how much. */
static bool
raise_short(const struct raise *x, size_t now, size_t k, size_t r, int64_t *more_out)
{
	int64_t units, lacks;
	size_t s;

	*more_out = 0;
	for (size_t at = 0; raise_draw(&x->p, k, at, &s, &units); at++) {
		if (x->w->p.limit[s] == PLACE_NO_LIMIT)
			continue;
		lacks = units - x->left[s] - raise_takes(&x->p, now, s);
		if (lacks > 0 && s != r)
			return false;
		*more_out = s == r ? lacks : *more_out;
	}
	return *more_out > 0;
}

/* The least steps more that let a job have a place without any other one moving; 0: none do. */
static int64_t
raise_direct(const struct raise *x, size_t r)
{
	int64_t step = raise_step(x, r), least = 0, more;

	for (size_t i = 0; i < x->w->n_jobs; i++)
		for (size_t k = x->start[i];
		     !x->fixed[i] && x->chosen[i] == PLACE_NONE && k < x->start[i + 1]; k++)
			if ((x->over.v[k] == PLACE_NONE || x->over.v[k] == r) &&
			    raise_short(x, PLACE_NONE, k, r, &more) &&
			    (least == 0 || (more + step - 1) / step < least))
				least = (more + step - 1) / step;
	return least;
}

/* The least more that brings anything, and what: nothing where even all of it would not. */
static void
raise_limit(struct raise *x, size_t r, int64_t direct, struct placing_raise *out)
{
	int64_t step = raise_step(x, r), one = step == 1 ? 1 : 1000000 / step, low = one, high;
	struct raise_plan best = { .better = true, .places = true, .takes = direct }, at;

	if (direct == 0)
		best = raise_solve(x, r, PLACE_NO_LIMIT);
	if (!best.better || best.takes == 0)
		return;
	high = best.takes;
	at = raise_solve(x, r, one);
	if (at.better) {
		high = one;
		best = at;
		out->shadow = at.places ? NAN : at.saves;
	} else {
		while (high - low > 1 && x->work < RAISE_WORK) {
			int64_t middle = low + (high - low) / 2;

			at = raise_solve(x, r, middle);
			if (at.better) {
				high = at.takes > low ? at.takes : middle;
				best = at;
			} else {
				low = middle;
			}
		}
		out->shadow = best.places ? NAN : 0;
	}
	out->more = (double)high * (double)step / (step == 1 ? 1 : 1e6);
	out->saves = best.places ? NAN : best.saves;
}

/* What is known without any search: a job that a unit places, or with nothing spent on it, so many.
 */
static void
raise_told(const struct raise *x, size_t r, int64_t direct, struct placing_raise *out)
{
	int64_t step = raise_step(x, r), one = step == 1 ? 1 : 1000000 / step,
		more = direct < one ? one : direct;

	out->shadow = out->saves = NAN;
	out->more = (double)more * (double)step / (step == 1 ? 1 : 1e6);
}

/* Can more of the limit bring anything at all? Of those that no job is held by, where prices prove
 * the plan, none that has no price. */
static bool
raise_can(const struct raise *x, size_t r)
{
	const struct placing_facts *f = &x->w->facts;

	if (x->w->p.limit[r] == PLACE_NO_LIMIT || x->want[r] <= x->w->p.limit[r] ||
	    (r >= f->n_quotas + f->n_budgets && !x->binds[r]))
		return false;
	return !x->tight || x->plan->shadow[r] > 0 || x->refuses[r];
}

static void
raise_one(struct raise *x, size_t r)
{
	struct placing_raise *out = &x->w->raise[r];
	int64_t direct = raise_direct(x, r), one = raise_step(x, r) == 1 ? 1 : 1000000 / RAISE_STEP;

	if (direct > 0 && (direct <= one || x->work >= RAISE_WORK)) {
		raise_told(x, r, direct, out);
		return;
	}
	if (x->work >= RAISE_WORK)
		return;
	arena_reset(x->tmp);
	if (raise_jobs(x, r) && x->n > 0)
		raise_base(x, r);
	if (x->n > 0)
		raise_limit(x, r, direct, out);
}

void
placing_raises(struct placing_work_space *w, const struct place_plan *plan, const int64_t *left)
{
	struct raise x = { .w = w, .plan = plan, .left = left };
	size_t nr = w->p.n_resources;

	w->raise = arena_array(w->a, nr, sizeof(*w->raise));
	w->short_of = arena_array(w->a, nr, sizeof(*w->short_of));
	raise_begin(&x);
	x.tmp = arena_new();
	for (int pass = 0; pass < 2; pass++)
		for (size_t r = 0; r < nr; r++)
			if ((pass == 0) == (x.binds[r] || plan->shadow[r] > 0) && raise_can(&x, r))
				raise_one(&x, r);
	arena_free(x.tmp);
}
