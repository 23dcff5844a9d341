/* src/store/forecast_pack.h - a forecast in few bytes.  Floor: store, private to it. */
#ifndef BERTH_STORE_FORECAST_PACK_H
#define BERTH_STORE_FORECAST_PACK_H

#include "model/record.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/err.h"

#define FORECAST_PACK_VERSION 1

/*
 * One byte of version, then LEB128 numbers: step_s, n, 1,100 plus the exponent e of the unit 2^e;
 * four doubles of the peak; then for each step six signed numbers (zigzag), in units: the mean as
 * the distance to that of the step before, and each quantile as its distance to the one below (the
 * lowest: to the mean), less what that distance was a step before. The unit is 2^-17 of the largest
 * value or less: what comes back is within 4 millionths of that.
 */
void forecast_pack(const struct forecast_row *f, struct buf *out);
/* step_s, n, peak, mean, q, in a. BERTH_EINVAL: made by a newer berth, or damaged. */
BERTH_MUST_CHECK enum berth_code forecast_unpack(
    const void *bytes, size_t n, struct arena *a, struct forecast_row *f, struct berth_err *err);
/* The same from the JSON of earlier versions: a series object of berth.forecast/1. */
BERTH_MUST_CHECK enum berth_code forecast_unpack_json(
    const char *json, struct arena *a, struct forecast_row *f, struct berth_err *err);

#endif
