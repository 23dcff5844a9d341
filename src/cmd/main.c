#include <errno.h>
#include <fcntl.h>
#include <gsl/gsl_errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/ctx.h"
#include "cmd/help.h"
#include "cmd/line.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/term.h"
#include "util/time.h"

#define MAIN_NOW_END                                                                               \
	((int64_t)6942585600) /* 2190: what follows from the clock must lie before 2200 */
#define MAIN_HELP_MAX ((size_t)1024 * 1024)

/*
 * A descriptor 0, 1 or 2 that the caller closed would be given to the first file that is opened,
 * and messages would be written into it. Returns false if there is no standard output.
 */
static bool
main_hold_descriptors(void)
{
	bool out_open = true;

	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
			continue;
		out_open = out_open && fd != 1;
		if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			_exit(1);
	}
	return out_open;
}

/* The reader of a pipe went away ("| head -1"): that is no failure. */
static bool
main_reader_gone(FILE *out)
{
	struct pollfd p = { .fd = fileno(out), .events = POLLOUT };
	struct stat st;

	if (fstat(p.fd, &st) != 0 || (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)))
		return false;
	return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP)) != 0;
}

static enum berth_code
main_print_help(const struct line *line, FILE *out, struct berth_err *err)
{
	enum berth_code rc;
	struct buf b;

	buf_init(&b, MAIN_HELP_MAX);
	if (line->cmd == NULL)
		help_overview(term_columns(out), &b);
	else
		help_verb(line->cmd, line->name, term_columns(out), &b);
	rc = buf_check(&b, "help", err);
	if (rc == BERTH_OK)
		fputs(b.p, out);
	buf_free(&b);
	return rc;
}

static enum berth_code
main_run_verb(struct cmd_ctx *ctx, struct berth_err *err)
{
	enum berth_code rc;

	if (ctx->format == CMD_CSV && (ctx->cmd->flags & CMD_NO_ROWS) != 0)
		return err_set(err, BERTH_EUSAGE,
		    "the result is no table: use -o json or yaml instead of csv");
	if ((ctx->format == CMD_CSV || cmd_wants_json(ctx)) && (ctx->cmd->flags & CMD_TEXT) != 0)
		return err_set(err, BERTH_EUSAGE, "the result is text: there is no -o %s of it",
		    ctx->global->output);
	rc = ctx_open(ctx, err);
	if (rc == BERTH_OK)
		rc = ctx->cmd->run(ctx, err);
	if (rc != BERTH_OK && err->code != rc)
		err_set(err, rc, "%s", err_name(rc));
	return rc;
}

/* Flushes the result, prints the error if there is one, ends the store's run; the exit status. */
static int
main_finish(struct cmd_ctx *ctx, enum berth_code rc, struct berth_err *err)
{
	bool json = strcmp(ctx->global->log_format, "json") == 0;
	struct berth_err later = { 0 };
	const char *next = ctx_next_step(ctx);
	enum berth_code out_rc = ctx_flush(ctx, &later);
	int status;

	if (out_rc != BERTH_OK && (rc == BERTH_OK || rc == BERTH_EIO) && main_reader_gone(ctx->out))
		rc = BERTH_OK;
	else if (out_rc != BERTH_OK && rc == BERTH_OK)
		rc = err_set(err, BERTH_EIO, "%s", later.msg);
	if (rc != BERTH_OK) {
		if (rc == BERTH_EUSAGE && next[0] == '\0')
			next = arena_printf(ctx->arena, "berth %s -h", ctx->verb);
		ctx_print_error(ctx->verb, err, next, json);
	}
	status = err_exit_status(rc);
	rc = ctx_close(ctx, status, &later);
	if (rc != BERTH_OK && status == 0) {
		ctx_print_error(ctx->verb, &later, "", json);
		status = err_exit_status(rc);
	}
	return status;
}

static int
main_verb(struct arena *a, const struct line *line, bool now_fixed)
{
	struct berth_err err = { 0 };
	struct cmd_ctx ctx;
	enum berth_code rc;
	int status;

	ctx_init(&ctx, a, line, now_fixed, stdout);
	if (line->global.help)
		rc = main_print_help(line, stdout, &err);
	else if (line->global.version)
		rc = cmd_find("version")->run(&ctx, &err);
	else if (line->cmd == NULL)
		rc = err_set(&err, BERTH_EUSAGE, "say what to do: berth VERB");
	else
		rc = main_run_verb(&ctx, &err);
	if (rc != BERTH_OK && line->cmd == NULL)
		cmd_next_step(&ctx, "berth help");
	status = main_finish(&ctx, rc, &err);
	ctx_free(&ctx);
	return status;
}

static enum berth_code
main_parse(
    struct arena *a, int64_t clock, int argc, char **argv, struct line *line, struct berth_err *err)
{
	enum berth_code rc = line_parse(a, clock, argc, argv, line, err);

	if (rc == BERTH_OK && line->global.now >= MAIN_NOW_END)
		rc = err_set(err, BERTH_EUSAGE, "--now must lie before 2190-01-01T00:00:00Z");
	return rc;
}

static int
main_line(struct arena *a, int argc, char **argv)
{
	int64_t clock = time_clock_s();
	struct berth_err err = { 0 };
	struct line line;
	const char *next;

	if (main_parse(a, clock, argc, argv, &line, &err) != BERTH_OK) {
		next = line.cmd != NULL ? arena_printf(a, "berth %s -h", line.name) : "berth help";
		ctx_print_error(line.name, &err, next, strcmp(line.global.log_format, "json") == 0);
		return err_exit_status(err.code);
	}
	return main_verb(a, &line, line.global.now != clock);
}

int
main(int argc, char **argv)
{
	struct berth_err err = { 0 };
	struct arena *a;
	int status;

	gsl_set_error_handler_off();
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file too large is a write that fails, with a message */
	if (!main_hold_descriptors()) {
		err_set(&err, BERTH_EIO,
		    "standard output is closed; use >/dev/null if no result is wanted");
		ctx_print_error("", &err, "", false);
		return err_exit_status(BERTH_EIO);
	}
	a = arena_new();
	status = main_line(a, argc > 0 ? argc - 1 : 0, argv + (argc > 0 ? 1 : 0));
	arena_free(a);
	return status;
}
