/* watch: running jobs, their progress, notices and ends; start: jobs onto machines that passed
 * their probe. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/gang.h"
#include "broker/idling.h"
#include "broker/late.h"
#include "broker/runner.h"
#include "model/accel.h"
#include "store/job_rows.h"

static enum berth_code
watch_end(struct broker *b, struct job *job, struct instance *in, const struct attempt_end *end,
    const char *release, struct berth_err *err)
{
	enum berth_code rc;

	rc = job_attempt_end(b, job->id, in->id, end, err);
	return rc == BERTH_OK ? machine_release(b, in, release, err) : rc;
}

static enum berth_code
watch_progress(struct broker *b, struct job *job, const struct prov_run *run, struct berth_err *err)
{
	double safe = fmax(job->progress, fmin(run->safe_progress, 1));
	const char *reason;

	reason = arena_printf(b->tick_arena, "running, %.0f %% done", 100.0 * run->progress);
	late_pace(b, job->id, run->progress, strcmp(reason, job->reason) != 0);
	if (safe <= job->progress && strcmp(reason, job->reason) == 0)
		return BERTH_OK;
	job->progress = safe;
	job->reason = reason;
	return store_job_update(b->store, job, JOB_BIT(JOB_RUNNING), err);
}

static enum berth_code
watch_taken(struct broker *b, struct job *job, struct instance *in, const struct attempt_end *end,
    struct berth_err *err)
{
	enum berth_code rc;

	rc = broker_preempted(b, in, err);
	return rc == BERTH_OK ? watch_end(b, job, in, end, "preempted", err) : rc;
}

/* Taken back soon: the last checkpoint is written if it fits, and the job goes back to the queue at
 * once. */
static enum berth_code
watch_noticed(struct broker *b, struct job *job, struct instance *in, const struct gang *g,
    const struct prov_run *run, struct berth_err *err)
{
	int64_t until = run->reclaim_at != 0 ? run->reclaim_at : in->reclaim_at,
		left = until > b->now ? until - b->now : 0;
	struct attempt_end end = { .state = ATTEMPT_PREEMPTED,
		.progress = fmax(job->progress, run->safe_progress),
		.alone = true };
	struct prov_run stopped = *run;
	struct berth_err why;
	const char *what = "no checkpoint can be written any more";

	if (job->spec.can_resume && job->spec.checkpoint_write_s <= left) {
		if ((g->n > 0 ? gang_stop(b, job, g, &stopped, &why)
			      : runner_stop(b, in, job, 0, &stopped, &why)) == BERTH_OK) {
			end.progress = fmax(end.progress, stopped.safe_progress);
			what = "a last checkpoint was written";
		}
	}
	end.progress = job->spec.can_resume ? fmin(end.progress, 1) : 0;
	end.reason = arena_printf(b->tick_arena, "%s in %s is taken back in %" PRId64 " s: %s",
	    in->offer.instance_type, in->offer.zone[0] != '\0' ? in->offer.zone : in->offer.region,
	    left, what);
	return watch_taken(b, job, in, &end, err);
}

static enum berth_code
watch_failed(struct broker *b, struct job *job, struct instance *in, const struct prov_run *run,
    struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_FAILED, .counts = true };

	end.progress = job->spec.can_resume ? fmax(job->progress, run->safe_progress) : 0;
	end.reason = arena_printf(b->tick_arena, "the job ended with status %d%s%s",
	    run->exit_status, run->detail[0] != '\0' ? ": " : "", run->detail);
	b->counts.failed++;
	return watch_end(b, job, in, &end, "job_failed", err);
}

static enum berth_code
watch_done(struct broker *b, struct job *job, struct instance *in, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_DONE, .progress = 1, .reason = "done" };

	b->counts.finished++;
	if (job->spec.deadline > 0 && b->now > job->spec.deadline)
		end.reason = arena_printf(b->tick_arena, "done, %" PRId64 " min after its deadline",
		    (b->now - job->spec.deadline + 59) / 60);
	return watch_end(b, job, in, &end, "released", err);
}

