/* src/util/vec.h - a growing array in an arena.  Floor: util. */
#ifndef BERTH_UTIL_VEC_H
#define BERTH_UTIL_VEC_H

#include <stddef.h>

#include "util/arena.h"

/*
 *	VEC(struct offer) offers = { 0 };
 *	VEC_PUSH(a, &offers, o);
 *	for (size_t i = 0; i < offers.n; i++) use(&offers.v[i]);
 *
 * Items are contiguous and may move at a push: keep indices, not pointers. Old blocks stay in the
 * arena, at most as many bytes again as the array has. VEC_ADD gives a pointer to a new zeroed
 * item.
 */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n, cap;                                                                     \
	}
#define VEC_ROOM(a, vec)                                                                           \
	((vec)->v = vec_room((a), (vec)->v, (vec)->n, &(vec)->cap, sizeof(*(vec)->v)))
#define VEC_PUSH(a, vec, ...)                                                                      \
	((void)VEC_ROOM((a), (vec)), (void)((vec)->v[(vec)->n++] = (__VA_ARGS__)))
#define VEC_ADD(a, vec) ((void)VEC_ROOM((a), (vec)), &(vec)->v[(vec)->n++])

/*
 * Room for one item more than n of size bytes: items itself, or a bigger zero-filled copy; *cap
 * is in items.
 */
void *vec_room(struct arena *a, void *items, size_t n, size_t *cap, size_t size);

#endif
