/* advise: which precision and engine to run a model in, and on what. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/probe.h"
#include "model/jobspec.h"
#include "plan/benchlog.h"
#include "plan/variant.h"
#include "store/job_rows.h"
#include "store/offer_rows.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/str.h"

#define ADVISE_FILE_MAX ((size_t)16 << 20)

struct advise_opts {
	const char *params, *phase, *purchase;
	int64_t layers, hidden, kv_width, batch, context, output_tokens, top;
	struct opt_list gpus, precisions, measured;
};

static const struct advise_opts advise_defaults = {
	.phase = "decode", .purchase = "on_demand", .top = 20
};

#define OFF(field) offsetof(struct advise_opts, field)
static const struct opt_row advise_rows[] = {
	{ "params", 'p', OPT_STRING, "N", "parameters of the model: 8B, 70B, 350M", OFF(params), 0,
	    0, NULL },
	{ "phase", 0, OPT_CHOICE, "train|prefill|decode", "what it does; default decode",
	    OFF(phase), 0, 0, NULL },
	{ "batch", 'b', OPT_INT, "N", "sequences at once; default 1", OFF(batch), 1, 1e7, NULL },
	{ "context", 0, OPT_INT, "TOKENS", "of each sequence; default 2048", OFF(context), 1, 1e8,
	    NULL },
	{ "layers", 0, OPT_INT, "N", "of the model; default a guess from its size", OFF(layers), 1,
	    1e5, NULL },
	{ "hidden", 0, OPT_INT, "N", "width of the model; default a guess from its size",
	    OFF(hidden), 1, 1e7, NULL },
	{ "kv-width", 0, OPT_INT, "N",
	    "key-value heads times their width; default a quarter of the width", OFF(kv_width), 1,
	    1e7, NULL },
	{ "gpu", 'g', OPT_LIST, "GPU",
	    "compare these; default those of the job, else all that are offered", OFF(gpus), 0, 0,
	    NULL },
	{ "precision", 0, OPT_LIST, "NAME",
	    "compare these; default fp32, tf32, bf16, fp8, int8, fp4", OFF(precisions), 0, 0,
	    NULL },
	{ "measured", 'm', OPT_LIST, "GPU[:NAME]=FILE",
	    "a benchmark's report, preferred to the estimate", OFF(measured), 0, 0, NULL },
	{ "output-tokens", 0, OPT_INT, "N", "made for each sequence in a vLLM latency report",
	    OFF(output_tokens), 1, 1e8, NULL },
	{ "purchase", 0, OPT_CHOICE, "on_demand|spot|reserved",
	    "whose prices count; default on_demand", OFF(purchase), 0, 0, NULL },
	{ "top", 'n', OPT_INT, "N", "rows to show; default 20", OFF(top), 1, 100000, NULL },
	{ 0 },
};

static enum berth_code advise_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_advise = {
	.name = "advise",
	.summary = "say in which precision to run a model, and on which accelerator",
	.args = "[JOB]",
	.opts = advise_rows,
	.opts_default = &advise_defaults,
	.opts_size = sizeof(advise_defaults),
	.flags = CMD_STORE_RO | CMD_STORE_OPT,
	.args_max = 1,
	.run = advise_run,
};

struct advised {
	struct variant_advice v;
	const char *engine, *unit, *detail;
	double rate;    /* of all count together, a second */
	double price;   /* USD an hour for all that it needs; NaN */
	double million; /* USD a million units; NaN */
	bool best;
};

struct advising {
	struct cmd_ctx *ctx;
	const struct advise_opts *o;
	const struct accel_table *accels;
	struct verdict_refs refs;
	struct verdict_limits limits;
	struct variant_model model;
	const struct accel **accel;
	size_t n_accel;
	enum accel_precision precision[PRECISION_COUNT];
	size_t n_precision;
	struct offer *offers;
	size_t n_offers;
	struct advised *rows;
	size_t n_rows;
};

