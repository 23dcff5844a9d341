#include <string.h>

#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "cmd/progpath.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/vec.h"

#define OFF(field) offsetof(struct prices_refresh_opts, field)
const struct opt_row prices_refresh_rows[] = {
	{ "account", 0, OPT_LIST, "ACCOUNT", "patterns on account names; all accounts otherwise", OFF(account), 0, 0, NULL },
	{ "force", 'f', OPT_FLAG, NULL, "also a list that moved too far to be believed", OFF(force), 0, 0, NULL },
	{ 0 },
};

static enum berth_code
prices_refresh_one(struct cmd_ctx *ctx, const struct config *config, const struct config_account *account,
    const struct pricelist_setup *setup, struct pricelist_result *r, struct berth_err *err)
{
	struct prov_env env = { .now = ctx->now, .account = account->name, .offline = ctx->offline, .log = ctx->log,
		.installation = store_installation(ctx->store), .state_dir = progpath_dir(ctx->arena, ctx->store_path),
		.config_dir = progpath_dir(ctx->arena, config->path) };
	struct prov_account *acc = NULL;
	struct berth_err own = { 0 };
	enum berth_code rc;

	if ((rc = cmd_accels(ctx, &env.accels, err)) != BERTH_OK)
		return rc;
	rc = prov_account_open(account->node, account->provider, &env, &acc, &own);
	if (rc != BERTH_OK)
		return pricelist_failed(setup, account->name, account->provider, rc, own.where[0] == '\0' ? own.msg :
		    arena_printf(ctx->arena, "%s: %s", own.where, own.msg), ctx->arena, r, err);
	rc = pricelist_refresh(setup, acc, ctx->arena, r, err);
	prov_account_close(acc);
	return rc;
}

enum berth_code
prices_refresh_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct prices_refresh_opts *o = ctx->opts;
	struct pricelist_setup setup = prices_setup(ctx, o->force);
	VEC(struct pricelist_result) results = { 0 };
	const struct config *config;
	enum berth_code rc;

	if ((rc = cmd_config(ctx, &config, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; i < config->n_accounts; i++) {
		const struct config_account *account = &config->accounts[i];

		if (!glob_match_any(o->account.v, o->account.n, account->name))
			continue;
		rc = prices_refresh_one(ctx, config, account, &setup, VEC_ADD(ctx->arena, &results), err);
		if (rc != BERTH_OK)
			return rc;
	}
	if (results.n == 0 && o->account.n > 0)
		return err_set(err, BERTH_ENOTFOUND, "no account fits '%s'", o->account.v[0]);
	if (results.n == 0)
		cmd_note(ctx, "no account in %s: nobody to ask", config->path[0] != '\0' ? config->path : "the config");
	return prices_print_results(ctx, results.v, results.n, err);
}
