/* src/plan/verdict_rate.h - what a test ought to show on an accelerator.  Floor: domain. */
#ifndef BERTH_PLAN_VERDICT_RATE_H
#define BERTH_PLAN_VERDICT_RATE_H

#include "model/accel.h"
#include "plan/verdict.h"

/* The table's peak in the unit of the test (GB/s or TFLOP/s); NaN for a test without one, or where
 * the table is silent. */
double verdict_peak(const struct accel *accel, const char *test);

/*
 * What a sound machine with this accelerator reaches: the fleet's median if there are machines and
 * providers enough, it has not moved and it is no lower than its floor; else the seed of that name;
 * else the share of the peak of "*". Groups use the least of their members. NaN (source "") where
 * nothing is known.
 */
double verdict_reference(const struct accel *accel, const char *test,
    const struct verdict_refs *refs, const struct verdict_limits *limits, const char **source_out);

#endif
