/*
 * Random queues against every rule of berth-place(1), by a checker that knows the rules from there and nothing of the solver;
 * small ones against full enumeration; and what an answer says would change it is done to it: then it changes, and with the
 * least bit less it does not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing.h"
#include "model/accel.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"
#include "util/arena.h"
#include "util/rng.h"

#define HOUR 3600
#define MAX_OFFERS 12
#define MAX_JOBS 8

static const char *const regions[] = { "eu-west-1", "us-east-1", "ap-south-1" };
static const char *const accelerators[] = { "L4", "A10G" };

struct world {
	struct arena *a;
	const struct accel_table *table;
	struct store *s;
	struct rng r;
	struct offer offer[MAX_OFFERS];
	size_t n_offers;
	struct job_spec spec[MAX_JOBS];
	struct job_variant variant[MAX_JOBS];
	const char *id[MAX_JOBS];
	size_t n_jobs;
	struct placing_limit limit[3];
	size_t n_limits;
	uint64_t ease;			/* how much rarer the rules are */
	double cap;			/* of all spending; NaN: none */
	int64_t now;
};

static void
must(enum berth_code rc, const struct berth_err *err)
{
	if (rc == BERTH_OK)
		return;
	printf("Bail out! %s\n", err->msg);
	exit(1);
}

static struct usd_micro
usd(double x)
{
	struct usd_micro out;
	struct berth_err err = { 0 };

	must(usd_from_double(x, &out, &err), &err);
	return out;
}

static bool
one_in(struct world *w, uint64_t n)
{
	return rng_below(&w->r, n > 3 ? n * w->ease : n) == 0;
}

static void
make_offer(struct world *w, size_t j)
{
	size_t acc = rng_below(&w->r, 2);
	int count = 1 << (w->ease > 1 ? 1 + rng_below(&w->r, 3) : rng_below(&w->r, 4));

	w->offer[j] = (struct offer){ .provider = one_in(w, 2) ? "acme" : "beta", .account = "a",
		.region = regions[rng_below(&w->r, 3)], .zone = "", .instance_type = arena_printf(w->a, "type-%zu.", j),
		.accelerator = accelerators[acc], .accelerator_known = true, .accelerator_count = count,
		.accelerator_memory_gib = 24, .vcpus = 8.0 * count, .memory_gib = 32,
		.purchase = one_in(w, 3) ? PURCHASE_SPOT : PURCHASE_ON_DEMAND, .currency = "USD",
		.available = one_in(w, 8) ? AVAIL_NO : AVAIL_UNKNOWN, .interruption_rate = 0.02 + 0.2 * rng_unit(&w->r),
		.measured = (double)NAN, .as_of = T0 - HOUR / 2, .source = "test" };
	w->offer[j].price = one_in(w, 12) ? USD_UNKNOWN : usd(count * (0.4 + 1.2 * rng_unit(&w->r)));
}

