/* Is the machine what was sold? */
#include <math.h>
#include <stdlib.h>

#include "plan/verdict_impl.h"
#include "util/str.h"

/* Which device is it, by its own account, and is it what was sold? */
static void
judge_model(struct judge *j, const struct probe_gpu *g)
{
	const struct accel *sold = j->p->accel, *have;
	double faster;

	have =
	    j->table != NULL ? accel_find_sized(j->table, g->name, g->memory_mib / 1024.0) : NULL;
	if (have != NULL && (j->v->actual[0] == '\0'))
		j->v->actual = have->name;
	if (j->accel == NULL)
		j->accel = have;
	if (sold == NULL)
		return;
	if (have == NULL) {
		judge_reason(j, VERDICT_DISCOUNT, "unknown_model", g->index,
		    "gpu %d calls itself '%s', which the table of accelerators lacks; it was sold "
		    "as %s",
		    g->index, g->name, j->p->accelerator);
		return;
	}
	if (accel_is(have, sold) || accel_is(sold, have)) {
		if (accel_is(have, sold))
			j->accel = have;
		return;
	}
	faster = accel_speed_ratio(have, sold, PRECISION_BF16);
	if (faster >= 1.0 && have->bandwidth_gb_s >= sold->bandwidth_gb_s &&
	    have->memory_gib >= sold->memory_gib)
		judge_reason(j, VERDICT_ACCEPT, "other_model", g->index,
		    "gpu %d is a %s, sold as %s: another, no slower model", g->index, have->name,
		    j->p->accelerator);
	else
		judge_reason(j, VERDICT_REJECT, "wrong_model", g->index,
		    "gpu %d is a %s, sold as %s", g->index, have->name, j->p->accelerator);
}

/* Whose references count for one device: its own model's where that is what was sold, or where
 * nothing was. */
const struct accel *
judge_accel_of(const struct judge *j, const struct probe_gpu *g)
{
	const struct accel *sold = j->p->accel;
	const struct accel *have =
	    j->table != NULL ? accel_find_sized(j->table, g->name, g->memory_mib / 1024.0) : NULL;

	if (have != NULL && (sold == NULL || accel_is(have, sold)))
		return have;
	return sold != NULL ? sold : j->accel;
}

static void
judge_mixed(struct judge *j)
{
	const struct probe_gpu *g = j->r->gpus;

	for (size_t i = 1; i < j->r->n_gpus; i++)
		if (!str_eq(g[i].name, g[0].name)) {
			judge_reason(j, VERDICT_ACCEPT, "mixed_models", -1,
			    "the machine has several models: gpu %d is a %s, gpu %d a %s; a job on "
			    "all of them runs at the pace of the slowest",
			    g[0].index, g[0].name, g[i].index, g[i].name);
			return;
		}
}

static void
judge_slice(struct judge *j, const struct probe_gpu *g)
{
	const struct accel *a = j->accel;
	const int of = a != NULL ? a->mig_slices : 0;

	if (g->mig[0] != '\0' && j->p->mig[0] == '\0' && j->p->accelerator[0] != '\0' && of > 0 &&
	    strtol(g->mig, NULL, 10) == of &&
	    g->memory_mib / 1024.0 >= j->limits->memory * a->memory_gib)
		judge_reason(j, VERDICT_DISCOUNT, "slice", g->index,
		    "gpu %d is the slice %s, the largest of a %s: all of its memory, but no NVLink "
		    "and perhaps fewer multiprocessors; sold as a whole one",
		    g->index, g->mig, a->name);
	else if (g->mig[0] != '\0' && j->p->mig[0] == '\0' && j->p->accelerator[0] != '\0')
		judge_reason(j, VERDICT_REJECT, "slice", g->index,
		    "gpu %d is a slice (%s), sold as a whole %s", g->index, g->mig,
		    j->p->accelerator);
	else if (j->p->mig[0] != '\0' && g->mig[0] != '\0' &&
		 strtol(g->mig, NULL, 10) != strtol(j->p->mig, NULL, 10))
		judge_reason(j, VERDICT_REJECT, "slice", g->index,
		    "gpu %d is the slice %s, sold as %s", g->index, g->mig, j->p->mig);
}

