/* A reservation for the job that quotas make wait: others go before it only where that does not
 * make it later. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "store/job_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"

#define BACKFILL_TICK_S 60 /* from the end of a job until its machine counts no more */
#define BACKFILL_OVER 0.1  /* what runs longer than was told is given so much of that again */

/* What runs, or is to, and when it is expected to be gone; INT64_MAX: nobody knows. */
struct placing_free {
	int64_t at;
	int64_t *takes; /* [n_quotas] */
};

static int
placing_cmp_free(const void *a, const void *b)
{
	const struct placing_free *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* What the job on the machine still needs, from its attempt; one that is overdue needs a little
 * more. */
static int64_t
placing_free_at(const struct placing_work_space *w, const struct instance *in,
    const struct job *job, const struct attempt_use *use)
{
	if (job == NULL || in->state == INSTANCE_RELEASING)
		return in->job_id[0] == '\0' && in->state != INSTANCE_RELEASING
			   ? INT64_MAX
			   : w->o->now + BACKFILL_TICK_S;
	return placing_work_ends(w, in, job, use) + BACKFILL_TICK_S;
}

int64_t
placing_work_ends(const struct placing_work_space *w, const struct instance *in,
    const struct job *job, const struct attempt_use *use)
{
	double speed = isfinite(in->speed) && in->speed > 0 ? in->speed : 1, ran, all;
	int64_t began = in->ready > 0 ? in->ready : in->created + (int64_t)COST_START_S;
	int64_t now = w->o->now;
	struct placing_work work;

	placing_work(w->accels, &job->spec, &in->offer, &work);
	all = isfinite(work.hours) ? work.hours / speed : 1;
	all = fmin(all * (1 - (use == NULL ? 0 : use->progress_start)), 1e6) * 3600;
	ran = fmax(0, (double)(now - began));
	return (began > now ? began : now) + (int64_t)fmax(all - ran, BACKFILL_OVER * ran);
}

static int64_t *
placing_free_takes(const struct placing_work_space *w, const struct offer *o, int64_t machines)
{
	int64_t *takes = arena_array(w->a, w->facts.n_quotas, sizeof(*takes));

	for (size_t q = 0; q < w->facts.n_quotas; q++)
		takes[q] = machines * placing_quota_weight(w->facts.quotas[q].limit, o);
	return takes;
}

enum berth_code
placing_backfill_load(struct placing_work_space *w, struct store *store, struct berth_err *err)
{
	struct strmap jobs = { 0 }, uses = { 0 };
	struct placing_hold *h = &w->hold;
	struct attempt_use *u = NULL;
	enum berth_code rc = BERTH_OK;
	size_t n = 0;

	h->job = PLACE_NONE;
	h->base = w->facts.n_quotas + w->facts.n_budgets;
	if (w->facts.n_quotas == 0)
		return BERTH_OK;
	rc = store_attempt_uses(store, w->o->now, w->o->now, w->a, &u, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		*strmap_add(w->a, &uses, u[i].job_id, i, NULL) = i;
	for (size_t i = 0; i < w->n_running; i++)
		strmap_add(w->a, &jobs, w->running[i].id, i, NULL);
	h->frees =
	    arena_array(w->a, w->facts.n_alive + w->n_launches + w->n_jobs, sizeof(*h->frees));
	for (size_t i = 0; rc == BERTH_OK && i < w->facts.n_alive; i++) {
		const struct instance *in = &w->facts.alive[i];
		const size_t *job = strmap_get(&jobs, in->job_id);
		const size_t *use = strmap_get(&uses, in->job_id);

		h->frees[h->n_frees++] = (struct placing_free){
			placing_free_at(w, in, job == NULL ? NULL : &w->running[*job],
			    use == NULL ? NULL : &u[*use]),
			placing_free_takes(w, &in->offer, 1)
		};
	}
	for (size_t i = 0; rc == BERTH_OK && i < w->n_launches; i++) /* more is known at its end */
		h->frees[h->n_frees++] = (struct placing_free){ w->o->now + BACKFILL_TICK_S,
			placing_free_takes(w, &w->launches[i].offer, 1) };
	if (h->n_frees > 1)
		qsort(h->frees, h->n_frees, sizeof(*h->frees), placing_cmp_free);
	return rc;
}

/*
 * The earliest time at which that much [n_quotas] fits every quota, as what runs ends; left
 * [n_quotas] becomes what there is at that time. INT64_MAX: never.
 */
static int64_t
placing_hold_at(const struct placing_work_space *w, const int64_t *need, int64_t *left)
{
	const struct placing_facts *f = &w->facts;
	int64_t at = w->o->now;

	for (size_t q = 0; q < f->n_quotas; q++) { /* below 0 where more runs than may */
		left[q] = f->quotas[q].limit->limit;
		if (need[q] > left[q])
			return INT64_MAX;
		for (size_t i = 0; i < w->hold.n_frees; i++)
			left[q] -= w->hold.frees[i].takes[q];
	}
	for (size_t i = 0;; i++) {
		bool fits = true;

		for (size_t q = 0; q < f->n_quotas && fits; q++)
			fits = need[q] == 0 || need[q] <= left[q];
		if (fits && (i == w->hold.n_frees || w->hold.frees[i].at > at))
			return at;
		if (i == w->hold.n_frees || w->hold.frees[i].at == INT64_MAX)
			return INT64_MAX;
		at = w->hold.frees[i].at;
		for (size_t q = 0; q < f->n_quotas; q++)
			left[q] += w->hold.frees[i].takes[q];
	}
}

/* The offer on which job i can start first, the cheapest of those: into w->hold. One that is free
 * too late for its deadline is not kept. */
static void
placing_hold_for(struct placing_work_space *w, size_t i, const struct placing_need *n)
{
	const struct placing_facts *f = &w->facts;
	struct placing_hold *h = &w->hold;
	int64_t *left = arena_array(w->a, f->n_quotas, sizeof(*left)),
		*takes = placing_free_takes(w, f->offers[n->offer].offer, n->machines);
	int64_t at = placing_hold_at(w, takes, left), by = w->jobs[i].job.spec.deadline;

	at = at < w->early[i] ? w->early[i] : at;
	if (at == INT64_MAX || (by > 0 && placing_late_end(w, i, n->finish, at) > by))
		return;
	if (h->job == i && (at > h->at || (at == h->at && n->usd >= h->usd)))
		return;
	h->job = i;
	h->at = at;
	h->usd = n->usd;
	h->spare = left;
	h->n = 0;
	for (size_t q = 0; q < f->n_quotas; q++) {
		left[q] = takes[q] > 0 ? left[q] - takes[q] : PLACE_NO_LIMIT;
		h->n += takes[q] > 0;
	}
}

/*
 * A job that only quotas keep out has a place kept when all that is before it in the queue has one.
 * When what was kept has become free the job takes it, and many small ones together do not.
 */
static void
placing_hold_job(struct placing_work_space *w, size_t i, const size_t *start)
{
	const struct placing_hint *hint = &w->hints[i];

	if (start[i] == start[i + 1]) {
		for (size_t k = 0; k < hint->over.n; k++)
			placing_hold_for(w, i, &hint->over.v[k]);
		return;
	}
	if ((w->jobs[i].job.marks & JOB_MARK_KEPT) == 0 &&
	    (w->keep == NULL || !str_eq(w->jobs[i].job.id, w->keep)))
		return;
	for (size_t k = start[i]; k < start[i + 1]; k++) {
		size_t j = w->offer.v[k];

		if (w->facts.use_start[j] == w->facts.use_start[j + 1]) { /* it goes there in any
									     case */
			w->hold.job = PLACE_NONE;
			w->hold.n = 0;
			return;
		}
		placing_hold_for(w, i,
		    &(struct placing_need){
			w->offer.v[k], w->need.v[k], w->cost.v[k], w->estimate.v[k].finish });
	}
}

/* Does job i go before the one that a place is kept for? */
static bool
placing_hold_before(const struct placing_work_space *w, size_t i)
{
	return w->hold.turn[i] < w->hold.turn[w->hold.job];
}

/* Would waiting for it cost job i its deadline? */
static bool
placing_hold_late(const struct placing_work_space *w, size_t i, size_t k)
{
	int64_t by = w->jobs[i].job.spec.deadline;

	return by > 0 && placing_late_end(w, i, w->estimate.v[k].finish, w->hold.at) > by;
}

/* What candidate k takes of that which is kept, of quota q. */
static int64_t
placing_hold_takes(const struct placing_work_space *w, size_t k, size_t q)
{
	const struct placing_hold *h = &w->hold;

	if (h->spare[q] == PLACE_NO_LIMIT || w->estimate.v[k].finish + BACKFILL_TICK_S <= h->at)
		return 0;
	return w->need.v[k] * placing_takes_of(&w->facts, w->offer.v[k], q);
}

bool
placing_hold_lets(const struct placing_work_space *w, size_t i, size_t k,
    const struct placing_need *need, const int64_t *left)
{
	const struct placing_hold *h = &w->hold;
	int64_t by = w->jobs[i].job.spec.deadline;
	size_t r = h->base;

	if (h->job == PLACE_NONE || i == h->job || placing_later(w, i) ||
	    placing_hold_before(w, i) || need->finish + BACKFILL_TICK_S <= h->at ||
	    (by > 0 && placing_late_end(w, i, need->finish, h->at) > by))
		return true;
	for (size_t q = 0; q < w->facts.n_quotas; q++) {
		int64_t takes;

		if (h->spare[q] == PLACE_NO_LIMIT)
			continue;
		takes = need->machines * placing_takes_of(&w->facts, need->offer, q);
		if (takes > 0 && takes > left[r] + placing_own(w, k, r))
			return false;
		r++;
	}
	return true;
}

/* Candidate k to place `to`, with its share of what is kept; false: it would make the job wait. */
static bool
placing_hold_keep(struct placing_work_space *w, size_t k, size_t to, bool free, size_t more_from,
    size_t more_to, struct place_more_vec *more)
{
	const struct placing_hold *h = &w->hold;
	size_t r = h->base;

	for (size_t q = 0; q < w->facts.n_quotas && !free; q++)
		if (placing_hold_takes(w, k, q) > (h->spare[q] > 0 ? h->spare[q] : 0))
			return false;
	for (size_t u = more_from; u < more_to; u++) {
		VEC_PUSH(w->a, &more->resource, w->more_vec.resource.v[u]);
		VEC_PUSH(w->a, &more->units, w->more_vec.units.v[u]);
	}
	for (size_t q = 0; q < w->facts.n_quotas; q++) {
		int64_t takes = free ? 0 : placing_hold_takes(w, k, q);

		if (takes > 0) {
			VEC_PUSH(w->a, &more->resource, r);
			VEC_PUSH(w->a, &more->units, takes);
		}
		r += h->spare[q] != PLACE_NO_LIMIT;
	}
	VEC_PUSH(w->a, &more->start, more->units.n);
	w->offer.v[to] = w->offer.v[k];
	w->cost.v[to] = w->cost.v[k];
	w->risk.v[to] = w->risk.v[k];
	w->need.v[to] = w->need.v[k];
	w->estimate.v[to] = w->estimate.v[k];
	return true;
}

/* The candidates without those that would make the job wait longer. */
static void
placing_hold_filter(struct placing_work_space *w, size_t *start)
{
	struct place_more_vec more = { 0 };
	size_t from = 0, to = 0;

	VEC_PUSH(w->a, &more.start, 0);
	for (size_t i = 0; i < w->n_jobs; i++) {
		bool free = i == w->hold.job || placing_later(w, i) || placing_hold_before(w, i);
		size_t end = start[i + 1];

		for (size_t k = from; k < end; k++) {
			bool let = free || placing_hold_late(w, i, k);

			if (placing_hold_keep(w, k, to, let, w->more_vec.start.v[k],
				w->more_vec.start.v[k + 1], &more))
				to++;
			else
				w->jobs[i].refused[REFUSE_RESERVED]++;
		}
		from = end;
		start[i + 1] = to;
	}
	w->offer.n = w->cost.n = w->risk.n = w->need.n = w->estimate.n = to;
	w->more_vec = more;
}

struct placing_order {
	size_t job, rank;
	int priority;
	bool first; /* whatever the rank */
};

static int
placing_cmp_order(const void *a, const void *b)
{
	const struct placing_order *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (x->first != y->first)
		return x->first ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Who goes before whom: priority, what cannot wait, then shares or the queue. */
static struct placing_order *
placing_hold_order(struct placing_work_space *w)
{
	struct placing_order *v = arena_array(w->a, w->n_jobs, sizeof(*v));

	w->hold.turn = arena_array(w->a, w->n_jobs, sizeof(*w->hold.turn));
	for (size_t i = 0; i < w->n_jobs; i++) {
		const struct placing_job *x = &w->jobs[i];

		v[i] = (struct placing_order){ i, w->ranks != NULL ? w->ranks[i].rank : i,
			x->job.spec.priority,
			(x->job.spec.deadline > 0 && placing_begun(&x->job)) || x->turn.urgent };
	}
	if (w->n_jobs > 1)
		qsort(v, w->n_jobs, sizeof(*v), placing_cmp_order);
	for (size_t i = 0; i < w->n_jobs; i++)
		w->hold.turn[v[i].job] = i;
	return v;
}

/* Job i can start now, and is in the way of those behind it until its end. */
static void
placing_hold_starts(struct placing_work_space *w, size_t i, const size_t *start, int64_t *left)
{
	struct placing_hold *h = &w->hold;
	size_t k = placing_take_cheapest(w, i, start, left), at = h->n_frees;
	struct placing_free x;

	if (k == PLACE_NONE)
		return;
	x = (struct placing_free){ w->estimate.v[k].finish + BACKFILL_TICK_S,
		placing_free_takes(w, w->facts.offers[w->offer.v[k]].offer, w->need.v[k]) };
	for (; at > 0 && h->frees[at - 1].at > x.at; at--)
		h->frees[at] = h->frees[at - 1];
	h->frees[at] = x;
	h->n_frees++;
}

bool
placing_backfill(struct placing_work_space *w, size_t *start)
{
	struct placing_order *order;
	int64_t *left;

	if (w->hold.frees == NULL)
		return false;
	if (w->o->shares != NULL)
		placing_share_order(w, start);
	order = placing_hold_order(w);
	left = arena_memdup(w->a, w->p.limit, w->p.n_resources * sizeof(*left));
	for (size_t i = 0; i < w->n_jobs && w->hold.job == PLACE_NONE; i++) {
		if (placing_later(w, order[i].job))
			continue;
		placing_hold_job(w, order[i].job, start);
		if (w->hold.job == PLACE_NONE)
			placing_hold_starts(w, order[i].job, start, left);
	}
	if (w->hold.job == PLACE_NONE)
		return false;
	placing_hold_filter(w, start);
	w->jobs[w->hold.job].kept = start[w->hold.job] == start[w->hold.job + 1];
	return true;
}

/* Resources that candidate k takes of: use [0, n). */
static size_t
placing_use_at(const struct placing_work_space *w, size_t k, size_t use, size_t *n_out)
{
	const struct place_problem *p = &w->p;
	size_t from = p->use_start[p->offer[k]], n = p->use_start[p->offer[k] + 1] - from;
	size_t more = p->more == NULL ? 0 : p->more->start[k];

	*n_out = n + (p->more == NULL ? 0 : p->more->start[k + 1] - more);
	return use < n        ? p->resource[from + use]
	       : use < *n_out ? p->more->resource[more + use - n]
			      : PLACE_NONE;
}

/* With what those before it leave, do quotas alone keep out job i, where money and machines would
 * let it go? short_of [n_quotas] becomes those that do. */
static bool
placing_missed_by(const struct placing_work_space *w, size_t i, const int64_t *left, bool *short_of)
{
	bool missed = false;

	memset(short_of, 0, w->facts.n_quotas * sizeof(*short_of));
	for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++) {
		bool fits = true, lets = true;
		size_t n = 1;

		for (size_t u = 0; u < n; u++) {
			size_t r = placing_use_at(w, k, u, &n);

			if (r == PLACE_NONE || left[r] == PLACE_NO_LIMIT ||
			    placing_own(w, k, r) <= left[r])
				continue;
			fits = false;
			lets = lets && r < w->facts.n_quotas;
			if (r < w->facts.n_quotas)
				short_of[r] = true;
		}
		if (fits)
			return false;
		missed |= lets;
	}
	return missed;
}

/* Does a job that goes now, though its turn is behind that of job i, take of those quotas? */
static bool
placing_missed_for(const struct placing_work_space *w, const struct place_plan *plan, size_t i,
    const bool *short_of)
{
	for (size_t j = 0; j < w->n_jobs; j++) {
		size_t k = plan->chosen[j], n = 1;

		if (k == PLACE_NONE || w->hold.turn[j] < w->hold.turn[i] || placing_later(w, j))
			continue;
		for (size_t u = 0; u < n; u++) {
			size_t r = placing_use_at(w, k, u, &n);

			if (r < w->facts.n_quotas && short_of[r])
				return true;
		}
	}
	return false;
}

const char *
placing_backfill_missed(const struct placing_work_space *w, const struct place_plan *plan)
{
	const struct placing_hold *h = &w->hold;
	bool *short_of = arena_array(w->a, w->facts.n_quotas, sizeof(*short_of));
	size_t *at = arena_array(w->a, w->n_jobs, sizeof(*at));
	int64_t *left;

	if (h->frees == NULL || h->turn == NULL || h->job != PLACE_NONE || w->o->finish)
		return NULL;
	left = arena_memdup(w->a, w->p.limit, w->p.n_resources * sizeof(*left));
	for (size_t i = 0; i < w->n_jobs; i++)
		at[h->turn[i]] = i;
	for (size_t x = 0; x < w->n_jobs; x++) {
		size_t i = at[x], k = plan->chosen[i];

		if (k != PLACE_NONE) {
			placing_use(w, k, -1, left);
			continue;
		}
		if (!placing_later(w, i) && w->p.cand_start[i] < w->p.cand_start[i + 1] &&
		    placing_missed_by(w, i, left, short_of) &&
		    placing_missed_for(w, plan, i, short_of))
			return w->jobs[i].job.id;
	}
	return NULL;
}

const char *
placing_backfill_text(const struct placing_work_space *w, size_t i)
{
	const struct placing_hold *h = &w->hold;
	char t[TIME_FMT_SIZE];

	if (h->job == PLACE_NONE)
		return NULL;
	time_fmt(t, h->at);
	if (w->jobs[i].kept)
		return arena_printf(w->a,
		    "its place is kept, so that it can start at %s, when enough of what runs has "
		    "ended",
		    t);
	if (i != h->job && w->jobs[i].refused[REFUSE_RESERVED] > 0 &&
	    w->p.cand_start[i] == w->p.cand_start[i + 1])
		return arena_printf(
		    w->a, "waits so that job %s can start at %s", w->jobs[h->job].job.id, t);
	return NULL;
}
