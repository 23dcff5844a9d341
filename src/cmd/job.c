#include <stdio.h>
#include <string.h>

#include "broker/idling.h"
#include "cmd/cmd.h"
#include "cmd/config.h"
#include "cmd/jobshow.h"
#include "store/event_rows.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"

static enum berth_code job_show(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code job_cancel(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code job_retry(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code job_deadline(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd job_subs[] = {
	{ .name = "show",
	    .summary = "one job with its attempts and events",
	    .args = "JOB",
	    .flags = CMD_STORE_RO | CMD_NO_ROWS,
	    .args_min = 1,
	    .args_max = 1,
	    .run = job_show },
	{ .name = "cancel",
	    .summary = "take jobs out of the queue, or end them",
	    .args = "JOB ...",
	    .flags = CMD_STORE_RW | CMD_NO_ROWS,
	    .args_min = 1,
	    .args_max = -1,
	    .run = job_cancel },
	{ .name = "retry",
	    .summary = "queue jobs again that failed or were cancelled",
	    .args = "JOB ...",
	    .flags = CMD_STORE_RW | CMD_NO_ROWS,
	    .args_min = 1,
	    .args_max = -1,
	    .run = job_retry },
	{ .name = "deadline",
	    .summary = "give a job that has not ended another deadline, or none",
	    .args = "JOB TIME|none",
	    .flags = CMD_STORE_RW | CMD_NO_ROWS,
	    .args_min = 2,
	    .args_max = 2,
	    .run = job_deadline },
	{ 0 },
};

const struct cmd cmd_job = {
	.name = "job",
	.summary = "show, cancel or retry one job, or change its deadline",
	.args = "JOB",
	.flags = CMD_STORE_RO | CMD_NO_ROWS,
	.args_min = 1,
	.args_max = 1,
	.run = job_show,
	.subs = job_subs,
};

struct job_view {
	struct job job;
	struct job_nodes *nodes; /* [n_nodes] 1; 0: it holds no machine */
	size_t n_nodes;
	struct attempt *attempts;
	struct instance *machines; /* [n_attempts]; id 0 where the row is gone */
	size_t n_attempts;
	struct event *events;
	size_t n_events;
	struct idle_rule rule;  /* by which it would be ended as idle */
	struct idle_state idle; /* since 0: it is not */
};

/* Whether its accelerators work, as the last tick saw them. */
static enum berth_code
job_view_idle(struct cmd_ctx *ctx, struct job_view *v, struct berth_err *err)
{
	const struct attempt *last = v->n_attempts > 0 ? &v->attempts[v->n_attempts - 1] : NULL;
	const struct config *config;
	struct idle_rule rule;
	struct idling_row row;
	bool replica = false;
	enum berth_code rc = BERTH_OK;

	for (size_t i = v->n_attempts; i-- > 0;) /* of a gang the first is kept */
		if (v->attempts[i].ended == 0)
			last = &v->attempts[i];
	if (v->job.state != JOB_RUNNING || last == NULL)
		return BERTH_OK;
	rc = cmd_config(ctx, &config, err);
	if (rc == BERTH_OK)
		rc = idling_read(config->root, &rule, err);
	if (rc == BERTH_OK)
		rc = store_idling_get(ctx->store, v->job.id, last->instance_id, &row, err);
	if (rc != BERTH_OK)
		return rc;
	idling_rule(&rule, &v->job.spec, &v->rule);
	idling_state(&row, &v->idle);
	rc = idling_replica(ctx->store, ctx->arena, v->job.id, &replica, err);
	if (replica)
		v->rule.stop_s = 0;
	return rc;
}

static enum berth_code
job_view_load(struct cmd_ctx *ctx, const char *id, struct job_view *v, struct berth_err *err)
{
	struct event_query q = { 0 };
	enum berth_code rc;

	rc = store_job_get(ctx->store, id, ctx->arena, &v->job, err);
	if (rc == BERTH_ENOTFOUND)
		cmd_next_step(ctx, "berth jobs --all lists every job");
	if (rc == BERTH_OK)
		rc = store_attempt_list(
		    ctx->store, v->job.id, ctx->arena, &v->attempts, &v->n_attempts, err);
	if (rc == BERTH_OK)
		rc =
		    store_job_nodes(ctx->store, v->job.id, ctx->arena, &v->nodes, &v->n_nodes, err);
	if (rc != BERTH_OK)
		return rc;
	v->machines = arena_array_of(ctx->arena, v->n_attempts, struct instance);
	for (size_t i = 0; i < v->n_attempts; i++) {
		rc = store_instance_get(
		    ctx->store, v->attempts[i].instance_id, ctx->arena, &v->machines[i], err);
		if (rc != BERTH_OK && rc != BERTH_ENOTFOUND)
			return rc;
	}
	if ((rc = job_view_idle(ctx, v, err)) != BERTH_OK)
		return rc;
	q.subject = v->job.id;
	return store_event_list(ctx->store, &q, ctx->arena, &v->events, &v->n_events, err);
}

static enum berth_code
job_json(struct cmd_ctx *ctx, const struct job_view *v, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.job/1");

	jobshow_keys(w, &v->job, v->n_nodes > 0 ? v->nodes : NULL, ctx->now);
	jsonw_str_or_null(w, "run", v->job.spec.run);
	if (v->idle.since > 0) {
		jsonw_begin_object(w, "idle");
		jsonw_time(w, "since", v->idle.since);
		jsonw_double(w, "busy", v->idle.busy);
		jsonw_time_or_null(w, "alert_at", idle_alert_at(&v->rule, &v->idle));
		jsonw_time_or_null(w, "stop_at", idle_stop_at(&v->rule, &v->idle));
		jsonw_end_object(w);
	} else {
		jsonw_null(w, "idle");
	}
	jsonw_begin_array(w, "attempts");
	for (size_t i = 0; i < v->n_attempts; i++) {
		const struct attempt *a = &v->attempts[i];
		const struct instance *in = &v->machines[i];

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "state", attempt_state_name(a->state));
		jsonw_int(w, "instance", a->instance_id);
		if (in->id != 0) {
			jsonw_str(w, "account", in->account);
			jsonw_str(w, "provider", in->offer.provider);
			jsonw_str(w, "region", in->offer.region);
			jsonw_str_or_null(w, "zone", in->offer.zone);
			jsonw_str(w, "instance_type", in->offer.instance_type);
			jsonw_str(w, "purchase", purchase_name(in->offer.purchase));
			jsonw_money(w, "price_per_hour", offer_hour(&in->offer, ctx->now));
			jsonw_time_or_null(w, "paid_until", in->offer.paid_until);
			jsonw_money(w, "cost", in->cost);
			jsonw_str_or_null(w, "verdict", in->verdict);
			jsonw_double(w, "speed", in->speed);
		}
		jsonw_time(w, "started", a->started);
		jsonw_time_or_null(w, "ended", a->ended);
		jsonw_fixed(w, "progress_start", a->progress_start, 4);
		jsonw_fixed(w, "progress_end", a->progress_end, 4);
		jsonw_str_or_null(w, "reason", a->reason);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "events");
	for (size_t i = 0; i < v->n_events; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_time(w, "time", v->events[i].t);
		jsonw_str(w, "type", v->events[i].type);
		jsonw_str_or_null(w, "message", jobshow_message(v->events[i].data, ctx->arena));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static void
job_say_idle(struct cmd_ctx *ctx, const struct job_view *v)
{
	int64_t stop = idle_stop_at(&v->rule, &v->idle);
	char t[TIME_FMT_SIZE], at[TIME_FMT_SIZE];

	if (v->idle.since == 0)
		return;
	cmd_say(ctx, "  idle       since %s, its accelerators work %.3g %% of the time: %s%s\n",
	    time_fmt(t, v->idle.since), 100 * v->idle.busy,
	    stop > 0 ? "it is ended at " : "nothing ends it", stop > 0 ? time_fmt(at, stop) : "");
}

static void
job_say_head(struct cmd_ctx *ctx, const struct job_view *v)
{
	const struct job *j = &v->job;
	char t[TIME_FMT_SIZE], usd[USD_FMT_SIZE];

	cmd_say(ctx, "%s  %s\n", j->id, j->spec.name);
	cmd_say(ctx, "  state      %s: %s\n", job_state_name(j->state), j->reason);
	cmd_say(ctx, "  wants      %s, %.4g h of work\n",
	    jobshow_accelerators(&j->spec, ctx->arena), j->spec.work_hours);
	if (v->n_nodes > 0 && v->nodes->wanted > 1)
		cmd_say(ctx, "  machines   %s are up\n", jobshow_nodes_text(v->nodes, ctx->arena));
	cmd_say(ctx, "  progress   %.1f %%, preempted %d times, %d failed tries\n",
	    100 * j->progress, j->preemptions, j->tries);
	cmd_say(ctx, "  submitted  %s by %s\n", time_fmt(t, j->submitted),
	    j->spec.user[0] != '\0' ? j->spec.user : "-");
	if (j->spec.deadline != 0)
		cmd_say(ctx, "  deadline   %s%s\n", time_fmt(t, j->spec.deadline),
		    job_missed(j, ctx->now) ? ", missed" : "");
	cmd_say(ctx, "  cost       $%s\n", usd_fmt(usd, sizeof(usd), j->cost, 2));
}

static enum berth_code
job_tables(struct cmd_ctx *ctx, const struct job_view *v, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "instance", NULL, TABLE_INT, 0, 0 },
		{ "where", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "purchase", NULL, TABLE_TEXT, 0, 0 },
		{ "price_per_hour", "$/H", TABLE_MONEY, 4, 0 },
		{ "started", NULL, TABLE_TIME, 0, 0 },
		{ "state", NULL, TABLE_TEXT, 0, 0 },
		{ "progress_end", "SAFE", TABLE_SHARE, 1, 0 },
		{ "cost", "COST $", TABLE_MONEY, 2, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	char at[TIME_FMT_SIZE];

	for (size_t i = 0; i < v->n_attempts; i++) {
		const struct instance *in = &v->machines[i];

		table_row(t);
		table_int(t, v->attempts[i].instance_id);
		if (in->id != 0) {
			table_text(
			    t, arena_printf(ctx->arena, "%s %s %s", in->account,
				   in->offer.zone[0] != '\0' ? in->offer.zone : in->offer.region,
				   in->offer.instance_type));
			table_text(t, instance_purchase(in, ctx->now));
			table_money(t, offer_hour(&in->offer, ctx->now));
		} else {
			table_unknown(t);
			table_unknown(t);
			table_unknown(t);
		}
		table_time(t, v->attempts[i].started);
		table_text(t, attempt_state_name(v->attempts[i].state));
		table_double(t, v->attempts[i].progress_end);
		table_money(t, in->id != 0 ? in->cost : USD_UNKNOWN);
	}
	if (v->n_attempts > 0) {
		enum berth_code rc = cmd_table_print(ctx, t, err);

		if (rc != BERTH_OK)
			return rc;
	}
	for (size_t i = 0; i < v->n_events; i++)
		cmd_say(ctx, "%s  %-20s %s\n", time_fmt(at, v->events[i].t), v->events[i].type,
		    jobshow_message(v->events[i].data, ctx->arena));
	return BERTH_OK;
}

static enum berth_code
job_show(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct job_view v = { 0 };
	enum berth_code rc;

	rc = job_view_load(ctx, ctx->args[0], &v, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return job_json(ctx, &v, err);
	job_say_head(ctx, &v);
	job_say_idle(ctx, &v);
	return job_tables(ctx, &v, err);
}

static enum berth_code
job_change(
    struct cmd_ctx *ctx, struct job *job, unsigned from, const char *type, struct berth_err *err)
{
	struct event e = { .t = ctx->now, .type = type, .subject = job->id };
	enum berth_code rc;

	e.data =
	    arena_printf(ctx->arena, "{\"message\":\"%s\",\"job\":\"%s\"}", job->reason, job->id);
	rc = store_begin(ctx->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = store_job_update(ctx->store, job, from, err);
	if (rc == BERTH_OK)
		rc = store_event_append(ctx->store, &e, err);
	if (rc != BERTH_OK) {
		store_rollback(ctx->store);
		return rc;
	}
	return store_commit(ctx->store, err);
}

/* Jobs as they are now, in the form of berth.jobs/1. */
static enum berth_code
job_list_json(struct cmd_ctx *ctx, const struct job *jobs, size_t n, struct berth_err *err)
{
	struct job_nodes *nodes = NULL;
	size_t n_nodes = 0;
	struct jsonw *w;
	enum berth_code rc = store_job_nodes(ctx->store, NULL, ctx->arena, &nodes, &n_nodes, err);

	if (rc != BERTH_OK)
		return rc;
	w = cmd_json_begin(ctx, "berth.jobs/1");
	jsonw_begin_array(w, "jobs");
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		jobshow_keys(w, &jobs[i], jobshow_nodes(nodes, n_nodes, jobs[i].id), ctx->now);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

/* What is to become of each named job; all are looked up before any is changed. */
static enum berth_code
job_each(struct cmd_ctx *ctx, unsigned from, enum job_state to, const char *type,
    const char *reason, struct berth_err *err)
{
	struct job *jobs = arena_array_of(ctx->arena, ctx->n_args, struct job);
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < ctx->n_args; i++) {
		rc = store_job_get(ctx->store, ctx->args[i], ctx->arena, &jobs[i], err);
		if (rc == BERTH_OK && (JOB_BIT(jobs[i].state) & from) == 0)
			rc = err_set(err, BERTH_EINVAL, "%s is %s", jobs[i].id,
			    job_state_name(jobs[i].state));
	}
	for (size_t i = 0; rc == BERTH_OK && i < ctx->n_args; i++) {
		jobs[i].state = to;
		jobs[i].reason = reason;
		jobs[i].finished = to == JOB_CANCELLED ? ctx->now : 0;
		if (to == JOB_QUEUED)
			jobs[i].tries = 0;
		rc = job_change(ctx, &jobs[i], from, type, err);
		if (rc == BERTH_OK)
			cmd_say(ctx, "%s  %s\n", jobs[i].id, job_state_name(to));
	}
	return rc == BERTH_OK && cmd_wants_json(ctx) ? job_list_json(ctx, jobs, ctx->n_args, err)
						     : rc;
}

static enum berth_code
job_cancel(struct cmd_ctx *ctx, struct berth_err *err)
{
	enum berth_code rc;

	rc = job_each(ctx, JOB_OPEN, JOB_CANCELLED, "job.cancelled", "cancelled by the user", err);
	if (rc == BERTH_OK)
		cmd_note(ctx, "its machine, if it has one, is given back by the next tick");
	return rc;
}

static enum berth_code
job_retry(struct cmd_ctx *ctx, struct berth_err *err)
{
	return job_each(ctx, JOB_BIT(JOB_FAILED) | JOB_BIT(JOB_CANCELLED), JOB_QUEUED,
	    "job.requeued", "queued again by the user", err);
}

/* The time that is asked for; 0: none. */
static enum berth_code
job_deadline_read(struct cmd_ctx *ctx, const char *text, int64_t *t_out, struct berth_err *err)
{
	enum berth_code rc;

	*t_out = 0;
	if (strcmp(text, "none") == 0)
		return BERTH_OK;
	rc = time_parse(text, ctx->now, NULL, 0, t_out, err);
	if (rc == BERTH_OK && *t_out < ctx->now)
		rc = err_set(err, BERTH_EINVAL, "%s lies in the past", text);
	if (rc != BERTH_OK) {
		cmd_next_step(ctx, "a deadline is a time with its zone, +36h from now, or none");
		return err_at(err, "the deadline");
	}
	return BERTH_OK;
}

/* What was told of the old deadline in the row, and the event, are one. */
static enum berth_code
job_deadline_write(
    struct cmd_ctx *ctx, const struct job *job, int64_t by, const char *said, struct berth_err *err)
{
	struct event e = { .t = ctx->now, .type = "job.deadline_changed", .subject = job->id };
	enum berth_code rc = store_begin(ctx->store, err);

	if (rc != BERTH_OK)
		return rc;
	e.data = arena_printf(ctx->arena, "{\"message\":\"%s\",\"job\":\"%s\"}", said, job->id);
	rc = store_job_deadline(ctx->store, job->id, by, err);
	if (rc == BERTH_OK)
		rc = store_event_append(ctx->store, &e, err);
	if (rc == BERTH_OK)
		return store_commit(ctx->store, err);
	store_rollback(ctx->store);
	return rc;
}

static enum berth_code
job_deadline(struct cmd_ctx *ctx, struct berth_err *err)
{
	char was[TIME_FMT_SIZE] = "none", is[TIME_FMT_SIZE] = "none";
	struct job job;
	int64_t by;
	enum berth_code rc = job_deadline_read(ctx, ctx->args[1], &by, err);

	if (rc == BERTH_OK)
		rc = store_job_get(ctx->store, ctx->args[0], ctx->arena, &job, err);
	if (rc == BERTH_ENOTFOUND)
		cmd_next_step(ctx, "berth jobs --all lists every job");
	if (rc != BERTH_OK)
		return rc;
	if (job.spec.deadline != 0)
		time_fmt(was, job.spec.deadline);
	if (by != 0)
		time_fmt(is, by);
	rc = job_deadline_write(ctx, &job, by,
	    arena_printf(ctx->arena, "its deadline is %s by now; it was %s", is, was), err);
	if (rc == BERTH_OK)
		rc = store_job_get(ctx->store, job.id, ctx->arena, &job, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx)) {
		cmd_say(ctx, "%s%s  deadline %s, before %s\n", ctx->dry_run ? "dry run: " : "",
		    job.id, is, was);
		return BERTH_OK;
	}
	return job_list_json(ctx, &job, 1, err);
}
