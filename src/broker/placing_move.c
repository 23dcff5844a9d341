#include "config.h"

#include <math.h>

#include "broker/placing_impl.h"
#include "model/accel.h"
#include "store/job_rows.h"
#include "store/money_rows.h"
#include "util/arena.h"
#include "util/time.h"

#define PLACING_MOVE_STEP_S INT64_C(600) /* the first other deadline that is asked about */
#define PLACING_MOVE_NEAR_S INT64_C(120) /* as near as the one that turns it is looked for */
#define PLACING_MOVE_FAR_S INT64_C(604800)
#define PLACING_MOVE_TOLD 8 /* moves of a tick of which that is told: each asks some 15 times */

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
	cost_fit(&c, o, accel_find_sized(accels, o->accelerator, o->accelerator_memory_gib),
	    &out->variant, &out->speed, &out->hours);
}

int64_t
placing_move_machines(const struct placing_move *m)
{
	return m->job->spec.n_variants > 0 && m->job->spec.variants[0].nodes > 1
		   ? m->job->spec.variants[0].nodes
		   : 1;
}

/* What the job's machines hold of the budgets is free again when they go, but for the hour that is
 * not written down yet. */
static enum berth_code
placing_move_money(struct placing_work_space *w, struct store *store, const struct placing_move *m,
    struct usd_micro *out, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	*out = (struct usd_micro){ 0 };
	if (w->facts.n_budgets == 0)
		return BERTH_OK;
	rc = store_budget_held(store, m->job->id, out, err);
	out->v -= usd_known(m->in->offer.price)
		      ? placing_move_machines(m) * offer_hour(&m->in->offer, w->o->now).v
		      : out->v;
	out->v = rc == BERTH_OK && out->v > 0 ? out->v : 0;
	return rc;
}

/* sign 1: as if its machines were gone; -1: they are there again. */
static void
placing_move_free(
    struct placing_work_space *w, const struct placing_move *m, int64_t micro, int sign)
{
	int64_t hour = usd_known(m->in->offer.price)
			   ? placing_move_machines(m) * offer_hour(&m->in->offer, w->o->now).v
			   : 0;

	for (size_t b = 0; b < w->facts.n_budgets; b++) {
		struct budget *x = &w->facts.budgets[b];

		if (!budget_scope_hits(
			x->scope, m->in->account, m->job->spec.project, m->job->spec.user))
			continue;
		x->reserved.v -= sign * (x->period == BUDGET_HOUR ? hour : micro);
	}
}

static struct placing_change *
placing_move_change(struct placing_work_space *w, struct placing_move *m, const char *what)
{
	struct placing_change *all = arena_array(w->a, m->n_changes + 1, sizeof(*all));

	for (size_t i = 0; i < m->n_changes; i++)
		all[i] = m->changes[i];
	all[m->n_changes] = (struct placing_change){
		.what = what, .subject = "", .offer = "", .from = NAN, .to = NAN, .usd = NAN
	};
	m->changes = all;
	return &all[m->n_changes++];
}

/* Bare work there, without interruptions and start-up. */
static double
placing_move_bare(const struct cost_estimate *e)
{
	return e->compute_usd / e->expected_hours * e->run_hours + e->egress_usd;
}

/* The best of those that it may go to, or may not by one rule: refuse REFUSE_NOT, and not `but`; or
 * any rule behind the cost. */
static size_t
placing_move_best(const struct placing_work_space *w, const struct placing_move *m,
    const struct cost_estimate *e, bool refused, size_t but)
{
	size_t best = w->facts.n_offers;

	for (size_t k = 0; k < w->facts.n_offers; k++) {
		bool may = e[k].refuse == REFUSE_NOT;

		if (k == but || w->facts.offers[k].offer->purchase != m->to ||
		    (refused ? may || e[k].refuse < REFUSE_DEADLINE : !may))
			continue;
		if (best == w->facts.n_offers || e[k].total_usd < e[best].total_usd)
			best = k;
	}
	return best;
}

