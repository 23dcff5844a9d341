#include "broker/broker.h"
#include "store/prune.h"
#include "store/tier_rows.h"

enum berth_code
pass_rollup(struct broker *b, struct berth_err *err)
{
	struct prune_counts pruned;
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
	return rc == BERTH_OK ? store_prune_daily(b->store, b->policy.records_s, b->now,
				    b->policy.prune_max, &pruned, err)
			      : rc;
}
