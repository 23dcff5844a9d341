#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "providers/import/import.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

#define PRICES_DIFF_SINCE_S 86400

#define OFF(field) offsetof(struct prices_history_opts, field)
const struct opt_row prices_history_rows[] = {
	PRICES_FILTER_ROWS(OFF(filter)),
	{ "since", 0, OPT_TIME, "TIME", "from this time on; the beginning otherwise", OFF(since), 0, 0, NULL },
	{ "until", 0, OPT_TIME, "TIME", "up to this time; now otherwise", OFF(until), 0, 0, NULL },
	{ 0 },
};
const struct opt_row prices_diff_rows[] = {
	PRICES_FILTER_ROWS(OFF(filter)),
	{ "since", 0, OPT_TIME, "TIME", "the earlier time; a day before the later one otherwise", OFF(since), 0, 0, NULL },
	{ "until", 0, OPT_TIME, "TIME", "the later time; now otherwise", OFF(until), 0, 0, NULL },
	{ 0 },
};

static bool
prices_same_offer(const struct offer *x, const struct offer *y, struct arena *a)
{
	return str_eq(x->account, y->account) && str_eq(import_offer_key(x, a), import_offer_key(y, a));
}

static void
prices_history_json(struct cmd_ctx *ctx, struct jsonw *w, const struct offer_price *v, size_t n)
{
	jsonw_begin_array(w, "offers");
	for (size_t i = 0, j; i < n; i = j) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "provider", v[i].offer.provider);
		jsonw_str_or_null(w, "account", v[i].offer.account);
		jsonw_str_or_null(w, "region", v[i].offer.region);
		jsonw_str_or_null(w, "zone", v[i].offer.zone);
		jsonw_str(w, "instance_type", v[i].offer.instance_type);
		jsonw_str(w, "accelerator", v[i].offer.accelerator);
		jsonw_int(w, "accelerator_count", v[i].offer.accelerator_count);
		jsonw_str(w, "purchase", purchase_name(v[i].offer.purchase));
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
prices_history_table(struct cmd_ctx *ctx, const struct offer_price *v, size_t n, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "provider", NULL, TABLE_TEXT, 0, 0 }, { "account", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "region", NULL, TABLE_TEXT, 0, TABLE_CUT }, { "zone", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "instance_type", "TYPE", TABLE_TEXT, 0, TABLE_CUT }, { "accelerator", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "accelerator_count", "N", TABLE_INT, 0, 0 }, { "purchase", NULL, TABLE_TEXT, 0, 0 },
		{ "from", NULL, TABLE_TIME, 0, 0 }, { "until", NULL, TABLE_TIME, 0, 0 },
		{ "price_per_hour", "$/H", TABLE_MONEY, 4, 0 }, { "price_per_gpu_hour", "$/GPU-H", TABLE_MONEY, 4, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < n; i++) {
		const struct offer *o = &v[i].offer;

		table_row(t);
		table_text(t, o->provider);
		table_text(t, o->account);
		table_text(t, o->region);
		table_text(t, o->zone);
		table_text(t, o->instance_type);
		table_text(t, prices_accelerator(ctx, o));
		table_int(t, o->accelerator_count);
		table_text(t, purchase_name(o->purchase));
		table_time(t, v[i].from);
		table_time(t, v[i].until);
		table_money(t, o->price);
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

enum prices_change { PRICES_NEW, PRICES_GONE, PRICES_MOVED };

struct prices_diff { enum prices_change change; const struct offer *was, *is; };

static const char *
prices_change_name(enum prices_change c)
{
	switch (c) {
	case PRICES_NEW:
		return "new";
	case PRICES_GONE:
		return "gone";
	case PRICES_MOVED:
		return "moved";
	}
	return "";
}

/* Price now over price then, minus 1; NaN unless both are known and in USD. */
static double
prices_moved(const struct prices_diff *d)
{
	if (d->was == NULL || d->is == NULL)
		return (double)NAN;
	return usd_to_double(offer_effective_hour(d->is)) / usd_to_double(offer_effective_hour(d->was)) - 1;
}

static enum berth_code
prices_diff_print(struct cmd_ctx *ctx, const struct prices_diff *v, size_t n, int64_t since, int64_t until,
    struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "change", NULL, TABLE_TEXT, 0, 0 }, { "provider", NULL, TABLE_TEXT, 0, 0 },
		{ "region", NULL, TABLE_TEXT, 0, TABLE_CUT }, { "zone", NULL, TABLE_TEXT, 0, TABLE_WIDE },
		{ "instance_type", "TYPE", TABLE_TEXT, 0, TABLE_CUT }, { "accelerator", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "accelerator_count", "N", TABLE_INT, 0, 0 }, { "purchase", NULL, TABLE_TEXT, 0, 0 },
		{ "was", "WAS $/H", TABLE_MONEY, 4, 0 }, { "is", "IS $/H", TABLE_MONEY, 4, 0 },
		{ "moved", NULL, TABLE_SHARE, 1, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));
	struct jsonw *w = NULL;

	if (cmd_wants_json(ctx)) {
		w = cmd_json_begin(ctx, "berth.price_diff/1");
		jsonw_time(w, "since", since);
		jsonw_time(w, "until", until);
		jsonw_begin_array(w, "offers");
	}
	for (size_t i = 0; i < n; i++) {
		const struct offer *o = v[i].is != NULL ? v[i].is : v[i].was;
		struct usd_micro was = v[i].was != NULL ? v[i].was->price : USD_UNKNOWN;
		struct usd_micro is = v[i].is != NULL ? v[i].is->price : USD_UNKNOWN;

		if (w != NULL) {
			jsonw_begin_object(w, NULL);
			jsonw_str(w, "change", prices_change_name(v[i].change));
			jsonw_str(w, "provider", o->provider);
			jsonw_str_or_null(w, "region", o->region);
			jsonw_str_or_null(w, "zone", o->zone);
			jsonw_str(w, "instance_type", o->instance_type);
			jsonw_str(w, "accelerator", o->accelerator);
			jsonw_int(w, "accelerator_count", o->accelerator_count);
			jsonw_str(w, "purchase", purchase_name(o->purchase));
			jsonw_money(w, "was", was);
			jsonw_money(w, "is", is);
			jsonw_double(w, "moved", prices_moved(&v[i]));
			jsonw_end_object(w);
			continue;
		}
		table_row(t);
		table_text(t, prices_change_name(v[i].change));
		table_text(t, o->provider);
		table_text(t, o->region);
		table_text(t, o->zone);
		table_text(t, o->instance_type);
		table_text(t, prices_accelerator(ctx, o));
		table_int(t, o->accelerator_count);
		table_text(t, purchase_name(o->purchase));
		table_money(t, was);
		table_money(t, is);
		table_double(t, prices_moved(&v[i]));
	}
	if (w == NULL)
		return cmd_table_print(ctx, t, err);
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static const char *
prices_diff_key(const struct offer *o, struct arena *a)
{
	return arena_printf(a, "%s\t%s", o->account, import_offer_key(o, a));
}

