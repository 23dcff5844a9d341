#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/complete.h"
#include "cmd/ctx.h"
#include "model/accel.h"
#include "providers/prov.h"
#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "store/series_rows.h"
#include "store/store.h"
#include "util/buf.h"
#include "util/str.h"

#define COMPLETION_MAX ((size_t)4 * 1024 * 1024)

struct completion_opts {
	const char *names;
};

static const struct opt_row completion_rows[] = {
	/* Asked by the scripts while the user types: hidden. */
	{ .name = "names",
	    .type = OPT_STRING,
	    .arg = "KIND",
	    .offset = offsetof(struct completion_opts, names) },
	{ .name = NULL },
};

static enum berth_code completion_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_completion = {
	.name = "completion",
	.summary = "print the completion script of a shell",
	.args = "bash|zsh|fish",
	.opts = completion_rows,
	.opts_size = sizeof(struct completion_opts),
	.flags = CMD_TEXT,
	.args_min = 0,
	.args_max = 1,
	.run = completion_run,
};

static const struct completion_shell {
	const char *name;
	void (*write)(struct buf *out);
} completion_shells[] = {
	{ "bash", complete_bash },
	{ "zsh", complete_zsh },
	{ "fish", complete_fish },
};

typedef enum berth_code completion_names_fn(
    struct cmd_ctx *ctx, struct store *s, struct berth_err *err);

static enum berth_code
completion_series(struct cmd_ctx *ctx, struct store *s, struct berth_err *err)
{
	struct series *rows;
	size_t n;
	enum berth_code rc = store_series_list(s, ctx->arena, &rows, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		fprintf(ctx->out, "%s\n", rows[i].name);
	return rc;
}

static enum berth_code
completion_jobs(struct cmd_ctx *ctx, struct store *s, struct berth_err *err)
{
	struct job_query q = { .limit = 100 };
	struct job *rows;
	size_t n;
	enum berth_code rc = store_job_list(s, &q, ctx->arena, &rows, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		fprintf(ctx->out, "%s\n", rows[i].id);
	return rc;
}

static enum berth_code
completion_instances(struct cmd_ctx *ctx, struct store *s, struct berth_err *err)
{
	struct instance *rows;
	size_t n;
	enum berth_code rc = store_instance_list(s, INSTANCE_ALIVE, ctx->arena, &rows, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		fprintf(ctx->out, "%lld\n", (long long)rows[i].id);
	return rc;
}

static enum berth_code
completion_gpus(struct cmd_ctx *ctx, struct store *s, struct berth_err *err)
{
	const struct accel_table *tab;
	enum berth_code rc = cmd_accels(ctx, &tab, err);

	(void)s;
	for (size_t i = 0; rc == BERTH_OK && i < accel_count(tab); i++)
		fprintf(ctx->out, "%s\n", accel_at(tab, i)->name);
	return rc;
}

static enum berth_code
completion_providers(struct cmd_ctx *ctx, struct store *s, struct berth_err *err)
{
	const struct provider_ops *const *all;
	size_t n;

	(void)s;
	(void)err;
	all = provider_all(&n);
	for (size_t i = 0; i < n; i++)
		fprintf(ctx->out, "%s\n", all[i]->name);
	return BERTH_OK;
}

static enum berth_code
completion_accounts(struct cmd_ctx *ctx, struct store *s, struct berth_err *err)
{
	const struct config *config;
	enum berth_code rc = cmd_config(ctx, &config, err);

	(void)s;
	for (size_t i = 0; rc == BERTH_OK && i < config->n_accounts; i++)
		fprintf(ctx->out, "%s\n", config->accounts[i].name);
	return rc;
}

static enum berth_code
completion_verbs(struct cmd_ctx *ctx, struct store *s, struct berth_err *err)
{
	(void)s;
	(void)err;
	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++)
		fprintf(ctx->out, "%s\n", e->cmd->name);
	return BERTH_OK;
}

static const struct {
	const char *kind;
	bool store;
	completion_names_fn *print;
} completion_kinds[] = {
	{ "SERIES", true, completion_series },
	{ "JOB", true, completion_jobs },
	{ "INSTANCE", true, completion_instances },
	{ "GPU", false, completion_gpus },
	{ "PROVIDER", false, completion_providers },
	{ "ACCOUNT", false, completion_accounts },
	{ "VERB", false, completion_verbs },
};

/* A person is typing: what cannot be listed gives no names, and no words about it. */
static enum berth_code
completion_names(struct cmd_ctx *ctx, const char *kind)
{
	struct store *s = NULL;
	struct berth_err err;
	const char *path;

	for (size_t i = 0; i < sizeof(completion_kinds) / sizeof(completion_kinds[0]); i++) {
		if (!str_eq(completion_kinds[i].kind, kind))
			continue;
		if (completion_kinds[i].store &&
		    (ctx_store_path(ctx, &path, &err) != BERTH_OK ||
			store_open(path, STORE_READ, ctx->now, &s, &err) != BERTH_OK))
			return BERTH_OK;
		if (completion_kinds[i].print(ctx, s, &err) != BERTH_OK)
			cmd_note(ctx, "%s", err.msg);
		store_close(s);
	}
	return BERTH_OK;
}

static enum berth_code
completion_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct completion_opts *o = ctx->opts;
	enum berth_code rc;
	struct buf out;

	if (o->names != NULL)
		return completion_names(ctx, o->names);
	if (ctx->n_args == 0)
		return err_set(err, BERTH_EUSAGE, "say for which shell: bash, zsh or fish");
	for (size_t i = 0; i < sizeof(completion_shells) / sizeof(completion_shells[0]); i++) {
		if (!str_eq(completion_shells[i].name, ctx->args[0]))
			continue;
		buf_init(&out, COMPLETION_MAX);
		completion_shells[i].write(&out);
		rc = buf_check(&out, "completion", err);
		if (rc == BERTH_OK)
			fputs(out.p, ctx->out);
		buf_free(&out);
		return rc;
	}
	return err_set(err, BERTH_EUSAGE, "no completion for '%s'; there are bash, zsh and fish",
	    ctx->args[0]);
}
