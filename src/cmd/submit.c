#include <string.h>

#include "cmd/cmd.h"
#include "model/accel.h"
#include "model/jobspec.h"
#include "store/event_rows.h"
#include "store/job_rows.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"

struct submit_opts {
	const char *name, *project, *user;
	int64_t priority;
	int64_t count;
};

static const struct submit_opts submit_defaults = { .priority = INT64_MIN, .count = 1 };

#define OFF(field) offsetof(struct submit_opts, field)
static const struct opt_row submit_rows[] = {
	{ "name", 0, OPT_STRING, "TEXT", "name of the job, instead of the file's", OFF(name), 0, 0,
	    NULL },
	{ "project", 0, OPT_STRING, "TEXT", "project that pays, instead of the file's",
	    OFF(project), 0, 0, NULL },
	{ "user", 0, OPT_STRING, "TEXT", "who it is for, instead of the file's or $USER", OFF(user),
	    0, 0, NULL },
	{ "priority", 'p', OPT_INT, "N", "higher goes first, instead of the file's", OFF(priority),
	    -1000, 1000, NULL },
	{ "count", 'n', OPT_INT, "N", "submit each file this many times", OFF(count), 1, 10000,
	    NULL },
	{ 0 },
};

static enum berth_code submit_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_submit = {
	.name = "submit",
	.summary = "put jobs into the queue and return at once",
	.args = "FILE ...",
	.opts = submit_rows,
	.opts_default = &submit_defaults,
	.opts_size = sizeof(submit_defaults),
	.flags = CMD_STORE_RW,
	.args_min = 1,
	.args_max = -1,
	.run = submit_run,
};

struct submitted {
	const char *id, *file;
	struct job_spec spec;
};

static enum berth_code
submit_override(struct job_spec *spec, const struct submit_opts *o, struct berth_err *err)
{
	static const char *const option[] = { "--name", "--project", "--user" };
	const char *const text[] = { o->name, o->project, o->user };

	for (size_t i = 0; i < 3; i++)
		if (text[i] != NULL && strlen(text[i]) > JOBSPEC_NAME_MAX) {
			err_set(err, BERTH_EUSAGE, "%zu bytes long, at most %d are allowed",
			    strlen(text[i]), JOBSPEC_NAME_MAX);
			return err_at(err, "%s", option[i]);
		}
	if (o->name != NULL)
		spec->name = o->name;
	if (o->project != NULL)
		spec->project = o->project;
	if (o->user != NULL)
		spec->user = o->user;
	if (o->priority != INT64_MIN)
		spec->priority = (int)o->priority;
	return BERTH_OK;
}

static enum berth_code
submit_event(
    struct cmd_ctx *ctx, const char *id, const struct job_spec *spec, struct berth_err *err)
{
	struct event e = { .t = ctx->now, .type = "job.submitted", .subject = id };
	enum berth_code rc;
	struct buf text;
	struct jsonw w;

	buf_init(&text, 65536);
	jsonw_init_buf(&w, &text, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "message", spec->name);
	jsonw_str(&w, "job", id);
	jsonw_str_or_null(&w, "user", spec->user);
	jsonw_str_or_null(&w, "project", spec->project);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK) {
		e.data = text.p;
		rc = store_event_append(ctx->store, &e, err);
	}
	buf_free(&text);
	return rc;
}

/* Every file is read before anything is stored: one bad file leaves the queue as it was. */
static enum berth_code
submit_read(struct cmd_ctx *ctx, struct submitted **list_out, size_t *n_out, struct berth_err *err)
{
	const struct submit_opts *o = ctx->opts;
	const struct accel_table *accels;
	const struct config *config;
	size_t count = (size_t)o->count, k = 0;
	struct submitted *list;
	struct job_spec spec;
	enum berth_code rc;

	rc = cmd_accels(ctx, &accels, err);
	if (rc == BERTH_OK)
		rc = cmd_config(ctx, &config, err);
	if (rc != BERTH_OK)
		return rc;
	list = arena_array_of(ctx->arena, ctx->n_args * count, struct submitted);
	for (size_t i = 0; i < ctx->n_args; i++) {
		rc = jobspec_load(ctx->args[i], accels, ctx->now, ctx->arena, &spec, err);
		if (rc == BERTH_OK)
			rc = job_defaults_fill(
			    &config->defaults.job, ctx->args[i], ctx->arena, &spec, err);
		if (rc == BERTH_OK)
			rc = submit_override(&spec, o, err);
		if (rc != BERTH_OK)
			return rc;
		if (spec.deadline != 0 && spec.deadline <= ctx->now)
			return err_set(
			    err, BERTH_EINVAL, "%s: the deadline has passed", ctx->args[i]);
		for (size_t j = 0; j < count; j++)
			list[k++] = (struct submitted){ .file = ctx->args[i], .spec = spec };
	}
	*list_out = list;
	*n_out = k;
	return BERTH_OK;
}

