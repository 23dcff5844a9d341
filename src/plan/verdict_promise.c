#include "config.h"

#include <math.h>
#include <string.h>

#include "model/accel.h"
#include "plan/verdict.h"
#include "util/arena.h"

void
verdict_promise_name(
    struct verdict_promise *p, const struct accel_table *table, struct arena *a, const char *name)
{
	struct accel_ref ref;

	p->accelerator = name;
	p->accel = isfinite(p->memory_gib) ? accel_find_sized(table, name, p->memory_gib)
					   : accel_find(table, name);
	if (p->accel != NULL || !accel_resolve(table, a, name, &ref) || ref.accel == NULL)
		return;
	p->accel = ref.accel;
	p->mig = ref.slice_g > 0 ? ref.slice : "";
	if (!isfinite(p->memory_gib))
		p->memory_gib = ref.memory_gib;
}
