#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/replay/trace.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"
#include "util/vec.h"

/* What one trace gathers before it becomes a pool. */
struct tidy_trace {
	const char *id;
	struct trace_pool pool;
	int64_t start, gap_s, ticks;
	VEC(int64_t) cap_at;
	VEC(double) cap;
	VEC(int64_t) price_at;
	VEC(double) price;
	int64_t cap_end; /* tick behind the last segment: there must be no gap */
};

struct tidy {
	struct arena *a;
	const struct trace_tidy_opts *opts;
	VEC(struct tidy_trace) traces;
	struct strmap by_id;
};

static enum berth_code
tidy_columns(
    const struct csv *c, const char *const *names, int *cols, size_t n, struct berth_err *err)
{
	enum berth_code rc;

	for (size_t i = 0; i < n; i++)
		if ((rc = csv_need(c, names[i], &cols[i], err)) != BERTH_OK)
			return rc;
	return BERTH_OK;
}

static enum berth_code
tidy_int(const struct csv *c, const char *text, const char *column, int64_t min, int64_t max,
    int64_t *out, struct berth_err *err)
{
	return str_to_i64(text, min, max, out, err) == BERTH_OK ? BERTH_OK
								: csv_err(c, err, column);
}

/* "2023-02-15": the files know the day only, which is read as its midnight in UTC. */
static enum berth_code
tidy_day(const struct csv *c, const char *text, int64_t *t_out, struct berth_err *err)
{
	char full[64];

	if (strlen(text) != 10) {
		err_set(err, BERTH_EINVAL, "start_date '%s' is not YYYY-MM-DD", text);
		return csv_err(c, err, "start_date");
	}
	snprintf(full, sizeof(full), "%sT00:00:00Z", text);
	return time_parse(full, 0, NULL, TIME_ABSOLUTE, t_out, err) == BERTH_OK
		   ? BERTH_OK
		   : csv_err(c, err, "start_date");
}

enum {
	T_ID,
	T_CLOUD,
	T_REGION,
	T_ZONE,
	T_DEVICE,
	T_COUNT,
	T_TYPE,
	T_NODES,
	T_START,
	T_GAP,
	T_TICKS,
	T_N
};

static enum berth_code
tidy_trace_row(struct tidy *d, const struct csv *c, char **f, const int *col, struct berth_err *err)
{
	struct tidy_trace t = { 0 };
	int64_t count = 0;
	int added = 0;
	enum berth_code rc;

	t.id = arena_strdup(d->a, f[col[T_ID]]);
	t.pool = (struct trace_pool){
		.provider = arena_strdup(d->a, f[col[T_CLOUD]]),
		.region = arena_strdup(d->a, f[col[T_REGION]]),
		.zone = arena_strdup(d->a, f[col[T_ZONE]]),
		.instance_type = arena_strdup(d->a, f[col[T_TYPE]]),
		.accelerator = arena_strdup(d->a, f[col[T_DEVICE]]),
		.accelerator_memory_gib = NAN,
		.vcpus = NAN,
		.memory_gib = NAN,
		.startup_min_s = d->opts->startup_s,
		.startup_max_s = d->opts->startup_s,
		.slow_factor = 1,
	};
	if ((rc = tidy_int(c, f[col[T_COUNT]], "devices_per_node", 0, 4096, &count, err)) !=
		BERTH_OK ||
	    (rc = tidy_int(c, f[col[T_GAP]], "gap_seconds", 1, 86400, &t.gap_s, err)) != BERTH_OK ||
	    (rc = tidy_int(c, f[col[T_TICKS]], "ticks", 1, INT32_MAX, &t.ticks, err)) != BERTH_OK ||
	    (rc = tidy_day(c, f[col[T_START]], &t.start, err)) != BERTH_OK)
		return rc;
	t.pool.accelerator_count = (int)count;
	if (d->opts->start != 0)
		t.start = d->opts->start;
	strmap_add(d->a, &d->by_id, t.id, d->traces.n, &added);
	if (!added) {
		err_set(err, BERTH_EINVAL, "the trace '%s' is there twice", t.id);
		return csv_err(c, err, "trace_id");
	}
	VEC_PUSH(d->a, &d->traces, t);
	return BERTH_OK;
}

