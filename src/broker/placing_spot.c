#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_spot.h"
#include "util/arena.h"
#include "util/str.h"

#define PLACING_SPOT_WORK                                                                          \
	1.02 /* machines are up to so much slower than rated without being rejected */
#define PLACING_SPOT_TICK_S 120.0 /* two ticks of cron pass before a decision is acted on */
#define PLACING_SPOT_LOST_S 1800
#define PLACING_SPOT_AGE_S 3600.0 /* of a pool that nothing is known of */

void
placing_spot_life(struct spot_evidence *e, const struct instance *in, int64_t now)
{
	int64_t end = in->gone > 0 ? in->gone : now;

	if (in->ready > 0)
		spot_evidence_add(
		    e, true, (double)(end - in->ready) / 3600, str_eq(in->end_reason, "preempted"));
}

bool
placing_spot_may(const struct job *j)
{
	return j->spec.can_resume && j->spec.purchase_ok[PURCHASE_SPOT] &&
	       j->spec.purchase_ok[PURCHASE_ON_DEMAND];
}

bool
placing_spot_job(const struct job *j, int64_t deadline)
{
	return deadline > 0 && placing_spot_may(j);
}

/* The only rules that time can lift: what passes all others is part of the pool. */
bool
placing_spot_soon(enum refuse_code c)
{
	return c == REFUSE_NOT || c == REFUSE_UNAVAILABLE || c == REFUSE_BLOCKED_UNTIL ||
	       c == REFUSE_PROBE_FAILED;
}

struct placing_spot_pool {
	const struct cost_estimate *best[2]; /* cheapest on demand, spot */
	size_t account;                      /* of the former */
	double start_s;
	struct spot_evidence seen;
	double rate;
	size_t zones;
	int64_t went;   /* the last zone that went, as far as is known */
	double stood_s; /* the longest that a zone that can be asked has been up, likewise */
	double age_s;   /* the same, an hour for one that nothing is known of */
};

/* When spot of the offer's kind and place was last refused, taken back or said to be gone; 0:
 * never, as far as is known. */
static int64_t
placing_spot_went(const struct placing_facts *f, const struct placing_offer *po)
{
	int64_t went = po->last_lost;

	if (po->n_gaps > 0 && po->gaps[po->n_gaps - 1].until > went)
		went = po->gaps[po->n_gaps - 1].until;
	for (size_t i = 0; i < f->n_lives; i++) {
		const struct instance *in = &f->lives[i];

		if (in->gone > went && str_eq(in->end_reason, "preempted") &&
		    str_eq(in->offer.provider, po->offer->provider) &&
		    str_eq(in->offer.region, po->offer->region) &&
		    str_eq(in->offer.zone, po->offer->zone) &&
		    str_eq(in->offer.instance_type, po->offer->instance_type))
			went = in->gone;
	}
	return went;
}

/* Since when it has been away, of one that cannot be asked: its provider has said so since the gap
 * began. */
static int64_t
placing_spot_away(const struct placing_facts *f, const struct placing_offer *po)
{
	const struct offer_gap *last = po->n_gaps > 0 ? &po->gaps[po->n_gaps - 1] : NULL;

	return po->none_at > 0 && last != NULL && last->until >= po->none_at
		   ? last->from
		   : placing_spot_went(f, po);
}

double
placing_spot_stood(const struct placing_facts *f, const struct placing_offer *po, int64_t now)
{
	int64_t went = placing_spot_went(f, po);

	return went == 0 ? INFINITY : (double)(now > went ? now - went : 0);
}

/* Launches of the job on spot in a row, up to the last, that were lost before they brought
 * anything. */
static int
placing_spot_vain(const struct placing_facts *f, const struct job *j)
{
	int n = 0;

	for (size_t i = 0; i < f->n_lives; i++) { /* the newest first */
		const struct instance *in = &f->lives[i];
		bool lost = str_eq(in->end_reason, "preempted") || str_eq(in->end_reason, "lost");

		if (!str_eq(in->job_id, j->id))
			continue;
		if (in->ready > 0 &&
		    (in->gone > 0 ? in->gone : f->now) - in->ready > j->spec.restart_s)
			break;
		n += in->gone > 0 && lost;
	}
	return n;
}

