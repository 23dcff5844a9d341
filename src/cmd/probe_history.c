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
probe_history_value(struct cmd_ctx *ctx, const struct measurement *m, const char *test, double *out,
    struct berth_err *err)
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
probe_history_json(struct cmd_ctx *ctx, const struct measurement *ms, const double *value, size_t n,
    struct berth_err *err)
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

#define PROBE_SCALE                                                                                \
	0.10 /* bars span at least this share of the largest: what repeats looks level */

/* What bars stand on, so that a drift of a few per cent shows; each value is then its height above
 * that. */
static double
probe_history_base(double *v, size_t n)
{
	double lo = v[0], hi = v[0], base;

	for (size_t i = 1; i < n; i++) {
		lo = fmin(lo, v[i]);
		hi = fmax(hi, v[i]);
	}
	base = fmin(lo, (1.0 - PROBE_SCALE) * hi);
	base = fmax(0, base - (hi - base) / 8.0); /* the least is one line high */
	for (size_t i = 0; i < n; i++)
		v[i] -= base;
	return base;
}

/* A rented machine by its number, else the host's name; and what was found in it, which may have
 * been changed. */
static bool
probe_history_same(const struct measurement *a, const struct measurement *b)
{
	return a->instance_id == b->instance_id &&
	       (a->instance_id != 0 || str_eq(a->host, b->host)) &&
	       str_eq(a->accelerator, b->accelerator);
}

static const char *
probe_history_machine(struct cmd_ctx *ctx, const struct measurement *m)
{
	const char *who = m->instance_id != 0
			      ? arena_printf(ctx->arena, "instance %" PRId64, m->instance_id)
			  : m->host[0] != '\0' ? m->host
					       : "unnamed host";

	return m->accelerator[0] != '\0' ? arena_printf(ctx->arena, "%s, %s", who, m->accelerator)
					 : who;
}

/* Oldest left; and the change between the means of the first and the last third, which noise moves
 * little. */
static enum berth_code
probe_history_bars(
    struct cmd_ctx *ctx, double *v, size_t n, const char *machine, struct berth_err *err)
{
	const size_t third = n < 3 ? 1 : n / 3;
	const int width = ctx->columns > 0 && ctx->columns < 120 ? 20 : 60;
	double first = 0, last = 0, base;
	enum berth_code rc;
	struct buf b;

	for (size_t i = 0; i < third; i++) {
		first += v[i] / (double)third;
		last += v[n - 1 - i] / (double)third;
	}
	base = probe_history_base(v, n);
	buf_init(&b, 4096);
	plot_spark(v, n, n < (size_t)width ? (int)n : width, ctx->unicode, &b);
	rc = buf_check(&b, "plot", err);
	if (rc == BERTH_OK)
		cmd_say(ctx, "  %s: |%s| from %.4g to %.4g (%+.1f %%); bars stand on %.4g\n",
		    machine, b.p, first, last, 100.0 * (last / first - 1.0), base);
	buf_free(&b);
	return rc;
}

/* One line a machine: what several machines reach is no drift. */
static enum berth_code
probe_history_plot(struct cmd_ctx *ctx, const struct measurement *ms, const double *value, size_t n,
    const char *what, struct berth_err *err)
{
	double *v = arena_array_of(ctx->arena, n + 1, double);
	bool *drawn = arena_array_of(ctx->arena, n + 1, bool), headed = false;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		size_t k = 0;

		for (size_t m = n; !drawn[i] && m > i; m--) {
			if (!probe_history_same(&ms[m - 1], &ms[i]))
				continue;
			drawn[m - 1] = true;
			if (isfinite(value[m - 1]) && value[m - 1] > 0)
				v[k++] = value[m - 1];
		}
		if (k < 2)
			continue;
		if (!headed)
			cmd_say(ctx, "\n%s, oldest first:\n", what);
		headed = true;
		rc = probe_history_bars(ctx, v, k, probe_history_machine(ctx, &ms[i]), err);
	}
	return rc;
}

static enum berth_code
probe_history_table(struct cmd_ctx *ctx, const struct measurement *ms, const double *value,
    size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "id", NULL, TABLE_INT, 0, 0 },
		{ "t", "TIME", TABLE_TIME, 0, 0 },
		{ "instance", NULL, TABLE_INT, 0, TABLE_SPARE },
		{ "host", NULL, TABLE_TEXT, 0, TABLE_CUT | TABLE_SPARE },
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
	return rc == BERTH_OK
		   ? probe_history_plot(ctx, ms, value, n, o->test != NULL ? o->test : "speed", err)
		   : rc;
}

enum berth_code
probe_history(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct probe_opts *o = ctx->opts;
	struct measurement_query q = { .instance_id = o->instance,
		.since = ctx->now - o->since_s,
		.provider = o->provider,
		.limit = (size_t)o->limit };
	const struct accel_table *accels;
	const struct accel *accel;
	struct measurement *ms;
	enum berth_code rc = BERTH_OK;
	bool found = false;
	double *value;
	size_t n;

	if (o->gpu != NULL) {
		rc = cmd_accels(ctx, &accels, err);
		if (rc != BERTH_OK)
			return rc;
		accel = accel_find(accels, o->gpu);
		if (accel == NULL)
			return cmd_accel_next(ctx, accel_unknown(accels, o->gpu, err));
		q.accelerator = accel->name;
	}
	rc = store_measurement_list(ctx->store, &q, ctx->arena, &ms, &n, err);
	if (rc != BERTH_OK)
		return rc;
	value = arena_array_of(ctx->arena, n + 1, double);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		rc = probe_history_value(ctx, &ms[i], o->test, &value[i], err);
		found = found || !isnan(value[i]);
	}
	if (rc != BERTH_OK)
		return rc;
	if (n > 0 && !found && o->test != NULL)
		cmd_note(ctx,
		    "none of these measurements has a value of '%s': berth-probe --list names the "
		    "tests",
		    o->test);
	else if (n == 0)
		cmd_note(ctx, "no such measurement is kept: `berth probe` makes one");
	return cmd_wants_json(ctx) ? probe_history_json(ctx, ms, value, n, err)
				   : probe_history_table(ctx, ms, value, n, err);
}

