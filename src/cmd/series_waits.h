/* src/cmd/series_waits.h - `berth series --waits`.  Floor: cmd, inside series*.c. */
#ifndef BERTH_CMD_SERIES_WAITS_H
#define BERTH_CMD_SERIES_WAITS_H

#include "broker/usage_waits.h"
#include "cmd/cmd.h"

/*
 * How long jobs waited in [from, to) (0: four weeks until the last that is known of jobs), as a
 * whole or step by step; of the series that the command's words name.
 */
BERTH_MUST_CHECK enum berth_code series_waits(
    struct cmd_ctx *ctx, bool steps, int64_t from, int64_t to, struct berth_err *err);
/* The rows of one accelerator alone over all of [from, to), for other tables; n 0: no jobs are
 * known. */
BERTH_MUST_CHECK enum berth_code series_waits_whole(struct cmd_ctx *ctx, int64_t from, int64_t to,
    struct usage_waits_row **rows_out, size_t *n_out, struct berth_err *err);

#endif
