/* SSE2, and where the processor has it POPCNT and the three-operand forms: chosen once at run time.
 */
#include "util/jsonscan.h"

#ifdef __SSE2__

#include <emmintrin.h>
#include <stdbool.h>

#define JSONSCAN_INLINE static inline __attribute__((always_inline))

/* One bit a byte of a block. */
struct jsonscan_masks {
	uint64_t quote, backslash, open, close;
};

JSONSCAN_INLINE uint64_t
jsonscan_equal(const __m128i *v, __m128i c)
{
	uint64_t bits = 0;

	for (int i = 0; i < 4; i++)
		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], c)) << (16 * i);
	return bits;
}

/* The two opening brackets differ in bit 0x20 alone, and so do the two closing ones. */
JSONSCAN_INLINE struct jsonscan_masks
jsonscan_load(const char *p)
{
	const __m128i quote = _mm_set1_epi8('"'), back = _mm_set1_epi8('\\'),
		      low = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
	__m128i v[4], l[4];
	struct jsonscan_masks m;

	for (int i = 0; i < 4; i++) {
		v[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
		l[i] = _mm_or_si128(v[i], low);
	}
	m.quote = jsonscan_equal(v, quote);
	m.backslash = jsonscan_equal(v, back);
	m.open = jsonscan_equal(l, open);
	m.close = jsonscan_equal(l, close);
	return m;
}

/* The bytes that stand behind a backslash which is not itself behind one. Rare: bit by bit. */
static uint64_t
jsonscan_escaped(uint64_t backslash, uint64_t *carry)
{
	uint64_t escaped = *carry;

	*carry = 0;
	for (backslash &= ~escaped; backslash != 0;) {
		uint64_t first = backslash & -backslash;

		if (first >> 63 != 0)
			*carry = 1;
		escaped |= first << 1;
		backslash &= ~(first | first << 1);
	}
	return escaped;
}

/* Each bit: the parity of the bits up to it. A string is where it is odd (Langdale and Lemire,
 * 2019). */
JSONSCAN_INLINE uint64_t
jsonscan_parity(uint64_t x)
{
	x ^= x << 1;
	x ^= x << 2;
	x ^= x << 4;
	x ^= x << 8;
	x ^= x << 16;
	return x ^ x << 32;
}

/* The block in which depth gets 0: where. 64: it does not. */
static size_t
jsonscan_last(struct jsonscan *s, uint64_t open, uint64_t close)
{
	for (uint64_t both = open | close; both != 0; both &= both - 1) {
		uint64_t first = both & -both;

		s->depth += (open & first) != 0 ? 1 : -1;
		if (s->depth == 0)
			return (size_t)__builtin_ctzll(first) + 1;
	}
	return 64;
}

JSONSCAN_INLINE size_t
jsonscan_skip_body(struct jsonscan *s, const char *p, size_t n)
{
	uint64_t in_string = s->in_string, strings;
	size_t i = 0, at;

	for (; i + JSONSCAN_BLOCK <= n && s->depth > 0; i += JSONSCAN_BLOCK) {
		struct jsonscan_masks m = jsonscan_load(p + i);
		int64_t closes;

		if ((m.backslash | s->escaped) != 0)
			m.quote &= ~jsonscan_escaped(m.backslash, &s->escaped);
		strings = jsonscan_parity(m.quote) ^ in_string;
		in_string = -(strings >> 63);
		m.open &= ~strings;
		m.close &= ~strings;
		closes = __builtin_popcountll(m.close);
		if (closes < s->depth) {
			s->depth += __builtin_popcountll(m.open) - closes;
			s->deepest = s->depth > s->deepest ? s->depth : s->deepest;
			continue;
		}
		at = jsonscan_last(s, m.open, m.close);
		if (s->depth == 0) {
			s->in_string = 0;
			s->escaped = 0;
			return i + at;
		}
	}
	s->in_string = in_string;
	return i;
}

__attribute__((target("avx,popcnt,bmi"))) static size_t
jsonscan_skip_avx(struct jsonscan *s, const char *p, size_t n)
{
	return jsonscan_skip_body(s, p, n);
}

static size_t
jsonscan_skip_sse2(struct jsonscan *s, const char *p, size_t n)
{
	return jsonscan_skip_body(s, p, n);
}

size_t
jsonscan_skip(struct jsonscan *s, const char *p, size_t n)
{
	bool more = __builtin_cpu_supports("avx") && __builtin_cpu_supports("popcnt") &&
		    __builtin_cpu_supports("bmi");

	return more ? jsonscan_skip_avx(s, p, n) : jsonscan_skip_sse2(s, p, n);
}

size_t
jsonscan_string(const char *p, size_t n, int *high_out)
{
	const __m128i quote = _mm_set1_epi8('"'), back = _mm_set1_epi8('\\'),
		      control = _mm_set1_epi8(0x1f);

	for (size_t i = 0; i < n; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		__m128i ends = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, back));
		__m128i is = _mm_or_si128(ends, _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
		unsigned stop = (unsigned)_mm_movemask_epi8(is);
		unsigned high = (unsigned)_mm_movemask_epi8(v);

		if (stop != 0) {
			*high_out |= (high & ((stop & -stop) - 1)) != 0;
			i += (size_t)__builtin_ctz(stop);
			return i < n ? i : n;
		}
		*high_out |= high != 0;
	}
	return n;
}

size_t
jsonscan_blank(const char *p, size_t n)
{
	const __m128i space = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'),
		      lf = _mm_set1_epi8('\n');
	const __m128i cr = _mm_set1_epi8('\r');

	for (size_t i = 0; i < n; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		__m128i is =
		    _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, space), _mm_cmpeq_epi8(v, tab)),
			_mm_or_si128(_mm_cmpeq_epi8(v, lf), _mm_cmpeq_epi8(v, cr)));
		unsigned stop = ~(unsigned)_mm_movemask_epi8(is) & 0xffffu;

		if (stop != 0) {
			i += (size_t)__builtin_ctz(stop);
			return i < n ? i : n;
		}
	}
	return n;
}

#endif
