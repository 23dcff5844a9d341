#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "broker/placing_replay.h"
#include "model/accel.h"
#include "model/block.h"
#include "store/job_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"

#define PLACING_GAP 0.0005

void
placing_want(struct placing_work_space *w, const struct job *j, struct cost_job *c)
{
	const struct accel **want = arena_array(w->a, j->spec.n_variants, sizeof(*want));

	for (size_t v = 0; v < j->spec.n_variants; v++)
		want[v] = j->spec.variants[v].accelerator[0] == '\0'
			      ? NULL
			      : accel_find(w->accels, j->spec.variants[v].accelerator);
	c->job = j;
	c->want = want;
	if (!accel_precision_parse(j->spec.precision, &c->precision))
		c->precision = PRECISION_BF16;
}

/*
 * A variant with a name that the table lacks would read as "any": it is taken out of the job's
 * copy. Work is told on the first variant, so without that one there is none.
 */
void
placing_drop_unknown(struct placing_work_space *w, struct job *j)
{
	struct job_variant *kept = arena_array(w->a, j->spec.n_variants, sizeof(*kept));
	size_t n = 0;

	for (size_t v = 0; v < j->spec.n_variants; v++) {
		if (j->spec.variants[v].accelerator[0] == '\0' ||
		    accel_find(w->accels, j->spec.variants[v].accelerator) != NULL)
			kept[n++] = j->spec.variants[v];
		else if (v == 0)
			break;
	}
	j->spec.variants = kept;
	j->spec.n_variants = n;
}

/* Does it still wait, and for no create that is out? One that does not is left out, or an error. */
static bool
placing_waits(const struct placing_work_space *w, const struct job *j, enum berth_code *rc,
    struct berth_err *err)
{
	if (*rc == BERTH_OK && j->state != JOB_QUEUED && !w->o->others)
		*rc = err_set(err, BERTH_ENOTFOUND, "job %s is not in the queue: it is %s", j->id,
		    job_state_name(j->state));
	if (*rc == BERTH_ENOTFOUND && w->o->others) {
		*rc = BERTH_OK;
		return false;
	}
	if (*rc != BERTH_OK || !w->o->others)
		return *rc == BERTH_OK;
	for (size_t i = 0; i < w->n_launches; i++)
		if (str_eq(w->launches[i].job_id, j->id))
			return false;
	return j->state == JOB_QUEUED;
}

static enum berth_code
placing_jobs(struct placing_work_space *w, struct store *store, const char *const *ids,
    size_t n_ids, struct berth_err *err)
{
	struct job_query q = { .states = JOB_BIT(JOB_QUEUED) };
	struct job *rows = NULL;
	enum berth_code rc = BERTH_OK;
	size_t n = 0;

	w->n_jobs = n_ids > 0 ? n_ids + w->o->n_behind : 0;
	struct job_query held = { .states = JOB_BIT(JOB_PLACED) | JOB_BIT(JOB_RUNNING) };

	if (n_ids == 0)
		rc = store_job_list(store, &q, w->a, &rows, &w->n_jobs, err);
	if (rc == BERTH_OK)
		rc = store_job_list(store, &held, w->a, &w->running, &w->n_running, err);
	w->jobs = arena_array(w->a, w->n_jobs, sizeof(*w->jobs));
	w->costs = arena_array(w->a, w->n_jobs, sizeof(*w->costs));
	w->hints = arena_array(w->a, w->n_jobs, sizeof(*w->hints));
	w->spot = arena_array(w->a, w->n_jobs, sizeof(*w->spot));
	for (size_t i = 0; i < w->n_jobs && rc == BERTH_OK; i++) {
		struct job *j = &w->jobs[n].job;

		if (n_ids == 0)
			*j = rows[i];
		else
			rc = store_job_get(
			    store, i < n_ids ? ids[i] : w->o->behind[i - n_ids], w->a, j, err);
		if (!placing_waits(w, j, &rc, err))
			continue;
		placing_drop_unknown(w, j);
		placing_want(w, j, &w->costs[n++]);
		w->n_own += n_ids == 0 || i < n_ids;
	}
	w->n_jobs = w->n_own > 0 ? n : 0;
	return rc;
}

