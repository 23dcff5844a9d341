#include <math.h>
#include <stdio.h>

#include "store/machine_rows.h"
#include "store/priv.h"
#include "util/vec.h"

/* Newest measurements that make the speed of a fleet. */
#define FLEET_LAST "20"

/* The derived row of one kind of machine. fix false: only tells of a difference. */
static enum berth_code
fleet_put(struct store *s, const struct fleet_speed *key, bool fix, store_say_fn *say, void *arg,
    struct berth_err *err)
{
	struct db_stmt *st;
	double speed = (double)NAN, had = (double)NAN;
	int64_t n = 0, last = 0, had_n = 0, had_last = 0;
	enum berth_code rc;
	char line[512];
	bool row;

	rc = db_query(s->db, &st, err,
	    "SELECT m.speed, m.n, m.last_t, f.speed AS had, f.n AS had_n, f.last_t AS had_last "
	    "FROM (SELECT avg(speed) AS speed, count(*) AS n, max(t) AS last_t FROM (SELECT speed, "
	    "t FROM measurement WHERE provider = $1 AND region = $2 AND instance_type = $3 AND "
	    "accelerator = $4 AND speed IS NOT NULL ORDER BY t DESC, id DESC LIMIT " FLEET_LAST
	    ") AS newest) AS m LEFT JOIN fleet_speed f ON f.provider = $1 AND f.region = $2 AND "
	    "f.instance_type = $3 AND f.accelerator = $4",
	    DB_ARGS(db_text(key->provider), db_text(key->region), db_text(key->instance_type),
		db_text(key->accelerator)));
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	if (rc == BERTH_OK && row) {
		speed = db_col_real(st, "speed");
		had = db_col_real(st, "had");
		had_n = db_col_i64(st, "had_n");
		had_last = db_col_i64(st, "had_last");
		n = db_col_i64(st, "n");
		last = db_col_i64(st, "last_t");
	}
	db_done(st);
	if (rc != BERTH_OK || isnan(speed) ||
	    (fabs(speed - had) <= 1e-12 && n == had_n && last == had_last))
		return rc;
	if (say != NULL) {
		snprintf(line, sizeof(line),
		    "fleet_speed: %s %s %s %s is %g, its measurements say %g", key->provider,
		    key->region, key->instance_type, key->accelerator, had, speed);
		say(arg, line);
	}
	if (!fix)
		return BERTH_OK;
	return db_run(s->db, err,
	    "INSERT INTO fleet_speed (provider, region, instance_type, accelerator, speed, n, "
	    "last_t) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (provider, region, "
	    "instance_type, accelerator) DO UPDATE SET speed = $5, n = $6, last_t = $7",
	    DB_ARGS(db_text(key->provider), db_text(key->region), db_text(key->instance_type),
		db_text(key->accelerator), db_real(speed), db_i64(n), db_i64(last)));
}

static enum berth_code
measure_rows_put(
    struct store *s, int64_t id, const struct measure_row *rows, size_t n, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		rc = db_run(s->db, err,
		    "INSERT INTO probe (measurement_id, n, test, gpu, peer, value, unit, status) "
		    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		    DB_ARGS(db_i64(id), db_i64((int64_t)i), db_text(rows[i].test),
			db_i64(rows[i].gpu), db_i64(rows[i].peer), db_real(rows[i].value),
			db_text(rows[i].unit), db_text(rows[i].status)));
	return rc;
}

enum berth_code
store_measurement_insert(struct store *s, const struct measurement *m,
    const struct measure_row *rows, size_t n, int64_t *id_out, struct berth_err *err)
{
	const struct fleet_speed key = { .provider = m->provider,
		.region = m->region,
		.instance_type = m->instance_type,
		.accelerator = m->accelerator };
	enum berth_code rc = store_begin(s, err);
	int64_t id = 0;

	if (rc != BERTH_OK)
		return rc;
	rc = db_insert(s->db, &id, err,
	    "INSERT INTO measurement (instance_id, t, provider, region, zone, instance_type, "
	    "accelerator, host, mode, level, speed, verdict, reason, json, run) VALUES ($1, $2, "
	    "$3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING id",
	    DB_ARGS(db_id(m->instance_id), db_i64(m->t), db_text(m->provider), db_text(m->region),
		db_text(m->zone), db_text(m->instance_type), db_text(m->accelerator),
		db_text(m->host), db_text(m->mode), db_text(m->level), db_real(m->speed),
		db_text(m->verdict), db_text(m->reason), db_text(m->json), db_id(s->run_id)));
	if (rc == BERTH_OK)
		rc = measure_rows_put(s, id, rows, n, err);
	if (rc == BERTH_OK)
		rc = fleet_put(s, &key, true, NULL, NULL, err);
	rc = store_end(s, rc, err);
	if (rc == BERTH_OK)
		*id_out = id;
	return rc;
}

struct measurement_list {
	struct arena *a;
	VEC(struct measurement) v;
};