/* The price at which the next best would be the best. */
static void
placing_move_price(struct placing_work_space *w, struct placing_move *m,
    const struct cost_estimate *e, size_t next)
{
	double price = usd_to_double(w->facts.offers[next].offer->price),
	       gap = m->next_usd - m->target_usd, to;
	struct placing_change *c;

	if (!(gap >= 0) || !(e[next].compute_usd > gap) || w->facts.offers[next].facts.paid)
		return;
	to = (ceil(price * (1 - gap / e[next].compute_usd) * 1e6 - 1e-3) - 1) / 1e6;
	if (!(to > 0))
		return;
	c = placing_move_change(w, m, "price");
	c->offer = m->next;
	c->from = price;
	c->to = to;
	c->usd = m->target_usd;
	c->text = arena_printf(w->a, "%s at under %.10g USD an hour (%.6g now) would cost less",
	    m->next, to + 1e-6, price);
}

/* One rule keeps it from what costs less of the same kind. */
static void
placing_move_rule(
    struct placing_work_space *w, struct placing_move *m, const struct cost_estimate *e, size_t k)
{
	const struct placing_offer *po = &w->facts.offers[k];
	struct placing_change *c = placing_move_change(w, m, refuse_name(e[k].refuse));
	char t[TIME_FMT_SIZE];

	if (m->binds[0] == '\0') {
		m->binds = refuse_name(e[k].refuse);
		m->binds_usd = m->target_usd - e[k].total_usd;
	}
	c->offer = placing_label(po, e[k].machines, w->a);
	c->usd = e[k].total_usd;
	c->at = e[k].refuse == REFUSE_UNAVAILABLE ? po->facts.none_until
		: e[k].refuse == REFUSE_BLOCKED_UNTIL || e[k].refuse == REFUSE_PROBE_FAILED
		    ? po->facts.blocked_until
		    : 0;
	c->text = arena_printf(w->a, "%s would do the rest for %.2f USD, but is left out%s%s: %s",
	    c->offer, c->usd, c->at > 0 ? " until " : "", c->at > 0 ? time_fmt(t, c->at) : "",
	    refuse_text(e[k].refuse));
}

void
placing_move_tell(struct placing_work_space *w, struct placing_move *m,
    const struct cost_estimate *e, const struct placing_spot *s)
{
	size_t none = w->facts.n_offers, best = placing_move_best(w, m, e, false, none),
	       next = placing_move_best(w, m, e, false, best),
	       kept = placing_move_best(w, m, e, true, none);
	struct placing_work work;

	m->seen = none;
	m->spot = s->outlook;
	m->target = m->next = m->binds = "";
	m->target_usd = m->stay_usd = m->next_usd = m->bound_usd = m->binds_usd = NAN;
	for (size_t k = 0; k < none; k++) {
		int64_t as_of = w->facts.offers[k].offer->as_of;

		if (k != best)
			m->refused[e[k].refuse == REFUSE_NOT ? REFUSE_DEARER : e[k].refuse]++;
		if (e[k].refuse != REFUSE_NOT)
			continue;
		m->bound_usd = fmin(m->bound_usd, placing_move_bare(&e[k]));
		if (as_of > 0 && (m->oldest_as_of == 0 || as_of < m->oldest_as_of))
			m->oldest_as_of = as_of;
	}
	if (best == none)
		return;
	m->target = placing_label(&w->facts.offers[best], e[best].machines, w->a);
	m->target_usd = e[best].total_usd;
	m->price_as_of = w->facts.offers[best].offer->as_of;
	placing_work(w->accels, &m->job->spec, &m->in->offer, &work);
	if (usd_known(m->in->offer.price))
		m->stay_usd = usd_to_double(offer_hour(&m->in->offer, w->o->now)) * work.hours *
			      (1 - m->job->progress) * e[best].machines;
	m->bound_usd = fmin(m->bound_usd, m->stay_usd);
	if (m->to == PURCHASE_ON_DEMAND) {
		m->binds = "deadline";
		m->binds_usd = m->target_usd - m->stay_usd;
	}
	if (next < none) {
		m->next = placing_label(&w->facts.offers[next], e[next].machines, w->a);
		m->next_usd = e[next].total_usd;
		placing_move_price(w, m, e, next);
	}
	if (kept < none && e[kept].total_usd < m->target_usd - 0.005)
		placing_move_rule(w, m, e, kept);
}

