#include "broker/broker.h"
#include "store/tier_rows.h"

enum berth_code
pass_rollup(struct broker *b, struct berth_err *err)
{
	struct tier_moved moved;
	enum berth_code rc = store_rollup(
	    b->store, &b->policy.tiers, b->now, b->policy.rollup_max, NULL, NULL, &moved, err);

	b->counts.rolled_up += moved.steps + moved.hours;
	/* A damaged bucket must not stop the queue; `berth store check` names it. */
	if (rc == BERTH_EINVAL) {
		b->counts.errors++;
		log_warn(b->log, "rollup: %s", err->msg);
		rc = BERTH_OK;
	}
	return rc;
}
