#include "config.h"

#include <math.h>

#include "broker/placing_impl.h"
#include "model/accel.h"
#include "store/money_rows.h"
#include "util/arena.h"

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

/* What the job's machines hold of the budgets is free again when they go, but for the hour that is
 * not written down yet. */
static enum berth_code
placing_move_money(struct placing_work_space *w, struct store *store, const struct placing_move *m,
    struct usd_micro *out, struct berth_err *err)
{
	int64_t machines = m->job->spec.n_variants > 0 && m->job->spec.variants[0].nodes > 1
			       ? m->job->spec.variants[0].nodes
			       : 1;
	enum berth_code rc = BERTH_OK;

	*out = (struct usd_micro){ 0 };
	if (w->facts.n_budgets == 0)
		return BERTH_OK;
	rc = store_budget_held(store, m->job->id, out, err);
	out->v -= usd_known(m->in->offer.price) ? machines * offer_hour(&m->in->offer, w->o->now).v
						: out->v;
	out->v = rc == BERTH_OK && out->v > 0 ? out->v : 0;
	return rc;
}

static void
placing_move_free(struct placing_work_space *w, const struct placing_move *m, int64_t micro)
{
	for (size_t b = 0; b < w->facts.n_budgets; b++)
		if (budget_scope_hits(w->facts.budgets[b].scope, m->in->account,
			m->job->spec.project, m->job->spec.user))
			w->facts.budgets[b].reserved.v -= micro;
}

/* Where it may go, what that costs beside staying, and who was refused. */
static void
placing_move_tell(struct placing_work_space *w, struct placing_move *m,
    const struct cost_estimate *e, const struct placing_spot *s)
{
	size_t best = w->facts.n_offers;
	struct placing_work work;

	m->seen = w->facts.n_offers;
	m->spot = s->outlook;
	m->target = "";
	m->target_usd = m->stay_usd = NAN;
	for (size_t k = 0; k < w->facts.n_offers; k++)
		if (e[k].refuse == REFUSE_NOT && w->facts.offers[k].offer->purchase == m->to &&
		    (best == w->facts.n_offers || e[k].total_usd < e[best].total_usd))
			best = k;
	for (size_t k = 0; k < w->facts.n_offers; k++)
		if (k != best)
			m->refused[e[k].refuse == REFUSE_NOT ? REFUSE_DEARER : e[k].refuse]++;
	if (best < w->facts.n_offers) {
		m->target = placing_label(&w->facts.offers[best], e[best].machines, w->a);
		m->target_usd = e[best].total_usd;
		m->price_as_of = w->facts.offers[best].offer->as_of;
	}
	placing_work(w->accels, &m->job->spec, &m->in->offer, &work);
	if (best < w->facts.n_offers && usd_known(m->in->offer.price))
		m->stay_usd = usd_to_double(offer_hour(&m->in->offer, w->o->now)) * work.hours *
			      (1 - m->job->progress) * e[best].machines;
}

static void
placing_move_of(
    struct placing_work_space *w, struct placing_move *m, struct cost_estimate *estimates)
{
	bool on_spot = m->in->offer.purchase == PURCHASE_SPOT;
	struct placing_has has = { on_spot ? SPOT_HAS_SPOT : SPOT_HAS_ON_DEMAND, m->in->ready };
	struct job job = *m->job;
	struct cost_job c = { 0 };
	struct placing_spot s;

	m->move = false;
	m->reserve_usd = NAN;
	if (!placing_spot_job(&job) || m->in->offer.purchase == PURCHASE_RESERVED ||
	    m->in->offer.paid_until > w->o->now) /* nothing is cheaper than what is paid */
		return;
	placing_drop_unknown(w, &job);
	placing_want(w, &job, &c);
	placing_estimate(w, &c, true, estimates);
	placing_spot_advise(&w->facts, &job, estimates, &has, w->o->now, w->tables, &s);
	if (!s.applies)
		return;
	if (on_spot)
		m->reserve_usd = s.safety_usd;
	if (on_spot && s.action == SPOT_ON_DEMAND && s.on_demand_sure) {
		m->move = true;
		m->to = PURCHASE_ON_DEMAND;
		m->why = arena_printf(w->a,
		    "leaves spot: the deadline would be lost with this machine (%.0f min to spare)",
		    fmax(0, s.slack_s) / 60);
	} else if (!on_spot && s.action == SPOT_TAKE && s.spot_up &&
		   !(s.safety_usd > placing_budget_left(&w->facts, &job, s.account))) {
		m->move = true;
		m->to = PURCHASE_SPOT;
		m->why = arena_printf(w->a,
		    "leaves on demand: spot is back at %.0f %% of the price, %.0f min to spare",
		    100 * s.ratio, s.slack_s / 60);
	}
	if (m->move)
		placing_move_tell(w, m, estimates, &s);
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
	enum berth_code rc = placing_facts_load(store, accels, o, a, &w.facts, err);

	if (rc != BERTH_OK)
		return rc;
	estimates = arena_array(a, w.facts.n_offers, sizeof(*estimates));
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct usd_micro held;

		rc = placing_move_money(&w, store, &moves[i], &held, err);
		if (rc != BERTH_OK)
			break;
		placing_move_free(&w, &moves[i], held.v);
		placing_move_of(&w, &moves[i], estimates);
		placing_move_free(&w, &moves[i], -held.v);
	}
	spot_tables_free(&own);
	return rc;
}