enum berth_code
watch_poll(struct broker *b, const struct job *job, const struct instance *in, int rank,
    int64_t interval_s, struct prov_run *run_out, struct berth_err *err)
{
	struct berth_err own;
	enum berth_code rc = runner_poll(b, in, job, rank, interval_s, run_out, err),
			kept = rc == BERTH_OK || rc == BERTH_ENOTFOUND
				   ? silent_heard(b, in, job->id, &own)
				   : silent_unheard(b, in, job->id,
					 "nothing is done about it, and its work may have ended",
					 err->msg, &own);

	if (kept == BERTH_OK)
		return rc;
	*err = own;
	return kept;
}

/* What the machine says of the job, or all of a gang: then in_out becomes the one that decides. */
static enum berth_code
watch_ask(struct broker *b, const struct job *job, struct gang *g, struct instance **in_out,
    struct prov_run *run, struct berth_err *why)
{
	enum berth_code rc;
	int64_t interval;
	size_t who = 0;

	if (g->n > 0) {
		rc = gang_poll(b, job, g, run, &who, why);
		*in_out = &g->m[who].in;
		return rc;
	}
	rc = broker_interval(b, job, *in_out, 1, &interval, why);
	if (rc == BERTH_OK)
		rc = watch_poll(b, job, *in_out, 0, interval, run, why);
	return rc == BERTH_OK ? broker_interval_keep(b, job, *in_out, 1, interval, why) : rc;
}

/* A machine of the gang that is to be taken back, whoever has said so. */
static struct instance *
watch_reclaimed(const struct gang *g, struct instance *in, const struct prov_run *run)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->m[i].in.state == INSTANCE_NOTICED)
			return &g->m[i].in;
	return in->state == INSTANCE_NOTICED || run->reclaim_at != 0 ? in : NULL;
}

/* Would its machines have cost more than its max_cost when the next tick looks? */
static bool
watch_dear(
    const struct broker *b, const struct job *job, const struct instance *in, const struct gang *g)
{
	double usd = usd_to_double(job->cost);

	if (!usd_known(job->spec.max_cost) || !usd_known(job->cost))
		return false;
	for (size_t i = 0; i < (g->n > 0 ? g->n : 1); i++) {
		const struct instance *m = g->n > 0 ? &g->m[i].in : in;
		struct usd_micro then;

		if (!usd_known(m->offer.price) || m->state == INSTANCE_GONE ||
		    offer_cost(&m->offer, m->created, b->now + b->tick_s, &then, NULL) != BERTH_OK)
			continue;
		usd += usd_to_double(then) - usd_to_double(m->cost);
	}
	return usd > usd_to_double(job->spec.max_cost) * (1 + 1e-12) &&
	       usd > usd_to_double(job->spec.max_cost) + 4e-7;
}

/* It goes back to the queue with what is done, and on only if the rest fits. */
static enum berth_code
watch_spent(struct broker *b, struct job *job, struct instance *in, const struct gang *g,
    const struct prov_run *run, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_FAILED,
		.progress = fmax(job->progress, run->safe_progress) };
	struct prov_run stopped = *run;
	const char *what = "";
	char cap[USD_FMT_SIZE];
	struct berth_err why;
	enum berth_code rc;

	if ((g->n > 0 ? gang_stop(b, job, g, &stopped, &why)
		      : runner_stop(b, in, job, 0, &stopped, &why)) == BERTH_OK &&
	    job->spec.can_resume) {
		end.progress = fmax(end.progress, stopped.safe_progress);
		what = ", after a last checkpoint";
	}
	end.progress = job->spec.can_resume ? fmin(end.progress, 1) : 0;
	end.reason = arena_printf(b->tick_arena,
	    "stopped%s: by the next tick it would have cost more than its max_cost of %s USD", what,
	    usd_fmt(cap, sizeof(cap), job->spec.max_cost, 2));
	rc = broker_event(b, err, "budget.reached", job->id, job->id, in, "%s", end.reason);
	return rc == BERTH_OK ? watch_end(b, job, in, &end, "max_cost", err) : rc;
}

