#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/ctx.h"
#include "cmd/priv.h"
#include "model/accel.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/jsonw.h"
#include "util/str.h"
#include "util/term.h"

#define CMD_LINE_MAX ((size_t)64 << 20)
#define CMD_PART_MIN ((size_t)1 << 20) /* less of a long result stays in memory */

const char *const *
cmd_raw(const struct cmd_ctx *ctx, size_t *n_out)
{
	*n_out = ctx->priv->n_raw;
	return ctx->priv->raw;
}

bool
cmd_wants_json(const struct cmd_ctx *ctx)
{
	return ctx->format == CMD_JSON || ctx->format == CMD_YAML;
}

struct jsonw *
cmd_json_begin(struct cmd_ctx *ctx, const char *schema)
{
	struct cmd_priv *p = ctx->priv;

	buf_clear(&p->out);
	jsonw_init_buf(&p->json, &p->out, ctx->format == CMD_YAML ? JSONW_YAML : JSONW_PRETTY);
	jsonw_begin_object(&p->json, NULL);
	jsonw_str(&p->json, "schema", schema);
	return &p->json;
}

/* What was spooled goes to the result's stream. */
static enum berth_code
cmd_unspool(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;
	char bytes[BUFSIZ];
	size_t n;

	if (p->spool == NULL)
		return BERTH_OK;
	rewind(p->spool);
	while ((n = fread(bytes, 1, sizeof(bytes), p->spool)) > 0)
		if (fwrite(bytes, 1, n, ctx->out) != n) {
			p->out_errno = p->out_errno != 0 ? p->out_errno : errno;
			return err_sys(err, BERTH_EIO, p->out_errno, "standard output");
		}
	if (ferror(p->spool))
		return err_sys(err, BERTH_EIO, errno, "temporary file (TMPDIR names its folder)");
	(void)fclose(p->spool);
	p->spool = NULL;
	return BERTH_OK;
}

/* What p->out holds goes to the result's stream. */
static enum berth_code
cmd_write(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;
	enum berth_code rc = cmd_unspool(ctx, err);

	if (rc != BERTH_OK)
		return rc;
	if (p->out.len > 0 && fwrite(p->out.p, 1, p->out.len, ctx->out) != p->out.len) {
		p->out_errno = p->out_errno != 0 ? p->out_errno : errno;
		return err_sys(err, BERTH_EIO, p->out_errno, "standard output");
	}
	buf_clear(&p->out);
	return BERTH_OK;
}

enum berth_code
cmd_json_end(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;
	enum berth_code rc;

	jsonw_end_object(&p->json);
	rc = jsonw_finish(&p->json, err);
	return rc == BERTH_OK ? cmd_write(ctx, err) : rc;
}

enum berth_code
cmd_json_part(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;
	enum berth_code rc = buf_check(&p->out, "output", err);

	if (rc != BERTH_OK || p->out.len < CMD_PART_MIN)
		return rc;
	if (p->spool == NULL)
		p->spool = fileio_temporary();
	if (p->spool == NULL || fwrite(p->out.p, 1, p->out.len, p->spool) != p->out.len)
		return err_sys(err, BERTH_EIO, errno, "temporary file (TMPDIR names its folder)");
	buf_clear(&p->out);
	return BERTH_OK;
}

enum berth_code
cmd_parts_end(struct cmd_ctx *ctx, struct berth_err *err)
{
	enum berth_code rc = buf_check(&ctx->priv->out, "output", err);

	return rc == BERTH_OK ? cmd_write(ctx, err) : rc;
}

static enum berth_code
cmd_table_rows(struct cmd_ctx *ctx, const struct table *t, bool headers, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;
	struct table_style style = { .headers = headers && !ctx->global->no_headers,
		.select = &ctx->global->columns };

	style.form = ctx->format == CMD_CSV    ? TABLE_FORM_CSV
		     : ctx->format == CMD_WIDE ? TABLE_FORM_WIDE
					       : TABLE_FORM_TABLE;
	style.columns = ctx->columns;
	style.color = ctx->color;
	return table_render(t, &style, &p->out, err);
}

enum berth_code
cmd_table_print(struct cmd_ctx *ctx, const struct table *t, struct berth_err *err)
{
	enum berth_code rc;

	buf_clear(&ctx->priv->out);
	rc = cmd_table_rows(ctx, t, true, err);
	return rc == BERTH_OK ? cmd_write(ctx, err) : rc;
}

