/* src/ingest/snapshot.h - what squeue and sinfo show of one moment.  Floor: domain, pure. */
#ifndef BERTH_INGEST_SNAPSHOT_H
#define BERTH_INGEST_SNAPSHOT_H

#include "ingest/ingest.h"
#include "util/arena.h"

enum snapshot_kind {
	SNAPSHOT_SQUEUE, /* JOBID, STATE, TRES_PER_NODE; NODES, USER, ACCOUNT, PARTITION where they
			    are */
	SNAPSHOT_SINFO   /* NODE or NODELIST, GRES, GRES_USED */
};

struct snapshot_counts {
	int64_t rows;
	int64_t pending_tasks;       /* of squeue: tasks that wait, of arrays too */
	double pending_gpus;         /* devices as the list counts them; a slice is one */
	double pending_gpus_at_once; /* that the %limits of arrays let run at a time */
	double running_gpus;
	double devices, devices_used; /* of sinfo */
};

struct snapshot;

/*
 * Columns between "|", or by blanks (sinfo -O). Points berth:allocated and berth:queued of squeue,
 * berth:allocated and berth:installed of sinfo, without a time, with the labels accelerator (the
 * type as Slurm spells it, "unknown" without), node, user, account, partition as far as the columns
 * are there.
 */
struct snapshot *snapshot_new(
    struct arena *a, enum snapshot_kind kind, const struct ingest_sink *sink);
/* line [len] without its newline, changed. BERTH_EINVAL: the header lacks a column. */
BERTH_MUST_CHECK enum berth_code snapshot_line(
    struct snapshot *s, char *line, size_t len, long number, struct berth_err *err);
/* BERTH_EINVAL: there was no header. */
BERTH_MUST_CHECK enum berth_code snapshot_end(
    const struct snapshot *s, struct snapshot_counts *counts_out, struct berth_err *err);

#endif
