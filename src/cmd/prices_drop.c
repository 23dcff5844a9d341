/* Price lists that are not wanted any more: their offers end, and stay as history. */
#include <stdio.h>
#include <string.h>

#include "broker/quarantine.h"
#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"

struct prices_drop {
	struct cmd_ctx *ctx;
	const struct config *config;
	struct price_list *lists; /* [n] all that have offers, or a mark */
	size_t n;
	VEC(const struct price_list *) named;
};

static bool
prices_drop_hits(const char *name, const struct price_list *l)
{
	return glob_match(name, l->provider) || glob_match(name, l->source) ||
	       (l->account[0] != '\0' && glob_match(name, l->account));
}

static enum berth_code
prices_drop_none(const struct prices_drop *d, const char *name, struct berth_err *err)
{
	char have[300] = "";
	size_t len = 0;

	for (size_t i = 0; i < d->n && len + 1 < sizeof(have); i++)
		len += (size_t)snprintf(have + len, sizeof(have) - len, "%s%s from %s",
		    i > 0 ? ", " : "", d->lists[i].provider, d->lists[i].source);
	return err_set(err, BERTH_ENOTFOUND,
	    "no price list of a provider or source called '%s'; there %s", name,
	    have[0] != '\0' ? arena_printf(d->ctx->arena, "are: %s%s", have,
				  len + 1 >= sizeof(have) ? " ..." : "")
			    : "is none");
}

/* The lists that the words name, each once; every word must name one. */
static enum berth_code
prices_drop_find(struct prices_drop *d, struct berth_err *err)
{
	struct price_list *all;
	bool *taken;
	size_t n;
	enum berth_code rc = store_price_list_list(d->ctx->store, d->ctx->arena, &all, &n, err);

	if (rc != BERTH_OK)
		return rc;
	d->lists = all;
	for (size_t i = 0; i < n; i++)
		if (all[i].offers > 0 || all[i].stale)
			d->lists[d->n++] = all[i];
	taken = arena_array_of(d->ctx->arena, d->n, bool);
	for (size_t k = 0; k < d->ctx->n_args; k++) {
		bool hit = false;

		for (size_t i = 0; i < d->n; i++) {
			if (!prices_drop_hits(d->ctx->args[k], &d->lists[i]))
				continue;
			hit = true;
			if (!taken[i])
				VEC_PUSH(d->ctx->arena, &d->named, &d->lists[i]);
			taken[i] = true;
		}
		if (!hit)
			return prices_drop_none(d, d->ctx->args[k], err);
	}
	return BERTH_OK;
}

/* Whether an account of berth.yaml will bring the list back. */
static bool
prices_drop_returns(const struct prices_drop *d, const struct price_list *l)
{
	const char *account = l->account[0] != '\0' ? l->account : l->source;

	for (size_t i = 0; i < d->config->n_accounts; i++)
		if (str_eq(d->config->accounts[i].name, account))
			return true;
	return false;
}

static enum berth_code
prices_drop_all(const struct prices_drop *d, struct berth_err *err)
{
	struct pricelist_setup setup;
	enum berth_code rc = prices_setup(d->ctx, false, &setup, err);

	if (rc != BERTH_OK || (rc = store_begin(d->ctx->store, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; rc == BERTH_OK && i < d->named.n; i++) {
		const struct price_list *l = d->named.v[i];

		rc = store_offers_replace(d->ctx->store, l->provider, l->account, l->source, NULL,
		    0, d->ctx->now, NULL, err);
	}
	if (rc != BERTH_OK) {
		store_rollback(d->ctx->store);
		return rc;
	}
	if ((rc = store_commit(d->ctx->store, err)) != BERTH_OK || d->ctx->dry_run)
		return rc;
	for (size_t i = 0; i < d->named.n; i++) {
		const struct price_list *l = d->named.v[i];

		quarantine_drop(setup.quarantine_dir,
		    &(struct quarantine){
			.provider = l->provider, .account = l->account, .source = l->source },
		    d->ctx->arena);
	}
	return BERTH_OK;
}

static enum berth_code
prices_drop_print(const struct prices_drop *d, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ "provider", NULL, TABLE_TEXT, 0, 0 },
		{ "account", NULL, TABLE_TEXT, 0, 0 },
		{ "source", NULL, TABLE_TEXT, 0, TABLE_CUT },
		{ "offers", NULL, TABLE_INT, 0, 0 },
		{ "age", NULL, TABLE_AGE, 0, 0 },
	};
	struct table *t = table_new(d->ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < d->named.n; i++) {
		table_row(t);
		table_text(t, d->named.v[i]->provider);
		table_text(t, d->named.v[i]->account);
		table_text(t, d->named.v[i]->source);
		table_int(t, d->named.v[i]->offers);
		table_time(t, d->ctx->now - d->named.v[i]->fetched);
	}
	return cmd_table_print(d->ctx, t, err);
}

static enum berth_code
prices_drop_json(const struct prices_drop *d, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(d->ctx, "berth.prices-drop/1");

	jsonw_begin_array(w, "lists");
	for (size_t i = 0; i < d->named.n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "provider", d->named.v[i]->provider);
		jsonw_str_or_null(w, "account", d->named.v[i]->account);
		jsonw_str(w, "source", d->named.v[i]->source);
		jsonw_int(w, "offers", d->named.v[i]->offers);
		jsonw_bool(w, "returns", prices_drop_returns(d, d->named.v[i]));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return cmd_json_end(d->ctx, err);
}

enum berth_code
prices_drop_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct prices_drop d = { .ctx = ctx };
	enum berth_code rc;

	if ((rc = cmd_config(ctx, &d.config, err)) != BERTH_OK ||
	    (rc = prices_drop_find(&d, err)) != BERTH_OK ||
	    (rc = prices_drop_all(&d, err)) != BERTH_OK)
		return rc;
	rc = cmd_wants_json(ctx) ? prices_drop_json(&d, err) : prices_drop_print(&d, err);
	for (size_t i = 0; rc == BERTH_OK && i < d.named.n; i++)
		if (prices_drop_returns(&d, d.named.v[i]))
			cmd_note(ctx,
			    "%s is of an account in berth.yaml: the next refresh brings the list "
			    "back",
			    d.named.v[i]->provider);
	return rc;
}