void
placing_asks(struct placing_work_space *w, const struct cost_job *c, int64_t from, bool spot_leaves,
    struct placing_asks *out)
{
	double *left = arena_array(w->a, w->facts.n_accounts, sizeof(*left)),
	       *hour = arena_array(w->a, w->facts.n_accounts, sizeof(*hour));

	for (size_t k = 0; k < w->facts.n_accounts; k++) {
		left[k] = placing_budget_left(&w->facts, c->job, k);
		hour[k] = placing_hour_left(&w->facts, c->job, k, from > w->o->now);
	}
	*out = (struct placing_asks){ .lim = { .now = w->o->now,
					  .from = from,
					  .tick_s = w->o->tick_s,
					  .ages = w->o->ages,
					  .need_account = w->o->need_account,
					  .block = w->o->block,
					  .n_block = w->o->n_block,
					  .spot_leaves = spot_leaves },
		.left = left,
		.hour = hour };
}

void
placing_estimate_at(struct placing_work_space *w, const struct cost_job *c,
    const struct placing_asks *asks, size_t offer, struct cost_estimate *out)
{
	const struct placing_offer *po = &w->facts.offers[offer];
	struct cost_limits lim = asks->lim;

	lim.budget_usd = asks->left[po->account];
	lim.hour_usd = asks->hour[po->account];
	lim.hour_capped = !isnan(lim.hour_usd);
	cost_of(c, placing_slow_met(w, c->job, po->offer), &po->facts, &lim, out);
}

void
placing_estimate(struct placing_work_space *w, const struct cost_job *c, int64_t from,
    bool spot_leaves, struct cost_estimate *out)
{
	struct placing_asks asks;

	placing_asks(w, c, from, spot_leaves, &asks);
	for (size_t j = 0; j < w->facts.n_offers; j++)
		placing_estimate_at(w, c, &asks, j, &out[j]);
}

/* What the candidate of job i takes of each budget that counts it; it fits alone, as
 * REFUSE_OVER_BUDGET has seen to. What is only in view takes nothing. */
static void
placing_money(struct placing_work_space *w, size_t i, const struct placing_offer *po,
    int64_t machines, double usd)
{
	const struct job *j = &w->jobs[i].job;

	for (size_t b = 0; i < w->n_own && b < w->facts.n_budgets; b++) {
		const struct budget *x = &w->facts.budgets[b];
		int64_t left = placing_budget_rest(x),
			units = placing_budget_takes(x, po, machines, usd);

		if (units <= 0 || (x->period == BUDGET_HOUR && placing_later(w, i)) ||
		    !budget_scope_hits(
			x->scope, w->facts.accounts[po->account], j->spec.project, j->spec.user))
			continue;
		VEC_PUSH(w->a, &w->more_vec.resource, w->facts.n_quotas + b);
		VEC_PUSH(w->a, &w->more_vec.units, units < left ? units : left);
	}
	VEC_PUSH(w->a, &w->more_vec.start, w->more_vec.units.n);
}

/* Of the quotas that refuse something by themselves the one that comes nearest is told, before it
 * those that do so alone. */
static void
placing_short_quota(struct placing_work_space *w, size_t i, size_t offer, int64_t machines,
    size_t over, const struct placing_quota *q)
{
	size_t at = (size_t)(q - w->facts.quotas);
	struct placing_hint *h = &w->hints[i];
	int64_t need = machines * placing_takes_of(&w->facts, offer, at);

	w->facts.quotas[at].refused = true;
	if (h->quota != NULL && over > 1)
		return;
	h->quota = q->limit->name;
	w->jobs[i].quota = (struct placing_short_of){ q->limit,
		placing_later(w, i) ? q->limit->limit : q->left, need, placing_later(w, i) };
}

