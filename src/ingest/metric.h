/* src/ingest/metric.h - what exporters' metrics mean, and values that cannot be.  Floor: domain,
 * pure. */
#ifndef BERTH_INGEST_METRIC_H
#define BERTH_INGEST_METRIC_H

#include "ingest/ingest.h"

enum metric_kind {
	METRIC_GAUGE,
	METRIC_COUNTER, /* its increase a second is what counts */
	METRIC_MASK     /* reasons as bits: any bit of those that slow a GPU down counts */
};

/* A metric that is known by name. */
struct metric_rule {
	const char *metric; /* "DCGM_FI_DEV_GPU_UTIL" */
	const char *means; /* label "metric" of the series that it makes: "busy"; "" GPUs in use, no
			      label */
	const char *unit;  /* of the series: "percent" "gib" "celsius" "watt" "gpu" "request" */
	enum metric_kind kind;
	double scale;    /* value (a counter's: increase a second) times scale is in unit */
	double min, max; /* of the value in unit: outside is absurd */
	bool average;    /* sources (GPUs, by UUID) are averaged, not added up */
};

/* Of the labels of a ready-made query's result those count that tell the accelerator. */
bool metric_model_only(const struct metric_rule *rule);
/* NULL: nobody knows it. */
const struct metric_rule *metric_rule_find(const char *name);

/* The first of the labels that is there and not empty; NULL. names ends with NULL. */
const char *metric_label(const struct ingest_point *p, const char *const *names);
extern const char *const metric_labels_gpu[];    /* UUID, uuid, gpu_uuid */
extern const char *const metric_labels_model[];  /* accelerator, modelName, gpu_name ... */
extern const char *const metric_labels_host[];   /* Hostname, node, instance ... */
extern const char *const metric_labels_holder[]; /* pod, exported_pod, hpc_job: who holds the GPU */

/*
 * The accelerator that a sample is about, as its source spells it, in buf or of the sample's own;
 * NULL: it does not say. Resources of Kubernetes ("resource" as kube-state-metrics writes it) go by
 * the labels of their node: nvidia.com/gpu and mig-1g.10gb by the product, google.com/tpu,
 * aws.amazon.com/neuron by the kind of node, amd.com/gpu, habana.ai/gaudi.
 */
#define METRIC_MODEL_SIZE 200
const char *metric_model(const struct ingest_point *p, char buf[METRIC_MODEL_SIZE]);
/*
 * What one of such a resource is of a card, but for MIG slices: a core of a Neuron chip, a GPU that
 * several share in turns.
 */
double metric_share(const struct ingest_point *p);

/*
 * A value in the rule's unit. False: NaN, infinite, or outside of what can be: a sentinel
 * (4294967295, the blank values of DCGM near 2^63 and 1.4e14) or an error of the exporter. For
 * METRIC_COUNTER raw is the increase a second.
 */
bool metric_value(const struct metric_rule *rule, double raw, double *out);

/* A counter between two of its samples: how much it grew, from 0 where it began again. */
double metric_increase(double from, double to);

#endif
