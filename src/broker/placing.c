#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/placing.h"
#include "broker/placing_facts.h"
#include "broker/placing_spot.h"
#include "model/accel.h"
#include "plan/explain.h"
#include "store/job_rows.h"
#include "util/arena.h"
#include "util/strmap.h"
#include "util/time.h"
#include "util/vec.h"

#define PLACING_TRIES 25
#define PLACING_PENALTY 10.0	/* times the dearest candidate: a job is left out only when nothing fits */
#define PLACING_LEVELS 4	/* of priority that outweigh each other by 10 */
#define PLACING_GAP 0.0005
#define PLACING_NOISE 0.03	/* a measured speed closer to the rated one is not worth a word */
#define PLACING_STAY_S 3600	/* an on-demand machine is kept so long before a job moves back to spot */

struct placing_work_space {
	const struct placing_options *o;
	const struct accel_table *accels;
	struct arena *a;
	struct placing_facts facts;
	struct placing_job *jobs;
	struct cost_job *costs;		/* [n_jobs] */
	size_t n_jobs;
	struct place_problem p;
	VEC(size_t) offer;		/* by candidate: index into facts.offers */
	VEC(double) cost;
	VEC(double) risk;
	VEC(int64_t) need;
	VEC(struct cost_estimate) estimate;
	struct placing_hint *hints;	/* [n_jobs] numbers for jobs that are not placed */
	struct placing_spot *spot;	/* [n_jobs] */
	struct spot_tables tables;
	struct job *running;		/* [n_running] jobs that hold machines */
	size_t n_running;
};

/* What comes nearest among the refused offers. */
struct placing_hint {
	int most_count;			/* accelerators of one machine */
	int need_count;
	double most_memory, need_memory;
	int64_t first_finish;		/* of those that miss the deadline */
	double first_finish_usd;
	double least_usd, least_price;	/* of those over the budget, over max_price */
	const char *quota;		/* that the need alone passes */
	int64_t quota_left;
	int64_t free_at;		/* end of the first hold; 0: none */
};

static void
placing_want(struct placing_work_space *w, const struct job *j, struct cost_job *c)
{
	const struct accel **want = arena_array(w->a, j->spec.n_variants, sizeof(*want));

	for (size_t v = 0; v < j->spec.n_variants; v++)
		want[v] = j->spec.variants[v].accelerator[0] == '\0' ? NULL :
		    accel_find(w->accels, j->spec.variants[v].accelerator);
	c->job = j;
	c->want = want;
	if (!accel_precision_parse(j->spec.precision, &c->precision))
		c->precision = PRECISION_BF16;
}

/*
 * A variant with a name that the table lacks would read as "any": it is taken out of the job's copy. Work is told on
 * the first variant, so without that one there is none.
 */
static void
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

static enum berth_code
placing_jobs(struct placing_work_space *w, struct store *store, const char *const *ids, size_t n_ids,
    struct berth_err *err)
{
	struct job_query q = { .states = JOB_BIT(JOB_QUEUED) };
	struct job *rows = NULL;
	enum berth_code rc = BERTH_OK;

	w->n_jobs = n_ids;
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
		struct job *j = &w->jobs[i].job;

		if (n_ids == 0)
			*j = rows[i];
		else
			rc = store_job_get(store, ids[i], w->a, j, err);
		if (rc == BERTH_OK && j->state != JOB_QUEUED)
			rc = err_set(err, BERTH_ENOTFOUND, "job %s is not in the queue: it is %s", j->id,
			    job_state_name(j->state));
		if (rc != BERTH_OK)
			break;
		placing_drop_unknown(w, j);
		placing_want(w, j, &w->costs[i]);
	}
	return rc;
}

