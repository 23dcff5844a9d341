/* src/cmd/cmd.h - a verb's record, and what main hands to it.  Floor: cmd. */
#ifndef BERTH_CMD_CMD_H
#define BERTH_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/config.h"
#include "util/err.h"
#include "util/opt.h"
#include "util/table.h"

struct accel_table;
struct arena;
struct jsonw;
struct log;
struct store;

enum cmd_flag {
	CMD_STORE_RO = 1, /* ctx->store is open for reading; a store that does not exist is an error
			     that names `berth init` */
	CMD_STORE_RW = 2, /* ctx->store is open for writing; made if it does not exist */
	CMD_STORE_OPT = 4,      /* with CMD_STORE_RO: no store is fine, ctx->store is then NULL */
	CMD_NET = 8,            /* may call providers; --offline forbids it, the verb says so */
	CMD_SPENDS = 16,        /* may make machines that cost money */
	CMD_DRY_OWN = 32,       /* the verb itself sees to --dry-run; see struct cmd */
	CMD_NO_ROWS = 64,       /* the result is no table: -o csv is refused */
	CMD_MAKES_CONFIG = 128, /* a config that is named but does not exist yet is no error */
	CMD_STORE_TRY = 512, /* with CMD_STORE_RW: it must exist; where it cannot be written it is
				read, see ctx->store_read_only */
	CMD_TEXT =
	    256 /* the result is text for people or a shell: -o json, yaml and csv are refused */
};

enum cmd_format { CMD_TABLE, CMD_WIDE, CMD_JSON, CMD_CSV, CMD_YAML };

struct cmd_ctx;
typedef enum berth_code cmd_run_fn(struct cmd_ctx *ctx, struct berth_err *err);

/*
 * One verb: a const struct cmd cmd_NAME in src/cmd/NAME.c with its option rows on top, listed in
 * registry.c. A verb may have subverbs ("prices list"), run of its own, or both: a first word that
 * names a subverb goes there, else to run. A row whose help is NULL is hidden: not in help,
 * completion and man page.
 *
 * --dry-run: main opens the store, begins a transaction and rolls it back after run, so that the
 * verb writes rows as always and nothing stays; all else that the verb changes (files, clouds) it
 * must leave alone when ctx->dry_run is set. A store that does not exist is then an empty one in
 * memory. With CMD_DRY_OWN main opens the store read-only instead (NULL if there is none) and the
 * verb writes nothing.
 *
 * With CMD_STORE_RW main also begins and ends the run (store_run_begin) that facts carry.
 */
struct cmd {
	const char *name;
	const char *summary;        /* one line for help and for .Nd, lower case, no full stop */
	const char *args;           /* the words after the options: "[SERIES ...]"; "" none */
	const struct opt_row *opts; /* NULL: none but the global ones */
	const void *opts_default;   /* [opts_size] copied into ctx->opts before parsing */
	size_t opts_size;
	unsigned flags;         /* enum cmd_flag */
	int args_min, args_max; /* how many words; max -1: any */
	cmd_run_fn *run;
	const struct cmd *subs; /* ends with a NULL name; NULL: none */
};

/* Verbs in the order of help, in groups; the last entry has a NULL cmd. */
struct cmd_entry {
	const char *group;
	const struct cmd *cmd;
};
extern const struct cmd_entry cmd_registry[];
const struct cmd *cmd_find(const char *name); /* NULL if there is none */
const struct cmd *cmd_find_sub(const struct cmd *cmd, const char *name);

/* The global options; they work before and after the verb. */
struct cmd_global {
	const char *config, *store;
	bool offline, dry_run, yes, quiet, verbose, no_color, no_headers, help, version;
	int64_t now; /* --now, or the clock when berth started */
	const char *output, *log_format;
	struct opt_list columns;
};
extern const struct opt_row cmd_global_rows[];

struct cmd_ctx {
	const struct cmd *cmd; /* the verb, or subverb, that runs */
	const char *verb;      /* "prices list" */
	struct arena *arena;
	const struct cmd_global *global;
	const void *opts;        /* the verb's own option structure */
	const char *const *args; /* [n_args] words */
	size_t n_args;
	int64_t now;    /* the only clock a verb uses */
	bool now_fixed; /* by --now */
	enum cmd_format format;
	bool offline, dry_run, quiet, verbose;
	FILE *out;   /* results only; everything else goes to stderr */
	int columns; /* width of out's terminal; 0: no terminal */
	bool color, unicode;
	const struct log *log;  /* for the floors below: warnings, with -v also what is done */
	struct store *store;    /* open as flags say, else NULL */
	bool store_read_only;   /* it could not be opened for writing, which a warning said: nothing
				   can be kept */
	const char *store_path; /* where it is or would be, "" if it cannot be known */
	struct cmd_priv *priv;  /* cmd.c's own */
};

