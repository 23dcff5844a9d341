/* src/ingest/focus.h - billing data in the FinOps FOCUS format, 1.0 to 1.2.  Floor: domain. */
#ifndef BERTH_INGEST_FOCUS_H
#define BERTH_INGEST_FOCUS_H

#include <stdio.h>

#include "ingest/usage.h"

/* What an instance type has. False: nobody knows it, or it has no accelerator. */
typedef bool focus_machine_fn(
    void *arg, const char *instance_type, const char **accelerator_out, double *count_out);

struct focus_options {
	const struct accel_table *accels;
	focus_machine_fn *machine;
	void *machine_arg;
};

struct focus_counts {
	struct usage_counts rows;
	int64_t without_gpus; /* usage of other things; taxes, credits, purchases */
	double gpu_hours;
	double cost; /* effective, in the currency of the bill */
};

#define FOCUS_LABELS_MAX 10

/* A row about GPUs. */
struct focus_bill {
	uint64_t key[2];    /* of what identifies it; others may have the same */
	uint64_t scope;     /* of its provider, billing and sub account, and billing period */
	int64_t start, end; /* charge period */
	bool used;          /* false: a commitment, or reserved capacity, that nobody used */
	double gpu_hours;   /* < 0: a correction */
	double cost;        /* EffectiveCost; NaN not said */
	const char *currency;
	const struct usage_label *labels; /* [n_labels] without blanks, in no order */
	size_t n_labels;
};

struct focus_sink {
	void *arg;
	enum berth_code (*bill)(void *arg, const struct focus_bill *row, struct berth_err *err);
	usage_say_fn *say;
	usage_progress_fn *progress;
};

/*
 * Rows of usage: their GPU-hours, and what they cost (EffectiveCost, which has commitments spread
 * over their use already). GPUs are SkuPriceDetails' GpuCount, or what machine() says of the
 * instance type (SkuPriceDetails' InstanceType, x_InstanceType, InstanceType). A unit that counts
 * GPU-hours itself needs neither. Unused commitments cost and use nothing. Labels: provider,
 * region, zone, account, accelerator, instance_type, purchase (on_demand, spot, reserved), sku,
 * commitment. a  for what is remembered of names BERTH_EINVAL: a column is missing; BERTH_EIO; or
 * what the sink returned, where BERTH_EINVAL refuses the row.
 */
BERTH_MUST_CHECK enum berth_code focus_read(FILE *f, const char *name,
    const struct focus_options *o, struct arena *a, const struct focus_sink *sink,
    struct focus_counts *counts, struct berth_err *err);

#endif
