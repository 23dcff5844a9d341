#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/priv.h"
#include "store/series_rows.h"
#include "store/tier.h"
#include "store/tier_late.h"
#include "util/buf.h"
#include "util/time.h"
#include "util/vec.h"

#define SAMPLE_CHUNK ((size_t)16384) /* compared with what is stored in one go */
#define SAMPLE_BULK 128              /* rows of one INSERT */

/* The series row's derived columns, kept in step with its samples. */
struct sample_head {
	int64_t id, step_s, first_t, last_t, samples;
	int64_t plan; /* the newest plan: it has seen what is there; 0: there is none */
	double peak;  /* NaN: none */
};

static enum berth_code
sample_head_get(struct store *s, int64_t series_id, struct sample_head *h, struct berth_err *err)
{
	struct db_stmt *st;
	enum berth_code rc;
	bool row;

	rc = db_query(s->db, &st, err,
	    "SELECT step_s, first_t, last_t, samples, peak, (SELECT max(id) FROM plan) AS plan "
	    "FROM series WHERE id = $1",
	    DB_ARGS(db_i64(series_id)));
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	if (rc == BERTH_OK && !row)
		rc = err_set(err, BERTH_ENOTFOUND, "there is no series %lld", (long long)series_id);
	if (rc == BERTH_OK)
		*h = (struct sample_head){ .id = series_id,
			.step_s = db_col_i64(st, "step_s"),
			.first_t = db_col_i64(st, "first_t"),
			.last_t = db_col_i64(st, "last_t"),
			.samples = db_col_i64(st, "samples"),
			.plan = db_col_i64(st, "plan"),
			.peak = db_col_real(st, "peak") };
	db_done(st);
	return rc;
}

static enum berth_code
sample_check(const struct sample_head *h, const struct sample *v, size_t n, struct berth_err *err)
{
	char at[TIME_FMT_SIZE];

	for (size_t i = 0; i < n; i++) {
		if (v[i].t % h->step_s != 0)
			return err_set(err, BERTH_EINVAL,
			    "series %lld: %s is not on its grid of %lld s", (long long)h->id,
			    time_fmt(at, v[i].t), (long long)h->step_s);
		if (i > 0 && v[i].t <= v[i - 1].t)
			return err_set(err, BERTH_EINVAL, "series %lld: times do not ascend at %s",
			    (long long)h->id, time_fmt(at, v[i].t));
		if (v[i].covered_s < 0 || v[i].covered_s > h->step_s)
			return err_set(err, BERTH_EINVAL,
			    "series %lld: at %s %lld s of a step are known", (long long)h->id,
			    time_fmt(at, v[i].t), (long long)v[i].covered_s);
		if (!(v[i].mean >= 0) || !(v[i].peak >= v[i].mean) || !isfinite(v[i].peak))
			return err_set(err, BERTH_EINVAL,
			    "series %lld: at %s mean %g and peak %g are not 0 <= mean <= peak",
			    (long long)h->id, time_fmt(at, v[i].t), v[i].mean, v[i].peak);
	}
	return BERTH_OK;
}

struct sample_list {
	struct arena *a;
	VEC(struct sample) v;
	int t, mean, peak; /* columns; -1: not looked up */
};

static double
sample_real(struct db_val v, double null)
{
	if (v.type == DB_I64)
		return (double)v.i;
	return v.type == DB_REAL ? v.d : null;
}

static enum berth_code
sample_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct sample_list *l = arg;
	struct sample *v = VEC_ADD(l->a, &l->v);

	(void)err;
	if (l->t < 0) {
		l->t = db_col(st, "t");
		l->mean = db_col(st, "mean");
		l->peak = db_col(st, "peak");
	}
	v->t = db_col_at(st, l->t).i;
	v->mean = sample_real(db_col_at(st, l->mean), (double)NAN);
	v->peak = sample_real(db_col_at(st, l->peak), v->mean);
	return BERTH_OK;
}

static enum berth_code
sample_part_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct sample_list *l = arg;
	struct sample key = { .t = db_col_i64(st, "t") };
	size_t lo = 0, hi = l->v.n;

	(void)err;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (l->v.v[mid].t < key.t)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < l->v.n && l->v.v[lo].t == key.t)
		l->v.v[lo].covered_s = db_col_i64(st, "covered_s");
	return BERTH_OK;
}

/* What is stored of the time of v [n], covered_s included. */
static enum berth_code
sample_have(struct store *s, int64_t series_id, const struct sample *v, size_t n,
    struct sample_list *have, struct berth_err *err)
{
	const struct db_val args[] = { db_i64(series_id), db_i64(v[0].t), db_i64(v[n - 1].t) };
	enum berth_code rc = store_each(s, sample_row, have, err,
	    "SELECT t, mean, peak FROM sample WHERE series_id = $1 AND t BETWEEN $2 AND $3 ORDER "
	    "BY t",
	    args, 3);

