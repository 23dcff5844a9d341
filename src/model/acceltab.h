/* src/model/acceltab.h - the inside of an accelerator table.  Floor: model, inside accel*.c. */
#ifndef BERTH_MODEL_ACCELTAB_H
#define BERTH_MODEL_ACCELTAB_H

#include <stddef.h>

#include "model/accel.h"
#include "util/strmap.h"

struct accel_table {
	const struct accel **all; /* [n]: products in file order, then groups */
	size_t n_products, n;
	struct strmap keys; /* name or alias, reduced -> index in all */
};

#endif
