#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/accel.h"
#include "providers/replay/measure.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/rng.h"
#include "util/str.h"
#include "util/vec.h"

#define MEASURE_NOISE 0.004 /* relative deviation between two runs on one device */
#define MEASURE_SAMPLES 9

/* One test, and which figure of the table bounds it. */
static const struct measure_test {
	const char *name;
	const char *check;
	int precision; /* enum accel_precision; -1: memory bandwidth */
} measure_tests[] = {
	{ "dram_copy", "dram_copy.sum", -1 },
	{ "dram_triad", "dram_triad.sum", -1 },
	{ "fma_fp32", "fma_fp32.chains", PRECISION_FP32 },
	{ "gemm_fp32", "gemm_fp32.product", PRECISION_FP32 },
	{ "gemm_tf32", "gemm_tf32.product", PRECISION_TF32 },
	{ "gemm_fp16", "gemm_fp16.product", PRECISION_FP16 },
	{ "gemm_bf16", "gemm_bf16.product", PRECISION_BF16 },
	{ "gemm_fp8", "gemm_fp8.product", PRECISION_FP8 },
};

struct measure {
	struct jsonw w;
	struct rng rng;
	const struct accel *accel; /* NULL: not in the table */
	const struct measure_refs *refs;
	const struct cloud_machine *m;
	int count;
};

static enum berth_code
measure_number(const struct csv *c, const char *text, double *out, struct berth_err *err)
{
	*out = NAN;
	if (text[0] == '\0')
		return BERTH_OK;
	return str_to_double(text, 0, 1e9, out, err) == BERTH_OK ? BERTH_OK : csv_err(c, err, NULL);
}