static void
make_job(struct world *w, size_t i)
{
	struct job_variant *v = &w->variant[i];
	struct job_spec *s = &w->spec[i];

	*v = (struct job_variant){ .name = "", .accelerator = one_in(w, 4) ? "" : accelerators[rng_below(&w->r, 2)],
		.count_min = 1 << rng_below(&w->r, 3), .nodes = one_in(w, 5) ? 2 : 1, .memory_gib = one_in(w, 6) ? 40 : 16,
		.work_hours = (double)NAN, .speed = (double)NAN };
	v->count_max = v->count_min * (one_in(w, 3) ? 2 : 1);
	if (v->accelerator[0] == '\0')
		v->accelerator = "L4";
	*s = (struct job_spec){ .name = "j", .user = "u", .project = "p", .n_variants = 1, .variants = v,
		.work_hours = 2 + 20 * rng_unit(&w->r), .precision = "bf16", .checkpoint_write_s = 10, .can_resume = !one_in(w, 3),
		.restart_s = 60, .max_price = USD_UNKNOWN, .max_cost = USD_UNKNOWN, .purchase_ok = { true, true, true },
		.data_region = one_in(w, 3) ? "acme/eu-west-1" : "", .data_gib = 200, .latency_to = "",
		.latency_max_ms = (double)NAN, .link_gb_s = (double)NAN, .after = "", .run = "make" };
	if (one_in(w, w->ease > 2 ? 8 : 3)) {
		s->regions = arena_array(w->a, 1, sizeof(*s->regions));
		s->regions[0] = one_in(w, 2) ? "eu-*" : regions[rng_below(&w->r, 3)];
		s->n_regions = 1;
	}
	if (one_in(w, 5)) {
		s->providers = arena_array(w->a, 1, sizeof(*s->providers));
		s->providers[0] = "acme";
		s->n_providers = 1;
	}
	if (one_in(w, 4))
		s->max_price = usd(v->count_min * (0.5 + rng_unit(&w->r)));
	if (one_in(w, 5))
		s->max_cost = usd(s->work_hours * v->count_min * v->nodes * (0.5 + rng_unit(&w->r)));
	if (one_in(w, 3)) {	/* on demand alone: the policy of spot under a deadline has tests of its own */
		s->deadline = T0 + (int64_t)(s->work_hours * HOUR * (0.4 + rng_unit(&w->r)));
		s->purchase_ok[PURCHASE_SPOT] = false;
	}
}

static void
world_cap(struct world *w, double cap)
{
	struct budget b = { .name = "cap", .scope = "all", .period = BUDGET_MONTH, .cap = isnan(cap) ? usd(1e6) : usd(cap) };
	struct berth_err err = { 0 };

	w->cap = cap;
	must(store_budget_set(w->s, &b, T0, &err), &err);
}

static void
world_offers(struct world *w)
{
	static const char *const sellers[] = { "acme", "beta" };

	for (size_t p = 0; p < 2; p++) {
		struct offer v[MAX_OFFERS];
		struct berth_err err = { 0 };
		size_t n = 0;

		for (size_t j = 0; j < w->n_offers; j++)
			if (strcmp(w->offer[j].provider, sellers[p]) == 0)
				v[n++] = w->offer[j];
		must(store_offers_replace(w->s, sellers[p], "a", "test", v, n, T0, NULL, &err), &err);
	}
}

static const char *
world_submit(struct world *w, const struct job_spec *s)
{
	struct berth_err err = { 0 };
	const char *id;

	must(store_job_insert(w->s, s, T0 - 60, w->a, &id, &err), &err);
	return id;
}

static void
make_world(struct world *w, uint64_t seed, size_t jobs, size_t offers, uint64_t ease)
{
	static const char *const names[] = { "machines", "eu-gpus", "spot-vcpus" };

	arena_reset(w->a);
	rng_seed(&w->r, seed);
	w->ease = ease;
	w->n_offers = offers;
	w->n_jobs = jobs;
	w->now = T0;
	for (size_t j = 0; j < offers; j++)
		make_offer(w, j);
	world_offers(w);
	for (size_t i = 0; i < jobs; i++) {
		make_job(w, i);
		w->id[i] = world_submit(w, &w->spec[i]);
	}
	w->n_limits = rng_below(&w->r, 4);
	for (size_t q = 0; q < w->n_limits; q++)
		w->limit[q] = (struct placing_limit){ .name = names[q], .provider = "", .account = "",
			.region = q == 1 ? "eu-*" : "", .accelerator = "", .purchase = q == 2 ? "spot" : "",
			.unit = q == 0 ? "machine" : q == 1 ? "gpu" : "vcpu",
			.limit = (int64_t)(q == 2 ? 16 * (1 + rng_below(&w->r, 6)) : 1 + rng_below(&w->r, 2 * jobs)) };
	world_cap(w, one_in(w, 2) ? 20 + 100 * (double)jobs * rng_unit(&w->r) : (double)NAN);
}

