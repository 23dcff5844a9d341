#include <string.h>

#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "cmd/progpath.h"
#include "providers/net.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/vec.h"

#define PRICES_REFRESH_S 900 /* the whole verb; a list of hundreds of MiB takes its time */

#define OFF(field) offsetof(struct prices_refresh_opts, field)
const struct opt_row prices_refresh_rows[] = {
	{ "account", 0, OPT_LIST, "ACCOUNT", "patterns on account names; all accounts otherwise",
	    OFF(account), 0, 0, NULL },
	{ "force", 'f', OPT_FLAG, NULL, "also a list that moved too far to be believed", OFF(force),
	    0, 0, NULL },
	{ 0 },
};

/* Accounts to ask, in the order of the config: those that open, and the places of their results. */
struct prices_refresh {
	struct cmd_ctx *ctx;
	const struct config *config;
	struct pricelist_setup setup;
	VEC(struct pricelist_result) results;
	VEC(struct prov_account *) open;
	VEC(size_t) place; /* of open[i] in results */
	struct prov_net *net;
};

static enum berth_code
prices_refresh_open(
    struct prices_refresh *p, const struct config_account *account, struct berth_err *err)
{
	struct cmd_ctx *ctx = p->ctx;
	struct prov_env env = { .now = ctx->now,
		.account = account->name,
		.offline = ctx->offline,
		.log = ctx->log,
		.installation = store_installation(ctx->store),
		.state_dir = progpath_dir(ctx->arena, ctx->store_path),
		.config_dir = progpath_dir(ctx->arena, p->config->path),
		.net = p->net };
	struct pricelist_result *r = VEC_ADD(ctx->arena, &p->results);
	struct prov_account *acc = NULL;
	struct berth_err own = { 0 };
	enum berth_code rc;

	if ((rc = cmd_accels(ctx, &env.accels, err)) != BERTH_OK)
		return rc;
	rc = prov_account_open(account->node, account->provider, &env, &acc, &own);
	if (rc != BERTH_OK)
		return pricelist_failed(&p->setup, account->name, account->provider, rc,
		    own.where[0] == '\0' ? own.msg
					 : arena_printf(ctx->arena, "%s: %s", own.where, own.msg),
		    ctx->arena, r, err);
	VEC_PUSH(ctx->arena, &p->open, acc);
	VEC_PUSH(ctx->arena, &p->place, p->results.n - 1);
	return BERTH_OK;
}

static enum berth_code
prices_refresh_ask(struct prices_refresh *p, struct berth_err *err)
{
	struct pricelist_result *got =
	    arena_array_of(p->ctx->arena, p->open.n, struct pricelist_result);
	enum berth_code rc;

	rc = pricelist_refresh(&p->setup, p->open.v, p->open.n,
	    prov_net_prices_within_s(p->net, PRICES_REFRESH_S), p->ctx->arena, got, err);
	for (size_t i = 0; i < p->open.n; i++)
		p->results.v[p->place.v[i]] = got[i];
	return rc;
}

enum berth_code
prices_refresh_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct prices_refresh_opts *o = ctx->opts;
	struct prices_refresh p = { .ctx = ctx };
	enum berth_code rc;

	if ((rc = prices_setup(ctx, o->force, &p.setup, err)) != BERTH_OK ||
	    (rc = cmd_config(ctx, &p.config, err)) != BERTH_OK ||
	    (rc = prov_net_open(p.config->root, progpath_dir(ctx->arena, p.config->path), &p.net,
		 err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; rc == BERTH_OK && i < p.config->n_accounts; i++)
		if (glob_match_any(o->account.v, o->account.n, p.config->accounts[i].name))
			rc = prices_refresh_open(&p, &p.config->accounts[i], err);
	if (rc == BERTH_OK)
		rc = prices_refresh_ask(&p, err);
	for (size_t i = 0; i < p.open.n; i++)
		prov_account_close(p.open.v[i]);
	prov_net_free(p.net);
	if (rc != BERTH_OK)
		return rc;
	if (p.results.n == 0 && o->account.n > 0)
		return err_set(err, BERTH_ENOTFOUND, "no account fits '%s'", o->account.v[0]);
	if (p.results.n == 0)
		cmd_note(ctx, "no account in %s: nobody to ask",
		    p.config->path[0] != '\0' ? p.config->path : "the config");
	return prices_print_results(ctx, p.results.v, p.results.n, err);
}
