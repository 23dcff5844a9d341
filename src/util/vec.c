#include <stdint.h>
#include <string.h>

#include "util/vec.h"

void *
vec_room(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap > SIZE_MAX / 2 ? SIZE_MAX : *cap * 2;
	void *p;

	if (n < *cap)
		return items;
	if (more < 8)
		more = 8;
	p = arena_array(a, more, size);
	if (n > 0)
		memcpy(p, items, n * size);
	*cap = more;
	return p;
}
