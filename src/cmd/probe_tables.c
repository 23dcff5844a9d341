#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/probe.h"
#include "model/datapath.h"
#include "plan/verdict_fleet.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"

#define PROBE_TABLE_MAX ((size_t)4 << 20)
#define PROBE_FLEET_MAX 2000		/* newest measurements that vote */
#define PROBE_FLEET_AGE_S (180 * 86400)

/* The slowest GPU's value of one test in one measurement. */
static struct verdict_fleet_row *
probe_fleet_slot(struct verdict_fleet_row *rows, size_t from, size_t *n, const char *test)
{
	for (size_t i = from; i < *n; i++)
		if (str_eq(rows[i].test, test))
			return &rows[i];
	rows[*n].test = test;
	rows[*n].value = (double)NAN;
	return &rows[(*n)++];
}

static enum berth_code
probe_fleet_one(struct cmd_ctx *ctx, const struct measurement *m, struct verdict_fleet_row **rows, size_t *n, size_t *cap,
    struct berth_err *err)
{
	struct measure_row *mr;
	size_t k, from = *n;
	enum berth_code rc = store_measure_rows(ctx->store, m->id, ctx->arena, &mr, &k, err);

	if (rc != BERTH_OK)
		return rc;
	if (*n + k > *cap) {
		struct verdict_fleet_row *more;

		*cap = (*n + k) * 2 + 256;
		more = arena_array_of(ctx->arena, *cap, struct verdict_fleet_row);
		if (*n > 0)
			memcpy(more, *rows, *n * sizeof(*more));
		*rows = more;
	}
	for (size_t i = 0; i < k; i++) {
		struct verdict_fleet_row *r;

		if (mr[i].gpu < 0 || mr[i].peer >= 0 || (!str_eq(mr[i].status, "ok") && !str_eq(mr[i].status, "partial")))
			continue;
		r = probe_fleet_slot(*rows, from, n, mr[i].test);
		r->accelerator = m->accelerator;
		r->provider = m->provider;
		r->machine = arena_printf(ctx->arena, "%s/%s", m->provider, m->host);
		r->t = m->t;
		r->rejected = str_eq(m->verdict, "reject");
		r->value = mr[i].value < r->value || isnan(r->value) ? mr[i].value : r->value;
	}
	return BERTH_OK;
}

static enum berth_code
probe_fleet(struct cmd_ctx *ctx, struct verdict_refs *refs, struct berth_err *err)
{
	const struct measurement_query q = { .since = ctx->now - PROBE_FLEET_AGE_S, .limit = PROBE_FLEET_MAX };
	struct verdict_fleet_row *rows = NULL;
	struct measurement *ms;
	size_t n_ms, n = 0, cap = 0;
	enum berth_code rc;

	if (ctx->store == NULL)
		return BERTH_OK;
	rc = store_measurement_list(ctx->store, &q, ctx->arena, &ms, &n_ms, err);
	for (size_t i = 0; i < n_ms && rc == BERTH_OK; i++)
		rc = probe_fleet_one(ctx, &ms[i], &rows, &n, &cap, err);
	if (rc == BERTH_OK)
		verdict_fleet_add(rows, n, ctx->arena, refs);
	return rc;
}

enum berth_code
probe_tables(struct cmd_ctx *ctx, struct verdict_refs *refs_out, struct verdict_limits *limits_out, struct berth_err *err)
{
	const char *path;
	enum berth_code rc;
	char *bytes;
	size_t n;

	rc = data_path(ctx->arena, "probe_reference.csv", &path, err);
	if (rc == BERTH_OK)
		rc = fileio_slurp(ctx->arena, path, PROBE_TABLE_MAX, &bytes, &n, err);
	if (rc == BERTH_OK && (rc = verdict_refs_parse(bytes, n, ctx->arena, refs_out, err)) != BERTH_OK)
		return err_ctx(err, "%s", path);
	if (rc == BERTH_OK)
		rc = data_path(ctx->arena, "probe_thresholds.csv", &path, err);
	if (rc == BERTH_OK)
		rc = fileio_slurp(ctx->arena, path, PROBE_TABLE_MAX, &bytes, &n, err);
	if (rc == BERTH_OK && (rc = verdict_limits_parse(bytes, n, limits_out, err)) != BERTH_OK)
		return err_ctx(err, "%s", path);
	return rc == BERTH_OK ? probe_fleet(ctx, refs_out, err) : rc;
}
