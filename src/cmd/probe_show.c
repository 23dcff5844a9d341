#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/probe.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

double
probe_unit_price(const struct probed_machine *m, double rate)
{
	const double all = rate * m->verdict.gpus;

	return usd_known(m->price) && all > 0.0 ? usd_to_double(m->price) / all : (double)NAN;
}

static const struct verdict_ratio *
probe_ratio(const struct verdict *v, const struct probe_test *t)
{
	for (size_t i = 0; i < v->n_ratios; i++)
		if (v->ratios[i].gpu == t->gpu && str_eq(v->ratios[i].test, t->name) && t->peer < 0)
			return &v->ratios[i];
	return NULL;
}

static void
probe_json_checks(struct jsonw *w, const char *key, const struct probe_check *c, size_t n)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++) {
		if (c[i].status == CHECK_OK)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", c[i].name);
		if (c[i].gpu >= 0)
			jsonw_int(w, "gpu", c[i].gpu);
		else
			jsonw_null(w, "gpu");
		jsonw_str(w, "status", check_status_name(c[i].status));
		jsonw_double(w, "value", c[i].value);
		jsonw_str_or_null(w, "detail", c[i].detail);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void
probe_json_index(struct jsonw *w, const char *key, int v)
{
	if (v >= 0)
		jsonw_int(w, key, v);
	else
		jsonw_null(w, key);
}

static void
probe_json_tests(struct jsonw *w, const struct probed_machine *m)
{
	jsonw_begin_array(w, "tests");
	for (size_t i = 0; i < m->result.n_tests; i++) {
		const struct probe_test *t = &m->result.tests[i];
		const struct verdict_ratio *r = probe_ratio(&m->verdict, t);

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", t->name);
		probe_json_index(w, "gpu", t->gpu);
		probe_json_index(w, "peer", t->peer);
		jsonw_double(w, "value", t->value);
		jsonw_str(w, "unit", t->unit);
		jsonw_str(w, "status", probe_status_name(t->status));
		jsonw_double(w, "reference", r != NULL ? r->reference : (double)NAN);
		jsonw_double(w, "ratio", r != NULL ? r->ratio : (double)NAN);
		jsonw_str_or_null(w, "reference_source", r != NULL ? r->source : "");
		jsonw_str_or_null(w, "error", t->error);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void
probe_json_reasons(struct jsonw *w, const struct verdict *v)
{
	jsonw_begin_array(w, "reasons");
	for (size_t i = 0; i < v->n_reasons; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "leads_to", verdict_kind_name(v->reasons[i].kind));
		jsonw_str(w, "code", v->reasons[i].code);
		probe_json_index(w, "gpu", v->reasons[i].gpu);
		jsonw_str(w, "text", v->reasons[i].text);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static bool
probe_host_only(const struct probed_machine *m)
{
	return m->why[0] == '\0' && m->result.mode == PROBE_MODE_HOST;
}

static enum berth_code
probe_json(struct cmd_ctx *ctx, const struct probed_machine *m, struct berth_err *err)
{
	const struct verdict *v = &m->verdict;
	struct jsonw *w = cmd_json_begin(ctx, "berth.probe/1");
	const bool judged = !probe_host_only(m) || v->kind != VERDICT_ACCEPT;

	jsonw_str(w, "source", m->source);
	jsonw_str_or_null(w, "host", m->result.host);
	jsonw_str_or_null(w, "mode", m->why[0] == '\0' ? probe_mode_name(m->result.mode) : "");
	jsonw_str_or_null(w, "level", m->result.level);
	jsonw_str_or_null(w, "driver", m->result.driver);
	jsonw_str_or_null(w, "sold_as", m->promise.accelerator);
	jsonw_str_or_null(w, "accelerator", v->actual);
	jsonw_int(w, "accelerator_count", v->gpus);
	jsonw_str_or_null(w, "verdict", judged ? verdict_kind_name(v->kind) : "");
	jsonw_str_or_null(w, "unreadable", m->why);
	jsonw_double(w, "speed", v->speed);
	jsonw_double(w, "memory_gb_s", v->memory_gb_s);
	jsonw_double(w, "compute_tflops", v->compute_tflops);
	jsonw_str_or_null(w, "compute_test", v->compute_test);
	probe_json_index(w, "straggler", v->straggler);
	jsonw_bool(w, "shared", v->shared);
	jsonw_money(w, "price_per_hour", m->price);
	jsonw_fixed(w, "price_per_tflops_hour", probe_unit_price(m, v->compute_tflops), 6);
	jsonw_fixed(w, "price_per_gb_s_hour", probe_unit_price(m, v->memory_gb_s), 6);
	probe_json_reasons(w, v);
	probe_json_tests(w, m);
	probe_json_checks(w, "health", m->result.health, m->result.n_health);
	probe_json_checks(w, "checks", m->result.checks, m->result.n_checks);
	jsonw_double(w, "duration_s", m->result.duration_s);
	return cmd_json_end(ctx, err);
}

static enum berth_code
probe_table(struct cmd_ctx *ctx, const struct probed_machine *m, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "gpu", NULL, TABLE_TEXT, 0, 0 },
		{ "test", NULL, TABLE_TEXT, 0, 0 },
		{ "value", NULL, TABLE_DOUBLE, 1, 0 },
		{ "unit", NULL, TABLE_TEXT, 0, 0 },
		{ "reference", NULL, TABLE_DOUBLE, 1, 0 },
		{ "ratio", NULL, TABLE_DOUBLE, 2, 0 },
		{ "samples", NULL, TABLE_INT, 0, TABLE_WIDE },
		{ "iqr", NULL, TABLE_DOUBLE, 3, TABLE_WIDE },
		{ "status", NULL, TABLE_TEXT, 0, 0 },
		{ "error", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "source", NULL, TABLE_TEXT, 0, TABLE_WIDE },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < m->result.n_tests; i++) {
		const struct probe_test *p = &m->result.tests[i];
		const struct verdict_ratio *r = probe_ratio(&m->verdict, p);

		table_row(t);
		table_text(t, p->gpu < 0    ? "host"
			      : p->peer < 0 ? arena_printf(ctx->arena, "%d", p->gpu)
					    : arena_printf(ctx->arena, "%d>%d", p->gpu, p->peer));
		table_text(t, p->name);
		table_double(t, p->value);
		table_text(t, p->unit);
		table_double(t, r != NULL ? r->reference : (double)NAN);
		table_double(t, r != NULL ? r->ratio : (double)NAN);
		table_int(t, p->n);
		table_double(t, p->iqr);
		table_text(t, probe_status_name(p->status));
		table_text(t, p->error);
		table_text(t, r != NULL ? r->source : "");
	}
	return cmd_table_print(ctx, t, err);
}

static void
probe_say_host(struct cmd_ctx *ctx, const struct probed_machine *m)
{
	cmd_say(ctx, "no GPU here; host reference%s%s\n", m->result.n_errors > 0 ? ": " : "",
	    m->result.n_errors > 0 ? m->result.errors[0].message : "");
}

static void
probe_say_verdict(struct cmd_ctx *ctx, const struct probed_machine *m)
{
	const struct verdict *v = &m->verdict;
	char money[STR_DOUBLE_SIZE];

	cmd_say(
	    ctx, "%s: %s", m->source, m->why[0] != '\0' ? "reject" : verdict_kind_name(v->kind));
	if (v->gpus > 0)
		cmd_say(ctx, ", %d x %s", v->gpus,
		    v->actual[0] != '\0' ? v->actual : m->result.gpus[0].name);
	if (isfinite(v->speed))
		cmd_say(ctx, ", %.0f %% of what a sound one does", 100.0 * v->speed);
	cmd_say(ctx, "\n");
	if (m->why[0] != '\0')
		cmd_say(ctx, "  the result cannot be read: %s\n", m->why);
	for (size_t i = 0; i < v->n_reasons; i++)
		cmd_say(ctx, "  %s: %s\n",
		    v->reasons[i].kind == VERDICT_ACCEPT ? "note"
							 : verdict_kind_name(v->reasons[i].kind),
		    v->reasons[i].text);
	if (isfinite(probe_unit_price(m, v->compute_tflops)))
		cmd_say(ctx, "  $%s an hour: $%.6f per measured TFLOP/s (%s), $%.6f per GB/s\n",
		    str_from_double(money, usd_to_double(m->price)),
		    probe_unit_price(m, v->compute_tflops), v->compute_test,
		    probe_unit_price(m, v->memory_gb_s));
}

enum berth_code
probe_show(struct cmd_ctx *ctx, const struct probed_machine *m, struct berth_err *err)
{
	if (cmd_wants_json(ctx))
		return probe_json(ctx, m, err);
	if (probe_host_only(m))
		probe_say_host(ctx, m);
	if (!probe_host_only(m) || m->verdict.kind != VERDICT_ACCEPT)
		probe_say_verdict(ctx, m);
	return m->result.n_tests > 0 ? probe_table(ctx, m, err) : BERTH_OK;
}