static struct placing
world_place(struct world *w, const char *const *ids, size_t n, bool limited)
{
	struct placing_options o = { .now = w->now, .seed = 1, .rounds = 100, .limits = w->limit,
		.n_limits = limited ? w->n_limits : 0 };
	struct berth_err err = { 0 };
	struct placing p = { 0 };

	must(placing_run(w->s, w->table, &o, ids, n, w->a, &p, &err), &err);
	return p;
}

static bool
glob_hits(const char *glob, const char *s)
{
	size_t n = strlen(glob);

	return n > 0 && glob[n - 1] == '*' ? strncmp(glob, s, n - 1) == 0 : strcmp(glob, s) == 0;
}

static bool
listed(const char *const *v, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (glob_hits(v[i], s))
			return true;
	return n == 0;
}

/* The rules that one job and one offer keep; the name of the one that is broken, or NULL. */
static const char *
broken_pair(const struct job_spec *s, const struct offer *o, const struct cost_estimate *e)
{
	const struct job_variant *v = &s->variants[0];
	int used = o->accelerator_count < v->count_max ? o->accelerator_count : v->count_max;
	double least;

	if (strcmp(v->accelerator, o->accelerator) != 0)
		return "accelerator";
	if (o->accelerator_count < v->count_min || e->machines != v->nodes)
		return "gang";
	if (o->accelerator_memory_gib < v->memory_gib)
		return "memory";
	if (!listed(s->regions, s->n_regions, o->region))
		return "region";
	if (!listed(s->providers, s->n_providers, o->provider))
		return "provider";
	if (!s->purchase_ok[o->purchase])
		return "purchase";
	if (!usd_known(o->price) || (usd_known(s->max_price) && o->price.v > s->max_price.v))
		return "price";
	if (o->available == AVAIL_NO)
		return "available";
	if (o->purchase == PURCHASE_SPOT && !s->can_resume && e->survival < 0.5)
		return "resume";
	if (s->deadline > 0 && e->finish > s->deadline)
		return "deadline";
	if (usd_known(s->max_cost) && e->total_usd > usd_to_double(s->max_cost) + 1e-6)
		return "max_cost";
	/* What it must cost at least: the work, shared by the accelerators used, at the price of all machines. */
	least = s->work_hours * v->count_min / used * usd_to_double(o->price) * v->nodes;
	return e->total_usd < least * (1 - 1e-9) || e->total_usd < e->compute_usd ? "cost" : NULL;
}

static int64_t
limit_units(const struct placing_limit *l, const struct offer *o, int machines)
{
	if (!listed(&l->region, l->region[0] != '\0', o->region) ||
	    (l->purchase[0] != '\0' && strcmp(l->purchase, purchase_name(o->purchase)) != 0))
		return 0;
	return machines * (strcmp(l->unit, "machine") == 0 ? 1 : strcmp(l->unit, "gpu") == 0 ? o->accelerator_count :
	    (int64_t)o->vcpus);
}

static const char *
broken_plan(const struct world *w, const struct placing *p)
{
	int64_t used[3] = { 0 };
	double sum = 0;

	for (size_t i = 0; i < p->n_jobs; i++) {
		const struct placing_try *t = p->jobs[i].tries;
		const char *why;
		size_t refused = 0;

		for (int c = 0; c < REFUSE_COUNT; c++)
			refused += p->jobs[i].refused[c];
		if (p->jobs[i].seen != w->n_offers || refused > w->n_offers)
			return "counts";
		if (p->jobs[i].n_tries == 0)
			continue;
		if ((why = broken_pair(&p->jobs[i].job.spec, t->offer, &t->cost)) != NULL)
			return why;
		sum += t->cost.total_usd;
		for (size_t q = 0; q < w->n_limits; q++)
			used[q] += limit_units(&w->limit[q], t->offer, t->cost.machines);
	}
	for (size_t q = 0; q < w->n_limits; q++)
		if (used[q] > w->limit[q].limit)
			return w->limit[q].name;
	if (!isnan(w->cap) && sum > w->cap + 1e-5)
		return "budget";
	if (fabs(sum - p->total_usd) > 1e-6 * fmax(1, sum))
		return "total";
	return p->bound_usd > p->total_usd * (1 + 1e-9) + 1e-9 ? "bound" : NULL;
}

