#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/record.h"
#include "ingest/usage.h"
#include "ingest/zin.h"
#include "store/series_rows.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/str.h"
#include "util/tz.h"

#define RECORD_WARNINGS_MAX 10000 /* of one run in the JSON; all are counted */
#define RECORD_LINES_MAX 20       /* of one file on stderr */

struct record_opts {
	const char *series, *unit, *zone, *time_column, *value_column;
	struct opt_list by;
	int64_t step_s, interval_s;
	bool decimal_comma, serial_dates;
};

static const struct record_opts record_defaults = { .unit = "gpu" };

#define OFF(field) offsetof(struct record_opts, field)
static const struct opt_row record_rows[] = {
	{ "series", 's', OPT_STRING, "NAME", "add all rows up to this one series", OFF(series), 0,
	    0, NULL },
	{ "by", 'b', OPT_LIST, "LABEL", "make one series per value of these labels", OFF(by), 0, 0,
	    NULL },
	{ "step", 0, OPT_DURATION, "DUR", "step of new series; default 1h", OFF(step_s), 1,
	    31 * 86400, NULL },
	{ "interval", 0, OPT_DURATION, "DUR",
	    "how long a row is in force; default until the next row", OFF(interval_s), 1,
	    31 * 86400, NULL },
	{ "zone", 'z', OPT_STRING, "ZONE", "zone of times that name none: Europe/Berlin", OFF(zone),
	    0, 0, "tz" },
	{ "unit", 0, OPT_STRING, "TEXT", "what is counted; default gpu", OFF(unit), 0, 0, NULL },
	{ "time-column", 0, OPT_STRING, "NAME", "column of the time", OFF(time_column), 0, 0,
	    NULL },
	{ "value-column", 0, OPT_STRING, "NAME", "column of the number of GPUs", OFF(value_column),
	    0, 0, NULL },
	{ "decimal-comma", 0, OPT_FLAG, NULL, "numbers have a decimal comma: 12,5",
	    OFF(decimal_comma), 0, 0, NULL },
	{ "serial-dates", 0, OPT_FLAG, NULL, "times are serial dates of a spreadsheet: 46320.5",
	    OFF(serial_dates), 0, 0, NULL },
	{ 0 },
};