enum berth_code
cmd_table_part(struct cmd_ctx *ctx, const struct table *t, bool first, struct berth_err *err)
{
	enum berth_code rc = cmd_table_rows(ctx, t, first, err);

	return rc == BERTH_OK ? cmd_json_part(ctx, err) : rc;
}

/* Names come from outside: nothing in them drives the terminal. Our own colours stay. */
static void
cmd_tame(char *s, bool color)
{
	for (; *s != '\0'; s++) {
		size_t sgr =
		    color && s[0] == '\033' && s[1] == '[' ? 2 + strspn(s + 2, "0123456789;") : 0;

		if (sgr > 0 && s[sgr] == 'm')
			s += sgr;
		else if (*s != '\n' && *s != '\t')
			for (size_t n = str_control_len(s); n > 0; n--)
				s[n - 1] = '?';
	}
}

/* Of cmd_say() and its like: NULL where nothing is said. */
static BERTH_PRINTF(2, 0) char *cmd_said(struct cmd_ctx *ctx, const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int n;

	if (ctx->quiet || (ctx->format != CMD_TABLE && ctx->format != CMD_WIDE))
		return NULL;
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return NULL;
	text = arena_alloc(ctx->arena, (size_t)n + 1);
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	return text;
}

void
cmd_say(struct cmd_ctx *ctx, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = cmd_said(ctx, fmt, ap);
	va_end(ap);
	if (text == NULL)
		return;
	cmd_tame(text, ctx->color);
	fputs(text, ctx->out);
}

/* A line, broken at the width of the terminal; out: emptied first. */
static void
cmd_say_line(
    struct cmd_ctx *ctx, const char *text, size_t n, size_t mark, int indent, struct buf *out)
{
	buf_clear(out);
	buf_add(out, text, mark);
	term_wrap(text + mark, n - mark, (int)mark, indent, ctx->columns, out);
	buf_add_char(out, '\n');
	if (out->len > 0)
		cmd_tame(out->p, ctx->color);
	fputs(out->len > 0 ? out->p : "", ctx->out);
}

void
cmd_say_hung(struct cmd_ctx *ctx, int indent, const char *fmt, ...)
{
	va_list ap;
	char *text;
	struct buf b;
	size_t n;

	va_start(ap, fmt);
	text = cmd_said(ctx, fmt, ap);
	va_end(ap);
	if (text == NULL)
		return;
	n = strlen(text);
	buf_init(&b, CMD_LINE_MAX);
	cmd_say_line(ctx, text, n, ctx->columns > 0 ? strspn(text, " ") : n, indent, &b);
	buf_free(&b);
}

void
cmd_say_items(struct cmd_ctx *ctx, const char *text)
{
	struct buf b;

	if (ctx->quiet || (ctx->format != CMD_TABLE && ctx->format != CMD_WIDE))
		return;
	buf_init(&b, CMD_LINE_MAX);
	for (const char *next; *text != '\0'; text = next) {
		size_t n = strcspn(text, "\n"),
		       mark = ctx->columns > 0 && strncmp(text, "  - ", 4) == 0 ? 4 : n;

		next = text + n + (text[n] == '\n' ? 1 : 0);
		cmd_say_line(ctx, text, n, mark, 4, &b);
	}
	buf_free(&b);
}

/* Control bytes of outside texts must not move the cursor. */
static void
cmd_print_clean(FILE *f, const char *s)
{
	for (size_t ugly = 0; *s != '\0'; s++) {
		ugly = ugly > 0 ? ugly : str_control_len(s);
		if (ugly > 0)
			fprintf(f, "\\x%02x", (unsigned)(unsigned char)*s);
		else
			fputc(*s, f);
		ugly -= ugly > 0;
	}
}

/* A message, broken at the width of the terminal. */
static void
cmd_write_broken(const struct cmd_ctx *ctx, const char *line, size_t n)
{
	struct buf b;

	buf_init(&b, CMD_LINE_MAX);
	term_wrap(line, n, 0, 4, ctx->columns, &b);
	buf_add_char(&b, '\n');
	if (b.len > 0)
		(void)fwrite(b.p, 1, b.len, stderr);
	buf_free(&b);
}

/* What was printed before comes before, also where both streams go to one file. One write a line.
 */
