/* src/cmd/series_waste.h - GPUs that are paid for and do nothing.  Floor: cmd, inside series*.c. */
#ifndef BERTH_CMD_SERIES_WASTE_H
#define BERTH_CMD_SERIES_WASTE_H

#include "cmd/cmd.h"
#include "model/accel.h"
#include "model/series.h"
#include "util/money.h"

/*
 * Prints what series rows [n] of idle and starved GPUs hold in [from, to) (0: all): GPU-hours and
 * money, at the cheapest on-demand price of such a GPU in the price lists.
 */
BERTH_MUST_CHECK enum berth_code series_waste(struct cmd_ctx *ctx, const struct series *rows,
    size_t n, int64_t from, int64_t to, struct berth_err *err);

struct offer;
/* The cheapest on-demand hour of such a GPU among offers [n]; unknown if nobody sells one. */
struct usd_micro series_gpu_hour(const struct accel_table *accels, const struct offer *offers,
    size_t n, const struct accel *want);

/*
 * GPU-hours of this accelerator that stood idle or starved in [from, to), counted as series_waste()
 * counts them. 0 also where nothing is known of use.
 */
BERTH_MUST_CHECK enum berth_code series_idle_hours(struct cmd_ctx *ctx, const struct accel *accel,
    int64_t from, int64_t to, double *gpu_hours_out, struct berth_err *err);

#endif
