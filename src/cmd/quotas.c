#include <math.h>
#include <string.h>

#include "broker/quotas.h"
#include "cmd/accounts.h"
#include "cmd/cmd.h"
#include "providers/prov.h"
#include "store/offer_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/str.h"

#define QUOTAS_REFRESH_S 60 /* the whole verb */

struct quotas_opts {
	struct opt_list account;
	bool all;
};

static const struct quotas_opts quotas_defaults = { .all = false };

#define OFF(field) offsetof(struct quotas_opts, field)
static const struct opt_row quotas_rows[] = {
	{ "account", 0, OPT_LIST, "ACCOUNT", "patterns on account names; all accounts otherwise",
	    OFF(account), 0, 0, NULL },
	{ "all", 'a', OPT_FLAG, NULL, "also those that count no machine with accelerators",
	    OFF(all), 0, 0, NULL },
	{ 0 },
};
static const struct opt_row quotas_refresh_rows[] = {
	{ "account", 0, OPT_LIST, "ACCOUNT", "patterns on account names; all accounts otherwise",
	    OFF(account), 0, 0, NULL },
	{ 0 },
};

static enum berth_code quotas_list(struct cmd_ctx *ctx, struct berth_err *err);
static enum berth_code quotas_ask(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd quotas_subs[] = {
	{ .name = "list",
	    .summary = "what providers told last of the quotas of accounts",
	    .args = "",
	    .opts = quotas_rows,
	    .opts_default = &quotas_defaults,
	    .opts_size = sizeof(quotas_defaults),
	    .flags = CMD_STORE_RO,
	    .run = quotas_list },
	{ .name = "refresh",
	    .summary = "ask every account for its quotas",
	    .args = "",
	    .opts = quotas_refresh_rows,
	    .opts_default = &quotas_defaults,
	    .opts_size = sizeof(quotas_defaults),
	    .flags = CMD_STORE_RW | CMD_NET,
	    .run = quotas_ask },
	{ 0 },
};

const struct cmd cmd_quotas = {
	.name = "quotas",
	.summary = "quotas of the accounts, as their providers tell them: list, refresh",
	.args = "",
	.opts = quotas_rows,
	.opts_default = &quotas_defaults,
	.opts_size = sizeof(quotas_defaults),
	.flags = CMD_STORE_RO,
	.run = quotas_list,
	.subs = quotas_subs,
};

/* What is kept, with what placements make of it. */
struct quotas_kept {
	struct quota_policy policy;
	struct quota_reading *readings;
	size_t n_readings;
	struct quota_region *regions;
	size_t n_regions;
	struct quota_row *rows;
	size_t n_rows;
	bool *counts; /* [n_rows] a limit of placements */
	bool *old;    /* [n_rows] told too long ago for that */
};

static enum berth_code
quotas_kept(struct cmd_ctx *ctx, struct quotas_kept *k, struct berth_err *err)
{
	const struct config *config;
	struct offer *offers;
	size_t n_offers, n_limits;
	enum berth_code rc = cmd_config(ctx, &config, err);

	if (rc == BERTH_OK)
		rc = quotas_policy_read(config->root, &k->policy, err);
	if (rc == BERTH_OK)
		rc =
		    store_quota_readings(ctx->store, ctx->arena, &k->readings, &k->n_readings, err);
	if (rc == BERTH_OK)
		rc = store_quota_regions(ctx->store, ctx->arena, &k->regions, &k->n_regions, err);
	if (rc == BERTH_OK)
		rc = store_quota_list(ctx->store, false, ctx->arena, &k->rows, &k->n_rows, err);
	if (rc == BERTH_OK)
		rc = store_offer_list(ctx->store, NULL, ctx->arena, &offers, &n_offers, err);
	if (rc != BERTH_OK)
		return rc;
	const struct offer **at = arena_array_of(ctx->arena, n_offers + 1, const struct offer *);

	for (size_t i = 0; i < n_offers; i++)
		at[i] = &offers[i];
	k->counts = arena_array_of(ctx->arena, k->n_rows + 1, bool);
	k->old = arena_array_of(ctx->arena, k->n_rows + 1, bool);
	for (size_t i = 0; i < k->n_rows; i++) {
		struct placing_limit *limits;

		quotas_limits(&k->rows[i], 1, k->rows[i].as_of, 1, at, n_offers, NULL, 0,
		    ctx->arena, &limits, &n_limits);
		k->counts[i] = n_limits > 0;
		k->old[i] = ctx->now - k->rows[i].as_of > k->policy.age_s;
	}
	return BERTH_OK;
}

static const char *
quotas_state(const struct quotas_kept *k, size_t i)
{
	return !k->counts[i] ? "told" : k->policy.age_s == 0 ? "off" : k->old[i] ? "old" : "limit";
}

static bool
quotas_shown(const struct cmd_ctx *ctx, const struct quotas_kept *k, size_t i)
{
	const struct quotas_opts *o = ctx->opts;

	return (o->all || k->counts[i]) &&
	       glob_match_any(o->account.v, o->account.n, k->rows[i].account);
}

static void
quotas_json_regions(struct jsonw *w, const struct quotas_kept *k, const char *account, int64_t now)
{
	jsonw_begin_array(w, "regions");
	for (size_t i = 0; i < k->n_regions; i++) {
		const struct quota_region *r = &k->regions[i];

		if (!str_eq(r->account, account))
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "region", r->region);
		jsonw_str(
		    w, "state", quota_state_name(quota_region_state(r, now, k->policy.age_s)));
		jsonw_time_or_null(w, "as_of", r->as_of);
		jsonw_str_or_null(w, "error", r->error);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static enum berth_code
quotas_json(struct cmd_ctx *ctx, const struct quotas_kept *k, struct berth_err *err)
{
	const struct quotas_opts *o = ctx->opts;
	struct jsonw *w = cmd_json_begin(ctx, "berth.quotas/1");

	jsonw_begin_array(w, "accounts");
	for (size_t i = 0; i < k->n_readings; i++) {
		const struct quota_reading *r = &k->readings[i];

		if (!glob_match_any(o->account.v, o->account.n, r->account))
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "account", r->account);
		jsonw_str(w, "provider", r->provider);
		jsonw_str(w, "state",
		    quota_state_name(quota_reading_state(r, ctx->now, k->policy.age_s)));
		jsonw_time_or_null(w, "as_of", r->as_of);
		jsonw_time(w, "tried", r->tried);
		jsonw_str_or_null(w, "error", r->error);
		jsonw_bool(w, "due", r->due);
		quotas_json_regions(w, k, r->account, ctx->now);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "quotas");
	for (size_t i = 0; i < k->n_rows; i++) {
		const struct quota_row *q = &k->rows[i];

		if (!quotas_shown(ctx, k, i))
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "account", q->account);
		jsonw_str_or_null(w, "region", q->region);
		jsonw_str_or_null(w, "zone", q->zone);
		jsonw_str(w, "name", q->name);
		jsonw_str(w, "unit", q->unit);
		jsonw_str_or_null(w, "purchase", q->any_purchase ? "" : purchase_name(q->purchase));
		jsonw_str_or_null(w, "instance_types", q->types);
		jsonw_str_or_null(w, "accelerator", q->accelerator);
		jsonw_double(w, "limit", q->limit);
		jsonw_double(w, "used", q->used);
		jsonw_double(w, "ours", q->counts ? q->ours : NAN);
		jsonw_time(w, "as_of", q->as_of);
		jsonw_str(w, "state", quotas_state(k, i));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(ctx, err);
}

static enum berth_code
quotas_table(struct cmd_ctx *ctx, const struct quotas_kept *k, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "account", NULL, TABLE_TEXT, 0, 0 },
		{ "region", NULL, TABLE_TEXT, 0, 0 },
		{ "name", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "purchase", NULL, TABLE_TEXT, 0, 0 },
		{ "unit", NULL, TABLE_TEXT, 0, 0 },
		{ "limit", NULL, TABLE_DOUBLE, 0, 0 },
		{ "used", NULL, TABLE_DOUBLE, 0, 0 },
		{ "as_of", "TOLD", TABLE_TIME, 0, 0 },
		{ "state", NULL, TABLE_TEXT, 0, 0 },
	};
	struct table *t = table_new(ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < k->n_rows; i++) {
		const struct quota_row *q = &k->rows[i];

		if (!quotas_shown(ctx, k, i))
			continue;
		table_row(t);
		table_text(t, q->account);
		table_text(t, q->zone[0] != '\0' ? q->zone : q->region);
		table_text(t, q->name);
		table_text(t, q->any_purchase ? "any" : purchase_name(q->purchase));
		table_text(t, q->unit);
		table_double(t, q->limit);
		table_double(t, q->used);
		table_time(t, q->as_of);
		table_text(t, quotas_state(k, i));
	}
	return cmd_table_print(ctx, t, err);
}