/* "8B" "350M" "1.5T" or a plain number. */
static enum berth_code
advise_params(const char *text, double *out, struct berth_err *err)
{
	static const char suffixes[] = "kMBT";
	const size_t n = strlen(text);
	const char *s = n > 1 ? strchr(suffixes, text[n - 1]) : NULL;
	char number[40];

	if (n > 0 && n < sizeof(number)) {
		memcpy(number, text, n + 1);
		if (s != NULL)
			number[n - 1] = '\0';
		if (str_to_double(number, 1e-3, 1e15, out, NULL) == BERTH_OK) {
			*out *= s != NULL ? pow(1000.0, 1.0 + (double)(s - suffixes)) : 1.0;
			if (*out >= 1e3 && *out <= 1e15)
				return BERTH_OK;
		}
	}
	err_set(err, BERTH_EUSAGE, "'%s' is no number of parameters: 8B, 70B, 350M", text);
	return err_at(err, "--params");
}

static enum berth_code
advise_model(struct advising *x, struct berth_err *err)
{
	const struct advise_opts *o = x->o;
	struct variant_model *m = &x->model;

	if (o->params == NULL) {
		cmd_next_step(
		    x->ctx, "berth advise --params 8B --phase decode --batch 16 --context 4096");
		return err_set(err, BERTH_EUSAGE, "how large is the model? --params");
	}
	m->layers = (double)o->layers;
	m->hidden = (double)o->hidden;
	m->kv_width = (double)o->kv_width;
	m->batch = (double)o->batch;
	m->context = (double)o->context;
	(void)variant_phase_parse(o->phase, &m->phase);
	if (advise_params(o->params, &m->params, err) != BERTH_OK)
		return err->code;
	variant_model_complete(m);
	return BERTH_OK;
}

static void
advise_add(struct advising *x, const struct accel *accel)
{
	for (size_t i = 0; i < x->n_accel; i++)
		if (x->accel[i] == accel)
			return;
	x->accel[x->n_accel++] = accel;
}

/* Accelerators of a job: a file's, or a queued one's. */
static enum berth_code
advise_job(struct advising *x, struct berth_err *err)
{
	const char *name = x->ctx->args[0];
	struct job job = { .id = "" };
	enum berth_code rc;

	if (str_starts(name, "j-") && x->ctx->store != NULL)
		rc = store_job_get(x->ctx->store, name, x->ctx->arena, &job, err);
	else
		rc = jobspec_load(name, x->accels, x->ctx->now, x->ctx->arena, &job.spec, err);
	for (size_t i = 0; rc == BERTH_OK && i < job.spec.n_variants; i++) {
		const struct accel *accel = accel_find(x->accels, job.spec.variants[i].accelerator);

		if (accel != NULL)
			advise_add(x, accel);
	}
	return rc;
}

static enum berth_code
advise_accels(struct advising *x, struct berth_err *err)
{
	x->accel = arena_array_of(x->ctx->arena, accel_count(x->accels) + 1, const struct accel *);
	for (size_t i = 0; i < x->o->gpus.n; i++) {
		const struct accel *accel = accel_find(x->accels, x->o->gpus.v[i]);

		if (accel == NULL)
			return cmd_accel_next(
			    x->ctx, accel_unknown(x->accels, x->o->gpus.v[i], err));
		advise_add(x, accel);
	}
	if (x->n_accel == 0 && x->ctx->n_args > 0 && advise_job(x, err) != BERTH_OK)
		return err->code;
	for (size_t i = 0; x->o->gpus.n == 0 && x->ctx->n_args == 0 && i < x->n_offers; i++) {
		const struct accel *accel = accel_find(x->accels, x->offers[i].accelerator);

		if (accel != NULL)
			advise_add(x, accel);
	}
	if (x->n_accel == 0) {
		cmd_next_step(x->ctx, "berth prices import, or name accelerators with --gpu");
		return err_set(err, BERTH_EINFEASIBLE,
		    "no accelerators to compare: none is named and none is offered");
	}
	return BERTH_OK;
}

static enum berth_code
advise_precisions(struct advising *x, struct berth_err *err)
{
	static const enum accel_precision all[] = { PRECISION_FP32, PRECISION_TF32, PRECISION_BF16,
		PRECISION_FP8, PRECISION_INT8, PRECISION_FP4 };

	for (size_t i = 0; i < x->o->precisions.n && i < PRECISION_COUNT; i++) {
		if (!accel_precision_parse(x->o->precisions.v[i], &x->precision[i])) {
			err_set(err, BERTH_EUSAGE,
			    "'%s' is no precision: fp32, tf32, fp16, bf16, fp8, int8 or fp4",
			    x->o->precisions.v[i]);
			return err_at(err, "--precision");
		}
		x->n_precision = i + 1;
	}
	if (x->n_precision == 0) {
		memcpy(x->precision, all, sizeof(all));
		x->n_precision = sizeof(all) / sizeof(all[0]);
	}
	return BERTH_OK;
}

