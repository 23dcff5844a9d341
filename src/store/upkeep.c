#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/priv.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/jsonw.h"

#define UPKEEP_LINE_MAX ((size_t)64 * 1024 * 1024)

/* Every table, in the order that foreign keys allow to load them; rows in a stable order. */
static const struct upkeep_table {
	const char *name, *count, *select;
} upkeep_tables[] = {
#define TABLE(name, order)                                                                         \
	{                                                                                          \
#name, "SELECT count(*) FROM " #name, "SELECT * FROM " #name " ORDER BY " order    \
	}
	TABLE(meta, "key"),
	TABLE(run, "id"),
	TABLE(series, "id"),
	TABLE(sample, "series_id, t"),
	TABLE(sample_part, "series_id, t"),
	TABLE(series_form, "series_id, t"),
	TABLE(series_form_was, "series_id, plan_id, t"),
	TABLE(sample_was, "series_id, t, plan_id"),
	TABLE(raw, "series_id, step, t, source"),
	TABLE(rollup, "series_id, tier, t"),
	TABLE(rollup_mark, "series_id"),
	TABLE(ledger_step, "series_id, t"),
	TABLE(load, "id"),
	TABLE(usage_label, "id"),
	TABLE(usage_hour, "hour"),
	TABLE(usage_view, "keys"),
	TABLE(bill_label, "id"),
	TABLE(bill_row, "start_t, key_hi, key_lo, n"),
	TABLE(bill_view, "keys"),
	TABLE(price_list, "id"),
	TABLE(offer, "id"),
	TABLE(quota, "account, region, zone, name, purchase"),
	TABLE(quota_reading, "account"),
	TABLE(quota_region, "account, region"),
	TABLE(commitment, "id"),
	TABLE(forecast, "id"),
	TABLE(forecast_score, "series, as_of, horizon_s"),
	TABLE(plan, "id"),
	TABLE(decision, "id"),
	TABLE(waiting, "job_id"),
	TABLE(placement_input, "decision_id"),
	TABLE(job, "id"),
	TABLE(fleet, "name"),
	TABLE(replica, "job_id"),
	TABLE(idling, "job_id"),
	TABLE(silent, "instance_id"),
	TABLE(intent, "id"),
	TABLE(instance, "id"),
	TABLE(attempt, "id"),
	TABLE(measurement, "id"),
	TABLE(probe, "measurement_id, n"),
	TABLE(fleet_speed, "provider, region, instance_type, accelerator"),
	TABLE(block, "id"),
	TABLE(launch, "id"),
	TABLE(capacity, "provider, account, region, zone, instance_type, purchase"),
	TABLE(budget, "id"),
	TABLE(reservation, "id"),
	TABLE(ledger, "id"),
	TABLE(event, "id"),
	TABLE(outbox, "event_id, sink"),
#undef TABLE
};

#define UPKEEP_TABLES (sizeof(upkeep_tables) / sizeof(upkeep_tables[0]))

struct upkeep_say {
	store_say_fn *say;
	void *arg;
	size_t n;
};

static void
upkeep_count(void *arg, const char *what)
{
	struct upkeep_say *u = arg;

	u->n++;
	u->say(u->arg, what);
}

/* Facts that no constraint of the schema can hold. */
static const struct {
	const char *what, *sql;
} upkeep_faults[] = {
	{ "samples of a series that does not exist",
	    "SELECT count(*) FROM sample WHERE series_id NOT IN (SELECT id FROM series)" },
	{ "samples off the grid of their series", "SELECT count(*) FROM sample a JOIN series b ON "
						  "b.id = a.series_id WHERE a.t % b.step_s <> 0" },
	{ "samples whose values are not 0 <= mean <= peak",
	    "SELECT count(*) FROM sample WHERE mean < 0 OR peak < mean OR mean > 1e300" },
	{ "hours and days that are rolled up, of a series that does not exist",
	    "SELECT count(*) FROM rollup WHERE series_id NOT IN (SELECT id FROM series)" },
	{ "stretches of the ledger of a series that does not exist",
	    "SELECT count(*) FROM ledger_step WHERE series_id NOT IN (SELECT id FROM series)" },
	{ "forms of a series that does not exist",
	    "SELECT count(*) FROM series_form WHERE series_id NOT IN (SELECT id FROM series)" },
	{ "seconds of steps that are not there",
	    "SELECT count(*) FROM sample_part a LEFT JOIN sample b ON b.series_id = a.series_id "
	    "AND b.t = a.t WHERE b.t IS NULL" },
	{ "hours of jobs that end before they begin",
	    "SELECT count(*) FROM usage_hour WHERE until_t < first_t" },
	{ "rows of bills whose labels do not exist",
	    "SELECT count(*) FROM bill_row WHERE label NOT IN (SELECT id FROM bill_label)" },
	{ "offers that end before they begin",
	    "SELECT count(*) FROM offer WHERE until_t < from_t" },
	{ "reservations that hold more than they asked for",
	    "SELECT count(*) FROM reservation WHERE held > amount" },
	{ "settled reservations that still hold money",
	    "SELECT count(*) FROM reservation WHERE held > 0 AND settled IS NOT NULL" },
	{ "attempts of a machine that is not known",
	    "SELECT count(*) FROM attempt WHERE instance_id IS NOT NULL AND instance_id NOT IN "
	    "(SELECT id FROM instance)" },
};

