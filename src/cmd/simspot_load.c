#include "config.h"

#include <string.h>

#include "cmd/simspot.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

#define SIMSPOT_TICKS_MAX (INT64_C(1) << 26)

struct simspot_loader {
	struct arena *a;
	const char *set;
	struct csv *csv;
	VEC(struct simspot_trace) traces;
	VEC(const char *) others; /* sets that are there */
	struct strmap index;
	double **usd; /* [traces] */
};

/* Columns by name; all must be there. */
static enum berth_code
simspot_columns(struct csv *c, const char *const *names, size_t n, int *at, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < n && rc == BERTH_OK; i++)
		rc = csv_need(c, names[i], &at[i], err);
	return rc;
}

static enum berth_code
simspot_number(struct simspot_loader *l, const struct csv_row *row, int column, const char *name,
    int64_t min, int64_t max, int64_t *out, struct berth_err *err)
{
	if (str_to_i64(row->field[column], min, max, out, err) == BERTH_OK)
		return BERTH_OK;
	return csv_err(l->csv, err, name);
}

/* "av-20230215-us-east-1a-v100x1": the set is what stands before the second "-". */
static const char *
simspot_set_of(const char *id, struct arena *a)
{
	const char *dash = strchr(id, '-');

	dash = dash == NULL ? NULL : strchr(dash + 1, '-');
	return dash == NULL ? id : arena_strndup(a, id, (size_t)(dash - id));
}

static enum berth_code
simspot_trace_row(
    struct simspot_loader *l, const struct csv_row *row, const int *at, struct berth_err *err)
{
	const char *id = row->field[at[0]], *set = simspot_set_of(id, l->a);
	int64_t gap, nodes;
	int added;
	enum berth_code rc;

	if (!str_starts(id, l->set)) {
		for (size_t i = 0; i < l->others.n; i++)
			if (str_eq(l->others.v[i], set))
				return BERTH_OK;
		VEC_PUSH(l->a, &l->others, arena_strdup(l->a, set));
		return BERTH_OK;
	}
	rc = simspot_number(l, row, at[1], "gap_seconds", 1, 86400, &gap, err);
	if (rc == BERTH_OK)
		rc = simspot_number(l, row, at[2], "nodes", 1, 1000000, &nodes, err);
	if (rc != BERTH_OK)
		return rc;
	strmap_add(l->a, &l->index, id, l->traces.n, &added);
	if (!added) {
		err_set(err, BERTH_EINVAL, "trace %s is there twice", id);
		return csv_err(l->csv, err, "trace_id");
	}
	VEC_PUSH(l->a, &l->traces,
	    (struct simspot_trace){ .id = arena_strdup(l->a, id),
		.name = arena_strdup(l->a, row->field[at[3]]),
		.region = arena_strdup(l->a, row->field[at[4]]),
		.zone_name = arena_strdup(l->a, row->field[at[3]]),
		.tick_s = (int)gap,
		.nodes = (int)nodes });
	return BERTH_OK;
}

static enum berth_code
simspot_traces(struct simspot_loader *l, const char *path, struct berth_err *err)
{
	static const char *const names[] = { "trace_id", "gap_seconds", "nodes", "zone", "region" };
	const struct csv_row *row;
	int at[5];
	enum berth_code rc = csv_open(path, &l->csv, err);

	if (rc != BERTH_OK)
		return rc;
	rc = simspot_columns(l->csv, names, 5, at, err);
	while (rc == BERTH_OK && (rc = csv_next(l->csv, &row, err)) == BERTH_OK && row != NULL)
		rc = simspot_trace_row(l, row, at, err);
	csv_close(l->csv);
	if (rc == BERTH_OK && l->traces.n == 0 && l->others.n == 0)
		return err_set(err, BERTH_EINVAL, "%s: no traces below its header", path);
	if (rc == BERTH_OK && l->traces.n == 0)
		return err_set(err, BERTH_ENOTFOUND, "%s has no trace '%s'; there are %s", path,
		    l->set, str_join(l->a, l->others.v, l->others.n, ", "));
	return rc;
}

struct simspot_filler {
	uint8_t *up;
	size_t n, cap;
};

/* Appends ticks; runs must come in order and without gaps. */
static enum berth_code
simspot_segment(struct simspot_loader *l, const struct csv_row *row, const int *at,
    struct simspot_filler *fill, struct berth_err *err)
{
	const size_t *which = strmap_get(&l->index, row->field[at[0]]);
	struct simspot_filler *f;
	int64_t start, n, nodes;
	enum berth_code rc;

	if (which == NULL)
		return BERTH_OK;
	f = &fill[*which];
	rc = simspot_number(l, row, at[1], "start_tick", 0, SIMSPOT_TICKS_MAX, &start, err);
	if (rc == BERTH_OK)
		rc = simspot_number(l, row, at[2], "n_ticks", 1, SIMSPOT_TICKS_MAX, &n, err);
	nodes = 0; /* nobody looked: down, to be safe */
	if (rc == BERTH_OK && row->field[at[3]][0] != '\0')
		rc = simspot_number(l, row, at[3], "available_nodes", 0, INT32_MAX, &nodes, err);
	if (rc != BERTH_OK)
		return rc;
	if ((size_t)start < f->n && (size_t)(start + n) <= f->n)
		return BERTH_OK; /* told again */
	if ((size_t)start != f->n || start + n > SIMSPOT_TICKS_MAX) {
		err_set(err, BERTH_EINVAL,
		    "%lld does not follow tick %zu; the segments of a trace stand in order, "
		    "without gaps",
		    (long long)start, f->n);
		return csv_err(l->csv, err, "start_tick");
	}
	if (f->n + (size_t)n > f->cap) {
		size_t cap = 2 * (f->n + (size_t)n);
		uint8_t *up = arena_alloc(l->a, cap);

		if (f->n > 0)
			memcpy(up, f->up, f->n);
		f->up = up;
		f->cap = cap;
	}
	memset(f->up + f->n, nodes >= l->traces.v[*which].nodes, (size_t)n);
	f->n += (size_t)n;
	return BERTH_OK;
}

