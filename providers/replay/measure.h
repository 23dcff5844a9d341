/* providers/replay/measure.h - what a probe finds on a machine of a replayed cloud.  Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_REPLAY_MEASURE_H
#define BERTH_PROVIDERS_REPLAY_MEASURE_H

#include "providers/replay/cloud.h"
#include "util/buf.h"

struct accel_table;
struct arena;

/* What sound devices reach, as probe_reference.csv says it: a rate, or a share of the table's peak.
 */
struct measure_ref {
	const char *accelerator; /* "*": any */
	const char *test;
	double value, of_peak; /* NaN: not said */
};
struct measure_refs {
	VEC(struct measure_ref) v;
};

/* Columns accelerator, test, value, of_peak; accelerator "*" is any. BERTH_EINVAL: a row that
 * cannot be (file:line). */
BERTH_MUST_CHECK enum berth_code measure_refs_load(
    const char *path, struct arena *a, struct measure_refs *refs_out, struct berth_err *err);

/*
 * Writes a berth.probe-result/1 object: per accelerator what sound devices reach, times the
 * machine's hidden speed, times noise from seed. A broken machine computes wrong sums: its checks
 * fail and its rates are null. A test that neither has a rate nor a peak in the table is left out.
 */
BERTH_MUST_CHECK enum berth_code measure_write(const struct cloud *c, const struct cloud_machine *m,
    const struct accel_table *accels, const struct measure_refs *refs, struct buf *b,
    struct berth_err *err);

#endif
