/* src/util/money.h - money as whole micro-dollars, checked.  Floor: util. */
#ifndef BERTH_UTIL_MONEY_H
#define BERTH_UTIL_MONEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usd_micro { int64_t v; };

#define USD_UNKNOWN ((struct usd_micro){ INT64_MIN })	/* no price is not a price of 0 */

static inline bool usd_known(struct usd_micro a) { return a.v != INT64_MIN; }

#endif
