/* src/cmd/simshow.h - what simulations came to, as a table with a plot, and as JSON.  Floor: cmd.
 */
#ifndef BERTH_CMD_SIMSHOW_H
#define BERTH_CMD_SIMSHOW_H

#include <stddef.h>

#include "util/err.h"

struct cmd_ctx;
struct jsonw;
struct simcommit_cell;
struct simspot_result;

/* Bars of v [n] from 0 on one scale, in the width of the terminal; a mark stands at 1. */
BERTH_MUST_CHECK enum berth_code simshow_bars(struct cmd_ctx *ctx, const char *title,
    const char *const *name, const double *v, size_t n, struct berth_err *err);

/* The chart as a file of its own; path NULL: none. Says so; a dry run writes nothing. */
struct svg_chart;
BERTH_MUST_CHECK enum berth_code simshow_svg(
    struct cmd_ctx *ctx, const char *path, const struct svg_chart *c, struct berth_err *err);

/* One row a policy; under it a bar for each mean. */
BERTH_MUST_CHECK enum berth_code simshow_spot(
    struct cmd_ctx *ctx, const struct simspot_result *r, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code simshow_spot_svg(struct cmd_ctx *ctx, const char *path,
    const struct simspot_result *r, struct berth_err *err); /* by slack; path NULL: none */
void simshow_spot_json(struct jsonw *w, const struct simspot_result *r);

/* One row for each of cells [n] and rule; under it a bar for the mean of each rule. */
BERTH_MUST_CHECK enum berth_code simshow_commit(
    struct cmd_ctx *ctx, const struct simcommit_cell *c, size_t n, struct berth_err *err);
/* Says which series are in no mean, and why; the cells of one stand together. */
void simshow_commit_left(struct cmd_ctx *ctx, const struct simcommit_cell *c, size_t n);
BERTH_MUST_CHECK enum berth_code simshow_commit_svg(struct cmd_ctx *ctx, const char *path,
    const struct simcommit_cell *c, size_t n,
    struct berth_err *err); /* by the price of what is reserved; path NULL: none */
void simshow_commit_json(struct jsonw *w, const struct simcommit_cell *c, size_t n);

#endif