static enum berth_code
upkeep_check_facts(struct store *s, struct upkeep_say *u, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	char line[256];
	int64_t n;

	for (size_t i = 0; rc == BERTH_OK && i < sizeof(upkeep_faults) / sizeof(upkeep_faults[0]);
	     i++) {
		rc = db_get_one(s->db, 0, &n, err, upkeep_faults[i].sql, DB_NO_ARGS);
		if (rc == BERTH_OK && n > 0) {
			snprintf(
			    line, sizeof(line), "%lld %s", (long long)n, upkeep_faults[i].what);
			upkeep_count(u, line);
		}
	}
	return rc;
}

static enum berth_code
upkeep_derive(struct store *s, bool fix, struct upkeep_say *u, struct berth_err *err)
{
	enum berth_code rc = series_derive(s, fix, upkeep_count, u, err);

	if (rc == BERTH_OK)
		rc = fleet_derive(s, fix, upkeep_count, u, err);
	if (rc == BERTH_OK)
		rc = capacity_derive(s, fix, upkeep_count, u, err);
	return rc;
}

enum berth_code
store_check(
    struct store *s, store_say_fn *say, void *arg, size_t *faults_out, struct berth_err *err)
{
	struct upkeep_say u = { .say = say, .arg = arg };
	enum berth_code rc;

	/* One read transaction: what is compared is of one moment. */
	rc = db_begin(s->db, false, err);
	if (rc != BERTH_OK)
		return rc;
	rc = db_engine(s->db)->check(db_conn(s->db), upkeep_count, &u, err);
	if (rc == BERTH_OK)
		rc = upkeep_check_facts(s, &u, err);
	if (rc == BERTH_OK)
		rc = tier_check(s, upkeep_count, &u, err);
	if (rc == BERTH_OK)
		rc = upkeep_derive(s, false, &u, err);
	db_rollback(s->db);
	if (rc == BERTH_OK)
		*faults_out = u.n;
	return rc;
}

enum berth_code
store_rebuild(struct store *s, store_say_fn *say, void *arg, struct berth_err *err)
{
	struct upkeep_say u = { .say = say, .arg = arg };
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	return store_end(s, upkeep_derive(s, true, &u, err), err);
}

enum berth_code
store_backup(struct store *s, const char *path, struct berth_err *err)
{
	if (fileio_exists(path))
		return err_set(
		    err, BERTH_EINVAL, "%s exists: a backup never writes over a file", path);
	return db_engine(s->db)->copy(db_conn(s->db), path, err);
}

enum berth_code
store_tables(struct store *s, struct arena *a, const char *const **names_out, int64_t **rows_out,
    size_t *n_out, struct berth_err *err)
{
	const char **names = arena_array_of(a, UPKEEP_TABLES, const char *);
	int64_t *rows = arena_array_of(a, UPKEEP_TABLES, int64_t);
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < UPKEEP_TABLES; i++) {
		names[i] = upkeep_tables[i].name;
		rc = db_get_one(s->db, 0, &rows[i], err, upkeep_tables[i].count, DB_NO_ARGS);
	}
	if (rc == BERTH_OK) {
		*names_out = names;
		*rows_out = rows;
		*n_out = UPKEEP_TABLES;
	}
	return rc;
}

struct upkeep_export {
	store_line_fn *line;
	void *arg;
	struct buf text, hex;
};

static void
upkeep_value(struct jsonw *w, const char *name, struct db_val v, struct buf *hex)
{
	switch (v.type) {
	case DB_NULL:
		jsonw_null(w, name);
		break;
	case DB_I64:
		jsonw_int(w, name, v.i);
		break;
	case DB_REAL:
		jsonw_double(w, name, v.d);
		break;
	case DB_TEXT:
		jsonw_strn(w, name, v.s, v.len);
		break;
	case DB_BLOB:
		buf_clear(hex);
		for (size_t i = 0; i < v.len; i++)
			buf_printf(hex, "%02x", (unsigned char)v.s[i]);
		jsonw_strn(w, name, hex->p != NULL ? hex->p : "", hex->len);
		break;
	}
}

static enum berth_code
upkeep_export_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct upkeep_export *x = arg;
	struct jsonw w;
	enum berth_code rc;

	buf_clear(&x->text);
	jsonw_init_buf(&w, &x->text, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	for (int i = 0; i < db_cols(st); i++)
		upkeep_value(&w, db_col_name(st, i), db_col_at(st, i), &x->hex);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = buf_check(&x->hex, "export: bytes of a row", err);
	return rc == BERTH_OK ? x->line(x->arg, x->text.p, x->text.len, err) : rc;
}

enum berth_code
store_export(
    struct store *s, const char *table, store_line_fn *line, void *arg, struct berth_err *err)
{
	struct upkeep_export x = { .line = line, .arg = arg };
	enum berth_code rc = BERTH_ENOTFOUND;
	size_t i = 0;

	while (i < UPKEEP_TABLES && strcmp(upkeep_tables[i].name, table) != 0)
		i++;
	if (i == UPKEEP_TABLES)
		return err_set(err, BERTH_ENOTFOUND,
		    "there is no table '%s'; `berth store` lists them", table);
	buf_init(&x.text, 3 * UPKEEP_LINE_MAX);
	buf_init(&x.hex, 2 * UPKEEP_LINE_MAX);
	rc = store_each(s, upkeep_export_row, &x, err, upkeep_tables[i].select, DB_NO_ARGS);
	buf_free(&x.text);
	buf_free(&x.hex);
	return rc;
}