enum berth_code
measure_refs_load(
    const char *path, struct arena *a, struct measure_refs *refs_out, struct berth_err *err)
{
	static const char *const names[] = { "accelerator", "test", "value", "of_peak" };
	const struct csv_row *row;
	struct csv *c = NULL;
	enum berth_code rc;
	int col[4];

	memset(refs_out, 0, sizeof(*refs_out));
	if ((rc = csv_open(path, &c, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; i < 4 && rc == BERTH_OK; i++)
		rc = csv_need(c, names[i], &col[i], err);
	while (rc == BERTH_OK && (rc = csv_next(c, &row, err)) == BERTH_OK && row != NULL) {
		struct measure_ref *r = VEC_ADD(a, &refs_out->v);

		r->accelerator = arena_strdup(a, row->field[col[0]]);
		r->test = arena_strdup(a, row->field[col[1]]);
		rc = measure_number(c, row->field[col[2]], &r->value, err);
		if (rc == BERTH_OK)
			rc = measure_number(c, row->field[col[3]], &r->of_peak, err);
	}
	csv_close(c);
	return rc;
}

/* What a sound device of this kind reaches in a test: a rate of its own goes before a share of the
 * peak. NaN: not known. */
static double
measure_sound(const struct measure *x, const struct measure_test *t)
{
	double peak = x->accel == NULL   ? NAN
		      : t->precision < 0 ? x->accel->bandwidth_gb_s
					 : x->accel->peak_tflops[t->precision],
	       any = NAN;

	for (size_t i = 0; i < x->refs->v.n; i++) {
		const struct measure_ref *r = &x->refs->v.v[i];
		double rate = isnan(r->value) ? r->of_peak * peak : r->value;

		if (!str_eq(r->test, t->name))
			continue;
		if (x->accel != NULL && str_eq(r->accelerator, x->accel->name))
			return rate;
		if (str_eq(r->accelerator, "*"))
			any = rate;
	}
	return any;
}

static void
measure_gpu(struct measure *x, const struct trace_pool *p, int gpu)
{
	struct jsonw *w = &x->w;
	double mem = isnan(p->accelerator_memory_gib) && x->accel != NULL
			 ? x->accel->memory_gib
			 : p->accelerator_memory_gib;
	uint64_t id = hash_join(hash_str(x->m->ref), (uint64_t)gpu);
	char uuid[64];

	snprintf(uuid, sizeof(uuid), "GPU-%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(id >> 32),
	    (unsigned)(id >> 16) & 0xffff, (unsigned)(id >> 4) & 0xfff, (unsigned)id & 0xfff,
	    (unsigned long long)(hash_u64(id) >> 16));
	jsonw_begin_object(w, NULL);
	jsonw_int(w, "index", gpu);
	jsonw_str(w, "name", x->accel != NULL ? x->accel->name : p->accelerator);
	jsonw_str(w, "uuid", uuid);
	jsonw_null(w, "pci");
	jsonw_str_or_null(w, "cc", x->accel != NULL ? x->accel->compute_capability : "");
	if (x->accel != NULL && x->accel->sm_count > 0)
		jsonw_int(w, "sms", x->accel->sm_count);
	else
		jsonw_null(w, "sms");
	jsonw_fixed(w, "memory_mib", mem * 1024, 0);
	jsonw_double(w, "power_limit_w", x->accel != NULL ? x->accel->tdp_w : NAN);
	jsonw_bool(w, "ecc", true);
	jsonw_null(w, "mig");
	jsonw_str(w, "link", x->accel != NULL && x->accel->link_gb_s > 0 ? "nvlink" : "pcie");
	jsonw_end_object(w);
}

static void
measure_row(struct measure *x, const struct measure_test *t, int gpu)
{
	double noise = rng_normal(&x->rng),
	       rate = measure_sound(x, t) * x->m->speed * (1 + MEASURE_NOISE * noise);
	struct jsonw *w = &x->w;

	if (isnan(rate))
		return;
	if (x->m->broken)
		rate = NAN;
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", t->name);
	jsonw_int(w, "gpu", gpu);
	jsonw_null(w, "peer");
	jsonw_fixed(w, "value", rate, 3);
	jsonw_str(w, "unit", t->precision < 0 ? "GB/s" : "TFLOP/s");
	jsonw_fixed(w, "median", rate, 3);
	jsonw_fixed(w, "min", rate * (1 - MEASURE_NOISE), 3);
	jsonw_fixed(w, "max", rate * (1 + MEASURE_NOISE), 3);
	jsonw_fixed(w, "iqr", rate * MEASURE_NOISE, 3);
	jsonw_int(w, "n", x->m->broken ? 0 : MEASURE_SAMPLES);
	jsonw_str(w, "status", x->m->broken ? "failed" : "ok");
	if (x->m->broken)
		jsonw_str(w, "error", "the results are wrong");
	else
		jsonw_null(w, "error");
	jsonw_end_object(w);
}

static void
measure_check(struct jsonw *w, const char *name, int gpu, const char *status, double value,
    const char *detail)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", name);
	jsonw_int(w, "gpu", gpu);
	jsonw_str(w, "status", status);
	jsonw_double(w, "value", value);
	jsonw_str(w, "detail", detail);
	jsonw_end_object(w);
}

static void
measure_lists(struct measure *x, const struct trace_pool *p)
{
	const bool broken = x->m->broken;
	struct jsonw *w = &x->w;

	jsonw_begin_array(w, "gpus");
	for (int g = 0; g < x->count; g++)
		measure_gpu(x, p, g);
	jsonw_end_array(w);
	jsonw_begin_array(w, "health");
	for (int g = 0; g < x->count; g++)
		measure_check(w, "ecc_uncorrected", g, broken && g == 0 ? "failed" : "ok",
		    broken && g == 0 ? 17 : 0, "");
	jsonw_end_array(w);
	jsonw_begin_array(w, "tests");
	for (int g = 0; g < x->count; g++)
		for (size_t i = 0; i < sizeof(measure_tests) / sizeof(measure_tests[0]); i++)
			measure_row(x, &measure_tests[i], g);
	jsonw_end_array(w);
	jsonw_begin_array(w, "checks");
	for (int g = 0; g < x->count; g++) {
		measure_check(w, "dram_triad.sum", g, broken && g == 0 ? "failed" : "ok", NAN,
		    broken && g == 0 ? "3 words differ from the host's" : "");
		for (size_t i = 0; i < sizeof(measure_tests) / sizeof(measure_tests[0]); i++)
			if (!str_eq(measure_tests[i].name, "dram_triad"))
				measure_check(w, measure_tests[i].check, g, "ok", NAN, "");
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "errors");
	if (broken) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "where", "dram_triad");
		jsonw_int(w, "code", 214);
		jsonw_str(w, "message", "uncorrectable ECC error");
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

enum berth_code
measure_write(const struct cloud *c, const struct cloud_machine *m,
    const struct accel_table *accels, const struct measure_refs *refs, struct buf *b,
    struct berth_err *err)
{
	const struct trace_pool *p = &c->trace->pools[m->pool];
	struct measure x = { .m = m, .refs = refs, .count = p->accelerator_count };
	struct jsonw *w = &x.w;

	x.accel = accels != NULL
		      ? accel_find_sized(accels, p->accelerator, p->accelerator_memory_gib)
		      : NULL;
	rng_seed_stream(&x.rng, c->seed, hash_join(hash_str(m->ref), (uint64_t)c->clock));
	jsonw_init_buf(w, b, JSONW_COMPACT);
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "schema", "berth.probe-result/1");
	jsonw_str(w, "probe", "replay");
	jsonw_null(w, "kernels");
	jsonw_str(w, "mode", "gpu");
	jsonw_str(w, "level", "quick");
	jsonw_str(w, "host", m->ref);
	jsonw_null(w, "driver");
	jsonw_null(w, "cuda");
	jsonw_null(w, "image");
	jsonw_time(w, "at", c->clock);
	measure_lists(&x, p);
	jsonw_fixed(w, "duration_s", 8, 1);
	jsonw_end_object(w);
	return jsonw_finish(w, err);
}