static void
test_rules(struct world *w)
{
	int bad = 0, placed = 0, left = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct placing p;
		const char *why;

		make_world(w, seed, 2 + seed % (MAX_JOBS - 1), MAX_OFFERS, 1);
		p = world_place(w, w->id, w->n_jobs, true);
		why = broken_plan(w, &p);
		placed += (int)p.placed;
		left += (int)(p.n_jobs - p.placed);
		bad += why != NULL;
		if (why != NULL)
			tap_diag("queue %d breaks '%s'", (int)seed, why);
	}
	tap_is_long(bad, 0, "60 queues keep every rule of each pair, every limit and the budget (%d placed, %d not)", placed, left);
}

/* More of a limit that binds, as much as an answer asks for: more jobs are placed, or all cost less. */
static void
test_limits(struct world *w)
{
	int tried = 0, bad = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct placing p, with;

		make_world(w, 700 + seed, 5, MAX_OFFERS, 4);
		p = world_place(w, w->id, w->n_jobs, true);
		for (size_t i = 0; i < p.n_jobs; i++)
			for (size_t x = 0; x < p.jobs[i].n_changes; x++) {
				const struct placing_change *c = &p.jobs[i].changes[x];
				struct placing_limit was[3];

				if (strcmp(c->what, "limit") != 0)
					continue;
				memcpy(was, w->limit, sizeof(was));
				for (size_t q = 0; q < w->n_limits; q++)
					w->limit[q].limit += strcmp(was[q].name, c->subject) == 0 ? (int64_t)c->to : 0;
				if (memcmp(was, w->limit, sizeof(was)) == 0)
					continue;
				with = world_place(w, w->id, w->n_jobs, true);
				memcpy(w->limit, was, sizeof(was));
				tried++;
				if (with.placed > p.placed || (with.placed == p.placed && with.total_usd < p.total_usd))
					continue;
				bad++;
				tap_diag("queue %d: \"%s\": %zu placed at %.4f USD, %zu at %.4f before", (int)seed, c->text, with.placed,
				    with.total_usd, p.placed, p.total_usd);
			}
	}
	tap_ok(bad == 0 && tried > 20, "%d times so much more of a limit as asked for: more are placed, or for less", tried);
}

/* The cheapest way to place all jobs, by trying each: candidates and costs of each job are those it has alone. */
static void
enumerate(const struct world *w, const struct placing *alone, size_t i, int64_t *left, double money, double sum, double *best)
{
	if (i == w->n_jobs) {
		*best = fmin(*best, sum);
		return;
	}
	for (size_t k = 0; k < alone[i].jobs[0].n_tries; k++) {
		const struct placing_try *t = &alone[i].jobs[0].tries[k];
		int64_t next[3];
		bool fits = true;

		for (size_t q = 0; q < w->n_limits; q++) {
			next[q] = left[q] - limit_units(&w->limit[q], t->offer, t->cost.machines);
			fits = fits && next[q] >= 0;
		}
		if (fits && t->cost.total_usd <= money + 1e-6 && sum + t->cost.total_usd < *best)
			enumerate(w, alone, i + 1, next, money - t->cost.total_usd, sum + t->cost.total_usd, best);
	}
}

