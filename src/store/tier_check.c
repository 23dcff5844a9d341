#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/priv.h"
#include "store/series_rows.h"
#include "store/tier_rows.h"
#include "util/time.h"
#include "util/vec.h"

/* What the steps and the buckets of a series say, whatever its own row and the ledger do. */
struct scan {
	struct store *s;
	const struct series *series;
	bool look; /* at the buckets and the ledger too, not only at what is derived */
	store_say_fn *say;
	void *arg;
	struct arena *a, *row_arena;
	struct tier_marks marks;
	int64_t n, first, last, stray; /* stray: steps and hours where longer buckets should be */
	double peak;                   /* NaN none */
	VEC(struct stretch {
		int64_t t;
		struct tier_count sum;
	})
	stretches; /* by t within each tier */
};

static void
scan_say(struct scan *c, const char *where, const char *what)
{
	char line[1024];

	snprintf(line, sizeof(line), "series %s%s%s: %s", c->series->name,
	    *where != '\0' ? ", " : "", where, what);
	c->say(c->arg, line);
}

static void
scan_seen(struct scan *c, int64_t first, int64_t last, double peak, struct tier_count sum)
{
	int64_t t = time_floor(first, tier_stretch(c->series->step_s));

	c->first = c->n == 0 || first < c->first ? first : c->first;
	c->last = c->n == 0 || last > c->last ? last : c->last;
	c->n += sum.steps;
	if (!(c->peak >= peak))
		c->peak = peak;
	if (c->stretches.n == 0 || c->stretches.v[c->stretches.n - 1].t != t)
		VEC_PUSH(c->a, &c->stretches, (struct stretch){ .t = t });
	c->stretches.v[c->stretches.n - 1].sum =
	    tier_count_add(c->stretches.v[c->stretches.n - 1].sum, sum);
}

static enum berth_code
scan_step_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct scan *c = arg;
	struct sample v = { .t = db_col_i64(st, "t"), .mean = db_col_real(st, "mean") };
	double peak = db_col_real(st, "peak");

	(void)err;
	v.covered_s = db_col_i64(st, "covered_s");
	c->stray += v.t < tier_late(&c->marks);
	scan_seen(c, v.t, v.t, isnan(peak) ? v.mean : peak, tier_count_of(&v, c->series->step_s));
	return BERTH_OK;
}

struct scan_ends {
	size_t first, last;
	bool any;
};

static void
scan_run(void *arg, size_t first, size_t n)
{
	struct scan_ends *e = arg;

	if (!e->any)
		e->first = first;
	e->any = true;
	e->last = first + n - 1;
}

static enum berth_code
scan_bucket_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct scan *c = arg;
	struct scan_ends ends = { .any = false };
	char where[64], at[TIME_FMT_SIZE];
	struct tier_bucket b;
	struct tier_row row;
	const char *fault;

	(void)err;
	tier_row_get(st, c->row_arena, &row);
	snprintf(where, sizeof(where), "%s %s", tier_name(row.tier), time_fmt(at, row.t));
	fault = tier_unpack(&row, c->series->step_s, c->row_arena, &b);
	if (fault != NULL && c->look)
		scan_say(c, where, fault);
	else if (c->look && tier_row_check(c->series->id, &row) != row.check)
		scan_say(c, where, "it is not as berth wrote it");
	if (row.tier == TIER_HOUR)
		c->stray += row.t < c->marks.day_until;
	if (fault == NULL)
		(void)tier_runs(&row, tier_slots(&b), scan_run, &ends);
	scan_seen(c, row.t + (int64_t)ends.first * c->series->step_s,
	    row.t + (int64_t)ends.last * c->series->step_s, row.peak, row.sum);
	arena_reset(c->row_arena);
	return BERTH_OK;
}

static void
scan_differs(struct scan *c, int64_t t, struct tier_count ledger, struct tier_count steps)
{
	char from[TIME_FMT_SIZE], to[TIME_FMT_SIZE], where[128], what[512];

	snprintf(where, sizeof(where), "%s to %s", time_fmt(from, t),
	    time_fmt(to, t + tier_stretch(c->series->step_s)));
	snprintf(what, sizeof(what),
	    "the ledger says %.6f %s-seconds in %lld steps of %lld s, what is kept says %.6f in "
	    "%lld of %lld s",
	    tier_sum_value(ledger.total), c->series->unit, (long long)ledger.steps,
	    (long long)ledger.covered_s, tier_sum_value(steps.total), (long long)steps.steps,
	    (long long)steps.covered_s);
	scan_say(c, where, what);
}

/* One stretch of the ledger against what is kept of it, in whatever tier; what is left of stretches
 * then is not in it. */
static enum berth_code
scan_ledger_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct scan *c = arg;
	int64_t t = db_col_i64(st, "t");
	struct tier_count sum = { 0 }, ledger = { db_col_i64(st, "steps"),
		db_col_i64(st, "covered_s"),
		{ db_col_i64(st, "total_hi"), (uint64_t)db_col_i64(st, "total_lo") } };

	(void)err;
	for (size_t i = 0; i < c->stretches.n; i++)
		if (c->stretches.v[i].t == t) {
			sum = tier_count_add(sum, c->stretches.v[i].sum);
			c->stretches.v[i].sum = (struct tier_count){ 0 };
		}
	if (!tier_count_eq(sum, ledger))
		scan_differs(c, t, ledger, sum);
	return BERTH_OK;
}

