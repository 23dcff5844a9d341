#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "broker/shares.h"
#include "cmd/cmd.h"
#include "cmd/jobshow.h"
#include "store/job_rows.h"
#include "util/arena.h"
#include "util/json.h"

struct jobs_opts {
	bool all, shares;
	struct opt_list state;
	const char *user, *project;
	int64_t since, limit;
};

static const struct jobs_opts jobs_defaults = { .limit = 0 };

#define OFF(field) offsetof(struct jobs_opts, field)
static const struct opt_row jobs_rows[] = {
	{ "all", 'a', OPT_FLAG, NULL, "also jobs that ended more than a day ago", OFF(all), 0, 0,
	    NULL },
	{ "shares", 0, OPT_FLAG, NULL,
	    "who has used how much, by fair_share of berth.yaml, and whose turn it is", OFF(shares),
	    0, 0, NULL },
	{ "state", 's', OPT_LIST, "STATE", "queued, placed, running, done, failed, cancelled",
	    OFF(state), 0, 0, NULL },
	{ "user", 'u', OPT_STRING, "TEXT", "of this user", OFF(user), 0, 0, NULL },
	{ "project", 0, OPT_STRING, "TEXT", "of this project", OFF(project), 0, 0, NULL },
	{ "since", 0, OPT_TIME, "TIME", "submitted at or after this time", OFF(since), 0, 0, NULL },
	{ "limit", 0, OPT_INT, "N", "the newest so many", OFF(limit), 1, 1e9, NULL },
	{ 0 },
};

static enum berth_code jobs_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_jobs = {
	.name = "jobs",
	.summary = "list the queue and what ran",
	.args = "",
	.opts = jobs_rows,
	.opts_default = &jobs_defaults,
	.opts_size = sizeof(jobs_defaults),
	.flags = CMD_STORE_RO,
	.run = jobs_run,
};

static enum berth_code
jobs_states(const struct opt_list *list, unsigned *states_out, struct berth_err *err)
{
	enum job_state s;

	*states_out = 0;
	for (size_t i = 0; i < list->n; i++) {
		if (!job_state_parse(list->v[i], &s)) {
			err_set(err, BERTH_EUSAGE,
			    "'%s' is no state of a job: queued, placed, running, done, failed or "
			    "cancelled",
			    list->v[i]);
			return err_at(err, "--state");
		}
		*states_out |= JOB_BIT(s);
	}
	return BERTH_OK;
}

static enum berth_code
jobs_table(struct cmd_ctx *ctx, const struct job *jobs, size_t n, const struct job_nodes *nodes,
    size_t n_nodes, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", NULL, TABLE_TEXT, 0, 0 },
		{ "name", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "user", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "project", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "accelerators", "WANTS", TABLE_TEXT, 0, TABLE_CUT | TABLE_WIDE },
		{ "state", NULL, TABLE_TEXT, 0, 0 },
		{ "machines", "UP", TABLE_TEXT, 0, TABLE_WIDE },
		{ "progress", "DONE", TABLE_SHARE, 0, 0 },
		{ "preemptions", "PREEMPTED", TABLE_INT, 0, 0 },
		{ "submitted", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "finished", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "deadline", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "deadline_missed", "MISSED", TABLE_TEXT, 0, TABLE_WIDE },
		{ "cost", "COST $", TABLE_MONEY, 2, 0 },
		{ "reason", NULL, TABLE_TEXT, 0, TABLE_CUT },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		const struct job *j = &jobs[i];

		table_row(t);
		table_text(t, j->id);
		table_text(t, j->spec.name);
		table_text(t, j->spec.user);
		table_text(t, j->spec.project);
		table_text(t, jobshow_accelerators(&j->spec, ctx->arena));
		table_text(t, job_state_name(j->state));
		table_text(t, jobshow_nodes_text(jobshow_nodes(nodes, n_nodes, j->id), ctx->arena));
		table_double(t, j->progress);
		table_int(t, j->preemptions);
		table_time(t, j->submitted);
		table_time(t, j->finished);
		table_time(t, j->spec.deadline);
		table_text(t, j->spec.deadline == 0 ? "" : job_missed(j, ctx->now) ? "yes" : "no");
		table_money(t, j->cost);
		table_text(t, j->reason);
	}
	return cmd_table_print(ctx, t, err);
}

/* Owners by whose turn it is: fewest GPU-hours for the weight first; those of weight 0 last. */
static int
jobs_cmp_owner(const void *a, const void *b)
{
	const struct share_owner *const *x = a, *const *y = b;
	double lx = share_level(*x, 0), ly = share_level(*y, 0);

	if (lx != ly)
		return lx < ly ? -1 : 1;
	return strcmp((*x)->name, (*y)->name);
}

/* As many places as berth.shares/1 has. */
static double
jobs_places(double v)
{
	return isfinite(v) ? round(v * 1e4) / 1e4 : NAN;
}

