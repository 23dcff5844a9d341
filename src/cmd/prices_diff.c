/* prices diff: the offers of two times beside each other. */
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
#include "util/time.h"
#include "util/vec.h"

#define PRICES_DIFF_SINCE_S 86400

#define OFF(field) offsetof(struct prices_history_opts, field)
const struct opt_row prices_diff_rows[] = {
	PRICES_FILTER_ROWS(OFF(filter)),
	{ "since", 0, OPT_TIME, "TIME", "the earlier time; a day before the later one otherwise",
	    OFF(since), 0, 0, NULL },
	{ "until", 0, OPT_TIME, "TIME", "the later time; now otherwise", OFF(until), 0, 0, NULL },
	{ 0 },
};

enum prices_change { PRICES_NEW, PRICES_GONE, PRICES_MOVED };

struct prices_change_of {
	enum prices_change change;
	const struct offer *was, *is;
};

/* Offers of a list that was not there at the earlier time: nothing to compare them with. */
struct prices_newcomer {
	const char *provider, *account;
	size_t offers;
};

struct prices_diff {
	int64_t since, until;
	VEC(struct prices_change_of) changes;
	VEC(struct prices_newcomer) newcomers;
	size_t compared; /* offers that both times have */
};

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
prices_moved(const struct prices_change_of *d)
{
	if (d->was == NULL || d->is == NULL)
		return (double)NAN;
	return usd_to_double(offer_effective_hour(d->is)) /
		   usd_to_double(offer_effective_hour(d->was)) -
	       1;
}

static void
prices_diff_json(struct cmd_ctx *ctx, const struct prices_diff *d)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.price_diff/1");

	jsonw_time(w, "since", d->since);
	jsonw_time(w, "until", d->until);
	jsonw_int(w, "compared", (int64_t)d->compared);
	jsonw_begin_array(w, "not_compared");
	for (size_t i = 0; i < d->newcomers.n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "provider", d->newcomers.v[i].provider);
		jsonw_str_or_null(w, "account", d->newcomers.v[i].account);
		jsonw_int(w, "offers", (int64_t)d->newcomers.v[i].offers);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "offers");
	for (size_t i = 0; i < d->changes.n; i++) {
		const struct prices_change_of *c = &d->changes.v[i];
		const struct offer *o = c->is != NULL ? c->is : c->was;

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "change", prices_change_name(c->change));
		prices_which_keys(w, o);
		jsonw_money(w, "was", c->was != NULL ? c->was->price : USD_UNKNOWN);
		jsonw_money(w, "is", c->is != NULL ? c->is->price : USD_UNKNOWN);
		jsonw_double(w, "moved", prices_moved(c));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static enum berth_code
prices_diff_table(struct cmd_ctx *ctx, const struct prices_diff *d, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "change", NULL, TABLE_TEXT, 0, 0 },
		{ "provider", NULL, TABLE_TEXT, 0, TABLE_CUT },
		PRICES_WHICH_COLS,
		{ "was", "WAS $/H", TABLE_MONEY, 4, 0 },
		{ "is", "IS $/H", TABLE_MONEY, 4, 0 },
		{ "moved", NULL, TABLE_SHARE, 1, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < d->changes.n; i++) {
		const struct prices_change_of *c = &d->changes.v[i];
		const struct offer *o = c->is != NULL ? c->is : c->was;

		table_row(t);
		table_text(t, prices_change_name(c->change));
		prices_which_cells(ctx, t, o);
		table_money(t, c->was != NULL ? prices_shown(ctx, c->was) : USD_UNKNOWN);
		table_money(t, c->is != NULL ? prices_shown(ctx, c->is) : USD_UNKNOWN);
		table_double(t, prices_moved(c));
	}
	return cmd_table_print(ctx, t, err);
}

/* Which lists have no earlier state, and what that means for what is shown. */
static void
prices_diff_say(struct cmd_ctx *ctx, const struct prices_diff *d, size_t n_was)
{
	char since[TIME_FMT_SIZE], until[TIME_FMT_SIZE];
	const char *names = "";
	size_t left_out = 0;

	time_fmt(since, d->since);
	time_fmt(until, d->until);
	for (size_t i = 0; i < d->newcomers.n; i++) {
		const struct prices_newcomer *c = &d->newcomers.v[i];

		left_out += c->offers;
		if (i < 8)
			names = arena_printf(ctx->arena, "%s%s%s%s%s%s", names, i > 0 ? ", " : "",
			    c->provider, c->account[0] != '\0' ? " (account " : "", c->account,
			    c->account[0] != '\0' ? ")" : "");
		else if (i == 8)
			names =
			    arena_printf(ctx->arena, "%s and %zu more", names, d->newcomers.n - i);
	}
	if (left_out > 0)
		cmd_note(ctx,
		    "%sno price of %s is as old as %s: %zu offers have nothing to be compared with "
		    "yet",
		    d->compared + n_was == 0 ? "" : "left out: ", names, since, left_out);
	else if (d->compared + n_was == 0)
		cmd_note(ctx,
		    "no offer that fits is known of %s or of %s: there is nothing to compare",
		    since, until);
	if (d->compared > 0)
		cmd_note(ctx, "compared %zu offers of %s with those of %s: %s", d->compared, until,
		    since,
		    d->changes.n == 0 ? "nothing moved"
				      : arena_printf(ctx->arena, "%zu %s", d->changes.n,
					    d->changes.n == 1 ? "change" : "changes"));
}

