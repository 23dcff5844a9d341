/* src/model/jobdefaults.h - what `defaults` of berth.yaml says for jobs that leave it open.  Floor:
 * model. */
#ifndef BERTH_MODEL_JOBDEFAULTS_H
#define BERTH_MODEL_JOBDEFAULTS_H

#include "model/job.h"
#include "util/arena.h"
#include "util/err.h"

struct yaml_node;

struct job_defaults {
	const char *region; /* pattern; NULL: anywhere */
	bool purchase_said; /* else all are allowed */
	bool purchase_ok[3];
	struct usd_micro max_price; /* of a machine-hour; USD_UNKNOWN: none */
};

#define JOB_DEFAULTS_NONE ((struct job_defaults){ .max_price = USD_UNKNOWN })

/* Of the keys region, purchase and max_price of root's `defaults`; NULL, or without them: none.
 * BERTH_EINVAL with where = file:line:col. */
BERTH_MUST_CHECK enum berth_code job_defaults_read(
    const struct yaml_node *root, struct arena *a, struct job_defaults *out, struct berth_err *err);

/*
 * Fills in what a job's file, as jobspec_load() read it, leaves open; spot only for a job that can
 * resume, as without defaults. Errors: BERTH_EINVAL names the file: nothing is left that it may
 * take.
 */
BERTH_MUST_CHECK enum berth_code job_defaults_fill(const struct job_defaults *d, const char *file,
    struct arena *a, struct job_spec *spec, struct berth_err *err);

#endif
