#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/priv.h"
#include "store/series_rows.h"
#include "util/buf.h"
#include "util/time.h"
#include "util/vec.h"

#define SAMPLE_CHUNK ((size_t)16384)	/* compared with what is stored in one go */
#define SAMPLE_BULK 128	/* rows of one INSERT */
#define SAMPLE_STEPS_MAX INT64_C(100000000)

/* The series row's derived columns, kept in step with its samples. */
struct sample_head {
	int64_t id, step_s, first_t, last_t, samples;
	double peak;		/* NaN: none */
};

static enum berth_code
sample_head_get(struct store *s, int64_t series_id, struct sample_head *h, struct berth_err *err)
{
	struct db_stmt *st;
	enum berth_code rc;
	bool row;

	rc = db_query(s->db, &st, err, "SELECT step_s, first_t, last_t, samples, peak FROM series WHERE id = $1",
	    DB_ARGS(db_i64(series_id)));
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	if (rc == BERTH_OK && !row)
		rc = err_set(err, BERTH_ENOTFOUND, "there is no series %lld", (long long)series_id);
	if (rc == BERTH_OK)
		*h = (struct sample_head){ .id = series_id, .step_s = db_col_i64(st, "step_s"),
			.first_t = db_col_i64(st, "first_t"), .last_t = db_col_i64(st, "last_t"),
			.samples = db_col_i64(st, "samples"), .peak = db_col_real(st, "peak") };
	db_done(st);
	return rc;
}

static enum berth_code
sample_check(const struct sample_head *h, const struct sample *v, size_t n, struct berth_err *err)
{
	char at[TIME_FMT_SIZE];

	for (size_t i = 0; i < n; i++) {
		if (v[i].t % h->step_s != 0)
			return err_set(err, BERTH_EINVAL, "series %lld: %s is not on its grid of %lld s",
			    (long long)h->id, time_fmt(at, v[i].t), (long long)h->step_s);
		if (i > 0 && v[i].t <= v[i - 1].t)
			return err_set(err, BERTH_EINVAL, "series %lld: times do not ascend at %s",
			    (long long)h->id, time_fmt(at, v[i].t));
		if (!(v[i].mean >= 0) || !(v[i].peak >= v[i].mean) || !isfinite(v[i].peak))
			return err_set(err, BERTH_EINVAL, "series %lld: at %s mean %g and peak %g are not 0 <= mean "
			    "<= peak", (long long)h->id, time_fmt(at, v[i].t), v[i].mean, v[i].peak);
	}
	return BERTH_OK;
}

struct sample_list {
	struct arena *a;
	VEC(struct sample) v;
	int t, mean, peak;	/* columns; -1: not looked up */
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

/* Tells v [n] what each is to what is stored already. */
static enum berth_code
sample_fates(struct store *s, int64_t series_id, const struct sample *v, size_t n, struct arena *scratch,
    unsigned char *fate, struct berth_err *err)
{
	struct sample_list have = { .a = scratch, .t = -1 };
	enum berth_code rc;
	size_t j = 0;

	rc = store_each(s, sample_row, &have, err,
	    "SELECT t, mean, peak FROM sample WHERE series_id = $1 AND t BETWEEN $2 AND $3 ORDER BY t",
	    DB_ARGS(db_i64(series_id), db_i64(v[0].t), db_i64(v[n - 1].t)));
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		while (j < have.v.n && have.v.v[j].t < v[i].t)
			j++;
		if (j == have.v.n || have.v.v[j].t != v[i].t)
			fate[i] = PUT_STORED;
		else if (have.v.v[j].mean == v[i].mean && have.v.v[j].peak == v[i].peak)
			fate[i] = PUT_DUPLICATE;
		else
			fate[i] = PUT_REPLACED;
	}
	return rc;
}

/* Puts one sample as three of a statement's arguments. */
static void
sample_args(struct db_val *args, const struct sample *v)
{
	args[0] = db_i64(v->t);
	args[1] = db_real(v->mean);
	args[2] = v->peak == v->mean ? db_null() : db_real(v->peak);
}

/* "INSERT ... VALUES ($1, $2, $3, $4), ($1, $5, $6, $7) ...": the cost of a statement is shared by many rows. */
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
		buf_printf(&b, "%s($1, $%d, $%d, $%d)", i > 0 ? ", " : "", 3 * i + 2, 3 * i + 3, 3 * i + 4);
	rc = buf_check(&b, "store: a statement", err);
	if (rc == BERTH_OK && (s->sample_sql = strdup(b.p)) == NULL)
		rc = err_set(err, BERTH_ENOMEM, "store: out of memory");
	buf_free(&b);
	return rc;
}

/* Inserts the samples of v [n] that are new. */
static enum berth_code
sample_insert(struct store *s, int64_t series_id, const struct sample *v, const unsigned char *fate, size_t n,
    struct berth_err *err)
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
		rc = db_run(s->db, err, "INSERT INTO sample (series_id, t, mean, peak) VALUES ($1, $2, $3, $4)",
		    (const struct db_val[]){ args[0], args[1 + 3 * i], args[2 + 3 * i], args[3 + 3 * i] }, 4);
	return rc;
}

