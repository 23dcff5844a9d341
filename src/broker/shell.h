/* src/broker/shell.h - jobs and the probe on a machine that is reached by ssh, or is this one.
 * Floor: broker. */
#ifndef BERTH_BROKER_SHELL_H
#define BERTH_BROKER_SHELL_H

#include "broker/bench.h"
#include "model/job.h"
#include "providers/provider.h"
#include "util/arena.h"
#include "util/err.h"

/*
 * address  "localhost": /bin/sh here; else an ssh destination (USER@HOST, or a Host of ssh_config):
 * BatchMode, host keys must be known, no agent or environment is forwarded A job lives in
 * ~/.berth/JOB there: run.sh, out.log, pid, and at its end status. BERTH_JOB, BERTH_PROGRESS and
 * BERTH_CHECKPOINT_INTERVAL are in its environment; the file named by BERTH_CHECKPOINT_FILE holds
 * the interval as it is best by now, renewed at each poll; what it writes into the file named by
 * BERTH_PROGRESS_FILE (0..1) is its safe progress. Errors: BERTH_ETRANSIENT: not reached within 30
 * s, or ssh said no (its words in the message); BERTH_ENOTFOUND: that job was never started there.
 */
BERTH_MUST_CHECK enum berth_code shell_start(const char *address, const struct job *job,
    const struct prov_job *pj, struct arena *a, struct prov_run *run_out, struct berth_err *err);
/* busy: asks nvidia-smi too, for up to 5 s; one that has not answered by then is not asked again
 * while it hangs. */
BERTH_MUST_CHECK enum berth_code shell_poll(const char *address, const struct job *job, int rank,
    int64_t interval_s, bool busy, struct arena *a, struct prov_run *run_out,
    struct berth_err *err);
/* TERM to the job's process group, KILL after 10 s. */
BERTH_MUST_CHECK enum berth_code shell_stop(const char *address, const struct job *job, int rank,
    struct arena *a, struct prov_run *run_out, struct berth_err *err);
/*
 * Copies the probe there by standard input, runs it for at most 90 s, or for as long as the
 * benchmark may take, and gives back what it printed. bench  a user's own benchmark that it runs as
 * well; NULL: none
 */
BERTH_MUST_CHECK enum berth_code shell_measure(const char *address, const char *probe_path,
    const struct bench *bench, struct arena *a, const char **json_out, struct berth_err *err);

/*
 * Runs script (standard input of sh -s) at the address and gives its standard output, at most 4
 * MiB, in timeout_s. status_out: exit status of the script; 255 of ssh is BERTH_ETRANSIENT with its
 * words.
 */
BERTH_MUST_CHECK enum berth_code shell_run(const char *address, const char *script,
    size_t script_len, int timeout_s, struct arena *a, const char **text_out, int *status_out,
    struct berth_err *err);

#endif
