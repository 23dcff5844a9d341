/* src/plan/variant.h - which precision to run a model in, on what: does it fit, how fast, what does
 * it cost.  Floor: domain. */
#ifndef BERTH_PLAN_VARIANT_H
#define BERTH_PLAN_VARIANT_H

#include <stdbool.h>
#include <stddef.h>

#include "model/accel.h"
#include "plan/verdict.h"

enum variant_phase {
	VARIANT_TRAIN,   /* forward, backward and an Adam step */
	VARIANT_PREFILL, /* reading a prompt */
	VARIANT_DECODE,  /* one token at a time */
	VARIANT_PHASE_COUNT
};

/* A transformer. Zero: not said; variant_model_complete() fills it in. */
struct variant_model {
	double params; /* count */
	double layers, hidden;
	double kv_width;       /* key-value heads times their width */
	double batch, context; /* sequences at once; tokens of each */
	enum variant_phase phase;
	bool shape_estimated; /* layers, hidden or kv_width were not said */
};

struct variant_need { /* GiB of the whole model */
	double weights, optimizer, kv, activations, total;
};

/* One way to run it on n accelerators. */
struct variant_advice {
	const struct accel *accel;
	enum accel_precision precision;
	int count; /* least of 1, 2, 4, 8 ... 64 that holds it; 0: does not fit */
	struct variant_need need;
	double tokens_s;                    /* of all count together; NaN: the table is silent */
	double compute_tflops, memory_gb_s; /* what one of them was taken to reach */
	bool memory_bound,
	    weight_only;  /* weight_only: no unit for this precision; the weights alone are small */
	bool measured;    /* tokens_s comes from a benchmark, not from the roofline */
	double vs_bf16;   /* speed over that of BF16 on the same accelerator and count; NaN */
	const char *note; /* trap, no gain, why not; "" */
};

const char *variant_phase_name(enum variant_phase p); /* "train" "prefill" "decode" */
bool variant_phase_parse(const char *s, enum variant_phase *p_out);
/* Bytes of one weight: 4 FP32 and TF32, 2 FP16 and BF16, 1 FP8 and INT8, 0.5625 FP4 with its block
 * scales. */
double variant_weight_bytes(enum accel_precision p);

/*
 * Fills in what was not said: batch 1, context 2048, layers and hidden from params = 12 layers
 * hidden^2 with hidden = 128 layers (Kaplan et al., 2020: shape matters little), kv_width a quarter
 * of hidden.
 */
void variant_model_complete(struct variant_model *m);

/*
 * Memory. Training with Adam: 16 bytes a parameter, weights, gradients, master copy and two moments
 * (Rajbhandari et al., 2020); activations 34 bytes a token, layer and hidden unit in 16 bits
 * (Korthikanti et al., 2022, eq. 2 with the attention recomputed). Inference: weights, keys and
 * values (16 bits, or 8 where weights have 8 or fewer), one layer's activations.
 */
void variant_memory(
    const struct variant_model *m, enum accel_precision p, struct variant_need *need_out);

/*
 * Roofline (Williams, Waterman & Patterson, 2009) with what sound machines reach
 * (verdict_reference()), not with peaks: a token costs 2 flop a parameter forward, 6 in training;
 * decoding reads all weights and keys once a step. Count is ideal: links between accelerators are
 * not counted.
 */
void variant_advise(const struct variant_model *m, const struct accel *accel,
    enum accel_precision p, const struct verdict_refs *refs, const struct verdict_limits *limits,
    struct variant_advice *out);

/* Share of a device's memory that a job can use: the driver, the context and fragments take the
 * rest. */
#define VARIANT_USABLE 0.92

#endif