static void
placing_hint_add(struct placing_hint *h, const struct job *j, const struct placing_offer *po,
    const struct cost_estimate *e)
{
	const struct job_variant *v = j->spec.n_variants > 0 ? &j->spec.variants[e->variant] : NULL;
	double price = usd_to_double(po->offer->price);

	if (e->refuse == REFUSE_GANG && po->offer->accelerator_count > h->most_count) {
		h->most_count = po->offer->accelerator_count;
		h->need_count = v->count_min;
	} else if (e->refuse == REFUSE_MEMORY && !(po->offer->accelerator_memory_gib <= h->most_memory)) {
		h->most_memory = po->offer->accelerator_memory_gib;
		h->need_memory = v->memory_gib;
	} else if (e->refuse == REFUSE_DEADLINE && (h->first_finish == 0 || e->finish < h->first_finish)) {
		h->first_finish = e->finish;
		h->first_finish_usd = e->total_usd;
	} else if (e->refuse == REFUSE_OVER_BUDGET && (h->least_usd == 0 || e->total_usd < h->least_usd)) {
		h->least_usd = e->total_usd;
	} else if (e->refuse == REFUSE_MAX_PRICE && (h->least_price == 0 || price < h->least_price)) {
		h->least_price = price;
	} else if (e->refuse == REFUSE_BLOCKED_UNTIL &&
	    (h->free_at == 0 || po->facts.blocked_until < h->free_at)) {
		h->free_at = po->facts.blocked_until;
	}
}

/* The quota that one candidate alone would pass; NULL: none. */
static const struct placing_quota *
placing_never(const struct placing_work_space *w, size_t offer, int64_t need)
{
	for (size_t q = 0; q < w->facts.n_quotas; q++) {
		const struct placing_quota *x = &w->facts.quotas[q];

		if (placing_quota_weight(x->limit, w->facts.offers[offer].offer) * need > x->left)
			return x;
	}
	return NULL;
}

/* The job on every offer; what the budgets leave counts, what other jobs take does not. */
static void
placing_estimate(struct placing_work_space *w, const struct cost_job *c, bool spot_leaves, struct cost_estimate *out)
{
	struct cost_limits lim = { .now = w->o->now, .price_age_s = w->o->price_age_s, .need_account = w->o->need_account,
		.spot_leaves = spot_leaves };
	double *left = arena_array(w->a, w->facts.n_accounts, sizeof(*left));

	for (size_t k = 0; k < w->facts.n_accounts; k++)
		left[k] = placing_budget_left(&w->facts, c->job, k);
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		lim.budget_usd = left[w->facts.offers[j].account];
		cost_of(c, w->facts.offers[j].offer, &w->facts.offers[j].facts, &lim, &out[j]);
	}
}

/* Under a deadline: spot while it is safe, on demand when it must be, waiting where that is cheaper. */
static void
placing_apply_spot(struct placing_work_space *w, size_t i, struct cost_estimate *e)
{
	const struct placing_has nothing = { SPOT_NOTHING, 0 };
	struct placing_spot *s = &w->spot[i];

	placing_estimate(w, &w->costs[i], true, e);
	placing_spot_advise(&w->facts, &w->jobs[i].job, e, &nothing, w->o->now, w->a, &w->tables, s);
	if (!s->applies) {
		placing_estimate(w, &w->costs[i], false, e);
		return;
	}
	w->jobs[i].at_risk = s->action == SPOT_ON_DEMAND && !s->on_demand_up;
	if (w->jobs[i].at_risk)
		return;		/* any machine is better than none */
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		enum purchase p = w->facts.offers[j].offer->purchase;

		if (e[j].refuse != REFUSE_NOT)
			continue;
		if (s->action == SPOT_ON_DEMAND && p == PURCHASE_SPOT)
			e[j].refuse = REFUSE_SPOT_LATE;
		else if (s->action == SPOT_WAIT && p == PURCHASE_ON_DEMAND && !w->facts.offers[j].facts.paid)
			e[j].refuse = REFUSE_WAIT_SPOT;
	}
}

static void
placing_candidates_of(struct placing_work_space *w, size_t i, struct cost_estimate *estimates, size_t *start)
{
	struct placing_job *pj = &w->jobs[i];

	if (placing_spot_job(&pj->job))
		placing_apply_spot(w, i, estimates);
	else
		placing_estimate(w, &w->costs[i], false, estimates);
	for (size_t j = 0; j < w->facts.n_offers; j++) {
		const struct placing_offer *po = &w->facts.offers[j];
		const struct placing_quota *never = NULL;
		struct cost_estimate e = estimates[j];

		pj->seen++;
		if (e.refuse == REFUSE_NOT && po->machines < e.machines) {
			e.refuse = REFUSE_NO_CAPACITY;
		} else if (e.refuse == REFUSE_NOT && (never = placing_never(w, j, e.machines)) != NULL) {
			e.refuse = REFUSE_NO_QUOTA;
			w->hints[i].quota = never->limit->name;
			w->hints[i].quota_left = never->left;
		}
		if (e.refuse != REFUSE_NOT) {
			pj->refused[e.refuse]++;
			placing_hint_add(&w->hints[i], &pj->job, po, &e);
			continue;
		}
		VEC_PUSH(w->a, &w->offer, j);
		VEC_PUSH(w->a, &w->cost, e.total_usd);
		VEC_PUSH(w->a, &w->risk, e.risk);
		VEC_PUSH(w->a, &w->need, e.machines);
		VEC_PUSH(w->a, &w->estimate, e);
	}
	start[i + 1] = w->cost.n;
}

