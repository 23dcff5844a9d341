#include "store/silent_rows.h"
#include "store/priv.h"

static enum berth_code
silent_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct silent_row *row = arg;

	(void)err;
	row->since = db_col_i64(st, "since");
	row->told = db_col_i64(st, "told") != 0;
	return BERTH_OK;
}

enum berth_code
store_silent_get(
    struct store *s, int64_t instance_id, struct silent_row *out, struct berth_err *err)
{
	*out = (struct silent_row){ .instance_id = instance_id };
	return store_each(s, silent_row, out, err, "SELECT * FROM silent WHERE instance_id = $1",
	    DB_ARGS(db_i64(instance_id)));
}

enum berth_code
store_silent_put(struct store *s, const struct silent_row *row, struct berth_err *err)
{
	return store_write(s, err,
	    "INSERT INTO silent (instance_id, since, told) VALUES ($1, $2, $3) ON CONFLICT "
	    "(instance_id) DO UPDATE SET since = $2, told = $3",
	    DB_ARGS(db_i64(row->instance_id), db_i64(row->since), db_i64(row->told)));
}

enum berth_code
store_silent_delete(struct store *s, int64_t instance_id, struct berth_err *err)
{
	return store_write(
	    s, err, "DELETE FROM silent WHERE instance_id = $1", DB_ARGS(db_i64(instance_id)));
}