/* Refused for what a budget has left alone: the job could do with it, had it the money. */
static bool
placing_spot_unpaid(const struct job *j, const struct cost_estimate *e)
{
	return e->refuse == REFUSE_OVER_BUDGET &&
	       !(usd_known(j->spec.max_cost) && usd_known(j->cost) &&
		   usd_to_double(j->cost) + e->total_usd + e->idle_usd >
		       usd_to_double(j->spec.max_cost) * (1 + 1e-12));
}

/* What a machine cost over on demand for the work that was done on it, in s on demand; price: of it
 * over on demand. */
static double
placing_spot_over(
    const struct placing_facts *f, const struct instance *in, const struct job *j, double price)
{
	int64_t end = in->gone > 0 ? in->gone : f->now;
	double work = in->ready > 0 ? fmax(0, (double)(end - in->ready - j->spec.restart_s)) : 0;

	return price * fmax(0, (double)(end - in->created)) - work;
}

/* See spot_stand(). The start of a machine on demand that the job still has is the one that it
 * would have paid anyway. */
static double
placing_spot_owed(const struct placing_facts *f, const struct job *j, double price)
{
	double owed = 0;

	for (size_t i = 0; i < f->n_lives; i++)
		if (str_eq(f->lives[i].job_id, j->id))
			owed += placing_spot_over(f, &f->lives[i], j, price);
	for (size_t i = 0; i < f->n_on_demand; i++)
		if (str_eq(f->on_demand[i].job_id, j->id) && f->on_demand[i].gone > 0)
			owed += placing_spot_over(f, &f->on_demand[i], j, 1);
	return owed;
}

static void
placing_spot_offer(const struct placing_facts *f, const struct job *j,
    const struct placing_offer *po, const struct cost_estimate *e, int64_t now,
    struct placing_spot_pool *p, struct placing_spot *out)
{
	int64_t went;
	bool spot = po->offer->purchase == PURCHASE_SPOT;

	if ((!spot && po->offer->purchase != PURCHASE_ON_DEMAND) ||
	    !(placing_spot_soon(e->refuse) || (!spot && placing_spot_unpaid(j, e))))
		return;
	if (p->best[spot] == NULL || e->total_usd < p->best[spot]->total_usd) {
		p->best[spot] = e;
		p->account = spot ? p->account : po->account;
	}
	*(spot ? &out->spot_up : &out->on_demand_up) |=
	    e->refuse == REFUSE_NOT && po->machines >= e->machines;
	if (!spot && out->on_demand_up &&
	    !(po->last_lost > po->last_won && now - po->last_lost < PLACING_SPOT_LOST_S))
		out->on_demand_sure = true;
	p->start_s = fmax(p->start_s, po->start_late_s);
	if (!spot)
		return;
	p->zones++;
	if (isfinite(po->offer->interruption_rate))
		p->rate = isnan(p->rate) ? po->offer->interruption_rate
					 : fmin(p->rate, po->offer->interruption_rate);
	went = placing_spot_away(f, po);
	p->went = went > p->went ? went : p->went;
	if (e->refuse == REFUSE_NOT) {
		double stood = placing_spot_stood(f, po, now);

		p->stood_s = fmax(p->stood_s, stood);
		p->age_s = fmax(p->age_s, isinf(stood) ? PLACING_SPOT_AGE_S : stood);
	}
	if (po->last_lost > 0 && po->last_won > po->last_lost)
		spot_evidence_add(
		    &p->seen, false, (double)(po->last_won - po->last_lost) / 3600, true);
	for (size_t g = 0; g < po->n_gaps; g++)
		spot_evidence_add(&p->seen, false,
		    (double)(po->gaps[g].until - po->gaps[g].from) / 3600, po->gaps[g].back);
}

