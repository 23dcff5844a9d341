/* src/plan/benchlog.h - throughputs out of other programs' benchmark reports.  Floor: domain. */
#ifndef BERTH_PLAN_BENCHLOG_H
#define BERTH_PLAN_BENCHLOG_H

#include <stddef.h>

#include "model/accel.h"
#include "util/err.h"

struct arena;

struct benchlog {
	const char *engine;		/* "tensorrt" "openvino" "tvm" "vllm" */
	enum accel_precision precision;	/* PRECISION_COUNT: the report does not say */
	double rate;			/* a second, > 0 */
	const char *unit;		/* "tokens" (all that were made), or "inferences" */
	double batch;			/* inputs of one inference; the rate counts inputs */
	const char *detail;		/* what was read, for people */
};

/*
 * Knows by its content: trtexec's output, OpenVINO benchmark_app's output and JSON report, TVM's tuning log (AutoTVM and
 * auto-scheduler: best time of each task, summed), vLLM's benchmark JSON (serving and throughput).
 * Errors  BERTH_EINVAL: none of these, or without a throughput (the message says what was looked for).
 */
BERTH_MUST_CHECK enum berth_code benchlog_parse(const char *text, size_t len, struct arena *a, struct benchlog *out,
    struct berth_err *err);

#endif