/* The job that list[i] waits for: of the same call, else by id, else the newest of that name. */
static enum berth_code
submit_after(struct cmd_ctx *ctx, struct submitted *list, size_t i, struct berth_err *err)
{
	const char *after = list[i].spec.after;
	struct job_query q = { 0 };
	struct job *rows;
	enum berth_code rc;
	size_t n;

	if (after == NULL || after[0] == '\0')
		return BERTH_OK;
	for (size_t j = i; j-- > 0;)
		if (str_eq(list[j].spec.name, after)) {
			list[i].spec.after = list[j].id;
			return BERTH_OK;
		}
	rc = store_job_list(ctx->store, &q, ctx->arena, &rows, &n, err);
	for (size_t pass = 0; pass < 2 && rc == BERTH_OK; pass++) {
		const struct job *best = NULL;

		for (size_t k = 0; k < n; k++)
			if (str_eq(pass == 0 ? rows[k].id : rows[k].spec.name, after) &&
			    (best == NULL || strcmp(rows[k].id, best->id) > 0))
				best = &rows[k];
		if (best != NULL) {
			list[i].spec.after = best->id;
			return BERTH_OK;
		}
	}
	return rc != BERTH_OK ? rc
			      : err_set(err, BERTH_EINVAL,
				    "%s: after: no job '%.60s' is known; submit it first, or name "
				    "it before this file",
				    list[i].file, after);
}

static enum berth_code
submit_store(struct cmd_ctx *ctx, struct submitted *list, size_t n, struct berth_err *err)
{
	enum berth_code rc;

	rc = store_begin(ctx->store, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		rc = submit_after(ctx, list, i, err);
		if (rc == BERTH_OK)
			rc = store_job_insert(
			    ctx->store, &list[i].spec, ctx->now, ctx->arena, &list[i].id, err);
		if (rc == BERTH_OK)
			rc = submit_event(ctx, list[i].id, &list[i].spec, err);
		if (rc != BERTH_OK) {
			store_rollback(ctx->store);
			return rc;
		}
	}
	return store_commit(ctx->store, err);
}

static enum berth_code
submit_table(struct cmd_ctx *ctx, const struct submitted *list, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ .name = "id", .type = TABLE_TEXT },
		{ .name = "name", .type = TABLE_TEXT },
		{ .name = "file", .type = TABLE_TEXT },
		{ .name = "state", .type = TABLE_TEXT },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_text(t, list[i].id);
		table_text(t, list[i].spec.name);
		table_text(t, list[i].file);
		table_text(t, job_state_name(JOB_QUEUED));
	}
	return cmd_table_print(ctx, t, err);
}

static enum berth_code
submit_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct submitted *list = NULL;
	struct jsonw *w;
	enum berth_code rc;
	size_t n = 0;

	rc = submit_read(ctx, &list, &n, err);
	if (rc == BERTH_OK)
		rc = submit_store(ctx, list, n, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx)) {
		w = cmd_json_begin(ctx, "berth.submit/1");
		jsonw_bool(w, "dry_run", ctx->dry_run);
		jsonw_begin_array(w, "jobs");
		for (size_t i = 0; i < n; i++) {
			jsonw_begin_object(w, NULL);
			jsonw_str(w, "id", list[i].id);
			jsonw_str(w, "name", list[i].spec.name);
			jsonw_str(w, "file", list[i].file);
			jsonw_str(w, "state", job_state_name(JOB_QUEUED));
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
		return cmd_json_end(ctx, err);
	}
	if (ctx->format != CMD_TABLE)
		return submit_table(ctx, list, n, err);
	for (size_t i = 0; i < n; i++) /* ids are the result: also with -q */
		fprintf(ctx->out, "%s  %s%s\n", list[i].id, list[i].spec.name,
		    ctx->dry_run ? "  (dry run: not queued)" : "");
	return BERTH_OK;
}