static enum berth_code record_csv(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd record_subs[] = {
	{ .name = "csv",
	    .summary = "read CSV: a time, a number of GPUs and labels",
	    .args = "[FILE ...]",
	    .opts = record_rows,
	    .opts_default = &record_defaults,
	    .opts_size = sizeof(record_defaults),
	    .flags = CMD_STORE_RW,
	    .args_max = -1,
	    .run = record_csv },
	{ .name = "sacct",
	    .summary = "read jobs as sacct -P writes them",
	    .args = "[FILE ...]",
	    .opts = record_sacct_rows,
	    .opts_default = &record_jobs_defaults,
	    .opts_size = sizeof(record_jobs_defaults),
	    .flags = CMD_STORE_RW,
	    .args_max = -1,
	    .run = record_sacct },
	{ .name = "slurm",
	    .summary = "ask the cluster's sacct or slurmrestd for its jobs",
	    .args = "",
	    .opts = record_slurm_rows,
	    .opts_default = &record_jobs_defaults,
	    .opts_size = sizeof(record_jobs_defaults),
	    .flags = CMD_STORE_RW | CMD_NET,
	    .run = record_slurm },
	{ .name = "squeue",
	    .summary = "read what squeue shows of one moment",
	    .args = "[FILE ...]",
	    .opts = record_snapshot_rows,
	    .opts_default = &record_metrics_defaults,
	    .opts_size = sizeof(record_metrics_defaults),
	    .flags = CMD_STORE_RW,
	    .args_max = -1,
	    .run = record_squeue },
	{ .name = "sinfo",
	    .summary = "read what sinfo shows of one moment",
	    .args = "[FILE ...]",
	    .opts = record_snapshot_rows,
	    .opts_default = &record_metrics_defaults,
	    .opts_size = sizeof(record_metrics_defaults),
	    .flags = CMD_STORE_RW,
	    .args_max = -1,
	    .run = record_sinfo },
	{ .name = "focus",
	    .summary = "read bills in the FinOps FOCUS format",
	    .args = "[FILE ...]",
	    .opts = record_focus_rows,
	    .opts_default = &record_focus_defaults,
	    .opts_size = sizeof(record_focus_defaults),
	    .flags = CMD_STORE_RW,
	    .args_max = -1,
	    .run = record_focus },
	{ .name = "openmetrics",
	    .summary = "read metrics as exporters write them",
	    .args = "[FILE ...]",
	    .opts = record_openmetrics_rows,
	    .opts_default = &record_metrics_defaults,
	    .opts_size = sizeof(record_metrics_defaults),
	    .flags = CMD_STORE_RW,
	    .args_max = -1,
	    .run = record_openmetrics },
	{ .name = "prometheus",
	    .summary = "query a Prometheus server, or read its answers",
	    .args = "[FILE ...]",
	    .opts = record_prometheus_rows,
	    .opts_default = &record_metrics_defaults,
	    .opts_size = sizeof(record_metrics_defaults),
	    .flags = CMD_STORE_RW | CMD_NET,
	    .args_max = -1,
	    .run = record_prometheus },
	{ .name = "kubernetes",
	    .summary = "query kube-state-metrics through Prometheus",
	    .args = "",
	    .opts = record_kubernetes_rows,
	    .opts_default = &record_metrics_defaults,
	    .opts_size = sizeof(record_metrics_defaults),
	    .flags = CMD_STORE_RW | CMD_NET,
	    .run = record_kubernetes },
	{ .name = "nvidia-smi",
	    .summary = "read what nvidia-smi --query-gpu prints",
	    .args = "[FILE ...]",
	    .opts = record_smi_rows,
	    .opts_default = &record_metrics_defaults,
	    .opts_size = sizeof(record_metrics_defaults),
	    .flags = CMD_STORE_RW,
	    .args_max = -1,
	    .run = record_smi },
	{ 0 },
};

const struct cmd cmd_record = {
	.name = "record",
	.summary = "read usage history into the store",
	.args = "FORMAT [FILE ...]",
	.args_max = -1,
	.subs = record_subs,
};

/* What `record csv` has beside the common part. */
struct record_csv {
	const struct record_opts *o;
	struct usage_csv_options csv;
};

void
record_say(void *arg, enum usage_say kind, long line, const char *message)
{
	struct record *r = arg;
	size_t prefix = strlen(r->file);
	const char *text;

	/* Errors of a whole file begin with its name already. */
	if (strncmp(message, r->file, prefix) == 0 && strncmp(message + prefix, ": ", 2) == 0)
		message += prefix + 2;
	if (kind == USAGE_NOTE) {
		progress_end(&r->progress);
		cmd_note(r->ctx, "%s: %s", r->file, message);
		return;
	}
	text = arena_strdup(r->ctx->arena, message);
	if (r->warnings.n < RECORD_WARNINGS_MAX)
		VEC_PUSH(
		    r->ctx->arena, &r->warnings, (struct record_warning){ r->file, text, line });
	r->file_lines++;
	if (r->file_lines == RECORD_LINES_MAX + 1)
		cmd_warn(r->ctx, "%s: more of this; -o json lists it", r->file);
	if (r->file_lines > RECORD_LINES_MAX)
		return;
	progress_end(&r->progress);
	if (line > 0)
		cmd_warn(r->ctx, "%s:%ld: %s%s", r->file, line,
		    kind == USAGE_REFUSED ? "refused: " : "", text);
	else
		cmd_warn(r->ctx, "%s: %s", r->file, text);
}

void
record_progress(void *arg, int64_t rows)
{
	struct record *r = arg;
	double share = r->zin != NULL && r->progress.on ? zin_share(r->zin) : (double)NAN;

	if (share > 0)
		r->progress.total = (int64_t)((double)rows / share);
	progress_set(&r->progress, rows);
}

void
record_touch(struct record *r, const struct usage_set *set)
{
	for (size_t i = 0; i < set->targets.n; i++) {
		int added;

		if (set->targets.v[i].dropped)
			continue;
		strmap_add(r->ctx->arena, &r->touched, set->targets.v[i].name, r->names.n, &added);
		if (added)
			VEC_PUSH(r->ctx->arena, &r->names,
			    arena_strdup(r->ctx->arena, set->targets.v[i].name));
	}
}

static void
record_option(struct buf *b, const struct opt_row *row, const void *value)
{
	const struct opt_list *list = value;

	switch (row->type) {
	case OPT_FLAG:
		buf_printf(b, "%d", *(const bool *)value);
		break;
	case OPT_STRING:
	case OPT_PATH:
	case OPT_CHOICE:
		buf_add_str(
		    b, *(const char *const *)value != NULL ? *(const char *const *)value : "");
		break;
	case OPT_INT:
	case OPT_DURATION:
	case OPT_TIME:
	case OPT_SIZE:
		buf_printf(b, "%lld", (long long)*(const int64_t *)value);
		break;
	case OPT_DOUBLE:
		buf_printf(b, "%.17g", *(const double *)value);
		break;
	case OPT_MONEY:
		buf_printf(b, "%lld", (long long)((const struct usd_micro *)value)->v);
		break;
	case OPT_LIST:
		for (size_t i = 0; i < list->n; i++)
			buf_printf(b, "%s%s", i > 0 ? "," : "", list->v[i]);
		break;
	case OPT_TYPE_COUNT:
		break;
	}
}

enum berth_code
record_check_by(
    const struct opt_list *by, const char *const *known, const char *what, struct berth_err *err)
{
	char list[160] = "";

	for (size_t i = 0; i < by->n; i++) {
		const char *near = str_suggest(by->v[i], known);

		if (str_index(by->v[i], known) >= 0)
			continue;
		if (near != NULL)
			return err_set(err, BERTH_EUSAGE,
			    "--by: %s have no label '%s': did you mean '%s'?", what, by->v[i],
			    near);
		for (size_t k = 0; known[k] != NULL; k++)
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
			    k > 0 ? ", " : "", known[k]);
		return err_set(err, BERTH_EUSAGE, "--by: %s have no label '%s'; they have %s", what,
		    by->v[i], list);
	}
	return BERTH_OK;
}

