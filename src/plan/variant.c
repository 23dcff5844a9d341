#include "config.h"

#include <math.h>
#include <stdio.h>

#include "plan/variant.h"
#include "plan/verdict_rate.h"
#include "util/str.h"

#define GIB 1073741824.0

static const char *const variant_phases[VARIANT_PHASE_COUNT] = {
	[VARIANT_TRAIN] = "train",
	[VARIANT_PREFILL] = "prefill",
	[VARIANT_DECODE] = "decode",
};

const char *
variant_phase_name(enum variant_phase p)
{
	return variant_phases[p];
}

bool
variant_phase_parse(const char *s, enum variant_phase *p_out)
{
	for (int i = 0; i < VARIANT_PHASE_COUNT; i++)
		if (str_eq(variant_phases[i], s)) {
			*p_out = (enum variant_phase)i;
			return true;
		}
	return false;
}

double
variant_weight_bytes(enum accel_precision p)
{
	switch (p) {
	case PRECISION_FP64:
	case PRECISION_FP64_MMA:
		return 8;
	case PRECISION_FP32:
	case PRECISION_TF32:
		return 4;
	case PRECISION_FP16:
	case PRECISION_BF16:
		return 2;
	case PRECISION_FP8:
	case PRECISION_INT8:
		return 1;
	case PRECISION_FP4:
		return 0.5 + 1.0 / 16; /* a scale of one byte for 16 elements */
	case PRECISION_COUNT:
		break;
	}
	return (double)NAN;
}

void
variant_model_complete(struct variant_model *m)
{
	m->batch = m->batch > 0 ? m->batch : 1;
	m->context = m->context > 0 ? m->context : 2048;
	m->shape_estimated = !(m->layers > 0 && m->hidden > 0 && m->kv_width > 0);
	if (!(m->layers > 0) && m->hidden > 0)
		m->layers = m->params / (12.0 * m->hidden * m->hidden);
	if (!(m->layers > 0))
		m->layers = cbrt(m->params / (12.0 * 128.0 * 128.0));
	if (!(m->hidden > 0))
		m->hidden = sqrt(m->params / (12.0 * m->layers));
	if (!(m->kv_width > 0))
		m->kv_width = m->hidden / 4.0;
}

static double
variant_kv_bytes(const struct variant_model *m, enum accel_precision p)
{
	const double element = variant_weight_bytes(p) <= 1.0 ? 1.0 : 2.0;

	return 2.0 * m->layers * m->kv_width * m->context * m->batch * element;
}

void
variant_memory(const struct variant_model *m, enum accel_precision p, struct variant_need *need_out)
{
	const double tokens = m->batch * m->context, b = variant_weight_bytes(p);
	struct variant_need n = { .weights = m->params * b / GIB };

	if (m->phase == VARIANT_TRAIN) {
		n.optimizer = m->params * (16.0 - b) / GIB;
		n.activations = 34.0 * tokens * m->hidden * m->layers * (b > 2.0 ? 2.0 : 1.0) / GIB;
	} else {
		n.kv = variant_kv_bytes(m, p) / GIB;
		n.activations =
		    34.0 * (m->phase == VARIANT_PREFILL ? tokens : m->batch) * m->hidden / GIB;
	}
	n.total = n.weights + n.optimizer + n.kv + n.activations;
	*need_out = n;
}

/* Rate of matrix products in a precision; NaN where the device has no unit for it. */
static double
variant_compute(const struct accel *accel, enum accel_precision p, const struct verdict_refs *refs,
    const struct verdict_limits *limits)
{
	const char *source;
	char test[32];

	snprintf(test, sizeof(test), "gemm_%s",
	    p == PRECISION_FP64_MMA ? "fp64" : accel_precision_name(p));
	return verdict_reference(accel, test, refs, limits, &source);
}

/* The 16-bit rate that others are compared with; 32 bits where a device has no such unit. */
static double
variant_half(
    const struct accel *accel, const struct verdict_refs *refs, const struct verdict_limits *limits)
{
	static const enum accel_precision order[] = { PRECISION_BF16, PRECISION_FP16,
		PRECISION_FP32 };
	double v = (double)NAN;

	for (size_t i = 0; i < 3 && isnan(v); i++)
		v = variant_compute(accel, order[i], refs, limits);
	return v;
}