static void
judge_size(struct judge *j, const struct probe_gpu *g)
{
	const struct accel *accel = j->p->accel;
	double promised = j->p->memory_gib, have = g->memory_mib / 1024.0;

	if (isnan(promised) && accel != NULL && g->mig[0] == '\0')
		promised = accel->memory_gib;
	if (isfinite(promised) && promised > 0 && !(have >= j->limits->memory * promised))
		judge_reason(j, VERDICT_REJECT, "less_memory", g->index,
		    "gpu %d has %.1f GiB of memory, %.4g were sold", g->index, have, promised);
	if (g->mig[0] != '\0' || j->accel == NULL || j->accel->n_members > 0)
		return;
	if (j->accel->compute_capability[0] != '\0' && g->cc[0] != '\0' &&
	    !str_eq(j->accel->compute_capability, g->cc))
		judge_reason(j, VERDICT_REJECT, "wrong_capability", g->index,
		    "gpu %d has compute capability %s; a %s has %s", g->index, g->cc,
		    j->accel->name, j->accel->compute_capability);
	if (j->accel->sm_count > 0 && g->sms > 0 && g->sms < j->accel->sm_count)
		judge_reason(j, VERDICT_DISCOUNT, "fewer_sms", g->index,
		    "gpu %d has %d multiprocessors; a %s has %d", g->index, g->sms, j->accel->name,
		    j->accel->sm_count);
}

void
judge_identity(struct judge *j)
{
	const struct probe_result *r = j->r;
	size_t no_ecc = 0;
	const int promised = j->p->count > 0 ? j->p->count : j->p->accelerator[0] != '\0' ? 1 : 0;

	if (r->mode == PROBE_MODE_NETWORK && promised > 0)
		judge_reason(j, VERDICT_REJECT, "not_measured", -1,
		    "only the network was measured, not the %d %s that were sold", promised,
		    j->p->accelerator[0] != '\0' ? j->p->accelerator : "GPUs");
	else if (r->mode == PROBE_MODE_HOST && promised > 0)
		judge_reason(j, VERDICT_REJECT, "no_gpu", -1,
		    "no GPU could be used where %d %s were sold%s%s", promised, j->p->accelerator,
		    r->n_errors > 0 ? ": " : "", r->n_errors > 0 ? r->errors[0].message : "");
	else if (r->n_gpus < (size_t)promised)
		judge_reason(j, VERDICT_REJECT, "missing_gpus", -1, "%zu of %d %s are there",
		    r->n_gpus, promised, j->p->accelerator[0] != '\0' ? j->p->accelerator : "GPUs");
	else if (promised > 0 && r->n_gpus > (size_t)promised)
		judge_reason(j, VERDICT_ACCEPT, "more_gpus", -1, "%zu GPUs where %d were sold",
		    r->n_gpus, promised);
	if (r->n_gpus == 0 &&
	    (r->mode == PROBE_MODE_GPU || (r->mode == PROBE_MODE_OTHER && r->n_tests == 0)))
		judge_reason(j, VERDICT_REJECT, "not_measured", -1,
		    "neither an accelerator nor a measurement is in the result");
	for (size_t i = 0; i < r->n_gpus; i++) {
		judge_model(j, &r->gpus[i]);
		judge_slice(j, &r->gpus[i]);
		judge_size(j, &r->gpus[i]);
		no_ecc += r->gpus[i].ecc == 0;
	}
	judge_mixed(j);
	if (no_ecc > 0)
		judge_reason(j, VERDICT_ACCEPT, "no_ecc", -1,
		    "ECC is off on %zu of %zu GPUs: memory errors would not be seen", no_ecc,
		    r->n_gpus);
}
