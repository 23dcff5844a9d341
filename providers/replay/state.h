/* providers/replay/state.h - machines of a replayed cloud as a file, so that processes share one
 * cloud.  Floor: providers. */
#ifndef BERTH_PROVIDERS_REPLAY_STATE_H
#define BERTH_PROVIDERS_REPLAY_STATE_H

#include "providers/replay/cloud.h"

/*
 * Fills clock, next and machines of a cloud whose trace, seed and arena are set. A file that is not
 * there is a cloud without machines. BERTH_EINVAL: not a state file (berth.replay-state/1), with
 * the path of the value.
 */
BERTH_MUST_CHECK enum berth_code state_load(
    const char *path, struct cloud *c, struct berth_err *err);
/* Writes it whole or not at all; the same cloud gives the same bytes. */
BERTH_MUST_CHECK enum berth_code state_save(
    const char *path, const struct cloud *c, struct berth_err *err);

#endif