static void
test_small(struct world *w)
{
	int bad = 0, proven = 0, whole = 0, hit = 0;

	for (uint64_t seed = 1; seed <= 110; seed++) {
		struct placing p, alone[MAX_JOBS];
		double best = INFINITY;
		int64_t left[3] = { 0 };

		make_world(w, 5000 + seed, 2 + seed % 3, 9, 4);
		p = world_place(w, w->id, w->n_jobs, true);
		for (size_t i = 0; i < w->n_jobs; i++)
			alone[i] = world_place(w, &w->id[i], 1, false);
		for (size_t q = 0; q < w->n_limits; q++)
			left[q] = w->limit[q].limit;
		enumerate(w, alone, 0, left, isnan(w->cap) ? 1e9 : w->cap, 0, &best);
		if (!isfinite(best))
			continue;
		whole++;
		/* Leaving one out costs more than all: a plan that does so where it need not is a miss. */
		hit += p.placed == p.n_jobs && p.total_usd <= best * (1 + 1e-6);
		proven += p.optimal;
		if (p.bound_usd > best * (1 + 1e-6) || (p.placed == p.n_jobs && p.total_usd < best * (1 - 1e-6)) ||
		    (p.optimal && !(p.placed == p.n_jobs && p.total_usd <= best * (1 + 1e-6)))) {
			bad++;
			tap_diag("queue %d: %.6f USD, bound %.6f, by enumeration %.6f, optimal %d, placed %zu of %zu", (int)seed,
			    p.total_usd, p.bound_usd, best, p.optimal, p.placed, p.n_jobs);
		}
	}
	tap_is_long(bad, 0, "%d small queues: bound <= optimum <= plan, and 'optimal' is said of the optimum alone (%d times)", whole,
	    proven);
	tap_ok(whole > 25 && hit == whole, "the optimum is found in %d of %d", hit, whole);
}

/* What job i would cost least elsewhere, all others where they are: by trying each that it has alone. */
static double
least_elsewhere(const struct world *w, const struct placing *p, const struct placing *alone, size_t i)
{
	int64_t left[3] = { 0 };
	double money = isnan(w->cap) ? 1e9 : w->cap, best = INFINITY;

	for (size_t q = 0; q < w->n_limits; q++)
		left[q] = w->limit[q].limit;
	for (size_t x = 0; x < p->n_jobs; x++) {
		const struct placing_try *t = p->jobs[x].tries;

		for (size_t q = 0; x != i && p->jobs[x].n_tries > 0 && q < w->n_limits; q++)
			left[q] -= limit_units(&w->limit[q], t->offer, t->cost.machines);
		money -= x != i && p->jobs[x].n_tries > 0 ? t->cost.total_usd : 0;
	}
	for (size_t k = 0; k < alone->jobs[0].n_tries; k++) {
		const struct placing_try *t = &alone->jobs[0].tries[k];
		bool fits = t->offer->id != p->jobs[i].tries[0].offer->id && t->cost.total_usd <= money + 1e-6;

		for (size_t q = 0; q < w->n_limits; q++)
			fits = fits && limit_units(&w->limit[q], t->offer, t->cost.machines) <= left[q];
		if (fits)
			best = fmin(best, t->cost.total_usd);
	}
	return best;
}

/* The runner-up is the cheapest other offer beside the rest of the plan, though failover may try another one first. */
static void
test_runner_up(struct world *w)
{
	int bad = 0, told = 0, other = 0;

	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct placing p;

		make_world(w, 9000 + seed, 3 + seed % 5, MAX_OFFERS, 4);
		p = world_place(w, w->id, w->n_jobs, true);
		for (size_t i = 0; i < p.n_jobs; i++) {
			struct placing alone;
			size_t next = placing_runner_up(&p.jobs[i], 0);
			double is = next == SIZE_MAX ? (double)INFINITY : p.jobs[i].tries[next].cost.total_usd, best;

			if (p.jobs[i].n_tries == 0)
				continue;
			alone = world_place(w, &w->id[i], 1, false);
			best = least_elsewhere(w, &p, &alone, i);
			told += isfinite(is);
			other += next != SIZE_MAX && next != 1;
			if (is == best || fabs(is - best) < 1e-6)
				continue;
			bad++;
			tap_diag("queue %d, job %zu: runner-up at %.6f USD, by enumeration %.6f", (int)seed, i, is, best);
		}
	}
	tap_ok(bad == 0 && told > 200 && other > 0, "%d runners-up cost least of what fits (%d of them not the next to be tried)", told,
	    other);
}

