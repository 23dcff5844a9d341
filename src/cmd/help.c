#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/help.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/opt.h"
#include "util/str.h"
#include "util/term.h"
#include "util/vec.h"

#define HELP_MAX ((size_t)1024 * 1024)
#define HELP_INDENT 15 /* of what is said about a verb, behind its name */

struct help_opts {
	bool rows, verbs;
};

static const struct opt_row help_rows[] = {
	/* For the tests that compare the rows with the man pages: hidden. */
	{ .name = "rows", .type = OPT_FLAG, .offset = offsetof(struct help_opts, rows) },
	{ .name = "verbs", .type = OPT_FLAG, .offset = offsetof(struct help_opts, verbs) },
	{ .name = NULL },
};

static enum berth_code help_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_help = {
	.name = "help",
	.summary = "explain berth, or one of its verbs",
	.args = "[VERB [SUBVERB]]",
	.opts = help_rows,
	.opts_size = sizeof(struct help_opts),
	.flags = CMD_TEXT,
	.args_min = 0,
	.args_max = 2,
	.run = help_run,
};

static bool
help_has_options(const struct cmd *cmd)
{
	for (const struct opt_row *r = cmd->opts; r != NULL && r->name != NULL; r++)
		if (r->help != NULL)
			return true;
	return false;
}

/* Exit statuses, where a script looks for them first. */
static void
help_exits(struct buf *out)
{
	buf_add_str(out, "\nExit status\n");
	for (int i = 0; err_exit_text(i) != NULL; i++)
		buf_printf(out, "  %d  %s\n", i, err_exit_text(i));
}

/* A sentence broken at the width of the terminal; behind a name, in a column of its own. */
static void
help_say(const char *name, const char *text, int columns, struct buf *out)
{
	const int left = name[0] != '\0' ? HELP_INDENT : 0;

	if (left > 0)
		buf_printf(out, "  %-*s", HELP_INDENT - 2, name);
	term_wrap(text, strlen(text), left, left, columns == 0 ? 80 : columns, out);
	buf_add_char(out, '\n');
}

void
help_overview(int columns, struct buf *out)
{
	const char *group = "";

	help_say("",
	    "berth finds GPU jobs a berth: it forecasts demand, plans what to reserve, places and "
	    "runs jobs.",
	    columns, out);
	buf_add_str(out, "\nUsage: berth [OPTION ...] VERB [OPTION ...] [WORD ...]\n");
	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++) {
		if (strcmp(group, e->group) != 0)
			buf_printf(out, "\n%s\n", e->group);
		group = e->group;
		help_say(e->cmd->name, e->cmd->summary, columns, out);
	}
	buf_add_str(out, "\nOptions of every verb\n");
	opt_help(cmd_global_rows, columns, out);
	help_exits(out);
	buf_add_str(
	    out, "\nberth help VERB and berth-VERB(1) say more; `berth init` is the first step.\n");
}

/* What a careful person wants to know first. */
static void
help_caution(const struct cmd *cmd, int columns, struct buf *out)
{
	unsigned flags = cmd->flags;
	const char *text = NULL;

	for (const struct cmd *sub = cmd->subs; sub != NULL && sub->name != NULL; sub++)
		flags |= sub->flags;
	if ((flags & CMD_SPENDS) != 0)
		text =
		    "This may rent machines, which costs money; --dry-run shows what it would do.";
	else if ((flags & CMD_NET) != 0)
		text = "This may ask providers over the network, never with --offline; it spends "
		       "nothing.";
	if (text == NULL)
		return;
	buf_add_char(out, '\n');
	help_say("", text, columns, out);
}

void
help_verb(const struct cmd *cmd, const char *name, int columns, struct buf *out)
{
	const int begun = (int)strlen("berth : ") + (int)strlen(name);

	buf_printf(out, "berth %s: ", name);
	term_wrap(cmd->summary, strlen(cmd->summary), begun, 4, columns == 0 ? 80 : columns, out);
	buf_add_str(out, "\n\n");
	if (cmd->run != NULL)
		buf_printf(out, "Usage: berth %s%s%s%s\n", name,
		    help_has_options(cmd) ? " [OPTION ...]" : "",
		    cmd->args != NULL && cmd->args[0] != '\0' ? " " : "",
		    cmd->args != NULL ? cmd->args : "");
	for (const struct cmd *sub = cmd->subs; sub != NULL && sub->name != NULL; sub++)
		buf_printf(out, "%s berth %s %s%s%s%s\n",
		    sub == cmd->subs && cmd->run == NULL ? "Usage:" : "      ", name, sub->name,
		    help_has_options(sub) ? " [OPTION ...]" : "",
		    sub->args != NULL && sub->args[0] != '\0' ? " " : "",
		    sub->args != NULL ? sub->args : "");
	if (cmd->subs != NULL)
		buf_add_char(out, '\n');
	for (const struct cmd *sub = cmd->subs; sub != NULL && sub->name != NULL; sub++)
		help_say(sub->name, sub->summary, columns, out);
	if (help_has_options(cmd)) {
		buf_add_str(out, "\nOptions\n");
		opt_help(cmd->opts, columns, out);
	}
	for (const struct cmd *sub = cmd->subs; sub != NULL && sub->name != NULL; sub++) {
		if (!help_has_options(sub) || sub->opts == cmd->opts)
			continue;
		buf_printf(out, "\nOptions of %s %s\n", name, sub->name);
		opt_help(sub->opts, columns, out);
	}
	help_caution(cmd, columns, out);
	buf_add_str(out, "\nOptions of every verb\n");
	opt_help(cmd_global_rows, columns, out);
	buf_printf(out, "\nThe manual: man berth-%.*s\n", (int)strcspn(name, " "), name);
}