static void
placing_candidates_of(
    struct placing_work_space *w, size_t i, struct cost_estimate *estimates, size_t *start)
{
	struct placing_job *pj = &w->jobs[i];
	bool later = placing_later(w, i);

	if (placing_spot_steers(w, i))
		placing_apply_spot(w, i, estimates);
	else
		placing_estimate(w, &w->costs[i], w->early[i], false, estimates);
	placing_after_add(w, i, estimates);
	placing_first(w, i, estimates);
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		const struct placing_offer *po = &w->facts.offers[j];
		const struct placing_quota *never = NULL;
		struct cost_estimate e = estimates[j];
		size_t over;

		pj->seen++;
		if (e.refuse == REFUSE_NOT && po->machines < e.machines) {
			e.refuse = REFUSE_NO_CAPACITY;
		} else if (e.refuse == REFUSE_NOT &&
			   (never = placing_never(w, j, e.machines, later, &over)) != NULL) {
			e.refuse = REFUSE_NO_QUOTA;
			struct placing_need need = { j, e.machines, e.total_usd, e.finish };

			VEC_PUSH(w->a, &w->hints[i].over, need);
			placing_short_quota(w, i, j, e.machines, over, never);
		}
		w->refusal[i * w->facts.n_offers + j] = (unsigned char)e.refuse;
		if (e.refuse != REFUSE_NOT) {
			pj->refused[e.refuse]++;
			pj->own_cap +=
			    e.refuse == REFUSE_OVER_BUDGET && cost_over_budget(&pj->job, NAN, &e);
			placing_hint_add(w, &w->hints[i], &pj->job, j, &e);
			continue;
		}
		VEC_PUSH(w->a, &w->offer, j);
		VEC_PUSH(w->a, &w->cost, e.total_usd);
		VEC_PUSH(w->a, &w->risk, e.risk);
		VEC_PUSH(w->a, &w->need, e.machines);
		VEC_PUSH(w->a, &w->estimate, e);
		placing_money(w, i, po, e.machines, placing_reserve(w, i, po->offer, &e));
	}
	start[i + 1] = w->cost.n;
}

/* Resources: the quotas, the budgets, machines of paid offers. */
static void
placing_resources(struct placing_work_space *w)
{
	const struct placing_facts *f = &w->facts;
	size_t n_offers = w->later ? 2 * f->n_offers : f->n_offers;
	size_t *use_start = arena_array(w->a, n_offers + 1, sizeof(*use_start));
	int64_t *limit =
	    arena_array(w->a, f->n_pools + 2 * f->n_quotas + f->n_budgets, sizeof(*limit));
	size_t *pool = arena_array(w->a, f->n_pools, sizeof(*pool)); /* 0: none yet */
	VEC(size_t) resource = { 0 };
	VEC(int64_t) weight = { 0 };
	size_t n = f->n_quotas + f->n_budgets;

	for (size_t q = 0; w->hold.n > 0 && q < f->n_quotas; q++)
		if (w->hold.spare[q] != PLACE_NO_LIMIT)
			limit[n++] = w->hold.spare[q] > 0 ? w->hold.spare[q] : 0;
	for (size_t q = 0; q < f->n_quotas; q++)
		limit[q] = f->quotas[q].left;
	for (size_t b = 0; b < f->n_budgets; b++)
		limit[f->n_quotas + b] = placing_budget_rest(&f->budgets[b]);
	for (size_t j = 0; j < f->n_offers; j++) {
		if (f->offers[j].machines != PLACE_NO_LIMIT) {
			size_t *at = &pool[f->offers[j].pool];

			if (*at == 0) {
				limit[n] = f->offers[j].machines;
				*at = ++n;
			}
			VEC_PUSH(w->a, &resource, *at - 1);
			VEC_PUSH(w->a, &weight, 1);
		}
		for (size_t u = f->use_start[j]; u < f->use_start[j + 1]; u++) {
			const struct placing_use *x = &f->uses[u];

			if (x->weight <= f->quotas[x->quota].left) { /* a candidate that passes it
									alone is refused before */
				VEC_PUSH(w->a, &resource, x->quota);
				VEC_PUSH(w->a, &weight, x->weight);
			}
		}
		use_start[j + 1] = resource.n;
	}
	for (size_t j = f->n_offers; j < n_offers; j++)
		use_start[j + 1] = resource.n;
	w->p.n_offers = n_offers;
	w->p.n_resources = n;
	w->p.use_start = use_start;
	w->p.resource = resource.v;
	w->p.weight = weight.v;
	w->p.limit = limit;
	w->more =
	    (struct place_more){ w->more_vec.start.v, w->more_vec.resource.v, w->more_vec.units.v };
	w->p.more = w->more_vec.units.n > 0 ? &w->more : NULL;
}