/* Lives of spot machines of the kinds in the pool. */
static void
placing_spot_lives(const struct placing_facts *f, const struct cost_estimate *estimates,
    int64_t now, struct placing_spot_pool *p)
{
	for (size_t i = 0; i < f->n_lives; i++) {
		const struct instance *in = &f->lives[i];
		bool ours = false;

		for (size_t k = 0; k < f->n_offers && !ours; k++)
			ours = placing_spot_soon(estimates[k].refuse) &&
			       f->offers[k].offer->purchase == PURCHASE_SPOT &&
			       str_eq(f->offers[k].offer->provider, in->offer.provider) &&
			       str_eq(f->offers[k].offer->instance_type, in->offer.instance_type);
		if (ours)
			placing_spot_life(&p->seen, in, now);
	}
}

static double
placing_spot_price(const struct cost_estimate *e)
{
	/* Money of the bare work: what interruptions add is the policy's own business. */
	return e->compute_usd / e->expected_hours * e->busy_hours;
}

void
placing_spot_advise(const struct placing_facts *f, const struct job *j,
    const struct cost_estimate *estimates, const struct placing_has *has, int64_t now,
    struct spot_tables *tables, struct placing_spot *out)
{
	struct placing_spot_pool p = { .rate = NAN };
	struct spot_job s = { .mode = has->mode };
	const struct cost_estimate *od, *spot;
	double turn;

	*out = (struct placing_spot){ .action = SPOT_ON_DEMAND, .instead = SPOT_ON_DEMAND };
	for (size_t k = 0; k < f->n_offers; k++)
		placing_spot_offer(f, j, &f->offers[k], &estimates[k], now, &p, out);
	od = p.best[0];
	spot = p.best[1];
	if (od == NULL || spot == NULL || !(od->compute_usd > 0))
		return;
	placing_spot_lives(f, estimates, now, &p);
	s.work_s = fmax(od->busy_hours, spot->busy_hours) * 3600 * PLACING_SPOT_WORK;
	s.left_s = (double)(j->spec.deadline - (has->from > now ? has->from : now));
	s.changeover_s = p.start_s + (double)(j->spec.restart_s + j->spec.checkpoint_write_s) +
			 PLACING_SPOT_TICK_S;
	s.price = placing_spot_price(spot) / placing_spot_price(od);
	s.rate = p.rate;
	s.zones = p.zones;
	s.is_up = out->spot_up || has->mode == SPOT_HAS_SPOT;
	/* A pool that can be asked has been up for at least as long as any of its zones; one that
	 * cannot, down since the last went. */
	s.age_s = out->spot_up ? p.age_s : p.went > 0 ? (double)(now - p.went) : PLACING_SPOT_AGE_S;
	if (has->mode == SPOT_HAS_SPOT)
		s.age_s = has->since > 0 ? (double)(now - has->since) : 0;
	s.stood_s = p.stood_s;
	out->vain = placing_spot_vain(f, j);
	s.stand_s = out->stand_s = spot_stand(s.changeover_s, s.price,
	    has->mode == SPOT_HAS_ON_DEMAND, out->vain, placing_spot_owed(f, j, s.price));
	if (has->mode != SPOT_NOTHING && has->since == 0)
		s.changeover_left_s = s.changeover_s;
	out->slack_s = spot_job_slack_s(&s);
	out->account = p.account;
	out->rest_usd = od->total_usd;
	/* A launch is lost at most with its changeover and the work since its last write. */
	out->safety_usd = od->total_usd + spot->compute_usd / spot->expected_hours *
					      (s.changeover_s / 3600 + spot->interval_hours);
	out->ratio = s.price;
	if (!(s.price < 1))
		return;
	out->applies = spot_job_decide(&s, &p.seen, tables, &out->action, NULL) == BERTH_OK;
	out->instead = out->action;
	spot_look_ahead(&p.seen, s.is_up, s.age_s / 3600, s.rate, s.zones, &out->outlook);
	out->outlook.left_h = s.left_s / 3600;
	out->outlook.turn_h = NAN;
	if (out->applies && spot_job_turn(&s, &p.seen, tables, &turn, NULL) == BERTH_OK)
		out->outlook.turn_h = turn / 3600 / PLACING_SPOT_WORK;
	if (!out->applies || out->action != SPOT_TAKE || has->mode != SPOT_NOTHING)
		return;
	s.is_up = false;
	s.age_s = 0;
	out->applies = spot_job_decide(&s, &p.seen, tables, &out->instead, NULL) == BERTH_OK;
}
