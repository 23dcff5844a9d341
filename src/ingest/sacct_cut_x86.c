/* SSE2: sixteen bytes at a time. */
#include "ingest/sacct_row.h"

#ifdef __SSE2__

#include <emmintrin.h>

size_t
sacct_cut(char sep, char *p, char *end, char **part)
{
	const __m128i all = _mm_set1_epi8(sep);
	size_t n = 1;

	part[0] = p;
	for (; end - p >= 16; p += 16) {
		const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		unsigned hit = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, all));

		if (n >
		    SACCT_FIELDS_MAX - 16) /* there may not be room for all of them: one by one */
			break;
		for (; hit != 0; hit &= hit - 1) {
			char *at = p + __builtin_ctz(hit);

			*at = '\0';
			part[n++] = at + 1;
		}
	}
	for (; p < end; p++) {
		if (*p != sep)
			continue;
		*p = '\0';
		if (n == SACCT_FIELDS_MAX)
			return n + 1;
		part[n++] = p + 1;
	}
	return n;
}

#endif