/* What is not known of an account: region by region, where some told. */
static void
quotas_unknown(struct cmd_ctx *ctx, const struct quotas_kept *k, const struct quota_reading *r)
{
	bool partly = str_eq(r->code, err_name(BERTH_EPARTIAL));
	const char *text =
	    partly ? "" : quota_reading_text(r, ctx->now, k->policy.age_s, ctx->arena);

	if (text[0] != '\0')
		cmd_note(ctx, "%s", text);
	for (size_t i = 0; partly && i < k->n_regions; i++) {
		if (!str_eq(k->regions[i].account, r->account))
			continue;
		text = quota_region_text(&k->regions[i], ctx->now, k->policy.age_s, ctx->arena);
		if (text[0] != '\0')
			cmd_note(ctx, "%s", text);
	}
}

static enum berth_code
quotas_list(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct quotas_opts *o = ctx->opts;
	struct quotas_kept k = { .n_rows = 0 };
	enum berth_code rc = quotas_kept(ctx, &k, err);

	if (rc == BERTH_OK)
		rc = cmd_wants_json(ctx) ? quotas_json(ctx, &k, err) : quotas_table(ctx, &k, err);
	for (size_t i = 0; rc == BERTH_OK && i < k.n_readings; i++)
		if (glob_match_any(o->account.v, o->account.n, k.readings[i].account))
			quotas_unknown(ctx, &k, &k.readings[i]);
	if (rc == BERTH_OK && k.n_readings == 0)
		cmd_note(ctx, "no account was asked yet: `berth quotas refresh` asks");
	return rc;
}

