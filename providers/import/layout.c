#include <stdio.h>
#include <string.h>

#include "providers/import/layout.h"

struct layout_row {
	const char *name;
	const char *column[LAYOUT_FIELD_COUNT];
	enum layout_field needed[6]; /* ends with LAYOUT_FIELD_COUNT */
};

static const struct layout_row layout_rows[IMPORT_FORMAT_COUNT] = {
	[IMPORT_BERTH] = {
		.name = "berth",
		.column = {
			[LAYOUT_PROVIDER] = "provider", [LAYOUT_REGION] = "region", [LAYOUT_ZONE] = "zone",
			[LAYOUT_TYPE] = "instance_type", [LAYOUT_ACCELERATOR] = "accelerator",
			[LAYOUT_COUNT] = "accelerator_count", [LAYOUT_MEMORY] = "accelerator_memory_gib",
			[LAYOUT_VCPUS] = "vcpus", [LAYOUT_RAM] = "memory_gib", [LAYOUT_PURCHASE] = "purchase",
			[LAYOUT_TERM] = "term_months", [LAYOUT_PAYMENT] = "payment", [LAYOUT_UPFRONT] = "upfront",
			[LAYOUT_PRICE] = "price_per_hour", [LAYOUT_CURRENCY] = "currency",
			[LAYOUT_RATE] = "interruption_rate", [LAYOUT_AVAILABLE] = "available", [LAYOUT_AS_OF] = "as_of",
			[LAYOUT_SOURCE] = "source", [LAYOUT_KIND] = "kind", [LAYOUT_STARTS] = "starts_at", [LAYOUT_ENDS] = "ends_at",
			[LAYOUT_USAGE] = "usage_price_per_hour",
		},
		.needed = { LAYOUT_PROVIDER, LAYOUT_TYPE, LAYOUT_ACCELERATOR, LAYOUT_PURCHASE, LAYOUT_PRICE,
			LAYOUT_FIELD_COUNT },
	},
	[IMPORT_COLLECTED] = {
		.name = "collected",
		.column = {
			[LAYOUT_PROVIDER] = "provider", [LAYOUT_REGION] = "region", [LAYOUT_ZONE] = "zone",
			[LAYOUT_TYPE] = "instance_type", [LAYOUT_ACCELERATOR] = "accelerator",
			[LAYOUT_COUNT] = "accelerator_count", [LAYOUT_MEMORY] = "accelerator_mem_gib",
			[LAYOUT_VCPUS] = "vcpus", [LAYOUT_RAM] = "mem_gib", [LAYOUT_PURCHASE] = "purchase",
			[LAYOUT_PRICE] = "price_per_hour_usd", [LAYOUT_AS_OF] = "as_of", [LAYOUT_SOURCE] = "source",
		},
		.needed = { LAYOUT_PROVIDER, LAYOUT_TYPE, LAYOUT_ACCELERATOR, LAYOUT_PURCHASE, LAYOUT_PRICE,
			LAYOUT_FIELD_COUNT },
	},
	[IMPORT_SKYPILOT] = {
		.name = "skypilot",
		.column = {
			[LAYOUT_REGION] = "Region", [LAYOUT_ZONE] = "AvailabilityZone", [LAYOUT_TYPE] = "InstanceType",
			[LAYOUT_ACCELERATOR] = "AcceleratorName", [LAYOUT_COUNT] = "AcceleratorCount", [LAYOUT_VCPUS] = "vCPUs",
			[LAYOUT_RAM] = "MemoryGiB", [LAYOUT_PRICE] = "Price", [LAYOUT_SPOT_PRICE] = "SpotPrice",
			[LAYOUT_INFO] = "GpuInfo",
		},
		.needed = { LAYOUT_TYPE, LAYOUT_ACCELERATOR, LAYOUT_COUNT, LAYOUT_PRICE, LAYOUT_REGION, LAYOUT_FIELD_COUNT },
	},
	[IMPORT_GPUHUNT] = {
		.name = "gpuhunt",
		.column = {
			[LAYOUT_PROVIDER] = "provider", [LAYOUT_REGION] = "location", [LAYOUT_TYPE] = "instance_name",
			[LAYOUT_ACCELERATOR] = "gpu_name", [LAYOUT_COUNT] = "gpu_count", [LAYOUT_MEMORY] = "gpu_memory",
			[LAYOUT_VCPUS] = "cpu", [LAYOUT_RAM] = "memory", [LAYOUT_PRICE] = "price", [LAYOUT_IS_SPOT] = "spot",
		},
		.needed = { LAYOUT_TYPE, LAYOUT_ACCELERATOR, LAYOUT_COUNT, LAYOUT_PRICE, LAYOUT_IS_SPOT, LAYOUT_FIELD_COUNT },
	},
};

const char *
import_format_name(enum import_format f)
{
	return layout_rows[f].name;
}

const char *
layout_column(const struct layout *l, enum layout_field f)
{
	return layout_rows[l->format].column[f];
}

/* The first needed column that the file lacks; NULL: it is this layout. */
static const char *
layout_lacks(const struct csv *csv, const struct layout_row *row)
{
	for (size_t i = 0; row->needed[i] != LAYOUT_FIELD_COUNT; i++)
		if (csv_column(csv, row->column[row->needed[i]]) < 0)
			return row->column[row->needed[i]];
	return NULL;
}

static enum berth_code
layout_none(const struct csv *csv, struct berth_err *err)
{
	char text[400] = "";
	size_t n = 0;

	for (int f = 0; f < IMPORT_FORMAT_COUNT && n < sizeof(text); f++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %s lacks '%s'",
		    f > 0 ? "," : "", layout_rows[f].name, layout_lacks(csv, &layout_rows[f]));
	err_set(err, BERTH_EINVAL, "no price list that berth knows:%s; see berth-prices(1)", text);
	return err_at(err, "%s:1", csv_name(csv));
}

enum berth_code
layout_find(const struct csv *csv, struct layout *layout_out, struct berth_err *err)
{
	for (int f = 0; f < IMPORT_FORMAT_COUNT; f++) {
		const struct layout_row *row = &layout_rows[f];

		if (layout_lacks(csv, row) != NULL)
			continue;
		layout_out->format = (enum import_format)f;
		for (int i = 0; i < LAYOUT_FIELD_COUNT; i++)
			layout_out->col[i] =
			    row->column[i] != NULL ? csv_column(csv, row->column[i]) : -1;
		return BERTH_OK;
	}
	return layout_none(csv, err);
}

enum berth_code
import_detect(const struct csv *csv, enum import_format *format_out, struct berth_err *err)
{
	struct layout l;
	enum berth_code rc = layout_find(csv, &l, err);

	if (rc == BERTH_OK)
		*format_out = l.format;
	return rc;
}
