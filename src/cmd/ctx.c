#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/ctx.h"
#include "cmd/priv.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/jsonw.h"
#include "util/log.h"
#include "util/str.h"
#include "util/term.h"
#include "util/xdg.h"

enum { CTX_LINE_MAX = 16 * 1024 };
#define CTX_RESULT_MAX ((size_t)2 * 1024 * 1024 * 1024)

static enum cmd_format
ctx_format(const char *word)
{
	static const char *const words[] = { "table", "wide", "json", "csv", "yaml", NULL };
	static const enum cmd_format formats[] = { CMD_TABLE, CMD_WIDE, CMD_JSON, CMD_CSV,
		CMD_YAML };
	int i = str_index(word, words);

	return i < 0 ? CMD_TABLE : formats[i];
}

void
ctx_init(struct cmd_ctx *ctx, struct arena *a, const struct line *line, bool now_fixed, FILE *out)
{
	const struct cmd_global *g = &line->global;
	struct cmd_priv *p = arena_new_of(a, struct cmd_priv);

	buf_init(&p->out, CTX_RESULT_MAX);
	p->log = (struct log){ .level = g->verbose ? LOG_INFO : LOG_WARN,
		.f = stderr,
		.json = str_eq(g->log_format, "json"),
		.verb = line->name };
	p->next_step = "";
	p->raw = line->raw;
	p->n_raw = line->n_raw;
	*ctx = (struct cmd_ctx){
		.cmd = line->cmd,
		.verb = line->name,
		.arena = a,
		.global = g,
		.opts = line->opts,
		.args = line->words,
		.n_args = line->n_words,
		.now = g->now,
		.now_fixed = now_fixed,
		.format = ctx_format(g->output),
		.offline = g->offline,
		.dry_run = g->dry_run,
		.quiet = g->quiet,
		.verbose = g->verbose,
		.out = out,
		.columns = term_columns(out),
		.unicode = term_unicode(),
		.color = !g->no_color && term_color(out),
		.log = &p->log,
		.store_path = "",
		.priv = p,
	};
}

void
ctx_free(struct cmd_ctx *ctx)
{
	buf_free(&ctx->priv->out);
	if (ctx->priv->spool != NULL)
		(void)fclose(ctx->priv->spool);
}

enum berth_code
ctx_flush(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;

	errno = EIO;
	if ((fflush(ctx->out) != 0 || ferror(ctx->out)) && p->out_errno == 0)
		p->out_errno = errno;
	return p->out_errno == 0 ? BERTH_OK
				 : err_sys(err, BERTH_EIO, p->out_errno, "standard output");
}

const char *
ctx_next_step(const struct cmd_ctx *ctx)
{
	return ctx->priv->next_step;
}

static enum berth_code
ctx_check_path(const char *path, struct berth_err *err)
{
	if (path[0] == '~')
		return err_set(err, BERTH_EUSAGE,
		    "store '%s': only a shell expands '~'; write the whole path", path);
	return BERTH_OK;
}

enum berth_code
ctx_store_path(struct cmd_ctx *ctx, const char **path_out, struct berth_err *err)
{
	const char *env = getenv("BERTH_STORE"), *path = ctx->global->store;
	const struct config *config;
	enum berth_code rc;
	char *xdg;

	if (path == NULL && env != NULL && *env != '\0')
		path = env;
	if (path == NULL) {
		rc = cmd_config(ctx, &config, err);
		if (rc != BERTH_OK)
			return rc;
		path = config->store;
		if (path != NULL && path[0] != '/' && path[0] != '~' &&
		    strstr(path, "://") == NULL && config->dir[0] != '\0')
			path = arena_printf(ctx->arena, "%s/%s", config->dir, path);
	}
	if (path == NULL) {
		rc = xdg_path(ctx->arena, XDG_STATE, "berth.db", "--store PATH", &xdg, err);
		if (rc != BERTH_OK)
			return rc;
		path = xdg;
	}
	if (path[0] == '\0')
		return err_set(
		    err, BERTH_EUSAGE, "the name of the store is empty: give --store a file");
	if (str_eq(path, ":memory:") || str_starts(path, "file:"))
		return err_set(err, BERTH_EUSAGE,
		    "store '%s': a store is a file that stays: give --store its path", path);
	if (strstr(path, "://") != NULL && !str_starts(path, "postgresql://") &&
	    !str_starts(path, "postgres://"))
		return err_set(err, BERTH_EUSAGE,
		    "store: no engine for the URL '%.*s...': give --store a file",
		    (int)(strstr(path, "://") + 3 - path), path);
	*path_out = path;
	return ctx_check_path(path, err);
}