static enum berth_code
scan_ledger(struct scan *c, struct berth_err *err)
{
	char what[256], until[TIME_FMT_SIZE];
	int64_t have = 0;
	enum berth_code rc = db_get_one(c->s->db, 0, &have, err,
	    "SELECT count(*) FROM ledger_step WHERE series_id = $1",
	    DB_ARGS(db_i64(c->series->id)));

	/* None at all: a store that was not written to since it was upgraded; the sum of the loads
	 * knows better. */
	if (rc != BERTH_OK || have == 0)
		return rc;
	rc = store_each(c->s, scan_ledger_row, c, err,
	    "SELECT t, steps, covered_s, total_hi, total_lo FROM ledger_step WHERE series_id = $1 "
	    "ORDER BY t",
	    DB_ARGS(db_i64(c->series->id)));
	for (size_t i = 0; rc == BERTH_OK && i < c->stretches.n; i++)
		if (!tier_count_eq(c->stretches.v[i].sum, (struct tier_count){ 0 }))
			scan_differs(c, c->stretches.v[i].t, (struct tier_count){ 0 },
			    c->stretches.v[i].sum);
	if (c->stray > 0) {
		snprintf(what, sizeof(what),
		    "%lld steps or hours lie before %s, where all is rolled up further",
		    (long long)c->stray, time_fmt(until, tier_late(&c->marks)));
		scan_say(c, "", what);
	}
	return rc;
}

static enum berth_code
scan_fix(struct scan *c, struct berth_err *err)
{
	return db_run(c->s->db, err,
	    "UPDATE series SET first_t = $1, last_t = $2, samples = $3, peak = $4 WHERE id = $5",
	    DB_ARGS(db_id(c->n > 0 ? c->first : 0), db_id(c->n > 0 ? c->last : 0), db_i64(c->n),
		db_real(c->peak), db_i64(c->series->id)));
}

static bool
scan_agrees(const struct scan *c)
{
	const struct series *s = c->series;

	return s->samples == c->n && (c->n == 0 || (s->from == c->first && s->to == c->last)) &&
	       (isnan(s->peak) ? isnan(c->peak) : s->peak == c->peak);
}

static enum berth_code
scan_series(struct scan *c, bool fix, struct berth_err *err)
{
	const struct db_val id[] = { db_i64(c->series->id) };
	char what[256];
	enum berth_code rc = tier_marks_get(c->s, c->series->id, &c->marks, err);

	if (rc == BERTH_OK)
		rc = store_each(c->s, scan_step_row, c, err,
		    "SELECT a.t AS t, a.mean AS mean, a.peak AS peak, b.covered_s AS covered_s "
		    "FROM sample a LEFT JOIN sample_part b ON b.series_id = a.series_id AND b.t = "
		    "a.t WHERE a.series_id = $1 ORDER BY a.t",
		    id, 1);
	if (rc == BERTH_OK)
		rc = store_each(c->s, scan_bucket_row, c, err,
		    "SELECT " TIER_COLUMNS " FROM rollup WHERE series_id = $1 ORDER BY tier, t", id,
		    1);
	if (rc == BERTH_OK && !scan_agrees(c)) {
		snprintf(what, sizeof(what),
		    "says %lld samples and a peak of %g, its samples say %lld and %g",
		    (long long)c->series->samples, c->series->peak, (long long)c->n, c->peak);
		scan_say(c, "", what);
		if (fix)
			rc = scan_fix(c, err);
	}
	return rc == BERTH_OK && c->look ? scan_ledger(c, err) : rc;
}

enum berth_code
series_derive(struct store *s, bool fix, store_say_fn *say, void *arg, struct berth_err *err)
{
	struct arena *a = arena_new(), *rows = arena_new(), *list_arena = arena_new();
	struct series *list;
	size_t n;
	enum berth_code rc = store_series_list(s, list_arena, &list, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct scan c = { .s = s,
			.series = &list[i],
			.look = !fix,
			.say = say,
			.arg = arg,
			.a = a,
			.row_arena = rows,
			.peak = (double)NAN };

		rc = scan_series(&c, fix, err);
		arena_reset(a);
	}
	arena_free(list_arena);
	arena_free(rows);
	arena_free(a);
	return rc;
}

static enum berth_code
check_count_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct tier_count *sum = arg;

	(void)err;
	*sum = tier_count_add(
	    *sum, (struct tier_count){ db_col_i64(st, "steps"), db_col_i64(st, "covered_s"),
		      { db_col_i64(st, "total_hi"), (uint64_t)db_col_i64(st, "total_lo") } });
	return BERTH_OK;
}

enum berth_code
tier_check(struct store *s, store_say_fn *say, void *arg, struct berth_err *err)
{
	struct tier_count loads = { 0 }, ledger = { 0 };
	char line[512];
	enum berth_code rc = store_each(s, check_count_row, &loads, err,
	    "SELECT steps, covered_s, total_hi, total_lo FROM load", DB_NO_ARGS);

	if (rc == BERTH_OK)
		rc = store_each(s, check_count_row, &ledger, err,
		    "SELECT steps, covered_s, total_hi, total_lo FROM ledger_step", DB_NO_ARGS);
	if (rc != BERTH_OK || tier_count_eq(loads, ledger))
		return rc;
	snprintf(line, sizeof(line),
	    "all loads together brought %.6f unit-seconds in %lld steps of %lld s, the ledger says "
	    "%.6f in %lld of %lld s",
	    tier_sum_value(loads.total), (long long)loads.steps, (long long)loads.covered_s,
	    tier_sum_value(ledger.total), (long long)ledger.steps, (long long)ledger.covered_s);
	say(arg, line);
	return BERTH_OK;
}
