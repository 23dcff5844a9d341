/* src/model/rates.h - what a currency is worth in USD.  Floor: model. */
#ifndef BERTH_MODEL_RATES_H
#define BERTH_MODEL_RATES_H

#include <stdint.h>

#include "model/offer.h"
#include "util/err.h"

struct arena;
struct rates;

/*
 * Reads a CSV with the columns from, to, rate and as_of (may be missing): one FROM is worth RATE of
 * TO, and one of the two is USD. Of two rows for one currency the younger counts. BERTH_EINVAL with
 * file:line; BERTH_ENOTFOUND, BERTH_EIO.
 */
BERTH_MUST_CHECK enum berth_code rates_load(const char *path, int64_t now, struct arena *a,
    struct rates **rates_out, struct berth_err *err);
/*
 * Price and upfront of an offer in another currency become USD, and its source says from what; the
 * same offer where its currency is USD already, has no rate, or rates is NULL. Strings in the
 * arena.
 */
void rates_convert(const struct rates *rates, struct offer *o, struct arena *a);

#endif
