#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cmd/probe.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/plot.h"
#include "util/str.h"

#define PROBE_FILE_MAX ((size_t)4 << 20)

/* The slowest GPU's value of a test; NaN if it was not measured. */
static enum berth_code
probe_history_value(struct cmd_ctx *ctx, const struct measurement *m, const char *test, double *out, struct berth_err *err)
{
	struct measure_row *rows;
	size_t n;
	enum berth_code rc = BERTH_OK;

	*out = test == NULL ? m->speed : (double)NAN;
	if (test != NULL)
		rc = store_measure_rows(ctx->store, m->id, ctx->arena, &rows, &n, err);
	for (size_t i = 0; test != NULL && rc == BERTH_OK && i < n; i++)
		if (str_eq(rows[i].test, test) && !(rows[i].value >= *out))
			*out = rows[i].value;
	return rc;
}

static enum berth_code
probe_history_json(struct cmd_ctx *ctx, const struct measurement *ms, const double *value, size_t n, struct berth_err *err)
{
	const struct probe_opts *o = ctx->opts;
	struct jsonw *w = cmd_json_begin(ctx, "berth.probe-history/1");

	jsonw_str(w, "value_is", o->test != NULL ? o->test : "speed");
	jsonw_begin_array(w, "measurements");
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_int(w, "id", ms[i].id);
		jsonw_time(w, "t", ms[i].t);
		if (ms[i].instance_id != 0)
			jsonw_int(w, "instance", ms[i].instance_id);
		else
			jsonw_null(w, "instance");
		jsonw_str_or_null(w, "host", ms[i].host);
		jsonw_str_or_null(w, "provider", ms[i].provider);
		jsonw_str_or_null(w, "region", ms[i].region);
		jsonw_str_or_null(w, "instance_type", ms[i].instance_type);
		jsonw_str_or_null(w, "accelerator", ms[i].accelerator);
		jsonw_str_or_null(w, "mode", ms[i].mode);
		jsonw_double(w, "speed", ms[i].speed);
		jsonw_double(w, "value", value[i]);
		jsonw_str_or_null(w, "verdict", ms[i].verdict);
		jsonw_str_or_null(w, "reason", ms[i].reason);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

#define PROBE_SCALE 0.10	/* bars span at least this share of the largest: what repeats looks level */

/* What bars stand on, so that a drift of a few per cent shows; each value is then its height above that. */
static double
probe_history_base(double *v, size_t n)
{
	double lo = v[0], hi = v[0], base;

	for (size_t i = 1; i < n; i++) {
		lo = fmin(lo, v[i]);
		hi = fmax(hi, v[i]);
	}
	base = fmin(lo, (1.0 - PROBE_SCALE) * hi);
	base = fmax(0, base - (hi - base) / 8.0);	/* the least is one line high */
	for (size_t i = 0; i < n; i++)
		v[i] -= base;
	return base;
}

/* Oldest left; and the change between the means of the first and the last third, which noise moves little. */
static enum berth_code
probe_history_plot(struct cmd_ctx *ctx, const double *value, size_t n, const char *what, struct berth_err *err)
{
	double *v = arena_array_of(ctx->arena, n + 1, double), first = 0, last = 0, base;
	size_t k = 0, third;
	struct buf b;
	enum berth_code rc;

	for (size_t i = n; i > 0; i--)
		if (isfinite(value[i - 1]))
			v[k++] = value[i - 1];
	if (k < 2)
		return BERTH_OK;
	third = k < 3 ? 1 : k / 3;
	for (size_t i = 0; i < third; i++) {
		first += v[i] / (double)third;
		last += v[k - 1 - i] / (double)third;
	}
	base = probe_history_base(v, k);
	buf_init(&b, 4096);
	plot_spark(v, k, k < 60 ? (int)k : 60, ctx->unicode, &b);
	rc = buf_check(&b, "plot", err);
	if (rc == BERTH_OK)
		cmd_say(ctx, "\n%s, oldest first: |%s| from %.4g to %.4g (%+.1f %%); bars stand on %.4g\n", what, b.p, first,
		    last, 100.0 * (last / first - 1.0), base);
	buf_free(&b);
	return rc;
}

static enum berth_code
probe_history_table(struct cmd_ctx *ctx, const struct measurement *ms, const double *value, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", NULL, TABLE_INT, 0, 0 },
		{ "t", "TIME", TABLE_TIME, 0, 0 },
		{ "instance", NULL, TABLE_INT, 0, 0 },
		{ "host", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "provider", NULL, TABLE_TEXT, 0, 0 },
		{ "instance_type", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "accelerator", NULL, TABLE_TEXT, 0, 0 },
		{ "speed", NULL, TABLE_DOUBLE, 3, 0 },
		{ "value", NULL, TABLE_DOUBLE, 2, TABLE_WIDE },
		{ "verdict", NULL, TABLE_TEXT, 0, 0 },
		{ "reason", NULL, TABLE_TEXT, 0, TABLE_CUT },
	};
	const struct probe_opts *o = ctx->opts;
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	enum berth_code rc;

	for (size_t i = 0; i < n; i++) {
		table_row(t);
		table_int(t, ms[i].id);
		table_time(t, ms[i].t);
		if (ms[i].instance_id != 0)
			table_int(t, ms[i].instance_id);
		else
			table_unknown(t);
		table_text(t, ms[i].host);
		table_text(t, ms[i].provider);
		table_text(t, ms[i].instance_type);
		table_text(t, ms[i].accelerator);
		table_double(t, ms[i].speed);
		table_double(t, value[i]);
		table_text(t, ms[i].verdict);
		table_text(t, ms[i].reason);
	}
	rc = cmd_table_print(ctx, t, err);
	return rc == BERTH_OK ? probe_history_plot(ctx, value, n, o->test != NULL ? o->test : "speed", err) : rc;
}

