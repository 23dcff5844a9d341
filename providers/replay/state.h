/* providers/replay/state.h - machines of a replayed cloud as a file, so that processes share one
 * cloud.  Floor: providers. */
#ifndef BERTH_PROVIDERS_REPLAY_STATE_H
#define BERTH_PROVIDERS_REPLAY_STATE_H

#include "providers/replay/cloud.h"
#include "util/buf.h"

/* The file as it was last read and what was in it: most requests find the same bytes again. Starts
 * zeroed. */
struct state_kept {
	struct buf bytes;
	struct cloud cloud;
};
void state_kept_free(struct state_kept *kept);
/*
 * Fills clock, next and machines of a cloud whose trace, seed and arena are set; strings are kept's
 * until its next load, which must be for the same trace. A file that is not there is a cloud
 * without machines. BERTH_EINVAL: not a state file (berth.replay-state/1), with the path of the
 * value.
 */
BERTH_MUST_CHECK enum berth_code state_load(
    const char *path, struct state_kept *kept, struct cloud *c, struct berth_err *err);
/* Writes it whole or not at all; the same cloud gives the same bytes. */
BERTH_MUST_CHECK enum berth_code state_save(
    const char *path, const struct cloud *c, struct berth_err *err);

#endif
