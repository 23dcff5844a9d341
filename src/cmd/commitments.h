/* src/cmd/commitments.h - parts of `berth commitments`.  Floor: cmd, inside commitments*.c. */
#ifndef BERTH_CMD_COMMITMENTS_H
#define BERTH_CMD_COMMITMENTS_H

#include "cmd/cmd.h"

struct coverage_opts {
	int64_t from, to;
	const char *by; /* hour day week month; NULL */
};
extern const struct coverage_opts coverage_defaults;
extern const struct opt_row coverage_rows[];

/* What of the use that is recorded the owned commitments covered, hour by hour. */
BERTH_MUST_CHECK enum berth_code commitments_run_coverage(
    struct cmd_ctx *ctx, struct berth_err *err);

#endif
