#include "cmd/accounts.h"

#include "cmd/cmd.h"
#include "cmd/progpath.h"
#include "providers/net.h"
#include "providers/prov.h"
#include "store/store.h"
#include "util/glob.h"

static enum berth_code
accounts_open_one(struct cmd_ctx *ctx, struct accounts *all, const struct config_account *account,
    struct berth_err *err)
{
	struct prov_env env = { .now = ctx->now,
		.account = account->name,
		.offline = ctx->offline,
		.log = ctx->log,
		.installation = store_installation(ctx->store),
		.state_dir = progpath_dir(ctx->arena, ctx->store_path),
		.config_dir = all->config->dir,
		.net = all->net };
	struct accounts_one *one;
	enum berth_code rc = cmd_accels(ctx, &env.accels, err);

	if (rc != BERTH_OK)
		return rc;
	one = VEC_ADD(ctx->arena, &all->v);
	*one = (struct accounts_one){ .config = account };
	if (prov_account_open(account->node, account->provider, &env, &one->open, &one->why) !=
	    BERTH_OK)
		one->open = NULL;
	return BERTH_OK;
}

enum berth_code
accounts_open(struct cmd_ctx *ctx, const struct opt_list *patterns, struct accounts *out,
    struct berth_err *err)
{
	enum berth_code rc;

	*out = (struct accounts){ .config = NULL };
	rc = cmd_config(ctx, &out->config, err);
	if (rc == BERTH_OK)
		rc = prov_net_open(out->config->root, out->config->dir, &out->net, err);
	for (size_t i = 0; rc == BERTH_OK && i < out->config->n_accounts; i++)
		if (glob_match_any(patterns->v, patterns->n, out->config->accounts[i].name))
			rc = accounts_open_one(ctx, out, &out->config->accounts[i], err);
	if (rc == BERTH_OK && out->v.n == 0 && patterns->n > 0)
		rc = err_set(err, BERTH_ENOTFOUND,
		    "no account fits '%s'; `berth doctor` lists the accounts", patterns->v[0]);
	return rc;
}

void
accounts_close(struct accounts *accounts)
{
	for (size_t i = 0; i < accounts->v.n; i++)
		prov_account_close(accounts->v.v[i].open);
	prov_net_free(accounts->net);
	*accounts = (struct accounts){ .config = NULL };
}