/* "verb sub", long name, short name, type, argument, help: one row a line, tabs between. */
static void
help_dump_rows(const char *name, const struct opt_row *rows, struct buf *out)
{
	for (; rows != NULL && rows->name != NULL; rows++) {
		if (rows->help == NULL)
			continue;
		buf_printf(out, "%s\t%s\t", name, rows->name);
		if (rows->short_name != 0)
			buf_add_char(out, rows->short_name);
		buf_printf(out, "\t%s\t%s\t%s\n", opt_type_name(rows->type),
		    rows->arg != NULL ? rows->arg : "", rows->help);
	}
}

static void
help_dump(struct arena *a, const struct cmd *cmd, struct buf *out)
{
	help_dump_rows(cmd->name, cmd->opts, out);
	for (const struct cmd *sub = cmd->subs; sub != NULL && sub->name != NULL; sub++)
		help_dump_rows(arena_printf(a, "%s %s", cmd->name, sub->name), sub->opts, out);
}

static void
help_dump_verbs(struct buf *out)
{
	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++) {
		buf_printf(out, "%s\t\t%s\t%s\n", e->cmd->name,
		    e->cmd->args != NULL ? e->cmd->args : "", e->cmd->summary);
		for (const struct cmd *sub = e->cmd->subs; sub != NULL && sub->name != NULL; sub++)
			buf_printf(out, "%s\t%s\t%s\t%s\n", e->cmd->name, sub->name,
			    sub->args != NULL ? sub->args : "", sub->summary);
	}
}

static enum berth_code
help_unknown(struct cmd_ctx *ctx, const char *word, struct berth_err *err)
{
	VEC(const char *) names = { 0 };
	const char *near;

	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++)
		VEC_PUSH(ctx->arena, &names, e->cmd->name);
	VEC_PUSH(ctx->arena, &names, NULL);
	near = str_suggest(word, names.v);
	if (near != NULL)
		return err_set(
		    err, BERTH_EUSAGE, "unknown verb '%s' (did you mean '%s'?)", word, near);
	return err_set(err, BERTH_EUSAGE, "unknown verb '%s'", word);
}

static enum berth_code
help_words(struct cmd_ctx *ctx, struct buf *out, struct berth_err *err)
{
	const struct help_opts *o = ctx->opts;
	const struct cmd *verb = cmd_find(ctx->args[0]), *sub = NULL;
	const char *name;

	if (verb == NULL)
		return help_unknown(ctx, ctx->args[0], err);
	name = verb->name;
	if (ctx->n_args == 2) {
		sub = cmd_find_sub(verb, ctx->args[1]);
		if (sub == NULL)
			return err_set(
			    err, BERTH_EUSAGE, "berth %s has no subverb '%s'", name, ctx->args[1]);
		name = arena_printf(ctx->arena, "%s %s", verb->name, sub->name);
	}
	if (o->rows)
		help_dump(ctx->arena, verb, out);
	else
		help_verb(sub != NULL ? sub : verb, name, ctx->columns, out);
	return BERTH_OK;
}

static enum berth_code
help_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct help_opts *o = ctx->opts;
	enum berth_code rc = BERTH_OK;
	struct buf out;

	buf_init(&out, HELP_MAX);
	if (o->verbs)
		help_dump_verbs(&out);
	else if (ctx->n_args > 0)
		rc = help_words(ctx, &out, err);
	else if (o->rows)
		help_dump_rows("", cmd_global_rows, &out);
	else
		help_overview(ctx->columns, &out);
	if (rc == BERTH_OK)
		rc = buf_check(&out, "help", err);
	if (rc == BERTH_OK)
		fputs(out.p, ctx->out);
	buf_free(&out);
	return rc;
}
