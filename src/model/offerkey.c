#include "model/offerkey.h"

#include <string.h>

#include "util/arena.h"
#include "util/hash.h"

/* Texts of a list are mostly one copy each. */
static int
offerkey_text(const char *x, const char *y)
{
	return x == y ? 0 : strcmp(x, y);
}

int
offerkey_cmp(const struct offer *x, const struct offer *y)
{
	int c;

	if ((c = offerkey_text(x->provider, y->provider)) != 0 ||
	    (c = offerkey_text(x->region, y->region)) != 0 ||
	    (c = offerkey_text(x->zone, y->zone)) != 0 ||
	    (c = offerkey_text(x->instance_type, y->instance_type)) != 0 ||
	    (c = offerkey_text(x->accelerator, y->accelerator)) != 0 ||
	    (c = strcmp(x->currency, y->currency)) != 0)
		return c;
	if (x->accelerator_count != y->accelerator_count)
		return x->accelerator_count < y->accelerator_count ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->purchase != y->purchase)
		return x->purchase < y->purchase ? -1 : 1;
	if (x->term_months != y->term_months)
		return x->term_months < y->term_months ? -1 : 1;
	if (x->payment != y->payment)
		return x->payment < y->payment ? -1 : 1;
	if (x->starts_at != y->starts_at)
		return x->starts_at < y->starts_at ? -1 : 1;
	if ((x->usage.v != 0) !=
	    (y->usage.v != 0)) /* sold in parts beside the plain one: its price may move */
		return x->usage.v == 0 ? -1 : 1;
	return x->ends_at == y->ends_at ? 0 : x->ends_at < y->ends_at ? -1 : 1;
}

static uint64_t
offerkey_mix(uint64_t h, const char *s)
{
	return hash_join(h, hash_fast(s, strlen(s)));
}

uint64_t
offerkey_hash(const struct offer *o)
{
	uint64_t place = hash_join(hash_fast(o->accelerator, strlen(o->accelerator)),
		     (uint64_t)o->accelerator_count),
		 h = place;

	h = offerkey_mix(h, o->provider);
	h = offerkey_mix(h, o->region);
	h = offerkey_mix(h, o->zone);
	h = offerkey_mix(h, o->instance_type);
	h = offerkey_mix(h, o->currency);
	if (o->starts_at != 0 || o->ends_at != 0)
		h = hash_join(hash_join(h, (uint64_t)o->starts_at), (uint64_t)o->ends_at);
	h = hash_join(h, (uint64_t)o->term_months << 32 | (uint64_t)(o->usage.v != 0) << 24 |
			     (uint64_t)o->kind << 16 | (uint64_t)o->purchase << 8 |
			     (uint64_t)o->payment);
	return (place & ~UINT64_C(0xffffffff)) | h >> 32;
}

/* The slot of o, or the free one where it belongs; never full. The lower half of the hash tells
 * offers apart. */
static struct offerkey_slot *
offerkey_slot(struct offerkey_slot *slots, size_t cap, uint64_t hash, const struct offer *v,
    const struct offer *o)
{
	size_t i = (size_t)(hash ^ hash >> 32) & (cap - 1);

	while (slots[i].at != 0 &&
	       (slots[i].hash != hash || offerkey_cmp(&v[slots[i].at - 1], o) != 0))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static struct offerkey_slot *
offerkey_free(struct offerkey_slot *slots, size_t cap, uint64_t hash)
{
	size_t i = (size_t)(hash ^ hash >> 32) & (cap - 1);

	while (slots[i].at != 0)
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static void
offerkey_grow(struct arena *a, struct offerkey_set *set)
{
	size_t cap = set->cap < 8 ? 16 : set->cap * 2;
	struct offerkey_slot *slots = arena_array_of(a, cap, struct offerkey_slot);

	for (size_t i = 0; i < set->cap; i++)
		if (set->slots[i].at != 0)
			*offerkey_free(slots, cap, set->slots[i].hash) = set->slots[i];
	set->slots = slots;
	set->cap = cap;
}

size_t
offerkey_add(struct arena *a, struct offerkey_set *set, const struct offer *v, size_t i)
{
	uint64_t hash = offerkey_hash(&v[i]);
	struct offerkey_slot *s;

	if ((set->n + 1) * 2 > set->cap)
		offerkey_grow(a, set);
	s = offerkey_slot(set->slots, set->cap, hash, v, &v[i]);
	if (s->at == 0) {
		*s = (struct offerkey_slot){ hash, i + 1 };
		set->n++;
	}
	return s->at - 1;
}

size_t
offerkey_find(const struct offerkey_set *set, const struct offer *v, const struct offer *o)
{
	const struct offerkey_slot *s;

	if (set->n == 0)
		return OFFERKEY_NONE;
	s = offerkey_slot(set->slots, set->cap, offerkey_hash(o), v, o);
	return s->at != 0 ? s->at - 1 : OFFERKEY_NONE;
}