static enum berth_code
tidy_read_traces(struct tidy *d, const char *dir, struct berth_err *err)
{
	static const char *const names[T_N] = { "trace_id", "cloud", "region", "zone", "device",
		"devices_per_node", "instance_type", "nodes", "start_date", "gap_seconds",
		"ticks" };
	const char *path = arena_printf(d->a, "%s/traces.csv", dir);
	const struct csv_row *row;
	struct csv *c = NULL;
	int col[T_N];
	enum berth_code rc;

	if ((rc = csv_open(path, &c, err)) != BERTH_OK)
		return rc;
	rc = tidy_columns(c, names, col, T_N, err);
	while (rc == BERTH_OK && (rc = csv_next(c, &row, err)) == BERTH_OK && row != NULL)
		if (glob_match(d->opts->set, row->field[col[T_ID]]))
			rc = tidy_trace_row(d, c, row->field, col, err);
	csv_close(c);
	if (rc == BERTH_OK && d->traces.n == 0)
		rc = err_set(
		    err, BERTH_ENOTFOUND, "no trace of %s fits the set '%s'", path, d->opts->set);
	return rc;
}

enum { S_ID, S_START, S_TICKS, S_VALUE, S_N };

static enum berth_code
tidy_segment(struct tidy *d, const struct csv *c, char **f, const int *col, bool prices,
    struct berth_err *err)
{
	const size_t *i = strmap_get(&d->by_id, f[col[S_ID]]);
	const char *value_name = prices ? "usd_per_instance_hour" : "available_nodes";
	struct tidy_trace *t;
	int64_t start = 0, ticks = 0;
	double v = 0;
	enum berth_code rc;

	if (i == NULL)
		return BERTH_OK;
	t = &d->traces.v[*i];
	if ((rc = tidy_int(c, f[col[S_START]], "start_tick", 0, t->ticks - 1, &start, err)) !=
		BERTH_OK ||
	    (rc = tidy_int(c, f[col[S_TICKS]], "n_ticks", 1, t->ticks - start, &ticks, err)) !=
		BERTH_OK)
		return rc;
	if (str_to_double(f[col[S_VALUE]], 0, 1e6, &v, err) != BERTH_OK)
		return csv_err(c, err, value_name);
	if (prices) {
		VEC_PUSH(d->a, &t->price_at, start * t->gap_s);
		VEC_PUSH(d->a, &t->price, v);
		return BERTH_OK;
	}
	if (start != t->cap_end) {
		err_set(err, BERTH_EINVAL, "segment at tick %lld, but the one before ends at %lld",
		    (long long)start, (long long)t->cap_end);
		return csv_err(c, err, "start_tick");
	}
	t->cap_end = start + ticks;
	VEC_PUSH(d->a, &t->cap_at, start * t->gap_s);
	VEC_PUSH(d->a, &t->cap, v);
	return BERTH_OK;
}

static enum berth_code
tidy_read_segments(struct tidy *d, const char *dir, bool prices, struct berth_err *err)
{
	const char *names[S_N] = { "trace_id", "start_tick", "n_ticks",
		prices ? "usd_per_instance_hour" : "available_nodes" };
	const char *path = arena_printf(d->a, "%s/%s", dir, prices ? "prices.csv" : "segments.csv");
	const struct csv_row *row;
	struct csv *c = NULL;
	int col[S_N];
	enum berth_code rc;

	if ((rc = csv_open(path, &c, err)) != BERTH_OK)
		return rc;
	rc = tidy_columns(c, names, col, S_N, err);
	while (rc == BERTH_OK && (rc = csv_next(c, &row, err)) == BERTH_OK && row != NULL)
		rc = tidy_segment(d, c, row->field, col, prices, err);
	csv_close(c);
	return rc;
}

