/* Eight bytes at a time, where there is no file for the processor. */
#include "ingest/sacct_row.h"

#ifndef __SSE2__

#include <stdint.h>
#include <string.h>

size_t
sacct_cut(char sep, char *p, char *end, char **part)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f),
		       all = (unsigned char)sep * UINT64_C(0x0101010101010101);
	size_t n = 1;

	part[0] = p;
	while (p < end) {
		size_t len = end - p < 8 ? (size_t)(end - p) : 8;
		uint64_t w = 0;

		memcpy(&w, p, len);
		w ^= all;
		if ((~(((w & low) + low) | w | low)) == 0) { /* no byte is sep */
			p += len;
			continue;
		}
		for (; len > 0; len--, p++) {
			if (*p != sep)
				continue;
			*p = '\0';
			if (n == SACCT_FIELDS_MAX)
				return n + 1;
			part[n++] = p + 1;
		}
	}
	return n;
}

#endif
