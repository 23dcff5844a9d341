#include "store/form_rows.h"

#include <string.h>

#include "store/priv.h"
#include "util/vec.h"

struct form_list {
	struct arena *a;
	VEC(struct form_run) v;
};

static enum berth_code
form_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct form_list *l = arg;
	struct form_run *r = VEC_ADD(l->a, &l->v);

	(void)err;
	r->t = db_col_i64(st, "t");
	r->until = db_col_i64(st, "until_t");
	r->mix = db_col_text(st, "mix", l->a);
	r->unit_seconds = db_col_real(st, "unit_seconds");
	return BERTH_OK;
}

/* The part of r in [from, to); none where it is empty. A run goes on where it ended. */
static void
form_push(struct form_list *l, struct form_run r, int64_t from, int64_t to)
{
	double length = (double)(r.until - r.t);
	struct form_run *last = l->v.n > 0 ? &l->v.v[l->v.n - 1] : NULL;

	from = r.t > from ? r.t : from;
	to = r.until < to ? r.until : to;
	if (from >= to)
		return;
	if (from > r.t || to < r.until)
		r.unit_seconds *= (double)(to - from) / length;
	r.t = from;
	r.until = to;
	if (last != NULL && last->until == r.t && strcmp(last->mix, r.mix) == 0) {
		last->until = r.until;
		last->unit_seconds += r.unit_seconds;
		return;
	}
	VEC_PUSH(l->a, &l->v, r);
}

/* Runs [n] laid over those that there are; both ascend. */
static void
form_overlay(
    const struct form_list *have, const struct form_run *v, size_t n, struct form_list *out)
{
	int64_t done = INT64_MIN;
	size_t j = 0;

	for (size_t i = 0; i <= n; i++) {
		int64_t from = i < n ? v[i].t : INT64_MAX;

		for (size_t k = j; k < have->v.n && have->v.v[k].t < from; k++) {
			form_push(out, have->v.v[k], done, from);
			j = have->v.v[k].until <= from ? k + 1 : j;
		}
		if (i == n)
			return;
		form_push(out, v[i], v[i].t, v[i].until);
		done = v[i].until;
	}
}

static bool
form_same(const struct form_list *x, const struct form_list *y)
{
	if (x->v.n != y->v.n)
		return false;
	for (size_t i = 0; i < x->v.n; i++)
		if (x->v.v[i].t != y->v.v[i].t || x->v.v[i].until != y->v.v[i].until ||
		    strcmp(x->v.v[i].mix, y->v.v[i].mix) != 0 ||
		    x->v.v[i].unit_seconds != y->v.v[i].unit_seconds)
			return false;
	return true;
}

static enum berth_code
form_replace(struct store *s, int64_t series_id, const struct form_list *have,
    const struct form_list *now, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < have->v.n; i++)
		rc = db_run(s->db, err, "DELETE FROM series_form WHERE series_id = $1 AND t = $2",
		    DB_ARGS(db_i64(series_id), db_i64(have->v.v[i].t)));
	for (size_t i = 0; rc == BERTH_OK && i < now->v.n; i++)
		rc = db_run(s->db, err,
		    "INSERT INTO series_form (series_id, t, until_t, mix, unit_seconds) VALUES "
		    "($1, $2, $3, $4, $5)",
		    DB_ARGS(db_i64(series_id), db_i64(now->v.v[i].t), db_i64(now->v.v[i].until),
			db_text(now->v.v[i].mix), db_real(now->v.v[i].unit_seconds)));
	return rc;
}

#define FORM_NONE_T (-1) /* before all times */

