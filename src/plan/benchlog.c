#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/benchlog.h"
#include "util/arena.h"
#include "util/jsonr.h"
#include "util/str.h"

#define BENCHLOG_TASKS_MAX 4096

/* The number behind a word, anywhere in the text; NaN if there is none. Skips blanks, ':' and '='. */
static double
benchlog_after(const char *text, const char *word)
{
	double v = (double)NAN;

	for (const char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word)) {
		const char *s = p + strlen(word) + strspn(p + strlen(word), " \t:=");
		char number[40];
		size_t n = strspn(s, "0123456789.eE+-");

		if (n == 0 || n >= sizeof(number))
			continue;
		memcpy(number, s, n);
		number[n] = '\0';
		if (str_to_double(number, 0, 1e15, &v, NULL) == BERTH_OK)
			return v;
	}
	return (double)NAN;
}

static const struct benchlog_word {
	const char *word;
	enum accel_precision precision;
} benchlog_trt_flags[] = {	/* the narrowest that is allowed counts */
	{ "--fp4", PRECISION_FP4 }, { "--fp8", PRECISION_FP8 }, { "--best", PRECISION_INT8 }, { "--int8", PRECISION_INT8 },
	{ "--fp16", PRECISION_FP16 }, { "--bf16", PRECISION_BF16 },
}, benchlog_ov_words[] = {
	{ "INFERENCE_PRECISION_HINT: f16", PRECISION_FP16 }, { "INFERENCE_PRECISION_HINT: bf16", PRECISION_BF16 },
	{ "INFERENCE_PRECISION_HINT: f32", PRECISION_FP32 }, { "\"infer_precision\": \"f16\"", PRECISION_FP16 },
	{ "\"infer_precision\": \"bf16\"", PRECISION_BF16 }, { "\"infer_precision\": \"f32\"", PRECISION_FP32 },
	{ "INT8", PRECISION_INT8 },
};

static enum accel_precision
benchlog_precision(const char *text, const struct benchlog_word *words, size_t n, enum accel_precision dflt)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(text, words[i].word) != NULL)
			return words[i].precision;
	return dflt;
}

/* Inputs of one query: the first dimension of --shapes=name:32x3x224x224, or --batch=32. */
static double
benchlog_trt_batch(const char *text)
{
	const char *p = strstr(text, "--shapes="), *colon;
	double v = benchlog_after(text, "--batch=");

	if (isfinite(v))
		return v;
	colon = p != NULL ? strchr(p, ':') : NULL;
	if (colon == NULL)
		return 1;
	v = 0;
	for (colon++; str_is_digit(*colon) && v < 1e9; colon++)
		v = v * 10 + (*colon - '0');
	return v > 0 ? v : 1;
}

static bool
benchlog_trtexec(const char *text, struct arena *a, struct benchlog *out)
{
	const double qps = benchlog_after(text, "Throughput:");

	if (strstr(text, "trtexec") == NULL || !(qps > 0))
		return false;
	out->engine = "tensorrt";
	out->batch = benchlog_trt_batch(text);
	out->rate = qps * out->batch;
	out->unit = "inferences";
	out->precision = benchlog_precision(text, benchlog_trt_flags, sizeof(benchlog_trt_flags) / sizeof(benchlog_trt_flags[0]),
	    PRECISION_FP32);
	out->detail = arena_printf(a, "trtexec: %.6g queries a second of %.6g inputs", qps, out->batch);
	return true;
}

static bool
benchlog_openvino(const char *text, struct arena *a, struct benchlog *out)
{
	double fps = benchlog_after(text, "Throughput:");

	if (strstr(text, "execution_results") != NULL)
		fps = benchlog_after(text, "\"throughput\": \"");
	if (!(fps > 0) && strstr(text, "execution_results") != NULL)
		fps = benchlog_after(text, "\"throughput\"");
	if (!(fps > 0) || (strstr(text, "execution_results") == NULL && strstr(text, "FPS") == NULL))
		return false;
	out->engine = "openvino";
	out->batch = 1;
	out->rate = fps;
	out->unit = "inferences";
	out->precision = benchlog_precision(text, benchlog_ov_words, sizeof(benchlog_ov_words) / sizeof(benchlog_ov_words[0]),
	    PRECISION_COUNT);
	out->detail = arena_printf(a, "benchmark_app: %.6g FPS", fps);
	return true;
}

static bool
benchlog_vllm(const struct jsonr *o, struct arena *a, struct benchlog *out)
{
	static const char *const keys[] = { "total_token_throughput", "tokens_per_second", "output_throughput" };
	struct berth_err err;
	double v = (double)NAN;

	for (size_t i = 0; i < 3 && isnan(v); i++)
		if (jsonr_double(o, keys[i], &v, &err) == BERTH_OK && v > 0) {
			out->engine = "vllm";
			out->batch = 1;
			out->rate = v;
			out->unit = "tokens";
			out->precision = PRECISION_COUNT;
			out->detail = arena_printf(a, "vLLM: %s %.6g", keys[i], v);
			return true;
		}
	return false;
}

