/* Reports that are JSON: vLLM's benchmarks, and TVM's tuning logs, which hold an object or a list a
 * line. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/benchlog_impl.h"
#include "util/arena.h"
#include "util/jsonr.h"
#include "util/str.h"

#define BENCHLOG_TASKS_MAX 4096
#define BENCHLOG_COST_MAX 1e9 /* seconds; TVM writes 1e10 for what did not run */

static double
benchlog_field(const struct jsonr *o, const char *key)
{
	struct berth_err err;
	double v = (double)NAN;

	return jsonr_double(o, key, &v, &err) == BERTH_OK && isfinite(v) ? v : (double)NAN;
}

/* Python writes NaN and Infinity, which are no JSON: "" in their place, outside of strings, which
 * is no number either. */
static char *
benchlog_plain(const char *text, struct arena *a)
{
	static const char *const words[] = { "-Infinity", "Infinity", "NaN" };
	char *copy = arena_strdup(a, text);
	bool quoted = false;

	for (char *p = copy; *p != '\0'; p++) {
		if (*p == '"' && (p == copy || p[-1] != '\\'))
			quoted = !quoted;
		for (size_t i = 0; !quoted && i < sizeof(words) / sizeof(words[0]); i++) {
			const size_t n = strlen(words[i]);

			if (strncmp(p, words[i], n) != 0)
				continue;
			memset(p, ' ', n);
			memcpy(p, "\"\"", 2);
			p++; /* else the second quote would begin a string */
		}
	}
	return copy;
}

/* The figure that counts, where it is there and not a number; NULL: it is one, or there is none. */
static const char *
benchlog_vllm_wrong(const struct jsonr *o)
{
	static const char *const keys[] = { "avg_latency", "total_token_throughput",
		"tokens_per_second", "output_throughput" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct jsonr v = jsonr_get(o, keys[i]);

		if (v.v != NULL && !json_is_null(v.v))
			return json_is_number(v.v) ? NULL : keys[i];
	}
	return NULL;
}

/* One result. */
static enum benchlog_found
benchlog_vllm_one(
    const struct jsonr *o, struct arena *a, struct benchlog *out, struct berth_err *err)
{
	const double total = benchlog_field(o, "total_token_throughput"),
		     made = benchlog_field(o, "output_throughput");
	const double all = benchlog_field(o, "tokens_per_second"),
		     latency = benchlog_field(o, "avg_latency");
	const double failed = benchlog_field(o, "failed"), seconds = benchlog_field(o, "duration");
	const char *wrong = benchlog_vllm_wrong(o);

	out->engine = "vllm";
	out->batch = 1;
	if (wrong == NULL && isnan(total) && isnan(made) && isnan(all) && isnan(latency))
		return BENCHLOG_OTHER;
	if (benchlog_field(o, "completed") == 0)
		return benchlog_refuse(err, "no request of this vLLM benchmark was completed");
	if (wrong != NULL)
		return benchlog_refuse(err, "%s of this vLLM benchmark is not a number", wrong);
	if (isfinite(latency)) {
		if (!(latency > 0))
			return benchlog_refuse(err, "the latency of this vLLM benchmark is 0");
		out->rate = 1.0 / latency;
		out->unit = "batches";
		out->detail = arena_printf(a, "vLLM: a batch in %.6g s", latency);
		return BENCHLOG_READ;
	}
	out->rate = isfinite(total) ? total : isfinite(all) ? all : made;
	if (!(out->rate > 0))
		return benchlog_refuse(err, "the throughput of this vLLM benchmark is 0");
	out->unit = "tokens";
	out->generated = made > 0 ? made : (double)NAN;
	out->prompted = benchlog_field(o, "total_input_tokens") / seconds;
	if (!(out->prompted > 0) || !isfinite(out->prompted))
		out->prompted =
		    isfinite(total) && isfinite(made) && total > made ? total - made : (double)NAN;
	out->detail = failed > 0
			  ? arena_printf(a, "vLLM: %.6g tokens a second, %.0f requests failed",
				out->rate, failed)
			  : arena_printf(a, "vLLM: %.6g tokens a second", out->rate);
	return BENCHLOG_READ;
}

struct benchlog_vllm_file {
	struct arena *a;
	struct benchlog *out;
	struct berth_err *err;
	const char *model;
	size_t n;
};

