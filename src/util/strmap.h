/* src/util/strmap.h - string -> number, in an arena.  Floor: util. */
#ifndef BERTH_UTIL_STRMAP_H
#define BERTH_UTIL_STRMAP_H

#include <stddef.h>

#include "util/arena.h"

/*
 * Start with { 0 }. Values are usually indices into an array of the caller. Open addressing,
 * never shrinks.
 */
struct strmap {
	struct strmap_slot {
		const char *key;
		size_t value;
	} * slots;
	size_t n, cap;
};

/* The place of key's value, NULL if there is none. */
size_t *strmap_get(const struct strmap *m, const char *key);
/*
 * The place of key's value, made with first if it was not there (the key is copied into the
 * arena). Valid until the next strmap_add(). *added_out (may be NULL) says whether it is new.
 */
size_t *strmap_add(
    struct arena *a, struct strmap *m, const char *key, size_t first, int *added_out);

/* The map's own copy of s, made at its first call: equal texts share one. "" is a literal. */
const char *strmap_intern(struct arena *a, struct strmap *m, const char *s);

#endif
