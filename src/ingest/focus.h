/* src/ingest/focus.h - billing data in the FinOps FOCUS format, 1.0 to 1.2.  Floor: domain. */
#ifndef BERTH_INGEST_FOCUS_H
#define BERTH_INGEST_FOCUS_H

#include <stdio.h>

#include "ingest/spool.h"
#include "ingest/usage.h"

/* What an instance type has. False: nobody knows it, or it has no accelerator. */
typedef bool focus_machine_fn(void *arg, const char *instance_type, const char **accelerator_out, double *count_out);

struct focus_options {
	const char *const *by;		/* [n_by] labels; n_by 0: provider, region, accelerator, purchase */
	size_t n_by;
	const struct accel_table *accels;
	focus_machine_fn *machine;
	void *machine_arg;
};

struct focus_counts {
	struct usage_counts rows;
	int64_t without_gpus;		/* usage of other things; taxes, credits, purchases */
	double gpu_hours;
	double cost;			/* effective, in the currency of the bill */
};

/*
 * Rows of usage become two signals for each set of labels: GPUs in use (gpu-hours over the hours of the charge period) and
 * what they cost an hour (EffectiveCost, which has commitments spread over their use already; unit usd_per_hour, or
 * another currency's). Rows of the same period and labels add up, corrections too.
 * GPUs are SkuPriceDetails' GpuCount, or what machine() says of the instance type (SkuPriceDetails' InstanceType,
 * x_InstanceType, InstanceType). A unit that counts GPU-hours itself needs neither. Unused commitments cost and use nothing.
 * Labels: provider, region, zone, account, accelerator, instance_type, purchase (on_demand, spot, reserved), sku, commitment.
 * BERTH_EINVAL: a column is missing; BERTH_EIO.
 */
BERTH_MUST_CHECK enum berth_code focus_read(FILE *f, const char *name, const struct focus_options *o, struct usage_set *set,
    struct spool *sp, struct focus_counts *counts, usage_say_fn *say, void *arg, struct berth_err *err);

#endif