/* What the plan leaves of each limit. */
static int64_t *
placing_left(const struct placing_work_space *w, const struct place_plan *plan)
{
	const struct place_problem *p = &w->p;
	int64_t *left = arena_memdup(w->a, p->limit, p->n_resources * sizeof(*left));

	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t k = plan->chosen[i], j = k == PLACE_NONE ? 0 : p->offer[k];

		for (size_t u = p->use_start[j]; k != PLACE_NONE && u < p->use_start[j + 1]; u++)
			left[p->resource[u]] -= p->need[k] * p->weight[u];
		for (size_t u = k == PLACE_NONE || p->more == NULL ? 0 : p->more->start[k];
		     k != PLACE_NONE && p->more != NULL && u < p->more->start[k + 1]; u++)
			left[p->more->resource[u]] -= p->more->units[u];
	}
	return left;
}

static void
placing_program(struct placing_work_space *w, const size_t *start)
{
	w->later = false;
	w->takes = arena_array(w->a, w->offer.n, sizeof(*w->takes));
	for (size_t i = 0; i < w->n_jobs; i++) {
		bool later = placing_later(w, i);

		w->later |= later;
		for (size_t k = start[i]; k < start[i + 1]; k++)
			w->takes[k] = w->offer.v[k] + (later ? w->facts.n_offers : 0);
	}
	placing_resources(w);
	w->p.n_jobs = w->n_jobs;
	w->p.cand_start = start;
	w->p.offer = w->takes;
	w->p.cost = w->cost.v;
	w->p.risk = w->risk.v;
	w->p.need = w->need.v;
}

static void
placing_problem(struct placing_work_space *w)
{
	struct cost_estimate *estimates = arena_array(w->a, w->facts.n_offers, sizeof(*estimates));
	size_t *start = arena_array(w->a, w->n_jobs + 1, sizeof(*start));

	w->first = arena_array(w->a, w->facts.n_budgets, sizeof(*w->first));
	w->refusal = arena_array(w->a, w->n_jobs * w->facts.n_offers, sizeof(*w->refusal));
	VEC_PUSH(w->a, &w->more_vec.start, 0);
	for (size_t i = 0; i < w->n_jobs; i++)
		placing_overdue(w, i, estimates);
	if (w->chained) {
		placing_late_early(w);
		placing_due_load(w);
	}
	for (size_t i = 0; i < w->n_jobs; i++)
		placing_candidates_of(w, i, estimates, start);
	placing_program(w, start);
	if (placing_backfill(w, start))
		placing_program(w, start);
	if (w->chained)
		placing_chain(w);
	w->p.penalty = placing_penalties(w, start);
}

