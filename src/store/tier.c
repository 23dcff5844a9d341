#include "store/tier.h"

#include <math.h>
#include <string.h>

#include "util/buf.h"
#include "util/hash.h"
#include "util/leb.h"
#include "util/time.h"

#define TIER_UNIT 1048576.0              /* 2^20 */
#define TIER_AREA_MAX 1e36               /* of a step, in units: 128 bits hold a hundred of it */
#define TIER_WORD 18446744073709551616.0 /* 2^64 */

bool
tier_of_step(int64_t step_s, enum tier *tier_out)
{
	if (step_s <= 0 || step_s >= TIER_DAY_S || TIER_DAY_S % step_s != 0)
		return false;
	*tier_out = step_s < tier_len(TIER_HOUR) && tier_len(TIER_HOUR) % step_s == 0 ? TIER_HOUR
										      : TIER_DAY;
	return true;
}

struct tier_sum
tier_area(double mean, int64_t covered_s)
{
	double x = floor(mean * (double)covered_s * TIER_UNIT + 0.5), hi;

	if (!(x < TIER_AREA_MAX))
		x = TIER_AREA_MAX;
	hi = floor(x / TIER_WORD);
	return (struct tier_sum){ (int64_t)hi, (uint64_t)(x - hi * TIER_WORD) };
}

struct tier_sum
tier_sum_add(struct tier_sum x, struct tier_sum y)
{
	uint64_t lo = x.lo + y.lo;

	return (struct tier_sum){ (int64_t)((uint64_t)x.hi + (uint64_t)y.hi + (lo < x.lo)), lo };
}

struct tier_sum
tier_sum_sub(struct tier_sum x, struct tier_sum y)
{
	return (struct tier_sum){ (int64_t)((uint64_t)x.hi - (uint64_t)y.hi - (x.lo < y.lo)),
		x.lo - y.lo };
}

double
tier_sum_value(struct tier_sum x)
{
	return ((double)x.hi * TIER_WORD + (double)x.lo) / TIER_UNIT;
}

struct tier_count
tier_count_add(struct tier_count x, struct tier_count y)
{
	return (struct tier_count){ x.steps + y.steps, x.covered_s + y.covered_s,
		tier_sum_add(x.total, y.total) };
}

struct tier_count
tier_count_sub(struct tier_count x, struct tier_count y)
{
	return (struct tier_count){ x.steps - y.steps, x.covered_s - y.covered_s,
		tier_sum_sub(x.total, y.total) };
}

bool
tier_count_eq(struct tier_count x, struct tier_count y)
{
	return x.steps == y.steps && x.covered_s == y.covered_s && tier_sum_eq(x.total, y.total);
}

static int64_t
tier_covered(const struct sample *v, int64_t step_s)
{
	return v->covered_s != 0 ? v->covered_s : step_s;
}

struct tier_count
tier_count_of(const struct sample *v, int64_t step_s)
{
	int64_t covered_s = tier_covered(v, step_s);

	return (struct tier_count){ 1, covered_s, tier_area(v->mean, covered_s) };
}

void
tier_begin(struct tier_bucket *b, enum tier tier, int64_t t, int64_t step_s, struct arena *a)
{
	*b = (struct tier_bucket){ .tier = tier, .t = t, .step_s = step_s };
	b->has = arena_array_of(a, tier_slots(b) / 8 + 1, unsigned char);
	sketch_init(&b->sketch, a);
}

void
tier_add(struct tier_bucket *b, const struct sample *v)
{
	size_t i = (size_t)((v->t - b->t) / b->step_s);
	struct tier_count c = tier_count_of(v, b->step_s);

	tier_bit_set(b->has, i);
	b->sum = tier_count_add(b->sum, c);
	b->peak = v->peak > b->peak ? v->peak : b->peak;
	sketch_add(&b->sketch, v->mean, (uint64_t)c.covered_s);
}

void
tier_merge(struct tier_bucket *b, const struct tier_bucket *part)
{
	size_t first = (size_t)((part->t - b->t) / b->step_s);

	for (size_t i = 0; i < tier_slots(part); i++)
		if (tier_bit(part->has, i))
			tier_bit_set(b->has, first + i);
	b->sum = tier_count_add(b->sum, part->sum);
	b->peak = part->peak > b->peak ? part->peak : b->peak;
	sketch_merge(&b->sketch, &part->sketch);
}

/* Sums of the same rows in another order may differ in the last bit, and each step by one unit
 * then. */
static bool
tier_total_near(const struct tier_bucket *x, const struct tier_bucket *y)
{
	double diff = fabs(tier_sum_value(tier_sum_sub(x->sum.total, y->sum.total)));

	return diff * TIER_UNIT <= (double)x->sum.steps ||
	       diff <= 1e-14 * tier_sum_value(x->sum.total);
}

static bool
tier_sketch_eq(const struct sketch *x, const struct sketch *y)
{
	bool eq = x->zero == y->zero && x->n == y->n;

	for (size_t k = 0; eq && k < x->n; k++)
		eq = x->v[k].i == y->v[k].i && x->v[k].w == y->v[k].w;
	return eq;
}

enum tier_fit
tier_fit(const struct tier_bucket *now, const struct tier_bucket *old)
{
	size_t n = tier_slots(now) / 8 + 1;
	bool apart = true, whole = now->sum.covered_s >= old->sum.covered_s;

	if (now->sum.steps == old->sum.steps && now->sum.covered_s == old->sum.covered_s &&
	    now->peak == old->peak && tier_total_near(now, old) &&
	    memcmp(now->has, old->has, n) == 0 && tier_sketch_eq(&now->sketch, &old->sketch))
		return TIER_SAME;
	for (size_t i = 0; i < n; i++) {
		apart = apart && (now->has[i] & old->has[i]) == 0;
		whole = whole && (old->has[i] & ~now->has[i]) == 0;
	}
	return apart ? TIER_APART : whole ? TIER_WHOLE : TIER_UNKNOWN;
}