/* A number is a measurement of the store, anything else a file. */
static enum berth_code
probe_compare_load(
    struct cmd_ctx *ctx, const char *what, struct probe_result *r_out, struct berth_err *err)
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
			return err_set(
			    err, BERTH_ENOTFOUND, "measurement %" PRId64 ": there is no store", id);
		rc = store_measurement_list(ctx->store, &all, ctx->arena, &ms, &n, err);
		for (size_t i = 0; rc == BERTH_OK && i < n; i++)
			if (ms[i].id == id)
				json = ms[i].json;
		if (rc == BERTH_OK && json == NULL)
			rc = err_set(err, BERTH_ENOTFOUND,
			    "no measurement %" PRId64 ": `berth probe history` lists them", id);
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

struct compared {
	const struct probe_test *any; /* its name, GPU, peer and unit */
	double a, b, ratio; /* NaN: not measured there; ratio also where the units differ */
};

/* Every test of either, those of a first. */
static size_t
probe_compare_rows(struct cmd_ctx *ctx, const struct probe_result *a, const struct probe_result *b,
    struct compared **rows_out)
{
	struct compared *rows =
	    arena_array_of(ctx->arena, a->n_tests + b->n_tests + 1, struct compared);
	size_t n = 0;

	for (size_t i = 0; i < a->n_tests; i++) {
		const struct probe_test *x = &a->tests[i],
					*y = probe_test_find(b, x->name, x->gpu, x->peer);

		rows[n] = (struct compared){ x, x->value, (double)NAN, (double)NAN };
		if (y != NULL && str_eq(x->unit, y->unit)) {
			rows[n].b = y->value;
			rows[n].ratio = x->value > 0 ? y->value / x->value : (double)NAN;
		}
		n++;
	}
	for (size_t i = 0; i < b->n_tests; i++) {
		const struct probe_test *y = &b->tests[i],
					*x = probe_test_find(a, y->name, y->gpu, y->peer);

		if (x == NULL || !str_eq(x->unit, y->unit))
			rows[n++] = (struct compared){ y, (double)NAN, y->value, (double)NAN };
	}
	*rows_out = rows;
	return n;
}

static const char *
probe_compare_what(struct cmd_ctx *ctx, const struct probe_result *r)
{
	const char *host = r->host[0] != '\0' ? r->host : "unnamed host";
	size_t same = 0;

	for (size_t i = 0; i < r->n_gpus; i++)
		same += str_eq(r->gpus[i].name, r->gpus[0].name);
	if (r->n_gpus == 0)
		return arena_printf(ctx->arena, "%s, %s", host,
		    r->mode == PROBE_MODE_NETWORK ? "network" : "no GPU");
	if (same < r->n_gpus)
		return arena_printf(ctx->arena, "%s, %zu GPUs of several models", host, r->n_gpus);
	return arena_printf(ctx->arena, "%s, %zu x %s", host, r->n_gpus, r->gpus[0].name);
}

static enum berth_code
probe_compare_json(struct cmd_ctx *ctx, const struct probe_result *a, const struct probe_result *b,
    struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.probe-compare/1");
	struct compared *rows;
	const size_t n = probe_compare_rows(ctx, a, b, &rows);

	jsonw_str(w, "a", ctx->args[0]);
	jsonw_str(w, "b", ctx->args[1]);
	jsonw_begin_array(w, "tests");
	for (size_t i = 0; i < n; i++) {
		const struct probe_test *x = rows[i].any;

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", x->name);
		if (x->gpu >= 0)
			jsonw_int(w, "gpu", x->gpu);
		else
			jsonw_null(w, "gpu");
		if (x->peer >= 0)
			jsonw_int(w, "peer", x->peer);
		else
			jsonw_null(w, "peer");
		jsonw_str(w, "unit", x->unit);
		jsonw_double(w, "a", rows[i].a);
		jsonw_double(w, "b", rows[i].b);
		jsonw_double(w, "ratio", rows[i].ratio);
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
	struct compared *rows;
	struct table *t;
	enum berth_code rc;
	size_t n;

	rc = probe_compare_load(ctx, ctx->args[0], &a, err);
	if (rc == BERTH_OK)
		rc = probe_compare_load(ctx, ctx->args[1], &b, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return probe_compare_json(ctx, &a, &b, err);
	cmd_say(ctx, "a: %s (%s)\nb: %s (%s)\n", ctx->args[0], probe_compare_what(ctx, &a),
	    ctx->args[1], probe_compare_what(ctx, &b));
	t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	n = probe_compare_rows(ctx, &a, &b, &rows);
	for (size_t i = 0; i < n; i++) {
		const struct probe_test *x = rows[i].any;

		table_row(t);
		table_text(t, x->gpu < 0     ? "host"
			      : x->peer >= 0 ? arena_printf(ctx->arena, "%d>%d", x->gpu, x->peer)
					     : arena_printf(ctx->arena, "%d", x->gpu));
		table_text(t, x->name);
		table_double(t, rows[i].a);
		table_double(t, rows[i].b);
		table_text(t, x->unit);
		table_double(t, rows[i].ratio);
	}
	return cmd_table_print(ctx, t, err);
}