/* Resources: machines of paid offers, then the quotas. */
static void
placing_resources(struct placing_work_space *w)
{
	const struct placing_facts *f = &w->facts;
	size_t *use_start = arena_array(w->a, f->n_offers + 1, sizeof(*use_start));
	int64_t *limit = arena_array(w->a, f->n_offers + f->n_quotas, sizeof(*limit));
	VEC(size_t) resource = { 0 };
	VEC(int64_t) weight = { 0 };
	size_t n = f->n_quotas;

	for (size_t q = 0; q < f->n_quotas; q++)
		limit[q] = f->quotas[q].left;
	for (size_t j = 0; j < f->n_offers; j++) {
		if (f->offers[j].machines != PLACE_NO_LIMIT) {
			limit[n] = f->offers[j].machines;
			VEC_PUSH(w->a, &resource, n++);
			VEC_PUSH(w->a, &weight, 1);
		}
		for (size_t q = 0; q < f->n_quotas; q++) {
			int64_t x = placing_quota_weight(f->quotas[q].limit, f->offers[j].offer);

			if (x > 0 && x <= f->quotas[q].left) {	/* a candidate that passes it alone is refused before */
				VEC_PUSH(w->a, &resource, q);
				VEC_PUSH(w->a, &weight, x);
			}
		}
		use_start[j + 1] = resource.n;
	}
	w->p.n_offers = f->n_offers;
	w->p.n_resources = n;
	w->p.use_start = use_start;
	w->p.resource = resource.v;
	w->p.weight = weight.v;
	w->p.limit = limit;
}

static int
placing_cmp_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static double
placing_gpus(const struct job *j)
{
	const struct job_variant *v = j->spec.n_variants > 0 ? &j->spec.variants[0] : NULL;

	return v == NULL ? 0 : (double)(v->count_min * (v->nodes > 1 ? v->nodes : 1));
}

/*
 * GPUs that a job's user would hold with it: those of the user's jobs that run, and of those before it in the queue. Where
 * not all can go, it is the last job of the one who holds most that stays out (max-min fairness between users).
 */
static double *
placing_holds(struct placing_work_space *w)
{
	double *holds = arena_array(w->a, w->n_jobs, sizeof(*holds)), *of = arena_array(w->a, w->n_jobs + w->n_running, sizeof(*of));
	struct strmap users = { 0 };

	for (size_t i = 0; i < w->n_running; i++)
		of[*strmap_add(w->a, &users, w->running[i].spec.user, i, NULL)] += placing_gpus(&w->running[i]);
	for (size_t i = 0; i < w->n_jobs; i++) {
		double *mine = &of[*strmap_add(w->a, &users, w->jobs[i].job.spec.user, w->n_running + i, NULL)];

		*mine += placing_gpus(&w->jobs[i].job);
		holds[i] = *mine;
	}
	return holds;
}

/*
 * Penalty of leaving a job out: above every cost of any job, and more for each higher level of priority; within a level up
 * to twice as much for who holds least.
 */
static double *
placing_penalties(struct placing_work_space *w, const size_t *start)
{
	double *holds = placing_holds(w);
	double *penalty = arena_array(w->a, w->n_jobs, sizeof(*penalty)), most = 1;
	int *level = arena_array(w->a, w->n_jobs, sizeof(*level));
	size_t n = 0;

	for (size_t k = 0; k < start[w->n_jobs]; k++)
		most = fmax(most, w->cost.v[k]);
	for (size_t i = 0; i < w->n_jobs; i++)
		level[i] = w->jobs[i].job.spec.priority;
	qsort(level, w->n_jobs, sizeof(*level), placing_cmp_int);
	for (size_t i = 0; i < w->n_jobs; i++)
		if (n == 0 || level[n - 1] != level[i])
			level[n++] = level[i];
	for (size_t i = 0; i < w->n_jobs; i++) {
		size_t rank = 0;

		while (level[rank] < w->jobs[i].job.spec.priority)
			rank++;
		rank = n - 1 - rank > PLACING_LEVELS - 1 ? 0 : PLACING_LEVELS - 1 - (n - 1 - rank);
		penalty[i] = PLACING_PENALTY * most * pow(10, (double)rank) * (1 + 1 / (1 + holds[i]));
	}
	return penalty;
}