/* Cheapest way to have count of them: whole machines. */
static double
advise_price(const struct advising *x, const struct accel *accel, int count)
{
	double best = (double)NAN;
	enum purchase purchase = PURCHASE_ON_DEMAND;

	(void)purchase_parse(x->o->purchase, &purchase);
	for (size_t i = 0; i < x->n_offers && count > 0; i++) {
		const struct offer *o = &x->offers[i];
		const struct usd_micro hour = offer_effective_hour(o);
		double price;

		if (o->purchase != purchase || o->accelerator_count < 1 || !usd_known(hour) ||
		    !accel_is(
			accel_find_sized(x->accels, o->accelerator, o->accelerator_memory_gib),
			accel))
			continue;
		price = usd_to_double(hour) *
			((count + o->accelerator_count - 1) / o->accelerator_count);
		if (!(price >= best))
			best = price;
	}
	return best;
}

static void
advise_row(struct advising *x, const struct variant_advice *v, const char *engine, const char *unit,
    double rate, const char *detail)
{
	struct advised *r = &x->rows[x->n_rows++];

	*r = (struct advised){
		.v = *v, .engine = engine, .unit = unit, .rate = rate, .detail = detail
	};
	r->price = advise_price(x, v->accel, v->count);
	r->million = r->price / (rate * 3600.0) * 1e6;
}

/* The rate that the phase asks for: tokens made, tokens read, or all that the report tells. */
static enum berth_code
advise_rate(struct advising *x, const struct benchlog *log, double *rate_out, const char **unit_out,
    struct berth_err *err)
{
	*rate_out = log->rate;
	*unit_out = log->unit;
	if (str_eq(log->unit, "batches")) {
		if (x->o->output_tokens == 0 || x->model.phase != VARIANT_DECODE)
			return err_set(err, BERTH_EINVAL,
			    "a vLLM latency report does not say how many tokens were made: say "
			    "--phase decode, --batch and --output-tokens as vllm bench latency had "
			    "them, or give a throughput report");
		*rate_out *= x->model.batch * (double)x->o->output_tokens;
		*unit_out = "tokens";
	} else if (str_eq(log->unit, "tokens")) {
		const double v = x->model.phase == VARIANT_DECODE    ? log->generated
				 : x->model.phase == VARIANT_PREFILL ? log->prompted
								     : (double)NAN;

		if (v > 0)
			*rate_out = v;
	}
	return BERTH_OK;
}

/* What was read, and what berth had to take for granted. */
static const char *
advise_detail(struct advising *x, const struct benchlog *log, double rate, bool guessed)
{
	const bool all = str_eq(log->unit, "tokens") && rate == log->rate &&
			 !(rate == log->generated || rate == log->prompted);

	return arena_printf(x->ctx->arena, "%s%s%s", log->detail,
	    all ? ", prompts and answers together" : "",
	    guessed ? "; its precision is not said, taken as bf16" : "");
}

/* "GPU[:PRECISION]=FILE" */
static enum berth_code
advise_measured(struct advising *x, const char *text, struct berth_err *err)
{
	struct arena *a = x->ctx->arena;
	const char *eq = strchr(text, '='), *colon;
	enum accel_precision p = PRECISION_COUNT;
	struct variant_advice v;
	struct benchlog log;
	const struct accel *accel;
	const char *unit;
	enum berth_code rc;
	char *bytes, *name;
	double rate;
	size_t n;

	if (eq == NULL)
		return err_set(
		    err, BERTH_EUSAGE, "--measured %s: write GPU=FILE, or GPU:int8=FILE", text);
	name = arena_strndup(a, text, (size_t)(eq - text));
	colon = strrchr(name, ':');
	if (colon != NULL) {
		if (!accel_precision_parse(colon + 1, &p))
			return err_set(err, BERTH_EUSAGE, "--measured %s: '%s' is no precision",
			    text, colon + 1);
		name[colon - name] = '\0';
	}
	accel = accel_find(x->accels, name);
	if (accel == NULL)
		return cmd_accel_next(x->ctx, accel_unknown(x->accels, name, err));
	rc = fileio_slurp(a, eq + 1, ADVISE_FILE_MAX, &bytes, &n, err);
	if (rc != BERTH_OK)
		return rc;
	rc = benchlog_parse(bytes, n, a, &log, err);
	if (rc == BERTH_OK)
		rc = advise_rate(x, &log, &rate, &unit, err);
	if (rc != BERTH_OK)
		return err_ctx(err, "%s", eq + 1);
	log.detail =
	    advise_detail(x, &log, rate, p == PRECISION_COUNT && log.precision == PRECISION_COUNT);
	p = p != PRECISION_COUNT               ? p
	    : log.precision != PRECISION_COUNT ? log.precision
					       : PRECISION_BF16;
	variant_advise(&x->model, accel, p, &x->refs, &x->limits, &v);
	v.measured = true;
	v.count = v.count > 0 ? v.count : 1;
	v.note = log.detail;
	advise_row(x, &v, log.engine, unit, rate, log.detail);
	return BERTH_OK;
}

