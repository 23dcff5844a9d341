/* providers/import/layout.h - which column of which layout holds what.  Floor: providers; this
 * folder only. */
#ifndef BERTH_PROVIDERS_IMPORT_LAYOUT_H
#define BERTH_PROVIDERS_IMPORT_LAYOUT_H

#include "providers/import/import.h"

enum layout_field {
	LAYOUT_PROVIDER,
	LAYOUT_REGION,
	LAYOUT_ZONE,
	LAYOUT_TYPE,
	LAYOUT_ACCELERATOR,
	LAYOUT_COUNT,
	LAYOUT_MEMORY,
	LAYOUT_VCPUS,
	LAYOUT_RAM,
	LAYOUT_PURCHASE,
	LAYOUT_TERM,
	LAYOUT_PAYMENT,
	LAYOUT_UPFRONT,
	LAYOUT_PRICE,
	LAYOUT_SPOT_PRICE,
	LAYOUT_IS_SPOT,
	LAYOUT_CURRENCY,
	LAYOUT_RATE,
	LAYOUT_AVAILABLE,
	LAYOUT_AS_OF,
	LAYOUT_SOURCE,
	LAYOUT_INFO,
	LAYOUT_KIND,
	LAYOUT_STARTS,
	LAYOUT_ENDS,
	LAYOUT_USAGE,
	LAYOUT_FIELD_COUNT
};

struct layout {
	enum import_format format;
	int col[LAYOUT_FIELD_COUNT]; /* -1: the file has no such column */
};

BERTH_MUST_CHECK enum berth_code layout_find(
    const struct csv *csv, struct layout *layout_out, struct berth_err *err);
/* Name of a field's column in a layout, for messages; NULL: it has none. */
const char *layout_column(const struct layout *l, enum layout_field f);

#endif
