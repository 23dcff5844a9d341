/* src/broker/runner.h - work on one machine: by the provider itself, or by ssh.  Floor: broker. */
#ifndef BERTH_BROKER_RUNNER_H
#define BERTH_BROKER_RUNNER_H

#include "broker/broker.h"

/*
 * A provider with PROV_CAP_RUN runs the job itself; on any other machine the job's shell text runs
 * over ssh (or right here, for the address "localhost"), with its pid, log and exit status in
 * ~/.berth/JOB there. Errors as prov_start() and its like.
 */
BERTH_MUST_CHECK enum berth_code runner_start(struct broker *b, const struct instance *in,
    const struct job *job, const struct prov_job *pj, struct prov_run *run_out,
    struct berth_err *err);
/* rank: of a gang, 0 alone. interval_s: between checkpoints, as it is best now; told to the job. */
BERTH_MUST_CHECK enum berth_code runner_poll(struct broker *b, const struct instance *in,
    const struct job *job, int rank, int64_t interval_s, struct prov_run *run_out,
    struct berth_err *err);
BERTH_MUST_CHECK enum berth_code runner_stop(struct broker *b, const struct instance *in,
    const struct job *job, int rank, struct prov_run *run_out, struct berth_err *err);
/* Text of a berth.probe-result/1 in the tick's arena. */
BERTH_MUST_CHECK enum berth_code runner_measure(
    struct broker *b, const struct instance *in, const char **json_out, struct berth_err *err);

#endif