/* The same with so much more of the limit. */
static struct placing
placed_raised(struct world *w, const struct placing_bind *b, double more)
{
	struct placing_limit was[3];
	struct placing out;
	double cap = w->cap;

	memcpy(was, w->limit, sizeof(was));
	for (size_t q = 0; q < w->n_limits; q++)
		w->limit[q].limit += strcmp(was[q].name, b->name) == 0 ? (int64_t)more : 0;
	if (strncmp(b->name, "budget", 6) == 0)
		world_cap(w, cap + more);
	out = world_place(w, w->id, w->n_jobs, true);
	if (strncmp(b->name, "budget", 6) == 0)
		world_cap(w, cap);
	memcpy(w->limit, was, sizeof(was));
	return out;
}

/* Are the same jobs placed in both? */
static bool
same_placed(const struct placing *p, const struct placing *q)
{
	bool same = true;

	for (size_t i = 0; i < p->n_jobs; i++)
		same = same && (p->jobs[i].n_tries > 0) == (q->jobs[i].n_tries > 0);
	return same;
}

/* What is told of a limit against a placement with more of it: the least that brings anything, and what; one step less, nothing. */
static const char *
broken_worth(struct world *w, const struct placing *p, const struct placing_bind *b)
{
	bool money = strncmp(b->name, "budget", 6) == 0;
	double step = money ? 0.01 : 1, one = p->total_usd;
	struct placing with = placed_raised(w, b, b->more > 0 ? b->more : 1), less;

	if (b->more == 0 && with.placed > p->placed)
		return "places";
	if (b->more > 0 && with.optimal && isnan(b->saves) == same_placed(p, &with))
		return "places";
	if (b->more > 0 && !isnan(b->saves) && fabs(p->total_usd - with.total_usd - b->saves) > 0.01)
		return "saves";
	if (b->more == 0 && same_placed(p, &with) && p->total_usd - with.total_usd > 0.01)
		return "nothing";
	less = b->more == 0 || b->more == 1 ? with : placed_raised(w, b, 1);
	if (less.optimal && same_placed(p, &less) && fabs(one - less.total_usd - b->shadow) > 0.01)
		return "one unit";
	if (!(b->more > 1 + step))
		return NULL;
	less = placed_raised(w, b, b->more - step);
	if (isnan(b->saves))
		return less.placed > p->placed ? "less" : NULL;
	return same_placed(p, &less) && p->total_usd - less.total_usd > 0.01 ? "less" : NULL;
}

/* The worth of each limit is what raising it brings; of quotas that keep no job out, by enumeration too. */
static void
test_worth(struct world *w)
{
	int bad = 0, told = 0, money = 0, several = 0, places = 0, nothing = 0, listed_n = 0;

	for (uint64_t seed = 1; seed <= 90; seed++) {
		struct placing p, alone[MAX_JOBS];
		double best = INFINITY, more = INFINITY;
		int64_t left[3] = { 0 };

		make_world(w, 12000 + 3 * seed, 2 + seed % 6, 9, 4);
		p = world_place(w, w->id, w->n_jobs, true);
		if (!p.optimal)
			continue;
		for (size_t x = 0; x < p.n_limits; x++) {
			const struct placing_bind *b = &p.limits[x];
			bool budget = strncmp(b->name, "budget", 6) == 0;
			const char *why;

			if (budget && isnan(w->cap))
				continue;
			why = broken_worth(w, &p, b);
			told += b->more > 0;
			money += b->more > 0 && budget;
			several += b->more > 1 && !isnan(b->saves);
			places += b->more > 0 && isnan(b->saves);
			nothing += b->more == 0;
			bad += why != NULL;
			if (why != NULL)
				tap_diag("queue %d: %s: '%s': %g more would save %g USD, one %g", (int)seed, b->name, why, b->more,
				    b->saves, b->shadow);
			if (budget || (b->more > 0 && isnan(b->saves)) || p.placed < p.n_jobs || w->n_jobs > 4)
				continue;
			for (size_t i = 0; i < w->n_jobs; i++)
				alone[i] = world_place(w, &w->id[i], 1, false);
			for (size_t q = 0; q < w->n_limits; q++)
				left[q] = w->limit[q].limit;
			best = more = INFINITY;
			enumerate(w, alone, 0, left, isnan(w->cap) ? 1e9 : w->cap, 0, &best);
			for (size_t q = 0; q < w->n_limits; q++)
				left[q] += strcmp(w->limit[q].name, b->name) == 0 ? (int64_t)b->more : 0;
			enumerate(w, alone, 0, left, isnan(w->cap) ? 1e9 : w->cap, 0, &more);
			listed_n++;
			if (fabs(best - more - b->saves) > 0.01) {
				bad++;
				tap_diag("queue %d: %s saves %g USD, by enumeration %g", (int)seed, b->name, b->saves, best - more);
			}
		}
	}
	tap_ok(bad == 0 && told > 10 && money > 2 && several > 1 && places > 5 && nothing > 20 && listed_n > 10,
	    "%d limits are worth what is told (%d budgets, %d by several units, %d place jobs, %d bring nothing, %d enumerated)", told,
	    money, several, places, nothing, listed_n);
}

