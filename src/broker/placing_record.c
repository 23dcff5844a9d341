/* What is kept of a placement, and what the next one starts from: its shadow prices and where the
 * jobs were to go. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_impl.h"
#include "plan/explain.h"
#include "broker/quotas.h"
#include "broker/shares.h"
#include "model/record.h"
#include "store/plan_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/strmap.h"

#define PLACING_JSON_MAX ((size_t)1 << 20) /* one decision */
#define PLACING_WARM_S (7 * 86400)         /* older shadow prices tell nothing */

static void
placing_json_offer(struct jsonw *w, const char *key, const struct placing_try *t)
{
	const struct offer *o = t->offer;

	jsonw_begin_object(w, key);
	jsonw_str(w, "provider", o->provider);
	jsonw_str_or_null(w, "account", o->account);
	jsonw_str_or_null(w, "region", o->region);
	jsonw_str_or_null(w, "zone", o->zone);
	jsonw_str_or_null(w, "instance_type", o->instance_type);
	jsonw_str(w, "accelerator", o->accelerator);
	jsonw_int(w, "accelerator_count", o->accelerator_count);
	jsonw_str(w, "purchase", purchase_name(o->purchase));
	jsonw_bool(w, "paid", t->paid);
	if (t->paid)
		jsonw_str(w, "charged_as", purchase_name(PURCHASE_RESERVED));
	jsonw_money(w, "price_per_hour", o->price);
	jsonw_time_or_null(w, "as_of", o->as_of);
	jsonw_int(w, "machines", t->cost.machines);
	jsonw_fixed(w, "expected_cost", t->cost.total_usd, 6);
	jsonw_fixed(w, "reserve", fmax(t->cost.total_usd, t->reserve_usd), 6);
	jsonw_fixed(w, "expected_hours", t->cost.expected_hours, 4);
	jsonw_fixed(w, "egress_cost", t->cost.egress_usd, 6);
	jsonw_fixed(w, "interruption_cost", t->cost.interruption_usd, 6);
	jsonw_fixed(w, "survival", t->cost.survival, 6);
	jsonw_time(w, "expected_finish", t->cost.finish);
	jsonw_end_object(w);
}

void
placing_json_change(struct jsonw *w, const struct placing_change *c)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "what", c->what);
	jsonw_str_or_null(w, "subject", c->subject);
	jsonw_str_or_null(w, "offer", c->offer);
	jsonw_fixed(w, "from", c->from, 6);
	jsonw_fixed(w, "to", c->to, 6);
	jsonw_time_or_null(w, "at", c->at);
	jsonw_fixed(w, "expected_cost", c->usd, 6);
	jsonw_str(w, "text", c->text);
	jsonw_end_object(w);
}

static void
placing_json_ids(struct jsonw *w, const char *key, const char *const *ids, size_t n)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, ids[i]);
	jsonw_end_array(w);
}

/* Whose turn it was. Without shares in berth.yaml: the GPUs that its user would hold with it. */
static void
placing_json_turn(struct jsonw *w, const struct placing *p, const struct placing_job *j)
{
	const struct placing_turn *t = &j->turn;
	size_t o = p->shares == NULL ? SIZE_MAX : shares_owner(p->shares, &j->job);

	jsonw_begin_object(w, "fair_share");
	if (o != SIZE_MAX) {
		const struct share_owner *owner = &p->shares->owners[o];

		jsonw_str(w, "owner", owner->name);
		jsonw_fixed(w, "weight", owner->weight, 6);
		jsonw_fixed(w, "share", shares_share(p->shares, o), 6);
		jsonw_fixed(w, "used_gpu_hours", owner->used, 4);
		jsonw_fixed(w, "used_share", shares_used(p->shares, o), 6);
		jsonw_fixed(w, "coming_gpu_hours", owner->coming, 4);
		jsonw_fixed(w, "counted_gpu_hours", t->counted, 4);
		jsonw_int(w, "turn", (int64_t)t->rank + 1);
		jsonw_bool(w, "urgent", t->urgent);
	} else {
		jsonw_str(w, "owner", j->job.spec.user);
		jsonw_fixed(w, "would_hold_gpus", t->counted, 6);
	}
	placing_json_ids(w, "gave_way_to", t->gave_way_to, t->n_gave_way_to);
	placing_json_ids(w, "went_before", t->went_before, t->n_went_before);
	jsonw_end_object(w);
}

