/* Machines on which a deadline is lost, by their probe or by the progress of the job, and what
 * would keep it. */
#include "config.h"

#include <math.h>

#include "broker/placing_impl.h"
#include "plan/checkpoint.h"
#include "store/event_rows.h"
#include "store/job_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define SLOW_SURE_S 600.0 /* so long it must have run, ... */
#define SLOW_SURE 0.05    /* ... and this share of all its work, before its progress tells a pace */
#define SLOW_TICK_S 60    /* between ticks where they have not told */
#define SLOW_TICKS 2      /* that pass until another machine is asked for, and starts the job */
#define SLOW_LOST_S 1800  /* an offer that was refused so lately is not counted on */
#define SLOW_MEMORY_S 86400 /* so long a job remembers a machine that it left as too slow */

enum berth_code
placing_slow_load(
    struct store *store, struct placing_move *m, struct arena *a, struct berth_err *err)
{
	struct event_query q = { .type = "job.started", .subject = m->job->id, .limit = 1 };
	struct attempt *at = NULL;
	struct event *e = NULL;
	size_t n_at = 0, n = 0;
	enum berth_code rc = store_attempt_list(store, m->job->id, a, &at, &n_at, err);

	m->from = m->job->progress;
	for (size_t i = 0; rc == BERTH_OK && i < n_at; i++)
		if (at[i].ended == 0 && at[i].instance_id == m->in->id)
			m->from = at[i].progress_start;
	if (rc == BERTH_OK && m->runs)
		rc = store_event_list(store, &q, a, &e, &n, err);
	if (rc == BERTH_OK && m->runs)
		m->started = n > 0 && e[0].t >= m->in->created ? e[0].t : m->in->ready;
	return rc;
}

/* Writes of its checkpoints while it does so much work, s. */
static double
slow_writes(const struct job_spec *s, double work_s)
{
	double every = s->checkpoint_interval_s > 0
			   ? (double)s->checkpoint_interval_s
			   : checkpoint_most_s((double)s->checkpoint_write_s);

	return s->can_resume ? floor(work_s / every * (1 - 1e-12)) * (double)s->checkpoint_write_s
			     : 0;
}

/*
 * When the job is expected to end where it is: by its progress where that tells a pace, else by
 * what the probe measured; 0: not known now. Its progress may come in steps, so that only one that
 * was just made tells it. m->speed becomes what the machine does.
 */
static int64_t
slow_ends(const struct placing_work_space *w, struct placing_move *m)
{
	const struct job_spec *s = &m->job->spec;
	double restart = m->from > 0 ? (double)s->restart_s : 0, ran, left, rated;
	struct placing_work work;

	placing_work(w->accels, s, &m->in->offer, &work);
	rated = work.hours * 3600;
	if (!isfinite(rated))
		return 0;
	m->speed = isfinite(m->speed) && m->speed > 0 ? m->speed : 1;
	if (!(m->told > m->from)) {
		left = rated / m->speed * (1 - m->from);
		return (m->runs ? m->started : w->o->now) +
		       (int64_t)ceil(restart + left + slow_writes(s, left));
	}
	ran = (double)(w->o->now - m->started) - restart;
	if (!m->fresh || ran < SLOW_SURE_S || ran < SLOW_SURE * rated)
		return 0;
	m->speed = (m->told - m->from) * rated / ran;
	return w->o->now + (int64_t)ceil((1 - m->told) * ran / (m->told - m->from));
}

/* sign 1: as if its machines were gone; -1: they are there again. */
static void
slow_quota(struct placing_work_space *w, const struct placing_move *m, int sign)
{
	for (size_t q = 0; q < w->facts.n_quotas; q++)
		w->facts.quotas[q].left +=
		    sign * placing_move_machines(m) *
		    placing_quota_held(w->facts.quotas[q].limit, &m->in->offer, w->o->now);
}

/* What its machines will have cost beyond what is written down, until they are gone. */
static int64_t
slow_owes(const struct placing_move *m, int64_t gone)
{
	struct usd_micro cost;

	if (!usd_known(m->in->offer.price) || !usd_known(m->in->cost) ||
	    offer_cost(&m->in->offer, m->in->created, gone, &cost, NULL) != BERTH_OK)
		return 0;
	return placing_move_machines(m) * (cost.v - m->in->cost.v);
}

/* The job as it would be asked for anew: with what is done and spent by then, and to end early
 * enough for all that a change of machine takes. */
static struct job
slow_asks(const struct placing_work_space *w, const struct placing_move *m)
{
	const struct job_spec *s = &m->job->spec;
	int64_t tick = w->o->tick_s > 0 ? w->o->tick_s : SLOW_TICK_S;
	struct job j = *m->job;

	if (m->runs)
		j.progress = s->can_resume ? fmax(j.progress, isnan(m->told) ? 0 : m->told) : 0;
	if (usd_known(j.cost))
		j.cost.v += slow_owes(m, w->o->now + SLOW_TICKS * tick);
	j.spec.deadline = m->by - SLOW_TICKS * tick - (j.progress > 0 ? s->restart_s : 0) -
			  (m->runs && s->can_resume ? s->checkpoint_write_s : 0);
	return j;
}

