/* check, rebuild, backup, export: faults are planted by a plain connection. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/machine_rows.h"
#include "store/series_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

struct heard {
	char text[8192];
	size_t n;
};

static void
hear(void *arg, const char *what)
{
	struct heard *h = arg;
	size_t used = strlen(h->text);

	snprintf(h->text + used, sizeof(h->text) - used, "%s\n", what);
	h->n++;
}

static void
fill(struct store *s)
{
	const struct sample v[] = { { T0, 1, 2, 0 }, { T0 + 3600, 3, 3, 0 }, { T0 + 7200, 2, 9, 0 } };
	struct offer o = { .provider = "p", .account = "a", .region = "r", .zone = "z", .instance_type = "t",
		.accelerator = "A10", .purchase = PURCHASE_SPOT, .currency = "USD", .source = "" };
	struct measurement m = { .t = T0, .provider = "p", .region = "r", .zone = "", .instance_type = "t",
		.accelerator = "A10", .host = "", .mode = "gpu", .level = "quick", .speed = 0.75, .verdict = "", .reason = "",
		.json = "" };
	struct put_counts counts = { 0 };
	struct berth_err err;
	int64_t id;

	tap_code(store_series_put(s, "s", NULL, "gpu", 3600, &id, &err), BERTH_OK, &err);
	tap_code(store_samples_put(s, id, v, 3, NULL, &counts, &err), BERTH_OK, &err);
	tap_code(store_capacity_count(s, &o, true, T0, &err), BERTH_OK, &err);
	tap_code(store_capacity_count(s, &o, false, T0 + 60, &err), BERTH_OK, &err);
	tap_code(store_measurement_insert(s, &m, NULL, 0, &id, &err), BERTH_OK, &err);
}

static void
test_check(struct store *s, const char *path)
{
	static const struct {
		const char *plant, *says;
		bool derived;
	} faults[] = {
		{ "UPDATE series SET samples = 7", "series s", true },
		{ "UPDATE series SET peak = 8", "series s", true },
		{ "UPDATE fleet_speed SET speed = 1", "fleet_speed", true },
		{ "DELETE FROM fleet_speed", "fleet_speed", true },
		{ "UPDATE capacity SET won = 2", "capacity", true },
		{ "DELETE FROM capacity", "capacity", true },
		{ "INSERT INTO sample VALUES (99, 3600, 1, NULL)", "does not exist", false },
		{ "UPDATE sample SET t = t + 1 WHERE t = 1796054400", "off the grid", false },
		{ "UPDATE sample SET mean = -1 WHERE t = 1796054401", "0 <= mean", false },
		{ "PRAGMA foreign_keys=OFF; INSERT INTO attempt (job_id, state, started, progress_start, reason) "
		  "VALUES ('j-none', 'running', 0, 0, '')", "points at nothing", false },
	};
	struct berth_err err;
	size_t n;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct heard h = { .n = 0 };

		store_tmp_exec(path, faults[i].plant);
		tap_code(store_check(s, hear, &h, &n, &err), BERTH_OK, &err);
		tap_ok(n > 0 && strstr(h.text, faults[i].says) != NULL, "finds: %s", faults[i].plant);
		if (!faults[i].derived)
			continue;
		tap_code(store_rebuild(s, hear, &h, &err), BERTH_OK, &err);
		tap_code(store_check(s, hear, &h, &n, &err), BERTH_OK, &err);
		tap_is_long((long long)n, 0, "made again from the facts");
	}
}

static enum berth_code
keep_line(void *arg, const char *json, size_t len, struct berth_err *err)
{
	(void)len;
	(void)err;
	hear(arg, json);
	return BERTH_OK;
}

static void
test_export(struct store *s, const char *path)
{
	struct heard h = { .n = 0 };
	struct arena *a = arena_new();
	struct berth_err err;
	const char *const *names;
	int64_t *rows;
	size_t n;
	char sql[256];

	tap_code(store_export(s, "sample", keep_line, &h, &err), BERTH_OK, &err);
	tap_is_str(h.text, "{\"series_id\":1,\"t\":1796054400,\"mean\":1,\"peak\":2}\n"
	    "{\"series_id\":1,\"t\":1796058000,\"mean\":3,\"peak\":null}\n"
	    "{\"series_id\":1,\"t\":1796061600,\"mean\":2,\"peak\":9}\n", "one line a row");
	tap_code(store_export(s, "sqlite_schema", keep_line, &h, &err), BERTH_ENOTFOUND, &err);
	tap_code(store_tables(s, a, &names, &rows, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, store_tmp_number(path, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' "
	    "AND name NOT LIKE 'sqlite_%'"), "every table of the schema is listed");
	for (size_t i = 0; i < n; i++) {
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", names[i]);
		if (store_tmp_number(path, sql) != rows[i])
			tap_ok(0, "%s has %lld rows", names[i], (long long)rows[i]);
		if (store_export(s, names[i], keep_line, &h, &err) != BERTH_OK)
			tap_code(err.code, BERTH_OK, &err);
	}
	arena_free(a);
}

static void
test_backup(struct store *s)
{
	char copy[1024];
	struct berth_err err;
	struct stat st;
	struct store *b;

	snprintf(copy, sizeof(copy), "%s", store_tmp_path("copy.db"));
	tap_code(store_backup(s, copy, &err), BERTH_OK, &err);
	tap_ok(stat(copy, &st) == 0 && (st.st_mode & 07777) == 0600, "a copy of mode 0600");
	tap_is_long(store_tmp_number(copy, "SELECT count(*) FROM sample"), 3, "with the rows");
	tap_code(store_backup(s, copy, &err), BERTH_EINVAL, &err);
	tap_code(store_open(copy, STORE_READ, T0, &b, &err), BERTH_OK, &err);
	tap_is_str(store_installation(b), store_installation(s), "it opens as the same installation");
	store_close(b);
	tap_code(store_backup(s, store_tmp_path("no/such/folder/copy.db"), &err), BERTH_EIO, &err);
}

static void
test_damaged(const char *path)
{
	struct berth_err err;
	struct heard h = { .n = 0 };
	struct store *s;
	enum berth_code rc;
	size_t n = 0;
	FILE *f;

	/* The middle of the file is overwritten: some page is no longer what it was. */
	store_tmp_exec(path, "PRAGMA wal_checkpoint(TRUNCATE)");
	f = fopen(path, "r+b");
	if (f == NULL || fseek(f, 4096 * 3, SEEK_SET) != 0)
		exit(1);
	for (int i = 0; i < 4096 * 8; i++)
		fputc(0xa5, f);
	fclose(f);
	rc = store_open(path, STORE_READ, T0, &s, &err);
	if (rc == BERTH_OK) {
		rc = store_check(s, hear, &h, &n, &err);
		store_close(s);
	}
	tap_ok((rc == BERTH_EINVAL && strstr(err.msg, "damaged") != NULL) || (rc == BERTH_OK && n > 0),
	    "damage is found: %s", rc == BERTH_OK ? "by the check" : err.msg);
}

int
main(void)
{
	char path[1024];
	struct heard h = { .n = 0 };
	struct berth_err err;
	struct store *s;
	size_t n = 1;

	snprintf(path, sizeof(path), "%s", store_tmp_path("berth.db"));
	s = store_tmp_open(path);
	fill(s);
	tap_code(store_check(s, hear, &h, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "sound: %s", h.text);
	test_export(s, path);
	test_backup(s);
	test_check(s, path);
	store_close(s);
	test_damaged(path);
	store_tmp_end();
	return tap_done();
}