/* Its accelerators did nothing for too long: it gets a last checkpoint as before a preemption, and
 * does not ask again. One that cannot be reached is left as it is. */
static enum berth_code
watch_idle(struct broker *b, struct job *job, struct instance *in, const struct gang *g,
    const struct prov_run *run, const char *why, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_CANCELLED, .over = true };
	struct prov_run stopped = *run;
	struct berth_err said;
	enum berth_code rc = g->n > 0 ? gang_stop(b, job, g, &stopped, &said)
				      : runner_stop(b, in, job, 0, &stopped, &said);

	if (rc != BERTH_OK && g->n == 0) {
		b->counts.errors++;
		log_warn(b->log, "%s is idle, and cannot be ended: %s", job->id, said.msg);
		return BERTH_OK;
	}
	if (rc == BERTH_OK && stopped.state == PROV_RUN_DONE)
		return watch_done(b, job, in, err);
	end.progress = !job->spec.can_resume ? 0
		       : rc == BERTH_OK      ? fmax(job->progress, fmin(stopped.safe_progress, 1))
					     : job->progress;
	end.reason =
	    arena_printf(b->tick_arena, "idle: %s; stopped%s, and berth job retry queues it again",
		why, job->spec.can_resume && rc == BERTH_OK ? " after a last checkpoint" : "");
	rc = idling_ended(b, job, g->n > 0 ? &g->m[0].in : in, end.reason, err);
	b->counts.idled += rc == BERTH_OK;
	return rc == BERTH_OK ? watch_end(b, job, in, &end, "idle", err) : rc;
}

static enum berth_code
watch_running(struct broker *b, struct job *job, struct instance *in, const struct gang *g,
    const struct prov_run *run, struct berth_err *err)
{
	struct instance *taken = watch_reclaimed(g, in, run);
	const char *why = NULL;
	enum berth_code rc = BERTH_OK;

	if (taken != NULL)
		return watch_noticed(b, job, taken, g, run, err);
	if (watch_dear(b, job, in, g))
		return watch_spent(b, job, in, g, run, err);
	if (run->state == PROV_RUN_RUNNING)
		rc = idling_watch(b, job, g->n > 0 ? &g->m[0].in : in, run, &why, err);
	if (rc != BERTH_OK)
		return rc;
	if (why != NULL)
		return watch_idle(b, job, in, g, run, why, err);
	return job->spec.can_resume ? watch_progress(b, job, run, err) : BERTH_OK;
}

static enum berth_code
watch_job(
    struct broker *b, struct job *job, struct instance *in, struct gang *g, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_FAILED, .progress = job->progress };
	struct instance *taken;
	struct berth_err why;
	struct prov_run run;
	enum berth_code rc = late_missed_open(b, job, in, err);

	if (rc != BERTH_OK)
		return rc;
	rc = watch_ask(b, job, g, &in, &run, &why);
	if (rc == BERTH_ENOTFOUND) {
		end.alone = true;
		end.reason = "the machine no longer knows the job";
		return watch_end(b, job, in, &end, "lost", err);
	}
	if (rc != BERTH_OK) { /* no answer changes nothing */
		b->counts.errors++;
		log_warn(b->log, "%s: %s", job->id, why.msg);
		return BERTH_OK;
	}
	switch (run.state) {
	case PROV_RUN_DONE:
		return watch_done(b, job, in, err);
	case PROV_RUN_FAILED:
		return watch_failed(b, job, in, &run, err);
	case PROV_RUN_LOST:
		end.state = ATTEMPT_PREEMPTED;
		end.alone = true;
		end.progress = job->spec.can_resume ? fmax(job->progress, run.safe_progress) : 0;
		end.reason = "the machine went away under it";
		return watch_taken(b, job, in, &end, err);
	case PROV_RUN_STOPPED:
		taken = watch_reclaimed(g, in, &run);
		if (taken != NULL) /* by a tick that did not come to its end */
			return watch_noticed(b, job, taken, g, &run, err);
		end.reason = "stopped";
		end.progress = job->spec.can_resume ? fmax(job->progress, run.safe_progress) : 0;
		return watch_end(b, job, in, &end, "released", err);
	case PROV_RUN_WAITING:
	case PROV_RUN_RUNNING:
		return watch_running(b, job, in, g, &run, err);
	case PROV_RUN_STATE_COUNT:
		break;
	}
	return err_set(err, BERTH_EFAIL, "job %s has no run state", job->id);
}

