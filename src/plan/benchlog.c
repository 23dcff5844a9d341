#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/benchlog.h"
#include "plan/benchlog_impl.h"
#include "util/arena.h"
#include "util/str.h"

/* The number at s, behind blanks, ':', '=' and ';', if the unit stands behind it ("" any); NaN. */
static double
benchlog_number(const char *s, const char *unit)
{
	double v = (double)NAN;
	char number[40];
	size_t n;

	s += strspn(s, " \t:=;\"");
	n = strspn(s, "0123456789.eE+-");
	if (n == 0 || n >= sizeof(number))
		return (double)NAN;
	memcpy(number, s, n);
	number[n] = '\0';
	s += n + strspn(s + n, " \t");
	if (strncmp(s, unit, strlen(unit)) != 0 ||
	    str_to_double(number, 0, 1e15, &v, NULL) != BERTH_OK)
		return (double)NAN;
	return v;
}

/* How often a word stands in the text with a number and its unit behind it; the last number. */
static size_t
benchlog_after(const char *text, const char *word, const char *unit, double *v_out)
{
	size_t n = 0;

	*v_out = (double)NAN;
	for (const char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word)) {
		const double v = benchlog_number(p + strlen(word), unit);

		if (isnan(v))
			continue;
		n++;
		*v_out = v;
	}
	return n;
}

static const struct benchlog_word {
	const char *word;
	enum accel_precision precision;
} benchlog_trt_flags[] = {	/* the narrowest that is allowed counts */
	{ "--fp4", PRECISION_FP4 }, { "--fp8", PRECISION_FP8 }, { "--best", PRECISION_INT8 }, { "--int8", PRECISION_INT8 },
	{ "--fp16", PRECISION_FP16 }, { "--bf16", PRECISION_BF16 },
}, benchlog_ov_words[] = {	/* of the C++ and of the Python program, of the report */
	{ "INFERENCE_PRECISION_HINT: f16", PRECISION_FP16 }, { "INFERENCE_PRECISION_HINT: bf16", PRECISION_BF16 },
	{ "INFERENCE_PRECISION_HINT: f32", PRECISION_FP32 }, { "INFERENCE_PRECISION_HINT: <Type: 'float16'>", PRECISION_FP16 },
	{ "INFERENCE_PRECISION_HINT: <Type: 'bfloat16'>", PRECISION_BF16 },
	{ "INFERENCE_PRECISION_HINT: <Type: 'float32'>", PRECISION_FP32 },
	{ "\"infer_precision\": \"f16\"", PRECISION_FP16 }, { "\"infer_precision\": \"bf16\"", PRECISION_BF16 },
	{ "\"infer_precision\": \"f32\"", PRECISION_FP32 }, { "infer_precision;f16", PRECISION_FP16 },
	{ "infer_precision;bf16", PRECISION_BF16 }, { "infer_precision;f32", PRECISION_FP32 }, { "INT8", PRECISION_INT8 },
};

static enum accel_precision
benchlog_precision(const char *text, const struct benchlog_word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (const char *p = strstr(text, words[i].word); p != NULL;
		     p = strstr(p + 1, words[i].word))
			if (p[strlen(words[i].word)] != '\0' &&
			    strchr(" \t\r\n\",;/}", p[strlen(words[i].word)]) != NULL)
				return words[i].precision;
	return PRECISION_COUNT;
}

/* What trtexec was called with: its first line, or the whole where that is missing. */
static const char *
benchlog_trt_command(const char *text, struct arena *a)
{
	const char *p = strstr(text, "&&&& RUNNING"), *nl;

	if (p == NULL)
		p = strstr(text, "trtexec");
	nl = strchr(p, '\n');
	return arena_printf(a, "%.*s ", nl != NULL ? (int)(nl - p) : (int)strlen(p), p);
}

/* Inputs of one query: the first dimension of --shapes=name:32x3x224x224, or --batch=32. */
static double
benchlog_trt_batch(const char *command)
{
	const char *p = strstr(command, "--shapes="), *colon;
	double v;

	if (benchlog_after(command, "--batch=", "", &v) > 0 && v >= 1)
		return v;
	colon = p != NULL ? strchr(p, ':') : NULL;
	if (colon == NULL)
		return 1;
	v = 0;
	for (colon++; str_is_digit(*colon) && v < 1e9; colon++)
		v = v * 10 + (*colon - '0');
	return v > 0 ? v : 1;
}