/* What binds as a whole, for the record and for the next plan to start from. */
static void
placing_limits_told(struct placing_work_space *w, const struct place_plan *plan,
    const int64_t *left, struct placing *out)
{
	size_t n_uses = w->facts.use_start[w->facts.n_offers];
	VEC(struct placing_bind) v = { 0 };

	for (size_t r = 0; r < w->facts.n_quotas + w->facts.n_budgets; r++) {
		struct placing_bind b = { .shadow = w->raise[r].shadow,
			.more = w->raise[r].more,
			.saves = w->raise[r].saves,
			.dual = plan->shadow[r],
			.left = (double)left[r] };

		if (r < w->facts.n_quotas && w->facts.quotas[r].limit->told != NULL &&
		    !w->facts.quotas[r].refused && b.more == 0 && b.dual == 0)
			continue; /* clouds tell hundreds */
		b.name = placing_resource(w, r, &b.unit);
		if (r < w->facts.n_quotas)
			out->n_quotas++;
		for (size_t u = 0; r < w->facts.n_quotas && u < n_uses; u++)
			b.offers += w->facts.uses[u].quota == r;
		if (r >= w->facts.n_quotas) {
			b.dual *= 1e6;
			b.left /= 1e6;
		}
		VEC_PUSH(w->a, &v, b);
	}
	out->limits = v.v;
	out->n_limits = v.n;
	out->readings = w->facts.readings;
	out->n_readings = w->facts.n_readings;
	out->now = w->o->now;
	out->quota_age_s = w->o->quota_age_s;
}

static const char *
placing_vain(const struct placing_work_space *w)
{
	for (size_t b = 0; b < w->o->n_block; b++) {
		bool hit = false;

		for (size_t j = 0; j < w->facts.n_offers && !hit; j++)
			hit = block_rules_hit(&w->o->block[b], 1, w->facts.offers[j].offer) != NULL;
		if (!hit)
			return w->o->block[b];
	}
	return NULL;
}

static void
placing_ages(const struct placing_work_space *w, struct placing *out)
{
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		int64_t t = w->facts.offers[j].offer->as_of;

		if (t > 0 && (out->oldest_price == 0 || t < out->oldest_price))
			out->oldest_price = t;
		if (t > out->newest_price)
			out->newest_price = t;
	}
}

/* Creates that are out: nobody knows yet what they take. */
static enum berth_code
placing_launches(struct placing_work_space *w, struct store *store, struct berth_err *err)
{
	struct intent *its;
	size_t n;
	enum berth_code rc = store_intent_pending(store, w->a, &its, &n, err);

	w->launches = rc == BERTH_OK ? its : NULL;
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (its[i].kind == INTENT_CREATE)
			w->launches[w->n_launches++] = its[i];
	return rc;
}

/* Of named jobs those that are left: they are the ones to be named when it is made again. */
static enum berth_code
placing_read_inputs(
    const struct placing_work_space *w, struct store *store, bool named, struct berth_err *err)
{
	const char **kept = arena_array(w->a, w->n_jobs, sizeof(*kept));
	struct placing_options o = *w->o;

	for (size_t i = 0; named && i < w->n_jobs; i++)
		kept[i] = w->jobs[i].job.id;
	o.behind = kept + w->n_own;
	o.n_behind = w->n_jobs - w->n_own;
	return placing_inputs(store, &o, kept, named ? w->n_own : 0, w->o->inputs, err);
}

/* All that is read of the store, at one instant. */
static enum berth_code
placing_read(struct placing_work_space *w, struct store *store, const char *const *ids,
    size_t n_ids, struct intent_turn *turn, struct berth_err *err)
{
	enum berth_code rc = store_read_begin(store, err);

	if (rc != BERTH_OK)
		return rc;
	rc = store_intent_last(store, &turn->last, err);
	if (rc == BERTH_OK)
		rc = placing_launches(w, store, err);
	if (rc == BERTH_OK)
		rc = placing_jobs(w, store, ids, n_ids, err);
	if (rc == BERTH_OK && w->o->inputs != NULL)
		rc = placing_read_inputs(w, store, n_ids > 0, err);
	if (rc == BERTH_OK)
		rc = placing_facts_load(
		    store, w->accels, w->o, w->launches, w->n_launches, w->a, &w->facts, err);
	if (rc == BERTH_OK)
		rc = placing_after_load(w, store, err);
	if (rc == BERTH_OK)
		rc = placing_share_load(w, store, err);
	if (rc == BERTH_OK)
		rc = placing_backfill_load(w, store, err);
	if (rc == BERTH_OK)
		rc = placing_last_load(w, store, err);
	store_read_end(store);
	return rc;
}