enum berth_code
pass_watch(struct broker *b, struct berth_err *err)
{
	unsigned up = INSTANCE_BIT(INSTANCE_READY) | INSTANCE_BIT(INSTANCE_NOTICED);
	struct instance *ins;
	enum berth_code rc;
	struct job job;
	size_t n;

	rc = store_instance_list(b->store, up, b->tick_arena, &ins, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct gang g = { .n = 0 };

		if (ins[i].job_id[0] == '\0')
			continue;
		rc = store_job_get(b->store, ins[i].job_id, b->tick_arena, &job, err);
		if (rc != BERTH_OK || job.state != JOB_RUNNING)
			continue;
		if (gang_may(&job))
			rc = gang_load(b, ins[i].intent_id, job.id, &g, err);
		if (rc == BERTH_OK &&
		    (g.n == 0 || (g.m[0].in.id == ins[i].id &&
				     g.open == g.n))) /* all ranks with the first */
			rc = watch_job(b, &job, &ins[i], &g, err);
	}
	return rc;
}

/* Hours of the whole work on this machine, as the accelerator table rates it. */
static double
start_work_hours(const struct broker *b, const struct job *job, const struct offer *o)
{
	struct placing_work work;

	placing_work(b->accels, &job->spec, o, &work);
	return work.hours;
}

/* at: the attempt of the machine, or [g->n] of all of the gang. */
static enum berth_code
start_rows(struct broker *b, struct job *job, struct attempt *at, const struct instance *in,
    const struct gang *g, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < g->n && rc == BERTH_OK; i++) {
		g->m[i].at.state = ATTEMPT_RUNNING;
		rc = store_attempt_update(b->store, &g->m[i].at, err);
	}
	if (g->n == 0) {
		at->state = ATTEMPT_RUNNING;
		rc = store_attempt_update(b->store, at, err);
	}
	if (rc == BERTH_OK)
		rc = egress_book(b, job, in, g, err);
	if (rc != BERTH_OK)
		return rc;
	job->state = JOB_RUNNING;
	if (job->started == 0)
		job->started = b->now;
	job->reason = job->progress > 0 ? arena_printf(b->tick_arena, "running again from %.0f %%",
					      100 * job->progress)
					: "running";
	return store_job_update(b->store, job, JOB_BIT(JOB_PLACED), err);
}

static enum berth_code
start_commit(struct broker *b, struct job *job, struct attempt *at, const struct gang *g,
    const struct instance *in, struct berth_err *err)
{
	const char *count = g->n > 0 ? arena_printf(b->tick_arena, "%zu x ", g->n) : "";
	enum berth_code rc;

	rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = start_rows(b, job, at, in, g, err);
	if (rc == BERTH_OK)
		rc = broker_event(b, err, "job.started", job->id, job->id, in, "%s on %s%s in %s",
		    job->reason, count, in->offer.instance_type, in->offer.region);
	if (rc != BERTH_OK) {
		store_rollback(b->store);
		return rc;
	}
	b->counts.started++;
	return store_commit(b->store, err);
}

