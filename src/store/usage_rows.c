#include "store/usage_rows.h"

#include <stdlib.h>
#include <string.h>

#include "store/priv.h"
#include "store/usage_pack.h"
#include "util/buf.h"
#include "util/duration.h"
#include "util/time.h"
#include "util/vec.h"

#define USAGE_HOUR INT64_C(3600)
#define USAGE_HOUR_MAX ((size_t)256 * 1024 * 1024)

enum berth_code
store_usage_label(struct store *s, const char *labels, int64_t *id_out, struct berth_err *err)
{
	enum berth_code rc;
	int64_t id = 0;

	rc = db_get_one(s->db, 0, &id, err, "SELECT id FROM usage_label WHERE labels = $1",
	    DB_ARGS(db_text(labels)));
	if (rc == BERTH_OK && id == 0)
		rc = store_insert(s, &id, err,
		    "INSERT INTO usage_label (labels) VALUES ($1) RETURNING id",
		    DB_ARGS(db_text(labels)));
	if (rc == BERTH_OK)
		*id_out = id;
	return rc;
}

struct usage_label_list {
	struct arena *a;
	VEC(struct usage_label_row) v;
};

static enum berth_code
usage_label_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct usage_label_list *l = arg;
	struct usage_label_row *u = VEC_ADD(l->a, &l->v);

	(void)err;
	u->id = db_col_i64(st, "id");
	u->labels = db_col_text(st, "labels", l->a);
	return BERTH_OK;
}

enum berth_code
store_usage_labels(struct store *s, struct arena *a, struct usage_label_row **v_out, size_t *n_out,
    struct berth_err *err)
{
	struct usage_label_list l = { .a = a };
	enum berth_code rc = store_each(s, usage_label_row, &l, err,
	    "SELECT id, labels FROM usage_label ORDER BY id", DB_NO_ARGS);

