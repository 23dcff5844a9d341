#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/explain.h"
#include "store/job_rows.h"
#include "store/plan_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

struct explain_opts {
	int64_t limit;
	const char *kind;
};

static const struct explain_opts explain_defaults = { .limit = 0 };

static const struct opt_row explain_rows[] = {
	{ "limit", 'n', OPT_INT, "N",
	    "the newest so many decisions; default those that say why it is where it is",
	    offsetof(struct explain_opts, limit), 1, 100000, NULL },
	{ "kind", 'k', OPT_CHOICE, "place|wait|preemption|replace|move|checkpoint|probe|scale|idle",
	    "decisions of this kind alone; the newest without -n",
	    offsetof(struct explain_opts, kind), 0, 0, NULL },
	{ 0 },
};

static enum berth_code explain_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_explain = {
	.name = "explain",
	.summary = "say why a plan or a placement came out as it did",
	.args = "plan[:ID] | placement | JOB | FLEET | SERIES",
	.opts = explain_rows,
	.opts_default = &explain_defaults,
	.opts_size = sizeof(explain_defaults),
	.flags = CMD_STORE_RO | CMD_NO_ROWS,
	.args_min = 1,
	.args_max = 1,
	.run = explain_run,
};

static enum berth_code
explain_plan_row(struct cmd_ctx *ctx, const char *what, struct plan_row *row, struct berth_err *err)
{
	struct plan_row *rows;
	enum berth_code rc;
	int64_t id;
	size_t n;

	if (what[4] == ':') {
		rc = str_to_i64(what + 5, 1, INT64_MAX, &id, err);
		return rc == BERTH_OK ? store_plan_get(ctx->store, id, ctx->arena, row, err)
				      : err_set(err, BERTH_EUSAGE,
					    "'%s' is no number of a plan, as in plan:3", what + 5);
	}
	rc = store_plan_list(ctx->store, 1, ctx->arena, &rows, &n, err);
	if (rc != BERTH_OK)
		return rc;
	if (n == 0)
		return err_set(err, BERTH_ENOTFOUND, "no plan was made yet: run `berth plan`");
	*row = rows[0];
	return BERTH_OK;
}

static bool
explain_is_series(const struct jsonr *s, const char *name)
{
	const json_t *v = jsonr_get(s, "name").v;

	return json_is_string(v) && str_eq(json_string_value(v), name);
}

static enum berth_code
explain_plan_lines(struct cmd_ctx *ctx, const struct jsonr *s, struct berth_err *err)
{
	const char *name = "", *gpu = "", *line;
	struct jsonr because;
	enum berth_code rc = jsonr_str(s, "name", &name, err);

	if (rc == BERTH_OK)
		rc = jsonr_str(s, "accelerator", &gpu, err);
	if (rc == BERTH_OK)
		rc = jsonr_array(s, "because", &because, err);
	if (rc != BERTH_OK)
		return rc;
	cmd_say(ctx, "%s (%s):\n", name, gpu);
	for (size_t i = 0; i < jsonr_len(&because); i++) {
		struct jsonr c = jsonr_at(&because, i);

		line = json_string_value(c.v);
		cmd_say_items(ctx, arena_printf(ctx->arena, "  - %s\n", line == NULL ? "" : line));
	}
	return BERTH_OK;
}

/* The series of a plan in words; with a name, those of that name alone. */
static enum berth_code
explain_plan_say(
    struct cmd_ctx *ctx, const struct plan_row *row, const char *name, struct berth_err *err)
{
	struct jsonr root, series;
	json_t *tree = NULL;
	char t[TIME_FMT_SIZE];
	enum berth_code rc = jsonr_parse(row->json, strlen(row->json), "plan", &tree, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, "plan");
	rc = jsonr_array(&root, "series", &series, err);
	cmd_say(ctx, "Plan %lld of %s\n", (long long)row->id, time_fmt(t, row->made));
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&series); i++) {
		struct jsonr s = jsonr_at(&series, i);

		if (name == NULL || explain_is_series(&s, name))
			rc = explain_plan_lines(ctx, &s, err);
	}
	json_decref(tree);
	return rc;
}

static enum berth_code
explain_plan(struct cmd_ctx *ctx, const char *what, struct berth_err *err)
{
	struct plan_row row;
	enum berth_code rc = explain_plan_row(ctx, what, &row, err);

	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx)) {
		struct jsonw *w = cmd_json_begin(ctx, "berth.explanation/1");

		jsonw_str(w, "kind", "plan");
		jsonw_int(w, "id", row.id);
		jsonw_time(w, "made", row.made);
		jsonw_raw(w, "inputs", row.inputs);
		jsonw_raw(w, "plan", row.json);
		return cmd_json_end(ctx, err);
	}
	return explain_plan_say(ctx, &row, NULL, err);
}

