/* src/cmd/store_tiers.h - `berth store rollup` and `compact`.  Floor: cmd, inside store*.c. */
#ifndef BERTH_CMD_STORE_TIERS_H
#define BERTH_CMD_STORE_TIERS_H

#include "cmd/cmd.h"

struct store_tier_opts {
	int64_t raw_s, hourly_s, records_s; /* 0: as berth.yaml says */
};
extern const struct opt_row store_tier_rows[];
extern const struct store_tier_opts store_tier_defaults;

BERTH_MUST_CHECK enum berth_code store_tiers_run(
    struct cmd_ctx *ctx, bool compact, struct berth_err *err);
/* Of the file and the write-ahead log beside it; -1: not a file. */
int64_t store_bytes(struct cmd_ctx *ctx);

#endif
