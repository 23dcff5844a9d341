/* What is noted of refused offers, for what is told of a job: rules by themselves, and together. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_impl.h"

/* Keeps the ends after the deadline that buy something: sorted by time, each later one cheaper. */
static void
placing_hint_late(struct placing_hint *h, size_t offer, const struct cost_estimate *e)
{
	struct placing_near x = { offer, e->machines, e->total_usd, e->finish, true, 0 };
	size_t at = 0, after;

	while (at < h->n_late && h->late[at].finish <= x.finish)
		at++;
	if (at > 0 && h->late[at - 1].usd <= x.usd)
		return;
	if (at > 0 && h->late[at - 1].finish == x.finish)
		at--;
	for (after = at; after < h->n_late && h->late[after].usd >= x.usd; after++)
		continue;
	if (after == at) {
		if (h->n_late == PLACING_FRONT)
			h->n_late--;
		if (at >= PLACING_FRONT)
			return;
		memmove(h->late + at + 1, h->late + at, (h->n_late - at) * sizeof(x));
		h->n_late++;
	} else {
		memmove(h->late + at + 1, h->late + after, (h->n_late - after) * sizeof(x));
		h->n_late -= after - at - 1;
	}
	h->late[at] = x;
}

const struct placing_quota *
placing_never(
    const struct placing_work_space *w, size_t offer, int64_t need, bool later, size_t *n_out)
{
	const struct placing_quota *first = NULL;

	*n_out = 0;
	for (size_t u = w->facts.use_start[offer]; u < w->facts.use_start[offer + 1]; u++) {
		const struct placing_quota *x = &w->facts.quotas[w->facts.uses[u].quota];

		if (w->facts.uses[u].weight * need <= (later ? x->limit->limit : x->left))
			continue;
		first = first == NULL ? x : first;
		++*n_out;
	}
	return first;
}

bool
placing_over_hour(const struct placing_work_space *w, const struct job *j, size_t offer,
    int64_t machines, bool later)
{
	const struct placing_offer *po = &w->facts.offers[offer];
	double left = placing_hour_left(&w->facts, j, po->account, later);

	return !isnan(left) && (double)machines * placing_hour(po) > left + 4e-7;
}

bool
placing_never_fits(const struct placing_work_space *w, size_t offer, int64_t machines, bool later)
{
	size_t over;

	return placing_never(w, offer, machines, later, &over) != NULL;
}

bool
placing_later(const struct placing_work_space *w, size_t i)
{
	return i >= w->n_own || w->after[i] != PLACE_NONE || w->early[i] > w->o->now;
}

/* Whether a rule behind the one that refused would refuse it as well: then that one alone would
 * change nothing. */
static bool
placing_refused_too(
    const struct placing_work_space *w, size_t i, size_t offer, const struct cost_estimate *e)
{
	const struct placing_offer *po = &w->facts.offers[offer];
	const struct job *j = &w->jobs[i].job;
	double left = placing_budget_left(&w->facts, j, po->account);
	int64_t begin = w->early[i] > w->o->now ? w->early[i] : w->o->now;
	bool later = placing_later(w, i);
	size_t over;

	if (e->refuse < REFUSE_OVER_BUDGET &&
	    (cost_over_budget(j, left, e) || placing_over_hour(w, j, offer, e->machines, later)))
		return true;
	if ((e->refuse < REFUSE_PROBE_FAILED && po->facts.probe_failed) ||
	    (e->refuse < REFUSE_UNAVAILABLE && po->facts.none_until > begin && !po->facts.paid) ||
	    (e->refuse < REFUSE_BLOCKED_UNTIL &&
		e->refuse != REFUSE_PROBE_FAILED && /* that is its hold */
		po->facts.blocked_until > begin))
		return true;
	return e->refuse < REFUSE_NO_QUOTA &&
	       (po->machines < e->machines ||
		   placing_never(w, offer, e->machines, later, &over) != NULL);
}

/* The cheapest alone may have no room beside the other jobs, where the next one has. */
static void
placing_hint_away(struct placing_work_space *w, struct placing_hint *h, enum refuse_code rule,
    const struct placing_near *n)
{
	struct placing_near *least = &h->least[rule];

	if (!least->is || n->usd < least->usd)
		*least = *n;
	VEC_PUSH(w->a, &h->away, ((struct placing_away){ rule, *n }));
}

void
placing_hint_add(struct placing_work_space *w, struct placing_hint *h, const struct job *j,
    size_t offer, const struct cost_estimate *e)
{
	const struct placing_offer *po = &w->facts.offers[offer];
	bool alone = e->refuse >= REFUSE_DEADLINE &&
		     !placing_refused_too(w, (size_t)(h - w->hints), offer, e);
	const struct job_variant *v = j->spec.n_variants > 0 ? &j->spec.variants[e->variant] : NULL;
	double idle =
	    e->refuse == REFUSE_OVER_BUDGET && cost_over_budget(j, NAN, e) ? e->idle_usd : 0;
	double price = cost_hour(po->offer, &po->facts, w->early[h - w->hints], e);

	if (e->refuse == REFUSE_OVER_BUDGET || e->refuse == REFUSE_NO_QUOTA ||
	    e->refuse == REFUSE_NO_CAPACITY)
		VEC_PUSH(w->a, &h->limited,
		    ((struct placing_need){ offer, e->machines, e->total_usd, e->finish }));
	if (alone && e->refuse == REFUSE_DEADLINE)
		placing_hint_late(h, offer, e);
	else if (alone && e->refuse > REFUSE_DEADLINE)
		placing_hint_away(w, h, e->refuse,
		    &(struct placing_near){
			offer, e->machines, e->total_usd, e->finish, true, idle });

	if (e->refuse == REFUSE_GANG && po->offer->accelerator_count > h->most_count) {
		h->most_count = po->offer->accelerator_count;
		h->need_count = v->count_min;
	} else if (e->refuse == REFUSE_MEMORY) {
		placing_hint_memory(h, po, v);
	} else if (e->refuse == REFUSE_DEADLINE &&
		   (h->first_finish == 0 || e->finish < h->first_finish ||
		       (e->finish == h->first_finish && e->total_usd < h->first_finish_usd))) {
		h->first_finish = e->finish;
		h->first_finish_usd = e->total_usd;
	} else if (e->refuse == REFUSE_OVER_BUDGET &&
		   (h->least_usd == 0 || e->total_usd < h->least_usd)) {
		h->least_usd = e->total_usd;
		h->least_offer = offer;
		h->least_machines = e->machines;
		h->least_idle_usd = idle;
	} else if (e->refuse == REFUSE_MAX_PRICE &&
		   (h->least_price == 0 || price < h->least_price)) {
		h->least_price = price;
	} else if ((e->refuse == REFUSE_BLOCKED_UNTIL || e->refuse == REFUSE_PROBE_FAILED) &&
		   (h->free_at == 0 || po->facts.blocked_until < h->free_at)) {
		h->free_at = po->facts.blocked_until;
	} else if (e->refuse == REFUSE_UNAVAILABLE &&
		   (h->none == NULL || po->facts.none_until < h->none->facts.none_until)) {
		h->none = po;
	}
}