/* The type of the offer that a job goes to; "" none. */
static const char *
where(const struct placing *p)
{
	return p->jobs[0].n_tries > 0 ? p->jobs[0].tries[0].offer->instance_type : "";
}

static bool
goes_to(const struct placing *p, const struct placing_change *c)
{
	return where(p)[0] != '\0' && strstr(c->offer, where(p)) != NULL;
}

/* The list with one name more; a list without any allows all. */
static const char **
with_more(struct world *w, const char **list, size_t *n, bool whole, const char *name)
{
	const char **out = arena_array(w->a, *n + 1, sizeof(*out));

	if (!whole)
		return list;
	for (size_t i = 0; i < *n; i++)
		out[i] = list[i];
	out[(*n)++] = name;
	return out;
}

/* The world with the change made, or all but the least bit of it; false: this kind has no number to turn. */
static bool
placed_with(struct world *w, const struct placing_change *c, bool whole, struct placing *out)
{
	struct job_spec s = w->spec[0];
	struct job_variant v = w->variant[0];
	struct placing_limit was[3];
	int64_t now = w->now;
	double cap = w->cap;
	struct usd_micro price = { 0 };
	size_t at = SIZE_MAX;
	const char *id;

	memcpy(was, w->limit, sizeof(was));
	if (strcmp(c->what, "price") == 0) {
		for (size_t j = 0; j < w->n_offers; j++)
			if (strstr(c->offer, w->offer[j].instance_type) != NULL)
				at = j;
		price = w->offer[at].price;
		w->offer[at].price = usd(c->to + (whole ? 0 : 2e-6));
		world_offers(w);
	} else if (strcmp(c->what, "no_quota") == 0) {
		for (size_t q = 0; q < w->n_limits; q++)
			if (strcmp(w->limit[q].name, c->subject) == 0)
				w->limit[q].limit += (int64_t)c->to - (whole ? 0 : 1);
	} else if (strcmp(c->what, "deadline") == 0) {
		s.deadline = c->at - (whole ? 0 : 1);
	} else if (strcmp(c->what, "max_price") == 0) {
		s.max_price = usd(c->to - (whole ? 0 : 1e-6));
	} else if (strcmp(c->what, "over_budget") == 0) {
		if (usd_known(s.max_cost))
			s.max_cost = usd(c->to + (whole ? 1e-6 : -1e-5));
		if (!isnan(w->cap))
			world_cap(w, fmax(w->cap, c->to) + (whole ? 1e-6 : -1e-5));
	} else if (strcmp(c->what, "blocked_until") == 0) {
		w->now = c->at - (whole ? 0 : 1);
	} else if (strcmp(c->what, "memory") == 0 && !isnan(c->usd)) {
		v.memory_gib = whole ? c->to : c->to * 1.04;	/* 0.97 of what is asked for will do */
	} else if (strcmp(c->what, "residency") == 0) {
		s.regions = with_more(w, s.regions, &s.n_regions, whole, c->subject);
	} else if (strcmp(c->what, "provider") == 0) {
		s.providers = with_more(w, s.providers, &s.n_providers, whole, c->subject);
	} else if (strcmp(c->what, "purchase") == 0) {
		s.purchase_ok[strcmp(c->subject, "spot") == 0 ? PURCHASE_SPOT : PURCHASE_ON_DEMAND] |= whole;
	} else {
		return false;
	}
	s.variants = &v;
	id = world_submit(w, &s);
	*out = world_place(w, &id, 1, true);
	memcpy(w->limit, was, sizeof(was));
	w->now = now;
	if (at != SIZE_MAX) {
		w->offer[at].price = price;
		world_offers(w);
	}
	world_cap(w, cap);
	return true;
}

