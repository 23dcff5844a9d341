/* src/cmd/simunit.h - what a replay of purchases counts GPUs in.  Floor: cmd. */
#ifndef BERTH_CMD_SIMUNIT_H
#define BERTH_CMD_SIMUNIT_H

#include "cmd/unit.h"

struct cmd_ctx;

/* The units of series [n], as `berth plan` would choose them, in of those whose accelerator nobody
 * knows NULL; their histories s are brought to them, and a note says where that is another card
 * than the one they ran on. Errors: those of the store. */
BERTH_MUST_CHECK enum berth_code simunit_read(struct cmd_ctx *ctx, const struct series *rows,
    struct fc_series *s, size_t n, struct unit **units_out, struct berth_err *err);
/* An array "units": the unit of each series that has one. */
void simunit_json(struct jsonw *w, const struct series *rows, const struct unit *units, size_t n);

#endif
