/* src/broker/bench.h - a user's own benchmarks for accelerators that berth has no kernels for, out
 * of berth.yaml.  Floor: broker. */
#ifndef BERTH_BROKER_BENCH_H
#define BERTH_BROKER_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "model/accel.h"
#include "util/err.h"

struct arena;
struct buf;
struct yaml_node;

struct bench {
	const struct accel
	    *accel;          /* whose machines it measures; NULL: those that it is asked for */
	const char *command; /* of sh; its last line is a rate and its unit */
	const char *name;    /* test that it stands for, "user", or "user_" and a name */
	int devices;         /* that it keeps busy; its rate is divided by that */
	int64_t within_s;    /* for its three runs and the rest of the probe */
};

#define BENCH_WITHIN_S INT64_C(1800)

/*
 * The list 'measure' of berth.yaml. config: root of it, NULL: no list.
 * Errors: BERTH_EINVAL with file:line:col.
 */
BERTH_MUST_CHECK enum berth_code bench_read(const struct yaml_node *config,
    const struct accel_table *accels, struct arena *a, struct bench **benches_out, size_t *n_out,
    struct berth_err *err);
/* That of an accelerator; NULL: none, or no accelerator. */
const struct bench *bench_find(const struct bench *benches, size_t n, const struct accel *accel);

#endif
