/*
 * Precision advice. Expectations by hand: a model of 2^33 parameters weighs 16 GiB in 16 bits, so that powers of two give
 * exact figures; rates come from seeds of round numbers that this test makes up.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "plan/benchlog.h"
#include "plan/variant.h"
#include "tests/tap.h"
#include "util/arena.h"

static const char table_csv[] =
    "kind,name,family,form,aliases,vendor,year,memory_gib,bandwidth_gb_s,fp64,fp64_mma,fp32,tf32,fp16,bf16,fp8,int8,fp4,"
    "link_gb_s,tdp_w,compute_capability,sm_count,mig_slices,confidence,source,note\n"
    "product,FAST,FAST,,,NVIDIA,2024,80,1000,,,50,200,400,400,800,800,,,,9.0,,,read,x,\n"
    "product,TRAP,TRAP,,,NVIDIA,2025,80,1000,,,50,200,400,400,800,40,1600,,,10.3,,,read,x,\n"
    "product,OLD,OLD,,,NVIDIA,2017,16,1000,,,10,,100,,,,,,,7.0,,,read,x,\n";

struct world {
	struct arena *a;
	const struct accel_table *table;
	struct verdict_refs refs;
	struct verdict_limits limits;
};

#define SEED(t) { .accelerator = "*", .test = t, .value = (double)NAN, .of_peak = 1.0, .source = "peak", .drift = (double)NAN }

static struct verdict_ref seeds[] = {	/* sound machines reach the peak, to keep the sums plain */
	SEED("dram_triad"), SEED("gemm_fp32"), SEED("gemm_tf32"), SEED("gemm_fp16"), SEED("gemm_bf16"), SEED("gemm_fp8"),
	SEED("gemm_int8"), SEED("gemm_fp4"),
};

static struct variant_advice
advise(struct world *w, const struct variant_model *m, const char *accel, enum accel_precision p)
{
	struct variant_advice v;

	variant_advise(m, accel_find(w->table, accel), p, &w->refs, &w->limits, &v);
	return v;
}

static void
test_memory(void)
{
	struct variant_model m = { .params = 8589934592.0, .layers = 32, .hidden = 4096, .kv_width = 1024, .batch = 4,
		.context = 8192, .phase = VARIANT_DECODE };
	struct variant_need n;

	variant_memory(&m, PRECISION_BF16, &n);
	tap_near(n.weights, 16, 1e-9, "2^33 parameters in 16 bits are 16 GiB");
	tap_near(n.kv, 4, 1e-9, "keys and values: 2 x 32 x 1024 x 8192 x 4 x 2 bytes = 4 GiB");
	tap_near(n.optimizer, 0, 0, "no optimizer without training");
	variant_memory(&m, PRECISION_FP8, &n);
	tap_near(n.weights, 8, 1e-9, "8 bits: 8 GiB");
	tap_near(n.kv, 2, 1e-9, "and half of the keys");
	variant_memory(&m, PRECISION_FP4, &n);
	tap_near(n.weights, 4.5, 1e-9, "4 bits with scales: 4.5 GiB");
	m.phase = VARIANT_TRAIN;
	variant_memory(&m, PRECISION_BF16, &n);
	tap_near(n.weights + n.optimizer, 128, 1e-9, "Adam: 16 bytes a parameter");
	tap_near(n.activations, 34.0 * 32768 * 4096 * 32 / 1073741824.0, 1e-9, "activations: 34 bytes a token, layer and unit");
	variant_memory(&m, PRECISION_FP32, &n);
	tap_near(n.weights + n.optimizer, 128, 1e-9, "FP32 as well: 4 + 4 + 8");
}

