/*
 * Hours and days as they lie in a store that anybody may have written to. The first byte chooses tier and step, the second
 * says how many bytes are runs (255: none), the third is the peak; the rest is the sketch.
 */
#include <math.h>
#include <string.h>

#include "store/tier.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "tier";

struct count { size_t n, end; };

static void
count_run(void *arg, size_t first, size_t n)
{
	struct count *c = arg;

	FUZZ_CHECK(n > 0 && first >= c->end);
	c->n += n;
	c->end = first + n;
}

/* What was unpacked, packed again, reads the same. */
static void
check_bucket(const struct tier_bucket *b, const struct tier_row *row, struct arena *a)
{
	struct tier_row again = *row;
	struct tier_bucket twice, day;
	struct buf runs, sketch;
	double before = 0;

	for (double q = 0; q <= 1; q += 0.125) {
		double v = sketch_quantile(&b->sketch, q);

		FUZZ_CHECK(v >= before && isfinite(v));
		before = v;
	}
	buf_init(&runs, (size_t)1 << 20);
	buf_init(&sketch, (size_t)1 << 20);
	tier_pack_runs(b, &runs);
	sketch_pack(&b->sketch, &sketch);
	again.runs = runs.len > 0 ? runs.p : NULL;
	again.n_runs = runs.len;
	again.sketch = sketch.p;
	again.n_sketch = sketch.len;
	FUZZ_CHECK(tier_unpack(&again, b->step_s, a, &twice) == NULL);
	FUZZ_CHECK(tier_fit(&twice, b) == TIER_SAME);
	tier_begin(&day, TIER_DAY, b->t - b->t % TIER_DAY_S, b->step_s, a);
	tier_merge(&day, b);
	FUZZ_CHECK(day.sum.steps == b->sum.steps && sketch_weight(&day.sketch) == sketch_weight(&b->sketch));
	buf_free(&runs);
	buf_free(&sketch);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t steps[] = { 1, 60, 300, 900, 1800, 3600, 7200, 43200 };
	struct arena *a = arena_new();
	struct tier_row row = { .t = INT64_C(1785628800) };
	struct count runs = { 0 };
	struct tier_bucket b;
	struct sketch s;
	int64_t step_s;
	size_t n_runs;

	if (size < 3) {
		arena_free(a);
		return 0;
	}
	row.tier = (data[0] & 1) != 0 ? TIER_DAY : TIER_HOUR;
	step_s = steps[(data[0] >> 1) & 7];
	n_runs = data[1] == 255 || data[1] > size - 3 ? 0 : data[1];
	row.runs = data[1] == 255 ? NULL : data + 3;
	row.n_runs = n_runs;
	row.sketch = data + 3 + n_runs;
	row.n_sketch = size - 3 - n_runs;
	row.peak = data[2];
	/* Counts that fit, so that more than the counts is looked at. */
	if (tier_len(row.tier) >= step_s && tier_runs(&row, (size_t)(tier_len(row.tier) / step_s), count_run, &runs))
		row.sum.steps = (int64_t)runs.n;
	if (sketch_unpack(row.sketch, row.n_sketch, a, &s))
		row.sum.covered_s = (int64_t)sketch_weight(&s);
	if (row.sum.covered_s > 0 && row.sum.covered_s <= TIER_DAY_S)
		row.sum.total = tier_area(row.peak / 2, row.sum.covered_s);
	if (tier_unpack(&row, step_s, a, &b) == NULL)
		check_bucket(&b, &row, a);
	arena_free(a);
	return 0;
}