const char *
record_options(struct cmd_ctx *ctx)
{
	const char *text;
	struct buf b;

	buf_init(&b, (size_t)64 * 1024);
	for (const struct opt_row *row = ctx->cmd->opts; row != NULL && row->name != NULL; row++) {
		buf_printf(&b, "%s%s=", b.len > 0 ? " " : "", row->name);
		record_option(&b, row, (const char *)ctx->opts + row->offset);
	}
	text = arena_strdup(ctx->arena, b.p != NULL ? b.p : "");
	buf_free(&b);
	return text;
}

static enum berth_code
record_read(struct record *r, const char *path, struct usage_set *set, struct spool *sp,
    struct usage_counts *rows, char digest[HASH_DIGEST_SIZE], struct berth_err *err)
{
	const struct record_csv *c = r->own;
	struct zin *z;
	enum berth_code rc = zin_open(path, &z, err);

	if (rc != BERTH_OK)
		return rc;
	r->zin = z;
	rc = usage_csv_read(
	    zin_file(z), r->file, &c->csv, set, sp, rows, record_say, r, record_progress, err);
	if (rc == BERTH_EIO && zin_fault(z) != NULL)
		rc = err_set(
		    err, BERTH_EINVAL, "%s: %s; nothing of it was stored", r->file, zin_fault(z));
	zin_digest(z, digest);
	r->zin = NULL;
	zin_close(z);
	return rc;
}

void
record_extra(struct record *r, const char *key, int64_t n)
{
	size_t i = 0;

	while (i < r->n_extra && strcmp(r->extra[i].key, key) != 0)
		i++;
	if (i == r->n_extra) {
		assert(i < RECORD_EXTRA_MAX);
		r->extra[r->n_extra++].key = key;
	}
	r->extra[i].n += n;
}

void
record_sum(struct record *r, const char *key, double v)
{
	size_t i = 0;

	while (i < r->n_sum && strcmp(r->sum[i].key, key) != 0)
		i++;
	if (i == r->n_sum) {
		assert(i < RECORD_EXTRA_MAX);
		r->sum[r->n_sum++].key = key;
	}
	r->sum[i].v += v;
}

