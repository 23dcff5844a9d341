#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "model/datapath.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/xdg.h"

struct init_opts {
	bool replay, no_prices;
};

static const struct init_opts init_defaults = { 0 };

#define OFF(field) offsetof(struct init_opts, field)
static const struct opt_row init_rows[] = {
	{ "replay", 0, OPT_FLAG, NULL,
	    "give the new config one account: a replayed cloud with the bundled trace", OFF(replay),
	    0, 0, NULL },
	{ "no-prices", 0, OPT_FLAG, NULL, "do not load the bundled price list", OFF(no_prices), 0,
	    0, NULL },
	{ 0 },
};

static enum berth_code init_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_init = {
	.name = "init",
	.summary = "make a config and a store, with the bundled prices",
	.args = "",
	.opts = init_rows,
	.opts_default = &init_defaults,
	.opts_size = sizeof(init_defaults),
	.flags = CMD_STORE_RW | CMD_NO_ROWS | CMD_MAKES_CONFIG,
	.run = init_run,
};

static const char init_text[] = "# berth's config: berth.yaml(5) describes every key\n"
				"schema: berth.config/1\n"
				"\n"
				"# What a plan should cover, and how far ahead a forecast looks.\n"
				"defaults:\n"
				"  service_level: 0.95\n"
				"  horizon: 4w\n"
				"\n";

static const char init_text_none[] =
    "# The accounts that berth may rent from; berth-providers(7) has the keys of each provider.\n"
    "accounts: []\n";

/* Where a new config goes: what was asked for, else the user's own folder. */
static enum berth_code
init_config_path(struct cmd_ctx *ctx, const char **path_out, struct berth_err *err)
{
	const char *env = getenv("BERTH_CONFIG");
	enum berth_code rc;
	char *path;

	if (ctx->global->config != NULL) {
		*path_out = ctx->global->config;
		return BERTH_OK;
	}
	if (env != NULL && env[0] != '\0') {
		*path_out = env;
		return BERTH_OK;
	}
	rc = xdg_path(ctx->arena, XDG_CONFIG, "berth.yaml", "--config FILE", &path, err);
	if (rc == BERTH_OK)
		*path_out = path;
	return rc;
}

static enum berth_code
init_config_text(struct cmd_ctx *ctx, struct buf *b, struct berth_err *err)
{
	const struct init_opts *o = ctx->opts;
	enum berth_code rc;
	const char *trace;

	buf_add_str(b, init_text);
	if (!o->replay) {
		buf_add_str(b, init_text_none);
		return BERTH_OK;
	}
	rc = data_path(ctx->arena, "replay/example.trace", &trace, err);
	if (rc != BERTH_OK)
		return rc;
	buf_printf(b,
	    "# A cloud that is played from a trace: nothing is rented, nothing costs money.\n"
	    "accounts:\n  - name: replay\n    provider: replay\n    trace: \"%s\"\n",
	    trace);
	return BERTH_OK;
}

static enum berth_code
init_config(struct cmd_ctx *ctx, const char *path, bool *created_out, struct berth_err *err)
{
	enum berth_code rc;
	struct buf b;

	*created_out = !fileio_exists(path);
	if (!*created_out)
		return BERTH_OK;
	buf_init(&b, 65536);
	rc = init_config_text(ctx, &b, err);
	if (rc == BERTH_OK)
		rc = buf_check(&b, path, err);
	if (rc == BERTH_OK && !ctx->dry_run) {
		rc = fileio_mkdirs_for(path, err);
		if (rc == BERTH_OK)
			rc = atomicfile_write(path, b.p, b.len, 0600, err);
	}
	buf_free(&b);
	return rc;
}

static enum berth_code
init_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct init_opts *o = ctx->opts;
	const char *path, *said = ctx->dry_run ? "would be made" : "made";
	enum berth_code rc;
	size_t offers = 0;
	struct jsonw *w;
	bool created;

	rc = init_config_path(ctx, &path, err);
	if (rc == BERTH_OK)
		rc = init_config(ctx, path, &created, err);
	if (rc == BERTH_OK && !o->no_prices)
		rc = prices_import_bundled(ctx, &offers, err);
	if (rc != BERTH_OK)
		return rc;
	if (cmd_wants_json(ctx)) {
		w = cmd_json_begin(ctx, "berth.init/1");
		jsonw_str(w, "config", path);
		jsonw_bool(w, "config_created", created);
		jsonw_str(w, "store", ctx->store_path);
		jsonw_str(w, "installation", store_installation(ctx->store));
		jsonw_int(w, "offers", (int64_t)offers);
		return cmd_json_end(ctx, err);
	}
	cmd_say_hung(ctx, 8, "config  %s  (%s)", path, created ? said : "was there, left as it is");
	cmd_say_hung(ctx, 8, "store   %s  (installation %s)", ctx->store_path,
	    store_installation(ctx->store));
	if (!o->no_prices)
		cmd_say(ctx, "prices  %zu offers of the bundled list\n", offers);
	return BERTH_OK;
}
