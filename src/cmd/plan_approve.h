/* src/cmd/plan_approve.h - a kept plan that was agreed to.  Floor: cmd; for plan.c and
 * plan_approve*.c alone. */
#ifndef BERTH_CMD_PLAN_APPROVE_H
#define BERTH_CMD_PLAN_APPROVE_H

#include "cmd/plan_opts.h"
#include "model/offer.h"
#include "util/json.h"

/*
 * Records what a kept plan buys as commitments, after a question, and says what to order. Nothing
 * is ordered. Errors: BERTH_ENOTFOUND no such plan; BERTH_EINVAL it is too old, approved already,
 * or its prices are not kept; BERTH_EPRICE a price has moved, or it is not sold any more, or on
 * demand is so cheap by now that less would be bought;
 * BERTH_EINFEASIBLE it buys nothing (now).
 */
BERTH_MUST_CHECK enum berth_code plan_approve(struct cmd_ctx *ctx, struct berth_err *err);

/* Offers that the plan read, and those that are current. */
struct approve_offers {
	struct offer *then, *now;
	size_t n_then, n_now;
};
/* The same thing as it is sold now; NULL: it is not. */
const struct offer *plan_approve_current(const struct approve_offers *x, const struct offer *was);
/*
 * Would what is bought for a series (one of the plan's JSON) still be bought at the prices on
 * demand of now? Those that count fell by less than reserved prices may rise by what_changes_it, or
 * under a budget (which may be what turns it) no further than to the break-even of each purchase in
 * its use. BERTH_EPRICE: it would not.
 */
BERTH_MUST_CHECK enum berth_code plan_approve_rest(struct cmd_ctx *ctx, int64_t plan,
    const struct approve_offers *x, const struct jsonr *series, bool budget, struct berth_err *err);

#endif