/* One object of the file: of the same model the fastest counts, two models are no figure. */
static enum benchlog_found
benchlog_vllm_object(struct benchlog_vllm_file *f, json_t *tree)
{
	const struct jsonr o = jsonr_root(tree, "report"), m = jsonr_get(&o, "model_id");
	const char *model = json_is_string(m.v) ? json_string_value(m.v) : "";
	struct benchlog one = {
		.precision = PRECISION_COUNT, .generated = (double)NAN, .prompted = (double)NAN
	};
	const enum benchlog_found found = benchlog_vllm_one(&o, f->a, &one, f->err);

	if (found != BENCHLOG_READ)
		return found;
	if (f->n > 0 && !str_eq(f->model, model))
		return benchlog_refuse(f->err,
		    "it holds results of two models, '%s' and '%s': give each a file of its own",
		    f->model, model);
	if (f->n > 0 && !str_eq(f->out->unit, one.unit))
		return benchlog_refuse(
		    f->err, "it holds results of two kinds: give each a file of its own");
	if (f->n == 0 || one.rate > f->out->rate)
		*f->out = one;
	f->model = arena_strdup(f->a, model);
	f->n++;
	return BENCHLOG_READ;
}

enum benchlog_found
benchlog_vllm(const char *text, struct arena *a, struct benchlog *out, struct berth_err *err)
{
	static const char *const keys[] = { "\"tokens_per_second\"", "\"output_throughput\"",
		"\"total_token_throughput\"", "\"avg_latency\"" };
	struct benchlog_vllm_file f = { .a = a, .out = out, .err = err };
	enum benchlog_found found = BENCHLOG_OTHER;
	const char *plain;
	struct berth_err why;
	json_t *tree = NULL;
	bool any = false;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		any = any || strstr(text, keys[i]) != NULL;
	if (!any)
		return BENCHLOG_OTHER;
	plain = benchlog_plain(text, a);
	if (jsonr_parse(plain, strlen(plain), "report", &tree, &why) == BERTH_OK) {
		found = json_is_object(tree) ? benchlog_vllm_object(&f, tree) : BENCHLOG_OTHER;
		json_decref(tree);
		return found;
	}
	for (const char *p = plain; *p != '\0';) {
		const size_t k = strcspn(p, "\n");
		const char *line = p;

		p += k + (p[k] == '\n');
		if (k == 0)
			continue;
		if (jsonr_parse(line, k, "line", &tree, &why) != BERTH_OK)
			return benchlog_refuse(
			    err, "this vLLM report is no whole JSON: it was cut off (%s)", why.msg);
		found = json_is_object(tree) ? benchlog_vllm_object(&f, tree) : BENCHLOG_OTHER;
		json_decref(tree);
		if (found == BENCHLOG_REFUSED)
			return found;
	}
	if (f.n > 1)
		out->detail = arena_printf(a, "%s, the best of %zu", out->detail, f.n);
	return f.n > 0 ? BENCHLOG_READ : BENCHLOG_OTHER;
}

struct benchlog_task {
	const char *name;
	double best; /* seconds; infinite: nothing of it ran */
};

struct benchlog_tvm_file {
	struct arena *a;
	struct benchlog_task *tasks;
	size_t n, trials, unread;
	bool full;
};

/* Mean of a list of seconds; NaN for none, or for what TVM writes where nothing ran. */
static double
benchlog_tvm_mean(const struct jsonr *costs)
{
	const size_t n = json_is_array(costs->v) ? jsonr_len(costs) : 0;
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct jsonr c = jsonr_at(costs, i);

		if (!json_is_number(c.v) || !(json_number_value(c.v) > 0) ||
		    json_number_value(c.v) > BENCHLOG_COST_MAX)
			return (double)NAN;
		sum += json_number_value(c.v);
	}
	return n > 0 ? sum / (double)n : (double)NAN;
}

static void
benchlog_tvm_trial(struct benchlog_tvm_file *f, const char *name, double cost)
{
	size_t k = 0;

	f->trials++;
	while (k < f->n && !str_eq(f->tasks[k].name, name))
		k++;
	if (k == BENCHLOG_TASKS_MAX) {
		f->full = true;
		return;
	}
	if (k == f->n)
		f->tasks[f->n++] = (struct benchlog_task){ arena_strdup(f->a, name), INFINITY };
	if (cost < f->tasks[k].best)
		f->tasks[k].best = cost;
}

