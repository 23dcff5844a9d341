/* src/broker/fleet.h - the fleet's own medians out of the store.  Floor: broker. */
#ifndef BERTH_BROKER_FLEET_H
#define BERTH_BROKER_FLEET_H

#include <stdint.h>

#include "plan/verdict.h"
#include "util/err.h"

struct arena;
struct store;

/*
 * Adds the medians of the machines that were measured in the last half year to refs, as
 * verdict_fleet_add() does: one vote a machine, rejected ones none. refs->refs is replaced by a
 * longer list of the arena, what it was is left alone. How many machines and providers a median
 * needs, and below which share of its seed it never counts, the thresholds say when a machine is
 * judged. Errors: those of the store.
 */
BERTH_MUST_CHECK enum berth_code fleet_refs(struct store *s, int64_t now, struct arena *a,
    struct verdict_refs *refs, struct berth_err *err);

#endif
