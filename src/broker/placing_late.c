/* When jobs can start that wait for another, and what ends too late for that. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "model/machine.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"

#define LATE_DEPTH 64 /* jobs before a job, outside of what is placed */

/* The soonest end of the job on any offer, begun at `from`; where it may have none now, on any on
 * which it could. */
static int64_t
late_soonest(
    struct placing_work_space *w, const struct cost_job *c, int64_t from, struct cost_estimate *e)
{
	int64_t first = INT64_MAX, ever = INT64_MAX;
	bool later = from > w->o->now;

	placing_estimate(w, c, from, placing_spot_job(c->job, c->job->spec.deadline), e);
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		if (e[j].finish > from && e[j].finish < ever)
			ever = e[j].finish;
		if (e[j].refuse == REFUSE_NOT && e[j].finish < first &&
		    w->facts.offers[j].machines >= e[j].machines &&
		    !placing_never_fits(w, j, e[j].machines, later))
			first = e[j].finish;
	}
	return first < INT64_MAX ? first : ever < INT64_MAX ? ever : from;
}

/* Since when each job has its machine: read once. */
static enum berth_code
late_uses(struct placing_work_space *w, struct store *store, struct berth_err *err)
{
	size_t n = 0;
	enum berth_code rc = BERTH_OK;

	if (w->outside.uses_read)
		return BERTH_OK;
	w->outside.uses_read = true;
	rc = store_attempt_uses(store, w->o->now, w->o->now, w->a, &w->outside.uses, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		*strmap_add(w->a, &w->outside.use_at, w->outside.uses[i].job_id, i, NULL) = i;
	return rc;
}

/* Of one that has a machine, or for which one is being made. */
static enum berth_code
late_running(struct placing_work_space *w, struct store *store, const struct job *job, int64_t *out,
    struct berth_err *err)
{
	const struct attempt_use *use = NULL;
	enum berth_code rc = late_uses(w, store, err);
	const size_t *at = strmap_get(&w->outside.use_at, job->id);

	if (rc == BERTH_OK && at != NULL)
		use = &w->outside.uses[*at];
	for (size_t i = 0; rc == BERTH_OK && i < w->facts.n_alive; i++) {
		const struct instance *in = &w->facts.alive[i];

		int64_t ends;

		if (str_eq(in->job_id, job->id) && in->state != INSTANCE_RELEASING) {
			ends = w->outside.soonest ? placing_work_soonest(w, in, job, use)
						  : placing_work_ends(w, in, job, use);
			*out = ends > *out ? ends : *out;
		}
	}
	return rc;
}

/* Where its output lies, and when it ends, of a job that is not among those that are placed. */
static enum berth_code
late_look(struct placing_work_space *w, struct store *store, const char *id, int depth,
    struct placing_outside *x, struct berth_err *err)
{
	const struct placing_outside *above;
	struct cost_job c;
	struct job *job = arena_array(w->a, 1, sizeof(*job));
	enum berth_code rc = store_job_get(store, id, w->a, job, err);

	if (rc == BERTH_ENOTFOUND)
		return BERTH_OK;
	if (rc == BERTH_OK)
		rc = placing_after_where(store, id, w->a, &x->where, err);
	if (rc != BERTH_OK)
		return rc;
	x->never = job->state == JOB_FAILED || job->state == JOB_CANCELLED;
	if (job->state != JOB_QUEUED && job->state != JOB_PLACED && job->state != JOB_RUNNING)
		return BERTH_OK;
	x->name = job->spec.name;
	if (job->state != JOB_QUEUED)
		return late_running(w, store, job, &x->ends, err);
	if (job->spec.after != NULL && job->spec.after[0] != '\0' && depth < LATE_DEPTH) {
		rc = placing_late_outside(w, store, job->spec.after, depth + 1, &above, err);
		if (rc != BERTH_OK)
			return rc;
		x->ends = above->ends;
		x->never = above->never;
	}
	placing_drop_unknown(w, job);
	placing_want(w, job, &c);
	x->ends = late_soonest(
	    w, &c, x->ends, arena_array(w->a, w->facts.n_offers, sizeof(struct cost_estimate)));
	return BERTH_OK;
}

enum berth_code
placing_late_outside(struct placing_work_space *w, struct store *store, const char *id, int depth,
    const struct placing_outside **out, struct berth_err *err)
{
	const size_t *at = strmap_get(&w->outside.at, id);
	struct placing_outside *x;

	if (at != NULL) {
		*out = w->outside.v.v[*at];
		return BERTH_OK;
	}
	x = arena_array(w->a, 1, sizeof(*x));
	*x = (struct placing_outside){ .where = "", .ends = w->o->now };
	strmap_add(w->a, &w->outside.at, id, w->outside.v.n, NULL);
	VEC_PUSH(w->a, &w->outside.v, x);
	*out = x;
	return late_look(w, store, id, depth, x, err);
}

enum berth_code
placing_late_load(
    struct placing_work_space *w, struct store *store, size_t i, struct berth_err *err)
{
	const struct placing_outside *x;
	enum berth_code rc = placing_late_outside(w, store, w->jobs[i].job.spec.after, 0, &x, err);

	if (rc != BERTH_OK)
		return rc;
	w->from[i] = x->where;
	w->before[i] = x->name;
	w->early[i] = x->ends > w->early[i] ? x->ends : w->early[i];
	return BERTH_OK;
}

void
placing_late_early(struct placing_work_space *w)
{
	struct cost_estimate *e = arena_array(w->a, w->facts.n_offers, sizeof(*e));
	int64_t *end = arena_array(w->a, w->n_jobs, sizeof(*end)); /* 0: nobody has asked */
	size_t n, *order = placing_order(w, &n);

	for (size_t x = 0; x < n; x++) {
		size_t i = order[x], before = w->after[i];

		if (before == PLACE_NONE)
			continue;
		if (end[before] == 0)
			end[before] = late_soonest(w, &w->costs[before], w->early[before], e);
		w->early[i] = end[before];
		w->before[i] = w->jobs[before].job.spec.name;
	}
}

/* The latest start of a candidate: spot is left for on demand in time. */
static int64_t
late_latest(const struct placing_work_space *w, size_t i, size_t k)
{
	const struct cost_estimate *e = &w->estimate.v[k];
	int64_t by = w->jobs[i].job.spec.deadline, at = by - (e->finish - w->early[i]);

	if (by <= 0)
		return PLACE_NO_LIMIT;
	if (w->spot[i].applies && w->facts.offers[w->offer.v[k]].offer->purchase == PURCHASE_SPOT)
		at = e->latest_start;
	return at > w->early[i] ? at : w->early[i];
}

void
placing_late_chain(struct placing_work_space *w)
{
	size_t n = w->p.cand_start[w->n_jobs];
	int64_t *early = arena_array(w->a, w->n_jobs, sizeof(*early)), now = w->o->now;
	int64_t *lasts = arena_array(w->a, n, sizeof(*lasts)),
		*latest = arena_array(w->a, n, sizeof(*latest));
	bool matters = false;

	for (size_t i = 0; i < w->n_jobs; i++) {
		early[i] = w->early[i] - now;
		matters |= w->after[i] != PLACE_NONE && w->jobs[i].job.spec.deadline > 0;
		for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++) {
			int64_t at = late_latest(w, i, k);

			lasts[k] = w->estimate.v[k].finish - w->early[i];
			if (w->spot[i].applies && placing_due_binds(w, i) &&
			    lasts[k] > w->due[i] - w->early[i] &&
			    w->facts.offers[w->offer.v[k]].offer->purchase == PURCHASE_SPOT)
				lasts[k] = w->due[i] - w->early[i]; /* it is left in time */
			latest[k] = at == PLACE_NO_LIMIT ? at : at - now;
		}
	}
	if (!matters)
		return;
	w->chain.early = early;
	w->chain.lasts = lasts;
	w->chain.latest = latest;
}