/* Seconds a step of the whole batch takes on count devices, and how many tokens it makes. */
static double
variant_step(const struct variant_model *m, enum accel_precision p, double tflops, double gb_s,
    int count, double *tokens_out, bool *memory_bound_out)
{
	const double tokens = m->phase == VARIANT_DECODE ? m->batch : m->batch * m->context;
	const double flop = (m->phase == VARIANT_TRAIN ? 6.0 : 2.0) * m->params * tokens;
	double bytes = m->params * variant_weight_bytes(p), compute, memory;

	if (m->phase == VARIANT_DECODE)
		bytes += variant_kv_bytes(m, p);
	else if (m->phase == VARIANT_TRAIN)
		bytes = m->params * 32.0; /* the states are read and written once a step */
	compute = flop / (tflops * 1e12 * count);
	memory = bytes / (gb_s * 1e9 * count);
	*tokens_out = tokens;
	*memory_bound_out = memory > compute;
	return fmax(compute, memory);
}

static void
variant_note(struct variant_advice *a, double bf16)
{
	/* Blackwell Ultra: NVIDIA's table of HGX B300 has a 16th of BF16's rate, and other sources
	 * no figure at all */
	if (a->weight_only && a->precision == PRECISION_INT8 &&
	    str_eq(a->accel->compute_capability, "10.3"))
		a->note = "trap: INT8 units are far slower than BF16 here, only the weights get "
			  "smaller; take FP8 or FP4";
	else if (a->weight_only)
		a->note = variant_weight_bytes(a->precision) < 2.0
			      ? "no unit for it here: smaller weights, arithmetic as in 16 bits"
			      : "no unit for it here: runs as FP32";
	else if (a->precision == PRECISION_INT8 && a->compute_tflops < 0.5 * bf16)
		a->note = "trap: INT8 units are far slower than BF16 here; take FP8 or FP4";
	else if (isfinite(a->vs_bf16) && a->precision != PRECISION_BF16 && a->vs_bf16 < 1.03 &&
		 variant_weight_bytes(a->precision) < 2.0)
		a->note = "no gain in speed over BF16";
	else
		a->note = "";
}

void
variant_advise(const struct variant_model *m, const struct accel *accel, enum accel_precision p,
    const struct verdict_refs *refs, const struct verdict_limits *limits,
    struct variant_advice *out)
{
	struct variant_advice a = { .accel = accel,
		.precision = p,
		.tokens_s = (double)NAN,
		.vs_bf16 = (double)NAN,
		.note = "" };
	const double bf16 = variant_half(accel, refs, limits);
	double tokens, seconds, base;
	const char *source;
	bool bound;

	variant_memory(m, p, &a.need);
	for (int n = 1; n <= 64 && a.count == 0 && accel->memory_gib > 0; n *= 2)
		if (a.need.total <= VARIANT_USABLE * accel->memory_gib * n)
			a.count = n;
	a.memory_gb_s = verdict_reference(accel, "dram_triad", refs, limits, &source);
	a.compute_tflops = variant_compute(accel, p, refs, limits);
	a.weight_only = isnan(a.compute_tflops);
	if (a.weight_only) /* small weights are widened to 16 bits before the product; wide ones
			      need FP32 */
		a.compute_tflops = variant_weight_bytes(p) < 2.0
				       ? bf16
				       : variant_compute(accel, PRECISION_FP32, refs, limits);
	if (m->phase == VARIANT_TRAIN &&
	    (a.weight_only || variant_weight_bytes(p) < 1.0 || p == PRECISION_INT8)) {
		a.count = 0;
		a.note = "not a precision to train in here";
	} else if (a.count == 0) {
		a.note = accel->memory_gib > 0 ? "does not fit on 64 of them"
					       : "its memory is not known";
	} else {
		seconds = variant_step(
		    m, p, a.compute_tflops, a.memory_gb_s, a.count, &tokens, &a.memory_bound);
		a.tokens_s = tokens / seconds;
		base =
		    variant_step(m, PRECISION_BF16, bf16, a.memory_gb_s, a.count, &tokens, &bound);
		a.vs_bf16 = base / seconds;
		variant_note(&a, bf16);
	}
	*out = a;
}
