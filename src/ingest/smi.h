/* src/ingest/smi.h - `nvidia-smi --query-gpu=... --format=csv`.  Floor: domain. */
#ifndef BERTH_INGEST_SMI_H
#define BERTH_INGEST_SMI_H

#include <stdio.h>

#include "ingest/ingest.h"
#include "util/tz.h"

struct smi_counts {
	int64_t rows, refused;
	int64_t unknown; /* fields such as [N/A]: no value, not zero */
	int64_t faulty;  /* rows of GPUs that answer with an error */
};

/*
 * Reads the CSV with its header, units in it or not ("87 %", "81920 MiB", "87"): points
 * smi:utilization.gpu, smi:memory.used, smi:memory.total, smi:temperature.gpu, smi:power.draw,
 * smi:throttled, and smi:usable (1, or 0 of a GPU with ERR!, [Unknown Error], [GPU is lost]).
 * [N/A], [Not Supported] and the like give no point.
 * tz   of column timestamp; NULL: UTC.  now: time of rows where there is no such column, 0 in their
 * points BERTH_EINVAL: no column that can be used; BERTH_EIO.
 */
BERTH_MUST_CHECK enum berth_code smi_read(FILE *f, const char *name, const struct tz *tz,
    const struct ingest_sink *sink, struct smi_counts *counts, struct berth_err *err);

#endif