	if (rc == BERTH_OK) {
		*v_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

static int
usage_cmp_job(const struct usage_job *x, const struct usage_job *y)
{
	if (x->submit != y->submit)
		return x->submit < y->submit ? -1 : 1;
	return strcmp(x->job, y->job);
}

static int
usage_cmp(const struct usage_job *x, const struct usage_job *y)
{
	int c = usage_cmp_job(x, y);

	if (c != 0)
		return c;
	return x->part < y->part ? -1 : x->part > y->part;
}

/* Whether a row may take the place of another of its key: it must not know less. */
static bool
usage_knows(const struct usage_job *row, const struct usage_job *old)
{
	if (row->state != old->state)
		return row->state > old->state;
	return row->state == USAGE_OVER || row->until >= old->until;
}

static bool
usage_same(const struct usage_job *x, const struct usage_job *y)
{
	return x->label == y->label && x->start == y->start && x->until == y->until &&
	       x->state == y->state && x->gpus == y->gpus;
}

static void
usage_widen(struct usage_span *span, const struct usage_job *row)
{
	if (row->submit < span->from)
		span->from = row->submit;
	if (row->start != 0 && row->start < span->from)
		span->from = row->start;
	if (row->until > span->to)
		span->to = row->until;
}

/* Where a row is, and what orders it first: rows themselves are large. */
struct usage_ranked {
	int64_t submit;
	const struct usage_job *row;
};

static int
usage_cmp_ranked(const void *a, const void *b)
{
	const struct usage_ranked *x = a, *y = b;
	int c;

	if (x->submit != y->submit)
		return x->submit < y->submit ? -1 : 1;
	c = usage_cmp(x->row, y->row);
	if (c != 0)
		return c;
	return x->row < y->row ? -1 : x->row > y->row; /* their order in the input */
}

/* Sorts v [n] if that takes few moves, as exports are nearly in order. False: it does not; v is in
 * some other order. */
static bool
usage_insert(struct usage_ranked *v, size_t n)
{
	size_t moves = 0;

	for (size_t i = 1; i < n && moves <= 8 * n; i++) {
		struct usage_ranked x = v[i];
		size_t k = i;

		for (; k > 0 && usage_cmp_ranked(&v[k - 1], &x) > 0; k--)
			v[k] = v[k - 1];
		v[k] = x;
		moves += i - k;
	}
	return moves <= 8 * n;
}

/* The first of the rows that came together with this one: a job's parts do, in their order. */
static const struct usage_job *
usage_head(const struct usage_job *rows, const struct usage_job *r)
{
	while (r > rows && r->part != 0)
		r--;
	return r;
}

/*
 * One job, v [n] in the order of its parts and of the input, into out: the parts of its last row
 * that knows no less, and of no other, for an earlier one may have had more types of GPUs. Returns
 * how many parts.
 */
static size_t
usage_sort_job(const struct usage_job *rows, const struct usage_ranked *v, size_t n,
    struct usage_job *out, struct put_counts *counts)
{
	const struct usage_job *best = usage_head(rows, v[0].row);
	size_t m = 0;

	for (size_t i = 1; i < n && v[i].row->part == v[0].row->part; i++) {
		counts->duplicate += v[i].row->part == 0 && v[i].row->label != USAGE_LABEL_NONE;
		if (usage_knows(v[i].row, best))
			best = usage_head(rows, v[i].row);
	}
	for (size_t i = 0; i < n; i++)
		if (usage_head(rows, v[i].row) == best)
			out[m++] = *v[i].row;
	return m;
}

/* Rows [n] sorted by key into out [n], each job once. Returns how many there are; 0: out of memory.
 */
static size_t
usage_sort(const struct usage_job *rows, size_t n, struct usage_job *out, struct put_counts *counts)
{
	struct usage_ranked *v = malloc(n * sizeof(*v));
	size_t m = 0, to;

	if (v == NULL)
		return 0;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct usage_ranked){ rows[i].submit, &rows[i] };
	if (!usage_insert(v, n))
		qsort(v, n, sizeof(*v), usage_cmp_ranked);
	for (size_t from = 0; from < n; from = to) {
		for (to = from + 1; to < n && usage_cmp_job(v[from].row, v[to].row) == 0; to++)
			;
		m += usage_sort_job(rows, v + from, to - from, out + m, counts);
	}
	free(v);
	return m;
}

static bool
usage_sorted(const struct usage_job *rows, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (usage_cmp(&rows[i - 1], &rows[i]) >= 0)
			return false;
	return true;
}

/* The jobs of one hour: as they are stored, then as they are to be. */
struct usage_hour {
	int64_t hour;
	bool exists, dirty;
	VEC(struct usage_job) old, now;
};

static enum berth_code
usage_damaged(int64_t hour, struct berth_err *err)
{
	return err_set(err, BERTH_EINVAL,
	    "the jobs of hour %lld cannot be read: damaged, or packed by a newer berth",
	    (long long)hour);
}

static enum berth_code
usage_hour_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct usage_hour *h = ((void **)arg)[0];
	struct arena *a = ((void **)arg)[1];
	struct db_val packed = db_col_at(st, 0);
	struct usage_unpack u;
	struct usage_job r;
	int got = usage_unpack_begin(&u, h->hour, packed.s, packed.len) ? 1 : -1;

	h->exists = true;
	while (got > 0 && (got = usage_unpack_next(&u, &r)) > 0) {
		r.job = arena_strdup(a, r.job);
		VEC_PUSH(a, &h->old, r);
	}
	return got < 0 ? usage_damaged(h->hour, err) : BERTH_OK;
}

static enum berth_code
usage_hour_get(
    struct store *s, int64_t hour, struct arena *a, struct usage_hour *h, struct berth_err *err)
{
	void *arg[] = { h, a };

	*h = (struct usage_hour){ .hour = hour };
	return store_each(s, usage_hour_row, arg, err,
	    "SELECT packed FROM usage_hour WHERE hour = $1", DB_ARGS(db_i64(hour)));
}

/* The jobs of an hour are to be rows [n]; packed in b. */
static enum berth_code
usage_hour_put(struct store *s, int64_t hour, const struct usage_job *rows, size_t n, struct buf *b,
    struct berth_err *err)
{
	int64_t first = INT64_MAX, until = INT64_MIN, waiting = 0;
	enum berth_code rc;

