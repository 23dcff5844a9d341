/* src/plan/benchlog.h - throughputs out of other programs' benchmark reports.  Floor: domain. */
#ifndef BERTH_PLAN_BENCHLOG_H
#define BERTH_PLAN_BENCHLOG_H

#include <stddef.h>

#include "model/accel.h"
#include "util/err.h"

struct arena;

struct benchlog {
	const char *engine;             /* "tensorrt" "openvino" "tvm" "vllm" */
	enum accel_precision precision; /* PRECISION_COUNT: the report does not say */
	double rate;                    /* a second, > 0 */
	const char *
	    unit; /* "tokens" (read and made), "inferences", or "batches" (vLLM's latency report) */
	double generated, prompted; /* tokens made, and tokens read, a second; NaN: the report does
				       not tell them apart */
	double batch;               /* inputs of one inference; the rate counts inputs */
	const char *detail;         /* what was read, for people */
};

/*
 * Knows by its content: trtexec's output; OpenVINO benchmark_app's output, JSON and CSV report;
 * TVM's tuning log (AutoTVM, auto-scheduler, and the records of MetaSchedule: best time of each
 * task, summed); the JSON of vLLM's bench serve, throughput and latency, one object or one a line.
 * Errors  BERTH_EINVAL: none of these, without a throughput, failed, cut off, or of several runs
 * that cannot be one figure; the message says which.
 */
BERTH_MUST_CHECK enum berth_code benchlog_parse(
    const char *text, size_t len, struct arena *a, struct benchlog *out, struct berth_err *err);

#endif