struct benchlog_task { const char *name; double best; };

/* Mean of a result's costs; NaN for a failed run. */
static double
benchlog_tvm_cost(const struct jsonr *result)
{
	const struct jsonr costs = jsonr_at(result, 0), code = jsonr_at(result, 1);
	const size_t n = jsonr_len(&costs);
	double sum = 0;

	if (n == 0 || !json_is_integer(code.v) || json_integer_value(code.v) != 0)
		return (double)NAN;
	for (size_t i = 0; i < n; i++) {
		const struct jsonr c = jsonr_at(&costs, i);

		if (!json_is_number(c.v))
			return (double)NAN;
		sum += json_number_value(c.v);
	}
	return sum / (double)n;
}

/* What is tuned: target, task and arguments of AutoTVM; the workload's key of the auto-scheduler. */
static char *
benchlog_tvm_name(const struct jsonr *line)
{
	struct jsonr in = jsonr_get(line, "input"), i = jsonr_get(line, "i"), first;

	if (json_is_array(in.v))
		return json_dumps(in.v, JSON_COMPACT);
	if (!json_is_array(i.v))
		return NULL;
	first = jsonr_at(&i, 0);
	return first.v != NULL ? json_dumps(first.v, JSON_COMPACT) : NULL;
}

static bool
benchlog_tvm_line(const char *line, size_t len, struct arena *a, struct benchlog_task *tasks, size_t *n)
{
	struct berth_err err;
	json_t *tree = NULL;
	char *name = NULL;
	bool ok = false;

	if (len == 0 || jsonr_parse(line, len, "line", &tree, &err) != BERTH_OK)
		return false;
	if (json_is_object(tree)) {
		const struct jsonr o = jsonr_root(tree, "line");
		struct jsonr r = jsonr_get(&o, "result");
		size_t k = 0;

		if (r.v == NULL)
			r = jsonr_get(&o, "r");
		name = benchlog_tvm_name(&o);
		ok = name != NULL && json_is_array(r.v);
		if (ok && benchlog_tvm_cost(&r) > 0) {
			while (k < *n && !str_eq(tasks[k].name, name))
				k++;
			if (k == *n && *n < BENCHLOG_TASKS_MAX)
				tasks[(*n)++] = (struct benchlog_task){ arena_strdup(a, name), INFINITY };
			if (k < *n)
				tasks[k].best = fmin(tasks[k].best, benchlog_tvm_cost(&r));
		}
	}
	free(name);
	json_decref(tree);
	return ok;
}

static bool
benchlog_tvm(const char *text, size_t len, struct arena *a, struct benchlog *out)
{
	struct benchlog_task *tasks = arena_array_of(a, BENCHLOG_TASKS_MAX, struct benchlog_task);
	size_t n = 0, lines = 0;
	double total = 0;

	for (const char *p = text; p < text + len;) {
		const char *nl = memchr(p, '\n', (size_t)(text + len - p));
		const size_t k = nl != NULL ? (size_t)(nl - p) : (size_t)(text + len - p);

		lines += benchlog_tvm_line(p, k, a, tasks, &n);
		p += k + 1;
	}
	if (lines == 0 || n == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		total += tasks[i].best;
	out->engine = "tvm";
	out->batch = 1;
	out->rate = 1.0 / total;
	out->unit = "inferences";
	out->precision = strstr(text, "int8") != NULL ? PRECISION_INT8 : strstr(text, "float16") != NULL ? PRECISION_FP16 :
	    PRECISION_FP32;
	out->detail = arena_printf(a, "TVM: best times of %zu tasks sum to %.6g s, %zu trials", n, total, lines);
	return true;
}

enum berth_code
benchlog_parse(const char *text, size_t len, struct arena *a, struct benchlog *out, struct berth_err *err)
{
	const char *copy = arena_strndup(a, text, len);
	struct berth_err why;
	json_t *tree = NULL;
	bool ok = false;

	*out = (struct benchlog){ .precision = PRECISION_COUNT };
	if (benchlog_trtexec(copy, a, out) || benchlog_openvino(copy, a, out))
		return BERTH_OK;
	if (jsonr_parse(text, len, "report", &tree, &why) == BERTH_OK) {
		const struct jsonr o = jsonr_root(tree, "report");

		ok = json_is_object(tree) && benchlog_vllm(&o, a, out);
		json_decref(tree);
	}
	if (ok || benchlog_tvm(text, len, a, out))
		return BERTH_OK;
	return err_set(err, BERTH_EINVAL, "no throughput of trtexec, benchmark_app, vLLM or TVM was found in it");
}
