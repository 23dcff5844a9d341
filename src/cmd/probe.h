/* src/cmd/probe.h - the parts of `berth probe`.  Floor: cmd, private. */
#ifndef BERTH_CMD_PROBE_H
#define BERTH_CMD_PROBE_H

#include "broker/bench.h"
#include "cmd/cmd.h"
#include "model/accel.h"
#include "model/machine.h"
#include "model/measure.h"
#include "plan/verdict.h"

struct probe_opts {
	bool here, quick, deep;
	const char *file, *host, *gpu;
	int64_t instance;       /* 0: none */
	struct usd_micro price; /* USD_UNKNOWN: not said */
	const char *precision, *test;
	struct opt_list only;
	const char *measure,
	    *measure_name; /* a user's own benchmark and the test that it stands for; NULL: none */
	double network_gbps;     /* 0: not said */
	int64_t measure_devices; /* accelerators that it keeps busy */
	const char *gpu_filter, *provider;
	int64_t since_s, limit;
};

/* One probe: where it was run, what was promised, what was found. */
struct probed_machine {
	const char *source; /* "here", "file x.json", "host x", "instance 7" */
	const char *json;   /* text of the result */
	struct probe_result result;
	struct verdict verdict;
	struct verdict_promise promise;
	struct usd_micro price;   /* of the whole machine and hour; USD_UNKNOWN */
	struct instance instance; /* id 0: not one of berth's */
	const char *why;          /* the result could not be had or read; "" */
};

/* Seeds, thresholds and, with a store, the fleet's medians. */
BERTH_MUST_CHECK enum berth_code probe_tables(struct cmd_ctx *ctx, struct verdict_refs *refs_out,
    struct verdict_limits *limits_out, struct berth_err *err);

/* Runs the measuring program here and gives its output; its messages and progress go to stderr. */
BERTH_MUST_CHECK enum berth_code probe_run_here(struct cmd_ctx *ctx, const struct probe_opts *o,
    const struct bench *bench, const char **json_out, struct berth_err *err);

BERTH_MUST_CHECK enum berth_code probe_show(
    struct cmd_ctx *ctx, const struct probed_machine *m, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code probe_history(struct cmd_ctx *ctx, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code probe_compare(struct cmd_ctx *ctx, struct berth_err *err);

/* Money a measured unit costs an hour: price over the machine's sum of the slowest GPU's rate; NaN
 * unknown. */
double probe_unit_price(const struct probed_machine *m, double rate);

#endif
