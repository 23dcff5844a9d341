#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/store_tiers.h"
#include "store/series_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/vec.h"

struct store_log_opts {
	int64_t limit;
};

static const struct store_log_opts store_log_defaults = { .limit = 20 };

#define OFF(field) offsetof(struct store_log_opts, field)
static const struct opt_row store_log_rows[] = {
	{ "limit", 'n', OPT_INT, "N", "the newest so many; 0: all; default 20", OFF(limit), 0, 1e9,
	    NULL },
	{ 0 },
};

static enum berth_code store_run_rollup(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code store_run_compact(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code store_run_show(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code store_run_check(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code store_run_backup(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code store_run_migrate(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code store_run_export(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code store_run_rebuild(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code store_run_runs(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code store_run_loads(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd store_subs[] = {
	{ .name = "check",
	    .summary = "look for damage, and whether sums agree",
	    .args = "",
	    .flags = CMD_STORE_RO | CMD_NO_ROWS,
	    .run = store_run_check },
	{ .name = "backup",
	    .summary = "copy the store while others use it",
	    .args = "FILE",
	    .flags = CMD_STORE_RO | CMD_DRY_OWN | CMD_NO_ROWS,
	    .args_min = 1,
	    .args_max = 1,
	    .run = store_run_backup },
	{ .name = "migrate",
	    .summary = "bring an older store to this version",
	    .args = "",
	    .flags = CMD_STORE_RW | CMD_DRY_OWN | CMD_NO_ROWS,
	    .run = store_run_migrate },
	{ .name = "export",
	    .summary = "print tables as lines of JSON",
	    .args = "[TABLE ...]",
	    .flags = CMD_STORE_RO,
	    .args_max = -1,
	    .run = store_run_export },
	{ .name = "rebuild",
	    .summary = "make everything derived again",
	    .args = "",
	    .flags = CMD_STORE_RW | CMD_NO_ROWS,
	    .run = store_run_rebuild },
	{ .name = "rollup",
	    .summary = "roll old samples up to hours and days",
	    .args = "",
	    .opts = store_tier_rows,
	    .opts_default = &store_tier_defaults,
	    .opts_size = sizeof(store_tier_defaults),
	    .flags = CMD_STORE_RW | CMD_DRY_OWN | CMD_NO_ROWS,
	    .run = store_run_rollup },
	{ .name = "compact",
	    .summary = "roll up, and give room back to the file system",
	    .args = "",
	    .opts = store_tier_rows,
	    .opts_default = &store_tier_defaults,
	    .opts_size = sizeof(store_tier_defaults),
	    .flags = CMD_STORE_RW | CMD_DRY_OWN | CMD_NO_ROWS,
	    .run = store_run_compact },
	{ .name = "runs",
	    .summary = "list the runs that wrote to the store",
	    .args = "",
	    .opts = store_log_rows,
	    .opts_default = &store_log_defaults,
	    .opts_size = sizeof(store_log_defaults),
	    .flags = CMD_STORE_RO,
	    .run = store_run_runs },
	{ .name = "loads",
	    .summary = "list what was read into series",
	    .args = "",
	    .opts = store_log_rows,
	    .opts_default = &store_log_defaults,
	    .opts_size = sizeof(store_log_defaults),
	    .flags = CMD_STORE_RO,
	    .run = store_run_loads },
	{ 0 },
};

const struct cmd cmd_store = {
	.name = "store",
	.summary = "check, back up and move the store",
	.args = "",
	.flags = CMD_STORE_RO,
	.run = store_run_show,
	.subs = store_subs,
};

static enum berth_code
store_run_rollup(struct cmd_ctx *ctx, struct berth_err *err)
{
	return store_tiers_run(ctx, false, err);
}

static enum berth_code
store_run_compact(struct cmd_ctx *ctx, struct berth_err *err)
{
	return store_tiers_run(ctx, true, err);
}

int64_t
store_bytes(struct cmd_ctx *ctx)
{
	struct stat file, wal;

	if (stat(ctx->store_path, &file) != 0)
		return -1;
	if (stat(arena_printf(ctx->arena, "%s-wal", ctx->store_path), &wal) != 0)
		wal.st_size = 0;
	return (int64_t)file.st_size + (int64_t)wal.st_size;
}

static enum berth_code
store_show_json(struct cmd_ctx *ctx, const char *const *names, const int64_t *rows, size_t n,
    struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.store/1");

	jsonw_str(w, "path", ctx->store_path);
	jsonw_str(w, "engine", store_engine(ctx->store));
	jsonw_int(w, "version", store_version(ctx->store));
	jsonw_str(w, "installation", store_installation(ctx->store));
	jsonw_int(w, "bytes", store_bytes(ctx));
	jsonw_begin_object(w, "tables");
	for (size_t i = 0; i < n; i++)
		jsonw_int(w, names[i], rows[i]);
	jsonw_end_object(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
store_run_show(struct cmd_ctx *ctx, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "table", NULL, TABLE_TEXT, 0, 0 },
		{ "rows", NULL, TABLE_INT, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	const char *const *names;
	enum berth_code rc;
	int64_t *rows;
	size_t n;

	rc = store_tables(ctx->store, ctx->arena, &names, &rows, &n, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return store_show_json(ctx, names, rows, n, err);
	cmd_say(ctx, "%s\n%s, version %d, installation %s, %.1f MiB\n", ctx->store_path,
	    store_engine(ctx->store), store_version(ctx->store), store_installation(ctx->store),
	    (double)store_bytes(ctx) / 1048576);
	for (size_t i = 0; i < n; i++) {
		if (rows[i] == 0 && ctx->format == CMD_TABLE)
			continue;
		table_row(t);
		table_text(t, names[i]);
		table_int(t, rows[i]);
	}
	return cmd_table_print(ctx, t, err);
}

struct store_faults {
	struct cmd_ctx *ctx;
	VEC(const char *) v;
};

static void
store_hear(void *arg, const char *what)
{
	struct store_faults *f = arg;

	VEC_PUSH(f->ctx->arena, &f->v, arena_strdup(f->ctx->arena, what));
}

static enum berth_code
store_faults_print(struct store_faults *f, const char *schema, const char *key, const char *none,
    const char *head, struct berth_err *err)
{
	struct jsonw *w;

	if (cmd_wants_json(f->ctx)) {
		w = cmd_json_begin(f->ctx, schema);
		jsonw_begin_array(w, key);
		for (size_t i = 0; i < f->v.n; i++)
			jsonw_str(w, NULL, f->v.v[i]);
		jsonw_end_array(w);
		return cmd_json_end(f->ctx, err);
	}
	cmd_say_hung(f->ctx, 0, "%s", f->v.n == 0 ? none : head);
	for (size_t i = 0; i < f->v.n; i++)
		cmd_say_hung(f->ctx, 4, "  %s", f->v.v[i]);
	return BERTH_OK;
}

static enum berth_code
store_run_check(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct store_faults f = { .ctx = ctx };
	enum berth_code rc;
	size_t n;

	rc = store_check(ctx->store, store_hear, &f, &n, err);
	if (rc == BERTH_OK)
		rc = store_faults_print(&f, "berth.store-check/1", "faults",
		    "sound: no damage, and all sums agree", "not sound:", err);
	if (rc != BERTH_OK || n == 0)
		return rc;
	cmd_next_step(ctx,
	    "`berth store rebuild` makes what is derived again; for damage go back to a backup");
	return err_set(err, BERTH_EFAIL, "the store has %zu faults", n);
}

static enum berth_code
store_run_rebuild(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct store_faults f = { .ctx = ctx };
	enum berth_code rc = store_rebuild(ctx->store, store_hear, &f, err);

	return rc == BERTH_OK
		   ? store_faults_print(&f, "berth.store-rebuild/1", "changed",
			 "nothing had to change",
			 ctx->dry_run ? "dry run: these would be made again:" : "made again:", err)
		   : rc;
}

static enum berth_code
store_run_backup(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct stat st = { .st_size = 0 };
	enum berth_code rc = BERTH_OK;
	struct jsonw *w;

	if (!ctx->dry_run)
		rc = store_backup(ctx->store, ctx->args[0], err);
	if (rc == BERTH_OK && !ctx->dry_run && stat(ctx->args[0], &st) != 0)
		rc = err_sys(err, BERTH_EIO, errno, "%s", ctx->args[0]);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx)) {
		if (ctx->dry_run)
			cmd_say(ctx, "dry run: %s is not written\n", ctx->args[0]);
		else
			cmd_say(ctx, "%s: %.1f MiB\n", ctx->args[0], (double)st.st_size / 1048576);
		return BERTH_OK;
	}
	w = cmd_json_begin(ctx, "berth.store-backup/1");
	jsonw_str(w, "path", ctx->args[0]);
	jsonw_int(w, "bytes", (int64_t)st.st_size);
	return cmd_json_end(ctx, err);
}

/* Opening has done it; with --dry-run too where the store is older, since it cannot be read
 * otherwise. */
static enum berth_code
store_run_migrate(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct jsonw *w;

	if (ctx->store == NULL)
		return err_set(err, BERTH_ENOTFOUND,
		    "store %s: there is none; `berth init` makes it", ctx->store_path);
	if (!cmd_wants_json(ctx)) {
		cmd_say(ctx, "%s has version %d\n", ctx->store_path, store_version(ctx->store));
		return BERTH_OK;
	}
	w = cmd_json_begin(ctx, "berth.store-migrate/1");
	jsonw_str(w, "path", ctx->store_path);
	jsonw_int(w, "version", store_version(ctx->store));
	return cmd_json_end(ctx, err);
}

struct store_line {
	FILE *out;
	const char *table;
};

static enum berth_code
store_line_print(void *arg, const char *json, size_t len, struct berth_err *err)
{
	const struct store_line *l = arg;

	if (fprintf(l->out, "{\"table\":\"%s\",\"row\":", l->table) < 0 ||
	    fwrite(json, 1, len, l->out) != len || fputs("}\n", l->out) == EOF)
		return err_sys(err, BERTH_EIO, errno, "standard output");
	return BERTH_OK;
}

static enum berth_code
store_run_export(struct cmd_ctx *ctx, struct berth_err *err)
{
	const char *const *names;
	enum berth_code rc;
	int64_t *rows;
	size_t n, k;

	rc = store_tables(ctx->store, ctx->arena, &names, &rows, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < ctx->n_args; i++) {
		for (k = 0; k < n && strcmp(names[k], ctx->args[i]) != 0; k++)
			continue;
		if (k == n)
			rc = err_set(err, BERTH_ENOTFOUND,
			    "there is no table '%s'; `berth store -o wide` lists them",
			    ctx->args[i]);
	}
	if (rc != BERTH_OK)
		return rc;
	fprintf(ctx->out,
	    "{\"schema\":\"berth.export/1\",\"version\":%d,\"installation\":\"%s\"}\n",
	    store_version(ctx->store), store_installation(ctx->store));
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct store_line l = { ctx->out, names[i] };
		bool take = ctx->n_args == 0;

		for (k = 0; k < ctx->n_args; k++)
			take = take || strcmp(names[i], ctx->args[k]) == 0;
		if (take)
			rc = store_export(ctx->store, names[i], store_line_print, &l, err);
	}
	return rc;
}

static enum berth_code
store_run_runs(struct cmd_ctx *ctx, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", NULL, TABLE_INT, 0, 0 },
		{ "started", NULL, TABLE_TIME, 0, 0 },
		{ "ended", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "host", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "pid", NULL, TABLE_INT, 0, TABLE_WIDE },
		{ "verb", NULL, TABLE_TEXT, 0, 0 },
		{ "exit_status", "EXIT", TABLE_INT, 0, 0 },
		{ "args", NULL, TABLE_TEXT, 0, TABLE_CUT },
	};
	const struct store_log_opts *o = ctx->opts;
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	struct jsonw *w = NULL;
	struct run *runs;
	enum berth_code rc;
	size_t n;

	rc = store_run_list(ctx->store, (size_t)o->limit, ctx->arena, &runs, &n, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx)) {
		w = cmd_json_begin(ctx, "berth.runs/1");
		jsonw_begin_array(w, "runs");
		for (size_t i = 0; i < n; i++) {
			jsonw_begin_object(w, NULL);
			jsonw_int(w, "id", runs[i].id);
			jsonw_str(w, "verb", runs[i].verb);
			jsonw_str(w, "args", runs[i].args);
			jsonw_str(w, "host", runs[i].host);
			jsonw_int(w, "pid", runs[i].pid);
			jsonw_time(w, "started", runs[i].started);
			jsonw_time_or_null(w, "ended", runs[i].ended);
			if (runs[i].exit_status >= 0)
				jsonw_int(w, "exit_status", runs[i].exit_status);
			else
				jsonw_null(w, "exit_status");
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
		return cmd_json_end(ctx, err);
	}
	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_int(t, runs[i].id);
		table_time(t, runs[i].started);
		table_time(t, runs[i].ended);
		table_text(t, runs[i].host);
		table_int(t, runs[i].pid);
		table_text(t, runs[i].verb);
		if (runs[i].exit_status >= 0)
			table_int(t, runs[i].exit_status);
		else
			table_unknown(t);
		table_text(t, runs[i].args);
	}
	return cmd_table_print(ctx, t, err);
}

static enum berth_code
store_run_loads(struct cmd_ctx *ctx, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", NULL, TABLE_INT, 0, 0 },
		{ "t", "TIME", TABLE_TIME, 0, 0 },
		{ "run", NULL, TABLE_INT, 0, TABLE_WIDE },
		{ "format", NULL, TABLE_TEXT, 0, 0 },
		{ "rows_read", "READ", TABLE_INT, 0, 0 },
		{ "rows_stored", "STORED", TABLE_INT, 0, 0 },
		{ "rows_duplicate", "THERE", TABLE_INT, 0, 0 },
		{ "rows_replaced", "REPLACED", TABLE_INT, 0, TABLE_WIDE },
		{ "rows_refused", "REFUSED", TABLE_INT, 0, 0 },
		{ "from", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "to", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "steps", NULL, TABLE_INT, 0, TABLE_WIDE },
		{ "digest", NULL, TABLE_TEXT, 0, TABLE_WIDE | TABLE_CUT },
		{ "source", NULL, TABLE_TEXT, 0, TABLE_CUT },
	};
	const struct store_log_opts *o = ctx->opts;
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	struct jsonw *w = NULL;
	struct load *loads;
	enum berth_code rc;
	size_t n;

	rc = store_load_list(ctx->store, (size_t)o->limit, ctx->arena, &loads, &n, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx)) {
		w = cmd_json_begin(ctx, "berth.loads/1");
		jsonw_begin_array(w, "loads");
		for (size_t i = 0; i < n; i++) {
			jsonw_begin_object(w, NULL);
			jsonw_int(w, "id", loads[i].id);
			jsonw_time(w, "t", loads[i].t);
			jsonw_int(w, "run", loads[i].run);
			jsonw_str(w, "format", loads[i].format);
			jsonw_str(w, "source", loads[i].source);
			jsonw_int(w, "rows_read", loads[i].rows_read);
			jsonw_int(w, "rows_stored", loads[i].rows_stored);
			jsonw_int(w, "rows_duplicate", loads[i].rows_duplicate);
			jsonw_int(w, "rows_replaced", loads[i].rows_replaced);
			jsonw_int(w, "rows_refused", loads[i].rows_refused);
			jsonw_int(w, "rows_late", loads[i].late);
			jsonw_int(w, "steps", loads[i].steps);
			jsonw_int(w, "covered_s", loads[i].covered_s);
			jsonw_double(w, "unit_seconds", loads[i].unit_seconds);
			jsonw_str_or_null(w, "digest", loads[i].digest);
			jsonw_time_or_null(w, "from", loads[i].from);
			jsonw_time_or_null(w, "to", loads[i].to);
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
		return cmd_json_end(ctx, err);
	}
	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_int(t, loads[i].id);
		table_time(t, loads[i].t);
		table_int(t, loads[i].run);
		table_text(t, loads[i].format);
		table_int(t, loads[i].rows_read);
		table_int(t, loads[i].rows_stored);
		table_int(t, loads[i].rows_duplicate);
		table_int(t, loads[i].rows_replaced);
		table_int(t, loads[i].rows_refused);
		table_time(t, loads[i].from);
		table_time(t, loads[i].to);
		table_int(t, loads[i].steps);
		table_text(t, loads[i].digest);
		table_text(t, loads[i].source);
	}
	return cmd_table_print(ctx, t, err);
}