	if (rc == BERTH_OK && have->v.n > 0)
		rc = store_each(s, sample_part_row, have, err,
		    "SELECT t, covered_s FROM sample_part WHERE series_id = $1 AND t BETWEEN $2 "
		    "AND $3",
		    args, 3);
	return rc;
}

static int64_t
sample_covered(const struct sample *v, int64_t step_s)
{
	return v->covered_s != 0 ? v->covered_s : step_s;
}

/* Steps that are not whole say so in a row beside. */
static enum berth_code
sample_part_put(struct store *s, const struct sample_head *h, const struct sample *v,
    const struct sample *old, struct berth_err *err)
{
	if (sample_covered(v, h->step_s) < h->step_s)
		return db_run(s->db, err,
		    "INSERT INTO sample_part (series_id, t, covered_s) VALUES ($1, $2, $3) ON "
		    "CONFLICT (series_id, t) DO UPDATE SET covered_s = excluded.covered_s",
		    DB_ARGS(db_i64(h->id), db_i64(v->t), db_i64(v->covered_s)));
	if (old == NULL || sample_covered(old, h->step_s) == h->step_s)
		return BERTH_OK;
	return db_run(s->db, err, "DELETE FROM sample_part WHERE series_id = $1 AND t = $2",
	    DB_ARGS(db_i64(h->id), db_i64(v->t)));
}

/* A step that plans may have read is to change: what they found is kept, once for all of them. */
static enum berth_code
sample_was_put(struct store *s, const struct sample_head *h, int64_t t, const struct sample *old,
    struct berth_err *err)
{
	if (h->plan == 0 || h->samples == 0 || t > h->last_t)
		return BERTH_OK;
	return db_run(s->db, err,
	    "INSERT INTO sample_was (series_id, t, plan_id, mean, peak, covered_s) VALUES ($1, $2, "
	    "$3, $4, $5, $6) ON CONFLICT (series_id, t, plan_id) DO NOTHING",
	    DB_ARGS(db_i64(h->id), db_i64(t), db_i64(h->plan),
		old == NULL ? db_null() : db_real(old->mean),
		old == NULL ? db_null() : db_real(old->peak),
		old == NULL || sample_covered(old, h->step_s) == h->step_s
		    ? db_null()
		    : db_i64(old->covered_s)));
}

/* Adds what v [n] change to the ledger, and tells what each is to what is stored already. */
static enum berth_code
sample_fates(struct store *s, const struct sample_head *h, const struct sample *v, size_t n,
    struct arena *scratch, unsigned char *fate, struct berth_err *err)
{
	struct sample_list have = { .a = scratch, .t = -1 };
	struct tier_count change = { 0 };
	int64_t stretch = time_floor(v[0].t, tier_stretch(h->step_s));
	enum berth_code rc = sample_have(s, h->id, v, n, &have, err);
	size_t j = 0;

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const struct sample *old = NULL;

		while (j < have.v.n && have.v.v[j].t < v[i].t)
			j++;
		if (j < have.v.n && have.v.v[j].t == v[i].t)
			old = &have.v.v[j];
		fate[i] = old == NULL ? PUT_STORED
			  : old->mean == v[i].mean && old->peak == v[i].peak &&
				  sample_covered(old, h->step_s) == sample_covered(&v[i], h->step_s)
			      ? PUT_DUPLICATE
			      : PUT_REPLACED;
		if (fate[i] == PUT_DUPLICATE)
			continue;
		if (v[i].t >= stretch + tier_stretch(h->step_s)) {
			rc = tier_ledger_add(s, h->id, stretch, change, err);
			stretch = time_floor(v[i].t, tier_stretch(h->step_s));
			change = (struct tier_count){ 0 };
		}
		change = tier_count_add(change, tier_count_of(&v[i], h->step_s));
		if (old != NULL)
			change = tier_count_sub(change, tier_count_of(old, h->step_s));
		if (rc == BERTH_OK)
			rc = sample_was_put(s, h, v[i].t, old, err);
		if (rc == BERTH_OK)
			rc = sample_part_put(s, h, &v[i], old, err);
	}
	return rc == BERTH_OK ? tier_ledger_add(s, h->id, stretch, change, err) : rc;
}

/* Puts one sample as three of a statement's arguments. */
static void
sample_args(struct db_val *args, const struct sample *v)
{
	args[0] = db_i64(v->t);
	args[1] = db_real(v->mean);
	args[2] = v->peak == v->mean ? db_null() : db_real(v->peak);
}