static const char *
placing_label(const struct placing_offer *po, const struct cost_estimate *e, struct arena *a)
{
	const struct offer *o = po->offer;
	const char *place = o->zone[0] != '\0' ? o->zone : o->region;

	const char *speed = isfinite(o->measured) && fabs(o->measured - 1) >= PLACING_NOISE ?
	    arena_printf(a, " (measured at %.2f of its rating)", o->measured) : "";

	return arena_printf(a, "%s%s%s%s%s %s%s%s%s", o->provider, place[0] == '\0' ? "" : " ", place,
	    o->instance_type[0] == '\0' ? "" : " ", o->instance_type, po->facts.paid ? "reserved, paid" :
	    purchase_name(o->purchase), e->machines > 1 ? " x" : "",
	    e->machines > 1 ? arena_printf(a, "%d", e->machines) : "", speed);
}

static const char *
placing_detail(const struct placing_work_space *w, size_t i)
{
	const struct placing_hint *h = &w->hints[i];
	const size_t *r = w->jobs[i].refused;
	char t[TIME_FMT_SIZE];

	if (h->quota != NULL)
		return arena_printf(w->a, "%s has %lld left", h->quota, (long long)h->quota_left);
	if (r[REFUSE_BLOCKED_UNTIL] > 0)
		return arena_printf(w->a, "the first hold ends %s", time_fmt(t, h->free_at));
	if (r[REFUSE_UNAVAILABLE] > 0 || r[REFUSE_PROBE_FAILED] > 0)
		return NULL;
	if (r[REFUSE_OVER_BUDGET] > 0)
		return arena_printf(w->a, "the cheapest costs %.2f USD", h->least_usd);
	if (r[REFUSE_DEADLINE] > 0)
		return arena_printf(w->a, "the first possible end is %s, for %.2f USD", time_fmt(t, h->first_finish),
		    h->first_finish_usd);
	if (r[REFUSE_CANNOT_RESUME] > 0 || r[REFUSE_SPEED_UNKNOWN] > 0)
		return NULL;
	if (r[REFUSE_MAX_PRICE] > 0)
		return arena_printf(w->a, "the cheapest asks %.6g USD an hour", h->least_price);
	if (r[REFUSE_PRICE_STALE] + r[REFUSE_PRICE_UNKNOWN] + r[REFUSE_NO_ACCOUNT] + r[REFUSE_PURCHASE] +
	    r[REFUSE_PROVIDER] + r[REFUSE_RESIDENCY] > 0)
		return NULL;
	if (r[REFUSE_MEMORY] > 0)
		return arena_printf(w->a, "needs %.6g GiB, the most is %.6g", h->need_memory, h->most_memory);
	if (r[REFUSE_GANG] > 0)
		return arena_printf(w->a, "needs %d on one machine, the most on one is %d", h->need_count, h->most_count);
	return NULL;
}

/* Resource -> how the user knows it, and its unit. */
static const char *
placing_resource(const struct placing_work_space *w, size_t r, const char **unit_out)
{
	if (r < w->facts.n_quotas) {
		*unit_out = w->facts.quotas[r].limit->unit;
		return w->facts.quotas[r].limit->name;
	}
	*unit_out = "machine";
	return "owned commitment";
}

/* What the policy for spot under a deadline decided; NULL: it has no say. */
static const char *
placing_spot_text(const struct placing_work_space *w, size_t i)
{
	const struct placing_spot *s = &w->spot[i];
	char by[TIME_FMT_SIZE];

	if (!s->applies)
		return NULL;
	if (w->jobs[i].at_risk)
		return "the deadline is at risk: on demand must run now and none can be had, so any machine is taken";
	if (s->action == SPOT_ON_DEMAND)
		return arena_printf(w->a, "on demand now, for losing a spot machine could break the deadline (%.0f %% of the "
		    "price would be saved)", 100 * (1 - s->ratio));
	time_fmt(by, w->o->now + (int64_t)s->slack_s);
	return arena_printf(w->a, s->action == SPOT_WAIT ? "waits for spot at %.0f %% of the price, on demand from %s at the "
	    "latest" : "spot at %.0f %% of the price, on demand from %s at the latest if it is lost", 100 * s->ratio, by);
}