/* Whether the plan has a series of that name. */
static enum berth_code
explain_has_series(
    const struct plan_row *row, const char *name, bool *has_out, struct berth_err *err)
{
	struct jsonr root, series;
	json_t *tree = NULL;
	enum berth_code rc;

	*has_out = false;
	if (strpbrk(name, "\"\\") == NULL && strstr(row->json, name) == NULL)
		return BERTH_OK; /* it is in no string of it: nothing to parse */
	rc = jsonr_parse(row->json, strlen(row->json), "plan", &tree, err);
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, "plan");
	rc = jsonr_array(&root, "series", &series, err);
	for (size_t i = 0; rc == BERTH_OK && !*has_out && i < jsonr_len(&series); i++) {
		struct jsonr s = jsonr_at(&series, i);

		*has_out = explain_is_series(&s, name);
	}
	json_decref(tree);
	return rc;
}

/* The newest plan with that series; id 0 in it: none has it. */
static enum berth_code
explain_series_plan(
    struct cmd_ctx *ctx, const char *name, struct plan_row *row, struct berth_err *err)
{
	enum berth_code rc;
	bool has = false;

	row->id = INT64_MAX;
	do {
		struct arena *a = arena_new();
		int64_t before = row->id;

		rc = store_plan_before(ctx->store, before, a, row, err);
		if (rc == BERTH_OK && row->id > 0)
			rc = explain_has_series(row, name, &has, err);
		arena_free(a);
	} while (rc == BERTH_OK && row->id > 0 && !has);
	return rc == BERTH_OK && has ? store_plan_get(ctx->store, row->id, ctx->arena, row, err)
				     : rc;
}

static enum berth_code
explain_series_json(
    struct cmd_ctx *ctx, const struct plan_row *row, const char *name, struct berth_err *err)
{
	struct jsonr root, series;
	json_t *tree = NULL;
	struct jsonw *w;
	enum berth_code rc = jsonr_parse(row->json, strlen(row->json), "plan", &tree, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, "plan");
	rc = jsonr_array(&root, "series", &series, err);
	if (rc == BERTH_OK) {
		w = cmd_json_begin(ctx, "berth.explanation/1");
		jsonw_str(w, "kind", "series");
		jsonw_int(w, "id", row->id);
		jsonw_time(w, "made", row->made);
		jsonw_begin_array(w, "series");
		for (size_t i = 0; i < jsonr_len(&series); i++) {
			struct jsonr s = jsonr_at(&series, i);
			char *text = explain_is_series(&s, name)
					 ? json_dumps(s.v, JSON_REAL_PRECISION(15))
					 : NULL;

			if (text != NULL)
				jsonw_raw(w, NULL, text);
			free(text);
		}
		jsonw_end_array(w);
		rc = cmd_json_end(ctx, err);
	}
	json_decref(tree);
	return rc;
}

/* What the newest plan that has the series says of it, if one has. */
static enum berth_code
explain_series(struct cmd_ctx *ctx, const char *name, bool *said_out, struct berth_err *err)
{
	struct plan_row row;
	enum berth_code rc = explain_series_plan(ctx, name, &row, err);

	*said_out = rc == BERTH_OK && row.id != 0;
	if (!*said_out)
		return rc;
	return cmd_wants_json(ctx) ? explain_series_json(ctx, &row, name, err)
				   : explain_plan_say(ctx, &row, name, err);
}

/* Those that say why it is where it is, or as many of one kind, or of any, as are asked for. */
static enum berth_code
explain_list(struct cmd_ctx *ctx, const char *subject, struct decision **ds, size_t *n,
    struct berth_err *err)
{
	const struct explain_opts *o = ctx->opts;

	if (o->limit == 0 && o->kind == NULL)
		return store_decision_stand(ctx->store, subject, ctx->arena, ds, n, err);
	return store_decision_list(ctx->store, o->kind, subject,
	    o->limit > 0 ? (size_t)o->limit : 1, ctx->arena, ds, n, err);
}

/* What nothing was decided about by that very word may be a job by its name. */
static enum berth_code
explain_job(struct cmd_ctx *ctx, const char **subject, struct decision **ds, size_t *n,
    struct berth_err *err)
{
	struct job job;
	enum berth_code rc = store_job_get(ctx->store, *subject, ctx->arena, &job, err);

	if (rc == BERTH_ENOTFOUND)
		return BERTH_OK;
	if (rc != BERTH_OK)
		return rc;
	*subject = job.id;
	return explain_list(ctx, job.id, ds, n, err);
}