/* "INSERT ... VALUES ($1, $2, $3, $4), ($1, $5, $6, $7) ...": the cost of a statement is shared by
 * many rows. */
static enum berth_code
sample_bulk_sql(struct store *s, struct berth_err *err)
{
	enum berth_code rc;
	struct buf b;

	if (s->sample_sql != NULL)
		return BERTH_OK;
	buf_init(&b, 64 * SAMPLE_BULK + 256);
	buf_add_str(&b, "INSERT INTO sample (series_id, t, mean, peak) VALUES ");
	for (int i = 0; i < SAMPLE_BULK; i++)
		buf_printf(&b, "%s($1, $%d, $%d, $%d)", i > 0 ? ", " : "", 3 * i + 2, 3 * i + 3,
		    3 * i + 4);
	rc = buf_check(&b, "store: a statement", err);
	if (rc == BERTH_OK && (s->sample_sql = strdup(b.p)) == NULL)
		rc = err_set(err, BERTH_ENOMEM, "store: out of memory");
	buf_free(&b);
	return rc;
}

/* Inserts the samples of v [n] that are new. */
static enum berth_code
sample_insert(struct store *s, int64_t series_id, const struct sample *v, const unsigned char *fate,
    size_t n, struct berth_err *err)
{
	struct db_val args[1 + 3 * SAMPLE_BULK] = { db_i64(series_id) };
	enum berth_code rc = sample_bulk_sql(s, err);
	struct db_stmt *st = NULL;
	size_t k = 0;

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (fate[i] != PUT_STORED)
			continue;
		sample_args(&args[1 + 3 * k++], &v[i]);
		if (k < SAMPLE_BULK)
			continue;
		if (st == NULL)
			rc = db_query(s->db, &st, err, s->sample_sql, args, 1 + 3 * SAMPLE_BULK);
		if (rc == BERTH_OK)
			rc = db_again(st, err, args, 1 + 3 * SAMPLE_BULK);
		k = 0;
	}
	db_done(st);
	for (size_t i = 0; rc == BERTH_OK && i < k; i++)
		rc = db_run(s->db, err,
		    "INSERT INTO sample (series_id, t, mean, peak) VALUES ($1, $2, $3, $4)",
		    (const struct db_val[]){
			args[0], args[1 + 3 * i], args[2 + 3 * i], args[3 + 3 * i] },
		    4);
	return rc;
}

static enum berth_code
sample_update(struct store *s, int64_t series_id, const struct sample *v, const unsigned char *fate,
    size_t n, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	struct db_val args[4];

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (fate[i] != PUT_REPLACED)
			continue;
		sample_args(args, &v[i]);
		rc = db_run(s->db, err,
		    "UPDATE sample SET mean = $1, peak = $2 WHERE series_id = $3 AND t = $4",
		    DB_ARGS(args[1], args[2], db_i64(series_id), args[0]));
	}
	return rc;
}

static enum berth_code
sample_put_chunk(struct store *s, struct sample_head *h, const struct sample *v, size_t n,
    unsigned char *fate, struct put_counts *counts, struct berth_err *err)
{
	struct put_counts c = { 0 };
	enum berth_code rc;

	rc = sample_insert(s, h->id, v, fate, n, err);
	if (rc == BERTH_OK)
		rc = sample_update(s, h->id, v, fate, n, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		c.stored += fate[i] == PUT_STORED;
		c.duplicate += fate[i] == PUT_DUPLICATE;
		c.replaced += fate[i] == PUT_REPLACED;
		if (!(h->peak >= v[i].peak))
			h->peak = v[i].peak;
	}
	if (h->samples == 0 || v[0].t < h->first_t)
		h->first_t = v[0].t;
	if (h->samples == 0 || v[n - 1].t > h->last_t)
		h->last_t = v[n - 1].t;
	h->samples += c.stored;
	counts->stored += c.stored;
	counts->duplicate += c.duplicate;
	counts->replaced += c.replaced;
	return BERTH_OK;
}

/* A replaced sample may have been the peak: then only a scan knows the new one. */
static enum berth_code
sample_head_put(struct store *s, const struct sample_head *h, bool scan, struct berth_err *err)
{
	if (scan)
		return db_run(s->db, err,
		    "UPDATE series SET first_t = $1, last_t = $2, samples = $3, peak = (SELECT "
		    "max(p) FROM (SELECT max(COALESCE(peak, mean)) AS p FROM sample WHERE "
		    "series_id = $4 UNION ALL SELECT max(peak) AS p FROM rollup WHERE series_id = "
		    "$4) AS both_tiers) WHERE id = $4",
		    DB_ARGS(
			db_i64(h->first_t), db_i64(h->last_t), db_i64(h->samples), db_i64(h->id)));
	return db_run(s->db, err,
	    "UPDATE series SET first_t = $1, last_t = $2, samples = $3, peak = $4 WHERE id = $5",
	    DB_ARGS(db_i64(h->first_t), db_i64(h->last_t), db_i64(h->samples), db_real(h->peak),
		db_i64(h->id)));
}