/* What cannot be counted on, beside what refuses it anyway. */
static enum refuse_code
slow_refuses(const struct placing_work_space *w, const struct placing_move *m, size_t k,
    const struct cost_estimate *e)
{
	const struct placing_offer *po = &w->facts.offers[k];

	if (e->refuse != REFUSE_NOT)
		return e->refuse;
	if (offer_same_machine(po->offer, &m->in->offer)) /* that one is as slow */
		return REFUSE_DEADLINE;
	if (po->offer->purchase == PURCHASE_SPOT && placing_spot_may(m->job))
		return REFUSE_SPOT_LATE;
	if (po->machines < e->machines)
		return REFUSE_NO_CAPACITY;
	if (placing_never_fits(w, k, e->machines, false))
		return REFUSE_NO_QUOTA;
	return po->last_lost > po->last_won && w->o->now - po->last_lost < SLOW_LOST_S
		   ? REFUSE_BLOCKED_UNTIL
		   : REFUSE_NOT;
}

/* The cheapest offer that keeps the deadline: n_offers: none does. */
static size_t
slow_find(struct placing_work_space *w, const struct placing_move *m, struct cost_estimate *e)
{
	struct job job = slow_asks(w, m);
	size_t best = w->facts.n_offers;
	struct cost_job c = { 0 };

	placing_drop_unknown(w, &job);
	placing_want(w, &job, &c);
	slow_quota(w, m, 1);
	placing_estimate(w, &c, 0, false, e);
	for (size_t k = 0; k < w->facts.n_offers; k++) {
		e[k].refuse = slow_refuses(w, m, k, &e[k]);
		if (e[k].refuse == REFUSE_NOT &&
		    (best == w->facts.n_offers || e[k].total_usd < e[best].total_usd))
			best = k;
	}
	slow_quota(w, m, -1);
	return best;
}

static void
slow_tell(struct placing_work_space *w, struct placing_move *m, size_t best,
    const struct cost_estimate *e)
{
	const struct placing_spot none = { .slack_s = 0 };
	char ends[TIME_FMT_SIZE], by[TIME_FMT_SIZE], then[TIME_FMT_SIZE];

	m->to = w->facts.offers[best].offer->purchase;
	placing_move_tell(w, m, e, &none);
	m->stay_usd /= m->speed;
	if (m->to == PURCHASE_ON_DEMAND)
		m->binds_usd = m->target_usd - m->stay_usd;
	time_fmt(then, e[best].finish + m->by - slow_asks(w, m).spec.deadline);
	m->why = arena_printf(w->a,
	    "%s a machine that is too slow: at %.0f %% of its rating it would end at %s, and %s is "
	    "%s; on %s it ends by %s",
	    m->runs ? "leaves" : "gives back", 100 * m->speed, time_fmt(ends, m->ends), m->by_text,
	    time_fmt(by, m->by), m->target, then);
}

/* With the deadline that stands in m->by. */
static bool
slow_try(struct placing_work_space *w, struct placing_move *m, struct cost_estimate *e)
{
	size_t best;

	if (m->by <= w->o->now || m->ends <= m->by)
		return false;
	m->late = true;
	best = slow_find(w, m, e);
	if (best == w->facts.n_offers)
		return false;
	m->slow = m->move = true;
	slow_tell(w, m, best, e);
	return true;
}

void
placing_slow(struct placing_work_space *w, struct placing_move *m, struct cost_estimate *e)
{
	const char *of = m->by_of, *text = m->by_text;
	int64_t by = m->by;

	if (by <= 0 || (m->ends = slow_ends(w, m)) == 0)
		return;
	if (slow_try(w, m, e) || of[0] == '\0')
		return;
	placing_move_own(m);
	if (m->by > 0 && slow_try(w, m, e))
		return;
	if (m->by > 0 && m->ends > m->by) /* its own is at risk as well, and comes first */
		return;
	m->by = by;
	m->by_of = of;
	m->by_text = text;
}

const struct offer *
placing_slow_met(const struct placing_work_space *w, const struct job *j, const struct offer *o)
{
	const struct placing_facts *f = &w->facts;
	double speed = isfinite(o->measured) && o->measured > 0 ? o->measured : 1, least = speed;
	struct offer *met;

	for (size_t i = 0; placing_begun(j) && i < f->n_lives + f->n_on_demand; i++) {
		const struct instance *in =
		    i < f->n_lives ? &f->lives[i] : &f->on_demand[i - f->n_lives];

		if (str_eq(in->job_id, j->id) && str_eq(in->end_reason, INSTANCE_TOO_SLOW) &&
		    w->o->now - in->created < SLOW_MEMORY_S && in->speed > 0 &&
		    offer_same_machine(o, &in->offer))
			least = fmin(least, in->speed);
	}
	if (!(least < speed))
		return o;
	met = arena_memdup(w->a, o, sizeof(*met));
	met->measured = least;
	return met;
}