static enum berth_code
measurement_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct measurement_list *l = arg;
	struct measurement *m = VEC_ADD(l->a, &l->v);

	(void)err;
	m->id = db_col_i64(st, "id");
	m->instance_id = db_col_i64(st, "instance_id");
	m->t = db_col_i64(st, "t");
	m->provider = db_col_text(st, "provider", l->a);
	m->region = db_col_text(st, "region", l->a);
	m->zone = db_col_text(st, "zone", l->a);
	m->instance_type = db_col_text(st, "instance_type", l->a);
	m->accelerator = db_col_text(st, "accelerator", l->a);
	m->host = db_col_text(st, "host", l->a);
	m->mode = db_col_text(st, "mode", l->a);
	m->level = db_col_text(st, "level", l->a);
	m->speed = db_col_real(st, "speed");
	m->verdict = db_col_text(st, "verdict", l->a);
	m->reason = db_col_text(st, "reason", l->a);
	m->json = db_col_text(st, "json", l->a);
	return BERTH_OK;
}

enum berth_code
store_measurement_list(struct store *s, const struct measurement_query *q, struct arena *a,
    struct measurement **ms_out, size_t *n_out, struct berth_err *err)
{
	static const struct measurement_query all = { 0 };
	struct measurement_list l = { .a = a };
	enum berth_code rc;

	if (q == NULL)
		q = &all;
	rc = store_each(s, measurement_row, &l, err,
	    "SELECT * FROM measurement WHERE ($1 = 0 OR instance_id = $1) AND t >= $2 AND ($3 = '' "
	    "OR provider = $3) AND ($4 = '' OR region = $4) AND ($5 = '' OR instance_type = $5) "
	    "AND ($6 = '' OR accelerator = $6) ORDER BY t DESC, id DESC LIMIT $7",
	    DB_ARGS(db_i64(q->instance_id), db_i64(q->since), db_text(q->provider),
		db_text(q->region), db_text(q->instance_type), db_text(q->accelerator),
		db_i64(q->limit > 0 ? (int64_t)q->limit : INT64_MAX)));
	if (rc == BERTH_OK) {
		*ms_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_measurement_last(struct store *s, const struct measurement_query *q, struct arena *a,
    struct measurement *m_out, struct berth_err *err)
{
	struct measurement_query one = *q;
	struct measurement *ms = NULL;
	enum berth_code rc;
	size_t n = 0;

	one.limit = 1;
	rc = store_measurement_list(s, &one, a, &ms, &n, err);
	if (rc == BERTH_OK && n == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "no such machine has been probed");
	if (rc == BERTH_OK)
		*m_out = ms[0];
	return rc;
}

struct measure_list {
	struct arena *a;
	VEC(struct measure_row) v;
};

static enum berth_code
measure_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct measure_list *l = arg;
	struct measure_row *r = VEC_ADD(l->a, &l->v);

	(void)err;
	r->measurement_id = db_col_i64(st, "measurement_id");
	r->test = db_col_text(st, "test", l->a);
	r->gpu = (int)db_col_i64(st, "gpu");
	r->peer = (int)db_col_i64(st, "peer");
	r->value = db_col_real(st, "value");
	r->unit = db_col_text(st, "unit", l->a);
	r->status = db_col_text(st, "status", l->a);
	return BERTH_OK;
}

enum berth_code
store_measure_rows(struct store *s, int64_t measurement_id, struct arena *a,
    struct measure_row **rows_out, size_t *n_out, struct berth_err *err)
{
	struct measure_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, measure_row, &l, err,
	    "SELECT * FROM probe WHERE measurement_id = $1 ORDER BY n",
	    DB_ARGS(db_i64(measurement_id)));
	if (rc == BERTH_OK) {
		*rows_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

struct fleet_list {
	struct arena *a;
	VEC(struct fleet_speed) v;
};

static enum berth_code
fleet_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct fleet_list *l = arg;
	struct fleet_speed *f = VEC_ADD(l->a, &l->v);

	(void)err;
	f->provider = db_col_text(st, "provider", l->a);
	f->region = db_col_text(st, "region", l->a);
	f->instance_type = db_col_text(st, "instance_type", l->a);
	f->accelerator = db_col_text(st, "accelerator", l->a);
	f->speed = db_col_real(st, "speed");
	f->n = db_col_i64(st, "n");
	f->last = db_col_i64(st, "last_t");
	return BERTH_OK;
}

enum berth_code
store_fleet_speeds(struct store *s, struct arena *a, struct fleet_speed **fs_out, size_t *n_out,
    struct berth_err *err)
{
	struct fleet_list l = { .a = a };
	enum berth_code rc;

	rc = store_each(s, fleet_row, &l, err,
	    "SELECT * FROM fleet_speed ORDER BY provider, region, instance_type, accelerator",
	    DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*fs_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
fleet_derive(struct store *s, bool fix, store_say_fn *say, void *arg, struct berth_err *err)
{
	struct fleet_list l = { .a = arena_new() };
	enum berth_code rc;

	rc = store_each(s, fleet_row, &l, err,
	    "SELECT DISTINCT provider, region, instance_type, accelerator, 1.0 AS speed, 0 AS n, 0 "
	    "AS last_t FROM measurement WHERE speed IS NOT NULL",
	    DB_NO_ARGS);
	for (size_t i = 0; rc == BERTH_OK && i < l.v.n; i++)
		rc = fleet_put(s, &l.v.v[i], fix, say, arg, err);
	arena_free(l.a);
	return rc;
}