static size_t
sample_before(const struct sample *v, size_t n, int64_t t)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (v[mid].t < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Steps of a time that is rolled up. */
static enum berth_code
sample_put_late(struct store *s, struct sample_head *h, const struct tier_marks *marks,
    const struct sample *v, size_t n, const struct put_rule *rule, unsigned char *fate,
    struct put_counts *c, bool *scan, struct berth_err *err)
{
	struct late_put late = { .first_t = INT64_MAX, .last_t = INT64_MIN, .peak = (double)NAN };
	enum berth_code rc =
	    tier_late_put(s, h->id, h->step_s, marks, v, n, rule, fate, &late, err);

	if (rc != BERTH_OK)
		return rc;
	*c = late.counts;
	*scan = late.scan;
	if (late.first_t > late.last_t)
		return BERTH_OK;
	if (!(h->peak >= late.peak) && !isnan(late.peak))
		h->peak = late.peak;
	if (h->samples == 0 || late.first_t < h->first_t)
		h->first_t = late.first_t;
	if (h->samples == 0 || late.last_t > h->last_t)
		h->last_t = late.last_t;
	h->samples += late.grown;
	return BERTH_OK;
}

/* Of what is made again, only what has changed is put among single steps. */
static void
sample_clip(const struct put_rule *rule, const struct sample *v, size_t *i, size_t *n)
{
	size_t from = sample_before(v, *n, rule->from), to = sample_before(v, *n, rule->to);

	if (!rule->remade)
		return;
	*i = from > *i ? from : *i;
	*n = to > *i ? to : *i;
}

static enum berth_code
sample_put_all(struct store *s, int64_t series_id, const struct sample *v, size_t n,
    const struct put_rule *rule, unsigned char *fate, struct put_counts *counts,
    struct berth_err *err)
{
	struct put_counts c = { 0 };
	struct sample_head h = { 0 };
	struct tier_marks marks;
	struct arena *scratch;
	bool scan = false;
	size_t i;
	enum berth_code rc;

	rc = sample_head_get(s, series_id, &h, err);
	if (rc == BERTH_OK)
		rc = sample_check(&h, v, n, err);
	if (rc == BERTH_OK && h.samples > 0)
		rc = tier_ledger_open(s, series_id, h.step_s, err);
	if (rc == BERTH_OK)
		rc = tier_marks_get(s, series_id, &marks, err);
	if (rc != BERTH_OK)
		return rc;
	scratch = arena_new();
	if (fate == NULL)
		fate = arena_array(scratch, n, 1);
	i = sample_before(v, n, tier_late(&marks));
	if (i > 0)
		rc = sample_put_late(s, &h, &marks, v, i, rule, fate, &c, &scan, err);
	sample_clip(rule, v, &i, &n);
	for (size_t m; rc == BERTH_OK && i < n; i += m) {
		struct arena *a = arena_new();

		m = n - i < SAMPLE_CHUNK ? n - i : SAMPLE_CHUNK;
		rc = sample_fates(s, &h, v + i, m, a, fate + i, err);
		if (rc == BERTH_OK)
			rc = sample_put_chunk(s, &h, v + i, m, fate + i, &c, err);
		arena_free(a);
	}
	arena_free(scratch);
	if (rc == BERTH_OK)
		rc = sample_head_put(s, &h, scan || c.replaced > 0, err);
	*counts = c;
	return rc;
}

enum berth_code
store_samples_late(struct store *s, int64_t series_id, const struct sample *v, size_t n,
    const struct put_rule *rule, unsigned char *fate, struct put_counts *counts,
    struct berth_err *err)
{
	struct put_counts c = { 0 };
	enum berth_code rc;

	if (n == 0)
		return BERTH_OK;
	rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = store_end(s, sample_put_all(s, series_id, v, n, rule, fate, &c, err), err);
	if (rc == BERTH_OK) { /* also the commit: what did not reach the disk is not counted */
		counts->stored += c.stored;
		counts->duplicate += c.duplicate;
		counts->replaced += c.replaced;
		counts->refused += c.refused;
	}
	return rc;
}

enum berth_code
store_samples_put(struct store *s, int64_t series_id, const struct sample *v, size_t n,
    unsigned char *fate, struct put_counts *counts, struct berth_err *err)
{
	const struct put_rule rule = { .loaded_before = false };

	return store_samples_late(s, series_id, v, n, &rule, fate, counts, err);
}