struct placing_ranked {
	double cost;
	size_t cand;
};

static int
placing_cmp_ranked(const void *a, const void *b)
{
	const struct placing_ranked *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return (x->cand > y->cand) - (x->cand < y->cand);
}

/* The chosen candidate, then the rest by cost at the shadow prices: the order of failover. */
static void
placing_tries(struct placing_work_space *w, size_t i, const struct place_plan *plan)
{
	struct placing_job *pj = &w->jobs[i];
	const struct place_problem *p = &w->p;
	size_t from = p->cand_start[i], n = p->cand_start[i + 1] - from;
	struct placing_ranked *r = arena_array(w->a, n, sizeof(*r));

	if (plan->chosen[i] == PLACE_NONE)
		return;
	for (size_t c = 0; c < n; c++) {
		size_t k = from + c, j = p->offer[k];

		r[c] = (struct placing_ranked){ p->cost[k], k };
		for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
			r[c].cost += (double)p->need[k] * (double)p->weight[u] * plan->shadow[p->resource[u]];
		if (k == plan->chosen[i])
			r[c].cost = -INFINITY;
	}
	qsort(r, n, sizeof(*r), placing_cmp_ranked);
	pj->n_tries = n < PLACING_TRIES ? n : PLACING_TRIES;
	pj->tries = arena_array(w->a, pj->n_tries, sizeof(*pj->tries));
	for (size_t c = 0; c < pj->n_tries; c++)
		pj->tries[c] = (struct placing_try){ w->facts.offers[p->offer[r[c].cand]].offer,
			w->estimate.v[r[c].cand] };
}

static void
placing_explain(struct placing_work_space *w, size_t i, const struct place_plan *plan)
{
	struct placing_job *pj = &w->jobs[i];
	size_t k = plan->chosen[i], r = plan->runner_up[i], b = plan->binds[i], from = w->p.cand_start[i];
	size_t n = w->p.cand_start[i + 1] - from;
	struct explain_job e = { .seen = pj->seen, .refused = pj->refused, .unit = "" };

	for (size_t c = from; c < from + n; c++)
		if (c != k)
			pj->refused[k == PLACE_NONE || w->cost.v[c] < w->cost.v[k] ? REFUSE_NO_CAPACITY : REFUSE_DEARER]++;
	if (k != PLACE_NONE) {
		e.cost = &w->estimate.v[k];
		e.chosen = placing_label(&w->facts.offers[w->offer.v[k]], e.cost, w->a);
	}
	if (r != PLACE_NONE) {
		e.runner_up = placing_label(&w->facts.offers[w->offer.v[r]], &w->estimate.v[r], w->a);
		e.runner_up_usd = w->cost.v[r];
	}
	pj->binds = "";
	if (b != PLACE_NONE) {
		pj->binds = e.binds = placing_resource(w, b, &e.unit);
		pj->shadow = e.shadow = plan->shadow[b];
	}
	if (k == PLACE_NONE && n == 0)
		e.detail = placing_detail(w, i);
	e.spot = placing_spot_text(w, i);
	pj->reason = explain_place(&e, w->a);
}

