/* src/ingest/waits.h - how long jobs waited before they started, step by step.  Floor: domain,
 * pure. */
#ifndef BERTH_INGEST_WAITS_H
#define BERTH_INGEST_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

struct waits;

/* One step of one series; waits in seconds. */
struct waits_step {
	int64_t t;                      /* its start */
	int64_t started;                /* jobs that started in it, and how long they had waited: */
	double mean, p50, p95, longest; /* NaN where started is 0 */
	int64_t waiting; /* jobs that still wait when it ends, and how long they have: */
	double waiting_mean, oldest; /* NaN where waiting is 0 */
};

/* The window [from, to), a multiple of step_s long and at most 2^32 s. BERTH_ENOMEM. */
BERTH_MUST_CHECK enum berth_code waits_new(
    int64_t step_s, int64_t from, int64_t to, struct waits **w_out, struct berth_err *err);
void waits_free(struct waits *w); /* NULL is fine */
/*
 * A job that was submitted, and started if that is what ended its waiting (else it was cancelled,
 * or is known to have waited until then). What lies outside of the window is fine. label: a number
 * of the caller's below 2^31. BERTH_ENOMEM.
 */
BERTH_MUST_CHECK enum berth_code waits_add(struct waits *w, uint32_t label, int64_t submit,
    int64_t until, bool started, struct berth_err *err);

/* The series that jobs of a label count in. */
struct waits_label {
	const uint32_t *groups;
	size_t n;
};
/* One after the other by time; steps of which there is nothing to say are left out. */
typedef enum berth_code waits_emit_fn(
    void *arg, uint32_t group, const struct waits_step *step, struct berth_err *err);
/*
 * Sweeps the window. labels of all that were added, groups below n_groups. Quantiles with linear
 * interpolation between the jobs (Hyndman and Fan 1996, definition 7).  May be called once.
 * BERTH_ENOMEM, or what emit returned.
 */
BERTH_MUST_CHECK enum berth_code waits_run(struct waits *w, const struct waits_label *labels,
    size_t n_groups, waits_emit_fn *emit, void *arg, struct berth_err *err);

#endif