static enum berth_code
ctx_open_store(struct cmd_ctx *ctx, struct berth_err *err)
{
	bool rw = (ctx->cmd->flags & CMD_STORE_RW) != 0, own = (ctx->cmd->flags & CMD_DRY_OWN) != 0;
	bool dry = rw && ctx->dry_run,
	     optional = (ctx->cmd->flags & CMD_STORE_OPT) != 0 || (dry && own);
	bool try = (ctx->cmd->flags & CMD_STORE_TRY) != 0;
	const char *path = ctx->store_path;
	enum berth_code rc;

	rc = store_open(path,
	    !rw || (dry && own) ? STORE_READ
	    : dry || try        ? STORE_WRITE
				: STORE_CREATE,
	    ctx->now, &ctx->store, err);
	if (rc == BERTH_EIO && try) {
		struct berth_err ignored;

		if (store_open(path, STORE_READ, ctx->now, &ctx->store, &ignored) == BERTH_OK) {
			cmd_warn(ctx, "%s; it is read, and nothing of this run is kept", err->msg);
			ctx->store_read_only = true;
			return BERTH_OK;
		}
	}
	if (rc == BERTH_EINVAL || rc == BERTH_EIO)
		cmd_next_step(ctx, "--store PATH names another store");
	if (rc != BERTH_ENOTFOUND)
		return rc;
	if (dry && !own)
		return store_open(":memory:", STORE_CREATE, ctx->now, &ctx->store, err);
	if (optional) {
		ctx->store = NULL;
		return BERTH_OK;
	}
	cmd_next_step(ctx, try ? "berth record csv FILE makes it; --store PATH names another"
			       : "berth init makes a store; --store PATH names another");
	return rc;
}

enum berth_code
ctx_open(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;
	enum berth_code rc;

	if ((ctx->cmd->flags & (CMD_STORE_RO | CMD_STORE_RW)) == 0)
		return BERTH_OK;
	rc = ctx_store_path(ctx, &ctx->store_path, err);
	if (rc == BERTH_OK)
		rc = ctx_open_store(ctx, err);
	if (rc != BERTH_OK || ctx->store == NULL)
		return rc;
	if (store_warning(ctx->store)[0] != '\0')
		cmd_warn(ctx, "%s", store_warning(ctx->store));
	if (ctx->store_read_only || (ctx->cmd->flags & CMD_STORE_RW) == 0 ||
	    (ctx->dry_run && (ctx->cmd->flags & CMD_DRY_OWN) != 0))
		return BERTH_OK;
	if (ctx->dry_run) {
		rc = store_begin(ctx->store, err);
		p->dry_transaction = rc == BERTH_OK;
	}
	if (rc == BERTH_OK) {
		rc = store_run_begin(ctx->store, ctx->verb, p->raw, p->n_raw, ctx->now, err);
		p->run_begun = rc == BERTH_OK;
	}
	return rc;
}

enum berth_code
ctx_close(struct cmd_ctx *ctx, int status, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;
	enum berth_code rc = BERTH_OK;

	if (ctx->store == NULL)
		return BERTH_OK;
	if (p->dry_transaction)
		store_rollback(ctx->store);
	else if (p->run_begun)
		rc = store_run_end(ctx->store, status, ctx->now, err);
	store_close(ctx->store);
	ctx->store = NULL;
	return rc;
}

/* One write a line, so that processes do not mix. */
static void
ctx_put(struct buf *b)
{
	if (b->p != NULL)
		fputs(b->p, stderr);
	buf_free(b);
}

static void
ctx_clean(struct buf *b, const char *s)
{
	for (size_t ugly = 0; *s != '\0'; s++) {
		ugly = ugly > 0 ? ugly : str_control_len(s);
		if (ugly > 0)
			buf_printf(b, "\\x%02x", (unsigned)(unsigned char)*s);
		else
			buf_add_char(b, *s);
		ugly -= ugly > 0;
	}
}

/* A line of an error, broken at the width of the terminal. */
static void
ctx_line(struct buf *b, const char *who, const char *verb, const char *colon, const char *text)
{
	int columns = term_is_tty(stderr) ? term_columns(stderr) : 0;
	struct buf line;

	buf_init(&line, CTX_LINE_MAX);
	buf_printf(&line, "%s%s%s", who, verb, colon);
	ctx_clean(&line, text);
	if (columns > 0 && line.p != NULL)
		term_wrap(line.p, line.len, 0, 4, columns, b);
	else
		buf_add_str(b, line.p != NULL ? line.p : "");
	buf_add_char(b, '\n');
	buf_free(&line);
}

static void
ctx_print_error_json(const char *verb, const struct berth_err *err, const char *next)
{
	struct berth_err ignored;
	struct jsonw w;
	struct buf b;

	buf_init(&b, CTX_LINE_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "level", "error");
	jsonw_str_or_null(&w, "verb", verb);
	jsonw_str(&w, "code", err_name(err->code));
	jsonw_int(&w, "exit", err_exit_status(err->code));
	jsonw_str(&w, "message", err->msg);
	jsonw_str_or_null(&w, "where", err->where);
	jsonw_str_or_null(&w, "next", next);
	jsonw_end_object(&w);
	if (jsonw_finish(&w, &ignored) == BERTH_OK)
		buf_add_char(&b, '\n');
	ctx_put(&b);
}

void
ctx_print_error(const char *verb, const struct berth_err *err, const char *next, bool json)
{
	struct buf b;

	if (json) {
		ctx_print_error_json(verb, err, next);
		return;
	}
	buf_init(&b, CTX_LINE_MAX);
	ctx_line(&b, verb[0] != '\0' ? "berth " : "berth", verb, ": ", err->msg);
	if (err->where[0] != '\0')
		ctx_line(&b, "  at", "", ": ", err->where);
	if (next[0] != '\0')
		ctx_line(&b, "  next", "", ": ", next);
	ctx_put(&b);
}