static double
placing_gap(const struct placing *p)
{
	if (p->optimal)
		return 0;
	return p->bound_usd > 0 ? p->total_usd / p->bound_usd - 1 : NAN;
}

static void
placing_json_spot(struct jsonw *w, const struct spot_outlook *o)
{
	jsonw_begin_object(w, "spot");
	jsonw_bool(w, "up", o->up);
	jsonw_fixed(w, "age_hours", o->age_h, 3);
	jsonw_fixed(w, "ends_per_hour", o->leave, 6);
	jsonw_int(w, "ends_seen", o->events);
	jsonw_fixed(w, "expected_hours_more", o->more_h, 3);
	jsonw_fixed(w, "back_within_hour", o->back_1h, 6);
	jsonw_fixed(w, "hours_to_deadline", o->left_h, 3);
	if (isnan(o->turn_h))
		jsonw_null(w, "on_demand_above_hours");
	else
		jsonw_fixed(w, "on_demand_above_hours", o->turn_h, 6);
	jsonw_end_object(w);
}

static void
placing_json_nearest(struct jsonw *w, const struct placing_nearest *n)
{
	if (n->offer == NULL) {
		jsonw_null(w, "nearest");
		return;
	}
	jsonw_begin_object(w, "nearest");
	jsonw_str(w, "offer", n->offer);
	jsonw_str(w, "rule", refuse_name(n->rule));
	jsonw_fixed(w, "expected_cost", n->usd, 6);
	jsonw_time(w, "expected_finish", n->finish);
	jsonw_end_object(w);
}

static void
placing_json_egress(struct jsonw *w, const struct placing_egress *x)
{
	if (x->offer == NULL) {
		jsonw_null(w, "cheaper_but_for_egress");
		return;
	}
	jsonw_begin_object(w, "cheaper_but_for_egress");
	jsonw_str(w, "offer", x->offer);
	jsonw_fixed(w, "expected_cost", x->usd, 6);
	jsonw_fixed(w, "egress_cost", x->egress_usd, 6);
	jsonw_fixed(w, "would_save", x->saves_usd, 6);
	jsonw_end_object(w);
}

void
placing_not_taken(struct placing_job *j)
{
	if (j->n_tries == 0)
		return;
	j->nearest = (struct placing_nearest){ j->label, REFUSE_UNAVAILABLE,
		j->tries[0].cost.total_usd, j->tries[0].cost.finish };
	j->n_tries = 0;
}

static void
placing_json_refused(struct jsonw *w, const size_t *refused)
{
	jsonw_begin_object(w, "refused");
	for (size_t c = REFUSE_NOT + 1; c < REFUSE_COUNT; c++)
		if (refused[c] > 0)
			jsonw_int(w, refuse_name((enum refuse_code)c), (int64_t)refused[c]);
	jsonw_end_object(w);
}

static void
placing_json_next(struct jsonw *w, const struct placing_move *m)
{
	if (m->next[0] == '\0') {
		jsonw_null(w, "runner_up");
		return;
	}
	jsonw_begin_object(w, "runner_up");
	jsonw_str(w, "offer", m->next);
	jsonw_fixed(w, "expected_cost", m->next_usd, 6);
	jsonw_fixed(w, "extra_cost", m->next_usd - m->target_usd, 6);
	jsonw_end_object(w);
}