static void
test_changes(struct world *w)
{
	static const char *const kinds[] = { "price", "no_quota", "deadline", "max_price", "over_budget",
		"blocked_until", "memory", "residency", "provider", "purchase" };
	int tried[10] = { 0 }, short_of = 0, far = 0, dear = 0;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct placing p, with, without;

		make_world(w, 9000 + seed, 1, 7, 2);
		if (seed % 4 == 0) {	/* the cheapest place is on hold */
			struct place_key key;
			struct berth_err err = { 0 };

			p = world_place(w, w->id, 1, true);
			if (p.jobs[0].n_tries > 0) {
				key = place_key(p.jobs[0].tries[0].offer, KEY_OFFER);
				must(store_block_put(w->s, &key, 600, 600, "no_capacity", "sold out", T0 - 60, NULL, &err), &err);
			}
		}
		p = world_place(w, w->id, 1, true);
		for (size_t x = 0; x < p.jobs[0].n_changes; x++) {
			const struct placing_change *c = &p.jobs[0].changes[x];

			if (!placed_with(w, c, true, &with) || !placed_with(w, c, false, &without))
				continue;
			for (size_t k = 0; k < 10; k++)
				tried[k] += strcmp(c->what, kinds[k]) == 0;
			dear += strcmp(c->what, "price") != 0 && where(&with)[0] != '\0' &&
			    fabs(with.jobs[0].tries[0].cost.total_usd - c->usd) > 1e-6;
			if (!goes_to(&with, c)) {
				short_of++;
				tap_diag("world %d: \"%s\": it goes to '%s' (%s)", (int)seed, c->text, where(&with), where(&p));
			}
			/* What is best under a lower price may be another one. */
			if (strcmp(c->what, "max_price") == 0 ? goes_to(&without, c) :
			    strcmp(where(&without), where(&p)) != 0) {
				far++;
				tap_diag("world %d: \"%s\": less does too: '%s' (%s)", (int)seed, c->text, where(&without), where(&p));
			}
		}
		if (seed % 4 == 0)
			for (size_t j = 0; j < w->n_offers; j++) {
				struct place_key key = place_key(&w->offer[j], KEY_OFFER);
				struct berth_err err = { 0 };

				must(store_block_clear(w->s, &key, &err), &err);
			}
	}
	tap_is_long(short_of, 0, "what is said to change a placement changes it");
	tap_is_long(far, 0, "and with the least bit less it stays");
	tap_is_long(dear, 0, "at the cost that is said");
	for (size_t k = 0; k < 10; k++)
		tap_ok(tried[k] > (k == 0 ? 20 : 3), "of the kind %s: %d", kinds[k], tried[k]);
}

int
main(void)
{
	struct world w = { .a = arena_new() };
	struct arena *table = arena_new();
	struct berth_err err = { 0 };

	must(accel_table_open(table, &w.table, &err), &err);
	w.s = store_tmp_open(store_tmp_path("rules.db"));
	must(store_begin(w.s, &err), &err);	/* never committed: nothing waits for a disk */
	test_rules(&w);
	test_limits(&w);
	test_small(&w);
	test_runner_up(&w);
	test_worth(&w);
	test_changes(&w);
	store_rollback(w.s);
	store_close(w.s);
	store_tmp_end();
	arena_free(w.a);
	arena_free(table);
	return tap_done();
}