static enum benchlog_found
benchlog_trtexec(const char *text, struct arena *a, struct benchlog *out, struct berth_err *err)
{
	const char *command;
	double qps, other;
	const size_t n = benchlog_after(text, "Throughput:", "qps", &qps);

	if (strstr(text, "trtexec") == NULL)
		return BENCHLOG_OTHER;
	if (strstr(text, "&&&& FAILED") != NULL)
		return benchlog_refuse(err, "trtexec failed, as its last line says: run it again");
	if (n > 1)
		return benchlog_refuse(
		    err, "it holds %zu runs of trtexec: give each a file of its own", n);
	if (n == 0 && benchlog_after(text, "Throughput:", "", &other) > 0)
		return benchlog_refuse(err,
		    "trtexec's throughput is in no qps here: berth cannot tell what it counts");
	if (n == 0)
		return benchlog_refuse(err, "trtexec's output has no line 'Throughput: N qps': it "
					    "was cut off, or only built an engine");
	if (!(qps > 0))
		return benchlog_refuse(err, "trtexec's throughput is 0");
	command = benchlog_trt_command(text, a);
	out->engine = "tensorrt";
	out->batch = benchlog_trt_batch(command);
	out->rate = qps * out->batch;
	out->unit = "inferences";
	out->precision = benchlog_precision(command, benchlog_trt_flags,
	    sizeof(benchlog_trt_flags) / sizeof(benchlog_trt_flags[0]));
	/* without a flag a network is built in FP32; an engine that was loaded, or a typed network,
	 * is in what it was built in */
	if (out->precision == PRECISION_COUNT && strstr(command, "--loadEngine") == NULL &&
	    strstr(command, "--stronglyTyped") == NULL)
		out->precision = PRECISION_FP32;
	out->detail =
	    arena_printf(a, "trtexec: %.6g queries a second of %.6g inputs", qps, out->batch);
	return BENCHLOG_READ;
}

static enum benchlog_found
benchlog_openvino(const char *text, struct arena *a, struct benchlog *out, struct berth_err *err)
{
	const bool json = strstr(text, "\"execution_results\"") != NULL,
		   csv = strstr(text, "Execution results") != NULL;
	const char *word = json ? "\"throughput\"" : csv ? "throughput;" : "Throughput:";
	double fps;
	const size_t n = benchlog_after(text, word, json || csv ? "" : "FPS", &fps);

	if (!json && !csv && n == 0 && strstr(text, "benchmark_app") == NULL &&
	    strstr(text, "[ INFO ] OpenVINO") == NULL)
		return BENCHLOG_OTHER;
	if (n > 1)
		return benchlog_refuse(
		    err, "it holds %zu runs of benchmark_app: give each a file of its own", n);
	if (n == 0)
		return benchlog_refuse(err,
		    "benchmark_app's %s has no throughput: it was cut off, or the run failed",
		    json || csv ? "report" : "output");
	if (!(fps > 0))
		return benchlog_refuse(err, "benchmark_app's throughput is 0");
	out->engine = "openvino";
	out->batch = 1;
	out->rate = fps;
	out->unit = "inferences";
	out->precision = benchlog_precision(
	    text, benchlog_ov_words, sizeof(benchlog_ov_words) / sizeof(benchlog_ov_words[0]));
	out->detail = arena_printf(a, "benchmark_app: %.6g FPS", fps);
	return BENCHLOG_READ;
}

enum berth_code
benchlog_parse(
    const char *text, size_t len, struct arena *a, struct benchlog *out, struct berth_err *err)
{
	static enum benchlog_found (*const readers[])(
	    const char *, struct arena *, struct benchlog *, struct berth_err *) = {
		benchlog_trtexec,
		benchlog_openvino,
		benchlog_vllm,
		benchlog_tvm,
	};
	const char *copy = arena_strndup(a, text, len);

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		*out = (struct benchlog){ .precision = PRECISION_COUNT,
			.generated = (double)NAN,
			.prompted = (double)NAN };
		switch (readers[i](copy, a, out, err)) {
		case BENCHLOG_READ:
			return BERTH_OK;
		case BENCHLOG_REFUSED:
			return err->code;
		case BENCHLOG_OTHER:
			break;
		}
	}
	return err_set(err, BERTH_EINVAL,
	    "no throughput of trtexec, benchmark_app, vLLM or TVM was found in it");
}