enum berth_code
probe_history(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct probe_opts *o = ctx->opts;
	struct measurement_query q = { .instance_id = o->instance, .since = ctx->now - o->since_s, .provider = o->provider,
		.limit = (size_t)o->limit };
	const struct accel_table *accels;
	const struct accel *accel;
	struct measurement *ms;
	enum berth_code rc = BERTH_OK;
	double *value;
	size_t n;

	if (o->gpu != NULL) {
		rc = cmd_accels(ctx, &accels, err);
		if (rc != BERTH_OK)
			return rc;
		accel = accel_find(accels, o->gpu);
		if (accel == NULL)
			return accel_unknown(accels, o->gpu, err);
		q.accelerator = accel->name;
	}
	rc = store_measurement_list(ctx->store, &q, ctx->arena, &ms, &n, err);
	if (rc != BERTH_OK)
		return rc;
	value = arena_array_of(ctx->arena, n + 1, double);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++)
		rc = probe_history_value(ctx, &ms[i], o->test, &value[i], err);
	if (rc != BERTH_OK)
		return rc;
	return cmd_wants_json(ctx) ? probe_history_json(ctx, ms, value, n, err) : probe_history_table(ctx, ms, value, n, err);
}

/* A number is a measurement of the store, anything else a file. */
static enum berth_code
probe_compare_load(struct cmd_ctx *ctx, const char *what, struct probe_result *r_out, struct berth_err *err)
{
	const struct measurement_query all = { .limit = 100000 };
	struct measurement *ms;
	const char *json = NULL;
	enum berth_code rc;
	char *bytes;
	int64_t id;
	size_t n;

	if (str_to_i64(what, 1, INT64_MAX, &id, NULL) == BERTH_OK) {
		if (ctx->store == NULL)
			return err_set(err, BERTH_ENOTFOUND, "measurement %" PRId64 ": there is no store", id);
		rc = store_measurement_list(ctx->store, &all, ctx->arena, &ms, &n, err);
		for (size_t i = 0; rc == BERTH_OK && i < n; i++)
			if (ms[i].id == id)
				json = ms[i].json;
		if (rc == BERTH_OK && json == NULL)
			rc = err_set(err, BERTH_ENOTFOUND, "no measurement %" PRId64 ": `berth probe history` lists them", id);
	} else {
		rc = fileio_slurp(ctx->arena, what, PROBE_FILE_MAX, &bytes, &n, err);
		json = rc == BERTH_OK ? bytes : NULL;
	}
	if (rc != BERTH_OK)
		return rc;
	if (verdict_parse(json, strlen(json), ctx->arena, r_out, err) != BERTH_OK)
		return err_ctx(err, "%s", what);
	return BERTH_OK;
}

static enum berth_code
probe_compare_json(struct cmd_ctx *ctx, const struct probe_result *a, const struct probe_result *b, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.probe-compare/1");

	jsonw_str(w, "a", ctx->args[0]);
	jsonw_str(w, "b", ctx->args[1]);
	jsonw_begin_array(w, "tests");
	for (size_t i = 0; i < a->n_tests; i++) {
		const struct probe_test *x = &a->tests[i], *y = probe_test_find(b, x->name, x->gpu, x->peer);

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", x->name);
		if (x->gpu >= 0)
			jsonw_int(w, "gpu", x->gpu);
		else
			jsonw_null(w, "gpu");
		jsonw_str(w, "unit", x->unit);
		jsonw_double(w, "a", x->value);
		jsonw_double(w, "b", y != NULL ? y->value : (double)NAN);
		jsonw_double(w, "ratio", y != NULL ? y->value / x->value : (double)NAN);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

enum berth_code
probe_compare(struct cmd_ctx *ctx, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "gpu", NULL, TABLE_TEXT, 0, 0 },
		{ "test", NULL, TABLE_TEXT, 0, 0 },
		{ "a", NULL, TABLE_DOUBLE, 2, 0 },
		{ "b", NULL, TABLE_DOUBLE, 2, 0 },
		{ "unit", NULL, TABLE_TEXT, 0, 0 },
		{ "ratio", "B/A", TABLE_DOUBLE, 3, 0 },
	};
	struct probe_result a, b;
	struct table *t;
	enum berth_code rc;

	rc = probe_compare_load(ctx, ctx->args[0], &a, err);
	if (rc == BERTH_OK)
		rc = probe_compare_load(ctx, ctx->args[1], &b, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return probe_compare_json(ctx, &a, &b, err);
	t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	for (size_t i = 0; i < a.n_tests; i++) {
		const struct probe_test *x = &a.tests[i], *y = probe_test_find(&b, x->name, x->gpu, x->peer);

		table_row(t);
		table_text(t, x->gpu < 0 ? "host" : arena_printf(ctx->arena, "%d", x->gpu));
		table_text(t, x->name);
		table_double(t, x->value);
		table_double(t, y != NULL ? y->value : (double)NAN);
		table_text(t, x->unit);
		table_double(t, y != NULL ? y->value / x->value : (double)NAN);
	}
	return cmd_table_print(ctx, t, err);
}