static void
test_speed(struct world *w)
{
	struct variant_model m = { .params = 8589934592.0, .layers = 32, .hidden = 4096, .kv_width = 1024, .batch = 4,
		.context = 8192, .phase = VARIANT_DECODE };
	const double gib = 1073741824.0;
	struct variant_advice v = advise(w, &m, "FAST", PRECISION_BF16);

	tap_is_long(v.count, 1, "20 GiB fit one of 80");
	tap_ok(v.memory_bound, "decoding four sequences is bound by memory");
	tap_near(v.tokens_s, 4 / (20 * gib / 1e12), 1e-6, "four tokens for reading 20 GiB at 1000 GB/s");
	tap_near(v.vs_bf16, 1, 1e-12, "as fast as itself");
	v = advise(w, &m, "FAST", PRECISION_FP8);
	tap_near(v.vs_bf16, 2, 1e-12, "half of the bytes: twice the speed");
	v = advise(w, &m, "FAST", PRECISION_FP4);
	tap_ok(v.weight_only && v.note[0] != '\0', "no FP4 units: said so");
	tap_near(v.tokens_s, 4 / (6.5 * gib / 1e12), 1e-6, "but the weights are small all the same");

	m.batch = 1;
	m.phase = VARIANT_PREFILL;
	v = advise(w, &m, "FAST", PRECISION_BF16);
	tap_ok(!v.memory_bound, "reading a prompt is bound by arithmetic");
	tap_near(v.tokens_s, 400e12 / (2 * 8589934592.0), 1e-6, "2 flop a parameter and token at 400 TFLOP/s");
	v = advise(w, &m, "TRAP", PRECISION_INT8);
	tap_near(v.vs_bf16, 0.1, 1e-12, "INT8 at a tenth of BF16");
	tap_ok(strstr(v.note, "trap") != NULL, "is called a trap");
	v = advise(w, &m, "TRAP", PRECISION_FP8);
	tap_is_str(v.note, "", "FP8 there is none");
	v = advise(w, &m, "OLD", PRECISION_TF32);
	tap_near(v.compute_tflops, 10, 1e-9, "no TF32 units: FP32");
	v = advise(w, &m, "OLD", PRECISION_INT8);
	tap_near(v.compute_tflops, 100, 1e-9, "no INT8 units: 16 bits");
	tap_ok(strstr(v.note, "no unit") != NULL, "and no gain is promised");

	m.phase = VARIANT_TRAIN;
	m.context = 4096;
	v = advise(w, &m, "FAST", PRECISION_BF16);
	tap_is_long(v.count, 2, "128 GiB and 17 of activations fit two of 80");
	tap_near(v.tokens_s, 2 * 400e12 / (6 * 8589934592.0), 1e-6, "6 flop a parameter and token on both");
	v = advise(w, &m, "FAST", PRECISION_INT8);
	tap_is_long(v.count, 0, "nobody trains in INT8");
}

static void
test_shape(void)
{
	struct variant_model m = { .params = 12.0 * 128 * 128 * 32 * 32 * 32 };

	variant_model_complete(&m);
	tap_near(m.layers, 32, 1e-9, "a shape of 128 units a layer has 32 layers");
	tap_near(m.hidden, 4096, 1e-6, "of 4096");
	tap_ok(m.shape_estimated && m.batch == 1 && m.context == 2048, "the guess is marked");
}

