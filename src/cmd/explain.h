/* src/cmd/explain.h - decisions in plain words.  Floor: cmd. */
#ifndef BERTH_CMD_EXPLAIN_H
#define BERTH_CMD_EXPLAIN_H

#include "cmd/cmd.h"
#include "store/plan_rows.h"

/* now: why the job waits, as the last tick said it; "": it does not. */
BERTH_MUST_CHECK enum berth_code explain_decision_say(
    struct cmd_ctx *ctx, const struct decision *d, const char *now, struct berth_err *err);

#endif