static void
cmd_stderr(const struct cmd_ctx *ctx, const char *level, const char *before, const char *text)
{
	char *line = NULL;
	size_t n = 0;
	FILE *f;

	if (fflush(ctx->out) != 0 && ctx->priv->out_errno == 0)
		ctx->priv->out_errno = errno;
	if (ctx->log->json) {
		log_json(stderr, level, ctx->verb, text);
		return;
	}
	f = open_memstream(&line, &n);
	if (f == NULL)
		return;
	fputs(before, f);
	cmd_print_clean(f, text);
	fputc('\n', f);
	if (fclose(f) == 0 && ctx->columns > 0 && isatty(STDERR_FILENO))
		cmd_write_broken(ctx, line, n - 1);
	else if (line != NULL)
		(void)fwrite(line, 1, n, stderr);
	free(line);
}

void
cmd_note(struct cmd_ctx *ctx, const char *fmt, ...)
{
	va_list ap;

	if (ctx->quiet)
		return;
	va_start(ap, fmt);
	cmd_stderr(ctx, "info", "", arena_vprintf(ctx->arena, fmt, ap));
	va_end(ap);
}

enum berth_code
cmd_write_file(
    struct cmd_ctx *ctx, const char *path, const void *bytes, size_t n, struct berth_err *err)
{
	if (!ctx->dry_run)
		return atomicfile_write(path, bytes, n, 0644, err);
	cmd_note(ctx, "dry run: %s is not written", path);
	return BERTH_OK;
}

void
cmd_warn(struct cmd_ctx *ctx, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cmd_stderr(ctx, "warning", "berth: warning: ", arena_vprintf(ctx->arena, fmt, ap));
	va_end(ap);
}

void
cmd_next_step(struct cmd_ctx *ctx, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ctx->priv->next_step = arena_vprintf(ctx->arena, fmt, ap);
	va_end(ap);
}

enum berth_code
cmd_confirm(struct cmd_ctx *ctx, struct berth_err *err, const char *question, ...)
{
	char answer[64];
	va_list ap;

	if (ctx->global->yes || ctx->dry_run)
		return BERTH_OK;
	if (!term_is_tty(stdin) || !term_is_tty(stderr)) {
		cmd_next_step(ctx, "give -y to go ahead, or --dry-run to see what would happen");
		return err_set(
		    err, BERTH_EUSAGE, "there is no terminal to ask at: give -y to go ahead");
	}
	va_start(ap, question);
	vfprintf(stderr, question, ap);
	va_end(ap);
	fputs(" [y/N] ", stderr);
	fflush(stderr);
	if (fgets(answer, sizeof(answer), stdin) == NULL)
		answer[0] = '\0';
	answer[strcspn(answer, "\r\n")] = '\0';
	if (str_ieq(answer, "y") || str_ieq(answer, "yes"))
		return BERTH_OK;
	return err_set(err, BERTH_EFAIL, "not confirmed; nothing was done");
}

bool
cmd_progress(const struct cmd_ctx *ctx)
{
	return !ctx->quiet && term_is_tty(stderr);
}

enum berth_code
cmd_config(struct cmd_ctx *ctx, const struct config **config_out, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;
	enum berth_code rc;
	const char *path;

	if (!p->config_read) {
		path = config_find(ctx->arena, ctx->global->config);
		if ((ctx->cmd->flags & CMD_MAKES_CONFIG) != 0 && !fileio_exists(path))
			path = "";
		rc = config_load(ctx->arena, path, &p->config, err);
		if (rc != BERTH_OK)
			return rc;
		p->config_read = true;
	}
	*config_out = &p->config;
	return BERTH_OK;
}

enum berth_code
cmd_accels(struct cmd_ctx *ctx, const struct accel_table **accels_out, struct berth_err *err)
{
	struct cmd_priv *p = ctx->priv;
	enum berth_code rc;

	if (p->accels == NULL) {
		rc = accel_table_open(ctx->arena, &p->accels, err);
		if (rc != BERTH_OK)
			return rc;
	}
	*accels_out = p->accels;
	return BERTH_OK;
}

enum berth_code
cmd_accel_next(struct cmd_ctx *ctx, enum berth_code rc)
{
	if (rc == BERTH_ENOTFOUND)
		cmd_next_step(
		    ctx, "berth completion --names GPU lists the accelerators that are known");
	return rc;
}