static const struct report {
	const char *label, *text, *engine, *unit;
	enum accel_precision precision;
	double rate;		/* NaN: must be refused */
} reports[] = {
	{ "trtexec", "&&&& RUNNING TensorRT.trtexec [TensorRT v100300] # trtexec --onnx=r.onnx --shapes=input:32x3x224x224 --int8\n"
	    "[I] === Performance summary ===\n[I] Throughput: 250.5 qps\n[I] Latency: min = 3.9 ms\n", "tensorrt", "inferences",
	    PRECISION_INT8, 32 * 250.5 },
	{ "trtexec without options", "&&&& RUNNING TensorRT.trtexec # trtexec --onnx=r.onnx\n[I] Throughput: 1e3 qps\n", "tensorrt",
	    "inferences", PRECISION_FP32, 1000 },
	{ "benchmark_app", "[ INFO ]   INFERENCE_PRECISION_HINT: f16\n[ INFO ] Throughput:   345.67 FPS\n", "openvino", "inferences",
	    PRECISION_FP16, 345.67 },
	{ "benchmark_app, JSON", "{\"cmd_options\": {\"infer_precision\": \"f32\"}, \"execution_results\": {\"throughput\": \"12.50\"}}",
	    "openvino", "inferences", PRECISION_FP32, 12.5 },
	{ "vLLM, serving", "{\"model_id\": \"m\", \"output_throughput\": 900.0, \"total_token_throughput\": 1234.5}", "vllm", "tokens",
	    PRECISION_COUNT, 1234.5 },
	{ "vLLM, throughput", "{\"elapsed_time\": 10.0, \"tokens_per_second\": 777.0}", "vllm", "tokens", PRECISION_COUNT, 777 },
	/* two tasks: best of (4 ms, 2 ms) and 8 ms; the failed trial does not count: 1 / 10 ms */
	{ "AutoTVM", "{\"input\": [\"cuda\", \"dense\", [[1, \"float16\"]], {}], \"result\": [[0.004], 0, 1.0, 1], \"version\": 0.2}\n"
	    "{\"input\": [\"cuda\", \"dense\", [[1, \"float16\"]], {}], \"result\": [[0.001, 0.003], 0, 1.0, 2], \"version\": 0.2}\n"
	    "{\"input\": [\"cuda\", \"dense\", [[1, \"float16\"]], {}], \"result\": [[0.0001], 4, 1.0, 3], \"version\": 0.2}\n"
	    "{\"input\": [\"cuda\", \"conv\", [[2, \"float16\"]], {}], \"result\": [[0.008], 0, 1.0, 4], \"version\": 0.2}\n", "tvm",
	    "inferences", PRECISION_FP16, 100 },
	{ "TVM's auto-scheduler", "{\"i\": [[\"[\\\"key\\\"]\", \"cuda\"], [[], []]], \"r\": [[0.02], 0, 1.5, 1], \"v\": \"v0.6\"}\n", "tvm",
	    "inferences", PRECISION_FP32, 50 },
	{ "trtexec of an engine", "&&&& RUNNING TensorRT.trtexec [TensorRT v100300] # trtexec --loadEngine=r.plan --batch=4\n[I] Throughput: 100 "
	    "qps\n[I] Latency: min = 3.9 ms, percentile(90%) = 4 ms\n&&&& PASSED TensorRT.trtexec # trtexec --loadEngine=r.plan\n", "tensorrt",
	    "inferences", PRECISION_COUNT, 400 },
	{ "trtexec with a path that looks like a flag", "&&&& RUNNING TensorRT.trtexec # trtexec --onnx=a--int8.onnx --fp16\n"
	    "[I] Precision: FP32+FP16 --fp8\n[I] Throughput: 10 qps\n", "tensorrt", "inferences", PRECISION_FP16, 10 },
	{ "two runs of trtexec", "&&&& RUNNING TensorRT.trtexec # trtexec --onnx=a.onnx\n[I] Throughput: 10 qps\n"
	    "&&&& RUNNING TensorRT.trtexec # trtexec --onnx=b.onnx\n[I] Throughput: 20 qps\n", "", "", PRECISION_COUNT, NAN },
	{ "trtexec that failed in the end", "&&&& RUNNING TensorRT.trtexec # trtexec\n[I] Throughput: 10 qps\n&&&& FAILED TensorRT.trtexec\n",
	    "", "", PRECISION_COUNT, NAN },
	{ "trtexec that was cut off", "&&&& RUNNING TensorRT.trtexec # trtexec --onnx=a.onnx\n[I] Starting inference\n", "", "",
	    PRECISION_COUNT, NAN },
	{ "trtexec in another unit", "&&&& RUNNING TensorRT.trtexec # trtexec\n[I] Throughput: 10 ms\n", "", "", PRECISION_COUNT, NAN },
	{ "trtexec with NaN", "&&&& RUNNING TensorRT.trtexec # trtexec\n[I] Throughput: nan qps\n", "", "", PRECISION_COUNT, NAN },
	{ "benchmark_app in Python", "[Step 11/11] Dumping statistics report\n[ INFO ]   INFERENCE_PRECISION_HINT: <Type: 'float16'>\n"
	    "[ INFO ] Count:            4320 iterations\n[ INFO ] Latency:\n[ INFO ]    Median:     27.70 ms\n[ INFO ] Throughput:   143.98 FPS\n",
	    "openvino", "inferences", PRECISION_FP16, 143.98 },
	{ "benchmark_app, CSV", "Command line parameters\ninfer_precision;bf16\n\nConfiguration setup\ntopology;m\n\nExecution results\n"
	    "read model time (ms);12.5\ntotal number of iterations;100\nlatency (ms);7.1\nthroughput;98.25\n\n", "openvino", "inferences",
	    PRECISION_BF16, 98.25 },
	{ "benchmark_app, CSV that was cut off", "Command line parameters\n\nExecution results\nlatency (ms);7.1\n", "", "", PRECISION_COUNT, NAN },
	{ "two runs of benchmark_app", "[ INFO ] Throughput: 10 FPS\n[ INFO ] Throughput: 20 FPS\n", "", "", PRECISION_COUNT, NAN },
	{ "vLLM with what Python calls NaN", "{\"model_id\": \"a\\\"NaN\", \"std_itl_ms\": NaN, \"request_rate\": Infinity, \"output_throughput\": 5.0,"
	    " \"total_token_throughput\": 15.0}", "vllm", "tokens", PRECISION_COUNT, 15 },
	{ "vLLM whose rate is NaN", "{\"output_throughput\": NaN, \"total_token_throughput\": NaN}", "", "", PRECISION_COUNT, NAN },
	{ "vLLM, no request done", "{\"completed\": 0, \"failed\": 9, \"output_throughput\": 0.0, \"total_token_throughput\": 1.0}", "", "",
	    PRECISION_COUNT, NAN },
	{ "vLLM, latency", "{\"avg_latency\": 0.5, \"std_latency\": 0.1, \"latencies\": [0.4, 0.6], \"percentiles\": {\"10\": 0.42, \"99\": 0.6}}",
	    "vllm", "batches", PRECISION_COUNT, 2 },
	{ "vLLM, a line a run", "{\"model_id\": \"m\", \"total_token_throughput\": 10.0}\n{\"model_id\": \"m\", \"total_token_throughput\": 30.0}\n"
	    "{\"model_id\": \"m\", \"total_token_throughput\": 20.0}\n", "vllm", "tokens", PRECISION_COUNT, 30 },
	{ "vLLM of two models", "{\"model_id\": \"m\", \"total_token_throughput\": 10.0}\n{\"model_id\": \"n\", \"total_token_throughput\": 30.0}\n",
	    "", "", PRECISION_COUNT, NAN },
	{ "vLLM that was cut off", "{\"model_id\": \"m\", \"total_token_throughput\": 10.0, \"itls\": [[0.1, 0", "", "", PRECISION_COUNT, NAN },
	{ "MetaSchedule", "[0, [[[], []], [0.004, 0.002], {\"kind\": \"cuda\"}, [[\"TENSOR\", \"float16\", [1, 8]]]]]\n"
	    "[0, [[[], []], [1e10], {\"kind\": \"cuda\"}, [[\"TENSOR\", \"float16\", [1, 8]]]]]\n"
	    "[1, [[[], []], null, {\"kind\": \"cuda\"}, [[\"TENSOR\", \"float16\", [1, 8]]]]]\n"
	    "[1, [[[], []], [0.001], {\"kind\": \"cuda\"}, [[\"TENSOR\", \"float16\", [1, 8]]]]]\n", "tvm", "inferences", PRECISION_FP16, 250 },
	{ "a TVM task of which nothing ran", "{\"input\": [\"cuda\", \"dense\"], \"result\": [[0.004], 0, 1.0, 1]}\n"
	    "{\"input\": [\"cuda\", \"conv\"], \"result\": [[1e10], 4, 1.0, 1]}\n", "", "", PRECISION_COUNT, NAN },
	{ "a TVM log whose last line was cut off", "{\"input\": [\"cuda\", \"dense\"], \"result\": [[0.004], 0, 1.0, 1]}\n"
	    "{\"input\": [\"cuda\", \"den", "tvm", "inferences", PRECISION_FP32, 250 },
	{ "a TVM trial of NaN seconds", "{\"input\": [\"cuda\", \"dense\"], \"result\": [[NaN], 0, 1.0, 1]}\n", "", "", PRECISION_COUNT, NAN },
	{ "nothing of these", "hello\n", "", "", PRECISION_COUNT, NAN },
	{ "empty", "", "", "", PRECISION_COUNT, NAN },
	{ "trtexec that failed", "&&&& FAILED TensorRT.trtexec # trtexec --onnx=x\n", "", "", PRECISION_COUNT, NAN },
	{ "a throughput of 0", "{\"tokens_per_second\": 0}", "", "", PRECISION_COUNT, NAN },
	{ "TVM trials that all failed", "{\"input\": [\"cuda\"], \"result\": [[1e10], 4, 1.0, 1]}\n", "", "", PRECISION_COUNT, NAN },
};

