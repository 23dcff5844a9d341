#include <stdio.h>

#include "cmd/cmd.h"
#include "util/jsonw.h"

static enum berth_code version_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_version = {
	.name = "version",
	.summary = "say which berth this is",
	.args = "",
	.flags = CMD_NO_ROWS,
	.run = version_run,
};

static enum berth_code
version_json(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(ctx, "berth.version/1");

	jsonw_str(w, "version", PACKAGE_VERSION);
	jsonw_str(w, "license", "GPL-3.0-or-later");
	jsonw_begin_array(w, "stores");
	jsonw_str(w, NULL, "sqlite");
	jsonw_end_array(w);
	jsonw_str(w, "data_dir", BERTH_DATADIR);
	jsonw_str(w, "libexec_dir", BERTH_LIBEXECDIR);
	return cmd_json_end(ctx, err);
}

static enum berth_code
version_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	if (cmd_wants_json(ctx))
		return version_json(ctx, err);
	fprintf(ctx->out, "berth %s\n", PACKAGE_VERSION);
	if (ctx->verbose)
		fprintf(ctx->out,
		    "stores: sqlite\ndata: %s\nprograms: %s\nlicense: GPL-3.0-or-later\n",
		    BERTH_DATADIR, BERTH_LIBEXECDIR);
	return BERTH_OK;
}
