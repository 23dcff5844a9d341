#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/spot_impl.h"

static const char *const spot_policy_names[SPOT_POLICY_COUNT] = { "on_demand", "greedy",
	"uniform_progress", "berth" };

const char *
spot_policy_name(enum spot_policy p)
{
	return p < SPOT_POLICY_COUNT ? spot_policy_names[p] : "unknown";
}

void
spot_ages(const uint8_t *up, size_t n, int32_t *age_out)
{
	for (size_t t = 0; t < n; t++)
		age_out[t] = t == 0 || up[t] != up[t - 1] ? 0 : age_out[t - 1] + 1;
}

void
spot_union(const struct spot_zone *zones, size_t n_zones, size_t n, uint8_t *up_out)
{
	memset(up_out, 0, n);
	for (size_t z = 0; z < n_zones; z++)
		for (size_t t = 0; t < n; t++)
			up_out[t] |= zones[z].up[t];
}

/* A job in the making. */
struct spot_state {
	enum spot_mode mode;
	size_t zone;
	int changeover_left, work;
	int region;   /* where its state lies */
	bool locked;  /* the safety net holds it on demand to the end */
	int vain;     /* spot launches in a row that were lost before they brought anything */
	bool in_vain; /* the launch that runs has brought nothing so far */
	double owed;  /* paid so far over on demand for the same work without a launch */
};

size_t
spot_longest_zone(const struct spot_world *w, size_t t)
{
	size_t best = w->n_zones;
	double most = -INFINITY;

	for (size_t z = 0; z < w->n_zones; z++) {
		double score;

		if (!w->zones[z].up[t] || !spot_pays(w, z, t))
			continue;
		score = w->score == NULL ? -(double)z
					 : w->score[z][spot_bucket(w->zones[z].age[t], w->edge)];
		if (best == w->n_zones || score > most) {
			most = score;
			best = z;
		}
	}
	return best;
}

/* Where prices differ, the cheapest all in all; else for a policy with scores that with the longest
 * run, or the first. */
static size_t
spot_best_zone(
    const struct spot_world *w, size_t t, const struct spot_setting *s, const struct spot_state *st)
{
	return w->market != NULL ? spot_cheapest_zone(w, t, s, st->region, st->work)
				 : spot_longest_zone(w, t);
}

/* Rules without a table; left: ticks to the deadline; any: spot can be taken. */
static enum spot_action
spot_simple(enum spot_policy policy, const struct spot_setting *s, struct spot_state *st, int left,
    bool any)
{
	double done = s->work - st->work,
	       planned = (double)(s->deadline - left) * s->work / s->deadline;
	bool on_spot = st->mode == SPOT_HAS_SPOT;
	enum spot_action a;

	if (policy == SPOT_POLICY_ON_DEMAND)
		return SPOT_ON_DEMAND;
	if (on_spot || any)
		a = SPOT_TAKE;
	else if (policy == SPOT_POLICY_GREEDY)
		a = SPOT_WAIT;
	else
		a = st->mode == SPOT_HAS_ON_DEMAND || done < planned ? SPOT_ON_DEMAND : SPOT_WAIT;
	/* The safety net: on demand to the end where another changeover would be too many. */
	if (st->locked || (!on_spot && left <= st->work + 2 * s->changeover) ||
	    (on_spot && left <= st->work + s->changeover && st->changeover_left > 0)) {
		st->locked = true;
		a = SPOT_ON_DEMAND;
	}
	return a;
}

static double
spot_must_stand(const struct spot_world *w, size_t t, const struct spot_setting *s,
    const struct spot_state *st, enum spot_mode mode, size_t zone)
{
	bool on_demand = mode == SPOT_HAS_ON_DEMAND;
	int vain = w->thin && st->vain > 0 ? SPOT_VAIN : st->vain;

	return spot_stand(s->changeover, zone == w->n_zones ? s->price : spot_price(w, zone, t, s),
	    on_demand, vain, st->owed + (on_demand ? st->changeover_left - s->changeover : 0));
}

/* What the rule is asked about: the machine that the job has, or the zone that it would take. */
static struct spot_now
spot_now_of(const struct spot_world *w, size_t t, const struct spot_setting *s,
    const struct spot_state *st, size_t zone, int left)
{
	struct spot_now n = { .left = left,
		.work = st->work,
		.mode = st->mode,
		.changeover_left = st->changeover_left,
		.up = zone != w->n_zones };

	n.age = n.up ? w->zones[zone].age[t] : spot_any_zone(w)->age[t];
	n.stood = n.up ? w->zones[zone].age[t] : 0;
	n.stand = spot_must_stand(w, t, s, st, st->mode, zone);
	/* No more in vain: of a pool, in which others come and go too, only that zone's own runs
	 * tell enough. */
	n.lasts = n.up && w->n_zones > 1 && st->vain >= SPOT_VAIN ? spot_zone_lasts(w, zone, t) : 0;
	return n;
}

/* Can spot be had, so far as the rule believes it? */
static bool
spot_any(enum spot_policy policy, const struct spot_world *w, size_t t,
    const struct spot_setting *s, const struct spot_state *st)
{
	size_t zone;
	double stand;

	if (policy != SPOT_POLICY_BERTH)
		return w->market == NULL ? w->any->up[t] != 0
					 : spot_best_zone(w, t, s, st) != w->n_zones;
	zone = spot_best_zone(w, t, s, st);
	if (zone == w->n_zones)
		return false;
	stand = spot_must_stand(w, t, s, st, st->mode, zone);
	/* Nothing else tells how long spot lasts here: one launch in vain is enough. */
	if (st->vain > 0)
		stand = fmax(stand, s->changeover);
	return w->zones[zone].age[t] >= stand;
}

