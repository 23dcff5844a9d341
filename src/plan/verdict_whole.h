/* src/plan/verdict_whole.h - is everything there that a sound run of the suite says?  Floor:
 * domain. */
#ifndef BERTH_PLAN_VERDICT_WHOLE_H
#define BERTH_PLAN_VERDICT_WHOLE_H

#include <stddef.h>

#include "model/probe.h"

struct arena;

/* Something without which a result is no proof of a sound machine. */
struct verdict_gap {
	const char *code; /* "unchecked" "wrong_unit" "missing_test" "no_health" "call_failed" */
	int gpu;          /* -1: the machine */
	const char *text;
};

/*
 * Gaps of a result of mode gpu; none for other modes but for units. Tests that were left out by
 * --only are no gap, rates without a check are. At most one gap a GPU and code.
 */
void verdict_gaps(
    const struct probe_result *r, struct arena *a, struct verdict_gap **gaps_out, size_t *n_out);

#endif