/* What a commitment pays for less of, as the job starts later, costs more. */
static void
late_pay(struct placing_work_space *w, size_t i, size_t k, int64_t start)
{
	const struct placing_offer *po = &w->facts.offers[w->offer.v[k]];
	struct cost_estimate *e = &w->estimate.v[k], then;
	struct cost_limits lim = { .now = w->o->now,
		.from = start,
		.tick_s = w->o->tick_s,
		.ages = w->o->ages,
		.budget_usd = NAN };
	double usd;

	if (!po->facts.paid)
		return;
	cost_of(&w->costs[i], po->offer, &po->facts, &lim, &then);
	usd = then.compute_usd - e->compute_usd;
	if (!(usd > 0))
		return;
	w->cost.v[k] += usd;
	e->compute_usd += usd;
	e->total_usd += usd;
	e->idle_usd = then.idle_usd;
}

/* What was refused before, as of the later start. */
static void
late_hints(struct placing_hint *h, int64_t by)
{
	for (size_t c = 0; c < REFUSE_COUNT; c++)
		h->least[c].finish += by;
	for (size_t x = 0; x < h->n_late; x++)
		h->late[x].finish += by;
	for (size_t x = 0; x < h->over.n; x++)
		h->over.v[x].finish += by;
	for (size_t x = 0; x < h->away.n; x++)
		h->away.v[x].near.finish += by;
	h->first_finish += h->first_finish > 0 ? by : 0;
}

