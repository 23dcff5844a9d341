#include "util/sketch.h"

#include <math.h>
#include <string.h>

#include "util/leb.h"
#include "util/vec.h"

#define SKETCH_VERSION 1
#define SKETCH_LEAST 1e-9
#define SKETCH_INDEX_MAX 35000 /* 1e304 */
#define SKETCH_FACTOR ((1 + SKETCH_ERROR) / (1 - SKETCH_ERROR))

void
sketch_init(struct sketch *s, struct arena *a)
{
	*s = (struct sketch){ .a = a };
}

static int32_t
sketch_index(double value)
{
	double i = ceil(log(value) / log(SKETCH_FACTOR));

	return i < SKETCH_INDEX_MAX ? (int32_t)i : SKETCH_INDEX_MAX;
}

/* Where the bin of this index is or would be. */
static size_t
sketch_find(const struct sketch *s, int32_t i)
{
	size_t lo = 0, hi = s->n;

	if (hi > 0 && s->v[hi - 1].i < i)
		return hi;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->v[mid].i < i)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
sketch_bin_add(struct sketch *s, int32_t i, uint64_t w)
{
	size_t at = sketch_find(s, i);

	if (at == s->n || s->v[at].i != i) {
		s->v = vec_room(s->a, s->v, s->n, &s->cap, sizeof(*s->v));
		memmove(&s->v[at + 1], &s->v[at], (s->n - at) * sizeof(*s->v));
		s->v[at] = (struct sketch_bin){ i, 0 };
		s->n++;
	}
	s->v[at].w += w;
}

void
sketch_add(struct sketch *s, double value, uint64_t weight)
{
	if (weight == 0)
		return;
	if (value < SKETCH_LEAST)
		s->zero += weight;
	else
		sketch_bin_add(s, sketch_index(value), weight);
}

void
sketch_merge(struct sketch *s, const struct sketch *other)
{
	s->zero += other->zero;
	for (size_t k = 0; k < other->n; k++)
		sketch_bin_add(s, other->v[k].i, other->v[k].w);
}

uint64_t
sketch_weight(const struct sketch *s)
{
	uint64_t w = s->zero;

	for (size_t k = 0; k < s->n; k++)
		w += s->v[k].w;
	return w;
}

double
sketch_quantile(const struct sketch *s, double q)
{
	uint64_t all = sketch_weight(s), below = s->zero;
	double want = q * (double)all;

	if (all == 0)
		return (double)NAN;
	if (s->n == 0 || (s->zero > 0 && (double)below >= want))
		return 0;
	for (size_t k = 0; k < s->n; k++) {
		below += s->v[k].w;
		/* The value that is as far, as a share of itself, from both edges of the bin. */
		if ((double)below >= want || k + 1 == s->n)
			return 2 * pow(SKETCH_FACTOR, s->v[k].i) / (SKETCH_FACTOR + 1);
	}
	return 0;
}

static uint64_t
sketch_gcd(uint64_t x, uint64_t y)
{
	while (y != 0) {
		uint64_t rest = x % y;

		x = y;
		y = rest;
	}
	return x;
}

void
sketch_pack(const struct sketch *s, struct buf *out)
{
	uint64_t unit = s->zero;
	int64_t last = 0;

	for (size_t k = 0; k < s->n && unit != 1; k++)
		unit = sketch_gcd(unit, s->v[k].w);
	unit += unit == 0;
	(void)buf_add_char(out, SKETCH_VERSION);
	leb_add(out, unit);
	leb_add(out, s->zero / unit);
	for (size_t k = 0; k < s->n; k++) {
		if (k == 0)
			leb_add_signed(out, s->v[k].i);
		else
			leb_add(out, (uint64_t)(s->v[k].i - last - 1));
		leb_add(out, s->v[k].w / unit);
		last = s->v[k].i;
	}
}

/* w weights of unit; false: more than a sketch may weigh. */
static bool
sketch_weigh(uint64_t unit, uint64_t w, uint64_t *sum)
{
	if (w > SKETCH_WEIGHT_MAX / unit || w * unit > SKETCH_WEIGHT_MAX - *sum)
		return false;
	*sum += w * unit;
	return true;
}

bool
sketch_unpack(const void *bytes, size_t n, struct arena *a, struct sketch *s_out)
{
	const unsigned char *p = bytes, *end = p + n;
	struct sketch s = { .a = a };
	uint64_t unit, w, sum = 0, gap;
	int64_t i = 0;

	if (n == 0 || *p++ != SKETCH_VERSION || !leb_take(&p, end, &unit) || unit == 0 ||
	    unit > SKETCH_WEIGHT_MAX || !leb_take(&p, end, &w) || !sketch_weigh(unit, w, &sum))
		return false;
	s.zero = w * unit;
	while (p < end) {
		if (s.n == 0) {
			if (!leb_take_signed(&p, end, &i))
				return false;
		} else {
			if (!leb_take(&p, end, &gap) || gap > 2 * SKETCH_INDEX_MAX)
				return false;
			i += (int64_t)gap + 1;
		}
		if (i < -SKETCH_INDEX_MAX || i > SKETCH_INDEX_MAX || s.n == SKETCH_BINS_MAX ||
		    !leb_take(&p, end, &w) || w == 0 || !sketch_weigh(unit, w, &sum))
			return false;
		s.v = vec_room(a, s.v, s.n, &s.cap, sizeof(*s.v));
		s.v[s.n++] = (struct sketch_bin){ (int32_t)i, w * unit };
	}
	*s_out = s;
	return true;
}
