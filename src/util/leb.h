/* src/util/leb.h - numbers in as few bytes as they need (LEB128).  Floor: util. */
#ifndef BERTH_UTIL_LEB_H
#define BERTH_UTIL_LEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

static inline void
leb_add(struct buf *out, uint64_t v)
{
	char b[10];
	size_t n = 0;

	do {
		b[n++] = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v != 0);
	(void)buf_add(out, b, n);
}

/* Signed: 0 -1 1 -2 2 ... are 0 1 2 3 4 */
static inline void
leb_add_signed(struct buf *out, int64_t v)
{
	leb_add(out, v < 0 ? ((uint64_t) - (v + 1) << 1) + 1 : (uint64_t)v << 1);
}

/* Moves *p behind the number; false: none there, or longer than 63 bits. */
static inline bool
leb_take(const unsigned char **p, const unsigned char *end, uint64_t *v_out)
{
	uint64_t v = 0;

	for (unsigned shift = 0; *p < end && shift < 63; shift += 7) {
		unsigned char b = *(*p)++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			*v_out = v;
			return true;
		}
	}
	return false;
}

static inline bool
leb_take_signed(const unsigned char **p, const unsigned char *end, int64_t *v_out)
{
	uint64_t v;

	if (!leb_take(p, end, &v))
		return false;
	*v_out = (v & 1) != 0 ? -(int64_t)(v >> 1) - 1 : (int64_t)(v >> 1);
	return true;
}

#endif
