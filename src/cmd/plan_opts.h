/* src/cmd/plan_opts.h - the options of `berth plan`.  Floor: cmd; for plan*.c alone. */
#ifndef BERTH_CMD_PLAN_OPTS_H
#define BERTH_CMD_PLAN_OPTS_H

#include "cmd/cmd.h"
#include "cmd/plan_join.h"

struct plan_opts {
	struct opt_list series, by, providers, regions, also, shares;
	int64_t horizon_s, at, paths, seed, max_term, price_age_s, spot_age_s, on_demand_gpus,
	    replay, ladder, ladder_every_s, starts_s, approve, plan_age_s;
	double service_level, spot_share;
	struct usd_micro budget;
	const char *gpu, *events, *precision, *reconcile, *lp, *demand;
	bool no_spot, list_prices, brief, no_events, total, requested, sparse, keep_spikes, later;
};

extern const struct plan_opts plan_defaults;
extern const struct opt_row plan_rows[];

/* Those of the command line, with limits, block list and calendar of berth.yaml. Errors:
 * BERTH_EUSAGE with the option, and those of reading berth.yaml. */
BERTH_MUST_CHECK enum berth_code plan_options(
    struct cmd_ctx *ctx, struct plan_options *o, struct berth_err *err);

#endif
