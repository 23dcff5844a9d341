/* src/model/offerkey.h - which rows are the same offer at another time or price.  Floor: model. */
#ifndef BERTH_MODEL_OFFERKEY_H
#define BERTH_MODEL_OFFERKEY_H

#include <stddef.h>
#include <stdint.h>

#include "model/offer.h"

struct arena;

/*
 * An offer's identity: provider, region, zone, instance type, accelerator and its count, currency,
 * kind, purchase, term, payment, and the dates of a block. Not its account: that is the list's.
 */
int offerkey_cmp(const struct offer *x, const struct offer *y);
/* Equal for equal identities; differs between machines. Its upper half is of accelerator and count
 * alone. */
uint64_t offerkey_hash(const struct offer *o);

/* A set of offers by identity. Start with { 0 }; it holds indices into one array of the caller's,
 * which may move. */
struct offerkey_set {
	struct offerkey_slot {
		uint64_t hash;
		size_t at;
	} * slots; /* at: index + 1; 0: free */
	size_t n, cap;
};
#define OFFERKEY_NONE SIZE_MAX
/* Index of the offer in v that is the same as v[i]; i itself, now in the set, if none was. */
size_t offerkey_add(struct arena *a, struct offerkey_set *set, const struct offer *v, size_t i);
/* Index of the offer in v that is the same as o, or OFFERKEY_NONE. */
size_t offerkey_find(const struct offerkey_set *set, const struct offer *v, const struct offer *o);

#endif