/* What the policy says with this deadline: true to leave the machine. */
static bool
placing_move_ask(struct placing_work_space *w, const struct placing_move *m, int64_t deadline,
    struct cost_estimate *e, struct placing_spot *s, enum purchase *to_out)
{
	bool on_spot = m->in->offer.purchase == PURCHASE_SPOT;
	struct placing_has has = { on_spot ? SPOT_HAS_SPOT : SPOT_HAS_ON_DEMAND, m->in->ready, 0 };
	struct job job = *m->job;
	struct cost_job c = { 0 };

	job.spec.deadline = deadline;
	placing_drop_unknown(w, &job);
	placing_want(w, &job, &c);
	placing_estimate(w, &c, 0, true, e);
	placing_spot_advise(&w->facts, &job, e, &has, w->o->now, w->tables, s);
	*to_out = on_spot ? PURCHASE_ON_DEMAND : PURCHASE_SPOT;
	if (!s->applies)
		return false;
	if (on_spot)
		return s->action == SPOT_ON_DEMAND && s->on_demand_sure;
	return s->action == SPOT_TAKE && s->spot_up &&
	       !(s->safety_usd > placing_budget_left(&w->facts, &job, s->account));
}

/*
 * The deadline from which on it would stay: later ones let it keep spot, earlier ones on demand.
 * Found by asking the policy itself, to a minute or two. e is lost.
 */
static void
placing_move_deadline(
    struct placing_work_space *w, struct placing_move *m, double slack_s, struct cost_estimate *e)
{
	int64_t moves = 0, stays = PLACING_MOVE_STEP_S, sign = m->to == PURCHASE_SPOT ? -1 : 1;
	int64_t most = sign > 0 ? PLACING_MOVE_FAR_S : (int64_t)fmax(0, slack_s);
	int64_t deadline = m->by;
	struct placing_change *c;
	struct placing_spot s;
	char t[TIME_FMT_SIZE];
	enum purchase to;

	while (stays <= most && placing_move_ask(w, m, deadline + sign * stays, e, &s, &to)) {
		moves = stays;
		stays *= 2;
	}
	if (stays > most)
		return;
	while (stays - moves > PLACING_MOVE_NEAR_S) {
		int64_t half = moves + (stays - moves) / 2;

		if (placing_move_ask(w, m, deadline + sign * half, e, &s, &to))
			moves = half;
		else
			stays = half;
	}
	c = placing_move_change(w, m, "deadline");
	c->at = deadline + sign * stays;
	c->usd = m->stay_usd;
	c->text = arena_printf(w->a,
	    m->by_of[0] == '\0' ? "a deadline of %s or %s would let it stay where it is"
				: "to end by %s or %s, for those behind it, would let it stay "
				  "where it is",
	    time_fmt(t, c->at), sign > 0 ? "later" : "earlier");
}

void
placing_move_own(struct placing_move *m)
{
	m->by = m->job->spec.deadline;
	m->by_of = "";
	m->by_text = "the deadline";
}

/* True: the policy for spot steers the machine that it has. */
static bool
placing_move_spot(struct placing_work_space *w, struct placing_move *m, bool tell,
    struct cost_estimate *estimates)
{
	bool on_spot = m->in->offer.purchase == PURCHASE_SPOT;
	struct placing_spot s;

