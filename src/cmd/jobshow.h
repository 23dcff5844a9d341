/* src/cmd/jobshow.h - one job as JSON, for jobs and job.  Floor: cmd. */
#ifndef BERTH_CMD_JOBSHOW_H
#define BERTH_CMD_JOBSHOW_H

#include "model/job.h"

struct arena;
struct jsonw;

struct job_nodes;

/* The keys of one job in berth.jobs/1, inside an open object. nodes NULL: it holds no machine. */
void jobshow_keys(struct jsonw *w, const struct job *j, const struct job_nodes *nodes, int64_t now);
/* Of nodes [n] by job id those of this job; NULL: none. */
const struct job_nodes *jobshow_nodes(const struct job_nodes *nodes, size_t n, const char *id);
/* "3/4"; "" where it holds none. */
const char *jobshow_nodes_text(const struct job_nodes *nodes, struct arena *a);
/* "H100:8" or "H100:8, A100-80GB:8": what the variants ask for; in the arena. */
const char *jobshow_accelerators(const struct job_spec *spec, struct arena *a);

/* The sentence in an event's data; "" if it has none. */
const char *jobshow_message(const char *data, struct arena *a);

#endif
