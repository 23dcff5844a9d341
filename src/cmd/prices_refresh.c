#include <string.h>

#include "cmd/accounts.h"
#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "providers/net.h"
#include "util/arena.h"

#define PRICES_REFRESH_S 900 /* the whole verb; a list of hundreds of MiB takes its time */

#define OFF(field) offsetof(struct prices_refresh_opts, field)
const struct opt_row prices_refresh_rows[] = {
	{ "account", 0, OPT_LIST, "ACCOUNT", "patterns on account names; all accounts otherwise",
	    OFF(account), 0, 0, NULL },
	{ "force", 'f', OPT_FLAG, NULL, "also a list that moved too far to be believed", OFF(force),
	    0, 0, NULL },
	{ 0 },
};

/* Their results, in the order of the config. */
static enum berth_code
prices_refresh_ask(struct cmd_ctx *ctx, const struct pricelist_setup *setup,
    const struct accounts *all, struct pricelist_result *results, struct berth_err *err)
{
	struct prov_account **open = arena_array_of(ctx->arena, all->v.n, struct prov_account *);
	struct pricelist_result *got =
	    arena_array_of(ctx->arena, all->v.n, struct pricelist_result);
	size_t n = 0;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < all->v.n; i++) {
		const struct accounts_one *one = &all->v.v[i];

		if (one->open != NULL)
			open[n++] = one->open;
		else
			rc = pricelist_failed(setup, one->config->name, one->config->provider,
			    one->why.code,
			    one->why.where[0] == '\0'
				? one->why.msg
				: arena_printf(ctx->arena, "%s: %s", one->why.where, one->why.msg),
			    ctx->arena, &results[i], err);
	}
	if (rc == BERTH_OK)
		rc = pricelist_refresh(setup, open, n,
		    prov_net_prices_within_s(all->net, PRICES_REFRESH_S), ctx->arena, got, err);
	n = 0;
	for (size_t i = 0; i < all->v.n; i++)
		if (all->v.v[i].open != NULL)
			results[i] = got[n++];
	return rc;
}

enum berth_code
prices_refresh_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct prices_refresh_opts *o = ctx->opts;
	struct pricelist_setup setup;
	struct pricelist_result *results = NULL;
	struct accounts all;
	const struct config *config;
	size_t n;
	enum berth_code rc;

	if ((rc = prices_setup(ctx, o->force, &setup, err)) != BERTH_OK)
		return rc;
	rc = accounts_open(ctx, &o->account, &all, err);
	n = all.v.n;
	config = all.config;
	if (rc == BERTH_OK) {
		results = arena_array_of(ctx->arena, n, struct pricelist_result);
		rc = prices_refresh_ask(ctx, &setup, &all, results, err);
	}
	accounts_close(&all);
	if (rc != BERTH_OK)
		return rc;
	if (n == 0)
		cmd_note(ctx, "no account in %s: nobody to ask",
		    config->path[0] != '\0' ? config->path : "the config");
	return prices_print_results(ctx, results, n, err);
}