	if (n == 0)
		return db_run(
		    s->db, err, "DELETE FROM usage_hour WHERE hour = $1", DB_ARGS(db_i64(hour)));
	for (size_t i = 0; i < n; i++) {
		const struct usage_job *r = &rows[i];

		first = r->submit < first ? r->submit : first;
		first = r->start != 0 && r->start < first ? r->start : first;
		until = r->until > until ? r->until : until;
		waiting += r->state == USAGE_WAITS;
	}
	buf_clear(b);
	(void)usage_pack(hour, rows, n, b);
	rc = buf_check(b, "jobs of one hour", err);
	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "INSERT INTO usage_hour (hour, first_t, until_t, jobs, waiting, packed) VALUES "
		    "($1, $2, $3, $4, $5, $6) ON CONFLICT (hour) DO UPDATE SET first_t = "
		    "excluded.first_t, until_t = excluded.until_t, jobs = excluded.jobs, waiting = "
		    "excluded.waiting, packed = excluded.packed",
		    DB_ARGS(db_i64(hour), db_i64(first), db_i64(until), db_i64((int64_t)n),
			db_i64(waiting), db_blob(b->p, b->len)));
	return rc;
}

/* What a load did to a job, which counts once however many parts it has. */
struct usage_fate {
	bool is_new, had, changed, none;
};

static void
usage_count(struct put_counts *counts, struct usage_fate *fate)
{
	if (fate->none) {
		counts->removed += fate->changed;
		*fate = (struct usage_fate){ 0 };
		return;
	}
	counts->stored += fate->is_new && !fate->had;
	counts->replaced += fate->had && (fate->is_new || fate->changed);
	counts->duplicate += fate->had && !fate->is_new && !fate->changed;
	*fate = (struct usage_fate){ 0 };
}

/* Walks rows [n] of one hour and what is stored of it side by side. */
static void
usage_merge(struct usage_hour *h, const struct usage_job *rows, size_t n, struct arena *a,
    struct put_counts *counts, struct usage_span *changed)
{
	struct usage_fate fate = { 0 };
	const struct usage_job *job = NULL; /* that of the input whose parts are passed */
	size_t i = 0, j = 0;

	h->now.cap = n + h->old.n;
	h->now.v = arena_array_of(a, h->now.cap, struct usage_job);
	while (i < n || j < h->old.n) {
		const struct usage_job *o = j < h->old.n ? &h->old.v[j] : NULL;
		int c = o == NULL ? -1 : i == n ? 1 : usage_cmp(&rows[i], o);

		if (job != NULL && usage_cmp_job(c > 0 ? o : &rows[i], job) != 0) {
			usage_count(counts, &fate);
			job = NULL;
		}
		if (c > 0) { /* not in the input; a part that its job has lost? */
			const struct usage_job *kin =
			    i > 0 && usage_cmp_job(&rows[i - 1], o) == 0 ? &rows[i - 1]
			    : i < n && usage_cmp_job(&rows[i], o) == 0   ? &rows[i]
									 : NULL;

			if (kin != NULL) {
				job = o;
				fate.had = true;
			}
			if (kin != NULL && usage_knows(kin, o)) {
				usage_widen(changed, o);
				h->dirty = fate.changed = true;
			} else {
				VEC_PUSH(a, &h->now, *o);
			}
			j++;
			continue;
		}
		j += c == 0;
		job = &rows[i];
		if (rows[i].label == USAGE_LABEL_NONE) {
			fate.none = true;
			if (c == 0 && usage_knows(&rows[i], o)) {
				usage_widen(changed, o);
				h->dirty = fate.changed = true;
			} else if (c == 0) {
				VEC_PUSH(a, &h->now, *o);
			}
			i++;
			continue;
		}
		if (c == 0 && (usage_same(&rows[i], o) || !usage_knows(&rows[i], o))) {
			fate.had = true;
			VEC_PUSH(a, &h->now, *o);
			i++;
			continue;
		}
		fate.is_new |= c < 0;
		fate.had |= c == 0;
		fate.changed |= c == 0;
		if (c == 0)
			usage_widen(changed, o);
		usage_widen(changed, &rows[i]);
		VEC_PUSH(a, &h->now, rows[i++]);
		h->dirty = true;
	}
	if (job != NULL)
		usage_count(counts, &fate);
}