void
placing_json_move(struct jsonw *w, const struct placing_move *m)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "reason", m->why);
	jsonw_str(w, "from", purchase_name(m->in->offer.purchase));
	jsonw_str(w, "to", purchase_name(m->to));
	jsonw_int(w, "instance", m->in->id);
	jsonw_fixed(w, "progress", m->job->progress, 6);
	jsonw_time(w, "deadline", m->by);
	if (m->by_of[0] != '\0')
		jsonw_str(w, "deadline_of", m->by_of);
	jsonw_str_or_null(w, "destination", m->target);
	jsonw_fixed(w, "expected_cost", m->target_usd, 6);
	jsonw_fixed(w, "stay_cost", m->stay_usd, 6);
	placing_json_next(w, m);
	jsonw_str_or_null(w, "binds", m->binds);
	jsonw_fixed(w, "shadow_price", m->binds_usd, 6);
	jsonw_int(w, "candidates_seen", (int64_t)m->seen);
	placing_json_refused(w, m->refused);
	jsonw_begin_array(w, "changes");
	for (size_t i = 0; i < m->n_changes; i++)
		placing_json_change(w, &m->changes[i]);
	jsonw_end_array(w);
	if (m->slow) {
		jsonw_time(w, "stay_ends", m->ends);
		jsonw_null(w, "spot");
	} else {
		placing_json_spot(w, &m->spot);
	}
	jsonw_time_or_null(w, "price_as_of", m->price_as_of);
	jsonw_time_or_null(w, "oldest_price", m->oldest_as_of);
	jsonw_fixed(w, "lower_bound", m->bound_usd, 6);
	jsonw_fixed(w, "gap", m->bound_usd > 0 ? m->target_usd / m->bound_usd - 1 : NAN, 6);
	jsonw_end_object(w);
}

/* The quota that by itself refused what came nearest. */
static void
placing_json_quota(struct jsonw *w, const struct placing_short_of *q)
{
	const struct placing_told *t = q->limit == NULL ? NULL : q->limit->told;

	if (q->limit == NULL) {
		jsonw_null(w, "quota");
		return;
	}
	jsonw_begin_object(w, "quota");
	jsonw_str(w, "name", q->limit->name);
	jsonw_str(w, "unit", q->limit->unit);
	jsonw_int(w, "have", q->have);
	jsonw_int(w, "need", q->need);
	jsonw_str(w, "source", t == NULL ? "config" : "provider");
	jsonw_str_or_null(w, "account", q->limit->account);
	jsonw_str_or_null(w, "region", q->limit->region);
	jsonw_time_or_null(w, "as_of", t == NULL ? 0 : t->as_of);
	jsonw_end_object(w);
}