/* {"input": [target, task, ...], "result": [[s, ...], error, ...]} of AutoTVM; "i" and "r" of the
 * auto-scheduler. */
static bool
benchlog_tvm_object(struct benchlog_tvm_file *f, json_t *tree)
{
	const struct jsonr o = jsonr_root(tree, "line"), in = jsonr_get(&o, "input"),
			   i = jsonr_get(&o, "i");
	const struct jsonr result = jsonr_get(&o, "result"),
			   r = result.v != NULL ? result : jsonr_get(&o, "r");
	const struct jsonr first =
	    json_is_array(i.v) ? jsonr_at(&i, 0) : (struct jsonr){ .v = NULL };
	const json_t *what = json_is_array(in.v) ? in.v : first.v;
	struct jsonr costs, code;
	char *name;

	if (what == NULL || !json_is_array(r.v) || (name = json_dumps(what, JSON_COMPACT)) == NULL)
		return false;
	costs = jsonr_at(&r, 0);
	code = jsonr_at(&r, 1);
	benchlog_tvm_trial(f, name,
	    json_is_integer(code.v) && json_integer_value(code.v) == 0 ? benchlog_tvm_mean(&costs)
								       : (double)NAN);
	free(name);
	return true;
}

/* [workload, [trace, [s, ...] or null, target, arguments]] of MetaSchedule */
static bool
benchlog_tvm_record(struct benchlog_tvm_file *f, json_t *tree)
{
	const struct jsonr o = jsonr_root(tree, "line"), which = jsonr_at(&o, 0),
			   record = jsonr_at(&o, 1);
	struct jsonr costs;

	if (!json_is_integer(which.v) || !json_is_array(record.v) || jsonr_len(&record) < 4)
		return false;
	costs = jsonr_at(&record, 1);
	benchlog_tvm_trial(f,
	    arena_printf(f->a, "workload %lld", (long long)json_integer_value(which.v)),
	    benchlog_tvm_mean(&costs));
	return true;
}

static void
benchlog_tvm_line(struct benchlog_tvm_file *f, const char *line, size_t len)
{
	struct berth_err err;
	json_t *tree = NULL;
	bool ok;

	if (len == 0 || line[0] == '#')
		return;
	if (jsonr_parse(line, len, "line", &tree, &err) != BERTH_OK) {
		f->unread++;
		return;
	}
	ok = json_is_object(tree) ? benchlog_tvm_object(f, tree)
				  : json_is_array(tree) && benchlog_tvm_record(f, tree);
	f->unread += !ok;
	json_decref(tree);
}

enum benchlog_found
benchlog_tvm(const char *text, struct arena *a, struct benchlog *out, struct berth_err *err)
{
	struct benchlog_tvm_file f = { .a = a,
		.tasks = arena_array_of(a, BENCHLOG_TASKS_MAX, struct benchlog_task) };
	const char *plain = benchlog_plain(text, a);
	double total = 0;

	for (const char *p = plain; *p != '\0';) {
		const size_t k = strcspn(p, "\n");

		benchlog_tvm_line(&f, p, k);
		p += k + (p[k] == '\n');
	}
	if (f.trials == 0)
		return BENCHLOG_OTHER;
	if (f.full)
		return benchlog_refuse(
		    err, "this TVM log has more than %d tasks", BENCHLOG_TASKS_MAX);
	for (size_t i = 0; i < f.n; i++) {
		if (isinf(f.tasks[i].best))
			return benchlog_refuse(err,
			    "no trial of a task of this TVM log ran (%.60s): without its time "
			    "there is no sum",
			    f.tasks[i].name);
		total += f.tasks[i].best;
	}
	out->engine = "tvm";
	out->batch = 1;
	out->rate = 1.0 / total;
	out->unit = "inferences";
	out->precision = strstr(text, "int8") != NULL       ? PRECISION_INT8
			 : strstr(text, "bfloat16") != NULL ? PRECISION_BF16
			 : strstr(text, "float16") != NULL  ? PRECISION_FP16
							    : PRECISION_FP32;
	out->detail =
	    arena_printf(a, "TVM: best times of %zu tasks, each once, sum to %.6g s; %zu trials%s",
		f.n, total, f.trials,
		f.unread > 0 ? arena_printf(a, ", %zu lines could not be read", f.unread) : "");
	return BENCHLOG_READ;
}
