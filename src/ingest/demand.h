/* src/ingest/demand.h - from intervals to the step function, and to its mean and peak in each step.
 * Floor: domain, pure. */
#ifndef BERTH_INGEST_DEMAND_H
#define BERTH_INGEST_DEMAND_H

#include <stddef.h>
#include <stdint.h>

#include "model/series.h"
#include "util/err.h"

struct demand;

/* What an interval stands for: an amount (GPUs, USD an hour), and the series that it counts in. */
struct demand_class {
	double amount;          /* >= 0, finite */
	const uint32_t *groups; /* [n_groups] indices of series */
	size_t n_groups;
};

/*
 * The window [from, to), both multiples of step_s and at most 2^32 s apart. max_events: more than
 * so many ends of intervals are not kept at once (0: any number); see demand_add().
 */
BERTH_MUST_CHECK enum berth_code demand_new(int64_t step_s, int64_t from, int64_t to,
    size_t max_events, struct demand **d_out, struct berth_err *err);
void demand_free(struct demand *d); /* NULL is fine */
/*
 * An interval [from, to) of class cls, clipped to the window; nothing of it inside is fine. Where
 * max_events is reached the window's end moves to an earlier step, and what lies behind is
 * forgotten: see demand_to() and begin again there. BERTH_ENOMEM.
 */
BERTH_MUST_CHECK enum berth_code demand_add(
    struct demand *d, uint32_t cls, int64_t from, int64_t to, struct berth_err *err);
int64_t demand_to(const struct demand *d);
/* The window, wherever it comes to end, and what is emitted of it at once then end on a multiple of
 * align_s, a multiple of the step; the window of demand_new() must. Before the first demand_add().
 */
void demand_align(struct demand *d, int64_t align_s);

/* v [n] consecutive steps of one series, in order. */
typedef enum berth_code demand_emit_fn(
    void *arg, uint32_t group, const struct sample *v, size_t n, struct berth_err *err);
/*
 * Sweeps the window once: of each of n_groups series every step's mean over the whole step and its
 * peak. An interval counts at its start and not at its end, so that one that ends when the next
 * starts makes no peak. classes of all cls that were added.  May be called once. BERTH_ENOMEM, or
 * what emit returned.
 */
BERTH_MUST_CHECK enum berth_code demand_run(struct demand *d, const struct demand_class *classes,
    size_t n_groups, demand_emit_fn *emit, void *arg, struct berth_err *err);

#endif
