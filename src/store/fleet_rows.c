#include "store/fleet_rows.h"
#include "store/priv.h"
#include "util/vec.h"

enum berth_code
store_fleet_put(struct store *s, const struct fleet_row *f, struct berth_err *err)
{
	return store_write(s, err,
	    "INSERT INTO fleet (name, t, state, run) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO "
	    "UPDATE SET t = $2, state = $3, run = $4",
	    DB_ARGS(db_text(f->name), db_i64(f->t), db_text(f->state), db_id(s->run_id)));
}

struct fleet_rows {
	struct arena *a;
	VEC(struct fleet_row) v;
};

static enum berth_code
fleet_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct fleet_rows *l = arg;
	struct fleet_row *f = VEC_ADD(l->a, &l->v);

	(void)err;
	f->name = db_col_text(st, "name", l->a);
	f->t = db_col_i64(st, "t");
	f->state = db_col_text(st, "state", l->a);
	return BERTH_OK;
}

enum berth_code
store_fleet_list(struct store *s, struct arena *a, struct fleet_row **fs_out, size_t *n_out,
    struct berth_err *err)
{
	struct fleet_rows l = { .a = a };
	enum berth_code rc =
	    store_each(s, fleet_row, &l, err, "SELECT * FROM fleet ORDER BY name", DB_NO_ARGS);

	if (rc == BERTH_OK) {
		*fs_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

enum berth_code
store_fleet_delete(struct store *s, const char *name, struct berth_err *err)
{
	return store_write(s, err, "DELETE FROM fleet WHERE name = $1", DB_ARGS(db_text(name)));
}

enum berth_code
store_replica_insert(struct store *s, const char *fleet, const char *job_id, struct berth_err *err)
{
	return store_write(s, err, "INSERT INTO replica (job_id, fleet) VALUES ($1, $2)",
	    DB_ARGS(db_text(job_id), db_text(fleet)));
}

struct replica_rows {
	struct arena *a;
	VEC(const char *) v;
};

static enum berth_code
replica_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct replica_rows *l = arg;

	(void)err;
	VEC_PUSH(l->a, &l->v, db_col_text(st, "job_id", l->a));
	return BERTH_OK;
}

enum berth_code
store_replica_list(struct store *s, const char *fleet, int64_t since, struct arena *a,
    const char *const **ids_out, size_t *n_out, struct berth_err *err)
{
	struct replica_rows l = { .a = a };
	enum berth_code rc = store_each(s, replica_row, &l, err,
	    "SELECT replica.job_id FROM replica JOIN job ON job.id = replica.job_id WHERE ($1 = '' "
	    "OR replica.fleet = $1) AND (job.state IN ('queued', 'placed', 'running') OR "
	    "job.finished >= $2) ORDER BY replica.job_id",
	    DB_ARGS(db_text(fleet), db_i64(since)));

	if (rc == BERTH_OK) {
		*ids_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}