static bool
advise_has_measured(const struct advising *x, const struct accel *accel, enum accel_precision p)
{
	for (size_t i = 0; i < x->n_rows; i++)
		if (x->rows[i].v.measured && x->rows[i].v.accel == accel &&
		    x->rows[i].v.precision == p && str_eq(x->rows[i].unit, "tokens"))
			return true;
	return false;
}

/* Cheapest first; what has no price or does not fit last. */
static int
advise_cmp(const void *a, const void *b)
{
	const struct advised *x = a, *y = b;
	const double p = isfinite(x->million) ? x->million : INFINITY,
		     q = isfinite(y->million) ? y->million : INFINITY;
	int c = strcmp(y->unit, x->unit); /* tokens before inferences */

	if (c != 0)
		return c;
	if (p != q)
		return p < q ? -1 : 1;
	if ((x->v.count == 0) != (y->v.count == 0))
		return x->v.count == 0 ? 1 : -1;
	return (x->rate < y->rate) - (x->rate > y->rate);
}

static enum berth_code
advise_compare(struct advising *x, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	x->rows = arena_array_of(
	    x->ctx->arena, x->n_accel * x->n_precision + x->o->measured.n + 1, struct advised);
	for (size_t i = 0; i < x->o->measured.n && rc == BERTH_OK; i++)
		rc = advise_measured(x, x->o->measured.v[i], err);
	for (size_t i = 0; i < x->n_accel && rc == BERTH_OK; i++)
		for (size_t k = 0; k < x->n_precision; k++) {
			struct variant_advice v;

			if (advise_has_measured(x, x->accel[i], x->precision[k]))
				continue;
			variant_advise(
			    &x->model, x->accel[i], x->precision[k], &x->refs, &x->limits, &v);
			advise_row(x, &v, "", "tokens", v.tokens_s, "roofline");
		}
	if (rc != BERTH_OK)
		return rc;
	qsort(x->rows, x->n_rows, sizeof(*x->rows), advise_cmp);
	for (size_t i = 0; i < x->n_rows; i++) /* the first of each unit, if it has a price */
		x->rows[i].best = isfinite(x->rows[i].million) &&
				  (i == 0 || !str_eq(x->rows[i - 1].unit, x->rows[i].unit));
	return BERTH_OK;
}

static enum berth_code
advise_json(struct advising *x, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(x->ctx, "berth.advice/1");
	const struct variant_model *m = &x->model;

	jsonw_begin_object(w, "model");
	jsonw_double(w, "params", m->params);
	jsonw_str(w, "phase", variant_phase_name(m->phase));
	jsonw_double(w, "batch", m->batch);
	jsonw_double(w, "context", m->context);
	jsonw_fixed(w, "layers", m->layers, 1);
	jsonw_fixed(w, "hidden", m->hidden, 1);
	jsonw_fixed(w, "kv_width", m->kv_width, 1);
	jsonw_bool(w, "shape_estimated", m->shape_estimated);
	jsonw_end_object(w);
	jsonw_begin_array(w, "variants");
	for (size_t i = 0; i < x->n_rows; i++) {
		const struct advised *r = &x->rows[i];

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "accelerator", r->v.accel->name);
		jsonw_str(w, "precision", accel_precision_name(r->v.precision));
		jsonw_str_or_null(w, "engine", r->engine);
		if (r->v.count > 0)
			jsonw_int(w, "count", r->v.count);
		else
			jsonw_null(w, "count");
		jsonw_fixed(w, "need_gib", r->v.need.total, 3);
		jsonw_fixed(w, "weights_gib", r->v.need.weights, 3);
		jsonw_fixed(w, "optimizer_gib", r->v.need.optimizer, 3);
		jsonw_fixed(w, "kv_gib", r->v.need.kv, 3);
		jsonw_fixed(w, "activations_gib", r->v.need.activations, 3);
		jsonw_double(w, "rate_per_s", r->rate);
		jsonw_str(w, "unit", r->unit);
		jsonw_bool(w, "measured", r->v.measured);
		jsonw_str(w, "bound_by", r->v.memory_bound ? "memory" : "compute");
		jsonw_bool(w, "weight_only", r->v.weight_only);
		jsonw_double(w, "speed_vs_bf16", r->v.vs_bf16);
		jsonw_fixed(w, "price_per_hour", r->price, 6);
		jsonw_fixed(w, "price_per_million", r->million, 6);
		jsonw_bool(w, "best", r->best);
		jsonw_str_or_null(w, "note", r->v.note);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(x->ctx, err);
}

