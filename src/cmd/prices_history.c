#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "providers/import/import.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

#define OFF(field) offsetof(struct prices_history_opts, field)
const struct opt_row prices_history_rows[] = {
	PRICES_FILTER_ROWS(OFF(filter)),
	{ "since", 0, OPT_TIME, "TIME", "from this time on; the beginning otherwise", OFF(since), 0,
	    0, NULL },
	{ "until", 0, OPT_TIME, "TIME", "up to this time; now otherwise", OFF(until), 0, 0, NULL },
	{ 0 },
};

void
prices_which_keys(struct jsonw *w, const struct offer *o)
{
	jsonw_str(w, "provider", o->provider);
	jsonw_str_or_null(w, "account", o->account);
	jsonw_str_or_null(w, "region", o->region);
	jsonw_str_or_null(w, "zone", o->zone);
	jsonw_str(w, "instance_type", o->instance_type);
	jsonw_str(w, "accelerator", o->accelerator);
	jsonw_int(w, "accelerator_count", o->accelerator_count);
	jsonw_str(w, "purchase", purchase_name(o->purchase));
	if (o->purchase == PURCHASE_RESERVED)
		jsonw_int(w, "term_months", o->term_months);
	else
		jsonw_null(w, "term_months");
	jsonw_str_or_null(
	    w, "payment", o->purchase == PURCHASE_RESERVED ? payment_name(o->payment) : "");
	jsonw_str(w, "kind", offer_kind_name(o->kind));
	jsonw_str(w, "currency", o->currency);
}

void
prices_which_cells(const struct cmd_ctx *ctx, struct table *t, const struct offer *o)
{
	bool reserved = o->purchase == PURCHASE_RESERVED;

	table_text(t, o->provider);
	table_text(t, o->account);
	table_text(t, o->region);
	table_text(t, o->zone);
	table_text(t, o->instance_type);
	table_text(t, prices_accelerator(ctx, o));
	table_int(t, o->accelerator_count);
	table_text(t, prices_purchase(ctx, o));
	if (reserved && o->term_months > 0)
		table_int(t, o->term_months);
	else
		table_unknown(t);
	table_text(t, reserved ? payment_name(o->payment) : "");
	table_text(t, offer_kind_name(o->kind));
	table_text(t, o->currency);
}

static bool
prices_same_offer(const struct offer *x, const struct offer *y, struct arena *a)
{
	return str_eq(x->account, y->account) &&
	       str_eq(import_offer_key(x, a), import_offer_key(y, a));
}

static void
prices_history_json(struct cmd_ctx *ctx, struct jsonw *w, const struct offer_price *v, size_t n)
{
	jsonw_begin_array(w, "offers");
	for (size_t i = 0, j; i < n; i = j) {
		jsonw_begin_object(w, NULL);
		prices_which_keys(w, &v[i].offer);
		jsonw_begin_array(w, "prices");
		for (j = i; j < n && prices_same_offer(&v[i].offer, &v[j].offer, ctx->arena); j++) {
			jsonw_begin_object(w, NULL);
			jsonw_time(w, "from", v[j].from);
			jsonw_time_or_null(w, "until", v[j].until);
			jsonw_money(w, "price_per_hour", v[j].offer.price);
			jsonw_money(w, "price_per_gpu_hour", offer_effective_gpu_hour(&v[j].offer));
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static enum berth_code
prices_history_table(
    struct cmd_ctx *ctx, const struct offer_price *v, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "provider", NULL, TABLE_TEXT, 0, TABLE_CUT },
		PRICES_WHICH_COLS,
		{ "from", NULL, TABLE_TIME, 0, 0 },
		{ "until", NULL, TABLE_TIME, 0, TABLE_WIDE },
		{ "price_per_hour", "$/H", TABLE_MONEY, 4, 0 },
		{ "price_per_gpu_hour", "$/GPU-H", TABLE_MONEY, 4, TABLE_WIDE },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		const struct offer *o = &v[i].offer;

		table_row(t);
		prices_which_cells(ctx, t, o);
		table_time(t, v[i].from);
		table_time(t, v[i].until);
		table_money(t, prices_shown(ctx, o));
		table_money(t, offer_effective_gpu_hour(o));
	}
	return cmd_table_print(ctx, t, err);
}

enum berth_code
prices_history_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct prices_history_opts *o = ctx->opts;
	struct offer_price *v;
	struct prices_match m;
	struct offer_query q;
	enum berth_code rc;
	size_t n = 0, all;

	if ((rc = prices_match_init(ctx, &o->filter, &m, err)) != BERTH_OK)
		return rc;
	q = prices_match_query(&m);
	rc = store_offer_history(ctx->store, &q, o->since, o->until, ctx->arena, &v, &all, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < all; i++)
		if (prices_match_fits(&m, &v[i].offer))
			v[n++] = v[i];
	if (!cmd_wants_json(ctx))
		return prices_history_table(ctx, v, n, err);
	prices_history_json(ctx, cmd_json_begin(ctx, "berth.price_history/1"), v, n);
	return cmd_json_end(ctx, err);
}
