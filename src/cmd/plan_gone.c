/* src/cmd/plan_gone.c - offers that can not be had now, and offers that never can.  Floor: cmd. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/plan_join.h"
#include "store/offer_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define GONE_MOST_S (28 * 86400)

static bool
gone_same(const struct place_key *k, const struct offer *x)
{
	return str_eq(k->provider, x->provider) && str_eq(k->region, x->region) &&
	       str_eq(k->zone, x->zone) && str_eq(k->instance_type, x->instance_type) &&
	       str_eq(k->purchase, purchase_name(x->purchase));
}

/* The stretch of readings without any of it that reaches up to the last one; NULL: there is none.
 */
static const struct offer_gap *
gone_gap(const struct plan_options *o, const struct offer *x)
{
	const struct offer_gap *last = NULL;

	for (size_t i = 0; i < o->n_gaps; i++)
		if (gone_same(&o->gaps[i].key, x) &&
		    (last == NULL || o->gaps[i].until > last->until))
			last = &o->gaps[i];
	return last;
}

/* That a provider has none now says nothing of weeks ahead, unless it has had none for as long. */
bool
plan_sold_out(const struct plan_options *o, const struct offer *x)
{
	const struct plan_stale *was = o->was_gone;
	int64_t need = o->horizon_s < GONE_MOST_S ? o->horizon_s : GONE_MOST_S;
	const struct offer_gap *g;

	if (x->available != AVAIL_NO || x->purchase == PURCHASE_RESERVED)
		return false;
	if (was != NULL)
		return was->ids.n > 0 && bsearch(&x->id, was->ids.v, was->ids.n,
					     sizeof(*was->ids.v), plan_id_cmp) != NULL;
	g = gone_gap(o, x);
	return g != NULL && (g->until < o->now ? g->until : o->now) - g->from >= need;
}

void
plan_sold_out_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	size_t n = ps->refused[REFUSE_UNAVAILABLE];

	for (size_t i = 0; i < ps->n_lines; i++) {
		const struct offer *x = ps->offers[i];

		if (ps->plan.use[i].gpus > 0 && ps->lines[i].kind > COMMIT_RESERVED &&
		    x->available == AVAIL_NO)
			plan_add(&ps->because, a,
			    arena_printf(a,
				"sold out now: %s; it counts all the same, as it has been so for "
				"less time than the plan looks ahead",
				ps->names[i]));
	}
	if (n > 0)
		plan_add(&ps->because, a,
		    arena_printf(a, "%zu offer%s left out: sold out at every reading for %s", n,
			n == 1 ? " is" : "s are",
			o->horizon_s < GONE_MOST_S ? "as long as the plan looks ahead"
						   : "four weeks"));
}