static enum spot_action
spot_tabled(const struct spot_table *table, const struct spot_world *w, size_t t,
    const struct spot_setting *s, struct spot_state *st, int left)
{
	size_t best = spot_best_zone(w, t, s, st);
	struct spot_now n = spot_now_of(
			    w, t, s, st, st->mode == SPOT_HAS_SPOT ? st->zone : best, left),
			there;
	enum spot_action a;

	if (w->market == NULL)
		return spot_rule(table, &n);
	if (st->mode != SPOT_HAS_SPOT)
		return spot_rule(spot_table_at(w, table,
				     best == w->n_zones ? s->price : spot_price(w, best, t, s)),
		    &n);
	a = spot_rule(spot_table_at(w, table, spot_price(w, st->zone, t, s)), &n);
	/* Another zone, where that pays and the table would launch there now. */
	if (a != SPOT_TAKE || st->changeover_left > 0 || best == w->n_zones || best == st->zone ||
	    !spot_worth_moving(w, t, s, st->zone, best, st->work))
		return a;
	there = n;
	there.mode = SPOT_NOTHING;
	there.changeover_left = 0;
	there.age = there.stood = w->zones[best].age[t];
	there.stand = spot_must_stand(w, t, s, st, SPOT_NOTHING, best);
	if (spot_rule(spot_table_at(w, table, spot_price(w, best, t, s)), &there) == SPOT_TAKE)
		st->mode = SPOT_NOTHING;
	return a;
}

static void
spot_act(enum spot_action a, const struct spot_world *w, size_t t, const struct spot_setting *s,
    struct spot_state *st, int tick, struct spot_run *out)
{
	double paid;
	enum spot_mode want = a == SPOT_TAKE        ? SPOT_HAS_SPOT
			      : a == SPOT_ON_DEMAND ? SPOT_HAS_ON_DEMAND
						    : SPOT_NOTHING;

	if (want != st->mode && want != SPOT_NOTHING) {
		st->changeover_left = s->changeover;
		st->in_vain = true;
		if (want == SPOT_HAS_SPOT) {
			double move;

			st->zone = spot_best_zone(w, t, s, st);
			move = spot_move(w, st->region, st->zone);
			out->moves += move > 0;
			out->cost += move;
			st->owed += move;
			st->region = spot_region(w, st->zone);
		}
		if (out->launches < SPOT_TOLD)
			out->told[out->launches] =
			    (struct spot_launch){ tick, want == SPOT_HAS_SPOT };
		out->launches++;
	}
	st->mode = want;
	if (want == SPOT_NOTHING)
		return;
	paid = want == SPOT_HAS_SPOT ? spot_price(w, st->zone, t, s) : 1;
	out->cost += paid;
	st->owed += paid - (st->changeover_left == 0);
	*(want == SPOT_HAS_SPOT ? &out->spot : &out->on_demand) += 1;
	if (st->changeover_left > 0) {
		st->changeover_left--;
		return;
	}
	st->work--;
	st->in_vain = false;
	if (want == SPOT_HAS_SPOT)
		st->vain = 0;
}

void
spot_replay(enum spot_policy policy, const struct spot_world *w, size_t t0,
    const struct spot_setting *s, const struct spot_table *table, struct spot_run *out)
{
	struct spot_state st = { .mode = SPOT_NOTHING,
		.work = s->work,
		.region = w->market == NULL ? 0 : w->market->home };
	bool dear =
	    w->market == NULL &&
	    s->price >=
		1; /* is never taken: on demand it is, or a rule waits for what never comes */
	int t = 0;

	memset(out, 0, sizeof(*out));
	for (; t < s->deadline && st.work > 0; t++) {
		size_t at = t0 + (size_t)t;
		enum spot_action a;

		if (st.mode == SPOT_HAS_SPOT &&
		    (!w->zones[st.zone].up[at] || spot_price(w, st.zone, at, s) >= 1)) {
			st.mode = SPOT_NOTHING;
			out->lost++;
			st.vain += st.in_vain;
			out->vain = st.vain > out->vain ? st.vain : out->vain;
		}
		if (policy == SPOT_POLICY_BERTH && dear)
			a = SPOT_ON_DEMAND;
		else if (policy == SPOT_POLICY_BERTH && table != NULL)
			a = spot_tabled(table, w, at, s, &st, s->deadline - t);
		else
			a = spot_simple(policy, s, &st, s->deadline - t,
			    !dear && spot_any(policy, w, at, s, &st));
		spot_act(a, w, at, s, &st, t, out);
	}
	out->finish = t;
	out->missed = st.work > 0;
}

#define SPOT_GUARD_STARTS 24

bool
spot_misled(const struct spot_world *w, size_t from, size_t to, const struct spot_setting *s,
    const struct spot_table *table)
{
	double without = 0, tabled = 0;
	size_t room;

	if (to <= from + (size_t)s->deadline + 1)
		return false;
	room = to - from - (size_t)s->deadline - 1;
	for (size_t k = 0; k < SPOT_GUARD_STARTS; k++) {
		size_t t0 = from + room * k / (SPOT_GUARD_STARTS - 1);
		struct spot_run r;

		spot_replay(SPOT_POLICY_BERTH, w, t0, s, NULL, &r);
		without += r.cost;
		spot_replay(SPOT_POLICY_BERTH, w, t0, s, table, &r);
		tabled += r.cost;
	}
	return without < tabled * (1 - SPOT_GUARD);
}
