/* src/cmd/prices.h - what other verbs share with `berth prices`.  Floor: cmd. */
#ifndef BERTH_CMD_PRICES_H
#define BERTH_CMD_PRICES_H

#include <stddef.h>

#include "util/err.h"

struct cmd_ctx;

/* Loads data/offers.csv as list prices, as `prices import --bundled` does; offers_out gets how many are current. */
BERTH_MUST_CHECK enum berth_code prices_import_bundled(struct cmd_ctx *ctx, size_t *offers_out, struct berth_err *err);

#endif
