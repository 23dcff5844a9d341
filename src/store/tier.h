/* src/store/tier.h - hours and days that steps are rolled up to.  Floor: store, private to it. */
#ifndef BERTH_STORE_TIER_H
#define BERTH_STORE_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/series.h"
#include "store/db.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/sketch.h"

enum tier { TIER_HOUR, TIER_DAY };
#define TIER_DAY_S INT64_C(86400)
static inline int64_t
tier_len(enum tier t)
{
	return t == TIER_HOUR ? INT64_C(3600) : TIER_DAY_S;
}
/* "hour" "day" */
static inline const char *
tier_name(enum tier t)
{
	return t == TIER_HOUR ? "hour" : "day";
}

/* Where steps of this length go first; false: they are never rolled up (a day or more, or no
 * divisor of a day). */
bool tier_of_step(int64_t step_s, enum tier *tier_out);

/*
 * Unit-seconds (mean times seconds) as a whole number of 2^-20, 128 bits: sums are exact in any
 * order. Each step is rounded once, in the same way wherever it is added.
 */
struct tier_sum {
	int64_t hi;
	uint64_t lo;
};
struct tier_sum tier_area(double mean, int64_t covered_s);
struct tier_sum tier_sum_add(struct tier_sum x, struct tier_sum y);
struct tier_sum tier_sum_sub(struct tier_sum x, struct tier_sum y);
static inline bool
tier_sum_eq(struct tier_sum x, struct tier_sum y)
{
	return x.hi == y.hi && x.lo == y.lo;
}
double tier_sum_value(struct tier_sum x); /* in unit-seconds */

/* What steps add up to. */
struct tier_count {
	int64_t steps, covered_s;
	struct tier_sum total;
};
struct tier_count tier_count_add(struct tier_count x, struct tier_count y);
struct tier_count tier_count_sub(struct tier_count x, struct tier_count y);
bool tier_count_eq(struct tier_count x, struct tier_count y);
struct tier_count tier_count_of(const struct sample *v, int64_t step_s); /* of one step */

/* One hour or day of one series. */
struct tier_bucket {
	enum tier tier;
	int64_t t, step_s;
	struct tier_count sum;
	double peak;
	struct sketch sketch; /* means of the steps, by the seconds that are covered */
	unsigned char *has;   /* a bit for each step of the bucket that is there */
};

void tier_begin(struct tier_bucket *b, enum tier tier, int64_t t, int64_t step_s, struct arena *a);
static inline size_t
tier_slots(const struct tier_bucket *b)
{
	return (size_t)(tier_len(b->tier) / b->step_s);
}
static inline bool
tier_bit(const unsigned char *bits, size_t i)
{
	return (bits[i / 8] >> (i % 8) & 1) != 0;
}
static inline void
tier_bit_set(unsigned char *bits, size_t i)
{
	bits[i / 8] |= (unsigned char)(1u << (i % 8));
}
/* A step that is not there yet. */
void tier_add(struct tier_bucket *b, const struct sample *v);
/* A bucket inside b whose steps are not there yet. */
void tier_merge(struct tier_bucket *b, const struct tier_bucket *part);

enum tier_fit {
	TIER_SAME,   /* both say the same */
	TIER_APART,  /* no step is in both */
	TIER_WHOLE,  /* new has each step of old, and at least as many seconds of them */
	TIER_UNKNOWN /* some steps are in both: what old has of them cannot be told apart any more
		      */
};
/* How a bucket of a load fits to the one that is stored. */
enum tier_fit tier_fit(const struct tier_bucket *now, const struct tier_bucket *old);

/* A bucket as it is stored; bytes live in an arena. */
struct tier_row {
	enum tier tier;
	int64_t t;
	struct tier_count sum;
	double peak;
	const void *runs, *sketch; /* runs NULL: each step is there */
	size_t n_runs, n_sketch;
	int64_t check; /* hash of the row: a changed row is known */
};

#define TIER_COLUMNS "tier, t, covered_s, steps, total_hi, total_lo, peak, runs, sketch, digest"
void tier_row_get(struct db_stmt *st, struct arena *a, struct tier_row *row_out);
int64_t tier_row_check(int64_t series_id, const struct tier_row *row);
/* NULL, or what is wrong with the row. */
const char *tier_unpack(
    const struct tier_row *row, int64_t step_s, struct arena *a, struct tier_bucket *b_out);
/* Calls fn for each run [first, first + n) of steps that are there; false: the bytes are damaged.
 */
typedef void tier_run_fn(void *arg, size_t first, size_t n);
bool tier_runs(const struct tier_row *row, size_t slots, tier_run_fn *fn, void *arg);
/* Runs of steps that are there: how many are missing, how many are there, and so on. Nothing: all
 * are there. */
void tier_pack_runs(const struct tier_bucket *b, struct buf *out);

BERTH_MUST_CHECK enum berth_code tier_put(
    struct store *s, int64_t series_id, const struct tier_bucket *b, struct berth_err *err);
/* The stored bucket; *found_out false: none. BERTH_EINVAL: it is damaged. */
BERTH_MUST_CHECK enum berth_code tier_get(struct store *s, int64_t series_id, enum tier tier,
    int64_t t, int64_t step_s, struct arena *a, struct tier_bucket *b_out, bool *found_out,
    struct berth_err *err);

/* Steps before hour_until lie in hours, those before day_until in days; 0 0: all are single steps.
 */
struct tier_marks {
	int64_t hour_until, day_until;
};
static inline int64_t
tier_late(const struct tier_marks *m)
{
	return m->hour_until > m->day_until ? m->hour_until : m->day_until;
}
BERTH_MUST_CHECK enum berth_code tier_marks_get(
    struct store *s, int64_t series_id, struct tier_marks *m_out, struct berth_err *err);

/*
 * The ledger: what all steps of a stretch of a series add up to, whatever tier they lie in. Written
 * with each change of a step and untouched by rolling up, so that `berth store check` can compare.
 */
static inline int64_t
tier_stretch(int64_t step_s)
{
	return 16 * (step_s > TIER_DAY_S ? step_s : TIER_DAY_S);
}
/* Adds to the ledger and to what this transaction's loads have brought. change may be negative. */
BERTH_MUST_CHECK enum berth_code tier_ledger_add(struct store *s, int64_t series_id,
    int64_t stretch_t, struct tier_count change, struct berth_err *err);
/* Adds the whole ledger of a series to *sum. */
BERTH_MUST_CHECK enum berth_code tier_ledger_sum(
    struct store *s, int64_t series_id, struct tier_count *sum, struct berth_err *err);
/* A series of a store that had no ledger yet gets one from its steps. */
BERTH_MUST_CHECK enum berth_code tier_ledger_open(
    struct store *s, int64_t series_id, int64_t step_s, struct berth_err *err);

#endif
