/* src/cmd/jobshow.h - one job as JSON, for jobs and job.  Floor: cmd. */
#ifndef BERTH_CMD_JOBSHOW_H
#define BERTH_CMD_JOBSHOW_H

#include "model/job.h"

struct jsonw;

/* The keys of one job in berth.jobs/1, inside an open object. */
void jobshow_keys(struct jsonw *w, const struct job *j, int64_t now);
/* "H100:8" or "H100:8, A100-80GB:8": what the variants ask for; in the arena. */
struct arena;
const char *jobshow_accelerators(const struct job_spec *spec, struct arena *a);

/* The sentence in an event's data; "" if it has none. */
const char *jobshow_message(const char *data, struct arena *a);

#endif
