/* src/cmd/plan_inputs.h - what a plan was made from, so that it can be made again.  Floor: cmd. */
#ifndef BERTH_CMD_PLAN_INPUTS_H
#define BERTH_CMD_PLAN_INPUTS_H

#include "cmd/forecast.h"
#include "cmd/plan_join.h"
#include "store/plan_rows.h"

struct line;

/* Beside the command line: the series that it named or that there were, how far each one's history
 * went, what was owned. */
struct plan_then {
	struct forecast_was demand;
	int64_t *rolled; /* [demand.n] the time before which each one's history was rolled up; 0:
			    none was */
	int64_t *owned;  /* [n_owned] numbers of commitments */
	size_t n_owned;
	int64_t *oldest; /* [n_oldest] as_of of the oldest price, of each series that was planned;
			    read alone */
	size_t n_oldest;
	struct plan_money *money; /* [n_money] */
	size_t n_money;
	struct plan_stale stale; /* offers whose prices were too old */
	bool has_stale;          /* read alone: it was kept */
	struct plan_stale gone;  /* offers that were sold out for long */
	bool has_gone;           /* as has_stale */
	struct plan_read read;   /* the offers; ids rise */
	bool has_read;           /* as has_stale */
	bool has_forms;          /* read alone: what history ran on was looked up */
	int64_t horizon_s;       /* read alone, as service_level */
	double service_level;
	struct job_defaults rails; /* of berth.yaml then; read alone */
	const char **block;        /* [n_block] the block list; read alone, NULL: none was kept */
	size_t n_block;
};

/* ids in rising order, each once; the others of all offers [n_offers]. */
void plan_read_end(struct plan_read *r, size_t n_offers);
/* The offers that were read then; of a plan that did not keep which, those that its time finds. */
BERTH_MUST_CHECK enum berth_code plan_then_offers(struct cmd_ctx *ctx, const struct plan_then *then,
    int64_t made, struct offer **offers_out, size_t *n_out, struct berth_err *err);

BERTH_MUST_CHECK enum berth_code plan_inputs_write(struct cmd_ctx *ctx,
    const struct plan_series *ps, size_t n, const struct plan_options *o,
    const struct plan_then *then, const char **text_out, struct berth_err *err);
/* The offers [n] that the plan was made from. */
BERTH_MUST_CHECK enum berth_code plan_inputs_offers(struct cmd_ctx *ctx, const struct plan_row *row,
    struct offer **offers_out, size_t *n_out, struct berth_err *err);
/* BERTH_ENOTFOUND: an older berth kept too little. */
BERTH_MUST_CHECK enum berth_code plan_inputs_read(struct cmd_ctx *ctx, const struct plan_row *row,
    struct line *line, struct plan_then *then, struct berth_err *err);

#endif
