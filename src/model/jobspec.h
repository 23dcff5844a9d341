/* src/model/jobspec.h - reads a job file (berth.job/1).  Floor: model. */
#ifndef BERTH_MODEL_JOBSPEC_H
#define BERTH_MODEL_JOBSPEC_H

#include <stddef.h>
#include <stdint.h>

#include "model/accel.h"
#include "model/job.h"
#include "util/arena.h"
#include "util/err.h"

#define JOBSPEC_NAME_MAX 255 /* bytes of a name, user or project */

/*
 * Parses the YAML text of one job; the keys are those of berth-job(5). name stands for the file in
 * errors. now resolves a relative deadline ("+36h"). Every string of spec_out lives in the arena.
 * BERTH_EINVAL with err->where "name:line:col" and the key in the message: syntax, an unknown key
 * (with a suggestion), a value out of range, an unknown accelerator (with suggestions).
 */
BERTH_MUST_CHECK enum berth_code jobspec_parse(const char *name, const char *bytes, size_t len,
    const struct accel_table *tab, int64_t now, struct arena *arena, struct job_spec *spec_out,
    struct berth_err *err);
/* The same from a file of at most 1 MiB; "-" is standard input. BERTH_EIO, BERTH_ENOTFOUND. */
BERTH_MUST_CHECK enum berth_code jobspec_load(const char *path, const struct accel_table *tab,
    int64_t now, struct arena *arena, struct job_spec *spec_out, struct berth_err *err);

#endif