void
record_count(
    struct record *r, const struct usage_counts *rows, const struct usage_load_counts *load)
{
	r->rows.read += rows->read;
	r->rows.refused += rows->refused + load->refused;
	if (load->before != 0)
		VEC_PUSH(r->ctx->arena, &r->again, (struct record_again){ r->file, load->before });
	r->load.stored += load->stored;
	r->load.duplicate += load->duplicate;
	r->load.replaced += load->replaced;
	r->load.gpu_seconds += load->gpu_seconds;
}

/* One file is one transaction: all of its good rows or none. */
static enum berth_code
record_csv_file(struct record *r, const char *path, struct berth_err *err)
{
	const struct record_opts *opts = ((const struct record_csv *)r->own)->o;
	char digest[HASH_DIGEST_SIZE] = "";
	struct usage_load_options o = { .step_s = opts->step_s,
		.interval_s = opts->interval_s,
		.unit = opts->unit,
		.format = "csv",
		.source = path,
		.digest = digest,
		.options = record_options(r->ctx),
		.now = r->ctx->now };
	struct usage_load_counts load = { 0 };
	struct usage_counts rows = { 0 };
	struct arena *a = arena_new();
	struct spool *sp = NULL;
	struct usage_set set;
	enum berth_code rc;

	usage_set_init(&set, a);
	rc = spool_new(SPOOL_ROWS, NULL, &sp, err);
	if (rc == BERTH_OK)
		rc = record_read(r, path, &set, sp, &rows, digest, err);
	if (rc == BERTH_OK)
		rc = usage_load(r->ctx->store, &set, sp, &o, &rows, &load, record_say, r, err);
	if (rc == BERTH_OK) {
		record_touch(r, &set);
		record_count(r, &rows, &load);
	}
	spool_free(sp);
	arena_free(a);
	return rc;
}

enum berth_code
record_secret(
    struct cmd_ctx *ctx, const char *file, const char *env, const char **out, struct berth_err *err)
{
	const char *v = getenv(env);
	enum berth_code rc = BERTH_OK;
	char *bytes;

	if (file != NULL) {
		rc = fileio_slurp(ctx->arena, file, 65536, &bytes, NULL, err);
		v = rc == BERTH_OK ? str_trim(ctx->arena, bytes) : NULL;
	}
	*out = v != NULL && *v != '\0' ? v : NULL;
	return rc;
}

static enum berth_code
record_json(struct record *r, const struct series *series, size_t n, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(r->ctx, "berth.record/1");

	jsonw_int(w, "rows_read", r->rows.read);
	jsonw_int(w, "rows_stored", r->load.stored);
	jsonw_int(w, "rows_duplicate", r->load.duplicate);
	jsonw_int(w, "rows_replaced", r->load.replaced);
	jsonw_int(w, "rows_refused", r->rows.refused);
	for (size_t i = 0; i < r->n_extra; i++)
		jsonw_int(w, r->extra[i].key, r->extra[i].n);
	for (size_t i = 0; i < r->n_sum; i++)
		jsonw_fixed(w, r->sum[i].key, r->sum[i].v, 6);
	jsonw_begin_array(w, "series");
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", series[i].name);
		jsonw_time_or_null(w, "from", series[i].from);
		jsonw_time_or_null(w, "to", series[i].to);
		jsonw_int(w, "samples", series[i].samples);
		jsonw_double(w, "peak", series[i].peak);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_double(w, "gpu_seconds", r->load.gpu_seconds);
	jsonw_begin_array(w, "loaded_before");
	for (size_t i = 0; i < r->again.n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "file", r->again.v[i].file);
		jsonw_int(w, "load", r->again.v[i].load);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "warnings");
	for (size_t i = 0; i < r->warnings.n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "file", r->warnings.v[i].file);
		if (r->warnings.v[i].line > 0)
			jsonw_int(w, "line", r->warnings.v[i].line);
		else
			jsonw_null(w, "line");
		jsonw_str(w, "message", r->warnings.v[i].message);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(r->ctx, err);
}

