#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/replay/cloud.h"
#include "util/arena.h"
#include "util/str.h"

/*
 * A job works for interval_s, then writes a checkpoint for write_s in which no work is done, and so on; what lies
 * before a finished write is safe. Share of the whole work done in elapsed_s behind the restart.
 */
struct work {
	double done, safe;	/* s of work on this machine */
};

static struct work
work_after(const struct cloud_job *j, double elapsed_s)
{
	double cycle = (double)(j->interval_s + j->write_s), full, rest;

	if (elapsed_s <= 0)
		return (struct work){ 0, 0 };
	if (j->interval_s <= 0)
		return (struct work){ elapsed_s, 0 };
	full = floor(elapsed_s / cycle);
	rest = elapsed_s - full * cycle;
	return (struct work){ full * (double)j->interval_s + fmin(rest, (double)j->interval_s),
		full * (double)j->interval_s };
}

/* Seconds from the first second of work to the last, writes between included. */
static double
work_length(const struct cloud_job *j, double need_s)
{
	double writes = j->interval_s > 0 ? ceil(need_s / (double)j->interval_s) - 1 : 0;

	return need_s + fmax(0, writes) * (double)j->write_s;
}

bool
cloud_job_start(struct cloud *c, size_t machine, const struct prov_job *job)
{
	struct cloud_machine *m = &c->machines.v[machine];
	struct prov_run run;

	if (cloud_ended(c, m, NULL) != 0 || m->ended != 0)
		return false;
	if (m->job.id != NULL) {
		cloud_job_state(c, m, &run);
		if (run.state == PROV_RUN_WAITING || run.state == PROV_RUN_RUNNING || run.state == PROV_RUN_DONE) {
			if (str_eq(m->job.id, job->job_id))
				return true;
			if (run.state != PROV_RUN_DONE)
				return false;
		}
	}
	m->job = (struct cloud_job){
		.id = arena_strdup(c->arena, job->job_id), .work_hours = job->work_hours, .progress = job->progress,
		.interval_s = job->checkpoint_interval_s, .write_s = job->checkpoint_write_s, .restart_s = job->restart_s,
		.asked = c->clock,
	};
	return true;
}

void
cloud_job_stop(struct cloud *c, size_t machine)
{
	struct cloud_job *j = &c->machines.v[machine].job;

	if (j->stopped == 0)
		j->stopped = c->clock;
}

/* How far it came, if it was let run until t. */
static void
work_shares(const struct cloud_machine *m, int64_t begin, int64_t t, struct prov_run *out)
{
	const struct cloud_job *j = &m->job;
	double whole_s = j->work_hours * 3600 / m->speed, need_s = whole_s * (1 - j->progress);
	struct work w = work_after(j, (double)(t - begin));
	int64_t end = begin + (int64_t)ceil(work_length(j, need_s));

	if (t >= end) {
		out->state = PROV_RUN_DONE;
		out->progress = out->safe_progress = 1;
		out->ended = end;
		return;
	}
	out->progress = fmin(1, j->progress + fmin(w.done, need_s) / whole_s);
	out->safe_progress = fmin(out->progress, j->progress + fmin(w.safe, need_s) / whole_s);
}

/* A stop writes a checkpoint of its own, if the job writes any and there is time for it. */
static void
work_stopped(const struct cloud_machine *m, struct prov_run *out)
{
	const struct cloud_job *j = &m->job;

	out->state = PROV_RUN_STOPPED;
	out->ended = j->stopped;
	if (j->interval_s > 0 && (m->reclaim_at == 0 || j->stopped + j->write_s <= m->reclaim_at))
		out->safe_progress = out->progress;
}

void
cloud_job_state(const struct cloud *c, const struct cloud_machine *m, struct prov_run *out)
{
	const struct cloud_job *j = &m->job;
	int64_t up = j->asked > m->ready_at ? j->asked : m->ready_at, begin, until = c->clock;
	int64_t gone = cloud_ended(c, m, NULL);

	memset(out, 0, sizeof(*out));
	begin = up + (j->progress > 0 ? j->restart_s : 0);
	if (j->stopped != 0 && j->stopped < until)
		until = j->stopped;
	if (gone != 0 && gone < until)
		until = gone;
	out->state = until < begin ? PROV_RUN_WAITING : PROV_RUN_RUNNING;
	out->started = until < begin ? 0 : begin;
	if (m->notice_at != 0 && m->notice_at <= c->clock) {
		out->notice_at = m->notice_at;
		out->reclaim_at = m->reclaim_at;
	}
	if ((m->broken || m->fails) && until >= begin) {
		*out = (struct prov_run){ .state = PROV_RUN_FAILED, .progress = j->progress, .safe_progress = j->progress,
			.started = begin, .ended = begin, .exit_status = 70 };
		str_copy(out->detail, sizeof(out->detail), "the accelerator answers with wrong results");
		return;
	}
	work_shares(m, begin, until, out);
	if (out->state == PROV_RUN_DONE)
		return;
	if (j->stopped != 0 && j->stopped <= until) {
		work_stopped(m, out);
		return;
	}
	if (gone != 0) {
		out->state = PROV_RUN_LOST;
		out->ended = gone;
		str_copy(out->detail, sizeof(out->detail), "the machine went away");
	}
}
