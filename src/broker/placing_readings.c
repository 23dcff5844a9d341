/* What providers say of having an offer: believed for a while, remembered like a lost launch after
 * it. */
#include "config.h"

#include <math.h>

#include "broker/placing_facts.h"
#include "model/block.h"
#include "util/arena.h"
#include "util/strmap.h"

#define PLACING_NONE_HALF_S 21600.0 /* as of lost launches (struct capacity) */

/* The newest word on one place. */
struct placing_reading {
	int64_t at; /* 0: nobody has said anything */
	bool none;
	size_t gap, n_gaps; /* its stretch of the gaps */
};

/* When the word on having it was said: its list's date where that is known, never later than the
 * list was read. */
static int64_t
placing_read_at(const struct offer *o)
{
	if (o->as_of > 0 && (o->read_at == 0 || o->as_of < o->read_at))
		return o->as_of;
	return o->read_at;
}

static struct placing_reading *
placing_reading_of(struct placing_reading *v, size_t *n, struct strmap *map,
    const struct place_key *key, struct arena *a)
{
	char text[PLACING_KEY_SIZE];
	int added;
	size_t at = *strmap_add(a, map, place_key_text(key, text, sizeof(text)), *n, &added);

	*n += added != 0;
	return &v[at];
}

/* Of two lists that said it at once the better one counts: what one account cannot have another
 * may. */
static void
placing_reading_add(struct placing_reading *r, const struct offer *o, int64_t now)
{
	int64_t at = placing_read_at(o);
	bool none = o->available == AVAIL_NO;

	if (o->available == AVAIL_UNKNOWN || at <= 0 || at > now || at < r->at ||
	    (at == r->at && none))
		return;
	r->at = at;
	r->none = none;
}

static void
placing_reading_apply(const struct placing_reading *r, const struct offer_gap *gaps, int64_t now,
    int64_t none_s, struct placing_offer *po)
{
	po->gaps = gaps + r->gap;
	po->n_gaps = r->n_gaps;
	if (!r->none || po->last_won > r->at)
		return;
	po->none_at = r->at;
	if (r->at + none_s > now)
		po->facts.none_until = r->at + none_s;
	else
		po->facts.lost += exp2(-(double)(now - r->at) / PLACING_NONE_HALF_S);
}

void
placing_readings(struct placing_facts *f, const struct offer_gap *gaps, size_t n_gaps,
    int64_t none_s, struct arena *a)
{
	struct placing_reading *v = arena_array(a, f->n_offers + n_gaps, sizeof(*v)),
			       **of = arena_array(a, f->n_offers, sizeof(*of));
	struct strmap map = { 0 };
	size_t n = 0;

	for (size_t j = 0; j < f->n_offers; j++) {
		const struct offer *o = f->offers[j].offer;
		struct place_key key = place_key(o, KEY_OFFER);

		of[j] = placing_reading_of(v, &n, &map, &key, a);
		placing_reading_add(of[j], o, f->now);
	}
	for (size_t g = 0; g < n_gaps; g++) {
		struct placing_reading *r = placing_reading_of(v, &n, &map, &gaps[g].key, a);

		if (r->n_gaps++ == 0)
			r->gap = g;
	}
	for (size_t j = 0; j < f->n_offers; j++)
		placing_reading_apply(
		    of[j], gaps, f->now, none_s > 0 ? none_s : COST_NONE_AGE_S, &f->offers[j]);
}