void
placing_late_shift(struct placing_work_space *w, size_t i, int64_t start)
{
	int64_t by = start - w->early[i];

	if (w->p.cand_start[i] == w->p.cand_start[i + 1]) { /* told as of the soonest */
		w->soonest[i] = by != 0;
		return;
	}
	late_hints(&w->hints[i], by);
	for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++) {
		struct cost_estimate *e = &w->estimate.v[k];

		if (by != 0)
			late_pay(w, i, k, start);
		if (start > late_latest(w, i, k))
			e->refuse = REFUSE_DEADLINE;
		e->start += by;
		e->finish += by;
	}
	w->early[i] = start;
}

/* Candidate k to place `to`. */
static void
late_keep(struct placing_work_space *w, size_t k, size_t to, struct place_more_vec *more)
{
	for (size_t u = w->more_vec.start.v[k]; u < w->more_vec.start.v[k + 1]; u++) {
		VEC_PUSH(w->a, &more->resource, w->more_vec.resource.v[u]);
		VEC_PUSH(w->a, &more->units, w->more_vec.units.v[u]);
	}
	VEC_PUSH(w->a, &more->start, more->units.n);
	w->offer.v[to] = w->offer.v[k];
	w->takes[to] = w->takes[k];
	w->cost.v[to] = w->cost.v[k];
	w->risk.v[to] = w->risk.v[k];
	w->need.v[to] = w->need.v[k];
	w->estimate.v[to] = w->estimate.v[k];
}

static void
late_refuse(struct placing_work_space *w, size_t i, size_t k)
{
	size_t offer = w->offer.v[k];

	w->jobs[i].refused[REFUSE_DEADLINE]++;
	w->refusal[i * w->facts.n_offers + offer] = REFUSE_DEADLINE;
	placing_hint_add(w, &w->hints[i], &w->jobs[i].job, offer, &w->estimate.v[k]);
}

void
placing_late_drop(struct placing_work_space *w, struct place_plan *plan)
{
	size_t *start = arena_array(w->a, w->n_jobs + 1, sizeof(*start)), to = 0;
	struct place_more_vec more = { 0 };

	VEC_PUSH(w->a, &more.start, 0);
	for (size_t i = 0; i < w->n_jobs; i++) {
		size_t chosen = PLACE_NONE, next = PLACE_NONE;

		for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++) {
			if (w->estimate.v[k].refuse != REFUSE_NOT) {
				late_refuse(w, i, k);
				continue;
			}
			chosen = plan->chosen[i] == k ? to : chosen;
			next = plan->runner_up[i] == k ? to : next;
			late_keep(w, k, to++, &more);
		}
		plan->chosen[i] = chosen;
		plan->runner_up[i] = next;
		start[i + 1] = to;
	}
	w->offer.n = w->cost.n = w->risk.n = w->need.n = w->estimate.n = to;
	w->p.cand_start = start;
	w->more_vec = more;
	w->more = (struct place_more){ more.start.v, more.resource.v, more.units.v };
	w->p.more = more.units.n > 0 ? &w->more : NULL;
}

int64_t
placing_late_end(const struct placing_work_space *w, size_t i, int64_t finish, int64_t at)
{
	return finish + (at > w->early[i] ? at - w->early[i] : 0);
}

const char *
placing_late_text(const struct placing_work_space *w, size_t i)
{
	char t[TIME_FMT_SIZE];

	if (w->before[i] == NULL)
		return "";
	return arena_printf(w->a, "%s ends at %s%s, ", w->before[i], time_fmt(t, w->early[i]),
	    w->soonest[i] ? " at the soonest" : "");
}
