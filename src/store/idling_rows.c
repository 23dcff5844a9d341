#include "store/idling_rows.h"
#include "store/priv.h"

enum berth_code
store_idling_put(struct store *s, const struct idling_row *row, struct berth_err *err)
{
	return store_write(s, err,
	    "INSERT INTO idling (job_id, instance_id, since, seen, readings, told, blind, busy) "
	    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (job_id) DO UPDATE SET "
	    "instance_id = $2, since = $3, seen = $4, readings = $5, told = $6, blind = $7, busy = "
	    "$8",
	    DB_ARGS(db_text(row->job_id), db_i64(row->instance_id), db_i64(row->since),
		db_i64(row->last), db_i64(row->readings), db_i64(row->told), db_i64(row->blind),
		db_real(row->busy)));
}

static enum berth_code
idling_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct idling_row *row = arg;

	(void)err;
	row->since = db_col_i64(st, "since");
	row->last = db_col_i64(st, "seen");
	row->readings = db_col_i64(st, "readings");
	row->told = db_col_i64(st, "told") != 0;
	row->blind = db_col_i64(st, "blind") != 0;
	row->busy = db_col_real(st, "busy");
	return BERTH_OK;
}

enum berth_code
store_idling_get(struct store *s, const char *job_id, int64_t instance_id, struct idling_row *out,
    struct berth_err *err)
{
	*out = (struct idling_row){ .job_id = job_id, .instance_id = instance_id };
	return store_each(s, idling_row, out, err,
	    "SELECT * FROM idling WHERE job_id = $1 AND instance_id = $2",
	    DB_ARGS(db_text(job_id), db_i64(instance_id)));
}

enum berth_code
store_idling_delete(struct store *s, const char *job_id, struct berth_err *err)
{
	return store_write(
	    s, err, "DELETE FROM idling WHERE job_id = $1", DB_ARGS(db_text(job_id)));
}
