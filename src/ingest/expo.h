/* src/ingest/expo.h - metrics as text: Prometheus' exposition format and OpenMetrics.  Floor:
 * domain, pure. */
#ifndef BERTH_INGEST_EXPO_H
#define BERTH_INGEST_EXPO_H

#include "ingest/ingest.h"
#include "util/arena.h"

struct expo;

/*
 * Handed one line after the other, it hands on one point a sample, its labels by key. Label values
 * may hold anything, with \\ \" \n escaped. A time of 12 digits or more is milliseconds (the
 * Prometheus format), any other seconds (OpenMetrics). Buckets, sums and quantiles of histograms
 * and summaries are counted and left out.
 */
struct expo *expo_new(struct arena *a, const struct ingest_sink *sink);
/* line [len] without the end of line, line[len] writable; changed. Only what the sink returns is an
 * error. */
BERTH_MUST_CHECK enum berth_code expo_line(
    struct expo *x, char *line, size_t len, long number, struct berth_err *err);
/* Lines that were samples, refused ones too, and those that were parts of histograms and summaries.
 */
int64_t expo_samples(const struct expo *x);
int64_t expo_skipped(const struct expo *x);

/* NaN, +Inf, -Inf, Inf, and decimal numbers. */
bool expo_value(const char *s, double *out);

#endif