static enum berth_code
record_table(struct record *r, const struct series *series, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "name", "SERIES", TABLE_TEXT, 0, TABLE_NAME },
		{ "from", NULL, TABLE_TIME, 0, 0 },
		{ "to", NULL, TABLE_TIME, 0, 0 },
		{ "samples", NULL, TABLE_INT, 0, 0 },
		{ "peak", NULL, TABLE_DOUBLE, 1, 0 },
	};
	struct table *t = table_new(r->ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_text(t, series[i].name);
		table_time(t, series[i].from);
		table_time(t, series[i].to);
		table_int(t, series[i].samples);
		table_double(t, series[i].peak);
	}
	cmd_say(r->ctx,
	    "%s%lld rows read: %lld stored, %lld there already, %lld refused; %.0f GPU-hours\n",
	    r->ctx->dry_run ? "dry run: " : "", (long long)r->rows.read, (long long)r->load.stored,
	    (long long)r->load.duplicate, (long long)r->rows.refused, r->load.gpu_seconds / 3600);
	for (size_t i = 0; i < r->again.n; i++)
		cmd_note(r->ctx, "%s was loaded before, as load %lld of `berth store loads`",
		    r->again.v[i].file, (long long)r->again.v[i].load);
	return n > 0 || r->ctx->format == CMD_CSV ? cmd_table_print(r->ctx, t, err) : BERTH_OK;
}

enum berth_code
record_result(struct record *r, struct berth_err *err)
{
	struct series *series = arena_array_of(r->ctx->arena, r->names.n, struct series);
	enum berth_code rc = BERTH_OK;
	size_t n = 0;

	for (size_t i = 0; rc == BERTH_OK && i < r->names.n; i++) {
		rc = store_series_get(r->ctx->store, r->names.v[i], r->ctx->arena, &series[n], err);
		n += rc == BERTH_OK;
		if (rc == BERTH_ENOTFOUND) /* none of its rows was any good */
			rc = BERTH_OK;
	}
	if (rc == BERTH_OK)
		rc = cmd_wants_json(r->ctx) ? record_json(r, series, n, err)
					    : record_table(r, series, n, err);
	if (rc == BERTH_OK && (r->rows.refused > 0 || r->files_failed > 0))
		rc = err_set(err, BERTH_EPARTIAL, "%lld of %lld rows refused%s",
		    (long long)r->rows.refused, (long long)r->rows.read,
		    r->files_failed > 0 ? ", and files that could not be read at all" : "");
	return rc;
}

enum berth_code
record_files(struct record *r, record_file_fn *read, struct berth_err *err)
{
	static const char *const input[] = { "-" };
	const char *const *files = r->ctx->n_args > 0 ? r->ctx->args : input;
	size_t n = r->ctx->n_args > 0 ? r->ctx->n_args : 1;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n; i++) {
		record_source(r, str_eq(files[i], "-") ? "(standard input)" : files[i]);
		rc = read(r, files[i], err);
		progress_end(&r->progress);
		if (rc == BERTH_OK)
			continue;
		/* One bad file of several does not hold up the others; a store that fails does. */
		if (n == 1 || (rc != BERTH_EINVAL && rc != BERTH_ENOTFOUND))
			return rc;
		r->files_failed++;
		record_say(r, USAGE_REFUSED, 0, err->msg);
	}
	return r->files_failed == n ? rc : record_result(r, err);
}

void
record_source(struct record *r, const char *name)
{
	r->file = name;
	r->file_lines = 0;
	progress_start(&r->progress, cmd_progress(r->ctx),
	    arena_printf(r->ctx->arena, "record %s", name), "rows", 0);
}

enum berth_code
record_zone(struct cmd_ctx *ctx, const char *name, const struct tz **tz_out, struct berth_err *err)
{
	enum berth_code rc = tz_load(ctx->arena, name, tz_out, err);

	return rc == BERTH_OK ? rc : err_ctx(err, "--zone");
}

static enum berth_code
record_csv(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct record_opts *o = ctx->opts;
	struct record_csv c = { .o = o };
	struct record r = { .ctx = ctx, .own = &c };
	const struct tz *tz = NULL;
	enum berth_code rc = BERTH_OK;

	if (o->zone != NULL)
		rc = record_zone(ctx, o->zone, &tz, err);
	c.csv = (struct usage_csv_options){ .time_column = o->time_column,
		.value_column = o->value_column,
		.series = o->series,
		.by = o->by.v,
		.n_by = o->by.n,
		.tz = tz,
		.decimal_comma = o->decimal_comma,
		.serial_dates = o->serial_dates,
		.now = ctx->now };
	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &c.csv.accels, err);
	return rc == BERTH_OK ? record_files(&r, record_csv_file, err) : rc;
}