static enum berth_code
advise_table(struct advising *x, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "accelerator", NULL, TABLE_TEXT, 0, 0 },
		{ "count", NULL, TABLE_INT, 0, 0 },
		{ "precision", NULL, TABLE_TEXT, 0, 0 },
		{ "engine", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "need_gib", NULL, TABLE_DOUBLE, 1, 0 },
		{ "rate_per_s", "RATE/S", TABLE_DOUBLE, 0, 0 },
		{ "unit", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "speed_vs_bf16", "VS-BF16", TABLE_DOUBLE, 2, 0 },
		{ "price_per_hour", "$/H", TABLE_DOUBLE, 2, 0 },
		{ "price_per_million", "$/M", TABLE_DOUBLE, 4, 0 },
		{ "note", NULL, TABLE_TEXT, 0, TABLE_CUT },
	};
	struct table *t = table_new(x->ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	size_t n = x->n_rows < (size_t)x->o->top ? x->n_rows : (size_t)x->o->top;

	for (size_t i = 0; i < n; i++) {
		const struct advised *r = &x->rows[i];

		table_row(t);
		table_text(t, r->v.accel->name);
		if (r->v.count > 0)
			table_int(t, r->v.count);
		else
			table_unknown(t);
		table_text(t, accel_precision_name(r->v.precision));
		table_text(t, r->engine);
		table_double(t, r->v.need.total);
		table_double(t, r->rate);
		table_text(t, r->unit);
		table_double(t, r->v.vs_bf16);
		table_double(t, r->price);
		table_double(t, r->million);
		table_text(t, r->v.note);
		if (r->best)
			table_mark(t, TABLE_BOLD);
	}
	return cmd_table_print(x->ctx, t, err);
}

static void
advise_say(struct advising *x)
{
	const struct variant_model *m = &x->model;
	const struct advised *r = x->n_rows > 0 ? &x->rows[0] : NULL;

	if (r != NULL && r->best)
		cmd_say(x->ctx, "%s on %d x %s: $%.4f a million %s, %s\n\n",
		    accel_precision_name(r->v.precision), r->v.count, r->v.accel->name, r->million,
		    r->unit,
		    r->v.measured       ? "measured"
		    : r->v.memory_bound ? "bound by memory"
					: "bound by arithmetic");
	if (m->shape_estimated)
		cmd_note(x->ctx,
		    "the model's shape is a guess: %.0f layers of %.0f; --layers, --hidden and "
		    "--kv-width say it",
		    m->layers, m->hidden);
}

static enum berth_code
advise_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct advising x = { .ctx = ctx, .o = ctx->opts };
	enum berth_code rc;

	rc = advise_model(&x, err);
	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &x.accels, err);
	if (rc == BERTH_OK)
		rc = probe_tables(ctx, &x.refs, &x.limits, err);
	if (rc == BERTH_OK && ctx->store != NULL)
		rc = store_offer_list(ctx->store, NULL, ctx->arena, &x.offers, &x.n_offers, err);
	if (rc == BERTH_OK)
		rc = advise_accels(&x, err);
	if (rc == BERTH_OK)
		rc = advise_precisions(&x, err);
	if (rc == BERTH_OK)
		rc = advise_compare(&x, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return advise_json(&x, err);
	advise_say(&x);
	return advise_table(&x, err);
}