enum berth_code
placing_run(struct store *store, const struct accel_table *accels, const struct placing_options *o,
    const char *const *ids, size_t n_ids, struct arena *a, struct placing *out, struct berth_err *err)
{
	struct placing_work_space w = { .o = o, .accels = accels, .a = a };
	struct place_options po = { .seed = o->seed, .rounds = o->rounds, .gap = PLACING_GAP };
	struct place_plan plan;
	int64_t began = time_mono_ms();
	struct cost_estimate *estimates;
	size_t *start;
	enum berth_code rc;

	memset(out, 0, sizeof(*out));
	rc = placing_jobs(&w, store, ids, n_ids, err);
	if (rc == BERTH_OK)
		rc = placing_facts_load(store, accels, o, a, &w.facts, err);
	if (rc != BERTH_OK)
		return rc;
	start = arena_array(a, w.n_jobs + 1, sizeof(*start));
	estimates = arena_array(a, w.facts.n_offers, sizeof(*estimates));
	for (size_t i = 0; i < w.n_jobs; i++)
		placing_candidates_of(&w, i, estimates, start);
	placing_resources(&w);
	w.p.n_jobs = w.n_jobs;
	w.p.cand_start = start;
	w.p.offer = w.offer.v;
	w.p.cost = w.cost.v;
	w.p.risk = w.risk.v;
	w.p.need = w.need.v;
	w.p.penalty = placing_penalties(&w, start);
	rc = place_solve(&w.p, &po, a, &plan, err);
	if (rc != BERTH_OK)
		return err_ctx(err, "placement");
	for (size_t i = 0; i < w.n_jobs; i++) {
		placing_tries(&w, i, &plan);
		placing_explain(&w, i, &plan);
		out->bound_usd -= plan.chosen[i] == PLACE_NONE ? w.p.penalty[i] : 0;
	}
	out->jobs = w.jobs;
	out->n_jobs = w.n_jobs;
	out->total_usd = plan.cost;
	out->bound_usd = fmax(0, out->bound_usd + plan.bound);
	out->optimal = plan.optimal;
	out->n_offers = w.facts.n_offers;
	out->solve_s = (double)(time_mono_ms() - began) / 1000;
	return BERTH_OK;
}

void
placing_work(const struct accel_table *accels, const struct job_spec *spec, const struct offer *o,
    struct placing_work *out)
{
	const struct accel *want[16] = { NULL };
	struct job j = { .spec = *spec };
	struct cost_job c = { .job = &j, .want = want };
	size_t n = 0;

	/* Variants whose accelerator the table lacks never fit; more than 16 are not asked for. */
	if (!accel_precision_parse(spec->precision, &c.precision))
		c.precision = PRECISION_BF16;
	for (; n < spec->n_variants && n < sizeof(want) / sizeof(want[0]); n++) {
		if (spec->variants[n].accelerator[0] == '\0')
			continue;
		want[n] = accel_find(accels, spec->variants[n].accelerator);
		if (want[n] == NULL)
			break;
	}
	j.spec.n_variants = n;
	cost_fit(&c, o, accel_find_sized(accels, o->accelerator, o->accelerator_memory_gib), &out->variant, &out->speed,
	    &out->hours);
}

static void
placing_move_of(struct placing_work_space *w, struct placing_move *m, struct cost_estimate *estimates)
{
	bool on_spot = m->in->offer.purchase == PURCHASE_SPOT;
	struct placing_has has = { on_spot ? SPOT_HAS_SPOT : SPOT_HAS_ON_DEMAND, m->in->ready };
	struct job job = *m->job;
	struct cost_job c = { 0 };
	struct placing_spot s;

	m->move = false;
	if (!placing_spot_job(&job) || m->in->offer.purchase == PURCHASE_RESERVED)
		return;
	placing_drop_unknown(w, &job);
	placing_want(w, &job, &c);
	placing_estimate(w, &c, true, estimates);
	placing_spot_advise(&w->facts, &job, estimates, &has, w->o->now, w->a, &w->tables, &s);
	if (!s.applies)
		return;
	if (on_spot && s.action == SPOT_ON_DEMAND && s.on_demand_sure) {
		m->move = true;
		m->to = PURCHASE_ON_DEMAND;
		m->why = arena_printf(w->a, "leaves spot: the deadline would be lost with this machine (%.0f min to spare)",
		    fmax(0, s.slack_s) / 60);
	} else if (!on_spot && s.action == SPOT_TAKE && s.spot_up && w->o->now - m->in->ready >= PLACING_STAY_S) {
		m->move = true;
		m->to = PURCHASE_SPOT;
		m->why = arena_printf(w->a, "leaves on demand: spot is back at %.0f %% of the price, %.0f min to spare",
		    100 * s.ratio, s.slack_s / 60);
	}
}

enum berth_code
placing_moves(struct store *store, const struct accel_table *accels, const struct placing_options *o,
    struct placing_move *moves, size_t n, struct arena *a, struct berth_err *err)
{
	struct placing_work_space w = { .o = o, .accels = accels, .a = a };
	struct cost_estimate *estimates;
	enum berth_code rc = placing_facts_load(store, accels, o, a, &w.facts, err);

	if (rc != BERTH_OK)
		return rc;
	estimates = arena_array(a, w.facts.n_offers, sizeof(*estimates));
	for (size_t i = 0; i < n; i++)
		placing_move_of(&w, &moves[i], estimates);
	return BERTH_OK;
}
