/* src/cmd/plan_approve.h - a kept plan that was agreed to.  Floor: cmd; for plan.c alone. */
#ifndef BERTH_CMD_PLAN_APPROVE_H
#define BERTH_CMD_PLAN_APPROVE_H

#include "cmd/plan_opts.h"

/*
 * Records what a kept plan buys as commitments, after a question, and says what to order. Nothing
 * is ordered. Errors: BERTH_ENOTFOUND no such plan; BERTH_EINVAL it is too old, approved already,
 * or its prices are not kept; BERTH_EPRICE a price has moved, or it is not sold any more;
 * BERTH_EINFEASIBLE it buys nothing (now).
 */
BERTH_MUST_CHECK enum berth_code plan_approve(struct cmd_ctx *ctx, struct berth_err *err);

#endif