/* The command line as it was, without the program's name. */
const char *const *cmd_raw(const struct cmd_ctx *ctx, size_t *n_out);

/* True if the verb is to write JSON (-o json, or yaml which is made from it). */
bool cmd_wants_json(const struct cmd_ctx *ctx);
/*
 * Opens {"schema": schema, and returns the writer inside the object; cmd_json_end() closes it and
 * writes the text with a newline (as block YAML for -o yaml). Nothing reaches stdout before the
 * end, so that a verb that fails half way leaves no half JSON.
 */
struct jsonw *cmd_json_begin(struct cmd_ctx *ctx, const char *schema);
BERTH_MUST_CHECK enum berth_code cmd_json_end(struct cmd_ctx *ctx, struct berth_err *err);

/*
 * Behind each part of a long result: nothing reaches stdout yet, but much of it leaves the memory.
 * BERTH_EIO: $TMPDIR is full.
 */
BERTH_MUST_CHECK enum berth_code cmd_json_part(struct cmd_ctx *ctx, struct berth_err *err);

/* Prints a table as table, wide or csv by the options (--columns, --no-headers, width). */
BERTH_MUST_CHECK enum berth_code cmd_table_print(
    struct cmd_ctx *ctx, const struct table *t, struct berth_err *err);
/* Rows of a long csv, a part at a time: as cmd_json_part(); the last call is cmd_parts_end().
 * first: with the headings. */
BERTH_MUST_CHECK enum berth_code cmd_table_part(
    struct cmd_ctx *ctx, const struct table *t, bool first, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code cmd_parts_end(struct cmd_ctx *ctx, struct berth_err *err);
/* Text for people on stdout; nothing with -q and with -o json, yaml, csv. No newline is added. */
void cmd_say(struct cmd_ctx *ctx, const char *fmt, ...) BERTH_PRINTF(2, 3);
/*
 * Lines of text, as by cmd_say(); where stdout is a terminal those that begin with "  - " are
 * broken at its width. Into a pipe each stays one line, for grep.
 */
void cmd_say_items(struct cmd_ctx *ctx, const char *text);
/* One line without its newline, broken so as well, what follows behind so many spaces. */
void cmd_say_hung(struct cmd_ctx *ctx, int indent, const char *fmt, ...) BERTH_PRINTF(3, 4);
/* A line for people on stderr; nothing with -q. A newline is added. */
void cmd_note(struct cmd_ctx *ctx, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* Writes a file that was asked for, whole or not at all; with --dry-run only says that it is not
 * written. */
BERTH_MUST_CHECK enum berth_code cmd_write_file(
    struct cmd_ctx *ctx, const char *path, const void *bytes, size_t n, struct berth_err *err);
/* "berth: warning: ..." on stderr, also with -q. */
void cmd_warn(struct cmd_ctx *ctx, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* What to do next; main prints it under the error line. The last call wins; only shown when the
 * verb fails. */
void cmd_next_step(struct cmd_ctx *ctx, const char *fmt, ...) BERTH_PRINTF(2, 3);
/*
 * Asks before something that spends or destroys. BERTH_OK: go on (-y, or the person said yes).
 * Errors: BERTH_EUSAGE without a terminal (names -y), BERTH_EFAIL if the answer is no.
 */
BERTH_MUST_CHECK enum berth_code cmd_confirm(
    struct cmd_ctx *ctx, struct berth_err *err, const char *question, ...) BERTH_PRINTF(3, 4);
/* May the verb draw progress on stderr? */
bool cmd_progress(const struct cmd_ctx *ctx);

/* berth.yaml, read at the first call. */
BERTH_MUST_CHECK enum berth_code cmd_config(
    struct cmd_ctx *ctx, const struct config **config_out, struct berth_err *err);
/* Passes the code on; of an accelerator that was not found, the next step is the list of those that
 * are known. */
enum berth_code cmd_accel_next(struct cmd_ctx *ctx, enum berth_code rc);
/* The accelerator table, read at the first call. */
BERTH_MUST_CHECK enum berth_code cmd_accels(
    struct cmd_ctx *ctx, const struct accel_table **accels_out, struct berth_err *err);

#endif