static enum berth_code
sample_update(struct store *s, int64_t series_id, const struct sample *v, const unsigned char *fate, size_t n,
    struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	struct db_val args[4];

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (fate[i] != PUT_REPLACED)
			continue;
		sample_args(args, &v[i]);
		rc = db_run(s->db, err, "UPDATE sample SET mean = $1, peak = $2 WHERE series_id = $3 AND t = $4",
		    DB_ARGS(args[1], args[2], db_i64(series_id), args[0]));
	}
	return rc;
}

static enum berth_code
sample_put_chunk(struct store *s, struct sample_head *h, const struct sample *v, size_t n, unsigned char *fate,
    struct put_counts *counts, struct berth_err *err)
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
		return db_run(s->db, err, "UPDATE series SET first_t = $1, last_t = $2, samples = $3, "
		    "peak = (SELECT max(COALESCE(peak, mean)) FROM sample WHERE series_id = $4) WHERE id = $4",
		    DB_ARGS(db_i64(h->first_t), db_i64(h->last_t), db_i64(h->samples), db_i64(h->id)));
	return db_run(s->db, err, "UPDATE series SET first_t = $1, last_t = $2, samples = $3, peak = $4 WHERE id = $5",
	    DB_ARGS(db_i64(h->first_t), db_i64(h->last_t), db_i64(h->samples), db_real(h->peak), db_i64(h->id)));
}

static enum berth_code
sample_put_all(struct store *s, int64_t series_id, const struct sample *v, size_t n, unsigned char *fate,
    struct put_counts *counts, struct berth_err *err)
{
	struct put_counts c = { 0 };
	struct sample_head h = { 0 };
	struct arena *scratch;
	enum berth_code rc;

	rc = sample_head_get(s, series_id, &h, err);
	if (rc == BERTH_OK)
		rc = sample_check(&h, v, n, err);
	if (rc != BERTH_OK)
		return rc;
	scratch = arena_new();
	for (size_t i = 0; rc == BERTH_OK && i < n; i += SAMPLE_CHUNK) {
		size_t m = n - i < SAMPLE_CHUNK ? n - i : SAMPLE_CHUNK;
		unsigned char *f = fate != NULL ? fate + i : arena_array(scratch, m, 1);

		rc = sample_fates(s, series_id, v + i, m, scratch, f, err);
		if (rc == BERTH_OK)
			rc = sample_put_chunk(s, &h, v + i, m, f, &c, err);
		arena_reset(scratch);
	}
	arena_free(scratch);
	if (rc == BERTH_OK)
		rc = sample_head_put(s, &h, c.replaced > 0, err);
	*counts = c;
	return rc;
}

enum berth_code
store_samples_put(struct store *s, int64_t series_id, const struct sample *v, size_t n, unsigned char *fate,
    struct put_counts *counts, struct berth_err *err)
{
	struct put_counts c = { 0 };
	enum berth_code rc;

	if (n == 0)
		return BERTH_OK;
	rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = store_end(s, sample_put_all(s, series_id, v, n, fate, &c, err), err);
	if (rc == BERTH_OK) {	/* also the commit: what did not reach the disk is not counted */
		counts->stored += c.stored;
		counts->duplicate += c.duplicate;
		counts->replaced += c.replaced;
	}
	return rc;
}

struct sample_fill {
	struct dense *d;
	int t, mean, peak;
};

static enum berth_code
sample_fill_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct sample_fill *f = arg;
	size_t i;

	(void)err;
	if (f->t < 0) {
		f->t = db_col(st, "t");
		f->mean = db_col(st, "mean");
		f->peak = db_col(st, "peak");
	}
	i = (size_t)((db_col_at(st, f->t).i - f->d->t0) / f->d->step_s);
	f->d->mean[i] = sample_real(db_col_at(st, f->mean), (double)NAN);
	f->d->peak[i] = sample_real(db_col_at(st, f->peak), f->d->mean[i]);
	f->d->missing--;
	return BERTH_OK;
}

enum berth_code
store_samples_range(struct store *s, int64_t series_id, int64_t from, int64_t to, struct arena *a,
    struct dense *out, struct berth_err *err)
{
	struct sample_head h;
	struct dense d = { 0 };
	struct sample_fill f = { .d = &d, .t = -1 };
	enum berth_code rc;
	int64_t end;

