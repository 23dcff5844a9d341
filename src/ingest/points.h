/* src/ingest/points.h - samples of metrics become rows of usage.  Floor: domain. */
#ifndef BERTH_INGEST_POINTS_H
#define BERTH_INGEST_POINTS_H

#include "ingest/ingest.h"
#include "ingest/spool.h"

struct points_options {
	const char *const
	    *by; /* [n_by] labels of the series; n_by 0: those of the metric's rule, or all */
	size_t n_by;
	const char *metric; /* only this one; NULL: all that are known, or all if none is */
	const char *unit;   /* of metrics that nobody knows */
	int64_t at;         /* time of samples without one */
	const struct accel_table *accels;
	bool snapshot; /* all samples are of one moment: those of a series are added up, its source
			  is the series */
	const char *const
	    *drop; /* labels that say where a sample was scraped, not what it is; ends with NULL */
};

/* A value that cannot be, summed up by metric and GPU. */
struct points_absurd {
	const char *what; /* "DCGM_FI_DEV_GPU_UTIL of GPU-5d3f0a11" */
	double first;
	int64_t first_t, n, of;
};

struct points;

/*
 * Metrics that have a rule (ingest/metric.h) become series of what they mean, averaged over the
 * GPUs of a kind; the same GPU under several label sets (a pod that was rebuilt) is one GPU by its
 * UUID. Where a GPU's labels name who holds it, GPUs that are held become demand, and those of them
 * under 5 % busy become "held_idle". Any other metric becomes a series a label set, or a sum by the
 * labels asked for. Counters become increases a second. set, sp  get the rows.  say  is told what
 * was left out, once for each.
 */
struct points *points_new(struct arena *a, const struct points_options *o, struct usage_set *set,
    struct spool *sp, usage_say_fn *say, void *arg);
/* Samples before this only tell what a counter was: their steps were loaded before. */
void points_from(struct points *pts, int64_t from);
/* A sink's function for points; arg is the struct points. */
enum berth_code points_take(void *arg, const struct ingest_point *p, struct berth_err *err);
/* Says what was absurd and which accelerators nobody knows; marks series that are not to be made.
 */
BERTH_MUST_CHECK enum berth_code points_end(struct points *pts, struct berth_err *err);

struct points_counts {
	int64_t read, absurd; /* samples */
	int64_t left_out;     /* of metrics that were not asked for */
	int64_t gpus;         /* different UUIDs; 0: none has one */
};
struct points_counts points_counts(const struct points *pts);

#endif