/* Costs, the bound and who is placed, without those that are only in view. */
static void
placing_sums(const struct placing_work_space *w, const struct place_plan *plan, struct placing *out)
{
	out->total_usd = plan->cost;
	out->placed = plan->placed;
	for (size_t i = 0; i < w->n_jobs; i++) {
		size_t k = plan->chosen[i];
		bool own = i < w->n_own;

		out->bound_usd -= k == PLACE_NONE ? w->p.penalty[i] : own ? 0 : w->cost.v[k];
		if (own || k == PLACE_NONE)
			continue;
		out->total_usd -= w->cost.v[k];
		out->placed--;
	}
	out->bound_usd = fmax(0, out->bound_usd + plan->bound);
	if (w->n_own < w->n_jobs)
		out->total_usd = fmax(0, out->total_usd);
}

/* The plan of what the store holds; w has o, accels, tables, a and keep. */
static enum berth_code
placing_plan(struct placing_work_space *w, struct store *store, const char *const *ids,
    size_t n_ids, struct intent_turn *turn, struct place_plan *plan, struct berth_err *err)
{
	struct place_options po = {
		.seed = w->o->seed, .rounds = w->o->rounds, .gap = PLACING_GAP
	};
	enum berth_code rc = placing_read(w, store, ids, n_ids, turn, err);

	if (rc != BERTH_OK)
		return rc;
	placing_problem(w);
	placing_warm(w);
	placing_last(w);
	rc = placing_solve(w, &po, plan, err);
	return rc == BERTH_OK ? rc : err_ctx(err, "placement");
}

static enum berth_code
placing_run_with(struct store *store, const struct accel_table *accels,
    const struct placing_options *o, const char *const *ids, size_t n_ids,
    struct spot_tables *tables, struct arena *a, struct placing *out, struct berth_err *err)
{
	struct placing_work_space first = { .o = o, .accels = accels, .tables = tables, .a = a };
	struct placing_work_space w = first;
	struct place_plan plan;
	int64_t began = time_mono_ms(), *left;
	enum berth_code rc;

	memset(out, 0, sizeof(*out));
	rc = placing_plan(&w, store, ids, n_ids, &out->turn, &plan, err);
	if (rc == BERTH_OK && (first.keep = placing_backfill_missed(&w, &plan)) != NULL) {
		if (o->inputs != NULL)
			buf_free(o->inputs);
		w = first;
		rc = placing_plan(&w, store, ids, n_ids, &out->turn, &plan, err);
	}
	if (rc != BERTH_OK)
		return rc;
	if (w.hold.job != PLACE_NONE && w.n_jobs > 0)
		w.jobs[w.hold.job].kept = plan.chosen[w.hold.job] == PLACE_NONE;
	left = placing_left(&w, &plan);
	placing_raises(&w, &plan, left);
	for (size_t i = 0; i < w.n_own; i++)
		placing_tell(&w, i, &plan, left);
	placing_sums(&w, &plan, out);
	placing_share_tell(&w, &plan, left);
	out->vain = placing_vain(&w);
	out->shares = o->shares == NULL ? NULL : arena_memdup(a, &w.shares, sizeof(w.shares));
	out->jobs = w.jobs;
	out->n_jobs = w.n_own;
	out->optimal = plan.optimal;
	out->by = w.by;
	out->rounds = plan.rounds;
	out->n_offers = w.facts.n_offers;
	placing_limits_told(&w, &plan, left, out);
	placing_ages(&w, out);
	out->solve_s = (double)(time_mono_ms() - began) / 1000;
	return BERTH_OK;
}

enum berth_code
placing_run(struct store *store, const struct accel_table *accels, const struct placing_options *o,
    const char *const *ids, size_t n_ids, struct arena *a, struct placing *out,
    struct berth_err *err)
{
	struct spot_tables own = { 0 };
	enum berth_code rc = placing_run_with(
	    store, accels, o, ids, n_ids, o->tables != NULL ? o->tables : &own, a, out, err);

	spot_tables_free(&own);
	return rc;
}
