#include <math.h>

#include "providers/replay/curve.h"

/* Seconds behind start, folded into one period; *base_out is what was taken off. */
static int64_t
curve_fold(const struct curve *c, int64_t t, int64_t *base_out)
{
	int64_t x = t - c->start, k;

	*base_out = c->start;
	if (c->repeat_s <= 0)
		return x;
	k = x >= 0 ? x / c->repeat_s : -((-x + c->repeat_s - 1) / c->repeat_s);
	*base_out = c->start + k * c->repeat_s;
	return x - k * c->repeat_s;
}

/* How many steps begin at or before x. */
static size_t
curve_count(const struct curve *c, int64_t x)
{
	size_t lo = 0, hi = c->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->at[mid] <= x)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

double
curve_at(const struct curve *c, int64_t t)
{
	int64_t base;
	size_t i;

	if (c->n == 0)
		return NAN;
	i = curve_count(c, curve_fold(c, t, &base));
	return c->value[i == 0 ? 0 : i - 1];
}

int64_t
curve_next(const struct curve *c, int64_t t)
{
	int64_t base, x;
	size_t i;

	if (c->n == 0)
		return CURVE_NEVER;
	x = curve_fold(c, t, &base);
	i = curve_count(c, x);
	if (i < c->n && (c->repeat_s <= 0 || c->at[i] < c->repeat_s))
		return base + c->at[i];
	return c->repeat_s > 0 ? base + c->repeat_s : CURVE_NEVER;
}
