/* providers/replay/replay.h - a cloud that is played from a trace.  Floor: providers. */
#ifndef BERTH_PROVIDERS_REPLAY_H
#define BERTH_PROVIDERS_REPLAY_H

#include "providers/provider.h"

extern const struct provider_ops provider_replay;

#endif
