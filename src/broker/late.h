/* src/broker/late.h - deadlines of jobs that have a machine: what is told of them, and who leaves
 * it. Floor: broker. */
#ifndef BERTH_BROKER_LATE_H
#define BERTH_BROKER_LATE_H

#include "broker/broker.h"

/* How far a running job said it is, in this tick. */
struct pace {
	const char *job_id;
	double progress;
	bool fresh; /* it has risen just now */
	struct pace *next;
};
void late_pace(struct broker *b, const char *job_id, double progress, bool fresh);

/* The entry of a job and its machine, or of the first of its gang. runs: the work has begun. */
struct gang;
void late_move(struct broker *b, const struct job *job, const struct instance *in,
    const struct gang *g, bool runs, struct placing_move *out);
/* Has it left a machine as often as it may for now? Then it stays: m->move becomes false. */
BERTH_MUST_CHECK enum berth_code late_cap(
    struct broker *b, struct placing_move *m, struct berth_err *err);
/* The deadline is lost where it is, and nothing keeps it: told once, as job.deadline_at_risk. */
BERTH_MUST_CHECK enum berth_code late_tell(
    struct broker *b, const struct placing_move *m, struct berth_err *err);
/* The deadline has passed: told once, as job.deadline_missed; the caller stores job->marks. */
BERTH_MUST_CHECK enum berth_code late_missed(
    struct broker *b, struct job *job, const struct instance *in, struct berth_err *err);
/* The same of one that has not ended, and stores it. */
BERTH_MUST_CHECK enum berth_code late_missed_open(
    struct broker *b, struct job *job, const struct instance *in, struct berth_err *err);

#endif