static const char *
prices_list_key(const struct offer *o, struct arena *a)
{
	return arena_printf(a, "%s\t%s", o->account, o->provider);
}

static const char *
prices_diff_key(const struct offer *o, struct arena *a)
{
	return arena_printf(a, "%s\t%s", o->account, import_offer_key(o, a));
}

static enum berth_code
prices_at(struct cmd_ctx *ctx, const struct prices_match *m, int64_t at, struct offer **v_out,
    size_t *n_out, struct berth_err *err)
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

/* Whose lists were there at a time, with any offer at all. */
static enum berth_code
prices_lists_at(struct cmd_ctx *ctx, int64_t at, struct strmap *there, struct berth_err *err)
{
	struct offer_query q = { .every_kind = true, .at = at };
	struct offer *v;
	enum berth_code rc;
	size_t n = 0;

	rc = store_offer_list(ctx->store, &q, ctx->arena, &v, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		strmap_add(ctx->arena, there, prices_list_key(&v[i], ctx->arena), 1, NULL);
	return rc;
}

/* A new offer of a list that was there is new; one of a list that has no past is not called so. */
static enum berth_code
prices_diff_newcomers(struct cmd_ctx *ctx, struct prices_diff *d, struct berth_err *err)
{
	struct strmap there = { 0 }, by_list = { 0 };
	enum berth_code rc = BERTH_OK;
	size_t kept = 0;
	bool any = false;

	for (size_t i = 0; i < d->changes.n; i++)
		any |= d->changes.v[i].change == PRICES_NEW;
	if (any)
		rc = prices_lists_at(ctx, d->since, &there, err);
	for (size_t i = 0; rc == BERTH_OK && i < d->changes.n; i++) {
		const struct prices_change_of c = d->changes.v[i];
		const char *key = c.change == PRICES_NEW ? prices_list_key(c.is, ctx->arena) : NULL;
		size_t *at;
		int added;

		if (key == NULL || strmap_get(&there, key) != NULL) {
			d->changes.v[kept++] = c;
			continue;
		}
		at = strmap_add(ctx->arena, &by_list, key, d->newcomers.n, &added);
		if (added)
			VEC_PUSH(ctx->arena, &d->newcomers,
			    ((struct prices_newcomer){ c.is->provider, c.is->account, 0 }));
		d->newcomers.v[*at].offers++;
	}
	if (rc == BERTH_OK)
		d->changes.n = kept;
	return rc;
}

static void
prices_diff_compare(struct cmd_ctx *ctx, struct prices_diff *d, const struct offer *was,
    size_t n_was, const struct offer *is, size_t n_is)
{
	bool *met = arena_array_of(ctx->arena, n_was, bool);
	struct strmap old = { 0 };

	for (size_t i = 0; i < n_was; i++)
		strmap_add(ctx->arena, &old, prices_diff_key(&was[i], ctx->arena), i, NULL);
	for (size_t i = 0; i < n_is; i++) {
		size_t *at = strmap_get(&old, prices_diff_key(&is[i], ctx->arena));

		if (at == NULL) {
			VEC_PUSH(ctx->arena, &d->changes,
			    (struct prices_change_of){ PRICES_NEW, NULL, &is[i] });
			continue;
		}
		met[*at] = true;
		d->compared++;
		if (was[*at].price.v != is[i].price.v || was[*at].upfront.v != is[i].upfront.v ||
		    was[*at].usage.v != is[i].usage.v)
			VEC_PUSH(ctx->arena, &d->changes,
			    (struct prices_change_of){ PRICES_MOVED, &was[*at], &is[i] });
	}
	for (size_t i = 0; i < n_was; i++)
		if (!met[i])
			VEC_PUSH(ctx->arena, &d->changes,
			    (struct prices_change_of){ PRICES_GONE, &was[i], NULL });
}

enum berth_code
prices_diff_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct prices_history_opts *o = ctx->opts;
	struct prices_diff d = { .until = o->until != 0 ? o->until : ctx->now };
	struct offer *was, *is;
	struct prices_match m;
	enum berth_code rc;
	size_t n_was, n_is;

	d.since = o->since != 0 ? o->since : d.until - PRICES_DIFF_SINCE_S;
	if (d.since >= d.until)
		return err_set(err, BERTH_EUSAGE, "--since must be before --until");
	if ((rc = prices_match_init(ctx, &o->filter, &m, err)) != BERTH_OK ||
	    (rc = prices_at(ctx, &m, d.since, &was, &n_was, err)) != BERTH_OK ||
	    (rc = prices_at(ctx, &m, d.until, &is, &n_is, err)) != BERTH_OK)
		return rc;
	prices_diff_compare(ctx, &d, was, n_was, is, n_is);
	if ((rc = prices_diff_newcomers(ctx, &d, err)) != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx)) {
		prices_diff_json(ctx, &d);
		return cmd_json_end(ctx, err);
	}
	rc = prices_diff_table(ctx, &d, err);
	if (rc == BERTH_OK && ctx->format != CMD_CSV)
		prices_diff_say(ctx, &d, n_was);
	return rc;
}
