/* src/model/series.h - one demand signal and its samples.  Floor: model. */
#ifndef BERTH_MODEL_SERIES_H
#define BERTH_MODEL_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/arena.h"

#define SERIES_NAME_MAX 512 /* bytes of a name */

struct series {
	int64_t id;
	const char *name;
	const char *labels; /* JSON object text, keys sorted: {"accelerator":"H100","team":"nlp"} */
	const char *unit;   /* "gpu" */
	int64_t step_s;
	int64_t interval_s; /* how far apart the rows of its source are, where that was plain to
			       see; 0: not known */
	int64_t from, to;   /* first sample's start, last sample's start; 0 if none */
	int64_t samples;
	double peak;
};

/* The value of a label, a text, in the arena; NULL: it has none. */
const char *series_label(const struct series *s, const char *key, struct arena *a);

/* False: a measurement beside demand (a share, a temperature ...), or GPUs that are free, idle or
 * waited for. */
static inline bool
series_is_demand(const struct series *s)
{
	static const char *const beside[] = { "percent", "gib", "celsius", "watt" };

	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		if (strcmp(s->unit, beside[i]) == 0)
			return false;
	return (strncmp(s->unit, "gpu_", 4) != 0 || strncmp(s->unit, "gpu_hour", 8) == 0) &&
	       strstr(s->unit, "_per_hour") == NULL;
}

/* Does it count GPUs: running, waited for, idle? */
static inline bool
series_is_gpus(const struct series *s)
{
	return s->unit == NULL || s->unit[0] == '\0' || strcmp(s->unit, "gpu") == 0 ||
	       (strncmp(s->unit, "gpu_", 4) == 0 && strncmp(s->unit, "gpu_hour", 8) != 0);
}

/* What it counts, in the plural and as people write it. Borrowed from s where that is a unit of its
 * own. */
static inline const char *
series_unit(const struct series *s)
{
	static const char *const words[][2] = { { "vcpu", "vCPUs" }, { "gpu_hour", "GPU-hours" },
		{ "gpu_hours", "GPU-hours" }, { "node", "nodes" }, { "job", "jobs" },
		{ "request", "requests" }, { "gib", "GiB" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (s->unit != NULL && strcmp(s->unit, words[i][0]) == 0)
			return words[i][1];
	return series_is_gpus(s) ? "GPUs" : s->unit;
}

/* Mean and peak GPUs in [t, t + step). Missing steps have no sample: no data is not zero. */
struct sample {
	int64_t t;         /* start of the step, s since epoch UTC, a multiple of step_s */
	double mean, peak; /* >= 0, finite, peak >= mean */
	int64_t covered_s; /* seconds of the step that are known, and that mean and peak are of; 0:
			      all of it */
};

#endif