/* Rows [n], sorted, all submitted in one hour. */
static enum berth_code
usage_put_hour(struct store *s, int64_t hour, const struct usage_job *rows, size_t n,
    struct arena *a, struct buf *b, struct put_counts *counts, struct usage_span *changed,
    struct berth_err *err)
{
	struct usage_hour h;
	bool none = false;
	enum berth_code rc = usage_hour_get(s, hour, a, &h, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++)
		none |= rows[i].label == USAGE_LABEL_NONE;
	if (h.old.n == 0 &&
	    !none) { /* as in most of a first load: there is nothing to merge with */
		for (size_t i = 0; i < n; i++) {
			counts->stored += i == 0 || usage_cmp_job(&rows[i - 1], &rows[i]) != 0;
			usage_widen(changed, &rows[i]);
		}
		return usage_hour_put(s, hour, rows, n, b, err);
	}
	usage_merge(&h, rows, n, a, counts, changed);
	return h.dirty ? usage_hour_put(s, hour, h.now.v, h.now.n, b, err) : BERTH_OK;
}

static enum berth_code
usage_put_all(struct store *s, const struct usage_job *rows, size_t n, struct put_counts *counts,
    struct usage_span *changed, struct berth_err *err)
{
	struct arena *a = arena_new();
	enum berth_code rc = BERTH_OK;
	size_t from = 0, to;
	struct buf b;

	buf_init(&b, USAGE_HOUR_MAX);
	for (; rc == BERTH_OK && from < n; from = to) {
		int64_t hour = time_floor(rows[from].submit, USAGE_HOUR);

		for (to = from + 1; to < n && rows[to].submit < hour + USAGE_HOUR; to++)
			;
		rc = usage_put_hour(s, hour, rows + from, to - from, a, &b, counts, changed, err);
		arena_reset(a);
	}
	buf_free(&b);
	arena_free(a);
	return rc;
}

enum berth_code
store_usage_put(struct store *s, struct usage_job *rows, size_t n, struct put_counts *counts,
    struct usage_span *changed, struct berth_err *err)
{
	struct put_counts c = { 0 };
	struct usage_job *sorted = NULL;
	enum berth_code rc;

	if (n == 0)
		return BERTH_OK;
	if (!usage_sorted(rows, n)) {
		sorted = malloc(n * sizeof(*sorted));
		n = sorted != NULL ? usage_sort(rows, n, sorted, &c) : 0;
		if (n == 0) {
			free(sorted);
			return err_set(err, BERTH_ENOMEM, "out of memory for the jobs");
		}
	}
	rc = store_begin(s, err);
	if (rc == BERTH_OK) {
		rc = usage_put_all(s, sorted != NULL ? sorted : rows, n, &c, changed, err);
		if (rc == BERTH_OK) {
			counts->stored += c.stored;
			counts->duplicate += c.duplicate;
			counts->replaced += c.replaced;
			counts->removed += c.removed;
		}
		rc = store_end(s, rc, err);
	}
	free(sorted);
	return rc;
}

struct usage_list {
	struct arena *a;
	VEC(struct usage_job) v;
};

/* Calls fn for each job of a row of usage_hour, whose columns are hour and packed. */
static enum berth_code
usage_each_of(struct db_stmt *st, store_usage_fn *fn, void *arg, struct berth_err *err)
{
	struct db_val packed = db_col_at(st, 1);
	int64_t hour = db_col_at(st, 0).i;
	enum berth_code rc = BERTH_OK;
	struct usage_unpack u;
	struct usage_job r;
	int got = usage_unpack_begin(&u, hour, packed.s, packed.len) ? 1 : -1;

	while (rc == BERTH_OK && got > 0 && (got = usage_unpack_next(&u, &r)) > 0)
		rc = fn(arg, &r, err);
	return rc == BERTH_OK && got < 0 ? usage_damaged(hour, err) : rc;
}

static enum berth_code
usage_take_waiting(void *arg, const struct usage_job *row, struct berth_err *err)
{
	struct usage_list *l = arg;
	struct usage_job copy = *row;

	(void)err;
	copy.job = arena_strdup(l->a, row->job);
	if (row->state == USAGE_WAITS)
		VEC_PUSH(l->a, &l->v, copy);
	return BERTH_OK;
}

static enum berth_code
usage_waiting_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	return usage_each_of(st, usage_take_waiting, arg, err);
}