/* One rank is told its place; a machine that does not take it counts as silent. */
static enum berth_code
start_rank(struct broker *b, const struct job *job, const struct instance *at, struct prov_job *pj,
    bool *started_out, struct berth_err *err)
{
	struct berth_err why;
	struct prov_run run;

	*started_out = runner_start(b, at, job, pj, &run, &why) == BERTH_OK;
	if (*started_out)
		return silent_heard(b, at, job->id, err);
	b->counts.errors++;
	log_warn(b->log, "%s does not start on instance %" PRId64 ": %s", job->id, at->id, why.msg);
	return silent_unheard(
	    b, at, job->id, "its work is started as soon as it answers", why.msg, err);
}

/* Each rank is told its place; a start that was made before is not made twice. */
static enum berth_code
start_run(struct broker *b, const struct job *job, const struct instance *in, struct prov_job *pj,
    const struct gang *g, bool *started_out, struct berth_err *err)
{
	enum berth_code rc =
	    broker_interval(b, job, in, g->n > 0 ? (int)g->n : 1, &pj->checkpoint_interval_s, err);

	*started_out = rc == BERTH_OK;
	for (size_t i = 0; rc == BERTH_OK && *started_out && i < (g->n > 0 ? g->n : 1); i++) {
		const struct instance *at = g->n > 0 ? &g->m[i].in : in;

		pj->rank = (int)i;
		pj->attempt = g->n > 0 ? g->m[i].at.id : pj->attempt;
		rc = start_rank(b, job, at, pj, started_out, err);
	}
	if (rc == BERTH_OK && *started_out)
		rc = broker_interval_keep(
		    b, job, in, g->n > 0 ? (int)g->n : 1, pj->checkpoint_interval_s, err);
	return rc; /* tried again at the next tick; of one that stays deaf refill and sync see */
}

static enum berth_code
start_job(struct broker *b, struct instance *in, struct berth_err *err)
{
	struct gang g = { .n = 0 };
	struct prov_job pj;
	struct attempt at;
	enum berth_code rc;
	struct job job;
	bool started;

	rc = store_job_get(b->store, in->job_id, b->tick_arena, &job, err);
	if (rc != BERTH_OK || job.state != JOB_PLACED)
		return rc;
	rc = job_attempt_open(b, job.id, in->id, &at, err);
	if (rc == BERTH_OK && gang_may(&job))
		rc = gang_load(b, in->intent_id, job.id, &g, err);
	if (rc != BERTH_OK)
		return rc == BERTH_ENOTFOUND ? BERTH_OK : rc;
	if (g.n > 0 && (g.m[0].in.id != in->id || !gang_ready(&g)))
		return BERTH_OK;
	pj = (struct prov_job){ .job_id = job.id,
		.attempt = at.id,
		.work_hours = start_work_hours(b, &job, &in->offer),
		.progress = job.progress,
		.checkpoint_write_s = job.spec.checkpoint_write_s,
		.restart_s = job.progress > 0 ? job.spec.restart_s : 0,
		.command = job.spec.run,
		.nodes = (int)g.n,
		.gpus = in->offer.accelerator_count };
	if (g.n > 0)
		pj.hosts = gang_hosts(&g, b->tick_arena);
	rc = start_run(b, &job, in, &pj, &g, &started, err);
	return rc == BERTH_OK && started ? start_commit(b, &job, &at, &g, in, err) : rc;
}

enum berth_code
pass_start(struct broker *b, struct berth_err *err)
{
	struct instance *ins;
	enum berth_code rc;
	size_t n;

	rc = move_before_start(b, err);
	if (rc == BERTH_OK)
		rc = store_instance_list(
		    b->store, INSTANCE_BIT(INSTANCE_READY), b->tick_arena, &ins, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (ins[i].job_id[0] != '\0' && ins[i].verdict[0] != '\0')
			rc = start_job(b, &ins[i], err);
	}
	return rc;
}
