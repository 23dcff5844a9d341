/* The numbers that decide, out of data/probe_reference.csv and data/probe_thresholds.csv. */
#include "config.h"

#include <math.h>
#include <stddef.h>

#include "plan/verdict.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/str.h"

#define VERDICT_REFS_MAX 65536

/* An empty field is unknown. */
static enum berth_code
verdict_field(struct csv *c, const struct csv_row *row, int col, const char *name, double max,
    double *out, struct berth_err *err)
{
	*out = (double)NAN;
	if (row->field[col][0] == '\0')
		return BERTH_OK;
	if (str_to_double(row->field[col], 0.0, max, out, err) != BERTH_OK)
		return csv_err(c, err, name);
	return BERTH_OK;
}

static enum berth_code
verdict_refs_row(struct csv *c, const struct csv_row *row, const int *col, struct arena *a,
    struct verdict_ref *ref, struct berth_err *err)
{
	enum berth_code rc;

	*ref = (struct verdict_ref){ .accelerator = arena_strdup(a, row->field[col[0]]),
		.test = arena_strdup(a, row->field[col[1]]),
		.source = arena_strdup(a, row->field[col[4]]),
		.drift = (double)NAN };
	rc = verdict_field(c, row, col[2], "value", 1e9, &ref->value, err);
	if (rc == BERTH_OK)
		rc = verdict_field(c, row, col[3], "of_peak", 1.2, &ref->of_peak, err);
	if (rc != BERTH_OK)
		return rc;
	if (ref->accelerator[0] == '\0' || ref->test[0] == '\0' ||
	    isfinite(ref->value) == isfinite(ref->of_peak)) {
		err_set(
		    err, BERTH_EINVAL, "needs an accelerator, a test, and either value or of_peak");
		return csv_err(c, err, NULL);
	}
	return BERTH_OK;
}

enum berth_code
verdict_refs_parse(const char *csv, size_t len, struct arena *a, struct verdict_refs *refs_out,
    struct berth_err *err)
{
	static const char *const names[] = { "accelerator", "test", "value", "of_peak", "source" };
	const struct csv_row *row;
	struct verdict_ref *refs = NULL;
	size_t n = 0, cap = 0;
	int col[5];
	struct csv *c;
	enum berth_code rc = csv_open_bytes(csv, len, "probe_reference", &c, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < 5 && rc == BERTH_OK; i++)
		rc = csv_need(c, names[i], &col[i], err);
	while (rc == BERTH_OK && (rc = csv_next(c, &row, err)) == BERTH_OK && row != NULL &&
	       n < VERDICT_REFS_MAX) {
		if (n == cap) {
			struct verdict_ref *more =
			    arena_array_of(a, cap == 0 ? 128 : cap * 2, struct verdict_ref);

			for (size_t i = 0; i < n; i++)
				more[i] = refs[i];
			refs = more;
			cap = cap == 0 ? 128 : cap * 2;
		}
		rc = verdict_refs_row(c, row, col, a, &refs[n++], err);
	}
	if (rc == BERTH_OK)
		*refs_out = (struct verdict_refs){ .refs = refs, .n = n };
	csv_close(c);
	return rc;
}

static const struct verdict_limit_row {
	const char *name;
	size_t at;
	double min, max;
} verdict_limit_rows[] = {
#define LIMIT(field, lo, hi)                                                                       \
	{                                                                                          \
#field, offsetof(struct verdict_limits, field), lo, hi                             \
	}
	LIMIT(accept, 0.5, 1),
	LIMIT(reject, 0, 1),
	LIMIT(implausible, 1, 10),
	LIMIT(memory, 0.5, 1),
	LIMIT(straggler, 0, 1),
	LIMIT(hot_cold, 0, 1),
	LIMIT(pcie, 0, 1),
	LIMIT(pcie_balance, 0, 1),
	LIMIT(p2p, 0, 1),
	LIMIT(p2p_all, 0, 1),
	LIMIT(network, 0, 1),
	LIMIT(network_balance, 0, 1),
	LIMIT(rdma, 0, 1),
	LIMIT(jitter, 1, 1000),
	LIMIT(fleet_machines, 1, 1e6),
	LIMIT(fleet_providers, 1, 1e6),
	LIMIT(fleet_floor, 0, 1),
	LIMIT(fleet_drift, 0, 1),
	LIMIT(weight_memory, 0, 1),
#undef LIMIT
};

#define VERDICT_LIMITS (sizeof(verdict_limit_rows) / sizeof(verdict_limit_rows[0]))

static enum berth_code
verdict_limits_row(struct csv *c, const char *name, const char *text, struct verdict_limits *limits,
    bool *given, struct berth_err *err)
{
	for (size_t i = 0; i < VERDICT_LIMITS; i++) {
		const struct verdict_limit_row *r = &verdict_limit_rows[i];
		double v;

		if (!str_eq(r->name, name))
			continue;
		if (given[i]) {
			err_set(err, BERTH_EINVAL, "%s: given twice", name);
			return csv_err(c, err, "name");
		}
		if (str_to_double(text, r->min, r->max, &v, err) != BERTH_OK)
			return csv_err(c, err, "value");
		*(double *)(void *)((char *)limits + r->at) = v;
		given[i] = true;
		return BERTH_OK;
	}
	err_set(err, BERTH_EINVAL, "'%s' is no threshold", name);
	return csv_err(c, err, "name");
}

enum berth_code
verdict_limits_parse(
    const char *csv, size_t len, struct verdict_limits *limits_out, struct berth_err *err)
{
	const struct csv_row *row;
	struct verdict_limits limits;
	bool given[VERDICT_LIMITS] = { false };
	int name = 0, value = 0;
	struct csv *c;
	enum berth_code rc = csv_open_bytes(csv, len, "probe_thresholds", &c, err);

	if (rc != BERTH_OK)
		return rc;
	rc = csv_need(c, "name", &name, err);
	if (rc == BERTH_OK)
		rc = csv_need(c, "value", &value, err);
	while (rc == BERTH_OK && (rc = csv_next(c, &row, err)) == BERTH_OK && row != NULL)
		rc =
		    verdict_limits_row(c, row->field[name], row->field[value], &limits, given, err);
	for (size_t i = 0; i < VERDICT_LIMITS && rc == BERTH_OK; i++)
		if (!given[i])
			rc = err_set(err, BERTH_EINVAL, "probe_thresholds: '%s' is missing",
			    verdict_limit_rows[i].name);
	if (rc == BERTH_OK && limits.reject > limits.accept)
		rc =
		    err_set(err, BERTH_EINVAL, "probe_thresholds: reject (%g) is above accept (%g)",
			limits.reject, limits.accept);
	if (rc == BERTH_OK)
		*limits_out = limits;
	csv_close(c);
	return rc;
}
