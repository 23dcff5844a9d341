/* providers/replay/measure.h - what a probe finds on a machine of a replayed cloud.  Floor: providers. */
#ifndef BERTH_PROVIDERS_REPLAY_MEASURE_H
#define BERTH_PROVIDERS_REPLAY_MEASURE_H

#include "providers/replay/cloud.h"
#include "util/buf.h"

struct accel_table;

/*
 * Writes a berth.probe-result/1 object: per accelerator the table's rates times the share of it that good devices
 * reach, times the machine's hidden speed, times noise from seed. A broken machine computes wrong sums: its checks
 * fail and its rates are null. An accelerator that the table lacks has identity but no rate.
 */
BERTH_MUST_CHECK enum berth_code measure_write(const struct cloud *c, const struct cloud_machine *m,
    const struct accel_table *accels, struct buf *b, struct berth_err *err);

#endif
