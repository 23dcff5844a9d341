#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/forecast.h"
#include "store/forecast_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/time.h"

enum {
	KEEP_BATCH = 4 << 20,
	KEEP_ROWS = 256
}; /* bytes, rows that wait to be written: meanwhile others can write to the store */

/* Rows that wait, and their series. */
struct forecast_kept {
	struct arena *a;
	struct forecast_row rows[KEEP_ROWS];
	struct series series[KEEP_ROWS];
	size_t n;
};

struct forecast_kept *
forecast_keep_begin(struct cmd_ctx *ctx)
{
	struct forecast_kept *k = arena_alloc(ctx->arena, sizeof(*k));

	k->a = arena_new();
	return k;
}

static enum berth_code
keep_write(struct cmd_ctx *ctx, struct forecast_kept *k, struct berth_err *err)
{
	enum berth_code rc = store_begin(ctx->store, err);

	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; rc == BERTH_OK && i < k->n; i++) {
		int64_t id;

		rc = store_forecast_insert(ctx->store, &k->rows[i], &id, err);
		if (rc == BERTH_OK)
			rc = forecast_settle(ctx, &k->series[i], err);
	}
	k->n = 0;
	arena_reset(k->a);
	if (rc == BERTH_OK)
		return store_commit(ctx->store, err);
	store_rollback(ctx->store);
	return rc;
}

enum berth_code
forecast_keep(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct forecast_kept *k,
    struct berth_err *err)
{
	static const enum fc_level levels[FORECAST_ROW_LEVELS] = { FC_P05, FC_P50, FC_P90, FC_P95,
		FC_P99 };
	const struct fc_result *r = &f->out[i];
	struct forecast_row *row = &k->rows[k->n];
	double *q;

	if (f->rows[i].id == 0 ||
	    ctx->store_read_only) /* a sum that is not recorded: no truth will come */
		return BERTH_OK;
	k->series[k->n++] = f->rows[i];
	q = arena_array(k->a, r->horizon * FORECAST_ROW_LEVELS, sizeof(*q));
	for (size_t t = 0; t < r->horizon; t++)
		for (size_t l = 0; l < FORECAST_ROW_LEVELS; l++)
			q[t * FORECAST_ROW_LEVELS + l] = r->q[t * FC_LEVEL_COUNT + levels[l]];
	*row = (struct forecast_row){ .series = r->name,
		.as_of = r->t0,
		.horizon_s = (int64_t)r->horizon * r->step_s,
		.made = ctx->now,
		.step_s = r->step_s,
		.n = r->horizon,
		.q = q,
		.mean = arena_memdup(k->a, r->mean, r->horizon * sizeof(*r->mean)) };
	memcpy(row->peak, r->peak, sizeof(row->peak));
	return k->n == KEEP_ROWS || arena_bytes(k->a) > KEEP_BATCH ? keep_write(ctx, k, err)
								   : BERTH_OK;
}

enum berth_code
forecast_keep_end(
    struct cmd_ctx *ctx, struct forecast_kept *k, enum berth_code rc, struct berth_err *err)
{
	if (rc == BERTH_OK && k->n > 0)
		rc = keep_write(ctx, k, err);
	arena_free(k->a);
	return rc;
}
