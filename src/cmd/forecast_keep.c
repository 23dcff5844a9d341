#include "config.h"

#include "cmd/forecast.h"
#include "store/plan_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"

enum { KEEP_BATCH = 4 << 20 };	/* bytes that wait to be written: others can write to the store while forecasts are made */

struct forecast_kept {
	struct arena *a;	/* rows that wait */
	struct forecast_row *rows;
	size_t n, room;
	struct buf text;
};

enum { KEEP_ROWS = 256 };

struct forecast_kept *
forecast_keep_begin(struct cmd_ctx *ctx)
{
	struct forecast_kept *k = arena_alloc(ctx->arena, sizeof(*k));

	k->a = arena_new();
	k->rows = arena_array(ctx->arena, KEEP_ROWS, sizeof(*k->rows));
	k->room = KEEP_ROWS;
	buf_init(&k->text, (size_t)1 << 30);
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
	}
	k->n = 0;
	arena_reset(k->a);
	if (rc == BERTH_OK)
		return store_commit(ctx->store, err);
	store_rollback(ctx->store);
	return rc;
}

enum berth_code
forecast_keep(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct forecast_kept *k, struct berth_err *err)
{
	const struct fc_result *r = &f->out[i];
	struct forecast_row *row = &k->rows[k->n];
	struct jsonw w;
	enum berth_code rc;

	if (f->rows[i].id == 0)	/* a sum that is not recorded: no truth will come */
		return BERTH_OK;
	buf_clear(&k->text);
	jsonw_init_buf(&w, &k->text, JSONW_COMPACT);
	forecast_json_series(&w, f, i);
	rc = jsonw_finish(&w, err);
	if (rc != BERTH_OK)
		return rc;
	*row = (struct forecast_row){ .series = r->name, .as_of = r->t0, .horizon_s = (int64_t)r->horizon * r->step_s,
		.made = ctx->now, .json = arena_strndup(k->a, k->text.p, k->text.len) };
	k->n++;
	return k->n == k->room || arena_bytes(k->a) > KEEP_BATCH ? keep_write(ctx, k, err) : BERTH_OK;
}

enum berth_code
forecast_keep_end(struct cmd_ctx *ctx, struct forecast_kept *k, enum berth_code rc, struct berth_err *err)
{
	if (rc == BERTH_OK && k->n > 0)
		rc = keep_write(ctx, k, err);
	arena_free(k->a);
	buf_free(&k->text);
	return rc;
}
