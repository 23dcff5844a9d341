/* src/model/measure.h - what was measured on a machine, as the store keeps it.  Floor: model. */
#ifndef BERTH_MODEL_MEASURE_H
#define BERTH_MODEL_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* One probe of one machine and what was made of it. Strings are never NULL. */
struct measurement {
	int64_t id;
	int64_t instance_id; /* 0: a machine that berth did not rent */
	int64_t t;           /* s since epoch */
	const char *provider, *region, *zone,
	    *instance_type;      /* "" where it is not an offer's machine */
	const char *accelerator; /* canonical name */
	const char *host;        /* the machine's own name; "" */
	const char *mode;        /* probe_mode_name(): "gpu" "host" "other" */
	const char *level;       /* "quick" "standard" "deep" */
	double speed;            /* measured over promised, 1 = as promised; NaN: not measured */
	const char *verdict;     /* "accept" "discount" "reject"; "" not judged */
	const char *reason;      /* in words */
	const char *json;        /* the whole berth.probe-result/1; "" if it could not be read */
};

/* One test of a measurement: an indicator that trends and baselines are built on. */
struct measure_row {
	int64_t measurement_id;
	const char *test; /* "dram_triad" */
	int gpu, peer;    /* -1: the host; no peer */
	double value;
	const char *unit;
	const char *status; /* probe_status_name() */
};

/* What the probes of one kind of machine say: the mean speed of the last 20 that were measured. */
struct fleet_speed {
	const char *provider, *region, *instance_type, *accelerator;
	double speed;
	int64_t n;    /* measurements behind it */
	int64_t last; /* s since epoch of the newest */
};

#endif