static enum berth_code
explain_nothing(const char *subject, const char *kind, struct berth_err *err)
{
	if (kind != NULL)
		return err_set(err, BERTH_ENOTFOUND,
		    "no decision of kind '%s' about '%s' is kept: `berth explain -n 100 %s` tells "
		    "what else was decided",
		    kind, subject, subject);
	if (str_eq(subject, "placement"))
		return err_set(err, BERTH_ENOTFOUND,
		    "no placement was made yet: run `berth place` or `berth tick`");
	return err_set(err, BERTH_ENOTFOUND,
	    "nothing was decided about '%s', and no plan has a series of that name: see `berth "
	    "jobs --all` and `berth series`, or run `berth place`, `berth scale` or `berth plan`",
	    subject);
}

/* The job that the decisions are about, by its id; else its id is NULL. */
static enum berth_code
explain_subject(struct cmd_ctx *ctx, const char *subject, struct job *out, struct berth_err *err)
{
	enum berth_code rc = store_job_get(ctx->store, subject, ctx->arena, out, err);

	if (rc != BERTH_OK || !str_eq(out->id, subject))
		out->id = NULL;
	return rc == BERTH_ENOTFOUND || rc == BERTH_EINVAL ? BERTH_OK : rc;
}

/* That it has missed its deadline, or is to. */
static void
explain_deadline(struct cmd_ctx *ctx, const struct job *j)
{
	char by[TIME_FMT_SIZE];

	if (j->id == NULL || j->spec.deadline == 0)
		return;
	time_fmt(by, j->spec.deadline);
	if (job_missed(j, ctx->now) && j->finished > 0)
		cmd_say_hung(ctx, 4, "its deadline of %s was missed: it ended %.0f min later", by,
		    ceil((double)(j->finished - j->spec.deadline) / 60));
	else if (job_missed(j, ctx->now))
		cmd_say_hung(ctx, 4, "its deadline of %s is missed: it is %s, %.0f %% done", by,
		    job_state_name(j->state), 100 * j->progress);
	else if ((j->marks & JOB_MARK_AT_RISK) != 0 && j->finished == 0)
		cmd_say_hung(ctx, 4,
		    "its deadline of %s is at risk: `berth job %s` tells since when", by, j->id);
}

static enum berth_code
explain_json(struct cmd_ctx *ctx, const struct job *job, const struct decision *ds, size_t n,
    struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.explanation/1");

	jsonw_str(w, "kind", "decisions");
	if (job->id != NULL) {
		jsonw_time_or_null(w, "deadline", job->spec.deadline);
		jsonw_bool(w, "deadline_missed", job_missed(job, ctx->now));
	}
	jsonw_begin_array(w, "decisions");
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_int(w, "id", ds[i].id);
		jsonw_time(w, "t", ds[i].t);
		jsonw_time_or_null(w, "seen", ds[i].seen);
		jsonw_str(w, "kind", ds[i].kind);
		jsonw_str(w, "subject", ds[i].subject);
		jsonw_raw(w, "decision", ds[i].json);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
explain_decisions(struct cmd_ctx *ctx, const char *subject, struct berth_err *err)
{
	const struct explain_opts *o = ctx->opts;
	struct decision *ds;
	struct job job;
	bool said = false;
	size_t n;
	enum berth_code rc = explain_list(ctx, subject, &ds, &n, err);

	if (rc == BERTH_OK && n == 0 && !str_eq(subject, "placement")) {
		if (o->kind == NULL)
			rc = explain_series(ctx, subject, &said, err);
		if (rc == BERTH_OK && !said)
			rc = explain_job(ctx, &subject, &ds, &n, err);
	}
	if (rc != BERTH_OK || said)
		return rc;
	if (n == 0)
		return explain_nothing(subject, o->kind, err);
	rc = explain_subject(ctx, subject, &job, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return explain_json(ctx, &job, ds, n, err);
	explain_deadline(ctx, &job);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++)
		rc = explain_decision_say(
		    ctx, &ds[i], job.id != NULL && job.state == JOB_QUEUED ? job.reason : "", err);
	return rc;
}

static enum berth_code
explain_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct explain_opts *o = ctx->opts;
	const char *what = ctx->args[0];

	if (strncmp(what, "plan", 4) != 0 || (what[4] != '\0' && what[4] != ':'))
		return explain_decisions(ctx, what, err);
	if (o->limit > 0 || o->kind != NULL)
		return err_set(err, BERTH_EUSAGE,
		    "%s counts decisions about a job, a fleet or the placement: a plan is named by "
		    "its number, as in plan:3",
		    o->kind != NULL ? "--kind" : "-n");
	return explain_plan(ctx, what, err);
}