static enum berth_code
prices_at(struct cmd_ctx *ctx, const struct prices_match *m, int64_t at, struct offer **v_out, size_t *n_out,
    struct berth_err *err)
{
	struct offer_query q = prices_match_query(m);
	enum berth_code rc;
	size_t n = 0, all = 0;

	q.at = at;
	rc = store_offer_list(ctx->store, &q, ctx->arena, v_out, &all, err);
	for (size_t i = 0; rc == BERTH_OK && i < all; i++)
		if (prices_match_fits(m, &(*v_out)[i]))
			(*v_out)[n++] = (*v_out)[i];
	*n_out = n;
	return rc;
}

enum berth_code
prices_diff_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct prices_history_opts *o = ctx->opts;
	int64_t until = o->until != 0 ? o->until : ctx->now, since = o->since != 0 ? o->since : until - PRICES_DIFF_SINCE_S;
	VEC(struct prices_diff) diffs = { 0 };
	struct strmap old = { 0 };
	struct offer *was, *is;
	struct prices_match m;
	enum berth_code rc;
	size_t n_was, n_is;
	bool *met;

	if (since >= until)
		return err_set(err, BERTH_EUSAGE, "--since must be before --until");
	if ((rc = prices_match_init(ctx, &o->filter, &m, err)) != BERTH_OK ||
	    (rc = prices_at(ctx, &m, since, &was, &n_was, err)) != BERTH_OK ||
	    (rc = prices_at(ctx, &m, until, &is, &n_is, err)) != BERTH_OK)
		return rc;
	met = arena_array_of(ctx->arena, n_was, bool);
	for (size_t i = 0; i < n_was; i++)
		strmap_add(ctx->arena, &old, prices_diff_key(&was[i], ctx->arena), i, NULL);
	for (size_t i = 0; i < n_is; i++) {
		size_t *at = strmap_get(&old, prices_diff_key(&is[i], ctx->arena));

		if (at == NULL)
			VEC_PUSH(ctx->arena, &diffs, (struct prices_diff){ PRICES_NEW, NULL, &is[i] });
		else if (was[*at].price.v != is[i].price.v || was[*at].upfront.v != is[i].upfront.v)
			VEC_PUSH(ctx->arena, &diffs, (struct prices_diff){ PRICES_MOVED, &was[*at], &is[i] });
		if (at != NULL)
			met[*at] = true;
	}
	for (size_t i = 0; i < n_was; i++)
		if (!met[i])
			VEC_PUSH(ctx->arena, &diffs, (struct prices_diff){ PRICES_GONE, &was[i], NULL });
	return prices_diff_print(ctx, diffs.v, diffs.n, since, until, err);
}