	if (!m->runs)
		return on_spot && placing_spot_job(m->job, m->by);
	if (!placing_spot_job(m->job, m->by) || m->in->offer.purchase == PURCHASE_RESERVED ||
	    m->in->offer.paid_until > w->o->now) /* nothing is cheaper than what is paid */
		return false;
	m->move = placing_move_ask(w, m, m->by, estimates, &s, &m->to);
	if (!s.applies && m->by_of[0] != '\0') { /* nothing keeps that: its own may be kept */
		placing_move_own(m);
		if (!placing_spot_job(m->job, m->by))
			return false;
		m->move = placing_move_ask(w, m, m->by, estimates, &s, &m->to);
	}
	if (s.applies && on_spot)
		m->reserve_usd = s.safety_usd;
	if (!m->move)
		return s.applies && on_spot;
	m->why =
	    m->to == PURCHASE_ON_DEMAND
		? arena_printf(w->a,
		      "leaves spot: %s would be lost with this machine (%.0f min to spare)",
		      m->by_text, fmax(0, s.slack_s) / 60)
		: arena_printf(w->a,
		      "leaves on demand: spot is back at %.0f %% of the price, %.0f min to spare%s",
		      100 * s.ratio, s.slack_s / 60,
		      m->by_of[0] == '\0' ? "" : arena_printf(w->a, " for %s", m->by_text));
	placing_move_tell(w, m, estimates, &s);
	if (tell)
		placing_move_deadline(w, m, s.slack_s, estimates);
	return true;
}

/* Queued jobs with deadlines that wait for those that run: *behind_out [*n_out] of *queued_out. */
static enum berth_code
placing_moves_behind(struct store *store, const struct placing_move *moves, size_t n,
    struct arena *a, struct job **queued_out, size_t **behind_out, size_t *n_out,
    struct berth_err *err)
{
	struct job_query q = { .states = JOB_BIT(JOB_QUEUED) };
	const char **ids = arena_array(a, n, sizeof(*ids));
	size_t n_queued = 0;
	enum berth_code rc = store_job_list(store, &q, a, queued_out, &n_queued, err);

	*n_out = 0;
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++)
		ids[i] = moves[i].job->id;
	*behind_out = arena_array(a, n_queued, sizeof(**behind_out));
	*n_out = placing_behind(*queued_out, n_queued, ids, n, false, a, *behind_out);
	return BERTH_OK;
}

enum berth_code
placing_moves(struct store *store, const struct accel_table *accels,
    const struct placing_options *o, struct placing_move *moves, size_t n, struct arena *a,
    struct berth_err *err)
{
	struct spot_tables own = { 0 };
	struct placing_work_space w = {
		.o = o, .accels = accels, .tables = o->tables != NULL ? o->tables : &own, .a = a
	};
	struct cost_estimate *estimates;
	struct job *queued = NULL;
	size_t told = 0, n_behind = 0, *behind = NULL;
	bool matters = false;
	enum berth_code rc =
	    placing_moves_behind(store, moves, n, a, &queued, &behind, &n_behind, err);

	for (size_t i = 0; i < n; i++) {
		moves[i].move = moves[i].late = moves[i].slow = false;
		moves[i].reserve_usd = NAN;
		placing_move_own(&moves[i]);
		matters |= moves[i].by > 0;
	}
	if (rc == BERTH_OK && !matters && n_behind == 0)
		return BERTH_OK;
	if (rc == BERTH_OK)
		rc = placing_facts_load(store, accels, o, NULL, 0, a, &w.facts, err);
	if (rc != BERTH_OK)
		return rc;
	placing_due_moves(&w, moves, n, queued, behind, n_behind);
	estimates = arena_array(a, w.facts.n_offers, sizeof(*estimates));
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (moves[i].by > 0)
			rc = placing_slow_load(store, &moves[i], a, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct usd_micro held;

		rc = placing_move_money(&w, store, &moves[i], &held, err);
		if (rc != BERTH_OK)
			break;
		placing_move_free(&w, &moves[i], held.v, 1);
		if (!placing_move_spot(&w, &moves[i], told < PLACING_MOVE_TOLD, estimates))
			placing_slow(&w, &moves[i], estimates);
		told += moves[i].move;
		placing_move_free(&w, &moves[i], held.v, -1);
	}
	spot_tables_free(&own);
	return rc;
}
