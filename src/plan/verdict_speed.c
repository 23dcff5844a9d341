/* What was measured of each GPU, against what a sound one reaches. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plan/verdict_impl.h"
#include "plan/verdict_rate.h"
#include "util/arena.h"
#include "util/str.h"

/* What part of the whole device's rates the GPU at hand may be held to. */
static void
judge_share(struct judge *j, const struct probe_gpu *g)
{
	struct accel_ref ref = { .share = 1.0 };

	j->share = j->memory_share = 1.0;
	if (g->mig[0] == '\0')
		return;
	if (j->accel != NULL && j->table != NULL &&
	    accel_resolve(
		j->table, j->a, arena_printf(j->a, "%s %s", j->accel->name, g->mig), &ref) &&
	    ref.slice_g > 0)
		j->share = ref.share;
	else if (j->accel != NULL && j->accel->sm_count > 0 && g->sms > 0)
		j->share = (double)g->sms / j->accel->sm_count;
	if (j->accel != NULL && j->accel->memory_gib > 0 && isfinite(g->memory_mib))
		j->memory_share = fmin(1.0, g->memory_mib / 1024.0 / j->accel->memory_gib);
}

/*
 * First test of the list that was measured on the GPU and has a reference, else the first that was
 * measured (ratio NaN); false if none was.
 */
static bool
judge_pick(
    struct judge *j, int gpu, const char *const *names, double share, struct verdict_ratio *out)
{
	bool found = false;

	for (; *names != NULL; names++) {
		const struct probe_test *t = probe_test_find(j->r, *names, gpu, -1);
		struct verdict_ratio r = { .gpu = gpu };

		if (t == NULL &&
		    j->r->mode ==
			PROBE_MODE_OTHER) /* a user's benchmark: of one accelerator, for all */
			t = probe_test_find(j->r, *names, -1, -1);
		if (t == NULL || (t->status != PROBE_OK && t->status != PROBE_PARTIAL) ||
		    !(t->value > 0.0))
			continue;
		r.test = t->name;
		r.measured = t->value;
		r.unit = t->unit;
		r.reference =
		    share * verdict_reference(j->accel, *names, j->refs, j->limits, &r.source);
		r.ratio = r.measured / r.reference;
		if (!found || isfinite(r.ratio))
			*out = r;
		found = true;
		if (isfinite(r.ratio))
			return true;
	}
	return found;
}

static void
judge_class(struct judge *j, const struct verdict_ratio *r)
{
	if (isnan(r->ratio))
		return;
	if (r->ratio < j->limits->reject)
		judge_reason(j, VERDICT_REJECT, "slow", r->gpu,
		    "gpu %d: %s %.4g %s, %.0f %% of the %.4g that a sound one reaches", r->gpu,
		    r->test, r->measured, r->unit, 100.0 * r->ratio, r->reference);
	else if (r->ratio < j->limits->accept)
		judge_reason(j, VERDICT_DISCOUNT, "slow", r->gpu,
		    "gpu %d: %s %.4g %s, %.0f %% of the %.4g that a sound one reaches", r->gpu,
		    r->test, r->measured, r->unit, 100.0 * r->ratio, r->reference);
}

static const char *const judge_memory_tests[] = { "dram_triad", "dram_copy", "dram_read", NULL };
static const char *const judge_compute_tests[] = { "gemm_bf16", "gemm_fp16", "gemm_fp32",
	"wgmma_bf16", "mma_bf16", "mma_f16", "fma_fp32", NULL };

static bool
judge_compute(struct judge *j, int gpu, struct verdict_ratio *out)
{
	const char *asked[2] = { arena_printf(j->a, "gemm_%s", j->p->precision), NULL };

	if (j->p->precision[0] != '\0' && judge_pick(j, gpu, asked, j->share, out))
		return true;
	if (!judge_pick(j, gpu, judge_compute_tests, j->share, out))
		return false;
	if (j->p->precision[0] != '\0')
		judge_reason(j, VERDICT_ACCEPT, "other_precision", gpu,
		    "gpu %d: %s was not measured; %s counts in its place", gpu, asked[0],
		    out->test);
	return true;
}

/* Rates at the end of the steady part against its start: what heat costs. */
static double
judge_heat(struct judge *j, int gpu)
{
	const struct probe_test *t = probe_test_find(j->r, "hot_cold", gpu, -1);

	if (t == NULL || t->status != PROBE_OK || !(t->value > 0.0) ||
	    t->value >= j->limits->hot_cold)
		return 1.0;
	judge_reason(j, t->value < j->limits->reject ? VERDICT_REJECT : VERDICT_DISCOUNT, "heat",
	    gpu, "gpu %d falls to %.0f %% of its speed within the steady part: bad cooling", gpu,
	    100.0 * t->value);
	return t->value;
}

/* A user's own benchmark under a name of its own has the reference that the table or the fleet
 * gives that name. */
static bool
judge_user(struct judge *j, int gpu, struct verdict_ratio *out)
{
	bool found = false;

	for (size_t i = 0; i < j->r->n_tests; i++) {
		const char *const names[] = { j->r->tests[i].name, NULL };

		if (j->r->tests[i].gpu < 0 && strncmp(names[0], "user", 4) == 0 &&
		    judge_pick(j, gpu, names, j->share, out)) {
			found = true;
			if (isfinite(out->ratio))
				break;
		}
	}
	return found;
}

/*
 * No tool of NVIDIA's is asked for a result: one that names such a device and measured nothing was
 * made up, or is broken.
 */