void
tier_pack_runs(const struct tier_bucket *b, struct buf *out)
{
	size_t n = tier_slots(b), i = 0, from;

	if ((size_t)b->sum.steps == n)
		return;
	while (i < n) {
		for (from = i; i < n && !tier_bit(b->has, i); i++)
			continue;
		if (i == n)
			break;
		leb_add(out, i - from);
		for (from = i; i < n && tier_bit(b->has, i); i++)
			continue;
		leb_add(out, i - from);
	}
}

bool
tier_runs(const struct tier_row *row, size_t slots, tier_run_fn *fn, void *arg)
{
	const unsigned char *p = row->runs, *end;
	uint64_t gap, n;
	size_t at = 0;

	if (p == NULL) {
		fn(arg, 0, slots);
		return true;
	}
	end = p + row->n_runs;
	while (p < end) {
		if (!leb_take(&p, end, &gap) || !leb_take(&p, end, &n) || n == 0 ||
		    gap > slots - at || n > slots - at - gap || (gap == 0 && at > 0))
			return false;
		fn(arg, at + gap, n);
		at += gap + n;
	}
	return at > 0;
}

struct tier_bits {
	unsigned char *has;
	int64_t n;
};

static void
tier_set_run(void *arg, size_t first, size_t n)
{
	struct tier_bits *b = arg;

	for (size_t i = first; i < first + n; i++)
		tier_bit_set(b->has, i);
	b->n += (int64_t)n;
}

const char *
tier_unpack(const struct tier_row *row, int64_t step_s, struct arena *a, struct tier_bucket *b_out)
{
	struct tier_bits bits = { .n = 0 };
	struct tier_bucket b;
	double total = tier_sum_value(row->sum.total);

	if (row->t % tier_len(row->tier) != 0 || step_s > tier_len(row->tier) ||
	    tier_len(row->tier) % step_s != 0)
		return "it is not on the grid";
	tier_begin(&b, row->tier, row->t, step_s, a);
	bits.has = b.has;
	if (!tier_runs(row, tier_slots(&b), tier_set_run, &bits))
		return "the list of its steps is damaged";
	if (bits.n != row->sum.steps)
		return "the number of its steps is not that of the list";
	if (row->sum.covered_s < bits.n || row->sum.covered_s > bits.n * step_s)
		return "its steps cannot cover so many seconds";
	if (!sketch_unpack(row->sketch, row->n_sketch, a, &b.sketch))
		return "its sketch is damaged";
	if (sketch_weight(&b.sketch) != (uint64_t)row->sum.covered_s)
		return "its sketch is of other seconds than it covers";
	if (!(row->peak >= 0) || !isfinite(row->peak) || total < 0 ||
	    total > row->peak * (double)row->sum.covered_s * (1 + 1e-9) + (double)bits.n)
		return "its mean is above its peak";
	b.sum = row->sum;
	b.peak = row->peak;
	*b_out = b;
	return NULL;
}

static int64_t
tier_int(struct db_stmt *st, const char *name)
{
	return db_col_i64(st, name);
}

static const void *
tier_blob(struct db_stmt *st, const char *name, struct arena *a, size_t *n_out)
{
	struct db_val v = db_col_at(st, db_col(st, name));

	*n_out = v.type == DB_BLOB || v.type == DB_TEXT ? v.len : 0;
	return v.type == DB_NULL ? NULL : arena_memdup(a, v.s != NULL ? v.s : "", *n_out);
}

void
tier_row_get(struct db_stmt *st, struct arena *a, struct tier_row *row_out)
{
	*row_out =
	    (struct tier_row){ .tier = tier_int(st, "tier") == TIER_HOUR ? TIER_HOUR : TIER_DAY,
		    .t = tier_int(st, "t"),
		    .sum = { tier_int(st, "steps"), tier_int(st, "covered_s"),
			{ tier_int(st, "total_hi"), (uint64_t)tier_int(st, "total_lo") } },
		    .peak = db_col_real(st, "peak"),
		    .check = tier_int(st, "digest") };
	row_out->runs = tier_blob(st, "runs", a, &row_out->n_runs);
	row_out->sketch = tier_blob(st, "sketch", a, &row_out->n_sketch);
}

int64_t
tier_row_check(int64_t series_id, const struct tier_row *row)
{
	uint64_t h = hash_u64((uint64_t)series_id), peak;

	memcpy(&peak, &row->peak, sizeof(peak));
	h = hash_join(h, (uint64_t)row->tier);
	h = hash_join(h, (uint64_t)row->t);
	h = hash_join(h, (uint64_t)row->sum.steps);
	h = hash_join(h, (uint64_t)row->sum.covered_s);
	h = hash_join(h, (uint64_t)row->sum.total.hi);
	h = hash_join(h, row->sum.total.lo);
	h = hash_join(h, peak);
	h = hash_join(h, hash_bytes(row->runs != NULL ? row->runs : "", row->n_runs));
	h = hash_join(h, hash_bytes(row->sketch != NULL ? row->sketch : "", row->n_sketch));
	return (
	    int64_t)(h >>
		     33); /* 31 bits: few bytes, and one in two thousand million changes passes */
}