static struct curve
tidy_curve(struct arena *a, int64_t start, const int64_t *at, const double *value, size_t n,
    double fallback)
{
	struct curve c = { .start = start };
	int64_t *zero;
	double *one;

	if (n > 0)
		return (struct curve){ start, 0, n, at, value };
	if (isnan(fallback))
		return c;
	zero = arena_alloc(a, sizeof(*zero));
	one = arena_alloc(a, sizeof(*one));
	*one = fallback;
	return (struct curve){ start, 0, 1, zero, one };
}

static enum berth_code
tidy_pool(struct tidy *d, struct tidy_trace *t, struct trace_pool *out, struct berth_err *err)
{
	struct trace_market *spot = &t->pool.market[PURCHASE_SPOT],
			    *od = &t->pool.market[PURCHASE_ON_DEMAND];
	const struct trace_tidy_opts *o = d->opts;

	if (t->cap_end != t->ticks)
		return err_set(err, BERTH_EINVAL, "trace '%s': segments for %lld of %lld ticks",
		    t->id, (long long)t->cap_end, (long long)t->ticks);
	*spot = (struct trace_market){
		.sold = true, .notice_s = o->notice_s, .interruption_rate = NAN, .shown = true
	};
	spot->capacity = tidy_curve(d->a, t->start, t->cap_at.v, t->cap.v, t->cap_at.n, 0);
	spot->price = tidy_curve(
	    d->a, t->start, t->price_at.v, t->price.v, t->price_at.n, usd_to_double(o->spot_price));
	*od = (struct trace_market){ .sold = usd_known(o->on_demand_price),
		.interruption_rate = NAN };
	od->price = tidy_curve(d->a, t->start, NULL, NULL, 0, usd_to_double(o->on_demand_price));
	*out = t->pool;
	return BERTH_OK;
}

/* Campaigns measured the same zones; two pools of one name could not be told apart in a create. */
static enum berth_code
tidy_check_names(
    const struct tidy *d, const struct trace_pool *pools, size_t n, struct berth_err *err)
{
	size_t before = n - d->traces.n;

	for (size_t i = before; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (str_eq(
				trace_pool_key(&pools[i], d->a), trace_pool_key(&pools[k], d->a)))
				return err_set(err, BERTH_EINVAL,
				    "the set '%s' has %s twice, once in %s: name fewer traces",
				    d->opts->set, trace_pool_key(&pools[i], d->a),
				    d->traces.v[i - before].id);
	return BERTH_OK;
}

enum berth_code
trace_add_tidy(const char *dir, const struct trace_tidy_opts *opts, struct arena *a,
    struct trace *trace, struct berth_err *err)
{
	struct tidy d = { .a = a, .opts = opts };
	struct trace_pool *pools;
	enum berth_code rc;

	if ((rc = tidy_read_traces(&d, dir, err)) != BERTH_OK ||
	    (rc = tidy_read_segments(&d, dir, false, err)) != BERTH_OK ||
	    (rc = tidy_read_segments(&d, dir, true, err)) != BERTH_OK)
		return rc;
	pools = arena_array(a, trace->n_pools + d.traces.n, sizeof(*pools));
	if (trace->n_pools > 0)
		memcpy(pools, trace->pools, trace->n_pools * sizeof(*pools));
	for (size_t i = 0; i < d.traces.n; i++)
		if ((rc = tidy_pool(&d, &d.traces.v[i], &pools[trace->n_pools + i], err)) !=
		    BERTH_OK)
			return rc;
	if ((rc = tidy_check_names(&d, pools, trace->n_pools + d.traces.n, err)) != BERTH_OK)
		return rc;
	trace->pools = pools;
	trace->n_pools += d.traces.n;
	if (trace->source == NULL)
		trace->source = arena_printf(a, "%s set %s", dir, opts->set);
	return BERTH_OK;
}