static enum berth_code
jobs_shares_table(
    struct cmd_ctx *ctx, const struct shares *s, const size_t *waits, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "name", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "weight", NULL, TABLE_DOUBLE, 2, 0 },
		{ "share", NULL, TABLE_SHARE, 0, 0 },
		{ "used_gpu_hours", "USED GPU-H", TABLE_DOUBLE, 1, 0 },
		{ "used_share", "OF ALL", TABLE_SHARE, 0, 0 },
		{ "coming_gpu_hours", "COMING", TABLE_DOUBLE, 1, 0 },
		{ "gpu_hours_per_weight", "PER WEIGHT", TABLE_DOUBLE, 1, 0 },
		{ "jobs_waiting", "WAITING", TABLE_INT, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	const struct share_owner **by = arena_array(ctx->arena, s->n, sizeof(*by));

	for (size_t i = 0; i < s->n; i++)
		by[i] = &s->owners[i];
	if (s->n > 0)
		qsort(by, s->n, sizeof(*by), jobs_cmp_owner);
	for (size_t i = 0; i < s->n; i++) {
		size_t o = (size_t)(by[i] - s->owners);
		double level = share_level(by[i], 0);

		table_row(t);
		table_text(t, by[i]->name);
		table_double(t, by[i]->weight);
		table_double(t, shares_share(s, o));
		table_double(t, jobs_places(by[i]->used));
		table_double(t, shares_used(s, o));
		table_double(t, jobs_places(by[i]->coming));
		table_double(t, jobs_places(level));
		table_int(t, (int64_t)waits[o]);
	}
	return cmd_table_print(ctx, t, err);
}

/* Who has used how much of the machines, as the next placement counts it. */
static enum berth_code
jobs_shares(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct job_query queued = { .states = JOB_BIT(JOB_QUEUED) };
	struct job_query held = { .states = JOB_BIT(JOB_PLACED) | JOB_BIT(JOB_RUNNING) };
	const struct share_policy *policy = NULL;
	const struct config *config;
	const struct job **q;
	struct job *jobs, *running;
	struct shares s;
	size_t n, n_running, *waits;
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc == BERTH_OK)
		rc = shares_read(config->root, ctx->arena, &policy, err);
	if (rc == BERTH_OK && policy == NULL)
		return err_set(err, BERTH_ENOTFOUND,
		    "berth.yaml has no fair_share: say `fair_share: {half_life: 7d}` there, with "
		    "weights if shares are not equal, see berth.yaml(5)");
	if (rc == BERTH_OK)
		rc = store_job_list(ctx->store, &queued, ctx->arena, &jobs, &n, err);
	if (rc == BERTH_OK)
		rc = store_job_list(ctx->store, &held, ctx->arena, &running, &n_running, err);
	if (rc != BERTH_OK)
		return rc;
	q = arena_array(ctx->arena, n, sizeof(*q));
	for (size_t i = 0; i < n; i++)
		q[i] = &jobs[i];
	rc = shares_load(
	    ctx->store, policy, ctx->now, q, n, running, n_running, ctx->arena, &s, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx)) {
		shares_json(cmd_json_begin(ctx, "berth.shares/1"), &s);
		return cmd_json_end(ctx, err);
	}
	waits = arena_array(ctx->arena, s.n, sizeof(*waits));
	for (size_t i = 0; i < n; i++)
		waits[shares_owner(&s, q[i])]++;
	return jobs_shares_table(ctx, &s, waits, err);
}

static enum berth_code
jobs_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct jobs_opts *o = ctx->opts;
	struct job_query q = {
		.user = o->user, .project = o->project, .since = o->since, .limit = (size_t)o->limit
	};
	size_t n, n_nodes = 0, k = 0, hidden = 0;
	struct job_nodes *nodes = NULL;
	enum berth_code rc;
	struct job *jobs;
	struct jsonw *w;

	if (o->shares)
		return jobs_shares(ctx, err);
	rc = jobs_states(&o->state, &q.states, err);
	if (rc == BERTH_OK)
		rc = store_job_list(ctx->store, &q, ctx->arena, &jobs, &n, err);
	if (rc == BERTH_OK)
		rc = store_job_nodes(ctx->store, NULL, ctx->arena, &nodes, &n_nodes, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		bool old = jobs[i].finished != 0 && jobs[i].finished < ctx->now - 86400;

		if (old && !o->all && o->state.n == 0 && o->since == 0)
			hidden++;
		else
			jobs[k++] = jobs[i];
	}
	if (!cmd_wants_json(ctx)) {
		rc = jobs_table(ctx, jobs, k, nodes, n_nodes, err);
		if (rc == BERTH_OK && hidden > 0)
			cmd_note(
			    ctx, "%zu jobs ended more than a day ago: --all shows them", hidden);
		return rc;
	}
	w = cmd_json_begin(ctx, "berth.jobs/1");
	jsonw_begin_array(w, "jobs");
	for (size_t i = 0; i < k; i++) {
		jsonw_begin_object(w, NULL);
		jobshow_keys(w, &jobs[i], jobshow_nodes(nodes, n_nodes, jobs[i].id), ctx->now);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}