	rc = sample_head_get(s, series_id, &h, err);
	if (rc != BERTH_OK)
		return rc;
	d.step_s = h.step_s;
	d.t0 = from != 0 ? time_floor(from, h.step_s) : h.first_t;
	end = to != 0 ? time_floor(to + h.step_s - 1, h.step_s) : h.last_t + h.step_s;
	if (h.samples > 0 && end > d.t0) {
		if ((end - d.t0) / h.step_s > SAMPLE_STEPS_MAX)
			return err_set(err, BERTH_EINVAL, "series %lld: %lld steps at once", (long long)series_id,
			    (long long)((end - d.t0) / h.step_s));
		d.n = (size_t)((end - d.t0) / h.step_s);
	}
	d.mean = arena_array_of(a, d.n, double);
	d.peak = arena_array_of(a, d.n, double);
	d.missing = d.n;
	for (size_t i = 0; i < d.n; i++)
		d.mean[i] = d.peak[i] = (double)NAN;
	if (d.n > 0)
		rc = store_each(s, sample_fill_row, &f, err,
		    "SELECT t, mean, peak FROM sample WHERE series_id = $1 AND t >= $2 AND t < $3",
		    DB_ARGS(db_i64(series_id), db_i64(d.t0), db_i64(end)));
	if (rc == BERTH_OK)
		*out = d;
	return rc;
}

struct raw_list {
	struct arena *a;
	VEC(struct raw_row) v;
};

static enum berth_code
raw_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct raw_list *l = arg;
	struct raw_row *r = VEC_ADD(l->a, &l->v);

	(void)err;
	r->step = db_col_i64(st, "step");
	r->source = db_col_i64(st, "source");
	r->t = db_col_i64(st, "t");
	r->value = db_col_real(st, "value");
	r->peak = db_col_real(st, "peak");
	return BERTH_OK;
}

enum berth_code
store_raw_list(struct store *s, int64_t series_id, int64_t from, int64_t to, struct arena *a,
    struct raw_row **rows_out, size_t *n_out, struct berth_err *err)
{
	struct raw_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, raw_row, &l, err, "SELECT step, t, source, value, peak FROM raw "
	    "WHERE series_id = $1 AND step >= $2 AND step < $3 ORDER BY step, t, source",
	    DB_ARGS(db_i64(series_id), db_i64(from), db_i64(to)));
	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_raw_replace(struct store *s, int64_t series_id, int64_t step, const struct raw_row *rows, size_t n,
    struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err, "DELETE FROM raw WHERE series_id = $1 AND step = $2",
	    DB_ARGS(db_i64(series_id), db_i64(step)));
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = db_run(s->db, err, "INSERT INTO raw (series_id, step, t, source, value, peak) "
		    "VALUES ($1, $2, $3, $4, $5, $6)", DB_ARGS(db_i64(series_id), db_i64(step), db_i64(rows[i].t),
		    db_i64(rows[i].source), db_real(rows[i].value), db_real(rows[i].peak)));
	return store_end(s, rc, err);
}

struct series_derive_arg {
	struct store *s;
	struct arena *a;
	bool fix;
	store_say_fn *say;
	void *arg;
};

/* One series whose own columns differ from what its samples say. */
static enum berth_code
series_derive_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct series_derive_arg *d = arg;
	char line[768];

	snprintf(line, sizeof(line), "series %s: says %lld samples and a peak of %g, its samples say %lld and %g",
	    db_col_text(st, "name", d->a), (long long)db_col_i64(st, "samples"), db_col_real(st, "peak"),
	    (long long)db_col_i64(st, "n"), db_col_real(st, "true_peak"));
	d->say(d->arg, line);
	if (!d->fix)
		return BERTH_OK;
	return db_run(d->s->db, err, "UPDATE series SET first_t = $1, last_t = $2, samples = $3, peak = $4 WHERE id = $5",
	    DB_ARGS(db_id(db_col_i64(st, "true_first")), db_id(db_col_i64(st, "true_last")),
	    db_i64(db_col_i64(st, "n")), db_real(db_col_real(st, "true_peak")), db_i64(db_col_i64(st, "id"))));
}

enum berth_code
series_derive(struct store *s, bool fix, store_say_fn *say, void *arg, struct berth_err *err)
{
	struct series_derive_arg d = { .s = s, .a = arena_new(), .fix = fix, .say = say, .arg = arg };
	enum berth_code rc;

	rc = store_each(s, series_derive_row, &d, err, "SELECT a.id, a.name, a.samples, a.peak, COALESCE(b.n, 0) AS n, "
	    "b.true_first, b.true_last, b.true_peak FROM series a LEFT JOIN (SELECT series_id, count(*) AS n, "
	    "min(t) AS true_first, max(t) AS true_last, max(COALESCE(peak, mean)) AS true_peak FROM sample "
	    "GROUP BY series_id) AS b ON b.series_id = a.id WHERE a.samples <> COALESCE(b.n, 0) "
	    "OR COALESCE(a.first_t, -1) <> COALESCE(b.true_first, -1) "
	    "OR COALESCE(a.last_t, -1) <> COALESCE(b.true_last, -1) "
	    "OR COALESCE(a.peak, -1) <> COALESCE(b.true_peak, -1) ORDER BY a.id", DB_NO_ARGS);
	arena_free(d.a);
	return rc;
}