enum berth_code
store_usage_waiting(struct store *s, struct arena *a, struct usage_job **rows_out, size_t *n_out,
    struct berth_err *err)
{
	struct usage_list l = { .a = a };
	enum berth_code rc = store_each(s, usage_waiting_row, &l, err,
	    "SELECT hour, packed FROM usage_hour WHERE waiting > 0 ORDER BY hour", DB_NO_ARGS);

	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_usage_remove(struct store *s, int64_t submit, const char *job, struct berth_err *err)
{
	struct arena *a = arena_new();
	struct usage_hour h;
	struct buf b;
	enum berth_code rc = store_begin(s, err);

	buf_init(&b, USAGE_HOUR_MAX);
	if (rc == BERTH_OK) {
		rc = usage_hour_get(s, time_floor(submit, USAGE_HOUR), a, &h, err);
		for (size_t i = 0; rc == BERTH_OK && i < h.old.n; i++)
			if (h.old.v[i].submit != submit || strcmp(h.old.v[i].job, job) != 0)
				VEC_PUSH(a, &h.now, h.old.v[i]);
		if (rc == BERTH_OK && h.now.n < h.old.n)
			rc = usage_hour_put(s, h.hour, h.now.v, h.now.n, &b, err);
		rc = store_end(s, rc, err);
	}
	buf_free(&b);
	arena_free(a);
	return rc;
}

struct usage_scan {
	store_usage_fn *fn;
	void *arg;
	int64_t from, to;
};

static enum berth_code
usage_scan_job(void *arg, const struct usage_job *row, struct berth_err *err)
{
	struct usage_scan *scan = arg;

	if (row->until <= scan->from ||
	    (row->submit >= scan->to && (row->start == 0 || row->start >= scan->to)))
		return BERTH_OK;
	return scan->fn(scan->arg, row, err);
}

static enum berth_code
usage_scan_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	return usage_each_of(st, usage_scan_job, arg, err);
}

enum berth_code
store_usage_each(
    struct store *s, int64_t from, int64_t to, store_usage_fn *fn, void *arg, struct berth_err *err)
{
	struct usage_scan scan = { fn, arg, from, to };

	return store_each(s, usage_scan_row, &scan, err,
	    "SELECT hour, packed FROM usage_hour WHERE first_t < $1 AND until_t > $2 ORDER BY hour",
	    DB_ARGS(db_i64(to), db_i64(from)));
}

enum berth_code
store_usage_bounds(struct store *s, int64_t *from_out, int64_t *to_out, struct berth_err *err)
{
	enum berth_code rc =
	    db_get_one(s->db, 0, from_out, err, "SELECT min(first_t) FROM usage_hour", DB_NO_ARGS);

	if (rc == BERTH_OK)
		rc = db_get_one(
		    s->db, 0, to_out, err, "SELECT max(until_t) FROM usage_hour", DB_NO_ARGS);
	return rc;
}

enum berth_code
store_usage_view_put(
    struct store *s, const char *keys, int64_t step_s, bool *added_out, struct berth_err *err)
{
	char was[DURATION_FMT_SIZE], now[DURATION_FMT_SIZE];
	enum berth_code rc;
	int64_t have = 0;

	rc = db_get_one(s->db, 0, &have, err, "SELECT step_s FROM usage_view WHERE keys = $1",
	    DB_ARGS(db_text(keys)));
	if (step_s == 0)
		step_s = have != 0 ? have : USAGE_HOUR;
	if (rc == BERTH_OK && have != 0 && have != step_s)
		rc = err_set(err, BERTH_EINVAL, "series by %s are kept with a step of %s, not %s",
		    keys, duration_fmt(was, have), duration_fmt(now, step_s));
	if (rc == BERTH_OK && have == 0)
		rc = store_write(s, err, "INSERT INTO usage_view (keys, step_s) VALUES ($1, $2)",
		    DB_ARGS(db_text(keys), db_i64(step_s)));
	if (rc == BERTH_OK)
		*added_out = have == 0;
	return rc;
}

struct usage_view_list {
	struct arena *a;
	VEC(struct usage_view) v;
};

static enum berth_code
usage_view_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct usage_view_list *l = arg;
	struct usage_view *v = VEC_ADD(l->a, &l->v);

	(void)err;
	v->keys = db_col_text(st, "keys", l->a);
	v->step_s = db_col_i64(st, "step_s");
	return BERTH_OK;
}

enum berth_code
store_usage_view_list(struct store *s, struct arena *a, struct usage_view **v_out, size_t *n_out,
    struct berth_err *err)
{
	struct usage_view_list l = { .a = a };
	enum berth_code rc = store_each(s, usage_view_row, &l, err,
	    "SELECT keys, step_s FROM usage_view ORDER BY keys", DB_NO_ARGS);

	if (rc == BERTH_OK) {
		*v_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}
