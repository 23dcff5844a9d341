/* src/ingest/tres.h - GPUs in Slurm's lists of resources.  Floor: domain, pure. */
#ifndef BERTH_INGEST_TRES_H
#define BERTH_INGEST_TRES_H

#include "ingest/ingest.h"

/*
 * AllocTRES, ReqTRES: "billing=8,cpu=8,gres/gpu=4,gres/gpu:a100=4,mem=64G,node=1". The totals are
 * over all nodes. The same GPUs stand there once with their type and once without: what the untyped
 * count has more than the typed ones is of type "". gres/gpumem, gres/gpuutil and other look-alikes
 * are not GPUs. text    changed: types point into it out     [max] False: no list of resources, a
 * count that is no number, or more than max types.
 */
bool tres_gpus(char *text, struct ingest_gres *out, size_t max, size_t *n_out);
/*
 * Gres of a node, or TRES_PER_NODE: "gpu:a100:4", "gres/gpu:2", "gres:gpu:v100:1(S:0-1)",
 * "gpu:a100_1g.10gb:3(IDX:0-2)",
 * "(null)", "N/A". What is no GPU is left out.
 */
bool tres_gres(char *text, struct ingest_gres *out, size_t max, size_t *n_out);

/*
 * Job ids as Slurm prints them. An id with a bracket stands for the tasks of an array that wait:
 * "4120_[0-9%4]", "4121_[1,3,5-7]", "4123_[0-12:4]", "4124_[0x3E]" (a bit for each task);
 * "4120_[0-9,...]" is cut off by Slurm itself. tasks_out  how many; at_once_out how many may run at
 * a time. 1 and 1 for any other id. False: not an id, or more than 10 million tasks.
 */
bool tres_tasks(const char *id, int64_t *tasks_out, int64_t *at_once_out);
/* "318442.batch", "318442.0", "4120_7.extern": a step of a job, not a job. */
bool tres_is_step(const char *id);

#endif