/* What asking came to. */
struct quotas_asked {
	size_t asked, failed; /* that tell quotas; that did not open or answer for all */
	bool partly;          /* some answered for a part of their regions */
	const char *first;    /* what the first that failed said */
};

static void
quotas_failed(struct quotas_asked *q, const char *why)
{
	if (q->failed++ == 0)
		q->first = why;
}

static enum berth_code
quotas_answers(
    struct cmd_ctx *ctx, const struct accounts *all, struct quotas_asked *q, struct berth_err *err)
{
	size_t n = all->v.n;
	struct quotas_result *r = arena_array_of(ctx->arena, n, struct quotas_result);
	struct prov_account **ask = arena_array_of(ctx->arena, n, struct prov_account *);
	enum berth_code rc;

	for (size_t i = 0; i < n; i++) {
		const struct accounts_one *one = &all->v.v[i];

		if (one->open == NULL)
			quotas_failed(q, arena_strdup(ctx->arena, one->why.msg));
		else if ((prov_account_ops(one->open)->caps & PROV_CAP_QUOTA) != 0)
			ask[q->asked++] = one->open;
	}
	rc = quotas_refresh(
	    ctx->store, ctx->now, ask, q->asked, QUOTAS_REFRESH_S, ctx->arena, r, err);
	for (size_t i = 0; rc == BERTH_OK && i < q->asked; i++) {
		if (r[i].code != BERTH_OK)
			quotas_failed(q, r[i].error);
		q->partly |= r[i].code == BERTH_EPARTIAL;
		if ((r[i].code == BERTH_OK || r[i].code == BERTH_EPARTIAL) && !cmd_wants_json(ctx))
			cmd_say(
			    ctx, "%s: %zu quota%s\n", r[i].account, r[i].n, r[i].n == 1 ? "" : "s");
	}
	return rc;
}

static enum berth_code
quotas_ask(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct quotas_opts *o = ctx->opts;
	struct quotas_asked q = { .asked = 0 };
	struct accounts all;
	enum berth_code rc = accounts_open(ctx, &o->account, &all, err);
	size_t fit = all.v.n;

	if (rc == BERTH_OK)
		rc = quotas_answers(ctx, &all, &q, err);
	accounts_close(&all);
	if (rc == BERTH_OK && cmd_wants_json(ctx))
		rc = quotas_list(ctx, err);
	if (rc != BERTH_OK)
		return rc;
	if (q.failed > 0)
		return err_set(err, BERTH_EPARTIAL, "%zu of %zu accounts did not tell %s; %s",
		    q.failed, fit, q.partly ? "all their quotas" : "their quotas", q.first);
	if (q.asked == 0)
		cmd_note(ctx, "no account of a provider that tells quotas: nobody to ask");
	return BERTH_OK;
}
