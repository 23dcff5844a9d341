#include <math.h>

#include "model/accel.h"
#include "providers/prov.h"

void
prov_offer_resolve(const struct accel_table *accels, struct offer *o)
{
	const struct accel *a =
	    accels != NULL ? accel_find_sized(accels, o->accelerator, o->accelerator_memory_gib)
			   : NULL;

	o->accelerator_known = a != NULL;
	if (a == NULL)
		return;
	o->accelerator = a->name;
	if (isnan(o->accelerator_memory_gib))
		o->accelerator_memory_gib = a->memory_gib;
}