static bool
judge_is_nvidia(const struct judge *j, const struct probe_gpu *g)
{
	const struct accel *have =
	    j->table != NULL ? accel_find_sized(j->table, g->name, g->memory_mib / 1024.0) : NULL;

	return (have != NULL && str_eq(have->vendor, "NVIDIA")) ||
	       (j->p->accel != NULL && str_eq(j->p->accel->vendor, "NVIDIA")) ||
	       strncasecmp(g->name, "NVIDIA", 6) == 0 || str_starts(g->pci, "10de:");
}

static void
judge_unmeasured(struct judge *j, int gpu)
{
	for (size_t i = 0; i < j->r->n_gpus; i++) {
		if (j->r->gpus[i].index != gpu || !judge_is_nvidia(j, &j->r->gpus[i]))
			continue;
		judge_reason(j, VERDICT_REJECT, "not_measured", gpu,
		    "gpu %d is an NVIDIA device that was not measured: measure it with "
		    "berth-probe, or with a benchmark of your own",
		    gpu);
		return;
	}
	judge_reason(j, VERDICT_ACCEPT, "not_measured", gpu,
	    "gpu %d was identified by its vendor's tool, not measured", gpu);
}

/* What no kernel of ours measured: a user's benchmark if there is one, else what the vendor's tool
 * says is all. */
static void
judge_other(struct judge *j, int gpu, const struct verdict_ratio *memory,
    const struct verdict_ratio *compute)
{
	struct verdict_ratio user = { .measured = (double)NAN, .ratio = (double)NAN };

	if (memory->measured > 0.0 || compute->measured > 0.0)
		return;
	if (!judge_user(j, gpu, &user)) {
		judge_unmeasured(j, gpu);
		return;
	}
	user.resource = "user";
	judge_class(j, &user);
	judge_ratio(j, &user);
	if (isnan(user.ratio))
		judge_reason(j, VERDICT_ACCEPT, "no_reference", gpu,
		    "gpu %d: %s %.4g %s, for which there is no reference yet", gpu, user.test,
		    user.measured, user.unit);
	else if (!(user.ratio >= j->v->speed))
		j->v->speed = user.ratio;
}

static void
judge_gpu_speed(
    struct judge *j, const struct verdict_ratio *memory, const struct verdict_ratio *compute)
{
	const double w = j->limits->weight_memory;
	double speed = (double)NAN;

	if (isfinite(memory->ratio) && isfinite(compute->ratio))
		speed = 1.0 / (w / memory->ratio + (1.0 - w) / compute->ratio);
	else if (isfinite(memory->ratio))
		speed = memory->ratio;
	else if (isfinite(compute->ratio))
		speed = compute->ratio;
	if (!(speed >= j->v->speed)) /* the slowest counts; also true while v->speed is NaN */
		j->v->speed = isnan(speed) ? j->v->speed : speed;
	if (!(memory->measured >= j->v->memory_gb_s) && memory->measured > 0.0)
		j->v->memory_gb_s = memory->measured;
	if (!(compute->measured >= j->v->compute_tflops) && compute->measured > 0.0) {
		j->v->compute_tflops = compute->measured;
		j->v->compute_test = compute->test;
	}
}

void
judge_rates(struct judge *j)
{
	for (size_t i = 0; i < j->r->n_gpus; i++) {
		const int gpu = j->r->gpus[i].index;
		struct verdict_ratio memory = { .measured = (double)NAN, .ratio = (double)NAN };
		struct verdict_ratio compute = memory;

		j->accel = judge_accel_of(j, &j->r->gpus[i]);
		judge_share(j, &j->r->gpus[i]);
		if (judge_pick(j, gpu, judge_memory_tests, j->memory_share, &memory)) {
			memory.resource = "memory";
			judge_class(j, &memory);
			judge_ratio(j, &memory);
		} else if (j->r->mode == PROBE_MODE_GPU) {
			judge_reason(j, VERDICT_REJECT, "not_measured", gpu,
			    "gpu %d: its memory was not measured", gpu);
		}
		if (judge_compute(j, gpu, &compute)) {
			compute.resource = "compute";
			judge_class(j, &compute);
			compute.ratio *= judge_heat(j, gpu);
			judge_ratio(j, &compute);
		} else if (j->r->mode == PROBE_MODE_GPU) {
			judge_reason(j, VERDICT_REJECT, "not_measured", gpu,
			    "gpu %d: its arithmetic was not measured", gpu);
		}
		judge_gpu_speed(j, &memory, &compute);
		if (j->r->mode == PROBE_MODE_OTHER)
			judge_other(j, gpu, &memory, &compute);
	}
	if (j->r->mode == PROBE_MODE_GPU && j->accel == NULL && j->r->n_gpus > 0)
		judge_reason(j, VERDICT_ACCEPT, "no_reference", -1,
		    "no reference for '%s': only health and results were judged",
		    j->r->gpus[0].name);
}

static int
judge_double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* One slow GPU holds all others of a synchronous job. */
void
judge_straggler(struct judge *j, const char *resource)
{
	double *v = arena_array_of(j->a, j->v->n_ratios + 1, double), median;
	const struct verdict_ratio *least = NULL;
	size_t n = 0;

	for (size_t i = 0; i < j->v->n_ratios; i++) {
		const struct verdict_ratio *r = &j->v->ratios[i];

		if (!str_eq(r->resource, resource))
			continue;
		v[n++] = r->measured;
		if (least == NULL || r->measured < least->measured)
			least = r;
	}
	if (n < 2)
		return;
	qsort(v, n, sizeof(*v), judge_double_cmp);
	median = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2.0;
	if (least->measured >= j->limits->straggler * median)
		return;
	j->v->straggler = least->gpu;
	judge_reason(j, VERDICT_DISCOUNT, "straggler", least->gpu,
	    "gpu %d lags: %s %.4g %s where the median of the machine is %.4g", least->gpu,
	    least->test, least->measured, least->unit, median);
}
