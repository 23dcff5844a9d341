#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/replay/cloud.h"
#include "util/arena.h"
#include "util/str.h"

/*
 * A job works for its interval, then writes a checkpoint for write_s in which no work is done, and
 * so on; what lies before a finished write is safe. It looks for a new interval when it has
 * written.
 */
struct work {
	double done, safe; /* s of work on this machine */
};

/* At one interval, elapsed_s behind a write. */
static struct work
work_stretch(double interval_s, double write_s, double elapsed_s)
{
	double cycle = interval_s + write_s, full;

	if (elapsed_s <= 0)
		return (struct work){ 0, 0 };
	if (interval_s <= 0)
		return (struct work){ elapsed_s, 0 };
	full = floor(elapsed_s / cycle);
	return (struct work){ full * interval_s + fmin(elapsed_s - full * cycle, interval_s),
		full * interval_s };
}

static struct work
work_after(const struct cloud_job *j, int64_t t)
{
	bool next = j->next_at != 0 && t > j->next_at;
	struct work w = work_stretch((double)j->interval_s, (double)j->write_s,
			(double)((next ? j->next_at : t) - j->since)),
		    more;

	w.done += j->since_s;
	w.safe += j->since_s;
	if (!next)
		return w;
	more = work_stretch((double)j->next_s, (double)j->write_s, (double)(t - j->next_at));
	return (struct work){ w.safe + more.done, w.safe + more.safe };
}

/* Seconds from the first second of work to the last, writes between included. */
static double
work_length(double interval_s, double write_s, double need_s)
{
	double writes = interval_s > 0 ? ceil(need_s / interval_s) - 1 : 0;

	return need_s + fmax(0, writes) * write_s;
}

/* When all need_s of work on this machine are done. */
static int64_t
work_end(const struct cloud_job *j, double need_s)
{
	double left = need_s - j->since_s,
	       by_next = j->next_at == 0 ? left : work_after(j, j->next_at).safe - j->since_s;

	if (left <= by_next)
		return j->since +
		       (int64_t)ceil(work_length((double)j->interval_s, (double)j->write_s, left));
	return j->next_at +
	       (int64_t)ceil(work_length((double)j->next_s, (double)j->write_s, left - by_next));
}

/* Its first second of work. */
static int64_t
work_begin(const struct cloud_machine *m)
{
	const struct cloud_job *j = &m->job;

	return (j->asked > m->ready_at ? j->asked : m->ready_at) +
	       (j->progress > 0 ? j->restart_s : 0);
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
		if (run.state == PROV_RUN_WAITING || run.state == PROV_RUN_RUNNING ||
		    run.state == PROV_RUN_DONE) {
			if (str_eq(m->job.id, job->job_id))
				return true;
			if (run.state != PROV_RUN_DONE)
				return false;
		}
	}
	m->job = (struct cloud_job){
		.id = arena_strdup(c->arena, job->job_id),
		.work_hours = job->work_hours,
		.progress = job->progress,
		.interval_s = job->checkpoint_interval_s,
		.write_s = job->checkpoint_write_s,
		.restart_s = job->restart_s,
		.asked = c->clock,
	};
	m->job.since = work_begin(m);
	return true;
}

bool
cloud_job_tell(struct cloud *c, size_t machine, int64_t interval_s)
{
	struct cloud_machine *m = &c->machines.v[machine];
	struct cloud_job *j = &m->job;
	struct prov_run run;
	int64_t cycle, next;

	cloud_job_state(c, m, &run);
	if ((run.state != PROV_RUN_WAITING && run.state != PROV_RUN_RUNNING) ||
	    j->interval_s <= 0 || interval_s <= 0 ||
	    interval_s == (j->next_at != 0 ? j->next_s : j->interval_s))
		return false;
	if (j->next_at != 0 && j->next_at <= c->clock) { /* the one before it is in force */
		j->since_s = work_after(j, j->next_at).safe;
		j->since = j->next_at;
		j->interval_s = j->next_s;
	}
	j->next_s = j->next_at = 0;
	cycle = j->interval_s + j->write_s;
	next = c->clock <= j->since ? j->since
				    : j->since + (c->clock - j->since + cycle - 1) / cycle * cycle;
	if (next == j->since) {
		j->interval_s = interval_s;
	} else if (interval_s != j->interval_s) {
		j->next_s = interval_s;
		j->next_at = next;
	}
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
work_shares(const struct cloud_machine *m, int64_t t, struct prov_run *out)
{
	const struct cloud_job *j = &m->job;
	double whole_s = j->work_hours * 3600 / m->speed, need_s = whole_s * (1 - j->progress);
	struct work w = work_after(j, t);
	int64_t end = work_end(j, need_s);

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
	int64_t begin = work_begin(m), until = c->clock;
	int64_t gone = cloud_ended(c, m, NULL);

	memset(out, 0, sizeof(*out));
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
		*out = (struct prov_run){ .state = PROV_RUN_FAILED,
			.progress = j->progress,
			.safe_progress = j->progress,
			.started = begin,
			.ended = begin,
			.exit_status = 70 };
		str_copy(
		    out->detail, sizeof(out->detail), "the accelerator answers with wrong results");
		return;
	}
	work_shares(m, until, out);
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