/* Runs that plans may have read are to change: what the newest of them found is kept. */
static enum berth_code
form_keep(struct store *s, int64_t series_id, struct berth_err *err)
{
	enum berth_code rc = db_run(s->db, err,
	    "INSERT INTO series_form_was (series_id, plan_id, t, until_t, mix, unit_seconds) "
	    "SELECT f.series_id, p.id, f.t, f.until_t, f.mix, f.unit_seconds FROM series_form f, "
	    "(SELECT max(id) AS id FROM plan) p WHERE f.series_id = $1 AND p.id IS NOT NULL AND "
	    "NOT EXISTS (SELECT 1 FROM series_form_was w WHERE w.series_id = $1 AND w.plan_id = "
	    "p.id)",
	    DB_ARGS(db_i64(series_id)));

	if (rc != BERTH_OK)
		return rc;
	return db_run(s->db, err,
	    "INSERT INTO series_form_was (series_id, plan_id, t, until_t, mix, unit_seconds) "
	    "SELECT r.id, p.id, $2, $2, '', 0 FROM series r, (SELECT max(id) AS id FROM plan) p "
	    "WHERE r.id = $1 AND p.id IS NOT NULL ON CONFLICT (series_id, plan_id, t) DO NOTHING",
	    DB_ARGS(db_i64(series_id), db_i64(FORM_NONE_T)));
}

enum berth_code
store_forms_put(
    struct store *s, int64_t series_id, const struct form_run *v, size_t n, struct berth_err *err)
{
	struct arena *a = arena_new();
	struct form_list have = { .a = a }, now = { .a = a };
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (v[i].until <= v[i].t || (i > 0 && v[i].t < v[i - 1].until))
			rc = err_set(err, BERTH_EINVAL, "series %lld: forms do not ascend",
			    (long long)series_id);
	if (rc == BERTH_OK && n > 0)
		rc = store_begin(s, err);
	if (rc != BERTH_OK || n == 0) {
		arena_free(a);
		return rc;
	}
	rc = store_each(s, form_row, &have, err,
	    "SELECT t, until_t, mix, unit_seconds FROM series_form WHERE series_id = $1 AND t >= "
	    "COALESCE((SELECT max(t) FROM series_form WHERE series_id = $1 AND t < $2), $2) AND t "
	    "<= $3 ORDER BY t",
	    DB_ARGS(db_i64(series_id), db_i64(v[0].t), db_i64(v[n - 1].until)));
	if (rc == BERTH_OK)
		form_overlay(&have, v, n, &now);
	if (rc == BERTH_OK && !form_same(&have, &now)) {
		rc = form_keep(s, series_id, err);
		if (rc == BERTH_OK)
			rc = form_replace(s, series_id, &have, &now, err);
	}
	arena_free(a);
	return store_end(s, rc, err);
}

/* Of the plan that is made again the runs as it found them, where they have changed since. */
static enum berth_code
form_list_was(
    struct store *s, int64_t series_id, int64_t to, struct form_list *l, struct berth_err *err)
{
	return store_each(s, form_row, l, err,
	    "SELECT t, until_t, mix, unit_seconds FROM series_form_was WHERE series_id = $1 AND t "
	    "< $2 AND plan_id = (SELECT min(x.plan_id) FROM series_form_was x WHERE x.series_id = "
	    "$1 AND x.plan_id >= $3) ORDER BY t",
	    DB_ARGS(db_i64(series_id), db_i64(to), db_i64(s->as_of_plan)));
}

enum berth_code
store_forms_list(struct store *s, int64_t series_id, int64_t to, struct arena *a,
    struct form_run **runs_out, size_t *n_out, struct berth_err *err)
{
	struct form_list l = { .a = a };
	enum berth_code rc = BERTH_OK;
	size_t none = 0;

	if (to <= 0)
		to = INT64_MAX;
	if (s->as_of_plan != 0)
		rc = form_list_was(s, series_id, to, &l, err);
	none = l.v.n > 0 && l.v.v[0].until <= l.v.v[0].t;
	if (rc == BERTH_OK && l.v.n == 0)
		rc = store_each(s, form_row, &l, err,
		    "SELECT t, until_t, mix, unit_seconds FROM series_form WHERE series_id = $1 "
		    "AND t < $2 ORDER BY t",
		    DB_ARGS(db_i64(series_id), db_i64(to)));
	if (rc == BERTH_OK) {
		*runs_out = l.v.v + none;
		*n_out = l.v.n - none;
	}
	return rc;
}