static void
placing_json_readings(struct jsonw *w, const struct placing *p)
{
	jsonw_begin_array(w, "quota_readings");
	for (size_t i = 0; i < p->n_readings; i++) {
		const struct quota_reading *r = &p->readings[i];

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "account", r->account);
		jsonw_str(
		    w, "state", quota_state_name(quota_reading_state(r, p->now, p->quota_age_s)));
		jsonw_time_or_null(w, "as_of", r->as_of);
		jsonw_str_or_null(w, "error", r->error);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

size_t
placing_runner_up(const struct placing_job *j, size_t first)
{
	size_t best = SIZE_MAX;

	for (size_t c = first + 1; c < j->n_tries; c++) {
		const struct placing_try *t = &j->tries[c],
					 *b = best == SIZE_MAX ? NULL : &j->tries[best];

		if (b == NULL ||
		    (t->late == b->late ? t->cost.total_usd < b->cost.total_usd : b->late))
			best = c;
	}
	return best;
}

void
placing_json_job(
    struct jsonw *w, const struct placing *p, const struct placing_job *j, size_t first)
{
	const struct placing_try *chosen = first < j->n_tries ? &j->tries[first] : NULL;
	size_t next = placing_runner_up(j, first);

	jsonw_str(w, "id", j->job.id);
	jsonw_str(w, "name", j->job.spec.name);
	if (chosen != NULL) {
		placing_json_offer(w, "offer", chosen);
		jsonw_time(w, "start", chosen->cost.start);
		jsonw_fixed(w, "expected_cost", chosen->cost.total_usd, 6);
		jsonw_time(w, "expected_finish", chosen->cost.finish);
	} else {
		jsonw_null(w, "offer");
		jsonw_null(w, "start");
		jsonw_null(w, "expected_cost");
		jsonw_null(w, "expected_finish");
	}
	jsonw_str(w, "reason", j->reason);
	if (j->overdue > 0)
		jsonw_time(w, "overdue", j->overdue);
	if (j->by > 0) {
		jsonw_time(w, "must_end", j->by);
		jsonw_str(w, "deadline_of", j->by_of);
	}
	if (next < j->n_tries)
		placing_json_offer(w, "runner_up", &j->tries[next]);
	else
		jsonw_null(w, "runner_up");
	placing_json_nearest(w, &j->nearest);
	placing_json_egress(w, &j->egress);
	placing_json_quota(w, &j->quota);
	jsonw_str_or_null(w, "binds", j->binds);
	jsonw_fixed(w, "shadow_price", j->shadow, 6);
	placing_json_ids(w, "kept_out_by", j->kept_out_by, j->n_kept_out_by);
	jsonw_int(w, "candidates_seen", (int64_t)j->seen);
	placing_json_refused(w, j->refused);
	jsonw_begin_array(w, "changes");
	for (size_t i = 0; i < j->n_changes; i++)
		placing_json_change(w, &j->changes[i]);
	jsonw_end_array(w);
	if (j->spot.leave > 0) {
		placing_json_spot(w, &j->spot);
	}
	placing_json_turn(w, p, j);
	jsonw_time_or_null(w, "price_as_of", j->price_as_of);
	jsonw_time_or_null(w, "oldest_price",
	    j->oldest_as_of == 0 && chosen == NULL ? p->oldest_price : j->oldest_as_of);
	jsonw_fixed(w, "gap", placing_gap(p), 6);
	if (first > 0)
		jsonw_int(w, "refused_by_provider", (int64_t)first);
}

void
placing_json_plan(struct jsonw *w, const struct placing *p)
{
	jsonw_fixed(w, "total_cost", p->total_usd, 6);
	jsonw_fixed(w, "lower_bound", p->bound_usd, 6);
	jsonw_bool(w, "optimal", p->optimal);
	jsonw_fixed(w, "gap", placing_gap(p), 6);
	jsonw_time_or_null(w, "all_done_by", p->by);
	jsonw_int(w, "rounds", (int64_t)p->rounds);
	jsonw_begin_array(w, "limits");
	for (size_t r = 0; r < p->n_limits; r++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", p->limits[r].name);
		jsonw_str(w, "unit", p->limits[r].unit);
		jsonw_fixed(w, "left", p->limits[r].left, 6);
		jsonw_fixed(w, "shadow_price", p->limits[r].shadow, 9);
		jsonw_fixed(w, "more", p->limits[r].more > 0 ? p->limits[r].more : NAN, 2);
		jsonw_fixed(w, "more_saves", p->limits[r].more > 0 ? p->limits[r].saves : NAN, 6);
		jsonw_fixed(w, "search_price", p->limits[r].dual, 9);
		if (r < p->n_quotas)
			jsonw_int(w, "offers", (int64_t)p->limits[r].offers);
		else
			jsonw_null(w, "offers");
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	placing_json_readings(w, p);
	shares_json(w, p->shares);
	jsonw_begin_object(w, "prices");
	jsonw_int(w, "offers", (int64_t)p->n_offers);
	jsonw_time_or_null(w, "oldest", p->oldest_price);
	jsonw_time_or_null(w, "newest", p->newest_price);
	jsonw_end_object(w);
}

/* "; big vCPUs binds, 4 vcpu are left (12 vcpu more would save 3.72 USD)" */
static const char *
placing_binds(const struct placing_bind *b, struct arena *a)
{
	const char *worth = explain_more(b->shadow, b->more, b->saves, b->unit, a);

	return arena_printf(a, "; %s binds, %.6g %s are left%s", b->name, b->left, b->unit, worth);
}

/* "3 of 4 jobs placed for 17.65 USD, optimal", and what binds. */
static const char *
placing_sentence(const struct placing *p, struct arena *a)
{
	double gap = placing_gap(p);
	const char *text = arena_printf(a, "%zu of %zu jobs placed for %.2f USD, %s", p->placed,
	    p->n_jobs, p->total_usd,
	    p->optimal ? p->placed < p->n_jobs
			     ? "optimal: no other placement of these jobs costs less"
			     : "optimal: no other placement costs less"
	    : isfinite(gap)
		? arena_printf(a, "at most %.2f %% above any possible placement", 100 * gap)
		: "no bound is known");

	for (size_t r = 0; r < p->n_limits; r++)
		if (p->limits[r].dual > 0 || p->limits[r].more > 0)
			text = arena_printf(a, "%s%s", text, placing_binds(&p->limits[r], a));
	return text;
}

enum berth_code
placing_text(const struct placing *p, const struct placing_job *j, size_t first, struct buf *out,
    struct berth_err *err)
{
	struct arena *a = arena_new();
	struct jsonw w;
	enum berth_code rc;

	buf_init(out, PLACING_JSON_MAX);
	jsonw_init_buf(&w, out, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	if (j != NULL) {
		placing_json_job(&w, p, j, first);
	} else {
		jsonw_str(&w, "reason", placing_sentence(p, a));
		placing_json_plan(&w, p);
	}
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc != BERTH_OK)
		buf_free(out);
	arena_free(a);
	return rc;
}

enum berth_code
placing_keep(struct store *store, int64_t now, const struct placing *p, const struct placing_job *j,
    size_t first, int64_t *id_out, struct berth_err *err)
{
	struct decision d = { .t = now,
		.kind = j == NULL ? "placement" : "place",
		.subject = j == NULL ? "placement" : j->job.id };
	struct buf b;
	enum berth_code rc = placing_text(p, j, first, &b, err);

	if (rc != BERTH_OK)
		return rc;
	d.json = b.p;
	rc = store_decision_insert(store, &d, id_out != NULL ? id_out : &d.id, err);
	buf_free(&b);
	return rc;
}

static enum berth_code
placing_warm_read(
    struct placing_work_space *w, const struct jsonr *limits, double *warm, struct berth_err *err)
{
	size_t n = w->facts.n_quotas + w->facts.n_budgets;
	enum berth_code rc = BERTH_OK;

	for (size_t x = 0; x < jsonr_len(limits) && rc == BERTH_OK; x++) {
		struct jsonr at = jsonr_at(limits, x);
		const char *name = "", *unit;
		double shadow = 0;

		rc = jsonr_str(&at, "name", &name, err);
		if (rc == BERTH_OK)
			rc = jsonr_double(&at, "shadow_price", &shadow, err);
		if (rc == BERTH_OK) /* an older record has the one price alone */
			rc = jsonr_double(&at, "search_price", &shadow, err);
		for (size_t r = 0; r < n && rc == BERTH_OK; r++)
			if (str_eq(placing_resource(w, r, &unit), name) && shadow > 0)
				warm[r] = r < w->facts.n_quotas ? shadow : shadow / 1e6;
	}
	return rc;
}

enum berth_code
placing_last_load(struct placing_work_space *w, struct store *store, struct berth_err *err)
{
	enum berth_code rc = store_decision_list(
	    store, "placement", "placement", 1, w->a, &w->warm, &w->n_warm, err);

	if (rc == BERTH_OK && w->n_jobs > 0)
		rc = store_decision_last(
		    store, "place", w->o->now - PLACING_WARM_S, w->a, &w->last, &w->n_last, err);
	return rc;
}

void
placing_warm(struct placing_work_space *w)
{
	double *warm = arena_array(w->a, w->p.n_resources, sizeof(*warm));
	const struct decision *d = w->n_warm == 0 ? NULL : &w->warm[0];
	struct jsonr root, limits;
	struct berth_err ignored;
	json_t *tree = NULL;

	if (d == NULL || d->t > w->o->now || w->o->now - d->t > PLACING_WARM_S ||
	    jsonr_parse(d->json, strlen(d->json), "placement", &tree, &ignored) != BERTH_OK)
		return; /* a damaged record is no reason to stand still */
	root = jsonr_root(tree, "placement");
	if (jsonr_array(&root, "limits", &limits, &ignored) == BERTH_OK &&
	    placing_warm_read(w, &limits, warm, &ignored) == BERTH_OK)
		w->p.warm = warm;
	json_decref(tree);
}

/* The job's candidate on the offer that the record names, or PLACE_NONE. */
static size_t
placing_last_candidate(const struct placing_work_space *w, size_t i, const struct jsonr *o)
{
	const char *text[] = { "", "", "", "", "", "", "" };
	static const char *const keys[] = { "provider", "account", "region", "zone",
		"instance_type", "accelerator", "purchase" };
	struct berth_err ignored;
	int64_t count = 0;
	bool paid = false;

	for (size_t x = 0; x < sizeof(keys) / sizeof(keys[0]); x++)
		if (jsonr_str(o, keys[x], &text[x], &ignored) != BERTH_OK)
			return PLACE_NONE;
	if (jsonr_int(o, "accelerator_count", 0, INT32_MAX, &count, &ignored) != BERTH_OK ||
	    jsonr_bool(o, "paid", &paid, &ignored) != BERTH_OK)
		return PLACE_NONE;
	for (size_t k = w->p.cand_start[i]; k < w->p.cand_start[i + 1]; k++) {
		const struct placing_offer *po = &w->facts.offers[w->offer.v[k]];
		const struct offer *x = po->offer;

		if (str_eq(x->instance_type, text[4]) && str_eq(x->region, text[2]) &&
		    str_eq(x->zone, text[3]) && str_eq(x->provider, text[0]) &&
		    str_eq(x->account, text[1]) && str_eq(x->accelerator, text[5]) &&
		    x->accelerator_count == count && str_eq(purchase_name(x->purchase), text[6]) &&
		    po->facts.paid == paid)
			return k;
	}
	return PLACE_NONE;
}

/* Where the decision placed the job. */
static size_t
placing_last_of(const struct placing_work_space *w, size_t i, const struct decision *d)
{
	struct berth_err ignored;
	struct jsonr root, offer;
	json_t *tree = NULL;
	size_t k = PLACE_NONE;

	if (d->t > w->o->now ||
	    jsonr_parse(d->json, strlen(d->json), "place", &tree, &ignored) != BERTH_OK)
		return PLACE_NONE;
	root = jsonr_root(tree, "place");
	offer = jsonr_get(&root, "offer");
	if (!jsonr_none(&offer))
		k = placing_last_candidate(w, i, &offer);
	json_decref(tree);
	return k;
}

void
placing_last(struct placing_work_space *w)
{
	size_t *keep = arena_array(w->a, w->n_jobs, sizeof(*keep));
	struct strmap last = { 0 };

	for (size_t x = 0; x < w->n_last; x++)
		strmap_add(w->a, &last, w->last[x].subject, x, NULL);
	for (size_t i = 0; i < w->n_jobs; i++) {
		const size_t *x = strmap_get(&last, w->jobs[i].job.id);

		keep[i] = x == NULL ? PLACE_NONE : placing_last_of(w, i, &w->last[*x]);
	}
	w->p.keep = keep;
}
