#include <math.h>
#include <string.h>

#include "cmd/series_waits.h"
#include "cmd/series_waste.h"
#include "model/accel.h"
#include "store/offer_rows.h"
#include "store/series_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/vec.h"

/* One series of GPUs that do nothing. */
struct waste {
	const struct series *row;
	const char *kind; /* "held, idle" "idle" "starved" */
	const char *accelerator;
	double gpu_hours;
	struct usd_micro price, cost; /* of a GPU-hour; of all */
	bool counted;                 /* false: another row holds the same GPUs */
	double wait_p95;              /* s that jobs waited for such GPUs meanwhile; NaN unknown */
};

struct wastes {
	struct cmd_ctx *ctx;
	const struct accel_table *accels;
	const struct offer *offers; /* [n_offers] */
	size_t n_offers;
	const struct usage_waits_row *waits; /* [n_waits] */
	size_t n_waits;
	VEC(struct waste) v;
	double gpu_hours;      /* of all that count */
	struct usd_micro cost; /* unknown if one of them is */
};

/* The unit tells what the GPUs do not do; NULL: it is another series. */
static const char *
waste_kind(const struct series *s)
{
	static const struct {
		const char *unit, *kind;
	} kinds[] = { { "gpu_held_idle", "held, idle" }, { "gpu_idle", "idle" },
		{ "gpu_starved", "starved" } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(s->unit, kinds[i].unit) == 0)
			return kinds[i].kind;
	return NULL;
}

static const char *
waste_accel(struct cmd_ctx *ctx, const struct series *s)
{
	const char *name = series_label(s, "accelerator", ctx->arena);

	return name != NULL ? name : "";
}

struct usd_micro
series_gpu_hour(const struct accel_table *accels, const struct offer *offers, size_t n,
    const struct accel *want)
{
	struct usd_micro best = USD_UNKNOWN;

	for (size_t i = 0; want != NULL && i < n; i++) {
		const struct offer *o = &offers[i];
		struct usd_micro p = offer_effective_gpu_hour(o);

		if (o->purchase == PURCHASE_ON_DEMAND && usd_known(p) &&
		    (!usd_known(best) || p.v < best.v) &&
		    accel_is(accel_find(accels, o->accelerator), want))
			best = p;
	}
	return best;
}

static double
waste_wait(const struct wastes *w, const char *accelerator)
{
	const char *name = arena_printf(w->ctx->arena, "accelerator=%s", accelerator);

	for (size_t i = 0; i < w->n_waits; i++)
		if (strcmp(w->waits[i].name, name) == 0)
			return w->waits[i].step.p95;
	return (double)NAN;
}

static enum berth_code
waste_add(struct wastes *w, const struct series *s, int64_t from, int64_t to, struct berth_err *err)
{
	struct waste x = { .row = s,
		.kind = waste_kind(s),
		.accelerator = waste_accel(w->ctx, s),
		.cost = USD_UNKNOWN,
		.counted = true };
	struct arena *a = arena_new();
	struct dense d;
	enum berth_code rc = store_samples_range(w->ctx->store, s->id, from, to, a, &d, err);

	for (size_t i = 0; rc == BERTH_OK && i < d.n; i++)
		if (!isnan(d.mean[i]))
			x.gpu_hours += d.mean[i] * (double)d.step_s / 3600;
	arena_free(a);
	if (rc != BERTH_OK)
		return rc;
	x.price = series_gpu_hour(
	    w->accels, w->offers, w->n_offers, accel_find(w->accels, x.accelerator));
	x.wait_p95 = waste_wait(w, x.accelerator);
	if (usd_known(x.price))
		rc = usd_mul_double(x.price, x.gpu_hours, &x.cost, err);
	VEC_PUSH(w->ctx->arena, &w->v, x);
	return rc;
}

/* GPUs that are held and idle are among those that are idle. */
static enum berth_code
waste_total(struct wastes *w, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	w->cost = (struct usd_micro){ 0 };
	for (size_t i = 0; i < w->v.n; i++)
		for (size_t k = 0; k < w->v.n; k++)
			if (strcmp(w->v.v[i].kind, "held, idle") == 0 &&
			    strcmp(w->v.v[k].kind, "idle") == 0 &&
			    strcmp(w->v.v[i].accelerator, w->v.v[k].accelerator) == 0)
				w->v.v[i].counted = false;
	for (size_t i = 0; rc == BERTH_OK && i < w->v.n; i++) {
		if (!w->v.v[i].counted)
			continue;
		w->gpu_hours += w->v.v[i].gpu_hours;
		if (!usd_known(w->v.v[i].cost) || !usd_known(w->cost))
			w->cost = USD_UNKNOWN;
		else
			rc = usd_add(w->cost, w->v.v[i].cost, &w->cost, err);
	}
	return rc;
}