static void
test_reports(struct world *w)
{
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		const struct report *r = &reports[i];
		struct berth_err err;
		struct benchlog log;
		enum berth_code rc = benchlog_parse(r->text, strlen(r->text), w->a, &log, &err);

		if (isnan(r->rate)) {
			tap_ok(rc == BERTH_EINVAL, "%s: refused", r->label);
			continue;
		}
		tap_code(rc, BERTH_OK, &err);
		tap_is_str(log.engine, r->engine, "%s: engine", r->label);
		tap_is_str(log.unit, r->unit, "%s: unit", r->label);
		tap_is_long(log.precision, r->precision, "%s: precision", r->label);
		tap_near(log.rate, r->rate, 1e-9 * r->rate, "%s: rate", r->label);
	}
}

int
main(void)
{
	struct world w = { .a = arena_new(), .refs = { .refs = seeds, .n = sizeof(seeds) / sizeof(seeds[0]) },
		.limits = { .fleet_machines = 20, .fleet_providers = 2, .fleet_drift = 0.03, .fleet_floor = 0.9 } };
	struct berth_err err;

	tap_code(accel_table_parse("test", table_csv, sizeof(table_csv) - 1, w.a, &w.table, &err), BERTH_OK, &err);
	test_memory();
	test_speed(&w);
	test_shape();
	test_reports(&w);
	arena_free(w.a);
	return tap_done();
}
