#include "config.h"

#include <math.h>
#include <string.h>

#include "plan/verdict_rate.h"
#include "util/str.h"

static const struct verdict_peak_row {
	const char *test;
	int precision; /* enum accel_precision; -1: memory bandwidth */
} verdict_peaks[] = {
	{ "dram_read", -1 },
	{ "dram_copy", -1 },
	{ "dram_triad", -1 },
	{ "dram_triad_hot", -1 },
	{ "fma_fp32", PRECISION_FP32 },
	{ "fma_fp64", PRECISION_FP64 },
	{ "mma_f16", PRECISION_FP16 },
	{ "mma_bf16", PRECISION_BF16 },
	{ "mma_tf32", PRECISION_TF32 },
	{ "mma_s8", PRECISION_INT8 },
	{ "mma_f64", PRECISION_FP64_MMA },
	{ "mma_e4m3", PRECISION_FP8 },
	{ "wgmma_bf16", PRECISION_BF16 },
	{ "wgmma_e4m3", PRECISION_FP8 },
	{ "gemm_fp64", PRECISION_FP64_MMA },
	{ "gemm_fp32", PRECISION_FP32 },
	{ "gemm_tf32", PRECISION_TF32 },
	{ "gemm_fp16", PRECISION_FP16 },
	{ "gemm_bf16", PRECISION_BF16 },
	{ "gemm_fp8", PRECISION_FP8 },
	{ "gemm_int8", PRECISION_INT8 },
	{ "gemm_fp4", PRECISION_FP4 },
	{ "steady", PRECISION_BF16 },
};

double
verdict_peak(const struct accel *accel, const char *test)
{
	for (size_t i = 0; accel != NULL && i < sizeof(verdict_peaks) / sizeof(verdict_peaks[0]);
	     i++) {
		const struct verdict_peak_row *r = &verdict_peaks[i];

		if (!str_eq(r->test, test))
			continue;
		if (r->precision < 0)
			return accel->bandwidth_gb_s;
		if (r->precision == PRECISION_FP64_MMA &&
		    isnan(accel->peak_tflops[PRECISION_FP64_MMA]))
			return accel->peak_tflops[PRECISION_FP64]; /* no FP64 tensor cores: the
								      vector units do it */
		return accel->peak_tflops[r->precision];
	}
	return (double)NAN;
}

static double
verdict_ref_value(const struct verdict_ref *ref, const struct accel *accel)
{
	return isfinite(ref->value) ? ref->value : ref->of_peak * verdict_peak(accel, ref->test);
}

/* The seed of one product. */
static double
verdict_seed(const struct accel *accel, const char *test, const struct verdict_refs *refs,
    const char **source_out)
{
	double any = (double)NAN;

	for (size_t i = 0; i < refs->n; i++) {
		const struct verdict_ref *ref = &refs->refs[i];

		if (ref->machines > 0 || !str_eq(ref->test, test))
			continue;
		if (str_eq(ref->accelerator, accel->name)) {
			*source_out = ref->source;
			return verdict_ref_value(ref, accel);
		}
		if (str_eq(ref->accelerator, "*")) {
			any = verdict_ref_value(ref, accel);
			*source_out = ref->source;
		}
	}
	return any;
}

/* Is a median of machines like those that are judged? */
static bool
verdict_like(const struct verdict_ref *ref, const char *key)
{
	return key == NULL || key[0] == '\0' || ref->key == NULL || ref->key[0] == '\0' ||
	       str_eq(ref->key, key);
}

static const struct verdict_ref *
verdict_fleet(const struct accel *accel, const char *test, const struct verdict_refs *refs,
    const struct verdict_limits *limits)
{
	const struct verdict_ref *best = NULL;

	for (size_t i = 0; i < refs->n; i++) {
		const struct verdict_ref *ref = &refs->refs[i];

		if (verdict_like(ref, refs->key) &&
		    (best == NULL || ref->machines > best->machines) &&
		    ref->machines >= (int)limits->fleet_machines &&
		    ref->providers >= (int)limits->fleet_providers && str_eq(ref->test, test) &&
		    str_eq(ref->accelerator, accel->name) && isfinite(ref->value) &&
		    !(fabs(ref->drift) > limits->fleet_drift))
			best = ref;
	}
	return best;
}

double
verdict_reference(const struct accel *accel, const char *test, const struct verdict_refs *refs,
    const struct verdict_limits *limits, const char **source_out)
{
	const struct verdict_ref *fleet;
	double least = (double)NAN, seed;

	*source_out = "";
	if (accel == NULL)
		return (double)NAN;
	for (size_t i = 0; i < accel->n_members; i++) {
		const char *source;
		double v = verdict_reference(accel->members[i], test, refs, limits, &source);

		if (!(v >= least)) {
			least = v;
			*source_out = source;
		}
	}
	if (accel->n_members > 0)
		return least;
	seed = verdict_seed(accel, test, refs, source_out);
	fleet = verdict_fleet(accel, test, refs, limits);
	if (fleet == NULL)
		return seed;
	*source_out = fleet->source;
	return isfinite(seed) && fleet->value < limits->fleet_floor * seed
		   ? limits->fleet_floor * seed
		   : fleet->value;
}