static enum berth_code
waste_json(struct wastes *w, struct berth_err *err)
{
	struct jsonw *j = cmd_json_begin(w->ctx, "berth.waste/1");

	jsonw_begin_array(j, "waste");
	for (size_t i = 0; i < w->v.n; i++) {
		const struct waste *x = &w->v.v[i];

		jsonw_begin_object(j, NULL);
		jsonw_str(j, "series", x->row->name);
		jsonw_str_or_null(j, "accelerator", x->accelerator);
		jsonw_str(j, "kind", x->kind);
		jsonw_fixed(j, "gpu_hours", x->gpu_hours, 3);
		jsonw_money(j, "price_per_gpu_hour", x->price);
		jsonw_money(j, "cost", x->cost);
		jsonw_bool(j, "counted", x->counted);
		jsonw_fixed(j, "wait_p95_s", x->wait_p95, 3);
		jsonw_end_object(j);
	}
	jsonw_end_array(j);
	jsonw_fixed(j, "gpu_hours", w->gpu_hours, 3);
	jsonw_money(j, "cost", w->cost);
	return cmd_json_end(w->ctx, err);
}

static enum berth_code
waste_table(struct wastes *w, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "accelerator", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "kind", NULL, TABLE_TEXT, 0, 0 },
		{ "gpu_hours", NULL, TABLE_DOUBLE, 1, 0 },
		{ "price_per_gpu_hour", "USD/GPU-H", TABLE_MONEY, 4, 0 },
		{ "cost", "USD", TABLE_MONEY, 2, 0 },
		{ "wait_p95_s", "WAIT P95", TABLE_DURATION, 0, 0 },
		{ "counted", NULL, TABLE_BOOL, 0, TABLE_WIDE },
		{ "series", NULL, TABLE_TEXT, 0, TABLE_WIDE | TABLE_CUT },
	};
	struct table *t = table_new(w->ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < w->v.n; i++) {
		const struct waste *x = &w->v.v[i];

		table_row(t);
		table_text(t, x->accelerator);
		table_text(t, x->kind);
		table_double(t, x->gpu_hours);
		table_money(t, x->price);
		table_money(t, x->cost);
		table_time(t, isnan(x->wait_p95) ? -1 : (int64_t)(x->wait_p95 + 0.5));
		table_bool(t, x->counted);
		table_text(t, x->row->name);
	}
	return cmd_table_print(w->ctx, t, err);
}

enum berth_code
series_waste(struct cmd_ctx *ctx, const struct series *rows, size_t n, int64_t from, int64_t to,
    struct berth_err *err)
{
	struct wastes w = { .ctx = ctx };
	struct usage_waits_row *waits = NULL;
	struct offer *offers;
	enum berth_code rc = cmd_accels(ctx, &w.accels, err);

	if (rc == BERTH_OK)
		rc = store_offer_list(ctx->store, NULL, ctx->arena, &offers, &w.n_offers, err);
	if (rc != BERTH_OK)
		return rc;
	w.offers = offers;
	rc = series_waits_whole(ctx, from, to, &waits, &w.n_waits, err);
	w.waits = waits;
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (waste_kind(&rows[i]) != NULL)
			rc = waste_add(&w, &rows[i], from, to, err);
	if (rc == BERTH_OK)
		rc = waste_total(&w, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx))
		return waste_json(&w, err);
	if (w.v.n == 0 && ctx->format != CMD_CSV) {
		cmd_note(ctx, "nothing is known of idle GPUs: `berth record prometheus --ready "
			      "dcgm` and `berth record nvidia-smi` tell of them");
		return BERTH_OK;
	}
	return waste_table(&w, err);
}

enum berth_code
series_idle_hours(struct cmd_ctx *ctx, const struct accel *accel, int64_t from, int64_t to,
    double *gpu_hours_out, struct berth_err *err)
{
	struct wastes w = { .ctx = ctx };
	struct series *rows;
	size_t n;
	enum berth_code rc = cmd_accels(ctx, &w.accels, err);

	if (rc == BERTH_OK)
		rc = store_series_list(ctx->store, ctx->arena, &rows, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		if (waste_kind(&rows[i]) != NULL &&
		    accel_is(accel_find(w.accels, waste_accel(ctx, &rows[i])), accel))
			rc = waste_add(&w, &rows[i], from, to, err);
	if (rc == BERTH_OK)
		rc = waste_total(&w, err);
	*gpu_hours_out = w.gpu_hours;
	return rc;
}