static enum berth_code
simspot_segments(struct simspot_loader *l, const char *path, struct berth_err *err)
{
	static const char *const names[] = { "trace_id", "start_tick", "n_ticks",
		"available_nodes" };
	struct simspot_filler *fill = arena_array(l->a, l->traces.n, sizeof(*fill));
	const struct csv_row *row;
	int at[4];
	enum berth_code rc = csv_open(path, &l->csv, err);

	if (rc != BERTH_OK)
		return rc;
	rc = simspot_columns(l->csv, names, 4, at, err);
	while (rc == BERTH_OK && (rc = csv_next(l->csv, &row, err)) == BERTH_OK && row != NULL)
		rc = simspot_segment(l, row, at, fill, err);
	csv_close(l->csv);
	for (size_t i = 0; i < l->traces.n && rc == BERTH_OK; i++) {
		int32_t *age = arena_array(l->a, fill[i].n, sizeof(*age));

		if (fill[i].n == 0)
			return err_set(err, BERTH_EINVAL, "%s: no segments of trace %s", path,
			    l->traces.v[i].id);
		spot_ages(fill[i].up, fill[i].n, age);
		l->traces.v[i].zone = (struct spot_zone){ fill[i].up, age, fill[i].n };
	}
	return rc;
}

/* Runs of equal price; the last one goes on to the trace's end, and ticks before the first have its
 * price. */
static enum berth_code
simspot_price(
    struct simspot_loader *l, const struct csv_row *row, const int *at, struct berth_err *err)
{
	const size_t *which = strmap_get(&l->index, row->field[at[0]]);
	struct simspot_trace *x;
	int64_t start, n;
	double usd, *v;
	enum berth_code rc;

	if (which == NULL)
		return BERTH_OK;
	x = &l->traces.v[*which];
	rc = simspot_number(l, row, at[1], "start_tick", 0, SIMSPOT_TICKS_MAX, &start, err);
	if (rc == BERTH_OK)
		rc = simspot_number(l, row, at[2], "n_ticks", 1, SIMSPOT_TICKS_MAX, &n, err);
	if (rc != BERTH_OK)
		return rc;
	if (str_to_double(row->field[at[3]], 1e-9, 1e6, &usd, err) != BERTH_OK)
		return csv_err(l->csv, err, "usd_per_instance_hour");
	v = l->usd[*which];
	if (v == NULL) {
		v = l->usd[*which] = arena_array(l->a, x->zone.n, sizeof(*v));
		for (size_t t = 0; t < x->zone.n; t++)
			v[t] = usd;
	}
	for (size_t t = (size_t)start; t < x->zone.n; t++)
		v[t] = usd;
	x->usd = v;
	return BERTH_OK;
}

static enum berth_code
simspot_prices(struct simspot_loader *l, const char *path, struct berth_err *err)
{
	static const char *const names[] = { "trace_id", "start_tick", "n_ticks",
		"usd_per_instance_hour" };
	const struct csv_row *row;
	int at[4];
	enum berth_code rc = csv_open(path, &l->csv, err);

	if (rc != BERTH_OK)
		return rc;
	l->usd = arena_array(l->a, l->traces.n, sizeof(*l->usd));
	rc = simspot_columns(l->csv, names, 4, at, err);
	while (rc == BERTH_OK && (rc = csv_next(l->csv, &row, err)) == BERTH_OK && row != NULL)
		rc = simspot_price(l, row, at, err);
	csv_close(l->csv);
	for (size_t i = 0; i < l->traces.n && rc == BERTH_OK; i++)
		if (l->traces.v[i].usd == NULL)
			rc = err_set(err, BERTH_EINVAL, "%s: no prices of trace %s", path,
			    l->traces.v[i].id);
	return rc;
}

/* Zones that a set has twice (several devices) go by the trace's whole id. */
static void
simspot_names(struct simspot_loader *l)
{
	bool *twice = arena_array(l->a, l->traces.n, sizeof(*twice));

	for (size_t i = 0; i < l->traces.n; i++)
		for (size_t j = 0; j < l->traces.n; j++)
			twice[i] |= i != j && str_eq(l->traces.v[i].name, l->traces.v[j].name);
	for (size_t i = 0; i < l->traces.n; i++)
		if (twice[i])
			l->traces.v[i].name = l->traces.v[i].id;
}

enum berth_code
simspot_load(const char *dir, const char *set, bool prices, struct arena *a,
    struct simspot_traces *out, struct berth_err *err)
{
	struct simspot_loader l = { .a = a, .set = set };
	enum berth_code rc = simspot_traces(&l, arena_printf(a, "%s/traces.csv", dir), err);

	if (rc == BERTH_OK)
		rc = simspot_segments(&l, arena_printf(a, "%s/segments.csv", dir), err);
	if (rc == BERTH_OK && prices)
		rc = simspot_prices(&l, arena_printf(a, "%s/prices.csv", dir), err);
	if (rc != BERTH_OK)
		return rc;
	simspot_names(&l);
	out->trace = l.traces.v;
	out->n = l.traces.n;
	return BERTH_OK;
}
